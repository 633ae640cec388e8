//! The 61-byte header that starts every magic-2 record batch, and the batch around it.
//!
//! ```text
//!  at  field                  type    in CRC
//!   0  baseOffset             INT64   no
//!   8  batchLength            INT32   no     bytes after this field
//!  12  partitionLeaderEpoch   INT32   no
//!  16  magic                  INT8    no
//!  17  crc                    UINT32  no     CRC-32C over everything behind it
//!  21  attributes             INT16   yes
//!  23  lastOffsetDelta        INT32   yes
//!  27  baseTimestamp          INT64   yes    or the delete horizon (attribute bit 6)
//!  35  maxTimestamp           INT64   yes
//!  43  producerId             INT64   yes
//!  51  producerEpoch          INT16   yes
//!  53  baseSequence           INT32   yes
//!  57  recordsCount           INT32   yes    records that survived compaction
//!  61  records                        yes
//! ```
//!
//! Source: `DefaultRecordBatch` in Kafka's `clients` module; KIP-98; KAFKA-8522 for bit 6.
//!
//! Compaction removes records but keeps `baseOffset`, `lastOffsetDelta` and `baseSequence`. So the
//! last sequence of a batch is `baseSequence + lastOffsetDelta`, never
//! `baseSequence + recordsCount − 1`.
//!
//! This module reads headers. It does not decompress, does not decide whether a sequence is
//! plausible, and does not judge a checksum: the
//! scan compares the stored value with [`Batch::compute_crc`].

use super::compression::{Codec, CompressionError, Decompressor};
use super::cursor::{Cursor, FormatError};
use super::damage::{Damage, DamageKind};
use super::legacy;
use super::record::{Record, Records};
use crate::units::{FilePosition, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp};

/// Bytes before the record area of a magic-2 batch.
pub const HEADER_LENGTH: usize = 61;
/// `baseOffset` and `batchLength`, which the length does not count.
pub const LOG_OVERHEAD: usize = 12;
/// The smallest length that a magic-2 batch can declare: its header without the overhead.
pub const MIN_BATCH_LENGTH: i32 = 49;

/// Whose clock the times of a batch come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// Format 0 has no times.
    None,
    /// The client's.
    CreateTime,
    /// The leader's, at append.
    LogAppendTime,
}

impl TimestampType {
    /// The name in Kafka's dump tool.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NoTimestampType",
            Self::CreateTime => "CreateTime",
            Self::LogAppendTime => "LogAppendTime",
        }
    }
}

/// What the header of a batch says, of any format.
///
/// An uncompressed message of format 0 or 1 is a batch of one record. For a compressed wrapper of
/// these formats the header holds the last offset only: `base_offset` is then equal to
/// [`BatchHeader::last_offset`] and `records_count` is unknown until it is decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// The offset of the first record of the batch as it was produced.
    pub base_offset: Offset,
    /// 0, 1 or 2.
    pub magic: i8,
    /// `None` for −1 and for formats 0 and 1.
    pub partition_leader_epoch: Option<LeaderEpoch>,
    /// The stored checksum.
    pub crc: u32,
    /// The attributes as stored.
    pub attributes: i16,
    /// Last offset minus base offset of the batch as it was produced.
    pub last_offset_delta: i32,
    /// Base of the record times; or the delete horizon when bit 6 is set.
    pub base_timestamp: i64,
    /// The largest time, or the time of the append.
    pub max_timestamp: i64,
    /// −1 stays −1; formats 0 and 1 have −1.
    pub producer_id: ProducerId,
    /// `None` for a negative epoch.
    pub producer_epoch: Option<ProducerEpoch>,
    /// `None` for a negative sequence.
    pub base_sequence: Option<Sequence>,
    /// Records that are in the batch now; `None` for a compressed wrapper of format 0 or 1.
    pub records_count: Option<u32>,
}

impl BatchHeader {
    /// Reads a magic-2 header from the first 61 bytes of a batch.
    ///
    /// # Errors
    /// [`FormatError`] when bytes are missing, or when a count or a delta is negative.
    pub fn read(bytes: &[u8]) -> Result<(Self, i32), FormatError> {
        let mut cursor = Cursor::new(bytes);
        let base_offset = Offset(cursor.int64("baseOffset")?);
        let batch_length = cursor.int32("batchLength")?;
        let leader_epoch = cursor.int32("partitionLeaderEpoch")?;
        let magic = cursor.int8("magic")?;
        let crc = cursor.uint32("crc")?;
        let attributes = cursor.int16("attributes")?;
        let last_offset_delta = cursor.int32("lastOffsetDelta")?;
        let base_timestamp = cursor.int64("baseTimestamp")?;
        let max_timestamp = cursor.int64("maxTimestamp")?;
        let producer_id = ProducerId(cursor.int64("producerId")?);
        let producer_epoch = cursor.int16("producerEpoch")?;
        let base_sequence = cursor.int32("baseSequence")?;
        let records_count = cursor.int32("recordsCount")?;
        let Ok(records_count) = u32::try_from(records_count) else {
            return Err(cursor.invalid("recordsCount", format!("{records_count} is negative")));
        };
        if last_offset_delta < 0 {
            return Err(cursor.invalid("lastOffsetDelta", format!("{last_offset_delta} is negative")));
        }
        let header = Self {
            base_offset,
            magic,
            partition_leader_epoch: (leader_epoch >= 0).then_some(LeaderEpoch(leader_epoch)),
            crc,
            attributes,
            last_offset_delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch: (producer_epoch >= 0).then_some(ProducerEpoch(producer_epoch)),
            base_sequence: Sequence::new(base_sequence),
            records_count: Some(records_count),
        };
        Ok((header, batch_length))
    }

    /// The offset of the last record of the batch as it was produced.
    #[must_use]
    pub fn last_offset(&self) -> Offset {
        self.base_offset.plus(i64::from(self.last_offset_delta))
    }

    /// The sequence of the last record of the batch as it was produced.
    #[must_use]
    pub fn last_sequence(&self) -> Option<Sequence> {
        let delta = u32::try_from(self.last_offset_delta).unwrap_or(0);
        self.base_sequence.map(|base| base.advance(delta))
    }

    /// How the record area is compressed; `None` for a code that no release defines.
    #[must_use]
    pub const fn codec(&self) -> Option<Codec> {
        Codec::from_attributes(self.attributes)
    }

    /// Whose clock the times come from (bit 3).
    #[must_use]
    pub const fn timestamp_type(&self) -> TimestampType {
        if self.magic == 0 {
            TimestampType::None
        } else if self.attributes & 0x08 != 0 {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }

    /// The smallest time that a consumer sees in the batch, as far as the header tells.
    #[must_use]
    pub const fn first_timestamp(&self) -> Option<Timestamp> {
        let base_is_a_time = self.magic >= 2
            && self.delete_horizon().is_none()
            && matches!(self.timestamp_type(), TimestampType::CreateTime);
        if base_is_a_time && self.base_timestamp >= 0 && self.base_timestamp < self.max_timestamp {
            Some(Timestamp(self.base_timestamp))
        } else {
            self.last_timestamp()
        }
    }

    /// The largest time that a consumer sees in the batch.
    #[must_use]
    pub const fn last_timestamp(&self) -> Option<Timestamp> {
        Timestamp::from_disk(self.max_timestamp)
    }

    /// Whether the batch belongs to a transaction (bit 4).
    #[must_use]
    pub const fn is_transactional(&self) -> bool {
        self.magic >= 2 && self.attributes & 0x10 != 0
    }

    /// Whether the batch holds a marker of the broker instead of data (bit 5).
    #[must_use]
    pub const fn is_control(&self) -> bool {
        self.magic >= 2 && self.attributes & 0x20 != 0
    }

    /// When the cleaner may drop what the batch keeps (bit 6, since 3.1).
    #[must_use]
    pub const fn delete_horizon(&self) -> Option<Timestamp> {
        if self.magic >= 2 && self.attributes & 0x40 != 0 {
            Some(Timestamp(self.base_timestamp))
        } else {
            None
        }
    }

    /// Whether format 0 or 1, which cannot carry a producer id.
    #[must_use]
    pub const fn is_legacy(&self) -> bool {
        self.magic < 2
    }

    /// Whether fewer records are in the batch than were produced: the cleaner was here.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.magic >= 2
            && self
                .records_count
                .is_some_and(|count| i64::from(count) < i64::from(self.last_offset_delta).saturating_add(1))
    }
}

/// Why the records of a whole batch cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordsError {
    /// Codecs 5 to 7 are not defined.
    #[error("codec {0} is unknown")]
    UnknownCodec(i16),
    /// The record area cannot be decompressed.
    #[error(transparent)]
    Compression(CompressionError),
    /// The record area does not hold what the header declares.
    #[error(transparent)]
    Format(FormatError),
}

impl RecordsError {
    /// What it is called in a damage note.
    #[must_use]
    pub const fn damage_kind(&self) -> DamageKind {
        match self {
            Self::UnknownCodec(_) | Self::Compression(_) => DamageKind::BadCompression,
            Self::Format(_) => DamageKind::BadRecord,
        }
    }
}

/// A batch whose checksum is right, with its bytes.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// Where it begins in its file.
    pub position: FilePosition,
    /// All of it, from `baseOffset` to the last byte that its length counts.
    pub bytes: &'a [u8],
    /// What its header says.
    pub header: BatchHeader,
}

impl<'a> Batch<'a> {
    /// The record area, compressed as it is on disk. Of a wrapper of format 0 or 1 it is what it
    /// wraps, of a plain message what stands behind its fixed fields.
    #[must_use]
    pub fn records_area(&self) -> &'a [u8] {
        if self.header.is_legacy() {
            return legacy::records_area(self.bytes);
        }
        self.bytes.get(HEADER_LENGTH..).unwrap_or_default()
    }

    /// Calls `each` with every record of the batch, in order, whatever its format and codec.
    ///
    /// # Errors
    /// [`RecordsError`] when the record area cannot be decompressed or does not hold what the
    /// header declares; records before the bad one were handed out.
    pub fn for_each_record(
        &self,
        decompressor: &mut Decompressor,
        each: impl FnMut(&Record<'_>),
    ) -> Result<(), RecordsError> {
        if self.header.records_count == Some(0) {
            return Ok(());
        }
        if self.header.is_legacy() {
            return legacy::for_each_record(self.bytes, self.header.base_offset, decompressor, each);
        }
        let codec = self.header.codec().ok_or(RecordsError::UnknownCodec(self.header.attributes & 0x07))?;
        let limits = decompressor.limits();
        let area = decompressor.decompress(codec, self.records_area()).map_err(RecordsError::Compression)?;
        Records::new(&self.header, area, limits).for_each(each).map_err(RecordsError::Format)
    }

    /// The damage note of a batch whose records cannot all be read. It spans the whole batch, and
    /// all of its offsets: which of them were handed out before the bad one the caller knows.
    #[must_use]
    pub fn records_damage(&self, error: &RecordsError) -> Damage {
        Damage {
            position: self.position,
            length: u64::try_from(self.bytes.len()).unwrap_or(u64::MAX),
            kind: error.damage_kind(),
            expected: false,
            detail: error.to_string(),
            first_offset: self.header.records_count.map(|_| self.header.base_offset),
            last_offset: Some(self.header.last_offset()),
            records_missing: true,
        }
    }

    /// The checksum that the bytes of a magic-2 batch should carry.
    #[must_use]
    pub fn compute_crc(bytes: &[u8]) -> u32 {
        crc32c::crc32c(bytes.get(21..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Kafka's own classes: offset 100, leader epoch 7, producer 1000, epoch 0, sequence 5.
    const PLAIN: &str = "0000000000000064000000490000000702383704af0000000000010000018bcfe568000000018bcfe5680500000000000003e80000000000050000000214000000046b310476310018000a02046b32010202680278";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn a_header_of_kafkas_own_is_read_field_by_field() {
        let batch = bytes(PLAIN);
        let (header, length) = BatchHeader::read(&batch).unwrap();
        assert_eq!(length, 73);
        assert_eq!(header.base_offset, Offset(100));
        assert_eq!(header.last_offset(), Offset(101));
        assert_eq!(header.partition_leader_epoch, Some(LeaderEpoch(7)));
        assert_eq!(header.crc, 943_129_775);
        assert_eq!(Batch::compute_crc(&batch), 943_129_775);
        assert_eq!(header.producer_id, ProducerId(1000));
        assert_eq!(header.producer_epoch, Some(ProducerEpoch(0)));
        assert_eq!(header.base_sequence, Sequence::new(5));
        assert_eq!(header.last_sequence(), Sequence::new(6));
        assert_eq!(header.base_timestamp, 1_700_000_000_000);
        assert_eq!(header.max_timestamp, 1_700_000_000_005);
        assert_eq!(header.records_count, Some(2));
        assert!(!header.is_sparse());
    }

    #[test]
    fn a_batch_can_straddle_the_sequence_wrap() {
        let batch = bytes(
            "0000000000000064000000490000000702d57c3a660000000000010000018bcfe568000000018bcfe5680500000000000003e800007fffffff0000000214000000046b310476310018000a02046b32010202680278",
        );
        let (header, _) = BatchHeader::read(&batch).unwrap();
        assert_eq!(header.base_sequence, Some(Sequence::LAST));
        assert_eq!(header.last_sequence(), Some(Sequence::FIRST));
        assert_eq!(Batch::compute_crc(&batch), header.crc);
    }

    #[test]
    fn compaction_keeps_the_range_and_lowers_the_count() {
        for (hex, count, horizon) in [
            (
                "0000000000000064000000\
              3c00000007025abbfa570000000000020000018bcfe568050000018bcfe5680500000000000003e80000000000050000000114000002046b3204763200",
                1,
                None,
            ),
            (
                "0000000000000064000000\
              3d0000000702a32fdd1d0040000000020000018bd50d4aa00000018bcfe5680700000000000003e8000000000005000000011600b18abf5204046b330100",
                1,
                Some(Timestamp(1_700_086_500_000)),
            ),
            (
                "0000000000000064000000\
              310000000702fa2395fc000000000002ffffffffffffffff0000018bcfe5680700000000000003e800000000000500000000",
                0,
                None,
            ),
        ] {
            let batch = bytes(hex);
            let (header, _) = BatchHeader::read(&batch).unwrap();
            assert_eq!(header.records_count, Some(count));
            assert_eq!(header.last_sequence(), Sequence::new(7));
            assert_eq!(header.last_offset(), Offset(102));
            assert_eq!(header.delete_horizon(), horizon);
            assert!(header.is_sparse());
            assert_eq!(Batch::compute_crc(&batch), header.crc);
        }
    }

    #[test]
    fn negative_counts_are_refused() {
        let mut batch = bytes(PLAIN);
        batch[57] = 0xff;
        assert!(BatchHeader::read(&batch).is_err());
    }

    #[test]
    fn every_codec_holds_the_same_records() {
        const GZIP: &str = "00000000000000640000005d0000000702cd956a150001000000010000018bcfe568000000018bcfe5680500000000000003e8000000000005000000021f8b08000000000000ff1361606060c936642933649060e06262c936626462ca60aa000007f958fa18000000";
        const SNAPPY: &str = "00000000000000640000005f00000007029b7d90480002000000010000018bcfe568000000018bcfe5680500000000000003e80000000000050000000282534e415050590000000001000000010000001a185c14000000046b310476310018000a02046b32010202680278";
        const LZ4: &str = "000000000000006400000058000000070286aa38af0003000000010000018bcfe568000000018bcfe5680500000000000003e80000000000050000000204224d186040821800008014000000046b310476310018000a02046b3201020268027800000000";
        const ZSTD: &str = "0000000000000064000000550000000702ceb94ef40004000000010000018bcfe568000000018bcfe5680500000000000003e80000000000050000000228b52ffd0058c0000014000000046b310476310018000a02046b32010202680278010000";
        let mut decompressor = Decompressor::default();
        for hex in [PLAIN, GZIP, SNAPPY, LZ4, ZSTD] {
            let bytes = bytes(hex);
            let (header, _) = BatchHeader::read(&bytes).unwrap();
            assert_eq!(Batch::compute_crc(&bytes), header.crc);
            let mut seen = Vec::new();
            Batch { position: FilePosition(0), bytes: &bytes, header }
                .for_each_record(&mut decompressor, |record| {
                    let headers: Vec<_> = record
                        .headers
                        .iter()
                        .map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec)))
                        .collect();
                    seen.push((
                        (record.offset.0, record.timestamp, record.sequence.map(Sequence::get)),
                        (record.key.map(<[u8]>::to_vec), record.value.map(<[u8]>::to_vec)),
                        headers,
                    ));
                })
                .unwrap();
            let first =
                ((100, 1_700_000_000_000, Some(5)), (Some(b"k1".to_vec()), Some(b"v1".to_vec())), vec![]);
            let second = (
                (101, 1_700_000_000_005, Some(6)),
                (Some(b"k2".to_vec()), None),
                vec![(b"h".to_vec(), Some(b"x".to_vec()))],
            );
            assert_eq!(seen, [first, second]);
        }
    }
}
