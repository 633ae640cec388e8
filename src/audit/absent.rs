//! Partitions that a topic surely has and that are not among what is read.
//!
//! Goes in: which partitions are here, and what tells how many there are: the numbers (they begin at 0 without a hole, and
//! none is ever taken away), an option or a plan, `__cluster_metadata`, or the partitioner that the keys follow. Comes out:
//! those that lack. An event may have a copy in one of them, so that whatever is counted is a lower bound.

use super::topics::{Topic, Topics};
use crate::input::{Inventory, NameSource};
use crate::plan::TopicPlan;
use crate::plan::routing::Routing;
use crate::report::model::AbsentPartitions;
use std::collections::BTreeSet;

/// Those of all topics but Kafka's own and those in which its programs keep their state.
pub(super) fn absent(
    inventory: &Inventory,
    topics: &Topics,
    plans: &[TopicPlan],
    routings: &[Option<Routing>],
    told: &dyn Fn(&str) -> Option<u32>,
    most: usize,
) -> Vec<AbsentPartitions> {
    let routing = |at: usize| routings.get(at).copied().flatten();
    let of_topic = |(at, topic): (usize, &Topic)| {
        if plans.get(at).is_none_or(|plan| plan.internal || plan.holds_state) {
            return None;
        }
        // Of two topics of one name nothing tells which of them is meant.
        let alone = topics.all.iter().filter(|other| other.name == topic.name).count() == 1;
        in_topic(inventory, topic, routing(at), told(&topic.name).filter(|_| alone), most)
    };
    topics.all.iter().enumerate().filter_map(of_topic).collect()
}

fn in_topic(
    inventory: &Inventory,
    topic: &Topic,
    routing: Option<Routing>,
    told: Option<u32>,
    most: usize,
) -> Option<AbsentPartitions> {
    let mut here = BTreeSet::new();
    for &at in &topic.partitions {
        let dir = inventory.partitions.get(at)?;
        if dir.internal || dir.named_by == NameSource::Assumed {
            return None;
        }
        here.insert(u32::try_from(dir.partition).ok()?);
    }
    let by_numbers = here.last()?.saturating_add(1);
    let fitted = routing.map(|routing| routing.newest);
    let (count, why) = match (told, routing) {
        (Some(told), _) if told > by_numbers => (told, format!("the topic has {told} partitions")),
        (None, Some(routing)) if fitted > Some(by_numbers) => (
            routing.newest,
            format!("its keys follow {} over {} partitions", routing.partitioner.name(), routing.newest),
        ),
        _ => (by_numbers, format!("partition {} is here, and numbers have no holes", by_numbers - 1)),
    };
    let absent = || (0..count).filter(|partition| !here.contains(partition));
    let number = absent().count();
    (number > 0).then(|| AbsentPartitions {
        topic: topic.name.clone(),
        partitions: absent().take(most).filter_map(|partition| i32::try_from(partition).ok()).collect(),
        count: u64::try_from(number).unwrap_or(u64::MAX),
        why,
    })
}
