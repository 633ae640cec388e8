//! `<offset>.snapshot`: what a broker remembers of every producer of a partition.
//!
//! ```text
//!  at  field                    type
//!   0  version                  INT16    1
//!   2  crc                      UINT32   CRC-32C over everything behind it
//!   6  entry count              INT32
//!  10  entries, 46 bytes each:
//!       0  producerId           INT64
//!       8  epoch                INT16    can come from a marker
//!      10  lastSequence         INT32    −1 = no batch in this epoch
//!      14  lastOffset           INT64    −1 = no batch known
//!      22  offsetDelta          INT32    last minus first offset of that batch
//!      26  timestamp            INT64    what expiry is counted from
//!      34  coordinatorEpoch     INT32    −1 = no marker yet
//!      38  currentTxnFirstOffset INT64   −1 = no open transaction
//! ```
//!
//! Source: `ProducerStateManager` and `ProducerSnapshot.json` in Kafka's `storage` module. The
//! number in the file's name is exclusive: the state covers every batch below it.
//!
//! Since 2.1 a broker overwrites a snapshot without shortening it first. A file that is longer
//! than its count says, and whose checksum fits the shorter prefix, has stale bytes behind it; a
//! broker throws it away like any other bad checksum, but its entries are whole.

use super::cursor::{Cursor, FormatError};
use crate::units::{Offset, ProducerEpoch, ProducerId, Sequence};

/// The only version that ever existed.
pub const VERSION: i16 = 1;
/// `version`, `crc` and the count.
pub const HEADER_LENGTH: usize = 10;
/// Bytes of one entry.
pub const ENTRY_LENGTH: usize = 46;
/// Where the bytes begin that the checksum covers.
const CHECKSUM_FROM: usize = 6;

/// What a broker remembered of one producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch; can come from a marker.
    pub producer_epoch: Option<ProducerEpoch>,
    /// The last sequence of its last batch in this epoch.
    pub last_sequence: Option<Sequence>,
    /// The last offset of that batch.
    pub last_offset: Option<Offset>,
    /// Last offset minus first offset of that batch; negative from brokers up to 2.1 when the
    /// batch lay across the sequence wrap (KAFKA-7692).
    pub offset_delta: i32,
    /// The time that counts for expiry.
    pub timestamp: i64,
    /// Of its last marker.
    pub coordinator_epoch: Option<i32>,
    /// The first offset of its open transaction.
    pub current_txn_first_offset: Option<Offset>,
}

impl SnapshotEntry {
    /// The first sequence of the last batch, as brokers derive it.
    #[must_use]
    pub fn first_sequence(&self) -> Option<Sequence> {
        let last = self.last_sequence?;
        let distance = self.offset_delta.unsigned_abs();
        Some(if self.offset_delta < 0 { last.advance(distance) } else { last.back(distance) })
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        let producer_id = ProducerId(cursor.int64("producerId")?);
        let producer_epoch = cursor.int16("epoch")?;
        let last_sequence = cursor.int32("lastSequence")?;
        let last_offset = cursor.int64("lastOffset")?;
        let offset_delta = cursor.int32("offsetDelta")?;
        let timestamp = cursor.int64("timestamp")?;
        let coordinator_epoch = cursor.int32("coordinatorEpoch")?;
        let current_txn_first_offset = cursor.int64("currentTxnFirstOffset")?;
        Ok(Self {
            producer_id,
            producer_epoch: (producer_epoch >= 0).then_some(ProducerEpoch(producer_epoch)),
            last_sequence: Sequence::new(last_sequence),
            last_offset: (last_offset >= 0).then_some(Offset(last_offset)),
            offset_delta,
            timestamp,
            coordinator_epoch: (coordinator_epoch >= 0).then_some(coordinator_epoch),
            current_txn_first_offset: (current_txn_first_offset >= 0)
                .then_some(Offset(current_txn_first_offset)),
        })
    }
}

/// Why a snapshot cannot be used as it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The file ends inside its header or an entry.
    #[error("snapshot is cut: {0}")]
    Truncated(FormatError),
    /// Not version 1.
    #[error("version {0} is unknown, snapshots have version {VERSION}")]
    UnknownVersion(i16),
    /// A negative count.
    #[error("entry count at {CHECKSUM_FROM}: {0} is negative")]
    NegativeCount(i32),
    /// The file ends before the entries that it counts.
    #[error("{count} {} need {need} bytes, file has {have}", if *count == 1 { "entry" } else { "entries" })]
    MissingEntries {
        /// Entries that the file counts.
        count: u32,
        /// Bytes that they need, with the header.
        need: u64,
        /// Bytes of the file.
        have: u64,
    },
    /// The checksum fits neither the file nor the part that the count covers.
    #[error("stored checksum {stored}, computed {computed}")]
    BadCrc {
        /// What the file says.
        stored: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// A shorter snapshot was written over a longer one; a broker rejects it.
    #[error(
        "{stale} stale bytes at {position} behind {} whole entries: a shorter snapshot was written over a \
         longer one, and a broker rejects it",
        entries.len()
    )]
    StaleBytes {
        /// The entries in front of the stale bytes; their checksum is right.
        entries: Vec<SnapshotEntry>,
        /// Where the stale bytes begin.
        position: usize,
        /// How many there are.
        stale: usize,
    },
}

/// Reads a whole snapshot file. Entries are in the order of a hash map: compare them by producer.
///
/// # Errors
/// [`SnapshotError`], in the order in which a broker would notice: version, length, checksum.
pub fn read(bytes: &[u8]) -> Result<Vec<SnapshotEntry>, SnapshotError> {
    let mut cursor = Cursor::new(bytes);
    let version = cursor.int16("version").map_err(SnapshotError::Truncated)?;
    if version != VERSION {
        return Err(SnapshotError::UnknownVersion(version));
    }
    let stored = cursor.uint32("crc").map_err(SnapshotError::Truncated)?;
    let count = cursor.int32("entry count").map_err(SnapshotError::Truncated)?;
    let Ok(count) = u32::try_from(count) else {
        return Err(SnapshotError::NegativeCount(count));
    };
    let need = u64::from(count).saturating_mul(46).saturating_add(10);
    let have = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if need > have {
        return Err(SnapshotError::MissingEntries { count, need, have });
    }
    let covered = usize::try_from(need).unwrap_or(usize::MAX);
    let computed = checksum(bytes);
    let stale = bytes.len().saturating_sub(covered);
    if stored != computed {
        let prefix = bytes.get(..covered).unwrap_or_default();
        if stale == 0 || checksum(prefix) != stored {
            return Err(SnapshotError::BadCrc { stored, computed });
        }
        let entries = read_entries(prefix)?;
        return Err(SnapshotError::StaleBytes { entries, position: covered, stale });
    }
    read_entries(bytes.get(..covered).unwrap_or_default())
}

fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes.get(CHECKSUM_FROM..).unwrap_or_default())
}

/// Reads the entries of `bytes`, which end where the last entry ends.
fn read_entries(bytes: &[u8]) -> Result<Vec<SnapshotEntry>, SnapshotError> {
    let entries = bytes.get(HEADER_LENGTH..).unwrap_or_default();
    entries
        .chunks_exact(ENTRY_LENGTH)
        .map(|entry| SnapshotEntry::read(&mut Cursor::new(entry)))
        .collect::<Result<_, _>>()
        .map_err(SnapshotError::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_PRODUCER: &str = "00014c9aa3330000000100000000000003e80000000000060000000000000065000000010000018bcfe56805ffffffffffffffffffffffff";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn a_snapshot_of_kafkas_own_is_read_field_by_field() {
        let entries = read(&bytes(ONE_PRODUCER)).unwrap();
        assert_eq!(
            entries,
            [SnapshotEntry {
                producer_id: ProducerId(1000),
                producer_epoch: Some(ProducerEpoch(0)),
                last_sequence: Sequence::new(6),
                last_offset: Some(Offset(101)),
                offset_delta: 1,
                timestamp: 1_700_000_000_005,
                coordinator_epoch: None,
                current_txn_first_offset: None,
            }]
        );
        assert_eq!(entries[0].first_sequence(), Sequence::new(5));
    }

    #[test]
    fn an_empty_snapshot_has_ten_bytes() {
        assert_eq!(read(&bytes("000148674bc700000000")), Ok(vec![]));
    }

    #[test]
    fn the_first_sequence_goes_back_across_the_wrap() {
        let mut entry = read(&bytes(ONE_PRODUCER)).unwrap()[0];
        entry.last_sequence = Some(Sequence::FIRST);
        assert_eq!(entry.first_sequence(), Some(Sequence::LAST));
    }

    #[test]
    fn an_unknown_version_is_named() {
        let mut file = bytes(ONE_PRODUCER);
        file[1] = 2;
        assert_eq!(read(&file), Err(SnapshotError::UnknownVersion(2)));
    }

    #[test]
    fn a_short_file_says_what_it_needs() {
        let file = bytes(ONE_PRODUCER);
        assert_eq!(read(&file[..30]), Err(SnapshotError::MissingEntries { count: 1, need: 56, have: 30 }));
        assert!(matches!(read(&file[..4]), Err(SnapshotError::Truncated(_))));
        assert!(matches!(read(&[]), Err(SnapshotError::Truncated(_))));
    }

    #[test]
    fn a_count_that_the_file_cannot_hold_allocates_nothing() {
        let mut file = bytes(ONE_PRODUCER);
        file[6..10].copy_from_slice(&i32::MAX.to_be_bytes());
        let need = u64::from(i32::MAX.unsigned_abs()) * 46 + 10;
        assert_eq!(
            read(&file),
            Err(SnapshotError::MissingEntries { count: i32::MAX.unsigned_abs(), need, have: 56 })
        );
        file[6..10].copy_from_slice(&(-1i32).to_be_bytes());
        assert_eq!(read(&file), Err(SnapshotError::NegativeCount(-1)));
    }

    #[test]
    fn a_flipped_bit_gives_both_checksums() {
        let mut file = bytes(ONE_PRODUCER);
        file[20] ^= 1;
        let Err(SnapshotError::BadCrc { stored, computed }) = read(&file) else { panic!() };
        assert_eq!(stored, 0x4c9a_a333);
        assert_ne!(computed, stored);
    }

    #[test]
    fn stale_bytes_behind_a_whole_prefix_are_told_from_corruption() {
        let whole = read(&bytes(ONE_PRODUCER)).unwrap();
        let mut file = bytes(ONE_PRODUCER);
        file.extend([7; 92]);
        assert_eq!(read(&file), Err(SnapshotError::StaleBytes { entries: whole, position: 56, stale: 92 }));
        assert!(read(&file).unwrap_err().to_string().starts_with("92 stale bytes at 56 behind 1 whole"));
    }
}
