//! What was found: log directories, partitions, their files, and what was set aside.

use super::archive::Archive;
use super::identity::FileIdentity;
use super::place::FilePlace;
use crate::format::{Damage, segment::TailExpectation};
use crate::units::{ClusterNumber, LeaderEpoch, LogStartSource, Offset, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name and id of a topic, and its cluster where it has no id.
pub type TopicIdentity<'i> = (&'i str, Option<&'i str>, Option<ClusterNumber>);

/// All that the named paths hold.
///
/// Partitions are sorted by topic, each of one name by itself, then by partition, broker id and path, so that two runs
/// over the same files agree whatever the order of the paths.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// The directories that hold the partitions, one entry of `log.dirs` each, sorted by path.
    pub log_dirs: Vec<LogDir>,
    /// The clusters that they are of, by number.
    pub clusters: Vec<Cluster>,
    /// Every directory of a partition, and with [`super::Leftovers::List`] what is left over of one.
    pub partitions: Vec<PartitionDir>,
    /// `-delete` directories that are set aside: not audited, and looked into only for what they say of the
    /// logs that took their place.
    pub deleted: Vec<PartitionDir>,
    /// Which partitions are copies of each other; every partition is in exactly one group.
    pub replica_groups: Vec<ReplicaGroup>,
    /// What the reader of a report should know about the choice of files.
    pub notes: Vec<Note>,
    /// Files beside the logs that cannot be read as what they are, and entries that cannot be read.
    pub damage: Vec<FileDamage>,
    /// Names of entries that are passed over, as notes tell them.
    pub passed_over: Vec<String>,
    /// Named directories below which no partition lies, as the user would write them.
    pub empty_paths: Vec<String>,
    /// The archives among the named paths.
    pub(super) archives: Vec<Arc<Archive>>,
    /// Each named path with what it leads to.
    pub(super) roots: Vec<(PathBuf, PathBuf)>,
}

impl Inventory {
    /// The topic of each partition directory. Two topic ids under one name are two topics; a directory without an id
    /// belongs to the topic of that name when there is only one in its cluster.
    #[must_use]
    pub fn topic_of_each(&self) -> Vec<TopicIdentity<'_>> {
        let mut ids: BTreeMap<(ClusterNumber, &str), BTreeSet<&str>> = BTreeMap::new();
        for dir in &self.partitions {
            ids.entry((self.cluster_of(dir), &dir.topic)).or_default().extend(dir.topic_id.as_deref());
        }
        let each = self.partitions.iter().map(|dir| {
            let cluster = self.cluster_of(dir);
            let known = ids.get(&(cluster, dir.topic.as_str())).filter(|known| known.len() == 1);
            let id = dir.topic_id.as_deref().or_else(|| known.and_then(|known| known.first().copied()));
            (dir.topic.as_str(), id, id.is_none().then_some(cluster))
        });
        each.collect()
    }

    /// Puts the partitions in the order of their topics, and leaves that within a topic as it is.
    pub(super) fn sort_by_topic(&mut self) {
        let each = self.topic_of_each();
        let topics: BTreeSet<TopicIdentity<'_>> = each.iter().copied().collect();
        let numbers: BTreeMap<TopicIdentity<'_>, usize> = topics.into_iter().zip(0..).collect();
        let of_each: Vec<Option<usize>> = each.iter().map(|topic| numbers.get(topic).copied()).collect();
        let mut numbered: Vec<_> = of_each.into_iter().zip(std::mem::take(&mut self.partitions)).collect();
        numbered.sort_by_key(|(topic, _)| *topic);
        self.partitions = numbered.into_iter().map(|(_, dir)| dir).collect();
    }
}

impl Inventory {
    /// The log directory that holds a partition.
    #[must_use]
    pub fn log_dir(&self, partition: &PartitionDir) -> Option<&LogDir> {
        self.log_dirs.get(partition.log_dir)
    }

    /// The cluster of a partition.
    #[must_use]
    pub fn cluster_of(&self, partition: &PartitionDir) -> ClusterNumber {
        self.log_dir(partition).map_or_else(ClusterNumber::default, |log_dir| log_dir.cluster)
    }

    /// The other partitions in the replica group of the partition at `index`.
    pub fn replicas_of(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let group = self.partitions.get(index).and_then(|p| self.replica_groups.get(p.replica_group));
        group.into_iter().flat_map(|g| g.members.iter().copied()).filter(move |&member| member != index)
    }

    /// What a named path leads to: a directory or file with links resolved, or one in an archive.
    #[must_use]
    pub fn root_of(&self, named: &Path) -> Option<&Path> {
        let (path, _) = self.roots.iter().find(|(_, name)| name == named)?;
        let archive = self.archives.iter().find(|archive| archive.path() == path);
        Some(archive.map_or(path.as_path(), |archive| archive.root()))
    }

    /// Bytes in the segments that are to be read.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.partitions.iter().map(|p| p.bytes).sum()
    }
}

/// Something worth knowing about a file or directory that is no damage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The file or directory, as a report shows it.
    pub file: String,
    /// What is to be said, lower case, without a full stop.
    pub detail: String,
}

/// Damage with the file that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDamage {
    /// The file or directory, as a report shows it.
    pub file: String,
    /// What is wrong.
    pub damage: Damage,
}

/// One entry of `log.dirs`, or the directory around a partition.
#[derive(Clone, Debug)]
pub struct LogDir {
    /// Where it is, with links resolved.
    pub path: PathBuf,
    /// As the user would write it.
    pub display: String,
    /// How much of it is audited.
    pub scope: LogDirScope,
    /// `node.id` or `broker.id` of `meta.properties`.
    pub broker_id: Option<i32>,
    /// `cluster.id` of `meta.properties`.
    pub cluster_id: Option<String>,
    /// Which of [`Inventory::clusters`] it is of.
    pub cluster: ClusterNumber,
    /// `directory.id` of `meta.properties` (KIP-858).
    pub directory_id: Option<String>,
    /// Whether the marker of an orderly shutdown is there; `None` when nothing shows that this is
    /// the whole of a log directory, so that a missing marker means nothing.
    pub clean_shutdown: Option<bool>,
    /// The broker's epoch in the marker (KIP-966).
    pub broker_epoch: Option<i64>,
    /// The checkpoint files that were read, by name.
    pub checkpoints: Vec<String>,
    /// Files of the directory itself that are known.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The newest time of one of its own files.
    pub newest_file_time: Option<Timestamp>,
}

/// Log directories of one cluster, as far as files show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// `cluster.id`, where a `meta.properties` tells it.
    pub id: Option<String>,
    /// The directories, as the user would write them.
    pub log_dirs: Vec<String>,
}

/// How much of a log directory is audited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogDirScope {
    /// All that it holds: it was named, or lies below a named directory.
    Whole,
    /// Only partitions or files that were named; its own files were read for what they say of them.
    Surroundings,
}

/// What a directory, or a leftover inside one, is to Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// A partition that a broker serves.
    Live,
    /// A `-delete` directory: the topic or the replica is being removed.
    Deleted,
    /// A `-future` directory: a copy that is being built for a move between log directories.
    Future,
    /// A `-stray` directory: a replica that the metadata no longer assigns to this broker.
    Stray,
    /// `.deleted` segments in a live directory: superseded or expired.
    DeletedSegments,
    /// `.cleaned` segments: the output of an unfinished compaction or split.
    CleanedSegments,
    /// `.swap` segments that do not count.
    SwapSegments,
    /// Segments whose place a `.swap` segment takes.
    ReplacedSegments,
}

impl State {
    /// Whether this is what a broker would serve after a start.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Live)
    }

    /// The name in notes and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Deleted => "deleted",
            Self::Future => "future",
            Self::Stray => "stray",
            Self::DeletedSegments => "deleted-segments",
            Self::CleanedSegments => "cleaned-segments",
            Self::SwapSegments => "swap-segments",
            Self::ReplacedSegments => "replaced-segments",
        }
    }
}

/// Where topic and partition come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameSource {
    /// From the name of the directory.
    Directory,
    /// The directory has another name: it stands for the topic, and the partition is called 0.
    Assumed,
}

/// How much of a partition is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of it.
    Whole,
    /// Only the files that were named. What lies beside them was cut to their range.
    Files {
        /// Base offsets of the segments that lie beside them and are not read, ascending.
        left_out: Vec<Offset>,
    },
}

impl Selection {
    /// How many segments lie beside what was named.
    #[must_use]
    pub fn left_out(&self) -> usize {
        match self {
            Self::Whole => 0,
            Self::Files { left_out } => left_out.len(),
        }
    }
}

/// One partition as it lies in one directory.
#[derive(Clone, Debug)]
pub struct PartitionDir {
    /// The topic's name; may be cut short in a deleted or stray one.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// Where both come from.
    pub named_by: NameSource,
    /// What it is to Kafka.
    pub state: State,
    /// Where it is, with links resolved.
    pub path: PathBuf,
    /// As the user would write it; unique among the live ones. A file in it is `display/name`.
    pub display: String,
    /// Its directory in [`Inventory::log_dirs`].
    pub log_dir: usize,
    /// The broker of that directory.
    pub broker_id: Option<i32>,
    /// `topic_id` of `partition.metadata`, 22 characters.
    pub topic_id: Option<String>,
    /// Whether the topic's name begins with `__`.
    pub internal: bool,
    /// How much of it is read.
    pub selection: Selection,
    /// What is to be read, ascending by base offset.
    pub segments: Vec<SegmentFile>,
    /// Producer snapshots, ascending by their number.
    pub snapshots: Vec<SideFile>,
    /// `.index`, `.timeindex` and `.txnindex` files, by number and name.
    pub indexes: Vec<SideFile>,
    /// Snapshots of the cluster's metadata (only in `__cluster_metadata-0`), by number and name.
    pub metadata_snapshots: Vec<SideFile>,
    /// `leader-epoch-checkpoint`; empty when it is missing or bad.
    pub leader_epochs: Vec<LeaderEpochStart>,
    /// Whether it is there, can be read, and names none.
    pub empty_epoch_checkpoint: bool,
    /// The checkpointed high watermark.
    pub high_watermark: Option<Offset>,
    /// Where the readable log begins.
    pub log_start_offset: Offset,
    /// What says so.
    pub log_start_source: LogStartSource,
    /// What `log-start-offset-checkpoint` says, also where that lies below the first segment: as it does where segments
    /// were moved to remote storage.
    pub log_start_checkpoint: Option<Offset>,
    /// Everything below this offset was flushed.
    pub recovery_point: Option<Offset>,
    /// The first offset that the cleaner has not reached.
    pub first_dirty_offset: Option<Offset>,
    /// Bytes in its segments.
    pub bytes: u64,
    /// Files that belong to it, indexes and checkpoints among them.
    pub files: usize,
    /// The newest time of one of them.
    pub newest_file_time: Option<Timestamp>,
    /// Its group in [`Inventory::replica_groups`].
    pub replica_group: usize,
}

impl PartitionDir {
    /// A file of this partition as a report shows it.
    #[must_use]
    pub fn display_of(&self, file_name: &str) -> String {
        format!("{}/{file_name}", self.display)
    }

    /// Whether a torn tail of `segment` is what it is expected to have.
    #[must_use]
    pub fn tail_expectation(&self, segment: &SegmentFile, log_dir: &LogDir) -> TailExpectation {
        match (segment.role, log_dir.clean_shutdown) {
            (SegmentRole::Active, None | Some(false)) => TailExpectation::MayBeTorn,
            (SegmentRole::Active, Some(true)) | (SegmentRole::Closed, _) => TailExpectation::MustBeWhole,
        }
    }
}

/// A `.log` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFile {
    /// The lower bound of its offsets: what its name says, or its batches where the name is wrong.
    pub base: Offset,
    /// Where it is.
    pub place: FilePlace,
    /// Its name; a `.swap` segment that counts keeps the suffix.
    pub file_name: String,
    /// Its bytes when it was found; no more than these are read.
    pub len: u64,
    /// When it was last changed.
    pub modified: Option<Timestamp>,
    /// Which file it is: a broker may put another one in its place.
    pub identity: Option<FileIdentity>,
    /// Whether the broker would write to it.
    pub role: SegmentRole,
}

impl SegmentFile {
    /// The offset in its name when that is not where its batches begin.
    #[must_use]
    pub fn wrong_name(&self) -> Option<Offset> {
        let named = self.file_name.split('.').next()?.parse().ok().map(Offset)?;
        (named != self.base).then_some(named)
    }
}

/// Whether a broker writes to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentRole {
    /// The last of its log.
    Active,
    /// Another one follows it.
    Closed,
}

/// A file beside the segments whose name has a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideFile {
    /// The number in its name.
    pub number: Offset,
    /// Where it is.
    pub place: FilePlace,
    /// Its name.
    pub file_name: String,
    /// Its bytes when it was found.
    pub len: u64,
    /// When it was last changed.
    pub modified: Option<Timestamp>,
}

/// A line of `leader-epoch-checkpoint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderEpochStart {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// The offset at which it begins.
    pub start_offset: Offset,
}

/// Partitions that are copies of each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaGroup {
    /// Indexes into [`Inventory::partitions`], ascending.
    pub members: Vec<usize>,
    /// What makes them one; with one member it says nothing.
    pub basis: ReplicaBasis,
}

/// What makes partitions replicas of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplicaBasis {
    /// Equal topic id and partition.
    TopicId,
    /// Equal cluster id, name and partition, and different brokers; at least one has no topic id.
    ClusterAndName,
    /// Equal name and partition on different brokers, and nothing that names a cluster.
    NameOnly,
    /// Equal cluster, broker, name and partition in two places: a move that was not finished, or a
    /// copy. No broker starts with both.
    SameBroker,
}
