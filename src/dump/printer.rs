//! What every form of the dump can print.

use super::decoder::InternalTopic;
use super::file_kind::FileKind;
use crate::format::internal::cluster_metadata::MetadataRecord;
use crate::format::internal::{CoordinatorRecord, InternalError, Value};
use crate::format::{
    AbortedTransaction, BatchHeader, Damage, OffsetIndexEntry, Record, SnapshotEntry, TimeIndexEntry,
};
use crate::units::{FilePosition, LeaderEpoch, Offset};
use std::io;
use std::path::Path;

/// A batch as it is printed: readable, but perhaps with a wrong checksum.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrintedBatch<'a> {
    /// Its header.
    pub(super) header: &'a BatchHeader,
    /// Where it begins.
    pub(super) position: FilePosition,
    /// How many bytes it takes.
    pub(super) size: u64,
    /// Whether the stored checksum fits.
    pub(super) checksum: Checksum,
}

/// Whether a stored checksum fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    /// It does.
    Right,
    /// It does not.
    Wrong,
}

/// What a record of a control batch says.
#[derive(Clone, Debug)]
pub(super) enum ControlText<'a> {
    /// A transaction ends: `COMMIT` or `ABORT`, and the coordinator's epoch.
    EndTransaction { marker: &'static str, coordinator_epoch: i32 },
    /// A record of the metadata quorum.
    Quorum { control_type: i16, value: Value<'a> },
    /// A type that no release defines.
    Unknown { control_type: i16 },
    /// Not what its type says.
    Unreadable,
}

/// A record of one of Kafka's own topics.
#[derive(Clone, Debug)]
pub(super) enum Decoded<'a> {
    /// Of a coordinator's topic.
    Coordinator(CoordinatorRecord<'a>),
    /// Of the metadata log.
    Metadata(MetadataRecord<'a>),
    /// It cannot be read.
    Failed(InternalTopic, InternalError),
}

/// A record as it is printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrintedRecord<'r, 'a> {
    /// The record.
    pub(super) record: &'r Record<'a>,
    /// In formats 0 and 1 the checksum of its own message.
    pub(super) message_crc: Option<u32>,
    /// What it says, when it is to be decoded.
    pub(super) decoded: Option<&'r Decoded<'a>>,
}

/// A line of a file that is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextEntry {
    /// Of a checkpoint of offsets.
    Offset { topic: String, partition: i32, offset: Offset },
    /// Of `leader-epoch-checkpoint`.
    LeaderEpoch { leader_epoch: LeaderEpoch, start_offset: Offset },
    /// A name with its value.
    Property { name: String, value: String },
}

/// Where a dump goes, in the form that was asked for.
pub(super) trait Printer {
    /// A file begins.
    fn file(&mut self, path: &Path, name: &str, kind: FileKind) -> io::Result<()>;
    /// A batch begins.
    fn batch(&mut self, batch: PrintedBatch<'_>) -> io::Result<()>;
    /// A record of the batch before it.
    fn record(&mut self, batch: PrintedBatch<'_>, record: PrintedRecord<'_, '_>) -> io::Result<()>;
    /// A record of the control batch before it.
    fn control(
        &mut self,
        batch: PrintedBatch<'_>,
        record: &Record<'_>,
        control: &ControlText<'_>,
    ) -> io::Result<()>;
    /// Bytes of a log that are no batch.
    fn damage(&mut self, name: &str, damage: &Damage, rest: RestOfFile) -> io::Result<()>;
    /// An index without entries.
    fn empty_index(&mut self, path: &Path) -> io::Result<()>;
    /// An entry of an offset index.
    fn offset_entry(&mut self, entry: OffsetIndexEntry) -> io::Result<()>;
    /// An entry of a time index.
    fn time_entry(&mut self, entry: TimeIndexEntry) -> io::Result<()>;
    /// An entry of a transaction index.
    fn transaction_entry(&mut self, entry: AbortedTransaction) -> io::Result<()>;
    /// An entry of a producer snapshot.
    fn snapshot_entry(&mut self, entry: &SnapshotEntry) -> io::Result<()>;
    /// An entry of a file that is text.
    fn text_entry(&mut self, entry: &TextEntry) -> io::Result<()>;
}

/// Whether anything comes behind the damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestOfFile {
    /// Batches.
    Readable,
    /// The damage reaches to the end of the file.
    None,
}
