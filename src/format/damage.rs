//! Bytes that cannot be read as they stand, and why.

use crate::units::{FilePosition, Offset};
use std::fmt;

/// What is wrong with a stretch of bytes; the names are those of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DamageKind {
    /// The last batch declares more bytes than the file has.
    TruncatedTail,
    /// Nothing but zeros up to the end of the file.
    ZeroTail,
    /// The checksum of the batch does not fit its bytes.
    BadCrc,
    /// A length that no batch can have.
    BadLength,
    /// A format version that Kafka never wrote.
    BadMagic,
    /// A readable batch whose offset does not fit its place.
    BadOffset,
    /// The batch is whole, its records are not.
    BadRecord,
    /// The records area cannot be decompressed.
    BadCompression,
    /// A file beside the log that cannot be read as what it is.
    BadFile,
    /// The file could not be opened or read.
    Unreadable,
}

impl DamageKind {
    /// The name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TruncatedTail => "truncated-tail",
            Self::ZeroTail => "zero-tail",
            Self::BadCrc => "bad-crc",
            Self::BadLength => "bad-length",
            Self::BadMagic => "bad-magic",
            Self::BadOffset => "bad-offset",
            Self::BadRecord => "bad-record",
            Self::BadCompression => "bad-compression",
            Self::BadFile => "bad-file",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A stretch of one file that cannot be read as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The first byte of the batch that cannot be read as it stands.
    pub position: FilePosition,
    /// Bytes up to the next good batch or the end of the file.
    pub length: u64,
    /// What is wrong.
    pub kind: DamageKind,
    /// Whether a log that was not closed cleanly is expected to look like this.
    pub expected: bool,
    /// The reason with its numbers, lower case, without a full stop.
    pub detail: String,
    /// The first offset that is missing because of it, when it can be told.
    pub first_offset: Option<Offset>,
    /// The last offset that is missing because of it, when it can be told.
    pub last_offset: Option<Offset>,
    /// Whether records may be missing because of it: not where the batch was read all the same, or the log goes on
    /// where it was.
    pub records_missing: bool,
}
