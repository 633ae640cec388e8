//! One finding in full: every fact, every rival, all evidence that the report lists, and the copies of
//! each key side by side with the fields marked in which they differ.

use super::escape::{Terminal, width};
use super::layout::{Page, Width};
use super::model::{Invocation, Redaction, Report, SCHEMA_VERSION, Tool};
use super::table;
use super::wording::{Zone, business_key, number};
use super::zoned::told;
use crate::finding::{Copy, Finding, Group};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// Columns that one copy may take.
const COPY: usize = 44;
/// Columns of the names of the fields, with the mark in front.
const FIELD: usize = 18;

/// Writes the finding for people.
pub fn write_table(finding: &Finding, zone: &Zone, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(width).in_zone(zone.clone());
    let finding = &*told(finding, zone);
    table::show_whole(&mut page, finding);
    for group in &finding.groups {
        page.blank();
        side_by_side(&mut page, group);
    }
    if finding.groups_omitted > 0 {
        page.blank();
        let omitted = number(finding.groups_omitted);
        page.paragraph(0, &format!("… and {omitted} more keys that the report omits (scan --max-groups 0)"));
    }
    page.write(out)
}

/// Writes the finding as JSON, with the head of a report.
pub fn write_json(report: &Report, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let shown = Shown {
        schema_version: SCHEMA_VERSION.to_owned(),
        tool: Tool::this(),
        invocation: report.invocation.clone(),
        redaction: report.redaction.clone(),
        finding: finding.clone(),
    };
    serde_json::to_writer_pretty(&mut *out, &shown)?;
    writeln!(out)
}

/// One finding of a report.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// The version of this shape.
    pub schema_version: String,
    /// What shows it.
    pub tool: Tool,
    /// What was asked when the report was made.
    pub invocation: Invocation,
    /// What is hidden; absent where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redaction: Option<Redaction>,
    /// The finding.
    pub finding: Finding,
}

fn side_by_side(page: &mut Page, group: &Group) {
    let key = business_key(&group.business_key);
    page.paragraph(0, &Terminal::text(&key).cut(2000).shown());
    let room = page.width().columns().saturating_sub(FIELD).max(1);
    let columns: Vec<Vec<String>> =
        group.copies.iter().enumerate().map(|(at, copy)| fields(at, copy, page.zone())).collect();
    let wide = columns.iter().flatten().map(|cell| width(cell)).max().unwrap_or(0).min(COPY).min(room);
    let beside = (room / (wide + 2)).max(1);
    for block in columns.chunks(beside) {
        let mut lines = Vec::new();
        let time = if page.zone().is_utc() { "time (UTC)" } else { TIME };
        for (row, name) in NAMES.iter().enumerate() {
            let name = if *name == TIME { time } else { name };
            let cells: Vec<&str> =
                block.iter().filter_map(|column| column.get(row)).map(String::as_str).collect();
            if cells.iter().all(|cell| cell.is_empty()) && row > 0 {
                continue;
            }
            let all = columns.iter().filter_map(|column| column.get(row));
            let differs = row > 0 && all.clone().any(|cell| Some(cell) != all.clone().next());
            let mut line = format!("{} {name:<16}", if differs { '≠' } else { ' ' });
            for cell in cells {
                let shown = Terminal::text(cell).cut(wide).to_string();
                line.push_str(&shown);
                line.push_str(&" ".repeat((wide + 2).saturating_sub(width(&shown))));
            }
            lines.push(line);
        }
        page.lines(0, lines.iter().map(String::as_str));
    }
    if group.copies_omitted > 0 {
        page.paragraph(2, &format!("… and {} more copies", number(group.copies_omitted)));
    }
}

/// Where it is not UTC, the zone stands in the cells.
const TIME: &str = "time";

const NAMES: [&str; 19] = [
    "",
    "partition",
    "offset",
    TIME,
    "timestamp type",
    "producer id",
    "producer epoch",
    "sequence",
    "session",
    "leader epoch",
    "directory",
    "segment",
    "position",
    "batch base",
    "batch crc",
    "visibility",
    "repeats",
    "how equal",
    "value",
];

/// What stands beside [`NAMES`].
fn fields(at: usize, copy: &Copy, zone: &Zone) -> Vec<String> {
    fn maybe<T: ToString>(value: Option<T>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let repeats = copy.repeats.as_ref().map(|to| format!("{}-{}@{}", to.topic, to.partition, to.offset));
    vec![
        if at == 0 && copy.repeats.is_none() { "original".to_owned() } else { format!("copy {}", at.max(1)) },
        format!("{}-{}", copy.topic, copy.partition),
        copy.offset.to_string(),
        if zone.is_utc() {
            zone.time(copy.timestamp, None)
        } else {
            zone.labelled_span(copy.timestamp, None)
        },
        copy.timestamp_type.clone(),
        if copy.producer_id < 0 { "none".to_owned() } else { copy.producer_id.to_string() },
        maybe(copy.producer_epoch),
        maybe(copy.sequence),
        maybe(copy.session.as_ref()),
        maybe(copy.partition_leader_epoch),
        copy.directory.clone(),
        copy.segment.clone(),
        copy.position.to_string(),
        copy.batch_base_offset.to_string(),
        format!("{:#010x}", copy.crc),
        copy.visibility.to_string(),
        maybe(repeats),
        copy.level.map(|level| level.words().to_owned()).unwrap_or_default(),
        copy.value.as_ref().map(business_key).unwrap_or_default(),
    ]
}
