//! Where the bytes of a file are: in a file of the system, or in an archive.

use super::archive::Archive;
use super::listing::Listing;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of the evidence. Two are equal when their paths are.
#[derive(Clone, Debug)]
pub struct FilePlace {
    path: PathBuf,
    within: Option<Within>,
}

/// A stretch of an archive.
#[derive(Clone, Debug)]
pub(super) struct Within {
    pub(super) archive: Arc<Archive>,
    pub(super) start: u64,
    pub(super) len: u64,
}

impl FilePlace {
    /// A file of the system.
    #[must_use]
    pub fn on_disk(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), within: None }
    }

    /// A file in an archive, at a path below its root.
    pub(super) fn in_archive(path: PathBuf, archive: &Arc<Archive>, start: u64, len: u64) -> Self {
        Self { path, within: Some(Within { archive: Arc::clone(archive), start, len }) }
    }

    /// Its path; in an archive the path that a user writes.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The archive that holds it, and where.
    pub(super) const fn within(&self) -> Option<&Within> {
        self.within.as_ref()
    }

    /// Another file of the same directory; `None` where an archive has none. On a disk it may be missing.
    #[must_use]
    pub fn sibling(&self, name: &str) -> Option<Self> {
        let path = self.path.with_file_name(name);
        match &self.within {
            None => Some(Self::on_disk(path)),
            Some(within) => {
                let (start, len) = within.archive.find(&path)?;
                Some(Self::in_archive(path, &within.archive, start, len))
            }
        }
    }

    /// The names of the files in its directory.
    ///
    /// # Errors
    /// What the system says.
    pub fn names_beside(&self) -> io::Result<Vec<String>> {
        let directory = match self.path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return Ok(Vec::new()),
        };
        let listing = match &self.within {
            None => Listing::read(directory)?,
            Some(within) => within.archive.list(directory)?,
        };
        Ok(listing.files.into_iter().map(|file| file.name).collect())
    }

    /// How many bytes it has now.
    ///
    /// # Errors
    /// What the system says, and that it is no regular file.
    pub fn length(&self) -> io::Result<u64> {
        if let Some(within) = &self.within {
            return Ok(within.len);
        }
        let metadata = std::fs::metadata(&self.path)?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(metadata.len())
    }

    /// All of its bytes.
    ///
    /// # Errors
    /// What the system says, and that there are more than `most`.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match &self.within {
            None => {
                std::fs::File::open(&self.path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
            }
            Some(within) => {
                let length =
                    usize::try_from(within.len.min(most.saturating_add(1))).map_err(io::Error::other)?;
                bytes.resize(length, 0);
                let mut filled = 0;
                while filled < length {
                    let at = within.start.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
                    match within.archive.read_at(at, bytes.get_mut(filled..).unwrap_or_default())? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        read => filled += read,
                    }
                }
            }
        }
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
            return Err(io::Error::other(format!("a file of more than {most} bytes is none of Kafka's")));
        }
        Ok(bytes)
    }
}

compared_by!(FilePlace, |one| &one.path);

impl From<PathBuf> for FilePlace {
    fn from(path: PathBuf) -> Self {
        Self::on_disk(path)
    }
}
