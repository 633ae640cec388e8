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

pub mod promises;

use crate::format::Codec;
use std::borrow::Borrow;
use std::io::Write;

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

#[derive(Clone, Debug)]
struct RecordSpec {
    time: Option<i64>,
    key: Field,
    value: Field,
    headers: Vec<(String, Field)>,
}

/// What a batch is to hold; see [`batch`].
#[derive(Clone, Debug)]
pub struct BatchSpec {
    base_offset: Option<i64>,
    leader_epoch: Option<i32>,
    time: Option<i64>,
    append_time: Option<i64>,
    delete_horizon: Option<i64>,
    attributes: i16,
    codec: Codec,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    records: Vec<RecordSpec>,
    kept: Option<Vec<usize>>,
}

/// An empty batch without producer id, to which records are added.
#[must_use]
pub fn batch() -> BatchSpec {
    BatchSpec {
        base_offset: None,
        leader_epoch: None,
        time: None,
        append_time: None,
        delete_horizon: None,
        attributes: 0,
        codec: Codec::None,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        records: Vec::new(),
        kept: None,
    }
}

impl BatchSpec {
    /// Producer id, epoch and base sequence as they stand on disk.
    #[must_use]
    pub fn producer(mut self, id: i64, epoch: i16, sequence: i32) -> Self {
        (self.producer_id, self.producer_epoch, self.base_sequence) = (id, epoch, sequence);
        self
    }

    /// Belongs to a transaction.
    #[must_use]
    pub fn transactional(mut self) -> Self {
        self.attributes |= 0x10;
        self
    }

    /// Compressed.
    #[must_use]
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// At this offset, instead of behind the batch before it.
    #[must_use]
    pub fn offset(mut self, base_offset: i64) -> Self {
        self.base_offset = Some(base_offset);
        self
    }

    /// Written under this leader epoch, instead of the segment's.
    #[must_use]
    pub fn leader_epoch(mut self, leader_epoch: i32) -> Self {
        self.leader_epoch = Some(leader_epoch);
        self
    }

    /// The client's time of the first record.
    #[must_use]
    pub fn time(mut self, time: i64) -> Self {
        self.time = Some(time);
        self
    }

    /// LogAppendTime with this time; the records keep the client's.
    #[must_use]
    pub fn append_time(mut self, time: i64) -> Self {
        self.append_time = Some(time);
        self.attributes |= 0x08;
        self
    }

    /// Bit 6: the cleaner may drop what is left from this time on.
    #[must_use]
    pub fn delete_horizon(mut self, time: i64) -> Self {
        self.delete_horizon = Some(time);
        self.attributes |= 0x40;
        self
    }

    /// Adds a record.
    #[must_use]
    pub fn record(mut self, key: impl Into<Field>, value: impl Into<Field>) -> Self {
        self.records.push(RecordSpec {
            time: None,
            key: key.into(),
            value: value.into(),
            headers: Vec::new(),
        });
        self
    }

    /// Adds a record with its own client time.
    #[must_use]
    pub fn record_at(self, time: i64, key: impl Into<Field>, value: impl Into<Field>) -> Self {
        let mut spec = self.record(key, value);
        spec.last_record().time = Some(time);
        spec
    }

    /// Adds a header to the last record.
    #[must_use]
    pub fn header(mut self, key: &str, value: impl Into<Field>) -> Self {
        let value = value.into();
        self.last_record().headers.push((key.to_owned(), value));
        self
    }

    /// What the cleaner leaves: only the records with these indexes, under the offsets and
    /// sequences that they had. None at all empties the batch.
    #[must_use]
    pub fn kept(mut self, indexes: &[usize]) -> Self {
        self.kept = Some(indexes.to_vec());
        self
    }

    fn last_record(&mut self) -> &mut RecordSpec {
        self.records.last_mut().expect("a record was added before")
    }

    /// The bytes, when nothing before it says offset, leader epoch and time.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.encode(0, 0, FIRST_TIME)
    }

    fn last_offset_delta(&self) -> i32 {
        i32::try_from(self.records.len().max(1)).expect("few records") - 1
    }

    fn encode(&self, base_offset: i64, leader_epoch: i32, time: i64) -> Vec<u8> {
        let base_offset = self.base_offset.unwrap_or(base_offset);
        let first_time = self.time.unwrap_or(time);
        let kept: Vec<(usize, &RecordSpec)> = self
            .records
            .iter()
            .enumerate()
            .filter(|(index, _)| self.kept.as_ref().is_none_or(|kept| kept.contains(index)))
            .collect();
        let time_of = |index: usize, record: &RecordSpec| {
            record.time.unwrap_or(first_time + i64::try_from(index).expect("few records"))
        };
        let first_kept = kept.first().map_or(-1, |(index, record)| time_of(*index, record));
        let base_timestamp = self.delete_horizon.unwrap_or(first_kept);
        let largest = kept.iter().map(|(index, record)| time_of(*index, record)).max();
        let max_timestamp = self.append_time.or(largest).unwrap_or(first_time);

        let mut area = Vec::new();
        for (index, record) in &kept {
            let delta = time_of(*index, record) - base_timestamp;
            encode_record(&mut area, delta, i64::try_from(*index).expect("few records"), record);
        }
        let codec = if kept.is_empty() { Codec::None } else { self.codec };
        let area = compress(codec, &area);

        let mut covered = Vec::new();
        covered.extend((self.attributes | codec_bits(codec)).to_be_bytes());
        covered.extend(self.last_offset_delta().to_be_bytes());
        covered.extend(base_timestamp.to_be_bytes());
        covered.extend(max_timestamp.to_be_bytes());
        covered.extend(self.producer_id.to_be_bytes());
        covered.extend(self.producer_epoch.to_be_bytes());
        covered.extend(self.base_sequence.to_be_bytes());
        covered.extend(size(kept.len()));
        covered.extend(area);

        let mut bytes = base_offset.to_be_bytes().to_vec();
        bytes.extend(size(covered.len() + 9));
        bytes.extend(self.leader_epoch.unwrap_or(leader_epoch).to_be_bytes());
        bytes.push(2);
        bytes.extend(crc32c::crc32c(&covered).to_be_bytes());
        bytes.extend(covered);
        bytes
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

/// Compresses as the Java client does: xerial snappy, 64 KB lz4 blocks, zstd without a size.
#[must_use]
pub fn compress(codec: Codec, area: &[u8]) -> Vec<u8> {
    match codec {
        Codec::None => area.to_vec(),
        Codec::Gzip => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            writer.write_all(area).expect("memory takes it");
            writer.finish().expect("memory takes it")
        }
        Codec::Snappy => {
            let mut stream = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
            for chunk in area.chunks(32 << 10) {
                let block = snap::raw::Encoder::new().compress_vec(chunk).expect("a chunk is small");
                stream.extend(size(block.len()));
                stream.extend(block);
            }
            stream
        }
        Codec::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max64KB);
            let mut writer = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            writer.write_all(area).expect("memory takes it");
            writer.finish().expect("memory takes it")
        }
        Codec::Zstd => {
            let mut writer = zstd::Encoder::new(Vec::new(), 3).expect("level 3 exists");
            writer.write_all(area).expect("memory takes it");
            writer.finish().expect("memory takes it")
        }
    }
}

fn codec_bits(codec: Codec) -> i16 {
    match codec {
        Codec::None => 0,
        Codec::Gzip => 1,
        Codec::Snappy => 2,
        Codec::Lz4 => 3,
        Codec::Zstd => 4,
    }
}

fn encode_record(area: &mut Vec<u8>, timestamp_delta: i64, offset_delta: i64, record: &RecordSpec) {
    let mut body = vec![0];
    put_varint(&mut body, timestamp_delta);
    put_varint(&mut body, offset_delta);
    put_field(&mut body, &record.key);
    put_field(&mut body, &record.value);
    put_length(&mut body, record.headers.len());
    for (key, value) in &record.headers {
        put_length(&mut body, key.len());
        body.extend_from_slice(key.as_bytes());
        put_field(&mut body, value);
    }
    put_length(area, body.len());
    area.extend(body);
}

fn put_field(out: &mut Vec<u8>, field: &Field) {
    match &field.0 {
        None => put_varint(out, -1),
        Some(bytes) => {
            put_length(out, bytes.len());
            out.extend_from_slice(bytes);
        }
    }
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    put_varint(out, i64::try_from(length).expect("short"));
}

fn put_varint(out: &mut Vec<u8>, number: i64) {
    let mut raw = (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned();
    while raw >= 0x80 {
        out.push(raw.to_le_bytes()[0] | 0x80);
        raw >>= 7;
    }
    out.push(raw.to_le_bytes()[0]);
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
