//! Two topics of one name: what is found in one of them is not said of the other.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its copy up has failed")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

mod support;

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(name).join("data")
}

fn scan(dirs: &[&Path]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
    let out = command.arg("scan").args(dirs).args(["--format", "json"]).output().unwrap();
    let report = serde_json::from_slice(&out.stdout).unwrap();
    support::assert_follows_the_schema(&report);
    report
}

fn findings<'r>(report: &'r Value, code: &'r str) -> Vec<&'r Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["code"] == code).collect()
}

fn facts(finding: &Value) -> Vec<&str> {
    finding["facts"].as_array().unwrap().iter().map(|fact| fact.as_str().unwrap()).collect()
}

#[test]
fn each_of_two_topics_of_one_name_has_findings_of_its_own() {
    let (switched, retried) = (scenario("silent-disable-acks1"), scenario("retry-idempotence-off"));
    let report = scan(&[&switched, &retried]);
    let lost = findings(&report, "idempotence-lost");
    let off = findings(&report, "idempotence-off");
    assert_eq!((lost.len(), off.len()), (1, 1), "{lost:#?} {off:#?}");
    assert!(lost[0]["title"].as_str().unwrap().contains("40 of 80 records"), "{}", lost[0]["title"]);
    assert!(off[0]["title"].as_str().unwrap().contains("all 38 records"), "{}", off[0]["title"]);
    for (finding, directory) in [(lost[0], &switched), (off[0], &retried)] {
        let id = fs::read_to_string(directory.join("orders-0/partition.metadata")).unwrap();
        let id = id.lines().find_map(|line| line.strip_prefix("topic_id: ")).unwrap();
        assert_eq!(finding["topicIds"], serde_json::json!([id]));
        let which = format!("of several topics that are called orders this is the one with topic id {id}");
        assert!(facts(finding).iter().any(|fact| fact.starts_with(&which)), "{:?}", facts(finding));
    }
    let linked = "surplus copies without producer id lie among these records";
    assert!(facts(off[0]).iter().any(|fact| fact.contains(linked)), "{:?}", facts(off[0]));
    assert!(!facts(lost[0]).iter().any(|fact| fact.contains(linked)), "{:?}", facts(lost[0]));
}

#[test]
fn a_finding_has_the_id_that_it_has_where_its_topic_is_given_alone() {
    let (switched, retried) = (scenario("silent-disable-acks1"), scenario("retry-idempotence-off"));
    let (both, alone) = (scan(&[&switched, &retried]), scan(&[&retried]));
    for code in ["idempotence-off", "retry-without-idempotence"] {
        assert_eq!(findings(&both, code)[0]["id"], findings(&alone, code)[0]["id"]);
        assert!(findings(&alone, code)[0].get("topicIds").is_none());
    }
}

/// A copy of a scenario in a cluster of another id, without topic ids.
fn without_topic_ids(name: &str, cluster: &str) -> TempDir {
    let (from, dir) = (scenario(name), TempDir::new().unwrap());
    for entry in fs::read_dir(&from).unwrap().map(Result::unwrap) {
        let to = dir.path().join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&to).unwrap();
            for file in fs::read_dir(entry.path()).unwrap().map(Result::unwrap) {
                if file.file_name() != "partition.metadata" {
                    fs::copy(file.path(), to.join(file.file_name())).unwrap();
                }
            }
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
    fs::write(dir.path().join("meta.properties"), format!("version=1\nnode.id=1\ncluster.id={cluster}\n"))
        .unwrap();
    dir
}

#[test]
fn topics_without_id_are_told_apart_by_their_clusters() {
    let one = without_topic_ids("retry-idempotence-off", "clusterOfTheEastAAAAAA");
    let other = without_topic_ids("retry-idempotence-off", "clusterOfTheWestAAAAAA");
    let report = scan(&[one.path(), other.path()]);
    let off = findings(&report, "idempotence-off");
    assert_eq!(off.len(), 2, "{off:#?}");
    for finding in &off {
        assert!(finding["title"].as_str().unwrap().contains("all 38 records"), "{}", finding["title"]);
        assert!(finding.get("topicIds").is_none());
        assert!(facts(finding).iter().any(|fact| fact.contains("the one without topic id, in ")));
    }
    let all = report["findings"].as_array().unwrap();
    let ids: BTreeSet<&str> = all.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), all.len());
}

#[test]
fn copies_in_other_partitions_of_their_topic_are_found_beside_a_topic_of_the_same_name() {
    let name = "keyed-multi-partition";
    let one = without_topic_ids(name, "clusterOfTheEastAAAAAA");
    let other = without_topic_ids(name, "clusterOfTheWestAAAAAA");
    let surplus = |report: &Value, code| -> Vec<u64> {
        findings(report, code)
            .iter()
            .map(|finding| finding["counts"]["surplusRecords"].as_u64().unwrap())
            .collect()
    };
    let alone = surplus(&scan(&[one.path()]), "resend-new-session");
    assert!(!alone.is_empty());
    let both = surplus(&scan(&[one.path(), other.path()]), "resend-new-session");
    assert_eq!(both, [alone.as_slice(), alone.as_slice()].concat());
}
