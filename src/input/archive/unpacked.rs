//! Reading a compressed file by position, in bounded memory.
//!
//! Such a file has no positions: what stands before must be unpacked first. Three things keep that
//! bearable. What was unpacked last is kept as blocks, up to a share of the memory. Streams that came
//! to a place wait there, so that two readers may take turns. And marks, from which unpacking can
//! begin: anywhere in gzip, one for every few megabytes, fewer when there are too many; in zstd at the
//! starts of frames, of which most files have one. The worst is a large zstd file with one frame that
//! is read in another order than its own: each step back begins at its start.

use super::stream::{Broken, Form, Mark, Stream};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are unpacked at once.
const BLOCK: usize = 1 << 20;
/// Streams that wait.
const PARKED: usize = 2;
/// Bytes between two marks, to begin with.
const SPACING: u64 = 4 << 20;
/// What a mark in gzip holds.
const OF_A_MARK: usize = 48 << 10;

/// A compressed file.
pub(super) struct Unpacked {
    file: Arc<File>,
    form: Form,
    /// Bytes of blocks, and marks, that may be kept.
    most_held: usize,
    most_marks: usize,
    state: Mutex<State>,
}

struct State {
    /// What was unpacked last, by position.
    blocks: BTreeMap<u64, Block>,
    held: usize,
    clock: u64,
    /// The last one that was used stands last.
    parked: Vec<Stream>,
    /// In order.
    marks: Vec<Mark>,
    spacing: u64,
    end: Option<End>,
}

struct Block {
    bytes: Vec<u8>,
    used: u64,
}

/// Where no more comes out.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// How many bytes there are.
    pub(super) position: u64,
    /// Why it is not the end of the file.
    pub(super) broken: Option<Broken>,
}

impl Unpacked {
    /// `memory` bounds what is held, in bytes.
    pub(super) fn new(file: Arc<File>, packing: Packing, memory: u64) -> Self {
        let share = usize::try_from(memory).unwrap_or(usize::MAX);
        let form = match packing {
            Packing::Gzip => Form::Gzip,
            // A stream at work and those that wait have a window each.
            Packing::Zstd => Form::Zstd { window_log: (share / 8).max(1).ilog2().clamp(20, 27) },
        };
        Self {
            file,
            form,
            most_held: (share / 2).max(2 * BLOCK),
            most_marks: (share / 4 / OF_A_MARK).max(16),
            state: Mutex::new(State {
                blocks: BTreeMap::new(),
                held: 0,
                clock: 0,
                parked: Vec::new(),
                marks: Vec::new(),
                spacing: SPACING,
                end: None,
            }),
        }
    }

    /// Fills `into` from `position` on; fewer bytes, or none, where the file ends.
    ///
    /// # Errors
    /// What the system says, and what is broken in the file, at the first byte that does not come out.
    pub(super) fn read_at(&self, position: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = state.copy(position, into) {
            return Ok(read);
        }
        if let Some(end) = &state.end
            && end.position <= position
        {
            return end.broken.as_ref().map_or(Ok(0), |broken| Err(error(broken)));
        }
        let mut stream = state.nearest(position).map_or_else(
            || {
                let mark = state.marks.iter().rev().find(|mark| mark.out <= position);
                Stream::new(Arc::clone(&self.file), self.form, mark)
            },
            Ok,
        )?;
        loop {
            let start = stream.position();
            let mut bytes = Vec::with_capacity(BLOCK.saturating_add(32 << 10));
            let filled = stream.fill(&mut bytes, BLOCK);
            let ended = filled.is_err() || bytes.len() < BLOCK;
            state.keep(start, bytes, self.most_held);
            state.mark(&mut stream, self.most_marks);
            if ended {
                state.end = Some(End { position: stream.position(), broken: filled.err() });
            }
            if let Some(read) = state.copy(position, into) {
                state.park(stream);
                return Ok(read);
            }
            if let Some(end) = state.end.as_ref().filter(|_| ended) {
                return end.broken.as_ref().map_or(Ok(0), |broken| Err(error(broken)));
            }
        }
    }

    /// How far it was unpacked: the furthest place that a stream came to and that waits there.
    pub(super) fn reached(&self) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.parked.iter().map(Stream::position).max().unwrap_or(0)
    }

    /// Where no more comes out, once that was seen.
    pub(super) fn end(&self) -> Option<End> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).end.clone()
    }
}

/// How an archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

impl State {
    /// Copies from the block that holds `position`.
    fn copy(&mut self, position: u64, into: &mut [u8]) -> Option<usize> {
        let (start, block) = self.blocks.range_mut(..=position).next_back()?;
        let from = usize::try_from(position - start).ok()?;
        let there = block.bytes.get(from..).filter(|there| !there.is_empty())?;
        let count = there.len().min(into.len());
        into.get_mut(..count)?.copy_from_slice(there.get(..count)?);
        self.clock += 1;
        block.used = self.clock;
        Some(count)
    }

    /// Takes the stream that waits nearest before `position`, unless a mark is nearer.
    fn nearest(&mut self, position: u64) -> Option<Stream> {
        let waiting = self.parked.iter().enumerate().filter(|(_, stream)| stream.position() <= position);
        let (at, stream) = waiting.max_by_key(|(_, stream)| stream.position())?;
        let mark = self.marks.iter().rev().map(|mark| mark.out).find(|out| *out <= position);
        let nearer = mark.is_none_or(|mark| mark <= stream.position());
        nearer.then(|| self.parked.remove(at))
    }

    fn park(&mut self, stream: Stream) {
        if self.parked.len() >= PARKED {
            self.parked.remove(0);
        }
        self.parked.push(stream);
    }

    fn keep(&mut self, start: u64, bytes: Vec<u8>, most: usize) {
        if bytes.is_empty() {
            return;
        }
        while self.held.saturating_add(bytes.len()) > most {
            let oldest = self.blocks.iter().min_by_key(|(_, block)| block.used).map(|(start, _)| *start);
            let Some(block) = oldest.and_then(|start| self.blocks.remove(&start)) else { break };
            self.held = self.held.saturating_sub(block.bytes.len());
        }
        self.clock += 1;
        self.held = self.held.saturating_add(bytes.len());
        let before = self.blocks.insert(start, Block { bytes, used: self.clock });
        self.held = self.held.saturating_sub(before.map_or(0, |block| block.bytes.len()));
    }

    /// Marks the place of a stream that came further than the last mark.
    fn mark(&mut self, stream: &mut Stream, most: usize) {
        let next = self.marks.last().map_or(0, |mark| mark.out).saturating_add(self.spacing);
        if stream.position() < next {
            return;
        }
        let Some(mark) = stream.mark().filter(|mark| mark.out >= next) else { return };
        self.marks.push(mark);
        if self.marks.len() > most {
            let mut keep = false;
            self.marks.retain(|_| {
                keep = !keep;
                keep
            });
            self.spacing = self.spacing.saturating_mul(2);
        }
    }
}

fn error(broken: &Broken) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the archive cannot be unpacked at {}: {}", broken.position, broken.detail),
    )
}

impl std::fmt::Debug for Unpacked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacked").field("form", &self.form).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    /// Bytes that neither repeat nor compress to nothing.
    fn content(length: usize) -> Vec<u8> {
        let mut state = 7_u64;
        (0..length)
            .map(|at| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if at % 3 == 0 { u8::try_from(state >> 60).unwrap() } else { b'a' }
            })
            .collect()
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(content).unwrap();
        writer.finish().unwrap()
    }

    fn opened(bytes: &[u8], packing: Packing, memory: u64) -> Unpacked {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Unpacked::new(Arc::new(file), packing, memory)
    }

    fn read(unpacked: &Unpacked, position: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match unpacked.read_at(position + u64::try_from(filled).unwrap(), &mut bytes[filled..])? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// The same content, in one member or frame and in several, with and without something behind.
    fn packed(content: &[u8]) -> Vec<(Packing, Vec<u8>)> {
        let (one, two) = content.split_at(content.len() / 3);
        let zstd = |content: &[u8]| zstd::encode_all(content, 1).unwrap();
        vec![
            (Packing::Gzip, gzip(content)),
            (Packing::Gzip, [gzip(one), gzip(two), vec![0; 700]].concat()),
            (Packing::Zstd, zstd(content)),
            (Packing::Zstd, [zstd(one), zstd(two)].concat()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn any_order_of_reading_gives_the_same_bytes(
            places in proptest::collection::vec((0_usize..12_000_000, 1_usize..200_000), 1..12),
        ) {
            let all = content(11_000_000);
            for (packing, bytes) in packed(&all) {
                // So little that marks are thinned out and blocks go.
                let unpacked = opened(&bytes, packing, 1 << 20);
                for (at, length) in &places {
                    let wanted = all.get(*at..).unwrap_or_default();
                    let wanted = &wanted[..wanted.len().min(*length)];
                    let found = read(&unpacked, u64::try_from(*at).unwrap(), *length).unwrap();
                    prop_assert!(found == wanted, "{packing:?} at {at}");
                }
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_changed_is_told_behind_what_can_be_read() {
        let all = content(3_000_000);
        for (packing, bytes) in packed(&all) {
            let unpacked = opened(&bytes[..bytes.len() / 2], packing, 1 << 20);
            assert_eq!(read(&unpacked, 0, 1000).unwrap(), all[..1000]);
            let error = read(&unpacked, 0, 4_000_000).unwrap_err().to_string();
            assert!(error.starts_with("the archive cannot be unpacked at "), "{error}");
            let end = unpacked.end().unwrap();
            assert!(end.position > 500_000 && end.broken.is_some(), "{end:?}");
            let there = usize::try_from(end.position).unwrap();
            assert_eq!(read(&unpacked, 0, there).unwrap(), all[..there]);
        }
        let mut changed = gzip(&all);
        let crc = changed.len() - 8;
        changed[crc] ^= 1;
        let unpacked = opened(&changed, Packing::Gzip, 1 << 20);
        assert!(read(&unpacked, 0, 4_000_000).unwrap_err().to_string().contains("stored checksum"));
    }

    #[test]
    fn memory_is_bounded() {
        let all = content(20_000_000);
        for (packing, bytes) in packed(&all) {
            let unpacked = opened(&bytes, packing, 8 << 20);
            assert_eq!(read(&unpacked, 19_999_999, 10).unwrap(), all[19_999_999..]);
            let state = unpacked.state.lock().unwrap();
            assert!(state.held <= 4 << 20 && state.parked.len() <= PARKED && state.marks.len() <= 42);
        }
    }
}
