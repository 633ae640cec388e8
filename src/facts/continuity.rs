//! Which offsets are missing from the files, and what lies around each hole.
//!
//! In a log that was never cleaned offsets are contiguous: the broker gives none to a batch that
//! it refuses. So a hole between two batches is the cleaner's, a missing file's, or unreadable
//! bytes'. A hole is counted by where it lies; whether the cleaner made it is decided at the end of
//! the log, when all signs of the cleaner have been seen.
//!
//! The cleaner swaps its segments in before it writes its checkpoint, and a broker that is killed in
//! between leaves holes above it. In a topic that is being cleaned a hole inside a closed segment is
//! the cleaner's therefore, and one between two segments may be, unless an index without its segment
//! shows that a file is missing.
//!
//! A segment is named by the offset of its first batch. The cleaner writes what it keeps under the name of the first
//! segment that it took, also where nothing is left of that, so a file that is there without a batch, or begins above its
//! name, is the work of a cleaner: the one of this broker, or of a leader whose batches were fetched. A file that lost
//! what it held looks the same. Nobody can tell, unless an index without its segment shows that a file is missing, or
//! the topic is known not to be compacted.
//!
//! What deletes from the head (retention, `DeleteRecords`) moves the log start and the first leader epoch first, and then
//! takes files one after the other. In a copy of a running broker a file may be there that was deleted behind its back, and
//! the next one may not; or the checkpoint is older than the deletion. So a hole behind files that all lie below the
//! log start is theirs there, and so is one in front of the first file.
//!
//! Source: `UnifiedLog.maybeIncrementLogStartOffset`, `deleteOldSegments`, `UnifiedLog.append`, `UnifiedLog.roll`, `Cleaner`, `LogCleaner.cleanLog`; formats 0 and 1 name a segment far
//! below its first record (`UnifiedLog.maybeRoll`), so no hole is told there.

use super::{HoleKind, LogTail, OffsetHole, PartitionContext};
use crate::format::{BatchHeader, DamageKind};
use crate::spill::{Element, RunReader};
use crate::units::Offset;
use std::collections::VecDeque;
use std::io;

/// Holes that are kept one by one: the newest of each kind.
const MAX_HOLES: usize = 1_000;
/// So many holes inside segments without any other sign of the cleaner still say that it was there.
const HOLES_OF_A_CLEANER: u64 = 2;

/// Missing offsets so far, by where they are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Below the first segment.
    pub(super) head: u64,
    /// Where bytes could not be read.
    pub(super) damage: u64,
    /// Below the first segment, and at or above the start of the log.
    pub(super) first_file: u64,
    /// Between two segments.
    pub(super) boundary: u64,
    /// Between two batches of a segment.
    pub(super) inside: u64,
    /// Behind files that lie below the log start.
    pub(super) passed: u64,
    /// Below what the cleaner's checkpoint names.
    pub(super) cleaned: u64,
    /// Between two segments or in one without batches there, where nobody can tell the cleaner from a loss.
    pub(super) unsettled: u64,
}

impl Tally {
    pub(super) const fn since(self, earlier: Self) -> Self {
        Self {
            head: self.head.saturating_sub(earlier.head),
            damage: self.damage.saturating_sub(earlier.damage),
            first_file: self.first_file.saturating_sub(earlier.first_file),
            boundary: self.boundary.saturating_sub(earlier.boundary),
            inside: self.inside.saturating_sub(earlier.inside),
            passed: self.passed.saturating_sub(earlier.passed),
            cleaned: self.cleaned.saturating_sub(earlier.cleaned),
            unsettled: self.unsettled.saturating_sub(earlier.unsettled),
        }
    }
}

impl Element for Tally {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { head, damage, first_file, boundary, inside, passed, cleaned, unsettled } = *self;
        let tallies = [head, damage, first_file, boundary, inside, passed, cleaned, unsettled];
        // Nothing is missing from most logs.
        tallies.map(|count| (count > 0).then_some(count.cast_signed())).put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let tallies = <[Option<i64>; 8]>::take(from)?.map(|count| count.unwrap_or(0).cast_unsigned());
        let [head, damage, first_file, boundary, inside, passed, cleaned, unsettled] = tallies;
        Ok(Self { head, damage, first_file, boundary, inside, passed, cleaned, unsettled })
    }
}

/// Follows the offsets of one partition.
#[derive(Debug)]
pub(super) struct Continuity {
    next_offset: Option<Offset>,
    segment: Option<usize>,
    /// What lies behind the last batch.
    tail: LogTail,
    /// Whether there was any damage.
    was_damaged: bool,
    tally: Tally,
    holes: VecDeque<OffsetHole>,
    holes_omitted: u64,
    holes_inside: u64,
    last_trace_of_cleaner: Option<(usize, Offset)>,
    last_hole_inside: Option<(usize, Offset)>,
}

impl Continuity {
    pub(super) fn new(context: &PartitionContext) -> Self {
        let mut this = Self {
            next_offset: None,
            segment: None,
            tail: LogTail::Whole,
            was_damaged: false,
            tally: Tally::default(),
            holes: VecDeque::new(),
            holes_omitted: 0,
            holes_inside: 0,
            last_trace_of_cleaner: None,
            last_hole_inside: None,
        };
        if let Some(&first) = context.segment_bases.first() {
            // DeleteRecords and retention move the first leader epoch before files go; a first file
            // above it is one that nobody removed in order.
            let kept_from = context.leader_epochs.first().map_or(first, |&(_, start)| start.min(first));
            this.tally.head = distance(Offset(0), kept_from);
            if kept_from < first {
                this.hole(context, kept_from, first, HoleKind::Head, 0);
            }
        }
        this
    }

    /// Bytes that cannot be read; the next hole is theirs.
    pub(super) fn damage(&mut self, kind: DamageKind) {
        self.tail = self.tail.max(LogTail::of(kind));
        self.was_damaged = true;
    }

    /// Takes the offsets of the next batch.
    pub(super) fn batch(&mut self, context: &PartitionContext, header: &BatchHeader, segment: usize) {
        let base = context.segment_bases.get(segment).copied();
        let opens_segment = self.segment != Some(segment);
        // A first file without batches begins where the log does.
        let begin = context.segment_bases.first().copied().or(base);
        let expected = self.next_offset.or(begin).unwrap_or(header.base_offset);
        if self.next_offset.is_none() && base.is_none() {
            self.tally.head = distance(Offset(0), header.base_offset);
        }
        if header.is_legacy() {
            // The base offset of a wrapper is not in its header.
        } else if self.ends_in_damage() {
            self.hole(context, expected, header.base_offset, HoleKind::Damage, segment);
        } else if opens_segment {
            let files = self.segment.map_or(0, |before| before.saturating_add(1))..segment;
            let files = context.segment_bases.get(files).unwrap_or_default().iter().copied();
            let begins = |base: &Offset| *base >= expected && *base <= header.base_offset;
            let name = base.filter(begins).unwrap_or(header.base_offset);
            let without_batch = files.filter(begins).min().unwrap_or(name).min(name);
            self.hole(context, expected, without_batch, HoleKind::Boundary, segment);
            self.hole(context, without_batch, name, HoleKind::Emptied, segment);
            self.hole(context, name, header.base_offset, HoleKind::Emptied, segment);
        } else {
            self.hole(context, expected, header.base_offset, HoleKind::Inside, segment);
        }
        if header.is_sparse() || header.delete_horizon().is_some() {
            self.last_trace_of_cleaner = Some((segment, header.base_offset));
        }
        self.tail = LogTail::Whole;
        self.segment = Some(segment);
        self.next_offset = Some(header.last_offset().next());
    }

    /// Ends the log, whose last files may hold no batch: a rolled segment begins where the next
    /// batch would go. Returns the log end.
    pub(super) fn finish(&mut self, context: &PartitionContext) -> Offset {
        let Some(next) = self.next_offset else {
            return context.segment_bases.last().copied().unwrap_or_default().max(context.log_start_offset);
        };
        let behind = self.segment.unwrap_or_default().saturating_add(1);
        let mut end = next;
        for (segment, &base) in context.segment_bases.iter().enumerate().skip(behind) {
            if base > end {
                let kind = if self.ends_in_damage() { HoleKind::Damage } else { HoleKind::Boundary };
                self.hole(context, end, base, kind, segment);
                end = base;
            }
        }
        end
    }

    /// Missing offsets so far.
    pub(super) const fn tally(&self) -> Tally {
        self.tally
    }

    /// Whether offsets from `from` up to but not including `to` are in no batch so far.
    ///
    /// What the cleaner took below its checkpoint is not missing.
    pub(super) fn misses_between(&self, context: &PartitionContext, from: Offset, to: Offset) -> bool {
        let seen_to = self.next_offset.unwrap_or(from).max(context.cleaned_up_to.unwrap_or(from));
        seen_to < to || self.holes.iter().any(|hole| hole.first_offset < to && hole.last_offset >= from)
    }

    /// The offset behind the last batch.
    pub(super) const fn next_offset(&self) -> Option<Offset> {
        self.next_offset
    }

    /// Whether the last thing seen was damage.
    pub(super) const fn ends_in_damage(&self) -> bool {
        !matches!(self.tail, LogTail::Whole)
    }

    /// What lies behind the last batch that was read.
    pub(super) const fn tail(&self) -> LogTail {
        self.tail
    }

    /// Whether everything that was ever written is there so far, as it was written.
    pub(super) fn is_whole(&self, context: &PartitionContext) -> bool {
        context.segment_bases.first() == Some(&Offset(0))
            && self.tally == Tally::default()
            && !self.was_damaged
            && !context.is_compacted()
            && self.last_trace_of_cleaner.is_none()
    }

    /// The first offset that the cleaner certainly has not reached; holes below it are its own.
    pub(super) fn cleaned_below(&self, context: &PartitionContext) -> Option<Offset> {
        let many = self.holes_inside >= HOLES_OF_A_CLEANER;
        let inside = if context.is_being_cleaned() {
            self.last_hole_inside.filter(|&(segment, _)| many || !context.is_active(segment))
        } else {
            self.last_hole_inside.filter(|_| many)
        };
        let trace = self.last_trace_of_cleaner.max(inside);
        // A checkpoint is exact; a trace above it means that it is of an earlier pass.
        let trace = trace.filter(|&(_, at)| context.cleaned_up_to.is_none_or(|checkpoint| at >= checkpoint));
        // The cleaner works on whole segments.
        let traced = trace.map(|(segment, _)| {
            let behind = context.segment_bases.get(segment.saturating_add(1)).copied();
            behind.or(self.next_offset).unwrap_or(Offset(i64::MAX))
        });
        match (context.cleaned_up_to, context.compacted) {
            (Some(checkpoint), _) => Some(checkpoint.max(traced.unwrap_or(checkpoint))),
            (None, Some(true)) => Some(Offset(i64::MAX)),
            (None, _) => traced,
        }
    }

    /// Whether the cleaner has been here, as its checkpoint or the log itself shows.
    ///
    /// A policy says what is to be, and `LogCleanerManager` begins an entry of the checkpoint at the start of the log:
    /// neither is a pass over it.
    pub(super) fn was_cleaned(&self, context: &PartitionContext) -> bool {
        let Tally { boundary, inside, unsettled, cleaned, .. } = self.tally;
        let has_holes = [boundary, inside, unsettled, cleaned].into_iter().any(|missing| missing > 0);
        context.cleaned_up_to.is_some_and(|checkpoint| checkpoint > context.log_start_offset)
            || (context.is_compacted() && has_holes)
            || self.last_trace_of_cleaner.is_some()
            || self.holes_inside >= HOLES_OF_A_CLEANER
    }

    /// How many holes there were so far, the cleaner's own aside.
    pub(super) fn holes_seen(&self) -> u64 {
        self.holes_omitted.saturating_add(u64::try_from(self.holes.len()).unwrap_or(u64::MAX))
    }

    /// The holes that were kept, and how many were not.
    pub(super) fn into_holes(self) -> (Vec<OffsetHole>, u64) {
        (self.holes.into(), self.holes_omitted)
    }

    fn hole(
        &mut self,
        context: &PartitionContext,
        expected: Offset,
        found: Offset,
        kind: HoleKind,
        segment: usize,
    ) {
        let missing = distance(expected, found);
        if missing == 0 {
            return;
        }
        // The cleaner merges files and keeps the name of the first, so it takes none from the head.
        let cleaned = kind != HoleKind::Head && context.cleaned_up_to.is_some_and(|limit| expected < limit);
        let begins_above_name = context.segment_bases.get(segment).is_some_and(|base| *base == expected);
        if kind == HoleKind::Inside || kind == HoleKind::Emptied && begins_above_name {
            self.holes_inside = self.holes_inside.saturating_add(1);
            self.last_hole_inside = Some((segment, expected));
        }
        let kind = match kind {
            HoleKind::Boundary if !cleaned && context.is_passed(expected, found) => HoleKind::Passed,
            HoleKind::Boundary if !cleaned && context.may_be_unfinished_pass(expected, found) => {
                HoleKind::Unsettled
            }
            HoleKind::Emptied if cleaned || !context.may_have_been_emptied(expected, found) => {
                if begins_above_name {
                    HoleKind::Inside
                } else {
                    HoleKind::Boundary
                }
            }
            kind => kind,
        };
        let counter = match kind {
            HoleKind::Damage => &mut self.tally.damage,
            HoleKind::Boundary | HoleKind::Inside if cleaned => &mut self.tally.cleaned,
            HoleKind::Passed => &mut self.tally.passed,
            HoleKind::Unsettled | HoleKind::Emptied => &mut self.tally.unsettled,
            HoleKind::Head => &mut self.tally.first_file,
            HoleKind::Boundary => &mut self.tally.boundary,
            HoleKind::Inside => &mut self.tally.inside,
        };
        *counter = counter.saturating_add(missing);
        if cleaned && kind != HoleKind::Damage {
            return;
        }
        if self.holes.len() == MAX_HOLES {
            self.holes.pop_front();
            self.holes_omitted = self.holes_omitted.saturating_add(1);
        }
        self.holes.push_back(OffsetHole {
            first_offset: expected,
            last_offset: found.plus(-1),
            kind,
            segment,
        });
    }
}

/// Offsets from `from` up to but not including `to`; 0 when `to` is not behind `from`.
fn distance(from: Offset, to: Offset) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}
