//! Who wrote which stretch of a log, and where the copies are: a lane a session, offsets across.
//!
//! ```text
//! Lanes       orders-0, offsets 0–79: o repeated later, x stored again
//!             1000#1  ───────────────────ooooooooo
//!             2000#1                              xxxxxxxxx
//! ```
//!
//! One picture, of the partition in which most copies are listed, if there is one that holds originals and
//! copies. What repeats an aborted copy is the valid one and has a mark of its own. A column never stands for less than an offset, so one record is one mark. Left out where there
//! is nothing to see: no surplus copy, or no session and no stretch that a copy lies in.

use super::backdrop::{LABEL, Names, label};
use super::named;
use crate::finding::phrase::offsets;
use crate::finding::{Code, Copy, Finding, ProtectionMode, Visibility};
use crate::report::escape::{Terminal, width};
use crate::report::layout::Page;
use crate::report::model::{Report, SessionReport, TopicReport};
use std::collections::BTreeMap;
use std::ops::Range;

/// Lanes that are drawn.
const LANES: usize = 8;
/// Columns of a lane's name.
const NAME: usize = 20;
/// Columns across which nobody looks.
const MOST: usize = 100;
/// Columns in which nothing can be seen.
const LEAST: usize = 16;

/// The lane of the records without producer id.
const NOBODY: &str = "no producer id";

pub(super) fn show(page: &mut Page, report: &Report) {
    let names = Names::of(report);
    let Some(Place { topic, which, partition, copies, among }) = most_copies(report, &names) else { return };
    let lanes = lanes(report, (topic, &which, partition), &copies, &names);
    let spans = lanes.values().flatten();
    let ends = spans.fold(None, |ends: Option<(i64, i64)>, &(first, last)| {
        Some(ends.map_or((first, last), |(low, high)| (low.min(first), high.max(last))))
    });
    let Some((low, high)) = ends else { return };
    let mut order: Vec<_> = lanes.iter().collect();
    order.sort_by_key(|(name, spans)| (spans.iter().map(|span| span.0).min(), **name));
    let shown: Vec<_> = order.iter().take(LANES).map(|(name, spans)| (**name, *spans)).collect();
    let shown_names: Vec<String> =
        shown.iter().map(|(name, _)| Terminal::text(name).cut(NAME).to_string()).collect();
    let name_columns = shown_names.iter().map(|name| width(name)).max().unwrap_or(0);
    let columns = page.width().columns().saturating_sub(LABEL + name_columns + 2).min(MOST);
    if columns < LEAST {
        return;
    }
    let across = i128::from(high) - i128::from(low) + 1;
    let columns = columns.min(usize::try_from(across).unwrap_or(usize::MAX));
    // An offset ends where the next one begins, so a run without holes is drawn without holes.
    let cells = |first: i64, last: i64| {
        let at = |offset: i128| {
            usize::try_from((offset - i128::from(low)) * columns as i128 / across).unwrap_or(0)
        };
        let from = at(first.into());
        from..at(i128::from(last) + 1).max(from + 1)
    };
    page.hanging(
        0,
        &label("Lanes"),
        &legend(
            &format!("{}-{partition}{which}", named(topic)),
            (low, high),
            columns,
            &copies,
            among,
            report,
        ),
    );
    for ((name, spans), shown) in shown.iter().zip(&shown_names) {
        let mut line = vec![' '; columns];
        for &(first, last) in *spans {
            draw(&mut line, cells(first, last), '─');
        }
        // What was stored again is not hidden by what was stored first.
        for mark in [FIRST, ABORTED, VALID, AGAIN] {
            for Marked { copy, .. } in
                copies.iter().filter(|one| one.mark == mark && lane_of(one.copy) == *name)
            {
                draw(&mut line, cells(copy.offset, copy.offset), mark);
            }
        }
        let line: String = line.into_iter().collect();
        let space = " ".repeat(name_columns.saturating_sub(width(shown)));
        page.lines(LABEL, [format!("{shown}{space}  {line}").as_str()]);
    }
    if order.len() > LANES {
        page.lines(LABEL, [format!("… and {} more", order.len() - LANES).as_str()]);
    }
}

/// What the picture shows: `orders-0 (1 of 4 partitions), offsets 0–79: o repeated later, x stored again`.
fn legend(
    place: &str,
    (low, high): (i64, i64),
    columns: usize,
    copies: &[Marked<'_>],
    among: usize,
    report: &Report,
) -> String {
    let among = if among > 1 { format!(" (1 of {among} partitions with copies)") } else { String::new() };
    let has = |mark: char| copies.iter().any(|one| one.mark == mark);
    let marks = [
        (FIRST, "o repeated later"),
        (AGAIN, "x stored again"),
        (ABORTED, "a aborted"),
        (VALID, "v valid, written again behind an abort"),
    ];
    let marks: Vec<&str> = marks.into_iter().filter(|(mark, _)| has(*mark)).map(|(_, said)| said).collect();
    let mut said = format!("{place}{among}, {}: {}", offsets(low, high), marks.join(", "));
    let wide = (i128::from(high) - i128::from(low)) / columns.max(1) as i128 + 1;
    if wide > 1 {
        said = format!("{said}; up to {wide} offsets a column");
    }
    let omitted = |finding: &Finding| {
        finding.groups_omitted > 0 || finding.groups.iter().any(|group| group.copies_omitted > 0)
    };
    if report.findings.iter().any(omitted) {
        said.push_str("; only listed copies are marked");
    }
    said
}

/// Stored first, an original.
const FIRST: char = 'o';
/// Stored again.
const AGAIN: char = 'x';
/// In an aborted transaction, first or again.
const ABORTED: char = 'a';
/// What an aborted transaction had written, written again: the copy to keep.
const VALID: char = 'v';

/// A copy and how it is drawn.
#[derive(Clone, Copy)]
struct Marked<'a> {
    copy: &'a Copy,
    mark: char,
}

impl<'a> Marked<'a> {
    fn of(copy: &'a Copy, finding: &Finding) -> Self {
        let mark = match (copy.visibility, &copy.repeats) {
            (Visibility::Aborted, _) => ABORTED,
            (_, None) => FIRST,
            (_, Some(_)) if finding.code == Code::AbortedThenRetried => VALID,
            (_, Some(_)) => AGAIN,
        };
        Self { copy, mark }
    }
}

fn draw(line: &mut [char], cells: Range<usize>, mark: char) {
    line.iter_mut().take(cells.end).skip(cells.start).for_each(|cell| *cell = mark);
}

/// A partition that is drawn.
struct Place<'a> {
    topic: &'a str,
    /// What tells the topic from another one of its name.
    which: String,
    partition: i32,
    /// All copies in it, originals among them.
    copies: Vec<Marked<'a>>,
    /// How many partitions hold surplus copies.
    among: usize,
}

/// The partition in which most surplus copies are listed, of those that hold originals as well if there
/// are such.
fn most_copies<'r>(report: &'r Report, names: &Names<'_>) -> Option<Place<'r>> {
    let mut places: BTreeMap<(&str, String, i32), (usize, Vec<Marked<'_>>)> = BTreeMap::new();
    for finding in &report.findings {
        for copy in finding.groups.iter().flat_map(|group| &group.copies) {
            let which = names.which_in(&copy.topic, &copy.directory);
            let (again, copies) = places.entry((copy.topic.as_str(), which, copy.partition)).or_default();
            *again += usize::from(copy.repeats.is_some());
            copies.push(Marked::of(copy, finding));
        }
    }
    places.retain(|_, (again, _)| *again > 0);
    let among = places.len();
    // The first of equals: the iterator goes by name, and the last maximum wins.
    let ((topic, which, partition), (_, copies)) =
        places.into_iter().rev().max_by_key(|(_, (again, copies))| (copies.len() > *again, *again))?;
    Some(Place { topic, which, partition, copies, among })
}

fn lane_of(copy: &Copy) -> &str {
    copy.session.as_deref().unwrap_or(NOBODY)
}

/// The stretches of each lane that holds a copy.
fn lanes<'a>(
    report: &'a Report,
    (topic, which, partition): (&str, &str, i32),
    copies: &[Marked<'a>],
    names: &Names<'_>,
) -> BTreeMap<&'a str, Vec<(i64, i64)>> {
    let mut lanes: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
    for Marked { copy, .. } in copies {
        lanes.entry(lane_of(copy)).or_default().push((copy.offset, copy.offset));
    }
    let sessions = report.producers.iter().flat_map(|producer| &producer.sessions);
    let of_place = |session: &&SessionReport| session.topic == topic && session.partition == partition;
    // Sessions of two topics of one name are listed by that name: which are of this one is not told.
    for session in sessions.filter(|_| !names.has_namesakes(topic)).filter(of_place) {
        if let Some(spans) = lanes.get_mut(session.session.as_str()) {
            spans.push((session.first_offset, session.last_offset));
        }
    }
    let is_this = |one: &&TopicReport| one.topic == topic && names.which(one) == which;
    let of_topic = report.topics.iter().filter(is_this).flat_map(|one| &one.partitions);
    let led = of_topic.filter(|one| one.partition == partition && one.replica_of.is_none());
    let bare = led
        .flat_map(|one| &one.protection.stretches)
        .filter(|stretch| matches!(stretch.mode, ProtectionMode::None | ProtectionMode::Legacy));
    if let Some(spans) = lanes.get_mut(NOBODY) {
        spans.extend(bare.map(|stretch| (stretch.first_offset, stretch.last_offset)));
    }
    lanes
}
