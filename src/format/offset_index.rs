//! `.index`: offset → position in the segment, one entry about every 4 KiB.
//!
//! ```text
//!  0  relative offset   INT32   from the segment's base offset
//!  4  position          INT32   of a batch in the segment
//! ```
//!
//! Source: `OffsetIndex`, `AbstractIndex` in Kafka's `storage` module. While a segment is active its
//! index is preallocated with zeros, and an unclean stop leaves them: the entries end at the first
//! one behind entry 0 whose relative offset is 0. There is no checksum.
//!
//! An entry names the last offset of an append and the position of its first batch. With several
//! batches in one append (followers, formats 0 and 1, cleaned segments) the batch at the position
//! ends before the offset: a hint where to begin, not a statement about one batch.

use super::index_entries::IndexEntries;
use super::source::ByteSource;
use crate::units::{FilePosition, Offset};
use std::io;

/// Bytes of one entry.
pub const ENTRY_LENGTH: usize = 8;

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetIndexEntry {
    /// The segment's base offset plus the stored one.
    pub offset: Offset,
    /// Where to begin in the segment; negative numbers are not written by Kafka.
    pub position: i32,
}

impl OffsetIndexEntry {
    /// Where to begin in the segment, when the number can be one.
    #[must_use]
    pub fn file_position(&self) -> Option<FilePosition> {
        u64::try_from(self.position).ok().map(FilePosition)
    }
}

/// Walks over the entries of one index.
#[derive(Debug)]
pub struct OffsetIndex<S> {
    entries: IndexEntries<S, ENTRY_LENGTH>,
    base_offset: Offset,
}

impl<S: ByteSource> OffsetIndex<S> {
    /// Begins at the first entry of the index of the segment with this base offset.
    pub fn new(source: S, base_offset: Offset) -> Self {
        Self { entries: IndexEntries::new(source), base_offset }
    }

    /// Whether the file cannot hold a single entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.slots() == 0
    }

    /// Bytes behind the last whole slot: a broker refuses such a file.
    #[must_use]
    pub fn fragment(&self) -> u64 {
        self.entries.fragment()
    }

    /// Where the next entry stands in the file.
    #[must_use]
    pub fn position(&self) -> FilePosition {
        self.entries.position()
    }

    /// The next entry; `None` at the end or where the zeros begin.
    ///
    /// # Errors
    /// The error of the source.
    pub fn next_entry(&mut self) -> io::Result<Option<OffsetIndexEntry>> {
        let is_first = self.entries.position().0 == 0;
        let Some(bytes) = self.entries.next_slot()? else {
            return Ok(None);
        };
        let relative = bytes.first_chunk::<4>().map_or(0, |chunk| i32::from_be_bytes(*chunk));
        if relative == 0 && !is_first {
            return Ok(None);
        }
        let position = bytes.last_chunk::<4>().map_or(0, |chunk| i32::from_be_bytes(*chunk));
        Ok(Some(OffsetIndexEntry { offset: self.base_offset.plus(i64::from(relative)), position }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(bytes: &[u8]) -> Vec<(i64, i32)> {
        let mut index = OffsetIndex::new(bytes, Offset(100));
        std::iter::from_fn(|| index.next_entry().unwrap()).map(|e| (e.offset.0, e.position)).collect()
    }

    #[test]
    fn offsets_are_relative_to_the_segment() {
        assert_eq!(entries(&[0, 0, 0, 7, 0, 0, 16, 1, 0, 0, 0, 9, 0, 0, 32, 2]), [(107, 4097), (109, 8194)]);
    }

    #[test]
    fn the_entries_end_where_the_preallocated_zeros_begin() {
        let mut file = vec![0, 0, 0, 7, 0, 0, 16, 1];
        file.extend([0; 800]);
        assert_eq!(entries(&file), [(107, 4097)]);
    }

    #[test]
    fn entry_0_may_have_the_relative_offset_0() {
        assert_eq!(entries(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 1, 0]), [(100, 0), (103, 256)]);
    }

    #[test]
    fn a_fragment_is_counted_and_not_read() {
        let file: &[u8] = &[0, 0, 0, 7, 0, 0, 16, 1, 9, 9, 9];
        assert_eq!(OffsetIndex::new(file, Offset(0)).fragment(), 3);
        assert_eq!(entries(file), [(107, 4097)]);
        assert!(OffsetIndex::new(&file[..7], Offset(0)).is_empty());
    }

    #[test]
    fn a_negative_position_is_no_position() {
        let entry = OffsetIndexEntry { offset: Offset(0), position: -1 };
        assert_eq!(entry.file_position(), None);
    }
}
