//! How many records bytes of a log may hold that cannot be read.

use super::log::{Log, Walk};
use crate::input::ReadMode;

/// What the batches of a log hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batches {
    /// Of the batch with the most records for its bytes: records, and bytes.
    densest: Option<(u64, u64)>,
    /// The most records of a batch.
    largest: u64,
}

impl Batches {
    /// Those of a log, or as much of it as `stop` allows.
    #[must_use]
    pub fn of(log: &Log<'_>, mode: ReadMode, stop: &dyn Fn() -> bool) -> Self {
        let mut seen = Self::default();
        let Some(first) = log.first_offset() else { return seen };
        let mut walk = Walk::new(log, first, mode);
        while let Some(held) = walk.held.as_ref().filter(|_| !stop()) {
            let offsets = held.header.last_offset().0.saturating_sub(held.low.0).saturating_add(1);
            // The header of a wrapper of format 0 or 1 does not tell how many it holds.
            let records =
                held.header.records_count.map_or_else(|| u64::try_from(offsets).unwrap_or(1), u64::from);
            if !held.header.is_control() {
                seen.note(records, u64::try_from(held.bytes.len()).unwrap_or(u64::MAX));
            }
            walk.advance();
        }
        seen
    }

    fn note(&mut self, records: u64, bytes: u64) {
        let is_denser = |(known, of): (u64, u64)| {
            u128::from(records) * u128::from(of) > u128::from(known) * u128::from(bytes)
        };
        if bytes > 0 && records > 0 && self.densest.is_none_or(is_denser) {
            self.densest = Some((records, bytes));
        }
        self.largest = self.largest.max(records);
    }

    /// How many records so many bytes hold at most, the batch that begins in them counted whole, as these batches and
    /// those of another log with the same records are packed.
    #[must_use]
    pub fn room(&self, bytes: u64, other: &Self) -> u64 {
        let in_batches = |(records, of): (u64, u64)| bytes.div_ceil(of.max(1)).saturating_mul(records);
        let of_other = |(records, of): (u64, u64)| bytes.saturating_mul(records).div_ceil(of.max(1));
        match (self.densest, other.densest) {
            (Some(own), other) => in_batches(own).max(self.largest).max(other.map_or(0, of_other)),
            (None, Some(dense)) => in_batches(dense).max(other.largest),
            (None, None) => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_hold_what_batches_of_that_size_hold() {
        let mut own = Batches::default();
        own.note(10, 200);
        own.note(1, 80);
        let mut other = Batches::default();
        other.note(500, 5_000);
        assert_eq!(own.room(20, &Batches::default()), 10, "the batch that begins there");
        assert_eq!(own.room(401, &Batches::default()), 30);
        assert_eq!(own.room(401, &other), 41, "the other log is packed more densely");
        assert_eq!(Batches::default().room(20, &other), 500, "nothing shows how this one was packed");
        assert_eq!(Batches::default().room(20, &Batches::default()), u64::MAX);
    }
}
