//! From the headers of an archive to the directories and files in it, each with its place.
//!
//! ```text
//!  header 512: name 100, mode, uid, gid, size 12, mtime 12, checksum 8, type 1, link 100, "ustar" …
//!  data, filled up to 512
//!  …
//!  two empty blocks
//! ```
//!
//! Source: POSIX.1-2001 (ustar, pax), and GNU tar for long names and large numbers. Headers are read
//! one by one, data is passed over. A header of type `x` or `L` tells of the next one.
//!
//! Nothing is written, so no name can lead out of the archive; one that would is not read, and said.
//! Symbolic links are not followed. A hard link stands for a file that the archive had before: `tar` writes
//! one where it meets a file a second time. Of files with one name the last counts, as where an archive is unpacked.
//! Where bytes are no header, the next one is looked for, block by block.

use super::super::listing::{FileEntry, Link, Listing, Stands, some_names};
use super::super::names_records;
use crate::units::Timestamp;
use std::collections::BTreeMap;
use std::io;
use tar::{EntryType, Header, PaxExtensions};

/// A header, and the unit of data.
const BLOCK: usize = 512;
const UNIT: u64 = 512;
/// The name of the archive (`tar -V`): of no file, and GNU tar leaves its numbers blank.
const LABEL: u8 = b'V';
/// A directory with a list of what it held (`tar --listed-incremental`): in GNU's format an entry of its own,
/// in pax an attribute.
const DIRECTORY_LIST: u8 = b'D';
/// A name, and what a header tells of the next one.
const LONGEST_NAME: usize = 4096;
const LARGEST_EXTENSION: u64 = 1 << 20;
/// Zeros behind the end that are passed over: more than the record of any tape has.
const LARGEST_END: u64 = 256 << 20;
/// Directories in directories.
const DEPTH: usize = 64;
/// Entries that are kept, so that memory is bounded.
const MOST_ENTRIES: usize = 1_000_000;
/// Remarks that are kept.
const MOST_REMARKS: usize = 100;

/// Bytes by position, as far as they can be read.
pub(super) trait ReadAt {
    /// Fills `into` from `position` on; fewer bytes, or none, at the end.
    fn read_at(&self, position: u64, into: &mut [u8]) -> io::Result<usize>;
}

#[cfg(any(test, feature = "testkit"))]
impl ReadAt for &[u8] {
    fn read_at(&self, position: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(position).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let count = left.len().min(into.len());
        into[..count].copy_from_slice(&left[..count]);
        Ok(count)
    }
}

/// What stands in an archive.
#[derive(Debug, Default)]
pub(super) struct Index {
    root: Node,
    entries: usize,
    pub(super) remarks: Vec<Remark>,
    pub(super) remarks_omitted: u64,
    /// Where the archive ends, as far as it was read.
    pub(super) end: u64,
}

/// Something to say of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    pub(super) position: u64,
    /// Whether records may have gone unread.
    pub(super) weight: Weight,
    pub(super) detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Note,
    Damage,
}

/// A directory.
#[derive(Debug, Default)]
struct Node {
    entries: BTreeMap<String, Entry>,
    /// Names that are no UTF-8.
    others: Vec<String>,
    /// Whether it held files with records when it was packed that the archive before has.
    lacks_records: bool,
}

#[derive(Debug)]
enum Entry {
    Directory(Node),
    File(Stored),
    Link(Link),
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    start: u64,
    len: u64,
    modified: Option<Timestamp>,
}

/// What a header told of the next one.
#[derive(Default)]
struct Told {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    modified: Option<Timestamp>,
    is_sparse: bool,
    /// What a directory held when it was packed.
    held: Option<Vec<u8>>,
}

/// What kind of entry a header is about.
enum Kind {
    File,
    Directory,
    HardLink,
    SymbolicLink,
    Sparse,
    Other,
}

impl Index {
    /// Reads the headers of an archive.
    ///
    /// # Errors
    /// When nothing of it is an archive.
    pub(super) fn read(bytes: &dyn ReadAt) -> Result<Self, String> {
        let mut index = Self::default();
        let mut told = Told::default();
        let mut at = 0_u64;
        let mut headers = 0_u64;
        loop {
            let mut block = [0; BLOCK];
            let (there, failed) = fill(bytes, at, &mut block);
            if let Some(why) = failed {
                if headers == 0 {
                    return Err(why);
                }
                index.remark(at, Weight::Damage, why);
                break;
            }
            if there == 0 {
                if headers == 0 && at == 0 {
                    return Err("it is empty".to_owned());
                }
                index.remark(
                    at,
                    Weight::Damage,
                    "it ends without the two empty blocks that close an archive: cut off".to_owned(),
                );
                break;
            }
            if there < BLOCK {
                let why = format!("a header needs {BLOCK} bytes, the archive has {there} more");
                if headers == 0 {
                    return Err(why);
                }
                index.remark(at, Weight::Damage, why);
                break;
            }
            if block.iter().all(|byte| *byte == 0) {
                index.behind(bytes, at);
                break;
            }
            let header = Header::from_byte_slice(&block);
            let size = match size_of(header, &block) {
                Ok(size) => size,
                Err(why) if headers == 0 => return Err(why),
                Err(why) => {
                    let Some(next) = next_header(bytes, at) else {
                        index.remark(at, Weight::Damage, format!("{why}; no header behind it"));
                        break;
                    };
                    let skipped = next - at;
                    index.remark(
                        at,
                        Weight::Damage,
                        format!("{why}; {skipped} bytes up to the next header are not read"),
                    );
                    (at, told) = (next, Told::default());
                    continue;
                }
            };
            headers += 1;
            let data = at.saturating_add(UNIT);
            let mut size = size;
            match header.entry_type() {
                EntryType::XHeader => index.extension(bytes, at, size, |text| told.pax(text)),
                EntryType::GNULongName => {
                    index.extension(bytes, at, size, |name| told.name = Some(cut(name)));
                }
                EntryType::GNULongLink => {
                    index.extension(bytes, at, size, |name| told.link = Some(cut(name)));
                }
                EntryType::XGlobalHeader => {}
                kind if kind.as_byte() == LABEL => {}
                kind => {
                    let mut told = std::mem::take(&mut told);
                    size = told.size.unwrap_or(size);
                    if kind.as_byte() == DIRECTORY_LIST {
                        index.extension(bytes, at, size, |list| told.held = Some(list.to_vec()));
                    }
                    let data = data.saturating_add(sparse_headers(bytes, header, data));
                    let has_no_data = matches!(
                        kind,
                        EntryType::Link
                            | EntryType::Symlink
                            | EntryType::Char
                            | EntryType::Block
                            | EntryType::Directory
                            | EntryType::Fifo
                    );
                    if has_no_data {
                        size = 0;
                    }
                    index.entry(at, header, kind, told, Stored { start: data, len: size, modified: None });
                    at = data.saturating_add(padded(size));
                    continue;
                }
            }
            at = data.saturating_add(padded(size));
        }
        index.end = at;
        Ok(index)
    }

    /// Adds what one header is about.
    fn entry(&mut self, at: u64, header: &Header, kind: EntryType, told: Told, stored: Stored) {
        let name = told.name.unwrap_or_else(|| header.path_bytes().into_owned());
        let lacks_records = told.held.as_ref().is_some_and(|held| self.left_out(at, &name, held));
        let kind = match kind {
            _ if told.is_sparse => Kind::Sparse,
            kind if kind.as_byte() == DIRECTORY_LIST => Kind::Directory,
            EntryType::Regular | EntryType::Continuous if name.ends_with(b"/") => Kind::Directory,
            EntryType::Regular | EntryType::Continuous => Kind::File,
            EntryType::Directory => Kind::Directory,
            EntryType::Link => Kind::HardLink,
            EntryType::Symlink => Kind::SymbolicLink,
            EntryType::GNUSparse => Kind::Sparse,
            _ => Kind::Other,
        };
        let target = || {
            let bytes =
                told.link.clone().or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned));
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
        };
        let modified = told.modified.or_else(|| {
            let seconds = header.mtime().ok().filter(|seconds| *seconds > 0)?;
            i64::try_from(seconds).ok()?.checked_mul(1000).map(Timestamp)
        });
        let entry = match kind {
            Kind::Directory => Entry::Directory(Node::default()),
            Kind::File => Entry::File(Stored { modified, ..stored }),
            Kind::HardLink => Entry::Link(Link { name: String::new(), stands: Stands::HardLink(target()) }),
            Kind::SymbolicLink => {
                Entry::Link(Link { name: String::new(), stands: Stands::SymbolicLink(target()) })
            }
            Kind::Sparse => Entry::Link(Link { name: String::new(), stands: Stands::Sparse }),
            Kind::Other => Entry::Other,
        };
        let entry = match entry {
            Entry::Link(Link { stands: Stands::HardLink(target), name: of_link }) => {
                match self.file(parts_of(&target)) {
                    // The same name again: nothing new.
                    Some(_) if parts_of(&target).eq(parts_of(&String::from_utf8_lossy(&name))) => return,
                    Some((start, len)) => Entry::File(Stored { start, len, modified }),
                    None => {
                        if names_records(&String::from_utf8_lossy(&name)) {
                            let shown = String::from_utf8_lossy(&name).escape_debug().to_string();
                            let of = target.escape_debug();
                            let said = format!(
                                "{shown}: a hard link to {of}, which does not stand in front of it: not read"
                            );
                            self.remark(at, Weight::Damage, said);
                        }
                        Entry::Link(Link { stands: Stands::HardLink(target), name: of_link })
                    }
                }
            }
            entry => entry,
        };
        let added = self.add(at, &name, entry);
        if lacks_records && let Some(node) = self.directory(parts_of(&String::from_utf8_lossy(&name))) {
            node.lacks_records = true;
        }
        if let Err(why) = added {
            let shown = String::from_utf8_lossy(name.get(..name.len().min(200)).unwrap_or_default())
                .escape_debug()
                .to_string();
            let weight =
                if names_records(&String::from_utf8_lossy(&name)) { Weight::Damage } else { Weight::Note };
            self.remark(at, weight, format!("{shown}: {why}, not read"));
        }
    }

    /// Names the files with records that a directory held and that were not packed, because an archive before
    /// has them: each is a code and a name, and `N` means that it is not in this one. Whether there are any.
    ///
    /// Source: GNU tar, "Dumpdir".
    fn left_out(&mut self, at: u64, name: &[u8], held: &[u8]) -> bool {
        let listed = held.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(b"N"));
        let names: Vec<String> = listed
            .map(|file| String::from_utf8_lossy(file).into_owned())
            .filter(|file| names_records(file))
            .collect();
        if names.is_empty() {
            return false;
        }
        let shown = String::from_utf8_lossy(name).escape_debug().to_string();
        let files = some_names(names.iter().map(String::as_str));
        let said =
            format!("{shown}: an archive of what changed since another one, without {files}: not read");
        self.remark(at, Weight::Damage, said);
        true
    }

    /// A directory that is there.
    fn directory<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Option<&mut Node> {
        let mut node = &mut self.root;
        for name in names {
            let Some(Entry::Directory(below)) = node.entries.get_mut(name) else { return None };
            node = below;
        }
        Some(node)
    }

    /// Puts an entry where its name says.
    fn add(&mut self, at: u64, name: &[u8], mut entry: Entry) -> Result<(), String> {
        if name.len() > LONGEST_NAME {
            return Err(format!("a name of {} bytes", name.len()));
        }
        let parts: Vec<&[u8]> =
            name.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
        if parts.contains(&b"..".as_slice()) {
            return Err("its name leads out of the archive".to_owned());
        }
        if parts.len() > DEPTH {
            return Err(format!("more than {DEPTH} directories deep"));
        }
        let Some((last, parents)) = parts.split_last() else { return Ok(()) };
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(format!("the archive has more than {MOST_ENTRIES} entries"));
        }
        let mut node = &mut self.root;
        for part in parents {
            let Ok(part) = std::str::from_utf8(part) else {
                return Err("a name that is no UTF-8".to_owned());
            };
            let below = node.entries.entry(part.to_owned()).or_insert_with(|| {
                self.entries += 1;
                Entry::Directory(Node::default())
            });
            let Entry::Directory(below) = below else {
                return Err("it lies below what is no directory".to_owned());
            };
            node = below;
        }
        let Ok(last) = std::str::from_utf8(last) else {
            node.others.push(String::from_utf8_lossy(last).into_owned());
            return Ok(());
        };
        if let Entry::Link(link) = &mut entry {
            last.clone_into(&mut link.name);
        }
        match (node.entries.get(last), &entry) {
            (Some(Entry::Directory(_)), Entry::Directory(_)) => return Ok(()),
            (Some(Entry::Directory(_)), _) => return Err("a directory has its name".to_owned()),
            (Some(_), _) => {
                let shown = String::from_utf8_lossy(name).escape_debug().to_string();
                let said = format!("{shown} stands in the archive more than once: the last one is read");
                self.remark_once(at, said);
            }
            (None, _) => {}
        }
        self.insert(parents, last, entry);
        Ok(())
    }

    fn insert(&mut self, parents: &[&[u8]], last: &str, entry: Entry) {
        let mut node = &mut self.root;
        for part in parents {
            let part = std::str::from_utf8(part).unwrap_or_default();
            let Some(Entry::Directory(below)) = node.entries.get_mut(part) else { return };
            node = below;
        }
        node.entries.insert(last.to_owned(), entry);
    }

    /// Reads what a header tells of the next one.
    fn extension(&mut self, bytes: &dyn ReadAt, at: u64, size: u64, take: impl FnOnce(&[u8])) {
        if size > LARGEST_EXTENSION {
            let why = format!(
                "a header with {size} bytes of names and attributes, more than {LARGEST_EXTENSION}: not read"
            );
            return self.remark(at, Weight::Damage, why);
        }
        let mut text = vec![0; usize::try_from(size).unwrap_or(0)];
        let (there, failed) = fill(bytes, at.saturating_add(UNIT), &mut text);
        if there < text.len() {
            let why = failed
                .unwrap_or_else(|| format!("a header needs {size} bytes, the archive has {there} more"));
            return self.remark(at, Weight::Damage, why);
        }
        take(&text);
    }

    /// Looks at what stands behind the end: zeros up to a whole record, or another archive.
    fn behind(&mut self, bytes: &dyn ReadAt, at: u64) {
        let mut rest = vec![0; 64 << 10];
        let mut from = at;
        while from.saturating_sub(at) < LARGEST_END {
            let (there, _) = fill(bytes, from, &mut rest);
            if let Some(more) = rest.iter().take(there).position(|byte| *byte != 0) {
                let position = from.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
                let said = "bytes behind the end of the archive: not read".to_owned();
                return self.remark(position, Weight::Damage, said);
            }
            if there < rest.len() {
                return;
            }
            from = from.saturating_add(u64::try_from(there).unwrap_or(u64::MAX));
        }
        let said = format!(
            "zeros behind the end of the archive: what stands behind {LARGEST_END} of them is not read"
        );
        self.remark(from, Weight::Damage, said);
    }

    pub(super) fn remark(&mut self, position: u64, weight: Weight, detail: String) {
        if self.remarks.len() < MOST_REMARKS {
            self.remarks.push(Remark { position, weight, detail });
        } else {
            self.remarks_omitted += 1;
        }
    }

    fn remark_once(&mut self, position: u64, detail: String) {
        if !self.remarks.iter().any(|remark| remark.detail == detail) {
            self.remark(position, Weight::Note, detail);
        }
    }

    /// Says that the archive breaks off, unless that was met already.
    pub(super) fn damaged_once(&mut self, detail: String) {
        if !self.remarks.iter().any(|remark| remark.detail == detail) {
            self.remark(self.end, Weight::Damage, detail);
        }
    }

    /// Cuts what the archive does not hold to its end, which is at `end`.
    pub(super) fn cut(&mut self, end: u64) {
        let mut cut = Vec::new();
        self.root.cut(end, "", &mut cut);
        cut.sort();
        for (start, name, has, wanted) in cut {
            let shown = name.escape_debug();
            self.remark(
                start,
                Weight::Damage,
                format!("{shown} has {wanted} bytes, the archive holds {has} of them"),
            );
        }
    }

    /// What a directory holds; `None` where there is none.
    pub(super) fn list<'n>(&self, names: impl Iterator<Item = &'n str>) -> Option<Listing> {
        let mut node = &self.root;
        for name in names {
            let Some(Entry::Directory(below)) = node.entries.get(name) else { return None };
            node = below;
        }
        Some(node.list())
    }

    /// All files with their places and lengths.
    #[cfg(any(test, feature = "testkit"))]
    pub(super) fn files(&self) -> Vec<(String, u64, u64)> {
        let mut files = Vec::new();
        let mut nodes = vec![(String::new(), &self.root)];
        while let Some((at, node)) = nodes.pop() {
            for (name, entry) in &node.entries {
                let path = format!("{at}/{name}");
                match entry {
                    Entry::Directory(below) => nodes.push((path, below)),
                    Entry::File(stored) => files.push((path, stored.start, stored.len)),
                    Entry::Link(_) | Entry::Other => {}
                }
            }
        }
        files
    }

    /// A file's place and length.
    pub(super) fn file<'n>(&self, names: impl Iterator<Item = &'n str>) -> Option<(u64, u64)> {
        let mut names = names.peekable();
        let mut node = &self.root;
        loop {
            let name = names.next()?;
            match (node.entries.get(name)?, names.peek()) {
                (Entry::Directory(below), Some(_)) => node = below,
                (Entry::File(stored), None) => return Some((stored.start, stored.len)),
                _ => return None,
            }
        }
    }
}

impl Node {
    fn list(&self) -> Listing {
        let mut listing =
            Listing { others: self.others.clone(), lacks_records: self.lacks_records, ..Listing::default() };
        for (name, entry) in &self.entries {
            match entry {
                Entry::Directory(_) => listing.directories.push(name.clone()),
                Entry::File(stored) => listing.files.push(FileEntry {
                    name: name.clone(),
                    len: stored.len,
                    modified: stored.modified,
                    identity: None,
                    start: stored.start,
                }),
                Entry::Link(link) => listing.links.push(link.clone()),
                Entry::Other => listing.others.push(name.clone()),
            }
        }
        listing.others.sort_unstable();
        listing
    }

    fn cut(&mut self, end: u64, at: &str, cut: &mut Vec<(u64, String, u64, u64)>) {
        for (name, entry) in &mut self.entries {
            let path = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
            match entry {
                Entry::Directory(below) => below.cut(end, &path, cut),
                Entry::File(stored) if stored.start.saturating_add(stored.len) > end => {
                    let has = end.saturating_sub(stored.start);
                    cut.push((stored.start, path, has, stored.len));
                    stored.len = has;
                }
                Entry::File(_) | Entry::Link(_) | Entry::Other => {}
            }
        }
    }
}

impl Told {
    /// Takes attributes of pax; those that cannot be read say nothing.
    fn pax(&mut self, text: &[u8]) {
        for attribute in PaxExtensions::new(text).flatten() {
            let value = attribute.value_bytes();
            let number = || std::str::from_utf8(value).ok();
            match attribute.key_bytes() {
                b"path" => self.name = Some(value.to_vec()),
                b"linkpath" => self.link = Some(value.to_vec()),
                b"GNU.dumpdir" => self.held = Some(value.to_vec()),
                b"size" => self.size = number().and_then(|size| size.parse().ok()),
                b"mtime" => {
                    let whole = number().and_then(|time| time.split('.').next()?.parse::<i64>().ok());
                    self.modified = whole.and_then(|seconds| seconds.checked_mul(1000)).map(Timestamp);
                }
                key if key.starts_with(b"GNU.sparse.") => {
                    self.is_sparse = true;
                    if key == b"GNU.sparse.name" {
                        self.name = Some(value.to_vec());
                    }
                }
                _ => {}
            }
        }
    }
}

/// The names of a path in an archive.
fn parts_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// A long name ends at its first zero.
fn cut(name: &[u8]) -> Vec<u8> {
    name.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()
}

/// Bytes of data with what fills up the last block.
fn padded(size: u64) -> u64 {
    size.div_ceil(UNIT).saturating_mul(UNIT)
}

/// The size that a header tells, when it is one.
fn size_of(header: &Header, block: &[u8; BLOCK]) -> Result<u64, String> {
    let stored = header.cksum().map_err(|_| "no header of an archive".to_owned())?;
    let without = |at: usize, byte: u8| if (148..156).contains(&at) { b' ' } else { byte };
    let sum: u32 = block.iter().enumerate().map(|(at, byte)| u32::from(without(at, *byte))).sum();
    if stored != sum {
        return Err(format!("no header of an archive: stored checksum {stored}, computed {sum}"));
    }
    if header.entry_type().as_byte() == LABEL {
        return Ok(0);
    }
    header.entry_size().map_err(|error| format!("a header whose size cannot be read: {error}"))
}

/// Bytes of further headers that tell of the holes of a sparse file.
fn sparse_headers(bytes: &dyn ReadAt, header: &Header, data: u64) -> u64 {
    let Some(gnu) = header.as_gnu().filter(|_| header.entry_type() == EntryType::GNUSparse) else { return 0 };
    let mut count = 0_u64;
    let mut goes_on = gnu.is_extended();
    while goes_on && count < LARGEST_EXTENSION {
        let mut block = [0; BLOCK];
        let (there, _) = fill(bytes, data.saturating_add(count), &mut block);
        count += UNIT;
        goes_on = there == BLOCK && block.get(504).is_some_and(|byte| *byte != 0);
    }
    count
}

/// The first block behind `at` that is a header, or the end of an archive.
fn next_header(bytes: &dyn ReadAt, at: u64) -> Option<u64> {
    let mut next = at;
    loop {
        next = next.checked_add(UNIT)?;
        let mut block = [0; BLOCK];
        if fill(bytes, next, &mut block).0 < BLOCK {
            return None;
        }
        if size_of(Header::from_byte_slice(&block), &block).is_ok() {
            return Some(next);
        }
    }
}

/// Reads as much as there is; says why there is no more, where that is not the end.
fn fill(bytes: &dyn ReadAt, at: u64, into: &mut [u8]) -> (usize, Option<String>) {
    let mut there = 0;
    while there < into.len() {
        let position = at.saturating_add(u64::try_from(there).unwrap_or(u64::MAX));
        match bytes.read_at(position, into.get_mut(there..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(read) => there += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (there, Some(error.to_string())),
        }
    }
    (there, None)
}
