//! The tail of an older leader: records that it holds, and that the replica that leads has not.

use super::super::draft::{capped, count, dropped, lines};
use super::{Replica, ReplicaPair, draft, epoch_words, place};
use crate::compare::{Epochs, Side, Writers};
use crate::finding::{Cause, Code, Confidence, Finding};
use crate::units::{LeaderEpoch, Offset};
use std::collections::BTreeMap;

/// The records that only a replica of an older leader holds.
pub(super) struct LostTail {
    old: Side,
    first_offset: i64,
    last_offset: i64,
    records: u64,
    epochs: Option<Epochs>,
    newer: Option<LeaderEpoch>,
    writers: Writers,
}

impl LostTail {
    pub(super) fn of(pair: &ReplicaPair<'_>, old: Side) -> Self {
        let comparison = &pair.comparison;
        let at = old.index();
        let rest = comparison.rest.as_ref().filter(|rest| rest.side == old);
        let first = comparison.first_difference.or(rest.map(|rest| rest.first_offset)).unwrap_or_default();
        let mut epochs = comparison.differing_epochs.get(at).copied().flatten();
        let mut writers = Writers::default();
        for difference in &comparison.differences {
            writers.join(difference.writers.get(at));
        }
        if let Some(rest) = rest {
            writers.join(Some(&rest.writers));
            epochs = match (epochs, rest.leader_epochs) {
                (Some(a), Some(b)) => {
                    Some(Epochs { smallest: a.smallest.min(b.smallest), largest: a.largest.max(b.largest) })
                }
                (a, b) => a.or(b),
            };
        }
        let differing = comparison.differing_epochs.get(old.other().index()).copied().flatten();
        let checkpointed = pair.replica(old.other()).leader_epochs.last().map(|(epoch, _)| *epoch);
        Self {
            old,
            first_offset: first.0,
            last_offset: comparison.ends.get(at).map_or(first.0, |end| end.0 - 1).max(first.0),
            records: comparison.differing_records.get(at).copied().unwrap_or(0)
                + rest.map_or(0, |rest| rest.records),
            epochs,
            newer: differing.map(|epochs| epochs.smallest).or(checkpointed),
            writers,
        }
    }

    /// Up to which offset consumers could read, as far as a checkpoint tells.
    fn was_readable(&self, pair: &ReplicaPair<'_>) -> Option<Offset> {
        pair.replica(self.old).high_watermark.filter(|mark| mark.0 > self.first_offset)
    }
}

pub(super) fn finding(topic: &str, tails: &[(&ReplicaPair<'_>, LostTail)]) -> Finding {
    // Two replicas that followed the same old leader hold the same lost records: count them once.
    let mut by_partition: BTreeMap<i32, u64> = BTreeMap::new();
    for (pair, tail) in tails {
        let records = by_partition.entry(pair.partition).or_default();
        *records = tail.records.max(*records);
    }
    let records: u64 = by_partition.values().sum();
    let title = format!(
        "{topic}: {} of an older leader {} not in the replica that leads",
        count(records, "record", "records"),
        if records == 1 { "is" } else { "are" }
    );
    let mut finding = draft(Code::ReplicaDivergence, topic, tails.iter().map(|(pair, _)| *pair), title);
    finding.facts = capped(tails.iter().map(|(pair, tail)| tail_words(pair, tail)), "replicas");
    let unreadable = tails.iter().all(|(pair, tail)| tail.was_readable(pair).is_none());
    finding.facts.extend(capped(
        tails.iter().filter_map(|(pair, tail)| {
            let mark = tail.was_readable(pair)?;
            let directory = pair.replica(tail.old).directory;
            Some(format!("{directory}: the high watermark was checkpointed at {mark}, so consumers could read up to there"))
        }),
        "replicas",
    ));
    if unreadable {
        finding.facts.push(
            "no checkpointed high watermark lies above where they part: the files do not show that consumers could read \
             these records, nor that their producers were told of success"
                .to_owned(),
        );
    }
    finding.ranges = tails
        .iter()
        .map(|(pair, tail)| {
            let sides = [tail.old, tail.old.other()];
            pair.range(sides, tail.first_offset, tail.last_offset, tail_range_words(pair, tail))
        })
        .collect();
    finding.cause = Some(Cause {
        text: "the leadership went to a replica that did not hold the last records of the leader before: an unclean \
               election, or records that no other replica had copied yet"
            .to_owned(),
        confidence: Confidence::Likely,
    });
    finding.alternatives.extend([
        dropped("lag", "a replica that is behind holds less, and nothing that the leading one does not hold"),
        dropped("compaction", "the cleaner removes records, it writes no others"),
        dropped("damage", "the checksums of these batches are right"),
    ]);
    finding.would_settle = lines([
        "what the producers had set as acks, and which of these records they saw acknowledged",
        "the controller's log about elections at that time, and unclean.leader.election.enable",
    ]);
    finding.advice = lines([
        "copy these files before their broker starts: when it rejoins, it truncates the records that only it holds",
        "look for their keys in the replica that leads, and send again what was acknowledged and is missing",
        "acks=all, min.insync.replicas=2 and no unclean election keep what was acknowledged",
    ]);
    finding
}

fn tail_words(pair: &ReplicaPair<'_>, tail: &LostTail) -> String {
    let (old, new) = (pair.replica(tail.old), pair.replica(tail.old.other()));
    format!(
        "{}: equal up to offset {}; behind it {} holds {} {} up to offset {}, {}; {}",
        pair.name(),
        tail.first_offset - 1,
        place(old),
        count(tail.records, "record", "records"),
        epoch_words(tail.epochs),
        tail.last_offset,
        by_words(&tail.writers),
        new_words(pair, tail, new),
    )
}

fn new_words(pair: &ReplicaPair<'_>, tail: &LostTail, new: &Replica<'_>) -> String {
    let newer = tail.newer.map_or_else(String::new, |epoch| format!(" {}", epoch.0));
    if pair.comparison.agrees() {
        format!("{} began leader epoch{newer} there and holds none of them", place(new))
    } else {
        format!("{} holds other records there, from leader epoch{newer} on", place(new))
    }
}

fn tail_range_words(pair: &ReplicaPair<'_>, tail: &LostTail) -> String {
    let new = pair.replica(tail.old.other()).directory;
    let newer =
        tail.newer.map_or_else(|| "a newer one".to_owned(), |epoch| format!("leader epoch {}", epoch.0));
    let there = if pair.comparison.agrees() { "nothing yet" } else { "other records" };
    format!(
        "{} {} only in {}; {new} has {there} of {newer}",
        count(tail.records, "record", "records"),
        epoch_words(tail.epochs),
        pair.replica(tail.old).directory,
    )
}

fn by_words(writers: &Writers) -> String {
    let mut ids: Vec<String> =
        writers.ids.iter().filter(|id| id.is_protected()).map(ToString::to_string).collect();
    let unprotected = writers.ids.len() > ids.len();
    if writers.more {
        ids.push("others".to_owned());
    }
    match (ids.is_empty(), unprotected) {
        (true, _) => "written without producer id".to_owned(),
        (false, false) => format!("written by producer {}", ids.join(", ")),
        (false, true) => format!("written by producer {} and without producer id", ids.join(", ")),
    }
}
