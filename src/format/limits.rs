//! How much a single batch may ask for.
//!
//! Lengths and counts in a file are claims, and a few bytes can claim, or become, very many. What
//! goes past a limit is not read and becomes damage that names the limit, never a quiet omission.
//!
//! Kafka bounds none of this on reading. The defaults lie far above what brokers accept in practice
//! (`message.max.bytes` is 1 MiB unless somebody raises it).

use super::compression::Codec;
use super::record_batch::{BatchHeader, HEADER_LENGTH};

/// The fewest bytes of a record of format 2: length, attributes, two deltas, key, value, headers.
const SMALLEST_RECORD: usize = 7;

/// Bounds on what one batch may produce and hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the records of a batch after decompression.
    pub batch_bytes: usize,
    /// Headers of a record.
    pub headers: u32,
    /// Bytes of a header's name.
    pub header_name: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { batch_bytes: 128 << 20, headers: 65_536, header_name: 64 << 10 }
    }
}

impl Limits {
    /// How many records a batch with this header can hold, whatever it claims: no more than it has
    /// offsets, and no more than fit into what its bytes can become.
    #[must_use]
    pub fn most_records(&self, header: &BatchHeader, batch_length: usize) -> u32 {
        let area = batch_length.saturating_sub(HEADER_LENGTH);
        // What a byte can become: a stored block is 1:1, a match of deflate 1032:1, of lz4 255:1, an
        // element of snappy 64 from 3 bytes; a repeating block of zstd has no useful bound.
        let clear = match header.codec() {
            Some(Codec::None) | None => area,
            Some(Codec::Gzip) => area.saturating_mul(1032).min(self.batch_bytes),
            Some(Codec::Snappy) => area.saturating_mul(22).min(self.batch_bytes),
            Some(Codec::Lz4) => area.saturating_mul(255).min(self.batch_bytes),
            Some(Codec::Zstd) => self.batch_bytes,
        };
        let fit = u32::try_from(clear / SMALLEST_RECORD).unwrap_or(u32::MAX);
        header.last_offset_delta.unsigned_abs().saturating_add(1).min(fit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::batch;

    #[test]
    fn a_batch_holds_no_more_records_than_offsets_or_bytes() {
        let bytes = batch().record("a", "1").record("b", "2").bytes();
        let (mut header, _) = BatchHeader::read(&bytes).unwrap();
        let limits = Limits::default();
        assert_eq!(limits.most_records(&header, bytes.len()), 2);
        header.last_offset_delta = i32::MAX;
        assert_eq!(limits.most_records(&header, HEADER_LENGTH + 70), 10);
        header.attributes = 1;
        assert_eq!(limits.most_records(&header, HEADER_LENGTH + 70), 10 * 1032);
        header.attributes = 4;
        assert_eq!(limits.most_records(&header, HEADER_LENGTH + 70), (128 << 20) / 7);
    }
}
