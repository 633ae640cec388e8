//! Parses the command line, runs one command, writes its output and chooses the exit status.

fn main() {}
