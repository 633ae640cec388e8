//! The producer snapshots of a partition as files: read once, before the batches.
//!
//! In: the listed files. Out: their entries, or why they cannot be read. A running broker removes the
//! snapshots of the segments that it deletes and of those that it compacted away
//! (`ProducerStateManager.deleteSnapshotsBefore`, `removeAndMarkSnapshotForDeletion`), so one that was
//! listed and is gone contradicts nothing: it is left out, and the coverage notes it.

use crate::facts::{PartitionContext, Snapshot};
use crate::format::producer_snapshot;
use crate::input::{Inventory, PartitionDir, Selection, State};
use crate::report::model::Note;
use std::io::ErrorKind;

/// Millions of producers; a hostile file is not read to its end.
const LARGEST: u64 = 256 << 20;

/// The snapshots that are still there.
pub fn read(dir: &PartitionDir) -> Vec<Snapshot> {
    let still_there = |file: &crate::input::SideFile| {
        let entries = match file.place.read(LARGEST) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => Err(error.to_string()),
            Ok(bytes) if bytes.is_empty() => Err("the file is empty (0 bytes)".to_owned()),
            Ok(bytes) => producer_snapshot::read(&bytes).map_err(|error| error.to_string()),
        };
        Some(Snapshot { file: file.file_name.clone(), offset: file.number, entries })
    };
    dir.snapshots.iter().filter_map(still_there).collect()
}

/// Whether a live partition of which everything was given has no snapshot, though others of its log directory have
/// some. Where nothing but segments lies in it, somebody copied these alone.
pub fn are_lacking(inventory: &Inventory, dir: &PartitionDir) -> bool {
    dir.snapshots.is_empty()
        && dir.state == State::Live
        && dir.selection == Selection::Whole
        && dir.files > dir.segments.len()
        && inventory
            .partitions
            .iter()
            .any(|other| other.log_dir == dir.log_dir && !other.snapshots.is_empty())
}

/// Notes on those that were listed and are gone; `contexts` stand in the order of the partitions.
pub fn gone(inventory: &Inventory, contexts: &[&PartitionContext]) -> Vec<Note> {
    let of_partition = |(dir, context): (&PartitionDir, &&PartitionContext)| {
        let is_read = |name: &str| context.snapshots.iter().any(|snapshot| snapshot.file == name);
        dir.snapshots
            .iter()
            .filter(|file| !is_read(&file.file_name))
            .map(|file| {
                Note::about(dir.display_of(&file.file_name), "removed while the audit ran: not compared")
            })
            .collect::<Vec<_>>()
    };
    inventory.partitions.iter().zip(contexts).flat_map(of_partition).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{DiscoverOptions, discover};

    /// A live broker removed it between the listing and the reading: once called a mismatch.
    #[test]
    fn a_snapshot_that_is_gone_is_left_out() {
        let evidence = tempfile::tempdir().unwrap();
        let partition = evidence.path().join("orders-0");
        std::fs::create_dir(&partition).unwrap();
        for name in
            ["00000000000000000000.log", "00000000000000000007.snapshot", "00000000000000000009.snapshot"]
        {
            std::fs::write(partition.join(name), []).unwrap();
        }
        let inventory = discover(std::slice::from_ref(&partition), &DiscoverOptions::default()).unwrap();
        std::fs::remove_file(partition.join("00000000000000000007.snapshot")).unwrap();

        let snapshots = read(&inventory.partitions[0]);

        let names: Vec<_> = snapshots.iter().map(|snapshot| snapshot.file.as_str()).collect();
        assert_eq!(names, ["00000000000000000009.snapshot"]);
        assert!(snapshots[0].entries.is_err(), "an empty file is still a snapshot that cannot be read");
    }
}
