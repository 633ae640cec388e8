//! Looks again at the records whose identity repeats and whose contents were not told apart as they
//! went by (see [`super::deferral`]).
//!
//! Goes in: the rows of one identity after the other. Those that need nothing more are handed on; of the
//! others the batches are read again, in the order of the files, and all rows of their identities are
//! handed on afterwards, with selectors. A record that is gone since, or cannot be read, keeps none: it
//! tells no contents apart.

use super::batches::BatchReader;
use super::copies::{self, Region, SecondLook};
use super::groups::Wanted;
use super::logs::Room;
use crate::candidates::{Fingerprint, Row, RowStore, Rows};
use crate::error::AuditError;
use crate::keys::Content;
use crate::spill::Sorter;

/// Rows whose contents have yet to be told apart, and those of the same identities.
pub(super) struct Untold {
    rows: RowStore,
    places: Sorter<Wanted>,
    /// The identity whose rows come in parts.
    in_parts: Option<Fingerprint>,
}

impl Untold {
    pub(super) fn new(room: &Room) -> Self {
        Self {
            rows: RowStore::new(room.shares.untold, room.space.clone()),
            places: Sorter::new(room.shares.untold.collected, room.space.clone()),
            in_parts: None,
        }
    }

    /// Keeps rows of one identity when a content of theirs has yet to be looked at; whether it did.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written.
    pub(super) fn keep(&mut self, rows: Rows<'_>) -> Result<bool, AuditError> {
        let (rows, first) = match rows {
            Rows::Alone(_) | Rows::Singles(_) | Rows::Whole([] | [_]) | Rows::Part([]) => return Ok(false),
            Rows::Whole(rows @ [first, ..]) => (rows, first),
            Rows::Part(rows @ [first, ..]) => {
                // Those without a selector stand first.
                if first.selector == Row::NO_SELECTOR {
                    self.in_parts = Some(first.identity);
                }
                (rows, first)
            }
        };
        if first.selector != Row::NO_SELECTOR && self.in_parts != Some(first.identity) {
            return Ok(false);
        }
        for row in rows {
            if row.selector == Row::NO_SELECTOR {
                self.places.push(Wanted::at(row))?;
            } else {
                self.rows.push(*row)?;
            }
        }
        Ok(true)
    }

    /// Reads what was kept again; the rows come out of the store.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written or read.
    pub(super) fn tell(self, look: &SecondLook<'_>) -> Result<RowStore, AuditError> {
        let Self { mut rows, places, .. } = self;
        let told_in = |region: &Region<'_>, reader: &mut BatchReader<'_>, content: &mut Content| {
            let mut told: Vec<Row> = region.wanted.iter().map(untold).collect();
            let Some(plan) = look.plans.get(region.partition) else { return told };
            region.walk(look, |batch, _, _| {
                // Records that cannot be read are in the coverage since the first look.
                let _ = reader.for_each_record(batch, |record| {
                    let start = told.partition_point(|row| row.offset < record.offset);
                    let here = told.iter_mut().skip(start).take_while(|row| row.offset == record.offset);
                    let mut here = here.filter(|row| row.selector == Row::NO_SELECTOR).peekable();
                    if here.peek().is_none() {
                        return;
                    }
                    // A log can hold several records with one offset.
                    let (_, identity) = look.digest_key.identity(&plan.identity, content, &plan.mask, record);
                    let Some(row) = here.find(|row| row.identity == identity) else { return };
                    row.selector = look.digest_key.selector(content, plan, record);
                });
            });
            told
        };
        copies::revisit(look, places.finish()?, told_in, |row| rows.push(row))?;
        Ok(rows)
    }
}

fn untold(wanted: &Wanted) -> Row {
    Row {
        identity: wanted.identity,
        selector: Row::NO_SELECTOR,
        partition: wanted.partition,
        offset: wanted.offset,
    }
}
