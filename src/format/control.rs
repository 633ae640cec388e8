//! The one record of a control batch: a marker that a broker wrote between the data.
//!
//! ```text
//!  key    version INT16, type INT16
//!  value  version INT16, coordinatorEpoch INT32        (transaction markers)
//! ```
//!
//! Source: `ControlRecordType`, `EndTransactionMarker` in Kafka's `clients` module. Longer keys and
//! values of later versions are read by their known prefix.

use super::cursor::{Cursor, FormatError};
use super::record::Record;

/// What a control record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRecord {
    /// The transaction of this producer ends here.
    EndTransaction {
        /// Whether its records count.
        outcome: Outcome,
        /// Leader epoch of the transaction log partition that decided it.
        coordinator_epoch: i32,
    },
    /// Any other type, with its number: those of the metadata log, or one of a later release.
    Other(i16),
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its records count.
    Commit,
    /// Its records do not count for read_committed consumers.
    Abort,
}

impl ControlRecord {
    /// Reads the key and value of the record of a control batch.
    ///
    /// # Errors
    /// [`FormatError`] when key or value are shorter than their known prefix, or a version is
    /// negative.
    pub fn read(record: &Record<'_>) -> Result<Self, FormatError> {
        let mut key = Cursor::new(record.key.unwrap_or_default());
        read_version(&mut key, "control record key version")?;
        let kind = key.int16("control record type")?;
        let outcome = match kind {
            0 => Outcome::Abort,
            1 => Outcome::Commit,
            other => return Ok(Self::Other(other)),
        };
        let mut value = Cursor::new(record.value.unwrap_or_default());
        read_version(&mut value, "end transaction marker version")?;
        let coordinator_epoch = value.int32("coordinatorEpoch")?;
        Ok(Self::EndTransaction { outcome, coordinator_epoch })
    }
}

fn read_version(cursor: &mut Cursor<'_>, field: &'static str) -> Result<(), FormatError> {
    let version = cursor.int16(field)?;
    if version < 0 {
        return Err(cursor.invalid(field, format!("{version} is negative")));
    }
    Ok(())
}
