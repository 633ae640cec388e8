//! Two logs side by side: where they are equal, where they differ, and what explains it.
//!
//! Goes in: two [`Log`]s, as places of their segments. Comes out: a [`Comparison`]. Both are walked
//! once, side by side, in the order of their offsets; batches with equal bytes are passed over, and
//! records are only looked at where batches differ. Where one log lacks what its cleaner may have
//! removed, that log is walked a second time: whether a later record of the key is there.
//!
//! Innocent, and told as such: one log ends earlier (lag), one begins later (retention), bytes of
//! one cannot be read, one has been compacted further (holes, sparse batches, delete horizons, other
//! compression). What remains is a difference: other records at one offset, an equal record of
//! another writer or under another leader epoch, records that only one holds. Of records that a
//! cleaner may have removed those count that decide what a reader of the whole log ends up with: the
//! newest value of a key, a tombstone above an older value, the marker of a transaction.
//!
//! Of two logs that part at their ends because the leadership changed, [`fate()`] tells what became of the
//! records that only the older leader's log holds.
//!
//! Memory: one batch of each log, and a table of keys with a bound. Above the bound a part of the
//! keys is followed, chosen by their hashes, and [`Comparison::followed`] says how small it is.
//!
//! Source: `LogCleaner`, `Cleaner.buildOffsetMap` and `MemoryRecords.filterTo` for what compaction
//! keeps; KIP-101 and KIP-279 for what a follower truncates.

mod cleaner;
mod fate;
mod keys;
mod log;
mod marks;
mod merge;
mod newest;
mod outcome;
mod room;
mod sketch;

pub use fate::{Fate, Loss, Tail, TailFate, fate};
pub use keys::each_key;
pub use log::{Log, LogSegment};
pub use newest::{Last, Newest};
pub use outcome::{
    Comparison, Deciding, DecidingKind, Difference, DifferenceKind, Epochs, Equal, Missing, Rest, Side,
    Stretch, Writers,
};
pub use room::Batches;
pub use sketch::Sketch;

use crate::input::ReadMode;

/// Compares two logs, or as much of them as `stop` allows.
#[must_use]
pub fn compare(a: &Log<'_>, b: &Log<'_>, mode: ReadMode, stop: &dyn Fn() -> bool) -> Comparison {
    let (mut comparison, absent, unexplained) = merge::merge(a, b, mode, stop);
    if comparison.stopped_at.is_some() {
        // Whether what only one of them holds decides anything is seen in the rest of the other.
        return comparison;
    }
    for (holder, (mut absent, mut unexplained)) in
        [Side::A, Side::B].into_iter().zip(absent.into_iter().zip(unexplained))
    {
        let lacking = if holder == Side::A { b } else { a };
        cleaner::decide(&mut absent, lacking, mode);
        comparison.settle(holder, &absent, lacking.cleaned_below);
        cleaner::decide(&mut unexplained, lacking, mode);
        if let Some(superseded) = comparison.superseded.get_mut(holder.other().index()) {
            *superseded = unexplained.all_superseded();
        }
    }
    comparison
}

#[cfg(test)]
mod tests;
