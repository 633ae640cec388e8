//! Whether a file is still the one that was found: a broker replaces segments when it compacts, and
//! renames those that it is about to delete.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// What stays with a file whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// The identity of a file; `None` where the system has none.
    #[cfg(unix)]
    #[must_use]
    pub fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self { device: metadata.dev(), inode: metadata.ino() })
    }

    /// The identity of a file; `None` where the system has none.
    #[cfg(not(unix))]
    #[must_use]
    pub fn of(_metadata: &Metadata) -> Option<Self> {
        None
    }
}

/// The name that a broker gives to a segment a minute before it deletes it.
pub(super) fn deleted(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".deleted");
    PathBuf::from(name)
}
