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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Batch, BatchHeader, Decompressor};
    use crate::units::FilePosition;

    /// From Kafka's own classes: producer 1000, epoch 1, coordinator epoch 3.
    const COMMIT: &str = "00000000000000c800000042000000070288ea4bf50030000000000000018bcfe5680a0000018bcfe5680a00000000000003e80001ffffffff000000012000000008000000010c00000000000300";
    const ABORT: &str = "00000000000000c80000004200000007027cd49dbd0030000000000000018bcfe5680a0000018bcfe5680a00000000000003e80001ffffffff000000012000000008000000000c00000000000300";

    #[test]
    fn the_markers_of_kafkas_own_are_read() {
        for (hex, outcome) in [(COMMIT, Outcome::Commit), (ABORT, Outcome::Abort)] {
            let bytes: Vec<u8> = (0..hex.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                .collect();
            let (header, _) = BatchHeader::read(&bytes).unwrap();
            assert_eq!(header.crc, Batch::compute_crc(&bytes));
            assert!(header.is_control() && header.is_transactional());
            assert_eq!(header.base_sequence, None);
            let mut seen = Vec::new();
            Batch { position: FilePosition(0), bytes: &bytes, header }
                .for_each_record(&mut Decompressor::default(), |record| {
                    seen.push(ControlRecord::read(record));
                })
                .unwrap();
            assert_eq!(seen, [Ok(ControlRecord::EndTransaction { outcome, coordinator_epoch: 3 })]);
        }
    }

    fn marker<'a>(key: &'a [u8], value: &'a [u8]) -> Record<'a> {
        Record {
            offset: crate::units::Offset(0),
            timestamp: 0,
            client_timestamp: 0,
            sequence: None,
            key: Some(key),
            value: Some(value),
            headers: crate::format::record::Headers::default(),
        }
    }

    #[test]
    fn later_versions_are_read_by_their_prefix_and_short_ones_refused() {
        let commit = ControlRecord::EndTransaction { outcome: Outcome::Commit, coordinator_epoch: 9 };
        assert_eq!(ControlRecord::read(&marker(&[0, 5, 0, 1, 7], &[0, 5, 0, 0, 0, 9, 7])), Ok(commit));
        assert_eq!(ControlRecord::read(&marker(&[0, 0, 0, 2], &[])), Ok(ControlRecord::Other(2)));
        assert!(ControlRecord::read(&marker(&[0, 0, 0], &[])).is_err());
        assert!(ControlRecord::read(&marker(&[0, 0, 0, 1], &[0, 0, 0, 0, 0])).is_err());
        assert!(ControlRecord::read(&marker(&[0xff, 0, 0, 1], &[0, 0, 0, 0, 0, 0])).is_err());
    }
}
