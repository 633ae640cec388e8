//! Matches the records of a mirror with those of its source.
//!
//! Equal records of both sides are matched in the order of their offsets: the first with the first,
//! and so on; those of aborted and open transactions after all others, because a mirror that reads
//! what is committed never saw them: what it shows of these alone it has from a consumer that reads uncommitted, the
//! default of one (`isolation.level`; KAFKA-14021 is why `MirrorSourceConnector` asks for another). Where retention or a cleaner has been at work the last is matched with the
//! last: what is gone is gone from the front. Where bytes of one cannot be read, those of the other are left over that
//! would stand there, by the records beside them of which both hold as many. What is left over of the source is missing, though the mirror may have
//! it in another partition; what is left over of the mirror is repeated
//! where the source has the record at all, in another partition where it
//! has it there, else extra. Rows come in the order of their digests, so
//! the records of one are held at a time; what comes out is sorted by offset again and told as stretches.

use super::super::AuditOptions;
use super::super::compared;
use super::super::pass::{PartitionOutcome, Subject};
use super::excuses::{Excuse, Excuses};
use super::fate::{Fate, Kind, Marks};
use super::order::Order;
use super::pairs::{DirPair, MatchedBy, Siblings};
use super::settle::{Found, Held, Noted, Partners, Settling, settle};
use crate::candidates::{Fingerprint, RowStore};
use crate::compare::Batches;
use crate::error::AuditError;
use crate::facts::{HoleKind, Outcome};
use crate::keys::KeySpec;
use crate::report::compare::{Mapped, Mirror, Range};
use crate::spill::{Share, Sorter};
use crate::units::Offset;
use std::collections::BTreeMap;

/// What a stretch is called whose counterpart may have been removed.
const REMOVED: &str = "removed";
/// What one is called of which more stand alone than can have been removed.
const PARTLY_REMOVED: &str = "partly-removed";
/// What one is called that the mirror has repeated, or of which the source may have held as many.
const REPEATED_OR_REMOVED: &str = "repeated-or-removed";
/// What a stretch is called whose counterpart may stand in bytes that cannot be read.
const UNREADABLE: &str = "unreadable";

/// What became of a mirror, with its stretches.
#[derive(Debug, Default)]
pub(super) struct Matched {
    pub(super) mirror: Mirror,
    pub(super) only_a: Vec<Range>,
    pub(super) only_b: Vec<Range>,
    /// At offsets of the source.
    pub(super) different: Vec<Range>,
    pub(super) omitted: u64,
    /// Whether a record has a counterpart that consumers of both logs get.
    is_anchored: bool,
    /// Whether more than can have been removed may have been, by where they stand; of each side.
    too_many: [bool; 2],
    /// Where the last stretch ends that is not listed, of each side and of both.
    omitted_end: [Option<i64>; 3],
    /// The distance of the last run that is not listed.
    omitted_distance: Option<i64>,
}

/// The logs of the pairs.
#[derive(Clone, Copy)]
pub(super) struct Logs<'a> {
    pub(super) subjects: &'a [Subject<'a>],
    pub(super) outcomes: &'a [PartitionOutcome],
    pub(super) options: &'a AuditOptions,
}

impl Logs<'_> {
    /// Whether retention took the head of a log.
    pub(super) fn lost_its_head(self, at: usize) -> bool {
        self.subjects.get(at).is_some_and(|subject| subject.context.log_start_offset.0 > 0)
    }

    /// How many records a log can have held that it holds no longer: it gave an offset to each.
    pub(super) fn gone(self, at: usize) -> u64 {
        let (Some(subject), Some(outcome)) = (self.subjects.get(at), self.outcomes.get(at)) else { return 0 };
        let number = |offset: Offset| u64::try_from(offset.0).unwrap_or(0);
        // Of bytes that cannot be read, or stand twice, nobody knows how many offsets they take.
        let held = if outcome.damage.is_empty() {
            outcome.facts.records.saturating_add(outcome.facts.control_batches)
        } else {
            0
        };
        let without = number(outcome.facts.log_end_offset).saturating_sub(held);
        without.max(number(subject.context.log_start_offset))
    }

    /// Where its cleaner has been.
    pub(super) fn cleaned_below(self, at: usize) -> Option<Offset> {
        self.outcomes.get(at)?.facts.cleaned_below
    }

    /// Whether consumers no longer get a record that its files still hold.
    pub(super) fn is_below_start(self, at: usize, offset: Offset) -> bool {
        self.subjects.get(at).is_some_and(|subject| offset < subject.context.log_start_offset)
    }

    /// How many records have no key, or cannot be decoded.
    fn unmatched(self, at: usize) -> u64 {
        let counts = self.outcomes.get(at).map(|outcome| outcome.counts);
        counts.map_or(0, |counts| counts.without_key.saturating_add(counts.not_decoded()))
    }

    /// Whether bytes of it cannot be read in which records may stand.
    pub(super) fn is_damaged(self, at: usize) -> bool {
        self.outcomes.get(at).is_some_and(|of| of.damage.iter().any(|(_, damage)| damage.records_missing))
    }

    /// How its batches are packed.
    pub(super) fn batches(self, at: usize) -> Batches {
        let log = self.subjects.get(at).zip(self.outcomes.get(at));
        let log =
            log.and_then(|(subject, outcome)| compared::read_whole(subject, outcome, self.options.limits));
        let stop = || self.options.watch.is_stopped();
        log.map(|log| Batches::of(&log, self.options.mode, &stop)).unwrap_or_default()
    }

    /// Whether it may have held more than it does.
    pub(super) fn lost_records(self, at: usize) -> bool {
        self.lost_its_head(at) || self.cleaned_below(at).is_some() || self.holes(at).next().is_some()
    }

    /// Where offsets are in no batch though the files of the log are there: a cleaner that left no checkpoint may have
    /// emptied a batch, as other things may.
    pub(super) fn holes(self, at: usize) -> impl Iterator<Item = Offset> {
        let holes = self.outcomes.get(at).map_or(&[][..], |outcome| &outcome.facts.holes);
        let may_be = |kind| matches!(kind, HoleKind::Inside | HoleKind::Emptied);
        holes.iter().filter(move |hole| may_be(hole.kind)).map(|hole| hole.first_offset)
    }

    /// Whether the record is one of an aborted or open transaction, or behind the begin of an open one.
    pub(super) fn withholds(self, log: usize, at: Offset) -> bool {
        self.outcomes
            .get(log)
            .is_some_and(|of| at >= of.facts.last_stable_offset || of.facts.withheld_at(at).is_some())
    }

    /// The outcome of the aborted or open transaction that the record itself is of.
    pub(super) fn outcome(self, log: usize, at: Offset) -> Option<Outcome> {
        self.outcomes.get(log)?.facts.withheld_at(at)
    }
}

/// What sorts.
pub(super) struct Sorting {
    pub(super) fates: Share,
    pub(super) keys: Share,
    /// Whether records are matched by record key and value.
    pub(super) by_content: bool,
}

/// What is known of a pair while its fates are told.
struct OfPair<'a> {
    number: u32,
    excuses: Excuses<'a>,
    order: Order,
}

impl OfPair<'_> {
    /// Adds to what became of its records those in another order, and those that are the newest of their key in the
    /// source alone.
    fn close(
        self,
        told: &mut [Option<Matched>],
        logs: Logs<'_>,
        listed: usize,
        sorting: &Sorting,
    ) -> Result<(), AuditError> {
        let at = usize::try_from(self.number).unwrap_or(usize::MAX);
        let Some(Some(matched)) = told.get_mut(at) else { return Ok(()) };
        // With a key of the user's two of one record key may be the same event.
        let mut other_newest = BTreeMap::new();
        if sorting.by_content {
            other_newest
                .extend(self.excuses.other_newest(self.number).into_iter().map(|fate| (fate.at, fate)));
        }
        let source = self.excuses.source();
        let is_looked_at = self.order.turns() && !self.excuses.is_uncertain();
        let log = logs.subjects.get(source).zip(logs.outcomes.get(source)).filter(|_| is_looked_at);
        let log =
            log.and_then(|(subject, outcome)| compared::read_whole(subject, outcome, logs.options.limits));
        if let Some(log) = log {
            let stop = || logs.options.watch.is_stopped();
            let turned = self.order.turned(self.number, &log, logs.options.mode, &stop, &sorting.keys)?;
            let mut turned = turned.finish()?;
            while let Some(fate) = turned.take_next()? {
                other_newest.remove(&fate.at);
                matched.add(fate, Excuse::None, listed);
            }
        }
        for fate in other_newest.into_values() {
            matched.add(fate, Excuse::None, listed);
        }
        Ok(())
    }
}

/// What became of the records of each pair.
pub(super) fn matched(
    rows: RowStore,
    (pairs, siblings): (&[DirPair], &[Siblings]),
    logs: Logs<'_>,
    listed: usize,
    sorting: &Sorting,
) -> Result<AllMatched, AuditError> {
    let mut fates = sorting.fates.sorter();
    let partners = Partners::of(pairs, siblings);
    let mut noted = Noted::of(pairs, logs);
    let mut later = Later { rows: sorting.fates.sorter(), groups: 0 };
    let mut current: Option<Fingerprint> = None;
    let mut held: BTreeMap<u32, Vec<Held>> = BTreeMap::new();
    rows.for_each(&|| false, |together| {
        for row in together.all().iter() {
            if current != Some(row.identity) {
                if settle(&mut held, &partners, logs, &mut fates, &mut noted)? == Settling::Later {
                    later.put(&held)?;
                }
                held.clear();
                current = Some(row.identity);
            }
            held.entry(row.partition).or_default().push(Held { offset: row.offset, content: row.selector });
        }
        Ok(())
    })?;
    if settle(&mut held, &partners, logs, &mut fates, &mut noted)? == Settling::Later {
        later.put(&held)?;
    }
    noted.close_unread(pairs, logs);
    later.each(|held| settle(held, &partners, logs, &mut fates, &mut noted).map(|_| ()))?;

    let mut told: Vec<Option<Matched>> = pairs
        .iter()
        .enumerate()
        .map(|(at, pair)| {
            let is_mirror = pair.matched_by == MatchedBy::Record;
            is_mirror.then(|| unmatched(pair, siblings.get(at), &partners, logs))
        })
        .collect();
    let mut in_order = fates.finish()?;
    let mut of_pair: Option<OfPair<'_>> = None;
    while let Some(fate) = in_order.take_next()? {
        let at = usize::try_from(fate.pair).unwrap_or(usize::MAX);
        let Some(pair) = pairs.get(at) else { continue };
        if let Some(done) = of_pair.take_if(|known| known.number != fate.pair) {
            done.close(&mut told, logs, listed, sorting)?;
        }
        let this = of_pair.get_or_insert_with(|| {
            let siblings = siblings.get(at).filter(|siblings| {
                let unpaired = |at: &usize| !pairs.iter().any(|pair| pair.a == *at || pair.b == *at);
                noted.spread.contains(&fate.pair) || siblings.a.iter().chain(&siblings.b).any(unpaired)
            });
            let excuses = Excuses::of((fate.pair, *pair), siblings, logs, &noted);
            OfPair { number: fate.pair, excuses, order: Order::new(&sorting.keys) }
        });
        if fate.kind == Kind::LastOfEqual {
            this.excuses.note_last(fate);
            continue;
        }
        if fate.kind == Kind::MissingHere || fate.marks.has(Marks::MOVED) {
            this.excuses.note_elsewhere(fate);
        }
        let excuse = if fate.kind == Kind::Matched {
            this.excuses.note(fate);
            this.order.note(fate)?;
            Excuse::None
        } else {
            this.excuses.of_fate(fate)
        };
        if let Some(Some(matched)) = told.get_mut(at) {
            matched.add(fate, excuse, listed);
        }
    }
    if let Some(done) = of_pair {
        done.close(&mut told, logs, listed, sorting)?;
    }
    for matched in told.iter_mut().flatten() {
        matched.name_what_is_too_many();
    }
    Ok(AllMatched { of_pairs: told, unpaired: partners.unpaired, found: noted.unpaired })
}

/// Equal records that are settled when it is known where bytes cannot be read.
struct Later {
    /// Group, log, offset, and the content.
    rows: Sorter<[i64; 4]>,
    groups: i64,
}

impl Later {
    fn put(&mut self, held: &BTreeMap<u32, Vec<Held>>) -> Result<(), AuditError> {
        self.groups += 1;
        for (log, held) in held {
            for one in held {
                self.rows.push([self.groups, i64::from(*log), one.offset.0, i64::from(one.content)])?;
            }
        }
        Ok(())
    }

    fn each(
        self,
        mut settle: impl FnMut(&mut BTreeMap<u32, Vec<Held>>) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        let mut rows = self.rows.finish()?;
        let mut held: BTreeMap<u32, Vec<Held>> = BTreeMap::new();
        let mut current = None;
        while let Some([group, log, offset, content]) = rows.take_next()? {
            if current.replace(group).is_some_and(|known| known != group) {
                settle(&mut held)?;
                held.clear();
            }
            let [log, content] = [log, content].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
            held.entry(log).or_default().push(Held { offset: Offset(offset), content });
        }
        settle(&mut held)
    }
}

/// What became of the records of all mirrors.
#[derive(Debug)]
pub(super) struct AllMatched {
    /// Of each pair; `None` for pairs that are compared by offset.
    pub(super) of_pairs: Vec<Option<Matched>>,
    /// The partitions of a source and of a mirror that have no counterpart.
    pub(super) unpaired: [Vec<usize>; 2],
    /// What was found of these.
    found: BTreeMap<usize, Found>,
}

impl AllMatched {
    /// How many partitions without counterpart were looked for to the last record; and how many records of them were
    /// never on the other side.
    pub(super) fn unpaired(
        &self,
        (pairs, siblings): (&[DirPair], &[Siblings]),
        logs: Logs<'_>,
    ) -> (u64, u64) {
        let (mut settled, mut alone) = (0, 0);
        let [source, mirror] = &self.unpaired;
        let of_source = source.iter().map(|log| (log, true));
        for (log, is_source) in of_source.chain(mirror.iter().map(|log| (log, false))) {
            let found = self.found.get(log).copied().unwrap_or_default();
            let may_be_gone = |at: usize| logs.lost_records(at) || logs.is_damaged(at);
            let may_be_gone = pairs.iter().zip(siblings).any(|(pair, siblings)| {
                let (own, other, others) = if is_source {
                    (&siblings.a, pair.b, &siblings.b)
                } else {
                    (&siblings.b, pair.a, &siblings.a)
                };
                own.contains(log) && (may_be_gone(other) || others.iter().any(|&at| may_be_gone(at)))
            });
            // Where nothing of it is there, its counterpart may not have been given.
            let is_told = found.nowhere == 0 || found.there > 0 && !may_be_gone;
            let is_counted = logs.outcomes.get(*log).is_some_and(|of| of.facts.records > 0);
            if is_told && is_counted && logs.unmatched(*log) == 0 {
                settled += 1;
                alone += found.nowhere;
            }
        }
        (settled, alone)
    }
}

/// Says so where no record of any mirror and its source has the key by which they are to be matched.
pub(super) fn keyed(
    pairs: &[DirPair],
    outcomes: &[PartitionOutcome],
    spec: &KeySpec,
) -> Result<(), AuditError> {
    let of = pairs.iter().filter(|pair| pair.matched_by == MatchedBy::Record);
    let outcomes: Vec<_> = of.flat_map(|pair| [pair.a, pair.b]).filter_map(|at| outcomes.get(at)).collect();
    let is_read = outcomes.iter().all(|outcome| !outcome.interrupted);
    let counts = outcomes.iter().map(|outcome| outcome.counts);
    let without: u64 = counts.map(|counts| counts.without_key.saturating_add(counts.not_decoded())).sum();
    if is_read && without > 0 && outcomes.iter().all(|outcome| outcome.counts.keyed == 0) {
        return Err(AuditError::Usage(format!(
            "--key {spec}: no record of a mirror or its source has it, {without} have none or cannot be decoded: nothing \
             can be matched (`dedup-audit keys` shows what there is)"
        )));
    }
    Ok(())
}

fn unmatched(
    pair: &DirPair,
    siblings: Option<&Siblings>,
    partners: &Partners<'_>,
    logs: Logs<'_>,
) -> Matched {
    let unmatched = [pair.a, pair.b].into_iter().map(|at| logs.unmatched(at)).sum();
    let repartitioned =
        partners.unpaired.iter().flatten().any(|log| siblings.is_some_and(|of| of.contains(*log)));
    Matched { mirror: Mirror { repartitioned, unmatched, ..Mirror::default() }, ..Matched::default() }
}

impl Matched {
    /// Whether there are records and none of them could be looked for.
    pub(super) const fn nothing(&self) -> bool {
        let mirror = &self.mirror;
        let shown = mirror.shown_aborted + mirror.shown_open;
        let alone = mirror.missing + mirror.extra + mirror.repeated + mirror.other_partition + shown;
        let removed = mirror.missing_removed + mirror.extra_removed + mirror.repeated_removed;
        let removed = removed + mirror.shown_aborted_removed;
        let unreadable = mirror.missing_unreadable + mirror.surplus_unreadable;
        !self.is_anchored && alone == removed + unreadable && (alone > 0 || mirror.unmatched > 0)
    }

    fn add(&mut self, fate: Fate, excuse: Excuse, listed: usize) {
        let mirror = &mut self.mirror;
        let withheld = u64::from(excuse == Excuse::Withheld);
        let unreadable = u64::from(excuse == Excuse::Unreadable);
        let removed = u64::from(matches!(excuse, Excuse::Removed | Excuse::PerhapsRemoved));
        mirror.removed_unsure += u64::from(excuse == Excuse::PerhapsRemoved);
        // What the source may have held and the mirror has twice may be a copy as well.
        let kind = if removed > 0 && fate.marks.has(Marks::AGAIN) { Kind::Repeated } else { fate.kind };
        match kind {
            Kind::LastOfEqual => return,
            Kind::Matched => {
                mirror.matched += 1;
                self.is_anchored |= fate.marks.has(Marks::SHOWN);
                mirror.other_content += u64::from(fate.marks.has(Marks::OTHER_CONTENT));
                return self.map(fate, listed);
            }
            Kind::Missing | Kind::MissingHere => {
                mirror.missing += 1;
                mirror.missing_other_partition += u64::from(fate.kind == Kind::MissingHere && withheld == 0);
                mirror.missing_withheld += withheld;
                mirror.missing_removed += removed;
                mirror.missing_unreadable += unreadable;
            }
            Kind::Extra => {
                mirror.extra += 1;
                mirror.extra_removed += removed;
            }
            Kind::Repeated => {
                mirror.repeated += 1;
                mirror.repeated_removed += removed;
            }
            // Of a partition that lost its head both may be: the other one had it as well, or this one had.
            Kind::OtherPartition => {
                mirror.other_partition += 1;
                mirror.other_partition_moved += u64::from(fate.marks.has(Marks::MOVED) && withheld == 0);
                mirror.extra_removed += removed;
            }
            Kind::Aborted => {
                mirror.shown_aborted += 1;
                mirror.shown_aborted_removed += removed;
            }
            Kind::Open => mirror.shown_open += 1,
            Kind::OtherOrder => mirror.other_order += 1,
            Kind::OtherNewest => mirror.other_newest += 1,
        }
        if !fate.kind.is_missing() {
            mirror.surplus_withheld += withheld;
            mirror.surplus_unreadable += unreadable;
        }
        let [end_a, end_b, end_of_both] = &mut self.omitted_end;
        let (ranges, end) = match kind {
            Kind::OtherOrder | Kind::OtherNewest => (&mut self.different, end_of_both),
            kind if kind.is_missing() => (&mut self.only_a, end_a),
            _ => (&mut self.only_b, end_b),
        };
        let full = ranges.len() >= listed;
        let side = usize::from(!fate.kind.is_missing());
        if let (Some(too_many), Excuse::TooMany) = (self.too_many.get_mut(side), excuse) {
            *too_many = true;
        }
        let what = match excuse {
            Excuse::Removed | Excuse::PerhapsRemoved if kind == Kind::Repeated => REPEATED_OR_REMOVED,
            Excuse::Removed | Excuse::PerhapsRemoved | Excuse::TooMany => REMOVED,
            Excuse::Unreadable => UNREADABLE,
            Excuse::None | Excuse::Withheld => fate.kind.name(),
        };
        match ranges.last_mut() {
            Some(last) if last.what == what && last.last_offset + 1 == fate.at.0 => {
                last.last_offset = fate.at.0;
                last.records += 1;
            }
            _ if full => {
                self.omitted += u64::from(end.is_none_or(|end| end + 1 != fate.at.0));
                *end = Some(fate.at.0);
            }
            _ => ranges.push(Range {
                first_offset: fate.at.0,
                last_offset: fate.at.0,
                records: 1,
                what: what.to_owned(),
                ..Range::default()
            }),
        }
    }

    /// Where more stand alone than can have been removed, nobody knows which of them were.
    fn name_what_is_too_many(&mut self) {
        for (ranges, too_many) in [&mut self.only_a, &mut self.only_b].into_iter().zip(self.too_many) {
            for range in ranges.iter_mut().filter(|range| too_many && range.what == REMOVED) {
                PARTLY_REMOVED.clone_into(&mut range.what);
            }
        }
    }

    fn map(&mut self, fate: Fate, listed: usize) {
        let mapping = &mut self.mirror.mapping;
        let distance = fate.to.0.wrapping_sub(fate.at.0);
        let omitting = self.omitted_distance.is_some();
        let full = mapping.len() >= listed;
        match mapping.last_mut() {
            Some(last) if !omitting && last.first_b.wrapping_sub(last.first_a) == distance => {
                last.last_a = fate.at.0;
                last.records += 1;
            }
            _ if full => {
                self.mirror.mapping_omitted += u64::from(self.omitted_distance != Some(distance));
                self.omitted_distance = Some(distance);
            }
            _ => {
                mapping.push(Mapped {
                    first_a: fate.at.0,
                    last_a: fate.at.0,
                    first_b: fate.to.0,
                    records: 1,
                });
            }
        }
    }
}
