//! Replicas that differ in a way that no change of leaders explains.

use super::super::draft::{capped, count, dropped, kept, lines};
use super::{RANGES, ReplicaPair, draft, place};
use crate::compare::{DecidingKind, DifferenceKind, Side};
use crate::finding::{Cause, Code, Confidence, DivergentRange, Finding, Severity};

pub(super) fn finding(topic: &str, pairs: &[&ReplicaPair<'_>]) -> Finding {
    let only_heads = pairs.iter().all(|pair| pair.lacks_its_head().is_some());
    let title = if only_heads {
        format!("{topic}: a replica lacks the first files of its log in {}", partitions(pairs))
    } else {
        format!("{topic}: replicas hold different records in {}", partitions(pairs))
    };
    let mut finding = draft(Code::ReplicaDivergence, topic, pairs.iter().copied(), title);
    let only_decided = pairs.iter().all(|pair| pair.comparison.differences.is_empty());
    if only_decided {
        // What a cleaner did is inferred from what is left.
        finding.confidence = finding.confidence.min(Confidence::Likely);
    }
    let may_be_compaction = pairs.iter().all(|pair| pair.comparison.may_be_compaction());
    if may_be_compaction {
        finding.confidence = Confidence::Possible;
    }
    if only_heads {
        // Each broker removes local segments by its own clock once they were moved away (KIP-405).
        let side =
            |pair: &ReplicaPair<'_>| pair.lacks_its_head().map(|side| pair.replica(side).may_be_tiered);
        if pairs.iter().all(|pair| side(pair) == Some(true)) {
            finding.confidence = Confidence::Possible;
            finding.severity = Severity::Low;
        } else {
            finding.confidence = finding.confidence.min(Confidence::Likely);
        }
    }
    finding.facts = capped(pairs.iter().flat_map(|pair| apart_words(pair)), "facts");
    let cleaned: u64 =
        pairs.iter().flat_map(|pair| pair.comparison.missing).map(|missing| missing.cleaned).sum();
    if cleaned > 0 {
        let cleaned = count(cleaned, "further record", "further records");
        finding.facts.push(format!(
            "{cleaned} that one of them lacks, its cleaner may have removed: not counted here"
        ));
    }
    finding.ranges = pairs.iter().flat_map(|pair| apart_ranges(pair)).collect();
    finding.cause = Some(Cause {
        text: "a disk or file that was restored or changed, a recovery that cut a log, or a fault in replication".to_owned(),
        confidence: Confidence::Possible,
    });
    finding.alternatives.extend([
        dropped("lag", "the differences lie below the ends of both"),
        if may_be_compaction {
            kept(
                "compaction",
                "each record that one lacks has a later one of its key there; no checkpoint of its cleaner is at hand",
            )
        } else {
            dropped(
                "compaction",
                if only_decided {
                    "the cleaner keeps the newest record of a key, a tombstone above an older value, a marker with its data"
                } else {
                    "the cleaner was not there, or it would not have left other records"
                },
            )
        },
        dropped("damage", "bytes that cannot be read were not compared"),
        kept("files of two times", "segments that were copied while the broker changed them, or mixed from two copies"),
    ]);
    if pairs.iter().any(|pair| pair.lacks_its_head().is_some()) {
        finding.alternatives.push(kept(
            "tiered storage",
            "a topic with remote segments keeps the leader epochs of what it moved away, and each broker deletes its local files by itself",
        ));
    }
    finding.would_settle = lines([
        "a third replica of the partition",
        "the logs of both brokers about recovery, truncation and failed disks",
    ]);
    finding.advice = lines([
        "find out which replica is right before the next election: consumers get what the leader holds",
        "keep a copy of both, then let the wrong one be built anew from the right one",
    ]);
    finding
}

fn partitions(pairs: &[&ReplicaPair<'_>]) -> String {
    let mut numbers: Vec<i32> = pairs.iter().map(|pair| pair.partition).collect();
    numbers.sort_unstable();
    numbers.dedup();
    count(u64::try_from(numbers.len()).unwrap_or(u64::MAX), "partition", "partitions")
}

fn apart_words(pair: &ReplicaPair<'_>) -> Vec<String> {
    let comparison = &pair.comparison;
    let (a, b) = (place(&pair.leading), place(&pair.other));
    let mut words = Vec::new();
    if let Some(first) = comparison.first_difference {
        let [in_a, in_b] = comparison.differing_records;
        let mut line = format!("{}: {a} and {b} differ from offset {first} on", pair.name());
        if in_a + in_b > 0 {
            line = format!("{line}: {in_a} and {in_b} records that the other does not hold");
        }
        if let Some(equal) = comparison.last_equal.filter(|equal| *equal > first) {
            line = format!("{line}; they are equal again, up to offset {equal}");
        }
        words.push(line);
    }
    for side in [Side::A, Side::B] {
        if let Some((first, file)) = pair.replica(side).lost_head {
            words.push(format!(
                "{}: the first leader epoch of {} begins at offset {first}, its first file at {file}: retention and DeleteRecords \
                 move both",
                pair.name(),
                place(pair.replica(side))
            ));
        }
    }
    for (kind, what) in [
        (DecidingKind::NewestValue, "newest value of a key"),
        (DecidingKind::Tombstone, "tombstone above an older value"),
        (DecidingKind::Marker, "marker of a transaction whose data is there"),
    ] {
        let held = comparison.deciding.iter().filter(|deciding| deciding.kind == kind);
        if let Some(first) = held.clone().next() {
            let number = u64::try_from(held.count()).unwrap_or(u64::MAX);
            let lacking = place(pair.replica(first.holder.other()));
            words.push(format!(
                "{}: {lacking} lacks {}: {what}, first at offset {}",
                pair.name(),
                count(number, "record that decides", "records that decide"),
                first.offset
            ));
        }
    }
    if comparison.followed > 1 {
        words.push(format!(
            "{}: one of {} keys was followed, so there are probably as many times more",
            pair.name(),
            comparison.followed
        ));
    }
    words
}

fn apart_ranges(pair: &ReplicaPair<'_>) -> Vec<DivergentRange> {
    let (a, b) = (pair.leading.directory, pair.other.directory);
    let ab = [Side::A, Side::B];
    let differences = pair.comparison.differences.iter().filter_map(|difference| {
        let what = match difference.kind {
            DifferenceKind::OnlyA => format!("only in {a}"),
            DifferenceKind::OnlyB => format!("only in {b}"),
            DifferenceKind::Records => "other records".to_owned(),
            DifferenceKind::Writer => "the same records of another producer, epoch or sequence".to_owned(),
            DifferenceKind::Time => "the same records with another time of appending".to_owned(),
            DifferenceKind::LeaderEpoch => return None,
        };
        Some(pair.range(ab, difference.first_offset.0, difference.last_offset.0, what))
    });
    let deciding = pair.comparison.deciding.iter().map(|deciding| {
        let holder = pair.replica(deciding.holder).directory;
        let what = match deciding.kind {
            DecidingKind::NewestValue => format!("newest value of its key, only in {holder}"),
            DecidingKind::Tombstone => format!("tombstone, only in {holder}"),
            DecidingKind::Marker => format!("end of a transaction, only in {holder}"),
        };
        pair.range(ab, deciding.offset.0, deciding.offset.0, what)
    });
    let mut ranges: Vec<DivergentRange> = differences.chain(deciding).collect();
    ranges.sort_by_key(|range| (range.first_offset, range.last_offset));
    ranges.truncate(RANGES);
    ranges
}
