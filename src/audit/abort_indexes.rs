//! Reads the transaction indexes beside the segments of a partition, and tells which indexes lack theirs.
//!
//! A segment that has its `.index` but no `.txnindex`, in a directory that was given as a whole, has an
//! empty one: brokers make the file with the first abort. Where neither is there, indexes were not
//! copied, and nothing is known.

use crate::facts::{AbortEntry, AbortIndex};
use crate::format::TransactionIndex;
use crate::input::{Inventory, PartitionDir, SegmentFile, Selection};
use crate::units::Offset;
use std::collections::BTreeMap;

/// Millions of aborts; a hostile file is not read to its end.
const LARGEST: u64 = 256 << 20;

/// The indexes by base offset of their segment; left out are those that cannot be read, and those of
/// a segment under a wrong name, which may or may not have been renamed with it.
pub(super) fn read(dir: &PartitionDir) -> Vec<AbortIndex> {
    let whole = matches!(dir.selection, Selection::Whole);
    let misnamed = numbers_of_misnamed(dir);
    let mut indexes: BTreeMap<Offset, AbortIndex> = BTreeMap::new();
    for file in dir.indexes.iter().filter(|file| !misnamed.contains(&file.number)) {
        let name = file.file_name.trim_end_matches(".swap");
        if name.ends_with(".txnindex") {
            if let Some(entries) = file.place.read(LARGEST).ok().and_then(|bytes| entries(&bytes)) {
                let (file, base) = (file.file_name.clone(), file.number);
                let index = AbortIndex { file, base, is_there: true, entries };
                indexes.insert(base, index);
            } else {
                indexes.remove(&file.number);
            }
        } else if whole && name.strip_suffix(".index").is_some() {
            indexes.entry(file.number).or_insert_with(|| AbortIndex {
                file: format!("its .txnindex (there is none beside {})", file.file_name),
                base: file.number,
                is_there: false,
                entries: Vec::new(),
            });
        }
    }
    indexes.into_values().collect()
}

/// Whether no partition of the log directory has one: whoever copied it left them out, or nothing was aborted there.
pub(super) fn are_lacking(inventory: &Inventory, dir: &PartitionDir) -> bool {
    let is_one = |name: &str| name.trim_end_matches(".swap").ends_with(".txnindex");
    let mut beside = inventory.partitions.iter().filter(|other| other.log_dir == dir.log_dir);
    !beside.any(|other| other.indexes.iter().any(|file| is_one(&file.file_name)))
}

/// Base offsets of offset indexes whose segment is not there, not even as one that waits to be deleted.
///
/// Brokers rename and delete the files of a segment together, and remove such an index when they start.
pub(super) fn without_segment(dir: &PartitionDir) -> Vec<Offset> {
    let alone = |file: &&crate::input::SideFile| {
        let beside = ["log", "log.swap", "log.cleaned", "log.deleted"];
        let is_there = |name: String| file.place.sibling(&name).is_some_and(|place| place.length().is_ok());
        let stem = file.file_name.strip_suffix(".index");
        stem.is_some_and(|stem| !beside.iter().any(|extension| is_there(format!("{stem}.{extension}"))))
    };
    let whole = matches!(dir.selection, Selection::Whole);
    let misnamed = numbers_of_misnamed(dir);
    let numbers = dir.indexes.iter().filter(|_| whole).filter(alone).map(|file| file.number);
    numbers.filter(|number| !misnamed.contains(number)).collect()
}

/// What the names of segments under a wrong name say, and what they should.
fn numbers_of_misnamed(dir: &PartitionDir) -> Vec<Offset> {
    let numbers = |segment: &SegmentFile| Some([segment.wrong_name()?, segment.base]);
    dir.segments.iter().filter_map(numbers).flatten().collect()
}

fn entries(bytes: &[u8]) -> Option<Vec<AbortEntry>> {
    let mut index = TransactionIndex::new(bytes);
    let mut entries = Vec::new();
    while let Some(entry) = index.next_entry().ok()? {
        entries.push(AbortEntry {
            producer_id: entry.producer_id,
            marker_offset: entry.last_offset,
            first_offset: entry.first_offset,
        });
    }
    entries.sort_unstable();
    Some(entries)
}
