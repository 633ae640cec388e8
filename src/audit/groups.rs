//! From digests to what consumers count, and to the records that need a second look.

use crate::candidates::{Fingerprint, Row, RowStore};
use crate::facts::PartitionFacts;
use crate::units::Offset;

/// What the grouping asks of a partition.
#[derive(Debug)]
pub(super) struct PartitionView<'f> {
    /// Index of its topic.
    pub(super) topic: usize,
    /// Whether duplicates are judged there.
    pub(super) judged: bool,
    /// Transactions and the last stable offset.
    pub(super) facts: &'f PartitionFacts,
}

impl PartitionView<'_> {
    /// Whether read_committed consumers get the record at `offset`.
    fn is_committed(&self, offset: Offset) -> bool {
        offset < self.facts.last_stable_offset && self.facts.withheld_at(offset).is_none()
    }
}

/// What a consumer that counts business keys gets from one topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyCounts {
    pub(super) uncommitted: Seen,
    pub(super) committed: Seen,
    /// Keys with more than one content.
    pub(super) keys_with_updates: u64,
}

/// Records with a key, and distinct keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) keyed_records: u64,
    pub(super) distinct_keys: u64,
}

/// A record that may be a copy of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    pub(super) partition: u32,
    pub(super) offset: Offset,
    pub(super) identity: Fingerprint,
}

/// Records of other topics that are looked at for one key of a topic.
const ELSEWHERE: usize = 16;

impl Wanted {
    fn at(row: &Row) -> Self {
        Self { partition: row.partition, offset: row.offset, identity: row.identity }
    }
}

/// Counts keys by topic, and finds the records whose identity and content may be there twice.
pub(super) fn group(
    rows: RowStore,
    partitions: &[PartitionView<'_>],
    topics: usize,
) -> (Vec<KeyCounts>, Vec<Wanted>) {
    let mut counts = vec![KeyCounts::default(); topics];
    let mut wanted = Vec::new();
    let view = |row: &Row| usize::try_from(row.partition).ok().and_then(|at| partitions.get(at));
    let mut selectors = Vec::new();
    rows.for_each_identity(|all| {
        // Partitions are in the order of their topics, so each topic's rows stand together.
        for rows in all.chunk_by(|a, b| view(a).map(|v| v.topic) == view(b).map(|v| v.topic)) {
            let Some(first) = rows.first().and_then(view) else { continue };
            let Some(counts) = counts.get_mut(first.topic) else { continue };
            let committed =
                rows.iter().filter(|row| view(row).is_some_and(|v| v.is_committed(row.offset))).count();
            counts.uncommitted.add(rows.len());
            counts.committed.add(committed);
            if rows.len() == 1 {
                continue;
            }
            selectors.clear();
            selectors.extend(rows.iter().map(|row| row.selector));
            selectors.sort_unstable();
            let contents = selectors.chunk_by(|a, b| a == b).count();
            counts.keys_with_updates += u64::from(contents > 1);
            if !first.judged || contents == rows.len() {
                continue;
            }
            let twice = |selector: u32| {
                let at = selectors.partition_point(|other| *other < selector);
                selectors.get(at + 1) == Some(&selector)
            };
            wanted.extend(rows.iter().filter(|row| twice(row.selector)).map(Wanted::at));
            // Where else the event is: a pipeline may have read it there.
            let elsewhere = all.iter().filter(|row| {
                view(row).is_some_and(|v| v.judged && v.topic != first.topic) && twice(row.selector)
            });
            wanted.extend(elsewhere.take(ELSEWHERE).map(Wanted::at));
        }
    });
    wanted.sort_unstable();
    wanted.dedup();
    (counts, wanted)
}

impl Seen {
    fn add(&mut self, records: usize) {
        if records > 0 {
            self.keyed_records += u64::try_from(records).unwrap_or(u64::MAX);
            self.distinct_keys += 1;
        }
    }
}
