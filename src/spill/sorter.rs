//! Sorts any number of elements within a bound on memory: what is full is sorted and written as a
//! run, and the runs are merged while they are read.

use super::{Element, RunReader, RunWriter, TempSpace};
use crate::error::AuditError;
use rayon::slice::ParallelSliceMut;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A buffer of this size for each run makes reading sequential enough.
const BUFFER: usize = 256 << 10;
/// With less than this for each run, runs are merged into fewer ones first.
const SMALLEST_BUFFER: usize = 16 << 10;

/// Takes elements in any order.
#[derive(Debug)]
pub struct Sorter<T> {
    space: TempSpace,
    limit: usize,
    held: Vec<T>,
    memory: usize,
    file: Option<RunWriter>,
    /// Where each run ends in the file.
    ends: Vec<u64>,
}

impl<T: Element + Ord> Sorter<T> {
    /// Holds about `limit` bytes in memory and puts the rest into `space`.
    #[must_use]
    pub fn new(limit: usize, space: TempSpace) -> Self {
        Self { space, limit, held: Vec::new(), memory: 0, file: None, ends: Vec::new() }
    }

    /// Adds an element.
    ///
    /// # Errors
    /// [`AuditError`] when it does not fit into memory and cannot be written.
    pub fn push(&mut self, element: T) -> Result<(), AuditError> {
        let memory = element.memory();
        if self.memory.saturating_add(memory) > self.limit && !self.held.is_empty() {
            self.spill()?;
        }
        if self.held.len() == self.held.capacity() {
            // Doubling, but never beyond what the limit allows for elements of this size.
            let most = (self.limit / size_of::<T>().max(1)).saturating_sub(self.held.len());
            self.held.reserve_exact(self.held.len().clamp(1, 1 << 20).min(most).max(1));
        }
        self.memory = self.memory.saturating_add(memory);
        self.held.push(element);
        Ok(())
    }

    /// The elements in their order.
    ///
    /// # Errors
    /// [`AuditError`] when a temporary file cannot be written or read.
    pub fn finish(mut self) -> Result<Sorted<T>, AuditError> {
        if self.file.is_none() {
            self.held.par_sort_unstable();
            let from = From::Memory(self.held.into_iter());
            return Ok(Sorted { space: self.space, from });
        }
        self.spill()?;
        self.held = Vec::new();
        let Some(file) = self.file.take() else {
            return Ok(Sorted { space: self.space, from: From::Memory(Vec::new().into_iter()) });
        };
        let (mut file, mut ends) = (file.into_file(), std::mem::take(&mut self.ends));
        let most = (self.limit / SMALLEST_BUFFER).max(2);
        while ends.len() > most {
            (file, ends) = merge_some::<T>(&self.space, &file, &ends, most, self.limit)?;
        }
        let runs = readers(&file, 0, &ends, self.limit);
        let merge = Merge::new(runs).map_err(|source| self.space.failed(source))?;
        Ok(Sorted { space: self.space, from: From::Runs(merge) })
    }

    fn spill(&mut self) -> Result<(), AuditError> {
        self.held.par_sort_unstable();
        self.space.require(u64::try_from(self.memory).unwrap_or(u64::MAX))?;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(RunWriter::new(&self.space)?),
        };
        let written =
            self.held.drain(..).try_for_each(|element| file.put(&element)).and_then(|()| file.end());
        self.memory = 0;
        self.ends.push(written.map_err(|source| self.space.failed(source))?);
        Ok(())
    }
}

/// Readers over the runs that end at `ends`, the first of which begins at `start`.
fn readers(file: &Arc<File>, mut start: u64, ends: &[u64], limit: usize) -> Vec<RunReader> {
    let capacity = (limit / ends.len().max(1)).clamp(SMALLEST_BUFFER.min(limit.max(1)), BUFFER);
    let reader = |&end: &u64| {
        let reader = RunReader::new(Arc::clone(file), start, end, capacity);
        start = end;
        reader
    };
    ends.iter().map(reader).collect()
}

/// Makes fewer and longer runs, in a file of their own.
fn merge_some<T: Element + Ord>(
    space: &TempSpace,
    file: &Arc<File>,
    ends: &[u64],
    at_once: usize,
    limit: usize,
) -> Result<(Arc<File>, Vec<u64>), AuditError> {
    space.require(ends.last().copied().unwrap_or(0))?;
    let mut out = RunWriter::new(space)?;
    let (mut start, mut longer) = (0, Vec::new());
    for ends in ends.chunks(at_once) {
        let mut merged = || {
            let mut merge = Merge::<T>::new(readers(file, start, ends, limit))?;
            while let Some(element) = merge.next()? {
                out.put(&element)?;
            }
            out.end()
        };
        longer.push(merged().map_err(|source| space.failed(source))?);
        start = ends.last().copied().unwrap_or(start);
    }
    Ok((out.into_file(), longer))
}

/// Elements in their order.
#[derive(Debug)]
pub struct Sorted<T> {
    space: TempSpace,
    from: From<T>,
}

#[derive(Debug)]
enum From<T> {
    Memory(std::vec::IntoIter<T>),
    Runs(Merge<T>),
}

impl<T: Element + Ord> Sorted<T> {
    /// The next element.
    ///
    /// # Errors
    /// [`AuditError`] when a temporary file cannot be read.
    pub fn take_next(&mut self) -> Result<Option<T>, AuditError> {
        match &mut self.from {
            From::Memory(elements) => Ok(elements.next()),
            From::Runs(merge) => merge.next().map_err(|source| self.space.failed(source)),
        }
    }
}

impl<T: Element + Ord> Iterator for Sorted<T> {
    type Item = Result<T, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take_next().transpose()
    }
}

/// Runs that are read side by side.
#[derive(Debug)]
struct Merge<T> {
    runs: Vec<RunReader>,
    /// The first element of each run that is not at its end; of equals, that of the earlier run.
    heads: BinaryHeap<Reverse<(T, usize)>>,
}

impl<T: Element + Ord> Merge<T> {
    fn new(mut runs: Vec<RunReader>) -> io::Result<Self> {
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (at, run) in runs.iter_mut().enumerate() {
            if let Some(element) = run.next()? {
                heads.push(Reverse((element, at)));
            }
        }
        Ok(Self { runs, heads })
    }

    fn next(&mut self) -> io::Result<Option<T>> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        let following = match self.runs.get_mut(head.0.1) {
            Some(run) => run.next()?,
            None => None,
        };
        Ok(Some(match following {
            Some(element) => std::mem::replace(&mut head.0.0, element),
            None => PeekMut::pop(head).0.0,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Element for String {
        fn memory(&self) -> usize {
            size_of::<Self>() + self.capacity()
        }
        fn put(&self, out: &mut Vec<u8>) {
            out.extend(u32::try_from(self.len()).unwrap().to_le_bytes());
            out.extend(self.as_bytes());
        }
        fn take(from: &mut RunReader) -> io::Result<Self> {
            let length = u32::from_le_bytes(from.array()?);
            let bytes = from.bytes(usize::try_from(length).unwrap())?;
            Ok(std::str::from_utf8(bytes).unwrap().to_owned())
        }
    }

    fn sorted(elements: &[String], limit: usize) -> Vec<String> {
        let mut sorter = Sorter::new(limit, TempSpace::new(std::env::temp_dir()));
        for element in elements {
            sorter.push(element.clone()).unwrap();
        }
        let mut elements = sorter.finish().unwrap();
        std::iter::from_fn(|| elements.take_next().unwrap()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_order_does_not_depend_on_the_memory(
            mut elements in proptest::collection::vec("[a-c]{0,40}", 0..300),
            limit in 0_usize..40_000,
        ) {
            let found = sorted(&elements, limit);
            elements.sort();
            prop_assert_eq!(found, elements);
        }
    }

    #[test]
    fn more_runs_than_can_be_read_at_once_are_merged_in_steps() {
        // One element a run and two runs at once: eleven levels.
        let elements: Vec<String> = (0..2000).map(|n| format!("{:04}", (n * 7919) % 2000)).collect();
        let found = sorted(&elements, 0);
        assert!(found.is_sorted());
        assert_eq!(found.len(), 2000);
    }

    #[test]
    fn an_element_larger_than_the_memory_passes() {
        let elements = vec!["b".repeat(1 << 20), "a".repeat(1 << 20), String::new()];
        let found = sorted(&elements, 1000);
        assert_eq!(found.iter().map(String::len).collect::<Vec<_>>(), [0, 1 << 20, 1 << 20]);
        assert!(found.is_sorted());
    }
}
