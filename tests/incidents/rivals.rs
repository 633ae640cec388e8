//! Rivals that the evidence leaves, and causes and advice that go with what is told.

use super::{Case, of, of_broker, rival, says};
use dedup_audit::testkit::{FIRST_TIME, SegmentBuilder, batch};
use serde_json::Value;

fn one<'a>(findings: &'a [Value], code: &str) -> &'a Value {
    let found = of(findings, code, "orders");
    let [one] = found[..] else { panic!("{code}: {findings:#?}") };
    one
}

/// One batch an order, of a producer, from a sequence and a time on.
fn write(
    log: SegmentBuilder,
    (id, first): (i64, i32),
    start: i64,
    orders: impl IntoIterator<Item = i64>,
) -> SegmentBuilder {
    (0..).zip(orders).fold(log, |log, (at, order)| {
        let spec = batch().producer(id, 0, first + at).time(FIRST_TIME + start + 10 * i64::from(at));
        log.batch(spec.record(format!("order-{order}"), format!("amount {order}")))
    })
}

/// Both producers write the same orders in turn, each from a sequence on.
fn in_turn(log: SegmentBuilder, first: [i32; 2], start: i64, orders: std::ops::Range<i64>) -> SegmentBuilder {
    (0..).zip(orders).fold(log, |log, (at, order)| {
        let log = write(log, (0, first[0] + at), start + 20 * i64::from(at), [order]);
        write(log, (1, first[1] + at), start + 20 * i64::from(at) + 5, [order])
    })
}

#[test]
fn what_a_replacement_began_with_may_be_of_a_restart_although_both_lived_on() {
    // The first pauses behind its order 59; the second begins at 40, and then both go on.
    let log = write(SegmentBuilder::new(), (0, 0), 0, 0..60);
    let log = in_turn(write(log, (1, 0), 1_000, 40..60), [60, 20], 2_000, 60..80);
    let case = Case::new();
    case.log("orders-0", log);
    let findings = case.findings("record-key");
    let both = one(&findings, "concurrent-producers");
    assert_eq!(both["counts"]["surplusRecords"], 40);
    let (kept, why) = rival(both, "resend-new-session");
    assert!(kept && why.starts_with("for 20 of 40 copies"), "{both:#}");
    assert!(says(both, "facts", "orders-0 offsets 60–79 (copies of orders-0 offsets 40–59)"), "{both:#}");
    assert!(says(both, "advice", "fence the earlier one"), "{both:#}");
}

#[test]
fn a_writer_that_only_repeats_what_the_other_wrote_is_looked_for_as_such() {
    // Each third order is written again by a job that is always behind.
    let log = (0..30).fold(SegmentBuilder::new(), |log, order: i32| {
        let log = write(log, (0, order), 20 * i64::from(order), [order.into()]);
        if order % 3 == 2 {
            write(log, (1, order / 3), 20 * i64::from(order) + 5, [i64::from(order) - 2])
        } else {
            log
        }
    });
    let case = Case::new();
    case.log("orders-0", log);
    let findings = case.findings("record-key");
    let repeated = one(&findings, "concurrent-producers");
    assert!(
        repeated["cause"]["text"].as_str().unwrap().contains("a second writer that repeats"),
        "{repeated:#}"
    );
    assert!(says(repeated, "advice", "what the writer of the copies is"), "{repeated:#}");
    assert!(!says(repeated, "advice", "two schedulers"), "{repeated:#}");
}

#[test]
fn two_instances_of_one_topic_say_nothing_of_a_restart_before_in_another() {
    // The same producer ids, half a minute apart: a restart in orders, two live instances in payments.
    let findings = of_broker([
        "crash-restart-resend/data/orders-0",
        "crash-restart-resend/data/orders-1",
        "two-producers-same-key/data",
    ]);
    let restart = one(&findings, "resend-new-session");
    assert_eq!(restart["counts"]["surplusRecords"], 20);
    let (kept, why) = rival(restart, "concurrent-producers");
    assert!(kept && why.contains("0#1 in payments-"), "{restart:#}");
    let both = of(&findings, "concurrent-producers", "payments");
    let [both] = both[..] else { panic!("{findings:#?}") };
    assert!(!rival(both, "resend-new-session").0, "{both:#}");
}
