//! Surplus copies and the earlier copies that they repeat: all that the judgement of duplicates
//! needs, as one plain structure with a version, that can be written to a file and read back.
//!
//! Goes in: the records whose digests were seen more than once ([`Candidate`]). Comes out:
//! [`Relations`]. Equality is decided here, on contents and client times; what it means is decided
//! in `judgement`, which sees no bytes.

mod build;
mod candidate;
mod copied;
mod copy;
mod groups;
mod level;
mod pair;
mod sessions;

pub use build::{Joined, group, group_across_topics};
pub use candidate::Candidate;
pub use copied::{CopiedStretch, CopyMark, group_copied};
pub use groups::{Groups, Part};
pub use level::level;
pub use pair::{GroupNote, GroupWriters, RelatedPair};
pub use sessions::SessionNotes;

use crate::error::AuditError;
use crate::facts::{GroupCommits, Resumed, Rewind, SourceOffset};
use crate::finding::Visibility;
use crate::plan::{ClientTimes, Contents};
use crate::units::{ClusterNumber, FilePosition, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use serde::{Deserialize, Serialize};

/// The version of the structure; a reader refuses a larger one.
pub const VERSION: u32 = 2;

/// Everything that the judgement of duplicates needs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Relations {
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// The topics, by the index that partitions and groups use.
    pub topics: Vec<TopicNote>,
    /// The partition directories, by the index that copies use.
    pub partitions: Vec<PartitionNote>,
    /// The producer sessions, by the number that copies use.
    pub sessions: SessionNotes,
    /// Where positions of consumer groups stepped back.
    pub rewinds: Vec<Rewind>,
    /// How far consumer groups came.
    #[serde(default)]
    pub positions: Vec<PositionNote>,
    /// Positions that a later generation of a group took up.
    #[serde(default)]
    pub resumed: Vec<Resumed>,
    /// How far connectors had read.
    #[serde(default)]
    pub source_offsets: Vec<SourceOffset>,
    /// Stretches that stand in two logs which are no replicas.
    pub copied: Vec<CopiedStretch>,
    /// Equal contents under one identity, in the order of their first surplus copies; those of copied
    /// stretches follow.
    pub groups: Groups,
}

impl Default for Relations {
    /// Of no logs.
    fn default() -> Self {
        Self {
            version: VERSION,
            topics: Vec::new(),
            partitions: Vec::new(),
            sessions: SessionNotes::default(),
            rewinds: Vec::new(),
            resumed: Vec::new(),
            positions: Vec::new(),
            source_offsets: Vec::new(),
            copied: Vec::new(),
            groups: Groups::default(),
        }
    }
}

impl Relations {
    /// Whether all that was asked for could be read.
    ///
    /// # Errors
    /// The first thing that could not, once.
    pub fn check(&mut self) -> Result<(), AuditError> {
        self.groups.check()?;
        self.sessions.check()
    }
}

/// How far a consumer group came in one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionNote {
    /// The cluster, where several were given.
    #[serde(default)]
    pub cluster: ClusterNumber,
    /// The group.
    pub group: String,
    /// The topic that it reads, by its index in [`Relations::topics`].
    pub topic: u32,
    /// The partition.
    pub partition: i32,
    /// The largest position that it committed.
    pub highest: Offset,
}

/// Which producers a snapshot file remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotNote {
    /// The file's name.
    pub file: String,
    /// It covers every batch below this offset.
    pub offset: Offset,
    /// The producers in ascending order.
    pub producers: Vec<ProducerId>,
    /// Where the one batch ends that it remembers of each of them.
    #[serde(default)]
    pub last_offsets: Vec<Option<Offset>>,
}

impl SnapshotNote {
    /// Where the batch ends that it remembers of a producer.
    #[must_use]
    pub fn last_offset(&self, producer_id: ProducerId) -> Option<Offset> {
        let at = self.producers.binary_search(&producer_id).ok()?;
        self.last_offsets.get(at).copied().flatten()
    }
}

/// The newest batches of a producer when it repeated a range or began a newer epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewestNote {
    /// The producer.
    pub producer_id: ProducerId,
    /// The base offset of the batch that came next.
    pub at_offset: Offset,
    /// Base offsets of the batches before it, the newest first.
    pub batches: Vec<Offset>,
}

/// A topic and how its events are identified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicNote {
    /// The topic's name.
    pub name: String,
    /// The identity, as `--key` spells it, or `content`.
    pub identity: String,
    /// Whether the user chose it.
    pub chosen_by_user: bool,
    /// Fields that do not count as content.
    pub volatile: Vec<String>,
    /// Whether every repeat of the key is a duplicate, whatever its content.
    #[serde(default)]
    pub every_repeat: bool,
    /// Whether the cleaner takes older records of a key away.
    #[serde(default)]
    pub compacted: bool,
    /// Whether contents tell events of one key apart.
    #[serde(default)]
    pub contents: Contents,
    /// Fields among the volatile ones that are called ids and never the same twice: they may name the event.
    #[serde(default)]
    pub masked_ids: Vec<String>,
    /// How fine the times are that clients write: equal ones of whole seconds say little.
    #[serde(default)]
    pub client_times: ClientTimes,
}

/// A partition directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionNote {
    /// Index into [`Relations::topics`].
    pub topic: u32,
    /// The partition's number.
    pub partition: i32,
    /// The cluster that it is of.
    #[serde(default)]
    pub cluster: ClusterNumber,
    /// The directory, as the report names it.
    pub directory: String,
    /// How sentences call it, where its topic and number are enough to find its records.
    #[serde(default)]
    pub called: Option<String>,
    /// The broker, where `meta.properties` tells it.
    pub broker_id: Option<i32>,
    /// The names of its segment files.
    pub segments: Vec<String>,
    /// Where the readable log begins.
    #[serde(default)]
    pub log_start_offset: Offset,
    /// Where read_committed consumers stop.
    pub last_stable_offset: Offset,
    /// The first record without producer id.
    pub first_unprotected_offset: Option<Offset>,
    /// First and last offsets of stretches in formats 0 and 1, which cannot carry a producer id.
    #[serde(default)]
    pub old_formats: Vec<(Offset, Offset)>,
    /// How many bytes of it could not be read, expected tails aside.
    pub damaged_bytes: u64,
    /// The producer snapshots that can be read, by number.
    #[serde(default)]
    pub snapshots: Vec<SnapshotNote>,
    /// What producers had written when they repeated a range or began a newer epoch, in offset order.
    #[serde(default)]
    pub newest_batches: Vec<NewestNote>,
    /// Producers with the offset of their first batch here, which is not their first one: those before it stood below the
    /// first file or the log start.
    #[serde(default)]
    pub begun_below: Vec<(ProducerId, Offset)>,
    /// Where transactions were aborted, by producer and first offset; of very many the newest.
    #[serde(default)]
    pub aborts: Vec<AbortNote>,
}

/// An aborted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AbortNote {
    /// The producer.
    pub producer_id: ProducerId,
    /// Where it begins.
    pub first_offset: Offset,
    /// Its marker.
    pub marker_offset: Offset,
}

impl PartitionNote {
    /// What a sentence calls the partition.
    #[must_use]
    pub fn name(&self) -> &str {
        self.called.as_deref().unwrap_or(&self.directory)
    }

    /// The marker that aborted what a producer wrote at `offset`.
    #[must_use]
    pub fn aborted_by(&self, producer_id: ProducerId, offset: Offset) -> Option<Offset> {
        let place = |abort: &AbortNote| (abort.producer_id, abort.first_offset);
        let behind = self.aborts.partition_point(|abort| place(abort) <= (producer_id, offset));
        let abort = self.aborts.get(behind.checked_sub(1)?)?;
        (abort.producer_id == producer_id && offset < abort.marker_offset).then_some(abort.marker_offset)
    }
}

/// One life of a producer, as far as the files show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNote {
    /// Such as `1000#1`.
    pub name: String,
    /// The producer.
    pub producer_id: ProducerId,
    /// Whether it wrote in transactions.
    pub transactional: bool,
    /// Its transactional id, where `__transaction_state` tells it.
    #[serde(default)]
    pub transactional_id: Option<String>,
    /// What it wrote to each partition.
    pub spans: Vec<SessionSpan>,
    /// Whether its first batch in the files does not begin at sequence 0: it had begun earlier.
    pub begins_midstream: bool,
    /// The consumer groups for which it committed positions in its transactions.
    pub groups: Vec<GroupCommits>,
}

/// What one session wrote to one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSpan {
    /// Index into [`Relations::partitions`].
    pub partition: u32,
    /// Its first offset there.
    pub first_offset: Offset,
    /// Its last offset there.
    pub last_offset: Offset,
    /// Its smallest time there.
    pub first_timestamp: Option<i64>,
    /// Its largest time there.
    pub last_timestamp: Option<i64>,
    /// Its records there.
    pub records: u64,
    /// Whether it wrote transactions there; nothing where a file of an older version leaves it open.
    #[serde(default)]
    pub transactional: Option<bool>,
}

impl SessionNote {
    /// A partition in which it wrote transactions and one in which it wrote none. A producer does the one or the other, so
    /// two clusters may each have given out its id.
    #[must_use]
    pub fn of_two_kinds(&self) -> Option<(u32, u32)> {
        let first =
            |kind| self.spans.iter().find(|span| span.transactional == Some(kind)).map(|span| span.partition);
        first(true).zip(first(false))
    }

    /// What it wrote to `partition`.
    #[must_use]
    pub fn span(&self, partition: u32) -> Option<&SessionSpan> {
        self.spans.iter().find(|span| span.partition == partition)
    }

    /// Its smallest time anywhere.
    #[must_use]
    pub fn first_timestamp(&self) -> Option<i64> {
        self.spans.iter().filter_map(|span| span.first_timestamp).min()
    }

    /// Its largest time anywhere.
    #[must_use]
    pub fn last_timestamp(&self) -> Option<i64> {
        self.spans.iter().filter_map(|span| span.last_timestamp).max()
    }
}

impl StoredCopy {
    /// Whether its batch is one of a transaction.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.visibility != Visibility::NonTransactional
    }
}

/// One stored record, with what its batch says of its writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCopy {
    /// Index into [`Relations::partitions`].
    pub partition: u32,
    /// Its offset.
    pub offset: Offset,
    /// The time that a consumer sees.
    pub timestamp: Option<i64>,
    /// The client's own time.
    pub client_timestamp: Option<i64>,
    /// Whose time the consumer sees, as Kafka's dump tool spells it.
    pub timestamp_type: TimeSource,
    /// The producer, −1 without idempotence.
    pub producer_id: ProducerId,
    /// Its epoch; `None` beside an id below 0.
    pub producer_epoch: Option<ProducerEpoch>,
    /// The record's sequence; `None` beside an id below 0.
    pub sequence: Option<Sequence>,
    /// The number of its session in [`Relations::sessions`].
    pub session: Option<u32>,
    /// The leader under which it was appended.
    pub partition_leader_epoch: Option<LeaderEpoch>,
    /// What its transaction makes of it.
    pub visibility: Visibility,
    /// The largest time of the batch before it, where that was looked at: this record was written
    /// no earlier, if the clocks agree.
    pub written_after: Option<i64>,
    /// Whether the same business key had other content between this record and the one of equal
    /// content before it in the partition: a state that came back.
    pub behind_other_content: bool,
    /// A record of another topic with the same business key which a consumer group was given again.
    #[serde(default)]
    pub reread: Option<Reread>,
    /// Its batch.
    pub batch: BatchPlace,
}

/// A record over which a group's position stepped back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reread {
    /// Index into [`Relations::partitions`].
    pub partition: u32,
    /// Its offset.
    pub offset: Offset,
}

/// Whose time a consumer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeSource {
    /// Format 0 has none.
    NoTimestampType,
    /// The client's.
    CreateTime,
    /// The broker's.
    LogAppendTime,
}

impl TimeSource {
    /// As Kafka's dump tool spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoTimestampType => "NoTimestampType",
            Self::CreateTime => "CreateTime",
            Self::LogAppendTime => "LogAppendTime",
        }
    }
}

/// The batch of a stored record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPlace {
    /// Index into [`PartitionNote::segments`].
    pub segment: u32,
    /// Where it begins in the segment.
    pub position: FilePosition,
    /// Its first offset.
    pub base_offset: Offset,
    /// Its last offset.
    pub last_offset: Offset,
    /// The sequence of its first record.
    pub base_sequence: Option<Sequence>,
    /// How many records it holds.
    pub records: u32,
    /// Its stored checksum.
    pub crc: u32,
    /// Whether its sequence goes on where its producer was in this partition.
    pub in_sequence: bool,
}
