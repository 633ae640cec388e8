//! What a hostile batch asks for is bounded by options, and said to be unread where it goes past them.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its data has failed")]

use dedup_audit::format::Codec;
use dedup_audit::testkit::{SegmentBuilder, batch, promises};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn write(directory: &Path, bytes: &[u8]) -> PathBuf {
    let partition = directory.join("orders-0");
    std::fs::create_dir(&partition).unwrap();
    std::fs::write(partition.join("00000000000000000000.log"), bytes).unwrap();
    partition
}

fn run(arguments: &[&str], path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit")).args(arguments).arg(path).output().unwrap()
}

fn report(arguments: &[&str], path: &Path) -> Value {
    let output = run(&[&["scan", "--format", "json"], arguments].concat(), path);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn damage(report: &Value) -> Vec<(&str, &str)> {
    let damage = report["coverage"]["damage"].as_array().unwrap();
    damage.iter().map(|note| (note["kind"].as_str().unwrap(), note["detail"].as_str().unwrap())).collect()
}

#[test]
fn a_count_that_cannot_be_true_is_bounded_whether_records_are_read_or_not() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = batch().record("a", "1").record("b", "2").bytes();
    first[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    promises::repair(&mut first);
    let second = batch().offset(2).record("c", "3").bytes();
    let partition = write(directory.path(), &[first, second].concat());
    let headers = report(&["--headers-only"], &partition);
    assert_eq!(headers["visibility"]["readUncommitted"]["records"], 3, "{headers:#}");
    assert_eq!(damage(&headers), [("bad-record", "recordsCount 2147483647, the batch can hold 2 at most")]);
    let all = report(&[], &partition);
    assert_eq!(all["visibility"]["readUncommitted"]["records"], 3, "{all:#}");
    assert_eq!(damage(&all).len(), 1);
    assert_eq!(damage(&all)[0].0, "bad-record");
}

#[test]
fn a_batch_that_becomes_too_large_is_damage_that_names_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let large = batch().codec(Codec::Zstd).record("large", "x".repeat(1 << 20).as_str());
    let segment = SegmentBuilder::new().batch(large).batch(batch().record("small", "1"));
    let partition = write(directory.path(), &segment.bytes());
    assert_eq!(damage(&report(&[], &partition)), []);
    let limited = report(&["--max-batch-bytes", "1MiB"], &partition);
    let reason = "checksum is right, records cannot be read: zstd: more than 1048576 bytes come out, which is the \
                  limit for a batch";
    assert_eq!(damage(&limited), [("bad-compression", reason)]);
    assert_eq!(limited["invocation"]["options"]["maxBatchBytes"], 1 << 20);

    let log = partition.join("00000000000000000000.log");
    let dump = run(&["dump", "--max-batch-bytes", "1MiB"], &log);
    assert_eq!(dump.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&dump.stderr).contains("more than 1048576 bytes"), "{dump:?}");
    assert!(String::from_utf8_lossy(&dump.stdout).contains("key: small"));
    assert_eq!(run(&["dump"], &log).status.code(), Some(0));

    let refused = run(&["scan", "--max-batch-bytes", "1GiB", "--max-memory", "256MiB"], &partition);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a quarter of --max-memory"), "{refused:?}");
}

#[test]
fn headers_and_their_names_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let long = "n".repeat(100);
    let segment = SegmentBuilder::new()
        .batch(batch().record("a", "1").header("one", "1").header("two", "2"))
        .batch(batch().record("b", "2").header(&long, "1"));
    let partition = write(directory.path(), &segment.bytes());
    assert_eq!(damage(&report(&[], &partition)), []);
    let few = report(&["--max-headers", "1"], &partition);
    assert_eq!(damage(&few).len(), 1, "{few:#}");
    assert!(damage(&few)[0].1.contains("headersCount"), "{few:#}");
    let short = report(&["--max-header-name", "99"], &partition);
    assert_eq!(damage(&short).len(), 1, "{short:#}");
    assert!(damage(&short)[0].1.contains("100 bytes, the limit is 99"), "{short:#}");
}
