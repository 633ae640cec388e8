//! Equal records of a mirror and its source: which stand for which, and what is left over.
//!
//! Goes in: the places of all records of one content, or of one key. Comes out: a [`Fate`] for each.

use super::fate::{Fate, Kind, Marks};
use super::mirror::Logs;
use super::pairs::{DirPair, MatchedBy, Siblings};
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
    fn of(a: &[Held], b: &[Held], pair: &DirPair, logs: Logs<'_>) -> Self {
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

/// Matches the records of one content, or of one key. Pairs of which one side has a record in another partition than
/// the other go into `spread`.
pub(super) fn settle(
    held: &mut BTreeMap<u32, Vec<Held>>,
    (pairs, siblings): (&[DirPair], &[Siblings]),
    logs: Logs<'_>,
    (fates, spread): (&mut Sorter<Fate>, &mut BTreeSet<u32>),
) -> Result<(), AuditError> {
    // Rows of one key come by their contents.
    for offsets in held.values_mut() {
        offsets.sort_unstable();
    }
    let held = &*held;
    let of = |at: usize| u32::try_from(at).ok().and_then(|at| held.get(&at)).map_or(&[][..], Vec::as_slice);
    let mut all_settled = Vec::new();
    for ((number, pair), siblings) in (0_u32..).zip(pairs).zip(siblings) {
        if pair.matched_by == MatchedBy::Record && !(of(pair.a).is_empty() && of(pair.b).is_empty()) {
            all_settled.push((number, pair, siblings, Settled::of(of(pair.a), of(pair.b), pair, logs)));
        }
    }
    // What the partitions of mirrors hold beyond what they were matched with.
    let mut spare: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, _, siblings, _) in all_settled.iter().filter(|(_, _, _, settled)| !settled.only_a.is_empty()) {
        for &at in &siblings.b {
            let left = all_settled.iter().find(|(_, pair, _, _)| pair.b == at);
            let is_shown = |offset: Offset| logs.outcome(at, offset).is_none();
            let left = match left {
                Some((_, _, _, settled)) => settled.only_b.iter().filter(|offset| is_shown(**offset)).count(),
                None => of(at).iter().filter(|one| is_shown(one.offset)).count(),
            };
            spare.insert(at, left);
        }
    }
    for (number, pair, siblings, settled) in all_settled {
        let is_sure = settled.is_sure(pair, logs);
        if let Some((at, to)) = settled.last_of_equal(of(pair.a), of(pair.b), pair, logs) {
            fates.push(Fate { pair: number, kind: Kind::LastOfEqual, at, to, marks: Marks::NONE })?;
        }
        for (at, to) in settled.matched {
            let is_shown = logs.outcome(pair.b, to.offset).is_none();
            let sure = if is_sure && is_shown { Marks::SURE } else { Marks::NONE };
            let content = if at.content == to.content { Marks::NONE } else { Marks::OTHER_CONTENT };
            let is_anchor = is_shown && !logs.withholds(pair.a, at.offset);
            let marks = sure.with(content).with(if is_anchor { Marks::SHOWN } else { Marks::NONE });
            fates.push(Fate { pair: number, kind: Kind::Matched, at: at.offset, to: to.offset, marks })?;
        }
        for (outcome, of, at) in settled.shown {
            let kind = if outcome == Outcome::Open { Kind::Open } else { Kind::Aborted };
            fates.push(Fate { pair: number, kind, at, to: of, marks: Marks::NONE })?;
        }
        // What stands below the start of its own log nobody gets any more.
        for at in settled.only_a.into_iter().filter(|&at| !logs.is_below_start(pair.a, at)) {
            let elsewhere = siblings.b.iter().copied().find(|at| spare.get(at).is_some_and(|left| *left > 0));
            let kind = if elsewhere.is_some() { Kind::MissingHere } else { Kind::Missing };
            if let Some(left) = elsewhere.and_then(|elsewhere| spare.get_mut(&elsewhere)) {
                *left -= 1;
                spread.insert(number);
            }
            fates.push(Fate { pair: number, kind, at, to: at, marks: Marks::NONE })?;
        }
        let kind = if !of(pair.a).is_empty() {
            Kind::Repeated
        } else if siblings.a.iter().any(|&source| !of(source).is_empty()) {
            Kind::OtherPartition
        } else {
            Kind::Extra
        };
        if kind == Kind::OtherPartition {
            spread.insert(number);
        }
        let is_shown = |at: &Offset| logs.outcome(pair.b, *at).is_none();
        let first = settled.only_b.iter().copied().filter(is_shown).min();
        for at in settled.only_b.into_iter().filter(|&at| !logs.is_below_start(pair.b, at)) {
            let is_again = kind != Kind::Repeated && is_shown(&at) && first != Some(at);
            let marks = if is_again { Marks::AGAIN } else { Marks::NONE };
            fates.push(Fate { pair: number, kind, at, to: at, marks })?;
        }
    }
    Ok(())
}
