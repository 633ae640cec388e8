//! The records of a batch as what a comparison needs of them.

use super::log::Held;
use crate::format::control::{ControlRecord, Outcome};
use crate::format::{Batch, Decompressor, Record, TimestampType};
use crate::units::Offset;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) offset: Offset,
    /// Over client time, key, value and headers; without the time where the broker stamped its own, for the
    /// cleaner puts that in its place. Not keyed: who can write to both logs can at most make two of his own
    /// records look equal.
    pub(super) digest: u128,
    pub(super) kind: MarkKind,
}

/// What the cleaner would look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkKind {
    /// No key: a compacted topic drops it.
    WithoutKey,
    /// A value for a key.
    Value(u64),
    /// A null for a key.
    Tombstone(u64),
    /// The end of a transaction, or another record of the broker.
    Control,
}

/// The records of a batch from `from` on; `None` when they cannot be read.
pub(super) fn of(held: &Held, from: Offset, decompressor: &mut Decompressor) -> Option<Vec<Mark>> {
    let batch = Batch { position: held.position, bytes: &held.bytes, header: held.header.clone() };
    let control = held.header.is_control();
    let stamped = held.header.timestamp_type() == TimestampType::LogAppendTime;
    let hashed = if stamped { content } else { digest };
    let mut marks = Vec::new();
    batch
        .for_each_record(decompressor, |record| {
            if record.offset >= from && record.offset <= held.header.last_offset() {
                marks.push(Mark {
                    offset: record.offset,
                    digest: hashed(record),
                    kind: kind(record, control),
                });
            }
        })
        .ok()?;
    marks.sort_by_key(|mark: &Mark| mark.offset);
    marks.dedup_by_key(|mark| mark.offset);
    Some(marks)
}

/// How the marker in a control batch ends its transaction.
pub(super) fn ends_with(held: &Held, decompressor: &mut Decompressor) -> Option<Outcome> {
    let batch = Batch { position: held.position, bytes: &held.bytes, header: held.header.clone() };
    let mut ends = None;
    batch
        .for_each_record(decompressor, |record| {
            if let Ok(ControlRecord::EndTransaction { outcome, .. }) = ControlRecord::read(record) {
                ends = Some(outcome);
            }
        })
        .ok()?;
    ends
}

fn kind(record: &Record<'_>, control: bool) -> MarkKind {
    match (control, record.key, record.value) {
        (true, _, _) => MarkKind::Control,
        (false, None, _) => MarkKind::WithoutKey,
        (false, Some(key), Some(_)) => MarkKind::Value(xxh3_64(key)),
        (false, Some(key), None) => MarkKind::Tombstone(xxh3_64(key)),
    }
}

/// Over client time, key, value and headers.
pub(super) fn digest(record: &Record<'_>) -> u128 {
    hashed(record, Some(record.client_timestamp))
}

/// Over key, value and headers.
pub(super) fn content(record: &Record<'_>) -> u128 {
    hashed(record, None)
}

fn hashed(record: &Record<'_>, time: Option<i64>) -> u128 {
    let mut hash = Xxh3Default::new();
    if let Some(time) = time {
        hash.update(&time.to_le_bytes());
    }
    for field in [record.key, record.value] {
        // The length keeps fields apart, and null from empty.
        let length = field.and_then(|bytes| i64::try_from(bytes.len()).ok()).unwrap_or(-1);
        hash.update(&length.to_le_bytes());
        hash.update(field.unwrap_or_default());
    }
    hash.update(record.headers.as_bytes());
    hash.digest128()
}
