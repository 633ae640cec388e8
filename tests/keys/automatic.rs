//! What `scan` makes of topics without being told a key.

use super::{START, json_of, run, write_bytes, write_topic};
use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::{Value, json};
use std::path::Path;

fn scan(home: &Path) -> Value {
    json_of(&["scan", home.to_str().unwrap(), "--format", "json"])
}

fn why(report: &Value) -> &str {
    report["topics"][0]["identity"]["why"].as_str().unwrap()
}

/// Surplus copies of all findings about duplicates.
fn surplus(report: &Value) -> u64 {
    let findings = report["findings"].as_array().unwrap().iter();
    findings.filter_map(|one| one["counts"]["surplusRecords"].as_u64()).sum()
}

/// A time that runs with the order of writing.
fn sent(n: u64) -> u64 {
    1_764_425_000_000 + n * 137
}

/// 400 events, 40 of them again with another send time.
fn again(event: impl Fn(u64, u64) -> Value) -> Vec<(Option<String>, Value)> {
    (0..400).chain(200..240).enumerate().map(|(at, id)| (None, event(id, sent(at as u64)))).collect()
}

#[test]
fn a_send_time_in_an_array_or_behind_an_escaped_name_does_not_count() {
    let home = tempfile::tempdir().unwrap();
    write_topic(home.path(), "rows-0", &again(|id, sent| json!([format!("ev-{id}"), id % 5, sent])));
    let report = scan(home.path());
    assert_eq!(report["topics"][0]["identity"]["volatile"][0], "json:/2", "{:#}", report["topics"][0]);
    assert_eq!(surplus(&report), 40);

    let home = tempfile::tempdir().unwrap();
    let escaped = |id: u64, sent: u64| format!("{{\"id\":{id},\"gr\\u00f6\\u00dfe\":{sent}}}").into_bytes();
    let records: Vec<_> =
        (0..400).chain(200..240).enumerate().map(|(at, id)| (None, escaped(id, sent(at as u64)))).collect();
    write_bytes(home.path(), "sizes-0", &records);
    assert_eq!(surplus(&scan(home.path())), 40);
}

#[test]
fn an_odd_send_time_hides_no_copies() {
    for odd in [Value::Null, json!(0), json!("n/a")] {
        let home = tempfile::tempdir().unwrap();
        let mut records = again(|id, sent| json!({"amount": id * 7919 % 1_000_003, "sentAt": sent}));
        records.insert(150, (None, json!({"amount": 77, "sentAt": odd})));
        write_topic(home.path(), "orders-0", &records);
        let report = scan(home.path());
        assert_eq!(report["topics"][0]["identity"]["volatile"], json!(["json:/sentAt"]), "{odd}");
        assert_eq!(surplus(&report), 40, "{odd}");
    }
}

#[test]
fn a_heartbeat_is_an_entity_that_says_the_same_again() {
    let home = tempfile::tempdir().unwrap();
    let beats: Vec<_> =
        (0..500).map(|n| (Some(format!("device-{}", n % 25)), json!({"status": "ok"}))).collect();
    write_topic(home.path(), "beats-0", &beats);
    let report = scan(home.path());
    assert_eq!(surplus(&report), 0);
    assert_eq!(
        why(&report),
        "of 500 sampled records 475 repeat an earlier record key, most of all: it names an entity, so the content \
         identifies an event"
    );
    let said = report["verdict"]["sentences"].to_string();
    assert!(said.contains("475 records repeat what was written before: a state, or a deletion"), "{said}");
    let text = run(&["scan", home.path().to_str().unwrap()]);
    let text = String::from_utf8_lossy(&text.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("475 records repeat what was written before: a heartbeat, a deletion or"),
        "{text}"
    );
}

#[test]
fn values_that_cannot_be_looked_into_are_said_to_be_so() {
    let home = tempfile::tempdir().unwrap();
    let lines: Vec<_> = (0..100).map(|n| (None, format!("{};{n:08};paid", sent(n)).into_bytes())).collect();
    write_bytes(home.path(), "lines-0", &lines);
    let report = scan(home.path());
    assert!(
        why(&report).ends_with("no field in them was looked at (--key regex:PATTERN names one)"),
        "{report:#}"
    );

    let home = tempfile::tempdir().unwrap();
    let framed: Vec<_> =
        (0..100).map(|n| (None, [&[0, 0, 0, 0, 42, 2], &sent(n).to_be_bytes()[..]].concat())).collect();
    write_bytes(home.path(), "framed-0", &framed);
    let report = scan(home.path());
    assert!(why(&report).contains("framed as by a schema registry"), "{report:#}");

    // What repeats word for word needs no field.
    let home = tempfile::tempdir().unwrap();
    let words: Vec<_> =
        (0..100).chain(0..10).map(|n| (None, format!("order {n} paid").into_bytes())).collect();
    write_bytes(home.path(), "words-0", &words);
    assert!(why(&scan(home.path())).ends_with("so the content identifies an event"));
}

#[test]
fn two_visits_of_a_customer_are_no_copies_whatever_else_is_known_of_the_customer() {
    for customers in [150, 300, 500] {
        let home = tempfile::tempdir().unwrap();
        let visits = (0..400_u64).map(|n| {
            let customer = (n * n + n * 31).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 13;
            let customer = (customer ^ customer >> 21) % customers;
            (None, json!({"customerId": customer, "zip": customer % 90, "at": sent(n)}))
        });
        write_topic(home.path(), "visits-0", &visits.collect::<Vec<_>>());
        let report = scan(home.path());
        assert_eq!(surplus(&report), 0, "{customers} customers");
        assert_eq!(report["topics"][0]["identity"]["volatile"], json!([]));
    }
}

fn mixed(n: u64) -> u64 {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// A payment of one of 500 accounts with a UUID of its own.
fn payment(n: u64, uuid: u64) -> (Option<String>, Value) {
    let (one, other) = (mixed(n), mixed(n + 1_000_000));
    let value = json!({
        "to": one / 500 % 100,
        "amount": 10 * (1 + one / 50_000 % 3),
        "id": format!("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", mixed(uuid) >> 32, uuid & 0xffff, other & 0xfff, one & 0xfff, other >> 16),
    });
    (Some(format!("account-{}", one % 500)), value)
}

#[test]
fn an_id_that_is_random_is_not_taken_for_a_nonce_where_equal_payments_come_by_chance() {
    let home = tempfile::tempdir().unwrap();
    write_topic(home.path(), "payments-0", &(0..2000).map(|n| payment(n, n)).collect::<Vec<_>>());
    let report = scan(home.path());
    assert_eq!(surplus(&report), 0, "{report:#}");
    assert_eq!(report["topics"][0]["identity"]["volatile"], json!([]));
    assert!(
        why(&report).ends_with(
            "; json:/id counts, as what is left without it comes again as by chance: it may tell events apart (--key \
             json:/id) or not (--ignore-field json:/id)"
        ),
        "{}",
        why(&report)
    );
}

#[test]
fn a_random_field_that_is_new_in_a_range_that_came_again_is_a_nonce() {
    let home = tempfile::tempdir().unwrap();
    let records = (0..2000).map(|n| payment(n, n)).chain((1900..2000).map(|n| payment(n, n + 100_000)));
    write_topic(home.path(), "payments-0", &records.collect::<Vec<_>>());
    let report = scan(home.path());
    assert_eq!(report["topics"][0]["identity"]["volatile"], json!(["json:/id"]), "{}", why(&report));
    // Some are between equal payments that are none.
    assert!(surplus(&report) >= 80, "{report:#}");
}

/// Writes what several producers sent, each record in a batch of its own.
fn write_by(home: &Path, topic: &str, records: impl IntoIterator<Item = (i64, String, Value)>) {
    let mut sequences = std::collections::BTreeMap::new();
    let mut segment = SegmentBuilder::new();
    for (at, (producer, key, value)) in (0..).zip(records) {
        let sequence: &mut i32 = sequences.entry(producer).or_default();
        let one = batch().producer(producer, 0, *sequence).time(START + at * 1000);
        segment = segment.batch(one.record(key, value.to_string()));
        *sequence += 1;
    }
    std::fs::create_dir_all(home.join(topic)).unwrap();
    std::fs::write(home.join(topic).join("00000000000000000000.log"), segment.bytes()).unwrap();
}

/// A customer who buys one of three things, and nothing says which time it is.
fn coffee(n: u64) -> (String, Value) {
    let drawn = mixed(n);
    let product = match drawn / 300 % 3 {
        0 => "espresso",
        1 => "latte",
        _ => "mocha",
    };
    (format!("customer-{}", drawn % 300), json!({"product": product}))
}

fn findings<'a>(report: &'a Value, code: &str) -> Vec<&'a Value> {
    report["findings"].as_array().unwrap().iter().filter(|one| one["code"] == code).collect()
}

fn keeps_equal_events(finding: &Value) -> bool {
    let mut rivals = finding["alternatives"].as_array().unwrap().iter();
    rivals.any(|rival| rival["code"] == "equal events" && rival["kept"] == true)
}

#[test]
fn equal_purchases_that_two_producers_sent_are_possibly_copies_and_possibly_equal() {
    for seed in 0..3 {
        let home = tempfile::tempdir().unwrap();
        let one = |n: u64| {
            let (key, value) = coffee(n + seed * 10_000);
            (4000 + (mixed(n + 77) >> 20 & 1).cast_signed(), key, value)
        };
        write_by(home.path(), "sales-0", (0..1200).map(one));
        let report = scan(home.path());
        let found = findings(&report, "concurrent-producers");
        assert!(!found.is_empty(), "{report:#}");
        for finding in found {
            assert_eq!(finding["confidence"], "possible", "{finding:#}");
            assert!(keeps_equal_events(finding), "{finding:#}");
        }
    }
}

#[test]
fn equal_purchases_of_one_session_after_the_other_are_possibly_copies_and_possibly_equal() {
    for seed in 0..6 {
        let home = tempfile::tempdir().unwrap();
        let one = |n: u64| {
            let (key, value) = coffee(n + seed * 10_000);
            (4000 + (n / 600).cast_signed(), key, value)
        };
        write_by(home.path(), "sales-0", (0..1200).map(one));
        let report = scan(home.path());
        let found = findings(&report, "resend-new-session");
        assert!(!found.is_empty(), "{report:#}");
        for finding in found {
            assert_eq!(finding["confidence"], "possible", "{finding:#}");
            assert!(keeps_equal_events(finding), "{finding:#}");
        }
    }
}

#[test]
fn what_two_instances_both_sent_in_one_order_is_likely_copied_although_no_key_tells() {
    let home = tempfile::tempdir().unwrap();
    let mut next = [0, 0];
    let both = (0..400).map(|n| {
        let instance = usize::from(mixed(n) >> 20 & 1 == 1);
        next[instance] += 1;
        let order: u64 = next[instance];
        (
            4000 + i64::from(instance == 1),
            format!("customer-{}", mixed(order) % 60),
            json!({"amount": mixed(order) >> 30}),
        )
    });
    write_by(home.path(), "sales-0", both.collect::<Vec<_>>());
    let report = scan(home.path());
    assert_eq!(report["topics"][0]["identity"]["key"], "content", "{}", why(&report));
    let found = findings(&report, "concurrent-producers");
    let [both] = found[..] else { panic!("{report:#}") };
    assert_eq!(both["confidence"], "likely", "{both:#}");
    assert!(!keeps_equal_events(both));
}

#[test]
fn a_record_key_of_a_compacted_log_names_an_entity() {
    let home = tempfile::tempdir().unwrap();
    let customers: Vec<_> =
        (0..100).map(|n| (Some(format!("customer-{n}")), json!({"city": n * 7 % 31}))).collect();
    write_topic(home.path(), "customers-0", &customers);
    assert!(why(&scan(home.path())).ends_with("it names an event"));
    std::fs::write(home.path().join("cleaner-offset-checkpoint"), "0\n1\ncustomers 0 90\n").unwrap();
    let report = scan(home.path());
    assert_eq!(
        why(&report),
        "none of 100 sampled records repeats an earlier record key: it names an entity, of which the compacted log \
         keeps the newest record, and only an equal one is a copy"
    );
}

#[test]
fn one_record_shows_nothing_of_repeats() {
    let home = tempfile::tempdir().unwrap();
    write_topic(home.path(), "orders-0", &[(Some("order-1".to_owned()), json!({"city": 7}))]);
    let told = why(&scan(home.path())).to_owned();
    assert_eq!(
        told,
        "1 sampled record shows nothing of repeats: its record key is taken for the name of an event"
    );
}
