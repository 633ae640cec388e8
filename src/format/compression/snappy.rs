//! Snappy as Kafka's clients frame it.
//!
//! ```text
//!  xerial stream   82 53 4E 41 50 50 59 00, version INT32, minimum version INT32,
//!                  then chunks: compressed length INT32, one raw block
//!  bare block      anything else
//! ```
//!
//! The Java client, aiokafka, kafka-python and sarama write the stream; librdkafka, franz-go and
//! kafkajs one bare block. Source: `SnappyCompression` in Kafka's `clients` module, which reads
//! both through snappy-java.

use crate::format::cursor::Cursor;

const XERIAL_MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
const XERIAL_HEADER: usize = 16;

pub(super) fn decompress(area: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<(), String> {
    if area.len() < XERIAL_HEADER || !area.starts_with(&XERIAL_MAGIC) {
        return block(area, out, limit);
    }
    let mut cursor = Cursor::new(area);
    while cursor.left() != 0 {
        // Concatenated streams repeat the header between chunks.
        if cursor.rest().starts_with(&XERIAL_MAGIC) && cursor.left() >= XERIAL_HEADER {
            cursor.bytes("xerial header", XERIAL_HEADER).map_err(|error| error.to_string())?;
            continue;
        }
        let length = cursor.int32("chunk length").map_err(|error| error.to_string())?;
        let length = usize::try_from(length).map_err(|_| format!("chunk length {length} is negative"))?;
        let chunk = cursor.bytes("chunk", length).map_err(|error| error.to_string())?;
        block(chunk, out, limit)?;
    }
    Ok(())
}

/// Appends one raw block. The length that it declares is believed only as far as the block could
/// produce it: a snappy copy element of 3 bytes makes at most 64.
fn block(block: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<(), String> {
    let declared = snap::raw::decompress_len(block).map_err(|error| error.to_string())?;
    let possible = block.len().saturating_mul(64);
    if declared > possible {
        return Err(format!("{} bytes cannot become the declared {declared}", block.len()));
    }
    let start = out.len();
    let end = start.saturating_add(declared);
    super::within(end, limit)?;
    out.resize(end, 0);
    let room = out.get_mut(start..).unwrap_or_default();
    let written = snap::raw::Decoder::new().decompress(block, room).map_err(|error| error.to_string())?;
    out.truncate(start.saturating_add(written));
    Ok(())
}
