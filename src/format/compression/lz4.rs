//! LZ4 frames as Kafka's clients write them.
//!
//! Source: `Lz4BlockInputStream` in Kafka's `clients` module; KAFKA-3160 and KIP-57 for the wrong
//! header checksum of format 0. Kafka reads one frame with independent blocks and skips the
//! content checksum.

use std::io::Read;

pub(super) fn decompress(area: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<(), String> {
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    lz4_flex::frame::FrameDecoder::new(area)
        .take(bound)
        .read_to_end(out)
        .map_err(|error| error.to_string())?;
    super::within(out.len(), limit)
}
