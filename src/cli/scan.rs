//! `scan`: the audit.

use crate::audit::{self, AuditOptions, Memory, Records};
use crate::error::AuditError;
use crate::finding::{Finding, Severity, rfc3339};
use crate::input::{Leftovers, ReadMode};
use crate::judgement::duplicates::Examples;
use crate::keys::{KeySpec, Mask};
use crate::plan::{ContentRules, KeyChoice};
use crate::report::layout::Width;
use crate::report::model::Invocation;
use crate::report::{self, Report};
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// Tell which events are stored more than once, who wrote each copy, and why.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are bools")]
#[command(after_help = "Examples:
  dedup-audit scan /var/kafka/orders-0
  dedup-audit scan /var/kafka --key json:/payment/id --format json
  dedup-audit scan broker-1/data broker-2/data broker-3/data --list surplus.csv

Exit status: 0 read everything and found nothing, 1 found something (--fail-on), 2 could not run,
3 found nothing but could not read everything.")]
pub struct ScanArguments {
    /// Partition directories, log directories, directories that hold them, or single files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// What identifies an event: auto, record-key, value, header:NAME, json:/pointer,
    /// key-json:/pointer, or several joined by +
    #[arg(long, default_value = "auto", value_name = "KEY")]
    key: KeyArgument,
    /// A field that does not count as content: json:/pointer or header:NAME
    #[arg(long = "ignore-field", value_name = "FIELD")]
    ignored: Vec<String>,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write the report to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write every surplus copy to this file, as CSV, without limit
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// The lowest severity that makes the exit status 1
    #[arg(long, value_enum, default_value_t = FailOn::Low, value_name = "SEVERITY")]
    fail_on: FailOn,
    /// Examples for each finding; 0 lifts this and every other cap of the report
    #[arg(long, default_value_t = 20, value_name = "N")]
    max_groups: usize,
    /// Look at batch headers alone: producers, sequences, gaps, protection, transactions
    #[arg(long)]
    headers_only: bool,
    /// Audit deleted, future and stray directories and superseded segments too, each by itself
    #[arg(long)]
    include_leftovers: bool,
    /// The files are a private copy that nobody changes: they may be mapped into memory
    #[arg(long)]
    offline: bool,
    /// producer.id.expiration.ms of the broker, in milliseconds
    #[arg(long, value_name = "MS")]
    expiration: Option<i64>,
    /// The partition count of a topic, where not all of its partitions are here
    #[arg(long, value_name = "TOPIC=N", value_parser = parse_count)]
    partition_count: Vec<(String, u32)>,
    /// The time that stands for now, RFC 3339 or milliseconds; by default the newest time of the
    /// evidence
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    as_of: Option<i64>,
    /// Threads; by default as many as there are processors
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Memory that may be used, such as 512MiB or 2GB; what does not fit goes to temporary files.
    /// By default a quarter of the machine's, at most 2 GiB. Copies that are found and producers are
    /// held beside it
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    max_memory: Option<u64>,
    /// Where temporary files go: they have no names and are gone when the program ends. By default
    /// TMPDIR, or /var/tmp
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct KeyArgument(KeyChoice);

impl FromStr for KeyArgument {
    type Err = crate::keys::KeySpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self(KeyChoice::Auto));
        }
        text.parse::<KeySpec>().map(|spec| Self(KeyChoice::User(spec)))
    }
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Table,
    /// For tickets and scripts.
    Json,
}

/// The lowest severity that makes the exit status 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Info,
    Low,
    Medium,
    High,
    /// Nothing does.
    Never,
}

impl FailOn {
    const fn severity(self) -> Option<Severity> {
        match self {
            Self::Info => Some(Severity::Info),
            Self::Low => Some(Severity::Low),
            Self::Medium => Some(Severity::Medium),
            Self::High => Some(Severity::High),
            Self::Never => None,
        }
    }
}

/// Milliseconds from RFC 3339 or a number.
fn parse_time(text: &str) -> Result<i64, String> {
    if let Ok(millis) = text.parse() {
        return Ok(millis);
    }
    let time = text.parse::<jiff::Timestamp>();
    time.map(jiff::Timestamp::as_millisecond).map_err(|_| {
        let example = rfc3339(1_764_425_000_123).unwrap_or_default();
        format!("expected milliseconds since 1970 or a time such as {example}")
    })
}

/// A size that is enough for an audit.
fn parse_memory(text: &str) -> Result<u64, String> {
    match super::size::parse(text)? {
        bytes if bytes < Memory::LEAST => Err(format!("an audit needs {} MiB at least", Memory::LEAST >> 20)),
        bytes => Ok(bytes),
    }
}

/// A topic and its partition count.
fn parse_count(text: &str) -> Result<(String, u32), String> {
    let parts = text.rsplit_once('=').filter(|(topic, _)| !topic.is_empty());
    let count = parts.and_then(|(topic, count)| Some((topic.to_owned(), count.parse().ok()?)));
    count
        .filter(|(_, count)| *count > 0)
        .ok_or_else(|| "expected a topic and a number, as orders=12".to_owned())
}

pub(super) fn run(arguments: &ScanArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let options = options(arguments)?;
    let sink = report::sink::Sink::beside(&arguments.paths);
    let existing =
        if arguments.force { report::sink::Existing::Replace } else { report::sink::Existing::Keep };
    for path in arguments.output.iter().chain(&arguments.list) {
        sink.check(path, existing)?;
    }
    if let Some(directory) = &arguments.temp_dir {
        sink.check_directory(directory)?;
    }
    if arguments.output.is_some() && arguments.output == arguments.list {
        return Err(AuditError::Usage("--output and --list name the same file".to_owned()));
    }
    let mut audit = audit::run(&options)?;
    audit.report.verdict = report::verdict::of(&audit.report, arguments.fail_on.severity());
    if let Some(path) = &arguments.list {
        sink.write(path, existing, |out| write_list(&audit.surplus(), out))?;
    }
    let width = match arguments.output {
        Some(_) => Width::default(),
        None => super::terminal::width(),
    };
    let print = |report: &Report, out: &mut dyn Write| match arguments.format {
        Format::Json => report::json::write(report, out),
        Format::Table => report::table::write(report, width, out),
    };
    match &arguments.output {
        Some(path) => sink.write(path, existing, |out| print(&audit.report, out))?,
        None => report::sink::print(out, |out| print(&audit.report, out))?,
    }
    Ok(exit_code(&audit.report))
}

fn write_list(findings: &[Finding], out: &mut dyn Write) -> std::io::Result<()> {
    let mut list = report::list::List::begin(out)?;
    for finding in findings {
        for group in &finding.groups {
            for copy in group.copies.iter().skip(1) {
                list.row(&report::list::ListRow::of(finding, &group.business_key, copy))?;
            }
        }
    }
    list.finish().map(|_| ())
}

fn exit_code(report: &Report) -> ExitCode {
    let verdict = &report.verdict;
    ExitCode::from(match (verdict.findings, verdict.complete) {
        (1.., _) => 1,
        (0, false) => 3,
        (0, true) => 0,
    })
}

fn options(arguments: &ScanArguments) -> Result<AuditOptions, AuditError> {
    let mut ignored = Mask::default();
    for field in &arguments.ignored {
        ignored.add(field).map_err(AuditError::Usage)?;
    }
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let key = match &arguments.key.0 {
        KeyChoice::Auto => "auto".to_owned(),
        KeyChoice::User(spec) => spec.to_string(),
    };
    let mut memory = Memory::default();
    memory.limit = arguments.max_memory.unwrap_or(memory.limit);
    memory.temp_dir = arguments.temp_dir.clone().unwrap_or(memory.temp_dir);
    Ok(AuditOptions {
        paths: arguments.paths.clone(),
        key: arguments.key.0.clone(),
        rules: ContentRules { ignored, strict_key: false },
        records: if arguments.headers_only { Records::HeadersOnly } else { Records::Read },
        mode: if arguments.offline { ReadMode::Mapped } else { ReadMode::Positioned },
        leftovers: if arguments.include_leftovers { Leftovers::List } else { Leftovers::SetAside },
        threads: arguments.threads.unwrap_or(available),
        memory,
        examples: if arguments.max_groups == 0 {
            Examples::All
        } else {
            Examples::AtMost(arguments.max_groups)
        },
        expiration_ms: arguments.expiration,
        partition_counts: arguments.partition_count.iter().cloned().collect(),
        as_of: arguments.as_of,
        invocation: Invocation { paths: told_paths(arguments), key, options: told(arguments) },
    })
}

/// The paths, in an order that does not depend on how they were typed.
fn told_paths(arguments: &ScanArguments) -> Vec<String> {
    let mut paths: Vec<String> = arguments.paths.iter().map(|path| path.display().to_string()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The options that bear on what the report says; threads and forms do not.
fn told(arguments: &ScanArguments) -> BTreeMap<String, serde_json::Value> {
    let mut options = BTreeMap::new();
    let mut tell = |name: &str, value: serde_json::Value| {
        options.insert(name.to_owned(), value);
    };
    if !arguments.ignored.is_empty() {
        tell("ignoreField", arguments.ignored.clone().into());
    }
    if arguments.headers_only {
        tell("headersOnly", true.into());
    }
    if arguments.include_leftovers {
        tell("includeLeftovers", true.into());
    }
    if let Some(expiration) = arguments.expiration {
        tell("expiration", expiration.into());
    }
    if !arguments.partition_count.is_empty() {
        let counts: BTreeMap<&str, u32> =
            arguments.partition_count.iter().map(|(topic, count)| (topic.as_str(), *count)).collect();
        tell("partitionCount", serde_json::json!(counts));
    }
    if let Some(as_of) = arguments.as_of {
        tell("asOf", as_of.into());
    }
    tell("maxGroups", arguments.max_groups.into());
    options
}
