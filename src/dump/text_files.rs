//! The files of a broker that are text: checkpoints, `meta.properties`, `partition.metadata`.
//!
//! Kafka's tool does not read them; what is printed is ours. A line that is not what it should be is
//! told, and nothing of such a file is printed, because nobody knows what the rest of it means.

use super::Talk;
use super::printer::{Printer, TextEntry};
use super::selection::Selection;
use crate::format::checkpoint::{LineError, OffsetCheckpoint};
use crate::format::{ByteSource, leader_epoch_checkpoint, meta_properties, partition_metadata};
use crate::units::Offset;
use std::io::{self, Write};

/// A broker has a line for each partition: a file of this many bytes is none of its.
const LARGEST: u64 = 256 << 20;

/// Which of them a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextFile {
    /// An offset for each partition.
    OffsetCheckpoint,
    /// Where each leader of one partition began.
    LeaderEpochCheckpoint,
    /// Whose log directory it is.
    MetaProperties,
    /// Which topic a directory belongs to.
    PartitionMetadata,
}

impl TextFile {
    /// The kind of a file with this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "recovery-point-offset-checkpoint"
            | "replication-offset-checkpoint"
            | "log-start-offset-checkpoint"
            | "cleaner-offset-checkpoint" => Some(Self::OffsetCheckpoint),
            "leader-epoch-checkpoint" => Some(Self::LeaderEpochCheckpoint),
            "meta.properties" => Some(Self::MetaProperties),
            "partition.metadata" => Some(Self::PartitionMetadata),
            _ => None,
        }
    }

    /// Its name in JSON.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::OffsetCheckpoint => "offset-checkpoint",
            Self::LeaderEpochCheckpoint => "leader-epoch-checkpoint",
            Self::MetaProperties => "meta.properties",
            Self::PartitionMetadata => "partition.metadata",
        }
    }
}

pub(super) fn dump<S: ByteSource, W: Write>(
    source: &mut S,
    kind: TextFile,
    selection: &Selection,
    printer: &mut impl Printer,
    talk: &mut Talk<'_, W>,
) -> io::Result<()> {
    let length = source.len();
    if length > LARGEST {
        return talk.damage(0, &format!("{length} bytes are too many for such a file"));
    }
    let wanted = usize::try_from(length).unwrap_or(usize::MAX);
    let bytes = match source.window(0, wanted) {
        Ok(bytes) => bytes.get(..wanted).unwrap_or_default(),
        Err(error) => return talk.damage(0, &error.to_string()),
    };
    match entries(bytes, kind) {
        Ok(entries) => entries
            .iter()
            .filter(|entry| entry.offset().is_none_or(|offset| selection.admits_offset(offset)))
            .try_for_each(|entry| printer.text_entry(entry)),
        Err(error) => talk.damage(0, &error.to_string()),
    }
}

fn entries(bytes: &[u8], kind: TextFile) -> Result<Vec<TextEntry>, LineError> {
    Ok(match kind {
        TextFile::OffsetCheckpoint => OffsetCheckpoint::parse(bytes)?
            .iter()
            .map(|(topic, partition, offset)| TextEntry::Offset {
                topic: topic.to_owned(),
                partition,
                offset,
            })
            .collect(),
        TextFile::LeaderEpochCheckpoint => leader_epoch_checkpoint::parse(bytes)?
            .into_iter()
            .map(|(leader_epoch, start_offset)| TextEntry::LeaderEpoch { leader_epoch, start_offset })
            .collect(),
        TextFile::MetaProperties => meta_properties::properties(bytes)?
            .into_iter()
            .map(|property| TextEntry::Property { name: property.name, value: property.value })
            .collect(),
        TextFile::PartitionMetadata => {
            vec![TextEntry::Property {
                name: "topic_id".to_owned(),
                value: partition_metadata::parse(bytes)?,
            }]
        }
    })
}

impl TextEntry {
    /// The offset that it is about.
    fn offset(&self) -> Option<Offset> {
        match *self {
            Self::Offset { offset, .. } | Self::LeaderEpoch { start_offset: offset, .. } => Some(offset),
            Self::Property { .. } => None,
        }
    }
}
