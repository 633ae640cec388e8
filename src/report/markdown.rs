//! The report for a ticket: fewer than 60 lines of Markdown that render on GitHub, on GitLab and in
//! Jira's editor.
//!
//! The verdict, a table of the findings, the worst of them with facts, examples and what to do, the
//! coverage. What does not fit is counted, and the JSON has it. Only headings, paragraphs, lists,
//! tables, bold and code spans are used: what all three understand. Foreign text passes
//! [`escape::markdown`] or stands in a code span ([`escape::markdown_code`]), so that no key becomes a
//! link, an image, a mention, a reference or HTML.

use super::escape::{self, Terminal};
use super::model::Report;
use super::table::{in_order, writer};
use super::verdict::amount;
use super::wording::{Zone, business_key, counted, listed, number, opening, redacted};
use super::zoned::told;
use crate::finding::{Copy, Finding, Severity};
use std::io::{self, Write};

/// Lines that a ticket may have.
const LINES: usize = 58;
/// Rows of the table of findings.
const ROWS: usize = 12;
/// Facts of one finding.
const FACTS: usize = 4;
/// Keys of one finding that are shown with their copies.
const GROUPS: usize = 3;
/// Copies of one key that are shown.
const COPIES: usize = 3;
/// Columns of a key, and of a sentence.
const KEY: usize = 60;
const SENTENCE: usize = 600;

/// Writes the report, times in UTC.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_in(report, &Zone::default(), out)
}

/// Writes the report with times in a zone.
pub fn write_in(report: &Report, zone: &Zone, out: &mut dyn Write) -> io::Result<()> {
    let report = &*told(report, zone);
    let mut lines = head(report);
    let tail = tail(report, zone);
    let findings = in_order(&report.findings);
    let mut shown = 0;
    for finding in findings.iter().filter(|finding| finding.severity > Severity::Info) {
        // Two lines are kept for what is left out.
        let room = LINES.saturating_sub(lines.len() + tail.len() + 2);
        let fitting = [section(finding, zone), brief(finding)].into_iter().find(|one| one.len() <= room);
        let Some(section) = fitting else { break };
        lines.extend(section);
        shown += 1;
    }
    let loud = findings.iter().filter(|finding| finding.severity > Severity::Info).count();
    if loud > shown {
        lines.push(format!("{} in the JSON report only.", counted((loud - shown) as u64, "more finding")));
        lines.push(String::new());
    }
    lines.extend(tail);
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn head(report: &Report) -> Vec<String> {
    let headline = opening(report.verdict.headline.trim_end_matches('.'), &[]);
    let mut lines = vec![format!("## {}", text(&headline)), String::new()];
    if !report.verdict.sentences.is_empty() {
        let sentences: Vec<_> = report.verdict.sentences.iter().map(|sentence| text(sentence)).collect();
        lines.extend([sentences.join(" "), String::new()]);
    }
    if report.findings.is_empty() {
        return lines;
    }
    lines.push(
        "| severity | finding | sure | keys | surplus copies | read_committed sees | where | id |".to_owned(),
    );
    lines.push("| --- | --- | --- | ---: | ---: | ---: | --- | --- |".to_owned());
    for finding in in_order(&report.findings).into_iter().take(ROWS) {
        let counts = finding.counts;
        let count = |count: u64| if counts.surplus_records == 0 { String::new() } else { number(count) };
        lines.push(format!(
            "| {} | `{}` | {} | {} | {} | {} | {} | {} |",
            finding.severity,
            finding.code,
            finding.confidence,
            count(counts.groups),
            count(counts.surplus_records),
            count(counts.surplus_committed),
            places(finding),
            code(&finding.id),
        ));
    }
    if report.findings.len() > ROWS {
        let rest = counted((report.findings.len() - ROWS) as u64, "more finding");
        lines.push(format!("| … | {rest} | | | | | | |"));
    }
    lines.push(String::new());
    lines
}

fn places(finding: &Finding) -> String {
    let mut places: Vec<_> =
        finding.partitions.iter().take(2).map(|one| code(&place(&one.topic, one.partition))).collect();
    if finding.partitions.len() > 2 {
        places.push(format!("{} more", number((finding.partitions.len() - 2) as u64)));
    }
    listed(&places)
}

/// One finding where there is no room for its evidence: what it says, and what to do.
fn brief(finding: &Finding) -> Vec<String> {
    let advice: Vec<_> = finding.advice.iter().take(2).map(|line| text(line.trim_end_matches('.'))).collect();
    let next = if advice.is_empty() { String::new() } else { format!(" Next: {}.", advice.join("; ")) };
    vec![
        title(finding),
        String::new(),
        format!("{}. The evidence is in the JSON report.{next}", said(&finding.title, finding)),
        String::new(),
    ]
}

fn title(finding: &Finding) -> String {
    format!("### {} `{}` ({})", finding.severity, finding.code, finding.confidence)
}

/// One finding with its evidence.
fn section(finding: &Finding, zone: &Zone) -> Vec<String> {
    let mut lines =
        vec![title(finding), String::new(), format!("{}.", said(&finding.title, finding)), String::new()];
    let times = finding
        .window
        .as_ref()
        .map(|window| zone.labelled_span(window.first_timestamp, window.last_timestamp));
    let facts: Vec<_> = finding.facts.iter().filter(|fact| **fact != finding.title).collect();
    lines.extend(facts.iter().take(FACTS).map(|fact| format!("- {}.", said(fact, finding))));
    if facts.len() > FACTS {
        lines.push(format!(
            "- … and {} in the JSON report.",
            counted((facts.len() - FACTS) as u64, "more fact")
        ));
    }
    lines.extend(times.filter(|times| !times.is_empty()).map(|times| format!("- Times: {times}.")));
    for (label, kept) in [("Not excluded", true), ("Excluded", false)] {
        let rivals: Vec<_> = finding
            .alternatives
            .iter()
            .filter(|rival| rival.kept == kept && !rival.code.is_empty())
            .take(3)
            .map(|rival| match rival.why.trim().trim_end_matches('.') {
                "" => text(&rival.code),
                why => format!("{} ({})", text(&rival.code), text(why)),
            })
            .collect();
        if !rivals.is_empty() {
            lines.push(format!("- {label}: {}.", rivals.join("; ")));
        }
    }
    if let Some(cause) = &finding.cause {
        let cause_of = text(cause.text.trim().trim_end_matches('.'));
        lines.push(format!("- Cause ({}): {cause_of}.", cause.confidence));
    }
    if lines.last().is_some_and(|line| !line.is_empty()) {
        lines.push(String::new());
    }
    lines.extend(copies(finding, zone));
    for (label, words) in [("Would settle it", &finding.would_settle), ("Next", &finding.advice)] {
        if !words.is_empty() {
            let words: Vec<_> =
                words.iter().take(3).map(|line| text(line.trim().trim_end_matches('.'))).collect();
            lines.extend([format!("**{label}:** {}.", words.join("; ")), String::new()]);
        }
    }
    lines
}

/// The best examples, a row a copy.
fn copies(finding: &Finding, zone: &Zone) -> Vec<String> {
    if finding.groups.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        format!("| key | copy | offset | written by | time ({}) | how equal |", text(&zone.name())),
        "| --- | --- | ---: | --- | --- | --- |".to_owned(),
    ];
    for group in finding.groups.iter().take(GROUPS) {
        let key = business_key(&group.business_key);
        for (index, copy) in group.copies.iter().take(COPIES).enumerate() {
            let key = if index == 0 { code(&key) } else { String::new() };
            lines.push(row(&key, copy, zone));
        }
    }
    let shown = finding.groups.len().min(GROUPS) as u64;
    if finding.counts.groups > shown {
        lines.push(format!("| … | {} | | | | |", counted(finding.counts.groups - shown, "more key")));
    }
    lines.push(String::new());
    lines
}

fn row(key: &str, copy: &Copy, zone: &Zone) -> String {
    let place = place(&copy.topic, copy.partition);
    let level = copy.level.map(|level| text(level.words())).unwrap_or_default();
    let visibility = match copy.visibility {
        crate::finding::Visibility::NonTransactional => String::new(),
        other => format!(", {other}"),
    };
    let time = zone.time(copy.timestamp, None);
    format!(
        "| {key} | {} | {} | {}{visibility} | {time} | {level} |",
        code(&place),
        copy.offset,
        writer(copy)
    )
}

fn tail(report: &Report, zone: &Zone) -> Vec<String> {
    let coverage = &report.coverage;
    let read = if report.verdict.interrupted {
        "interrupted, not everything was read"
    } else if report.verdict.complete {
        "everything was read"
    } else {
        "not everything could be read"
    };
    let mut lines = vec![format!("**Coverage:** {}: {read}.", amount(coverage))];
    let unexpected: Vec<_> = coverage.damage.iter().filter(|damage| !damage.expected).collect();
    for damage in unexpected.iter().take(2) {
        lines.push(format!(
            "- damage: {} at {}: {}",
            code(&damage.file),
            damage.position,
            text(&damage.detail)
        ));
    }
    let rest = (unexpected.len().saturating_sub(2) as u64).saturating_add(coverage.damage_omitted);
    if rest > 0 {
        lines.push(format!("- {} of damage in the JSON report", counted(rest, "more place")));
    }
    if let Some(redaction) = &report.redaction {
        lines.extend([String::new(), format!("**Redacted:** {}.", redacted(redaction))]);
    }
    let version = text(&report.tool.version);
    let as_of = match (&report.as_of_time, zone.is_utc()) {
        (None, _) => String::new(),
        (Some(time), true) => format!(", as of {}", text(time)),
        (Some(_), false) => format!(", as of {}", zone.labelled_span(report.as_of_timestamp, None)),
    };
    let times = text(&zone.name());
    lines.extend([String::new(), format!("dedup-audit {version}{as_of}; times are {times}")]);
    lines
}

/// A line of the judgement, with a large letter in front and no full stop.
fn said(line: &str, finding: &Finding) -> String {
    text(&opening(line.trim().trim_end_matches('.'), &finding.topics))
}

/// `orders-0`
fn place(topic: &str, partition: i32) -> String {
    format!("{topic}-{partition}")
}

fn text(text: &str) -> String {
    escape::markdown(Terminal::text(text).cut(SENTENCE))
}

fn code(text: &str) -> String {
    escape::markdown_code(Terminal::text(text).cut(KEY))
}
