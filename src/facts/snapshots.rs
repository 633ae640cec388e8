//! Whether the producer snapshots agree with the log.
//!
//! A snapshot holds the state after every batch below its number. The log is the witness: an entry
//! is wrong when the log holds another batch at its offset, or later batches of the producer below
//! the snapshot's number. A producer that is missing has usually expired; it cannot have when an
//! entry stayed whose batch is older both in the log and in time, because a sweep takes by time
//! alone. What a snapshot remembers and the files do not hold is taken from it: the first offset of
//! an open transaction, and the sequence at which the files begin.
//!
//! Where all that was ever written is there as it was written, and the log was closed cleanly, an entry also needs
//! something that led to it: its epoch is that of the newest batch or marker of the producer, and a coordinator's epoch comes with
//! a marker. Elsewhere an entry may be all that is left of a producer.
//!
//! A snapshot is written when a segment begins, and at a clean stop (`UnifiedLog.roll`, `close`). So one behind
//! the end of the log means that files are missing there. The files of a running broker are of different moments, and
//! its snapshots may be younger than the copy of its segments: there it counts where the log ends just where an index
//! without its segment says that one had begun.
//!
//! A broker that finds no snapshot behind the log start builds its state from there on, and knows nothing of what was deleted: there
//! an open transaction begins with the first batch that is not wholly below it.
//!
//! Source: `ProducerStateManager.takeSnapshot`, `removeExpiredProducers`,
//! `ProducerAppendInfo.appendEndTxnMarker`; KAFKA-9144, KAFKA-7190; 0.11 names the marker's offset instead of
//! the batch's.

use super::continuity::Continuity;
use super::producers::{ProducerState, Producers};
use super::transactions::Transactions;
use super::{PartitionContext, Snapshot, SnapshotConflict, SnapshotConflictKind, SnapshotEntry};
use crate::format::BatchHeader;
use crate::units::{Offset, ProducerEpoch, ProducerId, Sequence};
use std::collections::{BTreeMap, BTreeSet};

/// Contradictions that are kept one by one.
const MAX_CONFLICTS: usize = 1_000;

/// Holds the snapshots of a partition against its log.
#[derive(Debug)]
pub(super) struct SnapshotCheck {
    /// Indices into the context's snapshots, by number.
    order: Vec<usize>,
    next: usize,
    /// The batches at the offsets that entries name.
    witnesses: BTreeMap<Offset, Witness>,
    /// The batches at the offsets at which entries say that a transaction began.
    beginnings: BTreeMap<Offset, Option<Beginning>>,
    conflicts: Vec<SnapshotConflict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Witness {
    /// No batch was seen there.
    Unseen,
    /// A batch lies across the offset and ends behind it.
    Across(ProducerId),
    /// A batch ends at the offset.
    Ends(Named),
}

/// The batch that ends at an offset that an entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named {
    producer_id: ProducerId,
    epoch: Option<ProducerEpoch>,
    first_sequence: Option<Sequence>,
    last_sequence: Option<Sequence>,
    offset_delta: i32,
    kind: Kind,
}

impl Named {
    /// Whether an entry about this batch may hold this delta: up to 2.1 it was counted in sequences, and went below zero
    /// where they began again at 0 (KAFKA-7692).
    fn may_have_delta(&self, delta: i32) -> bool {
        let by_sequences = self.first_sequence.zip(self.last_sequence);
        let by_sequences = by_sequences.map(|(first, last)| last.get().wrapping_sub(first.get()));
        delta == self.offset_delta || by_sequences == Some(delta)
    }
}

/// The batch across an offset at which a transaction is said to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    Transactional {
        producer_id: ProducerId,
        /// Whether the batch begins at the offset.
        at_first: bool,
    },
    Other(ProducerId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    Marker,
}

impl SnapshotCheck {
    pub(super) fn new(context: &PartitionContext) -> Self {
        let mut order: Vec<usize> = (0..context.snapshots.len()).collect();
        order.sort_by_key(|&at| context.snapshots.get(at).map(|snapshot| snapshot.offset));
        let witnesses = context
            .snapshots
            .iter()
            .filter_map(|snapshot| snapshot.entries.as_ref().ok())
            .flatten()
            .filter_map(|entry| Some((entry.last_offset?, Witness::Unseen)))
            .collect();
        let entries =
            context.snapshots.iter().filter_map(|snapshot| snapshot.entries.as_ref().ok()).flatten();
        let beginnings = entries.filter_map(|entry| Some((entry.current_txn_first_offset?, None))).collect();
        Self { order, next: 0, witnesses, beginnings, conflicts: Vec::new() }
    }

    /// Compares all snapshots with a number up to the base offset of the next batch.
    pub(super) fn reach(
        &mut self,
        context: &PartitionContext,
        base_offset: Offset,
        producers: &mut Producers,
        transactions: &mut Transactions,
        continuity: &Continuity,
    ) {
        let begins = continuity.next_offset().is_none();
        let mut remembered = None;
        while let Some(snapshot) = self.peek(context).filter(|snapshot| snapshot.offset <= base_offset) {
            self.next = self.next.saturating_add(1);
            let Some(entries) = self.readable(snapshot) else { continue };
            self.tell_repeated(snapshot, entries);
            if begins {
                remembered = Some((snapshot, entries));
                for entry in entries {
                    if let Some((kind, log)) = beyond(snapshot, entry) {
                        self.about(snapshot, entry.producer_id, kind, Some(words(entry)), Some(log));
                    } else if context.segment_bases.first() == Some(&snapshot.offset) {
                        producers.remember(entry);
                    }
                }
            } else if continuity.next_offset() <= Some(snapshot.offset) {
                self.compare(context, snapshot, entries, producers, transactions, continuity);
            }
        }
        let Some((snapshot, entries)) = remembered else { return };
        for entry in entries {
            if let Some(first) = entry.current_txn_first_offset.filter(|first| *first < snapshot.offset) {
                transactions.remembered(entry.producer_id, entry.producer_epoch, first);
            }
        }
    }

    /// Notes the batch where an entry names its offset.
    pub(super) fn see(&mut self, header: &BatchHeader) {
        let (first, last) = (header.base_offset, header.last_offset());
        if last < first {
            return;
        }
        for (&offset, beginning) in self.beginnings.range_mut(first..=last) {
            let is_transactional = header.is_transactional() && !header.is_control();
            *beginning = Some(if is_transactional {
                Beginning::Transactional { producer_id: header.producer_id, at_first: offset == first }
            } else {
                Beginning::Other(header.producer_id)
            });
        }
        for (&offset, witness) in self.witnesses.range_mut(first..=last) {
            *witness = if offset == last {
                Witness::Ends(Named {
                    producer_id: header.producer_id,
                    epoch: header.producer_epoch,
                    first_sequence: header.base_sequence,
                    last_sequence: header.last_sequence(),
                    offset_delta: header.last_offset_delta,
                    kind: if header.is_control() { Kind::Marker } else { Kind::Data },
                })
            } else {
                Witness::Across(header.producer_id)
            };
        }
    }

    /// Compares the snapshots at the end of the log, and tells those that lie behind it.
    pub(super) fn finish(
        &mut self,
        context: &PartitionContext,
        end: Offset,
        producers: &mut Producers,
        transactions: &mut Transactions,
        continuity: &Continuity,
    ) {
        self.reach(context, end, producers, transactions, continuity);
        if context.lacks_snapshots {
            self.tell_lacking(context.log_start_offset, end, producers);
        }
        // A copy of a running broker has files of different moments, and behind damage the end of
        // the log is not known.
        let end_is_known = context.clean_shutdown != Some(false) && continuity.tail().is_known();
        let mut closing = None;
        while let Some(snapshot) = self.peek(context) {
            self.next = self.next.saturating_add(1);
            let Some(entries) = self.readable(snapshot) else { continue };
            closing = Some((snapshot, entries));
            if end_is_known {
                self.conflict(SnapshotConflict {
                    file: snapshot.file.clone(),
                    offset: snapshot.offset,
                    kind: SnapshotConflictKind::BeyondLogEnd,
                    producer_id: None,
                    snapshot: Some(format!("covers the log up to offset {}", snapshot.offset)),
                    log: Some(format!("ends at offset {end}")),
                });
            }
        }
        if let Some((snapshot, entries)) = closing
            && (continuity.ends_in_damage() || context.high_watermark > Some(end))
            && context.clean_shutdown == Some(true)
        {
            Self::behind_the_end(snapshot, entries, end, transactions);
        }
    }

    /// What the snapshot of a clean stop says of transactions that began, or ended, behind the last batch that can be read,
    /// where more of the log has been: bytes that cannot be read, or a checkpoint, say so.
    fn behind_the_end(
        snapshot: &Snapshot,
        entries: &[SnapshotEntry],
        end: Offset,
        transactions: &mut Transactions,
    ) {
        for entry in entries {
            let (said, known) = (entry.current_txn_first_offset, transactions.open_since(entry.producer_id));
            let began_there = said.filter(|first| (end..snapshot.offset).contains(first));
            if known.is_some() && (said.is_none() || began_there.is_some()) {
                transactions.ended_unseen(entry.producer_id, snapshot.offset);
            }
            if let Some(first) = began_there {
                transactions.remembered(entry.producer_id, entry.producer_epoch, first);
            }
        }
    }

    /// The snapshot of a clean stop is not there, and would hold producers.
    ///
    /// A log start that moves up takes the snapshots below it away, and counts as one itself: where nothing was written
    /// behind it a broker writes none (`ProducerStateManager.onLogStartOffsetIncremented`, `truncateHead` before 2.5).
    fn tell_lacking(&mut self, log_start: Offset, end: Offset, producers: &mut Producers) {
        let mut number = 0_u64;
        producers.each_state(|_, state| {
            let last = state.last_batch.map(|batch| batch.last_offset).max(state.last_marker);
            number += u64::from(last >= Some(log_start));
        });
        if number == 0 {
            return;
        }
        let producers = if number == 1 { "1 producer".to_owned() } else { format!("{number} producers") };
        self.conflict(SnapshotConflict {
            file: format!("{:020}.snapshot", end.0),
            offset: end,
            kind: SnapshotConflictKind::Missing,
            producer_id: None,
            snapshot: None,
            log: Some(format!("holds {producers}, and ends at offset {end}")),
        });
    }

    pub(super) fn into_conflicts(self) -> Vec<SnapshotConflict> {
        self.conflicts
    }

    fn peek<'c>(&self, context: &'c PartitionContext) -> Option<&'c Snapshot> {
        context.snapshots.get(*self.order.get(self.next)?)
    }

    fn readable<'c>(&mut self, snapshot: &'c Snapshot) -> Option<&'c [SnapshotEntry]> {
        match &snapshot.entries {
            Ok(entries) => Some(entries),
            Err(why) => {
                self.conflict(SnapshotConflict {
                    file: snapshot.file.clone(),
                    offset: snapshot.offset,
                    kind: SnapshotConflictKind::Damaged,
                    producer_id: None,
                    snapshot: Some(why.clone()),
                    log: None,
                });
                None
            }
        }
    }

    /// An entry says another beginning of an open transaction than the log.
    fn about_transaction(&mut self, snapshot: &Snapshot, entry: &SnapshotEntry, open: Option<Offset>) {
        let (said, log) = (open_words(entry.current_txn_first_offset), open_words(open));
        self.about(
            snapshot,
            entry.producer_id,
            SnapshotConflictKind::OtherTransaction,
            Some(said),
            Some(log),
        );
    }

    fn compare(
        &mut self,
        context: &PartitionContext,
        snapshot: &Snapshot,
        entries: &[SnapshotEntry],
        producers: &mut Producers,
        transactions: &mut Transactions,
        continuity: &Continuity,
    ) {
        let whole = continuity.tally().damage == 0 && !continuity.ends_in_damage();
        // Everything that led to the state is there, as it was when the broker wrote down what it knew.
        let complete = context.clean_shutdown == Some(true)
            && continuity.next_offset() == Some(snapshot.offset)
            && continuity.is_whole(context);
        // What stayed, by the offset from which on it could have expired, and its time.
        let mut stayed: Vec<(Offset, i64)> = Vec::new();
        for entry in entries {
            let state = producers.state(entry.producer_id);
            // An open transaction keeps its producer, and before 2.5 its marker leaves the time as it was (KAFKA-9144).
            let is_open = entry.current_txn_first_offset.is_some()
                || transactions.open_since(entry.producer_id).is_some();
            if let Some(last) = entry.last_offset.filter(|_| !is_open) {
                stayed.push((state.map_or(last, |state| state.kept_until(last)), entry.timestamp));
            }
            let contradiction = self
                .contradiction(snapshot, entry, state, continuity)
                .or_else(|| without_trace(entry, state).filter(|_| complete));
            if let Some((kind, log)) = contradiction {
                let said = match kind {
                    SnapshotConflictKind::OtherBounds => {
                        format!("{}, offsetDelta {}", words(entry), entry.offset_delta)
                    }
                    _ => words(entry),
                };
                self.about(snapshot, entry.producer_id, kind, Some(said), Some(log));
            }
            let other_coordinator = Self::other_coordinator(snapshot, entry, state, continuity);
            let no_marker = || {
                let is_one = state.is_some_and(|state| state.last_marker.is_some());
                (complete && entry.coordinator_epoch.is_some() && !is_one)
                    .then(|| "no marker of the producer".to_owned())
            };
            if let Some(log) = other_coordinator.or_else(no_marker) {
                let said = entry.coordinator_epoch.map(|epoch| format!("coordinator epoch {epoch}"));
                let kind = SnapshotConflictKind::OtherCoordinator;
                self.about(snapshot, entry.producer_id, kind, said, Some(log));
            }
            let open = transactions.open_since(entry.producer_id);
            let (said, known) = (entry.current_txn_first_offset, state.and_then(|state| state.last_marker));
            if let Some((kind, log)) = self.false_beginning(snapshot, entry) {
                self.about(snapshot, entry.producer_id, kind, Some(open_words(said)), Some(log));
                continue;
            }
            match (said, open) {
                (Some(_), None) if complete => self.about_transaction(snapshot, entry, open),
                (Some(first), None) if known.is_none_or(|marker| marker < first) => {
                    transactions.remembered(entry.producer_id, entry.producer_epoch, first);
                }
                (Some(first), Some(open)) if first < open => {
                    transactions.began_earlier(entry.producer_id, first);
                }
                (None, None) => {}
                (Some(first), Some(open)) if first == open => {}
                (Some(first), Some(open))
                    if first > open
                        && (transactions.began_later(entry.producer_id, first)
                            || self.is_first_above_log_start(first, entry.producer_id, transactions)) => {}
                (Some(first), Some(open))
                    if first > open
                        && transactions
                            .data_before(entry.producer_id, first)
                            .is_some_and(|last| continuity.misses_between(context, last.next(), first)) =>
                {
                    transactions.began_behind_unseen(entry.producer_id, first, snapshot.offset);
                    transactions.remembered(entry.producer_id, entry.producer_epoch, first);
                }
                (None, Some(_)) if transactions.is_only_remembered(entry.producer_id) => {
                    transactions.ended_unseen(entry.producer_id, snapshot.offset);
                }
                (said, Some(_))
                    if Self::marker_is_missing(context, snapshot, entry, transactions, continuity) =>
                {
                    transactions.ended_unseen(entry.producer_id, snapshot.offset);
                    if let Some(first) = said {
                        transactions.remembered(entry.producer_id, entry.producer_epoch, first);
                    }
                }
                _ if whole => self.about_transaction(snapshot, entry, open),
                _ => {}
            }
        }
        let listed: BTreeSet<ProducerId> = entries.iter().map(|entry| entry.producer_id).collect();
        // The smallest time that stayed, among entries up to each offset.
        stayed.sort_unstable();
        let mut oldest = i64::MAX;
        for (_, time) in &mut stayed {
            oldest = oldest.min(*time);
            *time = oldest;
        }
        producers.each_state(|producer_id, state| {
            let Some(last) = state.last_batch else { return };
            let older = stayed.partition_point(|&(offset, _)| offset < last.last_offset);
            let survivor = older.checked_sub(1).and_then(|at| stayed.get(at)).map(|&(_, time)| time);
            if let (Some(survivor), Some(time)) = (survivor, state.expires_by())
                && survivor < time
                && !listed.contains(&producer_id)
            {
                let log =
                    format!("last batch at offset {}, newer than entries that stayed", last.last_offset);
                let kind = SnapshotConflictKind::LacksProducer;
                self.about(snapshot, producer_id, kind, None, Some(log));
            }
        });
    }

    /// Whether a broker that rebuilt its state from the log start, as it stood at some time, saw the open transaction
    /// begin here: with a batch of the producer, all of whose earlier ones end below the log start.
    fn is_first_above_log_start(
        &self,
        first: Offset,
        producer_id: ProducerId,
        transactions: &Transactions,
    ) -> bool {
        let begins = Beginning::Transactional { producer_id, at_first: true };
        self.beginnings.get(&first).copied().flatten() == Some(begins)
            && transactions.first_above_log_start(producer_id).is_none_or(|above| first <= above)
    }

    /// What the log has where the entry says that an open transaction began, if nothing of it can have begun there.
    fn false_beginning(
        &self,
        snapshot: &Snapshot,
        entry: &SnapshotEntry,
    ) -> Option<(SnapshotConflictKind, String)> {
        let first = entry.current_txn_first_offset?;
        if first >= snapshot.offset {
            let log = format!("offsets below {} are what the snapshot covers", snapshot.offset);
            return Some((SnapshotConflictKind::EntryBeyondSnapshot, log));
        }
        let log = match self.beginnings.get(&first).copied().flatten()? {
            Beginning::Transactional { producer_id: id, .. } if id == entry.producer_id => return None,
            Beginning::Transactional { producer_id: id, .. } => {
                format!("data of producer {id} at offset {first}")
            }
            Beginning::Other(id) => {
                format!("what producer {id} wrote at offset {first} is no data of a transaction")
            }
        };
        Some((SnapshotConflictKind::OtherTransaction, log))
    }

    /// Tells the producers that a snapshot names more than once: a broker writes its state by producer.
    fn tell_repeated(&mut self, snapshot: &Snapshot, entries: &[SnapshotEntry]) {
        let mut named: BTreeMap<ProducerId, &SnapshotEntry> = BTreeMap::new();
        for entry in entries {
            let Some(first) = named.insert(entry.producer_id, entry) else { continue };
            let said = format!("{}; and {}", words(first), words(entry));
            let log = Some("one state for each producer".to_owned());
            self.about(snapshot, entry.producer_id, SnapshotConflictKind::Repeated, Some(said), log);
        }
    }

    /// Whether the snapshot says that the open transaction ended, and offsets in which its marker may
    /// have stood are missing.
    fn marker_is_missing(
        context: &PartitionContext,
        snapshot: &Snapshot,
        entry: &SnapshotEntry,
        transactions: &Transactions,
        continuity: &Continuity,
    ) -> bool {
        let Some(last) = transactions.open_until(entry.producer_id) else { return false };
        let goes_on_behind = entry.current_txn_first_offset.is_none_or(|first| first > last);
        let before = entry.current_txn_first_offset.unwrap_or(snapshot.offset);
        goes_on_behind && continuity.misses_between(context, last.next(), before)
    }

    /// The coordinator's epoch in the last marker of a producer, where the entry has another one. An entry without
    /// it is of a producer that had expired, or had no marker yet.
    fn other_coordinator(
        snapshot: &Snapshot,
        entry: &SnapshotEntry,
        state: Option<&ProducerState>,
        continuity: &Continuity,
    ) -> Option<String> {
        let said = entry.coordinator_epoch?;
        if continuity.next_offset() != Some(snapshot.offset) || continuity.ends_in_damage() {
            return None;
        }
        let (marker, epoch) = state?.coordinator(continuity.tally())?;
        (said != epoch).then(|| format!("coordinator epoch {epoch} in the last marker, at offset {marker}"))
    }

    fn contradiction(
        &self,
        snapshot: &Snapshot,
        entry: &SnapshotEntry,
        state: Option<&ProducerState>,
        continuity: &Continuity,
    ) -> Option<(SnapshotConflictKind, String)> {
        let logged = state.and_then(|state| state.last_batch);
        let Some(offset) = entry.last_offset else {
            // No batch known in this epoch: right when a marker began the epoch, or came when the batch was forgotten.
            let misses_end = continuity.next_offset() != Some(snapshot.offset) || continuity.ends_in_damage();
            let state = state.filter(|state| state.has_data_in(entry.producer_epoch) && !misses_end)?;
            let last = state.last_batch.filter(|_| !state.may_have_lost_its_batch(continuity.tally()))?;
            return Some((
                SnapshotConflictKind::Stale,
                format!("a batch that ends at offset {}", last.last_offset),
            ));
        };
        if let Some(beyond) = beyond(snapshot, entry) {
            return Some(beyond);
        }
        let other = |log| Some((SnapshotConflictKind::OtherBatch, log));
        match self.witnesses.get(&offset) {
            Some(Witness::Ends(Named { producer_id: id, kind: Kind::Marker, .. }))
                if *id == entry.producer_id =>
            {
                None
            }
            Some(Witness::Ends(batch)) if batch.producer_id == entry.producer_id => {
                if batch.last_sequence != entry.last_sequence || batch.epoch != entry.producer_epoch {
                    let last = batch.last_sequence.map_or_else(|| "none".to_owned(), |last| last.to_string());
                    let epoch = batch.epoch.map_or_else(|| "none".to_owned(), |epoch| epoch.to_string());
                    return other(format!("epoch {epoch}, last sequence {last} at offset {offset}"));
                }
                if !batch.may_have_delta(entry.offset_delta) {
                    let log = format!(
                        "a batch from offset {} to {offset}",
                        offset.plus(i64::from(batch.offset_delta).saturating_neg())
                    );
                    return Some((SnapshotConflictKind::OtherBounds, log));
                }
                let later = logged.filter(|batch| batch.last_offset > offset)?;
                let log = format!("a later batch of it that ends at offset {}", later.last_offset);
                Some((SnapshotConflictKind::Stale, log))
            }
            Some(Witness::Ends(Named { producer_id: id, .. })) => {
                other(format!("a batch of producer {id} ends at offset {offset}"))
            }
            Some(&Witness::Across(id)) => {
                other(format!("a batch of producer {id} lies across offset {offset}"))
            }
            Some(Witness::Unseen) | None => None,
        }
    }

    fn about(
        &mut self,
        file: &Snapshot,
        producer_id: ProducerId,
        kind: SnapshotConflictKind,
        snapshot: Option<String>,
        log: Option<String>,
    ) {
        self.conflict(SnapshotConflict {
            file: file.file.clone(),
            offset: file.offset,
            kind,
            producer_id: Some(producer_id),
            snapshot,
            log,
        });
    }

    fn conflict(&mut self, conflict: SnapshotConflict) {
        if self.conflicts.len() < MAX_CONFLICTS {
            self.conflicts.push(conflict);
        }
    }
}

/// An entry about a batch that the snapshot does not cover.
fn beyond(snapshot: &Snapshot, entry: &SnapshotEntry) -> Option<(SnapshotConflictKind, String)> {
    entry.last_offset.filter(|offset| *offset >= snapshot.offset)?;
    let log = format!("offsets below {} are what the snapshot covers", snapshot.offset);
    Some((SnapshotConflictKind::EntryBeyondSnapshot, log))
}

/// What the log led to, where that is all known and not the epoch that the entry has: the newest batch or marker of a producer
/// sets it, whatever was forgotten before.
fn without_trace(
    entry: &SnapshotEntry,
    state: Option<&ProducerState>,
) -> Option<(SnapshotConflictKind, String)> {
    let Some(state) = state else {
        let log = "neither a batch nor a marker of the producer".to_owned();
        return Some((SnapshotConflictKind::WithoutTrace, log));
    };
    (state.epoch != entry.producer_epoch).then(|| {
        let epoch = state.epoch.map_or_else(|| "none".to_owned(), |epoch| epoch.to_string());
        let log = format!("epoch {epoch} in the newest batch or marker of the producer");
        (SnapshotConflictKind::WithoutTrace, log)
    })
}

fn open_words(first: Option<Offset>) -> String {
    match first {
        Some(first) => format!("a transaction open since offset {first}"),
        None => "no open transaction".to_owned(),
    }
}

fn words(entry: &SnapshotEntry) -> String {
    let epoch = entry.producer_epoch.map_or_else(|| "none".to_owned(), |epoch| epoch.to_string());
    match (entry.last_sequence, entry.last_offset) {
        (Some(sequence), Some(offset)) => {
            format!("epoch {epoch}, last sequence {sequence} at offset {offset}")
        }
        (_, Some(offset)) => format!("epoch {epoch}, last batch at offset {offset}"),
        (_, None) => format!("epoch {epoch}, no batch known"),
    }
}
