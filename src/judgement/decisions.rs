//! What the coordinator decided about transactions whose logs leave a question.
//!
//! Goes in: the transactions of all partitions that have no end, or an abort under the epoch of their data while
//! their producer committed elsewhere; then, in offset order, the values of `__transaction_state`. Comes out, for each of
//! them, what a decision says of it. Only answers are kept, so memory grows with the questions, not with that topic.
//!
//! A decision (`PrepareCommit`, `PrepareAbort`) names all partitions of its transaction, when it began and when it was
//! decided. A coordinator has one transaction of an id at a time, and begins the next when every partition has its
//! marker. So what was aborted in a partition between the beginning of a transaction that names it and the decision
//! to commit that, was not aborted by the coordinator. Whether values between are compacted away does not matter:
//! the decision itself has both times.
//!
//! Source: `TransactionMetadata.prepareAbortOrCommit`, `TransactionCoordinator.endTransaction`; KIP-98, and KIP-890 for
//! decisions that carry the next epoch.

use super::Partition;
use crate::facts::{
    Outcome, PartitionContext, PartitionFacts, TransactionMetadata, TransactionSpan, TransactionStatus,
};
use crate::units::{ClusterNumber, Offset, ProducerId};
use std::collections::{BTreeMap, BTreeSet};

/// Markers of one transaction are written at once; clocks of brokers differ by less.
pub(super) const TOGETHER_MS: i64 = 10_000;

/// The clocks of brokers that keep time differ by less.
pub(super) const STEP_MS: i64 = 1_000;

/// A decision to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// When it was decided.
    pub(super) decided: i64,
    /// The partitions of the transaction.
    pub(super) partitions: Vec<(String, Vec<i32>)>,
}

impl Decision {
    /// Whether the transaction had data in a partition.
    pub(super) fn names(&self, topic: &str, partition: i32) -> bool {
        names(&self.partitions, topic, partition)
    }
}

fn names(partitions: &[(String, Vec<i32>)], topic: &str, partition: i32) -> bool {
    partitions.iter().any(|(name, numbers)| name == topic && numbers.contains(&partition))
}

/// A transaction in one partition: cluster, topic, partition, producer, first offset.
type Place = (ClusterNumber, String, i32, ProducerId, Offset);

fn place(context: &PartitionContext, span: &TransactionSpan) -> Place {
    (context.cluster, context.topic.clone(), context.partition, span.producer_id, span.first_offset)
}

/// A transaction that is asked about, and what was answered.
#[derive(Clone, Debug)]
struct Question {
    span: TransactionSpan,
    /// The decision to commit that was under way when it was aborted.
    committed: Option<Decision>,
    /// When its abort was decided.
    aborted: Option<i64>,
    /// When the last marker of the producer in front of it was written.
    marker_before: Option<i64>,
    /// The newest decisions that name the partition, where the log has no end.
    newest: [Option<Ending>; 2],
    /// The decision that is known to be its own by the one in front of it: later ones may have come behind the end of a copy.
    between: Option<Ending>,
}

/// A decision, without its partitions.
#[derive(Clone, Copy, Debug)]
struct Ending {
    outcome: Outcome,
    start: i64,
    decided: i64,
}

/// Questions, and the answers so far.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    by_place: BTreeMap<Place, Question>,
    places: BTreeMap<(ClusterNumber, ProducerId), Places>,
}

/// The transactions of a producer that are asked about.
#[derive(Clone, Debug, Default)]
struct Places {
    open: Vec<Place>,
    /// By the time of the marker: a decision bears on few of them.
    aborted: BTreeMap<i64, Vec<Place>>,
}

impl Places {
    /// Those on which a decision may bear.
    fn near(&self, outcome: Outcome, start: i64, decided: i64) -> impl Iterator<Item = &Place> {
        let times = match outcome {
            Outcome::Committed => start.saturating_add(TOGETHER_MS)..decided,
            Outcome::Aborted | Outcome::Open => {
                decided.saturating_sub(TOGETHER_MS)..decided.saturating_add(TOGETHER_MS).saturating_add(1)
            }
        };
        let aborted =
            (times.start < times.end).then(|| self.aborted.range(times).flat_map(|(_, places)| places));
        self.open.iter().chain(aborted.into_iter().flatten())
    }
}

impl Decisions {
    /// What the logs leave open.
    #[must_use]
    pub fn asked(partitions: &[Partition<'_>]) -> Self {
        let spans = || {
            let outside = partitions.iter().filter(|(context, _)| !context.internal);
            outside.flat_map(|&(context, facts)| {
                facts.transactions.iter().map(move |span| (context, facts, span))
            })
        };
        let committed: BTreeSet<(ClusterNumber, ProducerId)> = spans()
            .filter(|(.., span)| span.outcome == Outcome::Committed)
            .map(|(context, _, span)| (context.cluster, span.producer_id))
            .collect();
        let mut this = Self::default();
        for (context, facts, span) in spans() {
            let producer = (context.cluster, span.producer_id);
            let is_asked = span.is_without_end()
                || (span.outcome == Outcome::Aborted
                    && span.marker_epoch == span.producer_epoch
                    && committed.contains(&producer));
            if is_asked {
                let place = place(context, span);
                let places = this.places.entry(producer).or_default();
                match span.marker_timestamp.filter(|_| span.outcome == Outcome::Aborted) {
                    Some(abort) => places.aborted.entry(abort).or_default().push(place.clone()),
                    None => places.open.push(place.clone()),
                }
                let marker_before = if span.is_without_end() { marker_before(facts, span) } else { None };
                let newest = [None, None];
                let question = Question {
                    span: *span,
                    committed: None,
                    aborted: None,
                    marker_before,
                    newest,
                    between: None,
                };
                this.by_place.insert(place, question);
            }
        }
        this
    }

    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    /// Takes the next value of a transactional id of a cluster.
    pub fn hear(&mut self, cluster: ClusterNumber, state: &TransactionMetadata) {
        let outcome = match state.status {
            TransactionStatus::PrepareCommit => Outcome::Committed,
            TransactionStatus::PrepareAbort => Outcome::Aborted,
            TransactionStatus::Empty
            | TransactionStatus::Ongoing
            | TransactionStatus::CompleteCommit
            | TransactionStatus::CompleteAbort
            | TransactionStatus::Dead
            | TransactionStatus::PrepareEpochFence
            | TransactionStatus::Unknown(_) => return,
        };
        let (Some(start), Some(decided)) = (state.start, state.last_update) else { return };
        let (start, decided) = (start.0, decided.0);
        let Some(places) = self.places.get(&(cluster, state.producer_id)) else { return };
        for place in places.near(outcome, start, decided) {
            let Some(question) = self.by_place.get_mut(place) else { continue };
            let data = question.span.producer_epoch;
            let is_of_epoch = state
                .producer_epoch
                .zip(data)
                .is_some_and(|(state, data)| state == data || state.is_next_of(data));
            if !is_of_epoch || !names(&state.partitions, &place.1, place.2) {
                continue;
            }
            question.hear(Ending { outcome, start, decided }, &state.partitions);
        }
    }

    fn question(&self, (context, _): Partition<'_>, span: &TransactionSpan) -> Option<&Question> {
        // A lookup borrows a pair of them only with an owned name.
        self.by_place.get(&place(context, span))
    }

    /// The decision to commit during whose transaction this part was aborted, by somebody else than the coordinator.
    pub(super) fn committed_meanwhile(&self, at: Partition<'_>, span: &TransactionSpan) -> Option<&Decision> {
        self.question(at, span)?.committed.as_ref()
    }

    /// When the coordinator decided to abort this part.
    pub(super) fn aborted_at(&self, at: Partition<'_>, span: &TransactionSpan) -> Option<i64> {
        self.question(at, span)?.aborted
    }

    /// How and when the coordinator decided to end a part that has no end in its log.
    pub(super) fn ended(&self, at: Partition<'_>, span: &TransactionSpan) -> Option<(Outcome, i64)> {
        self.question(at, span)?.ended()
    }
}

/// When the last marker of the producer in front of a transaction was written.
fn marker_before(facts: &PartitionFacts, span: &TransactionSpan) -> Option<i64> {
    let of_data = facts.transactions.iter().filter(|one| one.producer_id == span.producer_id);
    let of_data = of_data.filter_map(|one| Some((one.marker_offset?, one.marker_timestamp?)));
    let of_nothing = facts.empty_markers.iter().filter(|one| one.producer_id == span.producer_id);
    let of_nothing = of_nothing.filter_map(|one| Some((one.offset, one.timestamp?)));
    let before = of_data.chain(of_nothing).filter(|(offset, _)| *offset < span.first_offset);
    before.max_by_key(|(offset, _)| *offset).map(|(_, time)| time)
}

impl Question {
    fn hear(&mut self, ending: Ending, partitions: &[(String, Vec<i32>)]) {
        let span = &self.span;
        let Ending { outcome, start, decided } = ending;
        // Data that is older belongs to a transaction before.
        let is_of_it = |time: Option<i64>| time.is_some_and(|time| time.saturating_add(TOGETHER_MS) >= start);
        if let Some(abort) = span.marker_timestamp.filter(|_| span.outcome == Outcome::Aborted) {
            match outcome {
                Outcome::Committed => {
                    let meanwhile = start.saturating_add(TOGETHER_MS) <= abort && abort < decided;
                    if meanwhile && is_of_it(span.first_timestamp) {
                        self.committed = Some(Decision { decided, partitions: partitions.to_vec() });
                    }
                }
                Outcome::Aborted if decided.abs_diff(abort) <= TOGETHER_MS.unsigned_abs() => {
                    self.aborted = Some(decided);
                }
                Outcome::Aborted | Outcome::Open => {}
            }
        } else if span.is_without_end() {
            if self.newest[1].is_some_and(|earlier| self.lies_between(earlier, ending)) {
                self.between = Some(ending);
            }
            self.newest = [self.newest[1], Some(ending)];
        }
    }

    /// Whether the marker in front is that of one decision, and this transaction that of the next, on each of the clocks: the
    /// coordinator decided, the marker came, the coordinator began the next one and decided it, and the producer's records
    /// were created in between. A producer may create some before the coordinator begins.
    fn lies_between(&self, earlier: Ending, next: Ending) -> bool {
        let times = self.span.first_timestamp.zip(self.span.last_timestamp);
        let (Some((first, newest)), Some(marker)) = (times, self.marker_before) else { return false };
        let after = marker.saturating_sub(earlier.decided);
        let is_marked_by_it = (0..=STEP_MS).contains(&after) && after < next.decided.saturating_sub(marker);
        is_marked_by_it && marker <= next.start && earlier.decided <= first && newest <= next.decided
    }

    /// How a transaction without end was ended: by the newest decision that names its partition, unless that is the
    /// one of the marker in front of it.
    ///
    /// A later transaction would have joined this one in its partition. The marker is written right behind its
    /// decision, on another clock: within [`STEP_MS`] where clocks are kept, within [`TOGETHER_MS`] for sure. Transactions that
    /// follow each other sooner are told apart where all of the clocks say one order.
    fn ended(&self) -> Option<(Outcome, i64)> {
        if let Some(own) = self.between {
            return Some((own.outcome, own.decided));
        }
        let [earlier, last] = self.newest;
        let last = last?;
        let span = &self.span;
        // A decision is about nothing that was written behind it.
        let begun = span.first_timestamp? <= last.decided.saturating_add(STEP_MS);
        let of_it = span.last_timestamp?.saturating_add(TOGETHER_MS) >= last.start;
        let is_its_own = self.marker_before.is_none_or(|marker| {
            let since = last.decided.saturating_sub(marker);
            let has_another =
                earlier.is_some_and(|earlier| earlier.decided.abs_diff(marker) <= STEP_MS.unsigned_abs());
            since > TOGETHER_MS || (since > STEP_MS && has_another)
        });
        (begun && of_it && is_its_own).then_some((last.outcome, last.decided))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::facts::script::{START, fold_partitions};
    use crate::units::{ProducerEpoch, Timestamp};

    /// A decision about transactions of producer 7 in partitions of `orders`; times in seconds from the start.
    pub(in super::super) fn state(
        status: TransactionStatus,
        epoch: i16,
        [start, decided]: [i64; 2],
        partitions: &[i32],
    ) -> TransactionMetadata {
        TransactionMetadata {
            producer_id: ProducerId(7),
            previous_producer_id: None,
            next_producer_id: None,
            producer_epoch: Some(ProducerEpoch(epoch)),
            timeout_ms: 60_000,
            status,
            partitions: vec![("orders".to_owned(), partitions.to_vec())],
            last_update: Some(Timestamp(START + decided * 1_000)),
            start: Some(Timestamp(START + start * 1_000)),
            client_transaction_version: 0,
        }
    }

    const COMMIT: TransactionStatus = TransactionStatus::PrepareCommit;
    const ABORT: TransactionStatus = TransactionStatus::PrepareAbort;

    /// What is said of the first transaction of the first partition.
    fn told(scripts: &[&str], states: &[TransactionMetadata]) -> (bool, bool, Option<Outcome>) {
        let all = fold_partitions(scripts);
        let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
        let mut decisions = Decisions::asked(&partitions);
        for state in states {
            decisions.hear(ClusterNumber::default(), state);
        }
        let at = partitions[0];
        let span = &at.1.transactions[0];
        let ended = decisions.ended(at, span).map(|(outcome, _)| outcome);
        (decisions.committed_meanwhile(at, span).is_some(), decisions.aborted_at(at, span).is_some(), ended)
    }

    const BY_HAND: [&str; 2] =
        ["X 7/4 0..0; wait 1h; -M 7/4; wait 60s; +M 7/4", "X 7/4 0..0; wait 1h; wait 60s; +M 7/4"];

    #[test]
    fn an_abort_while_a_transaction_ran_that_was_committed_is_not_the_coordinators() {
        assert_eq!(told(&BY_HAND, &[state(COMMIT, 4, [0, 3660], &[0, 1])]), (true, false, None));
        // Under protocol 2 the decision has the next epoch.
        assert!(told(&BY_HAND, &[state(COMMIT, 5, [0, 3660], &[0, 1])]).0);
        // It does not name the partition, was of another epoch, or began when the abort was there.
        for other in [
            state(COMMIT, 4, [0, 3660], &[1]),
            state(COMMIT, 6, [0, 3660], &[0, 1]),
            state(COMMIT, 4, [3599, 3660], &[0, 1]),
            state(COMMIT, 4, [0, 3500], &[0, 1]),
        ] {
            assert_eq!(told(&BY_HAND, &[other]), (false, false, None));
        }
    }

    #[test]
    fn older_data_hung_there_and_was_aborted_for_itself() {
        let hung = ["X 7/4 0..0; wait 1h; wait 1h; -M 7/4; wait 60s; +M 7/4", BY_HAND[1]];
        assert_eq!(told(&hung, &[state(COMMIT, 4, [3600, 7260], &[0, 1])]), (false, false, None));
    }

    #[test]
    fn the_coordinators_own_abort_is_known() {
        let other = state(COMMIT, 4, [3610, 3660], &[0, 1]);
        assert_eq!(told(&BY_HAND, &[state(ABORT, 4, [0, 3600], &[0, 1]), other]), (false, true, None));
        assert_eq!(told(&BY_HAND, &[state(ABORT, 4, [0, 3000], &[0, 1])]), (false, false, None));
    }

    #[test]
    fn what_has_no_end_in_its_log_may_have_been_decided() {
        let open = ["X 7/4 0..0; wait 10s; X 7/4 1..1"];
        assert_eq!(told(&open, &[state(COMMIT, 4, [0, 30], &[0])]).2, Some(Outcome::Committed));
        assert_eq!(told(&open, &[state(ABORT, 4, [0, 30], &[0])]).2, Some(Outcome::Aborted));
        assert_eq!(told(&open, &[state(COMMIT, 4, [40, 50], &[0])]).2, None);
        assert_eq!(told(&["X 7/4 0..0; +M 7/4"], &[state(COMMIT, 4, [0, 30], &[0])]).2, None);
    }

    /// How the open transaction of a partition was ended, by what the coordinator said.
    fn open_one_ended(script: &str, states: &[TransactionMetadata]) -> Option<Outcome> {
        let all = fold_partitions(&[script]);
        let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
        let mut decisions = Decisions::asked(&partitions);
        for state in states {
            decisions.hear(ClusterNumber::default(), state);
        }
        let open = partitions[0].1.transactions.iter().find(|span| span.is_without_end()).unwrap();
        decisions.ended(partitions[0], open).map(|(outcome, _)| outcome)
    }

    #[test]
    fn the_decision_of_the_marker_in_front_ends_nothing_behind_it() {
        let second = "wait 10s; X 7/4 0..0; -M 7/4; X 7/4 1..1";
        let ended = |states: &[TransactionMetadata]| open_one_ended(second, states);
        let first = state(ABORT, 4, [9, 10], &[0]);
        assert_eq!(ended(std::slice::from_ref(&first)), None);
        assert_eq!(ended(&[first.clone(), state(COMMIT, 4, [11, 15], &[0])]), Some(Outcome::Committed));
        // Alone, it may be that of the marker, by a clock that is some seconds off.
        assert_eq!(ended(&[state(COMMIT, 4, [11, 15], &[0])]), None);
        assert_eq!(ended(&[state(COMMIT, 4, [11, 30], &[0])]), Some(Outcome::Committed));
    }

    #[test]
    fn transactions_in_quick_succession_are_told_apart_where_all_clocks_say_one_order() {
        // Of protocol 1, some milliseconds each: the marker of the first, and the second without one.
        let quick = "X 7/4 0..0; wait 10ms; +M 7/4; wait 90ms; X 7/4 1..1; wait 6ms; X 7/4 2..2";
        let at = |status, start: i64, decided: i64| {
            let mut state = state(status, 4, [0, 0], &[0, 1]);
            state.start = Some(Timestamp(START + start));
            state.last_update = Some(Timestamp(START + decided));
            state
        };
        let ended = |states: &[TransactionMetadata]| open_one_ended(quick, states);
        let first = at(COMMIT, 1, 9);
        assert_eq!(ended(&[first.clone(), at(COMMIT, 102, 111)]), Some(Outcome::Committed));
        assert_eq!(ended(&[first.clone(), at(ABORT, 102, 111)]), Some(Outcome::Aborted));
        // A log that was copied before the next ones.
        let later = [first.clone(), at(COMMIT, 102, 111), at(ABORT, 180, 190), at(ABORT, 200, 250)];
        assert_eq!(ended(&later), Some(Outcome::Committed));
        // The decision is older than the records, or that of the marker, or the clocks do not agree.
        for states in [
            vec![first.clone()],
            vec![at(COMMIT, -80, -70), first.clone()],
            vec![first.clone(), at(COMMIT, 9, 105)],
            vec![first.clone(), at(COMMIT, 30, 50)],
            vec![at(COMMIT, 5, 14), at(COMMIT, 102, 111)],
        ] {
            assert_eq!(ended(&states), None, "{states:?}");
        }
        // Nothing was decided that far in front of what was written.
        let late = ["wait 8s; X 7/4 0..0"];
        assert_eq!(told(&late, &[state(ABORT, 4, [0, 1], &[0])]).2, None);
    }

    #[test]
    fn only_what_the_logs_leave_open_is_asked() {
        let asked = |scripts: &[&str]| {
            let all = fold_partitions(scripts);
            let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
            Decisions::asked(&partitions).by_place.len()
        };
        assert_eq!(asked(&["X 7/4 0..0; +M 7/4", "X 8/4 0..0; -M 8/4"]), 0);
        assert_eq!(asked(&["X 7/4 0..0; +M 7/4; X 8/4 0..0", "X 7/4 0..0; -M 7/4"]), 2);
        // The abort of a fenced producer has the next epoch: no operator's.
        assert_eq!(asked(&["X 7/4 0..0; +M 7/4", "X 7/4 0..0; -M 7/5"]), 0);
    }
}
