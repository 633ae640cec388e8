//! `restored-copy` without a second record for any consumer: one partition in two places of one
//! broker, or in two clusters. Its records count once.

use super::super::draft::{capped, count, dropped, kept, lines};
use super::{Kinship, ReplicaPair, draft, place};
use crate::finding::{Cause, Code, Confidence, Finding};

/// Whether a pair is no pair of replicas, and holds the same.
pub(super) fn applies(pair: &ReplicaPair<'_>) -> bool {
    let apart = matches!(pair.kinship, Kinship::OneBroker | Kinship::Clusters);
    apart && pair.comparison.agrees() && pair.comparison.equal_batches > 0
}

pub(super) fn finding(topic: &str, pairs: &[&ReplicaPair<'_>]) -> Finding {
    let partitions = count(u64::try_from(pairs.len()).unwrap_or(u64::MAX), "partition", "partitions");
    let title = format!("{topic}: {partitions} in two places that cannot be replicas, with the same content");
    let mut finding = draft(Code::RestoredCopy, topic, pairs.iter().copied(), title);
    finding.confidence = Confidence::Likely;
    finding.alternatives.clear();
    finding.facts = capped(pairs.iter().map(|pair| words(pair)), "pairs of directories");
    finding.facts.push(
        "the records are counted once, in the directory that leads; which of the two was first cannot be told from the \
         files"
            .to_owned(),
    );
    finding.cause = Some(Cause {
        text: "files of a log directory were copied: a backup, a restore, or a cluster that was cloned"
            .to_owned(),
        confidence: Confidence::Likely,
    });
    finding.alternatives.push(dropped("replicas", "replicas stand on different brokers of one cluster"));
    if pairs.iter().any(|pair| pair.kinship == Kinship::OneBroker) {
        finding.alternatives.push(kept(
            "move between log directories",
            "the directories were copied at different times, before and after the broker moved the partition",
        ));
    }
    if pairs.iter().any(|pair| pair.kinship == Kinship::Clusters) {
        finding
            .alternatives
            .push(kept("mirror", "a link between clusters that keeps batches and topic ids as they are"));
    }
    finding.would_settle = lines(["who runs the brokers: what was restored, moved or cloned, and when"]);
    finding.advice = lines([
        "give only the directory that counts to the audit",
        "do not start a broker with both: it refuses a partition that stands in two of its directories",
    ]);
    finding
}

fn words(pair: &ReplicaPair<'_>) -> String {
    let comparison = &pair.comparison;
    let why = match pair.kinship {
        Kinship::Clusters => "belong to two clusters and one topic id",
        _ => "belong to one broker",
    };
    format!(
        "{} and {} {why}; they hold the same {} batches, up to offset {}",
        place(&pair.leading),
        place(&pair.other),
        comparison.equal_batches,
        comparison.last_equal.map_or(0, |last| last.0)
    )
}
