//! What `keys` answers: by topic, what would identify an event, and what each field would find.
//!
//! Goes in: what the adviser found. Comes out: the part of the answer that JSON shows, and the same
//! for people. Keys are shown as examples, escaped; whole values never are.

use super::answer::Answer;
use super::escape::{Terminal, width};
use super::layout::{Page, Width};
use super::model::Identity;
use super::table::of_answer;
use super::wording::{counted, number};
use crate::finding::BusinessKey;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Fields of a topic that are shown to people.
const SHOWN: usize = 12;
/// Columns of an example.
const EXAMPLE: usize = 24;

/// The answer's own part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeysReport {
    /// The topics by name, Kafka's own aside.
    pub topics: Vec<TopicKeys>,
}

/// What could identify the events of one topic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopicKeys {
    /// The topic.
    pub topic: String,
    /// What `scan` would take, and what may be better.
    pub identity: Identity,
    /// How many partitions it has, where that is known.
    pub partition_count: Option<u32>,
    /// Its fields, those that name events best first.
    pub candidates: Vec<CandidateReport>,
    /// How many fields are not listed.
    pub candidates_omitted: u64,
    /// Fields that do not count as content, and why.
    pub volatile: Vec<VolatileReport>,
}

/// A field, and what it would find as a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CandidateReport {
    /// As `--key` spells it.
    pub key: String,
    /// Records that have it.
    pub covered_records: u64,
    /// Of these, the records whose values were followed through the topic: all where memory allows,
    /// else those of a fixed choice of values. The counts below are about them.
    pub followed_records: u64,
    /// Different values.
    pub distinct: u64,
    /// Records that repeat a value with the first or the latest content that it had.
    pub repeats_same_content: u64,
    /// Records that repeat a value with other content.
    pub repeats_other_content: u64,
    /// From 0 to 100: how well it names events.
    pub score: u8,
    /// Whether it is suggested in place of what was chosen.
    pub suggested: bool,
    /// Up to three values, those that repeat first.
    pub examples: Vec<BusinessKey>,
    /// Why.
    pub why: String,
}

/// A field that does not count as content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolatileReport {
    /// As `--ignore-field` spells it.
    pub field: String,
    /// Why it does not count.
    pub why: String,
}

/// Writes the answer for people.
///
/// # Errors
/// What the writer says.
pub fn write(answer: &Answer<KeysReport>, columns: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(columns);
    let report = &answer.body;
    if report.topics.is_empty() {
        page.paragraph(0, "No topic with records was found.");
    }
    for topic in &report.topics {
        topic.show(&mut page);
        page.blank();
    }
    of_answer(&mut page, answer);
    page.write(out)
}

impl TopicKeys {
    fn show(&self, page: &mut Page) {
        let name = Terminal::text(&self.topic).shown();
        page.paragraph(0, &format!("{name}: {}", self.said()));
        for suggestion in &self.identity.suggestions {
            page.item(
                2,
                &format!(
                    "Suggested: --key {} ({})",
                    Terminal::text(&suggestion.key).shown(),
                    Terminal::text(&suggestion.why).shown()
                ),
            );
        }
        page.blank();
        let rows: Vec<[String; 7]> = self.candidates.iter().take(SHOWN).map(CandidateReport::row).collect();
        let lines = as_table(&rows);
        if lines.iter().all(|line| width(line) + 2 <= page.width().columns()) {
            page.lines(2, lines.iter().map(String::as_str));
        } else {
            for candidate in self.candidates.iter().take(SHOWN) {
                page.item(2, &candidate.line());
            }
        }
        let rest = self.candidates.len().saturating_sub(SHOWN) as u64 + self.candidates_omitted;
        if rest > 0 {
            page.paragraph(2, &format!("… and {} that the JSON names", counted(rest, "more field")));
        }
        for field in &self.volatile {
            let name = Terminal::text(&field.field).shown();
            page.item(2, &format!("Does not count as content: {name} ({})", field.why));
        }
        for candidate in self.candidates.iter().take(SHOWN) {
            let key = Terminal::text(&candidate.key).shown();
            page.item(2, &format!("{key}: {}", Terminal::text(&candidate.why).shown()));
        }
    }

    fn said(&self) -> String {
        let key = Terminal::text(&self.identity.key).shown();
        format!("scan takes {key} ({})", Terminal::text(self.identity.why.trim_end_matches('.')).shown())
    }
}

impl CandidateReport {
    fn examples(&self) -> String {
        let shown = self.examples.iter().map(|key| {
            let key = super::wording::business_key(key);
            Terminal::text(&key).cut(EXAMPLE).shown().into_owned()
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    fn row(&self) -> [String; 7] {
        [
            Terminal::text(&self.key).cut(40).shown().into_owned(),
            self.score.to_string(),
            number(self.covered_records),
            number(self.distinct),
            number(self.repeats_same_content),
            number(self.repeats_other_content),
            self.examples(),
        ]
    }

    /// The same where a table does not fit.
    fn line(&self) -> String {
        let [key, score, covered, distinct, same, other, examples] = self.row();
        format!(
            "{key}: score {score}, in {covered} records, {distinct} distinct, repeats {same} with the same content and {other} with other; {examples}"
        )
    }
}

fn as_table(rows: &[[String; 7]]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["key", "score", "records", "distinct", "same again", "changed again", "examples"]);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(1).take(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect()
}
