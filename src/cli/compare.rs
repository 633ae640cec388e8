//! `dedup-audit compare`: copies of logs side by side.

use super::evidence::EvidenceArguments;
use super::output::{AnswerFormat, OutputArguments};
use super::redaction;
use super::status::{self, Outcome};
use crate::audit::{self, PairNames, SideBySide, TopicPair};
use crate::error::AuditError;
use crate::report::answer::{Answer, Reading};
use crate::report::table::{self, Events};
use clap::Args;
use std::io::Write;
use std::process::ExitCode;

/// What is held against what.
#[derive(Debug, Args)]
#[command(
    before_help = "Examples:
  dedup-audit compare broker-1 broker-2 broker-3
  dedup-audit compare before/orders-0 after/orders-0
  dedup-audit compare east west --mirror orders=east.orders --key json:/orderId
  dedup-audit compare broker-1 --mirror orders=copy.orders --format ndjson",
    after_help = "The first path is held against each of the others; a partition that it lacks, against the next that has it. Replicas
(equal topic id and partition) are compared offset by offset; a mirror has another name and is matched by --key, or by
key and value. Of a mirror, the order within a record key counts; how many records differ in their headers is told alone.

Exit status: 0 equal, retention and compaction aside; 1 different; 2 could not run; 3 equal as far as it could be
compared: something could not be read, has no key or no counterpart; 130 interrupted."
)]
pub struct CompareArguments {
    #[command(flatten)]
    evidence: EvidenceArguments,
    #[command(flatten)]
    output: OutputArguments<AnswerFormat>,
    /// A topic of the first path and its mirror on the others, or in the same where it is the only one; may be repeated
    #[arg(long = "mirror", value_name = "TOPIC=OTHER", value_parser = parse_pair)]
    mirrors: Vec<TopicPair>,
    /// Show what happened, within a partition in the order of offsets; JSON has it as `events` always
    #[arg(long)]
    timeline: bool,
    /// Entries of each list in the answer; 0 lists all, and all events, whatever memory that takes
    #[arg(long, default_value_t = super::DEFAULT_EXAMPLES, value_name = "N")]
    max_ranges: usize,
}

/// A topic and its mirror.
fn parse_pair(text: &str) -> Result<TopicPair, String> {
    let parts = text.split_once('=').filter(|(a, b)| !a.is_empty() && !b.is_empty());
    let pair = parts.map(|(a, b)| TopicPair { a: a.to_owned(), b: b.to_owned() });
    pair.ok_or_else(|| "expected two topics, as orders=east.orders".to_owned())
}

pub(super) fn run(arguments: &CompareArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let mut paths = arguments.evidence.paths.clone();
    if paths.len() < 2 {
        if arguments.mirrors.is_empty() {
            let why = "two paths at least are compared, or a topic with its mirror in one (--mirror orders=east.orders)";
            return Err(AuditError::Usage(why.to_owned()));
        }
        // A mirror that lies beside its source.
        paths.extend_from_within(..);
    }
    let mut options = arguments.evidence.audit_options()?;
    // Here their order means something.
    options.invocation.paths =
        arguments.evidence.paths.iter().map(|path| path.display().to_string()).collect();
    if !arguments.mirrors.is_empty() {
        let told: Vec<String> =
            arguments.mirrors.iter().map(|pair| format!("{}={}", pair.a, pair.b)).collect();
        options.invocation.options.insert("mirror".to_owned(), told.into());
    }
    let sink = arguments.evidence.sink();
    arguments.output.check(&sink)?;
    let redactor = arguments.evidence.redactor()?;
    let listed = super::cap(arguments.max_ranges);
    let names = PairNames { topics: arguments.mirrors.clone() };
    let SideBySide { compared, coverage, reading, as_of } =
        arguments.evidence.watched(&options, || audit::side_by_side(&options, &paths, &names, listed))?;
    let outcome = Outcome::of_found(!compared.all_equal());
    let compared_all = Reading::of_complete(reading == Reading::Whole && compared.all_compared());
    let status = if reading == Reading::Interrupted { reading } else { compared_all };
    let answer = Answer::new(options.invocation, as_of, reading, compared, coverage);
    let answer = redaction::answer(&redactor, answer)?;
    let zone = arguments.evidence.zone();
    let events = if arguments.timeline { Events::Shown } else { Events::LeftOut };
    arguments.output.write_answer(
        &sink,
        out,
        |width, out| table::write_compared(&answer, events, &zone, width, out),
        &answer,
    )?;
    Ok(status::of(outcome, status))
}
