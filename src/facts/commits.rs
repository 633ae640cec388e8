//! What consumer groups committed, as far as it bears on duplicates: positions that stepped back,
//! and which producer committed for which group.
//!
//! Goes in: the records of `__consumer_offsets` in offset order. A transactional commit counts when
//! its transaction is committed. Kept are the last position of each group and partition and the
//! steps back, not the history.

use crate::format::control::Outcome;
use crate::format::internal::consumer_offsets::OffsetCommit;
use crate::units::{Offset, ProducerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Steps back that are kept; a group that is reset all the time says no more with the next one.
const MAX_REWINDS: usize = 10_000;
/// Commits of one open transaction that are kept.
const MAX_PENDING: usize = 100_000;

/// A group's position stepped back: what lies between was read again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rewind {
    /// The group.
    pub group: String,
    /// The topic that it reads.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The position before.
    pub from: Offset,
    /// The position after.
    pub to: Offset,
    /// When, by the coordinator's clock.
    pub timestamp: Option<i64>,
    /// The commit's own offset in the partition of `__consumer_offsets` that has the group.
    pub at_offset: Offset,
}

/// Commits of one producer for one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCommits {
    /// The group.
    pub group: String,
    /// The offset of the first commit in the partition of `__consumer_offsets` that has the group.
    pub first_offset: Offset,
    /// The offset of the last one.
    pub last_offset: Offset,
}

/// Folds commits.
#[derive(Clone, Debug, Default)]
pub struct CommitHistory {
    positions: BTreeMap<(String, String, i32), Offset>,
    rewinds: Vec<Rewind>,
    groups: BTreeMap<ProducerId, BTreeMap<String, (Offset, Offset)>>,
    pending: BTreeMap<ProducerId, Vec<(Offset, OffsetCommit)>>,
}

impl CommitHistory {
    /// Takes a commit outside of a transaction; `at` is its own offset.
    pub fn commit(&mut self, at: Offset, commit: OffsetCommit) {
        let key = (commit.group, commit.topic, commit.partition);
        let Some(committed) = commit.committed else {
            self.positions.remove(&key);
            return;
        };
        let before = self.positions.insert(key.clone(), committed.offset);
        if let Some(from) = before
            && committed.offset < from
            && self.rewinds.len() < MAX_REWINDS
        {
            let (group, topic, partition) = key;
            let timestamp = committed.commit_timestamp.map(|time| time.0);
            let to = committed.offset;
            self.rewinds.push(Rewind { group, topic, partition, from, to, timestamp, at_offset: at });
        }
    }

    /// Takes a commit inside a transaction of `producer_id`.
    pub fn commit_in_transaction(&mut self, producer_id: ProducerId, at: Offset, commit: OffsetCommit) {
        let pending = self.pending.entry(producer_id).or_default();
        if pending.len() < MAX_PENDING {
            pending.push((at, commit));
        }
    }

    /// Takes the end of a transaction.
    pub fn end_transaction(&mut self, producer_id: ProducerId, outcome: Outcome) {
        let pending = self.pending.remove(&producer_id).unwrap_or_default();
        if outcome == Outcome::Abort {
            return;
        }
        for (at, commit) in pending {
            let groups = self.groups.entry(producer_id).or_default();
            groups.entry(commit.group.clone()).or_insert((at, at)).1 = at;
            self.commit(at, commit);
        }
    }

    /// The steps back, by group and in order.
    #[must_use]
    pub fn rewinds(&self) -> &[Rewind] {
        &self.rewinds
    }

    /// The groups for which a producer committed in its transactions.
    pub fn groups_of(&self, producer_id: ProducerId) -> impl Iterator<Item = GroupCommits> {
        self.groups.get(&producer_id).into_iter().flatten().map(|(group, &(first_offset, last_offset))| {
            GroupCommits { group: group.clone(), first_offset, last_offset }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::internal::consumer_offsets::CommittedOffset;
    use crate::units::Timestamp;

    fn commit(offset: i64) -> OffsetCommit {
        OffsetCommit {
            group: "billing".to_owned(),
            topic: "orders".to_owned(),
            partition: 0,
            committed: Some(CommittedOffset {
                offset: Offset(offset),
                leader_epoch: None,
                metadata: String::new(),
                commit_timestamp: Some(Timestamp(5)),
                expire_timestamp: None,
            }),
        }
    }

    #[test]
    fn a_position_that_steps_back_is_a_rewind() {
        let mut history = CommitHistory::default();
        history.commit(Offset(1), commit(16));
        history.commit(Offset(2), commit(8));
        history.commit(Offset(3), commit(12));
        assert_eq!(history.rewinds().len(), 1);
        assert_eq!((history.rewinds()[0].from, history.rewinds()[0].to), (Offset(16), Offset(8)));
    }

    #[test]
    fn commits_of_an_aborted_transaction_do_not_count() {
        let mut history = CommitHistory::default();
        history.commit(Offset(1), commit(8));
        history.commit_in_transaction(ProducerId(1), Offset(2), commit(16));
        history.end_transaction(ProducerId(1), Outcome::Abort);
        history.commit(Offset(4), commit(10));
        assert!(history.rewinds().is_empty());
        history.commit_in_transaction(ProducerId(1), Offset(5), commit(12));
        history.end_transaction(ProducerId(1), Outcome::Commit);
        let groups: Vec<_> =
            history.groups_of(ProducerId(1)).map(|commits| (commits.group, commits.first_offset)).collect();
        assert_eq!(groups, [("billing".to_owned(), Offset(5))]);
    }
}
