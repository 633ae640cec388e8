//! Reads the records of batches in many threads within a bound on memory.
//!
//! Every thread has room for what batches become as a rule. One that becomes larger is read in room
//! that all threads share, one after the other, and the room is given back afterwards. Batches that are
//! stored in many bytes share room as well: a thread that wants to hold one waits until there is enough, or
//! until nobody else holds any. So a batch of any size is read, and no two of them are held that do not fit.

use crate::format::compression::CompressionError;
use crate::format::{Batch, Decompressor, Limits, Record, RecordsError};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What a batch may become in a thread's own room.
const OF_A_THREAD: usize = 8 << 20;

/// What a batch may be stored in without asking for room.
const STORED: usize = 4 << 20;

/// The room for large batches.
#[derive(Debug)]
pub(super) struct LargeBatches {
    limits: Limits,
    one: Mutex<()>,
    /// Stored bytes that threads hold.
    held: Mutex<usize>,
    freed: Condvar,
}

impl LargeBatches {
    pub(super) const fn new(limits: Limits) -> Self {
        Self { limits, one: Mutex::new(()), held: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits for room for so many stored bytes; few of them need none. Whoever has room must not ask for more.
    pub(super) fn room(&self, bytes: usize) -> Option<Stored<'_>> {
        if bytes <= STORED {
            return None;
        }
        let fits = |held: &usize| *held == 0 || held.saturating_add(bytes) <= self.limits.batch_bytes;
        let mut held = self.held();
        while !fits(&held) {
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        *held = held.saturating_add(bytes);
        Some(Stored { of: self, bytes })
    }

    fn held(&self) -> MutexGuard<'_, usize> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for a batch as it is stored, until it is dropped.
#[derive(Debug)]
pub(super) struct Stored<'l> {
    of: &'l LargeBatches,
    bytes: usize,
}

impl Drop for Stored<'_> {
    fn drop(&mut self) {
        let mut held = self.of.held();
        *held = held.saturating_sub(self.bytes);
        drop(held);
        self.of.freed.notify_all();
    }
}

/// What a thread reads records with.
#[derive(Debug)]
pub(super) struct BatchReader<'l> {
    own: Decompressor,
    large: &'l LargeBatches,
}

impl<'l> BatchReader<'l> {
    pub(super) fn new(large: &'l LargeBatches) -> Self {
        let batch_bytes = large.limits.batch_bytes.min(OF_A_THREAD);
        Self { own: Decompressor::with_limits(Limits { batch_bytes, ..large.limits }), large }
    }

    /// What is read at most.
    pub(super) const fn limits(&self) -> &Limits {
        &self.large.limits
    }

    /// Calls `each` with every record of the batch.
    ///
    /// # Errors
    /// As [`Batch::for_each_record`].
    pub(super) fn for_each_record(
        &mut self,
        batch: &Batch<'_>,
        mut each: impl FnMut(&Record<'_>),
    ) -> Result<(), RecordsError> {
        let read = batch.for_each_record(&mut self.own, |record| each(record));
        // A batch that becomes too large hands out no record before that is known.
        let Err(RecordsError::Compression(CompressionError::TooLarge { limit, .. })) = read else {
            return read;
        };
        if limit >= self.large.limits.batch_bytes {
            return read;
        }
        let _turn = self.large.one.lock().unwrap_or_else(PoisonError::into_inner);
        let each: &mut dyn FnMut(&Record<'_>) = &mut each;
        batch.for_each_record(&mut Decompressor::with_limits(self.large.limits), each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{SegmentItem, SegmentScanner, TailExpectation};
    use crate::testkit::{SegmentBuilder, batch};

    fn read(segment: &[u8], batch_bytes: usize) -> Result<u32, RecordsError> {
        let large = LargeBatches::new(Limits { batch_bytes, ..Limits::default() });
        let mut reader = BatchReader::new(&large);
        let mut scanner = SegmentScanner::unnamed(segment, TailExpectation::MustBeWhole);
        let Some(SegmentItem::Batch(batch)) = scanner.next_item().unwrap() else { panic!("no batch") };
        let mut records = 0;
        reader.for_each_record(&batch, |_| records += 1).map(|()| records)
    }

    #[test]
    fn large_batches_are_held_together_only_where_they_fit() {
        let large = LargeBatches::new(Limits { batch_bytes: 3 * STORED, ..Limits::default() });
        assert!(large.room(STORED).is_none(), "a small one needs no room");
        let first = large.room(2 * STORED);
        let waits = std::thread::scope(|scope| {
            let second = scope.spawn(|| large.room(STORED + 1).is_some());
            // It does not fit beside the first one, so it can end only when that is gone.
            std::thread::sleep(std::time::Duration::from_millis(20));
            let waits = !second.is_finished();
            drop(first);
            second.join().unwrap() && waits
        });
        assert!(waits);
        // One alone is held however large it is, and what it took comes back.
        drop(large.room(100 * STORED));
        assert_eq!(*large.held(), 0);
    }

    #[test]
    fn a_batch_larger_than_the_room_of_a_thread_is_read_once_up_to_the_limit() {
        let value = "x".repeat(OF_A_THREAD);
        let batch = batch().codec(crate::format::Codec::Zstd).record("a", value.as_str()).record("b", "2");
        let segment = SegmentBuilder::new().batch(batch).bytes();
        assert_eq!(read(&segment, 2 * OF_A_THREAD), Ok(2));
        let refused = read(&segment, OF_A_THREAD + 1).unwrap_err().to_string();
        assert_eq!(refused, "zstd: more than 8388609 bytes come out, which is the limit for a batch");
    }
}
