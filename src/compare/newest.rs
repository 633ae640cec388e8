//! The newest record of each key: what no cleaner takes.
//!
//! Where two logs hold the same records at other offsets, the one that was cleaned is not asked
//! offset by offset what it still holds, but key by key.
//!
//! Source: `Cleaner.shouldRetainRecord`: a record goes when a later one of its key is in the log, a
//! tombstone when its time is over as well, and a record without key at once.

use super::log::{Log, Walk};
use super::marks::{self, MarkKind};
use crate::format::Decompressor;
use crate::input::ReadMode;
use crate::units::Offset;
use std::collections::BTreeMap;

/// Keys that are followed at most, of one log: some 40 MB.
const FOLLOWED: usize = 1 << 19;

/// The newest record of a key that readers of what is committed get, or will get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// Where it stands.
    pub offset: Offset,
    /// Whether it deletes the key.
    pub tombstone: bool,
}

/// The newest record of each key of a log.
#[derive(Debug)]
pub struct Newest {
    /// By the hash of the key.
    keys: BTreeMap<u64, Last>,
    /// The same by offset.
    places: Vec<(Offset, u64)>,
    /// Keys are followed whose hash has so many zeros at its end.
    zeros: u32,
    /// In front of it, or behind it, stands what could not be read: the last such place.
    unread: Option<Offset>,
    /// Behind the last record; markers behind that do not count.
    data_end: Offset,
    /// The last offset without a record among those where the cleaner has been.
    last_gap: Option<Offset>,
    /// Some records have no key.
    has_unkeyed: bool,
}

impl Newest {
    /// Of both logs the same keys; nothing when `stop` asks to end.
    #[must_use]
    pub fn of_both(logs: [&Log<'_>; 2], mode: ReadMode, stop: &dyn Fn() -> bool) -> Option<[Self; 2]> {
        Self::following(logs, mode, stop, FOLLOWED)
    }

    pub(super) fn following(
        [a, b]: [&Log<'_>; 2],
        mode: ReadMode,
        stop: &dyn Fn() -> bool,
        limit: usize,
    ) -> Option<[Self; 2]> {
        let mut a = Self::of(a, mode, stop, limit, 0)?;
        let b = Self::of(b, mode, stop, limit, a.zeros)?;
        a.follow_only(b.zeros);
        Some([a, b].map(Self::with_places))
    }

    fn of(log: &Log<'_>, mode: ReadMode, stop: &dyn Fn() -> bool, limit: usize, zeros: u32) -> Option<Self> {
        let mut newest = Self {
            keys: BTreeMap::new(),
            places: Vec::new(),
            zeros,
            unread: None,
            data_end: Offset(0),
            last_gap: None,
            has_unkeyed: false,
        };
        let Some(first) = log.first_offset() else { return Some(newest) };
        let mut decompressor = Decompressor::with_limits(log.limits);
        let mut walk = Walk::new(log, first, mode);
        let mut end = first;
        while let Some(held) = &walk.held {
            if stop() {
                return None;
            }
            let last = held.header.last_offset();
            if held.behind_damage {
                newest.unread = Some(held.low);
            }
            // What the cleaner took may have stood between a record and a marker.
            if !held.header.is_control() || held.low > end {
                newest.data_end = last.next();
            }
            let mut next = if held.behind_damage { held.low } else { end };
            end = last.next();
            let is_control = held.header.is_control();
            match marks::of(held, held.low, &mut decompressor) {
                None if is_control => {}
                None => newest.unread = Some(last),
                Some(marks) => {
                    let behind = marks.iter().map(|mark| mark.offset).chain([end]);
                    for offset in behind {
                        newest.leave_out(next, offset, log.cleaned_below);
                        next = offset.next();
                    }
                    if !is_control {
                        for mark in marks.iter().filter(|mark| log.withheld_by(mark.offset).is_none()) {
                            match mark.kind {
                                MarkKind::Value(hash) => newest.see(hash, mark.offset, false, limit),
                                MarkKind::Tombstone(hash) => newest.see(hash, mark.offset, true, limit),
                                MarkKind::WithoutKey => newest.has_unkeyed = true,
                                MarkKind::Control => {}
                            }
                        }
                    }
                }
            }
            walk.advance();
        }
        if walk.ends_in_damage() {
            newest.unread = Some(Offset(i64::MAX));
        }
        Some(newest)
    }

    /// Notes that no record stands from `from` up to `to`.
    fn leave_out(&mut self, from: Offset, to: Offset, cleaned_below: Option<Offset>) {
        let to = cleaned_below.map_or(from, |below| below.min(to));
        if from < to {
            self.last_gap = Some(Offset(to.0 - 1));
        }
    }

    fn see(&mut self, hash: u64, offset: Offset, tombstone: bool, limit: usize) {
        if hash.trailing_zeros() < self.zeros {
            return;
        }
        self.keys.insert(hash, Last { offset, tombstone });
        while self.keys.len() > limit {
            self.follow_only(self.zeros + 1);
        }
    }

    fn follow_only(&mut self, zeros: u32) {
        if zeros > self.zeros {
            self.zeros = zeros;
            self.keys.retain(|hash, _| hash.trailing_zeros() >= zeros);
        }
    }

    fn with_places(mut self) -> Self {
        self.places = self.keys.iter().map(|(hash, last)| (last.offset, *hash)).collect();
        self.places.sort_unstable();
        self
    }

    /// The hash of the key of which the record at `offset` is the newest.
    #[must_use]
    pub fn key_at(&self, offset: Offset) -> Option<u64> {
        let at = self.places.binary_search_by_key(&offset, |(place, _)| *place).ok()?;
        self.places.get(at).map(|(_, hash)| *hash)
    }

    /// The newest record of a key.
    #[must_use]
    pub fn last(&self, hash: u64) -> Option<Last> {
        self.keys.get(&hash).copied()
    }

    /// The keys that both logs show, with the newest record of each in both.
    pub fn in_both<'n>(&'n self, other: &'n Self) -> impl Iterator<Item = (u64, Last, Last)> + 'n {
        self.keys.iter().filter_map(|(hash, last)| Some((*hash, *last, other.last(*hash)?)))
    }

    /// Whether each key is followed.
    #[must_use]
    pub const fn follows_all(&self) -> bool {
        self.zeros == 0
    }

    /// Whether there are records without key: a compacted topic takes none.
    #[must_use]
    pub const fn has_unkeyed(&self) -> bool {
        self.has_unkeyed
    }

    /// Whether everything behind `offset` was read.
    #[must_use]
    pub fn is_read_behind(&self, offset: Offset) -> bool {
        self.unread.is_none_or(|unread| unread < offset)
    }

    /// Whether all of it was read.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        self.unread.is_none()
    }

    /// The last offset without a record among those where the cleaner has been.
    #[must_use]
    pub const fn last_gap(&self) -> Option<Offset> {
        self.last_gap
    }

    /// Behind the last record; markers of transactions behind that do not count.
    #[must_use]
    pub const fn data_end(&self) -> Offset {
        self.data_end
    }
}
