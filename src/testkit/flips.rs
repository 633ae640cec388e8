//! What one changed byte or one cut does to a segment: nothing may panic, no byte may be left out,
//! and no batch may be lost that was not hit.
//!
//! A scan looks at most two batches ahead while nothing is wrong. So a changed segment is read from
//! a few batches before the change, with what the scan of the unchanged one knew there, and only
//! until a scan stands where that one stood and knows the same: from there on both say the same. A
//! segment that was damaged before is read from its beginning, and its batches that were hit then, in
//! their length for example, may be lost by a second hit beside them.

use crate::format::segment::Standing;
use crate::format::{Decompressor, SegmentItem, SegmentScanner, TailExpectation};
use crate::units::Offset;
use std::ops::Range;

/// How many batches before a change the reading begins: one more than a scan looks ahead.
const BEFORE: usize = 3;

/// What a scan says of a stretch of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its first byte.
    pub start: u64,
    /// Its length.
    pub length: u64,
    /// What it is.
    pub kind: Kind,
}

/// What a scan calls some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A batch.
    Batch,
    /// A batch that can be read although it is damaged.
    Suspect,
    /// No batch.
    Damage,
}

impl Item {
    const fn end(self) -> u64 {
        self.start + self.length
    }

    fn overlaps(self, hit: &Range<u64>) -> bool {
        self.start < hit.end && hit.start < self.end()
    }
}

/// How much of a changed segment is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// What the change can have an effect on.
    Near,
    /// All of it.
    Whole,
}

/// What is said of a changed segment from some item of the unchanged one up to another.
#[derive(Debug)]
struct Stretch {
    first: usize,
    items: Vec<Item>,
    /// The first item that both have in common again.
    last: usize,
}

/// A segment as it was, and what a scan says of it.
#[derive(Debug)]
pub struct Original<'b> {
    bytes: &'b [u8],
    base: Option<Offset>,
    tail: TailExpectation,
    items: Vec<Item>,
    /// What the scan knew before each item, and at the end.
    standings: Vec<Standing>,
    is_whole: bool,
}

impl<'b> Original<'b> {
    /// Scans a segment; `base` when its name says where it begins.
    ///
    /// # Panics
    /// When its items do not follow each other without a hole.
    #[must_use]
    pub fn read(bytes: &'b [u8], base: Option<Offset>, tail: TailExpectation) -> Self {
        let mut original =
            Self { bytes, base, tail, items: Vec::new(), standings: Vec::new(), is_whole: false };
        let mut scanner = original.scanner(bytes);
        let (mut items, mut standings) = (Vec::new(), vec![scanner.standing()]);
        let mut is_whole = true;
        while let Some(item) = next(&mut scanner, &(0..0)) {
            is_whole &= item.kind == Kind::Batch;
            items.push(item);
            standings.push(scanner.standing());
        }
        assert_eq!(scanner.position().0, bytes.len() as u64, "the end is missing");
        (original.items, original.standings, original.is_whole) = (items, standings, is_whole);
        original
    }

    /// The batches that are lost although `hit` does not touch them, when the segment has become
    /// `changed` there.
    ///
    /// # Panics
    /// When the items of the changed segment do not follow each other without a hole.
    #[must_use]
    pub fn lost(&self, changed: &[u8], hit: &Range<u64>, reach: Reach) -> Vec<Item> {
        let found = self.stretch(changed, hit, reach);
        let before = self.items.get(found.first..found.last).unwrap_or_default();
        let is_there = |item: &Item| {
            let same = |found: &Item| (found.start, found.length) == (item.start, item.length);
            found.items.iter().any(|found| same(found) && found.kind != Kind::Damage)
        };
        let missed = |item: &&Item| item.kind == Kind::Batch && !item.overlaps(hit) && !is_there(item);
        before.iter().filter(missed).copied().collect()
    }

    /// Whether a near reading says the same as one of the whole segment.
    ///
    /// # Panics
    /// When the items of the changed segment do not follow each other without a hole.
    #[must_use]
    pub fn near_is_enough(&self, changed: &[u8], hit: &Range<u64>) -> bool {
        let near = self.stretch(changed, hit, Reach::Near);
        let completed = [&self.items[..near.first], &near.items, &self.items[near.last..]].concat();
        completed == self.stretch(changed, hit, Reach::Whole).items
    }

    fn stretch(&self, changed: &[u8], hit: &Range<u64>, reach: Reach) -> Stretch {
        let first = match reach {
            Reach::Near if self.is_whole => {
                self.items.partition_point(|item| item.end() <= hit.start).saturating_sub(BEFORE)
            }
            Reach::Near | Reach::Whole => 0,
        };
        let mut scanner = self.scanner(changed).going_on(&self.standings[first]);
        let mut items = Vec::new();
        while let Some(item) = next(&mut scanner, hit) {
            items.push(item);
            let in_step = reach == Reach::Near && item.end() >= hit.end;
            if in_step
                && let Ok(before) = self.items.binary_search_by_key(&item.end(), |item| item.end())
                && self.standings[before + 1] == scanner.standing()
            {
                return Stretch { first, items, last: before + 1 };
            }
        }
        assert_eq!(scanner.position().0, changed.len() as u64, "the end is missing");
        Stretch { first, items, last: self.items.len() }
    }

    fn scanner<'c>(&self, bytes: &'c [u8]) -> SegmentScanner<&'c [u8]> {
        match self.base {
            Some(base) => SegmentScanner::new(bytes, base, self.tail),
            None => SegmentScanner::unnamed(bytes, self.tail),
        }
    }

    /// The segment cut at `at`, and what that hits.
    #[must_use]
    pub fn cut(&self, at: usize) -> (&'b [u8], Range<u64>) {
        (&self.bytes[..at], at as u64..self.bytes.len() as u64)
    }
}

/// The next item; of a batch that was hit the records are read, too.
fn next(scanner: &mut SegmentScanner<&[u8]>, hit: &Range<u64>) -> Option<Item> {
    let end = scanner.position().0;
    let item = scanner.next_item().expect("memory can be read")?;
    let (start, length, kind, batch) = match &item {
        SegmentItem::Batch(batch) => (batch.position, batch.bytes.len() as u64, Kind::Batch, Some(batch)),
        SegmentItem::Suspect(suspect) => {
            (suspect.damage.position, suspect.damage.length, Kind::Suspect, Some(&suspect.batch))
        }
        SegmentItem::Damage(damage) => (damage.position, damage.length, Kind::Damage, None),
    };
    let found = Item { start: start.0, length, kind };
    assert!(found.start == end && length > 0, "a hole or no progress at {end}");
    if let Some(batch) = batch.filter(|_| found.overlaps(hit)) {
        // What it says is another matter: here it only has to end.
        let _ = batch.for_each_record(&mut Decompressor::default(), |_| ());
    }
    Some(found)
}
