//! Finds logs that are copies of each other and no replicas: files that were copied.
//!
//! Each log is known by a few of its batches ([`crate::compare::Sketch`]); logs that share some are
//! compared batch by batch. What both hold from their beginning on is a copied stretch, where something
//! beside the batches says so ([`CopyMark`]).

use super::AuditOptions;
use super::compared::read_whole;
use super::copies::{self, SecondLook};
use super::groups::Wanted;
use super::logs::Room;
use super::pass::{PartitionOutcome, Subject};
use crate::candidates::Fingerprint;
use crate::compare::{self, Comparison};
use crate::error::AuditError;
use crate::finding::phrase::offsets;
use crate::input::{Inventory, PartitionDir};
use crate::relations::{self, Candidate, CopiedStretch, CopyMark, Relations};
use crate::report::model::Note;
use crate::units::Offset;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::{BTreeMap, BTreeSet};

/// Batches that two logs must share to be compared: four equal checksums at equal offsets are no
/// chance.
const SHARED: usize = 4;
/// Logs that may share one batch before it says nothing: somebody writes the same to many places.
const CROWD: usize = 8;
/// Pairs of logs that are compared.
const PAIRS: usize = 256;
/// Equal batches that say something where a topic id is missing.
const MANY: u64 = 8;
/// Offsets whose records are listed with their copies; the counts hold all.
const LISTED: i64 = 200_000;

/// Stretches that stand in two logs of `led`, in the order of the inventory, where files were copied;
/// and notes about those where nobody can tell.
pub(super) fn stretches(
    inventory: &Inventory,
    subjects: &[Subject<'_>],
    outcomes: &[PartitionOutcome],
    led: &[usize],
    options: &AuditOptions,
) -> (Vec<CopiedStretch>, Vec<Note>) {
    let pairs = alike(inventory, outcomes, led);
    let compared: Vec<(CopiedStretch, Option<CopyMark>)> = pairs
        .par_iter()
        .filter_map(|&(original, copy)| {
            let starts = |at: usize| subjects.get(at).map(|subject| subject.context.log_start_offset);
            let starts_at = starts(original).max(starts(copy));
            let log = |at: usize| {
                let mut log = read_whole(subjects.get(at)?, outcomes.get(at)?, options.limits)?;
                log.starts_at = starts_at;
                Some(log)
            };
            let stop = || options.watch.is_stopped();
            let comparison = compare::compare(&log(original)?, &log(copy)?, options.mode, &stop);
            if comparison.stopped_at.is_some() {
                return None;
            }
            let mark = mark(inventory.partitions.get(original)?, inventory.partitions.get(copy)?);
            Some((stretch(&comparison, original, copy, mark.unwrap_or(CopyMark::NoTopicId))?, mark))
        })
        .collect();
    let mut told: BTreeSet<[&str; 2]> = BTreeSet::new();
    let (mut copied, mut notes) = (Vec::new(), Vec::new());
    for (stretch, mark) in compared {
        let dir = |at: u32| usize::try_from(at).ok().and_then(|at| inventory.partitions.get(at));
        let Some((original, copy)) = dir(stretch.original).zip(dir(stretch.copy)) else { continue };
        match mark {
            Some(CopyMark::OneTopicId) => copied.push(stretch),
            Some(CopyMark::NoTopicId) if stretch.batches >= MANY => copied.push(stretch),
            _ if original.topic != copy.topic && told.insert([&original.topic, &copy.topic]) => {
                notes.push(Note {
                    file: Some(copy.display.clone()),
                    detail: doubt(&stretch, &original.display),
                });
            }
            _ => {}
        }
    }
    (copied, notes)
}

/// What beside equal batches says that one of the two was copied from the other.
fn mark(original: &PartitionDir, copy: &PartitionDir) -> Option<CopyMark> {
    if original.topic == copy.topic {
        return None;
    }
    match (&original.topic_id, &copy.topic_id) {
        (Some(one), Some(other)) if one == other => Some(CopyMark::OneTopicId),
        (Some(_), Some(_)) | (None, None) => None,
        (Some(_), None) | (None, Some(_)) => Some(CopyMark::NoTopicId),
    }
}

fn doubt(stretch: &CopiedStretch, original: &str) -> String {
    format!(
        "holds the same {} batches as {original} at {}: written to both by one application, or copied as \
         files, which equal batches cannot tell; not counted as copies",
        stretch.batches,
        offsets(stretch.first_offset.0, stretch.last_offset.0)
    )
}

/// Pairs of logs that share batches.
fn alike(inventory: &Inventory, outcomes: &[PartitionOutcome], led: &[usize]) -> Vec<(usize, usize)> {
    let mut holders: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for &at in led {
        let Some((dir, outcome)) = inventory.partitions.get(at).zip(outcomes.get(at)) else { continue };
        if dir.internal || !dir.state.is_live() {
            continue;
        }
        for hash in outcome.sketch.hashes() {
            holders.entry(hash).or_default().push(at);
        }
    }
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for holders in holders.values().filter(|holders| holders.len() <= CROWD) {
        for (at, &one) in holders.iter().enumerate() {
            for &other in holders.get(at + 1..).unwrap_or_default() {
                *shared.entry((one.min(other), one.max(other))).or_default() += 1;
            }
        }
    }
    shared.into_iter().filter(|(_, shared)| *shared >= SHARED).map(|(pair, _)| pair).take(PAIRS).collect()
}

fn stretch(comparison: &Comparison, original: usize, copy: usize, mark: CopyMark) -> Option<CopiedStretch> {
    let last = comparison.last_equal?;
    let number = |at: usize| u32::try_from(at).ok();
    // Equal stretches behind a difference are no copied files but writers that write alike.
    if comparison.first_difference.is_some_and(|first| first <= last) {
        return None;
    }
    Some(CopiedStretch {
        original: number(original)?,
        copy: number(copy)?,
        first_offset: comparison.from,
        last_offset: last,
        batches: comparison.equal_batches,
        records: comparison.equal.records,
        hidden_records: comparison.equal.withheld,
        unlisted: 0,
        mark,
    })
}

/// Puts the stretches into the relations, with their copies: repeats are looked for within a topic
/// only, and these lie in two.
///
/// # Errors
/// [`AuditError`] when what does not fit into memory cannot be written or read.
pub(super) fn relate(
    relations: &mut Relations,
    mut stretches: Vec<CopiedStretch>,
    look: &SecondLook<'_>,
    room: &Room,
) -> Result<(), AuditError> {
    let surplus = surplus(relations, &stretches);
    let mut left = LISTED;
    for stretch in &mut stretches {
        let last = stretch.last_offset.min(stretch.first_offset.plus(left).plus(-1));
        left = left.saturating_sub(last.0.saturating_sub(stretch.first_offset.0).saturating_add(1)).max(0);
        let mut wanted = room.wanted();
        for partition in [stretch.original, stretch.copy] {
            for offset in (stretch.first_offset.0..=last.0).map(Offset) {
                wanted.push(Wanted::of(partition, offset, Fingerprint(0)))?;
            }
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        copies::fetch(look, wanted.finish()?, |candidate| {
            candidates.push(candidate);
            Ok(())
        })?;
        if last < stretch.last_offset {
            let listed = candidates.iter().filter(|one| one.copy.partition == stretch.copy).count();
            stretch.unlisted = stretch.records.saturating_sub(u64::try_from(listed).unwrap_or(u64::MAX));
        }
        let is_known = |place: &(u32, Offset)| surplus.contains(place);
        let share = room.relations();
        relations.groups.append(relations::group_copied(
            &relations.partitions,
            stretch,
            &share,
            &candidates,
            is_known,
        )?);
    }
    relations.copied = stretches;
    Ok(())
}

/// The records of the copies that repeat another record already.
fn surplus(relations: &Relations, stretches: &[CopiedStretch]) -> BTreeSet<(u32, Offset)> {
    let copies: BTreeSet<u32> = stretches.iter().map(|stretch| stretch.copy).collect();
    if copies.is_empty() {
        return BTreeSet::new();
    }
    let later = relations.groups.pairs().map(|pair| pair.later);
    later.filter(|copy| copies.contains(&copy.partition)).map(|copy| (copy.partition, copy.offset)).collect()
}
