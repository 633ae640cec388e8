//! What looks alike and is not: each mechanism beside its innocent twin or its nearest rival.

use super::{Case, kept, of, says};
use dedup_audit::testkit::{BatchSpec, FIRST_TIME, SegmentBuilder, batch};
use serde_json::Value;

/// One session that writes these orders, one batch each.
fn session(
    segment: SegmentBuilder,
    producer: i64,
    start: i64,
    orders: impl Iterator<Item = i64>,
) -> SegmentBuilder {
    (0..).zip(orders).fold(segment, |segment, (sequence, order)| {
        let event = batch().producer(producer, 0, sequence).time(start + i64::from(sequence) * 10);
        segment.batch(event.record(format!("order-{order}"), format!("amount {order}")))
    })
}

fn one<'a>(findings: &'a [Value], code: &str) -> &'a Value {
    let found = of(findings, code, "orders");
    let [one] = found[..] else { panic!("{code}: {findings:#?}") };
    one
}

const HOUR: i64 = 3_600_000;

#[test]
fn two_restarts_are_two_incidents_and_a_crash_loop_is_one() {
    let restarts = |times: i64| {
        let first = session(SegmentBuilder::new(), 1, FIRST_TIME, 0..20);
        (1..=times).fold(first, |segment, at| {
            let fresh = 100 * at..100 * at + 5;
            session(segment, 1 + at, FIRST_TIME + at * 60_000, (12..20).chain(fresh))
        })
    };
    let findings = |times| {
        let case = Case::new();
        case.log("orders-0", restarts(times));
        case.findings("record-key")
    };
    assert_eq!(of(&findings(2), "resend-new-session", "orders").len(), 2);
    let all = findings(4);
    let looped = one(&all, "resend-new-session");
    assert_eq!(looped["counts"]["surplusRecords"], 32);
    assert!(looped["cause"]["text"].as_str().unwrap().contains("crash loop"), "{looped:#}");
    assert!(says(looped, "facts", "5 sessions wrote these events one after the other"));
}

#[test]
fn a_set_that_is_published_as_a_whole_at_each_run_is_only_possibly_a_replay() {
    let case = Case::new();
    let nights = (0..4).fold(SegmentBuilder::new(), |segment, night| {
        session(segment, 1 + night, FIRST_TIME + night * 24 * HOUR, 0..30)
    });
    case.log("orders-0", nights);
    let findings = case.findings("record-key");
    let published = one(&findings, "resend-new-session");
    assert_eq!(published["confidence"], "possible");
    assert!(kept(published).contains(&"full publication"), "{published:#}");
    assert!(says(published, "facts", "4 sessions each wrote the same whole set"), "{published:#}");
}

#[test]
fn text_that_people_type_in_session_after_session_is_no_replay() {
    let case = Case::new();
    let typed = (0..5).fold(SegmentBuilder::new(), |segment, at| {
        let line = |sequence: i32, text: &str| {
            batch()
                .producer(at, 0, sequence)
                .time(FIRST_TIME + at * HOUR + i64::from(sequence))
                .record((), text)
        };
        segment.batch(line(0, "test")).batch(line(1, &format!("only here {at}")))
    });
    case.log("orders-0", typed);
    let findings = case.findings("auto");
    assert!(of(&findings, "resend-new-session", "orders").is_empty(), "{findings:#?}");
}

#[test]
fn a_retry_of_which_some_batches_were_cut_anew_is_one_incident() {
    let rows = |from: i64, to: i64| -> BatchSpec {
        let time = FIRST_TIME + from;
        (from..to).fold(batch().time(time), |batch, row| {
            batch.record_at(FIRST_TIME + row, format!("order-{row}"), format!("amount {row}"))
        })
    };
    let case = Case::new();
    let log = SegmentBuilder::new().batch(rows(0, 4)).batch(rows(4, 6)).batch(rows(6, 8));
    case.log("orders-0", log.batch(rows(0, 4)).batch(rows(4, 8)));
    let findings = case.findings("record-key");
    let retry = one(&findings, "retry-without-idempotence");
    assert_eq!((&retry["counts"]["surplusRecords"], &retry["level"]), (&8.into(), &"E3".into()));
    assert!(of(&findings, "duplicate-undetermined", "orders").is_empty());
    // The retry and the stretch that let it happen name each other.
    let off = one(&findings, "idempotence-off");
    assert!(says(retry, "facts", off["id"].as_str().unwrap()), "{retry:#}");
    assert!(says(off, "facts", retry["id"].as_str().unwrap()), "{off:#}");
}

#[test]
fn a_transaction_that_was_committed_and_done_again_is_no_business_of_the_isolation_level() {
    let done = |segment: SegmentBuilder, sequence: i32| {
        let events = batch().producer(7, 0, sequence).transactional();
        segment.batch(events.record("order-1", "a").record("order-2", "b")).commit(7, 0)
    };
    let case = Case::new();
    case.log("orders-0", done(done(SegmentBuilder::new(), 0), 2));
    let findings = case.findings("record-key");
    let again = one(&findings, "resend-same-session");
    assert!(says(again, "advice", "sendOffsetsToTransaction") && says(again, "advice", "does not hide them"));
    assert_eq!(again["counts"]["surplusCommitted"], 2);
}

#[test]
fn the_first_events_of_a_second_instance_that_is_behind_are_no_restart() {
    let event = |producer: i64, sequence: i32, order: i32| {
        batch().producer(producer, 0, sequence).record(format!("order-{order}"), "x")
    };
    let mut log = SegmentBuilder::new();
    for at in 0..12 {
        log = log.batch(event(1, at, at));
        if at >= 2 {
            log = log.batch(event(2, at - 2, at - 2));
        }
    }
    let case = Case::new();
    case.log("orders-0", log);
    let findings = case.findings("record-key");
    assert_eq!(one(&findings, "concurrent-producers")["counts"]["surplusRecords"], 10);
    assert!(of(&findings, "resend-new-session", "orders").is_empty());
}

#[test]
fn a_pipeline_with_producer_ids_is_held_against_a_restart_and_not_against_a_retry() {
    let write = |segment: SegmentBuilder, producer: i64, orders: std::ops::Range<i64>| {
        (0..).zip(orders).fold(segment, |segment, (sequence, order)| {
            let event = batch().producer(producer, 0, sequence).time(FIRST_TIME + order);
            segment.batch(event.record(format!("order-{order}"), format!("amount {order}")))
        })
    };
    let case = Case::new();
    case.log("source-0", write(SegmentBuilder::new(), 1, 0..20));
    case.log("orders-0", write(write(SegmentBuilder::new(), 2, 0..20), 3, 12..20));
    let findings = case.findings("record-key");
    let replay = one(&findings, "pipeline-replay");
    assert_eq!(kept(replay), ["resend-new-session"], "{replay:#}");
}
