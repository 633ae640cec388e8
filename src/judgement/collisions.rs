//! `producer-id-collision`: one producer id, two writers.
//!
//! Evidence: a range of sequences of one id and epoch, or its beginning at 0, stands there again
//! with other records. What the second writer goes on with belongs to it, also where other borders of its
//! batches make them overlap with those of the first. A retry brings equal records (`broker-dedup-lost`). Innocent twin: clients
//! before 2.5 that begin again at 0 after UNKNOWN_PRODUCER_ID; where the log start shows that, the
//! ledger says so and nothing comes here. Known causes: KAFKA-15552, a rebuilt cluster that hands
//! out ids again while old producers live.

use super::Partition;
use super::draft::{about, at, by_topic, capped, count, dropped, finding, kept, lines};
use crate::facts::{SequenceStep, StepKind};
use crate::finding::{Code, Confidence, Finding, Window};
use std::collections::BTreeSet;

/// A batch by topic, partition and base offset.
pub type BatchPlaces = BTreeSet<(String, i32, i64)>;

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
    pub(super) fn hold(self, topic: &str, partition: i32, step: &SequenceStep) -> bool {
        match self {
            Self::Are(places) => places.contains(&(topic.to_owned(), partition, step.at_offset.0)),
            Self::Unknown => false,
        }
    }
}

/// The batches that step back; whether their records are copies is for the relations to say.
#[must_use]
pub fn stepping_back(partitions: &[Partition<'_>]) -> BatchPlaces {
    let steps = |(context, facts): &Partition<'_>| {
        let topic = context.topic.clone();
        let partition = context.partition;
        let steps: Vec<i64> = facts.steps.iter().map(|step| step.at_offset.0).collect();
        steps.into_iter().map(move |offset| (topic.clone(), partition, offset))
    };
    partitions.iter().flat_map(steps).collect()
}

/// Findings about reused ranges whose records are no copies.
pub(super) fn judge(partitions: &[Partition<'_>], copies: Copies<'_>) -> Vec<Finding> {
    if let Copies::Unknown = copies {
        return Vec::new();
    }
    by_topic(partitions)
        .into_iter()
        .filter_map(|(topic, partitions)| in_topic(topic, &partitions, copies))
        .collect()
}

/// Whether the batch takes a range, or the beginning at 0, a second time.
pub(super) fn is_reuse(step: &SequenceStep) -> bool {
    match step.kind {
        StepKind::Repeat => true,
        StepKind::StepBack | StepKind::Overlap => step.first_sequence.is_some_and(|first| first.get() == 0),
        StepKind::RestartBehindDeletion
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
    copied: impl Fn(&SequenceStep) -> bool,
) -> bool {
    let begins = |other: &&SequenceStep| {
        (other.producer_id, other.producer_epoch) == (step.producer_id, step.producer_epoch)
            && other.at_offset < step.at_offset
            && is_reuse(other)
            && !copied(other)
    };
    matches!(step.kind, StepKind::Overlap | StepKind::StepBack) && steps.iter().any(|other| begins(&other))
}

fn in_topic(topic: &str, partitions: &[Partition<'_>], copies: Copies<'_>) -> Option<Finding> {
    let mut steps: Vec<(i32, &SequenceStep)> = Vec::new();
    for (context, facts) in partitions {
        let copied = |step: &SequenceStep| copies.hold(topic, context.partition, step);
        let told = |step: &&SequenceStep| {
            !copied(step) && (is_reuse(step) || is_of_second_writer(step, &facts.steps, copied))
        };
        steps.extend(facts.steps.iter().filter(told).map(|step| (context.partition, step)));
    }
    let ids: BTreeSet<i64> = steps.iter().map(|(_, step)| step.producer_id.0).collect();
    if steps.is_empty() {
        return None;
    }
    let many = u64::try_from(ids.len()).unwrap_or(u64::MAX);
    let title =
        format!("{topic}: {} more than one writer", count(many, "producer id has", "producer ids have"));
    let mut finding = finding(Code::ProducerIdCollision, Confidence::Likely, title);
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
    finding.alternatives = vec![
        dropped("broker-dedup-lost", "the records differ, so nothing is stored twice"),
        kept(
            "client restart",
            "clients before 2.5 begin again at 0 under the same id after UNKNOWN_PRODUCER_ID; the log start does not show it here",
        ),
    ];
    finding.would_settle = lines([
        "which applications had this producer id at both times",
        "the client versions and the broker's log",
    ]);
    finding.advice = lines([
        "nothing is stored twice, but retries of one writer could be taken for the other's: restart the producers for new ids",
        "look for a rebuilt or migrated cluster that hands out producer ids again (KAFKA-15552)",
    ]);
    Some(finding)
}
