//! `producers`: which ids are told, in which order, and the exit status.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Producer 5 with a gap of three, a short producer 6 with more records, one without id.
fn log() -> SegmentBuilder {
    let of = |id, epoch, sequence| batch().producer(id, epoch, sequence).record("k", "v");
    SegmentBuilder::new()
        .batch(of(5, 0, 0))
        .batch(of(6, 0, 0).record("k", "v").record("k", "v"))
        .batch(of(-1, -1, -1))
        .batch(of(5, 0, 4))
        .batch(of(5, 1, 0).time(dedup_audit::testkit::FIRST_TIME + 172_800_000))
}

fn written(log: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("orders-0")).unwrap();
    fs::write(dir.path().join("orders-0/00000000000000000000.log"), log).unwrap();
    dir
}

fn run(dir: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
    command.arg("producers").args(more).arg(dir.join("orders-0")).output().unwrap()
}

fn told(dir: &Path, more: &[&str]) -> Value {
    let output = run(dir, &[more, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ids(answer: &Value) -> Vec<i64> {
    let producers = answer["producers"].as_array().unwrap();
    producers.iter().map(|producer| producer["producerId"].as_i64().unwrap()).collect()
}

#[test]
fn sessions_have_their_epochs_gaps_and_ends() {
    let dir = written(&log().bytes());
    let answer = told(dir.path(), &[]);
    assert_eq!(ids(&answer), [5, 6]);
    let five = &answer["producers"][0];
    let session = &five["sessions"][0];
    assert_eq!(
        (&five["records"], &five["partitions"], &session["session"]),
        (&json!(3), &json!(1), &json!("5#1"))
    );
    assert_eq!(session["epochs"].as_array().unwrap().len(), 2);
    let gap = &session["gaps"][0];
    assert_eq!(
        (&gap["expected"], &gap["missing"], &gap["reason"]),
        (&json!(1), &json!(3), &json!("lost-producer-state"))
    );
    assert_eq!(session["endedBy"], "log-end");
    assert_eq!(answer["producers"][1]["sessions"][0]["endedBy"], "silence");
    assert_eq!(answer["churn"], json!({"producers": 2, "sessions": 2, "shortLived": 1}));
    assert_eq!(answer["findings"][0]["code"], "sequence-gap-explained");
    assert_eq!(answer["coverage"]["records"], 7);
}

#[test]
fn producers_are_chosen_and_sorted() {
    let dir = written(&log().bytes());
    assert_eq!(ids(&told(dir.path(), &["--pid", "6"])), [6]);
    assert_eq!(ids(&told(dir.path(), &["--sort", "gaps"])), [5, 6]);
    assert_eq!(ids(&told(dir.path(), &["--sort", "last"])), [5, 6]);
    assert_eq!(ids(&told(dir.path(), &["--sort", "records"])), [5, 6], "equal ones by id");
}

#[test]
fn records_without_id_and_ids_that_are_not_there_are_told() {
    let dir = written(&log().bytes());
    let text = |more: &[&str]| String::from_utf8(run(dir.path(), more).stdout).unwrap().replace('\n', " ");
    let all = text(&[]);
    assert!(
        all.contains("within a minute; 1 record has no producer id, and nothing tells who wrote it."),
        "{all}"
    );
    let absent = text(&["--pid", "6", "--pid", "99"]);
    assert!(absent.contains("nothing here knows 99."), "{absent}");
    let answer = told(dir.path(), &["--pid", "6", "--pid", "99"]);
    assert_eq!((&answer["recordsWithoutId"], &answer["notFound"]), (&json!(1), &json!([99])));
    // The gap is another id's.
    assert_eq!(answer["findings"], json!([]));
    let alone = written(&SegmentBuilder::new().batch(batch().record("k", "v")).bytes());
    let text = String::from_utf8(run(alone.path(), &[]).stdout).unwrap().replace('\n', " ");
    assert!(
        text.starts_with("no producer with an id wrote here; 1 record has no producer id, and nothing"),
        "{text}"
    );
}

#[test]
fn a_scan_lists_the_first_epochs_of_a_session_and_counts_the_others() {
    let mut log = SegmentBuilder::new();
    for epoch in 0..500 {
        let data = batch().producer(7, epoch, 0).transactional().record("k", "v").record("k", "w");
        log = log.batch(data).commit(7, epoch + 1);
    }
    let dir = written(&log.bytes());
    let report = dir.path().join("report.json");
    let mut scan = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
    scan.args(["scan", "--headers-only", "--format", "json", "--exit-zero", "-o"]).arg(&report);
    assert!(scan.arg(dir.path().join("orders-0")).status().unwrap().success());
    let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    let session = &report["producers"][0]["sessions"][0];
    let told: Vec<_> =
        session["epochs"].as_array().unwrap().iter().map(|epoch| &epoch["producerEpoch"]).collect();
    assert_eq!(told, (0..100).map(|epoch| json!(epoch)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    assert_eq!((&session["epochsOmitted"], &session["records"]), (&json!(400), &json!(1000)));
    let all = &self::told(dir.path(), &[])["producers"][0]["sessions"][0];
    assert_eq!((all["epochs"].as_array().unwrap().len(), &all["epochsOmitted"]), (500, &json!(0)));
}

#[test]
fn the_table_says_how_many_rows_it_leaves_out() {
    let dir = written(&log().bytes());
    let text = String::from_utf8(run(dir.path(), &["--rows", "1"]).stdout).unwrap();
    assert!(text.starts_with("2 producer ids in 2 sessions; 1 of them wrote at most 20 records"), "{text}");
    assert!(text.contains("3 sequences from 1 on are missing before sequence 4 at offset 5"), "{text}");
    assert!(text.replace('\n', " ").contains("(the broker had lost the producer"), "{text}");
    assert!(text.contains("… and 1 session more"), "{text}");
}

#[test]
fn what_cannot_be_read_is_exit_status_3_and_a_gap_alone_is_0() {
    let mut bytes = log().bytes();
    let at = log().places()[1].position + 70;
    bytes[at] ^= 1;
    let dir = written(&bytes);
    assert_eq!(run(dir.path(), &[]).status.code(), Some(3));
    assert_eq!(run(written(&log().bytes()).path(), &[]).status.code(), Some(0));
}
