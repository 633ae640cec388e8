//! Opens a segment for the scan, read or mapped.

use super::identity::{FileIdentity, deleted};
use super::pace::Pace;
use super::place::FilePlace;
use super::window::FileWindow;
use crate::format::ByteSource;
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io;
use std::path::Path;

/// How segments are read.
#[derive(Clone, Copy, Debug, Default)]
pub enum ReadMode {
    /// By positioned reads through a buffer: right for files that a broker may still change.
    #[default]
    Positioned,
    /// The same, and no faster than a rate that all readers share.
    Paced(&'static Pace),
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

/// Opens what is at `place` read-only, to be read up to `len` bytes. What lies in an archive is never mapped.
///
/// # Errors
/// What the system says; a file that is shorter than `len` is told at the read that needs the
/// missing bytes, or here when it is to be mapped.
pub fn open_segment(place: &FilePlace, mode: ReadMode, len: u64) -> io::Result<SegmentSource> {
    match mode {
        ReadMode::Mapped if place.within().is_none() => {
            MappedFile::open(place.path(), len).map(SegmentSource::Mapped)
        }
        ReadMode::Positioned | ReadMode::Mapped => {
            FileWindow::open(place, len).map(SegmentSource::Positioned)
        }
        ReadMode::Paced(limit) => {
            FileWindow::open(place, len).map(|window| SegmentSource::Positioned(window.paced(limit)))
        }
    }
}

/// As [`open_segment`], the very file that was found before: under the name that a broker gives it
/// before it is deleted, and never another one that came in its place.
///
/// # Errors
/// What the system says, and [`io::ErrorKind::NotFound`] where another file stands in its place.
pub fn open_same(
    place: &FilePlace,
    mode: ReadMode,
    len: u64,
    identity: Option<FileIdentity>,
) -> io::Result<SegmentSource> {
    let same = |source: &SegmentSource| identity.is_none() || source.identity() == identity;
    let error = match open_segment(place, mode, len) {
        Ok(source) if same(&source) => return Ok(source),
        Ok(_) => io::Error::new(io::ErrorKind::NotFound, "another file took its place while the scan ran"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), "it was removed while the scan ran")
        }
        Err(error) => return Err(error),
    };
    match open_segment(&deleted(place.path()).into(), mode, len) {
        Ok(source) if identity.is_some() && same(&source) => Ok(source),
        _ => Err(error),
    }
}

impl SegmentSource {
    /// The same for a look at one place: no more is read than `bytes` where no batch is larger.
    #[must_use]
    pub fn at_one_place(self, bytes: usize) -> Self {
        match self {
            Self::Positioned(window) => Self::Positioned(window.at_one_place(bytes)),
            Self::Mapped(_) => self,
        }
    }

    /// Gives away the `length` bytes at `position`, which were handed out before; copies only what is
    /// mapped. `spare` is room that may be used instead.
    pub fn give(&mut self, position: u64, length: usize, mut spare: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Positioned(window) => window.give(position, length, spare),
            Self::Mapped(map) => {
                spare.clear();
                let window = map.window(position, length).unwrap_or_default();
                spare.extend_from_slice(window.get(..length).unwrap_or(window));
                spare
            }
        }
    }

    /// Which file it is.
    #[must_use]
    pub fn identity(&self) -> Option<FileIdentity> {
        match self {
            Self::Positioned(window) => window.identity(),
            Self::Mapped(map) => map.identity,
        }
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
    identity: Option<FileIdentity>,
}

impl MappedFile {
    /// Maps the first `len` bytes of `path`.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::UnexpectedEof`] when the file is shorter.
    pub fn open(path: &Path, len: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let (actual, identity) = (metadata.len(), FileIdentity::of(&metadata));
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
        Ok(Self { map, identity })
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
            let mut source = open_segment(&file.path().to_owned().into(), mode, 8).unwrap();
            assert_eq!(source.len(), 8);
            assert_eq!(source.window(2, 3).unwrap().get(..3), Some(&b"234"[..]));
            assert_eq!(source.window(7, 3).unwrap(), b"7");
            assert!(source.window(8, 3).unwrap().is_empty());
            assert!(source.window(u64::MAX, 3).unwrap().is_empty());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_found_under_its_next_name_and_another_one_is_never_read_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("00000000000000000000.log");
        std::fs::write(&path, b"first").unwrap();
        let identity = FileIdentity::of(&std::fs::metadata(&path).unwrap());
        let read = |mode| {
            open_same(&path.clone().into(), mode, 5, identity).and_then(|mut s| Ok(s.window(0, 5)?.to_vec()))
        };
        for mode in [ReadMode::Positioned, ReadMode::Mapped] {
            assert_eq!(read(mode).unwrap(), b"first");
        }
        std::fs::rename(&path, deleted(&path)).unwrap();
        assert_eq!(read(ReadMode::Positioned).unwrap(), b"first");
        std::fs::write(&path, b"other").unwrap();
        assert_eq!(read(ReadMode::Positioned).unwrap(), b"first");
        std::fs::remove_file(deleted(&path)).unwrap();
        let error = read(ReadMode::Positioned).unwrap_err();
        assert!(error.to_string().contains("another file took its place"), "{error}");
        std::fs::remove_file(&path).unwrap();
        let error = read(ReadMode::Positioned).unwrap_err();
        assert!(error.to_string().contains("was removed"), "{error}");
    }

    #[test]
    fn an_empty_segment_can_be_opened_both_ways() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for mode in [ReadMode::Positioned, ReadMode::Mapped] {
            assert!(
                open_segment(&file.path().to_owned().into(), mode, 0)
                    .unwrap()
                    .window(0, 61)
                    .unwrap()
                    .is_empty()
            );
        }
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_is_not_mapped() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = open_segment(&file.path().to_owned().into(), ReadMode::Mapped, 8).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
