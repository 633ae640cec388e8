//! Holds the keyed records of a topic against its partitioner, beside the digests.

use super::pass::PartitionOutcome;
use super::topics::{Topic, Topics};
use crate::format::Record;
use crate::input::{Inventory, NameSource, PartitionDir};
use crate::judgement::misrouted::RoutedTopic;
use crate::keys::KeyHashes;
use crate::plan::Sample;
use crate::plan::routing::{self, Layout, Look, Placed, Routing, Stray, StrayRecord};
use std::collections::BTreeMap;

/// How the keyed records of one partition are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    /// Where the partitioner of the topic puts keys.
    pub(super) routing: Routing,
    /// The partition's number.
    pub(super) partition: u32,
}

/// What a stretch of a partition says about its keys.
#[derive(Debug, Default)]
pub(super) struct Routed {
    pub(super) keyed: u64,
    pub(super) strays: Vec<Stray>,
    /// Records behind the last stray that the newest count alone explains.
    pub(super) newer_behind: u32,
}

impl Route {
    /// For the records of one partition directory.
    pub(super) fn new(routing: Routing, dir: &PartitionDir) -> Option<Self> {
        Some(Self { routing, partition: u32::try_from(dir.partition).ok()? })
    }

    /// Looks at a record. Null keys are spread by every client, empty ones by some.
    pub(super) fn take(&self, record: &Record<'_>, into: &mut Routed) {
        let Some(key) = record.key.filter(|key| !key.is_empty()) else { return };
        into.keyed += 1;
        let number = self.routing.partitioner.number(key);
        let fits_older = match self.routing.look(number, self.partition) {
            Look::Both => return,
            Look::Newer => {
                into.newer_behind += 1;
                return;
            }
            Look::Older => true,
            Look::Neither => false,
        };
        let timestamp =
            if record.client_timestamp == -1 { record.timestamp } else { record.client_timestamp };
        into.strays.push(Stray {
            newer_before: std::mem::take(&mut into.newer_behind),
            fits_older,
            record: StrayRecord { offset: record.offset, timestamp, key: KeyHashes::of(key) },
        });
    }
}

/// The partitioner of each topic, where its sample shows one.
pub(super) fn recognise(
    inventory: &Inventory,
    leaders: &[usize],
    topics: &Topics,
    samples: &[Sample],
    given: &dyn Fn(&str) -> Option<u32>,
) -> Vec<Option<Routing>> {
    let of_topic = |(topic, sample): (&Topic, &Sample)| {
        let mut numbers: BTreeMap<usize, u32> = BTreeMap::new();
        for &at in topic.partitions.iter().filter(|&&at| leaders.get(at) == Some(&at)) {
            let dir = inventory.partitions.get(at)?;
            if dir.internal || dir.named_by == NameSource::Assumed {
                return None;
            }
            numbers.insert(at, u32::try_from(dir.partition).ok()?);
        }
        let layout = Layout {
            highest: numbers.values().max()?.checked_add(1)?,
            present: numbers.len(),
            given: given(&topic.name),
        };
        let placed = sample.records.iter().filter_map(|record| {
            let key = record.key.as_deref().filter(|key| !key.is_empty())?;
            Some(Placed { key: KeyHashes::of(key), partition: *numbers.get(&record.partition)? })
        });
        routing::recognise(layout, placed)
    };
    topics.all.iter().zip(samples).map(of_topic).collect()
}

/// What the pass found, for the topics whose partitioner is known.
pub(super) fn topics<'a>(
    inventory: &'a Inventory,
    leaders: &[usize],
    topics: &'a Topics,
    routings: &[Option<Routing>],
    outcomes: &'a [PartitionOutcome],
    given: &dyn Fn(&str) -> Option<u32>,
) -> Vec<RoutedTopic<'a>> {
    let known = topics.numbered().zip(routings).filter_map(|(topic, routing)| Some((topic, (*routing)?)));
    known
        .map(|((topic_number, topic), routing)| RoutedTopic {
            topic: &topic.name,
            topic_number,
            routing,
            count_was_told: given(&topic.name).is_some(),
            partitions: topic
                .partitions
                .iter()
                .filter(|&&at| leaders.get(at) == Some(&at))
                .filter_map(|&at| Some((inventory.partitions.get(at)?.partition, &outcomes.get(at)?.routed)))
                .collect(),
        })
        .collect()
}
