//! Under which leaders the batches were appended, and whether that fits.
//!
//! A leader stamps its epoch into every batch, so epochs never go back along a log; skipped ones
//! are normal. Every batch lies in the range that `leader-epoch-checkpoint` names for its epoch. The
//! file may name epochs without batches, lack what lies below its first line, and lack the newest
//! epochs where files are of different moments (KIP-101, `LeaderEpochFileCache`). After a clean stop it holds the newest:
//! it is written when a batch of it is appended, and was complete in each of several hundred partitions of brokers from
//! 0.11 to 4.3 that were stopped cleanly.

use super::{LeaderEpochStep, LeaderEpochStepKind, PartitionContext};
use crate::units::{LeaderEpoch, Offset};

/// Entries that are kept one by one, of changes and of misfits.
const MAX_ENTRIES: usize = 10_000;

/// Follows the leader epochs of one partition.
#[derive(Debug, Default)]
pub(super) struct LeaderEpochs {
    current: Option<LeaderEpoch>,
    pub(super) changes: Vec<(LeaderEpoch, Offset)>,
    pub(super) steps: Vec<LeaderEpochStep>,
    contradicts: bool,
    /// A batch was above all that the checkpoint names.
    above: bool,
}

impl LeaderEpochs {
    /// Takes the epoch of the batch at `offset`.
    pub(super) fn batch(&mut self, context: &PartitionContext, epoch: Option<LeaderEpoch>, offset: Offset) {
        let Some(epoch) = epoch else { return };
        let named = named_by_checkpoint(context, offset);
        let above = named.filter(|&(named, is_newest)| is_newest && epoch > named);
        if let Some((expected, _)) = above
            && context.clean_shutdown == Some(true)
            && !self.above
        {
            self.above = true;
            self.step(LeaderEpochStepKind::NotInCheckpoint, offset, epoch, expected);
        }
        let named = named.filter(|&(named, is_newest)| {
            // Behind its last line the file may lag; a lower epoch there is no lag.
            epoch != named && !(is_newest && epoch > named)
        });
        if let Some(expected) = self.current.filter(|&current| epoch < current) {
            self.step(LeaderEpochStepKind::Back, offset, epoch, expected);
        } else if let Some((expected, _)) = named
            && !self.contradicts
        {
            self.step(LeaderEpochStepKind::NotAsCheckpoint, offset, epoch, expected);
        }
        self.contradicts = named.is_some();
        if self.current != Some(epoch) && self.changes.len() < MAX_ENTRIES {
            self.changes.push((epoch, offset));
        }
        self.current = Some(epoch);
    }

    /// Ends the log.
    pub(super) fn finish(&mut self, context: &PartitionContext) {
        if let Some(&(newest, offset)) = self.changes.last()
            && context.empty_epoch_checkpoint
            && context.clean_shutdown == Some(true)
        {
            self.step(LeaderEpochStepKind::EmptyCheckpoint, offset, newest, newest);
        }
    }

    fn step(
        &mut self,
        kind: LeaderEpochStepKind,
        at_offset: Offset,
        found: LeaderEpoch,
        expected: LeaderEpoch,
    ) {
        if self.steps.len() < MAX_ENTRIES {
            self.steps.push(LeaderEpochStep { kind, at_offset, found, expected });
        }
    }
}

/// The epoch that the checkpoint names for an offset, and whether it is its newest.
fn named_by_checkpoint(context: &PartitionContext, offset: Offset) -> Option<(LeaderEpoch, bool)> {
    let behind = context.leader_epochs.partition_point(|&(_, start)| start <= offset);
    let (epoch, _) = *context.leader_epochs.get(behind.checked_sub(1)?)?;
    Some((epoch, behind == context.leader_epochs.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(checkpoint: &[(i32, i64)], batches: &[(i32, i64)]) -> Vec<(LeaderEpochStepKind, i64)> {
        let context = PartitionContext {
            leader_epochs: checkpoint.iter().map(|&(e, o)| (LeaderEpoch(e), Offset(o))).collect(),
            ..PartitionContext::default()
        };
        let mut epochs = LeaderEpochs::default();
        for &(epoch, offset) in batches {
            epochs.batch(&context, Some(LeaderEpoch(epoch)), Offset(offset));
        }
        epochs.steps.iter().map(|step| (step.kind, step.at_offset.0)).collect()
    }

    #[test]
    fn after_a_clean_stop_the_checkpoint_names_the_newest_epoch() {
        let told = |clean_shutdown: Option<bool>, newest: i32| {
            let leader_epochs = vec![(LeaderEpoch(0), Offset(0)), (LeaderEpoch(newest), Offset(4))];
            let context = PartitionContext { leader_epochs, clean_shutdown, ..PartitionContext::default() };
            let mut epochs = LeaderEpochs::default();
            for (epoch, offset) in [(0, 0), (1, 4), (3, 6), (3, 7), (4, 9)] {
                epochs.batch(&context, Some(LeaderEpoch(epoch)), Offset(offset));
            }
            epochs.steps.iter().map(|step| (step.kind, step.at_offset.0)).collect::<Vec<_>>()
        };
        assert_eq!(told(Some(true), 1), [(LeaderEpochStepKind::NotInCheckpoint, 6)]);
        assert!(told(Some(false), 1).is_empty() && told(None, 1).is_empty());
    }

    #[test]
    fn a_checkpoint_of_a_clean_stop_is_not_empty_beside_batches_with_epochs() {
        let told = |empty_epoch_checkpoint, clean, epoch: Option<i32>| {
            let clean_shutdown = Some(clean);
            let context =
                PartitionContext { clean_shutdown, empty_epoch_checkpoint, ..PartitionContext::default() };
            let mut epochs = LeaderEpochs::default();
            for offset in [0, 4] {
                epochs.batch(&context, epoch.map(LeaderEpoch), Offset(offset));
            }
            epochs.finish(&context);
            epochs.steps.iter().map(|step| (step.kind, step.at_offset.0)).collect::<Vec<_>>()
        };
        assert_eq!(told(true, true, Some(3)), [(LeaderEpochStepKind::EmptyCheckpoint, 0)]);
        for (empty, clean, epoch) in [(false, true, Some(3)), (true, false, Some(3)), (true, true, None)] {
            assert_eq!(told(empty, clean, epoch), []);
        }
    }

    #[test]
    fn skipped_epochs_and_epochs_without_batches_are_normal() {
        assert_eq!(steps(&[(0, 0), (1, 5), (2, 5), (6, 9)], &[(0, 0), (2, 5), (6, 9)]), []);
    }

    #[test]
    fn an_epoch_that_goes_back_is_told_once_where_it_happens() {
        assert_eq!(steps(&[], &[(0, 0), (3, 5), (2, 6), (2, 7)]), [(LeaderEpochStepKind::Back, 6)]);
    }

    #[test]
    fn a_checkpoint_may_lag_and_may_begin_late() {
        assert_eq!(steps(&[(2, 8)], &[(0, 0), (1, 5), (2, 8), (3, 9)]), []);
    }

    #[test]
    fn a_batch_outside_the_range_of_its_epoch_contradicts_the_checkpoint() {
        assert_eq!(
            steps(&[(0, 0), (1, 5), (2, 9)], &[(0, 0), (0, 6), (0, 7), (2, 9)]),
            [(LeaderEpochStepKind::NotAsCheckpoint, 6)]
        );
    }
}
