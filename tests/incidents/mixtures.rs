//! Mixtures of mechanisms, and evidence of which a part is gone: what is called what, how sure, and what
//! would settle it.

use super::{Case, kept, of, says};
use dedup_audit::testkit::{BatchSpec, FIRST_TIME, SegmentBuilder, batch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;

const HOUR: i64 = 3_600_000;

fn order(spec: BatchSpec, number: i64) -> BatchSpec {
    spec.record(format!("order-{number}"), format!("amount {number}"))
}

/// One batch an order, with new times.
fn write(log: SegmentBuilder, id: i64, first: i32, start: i64, orders: Range<i64>) -> SegmentBuilder {
    (0..).zip(orders).fold(log, |log, (at, number)| {
        let spec = batch().producer(id, 0, if id < 0 { -1 } else { first + at });
        log.batch(order(spec.time(start + i64::from(at) * 10), number))
    })
}

/// A transaction with one batch.
fn transaction(log: SegmentBuilder, who: (i64, i16, i32), start: i64, orders: Range<i64>) -> SegmentBuilder {
    let (id, epoch, sequence) = who;
    log.batch(orders.fold(batch().producer(id, epoch, sequence).transactional().time(start), order))
}

fn one<'a>(findings: &'a [Value], code: &str) -> &'a Value {
    let found = of(findings, code, "orders");
    let [one] = found[..] else { panic!("{code}: {findings:#?}") };
    one
}

/// Findings with surplus copies, and how many each has.
fn accused(findings: &[Value]) -> Vec<(&str, u64)> {
    let surplus = |finding: &Value| finding["counts"]["surplusRecords"].as_u64().unwrap_or(0);
    let told = findings.iter().filter(|finding| surplus(finding) > 0);
    let mut told: Vec<_> =
        told.map(|finding| (finding["code"].as_str().unwrap(), surplus(finding))).collect();
    told.sort_unstable();
    told
}

/// No copy is told twice, and whoever is not certain says what would settle it.
fn sound(findings: &[Value]) {
    let mut seen = BTreeSet::new();
    for finding in findings {
        let groups = finding["groups"].as_array().into_iter().flatten();
        for copy in groups.flat_map(|group| group["copies"].as_array().unwrap().iter().skip(1)) {
            let place = (copy["directory"].to_string(), copy["offset"].as_i64().unwrap());
            assert!(seen.insert(place.clone()), "{place:?} twice in {findings:#?}");
        }
        if finding["confidence"] != "certain" && finding["severity"] != "info" {
            assert!(!finding["wouldSettle"].as_array().unwrap().is_empty(), "{finding:#}");
        }
    }
}

fn scanned(case: &Case) -> Vec<Value> {
    let findings = case.findings("record-key");
    sound(&findings);
    findings
}

#[test]
fn a_retry_and_a_later_restart_over_the_same_keys_are_two_incidents() {
    let case = Case::new();
    let rows = || (0..8).fold(batch().time(FIRST_TIME), order);
    let log = SegmentBuilder::new().batch(rows()).leader_epoch(1).batch(rows());
    case.log("orders-0", write(log, 5, 0, FIRST_TIME + HOUR, 0..20));
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("resend-new-session", 8), ("retry-without-idempotence", 8)]);
    assert!(!says(one(&findings, "resend-new-session"), "facts", "retry"), "{findings:#?}");
}

#[test]
fn one_of_two_partitions_cannot_tell_a_restart_from_a_second_instance() {
    let case = Case::new();
    // Both instances were alive; here the second one is first seen when the first has gone.
    case.log(
        "orders-0",
        write(write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..12), 2, 0, FIRST_TIME + 500, 4..16),
    );
    let findings = scanned(&case);
    let resend = one(&findings, "resend-new-session");
    assert_eq!(resend["counts"]["surplusRecords"], 8);
    assert_ne!(resend["confidence"], "certain");
    assert!(kept(resend).contains(&"concurrent-producers"), "{resend:#}");
}

#[test]
fn originals_in_a_segment_that_is_gone_make_no_duplicates() {
    let case = Case::new();
    // Session 1 wrote 0 to 59; its first 40 records were removed, and session 2 repeats only those.
    let log = write(SegmentBuilder::at(40), 1, 40, FIRST_TIME, 40..60);
    case.file("orders-0", "00000000000000000040.log", &write(log, 2, 0, FIRST_TIME + HOUR, 20..40).bytes());
    let findings = scanned(&case);
    assert_eq!(accused(&findings), []);
    assert!(findings.iter().all(|finding| finding["severity"] == "info"), "{findings:#?}");
}

#[test]
fn a_lost_memory_without_any_snapshot_is_certain_and_its_cause_is_not() {
    let case = Case::new();
    let log = write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..6).leader_epoch(1);
    let log = write(log, 1, 4, FIRST_TIME + 40, 4..6);
    case.log("orders-0", write(log, 1, 6, FIRST_TIME + 60, 6..9));
    let findings = scanned(&case);
    let lost = one(&findings, "broker-dedup-lost");
    assert_eq!((&lost["confidence"], &lost["counts"]["surplusRecords"]), (&"certain".into(), &2.into()));
    assert_ne!(lost["cause"]["confidence"], "certain");
    assert!(!says(lost, "facts", "snapshot"), "{lost:#}");
}

#[test]
fn what_the_cleaner_took_is_not_accused_and_what_it_left_is() {
    let case = Case::new();
    // Session 2 repeated 0 to 9. The cleaner came as far as 15: of 0 to 4 only the later copies are left.
    let mut log = SegmentBuilder::new();
    for number in 0..15 {
        let spec = order(batch().producer(1, 0, number).time(FIRST_TIME + i64::from(number)), number.into());
        log = log.batch(if number < 5 { spec.kept(&[]) } else { spec });
    }
    case.log("orders-0", write(log, 2, 0, FIRST_TIME + HOUR, 0..10));
    case.file("", "cleaner-offset-checkpoint", b"0\n1\norders 0 5\n");
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("resend-new-session", 5)]);
}

#[test]
fn a_mirrors_retry_is_a_retry_and_its_replay_a_replay() {
    let case = Case::new();
    let rows = |range: Range<i64>| {
        range.fold(batch().time(FIRST_TIME), |spec, number| {
            spec.record_at(FIRST_TIME + number, format!("order-{number}"), format!("amount {number}"))
        })
    };
    let source = (0..30).fold(SegmentBuilder::new(), |log, number| {
        let spec = batch().producer(9, 0, i32::try_from(number).unwrap()).time(FIRST_TIME + number);
        log.batch(order(spec, number))
    });
    case.log("source-0", source);
    let mirror = SegmentBuilder::new().batch(rows(0..10)).batch(rows(10..20)).batch(rows(10..20));
    // Started again at 14, with other batches.
    case.log("orders-0", mirror.batch(rows(14..17)).batch(rows(17..22)).batch(rows(22..30)));
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("pipeline-replay", 6), ("retry-without-idempotence", 10)]);
    let replay = one(&findings, "pipeline-replay");
    assert_ne!(replay["confidence"], "certain");
    assert!(kept(one(&findings, "retry-without-idempotence")).contains(&"pipeline-replay"));
}

#[test]
fn an_aborted_transaction_and_a_plain_writer_are_two_stories() {
    let case = Case::new();
    let log = transaction(SegmentBuilder::new(), (7, 0, 0), FIRST_TIME, 0..4).abort(7, 0);
    let log = transaction(log, (7, 0, 4), FIRST_TIME + 2_000, 0..4).commit(7, 0);
    case.log("orders-0", write(log, 8, 0, FIRST_TIME + HOUR, 0..3));
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("aborted-then-retried", 4), ("resend-new-session", 3)]);
    assert_eq!(one(&findings, "resend-new-session")["counts"]["surplusCommitted"], 3);
}

#[test]
fn a_zombie_that_lives_on_beside_its_heir() {
    let case = Case::new();
    // The heir begins 20 orders back; then both write 30 to 41.
    let mut log = write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..30);
    log = write(log, 2, 0, FIRST_TIME + 60_000, 10..30);
    for number in 30..42 {
        let at = FIRST_TIME + 61_000 + number * 100;
        let sequence = i32::try_from(number).unwrap();
        log = log.batch(order(batch().producer(1, 0, sequence).time(at), number));
        log = log.batch(order(batch().producer(2, 0, sequence - 10).time(at + 40), number));
    }
    case.log("orders-0", log);
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("concurrent-producers", 12), ("resend-new-session", 20)]);
    let heir = one(&findings, "resend-new-session");
    assert!(kept(heir).contains(&"concurrent-producers"), "{heir:#}");
}

#[test]
fn a_double_send_across_the_wrap_of_the_sequence() {
    let case = Case::new();
    let spec = |sequence: i32, number: i64, time: i64| {
        order(batch().producer(1, 0, sequence).time(FIRST_TIME + time), number)
    };
    let log = SegmentBuilder::at(9_000)
        .batch(spec(i32::MAX - 1, 1, 0))
        .batch(spec(i32::MAX, 2, 10))
        .batch(spec(0, 3, 20))
        .batch(spec(1, 2, 900))
        .batch(spec(2, 4, 910));
    case.file("orders-0", "00000000000000009000.log", &log.bytes());
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("resend-same-session", 1)]);
    assert!(of(&findings, "sequence-anomaly", "orders").is_empty(), "{findings:#?}");
    assert!(of(&findings, "epoch-bump-resend", "orders").is_empty());
}

#[test]
fn under_protocol_two_the_epoch_tells_a_second_transaction_from_a_restart() {
    let case = Case::new();
    let log = transaction(SegmentBuilder::new(), (7, 0, 0), FIRST_TIME, 0..5).commit(7, 1);
    let log = transaction(log, (7, 1, 0), FIRST_TIME + 3_000, 3..8).commit(7, 2);
    // The restart skips an epoch.
    case.log("orders-0", transaction(log, (7, 3, 0), FIRST_TIME + HOUR, 5..11).commit(7, 4));
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("resend-new-session", 3), ("resend-same-session", 2)]);
    assert!(of(&findings, "sequence-gap", "orders").is_empty());
    let restart = one(&findings, "resend-new-session");
    assert!(!kept(restart).contains(&"concurrent-producers"), "{restart:#}");
}

#[test]
fn records_deleted_before_their_copies_came_are_nobodys_originals() {
    let case = Case::new();
    case.log(
        "orders-0",
        write(write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..10), 2, 0, FIRST_TIME + HOUR, 0..10),
    );
    case.file("", "log-start-offset-checkpoint", b"0\n1\norders 0 10\n");
    let report = case.report("record-key");
    assert_eq!(accused(report["findings"].as_array().unwrap()), []);
    let notes = report["coverage"]["notes"].to_string();
    assert!(notes.contains("orders-0 10 below offset 10; 10 events among them stand again"), "{notes}");
    assert_eq!(report["verdict"]["complete"], true);
    // With half of them deleted the other half counts, and what readers saw before is told.
    case.file("", "log-start-offset-checkpoint", b"0\n1\norders 0 5\n");
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("resend-new-session", 5)]);
    let resend = one(&findings, "resend-new-session");
    assert!(says(resend, "facts", "5 more events of orders stand behind the log start"), "{resend:#}");
    // The later session's first records are no news: their originals may be among the deleted ones.
    assert!(!kept(resend).contains(&"full publication"), "{resend:#}");
}

#[test]
fn what_is_deleted_and_did_not_come_again_is_counted_and_no_more() {
    let case = Case::new();
    case.log("orders-0", write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..10));
    case.file("", "log-start-offset-checkpoint", b"0\n1\norders 0 4\n");
    let report = case.report("record-key");
    let notes = report["coverage"]["notes"].to_string();
    assert!(notes.contains("orders: 4 records below the log start are deleted"), "{notes}");
    assert!(!notes.contains("stand again"), "{notes}");
    assert_eq!(report["topics"][0]["visibility"]["readUncommitted"]["records"], 6);
}

#[test]
fn what_came_again_behind_the_log_start_and_was_aborted_was_read_once() {
    let case = Case::new();
    let log = write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..4);
    let log = transaction(log, (7, 0, 0), FIRST_TIME + HOUR, 0..3).abort(7, 0);
    case.log("orders-0", log).file("", "log-start-offset-checkpoint", b"0\n1\norders 0 4\n");
    let notes = case.report("record-key")["coverage"]["notes"].to_string();
    assert!(notes.contains("orders-0 4 below offset 4") && !notes.contains("stand again"), "{notes}");
}

#[test]
fn events_of_aborted_transactions_that_nobody_wrote_again_are_counted() {
    let told = |segment: SegmentBuilder| -> Vec<(String, Value)> {
        let case = Case::new();
        let findings = case.log("orders-0", segment).findings("record-key");
        let found = of(&findings, "aborted-not-retried", "orders");
        found.iter().map(|f| (f["title"].as_str().unwrap().to_owned(), f["transactions"].clone())).collect()
    };
    let aborted = || transaction(SegmentBuilder::new(), (7, 0, 0), FIRST_TIME, 0..5).abort(7, 0);
    let later = FIRST_TIME + 5_000;
    // Two of five come again, one of them open: nobody knows yet.
    let some = transaction(aborted(), (7, 0, 5), later, 3..4).commit(7, 0);
    let some = told(transaction(some, (8, 0, 0), later, 4..5));
    let [(title, transactions)] = &some[..] else { panic!("{some:#?}") };
    assert_eq!(title, "orders: 3 events of aborted transactions were not written again in what was read");
    assert_eq!((&transactions[0]["firstOffset"], &transactions[0]["markerOffset"]), (&0.into(), &5.into()));
    // A second attempt that is aborted as well is none; one that is committed, or not transactional, is.
    let twice = transaction(aborted(), (7, 0, 5), later, 0..5).abort(7, 0);
    assert!(told(twice)[0].0.starts_with("orders: 5 events"));
    assert!(told(transaction(aborted(), (7, 0, 5), later, 0..5).commit(7, 0)).is_empty());
    assert!(told(write(aborted(), 9, 0, later, 0..5)).is_empty());
}

#[test]
fn a_repeat_behind_an_open_transaction_is_hidden_from_committed_readers() {
    let case = Case::new();
    let log = write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..5);
    let log = transaction(log, (7, 0, 0), FIRST_TIME + 1_000, 100..102);
    case.log("orders-0", write(log, 2, 0, FIRST_TIME + 2_000, 2..5));
    let findings = scanned(&case);
    let resend = one(&findings, "resend-new-session");
    assert_eq!(
        (&resend["counts"]["surplusRecords"], &resend["counts"]["surplusCommitted"]),
        (&3.into(), &0.into())
    );
    assert!(
        resend["title"].as_str().unwrap().ends_with("read_committed consumers do not see the later copies")
    );
}

#[test]
fn two_writers_with_one_id_of_which_one_sends_twice() {
    let case = Case::new();
    let log = write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..8);
    // The other cluster's producer 1: its own orders, from 0; then it sends two of them again.
    let log = write(log, 1, 0, FIRST_TIME + HOUR, 100..105);
    case.log("orders-0", write(log, 1, 5, FIRST_TIME + HOUR + 5_000, 103..105));
    let findings = scanned(&case);
    assert!(!of(&findings, "producer-id-collision", "orders").is_empty(), "{findings:#?}");
    assert_eq!(accused(&findings).iter().map(|(_, copies)| copies).sum::<u64>(), 2, "{findings:#?}");
    assert!(of(&findings, "broker-dedup-lost", "orders").is_empty());
}

#[test]
fn a_forgotten_producer_that_jumps_and_repeats() {
    let case = Case::new();
    let log = write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..6);
    // Two days of silence: the broker takes any sequence, a jump and then the application's own repeat.
    let late = FIRST_TIME + 48 * HOUR;
    case.log("orders-0", write(write(log, 1, 9, late, 6..9), 1, 12, late + 1_000, 4..6));
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("resend-same-session", 2)]);
    let gap = one(&findings, "sequence-gap-explained");
    assert_eq!(
        (&gap["severity"], &gap["gaps"][0]["reason"]),
        (&"low".into(), &"expired-producer-state".into())
    );
}

#[test]
fn copies_around_bytes_that_cannot_be_read_are_told_as_far_as_they_go() {
    let case = Case::new();
    let log = write(write(SegmentBuilder::new(), 1, 0, FIRST_TIME, 0..20), 2, 0, FIRST_TIME + HOUR, 10..20);
    let places: Vec<_> = log.places().iter().map(|place| (place.position, place.length)).collect();
    let mut bytes = log.bytes();
    // Three of the originals.
    for &(position, length) in &places[12..15] {
        bytes[position + length - 3] ^= 0x55;
    }
    case.file("orders-0", "00000000000000000000.log", &bytes);
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("resend-new-session", 7)]);
}

#[test]
fn a_bump_and_a_restart_behind_it_keep_their_own_copies() {
    let case = Case::new();
    let rows = |who: (i64, i16, i32), start: i64, range: Range<i64>| {
        range.fold(batch().producer(who.0, who.1, who.2).time(start), |spec, number| {
            spec.record_at(start + number, format!("order-{number}"), format!("amount {number}"))
        })
    };
    let log = SegmentBuilder::new()
        .batch(rows((1, 0, 0), FIRST_TIME, 0..5))
        .batch(rows((1, 0, 5), FIRST_TIME, 5..9))
        .batch(rows((1, 1, 0), FIRST_TIME, 5..9))
        .batch(rows((1, 1, 4), FIRST_TIME, 9..12));
    case.log("orders-0", write(log, 2, 0, FIRST_TIME + HOUR, 7..15));
    let findings = scanned(&case);
    assert_eq!(accused(&findings), [("epoch-bump-resend", 4), ("resend-new-session", 5)]);
}
