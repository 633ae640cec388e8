//! Reads the records of batches in many threads within a bound on memory.
//!
//! Every thread has room for what batches become as a rule. One that becomes larger is read in room
//! that all threads share, one after the other, and the room is given back afterwards.

use crate::format::compression::CompressionError;
use crate::format::{Batch, Decompressor, Limits, Record, RecordsError};
use std::sync::{Mutex, PoisonError};

/// What a batch may become in a thread's own room.
const OF_A_THREAD: usize = 8 << 20;

/// The room for large batches.
#[derive(Debug)]
pub(super) struct LargeBatches {
    limits: Limits,
    one: Mutex<()>,
}

impl LargeBatches {
    pub(super) const fn new(limits: Limits) -> Self {
        Self { limits, one: Mutex::new(()) }
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
    fn a_batch_larger_than_the_room_of_a_thread_is_read_once_up_to_the_limit() {
        let value = "x".repeat(OF_A_THREAD);
        let batch = batch().codec(crate::format::Codec::Zstd).record("a", value.as_str()).record("b", "2");
        let segment = SegmentBuilder::new().batch(batch).bytes();
        assert_eq!(read(&segment, 2 * OF_A_THREAD), Ok(2));
        let refused = read(&segment, OF_A_THREAD + 1).unwrap_err().to_string();
        assert_eq!(refused, "zstd: more than 8388609 bytes come out, which is the limit for a batch");
    }
}
