//! What the facts and the relations mean: mechanisms, episodes, rivals, confidence.
//!
//! Goes in: what the batch lane found in each partition with the producer sessions
//! ([`single_facts`]), and [`Relations`](crate::relations::Relations) for what is stored more than
//! once ([`duplicates`]). Comes out: findings. This layer sees no bytes and opens no file; time
//! enters only as `as_of`. A code names the mechanism that the files show; the likely cause behind
//! it is a sentence with a confidence of its own.

mod age;
mod churn;
pub mod collisions;
mod coordinator;
mod decisions;
mod draft;
pub mod duplicates;
mod elections;
mod elsewhere;
mod events;
mod gaps;
mod identify;
pub mod indexes;
mod interleaved;
mod leader_epochs;
mod links;
pub mod misrouted;
pub mod offsets;
mod order;
mod protection;
pub mod replicas;
pub mod reuse;
pub mod rewinds;
pub mod rolled_back;
mod sequences;
mod snapshots;
mod torn;
mod transactions;
mod ways_to_end;

pub use decisions::Decisions;
pub use events::{Brief, Happened, OfCopies, Shown};
pub use gaps::Continued;
pub use identify::{TopicLabel, identify};
pub use links::link;

use self::duplicates::Examples;
use crate::facts::{PartitionContext, PartitionFacts, Sessions, TransactionalIds};
use crate::finding::{Alternative, Finding};
use collisions::Copies;

/// A partition with what lies beside its log and what its batches say.
pub type Partition<'a> = (&'a PartitionContext, &'a PartitionFacts);

/// Leader epochs that go back, or contradict the checkpoint.
#[must_use]
pub fn leader_epochs(partitions: &[Partition<'_>]) -> Vec<Finding> {
    leader_epochs::judge(partitions)
}

/// What other files say of the logs that are judged.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// What `__transaction_state` says, by the number of the cluster.
    pub ids: &'a [&'a TransactionalIds],
    /// What it says of transactions that the logs leave open.
    pub decisions: &'a Decisions,
    /// Where sequences go on from deleted logs.
    pub continued: &'a [Continued],
    /// Stands for now.
    pub as_of: Option<i64>,
}

/// The findings about single facts: everything but duplicates.
///
/// `partitions` are those that `sessions` were built from, of the leading replica each; `copies` are
/// those among their batches that step back. Findings come without an id, by code and then by topic; their lists are cut to
/// `examples`.
#[must_use]
pub fn single_facts(
    partitions: &[Partition<'_>],
    sessions: &Sessions,
    copies: Copies<'_>,
    beside: Beside<'_>,
    examples: Examples,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(protection::judge(partitions, sessions));
    findings.extend(gaps::judge(partitions, beside.continued));
    findings.extend(sequences::judge(partitions, copies));
    findings.extend(collisions::judge(partitions, copies));
    findings.extend(offsets::judge(partitions));
    findings.extend(snapshots::judge(partitions));
    findings.extend(transactions::judge(partitions, beside));
    findings.extend(indexes::judge(partitions));
    findings.extend(leader_epochs::judge(partitions));
    findings.extend(order::judge(partitions));
    findings.extend(churn::judge(partitions, sessions));
    findings.extend(interleaved::judge(partitions, sessions));
    findings.sort_by(|a, b| {
        (a.code, a.severity, &a.topics, &a.partitions).cmp(&(b.code, b.severity, &b.topics, &b.partitions))
    });
    for finding in &mut findings {
        settle(finding);
        if let Examples::AtMost(most) = examples {
            cut(finding, most);
        }
    }
    findings
}

/// Makes one of a rival that survives in one place and not in another: a reader asks whether it does.
fn settle(finding: &mut Finding) {
    let (mut all, dropped): (Vec<Alternative>, Vec<Alternative>) =
        std::mem::take(&mut finding.alternatives).into_iter().partition(|rival| rival.kept);
    let mut told = std::collections::BTreeSet::new();
    for rival in dropped {
        match all.iter_mut().find(|one| one.kept && one.code == rival.code) {
            Some(survives) => {
                let is_first = told.insert(rival.code.clone());
                survives.why.push_str(if is_first { "; elsewhere it is excluded: " } else { "; " });
                survives.why.push_str(&rival.why);
            }
            None => all.push(rival),
        }
    }
    finding.alternatives = all;
}

/// Cuts the lists of a finding; what is left out is counted, or said among the facts.
fn cut(finding: &mut Finding, most: usize) {
    finding.gaps_omitted = finding.gaps_omitted.saturating_add(shorten(&mut finding.gaps, most));
    finding.stretches_omitted =
        finding.stretches_omitted.saturating_add(shorten(&mut finding.stretches, most));
    for (omitted, what) in [
        (shorten(&mut finding.transactions, most), "transactions"),
        (shorten(&mut finding.snapshots, most), "differences"),
        (shorten(&mut finding.ranges, most), "places"),
    ] {
        if omitted > 0 {
            finding.facts.push(format!("{omitted} more {what} are not listed"));
        }
    }
}

fn shorten<T>(list: &mut Vec<T>, most: usize) -> u64 {
    let omitted = list.len().saturating_sub(most);
    list.truncate(most);
    u64::try_from(omitted).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::fold_in;

    #[test]
    fn a_rival_that_survives_in_one_place_alone_is_told_once() {
        let rival =
            |code: &str, kept, why: &str| Alternative { code: code.to_owned(), kept, why: why.to_owned() };
        let mut finding = Finding::empty(crate::finding::Code::IdempotenceOff);
        finding.alternatives = vec![
            rival("a", false, "at 1"),
            rival("b", false, "no"),
            rival("a", true, "at 2"),
            rival("a", false, "at 3"),
        ];
        settle(&mut finding);
        let told = [rival("a", true, "at 2; elsewhere it is excluded: at 1; at 3"), rival("b", false, "no")];
        assert_eq!(finding.alternatives, told);
    }

    #[test]
    fn lists_are_cut_to_the_examples_and_what_is_left_out_is_counted() {
        use std::fmt::Write;
        let mut script = String::from("D 5/0 0..4;");
        for number in 1..50 {
            write!(script, "D 5/0 {0}..{0}; D -1 1;", 10 * number).unwrap();
        }
        let (context, facts) = fold_in(PartitionContext::default(), &script);
        let partitions = [(&context, &facts)];
        let sessions = Sessions::build(&partitions, crate::spill::Share::default()).unwrap();
        for (examples, listed) in [(Examples::All, 49), (Examples::AtMost(3), 3)] {
            let (ids, decisions) = (TransactionalIds::default(), Decisions::default());
            let beside = Beside { ids: &[&ids], decisions: &decisions, continued: &[], as_of: None };
            for finding in single_facts(&partitions, &sessions, Copies::Unknown, beside, examples) {
                let (list, omitted) = if finding.gaps.is_empty() {
                    (finding.stretches.len(), finding.stretches_omitted)
                } else {
                    (finding.gaps.len(), finding.gaps_omitted)
                };
                assert_eq!(list, listed, "{}", finding.code);
                assert_eq!(omitted, 49 - u64::try_from(listed).unwrap());
            }
        }
    }
}
