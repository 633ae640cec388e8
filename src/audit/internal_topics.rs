//! What the broker's own topics say of the others, read before them: configurations, transactional
//! ids, committed positions.

use super::AuditOptions;
use super::pass::PartitionOutcome;
use super::positions::LogEnds;
use crate::facts::{self, CommitHistory, GroupCommits, Rewind, SourceOffsets};
use crate::finding::{Event, EventKind};
use crate::format::control::ControlRecord;
use crate::format::internal::InternalError;
use crate::format::internal::cluster_metadata::{ClusterMetadata, ProducerIdBlock, TopicId, UncleanElection};
use crate::format::internal::consumer_offsets::{is_of_share_group, read_change};
use crate::format::internal::transaction_state::{TransactionalIds, read_transaction};
use crate::format::segment::TailExpectation;
use crate::format::{Batch, Decompressor, Record, SegmentItem, SegmentScanner};
use crate::input::{self, Cluster, FilePlace, Inventory, PartitionDir, ReadMode};
use crate::judgement::Decisions;
use crate::report::model::Note;
use crate::report::wording::counted;
use crate::units::{ClusterNumber, ProducerId, Timestamp};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::collections::BTreeMap;

/// The topic of the coordinators of transactions.
const TRANSACTION_STATE: &str = "__transaction_state";

/// What was learned.
#[derive(Debug, Default)]
pub(super) struct InternalTopics {
    /// By [`ClusterNumber`]; there is one at least.
    of_cluster: Vec<OfCluster>,
    /// Records of `__consumer_offsets` that are not read, by what they are, with how many there are.
    pub(super) unread_commits: BTreeMap<String, u64>,
    /// Those of them that are of a known type and broken: a commit may be among them.
    pub(super) broken_commits: u64,
    /// How far connectors had read.
    pub(super) source_offsets: SourceOffsets,
}

/// What was learned of one cluster.
#[derive(Debug, Default)]
struct OfCluster {
    metadata: ClusterMetadata,
    transactional_ids: TransactionalIds,
    commits: CommitHistory,
    /// How many partitions of `__consumer_offsets` are here.
    commit_partitions: u32,
}

impl InternalTopics {
    /// Reads the internal topics among what was named. Damage in them is told by the pass that reads
    /// everything; here what can be read counts.
    pub(super) fn read(inventory: &Inventory, leaders: &[usize], options: &AuditOptions) -> Self {
        let mode = options.mode;
        let numbers = 0..u32::try_from(inventory.clusters.len()).unwrap_or(u32::MAX).max(1);
        let commits = |number| CommitHistory::new(ClusterNumber(number), options.commits);
        let of_cluster = numbers.map(|number| OfCluster { commits: commits(number), ..OfCluster::default() });
        let mut this = Self { of_cluster: of_cluster.collect(), ..Self::default() };
        let mut decompressor = Decompressor::with_limits(options.limits);
        for (at, dir) in inventory.partitions.iter().enumerate() {
            if leaders.get(at) != Some(&at) || !dir.state.is_live() {
                continue;
            }
            if facts::is_of_source_offsets(&dir.topic) {
                this.read_source_offsets(dir, mode, &mut decompressor);
            }
            if !dir.internal {
                continue;
            }
            let number = usize::try_from(inventory.cluster_of(dir).0).unwrap_or(usize::MAX);
            let Some(of_cluster) = this.of_cluster.get_mut(number) else { continue };
            match dir.topic.as_str() {
                "__cluster_metadata" => of_cluster.read_metadata(dir, mode, &mut decompressor),
                TRANSACTION_STATE => each_batch(dir, mode, |batch| {
                    let ids = &mut of_cluster.transactional_ids;
                    each_record(batch, &mut decompressor, |record| {
                        // A record of another type says nothing of transactional ids.
                        let _ = ids.fold(record.offset, record.key, record.value);
                    });
                }),
                "__consumer_offsets" => {
                    of_cluster.commit_partitions += 1;
                    let mut unread = |why: Unread<'_>| {
                        this.broken_commits += u64::from(why.may_be_a_commit());
                        *this.unread_commits.entry(why.words()).or_default() += 1;
                    };
                    each_batch(dir, mode, |batch| {
                        // The only one that may be large, and later commits take nothing back.
                        if !options.watch.is_stopped() {
                            of_cluster.read_commits(batch, &mut decompressor, &mut unread);
                        }
                    });
                }
                _ => {}
            }
        }
        this
    }

    /// Answers what the logs leave open, from what coordinators wrote; `__transaction_state` is read again for that.
    pub(super) fn decide(
        &self,
        decisions: &mut Decisions,
        inventory: &Inventory,
        leaders: &[usize],
        options: &AuditOptions,
    ) {
        if decisions.is_empty() || self.transactional_ids().iter().all(|ids| ids.iter().next().is_none()) {
            return;
        }
        let mut decompressor = Decompressor::with_limits(options.limits);
        let led = inventory.partitions.iter().enumerate().filter(|(at, _)| leaders.get(*at) == Some(at));
        for (_, dir) in led.filter(|(_, dir)| dir.topic == TRANSACTION_STATE && dir.state.is_live()) {
            let cluster = inventory.cluster_of(dir);
            each_batch(dir, options.mode, |batch| {
                if options.watch.is_stopped() {
                    return;
                }
                each_record(batch, &mut decompressor, |record| {
                    if let Ok((_, Some(state))) = read_transaction(record.key, record.value) {
                        decisions.hear(cluster, &state);
                    }
                });
            });
        }
    }

    /// Leaders of the partition that were elected although they were not in sync.
    pub(super) fn unclean_elections(
        &self,
        cluster: ClusterNumber,
        dir: &PartitionDir,
    ) -> Vec<UncleanElection> {
        self.of(cluster).map_or_else(Vec::new, |of_cluster| of_cluster.unclean_elections(dir))
    }

    fn read_source_offsets(&mut self, dir: &PartitionDir, mode: ReadMode, decompressor: &mut Decompressor) {
        let stored_in = (dir.topic.as_str(), dir.partition);
        each_batch(dir, mode, |batch| {
            each_record(batch, decompressor, |record| {
                let timestamp = Timestamp::from_disk(record.timestamp).map(|time| time.0);
                self.source_offsets.record(stored_in, record.offset, timestamp, record.key, record.value);
            });
        });
    }

    fn of(&self, cluster: ClusterNumber) -> Option<&OfCluster> {
        self.of_cluster.get(usize::try_from(cluster.0).ok()?)
    }

    /// What groups committed, by cluster.
    pub(super) fn commits(&self) -> impl Iterator<Item = &CommitHistory> {
        self.of_cluster.iter().map(|of_cluster| &of_cluster.commits)
    }

    /// The same for whoever keeps it.
    pub(super) fn into_commits(self, log_ends: &LogEnds) -> Vec<CommitHistory> {
        let log = |rewind: &Rewind| {
            log_ends.get(&(rewind.cluster, rewind.topic.clone(), rewind.partition)).copied()
        };
        let bound = |of_cluster: OfCluster| {
            let mut commits = of_cluster.commits;
            commits.bound(log);
            commits
        };
        self.of_cluster.into_iter().map(bound).collect()
    }

    /// The steps back in all clusters.
    pub(super) fn rewinds(&self) -> Vec<Rewind> {
        self.commits().flat_map(CommitHistory::rewinds).cloned().collect()
    }

    /// The groups for which a producer of a cluster committed.
    pub(super) fn groups_of(&self, cluster: ClusterNumber, producer_id: ProducerId) -> Vec<GroupCommits> {
        self.of(cluster).map_or_else(Vec::new, |of| of.commits.groups_of(producer_id).collect())
    }

    /// How many partitions of `__consumer_offsets` are here.
    pub(super) fn commit_partitions(&self) -> u32 {
        self.of_cluster.iter().map(|of_cluster| of_cluster.commit_partitions).sum()
    }

    /// What `__transaction_state` says, by cluster.
    pub(super) fn transactional_ids(&self) -> Vec<&TransactionalIds> {
        self.of_cluster.iter().map(|of_cluster| &of_cluster.transactional_ids).collect()
    }

    /// The transactional id that used a producer id, when exactly one is known to have.
    pub(super) fn transactional_id(&self, cluster: ClusterNumber, producer_id: ProducerId) -> Option<&str> {
        let mut ids = self.of(cluster)?.transactional_ids.of_producer(producer_id);
        ids.next().filter(|_| ids.next().is_none())
    }

    /// When brokers were given producer ids.
    pub(super) fn producer_id_blocks(&self) -> Vec<Event> {
        self.of_cluster.iter().flat_map(OfCluster::producer_id_blocks).collect()
    }

    /// Whether the topic's configuration asks for compaction.
    pub(super) fn is_compacted(&self, cluster: ClusterNumber, topic: &str) -> Option<bool> {
        let policy = self.of(cluster)?.metadata.topic_config(topic, "cleanup.policy")?;
        Some(policy.contains("compact"))
    }

    /// Whether it lets retention delete: a topic that is compacted alone keeps its head.
    pub(super) fn is_deleted(&self, cluster: ClusterNumber, topic: &str) -> Option<bool> {
        let policy = self.of(cluster)?.metadata.topic_config(topic, "cleanup.policy")?;
        Some(policy.contains("delete"))
    }

    /// How many partitions the topic has, where no two clusters say otherwise.
    pub(super) fn partition_count(&self, topic: &str) -> Option<u32> {
        let mut counts = self.of_cluster.iter().filter_map(|of_cluster| of_cluster.partition_count(topic));
        let first = counts.next()?;
        counts.all(|other| other == first).then_some(first)
    }

    /// `producer.id.expiration.ms`, where it was set while the broker ran.
    pub(super) fn expiration_ms(&self, cluster: ClusterNumber, broker_id: Option<i32>) -> Option<i64> {
        self.of(cluster)?.metadata.broker_config(broker_id?, "producer.id.expiration.ms")?.parse().ok()
    }
}

impl OfCluster {
    fn read_metadata(&mut self, dir: &PartitionDir, mode: ReadMode, decompressor: &mut Decompressor) {
        let metadata = &mut self.metadata;
        let mut fold = |batch: &Batch<'_>| {
            each_record(batch, decompressor, |record| {
                // Types that bear on nothing here are passed over.
                let _ = metadata.fold(record.offset, record.timestamp, record.value);
            });
        };
        // The newest snapshot stands for the part of the log that is gone.
        if let Some(snapshot) = dir.metadata_snapshots.last() {
            each_batch_of_file(&snapshot.place, snapshot.len, mode, &mut fold);
        }
        each_batch(dir, mode, fold);
    }

    fn read_commits(
        &mut self,
        batch: &Batch<'_>,
        decompressor: &mut Decompressor,
        unread: &mut dyn FnMut(Unread<'_>),
    ) {
        let header = &batch.header;
        let producer_id = header.producer_id;
        if header.is_control() {
            // A control batch that cannot be read ends nothing.
            let _ = batch.for_each_record(decompressor, |record| {
                if let Ok(ControlRecord::EndTransaction { outcome, .. }) = ControlRecord::read(record) {
                    self.commits.end_transaction(producer_id, outcome);
                }
            });
            return;
        }
        let in_transaction = header.is_transactional().then_some(producer_id);
        each_record(batch, decompressor, |record| match read_change(record.key, record.value) {
            Ok(Some(change)) => {
                let timestamp = Timestamp::from_disk(record.timestamp).map(|time| time.0);
                self.commits.change(record.offset, timestamp, in_transaction, change);
            }
            Ok(None) if record.key.is_some_and(is_of_share_group) => unread(Unread::ShareGroup),
            Ok(None) => {}
            Err(error) => unread(Unread::Error(&error)),
        });
    }

    fn producer_id_blocks(&self) -> Vec<Event> {
        let of_a_broker = |block: &&ProducerIdBlock| block.broker_id.is_some();
        let blocks = self.metadata.producer_id_blocks.iter().filter(of_a_broker).map(|block| {
            let broker = block.broker_id.map(|id| format!(" for broker {id}")).unwrap_or_default();
            Event::new(
                EventKind::ProducerIdBlock,
                block.timestamp.map(|time| time.0),
                ("__cluster_metadata", 0, block.offset.0),
                format!(
                    "producer ids {}–{}{broker}, which had started or used up the ones before",
                    block.first, block.last
                ),
            )
        });
        blocks.collect()
    }

    /// Leaders of the partition that were elected although they were not in sync. A directory without an id is that
    /// of the topic that has its name now.
    fn unclean_elections(&self, dir: &PartitionDir) -> Vec<UncleanElection> {
        let id = match &dir.topic_id {
            Some(id) => {
                BASE64_URL_SAFE_NO_PAD.decode(id).ok().and_then(|bytes| TopicId::try_from(bytes).ok())
            }
            None => self.metadata.topic(&dir.topic).map(|(id, _)| id),
        };
        id.map_or_else(Vec::new, |id| self.metadata.unclean_elections(id, dir.partition).to_vec())
    }

    fn partition_count(&self, topic: &str) -> Option<u32> {
        let (_, topic) = self.metadata.topic(topic)?;
        u32::try_from(topic.partitions.len()).ok().filter(|count| *count > 0)
    }
}

/// What a reader of the commits should know: which partitions of `__consumer_offsets` are not here,
/// what the cleaner took, which records were not read.
pub(super) fn commit_notes(
    inventory: &Inventory,
    leaders: &[usize],
    outcomes: &[PartitionOutcome],
    internal: &InternalTopics,
) -> Vec<Note> {
    const TOPIC: &str = "__consumer_offsets";
    let led = inventory
        .partitions
        .iter()
        .zip(outcomes)
        .enumerate()
        .filter(|(at, (dir, _))| leaders.get(*at) == Some(at) && dir.topic == TOPIC);
    let mut notes = Vec::new();
    for (_, (dir, outcome)) in led {
        if outcome.facts.was_cleaned {
            let detail =
                "the cleaner has been here: older commits of a position are gone, and steps back among them";
            notes.push(Note::about(dir.display.clone(), detail));
        }
    }
    for (of_cluster, cluster) in internal.of_cluster.iter().zip(&inventory.clusters) {
        let here = of_cluster.commit_partitions;
        let which = match inventory.clusters.len() {
            0 | 1 => String::new(),
            _ => format!(" of cluster {}", name_of(cluster)),
        };
        if let Some(all) = of_cluster.partition_count(TOPIC).filter(|all| here < *all) {
            let detail = format!(
                "{here} of {all} partitions of {TOPIC}{which} here: the groups of the others are not told"
            );
            notes.push(Note { file: None, detail });
        } else if of_cluster.partition_count(TOPIC).is_none() {
            let detail = format!(
                "{} of {TOPIC}{which} here, and nothing tells how many there are (50 unless configured): the groups of \
                 others are not told",
                counted(u64::from(here), "partition")
            );
            notes.push(Note { file: None, detail });
        }
    }
    for (what, count) in &internal.unread_commits {
        notes.push(Note {
            file: None,
            detail: format!("{} of {TOPIC} {what}: not read", counted(*count, "record")),
        });
    }
    let omitted: u64 = internal.commits().map(CommitHistory::pending_omitted).sum();
    if omitted > 0 {
        let detail = format!("{omitted} commits of transactions that hold too many were left out");
        notes.push(Note { file: None, detail });
    }
    notes
}

/// A cluster by its id, or by the directories that are of it.
fn name_of(cluster: &Cluster) -> String {
    cluster.id.clone().unwrap_or_else(|| format!("without id ({})", cluster.log_dirs.join(", ")))
}

/// Why a record is not read.
enum Unread<'e> {
    /// It is of a share group.
    ShareGroup,
    /// It cannot be.
    Error(&'e InternalError),
}

impl Unread<'_> {
    /// Whether it is of a known type and broken.
    const fn may_be_a_commit(&self) -> bool {
        matches!(self, Self::Error(error) if !matches!(error, InternalError::UnknownType(_)))
    }

    /// What the record is.
    fn words(&self) -> String {
        match self {
            Self::ShareGroup => "of share groups, whose positions are in __share_group_state".to_owned(),
            Self::Error(InternalError::UnknownType(number)) => {
                format!("of type {number}, which belongs to another kind of group or another release")
            }
            Self::Error(
                InternalError::MissingKey | InternalError::MissingValue | InternalError::Format(_),
            ) => "whose bytes do not hold what their type says".to_owned(),
        }
    }
}

fn each_batch(dir: &PartitionDir, mode: ReadMode, mut each: impl FnMut(&Batch<'_>)) {
    for segment in &dir.segments {
        each_batch_of_file(&segment.place, segment.len, mode, &mut each);
    }
}

fn each_batch_of_file(place: &FilePlace, len: u64, mode: ReadMode, each: &mut dyn FnMut(&Batch<'_>)) {
    let Ok(source) = input::open_segment(place, mode, len) else { return };
    let mut scanner = SegmentScanner::unnamed(source, TailExpectation::MayBeTorn);
    while let Ok(Some(item)) = scanner.next_item() {
        if let SegmentItem::Batch(batch) = item {
            each(&batch);
        }
    }
}

fn each_record(batch: &Batch<'_>, decompressor: &mut Decompressor, each: impl FnMut(&Record<'_>)) {
    if batch.header.is_control() {
        return;
    }
    // What stands before a bad record counts; the pass that reads everything tells the damage.
    let _ = batch.for_each_record(decompressor, each);
}
