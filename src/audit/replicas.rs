//! Which replica of a partition counts: the one with the newest leader epoch, among equals the
//! longer log, then the lower broker id. A leader notes its epoch in `leader-epoch-checkpoint` when
//! it is elected, before it has written anything under it.

use crate::format::{SegmentItem, SegmentScanner};
use crate::input::{self, Inventory, PartitionDir, ReadMode};
use crate::units::{LeaderEpoch, Offset};
use std::cmp::Reverse;

/// For each partition directory the one that leads its replica group: itself when it is alone.
pub(super) fn leaders(inventory: &Inventory, mode: ReadMode) -> Vec<usize> {
    let mut leaders: Vec<usize> = (0..inventory.partitions.len()).collect();
    for group in inventory.replica_groups.iter().filter(|group| group.members.len() > 1) {
        let best = group.members.iter().copied().max_by_key(|&at| {
            let dir = inventory.partitions.get(at);
            let (epoch, end) = dir.map_or((None, None), |dir| newest(inventory, dir, mode));
            let elected = dir.and_then(|dir| dir.leader_epochs.last()).map(|line| line.epoch);
            (epoch.max(elected), end, Reverse(dir.and_then(|dir| dir.broker_id)), Reverse(at))
        });
        for &member in &group.members {
            if let (Some(leader), Some(best)) = (leaders.get_mut(member), best) {
                *leader = best;
            }
        }
    }
    leaders
}

/// The leader epoch of the last batch and the offset behind it, from the last segment that has a
/// batch.
fn newest(
    inventory: &Inventory,
    dir: &PartitionDir,
    mode: ReadMode,
) -> (Option<LeaderEpoch>, Option<Offset>) {
    for segment in dir.segments.iter().rev() {
        let Ok(source) = input::open_segment(&segment.place, mode, segment.len) else { continue };
        let Some(log_dir) = inventory.log_dir(dir) else { continue };
        let mut scanner = SegmentScanner::new(source, segment.base, dir.tail_expectation(segment, log_dir));
        let (mut epoch, mut end) = (None, None);
        while let Ok(Some(item)) = scanner.next_item() {
            if let SegmentItem::Batch(batch) = item {
                epoch = epoch.max(batch.header.partition_leader_epoch);
                end = end.max(Some(batch.header.last_offset().next()));
            }
        }
        if end.is_some() {
            return (epoch, end);
        }
    }
    (None, None)
}
