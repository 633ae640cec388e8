//! The rules of the batch lane, each on a partition written down in a few words.

use super::super::script::{fold, fold_in};
use super::*;
use crate::facts::{LogTail, SnapshotConflict, SnapshotConflictKind, StepKind, TransactionSpan};
use crate::finding::{GapReason, ProtectionMode};
use crate::units::{ProducerEpoch, Sequence};
use proptest::prelude::*;

fn gaps(facts: &PartitionFacts) -> Vec<(i32, i32, i64, GapReason)> {
    facts.gaps.iter().map(|gap| (gap.expected, gap.found, gap.at_offset, gap.reason)).collect()
}

fn steps(facts: &PartitionFacts) -> Vec<(StepKind, i64)> {
    facts.steps.iter().map(|step| (step.kind, step.at_offset.0)).collect()
}

fn outcomes(facts: &PartitionFacts) -> Vec<(i64, Outcome)> {
    facts.transactions.iter().map(|span| (span.first_offset.0, span.outcome)).collect()
}

#[test]
fn a_span_holds_all_that_an_epoch_wrote() {
    let facts = fold("D 5/0 0..4; D 6/0 0..0; D 5/0 5..5; D 5/1 0..1");
    let epochs: Vec<_> = facts.epochs.iter().collect();
    assert_eq!(epochs.len(), 3);
    let first = &epochs[0];
    assert_eq!((first.first_offset, first.last_offset), (Offset(0), Offset(6)));
    assert_eq!((first.first_sequence, first.last_sequence), (Sequence::new(0), Sequence::new(5)));
    assert_eq!((first.batches, first.records), (2, 6));
    assert_eq!(epochs[1].producer_epoch, Some(ProducerEpoch(1)));
    assert_eq!(facts.records, 9);
    assert_eq!(facts.log_end_offset, Offset(9));
    assert!(gaps(&facts).is_empty());
}

#[test]
fn a_producer_goes_on_where_it_was_behind_a_batch_of_long_ago_below_the_log_start() {
    let context = || PartitionContext { log_start_offset: Offset(6), ..PartitionContext::default() };
    let script = "D 5/0 11..13; D 5/0 0..2; D 5/0 14..14; D 5/0 15..16";
    let (_, facts) = fold_in(context(), script);
    let sequences: Vec<_> = gaps(&facts).iter().map(|&(expected, found, ..)| (expected, found)).collect();
    assert_eq!(sequences, [(0, 11)]);
    // One that began again there goes on from its new beginning.
    let (_, facts) = fold_in(context(), "D 5/0 0..2; D 5/0 0..2; D 5/0 3..4; D 5/0 9..9");
    assert_eq!(gaps(&facts).iter().map(|gap| (gap.0, gap.1)).collect::<Vec<_>>(), [(5, 9)]);
}

#[test]
fn of_many_transactions_the_newest_are_kept_and_what_they_withhold_is_exact() {
    use std::fmt::Write;
    let mut script = String::from("X 9/0 0..0;");
    for number in 0..30_000 {
        let sign = if number % 10_000 == 0 { '-' } else { '+' };
        write!(script, "X 7/0 {number}..{number}; {sign}M 7/0;").unwrap();
    }
    let facts = fold(&script);
    // One without end, three aborted ones, and the newest 20,000 of 29,997.
    assert_eq!((facts.transactions.len(), facts.transactions_omitted), (20_004, 9_997));
    assert_eq!(facts.transactions.iter().filter(|span| span.outcome == Outcome::Aborted).count(), 3);
    assert!(facts.transactions[0].is_without_end());
    let withheld: Vec<_> = facts.withheld.iter().map(|range| range.first_offset.0).collect();
    assert_eq!(withheld, [0, 1, 20_001, 40_001]);
    assert_eq!(facts.epochs.iter().next().unwrap().ends, Some(crate::facts::EpochEnds::Own));
}

#[test]
fn an_epoch_bump_from_zero_is_no_gap_and_one_above_zero_is() {
    assert!(gaps(&fold("D 5/0 0..4; D 5/1 0..4")).is_empty());
    let facts = fold("D 5/0 0..4; D 5/1 3..4");
    assert_eq!(gaps(&facts), [(0, 3, 5, GapReason::LostProducerState)]);
}

#[test]
fn both_transaction_protocols_a_timeout_and_one_that_hangs() {
    let facts = fold(
        "X 7/10 0..4; +M 7/11; X 7/11 0..1; -M 7/12
         X 8/3 0..1; +M 8/3; X 8/3 2..3; -M 8/4
         X 9/0 0..2; D 5/0 0..0",
    );
    let (committed, aborted) = (Outcome::Committed, Outcome::Aborted);
    assert_eq!(
        outcomes(&facts),
        [(0, committed), (6, aborted), (9, committed), (12, aborted), (15, Outcome::Open)]
    );
    assert_eq!(facts.last_stable_offset, Offset(15));
    assert_eq!(facts.log_end_offset, Offset(19));
    let withheld: Vec<_> = facts
        .withheld
        .iter()
        .map(|range| (range.first_offset.0, range.last_offset.0, range.outcome))
        .collect();
    assert_eq!(withheld, [(6, 7, aborted), (12, 13, aborted), (15, 17, Outcome::Open)]);
    assert!(gaps(&facts).is_empty());
    assert!(steps(&facts).is_empty());
}

#[test]
fn a_transaction_withholds_its_own_records_and_not_those_between() {
    let facts = fold("X 7/0 0..1; D 5/0 0..4; X 7/0 2..2; X 8/0 0..0; -M 7/0; -M 8/0");
    let ranges: Vec<_> = facts.withheld.iter().map(|r| (r.first_offset.0, r.last_offset.0)).collect();
    assert_eq!(ranges, [(0, 1), (7, 8)]);
}

#[test]
fn markers_without_data_are_innocent_and_emptied_ones_say_nothing() {
    let facts = fold("+M 7/0; X 7/0 0..0; eM 7/0; +M 7/0; +M 7/0; -M 9/3");
    assert_eq!(outcomes(&facts), [(1, Outcome::Committed)]);
    assert_eq!(facts.transactions[0].marker_offset, Some(Offset(3)));
    assert_eq!(facts.empty_markers.len(), 3);
    assert_eq!(facts.control_batches, 5);
    assert_eq!(facts.last_stable_offset, facts.log_end_offset);
}

#[test]
fn a_marker_that_cannot_be_read_ends_the_transaction_nobody_knows_how() {
    let facts = fold("X 7/0 0..0; ?M 7/0; X 7/0 1..1; +M 7/0");
    assert_eq!(outcomes(&facts), [(0, Outcome::Open), (2, Outcome::Committed)]);
    assert_eq!(facts.last_stable_offset, Offset(4));
}

#[test]
fn a_write_behind_its_own_marker_is_told() {
    let facts = fold("X 7/10 0..4; +M 7/11; X 7/10 5..5");
    assert_eq!(steps(&facts), [(StepKind::WriteBehindMarker, 6)]);
    assert_eq!(facts.last_stable_offset, Offset(6));
    assert!(steps(&fold("X 7/10 0..4; +M 7/10; X 7/10 5..5; +M 7/10")).is_empty());
}

#[test]
fn repeats_overlaps_and_epochs_that_go_down_are_steps_and_no_gaps() {
    let facts = fold("D 5/0 0..4; D 5/0 5..6; D 5/0 0..4; D 5/0 7..7");
    assert_eq!(steps(&facts), [(StepKind::Repeat, 7)]);
    assert!(gaps(&facts).is_empty());
    assert_eq!(steps(&fold("D 5/0 0..4; D 5/0 2..6")), [(StepKind::Overlap, 5)]);
    assert_eq!(steps(&fold("D 5/1 0..4; D 5/0 5..6")), [(StepKind::EpochDown, 5)]);
    assert_eq!(steps(&fold("D 5/0 30..34; D 5/0 0..4")), [(StepKind::StepBack, 5)]);
}

#[test]
fn a_restart_at_zero_behind_deleted_records_is_what_old_clients_do() {
    let context = PartitionContext { log_start_offset: Offset(5), ..PartitionContext::default() };
    let (_, facts) = fold_in(context, "D 5/0 30..34; D 5/0 0..4; D 5/0 5..5");
    assert_eq!(steps(&facts), [(StepKind::RestartBehindDeletion, 5)]);
}

#[test]
fn epoch_minus_one_beside_a_producer_id_is_not_checked() {
    let facts = fold("D 5/-1 0..4; D 5/-1 90..91");
    assert!(gaps(&facts).is_empty());
    assert_eq!(facts.epochs.iter().next().unwrap().producer_epoch, None);
    assert_eq!(facts.ineffective[0].reason, IneffectiveReason::NoEpoch);
    assert_eq!(facts.ineffective[0].records, 7);
}

#[test]
fn a_trimmed_head_a_moved_log_start_and_a_lost_segment() {
    let context = PartitionContext { segment_bases: vec![Offset(1200)], ..PartitionContext::default() };
    let (_, facts) = fold_in(context, "D 5/0 57..60");
    assert_eq!(gaps(&facts), [(0, 57, 1200, GapReason::Retention)]);

    let facts = fold("D 5/0 0..4; D 6/0 0..0; at 20; roll; D 5/0 9..9; D 6/0 1..1");
    assert_eq!(gaps(&facts), [(5, 9, 20, GapReason::MissingSegment)]);
    assert_eq!((facts.holes[0].first_offset, facts.holes[0].last_offset), (Offset(6), Offset(19)));
}

#[test]
fn a_last_file_without_batches_says_where_the_log_ends() {
    let facts = fold("D 5/0 0..4; roll");
    assert_eq!((facts.log_end_offset, facts.holes.len()), (Offset(5), 0));
    let facts = fold("D 5/0 0..4; at 9; roll");
    assert_eq!((facts.log_end_offset, facts.holes[0].last_offset), (Offset(9), Offset(8)));
    let facts = fold("at 9; roll");
    assert_eq!(facts.log_end_offset, Offset(9));
}

#[test]
fn holes_of_the_cleaner_need_its_trace() {
    let facts = fold("D 5/0 0..4; kept 2; at 9; D 5/0 9..9; roll; D 5/0 10..10");
    assert_eq!(gaps(&facts), [(5, 9, 9, GapReason::Compaction)]);
    let facts = fold("D 5/0 0..4; at 9; D 5/0 9..9");
    assert_eq!(gaps(&facts), [(5, 9, 9, GapReason::Unexplained)]);
    let facts = fold("D 5/0 0..4; kept 2; roll; D 5/0 5..5; at 20; D 5/0 9..9");
    assert_eq!(gaps(&facts), [(6, 9, 20, GapReason::Unexplained)]);
    // A file that begins above its name is the cleaner's, or lost what it held.
    let facts = fold("D 5/0 0..4; kept 2; roll; D 5/0 5..5; roll; at 20; D 5/0 9..9");
    assert_eq!(gaps(&facts), [(6, 9, 20, GapReason::Compaction)]);
    assert_eq!(facts.holes[0].kind, super::super::HoleKind::Emptied);
}

#[test]
fn unreadable_bytes_explain_the_hole_behind_them() {
    let facts = fold("D 5/0 0..4; damage; at 9; D 5/0 9..9");
    assert_eq!(gaps(&facts), [(5, 9, 9, GapReason::Damage)]);
    assert_eq!(facts.tail, LogTail::Whole);
    let tail = |script| fold(script).tail;
    assert_eq!(tail("D 5/0 0..4; damage"), LogTail::Damaged);
    assert_eq!(tail("D 5/0 0..4; torn"), LogTail::Torn);
    assert_eq!(tail("D 5/0 0..4; damage; torn"), LogTail::Damaged);
}

#[test]
fn a_batch_out_of_its_place_is_folded_where_it_belongs_and_moves_no_offset_where_that_is_unknown() {
    let header = |sequence, offset| {
        let facts = super::super::script::batches(&format!("D 5/0 {sequence}..{sequence}"));
        let mut batch = facts.into_iter().next().unwrap();
        batch.header.base_offset = Offset(offset);
        batch
    };
    let damage = Damage {
        position: crate::units::FilePosition(0),
        length: 1,
        kind: crate::format::DamageKind::BadOffset,
        expected: false,
        detail: String::new(),
        first_offset: None,
        last_offset: None,
        records_missing: true,
    };
    for belongs_at in [Some(Offset(1)), None] {
        let context = PartitionContext { segment_bases: vec![Offset(0)], ..PartitionContext::default() };
        let mut ledger = Ledger::new(context, &crate::spill::Share::default());
        ledger.batch(&header(0, 0));
        ledger.suspect(&header(1, 1 << 40), &damage, belongs_at);
        ledger.batch(&header(2, 2));
        let facts = ledger.finish().unwrap();
        assert!(gaps(&facts).is_empty());
        assert_eq!((facts.records, facts.log_end_offset), (3, Offset(3)));
    }
}

#[test]
fn a_jump_after_a_long_pause_is_one_that_nobody_checked() {
    let facts = fold("D 5/0 0..4; wait 25h; D 5/0 9..9");
    assert_eq!(gaps(&facts), [(5, 9, 5, GapReason::ExpiredProducerState)]);
    let facts = fold("D 5/0 0..4; D 5/0 9..9");
    assert_eq!(gaps(&facts), [(5, 9, 5, GapReason::LostProducerState)]);
}

#[test]
fn internal_topics_have_no_sequence_judgement() {
    let context = PartitionContext { internal: true, ..PartitionContext::default() };
    let (_, facts) = fold_in(context, "X 5/0 0..0; +M 5/0; X 5/0 0..0; +M 5/0; X 5/0 7..7");
    assert!(gaps(&facts).is_empty() && steps(&facts).is_empty());
    assert_eq!(facts.epochs.iter().next().unwrap().records, 3);
}

#[test]
fn protection_counts_records_by_mode_and_leaves_markers_out() {
    let facts = fold("D -1 2; D 5/0 0..2; X 7/0 0..0; +M 7/0; X 7/0 1..1; V1 4; D -1 1");
    let protection = &facts.protection;
    assert_eq!(protection.unprotected_records, 3);
    assert_eq!(protection.idempotent_records, 3);
    assert_eq!(protection.transactional_records, 2);
    assert_eq!(protection.legacy_records, 4);
    let modes: Vec<_> =
        protection.stretches.iter().map(|s| (s.mode, s.first_offset.0, s.last_offset.0)).collect();
    assert_eq!(
        modes,
        [
            (ProtectionMode::None, 0, 1),
            (ProtectionMode::Idempotent, 2, 4),
            (ProtectionMode::Transactional, 5, 7),
            (ProtectionMode::Legacy, 8, 11),
            (ProtectionMode::None, 12, 12)
        ]
    );
}

fn any_header() -> impl Strategy<Value = (BatchHeader, u8)> {
    (
        (any::<i64>(), 0_i64..200, any::<bool>(), -1_i8..4, any::<i16>(), 0_i32..i32::MAX),
        (any::<i64>(), -2_i64..4, -1_i16..3, -1_i32..40, any::<u32>(), any::<u8>()),
    )
        .prop_map(
            |((far, near, wild, magic, attributes, delta), (time, id, epoch, sequence, count, more))| {
                let header = BatchHeader {
                    base_offset: Offset(if wild { far } else { near }),
                    magic,
                    partition_leader_epoch: None,
                    crc: 0,
                    attributes,
                    last_offset_delta: if wild { delta } else { delta % 5 },
                    base_timestamp: time,
                    max_timestamp: time,
                    producer_id: crate::units::ProducerId(id),
                    producer_epoch: (epoch >= 0).then_some(ProducerEpoch(epoch)),
                    base_sequence: Sequence::new(sequence),
                    records_count: Some(count),
                };
                (header, more)
            },
        )
}

proptest! {
    #[test]
    fn no_sequence_of_headers_makes_it_panic_or_lose_a_batch(headers in prop::collection::vec(any_header(), 0..60)) {
        let fold = |limit: usize| {
            let bases = vec![Offset(0), Offset(50)];
            let context = PartitionContext { segment_bases: bases, ..PartitionContext::default() };
            let mut ledger = Ledger::new(context, &Share { limit, ..Share::default() });
            for (header, more) in &headers {
                let control = (more % 3 == 0).then_some(ControlRecord::EndTransaction {
                    outcome: Decision::Commit,
                    coordinator_epoch: 0,
                });
                ledger.batch(&BatchFact {
                    header: header.clone(),
                    segment: usize::from(more % 4),
                    position: crate::units::FilePosition(0),
                    control,
                });
            }
            ledger.finish().unwrap()
        };
        let facts = fold(usize::MAX);
        prop_assert_eq!(format!("{:?}", fold(0)), format!("{facts:?}"));
        prop_assert_eq!(facts.batches, u64::try_from(headers.len()).unwrap());
        let spans: u64 = facts.epochs.iter().map(|span| span.batches).sum();
        prop_assert!(spans <= facts.batches);
    }
}

fn snapshot(number: i64, entries: &[(i64, i16, Option<i64>)]) -> crate::facts::Snapshot {
    let entry = |&(id, epoch, open): &(i64, i16, Option<i64>)| crate::facts::SnapshotEntry {
        producer_id: crate::units::ProducerId(id),
        producer_epoch: Some(ProducerEpoch(epoch)),
        last_sequence: None,
        last_offset: None,
        offset_delta: 0,
        timestamp: crate::facts::script::START,
        coordinator_epoch: None,
        current_txn_first_offset: open.map(Offset),
    };
    let entries = Ok(entries.iter().map(entry).collect());
    crate::facts::Snapshot { file: format!("{number}.snapshot"), offset: Offset(number), entries }
}

#[test]
fn a_marker_in_a_missing_file_is_known_to_a_later_snapshot() {
    let context =
        || PartitionContext { snapshots: vec![snapshot(9, &[(7, 2, None)])], ..PartitionContext::default() };
    let (_, facts) = fold_in(context(), "X 7/1 0..4; at 9; roll; D 5/0 0..0");
    assert!(!facts.transactions[0].is_without_end());
    assert_eq!((facts.last_stable_offset, facts.snapshot_conflicts.len()), (Offset(10), 0));
    // Without a hole the snapshot contradicts the log.
    let context =
        PartitionContext { snapshots: vec![snapshot(5, &[(7, 2, None)])], ..PartitionContext::default() };
    let (_, facts) = fold_in(context, "X 7/1 0..4; roll; D 5/0 0..0");
    assert!(facts.transactions[0].is_without_end());
    assert_eq!(facts.snapshot_conflicts.len(), 1);
}

#[test]
fn of_two_snapshots_that_remember_a_transaction_the_later_one_is_right() {
    let snapshots = vec![snapshot(40, &[(7, 1, Some(33))]), snapshot(41, &[(7, 2, Some(40))])];
    let context =
        PartitionContext { snapshots, segment_bases: vec![Offset(40)], ..PartitionContext::default() };
    let (_, facts) = fold_in(context, "X 7/1 5..5; roll; D 5/0 0..0");
    assert_eq!((facts.last_stable_offset, facts.snapshot_conflicts.len()), (Offset(40), 0));
}

#[test]
fn data_of_a_higher_epoch_takes_an_open_transaction_along_and_is_another_one() {
    let told = |script: &str| {
        let spans = fold(script).transactions;
        let told = |span: &TransactionSpan| {
            let epochs = [span.producer_epoch, span.followed_by].map(|epoch| epoch.map(|epoch| epoch.0));
            (epochs, span.first_offset.0, span.open_since.0, span.marker_offset.map(|offset| offset.0))
        };
        spans.iter().map(told).collect::<Vec<_>>()
    };
    let both = |marker| vec![([Some(1), Some(2)], 0, 0, marker), ([Some(2), None], 5, 0, marker)];
    assert_eq!(told("X 7/1 0..4; X 7/2 0..0; +M 7/3"), both(Some(6)));
    assert_eq!(told("X 7/1 0..4; X 7/2 0..0"), both(None));
    assert_eq!(told("X 7/1 0..4; X 7/1 5..5; +M 7/2").len(), 1);
}

#[test]
fn what_an_epoch_left_out_lies_behind_a_marker_of_a_lower_one() {
    let head = PartitionContext { segment_bases: vec![Offset(40)], ..PartitionContext::default() };
    let (_, facts) = fold_in(head, "-M 7/1; D 7/2 3..3");
    assert_eq!(gaps(&facts), [(0, 3, 41, GapReason::LostProducerState)]);
}

#[test]
fn an_epoch_that_goes_down_leaves_the_higher_one_where_it_was() {
    let facts = fold("D 5/1 0..4; D 5/0 7..7; D 5/1 5..5");
    assert_eq!(steps(&facts), [(StepKind::EpochDown, 5)]);
    assert!(gaps(&facts).is_empty());
}

#[test]
fn the_cleaner_takes_no_file_from_the_head() {
    let context = PartitionContext {
        segment_bases: vec![Offset(40)],
        leader_epochs: vec![(crate::units::LeaderEpoch(0), Offset(0))],
        cleaned_up_to: Some(Offset(60)),
        ..PartitionContext::default()
    };
    let (_, facts) = fold_in(context, "D 5/0 40..44");
    assert_eq!(gaps(&facts), [(0, 40, 40, GapReason::MissingSegment)]);
    assert_eq!(facts.holes.len(), 1);
}

#[test]
fn a_hole_above_the_checkpoint_of_the_cleaner_is_a_missing_file_where_it_is_shown() {
    let reason = |compacted, alone: &[i64]| {
        let context = PartitionContext {
            cleaned_up_to: Some(Offset(5)),
            compacted,
            indexes_without_segment: alone.iter().map(|&base| Offset(base)).collect(),
            ..PartitionContext::default()
        };
        let (_, facts) = fold_in(context, "D 5/0 0..4; kept 2; at 20; roll; D 5/0 9..9");
        gaps(&facts).iter().map(|gap| gap.3).collect::<Vec<_>>()
    };
    assert_eq!(reason(Some(false), &[]), [GapReason::MissingSegment]);
    assert_eq!(reason(Some(true), &[5]), [GapReason::MissingSegment]);
    // The checkpoint may be older than what the cleaner did last.
    assert_eq!(reason(None, &[]), [GapReason::Compaction]);
}

#[test]
fn a_range_that_comes_again_behind_deleted_or_cleaned_records_cannot_be_compared() {
    let context = PartitionContext { log_start_offset: Offset(5), ..PartitionContext::default() };
    let (_, facts) = fold_in(context, "D 5/0 0..4; D 5/0 0..4");
    assert_eq!(steps(&facts), [(StepKind::RestartBehindDeletion, 5)]);
    assert_eq!(steps(&fold("D 5/0 0..4; kept 1; D 5/0 0..4")), [(StepKind::RestartBehindDeletion, 5)]);
    assert_eq!(steps(&fold("D 5/0 0..4; D 5/0 0..4")), [(StepKind::Repeat, 5)]);
}

#[test]
fn a_transaction_that_began_below_the_log_start_holds_readers_at_the_log_start() {
    let stable = |start: i64, script: &str| {
        let context = PartitionContext { log_start_offset: Offset(start), ..PartitionContext::default() };
        fold_in(context, script).1.last_stable_offset
    };
    assert_eq!(stable(10, "X 7/0 0..2; D 5/0 0..19"), Offset(10));
    assert_eq!(stable(10, "X 7/0 0..2; D 5/0 0..9; X 8/0 0..0"), Offset(10));
    assert_eq!(stable(2, "D 5/0 0..4; X 7/0 0..2; D 5/0 5..9"), Offset(5));
    assert_eq!(stable(10, "X 7/0 0..2; D 5/0 0..19; -M 7/0"), Offset(24));
}

/// A partition that was closed cleanly, with a snapshot behind what can be read.
fn closed(number: i64, entries: &[(i64, i16, Option<i64>)], script: &str) -> PartitionFacts {
    let snapshots = vec![snapshot(number, entries)];
    let context = PartitionContext { snapshots, clean_shutdown: Some(true), ..PartitionContext::default() };
    fold_in(context, script).1
}

#[test]
fn a_transaction_in_a_damaged_end_is_known_to_the_snapshot_of_a_clean_stop() {
    let facts = closed(8, &[(7, 1, Some(5))], "D 5/0 0..4; damage");
    assert_eq!(outcomes(&facts), [(5, Outcome::Open)]);
    assert!(facts.transactions[0].is_without_end() && facts.transactions[0].last_offset.is_none());
    assert_eq!(facts.last_stable_offset, Offset(5));
    // A snapshot of another moment, or one behind an end that can be read, says nothing of it.
    let snapshots = || vec![snapshot(8, &[(7, 1, Some(5))])];
    for clean_shutdown in [None, Some(false)] {
        let context =
            PartitionContext { snapshots: snapshots(), clean_shutdown, ..PartitionContext::default() };
        assert!(fold_in(context, "D 5/0 0..4; damage").1.transactions.is_empty());
    }
    assert!(closed(8, &[(7, 1, Some(5))], "D 5/0 0..4").transactions.is_empty());
}

#[test]
fn the_snapshot_of_a_clean_stop_knows_what_was_cut_wherever_the_cut_is() {
    let cut = |high_watermark, script: &str| {
        let context = PartitionContext {
            snapshots: vec![snapshot(9, &[(7, 1, None), (8, 1, Some(7))])],
            clean_shutdown: Some(true),
            high_watermark,
            ..PartitionContext::default()
        };
        let facts = fold_in(context, script).1;
        let conflicts: Vec<_> = facts.snapshot_conflicts.iter().map(|conflict| conflict.kind).collect();
        let open: Vec<_> =
            facts.transactions.iter().map(|span| (span.first_offset.0, span.is_without_end())).collect();
        (conflicts, open)
    };
    let beyond = vec![SnapshotConflictKind::BeyondLogEnd];
    let known = (beyond.clone(), vec![(0, false), (7, true)]);
    assert_eq!(cut(Some(Offset(9)), "X 7/1 0..4"), known);
    assert_eq!(cut(Some(Offset(9)), "X 7/1 0..4; torn"), known);
    assert_eq!(cut(None, "X 7/1 0..4; torn"), known);
    // Bytes that may be batches may be those that the snapshot covers.
    assert_eq!(cut(Some(Offset(9)), "X 7/1 0..4; damage"), (vec![], known.1));
    // Alone it may be another log's.
    assert_eq!(cut(None, "X 7/1 0..4"), (beyond, vec![(0, true)]));
}

#[test]
fn a_marker_in_a_damaged_end_is_known_to_the_snapshot_of_a_clean_stop() {
    let facts = closed(6, &[(7, 1, None)], "X 7/1 0..4; damage");
    assert_eq!(outcomes(&facts), [(0, Outcome::Open)]);
    assert_eq!(facts.transactions[0].ended_below, Some(Offset(6)));
    let withheld: Vec<_> = facts.withheld.iter().map(|range| (range.first_offset.0, range.outcome)).collect();
    assert_eq!((withheld, facts.last_stable_offset), (vec![(0, Outcome::Open)], Offset(5)));
    // The next one began behind it.
    let facts = closed(9, &[(7, 2, Some(7))], "X 7/1 0..4; damage");
    let open: Vec<_> =
        facts.transactions.iter().map(|span| (span.first_offset.0, span.is_without_end())).collect();
    assert_eq!(open, [(0, false), (7, true)]);
    // One that the snapshot still knows is open.
    assert!(closed(6, &[(7, 1, Some(0))], "X 7/1 0..4; damage").transactions[0].is_without_end());
}

#[test]
fn a_first_batch_is_held_against_the_snapshot_at_the_first_file_until_that_had_expired() {
    let day = 86_400_000;
    let told = |age: i64, script: &str| {
        let mut snapshot = snapshot(40, &[(5, 0, None)]);
        let entry = &mut snapshot.entries.as_mut().unwrap()[0];
        (entry.last_sequence, entry.last_offset, entry.offset_delta) =
            (Sequence::new(9), Some(Offset(39)), 4);
        entry.timestamp -= age;
        let segment_bases = vec![Offset(40)];
        let context =
            PartitionContext { snapshots: vec![snapshot], segment_bases, ..PartitionContext::default() };
        let (_, facts) = fold_in(context, script);
        (steps(&facts), gaps(&facts).iter().map(|gap| (gap.0, gap.1)).collect::<Vec<_>>())
    };
    let (recent, expired) = (|script| told(day / 2, script), |script| told(2 * day, script));
    let steps_of =
        ["D 5/0 5..9", "D 5/0 7..9", "D 5/0 2..4"].map(|script| (recent(script).0, expired(script).0));
    let held = [StepKind::RepeatOfSnapshot, StepKind::Overlap, StepKind::StepBack];
    assert_eq!(steps_of, held.map(|kind| (vec![(kind, 40)], vec![])));
    // What it remembers is there, and a later gap begins behind it.
    let script = "D 5/0 10..11; D 5/0 2..4; D 5/0 14..14";
    assert_eq!(recent(script), (vec![(StepKind::StepBack, 42)], vec![(0, 10), (12, 14)]));
}

#[test]
fn a_higher_epoch_behind_missing_offsets_says_that_a_marker_lay_there() {
    let told = |facts: &PartitionFacts| {
        let told = |span: &TransactionSpan| {
            (span.first_offset.0, span.outcome, span.ended_below.map(|offset| offset.0))
        };
        facts.transactions.iter().map(told).collect::<Vec<_>>()
    };
    let (open, committed) = (Outcome::Open, Outcome::Committed);
    let facts = fold("X 7/1 0..4; damage; at 6; X 7/2 0..0; +M 7/3");
    assert_eq!(told(&facts), [(0, open, Some(6)), (6, committed, None)]);
    assert_eq!(facts.withheld.iter().map(|range| range.last_offset.0).collect::<Vec<_>>(), [4]);
    let facts = fold("X 7/1 0..4; at 6; roll; X 7/2 0..0");
    assert_eq!(
        (told(&facts), facts.last_stable_offset),
        (vec![(0, open, Some(6)), (6, open, None)], Offset(6))
    );
    // The cleaner keeps a marker beside data of its transaction.
    let context = PartitionContext { cleaned_up_to: Some(Offset(6)), ..PartitionContext::default() };
    let (_, facts) = fold_in(context, "X 7/1 0..4; at 6; X 7/2 0..0; +M 7/3");
    assert_eq!(told(&facts), [(0, committed, None), (6, committed, None)]);
    // The same epoch goes on, as far as anything tells.
    assert_eq!(told(&fold("X 7/1 0..4; at 6; X 7/1 5..5; +M 7/1")), [(0, committed, None)]);
}

#[test]
fn a_snapshot_says_behind_which_missing_offsets_an_open_transaction_began() {
    let told = |first, script: &str| {
        let snapshots = vec![snapshot(6, &[(7, 1, Some(first))])];
        let (_, facts) = fold_in(PartitionContext { snapshots, ..PartitionContext::default() }, script);
        let span = |span: &TransactionSpan| {
            (span.first_offset.0, span.last_offset.map(|offset| offset.0), span.is_without_end())
        };
        let spans: Vec<_> = facts.transactions.iter().map(span).collect();
        let is_other = |conflict: &&SnapshotConflict| conflict.kind == SnapshotConflictKind::OtherTransaction;
        let conflicts = facts.snapshot_conflicts.iter().filter(is_other).count();
        (spans, facts.last_stable_offset.0, conflicts)
    };
    let script = "X 7/1 0..1; at 3; X 7/1 3..4; X 7/1 5..5; roll; D 5/0 0..0";
    assert_eq!(told(3, script), (vec![(0, Some(1), false), (3, Some(5), true)], 3, 0));
    // Its first batch is missing, too.
    let script = "X 7/1 0..1; at 4; X 7/1 4..5; roll; D 5/0 0..0";
    assert_eq!(told(3, script), (vec![(0, Some(1), false), (3, Some(5), true)], 3, 0));
    // Nothing is missing in front of it: the snapshot contradicts the log.
    let script = "X 7/1 0..2; X 7/1 3..5; roll; D 5/0 0..0";
    assert_eq!(told(3, script), (vec![(0, Some(5), true)], 0, 1));
}
