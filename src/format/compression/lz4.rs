//! LZ4 frames as Kafka's clients write them.
//!
//! ```text
//!  04 22 4D 18, FLG, BD, [content size UINT64 LE], HC
//!  blocks   size UINT32 LE (top bit: stored as it is), bytes, [checksum UINT32 LE]
//!  end      00 00 00 00, [content checksum UINT32 LE]
//!
//!  FLG  version 2 bits = 01, independent blocks, block checksums, content size, content checksum,
//!       reserved, dictionary id
//!  BD   bits 4 to 6: largest block, 4 = 64 KB … 7 = 4 MB
//!  HC   second byte of the xxHash32 of what stands between magic and HC
//! ```
//!
//! Source: `Lz4BlockInputStream` in Kafka's `clients` module, which reads one frame, checks block
//! checksums and skips the content checksum; KAFKA-3160 and KIP-57 for format 0, whose writers
//! computed HC over the magic bytes as well, so that it cannot be checked there. Kafka refuses
//! linked blocks; they are read here, because the bytes are evidence either way.

use super::output::Output;
use crate::format::cursor::{Cursor, FormatError};
use xxhash_rust::xxh32::xxh32;

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const BLOCK_CHECKSUM: u8 = 0x10;
const CONTENT_SIZE: u8 = 0x08;
const RESERVED: u8 = 0x02;
const DICTIONARY: u8 = 0x01;
const INDEPENDENT: u8 = 0x20;
const STORED: u32 = 0x8000_0000;
/// How far back a linked block can refer.
const WINDOW: usize = 64 << 10;
/// What one byte of a compressed block can become at most: another 255 bytes of a match.
const EXPANSION: usize = 255;

/// Whether the checksum of the frame header is to be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderChecksum {
    /// Formats 1 and 2.
    Checked,
    /// Format 0.
    Ignored,
}

pub(super) fn decompress(area: &[u8], out: &mut Output, checksum: HeaderChecksum) -> Result<(), String> {
    let mut cursor = Cursor::new(area);
    let frame = read_header(&mut cursor, checksum).map_err(|error| error.to_string())?;
    loop {
        let size = u32::from_le_bytes(cursor.array("lz4 block size").map_err(|error| error.to_string())?);
        if size == 0 {
            // The content checksum behind it is not looked at, as in Kafka.
            return Ok(());
        }
        let length = usize::try_from(size & !STORED).unwrap_or(usize::MAX);
        if length > frame.largest_block {
            return Err(format!("lz4 block of {length} bytes, the frame allows {}", frame.largest_block));
        }
        let block = cursor.bytes("lz4 block", length).map_err(|error| error.to_string())?;
        if frame.flags & BLOCK_CHECKSUM != 0 {
            let stored = u32::from_le_bytes(cursor.array("lz4 block checksum").map_err(|e| e.to_string())?);
            let computed = xxh32(block, 0);
            if stored != computed {
                return Err(format!("lz4 block: stored checksum {stored}, computed {computed}"));
            }
        }
        let written = if size & STORED == 0 { expand(block, &frame, out)? } else { copy(block, out)? };
        out.advance(written);
    }
}

struct Frame {
    flags: u8,
    largest_block: usize,
}

fn read_header(cursor: &mut Cursor<'_>, checksum: HeaderChecksum) -> Result<Frame, FormatError> {
    if cursor.array("lz4 magic")? != MAGIC {
        return Err(cursor.invalid("lz4 magic", "not 04 22 4D 18"));
    }
    let descriptor = cursor.rest();
    let [flags, sizes] = cursor.array("lz4 frame descriptor")?;
    if flags >> 6 != 1 || flags & RESERVED != 0 {
        return Err(cursor.invalid("lz4 frame descriptor", format!("flags {flags:#04x} are unknown")));
    }
    if flags & DICTIONARY != 0 {
        return Err(cursor.invalid("lz4 frame descriptor", "needs a dictionary"));
    }
    let largest_block = match sizes >> 4 {
        4 => 64 << 10,
        5 => 256 << 10,
        6 => 1 << 20,
        7 => 4 << 20,
        _ => {
            return Err(cursor.invalid("lz4 frame descriptor", format!("block size {sizes:#04x} is unknown")));
        }
    };
    let mut covered = 2;
    if flags & CONTENT_SIZE != 0 {
        cursor.bytes("lz4 content size", 8)?;
        covered = 10;
    }
    let [stored] = cursor.array("lz4 header checksum")?;
    let [_, _, computed, _] = xxh32(descriptor.get(..covered).unwrap_or_default(), 0).to_be_bytes();
    if checksum == HeaderChecksum::Checked && stored != computed {
        return Err(cursor.invalid("lz4 header checksum", format!("stored {stored}, computed {computed}")));
    }
    Ok(Frame { flags, largest_block })
}

fn expand(block: &[u8], frame: &Frame, out: &mut Output) -> Result<usize, String> {
    let wanted = block.len().saturating_mul(EXPANSION).min(frame.largest_block);
    let (produced, room) = out.split(wanted);
    let most = room.len().min(frame.largest_block);
    let room = room.get_mut(..most).unwrap_or_default();
    let done = if frame.flags & INDEPENDENT == 0 {
        let window = produced.get(produced.len().saturating_sub(WINDOW)..).unwrap_or_default();
        lz4_flex::block::decompress_into_with_dict(block, room, window)
    } else {
        lz4_flex::block::decompress_into(block, room)
    };
    match done {
        Ok(written) => Ok(written),
        Err(lz4_flex::block::DecompressError::OutputTooSmall { .. }) if most < wanted => Err(out.too_much()),
        Err(error) => Err(error.to_string()),
    }
}

fn copy(block: &[u8], out: &mut Output) -> Result<usize, String> {
    let room = out.room(block.len());
    let Some(room) = room.get_mut(..block.len()) else {
        return Err(out.too_much());
    };
    room.copy_from_slice(block);
    Ok(block.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use std::io::Write;

    fn frame(content: &[u8], info: FrameInfo) -> Vec<u8> {
        let mut writer = FrameEncoder::with_frame_info(info, Vec::new());
        writer.write_all(content).unwrap();
        writer.finish().unwrap()
    }

    fn read(area: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        let mut out = Output::with_limit(limit);
        decompress(area, &mut out, HeaderChecksum::Checked).map(|()| out.filled().to_vec())
    }

    fn text() -> Vec<u8> {
        (0..30_000).flat_map(|number: u32| format!("order-{number} ").into_bytes()).collect()
    }

    #[test]
    fn every_shape_of_frame_is_read() {
        let content = text();
        for size in [BlockSize::Max64KB, BlockSize::Max256KB, BlockSize::Max1MB, BlockSize::Max4MB] {
            for mode in [BlockMode::Independent, BlockMode::Linked] {
                for checksums in [false, true] {
                    let info = FrameInfo::new()
                        .block_size(size)
                        .block_mode(mode)
                        .block_checksums(checksums)
                        .content_checksum(checksums)
                        .content_size(checksums.then_some(content.len() as u64));
                    assert!(read(&frame(&content, info), 1 << 20).unwrap() == content, "{size:?} {mode:?}");
                }
            }
        }
    }

    #[test]
    fn stored_blocks_are_copied() {
        let mut state = 1u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(1000)
        .collect();
        let area = frame(&noise, FrameInfo::new());
        assert!(area.len() > noise.len(), "not stored");
        assert_eq!(read(&area, 1000).unwrap(), noise);
        assert_eq!(read(&area, 999).unwrap_err(), "more than 999 bytes come out");
    }

    #[test]
    fn block_checksums_count_and_content_checksums_do_not() {
        let area = frame(b"content content content", FrameInfo::new().block_checksums(true));
        let mut bad = area.clone();
        let end = bad.len();
        bad[end - 5] ^= 1;
        assert!(read(&bad, 100).unwrap_err().starts_with("lz4 block: stored checksum"));
        let mut bad = frame(b"content content content", FrameInfo::new().content_checksum(true));
        *bad.last_mut().unwrap() ^= 1;
        assert_eq!(read(&bad, 100).unwrap(), b"content content content");
    }

    #[test]
    fn the_header_checksum_counts_except_in_format_0() {
        let mut area = frame(b"content", FrameInfo::new());
        area[6] ^= 1;
        assert!(read(&area, 100).is_err());
        let mut out = Output::with_limit(100);
        decompress(&area, &mut out, HeaderChecksum::Ignored).unwrap();
        assert_eq!(out.filled(), b"content");
    }

    #[test]
    fn output_ends_at_the_limit() {
        let area = frame(&vec![7; 50_000], FrameInfo::new());
        assert_eq!(read(&area, 50_000).unwrap().len(), 50_000);
        assert_eq!(read(&area, 49_999).unwrap_err(), "more than 49999 bytes come out");
    }

    #[test]
    fn cut_frames_are_refused() {
        let area = frame(b"content content content", FrameInfo::new());
        for cut in 0..area.len() {
            assert!(read(&area[..cut], 100).is_err(), "cut at {cut}");
        }
    }
}
