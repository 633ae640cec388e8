//! Evidence beside copies: gaps, transactions, stretches, snapshot and replica differences.

use super::rfc3339;
use super::word::open_words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

open_words! {
    /// Why sequences are missing.
    GapReason {
        /// The head of the log was removed.
        Retention "retention";
        /// DeleteRecords moved the log start.
        LogStartMoved "log-start-moved";
        /// The cleaner removed superseded records.
        Compaction "compaction";
        /// The producer went to a new epoch and began again.
        EpochChange "epoch-change";
        /// The broker had forgotten the producer by age, so it accepted any sequence.
        ExpiredProducerState "expired-producer-state";
        /// The broker had lost the producer, so it accepted any sequence.
        LostProducerState "lost-producer-state";
        /// The first batch of the producer here begins above 0, and nothing was deleted.
        FirstAppend "first-append";
        /// A segment file is missing.
        MissingSegment "missing-segment";
        /// Bytes that cannot be read; the coverage names them.
        Damage "damage";
        /// Nothing innocent explains it.
        Unexplained "unexplained";
    }
}

/// Sequences of one producer that are missing in one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The producer.
    pub producer_id: i64,
    /// Its epoch behind the gap.
    pub producer_epoch: Option<i16>,
    /// The first missing sequence; 0 where the producer or its epoch begins.
    pub expected: i32,
    /// The sequence of the batch behind the gap.
    pub found: i32,
    /// The base offset of the batch behind the gap.
    pub at_offset: i64,
    /// How many are missing, modulo 2³¹.
    pub missing: u32,
    /// Why.
    pub reason: GapReason,
}

open_words! {
    /// How a transaction ended in one partition.
    Outcome {
        /// A commit marker.
        Committed "committed";
        /// An abort marker.
        Aborted "aborted";
        /// No marker.
        Open "open";
    }
}

/// One transaction in one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Transaction {
    /// From `__transaction_state`, when that was given.
    pub transactional_id: Option<String>,
    /// The producer.
    pub producer_id: i64,
    /// The epoch of its data.
    pub producer_epoch: Option<i16>,
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The first offset of its data.
    pub first_offset: i64,
    /// The last offset of its data; `null` when only a snapshot knows of it.
    pub last_offset: Option<i64>,
    /// The offset of its marker.
    pub marker_offset: Option<i64>,
    /// How it ended.
    pub outcome: Outcome,
}

open_words! {
    /// Whether retries could be recognised.
    ProtectionMode {
        /// A producer id, no transaction.
        Idempotent "idempotent";
        /// A producer id and a transaction.
        Transactional "transactional";
        /// No producer id.
        None "none";
        /// Format 0 or 1, which cannot carry a producer id.
        Legacy "legacy";
    }
}

/// Consecutive records of one partition that share a protection mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stretch {
    /// The topic's name; absent inside a partition of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The partition's number; absent inside a partition of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<i32>,
    /// The mode.
    pub mode: ProtectionMode,
    /// The first offset.
    pub first_offset: i64,
    /// The last offset.
    pub last_offset: i64,
    /// Records in it.
    pub records: u64,
    /// The smallest time in it.
    pub first_timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub first_time: Option<String>,
    /// The largest time in it.
    pub last_timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub last_time: Option<String>,
}

impl Stretch {
    /// A stretch without place, with its times in both forms.
    #[must_use]
    pub fn new(
        mode: ProtectionMode,
        offsets: (i64, i64),
        records: u64,
        times: (Option<i64>, Option<i64>),
    ) -> Self {
        Self {
            topic: None,
            partition: None,
            mode,
            first_offset: offsets.0,
            last_offset: offsets.1,
            records,
            first_timestamp: times.0,
            first_time: times.0.and_then(rfc3339),
            last_timestamp: times.1,
            last_time: times.1.and_then(rfc3339),
        }
    }

    /// The same stretch with its place, for a finding.
    #[must_use]
    pub fn in_partition(mut self, topic: impl Into<String>, partition: i32) -> Self {
        self.topic = Some(topic.into());
        self.partition = Some(partition);
        self
    }
}

/// Where a producer snapshot and the log disagree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotDifference {
    /// The snapshot file.
    pub file: String,
    /// What differs.
    pub what: String,
    /// The producer, when the difference is about one.
    pub producer_id: Option<i64>,
    /// What the snapshot says.
    pub snapshot: Option<String>,
    /// What the log says.
    pub log: Option<String>,
}

/// A keyed record in a partition that the partitioner would not choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MisroutedRecord {
    /// The topic's name.
    pub topic: String,
    /// The partition in which it is.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// The partition in which it should be.
    pub expected_partition: i32,
}

/// A stretch in which replicas differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DivergentRange {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The directories that differ.
    pub directories: Vec<String>,
    /// The first offset.
    pub first_offset: i64,
    /// The last offset.
    pub last_offset: i64,
    /// How they differ.
    pub what: String,
}
