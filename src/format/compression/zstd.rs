//! Zstandard frames of every client: with and without content size and checksum, one or several.
//!
//! Decoded in one call into the output buffer, so that no window is allocated, whatever size a
//! frame header asks for, and the declared content size is not believed: when the room is too
//! small it is doubled, up to the limit.

use super::output::Output;
use zstd::zstd_safe::{DCtx, get_error_name};

/// `ZSTD_error_dstSize_tooSmall`; the library returns negated codes.
const NO_ROOM: usize = 0usize.wrapping_sub(70);
/// A block produces at most this much.
const BLOCK: usize = 128 << 10;

#[derive(Default)]
pub(super) struct Zstd {
    context: Option<DCtx<'static>>,
}

impl Zstd {
    pub(super) fn decompress(&mut self, area: &[u8], out: &mut Output) -> Result<(), String> {
        let context = self.context.get_or_insert_with(DCtx::create);
        let mut wanted = area.len().saturating_mul(4).clamp(1 << 10, BLOCK);
        loop {
            let room = out.room(wanted);
            let offered = room.len();
            match context.decompress(room, area) {
                Ok(written) => {
                    out.advance(written);
                    return Ok(());
                }
                Err(NO_ROOM) if offered >= out.limit() => return Err(out.too_much()),
                // Every block has three bytes, so this is what the input could produce at most.
                Err(NO_ROOM) if offered >= (area.len() / 3).saturating_mul(BLOCK) => {
                    return Err(format!("{} bytes cannot become what they declare", area.len()));
                }
                Err(NO_ROOM) => wanted = offered.saturating_mul(2),
                Err(code) => return Err(get_error_name(code).to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(area: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        let mut out = Output::with_limit(limit);
        Zstd::default().decompress(area, &mut out).map(|()| out.filled().to_vec())
    }

    /// As a streaming writer does: no content size; checksum on request.
    fn streamed(content: &[u8], checksum: bool) -> Vec<u8> {
        let mut writer = zstd::Encoder::new(Vec::new(), 3).unwrap();
        writer.include_checksum(checksum).unwrap();
        writer.include_contentsize(false).unwrap();
        writer.write_all(content).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn frames_with_and_without_size_and_checksum_follow_each_other() {
        let mut area = streamed(b"one ", false);
        area.extend(streamed(b"two ", true));
        area.extend(zstd::bulk::compress(b"three", 3).unwrap());
        assert_eq!(read(&area, 100).unwrap(), b"one two three");
    }

    #[test]
    fn a_small_area_can_become_large_but_not_larger_than_the_limit() {
        let area = streamed(&vec![0; 1 << 20], false);
        assert!(area.len() < 200);
        assert_eq!(read(&area, 1 << 20).unwrap().len(), 1 << 20);
        assert_eq!(read(&area, (1 << 20) - 1).unwrap_err(), "more than 1048575 bytes come out");
    }

    #[test]
    fn a_declared_size_is_not_believed() {
        // Magic, single segment with an 8-byte size of 2⁴⁰, one empty last block.
        let area = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0];
        let mut out = Output::with_limit(1 << 30);
        assert!(Zstd::default().decompress(&area, &mut out).is_err());
        assert!(out.room(0).len() <= 6 * BLOCK, "{} bytes were allocated", out.room(0).len());
    }

    #[test]
    fn cut_frames_are_refused() {
        let area = streamed(b"content that is cut", true);
        for cut in 1..area.len() {
            assert!(read(&area[..cut], 100).is_err(), "cut at {cut}");
        }
    }
}
