//! Equal records of a mirror and its source: which stand for which, and what is left over.
//!
//! Goes in: the places of all records of one content, or of one key. Comes out: a [`Fate`] for each.

use super::fate::{Fate, Kind, Marks};
use super::mirror::Logs;
use super::pairs::{DirPair, MatchedBy, Siblings};
use super::unread::Unread;
use crate::error::AuditError;
use crate::facts::Outcome;
use crate::spill::Sorter;
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};

/// A record of what is settled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) offset: Offset,
    /// Equal contents share it ([`crate::candidates::Row::selector`]).
    pub(super) content: u32,
}

/// Where the matching of equal records begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    AtTheFirst,
    AtTheLast,
}

/// Whether one of a pair may have held more than it does.
fn has_lost(pair: &DirPair, logs: Logs<'_>) -> bool {
    logs.lost_records(pair.a) || logs.lost_records(pair.b)
}

fn withheld_last(held: &[Held], log: usize, logs: Logs<'_>, from: Begin) -> Vec<Held> {
    let mut held = held.to_vec();
    if from == Begin::AtTheLast {
        held.reverse();
    }
    held.sort_by_cached_key(|one| (logs.outcome(log, one.offset).is_some(), logs.withholds(log, one.offset)));
    held
}

/// Equal records of a source and its mirror.
#[derive(Debug, Default)]
struct Settled {
    matched: Vec<(Held, Held)>,
    /// What the mirror shows and the source does not, by the outcome there.
    shown: Vec<(Outcome, Offset, Offset)>,
    only_a: Vec<Offset>,
    only_b: Vec<Offset>,
}

impl Settled {
    /// Matches the records of the two logs of a pair, each in the order of its offsets.
    fn of(a: &[Held], b: &[Held], pair: &DirPair, logs: Logs<'_>, unread: Option<&[Unread; 2]>) -> Self {
        let left_over = unread.map(|unread| beside_damage(a, b, pair, logs, unread)).unwrap_or_default();
        if !left_over.iter().all(BTreeSet::is_empty) {
            let [of_a, of_b] = &left_over;
            let kept = |held: &[Held], left_over: &BTreeSet<Offset>| -> Vec<Held> {
                held.iter().copied().filter(|one| !left_over.contains(&one.offset)).collect()
            };
            let mut settled = Self::of(&kept(a, of_a), &kept(b, of_b), pair, logs, None);
            settled.only_a.extend(of_a);
            settled.only_b.extend(of_b);
            return settled;
        }
        let has_lost = has_lost(pair, logs);
        // What waits behind an open transaction need not be copied: an older one may stand there.
        let hidden_alone = |(at, to): (&Held, &Held)| match logs.outcome(pair.b, to.offset) {
            Some(_) => !logs.withholds(pair.a, at.offset),
            None if has_lost => logs.withholds(pair.a, at.offset),
            None => logs.outcome(pair.a, at.offset).is_some(),
        };
        if a.len() == b.len() && !a.iter().zip(b).any(hidden_alone) {
            return Self { matched: a.iter().copied().zip(b.iter().copied()).collect(), ..Self::default() };
        }
        // Where one has more, those are left over that nobody need copy.
        let from = if has_lost { Begin::AtTheLast } else { Begin::AtTheFirst };
        let (a, b) = (withheld_last(a, pair.a, logs, from), withheld_last(b, pair.b, logs, from));
        let shown_in_b = b.partition_point(|to| logs.outcome(pair.b, to.offset).is_none());
        let must_be_shown = a.partition_point(|at| !logs.withholds(pair.a, at.offset));
        let mut settled = Self::default();
        let mut left = b.iter().copied().take(shown_in_b);
        let mut hidden = b.iter().copied().skip(shown_in_b).peekable();
        for (number, &at) in a.iter().enumerate() {
            let may_be_hidden = number >= must_be_shown;
            match (left.next(), logs.outcome(pair.a, at.offset)) {
                (Some(to), Some(outcome)) => settled.shown.push((outcome, at.offset, to.offset)),
                (Some(to), None) => settled.matched.push((at, to)),
                (None, _) => match hidden.next_if(|_| may_be_hidden) {
                    Some(to) => settled.matched.push((at, to)),
                    None => settled.only_a.push(at.offset),
                },
            }
        }
        settled.only_b = left.chain(hidden).map(|to| to.offset).collect();
        settled
    }

    /// The last that each side shows, where these two were not matched with each other.
    fn last_of_equal(
        &self,
        a: &[Held],
        b: &[Held],
        pair: &DirPair,
        logs: Logs<'_>,
    ) -> Option<(Offset, Offset)> {
        let last = |held: &[Held], log: usize| {
            held.iter().rev().map(|one| one.offset).find(|&at| logs.outcome(log, at).is_none())
        };
        let both = (last(a, pair.a)?, last(b, pair.b)?);
        (!self.matched.iter().any(|(at, to)| (at.offset, to.offset) == both)).then_some(both)
    }

    /// Whether both show as many.
    fn is_sure(&self, pair: &DirPair, logs: Logs<'_>) -> bool {
        let is_shown = |log: usize, at: Offset| logs.outcome(log, at).is_none();
        let waits =
            |(at, to): &(Held, Held)| logs.withholds(pair.a, at.offset) && is_shown(pair.b, to.offset);
        let is_waited_for = has_lost(pair, logs) && self.matched.iter().any(waits);
        !is_waited_for
            && self.shown.is_empty()
            && !self.only_a.iter().any(|&at| is_shown(pair.a, at))
            && !self.only_b.iter().any(|&at| is_shown(pair.b, at))
    }
}

/// The records of each side that are left over because those of the other side may stand in bytes that cannot be read.
fn beside_damage(
    a: &[Held],
    b: &[Held],
    pair: &DirPair,
    logs: Logs<'_>,
    [unread_a, unread_b]: &[Unread; 2],
) -> [BTreeSet<Offset>; 2] {
    let of = |held: &[Held], is_counted: &dyn Fn(Offset) -> bool| -> Vec<Offset> {
        held.iter().map(|one| one.offset).filter(|&at| is_counted(at)).collect()
    };
    let shown_a = of(a, &|at| logs.outcome(pair.a, at).is_none());
    let must_be_shown = of(a, &|at| !logs.withholds(pair.a, at));
    let shown_b = of(b, &|at| logs.outcome(pair.b, at).is_none());
    [unread_b.left_over(&must_be_shown, &shown_b), unread_a.left_over(&shown_b, &shown_a)]
}

/// What is matched with what.
pub(super) struct Partners<'a> {
    pub(super) pairs: &'a [DirPair],
    pub(super) siblings: &'a [Siblings],
    /// The partitions of both topics of a mirror that have no counterpart.
    pub(super) unpaired: [Vec<usize>; 2],
}

impl<'a> Partners<'a> {
    pub(super) fn of(pairs: &'a [DirPair], siblings: &'a [Siblings]) -> Self {
        let is_paired = |log: usize| pairs.iter().any(|pair| pair.a == log || pair.b == log);
        let unpaired = |side: fn(&Siblings) -> &Vec<usize>| -> Vec<usize> {
            let all: BTreeSet<usize> = siblings.iter().flat_map(side).copied().collect();
            all.into_iter().filter(|log| !is_paired(*log)).collect()
        };
        Self { pairs, siblings, unpaired: [unpaired(|of| &of.a), unpaired(|of| &of.b)] }
    }

    fn siblings_of(&self, pair: u32) -> Option<&Siblings> {
        usize::try_from(pair).ok().and_then(|pair| self.siblings.get(pair))
    }

    /// Whether what one log of a source holds may stand in one of a mirror.
    fn may_stand(&self, source: (Option<u32>, usize), mirror: (Option<u32>, usize)) -> bool {
        let in_mirror = |of: &Siblings| of.b.contains(&mirror.1);
        let in_source = |of: &Siblings| of.a.contains(&source.1);
        match (source.0, mirror.0) {
            (Some(pair), _) => self.siblings_of(pair).is_some_and(in_mirror),
            (None, Some(pair)) => self.siblings_of(pair).is_some_and(in_source),
            (None, None) => self.siblings.iter().any(|of| in_source(of) && in_mirror(of)),
        }
    }
}

/// Equal records of a partition that have no counterpart in the one of the same number, or of one without such.
#[derive(Debug)]
struct Loose {
    pair: Option<u32>,
    log: usize,
    at: Vec<Offset>,
}

/// What is noted of the partitions of mirrors and their sources.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// Pairs of which one side has a record in another partition than the other.
    pub(super) spread: BTreeSet<u32>,
    /// Partitions of sources that hold what stands nowhere in the mirror.
    pub(super) lacking: BTreeSet<usize>,
    /// What was found of partitions without counterpart.
    pub(super) unpaired: BTreeMap<usize, Found>,
    /// Where bytes cannot be read, of the pairs that have such.
    pub(super) unread: BTreeMap<u32, [Unread; 2]>,
    /// Whether it is known between which records these are.
    is_closed: bool,
}

impl Noted {
    pub(super) fn of(pairs: &[DirPair], logs: Logs<'_>) -> Self {
        let damaged = (0_u32..).zip(pairs).filter(|(_, pair)| {
            let is_damaged = logs.is_damaged(pair.a) || logs.is_damaged(pair.b);
            pair.matched_by == MatchedBy::Record && is_damaged
        });
        let unread = damaged.map(|(number, pair)| (number, [pair.a, pair.b].map(|at| Unread::of(logs, at))));
        Self { unread: unread.collect(), ..Self::default() }
    }

    /// All of which it is certain which stands for which has been noted.
    pub(super) fn close_unread(&mut self, pairs: &[DirPair], logs: Logs<'_>) {
        self.is_closed = true;
        for (number, unread) in &mut self.unread {
            let Some(pair) = usize::try_from(*number).ok().and_then(|number| pairs.get(number)) else {
                continue;
            };
            let [unread_a, unread_b] = unread;
            for (unread, own, other) in [(unread_a, pair.a, pair.b), (unread_b, pair.b, pair.a)] {
                let mut batches = None;
                unread.close(|bytes| {
                    let (own, other) =
                        batches.get_or_insert_with(|| (logs.batches(own), logs.batches(other)));
                    own.room(bytes, other)
                });
            }
        }
    }

    /// Notes what of one content is read, and where it is certain what stands for what.
    fn note_read(
        &mut self,
        number: u32,
        [a, b]: [&[Held]; 2],
        settled: Option<&Settled>,
        is_anchor: &dyn Fn(Offset, Offset) -> bool,
    ) {
        let Some([unread_a, unread_b]) = self.unread.get_mut(&number).filter(|_| !self.is_closed) else {
            return;
        };
        for (unread, held) in [(&mut *unread_a, a), (&mut *unread_b, b)] {
            for one in held {
                unread.note_read(one.offset);
            }
        }
        for (at, to) in settled.into_iter().flat_map(|settled| &settled.matched) {
            if is_anchor(at.offset, to.offset) {
                unread_a.note(at.offset, to.offset);
                unread_b.note(to.offset, at.offset);
            }
        }
    }
}

/// Whether equal records are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settling {
    Done,
    /// One side has more of them, and bytes of the other cannot be read: which are left over is known when all others
    /// are settled.
    Later,
}

/// Records of a partition without counterpart.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// They stand in a partition of the other topic.
    pub(super) there: u64,
    /// They do not.
    pub(super) nowhere: u64,
}

/// A record of a pair by the pair's number, with its counterpart in another partition.
type Elsewhere = BTreeMap<(u32, Offset), (usize, Offset)>;

/// Equal records of which the mirror has one in another partition than its source.
#[derive(Debug, Default)]
struct Moved {
    from_source: Elsewhere,
    into_mirror: Elsewhere,
    /// Of the logs without counterpart.
    unpaired: Vec<(usize, Found)>,
}

impl Moved {
    fn of<'h>(
        all_settled: &[(u32, &DirPair, &Siblings, Settled)],
        partners: &Partners<'_>,
        of: &dyn Fn(usize) -> &'h [Held],
        logs: Logs<'_>,
    ) -> Self {
        let is_shown =
            |log: usize, at: Offset| logs.outcome(log, at).is_none() && !logs.is_below_start(log, at);
        let unpaired = |logs: &[usize]| -> Vec<Loose> {
            let held =
                |log: usize| of(log).iter().map(|one| one.offset).filter(|&at| is_shown(log, at)).collect();
            logs.iter().map(|&log| Loose { pair: None, log, at: held(log) }).collect()
        };
        let [mut source, mut mirror] = partners.unpaired.each_ref().map(|logs| unpaired(logs));
        for (number, pair, siblings, settled) in all_settled {
            let (pair_number, a, b) = (Some(*number), pair.a, pair.b);
            if !siblings.b.is_empty() {
                // What was aborted need not be copied.
                let at = settled.only_a.iter().copied().filter(|&at| is_shown(a, at)).collect();
                source.push(Loose { pair: pair_number, log: a, at });
            }
            if !siblings.a.is_empty() || !siblings.b.is_empty() {
                let at = settled.only_b.iter().copied().filter(|&at| is_shown(b, at)).collect();
                mirror.push(Loose { pair: pair_number, log: b, at });
            }
        }
        source.retain(|one| !one.at.is_empty());
        mirror.retain(|one| !one.at.is_empty());
        // What is gone is gone from the front: the last are taken first. What need not be copied comes last.
        for one in &mut source {
            one.at.sort_by_key(|&at| (!logs.withholds(one.log, at), at));
        }
        for one in &mut mirror {
            one.at.sort_unstable();
        }
        let mut moved = Self::default();
        for one in &mut source {
            let at_home = (one.pair, one.log);
            for to in mirror.iter_mut().filter(|to| partners.may_stand(at_home, (to.pair, to.log))) {
                while !one.at.is_empty()
                    && let Some(there) = to.at.pop()
                    && let Some(at) = one.at.pop()
                {
                    moved.from_source.extend(one.pair.map(|pair| ((pair, at), (to.log, there))));
                    moved.into_mirror.extend(to.pair.map(|pair| ((pair, there), (one.log, at))));
                    for (_, log) in
                        [(one.pair, one.log), (to.pair, to.log)].iter().filter(|of| of.0.is_none())
                    {
                        moved.unpaired.push((*log, Found { there: 1, nowhere: 0 }));
                    }
                }
            }
        }
        let left = source.iter().chain(&mirror).filter(|one| one.pair.is_none());
        moved.unpaired.extend(left.map(|one| {
            // What waits behind an open transaction need not have been copied.
            let nowhere = one.at.iter().filter(|&&at| !logs.withholds(one.log, at)).count();
            (one.log, Found { there: 0, nowhere: u64::try_from(nowhere).unwrap_or(u64::MAX) })
        }));
        moved
    }
}

/// Matches the records of one content, or of one key.
pub(super) fn settle(
    held: &mut BTreeMap<u32, Vec<Held>>,
    partners: &Partners<'_>,
    logs: Logs<'_>,
    fates: &mut Sorter<Fate>,
    noted: &mut Noted,
) -> Result<Settling, AuditError> {
    // Rows of one key come by their contents.
    for offsets in held.values_mut() {
        offsets.sort_unstable();
    }
    let held = &*held;
    let of = |at: usize| u32::try_from(at).ok().and_then(|at| held.get(&at)).map_or(&[][..], Vec::as_slice);
    let mut all_settled = Vec::new();
    for ((number, pair), siblings) in (0_u32..).zip(partners.pairs).zip(partners.siblings) {
        if pair.matched_by == MatchedBy::Record && !(of(pair.a).is_empty() && of(pair.b).is_empty()) {
            let unread = noted.unread.get(&number).filter(|_| noted.is_closed);
            let settled = Settled::of(of(pair.a), of(pair.b), pair, logs, unread);
            all_settled.push((number, pair, siblings, settled));
        }
    }
    let mut settling = Settling::Done;
    for (number, pair, _, settled) in &all_settled {
        let is_sure = settled.is_sure(pair, logs);
        if !is_sure && !noted.is_closed && noted.unread.contains_key(number) {
            settling = Settling::Later;
        }
        let is_anchor =
            |at: Offset, to: Offset| logs.outcome(pair.b, to).is_none() && !logs.withholds(pair.a, at);
        noted.note_read(*number, [of(pair.a), of(pair.b)], Some(settled).filter(|_| is_sure), &is_anchor);
    }
    if settling == Settling::Later {
        return Ok(settling);
    }
    let moved = Moved::of(&all_settled, partners, &of, logs);
    for (log, found) in &moved.unpaired {
        let known: &mut Found = noted.unpaired.entry(*log).or_default();
        known.there += found.there;
        known.nowhere += found.nowhere;
    }
    for (number, pair, siblings, settled) in all_settled {
        let is_sure = settled.is_sure(pair, logs);
        if let Some((at, to)) = settled.last_of_equal(of(pair.a), of(pair.b), pair, logs) {
            fates.push(Fate::new(number, Kind::LastOfEqual, at, to, Marks::NONE))?;
        }
        for (at, to) in settled.matched {
            let is_shown = logs.outcome(pair.b, to.offset).is_none();
            let sure = if is_sure && is_shown { Marks::SURE } else { Marks::NONE };
            let content = if at.content == to.content { Marks::NONE } else { Marks::OTHER_CONTENT };
            let is_anchor = is_shown && !logs.withholds(pair.a, at.offset);
            let marks = sure.with(content).with(if is_anchor { Marks::SHOWN } else { Marks::NONE });
            fates.push(Fate::new(number, Kind::Matched, at.offset, to.offset, marks))?;
        }
        for (outcome, of, at) in settled.shown {
            let kind = if outcome == Outcome::Open { Kind::Open } else { Kind::Aborted };
            fates.push(Fate::new(number, kind, at, of, Marks::NONE))?;
        }
        // What stands below the start of its own log nobody gets any more.
        for at in settled.only_a.into_iter().filter(|&at| !logs.is_below_start(pair.a, at)) {
            if let Some(&(log, to)) = moved.from_source.get(&(number, at)) {
                noted.spread.insert(number);
                let fate = Fate::new(number, Kind::MissingHere, at, to, Marks::NONE);
                fates.push(Fate { elsewhere: u32::try_from(log).ok(), ..fate })?;
            } else {
                if !logs.withholds(pair.a, at) {
                    noted.lacking.insert(pair.a);
                }
                fates.push(Fate::new(number, Kind::Missing, at, at, Marks::NONE))?;
            }
        }
        let kind = if !of(pair.a).is_empty() {
            Kind::Repeated
        } else if siblings.a.iter().any(|&source| !of(source).is_empty()) {
            Kind::OtherPartition
        } else {
            Kind::Extra
        };
        if kind == Kind::OtherPartition {
            noted.spread.insert(number);
        }
        let is_shown = |at: &Offset| logs.outcome(pair.b, *at).is_none();
        let first = settled.only_b.iter().copied().filter(is_shown).min();
        for at in settled.only_b.into_iter().filter(|&at| !logs.is_below_start(pair.b, at)) {
            if let Some(&(log, to)) = moved.into_mirror.get(&(number, at)) {
                noted.spread.insert(number);
                let fate = Fate::new(number, Kind::OtherPartition, at, to, Marks::MOVED);
                fates.push(Fate { elsewhere: u32::try_from(log).ok(), ..fate })?;
                continue;
            }
            let is_again = kind != Kind::Repeated && is_shown(&at) && first != Some(at);
            let marks = if is_again { Marks::AGAIN } else { Marks::NONE };
            fates.push(Fate::new(number, kind, at, at, marks))?;
        }
    }
    Ok(Settling::Done)
}
