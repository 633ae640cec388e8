//! A file as a window that slides over it by positioned reads.
//!
//! The broker may write, shorten or delete the file meanwhile: the length is fixed when it is
//! opened, what was appended since is not read, and what is missing is an error, not a crash.
//! Nothing is mapped, locked or written. Bytes that are in the buffer are handed out where they
//! are; only the part of a batch that straddles the end of the buffer is moved to its front.

use crate::format::ByteSource;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// How much is read at once, and how much is kept when nothing larger is asked for.
const BUFFER: usize = 1 << 20;

/// A file, open for reading, and the part of it that is in memory.
#[derive(Debug)]
pub struct FileWindow {
    file: File,
    len: u64,
    /// Where the buffer begins in the file.
    start: u64,
    /// How many bytes of the buffer came from the file.
    filled: usize,
    buffer: Vec<u8>,
    capacity: usize,
}

impl FileWindow {
    /// Opens `path` read-only, to be read up to `len` bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path, len: u64) -> io::Result<Self> {
        Self::with_capacity(path, len, BUFFER)
    }

    /// As [`FileWindow::open`], with a buffer of `capacity` bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn with_capacity(path: &Path, len: u64, capacity: usize) -> io::Result<Self> {
        let file = open_read_only(path)?;
        Ok(Self { file, len, start: 0, filled: 0, buffer: Vec::new(), capacity: capacity.max(1) })
    }

    /// Bytes of memory that the buffer holds now.
    #[must_use]
    pub fn buffer_size(&self) -> usize {
        self.buffer.capacity()
    }

    /// Where `position` is in the buffer, when it is there.
    fn at(&self, position: u64) -> Option<usize> {
        let at = usize::try_from(position.checked_sub(self.start)?).ok()?;
        (at <= self.filled).then_some(at)
    }

    /// Moves the buffer so that it begins at `position` and holds at least `want` bytes, which the
    /// file should have.
    fn slide(&mut self, position: u64, want: usize) -> io::Result<()> {
        let kept = match self.at(position) {
            Some(at) => {
                self.buffer.copy_within(at..self.filled, 0);
                self.filled - at
            }
            None => 0,
        };
        (self.start, self.filled) = (position, kept);
        let left = usize::try_from(self.len.saturating_sub(position)).unwrap_or(usize::MAX);
        let size = self.capacity.max(want).min(left);
        if size > self.buffer.len() {
            self.buffer.resize(size, 0);
        } else if self.buffer.len() > self.capacity && size.max(kept) <= self.capacity {
            self.buffer.truncate(self.capacity);
            self.buffer.shrink_to_fit();
        }
        while self.filled < size {
            let from = self.start.saturating_add(u64::try_from(self.filled).unwrap_or(u64::MAX));
            let Some(room) = self.buffer.get_mut(self.filled..size) else { break };
            match read_at(&self.file, room, from) {
                Ok(0) if self.filled < want => return Err(became_shorter(from, self.len)),
                Ok(0) => break,
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl ByteSource for FileWindow {
    fn len(&self) -> u64 {
        self.len
    }

    fn window(&mut self, position: u64, length: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.len.saturating_sub(position)).unwrap_or(usize::MAX);
        let want = length.min(left);
        let at_hand = self.at(position).is_some_and(|at| self.filled - at >= want);
        if !at_hand {
            self.slide(position, want)?;
        }
        let at = self.at(position).unwrap_or(self.filled);
        Ok(self.buffer.get(at..self.filled).unwrap_or_default())
    }
}

/// The error of a file that has fewer bytes than it had when it was found.
pub(super) fn became_shorter(now: u64, before: u64) -> io::Error {
    let message = format!("file became shorter while it was read: {now} bytes, it had {before}");
    io::Error::new(io::ErrorKind::UnexpectedEof, message)
}

fn open_read_only(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, position)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, position)
}
