//! A file as a window that slides over it by positioned reads.
//!
//! The broker may write, shorten or delete the file meanwhile: the length is fixed when it is
//! opened, what was appended since is not read, and what is missing is an error, not a crash.
//! Nothing is mapped, locked or written. Bytes that are in the buffer are handed out where they
//! are; only the part of a batch that straddles the end of the buffer is moved to its front.

use super::identity::FileIdentity;
use super::pace::{PIECE, Pace};
use super::place::{FilePlace, Within};
#[cfg(target_os = "linux")]
use super::residency::Residency;
use crate::format::ByteSource;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// How much is read at once, and how much is kept when nothing larger is asked for.
const BUFFER: usize = 1 << 20;

/// A file, open for reading, and the part of it that is in memory.
#[derive(Debug)]
pub struct FileWindow {
    bytes: Bytes,
    len: u64,
    /// Where the buffer begins in the file.
    start: u64,
    /// How many bytes of the buffer came from the file.
    filled: usize,
    buffer: Vec<u8>,
    capacity: usize,
    bytes_read: u64,
    pace: Option<&'static Pace>,
}

/// Where the bytes come from.
#[derive(Debug)]
enum Bytes {
    OnDisk {
        file: File,
        /// What is to be dropped from the page cache behind the reading.
        #[cfg(target_os = "linux")]
        residency: Option<Residency>,
    },
    InArchive(Within),
}

impl FileWindow {
    /// Opens what is at `place` read-only, to be read up to `len` bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(place: &FilePlace, len: u64) -> io::Result<Self> {
        Self::with_capacity(place, len, BUFFER)
    }

    /// As [`FileWindow::open`], with a buffer of `capacity` bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn with_capacity(place: &FilePlace, len: u64, capacity: usize) -> io::Result<Self> {
        let bytes = if let Some(within) = place.within() {
            Bytes::InArchive(within.clone())
        } else {
            let file = open_read_only(place.path())?;
            Bytes::OnDisk {
                #[cfg(target_os = "linux")]
                residency: Some(Residency::of(len)),
                file,
            }
        };
        Ok(Self {
            bytes,
            len,
            start: 0,
            filled: 0,
            buffer: Vec::new(),
            capacity: capacity.max(1),
            bytes_read: 0,
            pace: None,
        })
    }

    /// The same for a look at one place: no more than `bytes` are read where nothing larger is asked
    /// for, and nothing ahead of them.
    #[must_use]
    pub fn at_one_place(mut self, bytes: usize) -> Self {
        #[cfg(target_os = "linux")]
        if let Bytes::OnDisk { file, residency: Some(residency) } = &mut self.bytes {
            residency.without_read_ahead(file);
        }
        self.capacity = bytes.max(1);
        self
    }

    /// The same, read no faster than `pace` allows.
    #[must_use]
    pub fn paced(mut self, pace: &'static Pace) -> Self {
        self.pace = Some(pace);
        self
    }

    /// Which file it is; archives stay open, so that theirs are always the same.
    pub(super) fn identity(&self) -> Option<FileIdentity> {
        match &self.bytes {
            Bytes::OnDisk { file, .. } => FileIdentity::of(&file.metadata().ok()?),
            Bytes::InArchive(_) => None,
        }
    }

    /// Reads once into `room`, as much as the limit on the rate allows at once.
    fn fill(&mut self, range: std::ops::Range<usize>, from: u64) -> io::Result<usize> {
        let range = match self.pace {
            Some(pace) => {
                let range = range.start..range.end.min(range.start.saturating_add(PIECE));
                pace.wait_for(range.len());
                range
            }
            None => range,
        };
        let Some(room) = self.buffer.get_mut(range) else { return Ok(0) };
        match &mut self.bytes {
            Bytes::InArchive(within) => within.archive.read_at(within.start.saturating_add(from), room),
            #[cfg(target_os = "linux")]
            Bytes::OnDisk { file, residency } => {
                if let Some(pages) = residency {
                    let end = from.saturating_add(u64::try_from(room.len()).unwrap_or(u64::MAX));
                    if pages.before(file, &(from..end)).is_none() {
                        *residency = None;
                    }
                }
                let read = read_at(file, room, from)?;
                if let Some(pages) = residency {
                    let end = from.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
                    pages.passed(file, from..end);
                }
                Ok(read)
            }
            #[cfg(not(target_os = "linux"))]
            Bytes::OnDisk { file } => read_at(file, room, from),
        }
    }

    /// Bytes of memory that the buffer holds now.
    #[must_use]
    pub fn buffer_size(&self) -> usize {
        self.buffer.capacity()
    }

    /// How many bytes came from the file so far, those that were read twice counted twice.
    #[must_use]
    pub const fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Gives away the `length` bytes at `position`, which were handed out before: without copying them
    /// where the buffer begins there. `spare` is used as buffer from then on.
    pub(super) fn give(&mut self, position: u64, length: usize, mut spare: Vec<u8>) -> Vec<u8> {
        let Some(at) = self.at(position).filter(|at| self.filled - at >= length) else { return Vec::new() };
        if at > 0 {
            self.buffer.copy_within(at..self.filled, 0);
            (self.start, self.filled) = (position, self.filled - at);
        }
        let rest = self.buffer.get(length..self.filled).unwrap_or_default();
        if spare.len() < rest.len() {
            spare.resize(rest.len(), 0);
        }
        if let Some(room) = spare.get_mut(..rest.len()) {
            room.copy_from_slice(rest);
        }
        self.start = self.start.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        self.filled -= length;
        let mut given = std::mem::replace(&mut self.buffer, spare);
        given.truncate(length);
        given
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
            match self.fill(self.filled..size, from) {
                Ok(0) if self.filled < want => return Err(became_shorter(from, self.len)),
                Ok(0) => break,
                Ok(read) => {
                    self.filled += read;
                    self.bytes_read = self.bytes_read.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
impl Drop for FileWindow {
    fn drop(&mut self) {
        if let Bytes::OnDisk { file, residency: Some(residency) } = &mut self.bytes {
            residency.finish(file);
        }
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

/// Opens for reading alone, and where the system allows it without a trace in the file's access
/// time, and without pushing what the broker reads out of the page cache.
#[cfg(target_os = "linux")]
pub(super) fn open_read_only(path: &Path) -> io::Result<File> {
    use rustix::fs::{Advice, OFlags, fadvise};
    use std::os::unix::fs::OpenOptionsExt;

    let flag = i32::try_from(OFlags::NOATIME.bits()).map_err(io::Error::other)?;
    let file = match OpenOptions::new().read(true).custom_flags(flag).open(path) {
        // Only the owner of a file may ask for this.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path)?,
        other => other?,
    };
    // Hints: where they are refused the bytes are the same. Read ahead, and do not count these pages
    // as used (Linux 6.3): they are the first to go when memory is short, not the broker's.
    let _ = fadvise(&file, 0, None, Advice::Sequential);
    let _ = fadvise(&file, 0, None, Advice::NoReuse);
    Ok(file)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open_read_only(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, position)
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|at| u8::try_from(at % 251).unwrap()).collect()
    }

    #[test]
    fn every_window_holds_the_bytes_of_its_place() {
        let all = bytes(1000);
        let file = file(&all);
        let mut window = FileWindow::with_capacity(&file.path().to_owned().into(), 1000, 64).unwrap();
        // Forward, across the end of the buffer, larger than it, backward, at and behind the end.
        for (position, length) in [
            (0, 10),
            (5, 40),
            (60, 64),
            (100, 500),
            (610, 1),
            (3, 64),
            (936, 64),
            (999, 5),
            (1000, 5),
            (2000, 1),
        ] {
            let found = window.window(position, length).unwrap();
            let start = usize::try_from(position).unwrap().min(1000);
            let wanted = length.min(1000 - start);
            assert!(found.len() >= wanted, "{position} {length}: {}", found.len());
            assert_eq!(found, &all[start..start + found.len()], "{position} {length}");
        }
    }

    #[test]
    fn the_buffer_grows_for_a_large_batch_and_shrinks_again() {
        let file = file(&bytes(10_000));
        let mut window = FileWindow::with_capacity(&file.path().to_owned().into(), 10_000, 100).unwrap();
        window.window(0, 100).unwrap();
        assert!(window.buffer_size() < 1000);
        window.window(50, 5000).unwrap();
        assert!(window.buffer_size() >= 5000);
        window.window(5050, 100).unwrap();
        assert!(window.buffer_size() < 1000, "{}", window.buffer_size());
    }

    #[test]
    fn what_was_appended_since_is_not_read() {
        let mut file = file(&bytes(100));
        let mut window = FileWindow::open(&file.path().to_owned().into(), 100).unwrap();
        file.write_all(&[7; 100]).unwrap();
        assert_eq!(window.window(0, 200).unwrap().len(), 100);
        assert!(window.window(100, 1).unwrap().is_empty());
    }

    #[test]
    fn a_file_that_became_shorter_says_so_and_what_is_left_can_be_read() {
        let file = file(&bytes(1000));
        let mut window = FileWindow::with_capacity(&file.path().to_owned().into(), 1000, 64).unwrap();
        window.window(0, 64).unwrap();
        file.as_file().set_len(100).unwrap();
        assert_eq!(window.window(70, 30).unwrap(), &bytes(1000)[70..100]);
        let error = window.window(90, 64).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(error.to_string().contains("100 bytes, it had 1000"), "{error}");
        // The error does not spoil what comes after.
        assert_eq!(window.window(0, 64).unwrap(), &bytes(1000)[..64]);
    }

    #[test]
    fn what_is_given_away_is_read_once_and_the_rest_stays() {
        let all = bytes(10_000);
        let file = file(&all);
        let mut window = FileWindow::with_capacity(&file.path().to_owned().into(), 10_000, 100).unwrap();
        let (mut position, mut spare) = (0, Vec::new());
        for (wanted, length) in [(100, 70), (100, 100), (300, 290), (100, 1), (5000, 4000), (100, 50)] {
            window.window(position, wanted).unwrap();
            let given = window.give(position, length, spare);
            let start = usize::try_from(position).unwrap();
            assert_eq!(given, &all[start..start + length]);
            position += length as u64;
            spare = given;
        }
        // From within the buffer, as well.
        window.window(position, 80).unwrap();
        let start = usize::try_from(position).unwrap() + 10;
        assert_eq!(window.give(position + 10, 20, Vec::new()), &all[start..start + 20]);
        assert_eq!(window.bytes_read(), window.start + window.filled as u64);
    }

    #[test]
    fn one_pass_reads_every_byte_once() {
        let all = bytes(100_000);
        let file = file(&all);
        let mut window = FileWindow::with_capacity(&file.path().to_owned().into(), 100_000, 1000).unwrap();
        let mut position = 0;
        while position < 100_000 {
            assert_eq!(window.window(position, 61).unwrap()[0], all[usize::try_from(position).unwrap()]);
            window.window(position, 333).unwrap();
            position += 333;
        }
        assert_eq!(window.bytes_read(), 100_000);
    }
}
