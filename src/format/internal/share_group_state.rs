//! `__share_group_state`: how far share groups have acknowledged, partition by partition.
//!
//! Source: `ShareSnapshotKey`, `ShareSnapshotValue`, `ShareUpdateKey` and `ShareUpdateValue` of Kafka's
//! `share-coordinator` module, as releases 4.3 and 4.4 have them; KIP-932.

use super::coordinator::{self, CoordinatorRecord, InternalError, RecordType};
use super::schema::Kind::{Array, Int8, Int16, Int32, Int64, String as Text, Struct, Uuid};
use super::schema::{Default, Field, Message, field};

const KEY: &[Field] = &[field("groupId", Text), field("topicId", Uuid), field("partition", Int32)];
const STATE_BATCH: &[Field] = &[
    field("firstOffset", Int64),
    field("lastOffset", Int64),
    field("deliveryState", Int8),
    field("deliveryCount", Int16),
];
const COMPLETE: Field = field("deliveryCompleteCount", Int32).tagged(0, 0, Default::Number(-1));

const TYPES: &[RecordType] = &[
    of_partition(
        0,
        "ShareSnapshotValue",
        &[
            field("snapshotEpoch", Int32),
            field("stateEpoch", Int32),
            field("leaderEpoch", Int32),
            field("startOffset", Int64),
            COMPLETE,
            field("createTimestamp", Int64),
            field("writeTimestamp", Int64),
            field("stateBatches", Array(&Struct(STATE_BATCH))),
        ],
    ),
    of_partition(
        1,
        "ShareUpdateValue",
        &[
            field("snapshotEpoch", Int32),
            field("leaderEpoch", Int32),
            field("startOffset", Int64),
            COMPLETE,
            field("stateBatches", Array(&Struct(STATE_BATCH))),
        ],
    ),
];

const fn of_partition(number: i16, name: &'static str, value: &'static [Field]) -> RecordType {
    RecordType { number, key: message(name, None, KEY), value: message(name, Some(0), value) }
}

const fn message(name: &'static str, flexible_since: Option<i16>, fields: &'static [Field]) -> Message {
    Message { number: 0, name, last_version: 0, flexible_since, fields }
}

/// Reads one record field by field.
///
/// # Errors
/// [`InternalError`] when the type is unknown or the bytes do not hold it.
pub fn read<'a>(
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
) -> Result<CoordinatorRecord<'a>, InternalError> {
    coordinator::read(&[TYPES], key, value)
}
