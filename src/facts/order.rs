//! Whether batches without producer id stand in the order of their client times, and which blocks
//! stand behind batches that were created after them.
//!
//! No rule demands order: clocks differ, and event times follow the events. So only one shape is
//! told from noise: a batch whose times lie wholly in a hole of the stream, behind a few batches that
//! were all created after it, with the stream in order before and behind. A copy of a batch that is
//! there already has no hole, and counts neither as moved nor as disorder.
//!
//! What a client does: without idempotence and with several requests in flight a batch that failed
//! is sent again after `retry.backoff.ms`, behind those that were sent after it.

use crate::format::{BatchHeader, TimestampType};
use crate::units::{LeaderEpoch, Offset};
use std::collections::VecDeque;

/// Batches that may have overtaken a block: four more requests in flight, and a few attempts.
pub(super) const OVERTAKING: usize = 16;
/// How much older than the newest batch before it a block is at least: a client waits that long
/// before it sends again (`retry.backoff.ms`).
pub(super) const LEAST_STEP_MS: i64 = 100;
/// And at most: a client gives up after `delivery.timeout.ms`, two minutes unless it was set.
pub(super) const MOST_STEP_MS: i64 = 600_000;
/// Blocks that are kept one by one.
pub(super) const MAX_BLOCKS: usize = 1_000;
/// Holes as wide as that of a block must be rare: at most one gap in so many.
const RARE: u64 = 10;

/// The order of the unprotected batches of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Batches without producer id that carry the client's times.
    pub batches: u64,
    /// Those whose times overlap or precede what stands before them, moved blocks aside.
    pub disordered: u64,
    /// Batches in moved blocks.
    pub moved: u64,
    /// The blocks, in offset order.
    pub blocks: Vec<MovedBlock>,
}

/// Consecutive batches that stand behind later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedBlock {
    /// Its first offset.
    pub first_offset: Offset,
    /// Its last offset.
    pub last_offset: Offset,
    /// Its batches.
    pub batches: u64,
    /// Its records.
    pub records: u64,
    /// The client's time of its first record.
    pub first_timestamp: i64,
    /// Its largest client time.
    pub last_timestamp: i64,
    /// The last offset of the batch behind which its times belong.
    pub belongs_behind: Offset,
    /// How many batches overtook it.
    pub overtaken_by: usize,
    /// The largest client time before it.
    pub newest_before: i64,
    /// Whether a new leader took over between the batches that overtook it and the block.
    pub new_leader: bool,
    /// The width of the hole in which its times lie, as a power of two.
    hole: usize,
}

/// One batch that stands in line.
#[derive(Clone, Copy, Debug)]
struct Seen {
    base: i64,
    max: i64,
    records: u64,
    last_offset: Offset,
    leader_epoch: Option<LeaderEpoch>,
    /// The largest time up to and including this batch.
    newest: i64,
}

/// Folds the batches of one partition.
#[derive(Clone, Debug)]
pub(super) struct OrderFold {
    out: Order,
    recent: VecDeque<Seen>,
    /// A block behind which no batch in line has been seen yet.
    open: Option<MovedBlock>,
    /// Gaps between batches in line, by the power of two of their width.
    gaps: [u64; 64],
}

impl Default for OrderFold {
    fn default() -> Self {
        Self { out: Order::default(), recent: VecDeque::new(), open: None, gaps: [0; 64] }
    }
}

impl OrderFold {
    /// Takes the next record batch.
    pub(super) fn batch(&mut self, header: &BatchHeader) {
        let clients_time = header.timestamp_type() == TimestampType::CreateTime
            && header.delete_horizon().is_none()
            && header.base_timestamp >= 0
            && header.max_timestamp >= header.base_timestamp;
        if header.is_legacy() || header.producer_id.is_protected() || !clients_time {
            return;
        }
        self.out.batches += 1;
        let batch = Seen {
            base: header.base_timestamp,
            max: header.max_timestamp,
            records: u64::from(header.records_count.unwrap_or(0)),
            last_offset: header.last_offset(),
            leader_epoch: header.partition_leader_epoch,
            newest: header.max_timestamp,
        };
        match self.recent.back().map(|last| last.newest) {
            Some(newest) if batch.base < newest => self.step_back(header, batch, newest),
            before => self.in_line(batch, before),
        }
    }

    fn in_line(&mut self, batch: Seen, before: Option<i64>) {
        if let Some(before) = before {
            let bin = width(batch.base.saturating_sub(before));
            if let Some(count) = self.gaps.get_mut(bin) {
                *count += 1;
            }
        }
        if let Some(block) = self.open.take() {
            self.out.moved += block.batches;
            if self.out.blocks.len() < MAX_BLOCKS {
                self.out.blocks.push(block);
            }
        }
        self.push(batch);
    }

    fn step_back(&mut self, header: &BatchHeader, batch: Seen, newest: i64) {
        let same =
            |seen: &Seen| (seen.base, seen.max, seen.records) == (batch.base, batch.max, batch.records);
        if self.recent.iter().any(same) {
            return;
        }
        if let Some(block) = self.moved(header, batch, newest) {
            let block = match self.open.take() {
                Some(open) if open.last_timestamp <= block.first_timestamp => open.with(&block),
                Some(open) => {
                    self.out.disordered += open.batches;
                    block
                }
                None => block,
            };
            self.open = Some(block);
        } else {
            self.out.disordered += 1 + self.open.take().map_or(0, |open| open.batches);
            self.push(Seen { newest, ..batch });
        }
    }

    /// The block that this batch is, when its times lie in a hole of the stream before it.
    fn moved(&self, header: &BatchHeader, batch: Seen, newest: i64) -> Option<MovedBlock> {
        let overtaken_by = self.recent.iter().rev().take_while(|seen| seen.base > batch.max).count();
        let at = self.recent.len().checked_sub(overtaken_by + 1)?;
        let (before, behind) = (self.recent.get(at)?, self.recent.get(at + 1)?);
        let step = newest.saturating_sub(batch.max);
        if before.newest > batch.base
            || step < LEAST_STEP_MS
            || newest.saturating_sub(batch.base) > MOST_STEP_MS
        {
            return None;
        }
        let last = self.recent.back()?;
        Some(MovedBlock {
            first_offset: header.base_offset,
            last_offset: batch.last_offset,
            batches: 1,
            records: batch.records,
            first_timestamp: batch.base,
            last_timestamp: batch.max,
            belongs_behind: before.last_offset,
            overtaken_by,
            newest_before: newest,
            new_leader: last.leader_epoch != batch.leader_epoch,
            hole: width(behind.base.saturating_sub(before.newest)),
        })
    }

    fn push(&mut self, mut batch: Seen) {
        batch.newest = self.recent.back().map_or(batch.newest, |last| last.newest.max(batch.newest));
        if self.recent.len() > OVERTAKING {
            self.recent.pop_front();
        }
        self.recent.push_back(batch);
    }

    /// Ends the partition. A block of one record may be jitter, and so may one whose hole is as wide
    /// as many gaps of the stream.
    pub(super) fn finish(mut self) -> Order {
        if let Some(open) = self.open {
            self.out.disordered += open.batches;
        }
        let gaps = self.gaps;
        let all: u64 = gaps.iter().sum();
        // The holes of the blocks are among the gaps.
        let own = u64::try_from(self.out.blocks.len()).unwrap_or(u64::MAX);
        let (blocks, noise): (Vec<MovedBlock>, Vec<MovedBlock>) =
            self.out.blocks.into_iter().partition(|block| {
                let as_wide: u64 = gaps.iter().skip(block.hole).sum();
                block.records >= 2 && as_wide.saturating_sub(own).saturating_mul(RARE) <= all
            });
        let noise: u64 = noise.iter().map(|block| block.batches).sum();
        self.out.moved = self.out.moved.saturating_sub(noise);
        self.out.disordered += noise;
        Order { blocks, ..self.out }
    }
}

impl MovedBlock {
    /// The block with the one behind it.
    fn with(self, next: &Self) -> Self {
        Self {
            last_offset: next.last_offset,
            batches: self.batches + next.batches,
            records: self.records + next.records,
            last_timestamp: next.last_timestamp,
            ..self
        }
    }
}

/// The power of two of a width.
fn width(millis: i64) -> usize {
    let bits = 64 - millis.max(0).cast_unsigned().leading_zeros();
    usize::try_from(bits).unwrap_or(0).min(63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::fold;

    /// One batch of three records each second; `moved` numbers stand at the places of `order`.
    fn in_order_of(order: &[i64]) -> Order {
        let mut script = Vec::new();
        let mut now = 0;
        for &second in order {
            script.push(format!("wait {}ms; D -1 3", second * 1_000 - now));
            // The script itself lets a millisecond pass with each batch.
            now = second * 1_000 + 1;
        }
        fold(&script.join("\n")).order
    }

    fn with(changes: &[(usize, &[i64])]) -> Order {
        let mut order: Vec<i64> = (1..=200).collect();
        for (at, part) in changes {
            order.splice(at..&(at + part.len()), part.iter().copied());
        }
        in_order_of(&order)
    }

    #[test]
    fn a_stream_in_order_has_no_block() {
        let order = with(&[]);
        assert_eq!((order.batches, order.disordered, order.moved), (200, 0, 0));
    }

    #[test]
    fn a_batch_that_was_overtaken_is_a_block_with_its_place() {
        let order = with(&[(49, &[51, 52, 50])]);
        assert_eq!((order.disordered, order.moved, order.blocks.len()), (0, 1, 1));
        let block = order.blocks[0];
        assert_eq!((block.first_offset, block.records, block.overtaken_by), (Offset(153), 3, 2));
        assert_eq!(block.belongs_behind, Offset(146));
    }

    #[test]
    fn two_batches_that_move_together_are_one_block() {
        let order = with(&[(49, &[52, 50, 51])]);
        assert_eq!((order.moved, order.blocks.len(), order.blocks[0].batches), (2, 1, 2));
    }

    #[test]
    fn a_copy_is_neither_moved_nor_disorder() {
        let order = with(&[(49, &[50, 51, 50, 52])]);
        assert_eq!((order.disordered, order.moved), (0, 0));
    }

    #[test]
    fn times_that_step_back_far_or_at_the_end_of_the_log_prove_nothing() {
        let far = with(&[(99, &[2])]);
        assert_eq!((far.moved, far.disordered), (0, 1));
        let last = with(&[(197, &[199, 200, 198])]);
        assert_eq!((last.moved, last.disordered), (0, 1));
    }

    #[test]
    fn a_hole_as_wide_as_many_others_proves_nothing() {
        // Pauses of two seconds come every fourth batch: the late batch may be another writer's.
        let mut order: Vec<i64> = (1..400).filter(|second| second % 4 != 0).collect();
        order.splice(90..90, [order[86] + 1]);
        let found = in_order_of(&order);
        assert_eq!((found.moved, found.disordered), (0, 1), "{:?}", found.blocks);
    }

    #[test]
    fn protected_batches_are_not_looked_at() {
        assert_eq!(fold("D 5/0 0..4; wait 9s; D 5/0 5..9; wait -9s; D 5/0 10..14").order, Order::default());
    }
}
