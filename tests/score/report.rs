//! What the score reads of a JSON report. Names are those of the published schema and are written
//! out here once more on purpose: a name that changes breaks readers, so it breaks this, too.

#![expect(clippy::struct_field_names, reason = "the names are those of the schema")]

use super::label::{LabelledRewind, Place};
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Report {
    pub verdict: Verdict,
    pub coverage: Coverage,
    pub topics: Vec<Topic>,
    pub producers: Vec<Producer>,
    pub visibility: Levels,
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn with_code<'a>(&'a self, code: &'a str) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |finding| finding.code == code)
    }

    pub fn has(&self, code: &str) -> bool {
        self.with_code(code).next().is_some()
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Verdict {
    pub findings: u64,
    pub complete: bool,
}

impl Default for Verdict {
    fn default() -> Self {
        Self { findings: 0, complete: true }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Coverage {
    pub damage: Vec<Damage>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Damage {
    pub file: String,
    pub kind: String,
    pub position: Option<u64>,
    pub length: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Topic {
    pub topic: String,
    pub internal: bool,
    pub visibility: Levels,
    pub partitions: Vec<Partition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Partition {
    pub partition: i32,
    pub replica_of: Option<serde_json::Value>,
    pub records: u64,
    pub protection: Protection,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Protection {
    pub idempotent_records: u64,
    pub transactional_records: u64,
    pub unprotected_records: u64,
    pub legacy_records: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Levels {
    pub read_uncommitted: Numbers,
    pub read_committed: Numbers,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Numbers {
    pub records: u64,
    pub distinct_keys: u64,
    pub repeated_key_records: u64,
}

impl std::iter::Sum for Numbers {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, next| Self {
            records: sum.records + next.records,
            distinct_keys: sum.distinct_keys + next.distinct_keys,
            repeated_key_records: sum.repeated_key_records + next.repeated_key_records,
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Producer {
    pub producer_id: i64,
    pub sessions: Vec<Session>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Session {
    pub topic: String,
    pub partition: i32,
    pub epochs: Vec<Epoch>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Epoch {
    pub producer_epoch: Option<i16>,
    pub records: u64,
    pub first_sequence: Option<i32>,
    pub last_sequence: Option<i32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub code: String,
    pub severity: String,
    pub confidence: String,
    pub topics: Vec<String>,
    pub partitions: Vec<TopicPartition>,
    pub counts: Counts,
    pub groups: Vec<Group>,
    #[serde(default)]
    pub groups_omitted: u64,
    #[serde(default)]
    pub gaps: Vec<Gap>,
    #[serde(default)]
    pub transactions: Vec<Transaction>,
    #[serde(default)]
    pub stretches: Vec<Stretch>,
    #[serde(default)]
    pub rewinds: Vec<LabelledRewind>,
    #[serde(default)]
    pub consumed_by: Vec<ConsumedBy>,
}

impl Finding {
    pub fn names(&self, topic: &str, partition: i32) -> bool {
        self.partitions.iter().any(|at| at.topic == topic && at.partition == partition)
    }

    pub fn copies(&self) -> impl Iterator<Item = &Copy> {
        self.groups.iter().flat_map(|group| &group.copies)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct ConsumedBy {
    pub group: String,
    pub all: bool,
    pub copies: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct TopicPartition {
    pub topic: String,
    pub partition: i32,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub groups: u64,
    pub surplus_records: u64,
    pub surplus_committed: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    #[serde(default)]
    pub business_key: BusinessKey,
    pub copies: Vec<Copy>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct BusinessKey {
    pub text: Option<String>,
}

impl Group {
    /// The accused copies: all after the first, or the only one (a misplaced batch may stand alone).
    pub fn surplus(&self) -> &[Copy] {
        match self.copies.as_slice() {
            [_, later @ ..] if !later.is_empty() => later,
            all => all,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Copy {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub producer_id: i64,
    pub producer_epoch: Option<i16>,
    pub sequence: Option<i32>,
    pub visibility: String,
    #[serde(default)]
    pub repeats: Option<Repeated>,
}

/// The copy that one repeats.
#[derive(Clone, Debug, Deserialize)]
pub struct Repeated {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
}

impl Copy {
    pub fn place(&self) -> Place {
        (self.topic.clone(), self.partition, self.offset)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    pub topic: String,
    pub partition: i32,
    pub producer_id: i64,
    pub at_offset: i64,
    pub expected: i32,
    pub found: i32,
    pub reason: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transaction {
    pub topic: String,
    pub partition: i32,
    pub producer_id: i64,
    pub first_offset: i64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stretch {
    pub topic: Option<String>,
    pub partition: Option<i32>,
    pub mode: String,
    pub first_offset: i64,
}
