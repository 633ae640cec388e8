//! The five codecs of Kafka's record areas, within a bound on what they may produce.
//!
//! Source: `CompressionType` and the classes of `common.compress` in Kafka's `clients` module;
//! KIP-110 for zstd. The framings that are Kafka's own (xerial snappy, the lz4 header of format 0)
//! are ours; the codecs behind them are libraries.

mod gzip;
mod lz4;
mod output;
mod snappy;
mod zstd;

pub use self::gzip::header_length as gzip_header_length;

use self::gzip::Gzip;
use self::lz4::HeaderChecksum;
use self::output::Output;
use self::zstd::Zstd;
use super::limits::Limits;
use std::fmt;

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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompressionError {
    /// The bytes are not what the codec writes.
    #[error("{codec}: {reason}")]
    Bad {
        /// The codec that the batch names.
        codec: &'static str,
        /// What the library or the framing said.
        reason: String,
    },
    /// More comes out than [`Limits::batch_bytes`].
    #[error("{codec}: more than {limit} bytes come out, which is the limit for a batch")]
    TooLarge {
        /// The codec that the batch names.
        codec: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// Decompresses record areas into a buffer that is used again, with codec states that are, too.
pub struct Decompressor {
    out: Output,
    gzip: Gzip,
    zstd: Zstd,
    limits: Limits,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::with_limits(Limits::default())
    }
}

impl Decompressor {
    /// Refuses areas that would become larger than the limit, and records beyond the others.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        let out = Output::with_limit(limits.batch_bytes);
        Self { out, gzip: Gzip::default(), zstd: Zstd::default(), limits }
    }

    /// What it refuses.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// The record area of a magic-2 batch in clear; an uncompressed one is handed back as it is.
    ///
    /// # Errors
    /// [`CompressionError`] when the bytes are not what the codec writes, or too many come out.
    pub fn decompress<'a>(&'a mut self, codec: Codec, area: &'a [u8]) -> Result<&'a [u8], CompressionError> {
        self.decompress_of_magic(2, codec, area)
    }

    /// The same for a batch of any format: the lz4 frames of format 0 are told apart.
    pub(super) fn decompress_of_magic<'a>(
        &'a mut self,
        magic: i8,
        codec: Codec,
        area: &'a [u8],
    ) -> Result<&'a [u8], CompressionError> {
        let header = if magic == 0 { HeaderChecksum::Ignored } else { HeaderChecksum::Checked };
        self.out.clear();
        let done = match codec {
            Codec::None => return Ok(area),
            Codec::Gzip => self.gzip.decompress(area, &mut self.out),
            Codec::Snappy => snappy::decompress(area, &mut self.out),
            Codec::Lz4 => lz4::decompress(area, &mut self.out, header),
            Codec::Zstd => self.zstd.decompress(area, &mut self.out),
        };
        match done {
            Ok(()) => Ok(self.out.filled()),
            Err(_) if self.out.is_refused() => {
                Err(CompressionError::TooLarge { codec: codec.name(), limit: self.limits.batch_bytes })
            }
            Err(reason) => Err(CompressionError::Bad { codec: codec.name(), reason }),
        }
    }
}
