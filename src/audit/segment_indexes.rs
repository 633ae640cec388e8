//! Which offset and time indexes are held against their segments, and how they are read.
//!
//! A broker cuts the indexes of a segment to their size when it closes it, and flushes them with it. So
//! an index speaks where its segment is closed and, in a log that was not closed cleanly, lies below
//! the recovery point; the last segment's after a clean shutdown. Indexes of segments under a wrong
//! name may or may not have been renamed with them.

use crate::facts::SegmentIndexes;
use crate::input::{PartitionDir, SegmentFile, SideFile};
use crate::units::Offset;

/// The largest `segment.index.bytes` that is read; 10 MiB is the default.
const LARGEST: u64 = 64 << 20;
/// Bytes of an entry of `.index`.
const OFFSET_ENTRY: u64 = 8;
/// Bytes of two entries of `.timeindex`: one alone cannot go back.
const TIME_ENTRIES: u64 = 24;

/// The indexes of one segment that are held against it.
#[derive(Clone, Debug, Default)]
pub(super) struct Checked {
    offsets: Option<SideFile>,
    times: Option<SideFile>,
}

impl Checked {
    /// Those of the segment before `next_base`.
    pub(super) fn of(
        dir: &PartitionDir,
        segment: &SegmentFile,
        next_base: Option<Offset>,
        clean_shutdown: Option<bool>,
    ) -> Self {
        let flushed = |next: Offset| dir.recovery_point.is_some_and(|point| next <= point);
        let speaks = match (clean_shutdown, next_base) {
            (Some(true), _) => true,
            (Some(false), next) => next.is_some_and(flushed),
            (None, next) => next.is_some(),
        };
        if !speaks || segment.wrong_name().is_some() {
            return Self::default();
        }
        let (stem, state) = segment.file_name.split_once(".log").unwrap_or_default();
        let named = |extension: &str, least: u64| {
            let name = format!("{stem}.{extension}{state}");
            let mut files = dir.indexes.iter().filter(|file| file.number == segment.base);
            files.find(|file| file.file_name == name && (least..=LARGEST).contains(&file.len)).cloned()
        };
        Self { offsets: named("index", OFFSET_ENTRY), times: named("timeindex", TIME_ENTRIES) }
    }

    /// Their bytes; `None` where there are none, or they are gone.
    pub(super) fn read(&self) -> Option<SegmentIndexes> {
        let read = |file: &Option<SideFile>| {
            let file = file.as_ref()?;
            Some((file.file_name.clone(), file.place.read(LARGEST).ok()?))
        };
        let indexes = SegmentIndexes { offsets: read(&self.offsets), times: read(&self.times) };
        (indexes.offsets.is_some() || indexes.times.is_some()).then_some(indexes)
    }
}
