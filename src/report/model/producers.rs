//! Producers, their sessions and epochs.

use crate::finding::{Window, open_words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One producer id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProducerReport {
    /// As on disk.
    pub producer_id: i64,
    /// The transactional id, where something tells it.
    pub transactional_id: Option<TransactionalId>,
    /// Its sessions by topic, partition and first offset.
    pub sessions: Vec<SessionReport>,
    /// How many sessions are not listed.
    pub sessions_omitted: u64,
}

/// A transactional id, and what tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransactionalId {
    /// The id.
    pub value: String,
    /// For example `__transaction_state`.
    pub source: String,
}

/// One life of a producer in one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionReport {
    /// The name that copies refer to, such as `1000#1`.
    pub session: String,
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// Whether it wrote in transactions.
    pub transactional: bool,
    /// Which epochs its transactions have, where a marker tells.
    #[serde(default)]
    pub transaction_epochs: Option<TransactionEpochs>,
    /// The first offset.
    pub first_offset: i64,
    /// The last offset.
    pub last_offset: i64,
    /// Its batches.
    pub batches: u64,
    /// Its records, as they are now.
    pub records: u64,
    /// The smallest and the largest time.
    #[serde(flatten)]
    pub window: Window,
    /// Its epochs in order.
    pub epochs: Vec<EpochReport>,
    /// How many epochs are not listed.
    pub epochs_omitted: u64,
}

open_words! {
    /// Which epochs the transactions of a session have.
    TransactionEpochs {
        /// One for all: markers keep the epoch of their data (transaction protocols 0 and 1).
        OneForAll "one-for-all";
        /// One for each: every end raises the epoch (transaction protocol 2, KIP-890).
        OneForEach "one-for-each";
    }
}

impl TransactionEpochs {
    /// In words.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::OneForAll => "one for all transactions",
            Self::OneForEach => "one for each transaction",
            Self::Other(word) => word.as_str(),
        }
    }
}

/// What one epoch of a producer wrote to one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EpochReport {
    /// The epoch; `null` where a client wrote −1 beside a producer id.
    pub producer_epoch: Option<i16>,
    /// Base offset of its first batch.
    pub first_offset: i64,
    /// Last offset of its last batch.
    pub last_offset: i64,
    /// Base sequence of its first batch.
    pub first_sequence: Option<i32>,
    /// Last sequence of its last batch.
    pub last_sequence: Option<i32>,
    /// Its batches.
    pub batches: u64,
    /// Its records, as they are now.
    pub records: u64,
}
