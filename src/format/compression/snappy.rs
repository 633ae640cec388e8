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

use super::output::Output;
use crate::format::cursor::Cursor;

const XERIAL_MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
const XERIAL_HEADER: usize = 16;
/// What one byte of a block can become at most: a copy element of 3 bytes makes 64.
const EXPANSION: usize = 22;

pub(super) fn decompress(area: &[u8], out: &mut Output) -> Result<(), String> {
    if area.len() < XERIAL_HEADER || !area.starts_with(&XERIAL_MAGIC) {
        return block(area, out);
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
        block(chunk, out)?;
    }
    Ok(())
}

/// Appends one raw block. The length that it declares is believed only as far as the block could
/// produce it.
fn block(block: &[u8], out: &mut Output) -> Result<(), String> {
    let declared = snap::raw::decompress_len(block).map_err(|error| error.to_string())?;
    if declared > block.len().saturating_mul(EXPANSION) {
        return Err(format!("{} bytes cannot become the declared {declared}", block.len()));
    }
    let Some(room) = out.room(declared).get_mut(..declared) else {
        return Err(out.too_much());
    };
    let written = snap::raw::Decoder::new().decompress(block, room).map_err(|error| error.to_string())?;
    out.advance(written);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(content: &[u8]) -> Vec<u8> {
        snap::raw::Encoder::new().compress_vec(content).unwrap()
    }

    fn xerial(chunks: &[&[u8]]) -> Vec<u8> {
        let mut stream = XERIAL_MAGIC.to_vec();
        stream.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1]);
        for chunk in chunks {
            let block = raw(chunk);
            stream.extend_from_slice(&u32::try_from(block.len()).unwrap().to_be_bytes());
            stream.extend(block);
        }
        stream
    }

    fn read(area: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        let mut out = Output::with_limit(limit);
        decompress(area, &mut out).map(|()| out.filled().to_vec())
    }

    #[test]
    fn streams_of_several_chunks_and_several_streams_are_read() {
        let mut area = xerial(&[b"one ", b"two "]);
        area.extend(xerial(&[b"three"]));
        assert_eq!(read(&area, 100).unwrap(), b"one two three");
        assert_eq!(read(&xerial(&[]), 100).unwrap(), b"");
    }

    #[test]
    fn anything_else_is_one_bare_block() {
        assert_eq!(read(&raw(b"bare"), 100).unwrap(), b"bare");
        assert_eq!(read(&raw(&vec![9; 100_000]), 100_000).unwrap().len(), 100_000);
    }

    #[test]
    fn declared_lengths_are_bounded_by_the_input_and_the_limit() {
        // Declares 4 GB - 1 and has one byte.
        assert!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0x00], 1 << 30).unwrap_err().contains("cannot become"));
        assert_eq!(read(&raw(&[9; 1000]), 999).unwrap_err(), "more than 999 bytes come out");
    }

    #[test]
    fn a_cut_stream_is_refused() {
        let area = xerial(&[b"content"]);
        for cut in (0..area.len()).filter(|&cut| cut != XERIAL_HEADER) {
            assert!(read(&area[..cut], 100).is_err(), "cut at {cut}");
        }
    }
}
