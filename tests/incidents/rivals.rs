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

#[test]
fn what_another_producer_wrote_in_front_of_an_abort_is_no_retry_after_it() {
    let transaction = |log: SegmentBuilder, id: i64, first: i32, start: i64| {
        let events = (0..4)
            .fold(batch().producer(id, 0, first).transactional().time(FIRST_TIME + start), |spec, at| {
                spec.record(format!("order-{}", i64::from(first) + at), format!("amount {at}"))
            });
        log.batch(events)
    };
    let told = |in_front: bool| {
        // Both live on; each writes orders 0 to 3 and 4 to 7, and the second ones of the first writer are aborted.
        let log = transaction(SegmentBuilder::new(), 1, 0, 0).commit(1, 0);
        let log = transaction(transaction(log, 2, 0, 5).commit(2, 0), 1, 4, 100);
        let log = if in_front {
            transaction(log, 2, 4, 105).abort(1, 0).commit(2, 0)
        } else {
            transaction(log.abort(1, 0), 2, 4, 105).commit(2, 0)
        };
        let case = Case::new();
        case.log("orders-0", log);
        case.findings("record-key")
    };
    let findings = told(true);
    let aborted = one(&findings, "aborted-then-retried");
    assert_eq!(aborted["confidence"], "likely", "{aborted:#}");
    assert!(
        aborted["title"].as_str().unwrap().contains("by another producer as well, in front of the abort"),
        "{aborted:#}"
    );
    let (kept, why) = rival(aborted, "concurrent-producers");
    assert!(kept && why.starts_with("in 4 of 4 pairs"), "{aborted:#}");
    assert!(says(aborted, "facts", "are also those of"), "{aborted:#}");
    let findings = told(false);
    assert_eq!(one(&findings, "aborted-then-retried")["confidence"], "certain");
}

#[test]
fn a_lone_repeat_without_producer_id_may_be_another_event() {
    let findings = of_broker(["plain-retry/data"]);
    let of_topic = |topic| match of(&findings, "duplicate-undetermined", topic)[..] {
        [one] => one,
        _ => panic!("{findings:#?}"),
    };
    let lone = of_topic("plain");
    assert!(lone["title"].as_str().unwrap().contains("may be stored again, or is another event"), "{lone:#}");
    assert!(rival(lone, "equal events").0 && rival(lone, "pipeline-replay").0, "{lone:#}");
    assert!(!rival(lone, "retry-without-idempotence").0, "{lone:#}");
    let row = of_topic("regrouped");
    assert!(row["title"].as_str().unwrap().contains("are stored again"), "{row:#}");
    let retry = of(&findings, "retry-without-idempotence", "plain");
    assert!(rival(retry[0], "concurrent-producers").0, "{retry:#?}");
}

#[test]
fn a_part_of_the_evidence_names_no_surer_library_than_the_whole() {
    let whole = of_broker(["epoch-bump-rewrite/data"]);
    let part = of_broker(["epoch-bump-rewrite/data/orders-0"]);
    for findings in [&whole, &part] {
        let bumped = one(findings, "epoch-bump-resend");
        assert!(rival(bumped, "resend-same-session").0, "{bumped:#}");
        assert!(bumped["cause"]["text"].as_str().unwrap().contains("librdkafka#4953"), "{bumped:#}");
    }
    let cause = &one(&part, "epoch-bump-resend")["cause"]["text"];
    assert!(cause.as_str().unwrap().contains("which library it was is not in these files"), "{cause}");
}

#[test]
fn new_times_under_a_newer_epoch_are_not_those_of_a_client_that_wrote_its_batches_again() {
    let log = write(SegmentBuilder::new(), (0, 0), 0, 0..10);
    let log = (0..).zip(6..10).fold(log, |log, (at, order)| {
        let spec = batch().producer(0, 1, at).time(FIRST_TIME + 3_000 + i64::from(at));
        log.batch(spec.record(format!("order-{order}"), format!("amount {order}")))
    });
    let case = Case::new();
    case.log("orders-0", log);
    let findings = case.findings("record-key");
    let again = one(&findings, "resend-same-session");
    assert!(!rival(again, "epoch-bump-resend").0, "{again:#}");
}

#[test]
fn what_a_writer_had_written_into_a_missing_first_file_stood_before_all_that_is_there() {
    // Two instances, the second one behind; the first 19 records of both are in a file that is gone.
    let log = write(SegmentBuilder::at(19), (0, 14), 0, 14..25);
    let log = in_turn(write(log, (1, 5), 50, 10..25), [25, 20], 500, 25..30);
    let case = Case::new();
    case.file("orders-0", "00000000000000000019.log", &log.bytes());
    case.file("orders-0", "leader-epoch-checkpoint", b"0\n1\n0 0\n");
    let findings = case.findings("record-key");
    let both = one(&findings, "concurrent-producers");
    assert_eq!(both["counts"]["surplusRecords"], 16, "{both:#}");
    assert!(of(&findings, "duplicate-undetermined", "orders").is_empty(), "{findings:#?}");
    assert!(says(both, "facts", "what it wrote before stood below"), "{both:#}");
}

#[test]
fn one_restart_that_two_topics_tell_is_one_incident() {
    let findings = of_broker(["fan-out-restart/data"]);
    let id = |topic| match of(&findings, "resend-new-session", topic)[..] {
        [one] => (one, one["id"].as_str().unwrap()),
        _ => panic!("{findings:#?}"),
    };
    let ((audit, in_audit), (orders, in_orders)) = (id("audit"), id("orders"));
    let line = |id: &str, topic: &str| {
        format!("resend-new-session {id} in {topic}: one incident, told topic by topic")
    };
    assert!(says(audit, "facts", &line(in_orders, "orders")), "{audit:#}");
    assert!(says(orders, "facts", &line(in_audit, "audit")), "{orders:#}");
}

#[test]
fn what_was_stored_before_the_other_writer_is_seen_is_not_counted_as_written_beside_it() {
    // Each 20th order is written again by a second writer; the first two of them before it is seen at all.
    let log = write(SegmentBuilder::new(), (0, 0), 0, 0..40);
    let log = write(log, (1, 0), 500, [5, 25]);
    let log = (2..9).fold(log, |log, at: i32| {
        let order = i64::from(at) * 20;
        let log = write(log, (0, at * 20), order * 20, order..order + 10);
        write(log, (1, at), order * 20 + 300, [order + 5])
    });
    let case = Case::new();
    case.log("orders-0", log);
    let report = case.report("record-key");
    let findings = report["findings"].as_array().unwrap().clone();
    let both = one(&findings, "concurrent-producers");
    let title = both["title"].as_str().unwrap();
    assert!(title.starts_with("7 records of orders were written by two producers"), "{title}");
    assert!(title.ends_with("2 more were already stored when the later one is first seen"), "{title}");
    let (kept, why) = rival(both, "resend-new-session");
    assert!(kept && why.starts_with("for 2 of 9 copies"), "{both:#}");
    let headline = report["verdict"]["headline"].as_str().unwrap();
    assert!(!headline.contains("at the same time"), "{headline}");
}

#[test]
fn a_copy_or_two_beside_a_session_that_lives_on_are_of_a_restart_only_possibly() {
    let told = |again: std::ops::Range<i64>, lives_on: bool| {
        let log = write(SegmentBuilder::new(), (0, 0), 0, 0..10);
        let log = write(log, (1, 0), 500, again);
        let log = if lives_on { write(log, (0, 10), 1_000, 20..25) } else { log };
        let case = Case::new();
        case.log("orders-0", log);
        one(&case.findings("record-key"), "resend-new-session")["confidence"].as_str().unwrap().to_owned()
    };
    assert_eq!(told(8..9, true), "possible");
    assert_eq!(told(8..9, false), "likely");
    assert_eq!(told(5..10, true), "likely");
}

#[test]
fn two_copies_in_one_batch_are_in_one_transaction() {
    let told = |commits: bool, one_batch: bool| {
        let spec = |sequence| batch().producer(1, 0, sequence).transactional();
        let log = if one_batch {
            let twice = spec(0).record("order-1", "a").record("order-2", "b").record("order-2", "b");
            SegmentBuilder::new().batch(twice)
        } else {
            let first = spec(0).record("order-1", "a").record("order-2", "b");
            SegmentBuilder::new().batch(first).batch(spec(2).time(FIRST_TIME + 9).record("order-2", "b"))
        };
        let case = Case::new();
        case.log("orders-0", if commits { log.commit(1, 0) } else { log.abort(1, 0) });
        case.findings("record-key")
    };
    let findings = told(true, true);
    let twice = one(&findings, "resend-same-session");
    assert!(
        says(twice, "facts", "the copy and what it repeats are in one committed transaction"),
        "{twice:#}"
    );
    assert!(!says(twice, "advice", "sendOffsetsToTransaction"), "{twice:#}");
    assert!(says(twice, "advice", "registered twice"), "{twice:#}");
    let findings = told(true, false);
    let twice = one(&findings, "resend-same-session");
    assert!(!says(twice, "facts", "transactions of their own"), "{twice:#}");
    assert!(says(twice, "wouldSettle", "whether both are of one transaction"), "{twice:#}");
    // Before the abort nothing was written again because of it.
    for one_batch in [true, false] {
        let findings = told(false, one_batch);
        assert!(of(&findings, "aborted-then-retried", "orders").is_empty(), "{findings:#?}");
        let twice = one(&findings, "resend-same-session");
        assert_eq!(twice["counts"]["surplusCommitted"], 0, "{twice:#}");
    }
}

#[test]
fn one_writer_under_newer_sequences_is_not_called_another_one() {
    // An aborted batch is written again by the same session, and by a later one.
    let spec = |epoch, sequence| {
        let spec = batch().producer(1, epoch, sequence).transactional().time(FIRST_TIME);
        spec.record("order-1", "a").record("order-2", "b")
    };
    let log = SegmentBuilder::new().batch(spec(0, 0)).abort(1, 0).batch(spec(0, 2)).commit(1, 0);
    let case = Case::new();
    case.log("orders-0", log);
    let page = std::process::Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--key", "record-key"])
        .arg(case.0.path())
        .output()
        .unwrap();
    let page = String::from_utf8(page.stdout).unwrap();
    let words: Vec<&str> = page.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("same records, written anew") && !words.contains("other writer"), "{page}");
}

#[test]
fn a_retry_by_content_may_be_an_equal_event() {
    let spec = |key: Option<&'static str>, sequence, time| {
        batch()
            .producer(1, 0, sequence)
            .transactional()
            .time(FIRST_TIME + time)
            .record(key.map(|key| key.as_bytes().to_vec()), "21.5")
    };
    let told = |key: Option<&'static str>| {
        let log = SegmentBuilder::new().batch(spec(key, 0, 0)).abort(1, 0);
        let case = Case::new();
        case.log("orders-0", log.batch(spec(key, 1, 900)).commit(1, 0));
        one(&case.findings("auto"), "aborted-then-retried").clone()
    };
    let by_content = told(None);
    assert!(rival(&by_content, "equal events").0, "{by_content:#}");
    assert_eq!(by_content["confidence"], "likely");
    assert_eq!(told(Some("sensor-1"))["confidence"], "certain");
}

#[test]
fn a_transactional_session_of_a_higher_epoch_may_be_the_same_run() {
    let spec = |epoch, sequence, orders: std::ops::Range<i64>, time| {
        orders
            .fold(batch().producer(1, epoch, sequence).transactional().time(FIRST_TIME + time), |spec, at| {
                spec.record(format!("order-{at}"), format!("amount {at}"))
            })
    };
    let log = SegmentBuilder::new()
        .batch(spec(0, 0, 0..6, 0))
        .commit(1, 0)
        .batch(spec(1, 0, 2..8, 4_000))
        .commit(1, 1);
    let case = Case::new();
    case.log("orders-0", log);
    let findings = case.findings("record-key");
    let again = one(&findings, "resend-new-session");
    let (kept, why) = rival(again, "epoch bump in one run");
    assert!(kept && why.contains("KIP-360"), "{again:#}");
    // An application may set the times of its records.
    assert!(says(again, "wouldSettle", "UTC), by the clients' own times: restarts"), "{again:#}");
}

#[test]
fn a_session_that_goes_on_between_the_copies_was_not_restarted() {
    let bare = |log: SegmentBuilder, order: i64, time: i64| {
        let spec = batch().time(FIRST_TIME + time);
        log.batch(spec.record(format!("order-{order}"), format!("amount {order}")))
    };
    let told = |turns: bool| {
        let log = (0..8).fold(SegmentBuilder::new(), |log, at: i32| {
            let order = 3 * i64::from(at);
            let log = write(log, (0, 3 * at), 20 * order, order..order + 3);
            if turns { bare(log, order, 20 * order + 10) } else { log }
        });
        let log = if turns { log } else { (0..8).fold(log, |log, at| bare(log, 3 * at, 9_000 + at)) };
        let case = Case::new();
        case.log("orders-0", log);
        case.findings("record-key")
    };
    let findings = told(true);
    let repeats = one(&findings, "duplicate-undetermined");
    let (kept, why) = rival(repeats, "resend-new-session");
    assert!(!kept && why.contains("went on behind copies 7 times"), "{repeats:#}");
    assert!(rival(repeats, "concurrent-producers").0, "{repeats:#}");
    assert!(
        of(&told(false), "duplicate-undetermined", "orders").is_empty(),
        "one writer behind all is a restart"
    );
}

#[test]
fn a_producer_that_is_transactional_in_one_partition_alone_is_of_two_clusters() {
    let log = write(SegmentBuilder::new(), (0, 0), 0, 0..10);
    let case = Case::new();
    case.log("orders-0", write(log, (1, 0), 1_000, 4..10));
    let entry = batch().producer(0, 0, 0).transactional().record("entry-1", "x").record("entry-2", "y");
    case.log("ledger-0", SegmentBuilder::new().batch(entry).commit(0, 0));
    let report = case.report("record-key");
    let findings = report["findings"].as_array().unwrap();
    let again = one(findings, "resend-new-session");
    assert!(!says(again, "facts", "session 0#1 (producer 0, transactional)"), "{again:#}");
    assert!(says(again, "facts", "transactional in ledger-0 and not in orders-0"), "{again:#}");
    let sessions = report["producers"].as_array().unwrap().iter().find(|one| one["producerId"] == 0).unwrap();
    for session in sessions["sessions"].as_array().unwrap() {
        assert_eq!(session["transactional"], session["topic"] == "ledger", "{session:#}");
    }
}

#[test]
fn a_session_in_another_directory_without_a_cluster_of_its_own_may_be_another_one() {
    let again = write(write(SegmentBuilder::new(), (0, 0), 0, 0..10), (1, 0), 1_000, 4..10);
    let paid = write(write(SegmentBuilder::new(), (1, 0), 0, 50..54), (0, 0), 5_000, 60..64);
    let case = Case::new();
    case.log("orders-0", again).log("payments-0", paid);
    let findings = case.findings("record-key");
    let restart = one(&findings, "resend-new-session");
    let (kept, why) = rival(restart, "concurrent-producers");
    assert!(kept && why.contains("if payments-0 and orders-0 are of one cluster"), "{restart:#}");
    case.file("", "meta.properties", b"version=1\nbroker.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qk\n");
    let findings = case.findings("record-key");
    let (_, why) = rival(one(&findings, "resend-new-session"), "concurrent-producers");
    assert!(!why.contains("of one cluster") && why.contains("payments-0"), "{why}");
}
