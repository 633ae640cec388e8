//! All digests of a run, in shards by their first bits, and each identity's rows together at the
//! end.
//!
//! Rows stand in blocks of a few slabs of memory. When the slabs are full, the rows of each shard go
//! to the shard's own temporary file and the blocks are used again. At the end one shard after the
//! other is sorted in memory, or in runs when even a single shard is too large: an identity with ten
//! million rows takes no more memory than one with two.

use super::digest::Fingerprint;
use super::spill::{Element, RunReader, RunWriter, Sorter, TempSpace};
use crate::error::AuditError;
use crate::units::Offset;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::io;
use std::iter::Peekable;

/// One record: its identity, a sieve for its content, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Its identity.
    pub identity: Fingerprint,
    /// Bits that equal contents share.
    pub selector: u32,
    /// Which partition directory of the run.
    pub partition: u32,
    /// Its offset.
    pub offset: Offset,
}

impl Row {
    const NONE: Self = Self { identity: Fingerprint(0), selector: 0, partition: 0, offset: Offset(0) };
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
/// Rows in a block: small enough that half-full blocks of all shards do not count.
const BLOCK: usize = 1024;
/// Rows in a slab. An allocation of more than 32 MiB is always mapped by itself, so that the system
/// has it back as soon as it is dropped.
const SLAB: usize = (33 << 20) / size_of::<Row>() / BLOCK * BLOCK;

/// Rows after which somebody may wish to stop.
const LOOK: u64 = 1 << 16;

/// How much memory rows may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLimits {
    /// Bytes for all rows while they are collected.
    pub collected: usize,
    /// Bytes for the rows of one shard while it is sorted.
    pub sorted: usize,
}

/// The rows of a run.
#[derive(Debug)]
pub struct RowStore {
    limits: RowLimits,
    space: TempSpace,
    /// Rows in a block.
    block: usize,
    slabs: Vec<Vec<Row>>,
    /// Blocks that belong to a shard, of all slabs.
    used: usize,
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

#[derive(Debug, Default)]
struct Shard {
    /// The first row of each of its blocks: slab, index.
    blocks: Vec<(usize, usize)>,
    /// Rows in its last block.
    last: usize,
    file: Option<RunWriter>,
    spilled: usize,
}

impl RowStore {
    /// An empty store that puts into `space` what does not fit.
    #[must_use]
    pub fn new(limits: RowLimits, space: TempSpace) -> Self {
        let fair = limits.collected / size_of::<Row>() / SHARDS / 4;
        Self {
            limits,
            space,
            block: fair.clamp(1, BLOCK),
            slabs: Vec::new(),
            used: 0,
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
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
        let at = usize::try_from(row.identity.0 >> (128 - SHARD_BITS)).unwrap_or(0);
        if self.shards.get(at).is_none_or(|shard| shard.blocks.is_empty() || shard.last == self.block) {
            let block = self.next_block()?;
            if let Some(shard) = self.shards.get_mut(at) {
                shard.blocks.push(block);
                shard.last = 0;
            }
        }
        if let Some(shard) = self.shards.get_mut(at)
            && let Some(&(slab, first)) = shard.blocks.last()
            && let Some(place) = self.slabs.get_mut(slab).and_then(|rows| rows.get_mut(first + shard.last))
        {
            *place = row;
            shard.last += 1;
            self.rows += 1;
        }
        Ok(())
    }

    /// Hands the rows to `each`, ordered by identity, selector and place; only the first of them where
    /// `stop` says that it is enough.
    ///
    /// # Errors
    /// That of `each`; [`AuditError`] when a temporary file cannot be written or read.
    pub fn for_each(
        mut self,
        stop: &dyn Fn() -> bool,
        mut each: impl FnMut(&Row) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        if self.has_spilled {
            self.spill()?;
            self.slabs = Vec::new();
        }
        let mut shards = std::mem::take(&mut self.shards).into_iter().peekable();
        let mut in_order = Vec::new();
        loop {
            // While some shards are handed on, the next ones are sorted.
            let next = self.sorted_together(&mut shards);
            let mut sorted = Ok(Vec::new());
            rayon::in_place_scope(|scope| {
                let (this, sorted) = (&self, &mut sorted);
                scope.spawn(move |_| *sorted = next.into_par_iter().map(|shard| this.sort(shard)).collect());
                in_order.iter().flatten().try_for_each(&mut each)
            })?;
            in_order = sorted?;
            if stop() {
                return Ok(());
            }
            if in_order.is_empty() {
                match shards.next() {
                    Some(shard) => self.sort_in_runs(shard, stop, &mut each)?,
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
        {
            let rows = next.spilled.saturating_add(next.held(self.block));
            // What was never written is in memory anyway.
            let alone = together.is_empty() && next.spilled == 0;
            if rows > room && !alone {
                break;
            }
            room = room.saturating_sub(rows);
            together.extend(shards.next());
        }
        together
    }

    /// All rows of a shard, in their order.
    fn sort(&self, mut shard: Shard) -> Result<Vec<Row>, AuditError> {
        let mut spilled = self.spilled(&mut shard)?;
        let mut rows = Vec::with_capacity(shard.spilled.saturating_add(shard.held(self.block)));
        while let Some(row) = next_of(&mut spilled, &self.space)? {
            rows.push(row);
        }
        for block in shard.blocks(&self.slabs, self.block) {
            rows.extend_from_slice(block);
        }
        rows.sort_unstable();
        Ok(rows)
    }

    /// Hands on the rows of a shard of which all rows were written, and are too many for memory.
    fn sort_in_runs(
        &self,
        mut shard: Shard,
        stop: &dyn Fn() -> bool,
        mut each: impl FnMut(&Row) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        let mut spilled = self.spilled(&mut shard)?;
        let mut sorter = Sorter::new(self.limits.sorted, self.space.clone());
        while let Some(row) = next_of(&mut spilled, &self.space)? {
            sorter.push(row)?;
        }
        drop(spilled);
        let mut in_order = sorter.finish()?;
        let mut rows = 0u64;
        while let Some(row) = in_order.take_next()? {
            each(&row)?;
            rows += 1;
            if rows.is_multiple_of(LOOK) && stop() {
                break;
            }
        }
        Ok(())
    }

    /// The rows of a shard that were written.
    fn spilled(&self, shard: &mut Shard) -> Result<Option<RunReader>, AuditError> {
        let Some(mut file) = shard.file.take() else { return Ok(None) };
        let end = file.end().map_err(|source| self.space.failed(source))?;
        Ok(Some(RunReader::new(file.into_file(), 0, end, 256 << 10)))
    }

    /// The first row of a block that no shard has.
    fn next_block(&mut self) -> Result<(usize, usize), AuditError> {
        let most = (self.limits.collected / size_of::<Row>() / self.block).max(1);
        if self.used >= most {
            self.check_space()?;
            self.spill()?;
        }
        let in_slab = SLAB / self.block;
        let (slab, first) = (self.used / in_slab, self.used % in_slab * self.block);
        if self.slabs.len() <= slab {
            // Memory is only taken as the blocks are used.
            self.slabs.push(Vec::with_capacity(in_slab.min(most) * self.block));
        }
        if let Some(rows) = self.slabs.get_mut(slab)
            && rows.len() < first + self.block
        {
            rows.resize(first + self.block, Row::NONE);
        }
        self.used += 1;
        Ok((slab, first))
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

    /// Writes all rows and frees all blocks.
    fn spill(&mut self) -> Result<(), AuditError> {
        for shard in &mut self.shards {
            let held = shard.held(self.block);
            if held == 0 {
                continue;
            }
            let mut file = match shard.file.take() {
                Some(file) => file,
                None => RunWriter::new(&self.space)?,
            };
            let written = shard
                .blocks(&self.slabs, self.block)
                .flatten()
                .try_for_each(|row| file.put(row))
                .and_then(|()| file.end());
            written.map_err(|source| self.space.failed(source))?;
            *shard =
                Shard { file: Some(file), spilled: shard.spilled.saturating_add(held), ..Shard::default() };
        }
        self.used = 0;
        self.has_spilled = true;
        Ok(())
    }
}

impl Shard {
    /// Rows in memory.
    fn held(&self, block: usize) -> usize {
        self.blocks.len().saturating_sub(1) * block + self.last
    }

    /// The rows in memory.
    fn blocks<'r>(&'r self, slabs: &'r [Vec<Row>], block: usize) -> impl Iterator<Item = &'r [Row]> {
        let full = self.blocks.len().saturating_sub(1);
        self.blocks.iter().enumerate().filter_map(move |(at, &(slab, first))| {
            let rows = if at == full { self.last } else { block };
            slabs.get(slab)?.get(first..first + rows)
        })
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
        store
            .for_each(&|| false, |row| {
                found.push(*row);
                Ok(())
            })
            .unwrap();
        found
    }

    fn row(identity: u128, selector: u32, partition: u32, offset: i64) -> Row {
        Row { identity: Fingerprint(identity), selector, partition, offset: Offset(offset) }
    }

    const AMPLE: RowLimits = RowLimits { collected: 1 << 30, sorted: 1 << 30 };

    #[test]
    fn rows_come_in_order_whatever_the_blocks() {
        let mut rows: Vec<Row> =
            (0..200_000).map(|n| row(u128::from(n % 70) << 90 | 7, n % 3, n % 2, i64::from(n))).collect();
        let found = sorted(&rows, AMPLE);
        rows.sort_unstable();
        assert!(found == rows);
    }

    #[test]
    fn one_identity_that_does_not_fit_into_memory_is_sorted_in_runs() {
        let mut rows: Vec<Row> =
            (0..50_000).map(|n| row(9, n % 5, 0, i64::from(n * 7919 % 50_000))).collect();
        let found = sorted(&rows, RowLimits { collected: 64 << 10, sorted: 64 << 10 });
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
