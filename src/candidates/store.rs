//! All digests of a run, and each identity's rows together at the end.
//!
//! Rows stand in memory in the order in which they came, by column ([`RowColumns`]). At the end those that
//! surely are the only ones of their identity are told from the others by a few bits each, and only the
//! others are sorted: of a log without repeats that is little. When memory is full, all rows go to
//! temporary files, one for each of a few values of their first bits, and each file is sorted by itself, or
//! in runs when even that is too large: an identity with ten million rows takes no more memory than one
//! with two.

use super::columns::{Alone, RowColumns};
use super::digest::Fingerprint;
use crate::error::AuditError;
use crate::spill::{Element, RunReader, RunWriter, Sorter, TempSpace};
use crate::units::Offset;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use std::borrow::Cow;
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
const SLAB: usize = (33 << 20) / RowColumns::OF_AN_IDENTITY;
/// Bytes that a row with the first one's selector takes where offsets do not stop: its identity, and the
/// bits by which it is told from others at the end.
const OF_A_ROW: usize = RowColumns::OF_AN_IDENTITY + 4;
/// Which bits of the identities tell rows from each other at first, and those that are left.
const FIRST_LOOK: u32 = 0;
const SECOND_LOOK: u32 = 32;
/// Rows of a stretch that are held against the others together.
const PIECE: usize = 4096;
/// Rows below which a stretch is not handed on by itself.
const SHORT: usize = 16;
/// Of what rows may take while they are collected, the part in which those of one shard each are put
/// together before they are written.
const PUT_TOGETHER: usize = 32;
/// Rows of one identity that are handed on together; what repeats more often is no state that came back
/// once.
const TOGETHER: usize = 1024;
/// Rows after which somebody may wish to stop.
const LOOK: usize = 1 << 16;

/// Rows that are handed on together.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'r> {
    /// Each is the only one of its identity; consecutive offsets of one partition, but for some.
    Alone(Alone<'r>),
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
    pub fn all(self) -> Cow<'r, [Row]> {
        match self {
            Self::Alone(rows) => Cow::Owned(rows.rows().collect()),
            Self::Singles(rows) | Self::Whole(rows) | Self::Part(rows) => Cow::Borrowed(rows),
        }
    }

    /// Other rows in their place.
    #[must_use]
    pub const fn with(self, rows: &[Row]) -> Rows<'_> {
        match self {
            Self::Alone(_) | Self::Singles(_) => Rows::Singles(rows),
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
    slabs: Vec<RowColumns>,
    /// The slab that takes the next row.
    at_hand: usize,
    /// Rows in all slabs.
    held: usize,
    /// Bytes that these take, and will take at the end.
    taken: usize,
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
            taken: 0,
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
        self.make_room()?;
        self.put(1, |slab| slab.push(row));
        Ok(())
    }

    /// Adds rows.
    ///
    /// # Errors
    /// [`AuditError`] when memory is full and the rows cannot be written.
    pub fn append(&mut self, rows: &RowColumns) -> Result<(), AuditError> {
        let mut first = 0;
        while first < rows.len() {
            let room = self.make_room()?;
            let end = rows.len().min(first.saturating_add(room));
            self.put(end - first, |slab| slab.append(rows, first..end));
            first = end;
        }
        Ok(())
    }

    /// Writes what is there when memory is full; how many rows fit into the slab at hand, one at least.
    fn make_room(&mut self) -> Result<usize, AuditError> {
        if self.held > 0 && self.taken >= self.limits.collected {
            self.check_space()?;
            self.spill()?;
        }
        let in_slab = SLAB.min(self.limits.collected / OF_A_ROW).max(1);
        if self.slabs.get(self.at_hand).is_some_and(|slab| slab.len() >= in_slab) {
            self.at_hand += 1;
        }
        if self.slabs.len() <= self.at_hand {
            // Memory is only taken as it is used.
            self.slabs.push(RowColumns::with_capacity(in_slab));
        }
        let there = self.slabs.get(self.at_hand).map_or(0, RowColumns::len);
        let left = self.limits.collected.saturating_sub(self.taken) / (RowColumns::OF_A_ROW + 4);
        Ok(in_slab.saturating_sub(there).min(left).max(1))
    }

    fn put(&mut self, rows: usize, put: impl FnOnce(&mut RowColumns)) {
        let Some(slab) = self.slabs.get_mut(self.at_hand) else { return };
        let before = slab.memory();
        put(slab);
        let bits = rows.saturating_mul(OF_A_ROW - RowColumns::OF_AN_IDENTITY);
        self.taken = self.taken.saturating_add(slab.memory().saturating_sub(before)).saturating_add(bits);
        self.held += rows;
        self.rows = self.rows.saturating_add(u64::try_from(rows).unwrap_or(u64::MAX));
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
        let identities = || self.slabs.iter().flat_map(RowColumns::identities).copied();
        let shared = Shared::among(self.held, FIRST_LOOK, identities());
        let at_once = (self.limits.sorted / 2 / size_of::<Row>()).max(1);
        // What is shared by chance alone fits into this room.
        let (mut count, mut others) = (0, Vec::with_capacity((self.held / 4).min(at_once)));
        let (mut in_piece, mut few) = (Vec::with_capacity(PIECE / 64), Vec::new());
        let stretches = self.slabs.iter().flat_map(RowColumns::stretches);
        for piece in stretches.flat_map(|stretch| stretch.pieces(PIECE)) {
            in_piece.clear();
            for (number, some) in piece.identities.chunks(64).enumerate() {
                let bit = |(at, &identity): (usize, &u128)| u64::from(shared.has(identity, FIRST_LOOK)) << at;
                let mut word: u64 = some.iter().enumerate().map(bit).fold(0, |word, bit| word | bit);
                in_piece.push(word);
                while word != 0 {
                    let at = usize::try_from(word.trailing_zeros()).unwrap_or(0);
                    word &= word - 1;
                    count += 1;
                    if let Some(&identity) = some.get(at).filter(|_| others.len() < at_once) {
                        others.push(piece.row(number * 64 + at, identity));
                    }
                }
            }
            let alone = piece.without(&in_piece);
            if piece.identities.len() >= SHORT {
                each(Rows::Alone(alone))?;
            } else {
                few.extend(alone.rows());
                if few.len() >= PIECE {
                    each(Rows::Singles(&few))?;
                    few.clear();
                }
            }
        }
        hand_on_singles(&few, each)?;
        if count <= at_once {
            // Other bits tell most of those that share nothing but the first ones.
            let again = Shared::among(others.len(), SECOND_LOOK, others.iter().map(|row| row.identity.0));
            few.clear();
            others.retain(|row| {
                let is_shared = again.has(row.identity.0, SECOND_LOOK);
                if !is_shared {
                    few.push(*row);
                }
                is_shared
            });
            hand_on_singles(&few, each)?;
            drop(few);
            others.par_sort_unstable();
            return hand_on(&others, each);
        }
        drop((others, few));
        let steps = u64::try_from(count.div_ceil(at_once)).unwrap_or(u64::MAX).min(1 << 16);
        for step in 0..steps {
            let here = |identity: u128| {
                let first_bits = u64::try_from(identity >> 96).unwrap_or(0);
                (first_bits * steps) >> 32 == step && shared.has(identity, FIRST_LOOK)
            };
            // No more room than it takes.
            let mut rows = Vec::with_capacity(identities().filter(|&identity| here(identity)).count());
            for stretch in self.slabs.iter().flat_map(RowColumns::stretches) {
                let found = stretch.identities.iter().enumerate().filter(|&(_, &identity)| here(identity));
                rows.extend(found.map(|(at, &identity)| stretch.row(at, identity)));
            }
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
        self.shards.resize_with(SHARDS, Shard::default);
        let together = (self.limits.collected / PUT_TOGETHER / SHARDS / size_of::<Row>()).clamp(64, 4096);
        let mut of_shards: Vec<Vec<Row>> = self.shards.iter().map(|_| Vec::new()).collect();
        for row in self.slabs.iter().flat_map(RowColumns::iter) {
            let at = row.shard();
            let (Some(rows), Some(shard)) = (of_shards.get_mut(at), self.shards.get_mut(at)) else {
                continue;
            };
            rows.push(row);
            if rows.len() >= together {
                shard.write(rows, &self.space)?;
                rows.clear();
            }
        }
        for (rows, shard) in of_shards.iter().zip(&mut self.shards).filter(|(rows, _)| !rows.is_empty()) {
            shard.write(rows, &self.space)?;
        }
        self.slabs.iter_mut().for_each(RowColumns::clear);
        (self.at_hand, self.held, self.taken, self.has_spilled) = (0, 0, 0, true);
        Ok(())
    }
}

impl Shard {
    fn write(&mut self, rows: &[Row], space: &TempSpace) -> Result<(), AuditError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(RunWriter::new(space)?),
        };
        let written = rows.iter().try_for_each(|row| file.put(row)).and_then(|()| file.end());
        written.map_err(|source| space.failed(source))?;
        self.rows = self.rows.saturating_add(rows.len());
        Ok(())
    }
}

fn hand_on_singles(
    rows: &[Row],
    each: &mut impl FnMut(Rows<'_>) -> Result<(), AuditError>,
) -> Result<(), AuditError> {
    if rows.is_empty() { Ok(()) } else { each(Rows::Singles(rows)) }
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

/// Tells rows that may share their identity with another one from those that surely do not.
///
/// Of each row a few bits of the identity are noted among many more values than there are rows. Where
/// they were noted before, other bits are, among so few values that they stay in the processor's cache;
/// rows that share their identity have these as well.
#[derive(Debug)]
struct Shared {
    again: Bits,
}

/// A bit for each value of some bits of an identity.
#[derive(Debug)]
struct Bits {
    words: Vec<u64>,
    mask: usize,
}

impl Bits {
    fn among(values: usize) -> Self {
        let values = values.next_power_of_two().max(64);
        Self { words: vec![0; values / 64], mask: values - 1 }
    }

    #[inline]
    fn place(&self, bits: u64) -> (usize, u64) {
        #[expect(clippy::cast_possible_truncation, reason = "the last bits are meant")]
        let value = bits as usize & self.mask;
        (value / 64, 1 << (value % 64))
    }

    /// Notes a value; whether it was before.
    #[inline]
    fn note(&mut self, bits: u64) -> bool {
        let (word, bit) = self.place(bits);
        let Some(word) = self.words.get_mut(word) else { return true };
        let before = *word & bit != 0;
        *word |= bit;
        before
    }

    #[inline]
    fn has(&self, bits: u64) -> bool {
        let (word, bit) = self.place(bits);
        self.words.get(word).is_none_or(|word| word & bit != 0)
    }
}

impl Shared {
    /// Values for each row: of sixteen rows with identities of their own one is taken for a repeat.
    const VALUES: usize = 8;

    /// `turn` says which bits of the identities are looked at.
    fn among(count: usize, turn: u32, identities: impl Iterator<Item = u128>) -> Self {
        let mut once = Bits::among(count.saturating_mul(Self::VALUES));
        let mut again = Bits::among(count);
        for identity in identities {
            let (some, others) = halves(identity);
            if once.note(some.rotate_right(turn)) {
                again.note(others.rotate_right(turn));
            }
        }
        Self { again }
    }

    #[inline]
    fn has(&self, identity: u128, turn: u32) -> bool {
        self.again.has(halves(identity).1.rotate_right(turn))
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the last bits are meant")]
const fn halves(identity: u128) -> (u64, u64) {
    (identity as u64, (identity >> 64) as u64)
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
                let all = together.all();
                let Some(first) = all.first().map(|row| row.identity) else { return Ok(()) };
                match together {
                    Rows::Alone(_) | Rows::Singles(_) => assert!(all.iter().all(|row| of(row.identity) == 1)),
                    Rows::Whole(rows) => assert!(rows.len() <= TOGETHER && rows.len() == of(first)),
                    Rows::Part(rows) => assert!(rows.len() <= TOGETHER && of(first) > TOGETHER),
                }
                let alone = matches!(together, Rows::Alone(_) | Rows::Singles(_));
                for row in all.iter() {
                    assert!(row.identity == first || alone);
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
