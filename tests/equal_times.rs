//! Copies whose records carry the time of the event, which says nothing of who wrote first.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its data has failed")]

use dedup_audit::testkit::{BatchSpec, FIRST_TIME, SegmentBuilder, batch};
use serde_json::Value;
use std::process::Command;

/// Two orders with the times of their events, whoever writes them.
fn orders(first: i64) -> BatchSpec {
    (first..first + 2).fold(batch(), |batch, n| batch.record_at(FIRST_TIME + n, format!("order-{n}"), "{}"))
}

/// The code and the offsets of each copy that the partitions hold, by finding and key.
fn copies<const N: usize>(segments: [SegmentBuilder; N]) -> Vec<(String, Vec<i64>)> {
    let dir = tempfile::tempdir().unwrap();
    for (number, segment) in segments.into_iter().enumerate() {
        let partition = dir.path().join(format!("orders-{number}"));
        std::fs::create_dir(&partition).unwrap();
        std::fs::write(partition.join("00000000000000000000.log"), segment.bytes()).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("scan")
        .arg(dir.path())
        .args(["--key", "record-key", "--format", "json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut copies = Vec::new();
    for finding in report["findings"].as_array().unwrap() {
        for group in finding["groups"].as_array().into_iter().flatten() {
            let offsets =
                group["copies"].as_array().unwrap().iter().map(|copy| copy["offset"].as_i64().unwrap());
            copies.push((finding["code"].as_str().unwrap().to_owned(), offsets.collect()));
        }
    }
    copies.sort();
    copies
}

#[test]
fn inside_a_partition_the_copy_without_producer_id_is_not_first_when_it_stands_behind() {
    let segment = SegmentBuilder::new()
        .batch(orders(0).producer(7, 0, 0))
        .batch(orders(2).producer(7, 0, 2))
        .batch(orders(2))
        .batch(orders(4));
    let told = |offsets: [i64; 2]| ("resend-new-session".to_owned(), offsets.to_vec());
    assert_eq!(copies([segment]), [told([2, 4]), told([3, 5])]);
}

#[test]
fn inside_a_partition_the_older_session_is_not_first_when_it_stands_behind() {
    let segment = SegmentBuilder::new()
        .batch(orders(0).producer(5, 0, 0))
        .batch(orders(10).producer(6, 0, 0))
        .batch(orders(10).producer(5, 0, 2));
    let told = |offsets: [i64; 2]| ("concurrent-producers".to_owned(), offsets.to_vec());
    assert_eq!(copies([segment]), [told([2, 4]), told([3, 5])]);
}

#[test]
fn over_partitions_no_session_is_said_to_have_repeated_a_writer_without_producer_id() {
    let unprotected = SegmentBuilder::new().batch(orders(2)).batch(orders(4));
    let protected =
        SegmentBuilder::new().batch(orders(0).producer(7, 0, 0)).batch(orders(2).producer(7, 0, 2));
    let told = |offsets: [i64; 2]| ("resend-new-session".to_owned(), offsets.to_vec());
    assert_eq!(copies([unprotected, protected]), [told([2, 0]), told([3, 1])]);
}
