//! The records of a tail, as much of each as is needed to know it again.

use super::super::log::Walk;
use super::super::marks;
use super::{Tail, Writer, each_record};
use crate::format::Decompressor;
use crate::format::control::Outcome;
use crate::input::ReadMode;
use crate::units::{Offset, ProducerId, Sequence};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

/// Records that are followed at most, and markers: some 50 MB.
pub(super) const FOLLOWED: usize = 1 << 18;

/// A record of the tail.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    pub(super) offset: Offset,
    /// Over the client's time, key, value and headers.
    pub(super) digest: u128,
    /// The same without the time.
    pub(super) content: u128,
    pub(super) key: Option<u64>,
    pub(super) writer: Writer,
    pub(super) sequence: Option<Sequence>,
    /// How many markers of its producer stand before it in the tail; `None` outside transactions.
    pub(super) transaction: Option<usize>,
    pub(super) aborted: bool,
}

/// The end of a transaction in the tail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    pub(super) offset: Offset,
    pub(super) producer_id: ProducerId,
    /// How many markers of its producer stand before it in the tail.
    pub(super) number: usize,
    pub(super) outcome: Outcome,
}

/// A batch whose records cannot be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unread {
    pub(super) offset: Offset,
    pub(super) records: u64,
}

/// What is looked for.
#[derive(Debug, Default)]
pub(super) struct Followed {
    pub(super) records: Vec<One>,
    pub(super) markers: Vec<Marker>,
    pub(super) unread: Vec<Unread>,
    /// Records are followed whose content has so many zeros at its end.
    zeros: u32,
}

impl Followed {
    pub(super) fn of(tail: &Tail<'_>, mode: ReadMode, limit: usize) -> Self {
        let mut followed = Self::default();
        let mut decompressor = Decompressor::with_limits(tail.older.limits);
        let mut numbers: BTreeMap<ProducerId, usize> = BTreeMap::new();
        let mut walk = Walk::new(tail.older, tail.from, mode);
        while let Some(held) = &walk.held {
            let header = &held.header;
            let (writer, low) = ((header.producer_id, header.producer_epoch), held.low.max(tail.from));
            let number = numbers.get(&header.producer_id).copied().unwrap_or(0);
            if header.is_control() {
                if let Some(outcome) = marks::ends_with(held, &mut decompressor) {
                    let (offset, producer_id) = (low, header.producer_id);
                    if followed.markers.len() < limit {
                        followed.markers.push(Marker { offset, producer_id, number, outcome });
                    }
                    numbers.insert(header.producer_id, number + 1);
                }
            } else {
                let transaction = header.is_transactional().then_some(number);
                let is_read = each_record(held, low, &mut decompressor, |record| {
                    followed.add(One {
                        offset: record.offset,
                        digest: marks::digest(record),
                        content: marks::content(record),
                        key: record.key.map(xxh3_64),
                        writer,
                        sequence: record.sequence.filter(|_| header.producer_id.is_protected()),
                        transaction,
                        aborted: tail.older.is_aborted(record.offset),
                    });
                });
                if !is_read {
                    let records = u64::from(header.records_count.unwrap_or(1));
                    followed.unread.push(Unread { offset: low, records });
                }
            }
            followed.thin_out(limit);
            walk.advance();
        }
        followed
    }

    fn add(&mut self, one: One) {
        if self.follows(one.content) {
            self.records.push(one);
        }
    }

    /// Whether a record of this content is followed, where the tail holds one.
    pub(super) const fn follows(&self, content: u128) -> bool {
        content.trailing_zeros() >= self.zeros
    }

    fn thin_out(&mut self, limit: usize) {
        while self.records.len() > limit && self.zeros < u128::BITS {
            self.zeros += 1;
            let zeros = self.zeros;
            self.records.retain(|one| one.content.trailing_zeros() >= zeros);
        }
    }

    /// One of so many records is followed.
    pub(super) fn one_of(&self) -> u64 {
        1u64.checked_shl(self.zeros).unwrap_or(u64::MAX)
    }
}
