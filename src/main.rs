//! Parses the command line, runs one command, writes its output and chooses the exit status.

use dedup_audit::cli::Arguments;
use dedup_audit::report::escape::Terminal;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// The run could not start or finish.
const COULD_NOT_RUN: u8 = 2;

fn main() -> ExitCode {
    let mut out = BufWriter::new(std::io::stdout());
    match Arguments::read(std::env::args_os()).and_then(|arguments| arguments.run(&mut out)) {
        Ok(status) => status,
        Err(error) => {
            // Nobody is left to tell when standard error is gone, too.
            let _ = writeln!(std::io::stderr(), "dedup-audit: {}", Terminal::text(&error.to_string()));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}
