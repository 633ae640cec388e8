//! What consumer groups committed: positions over time, steps back, generations, and which producer
//! committed for which group.
//!
//! Goes in: what the records of `__consumer_offsets` say, in offset order. A transactional commit
//! counts when its transaction is committed, unless a commit that was written behind it counts already. Kept are the position of each group and partition and
//! the steps back; the commits themselves only when they are asked for, the newest of each position.
//!
//! A position that goes back is a step back. One that was deleted and begins again below where it had
//! been is one, too, but of a kind of its own: the topic may have been made anew. Where both commits
//! name their topic by id and the ids differ, nothing was read twice.
//!
//! Source: `OffsetMetadataManager` (`completeTransaction` keeps the commit whose record is newer),
//! `GroupMetadataManager`; KIP-98 for transactional commits.

mod kept;

pub use kept::{
    Commit, GenerationStart, Group, GroupCommits, Keep, Namesakes, Position, Resumed, Rewind, RewindKind,
    Then,
};

use crate::format::control::Outcome;
use crate::format::internal::consumer_offsets::{GroupChange, GroupGeneration, OffsetCommit, Presence};
use crate::units::{ClusterNumber, Offset, ProducerId};
use std::collections::{BTreeMap, VecDeque};

/// Steps back that are kept; a group that is reset all the time says no more with the next one.
const MAX_REWINDS: usize = 10_000;
/// Positions that are kept which a later generation took up.
const MAX_RESUMED: usize = 10_000;
/// Commits of one open transaction that are kept.
const MAX_PENDING: usize = 100_000;
/// Generations of one group that are kept, where they are asked for.
const MAX_GENERATIONS: usize = 1_000;

/// A group, a topic and a partition.
pub type PositionKey = (String, String, i32);

/// Folds commits.
#[derive(Clone, Debug, Default)]
pub struct CommitHistory {
    cluster: ClusterNumber,
    keep: Keep,
    positions: BTreeMap<PositionKey, Position>,
    groups: BTreeMap<String, Group>,
    rewinds: Vec<Rewind>,
    rewinds_omitted: u64,
    resumed: VecDeque<Resumed>,
    producers: BTreeMap<ProducerId, BTreeMap<String, (Offset, Offset)>>,
    pending: BTreeMap<ProducerId, Vec<(Offset, Option<i64>, OffsetCommit)>>,
    pending_omitted: u64,
}

impl CommitHistory {
    /// An empty history of a cluster: groups and topics of one name in another are others.
    #[must_use]
    pub fn new(cluster: ClusterNumber, keep: Keep) -> Self {
        Self { cluster, keep, ..Self::default() }
    }

    /// The cluster.
    #[must_use]
    pub const fn cluster(&self) -> ClusterNumber {
        self.cluster
    }

    /// Takes what a record says; `at` is its own offset, `producer_id` is given inside a transaction.
    pub fn change(
        &mut self,
        at: Offset,
        timestamp: Option<i64>,
        producer_id: Option<ProducerId>,
        change: GroupChange,
    ) {
        match (change, producer_id) {
            (GroupChange::Commit(commit), None) => self.commit(at, timestamp, None, commit),
            (GroupChange::Commit(commit), Some(producer_id)) => {
                let pending = self.pending.entry(producer_id).or_default();
                if pending.len() < MAX_PENDING {
                    pending.push((at, timestamp, commit));
                } else {
                    self.pending_omitted += 1;
                }
            }
            (GroupChange::Generation { group, generation }, _) => {
                self.generation(at, timestamp, group, generation);
            }
            (GroupChange::Member { group, member, presence }, _) => {
                let group = self.groups.entry(group).or_default();
                match presence {
                    Presence::Joined => _ = group.members.insert(member),
                    Presence::Left => _ = group.members.remove(&member),
                }
            }
        }
    }

    fn generation(
        &mut self,
        at_offset: Offset,
        timestamp: Option<i64>,
        group: String,
        generation: Option<GroupGeneration>,
    ) {
        let group = self.groups.entry(group).or_default();
        let number = generation.map(|generation| generation.number);
        if let (Some(generation), Keep::Newest(_), true) =
            (generation, self.keep, group.generation() != number)
        {
            if group.generations.len() < MAX_GENERATIONS {
                group.generations.push(GenerationStart { generation, timestamp, at_offset });
            } else {
                group.generations_omitted += 1;
            }
        }
        group.current = generation;
        if generation.is_none() {
            group.members.clear();
        }
    }

    fn commit(
        &mut self,
        at_offset: Offset,
        written: Option<i64>,
        producer_id: Option<ProducerId>,
        commit: OffsetCommit,
    ) {
        let group = self.groups.get(&commit.group);
        let (generation, members) =
            group.map_or((None, None), |group| (group.generation(), group.member_count()));
        let OffsetCommit { group, topic, partition, committed } = commit;
        let key = (group, topic, partition);
        // A deletion says nothing but by the time of its record.
        let timestamp = match &committed {
            Some(committed) => committed.commit_timestamp.map(|time| time.0),
            None => written,
        };
        let entry = Commit {
            offset: committed.as_ref().map(|committed| committed.offset),
            timestamp,
            at_offset,
            leader_epoch: committed.as_ref().and_then(|committed| committed.leader_epoch),
            generation,
            producer_id,
        };
        let Some(committed) = committed else {
            // A deletion of what was never seen says nothing of where the group had been.
            if let Some(position) = self.positions.get_mut(&key) {
                position.before_deletion = position.last.take().or(position.before_deletion);
                position.written_at = None;
                position.keep(entry, self.keep);
            }
            return;
        };
        let to = committed.offset;
        if producer_id.is_some()
            && self.positions.get(&key).is_some_and(|position| position.written_at > Some(at_offset))
        {
            return;
        }
        let position = self.positions.entry(key.clone()).or_insert_with(|| Position {
            first: to,
            highest: to,
            last: None,
            commits: VecDeque::new(),
            count: 0,
            begun_again: 0,
            made_anew: 0,
            last_commit: None,
            written_at: None,
            leader_epoch: None,
            before_deletion: None,
            topic_id: committed.topic_id,
            open: None,
        });
        position.keep(entry, self.keep);
        position.written_at = Some(at_offset);
        let other_topic =
            position.topic_id.zip(committed.topic_id).is_some_and(|(before, now)| before != now);
        position.topic_id = committed.topic_id.or(position.topic_id);
        if other_topic {
            // The topic was made anew: its offsets mean other records.
            position.made_anew += 1;
            (position.first, position.highest, position.open) = (to, to, None);
            (position.last, position.before_deletion) = (Some(to), None);
            position.last_commit = generation.map(|generation| (timestamp, generation));
            return;
        }
        if let Some(rewind) = position.open.and_then(|at| self.rewinds.get_mut(at)) {
            if to >= rewind.from {
                position.open = None;
                (rewind.caught_up, rewind.caught_up_at) = (timestamp, Some(at_offset));
                if rewind.then == Then::Nothing {
                    rewind.then = Then::Passed(to);
                }
            } else if to > rewind.to && rewind.then == Then::Nothing {
                rewind.then = Then::WentThrough(to);
            }
        }
        let at_the_end = position.last_commit.take().zip(position.last).zip(generation);
        if let Some((((committed, earlier), last), later)) = at_the_end
            && earlier != later
            && last <= to
        {
            // The newest ones: an incident is looked into soon.
            if self.resumed.len() >= MAX_RESUMED {
                self.resumed.pop_front();
            }
            let (group, topic, partition) = key.clone();
            self.resumed.push_back(Resumed {
                cluster: self.cluster,
                group,
                topic,
                partition,
                position: last,
                committed,
                next: to,
                next_committed: timestamp,
            });
        }
        position.last_commit = generation.map(|generation| (timestamp, generation));
        let before = match (position.last, position.before_deletion) {
            (Some(last), _) => Some((last, RewindKind::SteppedBack)),
            (None, Some(deleted)) => Some((deleted, RewindKind::AfterDeletion)),
            (None, None) => None,
        };
        (position.last, position.before_deletion) = (Some(to), None);
        let leader_epoch = std::mem::replace(&mut position.leader_epoch, committed.leader_epoch);
        if before.is_some_and(|(_, kind)| kind == RewindKind::AfterDeletion) {
            // Whether its offsets mean the same records as before is not known.
            (position.first, position.highest) = (to, to);
            let is_no_step_back = before.is_some_and(|(deleted, _)| deleted <= to);
            position.begun_again += u64::from(is_no_step_back && members != Some(0));
        }
        position.first = position.first.min(to);
        position.highest = position.highest.max(to);
        let Some((from, kind)) = before.filter(|(from, _)| to < *from) else { return };
        if self.rewinds.len() >= MAX_REWINDS {
            self.rewinds_omitted += 1;
            return;
        }
        position.open = Some(self.rewinds.len());
        let topic_id = position.topic_id;
        let (group, topic, partition) = key;
        self.rewinds.push(Rewind {
            cluster: self.cluster,
            group,
            topic,
            partition,
            from,
            to,
            timestamp,
            at_offset,
            kind,
            generation,
            members,
            then: Then::Nothing,
            leader_epoch,
            topic_id,
            caught_up: None,
            caught_up_at: None,
            log_start: None,
            log_end: None,
            topic_number: None,
            namesakes: None,
        });
    }

    /// Takes the end of a transaction.
    pub fn end_transaction(&mut self, producer_id: ProducerId, outcome: Outcome) {
        let pending = self.pending.remove(&producer_id).unwrap_or_default();
        if outcome == Outcome::Abort {
            return;
        }
        for (at, written, commit) in pending {
            let groups = self.producers.entry(producer_id).or_default();
            groups.entry(commit.group.clone()).or_insert((at, at)).1 = at;
            self.commit(at, written, Some(producer_id), commit);
        }
    }

    /// The steps back in the order in which they were read.
    #[must_use]
    pub fn rewinds(&self) -> &[Rewind] {
        &self.rewinds
    }

    /// Tells each step back where the log that is here begins and ends.
    pub fn bound(&mut self, log: impl Fn(&Rewind) -> Option<(Offset, Offset)>) {
        for rewind in &mut self.rewinds {
            (rewind.log_start, rewind.log_end) = log(rewind).unzip();
        }
    }

    /// The newest positions that a later generation took up.
    pub fn resumed(&self) -> impl Iterator<Item = &Resumed> {
        self.resumed.iter()
    }

    /// How many steps back are not kept.
    #[must_use]
    pub const fn rewinds_omitted(&self) -> u64 {
        self.rewinds_omitted
    }

    /// Where each group is in each partition.
    pub fn positions(&self) -> impl Iterator<Item = (&PositionKey, &Position)> {
        self.positions.iter()
    }

    /// The groups by name.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.groups.iter().map(|(name, group)| (name.as_str(), group))
    }

    /// Commits of some groups in transactions that have no end: they do not count yet.
    #[must_use]
    pub fn uncommitted(&self, is_wanted: impl Fn(&str) -> bool) -> u64 {
        let held = self.pending.values().flatten().filter(|(.., commit)| is_wanted(&commit.group)).count();
        u64::try_from(held).unwrap_or(u64::MAX)
    }

    /// Commits that were left out because one transaction held too many.
    #[must_use]
    pub const fn pending_omitted(&self) -> u64 {
        self.pending_omitted
    }

    /// The groups for which a producer committed in its transactions.
    pub fn groups_of(&self, producer_id: ProducerId) -> impl Iterator<Item = GroupCommits> {
        self.producers.get(&producer_id).into_iter().flatten().map(|(group, &(first_offset, last_offset))| {
            GroupCommits { group: group.clone(), first_offset, last_offset }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::internal::consumer_offsets::{CommittedOffset, GroupProtocol};
    use crate::units::Timestamp;

    fn commit_of(offset: i64, topic_id: Option<[u8; 16]>) -> GroupChange {
        GroupChange::Commit(OffsetCommit {
            group: "billing".to_owned(),
            topic: "orders".to_owned(),
            partition: 0,
            committed: (offset >= 0).then(|| CommittedOffset {
                offset: Offset(offset),
                leader_epoch: None,
                metadata: String::new(),
                commit_timestamp: Some(Timestamp(5)),
                expire_timestamp: None,
                topic_id,
            }),
        })
    }

    /// Commits these positions one after the other; −1 deletes.
    fn history(keep: Keep, offsets: &[i64]) -> CommitHistory {
        let mut history = CommitHistory::new(ClusterNumber(0), keep);
        for (at, &offset) in (0_i64..).zip(offsets) {
            history.change(Offset(at), None, None, commit_of(offset, None));
        }
        history
    }

    #[test]
    fn a_position_that_a_later_generation_took_up_is_kept_and_one_that_went_on_is_not() {
        let mut history = CommitHistory::new(ClusterNumber(0), Keep::default());
        let generation = |number| GroupChange::Generation {
            group: "billing".to_owned(),
            generation: Some(GroupGeneration { number, protocol: GroupProtocol::Classic, members: Some(1) }),
        };
        let changes = [
            generation(1),
            commit_of(10, None),
            commit_of(20, None),
            generation(3),
            commit_of(30, None),
            commit_of(40, None),
        ];
        for (at, change) in (0_i64..).zip(changes) {
            history.change(Offset(at), None, None, change);
        }
        let told: Vec<_> = history.resumed().map(|one| (one.position.0, one.next.0)).collect();
        assert_eq!(told, [(20, 30)]);
    }

    fn steps(history: &CommitHistory) -> Vec<(i64, i64, RewindKind, Then)> {
        history.rewinds().iter().map(|step| (step.from.0, step.to.0, step.kind, step.then)).collect()
    }

    #[test]
    fn a_position_that_steps_back_is_a_rewind_and_what_comes_next_is_told() {
        use RewindKind::SteppedBack;
        assert_eq!(
            steps(&history(Keep::Positions, &[16, 8, 12, 20])),
            [(16, 8, SteppedBack, Then::WentThrough(Offset(12)))]
        );
        assert_eq!(
            steps(&history(Keep::Positions, &[16, 8, 20])),
            [(16, 8, SteppedBack, Then::Passed(Offset(20)))]
        );
        assert_eq!(steps(&history(Keep::Positions, &[16, 8, 8])), [(16, 8, SteppedBack, Then::Nothing)]);
        assert!(history(Keep::Positions, &[8, 8, 16, 17]).rewinds().is_empty());
    }

    #[test]
    fn a_position_that_was_deleted_and_begins_below_is_a_step_back_of_its_own_kind() {
        let told = history(Keep::Positions, &[16, -1, -1, 4, 6]);
        assert_eq!(steps(&told), [(16, 4, RewindKind::AfterDeletion, Then::WentThrough(Offset(6)))]);
        assert!(history(Keep::Positions, &[16, -1, 16]).rewinds().is_empty());
    }

    #[test]
    fn a_position_that_was_deleted_and_is_committed_where_it_had_been_is_counted() {
        let begun_again = |offsets: &[i64]| {
            let history = history(Keep::Positions, offsets);
            history.positions().map(|(_, position)| position.begun_again).sum::<u64>()
        };
        // A consumer that is given everything at once commits the end, wherever it began.
        assert_eq!(begun_again(&[16, -1, 16, -1, 20]), 2);
        assert_eq!(begun_again(&[16, -1, 4]), 0, "that is a step back");
        assert_eq!(begun_again(&[-1, 16, 20]), 0);
    }

    #[test]
    fn what_is_deleted_is_not_given_again() {
        let told = history(Keep::Positions, &[40, 0, 40]);
        let cut = |log_start| {
            let step = Rewind { log_start, ..told.rewinds()[0].clone() };
            step.again_from().0
        };
        assert_eq!((cut(None), cut(Some(Offset(30))), cut(Some(Offset(50)))), (0, 30, 40));
    }

    #[test]
    fn where_reading_began_behind_a_deletion_is_not_told_unless_it_was_set_from_outside() {
        let told = history(Keep::Positions, &[40, -1, 10]);
        let step = |members| Rewind { members, ..told.rewinds()[0].clone() };
        assert_eq!((step(None).again_from(), step(Some(1)).again_from()), (Offset(0), Offset(0)));
        assert_eq!(step(Some(0)).again_from(), Offset(10));
    }

    #[test]
    fn of_a_transactional_and_a_plain_commit_the_one_that_was_written_later_counts() {
        let mut history = CommitHistory::new(ClusterNumber(0), Keep::Positions);
        history.change(Offset(0), None, None, commit_of(5, None));
        history.change(Offset(1), None, Some(ProducerId(77)), commit_of(10, None));
        history.change(Offset(2), None, None, commit_of(30, None));
        history.end_transaction(ProducerId(77), Outcome::Commit);
        assert!(history.rewinds().is_empty());
        let last: Vec<_> = history.positions().map(|(_, position)| position.last).collect();
        assert_eq!(last, [Some(Offset(30))]);
        assert_eq!(history.groups_of(ProducerId(77)).count(), 1);

        history.change(Offset(4), None, Some(ProducerId(77)), commit_of(20, None));
        history.end_transaction(ProducerId(77), Outcome::Commit);
        assert_eq!(steps(&history), [(30, 20, RewindKind::SteppedBack, Then::Nothing)]);
    }

    #[test]
    fn a_topic_that_was_made_anew_is_not_read_again() {
        let mut history = CommitHistory::default();
        history.change(Offset(1), None, None, commit_of(16, Some([1; 16])));
        history.change(Offset(2), None, None, commit_of(4, Some([2; 16])));
        assert!(history.rewinds().is_empty());
        history.change(Offset(3), None, None, commit_of(2, Some([2; 16])));
        assert_eq!(steps(&history).len(), 1);
    }

    #[test]
    fn the_newest_commits_are_kept_and_all_are_counted() {
        let told = history(Keep::Newest(2), &[1, 2, 3, -1]);
        let (_, position) = told.positions().next().unwrap();
        let kept: Vec<_> = position.commits.iter().map(|commit| commit.offset.map(|o| o.0)).collect();
        assert_eq!((kept, position.count), (vec![Some(3), None], 4));
        assert_eq!((position.last, position.highest, position.first), (None, Offset(3), Offset(1)));
    }

    #[test]
    fn a_step_back_knows_generation_and_members() {
        let mut history = CommitHistory::new(ClusterNumber(0), Keep::Newest(9));
        let generation = |number, protocol, members| GroupChange::Generation {
            group: "billing".to_owned(),
            generation: Some(GroupGeneration { number, protocol, members }),
        };
        history.change(Offset(0), Some(1), None, generation(3, GroupProtocol::Classic, Some(2)));
        history.change(Offset(1), None, None, commit_of(16, None));
        history.change(Offset(2), Some(2), None, generation(4, GroupProtocol::Classic, Some(0)));
        history.change(Offset(3), None, None, commit_of(8, None));
        assert_eq!((history.rewinds()[0].generation, history.rewinds()[0].members), (Some(4), Some(0)));
        let member =
            |presence| GroupChange::Member { group: "billing".to_owned(), member: "m1".to_owned(), presence };
        history.change(Offset(4), Some(3), None, generation(5, GroupProtocol::Consumer, None));
        history.change(Offset(5), None, None, member(Presence::Joined));
        history.change(Offset(6), None, None, commit_of(7, None));
        history.change(Offset(7), None, None, member(Presence::Left));
        history.change(Offset(8), None, None, commit_of(6, None));
        let members: Vec<_> = history.rewinds().iter().map(|rewind| rewind.members).collect();
        assert_eq!(members, [Some(0), Some(1), Some(0)]);
        let (_, group) = history.groups().next().unwrap();
        assert_eq!(group.generations.iter().map(|g| g.generation.number).collect::<Vec<_>>(), [3, 4, 5]);
    }

    #[test]
    fn commits_of_an_aborted_transaction_do_not_count() {
        let mut history = CommitHistory::default();
        let transaction = Some(ProducerId(1));
        history.change(Offset(1), None, None, commit_of(8, None));
        history.change(Offset(2), None, transaction, commit_of(16, None));
        history.end_transaction(ProducerId(1), Outcome::Abort);
        history.change(Offset(4), None, None, commit_of(10, None));
        assert!(history.rewinds().is_empty());
        history.change(Offset(5), None, transaction, commit_of(12, None));
        assert_eq!(history.uncommitted(|_| true), 1);
        history.end_transaction(ProducerId(1), Outcome::Commit);
        let groups: Vec<_> =
            history.groups_of(ProducerId(1)).map(|commits| (commits.group, commits.first_offset)).collect();
        assert_eq!(groups, [("billing".to_owned(), Offset(5))]);
    }
}
