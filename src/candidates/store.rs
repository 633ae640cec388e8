//! All digests of a run, in shards by their first bits, and each identity's rows together at the
//! end.
//!
//! Workers fill a [`RowSink`] of their own and hand over full blocks; a shard is sorted when its
//! turn comes, so that at no time more than the rows themselves and one shard are in memory.

use super::digest::Fingerprint;
use crate::units::Offset;
use rayon::slice::ParallelSliceMut;
use std::sync::Mutex;

/// One record: its identity, a sieve for its content, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Its identity.
    pub identity: Fingerprint,
    /// Which partition directory of the run.
    pub partition: u32,
    /// Bits that equal contents share.
    pub selector: u32,
    /// Its offset.
    pub offset: Offset,
}

const SHARD_BITS: u32 = 6;
const SHARDS: usize = 1 << SHARD_BITS;
/// Rows in a block: small enough that half-full blocks of all shards do not count.
const BLOCK: usize = 1024;

/// The rows of a run.
#[derive(Debug)]
pub struct RowStore {
    shards: Vec<Mutex<Vec<Box<[Row]>>>>,
}

/// One worker's rows that are not in a full block yet.
#[derive(Debug)]
pub struct RowSink<'s> {
    store: &'s RowStore,
    open: Vec<Vec<Row>>,
}

impl Default for RowStore {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl RowStore {
    /// A place for one worker's rows; what it holds is stored when it is dropped.
    #[must_use]
    pub fn sink(&self) -> RowSink<'_> {
        RowSink { store: self, open: (0..SHARDS).map(|_| Vec::new()).collect() }
    }

    /// Hands the rows of each identity to `each`, those in order of partition and offset.
    pub fn for_each_identity(self, mut each: impl FnMut(&[Row])) {
        for shard in self.shards {
            let blocks = shard.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut rows = Vec::with_capacity(blocks.iter().map(|block| block.len()).sum());
            for block in blocks {
                rows.extend_from_slice(&block);
            }
            rows.par_sort_unstable_by_key(|row| (row.identity, row.partition, row.offset));
            rows.chunk_by(|a, b| a.identity == b.identity).for_each(&mut each);
        }
    }
}

impl RowSink<'_> {
    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        let shard = usize::try_from(row.identity.0 >> (128 - SHARD_BITS)).unwrap_or(0);
        let Some(open) = self.open.get_mut(shard) else { return };
        if open.capacity() == 0 {
            open.reserve_exact(BLOCK);
        }
        open.push(row);
        if open.len() == BLOCK {
            let block = std::mem::take(open);
            self.store.add(shard, block.into_boxed_slice());
        }
    }
}

impl Drop for RowSink<'_> {
    fn drop(&mut self) {
        for (shard, open) in std::mem::take(&mut self.open).into_iter().enumerate() {
            if !open.is_empty() {
                self.store.add(shard, open.into_boxed_slice());
            }
        }
    }
}

impl RowStore {
    fn add(&self, shard: usize, block: Box<[Row]>) {
        if let Some(blocks) = self.shards.get(shard) {
            blocks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_an_identity_come_together_in_the_order_of_their_places() {
        let store = RowStore::default();
        let row = |identity: u128, partition, offset| Row {
            identity: Fingerprint(identity << 90 | identity),
            partition,
            selector: 0,
            offset: Offset(offset),
        };
        {
            let (mut one, mut other) = (store.sink(), store.sink());
            for offset in (0..5000).rev() {
                one.push(row(offset % 70, 1, i64::try_from(offset).unwrap()));
            }
            other.push(row(3, 0, 9));
        }
        let (mut groups, mut total) = (0, 0);
        store.for_each_identity(|rows| {
            groups += 1;
            total += rows.len();
            assert!(rows.is_sorted_by_key(|row| (row.partition, row.offset)));
            assert!(rows.iter().all(|row| row.identity == rows[0].identity));
        });
        assert_eq!((groups, total), (70, 5001));
    }
}
