//! What is kept of commits: steps back, positions, generations.

use crate::format::internal::consumer_offsets::{GroupGeneration, GroupProtocol};
use crate::units::{ClusterNumber, LeaderEpoch, Offset, ProducerId, TopicNumber};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// A group's position stepped back: what lies between was to be read again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rewind {
    /// The cluster, where several were given.
    #[serde(default)]
    pub cluster: ClusterNumber,
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
    /// How it came.
    #[serde(default)]
    pub kind: RewindKind,
    /// The generation of the group at that time, where it is known.
    #[serde(default)]
    pub generation: Option<i32>,
    /// How many members the group had then, where it is known. A position that moves while there are
    /// none was set from outside.
    #[serde(default)]
    pub members: Option<u32>,
    /// What the group did next.
    #[serde(default)]
    pub then: Then,
    /// The leader epoch of the last record that it had read, where its commit before says so.
    #[serde(default)]
    pub leader_epoch: Option<LeaderEpoch>,
    /// The id of the topic, where a commit names it.
    #[serde(default)]
    pub topic_id: Option<[u8; 16]>,
    /// When it was where it had been before, by the coordinator's clock.
    #[serde(default)]
    pub caught_up: Option<i64>,
    /// The offset of the commit that says so.
    #[serde(default)]
    pub caught_up_at: Option<Offset>,
    /// Where the log begins that is here: what lies below is deleted, perhaps before the group read again.
    #[serde(default)]
    pub log_start: Option<Offset>,
    /// Where the log ends that is here: what lies behind was never in it, or is cut off, or came later.
    #[serde(default)]
    pub log_end: Option<Offset>,
    /// Which of the topics that are here it is; `None` where it is none of them, or may be several.
    #[serde(default)]
    pub topic_number: Option<TopicNumber>,
    /// What shows that several topics bore the name, where no commit tells which of them is meant.
    #[serde(default)]
    pub namesakes: Option<Namesakes>,
}

/// Topics of one name in one cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Namesakes {
    /// Several are here.
    Here,
    /// This directory of another topic id waits for its deletion.
    Deleted(String),
}

impl Rewind {
    /// The first record that is there and that the group may have been given again.
    ///
    /// A step back says where reading was to begin. The first commit behind a deletion is one of a consumer that had
    /// read up to there, unless the group had no members: then it was set from outside.
    #[must_use]
    pub fn again_from(&self) -> Offset {
        let begin = if self.begins_unseen() { Offset(0) } else { self.to };
        begin.max(self.log_start.unwrap_or(begin)).min(self.from)
    }

    /// Where the records end that are there and that the group may have been given again.
    #[must_use]
    pub fn again_to(&self) -> Offset {
        self.from.min(self.log_end.unwrap_or(self.from)).max(self.again_from())
    }

    /// Whether the position before lies behind the end of the log that is here.
    #[must_use]
    pub fn is_beyond(&self) -> bool {
        self.log_end.is_some_and(|end| end < self.from)
    }

    /// Whether no commit tells where reading began again.
    #[must_use]
    pub fn begins_unseen(&self) -> bool {
        self.kind == RewindKind::AfterDeletion && self.members != Some(0)
    }
}

/// A group took a position up in a later generation than it had committed it in: its members, or some of
/// them, had begun anew in between, and read on from there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Resumed {
    /// The cluster, where several were given.
    #[serde(default)]
    pub cluster: ClusterNumber,
    /// The group.
    pub group: String,
    /// The topic that it reads.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The last position of the earlier generation.
    pub position: Offset,
    /// When it was committed, by the coordinator's clock.
    pub committed: Option<i64>,
    /// The first position of the later generation.
    pub next: Offset,
    /// When that was committed.
    pub next_committed: Option<i64>,
}

/// How a position came to be lower than it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RewindKind {
    /// A lower one was committed.
    #[default]
    SteppedBack,
    /// It had been deleted, and began again below.
    AfterDeletion,
}

/// What a group committed after a step back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Then {
    /// Nothing that lies behind the position after.
    #[default]
    Nothing,
    /// A position between the two: it went through the stretch again.
    WentThrough(Offset),
    /// A position at or behind the one before, at once.
    Passed(Offset),
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

/// How many commits of each position are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// None: positions and steps back alone.
    #[default]
    Positions,
    /// The newest so many, and the generations of the groups.
    Newest(usize),
}

/// A position that was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The next record that the group reads; `None` where the position was deleted.
    pub offset: Option<Offset>,
    /// When, by the coordinator's clock.
    pub timestamp: Option<i64>,
    /// The record's own offset.
    pub at_offset: Offset,
    /// The leader epoch of the last record that the group read.
    pub leader_epoch: Option<LeaderEpoch>,
    /// The generation of the group, where it is known.
    pub generation: Option<i32>,
    /// The producer whose transaction committed it.
    pub producer_id: Option<ProducerId>,
}

/// Where a group is in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The first position in the files.
    pub first: Offset,
    /// The largest one since it was last deleted: the group had been given everything from the first position to
    /// there.
    pub highest: Offset,
    /// The last one; `None` when it was deleted.
    pub last: Option<Offset>,
    /// The newest commits in order, as many as were to be kept.
    pub commits: VecDeque<Commit>,
    /// How many commits there were.
    pub count: u64,
    /// How often it was deleted, and a consumer committed it again where it had been or behind: from where that one
    /// read no commit tells.
    pub begun_again: u64,
    /// How often a commit named another topic id than the one before: the topic had been deleted and made anew.
    pub made_anew: u64,
    /// The time and the generation of the last one.
    pub(super) last_commit: Option<(Option<i64>, i32)>,
    /// The record in which the last one stands, while it stands.
    pub(super) written_at: Option<Offset>,
    /// The leader epoch of the last record that the group read, where the last commit says so.
    pub(super) leader_epoch: Option<LeaderEpoch>,
    /// The last one before a deletion.
    pub(super) before_deletion: Option<Offset>,
    pub(super) topic_id: Option<[u8; 16]>,
    /// The step back that is not yet passed, by its index.
    pub(super) open: Option<usize>,
}

/// A generation of a group, with what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerationStart {
    /// The generation.
    pub generation: GroupGeneration,
    /// When the coordinator wrote it.
    pub timestamp: Option<i64>,
    /// The record's own offset.
    pub at_offset: Offset,
}

/// What is known of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    pub(super) current: Option<GroupGeneration>,
    /// Members of the new protocol.
    pub(super) members: BTreeSet<String>,
    /// The generations in order, where they were to be kept.
    pub generations: Vec<GenerationStart>,
    /// How many more there were.
    pub generations_omitted: u64,
}

impl Group {
    pub(super) fn generation(&self) -> Option<i32> {
        self.current.map(|generation| generation.number)
    }

    pub(super) fn member_count(&self) -> Option<u32> {
        match self.current?.protocol {
            GroupProtocol::Classic => self.current?.members,
            GroupProtocol::Consumer => u32::try_from(self.members.len()).ok(),
        }
    }
}

impl Position {
    /// The id of the topic, where a commit names it.
    #[must_use]
    pub const fn topic_id(&self) -> Option<[u8; 16]> {
        self.topic_id
    }

    pub(super) fn keep(&mut self, commit: Commit, keep: Keep) {
        self.count += 1;
        if let Keep::Newest(most) = keep {
            self.commits.push_back(commit);
            if self.commits.len() > most {
                self.commits.pop_front();
            }
        }
    }
}
