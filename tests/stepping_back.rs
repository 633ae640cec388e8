//! Batches whose offsets step back are told once for a whole run of them.

use dedup_audit::testkit::{SegmentBuilder, batch};
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
