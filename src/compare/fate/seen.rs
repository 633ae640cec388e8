//! What the newer log holds of a tail, from where the two part.

use super::super::log::{Log, Walk};
use super::super::marks;
use super::held::{Followed, Marker, One};
use super::{Fate, Loss, Tail, Writer, each_record};
use crate::facts::{Outcome as Withheld, WithheldRange};
use crate::format::control::Outcome;
use crate::format::{BatchHeader, Decompressor, Record};
use crate::input::ReadMode;
use crate::units::{Offset, ProducerId, Sequence};
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::xxh3_64;

/// Half of the sequences: what is further away lies behind.
const HALF: u32 = 1 << 30;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Seen {
    digests: BTreeSet<u128>,
    /// Records with the content of one that was looked for, and a time that none of these has.
    contents: BTreeMap<u128, u64>,
    /// Which records of the tail have taken one of these: equal ones take it together.
    taken: BTreeSet<u128>,
    keys: BTreeSet<u64>,
    /// The sequences of each producer epoch.
    sequences: BTreeMap<Writer, Sequences>,
    /// How far each producer epoch came.
    reached: BTreeMap<Writer, Reached>,
    markers: BTreeMap<ProducerId, Vec<Outcome>>,
    /// Transactions that are committed in the tail, by producer and number.
    commits: BTreeSet<(ProducerId, usize)>,
    has_records: bool,
    /// Some of it cannot be read, or was deleted.
    unreadable: bool,
}

/// The sequences that one epoch of a producer used there.
#[derive(Clone, Copy, Debug)]
struct Sequences {
    first: Sequence,
    /// How far behind the first one the last one is.
    steps: u32,
}

impl Sequences {
    /// Whether the sequence lies in front of the first one.
    const fn begin_behind(self, sequence: Sequence) -> bool {
        self.first.distance_to(sequence) >= HALF
    }

    const fn hold(self, sequence: Sequence) -> bool {
        self.first.distance_to(sequence) <= self.steps
    }
}

/// How far an epoch of a producer came: a client sends in order, so what it wrote shows what it had done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    /// It wrote again what stands there in the tail, and nothing from behind it.
    InTail(Offset),
    /// It wrote something that is not in the tail.
    New,
}

/// What is looked for, to be asked for often: with the first place in the tail.
struct Sought {
    digests: BTreeMap<u128, Offset>,
    contents: BTreeMap<u128, Offset>,
    keys: BTreeSet<u64>,
    producers: BTreeSet<ProducerId>,
}

impl Sought {
    /// Where in the tail a record stands.
    fn place(&self, record: &Record<'_>, content: u128) -> Option<Offset> {
        let place = self.contents.get(&content)?;
        self.digests.get(&marks::digest(record)).or(Some(place)).copied()
    }
}

impl Seen {
    pub(super) fn of(tail: &Tail<'_>, followed: &Followed, mode: ReadMode) -> Self {
        let records = || followed.records.iter();
        let sought = Sought {
            digests: records().rev().map(|one| (one.digest, one.offset)).collect(),
            contents: records().rev().map(|one| (one.content, one.offset)).collect(),
            keys: records().filter_map(|one| one.key).collect(),
            producers: records()
                .map(|one| one.writer.0)
                .chain(followed.markers.iter().map(|marker| marker.producer_id))
                .filter(|id| id.is_protected())
                .collect(),
        };
        let commits = followed.markers.iter().filter(|marker| marker.outcome == Outcome::Commit);
        let commits = commits.map(|marker| (marker.producer_id, marker.number)).collect();
        let mut seen = Self { commits, ..Self::default() };
        let mut decompressor = Decompressor::with_limits(tail.newer.limits);
        let mut walk = Walk::new(tail.newer, tail.from, mode);
        while let Some(held) = &walk.held {
            let header = &held.header;
            let low = held.low.max(tail.from);
            if sought.producers.contains(&header.producer_id) && !header.is_control() {
                seen.add_sequences(header);
            }
            if header.is_control() {
                if sought.producers.contains(&header.producer_id)
                    && let Some(outcome) = marks::ends_with(held, &mut decompressor)
                {
                    seen.markers.entry(header.producer_id).or_default().push(outcome);
                }
                walk.advance();
                continue;
            }
            let writer = (header.producer_id, header.producer_epoch);
            let is_read = each_record(held, low, &mut decompressor, |record| {
                seen.has_records = true;
                let content = marks::content(record);
                if sought.producers.contains(&writer.0) && followed.follows(content) {
                    let reached = sought.place(record, content).map_or(Reached::New, Reached::InTail);
                    let furthest = seen.reached.entry(writer).or_insert(reached);
                    *furthest = reached.max(*furthest);
                }
                if tail.newer.is_aborted(record.offset) {
                    return;
                }
                if let Some(key) = record.key.map(xxh3_64).filter(|key| sought.keys.contains(key)) {
                    seen.keys.insert(key);
                }
                if !sought.contents.contains_key(&content) {
                    return;
                }
                let digest = marks::digest(record);
                if sought.digests.contains_key(&digest) {
                    seen.digests.insert(digest);
                } else {
                    *seen.contents.entry(content).or_default() += 1;
                }
            });
            seen.unreadable |= !is_read || held.behind_damage;
            walk.advance();
        }
        // Where the newer log begins there or later, what stood in front of it may have been deleted.
        let head_is_gone =
            tail.newer.first_offset().is_none_or(|first| first >= tail.from && first > Offset(0));
        seen.unreadable |= walk.ends_in_damage() || head_is_gone;
        seen
    }

    fn add_sequences(&mut self, header: &BatchHeader) {
        let Some(first) = header.base_sequence else { return };
        let sequences = self.sequences.entry((header.producer_id, header.producer_epoch));
        let sequences = sequences.or_insert(Sequences { first, steps: 0 });
        let last = header.last_sequence().unwrap_or(first);
        let steps = sequences.first.distance_to(last);
        if steps < HALF {
            sequences.steps = sequences.steps.max(steps);
        }
    }

    /// Whether the record stands there with the client's time.
    pub(super) fn holds(&self, one: &One) -> bool {
        self.digests.contains(&one.digest)
    }

    /// What became of a record that does not stand there with the client's time.
    pub(super) fn fate(&mut self, tail: &Tail<'_>, one: &One) -> Fate {
        let is_committed =
            one.transaction.is_some_and(|number| self.commits.contains(&(one.writer.0, number)));
        if self.takes(one) {
            Fate::AgainLater
        } else if one.aborted || (!is_committed && self.is_aborted(one)) {
            Fate::TakenBack
        } else if self.may_be_cleaned(tail, one) {
            Fate::Replaced
        } else if self.unreadable {
            Fate::Lost(Loss::Unreadable)
        } else if tail.was_committed(one.offset) {
            Fate::Lost(Loss::Committed)
        } else if is_committed {
            Fate::Lost(Loss::InCommittedTransaction)
        } else if self.is_written_anew(one) {
            Fate::TakenBack
        } else {
            Fate::Lost(self.loss(one))
        }
    }

    /// Takes a record with the same content and another time. Records of the tail that are equal in all
    /// are one record that was stored again.
    fn takes(&mut self, one: &One) -> bool {
        if self.taken.contains(&one.digest) {
            return true;
        }
        let Some(left) = self.contents.get_mut(&one.content).filter(|left| **left > 0) else { return false };
        *left -= 1;
        self.taken.insert(one.digest);
        true
    }

    fn is_aborted(&self, one: &One) -> bool {
        one.transaction.is_some_and(|number| self.ends(one.writer.0, number) == Some(Outcome::Abort))
    }

    /// Whether its producer gave its sequence to something else in the same epoch.
    fn is_written_anew(&self, one: &One) -> bool {
        let sequences = self.sequences.get(&one.writer);
        one.sequence.zip(sequences).is_some_and(|(sequence, sequences)| sequences.hold(sequence))
    }

    /// Whether its producer wrote something there that it sent behind it: in the same epoch, or in a newer one.
    fn is_left_behind(&self, one: &One) -> bool {
        let (id, epoch) = one.writer;
        let begins_behind = |sequence| {
            self.sequences.get(&one.writer).is_some_and(|sequences| sequences.begin_behind(sequence))
        };
        one.sequence.is_some_and(begins_behind)
            || self
                .reached
                .range((id, epoch)..)
                .take_while(|((other, _), _)| *other == id)
                .any(|((_, newer), reached)| *newer > epoch && *reached > Reached::InTail(one.offset))
    }

    /// How the transaction behind so many markers of a producer ended.
    fn ends(&self, id: ProducerId, number: usize) -> Option<Outcome> {
        self.markers.get(&id)?.get(number).copied()
    }

    fn may_be_cleaned(&self, tail: &Tail<'_>, one: &One) -> bool {
        let cleaned = tail.newer.cleaned_below.is_some_and(|below| below > tail.from);
        cleaned && one.key.is_none_or(|key| self.keys.contains(&key))
    }

    /// What shows that somebody relied on a record that no checkpoint shows to be committed.
    fn loss(&self, one: &One) -> Loss {
        if !one.writer.0.is_protected() {
            return if self.has_records { Loss::Unprotected } else { Loss::Unknown };
        }
        let went_on = match one.transaction {
            // A marker may stand there twice, and shift the count.
            Some(number) => {
                let later = self.markers.get(&one.writer.0).and_then(|markers| markers.get(number..));
                later.is_some_and(|later| !later.is_empty() && !later.contains(&Outcome::Abort))
            }
            None => self.is_left_behind(one),
        };
        if went_on { Loss::LeftBehind } else { Loss::Unknown }
    }

    pub(super) fn marker_fate(&self, tail: &Tail<'_>, marker: &Marker) -> Fate {
        let lost = |otherwise: Loss| {
            Fate::Lost(if tail.was_committed(marker.offset) { Loss::Committed } else { otherwise })
        };
        match self.ends(marker.producer_id, marker.number) {
            Some(outcome) if outcome == marker.outcome => Fate::Again,
            Some(_) => lost(Loss::LeftBehind),
            None if self.unreadable => Fate::Lost(Loss::Unreadable),
            // Without data that waits for it, it says nothing.
            None if !waits(tail.newer, tail.from) => Fate::TakenBack,
            None => lost(Loss::Unknown),
        }
    }
}

/// Which of these digests stand in the newer log below where the two part.
pub(super) fn below(tail: &Tail<'_>, mut wanted: BTreeSet<u128>, mode: ReadMode) -> BTreeSet<u128> {
    let mut found = BTreeSet::new();
    let Some(first) = tail.newer.first_offset().filter(|_| !wanted.is_empty()) else { return found };
    let mut decompressor = Decompressor::with_limits(tail.newer.limits);
    let mut walk = Walk::new(tail.newer, first, mode);
    while let Some(held) = walk.held.as_ref().filter(|held| held.low < tail.from && !wanted.is_empty()) {
        if !held.header.is_control() {
            each_record(held, held.low, &mut decompressor, |record| {
                if record.offset < tail.from && !tail.newer.is_aborted(record.offset) {
                    found.extend(wanted.take(&marks::digest(record)));
                }
            });
        }
        walk.advance();
    }
    found
}

/// Whether a transaction that began below `from` has no end in the log.
fn waits(log: &Log<'_>, from: Offset) -> bool {
    let is_open = |range: WithheldRange| range.first_offset < from && range.outcome == Withheld::Open;
    log.withheld.is_some_and(|withheld| withheld.iter().any(is_open))
}
