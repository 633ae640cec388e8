//! Writers that another partition shows alive.
//!
//! A writer that is first seen behind an original in one partition may have been seen before it in
//! another: where it stands before a record of the original's writer that is no younger than the
//! original, by that writer's own clock. Then both were alive, and there was no restart in between.
//! Times that are those of the event and not of the write tell nothing.

use super::pair::{Begun, Pair};
use crate::finding::Level;
use crate::relations::StoredCopy;
use std::collections::BTreeMap;

/// By the original's writer and the copy's: since when, by the clock of the former, the latter is
/// known to live.
pub(super) struct Alive(BTreeMap<(u32, u32), i64>);

impl Alive {
    pub(super) fn of<'r>(pairs: impl Iterator<Item = Pair<'r>>) -> Self {
        let mut alive: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        for pair in pairs.filter(|pair| pair.same_partition() && has_times(pair)) {
            let (Some(earlier), Some(later)) = (pair.earlier.session, pair.later.session) else { continue };
            let mut seen = |by: &StoredCopy, sessions| {
                if let Some(time) = by.client_timestamp {
                    alive.entry(sessions).and_modify(|first| *first = time.min(*first)).or_insert(time);
                }
            };
            if pair.later_session_begun() == Begun::Before {
                seen(&pair.earlier, (earlier, later));
            }
            seen(&pair.later, (later, earlier));
        }
        Self(alive)
    }

    /// Whether the writer of the copy was alive when the original was written.
    pub(super) fn shows(&self, pair: &Pair<'_>) -> bool {
        let (Some(earlier), Some(later)) = (pair.earlier.session, pair.later.session) else { return false };
        let since = self.0.get(&(earlier, later)).filter(|_| has_times(pair));
        since.zip(pair.earlier.client_timestamp).is_some_and(|(since, written)| *since <= written)
    }
}

fn has_times(pair: &Pair<'_>) -> bool {
    pair.level >= Level::E4
}
