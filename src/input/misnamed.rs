//! Segments whose batches do not begin where their file's name says: renamed by hand, or put back under
//! another name.
//!
//! Goes in: the live segments of a partition. Comes out: the same, with the base offset that their
//! batches give, in that order, and a note with both names. The name stands unless nothing speaks
//! against the batches:
//!
//! - the first two items are batches that prove themselves, the second goes on behind the first, and
//!   neither can stand in a segment of that name: a base offset alone has no checksum;
//! - all batches of the file are in line, and none is at an offset that another segment of the
//!   partition holds: two files that claim the same offsets are both left where their names put them;
//! - it is the only segment, or one of the others goes on from it or it from one of them: a file that
//!   stands apart may be of another log, and would make the offsets between look lost.
//!
//! Only the first bytes of a segment are looked at where the name is right.

use super::inventory::SegmentFile;
use super::place::FilePlace;
use super::remarks::Remarks;
use super::window::FileWindow;
use crate::format::segment::TailExpectation;
use crate::format::{ByteSource, SegmentItem, SegmentScanner};
use crate::units::Offset;

/// The base offset of a batch, its first field.
const BASE_OFFSET: usize = 8;

/// Where the batches of a segment are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first offset of its first batch.
    pub first: Offset,
    /// The highest offset.
    pub last: Offset,
}

/// The offsets of a segment that is looked at by itself, where they are sure and none of them can stand
/// in a segment with the base offset of its name.
pub fn offsets_against_name(place: &FilePlace, len: u64, base: Offset) -> Option<Range> {
    let name = Name { base, next: None };
    begins_elsewhere(place, len, name).then(|| range_against(place, len, name)).flatten()
}

/// Gives segments that are ascending by name the base offsets that their batches have, and sorts them
/// by these.
pub(super) fn settle(segments: &mut [SegmentFile], remarks: &mut Remarks) {
    let next_names: Vec<_> = segments.iter().skip(1).map(|next| Some(next.base)).chain([None]).collect();
    let mut found: Vec<(usize, Range)> = Vec::new();
    for (at, (segment, next)) in segments.iter().zip(next_names).enumerate() {
        let name = Name { base: segment.base, next };
        if begins_elsewhere(&segment.place, segment.len, name)
            && let Some(range) = range_against(&segment.place, segment.len, name)
        {
            found.push((at, range));
        }
    }
    while let Some(refuted) = refuted(segments, &found) {
        found.retain(|(at, _)| !refuted.contains(at));
    }
    for (at, range) in found {
        let Some(segment) = segments.get_mut(at) else { continue };
        remarks.note(
            segment.place.path(),
            format!(
                "its batches hold offsets {} to {}, its name says {}: read as the segment {:020}.log, and its indexes \
                 are not held against it",
                range.first, range.last, segment.base, range.first.0
            ),
        );
        segment.base = range.first;
    }
    segments.sort_by_key(|segment| segment.base);
}

/// What names say of the offsets of a segment.
#[derive(Clone, Copy)]
struct Name {
    base: Offset,
    /// The base offset of the segment behind it.
    next: Option<Offset>,
}

impl Name {
    fn admits(self, offset: Offset) -> bool {
        // A segment spans at most 2³¹ offsets, because its index counts them in 32 bits.
        let end = self.base.plus(i64::from(i32::MAX)).next();
        (self.base..end).contains(&offset) && self.next.is_none_or(|next| offset < next)
    }
}

/// Whether the first bytes are another base offset than one of a segment of that name.
fn begins_elsewhere(place: &FilePlace, len: u64, name: Name) -> bool {
    let first = FileWindow::with_capacity(place, len, BASE_OFFSET).and_then(|mut file| {
        let bytes = file.window(0, BASE_OFFSET)?;
        Ok(bytes.first_chunk().map(|bytes| Offset(i64::from_be_bytes(*bytes))))
    });
    // What cannot be read is told by who reads it.
    matches!(first, Ok(Some(first)) if !name.admits(first))
}

/// The offsets of a segment when they are sure and not what its name says.
fn range_against(place: &FilePlace, len: u64, name: Name) -> Option<Range> {
    let source = FileWindow::open(place, len).ok()?;
    let mut scanner = SegmentScanner::unnamed(source, TailExpectation::MayBeTorn);
    let mut range: Option<Range> = None;
    let mut batches = 0_u64;
    loop {
        match scanner.next_item().ok()? {
            None => break,
            Some(SegmentItem::Batch(batch)) => {
                let (first, last) = (batch.header.base_offset, batch.header.last_offset());
                // A wrapper shows only its last offset.
                batch.header.records_count?;
                if batches < 2 && (name.admits(first) || range.is_some_and(|range| first <= range.last)) {
                    return None;
                }
                batches += 1;
                range = Some(Range { first: range.map_or(first, |range| range.first), last });
            }
            Some(SegmentItem::Suspect(suspect)) if batches >= 2 => {
                let belongs_at = suspect.belongs_at;
                let batch = suspect.batch;
                let last = belongs_at?.plus(i64::from(batch.header.last_offset_delta));
                range = range.map(|range| Range { last: range.last.max(last), ..range });
            }
            Some(SegmentItem::Damage(_)) if batches >= 2 => {}
            Some(SegmentItem::Suspect(_) | SegmentItem::Damage(_)) => return None,
        }
    }
    let range = range.filter(|_| batches >= 2)?;
    let spans = range.last.0.checked_sub(range.first.0)?;
    (range.first >= Offset(0) && spans <= i64::from(i32::MAX)).then_some(range)
}

/// Those of `found` that hold offsets which another segment claims, or that go on from none of the
/// others; `None` when there are none.
fn refuted(segments: &[SegmentFile], found: &[(usize, Range)]) -> Option<Vec<usize>> {
    let range_of = |at: usize| found.iter().find(|(found, _)| *found == at).map(|(_, range)| *range);
    let mut order: Vec<(Offset, usize)> = segments
        .iter()
        .enumerate()
        .map(|(at, segment)| (range_of(at).map_or(segment.base, |range| range.first), at))
        .collect();
    order.sort_unstable();
    let is_refuted = |at: usize| {
        let place = order.iter().position(|&(_, other)| other == at)?;
        let range = range_of(at)?;
        let before = place.checked_sub(1).and_then(|before| order.get(before));
        let behind = order.get(place + 1).map(|&(first, _)| first);
        let end = before.and_then(|&(_, before)| match range_of(before) {
            Some(range) => Some(range.last),
            None => last_of(segments.get(before)?),
        });
        let overlaps =
            end.is_some_and(|end| end >= range.first) || behind.is_some_and(|next| next <= range.last);
        let goes_on = end.is_some_and(|end| end.next() == range.first) || behind == Some(range.last.next());
        Some(overlaps || !(goes_on || segments.len() == 1))
    };
    let refuted: Vec<_> =
        found.iter().map(|(at, _)| *at).filter(|&at| is_refuted(at) == Some(true)).collect();
    (!refuted.is_empty()).then_some(refuted)
}

/// The highest offset of a segment under its own name, as far as it can be read.
fn last_of(segment: &SegmentFile) -> Option<Offset> {
    let source = FileWindow::open(&segment.place, segment.len).ok()?;
    let mut scanner = SegmentScanner::new(source, segment.base, TailExpectation::MayBeTorn);
    let mut last = None;
    while let Ok(Some(item)) = scanner.next_item() {
        if let SegmentItem::Batch(batch) = item {
            last = last.max(Some(batch.header.last_offset()));
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::SegmentRole;
    use crate::testkit::{SegmentBuilder, batch};
    use std::path::Path;

    /// A segment of `batches` with two records each, from `first` on.
    fn segment(first: i64, batches: usize) -> Vec<u8> {
        (0..batches)
            .fold(SegmentBuilder::at(first), |segment, _| {
                segment.batch(batch().record("k", "v").record("l", "v"))
            })
            .bytes()
    }

    /// What the files are taken for, each with its name, and how many notes there are.
    fn settled(files: &[(i64, Vec<u8>)]) -> (Vec<(i64, i64)>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut segments: Vec<_> =
            files.iter().map(|(name, bytes)| file(folder.path(), *name, bytes)).collect();
        let mut remarks = Remarks::default();
        settle(&mut segments, &mut remarks);
        let named = |segment: &SegmentFile| segment.wrong_name().unwrap_or(segment.base).0;
        let taken = segments.iter().map(|segment| (named(segment), segment.base.0)).collect();
        (taken, remarks.finish(|path| path.display().to_string()).0.len())
    }

    fn file(folder: &Path, name: i64, bytes: &[u8]) -> SegmentFile {
        let file_name = format!("{name:020}.log");
        let path = folder.join(&file_name);
        std::fs::write(&path, bytes).unwrap();
        SegmentFile {
            base: Offset(name),
            place: path.into(),
            file_name,
            len: bytes.len() as u64,
            modified: None,
            identity: None,
            role: SegmentRole::Closed,
        }
    }

    #[test]
    fn a_segment_is_what_its_batches_say() {
        assert_eq!(settled(&[(500, segment(0, 5))]), (vec![(500, 0)], 1));
        let files = [(0, segment(0, 5)), (100, segment(20, 5)), (10, segment(10, 5))];
        let mut files = files.to_vec();
        files.sort_by_key(|(name, _)| *name);
        assert_eq!(settled(&files), (vec![(0, 0), (10, 10), (100, 20)], 1));
        let files = [(0, segment(0, 5)), (5, segment(10, 5)), (20, segment(20, 5))];
        assert_eq!(settled(&files).0, [(0, 0), (5, 5), (20, 20)], "a name that batches can have stands");
        let files = [(0, segment(0, 5)), (5, segment(20, 5)), (10, segment(10, 5))];
        assert_eq!(settled(&files), (vec![(0, 0), (10, 10), (5, 20)], 1));
    }

    #[test]
    fn two_names_that_were_swapped_are_swapped_back() {
        let files = [(0, segment(10, 5)), (10, segment(0, 5)), (20, segment(20, 1))];
        assert_eq!(settled(&files), (vec![(10, 0), (0, 10), (20, 20)], 2));
    }

    #[test]
    fn two_files_that_claim_the_same_offsets_are_left_alone() {
        for files in [
            vec![(0, segment(0, 5)), (10, segment(0, 5))],
            vec![(0, segment(0, 5)), (10, segment(8, 5))],
            vec![(500, segment(0, 5)), (700, segment(0, 5))],
            vec![(500, segment(0, 5)), (700, segment(4, 5))],
            vec![(0, segment(0, 5)), (10, segment(10, 5)), (900, segment(10, 5))],
        ] {
            let names: Vec<_> = files.iter().map(|(name, _)| (*name, *name)).collect();
            assert_eq!(settled(&files), (names, 0));
        }
    }

    #[test]
    fn one_that_is_not_sure_is_left_alone() {
        let mut flipped = segment(100, 5);
        flipped[1] ^= 4;
        let stepping_back = [segment(0, 3), segment(2, 3)].concat();
        let wrappers = SegmentBuilder::new().wrapper(1, crate::format::Codec::Gzip, &["a", "b"]).wrapper(
            1,
            crate::format::Codec::Gzip,
            &["a", "b"],
        );
        for file in [
            (100, flipped),
            (100, segment(0, 1)),
            (100, stepping_back),
            (100, wrappers.bytes()),
            (100, vec![0; 4096]),
            (100, Vec::new()),
        ] {
            assert_eq!(settled(&[file]), (vec![(100, 100)], 0));
        }
        // Between it and the others there would be a hole.
        let apart = [(0, segment(0, 5)), (200, segment(150, 5)), (300, segment(300, 5))];
        assert_eq!(settled(&apart), (vec![(0, 0), (200, 200), (300, 300)], 0));
    }
}
