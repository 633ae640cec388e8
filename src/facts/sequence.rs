//! How the sequence of a batch follows what its producer wrote before.
//!
//! Goes in: the range of a batch, and the [`SequenceTrack`] of its producer and epoch. Comes out:
//! one [`Transition`]. Brokers refuse most of these on produce, but replication, recovery and a
//! broker that lost its memory accept them all, so each can stand in a log.
//!
//! Source: `ProducerAppendInfo.checkSequence`, `ProducerStateEntry.findDuplicateBatch`. Kafka
//! remembers five batches; a track remembers the newest [`RECENT_BATCHES`] ranges exactly and all
//! others as an interval set, so its size does not grow with the log.

use crate::spill::{Element, RunReader};
use crate::units::{Offset, Sequence};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Ranges that are remembered with their exact bounds.
const RECENT_BATCHES: usize = 64;
/// Separate intervals that are remembered; beyond it the lowest two become one.
const MAX_INTERVALS: usize = 1024;
/// Half of the sequence space: a jump farther than this is a step back.
const HALF: u32 = 1 << 30;

/// How a batch follows the batches before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The first batch of the producer here, at sequence 0.
    NewProducer,
    /// The first batch of the producer here, above 0.
    NewProducerMidStream,
    /// A newer epoch, from sequence 0.
    EpochUp,
    /// A newer epoch, above 0.
    EpochUpMidStream,
    /// An epoch below one that this partition has seen.
    EpochDown,
    /// The next sequence.
    Next,
    /// Exactly a range that is there already.
    ExactRepeat,
    /// Sequences that are all there already; the bounds of their batches are no longer known.
    CoveredRepeat,
    /// Partly, or with other bounds, what is there already.
    Overlap,
    /// Lower than what was written last, and not there yet.
    StepBack,
    /// Sequences were left out.
    Gap {
        /// The first one that is missing.
        expected: Sequence,
        /// How many are missing.
        missing: u32,
    },
    /// No epoch or no sequence beside the producer id: the broker checks nothing.
    Unchecked,
}

/// Where a batch stands, and whether all of its records are still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its base offset.
    pub offset: Offset,
    /// What the cleaner left of it.
    pub left: Left,
}

/// What the cleaner left of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// All records.
    All,
    /// Not all of them.
    Some,
}

/// What one producer wrote in one epoch.
#[derive(Clone, Debug)]
pub struct SequenceTrack {
    last: Sequence,
    frontier: Sequence,
    covered: Intervals,
    recent: VecDeque<(Sequence, Sequence, Place)>,
    /// The first batch, as long as no other came: most producers of a short life write one.
    only: Option<(Sequence, Sequence, Place)>,
    /// How far the producer had come before it began again.
    before: Option<Sequence>,
}

impl SequenceTrack {
    /// Begins with the first batch, which stands at `place`.
    #[must_use]
    pub fn begin(first: Sequence, last: Sequence, place: Place) -> Self {
        let (covered, recent) = (Intervals::default(), VecDeque::new());
        Self { last, frontier: last, covered, recent, only: Some((first, last, place)), before: None }
    }

    /// The same for a producer that begins again. It may have: a batch of long ago that is sent once more
    /// looks so, and then it goes on where it was.
    #[must_use]
    pub fn begin_again(&self, first: Sequence, last: Sequence, place: Place) -> Self {
        Self { before: Some(self.frontier), ..Self::begin(first, last, place) }
    }

    /// Where the newest batch with exactly this range stands, as far as exact ranges are remembered.
    #[must_use]
    pub fn place_of(&self, first: Sequence, last: Sequence) -> Option<Place> {
        let same = |&&(from, to, _): &&(Sequence, Sequence, Place)| (from, to) == (first, last);
        self.only.iter().chain(self.recent.iter().rev()).find(same).map(|&(.., place)| place)
    }

    /// Base offsets of the newest batches, the newest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = Offset> {
        self.only.iter().chain(self.recent.iter().rev()).map(|(.., place)| place.offset)
    }

    /// Takes the next batch, which stands at `place`, and says how it follows.
    pub fn take(&mut self, first: Sequence, last: Sequence, place: Place) -> Transition {
        if let Some((first, last, place)) = self.only.take() {
            self.remember(first, last, place);
        }
        let transition = self.classify(first, last);
        self.last = last;
        if self.frontier.distance_to(last) < HALF {
            self.frontier = last;
        }
        self.remember(first, last, place);
        transition
    }

    fn classify(&self, first: Sequence, last: Sequence) -> Transition {
        if self.place_of(first, last).is_some() {
            return Transition::ExactRepeat;
        }
        match self.covered.share(first, last) {
            // With a full memory the bounds of an older batch may simply be forgotten.
            Share::All if self.recent.len() == RECENT_BATCHES => return Transition::CoveredRepeat,
            Share::All | Share::Some => return Transition::Overlap,
            Share::None => {}
        }
        let expected = self.covered.end_behind(self.last).advance(1);
        let goes_on =
            [Some(self.frontier), self.before].into_iter().flatten().any(|at| first == at.advance(1));
        if first == expected || goes_on {
            return Transition::Next;
        }
        if expected.distance_to(first) >= HALF {
            return Transition::StepBack;
        }
        // Behind a step back the producer comes past what it wrote before: that is there.
        let expected = self.covered.end_between(expected, first).map_or(expected, |end| end.advance(1));
        Transition::Gap { expected, missing: expected.distance_to(first) }
    }

    fn remember(&mut self, first: Sequence, last: Sequence, place: Place) {
        if self.recent.len() == RECENT_BATCHES {
            self.recent.pop_front();
        }
        self.recent.push_back((first, last, place));
        self.covered.insert(first, last);
    }
}

impl Element for SequenceTrack {
    fn memory(&self) -> usize {
        let exact = self.recent.capacity() * size_of::<(Sequence, Sequence, Place)>();
        size_of::<Self>() + exact + self.covered.by_start.len() * 2 * size_of::<(i32, i32)>()
    }

    fn put(&self, out: &mut Vec<u8>) {
        let sequence = |sequence: Sequence| i64::from(sequence.get());
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        [Some(self.last), Some(self.frontier), self.before].map(|one| one.map(sequence)).put(out);
        [count(self.only.iter().len()), count(self.recent.len()), count(self.covered.by_start.len())]
            .put(out);
        for &(first, last, place) in self.only.iter().chain(&self.recent) {
            [sequence(first), sequence(last), place.offset.0, i64::from(place.left == Left::All)].put(out);
        }
        for (&start, &end) in &self.covered.by_start {
            [i64::from(start), i64::from(end)].put(out);
        }
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let broken = || io::Error::from(io::ErrorKind::InvalidData);
        let int = |number: i64| i32::try_from(number).map_err(|_| broken());
        let sequence = |number: i64| Sequence::new(int(number)?).ok_or_else(broken);
        let [last, frontier, before] = <[Option<i64>; 3]>::take(from)?;
        let [only, recent, covered] = <[i64; 3]>::take(from)?;
        let mut batch = || {
            let [first, last, offset, left] = <[i64; 4]>::take(from)?;
            let left = if left == 1 { Left::All } else { Left::Some };
            Ok::<_, io::Error>((sequence(first)?, sequence(last)?, Place { offset: Offset(offset), left }))
        };
        let only = if only == 1 { Some(batch()?) } else { None };
        let recent = (0..recent).map(|_| batch()).collect::<io::Result<_>>()?;
        let interval = |_| <[i64; 2]>::take(from).and_then(|[start, end]| Ok((int(start)?, int(end)?)));
        let by_start = (0..covered).map(interval).collect::<io::Result<_>>()?;
        let (last, frontier) = (last.ok_or_else(broken)?, frontier.ok_or_else(broken)?);
        let (last, frontier, before) =
            (sequence(last)?, sequence(frontier)?, before.map(sequence).transpose()?);
        Ok(Self { last, frontier, covered: Intervals { by_start }, recent, only, before })
    }
}

enum Share {
    None,
    Some,
    All,
}

/// Ranges of sequences, both ends included; a range across the wrap is kept as two.
#[derive(Clone, Debug, Default)]
struct Intervals {
    by_start: BTreeMap<i32, i32>,
}

impl Intervals {
    fn pieces(first: Sequence, last: Sequence) -> impl Iterator<Item = (i32, i32)> {
        let (first, last) = (first.get(), last.get());
        let wraps = last < first;
        let head = if wraps { (first, i32::MAX) } else { (first, last) };
        std::iter::once(head).chain(wraps.then_some((0, last)))
    }

    fn insert(&mut self, first: Sequence, last: Sequence) {
        for (mut start, mut end) in Self::pieces(first, last) {
            while let Some((&low, &high)) = self.by_start.range(..=end.saturating_add(1)).next_back() {
                if high.saturating_add(1) < start {
                    break;
                }
                self.by_start.remove(&low);
                start = start.min(low);
                end = end.max(high);
            }
            self.by_start.insert(start, end);
        }
        while self.by_start.len() > MAX_INTERVALS
            && let Some((start, _)) = self.by_start.pop_first()
            && let Some((_, end)) = self.by_start.pop_first()
        {
            self.by_start.insert(start, end);
        }
    }

    fn share(&self, first: Sequence, last: Sequence) -> Share {
        let (mut all, mut some) = (true, false);
        for (start, end) in Self::pieces(first, last) {
            match self.by_start.range(..=end).next_back() {
                Some((&low, &high)) if high >= start => {
                    some = true;
                    all &= low <= start && high >= end;
                }
                _ => all = false,
            }
        }
        match (all, some) {
            (true, _) => Share::All,
            (false, true) => Share::Some,
            (false, false) => Share::None,
        }
    }

    /// The end of the last range from `from` on that ends in front of `to`.
    fn end_between(&self, from: Sequence, to: Sequence) -> Option<Sequence> {
        let before = to.get().checked_sub(1).unwrap_or(i32::MAX);
        let pieces: Vec<(i32, i32)> = Self::pieces(from, Sequence::new(before)?).collect();
        let last_in = |&(start, end): &(i32, i32)| {
            let range = self.by_start.range(start..=end).next_back();
            range.and_then(|(_, &last)| Sequence::new(last.min(end)))
        };
        pieces.iter().rev().find_map(last_in)
    }

    /// The end of the unbroken range that holds `sequence`, across the wrap.
    fn end_behind(&self, sequence: Sequence) -> Sequence {
        let end_of =
            |at: i32| self.by_start.range(..=at).next_back().map(|(_, &end)| end).filter(|&end| end >= at);
        let end = end_of(sequence.get()).unwrap_or(sequence.get());
        let end = if end == i32::MAX { end_of(0).unwrap_or(end) } else { end };
        Sequence::new(end).unwrap_or(sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where batches stand is kept, and decides nothing.
    const AT: Place = Place { offset: Offset(7), left: Left::All };

    fn seq(number: i32) -> Sequence {
        Sequence::new(number).unwrap()
    }

    fn after(ranges: &[(i32, i32)]) -> SequenceTrack {
        let mut track = SequenceTrack::begin(seq(ranges[0].0), seq(ranges[0].1), AT);
        for &(first, last) in &ranges[1..] {
            track.take(seq(first), seq(last), AT);
        }
        track
    }

    fn then(ranges: &[(i32, i32)], first: i32, last: i32) -> Transition {
        after(ranges).take(seq(first), seq(last), AT)
    }

    #[test]
    fn the_next_sequence_after_the_largest_is_zero() {
        assert_eq!(then(&[(i32::MAX - 2, i32::MAX)], 0, 4), Transition::Next);
    }

    #[test]
    fn a_batch_across_the_wrap_is_followed_by_the_sequence_behind_it() {
        assert_eq!(then(&[(i32::MAX - 4, i32::MAX - 2), (i32::MAX - 1, 1)], 2, 3), Transition::Next);
        assert_eq!(then(&[(i32::MAX - 1, 0)], 7, 8), Transition::Gap { expected: seq(1), missing: 6 });
    }

    #[test]
    fn a_batch_across_the_wrap_that_comes_again_is_a_repeat() {
        assert_eq!(then(&[(i32::MAX - 1, 1)], i32::MAX - 1, 1), Transition::ExactRepeat);
    }

    #[test]
    fn left_out_sequences_are_counted() {
        assert_eq!(then(&[(0, 4)], 9, 9), Transition::Gap { expected: seq(5), missing: 4 });
    }

    #[test]
    fn a_repeat_that_steps_back_and_goes_on_is_no_gap() {
        let mut track = after(&[(0, 2), (3, 3), (4, 5)]);
        assert_eq!(track.take(seq(3), seq(3), AT), Transition::ExactRepeat);
        assert_eq!(track.take(seq(6), seq(6), AT), Transition::Next);
    }

    #[test]
    fn a_gap_behind_a_repeat_is_counted_from_the_highest_sequence() {
        let mut track = after(&[(0, 4), (5, 9), (0, 4)]);
        assert_eq!(track.take(seq(12), seq(12), AT), Transition::Gap { expected: seq(10), missing: 2 });
    }

    #[test]
    fn other_bounds_over_the_same_sequences_overlap() {
        assert_eq!(then(&[(0, 3), (4, 7)], 0, 2), Transition::Overlap);
        assert_eq!(then(&[(0, 3), (4, 7)], 6, 9), Transition::Overlap);
    }

    #[test]
    fn a_start_below_the_first_one_is_a_step_back_and_what_follows_it_is_next() {
        let mut track = after(&[(57, 60)]);
        assert_eq!(track.take(seq(0), seq(2), AT), Transition::StepBack);
        assert_eq!(track.take(seq(3), seq(3), AT), Transition::Next);
        assert_eq!(track.take(seq(6), seq(6), AT), Transition::Gap { expected: seq(4), missing: 2 });
    }

    #[test]
    fn what_was_written_before_a_step_back_is_not_missing_behind_it() {
        let island = [(57, 60), (30, 33), (0, 4)];
        assert_eq!(then(&island, 65, 66), Transition::Gap { expected: seq(61), missing: 4 });
        assert_eq!(then(&island, 40, 41), Transition::Gap { expected: seq(34), missing: 6 });
        assert_eq!(then(&island, 20, 21), Transition::Gap { expected: seq(5), missing: 15 });
        let wrapped = [(2, 3), (i32::MAX - 9, i32::MAX - 8)];
        assert_eq!(then(&wrapped, 7, 7), Transition::Gap { expected: seq(4), missing: 3 });
        assert_eq!(then(&wrapped, 1, 1), Transition::Gap { expected: seq(i32::MAX - 7), missing: 9 });
    }

    #[test]
    fn a_repeat_whose_bounds_are_forgotten_is_still_no_anomaly() {
        let mut track = after(&[(0, 0)]);
        for number in 1..1000 {
            assert_eq!(track.take(seq(number), seq(number), AT), Transition::Next);
        }
        assert_eq!(track.take(seq(3), seq(3), AT), Transition::CoveredRepeat);
        assert_eq!(track.take(seq(999), seq(999), AT), Transition::ExactRepeat);
    }

    #[test]
    fn a_track_that_was_written_and_read_back_goes_on_as_before() {
        let one = after(&[(3, 4)]);
        let mut many = after(&[(0, 2), (3, 3), (7, 9), (i32::MAX - 1, 1)]);
        many.before = Some(seq(77));
        for track in [one, many] {
            let mut shelf = crate::spill::Share::default().shelf();
            shelf.put(&track).unwrap();
            let back = shelf.finish().unwrap().at(0).unwrap();
            assert_eq!(format!("{:?}", Some(track)), format!("{back:?}"));
        }
    }

    #[test]
    fn a_track_stays_small_whatever_is_written() {
        let mut track = after(&[(0, 0)]);
        for number in 0..20_000 {
            track.take(seq(number * 3), seq(number * 3), AT);
        }
        assert!(track.covered.by_start.len() <= MAX_INTERVALS);
        assert!(track.recent.len() <= RECENT_BATCHES);
    }
}
