//! What `reconcile` answers: a list of keys that were sent against what is stored.
//!
//! Counts are of different keys, and exact. Lists are cut; what they leave out follows from the
//! counts. Records are counted within a topic: a key is stored once where no topic has it more often. A key counts as stored as a consumer with isolation level read_uncommitted gets it; what a
//! read_committed consumer gets stands in `visibility`.

use crate::finding::{BusinessKey, Copy, Finding, Gap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The command's own part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reconciled {
    /// The list.
    pub expected: Expected,
    /// Keys of the list that are stored once.
    pub stored_once: u64,
    /// Keys of the list that are stored more than once.
    pub stored_more: StoredMore,
    /// Keys of the list that are not in what was read.
    pub missing: Missing,
    /// Keys of the list that are stored, and that no read_committed consumer gets.
    #[serde(default)]
    pub withheld: Withheld,
    /// Keys that are stored and not in the list.
    pub unexpected: Unexpected,
    /// The topics that have keys of the list.
    pub topics: Vec<TopicKeys>,
    /// The same by what consumers of each isolation level get.
    pub visibility: Levels,
    /// Acknowledgements that the log does not bear out; `null` where the list has none.
    pub acknowledged: Option<Acknowledged>,
    /// Whether a missing key could be in something that was not read or not given.
    pub evidence_complete: bool,
    /// Partitions that the topics surely have and of which nothing was given: a key, or a second copy of one, may
    /// stand there.
    #[serde(default)]
    pub partitions_not_given: u64,
    /// What was not read or not given, one a line.
    pub doubts: Vec<String>,
    /// What the audit of the same files found about copies and gaps.
    pub findings: Vec<Finding>,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expected {
    /// The file.
    pub file: String,
    /// `csv`, `ndjson` or `lines`.
    pub format: String,
    /// The fields that are the key.
    pub key: Vec<String>,
    /// Entries.
    pub entries: u64,
    /// Different keys.
    pub keys: u64,
    /// Entries whose key stands further up already.
    pub repeated_entries: u64,
    /// Entries without a key.
    pub entries_without_key: u64,
    /// The line of the list from which on it was not read, because the run was interrupted.
    pub stopped_at_line: Option<u64>,
}

/// Keys that are stored more than once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredMore {
    /// How many.
    pub count: u64,
    /// The first ones in the order of the list.
    pub keys: Vec<StoredKey>,
}

/// The keys of the list in one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopicKeys {
    /// The topic's name.
    pub topic: String,
    /// Keys that it has once.
    pub stored_once: u64,
    /// Keys that it has more than once.
    pub stored_more: u64,
    /// Keys that it does not have.
    pub missing: u64,
}

/// A key that is stored more than once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredKey {
    /// The key.
    pub business_key: BusinessKey,
    /// Its line in the list.
    pub line: u64,
    /// The topic that has it most often.
    pub topic: String,
    /// Records with it there.
    pub records: u64,
    /// The same as a read_committed consumer gets them.
    pub records_committed: u64,
    /// The findings that explain copies of it; none where it was updated, or its records are equal and nothing
    /// accuses them.
    pub findings: Vec<String>,
    /// Whether its first records differ, volatile fields aside, where no finding explains them.
    pub contents: Option<Contents>,
}

/// Whether the records of a key differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Contents {
    /// All that were looked at are equal.
    Equal,
    /// No two are equal.
    Different,
    /// Some are equal, some differ.
    Mixed,
}

/// Keys that are not in what was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    /// How many.
    pub count: u64,
    /// Of these, keys that were sent before the oldest record of a log that has lost its head; `null`
    /// where the list has no times.
    pub older_than_log: Option<u64>,
    /// Of these, keys of records that only a replica holds that does not lead, such as the lost tail of an old
    /// leader.
    pub in_other_replicas: u64,
    /// The first ones in the order of the list.
    pub keys: Vec<MissingKey>,
    /// How many stretches there are.
    pub stretch_count: u64,
    /// The first stretches of missing keys that follow each other in the list.
    pub stretches: Vec<MissingStretch>,
}

/// A missing key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissingKey {
    /// The key.
    pub business_key: BusinessKey,
    /// Its line in the list.
    pub line: u64,
    /// When it was sent, by the list.
    pub timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub time: Option<String>,
    /// Its record in a replica that does not lead, where only that one holds it.
    pub other_replica: Option<Copy>,
}

/// Missing keys that follow each other in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissingStretch {
    /// The first key.
    pub first: MissingKey,
    /// The last key.
    pub last: MissingKey,
    /// How many.
    pub count: u64,
    /// The key before them in the list, where it is stored.
    pub before: Option<Neighbour>,
    /// The key behind them in the list, where it is stored.
    pub after: Option<Neighbour>,
    /// The session that wrote both neighbours: the missing ones would be its own.
    pub session: Option<String>,
    /// Gaps of sequences between what stands before and behind them in a partition.
    pub gaps: Vec<Gap>,
}

/// A key of the list beside missing ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Neighbour {
    /// The key.
    pub business_key: BusinessKey,
    /// Its line in the list.
    pub line: u64,
    /// Its first record; `null` where it could not be read a second time.
    pub copy: Option<Copy>,
}

/// Keys of the list that are stored, and that no read_committed consumer gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Withheld {
    /// How many.
    pub count: u64,
    /// Of these, whose transactions were all aborted: no read_committed consumer will get them.
    pub aborted: u64,
    /// Of these, with a record in a transaction that is open, or behind one: what its end brings is not known.
    pub open: u64,
    /// The first ones in the order of the list.
    pub keys: Vec<WithheldKey>,
}

/// A key that no read_committed consumer gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WithheldKey {
    /// The key.
    pub business_key: BusinessKey,
    /// Its line in the list.
    pub line: u64,
    /// Why.
    pub by: WithheldBy,
    /// Its first record; `null` where it could not be read a second time.
    pub copy: Option<Copy>,
}

/// Why read_committed consumers do not get a stored key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WithheldBy {
    /// Each of its transactions was aborted.
    Aborted,
    /// A transaction is open, its own or one in front of it.
    Open,
}

impl WithheldBy {
    /// The name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aborted => "aborted",
            Self::Open => "open",
        }
    }
}

/// Keys that are stored and not in the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unexpected {
    /// How many.
    pub count: u64,
    /// Records with them.
    pub records: u64,
    /// The first ones by topic, partition and offset.
    pub keys: Vec<UnexpectedKey>,
}

/// A key that the list does not have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnexpectedKey {
    /// The key.
    pub business_key: BusinessKey,
    /// Its first record.
    pub copy: Copy,
}

/// Both isolation levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Levels {
    /// All that is stored.
    pub read_uncommitted: Seen,
    /// Without aborted transactions, and up to the first open one.
    pub read_committed: Seen,
}

/// Keys of the list by how often a consumer gets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// Once.
    pub once: u64,
    /// More than once.
    pub more: u64,
    /// Never.
    pub missing: u64,
}

impl Seen {
    /// Counts a key with so many records.
    pub fn add(&mut self, records: u64) {
        match records {
            0 => self.missing = self.missing.saturating_add(1),
            1 => self.once = self.once.saturating_add(1),
            _ => self.more = self.more.saturating_add(1),
        }
    }
}

/// What became of acknowledged offsets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledged {
    /// Entries with an acknowledged offset.
    pub entries: u64,
    /// Of these, whose record stands there.
    pub stored_there: u64,
    /// Of these, that could not be looked up: no partition is named and a topic has several, or too many records
    /// or entries have the key.
    pub unplaced: u64,
    /// Of these, where another record stands or none.
    pub elsewhere: u64,
    /// Of those elsewhere, where the log was read and nothing explains it: the acknowledgement is false. The record of
    /// the others may have been deleted or cleaned, or stands in what was not read.
    #[serde(default)]
    pub contradicted: u64,
    /// The first ones.
    pub examples: Vec<Acknowledgement>,
}

/// An acknowledged offset that holds no record with the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledgement {
    /// The key.
    pub business_key: BusinessKey,
    /// Its line in the list.
    pub line: u64,
    /// The topic: of several with that partition the one that has most keys of the list; `null` where no such
    /// partition was given.
    pub topic: Option<String>,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// What is there: `another-key`, `nothing`, `behind-the-end`, `below-the-start`,
    /// `partition-not-given`.
    pub what: String,
    /// Whether that speaks against the acknowledgement; `false` where the record may have been there.
    #[serde(default)]
    pub contradicted: bool,
    /// The key of the record that stands there.
    pub holds: Option<BusinessKey>,
}

impl Reconciled {
    /// Whether the list was looked for as a whole: each entry has a key, and all of them were read.
    #[must_use]
    pub const fn all_looked_for(&self) -> bool {
        self.expected.entries_without_key == 0 && self.expected.stopped_at_line.is_none()
    }

    /// Whether every topic that has keys of the list has all that any of them has. Where one lacks keys, only who
    /// knows which topic was meant can tell whether they are missing.
    #[must_use]
    pub fn topics_agree(&self) -> bool {
        self.topics.iter().all(|topic| topic.missing <= self.missing.count)
    }

    /// What that leaves open.
    pub(crate) fn topics_doubt(&self) -> Option<String> {
        let lacks = |topic: &TopicKeys| format!("{} lacks {} of the list", topic.topic, topic.missing);
        let said: Vec<String> = self.topics.iter().map(lacks).collect();
        (!self.topics_agree()).then(|| {
            format!(
                "a key counts as stored that any topic has, and not all have the same: {} (--topic chooses)",
                said.join(", ")
            )
        })
    }

    /// Whether nothing of the question is left open by the list or by what was given, beside what could not be read.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.all_looked_for()
            && self.topics_agree()
            && self.acknowledgements_told()
            && self.partitions_not_given == 0
    }

    /// Acknowledgements that the log contradicts.
    #[must_use]
    pub fn contradicted(&self) -> u64 {
        self.acknowledged.as_ref().map_or(0, |acknowledged| acknowledged.contradicted)
    }

    /// Whether nothing is left open of the acknowledged offsets that were looked up.
    #[must_use]
    pub fn acknowledgements_told(&self) -> bool {
        self.acknowledged.as_ref().is_none_or(|one| one.elsewhere == one.contradicted)
    }

    /// Whether each key of the list is stored once, whatever the isolation level.
    #[must_use]
    pub fn all_once(&self) -> bool {
        self.stored_more.count == 0 && self.missing.count == 0 && self.visibility.read_committed.missing == 0
    }
}
