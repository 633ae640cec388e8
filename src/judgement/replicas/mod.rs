//! `replica-divergence`: two replicas differ in a way that neither lag nor the cleaner's progress
//! explains; `old-leader-tail`, where one holds what it will truncate; `leader-epoch-anomaly`, where they
//! hold equal records under other leader epochs; and `restored-copy`, where what looks like a replica
//! cannot be one.
//!
//! Goes in: comparisons of each replica with the one that leads. Two things are told apart. A
//! replica whose last records were written under an older leader epoch than what the leading one
//! holds at the same offsets, or has begun there, lost the leadership before they were copied
//! (KIP-101, KIP-279): it truncates them when it rejoins. On an ordinary failover all of them stand in
//! the leading replica again; where they do not, the older one is their last witness.
//! Anything else has no such simple story: records that one lost, files of another time or place.
//!
//! Innocent twins do not come here: [`Comparison`] takes lag, retention, damage and compaction as
//! what they are.

mod apart;
mod copied;
mod leader_epochs;
mod old_tail;

use super::draft::{Topic, about, finding, kept, of_topics};
use crate::compare::{Comparison, Difference, DifferenceKind, Epochs, Side, TailFate};
use crate::facts::UncleanElection;
use crate::finding::{Alternative, Code, Confidence, DivergentRange, Finding};
use crate::units::{LeaderEpoch, Offset, TopicNumber};
use old_tail::{Ends, OldTail};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Ranges that a finding lists for one pair of replicas.
const RANGES: usize = 20;

/// A replica, compared with the one that leads.
#[derive(Clone, Debug)]
pub struct ReplicaPair<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// Which topic of that name.
    pub topic_number: TopicNumber,
    /// The partition's number.
    pub partition: i32,
    /// The one that leads; side A of the comparison.
    pub leading: Replica<'a>,
    /// The other one; side B.
    pub other: Replica<'a>,
    /// What makes them replicas.
    pub kinship: Kinship,
    /// How they differ.
    pub comparison: Comparison,
    /// What became of the tail of the older leader in the log of the newer one, where
    /// [`ReplicaPair::old_tail`] names one.
    pub tail_fate: Option<TailFate>,
    /// Leaders of the partition that were elected although they were not in sync.
    pub unclean_elections: &'a [UncleanElection],
}

/// One replica.
#[derive(Clone, Copy, Debug)]
pub struct Replica<'a> {
    /// Its directory.
    pub directory: &'a str,
    /// Its broker.
    pub broker_id: Option<i32>,
    /// Its checkpointed high watermark.
    pub high_watermark: Option<Offset>,
    /// Its checkpointed leader epochs.
    pub leader_epochs: &'a [(LeaderEpoch, Offset)],
    /// The offset behind its last batch.
    pub log_end: Offset,
    /// Where its log begins by its first leader epoch, and by its first file, where that is behind it.
    pub lost_head: Option<(Offset, Offset)>,
    /// Whether files at its head may be in remote storage.
    pub may_be_tiered: bool,
}

/// What makes two directories replicas of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kinship {
    /// Two brokers of one cluster, or of one topic id.
    Brokers,
    /// One topic id; nothing names the brokers.
    TopicId,
    /// Equal names on two brokers; nothing names the cluster.
    Names,
    /// One broker: one of them is a copy, or a move was not finished.
    OneBroker,
    /// One topic id in two clusters, which draw their ids at random.
    Clusters,
}

impl Kinship {
    /// How sure a difference between them is a difference between replicas.
    const fn confidence(self) -> Confidence {
        match self {
            Self::Brokers => Confidence::Certain,
            Self::TopicId => Confidence::Likely,
            Self::Names | Self::OneBroker | Self::Clusters => Confidence::Possible,
        }
    }

    fn rival(self) -> Option<Alternative> {
        match self {
            Self::Brokers => None,
            Self::TopicId => Some(kept(
                "copies of one replica",
                "nothing names the brokers: these may be files of one replica from two times",
            )),
            Self::Names => Some(kept(
                "two clusters",
                "nothing names the cluster: two topics of one name would differ like this",
            )),
            Self::Clusters => Some(kept(
                "copies of one log",
                "both have one topic id, but belong to two clusters: each may have gone on from a common copy",
            )),
            Self::OneBroker => Some(kept(
                "copies of one replica",
                "both are of one broker: these may be files of one replica from two times",
            )),
        }
    }
}

/// What a difference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reading {
    /// The last records of one side were written under an older leader than what the other has
    /// there.
    OldTail(Side),
    /// No change of leaders explains it.
    Apart,
}

impl ReplicaPair<'_> {
    /// Which side ends in records of an older leader that the other one does not hold at their place.
    #[must_use]
    pub fn old_tail(&self) -> Option<Side> {
        let comparison = &self.comparison;
        if comparison.agrees() {
            let rest = comparison.rest.as_ref()?;
            let shorter = self.replica(rest.side.other());
            let begun = shorter.leader_epochs.last().filter(|(_, start)| *start <= rest.first_offset)?.0;
            // Who was elected after that leads over the shorter one, which will copy these records.
            let elected = self.replica(rest.side).leader_epochs.last().map(|(epoch, _)| *epoch);
            let newest = rest.leader_epochs.map(|epochs| epochs.largest).max(elected)?;
            return (newest < begun).then_some(rest.side);
        }
        if !comparison.deciding.is_empty() || !comparison.differs_at_the_end_only() {
            return None;
        }
        // Both were written there, and never by one leader.
        if comparison.clashes > 0 || comparison.differing_epochs.iter().any(Option::is_none) {
            return None;
        }
        // The one that was elected later keeps what it has, whoever wrote it.
        let old = match self.newest_epoch(Side::A)?.cmp(&self.newest_epoch(Side::B)?) {
            Ordering::Less => Side::A,
            Ordering::Greater => Side::B,
            Ordering::Equal => return None,
        };
        (self.differs_in_records() || self.knows_its_epochs(old.other())).then_some(old)
    }

    /// The newest leader epoch of a side where they differ: of its batches, or begun since.
    fn newest_epoch(&self, side: Side) -> Option<LeaderEpoch> {
        let elected = self.replica(side).leader_epochs.last().map(|(epoch, _)| *epoch);
        let written = self.comparison.differing_epochs.get(side.index()).copied().flatten();
        elected.max(written.map(|epochs| epochs.largest))
    }

    /// Where the two part.
    #[must_use]
    pub fn parts_at(&self) -> Option<Offset> {
        let rest = self.comparison.rest.as_ref().map(|rest| rest.first_offset);
        self.comparison.first_difference.or(rest)
    }

    /// Whether they differ in more than leader epochs.
    fn differs_in_records(&self) -> bool {
        let differences = &self.comparison.differences;
        self.comparison.differences_omitted > 0
            || differences.iter().any(|difference| difference.kind != DifferenceKind::LeaderEpoch)
    }

    /// Whether the checkpoint of a side, where there is one, names the epoch under which it differs: the
    /// checksum of a batch does not cover it.
    fn knows_its_epochs(&self, side: Side) -> bool {
        let epochs = self.replica(side).leader_epochs;
        let differing = self.comparison.differing_epochs.get(side.index()).copied().flatten();
        let (Some(differing), Some(first)) = (differing, self.comparison.first_difference) else {
            return false;
        };
        epochs.is_empty()
            || epochs.iter().any(|(epoch, start)| *epoch == differing.smallest && *start <= first)
    }

    /// The side whose first files are gone, where the other one holds what was in them and nothing else differs.
    fn lacks_its_head(&self) -> Option<Side> {
        let comparison = &self.comparison;
        if comparison.differences_omitted > 0 || !comparison.deciding.is_empty() {
            return None;
        }
        [Side::A, Side::B].into_iter().find(|side| {
            let only_the_other = match side {
                Side::A => DifferenceKind::OnlyB,
                Side::B => DifferenceKind::OnlyA,
            };
            let is_below = |difference: &Difference, file: Offset| {
                difference.kind == only_the_other && difference.last_offset < file
            };
            self.replica(*side).lost_head.is_some_and(|(_, file)| {
                let differences = &comparison.differences;
                !differences.is_empty() && differences.iter().all(|difference| is_below(difference, file))
            })
        })
    }

    /// Whether the other replica holds nothing else than the one that leads, as far as it reaches.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.comparison.agrees() && self.reading().is_none()
    }

    fn reading(&self) -> Option<Reading> {
        if let Some(old) = self.old_tail() {
            return Some(Reading::OldTail(old));
        }
        let comparison = &self.comparison;
        let differs = !comparison.agrees() && (!comparison.deciding.is_empty() || self.differs_in_records());
        differs.then_some(Reading::Apart)
    }

    /// The replica on a side of the comparison.
    #[must_use]
    pub const fn replica(&self, side: Side) -> &Replica<'_> {
        match side {
            Side::A => &self.leading,
            Side::B => &self.other,
        }
    }

    fn name(&self) -> String {
        format!("{}-{}", self.topic, self.partition)
    }

    fn range(&self, sides: [Side; 2], first: i64, last: i64, what: String) -> DivergentRange {
        DivergentRange {
            topic: self.topic.to_owned(),
            partition: self.partition,
            directories: sides.map(|side| self.replica(side).directory.to_owned()).to_vec(),
            first_offset: first,
            last_offset: last,
            what,
        }
    }
}

/// The findings about replicas, without ids.
#[must_use]
pub fn judge(pairs: &[ReplicaPair<'_>]) -> Vec<Finding> {
    let mut tails: BTreeMap<(Topic<'_>, Ends), Vec<(&ReplicaPair<'_>, OldTail)>> = BTreeMap::new();
    let mut apart: BTreeMap<Topic<'_>, Vec<&ReplicaPair<'_>>> = BTreeMap::new();
    let mut stamped: BTreeMap<Topic<'_>, Vec<&ReplicaPair<'_>>> = BTreeMap::new();
    let mut copied: BTreeMap<Topic<'_>, Vec<&ReplicaPair<'_>>> = BTreeMap::new();
    for pair in pairs {
        let topic = (pair.topic, pair.topic_number);
        if copied::applies(pair) {
            copied.entry(topic).or_default().push(pair);
        }
        let reading = pair.reading();
        match reading {
            Some(Reading::OldTail(old)) => {
                let tail = OldTail::of(pair, old);
                tails.entry((topic, tail.ends())).or_default().push((pair, tail));
            }
            Some(Reading::Apart) => apart.entry(topic).or_default().push(pair),
            None => {}
        }
        let is_stamped = pair.comparison.differences.iter().any(|d| d.kind == DifferenceKind::LeaderEpoch);
        if is_stamped && !matches!(reading, Some(Reading::OldTail(_))) {
            stamped.entry(topic).or_default().push(pair);
        }
    }
    let tails = tails.iter().map(|(((topic, _), ends), tails)| old_tail::finding(topic, *ends, tails));
    let apart = apart.iter().map(|((topic, _), pairs)| apart::finding(topic, pairs));
    let stamped = stamped.iter().map(|((topic, _), pairs)| leader_epochs::finding(topic, pairs));
    let copied = copied.iter().map(|((topic, _), pairs)| copied::finding(topic, pairs));
    copied.chain(tails).chain(apart).chain(stamped).collect()
}

/// A finding about these pairs, with what they share.
fn draft<'a>(
    code: Code,
    topic: &str,
    pairs: impl Iterator<Item = &'a ReplicaPair<'a>> + Clone,
    title: String,
) -> Finding {
    let confidence = pairs.clone().map(|pair| pair.kinship.confidence()).min();
    let mut finding = finding(code, confidence.unwrap_or(Confidence::Possible), title);
    about(&mut finding, pairs.clone().map(|pair| (topic, pair.partition)));
    of_topics(&mut finding, pairs.clone().map(|pair| pair.topic_number));
    let mut kinships: Vec<Kinship> = pairs.map(|pair| pair.kinship).collect();
    kinships.sort_unstable();
    kinships.dedup();
    finding.alternatives.extend(kinships.into_iter().filter_map(Kinship::rival));
    finding
}

fn place(replica: &Replica<'_>) -> String {
    match replica.broker_id {
        Some(id) => format!("{} (broker {id})", replica.directory),
        None => replica.directory.to_owned(),
    }
}

fn epoch_words(epochs: Option<Epochs>) -> String {
    match epochs {
        None => "without leader epoch".to_owned(),
        Some(epochs) if epochs.smallest == epochs.largest => format!("of leader epoch {}", epochs.largest.0),
        Some(epochs) => format!("of leader epochs {} to {}", epochs.smallest.0, epochs.largest.0),
    }
}

#[cfg(test)]
mod tests;
