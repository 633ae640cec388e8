//! A compressed file as one run of bytes, unpacked from its start or from a mark on.
//!
//! gzip (RFC 1952): members one behind the other, each a deflate stream with a checksum. The state of
//! inflating is small, the last 32 KiB and three tables, so a mark can be anywhere. zstd: frames one
//! behind the other; the state of a frame holds its whole window, so marks are at starts of frames.
//!
//! What stands behind the last member is ignored, as `gzip` does it.

use crate::format::gzip_header_length;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use std::fs::File;
use std::io;
use std::sync::Arc;
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, InBuffer, Operation, OutBuffer};

/// Bytes of the file that are read at once.
const INPUT: usize = 256 << 10;
/// What a match of deflate may reach back.
const WINDOW: usize = 32 << 10;
/// A header of gzip with its names is not larger.
const LARGEST_HEADER: usize = 128 << 10;
/// CRC-32 and length.
const TRAILER: usize = 8;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Gzip,
    /// Windows of at most so many bytes, as a power of two.
    Zstd {
        window_log: u32,
    },
}

/// A place from which the rest can be unpacked.
#[derive(Clone)]
pub(super) struct Mark {
    /// How many bytes came out before.
    pub(super) out: u64,
    /// Where the file goes on.
    input: u64,
    state: State,
}

#[derive(Clone)]
enum State {
    /// A member or frame begins, or the file ends.
    Between,
    Inside(Box<Inflate>),
}

/// Why no more comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// In the compressed file.
    pub(super) position: u64,
    pub(super) detail: String,
}

/// A file that is being unpacked.
pub(super) struct Stream {
    file: Arc<File>,
    buffer: Vec<u8>,
    /// The first byte of the buffer that was not used.
    at: usize,
    /// Where the file goes on behind the buffer.
    behind: u64,
    /// How many bytes came out.
    out: u64,
    decoder: Decoder,
    /// Where the last member or frame began that began since somebody asked.
    began: Option<Mark>,
}

enum Decoder {
    Gzip(State),
    Zstd { decoder: ZstdDecoder<'static>, inside: bool },
}

/// A deflate stream with its checksum.
#[derive(Clone)]
struct Inflate {
    state: DecompressorOxide,
    window: Vec<u8>,
    at: usize,
    checksum: crc32fast::Hasher,
    length: u32,
}

impl Stream {
    /// Begins at `mark`, or at the start of the file.
    pub(super) fn new(file: Arc<File>, form: Form, mark: Option<&Mark>) -> io::Result<Self> {
        let decoder = match form {
            Form::Gzip => Decoder::Gzip(mark.map_or(State::Between, |mark| mark.state.clone())),
            Form::Zstd { window_log } => {
                let mut decoder = ZstdDecoder::new()?;
                decoder.set_parameter(DParameter::WindowLogMax(window_log))?;
                Decoder::Zstd { decoder, inside: false }
            }
        };
        let (behind, out) = mark.map_or((0, 0), |mark| (mark.input, mark.out));
        Ok(Self { file, buffer: Vec::new(), at: 0, behind, out, decoder, began: None })
    }

    /// How many bytes came out before what comes next.
    pub(super) const fn position(&self) -> u64 {
        self.out
    }

    /// Where the file goes on.
    fn input_position(&self) -> u64 {
        self.behind.saturating_sub(length(self.buffer.len().saturating_sub(self.at)))
    }

    /// A mark of this place, or of a start of a frame shortly before it.
    pub(super) fn mark(&mut self) -> Option<Mark> {
        match &self.decoder {
            Decoder::Gzip(state) => {
                Some(Mark { out: self.out, input: self.input_position(), state: state.clone() })
            }
            Decoder::Zstd { .. } => self.began.take(),
        }
    }

    /// Unpacks `about` so many bytes behind `into`, a few more perhaps; fewer at the end alone, or before
    /// what is broken.
    pub(super) fn fill(&mut self, into: &mut Vec<u8>, about: usize) -> Result<(), Broken> {
        let wanted = into.len().saturating_add(about);
        while into.len() < wanted {
            let before = into.len();
            let goes_on = if matches!(self.decoder, Decoder::Gzip(_)) {
                self.inflate(into)
            } else {
                self.frame(into, wanted)
            };
            self.out = self.out.saturating_add(length(into.len().saturating_sub(before)));
            if !goes_on? {
                break;
            }
        }
        Ok(())
    }

    /// Takes a step; `false` at the end.
    fn inflate(&mut self, into: &mut Vec<u8>) -> Result<bool, Broken> {
        let Decoder::Gzip(state) = &mut self.decoder else { return Ok(false) };
        let mut inflate = match std::mem::replace(state, State::Between) {
            State::Inside(inflate) => inflate,
            State::Between => {
                let first = self.input_position() == 0;
                self.need(LARGEST_HEADER)?;
                match gzip_header_length(self.unused()) {
                    Ok(header) => {
                        self.at = self.at.saturating_add(header);
                        Box::new(Inflate::new())
                    }
                    Err(error) if first => return Err(self.broken(error.to_string())),
                    Err(_) => return Ok(false),
                }
            }
        };
        self.need(1)?;
        let (status, read) = inflate.step(self.buffer.get(self.at..).unwrap_or_default(), into);
        self.at = self.at.saturating_add(read);
        match status {
            TINFLStatus::Done => {
                self.need(TRAILER)?;
                let trailer = self.unused().first_chunk::<TRAILER>().copied();
                let Some([c0, c1, c2, c3, l0, l1, l2, l3]) = trailer else {
                    return Err(self.broken("the checksum of a member is cut off".to_owned()));
                };
                let stored = (u32::from_le_bytes([c0, c1, c2, c3]), u32::from_le_bytes([l0, l1, l2, l3]));
                let computed = (inflate.checksum.clone().finalize(), inflate.length);
                if stored != computed {
                    return Err(self.broken(format!(
                        "stored checksum {} and length {}, computed {} and {}",
                        stored.0, stored.1, computed.0, computed.1
                    )));
                }
                self.at = self.at.saturating_add(TRAILER);
            }
            TINFLStatus::HasMoreOutput => self.decoder = Decoder::Gzip(State::Inside(inflate)),
            TINFLStatus::NeedsMoreInput if !self.unused().is_empty() || self.more()? => {
                self.decoder = Decoder::Gzip(State::Inside(inflate));
            }
            TINFLStatus::NeedsMoreInput => return Err(self.broken("the file is cut off".to_owned())),
            _ => return Err(self.broken("no deflate stream".to_owned())),
        }
        Ok(true)
    }

    fn frame(&mut self, into: &mut Vec<u8>, wanted: usize) -> Result<bool, Broken> {
        let at_hand = !self.unused().is_empty() || self.more()?;
        let here = Mark { out: self.out, input: self.input_position(), state: State::Between };
        let Decoder::Zstd { decoder, inside } = &mut self.decoder else { return Ok(false) };
        if !*inside {
            if !at_hand {
                return Ok(false);
            }
            decoder.reinit().map_err(|error| Broken { position: here.input, detail: error.to_string() })?;
            self.began = Some(here.clone());
            *inside = true;
        }
        let before = into.len();
        into.resize(wanted, 0);
        let mut input = InBuffer::around(self.buffer.get(self.at..).unwrap_or_default());
        let mut output = OutBuffer::around(into.get_mut(before..).unwrap_or_default());
        let hint = decoder.run(&mut input, &mut output);
        let (read, written) = (input.pos(), output.pos());
        into.truncate(before.saturating_add(written));
        self.at = self.at.saturating_add(read);
        match hint {
            Ok(0) => *inside = false,
            // A decoder that has all of the file and gives nothing back waits for what is not there.
            Ok(_) if read == 0 && written == 0 && !at_hand => {
                return Err(Broken { position: here.input, detail: "the file is cut off".to_owned() });
            }
            Ok(_) => {}
            Err(error) => {
                // Whoever packs with other tools than ours may have begun with something else.
                return Err(Broken { position: here.input, detail: error.to_string() });
            }
        }
        Ok(true)
    }

    fn unused(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    fn broken(&self, detail: String) -> Broken {
        Broken { position: self.input_position(), detail }
    }

    /// Reads on until `count` bytes are at hand, or the file ends.
    fn need(&mut self, count: usize) -> Result<(), Broken> {
        while self.unused().len() < count && self.more()? {}
        Ok(())
    }

    /// Reads on; `false` at the end of the file.
    fn more(&mut self) -> Result<bool, Broken> {
        self.buffer.drain(..self.at.min(self.buffer.len()));
        self.at = 0;
        let kept = self.buffer.len();
        self.buffer.resize(kept.saturating_add(INPUT), 0);
        let room = self.buffer.get_mut(kept..).unwrap_or_default();
        let read = super::super::window::read_at(&self.file, room, self.behind);
        self.buffer.truncate(kept.saturating_add(*read.as_ref().unwrap_or(&0)));
        match read {
            Ok(read) => {
                self.behind = self.behind.saturating_add(length(read));
                Ok(read > 0)
            }
            Err(error) => Err(Broken { position: self.behind, detail: error.to_string() }),
        }
    }
}

impl Inflate {
    fn new() -> Self {
        Self {
            state: DecompressorOxide::new(),
            window: vec![0; WINDOW],
            at: 0,
            checksum: crc32fast::Hasher::new(),
            length: 0,
        }
    }

    /// Unpacks up to the end of the window, which goes round, and says how many of `input` were used.
    fn step(&mut self, input: &[u8], into: &mut Vec<u8>) -> (TINFLStatus, usize) {
        let (status, read, written) =
            decompress(&mut self.state, input, &mut self.window, self.at, TINFL_FLAG_HAS_MORE_INPUT);
        let came = self.window.get(self.at..self.at.saturating_add(written)).unwrap_or_default();
        into.extend_from_slice(came);
        self.checksum.update(came);
        self.length = self.length.wrapping_add(u32::try_from(written).unwrap_or(u32::MAX));
        self.at = self.at.saturating_add(written) % WINDOW;
        (status, read)
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
