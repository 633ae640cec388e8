//! What consumer groups committed, as far as it bears on duplicates: positions that stepped back,
//! and which producer committed for which group.
//!
//! Goes in: the records of `__consumer_offsets` in offset order. A transactional commit counts when
//! its transaction is committed. Kept are the last position of each group and partition and the
//! steps back, not the history.

use crate::format::control::Outcome;
use crate::format::internal::consumer_offsets::OffsetCommit;
use crate::units::{Offset, ProducerId};
use std::collections::{BTreeMap, BTreeSet};

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
}

/// Folds commits.
#[derive(Clone, Debug, Default)]
pub struct CommitHistory {
    positions: BTreeMap<(String, String, i32), Offset>,
    rewinds: Vec<Rewind>,
    groups: BTreeMap<ProducerId, BTreeSet<String>>,
    pending: BTreeMap<ProducerId, Vec<OffsetCommit>>,
}

impl CommitHistory {
    /// Takes a commit outside of a transaction.
    pub fn commit(&mut self, commit: OffsetCommit) {
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
            self.rewinds.push(Rewind { group, topic, partition, from, to: committed.offset, timestamp });
        }
    }

    /// Takes a commit inside a transaction of `producer_id`.
    pub fn commit_in_transaction(&mut self, producer_id: ProducerId, commit: OffsetCommit) {
        let pending = self.pending.entry(producer_id).or_default();
        if pending.len() < MAX_PENDING {
            pending.push(commit);
        }
    }

    /// Takes the end of a transaction.
    pub fn end_transaction(&mut self, producer_id: ProducerId, outcome: Outcome) {
        let pending = self.pending.remove(&producer_id).unwrap_or_default();
        if outcome == Outcome::Abort {
            return;
        }
        for commit in pending {
            self.groups.entry(producer_id).or_default().insert(commit.group.clone());
            self.commit(commit);
        }
    }

    /// The steps back, by group and in order.
    #[must_use]
    pub fn rewinds(&self) -> &[Rewind] {
        &self.rewinds
    }

    /// The groups for which a producer committed in its transactions.
    pub fn groups_of(&self, producer_id: ProducerId) -> impl Iterator<Item = &str> {
        self.groups.get(&producer_id).into_iter().flatten().map(String::as_str)
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
        history.commit(commit(16));
        history.commit(commit(8));
        history.commit(commit(12));
        assert_eq!(history.rewinds().len(), 1);
        assert_eq!((history.rewinds()[0].from, history.rewinds()[0].to), (Offset(16), Offset(8)));
    }

    #[test]
    fn commits_of_an_aborted_transaction_do_not_count() {
        let mut history = CommitHistory::default();
        history.commit(commit(8));
        history.commit_in_transaction(ProducerId(1), commit(16));
        history.end_transaction(ProducerId(1), Outcome::Abort);
        history.commit(commit(10));
        assert!(history.rewinds().is_empty());
        history.commit_in_transaction(ProducerId(1), commit(12));
        history.end_transaction(ProducerId(1), Outcome::Commit);
        assert_eq!(history.groups_of(ProducerId(1)).collect::<Vec<_>>(), ["billing"]);
    }
}
