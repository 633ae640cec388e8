//! Batches of one segment file at offsets that a later file holds.
//!
//! Goes in: the batches of a file that stand at or above the offset at which a later one begins, and then the batches of
//! the later files. Comes out: which of the former stand there again, and which of their offsets hold something else.
//!
//! A leader rolls to a file and never writes to the one before again (`UnifiedLog.roll`). Equal batches in both are left of
//! copies that were taken at different moments, and so is a batch of which the cleaner had removed records in one of
//! them (`Cleaner.cleanInto`, `UnifiedLog.replaceSegments`): nothing is stored twice and nothing contradicts. Where the
//! batches differ, one offset has two contents.

use super::pass::PartitionOutcome;
use crate::format::{BatchHeader, Damage};
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};

/// Batches that are kept; what is told of more is the damage note alone.
const MAX_BATCHES: usize = 100_000;

/// Batches at offsets of a later file.
#[derive(Debug, Default)]
pub(super) struct Beyond {
    /// By base offset and segment.
    batches: BTreeMap<(Offset, usize), One>,
    /// Damage notes that tell of more batches than are kept.
    omitted: BTreeSet<usize>,
}

#[derive(Debug)]
struct One {
    header: BatchHeader,
    damage: Damage,
    /// The note in the outcome that tells of it.
    note: usize,
    fate: Fate,
}

/// What later files hold at the offsets of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Nothing,
    OtherBatch,
    SameBatch,
}

impl Beyond {
    /// Takes a batch of the segment, of which the damage note of this number tells.
    pub(super) fn add(&mut self, header: BatchHeader, segment: usize, damage: Damage, note: usize) {
        if self.batches.len() == MAX_BATCHES {
            self.omitted.insert(note);
            return;
        }
        let place = (header.base_offset, segment);
        self.batches.insert(place, One { header, damage, note, fate: Fate::Nothing });
    }

    /// Takes a batch that is read as a part of the log.
    pub(super) fn meet(&mut self, header: &BatchHeader, segment: usize) {
        if self.batches.is_empty() {
            return;
        }
        let up_to = (header.last_offset(), usize::MAX);
        // Those of one file stand one behind the other.
        let reaches = |one: &&mut One| one.header.last_offset() >= header.base_offset;
        let before = self.batches.range_mut(..=up_to).rev().filter(|((_, of), _)| *of < segment);
        for one in before.map(|(_, one)| one).take_while(reaches) {
            let fate = if is_same(&one.header, header) { Fate::SameBatch } else { Fate::OtherBatch };
            one.fate = one.fate.max(fate);
        }
    }

    /// Tells what came of them.
    pub(super) fn finish(self, outcome: &mut PartitionOutcome) {
        let mut whole: BTreeMap<usize, bool> = self.omitted.iter().map(|&note| (note, false)).collect();
        for ((_, segment), one) in self.batches {
            *whole.entry(one.note).or_insert(true) &= one.fate == Fate::SameBatch;
            if one.fate == Fate::OtherBatch {
                outcome.reused.push((segment, one.damage));
            }
        }
        for (note, _) in whole.into_iter().filter(|(_, whole)| *whole) {
            if let Some((_, damage)) = outcome.damage.get_mut(note) {
                damage.records_missing = false;
                damage.detail = format!("{}; a later file holds the same", damage.detail);
            }
        }
    }
}

/// Whether two batches are one, which the cleaner may have rewritten in either file.
fn is_same(one: &BatchHeader, other: &BatchHeader) -> bool {
    let writer = |header: &BatchHeader| (header.producer_id, header.producer_epoch, header.base_sequence);
    one.base_offset == other.base_offset
        && one.last_offset_delta == other.last_offset_delta
        && writer(one) == writer(other)
        && (one.crc == other.crc || is_of_cleaner(one) || is_of_cleaner(other))
}

/// Whether the cleaner wrote it: it has removed records, or noted when to remove a marker or a tombstone.
fn is_of_cleaner(header: &BatchHeader) -> bool {
    header.is_sparse() || header.delete_horizon().is_some()
}
