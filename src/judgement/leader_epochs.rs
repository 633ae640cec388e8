//! `leader-epoch-anomaly`: leader epochs that go back, or contradict the checkpoint.

use super::Partition;
use super::draft::{about, capped, count, each_topic, finding, kept, lines, place};
use super::elections;
use crate::facts::{LeaderEpochStep, LeaderEpochStepKind};
use crate::finding::{Code, Confidence, Finding, Severity};

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    each_topic(partitions, |(topic, _), partitions| in_topic(topic, partitions))
}

fn in_topic(topic: &str, partitions: &[Partition<'_>]) -> Option<Finding> {
    let steps: Vec<(i32, &LeaderEpochStep)> = partitions
        .iter()
        .flat_map(|(context, facts)| facts.leader_epoch_steps.iter().map(|step| (context.partition, step)))
        .collect();
    if steps.is_empty() {
        return None;
    }
    let places = count(u64::try_from(steps.len()).unwrap_or(u64::MAX), "place", "places");
    let title = format!("{topic}: leader epochs do not fit in {places}");
    let mut finding = finding(Code::LeaderEpochAnomaly, Confidence::Likely, title);
    let lags =
        |kind| matches!(kind, LeaderEpochStepKind::NotInCheckpoint | LeaderEpochStepKind::EmptyCheckpoint);
    if steps.iter().all(|(_, step)| lags(step.kind)) {
        finding.severity = Severity::Low;
    }
    about(&mut finding, steps.iter().map(|&(partition, _)| (topic, partition)));
    finding.facts = capped(
        steps.iter().map(|&(partition, step)| {
            let (found, expected, offset) = (step.found, step.expected, step.at_offset);
            match step.kind {
                LeaderEpochStepKind::Back => format!(
                    "{topic}-{partition}: leader epoch {found} at offset {offset}, behind batches of epoch {expected}"
                ),
                LeaderEpochStepKind::NotAsCheckpoint => format!(
                    "{topic}-{partition}: leader epoch {found} at offset {offset}, the checkpoint names {expected}"
                ),
                LeaderEpochStepKind::EmptyCheckpoint => format!(
                    "{topic}-{partition}: leader epoch {found} from offset {offset} on, and the checkpoint of a clean stop names \
                     none: when this replica follows a new leader, it cannot tell by epochs where the two part"
                ),
                LeaderEpochStepKind::NotInCheckpoint => format!(
                    "{topic}-{partition}: leader epoch {found} from offset {offset} on, the checkpoint of a clean stop ends with \
                     {expected}: when this replica follows a new leader, it cannot tell by epochs where the two part"
                ),
            }
        }),
        "places",
    );
    let unclean = partitions.iter().filter(|(_, facts)| !facts.leader_epoch_steps.is_empty());
    let unclean = unclean.flat_map(|(context, _)| {
        let elections = context.unclean_elections.iter();
        elections.map(|election| elections::line(topic, context.partition, election))
    });
    finding.facts.extend(capped(unclean, "unclean elections"));
    finding.ranges = steps
        .iter()
        .map(|&(partition, step)| {
            let what = match step.kind {
                LeaderEpochStepKind::Back => "leader-epoch-back",
                LeaderEpochStepKind::NotAsCheckpoint => "leader-epoch-not-as-checkpoint",
                LeaderEpochStepKind::NotInCheckpoint | LeaderEpochStepKind::EmptyCheckpoint => {
                    "leader-epoch-not-in-checkpoint"
                }
            };
            place(topic, partition, step.at_offset.0, step.at_offset.0, what)
        })
        .collect();
    finding.alternatives = vec![
        kept("mixed files", "segments or the checkpoint of another replica, or of another time, lie here"),
        kept("bad truncation", "a replica kept batches that a newer leader had replaced"),
        kept("bit flip", "the checksum of a batch does not cover its leader epoch"),
    ];
    finding.would_settle = lines(["another replica of the partition", "how the files came to this place"]);
    finding.advice =
        lines(["compare this partition with its other replicas before relying on what it holds there"]);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::PartitionContext;
    use crate::facts::script::fold_in;

    fn judged(script: &str) -> Vec<Finding> {
        let (context, facts) = fold_in(PartitionContext::default(), script);
        judge(&[(&context, &facts)])
    }

    #[test]
    fn a_checkpoint_of_a_clean_stop_that_lacks_the_newest_epoch_is_low() {
        let context = PartitionContext {
            clean_shutdown: Some(true),
            leader_epochs: vec![(crate::units::LeaderEpoch(0), crate::units::Offset(0))],
            ..PartitionContext::default()
        };
        let (context, facts) = fold_in(context, "D 5/0 0..4; leader 2; D 5/0 5..5; D 5/0 6..6");
        let findings = judge(&[(&context, &facts)]);
        assert_eq!((findings.len(), findings[0].severity), (1, Severity::Low));
        assert!(findings[0].facts[0].contains("leader epoch 2 from offset 5 on"), "{findings:#?}");
    }

    #[test]
    fn only_an_epoch_that_goes_back_is_told() {
        assert!(judged("D 5/0 0..4; leader 2; D 5/0 5..5; leader 6; D 5/0 6..6").is_empty());
        let findings = judged("leader 3; D 5/0 0..4; leader 2; D 5/0 5..5");
        assert!(findings[0].facts[0].contains("leader epoch 2 at offset 5, behind batches of epoch 3"));
    }
}
