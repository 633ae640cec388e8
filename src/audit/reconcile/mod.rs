//! Joins a list of keys that were sent with what is stored.
//!
//! ```text
//!  list ─► rows ─┐
//!                ├─► rows in order of their digests ─► one result a key ─► in order of the list
//!  log  ─► rows ─┘                                                        ─► list again: the words
//! ```
//!
//! The rows of the list go through the same store as those of the log, so that gigabytes of either
//! take no more memory than an audit. Digests are 128 bits, keyed, drawn anew for each run. The list
//! is read a second time to tell its keys in words, and each line is held against its digest.

mod acknowledged;
mod join;
mod known;
pub(super) mod lookup;
mod replicas;
mod stretches;
mod tell;

use super::Watch;
use super::groups::PartitionView;
use super::logs::Room;
use crate::candidates::{DigestKey, Row, RowStore};
use crate::error::AuditError;
use crate::expected::{Entries, ExpectedError, Fields};
use crate::keys::KeySpec;
use crate::report::reconcile::Reconciled;
use crate::spill::Sorter;
use join::{Join, Told};
use std::io::Write;
use std::path::PathBuf;

pub(super) use known::Known;

/// A row with this in the place of its partition is one of the list.
pub(super) const OF_THE_LIST: u32 = u32::MAX;

/// A list to be reconciled with the log, and where its missing keys go.
pub struct Reconciler<'w> {
    /// The list.
    pub file: PathBuf,
    /// Which of its fields are meant.
    pub fields: Fields,
    /// What identifies a stored record.
    pub key: KeySpec,
    /// Entries of each list in the answer.
    pub listed: usize,
    /// Takes a line for each missing key, in the order of the list.
    pub missing: &'w mut (dyn Write + Send),
    join: Option<Join>,
    /// The entry at which somebody stopped the reading of the list.
    stopped_at: Option<u64>,
    answer: Option<Reconciled>,
}

impl<'w> Reconciler<'w> {
    /// A reconciliation that has not begun.
    pub fn new(
        file: PathBuf,
        fields: Fields,
        key: KeySpec,
        listed: usize,
        missing: &'w mut (dyn Write + Send),
    ) -> Self {
        Self { file, fields, key, listed, missing, join: None, stopped_at: None, answer: None }
    }

    /// What came out, when the audit is done.
    #[must_use]
    pub fn finish(self) -> Option<Reconciled> {
        self.answer
    }

    /// Adds the rows of the list.
    pub(super) fn begin(
        &mut self,
        digest_key: DigestKey,
        rows: &mut RowStore,
        room: &Room,
        watch: &Watch,
    ) -> Result<(), AuditError> {
        let mut entries = Entries::open(&self.file, &self.fields).map_err(|error| unusable(&error))?;
        let (mut all, mut with_key) = (0_u64, 0_u64);
        while let Some(entry) = entries.next_entry().map_err(|error| unusable(&error))? {
            if watch.is_stopped() {
                self.stopped_at = Some(entry.number);
                break;
            }
            all += 1;
            if !entry.has_key() {
                continue;
            }
            with_key += 1;
            let offset = crate::units::Offset(i64::try_from(entry.number).unwrap_or(i64::MAX));
            for reading in 0..self.key.readings() {
                let identity = digest_key.given(&self.key, &entry.key, reading);
                rows.push(Row { identity, selector: Row::ONE_CONTENT, partition: OF_THE_LIST, offset })?;
            }
        }
        // Of no key at all "each is stored once" is true, and tells nobody anything.
        if with_key == 0 && self.stopped_at.is_none() {
            return Err(unusable(&entries.without_key(all)));
        }
        let told = if self.fields.offset.is_some() { Told::Acknowledgements } else { Told::Keys };
        self.join = Some(Join::new(Sorter::new(room.shares.wanted, room.space.clone()), self.listed, told));
        Ok(())
    }

    /// Takes the rows in order of their identities.
    pub(super) fn row(&mut self, row: &Row, partitions: &[PartitionView<'_>]) -> Result<(), AuditError> {
        self.join.as_mut().map_or(Ok(()), |join| join.row(row, partitions))
    }

    /// Reads the list again and tells what became of it.
    pub(super) fn end(&mut self, known: &Known<'_>) -> Result<(), AuditError> {
        let Some(join) = self.join.take() else { return Ok(()) };
        self.answer = Some(tell::tell(self, join, known)?);
        Ok(())
    }
}

fn unusable(error: &ExpectedError) -> AuditError {
    AuditError::Usage(error.to_string())
}
