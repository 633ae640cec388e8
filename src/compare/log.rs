//! Walks over the batches of a log, segment by segment.

use crate::facts::{Outcome, Withheld};
use crate::format::{BatchHeader, Limits, SegmentItem, SegmentScanner, TailExpectation};
use crate::input::{self, FileIdentity, FilePlace, ReadMode, SegmentSource};
use crate::units::{FilePosition, Offset, ProducerId};

/// A log to be compared.
#[derive(Clone, Debug, Default)]
pub struct Log<'f> {
    /// Its segments in order.
    pub segments: Vec<LogSegment>,
    /// Where the cleaner has been: what is missing below this offset may be its work.
    pub cleaned_below: Option<Offset>,
    /// What transactions withhold: the cleaner removes records of aborted ones.
    pub withheld: Option<&'f Withheld>,
    /// Aborts that found no data of their producer, in ascending order: the cleaner leaves the marker of
    /// what it took.
    pub empty_aborts: Vec<(ProducerId, Offset)>,
    /// Nothing below is compared.
    pub starts_at: Option<Offset>,
    /// Where the log begins that lost its first files: what the other one holds from here on is missing.
    pub head_lost_from: Option<Offset>,
    /// What one of its batches may ask for.
    pub limits: Limits,
}

/// One segment of it.
#[derive(Clone, Debug)]
pub struct LogSegment {
    /// Where it is.
    pub place: FilePlace,
    /// The lower bound of its offsets.
    pub base: Offset,
    /// Where the next segment begins.
    pub next_base: Option<Offset>,
    /// How many bytes of it are read.
    pub len: u64,
    /// Which file it was when it was found.
    pub identity: Option<FileIdentity>,
    /// Whether a torn tail is to be expected.
    pub tail: TailExpectation,
}

impl Log<'_> {
    /// The lower bound of its offsets; `None` without a segment.
    #[must_use]
    pub fn first_offset(&self) -> Option<Offset> {
        self.segments.first().map(|segment| segment.base)
    }

    /// Whether the record at `offset` belongs to an aborted transaction.
    pub(super) fn is_aborted(&self, offset: Offset) -> bool {
        self.withheld_by(offset) == Some(Outcome::Aborted)
    }

    /// Whether the marker of an abort without data stands behind `offset`.
    pub(super) fn aborts_without_data(&self, id: ProducerId, offset: Offset) -> bool {
        let at = self.empty_aborts.partition_point(|abort| *abort <= (id, offset));
        self.empty_aborts.get(at).is_some_and(|(producer_id, _)| *producer_id == id)
    }

    /// The outcome of the transaction that withholds the record at `offset`.
    pub(super) fn withheld_by(&self, offset: Offset) -> Option<Outcome> {
        self.withheld?.at(offset)
    }
}

/// A batch that was taken out of its file.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) header: BatchHeader,
    /// All of its bytes.
    pub(super) bytes: Vec<u8>,
    pub(super) position: FilePosition,
    /// The lowest offset that it may hold: of a compressed wrapper of format 0 or 1 the header tells
    /// only the last.
    pub(super) low: Offset,
    /// Whether bytes before it cannot be read.
    pub(super) behind_damage: bool,
}

impl Held {
    /// Equal but for what a broker stamps outside the checksum: base offset, length, leader epoch.
    pub(super) fn holds_the_same(&self, other: &Self) -> bool {
        self.header.base_offset == other.header.base_offset
            && self.bytes.len() == other.bytes.len()
            && self.bytes.get(16..) == other.bytes.get(16..)
    }
}

/// The batches of a log in order of their offsets. A batch whose offsets step back or repeat others
/// is passed over.
pub(super) struct Walk<'l> {
    log: &'l Log<'l>,
    mode: ReadMode,
    next_segment: usize,
    scanner: Option<SegmentScanner<SegmentSource>>,
    /// The batch that stands next.
    pub(super) held: Option<Held>,
    /// The offset behind the last batch.
    pub(super) end: Offset,
    /// Bytes behind the last batch that cannot be read.
    damaged: u64,
    /// Bytes of any place that cannot be read.
    pub(super) damage: u64,
    /// Room for the next batch.
    spare: Vec<u8>,
}

impl<'l> Walk<'l> {
    /// Begins at the first batch that reaches `from`.
    pub(super) fn new(log: &'l Log<'l>, from: Offset, mode: ReadMode) -> Self {
        let behind = log.segments.partition_point(|segment| segment.base <= from);
        let mut walk = Self {
            log,
            mode,
            next_segment: behind.saturating_sub(1),
            scanner: None,
            held: None,
            end: from,
            damaged: 0,
            damage: 0,
            spare: Vec::new(),
        };
        walk.advance();
        walk
    }

    /// Whether the bytes behind the last batch cannot be read; meant for the end of the walk.
    pub(super) fn ends_in_damage(&self) -> bool {
        self.damaged > 0
    }

    /// How many these are.
    pub(super) fn damage_at_the_end(&self) -> u64 {
        self.damaged
    }

    /// Goes to the next batch.
    pub(super) fn advance(&mut self) {
        if let Some(held) = self.held.take() {
            self.spare = held.bytes;
        }
        while self.held.is_none() {
            if self.scanner.is_none() && !self.open() {
                return;
            }
            self.step();
        }
    }

    /// Opens the next segment that can be opened.
    fn open(&mut self) -> bool {
        while let Some(segment) = self.log.segments.get(self.next_segment) {
            self.next_segment += 1;
            match input::open_same(&segment.place, self.mode, segment.len, segment.identity) {
                Ok(source) => {
                    let scanner = SegmentScanner::new(source, segment.base, segment.tail);
                    self.scanner = Some(match segment.next_base {
                        Some(next) => scanner.before(next),
                        None => scanner,
                    });
                    return true;
                }
                Err(_) => self.damaged(segment.len),
            }
        }
        false
    }

    fn damaged(&mut self, bytes: u64) {
        self.damaged = self.damaged.saturating_add(bytes);
        self.damage = self.damage.saturating_add(bytes);
    }

    fn step(&mut self) {
        let Some(scanner) = &mut self.scanner else { return };
        let from = scanner.position().0;
        let batch = match scanner.next_item() {
            Ok(Some(SegmentItem::Batch(batch))) => batch,
            Ok(Some(SegmentItem::Suspect(suspect))) => match suspect.in_line() {
                Some(batch) => batch,
                None => return,
            },
            Ok(Some(SegmentItem::Damage(damage))) => return self.damaged(damage.length),
            Ok(None) => {
                self.scanner = None;
                return;
            }
            Err(_) => {
                self.scanner = None;
                let len = self.log.segments.get(self.next_segment.wrapping_sub(1)).map_or(0, |s| s.len);
                return self.damaged(len.saturating_sub(from));
            }
        };
        let last = batch.header.last_offset();
        if last < self.end {
            return;
        }
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.clear();
        bytes.extend_from_slice(batch.bytes);
        let low = if batch.header.records_count.is_none() { self.end } else { batch.header.base_offset };
        self.held = Some(Held {
            header: batch.header,
            bytes,
            position: batch.position,
            low: low.max(self.end),
            behind_damage: std::mem::take(&mut self.damaged) > 0,
        });
        self.end = last.next();
    }
}
