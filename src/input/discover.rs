//! Finds the partitions below the paths that a user names, and puts the inventory together.

use super::archive;
use super::clusters;
use super::inventory::{Inventory, LogDir, LogDirScope};
use super::listing::{Listing, some_names};
use super::log_dir::LogDirFiles;
use super::partition::{Around, read, read_deleted};
use super::replicas;
use super::walk::Walk;
use crate::error::AuditError;
use crate::units::ClusterNumber;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to find.
#[derive(Clone, Debug, Default)]
pub struct DiscoverOptions {
    /// What to do with data that no broker would serve.
    pub leftovers: Leftovers,
    /// Bytes of memory that all compressed archives together may take; 0 for what one needs at least.
    pub archive_memory: u64,
    /// Ends the listing of an archive when it is set: what was listed until then is there.
    pub stop: Arc<AtomicBool>,
}

/// What to do with deleted, future and stray directories and with `.deleted`, `.cleaned` and
/// replaced segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leftovers {
    /// They are named in a note and not read, unless the user named just them.
    #[default]
    SetAside,
    /// They are listed as partitions of their own.
    List,
}

/// Finds what `paths` hold: directories of partitions, log directories, directories around these,
/// and single files of partitions. What is named twice is read once.
///
/// # Errors
/// A path that does not exist or cannot be read, or that holds no partition at all.
pub fn discover(paths: &[PathBuf], options: &DiscoverOptions) -> Result<Inventory, AuditError> {
    if paths.is_empty() {
        return Err(AuditError::Usage("no path was given".to_owned()));
    }
    let archives = paths.iter().filter(|path| is_packed_archive(path)).count().max(1);
    let share = options.archive_memory / u64::try_from(archives).unwrap_or(u64::MAX);
    let mut walk = Walk::over(paths, share, Arc::clone(&options.stop))?;
    if walk.log_dirs.values().all(|log_dir| log_dir.partitions.is_empty()) {
        let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        let mut message = format!("{}: no partition directories below", names.join(", "));
        if let Some((path, why)) = walk.remarks.first_unreadable() {
            message = format!("{message} that can be read; {}: {why}", text(path));
        }
        return Err(AuditError::Usage(message));
    }
    let shown = Shown::new(&walk);
    let mut inventory = Inventory::default();
    for (index, (path, found)) in std::mem::take(&mut walk.log_dirs).into_iter().enumerate() {
        let empty = Listing::default();
        let listing = found.listing.as_ref().unwrap_or(&empty);
        let files = LogDirFiles::read(&path, listing, &mut walk.remarks);
        if found.whole {
            walk.unread(&path, listing);
        } else if !files.read.is_empty() {
            let names = some_names(files.read.iter().map(String::as_str));
            walk.remarks.note(
                &path,
                format!("not named itself; {names} in it were read for what they say of the logs that were"),
            );
        }
        let around = Around { index, files: &files, leftovers: options.leftovers };
        for (partition, found) in &found.partitions {
            for mut read in read(partition, found, &around, &mut walk.remarks) {
                read.display = shown.path(partition);
                inventory.partitions.push(read);
            }
            if let Some(mut deleted) = read_deleted(partition, found, &around) {
                deleted.display = shown.path(partition);
                inventory.deleted.push(deleted);
            }
        }
        inventory.log_dirs.push(LogDir {
            display: shown.log_dir(&path),
            path,
            scope: if found.whole { LogDirScope::Whole } else { LogDirScope::Surroundings },
            broker_id: files.properties.broker_id,
            cluster_id: files.properties.cluster_id,
            cluster: ClusterNumber::default(),
            directory_id: files.properties.directory_id,
            clean_shutdown: files.clean_shutdown,
            broker_epoch: files.broker_epoch,
            checkpoints: files.read.into_iter().filter(|name| name.ends_with("-checkpoint")).collect(),
            files: files.files,
            bytes: files.bytes,
            newest_file_time: files.newest,
        });
    }
    inventory.partitions.sort_by(|a, b| {
        let order = |p: &crate::input::PartitionDir| (p.partition, p.broker_id);
        (a.topic.as_str(), order(a), &a.path, a.state).cmp(&(b.topic.as_str(), order(b), &b.path, b.state))
    });
    inventory.clusters = clusters::number(&inventory.partitions, &mut inventory.log_dirs, &mut walk.remarks);
    inventory.sort_by_topic();
    inventory.replica_groups =
        replicas::group(&mut inventory.partitions, &inventory.log_dirs, &mut walk.remarks);
    inventory.archives = walk.archives.all().to_vec();
    inventory.roots.clone_from(&walk.roots);
    inventory.passed_over = walk.remarks.passed_over();
    inventory.empty_paths = walk.empty.iter().map(|path| shown.path(path)).collect();
    inventory.empty_paths.sort_unstable();
    inventory.empty_paths.dedup();
    (inventory.notes, inventory.damage) = walk.remarks.finish(|path| shown.path(path));
    Ok(inventory)
}

impl Inventory {
    /// A path as the user would write it.
    pub(super) fn shown(&self, path: &Path) -> String {
        as_named(path, &self.roots)
    }
}

/// Whether a named path is a compressed archive, or lies in one: those take memory while they are read.
#[must_use]
pub fn is_packed_archive(named: &Path) -> bool {
    let name = named.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    (archive::is_archive_name(name) || archive::part(named).is_some()) && archive::is_packed(named)
}

/// How paths are shown: relative to what was named, with as much of the path in front as tells
/// equal names apart.
struct Shown {
    /// Each log directory with its own path, as the user would write it, and what stands before the
    /// names of its entries.
    log_dirs: Vec<(PathBuf, String, PathBuf)>,
    roots: Vec<(PathBuf, PathBuf)>,
}

impl Shown {
    fn new(walk: &Walk) -> Self {
        let mut prefixes: Vec<(PathBuf, usize)> =
            walk.log_dirs.keys().map(|path| (path.clone(), relative_depth(path, &walk.roots))).collect();
        // Equal prefixes grow by a name until none is equal to another; whole paths never are.
        loop {
            let shown: Vec<_> = prefixes.iter().map(|(path, depth)| last_names(path, *depth)).collect();
            let mut sorted: Vec<_> = shown.iter().collect();
            sorted.sort_unstable();
            let repeated: Vec<_> =
                sorted.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone()).collect();
            if repeated.is_empty() {
                break;
            }
            let mut grown = false;
            for ((path, depth), shown) in prefixes.iter_mut().zip(&shown) {
                if repeated.binary_search(shown).is_ok() && *depth < path.components().count() {
                    *depth += 1;
                    grown = true;
                }
            }
            if !grown {
                break;
            }
        }
        let log_dirs = prefixes
            .into_iter()
            .map(|(path, depth)| (path.clone(), as_named(&path, &walk.roots), last_names(&path, depth)))
            .collect();
        Self { log_dirs, roots: walk.roots.clone() }
    }

    /// A log directory as the user would write it.
    fn log_dir(&self, path: &Path) -> String {
        let at = self.log_dirs.binary_search_by(|(log_dir, ..)| log_dir.as_path().cmp(path));
        at.ok().and_then(|at| self.log_dirs.get(at)).map_or_else(|| text(path), |(_, shown, _)| shown.clone())
    }

    /// Any path: below a log directory with its prefix, else as the user would write it.
    fn path(&self, path: &Path) -> String {
        if let Ok(at) = self.log_dirs.binary_search_by(|(log_dir, ..)| log_dir.as_path().cmp(path)) {
            return self.log_dirs[at].1.clone();
        }
        for parent in path.ancestors().skip(1) {
            if let Ok(at) = self.log_dirs.binary_search_by(|(log_dir, ..)| log_dir.as_path().cmp(parent)) {
                let below = path.strip_prefix(parent).unwrap_or(path);
                return text(&self.log_dirs[at].2.join(below));
            }
        }
        as_named(path, &self.roots)
    }
}

/// How many names lie between a root and `path`; 0 for a root and for what lies around one.
fn relative_depth(path: &Path, roots: &[(PathBuf, PathBuf)]) -> usize {
    let below = roots.iter().filter_map(|(root, _)| path.strip_prefix(root).ok());
    below.map(|below| below.components().count()).min().unwrap_or(0)
}

/// The last `count` names of a path.
fn last_names(path: &Path, count: usize) -> PathBuf {
    let components: Vec<_> = path.components().collect();
    components.iter().skip(components.len().saturating_sub(count)).collect()
}

/// `path` as the user would write it: by the shortest of the named paths that lead there.
fn as_named(path: &Path, roots: &[(PathBuf, PathBuf)]) -> String {
    let through = |(root, named): &(PathBuf, PathBuf)| {
        let named = tidy(named).unwrap_or_else(|| root.clone());
        if let Ok(below) = path.strip_prefix(root) {
            // Joined with nothing a path would end in a slash.
            return Some(if below.as_os_str().is_empty() { named } else { named.join(below) });
        }
        // Around a named partition or file: go up as often as the root lies below it.
        let up = root.strip_prefix(path).ok()?.components().count();
        let shown = named.ancestors().nth(up).filter(|shown| !shown.as_os_str().is_empty());
        // A link leads from elsewhere; then only the resolved path is right.
        let leads = |shown: &&Path| std::fs::canonicalize(shown).is_ok_and(|real| real == path);
        shown.filter(|shown| leads(shown) || archive::part(shown).is_some()).map(Path::to_owned)
    };
    let mut ways: Vec<_> = roots.iter().filter_map(through).collect();
    ways.sort_by_key(|way| (way.components().count(), way.clone()));
    text(ways.first().map_or(path, PathBuf::as_path))
}

/// A named path without `.` and slashes at the end; `None` when nothing is left or `..` is in it.
fn tidy(named: &Path) -> Option<PathBuf> {
    let tidy: PathBuf = named.components().filter(|component| *component != Component::CurDir).collect();
    let plain = !tidy.as_os_str().is_empty() && !tidy.components().any(|c| c == Component::ParentDir);
    plain.then_some(tidy)
}

/// Paths are somebody else's bytes: control characters do not reach a terminal.
fn text(path: &Path) -> String {
    path.to_string_lossy().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
