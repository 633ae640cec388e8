//! Options that say when two records are the same: keys of every kind, `--strict-key`, `--across`,
//! `--verify`; what cannot be decoded; the high watermark.

use super::{json_of, run, write_bytes, write_topic};
use serde_json::{Value, json};
use std::path::Path;

fn scan(home: &Path, arguments: &[&str]) -> Value {
    json_of(&[&["scan", home.to_str().unwrap(), "--format", "json"], arguments].concat())
}

/// Surplus copies of all findings about duplicates.
fn surplus(report: &Value) -> u64 {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .filter(|one| one["level"].is_string())
        .map(|one| one["counts"]["surplusRecords"].as_u64().unwrap())
        .sum()
}

#[test]
fn a_pattern_in_a_line_of_text_is_a_key() {
    let home = tempfile::tempdir().unwrap();
    let lines = (0..40).chain(30..40).map(|n| (None, format!("ts=17 order=o-{n}; \u{e9}").into_bytes()));
    write_bytes(
        home.path(),
        "lines-0",
        &lines.chain([(None, b"\xff no order".to_vec())]).collect::<Vec<_>>(),
    );
    let report = scan(home.path(), &["--key", r"regex:order=([^;]+);"]);
    assert_eq!(report["coverage"]["recordsKeyed"], 50);
    assert_eq!(report["coverage"]["recordsWithoutKey"], 1);
    assert_eq!(surplus(&report), 10);
    let shown = &report["findings"].as_array().unwrap().iter().find(|one| one["level"].is_string()).unwrap()
        ["groups"];
    assert_eq!(shown[0]["businessKey"], json!({"text": "o-30"}));
    let refused = run(&["scan", home.path().to_str().unwrap(), "--key", "regex:order"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the pattern has no group"));
}

#[test]
fn every_repeat_of_the_key_is_a_duplicate_when_that_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let state = |n: u64, state: &str| (Some(format!("o-{n}")), json!({"id": n, "state": state}));
    let records: Vec<_> = (0..30)
        .map(|n| state(n, "new"))
        .chain((0..12).map(|n| state(n, "paid")))
        .chain((0..3).map(|n| state(n, "new")))
        .collect();
    write_topic(home.path(), "orders-0", &records);
    let report = scan(home.path(), &["--key", "record-key"]);
    assert_eq!(surplus(&report), 0, "updates, and states that came back within one session");
    assert_eq!(report["topics"][0]["updates"]["keys"], 12);
    let report = scan(home.path(), &["--key", "record-key", "--strict-key", "--verify"]);
    assert_eq!(surplus(&report), 15);
    assert_eq!(report["topics"][0]["updates"], json!({"keys": 0, "records": 0}));
    assert_eq!(report["invocation"]["options"]["strictKey"], true);
    assert_eq!(report["verdict"]["complete"], true, "the keys of all copies are equal byte for byte");
    let levels: Vec<&Value> = report["findings"][0]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| &group["copies"][1]["level"])
        .collect();
    assert!(levels.iter().all(|level| **level == "E5"), "{levels:?}");
    // The same key comes back more often than any mistake, and is asked for.
    let often: Vec<_> = (0..30).map(|_| state(1, "new")).collect();
    write_topic(home.path(), "orders-1", &often);
    assert_eq!(surplus(&scan(home.path(), &["--key", "record-key", "--strict-key"])), 15 + 30);
}

#[test]
fn topics_are_joined_when_that_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let event = |n: u64| (Some(format!("e-{n}")), json!({"n": n}));
    write_topic(home.path(), "blue-0", &(0..20).map(event).collect::<Vec<_>>());
    write_topic(home.path(), "green-0", &(15..40).map(event).collect::<Vec<_>>());
    assert_eq!(surplus(&scan(home.path(), &["--key", "record-key"])), 0);
    let report = scan(home.path(), &["--key", "record-key", "--across"]);
    assert_eq!(surplus(&report), 5);
    let finding = report["findings"].as_array().unwrap().iter().find(|one| one["level"].is_string()).unwrap();
    let copies = finding["groups"][0]["copies"].as_array().unwrap();
    assert_ne!(copies[0]["topic"], copies[1]["topic"]);
    assert_eq!(copies[1]["repeats"]["topic"], copies[0]["topic"]);
    assert_eq!(
        report["topics"][0]["visibility"]["readCommitted"]["repeatedKeyRecords"], 0,
        "a topic's readers see each once"
    );
    assert_eq!(surplus(&scan(home.path(), &["--key", "auto", "--across"])), 5);
    // A field of the one topic against the record key of the other.
    let plan = home.path().join("plan.json");
    let other = |n: u64| (None, json!({"ref": format!("e-{n}"), "n": n}));
    write_topic(home.path(), "red-0", &(38..60).map(other).collect::<Vec<_>>());
    let topics = json!([{"topic": "red", "key": "json:/ref"}, {"topic": "green", "key": "record-key"}, {"topic": "blue", "key": "record-key"}]);
    std::fs::write(&plan, json!({"planVersion": 1, "topics": topics}).to_string()).unwrap();
    let plan = plan.to_str().unwrap();
    assert_eq!(surplus(&scan(home.path(), &["--plan", plan, "--across"])), 5, "other content is an update");
    assert_eq!(surplus(&scan(home.path(), &["--plan", plan, "--across", "--strict-key"])), 7);
}

#[test]
fn what_cannot_be_decoded_is_counted_with_its_reason() {
    let home = tempfile::tempdir().unwrap();
    let deep = format!("{{\"a\":{}{},\"id\":7}}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{{\"pad\":\"{}\",\"id\":8}}", "x".repeat(10_000_000));
    let values: Vec<Vec<u8>> = [
        &b"{\"id\":1}"[..],
        b"{\"id\":1.0}",
        b"{\"id\":9223372036854775808}",
        b"{\"id\":9223372036854775809}",
        b"{\"id\":1e400}",
        b"{\"id\":1,\"id\":2}",
        b"{\"id\":\"\\u0041\"}",
        b"{\"id\":\"A\"}",
        b"{\"id\":null}",
        b"{}",
        b"no json",
        b"{\"id\":1",
        b"{\"id\":\"\xff\"}",
        b"{\"id\":\"\\ud800\"}",
        deep.as_bytes(),
        long.as_bytes(),
    ]
    .into_iter()
    .map(<[u8]>::to_vec)
    .collect();
    let records: Vec<_> = values.into_iter().map(|value| (None, value)).collect();
    write_bytes(home.path(), "orders-0", &records);
    let report = scan(home.path(), &["--key", "json:/id"]);
    let coverage = &report["coverage"];
    assert_eq!(coverage["recordsKeyed"], 10);
    assert_eq!(coverage["recordsWithoutKey"], 2);
    assert_eq!(coverage["recordsUndecoded"], 4);
    let reasons = json!([
        {"reason": "not-json", "records": 2},
        {"reason": "not-utf8", "records": 1},
        {"reason": "lone-surrogate", "records": 1},
    ]);
    assert_eq!(coverage["undecoded"], reasons);
    assert_eq!(
        report["visibility"]["readCommitted"]["distinctKeys"], 9,
        "\"\\u0041\" is \"A\", 1.0 is not 1"
    );
    assert_eq!(report["verdict"]["complete"], false);
    let text =
        String::from_utf8(run(&["scan", home.path().to_str().unwrap(), "--key", "json:/id"]).stdout).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("4 records that could not be decoded (not-json 2, not-utf8 1, lone-surrogate 1)"),
        "{text}"
    );
}

#[test]
fn a_key_that_nobody_would_read_is_told_by_its_digest() {
    let home = tempfile::tempdir().unwrap();
    let long = |end: char| (Some(format!("{}{end}", "k".repeat(20_000))), json!({"n": 1}));
    write_topic(home.path(), "orders-0", &[long('a'), long('b'), long('a')]);
    let report = scan(home.path(), &["--key", "record-key"]);
    assert_eq!(surplus(&report), 1);
    let finding = report["findings"].as_array().unwrap().iter().find(|one| one["level"].is_string()).unwrap();
    assert_eq!(finding["groups"][0]["businessKey"]["digest"].as_str().unwrap().len(), 32);
}

#[test]
fn what_lies_above_the_high_watermark_is_provisional() {
    let home = tempfile::tempdir().unwrap();
    let event = |n: u64| (Some(format!("e-{n}")), json!({"n": n}));
    write_topic(home.path(), "orders-0", &(0..21).map(event).collect::<Vec<_>>());
    write_topic(home.path(), "orders-1", &(21..35).map(event).collect::<Vec<_>>());
    std::fs::write(home.path().join("meta.properties"), "version=1\nnode.id=1\ncluster.id=c\n").unwrap();
    let report = scan(home.path(), &[]);
    assert_eq!(report["visibility"]["provisionalRecords"], Value::Null, "without checkpoint");
    let checkpoint = home.path().join("replication-offset-checkpoint");
    std::fs::write(&checkpoint, "0\n2\norders 0 14\norders 1 14\n").unwrap();
    let report = scan(home.path(), &[]);
    assert_eq!(report["topics"][0]["visibility"]["provisionalRecords"], 7);
    assert_eq!(report["topics"][0]["visibility"]["readUncommitted"]["records"], 35);
    let text = String::from_utf8(run(&["scan", home.path().to_str().unwrap()]).stdout).unwrap();
    assert!(text.contains("provisional: 7 records of these lie above"), "{text}");
    std::fs::write(&checkpoint, "0\n2\norders 0 21\norders 1 14\n").unwrap();
    assert_eq!(scan(home.path(), &[])["visibility"]["provisionalRecords"], 0);
}

#[cfg(not(feature = "schemas"))]
#[test]
fn a_build_that_reads_no_avro_says_how_to_get_one_that_does() {
    let home = tempfile::tempdir().unwrap();
    write_topic(home.path(), "orders-0", &[(None, json!({"id": 1}))]);
    for extra in [&[][..], &["--schema", "schemas"]] {
        let refused = run(&[&["scan", home.path().to_str().unwrap(), "--key", "avro:/id"], extra].concat());
        assert_eq!(refused.status.code(), Some(2));
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(
            said.contains("key avro:/id") && said.contains("cargo install dedup-audit --features schemas"),
            "{said}"
        );
    }
}

#[cfg(feature = "schemas")]
#[test]
fn fields_of_avro_values_are_keys() {
    let home = tempfile::tempdir().unwrap();
    let schema = r#"{"type":"record","name":"Order","fields":[{"name":"id","type":"int"},{"name":"try","type":"int"}]}"#;
    std::fs::create_dir(home.path().join("schemas")).unwrap();
    std::fs::write(home.path().join("schemas/300.avsc"), schema).unwrap();
    let order = |id: u8, attempt: u8| (None, vec![0, 0, 0, 1, 44, 2 * id, 2 * attempt]);
    let mut records: Vec<_> = (1..20).map(|id| order(id, 0)).chain((10..15).map(|id| order(id, 1))).collect();
    records.extend([
        (None, vec![0, 0, 0, 1, 45, 2, 2]),
        (None, vec![0, 0, 0, 1, 44, 2]),
        (None, b"{}".to_vec()),
    ]);
    let log = home.path().join("data");
    write_bytes(&log, "orders-0", &records);
    let schemas = home.path().join("schemas");
    let report = scan(&log, &["--key", "avro:/id", "--strict-key", "--schema", schemas.to_str().unwrap()]);
    assert_eq!(report["coverage"]["recordsKeyed"], 24);
    let reasons = json!([{"reason": "no-schema", "records": 2}, {"reason": "not-of-schema", "records": 1}]);
    assert_eq!(report["coverage"]["undecoded"], reasons);
    assert_eq!(surplus(&report), 5);
    let refused = run(&["scan", log.to_str().unwrap(), "--key", "avro:/id"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("name their directory with --schema"));
    // Without any schema for its values no record could have the key.
    let other = ["--key", "protobuf:/id", "--schema", schemas.to_str().unwrap()];
    let refused = run(&[&["scan", log.to_str().unwrap()][..], &other].concat());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("holds no .desc or .binpb file"), "{said}");
}
