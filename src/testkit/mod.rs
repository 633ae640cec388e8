//! Makes `.log` files in a few words, for tests; never in a release.
//!
//! ```
//! # use dedup_audit::testkit::{SegmentBuilder, batch};
//! let bytes = SegmentBuilder::at(100)
//!     .batch(batch().producer(1000, 0, 0).record("order-1", "paid").record("order-2", ()))
//!     .batch(batch().producer(1000, 0, 2).transactional().record("order-3", "paid"))
//!     .commit(1000, 0)
//!     .bytes();
//! # assert!(!bytes.is_empty());
//! ```
//!
//! Offsets run on by themselves, times begin at [`FIRST_TIME`], one second a batch and one
//! millisecond a record. What is made here proves that we agree with ourselves; only files of real
//! brokers prove that we agree with Kafka.
#![expect(clippy::missing_panics_doc, reason = "what a test builds fits into the fields, or the test fails")]

mod batch;
mod compress;
pub mod flips;
pub mod promises;
pub mod synth;

pub use self::batch::{BatchSpec, batch};
pub use self::compress::compress;

use self::compress::codec_bits;
use crate::format::Codec;
use std::borrow::Borrow;

/// The time of the first batch of a segment: 2023-11-14T22:13:20Z.
pub const FIRST_TIME: i64 = 1_700_000_000_000;

/// A key, a value or the value of a header: bytes, or `()` for null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field(Option<Vec<u8>>);

impl From<()> for Field {
    fn from((): ()) -> Self {
        Self(None)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self(Some(text.as_bytes().to_vec()))
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self(Some(text.into_bytes()))
    }
}

impl From<&[u8]> for Field {
    fn from(bytes: &[u8]) -> Self {
        Self(Some(bytes.to_vec()))
    }
}

impl From<Vec<u8>> for Field {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Some(bytes))
    }
}

impl From<Option<Vec<u8>>> for Field {
    fn from(bytes: Option<Vec<u8>>) -> Self {
        Self(bytes)
    }
}

/// Where a batch lies in the segment that was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its first byte.
    pub position: usize,
    /// Its bytes.
    pub length: usize,
    /// Its first offset.
    pub base_offset: i64,
    /// Its last offset.
    pub last_offset: i64,
}

/// Puts batches one behind the other.
#[derive(Clone, Debug, Default)]
pub struct SegmentBuilder {
    bytes: Vec<u8>,
    places: Vec<Place>,
    next_offset: i64,
    leader_epoch: i32,
    next_time: i64,
}

impl SegmentBuilder {
    /// Begins at offset 0.
    #[must_use]
    pub fn new() -> Self {
        Self::at(0)
    }

    /// Begins at this offset.
    #[must_use]
    pub fn at(base_offset: i64) -> Self {
        Self { next_offset: base_offset, next_time: FIRST_TIME, ..Self::default() }
    }

    /// Batches from here on are written under this leader epoch.
    #[must_use]
    pub fn leader_epoch(mut self, leader_epoch: i32) -> Self {
        self.leader_epoch = leader_epoch;
        self
    }

    /// The next batch gets this time.
    #[must_use]
    pub fn time(mut self, time: i64) -> Self {
        self.next_time = time;
        self
    }

    /// The next batch gets this offset: a hole, or a step back.
    #[must_use]
    pub fn skip_to(mut self, offset: i64) -> Self {
        self.next_offset = offset;
        self
    }

    /// Adds a batch.
    #[must_use]
    pub fn batch(mut self, spec: impl Borrow<BatchSpec>) -> Self {
        let spec = spec.borrow();
        let bytes = spec.encode(self.next_offset, self.leader_epoch, self.next_time);
        let base_offset = spec.base_offset.unwrap_or(self.next_offset);
        self.place(&bytes, base_offset, base_offset + i64::from(spec.last_offset_delta()));
        self.next_time = spec.time.unwrap_or(self.next_time) + 1000;
        self
    }

    /// Adds a commit marker of coordinator epoch 0.
    #[must_use]
    pub fn commit(self, producer_id: i64, producer_epoch: i16) -> Self {
        self.marker(1, producer_id, producer_epoch, 0)
    }

    /// Adds an abort marker of coordinator epoch 0.
    #[must_use]
    pub fn abort(self, producer_id: i64, producer_epoch: i16) -> Self {
        self.marker(0, producer_id, producer_epoch, 0)
    }

    /// Adds a control batch of the type: 0 abort, 1 commit.
    #[must_use]
    pub fn marker(self, kind: i16, producer_id: i64, producer_epoch: i16, coordinator_epoch: i32) -> Self {
        let mut key = vec![0, 0];
        key.extend(kind.to_be_bytes());
        let mut value = vec![0, 0];
        value.extend(coordinator_epoch.to_be_bytes());
        let mut spec = batch().producer(producer_id, producer_epoch, -1).transactional().record(key, value);
        spec.attributes |= 0x20;
        self.batch(spec)
    }

    /// Adds a plain message of format 0 or 1.
    #[must_use]
    pub fn message(mut self, magic: u8, key: impl Into<Field>, value: impl Into<Field>) -> Self {
        let offset = self.next_offset;
        let bytes = message(magic, 0, offset, self.next_time, &key.into(), &value.into());
        self.place(&bytes, offset, offset);
        self.next_time += 1000;
        self
    }

    /// Adds a compressed wrapper of format 0 or 1 around messages with these values and null keys.
    #[must_use]
    pub fn wrapper(mut self, magic: u8, codec: Codec, values: &[&str]) -> Self {
        let (base, mut inner) = (self.next_offset, Vec::new());
        for (index, value) in (0..).zip(values) {
            let offset = if magic == 0 { base + index } else { index };
            inner.extend(message(magic, 0, offset, self.next_time + index, &().into(), &(*value).into()));
        }
        let last = base + i64::try_from(values.len().max(1)).expect("few records") - 1;
        let bits = codec_bits(codec).to_be_bytes()[1];
        let area = compress(codec, &inner);
        let bytes = message(magic, bits, last, self.next_time, &().into(), &area.into());
        self.place(&bytes, base, last);
        self.next_time += 1000;
        self
    }

    /// Adds bytes as they are; offsets and times do not move.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Where each batch lies, raw bytes left out.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The segment.
    #[must_use]
    pub fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn place(&mut self, bytes: &[u8], base_offset: i64, last_offset: i64) {
        self.places.push(Place { position: self.bytes.len(), length: bytes.len(), base_offset, last_offset });
        self.bytes.extend_from_slice(bytes);
        self.next_offset = last_offset + 1;
    }
}

fn message(magic: u8, attributes: u8, offset: i64, time: i64, key: &Field, value: &Field) -> Vec<u8> {
    let mut covered = vec![magic, attributes];
    if magic == 1 {
        covered.extend(time.to_be_bytes());
    }
    for field in [key, value] {
        match &field.0 {
            None => covered.extend((-1i32).to_be_bytes()),
            Some(bytes) => {
                covered.extend(size(bytes.len()));
                covered.extend_from_slice(bytes);
            }
        }
    }
    let mut bytes = offset.to_be_bytes().to_vec();
    bytes.extend(size(covered.len() + 4));
    bytes.extend(crc32fast::hash(&covered).to_be_bytes());
    bytes.extend(covered);
    bytes
}

fn size(length: usize) -> [u8; 4] {
    i32::try_from(length).expect("short").to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::segment::{SegmentItem, SegmentScanner, TailExpectation};
    use crate::format::{Decompressor, RecordsError};
    use crate::units::Offset;

    #[test]
    fn what_is_built_is_read_back() -> Result<(), RecordsError> {
        let mut segment = SegmentBuilder::at(100).leader_epoch(3);
        for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            segment = segment.batch(
                batch().codec(codec).producer(7, 1, 0).record("k", "v").header("h", ()).record((), "second"),
            );
        }
        segment = segment
            .batch(batch().producer(7, 1, 10).transactional().record("a", ()).record("b", "x").kept(&[1]))
            .batch(batch().producer(7, 1, 12).record("a", "x").kept(&[]))
            .commit(7, 1)
            .message(0, "k", "v")
            .message(1, "k", "v")
            .wrapper(0, Codec::Gzip, &["a", "b"])
            .wrapper(1, Codec::Lz4, &["a", "b"]);
        let bytes = segment.bytes();
        let mut scanner = SegmentScanner::new(bytes.as_slice(), Offset(100), TailExpectation::MustBeWhole);
        let mut decompressor = Decompressor::default();
        let mut offsets = Vec::new();
        while let Some(item) = scanner.next_item().unwrap() {
            let SegmentItem::Batch(batch) = item else { panic!("{item:?}") };
            batch.for_each_record(&mut decompressor, |record| offsets.push(record.offset.0))?;
        }
        let expected: Vec<i64> = (100..110).chain([111]).chain(113..=119).collect();
        assert_eq!(offsets, expected);
        Ok(())
    }
}
