//! When copies were stored that have the times of what they repeat: the batches in front of them and behind
//! them tell, by times of their own.
//!
//! What stands in front was created before the copies were stored, on whatever client's clock. What stands behind
//! was stored behind them, and that bounds nothing where its time is that of a client: a later batch may have been
//! created before a retry was sent. Only times of a broker are an upper bound.
//!
//! Goes in: the findings, and where the walk over each log can begin anew. Comes out: a fact more in the
//! findings whose copies keep times. Reads the headers of one chunk for each end of a stretch of copies.

use super::logs::Logs;
use super::pass::ChunkStart;
use crate::finding::phrase::moment;
use crate::finding::{Code, Copy, Finding};
use crate::format::{BatchHeader, SegmentItem, TimestampType};
use crate::relations::PartitionNote;
use crate::units::{FilePosition, Offset};
use std::collections::{BTreeMap, HashMap};

/// Findings that are looked into.
const FINDINGS: usize = 100;
/// Directories of one finding that are told.
const DIRECTORIES: usize = 3;
/// Bytes of a file that are read at once.
const STRETCH: usize = 256 << 10;

/// Puts the fact into each finding that needs it.
pub(super) fn tell(findings: &mut [Finding], logs: &Logs<'_>, partitions: &[PartitionNote]) {
    let directories = partitions.iter().enumerate();
    let at: Directories<'_> =
        directories.map(|(at, note)| (note.directory.as_str(), (at, note.name()))).collect();
    let kept = findings.iter_mut().filter(|finding| {
        // Where a pipeline or an application sets the times, those beside the copies are set as well.
        let by_a_client = matches!(
            finding.code,
            Code::RetryWithoutIdempotence
                | Code::BrokerDedupLost
                | Code::EpochBumpResend
                | Code::MisplacedBatch
        );
        finding.keeps_times() && by_a_client
    });
    for finding in kept.take(FINDINGS) {
        if logs.late_stop.is_wanted() {
            return;
        }
        // Behind what came again where, since it says when.
        let place = finding.facts.len().min(1);
        finding.facts.splice(place..place, stored(finding, logs, &at));
    }
}

/// The first and the last listed copy of a directory.
type Ends<'f> = (&'f Copy, &'f Copy);

/// By directory: which of those that were read, and what sentences call it.
type Directories<'a> = HashMap<&'a str, (usize, &'a str)>;

fn stored(finding: &Finding, logs: &Logs<'_>, directories: &Directories<'_>) -> Option<String> {
    let copies = finding.groups.iter().flat_map(|group| &group.copies).filter(|copy| copy.repeats.is_some());
    let mut ends: BTreeMap<&str, Ends<'_>> = BTreeMap::new();
    for copy in copies {
        let (first, last) = ends.entry(copy.directory.as_str()).or_insert((copy, copy));
        if copy.offset < first.offset {
            *first = copy;
        }
        if copy.offset > last.offset {
            *last = copy;
        }
    }
    // Behind the last one that is listed others may stand.
    if finding.groups_omitted > 0 || finding.groups.iter().any(|group| group.copies_omitted > 0) {
        return None;
    }
    let told: Vec<String> = ends
        .into_iter()
        .take(DIRECTORIES)
        .filter_map(|(directory, (first, last))| {
            let (at, name) = *directories.get(directory)?;
            let log = Log { logs, at };
            // No copy was stored before its own batch was made.
            let of_batch = copies_of(finding, directory)
                .filter(|copy| copy.batch_base_offset == first.batch_base_offset)
                .filter_map(|copy| copy.timestamp);
            let made = of_batch.max();
            let from = log.in_front_of(first).filter(|from| Some(*from) > made);
            let until = log.behind(last).filter(|until| from.is_none_or(|from| from <= *until));
            match (from.and_then(moment), until.and_then(moment)) {
                (Some(from), Some(until)) => Some(format!(
                    "not before {from} (a client's clock) and not after {until} (a broker's) in {name}"
                )),
                (Some(from), None) => Some(format!("not before {from} (a client's clock) in {name}")),
                (None, Some(until)) => Some(format!("not after {until} (a broker's clock) in {name}")),
                (None, None) => None,
            }
        })
        .collect();
    (!told.is_empty())
        .then(|| format!("the copies were stored {}, by the batches around them", told.join("; ")))
}

/// The surplus copies of a directory that a finding lists.
fn copies_of<'f>(finding: &'f Finding, directory: &'f str) -> impl Iterator<Item = &'f Copy> {
    let copies = finding.groups.iter().flat_map(|group| &group.copies);
    copies.filter(move |copy| copy.repeats.is_some() && copy.directory == directory)
}

/// One log of those that were read.
struct Log<'a> {
    logs: &'a Logs<'a>,
    at: usize,
}

impl Log<'_> {
    /// The largest time of the batch in front of a copy's.
    fn in_front_of(&self, copy: &Copy) -> Option<i64> {
        let starts = &self.logs.outcomes.get(self.at)?.starts;
        let base = Offset(copy.batch_base_offset);
        let start = starts.partition_point(|start| start.base_offset < base).checked_sub(1)?;
        let mut before = None;
        self.walk(*starts.get(start)?, |header| {
            let goes_on = header.base_offset < base;
            if goes_on {
                before = Some(header.max_timestamp).filter(|time| *time >= 0);
            }
            goes_on
        })?;
        before
    }

    /// When the batch behind a copy's was appended, where the broker says so.
    fn behind(&self, copy: &Copy) -> Option<i64> {
        let outcome = self.logs.outcomes.get(self.at)?;
        let segments = &self.logs.prepared.inventory.partitions.get(self.at)?.segments;
        let segment = segments.iter().position(|segment| segment.file_name == copy.segment)?;
        let base = Offset(copy.batch_base_offset);
        let here = ChunkStart { segment, position: FilePosition(copy.position), base_offset: base };
        let next = || outcome.starts.iter().find(|start| start.segment > segment);
        self.first_behind(here, base).or_else(|| self.first_behind(*next()?, base))
    }

    fn first_behind(&self, start: ChunkStart, base: Offset) -> Option<i64> {
        let mut behind = None;
        self.walk(start, |header| {
            if header.base_offset > base {
                let appended = header.timestamp_type() == TimestampType::LogAppendTime;
                behind = Some(header.max_timestamp).filter(|time| appended && *time >= 0);
            }
            header.base_offset <= base
        })?;
        behind
    }

    /// Shows the data batches of a segment from a place on, as long as they are asked for.
    fn walk(&self, start: ChunkStart, mut goes_on: impl FnMut(&BatchHeader) -> bool) -> Option<()> {
        let segment = self.logs.subjects.get(self.at)?.segments.get(start.segment)?;
        let source = segment.open(self.logs.options.mode).ok()?.at_one_place(STRETCH);
        let mut scanner = segment.scanner(source, start.position, None);
        loop {
            let batch = match scanner.next_item().ok()? {
                Some(SegmentItem::Batch(batch)) => batch,
                Some(SegmentItem::Suspect(_) | SegmentItem::Damage(_)) => continue,
                None => return Some(()),
            };
            if !batch.header.is_control() && !goes_on(&batch.header) {
                return Some(());
            }
        }
    }
}
