//! What stands at a position of a segment: a batch that proves itself, or what is wrong with it.

use super::checksum::Checksum;
use crate::format::cursor::FormatError;
use crate::format::damage::DamageKind;
use crate::format::legacy;
use crate::format::record_batch::{BatchHeader, HEADER_LENGTH, LOG_OVERHEAD, MIN_BATCH_LENGTH};
use crate::format::source::ByteSource;
use crate::units::Offset;
use std::fmt;
use std::io;

/// Bytes up to and including the magic byte: what Kafka reads before it decides on a batch.
pub(super) const PREFIX: usize = 17;
/// How much of a batch that has not proved itself is asked for at once.
pub(super) const CHUNK: u64 = 4 << 20;

/// What stands at a position.
pub(super) enum Candidate {
    /// A batch of this many bytes with the right checksum.
    Whole { size: u64, header: BatchHeader },
    /// A batch of format 2 with the right checksum, which does not cover the magic byte; that one
    /// says something else. The header is that of format 2.
    OtherMagic { size: u64, header: BatchHeader, magic: i8 },
    /// No batch; the declared size in bytes when it stays within the file, and how many bytes were
    /// read to find out.
    Broken { fault: Fault, declared: Option<u64>, cost: u64 },
}

/// What is wrong, put into words only when it is reported.
#[derive(Debug)]
pub(super) enum Fault {
    NoPrefix { left: u64 },
    Length { found: i32, smallest: i32 },
    PastEnd { magic: i8, size: u64, left: u64 },
    Magic(i8),
    Crc { stored: u32, computed: u32 },
    Header(FormatError),
}

impl Fault {
    pub(super) fn kind(&self) -> DamageKind {
        match self {
            Self::NoPrefix { .. } | Self::PastEnd { magic: 0..=2, .. } => DamageKind::TruncatedTail,
            Self::Length { .. } | Self::PastEnd { .. } => DamageKind::BadLength,
            Self::Magic(_) => DamageKind::BadMagic,
            Self::Crc { .. } => DamageKind::BadCrc,
            Self::Header(_) => DamageKind::BadRecord,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPrefix { left } => {
                write!(f, "a batch takes at least {PREFIX} bytes, and the file has {left} more")
            }
            Self::Length { found, smallest } => write!(f, "batch length {found}, the smallest is {smallest}"),
            Self::PastEnd { size, left, .. } => write!(f, "batch needs {size} bytes, file has {left}"),
            Self::Magic(magic) => write!(f, "magic {magic} is unknown"),
            Self::Crc { stored, computed } => write!(f, "stored checksum {stored}, computed {computed}"),
            Self::Header(error) => error.fmt(f),
        }
    }
}

/// The fields that stand at the same place in every format.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    pub(super) base_offset: Offset,
    pub(super) length: i32,
    pub(super) magic: i8,
}

impl Prefix {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let prefix: &[u8; PREFIX] = bytes.first_chunk()?;
        let [o0, o1, o2, o3, o4, o5, o6, o7, l0, l1, l2, l3, _, _, _, _, magic] = *prefix;
        Some(Self {
            base_offset: Offset(i64::from_be_bytes([o0, o1, o2, o3, o4, o5, o6, o7])),
            length: i32::from_be_bytes([l0, l1, l2, l3]),
            magic: magic.cast_signed(),
        })
    }

    pub(super) const fn smallest(self) -> i32 {
        match self.magic {
            0 => legacy::MIN_SIZE_V0,
            1 => legacy::MIN_SIZE_V1,
            _ => MIN_BATCH_LENGTH,
        }
    }

    /// Bytes of the whole batch, as it declares.
    pub(super) fn size(self) -> u64 {
        u64::from(self.length.unsigned_abs()).saturating_add(to_u64(LOG_OVERHEAD))
    }
}

/// Reads what stands at `position` and tests it. A batch that does not prove itself is read in
/// parts, so that no window grows on the word of its length.
pub(super) fn examine<S: ByteSource>(source: &mut S, position: u64) -> io::Result<Candidate> {
    let left = source.len().saturating_sub(position);
    let window = source.window(position, HEADER_LENGTH)?;
    let broken = |fault| Ok(Candidate::Broken { fault, declared: None, cost: 0 });
    let Some(prefix) = Prefix::read(window).filter(|_| left >= to_u64(PREFIX)) else {
        return broken(Fault::NoPrefix { left });
    };
    let smallest = prefix.smallest();
    if prefix.length < smallest {
        return broken(Fault::Length { found: prefix.length, smallest });
    }
    let size = prefix.size();
    if size > left {
        return broken(Fault::PastEnd { magic: prefix.magic, size, left });
    }
    let fault = match prefix.magic {
        0 | 1 => match legacy_message(source, position, size)? {
            Ok(header) => return Ok(Candidate::Whole { size, header }),
            Err(fault) => fault,
        },
        2 => match batch(source, position, size)? {
            Ok(header) => return Ok(Candidate::Whole { size, header }),
            Err(fault) => return Ok(Candidate::Broken { fault, declared: Some(size), cost: size }),
        },
        magic => Fault::Magic(magic),
    };
    if size >= to_u64(HEADER_LENGTH)
        && let Ok(header) = batch(source, position, size)?
    {
        let header = BatchHeader { magic: 2, ..header };
        return Ok(Candidate::OtherMagic { size, header, magic: prefix.magic });
    }
    Ok(Candidate::Broken { fault, declared: Some(size), cost: size.saturating_mul(2) })
}

fn batch<S: ByteSource>(source: &mut S, position: u64, size: u64) -> io::Result<Result<BatchHeader, Fault>> {
    let computed = Checksum::castagnoli().over(source, position, 21, size)?;
    let window = source.window(position, HEADER_LENGTH)?;
    let stored = window.get(17..).and_then(|bytes| bytes.first_chunk::<4>());
    let stored = stored.map_or(0, |bytes| u32::from_be_bytes(*bytes));
    if stored != computed {
        return Ok(Err(Fault::Crc { stored, computed }));
    }
    Ok(BatchHeader::read(window).map(|(header, _)| header).map_err(Fault::Header))
}

fn legacy_message<S: ByteSource>(
    source: &mut S,
    position: u64,
    size: u64,
) -> io::Result<Result<BatchHeader, Fault>> {
    let computed = Checksum::iso().over(source, position, 16, size)?;
    let stored = source.window(position, PREFIX)?.get(12..).and_then(|bytes| bytes.first_chunk::<4>());
    let stored = stored.map_or(0, |bytes| u32::from_be_bytes(*bytes));
    if stored != computed {
        return Ok(Err(Fault::Crc { stored, computed }));
    }
    let length = usize::try_from(size).unwrap_or(usize::MAX);
    let bytes = source.window(position, length)?.get(..length).unwrap_or_default();
    Ok(legacy::read_header(bytes).map_err(Fault::Header))
}

pub(super) fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl Checksum {
    /// The checksum of the bytes from `skipped` to `size` of the batch at `position`.
    ///
    /// The first window begins with the batch, so that a source that reads ahead has all of it at
    /// hand when it turns out to be whole.
    fn over<S: ByteSource>(
        mut self,
        source: &mut S,
        position: u64,
        skipped: usize,
        size: u64,
    ) -> io::Result<u32> {
        let end = position.saturating_add(size);
        let (mut at, mut skipped) = (position, skipped);
        while at < end {
            let left = end.saturating_sub(at).min(CHUNK);
            let wanted = usize::try_from(left).unwrap_or(usize::MAX);
            let window = source.window(at, wanted)?;
            let part = window.get(..wanted).unwrap_or(window);
            if part.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.update(part.get(skipped..).unwrap_or_default());
            skipped = 0;
            at = at.saturating_add(to_u64(part.len()));
        }
        Ok(self.value())
    }
}
