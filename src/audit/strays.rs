//! Batches that may belong to another partition: those that do not go on where their producer was,
//! and the batches of the same producer, epoch and sequence elsewhere.
//!
//! Such batches are few, so the partitions in which their twins could be are walked over again only
//! when there are any. Source: KAFKA-19012, where a client's buffer went out under another request.

use super::groups::Wanted;
use super::pass::{PartitionOutcome, Subject};
use crate::candidates::Fingerprint;
use crate::error::AuditError;
use crate::facts::EpochSpan;
use crate::finding::GapReason;
use crate::format::{BatchHeader, SegmentItem};
use crate::input::ReadMode;
use crate::spill::Sorter;
use crate::units::{FilePosition, Offset, ProducerEpoch, ProducerId, Sequence};
use std::collections::{BTreeMap, BTreeSet};

/// More of them are no misplaced batches but another trouble, which the sequences tell.
const MAX_STRAYS: usize = 1_000;
/// Records of a batch that are compared; a larger one is compared by these.
const MAX_RECORDS: i32 = 10_000;

/// What the broker is shown of a batch.
type Writer = (ProducerId, Option<ProducerEpoch>, Sequence);

/// The records of batches that may be misplaced, and of their twins: into `wanted`.
///
/// # Errors
/// [`AuditError`] when what does not fit into memory cannot be written.
pub(super) fn wanted(
    subjects: &[Subject<'_>],
    outcomes: &[PartitionOutcome],
    led: &[usize],
    mode: ReadMode,
    wanted: &mut Sorter<Wanted>,
) -> Result<(), AuditError> {
    let strays = strays(subjects, outcomes, led);
    let mut of_writer: BTreeMap<_, Vec<(usize, Sequence)>> = BTreeMap::new();
    for (partition, (id, epoch, sequence)) in strays {
        of_writer.entry((id, epoch)).or_default().push((partition, sequence));
    }
    let mut targets: BTreeMap<usize, BTreeSet<Writer>> = BTreeMap::new();
    for &other in led.iter().filter(|_| !of_writer.is_empty()) {
        let spans = outcomes.get(other).into_iter().flat_map(|outcome| outcome.facts.epochs.iter());
        for span in spans {
            let Some(strays) = of_writer.get(&(span.producer_id, span.producer_epoch)) else { continue };
            for &(partition, sequence) in strays {
                if partition != other && may_hold(&span, sequence) {
                    let writer = (span.producer_id, span.producer_epoch, sequence);
                    targets.entry(other).or_default().insert(writer);
                    targets.entry(partition).or_default().insert(writer);
                }
            }
        }
    }
    for (partition, writers) in targets {
        if let Some(subject) = subjects.get(partition) {
            find(subject, partition, &writers, mode, wanted)?;
        }
    }
    Ok(())
}

/// Batches that the ledger could not put in their producer's line, and for which no innocent reason
/// is sure.
fn strays(subjects: &[Subject<'_>], outcomes: &[PartitionOutcome], led: &[usize]) -> Vec<(usize, Writer)> {
    let mut strays = Vec::new();
    for &at in led {
        let (Some(outcome), Some(subject)) = (outcomes.get(at), subjects.get(at)) else { continue };
        if subject.context.internal {
            continue;
        }
        for gap in &outcome.facts.gaps {
            let unsure = match gap.reason {
                GapReason::ExpiredProducerState
                | GapReason::LostProducerState
                | GapReason::FirstAppend
                | GapReason::Unexplained => true,
                GapReason::Retention
                | GapReason::LogStartMoved
                | GapReason::Compaction
                | GapReason::EpochChange
                | GapReason::MissingSegment
                | GapReason::Damage
                | GapReason::Other(_) => false,
            };
            if let (true, Some(found)) = (unsure, Sequence::new(gap.found)) {
                strays
                    .push((at, (ProducerId(gap.producer_id), gap.producer_epoch.map(ProducerEpoch), found)));
            }
        }
        for step in &outcome.facts.steps {
            if let Some(first) = step.first_sequence {
                strays.push((at, (step.producer_id, step.producer_epoch, first)));
            }
        }
    }
    strays.truncate(MAX_STRAYS);
    strays
}

/// Whether the producer wrote this sequence in an epoch, as far as its first and last tell.
fn may_hold(span: &EpochSpan, sequence: Sequence) -> bool {
    span.first_sequence
        .zip(span.last_sequence)
        .is_some_and(|(first, last)| first.distance_to(sequence) <= first.distance_to(last))
}

fn find(
    subject: &Subject<'_>,
    partition: usize,
    writers: &BTreeSet<Writer>,
    mode: ReadMode,
    wanted: &mut Sorter<Wanted>,
) -> Result<(), AuditError> {
    for segment in &subject.segments {
        let Ok(source) = segment.open(mode) else { continue };
        let mut scanner = segment.scanner(source, FilePosition(0), None);
        while let Ok(Some(item)) = scanner.next_item() {
            if let SegmentItem::Batch(batch) = item
                && is_by(&batch.header, writers)
            {
                let partition = u32::try_from(partition).unwrap_or(u32::MAX);
                let records = batch.header.last_offset_delta.min(MAX_RECORDS);
                for delta in 0..=i64::from(records) {
                    let offset = Offset(batch.header.base_offset.0.saturating_add(delta));
                    let identity = Fingerprint(0);
                    wanted.push(Wanted::of(partition, offset, identity))?;
                }
            }
        }
    }
    Ok(())
}

fn is_by(header: &BatchHeader, writers: &BTreeSet<Writer>) -> bool {
    let writer = header.base_sequence.map(|first| (header.producer_id, header.producer_epoch, first));
    writer.is_some_and(|writer| writers.contains(&writer))
}
