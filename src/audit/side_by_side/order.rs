//! Records of one record key that stand in another order in a mirror than in its source.
//!
//! Goes in: the matched records of a pair of which it is certain which stands for which, in the order of the source.
//! Comes out: those that stand before an older one of their key.
//!
//! Kafka keeps the order within a partition, and who reads a topic as states relies on it: where two values of a
//! key change places, the older one is the newest. Between keys consumers can rely on it as well, but who mirrors with
//! several producers gives that up knowingly.
//!
//! As long as the places of both sides ascend together there is nothing to look for. Else the keys of the source
//! are read once more, and the places of each key sorted within a bound on memory.

use super::fate::{Fate, Kind, Marks};
use crate::compare::{self, Log};
use crate::error::AuditError;
use crate::input::ReadMode;
use crate::spill::{Share, ShelfWriter, Sorter};
use crate::units::Offset;

/// Records that stand one behind the other on both sides.
#[derive(Clone, Copy, Debug)]
struct Run {
    at: i64,
    to: i64,
    records: i64,
}

impl Run {
    const fn put(self) -> [i64; 3] {
        [self.at, self.to, self.records]
    }

    const fn take([at, to, records]: [i64; 3]) -> Self {
        Self { at, to, records }
    }

    const fn end(self) -> i64 {
        self.at.saturating_add(self.records)
    }
}

/// The places of a pair.
#[derive(Debug)]
pub(super) struct Order {
    runs: ShelfWriter<[i64; 3]>,
    last: Option<Run>,
    highest: Option<Offset>,
    turns: bool,
}

impl Order {
    pub(super) fn new(share: &Share) -> Self {
        Self { runs: share.shelf(), last: None, highest: None, turns: false }
    }

    /// Adds two records that stand for each other.
    pub(super) fn note(&mut self, fate: Fate) -> Result<(), AuditError> {
        if !fate.marks.has(Marks::SURE) {
            return Ok(());
        }
        self.turns |= self.highest.is_some_and(|highest| fate.to < highest);
        self.highest = self.highest.max(Some(fate.to));
        let (at, to) = (fate.at.0, fate.to.0);
        match &mut self.last {
            Some(run) if at == run.end() && to.wrapping_sub(run.to) == run.records => run.records += 1,
            last => {
                if let Some(done) = last.replace(Run { at, to, records: 1 }) {
                    self.runs.put(&done.put())?;
                }
            }
        }
        Ok(())
    }

    /// Whether some stand in another order, of whatever key.
    pub(super) const fn turns(&self) -> bool {
        self.turns
    }

    /// The records of pair `number` that stand before an older one of their key.
    pub(super) fn turned(
        mut self,
        number: u32,
        source: &Log<'_>,
        mode: ReadMode,
        stop: &dyn Fn() -> bool,
        share: &Share,
    ) -> Result<Sorter<Fate>, AuditError> {
        if let Some(last) = self.last {
            self.runs.put(&last.put())?;
        }
        let mut runs = self.runs.finish()?.all();
        let mut next = || runs.next().transpose().map(|run| run.map(Run::take));
        let mut run = next()?;
        let mut keyed: Sorter<[i64; 3]> = share.sorter();
        compare::each_key(source, mode, stop, |offset, hash| {
            while run.is_some_and(|run| run.end() <= offset.0) {
                run = next()?;
            }
            match run.filter(|run| run.at <= offset.0) {
                Some(run) => keyed.push([hash.cast_signed(), offset.0, run.to + (offset.0 - run.at)]),
                None => Ok(()),
            }
        })?;
        let mut turned = share.sorter();
        let mut keyed = keyed.finish()?;
        // The last place of the records of the key that came before.
        let mut highest: Option<(i64, i64)> = None;
        while let Some([hash, at, to]) = keyed.take_next()? {
            match &mut highest {
                Some((key, place)) if *key == hash && to < *place => {
                    let (at, to) = (Offset(at), Offset(to));
                    turned.push(Fate::new(number, Kind::OtherOrder, at, to, Marks::NONE))?;
                }
                known => *known = Some((hash, to)),
            }
        }
        Ok(turned)
    }
}
