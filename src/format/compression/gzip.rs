//! RFC 1952 members, with an inflate state that is used again.
//!
//! ```text
//!  1F 8B 08, flags, mtime 4, extra flags, OS        10 bytes
//!  [extra length UINT16 LE, extra] [name …00] [comment …00] [header CRC 2]
//!  deflate stream
//!  CRC-32 UINT32 LE, length modulo 2³² UINT32 LE
//! ```
//!
//! Writers differ in flags, OS and block shape; Java's sets OS to 0 or 255. Kafka reads through
//! `GZIPInputStream`, which takes several members, checks their trailers, and ignores what follows
//! a member when it is not another one.

use super::output::Output;
use crate::format::cursor::{Cursor, FormatError};
use flate2::{Decompress, FlushDecompress, Status};

const FHCRC: u8 = 0x02;
const FEXTRA: u8 = 0x04;
const FNAME: u8 = 0x08;
const FCOMMENT: u8 = 0x10;

/// The smallest step by which the output grows.
const STEP: usize = 16 << 10;

#[derive(Default)]
pub(super) struct Gzip {
    inflate: Option<Decompress>,
}

impl Gzip {
    pub(super) fn decompress(&mut self, area: &[u8], out: &mut Output) -> Result<(), String> {
        let mut cursor = Cursor::new(area);
        skip_header(&mut cursor).map_err(|error| error.to_string())?;
        loop {
            self.member(&mut cursor, out)?;
            let mut behind = cursor.clone();
            if skip_header(&mut behind).is_err() {
                return Ok(());
            }
            cursor = behind;
        }
    }

    /// Reads one member behind its header, up to the end of its trailer.
    fn member(&mut self, cursor: &mut Cursor<'_>, out: &mut Output) -> Result<(), String> {
        let inflate = self.inflate.get_or_insert_with(|| Decompress::new(false));
        inflate.reset(false);
        let mut checksum = crc32fast::Hasher::new();
        let mut length = 0u32;
        loop {
            let (read_before, written_before) = (inflate.total_in(), inflate.total_out());
            let wanted = cursor.left().saturating_mul(4).max(STEP);
            let room = out.room(wanted.min(1 << 20));
            let no_room = room.is_empty();
            let status = inflate
                .decompress(cursor.rest(), room, FlushDecompress::None)
                .map_err(|error| error.to_string())?;
            let read = difference(inflate.total_in(), read_before);
            let written = difference(inflate.total_out(), written_before);
            checksum.update(room.get(..written).unwrap_or_default());
            length = length.wrapping_add(u32::try_from(written).unwrap_or(u32::MAX));
            out.advance(written);
            cursor.bytes("deflate stream", read).map_err(|error| error.to_string())?;
            if status == Status::StreamEnd {
                break;
            }
            if no_room {
                return Err(out.too_much());
            }
            if read == 0 && written == 0 {
                return Err("the deflate stream ends early".to_owned());
            }
        }
        let trailer: [u8; 8] = cursor.array("gzip trailer").map_err(|error| error.to_string())?;
        let [c0, c1, c2, c3, l0, l1, l2, l3] = trailer;
        let (stored, computed) = (u32::from_le_bytes([c0, c1, c2, c3]), checksum.finalize());
        if stored != computed {
            return Err(format!("stored checksum {stored}, computed {computed}"));
        }
        let stored = u32::from_le_bytes([l0, l1, l2, l3]);
        if stored != length {
            return Err(format!("stored length {stored}, {length} bytes came out"));
        }
        Ok(())
    }
}

/// How many bytes the header of a member has.
///
/// # Errors
/// When the bytes do not begin with one.
pub fn header_length(bytes: &[u8]) -> Result<usize, FormatError> {
    let mut cursor = Cursor::new(bytes);
    skip_header(&mut cursor)?;
    Ok(bytes.len().saturating_sub(cursor.left()))
}

fn skip_header(cursor: &mut Cursor<'_>) -> Result<(), FormatError> {
    let [id1, id2, method, flags] = cursor.array("gzip header")?;
    if [id1, id2, method] != [0x1f, 0x8b, 8] {
        return Err(cursor.invalid("gzip header", "not 1F 8B 08"));
    }
    cursor.bytes("gzip header", 6)?;
    if flags & FEXTRA != 0 {
        let length = u16::from_le_bytes(cursor.array("gzip extra length")?);
        cursor.bytes("gzip extra field", usize::from(length))?;
    }
    for (flag, field) in [(FNAME, "gzip name"), (FCOMMENT, "gzip comment")] {
        if flags & flag != 0 {
            let Some(end) = cursor.rest().iter().position(|&byte| byte == 0) else {
                return Err(cursor.invalid(field, "has no end"));
            };
            cursor.bytes(field, end.saturating_add(1))?;
        }
    }
    if flags & FHCRC != 0 {
        cursor.bytes("gzip header checksum", 2)?;
    }
    Ok(())
}

fn difference(after: u64, before: u64) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn member(content: &[u8], builder: flate2::GzBuilder) -> Vec<u8> {
        let mut writer = builder.write(Vec::new(), flate2::Compression::default());
        writer.write_all(content).unwrap();
        writer.finish().unwrap()
    }

    fn read(area: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        let mut out = Output::with_limit(limit);
        Gzip::default().decompress(area, &mut out).map(|()| out.filled().to_vec())
    }

    #[test]
    fn members_follow_each_other_and_headers_may_have_every_field() {
        let mut area = member(b"first ", flate2::GzBuilder::new());
        area.extend(member(
            b"second",
            flate2::GzBuilder::new().filename("name").comment("comment").extra(vec![1, 2, 3]),
        ));
        assert_eq!(read(&area, 100).unwrap(), b"first second");
        area.extend_from_slice(b"ignored as Java does");
        assert_eq!(read(&area, 100).unwrap(), b"first second");
    }

    #[test]
    fn the_trailer_is_checked() {
        let good = member(b"content", flate2::GzBuilder::new());
        for at in good.len() - 8..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(read(&bad, 100).is_err(), "byte {at}");
        }
        for cut in 0..good.len() {
            assert!(read(&good[..cut], 100).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn output_ends_at_the_limit() {
        let area = member(&vec![7; 100_000], flate2::GzBuilder::new());
        assert_eq!(read(&area, 100_000).unwrap().len(), 100_000);
        assert_eq!(read(&area, 99_999).unwrap_err(), "more than 99999 bytes come out");
    }
}
