//! Records in the wrong place: blocks that went behind later ones, keys in other partitions.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its data has failed")]

use dedup_audit::testkit::{BatchSpec, FIRST_TIME, SegmentBuilder, batch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn scan(path: &Path, more: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("scan")
        .arg(path)
        .args(["--format", "json"])
        .args(more)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["findings"].as_array().unwrap().clone()
}

fn with_code<'f>(findings: &'f [Value], code: &str) -> Vec<&'f Value> {
    findings.iter().filter(|finding| finding["code"] == code).collect()
}

fn write(dir: &Path, partition: &str, segment: SegmentBuilder) {
    let dir = dir.join(partition);
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("00000000000000000000.log"), segment.bytes()).unwrap();
}

/// Ten rows of one second, each with its version.
fn block(number: i64) -> BatchSpec {
    (0..10).fold(batch().time(FIRST_TIME + number * 1_000), |batch, row| {
        batch.record(format!("row-{number}-{row}"), format!("{{\"version\":{number}}}"))
    })
}

#[test]
fn a_block_behind_a_later_one_is_broken_order_and_a_copy_is_a_duplicate() {
    let mut numbers: Vec<i64> = (0..200).collect();
    numbers.swap(60, 61);
    numbers.insert(122, 120);
    let segment = numbers.iter().fold(SegmentBuilder::new(), |segment, &number| segment.batch(block(number)));
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "rows-0", segment);

    let findings = scan(dir.path(), &[]);
    let order = with_code(&findings, "order-broken");
    assert_eq!(order.len(), 1, "{findings:#?}");
    let stretch = &order[0]["stretches"][0];
    assert_eq!((&stretch["firstOffset"], &stretch["lastOffset"]), (&610.into(), &619.into()));
    assert_eq!(order[0]["stretches"].as_array().unwrap().len(), 1);
    let copies = with_code(&findings, "retry-without-idempotence");
    assert_eq!(copies[0]["counts"]["surplusRecords"], 10);
}

#[test]
fn keys_of_librdkafka_in_one_directory_need_the_partition_count() {
    // Keys whose CRC-32 is 1 modulo 3, and one that is not.
    let mut fit = (0..).map(|n| format!("order-{n}")).filter(|key| crc32fast::hash(key.as_bytes()) % 3 == 1);
    let mut segment = SegmentBuilder::new();
    for sequence in 0..60 {
        segment = segment.batch(batch().producer(7, 0, sequence).record(fit.next().unwrap(), "paid"));
    }
    let stray = (0..100).map(|n| format!("late-{n}")).find(|key| crc32fast::hash(key.as_bytes()) % 3 == 2);
    segment = segment.batch(batch().producer(7, 0, 60).record(stray.unwrap(), "paid"));
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "orders-1", segment);

    assert!(with_code(&scan(dir.path(), &[]), "misrouted-key").is_empty());
    let findings = scan(dir.path(), &["--partition-count", "orders=3"]);
    let told = with_code(&findings, "misrouted-key");
    assert_eq!(told[0]["partitioner"], "crc32 over 3 partitions");
    let record = serde_json::json!(
        [{"topic": "orders", "partition": 1, "offset": 60, "expectedPartition": 2}]
    );
    assert_eq!(told[0]["records"], record);
}

#[test]
fn a_producer_for_each_message_is_churn() {
    let segment = (0..600).fold(SegmentBuilder::new(), |segment, id| {
        segment.batch(batch().producer(id, 0, 0).record(format!("order-{id}"), "paid"))
    });
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "orders-0", segment);
    let findings = scan(dir.path(), &[]);
    assert_eq!(with_code(&findings, "producer-churn").len(), 1, "{findings:#?}");
}

#[test]
fn damage_behind_a_changed_base_offset_costs_nothing_behind_it_in_a_large_segment() {
    // Batches larger than the pieces in which a segment is read.
    let value = "x".repeat(1_100_000);
    let segment = (0..6).fold(SegmentBuilder::new(), |segment, number| {
        segment.batch(batch().producer(7, 0, number).record(format!("order-{number}"), &*value))
    });
    let places = segment.places().to_vec();
    let mut bytes = segment.bytes();
    bytes[places[2].position + 4] ^= 1;
    bytes[places[3].position..][..70].fill(0xff);
    let dir = tempfile::tempdir().unwrap();
    let partition = dir.path().join("orders-0");
    std::fs::create_dir(&partition).unwrap();
    std::fs::write(partition.join("00000000000000000000.log"), bytes).unwrap();

    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("scan")
        .arg(dir.path())
        .args(["--format", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let coverage = &report["coverage"];
    assert_eq!(coverage["records"], 4, "{coverage:#}");
    let damage = coverage["damage"].as_array().unwrap();
    let seen: Vec<_> = damage.iter().map(|place| (&place["kind"], &place["position"])).collect();
    let at = |index: usize| Value::from(places[index].position);
    assert_eq!(seen, [(&"bad-offset".into(), &at(2)), (&damage[1]["kind"], &at(3))], "{damage:#?}");
}

#[test]
fn segments_under_each_others_names_are_read_in_their_order_and_their_copies_are_found() {
    let orders = |first: i64, keys: std::ops::Range<i32>| {
        keys.fold(SegmentBuilder::at(first), |segment, key| {
            let sequence = i32::try_from(segment.places().len()).unwrap() + i32::try_from(first).unwrap();
            segment
                .batch(batch().producer(7, 0, sequence).record(format!("order-{key}"), format!("paid {key}")))
        })
        .bytes()
    };
    let dir = tempfile::tempdir().unwrap();
    let partition = dir.path().join("orders-0");
    std::fs::create_dir(&partition).unwrap();
    let put =
        |name: &str, bytes: &[u8]| std::fs::write(partition.join(format!("{name:0>20}.log")), bytes).unwrap();
    put("40", &orders(0, 0..40));
    put("0", &orders(40, 30..70));
    put("80", &orders(80, 70..90));

    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("scan")
        .arg(dir.path())
        .args(["--format", "json", "--key", "record-key"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let codes: Vec<_> = findings.iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["resend-same-session"], "{findings:#?}");
    assert_eq!(findings[0]["counts"]["surplusRecords"], 10);
    let coverage = &report["coverage"];
    assert_eq!((&coverage["damage"], &coverage["records"]), (&Value::Array(Vec::new()), &100.into()));
    let notes: Vec<_> =
        coverage["notes"].as_array().unwrap().iter().map(|note| note["detail"].to_string()).collect();
    assert!(
        notes.iter().any(|note| note
            .contains("offsets 40 to 79, its name says 0: read as the segment 00000000000000000040.log")),
        "{notes:#?}"
    );
    assert!(notes.iter().any(|note| note.contains("offsets 0 to 39, its name says 40")), "{notes:#?}");
}
