//! What equal content, equal times and rows say of records that hardly differ.

use super::{START, json_of};
use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A number without pattern.
fn mixed(n: u64) -> u64 {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

fn uuid(n: u64) -> String {
    let (one, other) = (mixed(n + 7_000_000), mixed(n + 9_000_000));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        one >> 32,
        one & 0xffff,
        other & 0xfff,
        one >> 20 & 0xfff,
        other >> 16
    )
}

/// A record: the producer, below 0 for none, its time, key, value and a header `id`.
#[derive(Clone)]
struct Sent {
    producer: i64,
    time: i64,
    key: Option<String>,
    value: String,
    id: Option<String>,
}

/// Writes each record in a batch of its own.
fn write(home: &Path, topic: &str, records: impl IntoIterator<Item = Sent>) {
    let mut sequences: BTreeMap<i64, i32> = BTreeMap::new();
    let mut segment = SegmentBuilder::new();
    for sent in records {
        let mut one = batch().time(sent.time);
        if sent.producer >= 0 {
            let sequence = sequences.entry(sent.producer).or_default();
            one = one.producer(sent.producer, 0, *sequence);
            *sequence += 1;
        }
        one = one.record(sent.key.map(String::into_bytes), sent.value);
        if let Some(id) = sent.id {
            one = one.header("id", id);
        }
        segment = segment.batch(one);
    }
    std::fs::create_dir_all(home.join(topic)).unwrap();
    std::fs::write(home.join(topic).join("00000000000000000000.log"), segment.bytes()).unwrap();
}

fn scan(records: impl IntoIterator<Item = Sent>) -> Value {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "events-0", records);
    json_of(&["scan", home.path().to_str().unwrap(), "--format", "json"])
}

fn identity(report: &Value) -> &Value {
    &report["topics"][0]["identity"]
}

/// The findings about copies.
fn about_copies(report: &Value) -> Vec<&Value> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings.filter(|one| one["counts"]["surplusRecords"].as_u64() > Some(0)).collect()
}

fn keeps_equal_events(finding: &Value) -> bool {
    let mut rivals = finding["alternatives"].as_array().unwrap().iter();
    rivals.any(|rival| rival["code"] == "equal events" && rival["kept"] == true)
}

fn surplus(report: &Value) -> u64 {
    about_copies(report).iter().filter_map(|one| one["counts"]["surplusRecords"].as_u64()).sum()
}

/// One of `of` users does one of a few things.
fn click(n: u64, of: u64, producer: i64) -> Sent {
    Sent {
        producer,
        time: START + n.cast_signed() * 100 + 7,
        key: Some(format!("user-{}", mixed(n) % of)),
        value: "like".to_owned(),
        id: None,
    }
}

#[test]
fn an_id_of_each_event_is_no_nonce_because_the_record_key_could_be_the_event() {
    type Case = (&'static str, fn(u64, Sent) -> Sent);
    let cases: [Case; 4] = [
        ("json:/id", |n, sent| {
            Sent {
            value: json!({"specversion": "1.0", "id": uuid(n), "type": "login", "time": sent.time, "data": {"userId": sent.key}}).to_string(),
            ..sent
        }
        }),
        ("json:/id", |n, sent| Sent { value: json!({"id": uuid(n), "event": "view"}).to_string(), ..sent }),
        ("json:/id", |n, sent| Sent {
            value:
                json!({"id": uuid(n), "type": (["login", "logout", "view"][(mixed(n) >> 40) as usize % 3])})
                    .to_string(),
            ..sent
        }),
        ("header:id", |n, sent| Sent { id: Some(uuid(n)), ..sent }),
    ];
    for (at, (id, make)) in cases.into_iter().enumerate() {
        for of in [3000, 15_000, 80_000] {
            let report = scan((0..2500).map(|n| make(n, click(n, of, 7))));
            assert_eq!(surplus(&report), 0, "{at}, {of}: {report:#}");
            let why = identity(&report)["why"].as_str().unwrap();
            assert!(
                why.contains(&format!("{id} counts")) && why.contains(&format!("--key {id}")),
                "{at}, {of}: {why}"
            );
        }
    }
}

#[test]
fn repeats_of_a_key_beside_which_nothing_differs_are_possibly_copies_and_possibly_equal() {
    for of in [3000, 15_000, 80_000] {
        for writer in
            [|_| 7, |n: u64| 7 + (n / 1250).cast_signed(), |n: u64| 7 + (mixed(n) >> 50 & 1).cast_signed()]
                as [fn(u64) -> i64; 3]
        {
            let report = scan((0..2500).map(|n| click(n, of, writer(n))));
            let found = about_copies(&report);
            assert!(!found.is_empty(), "{report:#}");
            for finding in found {
                assert_eq!(finding["confidence"], "possible", "{of}: {finding:#}");
                assert!(keeps_equal_events(finding), "{of}: {finding:#}");
            }
            let why = identity(&report)["why"].as_str().unwrap();
            assert!(why.contains("in no order that copies have"), "{why}");
        }
    }
}

#[test]
fn a_restart_that_rewrote_its_last_records_is_found_although_they_hardly_differ() {
    let first = (0..1000).map(|n| Sent { key: Some(format!("order-{n}")), ..click(n, 1, 7) });
    let again = (950..1000_u64).map(|n| Sent {
        key: Some(format!("order-{n}")),
        time: START + 200_000 + n.cast_signed(),
        ..click(n, 1, 8)
    });
    let report = scan(first.chain(again));
    assert_eq!(identity(&report)["key"], "record-key");
    let found = about_copies(&report);
    let [one] = found[..] else { panic!("{report:#}") };
    assert_eq!(
        (one["code"].as_str(), one["confidence"].as_str()),
        (Some("resend-new-session"), Some("likely"))
    );
    assert_eq!(surplus(&report), 50);
    assert!(!keeps_equal_events(one), "{one:#}");

    // And what is sent again at once.
    let twice = (0..1000).flat_map(|n| {
        let sent = Sent { key: Some(format!("order-{n}")), ..click(n, 1, 7) };
        std::iter::repeat_n(sent.clone(), 1 + usize::from(n % 40 == 0))
    });
    let report = scan(twice);
    let found = about_copies(&report);
    let [one] = found[..] else { panic!("{report:#}") };
    assert_eq!(
        (one["code"].as_str(), one["confidence"].as_str()),
        (Some("resend-same-session"), Some("likely"))
    );
}

#[test]
fn copies_of_records_that_differ_are_found_in_any_order() {
    let order = |n: u64, time: i64| Sent {
        key: Some(format!("order-{n}")),
        time: START + time * 100,
        value: json!({"amount": mixed(n) % 5000, "sentAt": START + time * 100}).to_string(),
        ..click(n, 1, 7)
    };
    let records = (0..1040).zip(0_i64..).map(|(n, time)| {
        // Of 1,040 records 40 repeat any earlier one.
        let own = n - n / 26;
        order(if n % 26 == 25 { mixed(n) % own } else { own }, time)
    });
    let report = scan(records);
    assert_eq!(identity(&report)["key"], "record-key", "{:#}", identity(&report));
    assert_eq!(surplus(&report), 40);
    assert!(about_copies(&report).iter().all(|one| one["confidence"] == "likely"), "{report:#}");
}

#[test]
fn a_few_repeats_that_follow_each_other_are_no_row() {
    // Among hundreds of pairs in any order some always follow each other.
    for seed in 0..4 {
        let report = scan((0..2500).map(|n| Sent {
            key: Some(format!("sku-{}", mixed(n + seed * 50_000) % 10_000)),
            ..click(n, 1, 7 + (n / 1250).cast_signed())
        }));
        let resent: Vec<&Value> =
            about_copies(&report).into_iter().filter(|one| one["code"] == "resend-new-session").collect();
        for finding in resent {
            assert!(keeps_equal_events(finding), "{finding:#}");
            let facts = finding["facts"].to_string();
            assert!(!facts.contains("in a row") && !facts.contains("in their old order"), "{facts}");
        }
        let home = tempfile::tempdir().unwrap();
        write(
            home.path(),
            "events-0",
            (0..2500).map(|n| Sent {
                key: Some(format!("sku-{}", mixed(n + seed * 50_000) % 10_000)),
                value: format!("{{\"sku\":{}}}", mixed(n + seed * 50_000) % 10_000),
                ..click(n, 1, 7 + (n / 1250).cast_signed())
            }),
        );
        // Nor where somebody says that the key names the event.
        let report =
            json_of(&["scan", home.path().to_str().unwrap(), "--key", "json:/sku", "--format", "json"]);
        for finding in about_copies(&report).into_iter().filter(|one| one["code"] == "resend-new-session") {
            assert!(keeps_equal_events(finding), "{finding:#}");
        }
    }
}

#[test]
fn equal_events_of_one_second_are_no_retry() {
    for (whole, per_batch) in [(1000, 200), (60_000, 20_000)] {
        let beats = (0..1500_i64).map(|n| Sent {
            producer: -1,
            time: (START + n * per_batch) / whole * whole,
            key: None,
            value: format!("user {} logged in", mixed(n.cast_unsigned()) % 90),
            id: None,
        });
        let report = scan(beats);
        for finding in about_copies(&report) {
            assert_eq!(finding["code"], "duplicate-undetermined", "{finding:#}");
            assert_eq!(finding["confidence"], "possible");
        }
    }
    // Of many contents only a few come twice in a second: still no retry, and said why.
    let rare = (0..1500_i64).map(|n| Sent {
        producer: -1,
        time: (START + n * 100) / 1000 * 1000,
        key: None,
        value: format!("user {} logged in", mixed(n.cast_unsigned()) % 900),
        id: None,
    });
    let report = scan(rare);
    let found = about_copies(&report);
    assert!(!found.is_empty());
    for finding in found {
        assert_eq!(finding["code"], "duplicate-undetermined", "{finding:#}");
    }
}

#[test]
fn a_batch_that_came_again_is_a_retry_where_times_are_milliseconds() {
    let orders = |n: i64| Sent {
        producer: -1,
        time: START + n * 137 + 3,
        key: None,
        value: format!("order {n}"),
        id: None,
    };
    let report = scan((0..300).chain(280..283).map(orders));
    let found = about_copies(&report);
    let [one] = found[..] else { panic!("{report:#}") };
    assert_eq!(
        (one["code"].as_str(), one["confidence"].as_str()),
        (Some("retry-without-idempotence"), Some("likely"))
    );
    // The same in whole seconds: copies, but nothing shows a retry.
    let report = scan((0..300).chain(280..283).map(|n| Sent { time: START + n * 2000, ..orders(n) }));
    let found = about_copies(&report);
    let [one] = found[..] else { panic!("{report:#}") };
    assert_eq!(one["confidence"], "possible");
    assert!(one["facts"].to_string().contains("whole seconds"), "{one:#}");
}

/// Customers are charged in one order, each charge with an id of its own; the run begins again at `from` after `gap`.
fn charges(from: u64, gap: i64) -> Value {
    let charge = |at: i64, customer: u64, run: u64, start: i64| Sent {
        producer: 10 + run.cast_signed(),
        time: START + start + at * 53,
        key: Some(format!("customer-{customer}")),
        value: json!({
            "paymentId": uuid(run * 10_000 + customer),
            "customer": customer,
            "amount": 5 + customer % 7,
            "chargedAt": START + start + at * 53,
        })
        .to_string(),
        id: None,
    };
    let first = (0..400).zip(0..).map(move |(customer, at)| charge(at, customer, 0, 0));
    let second = (from..400).zip(0..).map(move |(customer, at)| charge(at, customer, 1, gap));
    scan(first.chain(second))
}

#[test]
fn a_second_run_a_month_later_with_ids_of_its_own_is_possibly_a_resend() {
    let report = charges(200, 30 * 86_400_000);
    let found = about_copies(&report);
    let [one] = found[..] else { panic!("{report:#}") };
    assert_eq!(
        (one["code"].as_str(), one["confidence"].as_str()),
        (Some("resend-new-session"), Some("possible"))
    );
    assert!(keeps_equal_events(one));
    assert!(
        one["wouldSettle"][0].as_str().unwrap().contains("scan again with --key json:/paymentId"),
        "{one:#}"
    );
    let why = identity(&report)["why"].as_str().unwrap();
    assert!(why.contains("json:/paymentId is never the same twice and does not count"), "{why}");
    assert!(why.ends_with("--key json:/paymentId"), "{why}");
    assert_eq!(identity(&report)["suggestions"][0]["key"], "json:/paymentId");
}

#[test]
fn a_restart_that_makes_new_ids_is_a_likely_resend() {
    let report = charges(350, 40_000);
    let found = about_copies(&report);
    let [one] = found[..] else { panic!("{report:#}") };
    assert_eq!(
        (one["code"].as_str(), one["confidence"].as_str()),
        (Some("resend-new-session"), Some("likely"))
    );
    // The way out is named all the same.
    assert_eq!(identity(&report)["suggestions"][0]["key"], "json:/paymentId");
}
