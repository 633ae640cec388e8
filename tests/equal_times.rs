//! Copies whose records carry the time of the event, which says nothing of who wrote first.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its data has failed")]

use dedup_audit::testkit::{BatchSpec, FIRST_TIME, SegmentBuilder, batch};
use serde_json::Value;
use std::process::Command;

/// Two orders with the times of their events, whoever writes them.
fn orders(first: i64) -> BatchSpec {
    (first..first + 2).fold(batch(), |batch, n| batch.record_at(FIRST_TIME + n, format!("order-{n}"), "{}"))
}

fn scanned<const N: usize>(segments: [SegmentBuilder; N]) -> Value {
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
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The code and the offsets of each copy that the partitions hold, by finding and key.
fn copies<const N: usize>(segments: [SegmentBuilder; N]) -> Vec<(String, Vec<i64>)> {
    let report = scanned(segments);
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

/// What the only retry says of when its copies were stored.
fn stored(batches: impl IntoIterator<Item = BatchSpec>) -> Vec<String> {
    let report = scanned([batches.into_iter().fold(SegmentBuilder::new(), SegmentBuilder::batch)]);
    let findings = report["findings"].as_array().unwrap();
    let retry = findings.iter().find(|finding| finding["code"] == "retry-without-idempotence");
    let facts = retry.unwrap_or_else(|| panic!("{report:#}"))["facts"].as_array().unwrap();
    let facts = facts.iter().map(|fact| fact.as_str().unwrap().to_owned());
    facts.filter(|fact| fact.contains("the copies were stored")).collect()
}

#[test]
fn copies_that_keep_their_times_were_stored_behind_what_stands_before_them_and_nothing_bounds_them_above() {
    let minute = |at: i64| FIRST_TIME + 60_000 * at;
    let order = |number: i64, at: i64| {
        batch().time(minute(at)).record(format!("order-{number}"), format!("paid {number}"))
    };
    // A batch that is stored behind a retry may have been made before it was sent.
    let behind = [order(1, 0), order(2, 1), order(3, 5), order(2, 1), order(4, 6)];
    let told = "the copies were stored not before 2023-11-14 22:18:20.000 UTC (a client's clock) in orders-0, by the batches around \
                them";
    assert_eq!(stored(behind), [told]);
    // That they were not stored before they were made is no news.
    assert!(stored([order(1, 0), order(2, 1), order(2, 1), order(3, 5), order(4, 6)]).is_empty());
}

#[test]
fn only_the_clock_of_a_broker_says_when_copies_were_stored_at_the_latest() {
    let minute = |at: i64| FIRST_TIME + 60_000 * at;
    let order = |number: i64, at: i64| {
        batch().time(minute(at)).record(format!("order-{number}"), format!("paid {number}"))
    };
    let appended = order(4, 6).append_time(minute(9));
    let told = "the copies were stored not after 2023-11-14 22:22:20.000 UTC (a broker's clock) in orders-0, by the batches around \
                them";
    assert_eq!(stored([order(1, 0), order(2, 1), order(2, 1), appended]), [told]);
}
