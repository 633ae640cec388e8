//! The places of a log that cannot be read, or in which nothing stands, and what stands in the other log there.
//!
//! Between which records of the other log the missing ones would stand, the nearest on both sides tell of which it is
//! certain what stands for them there. How many there can have been, the offsets tell that are missing; at the end of
//! a log, where no offset follows, how many records so many bytes hold.

use super::mirror::Logs;
use crate::units::Offset;
use std::collections::BTreeSet;

/// Where a place ends of which nothing is known in the last segment.
const NO_END: Offset = Offset(i64::MAX);

#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    /// In order.
    places: Vec<Spot>,
    /// The lowest offset of the log.
    lowest: Offset,
    /// Between which records of the other log their counterparts would stand, in order and apart; known when
    /// nothing more is noted.
    between: Vec<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Spot {
    /// What is missing begins here.
    from: Offset,
    /// Where it ends, when that is known.
    until: Option<Offset>,
    bytes: u64,
    /// The last record before it that was read.
    read_before: Option<Offset>,
    /// The first behind it.
    read_behind: Option<Offset>,
    /// The last record before it that has a counterpart, with that one.
    before: Option<(Offset, Offset)>,
    /// The first behind it.
    behind: Option<(Offset, Offset)>,
}

/// Records of the other log, and how many of them may stand where this one cannot be read.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The last before them.
    low: Offset,
    /// The first behind them.
    high: Offset,
    room: u64,
}

impl Unread {
    pub(super) fn of(logs: Logs<'_>, at: usize) -> Self {
        let (Some(subject), Some(outcome)) = (logs.subjects.get(at), logs.outcomes.get(at)) else {
            return Self::default();
        };
        let missing = outcome.damage.iter().filter(|(_, damage)| damage.records_missing);
        let places = missing.filter_map(|(segment, damage)| {
            let segment = subject.segments.get(*segment)?;
            let from = damage.first_offset.or(damage.last_offset);
            // It may stand anywhere in its segment.
            let end_of_segment = || {
                let end = segment.upper.map_or(NO_END, |upper| Offset(upper.0.saturating_sub(1)));
                from.is_none().then_some(end)
            };
            let until = damage.last_offset.or_else(end_of_segment);
            Some(Spot::of(from.unwrap_or(segment.base), until, damage.length))
        });
        let lowest = subject.segments.first().map_or(Offset(0), |segment| segment.base);
        Self { places: in_order(places), lowest, between: Vec::new() }
    }

    /// Places of which nothing but the begin is known.
    pub(super) fn at(from: impl Iterator<Item = Offset>) -> Self {
        let places = in_order(from.map(|from| Spot::of(from, None, 0)));
        Self { places, ..Self::default() }
    }

    /// Notes a record of this log.
    pub(super) fn note_read(&mut self, own: Offset) {
        let at = self.places.partition_point(|place| place.from <= own);
        if let Some(place) = self.places.get_mut(at) {
            place.read_before = place.read_before.max(Some(own));
        }
        if let Some(place) = at.checked_sub(1).and_then(|at| self.places.get_mut(at))
            && place.ends_before(own)
        {
            place.read_behind = Some(place.read_behind.map_or(own, |known| known.min(own)));
        }
    }

    /// Notes a record of this log, and the one that stands for it.
    pub(super) fn note(&mut self, own: Offset, counterpart: Offset) {
        let at = self.places.partition_point(|place| place.from <= own);
        if let Some(place) = self.places.get_mut(at)
            && place.before.is_none_or(|(known, _)| known < own)
        {
            place.before = Some((own, counterpart));
        }
        if let Some(place) = at.checked_sub(1).and_then(|at| self.places.get_mut(at))
            && place.ends_before(own)
            && place.behind.is_none_or(|(known, _)| own < known)
        {
            place.behind = Some((own, counterpart));
        }
    }

    /// Nothing more is noted: places without a record in between share those around them. `room` tells how many records
    /// so many bytes at the end of the log hold.
    pub(super) fn close(&mut self, mut room: impl FnMut(u64) -> u64) {
        let (mut before, mut read_before) = (None, None);
        for place in &mut self.places {
            before = place.before.or(before);
            read_before = place.read_before.or(read_before);
            (place.before, place.read_before) = (before, read_before);
        }
        let (mut behind, mut read_behind) = (None, None);
        for place in self.places.iter_mut().rev() {
            behind = place.behind.or(behind);
            read_behind = place.read_behind.or(read_behind);
            (place.behind, place.read_behind) = (behind, read_behind);
        }
        let mut between: Vec<Window> = Vec::new();
        for together in self.places.chunk_by(|one, next| one.gap() == next.gap()) {
            let room = self.room(together, &mut room);
            between.extend(together.first().map(|place| {
                let (low, high) = place.between();
                Window { low, high, room }
            }));
        }
        between.sort_unstable_by_key(|window| (window.low, window.high));
        for window in between {
            match self.between.last_mut() {
                Some(last) if window.low < last.high => {
                    last.high = last.high.max(window.high);
                    last.room = last.room.saturating_add(window.room);
                }
                _ => self.between.push(window),
            }
        }
    }

    /// How many records can have stood in places without a record in between.
    fn room(&self, together: &[Spot], of_bytes: &mut impl FnMut(u64) -> u64) -> u64 {
        let Some(first) = together.first() else { return 0 };
        let begin = first.read_before.map_or(self.lowest, Offset::next);
        let from_begin = |end: Offset| u64::try_from(end.0.saturating_sub(begin.0)).unwrap_or(0);
        if let Some(behind) = first.read_behind {
            return from_begin(behind);
        }
        let end = |place: &Spot| place.until.filter(|until| *until < NO_END);
        let known = together.iter().filter_map(end).max();
        let open = together.iter().filter(|place| end(place).is_none()).map(|place| place.bytes);
        let bytes = open.reduce(u64::saturating_add);
        known.map_or(0, |end| from_begin(end.next())).saturating_add(bytes.map_or(0, of_bytes))
    }

    /// Whether the counterpart of a record of the other log may stand there.
    pub(super) fn may_hold(&self, at: Offset) -> bool {
        self.window(at).and_then(|one| self.between.get(one)).is_some()
    }

    /// Whether it may, and there is room for it, which it takes.
    pub(super) fn take(&mut self, at: Offset) -> bool {
        let window = self.window(at).and_then(|one| self.between.get_mut(one));
        let Some(window) = window.filter(|window| window.room > 0) else { return false };
        window.room -= 1;
        true
    }

    fn window(&self, at: Offset) -> Option<usize> {
        let one = self.between.partition_point(|window| window.low < at).checked_sub(1)?;
        self.between.get(one).is_some_and(|window| at < window.high).then_some(one)
    }

    /// Of equal records of the other log those that are more than this one shows, and may stand where it cannot be read;
    /// both in order. What is read before a place stands for the first of them, what is read behind it for the last.
    pub(super) fn left_over(&self, other: &[Offset], own: &[Offset]) -> BTreeSet<Offset> {
        let surplus = other.len().saturating_sub(own.len());
        let mut chosen = BTreeSet::new();
        if surplus == 0 {
            return chosen;
        }
        let within = |place: &Spot| {
            let (low, high) = place.between();
            (other.partition_point(|at| *at <= low), other.partition_point(|at| *at < high))
        };
        for together in self.places.chunk_by(|one, next| one.gap() == next.gap()) {
            let Some(place) = together.first() else { continue };
            let (first, end) = within(place);
            let [low, high] = [place.before, place.behind].map(|known| known.map(|(own, _)| own));
            let read = own
                .iter()
                .filter(|at| low.is_none_or(|low| low < **at) && high.is_none_or(|high| **at < high))
                .count();
            let before = own.partition_point(|at| *at < place.from);
            let here = other.get(first..end).unwrap_or_default();
            let known = here.iter().filter(|at| chosen.contains(*at)).count();
            let most = here.len().saturating_sub(read).saturating_sub(known);
            let most = most.min(surplus.saturating_sub(chosen.len()));
            let begin = first.max(before.saturating_add(chosen.len()));
            let left = other.get(begin..end).unwrap_or_default();
            chosen.extend(left.iter().copied().take(most));
        }
        // Where records beside it cannot be told apart either, any of them.
        for (first, end) in self.places.iter().map(within) {
            let left = surplus.saturating_sub(chosen.len());
            let more: Vec<Offset> = other
                .get(first..end)
                .unwrap_or_default()
                .iter()
                .filter(|at| !chosen.contains(*at))
                .copied()
                .take(left)
                .collect();
            chosen.extend(more);
        }
        chosen
    }
}

fn in_order(places: impl Iterator<Item = Spot>) -> Vec<Spot> {
    let mut places: Vec<Spot> = places.collect();
    places.sort_unstable_by_key(|place| (place.from, place.until));
    places
}

impl Spot {
    const fn of(from: Offset, until: Option<Offset>, bytes: u64) -> Self {
        Self { from, until, bytes, read_before: None, read_behind: None, before: None, behind: None }
    }

    fn ends_before(&self, own: Offset) -> bool {
        self.until.is_none_or(|until| until < own)
    }

    /// The records that were read on both sides.
    const fn gap(&self) -> (Option<Offset>, Option<Offset>) {
        (self.read_before, self.read_behind)
    }

    /// Between which records of the other log what stood here would stand.
    fn between(&self) -> (Offset, Offset) {
        let before = self.before.map_or(Offset(i64::MIN), |(_, counterpart)| counterpart);
        let behind = self.behind.map_or(Offset(i64::MAX), |(_, counterpart)| counterpart);
        (before.min(behind), before.max(behind))
    }
}
