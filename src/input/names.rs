//! What the names of directories and files say, by the rules of the broker.
//!
//! ```text
//! orders-0                                             a live partition; split at the last dash
//! orders-0.b72df21150c943bc90a55038c093c003-delete     also -future and -stray
//! 00000000000000000012.log                             the number is before the first dot
//! 00000000000000000012.log.swap                        also .cleaned and .deleted
//! 00000000000000000012-0000000001.checkpoint           a snapshot of the cluster's metadata
//! ```
//!
//! Source: `LocalLog.parseTopicPartitionName`, `LogFileUtils`, `Snapshots` in Apache Kafka. The topic
//! of a deleted or stray directory may be cut so that the whole name has 255 characters.

use super::inventory::State;
use crate::units::Offset;

/// Digits of an offset in a file name.
const OFFSET_DIGITS: usize = 20;
/// Digits of an epoch in the name of a metadata snapshot.
const EPOCH_DIGITS: usize = 10;

/// What the name of a directory says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartitionName {
    pub topic: String,
    pub partition: i32,
    pub state: State,
}

impl PartitionName {
    /// `None` when a broker gives no such name.
    pub fn parse(name: &str) -> Option<Self> {
        let marks = [("-delete", State::Deleted), ("-future", State::Future), ("-stray", State::Stray)];
        let marked = marks.iter().find_map(|(mark, state)| {
            let (name, unique_id) = name.strip_suffix(mark)?.rsplit_once('.')?;
            (!unique_id.is_empty()).then_some((name, *state))
        });
        let (name, state) = marked.unwrap_or((name, State::Live));
        let (topic, partition) = name.rsplit_once('-')?;
        if topic.is_empty() || !all_digits(partition) {
            return None;
        }
        Some(Self { topic: topic.to_owned(), partition: partition.parse().ok()?, state })
    }
}

/// What a file in a partition directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartitionFile {
    /// A segment or a file beside it, and what its last suffix says.
    Numbered { number: Offset, kind: NumberedKind, fate: Fate },
    /// `leader-epoch-checkpoint`.
    LeaderEpochs,
    /// `partition.metadata`.
    Metadata,
    /// Kafka writes it, and it says nothing that is wanted here.
    NotRead,
    /// Kafka writes no such file.
    Unknown,
}

/// What a file with a number holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberedKind {
    Segment,
    Snapshot,
    Index,
    MetadataSnapshot,
}

/// What becomes of a file with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Regular,
    /// Waits to be removed.
    Deleted,
    /// Written by a compaction or split that was not finished.
    Cleaned,
    /// Written by one that was finished, not yet in its place.
    Swap,
}

impl PartitionFile {
    pub fn parse(name: &str) -> Self {
        match name {
            "leader-epoch-checkpoint" => return Self::LeaderEpochs,
            "partition.metadata" => return Self::Metadata,
            "quorum-state" | "remote_log_snapshot" | ".lock" => return Self::NotRead,
            _ if is_unfinished(name) => return Self::NotRead,
            _ => {}
        }
        let Some((stem, suffix)) = name.split_once('.') else { return Self::Unknown };
        if suffix.starts_with("checkpoint") {
            return metadata_snapshot(stem, suffix);
        }
        let (suffix, fate) = match suffix.rsplit_once('.') {
            Some((suffix, "deleted")) => (suffix, Fate::Deleted),
            Some((suffix, "cleaned")) => (suffix, Fate::Cleaned),
            Some((suffix, "swap")) => (suffix, Fate::Swap),
            _ => (suffix, Fate::Regular),
        };
        let kind = match suffix {
            "log" => NumberedKind::Segment,
            "snapshot" => NumberedKind::Snapshot,
            "index" | "timeindex" | "txnindex" => NumberedKind::Index,
            _ => return Self::Unknown,
        };
        match offset(stem) {
            Some(number) => Self::Numbered { number, kind, fate },
            None => Self::Unknown,
        }
    }

    /// Whether a directory with this file can only be that of a partition.
    pub fn marks_a_partition(self) -> bool {
        matches!(self, Self::Numbered { .. } | Self::LeaderEpochs | Self::Metadata)
    }
}

/// Whether a file was to take the place of another when its writer ended.
fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(".tmp").is_some_and(|name| name.ends_with("checkpoint") || name.ends_with("metadata"))
}

fn metadata_snapshot(stem: &str, suffix: &str) -> PartitionFile {
    let parts = stem.split_once('-');
    let number = parts.filter(|(_, epoch)| epoch.len() == EPOCH_DIGITS && all_digits(epoch));
    match (number.and_then(|(number, _)| offset(number)), suffix) {
        (Some(number), "checkpoint") => {
            PartitionFile::Numbered { number, kind: NumberedKind::MetadataSnapshot, fate: Fate::Regular }
        }
        // An unfinished one, and one that waits to be removed.
        (Some(_), "checkpoint.part" | "checkpoint.deleted") => PartitionFile::NotRead,
        _ => PartitionFile::Unknown,
    }
}

fn offset(text: &str) -> Option<Offset> {
    (text.len() == OFFSET_DIGITS && all_digits(text)).then(|| text.parse().ok().map(Offset))?
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a file in a log directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogDirFile {
    /// `meta.properties`.
    MetaProperties,
    /// `.kafka_cleanshutdown`.
    CleanShutdown,
    /// `replication-offset-checkpoint`.
    HighWatermarks,
    /// `recovery-point-offset-checkpoint`.
    RecoveryPoints,
    /// `log-start-offset-checkpoint`.
    LogStarts,
    /// `cleaner-offset-checkpoint`.
    FirstDirty,
    /// Kafka writes it, and it says nothing that is wanted here.
    NotRead,
    /// Kafka writes no such file.
    Unknown,
}

impl LogDirFile {
    pub fn parse(name: &str) -> Self {
        match name {
            "meta.properties" => Self::MetaProperties,
            ".kafka_cleanshutdown" => Self::CleanShutdown,
            "replication-offset-checkpoint" => Self::HighWatermarks,
            "recovery-point-offset-checkpoint" => Self::RecoveryPoints,
            "log-start-offset-checkpoint" => Self::LogStarts,
            "cleaner-offset-checkpoint" => Self::FirstDirty,
            ".lock" | "bootstrap.checkpoint" | "_rlmm_committed_offsets" => Self::NotRead,
            _ if is_unfinished(name) || name == "meta.properties.tmp" => Self::NotRead,
            _ => Self::Unknown,
        }
    }

    /// Whether a directory with this file is that of a broker, or a whole copy of it.
    ///
    /// A lock alone is not enough: other programs have such files.
    pub fn marks_a_log_dir(self) -> bool {
        !matches!(self, Self::NotRead | Self::Unknown)
    }
}

/// Whether a directory beside partitions is known and holds no log.
pub(super) fn is_known_directory(name: &str) -> bool {
    matches!(name, "lost+found" | "remote-log-index-cache" | "remote-log-metadata")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<(String, i32, State)> {
        PartitionName::parse(text).map(|name| (name.topic, name.partition, name.state))
    }

    #[test]
    fn the_last_dash_parts_topic_and_partition() {
        assert_eq!(name("orders-0"), Some(("orders".into(), 0, State::Live)));
        assert_eq!(name("a.b-c_d-12"), Some(("a.b-c_d".into(), 12, State::Live)));
        assert_eq!(name("orders--1"), Some(("orders-".into(), 1, State::Live)));
        assert_eq!(name("x.y-delete-3"), Some(("x.y-delete".into(), 3, State::Live)));
        for no_partition in ["orders", "-0", "orders-", "orders-x", "orders-+1", "orders-99999999999"] {
            assert_eq!(name(no_partition), None, "{no_partition}");
        }
    }

    #[test]
    fn a_mark_at_the_end_says_what_becomes_of_the_replica() {
        let id = "b72df21150c943bc90a55038c093c003";
        for (mark, state) in [("delete", State::Deleted), ("future", State::Future), ("stray", State::Stray)]
        {
            assert_eq!(name(&format!("a.b-c-7.{id}-{mark}")), Some(("a.b-c".into(), 7, state)));
        }
        assert_eq!(name("orders-0-delete"), None);
        assert_eq!(name("orders-0.-delete"), None);
    }

    #[test]
    fn the_suffixes_say_what_a_file_is() {
        use {Fate::*, NumberedKind::*};
        for (text, kind, fate) in [
            ("00000000000000000012.log", Segment, Regular),
            ("00000000000000000012.log.deleted", Segment, Deleted),
            ("00000000000000000012.timeindex.cleaned", Index, Cleaned),
            ("00000000000000000012.txnindex.swap", Index, Swap),
            ("00000000000000000012.snapshot", Snapshot, Regular),
            ("00000000000000000012-0000000003.checkpoint", MetadataSnapshot, Regular),
        ] {
            let expected = PartitionFile::Numbered { number: Offset(12), kind, fate };
            assert_eq!(PartitionFile::parse(text), expected, "{text}");
        }
        for known in [
            "quorum-state",
            "remote_log_snapshot",
            "leader-epoch-checkpoint.tmp",
            "partition.metadata.tmp",
            "00000000000000000012-0000000003.checkpoint.part",
        ] {
            assert_eq!(PartitionFile::parse(known), PartitionFile::NotRead, "{known}");
        }
        for unknown in [
            "12.log",
            "99999999999999999999.log",
            "00000000000000000012.log.gz",
            "00000000000000000012.log.txt",
            "0000000000000000001x.log",
            "orders.checkpoint",
            "notes.txt",
            "",
        ] {
            assert_eq!(PartitionFile::parse(unknown), PartitionFile::Unknown, "{unknown}");
        }
    }

    #[test]
    fn a_lock_does_not_make_a_log_directory() {
        assert!(LogDirFile::parse("meta.properties").marks_a_log_dir());
        assert!(LogDirFile::parse("replication-offset-checkpoint").marks_a_log_dir());
        assert!(!LogDirFile::parse(".lock").marks_a_log_dir());
        assert_eq!(LogDirFile::parse("cleaner-offset-checkpoint.tmp"), LogDirFile::NotRead);
    }
}
