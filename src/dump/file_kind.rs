//! Tells from its name what a file is.
//!
//! Kafka's tool looks at the text behind the last dot. Here leftovers (`.log.deleted`,
//! `.log.cleaned`, `.log.swap`) are read as what they were as well.

use super::base_of;
use super::text_files::TextFile;
use crate::format::segment::TailExpectation;
use crate::input::FilePlace;
use crate::units::{LeaderEpoch, Offset};
use std::path::Path;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A segment of a log.
    Log { base: Option<Offset> },
    /// A snapshot of the cluster metadata.
    Checkpoint { end_offset: Offset, leader_epoch: LeaderEpoch },
    /// The metadata that a new node begins with.
    BootstrapCheckpoint,
    /// Offset → position.
    OffsetIndex { base: Option<Offset> },
    /// Timestamp → offset.
    TimeIndex { base: Option<Offset> },
    /// Aborted transactions.
    TransactionIndex,
    /// What the broker remembers of producers.
    ProducerSnapshot,
    /// A file that is text.
    Text(TextFile),
}

impl FileKind {
    /// The kind of a file with this name; `None` when it is none of a broker's.
    pub(super) fn of(name: &str) -> Option<Self> {
        if let Some(text) = TextFile::of(name) {
            return Some(Self::Text(text));
        }
        let original = [".deleted", ".cleaned", ".swap"]
            .iter()
            .find_map(|leftover| name.strip_suffix(leftover))
            .unwrap_or(name);
        let (stem, suffix) = original.rsplit_once('.')?;
        match suffix {
            "log" => Some(Self::Log { base: base_of(original) }),
            "index" => Some(Self::OffsetIndex { base: base_of(original) }),
            "timeindex" => Some(Self::TimeIndex { base: base_of(original) }),
            "txnindex" => Some(Self::TransactionIndex),
            "snapshot" => Some(Self::ProducerSnapshot),
            "checkpoint" if stem == "bootstrap" => Some(Self::BootstrapCheckpoint),
            "checkpoint" => {
                let (end_offset, leader_epoch) = stem.split_once('-')?;
                Some(Self::Checkpoint {
                    end_offset: Offset(end_offset.parse().ok()?),
                    leader_epoch: LeaderEpoch(leader_epoch.parse().ok()?),
                })
            }
            _ => None,
        }
    }
}

/// What the end of a segment may look like: torn, unless a later segment lies beside it.
pub(super) fn tail_expectation(place: &FilePlace, base: Option<Offset>) -> TailExpectation {
    let Ok(names) = place.names_beside() else {
        return TailExpectation::MayBeTorn;
    };
    let later = names.iter().any(|name| name.strip_suffix(".log").and_then(base_of) > base);
    if later && base.is_some() { TailExpectation::MustBeWhole } else { TailExpectation::MayBeTorn }
}

/// The last part of `path`.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_what_a_file_is() {
        assert_eq!(FileKind::of("00000000000000000012.log"), Some(FileKind::Log { base: Some(Offset(12)) }));
        assert_eq!(
            FileKind::of("00000000000000000012.log.deleted"),
            Some(FileKind::Log { base: Some(Offset(12)) })
        );
        assert_eq!(FileKind::of("bootstrap.checkpoint"), Some(FileKind::BootstrapCheckpoint));
        assert_eq!(
            FileKind::of("00000000000000000137-0000000001.checkpoint"),
            Some(FileKind::Checkpoint { end_offset: Offset(137), leader_epoch: LeaderEpoch(1) })
        );
        assert_eq!(FileKind::of("00000000000000000012.snapshot"), Some(FileKind::ProducerSnapshot));
        assert_eq!(FileKind::of("copy.log"), Some(FileKind::Log { base: None }));
        assert_eq!(FileKind::of("partition.metadata"), Some(FileKind::Text(TextFile::PartitionMetadata)));
        assert_eq!(FileKind::of("orders.txt"), None);
        assert_eq!(FileKind::of("odd.checkpoint"), None);
    }
}
