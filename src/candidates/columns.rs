//! Rows by column: half the room that they take one by one.
//!
//! Of most logs the rows of a stretch have consecutive offsets of one partition and tell nothing of their
//! contents, so that an identity is all that a row needs. Places are kept as runs, selectors only where
//! they differ.

use super::Fingerprint;
use super::store::Row;
use crate::units::Offset;
use std::ops::Range;

/// Rows one behind the other.
#[derive(Clone, Debug, Default)]
pub struct RowColumns {
    identities: Vec<u128>,
    /// Of each row; of none as long as all have that of the first one.
    selectors: Vec<u32>,
    first_selector: u32,
    runs: Vec<Run>,
}

/// Consecutive offsets of one partition.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: Offset,
    partition: u32,
    length: u32,
}

impl RowColumns {
    /// Bytes of an identity: what a row takes at least.
    pub(super) const OF_AN_IDENTITY: usize = size_of::<u128>();
    /// What a row takes at most.
    pub(super) const OF_A_ROW: usize = Self::OF_AN_IDENTITY + size_of::<u32>() + size_of::<Run>();

    /// None, and room for the identities of some.
    pub(super) fn with_capacity(rows: usize) -> Self {
        Self { identities: Vec::with_capacity(rows), ..Self::default() }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.identities.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// The digests of their identities.
    #[must_use]
    pub fn identities(&self) -> &[u128] {
        &self.identities
    }

    /// Whether there is room that can be used again.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.identities.capacity() > 0
    }

    /// Bytes that they take.
    pub(super) const fn memory(&self) -> usize {
        self.identities.len() * Self::OF_AN_IDENTITY
            + self.selectors.len() * size_of::<u32>()
            + self.runs.len() * size_of::<Run>()
    }

    /// Forgets all rows; the room stays.
    pub fn clear(&mut self) {
        self.identities.clear();
        self.selectors.clear();
        self.runs.clear();
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: Row) {
        self.add_selector(row.selector);
        self.identities.push(row.identity.0);
        match self.runs.last_mut() {
            Some(run) if run.goes_on_with(row.partition, row.offset) && run.length < u32::MAX => {
                run.length += 1;
            }
            _ => self.runs.push(Run { first: row.offset, partition: row.partition, length: 1 }),
        }
    }

    /// For the row behind the last one.
    #[inline]
    fn add_selector(&mut self, selector: u32) {
        if self.identities.is_empty() {
            self.first_selector = selector;
        } else if !self.selectors.is_empty() || selector != self.first_selector {
            self.selectors.resize(self.identities.len(), self.first_selector);
            self.selectors.push(selector);
        }
    }

    /// Adds some rows of `others`.
    pub(super) fn append(&mut self, others: &Self, range: Range<usize>) {
        for (at, run) in others.runs_in(range) {
            self.append_run(others, at, run);
        }
    }

    fn append_run(&mut self, others: &Self, at: Range<usize>, run: Run) {
        let Some(identities) = others.identities.get(at.clone()) else { return };
        if self.is_alike(others) {
            if self.identities.is_empty() {
                self.first_selector = others.first_selector;
            }
        } else {
            self.selectors.resize(self.identities.len(), self.first_selector);
            match others.selectors.get(at) {
                Some(selectors) => self.selectors.extend_from_slice(selectors),
                None => self.selectors.extend(identities.iter().map(|_| others.first_selector)),
            }
        }
        self.identities.extend_from_slice(identities);
        if let Some(last) = self.runs.last_mut()
            && last.goes_on_with(run.partition, run.first)
            && let Some(length) = last.length.checked_add(run.length)
        {
            last.length = length;
        } else {
            self.runs.push(run);
        }
    }

    /// Whether all rows here and there have one selector.
    fn is_alike(&self, others: &Self) -> bool {
        self.selectors.is_empty()
            && others.selectors.is_empty()
            && (self.identities.is_empty() || self.first_selector == others.first_selector)
    }

    /// The rows.
    pub fn iter(&self) -> impl Iterator<Item = Row> {
        self.stretches().flat_map(Stretch::rows)
    }

    /// The rows as stretches of consecutive offsets.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Stretch<'_>> {
        self.runs_in(0..self.identities.len()).map(|(at, run)| Stretch {
            identities: self.identities.get(at.clone()).unwrap_or_default(),
            selectors: self.selectors.get(at).unwrap_or_default(),
            selector: self.first_selector,
            partition: run.partition,
            first: run.first,
        })
    }

    /// The parts of the runs that hold the rows of a range, each with where these rows stand.
    fn runs_in(&self, range: Range<usize>) -> impl Iterator<Item = (Range<usize>, Run)> {
        let (start, end) = (range.start, range.end);
        let mut behind = 0usize;
        self.runs
            .iter()
            .map_while(move |run| {
                let from = behind;
                behind = behind.saturating_add(usize::try_from(run.length).unwrap_or(usize::MAX));
                let (first, last) = (from.max(start), behind.min(end));
                (from < end).then(|| {
                    let before = i64::try_from(first - from).unwrap_or(i64::MAX);
                    let length = u32::try_from(last.saturating_sub(first)).unwrap_or(u32::MAX);
                    (first..last.max(first), Run { first: run.first.plus(before), length, ..*run })
                })
            })
            .filter(|(at, _)| !at.is_empty())
    }
}

impl Run {
    #[inline]
    fn goes_on_with(self, partition: u32, offset: Offset) -> bool {
        self.partition == partition && self.first.0.wrapping_add(i64::from(self.length)) == offset.0
    }
}

/// Rows with consecutive offsets of one partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch<'r> {
    pub(super) identities: &'r [u128],
    /// Of each row, or of none where all have the same one.
    selectors: &'r [u32],
    selector: u32,
    partition: u32,
    first: Offset,
}

impl<'r> Stretch<'r> {
    /// One of its rows.
    pub(super) fn row(&self, at: usize, identity: u128) -> Row {
        Row {
            identity: Fingerprint(identity),
            selector: self.selectors.get(at).copied().unwrap_or(self.selector),
            partition: self.partition,
            offset: self.first.plus(i64::try_from(at).unwrap_or(i64::MAX)),
        }
    }

    fn rows(self) -> impl Iterator<Item = Row> + use<'r> {
        self.identities.iter().enumerate().map(move |(at, &identity)| self.row(at, identity))
    }

    /// Its rows in pieces of so many.
    pub(super) fn pieces(self, rows: usize) -> impl Iterator<Item = Self> + use<'r> {
        self.identities.chunks(rows).enumerate().map(move |(number, identities)| {
            let before = number * rows;
            Self {
                identities,
                selectors: self.selectors.get(before..before + identities.len()).unwrap_or_default(),
                first: self.first.plus(i64::try_from(before).unwrap_or(i64::MAX)),
                ..self
            }
        })
    }

    /// Those of its rows that `shared` does not name: a bit for each row.
    pub(super) const fn without(self, shared: &'r [u64]) -> Alone<'r> {
        Alone { stretch: self, shared }
    }
}

/// Rows with consecutive offsets of one partition, but for some, each the only one of its identity.
#[derive(Clone, Copy, Debug)]
pub struct Alone<'r> {
    stretch: Stretch<'r>,
    /// A bit for each row that is not meant.
    shared: &'r [u64],
}

impl<'r> Alone<'r> {
    /// How many rows there are.
    #[must_use]
    pub fn count(&self) -> usize {
        let not_meant: u32 = self.shared.iter().map(|word| word.count_ones()).sum();
        self.stretch.identities.len().saturating_sub(usize::try_from(not_meant).unwrap_or(usize::MAX))
    }

    /// The partition of all of them.
    #[must_use]
    pub const fn partition(&self) -> u32 {
        self.stretch.partition
    }

    /// None of them stands before this offset.
    #[must_use]
    pub const fn first(&self) -> Offset {
        self.stretch.first
    }

    /// None of them stands behind this offset.
    #[must_use]
    pub fn last(&self) -> Offset {
        let last = self.stretch.identities.len().saturating_sub(1);
        self.stretch.first.plus(i64::try_from(last).unwrap_or(i64::MAX))
    }

    /// The rows one by one.
    pub fn rows(self) -> impl Iterator<Item = Row> + use<'r> {
        let is_meant =
            move |at: usize| self.shared.get(at / 64).is_none_or(|word| word >> (at % 64) & 1 == 0);
        let rows = self.stretch.rows().enumerate();
        rows.filter(move |(at, _)| is_meant(*at)).map(|(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let row = (0_u32..3, 0_u32..2, prop_oneof![4 => Just(1_i64), 1 => -3_i64..9]);
        proptest::collection::vec(row, 0..300).prop_map(|steps| {
            let mut offset = Offset(5);
            let row = |(number, (partition, selector, step)): (u128, (u32, u32, i64))| {
                offset = offset.plus(step);
                // Stretches of one partition and one selector.
                let (partition, selector) = (partition / 2, selector * u32::from(number % 40 > 30));
                Row { identity: Fingerprint(number), selector, partition, offset }
            };
            (0..).zip(steps).map(row).collect()
        })
    }

    proptest! {
        #[test]
        fn what_comes_out_is_what_was_put_in(rows in rows(), cuts in proptest::collection::vec(0_usize..300, 0..4)) {
            let mut one_by_one = RowColumns::default();
            for &row in &rows {
                one_by_one.push(row);
            }
            prop_assert_eq!(one_by_one.iter().collect::<Vec<_>>(), rows.clone());
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(rows.len())).chain([0, rows.len()]).collect();
            cuts.sort_unstable();
            let mut in_parts = RowColumns::default();
            for part in cuts.windows(2) {
                in_parts.append(&one_by_one, part[0]..part[1]);
            }
            prop_assert_eq!(in_parts.iter().collect::<Vec<_>>(), rows);
            prop_assert_eq!(in_parts.runs.len(), one_by_one.runs.len());
            prop_assert!(in_parts.memory() <= in_parts.len() * RowColumns::OF_A_ROW);
        }

        #[test]
        fn pieces_leave_out_the_rows_that_are_named(rows in rows(), in_piece in 1_usize..70, left_out: u64) {
            let mut columns = RowColumns::default();
            for &row in &rows {
                columns.push(row);
            }
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            for piece in columns.stretches().flat_map(|stretch| stretch.pieces(in_piece)) {
                let all: Vec<Row> = piece.rows().collect();
                let shared = [left_out & u64::MAX.checked_shr(64 - u32::try_from(all.len().min(64)).unwrap()).unwrap_or(0)];
                let alone = piece.without(&shared);
                let named = |at: usize| at < 64 && shared[0] >> at & 1 == 1;
                let kept: Vec<Row> =
                    all.iter().enumerate().filter(|(at, _)| !named(*at)).map(|(_, row)| *row).collect();
                prop_assert_eq!(alone.count(), kept.len());
                prop_assert_eq!((alone.first(), alone.last()), (all[0].offset, all[all.len() - 1].offset));
                prop_assert!(kept.iter().all(|row| row.partition == alone.partition()));
                found.extend(alone.rows());
                expected.extend(kept);
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn consecutive_offsets_take_an_identity_each() {
        let mut columns = RowColumns::default();
        for number in 0..1000_i64 {
            let identity = Fingerprint(u128::from(number.unsigned_abs()));
            columns.push(Row { identity, selector: Row::NO_SELECTOR, partition: 3, offset: Offset(number) });
        }
        assert_eq!(columns.memory(), 1000 * 16 + 16);
    }
}
