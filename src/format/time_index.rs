//! `.timeindex`: the largest timestamp up to an offset.
//!
//! ```text
//!  0  timestamp         INT64
//!  8  relative offset   INT32   from the segment's base offset
//! ```
//!
//! Source: `TimeIndex`, `AbstractIndex` in Kafka's `storage` module. Timestamps strictly increase,
//! offsets do not decrease; like the offset index it may end in preallocated zeros. Under 2.3 an
//! offset was not the last one of its batch.

use super::index_entries::IndexEntries;
use super::source::ByteSource;
use crate::units::{FilePosition, Offset};
use std::io;

/// Bytes of one entry.
pub const ENTRY_LENGTH: usize = 12;

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeIndexEntry {
    /// No record up to the offset has a larger one.
    pub timestamp: i64,
    /// The segment's base offset plus the stored one.
    pub offset: Offset,
}

/// Walks over the entries of one index.
#[derive(Debug)]
pub struct TimeIndex<S> {
    entries: IndexEntries<S, ENTRY_LENGTH>,
    base_offset: Offset,
}

impl<S: ByteSource> TimeIndex<S> {
    /// Begins at the first entry of the index of the segment with this base offset.
    pub fn new(source: S, base_offset: Offset) -> Self {
        Self { entries: IndexEntries::new(source), base_offset }
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
    pub fn next_entry(&mut self) -> io::Result<Option<TimeIndexEntry>> {
        let is_first = self.entries.position().0 == 0;
        let Some(bytes) = self.entries.next_slot()? else {
            return Ok(None);
        };
        let relative = bytes.last_chunk::<4>().map_or(0, |chunk| i32::from_be_bytes(*chunk));
        if relative == 0 && !is_first {
            return Ok(None);
        }
        let timestamp = bytes.first_chunk::<8>().map_or(0, |chunk| i64::from_be_bytes(*chunk));
        Ok(Some(TimeIndexEntry { timestamp, offset: self.base_offset.plus(i64::from(relative)) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(bytes: &[u8]) -> Vec<(i64, i64)> {
        let mut index = TimeIndex::new(bytes, Offset(100));
        std::iter::from_fn(|| index.next_entry().unwrap()).map(|e| (e.timestamp, e.offset.0)).collect()
    }

    #[test]
    fn an_entry_has_a_time_and_an_offset() {
        let file = [0, 0, 0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x05, 0, 0, 0, 4];
        assert_eq!(entries(&file), [(1_700_000_000_005, 104)]);
    }

    #[test]
    fn the_entries_end_where_the_preallocated_zeros_begin() {
        let mut file = vec![0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 4];
        file.extend([0; 1200]);
        assert_eq!(entries(&file), [(9, 104)]);
    }

    #[test]
    fn a_fragment_is_counted_and_not_read() {
        let file: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 4, 1];
        assert_eq!(TimeIndex::new(file, Offset(0)).fragment(), 1);
        assert_eq!(entries(file), [(9, 104)]);
    }
}
