//! `dedup-audit schema`: the JSON Schemas of what commands answer.

use crate::error::AuditError;
use crate::report::{schema, sink};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::io::Write;
use std::process::ExitCode;

/// Whose answer is described.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  dedup-audit schema
  dedup-audit schema trace > trace.schema.json")]
pub struct SchemaArguments {
    /// The command whose --format json is described
    #[arg(value_name = "COMMAND", default_value = "scan", value_parser = names())]
    command: String,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(schema::ANSWERS.map(|(name, _)| name))
}

pub(super) fn run(arguments: &SchemaArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let text = schema::text_of(&arguments.command).unwrap_or_default();
    sink::print(out, |out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}
