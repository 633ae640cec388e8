//! `dedup-audit offsets`: what consumer groups committed, and which copies they have behind them.

use super::evidence::EvidenceArguments;
use super::output::{AnswerFormat, OutputArguments};
use super::redaction;
use super::status::{self, Outcome};
use crate::error::AuditError;
use crate::facts::Keep;
use crate::report::answer::{Answer, Reading};
use crate::report::offsets::{Offsets, Wanted};
use crate::report::table;
use clap::Args;
use std::io::Write;
use std::process::ExitCode;

/// Whose positions are told.
#[derive(Debug, Args)]
#[command(
    before_help = "Examples:
  dedup-audit offsets /var/kafka-logs
  dedup-audit offsets /copy/__consumer_offsets-* /copy/orders-*
  dedup-audit offsets broker-1 broker-2 --group billing --commits 0 --format json",
    after_help = "Exit status: 0 told; 2 could not run, or no __consumer_offsets among the files; 3 not all could be
read; 130 interrupted."
)]
pub struct OffsetsArguments {
    #[command(flatten)]
    evidence: EvidenceArguments,
    #[command(flatten)]
    output: OutputArguments<AnswerFormat>,
    /// Only this consumer group; may be repeated
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Commits that are listed for each group and partition, the newest; 0 lists all
    #[arg(long, default_value_t = super::DEFAULT_EXAMPLES, value_name = "N")]
    commits: usize,
}

pub(super) fn run(arguments: &OffsetsArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let mut options = arguments.evidence.audit_options()?;
    options.commits = Keep::Newest(super::cap(arguments.commits));
    let told = &mut options.invocation.options;
    told.insert("commits".to_owned(), arguments.commits.into());
    if !arguments.groups.is_empty() {
        told.insert("group".to_owned(), arguments.groups.clone().into());
    }
    let sink = arguments.evidence.sink();
    arguments.output.check(&sink)?;
    let redactor = arguments.evidence.redactor()?;
    let mut audit = arguments.evidence.run(&options)?;
    if audit.commit_partitions == 0 {
        return Err(AuditError::Usage(
            "no partition of __consumer_offsets among the files: a group's positions are in the partition that its \
             name hashes to, on the broker that coordinates the group"
                .to_owned(),
        ));
    }
    let wanted = Wanted { groups: arguments.groups.clone() };
    let body = Offsets::of(&audit.commits, &audit.clusters, &audit.report.findings, &wanted);
    audit.report.coverage.notes.append(&mut audit.commit_notes);
    let report = audit.report;
    let reading = match Reading::of_verdict(&report.verdict) {
        Reading::Whole if audit.broken_commits > 0 => Reading::Partial,
        reading => reading,
    };
    let answer = Answer::new(options.invocation, report.as_of_timestamp, reading, body, report.coverage);
    let (answer, zone) = (redaction::answer(&redactor, answer)?, arguments.evidence.zone());
    arguments.output.write_answer(
        &sink,
        out,
        |width, out| table::write_offsets(&answer, &zone, width, out),
        &answer,
    )?;
    Ok(status::of(Outcome::Clean, reading))
}
