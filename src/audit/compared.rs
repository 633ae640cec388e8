//! Compares each replica with the one that leads its partition.

use super::AuditOptions;
use super::pass::{PartitionOutcome, Subject};
use crate::compare::{self, Comparison, Log, LogSegment, Side, Tail};
use crate::facts::{HoleKind, Outcome, PartitionFacts};
use crate::format::Limits;
use crate::input::{Inventory, PartitionDir, ReadMode, ReplicaBasis};
use crate::judgement::replicas::{Kinship, Replica, ReplicaPair};
use crate::relations::PartitionNote;
use crate::units::{Offset, ProducerId};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::BTreeMap;

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
            let logs = [&log(leader)?, &log(at)?];
            let comparison = compare::compare(logs[0], logs[1], options.mode, &stop);
            if comparison.stopped_at.is_some() {
                return None;
            }
            pair(inventory, subjects, [leader, at], logs, comparison, options.mode)
        })
        .collect()
}

/// How many replicas hold what the one that leads holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreement {
    pub(super) compared: u64,
    pub(super) agreeing: u64,
}

impl Agreement {
    pub(super) fn of(pairs: &[ReplicaPair<'_>]) -> Self {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let agreeing = pairs.iter().filter(|pair| pair.agrees()).count();
        Self { compared: number(pairs.len()), agreeing: number(agreeing) }
    }
}

/// Calls each partition that leads by its topic and number where that says which records are meant: no other
/// directory of that name leads, and each replica of it was compared and agrees.
pub(super) fn name_partitions(
    notes: &mut [PartitionNote],
    inventory: &Inventory,
    leaders: &[usize],
    pairs: &[ReplicaPair<'_>],
) {
    let name = |dir: &PartitionDir| (dir.topic.clone(), dir.partition);
    let mut leading: BTreeMap<(String, i32), u32> = BTreeMap::new();
    let mut replicas: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, (&leader, dir)) in leaders.iter().zip(&inventory.partitions).enumerate() {
        if at == leader {
            *leading.entry(name(dir)).or_default() += 1;
        } else {
            *replicas.entry(leader).or_default() += 1;
        }
    }
    let mut agreeing: BTreeMap<&str, usize> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.agrees()) {
        *agreeing.entry(pair.leading.directory).or_default() += 1;
    }
    for (at, (note, dir)) in notes.iter_mut().zip(&inventory.partitions).enumerate() {
        let is_only = leaders.get(at) == Some(&at) && leading.get(&name(dir)) == Some(&1);
        let all_agree = replicas.get(&at).copied().unwrap_or(0)
            == agreeing.get(dir.display.as_str()).copied().unwrap_or(0);
        if is_only && all_agree {
            note.called = Some(format!("{}-{}", dir.topic, dir.partition));
        }
    }
}

/// A comparison with what is known of the two replicas, and what became of a tail that an older leader
/// left.
pub(super) fn pair<'a>(
    inventory: &'a Inventory,
    subjects: &'a [Subject<'_>],
    [leader, at]: [usize; 2],
    logs: [&Log<'_>; 2],
    comparison: Comparison,
    mode: ReadMode,
) -> Option<ReplicaPair<'a>> {
    let dir = |at: usize| inventory.partitions.get(at);
    let (leading, other) = (dir(leader)?, dir(at)?);
    let [leading_end, other_end] = comparison.ends;
    let [leading_log, other_log] = logs;
    let mut pair = ReplicaPair {
        topic: &leading.topic,
        topic_number: subjects.get(leader)?.context.topic_number,
        partition: leading.partition,
        leading: replica(leading, subjects.get(leader)?, leading_log, leading_end),
        other: replica(other, subjects.get(at)?, other_log, other_end),
        kinship: kinship(inventory, leading, other),
        comparison,
        tail_fate: None,
        unclean_elections: &subjects.get(leader)?.context.unclean_elections,
    };
    if let (Some(old), Some(from)) = (pair.old_tail(), pair.parts_at()) {
        let [a, b] = logs;
        let (older, newer) = if old == Side::A { (a, b) } else { (b, a) };
        let tail = Tail { older, newer, from, committed_below: pair.replica(old).high_watermark };
        pair.tail_fate = Some(compare::fate(&tail, mode));
    }
    Some(pair)
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
        next_base: segment.upper,
        len: segment.len,
        identity: segment.identity,
        tail: segment.tail,
    });
    Some(Log {
        segments: segments.collect(),
        cleaned_below: outcome.facts.cleaned_below,
        withheld: Some(&outcome.facts.withheld),
        empty_aborts: empty_aborts(&outcome.facts),
        starts_at: None,
        head_lost_from: head_lost_from(&outcome.facts),
        limits,
    })
}

/// Where the log begins by its first leader epoch, when its first file is behind that.
fn head_lost_from(facts: &PartitionFacts) -> Option<Offset> {
    facts.holes.iter().find(|hole| hole.kind == HoleKind::Head).map(|hole| hole.first_offset)
}

fn empty_aborts(facts: &PartitionFacts) -> Vec<(ProducerId, Offset)> {
    let aborts = facts.empty_markers.iter().filter(|marker| marker.outcome == Outcome::Aborted);
    let mut aborts: Vec<_> = aborts.map(|marker| (marker.producer_id, marker.offset)).collect();
    aborts.sort_unstable();
    aborts
}

fn replica<'a>(
    dir: &'a PartitionDir,
    subject: &'a Subject<'_>,
    log: &Log<'_>,
    log_end: Offset,
) -> Replica<'a> {
    Replica {
        directory: &dir.display,
        broker_id: dir.broker_id,
        high_watermark: dir.high_watermark,
        leader_epochs: &subject.context.leader_epochs,
        log_end,
        lost_head: log.head_lost_from.zip(log.first_offset()),
        // The checkpoint names each log with remote segments, others only where they begin inside of their first file
        // (`LogManager.checkpointLogStartOffsetsInDir`).
        may_be_tiered: dir.log_start_checkpoint.is_some() || !subject.context.log_starts_given,
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
