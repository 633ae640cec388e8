//! `leader-epoch-anomaly`: leader epochs that go back, or contradict the checkpoint.

use super::Partition;
use super::draft::{about, by_topic, capped, count, finding, kept, lines, place};
use super::elections;
use crate::facts::{LeaderEpochStep, LeaderEpochStepKind};
use crate::finding::{Code, Confidence, Finding};

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    by_topic(partitions).into_iter().filter_map(|(topic, partitions)| in_topic(topic, &partitions)).collect()
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
    fn only_an_epoch_that_goes_back_is_told() {
        assert!(judged("D 5/0 0..4; leader 2; D 5/0 5..5; leader 6; D 5/0 6..6").is_empty());
        let findings = judged("leader 3; D 5/0 0..4; leader 2; D 5/0 5..5");
        assert!(findings[0].facts[0].contains("leader epoch 2 at offset 5, behind batches of epoch 3"));
    }
}
