//! From the listing of one directory to what is to be read of its partition.

use super::archive::stem;
use super::discover::Leftovers;
use super::files::Files;
use super::inventory::{
    LeaderEpochStart, NameSource, PartitionDir, SegmentFile, SegmentRole, Selection, SideFile, State,
};
use super::leftovers::{Parted, SwapRange, part};
use super::listing::some_names;
use super::log_dir::{LogDirFiles, parse};
use super::misnamed;
use super::names::PartitionName;
use super::remarks::Remarks;
use super::walk::FoundPartition;
use super::window::FileWindow;
use crate::format::segment::{Suspect, TailExpectation};
use crate::format::{SegmentItem, SegmentScanner, leader_epoch_checkpoint, partition_metadata};
use crate::units::{LogStartSource, Offset};
use std::path::Path;

/// What is known of the directory around a partition.
pub(super) struct Around<'a> {
    pub index: usize,
    pub files: &'a LogDirFiles,
    pub leftovers: Leftovers,
}

/// Reads what `found` names. The first partition is the directory's own, the others are leftovers
/// in it; there is none when the directory as a whole was set aside.
pub(super) fn read(
    path: &Path,
    found: &FoundPartition,
    around: &Around<'_>,
    remarks: &mut Remarks,
) -> Vec<PartitionDir> {
    let (name, named_by) = name_of(path, remarks);
    let set_aside = around.leftovers == Leftovers::SetAside;
    if !name.state.is_live() && set_aside && !found.named {
        remarks.note(path, aside_note(name.state));
        return Vec::new();
    }
    let mut files = Files::sort_out(path, found, remarks);
    let chosen = found.chosen.is_some();
    let parted =
        part(std::mem::take(&mut files.segments), std::mem::take(&mut files.snapshots), files.cleaned, range);
    // Leftovers that were named alone are wanted whatever the option says; beside segments that
    // count, as when all files of a directory are named, they are not.
    let leftovers = if chosen && !parted.live.iter().any(|segment| found.wants(&segment.file_name)) {
        Leftovers::List
    } else {
        around.leftovers
    };
    note_leftovers(path, &parted, leftovers, remarks);
    let topic_id = files.metadata.and_then(|place| parse(&place, partition_metadata::parse, remarks));
    let mut own = PartitionDir {
        internal: name.topic.starts_with("__"),
        topic: name.topic,
        partition: name.partition,
        named_by,
        state: name.state,
        path: path.to_owned(),
        display: String::new(),
        log_dir: around.index,
        broker_id: around.files.properties.broker_id,
        topic_id,
        selection: Selection::Whole,
        segments: Vec::new(),
        snapshots: Vec::new(),
        indexes: Vec::new(),
        metadata_snapshots: Vec::new(),
        leader_epochs: Vec::new(),
        empty_epoch_checkpoint: false,
        high_watermark: None,
        log_start_offset: Offset(0),
        log_start_source: LogStartSource::FirstSegment,
        log_start_checkpoint: None,
        recovery_point: None,
        first_dirty_offset: None,
        bytes: 0,
        files: files.count,
        newest_file_time: files.newest,
        replica_group: 0,
    };
    let mut all = Vec::new();
    if leftovers == Leftovers::List {
        let Parted {
            deleted, deleted_snapshots, cleaned, dropped_swaps, replaced, replaced_snapshots, ..
        } = &parted;
        let swaps = dropped_swaps.iter().map(|(swap, _)| swap.clone()).collect::<Vec<_>>();
        for (state, segments, snapshots) in [
            (State::DeletedSegments, deleted, deleted_snapshots.as_slice()),
            (State::CleanedSegments, cleaned, &[]),
            (State::SwapSegments, &swaps, &[]),
            (State::ReplacedSegments, replaced, replaced_snapshots),
        ] {
            let segments: Vec<_> = segments.iter().filter(|s| found.wants(&s.file_name)).cloned().collect();
            let snapshots: Vec<_> = snapshots.iter().filter(|s| found.wants(&s.file_name)).cloned().collect();
            if !segments.is_empty() {
                all.push(leftover(&own, state, segments, snapshots));
            }
        }
    }
    own.segments = parted.live;
    misnamed::settle(&mut own.segments, remarks);
    if let Some(last) = own.segments.last_mut() {
        last.role = SegmentRole::Active;
    }
    own.snapshots = parted.live_snapshots;
    own.snapshots.sort_by_key(|file| file.number);
    own.indexes = files.indexes;
    own.metadata_snapshots = files.metadata_snapshots;
    if let Some(place) = files.leader_epochs {
        let epochs = parse(&place, leader_epoch_checkpoint::parse, remarks);
        own.empty_epoch_checkpoint = epochs.as_ref().is_some_and(Vec::is_empty);
        own.leader_epochs = epochs
            .into_iter()
            .flatten()
            .map(|(epoch, start_offset)| LeaderEpochStart { epoch, start_offset })
            .collect();
    }
    // A broker keeps offsets for the live replica and for the copy that is being built, by name.
    if matches!(own.state, State::Live | State::Future) {
        let of =
            |offsets: &crate::format::checkpoint::OffsetCheckpoint| offsets.get(&own.topic, own.partition);
        // A log that grew since it was listed is younger than the listing, and so is the checkpoint.
        let grew = grew(&own, found);
        own.high_watermark = of(&around.files.high_watermarks).filter(|_| !grew);
        own.recovery_point = of(&around.files.recovery_points).filter(|_| !grew);
        own.first_dirty_offset = of(&around.files.first_dirty);
        own.log_start_checkpoint = of(&around.files.log_starts);
        (own.log_start_offset, own.log_start_source) = log_start(&own, own.log_start_checkpoint);
    } else {
        (own.log_start_offset, own.log_start_source) = log_start(&own, None);
    }
    if chosen {
        choose(&mut own, found);
    }
    own.bytes = own.segments.iter().map(|segment| segment.len).sum();
    if own.segments.is_empty() && !chosen {
        remarks.note(path, "the directory of a partition without a segment");
    }
    if !(chosen && own.segments.is_empty() && own.snapshots.is_empty() && !all.is_empty()) {
        all.insert(0, own);
    }
    all
}

/// Whether a broker has appended to the log since it was listed, or rolled it.
fn grew(partition: &PartitionDir, found: &FoundPartition) -> bool {
    let Some(last) = partition.segments.last() else { return false };
    let is_new = |name: &String| {
        let is_segment = Path::new(name).extension().is_some_and(|extension| extension == "log");
        is_segment && found.listing.files.iter().all(|file| file.name != *name)
    };
    last.place.length().is_ok_and(|now| now > last.len)
        || last.place.names_beside().is_ok_and(|names| names.iter().any(is_new))
}

/// A `-delete` directory that [`read`] set aside. What is remarkable in it is nobody's trouble any more.
pub(super) fn read_deleted(path: &Path, found: &FoundPartition, around: &Around<'_>) -> Option<PartitionDir> {
    let mut unheard = Remarks::default();
    let (name, _) = name_of(path, &mut unheard);
    if name.state != State::Deleted || around.leftovers != Leftovers::SetAside || found.named {
        return None;
    }
    let listed = Around { leftovers: Leftovers::List, ..*around };
    read(path, found, &listed, &mut unheard).into_iter().find(|dir| dir.state == State::Deleted)
}

impl FoundPartition {
    fn wants(&self, file_name: &str) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| chosen.contains(file_name))
    }
}

/// Topic, partition and state by the name of the directory.
fn name_of(path: &Path, remarks: &mut Remarks) -> (PartitionName, NameSource) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // An archive of what is in the directory is called like it.
    let name = stem(&name).to_owned();
    if let Some(name) = PartitionName::parse(&name) {
        return (name, NameSource::Directory);
    }
    remarks.note(path, "its name is not topic-partition: read as partition 0 of a topic of this name");
    (PartitionName { topic: name, partition: 0, state: State::Live }, NameSource::Assumed)
}

fn aside_note(state: State) -> &'static str {
    match state {
        State::Future => {
            "a copy that is being built for a move between log directories, not read: its batches are those of \
             the live replica"
        }
        State::Stray => "a stray replica that the metadata no longer assigns to this broker, not read",
        _ => "a deleted replica, not read: its topic was deleted, perhaps created again, or it moved away",
    }
}

/// The offset behind the last batch of a `.swap` segment, which must be read for it.
fn range(swap: &SegmentFile) -> SwapRange {
    let source = match FileWindow::open(&swap.place, swap.len) {
        Ok(source) => source,
        Err(error) => return SwapRange::Broken(error.to_string()),
    };
    let mut next = swap.base;
    let mut scanner = SegmentScanner::new(source, swap.base, TailExpectation::MustBeWhole);
    loop {
        match scanner.next_item() {
            Ok(None) => return SwapRange::Whole(next),
            Ok(Some(SegmentItem::Batch(batch))) => next = next.max(batch.header.last_offset().next()),
            Ok(Some(SegmentItem::Damage(damage) | SegmentItem::Suspect(Suspect { damage, .. }))) => {
                return SwapRange::Broken(format!("damaged at {}: {}", damage.position, damage.detail));
            }
            Err(error) => return SwapRange::Broken(error.to_string()),
        }
    }
}

fn note_leftovers(path: &Path, parted: &Parted, leftovers: Leftovers, remarks: &mut Remarks) {
    let fate = match leftovers {
        Leftovers::SetAside => "not read",
        Leftovers::List => "read apart from the log",
    };
    let mut say = |segments: &[SegmentFile], what: &str| {
        if !segments.is_empty() {
            let names = some_names(segments.iter().map(|segment| segment.file_name.as_str()));
            remarks.note(path, format!("{what}, {fate}: {names}"));
        }
    };
    say(&parted.deleted, "segments that the broker renamed to .deleted, no longer part of the log");
    say(&parted.cleaned, "the output of a compaction or split that was not finished");
    if let Some((from, to)) = parted.swap_range {
        let what =
            format!("a compaction or split had written {from} up to {to} anew (.swap); what that replaces");
        say(&parted.replaced, &what);
        let names: Vec<_> = parted.replaced_snapshots.iter().map(|file| file.file_name.as_str()).collect();
        if !names.is_empty() {
            let names = some_names(names.into_iter());
            remarks
                .note(path, format!("snapshots in the range that a .swap segment replaces, {fate}: {names}"));
        }
        let names = some_names(parted.swapped_in.iter().map(String::as_str));
        remarks.note(path, format!("read in the place of regular segments: {names}"));
    }
    for (swap, why) in &parted.dropped_swaps {
        remarks.note(swap.place.path(), format!("does not count, {fate}: {why}"));
    }
}

/// Leftovers of `own` as a partition of their own.
fn leftover(
    own: &PartitionDir,
    state: State,
    mut segments: Vec<SegmentFile>,
    snapshots: Vec<SideFile>,
) -> PartitionDir {
    segments.sort_by_key(|segment| segment.base);
    PartitionDir {
        state,
        log_start_offset: segments.first().map_or(Offset(0), |segment| segment.base),
        bytes: segments.iter().map(|segment| segment.len).sum(),
        files: segments.len() + snapshots.len(),
        newest_file_time: segments.iter().filter_map(|segment| segment.modified).max(),
        segments,
        snapshots,
        ..own.clone()
    }
}

/// Where the readable log begins: the highest of what the checkpoint, the leader epochs and the
/// first segment say.
fn log_start(partition: &PartitionDir, checkpoint: Option<Offset>) -> (Offset, LogStartSource) {
    let Some(first) = partition.segments.first() else {
        let start = checkpoint.map(|offset| (offset, LogStartSource::Checkpoint));
        return start.unwrap_or_default();
    };
    let start = match checkpoint {
        Some(offset) if offset > first.base => (offset, LogStartSource::Checkpoint),
        _ => (first.base, LogStartSource::FirstSegment),
    };
    match partition.leader_epochs.first() {
        Some(epoch) if epoch.start_offset > start.0 && begins_with_an_epoch(first) => {
            (epoch.start_offset, LogStartSource::LeaderEpochs)
        }
        _ => start,
    }
}

/// Whether the first batch of a segment has a leader epoch.
///
/// DeleteRecords moves the first line of `leader-epoch-checkpoint` above the first segment's base;
/// but in a log that began before 0.11 the first line is where record batches begin, and what lies
/// below it is not deleted. Only in this rare case a segment is opened.
fn begins_with_an_epoch(segment: &SegmentFile) -> bool {
    let Ok(source) = FileWindow::open(&segment.place, segment.len) else { return false };
    let mut scanner = SegmentScanner::new(source, segment.base, TailExpectation::MayBeTorn);
    match scanner.next_item() {
        Ok(Some(SegmentItem::Batch(batch))) => batch.header.partition_leader_epoch.is_some(),
        Ok(Some(SegmentItem::Damage(_) | SegmentItem::Suspect(_)) | None) | Err(_) => false,
    }
}

/// Keeps the files that were named, and cuts to their range what lies beside them, so that what was
/// not named does not look as if it were missing.
fn choose(own: &mut PartitionDir, found: &FoundPartition) {
    let all: Vec<_> = own.segments.iter().map(|segment| segment.base).collect();
    own.segments.retain(|segment| found.wants(&segment.file_name));
    for files in [&mut own.snapshots, &mut own.indexes, &mut own.metadata_snapshots] {
        files.retain(|file| found.wants(&file.file_name));
    }
    let left_out = all.iter().copied().filter(|base| own.segments.iter().all(|s| s.base != *base)).collect();
    own.selection = Selection::Files { left_out };
    let files = own.segments.len() + own.snapshots.len() + own.indexes.len() + own.metadata_snapshots.len();
    (own.files, own.newest_file_time) = (files, own.segments.iter().filter_map(|s| s.modified).max());
    let Some(first) = own.segments.first().map(|segment| segment.base) else { return };
    if own.log_start_offset < first {
        (own.log_start_offset, own.log_start_source) = (first, LogStartSource::FirstSegment);
    }
    let reached = own.leader_epochs.iter().rposition(|epoch| epoch.start_offset <= first).unwrap_or(0);
    own.leader_epochs.drain(..reached);
    if let Some(epoch) = own.leader_epochs.first_mut() {
        epoch.start_offset = epoch.start_offset.max(first);
    }
    let last = own.segments.last().map(|segment| segment.base);
    let end = all.iter().copied().find(|base| Some(*base) > last);
    if let Some(end) = end {
        // The log goes on in segments that are not read.
        own.leader_epochs.retain(|epoch| epoch.start_offset < end);
        own.high_watermark = own.high_watermark.filter(|offset| *offset < end);
        own.recovery_point = own.recovery_point.filter(|offset| *offset < end);
    }
}

#[cfg(test)]
mod tests {
    use super::super::listing::Listing;
    use super::*;
    use crate::format::checkpoint::OffsetCheckpoint;
    use std::fs;

    #[test]
    fn checkpoints_of_a_log_that_went_on_since_it_was_listed_are_younger_than_the_listing() {
        let offsets = || OffsetCheckpoint::parse(b"0\n1\norders 0 90\n").unwrap();
        let files =
            LogDirFiles { high_watermarks: offsets(), recovery_points: offsets(), ..LogDirFiles::default() };
        let around = Around { index: 0, files: &files, leftovers: Leftovers::SetAside };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("orders-0");
        fs::create_dir(&path).unwrap();
        let segment = |base: i64| path.join(format!("{base:020}.log"));
        fs::write(segment(0), [0; 40]).unwrap();
        let found = FoundPartition { listing: Listing::read(&path).unwrap(), named: true, chosen: None };
        let checkpoints = || {
            let own = read(&path, &found, &around, &mut Remarks::default()).remove(0);
            [own.high_watermark, own.recovery_point]
        };
        assert_eq!(checkpoints(), [Some(Offset(90)); 2]);
        fs::write(segment(80), []).unwrap();
        assert_eq!(checkpoints(), [None; 2]);
        fs::remove_file(segment(80)).unwrap();
        fs::write(segment(0), [0; 50]).unwrap();
        assert_eq!(checkpoints(), [None; 2]);
    }
}
