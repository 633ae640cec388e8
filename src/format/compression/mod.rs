//! The five codecs of Kafka's record areas, within a bound on what they may produce.
//!
//! Source: `CompressionType` and the classes of `common.compress` in Kafka's `clients` module;
//! KIP-110 for zstd. The framings that are Kafka's own (xerial snappy, the lz4 header of format 0)
//! are ours; the codecs behind them are libraries.

mod lz4;
mod snappy;

use std::fmt;
use std::io::Read;

/// How a record area is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Not at all.
    None,
    /// RFC 1952.
    Gzip,
    /// Xerial stream or one bare block.
    Snappy,
    /// LZ4 frame.
    Lz4,
    /// Zstandard frames (since 2.1).
    Zstd,
}

impl Codec {
    /// The codec of bits 0 to 2; `None` for a code that no release defines.
    #[must_use]
    pub const fn from_attributes(attributes: i16) -> Option<Self> {
        match attributes & 0x07 {
            0 => Some(Self::None),
            1 => Some(Self::Gzip),
            2 => Some(Self::Snappy),
            3 => Some(Self::Lz4),
            4 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The name in Kafka's dump tool.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// Why a record area could not be decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionError {
    /// The codec that the batch names.
    pub codec: &'static str,
    /// What the library or the framing said.
    pub reason: String,
}

impl fmt::Display for CompressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.codec, self.reason)
    }
}

impl std::error::Error for CompressionError {}

/// What one batch may produce unless told otherwise: more than any broker's `message.max.bytes`
/// lets through in practice, less than a hostile batch could ask for.
pub const DEFAULT_LIMIT: usize = 128 << 20;

/// Decompresses record areas into a buffer that is used again.
pub struct Decompressor {
    buffer: Vec<u8>,
    limit: usize,
    zstd: Option<zstd::zstd_safe::DCtx<'static>>,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }
}

impl Decompressor {
    /// Refuses areas that would become larger than `limit` bytes.
    #[must_use]
    pub const fn with_limit(limit: usize) -> Self {
        Self { buffer: Vec::new(), limit, zstd: None }
    }

    /// The record area in clear; an uncompressed one is handed back as it is.
    ///
    /// # Errors
    /// [`CompressionError`] when the bytes are not what the codec writes, or too many come out.
    pub fn decompress<'a>(&'a mut self, codec: Codec, area: &'a [u8]) -> Result<&'a [u8], CompressionError> {
        self.buffer.clear();
        let done = match codec {
            Codec::None => return Ok(area),
            Codec::Gzip => self.gzip(area),
            Codec::Snappy => snappy::decompress(area, &mut self.buffer, self.limit),
            Codec::Lz4 => lz4::decompress(area, &mut self.buffer, self.limit),
            Codec::Zstd => self.zstd(area),
        };
        match done {
            Ok(()) => Ok(&self.buffer),
            Err(reason) => Err(CompressionError { codec: codec.name(), reason }),
        }
    }

    fn gzip(&mut self, area: &[u8]) -> Result<(), String> {
        let bound = u64::try_from(self.limit).unwrap_or(u64::MAX).saturating_add(1);
        flate2::bufread::MultiGzDecoder::new(area)
            .take(bound)
            .read_to_end(&mut self.buffer)
            .map_err(|error| error.to_string())?;
        within(self.buffer.len(), self.limit)
    }

    fn zstd(&mut self, area: &[u8]) -> Result<(), String> {
        let context = self.zstd.get_or_insert_with(zstd::zstd_safe::DCtx::create);
        let decoder = zstd::stream::read::Decoder::with_context(area, context);
        let bound = u64::try_from(self.limit).unwrap_or(u64::MAX).saturating_add(1);
        decoder.take(bound).read_to_end(&mut self.buffer).map_err(|error| error.to_string())?;
        within(self.buffer.len(), self.limit)
    }
}

fn within(produced: usize, limit: usize) -> Result<(), String> {
    if produced > limit {
        return Err(format!("more than {limit} bytes come out"));
    }
    Ok(())
}
