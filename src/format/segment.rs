//! Cuts a `.log` file into batches and damage, so that every byte is in exactly one of them.
//!
//! A segment is a plain concatenation of batches. The scan checks the checksum of each, goes on
//! behind damage at the next batch that proves itself, and tells torn and zero tails, which a log
//! that was not closed cleanly is expected to have, from bytes that went bad.
//!
//! Source: `FileLogInputStream`, `DefaultRecordBatch`, `LogSegment.recover` in Apache Kafka.
//! Kafka's own reader stops at the first bad size; a broker only checks what lies above its
//! recovery point, so a bad batch in the middle of a closed segment stays there for ever.

use super::damage::{Damage, DamageKind};
use super::legacy;
use super::record_batch::{Batch, BatchHeader, HEADER_LENGTH, LOG_OVERHEAD, MIN_BATCH_LENGTH};
use super::source::ByteSource;
use crate::units::{FilePosition, Offset};
use std::io;

/// Bytes up to and including the magic byte: what Kafka reads before it decides on a batch.
const PREFIX: usize = 17;
/// How far the search for a batch behind damage looks at once.
const SEARCH_WINDOW: usize = 64 << 10;

/// What a scan finds, in the order of the file.
#[derive(Debug)]
pub enum SegmentItem<'a> {
    /// A batch with the right checksum.
    Batch(Batch<'a>),
    /// Bytes that are no batch.
    Damage(Damage),
}

/// Walks over one segment.
#[derive(Debug)]
pub struct SegmentScanner<S> {
    source: S,
    position: u64,
    segment_base: Offset,
    next_offset: Option<Offset>,
    tail: TailExpectation,
}

/// Whether a torn or zero tail is what this segment is expected to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailExpectation {
    /// The active segment of a log that was not closed cleanly, or was copied while it was written.
    MayBeTorn,
    /// A closed segment, or one beside a clean-shutdown marker.
    MustBeWhole,
}

enum Candidate {
    /// A batch of this many bytes proves itself.
    Whole(usize, BatchHeader),
    /// It does not; the declared length in bytes when it stays within the file.
    Broken { kind: DamageKind, detail: String, declared: Option<u64> },
}

impl<S: ByteSource> SegmentScanner<S> {
    /// Begins at the first byte of a segment whose name says `segment_base`.
    pub fn new(source: S, segment_base: Offset, tail: TailExpectation) -> Self {
        Self { source, position: 0, segment_base, next_offset: None, tail }
    }

    /// Where the next item begins.
    #[must_use]
    pub const fn position(&self) -> FilePosition {
        FilePosition(self.position)
    }

    /// The next batch or damage; `None` at the end of the file.
    ///
    /// # Errors
    /// The error of the source. The bytes from [`SegmentScanner::position`] on were not looked at.
    pub fn next_item(&mut self) -> io::Result<Option<SegmentItem<'_>>> {
        let left = self.source.len().saturating_sub(self.position);
        if left == 0 {
            return Ok(None);
        }
        match candidate(&mut self.source, self.position)? {
            Candidate::Whole(size, header) => {
                let position = self.position;
                self.position = position.saturating_add(to_u64(size));
                self.next_offset = Some(header.last_offset().next());
                let bytes = self.source.window(position, size)?.get(..size).unwrap_or_default();
                Ok(Some(SegmentItem::Batch(Batch { position: FilePosition(position), bytes, header })))
            }
            Candidate::Broken { kind, detail, declared } => {
                let damage = self.damage(kind, detail, declared)?;
                self.position = self.position.saturating_add(damage.length);
                Ok(Some(SegmentItem::Damage(damage)))
            }
        }
    }

    /// Measures the damage that begins at the present position.
    fn damage(&mut self, kind: DamageKind, detail: String, declared: Option<u64>) -> io::Result<Damage> {
        let (start, end) = (self.position, self.source.len());
        let first_offset = Some(self.next_offset.unwrap_or(self.segment_base));
        let resumed = self.resume(start, declared)?;
        let may_be_torn = self.tail == TailExpectation::MayBeTorn;
        let damage = |length, kind, expected, detail, last_offset| Damage {
            position: FilePosition(start),
            length,
            kind,
            expected,
            detail,
            first_offset,
            last_offset,
        };
        if let Some((next, base_offset)) = resumed {
            let last = Some(base_offset.plus(-1)).filter(|last| Some(*last) >= first_offset);
            return Ok(damage(next.saturating_sub(start), kind, false, detail, last));
        }
        let length = end.saturating_sub(start);
        if all_zero(&mut self.source, start)? {
            let detail = format!("all {length} bytes to the end of the file are zero");
            return Ok(damage(length, DamageKind::ZeroTail, may_be_torn, detail, None));
        }
        let torn = kind == DamageKind::TruncatedTail;
        Ok(damage(length, kind, torn && may_be_torn, detail, None))
    }

    /// Looks for the next batch that proves itself: first where the broken one says that it ends,
    /// then byte by byte.
    fn resume(&mut self, start: u64, declared: Option<u64>) -> io::Result<Option<(u64, Offset)>> {
        let end = self.source.len();
        let lowest = self.next_offset.unwrap_or(self.segment_base);
        if let Some(declared) = declared {
            let next = start.saturating_add(declared);
            if next < end
                && let Candidate::Whole(_, header) = candidate(&mut self.source, next)?
                && fits(&header, lowest)
            {
                return Ok(Some((next, header.base_offset)));
            }
        }
        let mut at = start.saturating_add(1);
        while at < end {
            let window = self.source.window(at, SEARCH_WINDOW)?;
            // A batch of format 2 has its magic 16 bytes in; anything else cannot begin there.
            let Some(hop) = next_possible(window) else {
                let seen = to_u64(window.len().min(SEARCH_WINDOW).saturating_sub(PREFIX)).max(1);
                at = at.saturating_add(seen);
                continue;
            };
            at = at.saturating_add(to_u64(hop));
            if let Candidate::Whole(_, header) = candidate(&mut self.source, at)?
                && fits(&header, lowest)
            {
                return Ok(Some((at, header.base_offset)));
            }
            at = at.saturating_add(1);
        }
        Ok(None)
    }
}

/// Whether a batch found behind damage can belong to this place.
fn fits(header: &BatchHeader, lowest: Offset) -> bool {
    header.base_offset >= lowest && header.base_offset.0.saturating_sub(lowest.0) <= i64::from(i32::MAX)
}

/// The first place in `window` where the prefix of a batch could stand.
fn next_possible(window: &[u8]) -> Option<usize> {
    window.windows(PREFIX).take(SEARCH_WINDOW).position(|prefix| {
        matches!(prefix, [0, _, _, _, _, _, _, _, length @ .., 2]
            if length.first().is_some_and(|&high| high < 0x80))
    })
}

/// Reads what stands at `position` and tests it.
fn candidate<S: ByteSource>(source: &mut S, position: u64) -> io::Result<Candidate> {
    let left = source.len().saturating_sub(position);
    let window = source.window(position, HEADER_LENGTH)?;
    let broken = |kind, detail| Ok(Candidate::Broken { kind, detail, declared: None });
    if left < to_u64(PREFIX) || window.len() < PREFIX {
        return broken(
            DamageKind::TruncatedTail,
            format!("a batch begins with {PREFIX} bytes, file has {left}"),
        );
    }
    let length = window.get(8..12).and_then(|b| b.first_chunk::<4>()).map_or(0, |b| i32::from_be_bytes(*b));
    let magic = window.get(16).copied().unwrap_or_default().cast_signed();
    let smallest = match magic {
        0 => legacy::MIN_SIZE_V0,
        1 => legacy::MIN_SIZE_V1,
        _ => MIN_BATCH_LENGTH,
    };
    if length < smallest {
        return broken(DamageKind::BadLength, format!("batch length {length}, the smallest is {smallest}"));
    }
    let size = u64::from(length.unsigned_abs()).saturating_add(to_u64(LOG_OVERHEAD));
    if size > left {
        let kind = if magic == 2 { DamageKind::TruncatedTail } else { DamageKind::BadLength };
        return broken(kind, format!("batch needs {size} bytes, file has {left}"));
    }
    let declared = Some(size);
    if matches!(magic, 0 | 1) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let bytes = source.window(position, size)?.get(..size).unwrap_or_default();
        let computed = legacy::compute_crc(bytes);
        return Ok(match legacy::read_header(bytes) {
            Ok(header) if header.crc == computed => Candidate::Whole(size, header),
            Ok(header) => {
                let detail = format!("stored checksum {}, computed {computed}", header.crc);
                Candidate::Broken { kind: DamageKind::BadCrc, detail, declared }
            }
            Err(error) => Candidate::Broken { kind: DamageKind::BadCrc, detail: error.to_string(), declared },
        });
    }
    if magic != 2 {
        let detail = format!("magic {magic} is unknown");
        return Ok(Candidate::Broken { kind: DamageKind::BadMagic, detail, declared });
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let bytes = source.window(position, size)?.get(..size).unwrap_or_default();
    let computed = Batch::compute_crc(bytes);
    match BatchHeader::read(bytes) {
        Ok((header, _)) if header.crc == computed => Ok(Candidate::Whole(size, header)),
        Ok((header, _)) => {
            let detail = format!("stored checksum {}, computed {computed}", header.crc);
            Ok(Candidate::Broken { kind: DamageKind::BadCrc, detail, declared })
        }
        Err(error) => {
            Ok(Candidate::Broken { kind: DamageKind::BadRecord, detail: error.to_string(), declared })
        }
    }
}

fn all_zero<S: ByteSource>(source: &mut S, start: u64) -> io::Result<bool> {
    let mut at = start;
    while at < source.len() {
        let window = source.window(at, SEARCH_WINDOW)?;
        if window.is_empty() || window.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at = at.saturating_add(to_u64(window.len()));
    }
    Ok(true)
}

fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
