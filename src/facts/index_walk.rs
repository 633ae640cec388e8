//! Holds the `.index` and `.timeindex` of one segment against its batches.
//!
//! Goes in: the entries, then the batches in the order of the file. Comes out: entries with which a
//! broker cannot find what it looks for. An entry of `.index` says: whoever wants this offset, or one
//! behind it, may begin at this position. So the position must be that of a batch, and nothing at or behind
//! the offset may stand before it. Binary search needs both numbers to rise.
//!
//! Innocent: an offset that is the first or the last of its append, or the last of several batches
//! (followers, formats 0 and 1, cleaned segments); a time index whose offsets lie inside of batches
//! (2.3); zeros at the end. What the broker has not closed, or not flushed, is not brought here.
//!
//! Source: `OffsetIndex.lookup`, `TimeIndex.lookup`, `AbstractIndex.largestLowerBoundSlotFor`, `LogSegment.append`.

use crate::format::{BatchHeader, OffsetIndex, OffsetIndexEntry, TimeIndex};
use crate::units::{FilePosition, Offset};

/// An index entry that leads astray.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFault {
    /// The index file.
    pub file: String,
    /// Which entry it is, counted from 0.
    pub entry: u64,
    /// The offset that it names.
    pub offset: Offset,
    /// How.
    pub kind: IndexFaultKind,
}

/// How an index entry leads astray.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexFaultKind {
    /// Its position lies at or behind the end of the segment.
    BehindTheEnd {
        /// The position.
        position: i32,
        /// Bytes of the segment.
        bytes: u64,
    },
    /// No batch begins at its position.
    NoBatch {
        /// The position.
        position: i32,
    },
    /// The batch before its position reaches to its offset or behind it.
    Skips {
        /// The position.
        position: i32,
        /// The last offset of that batch.
        last_offset: Offset,
    },
    /// It is not behind the entry before it.
    GoesBack,
    /// Its offset is not one of the segment.
    OutsideTheSegment,
}

/// What a segment's indexes hold.
#[derive(Clone, Debug, Default)]
pub struct SegmentIndexes {
    /// The name and the bytes of its `.index`.
    pub offsets: Option<(String, Vec<u8>)>,
    /// The name and the bytes of its `.timeindex`.
    pub times: Option<(String, Vec<u8>)>,
}

/// The entries of one segment, on the way through its batches.
#[derive(Debug)]
pub struct IndexWalk {
    file: String,
    /// Entries in order, with their numbers.
    entries: Vec<(u64, OffsetIndexEntry)>,
    next: usize,
    before: Option<Offset>,
    faults: Vec<IndexFault>,
    times: Vec<(u64, Offset)>,
    time_file: String,
    base: Offset,
}

impl IndexWalk {
    /// Begins at the first batch of the segment with this base offset.
    #[must_use]
    pub fn new(indexes: &SegmentIndexes, base: Offset) -> Self {
        let mut walk = Self {
            file: String::new(),
            entries: Vec::new(),
            next: 0,
            before: None,
            faults: Vec::new(),
            times: Vec::new(),
            time_file: String::new(),
            base,
        };
        if let Some((file, bytes)) = &indexes.offsets {
            walk.file.clone_from(file);
            walk.read_offsets(bytes);
        }
        if let Some((file, bytes)) = &indexes.times {
            walk.time_file.clone_from(file);
            walk.read_times(bytes);
        }
        walk
    }

    fn read_offsets(&mut self, bytes: &[u8]) {
        let mut index = OffsetIndex::new(bytes, self.base);
        let mut last: Option<OffsetIndexEntry> = None;
        for number in 0.. {
            let Ok(Some(entry)) = index.next_entry() else { return };
            if number == 0 && entry.offset == self.base && entry.position == 0 {
                // Zeros from the first entry on, or an entry that says nothing.
                continue;
            }
            if last.is_some_and(|last| entry.offset <= last.offset || entry.position <= last.position) {
                self.fault(number, entry.offset, IndexFaultKind::GoesBack);
                continue;
            }
            last = Some(entry);
            self.entries.push((number, entry));
        }
    }

    fn read_times(&mut self, bytes: &[u8]) {
        let mut index = TimeIndex::new(bytes, self.base);
        let mut last = None;
        for number in 0.. {
            let Ok(Some(entry)) = index.next_entry() else { return };
            if last.is_some_and(|(time, offset)| entry.timestamp <= time || entry.offset < offset) {
                let (file, kind) = (self.time_file.clone(), IndexFaultKind::GoesBack);
                self.faults.push(IndexFault { file, entry: number, offset: entry.offset, kind });
                continue;
            }
            last = Some((entry.timestamp, entry.offset));
            self.times.push((number, entry.offset));
        }
    }

    /// The next batch and where it begins.
    pub fn batch(&mut self, header: &BatchHeader, position: FilePosition) {
        while let Some(&(number, entry)) = self.entries.get(self.next) {
            match entry.file_position() {
                Some(at) if at > position => break,
                Some(at) if at == position => {
                    if let Some(last_offset) = self.before.filter(|before| *before >= entry.offset) {
                        let kind = IndexFaultKind::Skips { position: entry.position, last_offset };
                        self.fault(number, entry.offset, kind);
                    }
                }
                Some(_) | None => {
                    self.fault(number, entry.offset, IndexFaultKind::NoBatch { position: entry.position });
                }
            }
            self.next = self.next.saturating_add(1);
        }
        self.before = Some(self.before.map_or(header.last_offset(), |last| last.max(header.last_offset())));
    }

    /// Ends the segment of so many bytes, behind which the log goes on at `next_base`.
    #[must_use]
    pub fn finish(mut self, bytes: u64, next_base: Option<Offset>) -> Vec<IndexFault> {
        while let Some(&(number, entry)) = self.entries.get(self.next) {
            let position = entry.position;
            let kind = if entry.file_position().is_some_and(|at| at.0 < bytes) {
                IndexFaultKind::NoBatch { position }
            } else {
                IndexFaultKind::BehindTheEnd { position, bytes }
            };
            self.fault(number, entry.offset, kind);
            self.next = self.next.saturating_add(1);
        }
        let end = next_base.or(self.before.map(Offset::next));
        let outside = |offset: Offset| offset < self.base || end.is_some_and(|end| offset >= end);
        let astray = |file: &String, entry: u64, offset: Offset| IndexFault {
            file: file.clone(),
            entry,
            offset,
            kind: IndexFaultKind::OutsideTheSegment,
        };
        let offsets = self.entries.iter().filter(|(_, entry)| outside(entry.offset));
        let offsets = offsets.map(|&(number, entry)| astray(&self.file, number, entry.offset));
        let times = self.times.iter().filter(|(_, offset)| outside(*offset));
        let times = times.map(|&(number, offset)| astray(&self.time_file, number, offset));
        let outside: Vec<IndexFault> = offsets.chain(times).collect();
        for fault in outside {
            // One entry is told once.
            if !self.faults.iter().any(|told| (&told.file, told.entry) == (&fault.file, fault.entry)) {
                self.faults.push(fault);
            }
        }
        self.faults.sort_by(|a, b| (&a.file, a.entry).cmp(&(&b.file, b.entry)));
        self.faults
    }

    fn fault(&mut self, entry: u64, offset: Offset, kind: IndexFaultKind) {
        self.faults.push(IndexFault { file: self.file.clone(), entry, offset, kind });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::batches;

    /// Four batches of 61 + 9 bytes each, at offsets 100 to 119.
    const SCRIPT: &str = "at 100; D 5/0 0..4; D 5/0 5..9; D 5/0 10..14; D 5/0 15..19";

    fn index(entries: &[(i32, i32)]) -> Vec<u8> {
        entries.iter().flat_map(|&(offset, at)| [offset.to_be_bytes(), at.to_be_bytes()].concat()).collect()
    }

    fn times(entries: &[(i64, i32)]) -> Vec<u8> {
        let bytes = |&(time, offset): &(i64, i32)| [&time.to_be_bytes()[..], &offset.to_be_bytes()].concat();
        entries.iter().flat_map(bytes).collect()
    }

    fn walked(offsets: Vec<u8>, times: Vec<u8>) -> Vec<(u64, IndexFaultKind)> {
        let offsets = Some(("index".to_owned(), offsets));
        let times = Some(("timeindex".to_owned(), times));
        let mut walk = IndexWalk::new(&SegmentIndexes { offsets, times }, Offset(100));
        for (at, batch) in (0..).zip(batches(SCRIPT)) {
            walk.batch(&batch.header, FilePosition(at * 70));
        }
        walk.finish(280, Some(Offset(120))).into_iter().map(|fault| (fault.entry, fault.kind)).collect()
    }

    fn of_offsets(entries: &[(i32, i32)]) -> Vec<(u64, IndexFaultKind)> {
        walked(index(entries), Vec::new())
    }

    #[test]
    fn what_brokers_write_is_right_whatever_offset_of_the_append_it_names() {
        for entries in [
            &[(9, 70), (14, 140), (19, 210)][..],
            // The first offset of the append (0.9); the last of several batches (followers).
            &[(5, 70), (10, 140)],
            &[(19, 70)],
            &[(4, 0), (19, 140)],
            // Zeros of an index that was never used, and of one that was.
            &[(0, 0), (0, 0)],
            &[(9, 70), (0, 0), (0, 0)],
            &[],
        ] {
            assert_eq!(of_offsets(entries), [], "{entries:?}");
        }
        let right = times(&[(1_000, 4), (2_000, 7), (3_000, 7), (4_000, 19), (0, 0)]);
        assert_eq!(walked(Vec::new(), right), []);
    }

    #[test]
    fn an_entry_that_points_nowhere_is_told() {
        let told = of_offsets(&[(9, 71), (14, 140), (19, 280)]);
        assert_eq!(
            told,
            [
                (0, IndexFaultKind::NoBatch { position: 71 }),
                (2, IndexFaultKind::BehindTheEnd { position: 280, bytes: 280 })
            ]
        );
        assert_eq!(of_offsets(&[(19, 211)]), [(0, IndexFaultKind::NoBatch { position: 211 })]);
        let negative = IndexFaultKind::NoBatch { position: -70 };
        assert_eq!(of_offsets(&[(9, -70)]), [(0, negative)]);
    }

    #[test]
    fn an_entry_behind_records_that_it_should_lead_to_is_told() {
        let skips = IndexFaultKind::Skips { position: 140, last_offset: Offset(109) };
        assert_eq!(of_offsets(&[(9, 140)]), [(0, skips)]);
    }

    #[test]
    fn entries_that_go_back_and_offsets_of_other_segments_are_told() {
        assert_eq!(of_offsets(&[(9, 70), (9, 140)]), [(1, IndexFaultKind::GoesBack)]);
        assert_eq!(of_offsets(&[(14, 140), (19, 70)]), [(1, IndexFaultKind::GoesBack)]);
        assert_eq!(of_offsets(&[(20, 210)]), [(0, IndexFaultKind::OutsideTheSegment)]);
        let told = walked(Vec::new(), times(&[(2_000, 9), (1_000, 14), (3_000, 8), (4_000, 25)]));
        let [back, outside] = [IndexFaultKind::GoesBack, IndexFaultKind::OutsideTheSegment];
        assert_eq!(told, [(1, back), (2, back), (3, outside)]);
    }
}
