//! The batch lane: one left fold over the headers of a partition, in offset order.
//!
//! Goes in: [`PartitionContext`], then batches and damage as the files hold them. Comes out:
//! [`PartitionFacts`]. Producers, sequences and gaps follow everything that the files hold, also
//! below the log start. State is kept per producer and epoch; lists that could grow with the log are capped
//! and say so, except for what is withheld from read_committed consumers.

use super::continuity::Continuity;
use super::landmarks::Landmarks;
use super::leader_epochs::LeaderEpochs;
use super::order::OrderFold;
use super::producers::{Beside, DEFAULT_EXPIRATION_MS, Producers};
use super::protection::earliest;
use super::snapshots::SnapshotCheck;
use super::transactions::{Marker, Transactions};
use super::{
    BatchFact, Ineffective, IneffectiveReason, Outcome, PartitionContext, PartitionFacts, Protection,
    TransactionSpan, Turns, Versions,
};
use crate::error::AuditError;
use crate::format::control::{ControlRecord, Outcome as Decision};
use crate::format::{BatchHeader, Damage, TimestampType};
use crate::spill::Share;
use crate::units::Offset;

/// Damaged places that are kept one by one.
const MAX_DAMAGED: usize = 1_000;

/// Folds the batches of one partition into [`PartitionFacts`].
#[derive(Debug)]
pub struct Ledger {
    context: PartitionContext,
    counts: Counts,
    continuity: Continuity,
    leader_epochs: LeaderEpochs,
    order: OrderFold,
    producers: Producers,
    protection: Protection,
    transactions: Transactions,
    /// What the newest batch ended.
    ended: Option<TransactionSpan>,
    snapshots: SnapshotCheck,
    landmarks: Landmarks,
    clock: Option<i64>,
    damaged_from: Vec<Offset>,
    ineffective: Vec<Ineffective>,
}

#[derive(Debug, Default)]
struct Counts {
    batches: u64,
    records: u64,
    control_batches: u64,
    first_timestamp: Option<i64>,
    last_timestamp: Option<i64>,
}

impl Ledger {
    /// Begins a partition; what is known of its producers takes no more than twice `share`.
    #[must_use]
    pub fn new(context: PartitionContext, share: &Share) -> Self {
        let snapshots = SnapshotCheck::new(&context);
        let continuity = Continuity::new(&context);
        let landmarks = Landmarks::new(&context);
        Self {
            context,
            counts: Counts::default(),
            continuity,
            leader_epochs: LeaderEpochs::default(),
            order: OrderFold::default(),
            producers: Producers::new(share),
            protection: Protection::default(),
            transactions: Transactions::default(),
            ended: None,
            snapshots,
            landmarks,
            clock: None,
            damaged_from: Vec::new(),
            ineffective: Vec::new(),
        }
    }

    /// The transaction that the batch before has ended, when it was a marker.
    #[must_use]
    pub const fn ended(&self) -> Option<&TransactionSpan> {
        self.ended.as_ref()
    }

    /// Takes the next batch.
    pub fn batch(&mut self, batch: &BatchFact) {
        self.ended = None;
        let header = &batch.header;
        self.snapshots.reach(
            &self.context,
            header.base_offset,
            &mut self.producers,
            &mut self.transactions,
            &self.continuity,
        );
        let before = self.happenings();
        self.continuity.batch(&self.context, header, batch.segment);
        self.leader_epochs.batch(&self.context, header.partition_leader_epoch, header.base_offset);
        self.snapshots.see(header);
        self.content(header, batch.control);
        self.landmarks.batch(header, batch.segment, self.happenings() != before);
    }

    /// How many leader epochs, holes and gaps there have been.
    fn happenings(&self) -> (usize, u64, usize) {
        (self.leader_epochs.changes.len(), self.continuity.holes_seen(), self.producers.gaps.len())
    }

    /// Takes a batch that can be read although it is damaged or out of its place; `belongs_at` is
    /// the base offset with which it stands in line between its neighbours.
    pub fn suspect(&mut self, batch: &BatchFact, damage: &Damage, belongs_at: Option<Offset>) {
        if let Some(base_offset) = belongs_at {
            let header = BatchHeader { base_offset, ..batch.header.clone() };
            self.batch(&BatchFact { header, ..batch.clone() });
            return;
        }
        // What it wrote counts; its offsets say nothing about what lies around it.
        self.damage(batch.segment, damage);
        self.content(&batch.header, batch.control);
    }

    /// Takes bytes that cannot be read, where they stand among the batches.
    pub fn damage(&mut self, segment: usize, damage: &Damage) {
        self.continuity.damage(damage.kind);
        let from = damage
            .first_offset
            .or(self.continuity.next_offset())
            .or(self.context.segment_bases.get(segment).copied())
            .unwrap_or_default();
        if self.damaged_from.len() < MAX_DAMAGED {
            self.damaged_from.push(from);
        }
    }

    /// Ends the partition.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory could not be written or read.
    pub fn finish(mut self) -> Result<PartitionFacts, AuditError> {
        let end = self.continuity.finish(&self.context);
        self.leader_epochs.finish(&self.context);
        self.snapshots.finish(
            &self.context,
            end,
            &mut self.producers,
            &mut self.transactions,
            &self.continuity,
        );
        let cleaned_below = self.continuity.cleaned_below(&self.context);
        let was_cleaned = self.continuity.was_cleaned(&self.context);
        let tail = self.continuity.tail();
        let (holes, holes_omitted) = self.continuity.into_holes();
        let newest_batches = self.producers.take_newest_batches();
        let (epochs, gaps, steps, steps_omitted) = self.producers.finish()?;
        let is_older = self.context.leader_epochs.last().is_some_and(|(checkpointed, _)| {
            self.leader_epochs.changes.iter().any(|(epoch, _)| epoch > checkpointed)
        });
        let head_may_be_deleted =
            self.context.may_lose_its_head() || (is_older && self.context.deleted != Some(false));
        let (gaps, gaps_omitted) = gaps.finish(&self.context, cleaned_below, head_may_be_deleted);
        let empty_markers = std::mem::take(&mut self.transactions.empty_markers);
        let transactions_omitted = self.transactions.omitted;
        let (transactions, withheld) = self.transactions.finish();
        // What was deleted holds nobody back (`UnifiedLog.maybeIncrementFirstUnstableOffset`).
        let first_unstable = transactions
            .iter()
            .filter(|span| span.is_without_end())
            .map(|span| span.first_offset.max(self.context.log_start_offset));
        let last_stable_offset = first_unstable.fold(end, Offset::min);
        Ok(PartitionFacts {
            batches: self.counts.batches,
            records: self.counts.records,
            control_batches: self.counts.control_batches,
            log_end_offset: end,
            last_stable_offset,
            leader_epochs: self.leader_epochs.changes,
            first_timestamp: self.counts.first_timestamp,
            last_timestamp: self.counts.last_timestamp,
            epochs,
            transactions,
            transactions_omitted,
            withheld,
            protection: self.protection,
            order: self.order.finish(),
            // What records say is added by those who read them.
            versions: Versions::default(),
            turns: Turns::default(),
            index_faults: Vec::new(),
            index_faults_omitted: 0,
            gaps,
            gaps_omitted,
            steps,
            steps_omitted,
            newest_batches,
            empty_markers,
            holes,
            holes_omitted,
            cleaned_below,
            head_may_be_deleted,
            was_cleaned,
            tail,
            damaged_from: self.damaged_from,
            ineffective: self.ineffective,
            leader_epoch_steps: self.leader_epochs.steps,
            snapshot_conflicts: self.snapshots.into_conflicts(),
            landmarks: self.landmarks,
        })
    }

    fn content(&mut self, header: &BatchHeader, control: Option<ControlRecord>) {
        self.counts.batches = self.counts.batches.saturating_add(1);
        self.producers.clock((header.max_timestamp != -1).then_some(header.max_timestamp));
        if header.is_control() {
            self.counts.control_batches = self.counts.control_batches.saturating_add(1);
            self.control(header, control);
        } else {
            self.data(header);
        }
    }

    fn data(&mut self, header: &BatchHeader) {
        let records = u64::from(header.records_count.unwrap_or(0));
        let time = (header.max_timestamp != -1).then_some(header.max_timestamp);
        self.counts.records = self.counts.records.saturating_add(records);
        let first = header.first_timestamp().map(|time| time.0);
        self.counts.first_timestamp = earliest(self.counts.first_timestamp, first);
        self.counts.last_timestamp = self.counts.last_timestamp.max(time);
        self.protection.add(header, records);
        self.order.batch(header);
        if header.timestamp_type() == TimestampType::LogAppendTime {
            self.broker_time(time);
        }
        if header.is_legacy() || !header.producer_id.is_protected() {
            return;
        }
        if let Some(until) = self.transactions.lower_epoch_until(header)
            && self.continuity.misses_between(&self.context, until.next(), header.base_offset)
        {
            // A producer gets a higher epoch by a marker, or behind one.
            self.transactions.ended_unseen(header.producer_id, header.base_offset);
        }
        let open = self.transactions.open_until(header.producer_id).is_some();
        let beside = if open { Beside::OpenTransaction } else { Beside::Nothing };
        self.producers.data(&self.context, &self.continuity, header, beside);
        if header.is_transactional() {
            self.transactions.data(header, self.context.log_start_offset);
        }
        // An open transaction keeps its producer from expiring, and its marker renews the time.
        if !self.context.internal && !header.is_transactional() {
            self.effectiveness(header, records, time);
        }
    }

    fn control(&mut self, header: &BatchHeader, control: Option<ControlRecord>) {
        // The cleaner leaves such a batch to keep its offset; it says nothing any more.
        if !header.is_transactional() || !header.producer_id.is_protected() {
            return;
        }
        if header.records_count == Some(0) {
            self.producers.emptied_marker(header);
            return;
        }
        let outcome = match control {
            Some(ControlRecord::EndTransaction { outcome: Decision::Commit, .. }) => Some(Outcome::Committed),
            Some(ControlRecord::EndTransaction { outcome: Decision::Abort, .. }) => Some(Outcome::Aborted),
            Some(ControlRecord::Other(_)) => return,
            None => None,
        };
        let timestamp = (header.max_timestamp != -1).then_some(header.max_timestamp);
        // Markers and append times carry a broker's clock.
        self.broker_time(timestamp);
        let coordinator = match control {
            Some(ControlRecord::EndTransaction { coordinator_epoch, .. }) => Some(coordinator_epoch),
            _ => None,
        };
        let open = self.transactions.open_until(header.producer_id).is_some();
        let beside = if open { Beside::OpenTransaction } else { Beside::Nothing };
        self.producers.marker(&self.context, &self.continuity, header, coordinator, beside);
        let marker = Marker {
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            offset: header.base_offset,
            timestamp,
            outcome,
        };
        let context = &self.context;
        self.ended = self.transactions.end(marker, |span| context.contradicts(span));
        if let Some(span) = &self.ended {
            self.producers.ended(span);
        }
    }

    /// A time that the leader's clock gave.
    fn broker_time(&mut self, time: Option<i64>) {
        self.clock = self.clock.max(time);
        if let Some(time) = time {
            self.transactions.broker_time(time);
        }
    }

    /// Counts batches whose producer id protects nothing.
    fn effectiveness(&mut self, header: &BatchHeader, records: u64, time: Option<i64>) {
        let limit = self.context.expiration_ms.unwrap_or(DEFAULT_EXPIRATION_MS);
        let reason = match (header.producer_epoch, time, self.clock) {
            (None, ..) => IneffectiveReason::NoEpoch,
            (_, None, _) => IneffectiveReason::NoTime,
            (_, Some(time), Some(clock)) if clock.saturating_sub(time) >= limit => {
                IneffectiveReason::OldTimes
            }
            _ => return,
        };
        if header.is_sparse() {
            // The cleaner rewrites times.
            return;
        }
        match self.ineffective.iter_mut().find(|whole| whole.reason == reason) {
            Some(whole) => {
                whole.last_offset = header.last_offset();
                whole.records = whole.records.saturating_add(records);
                whole.first_timestamp = earliest(whole.first_timestamp, time);
                whole.last_timestamp = whole.last_timestamp.max(time);
            }
            None => self.ineffective.push(Ineffective {
                reason,
                first_offset: header.base_offset,
                last_offset: header.last_offset(),
                records,
                first_timestamp: time,
                last_timestamp: time,
            }),
        }
    }
}

#[cfg(test)]
mod rows;
#[cfg(test)]
mod tests;
