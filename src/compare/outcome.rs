//! What a comparison says, as plain values.

use super::cleaner::Absent;
use super::log::Held;
use crate::units::{LeaderEpoch, Offset, ProducerId};
use std::collections::BTreeSet;

/// Differences that are listed; the counts hold all.
const LISTED: usize = 1000;
/// Producer ids that are named for one difference.
const WRITERS: usize = 16;

/// One of the two logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The first one.
    A,
    /// The second one.
    B,
}

impl Side {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// The index in a pair of values.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

/// How two logs differ at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// The first log holds a record, the second none, and nothing explains it.
    OnlyA,
    /// The second log holds a record, the first none, and nothing explains it.
    OnlyB,
    /// Both hold a record, and not the same.
    Records,
    /// Both hold the same record, of another producer, producer epoch or sequence.
    Writer,
    /// Both hold the same record, under another leader epoch.
    LeaderEpoch,
    /// Both hold the same record, with another time of appending, or one that the broker stamped and one that it did not.
    Time,
}

/// A stretch of offsets in which two logs differ in one way, without an equal record in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// How.
    pub kind: DifferenceKind,
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset.
    pub last_offset: Offset,
    /// Records that are not markers, in each log.
    pub records: [u64; 2],
    /// The leader epochs of the batches, in each log.
    pub leader_epochs: [Option<Epochs>; 2],
    /// Who wrote them, in each log.
    pub writers: [Writers; 2],
}

/// The smallest and the largest leader epoch of some batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epochs {
    /// The smallest.
    pub smallest: LeaderEpoch,
    /// The largest.
    pub largest: LeaderEpoch,
}

impl Epochs {
    pub(super) fn join(into: &mut Option<Self>, epoch: Option<LeaderEpoch>) {
        let Some(epoch) = epoch else { return };
        let known = into.get_or_insert(Self { smallest: epoch, largest: epoch });
        known.smallest = known.smallest.min(epoch);
        known.largest = known.largest.max(epoch);
    }
}

/// Who wrote some batches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writers {
    /// Producer ids; the first ones, where there are many.
    pub ids: BTreeSet<ProducerId>,
    /// Whether there are more.
    pub more: bool,
}

impl Writers {
    pub(super) fn add(&mut self, id: ProducerId) {
        if self.ids.len() < WRITERS || self.ids.contains(&id) {
            self.ids.insert(id);
        } else {
            self.more = true;
        }
    }

    /// Adds the writers of other batches.
    pub fn join(&mut self, other: Option<&Self>) {
        for id in other.into_iter().flat_map(|other| &other.ids) {
            self.add(*id);
        }
        self.more |= other.is_some_and(|other| other.more);
    }
}

/// Records that one log lacks for an innocent reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// The cleaner was there.
    pub cleaned: u64,
    /// Bytes that cannot be read were there.
    pub unreadable: u64,
}

/// The records of batches with equal bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Equal {
    /// Records, markers aside.
    pub records: u64,
    /// Of these, the records that transactions withhold from read_committed consumers.
    pub withheld: u64,
}

/// What the longer log holds behind the end of the shorter one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// The longer one.
    pub side: Side,
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset.
    pub last_offset: Offset,
    /// Records that are not markers.
    pub records: u64,
    /// The leader epochs of its batches.
    pub leader_epochs: Option<Epochs>,
    /// Who wrote them.
    pub writers: Writers,
    /// What of it may stand in bytes behind the last batch of the shorter one that cannot be read.
    pub unreadable: Option<Stretch>,
}

impl Rest {
    /// Whether all of it may stand in bytes of the shorter one that cannot be read.
    #[must_use]
    pub fn may_be_unreadable(&self) -> bool {
        self.unreadable.is_some_and(|unreadable| unreadable.last_offset == self.last_offset)
    }
}

/// Offsets in a row, and the records there that are not markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The last offset.
    pub last_offset: Offset,
    /// Records that are not markers.
    pub records: u64,
}

/// A record that decides what a reader of the whole log ends up with, and that only one log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deciding {
    /// Where.
    pub offset: Offset,
    /// What it is.
    pub kind: DecidingKind,
    /// The log that holds it.
    pub holder: Side,
}

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecidingKind {
    /// The newest value of a key: the other log has no later record of it.
    NewestValue,
    /// A tombstone: the other log still holds an older value of the key.
    Tombstone,
    /// The marker of a transaction whose data the other log still holds.
    Marker,
}

/// What two logs are to each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// From here on both are to hold the same: the larger of their first offsets, or of where one begins that lost
    /// its first files.
    pub from: Offset,
    /// The first offset of each, by the name of its first segment; `None` for an empty log.
    pub begins: [Option<Offset>; 2],
    /// The offset behind the last batch of each.
    pub ends: [Offset; 2],
    /// Batches with equal bytes.
    pub equal_batches: u64,
    /// What these hold.
    pub equal: Equal,
    /// Records that are equal, markers among them.
    pub equal_records: u64,
    /// The last offset with equal records.
    pub last_equal: Option<Offset>,
    /// Where they differ without an innocent reason.
    pub differences: Vec<Difference>,
    /// How many are not listed.
    pub differences_omitted: u64,
    /// The first offset that differs without an innocent reason.
    pub first_difference: Option<Offset>,
    /// Where somebody stopped the comparison: nothing is said of this offset and those behind it.
    pub stopped_at: Option<Offset>,
    /// The leader epochs of all batches that differ, in each.
    pub differing_epochs: [Option<Epochs>; 2],
    /// Offsets at which they hold other records under one leader epoch: a leader gives an offset once, so no
    /// change of leaders explains it.
    pub clashes: u64,
    /// Records that each log holds where the other holds another one or none.
    pub differing_records: [u64; 2],
    /// Records that each log lacks for an innocent reason.
    pub missing: [Missing; 2],
    /// Whether what each log lacks, where nothing shows that its cleaner was there, has later records of the
    /// same keys in it: a cleaner would have removed just that.
    pub superseded: [bool; 2],
    /// Records that decide, and that a cleaner should not have removed.
    pub deciding: Vec<Deciding>,
    /// How many of them are not listed.
    pub deciding_omitted: u64,
    /// One of so many keys was followed to see whether a record decides.
    pub followed: u64,
    /// What the longer one holds behind the end of the shorter one.
    pub rest: Option<Rest>,
    /// Bytes that cannot be read, in each.
    pub damage: [u64; 2],
    /// Whether the files end in bytes that cannot be read, in each.
    pub ends_in_damage: [bool; 2],
}

impl Comparison {
    /// Everything from [`Comparison::from`] to here is the same, but for what compaction or damage
    /// took.
    #[must_use]
    pub fn equal_up_to(&self) -> Offset {
        let [a, b] = self.ends;
        let compared = self.stopped_at.unwrap_or(a.min(b));
        self.first_difference.unwrap_or(compared).max(self.from)
    }

    /// Whether nothing differs without an innocent reason.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.first_difference.is_none()
    }

    /// Whether the two differ, and in nothing but what the cleaner took.
    #[must_use]
    pub fn compaction_only(&self) -> bool {
        self.agrees()
            && self.rest.is_none()
            && self.missing.iter().any(|missing| missing.cleaned > 0)
            && self.missing.iter().all(|missing| missing.unreadable == 0)
    }

    /// Whether the two differ in nothing but records that a cleaner may have removed from the one that lacks them,
    /// though nothing else shows that it was there: its checkpoint was not given, or the batches are gone whole.
    #[must_use]
    pub fn may_be_compaction(&self) -> bool {
        let [a, b] = self.superseded;
        let explained = |difference: &Difference| match difference.kind {
            DifferenceKind::OnlyA => b,
            DifferenceKind::OnlyB => a,
            DifferenceKind::Records
            | DifferenceKind::Writer
            | DifferenceKind::LeaderEpoch
            | DifferenceKind::Time => false,
        };
        !self.differences.is_empty() && self.deciding.is_empty() && self.differences.iter().all(explained)
    }

    /// Whether all that differs stands behind all that is equal.
    #[must_use]
    pub fn differs_at_the_end_only(&self) -> bool {
        self.first_difference.is_some_and(|first| self.last_equal.is_none_or(|last| last < first))
    }

    pub(super) fn equal(&mut self, last_offset: Offset, records: u64) {
        self.equal_records += records;
        self.last_equal = self.last_equal.max(Some(last_offset));
    }

    /// Notes one offset at which the logs differ.
    pub(super) fn differ(&mut self, kind: DifferenceKind, offset: Offset, held: [Option<&Held>; 2]) {
        self.differ_over(kind, (offset, offset), 1, held);
    }

    /// Notes offsets of one batch at which the logs differ, and how many records stand there.
    pub(super) fn differ_over(
        &mut self,
        kind: DifferenceKind,
        (offset, last_offset): (Offset, Offset),
        number: u64,
        held: [Option<&Held>; 2],
    ) {
        let earliest = self.first_difference.is_none_or(|first| offset < first);
        if earliest {
            self.first_difference = Some(offset);
        }
        if let [Some(a), Some(b)] = held
            && a.header.partition_leader_epoch == b.header.partition_leader_epoch
        {
            self.clashes += 1;
        }
        let last_equal = self.last_equal;
        let goes_on = self.differences.last().is_some_and(|last| {
            last.kind == kind && last_equal.is_none_or(|equal| equal < last.first_offset)
        }) && self.differences_omitted == 0;
        if !goes_on {
            if self.differences.len() >= LISTED {
                self.differences_omitted += 1;
            } else {
                self.differences.push(Difference {
                    kind,
                    first_offset: offset,
                    last_offset: offset,
                    records: [0; 2],
                    leader_epochs: [None; 2],
                    writers: [Writers::default(), Writers::default()],
                });
            }
        }
        let listed = self.differences_omitted == 0;
        let mut last = self.differences.last_mut().filter(|_| listed);
        if let Some(last) = &mut last {
            last.last_offset = last_offset;
        }
        for (at, held) in held.into_iter().enumerate() {
            let (Some(held), Some(epochs), Some(records)) =
                (held, self.differing_epochs.get_mut(at), self.differing_records.get_mut(at))
            else {
                continue;
            };
            let count = if held.header.is_control() { 0 } else { number };
            Epochs::join(epochs, held.header.partition_leader_epoch);
            *records += count;
            if let Some(last) = &mut last {
                if let Some(epochs) = last.leader_epochs.get_mut(at) {
                    Epochs::join(epochs, held.header.partition_leader_epoch);
                }
                if let Some(records) = last.records.get_mut(at) {
                    *records += count;
                }
                if let Some(writers) = last.writers.get_mut(at) {
                    writers.add(held.header.producer_id);
                }
            }
        }
    }

    /// Adds what the cleaner of the log that lacks records should have kept.
    pub(super) fn settle(&mut self, holder: Side, absent: &Absent, cleaned_below: Option<Offset>) {
        let held_up_to = self.ends.get(holder.index()).copied().unwrap_or_default();
        // Who knows of the cleaner by the topic's policy alone does not know how far it went: at most to the end.
        let end = self.ends.get(holder.other().index()).copied().unwrap_or_default();
        self.followed = self.followed.max(absent.one_of());
        for (offset, kind) in absent.deciding() {
            // A later record, itself removed since, may stand behind the end of the log that holds
            // this one: then its absence is the work of the cleaner.
            if kind == DecidingKind::NewestValue
                && cleaned_below.is_none_or(|below| below.min(end) > held_up_to)
            {
                continue;
            }
            let earliest = self.first_difference.is_none_or(|first| offset < first);
            if earliest {
                self.first_difference = Some(offset);
            }
            if self.deciding.len() < LISTED {
                self.deciding.push(Deciding { offset, kind, holder });
            } else {
                self.deciding_omitted += 1;
            }
        }
        self.deciding.sort_unstable();
    }
}
