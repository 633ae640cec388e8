//! The numbers of a batch header, each with a type of its own, so that a swap does not compile.
//!
//! On disk Kafka writes −1 for "none" (`RecordBatch` in the `clients` module). Inside this crate
//! "none" is `None`; only a producer id keeps its number, because its value is part of the report
//! and because one question, [`ProducerId::is_protected`], is asked of it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a record in its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(pub i64);

impl Offset {
    /// The offset `delta` records later; saturates, because deltas come from files.
    #[must_use]
    pub const fn plus(self, delta: i64) -> Self {
        Self(self.0.saturating_add(delta))
    }

    /// The offset of the next record.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A byte in a file, counted from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FilePosition(pub u64);

impl FilePosition {
    /// The position `length` bytes later; saturates, because lengths come from files.
    #[must_use]
    pub const fn plus(self, length: u64) -> Self {
        Self(self.0.saturating_add(length))
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The producer id as it stands on disk; −1 stays −1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProducerId(pub i64);

impl ProducerId {
    /// What a producer without idempotence writes.
    pub const NONE: Self = Self(-1);

    /// Whether the broker could tell a retry of this producer from a new write.
    ///
    /// Only the id says so: clients write any epoch and sequence beside −1, and a broker accepts
    /// −2 with sequences and never checks them.
    #[must_use]
    pub const fn is_protected(self) -> bool {
        self.0 >= 0
    }
}

impl fmt::Display for ProducerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The generation of a producer id (KIP-98, KIP-360, KIP-890).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProducerEpoch(pub i16);

impl ProducerEpoch {
    /// Whether this is the epoch right behind another one: with it protocol 2 ends a transaction, and a fence a session.
    #[must_use]
    pub fn is_next_of(self, earlier: Self) -> bool {
        earlier.0.checked_add(1) == Some(self.0)
    }
}

impl fmt::Display for ProducerEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The leader epoch of the partition, stamped by the leader at append (KIP-101).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaderEpoch(pub i32);

impl fmt::Display for LeaderEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which of the clusters of a run, from 0 on. Producer ids and consumer groups mean something within one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterNumber(pub u32);

/// Which of the topics of a run, from 0 on. A name may stand for several: in two clusters, or one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TopicNumber(pub u32);

/// Milliseconds since 1970-01-01 UTC, as Kafka stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// `None` for −1, with which Kafka says that there is no time.
    #[must_use]
    pub const fn from_disk(millis: i64) -> Option<Self> {
        if millis == -1 { None } else { Some(Self(millis)) }
    }
}

/// What says where the readable log begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogStartSource {
    /// The base offset of the first segment.
    #[default]
    FirstSegment,
    /// `log-start-offset-checkpoint`.
    Checkpoint,
    /// The first line of `leader-epoch-checkpoint`.
    LeaderEpochs,
}

/// The sequence number of a record of one producer id and epoch in one partition, 0 … 2³¹ − 1.
///
/// Arithmetic is modulo 2³¹: 2147483647 is followed by 0
/// (`DefaultRecordBatch.incrementSequence` and `decrementSequence`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence(i32);

impl Sequence {
    /// Where a producer begins, and where it begins again after an epoch bump.
    pub const FIRST: Self = Self(0);
    /// The last one before the wrap.
    pub const LAST: Self = Self(i32::MAX);

    /// `None` for a negative number, which is no sequence.
    #[must_use]
    pub const fn new(number: i32) -> Option<Self> {
        if number < 0 { None } else { Some(Self(number)) }
    }

    /// The number itself.
    #[must_use]
    pub const fn get(self) -> i32 {
        self.0
    }

    /// The sequence `count` records later, modulo 2³¹.
    #[must_use]
    pub const fn advance(self, count: u32) -> Self {
        Self((self.0.cast_unsigned().wrapping_add(count) & 0x7fff_ffff).cast_signed())
    }

    /// The sequence `count` records earlier, modulo 2³¹.
    #[must_use]
    pub const fn back(self, count: u32) -> Self {
        Self((self.0.cast_unsigned().wrapping_sub(count) & 0x7fff_ffff).cast_signed())
    }

    /// How many steps forward lead from `self` to `other`, modulo 2³¹.
    #[must_use]
    pub const fn distance_to(self, other: Self) -> u32 {
        other.0.cast_unsigned().wrapping_sub(self.0.cast_unsigned()) & 0x7fff_ffff
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// From … to …, both included; an open end includes everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first number.
    pub first: i64,
    /// The last number.
    pub last: i64,
}

impl Default for Range {
    fn default() -> Self {
        Self { first: i64::MIN, last: i64::MAX }
    }
}

impl Range {
    /// Whether it excludes nothing.
    #[must_use]
    pub fn is_open(self) -> bool {
        self == Self::default()
    }

    /// Whether the number is in it.
    #[must_use]
    pub const fn contains(self, number: i64) -> bool {
        self.first <= number && number <= self.last
    }

    /// Whether any number from `first` to `last` is in it.
    #[must_use]
    pub const fn meets(self, first: i64, last: i64) -> bool {
        self.first <= last && first <= self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_after_the_largest_is_zero() {
        assert_eq!(Sequence::LAST.advance(1), Sequence::FIRST);
        assert_eq!(Sequence::FIRST.back(1), Sequence::LAST);
    }

    #[test]
    fn distance_counts_across_the_wrap() {
        let near_the_end = Sequence::new(i32::MAX - 1).unwrap();
        assert_eq!(near_the_end.distance_to(Sequence::new(2).unwrap()), 4);
        assert_eq!(Sequence::FIRST.distance_to(Sequence::FIRST), 0);
    }

    #[test]
    fn a_negative_producer_id_is_unprotected_whatever_it_is() {
        assert!(!ProducerId(-1).is_protected());
        assert!(!ProducerId(-2).is_protected());
        assert!(ProducerId(0).is_protected());
    }
}
