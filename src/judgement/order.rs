//! `order-broken`: without protection, a retried batch went behind a later one.
//!
//! Rests on [`Order`]: blocks of batches without producer id that stand behind batches which were
//! created after them; and on [`Versions`]: blocks whose records carry an older version of their keys
//! than records before them. Either is said only where the stream is otherwise in order. Times that
//! step back here and there follow the events, or clocks differ, so they need many batches; a version
//! that rises with every key elsewhere needs few.

use super::Partition;
use super::draft::{
    FORMAT_FIRST, LINES, about, at, capped, count, dropped, each_topic, finding, kept, lines,
};
use crate::facts::{MovedBlock, OlderBlock, Order, Versions};
use crate::finding::phrase::{duration, offsets};
use crate::finding::{Alternative, Cause, Code, Confidence, Finding, ProtectionMode, Stretch, Window};

/// Batches below which the order of times proves nothing.
const FEWEST_BATCHES: u64 = 100;
/// At most one batch in so many may step back in time, the moved ones among them.
const ONE_IN: u64 = 100;
/// Rising versions below which a version proves nothing.
const FEWEST_RISES: u64 = 20;
/// At most one version in so many may step back outside of a block.
const ONE_VERSION_IN: u64 = 50;
/// At most one batch in so many may have moved, by its versions.
const ONE_MOVED_IN: u64 = 10;
/// Blocks that are listed.
const LISTED: usize = 100;

/// A block that stands behind later records, by what tells it.
#[derive(Clone, Copy)]
enum Block<'a> {
    Times(&'a MovedBlock),
    Versions(&'a Versions, &'a OlderBlock),
}

impl Block<'_> {
    /// The first and the last offset.
    const fn offsets(self) -> (i64, i64) {
        match self {
            Self::Times(block) => (block.first_offset.0, block.last_offset.0),
            Self::Versions(_, block) => (block.first_offset.0, block.last_offset.0),
        }
    }

    const fn times(self) -> (i64, i64) {
        match self {
            Self::Times(block) => (block.first_timestamp, block.last_timestamp),
            Self::Versions(_, block) => (block.first_timestamp, block.last_timestamp),
        }
    }

    const fn records(self) -> u64 {
        match self {
            Self::Times(block) => block.records,
            Self::Versions(_, block) => block.records,
        }
    }

    const fn new_leader(self) -> bool {
        match self {
            Self::Times(block) => block.new_leader,
            Self::Versions(_, block) => block.new_leader,
        }
    }

    const fn shares_offsets_with(self, other: Block<'_>) -> bool {
        let ((first, last), (other_first, other_last)) = (self.offsets(), other.offsets());
        first <= other_last && other_first <= last
    }

    /// The key that its words name.
    fn example(self) -> Option<String> {
        match self {
            Self::Times(_) => None,
            Self::Versions(_, block) => Some(block.example.key.clone()),
        }
    }

    fn words(self, topic: &str, partition: i32) -> String {
        match self {
            Self::Times(block) => words(topic, partition, block),
            Self::Versions(versions, block) => version_words(topic, partition, versions, block),
        }
    }
}

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    each_topic(partitions, |(topic, _), partitions| in_topic(topic, partitions))
}

fn times_tell(order: &Order) -> bool {
    order.batches >= FEWEST_BATCHES
        && (order.disordered + order.moved).saturating_mul(ONE_IN) <= order.batches
}

const fn versions_tell(versions: &Versions) -> bool {
    versions.rises >= FEWEST_RISES
        && versions.out_of_order.saturating_mul(ONE_VERSION_IN) <= versions.rises
        && versions.moved.saturating_mul(ONE_MOVED_IN) <= versions.batches
}

/// The blocks of a partition that are told, in offset order: what a version tells takes the place of
/// what times tell of the same offsets.
fn blocks<'a>((context, facts): &Partition<'a>) -> Vec<Block<'a>> {
    if context.internal || facts.cleaned_below.is_some() || context.compacted == Some(true) {
        return Vec::new();
    }
    let (order, versions) = (&facts.order, &facts.versions);
    let mut told: Vec<Block<'_>> = Vec::new();
    if versions_tell(versions) {
        told.extend(versions.blocks.iter().map(|block| Block::Versions(versions, block)));
    }
    if times_tell(order) {
        let by_version = told.len();
        for block in order.blocks.iter().map(Block::Times) {
            let known = told.iter().take(by_version).any(|version| version.shares_offsets_with(block));
            if !known {
                told.push(block);
            }
        }
    }
    told.sort_by_key(|block| block.offsets());
    told
}

fn in_topic(topic: &str, partitions: &[Partition<'_>]) -> Option<Finding> {
    let mut blocks_of = Vec::new();
    let mut stream = Vec::new();
    for partition in partitions {
        let (context, facts) = partition;
        let told = blocks(partition);
        if told.iter().any(|block| matches!(block, Block::Versions(..))) {
            stream.push(rising(topic, context.partition, &facts.versions));
        }
        if told.iter().any(|block| matches!(block, Block::Times(_))) {
            stream.push(in_order(topic, context.partition, &facts.order));
        }
        blocks_of.extend(told.into_iter().map(|block| (context.partition, block)));
    }
    let blocks = blocks_of;
    let records: u64 = blocks.iter().map(|(_, block)| block.records()).sum();
    blocks.first()?;
    let moved = count(u64::try_from(blocks.len()).unwrap_or(u64::MAX), "block", "blocks");
    let title = format!(
        "{topic}: {} in {moved} {} behind later records",
        count(records, "record", "records"),
        if records == 1 { "stands" } else { "stand" }
    );
    // A new leader is a reason to send again; without one a writer with a slow clock looks the same. A version that steps
    // back where it rises everywhere else shows the order whatever clocks say, and not what broke it.
    let reason = blocks.iter().any(|(_, block)| block.new_leader());
    let by_version = blocks.iter().all(|(_, block)| matches!(block, Block::Versions(..)));
    let confidence = if reason || by_version { Confidence::Likely } else { Confidence::Possible };
    let mut finding = finding(Code::OrderBroken, confidence, title);
    about(&mut finding, blocks.iter().map(|&(partition, _)| (topic, partition)));
    let times = blocks.iter().map(|(_, block)| block.times());
    let earliest = times.clone().map(|(first, _)| first).min();
    finding.window = Some(Window::new(earliest, times.map(|(_, last)| last).max()));
    finding.facts = capped(blocks.iter().map(|(partition, block)| block.words(topic, *partition)), "blocks");
    finding.named_keys = blocks.iter().filter_map(|(_, block)| block.example()).take(LINES).collect();
    finding.facts.extend(capped(stream, "partitions"));
    finding.facts.push("each block is stored once: none of it repeats a batch before it".to_owned());
    if blocks.iter().any(|(_, block)| matches!(block, Block::Times(_))) {
        finding.facts.push(
            "where times tell it, and no version does, records of one key need not be out of order"
                .to_owned(),
        );
    }
    finding.facts.push(
        "none of these batches carries a producer id: the broker had no sequence by which to keep their order".to_owned(),
    );
    finding.cause = by_version.then(|| Cause {
        text: "a batch that failed and was sent again behind later ones, with several requests in flight"
            .to_owned(),
        confidence: if reason { Confidence::Likely } else { Confidence::Possible },
    });
    finding.alternatives = rivals(by_version);
    finding.would_settle = if by_version {
        lines(["the client's log at that time: a timeout or a new leader, and a retry"])
    } else {
        lines([
            "a version or a counter in the values: does it step back with the times?",
            "the client's log at that time: a timeout or a new leader, and a retry",
        ])
    };
    let old_formats = partitions.iter().all(|(_, facts)| facts.protection.unprotected_records == 0);
    finding.advice = lines([
        if old_formats {
            FORMAT_FIRST
        } else {
            "switch idempotence on: it keeps the order with up to five requests in flight"
        },
        "without it set max.in.flight.requests.per.connection=1",
        "look at the keys in these blocks: where the newest record of a key wins, an older state may have won",
    ]);
    finding.stretches_omitted = u64::try_from(blocks.len().saturating_sub(LISTED)).unwrap_or(u64::MAX);
    finding.stretches = blocks
        .iter()
        .take(LISTED)
        .map(|(partition, block)| {
            let (first, last) = block.times();
            Stretch::new(ProtectionMode::None, block.offsets(), block.records(), (Some(first), Some(last)))
                .in_partition(topic, *partition)
        })
        .collect();
    Some(finding)
}

fn rivals(by_version: bool) -> Vec<Alternative> {
    let clock = "a second writer whose clock is slow, and that writes seldom, looks the same";
    if by_version {
        return vec![
            kept("another writer", "a second writer that is late with a whole batch looks the same"),
            dropped(
                "duplicate",
                "no key had the version of these records before: they are stored once, in the wrong place",
            ),
        ];
    }
    vec![
        kept("another clock", clock),
        kept("event time", "the application may have set these times itself, with one event late"),
    ]
}

fn rising(topic: &str, partition: i32, versions: &Versions) -> String {
    format!(
        "{topic}-{partition}: {} rises with the offset of its key in {} elsewhere, and steps back in {}",
        versions.field,
        count(versions.rises, "record", "records"),
        count(versions.out_of_order, "other", "others"),
    )
}

fn in_order(topic: &str, partition: i32, order: &Order) -> String {
    format!(
        "{topic}-{partition}: of {} batches without producer id {} step back in time: the stream is in order otherwise",
        order.batches,
        count(order.disordered, "other", "others")
    )
}

fn version_words(topic: &str, partition: i32, versions: &Versions, block: &OlderBlock) -> String {
    let example = &block.example;
    format!(
        "{topic}-{partition}: {} ({}) hold older versions than records before them: key {} has a newer {} at offset {} \
         (client time {}) than at offset {} (client time {}); by the clients' clocks the block is up to {} older than what \
         stands before it{}",
        offsets(block.first_offset.0, block.last_offset.0),
        count(block.batches, "batch", "batches"),
        example.key,
        versions.field,
        example.newer_offset,
        at(Some(example.newer_timestamp)),
        example.offset,
        at(Some(example.timestamp)),
        duration(block.newest_before.saturating_sub(block.first_timestamp)),
        if block.new_leader { ", under a new leader" } else { "" },
    )
}

fn words(topic: &str, partition: i32, block: &MovedBlock) -> String {
    format!(
        "{topic}-{partition}: {} ({}, with client times {} to {}) belong behind offset {}, and stand behind {} of up to {} later{}",
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
