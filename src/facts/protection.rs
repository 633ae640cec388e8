//! Which records carry a producer id: counts by mode, and the stretches of each.
//!
//! Only a producer id of 0 or more lets a broker tell a retry from a new write. Clients write any
//! epoch and sequence beside −1, so these say nothing. Control batches are the broker's and count
//! nowhere; formats 0 and 1 cannot carry an id and are a mode of their own. The cleaner keeps the last batch of
//! a pass without its records, so that the end of the log is kept (`MemoryRecords.filterTo`, KAFKA-17076): without
//! a producer id it says of no record that it lacks one.

use super::{Protection, ProtectionStretch};
use crate::finding::ProtectionMode;
use crate::format::BatchHeader;

/// Stretches that are kept one by one; later ones are counted.
pub(super) const MAX_STRETCHES: usize = 10_000;

/// The mode of a record batch.
pub(super) const fn mode_of(header: &BatchHeader) -> ProtectionMode {
    if header.is_legacy() {
        ProtectionMode::Legacy
    } else if !header.producer_id.is_protected() {
        ProtectionMode::None
    } else if header.is_transactional() {
        ProtectionMode::Transactional
    } else {
        ProtectionMode::Idempotent
    }
}

impl Protection {
    /// Counts one record batch.
    pub(super) fn add(&mut self, header: &BatchHeader, records: u64) {
        let mode = mode_of(header);
        if mode == ProtectionMode::None && records == 0 {
            return;
        }
        let count = match mode {
            ProtectionMode::Idempotent => &mut self.idempotent_records,
            ProtectionMode::Transactional => &mut self.transactional_records,
            ProtectionMode::None | ProtectionMode::Other(_) => &mut self.unprotected_records,
            ProtectionMode::Legacy => &mut self.legacy_records,
        };
        *count = count.saturating_add(records);
        let time = (header.max_timestamp != -1).then_some(header.max_timestamp);
        let batch = ProtectionStretch {
            mode,
            first_offset: header.base_offset,
            last_offset: header.last_offset(),
            records,
            batches: 1,
            first_timestamp: header.first_timestamp().map(|time| time.0),
            last_timestamp: time,
        };
        match self.whole.iter_mut().find(|whole| whole.mode == mode) {
            Some(whole) => whole.extend(&batch),
            None => self.whole.push(batch),
        }
        let goes_on = self.open_mode == Some(mode);
        if goes_on && self.stretches_omitted == 0 {
            if let Some(open) = self.stretches.last_mut() {
                open.extend(&batch);
            }
        } else if !goes_on && self.stretches.len() < MAX_STRETCHES {
            self.stretches.push(batch);
        } else if !goes_on {
            self.stretches_omitted = self.stretches_omitted.saturating_add(1);
        }
        self.open_mode = Some(mode);
    }
}

impl ProtectionStretch {
    fn extend(&mut self, batch: &Self) {
        self.last_offset = batch.last_offset;
        self.records = self.records.saturating_add(batch.records);
        self.batches = self.batches.saturating_add(batch.batches);
        self.first_timestamp = earliest(self.first_timestamp, batch.first_timestamp);
        self.last_timestamp = self.last_timestamp.max(batch.last_timestamp);
    }
}

/// The smaller of two times, of which either may be unknown.
pub(super) fn earliest(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
