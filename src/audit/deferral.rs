//! When contents are told apart: for each record as it goes by, or later, and only for records whose
//! identity repeats.
//!
//! The first costs more for each record, the second a further look at the batches with such records. A
//! topic begins with the second and goes over to the first as soon as more than a few of its identities
//! repeat. What comes out is the same, whenever that is.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Of a topic's first rows all are looked at: it may have few keys.
const FIRST: u32 = 4096;
/// Identities that are remembered; which of them, their own bits say, so that a repeat is noticed
/// however far behind it comes.
const REMEMBERED: usize = 1 << 16;
/// What a record takes at least in a log, as a rule.
const RECORD: u64 = 64;
/// Repeats that are no accident.
const SOME: u32 = 32;
/// One in so many identities repeats: then nearly every batch has some of them.
const FEW: u32 = 50;

/// How the contents of one topic are told apart.
#[derive(Debug, Default)]
pub(super) struct Deferral {
    at_once: AtomicBool,
    rows: AtomicU32,
    looked_at: AtomicU32,
    repeats: AtomicU32,
}

impl Deferral {
    /// For who cannot look again.
    pub(super) fn never() -> Self {
        Self { at_once: AtomicBool::new(true), ..Self::default() }
    }

    /// Whether contents are told apart as records go by.
    pub(super) fn is_over(&self) -> bool {
        self.at_once.load(Ordering::Relaxed)
    }

    fn count(&self, repeats: bool) {
        let looked_at = self.looked_at.fetch_add(1, Ordering::Relaxed);
        if repeats {
            let repeats = self.repeats.fetch_add(1, Ordering::Relaxed);
            if repeats >= SOME && u64::from(repeats) * u64::from(FEW) > u64::from(looked_at) {
                self.at_once.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Notices repeats among rows that go by.
#[derive(Debug)]
pub(super) struct Repeats {
    /// Which bits of an identity are none in those that are remembered.
    mask: u64,
    seen: HashSet<u64, BuildHasherDefault<OwnBits>>,
}

/// Spreads parts of digests by their own bits.
#[derive(Debug, Default)]
struct OwnBits(u64);

impl Hasher for OwnBits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        // The last bits are none in all that are remembered.
        self.0 = value.rotate_left(32);
    }
}

impl Repeats {
    /// Among the rows of so many bytes of input.
    pub(super) fn among(bytes: u64) -> Self {
        let each = bytes / RECORD / u64::try_from(REMEMBERED).unwrap_or(1);
        Self { mask: each.next_power_of_two() - 1, seen: HashSet::default() }
    }

    /// Looks at the identities of rows of a topic.
    pub(super) fn look(&mut self, identities: &[u128], topic: &Deferral) {
        for &identity in identities {
            #[expect(clippy::cast_possible_truncation, reason = "the last bits are meant")]
            let value = identity as u64;
            if value & self.mask == 0 || topic.rows.load(Ordering::Relaxed) < FIRST {
                self.remember(value, topic);
            }
        }
    }

    fn remember(&mut self, value: u64, topic: &Deferral) {
        topic.rows.fetch_add(1, Ordering::Relaxed);
        let repeats = self.seen.contains(&value);
        if !repeats && self.seen.len() < REMEMBERED {
            self.seen.insert(value);
        }
        topic.count(repeats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of keys in turn, digests as a hash would spread them.
    fn is_over_behind(rows: u64, keys: u64, bytes: u64) -> bool {
        let (topic, mut repeats) = (Deferral::default(), Repeats::among(bytes));
        for row in 0..rows {
            let identity = u128::from(row % keys + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            repeats.look(&[identity ^ identity >> 64], &topic);
        }
        topic.is_over()
    }

    #[test]
    fn contents_wait_as_long_as_identities_do_not_repeat() {
        assert!(!is_over_behind(1_000_000, 1_000_000, 300_000_000));
        assert!(!is_over_behind(1_000_000, 995_000, 300_000_000));
        assert!(is_over_behind(1_000_000, 900_000, 300_000_000));
        assert!(is_over_behind(1_000, 3, 10 << 40), "few keys, of which none may be among the remembered");
    }
}
