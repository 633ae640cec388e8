//! How many records consumers of each isolation level get from a partition.
//!
//! The outcome of a transaction is known only at its marker, so what each run of transactional
//! batches holds is kept until then. A run is an unbroken stretch of batches of one producer without a
//! marker in between: it has one outcome.
//!
//! What was not committed counts to the end of the partition, because only there the last stable offset
//! is known. But that is the end of the log, the beginning of a transaction that is open now or later, or
//! one that a snapshot remembers. So such records are kept as sums between these, not one by one.

use super::{Outcome, PartitionContext, PartitionFacts, TransactionSpan};
use crate::format::BatchHeader;
use crate::units::{Offset, ProducerId};
use std::collections::{BTreeMap, BTreeSet};

/// Counts records as they come.
#[derive(Clone, Debug, Default)]
pub struct ReadableRecords {
    total: u64,
    /// Runs of each producer whose end was not seen yet, in offset order.
    pending: BTreeMap<ProducerId, Vec<Run>>,
    /// Records of runs that ended and were not committed, by the last of the places at which the last
    /// stable offset may be before they begin.
    lost: BTreeMap<Offset, u64>,
    /// Where the runs begin whose end was not seen yet.
    open_runs: BTreeSet<Offset>,
    /// Where transactions begin that a snapshot remembers.
    told: Vec<Offset>,
    open: Option<ProducerId>,
    next_offset: Option<Offset>,
    /// Those of them that are still to come, the next one last: the last stable offset may be one of
    /// them though no batch is there.
    remembered: Vec<Offset>,
    /// Records before each of them that was passed.
    before_remembered: BTreeMap<Offset, u64>,
    log_start: Offset,
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
        remembered.sort_unstable();
        remembered.dedup();
        let told = remembered.clone();
        remembered.reverse();
        Self {
            remembered,
            told,
            log_start: context.log_start_offset,
            high_watermark: context.high_watermark,
            ..Self::default()
        }
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
        if header.is_control() || !header.is_transactional() || !header.producer_id.is_protected() {
            self.open = None;
        } else if self.open != Some(header.producer_id) {
            self.open = Some(header.producer_id);
            let run = Run { first_offset: header.base_offset, before: self.total, records: 0 };
            self.pending.entry(header.producer_id).or_default().push(run);
            self.open_runs.insert(header.base_offset);
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

    /// A marker has ended a transaction, with what it took along (see [`TransactionSpan::open_since`]): what was committed
    /// need not be remembered.
    pub fn end(&mut self, ended: &TransactionSpan) {
        let runs = self.pending.remove(&ended.producer_id).unwrap_or_default();
        for run in &runs {
            if ended.outcome == Outcome::Committed && run.first_offset >= ended.open_since {
                continue;
            }
            let before = self.lost_behind(run.first_offset.next());
            let sum = self.lost.entry(before).or_default();
            *sum = sum.saturating_add(run.records);
        }
        // None of its runs is the last stable offset any more.
        for run in &runs {
            self.open_runs.remove(&run.first_offset);
            if let Some(records) = self.lost.remove(&run.first_offset) {
                let before = self.lost_behind(run.first_offset.next());
                let sum = self.lost.entry(before).or_default();
                *sum = sum.saturating_add(records);
            }
        }
    }

    /// The last place below `offset` at which the last stable offset may be.
    fn lost_behind(&self, offset: Offset) -> Offset {
        let open = self.open_runs.range(..offset).next_back().copied();
        let at = self.told.partition_point(|told| *told < offset);
        let told = at.checked_sub(1).and_then(|at| self.told.get(at)).copied();
        open.max(told).unwrap_or(Offset(i64::MIN))
    }

    /// What consumers get, now that the outcomes are known.
    #[must_use]
    pub fn finish(self, facts: &PartitionFacts) -> Readable {
        let stable = facts.last_stable_offset;
        let mut open: Vec<Run> = self.pending.into_values().flatten().collect();
        open.sort_by_key(|run| run.first_offset);
        let below = open.partition_point(|run| run.first_offset < stable);
        let mut committed = match (self.before_remembered.get(&stable), open.get(below)) {
            // What lies below the log start is in no sum.
            _ if stable <= self.log_start && stable < facts.log_end_offset => 0,
            (Some(&before), _) if stable < facts.log_end_offset => before,
            (_, Some(behind)) if stable < facts.log_end_offset => behind.before,
            _ => self.total,
        };
        for records in self.lost.range(..stable).map(|(_, records)| *records) {
            committed = committed.saturating_sub(records);
        }
        for run in open.get(..below).unwrap_or_default() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Ledger;
    use crate::facts::script::{batches, fold_in};
    use crate::spill::Share;

    #[test]
    fn behind_an_open_transaction_that_began_below_the_log_start_nothing_is_committed() {
        let committed = |start: i64, script: &str| {
            let context = PartitionContext { log_start_offset: Offset(start), ..PartitionContext::default() };
            let (context, facts) = fold_in(context, script);
            let mut readable = ReadableRecords::new(&context);
            for batch in batches(script) {
                let header = &batch.header;
                let readable_from = header.base_offset.0.max(start);
                readable
                    .batch(header, u64::try_from(header.last_offset().0 + 1 - readable_from).unwrap_or(0));
            }
            let readable = readable.finish(&facts);
            (readable.committed, readable.uncommitted)
        };
        assert_eq!(committed(10, "X 7/0 0..2; D 5/0 0..19"), (0, 13));
        assert_eq!(committed(2, "X 7/0 0..2; D 5/0 0..19"), (0, 21));
        assert_eq!(committed(2, "D 5/0 0..4; X 7/0 0..2; D 5/0 5..9"), (3, 11));
        assert_eq!(committed(10, "D 5/0 0..19"), (10, 10));
    }

    #[test]
    fn a_marker_commits_what_it_took_along_and_nothing_whose_own_is_missing() {
        let committed = |script: &str| {
            let segment_bases = vec![Offset(0)];
            let context = PartitionContext { segment_bases, ..PartitionContext::default() };
            let mut ledger = Ledger::new(context.clone(), &Share::default());
            let mut readable = ReadableRecords::new(&context);
            for batch in batches(script) {
                ledger.batch(&batch);
                let header = &batch.header;
                readable.batch(header, u64::from(header.records_count.unwrap_or(0)));
                if let Some(ended) = ledger.ended() {
                    readable.end(ended);
                }
            }
            readable.finish(&ledger.finish().unwrap()).committed
        };
        assert_eq!(committed("X 7/1 0..4; X 7/2 0..0; +M 7/3"), 6);
        assert_eq!(committed("X 7/1 0..4; X 7/2 0..0; -M 7/3"), 0);
        assert_eq!(committed("X 7/1 0..4; at 6; X 7/2 0..0; +M 7/3"), 1);
        assert_eq!(committed("X 7/1 0..4; at 6; X 7/1 5..5; +M 7/1"), 6);
    }
}
