//! Elements in the order in which they are put, to be read as often as it takes: as they are up to a
//! limit on memory, and in a temporary file beyond it.

use super::run::RunReader;
use super::{Element, TempSpace};
use crate::error::AuditError;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// Bytes that are read, or written to a file, at once.
const BUFFER: usize = 256 << 10;
/// Bytes that are read at once where few elements are asked for.
const FEW: usize = 256;

/// Takes elements one behind the other.
#[derive(Debug)]
pub struct ShelfWriter<T> {
    space: TempSpace,
    limit: usize,
    /// All elements so far, while there is no file.
    held: Held<T>,
    memory: usize,
    /// Bytes of the last elements, or of the last one alone while there is no file.
    buffer: Vec<u8>,
    file: Option<File>,
    /// Bytes in the file, or of what is held.
    written: u64,
}

/// Elements in memory, each with its place: that of its first byte in the file that they may become.
#[derive(Debug)]
struct Held<T> {
    elements: Vec<T>,
    places: Vec<u64>,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self { elements: Vec::new(), places: Vec::new() }
    }
}

impl<T: Element + Clone> ShelfWriter<T> {
    /// Holds about `limit` bytes in memory, or puts all of them into `space`.
    #[must_use]
    pub fn new(limit: usize, space: TempSpace) -> Self {
        Self { space, limit, held: Held::default(), memory: 0, buffer: Vec::new(), file: None, written: 0 }
    }

    /// Where the next element will stand.
    #[must_use]
    pub fn end(&self) -> u64 {
        let in_buffer = if self.file.is_some() { self.buffer.len() } else { 0 };
        self.written.saturating_add(u64::try_from(in_buffer).unwrap_or(u64::MAX))
    }

    /// Adds an element.
    ///
    /// # Errors
    /// [`AuditError`] when it does not fit into memory and cannot be written.
    pub fn put(&mut self, element: &T) -> Result<(), AuditError> {
        if self.file.is_none() {
            let memory = element.memory().saturating_add(size_of::<u64>());
            self.memory = self.memory.saturating_add(memory);
            if self.memory <= self.limit {
                self.buffer.clear();
                element.put(&mut self.buffer);
                self.held.elements.push(element.clone());
                self.held.places.push(self.written);
                let length = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
                self.written = self.written.saturating_add(length);
                return Ok(());
            }
            self.begin_file()?;
        }
        element.put(&mut self.buffer);
        if self.buffer.len() > self.limit.min(BUFFER) { self.flush() } else { Ok(()) }
    }

    /// The elements, to be read.
    ///
    /// # Errors
    /// [`AuditError`] when they cannot be written.
    pub fn finish(mut self) -> Result<Shelf<T>, AuditError> {
        let end = self.end();
        if self.file.is_some() && !self.buffer.is_empty() {
            self.flush()?;
        }
        let kept = if let Some(file) = self.file {
            Kept::Written(Arc::new(file))
        } else {
            self.held.elements.shrink_to_fit();
            self.held.places.shrink_to_fit();
            Kept::Held(Arc::new(self.held))
        };
        Ok(Shelf { space: self.space, kept, end })
    }

    /// Writes what was held.
    fn begin_file(&mut self) -> Result<(), AuditError> {
        self.space.require(self.written)?;
        self.file = Some(self.space.file()?);
        self.written = 0;
        self.buffer.clear();
        for element in std::mem::take(&mut self.held).elements {
            element.put(&mut self.buffer);
            if self.buffer.len() > BUFFER {
                self.flush()?;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), AuditError> {
        let length = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        self.space.require(length)?;
        let Some(file) = &mut self.file else { return Ok(()) };
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
    kept: Kept<T>,
    end: u64,
}

#[derive(Debug)]
enum Kept<T> {
    Held(Arc<Held<T>>),
    Written(Arc<File>),
}

impl<T> Default for Shelf<T> {
    /// Of nothing.
    fn default() -> Self {
        let space = TempSpace::new(TempSpace::default_directory());
        Self { space, kept: Kept::Held(Arc::default()), end: 0 }
    }
}

impl<T> Clone for Shelf<T> {
    /// The same elements; they are not held twice.
    fn clone(&self) -> Self {
        let kept = match &self.kept {
            Kept::Held(held) => Kept::Held(Arc::clone(held)),
            Kept::Written(file) => Kept::Written(Arc::clone(file)),
        };
        Self { space: self.space.clone(), kept, end: self.end }
    }
}

impl<T: Element + Clone> Shelf<T> {
    /// All elements.
    #[must_use]
    pub fn all(&self) -> Reading<T> {
        self.between(0, self.end)
    }

    /// The elements that stand from one place up to another, as [`ShelfWriter::end`] told them.
    #[must_use]
    pub fn between(&self, start: u64, end: u64) -> Reading<T> {
        self.read(start, end.min(self.end), BUFFER)
    }

    /// The element that stands at a place, with little read beside it.
    ///
    /// # Errors
    /// [`AuditError`] when the temporary file cannot be read.
    pub fn at(&self, start: u64) -> Result<Option<T>, AuditError> {
        self.few_from(start).next().transpose()
    }

    /// The elements from a place on, of which few are asked for.
    #[must_use]
    pub fn few_from(&self, start: u64) -> Reading<T> {
        self.read(start, self.end, FEW)
    }

    fn read(&self, start: u64, end: u64, buffer: usize) -> Reading<T> {
        let from = match &self.kept {
            Kept::Held(held) => {
                let index = |place: u64| held.places.partition_point(|&at| at < place);
                From::Held { held: Arc::clone(held), next: index(start), end: index(end) }
            }
            Kept::Written(file) => From::Written(RunReader::new(Arc::clone(file), start, end, buffer)),
        };
        Reading { space: self.space.clone(), from }
    }
}

/// Elements that are read one behind the other.
#[derive(Debug)]
pub struct Reading<T> {
    space: TempSpace,
    from: From<T>,
}

#[derive(Debug)]
enum From<T> {
    Held { held: Arc<Held<T>>, next: usize, end: usize },
    Written(RunReader),
}

impl<T: Element + Clone> Iterator for Reading<T> {
    type Item = Result<T, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.from {
            From::Held { held, next, end } => {
                let element = held.elements.get(*next).filter(|_| *next < *end)?;
                *next += 1;
                Some(Ok(element.clone()))
            }
            From::Written(reader) => reader.next().map_err(|source| self.space.failed(source)).transpose(),
        }
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
