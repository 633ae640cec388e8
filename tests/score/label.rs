//! The label of a scenario: what was done in the experiment, as `truth.json` states it.
//!
//! What the fields mean is said in `testdata/README.md`. A field that this file does not name is
//! for readers only.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Topic, partition, offset.
pub type Place = (String, i32, i64);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Label {
    pub scenario: String,
    pub business_key: String,
    pub scan: Vec<String>,
    pub scan_args: Vec<String>,
    pub groups: Vec<LabelledGroup>,
    pub consumed: Option<Consumed>,
    pub consumed_topics: Option<Vec<String>>,
    pub skip_consumed: bool,
    pub producers: Vec<LabelledProducer>,
    pub labels_describe: Option<String>,
    pub labels_cover: Option<String>,
    pub unprotected: Option<Unprotected>,
    pub protection_lost: Vec<ProtectionLost>,
    pub gaps: Vec<LabelledGap>,
    pub transactions: Vec<LabelledTransaction>,
    pub damage: Vec<LabelledDamage>,
    pub rewinds: Option<Vec<LabelledRewind>>,
    pub positions: Vec<LabelledPosition>,
    pub compared: Vec<LabelledReplicas>,
    pub mirrored: Vec<LabelledMirror>,
    pub reconciled: Vec<LabelledLedger>,
    pub must_report: Vec<String>,
    pub may_report: Vec<String>,
    pub must_not_report: Vec<String>,
    pub must_report_at: Vec<CodesAt>,
    pub must_not_report_at: Vec<CodesAt>,
    pub at_most: BTreeMap<String, usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelledGroup {
    #[serde(default)]
    pub business_key: serde_json::Value,
    pub cause: String,
    #[serde(default)]
    pub also_acceptable: Vec<String>,
    #[serde(default)]
    pub optional: bool,
    #[serde(default)]
    pub any_order: bool,
    #[serde(default)]
    pub not_certain: bool,
    pub copies: Vec<LabelledCopy>,
}

impl LabelledGroup {
    /// An innocent repeat of a key: new content, which is not to be accused.
    pub fn is_innocent(&self) -> bool {
        self.cause == super::SAME_KEY_UPDATE
    }

    /// The codes that are right for the surplus copies.
    pub fn codes(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.cause)
            .chain(&self.also_acceptable)
            .map(|code| if code == "undetermined" { "duplicate-undetermined" } else { code })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelledCopy {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub producer_id: i64,
    pub producer_epoch: Option<i16>,
    pub sequence: Option<i32>,
    pub visibility: String,
}

impl LabelledCopy {
    pub fn place(&self) -> Place {
        (self.topic.clone(), self.partition, self.offset)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Consumed {
    pub read_uncommitted: ConsumedNumbers,
    pub read_committed: ConsumedNumbers,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsumedNumbers {
    pub records: Option<u64>,
    pub distinct_keys: Option<u64>,
    pub surplus: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelledProducer {
    pub topic: String,
    pub partition: i32,
    pub producer_id: i64,
    pub producer_epoch: Option<i16>,
    pub records: u64,
    pub first_sequence: Option<i32>,
    pub last_sequence: Option<i32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Unprotected {
    pub records: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProtectionLost {
    pub topic: String,
    pub partition: i32,
    pub from_offset: i64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelledGap {
    pub topic: String,
    pub partition: i32,
    pub producer_id: i64,
    pub at_offset: i64,
    pub expected: i32,
    pub found: i32,
    pub reason: String,
    #[serde(default)]
    pub also_acceptable: Vec<String>,
    #[serde(default)]
    pub optional: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelledTransaction {
    pub topic: String,
    pub partition: i32,
    pub producer_id: i64,
    pub first_offset: i64,
    pub outcome: String,
    #[serde(default)]
    pub optional: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct LabelledDamage {
    pub file: String,
    pub kind: Option<String>,
    pub position: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct CodesAt {
    pub topic: String,
    pub partition: i32,
    pub codes: Vec<String>,
}

/// A group's committed position that went back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct LabelledRewind {
    pub group: String,
    pub topic: String,
    pub partition: i32,
    pub from: i64,
    pub to: i64,
}

/// The largest position that a group committed.
#[derive(Clone, Debug, Deserialize)]
pub struct LabelledPosition {
    pub group: String,
    pub topic: String,
    pub partition: i32,
    pub highest: i64,
}

/// Where two replicas of a partition do not hold the same records.
#[derive(Clone, Debug, Deserialize)]
pub struct LabelledReplicas {
    pub topic: String,
    pub partition: i32,
    /// Their directories below the scenario.
    pub a: String,
    pub b: String,
    pub offsets: Vec<i64>,
}

/// What a mirror holds of its source: different records of both, of the source alone, and copies beyond the first.
#[derive(Clone, Debug, Deserialize)]
pub struct LabelledMirror {
    pub source: String,
    pub mirror: String,
    pub matched: u64,
    pub missing: u64,
    pub repeated: u64,
}

/// How many of the keys that were sent to a topic are stored how often.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelledLedger {
    pub topic: String,
    pub stored_once: u64,
    pub stored_more: u64,
    pub missing: u64,
}

impl Label {
    pub fn read(scenario: &Path) -> Self {
        let text = std::fs::read_to_string(scenario.join("truth.json")).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", scenario.display()))
    }

    /// The directories to scan: those that the label names, else `data/`, else all `data*/`.
    pub fn directories(&self, scenario: &Path) -> Vec<PathBuf> {
        if !self.scan.is_empty() {
            return self.scan.iter().map(|name| scenario.join(name)).collect();
        }
        let mut found: Vec<PathBuf> = std::fs::read_dir(scenario)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        found.sort();
        found
    }
}
