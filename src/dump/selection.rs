//! Which part of a file is printed.

use super::printer::PrintedBatch;
use crate::format::{AbortedTransaction, BatchHeader, Record, SnapshotEntry, TimestampType};
use crate::units::{Offset, ProducerId, Range};

/// What to print of a file. Damage is always told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Offsets of records.
    pub offsets: Range,
    /// Times of records, in milliseconds.
    pub times: Range,
    /// One producer.
    pub producer_id: Option<ProducerId>,
}

impl Selection {
    /// Whether the batch can hold a record that is selected.
    pub(super) fn admits_batch(&self, header: &BatchHeader) -> bool {
        // A wrapper of format 0 or 1 gives its last offset alone.
        let first_offset = if header.records_count.is_some() { header.base_offset.0 } else { i64::MIN };
        // Only an append time holds for all records; the first client time is no lower bound.
        let first_time = match header.timestamp_type() {
            TimestampType::LogAppendTime => header.max_timestamp,
            TimestampType::None | TimestampType::CreateTime => i64::MIN,
        };
        self.admits_producer(header.producer_id)
            && self.offsets.meets(first_offset, header.last_offset().0)
            && self.times.meets(first_time, header.max_timestamp)
    }

    /// Whether the record of an admitted batch is selected.
    pub(super) fn admits_record(&self, record: &Record<'_>) -> bool {
        self.offsets.contains(record.offset.0) && self.times.contains(record.timestamp)
    }

    /// Whether records of the batch can be left out, so that its line waits for one that is not.
    pub(super) fn may_split(&self, batch: PrintedBatch<'_>) -> bool {
        let header = batch.header;
        let whole = self.offsets.is_open()
            || self.offsets.contains(header.base_offset.0)
                && self.offsets.contains(header.last_offset().0)
                && header.records_count.is_some();
        !whole || !self.times.is_open()
    }

    pub(super) fn admits_producer(&self, producer_id: ProducerId) -> bool {
        self.producer_id.is_none_or(|wanted| wanted == producer_id)
    }

    pub(super) fn admits_offset(&self, offset: Offset) -> bool {
        self.offsets.contains(offset.0)
    }

    pub(super) fn admits_time(&self, timestamp: i64) -> bool {
        self.times.contains(timestamp)
    }

    pub(super) fn admits_transaction(&self, entry: &AbortedTransaction) -> bool {
        self.admits_producer(entry.producer_id)
            && self.offsets.meets(entry.first_offset.0, entry.last_offset.0)
    }

    pub(super) fn admits_snapshot_entry(&self, entry: &SnapshotEntry) -> bool {
        self.admits_producer(entry.producer_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::batch;

    fn header(spec: &crate::testkit::BatchSpec) -> BatchHeader {
        BatchHeader::read(&spec.bytes()).unwrap().0
    }

    #[test]
    fn a_batch_is_admitted_when_it_can_hold_a_selected_record() {
        let header =
            header(&batch().producer(7, 0, 0).offset(40).time(1000).record("a", "1").record("b", "2"));
        let offsets = |first, last| Selection { offsets: Range { first, last }, ..Selection::default() };
        assert!(offsets(41, 50).admits_batch(&header));
        assert!(offsets(0, 40).admits_batch(&header));
        assert!(!offsets(42, 50).admits_batch(&header));
        assert!(!offsets(0, 39).admits_batch(&header));
        let producer = |id| Selection { producer_id: Some(ProducerId(id)), ..Selection::default() };
        assert!(producer(7).admits_batch(&header));
        assert!(!producer(8).admits_batch(&header));
    }

    #[test]
    fn client_times_exclude_a_batch_only_by_its_largest() {
        let header = header(&batch().time(1000).record_at(2000, "a", "1").record_at(500, "b", "2"));
        let times = |first, last| Selection { times: Range { first, last }, ..Selection::default() };
        assert!(!times(2001, i64::MAX).admits_batch(&header));
        assert!(times(2000, i64::MAX).admits_batch(&header));
        assert!(times(i64::MIN, 600).admits_batch(&header));
    }
}
