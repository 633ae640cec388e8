//! What `compare` answers: copies of a log side by side.

use crate::finding::{BusinessKey, Copy, Event, Finding};
use crate::report::model::LeaderEpochStart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The command's own part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// Logs that were held against each other, by topic and partition of the first.
    pub pairs: Vec<Pair>,
    /// Directories that have no counterpart.
    pub unpaired: Vec<String>,
    /// How many of these hold something that was to be compared: with `--mirror`, those of the named topics, but for
    /// partitions whose records were all looked for in the other topic.
    pub unpaired_with_data: u64,
    /// Records of partitions of a mirror or its source that have no counterpart, which stand in no partition of the other topic
    /// and were not removed from one.
    pub unpaired_records_alone: u64,
    /// Pairs that were not compared, because the run was interrupted before their logs were read.
    pub uncompared: Vec<[String; 2]>,
    /// What the differences between replicas mean.
    pub findings: Vec<Finding>,
    /// What happened in these logs, within a partition in the order of offsets, and the partitions merged by time; an
    /// event that not all copies of a partition show names those that do.
    pub events: Vec<Event>,
    /// How many events are not listed; those of the least telling kinds are left out first.
    pub events_omitted: u64,
}

impl Compared {
    /// Whether nothing differs, retention and compaction aside.
    #[must_use]
    pub fn all_equal(&self) -> bool {
        self.pairs.iter().all(|pair| pair.equal) && self.unpaired_records_alone == 0
    }

    /// Whether everything that was to be compared was compared with something.
    #[must_use]
    pub fn all_compared(&self) -> bool {
        let unmatched = |pair: &Pair| {
            pair.mirror.as_ref().is_some_and(|mirror| mirror.unmatched > 0 || mirror.untold() > 0)
        };
        self.unpaired_with_data == 0
            && !self
                .pairs
                .iter()
                .any(|pair| pair.nothing_compared || unmatched(pair) || pair.unreadable() > 0)
    }
}

/// Two logs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pair {
    /// The first one.
    pub a: Side,
    /// The second one.
    pub b: Side,
    /// How their records were matched: `offset`, `key` or `content`.
    pub matched_by: String,
    /// Whether nothing differs, retention and compaction aside, as far as was compared.
    pub equal: bool,
    /// Whether nothing could be compared: no record of a mirror could be matched, or the two have no offset in
    /// common.
    pub nothing_compared: bool,
    /// Both hold the same below this offset, from the larger of their starts on; `null` for mirrors, and where
    /// nothing was compared.
    pub equal_up_to: Option<i64>,
    /// Where an interrupted run stopped comparing: nothing is said of what stands from here on; `null` where
    /// both were compared to their ends.
    pub stopped_at: Option<i64>,
    /// The first offset that differs without an innocent reason; `null` for mirrors.
    pub first_difference: Option<i64>,
    /// What only the first one holds, its tail behind the end of the other among it.
    pub only_a: Vec<Range>,
    /// What only the second one holds.
    pub only_b: Vec<Range>,
    /// Offsets at which the two hold different records, writers or leader epochs; of a mirror, offsets of the first at
    /// which records stand that are in another order in the second.
    pub different: Vec<Range>,
    /// How many stretches are not listed.
    pub ranges_omitted: u64,
    /// Whether the two differ, and in nothing but what the cleaner took.
    pub compaction_only: bool,
    /// Records that the first one lacks because the cleaner was there, and because of unreadable bytes.
    pub lacks_a: Lacks,
    /// The same of the second one.
    pub lacks_b: Lacks,
    /// The first leader epoch in which the two histories part; `null` where they agree as far as both go.
    pub leader_epochs_part_at: Option<LeaderEpochStart>,
    /// Producer snapshots that both have, and in which they differ.
    pub snapshots: Vec<SnapshotPair>,
    /// The first records of the stretches that differ.
    pub records: Vec<OneSided>,
    /// What became of the records of a mirror; `null` for replicas.
    pub mirror: Option<Mirror>,
}

impl Pair {
    /// Records that one of the two may hold in bytes that cannot be read.
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        let of_mirror = self.mirror.as_ref().map_or(0, |one| one.missing_unreadable + one.surplus_unreadable);
        of_mirror + self.lacks_a.unreadable + self.lacks_b.unreadable
    }
}

/// One of the two logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// The directory.
    pub directory: String,
    /// The topic's name.
    pub topic: String,
    /// From `partition.metadata`.
    pub topic_id: Option<String>,
    /// The partition's number.
    pub partition: i32,
    /// From `meta.properties`.
    pub broker_id: Option<i32>,
    /// Where the readable log begins.
    pub log_start_offset: i64,
    /// The offset behind the last batch.
    pub log_end_offset: i64,
    /// The checkpointed high watermark.
    pub high_watermark: Option<i64>,
    /// The checkpointed recovery point.
    pub recovery_point: Option<i64>,
    /// Where the cleaner has been, by its checkpoint.
    pub cleaned_up_to: Option<i64>,
    /// Records that are no markers.
    pub records: u64,
    /// The leader epochs: those of the checkpoint, or of the batches.
    pub leader_epochs: Vec<LeaderEpochStart>,
}

/// A stretch of offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Range {
    /// The first offset.
    pub first_offset: i64,
    /// The last offset.
    pub last_offset: i64,
    /// Records of it that are no markers.
    pub records: u64,
    /// How it differs: `missing`, `tail`, `extra`, `repeated`, `other-partition`, `aborted-in-source`, `open-in-source`, `removed` (its counterpart may have been),
    /// `partly-removed` (likewise, but of more of them than the other log can have held),
    /// `repeated-or-removed`, `other-order`, `other-newest`,
    /// `unreadable` (its counterpart may stand in bytes that cannot be read), `other-records`, `other-writer`,
    /// `other-leader-epoch`, `other-time`, `newest-value`, `tombstone`, `marker`.
    pub what: String,
    /// The smallest and the largest leader epoch of its batches.
    pub leader_epochs: Option<[i32; 2]>,
    /// Who wrote it; the first producer ids.
    pub producer_ids: Vec<i64>,
}

/// Records that one log lacks for an innocent reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lacks {
    /// The cleaner was there.
    pub cleaned: u64,
    /// Bytes that cannot be read were there.
    pub unreadable: u64,
}

/// Two snapshots of one offset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotPair {
    /// The file's name, in both.
    pub file: String,
    /// Producers of which the two say something else, or that only one has.
    pub producer_ids: Vec<i64>,
    /// Why one of them cannot be read.
    pub unreadable: Option<String>,
}

/// A record that stands in a stretch that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneSided {
    /// Its key.
    pub business_key: BusinessKey,
    /// Where it stands.
    pub copy: Copy,
}

/// A mirror and its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mirror {
    /// Records of the first log with a counterpart in the second.
    pub matched: u64,
    /// Of these, records whose counterpart has another content: other headers where they were matched by content, which is
    /// record key and value; anything but the key where they were matched by one. Told, and no difference.
    pub other_content: u64,
    /// Of the matched ones, records that stand in the second before a record of the same record key that is older in the
    /// first; of those that both hold as often.
    pub other_order: u64,
    /// Records that are the newest of their record key in the first, while the newest of the second has another value; where
    /// records were removed, so that their order is not certain. Matched by content alone.
    pub other_newest: u64,
    /// Records of the first that the second does not hold.
    pub missing: u64,
    /// Of these, records that the second holds in another partition.
    pub missing_other_partition: u64,
    /// Whether the two topics were given with other partitions: then each record may stand in any of them, and what
    /// `missingOtherPartition` and `otherPartitionMoved` count is no difference.
    pub repartitioned: bool,
    /// Of the missing ones, the records of aborted or open transactions, which a mirror need not copy.
    pub missing_withheld: u64,
    /// Of the missing ones, records that the second may have held before retention or compaction took them; not more than
    /// it has offsets without a record.
    pub missing_removed: u64,
    /// Of the missing ones, records whose counterpart may stand where bytes of the second cannot be read.
    pub missing_unreadable: u64,
    /// Records of the second that the source does not hold at all.
    pub extra: u64,
    /// Records of the second that the source holds in another partition, and not in this one.
    pub other_partition: u64,
    /// Of these, records that stand for one of that other partition, which the mirror's partition of its number lacks.
    pub other_partition_moved: u64,
    /// Of both, records that the first may have held before retention or compaction took them; not more than it has
    /// offsets without a record.
    pub extra_removed: u64,
    /// Records of the second beyond those that the first holds of the same.
    pub repeated: u64,
    /// Of these, records of which the first may have held as many before retention or compaction, also such as it does
    /// not hold at all any more.
    pub repeated_removed: u64,
    /// Records that consumers of the second get, and that the first holds in aborted transactions, beyond those that it
    /// holds outside of these.
    pub shown_aborted: u64,
    /// Of these, records that the first may have held outside of them before retention or compaction.
    pub shown_aborted_removed: u64,
    /// The same of transactions without an end: whether consumers of the first will get them is not decided.
    pub shown_open: u64,
    /// Of the extra and repeated ones and those of another partition, the records of aborted or open transactions of the mirror itself.
    pub surplus_withheld: u64,
    /// Of the same and of those that are aborted in the first, records whose counterpart may stand where bytes of the first
    /// cannot be read.
    pub surplus_unreadable: u64,
    /// Of all that may have been removed, records that are the newest of their key, so that a cleaner would have
    /// kept them, where not all could be read or followed that would prove it; and records with a later one of their key
    /// that would stand where the other log has offsets without a batch, and nothing else shows that a cleaner was there.
    pub removed_unsure: u64,
    /// Records without key, or that could not be decoded: not matched.
    pub unmatched: u64,
    /// Which offsets of the second stand for which of the first.
    pub mapping: Vec<Mapped>,
    /// How many more stretches there are.
    pub mapping_omitted: u64,
}

impl Mirror {
    /// Records of which cannot be told whether they are a difference.
    #[must_use]
    pub const fn untold(&self) -> u64 {
        self.missing_unreadable
            + self.surplus_unreadable
            + self.removed_unsure
            + self.repeated_removed
            + self.shown_aborted_removed
            + self.shown_open
    }
}

/// Offsets that run side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mapped {
    /// The first offset in the first log.
    pub first_a: i64,
    /// The last one.
    pub last_a: i64,
    /// The offset in the second log for the first one; the others follow at the same distance.
    pub first_b: i64,
    /// Records.
    pub records: u64,
}
