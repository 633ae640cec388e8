//! The adviser: which fields it suggests, which it must not, and plans.

use super::{START, json_of, run, write_topic};
use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::{Value, json};
use std::path::Path;

/// What `keys` suggests for the only topic.
fn suggested(home: &Path) -> Vec<String> {
    let answer = json_of(&["keys", home.to_str().unwrap(), "--format", "json"]);
    let topic = &answer["topics"][0];
    let names = topic["identity"]["suggestions"].as_array().unwrap();
    names.iter().map(|one| one["key"].as_str().unwrap().to_owned()).collect()
}

fn candidate(answer: &Value, key: &str) -> Value {
    let candidates = answer["topics"][0]["candidates"].as_array().unwrap();
    candidates.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("{key} in {answer}")).clone()
}

/// A number that looks random and is the same in every run.
fn mixed(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

fn nonce(n: u64) -> String {
    format!("{:016x}{:016x}", mixed(n), mixed(n + 1_000_000))
}

/// The `n`th write of payment `id`.
fn payment(id: u64, n: u64) -> Value {
    json!({
        "paymentId": format!("p-{id}"),
        "customerId": format!("c-{}", mixed(id) % 60),
        "amount": mixed(id * 7) % 900,
        "currency": "EUR",
        "sentAt": START + i64::try_from(n).unwrap() * 131,
        "traceId": nonce(n),
        "attempt": 1 + n / 300,
        "host": if n < 300 { "pod-a" } else { "pod-b" },
    })
}

/// 300 payments, and some of them again.
fn payments(again: impl Iterator<Item = u64>) -> Vec<(Option<String>, Value)> {
    (0..300).chain(again).zip(0..).map(|(id, n)| (None, payment(id, n))).collect()
}

#[test]
fn a_payment_id_is_found_although_the_copies_differ_in_other_fields() {
    for again in [vec![7, 99, 181, 222, 250], (200..300).collect(), (0..300).collect()] {
        let home = tempfile::tempdir().unwrap();
        write_topic(home.path(), "payments-0", &payments(again.iter().copied()));
        assert_eq!(suggested(home.path()), ["json:/paymentId"], "{} again", again.len());
    }
}

#[test]
fn scan_suggests_it_too_and_the_suggestion_works() {
    let home = tempfile::tempdir().unwrap();
    write_topic(home.path(), "payments-0", &payments(280..300));
    let path = home.path().to_str().unwrap();
    let report = json_of(&["scan", path, "--format", "json"]);
    assert_eq!(report["topics"][0]["identity"]["suggestions"][0]["key"], "json:/paymentId");
    let text = String::from_utf8(run(&["scan", path]).stdout).unwrap();
    assert!(text.contains("--key json:/paymentId"), "{text}");
    let report = json_of(&["scan", path, "--key", "json:/paymentId", "--format", "json"]);
    assert_eq!(report["visibility"]["readCommitted"]["repeatedKeyRecords"], 20);
}

#[test]
fn what_repeats_by_nature_is_not_suggested() {
    // One payment each; customers come again and again, with their name and their city.
    let orders = |customers: u64| {
        (0..400).map(move |n| {
            let customer = mixed(n * 31) % customers;
            let value = json!({
                "orderId": format!("o-{n}"),
                "customer": {"id": customer, "name": format!("name {customer}"), "city": customer % 40},
                "total": mixed(n) % 500,
                "status": if n % 2 == 0 { "NEW" } else { "PAID" },
                "at": START + i64::try_from(n).unwrap() * 1000,
                "requestId": nonce(n),
            });
            (None, value)
        })
    };
    for customers in [20, 150, 400, 4000] {
        let home = tempfile::tempdir().unwrap();
        write_topic(home.path(), "orders-0", &orders(customers).collect::<Vec<_>>());
        assert_eq!(suggested(home.path()), [""; 0], "{customers} customers");
    }
    // The same without anything that names the event: a customer is the most distinct field.
    for customers in [150, 400, 4000] {
        let home = tempfile::tempdir().unwrap();
        let bare = orders(customers).map(|(key, mut value)| {
            let object = value.as_object_mut().unwrap();
            object.remove("orderId");
            object.remove("requestId");
            (key, value)
        });
        write_topic(home.path(), "orders-0", &bare.collect::<Vec<_>>());
        assert_eq!(suggested(home.path()), [""; 0], "{customers} customers, no order id");
    }
}

#[test]
fn a_login_of_a_customer_is_no_copy() {
    let home = tempfile::tempdir().unwrap();
    let logins = (0..400).map(|n| {
        let value = json!({"customerId": mixed(n * 31) % 500, "at": START + i64::try_from(n).unwrap() * 1000, "session": nonce(n)});
        (None, value)
    });
    write_topic(home.path(), "logins-0", &logins.collect::<Vec<_>>());
    assert_eq!(suggested(home.path()), [""; 0]);
}

const PAGES: [&str; 3] = ["home", "cart", "help"];

/// 400 visits of customers: what is a customer's own, and what happened.
fn visits(customers: u64, what: fn(u64) -> Value) -> Vec<(Option<String>, Value)> {
    let visit = |n: u64| {
        let customer = mixed(n * 31) % customers;
        let mut value = json!({
            "customerId": customer,
            "zip": format!("z{}", customer % 90),
            "at": START + i64::try_from(n).unwrap() * 1000,
            "session": nonce(n),
        });
        value.as_object_mut().unwrap().extend(what(n).as_object().unwrap().clone());
        (None, value)
    };
    (0..400).map(visit).collect()
}

#[test]
fn a_customer_is_not_suggested_for_what_else_is_known_of_the_customer() {
    let page = |n| {
        let page = PAGES[usize::try_from(mixed(n) % 3).unwrap()];
        json!({ "page": page })
    };
    for customers in [200, 350, 500] {
        for what in [|_| json!({}), page] {
            let home = tempfile::tempdir().unwrap();
            write_topic(home.path(), "visits-0", &visits(customers, what));
            assert_eq!(suggested(home.path()), [""; 0], "{customers} customers");
        }
    }
}

#[test]
fn a_customer_who_does_one_thing_behind_the_other_is_not_suggested() {
    let home = tempfile::tempdir().unwrap();
    let clicks = (0..200).flat_map(|user: u64| {
        (0..=mixed(user) % 5 / 4).map(move |n| {
            let page = PAGES[usize::try_from(mixed(user * 9 + n) % 3).unwrap()];
            (None, json!({"user": format!("u{user}"), "zip": user % 50, "page": page}))
        })
    });
    write_topic(home.path(), "clicks-0", &clicks.collect::<Vec<_>>());
    assert_eq!(suggested(home.path()), [""; 0]);
}

#[test]
fn a_time_is_not_suggested_however_it_is_written() {
    let written: [fn(u64) -> String; 6] = [
        |n| format!("2026-11-{:02} {:02}:{:02}:07", n / 1440 + 1, n / 60 % 24, n % 60),
        |n| format!("{:02}.{:02}.2026", n % 28 + 1, n / 28 + 1),
        |n| format!("202611{:02}{:02}{:02}00", n / 1440 + 1, n / 60 % 24, n % 60),
        |n| format!("Sun, {:02} Nov 2026 {:02}:{:02}:59 GMT", n / 1440 + 1, n / 60 % 24, n % 60),
        |n| format!("11/{:02}/2026 {:02}:{:02} PM", n / 600 + 1, n / 60 % 10, n % 60),
        |n| format!("{:02}:{:02}:{:02}", n / 3600, n / 60 % 60, n % 60),
    ];
    for time in written {
        let home = tempfile::tempdir().unwrap();
        let records = (0..300).chain(270..300).map(|n| {
            (None, json!({"createdAt": time(n), "amount": mixed(n) % 5000, "customer": mixed(n * 3) % 300}))
        });
        write_topic(home.path(), "orders-0", &records.collect::<Vec<_>>());
        let found = suggested(home.path());
        assert!(!found.contains(&"json:/createdAt".to_owned()), "{}: {found:?}", time(0));
    }
}

/// Orders that pass through these states, those of the last ones again.
fn states(states: &'static [&'static str], again: usize) -> Vec<(Option<String>, Value)> {
    let orders = 200;
    let mut events: Vec<(u64, u64, &str)> = (0..orders)
        .flat_map(|order| {
            (0..).zip(states).map(move |(at, state)| (order * 3 + at * 45 + mixed(order) % 2, order, *state))
        })
        .collect();
    events.sort_unstable();
    let repeated = events.len() - again;
    let written: Vec<_> = events.iter().chain(&events[repeated..]).collect();
    let record = |(n, (_, order, state)): (usize, &&(u64, u64, &str))| {
        let value = json!({
            "orderId": format!("o-{order}"),
            "eventType": state,
            "customer": mixed(*order) % 70,
            "sentAt": START + i64::try_from(n).unwrap() * 131,
        });
        (None, value)
    };
    written.iter().enumerate().map(record).collect()
}

#[test]
fn an_order_that_passes_through_states_is_no_event_and_with_its_state_it_is() {
    for (of, again) in [(&["CREATED", "PAID"][..], 30), (&["CREATED", "PAID", "PACKED", "SHIPPED"], 60)] {
        let home = tempfile::tempdir().unwrap();
        write_topic(home.path(), "orders-0", &states(of, again));
        assert_eq!(suggested(home.path()), ["json:/orderId+json:/eventType"], "{of:?}");
        let path = home.path().to_str().unwrap();
        let answer = json_of(&["keys", path, "--format", "json"]);
        let found = candidate(&answer, "json:/orderId+json:/eventType");
        assert_eq!(found["distinct"], 200 * of.len());
        assert_eq!(found["coveredRecords"], 200 * of.len() + again);
        assert_eq!(found["examples"][0]["parts"][1]["text"], of[of.len() - 1]);
        let scan = ["scan", path, "--key", "json:/orderId+json:/eventType", "--format", "json"];
        assert_eq!(json_of(&scan)["visibility"]["readCommitted"]["repeatedKeyRecords"], again);

        let home = tempfile::tempdir().unwrap();
        write_topic(home.path(), "orders-0", &states(of, 0));
        assert_eq!(suggested(home.path()), [""; 0], "{of:?} without copies");
    }
}

#[test]
fn a_lamp_that_goes_on_and_off_is_no_event_with_its_state_either() {
    for rounds in [2, 4] {
        let home = tempfile::tempdir().unwrap();
        let lamps = (0..rounds * 2_u64).flat_map(|round| {
            let state = if round % 2 == 0 { "on" } else { "off" };
            (0..60_u64)
                .map(move |lamp| (Some(format!("lamp-{lamp}")), json!({"state": state, "room": lamp / 3})))
        });
        write_topic(home.path(), "lamps-0", &lamps.collect::<Vec<_>>());
        assert_eq!(suggested(home.path()), [""; 0], "{rounds} rounds");
    }
}

#[test]
fn of_two_names_for_one_thing_the_one_that_is_no_number_comes_first() {
    let home = tempfile::tempdir().unwrap();
    let payments = (0..300_u64).chain(280..300).map(|id| {
        (
            None,
            json!({"amount": id * 7919 % 9007, "paymentId": format!("p-{id}"), "customer": mixed(id) % 60}),
        )
    });
    write_topic(home.path(), "payments-0", &payments.collect::<Vec<_>>());
    assert_eq!(suggested(home.path())[0], "json:/paymentId");
}

#[test]
fn fields_are_found_in_objects_arrays_keys_and_headers() {
    let home = tempfile::tempdir().unwrap();
    let records = (0..100).chain(80..100).zip(0..).map(|(id, n): (u64, u64)| {
        let value = json!({
            "lines": [{"sku": "a", "ref": format!("r-{id}")}, {"sku": "b"}],
            "sum": mixed(id) % 70,
            "trace": nonce(n),
        });
        (Some(json!({"region": "eu", "shard": id % 3}).to_string()), value)
    });
    write_topic(home.path(), "orders-0", &records.collect::<Vec<_>>());
    assert_eq!(suggested(home.path()), ["json:/lines/0/ref"]);
    let answer = json_of(&["keys", home.path().to_str().unwrap(), "--format", "json"]);
    let found = candidate(&answer, "json:/lines/0/ref");
    assert_eq!(found["coveredRecords"], 120);
    assert_eq!(found["distinct"], 100);
    assert_eq!(found["repeatsSameContent"], 20);
    assert_eq!(found["repeatsOtherContent"], 0);
    assert_eq!(found["examples"], json!([{"text": "r-80"}, {"text": "r-81"}, {"text": "r-82"}]));
    assert_eq!(candidate(&answer, "key-json:/region")["score"], 0, "a constant names nothing");
    assert_eq!(answer["topics"][0]["volatile"][0]["field"], "json:/trace");
    assert!(answer["coverage"]["records"] == 120 && answer["schemaVersion"].is_string());
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let home = tempfile::tempdir().unwrap();
    for topic in ["payments-0", "payments-1", "orders-0"] {
        write_topic(home.path(), topic, &payments(290..300));
    }
    let arguments = ["keys", home.path().to_str().unwrap(), "--format", "json"];
    let answer = json_of(&[arguments.as_slice(), &["--threads", "4"]].concat());
    assert_eq!(answer, json_of(&[arguments.as_slice(), &["--threads", "1"]].concat()));
    assert_eq!(answer["topics"][1]["candidates"][0]["coveredRecords"], 620);
}

#[test]
fn a_plan_that_was_saved_makes_scan_choose_alike() {
    let home = tempfile::tempdir().unwrap();
    let (one, other) = (home.path().join("one"), home.path().join("other"));
    write_topic(&one, "payments-0", &payments(280..300));
    // Too few records to find anything volatile in them.
    let few: Vec<_> = [1, 2, 1].into_iter().zip([1, 2, 301]).map(|(id, n)| (None, payment(id, n))).collect();
    write_topic(&other, "payments-0", &few);
    let plan = home.path().join("plan.json");
    let plan = plan.to_str().unwrap();
    let key = ["--key", "json:/paymentId"];
    let saved = run(&[&["keys", one.to_str().unwrap(), "--save-plan", plan], key.as_slice()].concat());
    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
    let scanned = json_of(&["scan", other.to_str().unwrap(), "--plan", plan, "--format", "json"]);
    let identity = &scanned["topics"][0]["identity"];
    assert_eq!(identity["key"], "json:/paymentId");
    assert_eq!(identity["chosen"], "user");
    let volatile = identity["volatile"].as_array().unwrap();
    assert!(
        volatile.contains(&json!("json:/sentAt")) && volatile.contains(&json!("json:/traceId")),
        "{volatile:?}"
    );

    let text = std::fs::read_to_string(plan).unwrap().replace("\"planVersion\": 1", "\"planVersion\": 7");
    std::fs::write(plan, text).unwrap();
    let refused = run(&["scan", other.to_str().unwrap(), "--plan", plan]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("plan.json: plan version 7 is unknown: this program reads version 1"), "{said}");
}

#[test]
fn hostile_values_reach_no_terminal() {
    let home = tempfile::tempdir().unwrap();
    let records = (0..60)
        .chain(40..60)
        .map(|n: u64| (Some(format!("k\u{1b}[2J{n}")), json!({"a\u{1b}[1m": format!("\u{202e}{n}")})));
    write_topic(home.path(), "orders-0", &records.collect::<Vec<_>>());
    let output = run(&["keys", home.path().to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("record-key"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
}

/// 1,200 payments of one process, and of the next, from the thousandth on; `beside` makes what stands beside the id.
fn restarted(beside: fn(u64, u64) -> Value) -> Vec<(i64, Value)> {
    let one = |process: i64, id: u64, written: u64, at: u64| {
        let mut value = beside(written, at);
        value["paymentId"] = json!(nonce(id));
        value["amount"] = json!(1 + mixed(id) % 99);
        value["customer"] = json!(mixed(id + 5_000) % 90);
        (process, value)
    };
    let first = (0..1200).map(|n| one(10, n, n, n));
    let second = (1000..2000).map(|n| one(11, n, n - 1000, n + 200));
    first.chain(second).collect()
}

fn write_processes(home: &Path, topic: &str, records: &[(i64, Value)]) {
    let mut sequences = std::collections::BTreeMap::new();
    let log = records.iter().zip(0..).fold(SegmentBuilder::new(), |log, ((process, value), at)| {
        let sequence: &mut i32 = sequences.entry(process).or_default();
        let one = batch()
            .producer(*process, 0, *sequence)
            .time(START + at * 137)
            .record(None::<Vec<u8>>, value.to_string());
        *sequence += 1;
        log.batch(one)
    });
    std::fs::create_dir_all(home.join(topic)).unwrap();
    std::fs::write(home.join(topic).join("00000000000000000000.log"), log.bytes()).unwrap();
}

#[test]
fn an_id_is_found_beside_a_counter_that_begins_anew_with_each_process() {
    let home = tempfile::tempdir().unwrap();
    write_processes(home.path(), "payments-0", &restarted(|written, _| json!({"seq": written})));
    assert_eq!(suggested(home.path()), ["json:/paymentId"]);
    let report = json_of(&["scan", home.path().to_str().unwrap(), "--format", "json"]);
    assert_eq!(report["topics"][0]["identity"]["suggestions"][0]["key"], "json:/paymentId");

    // A number that goes on with the next process names something: the customer is no event beside it.
    let home = tempfile::tempdir().unwrap();
    write_processes(home.path(), "payments-0", &restarted(|_, at| json!({"orderNo": at})));
    let suggested = suggested(home.path());
    assert!(!suggested.contains(&"json:/customer".to_owned()), "{suggested:?}");
}

#[test]
fn an_id_is_found_beside_a_time_that_is_an_array() {
    let home = tempfile::tempdir().unwrap();
    let beside = |_, at: u64| {
        let seconds = at * 137 / 1000;
        json!({"sentAt": [2025, 11, 29, 14 + seconds / 3600, seconds / 60 % 60, seconds % 60, at * 137 % 1000 * 1_000_000]})
    };
    write_processes(home.path(), "payments-0", &restarted(beside));
    assert_eq!(suggested(home.path()), ["json:/paymentId"]);
    let report = json_of(&["scan", home.path().to_str().unwrap(), "--format", "json"]);
    assert_eq!(report["topics"][0]["identity"]["volatile"], json!(["json:/sentAt"]));
}

#[test]
fn keys_counts_what_lacks_the_key_that_was_asked_for_as_scan_does() {
    let home = tempfile::tempdir().unwrap();
    let values = ["{\"id\":1}", "{\"id\":null}", "{}", "{\"id\"", "{\"id\":\"\\ud800\"}", "{\"id\":1}"];
    let records: Vec<_> = values.iter().map(|value| (None, value.as_bytes().to_vec())).collect();
    super::write_bytes(home.path(), "odd-0", &records);
    let of = |command: &str| {
        let answer =
            json_of(&[command, home.path().to_str().unwrap(), "--key", "json:/id", "--format", "json"]);
        let coverage = &answer["coverage"];
        json!([
            coverage["recordsKeyed"],
            coverage["recordsWithoutKey"],
            coverage["recordsUndecoded"],
            coverage["undecoded"]
        ])
    };
    assert_eq!(of("keys"), of("scan"));
    let undecoded = json!([{"reason": "not-json", "records": 1}, {"reason": "lone-surrogate", "records": 1}]);
    assert_eq!(of("keys"), json!([2, 2, 2, undecoded]));
}
