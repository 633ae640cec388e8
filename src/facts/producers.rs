//! What each producer wrote to one partition, and how its batches follow each other.
//!
//! Goes in: the data batches and markers of producers with an id, in offset order. Comes out: one
//! [`EpochSpan`] a producer and epoch, the gaps and the steps that no healthy leader would take.
//! State is kept per producer; the exact ranges of a sequence only for its newest epoch.
//!
//! Source: `ProducerStateManager`, `ProducerAppendInfo`; KIP-98, KIP-360, KIP-890.

use super::continuity::{Continuity, Tally};
use super::gaps::{Before, GapBook, PendingGap};
use super::protection::earliest;
use super::sequence::{SequenceTrack, Transition};
use super::{EpochSpan, PartitionContext, SequenceStep, SnapshotEntry, StepKind};
use crate::format::BatchHeader;
use crate::units::{Offset, ProducerEpoch, ProducerId, Sequence};
use std::collections::{BTreeMap, HashMap};

/// `producer.id.expiration.ms` where nothing tells it (KIP-854).
pub const DEFAULT_EXPIRATION_MS: i64 = 86_400_000;
/// Steps that are kept one by one.
const MAX_STEPS: usize = 1_000;

/// The last data batch of a producer, as a broker remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LastBatch {
    pub(super) last_sequence: Option<Sequence>,
    pub(super) last_offset: Offset,
}

/// What a broker would know of one producer at the present offset.
#[derive(Debug, Default)]
pub(super) struct ProducerState {
    /// The epoch of its last batch or marker.
    pub(super) epoch: Option<ProducerEpoch>,
    /// Its last batch, whatever the epoch.
    pub(super) last_batch: Option<LastBatch>,
    /// The epoch of that batch.
    batch_epoch: Option<ProducerEpoch>,
    /// The offset of its last marker.
    pub(super) last_marker: Option<Offset>,
    /// The highest epoch of a marker.
    marker_epoch: Option<ProducerEpoch>,
    /// The time that counts for expiry; `None` when the client gave none.
    pub(super) last_timestamp: Option<i64>,
    /// The sequences of its newest epoch.
    track: Option<SequenceTrack>,
    /// Offsets that were missing when it last wrote.
    holes: Tally,
    /// Whether its last batch lies below the log start.
    below_log_start: bool,
    /// The epoch and last sequence with which the files begin, from the snapshot there.
    remembered: Option<(ProducerEpoch, Sequence)>,
}

impl ProducerState {
    /// Whether its last batch is of this epoch, and no marker began a newer one since.
    pub(super) fn has_data_in(&self, epoch: Option<ProducerEpoch>) -> bool {
        self.last_batch.is_some() && self.batch_epoch == epoch && self.marker_epoch <= epoch
    }
}

/// All producers of one partition.
#[derive(Debug, Default)]
pub(super) struct Producers {
    pub(super) states: BTreeMap<ProducerId, ProducerState>,
    spans: Vec<EpochSpan>,
    span_of: HashMap<(ProducerId, Option<ProducerEpoch>), usize>,
    pub(super) gaps: GapBook,
    steps: Vec<SequenceStep>,
    steps_omitted: u64,
    newest_timestamp: Option<i64>,
}

impl Producers {
    /// A data batch with a producer id, whose offsets `continuity` has already taken.
    pub(super) fn data(&mut self, context: &PartitionContext, continuity: &Continuity, header: &BatchHeader) {
        let time = (header.max_timestamp != -1).then_some(header.max_timestamp);
        self.newest_timestamp = self.newest_timestamp.max(time);
        self.widen_span(header, time);
        let newest = self.newest_timestamp;
        let state = self.states.entry(header.producer_id).or_default();
        if !context.internal {
            let before = Known::of(state, context, newest);
            let transition = follow(state, header);
            if before.restarts(header) && matches!(transition, Transition::Overlap | Transition::StepBack) {
                // What follows is held against the new beginning, not against what was deleted.
                state.track = header
                    .base_sequence
                    .zip(header.last_sequence())
                    .map(|(first, last)| SequenceTrack::begin(first, last));
            }
            if let Some(gap) = gap_of(transition, header, &before, continuity.tally()) {
                self.gaps.push(context, gap, continuity.cleaned_below(context));
            }
            if let Some(kind) = step_of(transition, header, &before) {
                if self.steps.len() < MAX_STEPS {
                    self.steps.push(SequenceStep {
                        kind,
                        producer_id: header.producer_id,
                        producer_epoch: header.producer_epoch,
                        previous_epoch: before.epoch,
                        at_offset: header.base_offset,
                        first_sequence: header.base_sequence,
                        last_sequence: header.last_sequence(),
                        previous_offset: before.last_batch.map(|batch| batch.last_offset),
                        previous_sequence: before.last_batch.and_then(|batch| batch.last_sequence),
                        timestamp: time,
                    });
                } else {
                    self.steps_omitted = self.steps_omitted.saturating_add(1);
                }
            }
        }
        state.epoch = header.producer_epoch;
        state.batch_epoch = header.producer_epoch;
        state.last_batch =
            Some(LastBatch { last_sequence: header.last_sequence(), last_offset: header.last_offset() });
        state.last_timestamp = time;
        state.holes = continuity.tally();
        state.below_log_start = header.last_offset() < context.log_start_offset;
    }

    /// A marker of a producer.
    pub(super) fn marker(&mut self, header: &BatchHeader) {
        let state = self.states.entry(header.producer_id).or_default();
        state.epoch = header.producer_epoch.or(state.epoch);
        state.marker_epoch = state.marker_epoch.max(header.producer_epoch);
        state.last_marker = Some(header.base_offset);
        state.last_timestamp =
            (header.max_timestamp != -1).then_some(header.max_timestamp).max(state.last_timestamp);
    }

    /// What a snapshot knows of a producer where the files begin.
    pub(super) fn remember(&mut self, entry: &SnapshotEntry) {
        let state = self.states.entry(entry.producer_id).or_default();
        state.remembered = entry.producer_epoch.zip(entry.last_sequence);
    }

    /// The spans in order of their first offset, the steps, and how many steps were not kept.
    pub(super) fn finish(self) -> (Vec<EpochSpan>, GapBook, Vec<SequenceStep>, u64) {
        (self.spans, self.gaps, self.steps, self.steps_omitted)
    }

    fn widen_span(&mut self, header: &BatchHeader, time: Option<i64>) {
        let records = u64::from(header.records_count.unwrap_or(0));
        let first_time = header.first_timestamp().map(|time| time.0);
        let key = (header.producer_id, header.producer_epoch);
        if let Some(span) = self.span_of.get(&key).and_then(|&at| self.spans.get_mut(at)) {
            span.transactional |= header.is_transactional();
            span.last_offset = header.last_offset();
            span.last_sequence = header.last_sequence();
            span.batches = span.batches.saturating_add(1);
            span.records = span.records.saturating_add(records);
            span.first_timestamp = earliest(span.first_timestamp, first_time);
            span.last_timestamp = span.last_timestamp.max(time);
        } else {
            self.span_of.insert(key, self.spans.len());
            self.spans.push(EpochSpan {
                producer_id: header.producer_id,
                producer_epoch: header.producer_epoch,
                transactional: header.is_transactional(),
                first_offset: header.base_offset,
                last_offset: header.last_offset(),
                first_sequence: header.base_sequence,
                last_sequence: header.last_sequence(),
                batches: 1,
                records,
                first_timestamp: first_time,
                last_timestamp: time,
            });
        }
    }
}

/// What was known of a producer before a batch.
#[derive(Clone, Copy)]
struct Known {
    epoch: Option<ProducerEpoch>,
    marker_epoch: Option<ProducerEpoch>,
    last_batch: Option<LastBatch>,
    holes: Tally,
    before: Before,
    below_log_start: bool,
    remembered: Option<(ProducerEpoch, Sequence)>,
}

impl Known {
    fn of(state: &ProducerState, context: &PartitionContext, newest: Option<i64>) -> Self {
        let limit = context.expiration_ms.unwrap_or(DEFAULT_EXPIRATION_MS);
        let before = match (state.last_batch, state.last_timestamp, newest) {
            (None, ..) => Before::Nothing,
            (Some(_), Some(last), Some(newest)) if newest.saturating_sub(last) < limit => Before::Recent,
            // A time of −1 is older than any limit.
            (Some(_), ..) => Before::Forgotten,
        };
        Self {
            epoch: state.batch_epoch,
            marker_epoch: state.marker_epoch,
            last_batch: state.last_batch,
            holes: state.holes,
            before,
            below_log_start: state.below_log_start,
            remembered: state.remembered,
        }
    }
}

impl Known {
    /// The first sequence that is missing behind what the snapshot remembers, and how many are.
    fn left_out_since_head(&self, header: &BatchHeader) -> Option<(Sequence, u32)> {
        let (epoch, last) = self.remembered?;
        let expected = last.advance(1);
        let missing = expected.distance_to(header.base_sequence?);
        let forward = missing > 0 && missing < 1 << 30;
        (header.producer_epoch == Some(epoch) && forward).then_some((expected, missing))
    }

    /// Whether a client before 2.5 begins again at 0 because its records were deleted behind its
    /// back (KAFKA-7190).
    fn restarts(&self, header: &BatchHeader) -> bool {
        header.base_sequence == Some(Sequence::FIRST) && self.below_log_start
    }
}

/// Takes the batch into the state of its producer and says how it follows.
fn follow(state: &mut ProducerState, header: &BatchHeader) -> Transition {
    let (Some(epoch), Some(first), Some(last)) =
        (header.producer_epoch, header.base_sequence, header.last_sequence())
    else {
        return Transition::Unchecked;
    };
    let begins_at_zero = first == Sequence::FIRST;
    match (state.batch_epoch, state.track.as_mut()) {
        (Some(known), Some(track)) if known == epoch => track.take(first, last),
        (Some(known), _) if epoch < known => Transition::EpochDown,
        (known, _) => {
            state.track = Some(SequenceTrack::begin(first, last));
            match (known.is_some() && state.last_batch.is_some(), begins_at_zero) {
                (true, true) => Transition::EpochUp,
                (true, false) => Transition::EpochUpMidStream,
                (false, true) => Transition::NewProducer,
                (false, false) => Transition::NewProducerMidStream,
            }
        }
    }
}

fn gap_of(transition: Transition, header: &BatchHeader, before: &Known, holes: Tally) -> Option<PendingGap> {
    let found = header.base_sequence?;
    let mut known = before.before;
    let (expected, missing) = match transition {
        Transition::Gap { expected, missing } => (expected, missing),
        // The snapshot where the files begin says how far the removed head had come.
        Transition::NewProducerMidStream if before.left_out_since_head(header).is_some() => {
            known = Before::Recent;
            before.left_out_since_head(header)?
        }
        Transition::NewProducerMidStream | Transition::EpochUpMidStream => {
            (Sequence::FIRST, Sequence::FIRST.distance_to(found))
        }
        Transition::NewProducer
        | Transition::EpochUp
        | Transition::EpochDown
        | Transition::Next
        | Transition::ExactRepeat
        | Transition::CoveredRepeat
        | Transition::Overlap
        | Transition::StepBack
        | Transition::Unchecked => return None,
    };
    Some(PendingGap {
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        expected,
        found,
        at_offset: header.base_offset,
        missing,
        behind: before.last_batch.map_or(Offset(0), |batch| batch.last_offset.next()),
        holes: holes.since(before.holes),
        before: known,
    })
}

fn step_of(transition: Transition, header: &BatchHeader, before: &Known) -> Option<StepKind> {
    if before.marker_epoch.is_some() && header.producer_epoch < before.marker_epoch {
        return Some(StepKind::WriteBehindMarker);
    }
    match transition {
        Transition::EpochDown => Some(StepKind::EpochDown),
        Transition::ExactRepeat | Transition::CoveredRepeat => Some(StepKind::Repeat),
        Transition::Overlap | Transition::StepBack if before.restarts(header) => {
            Some(StepKind::RestartBehindDeletion)
        }
        Transition::Overlap => Some(StepKind::Overlap),
        Transition::StepBack => Some(StepKind::StepBack),
        Transition::NewProducer
        | Transition::NewProducerMidStream
        | Transition::EpochUp
        | Transition::EpochUpMidStream
        | Transition::Next
        | Transition::Gap { .. }
        | Transition::Unchecked => None,
    }
}
