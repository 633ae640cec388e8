//! The messages of the metadata log, as of Kafka 4.3.

use crate::format::internal::schema::Kind::{
    Array, Bool, Bytes, Float64, Int8, Int16, Int32, Int64, String, Struct, Uint16, Uuid,
};
use crate::format::internal::schema::{Default, Field, Kind, Message, field};

const IDS: Kind = Array(&Int32);
const UUIDS: Kind = Array(&Uuid);
const NAMES: Kind = Array(&String);

const ENDPOINT: &[Field] =
    &[field("name", String), field("host", String), field("port", Uint16), field("securityProtocol", Int16)];
const FEATURE: &[Field] =
    &[field("name", String), field("minSupportedVersion", Int16), field("maxSupportedVersion", Int16)];
const ENTITY: &[Field] = &[field("entityType", String), field("entityName", String).nullable(0)];

/// An optional change: null stands for "as it was".
const fn change(name: &'static str, kind: Kind, since: i16, tag: u32) -> Field {
    field(name, kind).since(since).nullable(since).tagged(tag, since, Default::Null)
}

const fn message(number: i16, name: &'static str, last_version: i16, fields: &'static [Field]) -> Message {
    Message { number, name, last_version, flexible_since: Some(0), fields }
}

/// By record type.
pub(super) const MESSAGES: &[Message] = &[
    message(
        0,
        "RegisterBrokerRecord",
        4,
        &[
            field("brokerId", Int32),
            field("isMigratingZkBroker", Bool).since(2),
            field("incarnationId", Uuid),
            field("brokerEpoch", Int64),
            field("endPoints", Array(&Struct(ENDPOINT))),
            field("features", Array(&Struct(FEATURE))),
            field("rack", String).nullable(0),
            field("fenced", Bool),
            field("inControlledShutdown", Bool).since(1),
            field("logDirs", UUIDS).since(3).tagged(0, 3, Default::Empty),
            change("cordonedLogDirs", UUIDS, 4, 1),
        ],
    ),
    message(1, "UnregisterBrokerRecord", 0, &[field("brokerId", Int32), field("brokerEpoch", Int64)]),
    message(2, "TopicRecord", 0, &[field("name", String), field("topicId", Uuid)]),
    message(
        3,
        "PartitionRecord",
        2,
        &[
            field("partitionId", Int32),
            field("topicId", Uuid),
            field("replicas", IDS),
            field("isr", IDS),
            field("removingReplicas", IDS),
            field("addingReplicas", IDS),
            field("leader", Int32),
            field("leaderRecoveryState", Int8).tagged(0, 0, Default::Empty),
            field("leaderEpoch", Int32),
            field("partitionEpoch", Int32),
            field("directories", UUIDS).since(1),
            change("eligibleLeaderReplicas", IDS, 2, 1),
            change("lastKnownElr", IDS, 2, 2),
        ],
    ),
    message(
        4,
        "ConfigRecord",
        0,
        &[
            field("resourceType", Int8),
            field("resourceName", String),
            field("name", String),
            field("value", String).nullable(0),
        ],
    ),
    message(
        5,
        "PartitionChangeRecord",
        2,
        &[
            field("partitionId", Int32),
            field("topicId", Uuid),
            change("isr", IDS, 0, 0),
            field("leader", Int32).tagged(1, 0, Default::Number(-2)),
            change("replicas", IDS, 0, 2),
            change("removingReplicas", IDS, 0, 3),
            change("addingReplicas", IDS, 0, 4),
            field("leaderRecoveryState", Int8).tagged(5, 0, Default::Number(-1)),
            change("directories", UUIDS, 1, 8),
            change("eligibleLeaderReplicas", IDS, 2, 6),
            change("lastKnownElr", IDS, 2, 7),
        ],
    ),
    message(7, "FenceBrokerRecord", 0, &[field("id", Int32), field("epoch", Int64)]),
    message(8, "UnfenceBrokerRecord", 0, &[field("id", Int32), field("epoch", Int64)]),
    message(9, "RemoveTopicRecord", 0, &[field("topicId", Uuid)]),
    message(
        10,
        "DelegationTokenRecord",
        0,
        &[
            field("owner", String),
            field("requester", String),
            field("renewers", NAMES),
            field("issueTimestamp", Int64),
            field("maxTimestamp", Int64),
            field("expirationTimestamp", Int64),
            field("tokenId", String),
        ],
    ),
    message(
        11,
        "UserScramCredentialRecord",
        0,
        &[
            field("name", String),
            field("mechanism", Int8),
            field("salt", Bytes),
            field("storedKey", Bytes),
            field("serverKey", Bytes),
            field("iterations", Int32),
        ],
    ),
    message(12, "FeatureLevelRecord", 0, &[field("name", String), field("featureLevel", Int16)]),
    message(
        14,
        "ClientQuotaRecord",
        0,
        &[
            field("entity", Array(&Struct(ENTITY))),
            field("key", String),
            field("value", Float64),
            field("remove", Bool),
        ],
    ),
    message(
        15,
        "ProducerIdsRecord",
        0,
        &[field("brokerId", Int32), field("brokerEpoch", Int64), field("nextProducerId", Int64)],
    ),
    message(
        17,
        "BrokerRegistrationChangeRecord",
        3,
        &[
            field("brokerId", Int32),
            field("brokerEpoch", Int64),
            field("fenced", Int8).tagged(0, 0, Default::Empty),
            field("inControlledShutdown", Int8).since(1).tagged(1, 1, Default::Empty),
            field("logDirs", UUIDS).since(2).tagged(2, 2, Default::Empty),
            change("cordonedLogDirs", UUIDS, 3, 3),
        ],
    ),
    message(
        18,
        "AccessControlEntryRecord",
        0,
        &[
            field("id", Uuid),
            field("resourceType", Int8),
            field("resourceName", String),
            field("patternType", Int8),
            field("principal", String),
            field("host", String),
            field("operation", Int8),
            field("permissionType", Int8),
        ],
    ),
    message(19, "RemoveAccessControlEntryRecord", 0, &[field("id", Uuid)]),
    message(20, "NoOpRecord", 0, &[]),
    message(21, "ZkMigrationStateRecord", 0, &[field("zkMigrationState", Int8)]),
    message(22, "RemoveUserScramCredentialRecord", 0, &[field("name", String), field("mechanism", Int8)]),
    message(23, "BeginTransactionRecord", 0, &[change("name", String, 0, 0)]),
    message(24, "EndTransactionRecord", 0, &[]),
    message(25, "AbortTransactionRecord", 0, &[change("reason", String, 0, 0)]),
    message(26, "RemoveDelegationTokenRecord", 0, &[field("tokenId", String)]),
    message(
        27,
        "RegisterControllerRecord",
        0,
        &[
            field("controllerId", Int32),
            field("incarnationId", Uuid),
            field("zkMigrationReady", Bool),
            field("endPoints", Array(&Struct(ENDPOINT))),
            field("features", Array(&Struct(FEATURE))),
        ],
    ),
    message(28, "ClearElrRecord", 0, &[field("topicName", String)]),
    message(29, "UnregisterControllerRecord", 0, &[field("controllerId", Int32)]),
];
