//! Where in a segment to begin when only later records are wanted.
//!
//! An index entry says: records from this offset on stand at this position or behind it. A time
//! index entry says: no record up to this offset has a larger time. Both are hints of files without
//! a checksum, so they are used only when they are in order from end to end, and the position
//! counts only when a batch proves itself there that can stand there.

use super::selection::Selection;
use crate::format::{
    ByteSource, OffsetIndex, OffsetIndexEntry, SegmentItem, SegmentScanner, TailExpectation, TimeIndex,
};
use crate::input::{FilePlace, FileWindow};
use crate::units::Offset;
use std::io;

/// The position to begin at; 0 when the indexes do not help.
pub(super) fn start<S: ByteSource>(
    log: &mut S,
    place: &FilePlace,
    base: Offset,
    selection: &Selection,
) -> u64 {
    try_start(log, place, base, selection).ok().flatten().unwrap_or(0)
}

fn try_start<S: ByteSource>(
    log: &mut S,
    place: &FilePlace,
    base: Offset,
    selection: &Selection,
) -> io::Result<Option<u64>> {
    let mut wanted = selection.offsets.first;
    if selection.times.first > i64::MIN
        && let Some(offset) = before_time(open(place, "timeindex")?, base, selection.times.first)?
    {
        wanted = wanted.max(offset.0);
    }
    if wanted <= base.0 {
        return Ok(None);
    }
    let Some(entry) = at_or_before(open(place, "index")?, base, Offset(wanted), log.len())? else {
        return Ok(None);
    };
    let Some(position) = entry.file_position().map(|position| position.0).filter(|&position| position > 0)
    else {
        return Ok(None);
    };
    let view = From { source: log, start: position };
    let mut scanner = SegmentScanner::new(view, base, TailExpectation::MayBeTorn);
    let proved = match scanner.next_item()? {
        Some(SegmentItem::Batch(batch)) => batch.header.base_offset <= entry.offset,
        _ => false,
    };
    Ok(proved.then_some(position))
}

/// The last offset up to which no record is as late as `time`.
fn before_time(file: FileWindow, base: Offset, time: i64) -> io::Result<Option<Offset>> {
    let mut index = TimeIndex::new(file, base);
    if index.fragment() != 0 {
        return Ok(None);
    }
    let (mut found, mut previous) = (None, None);
    while let Some(entry) = index.next_entry()? {
        let in_order =
            previous.is_none_or(|(timestamp, offset)| timestamp < entry.timestamp && offset <= entry.offset);
        if !in_order || entry.offset < base {
            return Ok(None);
        }
        previous = Some((entry.timestamp, entry.offset));
        if entry.timestamp < time {
            found = Some(entry.offset);
        }
    }
    Ok(found)
}

/// The last entry that is not behind `wanted`.
fn at_or_before(
    file: FileWindow,
    base: Offset,
    wanted: Offset,
    log_length: u64,
) -> io::Result<Option<OffsetIndexEntry>> {
    let mut index = OffsetIndex::new(file, base);
    if index.fragment() != 0 {
        return Ok(None);
    }
    let (mut found, mut previous) = (None, None::<OffsetIndexEntry>);
    while let Some(entry) = index.next_entry()? {
        let in_order = previous
            .is_none_or(|previous| previous.offset < entry.offset && previous.position <= entry.position);
        let inside = entry.file_position().is_some_and(|position| position.0 < log_length);
        if !in_order || !inside || entry.offset < base {
            return Ok(None);
        }
        previous = Some(entry);
        if entry.offset <= wanted {
            found = Some(entry);
        }
    }
    Ok(found)
}

/// Opens the index beside a log.
fn open(place: &FilePlace, extension: &str) -> io::Result<FileWindow> {
    let path = place.path().with_extension(extension);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let index = place.sibling(name).ok_or(io::ErrorKind::NotFound)?;
    FileWindow::open(&index, index.length()?)
}

/// A source without its first bytes.
#[derive(Debug)]
pub(super) struct From<'a, S> {
    /// All of it.
    pub(super) source: &'a mut S,
    /// The bytes that are left out.
    pub(super) start: u64,
}

impl<S: ByteSource> ByteSource for From<'_, S> {
    fn len(&self) -> u64 {
        self.source.len().saturating_sub(self.start)
    }

    fn window(&mut self, position: u64, length: usize) -> io::Result<&[u8]> {
        self.source.window(self.start.saturating_add(position), length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{SegmentBuilder, batch};
    use std::fs;

    /// A segment of ten batches with one record each, offsets 0 to 9, times 1000, 1100, …
    fn segment() -> (Vec<u8>, Vec<u64>) {
        let mut segment = SegmentBuilder::new();
        for number in 0..10 {
            segment = segment.batch(batch().time(1000 + number * 100).record("k", "v"));
        }
        let positions = segment.places().iter().map(|place| place.position as u64).collect();
        (segment.bytes(), positions)
    }

    fn index(entries: &[(i32, u64)]) -> Vec<u8> {
        entries
            .iter()
            .flat_map(|&(offset, position)| {
                [offset.to_be_bytes(), i32::try_from(position).unwrap().to_be_bytes()].concat()
            })
            .collect()
    }

    fn begin(log: &[u8], index: Option<Vec<u8>>, times: Option<Vec<u8>>, selection: Selection) -> u64 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("00000000000000000000.log");
        if let Some(index) = index {
            fs::write(path.with_extension("index"), index).unwrap();
        }
        if let Some(times) = times {
            fs::write(path.with_extension("timeindex"), times).unwrap();
        }
        let mut log = log;
        start(&mut log, &path.into(), Offset(0), &selection)
    }

    fn from_offset(first: i64) -> Selection {
        let mut selection = Selection::default();
        selection.offsets.first = first;
        selection
    }

    #[test]
    fn a_sane_index_says_where_to_begin() {
        let (log, at) = segment();
        let entries = index(&[(3, at[3]), (6, at[6])]);
        assert_eq!(begin(&log, Some(entries.clone()), None, from_offset(5)), at[3]);
        assert_eq!(begin(&log, Some(entries.clone()), None, from_offset(6)), at[6]);
        assert_eq!(begin(&log, Some(entries), None, from_offset(2)), 0);
        assert_eq!(begin(&log, None, None, from_offset(5)), 0);
    }

    #[test]
    fn an_index_that_cannot_be_right_is_not_used() {
        let (log, at) = segment();
        for entries in [
            index(&[(3, at[3] + 1), (6, at[6])]),
            index(&[(3, at[6]), (6, at[3])]),
            index(&[(3, at[5]), (6, at[6])]),
            index(&[(3, at[3]), (6, 1 << 20)]),
            [index(&[(3, at[3])]), vec![0]].concat(),
        ] {
            assert_eq!(begin(&log, Some(entries), None, from_offset(5)), 0);
        }
    }

    #[test]
    fn a_time_index_gives_the_offset_to_begin_at() {
        let (log, at) = segment();
        let entry = |time: i64, offset: i32| [&time.to_be_bytes()[..], &offset.to_be_bytes()].concat();
        let times = [entry(1300, 3), entry(1600, 6)].concat();
        let mut selection = Selection::default();
        selection.times.first = 1500;
        let entries = index(&[(3, at[3]), (6, at[6])]);
        assert_eq!(begin(&log, Some(entries), Some(times), selection), at[3]);
    }
}
