//! Reports that were saved: `render`, `show`, `diff`. No log is read again.

use super::evidence::parse_zone;
use super::forms;
use super::output::{OutputArguments, ReportFormat, TicketFormat};
use super::redaction::{self, RedactionArguments};
use super::scan::FailOn;
use crate::error::AuditError;
use crate::finding::Finding;
use crate::report::list::Surplus;
use crate::report::sink::Sink;
use crate::report::wording::Zone;
use crate::report::{Report, diff, markdown, saved, show};
use crate::spill::Share;
use clap::Args;
use jiff::tz::TimeZone;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print a saved report in any form
#[derive(Debug, Args)]
#[command(
    before_help = "Examples:
  dedup-audit render report.json
  dedup-audit render report.json -o report.html -o ticket.md
  dedup-audit render report.json --redact all -o for-support.html
  ssh broker-1 dedup-audit scan /var/kafka --format json | dedup-audit render - --format md",
    after_help = "Exit status: 0 written; 2 could not run; 3 written, and the CSV lacks surplus copies that the report does
not hold (scan --max-groups 0 puts all of them in)."
)]
pub struct RenderArguments {
    /// A report of `scan`, JSON or NDJSON; - is standard input
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// The time zone of all that is made for people; JSON and CSV are always in UTC
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = parse_zone)]
    tz: TimeZone,
    #[command(flatten)]
    redaction: RedactionArguments,
    /// Say nothing on standard error but errors; the exit status tells of a short CSV all the same
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    output: OutputArguments<ReportFormat>,
}

/// Print one finding of a saved report in full, its copies side by side
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  dedup-audit show DA-3f9c1a2b7d40e6a1 report.json
  dedup-audit show 3f9c report.json --format json
  dedup-audit show 3f9c report.json --format md
  dedup-audit show retry-without-idempotence report.json")]
pub struct ShowArguments {
    /// The id of the finding, or how it begins; or its code, where it is the only one of it
    #[arg(value_name = "ID")]
    id: String,
    /// A report of `scan`, JSON or NDJSON; - is standard input
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// The time zone of table and Markdown; JSON is always in UTC
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = parse_zone)]
    tz: TimeZone,
    #[command(flatten)]
    redaction: RedactionArguments,
    #[command(flatten)]
    output: OutputArguments<TicketFormat>,
}

/// Tell what is new, grown, shrunk or gone between two saved reports
#[derive(Debug, Args)]
#[command(
    before_help = "Examples:
  dedup-audit diff monday.json tuesday.json
  dedup-audit diff monday.json tuesday.json --format json
  dedup-audit diff monday.json tuesday.json --format md",
    after_help = "Findings match by id, which stays while a log grows; else by the same code with a copy,
gap or transaction at the same place.

Exit status: 0 nothing is new or grown, 1 something is (--fail-on), 2 could not run."
)]
pub struct DiffArguments {
    /// The earlier report
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The later report; - is standard input
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The lowest severity that makes the exit status 1
    #[arg(long, value_enum, default_value_t = FailOn::Low, value_name = "SEVERITY")]
    fail_on: FailOn,
    #[command(flatten)]
    output: OutputArguments<TicketFormat>,
}

pub(super) fn render(arguments: &RenderArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let sink = Sink::default();
    arguments.output.check(&sink)?;
    let report = redaction::report(&arguments.redaction.redactor()?, read(&arguments.report)?)?;
    let mut status = ExitCode::SUCCESS;
    if arguments.output.wants(ReportFormat::Csv) {
        let omitted: u64 = report.findings.iter().map(omitted).sum();
        if omitted > 0 {
            status = ExitCode::from(super::status::INCOMPLETE);
            // The list is short, and nothing in it says so.
            if !arguments.quiet {
                let _ = writeln!(
                    std::io::stderr(),
                    "dedup-audit: {omitted} surplus copies are not in the report and not in the list: \
                     scan with --max-groups 0, or with --list"
                );
            }
        }
    }
    let zone = Zone::new(arguments.tz.clone());
    let findings =
        |each: &mut dyn FnMut(&Finding) -> std::io::Result<()>| report.findings.iter().try_for_each(each);
    let surplus = Surplus::new(&findings, &report.topics, Share::default());
    arguments.output.write_each(&sink, out, |form, width, out| {
        forms::write(form, &report, &surplus, width, &zone, out)
    })?;
    Ok(status)
}

/// Surplus copies that a finding counts and does not list.
fn omitted(finding: &Finding) -> u64 {
    let listed = finding.groups.iter().map(|group| group.copies.len().saturating_sub(1) as u64).sum();
    finding.counts.surplus_records.saturating_sub(listed)
}

pub(super) fn show(arguments: &ShowArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let sink = Sink::default();
    arguments.output.check(&sink)?;
    let (id, path) = (&arguments.id, &arguments.report);
    if !is_stdin(path) && !path.exists() && Path::new(id).exists() {
        let missing = path.display();
        return Err(AuditError::Usage(format!(
            "{missing}: does not exist, and {id} does: the id comes first, as in show {missing} {id}"
        )));
    }
    // Looked for as the report was saved: what is hidden may be the id.
    let report = read(path)?;
    let wanted = find(&report, id)?;
    let at = report.findings.iter().position(|finding| std::ptr::eq(finding, wanted));
    let report = redaction::report(&arguments.redaction.redactor()?, report)?;
    let Some(finding) = at.and_then(|at| report.findings.get(at)) else {
        return Err(AuditError::Usage(format!("no finding has the id {id}")));
    };
    let zone = Zone::new(arguments.tz.clone());
    arguments.output.write_each(&sink, out, |form, width, out| match form {
        TicketFormat::Table => show::write_table(finding, &zone, width, out),
        TicketFormat::Json => show::write_json(&report, finding, out),
        TicketFormat::Md => markdown::write_finding(&report, finding, &zone, out),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The finding whose id begins like this, or the only one of this code.
fn find<'a>(report: &'a Report, id: &str) -> Result<&'a Finding, AuditError> {
    let short = |id: &str| id.to_lowercase().trim_start_matches("da-").to_owned();
    let wanted = short(id);
    let found: Vec<_> = report.findings.iter().filter(|one| short(&one.id).starts_with(&wanted)).collect();
    let ids = |findings: &[&Finding]| {
        let some: Vec<_> = findings.iter().take(8).map(|one| format!("{} ({})", one.id, one.code)).collect();
        let more =
            if findings.len() > 8 { format!(" and {} more", findings.len() - 8) } else { String::new() };
        format!("{}{more}", some.join(", "))
    };
    let of_code: Vec<_> =
        report.findings.iter().filter(|one| one.code.to_string() == id.to_lowercase()).collect();
    match found.as_slice() {
        [only] => Ok(only),
        [] if let [only] = of_code.as_slice() => Ok(only),
        [] if !of_code.is_empty() => {
            let (all, ids) = (of_code.len(), ids(&of_code));
            Err(AuditError::Usage(format!("{all} findings are {id}; name one by its id: {ids}")))
        }
        [] if report.findings.is_empty() => Err(AuditError::Usage("the report has no finding".to_owned())),
        [] => {
            let all: Vec<_> = report.findings.iter().collect();
            Err(AuditError::Usage(format!(
                "no finding has an id that begins with {id}; there are {}",
                ids(&all)
            )))
        }
        several => Err(AuditError::Usage(format!("several ids begin with {id}: {}", ids(several)))),
    }
}

pub(super) fn diff(arguments: &DiffArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let sink = Sink::default();
    arguments.output.check(&sink)?;
    if arguments.old == arguments.new && is_stdin(&arguments.old) {
        return Err(AuditError::Usage("only one of the reports can come from standard input".to_owned()));
    }
    let (old, new) = (read(&arguments.old)?, read(&arguments.new)?);
    let difference = diff::compare(&old, &new);
    arguments.output.write_each(&sink, out, |form, width, out| match form {
        TicketFormat::Table => difference.write_table(width, out),
        TicketFormat::Json => difference.write_json(out),
        TicketFormat::Md => difference.write_markdown(out),
    })?;
    let fresh = arguments.fail_on.severity().map_or(0, |least| difference.fresh(least));
    Ok(ExitCode::from(u8::from(fresh > 0)))
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a saved report.
pub(super) fn read(path: &Path) -> Result<Report, AuditError> {
    if !is_stdin(path) && !path.exists() {
        return Err(AuditError::Usage(format!(
            "{}: does not exist; a report is what scan --format json wrote",
            path.display()
        )));
    }
    let unreadable = |source| AuditError::Unreadable { path: path.to_path_buf(), source };
    let mut bytes = Vec::new();
    if is_stdin(path) {
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        bytes = std::fs::read(path).map_err(unreadable)?;
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        AuditError::Usage(format!("{}: it is no text: {}", path.display(), error.utf8_error()))
    })?;
    saved::read(&text).map_err(|reason| AuditError::Usage(format!("{}: {reason}", path.display())))
}
