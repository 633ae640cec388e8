//! The framing of `__consumer_offsets`, `__transaction_state` and `__share_group_state`: keys begin with the type of the
//! record, values with the version of their message. A null value deletes the key.
//!
//! Source: `CoordinatorRecordSerde` in Kafka's `coordinator-common` module.

use super::decode::decode;
use super::schema::Message;
use super::value::Value;
use crate::format::cursor::{Cursor, FormatError};

/// A record of a coordinator's topic.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinatorRecord<'a> {
    /// The type, which is also the version of the key.
    pub record_type: i16,
    /// The name of the type.
    pub name: &'static str,
    /// The key's fields.
    pub key: Value<'a>,
    /// The version and fields of the value; `None` deletes the key.
    pub value: Option<(i16, Value<'a>)>,
}

/// Why a record of an internal topic is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InternalError {
    /// Another release defines it.
    #[error("record type {0} is unknown")]
    UnknownType(i16),
    /// A record of these topics always has a key.
    #[error("the record has no key")]
    MissingKey,
    /// A record of the metadata log always has a value.
    #[error("the record has no value")]
    MissingValue,
    /// The bytes do not hold the message.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// A type of record: its key and its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordType {
    /// The number in front of the key.
    pub(super) number: i16,
    /// The key's message; keys are never flexible.
    pub(super) key: Message,
    /// The value's message.
    pub(super) value: Message,
}

/// Reads a record by the tables of its topic: by the first that fits, where several have its type.
pub(super) fn read<'a>(
    types: &[&[RecordType]],
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
) -> Result<CoordinatorRecord<'a>, InternalError> {
    let mut key = Cursor::new(key.ok_or(InternalError::MissingKey)?);
    let number = key.int16("record type")?;
    let mut first_error = InternalError::UnknownType(number);
    let mut with_number = types.iter().copied().flatten().filter(|record_type| record_type.number == number);
    if let Some(record_type) = with_number.next() {
        match read_as(record_type, key.clone(), value) {
            Ok(record) => return Ok(record),
            Err(error) => first_error = error,
        }
    }
    with_number.find_map(|record_type| read_as(record_type, key.clone(), value).ok()).ok_or(first_error)
}

fn read_as<'a>(
    record_type: &RecordType,
    mut key: Cursor<'a>,
    value: Option<&'a [u8]>,
) -> Result<CoordinatorRecord<'a>, InternalError> {
    let key = decode(&record_type.key, 0, &mut key)?;
    let value = match value {
        None => None,
        Some(bytes) => {
            let mut cursor = Cursor::new(bytes);
            let version = cursor.int16("version")?;
            Some((version, decode(&record_type.value, version, &mut cursor)?))
        }
    };
    let (record_type, name) = (record_type.number, record_type.value.name);
    Ok(CoordinatorRecord { record_type, name, key, value })
}
