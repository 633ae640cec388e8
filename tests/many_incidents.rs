//! Incidents that are too many to be told one by one: a producer for each call, retried.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::Value;
use std::fs;
use std::process::Command;

const CALLS: i64 = 450;

/// Each call has a producer of its own, and each event was sent by two calls; one event by three records.
fn calls() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let at = home.path().join("orders-0");
    fs::create_dir(&at).unwrap();
    let call = |producer: i64, event: i64| {
        batch()
            .producer(producer, 0, 0)
            .time(1_700_000_000_000 + producer)
            .record(format!("event-{event}"), format!("paid {event}"))
    };
    let first = (0..CALLS).fold(SegmentBuilder::new(), |log, at| log.batch(call(at, at)));
    let log = (0..CALLS).fold(first, |log, at| log.batch(call(10_000 + at, at)));
    fs::write(at.join("00000000000000000000.log"), log.bytes()).unwrap();
    home
}

#[test]
fn they_are_told_together_with_every_copy_counted_and_listed() {
    let home = calls();
    let list = home.path().join("list.csv");
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--key", "record-key", "--format", "json", "--list"])
        .args([&list, &home.path().join("orders-0")])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings: Vec<&Value> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["code"] == "resend-new-session")
        .collect();
    assert_eq!(findings.len(), 200);
    let copies = |finding: &&Value| finding["counts"]["surplusRecords"].as_i64().unwrap();
    assert_eq!(findings.iter().map(copies).sum::<i64>(), CALLS);
    let others: Vec<_> = findings.iter().filter(|finding| copies(finding) > 1).collect();
    let [others] = others[..] else { panic!("{} findings stand for several", others.len()) };
    assert_eq!(copies(others), CALLS - 199);
    let title = others["title"].as_str().unwrap();
    assert!(title.contains("251 records of 251 more incidents of this kind"), "{title}");
    assert!(others["advice"][0].as_str().unwrap().contains("--list"), "{others}");
    // No surer than those of its kind that are told by themselves.
    let alone = findings.iter().find(|finding| copies(finding) == 1).unwrap();
    assert_eq!(
        (&others["confidence"], &others["alternatives"]),
        (&alone["confidence"], &alone["alternatives"])
    );
    let ids: std::collections::BTreeSet<_> =
        findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), findings.len());
    let rows = fs::read_to_string(&list).unwrap();
    assert_eq!(rows.lines().count(), 1 + usize::try_from(CALLS).unwrap());
}
