//! What the facts and the relations mean: mechanisms, episodes, rivals, confidence.
//!
//! Goes in: what the batch lane found in each partition with the producer sessions
//! ([`single_facts`]), and [`Relations`](crate::relations::Relations) for what is stored more than
//! once ([`duplicates`]). Comes out: findings. This layer sees no bytes and opens no file; time
//! enters only as `as_of`. A code names the mechanism that the files show; the likely cause behind
//! it is a sentence with a confidence of its own.

pub mod collisions;
mod draft;
pub mod duplicates;
mod gaps;
mod identify;
mod leader_epochs;
mod offsets;
mod protection;
pub mod reuse;
mod sequences;
mod snapshots;
mod transactions;

pub use identify::identify;

use crate::facts::{PartitionContext, PartitionFacts, Sessions};
use crate::finding::Finding;

/// A partition with what lies beside its log and what its batches say.
pub type Partition<'a> = (&'a PartitionContext, &'a PartitionFacts);

/// The findings about single facts: everything but duplicates.
///
/// `partitions` are those that `sessions` were built from, of the leading replica each; `as_of`
/// stands for now. Findings come without an id, by code and then by topic.
#[must_use]
pub fn single_facts(partitions: &[Partition<'_>], sessions: &Sessions, as_of: Option<i64>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(protection::judge(partitions, sessions));
    findings.extend(gaps::judge(partitions));
    findings.extend(sequences::judge(partitions));
    findings.extend(offsets::judge(partitions));
    findings.extend(snapshots::judge(partitions));
    findings.extend(transactions::judge(partitions, as_of));
    findings.extend(leader_epochs::judge(partitions));
    findings.sort_by(|a, b| {
        (a.code, a.severity, &a.topics, &a.partitions).cmp(&(b.code, b.severity, &b.topics, &b.partitions))
    });
    findings
}
