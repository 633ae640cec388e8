//! Leaders that were elected although they did not hold all that was acknowledged.
//!
//! Goes in: `PartitionRecord` and `PartitionChangeRecord`, in offset order. Comes out: one
//! [`UncleanElection`] for each election of a replica that was neither in sync nor eligible.
//!
//! A controller elects a replica in sync, or one of the eligible leader replicas, which hold what was
//! acknowledged as well (KIP-966). Where it may take any other one (`unclean.leader.election.enable`, or
//! the last known leader), the change makes the new leader the only replica in sync and sets the recovery
//! state (KIP-704, from 3.2 on; before, the narrowed list alone tells). A leader epoch rises with each
//! change that names a leader.
//!
//! Source: `PartitionChangeBuilder.electLeader`, `triggerLeaderEpochBumpForIsrShrinkIfNeeded`,
//! `PartitionRegistration.merge`.

use super::super::value::Value;
use super::TopicId;
use crate::units::{LeaderEpoch, Offset, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// `LeaderRecoveryState.RECOVERING`.
const RECOVERING: i64 = 1;
/// `PartitionChangeRecord.leader` where the leader stays.
const NO_CHANGE: i64 = -2;
/// Elections that are kept for one partition, the newest.
const MAX_ELECTIONS: usize = 100;

/// The election of a replica that was neither in sync nor an eligible leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncleanElection {
    /// The broker that was elected.
    pub leader: i32,
    /// The leader epoch that began with it, where the records tell it.
    pub leader_epoch: Option<LeaderEpoch>,
    /// The replicas that held all that was acknowledged: those in sync before, and the eligible ones.
    pub holders: Vec<i32>,
    /// The record that says so.
    pub offset: Offset,
    /// The controller's clock.
    pub timestamp: Option<Timestamp>,
}

/// Where a partition is at a record of the metadata log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Registration {
    leader_epoch: Option<i32>,
    in_sync: BTreeSet<i64>,
    eligible: BTreeSet<i64>,
}

/// Follows the leaders of all partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Elections {
    registered: BTreeMap<(TopicId, i32), Registration>,
    unclean: BTreeMap<(TopicId, i32), Vec<UncleanElection>>,
}

impl Elections {
    /// Takes a `PartitionRecord`: all that holds from here on.
    pub(super) fn register(&mut self, data: &Value<'_>) {
        let Some(at) = partition(data) else { return };
        let registration = Registration {
            leader_epoch: data.small("leaderEpoch"),
            in_sync: data.numbers("isr").collect(),
            eligible: data.numbers("eligibleLeaderReplicas").collect(),
        };
        self.registered.insert(at, registration);
    }

    /// Takes a `PartitionChangeRecord`: what is null stays.
    pub(super) fn change(&mut self, offset: Offset, timestamp: i64, data: &Value<'_>) {
        let Some(at) = partition(data) else { return };
        let known = self.registered.get(&at).cloned();
        let mut now = known.clone().unwrap_or_default();
        let has = |name: &str| matches!(data.get(name), Some(Value::Array(_)));
        if has("isr") {
            now.in_sync = data.numbers("isr").collect();
        }
        if has("eligibleLeaderReplicas") {
            now.eligible = data.numbers("eligibleLeaderReplicas").collect();
        }
        let named = data.number("leader").filter(|&leader| leader != NO_CHANGE);
        if named.is_some() {
            now.leader_epoch = now.leader_epoch.and_then(|epoch| epoch.checked_add(1));
        }
        if let Some(leader) = named.filter(|&leader| leader >= 0) {
            let begins_recovery = data.number("leaderRecoveryState") == Some(RECOVERING);
            let alone = has("isr") && now.in_sync.iter().eq([&leader]);
            let held_all = known
                .as_ref()
                .map(|known| known.in_sync.contains(&leader) || known.eligible.contains(&leader));
            // Without what was before, only the recovery state tells.
            let is_unclean = match held_all {
                Some(true) => false,
                Some(false) => begins_recovery || alone,
                None => begins_recovery,
            };
            if is_unclean {
                let list = self.unclean.entry(at).or_default();
                if list.len() == MAX_ELECTIONS {
                    list.remove(0);
                }
                let ids: BTreeSet<i64> =
                    known.iter().flat_map(|known| known.in_sync.union(&known.eligible)).copied().collect();
                list.push(UncleanElection {
                    leader: i32::try_from(leader).unwrap_or(-1),
                    leader_epoch: now.leader_epoch.map(LeaderEpoch),
                    holders: ids.into_iter().filter_map(|id| i32::try_from(id).ok()).collect(),
                    offset,
                    timestamp: Timestamp::from_disk(timestamp),
                });
            }
        }
        self.registered.insert(at, now);
    }

    /// Those of a partition, in the order in which they were.
    pub(super) fn of(&self, topic: TopicId, partition: i32) -> &[UncleanElection] {
        self.unclean.get(&(topic, partition)).map_or(&[], Vec::as_slice)
    }
}

fn partition(data: &Value<'_>) -> Option<(TopicId, i32)> {
    Some((data.uuid("topicId")?, data.small("partitionId")?))
}

#[cfg(test)]
mod tests {
    use super::super::ClusterMetadata;
    use super::*;

    const TOPIC: TopicId = [7; 16];

    fn ids(bytes: &mut Vec<u8>, ids: &[i32]) {
        bytes.push(u8::try_from(ids.len() + 1).unwrap());
        for id in ids {
            bytes.extend(id.to_be_bytes());
        }
    }

    fn registered(in_sync: &[i32], leader: i32, leader_epoch: i32) -> Vec<u8> {
        let mut bytes = vec![1, 3, 0];
        bytes.extend(0_i32.to_be_bytes());
        bytes.extend(TOPIC);
        ids(&mut bytes, &[2, 3]);
        ids(&mut bytes, in_sync);
        bytes.extend([1, 1]);
        bytes.extend(leader.to_be_bytes());
        bytes.extend(leader_epoch.to_be_bytes());
        bytes.extend(0_i32.to_be_bytes());
        bytes.push(0);
        bytes
    }

    /// A change with the given tagged fields: number and bytes.
    fn changed(fields: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = vec![1, 5, 2];
        bytes.extend(0_i32.to_be_bytes());
        bytes.extend(TOPIC);
        bytes.push(u8::try_from(fields.len()).unwrap());
        for (tag, value) in fields {
            bytes.extend([*tag, u8::try_from(value.len()).unwrap()]);
            bytes.extend(value);
        }
        bytes
    }

    fn in_sync(list: &[i32]) -> (u8, Vec<u8>) {
        let mut bytes = Vec::new();
        ids(&mut bytes, list);
        (0, bytes)
    }

    fn eligible(list: &[i32]) -> (u8, Vec<u8>) {
        (6, in_sync(list).1)
    }

    fn leader(id: i32) -> (u8, Vec<u8>) {
        (1, id.to_be_bytes().to_vec())
    }

    fn recovering() -> (u8, Vec<u8>) {
        (5, vec![1])
    }

    fn told(records: &[Vec<u8>]) -> Vec<(i32, Option<i32>, Vec<i32>)> {
        let mut metadata = ClusterMetadata::default();
        for (record, offset) in records.iter().zip(0..) {
            metadata.fold(Offset(offset), 7, Some(record)).unwrap();
        }
        let list = metadata.unclean_elections(TOPIC, 0).iter();
        list.map(|one| (one.leader, one.leader_epoch.map(|epoch| epoch.0), one.holders.clone())).collect()
    }

    #[test]
    fn a_leader_from_outside_the_replicas_in_sync_is_an_unclean_election() {
        let shrunk = changed(&[in_sync(&[2])]);
        let elected = changed(&[in_sync(&[3]), leader(3), recovering()]);
        let all = [registered(&[2, 3], 2, 0), shrunk, elected];
        assert_eq!(told(&all), [(3, Some(1), vec![2])]);
        // Before 3.2 nothing but the list says so.
        let old = changed(&[in_sync(&[3]), leader(3)]);
        assert_eq!(told(&[registered(&[2], 2, 4), old]), [(3, Some(5), vec![2])]);
    }

    #[test]
    fn each_change_that_names_a_leader_or_none_begins_a_leader_epoch() {
        let none = changed(&[leader(-1)]);
        let elected = changed(&[in_sync(&[3]), leader(3), recovering()]);
        assert_eq!(told(&[registered(&[2], 2, 0), none, elected]), [(3, Some(2), vec![2])]);
    }

    #[test]
    fn who_was_eligible_when_nobody_was_in_sync_any_more_held_it_all() {
        let fenced = changed(&[in_sync(&[]), leader(-1), eligible(&[2])]);
        let elected = changed(&[in_sync(&[3]), leader(3), recovering(), eligible(&[])]);
        assert_eq!(told(&[registered(&[2], 2, 0), fenced, elected]), [(3, Some(2), vec![2])]);
    }

    #[test]
    fn replicas_in_sync_and_eligible_ones_are_elected_cleanly() {
        let elected = changed(&[in_sync(&[3]), leader(3)]);
        assert_eq!(told(&[registered(&[2, 3], 2, 0), elected.clone()]), []);
        let left = changed(&[in_sync(&[]), leader(-1), eligible(&[3])]);
        assert_eq!(told(&[registered(&[3], 3, 0), left, elected]), []);
        // The recovery of an election before goes on under the next leader in sync.
        let both = [registered(&[2, 3], 2, 0), changed(&[in_sync(&[3]), leader(3), recovering()])];
        assert_eq!(told(&both), []);
    }

    #[test]
    fn a_log_that_does_not_hold_the_state_before_is_believed_about_recovery_alone() {
        assert_eq!(told(&[changed(&[in_sync(&[3]), leader(3)])]), []);
        let elected = changed(&[in_sync(&[3]), leader(3), recovering()]);
        assert_eq!(told(&[elected]), [(3, None, vec![])]);
    }
}
