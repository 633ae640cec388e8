//! Finds the partitions below the paths that a user names.

use super::inventory::Inventory;
use crate::error::AuditError;
use std::path::PathBuf;

/// What to find.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiscoverOptions {
    /// What to do with data that no broker would serve.
    pub leftovers: Leftovers,
}

/// What to do with deleted, future and stray directories and with `.deleted`, `.cleaned` and
/// replaced segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leftovers {
    /// They are named in a note and not read.
    #[default]
    SetAside,
    /// They are listed as partitions of their own.
    List,
}

/// Finds what `paths` hold.
///
/// # Errors
/// A path that does not exist or cannot be read, or paths that hold no partition at all.
pub fn discover(paths: &[PathBuf], _options: &DiscoverOptions) -> Result<Inventory, AuditError> {
    if paths.is_empty() {
        return Err(AuditError::Usage("no path was given".to_owned()));
    }
    Ok(Inventory::default())
}
