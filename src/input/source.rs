//! Opens a segment for the scan, read or mapped.

use super::window::FileWindow;
use crate::format::ByteSource;
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io;
use std::path::Path;

/// How segments are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadMode {
    /// By positioned reads through a buffer: right for files that a broker may still change.
    #[default]
    Positioned,
    /// Mapped into memory: only for a private copy, which the user declares to be one.
    Mapped,
}

/// A segment that is open.
#[derive(Debug)]
pub enum SegmentSource {
    /// Read by position.
    Positioned(FileWindow),
    /// Mapped.
    Mapped(MappedFile),
}

/// Opens `path` read-only, to be read up to `len` bytes.
///
/// # Errors
/// What the system says; a file that is shorter than `len` is told at the read that needs the
/// missing bytes, or here when it is to be mapped.
pub fn open_segment(path: &Path, mode: ReadMode, len: u64) -> io::Result<SegmentSource> {
    match mode {
        ReadMode::Positioned => FileWindow::open(path, len).map(SegmentSource::Positioned),
        ReadMode::Mapped => MappedFile::open(path, len).map(SegmentSource::Mapped),
    }
}

impl ByteSource for SegmentSource {
    fn len(&self) -> u64 {
        match self {
            Self::Positioned(file) => file.len(),
            Self::Mapped(file) => file.len(),
        }
    }

    fn window(&mut self, position: u64, length: usize) -> io::Result<&[u8]> {
        match self {
            Self::Positioned(file) => file.window(position, length),
            Self::Mapped(file) => file.window(position, length),
        }
    }
}

/// A file of a private copy, mapped read-only.
#[derive(Debug)]
pub struct MappedFile {
    map: Mmap,
}

impl MappedFile {
    /// Maps the first `len` bytes of `path`.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::UnexpectedEof`] when the file is shorter.
    pub fn open(path: &Path, len: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let actual = file.metadata()?.len();
        if actual < len {
            return Err(super::window::became_shorter(actual, len));
        }
        let len = usize::try_from(len).map_err(io::Error::other)?;
        // SAFETY: the map is read-only and never longer than the file is now. Rust cannot check that
        // no other process changes or shortens the file while it is mapped; then bytes would change
        // under a shared reference, or the process would end with SIGBUS. Only files that the user
        // declares to be a private copy come here (`--offline`), so nobody does.
        let map = unsafe { MmapOptions::new().len(len).map(&file)? };
        #[cfg(unix)]
        // A hint: where it is refused the bytes are the same.
        let _ = map.advise(memmap2::Advice::Sequential);
        Ok(Self { map })
    }
}

impl ByteSource for MappedFile {
    fn len(&self) -> u64 {
        u64::try_from(self.map.len()).unwrap_or(u64::MAX)
    }

    fn window(&mut self, position: u64, _length: usize) -> io::Result<&[u8]> {
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        Ok(self.map.get(start..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn both_ways_give_the_same_bytes() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"0123456789").unwrap();
        for mode in [ReadMode::Positioned, ReadMode::Mapped] {
            let mut source = open_segment(file.path(), mode, 8).unwrap();
            assert_eq!(source.len(), 8);
            assert_eq!(source.window(2, 3).unwrap().get(..3), Some(&b"234"[..]));
            assert_eq!(source.window(7, 3).unwrap(), b"7");
            assert!(source.window(8, 3).unwrap().is_empty());
            assert!(source.window(u64::MAX, 3).unwrap().is_empty());
        }
    }

    #[test]
    fn an_empty_segment_can_be_opened_both_ways() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for mode in [ReadMode::Positioned, ReadMode::Mapped] {
            assert!(open_segment(file.path(), mode, 0).unwrap().window(0, 61).unwrap().is_empty());
        }
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_is_not_mapped() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = open_segment(file.path(), ReadMode::Mapped, 8).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
