//! `trace`: the story of one key, held against logs that were made for it.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its log up has failed")]

use dedup_audit::testkit::{FIRST_TIME, SegmentBuilder, batch};
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;

fn log(segment: SegmentBuilder) -> TempDir {
    logs([("orders-0", segment)])
}

fn logs<const N: usize>(segments: [(&str, SegmentBuilder); N]) -> TempDir {
    let root = TempDir::new().unwrap();
    for (name, segment) in segments {
        let directory = root.path().join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("00000000000000000000.log"), segment.bytes()).unwrap();
    }
    root
}

/// The table as one line, whatever its width.
fn words(root: &TempDir, arguments: &[&str]) -> String {
    let text = String::from_utf8(run(root, arguments).stdout).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn run(root: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
    command.arg("trace").args(arguments).args(["--key", "record-key"]).arg(root.path());
    command.output().unwrap()
}

fn json(root: &TempDir, arguments: &[&str]) -> (Value, i32) {
    let output = run(root, &[arguments, &["--format", "json"]].concat());
    let answer = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (answer, output.status.code().unwrap())
}

fn offsets(answer: &Value) -> Vec<i64> {
    answer["copies"].as_array().unwrap().iter().map(|copy| copy["offset"].as_i64().unwrap()).collect()
}

/// Kinds and offsets of the events.
fn events(answer: &Value) -> Vec<(&str, i64)> {
    let events = answer["events"].as_array().unwrap().iter();
    events.map(|event| (event["kind"].as_str().unwrap(), event["offset"].as_i64().unwrap())).collect()
}

/// Producer 7 writes orders 1 to 3; under the next leader producer 8 writes order 3 again.
fn sent_again() -> TempDir {
    log(SegmentBuilder::new()
        .batch(batch().producer(7, 0, 0).record("order-1", "a").record("order-2", "b").record("order-3", "c"))
        .batch(batch().producer(9, 0, 0).record("order-9", "z"))
        .leader_epoch(1)
        .batch(batch().producer(8, 0, 0).record("order-3", "c"))
        .batch(batch().producer(8, 0, 1).record("order-4", "d")))
}

#[test]
fn copies_stand_between_the_sessions_and_leaders_that_bear_on_them() {
    let (answer, status) = json(&sent_again(), &["order-3"]);
    assert_eq!((offsets(&answer), status), (vec![2, 4], 1));
    assert_eq!(answer["copies"][1]["repeats"]["offset"], 2);
    assert_eq!(answer["copies"][1]["session"], "8#1");
    let told = events(&answer);
    for event in [
        ("session-begin", 0),
        ("session-end", 2),
        ("leader-epoch", 4),
        ("session-begin", 4),
        ("duplicates", 4),
    ] {
        assert!(told.contains(&event), "{event:?} in {told:?}");
    }
    assert!(!told.contains(&("session-begin", 3)), "producer 9 bears on nothing: {told:?}");
    assert_eq!(answer["details"][0]["code"], "resend-new-session");
    assert_eq!(answer["findings"].as_array().unwrap().len(), 0);
    assert_eq!(answer["visibility"]["readCommitted"]["repeatedKeyRecords"], 1);
    assert_eq!(answer["differences"].as_array().unwrap().len(), 0);
    assert_eq!(answer["coverage"]["records"], 6);
    assert_eq!(answer["schemaVersion"], "1.0");
}

#[test]
fn the_timeline_names_every_copy_and_what_lies_between() {
    let text = String::from_utf8(run(&sent_again(), &["order-3"]).stdout).unwrap();
    for part in [
        "order-3: stored 2 times",
        "COPY 1  offset 2",
        "COPY 2  offset 4",
        "leader epoch 1",
        "PID 8 epoch 0 seq 0",
    ] {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
    assert!(text.find("COPY 1").unwrap() < text.find("leader epoch 1, after 0").unwrap(), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn fields_that_differ_are_named_and_values_are_told_only_when_they_are_asked_for() {
    let value = |state: &str| format!("{{\"id\":5,\"state\":\"{state}\"}}");
    let root = log(SegmentBuilder::new()
        .batch(batch().producer(7, 0, 0).record("order-5", value("open")).header("trace", "x"))
        .batch(batch().producer(7, 0, 1).record("order-5", value("paid"))));
    let (answer, status) = json(&root, &["order-5"]);
    assert_eq!(status, 0, "an update repeats nothing");
    let pointers: Vec<_> = answer["differences"].as_array().unwrap().iter().map(|d| &d["pointer"]).collect();
    assert_eq!(pointers, ["header:trace", "json:/state"]);
    assert!(!answer.to_string().contains("paid"));
    let (answer, _) = json(&root, &["order-5", "--show-values"]);
    assert_eq!(answer["differences"][1]["values"], serde_json::json!(["\"open\"", "\"paid\""]));
    assert_eq!(answer["copies"][0]["value"]["text"], value("open"));
    let text = String::from_utf8(run(&root, &["order-5"]).stdout).unwrap();
    assert!(text.contains("json:/state") && !text.contains("paid"), "{text}");
}

#[test]
fn records_that_share_a_key_and_differ_are_updates_and_no_copies() {
    let value = |state: &str| format!("{{\"id\":5,\"state\":\"{state}\"}}");
    let states = ["created", "paid", "shipped"];
    let record = |log: SegmentBuilder, (at, state): (i32, &str)| {
        log.batch(batch().producer(7, 0, at).record("order-5", value(state)))
    };
    let root = log((0..).zip(states).fold(SegmentBuilder::new(), record));
    let text = words(&root, &["order-5"]);
    assert!(
        text.starts_with(
            "order-5: 3 records with this key in orders, 3 different contents (json:/state differs): \
             updates, no surplus copy; consumers of both isolation levels get 3."
        ),
        "{text}"
    );
    assert!(text.contains("RECORD 3 offset 2") && !text.contains("COPY"), "{text}");
    assert!(text.contains("The records differ in: json:/state 3 values"), "{text}");
    let (single, exit) = json(&root, &["order-5"]);
    assert_eq!(exit, 0);
    let content = |number: i32| serde_json::json!({"topic": "orders", "copies": [number]});
    assert_eq!(single["contents"], serde_json::json!([content(1), content(2), content(3)]));
    // One of them came again: then it is a copy, and the others are not.
    let paid = batch().producer(8, 0, 0).record("order-5", value("paid"));
    let root = log((0..).zip(states).fold(SegmentBuilder::new(), record).batch(paid));
    let text = words(&root, &["order-5"]);
    assert!(text.starts_with("order-5: stored 4 times in orders with 3 different contents;"), "{text}");
    for part in ["RECORD 1 offset 0", "COPY 2 offset 1", "RECORD 3 offset 2", "COPY 4 offset 3"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Orders, and twice their mirror: the second time as a pipeline that began again from an old position.
#[test]
fn the_source_of_a_mirror_is_no_further_copy() {
    let root = logs([
        (
            "east.orders-0",
            SegmentBuilder::new()
                .batch(batch().time(FIRST_TIME).record("order-1", "a").record("order-2", "b"))
                .batch(batch().time(FIRST_TIME).record("order-1", "a")),
        ),
        (
            "orders-0",
            SegmentBuilder::new().batch(
                batch().producer(7, 0, 0).time(FIRST_TIME).record("order-1", "a").record("order-2", "b"),
            ),
        ),
    ]);
    let text = words(&root, &["order-1"]);
    assert!(
        text.starts_with(
            "order-1: stored once in orders (the source of east.orders) and stored 2 times in east.orders; \
             consumers of both isolation levels get 1 of orders and 2 of east.orders."
        ),
        "{text}"
    );
    for part in
        ["SOURCE 1 orders-0@0", "COPY 2 east.orders-0@0", "COPY 3 east.orders-0@2", "are equal in key"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("other content"), "{text}");
    let (answer, _) = json(&root, &["order-1"]);
    let identities = answer["identities"].as_array().unwrap();
    let told: Vec<_> = identities
        .iter()
        .map(|one| (&one["topic"], &one["sourceTopic"], &one["visibility"]["readCommitted"]["records"]))
        .collect();
    let (orders, mirror) = (serde_json::json!("orders"), serde_json::json!("east.orders"));
    assert_eq!(
        told,
        [(&orders, &Value::Null, &serde_json::json!(1)), (&mirror, &orders, &serde_json::json!(2))]
    );
    let hidden = json(&root, &["order-1", "--redact", "all"]).0;
    assert_eq!(hidden["identities"][1]["sourceTopic"], hidden["identities"][0]["topic"]);
    assert!(!hidden.to_string().contains("orders"), "{hidden}");
}

/// The same times show no direction where both topics have producer ids and no name tells.
#[test]
fn two_topics_of_one_application_have_no_source() {
    let record = |producer| batch().producer(producer, 0, 0).time(FIRST_TIME).record("order-1", "a");
    let root = logs([
        ("billing-0", SegmentBuilder::new().batch(record(7))),
        ("shipping-0", SegmentBuilder::new().batch(record(8))),
    ]);
    let text = words(&root, &["order-1"]);
    assert!(
        text.starts_with("order-1: stored once in billing and stored once in shipping; consumers of both"),
        "{text}"
    );
    assert!(text.contains("RECORD 1 of shipping shipping-0@0") && !text.contains("SOURCE"), "{text}");
}

#[test]
fn a_copy_in_an_aborted_transaction_is_told_with_its_end_and_who_sees_it() {
    let root = log(SegmentBuilder::new()
        .batch(batch().producer(7, 0, 0).transactional().record("order-1", "a"))
        .abort(7, 0)
        .batch(batch().producer(7, 0, 1).transactional().record("order-1", "a"))
        .commit(7, 0));
    let (answer, _) = json(&root, &["order-1"]);
    assert_eq!(offsets(&answer), [0, 2]);
    let told = events(&answer);
    assert!(
        told.contains(&("transaction-abort", 1)) && told.contains(&("transaction-commit", 3)),
        "{told:?}"
    );
    let title = answer["details"][0]["title"].as_str().unwrap();
    assert!(title.ends_with("was written again and is valid there"), "{title}");
    assert_eq!(answer["visibility"]["readUncommitted"]["records"], 2);
    assert_eq!(answer["visibility"]["readCommitted"]["records"], 1);
}

/// A transaction in between takes no protection away.
#[test]
fn idempotence_that_goes_on_behind_a_transaction_does_not_begin_there() {
    let root = log(SegmentBuilder::new()
        .batch(batch().producer(7, 0, 0).record("order-1", "a"))
        .batch(batch().producer(8, 0, 0).transactional().record("order-2", "b"))
        .commit(8, 0)
        .batch(batch().producer(7, 0, 1).record("order-1", "a")));
    let (answer, _) = json(&root, &["order-1"]);
    let events = answer["events"].as_array().unwrap().iter();
    let protection = events.filter(|event| event["kind"] == "protection");
    let told: Vec<_> = protection.map(|event| event["detail"].as_str().unwrap()).collect();
    assert_eq!(
        told,
        [
            "records of idempotent producers from here on",
            "records in transactions from here on",
            "records of idempotent producers again, without transaction",
        ]
    );
}

#[test]
fn a_stretch_without_producer_id_is_a_finding_that_scan_tells_under_the_same_id() {
    let root = log(SegmentBuilder::new()
        .batch(batch().time(FIRST_TIME).record("order-1", "a"))
        .batch(batch().time(FIRST_TIME).record("order-1", "a")));
    let (answer, _) = json(&root, &["order-1"]);
    let scan = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--format", "json", "--key", "record-key"])
        .arg(root.path())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&scan.stdout).unwrap();
    let again = answer["details"][0]["title"].as_str().unwrap();
    assert!(again.contains("1 record of orders is stored again in the same batch"), "{again}");
    let off =
        report["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "idempotence-off");
    assert_eq!(answer["findings"], serde_json::json!([off.unwrap()["id"]]));
}

#[test]
fn a_key_that_is_not_there_says_what_the_key_is() {
    let root = sent_again();
    let output = run(&root, &["order-77"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("No record has the business key order-77") && text.contains("looked for as record-key"),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(3), "a mistyped key is no all-clear");
    // Nearly so in case, or in one character.
    let (answer, _) = json(&root, &["ORDER-9"]);
    assert_eq!(answer["nearKeys"][0]["text"], "order-9");
    let text = words(&root, &["order-"]);
    assert!(text.contains("sampled keys that are nearly so: order-1, order-2, order-3"), "{text}");
    let (answer, _) = json(&root, &["nothing-like-it"]);
    assert_eq!(answer["nearKeys"], serde_json::json!([]));
    let (hidden, _) = json(&root, &["ORDER-9", "--redact", "keys"]);
    assert!(hidden["nearKeys"][0]["keyedHash"].is_string(), "{hidden}");
}

#[test]
fn a_key_in_the_lost_tail_of_an_old_leader_is_not_called_unknown_without_a_word() {
    let traced = |scenario: &str, key: &str| {
        let set =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario);
        let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
        command.args(["trace", key, "--key", "record-key", "--topic", "orders"]);
        let output =
            command.args(["data-1", "data-2", "data-3"].map(|data| set.join(data))).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let said = traced("three-brokers-diverged", "order-1052");
    assert!(said.starts_with("No record has the business key order-1052."), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("4 replicas that do not lead were not searched: compare shows"), "{said}");
    // A key that the leader has says nothing of those that hold what it holds.
    assert!(!traced("three-brokers-rejoined", "order-1001").contains("not searched"));
}

#[test]
fn a_mistyped_value_of_another_field_is_held_against_that_field() {
    let event = |id: &str| format!("{{\"id\":\"{id}\"}}");
    let root = log(SegmentBuilder::new().batch(
        batch()
            .producer(7, 0, 0)
            .record("customer-1", event("invoice-0041"))
            .record("customer-1", event("invoice-0042")),
    ));
    let ask = |key: &str, spec: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
        let output = command.args(["trace", key, "--key", spec]).arg(root.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = ask("invoice-0043", "json:/id");
    assert!(text.contains("sampled keys that are nearly so: invoice-0041, invoice-0042"), "{text}");
    let text = ask("customer-1 + invoice-0043", "record-key+json:/id");
    assert!(text.contains("customer-1 + invoice-0041"), "{text}");
    // By its record key the record has no such key.
    let text = ask("invoice-0043", "record-key");
    assert!(!text.contains("invoice-0041"), "{text}");
}

#[test]
fn the_story_is_a_ticket_as_well() {
    let root = sent_again();
    let ticket = String::from_utf8(run(&root, &["order-3", "--format", "md"]).stdout).unwrap();
    assert!(
        ticket.starts_with(
            "## `order-3`: stored 2 times in orders; consumers of both isolation levels get 2\n"
        ),
        "{ticket}"
    );
    for row in [
        "| **COPY 1** | `orders-0@2` | PID 7 epoch 0 seq 2",
        "| **COPY 2** | `orders-0@4` | PID 8 epoch 0 seq 0",
        "The copies are equal in key, value and headers, byte for byte.",
        "`resend-new-session` (",
        "- Not excluded: ",
        "- Would settle it: ",
        "- Next: ",
        "**Coverage:** 1 partition, 1 segment",
    ] {
        assert!(ticket.contains(row), "no {row} in {ticket}");
    }
    assert!(ticket.lines().count() < 60, "{ticket}");
    let none = String::from_utf8(run(&root, &["ORDER-9", "--format", "md"]).stdout).unwrap();
    assert!(none.starts_with("## No record has the business key `ORDER-9`\n"), "{none}");
    assert!(none.contains("- sampled keys that are nearly so: `order-9`"), "{none}");
    // As many copies as somebody asks for make the ticket no longer.
    let many = (0..300).fold(SegmentBuilder::new(), |segment, n| {
        segment.batch(batch().producer(7, 0, n).record("order-1", "a"))
    });
    let long =
        String::from_utf8(run(&log(many), &["order-1", "--format", "md", "--max-copies", "300"]).stdout)
            .unwrap();
    assert!(long.lines().count() < 60 && long.contains("more copies"), "{long}");
}

#[test]
fn a_topic_of_the_same_name_that_lacks_the_key_is_not_told_to_have_it() {
    let home = tempfile::tempdir().unwrap();
    for (cluster, key) in [("east", "order-1"), ("west", "order-2")] {
        let at = home.path().join(cluster).join("orders-0");
        std::fs::create_dir_all(&at).unwrap();
        let properties = format!("version=1\ncluster.id={cluster}\nnode.id=1\n");
        std::fs::write(home.path().join(cluster).join("meta.properties"), properties).unwrap();
        let log = dedup_audit::testkit::SegmentBuilder::new()
            .batch(dedup_audit::testkit::batch().producer(1, 0, 0).record(key, "paid"));
        std::fs::write(at.join("00000000000000000000.log"), log.bytes()).unwrap();
    }
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["trace", "order-1"])
        .args([home.path().join("east"), home.path().join("west")])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("order-1: stored once in orders; consumers of both isolation levels get 1."),
        "{text}"
    );
}

#[test]
fn a_judgement_by_one_key_says_that_scan_sees_more() {
    // The first writer lives on: order 3 alone does not tell a restart from a second instance.
    let root = log(SegmentBuilder::new()
        .batch(batch().producer(7, 0, 0).record("order-1", "a").record("order-2", "b").record("order-3", "c"))
        .batch(batch().producer(8, 0, 0).record("order-3", "c"))
        .batch(batch().producer(7, 0, 3).record("order-4", "d")));
    let (answer, _) = json(&root, &["order-3"]);
    assert_eq!(answer["details"][0]["confidence"], "possible", "{answer:#}");
    let page = words(&root, &["order-3"]);
    assert!(page.contains("scan judges by all its copies"), "{page}");
}
