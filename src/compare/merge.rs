//! The walk over two logs side by side.

use super::cleaner::Absent;
use super::log::{Held, Log, Walk};
use super::marks::{self, Mark};
use super::outcome::{Comparison, DifferenceKind, Epochs, Rest, Side, Stretch, Writers};
use crate::facts::Outcome;
use crate::format::{Decompressor, TimestampType};
use crate::input::ReadMode;
use crate::units::Offset;

/// Compares, and gathers by holder what the other log lacks where its cleaner has been, and where nothing
/// shows that it was.
pub(super) fn merge(
    a: &Log<'_>,
    b: &Log<'_>,
    mode: ReadMode,
    stop: &dyn Fn() -> bool,
) -> (Comparison, [Absent; 2], [Absent; 2]) {
    let begins = [a.first_offset(), b.first_offset()];
    let mut comparison = Comparison { begins, followed: 1, ..Comparison::default() };
    let [Some(first_a), Some(first_b)] = begins else {
        return (comparison, <[Absent; 2]>::default(), <[Absent; 2]>::default());
    };
    let should_begin = |log: &Log<'_>, first| log.head_lost_from.unwrap_or(first);
    let first = should_begin(a, first_a).max(should_begin(b, first_b));
    comparison.from = [a.starts_at, b.starts_at].into_iter().flatten().fold(first, Offset::max);
    let mut merge = Merge {
        sides: [a, b].map(|log| Cursor {
            log,
            walk: Walk::new(log, comparison.from, mode),
            opened: None,
            low: comparison.from,
        }),
        decompressor: Decompressor::with_limits(a.limits),
        comparison,
        absent: <[Absent; 2]>::default(),
        unexplained: <[Absent; 2]>::default(),
    };
    let mut stopped = stop();
    while !stopped && merge.step() {
        stopped = stop();
    }
    if stopped {
        merge.comparison.stopped_at = merge.sides.iter().map(|side| side.low).min();
    } else {
        merge.rest();
    }
    let [a, b] = merge.sides;
    let mut comparison = merge.comparison;
    comparison.ends = [a.walk.end, b.walk.end];
    comparison.damage = [a.walk.damage, b.walk.damage];
    (comparison, merge.absent, merge.unexplained)
}

struct Merge<'l> {
    sides: [Cursor<'l>; 2],
    decompressor: Decompressor,
    comparison: Comparison,
    absent: [Absent; 2],
    unexplained: [Absent; 2],
}

/// A log, and how far its current batch has been compared.
struct Cursor<'l> {
    log: &'l Log<'l>,
    walk: Walk<'l>,
    /// The records of the batch, once they were asked for.
    opened: Option<Opened>,
    /// Everything below was compared.
    low: Offset,
}

struct Opened {
    /// `None` when they cannot be read.
    marks: Option<Vec<Mark>>,
    at: usize,
}

impl Cursor<'_> {
    /// The batch, when nothing of it has been compared record by record.
    fn whole(&self) -> Option<&Held> {
        self.walk.held.as_ref().filter(|_| self.opened.is_none())
    }

    fn last_offset(&self) -> Option<Offset> {
        self.walk.held.as_ref().map(|held| held.header.last_offset())
    }

    fn advance(&mut self) {
        if let Some(last) = self.last_offset() {
            self.low = self.low.max(last.next());
        }
        self.opened = None;
        self.walk.advance();
    }

    /// The records up to `limit` that were not compared yet.
    fn take(&mut self, limit: Offset, decompressor: &mut Decompressor) -> Vec<Mark> {
        let Some(held) = self.walk.held.as_ref().filter(|held| held.low <= limit) else { return Vec::new() };
        let low = self.low;
        let opened =
            self.opened.get_or_insert_with(|| Opened { marks: marks::of(held, low, decompressor), at: 0 });
        let left = opened.marks.as_deref().unwrap_or_default().get(opened.at..).unwrap_or_default();
        let taken =
            left.get(..left.partition_point(|mark| mark.offset <= limit)).unwrap_or_default().to_vec();
        opened.at += taken.len();
        taken
    }

    /// Why there is no record at `offset`, which is not above the current batch.
    fn lacks(&self, offset: Offset) -> Reason {
        let Some(held) = &self.walk.held else { return Reason::None };
        let in_gap = offset < held.low;
        let undecoded = self.opened.as_ref().is_some_and(|opened| opened.marks.is_none());
        if in_gap && held.behind_damage || !in_gap && undecoded {
            return Reason::Unreadable;
        }
        let cleaned = self.log.cleaned_below.is_some_and(|below| offset < below);
        if cleaned || !in_gap && held.header.is_sparse() { Reason::Cleaned } else { Reason::None }
    }
}

/// Why a log lacks a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// The cleaner was there.
    Cleaned,
    /// Bytes cannot be read.
    Unreadable,
    /// Nothing explains it.
    None,
}

impl Merge<'_> {
    /// Compares up to the end of the batch that ends first; false when one log has ended.
    fn step(&mut self) -> bool {
        let [a, b] = &mut self.sides;
        let (Some(last_a), Some(last_b)) = (a.last_offset(), b.last_offset()) else { return false };
        if let (Some(batch_a), Some(batch_b)) = (a.whole(), b.whole())
            && batch_a.holds_the_same(batch_b)
        {
            let records = u64::from(batch_a.header.records_count.unwrap_or(1));
            if batch_a.header.partition_leader_epoch == batch_b.header.partition_leader_epoch {
                self.comparison.equal_batches += 1;
                // An empty batch proves nothing: the cleaner leaves it for the sequence alone.
                if records > 0 {
                    self.comparison.equal(last_a, records);
                    if !batch_a.header.is_control() {
                        let hidden = a.log.withheld_by(batch_a.header.base_offset).is_some();
                        let equal = &mut self.comparison.equal;
                        equal.records += records;
                        equal.withheld += if hidden { records } else { 0 };
                    }
                }
            } else {
                let (both, from) = ([Some(batch_a), Some(batch_b)], batch_a.low.max(a.low));
                self.comparison.differ_over(DifferenceKind::LeaderEpoch, (from, last_a), records, both);
            }
            a.advance();
            b.advance();
            return true;
        }
        let limit = last_a.min(last_b);
        let marks = [a.take(limit, &mut self.decompressor), b.take(limit, &mut self.decompressor)];
        self.records(&marks);
        for side in &mut self.sides {
            side.low = side.low.max(limit.next());
            if side.last_offset().is_some_and(|last| last <= limit) {
                side.advance();
            }
        }
        true
    }

    fn records(&mut self, marks: &[Vec<Mark>; 2]) {
        let [mut a, mut b] = marks.each_ref().map(|marks| marks.iter().peekable());
        loop {
            match (a.peek(), b.peek()) {
                (Some(one), Some(other)) if one.offset == other.offset => {
                    self.both(one, other);
                    a.next();
                    b.next();
                }
                (Some(one), other) if other.is_none_or(|other| one.offset < other.offset) => {
                    self.alone(Side::A, one);
                    a.next();
                }
                (_, Some(other)) => {
                    self.alone(Side::B, other);
                    b.next();
                }
                (Some(_) | None, None) => return,
            }
        }
    }

    fn both(&mut self, one: &Mark, other: &Mark) {
        let [a, b] = &self.sides;
        let (Some(held_a), Some(held_b)) = (&a.walk.held, &b.walk.held) else { return };
        let kind = if one.digest != other.digest || one.kind != other.kind {
            DifferenceKind::Records
        } else if writer(held_a, one.offset) != writer(held_b, other.offset) {
            DifferenceKind::Writer
        } else if held_a.header.partition_leader_epoch != held_b.header.partition_leader_epoch {
            DifferenceKind::LeaderEpoch
        } else if stamp(held_a) != stamp(held_b) {
            DifferenceKind::Time
        } else {
            return self.comparison.equal(one.offset, 1);
        };
        self.comparison.differ(kind, one.offset, [Some(held_a), Some(held_b)]);
    }

    /// `holder` has a record where the other log has none.
    fn alone(&mut self, holder: Side, mark: &Mark) {
        let [a, b] = &self.sides;
        let (own, lacking) = if holder == Side::A { (a, b) } else { (b, a) };
        let Some(held) = &own.walk.held else { return };
        let missing = self.comparison.missing.get_mut(holder.other().index());
        let aborted = match own.log.withheld_by(mark.offset) {
            Some(Outcome::Aborted) => true,
            Some(Outcome::Open) => lacking.log.aborts_without_data(held.header.producer_id, mark.offset),
            Some(Outcome::Committed) | None => false,
        };
        let reason = match lacking.lacks(mark.offset) {
            // Nothing but the cleaner takes what was aborted, and leaves what stands around it.
            Reason::None if aborted => Reason::Cleaned,
            reason => reason,
        };
        match (reason, missing) {
            (Reason::Unreadable, Some(missing)) => missing.unreadable += 1,
            (Reason::Cleaned, Some(missing)) => {
                missing.cleaned += 1;
                if let Some(absent) = self.absent.get_mut(holder.index()) {
                    absent.add(mark, held, || own.log.withheld_by(mark.offset));
                }
            }
            _ => {
                if let Some(unexplained) = self.unexplained.get_mut(holder.index()) {
                    unexplained.add(mark, held, || own.log.withheld_by(mark.offset));
                }
                let (kind, held) = match holder {
                    Side::A => (DifferenceKind::OnlyA, [Some(held), None]),
                    Side::B => (DifferenceKind::OnlyB, [None, Some(held)]),
                };
                self.comparison.differ(kind, mark.offset, held);
            }
        }
    }

    /// Walks to the end of the longer log.
    fn rest(&mut self) {
        let unread = self.sides.each_ref().map(|side| side.walk.damage_at_the_end());
        for (side, cursor) in [Side::A, Side::B].into_iter().zip(&mut self.sides) {
            // Replicas hold the same bytes: of these, so many may be what cannot be read.
            let mut unread = unread.get(side.other().index()).copied().unwrap_or(0);
            let Some(first) = cursor.walk.held.as_ref().map(|held| held.low.max(cursor.low)) else {
                continue;
            };
            let mut rest = Rest {
                side,
                first_offset: first,
                last_offset: first,
                records: 0,
                leader_epochs: None,
                writers: Writers::default(),
                unreadable: None,
            };
            while let Some(held) = &cursor.walk.held {
                let header = &held.header;
                // Of a batch that was compared in part the records are counted that are left.
                let count = match &cursor.opened {
                    Some(opened) => opened.marks.as_ref().map_or(0, |marks| marks.len() - opened.at),
                    None => usize::try_from(header.records_count.unwrap_or(1)).unwrap_or(usize::MAX),
                };
                if !header.is_control() {
                    rest.records += u64::try_from(count).unwrap_or(u64::MAX);
                }
                rest.last_offset = header.last_offset();
                if unread > 0 {
                    unread = unread.saturating_sub(u64::try_from(held.bytes.len()).unwrap_or(u64::MAX));
                    rest.unreadable = Some(Stretch { last_offset: rest.last_offset, records: rest.records });
                }
                Epochs::join(&mut rest.leader_epochs, header.partition_leader_epoch);
                rest.writers.add(header.producer_id);
                cursor.advance();
            }
            self.comparison.rest = Some(rest);
        }
        let [a, b] = &self.sides;
        self.comparison.ends_in_damage = [a.walk.ends_in_damage(), b.walk.ends_in_damage()];
    }
}

/// Producer id, epoch and sequence of a record; compaction keeps all three.
/// The time that the broker stamped on the records of a batch, where it did; consumers get that one.
fn stamp(held: &Held) -> Option<i64> {
    let stamped = held.header.timestamp_type() == TimestampType::LogAppendTime;
    stamped.then_some(held.header.max_timestamp)
}

fn writer(held: &Held, offset: Offset) -> (i64, Option<i16>, Option<i32>, bool) {
    let header = &held.header;
    let delta = offset.0.saturating_sub(header.base_offset.0);
    let sequence = header.base_sequence.map(|base| base.advance(u32::try_from(delta).unwrap_or(0)).get());
    let protected = header.producer_id.is_protected();
    (
        header.producer_id.0,
        header.producer_epoch.filter(|_| protected).map(|epoch| epoch.0),
        sequence.filter(|_| protected && !header.is_control()),
        header.is_transactional(),
    )
}
