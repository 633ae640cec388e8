//! Reads segments once, front to back, in pieces that workers can take apart side by side.
//!
//! A piece holds whole batches, as far as their lengths can be believed; where they cannot, the
//! piece says so, and the rest of the segment is scanned in one go by the fold. Nothing is checked
//! here.

use super::batches::{LargeBatches, Stored};
use super::watch::Watch;
use crate::format::ByteSource;
use crate::input::{self, FileIdentity, FilePlace, ReadMode, SegmentSource};
use std::io;

/// Bytes in a piece, unless one batch is larger: enough work for a worker to be worth handing
/// over, little enough that the pieces under way do not count.
const PIECE: usize = 1 << 20;
/// `baseOffset` and `batchLength`: what tells where a batch ends.
const OVERHEAD: usize = 12;
/// The smallest message of format 0 behind the overhead.
const SMALLEST: i32 = 14;

/// One segment to be read.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Index of the partition directory in the run.
    pub(super) partition: usize,
    /// Index of the segment in its partition; `None` for a partition without segments.
    pub(super) segment: Option<usize>,
    /// The file.
    pub(super) place: FilePlace,
    /// Bytes that it had when it was found.
    pub(super) len: u64,
    /// Which file it was then.
    pub(super) identity: Option<FileIdentity>,
}

/// Whole batches of one segment.
#[derive(Debug)]
pub(super) struct Chunk<'l> {
    /// Its place in the order of the run.
    pub(super) number: u64,
    pub(super) partition: usize,
    pub(super) segment: Option<usize>,
    /// Where it begins in the segment.
    pub(super) position: u64,
    pub(super) bytes: Vec<u8>,
    /// The room that they take where they are many.
    pub(super) room: Option<Stored<'l>>,
    /// Whether the segment ends behind it.
    pub(super) ends_segment: bool,
    /// What kept the reader from cutting on; the rest of the segment is not in any chunk.
    pub(super) stopped: Option<Stop>,
}

/// Why a segment could not be cut to its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The bytes behind the chunk begin with no believable length.
    Uncut,
    /// The file could not be read.
    Unreadable(io::Error),
    /// Somebody wants the reading to end.
    Interrupted,
}

/// Reads all segments of the run in their order.
#[derive(Debug)]
pub(super) struct ChunkReader<'l> {
    tasks: std::vec::IntoIter<Task>,
    large: &'l LargeBatches,
    mode: ReadMode,
    watch: Watch,
    open: Option<Open>,
    next_number: u64,
}

#[derive(Debug)]
struct Open {
    task: Task,
    source: SegmentSource,
    position: u64,
}

impl<'l> ChunkReader<'l> {
    pub(super) fn new(tasks: Vec<Task>, mode: ReadMode, watch: Watch, large: &'l LargeBatches) -> Self {
        Self { tasks: tasks.into_iter(), large, mode, watch, open: None, next_number: 0 }
    }

    /// The next piece; `None` at the end of the last segment. A partition without segments, and a
    /// segment without bytes, have one empty piece, so that the fold sees them.
    /// `spare` is room of an earlier piece that is used again.
    pub(super) fn next_chunk(&mut self, spare: Vec<u8>) -> Option<Chunk<'l>> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => match self.open_next()? {
                Ok(open) => open,
                Err(chunk) => return Some(*chunk),
            },
        };
        if self.watch.is_stopped() {
            return Some(self.chunk(&open.task, open.position, Vec::new(), true, Some(Stop::Interrupted)));
        }
        let (large, mut room) = (self.large, None);
        let cut = cut(&mut open.source, open.position, PIECE, |bytes| {
            // What it had for a length that was not believed is too little.
            room = None;
            room = large.room(bytes);
        });
        let (bytes, stopped) = match cut {
            Ok((whole, goes_on)) => {
                let bytes = open.source.give(open.position, whole, spare);
                (bytes, (!goes_on).then_some(Stop::Uncut))
            }
            Err(error) => (Vec::new(), Some(Stop::Unreadable(error))),
        };
        let position = open.position;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.watch.read(length);
        open.position = position.saturating_add(length);
        let ends_segment = stopped.is_some() || open.position >= open.source.len();
        let chunk = Chunk { room, ..self.chunk(&open.task, position, bytes, ends_segment, stopped) };
        if !ends_segment {
            self.open = Some(open);
        }
        Some(chunk)
    }

    fn open_next(&mut self) -> Option<Result<Open, Box<Chunk<'l>>>> {
        let task = self.tasks.next()?;
        if task.segment.is_none() {
            return Some(Err(Box::new(self.chunk(&task, 0, Vec::new(), true, None))));
        }
        if self.watch.is_stopped() {
            return Some(Err(Box::new(self.chunk(&task, 0, Vec::new(), true, Some(Stop::Interrupted)))));
        }
        match input::open_same(&task.place, self.mode, task.len, task.identity) {
            Ok(source) => Some(Ok(Open { task, source, position: 0 })),
            Err(error) => {
                let stopped = Some(Stop::Unreadable(error));
                Some(Err(Box::new(self.chunk(&task, 0, Vec::new(), true, stopped))))
            }
        }
    }

    fn chunk(
        &mut self,
        task: &Task,
        position: u64,
        bytes: Vec<u8>,
        ends_segment: bool,
        stopped: Option<Stop>,
    ) -> Chunk<'l> {
        let number = self.next_number;
        self.next_number += 1;
        let (partition, segment) = (task.partition, task.segment);
        Chunk { number, partition, segment, position, bytes, room: None, ends_segment, stopped }
    }
}

/// How many bytes are whole batches from `position` on; `false` when what follows them cannot be cut.
/// `ask` is told before more than a piece is read.
fn cut<S: ByteSource>(
    source: &mut S,
    position: u64,
    piece: usize,
    mut ask: impl FnMut(usize),
) -> io::Result<(usize, bool)> {
    let left = source.len().saturating_sub(position);
    let mut wanted = piece;
    loop {
        let window = source.window(position, wanted)?;
        let window = window.get(..wanted).unwrap_or(window);
        let (whole, next) = whole_batches(window, left);
        match next {
            // The first batch alone is larger than the piece.
            Next::Needs(size) if whole == 0 && size > window.len() => {
                ask(size);
                wanted = size;
            }
            Next::Needs(_) | Next::End => return Ok((whole, true)),
            Next::Unbelievable => return Ok((whole, false)),
        }
    }
}

enum Next {
    /// The window ends with the last byte of a batch, and so does the file.
    End,
    /// The next batch is this large and not whole in the window.
    Needs(usize),
    /// What follows has no believable length.
    Unbelievable,
}

/// How many bytes of `window` are whole batches, and what follows; `left` are in the file.
fn whole_batches(window: &[u8], left: u64) -> (usize, Next) {
    let mut at = 0;
    loop {
        let rest = window.get(at..).unwrap_or_default();
        let left = left.saturating_sub(u64::try_from(at).unwrap_or(u64::MAX));
        if left == 0 {
            return (at, Next::End);
        }
        let Some(overhead) = rest.first_chunk::<OVERHEAD>() else {
            let in_file = left >= u64::try_from(OVERHEAD).unwrap_or(0);
            return (at, if in_file { Next::Needs(OVERHEAD) } else { Next::Unbelievable });
        };
        let [_, _, _, _, _, _, _, _, a, b, c, d] = *overhead;
        let length = i32::from_be_bytes([a, b, c, d]);
        let size = usize::try_from(length).unwrap_or(0).saturating_add(OVERHEAD);
        if length < SMALLEST || u64::try_from(size).unwrap_or(u64::MAX) > left {
            return (at, Next::Unbelievable);
        }
        if size > rest.len() {
            return (at, Next::Needs(size));
        }
        at = at.saturating_add(size);
    }
}

/// A chunk as a source of bytes: positions are those of the segment.
#[derive(Debug)]
pub(super) struct ChunkSource<'c> {
    position: u64,
    bytes: &'c [u8],
}

impl<'c> ChunkSource<'c> {
    pub(super) fn new(chunk: &'c Chunk<'_>) -> Self {
        Self { position: chunk.position, bytes: &chunk.bytes }
    }
}

impl ByteSource for ChunkSource<'_> {
    fn len(&self) -> u64 {
        self.position.saturating_add(u64::try_from(self.bytes.len()).unwrap_or(u64::MAX))
    }

    fn window(&mut self, position: u64, _length: usize) -> io::Result<&[u8]> {
        let start = position.checked_sub(self.position).and_then(|at| usize::try_from(at).ok());
        Ok(start.and_then(|start| self.bytes.get(start..)).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::segment::TailExpectation;
    use crate::format::{SegmentItem, SegmentScanner};
    use crate::testkit::{SegmentBuilder, batch};
    use crate::units::{FilePosition, Offset};

    fn segment(batches: u32) -> Vec<u8> {
        let mut segment = SegmentBuilder::new();
        for number in 0..batches {
            let records = (0..=number % 7).fold(batch(), |spec, n| spec.record(format!("key-{n}"), "value"));
            segment = segment.batch(records);
        }
        segment.bytes()
    }

    fn places<S: ByteSource>(mut scanner: SegmentScanner<S>) -> Vec<(u64, i64)> {
        let mut places = Vec::new();
        while let Some(item) = scanner.next_item().unwrap() {
            let SegmentItem::Batch(batch) = item else { panic!("{item:?}") };
            places.push((batch.position.0, batch.header.base_offset.0));
        }
        places
    }

    proptest::proptest! {
        #[test]
        fn the_pieces_of_a_segment_hold_what_the_whole_holds(batches in 0u32..40, piece in 1usize..3000) {
            let bytes = segment(batches);
            let mut source = bytes.as_slice();
            let (mut position, mut found) = (0, Vec::new());
            while position < ByteSource::len(&source) {
                let (whole, goes_on) = cut(&mut source, position, piece, |_| ()).unwrap();
                assert!(goes_on && whole > 0, "at {position}");
                let at = usize::try_from(position).unwrap();
                let chunk = Chunk {
                    number: 0,
                    partition: 0,
                    segment: Some(0),
                    position,
                    bytes: bytes[at..at + whole].to_vec(),
                    room: None,
                    ends_segment: false,
                    stopped: None,
                };
                let scanner = SegmentScanner::new(ChunkSource::new(&chunk), Offset(0), TailExpectation::MustBeWhole);
                found.extend(places(scanner.starting_at(FilePosition(position), None)));
                position += chunk.bytes.len() as u64;
            }
            let whole = SegmentScanner::new(bytes.as_slice(), Offset(0), TailExpectation::MustBeWhole);
            assert_eq!(found, places(whole));
        }

        #[test]
        fn what_cannot_be_cut_is_left_to_the_fold(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            let mut source = bytes.as_slice();
            let (whole, _) = cut(&mut source, 0, 64, |_| ()).unwrap();
            assert!(whole <= bytes.len());
        }
    }
}
