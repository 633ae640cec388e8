//! What keeps a run from starting or finishing. Damage and findings are no errors.

use std::path::PathBuf;

/// The run stops; exit status 2.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A path that the user named cannot be read at all.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The user asked for something that does not exist or does not fit.
    #[error("{0}")]
    Usage(String),
    /// Output cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        /// Where to.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What does not fit into memory does not fit into the temporary directory either.
    #[error(
        "{}: about {} are needed for what does not fit into memory, {} are free; name another directory with \
         --temp-dir, or allow more memory with --max-memory",
        directory.display(),
        mebibytes(*needed),
        mebibytes(*free)
    )]
    TempSpace {
        /// Where temporary files go.
        directory: PathBuf,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that may be used.
        free: u64,
    },
    /// All copies and sessions were wanted in the report, and they do not fit into memory.
    #[error(
        "the report would hold all surplus copies ({copies}) and sessions ({sessions}), and {most} together fit into \
         the memory: leave --max-groups 0 away and have all copies written with --list FILE, or allow more memory \
         with --max-memory"
    )]
    TooManyEntries {
        /// Surplus copies that findings tell of.
        copies: u64,
        /// Producer sessions.
        sessions: u64,
        /// What fits.
        most: u64,
    },
    /// Temporary files cannot be made, written or read.
    #[error("cannot keep temporary files in {}: {source}", directory.display())]
    Temporary {
        /// Where temporary files go.
        directory: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl From<AuditError> for std::io::Error {
    fn from(error: AuditError) -> Self {
        Self::other(error)
    }
}

/// Whole mebibytes, rounded up, as people read them.
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}
