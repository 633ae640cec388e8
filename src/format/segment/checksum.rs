//! The two checksums of batches, computed piece by piece.

/// A checksum of what was seen so far.
#[derive(Clone)]
pub(super) enum Checksum {
    /// CRC-32C, of format 2.
    Castagnoli(u32),
    /// CRC-32 of zlib, of formats 0 and 1.
    Iso(crc32fast::Hasher),
}

impl Checksum {
    pub(super) const fn castagnoli() -> Self {
        Self::Castagnoli(0)
    }

    pub(super) fn iso() -> Self {
        Self::Iso(crc32fast::Hasher::new())
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Castagnoli(crc) => *crc = crc32c::crc32c_append(*crc, bytes),
            Self::Iso(hasher) => hasher.update(bytes),
        }
    }

    pub(super) fn value(&self) -> u32 {
        match self {
            Self::Castagnoli(crc) => *crc,
            Self::Iso(hasher) => hasher.clone().finalize(),
        }
    }
}
