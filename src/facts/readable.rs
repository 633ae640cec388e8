//! How many records consumers of each isolation level get from a partition.
//!
//! The outcome of a transaction is known only at its marker, so what each run of transactional
//! batches holds is kept until then, and to the end of the partition unless it was committed. A run is
//! an unbroken stretch of batches of one producer without a marker in between: it has one outcome.

use super::{PartitionContext, PartitionFacts, TransactionSpan};
use crate::finding::Outcome;
use crate::format::BatchHeader;
use crate::units::{Offset, ProducerId};
use std::collections::BTreeMap;

/// Counts records as they come.
#[derive(Clone, Debug, Default)]
pub struct ReadableRecords {
    total: u64,
    /// Runs of each producer whose end was not seen yet, in offset order.
    pending: BTreeMap<ProducerId, Vec<Run>>,
    /// Runs that were not committed.
    ended: Vec<Run>,
    open: Option<ProducerId>,
    next_offset: Option<Offset>,
    /// Where transactions begin that a snapshot remembers, the next one last: the last stable offset
    /// may be one of them though no batch is there.
    remembered: Vec<Offset>,
    /// Records before each of them that was passed.
    before_remembered: BTreeMap<Offset, u64>,
    high_watermark: Option<Offset>,
    provisional: u64,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    first_offset: Offset,
    /// Records before it.
    before: u64,
    records: u64,
}

/// Records that consumers get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readable {
    /// From the log start to the log end.
    pub uncommitted: u64,
    /// To the last stable offset, without aborted transactions.
    pub committed: u64,
    /// Of those to the log end, how many lie at or above the checkpointed high watermark; `None`
    /// without checkpoint.
    pub provisional: Option<u64>,
}

impl ReadableRecords {
    /// Begins a partition.
    #[must_use]
    pub fn new(context: &PartitionContext) -> Self {
        let entries =
            context.snapshots.iter().filter_map(|snapshot| snapshot.entries.as_ref().ok()).flatten();
        let mut remembered: Vec<Offset> =
            entries.filter_map(|entry| entry.current_txn_first_offset).collect();
        remembered.sort_unstable_by(|a, b| b.cmp(a));
        remembered.dedup();
        Self { remembered, high_watermark: context.high_watermark, ..Self::default() }
    }

    /// Takes a batch of which `records` lie at or above the log start.
    pub fn batch(&mut self, header: &BatchHeader, records: u64) {
        while let Some(offset) = self.remembered.pop_if(|offset| *offset <= header.base_offset) {
            self.before_remembered.insert(offset, self.total);
            self.open = None;
        }
        if self.next_offset != Some(header.base_offset) {
            // A marker may be missing in between.
            self.open = None;
        }
        self.next_offset = Some(header.last_offset().next());
        if header.is_control() || !header.is_transactional() {
            self.open = None;
        } else if self.open != Some(header.producer_id) {
            self.open = Some(header.producer_id);
            let run = Run { first_offset: header.base_offset, before: self.total, records: 0 };
            self.pending.entry(header.producer_id).or_default().push(run);
        }
        if header.is_control() {
            return;
        }
        if let Some(open) = self.open
            && let Some(run) = self.pending.get_mut(&open).and_then(|runs| runs.last_mut())
        {
            run.records = run.records.saturating_add(records);
        }
        self.total = self.total.saturating_add(records);
        if let Some(mark) = self.high_watermark.filter(|mark| header.last_offset() >= *mark) {
            // The mark moves by whole batches; where it stands inside of one, offsets count.
            let above = header.last_offset().0.saturating_sub(mark.0).saturating_add(1);
            self.provisional += records.min(u64::try_from(above).unwrap_or(0));
        }
    }

    /// A marker has ended a transaction: what was committed need not be remembered.
    pub fn end(&mut self, ended: &TransactionSpan) {
        let runs = self.pending.remove(&ended.producer_id).unwrap_or_default();
        let is_known =
            |run: &Run| ended.outcome == Outcome::Committed && run.first_offset >= ended.first_offset;
        self.ended.extend(runs.into_iter().filter(|run| !is_known(run)));
    }

    /// What consumers get, now that the outcomes are known.
    #[must_use]
    pub fn finish(self, facts: &PartitionFacts) -> Readable {
        let stable = facts.last_stable_offset;
        let mut runs = self.ended;
        runs.extend(self.pending.into_values().flatten());
        runs.sort_by_key(|run| run.first_offset);
        let below = runs.partition_point(|run| run.first_offset < stable);
        let mut committed = match (self.before_remembered.get(&stable), runs.get(below)) {
            (Some(&before), _) if stable < facts.log_end_offset => before,
            (_, Some(behind)) if stable < facts.log_end_offset => behind.before,
            _ => self.total,
        };
        for run in runs.get(..below).unwrap_or_default() {
            if facts.withheld_at(run.first_offset).is_some() {
                committed = committed.saturating_sub(run.records);
            }
        }
        Readable {
            uncommitted: self.total,
            committed,
            provisional: self.high_watermark.map(|_| self.provisional),
        }
    }
}
