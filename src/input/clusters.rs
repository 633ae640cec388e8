//! Which log directories are of one cluster. Producer ids, groups of consumers and names of topics mean something
//! within a cluster only: those of two that are given together are kept apart.
//!
//! `cluster.id` of `meta.properties` says it, and topic ids that two directories share. A directory without either
//! belongs to the only cluster that it may belong to; where it may be of several it stands by itself, and a note says
//! so. Two ids of one of the broker's own topics, which nobody makes anew, are two clusters.

use super::inventory::{Cluster, LogDir, PartitionDir};
use super::remarks::Remarks;
use crate::units::ClusterNumber;
use std::collections::{BTreeMap, BTreeSet};

/// Its id is the same in every cluster.
const CLUSTER_METADATA: &str = "__cluster_metadata";

/// What is known of the directories of one cluster.
#[derive(Debug, Default)]
struct Known<'a> {
    id: Option<&'a str>,
    /// Topic ids, but for that of the metadata.
    topic_ids: BTreeSet<&'a str>,
    /// Those of the broker's own topics, by name.
    internal: BTreeMap<&'a str, &'a str>,
    /// By index.
    log_dirs: Vec<usize>,
}

/// Tells each log directory its cluster, and names them.
pub(super) fn number(
    partitions: &[PartitionDir],
    log_dirs: &mut [LogDir],
    remarks: &mut Remarks,
) -> Vec<Cluster> {
    let found = find(partitions, log_dirs, remarks);
    let clusters = found.iter().map(|known| Cluster {
        id: known.id.map(str::to_owned),
        log_dirs: known.log_dirs.iter().filter_map(|&at| Some(log_dirs.get(at)?.display.clone())).collect(),
    });
    let clusters: Vec<Cluster> = clusters.collect();
    let places: Vec<Vec<usize>> = found.into_iter().map(|known| known.log_dirs).collect();
    for (number, places) in (0..).zip(places) {
        for at in places {
            if let Some(log_dir) = log_dirs.get_mut(at) {
                log_dir.cluster = ClusterNumber(number);
            }
        }
    }
    clusters
}

/// The clusters in the order of their first log directories.
fn find<'a>(partitions: &'a [PartitionDir], log_dirs: &'a [LogDir], remarks: &mut Remarks) -> Vec<Known<'a>> {
    let mut each: Vec<Known<'a>> = (0..log_dirs.len())
        .zip(log_dirs)
        .map(|(at, log_dir)| Known {
            id: log_dir.cluster_id.as_deref(),
            log_dirs: vec![at],
            ..Known::default()
        })
        .collect();
    for partition in partitions.iter().filter(|partition| partition.topic != CLUSTER_METADATA) {
        let (Some(known), Some(id)) = (each.get_mut(partition.log_dir), partition.topic_id.as_deref()) else {
            continue;
        };
        known.topic_ids.insert(id);
        if partition.internal {
            known.internal.insert(&partition.topic, id);
        }
    }
    let (named, unnamed): (Vec<_>, Vec<_>) = each.into_iter().partition(|known| known.id.is_some());
    let mut clusters: Vec<Known<'a>> = Vec::new();
    for known in named {
        match clusters.iter_mut().find(|cluster| cluster.id == known.id) {
            Some(cluster) => cluster.join(known),
            None => clusters.push(known),
        }
    }
    // First those whose topics tell, so that the others find them.
    let (telling, silent): (Vec<_>, Vec<_>) =
        unnamed.into_iter().partition(|known| !known.topic_ids.is_empty());
    for known in telling.into_iter().chain(silent) {
        let shares = clusters.iter().position(|cluster| !cluster.topic_ids.is_disjoint(&known.topic_ids));
        let fits: Vec<usize> = (0..clusters.len())
            .filter(|&at| clusters.get(at).is_some_and(|one| one.may_have(&known)))
            .collect();
        let of = shares.or(match fits.as_slice() {
            [only] => Some(*only),
            _ => None,
        });
        if let Some(cluster) = of.and_then(|at| clusters.get_mut(at)) {
            cluster.join(known);
            continue;
        }
        let log_dir = known.log_dirs.first().and_then(|&at| log_dirs.get(at));
        if let Some(log_dir) = log_dir.filter(|_| fits.len() > 1) {
            let why = format!(
                "no meta.properties and no topic id tells of which of {} clusters it is: its producers and consumer groups \
                 are kept apart from theirs",
                fits.len()
            );
            remarks.note(&log_dir.path, why);
        }
        clusters.push(known);
    }
    for cluster in &mut clusters {
        cluster.log_dirs.sort_unstable();
    }
    clusters.sort_by(|a, b| a.log_dirs.cmp(&b.log_dirs));
    clusters
}

impl<'a> Known<'a> {
    fn join(&mut self, other: Self) {
        self.topic_ids.extend(other.topic_ids);
        self.internal.extend(other.internal);
        self.log_dirs.extend(other.log_dirs);
    }

    /// Whether nothing keeps the other directory from being of this cluster.
    fn may_have(&self, other: &Self) -> bool {
        let differs =
            |(name, id): (&&'a str, &&'a str)| other.internal.get(name).is_some_and(|other| other != id);
        !self.internal.iter().any(differs)
    }
}
