//! Why sequences are missing.
//!
//! Goes in: a gap, and how many offsets are missing over the same stretch, by where they are
//! missing. Comes out: one [`GapReason`]. The rule behind all of it: what was removed takes at least
//! as many offsets along as sequences, so a hole explains at most as many sequences as it has
//! offsets. Where no offset is missing, nothing was removed, and the broker accepted the jump
//! because it had no state of the producer (KIP-360: an unknown producer may begin anywhere).

use super::continuity::Tally;
use super::{LogStartSource, PartitionContext};
use crate::finding::{Gap, GapReason};
use crate::units::{Offset, ProducerEpoch, ProducerId, Sequence};
use std::collections::BTreeMap;

/// Gaps that are kept one by one; later ones are counted by reason.
const MAX_GAPS: usize = 20_000;

/// A gap whose reason is told when the whole log is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingGap {
    pub(super) producer_id: ProducerId,
    pub(super) producer_epoch: Option<ProducerEpoch>,
    pub(super) expected: Sequence,
    pub(super) found: Sequence,
    pub(super) at_offset: Offset,
    pub(super) missing: u32,
    /// The end of what the producer wrote before; 0 for the first batch of a producer.
    pub(super) behind: Offset,
    /// Offsets that are missing since then.
    pub(super) holes: Tally,
    pub(super) before: Before,
}

impl PendingGap {
    /// The same where what the first file begins above was deleted.
    fn without_head(&self) -> Self {
        let Tally { head, first_file, .. } = self.holes;
        let holes = Tally { head: head.saturating_add(first_file), first_file: 0, ..self.holes };
        Self { holes, ..*self }
    }
}

/// What the partition holds of the producer before the gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing: the producer begins here.
    Nothing,
    /// Batches, the last of them recent enough that a broker remembers it.
    Recent,
    /// Batches so old that a broker forgets the producer.
    Forgotten,
}

/// The gaps of one partition.
#[derive(Debug, Default)]
pub(super) struct GapBook {
    pending: Vec<PendingGap>,
    omitted: BTreeMap<GapReason, u64>,
}

impl GapBook {
    /// Takes a gap; `cleaned_below` is what is known of the cleaner so far.
    pub(super) fn push(
        &mut self,
        context: &PartitionContext,
        gap: PendingGap,
        cleaned_below: Option<Offset>,
    ) {
        if self.pending.len() < MAX_GAPS {
            self.pending.push(gap);
        } else {
            let count = self.omitted.entry(reason(context, &gap, cleaned_below)).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// How many are kept one by one.
    pub(super) const fn len(&self) -> usize {
        self.pending.len()
    }

    /// All gaps with their reasons.
    pub(super) fn finish(
        self,
        context: &PartitionContext,
        cleaned_below: Option<Offset>,
        head_may_be_deleted: bool,
    ) -> (Vec<Gap>, Vec<(GapReason, u64)>) {
        let gaps = self.pending.iter().map(|gap| Gap {
            topic: context.topic.clone(),
            partition: context.partition,
            producer_id: gap.producer_id.0,
            producer_epoch: gap.producer_epoch.map(|epoch| epoch.0),
            expected: gap.expected.get(),
            found: gap.found.get(),
            at_offset: gap.at_offset.0,
            missing: gap.missing,
            reason: if head_may_be_deleted {
                reason(context, &gap.without_head(), cleaned_below)
            } else {
                reason(context, gap, cleaned_below)
            },
        });
        (gaps.collect(), self.omitted.into_iter().collect())
    }
}

fn reason(context: &PartitionContext, gap: &PendingGap, cleaned_below: Option<Offset>) -> GapReason {
    let missing = u64::from(gap.missing);
    let holes = gap.holes;
    let cleaner_was_here = cleaned_below.is_some_and(|limit| gap.behind < limit);
    // With a checkpoint each hole was told apart when it was seen; otherwise one limit holds for all.
    let below_checkpoint_only = context.cleaned_up_to.is_some() && cleaned_below == context.cleaned_up_to;
    let (removed_by_cleaner, boundary, unaccounted) = if cleaner_was_here && !below_checkpoint_only {
        (holes.cleaned.saturating_add(holes.boundary).saturating_add(holes.inside), 0, 0)
    } else {
        (holes.cleaned, holes.boundary, holes.inside)
    };
    // A missing file cannot be told from the cleaner there; the finding about the offsets says so.
    let removed_by_cleaner = removed_by_cleaner.saturating_add(holes.unsettled);
    let between_files = boundary.saturating_add(holes.first_file);
    // The head was removed before the files begin, so only a producer's first batch can owe it.
    let head = if gap.before == Before::Nothing { holes.head } else { 0 };
    if head >= missing {
        return removed_head(context);
    }
    if holes.passed > 0 && head.saturating_add(holes.passed) >= missing {
        return removed_head(context);
    }
    // Each kind of hole may be helped by the head, which is innocent.
    let explains = |offsets: u64| offsets > 0 && offsets.saturating_add(head) >= missing;
    if explains(removed_by_cleaner) {
        return GapReason::Compaction;
    }
    if explains(holes.damage) {
        return GapReason::Damage;
    }
    if explains(between_files) {
        return GapReason::MissingSegment;
    }
    if explains(removed_by_cleaner.saturating_add(holes.damage)) {
        return GapReason::Damage;
    }
    let all = [removed_by_cleaner, holes.damage, between_files, unaccounted, holes.passed];
    let total = all.into_iter().fold(0_u64, u64::saturating_add);
    if explains(total) {
        return if between_files > 0 { GapReason::MissingSegment } else { GapReason::Unexplained };
    }
    if gap.before != Before::Nothing && (between_files > 0 || unaccounted > 0) {
        // Offsets are gone, and more sequences than these offsets could hold: a part of them may be in
        // a file that is missing. A producer that is new here may begin anywhere, and the missing
        // offsets are told for themselves.
        return if between_files > 0 { GapReason::MissingSegment } else { GapReason::Unexplained };
    }
    match gap.before {
        Before::Forgotten => GapReason::ExpiredProducerState,
        Before::Nothing if head == 0 && total == 0 => GapReason::FirstAppend,
        Before::Recent | Before::Nothing => GapReason::LostProducerState,
    }
}

fn removed_head(context: &PartitionContext) -> GapReason {
    let first = context.segment_bases.first().copied().unwrap_or(context.log_start_offset);
    match context.log_start_source {
        LogStartSource::Checkpoint | LogStartSource::LeaderEpochs if context.log_start_offset > first => {
            GapReason::LogStartMoved
        }
        LogStartSource::Checkpoint | LogStartSource::LeaderEpochs | LogStartSource::FirstSegment => {
            GapReason::Retention
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(missing: u32, holes: Tally, before: Before) -> PendingGap {
        PendingGap {
            producer_id: ProducerId(5),
            producer_epoch: Some(ProducerEpoch(0)),
            expected: Sequence::FIRST,
            found: Sequence::FIRST.advance(missing),
            at_offset: Offset(100),
            missing,
            behind: Offset(50),
            holes,
            before,
        }
    }

    fn told(missing: u32, holes: Tally, before: Before) -> GapReason {
        reason(&PartitionContext::default(), &gap(missing, holes, before), None)
    }

    fn told_compacted(missing: u32, holes: Tally, before: Before) -> GapReason {
        reason(&PartitionContext::default(), &gap(missing, holes, before), Some(Offset(80)))
    }

    const NONE: Tally = Tally {
        head: 0,
        damage: 0,
        first_file: 0,
        boundary: 0,
        inside: 0,
        cleaned: 0,
        passed: 0,
        unsettled: 0,
    };

    #[test]
    fn a_removed_head_explains_as_many_sequences_as_offsets_are_missing_and_not_one_more() {
        let head = Tally { head: 57, ..NONE };
        assert_eq!(told(57, head, Before::Nothing), GapReason::Retention);
        assert_eq!(told(58, head, Before::Nothing), GapReason::LostProducerState);
    }

    #[test]
    fn a_removed_head_explains_nothing_behind_batches_of_the_same_producer() {
        assert_eq!(told(3, Tally { head: 57, ..NONE }, Before::Recent), GapReason::LostProducerState);
    }

    #[test]
    fn a_log_that_lost_nothing_begins_in_mid_sequence() {
        assert_eq!(told(4, NONE, Before::Nothing), GapReason::FirstAppend);
    }

    #[test]
    fn contiguous_offsets_mean_that_the_broker_had_no_state() {
        assert_eq!(told(6, NONE, Before::Forgotten), GapReason::ExpiredProducerState);
        assert_eq!(told(6, NONE, Before::Recent), GapReason::LostProducerState);
    }

    #[test]
    fn a_hole_between_files_is_a_missing_segment_unless_the_cleaner_was_there() {
        let hole = Tally { boundary: 9, ..NONE };
        assert_eq!(told(3, hole, Before::Recent), GapReason::MissingSegment);
        assert_eq!(told_compacted(3, hole, Before::Recent), GapReason::Compaction);
    }

    #[test]
    fn a_hole_inside_a_file_needs_the_cleaner_or_damage_as_an_excuse() {
        let hole = Tally { inside: 9, ..NONE };
        assert_eq!(told(9, hole, Before::Recent), GapReason::Unexplained);
        assert_eq!(told_compacted(9, hole, Before::Recent), GapReason::Compaction);
        assert_eq!(told(9, Tally { damage: 9, ..NONE }, Before::Recent), GapReason::Damage);
    }

    #[test]
    fn a_hole_smaller_than_the_gap_explains_it_not() {
        assert_eq!(told(10, Tally { inside: 9, ..NONE }, Before::Recent), GapReason::Unexplained);
        assert_eq!(told(10, Tally { damage: 9, ..NONE }, Before::Recent), GapReason::LostProducerState);
    }

    #[test]
    fn a_missing_file_is_named_also_where_it_cannot_hold_all_that_is_missing() {
        let hole = Tally { boundary: 1, ..NONE };
        assert_eq!(told(2, hole, Before::Recent), GapReason::MissingSegment);
        assert_eq!(told(6, hole, Before::Forgotten), GapReason::MissingSegment);
    }

    #[test]
    fn a_log_start_inside_the_files_was_moved() {
        let context = PartitionContext {
            log_start_offset: Offset(12),
            log_start_source: LogStartSource::Checkpoint,
            segment_bases: vec![Offset(8)],
            ..PartitionContext::default()
        };
        let holes = Tally { head: 8, ..NONE };
        assert_eq!(reason(&context, &gap(4, holes, Before::Nothing), None), GapReason::LogStartMoved);
    }
}
