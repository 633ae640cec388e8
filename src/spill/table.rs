//! Values by key, changed again and again, of which those stay in memory that were in use lately.
//!
//! What is full is written as a run, sorted by key. A key that comes up again is taken back from the
//! newest run that has it, which then holds what nobody asks for any more. Runs of one size are merged into
//! a longer one, so that there are few to look into; of each the memory holds one key in [`SPARSE`].

use super::{Element, RunReader, RunWriter, Share};
use crate::error::AuditError;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Elements of a run between two keys that the memory holds.
const SPARSE: usize = 32;
/// Runs of one size that become a longer one.
const TOGETHER: usize = 8;
/// Bytes that are read at once where one value is looked for, and where all are read.
const LOOKED_UP: usize = 4 << 10;
const MERGED: usize = 64 << 10;

/// Values by key within a bound on memory.
#[derive(Debug)]
pub struct Table<K, V> {
    share: Share,
    held: BTreeMap<K, V>,
    /// Bytes of what is held, but for what the value that was asked for last has grown.
    memory: usize,
    /// That value's key, and its bytes when it was asked for.
    lent: Option<(K, usize)>,
    runs: Vec<Run<K>>,
    /// The first thing that could not be written or read: from then on values are missing.
    failed: Option<AuditError>,
}

/// Elements of a temporary file in the order of their keys.
#[derive(Debug)]
struct Run<K> {
    file: Arc<File>,
    end: u64,
    /// The first key and every [`SPARSE`]th behind it, with their places.
    marks: Vec<(K, u64)>,
    last: Option<K>,
    /// How many times runs became one.
    size: u32,
}

impl<K: Element + Ord + Clone, V: Element + Default> Default for Table<K, V> {
    fn default() -> Self {
        Self::new(Share::default())
    }
}

impl<K: Element + Ord + Clone, V: Element + Default> Table<K, V> {
    /// Holds about as much in memory as its share allows.
    #[must_use]
    pub fn new(share: Share) -> Self {
        Self { share, held: BTreeMap::new(), memory: 0, lent: None, runs: Vec::new(), failed: None }
    }

    /// The value of a key; the default where there is none yet.
    pub fn entry(&mut self, key: &K) -> &mut V {
        self.lend(key, |this, key| Some(this.written(key).unwrap_or_default()));
        self.held.entry(key.clone()).or_default()
    }

    /// The value of a key that has one.
    pub fn get(&mut self, key: &K) -> Option<&mut V> {
        self.lend(key, Self::written);
        self.held.get_mut(key)
    }

    /// Takes the value of a key from where it is, and keeps in mind that it may change.
    fn lend(&mut self, key: &K, absent: fn(&mut Self, &K) -> Option<V>) {
        if self.lent.as_ref().is_some_and(|(lent, _)| lent == key) {
            return;
        }
        self.settle();
        if !self.held.contains_key(key) {
            let Some(value) = absent(self, key) else { return };
            self.memory = self.memory.saturating_add(value.memory()).saturating_add(key.memory());
            self.held.insert(key.clone(), value);
        }
        let bytes = self.held.get(key).map_or(0, Element::memory);
        self.lent = Some((key.clone(), bytes));
    }

    /// All keys with their values, in the order of the keys.
    ///
    /// # Errors
    /// What `each` says, or that a temporary file cannot be read.
    pub fn each(&self, mut each: impl FnMut(&K, &V) -> Result<(), AuditError>) -> Result<(), AuditError> {
        let failed = |source| self.share.space.failed(source);
        let mut merge = Merge::new(&self.runs).map_err(failed)?;
        for (key, value) in &self.held {
            while let Some((older, value)) = merge.next_below(Some(key)).map_err(failed)? {
                each(&older, &value)?;
            }
            merge.skip(key).map_err(failed)?;
            each(key, value)?;
        }
        while let Some((key, value)) = merge.next_below(None).map_err(failed)? {
            each(&key, &value)?;
        }
        Ok(())
    }

    /// Whether everything that was asked for could be written and read.
    ///
    /// # Errors
    /// The first thing that could not, once.
    pub fn check(&mut self) -> Result<(), AuditError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Counts what the value that was asked for last has grown, and makes room where there is none.
    fn settle(&mut self) {
        if let Some((key, before)) = self.lent.take()
            && let Some(value) = self.held.get(&key)
        {
            self.memory = self.memory.saturating_add(value.memory()).saturating_sub(before);
        }
        // Half of what a tree takes is its own.
        if self.memory > self.share.limit / 2
            && let Err(error) = self.spill()
        {
            self.failed.get_or_insert(error);
        }
    }

    /// The value of a key in the newest run that has it.
    fn written(&mut self, key: &K) -> Option<V> {
        for run in self.runs.iter().rev() {
            match run.value(key) {
                Ok(None) => {}
                Ok(found) => return found,
                Err(source) => {
                    let error = self.share.space.failed(source);
                    self.failed.get_or_insert(error);
                }
            }
        }
        None
    }

    fn spill(&mut self) -> Result<(), AuditError> {
        let (held, memory) = (std::mem::take(&mut self.held), std::mem::take(&mut self.memory));
        self.share.space.require(u64::try_from(memory).unwrap_or(u64::MAX))?;
        let mut writer = Writer::new(&self.share, 0)?;
        for (key, value) in held {
            writer.put(&key, &value)?;
        }
        self.runs.push(writer.end()?);
        while let Some((first, size)) = self.longest_tail() {
            let newer = self.runs.split_off(first);
            self.share.space.require(newer.iter().map(|run| run.end).sum())?;
            let mut writer = Writer::new(&self.share, size.saturating_add(1))?;
            let failed = |source| self.share.space.failed(source);
            let mut merge = Merge::<K, V>::new(&newer).map_err(failed)?;
            while let Some((key, value)) = merge.next_below(None).map_err(failed)? {
                writer.put(&key, &value)?;
            }
            self.runs.push(writer.end()?);
        }
        Ok(())
    }

    /// The newest runs, where there are enough of one size: the first of them, and their size.
    fn longest_tail(&self) -> Option<(usize, u32)> {
        let size = self.runs.last()?.size;
        let equal = self.runs.iter().rev().take_while(|run| run.size == size).count();
        (equal >= TOGETHER).then(|| (self.runs.len() - equal, size))
    }
}

impl<K: Element + Ord + Clone> Run<K> {
    fn value<V: Element>(&self, key: &K) -> io::Result<Option<V>> {
        if self.last.as_ref() < Some(key) {
            return Ok(None);
        }
        let behind = self.marks.partition_point(|(mark, _)| mark <= key);
        let Some(&(_, start)) = behind.checked_sub(1).and_then(|at| self.marks.get(at)) else {
            return Ok(None);
        };
        let end = self.marks.get(behind).map_or(self.end, |&(_, place)| place);
        let mut reader = RunReader::new(Arc::clone(&self.file), start, end, LOOKED_UP);
        while let Some(found) = reader.next::<K>()? {
            let value = V::take(&mut reader)?;
            if found >= *key {
                return Ok((found == *key).then_some(value));
            }
        }
        Ok(None)
    }
}

/// Writes a run.
struct Writer<'s, K> {
    share: &'s Share,
    out: RunWriter,
    marks: Vec<(K, u64)>,
    last: Option<K>,
    count: usize,
    size: u32,
}

impl<'s, K: Element + Clone> Writer<'s, K> {
    fn new(share: &'s Share, size: u32) -> Result<Self, AuditError> {
        let out = RunWriter::new(&share.space)?;
        Ok(Self { share, out, marks: Vec::new(), last: None, count: 0, size })
    }

    fn put<V: Element>(&mut self, key: &K, value: &V) -> Result<(), AuditError> {
        if self.count.is_multiple_of(SPARSE) {
            self.marks.push((key.clone(), self.out.position()));
        }
        self.count += 1;
        self.last = Some(key.clone());
        let written = self.out.put(key).and_then(|()| self.out.put(value));
        written.map_err(|source| self.share.space.failed(source))
    }

    fn end(mut self) -> Result<Run<K>, AuditError> {
        let end = self.out.end().map_err(|source| self.share.space.failed(source))?;
        self.marks.shrink_to_fit();
        Ok(Run { file: self.out.into_file(), end, marks: self.marks, last: self.last, size: self.size })
    }
}

/// Runs that are read side by side, the newest value of each key alone.
struct Merge<K, V> {
    runs: Vec<RunReader>,
    /// What comes next in each run, the oldest first.
    heads: Vec<Option<(K, V)>>,
}

impl<K: Element + Ord + Clone, V: Element> Merge<K, V> {
    fn new(runs: &[Run<K>]) -> io::Result<Self> {
        let reader = |run: &Run<K>| RunReader::new(Arc::clone(&run.file), 0, run.end, MERGED);
        let mut this = Self { runs: runs.iter().map(reader).collect(), heads: Vec::new() };
        for run in &mut this.runs {
            this.heads.push(next(run)?);
        }
        Ok(this)
    }

    /// The smallest key that is left, where it is below `end`.
    fn next_below(&mut self, end: Option<&K>) -> io::Result<Option<(K, V)>> {
        let Some(least) = self.heads.iter().flatten().map(|(key, _)| key).min() else { return Ok(None) };
        if end.is_some_and(|end| least >= end) {
            return Ok(None);
        }
        let least = least.clone();
        self.skip(&least)
    }

    /// Passes over a key, and gives its newest value.
    fn skip(&mut self, key: &K) -> io::Result<Option<(K, V)>> {
        let mut newest = None;
        for (head, run) in self.heads.iter_mut().zip(&mut self.runs) {
            if head.as_ref().is_some_and(|(at, _)| at == key) {
                newest = std::mem::replace(head, next(run)?);
            }
        }
        Ok(newest)
    }
}

fn next<K: Element, V: Element>(run: &mut RunReader) -> io::Result<Option<(K, V)>> {
    let Some(key) = run.next()? else { return Ok(None) };
    Ok(Some((key, V::take(run)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(limit: usize) -> Table<[i64; 1], Vec<[i64; 1]>> {
        Table::new(Share { limit, ..Share::default() })
    }

    fn all(table: &Table<[i64; 1], Vec<[i64; 1]>>) -> BTreeMap<i64, Vec<[i64; 1]>> {
        let (mut all, mut order) = (BTreeMap::new(), Vec::new());
        table
            .each(|&[key], value| {
                order.push(key);
                all.insert(key, value.clone());
                Ok(())
            })
            .unwrap();
        assert!(order.is_sorted_by(|a, b| a < b), "each key once and in order: {order:?}");
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn values_do_not_depend_on_the_memory(
            keys in proptest::collection::vec(0_i64..300, 0..1500),
            limit in 0_usize..6_000,
        ) {
            let (mut table, mut expected) = (table(limit), BTreeMap::<i64, Vec<[i64; 1]>>::new());
            for (&key, number) in keys.iter().zip(0..) {
                prop_assert_eq!(table.get(&[key]), expected.get_mut(&key));
                table.entry(&[key]).push([number]);
                expected.entry(key).or_default().push([number]);
            }
            prop_assert_eq!(all(&table), expected);
        }
    }

    #[test]
    fn what_is_held_stays_within_its_share_and_runs_stay_few() {
        let mut table = table(4_000);
        for number in 0..20_000 {
            // Each key comes again, long after it was written.
            table.entry(&[number * 7_919 % 5_000]).push([number]);
            assert!(table.memory < 4_000 && table.held.len() < 200);
        }
        assert!(table.runs.len() < 4 * TOGETHER, "{}", table.runs.len());
        let all = all(&table);
        assert_eq!(all.len(), 5_000);
        assert!(all.values().all(|numbers| numbers.len() == 4 && numbers.is_sorted()));
    }

    #[test]
    fn a_directory_that_is_not_there_is_told_at_the_end() {
        let space = super::super::TempSpace::new("/nowhere/at/all".into());
        let mut table = Table::<[i64; 1], Vec<[i64; 1]>>::new(Share { limit: 100, space });
        (0..100).for_each(|number| table.entry(&[number]).push([number]));
        assert!(table.check().unwrap_err().to_string().contains("/nowhere"));
    }
}
