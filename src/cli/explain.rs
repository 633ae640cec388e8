//! `dedup-audit explain [CODE]`: what a finding means, offline.

use super::terminal;
use crate::error::AuditError;
use crate::finding::Code;
use crate::report::{explain, sink};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::process::ExitCode;

/// The arguments of `explain`.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  dedup-audit explain
  dedup-audit explain resend-new-session")]
pub struct Explain {
    /// A finding's code, such as resend-new-session; without it all codes are listed.
    code: Option<String>,
    /// How to write it.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    #[value(aliases = ["text", "txt"])]
    Table,
    /// For programs.
    Json,
}

impl Explain {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
        let code = self.code.as_deref().map(known).transpose()?;
        sink::print(out, |out| match (self.format, code) {
            (Format::Json, Some(code)) => explain::write_json(&[code], out),
            (Format::Json, None) => explain::write_json(Code::ALL, out),
            (Format::Table, Some(code)) => explain::write_one(code, terminal::width(), out),
            (Format::Table, None) => explain::write_list(terminal::width(), out),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn known(name: &str) -> Result<Code, AuditError> {
    explain::find(name).ok_or_else(|| {
        if name.to_lowercase().starts_with("da-") {
            let id: String = name.chars().take(60).collect();
            return AuditError::Usage(format!(
                "{id} is the id of one finding, and explain takes a code; show {id} REPORT tells of the finding"
            ));
        }
        let hint = explain::nearest(name).map_or_else(
            || "`dedup-audit explain` lists all codes".to_owned(),
            |code| format!("did you mean {code}?"),
        );
        // The error is printed once more escaped; a name of a megabyte is not printed in full.
        let name: String = name.chars().take(60).collect();
        AuditError::Usage(format!("there is no code {name}; {hint}"))
    })
}
