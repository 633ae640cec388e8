//! Replicas of one partition, and copies of a log that are no replicas, as `scan` reports them.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

mod compaction;
mod histories;
mod tails;

use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const ID: &str = "9Zb-ACHLRrCmbBmjuYMOPg";
const OTHER_ID: &str = "MK2kRgLcTuCEis4kqH_u0g";

/// Log directories of brokers.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A partition in the log directory `dir` of a broker of a cluster.
    fn log(&self, dir: &str, meta: (i32, &str), partition: &str, id: &str, log: SegmentBuilder) -> &Self {
        let (broker, cluster) = meta;
        let root = self.0.path().join(dir);
        let at = root.join(partition);
        fs::create_dir_all(&at).unwrap();
        let meta = format!("#\nnode.id={broker}\ncluster.id={cluster}\nversion=1\n");
        fs::write(root.join("meta.properties"), meta).unwrap();
        fs::write(root.join("cleaner-offset-checkpoint"), "0\n0\n").unwrap();
        fs::write(at.join("partition.metadata"), format!("version: 0\ntopic_id: {id}")).unwrap();
        fs::write(at.join(format!("{:020}.log", 0)), log.bytes()).unwrap();
        self
    }

    /// A checkpoint of offsets in the log directory `dir`.
    fn offset_checkpoint(&self, dir: &str, file: &str, partition: (&str, i32), offset: i64) -> &Self {
        let text = format!("0\n1\n{} {} {offset}\n", partition.0, partition.1);
        fs::write(self.0.path().join(dir).join(file), text).unwrap();
        self
    }

    /// `leader-epoch-checkpoint` of the partition in the log directory `dir`.
    fn leader_epochs(&self, dir: &str, partition: &str, epochs: &[(i32, i64)]) -> &Self {
        let mut lines = vec!["0".to_owned(), epochs.len().to_string()];
        lines.extend(epochs.iter().map(|(epoch, start)| format!("{epoch} {start}")));
        let text = lines.join("\n") + "\n";
        fs::write(self.0.path().join(dir).join(partition).join("leader-epoch-checkpoint"), text).unwrap();
        self
    }

    fn scan(&self) -> Value {
        let mut dirs: Vec<_> =
            fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        dirs.sort();
        scanned(&dirs)
    }
}

fn scanned(dirs: &[PathBuf]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("scan")
        .args(dirs)
        .args(["--format", "json", "--max-groups", "0", "--key", "record-key"])
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn with_code<'a>(report: &'a Value, code: &str) -> Vec<&'a Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["code"] == code).collect()
}

/// Two producers that take turns, under two leaders.
fn busy(events: i32) -> SegmentBuilder {
    (0..events).fold(SegmentBuilder::new(), |log, at| {
        let producer = if at % 3 == 0 { (7, at / 3) } else { (8, at - at / 3 - 1) };
        let log = log.leader_epoch(i32::from(at > 5));
        log.batch(batch().producer(producer.0, 0, producer.1).record(format!("order-{at}"), "paid"))
    })
}

#[test]
fn equal_replicas_and_a_replica_that_lags_are_no_finding() {
    let tree = Tree::new();
    tree.log("a", (1, "c"), "orders-0", ID, busy(20)).log("b", (2, "c"), "orders-0", ID, busy(20)).log(
        "c",
        (3, "c"),
        "orders-0",
        ID,
        busy(12),
    );
    let report = tree.scan();
    assert!(with_code(&report, "replica-divergence").is_empty());
    assert!(with_code(&report, "restored-copy").is_empty());
    assert_eq!(report["visibility"]["readUncommitted"]["records"], 20);
}

#[test]
fn the_tail_of_an_old_leader_is_a_divergence() {
    let tail = |epoch, key: &str| {
        (0..3).fold(busy(10).leader_epoch(epoch), |log, at| {
            log.batch(batch().record(format!("{key}-{at}"), "v"))
        })
    };
    let tree = Tree::new();
    tree.log("a", (1, "c"), "orders-0", ID, tail(1, "old")).log(
        "b",
        (2, "c"),
        "orders-0",
        ID,
        tail(2, "new"),
    );
    let report = tree.scan();
    let [finding] = with_code(&report, "replica-divergence")[..] else { panic!("{report:#}") };
    // They have no producer id, and nothing says whether anybody was told of success.
    assert_eq!(finding["confidence"], "likely");
    let range = &finding["ranges"][0];
    assert_eq!((range["firstOffset"].as_i64(), range["lastOffset"].as_i64()), (Some(10), Some(12)));
    // The leading replica counts, and it alone.
    let partitions = report["topics"][0]["partitions"].as_array().unwrap();
    assert!(
        partitions.iter().any(|partition| partition["brokerId"] == 1 && !partition["replicaOf"].is_null())
    );
    assert_eq!(report["visibility"]["readUncommitted"]["records"], 13);
}

#[test]
fn a_topic_that_was_copied_to_another_name_is_a_restored_copy() {
    let tree = Tree::new();
    tree.log("a", (1, "c"), "orders-0", ID, busy(20)).log("a", (1, "c"), "orders-backup-0", ID, busy(20));
    let report = tree.scan();
    let [finding] = with_code(&report, "restored-copy")[..] else { panic!("{report:#}") };
    assert_eq!(
        (finding["confidence"].as_str(), finding["severity"].as_str()),
        (Some("likely"), Some("medium"))
    );
    assert_eq!(finding["counts"]["surplusRecords"], 20);
    let groups = finding["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 20);
    let copies = &groups[4]["copies"];
    assert_eq!((&copies[0]["topic"], &copies[1]["topic"]), (&"orders".into(), &"orders-backup".into()));
    assert_eq!(copies[0]["offset"], copies[1]["offset"]);
    assert_eq!(copies[1]["level"], "E1");
}

#[test]
fn a_copy_without_topic_id_that_went_on_is_possibly_one_up_to_there() {
    let more = busy(20).batch(batch().record("new", "v"));
    let tree = Tree::new();
    tree.log("a", (1, "c"), "orders-0", ID, busy(26)).log("a", (1, "c"), "restored-0", OTHER_ID, more);
    fs::remove_file(tree.0.path().join("a/restored-0/partition.metadata")).unwrap();
    let report = tree.scan();
    let [finding] = with_code(&report, "restored-copy")[..] else { panic!("{report:#}") };
    assert_eq!(
        (&finding["confidence"], &finding["counts"]["surplusRecords"]),
        (&"possible".into(), &20.into())
    );
}

#[test]
fn an_application_that_writes_each_event_to_two_topics_copies_no_files_and_is_noted() {
    let tree = Tree::new();
    tree.log("a", (1, "c"), "orders-0", ID, busy(20)).log("a", (1, "c"), "audit-0", OTHER_ID, busy(20));
    let report = tree.scan();
    assert!(with_code(&report, "restored-copy").is_empty());
    let notes = report["coverage"]["notes"].as_array().unwrap();
    let is_noted = |note: &&Value| {
        note["detail"].as_str().unwrap().contains("same 20 batches as a/audit-0")
            || note["detail"].as_str().unwrap().contains("same 20 batches as audit-0")
    };
    assert_eq!(notes.iter().filter(is_noted).count(), 1, "{notes:?}");
}

#[test]
fn the_same_written_to_every_partition_copies_no_files() {
    let tree = Tree::new();
    tree.log("a", (1, "c"), "orders-0", ID, busy(20)).log("a", (1, "c"), "orders-1", ID, busy(20));
    assert!(with_code(&tree.scan(), "restored-copy").is_empty());
}

#[test]
fn one_partition_in_two_places_of_one_broker_counts_once_and_is_told() {
    let tree = Tree::new();
    tree.log("a", (1, "c"), "orders-0", ID, busy(20)).log("b", (1, "c"), "orders-0", ID, busy(15));
    let report = tree.scan();
    let [finding] = with_code(&report, "restored-copy")[..] else { panic!("{report:#}") };
    assert_eq!(finding["counts"]["surplusRecords"], 0);
    assert_eq!(report["visibility"]["readUncommitted"]["records"], 20);
}

#[test]
fn one_topic_id_in_two_clusters_is_a_copy() {
    let tree = Tree::new();
    tree.log("a", (1, "c"), "orders-0", ID, busy(20)).log("b", (2, "d"), "orders-0", ID, busy(20));
    let report = tree.scan();
    let [finding] = with_code(&report, "restored-copy")[..] else { panic!("{report:#}") };
    assert!(finding["facts"][0].as_str().unwrap().contains("two clusters and one topic id"));
}
