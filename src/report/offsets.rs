//! What `offsets` answers: the positions of consumer groups over time, beside what is stored twice.
//!
//! Goes in: the commits that `__consumer_offsets` holds, and the findings of the audit of the same
//! files. Comes out: [`Offsets`], the command's own part of the JSON. Nothing is judged here.

use crate::facts::{Commit, CommitHistory, Group, Position, PositionKey, Rewind};
use crate::finding::{Code, Finding, RewindReport, rfc3339};
use crate::format::internal::consumer_offsets::GroupProtocol;
use crate::judgement::rewinds::reported;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The command's own part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Offsets {
    /// The clusters, where the files are of several; `cluster` counts in this list from 0 on.
    #[serde(default)]
    pub clusters: Vec<Cluster>,
    /// Each group in each partition that it reads, by cluster, group, topic and partition.
    pub groups: Vec<GroupPosition>,
    /// The generations of each group.
    pub generations: Vec<GroupGenerations>,
    /// How many steps back are not told, because there are too many.
    pub rewinds_omitted: u64,
    /// Commits in transactions that have no end here: they do not count yet.
    pub uncommitted: u64,
    /// What is stored more than once with the groups that have the copies behind them, where
    /// positions went back, and where replicas, of which one is told, hold something else.
    pub findings: Vec<Finding>,
}

/// One of several clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// `cluster.id` of `meta.properties`; `null` where no such file tells it.
    pub cluster_id: Option<String>,
    /// Its log directories.
    pub directories: Vec<String>,
}

/// Where a group is in one partition, and how it came there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupPosition {
    /// Its cluster, where there are several: an index into `clusters`.
    #[serde(default)]
    pub cluster: u32,
    /// The group.
    pub group: String,
    /// The topic that it reads.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The next record that the group reads; `null` when the position was deleted.
    pub position: Option<i64>,
    /// The smallest position that it committed, as far as the files show.
    pub lowest: i64,
    /// The largest position that it committed.
    pub highest: i64,
    /// The newest commits in order.
    pub commits: Vec<CommitReport>,
    /// How many older ones are not listed.
    pub commits_omitted: u64,
    /// Where the position went back.
    pub rewinds: Vec<RewindReport>,
    /// How often it was deleted, and a consumer committed it again where it had been or behind: from where that one
    /// read no commit tells.
    #[serde(default)]
    pub begun_again: u64,
    /// How often a commit named another topic id than the one before: the topic had been deleted and made anew, and
    /// positions before and behind that mean other records.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub topic_made_anew: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitReport {
    /// The next record that the group reads; `null` where the position was deleted.
    pub offset: Option<i64>,
    /// When, by the coordinator's clock.
    pub timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub time: Option<String>,
    /// The group's generation, or its epoch in the new protocol, where it is known.
    pub generation: Option<i32>,
    /// The commit's own offset in the partition of `__consumer_offsets` that has the group.
    pub at_offset: i64,
    /// The leader epoch of the last record that the group read.
    pub leader_epoch: Option<i32>,
    /// The producer whose transaction committed it; `null` outside of transactions.
    pub producer_id: Option<i64>,
}

/// The generations of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupGenerations {
    /// Its cluster, where there are several: an index into `clusters`.
    #[serde(default)]
    pub cluster: u32,
    /// The group.
    pub group: String,
    /// In order, without repeats.
    pub generations: Vec<Generation>,
    /// How many are not listed.
    pub generations_omitted: u64,
}

/// One generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Generation {
    /// Its number; the group epoch in the new protocol.
    pub generation: i32,
    /// `classic` or `consumer`.
    pub protocol: String,
    /// How many members it has; `null` in the new protocol.
    pub members: Option<u32>,
    /// When the coordinator wrote it.
    pub timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub time: Option<String>,
    /// The record's own offset.
    pub at_offset: i64,
}

/// Which groups are told.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Their names; all groups where there is none.
    pub groups: Vec<String>,
}

impl Wanted {
    fn has(&self, group: &str) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|wanted| wanted == group)
    }
}

impl Offsets {
    /// What the commits of each of the clusters say of the wanted groups.
    #[must_use]
    pub fn of(
        histories: &[CommitHistory],
        clusters: &[Cluster],
        findings: &[Finding],
        wanted: &Wanted,
    ) -> Self {
        let mut this = Self {
            clusters: if clusters.len() > 1 { clusters.to_vec() } else { Vec::new() },
            findings: findings.iter().filter(|finding| belongs(finding, wanted)).cloned().collect(),
            ..Self::default()
        };
        for history in histories {
            this.add(history, wanted);
        }
        this
    }

    fn add(&mut self, history: &CommitHistory, wanted: &Wanted) {
        let cluster = history.cluster().0;
        let mut rewinds: BTreeMap<(&str, &str, i32), Vec<&Rewind>> = BTreeMap::new();
        for rewind in history.rewinds() {
            let key = (rewind.group.as_str(), rewind.topic.as_str(), rewind.partition);
            rewinds.entry(key).or_default().push(rewind);
        }
        let groups = history.positions().filter(|((group, ..), _)| wanted.has(group));
        self.groups.extend(groups.map(|(key, position)| {
            let steps = rewinds.remove(&(key.0.as_str(), key.1.as_str(), key.2)).unwrap_or_default();
            GroupPosition { cluster, ..GroupPosition::of(key, position, &steps) }
        }));
        let generations = history.groups().filter(|(name, _)| wanted.has(name));
        self.generations.extend(
            generations.map(|(name, group)| GroupGenerations { cluster, ..generations_of(name, group) }),
        );
        self.rewinds_omitted += history.rewinds_omitted();
        self.uncommitted += history.uncommitted(|group| wanted.has(group));
    }
}

/// Whether a finding bears on what was read or written twice.
fn belongs(finding: &Finding, wanted: &Wanted) -> bool {
    match finding.code {
        Code::ConsumerRewind => finding.rewinds.iter().any(|rewind| wanted.has(&rewind.group)),
        // The coverage points to them: the commits of one replica are told, and another one may hold a step back.
        Code::ReplicaDivergence | Code::OldLeaderTail => true,
        _ => finding.counts.surplus_records > 0,
    }
}

impl GroupPosition {
    fn of((group, topic, partition): &PositionKey, position: &Position, rewinds: &[&Rewind]) -> Self {
        let listed = u64::try_from(position.commits.len()).unwrap_or(u64::MAX);
        Self {
            cluster: 0,
            group: group.clone(),
            topic: topic.clone(),
            partition: *partition,
            position: position.last.map(|offset| offset.0),
            lowest: position.first.0,
            highest: position.highest.0,
            commits: position.commits.iter().map(commit).collect(),
            commits_omitted: position.count.saturating_sub(listed),
            rewinds: rewinds.iter().map(|rewind| reported(rewind)).collect(),
            begun_again: position.begun_again,
            topic_made_anew: position.made_anew,
        }
    }
}

fn commit(commit: &Commit) -> CommitReport {
    CommitReport {
        offset: commit.offset.map(|offset| offset.0),
        timestamp: commit.timestamp,
        time: commit.timestamp.and_then(rfc3339),
        generation: commit.generation,
        at_offset: commit.at_offset.0,
        leader_epoch: commit.leader_epoch.map(|epoch| epoch.0),
        producer_id: commit.producer_id.map(|id| id.0),
    }
}

fn generations_of(name: &str, group: &Group) -> GroupGenerations {
    let generation = |start: &crate::facts::GenerationStart| Generation {
        generation: start.generation.number,
        protocol: match start.generation.protocol {
            GroupProtocol::Classic => "classic".to_owned(),
            GroupProtocol::Consumer => "consumer".to_owned(),
        },
        members: start.generation.members,
        timestamp: start.timestamp,
        time: start.timestamp.and_then(rfc3339),
        at_offset: start.at_offset.0,
    };
    GroupGenerations {
        cluster: 0,
        group: name.to_owned(),
        generations: group.generations.iter().map(generation).collect(),
        generations_omitted: group.generations_omitted,
    }
}
