//! `order-broken`: without protection, a retried batch went behind a later one.
//!
//! Rests on [`Order`]: blocks of batches without producer id that stand behind batches which were
//! created after them. It is said only where the stream is otherwise in order; where times step back
//! here and there they follow the events, or clocks differ.

use super::Partition;
use super::draft::{about, at, by_topic, capped, count, duration, finding, kept, lines, offsets};
use crate::facts::{MovedBlock, Order};
use crate::finding::{Code, Confidence, Finding, ProtectionMode, Stretch, Window};

/// Batches below which order proves nothing.
const FEWEST_BATCHES: u64 = 100;
/// At most one batch in so many may step back, the moved ones among them.
const ONE_IN: u64 = 100;
/// Blocks that are listed.
const LISTED: usize = 100;

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    by_topic(partitions).into_iter().filter_map(|(topic, partitions)| in_topic(topic, &partitions)).collect()
}

fn is_told(partition: &Partition<'_>) -> bool {
    let (context, facts) = partition;
    let order = &facts.order;
    let cleaned = facts.cleaned_below.is_some() || context.compacted == Some(true);
    !context.internal
        && !cleaned
        && !order.blocks.is_empty()
        && order.batches >= FEWEST_BATCHES
        && (order.disordered + order.moved).saturating_mul(ONE_IN) <= order.batches
}

fn in_topic(topic: &str, partitions: &[Partition<'_>]) -> Option<Finding> {
    let told: Vec<(i32, &Order)> = partitions
        .iter()
        .filter(|partition| is_told(partition))
        .map(|(context, facts)| (context.partition, &facts.order))
        .collect();
    let blocks: Vec<(i32, &MovedBlock)> = told
        .iter()
        .flat_map(|(partition, order)| order.blocks.iter().map(move |block| (*partition, block)))
        .collect();
    let records: u64 = blocks.iter().map(|(_, block)| block.records).sum();
    let (first, _) = blocks.first()?;
    let moved = count(u64::try_from(blocks.len()).unwrap_or(u64::MAX), "block", "blocks");
    let title = format!(
        "{topic}: {moved} of {} behind later records",
        if records == 1 { "1 record stands".to_owned() } else { format!("{records} records stand") }
    );
    // A new leader is a reason to send again; without one a writer with a slow clock looks the same.
    let reason = blocks.iter().any(|(_, block)| block.new_leader);
    let confidence = if reason { Confidence::Likely } else { Confidence::Possible };
    let mut finding = finding(Code::OrderBroken, confidence, title);
    about(&mut finding, blocks.iter().map(|&(partition, _)| (topic, partition)));
    let times = blocks.iter().map(|(_, block)| (block.first_timestamp, block.last_timestamp));
    let earliest = times.clone().map(|(first, _)| first).min();
    finding.window = Some(Window::new(earliest, times.map(|(_, last)| last).max()));
    finding.facts = capped(blocks.iter().map(|(partition, block)| words(topic, *partition, block)), "blocks");
    let batches: u64 = told.iter().map(|(_, order)| order.batches).sum();
    let others: u64 = told.iter().map(|(_, order)| order.disordered).sum();
    finding.facts.push(format!(
        "of {batches} batches without producer id {} step back in time: the stream is in order otherwise",
        count(others, "other", "others")
    ));
    finding.facts.push("each block is stored once: none of it repeats a batch before it".to_owned());
    finding.alternatives = vec![
        kept("another clock", "a second writer whose clock is slow, and that writes seldom, looks the same"),
        kept("event time", "the application may have set these times itself, with one event late"),
    ];
    finding.would_settle = lines([
        "a version or a counter in the values: does it step back with the times?",
        "the client's log at that time: a timeout or a new leader, and a retry",
    ]);
    finding.advice = lines([
        "switch idempotence on: it keeps the order with up to five requests in flight",
        "without it set max.in.flight.requests.per.connection=1",
        &format!("look at the keys in these blocks, from {topic}-{first} on: an older state may have won"),
    ]);
    finding.stretches_omitted = u64::try_from(blocks.len().saturating_sub(LISTED)).unwrap_or(u64::MAX);
    finding.stretches = blocks
        .iter()
        .take(LISTED)
        .map(|(partition, block)| {
            let times = (Some(block.first_timestamp), Some(block.last_timestamp));
            let places = (block.first_offset.0, block.last_offset.0);
            Stretch::new(ProtectionMode::None, places, block.records, times).in_partition(topic, *partition)
        })
        .collect();
    Some(finding)
}

fn words(topic: &str, partition: i32, block: &MovedBlock) -> String {
    format!(
        "{topic}-{partition}: {} ({}, created {} to {}) belong behind offset {}, and stand behind {} created up to {} later{}",
        offsets(block.first_offset.0, block.last_offset.0),
        count(block.batches, "batch", "batches"),
        at(Some(block.first_timestamp)),
        at(Some(block.last_timestamp)),
        block.belongs_behind,
        count(u64::try_from(block.overtaken_by).unwrap_or(u64::MAX), "batch", "batches"),
        duration(block.newest_before.saturating_sub(block.last_timestamp)),
        if block.new_leader { ", under a new leader" } else { "" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::PartitionContext;
    use crate::facts::script::fold_in;

    /// Batches of three records a second apart, before and behind `middle`.
    fn judged(before: usize, middle: &str) -> Vec<Finding> {
        let line = "wait 1s; D -1 3;";
        let script = format!("{}{middle};{}", line.repeat(before), line.repeat(60));
        let (context, facts) = fold_in(PartitionContext::default(), &script);
        judge(&[(&context, &facts)])
    }

    #[test]
    fn a_block_that_went_behind_a_later_batch_is_told_with_its_place() {
        let found = judged(60, "wait 2s; D -1 3; wait -1s; D -1 3; wait 1s");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].confidence, Confidence::Possible);
        assert_eq!((found[0].stretches[0].first_offset, found[0].stretches[0].records), (183, 3));
        assert!(found[0].facts[0].contains("belong behind offset 179"), "{:?}", found[0].facts);
        let failover = judged(60, "wait 2s; D -1 3; leader 1; wait -1s; D -1 3; wait 1s");
        assert_eq!(failover[0].confidence, Confidence::Likely);
    }

    #[test]
    fn little_data_or_much_disorder_tells_nothing() {
        let moved = "wait 2s; D -1 3; wait -1s; D -1 3; wait 1s";
        assert!(judged(20, moved).is_empty());
        let jumps = "wait -5s; D -1 3; wait 6s; D -1 3;".repeat(5);
        assert!(judged(90, &format!("{moved}; {jumps}")).is_empty());
    }

    #[test]
    fn a_retried_copy_behind_later_batches_is_no_broken_order() {
        assert!(judged(60, "wait 1s; D -1 3; wait 1s; D -1 3; wait -1001ms; D -1 3; wait 1s").is_empty());
    }
}
