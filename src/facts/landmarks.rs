//! When things happened that batches do not date themselves: a leader's first batch, a gap, a log
//! that was closed.
//!
//! Goes in: each batch, and whether something began at it. Comes out: [`Landmarks`]. A snapshot whose
//! number lies inside a file was not taken at a roll: brokers take such a one when they close a log or
//! load it (`UnifiedLog.close`, `UnifiedLog.rebuildProducerState`).

use super::PartitionContext;
use crate::format::BatchHeader;
use crate::units::Offset;
use std::collections::BTreeMap;

/// Times that are kept; what happens more often than that is no landmark.
const MAX_TIMES: usize = 50_000;

/// Times at which something happened in one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Landmarks {
    times: BTreeMap<Offset, i64>,
    closings: Vec<Closing>,
    /// Snapshots above the batches so far, by falling number.
    ahead: Vec<(Offset, String)>,
    /// The segment of the batch before, and the largest time in that batch.
    before: Option<(usize, Option<i64>)>,
}

/// The broker closed or loaded the log, and wrote on in the same file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// The file name of the snapshot that says so.
    pub file: String,
    /// The log ended here then.
    pub offset: Offset,
    /// The largest time of the batch before it: it was no earlier, if the clocks agree.
    pub after: Option<i64>,
}

impl Landmarks {
    pub(super) fn new(context: &PartitionContext) -> Self {
        let snapshots = context.snapshots.iter();
        let mut ahead: Vec<(Offset, String)> =
            snapshots.map(|snapshot| (snapshot.offset, snapshot.file.clone())).collect();
        ahead.sort_unstable_by(|a, b| b.cmp(a));
        Self { ahead, ..Self::default() }
    }

    /// Takes a batch; `begins` says whether something that has no time of its own happened at it.
    pub(super) fn batch(&mut self, header: &BatchHeader, segment: usize, begins: bool) {
        while let Some((offset, file)) = self.ahead.pop_if(|(offset, _)| *offset <= header.base_offset) {
            if let Some((_, after)) = self.before.filter(|(before, _)| *before == segment) {
                self.closings.push(Closing { file, offset, after });
            }
        }
        if let Some(time) = header.first_timestamp().filter(|_| begins)
            && self.times.len() < MAX_TIMES
        {
            self.times.insert(header.base_offset, time.0);
        }
        self.before = Some((segment, (header.max_timestamp != -1).then_some(header.max_timestamp)));
    }

    /// The time of the batch that begins at `offset`, where something happened at it.
    #[must_use]
    pub fn time_of(&self, offset: Offset) -> Option<i64> {
        self.times.get(&offset).copied()
    }

    /// Where the broker closed or loaded the log, in the order of offsets.
    #[must_use]
    pub fn closings(&self) -> &[Closing] {
        &self.closings
    }
}
