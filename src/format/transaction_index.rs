//! `.txnindex`: the aborted transactions whose markers lie in a segment.
//!
//! ```text
//!   0  version            INT16   0
//!   2  producerId         INT64
//!  10  firstOffset        INT64   first offset of the transaction; may be in an earlier segment
//!  18  lastOffset         INT64   offset of the abort marker
//!  26  lastStableOffset   INT64   at the time of the abort
//! ```
//!
//! Source: `AbortedTxn`, `TransactionIndex` in Kafka's `storage` module. Not preallocated, no
//! checksum; `lastOffset` increases. A fragment at the end is ignored by brokers.
//!
//! It is a derived file: recovery rebuilds it and the cleaner drops what it no longer needs.

use super::index_entries::IndexEntries;
use super::source::ByteSource;
use crate::units::{FilePosition, Offset, ProducerId};
use std::io;

/// Bytes of one entry.
pub const ENTRY_LENGTH: usize = 34;

/// One aborted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// 0; Kafka looks at its first byte only.
    pub version: i16,
    /// Whose transaction.
    pub producer_id: ProducerId,
    /// Its first offset in this partition.
    pub first_offset: Offset,
    /// The offset of its abort marker.
    pub last_offset: Offset,
    /// The last stable offset when it was aborted.
    pub last_stable_offset: Offset,
}

/// Walks over the entries of one index.
#[derive(Debug)]
pub struct TransactionIndex<S> {
    entries: IndexEntries<S, ENTRY_LENGTH>,
}

impl<S: ByteSource> TransactionIndex<S> {
    /// Begins at the first entry.
    pub fn new(source: S) -> Self {
        Self { entries: IndexEntries::new(source) }
    }

    /// Bytes behind the last whole entry.
    #[must_use]
    pub fn fragment(&self) -> u64 {
        self.entries.fragment()
    }

    /// Where the next entry stands in the file.
    #[must_use]
    pub fn position(&self) -> FilePosition {
        self.entries.position()
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// The error of the source.
    pub fn next_entry(&mut self) -> io::Result<Option<AbortedTransaction>> {
        let Some(bytes) = self.entries.next_slot()? else {
            return Ok(None);
        };
        let [v, w, rest @ ..] = bytes;
        Ok(Some(AbortedTransaction {
            version: i16::from_be_bytes([v, w]),
            producer_id: ProducerId(int64(&rest, 0)),
            first_offset: Offset(int64(&rest, 8)),
            last_offset: Offset(int64(&rest, 16)),
            last_stable_offset: Offset(int64(&rest, 24)),
        }))
    }
}

fn int64(bytes: &[u8; 32], at: usize) -> i64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk::<8>).map_or(0, |chunk| i64::from_be_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_field_by_field() {
        let mut file = vec![0, 0];
        for number in [1i64, 2, 9, 10] {
            file.extend(number.to_be_bytes());
        }
        file.extend([1, 2, 3]);
        let mut index = TransactionIndex::new(&file[..]);
        assert_eq!(index.fragment(), 3);
        assert_eq!(
            index.next_entry().unwrap(),
            Some(AbortedTransaction {
                version: 0,
                producer_id: ProducerId(1),
                first_offset: Offset(2),
                last_offset: Offset(9),
                last_stable_offset: Offset(10),
            })
        );
        assert_eq!(index.position(), FilePosition(34));
        assert_eq!(index.next_entry().unwrap(), None);
    }
}
