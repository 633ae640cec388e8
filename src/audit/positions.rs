//! What committed positions say of the logs that were given: which records a group was given again, and how far
//! it came. A position is a number: it means these records only where the topic is the same, the log reaches that
//! far, and what the group had read was not cut off and written anew (KIP-320).

use super::internal_topics::InternalTopics;
use super::pass::PartitionOutcome;
use super::topics::{Topic, Topics};
use crate::facts::{Namesakes, PartitionContext, PartitionFacts, Position, PositionKey, Rewind};
use crate::input::Inventory;
use crate::relations::PositionNote;
use crate::units::{ClusterNumber, LeaderEpoch, Offset, TopicNumber};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::collections::{BTreeMap, BTreeSet};

/// Offsets between the two positions of a step back that are looked at one by one.
const MARKERS: i64 = 8;

type Log<'a> = (&'a PartitionContext, &'a PartitionOutcome);

/// The steps back over which a consumer was given something again of what is here.
pub(super) fn steps_back(
    internal: &InternalTopics,
    topics: &Topics,
    inventory: &Inventory,
    logs: &[Log<'_>],
) -> Vec<Rewind> {
    let mut rewinds = internal.rewinds();
    rewinds.retain_mut(|rewind| {
        let which = which(topics, rewind.cluster, &rewind.topic, rewind.topic_id);
        rewind.topic_number = which.topic();
        rewind.namesakes = match which {
            Which::OneOfSeveral => Some(Namesakes::Here),
            Which::This(number) if rewind.topic_id.is_none() => deleted(inventory, topics, number, rewind),
            Which::This(_) | Which::NotHere | Which::Another => None,
        };
        which != Which::Another
    });
    let markers = markers(&rewinds, logs);
    let longest = longest(logs);
    let is_over_markers = |rewind: &Rewind| {
        let here = short_place(rewind).and_then(|place| markers.get(&place));
        here.is_some_and(|here| (rewind.to.0..rewind.from.0).all(|offset| here.contains(&Offset(offset))))
    };
    let read_again = |rewind: &Rewind| {
        let log = place(rewind).and_then(|place| longest.get(&place));
        let Some((_, facts)) = log else { return true };
        rewind.to < facts.log_end_offset && !was_cut_off(rewind, facts)
    };
    rewinds.retain(|rewind| !is_over_markers(rewind) && read_again(rewind));
    for rewind in &mut rewinds {
        let log = place(rewind).and_then(|place| longest.get(&place));
        (rewind.log_start, rewind.log_end) = log.map(|log| ends(*log)).unzip();
    }
    rewinds
}

/// The partition of a topic that is here.
type Place = (TopicNumber, i32);

fn place(rewind: &Rewind) -> Option<Place> {
    Some((rewind.topic_number?, rewind.partition))
}

/// A directory of the topic's name that waits for its deletion and is known to be of another topic.
fn deleted(
    inventory: &Inventory,
    topics: &Topics,
    number: TopicNumber,
    rewind: &Rewind,
) -> Option<Namesakes> {
    let own = topics.get(number)?.id.as_deref()?;
    let mut gone = inventory.deleted.iter().filter(|dir| {
        (&dir.topic, inventory.cluster_of(dir)) == (&rewind.topic, rewind.cluster)
            && dir.topic_id.as_deref().is_some_and(|id| id != own)
    });
    gone.next().map(|dir| Namesakes::Deleted(dir.display.clone()))
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
    // Of several topics of one name it is not known which one is meant.
    let mut by_name: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for log in longest(logs).into_values() {
        let (context, _) = log;
        by_name.entry((context.cluster, context.topic.clone(), context.partition)).or_default().push(log);
    }
    by_name
        .into_iter()
        .filter_map(|(place, logs)| match logs.as_slice() {
            [only] => Some((place, ends(*only))),
            _ => None,
        })
        .collect()
}

/// How far groups came, where that means what is here.
pub(super) fn of(internal: &InternalTopics, topics: &Topics, logs: &[Log<'_>]) -> Vec<PositionNote> {
    let longest = longest(logs);
    let here = |cluster: ClusterNumber, (_, topic, partition): &PositionKey, position: &Position| {
        let number = which(topics, cluster, topic, position.topic_id()).topic()?;
        let log = longest.get(&(number, *partition));
        let reaches = log.is_none_or(|(_, facts)| position.highest <= facts.log_end_offset);
        // Behind the end it is a live copy's, or another log's: the id tells.
        (reaches || position.topic_id().is_some()).then_some(number)
    };
    let all = internal
        .commits()
        .flat_map(|commits| commits.positions().map(|(key, position)| (commits.cluster(), key, position)));
    all.filter_map(|(cluster, key, position)| {
        let topic = here(cluster, key, position)?;
        let (group, _, partition) = key;
        Some(PositionNote {
            cluster,
            group: group.clone(),
            topic: topic.0,
            partition: *partition,
            highest: position.highest,
        })
    })
    .collect()
}

/// Which of the topics that are here a position is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    This(TopicNumber),
    /// The name is that of several, and no id tells.
    OneOfSeveral,
    /// None is here under this name.
    NotHere,
    /// The id is that of none of those that are here under this name.
    Another,
}

impl Which {
    const fn topic(self) -> Option<TopicNumber> {
        match self {
            Self::This(number) => Some(number),
            Self::OneOfSeveral | Self::NotHere | Self::Another => None,
        }
    }
}

fn which(topics: &Topics, cluster: ClusterNumber, name: &str, id: Option<[u8; 16]>) -> Which {
    let is_it = |(_, topic): &(TopicNumber, &Topic)| topic.name == name && topic.clusters.contains(&cluster);
    let here: Vec<(TopicNumber, &Topic)> = topics.numbered().filter(is_it).collect();
    let id = id.map(|id| BASE64_URL_SAFE_NO_PAD.encode(id));
    let of_id = |own: &Option<String>| own.is_some() && *own == id;
    let fits = |own: &Option<String>| id.is_none() || own.is_none() || *own == id;
    let named = here.iter().find(|(_, topic)| of_id(&topic.id));
    let mut fitting = here.iter().filter(|(_, topic)| fits(&topic.id));
    match (named.or_else(|| fitting.next()), here.is_empty()) {
        (Some((number, _)), _) if named.is_some() || fitting.next().is_none() => Which::This(*number),
        (Some(_), _) => Which::OneOfSeveral,
        (None, true) => Which::NotHere,
        (None, false) => Which::Another,
    }
}

/// Of each partition the longest log.
fn longest<'a>(logs: &[Log<'a>]) -> BTreeMap<Place, (&'a PartitionContext, &'a PartitionFacts)> {
    let mut longest: BTreeMap<_, (&PartitionContext, &PartitionFacts)> = BTreeMap::new();
    for &(context, outcome) in logs {
        let place = (context.topic_number, context.partition);
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
fn short_place(rewind: &Rewind) -> Option<Place> {
    let is_short = rewind.from.0.saturating_sub(rewind.to.0) <= MARKERS;
    place(rewind).filter(|_| is_short)
}

/// Where the ends of transactions stand beside short steps back: a consumer is never given the marker of a
/// transaction, and commits a position in front of it or behind it.
fn markers(rewinds: &[Rewind], logs: &[Log<'_>]) -> BTreeMap<Place, BTreeSet<Offset>> {
    let mut markers: BTreeMap<_, BTreeSet<Offset>> =
        rewinds.iter().filter_map(short_place).map(|place| (place, BTreeSet::new())).collect();
    if !markers.is_empty() {
        for (context, outcome) in logs {
            let Some(here) = markers.get_mut(&(context.topic_number, context.partition)) else { continue };
            here.extend(outcome.facts.transactions.iter().filter_map(|span| span.marker_offset));
            here.extend(outcome.facts.empty_markers.iter().map(|marker| marker.offset));
        }
    }
    markers
}
