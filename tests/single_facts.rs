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

    /// Cuts a log of one segment in front of the batch that begins at an offset, and everything beside it away.
    fn cut(&self, partition: &str, offset: i64) -> &Self {
        let dir = self.at(partition);
        let log = dir.join(format!("{:020}.log", 0));
        let mut bytes = fs::read(&log).unwrap();
        let mut position = 0;
        while i64::from_be_bytes(bytes[position..position + 8].try_into().unwrap()) < offset {
            let length = i32::from_be_bytes(bytes[position + 8..position + 12].try_into().unwrap());
            position += 12 + usize::try_from(length).unwrap();
        }
        bytes.truncate(position);
        fs::remove_dir_all(&dir).unwrap();
        fs::create_dir(&dir).unwrap();
        fs::write(log, bytes).unwrap();
        self
    }

    /// Sets the recovery point of a partition.
    fn recovery_point(&self, partition: &str, offset: i64) -> &Self {
        let path = self.at("recovery-point-offset-checkpoint");
        let (topic, number) = partition.rsplit_once('-').unwrap();
        let prefix = format!("{topic} {number} ");
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let line = lines.iter_mut().find(|line| line.starts_with(&prefix)).unwrap();
        *line = format!("{prefix}{offset}");
        fs::write(path, lines.join("\n") + "\n").unwrap();
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
    // Closed segments are flushed when a segment is rolled.
    copied.recovery_point("telemetry-0", 516);
    assert!(copied.told().is_empty());
}

#[test]
fn an_end_below_the_recovery_point_was_flushed_and_is_missed_unless_the_copy_was_taken_from_a_running_broker()
{
    let copied = Copied::of("clean-large-ish");
    copied.lose_segment("telemetry-0", 516);
    fs::remove_file(copied.at(".kafka_cleanshutdown")).unwrap();
    assert_eq!(copied.told(), pairs(&[("offset-gap", "telemetry-0")]));
    let finding = &copied.findings()[0];
    assert_eq!(
        (finding["severity"].as_str(), finding["confidence"].as_str()),
        (Some("medium"), Some("possible"))
    );
    assert!(finding["alternatives"].to_string().contains("wrote the checkpoints after this log was copied"));
    // The snapshot at the end knows what its producer had come to.
    assert!(finding["facts"].to_string().contains("had come to sequence"), "{finding:#}");
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
fn without_snapshots_nothing_is_wrong_unless_one_partition_alone_has_none_after_a_clean_stop() {
    let copied = Copied::of("clean-large-ish");
    for base in [145, 273, 400, 516, 585] {
        fs::remove_file(copied.at(&format!("telemetry-0/{base:020}.snapshot"))).unwrap();
    }
    assert_eq!(copied.told(), pairs(&[("snapshot-mismatch", "telemetry-0")]));
    // Without the marker of a clean stop the broker builds the state from the log.
    let marker = fs::read(copied.at(".kafka_cleanshutdown")).unwrap();
    fs::remove_file(copied.at(".kafka_cleanshutdown")).unwrap();
    assert!(copied.told().is_empty());
    fs::write(copied.at(".kafka_cleanshutdown"), marker).unwrap();
    // A copy that left out all of them says nothing of the broker.
    for partition in fs::read_dir(copied.at("")).unwrap().map(|entry| entry.unwrap().path()) {
        for file in fs::read_dir(&partition).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "snapshot") {
                fs::remove_file(file).unwrap();
            }
        }
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
    let cut = [("offset-gap", "ledger-entries-1"), ("transaction-open", "ledger-entries-1")];
    assert_eq!(copied.told(), pairs(&cut));
    // As it is while the transaction runs.
    copied.recovery_point("ledger-entries-1", 0);
    assert_eq!(copied.told(), pairs(&cut[1..]));
}

#[test]
fn what_another_partition_shows_as_committed_is_not_open_and_not_to_be_aborted() {
    for with_coordinator in [true, false] {
        let copied = Copied::of("txn-commit-abort-tv2");
        copied.cut("ledger-entries-0", 10);
        if !with_coordinator {
            fs::remove_dir_all(copied.at("__transaction_state-0")).unwrap();
        }
        let findings = copied.findings();
        let open = findings.iter().find(|finding| finding["code"] == "transaction-open").unwrap();
        let advice = open["advice"].to_string();
        assert!(advice.contains("do not abort: it was committed"), "{open:#}");
        assert!(open["facts"].to_string().contains("was committed in ledger-entries-1 (marker at offset 9"));
        assert!(!open.to_string().contains("may be running"), "{open:#}");
        let rivals = open["alternatives"].as_array().unwrap();
        // The log ends below its high watermark: the marker may have stood there.
        let mut others = rivals.iter().filter(|rival| rival["code"] != "lost marker");
        assert!(others.all(|rival| rival["kept"] == false), "{open:#}");
    }
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

/// Entries of the index of a closed segment, in which one is (65, 4178).
const INDEX: &str = "telemetry-0/00000000000000000145.index";
/// The like of time and offset.
const TIMES: &str = "telemetry-0/00000000000000000145.timeindex";

fn entry(offset: i32, position: i32) -> [u8; 8] {
    [offset.to_be_bytes(), position.to_be_bytes()].concat().try_into().unwrap()
}

#[test]
fn an_index_that_leads_astray_is_told_with_its_entry() {
    let said = |index: &[u8]| {
        let copied = Copied::of("clean-large-ish");
        fs::write(copied.at(INDEX), index).unwrap();
        assert_eq!(copied.told(), pairs(&[("index-mismatch", "telemetry-0")]));
        let findings = copied.findings();
        assert!(findings[0]["facts"][0].as_str().unwrap().contains("145.index entry"), "{findings:#?}");
        findings[0]["ranges"][0]["what"].as_str().unwrap().to_owned()
    };
    assert_eq!(said(&entry(65, 4179)), "index-points-nowhere");
    assert_eq!(said(&entry(65, 9_000)), "index-behind-the-end");
    assert_eq!(said(&entry(4, 4178)), "index-skips-records");
    assert_eq!(said(&entry(128, 4178)), "index-names-another-segment");
    assert_eq!(said(&[entry(65, 4178), entry(64, 4300)].concat()), "index-goes-back");

    let copied = Copied::of("clean-large-ish");
    let mut times = fs::read(copied.at(TIMES)).unwrap();
    times.rotate_left(12);
    fs::write(copied.at(TIMES), &times).unwrap();
    assert_eq!(copied.told(), pairs(&[("index-mismatch", "telemetry-0")]));
    // The index of another segment.
    let copied = Copied::of("clean-large-ish");
    fs::copy(copied.at("telemetry-1/00000000000000000000.index"), copied.at(INDEX)).unwrap();
    assert_eq!(copied.told(), pairs(&[("index-mismatch", "telemetry-0")]));
}

#[test]
fn what_brokers_leave_in_indexes_by_nature_is_innocent() {
    let right = entry(65, 4178);
    let innocent = |index: &[u8]| {
        let copied = Copied::of("clean-large-ish");
        fs::write(copied.at(INDEX), index).unwrap();
        assert!(copied.told().is_empty(), "{index:?}");
    };
    // Preallocated zeros, none used, the last offset of a follower's append of several batches.
    innocent(&[&right[..], &[0; 800]].concat());
    innocent(&[0; 800]);
    innocent(&[]);
    innocent(&entry(100, 4178));

    // The active segment of a broker that runs, and what it had not flushed when it died.
    let copied = Copied::of("clean-large-ish");
    fs::remove_file(copied.at(".kafka_cleanshutdown")).unwrap();
    for index in ["telemetry-0/00000000000000000516.index", INDEX] {
        fs::write(copied.at(index), entry(60, 77)).unwrap();
    }
    assert_eq!(copied.told(), pairs(&[("index-mismatch", "telemetry-0")]));
    assert_eq!(copied.findings()[0]["ranges"].as_array().unwrap().len(), 1);
    fs::write(copied.at("recovery-point-offset-checkpoint"), "0\n1\ntelemetry 0 200\n").unwrap();
    assert!(copied.told().is_empty());
}
