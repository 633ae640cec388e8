//! Why a record of a mirror or its source that stands alone is no difference.
//!
//! A transaction withholds it; retention or a cleaner may have taken its counterpart; or that one may stand in
//! bytes that cannot be read. Where it would stand, the records beside it tell that have one.
//!
//! More than the other log can have lost it has not lost: each record had an offset, and bytes that cannot be read
//! hold no more than has room in them. Which of them it never held nobody can tell then, only how many.
//!
//! No cleaner takes the newest value of a key, nor a tombstone above an older value: these are asked for key by
//! key ([`Newest`]). And whatever was removed from the front of a log, the newest record of a key stands at its end:
//! where both show the key, it has to be the same one.

use super::super::compared;
use super::fate::{Fate, Kind, Marks};
use super::mirror::Logs;
use super::pairs::{DirPair, Siblings};
use super::settle::Noted;
use super::unread::Unread;
use crate::compare::Newest;
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};

/// Why a record that stands alone is no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excuse {
    None,
    /// It is in an aborted or open transaction.
    Withheld,
    /// Its counterpart may have been removed.
    Removed,
    /// It decides what its key is, so a cleaner would have kept it; but not all was read or followed that
    /// would show that nothing later was there.
    PerhapsRemoved,
    /// Its counterpart may stand in bytes that cannot be read.
    Unreadable,
    /// By its place its counterpart may have been removed; but more of them stand alone than the other log can have
    /// lost, and of these each is a difference.
    TooMany,
}

/// Whether a cleaner took a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cleaner {
    MayHave,
    Never,
    Unsure,
}

/// What excuses the records of a pair; the first of two values is of the source.
pub(super) struct Excuses<'a> {
    pair: DirPair,
    logs: Logs<'a>,
    unread: [Unread; 2],
    /// Where offsets are in no batch.
    holes: [Unread; 2],
    newest: Option<[Newest; 2]>,
    /// How many more records of each side may have lost their counterparts: each of these had an offset of its own.
    room: [u64; 2],
    /// Keys whose newest record of the other side has a counterpart before the newest of this side.
    stale: [BTreeSet<u64>; 2],
    /// Keys whose newest records of both sides are equal, or of which is said already that one has no counterpart.
    told: BTreeSet<u64>,
    /// The other partitions in which the counterparts of records may stand, of each side; nothing where each is in that
    /// of its number.
    elsewhere: [BTreeMap<usize, Elsewhere>; 2],
    is_spread: bool,
    /// The first record with a counterpart, of each side.
    first: [Option<Offset>; 2],
    /// The last one.
    last: [Option<Offset>; 2],
    /// Up to where the other side was cleaned, of each side.
    cleaned: [Cleaned; 2],
    /// Keys whose newest record of the other side has a counterpart.
    reached: [BTreeSet<u64>; 2],
    /// Whether a record of the source stands alone and nothing explains it: then the mirror may lag, and equal records
    /// may be matched that do not stand for each other.
    may_lag: bool,
    closed: bool,
}

impl<'a> Excuses<'a> {
    /// With the other partitions of both topics where records of one may stand in another.
    pub(super) fn of(
        (number, pair): (u32, DirPair),
        siblings: Option<&Siblings>,
        logs: Logs<'a>,
        noted: &Noted,
    ) -> Self {
        let sides = [pair.a, pair.b];
        let [others_a, others_b] =
            siblings.map_or([&[][..]; 2], |siblings| [&siblings.a[..], &siblings.b[..]]);
        let mut all = sides.iter().chain(others_a).chain(others_b);
        let newest = if all.any(|&at| logs.lost_records(at)) {
            let log = |at: usize| {
                compared::read_whole(logs.subjects.get(at)?, logs.outcomes.get(at)?, logs.options.limits)
            };
            let stop = || logs.options.watch.is_stopped();
            log(pair.a)
                .zip(log(pair.b))
                .and_then(|(a, b)| Newest::of_both([&a, &b], logs.options.mode, &stop))
        } else {
            None
        };
        let gone = |own: usize, others: &[usize]| {
            others.iter().fold(logs.gone(own), |gone, &at| gone.saturating_add(logs.gone(at)))
        };
        let known = |others: &[usize]| others.iter().map(|&at| (at, Elsewhere::default())).collect();
        Self {
            pair,
            logs,
            room: [gone(pair.b, others_b), gone(pair.a, others_a)],
            unread: noted.unread.get(&number).cloned().unwrap_or_default(),
            holes: sides.map(|at| Unread::at(logs.holes(at))),
            newest,
            stale: <[BTreeSet<u64>; 2]>::default(),
            told: BTreeSet::new(),
            elsewhere: [known(others_b), known(others_a)],
            is_spread: siblings.is_some(),
            first: [None; 2],
            last: [None; 2],
            cleaned: <[Cleaned; 2]>::default(),
            reached: <[BTreeSet<u64>; 2]>::default(),
            may_lag: others_a.iter().any(|log| {
                let found = noted.unpaired.get(log);
                noted.lacking.contains(log) || found.is_some_and(|found| found.nowhere > 0)
            }),
            closed: false,
        }
    }

    /// The log of the source.
    pub(super) const fn source(&self) -> usize {
        self.pair.a
    }

    /// Notes two equal records that are the last of their content.
    pub(super) fn note_last(&mut self, fate: Fate) {
        let Some([a, b]) = &self.newest else { return };
        let both = a.key_at(fate.at).zip(b.key_at(fate.to));
        self.told.extend(both.filter(|(one, other)| one == other).map(|(hash, _)| hash));
    }

    /// Whether a record of the source is the newest of its key there, and does not delete it.
    fn is_newest_value(&self, at: Offset) -> bool {
        let last = self.newest.as_ref().and_then(|[source, _]| source.last(source.key_at(at)?));
        last.is_some_and(|last| !last.tombstone)
    }

    /// Whether the mirror may have ended before what was removed of the source did. Which of equal records stand for which is
    /// not known then, nor with that where what is left of the source begins.
    fn lags_behind_what_was_removed(&self, at: Offset) -> bool {
        let source = self.pair.a;
        let was_cleaned =
            self.logs.cleaned_below(source).is_some() && self.cleaner(1, at, source) != Cleaner::Never;
        let mut others = self.elsewhere.iter().skip(1).flat_map(BTreeMap::keys);
        let were_removed =
            |log: usize| self.logs.cleaned_below(log).is_some() || self.logs.lost_its_head(log);
        self.may_lag
            && (was_cleaned || self.logs.lost_its_head(source) || others.any(|&log| were_removed(log)))
    }

    /// Whether which of equal records stand for which is not certain: some of the source are gone or cannot be read, and
    /// some of the mirror as well, or it may lag.
    pub(super) fn is_uncertain(&self) -> bool {
        let [source, mirror] = [self.pair.a, self.pair.b];
        let are_removed = |log: usize| self.logs.cleaned_below(log).is_some() || self.logs.lost_its_head(log);
        let [damaged_a, damaged_b] = [source, mirror].map(|log| self.logs.is_damaged(log));
        self.may_lag && (are_removed(source) || damaged_a)
            || damaged_a && (damaged_b || are_removed(mirror))
            || damaged_b && are_removed(source)
    }

    /// Notes that it is told of a record that stands alone.
    fn note_told(&mut self, fate: Fate) {
        let side = usize::from(!fate.kind.is_missing());
        let newest = self.newest.as_ref().and_then(|newest| newest.get(side));
        self.told.extend(newest.and_then(|newest| newest.key_at(fate.at)));
    }

    /// The records of the source that are the newest of their key there, while the mirror's newest has another content.
    pub(super) fn other_newest(&self, number: u32) -> Vec<Fate> {
        let Some([a, b]) = self.newest.as_ref().filter(|_| !self.is_spread) else { return Vec::new() };
        let [log_a, log_b] = [self.pair.a, self.pair.b];
        a.in_both(b)
            .filter(|(hash, _, _)| !self.told.contains(hash))
            // What waits behind an open transaction need not have been copied yet.
            .filter(|(_, at, _)| !self.logs.withholds(log_a, at.offset))
            .filter(|(_, at, to)| a.is_read_behind(at.offset) && b.is_read_behind(to.offset))
            .filter(|(_, at, to)| {
                !self.logs.is_below_start(log_a, at.offset) && !self.logs.is_below_start(log_b, to.offset)
            })
            .map(|(_, at, to)| {
                let (at, to) = (at.offset, to.offset);
                Fate::new(number, Kind::OtherNewest, at, to, Marks::NONE)
            })
            .collect()
    }

    /// Notes two records that stand for each other; all of these come before the first that stands alone.
    pub(super) fn note(&mut self, fate: Fate) {
        self.note_last(fate);
        // What was aborted need not be copied, nor what waits behind an open transaction: which of it stands for which
        // says nothing of where the other log begins.
        if !fate.marks.has(Marks::SHOWN) {
            return;
        }
        let both = [fate.at, fate.to];
        for ((first, last), offset) in self.first.iter_mut().zip(&mut self.last).zip(both) {
            *first = Some(first.map_or(offset, |first| first.min(offset)));
            *last = (*last).max(Some(offset));
        }
        let [cleaned_a, cleaned_b] = &mut self.cleaned;
        if let Some(below) = self.logs.cleaned_below(self.pair.b) {
            cleaned_a.note(fate.at, fate.to, below);
        }
        if let Some(below) = self.logs.cleaned_below(self.pair.a) {
            cleaned_b.note(fate.to, fate.at, below);
        }
        let [holes_a, holes_b] = &mut self.holes;
        holes_a.note(fate.at, fate.to);
        holes_b.note(fate.to, fate.at);
        if let Some([a, b]) = &self.newest {
            let [stale_a, stale_b] = &mut self.stale;
            let is_before =
                |own: &Newest, hash: &u64, at: Offset| own.last(*hash).is_some_and(|own| at < own.offset);
            stale_a.extend(b.key_at(fate.to).filter(|hash| is_before(a, hash, fate.at)));
            stale_b.extend(a.key_at(fate.at).filter(|hash| is_before(b, hash, fate.to)));
            let [reached_a, reached_b] = &mut self.reached;
            reached_a.extend(b.key_at(fate.to));
            reached_b.extend(a.key_at(fate.at));
        }
    }

    /// Notes a record whose counterpart stands in another partition.
    pub(super) fn note_elsewhere(&mut self, fate: Fate) {
        let side = usize::from(!fate.kind.is_missing());
        let log = fate.elsewhere.and_then(|log| usize::try_from(log).ok());
        let Some((log, known)) =
            log.and_then(|log| Some((log, self.elsewhere.get_mut(side)?.get_mut(&log)?)))
        else {
            return;
        };
        let of_source = if side == 0 { (self.pair.a, fate.at) } else { (log, fate.to) };
        if self.logs.withholds(of_source.0, of_source.1) {
            return;
        }
        known.first = Some(known.first.map_or(fate.at, |first| first.min(fate.at)));
        if let Some(below) = self.logs.cleaned_below(log) {
            known.cleaned.note(fate.at, fate.to, below);
        }
    }

    /// Whether another partition may have held the counterpart of a record.
    fn was_elsewhere(&self, side: usize, at: Offset) -> Cleaner {
        let mut said = Cleaner::Never;
        let own = self.newest.as_ref().and_then(|newest| newest.get(side));
        let key = own.and_then(|own| own.last(own.key_at(at)?));
        // Of keys that are not followed nobody knows.
        let is_newest = key.is_some_and(|last| !last.tombstone);
        let is_known = own.is_some_and(Newest::follows_all);
        for (&log, known) in self.elsewhere.get(side).into_iter().flatten() {
            let is_first = known.first.is_none_or(|first| at < first);
            if is_first && self.logs.lost_its_head(log) {
                return Cleaner::MayHave;
            }
            let was_cleaned = self.logs.cleaned_below(log).is_some_and(|below| {
                is_first || known.cleaned.holds(at, Some(Offset(below.0.saturating_sub(1))))
            });
            if was_cleaned && is_known && !is_newest {
                return Cleaner::MayHave;
            }
            let in_hole = !is_newest && self.logs.holes(log).next().is_some();
            if was_cleaned || in_hole || self.logs.is_damaged(log) {
                said = Cleaner::Unsure;
            }
        }
        said
    }

    /// Why the record of a fate is no difference.
    pub(super) fn of_fate(&mut self, fate: Fate) -> Excuse {
        let mut excuse = self.excuse(fate);
        let may_stand_alone =
            matches!(fate.kind, Kind::Extra | Kind::Repeated | Kind::OtherPartition | Kind::Aborted)
                && !fate.marks.has(Marks::MOVED);
        if excuse == Excuse::None
            && may_stand_alone
            && self.lags_behind_what_was_removed(fate.at)
            && self.has_room(1, fate)
        {
            excuse = Excuse::PerhapsRemoved;
        }
        self.may_lag |= fate.kind == Kind::Missing
            && match excuse {
                Excuse::None | Excuse::TooMany => true,
                // The mirror should hold the newest value of a key, whatever was removed.
                Excuse::Removed | Excuse::PerhapsRemoved => self.is_newest_value(fate.at),
                Excuse::Withheld | Excuse::Unreadable => false,
            };
        if excuse != Excuse::Removed || fate.kind == Kind::Aborted {
            self.note_told(fate);
        }
        excuse
    }

    fn excuse(&mut self, fate: Fate) -> Excuse {
        if !std::mem::replace(&mut self.closed, true) {
            for holes in &mut self.holes {
                holes.close(|_| u64::MAX);
            }
        }
        let (side, own, other) = match fate.kind {
            // How an open transaction ends nobody knows: that is no difference yet.
            Kind::Matched | Kind::LastOfEqual | Kind::Open | Kind::OtherOrder | Kind::OtherNewest => {
                return Excuse::None;
            }
            Kind::Missing | Kind::MissingHere => (0, self.pair.a, self.pair.b),
            Kind::Extra | Kind::Repeated | Kind::OtherPartition | Kind::Aborted => {
                (1, self.pair.b, self.pair.a)
            }
        };
        // What waits behind an open transaction need not have been copied, but once it was it is there.
        let is_withheld = if side == 0 {
            self.logs.withholds(own, fate.at)
        } else {
            self.logs.outcome(own, fate.at).is_some()
        };
        if is_withheld {
            return Excuse::Withheld;
        }
        // It is seen.
        if fate.kind == Kind::MissingHere || fate.marks.has(Marks::MOVED) {
            return Excuse::None;
        }
        let of = |places: &[Option<Offset>; 2]| places.get(side).copied().flatten();
        let is_first = of(&self.first).is_none_or(|first| fate.at < first);
        let place = match self.logs.cleaned_below(other) {
            Some(_) if is_first => Place::Cleaned,
            Some(below) => self.place(side, fate.at, below),
            None => Place::NotCleaned,
        };
        let head_is_lost = is_first && self.logs.lost_its_head(other);
        let cleaner = match (head_is_lost, place) {
            (true, _) => Cleaner::MayHave,
            (false, Place::Cleaned) => self.cleaner(side, fate.at, other),
            (false, Place::Unknown) if self.cleaner(side, fate.at, other) == Cleaner::MayHave => {
                Cleaner::Unsure
            }
            (false, Place::Unknown | Place::NotCleaned) => Cleaner::Never,
        };
        let cleaner = match (cleaner, self.was_elsewhere(side, fate.at)) {
            (Cleaner::MayHave, _) | (_, Cleaner::MayHave) => Cleaner::MayHave,
            (Cleaner::Unsure, _) | (_, Cleaner::Unsure) => Cleaner::Unsure,
            (Cleaner::Never, Cleaner::Never) => Cleaner::Never,
        };
        if cleaner == Cleaner::MayHave && self.has_room(side, fate) {
            return Excuse::Removed;
        }
        if self.unread.get_mut(1 - side).is_some_and(|unread| unread.take(fate.at)) {
            return Excuse::Unreadable;
        }
        match cleaner {
            Cleaner::Never if self.may_be_a_hole(side, fate.at, other) && self.has_room(side, fate) => {
                Excuse::PerhapsRemoved
            }
            Cleaner::Never => Excuse::None,
            Cleaner::Unsure if self.has_room(side, fate) => Excuse::PerhapsRemoved,
            Cleaner::MayHave | Cleaner::Unsure => Excuse::TooMany,
        }
    }

    /// Where the counterpart of a record would stand in a log that was cleaned below an offset.
    fn place(&self, side: usize, at: Offset, below: Offset) -> Place {
        let newest = self.newest.as_ref().and_then(|newest| newest.get(side).zip(newest.get(1 - side)));
        let gap = newest.and_then(|(_, other)| other.last_gap());
        if self.cleaned.get(side).is_some_and(|cleaned| cleaned.holds(at, gap)) {
            return Place::Cleaned;
        }
        let later = newest.and_then(|(own, other)| {
            let hash = own.key_at(at)?;
            Some((hash, other.last(hash)?))
        });
        match later {
            // It stood before that one.
            Some((_, later)) if later.offset < below => Place::Cleaned,
            // What a mirror that lags has not reached says nothing of where it stopped.
            Some((hash, _)) if !self.reached.get(side).is_some_and(|reached| reached.contains(&hash)) => {
                Place::Unknown
            }
            _ => Place::NotCleaned,
        }
    }

    /// Whether the counterpart of a record may have stood in a hole of the other log, and a later one of its key allowed a
    /// cleaner to take it, though nothing else shows that there was one.
    fn may_be_a_hole(&self, side: usize, at: Offset, other_log: usize) -> bool {
        let is_keyed = self.newest.as_ref().is_some_and(|newest| !newest.iter().any(Newest::has_unkeyed));
        let would_stand_there = self.holes.get(1 - side).is_some_and(|holes| holes.may_hold(at));
        is_keyed && would_stand_there && self.cleaner(side, at, other_log) == Cleaner::MayHave
    }

    /// Whether the other log can have held one more; what may be a copy of another record takes no room.
    fn has_room(&mut self, side: usize, fate: Fate) -> bool {
        if matches!(fate.kind, Kind::Repeated | Kind::Aborted) || fate.marks.has(Marks::AGAIN) {
            return true;
        }
        let Some(room) = self.room.get_mut(side).filter(|room| **room > 0) else { return false };
        *room -= 1;
        true
    }

    /// Whether the cleaner of the other side may have taken the counterpart of a record.
    fn cleaner(&self, side: usize, at: Offset, other_log: usize) -> Cleaner {
        let Some(newest) = &self.newest else { return Cleaner::Unsure };
        let (Some(own), Some(other)) = (newest.get(side), newest.get(1 - side)) else {
            return Cleaner::Unsure;
        };
        let Some((hash, record)) = own.key_at(at).and_then(|hash| Some((hash, own.last(hash)?))) else {
            return if own.follows_all() { Cleaner::MayHave } else { Cleaner::Unsure };
        };
        let may_have = match other.last(hash) {
            // A tombstone goes when its time is over.
            None => record.tombstone,
            Some(held) => {
                let is_older = self.stale.get(side).is_some_and(|stale| stale.contains(&hash));
                !is_older || (record.tombstone && held.tombstone)
            }
        };
        if may_have {
            return Cleaner::MayHave;
        }
        // Behind the last record that both hold, the other side may have had a tombstone for it, which is gone, too.
        let behind = self.last.get(1 - side).copied().flatten().map_or(Offset(0), Offset::next);
        let cleaned =
            self.logs.cleaned_below(other_log).map_or(other.data_end(), |below| below.min(other.data_end()));
        let may_lag = side == 1 && self.may_lag;
        if own.is_read_behind(at) && other.is_read() && cleaned <= behind && !may_lag {
            Cleaner::Never
        } else {
            Cleaner::Unsure
        }
    }
}

/// Where the counterpart of a record would stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Where the cleaner has been.
    Cleaned,
    NotCleaned,
    /// Perhaps where the cleaner has been.
    Unknown,
}

/// What is known of the records whose counterparts stand in one other partition.
#[derive(Clone, Copy, Debug, Default)]
struct Elsewhere {
    /// The first of them.
    first: Option<Offset>,
    cleaned: Cleaned,
}

/// Up to where the counterparts of records stand in what was cleaned of the other log.
#[derive(Clone, Copy, Debug, Default)]
struct Cleaned {
    /// The last record whose counterpart stands there.
    last: Option<Offset>,
    /// The last of these counterparts.
    counterpart: Option<Offset>,
    /// The first record behind it whose counterpart stands behind what was cleaned.
    behind: Option<Offset>,
}

impl Cleaned {
    /// Notes a record, and the one that stands for it in a log that was cleaned below an offset.
    fn note(&mut self, own: Offset, counterpart: Offset, below: Offset) {
        if counterpart < below {
            self.last = self.last.max(Some(own));
            self.counterpart = self.counterpart.max(Some(counterpart));
            self.behind = self.behind.filter(|behind| *behind > own);
        } else if self.last.is_none_or(|last| last < own) {
            self.behind = Some(self.behind.map_or(own, |behind| behind.min(own)));
        }
    }

    /// Whether the counterpart of a record may have stood there. Behind the last one that is left it may where offsets
    /// are without a record: `gap` is the last of these.
    fn holds(&self, at: Offset, gap: Option<Offset>) -> bool {
        let is_before = self.last.is_some_and(|last| at < last);
        is_before || gap > self.counterpart && self.behind.is_none_or(|behind| at < behind)
    }
}
