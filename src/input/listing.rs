//! What one directory holds: one listing, and the size and time of each file.

use super::identity::FileIdentity;
use crate::units::Timestamp;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The entries of a directory, each kind sorted by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    pub files: Vec<FileEntry>,
    pub directories: Vec<String>,
    /// Symbolic links, which are not followed.
    pub links: Vec<String>,
    /// Sockets, pipes, devices, and names that are no UTF-8.
    pub others: Vec<String>,
    /// Entries that could not be looked at, and why.
    pub unreadable: Vec<(String, String)>,
}

/// A regular file.
#[derive(Clone, Debug)]
pub(super) struct FileEntry {
    pub name: String,
    pub len: u64,
    pub modified: Option<Timestamp>,
    pub identity: Option<FileIdentity>,
}

impl Listing {
    /// Lists `directory`. A file that vanishes meanwhile is not in the list: brokers remove files.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let mut listing = Self::default();
        for entry in fs::read_dir(directory)? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    listing.unreadable.push((String::new(), error.to_string()));
                    continue;
                }
            };
            let Ok(name) = entry.file_name().into_string() else {
                listing.others.push(entry.file_name().to_string_lossy().into_owned());
                continue;
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => listing.directories.push(name),
                Ok(kind) if kind.is_symlink() => listing.links.push(name),
                Ok(kind) if kind.is_file() => match entry.metadata() {
                    Ok(metadata) => listing.files.push(FileEntry::new(name, &metadata)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => listing.unreadable.push((name, error.to_string())),
                },
                Ok(_) => listing.others.push(name),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => listing.unreadable.push((name, error.to_string())),
            }
        }
        listing.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        listing.unreadable.sort_unstable();
        for names in [&mut listing.directories, &mut listing.links, &mut listing.others] {
            names.sort_unstable();
        }
        Ok(listing)
    }
}

impl FileEntry {
    fn new(name: String, metadata: &Metadata) -> Self {
        Self {
            name,
            len: metadata.len(),
            modified: metadata.modified().ok().map(millis),
            identity: FileIdentity::of(metadata),
        }
    }
}

/// A file's time in Kafka's unit.
fn millis(time: SystemTime) -> Timestamp {
    let millis = |duration: std::time::Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    Timestamp(match time.duration_since(UNIX_EPOCH) {
        Ok(after) => millis(after),
        Err(before) => millis(before.duration()).saturating_neg(),
    })
}

/// A few names of many, for a note.
pub(super) fn some_names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    let more = names.len().saturating_sub(SHOWN);
    // File names are somebody else's bytes: control characters do not reach a terminal.
    let shown: Vec<_> = names.take(SHOWN).map(|name| name.escape_debug().to_string()).collect();
    let shown = shown.join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
