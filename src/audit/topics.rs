//! The topics of a run, and which directories belong to each.

use crate::input::{Inventory, TopicIdentity};
use crate::judgement::TopicLabel;
use crate::units::{ClusterNumber, TopicNumber};
use std::collections::{BTreeMap, BTreeSet};

/// The topics of the run, and to which of them each partition directory belongs.
#[derive(Debug)]
pub(super) struct Topics {
    pub(super) all: Vec<Topic>,
    of_partition: Vec<usize>,
}

fn number(at: usize) -> TopicNumber {
    TopicNumber(u32::try_from(at).unwrap_or(u32::MAX))
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

impl Topics {
    /// The topics in the order of their names, as [`Inventory::topic_of_each`] tells them apart.
    pub(super) fn of(inventory: &Inventory) -> Self {
        let mut by_name: BTreeMap<TopicIdentity<'_>, Vec<usize>> = BTreeMap::new();
        for (at, topic) in inventory.topic_of_each().into_iter().enumerate() {
            by_name.entry(topic).or_default().push(at);
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

    pub(super) fn number_of(&self, partition: usize) -> TopicNumber {
        number(self.of_partition(partition))
    }

    pub(super) fn get(&self, topic: TopicNumber) -> Option<&Topic> {
        self.all.get(usize::try_from(topic.0).ok()?)
    }

    /// Each with its number.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (TopicNumber, &Topic)> {
        self.all.iter().enumerate().map(|(at, topic)| (number(at), topic))
    }

    /// Whether another topic of the run has the same name.
    pub(super) fn has_namesake(&self, topic: &Topic) -> bool {
        self.all.iter().filter(|other| other.name == topic.name).nth(1).is_some()
    }

    /// What stands for each topic in the ids of findings, by its number: its id, or else its name; and its cluster
    /// where that leaves more than one.
    pub(super) fn labels(&self, inventory: &Inventory) -> Vec<TopicLabel> {
        let label = |topic: &Topic| match &topic.id {
            Some(id) => id.clone(),
            None if self.has_namesake(topic) => {
                let cluster = topic.clusters.first().map_or(0, |cluster| cluster.0);
                let known = usize::try_from(cluster).ok().and_then(|at| inventory.clusters.get(at));
                let known = known.and_then(|cluster| cluster.id.clone());
                format!("{} {}", topic.name, known.unwrap_or_else(|| cluster.to_string()))
            }
            None => topic.name.clone(),
        };
        self.all.iter().map(|topic| TopicLabel { name: topic.name.clone(), label: label(topic) }).collect()
    }
}
