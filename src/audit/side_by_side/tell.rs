//! Comparisons in the words of the answer.

use super::super::copies::SecondLook;
use super::super::groups::Wanted;
use super::super::internal_topics::InternalTopics;
use super::super::pass::{PartitionOutcome, Subject};
use super::super::reconcile::lookup;
use super::mirror::Matched;
use super::pairs::DirPair;
use crate::compare::{
    Comparison, DecidingKind, Difference, DifferenceKind, Epochs, Rest, Side as Of, Writers,
};
use crate::error::AuditError;
use crate::facts::{PartitionContext, PartitionFacts, Sessions, Snapshot};
use crate::finding::{Event, Finding};
use crate::input::Inventory;
use crate::judgement::{Happened, OfCopies};
use crate::plan::KeyChoice;
use crate::relations::Relations;
use crate::report::compare::{Compared, Lacks, OneSided, Pair, Range, Side, SnapshotPair};
use crate::report::model::LeaderEpochStart;
use crate::spill::{Share, Sorter};
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};

/// Offsets of a stretch that are looked at for records: a compacted one holds few.
const LOOKED_AT: i64 = 1000;

pub(super) struct Teller<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) subjects: &'a [Subject<'a>],
    pub(super) outcomes: &'a [PartitionOutcome],
    pub(super) listed: usize,
}

impl Teller<'_> {
    /// The two directories of a pair, as a line names them.
    pub(super) fn names(&self, pair: &DirPair) -> [String; 2] {
        let name = |at: usize| self.inventory.partitions.get(at).map(|dir| dir.display.clone());
        [pair.a, pair.b].map(|at| name(at).unwrap_or_default())
    }

    /// Two logs that were compared by offset.
    pub(super) fn replicas(&self, pair: &DirPair, comparison: &Comparison) -> Pair {
        let mut told = self.head(pair, "offset");
        let mut omitted = comparison.differences_omitted.saturating_add(comparison.deciding_omitted);
        for difference in &comparison.differences {
            let (into, side, what) = match difference.kind {
                DifferenceKind::OnlyA => (&mut told.only_a, Some(Of::A), "missing"),
                DifferenceKind::OnlyB => (&mut told.only_b, Some(Of::B), "missing"),
                DifferenceKind::Records => (&mut told.different, None, "other-records"),
                DifferenceKind::Writer => (&mut told.different, None, "other-writer"),
                DifferenceKind::LeaderEpoch => (&mut told.different, None, "other-leader-epoch"),
                DifferenceKind::Time => (&mut told.different, None, "other-time"),
            };
            into.push(range(difference, side, what));
        }
        for deciding in &comparison.deciding {
            let what = match deciding.kind {
                DecidingKind::NewestValue => "newest-value",
                DecidingKind::Tombstone => "tombstone",
                DecidingKind::Marker => "marker",
            };
            let into = if deciding.holder == Of::A { &mut told.only_a } else { &mut told.only_b };
            let offset = deciding.offset.0;
            let records = u64::from(deciding.kind != DecidingKind::Marker);
            into.push(Range {
                first_offset: offset,
                last_offset: offset,
                records,
                what: what.to_owned(),
                ..Range::default()
            });
        }
        if let Some(rest) = &comparison.rest {
            let into = if rest.side == Of::A { &mut told.only_a } else { &mut told.only_b };
            into.extend(tail(rest));
        }
        for ranges in [&mut told.only_a, &mut told.only_b, &mut told.different] {
            ranges.sort();
            let cut = ranges.len().saturating_sub(self.listed);
            omitted = omitted.saturating_add(u64::try_from(cut).unwrap_or(u64::MAX));
            ranges.truncate(self.listed);
        }
        told.ranges_omitted = omitted;
        told.equal = comparison.agrees() && comparison.rest.as_ref().is_none_or(Rest::may_be_unreadable);
        let ends = told.a.log_end_offset.min(told.b.log_end_offset);
        told.nothing_compared =
            comparison.agrees() && comparison.from.0 >= ends && told.a.records + told.b.records > 0;
        told.equal_up_to = (!told.nothing_compared).then(|| comparison.equal_up_to().0);
        told.stopped_at = comparison.stopped_at.map(|offset| offset.0);
        told.first_difference = comparison.first_difference.map(|offset| offset.0);
        told.compaction_only = comparison.compaction_only();
        let lacks = |of: Of| comparison.missing.get(of.index()).copied().unwrap_or_default();
        let unreadable = |of: Of| {
            let rest = comparison.rest.as_ref().filter(|rest| rest.side == of.other());
            let behind = rest.and_then(|rest| rest.unreadable).map_or(0, |unreadable| unreadable.records);
            lacks(of).unreadable.saturating_add(behind)
        };
        let said = |of: Of| Lacks { cleaned: lacks(of).cleaned, unreadable: unreadable(of) };
        (told.lacks_a, told.lacks_b) = (said(Of::A), said(Of::B));
        told.leader_epochs_part_at = parting(&told.a, &told.b);
        told.snapshots = self.snapshots(pair);
        told
    }

    /// A source and its mirror.
    pub(super) fn mirror(&self, pair: &DirPair, matched: Matched, choice: &KeyChoice) -> Pair {
        let by = if choice.one_key().is_some() { "key" } else { "content" };
        let mut told = self.head(pair, by);
        let mirror = &matched.mirror;
        let [moved_a, moved_b] = if mirror.repartitioned {
            [mirror.missing_other_partition, mirror.other_partition_moved]
        } else {
            [0; 2]
        };
        told.equal = mirror.other_order + mirror.other_newest == 0
            && mirror.missing
                == mirror.missing_withheld + mirror.missing_removed + mirror.missing_unreadable + moved_a
            && mirror.extra + mirror.repeated + mirror.other_partition + mirror.shown_aborted
                == moved_b
                    + mirror.surplus_withheld
                    + mirror.surplus_unreadable
                    + mirror.extra_removed
                    + mirror.repeated_removed
                    + mirror.shown_aborted_removed;
        told.nothing_compared = matched.nothing();
        (told.only_a, told.only_b, told.ranges_omitted) = (matched.only_a, matched.only_b, matched.omitted);
        told.different = matched.different;
        told.mirror = Some(matched.mirror);
        told
    }

    fn head(&self, pair: &DirPair, matched_by: &str) -> Pair {
        Pair {
            a: self.side(pair.a),
            b: self.side(pair.b),
            matched_by: matched_by.to_owned(),
            ..Pair::default()
        }
    }

    fn side(&self, at: usize) -> Side {
        let (Some(dir), Some(subject), Some(outcome)) =
            (self.inventory.partitions.get(at), self.subjects.get(at), self.outcomes.get(at))
        else {
            return Side::default();
        };
        let epochs = if subject.context.leader_epochs.is_empty() {
            &outcome.facts.leader_epochs
        } else {
            &subject.context.leader_epochs
        };
        Side {
            directory: dir.display.clone(),
            topic: dir.topic.clone(),
            topic_id: dir.topic_id.clone(),
            partition: dir.partition,
            broker_id: dir.broker_id,
            log_start_offset: subject.context.log_start_offset.0,
            log_end_offset: outcome.facts.log_end_offset.0,
            high_watermark: dir.high_watermark.map(|offset| offset.0),
            recovery_point: dir.recovery_point.map(|offset| offset.0),
            cleaned_up_to: dir.first_dirty_offset.map(|offset| offset.0),
            records: outcome.facts.records,
            leader_epochs: epochs
                .iter()
                .map(|(epoch, start)| LeaderEpochStart { epoch: epoch.0, start_offset: start.0 })
                .collect(),
        }
    }

    /// The snapshots that both have and that differ.
    fn snapshots(&self, pair: &DirPair) -> Vec<SnapshotPair> {
        let of = |at: usize| self.subjects.get(at).map_or(&[][..], |subject| &subject.context.snapshots);
        let mut told = Vec::new();
        for a in of(pair.a) {
            for b in of(pair.b).iter().filter(|b| b.file == a.file) {
                told.extend(snapshot_pair(a, b));
            }
        }
        told.truncate(self.listed);
        told
    }
}

fn snapshot_pair(a: &Snapshot, b: &Snapshot) -> Option<SnapshotPair> {
    let mut told = SnapshotPair { file: a.file.clone(), ..SnapshotPair::default() };
    match (&a.entries, &b.entries) {
        (Ok(a), Ok(b)) => {
            let by_id = |entries: &[crate::facts::SnapshotEntry]| -> BTreeMap<i64, String> {
                entries.iter().map(|entry| (entry.producer_id.0, format!("{entry:?}"))).collect()
            };
            let (a, b) = (by_id(a), by_id(b));
            let ids: BTreeSet<i64> = a.keys().chain(b.keys()).copied().collect();
            told.producer_ids = ids.into_iter().filter(|id| a.get(id) != b.get(id)).collect();
            (!told.producer_ids.is_empty()).then_some(told)
        }
        // Damaged in the same way: no difference.
        (Err(a), Err(b)) if a == b => None,
        (Err(why), _) | (_, Err(why)) => {
            told.unreadable = Some(why.clone());
            Some(told)
        }
    }
}

/// The first leader epoch that one history has and the other has elsewhere, or has not although its log
/// goes on behind it.
fn parting(a: &Side, b: &Side) -> Option<LeaderEpochStart> {
    // The heads of histories go with the heads of the logs.
    let from = a.leader_epochs.first()?.epoch.max(b.leader_epochs.first()?.epoch);
    let mut one = a.leader_epochs.iter().filter(|start| start.epoch > from);
    let mut two = b.leader_epochs.iter().filter(|start| start.epoch > from);
    loop {
        match (one.next(), two.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => return Some(if a.epoch <= b.epoch { *a } else { *b }),
            // One has seen more leaders than the other: that is lag, where its log ends before.
            (Some(start), None) => return (start.start_offset < b.log_end_offset).then_some(*start),
            (None, Some(start)) => return (start.start_offset < a.log_end_offset).then_some(*start),
            (None, None) => return None,
        }
    }
}

fn range(difference: &Difference, side: Option<Of>, what: &str) -> Range {
    let [records_a, records_b] = difference.records;
    let [epochs_a, epochs_b] = difference.leader_epochs;
    let mut writers = Writers::default();
    let (records, epochs) = if let Some(of) = side {
        writers.join(difference.writers.get(of.index()));
        match of {
            Of::A => (records_a, epochs_a),
            Of::B => (records_b, epochs_b),
        }
    } else {
        for one in &difference.writers {
            writers.join(Some(one));
        }
        (records_a.max(records_b), joined(epochs_a, epochs_b))
    };
    Range {
        first_offset: difference.first_offset.0,
        last_offset: difference.last_offset.0,
        records,
        what: what.to_owned(),
        leader_epochs: epochs.map(|epochs| [epochs.smallest.0, epochs.largest.0]),
        producer_ids: writers.ids.iter().map(|id| id.0).collect(),
    }
}

fn joined(a: Option<Epochs>, b: Option<Epochs>) -> Option<Epochs> {
    match (a, b) {
        (Some(a), Some(b)) => {
            Some(Epochs { smallest: a.smallest.min(b.smallest), largest: a.largest.max(b.largest) })
        }
        (a, b) => a.or(b),
    }
}

/// What only the longer log holds behind the end of the shorter one, as far as that one can be read.
fn tail(rest: &Rest) -> Option<Range> {
    let (first_offset, records) = match rest.unreadable {
        Some(unreadable) => (unreadable.last_offset.next(), rest.records.saturating_sub(unreadable.records)),
        None => (rest.first_offset, rest.records),
    };
    (!rest.may_be_unreadable()).then(|| Range {
        first_offset: first_offset.0,
        last_offset: rest.last_offset.0,
        records,
        what: "tail".to_owned(),
        leader_epochs: rest.leader_epochs.map(|epochs| [epochs.smallest.0, epochs.largest.0]),
        producer_ids: rest.writers.ids.iter().map(|id| id.0).collect(),
    })
}

/// At most `most` of what happened in these logs, the weightiest; and how much is left out. Copies of a partition show
/// the same events but where they parted: what not all of them show names those that do.
pub(super) fn events(
    inventory: &Inventory,
    judged: &[(&PartitionContext, &PartitionFacts)],
    of_pairs: &[usize],
    beside: (&[Finding], &InternalTopics),
    (sorted, producers): (&Share, &Share),
    most: usize,
) -> Result<(Vec<Event>, u64), AuditError> {
    let (findings, internal) = beside;
    let chosen: Vec<_> = of_pairs.iter().filter_map(|&at| judged.get(at).copied()).collect();
    let mut sessions = Sessions::build(&chosen, producers.clone())?;
    let (rewinds, blocks) = (internal.rewinds(), internal.producer_id_blocks());
    let happened =
        Happened { partitions: &chosen, sessions: &sessions, rewinds: &rewinds, findings, beside: &blocks };
    let mut of_copies = OfCopies::new(happened, sorted)?;
    let mut copies: BTreeMap<(&str, i32), usize> = BTreeMap::new();
    for &at in of_pairs {
        let (Some(dir), Some(one)) = (inventory.partitions.get(at), judged.get(at)) else { continue };
        *copies.entry((&dir.topic, dir.partition)).or_default() += 1;
        let alone = [*one];
        let mut sessions = Sessions::build(&alone, producers.clone())?;
        let happened =
            Happened { partitions: &alone, sessions: &sessions, rewinds: &[], findings: &[], beside: &[] };
        of_copies.add_log(at, &happened)?;
        sessions.check()?;
    }
    let (events, omitted) = of_copies.weightiest(most)?;
    sessions.check()?;
    let events = events.into_iter().map(|(mut event, logs)| {
        let all = copies.get(&(event.topic.as_str(), event.partition)).copied().unwrap_or(0);
        if (1..all).contains(&logs.len()) {
            let by: Vec<&str> = logs
                .iter()
                .filter_map(|&at| inventory.partitions.get(at))
                .map(|dir| dir.display.as_str())
                .collect();
            event.detail = format!("only in {}: {}", by.join(", "), event.detail);
        }
        event
    });
    Ok((events.collect(), omitted))
}

/// Adds the first records of what differs.
pub(super) fn add_records(
    answer: &mut Compared,
    pairs: &[DirPair],
    look: &SecondLook<'_>,
    relations: &Relations,
    listed: usize,
    wanted: impl Fn() -> Sorter<Wanted>,
) -> Result<(), AuditError> {
    for (pair, told) in pairs.iter().zip(&mut answer.pairs) {
        let mut places = BTreeSet::new();
        // Of a mirror they are offsets of the source.
        let of_both = if told.mirror.is_none() { &told.different[..] } else { &[] };
        let sides = [
            (pair.a, told.only_a.iter().chain(&told.different)),
            (pair.b, told.only_b.iter().chain(of_both)),
        ];
        for (at, ranges) in sides {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            for range in ranges.take(listed) {
                let last = range.last_offset.min(range.first_offset.saturating_add(LOOKED_AT));
                places.extend((range.first_offset..=last).map(|offset| (at, Offset(offset))));
            }
        }
        let mut by_side: BTreeMap<u32, usize> = BTreeMap::new();
        for (place, candidate) in lookup::records(look, &places, wanted())? {
            let shown = by_side.entry(place.0).or_default();
            if *shown < listed {
                *shown += 1;
                let copy = relations.told(&candidate.copy);
                told.records.push(OneSided { business_key: candidate.business_key, copy });
            }
        }
    }
    Ok(())
}
