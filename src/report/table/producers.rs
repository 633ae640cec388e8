//! `producers` for a terminal: a summary, one row for each session in each partition, what is missing,
//! and the findings about producers.

use super::singles::reason;
use super::{coverage, escaped, finding, named};
use crate::finding::phrase::{range, sequences};
use crate::finding::{Gap, Severity};
use crate::report::answer::Answer;
use crate::report::escape::width;
use crate::report::layout::{Page, Width};
use crate::report::model::TransactionalId;
use crate::report::producers::{Producer, ProducerSession, Producers, SnapshotState};
use crate::report::wording::{Zone, counted, number};
use crate::report::zoned::told;
use comfy_table::{ContentArrangement, Table, presets};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Gaps of a session that are shown.
const GAPS: usize = 3;
/// Ids that were asked for in vain and are named.
const NOT_FOUND: usize = 5;
/// Findings that are shown.
const FINDINGS: usize = 10;

/// Writes the answer, with at most `rows` sessions.
pub fn write(
    answer: &Answer<Producers>,
    rows: usize,
    zone: &Zone,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(width).in_zone(zone.clone());
    let body = &*told(&answer.body, zone);
    page.paragraph(0, &headline(body)?);
    page.blank();
    sessions(&mut page, body, rows)?;
    snapshots(&mut page, body)?;
    let mut findings: Vec<_> =
        body.findings.iter().filter(|finding| finding.severity > Severity::Info).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for found in findings.iter().take(FINDINGS) {
        page.blank();
        finding::show(&mut page, found);
    }
    if findings.len() > FINDINGS {
        page.blank();
        let more = counted((findings.len() - FINDINGS) as u64, "finding");
        page.paragraph(0, &format!("… and {more} more in the JSON"));
    }
    page.blank();
    coverage::of_answer(&mut page, answer);
    page.write(out)
}

fn headline(body: &Producers) -> io::Result<String> {
    let churn = &body.churn;
    let mut said = if churn.producers == 0 {
        "no producer with an id wrote here".to_owned()
    } else {
        format!("{} in {}", counted(churn.producers, "producer id"), counted(churn.sessions, "session"))
    };
    if churn.short_lived > 0 {
        said =
            format!("{said}; {} of them wrote at most 20 records within a minute", number(churn.short_lived));
    }
    let mut remembered = 0;
    for producer in &body.producers {
        remembered += u64::from(producer?.sessions.is_empty());
    }
    if remembered > 0 {
        let verb = if remembered == 1 { "is" } else { "are" };
        said = format!("{said}; {} {verb} only in snapshots", counted(remembered, "more id"));
    }
    if body.records_without_id > 0 {
        let records = counted(body.records_without_id, "record");
        let verb = if body.records_without_id == 1 { "has" } else { "have" };
        let whom = if body.records_without_id == 1 { "it" } else { "them" };
        said = format!("{said}; {records} {verb} no producer id, and nothing tells who wrote {whom}");
    }
    if !body.not_found.is_empty() {
        let ids: Vec<String> = body.not_found.iter().take(NOT_FOUND).map(i64::to_string).collect();
        let more = body.not_found.len().saturating_sub(ids.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        said = format!("{said}; nothing here knows {}{more}", ids.join(", "));
    }
    Ok(format!("{said}."))
}

fn sessions(page: &mut Page, body: &Producers, most: usize) -> io::Result<()> {
    let (mut all, mut shown): (usize, Vec<(Option<TransactionalId>, ProducerSession)>) = (0, Vec::new());
    for producer in &body.producers {
        let Producer { sessions, transactional_id, .. } = producer?;
        all += sessions.len();
        let left = most - shown.len();
        shown.extend(sessions.into_iter().take(left).map(|session| (transactional_id.clone(), session)));
    }
    if all == 0 {
        return Ok(());
    }
    let rows: Vec<[String; 8]> =
        shown.iter().map(|(id, session)| row(id.as_ref(), session, page.zone())).collect();
    let lines = as_table(&rows);
    let columns = page.width().columns();
    if lines.iter().all(|line| width(line) <= columns) {
        page.lines(0, lines.iter().map(String::as_str));
    } else {
        for row in &rows {
            page.item(0, &as_line(row));
        }
    }
    if all > most {
        let more = counted((all - most) as u64, "session");
        page.paragraph(0, &format!("… and {more} more: --rows 0 shows all, --format json has them"));
    }
    let with_gaps: Vec<_> = shown.iter().filter(|(_, session)| !session.gaps.is_empty()).collect();
    if !with_gaps.is_empty() {
        page.blank();
    }
    for (_, session) in with_gaps {
        for gap in session.gaps.iter().take(GAPS) {
            page.item(0, &gap_line(session, gap));
        }
        if session.gaps.len() > GAPS {
            let more = counted((session.gaps.len() - GAPS) as u64, "gap");
            page.item(2, &format!("… and {more} more of {}", named(&session.session.session)));
        }
    }
    Ok(())
}

/// How many entries of snapshots there are, and those that the log contradicts.
fn snapshots(page: &mut Page, body: &Producers) -> io::Result<()> {
    let (mut entries, mut wrong): (u64, Vec<(i64, SnapshotState)>) = (0, Vec::new());
    let mut lacking: Lacking = BTreeMap::new();
    for producer in &body.producers {
        let Producer { producer_id, snapshots, .. } = producer?;
        entries += snapshots.len() as u64;
        for state in snapshots {
            lacking.entry((state.topic.clone(), state.partition, state.file.clone())).or_default();
            if !state.agrees {
                wrong.push((producer_id, state));
            }
        }
    }
    if entries == 0 {
        return Ok(());
    }
    // A producer that is missing in a snapshot has no entry there, and neither has a file that cannot be read.
    let is_told = |file: &str, id: i64| {
        let place = |state: &SnapshotState| format!("{}-{}/{}", state.topic, state.partition, state.file);
        wrong.iter().any(|(of, state)| *of == id && place(state) == file)
    };
    let differences = body.findings.iter().flat_map(|finding| &finding.snapshots);
    let beside: Vec<_> =
        differences.filter(|one| one.producer_id.is_none_or(|id| !is_told(&one.file, id))).collect();
    let lack = find_lacking(body, &mut lacking)?;
    let agree = match (wrong.len() as u64, beside.len() as u64 + lack) {
        (0, 0) => "the log contradicts none".to_owned(),
        (0, _) => "the log contradicts none of these; what they lack, or do not let read:".to_owned(),
        (wrong, _) => format!("the log contradicts {}", number(wrong)),
    };
    page.blank();
    let looked = if entries == 1 { "1 entry".to_owned() } else { format!("{} entries", number(entries)) };
    let end = if agree.ends_with(':') { "" } else { "." };
    page.paragraph(0, &format!("Producer snapshots: {looked} looked at, {agree}{end}"));
    for (producer_id, state) in wrong.iter().take(GAPS) {
        let log = state.log.as_deref().map(|log| format!(": {}", escaped(log))).unwrap_or_default();
        page.item(
            2,
            &format!(
                "{}-{}/{} about PID {}{log}",
                named(&state.topic),
                state.partition,
                named(&state.file),
                producer_id
            ),
        );
    }
    for one in beside.iter().take(GAPS) {
        let id = one.producer_id.map(|id| format!(" about PID {id}")).unwrap_or_default();
        page.item(2, &format!("{}{id}: {}", named(&one.file), escaped(&one.what)));
    }
    let each = lacking.iter().flat_map(|(place, (_, ids))| ids.iter().map(move |id| (place, id)));
    for ((topic, partition, file), id) in each.take(GAPS) {
        let place = format!("{topic}-{partition}/{file}");
        page.item(
            2,
            &format!("{} lacks PID {id}, which wrote below it: forgotten by age, or lost", named(&place)),
        );
    }
    if lack > GAPS as u64 {
        page.paragraph(2, &format!("… and {} more", number(lack - GAPS as u64)));
    }
    Ok(())
}

/// By snapshot how many producers that wrote below it are not in it, and the first of them.
type Lacking = BTreeMap<(String, i32, String), (u64, Vec<i64>)>;

/// Looks for producers that wrote below these snapshots and are not in them; how many there are in all.
fn find_lacking(body: &Producers, lacking: &mut Lacking) -> io::Result<u64> {
    let mut all = 0;
    for producer in &body.producers {
        let Producer { producer_id, sessions, snapshots, .. } = producer?;
        for ((topic, partition, file), (count, ids)) in &mut *lacking {
            let Some(below) = file.split('.').next().and_then(|stem| stem.parse::<i64>().ok()) else {
                continue;
            };
            let wrote = sessions.iter().map(|told| &told.session).any(|session| {
                (&session.topic, session.partition) == (topic, *partition) && session.first_offset < below
            });
            let is_there = |state: &SnapshotState| {
                (&state.topic, state.partition, &state.file) == (topic, *partition, file)
            };
            if wrote && !snapshots.iter().any(is_there) {
                all += 1;
                *count += 1;
                if ids.len() < GAPS {
                    ids.push(producer_id);
                }
            }
        }
    }
    Ok(all)
}

fn gap_line(session: &ProducerSession, gap: &Gap) -> String {
    format!(
        "{} in {}-{}: {} before sequence {} at offset {} ({})",
        named(&session.session.session),
        named(&gap.topic),
        gap.partition,
        if gap.missing == 1 {
            format!("sequence {} is missing", gap.expected)
        } else {
            format!("{} sequences from {} on are missing", number(u64::from(gap.missing)), gap.expected)
        },
        gap.found,
        gap.at_offset,
        reason(&gap.reason),
    )
}

fn row(id: Option<&TransactionalId>, told: &ProducerSession, zone: &Zone) -> [String; 8] {
    let session = &told.session;
    let id = id.map(|id| format!(" ({})", named(&id.value)));
    let (first, last) = (session.epochs.first(), session.epochs.last());
    let within = |first: Option<i64>, last: Option<i64>| {
        first.zip(last).map_or_else(String::new, |(first, last)| range(first, last))
    };
    let epoch =
        |at: Option<&crate::report::model::EpochReport>| at.and_then(|at| at.producer_epoch).map(i64::from);
    // Each epoch counts from 0: a range over several says nothing.
    let sequences = if session.epochs.len() == 1 {
        let ends =
            first.and_then(|epoch| epoch.first_sequence).zip(last.and_then(|epoch| epoch.last_sequence));
        ends.map_or_else(String::new, |(first, last)| sequences(first, last))
    } else {
        String::new()
    };
    [
        format!("{}{}", named(&session.session), id.unwrap_or_default()),
        format!("{}-{}", named(&session.topic), session.partition),
        range(session.first_offset, session.last_offset),
        match &session.transaction_epochs {
            Some(style) => format!("{} ({})", within(epoch(first), epoch(last)), style.words()),
            None => within(epoch(first), epoch(last)),
        },
        sequences,
        number(session.records),
        told.ended_by.words().to_owned(),
        zone.labelled_span(session.window.first_timestamp, session.window.last_timestamp),
    ]
}

const HEADER: [&str; 8] =
    ["session", "partition", "offsets", "epochs", "sequences", "records", "end", "from – to"];

fn as_table(rows: &[[String; 8]]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(HEADER);
    table.add_rows(rows);
    table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect()
}

/// Whether a cell holds one number, what is said of it aside, and not a range.
fn is_one(value: &str) -> bool {
    let number = value.split_once(" (").map_or(value, |(number, _)| number);
    number.chars().all(|c| c.is_ascii_digit())
}

fn as_line(row: &[String; 8]) -> String {
    let [session, partition, rest @ ..] = row;
    let parts: Vec<String> = rest
        .iter()
        .zip(HEADER.iter().skip(2))
        .filter(|(value, _)| !value.is_empty())
        .map(|(value, name)| match *name {
            "from – to" | "end" => value.clone(),
            "records" if value == "1" => "1 record".to_owned(),
            "records" => format!("{value} records"),
            "offsets" | "epochs" | "sequences" if is_one(value) => {
                format!("{} {value}", name.trim_end_matches('s'))
            }
            name => format!("{name} {value}"),
        })
        .collect();
    format!("{session} in {partition}: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::SessionReport;
    use crate::report::producer_list::ProducerList;

    #[test]
    fn a_snapshot_lacks_who_wrote_below_it_and_not_who_began_behind_it() {
        let producer = |producer_id, first_offset, holds: bool| {
            let place = || ("counts".to_owned(), 0, "00000000000000000010.snapshot".to_owned());
            let session =
                SessionReport { topic: place().0, partition: 0, first_offset, ..SessionReport::default() };
            let (topic, partition, file) = place();
            let state = SnapshotState { topic, partition, file, agrees: true, ..SnapshotState::default() };
            Producer {
                producer_id,
                sessions: vec![ProducerSession { session, ..ProducerSession::default() }],
                snapshots: if holds { vec![state] } else { Vec::new() },
                ..Producer::default()
            }
        };
        let all = [producer(2, 0, true), producer(3, 4, false), producer(4, 10, false)];
        let body = Producers { producers: ProducerList::held(&all).unwrap(), ..Producers::default() };
        let snapshot = ("counts".to_owned(), 0, "00000000000000000010.snapshot".to_owned());
        let mut lacking = Lacking::from([(snapshot, (0, Vec::new()))]);
        assert_eq!(find_lacking(&body, &mut lacking).unwrap(), 1);
        assert!(lacking.into_values().eq([(1, vec![3])]));
    }
}
