//! `scan`: the audit.

use super::evidence::EvidenceArguments;
use super::moment::{Edge, Moment};
use super::output::{OutputArguments, ReportFormat};
use super::redaction;
use super::status::{FOUND, INCOMPLETE};
use super::stream::Stream;
use super::{forms, saved};
use crate::audit::{self, AuditOptions, Records, Values};
use crate::error::AuditError;
use crate::finding::{Finding, Severity};
use crate::judgement::duplicates::{Examples, SurplusChoice};
use crate::report::list::Surplus;
use crate::report::redact::Mode;
use crate::report::{self, diff, ndjson, sink};
use crate::units::{ProducerId, Range};
use clap::{Args, ValueEnum};
use std::cell::RefCell;
use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Tell which events are stored more than once, who wrote each copy, and why.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that the user sets or leaves")]
#[command(
    before_help = "Examples:
  dedup-audit scan /var/kafka/orders-0
  dedup-audit scan /var/kafka --key json:/payment/id --format json
  dedup-audit scan /var/kafka --topic 'orders*' --since '2025-11-29 14:00' --tz Europe/Berlin
  dedup-audit scan broker-1/data broker-2/data broker-3/data --list surplus.csv
  dedup-audit scan /var/kafka -o report.html -o md:ticket.md --format table
  dedup-audit scan /var/kafka --redact keys --redact-key-file incident.key -o for-support.html
  dedup-audit scan /var/kafka -o today.json --baseline yesterday.json",
    after_help = "Exit status: 0 read everything and found nothing, 1 found something (--fail-on), 2 could not run,
3 found nothing but could not read everything, 130 interrupted."
)]
pub struct ScanArguments {
    #[command(flatten)]
    evidence: EvidenceArguments,
    #[command(flatten)]
    output: OutputArguments<ReportFormat>,
    /// Show the beginning of each copy's value: what is stored, to whoever reads the report
    #[arg(long)]
    show_values: bool,
    /// Write every surplus copy to this file, as CSV, without limit. Of an event that was aborted and
    /// written again it is the aborted copy, which read_committed consumers never saw: see the column
    /// readCommittedSees before anything is refunded
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// The lowest severity that makes the exit status 1
    #[arg(long, value_enum, default_value_t = FailOn::Low, value_name = "SEVERITY")]
    fail_on: FailOn,
    /// A saved report: only findings that are new or grown since then make the exit status 1
    #[arg(long, value_name = "REPORT")]
    baseline: Option<PathBuf>,
    /// Examples for each finding; 0 lifts this and every other cap of the report
    #[arg(long, default_value_t = super::DEFAULT_EXAMPLES, value_name = "N")]
    max_groups: usize,
    /// Tell only of surplus copies of this time or later; what they repeat is looked for everywhere
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    since: Option<Moment>,
    /// Tell only of surplus copies of this time or earlier; a day lasts to its end
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    until: Option<Moment>,
    /// Tell only of surplus copies from offset A to B, both included; either may be missing
    #[arg(long, value_name = "A..B", value_parser = super::range::parse)]
    offsets: Option<Range>,
    /// Tell only of surplus copies that this producer id wrote; -1 for records without one. May be
    /// given more than once
    #[arg(long = "pid", value_name = "N", allow_negative_numbers = true)]
    producer_ids: Vec<i64>,
    /// End with status 0 whatever was found or could not be read; 2 is left for what cannot run
    #[arg(long)]
    exit_zero: bool,
    /// Show what happened in the order of time below the findings; JSON has it as `events` always
    #[arg(long)]
    timeline: bool,
    /// Look at batch headers alone: producers, sequences, gaps, protection, transactions
    #[arg(long)]
    headers_only: bool,
}

/// The lowest severity that makes the exit status 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Info,
    Low,
    Medium,
    High,
    /// Nothing does.
    Never,
}

impl FailOn {
    pub(super) const fn severity(self) -> Option<Severity> {
        match self {
            Self::Info => Some(Severity::Info),
            Self::Low => Some(Severity::Low),
            Self::Medium => Some(Severity::Medium),
            Self::High => Some(Severity::High),
            Self::Never => None,
        }
    }
}

pub(super) fn run(arguments: &ScanArguments, out: &mut (dyn Write + Send)) -> Result<ExitCode, AuditError> {
    let options = options(arguments)?;
    let sink = arguments.evidence.sink();
    let output = &arguments.output;
    output.check(&sink)?;
    if let Some(path) = &arguments.list {
        output.check_beside(&sink, path, "--list")?;
    }
    // Read before the work begins, so that an audit of an hour does not end with a typing mistake.
    let baseline = arguments.baseline.as_deref().map(saved::read).transpose()?;
    let redactor = arguments.evidence.redactor()?;
    // On a terminal the bar stands where the lines would come; what is hidden is known at the end alone.
    let streamed = output.prints(ReportFormat::Ndjson)
        && redactor.mode() == Mode::None
        && !std::io::stdout().is_terminal();
    let mut stream = Stream::new(out);
    let mut audit = arguments.evidence.watched(&options, || {
        if streamed { audit::run_telling(&options, &mut stream) } else { audit::run(&options) }
    })?;
    let streamed = streamed.then(|| stream.finish());
    let least = arguments.fail_on.severity();
    audit.report.verdict = report::verdict::of(&audit.report, least);
    let lists = arguments.list.is_some() || output.wants(ReportFormat::Csv);
    let mut report = std::mem::take(&mut audit.report);
    let audit = RefCell::new(audit);
    let findings = |each: &mut dyn FnMut(&Finding) -> io::Result<()>| {
        if !lists {
            return Ok(());
        }
        audit
            .borrow_mut()
            .surplus(|part| redaction::findings(&redactor, vec![part])?.iter().try_for_each(&mut *each))
    };
    let zone = arguments.evidence.zone();
    // What was there before is compared with what is there now, names and all.
    let difference = baseline.as_ref().map(|before| diff::compare(before, &report));
    if let Some(difference) = &difference {
        diff::mark(difference, &mut report.findings);
    }
    let report = &redaction::report(&redactor, report)?;
    let surplus = Surplus::new(&findings, &report.topics, options.memory.share_of_lists(options.limits));
    if let Some(path) = &arguments.list {
        sink.write(path, output.existing(), |out| forms::list(&surplus, out))?;
    }
    let write = |form, width, out: &mut dyn Write| {
        forms::write(form, report, &surplus, width, &zone, out)?;
        if !arguments.timeline || form != ReportFormat::Table {
            return Ok(());
        }
        writeln!(out)?;
        let events = report::zoned::told(&report.events, &zone);
        report::table::write_timeline(&events, report.events_omitted, &zone, width, out)
    };
    output.write_files(&sink, write)?;
    if lists
        && arguments.evidence.talks()
        && let Ok(said) = surplus.in_short()
    {
        // Whoever refunds by the list must know whom a row did not reach.
        let _ = writeln!(std::io::stderr(), "dedup-audit: surplus copies: {said}");
    }
    match streamed {
        None => output.print(out, write)?,
        Some(begun) => sink::print(out, |out| begun.and_then(|()| ndjson::rest(report, out)))?,
    }
    let counting = match (&difference, least) {
        (Some(difference), Some(least)) => {
            // What is known already does not count, and nothing else would say so.
            let _ = writeln!(std::io::stderr(), "dedup-audit: {}", diff::in_short(difference, least));
            for warning in &difference.warnings {
                let warning = crate::report::escape::Terminal::text(warning);
                let _ = writeln!(std::io::stderr(), "dedup-audit: baseline: {warning}");
            }
            difference.fresh(least)
        }
        _ => report.verdict.findings,
    };
    Ok(ExitCode::from(match (counting, report.verdict.complete) {
        _ if arguments.exit_zero => 0,
        _ if report.verdict.interrupted => super::interrupt::INTERRUPTED,
        (1.., _) => FOUND,
        (0, false) => INCOMPLETE,
        (0, true) => 0,
    }))
}

/// Which surplus copies are told of.
fn surplus(arguments: &ScanArguments, as_of: Option<i64>) -> Result<SurplusChoice, AuditError> {
    let evidence = &arguments.evidence;
    let when = |option, moment: Option<Moment>, edge, open| match moment {
        Some(moment) => evidence.when(option, moment, edge, as_of),
        None => Ok(open),
    };
    let times = Range {
        first: when("--since", arguments.since, Edge::First, i64::MIN)?,
        last: when("--until", arguments.until, Edge::Last, i64::MAX)?,
    };
    if times.first > times.last {
        return Err(AuditError::Usage(
            "--since is later than --until: no time is left between them".to_owned(),
        ));
    }
    let mut producer_ids: Vec<_> = arguments.producer_ids.iter().copied().map(ProducerId).collect();
    producer_ids.sort_unstable();
    producer_ids.dedup();
    Ok(SurplusChoice { times, offsets: arguments.offsets.unwrap_or_default(), producer_ids })
}

fn options(arguments: &ScanArguments) -> Result<AuditOptions, AuditError> {
    let mut options = arguments.evidence.audit_options()?;
    options.examples = match arguments.max_groups {
        0 => Examples::All,
        most => Examples::AtMost(most),
    };
    options.most_entries = Some(options.memory.most_entries());
    options.surplus = surplus(arguments, options.as_of)?;
    let told = &mut options.invocation.options;
    let SurplusChoice { times, offsets, producer_ids } = &options.surplus;
    for (name, limit, open) in [
        ("since", times.first, i64::MIN),
        ("until", times.last, i64::MAX),
        ("firstOffset", offsets.first, i64::MIN),
        ("lastOffset", offsets.last, i64::MAX),
    ] {
        if limit != open {
            told.insert(name.to_owned(), limit.into());
        }
    }
    if !producer_ids.is_empty() {
        let ids: Vec<i64> = producer_ids.iter().map(|id| id.0).collect();
        told.insert("pid".to_owned(), ids.into());
    }
    told.insert("maxGroups".to_owned(), arguments.max_groups.into());
    if arguments.show_values {
        options.values = Values::Shown;
        told.insert("showValues".to_owned(), true.into());
    }
    if arguments.headers_only {
        options.records = Records::HeadersOnly;
        told.insert("headersOnly".to_owned(), true.into());
    }
    Ok(options)
}
