//! Compares each replica with the one that leads its partition.

use super::AuditOptions;
use super::pass::{PartitionOutcome, Subject};
use crate::compare::{self, Comparison, Log, LogSegment};
use crate::format::Limits;
use crate::input::{Inventory, PartitionDir, ReplicaBasis};
use crate::judgement::replicas::{Kinship, Replica, ReplicaPair};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

/// All pairs of a replica and the one that leads, in the order of the inventory; those that were not
/// read to their ends because somebody stopped the run are left out.
pub(super) fn replicas<'a>(
    inventory: &'a Inventory,
    leaders: &[usize],
    subjects: &'a [Subject<'_>],
    outcomes: &'a [PartitionOutcome],
    options: &AuditOptions,
) -> Vec<ReplicaPair<'a>> {
    let pairs: Vec<(usize, usize)> = leaders
        .iter()
        .enumerate()
        .filter(|(at, leader)| at != *leader)
        .map(|(at, &leader)| (leader, at))
        .collect();
    pairs
        .par_iter()
        .filter_map(|&(leader, at)| {
            let log = |at: usize| read_whole(subjects.get(at)?, outcomes.get(at)?, options.limits);
            let stop = || options.watch.is_stopped();
            let comparison = compare::compare(&log(leader)?, &log(at)?, options.mode, &stop);
            if comparison.stopped_at.is_some() {
                return None;
            }
            pair(inventory, subjects, leader, at, comparison)
        })
        .collect()
}

/// A comparison with what is known of the two replicas.
pub(super) fn pair<'a>(
    inventory: &'a Inventory,
    subjects: &'a [Subject<'_>],
    leader: usize,
    at: usize,
    comparison: Comparison,
) -> Option<ReplicaPair<'a>> {
    let dir = |at: usize| inventory.partitions.get(at);
    let (leading, other) = (dir(leader)?, dir(at)?);
    Some(ReplicaPair {
        topic: &leading.topic,
        partition: leading.partition,
        leading: replica(leading, subjects.get(leader)?),
        other: replica(other, subjects.get(at)?),
        kinship: kinship(inventory, leading, other),
        comparison,
    })
}

/// The log of a directory that was read to its end: only then is known what its cleaner and its
/// transactions explain.
pub(super) fn read_whole<'a>(
    subject: &Subject<'_>,
    outcome: &'a PartitionOutcome,
    limits: Limits,
) -> Option<Log<'a>> {
    if outcome.interrupted {
        return None;
    }
    let segments = subject.segments.iter().map(|segment| LogSegment {
        place: segment.place.clone(),
        base: segment.base,
        next_base: segment.next_base,
        len: segment.len,
        identity: segment.identity,
        tail: segment.tail,
    });
    Some(Log {
        segments: segments.collect(),
        cleaned_below: outcome.facts.cleaned_below,
        withheld: &outcome.facts.withheld,
        starts_at: None,
        limits,
    })
}

fn replica<'a>(dir: &'a PartitionDir, subject: &'a Subject<'_>) -> Replica<'a> {
    Replica {
        directory: &dir.display,
        broker_id: dir.broker_id,
        high_watermark: dir.high_watermark,
        leader_epochs: &subject.context.leader_epochs,
    }
}

fn kinship(inventory: &Inventory, leading: &PartitionDir, other: &PartitionDir) -> Kinship {
    let basis = inventory.replica_groups.get(leading.replica_group).map(|group| group.basis);
    let cluster = |dir: &PartitionDir| inventory.log_dir(dir).and_then(|dir| dir.cluster_id.clone());
    if let (Some(one), Some(two)) = (cluster(leading), cluster(other))
        && one != two
    {
        return Kinship::Clusters;
    }
    match (basis, leading.broker_id.zip(other.broker_id)) {
        (_, Some((one, two))) if one == two => Kinship::OneBroker,
        (Some(ReplicaBasis::NameOnly), _) => Kinship::Names,
        (_, Some(_)) => Kinship::Brokers,
        (_, None) => Kinship::TopicId,
    }
}
