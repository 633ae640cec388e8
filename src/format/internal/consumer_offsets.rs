//! `__consumer_offsets`: what groups committed, and who was in them.
//!
//! Source: `OffsetCommitKey`, `OffsetCommitValue`, `GroupMetadataValue` and the `ConsumerGroup…`
//! messages of Kafka's `group-coordinator` module; KIP-848, KIP-915.

mod groups;

use super::coordinator::{self, CoordinatorRecord, InternalError, RecordType};
use super::decode::decode;
use super::schema::Kind::{self, Array, Bytes, Int8, Int32, Int64, String as Text, Struct, Uuid};
use super::schema::{Default, Field, Message, field};
use super::value::Value;
use crate::format::cursor::Cursor;
use crate::units::{LeaderEpoch, Offset, Timestamp};

const COMMIT_KEY: &[Field] = &[field("group", Text), field("topic", Text), field("partition", Int32)];
const COMMIT_VALUE: &[Field] = &[
    field("offset", Int64),
    field("leaderEpoch", Int32).since(3),
    field("metadata", Text),
    field("commitTimestamp", Int64),
    field("expireTimestamp", Int64).since(1).until(1),
    field("topicId", Uuid).since(4).tagged(0, 4, Default::Empty),
];
const MEMBER: &[Field] = &[
    field("memberId", Text),
    field("groupInstanceId", Text).since(3).nullable(3),
    field("clientId", Text),
    field("clientHost", Text),
    field("rebalanceTimeout", Int32).since(1),
    field("sessionTimeout", Int32),
    field("subscription", Bytes),
    field("assignment", Bytes),
];
const GROUP_VALUE: &[Field] = &[
    field("protocolType", Text),
    field("generation", Int32),
    field("protocol", Text).nullable(0),
    field("leader", Text).nullable(0),
    field("currentStateTimestamp", Int64).since(2),
    field("members", Array(&Struct(MEMBER))),
];
const GROUP_ID: &[Field] = &[field("groupId", Text)];
const MEMBER_ID: &[Field] = &[field("groupId", Text), field("memberId", Text)];
const RACKS: &[Field] = &[field("partition", Int32), field("racks", Array(&Text))];
const TOPIC_METADATA: &[Field] = &[
    field("topicId", Uuid),
    field("topicName", Text),
    field("numPartitions", Int32),
    field("partitionMetadata", Array(&Struct(RACKS))),
];
const CLASSIC_PROTOCOL: &[Field] = &[field("name", Text), field("metadata", Bytes)];
const CLASSIC_MEMBER: &[Field] =
    &[field("sessionTimeoutMs", Int32), field("supportedProtocols", Array(&Struct(CLASSIC_PROTOCOL)))];
const MEMBER_VALUE: &[Field] = &[
    field("instanceId", Text).nullable(0),
    field("rackId", Text).nullable(0),
    field("clientId", Text),
    field("clientHost", Text),
    field("subscribedTopicNames", Array(&Text)),
    field("subscribedTopicRegex", Text).nullable(0),
    field("rebalanceTimeoutMs", Int32),
    field("serverAssignor", Text).nullable(0),
    field("classicMemberMetadata", Struct(CLASSIC_MEMBER)).nullable(0).tagged(0, 0, Default::Empty),
];
const TOPIC_PARTITIONS: &[Field] = &[
    field("topicId", Uuid),
    field("partitions", Array(&Int32)),
    field("assignmentEpochs", Array(&Int32)).nullable(0).tagged(0, 0, Default::Null),
];
const ASSIGNED: Kind = Array(&Struct(TOPIC_PARTITIONS));

/// Types 0 to 8 and 16.
const CONSUMER: &[RecordType] = &[
    commit(0),
    commit(1),
    RecordType {
        number: 2,
        key: message("GroupMetadataKey", 0, None, &[field("group", Text)]),
        value: message("GroupMetadataValue", 4, Some(4), GROUP_VALUE),
    },
    of_group(
        3,
        "ConsumerGroupMetadataValue",
        GROUP_ID,
        &[
            field("epoch", Int32),
            field("metadataHash", Int64).tagged(0, 0, Default::Empty),
            field("creationTimeMs", Int64).tagged(1, 0, Default::Number(-1)),
        ],
    ),
    of_group(
        4,
        "ConsumerGroupPartitionMetadataValue",
        GROUP_ID,
        &[field("topics", Array(&Struct(TOPIC_METADATA)))],
    ),
    of_group(5, "ConsumerGroupMemberMetadataValue", MEMBER_ID, MEMBER_VALUE),
    of_group(6, "ConsumerGroupTargetAssignmentMetadataValue", GROUP_ID, groups::TARGET_METADATA),
    of_group(7, "ConsumerGroupTargetAssignmentMemberValue", MEMBER_ID, &[field("topicPartitions", ASSIGNED)]),
    of_group(
        8,
        "ConsumerGroupCurrentMemberAssignmentValue",
        MEMBER_ID,
        &[
            field("memberEpoch", Int32),
            field("previousMemberEpoch", Int32),
            field("state", Int8),
            field("assignedPartitions", ASSIGNED),
            field("partitionsPendingRevocation", ASSIGNED),
        ],
    ),
    of_group(
        16,
        "ConsumerGroupRegularExpressionValue",
        &[field("groupId", Text), field("regularExpression", Text)],
        &[field("topics", Array(&Text)), field("version", Int64), field("timestamp", Int64)],
    ),
];

/// What Kafka 4.3 reads.
const TYPES: &[&[RecordType]] = &[CONSUMER, groups::SHARE, groups::STREAMS];
/// What any release wrote; where two tables have a type, the first that fits is right.
const TYPES_OF_ALL_RELEASES: &[&[RecordType]] =
    &[CONSUMER, groups::SHARE, groups::STREAMS, groups::EARLY_SHARE];

const fn message(
    name: &'static str,
    last_version: i16,
    flexible_since: Option<i16>,
    fields: &'static [Field],
) -> Message {
    Message { number: 0, name, last_version, flexible_since, fields }
}

const fn commit(number: i16) -> RecordType {
    RecordType {
        number,
        key: message("OffsetCommitKey", 0, None, COMMIT_KEY),
        value: message("OffsetCommitValue", 4, Some(4), COMMIT_VALUE),
    }
}

const fn of_group(
    number: i16,
    name: &'static str,
    key: &'static [Field],
    value: &'static [Field],
) -> RecordType {
    RecordType { number, key: message(name, 0, None, key), value: message(name, 0, Some(0), value) }
}

const TOPIC_OF_MEMBER: &[Field] = &[field("topic", Text), field("partitions", Array(&Int32))];
const SUBSCRIPTION: Message = message(
    "ConsumerProtocolSubscription",
    3,
    None,
    &[
        field("topics", Array(&Text)),
        field("userData", Bytes).nullable(0),
        field("ownedPartitions", Array(&Struct(TOPIC_OF_MEMBER))).since(1),
        field("generationId", Int32).since(2),
        field("rackId", Text).since(3).nullable(3),
    ],
);
const ASSIGNMENT: Message = message(
    "ConsumerProtocolAssignment",
    3,
    None,
    &[field("assignedPartitions", Array(&Struct(TOPIC_OF_MEMBER))), field("userData", Bytes).nullable(0)],
);

/// Whose records are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Releases {
    /// Those that Kafka 4.3 reads, as its tool does.
    OfTheTool,
    /// All.
    All,
}

/// Reads one record field by field. In groups of consumers the members' subscriptions and
/// assignments, which are bytes to the coordinator, are read as well.
///
/// # Errors
/// [`InternalError`] when the type is unknown or the bytes do not hold it.
pub fn read<'a>(
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    releases: Releases,
) -> Result<CoordinatorRecord<'a>, InternalError> {
    let types = match releases {
        Releases::OfTheTool => TYPES,
        Releases::All => TYPES_OF_ALL_RELEASES,
    };
    let mut record = coordinator::read(types, key, value)?;
    if record.record_type == 2
        && let Some((_, value)) = &mut record.value
        && value.get("protocolType") == Some(&Value::String(b"consumer"))
        && let Some(Value::Array(members)) = value.get_mut("members")
    {
        for member in members {
            open(member, "subscription", &SUBSCRIPTION);
            open(member, "assignment", &ASSIGNMENT);
        }
    }
    Ok(record)
}

/// Puts the fields of a message in the place of its bytes, when they hold one.
fn open(member: &mut Value<'_>, name: &str, message: &Message) {
    let Some(field) = member.get_mut(name) else {
        return;
    };
    let Value::Bytes(bytes) = *field else {
        return;
    };
    let mut cursor = Cursor::new(bytes);
    if let Ok(version) = cursor.int16("version")
        && let Ok(value) = decode(message, version, &mut cursor)
    {
        *field = value;
    }
}

/// What one record says of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupChange {
    /// A position was committed, or deleted.
    Commit(OffsetCommit),
    /// The group came to a generation; `None` when the group was removed.
    Generation {
        /// The group.
        group: String,
        /// What it came to.
        generation: Option<GroupGeneration>,
    },
    /// A member of the new protocol joined, or left.
    Member {
        /// The group.
        group: String,
        /// Its id.
        member: String,
        /// Whether it is in the group from here on.
        presence: Presence,
    },
}

/// Whether a member is in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Joined,
    /// It is no more.
    Left,
}

/// A generation of a classic group, or an epoch of a group of the new protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupGeneration {
    /// Its number.
    pub number: i32,
    /// How the group is coordinated.
    pub protocol: GroupProtocol,
    /// How many members it has; groups of the new protocol list theirs in records of their own.
    pub members: Option<u32>,
}

/// How a group is coordinated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupProtocol {
    /// Members rebalance among themselves.
    Classic,
    /// KIP-848: the broker assigns.
    Consumer,
}

/// A committed position, or its deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetCommit {
    /// The group.
    pub group: String,
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// What was committed; `None` deletes the position.
    pub committed: Option<CommittedOffset>,
}

/// A position of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The next record that the group reads.
    pub offset: Offset,
    /// The leader epoch of the last record that it read.
    pub leader_epoch: Option<LeaderEpoch>,
    /// What the client wrote beside it.
    pub metadata: String,
    /// When.
    pub commit_timestamp: Option<Timestamp>,
    /// Until when it is kept, where the client said so (version 1).
    pub expire_timestamp: Option<Timestamp>,
    /// The id of the topic, from version 4 on where the coordinator knew it.
    pub topic_id: Option<[u8; 16]>,
}

/// Reads one record as what it says of positions, generations and members; `None` when it is about
/// something else.
///
/// # Errors
/// [`InternalError`] when the type is unknown or the bytes do not hold it.
pub fn read_change(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<Option<GroupChange>, InternalError> {
    let record = coordinator::read(TYPES_OF_ALL_RELEASES, key, value)?;
    let text = |name: &str| record.key.text(name).unwrap_or_default();
    let value = record.value.as_ref().map(|(_, value)| value);
    Ok(match record.record_type {
        0 | 1 => Some(GroupChange::Commit(OffsetCommit {
            group: text("group"),
            topic: text("topic"),
            partition: record.key.small("partition").unwrap_or(-1),
            committed: value.map(committed),
        })),
        2 => Some(GroupChange::Generation {
            group: text("group"),
            generation: value.map(|value| GroupGeneration {
                number: value.small("generation").unwrap_or(-1),
                protocol: GroupProtocol::Classic,
                members: u32::try_from(value.elements("members").len()).ok(),
            }),
        }),
        3 => Some(GroupChange::Generation {
            group: text("groupId"),
            generation: value.map(|value| GroupGeneration {
                number: value.small("epoch").unwrap_or(-1),
                protocol: GroupProtocol::Consumer,
                members: None,
            }),
        }),
        5 => Some(GroupChange::Member {
            group: text("groupId"),
            member: text("memberId"),
            presence: if value.is_some() { Presence::Joined } else { Presence::Left },
        }),
        _ => None,
    })
}

/// Whether a record's key is one of those of share groups (KIP-932).
#[must_use]
pub fn is_of_share_group(key: &[u8]) -> bool {
    let number = key.first_chunk().map(|number| i16::from_be_bytes(*number));
    let of_share = [groups::SHARE, groups::EARLY_SHARE].into_iter().flatten();
    of_share.into_iter().any(|record_type| Some(record_type.number) == number)
}

fn committed(value: &Value<'_>) -> CommittedOffset {
    CommittedOffset {
        offset: Offset(value.number("offset").unwrap_or(-1)),
        leader_epoch: value.small("leaderEpoch").filter(|&epoch| epoch >= 0).map(LeaderEpoch),
        metadata: value.text("metadata").unwrap_or_default(),
        commit_timestamp: value.number("commitTimestamp").and_then(Timestamp::from_disk),
        expire_timestamp: value.number("expireTimestamp").and_then(Timestamp::from_disk),
        topic_id: value.uuid("topicId").filter(|id| *id != [0; 16]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "000100016700017400000002";

    fn commit(change: Option<GroupChange>) -> OffsetCommit {
        match change {
            Some(GroupChange::Commit(commit)) => commit,
            other => panic!("no commit: {other:?}"),
        }
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn every_version_of_a_commit_is_read() {
        for (value, leader_epoch) in [
            ("0000000000000000002a00016d0000018bcfe56800", None),
            ("0001000000000000002a00016d0000018bcfe56800ffffffffffffffff", None),
            ("0003000000000000002a0000000500016d0000018bcfe56800", Some(LeaderEpoch(5))),
            ("0004000000000000002a00000005026d0000018bcfe5680000", Some(LeaderEpoch(5))),
        ] {
            let commit = commit(read_change(Some(&bytes(KEY)), Some(&bytes(value))).unwrap());
            assert_eq!((commit.group.as_str(), commit.topic.as_str(), commit.partition), ("g", "t", 2));
            assert_eq!(
                commit.committed,
                Some(CommittedOffset {
                    offset: Offset(42),
                    leader_epoch,
                    metadata: "m".to_owned(),
                    commit_timestamp: Some(Timestamp(1_700_000_000_000)),
                    expire_timestamp: None,
                    topic_id: None,
                })
            );
        }
    }

    #[test]
    fn a_tombstone_deletes_the_position() {
        let commit = commit(read_change(Some(&bytes(KEY)), None).unwrap());
        assert_eq!(commit.committed, None);
    }

    #[test]
    fn the_members_of_a_consumer_group_are_opened() {
        let mut value = vec![0, 3];
        value.extend(b"\x00\x08consumer\x00\x00\x00\x01\x00\x05range\xff\xff");
        value.extend(1_700_000_000_000i64.to_be_bytes());
        value.extend(
            b"\x00\x00\x00\x01\x00\x02m1\xff\xff\x00\x02c1\x00\x02h1\x00\x00\x00\x01\x00\x00\x00\x02",
        );
        value.extend(
            b"\x00\x00\x00\x0d\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff\x00\x00\x00\x02\x00\x09",
        );
        let key = b"\x00\x02\x00\x01g";
        let record = read(Some(key), Some(&value), Releases::OfTheTool).unwrap();
        let mut json = String::new();
        record.value.unwrap().1.write_json(&mut json);
        // The assignment has a version that nobody defined and stays bytes.
        assert_eq!(
            json,
            r#"{"protocolType":"consumer","generation":1,"protocol":"range","leader":null,"currentStateTimestamp":1700000000000,"members":[{"memberId":"m1","groupInstanceId":null,"clientId":"c1","clientHost":"h1","rebalanceTimeout":1,"sessionTimeout":2,"subscription":{"topics":["t"],"userData":null},"assignment":"AAk="}]}"#
        );
        assert_eq!(
            read_change(Some(key), Some(&value)),
            Ok(Some(GroupChange::Generation {
                group: "g".to_owned(),
                generation: Some(GroupGeneration {
                    number: 1,
                    protocol: GroupProtocol::Classic,
                    members: Some(1)
                }),
            }))
        );
    }

    #[test]
    fn a_version_4_commit_names_its_topic_by_id() {
        let value = "0004000000000000002a00000005026d0000018bcfe56800010010000102030405060708090a0b0c0d0e0f";
        let commit = commit(read_change(Some(&bytes(KEY)), Some(&bytes(value))).unwrap());
        let id = commit.committed.unwrap().topic_id.unwrap();
        assert_eq!((id[0], id[15]), (0, 15));
    }

    #[test]
    fn a_member_that_says_that_it_is_of_no_classic_group_is_read() {
        // As a broker of 4.3 wrote it of a consumer with `group.protocol=consumer`.
        let key = b"\x00\x05\x00\x08newproto\x00\x16UPulLqDWTGWTWcJJz0frww";
        let value =
            b"\x00\x00\x00\x00\x14consumer-newproto-3\x0b/127.0.0.1\x02\x06bills\x01\x00\x04\x93\xe0\x00\
            \x01\x00\x01\x00";
        let change = read_change(Some(key), Some(value)).unwrap();
        assert!(matches!(change, Some(GroupChange::Member { presence: Presence::Joined, .. })), "{change:?}");
        let record = read(Some(key), Some(value), Releases::OfTheTool).unwrap();
        let mut json = String::new();
        record.value.unwrap().1.write_json(&mut json);
        assert!(json.ends_with(r#""serverAssignor":null,"classicMemberMetadata":null}"#), "{json}");

        // Of a member that speaks the classic protocol: session timeout, and its protocols.
        let (rest, tag) = value.split_at(value.len() - 3);
        assert_eq!(tag, [0, 1, 0]);
        let classic = [rest, b"\x00\x0f\x01\x00\x00\xaf\xc8\x02\x06range\x01\x00\x00"].concat();
        let record = read(Some(key), Some(&classic), Releases::OfTheTool).unwrap();
        let mut json = String::new();
        record.value.unwrap().1.write_json(&mut json);
        assert!(
            json.ends_with(
                r#""classicMemberMetadata":{"sessionTimeoutMs":45000,"supportedProtocols":[{"name":"range","metadata":""}]}}"#
            ),
            "{json}"
        );
    }

    #[test]
    fn epochs_and_members_of_the_new_protocol_are_read() {
        let generation = read_change(Some(b"\x00\x03\x00\x01g"), Some(b"\x00\x00\x00\x00\x00\x07\x00"));
        assert_eq!(
            generation,
            Ok(Some(GroupChange::Generation {
                group: "g".to_owned(),
                generation: Some(GroupGeneration {
                    number: 7,
                    protocol: GroupProtocol::Consumer,
                    members: None
                }),
            }))
        );
        let left = read_change(Some(b"\x00\x05\x00\x01g\x00\x02m1"), None);
        assert_eq!(
            left,
            Ok(Some(GroupChange::Member {
                group: "g".to_owned(),
                member: "m1".to_owned(),
                presence: Presence::Left,
            }))
        );
        assert_eq!(read_change(Some(b"\x00\x04\x00\x01g"), None), Ok(None));
    }

    #[test]
    fn records_of_share_groups_are_told_from_those_of_others() {
        let of_share: Vec<u8> = (0..24).filter(|number| is_of_share_group(&[0, *number])).collect();
        assert_eq!(of_share, (9..=15).collect::<Vec<_>>());
        assert!(!is_of_share_group(b"") && !is_of_share_group(&[10]));
    }

    #[test]
    fn types_that_no_release_defines_are_named() {
        for number in [18, 24] {
            assert_eq!(
                read(Some(&[0, number]), None, Releases::All),
                Err(InternalError::UnknownType(number.into()))
            );
        }
    }

    #[test]
    fn share_groups_of_4_0_are_read_beside_those_of_later_releases() {
        let json = |key: &[u8], value: &[u8], releases| {
            let (_, value) = read(Some(key), Some(value), releases)?.value.unwrap();
            let mut json = String::new();
            value.write_json(&mut json);
            Ok::<_, InternalError>(json)
        };
        let topics = bytes(
            "0000020102030405060708090a0b0c0d0e0f100274000000030200000000010000 00".replace(' ', "").as_str(),
        );
        assert_eq!(
            json(b"\0\x09\0\x01g", &topics, Releases::All).unwrap(),
            r#"{"topics":[{"topicId":"AQIDBAUGBwgJCgsMDQ4PEA","topicName":"t","numPartitions":3,"partitionMetadata":[{"partition":0,"racks":[]}]}]}"#
        );
        let unknown = json(b"\0\x09\0\x01g", &topics, Releases::OfTheTool);
        assert_eq!(unknown, Err(InternalError::UnknownType(9)));
        assert_eq!(
            json(b"\0\x0b\0\x01g", &bytes("00000000000700"), Releases::All).unwrap(),
            r#"{"epoch":7}"#
        );
        assert_eq!(
            json(b"\0\x0b\0\x01g", &bytes("000000000007000000000000000900"), Releases::All).unwrap(),
            r#"{"epoch":7,"metadataHash":9}"#
        );
        assert!(json(b"\0\x0b\0\x01g", &bytes("00000000000700"), Releases::OfTheTool).is_err());
    }
}
