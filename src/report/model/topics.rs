//! Topics and their partitions: identity, updates, what consumers see, protection.

use crate::finding::{Stretch, Window, open_words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One topic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopicReport {
    /// The name.
    pub topic: String,
    /// From `partition.metadata`.
    pub topic_id: Option<String>,
    /// Whether the name begins with `__`.
    pub internal: bool,
    /// Whether a program of Kafka keeps its own state in it, by name or by name and keys (`__…`, Connect's,
    /// MirrorMaker 2's): neither its repeats nor its protection are told as findings.
    #[serde(default)]
    pub holds_state: bool,
    /// What makes two records the same event; `null` where records were not read.
    pub identity: Option<Identity>,
    /// Repeats of a key with new content: counted, not accused.
    pub updates: Updates,
    /// What consumers that count the business key get, from the log start on.
    pub visibility: Visibility,
    /// The partitions by number; replicas of one partition by directory.
    pub partitions: Vec<PartitionReport>,
}

/// What makes two records the same event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// As `--key` spells it; `content` when key, value and headers together are the identity.
    pub key: String,
    /// Who chose it.
    pub chosen: Chosen,
    /// Why.
    pub why: String,
    /// Fields that differ between nearly all records and do not count.
    pub volatile: Vec<String>,
    /// Keys that may tell events apart better.
    pub suggestions: Vec<Suggestion>,
}

open_words! {
    /// Who chose the identity.
    Chosen {
        /// The tool, from a sample of the topic.
        Auto "auto";
        /// The user, or a plan that the user gave.
        User "user";
    }
}

#[expect(clippy::derivable_impls, reason = "the macro of open enumerations derives no default")]
impl Default for Chosen {
    fn default() -> Self {
        Self::Auto
    }
}

/// A key that may tell events apart better.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// As `--key` spells it.
    pub key: String,
    /// Why.
    pub why: String,
}

/// Repeats of a key with new content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Updates {
    /// Keys that were updated.
    pub keys: u64,
    /// Records that update a key.
    pub records: u64,
}

/// What consumers see, by isolation level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Visibility {
    /// To the end of the log, aborted and open transactions included.
    pub read_uncommitted: VisibleRecords,
    /// To the last stable offset, without aborted transactions.
    pub read_committed: VisibleRecords,
    /// Records to the end of the log that lie at or above the high watermark that the broker had
    /// checkpointed: consumers get them once the replicas have them, or never. `null` without
    /// checkpoint.
    #[serde(default)]
    pub provisional_records: Option<u64>,
}

/// What one isolation level sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VisibleRecords {
    /// Records, with and without key.
    pub records: u64,
    /// Different business keys; `null` where records were not read.
    pub distinct_keys: Option<u64>,
    /// Records whose key was there before, whatever their content; `null` where records were not
    /// read.
    pub repeated_key_records: Option<u64>,
}

/// One partition directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartitionReport {
    /// The number.
    pub partition: i32,
    /// The directory.
    pub directory: String,
    /// From `meta.properties`.
    pub broker_id: Option<i32>,
    /// The directory of the replica that leads; its records count there and not here.
    pub replica_of: Option<String>,
    /// Where the readable log begins.
    pub log_start_offset: i64,
    /// The offset behind the last record.
    pub log_end_offset: i64,
    /// Where read_committed consumers stop: the first offset of the oldest open transaction, or the log start
    /// where that is behind it, else the log end; `null` in reports that did not have it yet.
    #[serde(default)]
    pub last_stable_offset: Option<i64>,
    /// From `replication-offset-checkpoint`.
    pub high_watermark: Option<i64>,
    /// The first offset that the cleaner has not reached, from `cleaner-offset-checkpoint`.
    pub cleaned_up_to: Option<i64>,
    /// Batches, control batches among them.
    pub batches: u64,
    /// Records, control records aside.
    pub records: u64,
    /// Bytes of the segments.
    pub bytes: u64,
    /// `CreateTime` or `LogAppendTime`, as the newest batch has it.
    pub timestamp_type: Option<String>,
    /// The smallest and the largest time.
    #[serde(flatten)]
    pub window: Window,
    /// The leader epochs with the offsets at which they begin.
    pub leader_epochs: Vec<LeaderEpochStart>,
    /// Whether retries could be recognised.
    pub protection: ProtectionReport,
}

/// Where a leader epoch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaderEpochStart {
    /// The leader epoch.
    pub epoch: i32,
    /// Its first offset.
    pub start_offset: i64,
}

/// Whether retries could be recognised. The four counts add up to the partition's records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProtectionReport {
    /// A producer id, no transaction.
    pub idempotent_records: u64,
    /// A producer id and a transaction.
    pub transactional_records: u64,
    /// No producer id.
    pub unprotected_records: u64,
    /// Formats 0 and 1, which cannot carry a producer id.
    pub legacy_records: u64,
    /// The same in offset order.
    pub stretches: Vec<Stretch>,
    /// How many stretches are not listed.
    pub stretches_omitted: u64,
}
