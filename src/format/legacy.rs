//! Message formats 0 and 1: what brokers wrote up to 0.10, and can still hold.
//!
//! ```text
//!  at        field            type
//!   0        offset           INT64
//!   8        size             INT32    bytes after this field
//!  12        crc              UINT32   CRC-32 (ISO) over everything behind it
//!  16        magic            INT8     0 or 1
//!  17        attributes       INT8     bits 0 to 2 codec; format 1: bit 3 LogAppendTime
//!  18        timestamp        INT64    format 1 only
//!  18 or 26  key              INT32 length, bytes; −1 = null
//!            value            INT32 length, bytes; −1 = null
//! ```
//!
//! A compressed message, the wrapper, has a null key and a value that is a sequence of whole
//! messages. Its offset is that of the last message inside. In format 0 the offsets inside are
//! absolute, in format 1 they count from the first record of the batch as it was produced; a
//! wrapper at offset 0 begins at 0 (some librdkafka versions).
//!
//! A LogAppendTime wrapper gives its time to all messages inside, which keep the client's own;
//! a plain message has only one time, so there the client's is lost. A wrapper of format 1 may hold
//! messages of format 0 (KAFKA-4298).
//!
//! Source: `LegacyRecord`, `AbstractLegacyRecordBatch` in Kafka's `clients` module; KIP-31, KIP-32.

use super::compression::{Codec, Decompressor};
use super::cursor::{Cursor, FormatError};
use super::record::{Headers, Record};
use super::record_batch::{BatchHeader, RecordsError};
use crate::units::{Offset, ProducerId};

/// The smallest size that a message of format 0 can declare.
pub const MIN_SIZE_V0: i32 = 14;
/// The smallest size that a message of format 1 can declare.
pub const MIN_SIZE_V1: i32 = 22;

const NO_TIMESTAMP: i64 = -1;

/// One message as it stands in the file or inside a wrapper.
struct Message<'a> {
    offset: i64,
    crc: u32,
    covered: &'a [u8],
    magic: i8,
    attributes: u8,
    timestamp: i64,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, FormatError> {
        let offset = cursor.int64("offset")?;
        let size = cursor.int32("message size")?;
        let Ok(size) = usize::try_from(size) else {
            return Err(cursor.invalid("message size", format!("{size} is negative")));
        };
        let mut body = Cursor::new(cursor.bytes("message", size)?);
        let crc = body.uint32("crc")?;
        let covered = body.rest();
        let magic = body.int8("magic")?;
        if !(0..=1).contains(&magic) {
            return Err(body.invalid("magic", format!("{magic} inside format 0 or 1")));
        }
        let [attributes] = body.array("attributes")?;
        let timestamp = if magic == 0 { NO_TIMESTAMP } else { body.int64("timestamp")? };
        let key = read_nullable(&mut body, "key")?;
        let value = read_nullable(&mut body, "value")?;
        if body.left() != 0 {
            return Err(body.invalid("message", format!("{} bytes are left behind its value", body.left())));
        }
        Ok(Self { offset, crc, covered, magic, attributes, timestamp, key, value })
    }

    fn codec(&self) -> Option<Codec> {
        Codec::from_attributes(i16::from(self.attributes)).filter(|&codec| codec != Codec::Zstd)
    }
}

fn read_nullable<'a>(body: &mut Cursor<'a>, field: &'static str) -> Result<Option<&'a [u8]>, FormatError> {
    match usize::try_from(body.int32(field)?) {
        Ok(length) => body.bytes(field, length).map(Some),
        Err(_) => Ok(None),
    }
}

/// The checksum that the bytes of a message of format 0 or 1 should carry.
#[must_use]
pub fn compute_crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes.get(16..).unwrap_or_default())
}

/// Reads a message of format 0 or 1 as a batch of one record or, when it is compressed, as a
/// wrapper of which only the last offset is known.
///
/// # Errors
/// [`FormatError`] when bytes are missing or left over, or the format is neither.
pub fn read_header(bytes: &[u8]) -> Result<BatchHeader, FormatError> {
    let message = Message::read(&mut Cursor::new(bytes))?;
    Ok(BatchHeader {
        base_offset: Offset(message.offset),
        magic: message.magic,
        partition_leader_epoch: None,
        crc: message.crc,
        attributes: i16::from(message.attributes),
        last_offset_delta: 0,
        base_timestamp: message.timestamp,
        max_timestamp: message.timestamp,
        producer_id: ProducerId::NONE,
        producer_epoch: None,
        base_sequence: None,
        records_count: (message.codec() == Some(Codec::None)).then_some(1),
    })
}

/// What a wrapper holds, compressed, or what stands behind the fixed fields of a plain message.
#[must_use]
pub fn records_area(bytes: &[u8]) -> &[u8] {
    let Ok(message) = Message::read(&mut Cursor::new(bytes)) else { return &[] };
    if message.codec() == Some(Codec::None) {
        let fixed = if message.magic == 0 { 2 } else { 10 };
        message.covered.get(fixed..).unwrap_or_default()
    } else {
        message.value.unwrap_or_default()
    }
}

/// Calls `each` with the record of a message, or with those inside a wrapper.
pub(super) fn for_each_record(
    bytes: &[u8],
    offset: Offset,
    decompressor: &mut Decompressor,
    mut each: impl FnMut(&Record<'_>),
) -> Result<(), RecordsError> {
    for_each_message(bytes, offset, decompressor, |record, _crc| each(record))
}

/// Calls `each` with the record of a message, or with those inside a wrapper, and with the stored
/// checksum of the message that holds it. Messages inside a wrapper were checked against theirs.
/// The message counts as having `offset`: that of its header, which may have been put right.
///
/// # Errors
/// [`RecordsError`] when the wrapper cannot be decompressed or a message in it is not whole;
/// records before the bad one were handed out.
pub fn for_each_message(
    bytes: &[u8],
    offset: Offset,
    decompressor: &mut Decompressor,
    mut each: impl FnMut(&Record<'_>, u32),
) -> Result<(), RecordsError> {
    let mut outer = Message::read(&mut Cursor::new(bytes)).map_err(RecordsError::Format)?;
    outer.offset = offset.0;
    let append_time = outer.magic == 1 && outer.attributes & 0x08 != 0;
    let codec =
        outer.codec().ok_or_else(|| RecordsError::UnknownCodec(i16::from(outer.attributes & 0x07)))?;
    if codec == Codec::None {
        let client_timestamp = if append_time { NO_TIMESTAMP } else { outer.timestamp };
        each(&record(&outer, Offset(outer.offset), outer.timestamp, client_timestamp), outer.crc);
        return Ok(());
    }
    let Some(compressed) = outer.value else {
        let reason = "a compressed message has no value".to_owned();
        return Err(RecordsError::Format(FormatError::Invalid { field: "value", at: 0, reason }));
    };
    let area = decompressor
        .decompress_of_magic(outer.magic, codec, compressed)
        .map_err(RecordsError::Compression)?;
    let base = base_offset(&outer, area).map_err(RecordsError::Format)?;
    let mut cursor = Cursor::new(area);
    while cursor.left() != 0 {
        let inner = Message::read(&mut cursor).map_err(RecordsError::Format)?;
        check_inner(&inner, &cursor).map_err(RecordsError::Format)?;
        // Kafka gives a message of format 0 no time, whatever its wrapper says.
        let timestamp = if append_time && inner.magic == 1 { outer.timestamp } else { inner.timestamp };
        each(&record(&inner, base.plus(inner.offset), timestamp, inner.timestamp), inner.crc);
    }
    Ok(())
}

/// What is to be added to the offsets inside a wrapper; nothing in format 0.
fn base_offset(outer: &Message<'_>, area: &[u8]) -> Result<Offset, FormatError> {
    let mut cursor = Cursor::new(area);
    let mut last = None;
    while cursor.left() != 0 {
        last = Some(cursor.int64("offset")?);
        let size = cursor.int32("message size")?;
        let Ok(size) = usize::try_from(size) else {
            return Err(cursor.invalid("message size", format!("{size} is negative")));
        };
        cursor.bytes("message", size)?;
    }
    let Some(last) = last else {
        return Err(cursor.invalid("records", "a compressed message holds none"));
    };
    if outer.magic == 0 || outer.offset == 0 {
        return Ok(Offset(0));
    }
    if outer.offset < last {
        return Err(cursor.invalid("offset", format!("{last} inside a wrapper of offset {}", outer.offset)));
    }
    Ok(Offset(outer.offset).plus(last.saturating_neg()))
}

fn check_inner(inner: &Message<'_>, cursor: &Cursor<'_>) -> Result<(), FormatError> {
    let computed = crc32fast::hash(inner.covered);
    if computed != inner.crc {
        let reason = format!("stored checksum {}, computed {computed}", inner.crc);
        return Err(cursor.invalid("message inside a wrapper", reason));
    }
    if inner.codec() != Some(Codec::None) {
        return Err(cursor.invalid("message inside a wrapper", "is compressed again"));
    }
    Ok(())
}

fn record<'a>(message: &Message<'a>, offset: Offset, timestamp: i64, client_timestamp: i64) -> Record<'a> {
    Record {
        offset,
        timestamp,
        client_timestamp,
        sequence: None,
        key: message.key,
        value: message.value,
        headers: Headers::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record_batch::Batch;
    use crate::units::FilePosition;

    const T: i64 = 1_700_000_000_000;
    // Made with Kafka's own classes: (k1, v1) at time T and (k2, v2) at T + 5, offsets 10 and 11.
    const V0_FIRST: &str = "000000000000000a0000001257e7496e0000000000026b31000000027631";
    const V0_LZ4: &str = "000000000000000b00000051966fc4bf0003ffffffff0000004304224d1860401a3400000012000100910a0000001257e7496e0f0080026b3100000002760600000200100b1e0040ff0602490d00a000026b3200000002763200000000";
    const V1_FIRST: &str = "000000000000000a0000001aa5da6a6201000000018bcfe56800000000026b31000000027631";
    const V1_GZIP: &str = "000000000000000b000000552891a11a01010000018bcfe56805ffffffff0000003f1f8b08000000000000ff63608003a9a5b7b29218810cc6eef34f3340224cd98620b2cc10aa022429252032290cae8a15acca08acca0800dfd9b7a34c000000";
    const V1_LZ4: &str = "000000000000000b000000638019fd5a01030000018bcfe56805ffffffff0000004d04224d186040823e00000016000100e01aa5da6a6201000000018bcfe568180080026b3100000002760600000200001d00501a10149256090001260010052000806b3200000002763200000000";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    /// A message with the right checksum.
    fn message(
        offset: i64,
        magic: u8,
        attributes: u8,
        timestamp: i64,
        key: Option<&[u8]>,
        value: &[u8],
    ) -> Vec<u8> {
        let mut covered = vec![magic, attributes];
        if magic == 1 {
            covered.extend(timestamp.to_be_bytes());
        }
        match key {
            None => covered.extend((-1i32).to_be_bytes()),
            Some(key) => {
                covered.extend(length(key.len()).to_be_bytes());
                covered.extend(key);
            }
        }
        covered.extend(length(value.len()).to_be_bytes());
        covered.extend(value);
        let mut bytes = offset.to_be_bytes().to_vec();
        bytes.extend(length(covered.len() + 4).to_be_bytes());
        bytes.extend(crc32fast::hash(&covered).to_be_bytes());
        bytes.extend(covered);
        bytes
    }

    fn length(length: usize) -> u32 {
        u32::try_from(length).unwrap()
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        writer.write_all(content).unwrap();
        writer.finish().unwrap()
    }

    type Read = (i64, i64, i64, Option<String>, Option<String>);

    fn read(bytes: &[u8]) -> Result<Vec<Read>, RecordsError> {
        let header = read_header(bytes).unwrap();
        let batch = Batch { position: FilePosition(0), bytes, header };
        let mut records = Vec::new();
        let text = |bytes: Option<&[u8]>| bytes.map(|b| String::from_utf8(b.to_vec()).unwrap());
        batch.for_each_record(&mut Decompressor::default(), |record| {
            assert_eq!(record.sequence, None);
            records.push((
                record.offset.0,
                record.timestamp,
                record.client_timestamp,
                text(record.key),
                text(record.value),
            ));
        })?;
        Ok(records)
    }

    fn two(first_time: i64, second_time: i64) -> Vec<Read> {
        let some = |text: &str| Some(text.to_owned());
        vec![
            (10, first_time, first_time, some("k1"), some("v1")),
            (11, second_time, second_time, some("k2"), some("v2")),
        ]
    }

    #[test]
    fn a_plain_message_is_a_batch_of_one() {
        let v0 = bytes(V0_FIRST);
        assert_eq!(read(&v0).unwrap(), two(-1, -1)[..1]);
        assert_eq!(read_header(&v0).unwrap().crc, compute_crc(&v0));
        let v1 = bytes(V1_FIRST);
        assert_eq!(read(&v1).unwrap(), two(T, T)[..1]);
        let header = read_header(&v1).unwrap();
        assert_eq!(header.crc, compute_crc(&v1));
        assert_eq!((header.base_offset, header.records_count), (Offset(10), Some(1)));
        assert!(header.is_legacy());
    }

    #[test]
    fn a_wrapper_of_format_0_has_absolute_offsets_and_a_wrong_lz4_checksum() {
        let wrapper = bytes(V0_LZ4);
        assert_eq!(read(&wrapper).unwrap(), two(-1, -1));
        let header = read_header(&wrapper).unwrap();
        assert_eq!((header.base_offset, header.records_count), (Offset(11), None));
        assert_eq!(header.crc, compute_crc(&wrapper));
    }

    #[test]
    fn a_wrapper_of_format_1_has_relative_offsets() {
        assert_eq!(read(&bytes(V1_GZIP)).unwrap(), two(T, T + 5));
        assert_eq!(read(&bytes(V1_LZ4)).unwrap(), two(T, T + 5));
    }

    #[test]
    fn the_lz4_checksum_of_format_1_is_insisted_on() {
        let mut wrapper = bytes(V1_LZ4);
        let at = wrapper.windows(4).position(|w| w == [0x04, 0x22, 0x4d, 0x18]).unwrap() + 6;
        assert_eq!(wrapper[at], 0x82);
        wrapper[at] = 0x1a;
        assert!(matches!(read(&wrapper), Err(RecordsError::Compression(_))));
    }

    #[test]
    fn the_cleaner_leaves_holes_between_relative_offsets() {
        let mut inner = message(1, 1, 0, T, None, b"b");
        inner.extend(message(4, 1, 0, T + 1, None, b"e"));
        let offsets: Vec<i64> =
            read(&message(14, 1, 1, T, None, &gzip(&inner))).unwrap().iter().map(|r| r.0).collect();
        assert_eq!(offsets, [11, 14]);
    }

    #[test]
    fn a_wrapper_at_offset_0_begins_at_0_and_no_other_may_lie_below_its_records() {
        let mut inner = message(0, 1, 0, T, None, b"a");
        inner.extend(message(1, 1, 0, T, None, b"b"));
        let offsets: Vec<i64> =
            read(&message(0, 1, 1, T, None, &gzip(&inner))).unwrap().iter().map(|r| r.0).collect();
        assert_eq!(offsets, [0, 1]);
        inner.extend(message(9, 1, 0, T, None, b"c"));
        assert!(read(&message(8, 1, 1, T, None, &gzip(&inner))).is_err());
    }

    #[test]
    fn log_append_time_hides_the_clients_time_but_a_wrapper_keeps_it() {
        let inner = message(0, 1, 0, T, None, b"a");
        let records = read(&message(5, 1, 1 | 8, T + 99, None, &gzip(&inner))).unwrap();
        assert_eq!((records[0].1, records[0].2), (T + 99, T));
        let records = read(&message(5, 1, 8, T + 99, None, b"a")).unwrap();
        assert_eq!((records[0].1, records[0].2), (T + 99, -1));
    }

    #[test]
    fn a_wrapper_of_format_1_may_hold_messages_of_format_0() {
        let mut inner = message(10, 0, 0, 0, None, b"a");
        inner.extend(message(11, 0, 0, 0, None, b"b"));
        let records = read(&message(11, 1, 1 | 8, T, None, &gzip(&inner))).unwrap();
        assert_eq!(records.iter().map(|r| (r.0, r.1)).collect::<Vec<_>>(), [(10, -1), (11, -1)]);
    }

    #[test]
    fn an_offset_that_was_put_right_counts_for_plain_messages_and_relative_offsets() {
        let mut inner = message(0, 1, 0, T, None, b"a");
        inner.extend(message(1, 1, 0, T, None, b"b"));
        for (bytes, expected) in [
            (message(99, 1, 0, T, None, b"a"), vec![6]),
            (message(99, 1, 1, T, None, &gzip(&inner)), vec![5, 6]),
        ] {
            let header = BatchHeader { base_offset: Offset(6), ..read_header(&bytes).unwrap() };
            let batch = Batch { position: FilePosition(0), bytes: &bytes, header };
            let mut offsets = Vec::new();
            batch
                .for_each_record(&mut Decompressor::default(), |record| offsets.push(record.offset.0))
                .unwrap();
            assert_eq!(offsets, expected);
        }
    }

    #[test]
    fn bad_messages_inside_a_wrapper_are_told() {
        let mut inner = message(0, 1, 0, T, None, b"a");
        *inner.last_mut().unwrap() = b'x';
        let error = read(&message(0, 1, 1, T, None, &gzip(&inner))).unwrap_err();
        assert!(error.to_string().contains("stored checksum"), "{error}");
        let twice = message(0, 1, 1, T, None, &gzip(&message(0, 1, 1, T, None, b"a")));
        assert!(read(&twice).unwrap_err().to_string().contains("compressed again"));
        assert!(read(&message(0, 1, 1, T, None, &gzip(b""))).is_err());
        assert!(read(&message(0, 1, 4, T, None, b"zstd came later")).is_err());
    }
}
