//! How much could be read, and what could not.

use crate::format::damage::{Damage, DamageKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much could be read. Nothing is left out silently: it is counted or noted here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Names that sentences may hold and no field does, with the field that they would stand in; never written.
    #[serde(skip)]
    pub names: Vec<(&'static str, String)>,
    /// Partition directories.
    pub partitions: u64,
    /// Those of them that do not lead, and the records in these: none of it counts among events.
    #[serde(default)]
    pub replicas: Part,
    /// How many of these were held against the one that leads; `null` where that was not asked.
    #[serde(default)]
    pub replicas_compared: Option<u64>,
    /// How many of them hold nothing else than the one that leads, as far as they reach.
    #[serde(default)]
    pub replicas_agreeing: Option<u64>,
    /// Those that lead and are of topics of Kafka's own (`__…`), and the records in these.
    #[serde(default)]
    pub internal_topics: Part,
    /// Segments in them.
    pub segments: u64,
    /// Segments that lie beside them and were not named, where single files were.
    #[serde(default)]
    pub segments_not_named: u64,
    /// Named directories below which no partition lies.
    #[serde(default)]
    pub empty_paths: Vec<String>,
    /// Partitions that topics surely have and that are not among what was read: all counts are lower bounds.
    #[serde(default)]
    pub absent_partitions: Vec<AbsentPartitions>,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Bytes of them that were read.
    pub bytes_read: u64,
    /// Batches, control batches among them.
    pub batches: u64,
    /// Records, control records aside.
    pub records: u64,
    /// Batches that hold transaction markers.
    pub control_batches: u64,
    /// Records whose business key was found.
    pub records_keyed: u64,
    /// Records that lack the business key that was asked for.
    pub records_without_key: u64,
    /// Records whose bytes could not be decoded.
    pub records_undecoded: u64,
    /// The same by reason.
    #[serde(default)]
    pub undecoded: Vec<UndecodedReport>,
    /// Surplus copies that are there and were not chosen (`--since`, `--until`, `--offsets`, `--pid`).
    #[serde(default)]
    pub surplus_not_chosen: u64,
    /// Bytes that cannot be read as they stand, by file and position.
    pub damage: Vec<DamageReport>,
    /// How many places of damage are not listed.
    pub damage_omitted: u64,
    /// Everything else that a reader of the report should know about the evidence.
    pub notes: Vec<Note>,
    /// How many notes are not listed.
    #[serde(default)]
    pub notes_omitted: u64,
}

impl Coverage {
    /// Whether records were read and none of them has the key: then nothing was compared.
    #[must_use]
    pub const fn nothing_keyed(&self) -> bool {
        self.records_keyed == 0 && self.records_without_key.saturating_add(self.records_undecoded) > 0
    }

    /// Whether each record that there is was read and compared, as far as the places of damage tell.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.records_without_key == 0
            && self.records_undecoded == 0
            && self.damage_omitted == 0
            && self.unexpected().all(|damage| damage.records_missing == Some(false))
    }

    /// What a log that was not closed cleanly does not have: what cannot be opened or read first, then the other
    /// places in their order.
    pub fn unexpected(&self) -> impl Iterator<Item = &DamageReport> {
        let unexpected = || self.damage.iter().filter(|damage| !damage.expected);
        let (unreadable, others) =
            (unexpected().filter(|one| one.is_unreadable()), unexpected().filter(|one| !one.is_unreadable()));
        unreadable.chain(others)
    }
}

/// Partitions of one topic that are not among what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AbsentPartitions {
    /// The topic.
    pub topic: String,
    /// The first of them.
    pub partitions: Vec<i32>,
    /// How many they are.
    pub count: u64,
    /// What tells that the topic has them.
    pub why: String,
}

/// A part of the partition directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// Partition directories.
    pub partitions: u64,
    /// Records in them, control records aside.
    pub records: u64,
}

/// Records that could not be decoded for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndecodedReport {
    /// `not-json`, `not-utf8`, `lone-surrogate`, `unreadable-batch`, `no-schema`, `not-of-schema`,
    /// `no-single-value`, `beyond-limits`; others may follow.
    pub reason: String,
    /// How many records.
    pub records: u64,
}

/// A stretch of one file that cannot be read as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DamageReport {
    /// The file.
    pub file: String,
    /// The first byte of the batch that cannot be read as it stands.
    pub position: u64,
    /// Bytes up to the next good batch or the end of the file.
    pub length: u64,
    /// Whether a log that was not closed cleanly is expected to look like this.
    pub expected: bool,
    /// What is wrong: `truncated-tail`, `zero-tail`, `bad-crc`, `bad-length`, `bad-magic`,
    /// `bad-offset`, `bad-record`, `bad-compression`, `bad-file`, `unreadable`; others may follow.
    pub kind: String,
    /// The reason with its numbers.
    pub detail: String,
    /// The first offset that is missing because of it.
    pub first_offset: Option<i64>,
    /// The last offset that is missing because of it.
    pub last_offset: Option<i64>,
    /// Whether records may be missing because of it; not where the batch was read all the same, or where the log
    /// goes on at the offset at which it was. `null` in reports that do not say.
    #[serde(default)]
    pub records_missing: Option<bool>,
}

impl DamageReport {
    /// Whether the system did not let the bytes be read: that says nothing of them.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.kind == DamageKind::Unreadable.name()
    }

    /// Damage that was seen in `file`.
    #[must_use]
    pub fn new(file: impl Into<String>, damage: &Damage) -> Self {
        Self {
            file: file.into(),
            position: damage.position.0,
            length: damage.length,
            expected: damage.expected,
            kind: damage.kind.name().to_owned(),
            detail: damage.detail.clone(),
            first_offset: damage.first_offset.map(|offset| offset.0),
            last_offset: damage.last_offset.map(|offset| offset.0),
            records_missing: Some(damage.records_missing),
        }
    }
}

/// Something that a reader of the report should know about the evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The file or directory; `null` when it is about none.
    pub file: Option<String>,
    /// What, in lower case and without a full stop.
    pub detail: String,
}

impl Note {
    /// A note about a file or directory.
    #[must_use]
    pub fn about(file: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { file: Some(file.into()), detail: detail.into() }
    }
}
