//! What is told of records that are in the files and that the log start has passed.
//!
//! Consumers no longer read them, so they count as no copies (DeleteRecords; retention, until the file
//! goes). Those who read before that saw them: events that stand on both sides of the log start are
//! told as a number of each topic.

use super::groups::KeyCounts;
use super::logs::Logs;
use super::options::Records;
use crate::finding::Finding;
use crate::report::model::Note;
use crate::report::wording::{counted, number};
use crate::units::TopicNumber;
use std::collections::BTreeMap;

/// Partitions that are named.
const PLACES: usize = 5;

/// What lies below the log starts of one topic.
pub(super) struct Deleted {
    topic: String,
    places: Vec<String>,
    partitions: u64,
    records: u64,
    /// Events that stand behind the log start, too.
    repeated: u64,
}

/// By topic; those with nothing below their log starts are left out.
pub(super) fn by_topic(logs: &Logs<'_>, key_counts: &[KeyCounts]) -> BTreeMap<TopicNumber, Deleted> {
    let mut deleted: BTreeMap<TopicNumber, Deleted> = BTreeMap::new();
    if logs.options.records == Records::HeadersOnly {
        return deleted;
    }
    for &at in &logs.led {
        let (Some(context), Some(outcome)) = (logs.contexts.get(at), logs.outcomes.get(at)) else { continue };
        let records = outcome.facts.records.saturating_sub(outcome.readable.uncommitted);
        if context.internal || records == 0 || context.log_start_offset.0 == 0 {
            continue;
        }
        let topic = logs.prepared.topics.of_partition(at);
        let of = deleted.entry(context.topic_number).or_insert_with(|| Deleted {
            topic: context.topic.clone(),
            places: Vec::new(),
            partitions: 0,
            records: 0,
            repeated: key_counts.get(topic).map_or(0, |counts| counts.repeat_deleted),
        });
        of.partitions += 1;
        of.records += records;
        if of.places.len() < PLACES {
            let (topic, partition, start) = (&context.topic, context.partition, context.log_start_offset);
            of.places.push(format!("{topic}-{partition} {} below offset {start}", number(records)));
        }
    }
    deleted
}

impl Deleted {
    fn places(&self) -> String {
        let more = self.partitions.saturating_sub(self.places.len() as u64);
        let more =
            if more > 0 { format!(", and {}", counted(more, "more partition")) } else { String::new() };
        format!("{}{more}", self.places.join(", "))
    }

    /// For the coverage.
    pub(super) fn note(&self) -> Note {
        let topic = &self.topic;
        let again = match self.repeated {
            0 => String::new(),
            events => format!(
                "; {} among them {} again behind the log start: whoever read before the deletion read more repeats than are counted",
                counted(events, "event"),
                if events == 1 { "stands" } else { "stand" }
            ),
        };
        let detail = format!(
            "{topic}: {} below the log start {} deleted for consumers and count as no copies: {}{again}",
            counted(self.records, "record"),
            if self.records == 1 { "is" } else { "are" },
            self.places()
        );
        Note { file: None, detail }
    }
}

/// Adds to the findings about copies what was repeated of records that are deleted now.
pub(super) fn tell(findings: &mut [Finding], deleted: &BTreeMap<TopicNumber, Deleted>) {
    for finding in findings.iter_mut().filter(|finding| finding.counts.groups > 0) {
        let told: Vec<String> = finding
            .topic_numbers
            .iter()
            .filter_map(|topic| deleted.get(topic))
            .filter(|of| of.repeated > 0)
            .map(|of| {
                let topic = &of.topic;
                format!(
                    "{} of {topic} {} behind the log start and among the records that were deleted below it ({}): \
                     whoever read before the deletion read them twice, and they are not counted here",
                    counted(of.repeated, "more event"),
                    if of.repeated == 1 { "stands" } else { "stand" },
                    of.places()
                )
            })
            .collect();
        let at = finding.facts.len().min(1);
        finding.facts.splice(at..at, told);
    }
}
