//! `__cluster_metadata`: what the controller knows of topics, settings and producer ids.
//!
//! ```text
//!  value   unsigned varint frame version (1), unsigned varint record type,
//!          unsigned varint version, the message in flexible form
//! ```
//!
//! Source: `MetadataRecordSerde`, `AbstractApiMessageSerde` and the messages of Kafka's `metadata`
//! module; KIP-500, KIP-631. Records have no key. KRaft snapshots (`.checkpoint`) hold the same.

mod elections;
mod fold;
mod messages;

use super::coordinator::InternalError;
use super::decode::decode;
use super::value::Value;
use crate::format::cursor::Cursor;

pub use elections::UncleanElection;
pub use fold::{BrokerConfig, ClusterMetadata, ProducerIdBlock, TopicId, TopicMetadata};

/// The only frame version there is.
const FRAME_VERSION: u32 = 1;

/// A record of the metadata log.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataRecord<'a> {
    /// The type.
    pub record_type: i16,
    /// The name of the type, such as `TopicRecord`.
    pub name: &'static str,
    /// The version of the message.
    pub version: i16,
    /// Its fields.
    pub data: Value<'a>,
}

/// Reads the value of one record.
///
/// # Errors
/// [`InternalError`] when the type is unknown or the bytes do not hold it, and nothing else.
pub fn read(value: Option<&[u8]>) -> Result<MetadataRecord<'_>, InternalError> {
    let mut cursor = Cursor::new(value.ok_or(InternalError::MissingValue)?);
    let frame = cursor.unsigned_varint("frame version")?;
    if frame != FRAME_VERSION {
        return Err(cursor.invalid("frame version", format!("{frame} is unknown")).into());
    }
    let number = cursor.unsigned_varint("record type")?;
    let version = cursor.unsigned_varint("version")?;
    let number = i16::try_from(number).unwrap_or(i16::MAX);
    let version = i16::try_from(version).unwrap_or(i16::MAX);
    let Some(message) = messages::MESSAGES.iter().find(|message| message.number == number) else {
        return Err(InternalError::UnknownType(number));
    };
    let data = decode(message, version, &mut cursor)?;
    if cursor.left() != 0 {
        let left = cursor.left();
        return Err(cursor.invalid(message.name, format!("{left} bytes are left behind its fields")).into());
    }
    Ok(MetadataRecord { record_type: number, name: message.name, version, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn a_block_of_producer_ids_is_read() {
        let value = bytes("010f0000000001000000000000001900000000000007d000");
        let record = read(Some(&value)).unwrap();
        assert_eq!((record.name, record.version), ("ProducerIdsRecord", 0));
        let mut json = String::new();
        record.data.write_json(&mut json);
        assert_eq!(json, r#"{"brokerId":1,"brokerEpoch":25,"nextProducerId":2000}"#);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        assert_eq!(read(None), Err(InternalError::MissingValue));
        assert_eq!(read(Some(&[1, 99, 0])), Err(InternalError::UnknownType(99)));
        assert!(read(Some(&[2, 15, 0])).unwrap_err().to_string().contains("frame version"));
        let mut longer = bytes("010f0000000001000000000000001900000000000007d000");
        longer.push(0);
        assert!(read(Some(&longer)).unwrap_err().to_string().contains("1 bytes are left"));
    }
}
