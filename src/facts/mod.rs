//! What the batch headers of a partition say: who wrote which offsets, in which order, in which
//! transaction, and what is missing.
//!
//! Goes in: a [`PartitionContext`] (what lies beside the log) and, in offset order, one
//! [`BatchFact`] a batch. Comes out: [`PartitionFacts`]. Nothing is decompressed and no file is
//! known here; the fold keeps state per producer, not per batch.

mod commits;
mod continuity;
mod epochs;
mod gaps;
mod index_walk;
mod landmarks;
mod leader_epochs;
mod ledger;
mod order;
mod packed;
mod producers;
mod protection;
mod readable;
#[cfg(test)]
pub(crate) mod script;
pub mod sequence;
pub mod sessions;
mod snapshots;
mod source_offsets;
mod transactions;
mod turns;
mod versions;
mod withheld;

pub use commits::{
    Commit, CommitHistory, GenerationStart, Group, GroupCommits, Keep, Namesakes, Position, PositionKey,
    Resumed, Rewind, RewindKind, Then,
};
pub use epochs::{Epochs, Writer};
pub use index_walk::{IndexFault, IndexFaultKind, IndexWalk, SegmentIndexes};
pub use landmarks::{Closing, Landmarks};
pub use ledger::Ledger;
pub use order::{MovedBlock, Order};
pub use producers::DEFAULT_EXPIRATION_MS;
pub use readable::{Readable, ReadableRecords};
pub use sessions::{EpochEdge, Session, SessionSpan, SessionStart, Sessions, Written};
pub use source_offsets::{SourceOffset, SourceOffsets, is_named_so as is_of_source_offsets};
pub use turns::{Contest, TurnFold, Turns, WrittenRecord};
pub use versions::{
    BatchProtection, OlderBlock, Steps, VersionFold, VersionKind, VersionedBatch, VersionedRecord, Versions,
};
pub use withheld::{Withheld, WithheldRange};

use crate::finding::{self, Gap, GapReason, ProtectionMode};
use crate::format::control::ControlRecord;
pub use crate::format::internal::cluster_metadata::UncleanElection;
pub use crate::format::internal::transaction_state::{
    TransactionMetadata, TransactionStatus, TransactionalIds,
};
use crate::format::{BatchHeader, DamageKind};
pub use crate::format::{SnapshotEntry, TimestampType};
pub use crate::units::LogStartSource;
use crate::units::{
    ClusterNumber, FilePosition, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, TopicNumber,
};

/// What lies beside a log and is known before its batches are read.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the files")]
pub struct PartitionContext {
    /// The topic's name.
    pub topic: String,
    /// Which topic of that name.
    pub topic_number: TopicNumber,
    /// The partition's number.
    pub partition: i32,
    /// The cluster that it is of.
    pub cluster: ClusterNumber,
    /// Whether the name begins with `__`: no sequence judgement there.
    pub internal: bool,
    /// Whether a program of Kafka keeps its own state in the topic, as Connect does: how that is written is nobody's
    /// to set.
    pub holds_state: bool,
    /// Where the readable log begins: checkpoint, first leader epoch, first segment.
    pub log_start_offset: Offset,
    /// What says so.
    pub log_start_source: LogStartSource,
    /// Whether `log-start-offset-checkpoint` is among the files; it leaves out logs that begin with their first
    /// segment.
    pub log_starts_given: bool,
    /// The checkpointed high watermark.
    pub high_watermark: Option<Offset>,
    /// The checkpointed recovery point: what lies below was flushed.
    pub recovery_point: Option<Offset>,
    /// The first offset that the cleaner has not reached, from its checkpoint.
    pub cleaned_up_to: Option<Offset>,
    /// The checkpointed leader epochs with their start offsets.
    pub leader_epochs: Vec<(LeaderEpoch, Offset)>,
    /// The producer snapshots, by number.
    pub snapshots: Vec<Snapshot>,
    /// Whether there is none after a clean stop, though other partitions of the log directory have some.
    pub lacks_snapshots: bool,
    /// Whether the log directory has a clean-shutdown marker; `None` when it was not given.
    pub clean_shutdown: Option<bool>,
    /// The transaction indexes beside the segments, as far as they are known, by base offset.
    pub abort_indexes: Vec<AbortIndex>,
    /// Whether the log directory has no transaction index at all.
    pub lacks_abort_indexes: bool,
    /// Whether `leader-epoch-checkpoint` is there and names no epoch.
    pub empty_epoch_checkpoint: bool,
    /// Base offsets of the segments that are read, ascending.
    pub segment_bases: Vec<Offset>,
    /// `cleanup.policy` of the topic, when `__cluster_metadata` or an option tells it.
    pub compacted: Option<bool>,
    /// Whether that policy lets retention and `DeleteRecords` delete from the head, when `__cluster_metadata` tells it.
    pub deleted: Option<bool>,
    /// `producer.id.expiration.ms`, when `__cluster_metadata` or an option tells it.
    pub expiration_ms: Option<i64>,
    /// Base offsets of indexes whose segment is not there.
    pub indexes_without_segment: Vec<Offset>,
    /// Leaders of the partition that were elected although they were not in sync, as `__cluster_metadata` tells.
    pub unclean_elections: Vec<UncleanElection>,
}

impl PartitionContext {
    /// The transaction index of the segment that holds the offset, where it is known.
    pub(crate) fn abort_index_of(&self, offset: Offset) -> Option<&AbortIndex> {
        let behind = self.segment_bases.partition_point(|base| *base <= offset);
        let base = self.segment_bases.get(behind.checked_sub(1)?)?;
        let at = self.abort_indexes.binary_search_by_key(base, |index| index.base).ok()?;
        self.abort_indexes.get(at)
    }

    /// Whether the transaction index of its segment says something else than a marker.
    fn contradicts(&self, span: &TransactionSpan) -> bool {
        let index = span.marker_offset.and_then(|marker| Some((marker, self.abort_index_of(marker)?)));
        let Some((marker, index)) = index else { return false };
        let entry = index.entry(span.producer_id, marker);
        match span.outcome {
            Outcome::Aborted => entry.is_none_or(|entry| entry.first_offset != span.open_since),
            Outcome::Committed => entry.is_some(),
            Outcome::Open => false,
        }
    }

    /// Whether the cleaner works here: it has an entry in its checkpoint, and the topic is not known
    /// to have another policy now.
    pub(crate) fn is_being_cleaned(&self) -> bool {
        self.cleaned_up_to.is_some() && self.compacted != Some(false)
    }

    /// Whether the topic is compacted, as far as anything tells it.
    pub(crate) fn is_compacted(&self) -> bool {
        self.compacted == Some(true) || self.is_being_cleaned()
    }

    /// Whether the segment of this number is the last one, which the cleaner does not touch.
    pub(crate) const fn is_active(&self, segment: usize) -> bool {
        segment.saturating_add(1) >= self.segment_bases.len()
    }

    /// Whether the files may be of several moments, and retention or `DeleteRecords` may have taken some of them between
    /// these: nothing says that the log was closed when they were copied.
    pub(crate) fn may_lose_its_head(&self) -> bool {
        self.clean_shutdown == Some(false) && self.deleted != Some(false)
    }

    /// Whether all files in front of a hole between two of them lie below the log start. What deletes from the head takes
    /// them one after the other, and goes on while files are copied; what lies below the log start is deleted in any case.
    pub(crate) fn is_passed(&self, from: Offset, to: Offset) -> bool {
        let starts = !matches!(self.log_start_source, LogStartSource::FirstSegment);
        let is_below = starts && from <= self.log_start_offset;
        is_below && (to <= self.log_start_offset || self.may_lose_its_head())
    }

    /// Whether a pass of the cleaner that never wrote its checkpoint may have emptied these offsets
    /// between two segments.
    pub(crate) fn may_be_unfinished_pass(&self, from: Offset, to: Offset) -> bool {
        self.is_being_cleaned() && !self.has_index_alone(from, to)
    }

    /// Whether the cleaner may have left segment files that hold none of these offsets, although one of them has the
    /// name of the first.
    pub(crate) fn may_have_been_emptied(&self, from: Offset, to: Offset) -> bool {
        self.compacted != Some(false) && !self.has_index_alone(from, to)
    }

    /// Whether an index is left, without its segment, of a file that began at one of these offsets.
    fn has_index_alone(&self, from: Offset, to: Offset) -> bool {
        self.indexes_without_segment.iter().any(|base| *base >= from && *base < to)
    }
}

/// The transaction index of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbortIndex {
    /// The file's name.
    pub file: String,
    /// The base offset of its segment.
    pub base: Offset,
    /// Whether there is such a file: brokers make it with the first abort.
    pub is_there: bool,
    /// What it lists, in order of producers and markers.
    pub entries: Vec<AbortEntry>,
}

/// An aborted transaction, as a transaction index lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AbortEntry {
    /// The producer.
    pub producer_id: ProducerId,
    /// The offset of the marker that aborted it.
    pub marker_offset: Offset,
    /// Where it began.
    pub first_offset: Offset,
}

impl AbortIndex {
    /// The entry of a marker.
    pub(crate) fn entry(&self, producer_id: ProducerId, marker: Offset) -> Option<&AbortEntry> {
        let key = |entry: &AbortEntry| (entry.producer_id, entry.marker_offset);
        let at = self.entries.binary_search_by_key(&(producer_id, marker), key).ok()?;
        self.entries.get(at)
    }
}

/// A producer snapshot file.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The file's name.
    pub file: String,
    /// It covers every batch below this offset.
    pub offset: Offset,
    /// Its entries, or why it cannot be read.
    pub entries: Result<Vec<SnapshotEntry>, String>,
}

/// One batch, as the batch lane sees it.
#[derive(Clone, Debug)]
pub struct BatchFact {
    /// Its header.
    pub header: BatchHeader,
    /// Which of [`PartitionContext::segment_bases`] it is in.
    pub segment: usize,
    /// Where it begins in the segment.
    pub position: FilePosition,
    /// The marker, when it is a control batch that has one and can be read.
    pub control: Option<ControlRecord>,
}

/// All that one epoch of one producer wrote to one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochSpan {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch; `None` where a client wrote −1 beside a producer id.
    pub producer_epoch: Option<ProducerEpoch>,
    /// Whether its batches were transactional.
    pub transactional: bool,
    /// Base offset of its first batch.
    pub first_offset: Offset,
    /// Last offset of its last batch.
    pub last_offset: Offset,
    /// Base sequence of its first batch.
    pub first_sequence: Option<Sequence>,
    /// Last sequence of its last batch.
    pub last_sequence: Option<Sequence>,
    /// Its batches.
    pub batches: u64,
    /// Its records, as they are now.
    pub records: u64,
    /// The smallest max timestamp of its batches.
    pub first_timestamp: Option<i64>,
    /// The largest max timestamp of its batches.
    pub last_timestamp: Option<i64>,
    /// Whether a marker of the next epoch ended data of this one.
    pub closed_by_next: bool,
    /// Which epoch the newest marker had that tells the protocol.
    pub ends: Option<EpochEnds>,
}

/// Which epoch the marker of a transaction has. A commit never raises the epoch under the older
/// protocols; an abort does when the coordinator ends what took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochEnds {
    /// That of the data.
    Own,
    /// The next one: each transaction has its own.
    Next,
}

/// How a transaction ended here, as far as a marker that can be read says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It was committed.
    Committed,
    /// It was aborted.
    Aborted,
    /// It has no end, or nobody knows which.
    Open,
}

impl From<Outcome> for finding::Outcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Committed => Self::Committed,
            Outcome::Aborted => Self::Aborted,
            Outcome::Open => Self::Open,
        }
    }
}

/// One transaction in this partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionSpan {
    /// The producer.
    pub producer_id: ProducerId,
    /// The epoch of its data.
    pub producer_epoch: Option<ProducerEpoch>,
    /// Base offset of its first batch.
    pub first_offset: Offset,
    /// Where the open transaction begins that a broker takes it for: with data of a lower epoch, where that had no end in
    /// front of it.
    pub open_since: Offset,
    /// The epoch of data that follows in the same open transaction of a broker: its own marker is missing.
    pub followed_by: Option<ProducerEpoch>,
    /// Last offset of its data; `None` when only a snapshot knows of it.
    pub last_offset: Option<Offset>,
    /// The offset of its marker.
    pub marker_offset: Option<Offset>,
    /// The epoch of its marker.
    pub marker_epoch: Option<ProducerEpoch>,
    /// Where its marker is among missing offsets: the number of a snapshot that no longer knows it, or the first offset of
    /// a higher epoch.
    pub ended_below: Option<Offset>,
    /// The time of the first record of its first batch that has one.
    pub first_timestamp: Option<i64>,
    /// The largest time of its batches.
    pub last_timestamp: Option<i64>,
    /// Whose times these are.
    pub times: TimestampType,
    /// How far the leader's clock had come when its first batch was appended, as far as the partition says.
    pub appended_from: Option<i64>,
    /// The first time of a broker's clock that the partition holds at or behind its first batch: when that
    /// was in the log at the latest.
    pub appended_by: Option<i64>,
    /// The time of its marker: the clock of the broker that wrote it.
    pub marker_timestamp: Option<i64>,
    /// How it ended here; with a marker that cannot be read, [`Outcome::Open`].
    pub outcome: Outcome,
}

impl TransactionSpan {
    /// Whether nothing says that it ended. An end that cannot be read is one, too; it leaves the
    /// outcome [`Outcome::Open`].
    #[must_use]
    pub const fn is_without_end(&self) -> bool {
        matches!(self.outcome, Outcome::Open) && self.marker_offset.is_none() && self.ended_below.is_none()
    }
}

/// A marker that found no open transaction: a retry, or a partition without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyMarker {
    /// The producer.
    pub producer_id: ProducerId,
    /// The epoch of the marker.
    pub producer_epoch: Option<ProducerEpoch>,
    /// Where it is.
    pub offset: Offset,
    /// The clock of the broker that wrote it.
    pub timestamp: Option<i64>,
    /// What it would have done.
    pub outcome: Outcome,
}

/// What a batch or a marker did that a leader with intact memory refuses, or answers without storing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// A range that is there already: a broken duplicate check, or another writer with the same id.
    Repeat,
    /// Partly what is there already, or with other bounds.
    Overlap,
    /// Below what was written last, and not there yet.
    StepBack,
    /// From 0, or a range, again, with the earlier records below the log start (clients before 2.5
    /// begin again so) or cleaned away: they cannot be compared, and nobody reads both.
    RestartBehindDeletion,
    /// A range that only the snapshot at the first file remembers: its records are in front of the files.
    RepeatOfSnapshot,
    /// An epoch below one that was seen.
    EpochDown,
    /// A marker of an epoch below that of its producer.
    MarkerDown,
    /// An epoch below that of a marker that had ended it.
    WriteBehindMarker,
    /// Not transactional, while a transaction of the producer is open here.
    OutsideTransaction,
}

/// One such batch, and the batch of its producer before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceStep {
    /// What it did.
    pub kind: StepKind,
    /// The producer.
    pub producer_id: ProducerId,
    /// The epoch of the batch.
    pub producer_epoch: Option<ProducerEpoch>,
    /// The epoch of the batch before.
    pub previous_epoch: Option<ProducerEpoch>,
    /// The base offset of the batch.
    pub at_offset: Offset,
    /// Its first sequence.
    pub first_sequence: Option<Sequence>,
    /// Its last sequence.
    pub last_sequence: Option<Sequence>,
    /// The last offset of the batch before.
    pub previous_offset: Option<Offset>,
    /// The last sequence of the batch before.
    pub previous_sequence: Option<Sequence>,
    /// The largest time in the batch.
    pub timestamp: Option<i64>,
}

/// The newest batches of a producer when it repeated a range, or when it began a newer epoch outside
/// transactions: what a broker with all of its memory knew of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewestBatches {
    /// The producer.
    pub producer_id: ProducerId,
    /// The base offset of the batch that came next.
    pub at_offset: Offset,
    /// Base offsets of the batches before it, of one epoch, the newest first.
    pub batches: Vec<Offset>,
}

/// Where offsets are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoleKind {
    /// Below the first segment, although the first leader epoch begins there.
    Head,
    /// Over bytes that cannot be read.
    Damage,
    /// Between two segments.
    Boundary,
    /// Between two segments, where the files in front of it lie below the log start: what deletes from the head had come
    /// to them.
    Passed,
    /// Between two segments, where a pass of the cleaner that never wrote its checkpoint may have been.
    Unsettled,
    /// In a segment file that holds no batch, or in front of the first batch of one: the cleaner leaves such files, and
    /// so may a loss of what they held.
    Emptied,
    /// Between two batches of one segment.
    Inside,
}

/// What lies behind the last batch of a log that can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogTail {
    /// Nothing: the log ends with a batch, or with a file that has none yet.
    #[default]
    Whole,
    /// A batch that was not written to its end, or zeros: no batch comes behind it in these files.
    Torn,
    /// Bytes that may have been batches.
    Damaged,
    /// What was not read at all: a file that cannot be opened, or a run that was interrupted.
    Unread,
}

impl LogTail {
    /// What damage at the end of a log leaves behind.
    const fn of(kind: DamageKind) -> Self {
        match kind {
            DamageKind::TruncatedTail | DamageKind::ZeroTail => Self::Torn,
            DamageKind::Unreadable => Self::Unread,
            DamageKind::BadCrc
            | DamageKind::BadLength
            | DamageKind::BadMagic
            | DamageKind::BadOffset
            | DamageKind::BadRecord
            | DamageKind::BadCompression
            | DamageKind::BadFile => Self::Damaged,
        }
    }

    /// Whether nothing can stand behind the last batch that was read.
    pub(crate) const fn is_known(self) -> bool {
        matches!(self, Self::Whole | Self::Torn)
    }
}

/// Offsets, both ends included, that no batch holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetHole {
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset.
    pub last_offset: Offset,
    /// Where.
    pub kind: HoleKind,
    /// The segment behind it.
    pub segment: usize,
}

/// Records whose producer id protects nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ineffective {
    /// Why.
    pub reason: IneffectiveReason,
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset.
    pub last_offset: Offset,
    /// How many records.
    pub records: u64,
    /// The smallest time.
    pub first_timestamp: Option<i64>,
    /// The largest time.
    pub last_timestamp: Option<i64>,
}

/// Why a producer id protects nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IneffectiveReason {
    /// Epoch −1: its sequences are not checked.
    NoEpoch,
    /// Time −1: the broker forgets the producer at its next sweep.
    NoTime,
    /// Event times so old that the broker forgets the producer at its next sweep.
    OldTimes,
}

/// A batch whose leader epoch does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderEpochStep {
    /// How it does not fit.
    pub kind: LeaderEpochStepKind,
    /// The base offset of the batch.
    pub at_offset: Offset,
    /// The leader epoch of the batch.
    pub found: LeaderEpoch,
    /// The epoch of the batch before, or of the checkpoint.
    pub expected: LeaderEpoch,
}

/// How a leader epoch does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeaderEpochStepKind {
    /// It is below that of the batch before.
    Back,
    /// `leader-epoch-checkpoint` names another one for this offset.
    NotAsCheckpoint,
    /// It is above all that `leader-epoch-checkpoint` names, after a clean stop.
    NotInCheckpoint,
    /// `leader-epoch-checkpoint` is there and names none, after a clean stop.
    EmptyCheckpoint,
}

/// Where a producer snapshot and the log contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotConflict {
    /// The snapshot's file name.
    pub file: String,
    /// The offset that it covers the log to.
    pub offset: Offset,
    /// How.
    pub kind: SnapshotConflictKind,
    /// The producer, when it is about one.
    pub producer_id: Option<ProducerId>,
    /// What the snapshot says.
    pub snapshot: Option<String>,
    /// What the log says.
    pub log: Option<String>,
}

/// How a producer snapshot contradicts the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SnapshotConflictKind {
    /// It cannot be read.
    Damaged,
    /// Its number lies behind the end of the log.
    BeyondLogEnd,
    /// An entry names an offset that the snapshot does not cover.
    EntryBeyondSnapshot,
    /// The log holds another batch at the entry's offset.
    OtherBatch,
    /// The log holds later batches of the producer below the snapshot's number.
    Stale,
    /// The entry and the log differ about an open transaction.
    OtherTransaction,
    /// It names another epoch of the coordinator than the producer's last marker.
    OtherCoordinator,
    /// It says of a producer what neither a batch nor a marker of it led to.
    WithoutTrace,
    /// The batch at the named offset has other bounds.
    OtherBounds,
    /// It names a producer more than once.
    Repeated,
    /// The producer is missing, and cannot have expired.
    LacksProducer,
    /// A clean stop writes it, and it is not there, nor any other.
    Missing,
}

/// Consecutive batches of one protection mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtectionStretch {
    /// The mode.
    pub mode: ProtectionMode,
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset.
    pub last_offset: Offset,
    /// Records in it.
    pub records: u64,
    /// Batches in it.
    pub batches: u64,
    /// The smallest time of its batches.
    pub first_timestamp: Option<i64>,
    /// The largest time of its batches.
    pub last_timestamp: Option<i64>,
}

/// Records by protection mode; control batches do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// A producer id, no transaction.
    pub idempotent_records: u64,
    /// A producer id and a transaction.
    pub transactional_records: u64,
    /// No producer id.
    pub unprotected_records: u64,
    /// Formats 0 and 1.
    pub legacy_records: u64,
    /// In offset order; the first ones, where modes alternate very often.
    pub stretches: Vec<ProtectionStretch>,
    /// How many stretches are not listed.
    pub stretches_omitted: u64,
    /// One for each mode that occurs: from its first to its last record.
    pub whole: Vec<ProtectionStretch>,
    /// The mode of the last batch.
    open_mode: Option<ProtectionMode>,
}

/// What the batch lane found in one partition.
#[derive(Clone, Debug, Default)]
pub struct PartitionFacts {
    /// Batches, control batches among them.
    pub batches: u64,
    /// Records that are not control records.
    pub records: u64,
    /// Control batches.
    pub control_batches: u64,
    /// The offset behind the last batch, or the log start of an empty log.
    pub log_end_offset: Offset,
    /// Where read_committed consumers stop: the first offset of the earliest open transaction, or the
    /// log start where that is behind it, or the log end.
    pub last_stable_offset: Offset,
    /// Leader epochs of the batches, with the offset at which each begins.
    pub leader_epochs: Vec<(LeaderEpoch, Offset)>,
    /// The smallest time of a record batch.
    pub first_timestamp: Option<i64>,
    /// The largest time of a record batch.
    pub last_timestamp: Option<i64>,
    /// What producers wrote in each epoch.
    pub epochs: Epochs,
    /// Transactions in order of their first offset: all without end, and the newest of the others.
    pub transactions: Vec<TransactionSpan>,
    /// How many older ones, all with an end, are not listed.
    pub transactions_omitted: u64,
    /// What aborted and open transactions withhold.
    pub withheld: Withheld,
    /// Records by protection mode.
    pub protection: Protection,
    /// Whether batches without producer id stand in the order of their times.
    pub order: Order,
    /// Whether a version in the values rises with the offset of each key, where that was looked at.
    pub versions: Versions,
    /// Which producers change the same keys in turn, where that was looked at.
    pub turns: Turns,
    /// Sequences that are missing, in offset order.
    pub gaps: Vec<Gap>,
    /// How many gaps are not listed, by reason.
    pub gaps_omitted: Vec<(GapReason, u64)>,
    /// Batches that a leader with intact memory would not have stored.
    pub steps: Vec<SequenceStep>,
    /// How many such batches are not listed.
    pub steps_omitted: u64,
    /// What producers had written when they repeated a range or began a newer epoch.
    pub newest_batches: Vec<NewestBatches>,
    /// Markers that found nothing open.
    pub empty_markers: Vec<EmptyMarker>,
    /// Missing offsets that the cleaner's checkpoint does not explain.
    pub holes: Vec<OffsetHole>,
    /// How many holes are not listed.
    pub holes_omitted: u64,
    /// Where the cleaner has been: holes that begin below this offset are its own.
    pub cleaned_below: Option<Offset>,
    /// Whether a head that is not there may have been deleted, and `leader-epoch-checkpoint` be older than that: the files
    /// are of several moments, or may be.
    pub head_may_be_deleted: bool,
    /// Whether the cleaner has been here. That it may come is no sign of that.
    pub was_cleaned: bool,
    /// What lies behind the last batch that can be read.
    pub tail: LogTail,
    /// Where bytes cannot be read: behind which offset.
    pub damaged_from: Vec<Offset>,
    /// Producer ids that protect nothing.
    pub ineffective: Vec<Ineffective>,
    /// Leader epochs that do not fit.
    pub leader_epoch_steps: Vec<LeaderEpochStep>,
    /// Snapshots that contradict the log.
    pub snapshot_conflicts: Vec<SnapshotConflict>,
    /// Entries of offset and time indexes that lead astray, as far as they were looked at.
    pub index_faults: Vec<IndexFault>,
    /// How many such entries are not listed.
    pub index_faults_omitted: u64,
    /// When leaders, gaps and the closing of the log were.
    pub landmarks: Landmarks,
}

impl PartitionFacts {
    /// Which transaction outcome withholds the record at `offset` from read_committed consumers.
    #[must_use]
    pub fn withheld_at(&self, offset: Offset) -> Option<Outcome> {
        self.withheld.at(offset)
    }
}
