//! The limit on memory holds for the whole process: what a scan of a large generated log takes, as the
//! system counts it, and that the report is the same with plenty.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use dedup_audit::testkit::{SegmentBuilder, batch};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Enough that their rows, at least 16 bytes each, do not fit into the limit.
const RECORDS: u64 = 2_400_000;
const LIMIT_MIB: u64 = 32;

/// Writes a partition with these keys in their order; `time` tells that of a batch.
fn write_partition(
    folder: &Path,
    in_batch: usize,
    keys: impl Iterator<Item = u64>,
    time: impl Fn(i32) -> i64,
) {
    std::fs::create_dir(folder).unwrap();
    let mut segment = SegmentBuilder::new();
    let keys: Vec<u64> = keys.collect();
    for (number, keys) in keys.chunks(in_batch).enumerate() {
        let sequence = i32::try_from(number * in_batch).unwrap();
        let spec = batch().producer(1000, 0, sequence).time(time(sequence));
        let spec = keys.iter().fold(spec, |spec, key| {
            spec.record(format!("{:016x}", key.wrapping_mul(0x9E37_79B9_7F4A_7C15)), "v")
        });
        segment = segment.batch(spec);
    }
    std::fs::write(folder.join("00000000000000000000.log"), segment.bytes()).unwrap();
}

const FIRST_TIME: i64 = 1_764_425_000_000;

/// A topic of distinct keys in two partitions, and the last few of them again.
fn write_log(home: &Path) {
    for partition in 0..2 {
        let (first, last) = (partition * RECORDS / 2, (partition + 1) * RECORDS / 2);
        let keys = (first..last).chain(last - 200..last);
        write_partition(&home.join(format!("events-{partition}")), 200, keys, |batch| {
            FIRST_TIME + i64::from(batch)
        });
    }
}

/// Scans within a limit; the report, and the most anonymous memory of the process in MiB.
fn scan(home: &Path, limit: &str) -> (Vec<u8>, u64) {
    let report = home.join(format!("report-{limit}"));
    let output = ["--format", "json", "--output", report.to_str().unwrap()];
    let log = home.join("log");
    let scan = ["scan", log.to_str().unwrap(), "--key", "record-key", "--threads", "1", "--exit-zero"];
    let peak = peak_of(&[scan.as_slice(), &output].concat(), limit);
    (std::fs::read(report).unwrap(), peak)
}

/// Runs the tool within a limit; the most anonymous memory of the process in MiB.
fn peak_of(arguments: &[&str], limit: &str) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(arguments)
        .args(["--max-memory", limit])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let anonymous = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kibibytes = anonymous.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok());
        peak = peak.max(kibibytes.unwrap_or(0));
        match child.try_wait().unwrap() {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    assert!(matches!(ended.code(), Some(0 | 1)), "{ended}");
    peak >> 10
}

#[test]
fn a_large_log_is_scanned_within_the_limit_and_reported_as_with_plenty() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("log")).unwrap();
    write_log(&home.path().join("log"));
    let (report, peak) = scan(home.path(), &format!("{LIMIT_MIB}MiB"));
    assert!(peak <= LIMIT_MIB, "{peak} MiB were taken, {LIMIT_MIB} were allowed");
    let (with_plenty, more) = scan(home.path(), "8GiB");
    assert!(more > LIMIT_MIB, "only {more} MiB are needed: the log is too small to show anything");
    assert!(report == with_plenty, "the report depends on the memory");
}

/// Copies in each of the worst cases: several times what the limit would hold of them.
const COPIES: u64 = 100_000;

#[test]
fn the_memory_does_not_grow_with_what_is_stored_more_than_once() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    std::fs::create_dir(&log).unwrap();
    // Every record a duplicate, and one event again and again: with equal times none of them is meant.
    let twice = (0..COPIES).chain(0..COPIES);
    write_partition(&log.join("twice-0"), 200, twice, |batch| FIRST_TIME + i64::from(batch));
    write_partition(&log.join("one-0"), 1, std::iter::repeat_n(7, 100_000), |_| FIRST_TIME + 1);
    let (report, peak) = scan(home.path(), &format!("{LIMIT_MIB}MiB"));
    assert!(peak <= LIMIT_MIB, "{peak} MiB were taken, {LIMIT_MIB} were allowed");
    let (with_plenty, more) = scan(home.path(), "8GiB");
    assert!(more > LIMIT_MIB, "only {more} MiB are needed: there is too little to show anything");
    assert!(report == with_plenty, "the report depends on the memory");
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let surplus: u64 = findings.iter().filter_map(|one| one["counts"]["surplusRecords"].as_u64()).sum();
    assert_eq!(surplus, 2 * COPIES - 1);
}

#[test]
fn every_copy_is_listed_and_every_key_looked_up_without_holding_them() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    std::fs::create_dir(&log).unwrap();
    let twice = (0..COPIES).chain(0..COPIES);
    write_partition(&log.join("twice-0"), 200, twice, |batch| FIRST_TIME + i64::from(batch));
    let limit = format!("{LIMIT_MIB}MiB");
    let within = |arguments: &[&str]| {
        let common = [log.to_str().unwrap(), "--key", "record-key", "--threads", "1"];
        let peak = peak_of(&[arguments, &common].concat(), &limit);
        assert!(peak <= LIMIT_MIB, "{arguments:?}: {peak} MiB were taken, {LIMIT_MIB} were allowed");
    };

    let list = home.path().join("list.csv");
    within(&["scan", "--list", list.to_str().unwrap()]);
    let list = std::fs::read_to_string(list).unwrap();
    assert_eq!(u64::try_from(list.lines().count()).unwrap(), 1 + COPIES);

    let expected = home.path().join("expected");
    let keys: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split(',').nth(3)).collect();
    std::fs::write(&expected, keys.join("\n")).unwrap();
    let answer = home.path().join("answer");
    let arguments = ["reconcile", "--expect", expected.to_str().unwrap()];
    within(&[arguments.as_slice(), &["--format", "json", "--output", answer.to_str().unwrap()]].concat());
    let answer: serde_json::Value = serde_json::from_slice(&std::fs::read(answer).unwrap()).unwrap();
    assert_eq!(answer["storedMore"]["count"], COPIES, "{answer:#}");
    let named = &answer["storedMore"]["keys"][0]["findings"];
    assert_eq!(named.as_array().unwrap().len(), 1);
}

#[test]
fn a_report_that_would_not_fit_is_refused_with_the_way_out() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    std::fs::create_dir(&log).unwrap();
    write_partition(&log.join("twice-0"), 200, (0..COPIES).chain(0..COPIES), |_| FIRST_TIME);
    let refused = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", log.to_str().unwrap(), "--key", "record-key", "--max-groups", "0"])
        .args(["--max-memory", &format!("{LIMIT_MIB}MiB")])
        .output()
        .unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("copies (100000)") && message.contains("--list"), "{message}");
}

/// The same log a second time, as another replica has it.
fn copy_log(home: &Path) {
    let copy = home.join("copy/events-0");
    std::fs::create_dir_all(&copy).unwrap();
    let file = "00000000000000000000.log";
    std::fs::copy(home.join("log/events-0").join(file), copy.join(file)).unwrap();
}

/// Runs a command on directories of `home` within the limit and with plenty: the answers are equal.
fn same_within_the_limit(home: &Path, arguments: &[&str]) {
    let name = arguments[0];
    let paths: Vec<String> = arguments
        .iter()
        .map(|argument| match *argument {
            "log" | "copy" => home.join(argument).to_str().unwrap().to_owned(),
            other => other.to_owned(),
        })
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let answer = |limit: &str| {
        let answer = home.join(format!("{name}-{limit}"));
        let output = ["--format", "json", "--output", answer.to_str().unwrap(), "--threads", "1"];
        let peak = peak_of(&[paths.as_slice(), &output].concat(), limit);
        (std::fs::read(answer).unwrap(), peak)
    };
    let (within, peak) = answer(&format!("{LIMIT_MIB}MiB"));
    assert!(peak <= LIMIT_MIB, "{name}: {peak} MiB were taken, {LIMIT_MIB} were allowed");
    let (with_plenty, more) = answer("8GiB");
    assert!(more > LIMIT_MIB, "{name}: only {more} MiB are needed: there is too little to show anything");
    assert!(within == with_plenty, "{name}: the answer depends on the memory");
}

/// Producer ids that each write one record.
const PRODUCERS: u32 = 150_000;

#[test]
fn the_memory_does_not_grow_with_the_producers() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("log/events-0");
    std::fs::create_dir_all(&folder).unwrap();
    let mut segment = SegmentBuilder::new();
    for id in 0..i64::from(PRODUCERS) {
        let spec = batch().producer(1000 + id, 0, 0).time(FIRST_TIME + id);
        segment = segment.batch(spec.record(format!("{id:08x}"), "v"));
    }
    std::fs::write(folder.join("00000000000000000000.log"), segment.bytes()).unwrap();
    let (report, peak) = scan(home.path(), &format!("{LIMIT_MIB}MiB"));
    assert!(peak <= LIMIT_MIB, "{peak} MiB were taken, {LIMIT_MIB} were allowed");
    copy_log(home.path());
    for arguments in [&["producers", "log"][..], &["trace", "00000007", "log"], &["compare", "log", "copy"]] {
        same_within_the_limit(home.path(), arguments);
    }
    let (with_plenty, more) = scan(home.path(), "8GiB");
    assert!(more > 2 * LIMIT_MIB, "only {more} MiB are needed: there is too little to show anything");
    assert!(report == with_plenty, "the report depends on the memory");
}

/// Transactions that are aborted, each of a producer of its own.
const ABORTED: u32 = 100_000;

#[test]
fn the_memory_does_not_grow_with_aborted_transactions() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("log/events-0");
    std::fs::create_dir_all(&folder).unwrap();
    let mut segment = SegmentBuilder::new();
    for id in 0..i64::from(ABORTED) {
        let data = batch().producer(1000 + id, 0, 0).transactional().time(FIRST_TIME + id);
        segment = segment.batch(data.record(format!("{id:08x}"), "v"));
        segment = segment.abort(1000 + id, 0);
    }
    std::fs::write(folder.join("00000000000000000000.log"), segment.bytes()).unwrap();
    copy_log(home.path());
    same_within_the_limit(home.path(), &["trace", "00000007", "log"]);
    same_within_the_limit(home.path(), &["compare", "log", "copy"]);
}

#[test]
fn the_story_of_one_key_takes_no_more_however_often_it_is_stored() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    std::fs::create_dir(&log).unwrap();
    write_partition(&log.join("one-0"), 1, std::iter::repeat_n(7, 100_000), |batch| {
        FIRST_TIME + i64::from(batch)
    });
    let key = format!("{:016x}", 7_u64.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let trace = ["trace", &key, log.to_str().unwrap(), "--key", "record-key", "--threads", "1"];
    let peak = peak_of(&trace, &format!("{LIMIT_MIB}MiB"));
    assert!(peak <= LIMIT_MIB, "{peak} MiB were taken, {LIMIT_MIB} were allowed");
    assert!(peak_of(&trace, "8GiB") > LIMIT_MIB, "there is too little to show anything");
}
