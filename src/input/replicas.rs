//! Which partitions are copies of each other.
//!
//! Since 2.8 the topic id says it. Before, equal names on different brokers of one cluster do. Equal
//! names with different ids are two topics, a deleted one and its successor, and stay apart. Records
//! of replicas count once, so a wrong answer hides duplicates or invents them: where nothing tells,
//! partitions stay apart and a note says so.

use super::inventory::{LogDir, PartitionDir, ReplicaBasis, ReplicaGroup};
use super::remarks::Remarks;
use std::collections::BTreeMap;

/// The log of a KRaft quorum.
const CLUSTER_METADATA: &str = "__cluster_metadata";

/// Puts every partition into a group and tells each its own.
pub(super) fn group(
    partitions: &mut [PartitionDir],
    log_dirs: &[LogDir],
    remarks: &mut Remarks,
) -> Vec<ReplicaGroup> {
    let mut parents: Vec<usize> = (0..partitions.len()).collect();
    let mut joined_by: BTreeMap<usize, ReplicaBasis> = BTreeMap::new();
    let mut names: BTreeMap<(&str, i32), Vec<usize>> = BTreeMap::new();
    for (index, partition) in partitions.iter().enumerate() {
        if partition.state.is_live() {
            names.entry((&partition.topic, partition.partition)).or_default().push(index);
        }
    }
    for namesakes in names.values().filter(|namesakes| namesakes.len() > 1) {
        let mut ids: Vec<_> =
            namesakes.iter().filter_map(|&index| partitions[index].topic_id.as_deref()).collect();
        ids.sort_unstable();
        ids.dedup();
        for (at, &a) in namesakes.iter().enumerate() {
            for &b in &namesakes[at + 1..] {
                let relation = compare(&partitions[a], &partitions[b], log_dirs, ids.len());
                if let Relation::Copies(basis) = relation {
                    let (a, b) = (root(&parents, a), root(&parents, b));
                    let basis = [joined_by.get(&a), joined_by.get(&b)]
                        .into_iter()
                        .flatten()
                        .fold(basis, |x, y| x.max(*y));
                    parents[a.max(b)] = a.min(b);
                    joined_by.insert(a.min(b), basis);
                }
                if let Some(note) = relation.explain(&partitions[a], &partitions[b]) {
                    remarks.note(&partitions[b].path, note);
                }
            }
        }
    }
    let mut groups: Vec<ReplicaGroup> = Vec::new();
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, partition) in partitions.iter_mut().enumerate() {
        let root = root(&parents, index);
        let number = *numbers.entry(root).or_insert_with(|| {
            let basis = joined_by.get(&root).copied().unwrap_or(ReplicaBasis::TopicId);
            groups.push(ReplicaGroup { members: Vec::new(), basis });
            groups.len() - 1
        });
        groups[number].members.push(index);
        partition.replica_group = number;
    }
    groups
}

fn root(parents: &[usize], mut index: usize) -> usize {
    while parents[index] != index {
        index = parents[index];
    }
    index
}

/// What two live partitions of one name are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Copies(ReplicaBasis),
    /// Their topic ids differ.
    TwoTopics,
    /// They are of two clusters, or may be.
    TwoClusters,
    /// Nothing tells.
    Unknown,
}

fn compare(a: &PartitionDir, b: &PartitionDir, log_dirs: &[LogDir], topic_ids: usize) -> Relation {
    let cluster = |partition: &PartitionDir| log_dirs.get(partition.log_dir)?.cluster_id.as_deref();
    let clusters = (cluster(a), cluster(b));
    // One without an id that may be of either of two joins none of them, and not these two with each other.
    let number = |partition: &PartitionDir| log_dirs.get(partition.log_dir).map(|log_dir| log_dir.cluster);
    let differ = number(a) != number(b);
    let brokers = a.broker_id.zip(b.broker_id);
    if let (Some(id_a), Some(id_b)) = (&a.topic_id, &b.topic_id) {
        return match brokers {
            _ if id_a != id_b => Relation::TwoTopics,
            // The id of `__cluster_metadata` is the same in every cluster.
            _ if a.topic == CLUSTER_METADATA && differ => Relation::TwoClusters,
            Some((broker_a, broker_b)) if broker_a == broker_b => Relation::Copies(ReplicaBasis::SameBroker),
            _ => Relation::Copies(ReplicaBasis::TopicId),
        };
    }
    let one_lacks_its_id = a.topic_id.is_some() != b.topic_id.is_some();
    match (clusters, brokers) {
        _ if differ => Relation::TwoClusters,
        // Which of the topics of this name it belongs to cannot be told.
        _ if one_lacks_its_id && topic_ids > 1 => Relation::Unknown,
        ((Some(_), Some(_)), Some((x, y))) if x == y => Relation::Copies(ReplicaBasis::SameBroker),
        ((Some(_), Some(_)), Some(_)) => Relation::Copies(ReplicaBasis::ClusterAndName),
        (_, Some((x, y))) if x != y => Relation::Copies(ReplicaBasis::NameOnly),
        // Two places of one partition are replicas or copies, whatever else is missing: counted apart,
        // every record would be a duplicate.
        _ => Relation::Copies(ReplicaBasis::NameOnly),
    }
}

impl Relation {
    fn explain(self, a: &PartitionDir, b: &PartitionDir) -> Option<String> {
        let name = format!("{}-{}", b.topic, b.partition);
        match self {
            Self::Copies(ReplicaBasis::TopicId | ReplicaBasis::ClusterAndName) => None,
            Self::Copies(ReplicaBasis::NameOnly) => Some(format!(
                "taken for a replica of {}: the names are equal, and no topic id, cluster or broker says otherwise; its records count once",
                a.display
            )),
            Self::Copies(ReplicaBasis::SameBroker) => Some(format!(
                "{name} of the same broker stands in {} as well: left over from a move between log directories, \
                 or one is a copy of the other; its records count once",
                a.display
            )),
            Self::TwoTopics => Some(format!(
                "{} and {} are of two topics of one name: their topic ids differ",
                a.display, b.display
            )),
            Self::TwoClusters => {
                Some(format!("{} and {} are of two clusters: kept apart", a.display, b.display))
            }
            Self::Unknown => Some(format!(
                "{name} stands in {} as well, and nothing tells whether both are one partition: kept apart",
                a.display
            )),
        }
    }
}
