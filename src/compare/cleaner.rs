//! Whether a cleaner may have removed a record: a compacted log keeps the newest record of each key,
//! a tombstone for a while, and the marker of a transaction as long as its data.
//!
//! Source: `Cleaner.shouldRetainRecord` and `Cleaner.shouldDiscardBatch`, KAFKA-8522.

use super::log::{Held, Log, Walk};
use super::marks::{self, Mark, MarkKind};
use super::outcome::DecidingKind;
use crate::facts::Outcome as Withheld;
use crate::format::Decompressor;
use crate::format::control::Outcome;
use crate::input::ReadMode;
use crate::units::{Offset, ProducerId};
use std::collections::{BTreeMap, BTreeSet};

/// Keys that are followed at most, and markers: some 50 MB.
const FOLLOWED: usize = 1 << 19;

/// What one log holds and the other lacks where its cleaner has been.
#[derive(Debug)]
pub(super) struct Absent {
    /// The last such record of each key that is followed, by the hash of the key.
    keys: BTreeMap<u64, Gone>,
    /// The same of transactions that have no end in the log that holds it: what it was worth, the log that
    /// lacks it may say.
    unsettled: BTreeMap<u64, Unsettled>,
    /// Keys are followed whose hash has so many zeros at its end.
    zeros: u32,
    /// Markers of which it is not known yet whether the other log holds data that they would end.
    markers: BTreeMap<ProducerId, BTreeSet<Offset>>,
    marker_count: usize,
    /// Markers whose data the other log holds.
    ends_missing: Vec<Offset>,
    /// Some have no key: no cleaner takes one record for another.
    has_unkeyed: bool,
    limit: usize,
}

#[derive(Clone, Copy, Debug)]
struct Gone {
    offset: Offset,
    tombstone: bool,
    /// The other log holds an older record of the key.
    older: bool,
    /// The other log holds a later record of the key.
    superseded: bool,
}

/// A record of a transaction that has no end in the log that holds it.
#[derive(Clone, Copy, Debug)]
struct Unsettled {
    gone: Gone,
    producer_id: ProducerId,
    /// How the transaction ended by the other log.
    outcome: Option<Outcome>,
}

impl Default for Absent {
    fn default() -> Self {
        Self {
            keys: BTreeMap::new(),
            unsettled: BTreeMap::new(),
            zeros: 0,
            markers: BTreeMap::new(),
            marker_count: 0,
            ends_missing: Vec::new(),
            has_unkeyed: false,
            limit: FOLLOWED,
        }
    }
}

impl Absent {
    #[cfg(test)]
    pub(super) fn with_limit(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Adds a record that the other log lacks; `withheld` is the outcome of the transaction that withholds it
    /// from readers.
    pub(super) fn add(&mut self, mark: &Mark, held: &Held, withheld: impl Fn() -> Option<Withheld>) {
        let (hash, tombstone) = match mark.kind {
            // Nothing is owed for records without key.
            MarkKind::WithoutKey => {
                self.has_unkeyed = true;
                return;
            }
            MarkKind::Control => return self.add_marker(held.header.producer_id, mark.offset),
            MarkKind::Value(hash) => (hash, false),
            MarkKind::Tombstone(hash) => (hash, true),
        };
        if !self.follows(hash) {
            return;
        }
        let gone = Gone { offset: mark.offset, tombstone, older: false, superseded: false };
        match withheld() {
            Some(Withheld::Aborted) => return,
            Some(Withheld::Open) => {
                let unsettled = Unsettled { gone, producer_id: held.header.producer_id, outcome: None };
                self.unsettled.insert(hash, unsettled);
            }
            Some(Withheld::Committed) | None => {
                self.keys.insert(hash, gone);
            }
        }
        while self.keys.len() + self.unsettled.len() > self.limit {
            self.zeros += 1;
            let zeros = self.zeros;
            self.keys.retain(|hash, _| hash.trailing_zeros() >= zeros);
            self.unsettled.retain(|hash, _| hash.trailing_zeros() >= zeros);
        }
    }

    fn add_marker(&mut self, id: ProducerId, offset: Offset) {
        if self.marker_count < self.limit {
            self.marker_count += 1;
            self.markers.entry(id).or_default().insert(offset);
        }
    }

    fn follows(&self, hash: u64) -> bool {
        hash.trailing_zeros() >= self.zeros
    }

    /// One of so many keys is followed.
    pub(super) fn one_of(&self) -> u64 {
        1u64.checked_shl(self.zeros).unwrap_or(u64::MAX)
    }

    fn is_empty(&self) -> bool {
        !self.follows_keys() && self.markers.is_empty()
    }

    fn follows_keys(&self) -> bool {
        !self.keys.is_empty() || !self.unsettled.is_empty()
    }

    /// Whether each of them has a later record of its key in the other log, so that its cleaner may have taken it.
    pub(super) fn all_superseded(&self) -> bool {
        !self.has_unkeyed && self.deciding().is_empty()
    }

    /// What is decided by a record that a cleaner should have kept.
    pub(super) fn deciding(&self) -> Vec<(Offset, DecidingKind)> {
        // Without an end in either log, both may have been removed with an aborted transaction.
        let committed = self.unsettled.values().filter(|one| one.outcome == Some(Outcome::Commit));
        let mut deciding: Vec<(Offset, DecidingKind)> = self
            .keys
            .values()
            .chain(committed.map(|one| &one.gone))
            .filter(|gone| !gone.superseded)
            .filter_map(|gone| match (gone.tombstone, gone.older) {
                (false, _) => Some((gone.offset, DecidingKind::NewestValue)),
                (true, true) => Some((gone.offset, DecidingKind::Tombstone)),
                // Nothing is left that it would delete.
                (true, false) => None,
            })
            .collect();
        deciding.extend(self.ends_missing.iter().map(|&offset| (offset, DecidingKind::Marker)));
        deciding.sort_unstable();
        deciding
    }

    fn see(&mut self, mark: &Mark) {
        let (MarkKind::Value(hash) | MarkKind::Tombstone(hash)) = mark.kind else { return };
        let unsettled = self.unsettled.get_mut(&hash).map(|one| &mut one.gone);
        for gone in self.keys.get_mut(&hash).into_iter().chain(unsettled) {
            gone.superseded |= mark.offset > gone.offset;
            gone.older |= mark.offset < gone.offset;
        }
    }

    /// The producers whose records wait for an outcome.
    fn waiting(&self) -> BTreeMap<ProducerId, Vec<u64>> {
        let mut waiting: BTreeMap<ProducerId, Vec<u64>> = BTreeMap::new();
        for (hash, one) in &self.unsettled {
            waiting.entry(one.producer_id).or_default().push(*hash);
        }
        waiting
    }

    /// The first marker of a producer behind its records ends them.
    fn settle(&mut self, waiting: &mut Vec<u64>, marker: Offset, outcome: Outcome) {
        waiting.retain(|hash| match self.unsettled.get_mut(hash) {
            Some(one) if one.gone.offset < marker => {
                one.outcome = Some(outcome);
                false
            }
            _ => true,
        });
    }
}

/// Looks for what supersedes or outlives the absent records in the log that lacks them.
pub(super) fn decide(absent: &mut Absent, lacking: &Log<'_>, mode: ReadMode) {
    if absent.is_empty() {
        return;
    }
    let Some(from) = lacking.first_offset() else { return };
    let mut decompressor = Decompressor::with_limits(lacking.limits);
    let mut walk = Walk::new(lacking, from, mode);
    let mut open: BTreeSet<ProducerId> = BTreeSet::new();
    let mut waiting = absent.waiting();
    while let Some(held) = &walk.held {
        let header = &held.header;
        if absent.markers.contains_key(&header.producer_id) {
            if header.is_control() || header.is_transactional() {
                end_transactions(absent, &mut open, header.producer_id, header.base_offset);
            }
            if header.is_control() {
                open.remove(&header.producer_id);
            } else if header.is_transactional() && header.records_count != Some(0) {
                open.insert(header.producer_id);
            }
        }
        if header.is_control()
            && let Some(waiting) = waiting.get_mut(&header.producer_id)
            && let Some(outcome) = marks::ends_with(held, &mut decompressor)
        {
            absent.settle(waiting, header.base_offset, outcome);
        }
        if !header.is_control()
            && absent.follows_keys()
            && let Some(marks) = marks::of(held, held.low, &mut decompressor)
        {
            for mark in &marks {
                if lacking.withheld_by(mark.offset).is_none() {
                    absent.see(mark);
                }
            }
        }
        walk.advance();
    }
    let ids: Vec<ProducerId> = open.iter().copied().collect();
    for id in ids {
        end_transactions(absent, &mut open, id, Offset(i64::MAX));
    }
}

/// Of the absent markers of a producer below `below` the first would have ended what is open before them; the
/// others had no data left, and none that stands behind them is theirs.
fn end_transactions(absent: &mut Absent, open: &mut BTreeSet<ProducerId>, id: ProducerId, below: Offset) {
    let Some(markers) = absent.markers.get_mut(&id) else { return };
    while let Some(marker) = markers.first().copied().filter(|marker| *marker < below) {
        markers.pop_first();
        if open.remove(&id) {
            absent.ends_missing.push(marker);
        }
    }
}
