//! `producer-id-collision`: one producer id, two writers.
//!
//! Evidence: a range of sequences of one id and epoch, or its beginning at 0, stands there again
//! with other records. What the second writer goes on with belongs to it, also where other borders of its
//! batches make them overlap with those of the first. A retry brings equal records (`broker-dedup-lost`). Innocent twin: clients
//! before 2.5 that begin again at 0 after UNKNOWN_PRODUCER_ID; where the log start shows that, the
//! ledger says so and nothing comes here; where the head of the log is gone and no checkpoint tells the log
//! start, nobody can tell the two apart. Known causes: KAFKA-15552, a rebuilt cluster that hands
//! out ids again while old producers live.

use super::Partition;
use super::draft::{about, at, capped, count, dropped, each_topic, finding, kept, lines};
use crate::facts::{PartitionContext, PartitionFacts, SequenceStep, StepKind};
use crate::finding::{Code, Confidence, Finding, Severity, Window};
use crate::units::{Offset, ProducerId, TopicNumber};
use std::collections::BTreeSet;

/// A batch by topic, partition and base offset.
pub type BatchPlaces = BTreeSet<(TopicNumber, i32, i64)>;

/// Which of the batches that step back hold copies of earlier records.
#[derive(Clone, Copy, Debug)]
pub enum Copies<'a> {
    /// These, and no others.
    Are(&'a BatchPlaces),
    /// Nobody looked at the records.
    Unknown,
}

impl Copies<'_> {
    /// Whether the batch of the step holds copies.
    pub(super) fn hold(self, context: &PartitionContext, step: &SequenceStep) -> bool {
        match self {
            Self::Are(places) => {
                places.contains(&(context.topic_number, context.partition, step.at_offset.0))
            }
            Self::Unknown => false,
        }
    }
}

/// The batches that step back; whether their records are copies is for the relations to say.
#[must_use]
pub fn stepping_back(partitions: &[Partition<'_>]) -> BatchPlaces {
    let steps = |&(context, facts): &Partition<'_>| {
        let place = |step: &SequenceStep| (context.topic_number, context.partition, step.at_offset.0);
        facts.steps.iter().map(place).collect::<Vec<_>>()
    };
    partitions.iter().flat_map(steps).collect()
}

/// Findings about reused ranges whose records are no copies.
pub(super) fn judge(partitions: &[Partition<'_>], copies: Copies<'_>) -> Vec<Finding> {
    if let Copies::Unknown = copies {
        return Vec::new();
    }
    each_topic(partitions, |(topic, _), partitions| in_topic(topic, partitions, copies))
}

/// Whether the batch takes a range, or the beginning at 0, a second time.
pub(super) fn is_reuse(step: &SequenceStep) -> bool {
    match step.kind {
        StepKind::Repeat => true,
        StepKind::StepBack | StepKind::Overlap => step.first_sequence.is_some_and(|first| first.get() == 0),
        StepKind::RestartBehindDeletion
        | StepKind::RepeatOfSnapshot
        | StepKind::MarkerDown
        | StepKind::EpochDown
        | StepKind::WriteBehindMarker
        | StepKind::OutsideTransaction => false,
    }
}

/// Whether a second writer of the step's producer id and epoch has begun before it in the partition: then
/// the step is a part of what is told of the two.
pub(super) fn is_of_second_writer(
    step: &SequenceStep,
    steps: &[SequenceStep],
    is_copy: impl Fn(&SequenceStep) -> bool,
) -> bool {
    let begins = |other: &&SequenceStep| {
        (other.producer_id, other.producer_epoch) == (step.producer_id, step.producer_epoch)
            && other.at_offset < step.at_offset
            && is_reuse(other)
            && !is_copy(other)
    };
    matches!(step.kind, StepKind::Overlap | StepKind::StepBack) && steps.iter().any(|other| begins(&other))
}

/// Whether the producer may have begun again because all that it wrote before was deleted: only the log start
/// could tell, and it is not known.
fn may_begin_again(context: &PartitionContext, step: &SequenceStep) -> bool {
    let head_is_gone = context.segment_bases.first().is_some_and(|first| *first > Offset(0));
    let at_0 = step.first_sequence.is_some_and(|first| first.get() == 0);
    head_is_gone && !context.log_starts_given && (at_0 || step.kind != StepKind::Repeat)
}

fn in_topic(topic: &str, partitions: &[Partition<'_>], copies: Copies<'_>) -> Option<Finding> {
    let mut steps: Vec<(i32, &SequenceStep)> = Vec::new();
    let (mut surely, mut starts_given) = (false, true);
    for (context, facts) in partitions {
        let is_copy = |step: &SequenceStep| copies.hold(context, step);
        let told = |step: &&SequenceStep| {
            !is_copy(step) && (is_reuse(step) || is_of_second_writer(step, &facts.steps, is_copy))
        };
        let here = steps.len();
        steps.extend(facts.steps.iter().filter(told).map(|step| (context.partition, step)));
        let of_here = steps.get(here..).unwrap_or_default();
        starts_given &= of_here.is_empty() || context.log_starts_given;
        surely |= of_here.iter().any(|(_, step)| !may_begin_again(context, step));
    }
    let ids: BTreeSet<i64> = steps.iter().map(|(_, step)| step.producer_id.0).collect();
    if steps.is_empty() {
        return None;
    }
    let many = u64::try_from(ids.len()).unwrap_or(u64::MAX);
    let title = if surely {
        format!("{topic}: {} more than one writer", count(many, "producer id has", "producer ids have"))
    } else {
        format!(
            "{topic}: {} again at 0 with other records: a second writer, or a client behind deleted records",
            count(many, "producer id begins", "producer ids begin")
        )
    };
    let confidence = if surely { Confidence::Likely } else { Confidence::Possible };
    let mut finding = finding(Code::ProducerIdCollision, confidence, title);
    if !surely {
        finding.severity = Severity::Medium;
    }
    about(&mut finding, steps.iter().map(|&(partition, _)| (topic, partition)));
    let times = || steps.iter().filter_map(|(_, step)| step.timestamp);
    finding.window = Some(Window::new(times().min(), times().max()));
    let lines_of = steps.iter().map(|&(partition, step)| {
        let number =
            |sequence: Option<crate::units::Sequence>| sequence.map_or(-1, crate::units::Sequence::get);
        let again = if is_reuse(step) { "again " } else { "" };
        let overlap = if is_reuse(step) {
            "with other records"
        } else {
            "over sequences that the other writer had used in batches of other bounds"
        };
        format!(
            "{topic}-{partition}: producer {} wrote sequences {} to {} {again}at offset {} ({}), {overlap}",
            step.producer_id,
            number(step.first_sequence),
            number(step.last_sequence),
            step.at_offset,
            at(step.timestamp)
        )
    });
    finding.facts = capped(lines_of, "batches");
    let in_order = partitions.iter().filter_map(|(context, facts)| {
        let here = steps.iter().filter(|(partition, _)| *partition == context.partition);
        order(context, facts, &here.map(|(_, step)| *step).collect::<Vec<_>>())
    });
    finding.facts.extend(capped(in_order, "partitions"));
    if surely {
        finding.facts.push(
            "ranges were stored that were there already: the broker did not know them any more at that time; one that \
             does answers such a batch as a duplicate, and stores nothing of it"
                .to_owned(),
        );
    }
    finding.alternatives = vec![
        dropped("broker-dedup-lost", "the records differ, so nothing is stored twice"),
        kept(
            "client restart",
            if starts_given {
                "clients before 2.5 begin again at 0 under the same id after UNKNOWN_PRODUCER_ID; the log start does not show it here"
            } else {
                "clients before 2.5 begin again at 0 under the same id after UNKNOWN_PRODUCER_ID; log-start-offset-checkpoint, which could show that their records were deleted, is not among the files"
            },
        ),
    ];
    finding.would_settle = lines([
        "which applications had this producer id at both times",
        "the client versions and the broker's log",
    ]);
    finding.advice = if surely {
        lines([
            "reconcile what both writers were told is stored (dedup-audit reconcile): a new record of one that a broker took for a \
             repeat of the other is acknowledged and stored nowhere",
            "restart the producers for new ids",
            "look for a rebuilt or migrated cluster that hands out producer ids again (KAFKA-15552)",
        ])
    } else {
        lines([
            "find out which it was, before anything is restarted: the log start at that time, and the client's version",
            "a client before 2.5 is to be updated; two writers under one id come from a rebuilt or migrated cluster (KAFKA-15552)",
        ])
    };
    Some(finding)
}

/// Whether the writers wrote one after the other, as the order of sequences in a partition shows.
fn order(context: &PartitionContext, facts: &PartitionFacts, steps: &[&SequenceStep]) -> Option<String> {
    let first = steps.iter().min_by_key(|step| step.at_offset)?;
    // Of one writer: other ids have their own story.
    let of_it = |id: ProducerId, offset: Offset| id == first.producer_id && offset > first.at_offset;
    let goes_on = |step: &SequenceStep| {
        step.previous_sequence
            .zip(step.first_sequence)
            .is_some_and(|(before, next)| before.advance(1) == next)
    };
    let turns = facts.steps.iter().any(|step| of_it(step.producer_id, step.at_offset) && !goes_on(step))
        || facts.gaps.iter().any(|gap| of_it(ProducerId(gap.producer_id), Offset(gap.at_offset)));
    let place = format!("{}-{}", context.topic, context.partition);
    let (id, at) = (first.producer_id, first.at_offset);
    Some(if turns {
        format!("{place}: the writers of producer {id} take turns from offset {at} on: both were alive")
    } else {
        format!(
            "{place}: what stands from offset {at} on under producer {id} is in one order of sequences: one writer behind the \
             other, as far as this shows"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::fold_in;

    #[test]
    fn a_beginning_at_0_behind_a_head_that_is_gone_accuses_nobody_without_the_log_start() {
        let told = |context: PartitionContext, script: &str| {
            let (context, facts) = fold_in(context, script);
            let finding = judge(&[(&context, &facts)], Copies::Are(&BatchPlaces::new())).remove(0);
            (finding.confidence, finding.severity, finding.alternatives[1].why.clone())
        };
        let headless = |log_starts_given| PartitionContext {
            segment_bases: vec![Offset(1200)],
            log_start_offset: Offset(1200),
            log_starts_given,
            ..PartitionContext::default()
        };
        let script = "at 1200; D 5/0 30..34; D 5/0 0..1";
        let (confidence, severity, why) = told(headless(false), script);
        assert_eq!((confidence, severity), (Confidence::Possible, Severity::Medium));
        assert!(why.contains("is not among the files"), "{why}");
        let (confidence, severity, why) = told(headless(true), script);
        assert_eq!((confidence, severity), (Confidence::Likely, Severity::High));
        assert!(why.contains("does not show it here"), "{why}");
        let whole = told(PartitionContext::default(), "D 5/0 0..4; D 5/0 0..1");
        assert_eq!((whole.0, whole.1), (Confidence::Likely, Severity::High));
    }

    #[test]
    fn writers_that_take_turns_are_told_from_one_behind_the_other_and_both_are_to_be_reconciled() {
        let told = |script: &str| {
            let (context, facts) = fold_in(PartitionContext::default(), script);
            let finding = judge(&[(&context, &facts)], Copies::Are(&BatchPlaces::new())).remove(0);
            assert!(finding.advice[0].contains("acknowledged and stored nowhere"), "{finding:#?}");
            finding.facts.iter().any(|fact| fact.contains("take turns from offset 5 on"))
        };
        assert!(!told("D 5/0 0..4; D 5/0 0..2; D 5/0 3..4"));
        assert!(told("D 5/0 0..4; D 5/0 0..2; D 5/0 5..6; D 5/0 3..4"));
    }
}
