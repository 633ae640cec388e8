//! Sentences, causes and advice that go as far as the evidence does.

use super::{Case, kept, of, says};
use dedup_audit::testkit::{BatchSpec, FIRST_TIME, SegmentBuilder, batch};
use serde_json::Value;

/// One event of a producer.
fn order(producer: (i64, i16, i32), time: i64, order: i64) -> BatchSpec {
    let (id, epoch, sequence) = producer;
    let event = batch().producer(id, epoch, sequence).time(FIRST_TIME + time);
    event.record(format!("order-{order}"), format!("amount {order}"))
}

fn one<'a>(findings: &'a [Value], code: &str) -> &'a Value {
    let found = of(findings, code, "orders");
    let [one] = found[..] else { panic!("{code}: {findings:#?}") };
    one
}

/// The findings about one log whose first file is named after `base`.
fn findings(base: i64, batches: impl IntoIterator<Item = BatchSpec>, key: &str) -> Vec<Value> {
    let segment = batches.into_iter().fold(SegmentBuilder::at(base), SegmentBuilder::batch);
    let case = Case::new();
    case.file("orders-0", &format!("{base:020}.log"), &segment.bytes());
    case.findings(key)
}

fn cause(finding: &Value) -> &str {
    finding["cause"]["text"].as_str().unwrap()
}

#[test]
fn a_writer_that_is_first_seen_in_mid_sequence_had_begun_below_the_first_file() {
    // The second of two instances is always behind; the head of the log is gone.
    let shared = (0..6).flat_map(|at: i32| {
        let (order_number, time) = (i64::from(at), 20 * i64::from(at));
        [order((1, 0, 4 + at), time, order_number), order((2, 0, 2 + at), time + 4, order_number)]
    });
    let found = findings(6, shared, "record-key");
    let concurrent = one(&found, "concurrent-producers");
    assert_eq!(concurrent["counts"]["surplusRecords"], 6, "{found:#?}");
    assert!(
        says(concurrent, "facts", "with a sequence above 0: what it wrote before stood below"),
        "{concurrent:#}"
    );
    assert!(of(&found, "duplicate-undetermined", "orders").is_empty());
}

#[test]
fn what_two_producer_ids_wrote_is_of_no_one_session_and_no_matter_of_idempotence() {
    // Nothing is missing below, so nobody knows when the second one began.
    let first = (0..4).map(|at| order((1, 0, at), 10 * i64::from(at), at.into()));
    let second = (0..4).map(|at| order((2, 0, 5 + at), 1_000 + 10 * i64::from(at), at.into()));
    let found = findings(0, first.chain(second), "record-key");
    let undetermined = one(&found, "duplicate-undetermined");
    let rivals = ["resend-new-session", "pipeline-replay", "concurrent-producers"];
    assert_eq!(kept(undetermined), rivals, "{undetermined:#}");
    assert!(!says(undetermined, "advice", "idempotence"), "{undetermined:#}");
    assert!(says(
        undetermined,
        "facts",
        "all surplus copies carry a producer id, and not that of the earlier copy"
    ));
}

#[test]
fn where_the_head_is_gone_a_restart_did_not_begin_where_the_session_before_had() {
    let again = |base: i64, sequence: i32| {
        let first = (0..10).map(|at| order((1, 0, sequence + at), 10 * i64::from(at), at.into()));
        let second = (0..16).map(|at| order((2, 0, at), 5_000 + 10 * i64::from(at), at.into()));
        findings(base, first.chain(second), "record-key")
    };
    let found = again(20, 20);
    let inside = one(&found, "resend-new-session");
    assert!(cause(inside).contains("a position inside what the session before had written"), "{inside:#}");
    assert!(!kept(inside).contains(&"full publication"), "{inside:#}");
    let found = again(0, 0);
    let whole = one(&found, "resend-new-session");
    assert!(cause(whole).contains("began where the session before had begun"), "{whole:#}");
    assert!(kept(whole).contains(&"full publication"), "{whole:#}");
}

#[test]
fn a_resend_is_told_with_the_leader_that_came_in_between() {
    let log = |leader: i32| {
        let first = (0..10).map(|at| order((1, 0, at), 10 * i64::from(at), at.into()));
        let second = (0..4).map(|at| order((2, 0, at), 5_000 + 10 * i64::from(at), i64::from(at) + 6));
        findings(0, first.chain(second.map(|spec| spec.leader_epoch(leader))), "record-key")
    };
    let told = "the leader epoch rose between the copies in 4 of 4 pairs, from 0 to 1: a new leader, or the same broker again after a restart";
    assert!(says(one(&log(1), "resend-new-session"), "facts", told));
    assert!(!says(one(&log(0), "resend-new-session"), "facts", "the leader epoch"));
}

#[test]
fn advice_for_a_resend_asks_whether_the_application_consumes_and_which_id_it_keeps() {
    let log = |transactional: bool| {
        let write = |spec: BatchSpec| if transactional { spec.transactional() } else { spec };
        let first = (0..6).map(|at| write(order((1, 0, at), 10 * i64::from(at), at.into())));
        let second = (0..4).map(|at| write(order((2, 0, at), 5_000 + 10 * i64::from(at), i64::from(at) + 2)));
        findings(0, first.chain(second), "record-key")
    };
    let plain = log(false);
    let plain = one(&plain, "resend-new-session");
    assert!(says(plain, "advice", "if the application consumes from Kafka"), "{plain:#}");
    assert!(!says(plain, "facts", "transactional.id"), "{plain:#}");
    let open = log(true);
    let open = one(&open, "resend-new-session");
    assert!(says(open, "advice", "give each instance one transactional.id that it keeps"), "{open:#}");
    assert!(says(open, "facts", "keeps the producer id and gets a higher epoch"), "{open:#}");
    assert!(says(open, "facts", "when it is committed, each event counts twice"), "{open:#}");
}

#[test]
fn what_was_written_again_into_an_open_transaction_is_not_repaired_yet() {
    let transaction = |segment: SegmentBuilder, epoch: i16, orders: std::ops::Range<i32>| {
        (0..).zip(orders).fold(segment, |segment, (sequence, at)| {
            let time = 1_000 * i64::from(epoch) + 10 * i64::from(sequence);
            segment.batch(order((7, epoch, sequence), time, at.into()).transactional())
        })
    };
    let begun = transaction(SegmentBuilder::new(), 0, 0..4).abort(7, 1);
    let begun = transaction(begun, 1, 0..2).commit(7, 2);
    let told = |ended: bool| {
        let log = transaction(begun.clone(), 2, 2..4);
        let case = Case::new();
        case.log("orders-0", if ended { log.commit(7, 3) } else { log });
        case.findings("record-key")
    };
    let found = told(false);
    let undecided = one(&found, "aborted-then-retried");
    assert!(!says(undecided, "advice", "nothing to repair"), "{undecided:#}");
    assert!(says(
        undecided,
        "facts",
        "2 are valid (orders-0 offsets 5–6), 2 are in an open transaction (orders-0 offsets 8–9)"
    ));
    let found = told(true);
    assert!(says(one(&found, "aborted-then-retried"), "advice", "nothing to repair"));
}

#[test]
fn equal_contents_that_may_be_meant_are_reviewed_and_not_dropped() {
    let log = [0, 1, 2, 1, 3].into_iter().zip(0..).map(|(value, sequence)| {
        let event = batch().producer(1, 0, sequence).time(FIRST_TIME + 60_000 * i64::from(sequence));
        event.record((), format!("beat {value}"))
    });
    let found = findings(0, log, "value");
    let sent = one(&found, "resend-same-session");
    assert!(says(sent, "advice", "drop repeats"), "the value was asked for: {sent:#}");
    let log = [0, 1, 2, 1, 3].into_iter().zip(0..).map(|(value, sequence)| {
        let event = batch().producer(1, 0, sequence).time(FIRST_TIME + 60_000 * i64::from(sequence));
        event.record((), format!("beat {value}"))
    });
    let found = findings(0, log, "auto");
    let sent = one(&found, "resend-same-session");
    assert!(kept(sent).contains(&"equal events"));
    assert!(says(sent, "advice", "drop nothing by its content alone"), "{sent:#}");
    assert!(!says(sent, "advice", "drop repeats"), "{sent:#}");
}

#[test]
fn batches_that_were_merged_under_a_new_epoch_are_of_no_java_client() {
    let event = |spec: BatchSpec, at: i64| {
        spec.record_at(FIRST_TIME + 10 * at, format!("order-{at}"), format!("amount {at}"))
    };
    let original =
        |at: i64| event(batch().producer(5, 0, i32::try_from(at).unwrap()).time(FIRST_TIME + 10 * at), at);
    let copies = |cut: &[std::ops::Range<i64>]| {
        let mut sequence = 0;
        let again: Vec<BatchSpec> = cut
            .iter()
            .map(|range| {
                let spec = batch().producer(5, 1, sequence).time(FIRST_TIME + 10 * range.start);
                sequence += i32::try_from(range.end - range.start).unwrap();
                range.clone().fold(spec, event)
            })
            .collect();
        findings(0, (0..6).map(original).chain(again), "record-key")
    };
    let found = copies(&[2..3, 3..6]);
    let merged = one(&found, "epoch-bump-resend");
    assert!(cause(merged).contains("librdkafka#4953"), "{merged:#}");
    assert!(
        says(merged, "facts", "1 batch of copies holds records of several original batches"),
        "{merged:#}"
    );
    let found = copies(&[2..3, 3..4, 4..5, 5..6]);
    let kept_whole = one(&found, "epoch-bump-resend");
    assert!(cause(kept_whole).contains("KAFKA-14034"), "{kept_whole:#}");
    assert!(!says(kept_whole, "facts", "several original batches"), "{kept_whole:#}");
}

/// Contents without a key: each once in the first partition, and again in others, in an order and at times.
fn spread(again: &[(i64, i64)]) -> Value {
    let event = |spec: BatchSpec, number: i64| spec.record((), format!("content {number}"));
    let case = Case::new();
    let first = (0..12).fold(SegmentBuilder::new(), |log, at| {
        let spec = batch().producer(1, 0, at).time(FIRST_TIME + 10 * i64::from(at));
        log.batch(event(spec, at.into()))
    });
    case.log("orders-0", first);
    for partition in 1..4_i64 {
        let here = again.iter().filter(|(number, _)| number % 3 + 1 == partition);
        let log = (0..).zip(here).fold(SegmentBuilder::new(), |log, (sequence, &(number, time))| {
            log.batch(event(batch().producer(2, 0, sequence).time(FIRST_TIME + 60_000 + time), number))
        });
        case.log(&format!("orders-{partition}"), log);
    }
    let found = case.findings("auto");
    one(&found, "resend-new-session").clone()
}

#[test]
fn events_that_came_again_in_other_partitions_are_in_a_row_by_the_clocks_of_both_writers() {
    let in_order: Vec<(i64, i64)> = (4..12).map(|number| (number, 7 * number)).collect();
    let row = spread(&in_order);
    assert!(says(&row, "facts", "8 different events came again in their old order"), "{row:#}");
    assert_eq!(row["confidence"], "likely", "{row:#}");
    let mixed: Vec<(i64, i64)> = [9, 4, 11, 6, 8, 5, 10, 7].into_iter().zip((0..).step_by(7)).collect();
    let no_row = spread(&mixed);
    assert_eq!(no_row["confidence"], "possible", "{no_row:#}");
    assert!(kept(&no_row).contains(&"equal events"), "{no_row:#}");
}

#[test]
fn what_no_producer_could_have_switched_on_is_not_advised() {
    let old = |magic: u8| {
        let keys = ["order-1", "order-2", "order-3", "order-1", "order-2", "order-3"];
        keys.iter()
            .fold(SegmentBuilder::new(), |log, key| log.message(magic, *key, format!("of {key}").as_str()))
    };
    for magic in [0, 1] {
        let case = Case::new();
        case.log("orders-0", old(magic));
        for finding in case.findings("record-key").iter().filter(|finding| finding["level"].is_string()) {
            assert!(
                says(finding, "advice", "formats 0 and 1 cannot carry a producer id: a broker of 0.11"),
                "{finding:#}"
            );
            assert!(!finding.to_string().contains("with idempotence the broker would have"), "{finding:#}");
        }
        assert!(case.findings("record-key").iter().any(|finding| finding["level"].is_string()));
    }
}
