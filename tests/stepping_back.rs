//! Batches whose offsets step back are told once for a whole run of them, inside a file and from one file to the next.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use dedup_audit::testkit::{BatchSpec, SegmentBuilder, batch};
use serde_json::Value;
use std::process::Command;

#[test]
fn a_run_of_batches_that_step_back_is_one_place_of_damage() {
    let directory = tempfile::tempdir().unwrap();
    let partition = directory.path().join("orders-0");
    std::fs::create_dir(&partition).unwrap();
    let run = |first: i64| {
        let batches = (0..40).map(|at| batch().offset(first + at).record(format!("key-{first}-{at}"), "v"));
        batches.fold(SegmentBuilder::new(), SegmentBuilder::batch).bytes()
    };
    let (before, again) = (run(100), run(20));
    std::fs::write(partition.join("00000000000000000000.log"), [&before[..], &again].concat()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--format", "json"])
        .arg(&partition)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let damage = report["coverage"]["damage"].as_array().unwrap();
    assert_eq!(damage.len(), 1, "{damage:#?}");
    assert_eq!(damage[0]["kind"], "bad-offset");
    assert_eq!(damage[0]["position"].as_u64(), Some(before.len() as u64));
    assert_eq!(damage[0]["length"].as_u64(), Some(again.len() as u64));
    let detail = damage[0]["detail"].as_str().unwrap();
    assert!(detail.ends_with("likewise 39 batches behind it, the last with base offset 59"), "{detail}");
}

/// A log of nine batches of three records, whose first file goes on past the beginning of the second.
fn overlapping(beyond: impl Fn(i64) -> BatchSpec) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let partition = directory.path().join("orders-0");
    std::fs::create_dir(&partition).unwrap();
    let file = |batches: &mut dyn Iterator<Item = BatchSpec>| {
        batches.fold(SegmentBuilder::new(), SegmentBuilder::batch).bytes()
    };
    let first = file(&mut (0..4).map(written).chain((4..6).map(beyond)));
    std::fs::write(partition.join("00000000000000000000.log"), first).unwrap();
    std::fs::write(partition.join("00000000000000000012.log"), file(&mut (4..9).map(written))).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--format", "json"])
        .arg(&partition)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn written(number: i64) -> BatchSpec {
    with_values(number, "v")
}

fn with_values(number: i64, value: &str) -> BatchSpec {
    let sequence = i32::try_from(3 * number).unwrap();
    let batch = batch().offset(3 * number).producer(7, 0, sequence).time(1_700_000_000_000 + number);
    (0..3).fold(batch, |batch, record| batch.record(format!("key-{number}-{record}"), value))
}

fn codes(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

#[test]
fn one_offset_in_two_files_with_two_contents_is_reuse_and_no_second_producer() {
    for writer in [7, 8, -1] {
        let report = overlapping(|number| {
            let other = with_values(number, "other");
            let sequence = if writer < 0 { -1 } else { i32::try_from(3 * number).unwrap() };
            other.producer(writer, if writer < 0 { -1 } else { 0 }, sequence)
        });
        assert_eq!(codes(&report), ["offset-reuse"], "{writer}: {report:#}");
        assert_eq!(report["coverage"]["records"], 27);
        let fact = report["findings"][0]["facts"][0].as_str().unwrap();
        assert!(fact.ends_with("offsets 12 to 14 in a file behind which another one begins at 12"), "{fact}");
        assert_eq!(report["coverage"]["damage"][0]["recordsMissing"], true);
    }
}

#[test]
fn the_same_batches_in_two_files_are_read_once_and_contradict_nothing() {
    let cleaned = |number: i64| written(number).kept(&[1]);
    let noted = |number: i64| written(number).delete_horizon(1_700_000_000_000);
    for report in [overlapping(written), overlapping(cleaned), overlapping(noted)] {
        assert_eq!(codes(&report), Vec::<&str>::new(), "{report:#}");
        assert_eq!(report["coverage"]["records"], 27);
        let damage = report["coverage"]["damage"].as_array().unwrap();
        assert_eq!((damage.len(), &damage[0]["recordsMissing"]), (1, &Value::Bool(false)), "{damage:#?}");
        assert!(damage[0]["detail"].as_str().unwrap().ends_with("a later file holds the same"));
    }
}
