//! Contents are told apart as records go by, or later and only where keys repeat: what is found does not
//! depend on it, also where one key has records of both kinds.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use dedup_audit::audit::{self, AuditOptions, Memory};
use dedup_audit::plan::KeyChoice;
use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::Value;
use std::path::Path;

/// Records of a log that takes a few pieces, each with 1 KB of value.
const HALF: u32 = 6_000;

fn write(home: &Path, records: impl Iterator<Item = (u32, u32)>) {
    let records: Vec<_> = records.collect();
    let folder = home.join("orders-0");
    std::fs::create_dir(&folder).unwrap();
    let mut segment = SegmentBuilder::new();
    for records in records.chunks(50) {
        let mut spec = batch();
        for (key, content) in records {
            spec = spec.record(format!("order-{key}"), format!("{content:01000}"));
        }
        segment = segment.batch(spec);
    }
    std::fs::write(folder.join("00000000000000000000.log"), segment.bytes()).unwrap();
}

/// Keys that were updated, records whose key was there before, and pairs of equal records.
fn found(records: impl Iterator<Item = (u32, u32)>, limit: u64) -> [u64; 3] {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), records);
    let options = AuditOptions {
        key: KeyChoice::User("record-key".parse().unwrap()),
        threads: 1,
        memory: Memory { limit, temp_dir: std::env::temp_dir(), ..Memory::default() },
        ..AuditOptions::over(vec![home.path().to_path_buf()])
    };
    let audit = audit::run(&options).unwrap();
    let pairs = format!("{:?}", audit.relations.groups).matches("RelatedPair").count();
    let report = serde_json::to_value(&audit.report).unwrap();
    let topic = &report["topics"][0];
    let number = |value: &Value| value.as_u64().unwrap();
    [
        number(&topic["updates"]["keys"]),
        number(&topic["visibility"]["readUncommitted"]["repeatedKeyRecords"]),
        u64::try_from(pairs).unwrap(),
    ]
}

#[test]
fn keys_that_repeat_late_find_their_first_records() {
    let once = (0..HALF).map(|key| (key, key));
    let again = (0..HALF).map(|n| match n % 3 {
        0 => (n, n),
        1 => (n, n + 1),
        _ => (HALF + n, n),
    });
    for limit in [1 << 30, 1 << 20] {
        let third = u64::from(HALF / 3);
        assert_eq!(found(once.clone().chain(again.clone()), limit), [third, 2 * third, third], "{limit}");
    }
}

#[test]
fn a_few_repeats_are_found_among_many_keys() {
    let records =
        (0..2 * HALF).map(|n| if n % 200 == 199 { (n - 150, n - 150 + n / 200 % 2) } else { (n, n) });
    let repeats = u64::from(2 * HALF / 200);
    assert_eq!(found(records, 1 << 30), [repeats / 2, repeats, repeats / 2]);
}

#[test]
fn a_few_keys_are_told_apart_from_the_beginning_on() {
    // Each content comes twice, one behind the other.
    let records = (0..HALF).map(|n| (n / 2 % 10, n / 2));
    let half = u64::from(HALF / 2);
    assert_eq!(found(records, 1 << 30), [10, u64::from(HALF) - 10, half]);
}
