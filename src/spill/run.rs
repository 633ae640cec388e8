//! Elements one behind the other in a temporary file: written through a buffer, read back by position.

use super::{Element, TempSpace};
use crate::error::AuditError;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

/// Bytes that are written at once.
const BUFFER: usize = 256 << 10;

/// Appends elements to a temporary file.
#[derive(Debug)]
pub struct RunWriter {
    file: File,
    buffer: Vec<u8>,
    written: u64,
}

impl RunWriter {
    /// An empty file.
    pub(crate) fn new(space: &TempSpace) -> Result<Self, AuditError> {
        Ok(Self { file: space.file()?, buffer: Vec::new(), written: 0 })
    }

    /// Appends one element.
    pub(crate) fn put<T: Element>(&mut self, element: &T) -> io::Result<()> {
        element.put(&mut self.buffer);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Where the next element will stand.
    pub(super) fn position(&self) -> u64 {
        self.written.saturating_add(u64::try_from(self.buffer.len()).unwrap_or(u64::MAX))
    }

    /// Writes what is in the buffer and gives it back; says how long the file is.
    pub(crate) fn end(&mut self) -> io::Result<u64> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(self.written)
    }

    /// The file, to be read.
    pub(crate) fn into_file(self) -> Arc<File> {
        Arc::new(self.file)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.written = self.written.saturating_add(u64::try_from(self.buffer.len()).unwrap_or(u64::MAX));
        self.buffer.clear();
        Ok(())
    }
}

/// Reads a stretch of a temporary file from front to back.
#[derive(Debug)]
pub struct RunReader {
    file: Arc<File>,
    position: u64,
    end: u64,
    buffer: Vec<u8>,
    at: usize,
    capacity: usize,
}

impl RunReader {
    /// The bytes from `start` up to `end`, through a buffer of `capacity` bytes.
    pub(crate) fn new(file: Arc<File>, start: u64, end: u64, capacity: usize) -> Self {
        Self { file, position: start, end, buffer: Vec::new(), at: 0, capacity: capacity.max(1) }
    }

    /// The next element; `None` at the end.
    pub(crate) fn next<T: Element>(&mut self) -> io::Result<Option<T>> {
        if self.at == self.buffer.len() && self.position >= self.end {
            return Ok(None);
        }
        T::take(self).map(Some)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::UnexpectedEof`] when the stretch is at its end.
    pub fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let bytes = self.bytes(N)?;
        bytes.first_chunk().copied().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// As [`RunReader::array`].
    pub fn bytes(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.buffer.len().saturating_sub(self.at) < count {
            self.fill(count)?;
        }
        let start = self.at;
        self.at = start.saturating_add(count);
        self.buffer.get(start..self.at).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn fill(&mut self, count: usize) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let kept = self.buffer.len();
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let more = self.capacity.max(count).saturating_sub(kept).min(left);
        if self.buffer.capacity() < kept.saturating_add(more) {
            self.buffer.reserve_exact(more);
        }
        self.buffer.resize(kept.saturating_add(more), 0);
        let room = self.buffer.get_mut(kept..).unwrap_or_default();
        read_exact_at(&self.file, room, self.position)?;
        self.position = self.position.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        Ok(())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, position)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut position: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, position)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer = buffer.get_mut(read..).unwrap_or_default();
        position = position.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
    }
    Ok(())
}
