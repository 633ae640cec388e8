//! The limit on memory holds for the whole process: what a scan of a large generated log takes, as the
//! system counts it, and that the report is the same with plenty.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use dedup_audit::testkit::{SegmentBuilder, batch};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Enough that their rows, 32 bytes each, do not fit into the limit.
const RECORDS: u64 = 1_200_000;
const LIMIT_MIB: u64 = 32;

/// A topic of distinct keys in two partitions, and the last few of them again.
fn write_log(home: &Path) {
    for partition in 0..2 {
        let folder = home.join(format!("events-{partition}"));
        std::fs::create_dir(&folder).unwrap();
        let mut segment = SegmentBuilder::new();
        let (first, last) = (partition * RECORDS / 2, (partition + 1) * RECORDS / 2);
        let keys: Vec<u64> = (first..last).chain(last - 200..last).collect();
        for (number, keys) in keys.chunks(200).enumerate() {
            let sequence = i32::try_from(number * 200).unwrap();
            let spec = batch().producer(1000, 0, sequence).time(1_764_425_000_000 + i64::from(sequence));
            let spec = keys.iter().fold(spec, |spec, key| {
                spec.record(format!("{:016x}", key.wrapping_mul(0x9E37_79B9_7F4A_7C15)), "v")
            });
            segment = segment.batch(spec);
        }
        std::fs::write(folder.join("00000000000000000000.log"), segment.bytes()).unwrap();
    }
}

/// Scans within a limit; the report, and the most anonymous memory of the process in MiB.
fn scan(home: &Path, limit: &str) -> (Vec<u8>, u64) {
    let report = home.join(format!("report-{limit}"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", home.join("log").to_str().unwrap(), "--key", "record-key", "--format", "json"])
        .args(["--max-memory", limit, "--threads", "1", "--exit-zero", "--output", report.to_str().unwrap()])
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
    assert!(ended.success(), "{ended}");
    (std::fs::read(report).unwrap(), peak >> 10)
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
