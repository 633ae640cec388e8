//! Elements in the order in which they are put, to be read as often as it takes: their bytes stand in
//! memory up to a limit, and in a temporary file beyond it.

use super::run::{Bytes, RunReader};
use super::{Element, TempSpace};
use crate::error::AuditError;
use std::fs::File;
use std::io::Write;
use std::marker::PhantomData;
use std::sync::Arc;

/// Bytes that are read, or written to a file, at once.
const BUFFER: usize = 256 << 10;

/// Takes elements one behind the other.
#[derive(Debug)]
pub struct ShelfWriter<T> {
    space: TempSpace,
    limit: usize,
    buffer: Vec<u8>,
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    of: PhantomData<T>,
}

impl<T: Element> ShelfWriter<T> {
    /// Holds about `limit` bytes in memory, or puts all of them into `space`.
    #[must_use]
    pub fn new(limit: usize, space: TempSpace) -> Self {
        Self { space, limit, buffer: Vec::new(), file: None, written: 0, of: PhantomData }
    }

    /// Where the next element will stand.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.written.saturating_add(u64::try_from(self.buffer.len()).unwrap_or(u64::MAX))
    }

    /// Adds an element.
    ///
    /// # Errors
    /// [`AuditError`] when it does not fit into memory and cannot be written.
    pub fn put(&mut self, element: &T) -> Result<(), AuditError> {
        element.put(&mut self.buffer);
        let most = if self.file.is_some() { self.limit.min(BUFFER) } else { self.limit };
        if self.buffer.len() > most { self.flush() } else { Ok(()) }
    }

    /// The elements, to be read.
    ///
    /// # Errors
    /// [`AuditError`] when they cannot be written.
    pub fn finish(mut self) -> Result<Shelf<T>, AuditError> {
        if self.file.is_some() && !self.buffer.is_empty() {
            self.flush()?;
        }
        let end = self.end();
        let bytes = if let Some(file) = self.file {
            Bytes::File(Arc::new(file))
        } else {
            self.buffer.shrink_to_fit();
            Bytes::Memory(Arc::new(self.buffer))
        };
        Ok(Shelf { space: self.space, bytes, end, of: PhantomData })
    }

    fn flush(&mut self) -> Result<(), AuditError> {
        let length = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        self.space.require(length)?;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.space.file()?),
        };
        file.write_all(&self.buffer).map_err(|source| self.space.failed(source))?;
        self.written = self.written.saturating_add(length);
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER.saturating_mul(2));
        Ok(())
    }
}

/// Elements in the order in which they were put.
#[derive(Debug)]
pub struct Shelf<T> {
    space: TempSpace,
    bytes: Bytes,
    end: u64,
    of: PhantomData<T>,
}

impl<T: Element> Shelf<T> {
    /// All elements.
    #[must_use]
    pub fn all(&self) -> Reading<T> {
        self.between(0, self.end)
    }

    /// The elements that stand from one place up to another, as [`ShelfWriter::end`] told them.
    #[must_use]
    pub fn between(&self, start: u64, end: u64) -> Reading<T> {
        let reader = RunReader::of(self.bytes.clone(), start, end.min(self.end), BUFFER);
        Reading { space: self.space.clone(), reader, of: PhantomData }
    }

    /// The element that stands at a place, with little read beside it.
    ///
    /// # Errors
    /// [`AuditError`] when the temporary file cannot be read.
    pub fn at(&self, start: u64) -> Result<Option<T>, AuditError> {
        let mut reader = RunReader::of(self.bytes.clone(), start, self.end, 256);
        reader.next().map_err(|source| self.space.failed(source))
    }
}

/// Elements that are read one behind the other.
#[derive(Debug)]
pub struct Reading<T> {
    space: TempSpace,
    reader: RunReader,
    of: PhantomData<T>,
}

impl<T: Element> Iterator for Reading<T> {
    type Item = Result<T, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.reader.next().map_err(|source| self.space.failed(source)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_as_often_as_it_takes_from_memory_and_from_a_file() {
        for limit in [0, 100, 1 << 20] {
            let mut writer = ShelfWriter::new(limit, TempSpace::new(std::env::temp_dir()));
            let mut places = Vec::new();
            for n in 0..200 {
                places.push(writer.end());
                writer.put(&[n, -n]).unwrap();
            }
            let shelf = writer.finish().unwrap();
            for _ in 0..2 {
                assert!(shelf.all().map(Result::unwrap).eq((0..200).map(|n| [n, -n])), "{limit}");
            }
            let some = shelf.between(places[70], places[90]).map(Result::unwrap);
            assert!(some.eq((70..90).map(|n| [n, -n])), "{limit}");
            assert_eq!(shelf.at(places[199]).unwrap(), Some([199, -199]));
        }
    }
}
