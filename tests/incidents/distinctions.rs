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
fn a_list_that_each_run_publishes_beside_its_own_news_is_nobodys_replay() {
    let findings = |runs: &[Vec<i64>]| {
        let case = Case::new();
        let log = (0..).zip(runs).fold(SegmentBuilder::new(), |segment, (at, orders)| {
            session(segment, 1 + at, FIRST_TIME + at * HOUR, orders.iter().copied())
        });
        case.log("orders-0", log);
        case.findings("record-key")
    };
    let run = |list: std::ops::Range<i64>, news: std::ops::Range<i64>| list.chain(news).collect::<Vec<_>>();
    let nights = [run(0..30, 100..104), run(0..30, 200..205), run(0..30, 300..303)];
    assert!(of(&findings(&nights), "resend-new-session", "orders").is_empty());
    // The news first, or among the list.
    let first = [run(100..104, 0..30), run(200..205, 0..30), run(300..303, 0..30)];
    assert!(of(&findings(&first), "resend-new-session", "orders").is_empty());
    let among =
        |at: i64| (0..30).map(|row| if row % 9 == 0 { 100 * at + row } else { row }).collect::<Vec<_>>();
    assert!(of(&findings(&[among(1), among(2), among(3)]), "resend-new-session", "orders").is_empty());

    // Two runs may as well be a restart that read one of several inputs again.
    let all = findings(&nights[..2]);
    let twice = one(&all, "resend-new-session");
    assert_eq!(twice["confidence"], "possible");
    assert!(kept(twice).contains(&"full publication"), "{twice:#}");
    let left_out = "4 records of the earlier session behind the first repeated one did not come again";
    assert!(says(twice, "facts", left_out), "{twice:#}");

    // Twins that are replays: each start reads all that is there; or the list was the end of a session.
    let growing = [run(0..30, 30..34), run(0..34, 34..39), run(0..39, 39..42)];
    assert_eq!(of(&findings(&growing), "resend-new-session", "orders").len(), 2);
    let stuck = [run(0..40, 40..60), run(40..60, 100..103), run(40..60, 200..203), run(40..60, 300..303)];
    let looped = findings(&stuck);
    assert_eq!(one(&looped, "resend-new-session")["counts"]["surplusRecords"], 60);
}

#[test]
fn what_a_service_says_at_each_start_beside_its_work_is_no_replay() {
    let findings = |work: &dyn Fn(i64) -> std::ops::Range<i64>| {
        let case = Case::new();
        let (mut starts, mut journal) = (SegmentBuilder::new(), SegmentBuilder::new());
        for life in 0..3 {
            let start = batch().producer(life, 0, 0).time(FIRST_TIME + life * HOUR);
            starts = starts.batch(start.record("service", "started"));
            journal = session(journal, life, FIRST_TIME + life * HOUR, work(life));
        }
        case.log("orders-0", starts).log("journal-0", journal);
        case.findings("record-key")
    };
    assert!(of(&findings(&|life| 10 * life..10 * life + 10), "resend-new-session", "orders").is_empty());
    // Work that comes again as well is another matter.
    assert!(!of(&findings(&|life| 5 * life..5 * life + 10), "resend-new-session", "orders").is_empty());
}

#[test]
fn contents_without_a_key_that_come_back_in_life_after_life_are_meant() {
    let lives = |lives: i64, key: &str| {
        let case = Case::new();
        let log = (0..lives).fold(SegmentBuilder::new(), |segment, life| {
            (0..9).fold(segment, |segment, sequence| {
                let time = FIRST_TIME + life * HOUR + i64::from(sequence) * 1_000;
                let count = batch().producer(life, 0, sequence).time(time);
                segment.batch(count.record((), format!("{} open", sequence % 3)))
            })
        });
        case.log("orders-0", log);
        case.findings(key)
    };
    let accused =
        |findings: &[Value]| findings.iter().any(|finding| finding["counts"]["surplusRecords"] != 0);
    for key in ["auto", "value"] {
        assert!(!accused(&lives(2, key)), "{key}: {:#?}", lives(2, key));
    }
    // Within one life nobody can tell.
    let once = lives(1, "auto");
    assert_eq!(one(&once, "resend-same-session")["confidence"], "possible", "{once:#?}");
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
fn what_two_instances_share_before_the_second_is_seen_is_no_restart_unless_it_is_most() {
    // The second instance begins `behind` orders late and keeps up from there on, order by order.
    let both = |behind: i32, orders: i32| {
        let event = |producer: i64, sequence: i32| {
            batch().producer(producer, 0, sequence).record(format!("order-{sequence}"), "x")
        };
        let first = (0..behind).fold(SegmentBuilder::new(), |log, at| log.batch(event(1, at)));
        let caught_up = (0..behind).fold(first, |log, at| log.batch(event(2, at)));
        let log = (behind..orders).fold(caught_up, |log, at| log.batch(event(1, at)).batch(event(2, at)));
        let case = Case::new();
        case.log("orders-0", log);
        case.findings("record-key")
    };
    let findings = both(6, 12);
    assert_eq!(one(&findings, "concurrent-producers")["counts"]["surplusRecords"], 12);
    assert!(of(&findings, "resend-new-session", "orders").is_empty());
    let findings = both(9, 12);
    assert_eq!(one(&findings, "resend-new-session")["counts"]["surplusRecords"], 9);
    assert_eq!(one(&findings, "concurrent-producers")["counts"]["surplusRecords"], 3);
}

#[test]
fn a_second_instance_that_is_seen_in_another_partition_first_is_no_restart() {
    // Both write six orders; 0 to 2 go to one partition, 3 to 5 to the other.
    let log = |events: &[(i64, i64, i64)]| {
        let mut sequences = [0, 0];
        events.iter().fold(SegmentBuilder::new(), |segment, &(writer, order, time)| {
            let sequence = &mut sequences[usize::try_from(writer).unwrap()];
            let event = batch().producer(7 + writer, 0, *sequence).time(FIRST_TIME + time);
            *sequence += 1;
            segment.batch(event.record(format!("order-{order}"), "x"))
        })
    };
    let case = Case::new();
    case.log("orders-0", log(&[(1, 0, 0), (0, 0, 10), (0, 1, 11), (0, 2, 12)]));
    case.log("orders-1", log(&[(0, 3, 13), (0, 4, 14), (0, 5, 15), (1, 3, 20), (1, 4, 21), (1, 5, 22)]));
    let findings = case.findings("record-key");
    let together = one(&findings, "concurrent-producers");
    assert_eq!(together["counts"]["surplusRecords"], 4, "{together:#}");
    assert!(
        says(together, "facts", "in 3 of 4 pairs another partition shows the writer of the copy alive"),
        "{together:#}"
    );
    assert!(of(&findings, "resend-new-session", "orders").is_empty());

    // The same copies by one that nothing shows before: a restart, and the earlier one fell silent.
    let case = Case::new();
    case.log("orders-0", log(&[(0, 0, 10), (0, 1, 11), (0, 2, 12), (1, 0, 19)]));
    case.log("orders-1", log(&[(0, 3, 13), (0, 4, 14), (0, 5, 15), (1, 3, 20), (1, 4, 21), (1, 5, 22)]));
    assert_eq!(one(&case.findings("record-key"), "resend-new-session")["counts"]["surplusRecords"], 4);
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
    assert_eq!(kept(replay), ["resend-new-session", "fan-out"], "{replay:#}");
}

/// Rows of one batch that have times of their own.
fn rows(rows: impl Iterator<Item = i64>) -> BatchSpec {
    let mut rows = rows.peekable();
    let time = FIRST_TIME + rows.peek().copied().unwrap_or(0);
    rows.fold(batch().time(time), |batch, row| {
        batch.record_at(FIRST_TIME + row, format!("order-{row}"), format!("amount {row}"))
    })
}

#[test]
fn two_copies_in_one_batch_were_sent_in_one_go_and_two_in_neighbours_need_not_be() {
    let case = Case::new();
    let doubled = SegmentBuilder::new().batch(rows([0, 1, 1, 2, 3, 3].into_iter()));
    case.log("orders-0", doubled.batch(rows([4, 5, 5, 6].into_iter())));
    let findings = case.findings("record-key");
    let sent = one(&findings, "resend-same-session");
    assert_eq!(sent["counts"]["surplusRecords"], 3);
    assert!(says(sent, "facts", "3 of 3 copies stand in one batch with what they repeat"), "{sent:#}");
    assert!(says(sent, "advice", "no retry is involved"), "{sent:#}");
    assert_eq!(kept(sent), ["equal events"]);
    assert!(of(&findings, "duplicate-undetermined", "orders").is_empty());

    let case = Case::new();
    case.log("orders-0", SegmentBuilder::new().batch(rows(0..4)).batch(rows(3..7)));
    let findings = case.findings("record-key");
    assert_eq!(one(&findings, "duplicate-undetermined")["counts"]["surplusRecords"], 1);
}

#[test]
fn a_repeat_that_begins_inside_an_original_batch_is_no_retry() {
    let findings = |again: &[std::ops::Range<i64>]| {
        let case = Case::new();
        let log = SegmentBuilder::new().batch(rows(0..5)).batch(rows(5..12)).batch(rows(12..20));
        case.log("orders-0", again.iter().fold(log, |log, range| log.batch(rows(range.clone()))));
        case.findings("record-key")
    };
    let inside = findings(&[7..14, 14..25]);
    let undetermined = one(&inside, "duplicate-undetermined");
    assert!(!kept(undetermined).contains(&"retry-without-idempotence"), "{undetermined:#}");
    assert_eq!(kept(undetermined)[0], "pipeline-replay");
    let border = "begins with the record of offset 7, in the middle of the batch of offsets 5–11";
    assert!(says(undetermined, "facts", border), "{undetermined:#}");
    // Regrouped, and whole: the second batch goes on where the first one ended.
    let whole = findings(&[5..10, 10..20]);
    assert!(kept(one(&whole, "duplicate-undetermined")).contains(&"retry-without-idempotence"));
    // The rest of a regrouped retry may have failed.
    let cut = findings(std::slice::from_ref(&(0..8)));
    assert!(kept(one(&cut, "duplicate-undetermined")).contains(&"retry-without-idempotence"));
}

#[test]
fn batches_that_came_back_in_another_order_say_so() {
    let retried = |order: [i64; 3]| {
        let case = Case::new();
        let log = (0..4).fold(SegmentBuilder::new(), |log, at| log.batch(rows(2 * at..2 * at + 2)));
        case.log("orders-0", order.iter().fold(log, |log, at| log.batch(rows(2 * at..2 * at + 2))));
        case.findings("record-key")
    };
    let turned = "what stood at offset 6 of orders-0 now stands in front of what stood at offset 4";
    let findings = retried([3, 2, 1]);
    let backwards = one(&findings, "retry-without-idempotence");
    assert!(says(backwards, "facts", turned), "{backwards:#}");
    assert!(says(backwards, "facts", "3 batches with the same records and base time; 3 of 3 with an equal"));
    let findings = retried([1, 2, 3]);
    assert!(!says(one(&findings, "retry-without-idempotence"), "facts", "in another order"));
}

#[test]
fn equal_times_in_another_topic_alone_do_not_say_that_a_pipeline_ran() {
    let event = |producer: i64, sequence: i32, row: i64| {
        let event = batch().time(FIRST_TIME + row);
        let event = if producer < 0 { event } else { event.producer(producer, 0, sequence) };
        event.record(format!("order-{row}"), format!("amount {row}"))
    };
    let log = |producer: i64, rows: std::ops::Range<i64>, segment: SegmentBuilder| {
        (0..).zip(rows).fold(segment, |log, (sequence, row)| log.batch(event(producer, sequence, row)))
    };
    let findings = |directory: &str, first: i64, second: i64| {
        let case = Case::new();
        case.log("audit-0", log(9, 0..40, SegmentBuilder::new()));
        case.log(directory, log(second, 20..40, log(first, 0..30, SegmentBuilder::new())));
        case.findings("record-key")
    };
    let both = findings("orders-0", 1, 2);
    let replay = one(&both, "pipeline-replay");
    assert_eq!((&replay["confidence"], kept(replay)[0]), (&"possible".into(), "resend-new-session"));
    assert!(kept(replay).contains(&"fan-out"), "{replay:#}");
    let named = findings("dc1.audit-0", 1, 2);
    let mirrored = of(&named, "pipeline-replay", "dc1.audit");
    assert_eq!(mirrored[0]["confidence"], "likely", "{mirrored:#?}");
}

#[test]
fn a_newest_snapshot_without_the_last_writer_says_that_brokers_here_forget_soon() {
    let case = Case::new();
    let nine = || session(SegmentBuilder::new(), 3, FIRST_TIME, 0..1);
    let again = batch().producer(3, 0, 0).time(FIRST_TIME).record("order-0", "amount 0");
    case.log("orders-0", nine().batch(again));
    let empty = super::cases::snapshot(&[], FIRST_TIME);
    case.file("orders-0", "00000000000000000002.snapshot", &empty);
    let findings = case.findings("record-key");
    let lost = one(&findings, "broker-dedup-lost");
    assert!(
        says(lost, "facts", "does not remember producer 3, although it wrote up to offset 1"),
        "{lost:#}"
    );
    assert!(says(lost, "facts", "no leader was elected between them"), "{lost:#}");
    assert!(lost["cause"]["text"].as_str().unwrap().contains("by expiry"), "{lost:#}");
}
