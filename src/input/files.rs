//! Sorts the files of a partition directory by what they are.

use super::inventory::{SegmentFile, SegmentRole, SideFile};
use super::leftovers::Fated;
use super::listing::FileEntry;
use super::names::{Fate, NumberedKind, PartitionFile};
use super::place::FilePlace;
use super::remarks::Remarks;
use super::walk::FoundPartition;
use crate::units::{Offset, Timestamp};
use std::path::Path;

/// The files of a directory by kind.
#[derive(Default)]
pub(super) struct Files {
    pub segments: Vec<Fated<SegmentFile>>,
    pub snapshots: Vec<Fated<SideFile>>,
    pub indexes: Vec<SideFile>,
    pub metadata_snapshots: Vec<SideFile>,
    /// Where it is, when it is there.
    pub leader_epochs: Option<FilePlace>,
    pub metadata: Option<FilePlace>,
    /// The smallest number of a `.cleaned` file.
    pub cleaned: Option<Offset>,
    pub count: usize,
    pub newest: Option<Timestamp>,
}

impl Files {
    pub fn sort_out(path: &Path, found: &FoundPartition, remarks: &mut Remarks) -> Self {
        let mut files = Self::default();
        // A directory under the name of a file is told with what cannot be read.
        let directories = found.listing.directories.iter().map(String::as_str);
        let mut unknown: Vec<_> =
            directories.filter(|name| !PartitionFile::parse(name).marks_a_partition()).collect();
        for entry in &found.listing.files {
            let parsed = PartitionFile::parse(&entry.name);
            let place = found.listing.place(path, entry);
            match parsed {
                PartitionFile::Unknown => {
                    unknown.push(&entry.name);
                    continue;
                }
                PartitionFile::NotRead => {}
                PartitionFile::LeaderEpochs => files.leader_epochs = Some(place),
                PartitionFile::Metadata => files.metadata = Some(place),
                PartitionFile::Numbered { number, kind, fate } => {
                    files.add(&place, entry, number, kind, fate);
                }
            }
            files.count += 1;
            files.newest = files.newest.max(entry.modified);
        }
        if found.chosen.is_none() {
            if !unknown.is_empty() {
                remarks.pass_over(path, "not read", unknown.into_iter());
            }
            remarks.irregular(path, &found.listing);
        }
        files
    }

    fn add(&mut self, place: &FilePlace, entry: &FileEntry, number: Offset, kind: NumberedKind, fate: Fate) {
        if fate == Fate::Cleaned {
            self.cleaned = Some(self.cleaned.map_or(number, |smallest| smallest.min(number)));
        }
        let side = || SideFile {
            number,
            place: place.clone(),
            file_name: entry.name.clone(),
            len: entry.len,
            modified: entry.modified,
        };
        match kind {
            NumberedKind::Segment => self.segments.push(Fated {
                file: SegmentFile {
                    base: number,
                    place: place.clone(),
                    file_name: entry.name.clone(),
                    len: entry.len,
                    modified: entry.modified,
                    identity: entry.identity,
                    role: SegmentRole::Closed,
                },
                fate,
            }),
            NumberedKind::Snapshot => self.snapshots.push(Fated { file: side(), fate }),
            NumberedKind::Index if matches!(fate, Fate::Regular | Fate::Swap) => self.indexes.push(side()),
            NumberedKind::Index => {}
            NumberedKind::MetadataSnapshot => self.metadata_snapshots.push(side()),
        }
    }
}
