//! From rows in the order of their identities to one result for each key of the list.

use super::super::groups::{Given, PartitionView};
use super::OF_THE_LIST;
use super::lookup::At;
use crate::candidates::{Fingerprint, Row};
use crate::error::AuditError;
use crate::report::reconcile::WithheldBy;
use crate::spill::{Element, RunReader, Sorted, Sorter};
use crate::units::Offset;
use std::collections::BTreeSet;
use std::io;

/// Places of one key that are kept: an acknowledged offset may be that of a later copy.
const PLACES: usize = 8;

/// Further entries with one key that are held for their acknowledgements.
const FURTHER: usize = 4096;

/// Whether an entry is the first one with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::audit) enum Entry {
    First,
    Further,
}

/// Whether a list tells what was acknowledged, so that each of its entries is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Keys,
    Acknowledgements,
}

/// What became of one key of the list, under one reading of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::audit) struct Found {
    /// The number of the entry.
    pub(super) number: u64,
    pub(super) entry: Entry,
    pub(super) identity: Fingerprint,
    /// Its records in each topic that has any, in the order of the topics.
    pub(super) in_topics: Vec<InTopic>,
    /// The first places in order.
    pub(super) places: Vec<At>,
}

/// The records of a key in one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::audit) struct InTopic {
    /// Index of the topic.
    pub(super) topic: u32,
    pub(super) uncommitted: u64,
    pub(super) committed: u64,
    /// Of those that are not committed, that are not aborted either.
    pub(super) open: u64,
}

impl Found {
    /// The topic with most of its records. Only copies within one topic are copies: what an application writes
    /// from one topic into another has the same keys there.
    pub(super) fn most(&self) -> Option<InTopic> {
        let most = |one: &&InTopic| (one.uncommitted, std::cmp::Reverse(one.topic));
        self.in_topics.iter().max_by_key(most).copied()
    }

    /// What a read_committed consumer of one topic gets at most.
    pub(super) fn committed(&self) -> u64 {
        self.in_topics.iter().map(|one| one.committed).max().unwrap_or(0)
    }

    /// Why no read_committed consumer gets it, where it is stored; an open transaction may yet be committed.
    pub(super) fn withheld(&self) -> Option<WithheldBy> {
        let is_open = self.in_topics.iter().any(|one| one.open > 0);
        let why = if is_open { WithheldBy::Open } else { WithheldBy::Aborted };
        (!self.in_topics.is_empty() && self.committed() == 0).then_some(why)
    }

    /// Its records in all topics.
    pub(super) fn records(&self) -> u64 {
        self.in_topics.iter().map(|one| one.uncommitted).sum()
    }

    /// Adds another reading of the same entry: the text of a number, and the number.
    pub(super) fn join(&mut self, other: Self) {
        for one in other.in_topics {
            count(&mut self.in_topics, one);
        }
        self.places.extend(other.places);
        self.places.sort_unstable();
        self.places.truncate(PLACES);
    }
}

/// Adds records of a topic to those that are known.
fn count(known: &mut Vec<InTopic>, more: InTopic) {
    match known.binary_search_by_key(&more.topic, |one| one.topic) {
        Ok(at) => {
            if let Some(one) = known.get_mut(at) {
                one.uncommitted = one.uncommitted.saturating_add(more.uncommitted);
                one.committed = one.committed.saturating_add(more.committed);
                one.open = one.open.saturating_add(more.open);
            }
        }
        Err(at) => known.insert(at, more),
    }
}

impl Element for Found {
    fn memory(&self) -> usize {
        size_of::<Self>()
            + self.places.capacity() * size_of::<At>()
            + self.in_topics.capacity() * size_of::<InTopic>()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_le_bytes());
        out.push(u8::from(self.entry == Entry::Further));
        out.extend_from_slice(&self.identity.0.to_le_bytes());
        out.extend_from_slice(&u32::try_from(self.in_topics.len()).unwrap_or(0).to_le_bytes());
        for one in &self.in_topics {
            out.extend_from_slice(&one.topic.to_le_bytes());
            out.extend_from_slice(&one.uncommitted.to_le_bytes());
            out.extend_from_slice(&one.committed.to_le_bytes());
            out.extend_from_slice(&one.open.to_le_bytes());
        }
        out.push(u8::try_from(self.places.len()).unwrap_or(0));
        for (partition, offset) in &self.places {
            out.extend_from_slice(&partition.to_le_bytes());
            out.extend_from_slice(&offset.0.to_le_bytes());
        }
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let number = u64::from_le_bytes(from.array()?);
        let entry = if from.array()? == [0] { Entry::First } else { Entry::Further };
        let identity = Fingerprint(u128::from_le_bytes(from.array()?));
        let mut in_topics = Vec::new();
        for _ in 0..u32::from_le_bytes(from.array()?) {
            in_topics.push(InTopic {
                topic: u32::from_le_bytes(from.array()?),
                uncommitted: u64::from_le_bytes(from.array()?),
                committed: u64::from_le_bytes(from.array()?),
                open: u64::from_le_bytes(from.array()?),
            });
        }
        let [count] = from.array::<1>()?;
        let mut places = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let partition = u32::from_le_bytes(from.array()?);
            places.push((partition, Offset(i64::from_le_bytes(from.array()?))));
        }
        Ok(Self { number, entry, identity, in_topics, places })
    }
}

/// Takes rows, and keeps no more of them than what one identity needs.
pub(super) struct Join {
    results: Sorter<Found>,
    listed: usize,
    told: Told,
    current: Option<Current>,
    /// Keys that are stored and not in the list, and their records.
    pub(super) unexpected: (u64, u64),
    /// The first places of such keys, as many as are listed.
    pub(super) unexpected_places: BTreeSet<At>,
}

struct Current {
    identity: Fingerprint,
    first: Option<u64>,
    /// Further entries.
    further: Vec<u64>,
    in_topics: Vec<InTopic>,
    places: BTreeSet<At>,
}

impl Join {
    pub(super) fn new(results: Sorter<Found>, listed: usize, told: Told) -> Self {
        Self { results, listed, told, current: None, unexpected: (0, 0), unexpected_places: BTreeSet::new() }
    }

    pub(super) fn row(&mut self, row: &Row, partitions: &[PartitionView<'_>]) -> Result<(), AuditError> {
        if self.current.as_ref().is_none_or(|current| current.identity != row.identity) {
            self.flush()?;
            self.current = Some(Current {
                identity: row.identity,
                first: None,
                further: Vec::new(),
                in_topics: Vec::new(),
                places: BTreeSet::new(),
            });
        }
        let Some(current) = &mut self.current else { return Ok(()) };
        if row.partition == OF_THE_LIST {
            let number = u64::try_from(row.offset.0).unwrap_or(u64::MAX);
            // They come in the order of the list.
            if current.first.is_none() {
                current.first = Some(number);
            } else if self.told == Told::Acknowledgements && current.further.len() < FURTHER {
                current.further.push(number);
            }
            return Ok(());
        }
        let view = usize::try_from(row.partition).ok().and_then(|at| partitions.get(at));
        let Some(view) = view.filter(|view| view.judged) else { return Ok(()) };
        let given = view.given(row.offset);
        let (committed, open) = (u64::from(given == Given::Now), u64::from(given == Given::NotYet));
        let topic = u32::try_from(view.topic).unwrap_or(u32::MAX);
        count(&mut current.in_topics, InTopic { topic, uncommitted: 1, committed, open });
        current.places.insert((row.partition, row.offset));
        if current.places.len() > PLACES {
            current.places.pop_last();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), AuditError> {
        let Some(current) = self.current.take() else { return Ok(()) };
        if let Some(number) = current.first {
            let first = Found {
                number,
                entry: Entry::First,
                identity: current.identity,
                in_topics: current.in_topics,
                places: current.places.into_iter().collect(),
            };
            for number in current.further {
                self.results.push(Found { number, entry: Entry::Further, ..first.clone() })?;
            }
            return self.results.push(first);
        }
        if let Some(first) = current.places.first() {
            self.unexpected.0 += 1;
            self.unexpected.1 += current.in_topics.iter().map(|one| one.uncommitted).sum::<u64>();
            self.unexpected_places.insert(*first);
            if self.unexpected_places.len() > self.listed {
                self.unexpected_places.pop_last();
            }
        }
        Ok(())
    }

    /// The results in the order of the list.
    pub(super) fn finish(&mut self, empty: Sorter<Found>) -> Result<InOrder, AuditError> {
        self.flush()?;
        let results = std::mem::replace(&mut self.results, empty);
        let mut results = results.finish()?;
        let next = results.take_next()?;
        Ok(InOrder { results, next })
    }
}

/// The results in the order of the list, one for each key.
pub(super) struct InOrder {
    results: Sorted<Found>,
    next: Option<Found>,
}

impl InOrder {
    /// The result of the entry with this number; `None` where its key stands further up, and nothing more is told.
    pub(super) fn of(&mut self, number: u64) -> Result<Option<Found>, AuditError> {
        if self.next.as_ref().is_none_or(|next| next.number != number) {
            return Ok(None);
        }
        let Some(mut found) = self.next.take() else { return Ok(None) };
        loop {
            self.next = self.results.take_next()?;
            match self.next.take_if(|next| next.number == number) {
                Some(other) if other.entry == found.entry => found.join(other),
                // Two readings: by one of them its key is new.
                Some(other) if other.entry == Entry::First => found = other,
                Some(_) => {}
                None => return Ok(Some(found)),
            }
        }
    }
}
