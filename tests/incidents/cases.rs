//! Incidents that people had.

use super::{Case, kept, of, says};
use dedup_audit::testkit::{BatchSpec, FIRST_TIME, SegmentBuilder, batch};

fn rows(numbers: std::ops::Range<i64>, time: i64) -> BatchSpec {
    numbers.fold(batch().time(time), |batch, number| {
        batch.record_at(time + number, format!("order-{number}"), format!("amount {number}"))
    })
}

/// Case 1: a batch without producer id comes again under the next leader; in another topic its records
/// come again in two batches; a day later one order is written once more.
#[test]
fn a_plain_retry_is_told_from_records_that_came_regrouped_and_from_a_lone_repeat() {
    let day = 86_400_000;
    let case = Case::new();
    let plain = SegmentBuilder::new().batch(rows(0..20, FIRST_TIME)).leader_epoch(1);
    let plain = plain.batch(rows(0..20, FIRST_TIME));
    case.log("plain-0", plain.time(FIRST_TIME + day).batch(rows(7..8, FIRST_TIME + day)));
    let regrouped = SegmentBuilder::new().batch(rows(0..20, FIRST_TIME)).leader_epoch(1);
    case.log("regrouped-0", regrouped.batch(rows(0..10, FIRST_TIME)).batch(rows(10..20, FIRST_TIME)));
    let findings = case.findings("record-key");

    let retries = of(&findings, "retry-without-idempotence", "plain");
    let [retry] = retries[..] else { panic!("{retries:#?}") };
    assert_eq!((&retry["confidence"], &retry["counts"]["surplusRecords"]), (&"likely".into(), &20.into()));
    assert!(says(retry, "facts", "the leader epoch rose between the copies in 20 of 20 pairs"));
    assert!(says(retry, "facts", "no producer id on either copy"));
    assert!(says(retry, "advice", "enable.idempotence=true"));

    let undetermined = of(&findings, "duplicate-undetermined", "regrouped");
    let [regrouped] = undetermined[..] else { panic!("{undetermined:#?}") };
    assert_eq!(regrouped["counts"]["surplusRecords"], 20);
    for rival in ["retry-without-idempotence", "pipeline-replay", "resend-same-session"] {
        assert!(kept(regrouped).contains(&rival), "{regrouped:#}");
    }
    assert!(kept(retry).contains(&"resend-new-session"), "{retry:#}");
    assert!(says(
        retry,
        "facts",
        "1 batch with the same records and base time; 1 of 1 with an equal checksum"
    ));

    let lone = of(&findings, "duplicate-undetermined", "plain");
    let [lone] = lone[..] else { panic!("{lone:#?}") };
    assert_eq!((&lone["confidence"], &lone["counts"]["surplusRecords"]), (&"possible".into(), &1.into()));
}

/// An id as libraries draw it: digits that say nothing, other ones each time.
fn event_id(relay: i64, row: i32) -> String {
    let mut digits =
        u64::try_from(relay * 1_000 + i64::from(row)).unwrap().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut draw = || {
        digits = (digits ^ (digits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        digits ^= digits >> 32;
        digits
    };
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        draw() >> 32,
        draw() >> 48,
        draw() >> 52,
        draw() >> 52,
        draw() >> 16
    )
}

/// Case 4: three instances of a relay write every row within a moment; event ids differ, the rows agree.
/// A fourth producer repeats nothing.
#[test]
fn a_relay_that_runs_three_times_is_one_incident_of_three_live_writers() {
    let case = Case::new();
    let mut segment = SegmentBuilder::new();
    for row in 0..50_i32 {
        for relay in [11_i64, 12, 13] {
            let time = FIRST_TIME + i64::from(row) * 1_000 + (relay - 11) * 67;
            let value = format!("{{\"row\":{row},\"amount\":{}}}", row * 7 % 31);
            let event = batch().producer(relay, 0, row).time(time).record((), value);
            segment = segment.batch(event.header("event-id", event_id(relay, row)));
        }
        let own = format!("{{\"row\":{},\"amount\":1}}", 1_000 + row);
        let event =
            batch().producer(14, 0, row).time(FIRST_TIME + i64::from(row) * 1_000 + 300).record((), own);
        segment = segment.batch(event.header("event-id", event_id(14, row)));
    }
    case.log("relay-0", segment);
    for key in ["json:/row", "auto"] {
        let findings = case.findings(key);
        let concurrent = of(&findings, "concurrent-producers", "relay");
        let [one] = concurrent[..] else { panic!("{key}: {findings:#?}") };
        assert_eq!(one["counts"]["surplusRecords"], 100, "{key}");
        assert!(one["title"].as_str().unwrap().contains("3 producers"), "{one:#}");
        assert!(!says(one, "facts", "producer 14"), "{one:#}");
        assert!(of(&findings, "resend-new-session", "relay").is_empty());
    }
}

/// Bytes of a snapshot with one entry a producer: id, last sequence, last offset, offset delta.
pub(super) fn snapshot(entries: &[(i64, i32, i64, i32)], time: i64) -> Vec<u8> {
    let mut body = u32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
    for &(id, sequence, offset, delta) in entries {
        body.extend(id.to_be_bytes());
        body.extend(0_i16.to_be_bytes());
        body.extend(sequence.to_be_bytes());
        body.extend(offset.to_be_bytes());
        body.extend(delta.to_be_bytes());
        body.extend(time.to_be_bytes());
        body.extend((-1_i32).to_be_bytes());
        body.extend((-1_i64).to_be_bytes());
    }
    let mut bytes = 1_i16.to_be_bytes().to_vec();
    bytes.extend(crc32c(&body).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// CRC-32C bit by bit: a second opinion on the library's.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    !crc
}

/// Case 7: the same sequences stand twice, under two leaders. What the snapshot between the copies says
/// of the producer tells where the memory was lost.
#[test]
fn one_sequence_stored_twice_clears_the_client_and_the_snapshot_says_where_memory_was_lost() {
    let nine = |time| {
        (0..9).fold(batch().producer(3, 0, 4570).time(time), |batch, number| {
            batch.record_at(time + number, format!("value-{number}"), "x")
        })
    };
    let first = || {
        SegmentBuilder::new()
            .batch(batch().producer(5, 0, 0).time(FIRST_TIME).record("other", "y"))
            .batch(nine(FIRST_TIME + 1_000))
    };
    let second = SegmentBuilder::at(10).leader_epoch(1).batch(nine(FIRST_TIME + 1_000)).bytes();
    let other = (5, 0, 0, 0);
    let nine_of_three = (3, 4578, 9, 8);
    for (entries, fact) in
        [(vec![other], "lacks producer 3"), (vec![nine_of_three, other], "remembers producer 3")]
    {
        let case = Case::new();
        case.log("values-0", first()).file("values-0", "00000000000000000010.log", &second).file(
            "values-0",
            "00000000000000000010.snapshot",
            &snapshot(&entries, FIRST_TIME + 1_008),
        );
        let findings = case.findings("record-key");
        let lost = of(&findings, "broker-dedup-lost", "values");
        let [lost] = lost[..] else { panic!("{findings:#?}") };
        assert_eq!((&lost["confidence"], &lost["counts"]["surplusRecords"]), (&"certain".into(), &9.into()));
        assert!(says(lost, "facts", fact), "{lost:#}");
        let newest = "when the first copy came, its original was the newest batch of producer 3 in values-0";
        assert!(says(lost, "facts", newest), "{lost:#}");
        assert!(says(lost, "facts", "the leader epoch rose between the copies in 9 of 9 pairs"));
        assert!(says(
            lost,
            "advice",
            "neither a resend by the application nor a new client keeps the sequences"
        ));
        assert_eq!(kept(lost), [""; 0], "{lost:#}");
    }
}

/// A client begins a new epoch and writes its last batches again. How many of them the broker remembered
/// tells whether its memory explains that: five, one behind a restart.
#[test]
fn what_the_broker_remembered_is_told_where_records_came_again_under_a_new_epoch() {
    let two = |epoch, first: i32, row: i64| {
        let time = FIRST_TIME + row * 100;
        (row..row + 2).fold(batch().producer(1, epoch, first).time(time), |batch, number| {
            batch.record_at(time + number, format!("order-{number}"), "x")
        })
    };
    let log = |old: i64, again: i64, leader: i32| {
        let number = |at: i64| i32::try_from(at).unwrap();
        let first = (0..old)
            .fold(SegmentBuilder::new(), |log, at| log.batch(two(0, number(at * 2), at * 2)))
            .leader_epoch(leader);
        (old - again..old).fold(first, |log, at| log.batch(two(1, number((at - old + again) * 2), at * 2)))
    };
    let told = |old, again, leader, snapshot: Option<Vec<u8>>| {
        let case = Case::new();
        case.log("orders-0", log(old, again, leader));
        if let Some(bytes) = snapshot {
            case.file("orders-0", &format!("{:020}.snapshot", old * 2), &bytes);
        }
        let findings = case.findings("record-key");
        let found = of(&findings, "epoch-bump-resend", "orders");
        let [bump] = found[..] else { panic!("{findings:#?}") };
        (bump["facts"].to_string(), bump["cause"]["text"].as_str().unwrap().contains("remembered too few"))
    };
    let expect = |case: (String, bool), fact: &str, explains: bool| {
        assert!(case.0.contains(fact), "{}", case.0);
        assert_eq!(case.1, explains, "{}", case.0);
    };
    expect(
        told(3, 1, 0, None),
        "stand in the newest batch of epoch 0 in orders-0: a broker that knows",
        false,
    );
    expect(
        told(3, 2, 0, None),
        "stand in the 2nd newest batch of epoch 0 in orders-0: among the five",
        false,
    );
    let restarted = snapshot(&[(1, 5, 5, 1)], FIRST_TIME + 402);
    let remembers = "written in between, remembers the producer by the batch that ends at offset 5";
    expect(told(3, 2, 0, Some(restarted)), remembers, true);
    expect(told(3, 2, 1, None), "the leader epoch went from 0 to 1", true);
    expect(told(7, 6, 0, None), "in the 6th newest batch of epoch 0 in orders-0, not among the five", true);
}

/// Case 8: a block went behind the next one, another block came twice. Order and duplicates are told
/// apart.
#[test]
fn a_block_that_moved_is_told_apart_from_a_block_that_came_twice() {
    let block = |number: i64| {
        let time = FIRST_TIME + number * 10_000;
        (0..10).fold(batch().time(time), |batch, row| {
            let value = format!("{{\"row\":{row},\"version\":{number}}}");
            batch.record_at(time + row, format!("row-{row}"), value)
        })
    };
    let case = Case::new();
    // A hundred rows and a copy: few batches, so the versions have to tell.
    let order = [0, 1, 2, 4, 3, 5, 6, 7, 7, 8, 9];
    case.log("rows-0", order.iter().fold(SegmentBuilder::new(), |segment, &at| segment.batch(block(at))));
    let findings = case.findings("record-key");
    let moved = of(&findings, "order-broken", "rows");
    let [moved] = moved[..] else { panic!("{findings:#?}") };
    let stretches = moved["stretches"].as_array().unwrap();
    assert_eq!((&stretches[0]["firstOffset"], &stretches[0]["lastOffset"]), (&40.into(), &49.into()));
    // That the order is broken is seen; what broke it is not.
    assert_eq!((stretches.len(), &moved["confidence"]), (1, &"likely".into()), "{moved:#}");
    assert_eq!(moved["cause"]["confidence"], "possible", "{moved:#}");
    let example = "key row-0 has a newer /version at offset 30 (client time 2023-11-14 22:14:00.000 UTC) than at offset 40 \
                   (client time 2023-11-14 22:13:50.000 UTC); by the clients' clocks the block is up to 10";
    assert!(says(moved, "facts", example), "{moved:#}");
    assert!(says(moved, "facts", "none of these batches carries a producer id"), "{moved:#}");
    let again = of(&findings, "retry-without-idempotence", "rows");
    let [again] = again[..] else { panic!("{findings:#?}") };
    assert_eq!(again["counts"]["surplusRecords"], 10);
    let copies = again["groups"][0]["copies"].as_array().unwrap();
    assert!((80..90).contains(&copies[1]["offset"].as_i64().unwrap()), "{copies:#?}");
}

/// What looks like case 8 and is not: late readings of devices, an application that writes old versions
/// itself, two writers, records that a broker put in order.
#[test]
fn versions_that_step_back_for_another_reason_are_no_broken_order() {
    /// One batch: who wrote it, the time of its creation, its version of each of ten keys.
    type Line = (Option<i64>, i64, [i64; 10]);
    let log = |lines: &[Line]| {
        let mut sequence = 0;
        lines.iter().fold(SegmentBuilder::new(), |segment, (producer, second, versions)| {
            let time = FIRST_TIME + second * 1_000;
            let mut one = batch().time(time);
            if let Some(id) = producer {
                one = one.producer(*id, 0, sequence);
                sequence += 10;
            }
            segment.batch((0..).zip(versions).fold(one, |one, (key, version)| {
                let value = format!("{{\"version\":{version},\"total\":{}}}", version * 3 + key);
                one.record_at(time + key, format!("device-{key}"), value)
            }))
        })
    };
    let each = |version: i64| [version; 10];
    let plain = |order: &[i64]| -> Vec<Line> { order.iter().map(|&at| (None, at, each(at))).collect() };
    let in_order: Vec<i64> = (0..40).collect();

    let case = Case::new();
    // One device is late by one reading, again and again.
    let mut late = plain(&in_order);
    for at in (5..40).step_by(4) {
        late[at].2[3] -= 2;
        late[at].1 -= 2;
    }
    case.log("late-0", log(&late));
    // The application itself goes back to versions that it left out.
    let mut back = plain(&[0, 1, 2, 4, 3, 5, 6, 7, 8, 9]);
    back[4].1 = 5;
    case.log("back-0", log(&back));
    // Two writers, one of them always a second late.
    let two: Vec<i64> = in_order.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    case.log("two-0", log(&plain(&two)));
    // With a producer id the broker keeps the order.
    let mut protected = plain(&[0, 1, 2, 4, 3, 5, 6, 7, 8, 9]);
    for line in &mut protected {
        line.0 = Some(7);
    }
    case.log("protected-0", log(&protected));
    // An export of old versions an hour later.
    let mut export = plain(&[0, 1, 2, 4, 3, 5, 6, 7, 8, 9]);
    for (_, line) in export.iter_mut().enumerate().filter(|(at, _)| *at != 4) {
        line.1 += 3_600;
    }
    case.log("export-0", log(&export));
    // The twin that is one: the same log with the block where a retry puts it.
    case.log("moved-0", log(&plain(&[0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11])));
    let findings = case.findings("record-key");
    for topic in ["late", "back", "two", "protected", "export"] {
        assert!(of(&findings, "order-broken", topic).is_empty(), "{findings:#?}");
    }
    assert_eq!(of(&findings, "order-broken", "moved").len(), 1);
}

/// Two instances that both keep changing the same rows, beside services that own rows of their own and
/// an instance that took over once.
#[test]
fn two_writers_that_take_turns_are_told_and_owners_and_heirs_are_not() {
    let log = |writer: &dyn Fn(i64) -> i64, row: &dyn Fn(i64) -> i64| {
        let mut sequences = [0, 0];
        (0..60).fold(SegmentBuilder::new(), |segment, at| {
            let id = writer(at);
            let sequence = &mut sequences[usize::try_from(id).unwrap()];
            let one = batch().producer(7 + id, 0, *sequence).time(FIRST_TIME + at * 500);
            *sequence += 1;
            segment.batch(one.record(format!("row-{}", row(at)), format!("{{\"price\":{}}}", at * 7)))
        })
    };
    let case = Case::new();
    case.log("turns-0", log(&|at| at / 3 % 2, &|at| at % 3));
    case.log("owners-0", log(&|at| at % 2, &|at| at % 6));
    case.log("heirs-0", log(&|at| at / 30, &|at| at % 3));
    let findings = case.findings("record-key");
    let found = of(&findings, "interleaved-writers", "turns");
    let [turns] = found[..] else { panic!("{findings:#?}") };
    assert_eq!((&turns["severity"], &turns["confidence"]), (&"info".into(), &"possible".into()));
    assert!(
        says(turns, "facts", "key row-0 changed its writer 19 times between offsets 3 and 57"),
        "{turns:#}"
    );
    assert!(kept(turns).contains(&"shared ownership"));
    for topic in ["owners", "heirs"] {
        assert!(of(&findings, "interleaved-writers", topic).is_empty(), "{findings:#?}");
    }
}
