//! The copies of the best examples, one below the other.
//!
//! ```text
//!   order-41   offset 40  PID 1000 epoch 0 seq 40   14:02:10.871
//!              offset 60  PID 2000 epoch 0 seq 0    14:02:19.402   +8.5 s
//! ```

use super::named;
use crate::finding::{BusinessKey, Copy, Finding, Group, Level, Visibility};
use crate::report::escape::{Terminal, width};
use crate::report::layout::{NO_BREAK, Page};
use crate::report::wording::{Zone, business_key, later, number};

/// Examples that are shown.
const GROUPS: usize = 3;
/// Copies of one key that are shown.
const COPIES: usize = 4;

/// What the copies of a finding share: a key, or, where a digest stands for it, a content.
pub(in crate::report) fn what(finding: &Finding) -> &'static str {
    let by_content = |group: &Group| matches!(group.business_key, BusinessKey::Digest { .. });
    if finding.groups.first().is_some_and(by_content) { "content" } else { "key" }
}

/// One line: key, place, writer, time, distance, remarks.
type Cells = [String; 6];

/// The distance of a copy that has the time of what it repeats.
const SAME_TIME: &str = "same client time";

fn columns_of(lines: &[Cells]) -> Vec<usize> {
    (0..6).map(|cell| lines.iter().map(|line| width(&line[cell])).max().unwrap_or(0)).collect()
}

/// How wide a line with all cells is: indented, with two columns between cells.
fn wide(columns: &[usize]) -> usize {
    columns.iter().filter(|columns| **columns > 0).map(|columns| columns + 2).sum()
}

pub(super) fn show(page: &mut Page, finding: &Finding) {
    let key_columns = (page.width().columns() / 4).clamp(10, 40);
    let known_day = finding
        .window
        .as_ref()
        .and_then(|window| window.first_timestamp)
        .and_then(|time| page.zone().day(time));
    let places = Places::of(finding);
    let mut lines: Vec<Cells> = Vec::new();
    for group in finding.groups.iter().take(GROUPS) {
        group_lines(&mut lines, group, key_columns, places, known_day.as_deref(), page.zone());
    }
    let mut columns = columns_of(&lines);
    if wide(&columns) > page.width().columns() {
        // The heading says whose times these are.
        for distance in lines.iter_mut().map(|line| &mut line[4]).filter(|cell| *cell == SAME_TIME) {
            "same time".clone_into(distance);
        }
        columns = columns_of(&lines);
    }
    for line in &lines {
        let padded = |cell: usize| {
            let missing = columns[cell].saturating_sub(width(&line[cell]));
            format!("{}{}", line[cell], " ".repeat(missing))
        };
        let label = format!("{}  ", padded(0));
        let cells: Vec<_> = (1..6)
            .filter(|cell| columns[*cell] > 0)
            .map(|cell| padded(cell).replace(' ', &NO_BREAK.to_string()))
            .collect();
        page.hanging(2, &label, cells.join("  ").trim_end_matches([' ', NO_BREAK]));
    }
    let all = finding.counts.groups.max(finding.groups.len() as u64);
    let shown = finding.groups.len().min(GROUPS) as u64;
    if shown > 0 && all > shown {
        let what = what(finding);
        let plural = if all - shown == 1 { "" } else { "s" };
        page.paragraph(2, &format!("… and {} more {what}{plural}", number(all - shown)));
    }
}

/// How much of a place must be said to tell the copies of a finding apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    /// One partition: the offset says it.
    Offset,
    /// Several partitions: `orders-0@40`, as `RecordMetadata` prints a place.
    Partition,
    /// One partition number in several directories.
    Directory,
}

impl Places {
    fn of(finding: &Finding) -> Self {
        let mut copies = finding.groups.iter().flat_map(|group| &group.copies);
        let Some(first) = copies.next() else {
            return Self::Offset;
        };
        let mut places = Self::Offset;
        for copy in copies {
            if (&copy.topic, copy.partition) != (&first.topic, first.partition) {
                places = Self::Partition;
            } else if copy.directory != first.directory {
                return Self::Directory;
            }
        }
        places
    }

    fn say(self, copy: &Copy) -> String {
        match self {
            Self::Offset => format!("offset {}", copy.offset),
            Self::Partition => format!("{}-{}@{}", named(&copy.topic), copy.partition, copy.offset),
            Self::Directory => format!("{} offset {}", named(&copy.directory), copy.offset),
        }
    }
}

fn group_lines(
    lines: &mut Vec<Cells>,
    group: &Group,
    key_columns: usize,
    places: Places,
    known_day: Option<&str>,
    zone: &Zone,
) {
    let key = fitting_key(&group.business_key, key_columns);
    let mut before: Option<i64> = None;
    for (index, copy) in group.copies.iter().take(COPIES).enumerate() {
        let distance = copy.timestamp.zip(before).map(|(this, earlier)| match copy.level {
            Some(Level::E1 | Level::E2 | Level::E3) if this == earlier => SAME_TIME.to_owned(),
            _ => later(this.saturating_sub(earlier)),
        });
        let mut remarks = Vec::new();
        if !matches!(copy.visibility, Visibility::NonTransactional | Visibility::Committed) {
            remarks.push(copy.visibility.to_string());
        }
        if index + 1 == COPIES && group.copies.len() > COPIES {
            let more = u64::try_from(group.copies.len() - COPIES).unwrap_or(0);
            remarks.push(format!("… and {} more", more.saturating_add(group.copies_omitted)));
        }
        lines.push([
            if index == 0 { key.clone() } else { String::new() },
            places.say(copy),
            writer(copy),
            zone.time(copy.timestamp, known_day),
            distance.unwrap_or_default(),
            remarks.join(" "),
        ]);
        before = copy.timestamp;
    }
}

/// The key within some columns. Of a record key with the digest of its content the record key gives way:
/// contents are told apart by their digests.
fn fitting_key(key: &BusinessKey, columns: usize) -> String {
    let whole = business_key(key);
    if let BusinessKey::Digest { digest, record_key: Some(record_key) } = key
        && width(&whole) > columns
    {
        let digest: String = digest.chars().take(8).collect();
        let room = columns.saturating_sub(digest.len() + 3).max(4);
        return format!("{} ({digest})", Terminal::text(&business_key(record_key)).cut(room));
    }
    Terminal::text(&whole).cut(columns).to_string()
}

/// `PID 1000 epoch 0 seq 40`, or that there is none.
pub(in crate::report) fn writer(copy: &Copy) -> String {
    if copy.producer_id < 0 {
        return "no PID".to_owned();
    }
    let epoch = copy.producer_epoch.map(|epoch| format!(" epoch {epoch}")).unwrap_or_default();
    let sequence = copy.sequence.map(|sequence| format!(" seq {sequence}")).unwrap_or_default();
    format!("PID {}{epoch}{sequence}", copy.producer_id)
}
