//! What committed positions say of the logs that were given: which records a group was given again, and how far
//! it came. A position is a number: it means these records only where the topic is the same, the log reaches that
//! far, and what the group had read was not cut off and written anew (KIP-320).

use super::internal_topics::InternalTopics;
use super::pass::PartitionOutcome;
use super::topics::{Topic, Topics};
use crate::facts::{PartitionContext, PartitionFacts, Position, PositionKey, Rewind};
use crate::relations::PositionNote;
use crate::units::{ClusterNumber, LeaderEpoch, Offset};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::collections::{BTreeMap, BTreeSet};

/// Offsets between the two positions of a step back that are looked at one by one.
const MARKERS: i64 = 8;

type Log<'a> = (&'a PartitionContext, &'a PartitionOutcome);

/// The steps back over which a consumer was given something again of what is here.
pub(super) fn steps_back(internal: &InternalTopics, topics: &Topics, logs: &[Log<'_>]) -> Vec<Rewind> {
    let rewinds = internal.rewinds();
    let markers = markers(&rewinds, logs);
    let longest = longest(logs);
    let is_over_markers = |rewind: &Rewind| {
        let here = short_place(rewind).and_then(|place| markers.get(&place));
        here.is_some_and(|here| (rewind.to.0..rewind.from.0).all(|offset| here.contains(&Offset(offset))))
    };
    let read_again = |rewind: &Rewind| {
        let place = (rewind.cluster, rewind.topic.as_str(), rewind.partition);
        let Some((_, facts)) = longest.get(&place) else { return true };
        rewind.to < facts.log_end_offset && !was_cut_off(rewind, facts)
    };
    rewinds
        .iter()
        .filter(|rewind| !is_of_another(topics, rewind.cluster, &rewind.topic, rewind.topic_id))
        .filter(|rewind| !is_over_markers(rewind) && read_again(rewind))
        .map(|rewind| {
            let log = longest.get(&(rewind.cluster, rewind.topic.as_str(), rewind.partition));
            let (log_start, log_end) = log.map(|log| ends(*log)).unzip();
            Rewind { log_start, log_end, ..rewind.clone() }
        })
        .collect()
}

fn ends((context, facts): (&PartitionContext, &PartitionFacts)) -> (Offset, Offset) {
    (context.log_start_offset, facts.log_end_offset)
}

/// Where the logs that are here begin and end.
pub(super) type LogEnds = BTreeMap<(ClusterNumber, String, i32), (Offset, Offset)>;

/// The ends of the longest log of each partition, where any position stepped back.
pub(super) fn log_ends(internal: &InternalTopics, logs: &[Log<'_>]) -> LogEnds {
    if internal.commits().all(|commits| commits.rewinds().is_empty()) {
        return LogEnds::new();
    }
    let longest = longest(logs).into_iter();
    longest
        .map(|((cluster, topic, partition), log)| ((cluster, topic.to_owned(), partition), ends(log)))
        .collect()
}

/// How far groups came, where that means what is here.
pub(super) fn of(internal: &InternalTopics, topics: &Topics, logs: &[Log<'_>]) -> Vec<PositionNote> {
    let longest = longest(logs);
    let is_here = |cluster: ClusterNumber, (_, topic, partition): &PositionKey, position: &Position| {
        let log = longest.get(&(cluster, topic.as_str(), *partition));
        let reaches = log.is_none_or(|(_, facts)| position.highest <= facts.log_end_offset);
        // Behind the end it is a live copy's, or another log's: the id tells.
        !is_of_another(topics, cluster, topic, position.topic_id())
            && (reaches || position.topic_id().is_some())
    };
    let all = internal
        .commits()
        .flat_map(|commits| commits.positions().map(|(key, position)| (commits.cluster(), key, position)));
    all.filter(|(cluster, key, position)| is_here(*cluster, key, position))
        .map(|(cluster, (group, topic, partition), position)| PositionNote {
            cluster,
            group: group.clone(),
            topic: topic.clone(),
            partition: *partition,
            highest: position.highest,
        })
        .collect()
}

/// Whether commits name another topic than the one that is here under this name.
fn is_of_another(topics: &Topics, cluster: ClusterNumber, name: &str, id: Option<[u8; 16]>) -> bool {
    let Some(id) = id.map(|id| BASE64_URL_SAFE_NO_PAD.encode(id)) else { return false };
    let is_it = |topic: &&Topic| topic.name == name && topic.clusters.contains(&cluster);
    let mut here = topics.all.iter().filter(is_it).peekable();
    here.peek().is_some() && here.all(|topic| topic.id.as_ref().is_some_and(|here| *here != id))
}

/// Of each partition the longest log.
fn longest<'a>(
    logs: &[Log<'a>],
) -> BTreeMap<(ClusterNumber, &'a str, i32), (&'a PartitionContext, &'a PartitionFacts)> {
    let mut longest: BTreeMap<_, (&PartitionContext, &PartitionFacts)> = BTreeMap::new();
    for &(context, outcome) in logs {
        let place = (context.cluster, context.topic.as_str(), context.partition);
        let log = longest.entry(place).or_insert((context, &outcome.facts));
        if log.1.log_end_offset < outcome.facts.log_end_offset {
            *log = (context, &outcome.facts);
        }
    }
    longest
}

/// Whether the record at the lower position was written under a later leader than what the group had read last,
/// which stood behind it: so that was cut off, and other records stand there now.
fn was_cut_off(rewind: &Rewind, facts: &PartitionFacts) -> bool {
    let behind = facts.leader_epochs.partition_point(|&(_, start)| start <= rewind.to);
    let there: Option<LeaderEpoch> =
        behind.checked_sub(1).and_then(|at| facts.leader_epochs.get(at)).map(|&(epoch, _)| epoch);
    rewind.leader_epoch.zip(there).is_some_and(|(read, there)| there > read)
}

/// The partition of a step back that may be one over markers alone.
fn short_place(rewind: &Rewind) -> Option<(ClusterNumber, String, i32)> {
    let is_short = rewind.from.0.saturating_sub(rewind.to.0) <= MARKERS;
    is_short.then(|| (rewind.cluster, rewind.topic.clone(), rewind.partition))
}

/// Where the ends of transactions stand beside short steps back: a consumer is never given the marker of a
/// transaction, and commits a position in front of it or behind it.
fn markers(rewinds: &[Rewind], logs: &[Log<'_>]) -> BTreeMap<(ClusterNumber, String, i32), BTreeSet<Offset>> {
    let mut markers: BTreeMap<_, BTreeSet<Offset>> =
        rewinds.iter().filter_map(short_place).map(|place| (place, BTreeSet::new())).collect();
    if !markers.is_empty() {
        for (context, outcome) in logs {
            let Some(here) = markers.get_mut(&(context.cluster, context.topic.clone(), context.partition))
            else {
                continue;
            };
            here.extend(outcome.facts.transactions.iter().filter_map(|span| span.marker_offset));
            here.extend(outcome.facts.empty_markers.iter().map(|marker| marker.offset));
        }
    }
    markers
}
