//! Archives of log directories, read where they are: `.tar`, `.tar.gz`, `.tar.zst`.
//!
//! Goes in: a file. Comes out: an [`Archive`], whose directories are listed and whose files are read as
//! if they lay below a directory that is called like the archive, with `!` behind its name
//! (`copy.tar!/kafka/orders-0`). Nothing is unpacked to a disk.
//!
//! A plain archive is read by position. A compressed one is unpacked as it is read ([`unpacked`]), within
//! a share of the memory; what that costs depends on how it was packed.

mod index;
mod stream;
mod unpacked;

use super::identity::FileIdentity;
use super::listing::Listing;
use super::place::FilePlace;
use super::remarks::Remarks;
use super::window::{open_read_only, read_at};
use index::{Index, ReadAt, Weight};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use unpacked::{Packing, Unpacked};

/// Endings of names, the longer ones first; in any case of letters.
const ENDINGS: [&str; 5] = [".tar.gz", ".tar.zst", ".tgz", ".tzst", ".tar"];
/// What stands between the name of an archive and the names in it.
const MARK: char = '!';

/// An archive and what stands in it.
#[derive(Debug)]
pub struct Archive {
    /// Where it is, with links resolved.
    path: PathBuf,
    /// The same with the mark behind it: what stands in it lies below.
    root: PathBuf,
    bytes: Bytes,
    index: Index,
}

#[derive(Debug)]
enum Bytes {
    Plain { file: File, len: u64, identity: Option<FileIdentity> },
    Packed(Unpacked),
}

impl ReadAt for Bytes {
    fn read_at(&self, position: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain { file, .. } => read_at(file, into, position),
            Self::Packed(unpacked) => unpacked.read_at(position, into),
        }
    }
}

/// An archive while it is listed: nothing more is read once it is asked to stop.
struct UntilStopped<'a> {
    bytes: &'a Bytes,
    stopped: &'a dyn Fn() -> bool,
}

/// Bytes that are unpacked between two looks at whether to stop.
const STRIDE: u64 = 16 << 20;

impl ReadAt for UntilStopped<'_> {
    fn read_at(&self, position: u64, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if (self.stopped)() {
                return Err(io::Error::other("interrupted: what stands behind was not listed"));
            }
            let Bytes::Packed(unpacked) = self.bytes else { break };
            let next = unpacked.reached().saturating_add(STRIDE);
            if next >= position || unpacked.end().is_some() || unpacked.read_at(next, &mut [0])? == 0 {
                break;
            }
        }
        self.bytes.read_at(position, into)
    }
}

/// How a file is compressed, by its first bytes.
fn packing(file: &mut File) -> io::Result<Option<Packing>> {
    let mut magic = [0; 4];
    let known = file.read(&mut magic)?;
    Ok(match magic.get(..known).unwrap_or_default() {
        [0x1f, 0x8b, ..] => Some(Packing::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd] => Some(Packing::Zstd),
        // A frame that is skipped may stand in front.
        [first, 0x2a, 0x4d, 0x18] if first & 0xf0 == 0x50 => Some(Packing::Zstd),
        _ => None,
    })
}

/// How a file is packed that is not read, by its first bytes.
pub(super) fn unread_packing(path: &Path) -> Option<&'static str> {
    let mut magic = Vec::new();
    open_read_only(path).ok()?.take(8).read_to_end(&mut magic).ok()?;
    Some(match magic.as_slice() {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "what xz packed",
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => "what bzip2 packed",
        [0x04, 0x22, 0x4d, 0x18, ..] => "what lz4 packed",
        [b'P', b'K', 3, 4, ..] => "a zip archive",
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => "a 7z archive",
        [0x1f, 0x9d, ..] => "what compress packed",
        _ => return None,
    })
}

impl Archive {
    /// Opens the file at `path`, and reads which files are in it, until it is asked to stop. `memory` bounds
    /// what a compressed one holds, in bytes.
    ///
    /// # Errors
    /// When it cannot be read, is no archive, or not even its first header was read.
    fn open(path: &Path, memory: u64, stopped: &dyn Fn() -> bool) -> io::Result<Self> {
        let mut file = open_read_only(path)?;
        let metadata = file.metadata()?;
        let packing = packing(&mut file)?;
        let (len, identity) = (metadata.len(), FileIdentity::of(&metadata));
        let bytes = match packing {
            Some(packing) => Bytes::Packed(Unpacked::new(Arc::new(file), packing, memory)),
            None => Bytes::Plain { file, len, identity },
        };
        let refuse =
            |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("no tar archive: {why}"));
        let listed = UntilStopped { bytes: &bytes, stopped };
        let mut index = Index::read(&listed).map_err(|why| {
            let packed = if packing.is_none() { unread_packing(path) } else { None };
            refuse(packed.map_or(why, |packed| format!("{packed} is not read, but for gzip and zstd")))
        })?;
        let end = match &bytes {
            Bytes::Plain { len, .. } => Some(*len),
            Bytes::Packed(unpacked) => {
                // To the end of the file: there the checksums stand.
                let failed = listed.read_at(u64::MAX, &mut [0]).err();
                if let Some(failed) = failed.map(|error| error.to_string()) {
                    index.damaged_once(failed);
                }
                unpacked.end().map(|end| end.position)
            }
        };
        index.cut(end.unwrap_or(u64::MAX));
        let mut root = path.as_os_str().to_owned();
        root.push(MARK.to_string());
        Ok(Self { path: path.to_owned(), root: PathBuf::from(root), bytes, index })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What stands in it lies below.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// What the directory at `path`, below the root, holds.
    pub(super) fn list(self: &Arc<Self>, path: &Path) -> io::Result<Listing> {
        let inside = path.strip_prefix(&self.root).map_err(io::Error::other)?;
        let listing = self.index.list(names(inside));
        let listing = listing.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such directory"))?;
        Ok(Listing { archive: Some(Arc::clone(self)), ..listing })
    }

    /// Where the file at `path` begins in the archive, and its length.
    pub(super) fn find(&self, path: &Path) -> Option<(u64, u64)> {
        self.index.file(names(path.strip_prefix(&self.root).ok()?))
    }

    /// Fills `into` with what stands at `position` of the archive.
    pub(super) fn read_at(&self, position: u64, into: &mut [u8]) -> io::Result<usize> {
        self.bytes.read_at(position, into)
    }

    /// Says what is to be said of the archive as a whole.
    pub(super) fn remark(&self, remarks: &mut Remarks) {
        for remark in &self.index.remarks {
            let detail = remark.detail.clone();
            match remark.weight {
                Weight::Note => remarks.note(&self.path, format!("at {}: {detail}", remark.position)),
                Weight::Damage => remarks.damaged(&self.path, remark.position, detail),
            }
        }
        if self.index.remarks_omitted > 0 {
            let detail = format!("{} more places like these", self.index.remarks_omitted);
            remarks.damaged(&self.path, self.index.end, detail);
        }
    }

    /// How the archive is no longer what was read.
    pub(super) fn change(&self) -> Option<String> {
        let Bytes::Plain { len, identity, .. } = &self.bytes else { return None };
        let now = std::fs::metadata(&self.path).ok();
        let same = now.is_some_and(|now| now.len() == *len && FileIdentity::of(&now) == *identity);
        (!same).then(|| "the archive was changed, replaced or removed while the scan ran".to_owned())
    }
}

/// Archives that are open, each once.
#[derive(Debug, Default)]
pub struct Archives {
    open: Vec<Arc<Archive>>,
    /// Bytes of memory for each that is compressed.
    memory: u64,
    /// Ends the listing of an archive when it is set.
    stop: Arc<AtomicBool>,
}

impl Archives {
    /// None so far; each compressed one may take `memory` bytes, and once `stop` is set none is listed further.
    #[must_use]
    pub const fn new(memory: u64, stop: Arc<AtomicBool>) -> Self {
        Self { open: Vec::new(), memory, stop }
    }

    /// Opens the archive at `path`, unless it is open.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub(super) fn open(&mut self, path: &Path) -> io::Result<Arc<Archive>> {
        let real = std::fs::canonicalize(path)?;
        if let Some(known) = self.open.iter().find(|archive| archive.path == real) {
            return Ok(Arc::clone(known));
        }
        let archive = Arc::new(Archive::open(&real, self.memory, &|| self.stop.load(Ordering::Relaxed))?);
        self.open.push(Arc::clone(&archive));
        Ok(archive)
    }

    /// The archive that holds a path.
    pub(super) fn holding(&self, path: &Path) -> Option<&Arc<Archive>> {
        self.open.iter().find(|archive| path.starts_with(&archive.root))
    }

    pub(super) fn all(&self) -> &[Arc<Archive>] {
        &self.open
    }

    /// A file that was named, on a disk or in an archive.
    ///
    /// # Errors
    /// What the system says, and that an archive holds no such file.
    pub fn place(&mut self, named: &Path) -> io::Result<FilePlace> {
        let name = named.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if named.exists() {
            if is_archive_name(name) && named.is_file() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!(
                        "an archive: name a file in it, as {name}{MARK}/orders-0/00000000000000000000.log"
                    ),
                ));
            }
            return Ok(FilePlace::on_disk(named));
        }
        let Some((file, inside)) = part(named) else { return Ok(FilePlace::on_disk(named)) };
        let archive = self.open(&file)?;
        let path = archive.root.join(inside);
        let (start, len) = archive
            .find(&path)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the archive holds no such file"))?;
        Ok(FilePlace::in_archive(path, &archive, start, len))
    }
}

/// The files of an archive whose bytes are at hand, each with its place and length; `None` where the
/// bytes are no archive.
#[cfg(any(test, feature = "testkit"))]
#[must_use]
pub fn files_of(bytes: &[u8]) -> Option<Vec<(String, u64, u64)>> {
    let mut index = Index::read(&bytes).ok()?;
    index.cut(u64::try_from(bytes.len()).ok()?);
    Some(index.files())
}

/// The names of a path inside of an archive.
fn names(inside: &Path) -> impl Iterator<Item = &str> {
    inside.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    })
}

/// Whether a file is called like an archive.
#[must_use]
pub fn is_archive_name(name: &str) -> bool {
    stem(name) != name
}

/// Whether a named path is a compressed archive, or lies in one.
#[must_use]
pub fn is_packed(named: &Path) -> bool {
    let file = part(named).map_or_else(|| named.to_owned(), |(archive, _)| archive);
    let opened = file.is_file().then(|| open_read_only(&file));
    opened.is_some_and(|file| {
        file.and_then(|mut file| packing(&mut file)).is_ok_and(|packing| packing.is_some())
    })
}

/// A name without the ending of an archive, and without the mark behind it.
#[must_use]
pub(super) fn stem(name: &str) -> &str {
    let bare = name.strip_suffix(MARK).unwrap_or(name);
    ENDINGS
        .iter()
        .find_map(|ending| {
            let (stem, end) = bare.split_at_checked(bare.len().checked_sub(ending.len())?)?;
            end.eq_ignore_ascii_case(ending).then_some(stem)
        })
        .filter(|stem| !stem.is_empty())
        .unwrap_or(bare)
}

/// Parts a path at the archive in it: `copy.tar!/kafka/orders-0` is `kafka/orders-0` in `copy.tar`. The
/// mark may be left out where nothing stands behind it.
#[must_use]
pub fn part(named: &Path) -> Option<(PathBuf, PathBuf)> {
    for parent in named.ancestors() {
        let Some(archive) = parent.to_str().and_then(|text| text.strip_suffix(MARK)) else { continue };
        let archive = PathBuf::from(archive);
        if archive.is_file() {
            let inside = named.strip_prefix(parent).unwrap_or(Path::new(""));
            return Some((archive, inside.to_owned()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::io::Write;

    /// An archive of `count` files, plain and compressed.
    fn archives(count: usize) -> Vec<(&'static str, Vec<u8>)> {
        let mut builder = tar::Builder::new(Vec::new());
        let content = vec![7; 9000];
        for number in 0..count {
            let mut header = tar::Header::new_gnu();
            header.set_size(9000);
            builder
                .append_data(&mut header, format!("orders-{number}/00000000000000000000.log"), &*content)
                .unwrap();
        }
        let plain = builder.into_inner().unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&plain).unwrap();
        let zstd = zstd::encode_all(&*plain, 1).unwrap();
        vec![("a.tar", plain), ("a.tar.gz", gzip.finish().unwrap()), ("a.tar.zst", zstd)]
    }

    #[test]
    fn a_listing_that_is_stopped_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in archives(40) {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let looks = Cell::new(0);
            let stopped = || {
                looks.set(looks.get() + 1);
                looks.get() > 20
            };
            let archive = Arc::new(Archive::open(&path, 1 << 20, &stopped).unwrap());
            let listed = archive.list(&archive.root).unwrap().directories.len();
            assert!((15..=20).contains(&listed), "{name}: {listed}");
            let said: Vec<_> = archive.index.remarks.iter().map(|remark| remark.detail.as_str()).collect();
            assert_eq!(said, ["interrupted: what stands behind was not listed"], "{name}");

            let refused = Archive::open(&path, 1 << 20, &|| true).unwrap_err().to_string();
            assert!(refused.contains("interrupted"), "{refused}");
        }
    }

    #[test]
    fn a_large_compressed_archive_is_stopped_between_two_headers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar.zst");
        let mut builder = tar::Builder::new(Vec::new());
        for (name, size) in [("orders-0/1.log", 100), ("orders-0/2.log", 90 << 20), ("orders-0/3.log", 100)] {
            let mut header = tar::Header::new_gnu();
            header.set_size(size);
            builder.append_data(&mut header, name, io::repeat(0).take(size)).unwrap();
        }
        std::fs::write(&path, zstd::encode_all(&*builder.into_inner().unwrap(), 1).unwrap()).unwrap();
        let looks = Cell::new(0);
        let open = |most: usize| {
            looks.set(0);
            Archive::open(&path, 1 << 20, &|| {
                looks.set(looks.get() + 1);
                looks.get() > most
            })
        };
        let whole = open(usize::MAX).unwrap();
        assert_eq!(whole.index.files().len(), 3);
        assert!(looks.get() > 90 / 16, "{}", looks.get());
        let part = open(4).unwrap();
        assert_eq!(part.index.files().len(), 2);
    }

    #[test]
    fn only_compressed_archives_take_memory() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in archives(1) {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(is_packed(&path), name != "a.tar", "{name}");
            let mut within = path.into_os_string();
            within.push("!/orders-0");
            assert_eq!(is_packed(Path::new(&within)), name != "a.tar", "{name}");
        }
        assert!(!is_packed(folder.path()));
        assert!(!is_packed(&folder.path().join("none.tar.gz")));
    }
}
