//! Whether a cleaner may have removed a record: a compacted log keeps the newest record of each key,
//! a tombstone for a while, and the marker of a transaction as long as its data.
//!
//! Source: `Cleaner.shouldRetainRecord` and `Cleaner.shouldDiscardBatch`, KAFKA-8522.

use super::log::{Held, Log, Walk};
use super::marks::{self, Mark, MarkKind};
use super::outcome::DecidingKind;
use crate::format::Decompressor;
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
    /// Keys are followed whose hash has so many zeros at its end.
    zeros: u32,
    markers: BTreeMap<ProducerId, BTreeMap<Offset, Transaction>>,
    marker_count: usize,
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

/// Whether the log that lacks a marker holds data that it would end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transaction {
    Unseen,
    HasData,
}

impl Default for Absent {
    fn default() -> Self {
        Self { keys: BTreeMap::new(), zeros: 0, markers: BTreeMap::new(), marker_count: 0, limit: FOLLOWED }
    }
}

impl Absent {
    #[cfg(test)]
    pub(super) fn with_limit(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Adds a record that the other log lacks.
    pub(super) fn add(&mut self, mark: &Mark, held: &Held, is_aborted: impl Fn() -> bool) {
        let (hash, tombstone) = match mark.kind {
            // Nothing is owed for records without key.
            MarkKind::WithoutKey => return,
            MarkKind::Control => return self.add_marker(held.header.producer_id, mark.offset),
            MarkKind::Value(hash) => (hash, false),
            MarkKind::Tombstone(hash) => (hash, true),
        };
        if is_aborted() || !self.follows(hash) {
            return;
        }
        let gone = Gone { offset: mark.offset, tombstone, older: false, superseded: false };
        self.keys.insert(hash, gone);
        while self.keys.len() > self.limit {
            self.zeros += 1;
            let zeros = self.zeros;
            self.keys.retain(|hash, _| hash.trailing_zeros() >= zeros);
        }
    }

    fn add_marker(&mut self, id: ProducerId, offset: Offset) {
        if self.marker_count < self.limit {
            self.marker_count += 1;
            self.markers.entry(id).or_default().insert(offset, Transaction::Unseen);
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
        self.keys.is_empty() && self.markers.is_empty()
    }

    /// What is decided by a record that a cleaner should have kept.
    pub(super) fn deciding(&self) -> Vec<(Offset, DecidingKind)> {
        let mut deciding: Vec<(Offset, DecidingKind)> = self
            .keys
            .values()
            .filter(|gone| !gone.superseded)
            .filter_map(|gone| match (gone.tombstone, gone.older) {
                (false, _) => Some((gone.offset, DecidingKind::NewestValue)),
                (true, true) => Some((gone.offset, DecidingKind::Tombstone)),
                // Nothing is left that it would delete.
                (true, false) => None,
            })
            .collect();
        let markers = self.markers.values().flatten().filter(|(_, seen)| **seen == Transaction::HasData);
        deciding.extend(markers.map(|(&offset, _)| (offset, DecidingKind::Marker)));
        deciding.sort_unstable();
        deciding
    }

    fn see(&mut self, mark: &Mark) {
        let (MarkKind::Value(hash) | MarkKind::Tombstone(hash)) = mark.kind else { return };
        if let Some(gone) = self.keys.get_mut(&hash) {
            gone.superseded |= mark.offset > gone.offset;
            gone.older |= mark.offset < gone.offset;
        }
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
        if !absent.keys.is_empty()
            && !header.is_control()
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

/// Absent markers of a producer below `below` would have ended what is open.
fn end_transactions(absent: &mut Absent, open: &mut BTreeSet<ProducerId>, id: ProducerId, below: Offset) {
    let Some(markers) = absent.markers.get_mut(&id) else { return };
    for (_, seen) in markers.range_mut(..below).filter(|(_, seen)| **seen == Transaction::Unseen) {
        if open.remove(&id) {
            *seen = Transaction::HasData;
        }
    }
}
