//! What the producer snapshots say of each producer, and whether the log agrees.
//!
//! Goes in: the snapshots beside the logs that lead, and where the ledger found that one contradicts
//! its log. Comes out: for each producer what the newest snapshots of each partition say, and every
//! one that disagrees. Nothing is judged here.

use crate::facts::{PartitionContext, PartitionFacts, SnapshotConflict};
use crate::report::producers::SnapshotState;
use std::collections::BTreeMap;

/// Snapshots of one partition that are told of a producer, the newest; those that disagree come on top.
const NEWEST: usize = 3;

/// The states by producer id, in order of topic, partition and snapshot.
pub(super) fn states(
    partitions: &[(&PartitionContext, &PartitionFacts)],
) -> BTreeMap<i64, Vec<SnapshotState>> {
    let mut states: BTreeMap<i64, Vec<SnapshotState>> = BTreeMap::new();
    for (context, facts) in partitions.iter().filter(|(context, _)| !context.internal) {
        let mut of_partition: BTreeMap<i64, Vec<SnapshotState>> = BTreeMap::new();
        let mut snapshots: Vec<_> = context.snapshots.iter().collect();
        snapshots.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.offset));
        for snapshot in snapshots {
            let Ok(entries) = &snapshot.entries else { continue };
            for entry in entries {
                let conflict = facts.snapshot_conflicts.iter().find(|conflict| {
                    conflict.file == snapshot.file && conflict.producer_id == Some(entry.producer_id)
                });
                let told = of_partition.entry(entry.producer_id.0).or_default();
                if told.len() >= NEWEST && conflict.is_none() {
                    continue;
                }
                told.push(SnapshotState {
                    topic: context.topic.clone(),
                    partition: context.partition,
                    file: snapshot.file.clone(),
                    epoch: entry.producer_epoch.map(|epoch| epoch.0),
                    last_sequence: entry.last_sequence.map(crate::units::Sequence::get),
                    last_offset: entry.last_offset.map(|offset| offset.0),
                    transaction_first_offset: entry.current_txn_first_offset.map(|offset| offset.0),
                    agrees: conflict.is_none(),
                    log: conflict.and_then(|conflict: &SnapshotConflict| conflict.log.clone()),
                });
            }
        }
        for (producer, mut told) in of_partition {
            told.reverse();
            states.entry(producer).or_default().append(&mut told);
        }
    }
    states
}
