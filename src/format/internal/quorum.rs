//! The control records of `__cluster_metadata` and of KRaft snapshots.
//!
//! Source: `ControlRecordType`, `ControlRecordUtils` and the message definitions beside them in
//! Kafka's `clients` module; KIP-595, KIP-630, KIP-853. Each value begins with its version, which is
//! also its first field.

use super::decode::decode;
use super::schema::Kind::{Array, Int16, Int32, Int64, String, Struct, Uint16, Uuid};
use super::schema::{Field, Message, field};
use super::value::Value;
use crate::format::cursor::{Cursor, FormatError};

const VOTER: &[Field] = &[field("voterId", Int32), field("voterDirectoryId", Uuid).since(1)];
const ENDPOINT: &[Field] = &[field("name", String), field("host", String), field("port", Uint16)];
const KRAFT_VERSION_FEATURE: &[Field] =
    &[field("minSupportedVersion", Int16), field("maxSupportedVersion", Int16)];
const VOTER_OF_RECORD: &[Field] = &[
    field("voterId", Int32),
    field("voterUuid", Uuid),
    field("endpoints", Array(&Struct(ENDPOINT))),
    field("kRaftVersionFeature", Struct(KRAFT_VERSION_FEATURE)),
];

/// The messages, by type of control record.
const MESSAGES: &[Message] = &[
    message(
        2,
        "LeaderChangeMessage",
        1,
        &[
            field("version", Int16),
            field("leaderId", Int32),
            field("voters", Array(&Struct(VOTER))),
            field("grantingVoters", Array(&Struct(VOTER))),
        ],
    ),
    message(
        3,
        "SnapshotHeaderRecord",
        0,
        &[field("version", Int16), field("lastContainedLogTimestamp", Int64)],
    ),
    message(4, "SnapshotFooterRecord", 0, &[field("version", Int16)]),
    message(5, "KRaftVersionRecord", 0, &[field("version", Int16), field("kRaftVersion", Int16)]),
    message(
        6,
        "VotersRecord",
        0,
        &[field("version", Int16), field("voters", Array(&Struct(VOTER_OF_RECORD)))],
    ),
];

const fn message(number: i16, name: &'static str, last_version: i16, fields: &'static [Field]) -> Message {
    Message { number, name, last_version, flexible_since: Some(0), fields }
}

/// Reads the value of a control record of this type; `None` when it is none of the quorum's.
///
/// # Errors
/// [`FormatError`] when the bytes do not hold the message.
pub fn read(control_type: i16, value: &[u8]) -> Result<Option<Value<'_>>, FormatError> {
    let Some(message) = MESSAGES.iter().find(|message| message.number == control_type) else {
        return Ok(None);
    };
    let version = Cursor::new(value).int16("version")?;
    decode(message, version, &mut Cursor::new(value)).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(control_type: i16, value: &[u8]) -> std::string::String {
        let mut out = std::string::String::new();
        read(control_type, value).unwrap().unwrap().write_json(&mut out);
        out
    }

    #[test]
    fn the_election_of_a_leader_is_read() {
        let value = [0, 0, 0, 0, 0, 10, 2, 0, 0, 0, 10, 0, 2, 0, 0, 0, 10, 0, 0];
        assert_eq!(
            json(2, &value),
            r#"{"version":0,"leaderId":10,"voters":[{"voterId":10}],"grantingVoters":[{"voterId":10}]}"#
        );
    }

    #[test]
    fn header_and_footer_of_a_snapshot_are_read() {
        let header = [0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0];
        assert_eq!(json(3, &header), r#"{"version":0,"lastContainedLogTimestamp":7}"#);
        assert_eq!(json(4, &[0, 0, 0]), r#"{"version":0}"#);
    }

    #[test]
    fn other_types_are_not_ours() {
        assert_eq!(read(0, &[]), Ok(None));
        assert_eq!(read(99, &[]), Ok(None));
        assert!(read(2, &[0]).is_err());
    }
}
