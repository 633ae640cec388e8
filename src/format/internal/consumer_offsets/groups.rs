//! What `__consumer_offsets` holds of share groups and streams groups.
//!
//! Source: the `ShareGroup…` and `StreamsGroup…` messages of Kafka's `group-coordinator` module, as
//! releases 4.3 and 4.4 have them; KIP-932, KIP-1071. Share groups of 4.0, an early access, wrote type 9,
//! which no later release knows, and types 11 and 15 with other fields under the same version. Type 18
//! is in no release.

use super::super::coordinator::RecordType;
use super::super::schema::Kind::{
    self, Array, Int8, Int16, Int32, Int64, String as Text, Struct, Uint16, Uuid,
};
use super::super::schema::{Default, Field, field};
use super::{GROUP_ID, MEMBER_ID, TOPIC_METADATA, of_group};

const PARTITIONS_OF_TOPIC: &[Field] = &[field("topicId", Uuid), field("partitions", Array(&Int32))];
const NAMED_PARTITIONS: &[Field] =
    &[field("topicId", Uuid), field("topicName", Text), field("partitions", Array(&Int32))];
const NAMED_TOPIC: &[Field] = &[field("topicId", Uuid), field("topicName", Text)];
const PAIR: &[Field] = &[field("key", Text), field("value", Text)];
const ENDPOINT: &[Field] = &[field("host", Text), field("port", Uint16)];
const TASKS: &[Field] = &[field("subtopologyId", Text), field("partitions", Array(&Int32))];
const TARGET: Kind = Array(&Struct(TASKS));
const TASKS_SINCE: &[Field] = &[
    field("subtopologyId", Text),
    field("partitions", Array(&Int32)),
    field("assignmentEpochs", Array(&Int32)).nullable(0).tagged(0, 0, Default::Null),
];
const CURRENT: Kind = Array(&Struct(TASKS_SINCE));
const INNER_TOPIC: &[Field] = &[
    field("name", Text),
    field("partitions", Int32),
    field("replicationFactor", Int16),
    field("topicConfigs", Array(&Struct(PAIR))),
];
const COPARTITION_GROUP: &[Field] = &[
    field("sourceTopics", Array(&Int16)),
    field("sourceTopicRegex", Array(&Int16)),
    field("repartitionSourceTopics", Array(&Int16)),
];
const SUBTOPOLOGY: &[Field] = &[
    field("subtopologyId", Text),
    field("sourceTopics", Array(&Text)),
    field("sourceTopicRegex", Array(&Text)),
    field("stateChangelogTopics", Array(&Struct(INNER_TOPIC))),
    field("repartitionSinkTopics", Array(&Text)),
    field("repartitionSourceTopics", Array(&Struct(INNER_TOPIC))),
    field("copartitionGroups", Array(&Struct(COPARTITION_GROUP))),
];
/// When an assignment was made is told where it was.
pub(super) const TARGET_METADATA: &[Field] =
    &[field("assignmentEpoch", Int32), field("assignmentTimestamp", Int64).tagged(0, 0, Default::Empty)];

/// Types 10 to 15.
pub(super) const SHARE: &[RecordType] = &[
    of_group(
        10,
        "ShareGroupMemberMetadataValue",
        MEMBER_ID,
        &[
            field("rackId", Text).nullable(0),
            field("clientId", Text),
            field("clientHost", Text),
            field("subscribedTopicNames", Array(&Text)),
        ],
    ),
    of_group(11, "ShareGroupMetadataValue", GROUP_ID, &[field("epoch", Int32), field("metadataHash", Int64)]),
    of_group(12, "ShareGroupTargetAssignmentMetadataValue", GROUP_ID, TARGET_METADATA),
    of_group(
        13,
        "ShareGroupTargetAssignmentMemberValue",
        MEMBER_ID,
        &[field("topicPartitions", Array(&Struct(PARTITIONS_OF_TOPIC)))],
    ),
    of_group(
        14,
        "ShareGroupCurrentMemberAssignmentValue",
        MEMBER_ID,
        &[
            field("memberEpoch", Int32),
            field("previousMemberEpoch", Int32),
            field("state", Int8),
            field("assignedPartitions", Array(&Struct(PARTITIONS_OF_TOPIC))),
        ],
    ),
    of_group(
        15,
        "ShareGroupStatePartitionMetadataValue",
        GROUP_ID,
        &[
            field("initializingTopics", Array(&Struct(NAMED_PARTITIONS))),
            field("initializedTopics", Array(&Struct(NAMED_PARTITIONS))),
            field("deletingTopics", Array(&Struct(NAMED_TOPIC))),
        ],
    ),
];

/// What only 4.0 wrote.
pub(super) const EARLY_SHARE: &[RecordType] = &[
    of_group(
        9,
        "ShareGroupPartitionMetadataValue",
        GROUP_ID,
        &[field("topics", Array(&Struct(TOPIC_METADATA)))],
    ),
    of_group(11, "ShareGroupMetadataValue", GROUP_ID, &[field("epoch", Int32)]),
    of_group(
        15,
        "ShareGroupStatePartitionMetadataValue",
        GROUP_ID,
        &[
            field("initializedTopics", Array(&Struct(NAMED_PARTITIONS))),
            field("deletingTopics", Array(&Struct(NAMED_TOPIC))),
        ],
    ),
];

/// Types 17 to 23.
pub(super) const STREAMS: &[RecordType] = &[
    of_group(
        17,
        "StreamsGroupMetadataValue",
        GROUP_ID,
        &[
            field("epoch", Int32),
            field("metadataHash", Int64),
            field("validatedTopologyEpoch", Int32).tagged(0, 0, Default::Number(-1)),
            field("lastAssignmentConfigs", Array(&Struct(PAIR))).nullable(0).tagged(1, 0, Default::Empty),
            field("storedDescriptionTopologyEpoch", Int32).tagged(2, 0, Default::Number(-1)),
            field("failedDescriptionTopologyEpoch", Int32).tagged(3, 0, Default::Number(-1)),
        ],
    ),
    of_group(
        19,
        "StreamsGroupMemberMetadataValue",
        MEMBER_ID,
        &[
            field("instanceId", Text).nullable(0),
            field("rackId", Text).nullable(0),
            field("clientId", Text),
            field("clientHost", Text),
            field("rebalanceTimeoutMs", Int32),
            field("topologyEpoch", Int32),
            field("processId", Text),
            field("userEndpoint", Struct(ENDPOINT)).nullable(0),
            field("clientTags", Array(&Struct(PAIR))),
        ],
    ),
    of_group(20, "StreamsGroupTargetAssignmentMetadataValue", GROUP_ID, TARGET_METADATA),
    of_group(
        21,
        "StreamsGroupTargetAssignmentMemberValue",
        MEMBER_ID,
        &[field("activeTasks", TARGET), field("standbyTasks", TARGET), field("warmupTasks", TARGET)],
    ),
    of_group(
        22,
        "StreamsGroupCurrentMemberAssignmentValue",
        MEMBER_ID,
        &[
            field("memberEpoch", Int32),
            field("previousMemberEpoch", Int32),
            field("state", Int8),
            field("activeTasks", CURRENT),
            field("standbyTasks", CURRENT),
            field("warmupTasks", CURRENT),
            field("activeTasksPendingRevocation", CURRENT),
            field("standbyTasksPendingRevocation", CURRENT),
            field("warmupTasksPendingRevocation", CURRENT),
        ],
    ),
    of_group(
        23,
        "StreamsGroupTopologyValue",
        GROUP_ID,
        &[field("epoch", Int32), field("subtopologies", Array(&Struct(SUBTOPOLOGY)))],
    ),
];
