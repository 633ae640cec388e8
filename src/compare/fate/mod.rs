//! What became of the last records of an older leader in the log of a newer one.
//!
//! A leader that lost its office before its last records were copied truncates them when it rejoins
//! (KIP-101, KIP-279). That alone loses nothing: a client that was not told of success writes them
//! again, under the same producer epoch and sequence, a raised epoch (KIP-360) or another producer id,
//! and a coordinator repeats the marker of a transaction until all replicas in sync have it. So each
//! record of such a tail is looked for in the newer log, from the offset on at which the two part.
//!
//! Not missed either: what was aborted in one of the two, and what its producer took back by giving its sequence
//! to something else in the same epoch. What it did not come to again is missing, and nothing more is known: the
//! client may be on its way, or dead. An idempotent client sends in order, so what it wrote from behind a record,
//! or what it wrote anew under a raised epoch, shows that it had done with that record. What a transaction wrote that is committed in the
//! tail was acknowledged (KIP-98: the client ends a transaction when all of its batches are): no later abort takes
//! it back.
//!
//! A record that lies below that offset in both, and came again in the tail alone, is there as well.
//!
//! What remains is told by what shows that somebody relied on it ([`Loss`]). A record with a producer
//! id is acknowledged by all replicas in sync, for idempotence asks for `acks=all` (KIP-98); one without
//! may have been acknowledged by the leader alone.
//!
//! Memory: the records of the tail, up to a bound. Above it a part of them is followed, chosen by their
//! contents, and [`TailFate::one_of`] says how small it is.

mod held;
mod seen;

use super::log::{Held, Log};
use super::outcome::Writers;
use crate::format::{Batch, Decompressor, Record};
use crate::input::ReadMode;
use crate::units::{Offset, ProducerEpoch, ProducerId};
use held::{Followed, One};
use seen::Seen;
use std::collections::BTreeMap;

/// What became of a record, or of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It stands in the newer log again, with the client's time.
    Again,
    /// Its content stands there again, with another time: somebody sent it once more.
    AgainLater,
    /// It was aborted, or its producer wrote its sequence anew.
    TakenBack,
    /// The cleaner of the newer log may have removed it: a later record of its key is there.
    Replaced,
    /// Nothing of it is in the newer log.
    Lost(Loss),
}

/// What shows that somebody relied on a record that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// It lay below the checkpointed high watermark: consumers could read it.
    Committed,
    /// The tail holds the commit of its transaction as well: a producer commits when it has been told of all of
    /// its records.
    InCommittedTransaction,
    /// Its producer wrote something in the newer log that it sent behind it.
    LeftBehind,
    /// It has no producer id, so the leader alone may have acknowledged it, and the newer one was written
    /// to.
    Unprotected,
    /// Nothing does: perhaps nobody was told that it is stored.
    Unknown,
    /// Nothing does, and it may stand in a part of the newer log that cannot be read or is deleted.
    Unreadable,
}

/// The end of an older leader's log, and the log that goes on without it.
#[derive(Clone, Copy, Debug)]
pub struct Tail<'l> {
    /// The log that holds it.
    pub older: &'l Log<'l>,
    /// The log that a newer leader wrote.
    pub newer: &'l Log<'l>,
    /// From here on they part.
    pub from: Offset,
    /// The checkpointed high watermark beside the older log.
    pub committed_below: Option<Offset>,
}

impl Tail<'_> {
    /// Whether a checkpoint shows that consumers could read the offset.
    fn was_committed(&self, offset: Offset) -> bool {
        self.committed_below.is_some_and(|mark| offset < mark)
    }
}

/// What became of a tail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TailFate {
    /// Its records by fate.
    pub records: BTreeMap<Fate, u64>,
    /// Its markers of transactions by fate.
    pub markers: BTreeMap<Fate, u64>,
    /// Who wrote the records that are lost.
    pub lost_writers: Writers,
    /// The first offset that is lost.
    pub first_lost: Option<Offset>,
    /// One of so many records was followed.
    pub one_of: u64,
}

impl TailFate {
    /// Records that are lost and of which `which` is true.
    #[must_use]
    pub fn lost_records(&self, which: impl Fn(Loss) -> bool) -> u64 {
        lost(&self.records, which)
    }

    /// Markers that are lost and of which `which` is true.
    #[must_use]
    pub fn lost_markers(&self, which: impl Fn(Loss) -> bool) -> u64 {
        lost(&self.markers, which)
    }

    /// Records of a fate.
    #[must_use]
    pub fn records_of(&self, fate: Fate) -> u64 {
        self.records.get(&fate).copied().unwrap_or(0)
    }

    fn add_record(&mut self, one: &One, fate: Fate) {
        *self.records.entry(fate).or_default() += 1;
        if matches!(fate, Fate::Lost(_)) {
            self.lost_writers.add(one.writer.0);
            self.lose(one.offset);
        }
    }

    fn lose(&mut self, offset: Offset) {
        self.first_lost = Some(self.first_lost.map_or(offset, |first| first.min(offset)));
    }
}

fn lost(fates: &BTreeMap<Fate, u64>, which: impl Fn(Loss) -> bool) -> u64 {
    let chosen = |fate: &Fate| matches!(fate, Fate::Lost(loss) if which(*loss));
    fates.iter().filter(|(fate, _)| chosen(fate)).map(|(_, number)| number).sum()
}

/// A producer id with one of its epochs.
type Writer = (ProducerId, Option<ProducerEpoch>);

/// Looks for the records of a tail in the newer log.
#[must_use]
pub fn fate(tail: &Tail<'_>, mode: ReadMode) -> TailFate {
    fate_following(tail, mode, held::FOLLOWED)
}

pub(super) fn fate_following(tail: &Tail<'_>, mode: ReadMode, limit: usize) -> TailFate {
    let followed = Followed::of(tail, mode, limit);
    let mut seen = Seen::of(tail, &followed, mode);
    let mut told = TailFate { one_of: followed.one_of(), ..TailFate::default() };
    // Records with the client's time take their counterparts first.
    let mut left = Vec::new();
    for one in &followed.records {
        if seen.holds(one) {
            told.add_record(one, Fate::Again);
        } else {
            left.push(one);
        }
    }
    let fates: Vec<(&One, Fate)> = left.into_iter().map(|one| (one, seen.fate(tail, one))).collect();
    let lost = fates.iter().filter(|(_, fate)| matches!(fate, Fate::Lost(_)));
    let stored_before = seen::below(tail, lost.map(|(one, _)| one.digest).collect(), mode);
    for (one, fate) in fates {
        told.add_record(one, if stored_before.contains(&one.digest) { Fate::Again } else { fate });
    }
    for unread in &followed.unread {
        *told.records.entry(Fate::Lost(Loss::Unreadable)).or_default() += unread.records;
        told.lose(unread.offset);
    }
    for marker in &followed.markers {
        let fate = seen.marker_fate(tail, marker);
        *told.markers.entry(fate).or_default() += 1;
        if matches!(fate, Fate::Lost(_)) {
            told.lose(marker.offset);
        }
    }
    told
}

/// Calls `on` for each record of a batch from `from` on; tells whether the batch could be read.
fn each_record(
    held: &Held,
    from: Offset,
    decompressor: &mut Decompressor,
    mut on: impl FnMut(&Record<'_>),
) -> bool {
    let batch = Batch { position: held.position, bytes: &held.bytes, header: held.header.clone() };
    let read = batch.for_each_record(decompressor, |record| {
        if record.offset >= from {
            on(record);
        }
    });
    read.is_ok()
}
