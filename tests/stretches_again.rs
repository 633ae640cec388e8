//! One session that writes a whole stretch again, and lists and states that merely come back.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

use dedup_audit::testkit::{BatchSpec, SegmentBuilder, batch};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const BEGIN: i64 = 1_700_000_000_123;

/// A record of the session, the next one of its sequence.
fn sent(at: i64, key: &str, value: String) -> BatchSpec {
    batch().producer(7, 0, i32::try_from(at).unwrap()).time(BEGIN + at * 137).record(key.to_owned(), value)
}

fn write(home: &Path, partition: &str, records: &[(String, String)]) {
    let log = (0..)
        .zip(records)
        .fold(SegmentBuilder::new(), |log, (at, (key, value))| log.batch(sent(at, key, value.clone())));
    let at = home.join(partition);
    fs::create_dir(&at).unwrap();
    fs::write(at.join("00000000000000000000.log"), log.bytes()).unwrap();
}

fn findings(home: &Path, more: &[&str]) -> Vec<(String, i64)> {
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--format", "json"])
        .args(more)
        .arg(home)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = report["findings"].as_array().unwrap().iter();
    told.filter(|finding| finding["counts"]["surplusRecords"] != 0)
        .map(|finding| {
            let code = finding["code"].as_str().unwrap().to_owned();
            (code, finding["counts"]["surplusRecords"].as_i64().unwrap())
        })
        .collect()
}

/// Payments of a few customers; those from 150 on come again once.
fn payments_again(customers: usize, all: usize, again: usize) -> Vec<(String, String)> {
    let one = |at: usize| {
        (
            format!("customer-{}", at * 7 % customers),
            format!("{{\"paymentId\":\"{:08x}\"}}", at * 2_654_435_761 % (1 << 32)),
        )
    };
    let mut records: Vec<_> = (0..all).map(one).collect();
    records.extend((all - again..all).map(one));
    records
}

#[test]
fn a_stretch_that_one_session_wrote_again_is_no_row_of_states() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "payments-0", &payments_again(11, 400, 60));
    // Nearly all of them stand behind another payment of the customer.
    assert_eq!(findings(home.path(), &[]), [("resend-same-session".to_owned(), 60)]);
}

#[test]
fn states_that_come_back_one_by_one_or_all_at_once_are_none() {
    let home = tempfile::tempdir().unwrap();
    // A list of 30 lamps, published four times, on and off in turn.
    let lamps: Vec<_> = ["on", "off", "on", "off"]
        .iter()
        .flat_map(|state| (0..30).map(move |lamp| (format!("lamp-{lamp}"), format!("{lamp} {state}"))))
        .collect();
    write(home.path(), "lamps-0", &lamps);
    assert_eq!(findings(home.path(), &["--key", "record-key"]), []);
    let home = tempfile::tempdir().unwrap();
    let orders: Vec<_> = (0..300)
        .map(|at| (format!("order-{}", at / 3), ["open", "paid", "open"][at % 3].to_owned()))
        .collect();
    write(home.path(), "orders-0", &orders);
    assert_eq!(findings(home.path(), &["--key", "record-key"]), []);
}

#[test]
fn what_is_said_of_a_topic_does_not_depend_on_others() {
    // Together the topics have more records of each customer than are held at once.
    let home = tempfile::tempdir().unwrap();
    for at in 0..4 {
        let mut records = payments_again(2, 900, 0);
        // Two events that come again by themselves, behind others of the customer.
        records.extend([records[10].clone(), records[300].clone()]);
        write(home.path(), &format!("topic{at}-0"), &records);
    }
    let alone = findings(home.path(), &["--topic", "topic2"]);
    let all = findings(home.path(), &[]);
    assert_eq!(all.len(), 4 * alone.len(), "{alone:?} and {all:?}");
}
