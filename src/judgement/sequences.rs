//! `sequence-anomaly`: batches that no leader with intact memory would have stored.
//!
//! Overlaps, steps back and epochs that go down. A repeat of a whole range is none: equal records
//! make it `broker-dedup-lost`, other records `producer-id-collision`, and only the relations see
//! records. A restart at 0 behind deleted records is what clients before 2.5 do.

use super::Partition;
use super::draft::{about, at, by_topic, capped, count, dropped, finding, kept, lines, place};
use crate::facts::{SequenceStep, StepKind};
use crate::finding::{Code, Confidence, Finding, Window};

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    by_topic(partitions).into_iter().filter_map(|(topic, partitions)| in_topic(topic, &partitions)).collect()
}

const fn is_anomaly(kind: StepKind) -> bool {
    match kind {
        StepKind::Overlap | StepKind::StepBack | StepKind::EpochDown => true,
        StepKind::Repeat | StepKind::RestartBehindDeletion | StepKind::WriteBehindMarker => false,
    }
}

fn in_topic(topic: &str, partitions: &[Partition<'_>]) -> Option<Finding> {
    let steps: Vec<(i32, &SequenceStep)> = partitions
        .iter()
        .flat_map(|(context, facts)| facts.steps.iter().map(|step| (context.partition, step)))
        .filter(|(_, step)| is_anomaly(step.kind))
        .collect();
    if steps.is_empty() {
        return None;
    }
    let number = u64::try_from(steps.len()).unwrap_or(u64::MAX);
    let batches = count(number, "batch does", "batches do");
    let whose = if number == 1 { "its producer" } else { "their producers" };
    let title = format!("{topic}: {batches} not continue the sequence of {whose}");
    let mut finding = finding(Code::SequenceAnomaly, Confidence::Likely, title);
    about(&mut finding, steps.iter().map(|&(partition, _)| (topic, partition)));
    let times = || steps.iter().filter_map(|(_, step)| step.timestamp);
    finding.window = Some(Window::new(times().min(), times().max()));
    finding.facts = capped(steps.iter().map(|&(partition, step)| line(topic, partition, step)), "batches");
    finding.ranges = steps
        .iter()
        .map(|&(partition, step)| {
            let what = match step.kind {
                StepKind::Overlap => "sequence-overlap",
                StepKind::EpochDown => "epoch-down",
                StepKind::StepBack
                | StepKind::Repeat
                | StepKind::RestartBehindDeletion
                | StepKind::WriteBehindMarker => "sequence-step-back",
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
        dropped("broker-dedup-lost", "the ranges are not those of an earlier batch"),
        kept("producer-id-collision", "two writers with one producer id look like this; their records tell"),
        kept("lost producer state", "a leader without the producer's state accepts any sequence and epoch"),
    ];
    if steps.iter().any(|(_, step)| step.kind != StepKind::EpochDown) {
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

fn line(topic: &str, partition: i32, step: &SequenceStep) -> String {
    let number = |number: Option<i64>| number.map_or_else(|| "none".to_owned(), |number| number.to_string());
    let epoch = number(step.producer_epoch.map(|epoch| epoch.0.into()));
    let first = number(step.first_sequence.map(|sequence| sequence.get().into()));
    let last = number(step.last_sequence.map(|sequence| sequence.get().into()));
    let before = match (step.kind, step.previous_sequence, step.previous_offset) {
        (StepKind::EpochDown, _, Some(offset)) => {
            let epoch = number(step.previous_epoch.map(|epoch| epoch.0.into()));
            format!("epoch {epoch} at offset {offset}")
        }
        (_, Some(sequence), Some(offset)) => format!("sequence {sequence} at offset {offset}"),
        _ => "what it wrote before".to_owned(),
    };
    format!(
        "{topic}-{partition}: producer {} epoch {epoch} wrote sequences {first} to {last} at offset {} ({}), \
         behind {before}",
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
    use crate::units::Offset;

    fn judged(script: &str) -> Vec<Finding> {
        let (context, facts) = fold_in(PartitionContext::default(), script);
        judge(&[(&context, &facts)])
    }

    #[test]
    fn overlaps_steps_back_and_epochs_that_go_down_are_one_finding_a_topic() {
        let findings = judged("D 5/1 30..34; D 5/1 0..1; D 6/0 0..4; D 6/0 3..6; D 5/0 0..0");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].facts.len(), 3);
        assert_ne!(findings[0].confidence, Confidence::Certain);
    }

    #[test]
    fn repeats_of_whole_ranges_and_epoch_bumps_are_none() {
        assert!(judged("D 5/0 0..4; D 5/0 5..5; D 5/0 0..4; D 5/1 0..0; D 5/1 1..1").is_empty());
    }

    #[test]
    fn a_restart_behind_deleted_records_is_none() {
        let context = PartitionContext { log_start_offset: Offset(5), ..PartitionContext::default() };
        let (context, facts) = fold_in(context, "D 5/0 30..34; D 5/0 0..4");
        assert!(judge(&[(&context, &facts)]).is_empty());
    }
}
