//! What the audit of the same files knows, and what it leaves open.

use super::super::copies::SecondLook;
use super::super::groups::Wanted;
use super::super::pass::PartitionOutcome;
use super::super::topics::Topics;
use super::join::Found;
use crate::candidates::DigestKey;
use crate::facts::PartitionContext;
use crate::finding::Finding;
use crate::input::Inventory;
use crate::judgement::TopicLabel;
use crate::relations::Relations;
use crate::report::model::AbsentPartitions;
use crate::spill::Sorter;
use std::collections::{BTreeMap, BTreeSet};

/// What the audit of the same files knows.
pub(in crate::audit) struct Known<'a> {
    pub(in crate::audit) look: &'a SecondLook<'a>,
    pub(in crate::audit) relations: &'a Relations,
    pub(in crate::audit) inventory: &'a Inventory,
    pub(in crate::audit) outcomes: &'a [PartitionOutcome],
    pub(in crate::audit) contexts: &'a [&'a PartitionContext],
    /// The directories that lead.
    pub(in crate::audit) led: &'a [usize],
    pub(in crate::audit) partition_count: &'a dyn Fn(&str) -> Option<u32>,
    /// Partitions that their topics surely have and that are not here.
    pub(in crate::audit) absent: &'a [AbsentPartitions],
    /// Whether everything that was given could be read.
    pub(in crate::audit) complete: bool,
    pub(in crate::audit) findings: &'a [Finding],
    /// The topics by which records are counted.
    pub(in crate::audit) topics: &'a Topics,
    pub(in crate::audit) topic_labels: &'a [TopicLabel],
    pub(in crate::audit) digest_key: DigestKey,
    pub(in crate::audit) results: &'a dyn Fn() -> Sorter<Found>,
    pub(in crate::audit) wanted: &'a dyn Fn() -> Sorter<Wanted>,
}

impl Known<'_> {
    /// The led directories of topics that are no internal ones.
    pub(super) fn judged(&self) -> impl Iterator<Item = usize> {
        let internal = |at: usize| self.inventory.partitions.get(at).is_none_or(|dir| dir.internal);
        self.led.iter().copied().filter(move |&at| !internal(at))
    }

    /// The name of a topic.
    pub(super) fn topic(&self, topic: u32) -> String {
        let topic = usize::try_from(topic).ok().and_then(|at| self.topics.all.get(at));
        topic.map(|topic| topic.name.clone()).unwrap_or_default()
    }

    /// The directories with this partition.
    pub(super) fn of_partition(&self, partition: i32) -> impl Iterator<Item = usize> {
        self.judged().filter(move |&at| {
            self.inventory.partitions.get(at).is_some_and(|dir| dir.partition == partition)
        })
    }

    /// The oldest time of the logs, where any of them has lost its head.
    pub(super) fn oldest(&self) -> Option<i64> {
        let cut = |at: usize| self.contexts.get(at).is_some_and(|context| context.log_start_offset.0 > 0);
        let times =
            self.judged().filter(|&at| cut(at)).filter_map(|at| self.outcomes.get(at)?.facts.first_timestamp);
        times.min()
    }
}

/// Why a missing key may yet have been stored, and how many partitions were surely not given.
pub(super) fn doubts(known: &Known<'_>) -> (Vec<String>, u64) {
    let (mut doubts, mut not_given) = (Vec::new(), 0_u64);
    if !known.complete {
        doubts.push("not everything that was given could be read; the coverage says what".to_owned());
    }
    let mut topics: BTreeMap<&str, BTreeSet<i32>> = BTreeMap::new();
    for at in known.judged() {
        let (Some(dir), Some(context), Some(outcome)) =
            (known.inventory.partitions.get(at), known.contexts.get(at), known.outcomes.get(at))
        else {
            continue;
        };
        topics.entry(&dir.topic).or_default().insert(dir.partition);
        if context.log_start_offset.0 > 0 {
            doubts.push(format!(
                "{} begins at offset {}: what stood before is deleted",
                dir.display, context.log_start_offset
            ));
        }
        if outcome.facts.was_cleaned {
            doubts.push(format!("{} was compacted: records that were superseded are gone", dir.display));
        }
        let without = outcome.counts.without_key;
        if without > 0 {
            doubts.push(format!("{}: {without} records have no such key", dir.display));
        }
    }
    if topics.is_empty() {
        doubts.push("no topic was given but internal ones, and no key is looked for in these".to_owned());
    }
    for (topic, given) in topics {
        let lacks = known.absent.iter().find(|absent| absent.topic == topic);
        if let Some((lacks, first)) = lacks.and_then(|lacks| Some((lacks, lacks.partitions.first()?))) {
            not_given = not_given.saturating_add(lacks.count);
            let more = match lacks.count {
                1 => String::new(),
                more => format!(" and {} more", more - 1),
            };
            let all = lacks.count.saturating_add(u64::try_from(given.len()).unwrap_or(u64::MAX));
            doubts.push(format!("{topic}-{first}{more} of {all} partitions were not given"));
        }
        if (known.partition_count)(topic).is_none() {
            doubts.push(format!(
                "nothing tells how many partitions topic {topic} has: {} were given (--partition-count \
                 {topic}=N tells)",
                given.len()
            ));
        }
    }
    (doubts, not_given)
}
