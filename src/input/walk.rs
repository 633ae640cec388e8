//! Walks over the named paths and tells partitions, log directories and other directories apart.
//!
//! A directory is a partition when it holds a file that only partitions have, whatever its name; a
//! broker's data directory may be called `kafka-1`. The directory around a partition is a log
//! directory. Links that were named are followed, links that are met are not.

use super::archive::{self, Archives};
use super::listing::{Listing, some_names};
use super::names::{LogDirFile, PartitionFile, PartitionName, is_known_directory};
use super::remarks::Remarks;
use crate::error::AuditError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How far below a named directory partitions are looked for. Volumes of Kubernetes lie seven levels below the
/// directory of its pods; more than this has no broker.
const DEPTH: usize = 32;

/// What the walk found, by path with links resolved.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub log_dirs: BTreeMap<PathBuf, FoundLogDir>,
    /// Each named path with what it leads to.
    pub roots: Vec<(PathBuf, PathBuf)>,
    pub remarks: Remarks,
    /// The archives that were named.
    pub archives: Archives,
    /// Named directories below which no partition lies.
    pub empty: Vec<PathBuf>,
    /// Directories below the present root that were not looked into.
    too_deep: usize,
}

/// A directory around partitions.
#[derive(Debug, Default)]
pub(super) struct FoundLogDir {
    /// Whether all of it is audited, not only what was named.
    pub whole: bool,
    pub listing: Option<Listing>,
    pub partitions: BTreeMap<PathBuf, FoundPartition>,
}

/// The directory of a partition.
#[derive(Debug)]
pub(super) struct FoundPartition {
    pub listing: Listing,
    /// Whether the user named the directory or a file in it.
    pub named: bool,
    /// The files that were named; `None` for all of them.
    pub chosen: Option<BTreeSet<String>>,
}

impl Walk {
    /// Walks over `paths`.
    pub fn over(paths: &[PathBuf], archive_memory: u64, stop: Arc<AtomicBool>) -> Result<Self, AuditError> {
        let mut walk = Self { archives: Archives::new(archive_memory, stop), ..Self::default() };
        for path in paths {
            walk.root(path)?;
        }
        // The same order whatever the order of the paths.
        walk.roots.sort();
        walk.roots.dedup();
        for (directory, log_dir) in &mut walk.log_dirs {
            if log_dir.listing.is_none() {
                match list(&walk.archives, directory) {
                    Ok(listing) => log_dir.listing = Some(listing),
                    Err(error) => {
                        walk.remarks
                            .note(directory, format!("the directory around it cannot be listed: {error}"));
                    }
                }
            }
        }
        for archive in walk.archives.all() {
            archive.remark(&mut walk.remarks);
        }
        Ok(walk)
    }

    fn root(&mut self, named: &Path) -> Result<(), AuditError> {
        let unreadable = |source| AuditError::Unreadable { path: named.to_owned(), source };
        let path = match fs::canonicalize(named) {
            Ok(path) => path,
            Err(error) if archive::part(named).is_none() => {
                return Err(match error.kind() {
                    io::ErrorKind::NotFound => AuditError::Usage(missing(named)),
                    _ => unreadable(error),
                });
            }
            Err(_) => return self.within(named),
        };
        if !fs::metadata(&path).map_err(unreadable)?.is_dir() {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_known = PartitionFile::parse(name) != PartitionFile::Unknown
                || LogDirFile::parse(name) != LogDirFile::Unknown;
            if !is_known && archive::is_archive_name(name) {
                let mut named = named.as_os_str().to_owned();
                named.push("!");
                return self.within(Path::new(&named));
            }
            self.roots.push((path.clone(), named.to_owned()));
            return self.file(named, &path);
        }
        self.roots.push((path.clone(), named.to_owned()));
        let listing = Listing::read(&path).map_err(unreadable)?;
        self.directory(path, listing);
        Ok(())
    }

    /// An archive, or what lies in it.
    fn within(&mut self, named: &Path) -> Result<(), AuditError> {
        let unreadable = |source| AuditError::Unreadable { path: named.to_owned(), source };
        let Some((file, inside)) = archive::part(named) else {
            return Err(AuditError::Usage(missing(named)));
        };
        let archive = self.archives.open(&file).map_err(unreadable)?;
        let path = archive.root().join(&inside).components().collect::<PathBuf>();
        self.roots.push((path.clone(), named.to_owned()));
        // As what is said of the archive names it.
        self.roots.push((archive.path().to_owned(), file));
        if archive.find(&path).is_some() {
            return self.file(named, &path);
        }
        let listing = archive.list(&path).map_err(unreadable)?;
        self.directory(path, listing);
        Ok(())
    }

    /// A directory that was named.
    fn directory(&mut self, path: PathBuf, listing: Listing) {
        if is_partition(&listing) {
            // What lies around an archive has nothing to do with it.
            let is_archive = self.archives.holding(&path).is_some_and(|archive| archive.root() == path);
            let around = path.parent().filter(|_| !is_archive).unwrap_or(&path).to_owned();
            self.add(around, path, FoundPartition { listing, named: true, chosen: None });
            return;
        }
        self.too_deep = 0;
        let found = self.container(&path, listing, DEPTH);
        if self.too_deep > 0 {
            let (number, lie) = match self.too_deep {
                1 => ("a directory".to_owned(), "lies"),
                more => (format!("{more} directories"), "lie"),
            };
            let detail = format!("{number} {lie} more than {DEPTH} levels below it: not looked into");
            self.remarks.unreadable(&path, detail);
        }
        if !found {
            // It stops the run only when nothing else that was named holds any.
            self.remarks.note(&path, "no partition directories below: nothing was read of it");
            self.empty.push(path);
        }
    }

    /// A file that was named: only it is read of its partition.
    fn file(&mut self, named: &Path, path: &Path) -> Result<(), AuditError> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let kind = PartitionFile::parse(name);
        if !matches!(kind, PartitionFile::Numbered { .. }) {
            // `data/*` names these, too.
            if kind != PartitionFile::Unknown || LogDirFile::parse(name) != LogDirFile::Unknown {
                self.remarks.note(path, "is read only for what it says of the partitions beside it");
                return Ok(());
            }
            if let Some(how) = archive::unread_packing(path) {
                return Err(AuditError::Usage(format!(
                    "{}: {how} is not read; archives are read as .tar, .tar.gz and .tar.zst",
                    named.display()
                )));
            }
            return Err(AuditError::Usage(format!(
                "{}: no file of a partition; a segment is called by its first offset in 20 digits and `.log`, \
                 and keeps its name in a copy",
                named.display()
            )));
        }
        let directory = path.parent().unwrap_or(path);
        let listing = list(&self.archives, directory)
            .map_err(|source| AuditError::Unreadable { path: directory.to_owned(), source })?;
        let around = directory.parent().unwrap_or(directory).to_owned();
        let chosen = Some(BTreeSet::from([name.to_owned()]));
        self.add(around, directory.to_owned(), FoundPartition { listing, named: true, chosen });
        Ok(())
    }

    /// Looks for partitions in and below `directory`; whether there are any, or it is an empty log
    /// directory.
    fn container(&mut self, directory: &Path, listing: Listing, depth: usize) -> bool {
        let is_log_dir = listing.files.iter().any(|file| LogDirFile::parse(&file.name).marks_a_log_dir());
        let mut found = is_log_dir;
        let mut own = is_log_dir;
        for name in listing.directories.iter().filter(|name| !is_known_directory(name)) {
            let path = directory.join(name);
            let below = match list(&self.archives, &path) {
                Ok(below) => below,
                Err(error) => {
                    self.remarks.unreadable(&path, error.to_string());
                    found |= PartitionName::parse(name).is_some();
                    continue;
                }
            };
            let empty = is_log_dir && PartitionName::parse(name).is_some() && below.directories.is_empty();
            if is_partition(&below) || empty {
                let partition = FoundPartition { listing: below, named: false, chosen: None };
                self.add(directory.to_owned(), path, partition);
                (found, own) = (true, true);
            } else if depth == 0 {
                self.too_deep += 1;
            } else if self.container(&path, below, depth - 1) {
                found = true;
            } else if is_log_dir {
                self.remarks.note(&path, "no directory of a partition: not read");
            }
        }
        if own {
            let log_dir = self.log_dirs.entry(directory.to_owned()).or_default();
            (log_dir.whole, log_dir.listing) = (true, Some(listing));
        } else if found {
            self.unread(directory, &listing);
        }
        found
    }

    /// Names what is not read of a directory that is no partition.
    pub fn unread(&mut self, directory: &Path, listing: &Listing) {
        let unknown = |name: &&str| LogDirFile::parse(name) == LogDirFile::Unknown;
        let names: Vec<_> = listing.files.iter().map(|file| file.name.as_str()).filter(unknown).collect();
        if !names.is_empty() {
            self.remarks.pass_over(directory, "not read", names.into_iter());
        }
        self.remarks.irregular(directory, listing);
    }

    fn add(&mut self, log_dir: PathBuf, directory: PathBuf, partition: FoundPartition) {
        let log_dir = self.log_dirs.entry(log_dir).or_default();
        match log_dir.partitions.entry(directory) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(partition);
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let known = entry.get_mut();
                known.named |= partition.named;
                known.chosen = match (known.chosen.take(), partition.chosen) {
                    (Some(mut files), Some(more)) => {
                        files.extend(more);
                        Some(files)
                    }
                    _ => None,
                };
            }
        }
    }
}

/// Lists a directory, of a disk or of an archive.
fn list(archives: &Archives, directory: &Path) -> io::Result<Listing> {
    match archives.holding(directory) {
        Some(archive) => archive.list(directory),
        None => Listing::read(directory),
    }
}

/// Whether a directory is that of a partition, by the names in it: also by those of files that cannot be read,
/// so that their records are missed.
fn is_partition(listing: &Listing) -> bool {
    let files = listing.files.iter().map(|file| &file.name);
    let links = listing.links.iter().map(|link| &link.name);
    let unreadable = listing.unreadable.iter().map(|(name, _)| name);
    let mut names = files.chain(links).chain(unreadable).chain(&listing.others).chain(&listing.directories);
    // Of a partition that did not change, an incremental archive has the directory alone.
    listing.lacks_records || names.any(|name| PartitionFile::parse(name).marks_a_partition())
}

impl Remarks {
    /// Names the entries of a directory that are neither files nor directories, or cannot be read.
    pub(super) fn irregular(&mut self, directory: &Path, listing: &Listing) {
        for link in &listing.links {
            let path = directory.join(&link.name);
            let said = listing.said_of(link);
            if holds_records(&link.name) {
                self.unreadable(&path, said);
            } else {
                self.note(&path, said);
            }
        }
        if !listing.others.is_empty() {
            let names = listing.others.iter().map(String::as_str);
            let why = "no regular files, not read";
            if listing.others.iter().any(|name| holds_records(name)) {
                self.unreadable(directory, format!("{why}: {}", some_names(names)));
            } else {
                self.pass_over(directory, why, names);
            }
        }
        for name in listing.directories.iter().filter(|name| PartitionFile::parse(name).marks_a_partition()) {
            self.unreadable(&directory.join(name), "a directory under the name of a file: not read");
        }
        for (name, error) in &listing.unreadable {
            let path = if name.is_empty() { directory.to_owned() } else { directory.join(name) };
            self.unreadable(&path, error);
        }
    }
}

/// Whether a name is that of a segment or of a partition directory, so that records go unread with it.
pub(super) fn holds_records(name: &str) -> bool {
    let is_segment = Path::new(name).extension().is_some_and(|extension| extension == "log");
    let is_partition = name.rsplit_once('-').is_some_and(|(topic, partition)| {
        !topic.is_empty() && !partition.is_empty() && partition.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_segment || is_partition
}

/// What to say of a path that does not exist: how much of it does, and what is there.
fn missing(named: &Path) -> String {
    let absolute = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
    let nearest = absolute.ancestors().skip(1).find(|parent| parent.is_dir());
    let Some(nearest) = nearest.and_then(|nearest| fs::canonicalize(nearest).ok()) else {
        return format!("{}: does not exist", named.display());
    };
    let mut message =
        format!("{}: does not exist; {} does", named.display(), nearest.display().to_string().escape_debug());
    if let Ok(listing) = Listing::read(&nearest)
        && nearest.components().ne([Component::RootDir])
        && !listing.directories.is_empty()
    {
        let there = some_names(listing.directories.iter().map(String::as_str));
        message = format!("{message} and holds {there}");
    }
    message
}
