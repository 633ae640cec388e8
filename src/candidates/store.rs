//! All digests of a run, and each identity's rows together at the end.
//!
//! Rows stand in memory in the order in which they came. At the end those that surely are the only ones
//! of their identity are told from the others by a few bits each, and only the others are sorted: of a
//! log without repeats that is little. When memory is full, all rows go to temporary files, one for each
//! of a few values of their first bits, and each file is sorted by itself, or in runs when even that is
//! too large: an identity with ten million rows takes no more memory than one with two.

use super::digest::Fingerprint;
use crate::error::AuditError;
use crate::spill::{Element, RunReader, RunWriter, Sorter, TempSpace};
use crate::units::Offset;
use rayon::iter::{IntoParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use std::io;
use std::iter::Peekable;

/// One record: its identity, a sieve for its content, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Its identity.
    pub identity: Fingerprint,
    /// Bits that equal contents share; [`Row::NO_SELECTOR`] where the content was not looked at.
    pub selector: u32,
    /// Which partition directory of the run.
    pub partition: u32,
    /// Its offset.
    pub offset: Offset,
}

impl Row {
    /// In the place of a selector where the content was not looked at.
    pub const NO_SELECTOR: u32 = 0;
    /// The selector where all contents are one.
    pub const ONE_CONTENT: u32 = 1;

    fn shard(&self) -> usize {
        usize::try_from(self.identity.0 >> (128 - SHARD_BITS)).unwrap_or(0)
    }
}

impl Element for Row {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.identity.0.to_le_bytes());
        out.extend_from_slice(&self.selector.to_le_bytes());
        out.extend_from_slice(&self.partition.to_le_bytes());
        out.extend_from_slice(&self.offset.0.to_le_bytes());
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        Ok(Self {
            identity: Fingerprint(u128::from_le_bytes(from.array()?)),
            selector: u32::from_le_bytes(from.array()?),
            partition: u32::from_le_bytes(from.array()?),
            offset: Offset(i64::from_le_bytes(from.array()?)),
        })
    }
}

const SHARD_BITS: u32 = 6;
const SHARDS: usize = 1 << SHARD_BITS;
/// Rows in a slab. An allocation of more than 32 MiB is always mapped by itself, so that the system
/// has it back as soon as it is dropped.
const SLAB: usize = (33 << 20) / size_of::<Row>();
/// Rows of one identity that are handed on together; what repeats more often is no state that came back
/// once.
const TOGETHER: usize = 1024;
/// Rows after which somebody may wish to stop.
const LOOK: usize = 1 << 16;

/// Rows that are handed on together.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'r> {
    /// Each is the only one of its identity.
    Singles(&'r [Row]),
    /// All of one identity, ordered by selector and place.
    Whole(&'r [Row]),
    /// Some of one identity, in the same order; the others stand before them or come behind them.
    Part(&'r [Row]),
}

impl<'r> Rows<'r> {
    /// The rows.
    #[must_use]
    pub const fn all(self) -> &'r [Row] {
        match self {
            Self::Singles(rows) | Self::Whole(rows) | Self::Part(rows) => rows,
        }
    }

    /// Other rows in their place.
    #[must_use]
    pub const fn with(self, rows: &[Row]) -> Rows<'_> {
        match self {
            Self::Singles(_) => Rows::Singles(rows),
            Self::Whole(_) => Rows::Whole(rows),
            Self::Part(_) => Rows::Part(rows),
        }
    }
}

/// How much memory rows may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLimits {
    /// Bytes for all rows while they are collected.
    pub collected: usize,
    /// Bytes for the rows that are sorted at once.
    pub sorted: usize,
}

/// The rows of a run.
#[derive(Debug)]
pub struct RowStore {
    limits: RowLimits,
    space: TempSpace,
    /// Rows as they came; what is behind the slab at hand is empty.
    slabs: Vec<Vec<Row>>,
    /// The slab that takes the next row.
    at_hand: usize,
    /// Rows in all slabs.
    held: usize,
    shards: Vec<Shard>,
    rows: u64,
    input: Input,
    has_spilled: bool,
}

/// How far the collecting is: tells, when memory is full, how much more may come.
#[derive(Clone, Copy, Debug, Default)]
struct Input {
    all: u64,
    read: u64,
}

/// The rows with the same first bits that were written.
#[derive(Debug, Default)]
struct Shard {
    file: Option<RunWriter>,
    rows: usize,
}

impl RowStore {
    /// An empty store that puts into `space` what does not fit.
    #[must_use]
    pub fn new(limits: RowLimits, space: TempSpace) -> Self {
        Self {
            limits,
            space,
            slabs: Vec::new(),
            at_hand: 0,
            held: 0,
            shards: Vec::new(),
            rows: 0,
            input: Input::default(),
            has_spilled: false,
        }
    }

    /// Bytes of input that are going to be read.
    pub fn expect_input(&mut self, bytes: u64) {
        self.input.all = bytes;
    }

    /// Bytes of input that were read since.
    pub fn count_input(&mut self, bytes: u64) {
        self.input.read = self.input.read.saturating_add(bytes);
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`AuditError`] when memory is full and the rows cannot be written.
    pub fn push(&mut self, row: Row) -> Result<(), AuditError> {
        self.push_all(std::slice::from_ref(&row))
    }

    /// Adds rows.
    ///
    /// # Errors
    /// [`AuditError`] when memory is full and the rows cannot be written.
    pub fn push_all(&mut self, mut rows: &[Row]) -> Result<(), AuditError> {
        let most = (self.limits.collected / size_of::<Row>()).max(1);
        let in_slab = SLAB.min(most);
        while !rows.is_empty() {
            if self.held >= most {
                self.check_space()?;
                self.spill()?;
            }
            if self.slabs.get(self.at_hand).is_some_and(|slab| slab.len() >= in_slab) {
                self.at_hand += 1;
            }
            if self.slabs.len() <= self.at_hand {
                // Memory is only taken as it is used.
                self.slabs.push(Vec::with_capacity(in_slab));
            }
            let Some(slab) = self.slabs.get_mut(self.at_hand) else { return Ok(()) };
            let room = in_slab.saturating_sub(slab.len()).min(most - self.held);
            let (now, later) = rows.split_at(rows.len().min(room));
            slab.extend_from_slice(now);
            self.held += now.len();
            self.rows = self.rows.saturating_add(u64::try_from(now.len()).unwrap_or(u64::MAX));
            rows = later;
        }
        Ok(())
    }

    /// Hands the rows to `each`, those of one identity together; only some of them where `stop` says that
    /// it is enough. In which order identities come is left open.
    ///
    /// # Errors
    /// That of `each`; [`AuditError`] when a temporary file cannot be written or read.
    pub fn for_each(
        mut self,
        stop: &dyn Fn() -> bool,
        mut each: impl FnMut(Rows<'_>) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        if !self.has_spilled {
            return self.for_each_held(stop, &mut each);
        }
        self.spill()?;
        self.slabs = Vec::new();
        self.for_each_spilled(stop, &mut each)
    }

    /// The same where all rows are in memory.
    fn for_each_held(
        &self,
        stop: &dyn Fn() -> bool,
        each: &mut impl FnMut(Rows<'_>) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        let all = || self.slabs.iter().flatten();
        let shared = Shared::among(self.held, all());
        let at_once = (self.limits.sorted / 2 / size_of::<Row>()).max(1);
        // What is shared by chance alone fits into this room.
        let (mut count, mut others) = (0, Vec::with_capacity((self.held / 4).min(at_once)));
        for rows in &self.slabs {
            let mut first = 0;
            for (at, row) in rows.iter().enumerate().filter(|(_, row)| shared.has(row)) {
                count += 1;
                if others.len() < at_once {
                    others.push(*row);
                }
                hand_on_singles(rows.get(first..at), each)?;
                first = at + 1;
            }
            hand_on_singles(rows.get(first..), each)?;
        }
        if count <= at_once {
            others.par_sort_unstable();
            return hand_on(&others, each);
        }
        drop(others);
        let steps = u64::try_from(count.div_ceil(at_once)).unwrap_or(u64::MAX).min(1 << 16);
        for step in 0..steps {
            let here = |row: &&Row| {
                let first_bits = u64::try_from(row.identity.0 >> 96).unwrap_or(0);
                (first_bits * steps) >> 32 == step && shared.has(row)
            };
            // No more room than it takes.
            let mut rows = Vec::with_capacity(all().filter(here).count());
            rows.extend(all().filter(here).copied());
            rows.par_sort_unstable();
            hand_on(&rows, each)?;
            if stop() {
                break;
            }
        }
        Ok(())
    }

    /// The same where all rows were written.
    fn for_each_spilled(
        &mut self,
        stop: &dyn Fn() -> bool,
        each: &mut impl FnMut(Rows<'_>) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        let mut shards = std::mem::take(&mut self.shards).into_iter().peekable();
        let mut in_order = Vec::new();
        loop {
            // While some shards are handed on, the next ones are sorted.
            let next = self.sorted_together(&mut shards);
            let mut sorted = Ok(Vec::new());
            rayon::in_place_scope(|scope| {
                let (this, sorted) = (&*self, &mut sorted);
                scope.spawn(move |_| *sorted = next.into_par_iter().map(|shard| this.sort(shard)).collect());
                in_order.iter().try_for_each(|rows: &Vec<Row>| hand_on(rows, each))
            })?;
            in_order = sorted?;
            if stop() {
                return Ok(());
            }
            if in_order.is_empty() {
                match shards.next() {
                    Some(shard) => self.sort_in_runs(shard, stop, each)?,
                    None => return Ok(()),
                }
            }
        }
    }

    /// The next shards that can be sorted side by side, next to as many that are handed on; none where
    /// the next one is too large to be sorted in memory.
    fn sorted_together(&self, shards: &mut Peekable<impl Iterator<Item = Shard>>) -> Vec<Shard> {
        let (mut together, mut room) = (Vec::new(), self.limits.sorted / 2 / size_of::<Row>());
        while together.len() < rayon::current_num_threads()
            && let Some(next) = shards.peek()
            && next.rows <= room
        {
            room -= next.rows;
            together.extend(shards.next());
        }
        together
    }

    /// All rows of a shard, in their order.
    fn sort(&self, shard: Shard) -> Result<Vec<Row>, AuditError> {
        let mut rows = Vec::with_capacity(shard.rows);
        let mut spilled = self.spilled(shard)?;
        while let Some(row) = next_of(&mut spilled, &self.space)? {
            rows.push(row);
        }
        rows.sort_unstable();
        Ok(rows)
    }

    /// Hands on the rows of a shard that are too many for memory.
    fn sort_in_runs(
        &self,
        shard: Shard,
        stop: &dyn Fn() -> bool,
        each: &mut impl FnMut(Rows<'_>) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        let mut spilled = self.spilled(shard)?;
        let mut sorter = Sorter::new(self.limits.sorted, self.space.clone());
        while let Some(row) = next_of(&mut spilled, &self.space)? {
            sorter.push(row)?;
        }
        drop(spilled);
        let mut in_order = sorter.finish()?;
        let (mut held, mut whole, mut rows) = (Vec::with_capacity(TOGETHER), true, 0usize);
        let mut hand_on =
            |held: &[Row], whole| each(if whole { Rows::Whole(held) } else { Rows::Part(held) });
        while let Some(row) = in_order.take_next()? {
            let goes_on = held.first().is_none_or(|first: &Row| first.identity == row.identity);
            if !goes_on || held.len() >= TOGETHER {
                whole &= !goes_on;
                hand_on(&held, whole)?;
                held.clear();
                whole |= !goes_on;
            }
            held.push(row);
            rows += 1;
            if rows.is_multiple_of(LOOK) && stop() {
                break;
            }
        }
        if held.is_empty() { Ok(()) } else { hand_on(&held, whole) }
    }

    /// The rows of a shard that were written.
    fn spilled(&self, shard: Shard) -> Result<Option<RunReader>, AuditError> {
        let Some(mut file) = shard.file else { return Ok(None) };
        let end = file.end().map_err(|source| self.space.failed(source))?;
        Ok(Some(RunReader::new(file.into_file(), 0, end, 256 << 10)))
    }

    /// Before the first row is written: is there room for all that is going to be?
    fn check_space(&self) -> Result<(), AuditError> {
        let size = u64::try_from(size_of::<Row>()).unwrap_or(u64::MAX);
        let now = self.rows.saturating_mul(size);
        if self.has_spilled {
            return self.space.require(u64::try_from(self.limits.collected).unwrap_or(u64::MAX));
        }
        let all = u128::from(now) * u128::from(self.input.all.max(1)) / u128::from(self.input.read.max(1));
        self.space.require(u64::try_from(all).unwrap_or(u64::MAX).max(now))
    }

    /// Writes all rows; the slabs are used again.
    fn spill(&mut self) -> Result<(), AuditError> {
        self.slabs.par_iter_mut().for_each(|slab| slab.sort_unstable_by_key(Row::shard));
        self.shards.resize_with(SHARDS, Shard::default);
        for (at, shard) in self.shards.iter_mut().enumerate() {
            let of_shard = |slab: &Vec<Row>| {
                let start = slab.partition_point(|row| row.shard() < at);
                start..slab.partition_point(|row| row.shard() <= at)
            };
            let rows = self.slabs.iter().filter_map(|slab| slab.get(of_shard(slab)));
            let count = rows.clone().map(<[Row]>::len).sum::<usize>();
            if count == 0 {
                continue;
            }
            let file = match &mut shard.file {
                Some(file) => file,
                none => none.insert(RunWriter::new(&self.space)?),
            };
            let written = rows.flatten().try_for_each(|row| file.put(row)).and_then(|()| file.end());
            written.map_err(|source| self.space.failed(source))?;
            shard.rows = shard.rows.saturating_add(count);
        }
        self.slabs.iter_mut().for_each(Vec::clear);
        (self.at_hand, self.held, self.has_spilled) = (0, 0, true);
        Ok(())
    }
}

fn hand_on_singles(
    rows: Option<&[Row]>,
    each: &mut impl FnMut(Rows<'_>) -> Result<(), AuditError>,
) -> Result<(), AuditError> {
    match rows {
        None | Some([]) => Ok(()),
        Some(rows) => each(Rows::Singles(rows)),
    }
}

/// Hands on rows that are in their order.
fn hand_on(
    rows: &[Row],
    each: &mut impl FnMut(Rows<'_>) -> Result<(), AuditError>,
) -> Result<(), AuditError> {
    for rows in rows.chunk_by(|a, b| a.identity == b.identity) {
        if rows.len() <= TOGETHER {
            each(Rows::Whole(rows))?;
        } else {
            rows.chunks(TOGETHER).try_for_each(|some| each(Rows::Part(some)))?;
        }
    }
    Ok(())
}

/// Tells rows that may share their identity with another one from those that surely do not: a bit for
/// each of many more values of a few bits of the identity than there are rows, set where two rows have it.
#[derive(Debug, Default)]
struct Shared {
    twice: Vec<u64>,
    mask: usize,
}

impl Shared {
    /// Values for each row: of eight rows with identities of their own one is taken for shared.
    const VALUES: usize = 8;

    fn among<'r>(count: usize, rows: impl Iterator<Item = &'r Row>) -> Self {
        let values = count.saturating_mul(Self::VALUES).next_power_of_two().max(64);
        let mut once = vec![0u64; values / 64];
        let mut shared = Self { twice: vec![0u64; values / 64], mask: values - 1 };
        for row in rows {
            let (word, bit) = shared.place(row);
            if let (Some(once), Some(twice)) = (once.get_mut(word), shared.twice.get_mut(word)) {
                *twice |= *once & bit;
                *once |= bit;
            }
        }
        shared
    }

    #[inline]
    fn has(&self, row: &Row) -> bool {
        let (word, bit) = self.place(row);
        self.twice.get(word).is_none_or(|twice| twice & bit != 0)
    }

    #[inline]
    fn place(&self, row: &Row) -> (usize, u64) {
        let value = row.identity.0 as usize & self.mask;
        (value / 64, 1 << (value % 64))
    }
}

fn next_of(from: &mut Option<RunReader>, space: &TempSpace) -> Result<Option<Row>, AuditError> {
    let row = from.as_mut().map_or(Ok(None), RunReader::next);
    row.map_err(|source| space.failed(source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(rows: &[Row], limits: RowLimits) -> Vec<Row> {
        let mut store = RowStore::new(limits, TempSpace::new(std::env::temp_dir()));
        for &row in rows {
            store.push(row).unwrap();
        }
        let mut found = Vec::new();
        let mut counts = std::collections::BTreeMap::new();
        for row in rows {
            *counts.entry(row.identity).or_insert(0) += 1;
        }
        let of = |identity: Fingerprint| counts[&identity];
        store
            .for_each(&|| false, |together| {
                let first = together.all()[0].identity;
                match together {
                    Rows::Singles(rows) => assert!(rows.iter().all(|row| of(row.identity) == 1)),
                    Rows::Whole(rows) => assert!(rows.len() <= TOGETHER && rows.len() == of(first)),
                    Rows::Part(rows) => assert!(rows.len() <= TOGETHER && of(first) > TOGETHER),
                }
                for row in together.all() {
                    assert!(row.identity == first || matches!(together, Rows::Singles(_)));
                    found.push(*row);
                }
                Ok(())
            })
            .unwrap();
        // Identities come in any order, the rows of each of them together and in theirs.
        let identities: Vec<_> =
            found.chunk_by(|a, b| a.identity == b.identity).map(|all| all[0].identity).collect();
        assert_eq!(identities.len(), identities.iter().collect::<std::collections::BTreeSet<_>>().len());
        found.sort_by_key(|row| row.identity);
        found
    }

    fn row(identity: u128, selector: u32, partition: u32, offset: i64) -> Row {
        Row { identity: Fingerprint(identity), selector, partition, offset: Offset(offset) }
    }

    const AMPLE: RowLimits = RowLimits { collected: 1 << 30, sorted: 1 << 30 };

    #[test]
    fn rows_of_one_identity_come_together_and_in_order() {
        let mut rows: Vec<Row> =
            (0..20_000).map(|n| row(u128::from(n % 70) << 90 | 7, n % 3, n % 2, i64::from(n))).collect();
        let found = sorted(&rows, AMPLE);
        rows.sort_unstable();
        assert!(found == rows);
    }

    #[test]
    fn one_identity_that_does_not_fit_into_memory_is_sorted_in_runs() {
        let mut rows: Vec<Row> = (0..5_000).map(|n| row(9, n % 5, 0, i64::from(n * 7919 % 5_000))).collect();
        let found = sorted(&rows, RowLimits { collected: 8 << 10, sorted: 8 << 10 });
        rows.sort_unstable();
        assert!(found == rows);
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error_and_no_shorter_report() {
        let limits = RowLimits { collected: 0, sorted: 0 };
        let mut store = RowStore::new(limits, TempSpace::new("/no/such/directory".into()));
        store.push(row(1, 0, 0, 0)).unwrap();
        let error = (1..100).find_map(|n| store.push(row(1, 0, 0, n)).err()).unwrap();
        assert!(error.to_string().contains("/no/such/directory"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_rows_are_the_same_with_any_memory(
            identities in proptest::collection::vec((0_u128..40, 0_u32..3, 0_u32..3), 0..3000),
            collected in 0_usize..40_000,
            sorted_in in 0_usize..40_000,
        ) {
            let mut rows: Vec<Row> = (0..)
                .zip(&identities)
                .map(|(offset, &(identity, selector, partition))| {
                    // Half of them in one shard.
                    row(if identity < 20 { identity } else { identity << 121 }, selector, partition, offset)
                })
                .collect();
            let found = sorted(&rows, RowLimits { collected, sorted: sorted_in });
            rows.sort_unstable();
            prop_assert_eq!(found, rows);
        }
    }
}
