//! What the bytes of a broker's files mean.
//!
//! Goes in: bytes, through [`ByteSource`]. Comes out: batches, records, snapshot entries,
//! checkpoint lines, and a [`Damage`] note for every byte that is none of these.
//!
//! This layer knows nothing of duplicates, opens no file, reads no clock. Lengths and counts in a
//! file are claims: nothing is allocated on their word, every loop moves forward, and no input
//! makes it panic (`indexing_slicing`, `arithmetic_side_effects` and `as_conversions` are denied
//! here).
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::as_conversions)
)]

pub mod checkpoint;
pub mod compression;
pub mod control;
pub mod cursor;
pub mod damage;
mod index_entries;
pub mod internal;
pub mod leader_epoch_checkpoint;
pub mod legacy;
pub mod limits;
pub mod meta_properties;
pub mod offset_index;
pub mod partition_metadata;
pub mod producer_snapshot;
pub mod record;
pub mod record_batch;
pub mod segment;
pub mod source;
pub mod time_index;
pub mod transaction_index;
pub mod varint;

pub use compression::{Codec, Decompressor, gzip_header_length};
pub use cursor::{Cursor, FormatError};
pub use damage::{Damage, DamageKind};
pub use limits::Limits;
pub use offset_index::{OffsetIndex, OffsetIndexEntry};
pub use producer_snapshot::{SnapshotEntry, SnapshotError};
pub use record::{Headers, Record, RecordHeader};
pub use record_batch::{Batch, BatchHeader, RecordsError, TimestampType};
pub use segment::{SegmentItem, SegmentScanner, Suspect, TailExpectation};
pub use source::ByteSource;
pub use time_index::{TimeIndex, TimeIndexEntry};
pub use transaction_index::{AbortedTransaction, TransactionIndex};
