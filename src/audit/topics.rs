//! The topics of a run, and which directories belong to each.

use crate::input::Inventory;
use crate::units::ClusterNumber;
use std::collections::{BTreeMap, BTreeSet};

/// The topics of the run, and to which of them each partition directory belongs.
#[derive(Debug)]
pub(super) struct Topics {
    pub(super) all: Vec<Topic>,
    of_partition: Vec<usize>,
}

/// Directories of one name and one topic id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) id: Option<String>,
    /// Its directories, by index in the inventory.
    pub(super) partitions: Vec<usize>,
    /// Where these are: one cluster, but for a topic id that files of several have.
    pub(super) clusters: BTreeSet<ClusterNumber>,
}

/// Name and id of a topic, and its cluster where it has no id.
type Known<'i> = (&'i str, Option<&'i str>, Option<ClusterNumber>);

impl Topics {
    /// The topics in the order of their names. Two topic ids under one name are two topics; a
    /// directory without an id belongs to the topic of that name when there is only one in its cluster.
    pub(super) fn of(inventory: &Inventory) -> Self {
        let mut ids: BTreeMap<(ClusterNumber, &str), BTreeSet<&str>> = BTreeMap::new();
        for dir in &inventory.partitions {
            let of_name = ids.entry((inventory.cluster_of(dir), &dir.topic)).or_default();
            of_name.extend(dir.topic_id.as_deref());
        }
        let mut by_name: BTreeMap<Known<'_>, Vec<usize>> = BTreeMap::new();
        for (at, dir) in inventory.partitions.iter().enumerate() {
            let cluster = inventory.cluster_of(dir);
            let known = ids.get(&(cluster, dir.topic.as_str()));
            let only = known.filter(|known| known.len() == 1).and_then(|known| known.first().copied());
            let id = dir.topic_id.as_deref().or(only);
            by_name.entry((&dir.topic, id, id.is_none().then_some(cluster))).or_default().push(at);
        }
        let mut of_partition = vec![0; inventory.partitions.len()];
        let mut all = Vec::with_capacity(by_name.len());
        for ((name, id, _), partitions) in by_name {
            for &at in &partitions {
                if let Some(topic) = of_partition.get_mut(at) {
                    *topic = all.len();
                }
            }
            let dirs = partitions.iter().filter_map(|&at| inventory.partitions.get(at));
            let clusters = dirs.map(|dir| inventory.cluster_of(dir)).collect();
            all.push(Topic { name: name.to_owned(), id: id.map(str::to_owned), partitions, clusters });
        }
        Self { all, of_partition }
    }

    pub(super) fn of_partition(&self, partition: usize) -> usize {
        self.of_partition.get(partition).copied().unwrap_or(0)
    }

    /// The topic ids that are known, by name.
    pub(super) fn ids(&self) -> BTreeMap<String, String> {
        self.all.iter().filter_map(|topic| Some((topic.name.clone(), topic.id.clone()?))).collect()
    }
}
