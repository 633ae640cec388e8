//! A batch of format 2, and the records in it.

use super::compress::{codec_bits, compress};
use super::{Field, size};
use crate::format::Codec;

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
    pub(super) base_offset: Option<i64>,
    leader_epoch: Option<i32>,
    pub(super) time: Option<i64>,
    append_time: Option<i64>,
    delete_horizon: Option<i64>,
    pub(super) attributes: i16,
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

    /// A marker of coordinator epoch 0: 0 abort, 1 commit.
    pub(super) fn marker(self, kind: i16, producer_id: i64, producer_epoch: i16) -> Self {
        let mut key = vec![0, 0];
        key.extend(kind.to_be_bytes());
        let mut marker = self
            .producer(producer_id, producer_epoch, -1)
            .transactional()
            .record(key, vec![0, 0, 0, 0, 0, 0]);
        marker.attributes |= 0x20;
        marker
    }

    fn last_record(&mut self) -> &mut RecordSpec {
        self.records.last_mut().expect("a record was added before")
    }

    /// The bytes, when nothing before it says offset, leader epoch and time.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.encode(0, 0, super::FIRST_TIME)
    }

    pub(super) fn last_offset_delta(&self) -> i32 {
        i32::try_from(self.records.len().max(1)).expect("few records") - 1
    }

    pub(super) fn encode(&self, base_offset: i64, leader_epoch: i32, time: i64) -> Vec<u8> {
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
