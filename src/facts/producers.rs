//! What each producer wrote to one partition, and how its batches follow each other.
//!
//! Goes in: the data batches and markers of producers with an id, in offset order. Comes out: one
//! [`super::EpochSpan`] a producer and epoch, the gaps and the steps that no healthy leader would take.
//! State is kept per producer; the exact ranges of a sequence only for its newest epoch.
//!
//! Source: `ProducerStateManager`, `ProducerAppendInfo`; KIP-98, KIP-360, KIP-890.

use super::continuity::{Continuity, Tally};
use super::epochs::{Epochs, LiveEpochs};
use super::gaps::{Before, GapBook, PendingGap};
use super::sequence::{Left, Place, SequenceTrack, Transition};
use super::{
    EpochEnds, NewestBatches, Outcome, PartitionContext, SequenceStep, SnapshotEntry, StepKind,
    TransactionSpan,
};
use crate::error::AuditError;
use crate::format::BatchHeader;
use crate::spill::{Element, RunReader, Share, Table};
use crate::units::{Offset, ProducerEpoch, ProducerId, Sequence};
use std::cmp::Ordering;
use std::io;

/// `producer.id.expiration.ms` where nothing tells it (KIP-854).
pub const DEFAULT_EXPIRATION_MS: i64 = 86_400_000;
/// Steps that are kept one by one.
const MAX_STEPS: usize = 1_000;
/// Batches before a repeat or a newer epoch: a broker remembers five (`ProducerStateEntry`).
const NEWEST: usize = 10;

/// The last data batch of a producer, as a broker remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LastBatch {
    pub(super) last_sequence: Option<Sequence>,
    pub(super) last_offset: Offset,
}

/// The state with which the files begin.
#[derive(Clone, Copy, Debug)]
struct Remembered {
    epoch: ProducerEpoch,
    /// Its last batch in this epoch; `None` where a marker began it.
    batch: Option<RememberedBatch>,
    timestamp: i64,
}

#[derive(Clone, Copy, Debug)]
struct RememberedBatch {
    first: Sequence,
    last: Sequence,
    last_offset: Offset,
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
    /// That of the last one that ended a transaction, or that the cleaner emptied: it may have.
    closed_at: Option<Offset>,
    /// The coordinator's epoch in that marker; `None` where it cannot be read, or the cleaner emptied a later one.
    pub(super) coordinator_epoch: Option<i32>,
    /// The highest epoch of a marker.
    marker_epoch: Option<ProducerEpoch>,
    /// The time that counts for expiry; `None` when the client gave none.
    pub(super) last_timestamp: Option<i64>,
    /// That of its last batch, which alone counted before 2.5 (KAFKA-9144).
    batch_timestamp: Option<i64>,
    /// The sequences of its highest epoch.
    track: Option<SequenceTrack>,
    track_epoch: Option<ProducerEpoch>,
    /// Offsets that were missing when it last wrote.
    holes: Tally,
    /// Its newest marker: epoch, offset, and the offsets that were missing then.
    marked: Option<(Option<ProducerEpoch>, Offset, Tally)>,
    /// Whether its last batch lies below the log start.
    below_log_start: bool,
    /// What the snapshot at the first file says.
    remembered: Option<Remembered>,
    /// Its newest epochs.
    live: LiveEpochs,
}

impl ProducerState {
    /// Whether its last batch is of this epoch, and no marker began a newer one since.
    pub(super) fn has_data_in(&self, epoch: Option<ProducerEpoch>) -> bool {
        self.last_batch.is_some() && self.batch_epoch == epoch && self.marker_epoch <= epoch
    }

    /// Its last marker and the coordinator's epoch in it, where no later one can be missing.
    pub(super) fn coordinator(&self, now: Tally) -> Option<(Offset, i32)> {
        let &(_, at, then) = self.marked.as_ref()?;
        (now.since(then) == Tally::default()).then_some((at, self.coordinator_epoch?))
    }

    /// Whether a broker may hold an entry without its last batch: a marker that ended nothing makes one where the producer
    /// had been forgotten, by time (in a `producer.id.expiration.ms` that the files need not show), with a lost state, or
    /// up to 2.4 with the records that were deleted (KAFKA-7190).
    pub(super) fn may_have_lost_its_batch(&self, now: Tally) -> bool {
        let last = self.last_batch.map(|batch| batch.last_offset);
        let behind = self.last_marker.max(self.closed_at).filter(|&marker| Some(marker) > last);
        let ended_it = behind == self.closed_at && behind == self.last_marker;
        let then = self.marked.filter(|&(_, at, _)| Some(at) > last).map_or(self.holes, |(.., then)| then);
        self.below_log_start || (behind.is_some() && !ended_it) || now.since(then) != Tally::default()
    }

    /// Up to where an open transaction kept it from expiring, when `from` is where its last batch ends.
    pub(super) fn kept_until(&self, from: Offset) -> Offset {
        self.closed_at.map_or(from, |closed| closed.max(from))
    }

    /// The earliest time by which a broker of any release may have expired it.
    pub(super) fn expires_by(&self) -> Option<i64> {
        Some(self.batch_timestamp?.min(self.last_timestamp?))
    }
}

impl Element for ProducerState {
    fn memory(&self) -> usize {
        let track = self.track.as_ref().map_or(0, |track| track.memory() - size_of::<SequenceTrack>());
        size_of::<Self>() + track + self.live.memory() - size_of::<LiveEpochs>()
    }

    fn put(&self, out: &mut Vec<u8>) {
        let epoch = |epoch: Option<ProducerEpoch>| epoch.map(|epoch| i64::from(epoch.0));
        let sequence = |sequence: Sequence| i64::from(sequence.get());
        let (marked, remembered) = (self.marked.as_ref(), self.remembered.as_ref());
        let batch = remembered.and_then(|known| known.batch);
        [
            epoch(self.epoch),
            self.last_batch.map(|last| last.last_offset.0),
            self.last_batch.and_then(|last| last.last_sequence).map(sequence),
            epoch(self.batch_epoch),
            self.last_marker.map(|offset| offset.0),
            epoch(self.marker_epoch),
            self.last_timestamp,
            self.batch_timestamp,
            epoch(self.track_epoch),
            marked.map(|(_, at, _)| at.0),
            marked.and_then(|&(marker, ..)| epoch(marker)),
            self.below_log_start.then_some(1),
            remembered.map(|known| i64::from(known.epoch.0)),
            batch.map(|batch| sequence(batch.first)),
            batch.map(|batch| sequence(batch.last)),
            batch.map(|batch| batch.last_offset.0),
            remembered.map(|known| known.timestamp),
            self.track.as_ref().map(|_| 1),
            self.coordinator_epoch.map(i64::from),
            self.closed_at.map(|offset| offset.0),
        ]
        .put(out);
        self.holes.put(out);
        self.live.put(out);
        if let Some((.., tally)) = marked {
            tally.put(out);
        }
        if let Some(track) = &self.track {
            track.put(out);
        }
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let epoch = |number: Option<i64>| number.and_then(|n| i16::try_from(n).ok()).map(ProducerEpoch);
        let sequence = |number: Option<i64>| Sequence::new(i32::try_from(number?).ok()?);
        let [
            newest,
            last_offset,
            last_sequence,
            batch_epoch,
            last_marker,
            marker_epoch,
            last_timestamp,
            batch_timestamp,
            track_epoch,
            ended_at,
            ended_epoch,
            below_log_start,
            remembered_epoch,
            remembered_first,
            remembered_last,
            remembered_offset,
            remembered_time,
            track,
            coordinator_epoch,
            closed_at,
        ] = <[Option<i64>; 20]>::take(from)?;
        let last_batch = last_offset
            .map(|offset| LastBatch { last_sequence: sequence(last_sequence), last_offset: Offset(offset) });
        let batch = sequence(remembered_first).zip(sequence(remembered_last)).zip(remembered_offset);
        let batch = batch.map(|((first, last), last_offset)| RememberedBatch {
            first,
            last,
            last_offset: Offset(last_offset),
        });
        Ok(Self {
            epoch: epoch(newest),
            last_batch,
            batch_epoch: epoch(batch_epoch),
            last_marker: last_marker.map(Offset),
            closed_at: closed_at.map(Offset),
            coordinator_epoch: coordinator_epoch.and_then(|epoch| i32::try_from(epoch).ok()),
            marker_epoch: epoch(marker_epoch),
            last_timestamp,
            batch_timestamp,
            track_epoch: epoch(track_epoch),
            below_log_start: below_log_start.is_some(),
            remembered: epoch(remembered_epoch).zip(remembered_time).map(|(epoch, timestamp)| Remembered {
                epoch,
                batch,
                timestamp,
            }),
            holes: Tally::take(from)?,
            live: LiveEpochs::take(from)?,
            marked: ended_at
                .map(|at| Ok::<_, io::Error>((epoch(ended_epoch), Offset(at), Tally::take(from)?)))
                .transpose()?,
            track: track.map(|_| <SequenceTrack as Element>::take(from)).transpose()?,
        })
    }
}

impl Element for ProducerId {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        Ok(Self(i64::from_le_bytes(from.array()?)))
    }
}

/// What the transactions of a partition hold of a producer when it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    OpenTransaction,
}

/// All producers of one partition: what does not fit into memory of those that are long silent is in
/// temporary files.
#[derive(Debug)]
pub(super) struct Producers {
    states: Table<ProducerId, ProducerState>,
    epochs: Epochs,
    pub(super) gaps: GapBook,
    steps: Vec<SequenceStep>,
    steps_omitted: u64,
    newest_batches: Vec<NewestBatches>,
    newest_timestamp: Option<i64>,
    /// The first thing that could not be read.
    failed: Option<AuditError>,
}

impl Producers {
    /// None yet; states may hold `share`.
    pub(super) fn new(share: &Share) -> Self {
        Self {
            states: Table::new(share.clone()),
            epochs: Epochs::default(),
            gaps: GapBook::default(),
            steps: Vec::new(),
            steps_omitted: 0,
            newest_batches: Vec::new(),
            newest_timestamp: None,
            failed: None,
        }
    }

    /// What is known of a producer, where anything is.
    pub(super) fn state(&mut self, producer_id: ProducerId) -> Option<&ProducerState> {
        self.states.get(&producer_id).map(|state| &*state)
    }

    /// What is known of all producers, by id.
    pub(super) fn each_state(&mut self, mut each: impl FnMut(ProducerId, &ProducerState)) {
        let read = self.states.each(|&id, state| {
            each(id, state);
            Ok(())
        });
        if let Err(error) = read {
            self.failed.get_or_insert(error);
        }
    }

    /// The time of any batch: what a broker expires by has come at least as far.
    pub(super) fn clock(&mut self, time: Option<i64>) {
        self.newest_timestamp = self.newest_timestamp.max(time);
    }

    /// A data batch with a producer id, whose offsets `continuity` has already taken.
    pub(super) fn data(
        &mut self,
        context: &PartitionContext,
        continuity: &Continuity,
        header: &BatchHeader,
        beside: Beside,
    ) {
        let time = (header.max_timestamp != -1).then_some(header.max_timestamp);
        let newest = self.newest_timestamp;
        let state = self.states.entry(&header.producer_id);
        state.live.batch(&mut self.epochs, header, time);
        if !context.internal {
            let mut before = Known::of(state, context, newest);
            let repeated = state
                .track
                .as_ref()
                .and_then(|track| track.place_of(header.base_sequence?, header.last_sequence()?));
            before.cannot_be_compared = repeated.is_some_and(|place| {
                place.offset < context.log_start_offset
                    || place.left == Left::Some
                    || header.records_count == Some(0)
            });
            let bumps = state.track_epoch < header.producer_epoch && !header.is_transactional();
            let before_bump: Vec<Offset> =
                state.track.iter().filter(|_| bumps).flat_map(|track| track.newest().take(NEWEST)).collect();
            // What had expired since, a broker no longer holds against anything.
            let at_head =
                if before.at_head == Before::Recent { against_snapshot(state, header) } else { None };
            before.below_log_start |= at_head.is_some();
            before.repeats_snapshot = at_head == Some(Transition::ExactRepeat)
                || repeated.is_some_and(|place| Some(place.offset) < context.segment_bases.first().copied());
            let transition = at_head.unwrap_or_else(|| follow(state, header));
            let batches = match transition {
                Transition::ExactRepeat => {
                    state.track.iter().flat_map(|track| track.newest().skip(1).take(NEWEST)).collect()
                }
                _ => before_bump,
            };
            let in_files = |at: &Offset| Some(*at) >= context.segment_bases.first().copied();
            let batches: Vec<Offset> = batches.into_iter().filter(in_files).collect();
            if !batches.is_empty() && self.newest_batches.len() < MAX_STEPS {
                let (producer_id, at_offset) = (header.producer_id, header.base_offset);
                self.newest_batches.push(NewestBatches { producer_id, at_offset, batches });
            }
            if before.restarts(header) && matches!(transition, Transition::Overlap | Transition::StepBack) {
                // What follows is held against the new beginning, not against what was deleted.
                state.track = header
                    .base_sequence
                    .zip(header.last_sequence())
                    .zip(state.track.as_ref())
                    .map(|((first, last), track)| track.begin_again(first, last, place_of(header)));
            }
            if let Some(gap) = gap_of(transition, header, &before, continuity.tally()) {
                self.gaps.push(context, gap, continuity.cleaned_below(context));
            }
            // The marker may have stood where offsets are missing.
            let outside = beside == Beside::OpenTransaction
                && !header.is_transactional()
                && before.holes == continuity.tally();
            let outside = outside.then_some(StepKind::OutsideTransaction);
            if let Some(kind) = step_of(transition, header, &before).or(outside) {
                let (previous_epoch, previous) = before.previous();
                self.step(SequenceStep {
                    kind,
                    producer_id: header.producer_id,
                    producer_epoch: header.producer_epoch,
                    previous_epoch,
                    at_offset: header.base_offset,
                    first_sequence: header.base_sequence,
                    last_sequence: header.last_sequence(),
                    previous_offset: previous.map(|batch| batch.last_offset),
                    previous_sequence: previous.and_then(|batch| batch.last_sequence),
                    timestamp: time,
                });
            }
        }
        let state = self.states.entry(&header.producer_id);
        state.epoch = header.producer_epoch;
        state.batch_epoch = header.producer_epoch;
        state.last_batch =
            Some(LastBatch { last_sequence: header.last_sequence(), last_offset: header.last_offset() });
        state.last_timestamp = time;
        state.batch_timestamp = time;
        state.holes = continuity.tally();
        state.below_log_start = header.last_offset() < context.log_start_offset;
    }

    fn step(&mut self, step: SequenceStep) {
        if self.steps.len() < MAX_STEPS {
            self.steps.push(step);
        } else {
            self.steps_omitted = self.steps_omitted.saturating_add(1);
        }
    }

    /// The cleaner emptied a marker of a producer: nobody knows what its coordinator was.
    pub(super) fn emptied_marker(&mut self, header: &BatchHeader) {
        let state = self.states.entry(&header.producer_id);
        state.coordinator_epoch = None;
        state.closed_at = Some(header.base_offset);
    }

    /// A marker of a producer, with the epoch of its coordinator.
    pub(super) fn marker(
        &mut self,
        context: &PartitionContext,
        continuity: &Continuity,
        header: &BatchHeader,
        coordinator: Option<i32>,
        beside: Beside,
    ) {
        let newest = self.newest_timestamp;
        let state = self.states.entry(&header.producer_id);
        let before = Known::of(state, context, newest);
        let known = state.epoch.or(before.remembered.map(|remembered| remembered.epoch));
        // An open transaction keeps its producer from being forgotten.
        let age = if state.epoch.is_some() { before.age } else { before.at_head };
        let is_known = beside == Beside::OpenTransaction || age == Before::Recent;
        let goes_down = is_known && header.producer_epoch.is_some() && header.producer_epoch < known;
        let previous_offset = state.last_marker.max(before.previous().1.map(|batch| batch.last_offset));
        state.coordinator_epoch = coordinator;
        state.epoch = header.producer_epoch.or(state.epoch);
        state.marker_epoch = state.marker_epoch.max(header.producer_epoch);
        state.last_marker = Some(header.base_offset);
        if beside == Beside::OpenTransaction {
            state.closed_at = state.last_marker;
        }
        state.marked = Some((header.producer_epoch, header.base_offset, continuity.tally()));
        let time = (header.max_timestamp != -1).then_some(header.max_timestamp);
        state.last_timestamp = time.max(state.last_timestamp);
        if goes_down && !context.internal {
            self.step(SequenceStep {
                kind: StepKind::MarkerDown,
                producer_id: header.producer_id,
                producer_epoch: header.producer_epoch,
                previous_epoch: known,
                at_offset: header.base_offset,
                first_sequence: None,
                last_sequence: None,
                previous_offset,
                previous_sequence: None,
                timestamp: time,
            });
        }
    }

    /// What a snapshot knows of a producer where the files begin.
    pub(super) fn remember(&mut self, entry: &SnapshotEntry) {
        let state = self.states.entry(&entry.producer_id);
        let batch = entry.first_sequence().zip(entry.last_sequence).zip(entry.last_offset);
        let batch = batch.map(|((first, last), last_offset)| RememberedBatch { first, last, last_offset });
        state.remembered =
            entry.producer_epoch.map(|epoch| Remembered { epoch, batch, timestamp: entry.timestamp });
    }

    /// What producers had written when they repeated a range or began a newer epoch, so far.
    pub(super) fn take_newest_batches(&mut self) -> Vec<NewestBatches> {
        std::mem::take(&mut self.newest_batches)
    }

    /// The epochs, the gaps, the steps, and how many steps were not kept.
    pub(super) fn finish(self) -> Result<(Epochs, GapBook, Vec<SequenceStep>, u64), AuditError> {
        let Self { mut states, mut epochs, gaps, steps, steps_omitted, failed, .. } = self;
        failed.map_or(Ok(()), Err)?;
        states.check()?;
        states.each(|_, state| {
            state.live.end(&mut epochs);
            Ok(())
        })?;
        Ok((epochs.finished(), gaps, steps, steps_omitted))
    }

    /// A marker has ended a transaction of its producer.
    pub(super) fn ended(&mut self, ended: &TransactionSpan) {
        let (Some(data), Some(marker)) = (ended.producer_epoch, ended.marker_epoch) else { return };
        let Some(state) = self.states.get(&ended.producer_id) else { return };
        let Some(span) = state.live.find(Some(data)) else { return };
        span.closed_by_next |= marker.is_next_of(data);
        match ended.outcome {
            Outcome::Committed | Outcome::Aborted if data == marker => span.ends = Some(EpochEnds::Own),
            Outcome::Committed => span.ends = Some(EpochEnds::Next),
            Outcome::Aborted | Outcome::Open => {}
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
    /// Whether a broker remembers what its last batch or marker left.
    age: Before,
    /// The same for what the snapshot at the first file remembers.
    at_head: Before,
    below_log_start: bool,
    remembered: Option<Remembered>,
    marked: Option<(Option<ProducerEpoch>, Offset, Tally)>,
    /// Whether the batch has the range of one whose records are below the log start or cleaned away.
    cannot_be_compared: bool,
    /// Whether it has that of one which only the snapshot at the first file knows.
    repeats_snapshot: bool,
}

impl Known {
    fn of(state: &ProducerState, context: &PartitionContext, newest: Option<i64>) -> Self {
        let limit = context.expiration_ms.unwrap_or(DEFAULT_EXPIRATION_MS);
        // A time of −1 is older than any limit.
        let age = |last: Option<i64>| match (last, newest) {
            (Some(last), Some(newest)) if newest.saturating_sub(last) < limit => Before::Recent,
            _ => Before::Forgotten,
        };
        let before = state.last_batch.map_or(Before::Nothing, |_| age(state.last_timestamp));
        let at_head = state.remembered.map(|remembered| remembered.timestamp).filter(|&time| time != -1);
        Self {
            age: age(state.last_timestamp),
            at_head: age(at_head),
            epoch: state.batch_epoch,
            marker_epoch: state.marker_epoch,
            last_batch: state.last_batch,
            holes: state.holes,
            before,
            below_log_start: state.below_log_start,
            remembered: state.remembered,
            marked: state.marked,
            cannot_be_compared: false,
            repeats_snapshot: false,
        }
    }
}

impl Known {
    /// The first sequence that is missing behind what the snapshot remembers, and how many are.
    fn left_out_since_head(&self, header: &BatchHeader) -> Option<(Sequence, u32)> {
        let remembered = self.remembered?;
        let expected = match header.producer_epoch?.cmp(&remembered.epoch) {
            Ordering::Less => return None,
            Ordering::Equal => remembered.batch.map_or(Sequence::FIRST, |batch| batch.last.advance(1)),
            Ordering::Greater => Sequence::FIRST,
        };
        let missing = expected.distance_to(header.base_sequence?);
        (missing > 0 && missing < 1 << 30).then_some((expected, missing))
    }

    /// The epoch and the batch in front of this one, of which perhaps only a snapshot knows.
    fn previous(&self) -> (Option<ProducerEpoch>, Option<LastBatch>) {
        if self.last_batch.is_some() {
            return (self.epoch, self.last_batch);
        }
        let Some(remembered) = self.remembered else { return (self.epoch, None) };
        let batch = remembered
            .batch
            .map(|batch| LastBatch { last_sequence: Some(batch.last), last_offset: batch.last_offset });
        (Some(remembered.epoch), batch)
    }

    /// Whether a client before 2.5 begins again at 0 because its records were deleted behind its
    /// back (KAFKA-7190).
    fn restarts(&self, header: &BatchHeader) -> bool {
        header.base_sequence == Some(Sequence::FIRST) && self.below_log_start
    }
}

fn place_of(header: &BatchHeader) -> Place {
    let left = if header.is_sparse() { Left::Some } else { Left::All };
    Place { offset: header.base_offset, left }
}

/// How the first batch of a producer follows what the snapshot at the first file remembers of it, where a broker that
/// begins from it would refuse the batch, or answer it without storing it.
fn against_snapshot(state: &mut ProducerState, header: &BatchHeader) -> Option<Transition> {
    let remembered = state.remembered.filter(|_| state.last_batch.is_none() && state.track.is_none())?;
    // A marker of another epoch takes the batch away.
    if state.marked.is_some_and(|(epoch, ..)| epoch != Some(remembered.epoch)) {
        return None;
    }
    let (epoch, first, last) = (header.producer_epoch?, header.base_sequence?, header.last_sequence()?);
    let track = remembered.batch.map(|batch| {
        let records = i64::from(batch.first.distance_to(batch.last));
        let place = Place { offset: batch.last_offset.plus(records.saturating_neg()), left: Left::Some };
        SequenceTrack::begin(batch.first, batch.last, place)
    });
    match epoch.cmp(&remembered.epoch) {
        Ordering::Less => {
            state.track = track;
            state.track_epoch = Some(remembered.epoch);
            Some(Transition::EpochDown)
        }
        Ordering::Equal => {
            let mut track = track?;
            let transition = track.take(first, last, place_of(header));
            state.track = Some(track);
            state.track_epoch = Some(epoch);
            Some(match transition {
                Transition::ExactRepeat | Transition::Overlap | Transition::StepBack => transition,
                _ if first == Sequence::FIRST => Transition::NewProducer,
                _ => Transition::NewProducerMidStream,
            })
        }
        Ordering::Greater => None,
    }
}

/// How a batch of an epoch that had gone down before follows the one in front of it.
const fn follow_below(last: LastBatch, first: Sequence) -> Transition {
    let Some(sequence) = last.last_sequence else { return Transition::Unchecked };
    let expected = sequence.advance(1);
    match expected.distance_to(first) {
        0 => Transition::Next,
        missing if missing < 1 << 30 => Transition::Gap { expected, missing },
        _ => Transition::StepBack,
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
    match (state.track_epoch, state.track.as_mut()) {
        (Some(known), Some(track)) if known == epoch => track.take(first, last, place_of(header)),
        (Some(known), _) if epoch < known => match state.last_batch {
            Some(last) if state.batch_epoch == Some(epoch) => follow_below(last, first),
            _ => Transition::EpochDown,
        },
        (known, _) => {
            state.track = Some(SequenceTrack::begin(first, last, place_of(header)));
            state.track_epoch = Some(epoch);
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
    let is_new = matches!(transition, Transition::NewProducer | Transition::NewProducerMidStream);
    let left_out_since_head = is_new && before.left_out_since_head(header).is_some();
    let behind = before.last_batch.map_or(Offset(0), |batch| batch.last_offset.next());
    // What an epoch left out lies behind a marker of a lower one.
    let lower = before.marked.filter(|&(epoch, at, _)| epoch < header.producer_epoch && at >= behind);
    let (behind, since) = lower.map_or((behind, before.holes), |(_, at, tally)| (at.next(), tally));
    if lower.is_some() && known == Before::Nothing {
        known = Before::Recent;
    }
    let (expected, missing) = match transition {
        Transition::Gap { expected, missing } => (expected, missing),
        // The snapshot where the files begin says how far the removed head had come.
        Transition::NewProducer | Transition::NewProducerMidStream if left_out_since_head => {
            known = before.at_head;
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
    let mut holes = holes.since(since);
    if left_out_since_head {
        // What is missing lies behind the first file.
        holes.first_file = 0;
    }
    Some(PendingGap {
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        expected,
        found,
        at_offset: header.base_offset,
        missing,
        behind,
        holes,
        before: known,
    })
}

fn step_of(transition: Transition, header: &BatchHeader, before: &Known) -> Option<StepKind> {
    if before.marker_epoch.is_some() && header.producer_epoch < before.marker_epoch {
        return Some(StepKind::WriteBehindMarker);
    }
    match transition {
        Transition::EpochDown => Some(StepKind::EpochDown),
        Transition::ExactRepeat if before.repeats_snapshot && !before.restarts(header) => {
            Some(StepKind::RepeatOfSnapshot)
        }
        Transition::ExactRepeat if before.cannot_be_compared || before.repeats_snapshot => {
            Some(StepKind::RestartBehindDeletion)
        }
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
