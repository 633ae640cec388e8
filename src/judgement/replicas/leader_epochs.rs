//! Equal records under other leader epochs. A follower copies batches as they are, so the epochs of
//! replicas are equal; the checksum of a batch does not cover its epoch.

use super::super::draft::{capped, dropped, kept, lines};
use super::{RANGES, ReplicaPair, draft, epoch_words};
use crate::compare::{DifferenceKind, Side};
use crate::finding::phrase::offsets;
use crate::finding::{Code, Confidence, DivergentRange, Finding};

pub(super) fn finding(topic: &str, pairs: &[&ReplicaPair<'_>]) -> Finding {
    let title = format!("{topic}: replicas give other leader epochs to equal records");
    let mut finding = draft(Code::LeaderEpochAnomaly, topic, pairs.iter().copied(), title);
    let ranges = pairs.iter().flat_map(|pair| {
        let stamped = pair.comparison.differences.iter().filter(|d| d.kind == DifferenceKind::LeaderEpoch);
        stamped.map(move |difference| {
            let [a, b] = difference.leader_epochs.map(epoch_words);
            let what = format!(
                "equal records, {a} in {} and {b} in {}",
                pair.leading.directory, pair.other.directory
            );
            pair.range([Side::A, Side::B], difference.first_offset.0, difference.last_offset.0, what)
        })
    });
    let ranges: Vec<DivergentRange> = ranges.collect();
    finding.facts = capped(
        ranges.iter().map(|range| {
            let where_ = offsets(range.first_offset, range.last_offset);
            format!("{}-{}, {where_}: {}", range.topic, range.partition, range.what)
        }),
        "places",
    );
    finding.ranges = ranges.into_iter().take(RANGES).collect();
    finding.confidence = finding.confidence.min(Confidence::Likely);
    finding.alternatives.extend([
        kept("bit flip", "the checksum of a batch does not cover its leader epoch"),
        kept("mixed files", "segments of another time or of a restored copy lie here"),
        dropped("lag", "a follower copies batches as they are, with the leader's epoch"),
    ]);
    finding.would_settle =
        lines(["a third replica of the partition", "leader-epoch-checkpoint of both brokers"]);
    finding.advice =
        lines(["let the replica whose epochs do not fit its neighbours be built anew before it leads"]);
    finding
}
