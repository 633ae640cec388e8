//! The records of a magic-2 batch, after decompression.
//!
//! ```text
//!  field            type
//!  length           varint    bytes after this field
//!  attributes       INT8      unused
//!  timestampDelta   varlong   from the batch's baseTimestamp
//!  offsetDelta      varint    from the batch's baseOffset
//!  keyLength, key   varint    negative = null
//!  valueLength, …   varint    negative = null, a tombstone
//!  headersCount     varint
//!  headers          key length varint, UTF-8 key, value length varint (negative = null), value
//! ```
//!
//! Source: `DefaultRecord` in Kafka's `clients` module.
//!
//! A record must take exactly the bytes that its length declares, and behind the last record that
//! the batch counts nothing may be left. A count of 0 means that the area is not looked at.

use super::cursor::{Cursor, FormatError};
use super::limits::Limits;
use super::record_batch::{BatchHeader, TimestampType};
use crate::units::{Offset, Sequence};

/// One record, borrowing from the decompressed batch.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Its number in the partition.
    pub offset: Offset,
    /// The time that a consumer sees: the client's, or the append time where the topic says so.
    pub timestamp: i64,
    /// The client's own time, also on a LogAppendTime topic; −1 where there is none.
    pub client_timestamp: i64,
    /// Its sequence, when the batch has one.
    pub sequence: Option<Sequence>,
    /// Null and empty are different keys.
    pub key: Option<&'a [u8]>,
    /// Null is a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers as stored; names may repeat.
    pub headers: Headers<'a>,
}

/// One header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader<'a> {
    /// The name as stored; UTF-8 by convention.
    pub key: &'a [u8],
    /// The value; may be null.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record as they are stored, checked when the record was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    count: u32,
    bytes: &'a [u8],
}

impl<'a> Headers<'a> {
    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The bytes of all headers as stored: equal bytes, equal headers.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The headers in their order.
    pub fn iter(&self) -> impl Iterator<Item = RecordHeader<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.bytes);
        (0..self.count).map_while(move |_| read_header(&mut cursor).ok())
    }
}

/// Walks over the records of a decompressed magic-2 record area.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    cursor: Cursor<'a>,
    left: u32,
    base_offset: Offset,
    base_timestamp: i64,
    append_time: Option<i64>,
    base_sequence: Option<Sequence>,
    limits: Limits,
}

impl<'a> Records<'a> {
    /// The records of `area`, which is the record area of the batch with this header.
    #[must_use]
    pub fn new(header: &BatchHeader, area: &'a [u8], limits: Limits) -> Self {
        Self {
            cursor: Cursor::new(area),
            left: header.records_count.unwrap_or(0),
            base_offset: header.base_offset,
            base_timestamp: header.base_timestamp,
            append_time: (header.timestamp_type() == TimestampType::LogAppendTime)
                .then_some(header.max_timestamp),
            base_sequence: header.base_sequence,
            limits,
        }
    }

    /// The next record, or `None` behind the last one.
    ///
    /// # Errors
    /// [`FormatError`] when the area does not hold what the batch declares; the walk ends there.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record<'a>>, FormatError> {
        if self.left == 0 {
            return Ok(None);
        }
        let record = match self.read_plain() {
            Some(record) => record,
            None => self.read().inspect_err(|_| self.left = 0)?,
        };
        self.count_one()?;
        Ok(Some(record))
    }

    /// Hands all records to `each`: the same, without a place for each on the way.
    ///
    /// # Errors
    /// As [`Records::next_record`]; the records before the bad one were handed out.
    #[inline]
    pub fn for_each(mut self, mut each: impl FnMut(&Record<'a>)) -> Result<(), FormatError> {
        while self.left > 0 {
            if let Some(record) = self.read_plain() {
                self.count_one()?;
                each(&record);
            } else if let Some(record) = self.next_record()? {
                each(&record);
            }
        }
        Ok(())
    }

    /// Counts a record that was taken.
    #[inline]
    fn count_one(&mut self) -> Result<(), FormatError> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 && self.cursor.left() != 0 { Err(self.left_behind()) } else { Ok(()) }
    }

    #[cold]
    fn left_behind(&self) -> FormatError {
        let reason = format!("{} bytes are left behind the last record", self.cursor.left());
        self.cursor.invalid("records", reason)
    }

    /// Takes a record as nearly all are. Where there is more to it, or something is wrong, nothing is
    /// taken, and [`Records::read`] tells.
    #[expect(
        clippy::inline_always,
        reason = "a record takes 120 bytes, which would be written and read again"
    )]
    #[inline(always)]
    fn read_plain(&mut self) -> Option<Record<'a>> {
        let mut rest = self.cursor.rest();
        let before = rest.len();
        let length = usize::try_from(plain_varint(&mut rest)?).ok()?;
        let (mut body, behind) = rest.split_at_checked(length)?;
        let (_attributes, fields) = body.split_first()?;
        body = fields;
        let timestamp_delta = plain_varint(&mut body)?;
        let offset_delta = plain_varint(&mut body)?;
        let key = plain_nullable(&mut body)?;
        let value = plain_nullable(&mut body)?;
        let headers = if body == [0] {
            Headers::default()
        } else {
            let mut cursor = Cursor::new(body);
            let headers = read_headers(&mut cursor, &self.limits).ok()?;
            if cursor.left() != 0 {
                return None;
            }
            headers
        };
        self.cursor.skip(before.saturating_sub(behind.len()));
        Some(self.record(i64::from(timestamp_delta), offset_delta, key, value, headers))
    }

    #[cold]
    fn read(&mut self) -> Result<Record<'a>, FormatError> {
        let length = self.cursor.varint("record length")?;
        let Ok(length) = usize::try_from(length) else {
            return Err(self.cursor.invalid("record length", format!("{length} is negative")));
        };
        let mut body = Cursor::new(self.cursor.bytes("record", length)?);
        body.int8("record attributes")?;
        let timestamp_delta = body.varlong("timestampDelta")?;
        let offset_delta = body.varint("offsetDelta")?;
        let key = read_nullable(&mut body, "key")?;
        let value = read_nullable(&mut body, "value")?;
        let headers = read_headers(&mut body, &self.limits)?;
        if body.left() != 0 {
            return Err(body.invalid("record", format!("{} bytes are left behind its headers", body.left())));
        }
        Ok(self.record(timestamp_delta, offset_delta, key, value, headers))
    }

    #[inline]
    fn record(
        &self,
        timestamp_delta: i64,
        offset_delta: i32,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
        headers: Headers<'a>,
    ) -> Record<'a> {
        let client_timestamp = self.base_timestamp.wrapping_add(timestamp_delta);
        Record {
            offset: self.base_offset.plus(i64::from(offset_delta)),
            timestamp: self.append_time.unwrap_or(client_timestamp),
            client_timestamp,
            sequence: self.base_sequence.map(|base| base.advance(offset_delta.cast_unsigned())),
            key,
            value,
            headers,
        }
    }
}

/// Takes a signed number of up to three bytes.
#[inline]
fn plain_varint(bytes: &mut &[u8]) -> Option<i32> {
    let (raw, rest) = match **bytes {
        [byte, ref rest @ ..] if byte < 0x80 => (u32::from(byte), rest),
        [first, second, ref rest @ ..] if second < 0x80 => {
            (u32::from(first & 0x7f) | u32::from(second) << 7, rest)
        }
        [first, second, third, ref rest @ ..] if third < 0x80 => {
            (u32::from(first & 0x7f) | u32::from(second & 0x7f) << 7 | u32::from(third) << 14, rest)
        }
        _ => return None,
    };
    *bytes = rest;
    Some((raw >> 1).cast_signed() ^ (raw & 1).cast_signed().wrapping_neg())
}

/// Takes bytes that may be null: the outer `None` where they are cut.
#[inline]
#[expect(clippy::option_option, reason = "the two mean different things, and there is one caller")]
fn plain_nullable<'a>(bytes: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let Ok(length) = usize::try_from(plain_varint(bytes)?) else { return Some(None) };
    let (field, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(Some(field))
}

#[inline]
fn read_nullable<'a>(body: &mut Cursor<'a>, field: &'static str) -> Result<Option<&'a [u8]>, FormatError> {
    match usize::try_from(body.varint(field)?) {
        Ok(length) => body.bytes(field, length).map(Some),
        Err(_) => Ok(None),
    }
}

#[inline]
fn read_headers<'a>(body: &mut Cursor<'a>, limits: &Limits) -> Result<Headers<'a>, FormatError> {
    let count = body.varint("headersCount")?;
    let Ok(count) = u32::try_from(count) else {
        return Err(body.invalid("headersCount", format!("{count} is negative")));
    };
    if count > limits.headers {
        return Err(body.invalid("headersCount", format!("{count}, the limit is {}", limits.headers)));
    }
    if count == 0 {
        return Ok(Headers::default());
    }
    let start = body.clone();
    for _ in 0..count {
        let length = read_header(body)?.key.len();
        if length > limits.header_name {
            let reason = format!("{length} bytes, the limit is {}", limits.header_name);
            return Err(body.invalid("header key", reason));
        }
    }
    let length = body.at().saturating_sub(start.at());
    let bytes = start.rest().get(..length).unwrap_or_default();
    Ok(Headers { count, bytes })
}

fn read_header<'a>(cursor: &mut Cursor<'a>) -> Result<RecordHeader<'a>, FormatError> {
    let length = cursor.varint("header key length")?;
    let Ok(length) = usize::try_from(length) else {
        return Err(cursor.invalid("header key length", format!("{length} is negative")));
    };
    let key = cursor.bytes("header key", length)?;
    let value = read_nullable(cursor, "header value")?;
    Ok(RecordHeader { key, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::batch;
    use proptest::prelude::*;

    fn records<'a>(header: &BatchHeader, area: &'a [u8]) -> Records<'a> {
        Records::new(header, area, Limits { headers: 3, header_name: 4, ..Limits::default() })
    }

    proptest! {
        #[test]
        fn all_together_are_what_comes_one_by_one(
            values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 1..6),
            flip in proptest::option::of((0_usize..200, any::<u8>())),
            cut in 0_usize..4, more in proptest::collection::vec(any::<u8>(), 0..2),
        ) {
            let bytes = values.iter().fold(batch(), |spec, value| spec.record("key", value.as_slice())).bytes();
            let (header, _) = BatchHeader::read(&bytes).unwrap();
            let mut area = bytes[super::super::record_batch::HEADER_LENGTH..].to_vec();
            if let Some((at, flip)) = flip && let Some(byte) = area.get_mut(at) {
                *byte ^= flip;
            }
            area.truncate(area.len() - cut / 2);
            area.extend(more);
            let (mut one_by_one, mut together) = (Vec::new(), Vec::new());
            let mut walk = records(&header, &area);
            let end = loop {
                match walk.next_record() {
                    Ok(Some(record)) => one_by_one.push(format!("{record:?}")),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            let all = records(&header, &area).for_each(|record| together.push(format!("{record:?}")));
            prop_assert_eq!((together, all), (one_by_one, end));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn plain_records_are_read_as_all_are(
            key in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..100)),
            value in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20_000)),
            headers in proptest::collection::vec(("[a-z]{0,5}", proptest::option::of("[a-z]{0,9}")), 0..5),
            flips in proptest::collection::vec((0_usize..200, any::<u8>()), 0..3),
            cut in 0_usize..10,
        ) {
            let mut spec = batch().record(key, value);
            for (name, value) in headers {
                spec = spec.header(&name, value.map(String::into_bytes));
            }
            let bytes = spec.bytes();
            let (header, _) = BatchHeader::read(&bytes).unwrap();
            let mut area = bytes[super::super::record_batch::HEADER_LENGTH..].to_vec();
            for (at, flip) in flips {
                if let Some(byte) = area.get_mut(at) {
                    *byte ^= flip;
                }
            }
            area.truncate(area.len().saturating_sub(cut / 5));
            let (mut plain, mut all) = (records(&header, &area), records(&header, &area));
            let (found, expected) = (plain.read_plain(), all.read());
            if let Some(found) = found {
                prop_assert_eq!(format!("{:?}", found), format!("{:?}", expected.unwrap()));
                prop_assert_eq!(plain.cursor.at(), all.cursor.at());
            } else {
                prop_assert_eq!(plain.cursor.at(), 0);
            }
        }
    }
}
