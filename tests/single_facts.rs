//! Real directories, mutilated in a copy: what the findings about single facts say of each fault,
//! and that its undamaged twin has none of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its copy up has failed")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A scenario of the newest broker, copied.
struct Copied {
    dir: TempDir,
}

impl Copied {
    fn of(scenario: &str) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario);
        let dir = TempDir::new().unwrap();
        copy(&from.join("data"), dir.path());
        Self { dir }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Removes a segment with its indexes; its snapshot stays, as it does when a file is lost.
    fn lose_segment(&self, partition: &str, base: i64) -> &Self {
        for suffix in ["log", "index", "timeindex"] {
            fs::remove_file(self.at(&format!("{partition}/{base:020}.{suffix}"))).unwrap();
        }
        self
    }

    fn findings(&self) -> Vec<Value> {
        let run = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
            .args(["scan", "--headers-only", "--format", "json", "--max-groups", "0"])
            .arg(self.dir.path())
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&run.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&run.stderr)));
        report["findings"].as_array().unwrap().clone()
    }

    /// Codes with the partitions that each names.
    fn told(&self) -> BTreeSet<(String, String)> {
        let mut told = BTreeSet::new();
        for finding in self.findings() {
            for place in finding["partitions"].as_array().unwrap() {
                let place = format!("{}-{}", place["topic"].as_str().unwrap(), place["partition"]);
                told.insert((finding["code"].as_str().unwrap().to_owned(), place));
            }
        }
        told
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::write(&to, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

fn pairs(expected: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    expected.iter().map(|&(code, place)| (code.to_owned(), place.to_owned())).collect()
}

#[test]
fn an_untouched_log_of_many_segments_has_no_finding() {
    assert!(Copied::of("clean-large-ish").told().is_empty());
}

#[test]
fn a_segment_lost_in_the_middle_is_missed_by_offset_and_by_sequence() {
    let copied = Copied::of("clean-large-ish");
    copied.lose_segment("telemetry-0", 273);
    let told = copied.told();
    assert_eq!(told, pairs(&[("offset-gap", "telemetry-0"), ("sequence-gap", "telemetry-0")]));
    let gaps = copied.findings().into_iter().find(|finding| finding["code"] == "sequence-gap").unwrap();
    assert!(gaps["gaps"].as_array().unwrap().iter().all(|gap| gap["reason"] == "missing-segment"));
}

#[test]
fn a_segment_lost_at_the_end_is_missed_by_the_high_watermark_and_the_snapshot() {
    let copied = Copied::of("clean-large-ish");
    copied.lose_segment("telemetry-0", 516);
    let told = copied.told();
    assert_eq!(told, pairs(&[("offset-gap", "telemetry-0"), ("snapshot-mismatch", "telemetry-0")]));
}

#[test]
fn a_copy_of_a_running_broker_is_not_said_to_lack_its_end() {
    let copied = Copied::of("clean-large-ish");
    copied.lose_segment("telemetry-0", 516);
    fs::remove_file(copied.at(".kafka_cleanshutdown")).unwrap();
    assert!(copied.told().is_empty());
}

#[test]
fn a_first_segment_lost_above_the_first_leader_epoch_is_no_retention() {
    let copied = Copied::of("clean-large-ish");
    copied.lose_segment("telemetry-0", 0);
    let told = copied.told();
    assert_eq!(told, pairs(&[("offset-gap", "telemetry-0"), ("sequence-gap", "telemetry-0")]));
    // The same files behind a checkpoint that begins with them: retention, and nobody's fault.
    let checkpoint = "0\n1\n0 145\n";
    fs::write(copied.at("telemetry-0/leader-epoch-checkpoint"), checkpoint).unwrap();
    let findings = copied.findings();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        (&findings[0]["code"], &findings[0]["severity"]),
        (&"sequence-gap-explained".into(), &"info".into())
    );
}

#[test]
fn a_snapshot_of_an_earlier_moment_is_stale() {
    let copied = Copied::of("clean-large-ish");
    let earlier = fs::read(copied.at("telemetry-0/00000000000000000273.snapshot")).unwrap();
    fs::write(copied.at("telemetry-0/00000000000000000516.snapshot"), earlier).unwrap();
    assert_eq!(copied.told(), pairs(&[("snapshot-mismatch", "telemetry-0")]));
}

#[test]
fn without_snapshots_nothing_is_wrong() {
    let copied = Copied::of("clean-large-ish");
    for base in [145, 273, 400, 516, 585] {
        fs::remove_file(copied.at(&format!("telemetry-0/{base:020}.snapshot"))).unwrap();
    }
    assert!(copied.told().is_empty());
}

#[test]
fn a_log_that_ends_inside_a_transaction_has_an_open_one() {
    let copied = Copied::of("txn-commit-abort-tv2");
    assert!(copied.told().is_empty());
    // Without its last 78 bytes the log lacks its last marker.
    let log = copied.at("ledger-entries-1/00000000000000000000.log");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 78]).unwrap();
    fs::remove_file(copied.at(".kafka_cleanshutdown")).unwrap();
    let told = copied.told();
    assert_eq!(told, pairs(&[("transaction-open", "ledger-entries-1")]));
}

#[test]
fn a_leader_epoch_that_goes_back_is_told_though_no_checksum_covers_it() {
    let copied = Copied::of("clean-large-ish");
    let log = copied.at("telemetry-0/00000000000000000516.log");
    let mut bytes = fs::read(&log).unwrap();
    bytes[15] = 7;
    fs::write(&log, bytes).unwrap();
    assert_eq!(copied.told(), pairs(&[("leader-epoch-anomaly", "telemetry-0")]));
}
