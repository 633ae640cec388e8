//! The story of one business key for a ticket: fewer than 60 lines of Markdown that render on GitHub, on GitLab and
//! in Jira's editor.
//!
//! What the timeline of the terminal says, with the copies first in line for the room that there is: where each
//! stands, who wrote it, what it repeats; what happened around them; in which fields they differ; and what that
//! makes of their writers. Foreign text is escaped as in the ticket of a report.

use super::{FIELDS, Line, Names, Role, Trace, about, consumers, in_order, not_searched, stored, what};
use crate::finding::Finding;
use crate::report::answer::Answer;
use crate::report::how_read::{HowRead, amount};
use crate::report::markdown::{code, text};
use crate::report::verdict::agreement_of;
use crate::report::wording::{self, Zone, counted, listed, number, opening};
use crate::report::zoned::told;
use std::io::{self, Write};

/// Lines that a ticket may have.
const LINES: usize = 58;
/// Rows of the timeline, where the rest leaves room for them.
const ROWS: usize = 30;
/// Facts of one finding.
const FACTS: usize = 4;
/// Findings that are told with facts.
const FINDINGS: usize = 2;

/// Writes the story.
///
/// # Errors
/// What the writer says.
pub fn write(answer: &Answer<Trace>, zone: &Zone, out: &mut dyn Write) -> io::Result<()> {
    let trace = &*told(&answer.body, zone);
    let mut lines = head(trace);
    let mut behind = differences(trace);
    behind.extend(trace.details.iter().take(FINDINGS).flat_map(finding));
    behind.extend(trace.details.iter().skip(FINDINGS).map(|one| format!("- {}", title(one))));
    if trace.details.len() > FINDINGS {
        behind.push(String::new());
    }
    let read = HowRead::of(&answer.coverage, answer.reading()).words();
    behind.push(format!("**Coverage:** {}: {read}.", amount(&answer.coverage)));
    behind.extend(wording::absent_by_topic(&answer.coverage).iter().map(|line| format!("- {}", text(line))));
    behind.extend(
        answer.redaction.iter().map(|redaction| format!("- redacted: {}.", wording::redacted(redaction))),
    );
    let version = text(&answer.tool.version);
    behind.extend([String::new(), format!("dedup-audit {version} trace; times are {}", text(&zone.name()))]);
    let room = LINES.saturating_sub(lines.len() + behind.len()).clamp(5, ROWS);
    lines.extend(timeline(trace, zone, room));
    lines.extend(behind);
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn head(trace: &Trace) -> Vec<String> {
    let key = code(&trace.key);
    if trace.copies.is_empty() {
        let mut lines = vec![format!("## No record has the business key {key}"), String::new()];
        for identity in &trace.identities {
            let (topic, spec) = (code(&identity.topic), code(&identity.key));
            lines.push(format!("- {topic}: looked for as {spec}"));
        }
        let near: Vec<String> =
            trace.near_keys.iter().map(|near| code(&wording::business_key(near))).collect();
        if !near.is_empty() {
            lines.push(format!("- sampled keys that are nearly so: {}", listed(&near)));
        }
        if !trace.not_searched.is_empty() {
            lines.push(format!("- {}", not_searched(trace)));
        }
        lines.push(String::new());
        return lines;
    }
    let topics: Vec<String> = trace.identities.iter().map(|identity| stored(trace, identity)).collect();
    let said = format!("{}; {}", listed(&topics), consumers(trace));
    let identities: Vec<String> = trace
        .identities
        .iter()
        .map(|identity| format!("{}: {}", code(&identity.topic), text(&agreement_of(&identity.key))))
        .collect();
    let mut lines = vec![
        format!("## {key}: {}", text(&said)),
        String::new(),
        format!("**One event** are records when {}.", identities.join("; ")),
        String::new(),
    ];
    if !trace.not_searched.is_empty() {
        lines.extend([opening(&format!("{}.", not_searched(trace)), &[]), String::new()]);
    }
    lines
}

/// The copies, and as many of the events around them as there is room for.
fn timeline(trace: &Trace, zone: &Zone, room: usize) -> Vec<String> {
    if trace.copies.is_empty() {
        return Vec::new();
    }
    let all = in_order(trace);
    let copies = all.iter().filter(|line| matches!(line, Line::Copy(..))).count();
    // The head of the table, what is left out, and the empty line behind it.
    let rows = room.saturating_sub(4);
    let mut events = rows.saturating_sub(copies.min(rows));
    let mut left_for_copies = rows;
    let roles = Role::all(trace);
    let names = Names::of(trace);
    let mut lines = vec![
        format!("| time ({}) | what | where | |", text(&zone.name())),
        "| --- | --- | --- | --- |".to_owned(),
    ];
    let (mut copies_left, mut events_left) = (trace.copies_omitted, trace.events_omitted);
    for line in &all {
        let time = zone.time(line.time(), None);
        match line {
            Line::Copy(number, copy) => {
                if left_for_copies == 0 {
                    copies_left = copies_left.saturating_add(1);
                    continue;
                }
                left_for_copies -= 1;
                let word = roles.get(number.saturating_sub(1)).map_or("COPY", |role| role.word());
                let place = code(&format!("{}-{}@{}", copy.topic, copy.partition, copy.offset));
                let about = text(&about(trace, *number, copy, &names));
                lines.push(format!(
                    "| {time} | **{word} {}** | {place} | {about} |",
                    text(&names.name(*number))
                ));
            }
            Line::Event(event) => {
                if events == 0 {
                    events_left = events_left.saturating_add(1);
                    continue;
                }
                events -= 1;
                let place = code(&format!("{}-{}@{}", event.topic, event.partition, event.offset));
                lines.push(format!("| {time} | | {place} | {} |", text(&event.detail)));
            }
        }
    }
    let mut left = Vec::new();
    for (count, what) in [(copies_left, "more copy"), (events_left, "more event")] {
        match (count, what) {
            (0, _) => {}
            (1, what) => left.push(format!("1 {what}")),
            (count, "more copy") => left.push(format!("{} more copies", number(count))),
            (count, what) => left.push(format!("{} {what}s", number(count))),
        }
    }
    if !left.is_empty() {
        lines.push(format!("| … | {} | | |", listed(&left)));
    }
    lines.push(String::new());
    lines
}

fn differences(trace: &Trace) -> Vec<String> {
    if trace.copies.len() < 2 {
        return Vec::new();
    }
    let what = what(trace);
    if trace.differences.is_empty() {
        return vec![
            format!("The {what} are equal in key, value and headers, byte for byte."),
            String::new(),
        ];
    }
    let fields: Vec<String> = trace
        .differences
        .iter()
        .take(FIELDS)
        .map(|difference| {
            let volatile = if difference.volatile { ", does not count as content" } else { "" };
            format!("{} ({} values{volatile})", code(&difference.pointer), number(difference.distinct))
        })
        .collect();
    let more = match trace.differences.len().saturating_sub(FIELDS) {
        0 => String::new(),
        more => format!(" and {}", counted(more as u64, "more field")),
    };
    vec![format!("The {what} differ in {}{more}.", fields.join(", ")), String::new()]
}

/// The code, how sure it is and whether it stands on this key alone; what it says.
fn title(finding: &Finding) -> String {
    let whose = if finding.level.is_some() {
        "by the copies of this key alone".to_owned()
    } else {
        code(&finding.id)
    };
    let said = opening(finding.title.trim_end_matches('.'), &finding.topics);
    format!("`{}` ({}, {whose}): {}.", finding.code, finding.confidence, text(&said))
}

fn finding(finding: &Finding) -> Vec<String> {
    let mut lines = vec![title(finding), String::new()];
    let facts = finding.facts.iter().filter(|fact| **fact != finding.title).take(FACTS);
    let said = |line: &str| text(&opening(line.trim().trim_end_matches('.'), &finding.topics));
    lines.extend(facts.map(|fact| format!("- {}.", said(fact))));
    for (label, kept) in [("Not excluded", true), ("Excluded", false)] {
        let rivals: Vec<String> = finding
            .alternatives
            .iter()
            .filter(|rival| rival.kept == kept && !rival.code.is_empty())
            .map(|rival| format!("{} ({})", text(&rival.code), text(rival.why.trim_end_matches('.'))))
            .collect();
        if !rivals.is_empty() {
            lines.push(format!("- {label}: {}.", rivals.join("; ")));
        }
    }
    for (label, words) in [("Would settle it", &finding.would_settle), ("Next", &finding.advice)] {
        let words: Vec<String> =
            words.iter().take(3).map(|line| text(line.trim().trim_end_matches('.'))).collect();
        if !words.is_empty() {
            lines.push(format!("- {label}: {}.", words.join("; ")));
        }
    }
    lines.push(String::new());
    lines
}
