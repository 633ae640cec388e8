//! What a broker answers to an append, row by row: each rule on a partition that holds what it would
//! have refused, or what it takes without a word.
//!
//! A log never shows what was refused. So each row says what is told of a log in which the batch stands
//! all the same, because a replica, a recovery or a leader without memory took it.

use super::super::script::{START, fold_in};
use super::{Offset, PartitionContext};
use crate::facts::{Snapshot, SnapshotEntry, StepKind};
use crate::finding::GapReason;
use crate::units::{ProducerEpoch, ProducerId, Sequence};

/// A rule, a log, and what is told: gaps as first missing, found, reason; steps; open transactions.
type Row = (&'static str, &'static str, &'static [(i32, i32, GapReason)], &'static [StepKind], u64);

fn told(context: PartitionContext, script: &str) -> (Vec<(i32, i32, GapReason)>, Vec<StepKind>, u64) {
    let (_, facts) = fold_in(context, script);
    let gaps = facts.gaps.iter().map(|gap| (gap.expected, gap.found, gap.reason)).collect();
    let steps = facts.steps.iter().map(|step| step.kind).collect();
    let open = facts.transactions.iter().filter(|span| span.is_without_end()).count();
    (gaps, steps, open.try_into().unwrap())
}

const ROWS: &[Row] = {
    use GapReason::{Compaction, ExpiredProducerState, FirstAppend, LostProducerState, MissingSegment};
    use StepKind::{EpochDown, MarkerDown, OutsideTransaction, Overlap, Repeat, StepBack, WriteBehindMarker};
    &[
        // Duplicates (8.4).
        ("the last range again", "D 5/0 0..4; D 5/0 0..4", &[], &[Repeat], 0),
        (
            "one of the last five again",
            "D 5/0 0..1; D 5/0 2..2; D 5/0 3..3; D 5/0 4..4; D 5/0 5..5; D 5/0 0..1",
            &[],
            &[Repeat],
            0,
        ),
        (
            "one beyond the five again",
            "D 5/0 0..1; D 5/0 2..2; D 5/0 3..3; D 5/0 4..4; D 5/0 5..5; D 5/0 6..6; D 5/0 0..1",
            &[],
            &[Repeat],
            0,
        ),
        ("an overlap is no duplicate", "D 5/0 0..4; D 5/0 2..4", &[], &[Overlap], 0),
        (
            "a marker of the same epoch keeps the window",
            "X 7/3 0..1; +M 7/3; X 7/3 0..1; +M 7/3",
            &[],
            &[Repeat],
            0,
        ),
        ("one of a higher epoch clears it", "X 7/3 0..1; +M 7/4; X 7/4 0..1; +M 7/5", &[], &[], 0),
        ("another epoch is no duplicate", "D 5/0 0..4; D 5/1 0..4", &[], &[], 0),
        // Epochs (8.5).
        ("a lower epoch", "D 5/1 0..4; D 5/0 0..0", &[], &[EpochDown], 0),
        (
            "a lower epoch than that of a marker",
            "X 7/3 0..1; +M 7/4; X 7/3 2..2",
            &[],
            &[WriteBehindMarker],
            1,
        ),
        (
            "a lower epoch that goes on is one step",
            "D 5/1 0..4; D 5/0 0..0; D 5/0 1..1; D 5/0 2..3",
            &[],
            &[EpochDown],
            0,
        ),
        (
            "a lower epoch that steps back and jumps",
            "D 5/1 0..4; D 5/0 3..3; D 5/0 1..1; D 5/0 4..4",
            &[(2, 4, LostProducerState)],
            &[EpochDown, StepBack],
            0,
        ),
        ("a marker of a lower epoch", "X 7/5 0..1; +M 7/4; X 7/5 2..2; +M 7/5", &[], &[MarkerDown], 0),
        (
            "a marker of a lower epoch than that of a marker",
            "X 7/5 0..1; -M 7/6; -M 7/5",
            &[],
            &[MarkerDown],
            0,
        ),
        ("a marker of a lower epoch behind a pause", "X 7/5 0..1; +M 7/5; wait 25h; +M 7/4", &[], &[], 0),
        ("the same while a transaction is open", "X 7/5 0..1; wait 25h; +M 7/4", &[], &[MarkerDown], 0),
        ("a skipped epoch", "D 5/0 0..4; D 5/3 0..0", &[], &[], 0),
        // Sequences (8.6).
        ("c: a new epoch above 0", "D 5/0 0..4; D 5/1 3..4", &[(0, 3, LostProducerState)], &[], 0),
        ("d: a new epoch from 0", "D 5/0 0..4; D 5/1 0..0", &[], &[], 0),
        ("e: unknown, any sequence, at the beginning of a log", "D 5/0 7..8", &[(0, 7, FirstAppend)], &[], 0),
        ("e: unknown, any sequence, behind others", "D 6/0 0..3; D 5/0 7..8", &[(0, 7, FirstAppend)], &[], 0),
        ("f: the next sequence", "D 5/0 0..4; D 5/0 5..5", &[], &[], 0),
        ("f: a jump", "D 5/0 0..4; D 5/0 7..7", &[(5, 7, LostProducerState)], &[], 0),
        (
            "f: a step back to what was never written",
            "D 5/0 30..34; D 5/0 0..4",
            &[(0, 30, FirstAppend)],
            &[StepBack],
            0,
        ),
        ("g: only a marker in this epoch, from 0", "X 7/0 0..0; +M 7/1; X 7/1 0..0; +M 7/2", &[], &[], 0),
        (
            "g: only a marker in this epoch, above 0",
            "X 7/0 0..0; +M 7/1; X 7/1 4..4; +M 7/2",
            &[(0, 4, LostProducerState)],
            &[],
            0,
        ),
        // Markers (8.7).
        (
            "the sequence goes on behind a marker of the same epoch",
            "X 7/0 0..1; +M 7/0; X 7/0 2..2; -M 7/0",
            &[],
            &[],
            0,
        ),
        ("a marker without data", "+M 7/0; X 7/0 0..0; +M 7/0", &[], &[], 0),
        ("a marker twice", "X 7/0 0..0; +M 7/1; +M 7/1; X 7/1 0..0; -M 7/2", &[], &[], 0),
        (
            "a timeout raises the epoch under every protocol",
            "X 7/0 0..1; -M 7/1; X 7/2 0..0; +M 7/2",
            &[],
            &[],
            0,
        ),
        // Open transactions (8.8).
        (
            "a plain batch inside an open transaction",
            "X 7/0 0..0; D 7/0 1..1; +M 7/0",
            &[],
            &[OutsideTransaction],
            0,
        ),
        ("a transaction without end", "X 7/0 0..0; D 5/0 0..0", &[], &[], 1),
        // The update of the state (8.9): headers count, not what the cleaner left.
        ("a batch that was compacted", "D 5/0 0..4; kept 1; D 5/0 5..5; roll; D 5/0 6..6", &[], &[], 0),
        (
            "a batch that the cleaner took",
            "D 5/0 0..4; kept 1; at 9; D 5/0 9..9; roll; D 5/0 10..10",
            &[(5, 9, Compaction)],
            &[],
            0,
        ),
        // Arithmetic (8.10).
        (
            "the wrap between two batches",
            "D 5/0 2147483640..2147483647; D 5/0 0..1",
            &[(0, 2_147_483_640, FirstAppend)],
            &[],
            0,
        ),
        (
            "the wrap inside a batch",
            "D 5/0 2147483646..1; D 5/0 2..2",
            &[(0, 2_147_483_646, FirstAppend)],
            &[],
            0,
        ),
        (
            "the wrap inside a batch, again",
            "D 5/0 2147483646..1; D 5/0 2147483646..1",
            &[(0, 2_147_483_646, FirstAppend)],
            &[Repeat],
            0,
        ),
        // Expiry (8.11).
        (
            "a jump behind a pause of a day",
            "D 5/0 0..4; wait 25h; D 5/0 9..9",
            &[(5, 9, ExpiredProducerState)],
            &[],
            0,
        ),
        (
            "a jump behind a shorter pause",
            "D 5/0 0..4; wait 23h; D 5/0 9..9",
            &[(5, 9, LostProducerState)],
            &[],
            0,
        ),
        (
            "a jump behind a batch without time",
            "no-time; D 5/0 0..4; D 5/0 9..9",
            &[(5, 9, ExpiredProducerState)],
            &[],
            0,
        ),
        ("a repeat behind a pause", "D 5/0 0..4; wait 25h; D 5/0 0..4", &[], &[Repeat], 0),
        ("the next sequence behind a pause", "D 5/0 0..4; wait 25h; D 5/0 5..5", &[], &[], 0),
        // What is gone (8.12 to 8.14).
        ("a hole between two files", "D 5/0 0..4; at 9; roll; D 5/0 9..9", &[(5, 9, MissingSegment)], &[], 0),
        (
            "what was truncated and written anew under a new leader",
            "D 5/0 0..4; leader 1; D 5/1 0..1",
            &[],
            &[],
            0,
        ),
    ]
};

#[test]
fn each_row_of_the_append_is_told_for_what_it_is() {
    let mut wrong = Vec::new();
    for &(rule, script, gaps, steps, open) in ROWS {
        let told = told(PartitionContext::default(), script);
        if told != (gaps.to_vec(), steps.to_vec(), open) {
            wrong.push(format!("{rule}: {script}: {told:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_coordinator_checks_no_sequences() {
    let context = PartitionContext { internal: true, ..PartitionContext::default() };
    let script = "X 7/0 0..0; +M 7/0; X 7/0 0..0; +M 7/0; X 7/0 9..9; +M 7/0";
    assert_eq!(told(context, script), (Vec::new(), Vec::new(), 0));
}

#[test]
fn retention_takes_the_head_and_not_the_memory() {
    let context = PartitionContext { segment_bases: vec![Offset(40)], ..PartitionContext::default() };
    assert_eq!(told(context, "D 5/0 40..44; D 5/0 45..45"), (vec![(0, 40, GapReason::Retention)], vec![], 0));
}

#[test]
fn another_expiry_is_the_one_that_counts() {
    let context = PartitionContext { expiration_ms: Some(60_000), ..PartitionContext::default() };
    let jump = vec![(5, 9, GapReason::ExpiredProducerState)];
    assert_eq!(told(context, "D 5/0 0..4; wait 90s; D 5/0 9..9").0, jump);
}

#[test]
fn behind_a_removed_head_the_snapshot_says_what_was_written_last() {
    let entry = SnapshotEntry {
        producer_id: ProducerId(5),
        producer_epoch: Some(ProducerEpoch(0)),
        last_sequence: Sequence::new(39),
        last_offset: Some(Offset(39)),
        offset_delta: 0,
        timestamp: START,
        coordinator_epoch: None,
        current_txn_first_offset: None,
    };
    let context = || PartitionContext {
        segment_bases: vec![Offset(40)],
        snapshots: vec![Snapshot { file: "40".to_owned(), offset: Offset(40), entries: Ok(vec![entry]) }],
        ..PartitionContext::default()
    };
    // Retention took the head; what is missing behind it is counted from what the snapshot knows.
    assert_eq!(told(context(), "D 5/0 40..41").0, [(0, 40, GapReason::Retention)]);
    let missing: Vec<_> =
        told(context(), "D 5/0 44..44").0.into_iter().map(|(first, found, _)| (first, found)).collect();
    assert_eq!(missing, [(40, 44)]);
}

#[test]
fn the_first_batch_is_held_against_the_snapshot_at_the_first_file_as_a_broker_would() {
    use GapReason::{LostProducerState, Retention};
    use StepKind::{EpochDown, MarkerDown, Overlap, RepeatOfSnapshot, RestartBehindDeletion, StepBack};
    let told_of = |batch: Option<(i32, i32)>, script: &str| {
        let entry = SnapshotEntry {
            producer_id: ProducerId(5),
            producer_epoch: Some(ProducerEpoch(3)),
            last_sequence: batch.and_then(|(_, last)| Sequence::new(last)),
            last_offset: batch.map(|_| Offset(37)),
            offset_delta: batch.map_or(0, |(first, last)| last - first),
            timestamp: START,
            coordinator_epoch: None,
            current_txn_first_offset: None,
        };
        let (file, offset) = ("40.snapshot".to_owned(), Offset(40));
        let context = PartitionContext {
            segment_bases: vec![Offset(40)],
            snapshots: vec![Snapshot { file, offset, entries: Ok(vec![entry]) }],
            ..PartitionContext::default()
        };
        let (gaps, steps, _) = told(context, script);
        (gaps, steps)
    };
    let told = |script: &str| told_of(Some((20, 24)), script);
    let step = |kind: StepKind| (Vec::new(), vec![kind]);
    assert_eq!(told("D 5/3 20..24; D 5/3 25..25"), step(RepeatOfSnapshot));
    assert_eq!(told("D 5/3 22..24"), step(Overlap));
    assert_eq!(told("D 5/3 17..18; D 5/3 19..19"), step(StepBack));
    assert_eq!(told("D 5/2 25..25; D 5/2 26..26"), step(EpochDown));
    assert_eq!(told("+M 5/2"), step(MarkerDown));
    // It goes on, and its window holds the batch for a while.
    let goes_on = |steps| (vec![(0, 25, Retention)], steps);
    assert_eq!(told("D 5/3 25..25"), goes_on(Vec::new()));
    assert_eq!(told("D 5/3 25..25; D 5/3 20..24"), goes_on(vec![RepeatOfSnapshot]));
    assert_eq!(told("D 5/3 27..27"), (vec![(25, 27, LostProducerState)], Vec::new()));
    // A new epoch begins at 0, whatever was deleted in front of it.
    assert_eq!(told("D 5/4 0..0"), (Vec::new(), Vec::new()));
    assert_eq!(told("D 5/4 2..2"), (vec![(0, 2, LostProducerState)], Vec::new()));
    // Clients before 2.5 begin again at 0 when their records were deleted.
    assert_eq!(told("D 5/3 0..4"), step(RestartBehindDeletion));
    assert_eq!(told_of(Some((0, 4)), "D 5/3 0..4"), step(RestartBehindDeletion));
    // A marker began the epoch.
    assert_eq!(told_of(None, "D 5/3 0..4"), (Vec::new(), Vec::new()));
    assert_eq!(told_of(None, "D 5/3 2..4"), (vec![(0, 2, LostProducerState)], Vec::new()));
    assert_eq!(told_of(None, "D 5/2 0..4"), step(EpochDown));
    assert_eq!(told("+M 5/4; D 5/4 0..0"), (Vec::new(), Vec::new()));
}
