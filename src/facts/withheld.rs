//! Offsets that transactions withhold from read_committed consumers, in two to four bytes a range.
//!
//! Goes in: ranges of offsets, about in the order of the markers that end them. Comes out: a set in
//! offset order that tells the outcome at an offset. A log may hold millions of aborted transactions,
//! and all of them count for what consumers see, so none is left out: a range is two variable-length
//! numbers, the distance from the end of the one before and its length, and every
//! [`RANGES_OF_A_BLOCK`]th one has its place in a list.

use super::Outcome;
use super::packed::{Unpack, put};
use crate::units::Offset;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// So many ranges are decoded at most for one look-up.
const RANGES_OF_A_BLOCK: u32 = 32;
/// Ranges that wait, 24 bytes each, before they are put in order and packed.
const WAITING: usize = 1 << 15;

/// Offsets, both ends included, whose records a transaction withholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WithheldRange {
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset.
    pub last_offset: Offset,
    /// [`Outcome::Aborted`] or [`Outcome::Open`].
    pub outcome: Outcome,
}

/// What transactions withhold in one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withheld {
    packed: Vec<u8>,
    blocks: Vec<Block>,
    /// Ranges since the last block began.
    in_block: u32,
    /// The newest range, which may still grow.
    newest: Option<WithheldRange>,
    /// The last offset of the range that was packed last.
    packed_to: Offset,
}

/// Where a block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    /// The first offset of its first range.
    first_offset: Offset,
    /// The last offset before it.
    behind: Offset,
    /// Where it begins among the bytes.
    at: usize,
}

impl Withheld {
    /// Which outcome withholds the record at `offset`.
    #[must_use]
    pub fn at(&self, offset: Offset) -> Option<Outcome> {
        if let Some(newest) = self.newest
            && newest.first_offset <= offset
        {
            return (offset <= newest.last_offset).then_some(newest.outcome);
        }
        let behind = self.blocks.partition_point(|block| block.first_offset <= offset);
        let block = *self.blocks.get(behind.checked_sub(1)?)?;
        let range = self.unpacked(block).take_while(|range| range.first_offset <= offset).last()?;
        (offset <= range.last_offset).then_some(range.outcome)
    }

    /// The ranges in offset order.
    pub fn iter(&self) -> impl Iterator<Item = WithheldRange> {
        let first = self.blocks.first().copied();
        first.into_iter().flat_map(|block| self.unpacked(block)).chain(self.newest)
    }

    fn unpacked(&self, block: Block) -> Ranges<'_> {
        let bytes = Unpack::new(self.packed.get(block.at..).unwrap_or_default());
        Ranges { bytes, behind: block.behind }
    }

    /// Adds a range that does not begin before the others. It joins the newest where it touches it and
    /// has its outcome; what overlaps another outcome is cut.
    fn push(&mut self, range: WithheldRange) {
        let Some(newest) = &mut self.newest else {
            self.newest = Some(range);
            return;
        };
        if newest.outcome == range.outcome && newest.last_offset.next() >= range.first_offset {
            newest.last_offset = newest.last_offset.max(range.last_offset);
            return;
        }
        let range =
            WithheldRange { first_offset: range.first_offset.max(newest.last_offset.next()), ..range };
        if range.first_offset > range.last_offset {
            return;
        }
        let done = std::mem::replace(newest, range);
        self.pack(done);
    }

    fn pack(&mut self, range: WithheldRange) {
        if self.in_block.is_multiple_of(RANGES_OF_A_BLOCK) {
            let (first_offset, behind) = (range.first_offset, self.packed_to);
            self.blocks.push(Block { first_offset, behind, at: self.packed.len() });
            self.in_block = 0;
        }
        self.in_block += 1;
        put(&mut self.packed, distance(self.packed_to, range.first_offset));
        // Lengths of all offsets there are fit into 63 bits.
        let length = distance(range.first_offset, range.last_offset) << 1;
        put(&mut self.packed, length | u64::from(range.outcome == Outcome::Open));
        self.packed_to = range.last_offset;
    }
}

impl FromIterator<WithheldRange> for Withheld {
    fn from_iter<T: IntoIterator<Item = WithheldRange>>(ranges: T) -> Self {
        let mut collected = Collected::default();
        for range in ranges {
            collected.add(range);
        }
        collected.finish()
    }
}

/// Ranges as they become known, in any order.
#[derive(Debug, Default)]
pub(super) struct Collected {
    waiting: Vec<WithheldRange>,
    /// Packed ones, each in order, and all across each other.
    runs: Vec<Withheld>,
}

impl Collected {
    pub(super) fn add(&mut self, range: WithheldRange) {
        if range.first_offset > range.last_offset || range.first_offset < Offset(0) {
            return;
        }
        self.waiting.push(range);
        if self.waiting.len() == WAITING {
            self.pack();
        }
    }

    fn pack(&mut self) {
        self.waiting.sort_unstable();
        let mut run = Withheld::default();
        for range in self.waiting.drain(..) {
            run.push(range);
        }
        self.runs.push(run);
    }

    /// All of them in order, merged where they touch.
    pub(super) fn finish(mut self) -> Withheld {
        if !self.waiting.is_empty() {
            self.pack();
        }
        self.waiting = Vec::new();
        if self.runs.len() < 2 {
            return self.runs.pop().unwrap_or_default();
        }
        let mut all = Withheld::default();
        let mut rests: Vec<_> = self.runs.iter().map(Withheld::iter).collect();
        let firsts = rests.iter_mut().enumerate().filter_map(|(run, rest)| Some((rest.next()?, run)));
        let mut next: BinaryHeap<_> = firsts.map(Reverse).collect();
        while let Some(mut least) = next.peek_mut() {
            let Reverse((range, run)) = *least;
            all.push(range);
            match rests.get_mut(run).and_then(Iterator::next) {
                Some(range) => *least = Reverse((range, run)),
                None => drop(PeekMut::pop(least)),
            }
        }
        drop(rests);
        all.packed.shrink_to_fit();
        all
    }
}

/// Reads ranges out of their bytes.
struct Ranges<'b> {
    bytes: Unpack<'b>,
    behind: Offset,
}

impl Iterator for Ranges<'_> {
    type Item = WithheldRange;

    fn next(&mut self) -> Option<WithheldRange> {
        let gap = self.bytes.take()?;
        let length = self.bytes.take()?;
        let first_offset = Offset(self.behind.0.saturating_add_unsigned(gap));
        let last_offset = Offset(first_offset.0.saturating_add_unsigned(length >> 1));
        self.behind = last_offset;
        let outcome = if length & 1 == 1 { Outcome::Open } else { Outcome::Aborted };
        Some(WithheldRange { first_offset, last_offset, outcome })
    }
}

fn distance(from: Offset, to: Offset) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(first: i64, last: i64, outcome: Outcome) -> WithheldRange {
        WithheldRange { first_offset: Offset(first), last_offset: Offset(last), outcome }
    }

    #[test]
    fn a_million_aborted_transactions_take_a_few_bytes_each() {
        let aborted = (0..1_000_000).map(|number| range(number * 7, number * 7 + 2, Outcome::Aborted));
        let withheld: Withheld = aborted.clone().collect();
        assert!(withheld.iter().eq(aborted));
        let bytes = withheld.packed.capacity() + withheld.blocks.capacity() * size_of::<Block>();
        assert!(bytes < 4_000_000, "{bytes}");
    }

    proptest! {
        #[test]
        fn each_offset_has_the_outcome_of_its_range_in_whatever_order_they_come(
            steps in prop::collection::vec((1_i64..400, 0_i64..300, any::<bool>(), any::<u32>()), 1..300),
        ) {
            let mut end = -1;
            let mut ranges = Vec::new();
            for (gap, length, open, order) in steps {
                let outcome = if open { Outcome::Open } else { Outcome::Aborted };
                let first = end + gap;
                end = first + length;
                ranges.push((order, range(first, end, outcome)));
            }
            let naive = |offset: i64| {
                let holds = |(_, one): &&(u32, WithheldRange)| one.first_offset.0 <= offset && offset <= one.last_offset.0;
                ranges.iter().find(holds).map(|(_, one)| one.outcome)
            };
            let mut shuffled = ranges.clone();
            shuffled.sort_by_key(|&(order, _)| order);
            let mut collected = Collected::default();
            for (number, &(_, range)) in shuffled.iter().enumerate() {
                collected.add(range);
                if number % 40 == 39 {
                    collected.pack();
                }
            }
            let withheld = collected.finish();
            for offset in 0..=end + 2 {
                prop_assert_eq!(withheld.at(Offset(offset)), naive(offset), "{}", offset);
            }
        }

        #[test]
        fn ranges_that_lie_across_each_other_lose_nothing(
            ranges in prop::collection::vec((0_i64..500, 0_i64..50, any::<bool>()), 0..60),
        ) {
            let open = |open| if open { Outcome::Open } else { Outcome::Aborted };
            let withheld: Withheld =
                ranges.iter().map(|&(first, length, is_open)| range(first, first + length, open(is_open))).collect();
            for offset in 0..600 {
                let any = ranges.iter().any(|&(first, length, _)| first <= offset && offset <= first + length);
                prop_assert_eq!(withheld.at(Offset(offset)).is_some(), any, "{}", offset);
            }
        }
    }
}
