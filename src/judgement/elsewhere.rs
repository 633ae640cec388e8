//! How a transaction ended that has no end in one log, as other partitions show it.
//!
//! Under protocol 2 an epoch is one transaction, and its markers carry the next epoch: a part with such a marker is
//! a part of the same transaction, and ended as that did. Under protocol 1, where all transactions of a session have
//! one epoch, parts that a producer wrote at the same time are of one transaction, as far as their times are those of
//! sending. And a coordinator begins nothing for a producer before every partition has the marker of what was before:
//! data of a higher epoch anywhere says that this one is over, however it ended. The end is missing here because the
//! copy ends before it, or because it was lost with the end of a log.
//!
//! Innocent twin: a batch that came behind the marker which ended its epoch belongs to no transaction that was
//! ended; nothing is said of it.
//!
//! Source: `TransactionMetadata.prepareAbortOrCommit`, `TransactionCoordinator`; KIP-98, KIP-890.

use super::Partition;
use super::draft::at;
use super::transactions::Placed;
use crate::facts::{Outcome, PartitionContext, StepKind, TimestampType, TransactionSpan};
use crate::units::{ClusterNumber, ProducerEpoch, ProducerId};
use std::collections::{BTreeMap, BTreeSet};

/// Transactions of one epoch that are looked at for one part.
const MAX_LOOKED_AT: usize = 1_000;

/// What says how a part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Epochs: the transaction is over.
    ByEpoch,
    /// The producer's times alone, which an application may have set.
    ByTimes,
}

/// The end of a transaction that has none in its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// How it ended; nothing where that is not among the files.
    pub(super) outcome: Option<Outcome>,
    pub(super) told: Told,
    /// When that marker was written.
    pub(super) time: Option<i64>,
    /// The same in words.
    pub(super) fact: String,
}

/// The transactions of producers that have one without end, of each in the order of epochs and times.
#[derive(Debug, Default)]
pub(super) struct Elsewhere<'a> {
    by_epoch: BTreeMap<(ClusterNumber, ProducerId), BTreeMap<ProducerEpoch, Vec<Placed<'a>>>>,
}

impl<'a> Elsewhere<'a> {
    pub(super) fn of(partitions: &[Partition<'a>]) -> Self {
        let producer =
            |context: &PartitionContext, span: &TransactionSpan| (context.cluster, span.producer_id);
        let all = || {
            partitions.iter().flat_map(|&(context, facts)| {
                facts.transactions.iter().map(move |span| ((context, facts), span))
            })
        };
        let open: BTreeSet<(ClusterNumber, ProducerId)> = all()
            .filter(|((context, _), span)| !context.internal && span.is_without_end())
            .map(|((context, _), span)| producer(context, span))
            .collect();
        let mut this = Self::default();
        for (at, span) in all() {
            let producer = producer(at.0, span);
            if let Some(epoch) = span.producer_epoch.filter(|_| open.contains(&producer)) {
                this.by_epoch.entry(producer).or_default().entry(epoch).or_default().push((at, span));
            }
        }
        for spans in this.by_epoch.values_mut().flat_map(BTreeMap::values_mut) {
            spans.sort_by_key(|((context, _), span)| {
                (span.first_timestamp, context.topic.as_str(), context.partition, span.first_offset)
            });
        }
        this
    }

    /// How a part without end ended elsewhere.
    pub(super) fn end(&self, (here, open): &Placed<'a>) -> Option<End> {
        let epoch = open.producer_epoch?;
        let last = open.last_offset?;
        let came_late = here.1.steps.iter().any(|step| {
            step.kind == StepKind::WriteBehindMarker
                && step.producer_id == open.producer_id
                && (open.first_offset..=last).contains(&step.at_offset)
        });
        if came_late {
            return None;
        }
        let of_producer = self.by_epoch.get(&(here.0.cluster, open.producer_id))?;
        let of_epoch = of_producer.get(&epoch).map_or(&[][..], Vec::as_slice);
        let is_elsewhere = |one: &&Placed<'a>| !std::ptr::eq(one.0.0, here.0);
        let mut ended =
            of_epoch.iter().filter(is_elsewhere).filter(|(_, span)| span.outcome != Outcome::Open);
        let later = of_producer.iter().next_back().filter(|(newest, _)| **newest > epoch);
        let later = later.and_then(|(newest, spans)| Some((*newest, spans.iter().find(is_elsewhere)?)));
        // A session of protocol 1 has many transactions in one epoch, and the last may be aborted under the next.
        let has_many = ended.clone().any(|(_, span)| !has_next_epoch(span));
        let of_two = of_producer.values().flatten();
        let of_two = of_two.filter(|(_, span)| span.outcome == Outcome::Committed && has_next_epoch(span));
        let by_epoch = (!has_many && of_two.count() > 0).then(|| {
            let committed = ended.clone().find(|(_, span)| span.outcome == Outcome::Committed);
            committed.or_else(|| ended.next())
        });
        let went_on = later.map(|(newest, ((context, _), span))| {
            format!(
                "producer {} went on under epoch {newest} in {}-{} (from offset {}): a coordinator begins nothing for it before \
                 all partitions have the marker of what was before",
                open.producer_id, context.topic, context.partition, span.first_offset
            )
        });
        if let Some((there, span)) = by_epoch.flatten() {
            let more = went_on.map(|fact| format!("; {fact}")).unwrap_or_default();
            let fact = format!(
                "{}: the transaction of producer {} epoch {epoch} was {}; its marker carries the next epoch, so \
                 that epoch was one transaction (protocol 2){more}; {}",
                name(here.0),
                open.producer_id,
                ended_in(there.0, span),
                MISSING
            );
            return Some(End {
                outcome: Some(span.outcome),
                told: Told::ByEpoch,
                time: span.marker_timestamp,
                fact,
            });
        }
        let by_times = beside(of_epoch, here.0, open);
        match (by_times, went_on) {
            (Some(((there, _), span)), went_on) => {
                let is_over = went_on.is_some() || has_next_epoch(span);
                let more = went_on.map(|fact| format!("; {fact}")).unwrap_or_default();
                let fact = format!(
                    "{}: what producer {} epoch {epoch} wrote at the same time, by its own clock, was {}, and a producer has one \
                     transaction at a time{more}; {}",
                    name(here.0),
                    open.producer_id,
                    ended_in(there, span),
                    MISSING
                );
                let told = if is_over { Told::ByEpoch } else { Told::ByTimes };
                Some(End { outcome: Some(span.outcome), told, time: span.marker_timestamp, fact })
            }
            (None, Some(went_on)) => {
                let fact = format!(
                    "{}: {went_on}; how this one ended is not in these files; {MISSING}",
                    name(here.0)
                );
                Some(End { outcome: None, told: Told::ByEpoch, time: None, fact })
            }
            (None, None) => None,
        }
    }
}

/// Whether the marker has the epoch behind that of the data.
fn has_next_epoch(span: &TransactionSpan) -> bool {
    let epochs = span.producer_epoch.zip(span.marker_epoch);
    epochs.is_some_and(|(data, marker)| marker.is_next_of(data))
}

/// Why the end is not here.
const MISSING: &str = "the marker here is missing because the copy ends before it, or because it was lost with the end of a log";

fn name(context: &PartitionContext) -> String {
    format!("{}-{}", context.topic, context.partition)
}

fn ended_in(context: &PartitionContext, span: &TransactionSpan) -> String {
    let how = if span.outcome == Outcome::Committed { "committed" } else { "aborted" };
    let marker = span.marker_offset.map(|offset| format!(" at offset {offset}")).unwrap_or_default();
    format!("{how} in {} (marker{marker}, {})", name(context), at(span.marker_timestamp))
}

/// A part of the same epoch that its producer wrote at the same time elsewhere, where all such ended in one way.
fn beside<'s, 'a>(
    of_epoch: &'s [Placed<'a>],
    here: &PartitionContext,
    open: &TransactionSpan,
) -> Option<&'s Placed<'a>> {
    let (first, last) = (open.first_timestamp?, open.last_timestamp?);
    let is_sent = |span: &TransactionSpan| span.times == TimestampType::CreateTime;
    if !is_sent(open) {
        return None;
    }
    let until = of_epoch.partition_point(|(_, span)| span.first_timestamp <= Some(last));
    let at_one_time =
        of_epoch.get(..until)?.iter().rev().take(MAX_LOOKED_AT).filter(|((context, _), span)| {
            let overlaps = span.last_timestamp.is_some_and(|end| end >= first);
            !std::ptr::eq(*context, here) && is_sent(span) && overlaps && span.outcome != Outcome::Open
        });
    let mut at_one_time = at_one_time.peekable();
    let one = *at_one_time.peek()?;
    at_one_time.all(|(_, span)| span.outcome == one.1.outcome).then_some(one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::fold_partitions;

    /// How the first transaction without end ended elsewhere.
    fn ended(scripts: &[&str]) -> Option<(Option<Outcome>, Told)> {
        let all = fold_partitions(scripts);
        let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
        let elsewhere = Elsewhere::of(&partitions);
        let open = partitions.iter().find_map(|&(context, facts)| {
            let span = facts.transactions.iter().find(|span| span.is_without_end())?;
            Some(((context, facts), span))
        });
        elsewhere.end(&open.unwrap()).map(|end| (end.outcome, end.told))
    }

    #[test]
    fn an_epoch_of_protocol_two_ended_here_as_it_did_elsewhere() {
        let committed = ["X 7/2 0..2", "X 7/2 0..1; +M 7/3; X 7/3 0..1; +M 7/4"];
        assert_eq!(ended(&committed), Some((Some(Outcome::Committed), Told::ByEpoch)));
        let aborted = ["X 7/2 0..2", "X 7/1 0..0; +M 7/2; X 7/2 0..1; wait 1h; -M 7/3"];
        assert_eq!(ended(&aborted), Some((Some(Outcome::Aborted), Told::ByEpoch)));
    }

    #[test]
    fn an_abort_under_the_next_epoch_is_that_of_a_fenced_session_where_nothing_shows_protocol_two() {
        let fenced = ["X 7/2 0..2", "X 7/2 0..1; -M 7/3"];
        assert_eq!(ended(&fenced), Some((Some(Outcome::Aborted), Told::ByEpoch)));
        // The last transaction of the session says nothing of one before it.
        assert_eq!(ended(&["X 7/2 0..2", "wait 1h; X 7/2 0..1; -M 7/3"]), None);
    }

    #[test]
    fn a_producer_that_went_on_has_ended_what_was_before() {
        assert_eq!(ended(&["X 7/2 0..2", "X 7/4 0..1; +M 7/5"]), Some((None, Told::ByEpoch)));
        assert_eq!(ended(&["X 7/2 0..2", "X 8/4 0..1; +M 8/5"]), None);
        assert_eq!(ended(&["X 7/2 0..2", "X 7/1 0..1; +M 7/2"]), None);
    }

    #[test]
    fn under_protocol_one_parts_of_one_time_are_one_transaction_and_others_say_nothing() {
        let at_one_time = ["X 7/0 0..2", "X 7/0 0..1; +M 7/0; wait 1h; X 7/0 2..2; -M 7/0"];
        assert_eq!(ended(&at_one_time), Some((Some(Outcome::Committed), Told::ByTimes)));
        assert_eq!(ended(&["wait 1h; X 7/0 0..2", "X 7/0 0..1; +M 7/0"]), None);
        assert_eq!(ended(&["X 7/0 0..2", "X 7/0 0..1; +M 7/0", "X 7/0 0..1; -M 7/0"]), None);
    }

    #[test]
    fn what_came_behind_the_marker_of_its_epoch_was_not_ended_with_it() {
        let late = ["X 7/10 0..4; +M 7/11; X 7/10 5..5", "X 7/10 0..1; +M 7/11; X 7/11 0..0; +M 7/12"];
        assert_eq!(ended(&late), None);
    }

    #[test]
    fn the_words_name_the_marker_and_where_the_producer_went_on() {
        let all = fold_partitions(&["X 7/2 0..2", "X 7/2 0..1; +M 7/3; X 7/5 0..1; +M 7/6"]);
        let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
        let end = Elsewhere::of(&partitions).end(&(partitions[0], &partitions[0].1.transactions[0])).unwrap();
        for words in [
            "orders-0: the transaction of producer 7 epoch 2 was committed in orders-1 (marker at offset 2, ",
            "producer 7 went on under epoch 5 in orders-1 (from offset 3)",
            "the copy ends before it",
        ] {
            assert!(end.fact.contains(words), "{}", end.fact);
        }
    }
}
