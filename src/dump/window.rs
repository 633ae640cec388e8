//! A file as a window that slides over it.

use crate::format::ByteSource;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// How much is read at once.
const READ: usize = 256 << 10;

/// A file that is read by position, up to the length that it had when it was opened.
#[derive(Debug)]
pub(super) struct FileWindow {
    file: File,
    length: u64,
    start: u64,
    buffer: Vec<u8>,
}

impl FileWindow {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Ok(Self { file, length: metadata.len(), start: 0, buffer: Vec::new() })
    }
}

impl ByteSource for FileWindow {
    fn len(&self) -> u64 {
        self.length
    }

    fn window(&mut self, position: u64, length: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.length.saturating_sub(position)).unwrap_or(usize::MAX);
        let wanted = length.min(left);
        let skip = position.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        if let Some(skip) = skip
            && skip <= self.buffer.len()
            && self.buffer.len() - skip >= wanted
        {
            return Ok(&self.buffer[skip..]);
        }
        self.buffer.resize(wanted.max(READ.min(left)), 0);
        self.start = position;
        self.file.seek(SeekFrom::Start(position))?;
        self.file.read_exact(&mut self.buffer).inspect_err(|_| self.start = u64::MAX)?;
        Ok(&self.buffer)
    }
}
