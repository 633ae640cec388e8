//! `keys`: which field identifies the event?

use super::evidence::EvidenceArguments;
use super::output::{AnswerFormat, OutputArguments};
use super::redaction;
use super::status::{self, Outcome};
use crate::audit::{self, Advice};
use crate::error::AuditError;
use crate::report::answer::Answer;
use crate::report::keys;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say which field identifies the event: ranks record key, value, headers and JSON fields.
#[derive(Debug, Args)]
#[command(
    before_help = "Examples:
  dedup-audit keys /var/kafka/orders-0
  dedup-audit keys /var/kafka --format json
  dedup-audit keys broker-1/data --save-plan plan.json
  dedup-audit scan broker-2/data --plan plan.json",
    after_help = "Exit status: 0 everything was read, 2 could not run, 3 could not read everything, 130
interrupted."
)]
pub struct KeysArguments {
    #[command(flatten)]
    evidence: EvidenceArguments,
    #[command(flatten)]
    output: OutputArguments<AnswerFormat>,
    /// Write what was chosen for each topic to this file, for `--plan`
    #[arg(long, value_name = "FILE")]
    save_plan: Option<PathBuf>,
}

pub(super) fn run(arguments: &KeysArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let options = arguments.evidence.audit_options()?;
    let (sink, output) = (arguments.evidence.sink(), &arguments.output);
    output.check(&sink)?;
    let redactor = arguments.evidence.redactor()?;
    if let Some(path) = &arguments.save_plan {
        output.check_beside(&sink, path, "--save-plan")?;
    }
    let advice = arguments.evidence.watched(&options, || audit::advise(&options))?;
    let Advice { keys, coverage, as_of, plan, reading } = advice;
    if let Some(path) = &arguments.save_plan {
        sink.write(path, output.existing(), |out| out.write_all(plan.to_json().as_bytes()))?;
    }
    let answer =
        redaction::answer(&redactor, Answer::new(options.invocation, as_of, reading, keys, coverage))?;
    output.write_answer(&sink, out, |width, out| keys::write(&answer, width, out), &answer)?;
    Ok(status::of(Outcome::Clean, reading))
}
