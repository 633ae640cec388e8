//! What one directory holds: one listing, and the size and time of each file.

use super::archive::Archive;
use super::identity::FileIdentity;
use super::place::FilePlace;
use crate::units::Timestamp;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The entries of a directory, each kind sorted by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    pub files: Vec<FileEntry>,
    pub directories: Vec<String>,
    /// Links, which are not followed.
    pub links: Vec<Link>,
    /// Sockets, pipes, devices, and names that are no UTF-8.
    pub others: Vec<String>,
    /// Entries that could not be looked at, and why.
    pub unreadable: Vec<(String, String)>,
    /// Whether an archive of what changed leaves out files with records that the directory held.
    pub lacks_records: bool,
    /// The archive that the directory is in.
    pub archive: Option<Arc<Archive>>,
}

/// A name that stands for something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub name: String,
    pub stands: Stands,
}

/// What a name stands for that is no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// A symbolic link.
    SymbolicLink(String),
    /// A second name of a file in an archive.
    HardLink(String),
    /// A file in an archive of which the holes were left out.
    Sparse,
}

/// A regular file.
#[derive(Clone, Debug)]
pub(super) struct FileEntry {
    pub name: String,
    pub len: u64,
    pub modified: Option<Timestamp>,
    pub identity: Option<FileIdentity>,
    /// Where it begins in its archive.
    pub start: u64,
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
                Ok(kind) if kind.is_symlink() => {
                    let target = fs::read_link(entry.path()).map(|to| to.display().to_string());
                    let stands = Stands::SymbolicLink(target.unwrap_or_default());
                    listing.links.push(Link { name, stands });
                }
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
        listing.links.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for names in [&mut listing.directories, &mut listing.others] {
            names.sort_unstable();
        }
        Ok(listing)
    }

    /// What is to be said of a link in the directory.
    pub fn said_of(&self, link: &Link) -> String {
        let (what, target) = match &link.stands {
            Stands::SymbolicLink(target) => ("a symbolic link", target.as_str()),
            Stands::HardLink(target) => ("a hard link", target.as_str()),
            Stands::Sparse => return "a file with holes (--sparse): not read".to_owned(),
        };
        let target = if target.is_empty() { String::new() } else { format!(" to {}", target.escape_debug()) };
        let advice = if self.archive.is_some() { "" } else { ", name it to have it read" };
        format!("{what}{target}: not followed{advice}")
    }

    /// Where a file of the directory is, which lies at `directory`.
    pub fn place(&self, directory: &Path, entry: &FileEntry) -> FilePlace {
        let path = directory.join(&entry.name);
        match &self.archive {
            None => FilePlace::on_disk(path),
            Some(archive) => FilePlace::in_archive(path, archive, entry.start, entry.len),
        }
    }
}

impl FileEntry {
    fn new(name: String, metadata: &Metadata) -> Self {
        Self {
            name,
            len: metadata.len(),
            modified: metadata.modified().ok().map(millis),
            identity: FileIdentity::of(metadata),
            start: 0,
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

/// Names of many that a note tells.
pub(super) const SHOWN: usize = 5;

/// A few names of many, for a note.
pub(super) fn some_names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(SHOWN);
    // File names are somebody else's bytes: control characters do not reach a terminal.
    let shown: Vec<_> = names.take(SHOWN).map(|name| name.escape_debug().to_string()).collect();
    let shown = shown.join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
