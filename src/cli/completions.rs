//! `dedup-audit completions SHELL`: what a shell needs to complete commands and options.

use super::Arguments;
use crate::error::AuditError;
use crate::report::sink;
use clap::Args;
use clap_complete::Shell;
use std::io::Write;
use std::process::ExitCode;

/// Which shell.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  dedup-audit completions bash > ~/.local/share/bash-completion/completions/dedup-audit
  dedup-audit completions zsh > ~/.zfunc/_dedup-audit
  dedup-audit completions fish > ~/.config/fish/completions/dedup-audit.fish")]
pub struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &CompletionsArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::definition(), "dedup-audit", &mut script);
    sink::print(out, |out| out.write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}
