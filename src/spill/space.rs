//! The directory that takes what does not fit into memory.

use crate::error::AuditError;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What stays free for others.
const RESERVE: u64 = 64 << 20;

/// A directory for temporary files.
#[derive(Clone, Debug)]
pub struct TempSpace {
    directory: PathBuf,
}

impl TempSpace {
    /// The files go into this directory. It is not touched before one is needed.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Where files go that nobody placed: `TMPDIR`, or `/var/tmp`, because `/tmp` is memory itself on
    /// many machines.
    #[must_use]
    pub fn default_directory() -> PathBuf {
        let large = Path::new("/var/tmp");
        if std::env::var_os("TMPDIR").is_none() && large.is_dir() {
            return large.to_path_buf();
        }
        std::env::temp_dir()
    }

    /// A file without a name, mode 0600 (`O_TMPFILE` where the file system knows it).
    pub(super) fn file(&self) -> Result<File, AuditError> {
        let file = tempfile::tempfile_in(&self.directory).and_then(for_owner_alone);
        file.map_err(|source| self.failed(source))
    }

    /// Checks that `bytes` more can be written.
    pub(crate) fn require(&self, bytes: u64) -> Result<(), AuditError> {
        let free = self.free().map_err(|source| self.failed(source))?;
        let Some(free) = free.map(|free| free.saturating_sub(RESERVE)).filter(|free| *free < bytes) else {
            return Ok(());
        };
        Err(AuditError::TempSpace { directory: self.directory.clone(), needed: bytes, free })
    }

    /// An error that names the directory.
    pub(crate) fn failed(&self, source: io::Error) -> AuditError {
        AuditError::Temporary { directory: self.directory.clone(), source }
    }

    /// Bytes that may be written, where the system tells.
    #[cfg(target_os = "linux")]
    fn free(&self) -> io::Result<Option<u64>> {
        let told = rustix::fs::statvfs(&self.directory)?;
        Ok(Some(told.f_bavail.saturating_mul(told.f_frsize)))
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "asked on Linux")]
    fn free(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

/// Without a name the file cannot be opened by others; its mode says so as well.
#[cfg(unix)]
fn for_owner_alone(file: File) -> io::Result<File> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "asked on Unix")]
fn for_owner_alone(file: File) -> io::Result<File> {
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_leaves_no_name_behind_and_is_its_owners_alone() {
        let home = tempfile::tempdir().unwrap();
        let file = TempSpace::new(home.path().to_path_buf()).file().unwrap();
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        drop(file);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn too_little_space_is_told_with_numbers_before_anything_is_written() {
        let home = tempfile::tempdir().unwrap();
        let space = TempSpace::new(home.path().to_path_buf());
        assert!(space.require(1).is_ok(), "a test machine has some space");
        let error = space.require(u64::MAX).unwrap_err().to_string();
        assert!(error.contains("free") && error.contains("--temp-dir"), "{error}");
        let gone = TempSpace::new(home.path().join("gone"));
        assert!(gone.require(1).unwrap_err().to_string().contains("gone"));
        assert!(gone.file().is_err());
    }
}
