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
}
