//! What the codecs of a client write.

use super::size;
use crate::format::Codec;
use std::io::Write;

/// Compresses as the Java client does: xerial snappy, 64 KB lz4 blocks, zstd without a size.
#[must_use]
pub fn compress(codec: Codec, area: &[u8]) -> Vec<u8> {
    match codec {
        Codec::None => area.to_vec(),
        Codec::Gzip => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            writer.write_all(area).expect("memory takes it");
            writer.finish().expect("memory takes it")
        }
        Codec::Snappy => {
            let mut stream = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
            for chunk in area.chunks(32 << 10) {
                let block = snap::raw::Encoder::new().compress_vec(chunk).expect("a chunk is small");
                stream.extend(size(block.len()));
                stream.extend(block);
            }
            stream
        }
        Codec::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max64KB);
            let mut writer = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            writer.write_all(area).expect("memory takes it");
            writer.finish().expect("memory takes it")
        }
        Codec::Zstd => {
            let mut writer = zstd::Encoder::new(Vec::new(), 3).expect("level 3 exists");
            writer.write_all(area).expect("memory takes it");
            writer.finish().expect("memory takes it")
        }
    }
}

pub(super) fn codec_bits(codec: Codec) -> i16 {
    match codec {
        Codec::None => 0,
        Codec::Gzip => 1,
        Codec::Snappy => 2,
        Codec::Lz4 => 3,
        Codec::Zstd => 4,
    }
}
