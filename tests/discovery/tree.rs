//! A tree of files like those of a broker, and short words to ask about what was found in it.

use dedup_audit::input::{DiscoverOptions, Inventory, Leftovers, PartitionDir, discover};
use dedup_audit::testkit::{SegmentBuilder, batch};
use std::fs;
use std::path::PathBuf;

pub const ID: &str = "9Zb-ACHLRrCmbBmjuYMOPg";
pub const OTHER_ID: &str = "MK2kRgLcTuCEis4kqH_u0g";

/// A tree of files, made by path and content.
pub struct Tree(tempfile::TempDir);

impl Tree {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// The files of a broker's log directory; `meta` are lines of `meta.properties`.
    pub fn log_dir(&self, path: &str, meta: &str) -> &Self {
        self.file(&format!("{path}/meta.properties"), format!("#\n{meta}\nversion=1\n"))
            .file(&format!("{path}/cleaner-offset-checkpoint"), "")
    }

    /// A partition of three segments, five records each.
    pub fn partition(&self, path: &str, topic_id: Option<&str>) -> &Self {
        for base in [0, 5, 10] {
            self.segment(&format!("{path}/{base:020}.log"), base, 5);
            self.file(&format!("{path}/{base:020}.index"), "");
        }
        self.file(&format!("{path}/{:020}.snapshot", 10), "")
            .file(&format!("{path}/{:020}.snapshot", 15), "");
        if let Some(id) = topic_id {
            self.file(&format!("{path}/partition.metadata"), format!("version: 0\ntopic_id: {id}"));
        }
        self.file(&format!("{path}/leader-epoch-checkpoint"), "0\n2\n0 0\n3 7\n")
    }

    /// A segment of one batch.
    pub fn segment(&self, path: &str, base: i64, records: usize) -> &Self {
        let batch =
            (0..records).fold(batch().leader_epoch(0), |batch, at| batch.record(format!("k{at}"), "v"));
        self.file(path, SegmentBuilder::at(base).batch(batch).bytes())
    }

    pub fn at(&self, path: &str) -> PathBuf {
        // On some systems the temporary directory is itself behind a link.
        let root = fs::canonicalize(self.0.path()).unwrap();
        if path.is_empty() { root } else { root.join(path) }
    }

    pub fn discover(&self, paths: &[&str]) -> Inventory {
        self.try_discover(paths, Leftovers::SetAside).unwrap()
    }

    pub fn try_discover(&self, paths: &[&str], leftovers: Leftovers) -> Result<Inventory, String> {
        let paths: Vec<_> = paths.iter().map(|path| self.at(path)).collect();
        discover(&paths, &DiscoverOptions { leftovers, ..DiscoverOptions::default() })
            .map_err(|error| error.to_string())
    }
}

pub fn displays(inventory: &Inventory) -> Vec<&str> {
    inventory.partitions.iter().map(|partition| partition.display.as_str()).collect()
}

pub fn bases(partition: &PartitionDir) -> Vec<i64> {
    partition.segments.iter().map(|segment| segment.base.0).collect()
}

pub fn numbers(partition: &PartitionDir) -> Vec<i64> {
    partition.snapshots.iter().map(|snapshot| snapshot.number.0).collect()
}

pub fn note_on<'a>(inventory: &'a Inventory, file: &str) -> &'a str {
    let note = inventory.notes.iter().find(|note| note.file == file);
    &note.unwrap_or_else(|| panic!("no note on {file}: {:?}", inventory.notes)).detail
}
