//! Producer sessions: one life of a producer object, as far as files show it.
//!
//! Goes in: the facts of all partitions. Comes out: for each producer id its sessions, and which one
//! an id and epoch belong to.
//!
//! Without transactions an epoch bump is local to the client (KIP-360), so all epochs of an id are
//! one session. With transactions `initTransactions` begins a session with a higher epoch, and under
//! protocol 2 (KIP-890) every transaction of one session has an epoch of its own. So the step from
//! epoch k to k + 1 stays in the session only where a marker with epoch k + 1 closed data of epoch
//! k, in whichever partition: one that took no part in a transaction shows a jump that the others
//! bridge. Every other step begins a session. Under protocol 1 that can also be a bump within the
//! session; only `__transaction_state` tells ([`SessionStart::EpochStep`] keeps the doubt).

use super::protection::earliest;
use super::{EpochEnds, EpochSpan, PartitionContext, PartitionFacts};
use crate::units::{Offset, ProducerEpoch, ProducerId, Sequence};

/// Stands for a session within [`Sessions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionIndex(pub usize);

/// One producer session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its producer id.
    pub producer_id: ProducerId,
    /// Which of the id's sessions it is, from 1.
    pub number: u32,
    /// Whether it wrote transactions.
    pub transactional: bool,
    /// What says that a session begins here.
    pub start: SessionStart,
    /// Its lowest epoch.
    pub first_epoch: Option<ProducerEpoch>,
    /// Its highest epoch.
    pub last_epoch: Option<ProducerEpoch>,
    /// What it wrote, by partition, in the order in which partitions were given.
    pub spans: Vec<SessionSpan>,
}

/// What says that a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStart {
    /// It is the first of its producer id.
    FirstSeen,
    /// The epoch rose by more than one, or without a marker that would have raised it.
    EpochStep {
        /// The last epoch of the session before.
        from: Option<ProducerEpoch>,
        /// The first epoch of this one.
        to: Option<ProducerEpoch>,
    },
}

/// What a session wrote to one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSpan {
    /// The index of the partition among those given.
    pub partition: usize,
    /// Base offset of its first batch.
    pub first_offset: Offset,
    /// Last offset of its last batch.
    pub last_offset: Offset,
    /// The smallest time of its batches.
    pub first_timestamp: Option<i64>,
    /// The largest time of its batches.
    pub last_timestamp: Option<i64>,
    /// Its batches.
    pub batches: u64,
    /// Its records, as they are now.
    pub records: u64,
    /// Where it began to write here.
    pub first: EpochEdge,
    /// Where it wrote last.
    pub last: EpochEdge,
    /// Its epochs here; one that it went back to counts again.
    pub epochs: u64,
    /// Which epoch the markers of its transactions have, as the first says that tells it.
    pub ends: Option<EpochEnds>,
    ends_at: Offset,
}

/// One end of what a session wrote to a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEdge {
    /// The epoch.
    pub producer_epoch: Option<ProducerEpoch>,
    /// The sequence.
    pub sequence: Option<Sequence>,
}

impl Session {
    /// The name in the report, such as `1000#1`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}#{}", self.producer_id, self.number)
    }

    /// What it wrote to one partition.
    #[must_use]
    pub fn in_partition(&self, partition: usize) -> Option<&SessionSpan> {
        let at = self.spans.binary_search_by_key(&partition, |span| span.partition).ok()?;
        self.spans.get(at)
    }

    /// The smallest time of its batches, over all partitions.
    #[must_use]
    pub fn first_timestamp(&self) -> Option<i64> {
        self.spans.iter().fold(None, |least, span| earliest(least, span.first_timestamp))
    }

    /// The largest time of its batches, over all partitions.
    #[must_use]
    pub fn last_timestamp(&self) -> Option<i64> {
        self.spans.iter().filter_map(|span| span.last_timestamp).max()
    }
}

/// The sessions of all producers.
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    /// By producer id and epochs.
    sessions: Vec<Session>,
}

impl Sessions {
    /// Finds the sessions in the facts of all partitions (of the leading replica of each).
    #[must_use]
    pub fn build(partitions: &[(&PartitionContext, &PartitionFacts)]) -> Self {
        let mut seen = SeenEpochs::default();
        for (context, facts) in partitions {
            for span in facts.epochs.iter() {
                seen.add(context, &span);
            }
        }
        let mut this = Self::default();
        for of_id in seen.finish().chunk_by(|a, b| a.producer_id == b.producer_id) {
            this.add(of_id);
        }
        this.sessions.shrink_to_fit();
        for (partition, (_, facts)) in partitions.iter().enumerate() {
            for span in facts.epochs.iter() {
                let at = this.lookup(span.producer_id, span.producer_epoch);
                if let Some(session) = at.and_then(|at| this.sessions.get_mut(at.0)) {
                    session.widen(partition, &span);
                }
            }
        }
        for session in &mut this.sessions {
            session.spans.shrink_to_fit();
        }
        this
    }

    /// The session that an id and epoch belong to.
    #[must_use]
    pub fn lookup(&self, id: ProducerId, epoch: Option<ProducerEpoch>) -> Option<SessionIndex> {
        let begun = |session: &Session| (session.producer_id, session.first_epoch) <= (id, epoch);
        let at = self.sessions.partition_point(begun).checked_sub(1)?;
        let session = self.sessions.get(at)?;
        (session.producer_id == id && epoch <= session.last_epoch).then_some(SessionIndex(at))
    }

    /// The same as relations count sessions.
    #[must_use]
    pub fn number(&self, id: ProducerId, epoch: Option<ProducerEpoch>) -> Option<u32> {
        self.lookup(id, epoch).and_then(|index| u32::try_from(index.0).ok())
    }

    /// The session behind an index.
    #[must_use]
    pub fn get(&self, index: SessionIndex) -> Option<&Session> {
        self.sessions.get(index.0)
    }

    /// All sessions, by producer id and number.
    pub fn iter(&self) -> impl Iterator<Item = (SessionIndex, &Session)> {
        self.sessions.iter().enumerate().map(|(at, session)| (SessionIndex(at), session))
    }

    /// Adds the sessions of one producer id, whose epochs come in their order.
    fn add(&mut self, of_id: &[SeenEpoch]) {
        let transactional = of_id.iter().any(|seen| seen.transactional);
        let mut number = 0;
        let mut previous: Option<&SeenEpoch> = None;
        for seen in of_id {
            let (id, epoch) = (seen.producer_id, seen.producer_epoch);
            // A transaction of protocol 2 went before.
            let is_next = |previous: &SeenEpoch| {
                let next = previous.producer_epoch.and_then(|from| from.0.checked_add(1));
                previous.closed_by_next && next == epoch.map(|epoch| epoch.0) && next.is_some()
            };
            let goes_on = previous.is_some_and(|previous| !transactional || is_next(previous));
            match self.sessions.last_mut() {
                Some(session) if goes_on => session.last_epoch = epoch,
                _ => {
                    number += 1;
                    let start = previous.map_or(SessionStart::FirstSeen, |from| SessionStart::EpochStep {
                        from: from.producer_epoch,
                        to: epoch,
                    });
                    self.sessions.push(Session {
                        producer_id: id,
                        number,
                        transactional,
                        start,
                        first_epoch: epoch,
                        last_epoch: epoch,
                        spans: Vec::new(),
                    });
                }
            }
            previous = Some(seen);
        }
    }
}

/// An epoch that some partition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SeenEpoch {
    producer_id: ProducerId,
    producer_epoch: Option<ProducerEpoch>,
    transactional: bool,
    closed_by_next: bool,
}

/// The epochs of all partitions, each once.
#[derive(Debug, Default)]
struct SeenEpochs {
    all: Vec<SeenEpoch>,
    /// How many there are at which each is made one again.
    most: usize,
}

impl SeenEpochs {
    fn add(&mut self, context: &PartitionContext, span: &EpochSpan) {
        if self.all.len() >= self.most.max(1 << 16) {
            self.unite();
            self.most = self.all.len().saturating_mul(2);
        }
        self.all.push(SeenEpoch {
            producer_id: span.producer_id,
            producer_epoch: span.producer_epoch,
            transactional: span.transactional && !context.internal,
            closed_by_next: span.closed_by_next,
        });
    }

    fn unite(&mut self) {
        self.all.sort_unstable();
        self.all.dedup_by(|later, kept| {
            let same = (later.producer_id, later.producer_epoch) == (kept.producer_id, kept.producer_epoch);
            if same {
                kept.transactional |= later.transactional;
                kept.closed_by_next |= later.closed_by_next;
            }
            same
        });
    }

    fn finish(mut self) -> Vec<SeenEpoch> {
        self.unite();
        self.all
    }
}

impl Session {
    fn widen(&mut self, partition: usize, epoch: &EpochSpan) {
        let edge = |sequence| EpochEdge { producer_epoch: epoch.producer_epoch, sequence };
        let (first, last) = (edge(epoch.first_sequence), edge(epoch.last_sequence));
        match self.spans.binary_search_by_key(&partition, |span| span.partition) {
            Ok(at) => {
                let Some(span) = self.spans.get_mut(at) else { return };
                if epoch.first_offset < span.first_offset {
                    (span.first_offset, span.first) = (epoch.first_offset, first);
                }
                if epoch.last_offset > span.last_offset {
                    (span.last_offset, span.last) = (epoch.last_offset, last);
                }
                if epoch.ends.is_some() && (span.ends.is_none() || epoch.first_offset < span.ends_at) {
                    (span.ends, span.ends_at) = (epoch.ends, epoch.first_offset);
                }
                span.first_timestamp = earliest(span.first_timestamp, epoch.first_timestamp);
                span.last_timestamp = span.last_timestamp.max(epoch.last_timestamp);
                span.batches = span.batches.saturating_add(epoch.batches);
                span.records = span.records.saturating_add(epoch.records);
                span.epochs += 1;
            }
            Err(at) => self.spans.insert(
                at,
                SessionSpan {
                    partition,
                    first_offset: epoch.first_offset,
                    last_offset: epoch.last_offset,
                    first_timestamp: epoch.first_timestamp,
                    last_timestamp: epoch.last_timestamp,
                    batches: epoch.batches,
                    records: epoch.records,
                    first,
                    last,
                    epochs: 1,
                    ends: epoch.ends,
                    ends_at: epoch.first_offset,
                },
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::fold;
    use super::*;

    fn names(scripts: &[&str]) -> Vec<(String, u64)> {
        let facts: Vec<PartitionFacts> = scripts.iter().map(|script| fold(script)).collect();
        let context = PartitionContext::default();
        let partitions: Vec<_> = facts.iter().map(|facts| (&context, facts)).collect();
        let sessions = Sessions::build(&partitions);
        sessions
            .iter()
            .map(|(_, session)| (session.name(), session.spans.iter().map(|span| span.epochs).sum()))
            .collect()
    }

    fn told(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
        expected.iter().map(|&(name, epochs)| (name.to_owned(), epochs)).collect()
    }

    #[test]
    fn epoch_bumps_without_transactions_stay_in_the_session() {
        assert_eq!(names(&["D 5/0 0..4; D 5/1 0..1; D 5/3 0..0"]), told(&[("5#1", 3)]));
    }

    #[test]
    fn transactions_of_protocol_two_are_one_session_and_its_restart_skips_an_epoch() {
        let script = "X 7/4 0..1; +M 7/5; X 7/5 0..0; -M 7/6; X 7/7 0..0; +M 7/8";
        assert_eq!(names(&[script]), told(&[("7#1", 2), ("7#2", 1)]));
    }

    #[test]
    fn a_restart_of_protocol_one_is_the_next_epoch_without_a_marker_of_its_own() {
        let script = "X 7/4 0..1; +M 7/4; X 7/4 2..2; +M 7/4; X 7/5 0..0; +M 7/5";
        assert_eq!(names(&[script]), told(&[("7#1", 1), ("7#2", 1)]));
    }

    #[test]
    fn a_partition_that_took_no_part_is_bridged_by_the_others() {
        let here = "X 7/4 0..1; +M 7/5; X 7/6 0..0; +M 7/7";
        let there = "X 7/5 0..1; +M 7/6";
        assert_eq!(names(&[here, there]), told(&[("7#1", 3)]));
        assert_eq!(names(&[here]), told(&[("7#1", 1), ("7#2", 1)]));
    }

    #[test]
    fn lookup_finds_the_session_and_its_place_in_each_partition() {
        let facts = [fold("D 5/0 0..4; X 7/4 0..0; +M 7/4; X 7/6 0..0"), fold("D 5/0 0..1; D 5/1 0..0")];
        let context = PartitionContext::default();
        let sessions = Sessions::build(&[(&context, &facts[0]), (&context, &facts[1])]);
        let five = sessions.lookup(ProducerId(5), Some(ProducerEpoch(1))).unwrap();
        assert_eq!(Some(five), sessions.lookup(ProducerId(5), Some(ProducerEpoch(0))));
        let session = sessions.get(five).unwrap();
        assert_eq!(session.in_partition(1).unwrap().last_offset, Offset(2));
        assert_eq!(session.in_partition(1).unwrap().records, 3);
        let seven = sessions.lookup(ProducerId(7), Some(ProducerEpoch(6))).unwrap();
        let (from, to) = (Some(ProducerEpoch(4)), Some(ProducerEpoch(6)));
        assert_eq!(sessions.get(seven).unwrap().start, SessionStart::EpochStep { from, to });
        assert_eq!(sessions.lookup(ProducerId(9), None), None);
    }
}
