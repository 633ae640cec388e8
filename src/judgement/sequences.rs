//! `sequence-anomaly`: batches that no leader with intact memory would have stored.
//!
//! Overlaps, steps back and epochs that go down. A batch is told once: equal records make it
//! `broker-dedup-lost`, other records under a range or a beginning that was there before
//! `producer-id-collision`, with what the second writer went on to write. Only the relations see records; where nobody looked at them, a repeated
//! range stands here, and both are kept as rivals. A restart at 0 behind deleted records is what
//! clients before 2.5 do.

use super::Partition;
use super::collisions::{Copies, is_of_second_writer, is_reuse};
use super::draft::{about, at, capped, count, dropped, each_topic, finding, kept, lines, place};
use crate::facts::{SequenceStep, StepKind};
use crate::finding::{Code, Confidence, Finding, Window};
use crate::units::Offset;

pub(super) fn judge(partitions: &[Partition<'_>], copies: Copies<'_>) -> Vec<Finding> {
    each_topic(partitions, |(topic, _), partitions| in_topic(topic, partitions, copies))
}

/// Whether the step is told here, and not as a duplicate or a collision.
fn is_anomaly(step: &SequenceStep, copies: Copies<'_>) -> bool {
    match step.kind {
        StepKind::EpochDown | StepKind::MarkerDown | StepKind::RepeatOfSnapshot => true,
        StepKind::Overlap | StepKind::StepBack | StepKind::Repeat => match copies {
            Copies::Are(_) => !is_reuse(step),
            Copies::Unknown => true,
        },
        StepKind::RestartBehindDeletion | StepKind::WriteBehindMarker | StepKind::OutsideTransaction => false,
    }
}

fn in_topic(topic: &str, partitions: &[Partition<'_>], copies: Copies<'_>) -> Option<Finding> {
    let mut steps: Vec<(i32, &SequenceStep)> = Vec::new();
    for (context, facts) in partitions {
        let is_copy = |step: &SequenceStep| copies.hold(context, step);
        let of_collision = |step: &SequenceStep| match copies {
            Copies::Are(_) => is_of_second_writer(step, &facts.steps, is_copy),
            Copies::Unknown => false,
        };
        let told = |step: &&SequenceStep| is_anomaly(step, copies) && !is_copy(step) && !of_collision(step);
        steps.extend(facts.steps.iter().filter(told).map(|step| (context.partition, step)));
    }
    if steps.is_empty() {
        return None;
    }
    let number = u64::try_from(steps.len()).unwrap_or(u64::MAX);
    let batches = count(number, "batch does", "batches do");
    let whose = if number == 1 { "its producer" } else { "their producers" };
    let title = format!("{topic}: {batches} not continue the sequence of {whose}");
    let is_repeat = |step: &SequenceStep| matches!(step.kind, StepKind::Repeat | StepKind::RepeatOfSnapshot);
    let repeats = steps.iter().filter(|(_, step)| is_repeat(step)).count();
    let confidence = if repeats == steps.len() { Confidence::Possible } else { Confidence::Likely };
    let mut finding = finding(Code::SequenceAnomaly, confidence, title);
    about(&mut finding, steps.iter().map(|&(partition, _)| (topic, partition)));
    let times = || steps.iter().filter_map(|(_, step)| step.timestamp);
    finding.window = Some(Window::new(times().min(), times().max()));
    let files_begin = |partition: i32| {
        let context = partitions.iter().map(|(context, _)| context).find(|one| one.partition == partition);
        context.and_then(|context| context.segment_bases.first().copied())
    };
    finding.facts = capped(
        steps.iter().map(|&(partition, step)| line(topic, partition, step, files_begin(partition))),
        "batches",
    );
    finding.ranges = steps
        .iter()
        .map(|&(partition, step)| {
            let what = match step.kind {
                StepKind::Overlap => "sequence-overlap",
                StepKind::EpochDown | StepKind::MarkerDown => "epoch-down",
                StepKind::Repeat | StepKind::RepeatOfSnapshot => "sequence-repeat",
                StepKind::StepBack
                | StepKind::RestartBehindDeletion
                | StepKind::WriteBehindMarker
                | StepKind::OutsideTransaction => "sequence-step-back",
            };
            place(topic, partition, step.at_offset.0, step.at_offset.0, what)
        })
        .collect();
    let omitted: u64 = partitions.iter().map(|(_, facts)| facts.steps_omitted).sum();
    if omitted > 0 {
        finding
            .facts
            .push(format!("{omitted} more batches that repeat or step back were counted, not listed"));
    }
    finding.alternatives = vec![
        if repeats > 0 {
            kept("broker-dedup-lost", "a whole range was written twice, and the records were not compared")
        } else {
            dropped("broker-dedup-lost", "the records are not those of an earlier batch")
        },
        kept("producer-id-collision", "two writers with one producer id look like this; their records tell"),
        kept("lost producer state", "a leader without the producer's state accepts any sequence and epoch"),
    ];
    if steps.iter().any(|(_, step)| !matches!(step.kind, StepKind::EpochDown | StepKind::MarkerDown)) {
        finding.alternatives.push(kept(
            "client restart",
            "clients before 2.5 begin again at 0 after UNKNOWN_PRODUCER_ID; the log start does not show it here",
        ));
    }
    finding.would_settle =
        lines(["the client versions and logs of this producer id", "the broker's log around these appends"]);
    finding.advice = lines([
        "compare the records on both sides of the step: equal ones were sent again, others have a second writer",
        "look for a restored, cloned or migrated cluster that hands out producer ids again",
    ]);
    Some(finding)
}

fn line(topic: &str, partition: i32, step: &SequenceStep, files_begin: Option<Offset>) -> String {
    let number = |number: Option<i64>| number.map_or_else(|| "none".to_owned(), |number| number.to_string());
    let epoch = number(step.producer_epoch.map(|epoch| epoch.0.into()));
    let first = number(step.first_sequence.map(|sequence| sequence.get().into()));
    let last = number(step.last_sequence.map(|sequence| sequence.get().into()));
    let before = match (step.kind, step.previous_sequence, step.previous_offset) {
        (StepKind::EpochDown | StepKind::MarkerDown, _, Some(offset)) => {
            let epoch = number(step.previous_epoch.map(|epoch| epoch.0.into()));
            format!("epoch {epoch} at offset {offset}")
        }
        (StepKind::Overlap, Some(sequence), Some(offset))
            if step
                .first_sequence
                .is_some_and(|first| i64::from(first.get()) == i64::from(sequence.get()) + 1) =>
        {
            format!(
                "sequence {sequence} at offset {offset}, which it continues, and over sequences that stand further back already"
            )
        }
        (_, Some(sequence), Some(offset)) => format!("sequence {sequence} at offset {offset}"),
        _ => "what it wrote before".to_owned(),
    };
    let only_remembered = step.previous_offset.is_some_and(|offset| Some(offset) < files_begin);
    let remembered = if only_remembered { ", as the snapshot at the first file remembers" } else { "" };
    let what = match step.kind {
        StepKind::MarkerDown => format!("has the end of a transaction under epoch {epoch}"),
        StepKind::RepeatOfSnapshot => {
            format!("epoch {epoch} wrote sequences {first} to {last} again")
        }
        StepKind::Repeat
        | StepKind::Overlap
        | StepKind::StepBack
        | StepKind::RestartBehindDeletion
        | StepKind::EpochDown
        | StepKind::WriteBehindMarker
        | StepKind::OutsideTransaction => format!("epoch {epoch} wrote sequences {first} to {last}"),
    };
    format!(
        "{topic}-{partition}: producer {} {what} at offset {} ({}), behind {before}{remembered}",
        step.producer_id,
        step.at_offset,
        at(step.timestamp)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::PartitionContext;
    use crate::facts::script::fold_in;
    use crate::judgement::collisions::BatchPlaces;
    use crate::units::TopicNumber;

    fn judged(script: &str) -> Vec<Finding> {
        let (context, facts) = fold_in(PartitionContext::default(), script);
        judge(&[(&context, &facts)], Copies::Are(&BatchPlaces::new()))
    }

    #[test]
    fn overlaps_steps_back_and_epochs_that_go_down_are_one_finding_a_topic() {
        let findings = judged("D 5/1 30..34; D 5/1 4..5; D 6/0 0..4; D 6/0 3..6; D 5/0 0..0");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].facts.len(), 3);
        assert_ne!(findings[0].confidence, Confidence::Certain);
    }

    #[test]
    fn a_batch_that_holds_copies_or_begins_again_at_0_is_told_elsewhere() {
        let (context, facts) = fold_in(PartitionContext::default(), "D 5/1 30..34; D 5/0 7..7; D 5/1 0..1");
        let copies = BatchPlaces::from([(TopicNumber(0), 0, 5)]);
        assert!(judge(&[(&context, &facts)], Copies::Are(&copies)).is_empty());
        let findings = judge(&[(&context, &facts)], Copies::Are(&BatchPlaces::new()));
        assert_eq!(findings[0].facts.len(), 1);
    }

    #[test]
    fn what_a_second_writer_goes_on_with_is_told_once_and_with_the_collision() {
        let script = "D 5/0 0..1; D 5/0 2..3; D 5/0 0..1; D 5/0 2..6; D 6/0 0..4; D 6/0 3..6";
        let (context, facts) = fold_in(PartitionContext::default(), script);
        let none = BatchPlaces::new();
        let partitions = [(&context, &facts)];
        let anomalies = judge(&partitions, Copies::Are(&none));
        assert_eq!(anomalies[0].facts.len(), 1, "{anomalies:#?}");
        assert!(anomalies[0].facts[0].contains("producer 6"), "{anomalies:#?}");
        let collisions = crate::judgement::collisions::judge(&partitions, Copies::Are(&none));
        assert!(
            collisions[0].facts.iter().any(|fact| fact.contains("sequences 2 to 6 at offset 6")),
            "{collisions:#?}"
        );
    }

    #[test]
    fn a_repeated_range_whose_records_nobody_saw_is_possible_and_keeps_both_rivals() {
        let (context, facts) = fold_in(PartitionContext::default(), "D 5/0 0..4; D 5/0 0..4");
        let findings = judge(&[(&context, &facts)], Copies::Unknown);
        assert_eq!((findings.len(), findings[0].confidence), (1, Confidence::Possible));
        assert!(findings[0].alternatives[..2].iter().all(|rival| rival.kept));
    }

    #[test]
    fn a_lower_epoch_that_goes_on_and_an_end_of_a_lower_epoch_are_told_once() {
        let findings = judged("D 5/1 0..4; D 5/0 0..0; D 5/0 1..1; D 5/0 2..2");
        assert_eq!(findings[0].title, "orders: 1 batch does not continue the sequence of its producer");
        let findings = judged("X 7/5 0..1; +M 7/4; X 7/5 2..2; +M 7/5");
        assert_eq!(
            findings[0].facts,
            [
                "orders-0: producer 7 has the end of a transaction under epoch 4 at offset 2 (2026-01-01 00:00:00.002 UTC), behind \
              epoch 5 at offset 1"
            ]
        );
        assert_eq!(findings[0].ranges[0].what, "epoch-down");
    }

    #[test]
    fn repeats_of_whole_ranges_and_epoch_bumps_are_none() {
        assert!(judged("D 5/0 0..4; D 5/0 5..5; D 5/0 0..4; D 5/1 0..0; D 5/1 1..1").is_empty());
    }

    #[test]
    fn a_restart_behind_deleted_records_is_none() {
        let context = PartitionContext { log_start_offset: Offset(5), ..PartitionContext::default() };
        let (context, facts) = fold_in(context, "D 5/0 30..34; D 5/0 0..4");
        assert!(judge(&[(&context, &facts)], Copies::Unknown).is_empty());
    }
}
