//! The report as a value, field by field as the JSON has it.
//!
//! Names are camelCase and spelled as Kafka's dump tool spells them. Unknown is `null`, never −1,
//! except for a producer id, which stays as it is on disk. Counts are exact, also where a list is
//! capped: the `…Omitted` beside the list says how many it leaves out. A field that ends in
//! `Timestamp` is milliseconds as Kafka stores them; its sibling that ends in `Time` is RFC 3339,
//! and `null` where the number is no plausible time. [`Window`] and [`Report::set_as_of`] keep the
//! two together.
//!
//! Enumerations are open: a later version may use values that this one does not know.

mod coverage;
mod producers;
mod topics;

pub use coverage::{AbsentPartitions, Coverage, DamageReport, Note, Part, UndecodedReport};
pub use producers::{EpochReport, ProducerReport, SessionReport, TransactionEpochs, TransactionalId};
pub use topics::{
    Chosen, Identity, LeaderEpochStart, PartitionReport, ProtectionReport, Suggestion, TopicReport, Updates,
    Visibility, VisibleRecords,
};

use crate::finding::{Event, Finding, rfc3339};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[doc(no_inline)]
pub use crate::finding::Window;

/// The version of the shape: the first number rises when a reader must change.
pub const SCHEMA_VERSION: &str = "1.0";

/// What one audit says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of this shape; the first number rises when a reader must change.
    pub schema_version: String,
    /// What wrote the report.
    pub tool: Tool,
    /// What was asked.
    pub invocation: Invocation,
    /// What stands for "now": the newest time in the evidence, or what was asked for.
    pub as_of_timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub as_of_time: Option<String>,
    /// What is hidden; absent where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<Redaction>,
    /// The directories that were read.
    pub evidence: Vec<Evidence>,
    /// The answer in sentences.
    pub verdict: Verdict,
    /// How much could be read, and what could not.
    pub coverage: Coverage,
    /// The topics by name.
    pub topics: Vec<TopicReport>,
    /// The producers by id.
    pub producers: Vec<ProducerReport>,
    /// How many producers are not listed.
    pub producers_omitted: u64,
    /// What consumers of all topics that are not internal see.
    pub visibility: Visibility,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// What happened: what a timeline is made of, within a partition in the order of offsets, and the partitions merged
    /// by time.
    #[serde(default)]
    pub events: Vec<Event>,
    /// How many events are not listed; those of the least telling kinds are left out first.
    #[serde(default)]
    pub events_omitted: u64,
}

impl Report {
    /// A report of this version of the tool, without content.
    #[must_use]
    pub fn new(invocation: Invocation) -> Self {
        Self { schema_version: SCHEMA_VERSION.to_owned(), tool: Tool::this(), invocation, ..Self::default() }
    }

    /// Sets what stands for "now", in both forms.
    pub fn set_as_of(&mut self, millis: Option<i64>) {
        self.as_of_timestamp = millis;
        self.as_of_time = millis.and_then(rfc3339);
    }
}

/// What a report hides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Redaction {
    /// `keys` (business keys and values), or `all` (names, too).
    pub mode: String,
    /// Where the key of the hashes is from: `random`, made for this report alone, or `file`.
    pub hash_key: String,
}

/// What wrote the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// `dedup-audit`
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Tool {
    /// This build.
    #[must_use]
    pub fn this() -> Self {
        Self { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// What was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invocation {
    /// The paths as they were given.
    pub paths: Vec<String>,
    /// The business key as it was asked for; `auto` when it was left to the tool.
    pub key: String,
    /// Every other option that differs from its default.
    pub options: BTreeMap<String, serde_json::Value>,
}

/// One directory that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The directory.
    pub directory: String,
    /// From `meta.properties`.
    pub broker_id: Option<i32>,
    /// From `meta.properties`.
    pub cluster_id: Option<String>,
    /// Files in it that were looked at.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the newest of them was written, RFC 3339.
    pub newest_file_time: Option<String>,
    /// Whether the broker closed its logs; `null` when the log directory itself was not given.
    pub clean_shutdown: Option<bool>,
}

/// The answer in sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Findings that count for the exit status.
    pub findings: u64,
    /// Whether everything could be read, expected damage aside.
    pub complete: bool,
    /// Whether the run was stopped before it was done.
    pub interrupted: bool,
    /// One sentence, without a full stop.
    pub headline: String,
    /// Three to six short sentences that can be pasted into a ticket.
    pub sentences: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_report_has_every_field_and_says_null_for_what_is_unknown() {
        let report = Report::new(Invocation::default());
        let value = serde_json::to_value(&report).unwrap();
        let names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        let mut expected = vec![
            "schemaVersion",
            "tool",
            "invocation",
            "asOfTimestamp",
            "asOfTime",
            "evidence",
            "verdict",
            "coverage",
            "topics",
            "producers",
            "producersOmitted",
            "visibility",
            "findings",
            "events",
            "eventsOmitted",
        ];
        expected.sort_unstable();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        assert_eq!(value["asOfTimestamp"], json!(null));
        assert_eq!(value["tool"]["name"], "dedup-audit");
    }

    #[test]
    fn a_time_that_is_none_keeps_its_number() {
        let mut report = Report::default();
        report.set_as_of(Some(i64::MAX));
        let value = serde_json::to_value(&report).unwrap();
        assert_eq!(value["asOfTimestamp"], json!(i64::MAX));
        assert_eq!(value["asOfTime"], json!(null));
    }

    #[test]
    fn numbers_near_the_limit_survive_reading_back() {
        let mut report = Report::new(Invocation::default());
        report.producers.push(ProducerReport {
            producer_id: i64::MAX - 1,
            sessions: vec![SessionReport {
                session: "9223372036854775806#1".to_owned(),
                window: Window::new(Some(1), Some(i64::MAX)),
                records: u64::MAX,
                ..SessionReport::default()
            }],
            ..ProducerReport::default()
        });
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        assert!(text.contains("\"firstTimestamp\":1,\"firstTime\":\"1970-01-01T00:00:00.001Z\""));
    }
}
