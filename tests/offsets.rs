//! `offsets`: positions of consumer groups, and what they say of the copies in the same files.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

use dedup_audit::testkit::{BatchSpec, SegmentBuilder, batch};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn offsets(paths: &[PathBuf], more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit")).arg("offsets").args(paths).args(more).output().unwrap()
}

fn told(paths: &[PathBuf], more: &[&str]) -> Value {
    let output = offsets(paths, &[more, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn broker_set() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1/offsets-topic")
}

#[test]
fn the_history_that_the_broker_wrote_is_told_commit_by_commit() {
    let set = broker_set();
    let label: Value = serde_json::from_slice(&fs::read(set.join("truth.json")).unwrap()).unwrap();
    let label = &label["committedOffsets"];
    let answer = told(&[set.join("data")], &["--commits", "0", "--key", "json:/invoiceFor"]);
    let groups = answer["groups"].as_array().unwrap();
    let billing = groups.iter().find(|group| group["group"] == label["group"]).unwrap();
    let commits: Vec<Value> = billing["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|commit| json!({"atOffset": commit["atOffset"], "committed": commit["offset"]}))
        .collect();
    assert_eq!(Value::from(commits), label["history"]);
    let step = &billing["rewinds"][0];
    assert_eq!((&step["from"], &step["to"], &step["members"]), (&json!(16), &json!(8), &json!(0)));
    assert_eq!(step["then"], 12, "the position went through the stretch again");
    // Generations 1 to 4 with a member and without one in turn.
    let members: Vec<_> = answer["generations"][0]["generations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| g["members"].clone())
        .collect();
    assert_eq!(members, [json!(0), json!(1), json!(0), json!(1), json!(0)]);

    let findings = answer["findings"].as_array().unwrap();
    let replay = findings.iter().find(|finding| finding["code"] == "pipeline-replay").unwrap();
    assert_eq!(replay["rewinds"][0]["atOffset"], step["atOffset"], "the replay is linked to the step back");
    let rewind = findings.iter().find(|finding| finding["code"] == "consumer-rewind").unwrap();
    assert_eq!((&rewind["severity"], &rewind["confidence"]), (&json!("info"), &json!("certain")));
}

#[test]
fn one_group_can_be_asked_for_and_old_commits_are_counted() {
    let answer = told(&[broker_set().join("data")], &["--group", "dashboard", "--commits", "1"]);
    let groups = answer["groups"].as_array().unwrap();
    assert_eq!((groups.len(), &groups[0]["commitsOmitted"]), (1, &json!(2)));
    assert!(answer["findings"].as_array().unwrap().iter().all(|f| f["code"] != "consumer-rewind"));
}

#[test]
fn without_the_topic_the_command_says_where_it_is() {
    let output = offsets(&[broker_set().join("data/orders-0")], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no partition of __consumer_offsets"));
}

/// A log directory that a test writes.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(orders: SegmentBuilder, commits: SegmentBuilder) -> Self {
        Self::named("orders-0", orders, commits)
    }

    fn named(name: &str, log: SegmentBuilder, commits: SegmentBuilder) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (partition, log) in [(name, log), ("__consumer_offsets-7", commits)] {
            let at = tree.0.path().join(partition);
            fs::create_dir(&at).unwrap();
            fs::write(at.join("00000000000000000000.log"), log.bytes()).unwrap();
        }
        tree
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

fn key(group: &str) -> Vec<u8> {
    let mut key = vec![0, 1];
    for text in [group, "orders"] {
        key.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
        key.extend(text.as_bytes());
    }
    key.extend(0_i32.to_be_bytes());
    key
}

/// A commit in one of the versions of its value.
fn value(version: i16, offset: i64) -> Vec<u8> {
    let mut value = version.to_be_bytes().to_vec();
    value.extend(offset.to_be_bytes());
    if version >= 3 {
        value.extend((-1_i32).to_be_bytes());
    }
    if version >= 4 {
        value.push(1);
    } else {
        value.extend([0, 0]);
    }
    value.extend(1_700_000_000_000_i64.to_be_bytes());
    match version {
        1 => value.extend((-1_i64).to_be_bytes()),
        4 => value.push(0),
        _ => {}
    }
    value
}

/// Five orders, the last two of them twice: by another producer.
fn orders() -> SegmentBuilder {
    let log = (0..5).fold(SegmentBuilder::new(), |log, at| {
        log.batch(batch().producer(1, 0, at).record(format!("order-{at}"), format!("v{at}")))
    });
    (3..5).fold(log, |log, at| {
        log.batch(batch().producer(2, 0, at - 3).record(format!("order-{at}"), format!("v{at}")))
    })
}

#[test]
fn every_version_of_a_commit_tells_who_has_the_copies_behind_it() {
    let mut log = SegmentBuilder::new();
    for (group, version, offset) in [("all", 0, 7), ("half", 1, 6), ("none", 3, 5), ("none\u{1b}[2J", 4, 0)] {
        log = log.batch(batch().record(key(group), value(version, offset)));
    }
    let tree = Tree::new(orders(), log);
    let answer = told(&[tree.path()], &["--key", "record-key"]);
    assert_eq!(
        answer["findings"][0]["consumedBy"],
        json!([
            {"group": "all", "all": true, "copies": 2},
            {"group": "half", "all": false, "copies": 1},
            {"group": "none", "all": false, "copies": 0},
            {"group": "none\u{1b}[2J", "all": false, "copies": 0},
        ])
    );
    let table = offsets(&[tree.path()], &[]);
    assert!(!table.stdout.contains(&0x1b), "a hostile name reaches no terminal");
    assert!(String::from_utf8_lossy(&table.stdout).contains("all has committed past all surplus copies"));
}

#[test]
fn commits_of_a_transaction_count_when_it_is_committed() {
    let transaction = |offset| batch().producer(9, 0, 0).transactional().record(key("g"), value(3, offset));
    let log = SegmentBuilder::new()
        .batch(batch().record(key("g"), value(3, 5)))
        .batch(transaction(2))
        .abort(9, 0)
        .batch(transaction(3))
        .commit(9, 0)
        .batch(transaction(1));
    let answer = told(&[Tree::new(orders(), log).path()], &[]);
    let told: Vec<_> =
        answer["groups"][0]["commits"].as_array().unwrap().iter().map(|c| c["offset"].clone()).collect();
    assert_eq!(told, [json!(5), json!(3)]);
    assert_eq!((&answer["groups"][0]["position"], &answer["uncommitted"]), (&json!(3), &json!(1)));
}

/// One group that reads `orders` and never goes back.
fn commits(positions: &[i64]) -> SegmentBuilder {
    positions.iter().fold(SegmentBuilder::new(), |log, position| {
        log.batch(batch().record(key("billing"), value(1, *position)))
    })
}

impl Tree {
    fn of_cluster(self, id: &str) -> Self {
        let properties = format!("version=1\ncluster.id={id}\nnode.id=1\n");
        fs::write(self.0.path().join("meta.properties"), properties).unwrap();
        self
    }
}

#[test]
fn a_group_of_one_name_in_two_clusters_is_two_groups() {
    let east = Tree::new(orders(), commits(&[3, 5, 7])).of_cluster("east");
    let west = Tree::new(orders(), commits(&[1, 2, 4])).of_cluster("west");
    for paths in [[east.path(), west.path()], [west.path(), east.path()]] {
        let answer = told(&paths, &[]);
        let groups = answer["groups"].as_array().unwrap();
        let positions: std::collections::BTreeSet<_> =
            groups.iter().map(|group| group["position"].as_i64().unwrap()).collect();
        assert_eq!((groups.len(), positions), (2, [4, 7].into()));
        assert!(groups.iter().all(|group| group["rewinds"] == json!([])), "{groups:?}");
        let findings = answer["findings"].as_array().unwrap();
        assert!(findings.iter().all(|finding| finding["code"] != "consumer-rewind"), "{findings:?}");
        // Of the copies of each cluster its own group has what it committed behind it.
        let consumed: std::collections::BTreeSet<_> = findings
            .iter()
            .filter(|finding| finding["code"] == "resend-new-session")
            .map(|finding| finding["consumedBy"][0]["copies"].as_u64())
            .collect();
        assert_eq!(consumed, [Some(0), Some(2)].into());
        let named: Vec<_> = groups
            .iter()
            .map(|group| {
                let cluster = usize::try_from(group["cluster"].as_u64().unwrap()).unwrap();
                answer["clusters"][cluster]["clusterId"].clone()
            })
            .collect();
        assert!(named.contains(&json!("east")) && named.contains(&json!("west")), "{named:?}");
    }
    // A third without an id may be of either: it stands by itself, and a note says so.
    let third = Tree::new(orders(), commits(&[2, 3]));
    let answer = told(&[east.path(), west.path(), third.path()], &[]);
    assert_eq!(answer["groups"].as_array().unwrap().len(), 3);
    let notes = answer["coverage"]["notes"].to_string();
    assert!(notes.contains("of which of 2 clusters it is"), "{notes}");
    // Where nothing tells of a second cluster there is one.
    let answer = told(&[east.path()], &[]);
    assert_eq!((&answer["clusters"], &answer["groups"][0]["cluster"]), (&json!([]), &json!(0)));
}

#[test]
fn two_clusters_that_are_given_together_are_told_as_each_alone() {
    let brokers = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1");
    let (one, other) = (brokers.join("consumer-rewind/data"), brokers.join("offsets-topic/data"));
    let findings = |paths: &[PathBuf]| {
        let told: Vec<(String, String, String)> = told(paths, &[])["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| {
                let text = |name: &str| finding[name].as_str().unwrap().to_owned();
                (text("code"), text("confidence"), text("title"))
            })
            .collect();
        told
    };
    let mut apart = [findings(std::slice::from_ref(&one)), findings(std::slice::from_ref(&other))].concat();
    for paths in [[one.clone(), other.clone()], [other, one]] {
        let mut together = findings(&paths);
        apart.sort();
        together.sort();
        assert_eq!(together, apart);
    }
}

#[test]
fn where_a_connector_had_stored_its_position_supports_a_replay() {
    let data =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1/mirrormaker2-kill-restart/data");
    let scan = |names: &[&str], more: &[&str]| {
        let paths = names.iter().map(|name| data.join(name));
        let done = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
            .arg("scan")
            .args(paths)
            .args(["--format", "json", "--topic", "east.orders", "--topic", "orders"])
            .args(more)
            .output()
            .unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        (serde_json::from_str::<Value>(&text).unwrap()["findings"].clone(), text)
    };
    let of = |findings: &Value, code: &str| {
        let found = findings.as_array().unwrap().iter().find(|finding| finding["code"] == code);
        found.unwrap_or_else(|| panic!("no {code}: {findings:#}")).clone()
    };
    let all = ["orders-0", "orders-1", "east.orders-0", "east.orders-1"];
    let stored = "mm2-offsets.east.internal-13";
    let with = of(&scan(&[&all[..], &[stored]].concat(), &[]).0, "pipeline-replay");
    let facts = with["facts"].to_string();
    // The mirror had stored offset 12 of both partitions when it was killed.
    for partition in [0, 1] {
        let said = format!("connector MirrorSourceConnector had stored offset 12 of orders-{partition} at");
        assert!(facts.contains(&said), "{facts}");
    }
    assert!(facts.contains("reads on at 13, where the copies begin"), "{facts}");
    assert_eq!(with["confidence"], "likely", "a position makes nothing certain");
    let without = of(&scan(&all, &[]).0, "pipeline-replay");
    assert_eq!((&without["id"], &without["confidence"]), (&with["id"], &with["confidence"]));
    assert!(!without["facts"].to_string().contains("MirrorSourceConnector"));

    // Without the source it supports a rival, by name.
    let alone = [&all[2..], &[stored]].concat();
    let undetermined = of(&scan(&alone, &[]).0, "duplicate-undetermined");
    let rivals = undetermined["alternatives"].to_string();
    assert!(
        rivals.contains("connector MirrorSourceConnector stores in mm2-offsets.east.internal"),
        "{rivals}"
    );
    for paths in [&alone, &[&all[..], &[stored]].concat()] {
        let (_, text) = scan(paths, &["--redact", "all"]);
        assert!(
            !text.contains("MirrorSourceConnector"),
            "a name stands in the sentences of a redacted report"
        );
    }
}

#[test]
fn the_position_from_which_a_restart_read_on_is_told() {
    const START: i64 = 1_700_000_000_000;
    let generation = |number: i32| {
        let key = [&[0, 2, 0, 1][..], b"g"].concat();
        let no_text = (-1_i16).to_be_bytes();
        let value = [&[0, 0, 0, 8][..], b"consumer", &number.to_be_bytes(), &no_text, &no_text, &[0; 4]];
        batch().record(key, value.concat())
    };
    let commit = |offset: i64, after: i64| {
        let no_epoch = (-1_i32).to_be_bytes();
        let time = (START + after).to_be_bytes();
        batch().record(key("g"), [&[0, 3][..], &offset.to_be_bytes(), &no_epoch, &[0, 0], &time].concat())
    };
    let bill = |producer, sequence, number: i32, after: i64| {
        let (key, value) = (format!("bill-{number}"), format!("v{number}"));
        batch().producer(producer, 0, sequence).time(START + after).record(key, value)
    };
    let first = (0..6).map(|at| bill(1, at, at, 100 * i64::from(at)));
    let later = (0..6).map(|at| bill(2, at, at + 2, 4_000 + 100 * i64::from(at)));
    let log = || first.clone().chain(later.clone()).fold(SegmentBuilder::new(), SegmentBuilder::batch);
    let told_of = |commits: Vec<_>| {
        let commits = commits.into_iter().fold(SegmentBuilder::new(), SegmentBuilder::batch);
        let tree = Tree::named("bills-0", log(), commits);
        told(&[tree.path()], &["--key", "record-key"])["findings"][0].clone()
    };
    let finding =
        told_of(vec![generation(1), commit(2, 150), generation(2), generation(3), commit(4, 4_500)]);
    assert_eq!(finding["code"], "resend-new-session");
    assert_eq!(finding["cause"]["confidence"], "likely");
    let cause = finding["cause"]["text"].as_str().unwrap();
    assert!(cause.contains("position 2 of orders-0"), "{cause}");
    assert!(
        finding["facts"].to_string().contains("group g had committed position 2 of orders-0"),
        "{finding:#}"
    );
    // Without a new generation nothing shows a restart of the group, and a commit behind the first original
    // is not where it began.
    for commits in [
        vec![generation(1), commit(2, 150), commit(4, 4_500)],
        vec![generation(1), commit(2, 350), generation(3), commit(4, 4_500)],
    ] {
        let finding = told_of(commits);
        assert_eq!(
            (&finding["code"], &finding["cause"]["confidence"]),
            (&json!("resend-new-session"), &json!("possible"))
        );
    }
}

#[test]
fn records_that_are_not_read_are_counted_among_the_notes() {
    let log = SegmentBuilder::new()
        .batch(batch().record(key("g"), value(3, 5)))
        .batch(batch().record(vec![0, 24, 0, 1, b'g'], vec![0, 0]))
        .batch(batch().record(key("g"), vec![0, 3, 1]));
    let output = offsets(&[Tree::new(orders(), log).path()], &["--format", "json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    // A commit may be what is broken: a step back would not be seen.
    assert_eq!((output.status.code(), &answer["complete"]), (Some(3), &Value::Bool(false)));
    let notes = answer["coverage"]["notes"].to_string();
    assert!(notes.contains("1 record of __consumer_offsets of type 24"), "{notes}");
    assert!(notes.contains("1 record of __consumer_offsets whose bytes"), "{notes}");
}

/// A consumer is never given a marker, and commits in front of it or behind it.
#[test]
fn a_position_that_steps_back_over_the_end_of_a_transaction_reads_nothing_twice() {
    let log = || {
        let data = |at: i32| batch().producer(7, 0, at).transactional().record(format!("k{at}"), "v");
        (0..3).fold(SegmentBuilder::new(), |log, at| log.batch(data(at))).commit(7, 0)
    };
    let rewinds = |from: i64, to: i64| -> usize {
        let commits = [from, to].into_iter().fold(SegmentBuilder::new(), |commits, offset| {
            commits.batch(batch().record(key("g"), value(3, offset)))
        });
        let answer = told(&[Tree::new(log(), commits).path()], &[]);
        let findings = answer["findings"].as_array().unwrap();
        findings.iter().filter(|finding| finding["code"] == "consumer-rewind").count()
    };
    assert_eq!((rewinds(4, 3), rewinds(4, 2)), (0, 1));
}

/// An application without transactions makes bills of orders; its group steps back, and it makes some of them
/// again. Nothing but keys and times joins the two.
mod replays_without_transactions {
    use super::*;

    const START: i64 = 1_700_000_000_000;

    fn committed(group: &str, offset: i64, after: i64) -> BatchSpec {
        let (no_epoch, time) = ((-1_i32).to_be_bytes(), (START + after).to_be_bytes());
        let value = [&[0, 3][..], &offset.to_be_bytes(), &no_epoch, &[0, 0], &time].concat();
        batch().record(key(group), value)
    }

    struct Scene {
        /// The producer of the orders.
        orders: i64,
        /// The producers of the first bills and of the later ones.
        bills: (i64, i64),
        /// Which orders were billed again.
        again: std::ops::Range<i32>,
        commits: Vec<BatchSpec>,
    }

    impl Scene {
        fn of(commits: Vec<BatchSpec>) -> Self {
            Self { orders: 5, bills: (1, 2), again: 4..8, commits }
        }

        fn finding(self) -> Value {
            let write = |producer, sequence, number: i32, value: &str, after: i64| {
                let (key, value) = (format!("order-{number}"), format!("{value}{number}"));
                batch().producer(producer, 0, sequence).time(START + after).record(key, value)
            };
            let orders = (0..10).map(|at| write(self.orders, at, at, "order", i64::from(at)));
            let first = (0..8).map(|at| write(self.bills.0, at, at, "bill", 100 + i64::from(at)));
            let later = (0..).zip(self.again);
            let later =
                later.map(|(at, bill)| write(self.bills.1, at, bill, "bill", 2_000 + i64::from(bill)));
            let log =
                |batches: Vec<_>| batches.into_iter().fold(SegmentBuilder::new(), SegmentBuilder::batch);
            let tree = Tree::new(log(orders.collect()), log(self.commits));
            let bills = tree.path().join("bills-0");
            fs::create_dir(&bills).unwrap();
            fs::write(bills.join("00000000000000000000.log"), log(first.chain(later).collect()).bytes())
                .unwrap();
            let answer = told(&[tree.path()], &["--key", "record-key"]);
            let findings = answer["findings"].as_array().unwrap();
            findings.iter().find(|finding| finding["code"] != "consumer-rewind").unwrap().clone()
        }
    }

    /// What is said of a replay, where it is said that the group was given the same keys again.
    fn hint(finding: &Value) -> Option<&str> {
        let rivals = finding["alternatives"].as_array().unwrap();
        let replay = rivals.iter().find(|rival| rival["code"] == "pipeline-replay").unwrap();
        replay["why"].as_str().filter(|why| why.starts_with("between the copies"))
    }

    #[test]
    fn are_a_rival_with_the_step_back_that_may_stand_behind_them() {
        for (again, copies) in [(4..8, 4), (5..6, 1)] {
            let commits = vec![committed("g", 8, 500), committed("g", 4, 1_500), committed("g", 8, 3_000)];
            let finding = Scene { again, ..Scene::of(commits) }.finding();
            assert_eq!(finding["code"], "resend-new-session", "nothing joins the group with the writer");
            assert_eq!(finding["rewinds"][0]["to"], 4);
            let told =
                format!("from 8 to 4, over records with the business keys of {copies} of {copies} copies");
            assert!(hint(&finding).unwrap().contains(&told), "{finding:#}");
        }
        let commits = vec![committed("g", 8, 500), committed("g", 6, 1_500)];
        let finding = Scene::of(commits).finding();
        assert!(hint(&finding).unwrap().contains("the business keys of 2 of 4 copies"));
    }

    #[test]
    fn are_no_rival_where_the_group_was_given_other_records_or_at_another_time() {
        const HOUR: i64 = 3_600_000;
        let innocent = [
            (
                "other records",
                vec![committed("g", 4, 500), committed("g", 0, 1_500), committed("g", 4, 1_600)],
            ),
            (
                "before the first copy",
                vec![committed("g", 8, 10), committed("g", 4, 50), committed("g", 8, 60)],
            ),
            (
                "after both",
                vec![committed("g", 8, 500), committed("g", 4, HOUR), committed("g", 8, HOUR + 100)],
            ),
            (
                "back long before the second copy",
                vec![committed("g", 8, 500), committed("g", 4, -HOUR), committed("g", 8, -HOUR / 2)],
            ),
        ];
        for (which, commits) in innocent {
            let finding = Scene::of(commits).finding();
            assert_eq!((&finding["code"], hint(&finding)), (&json!("resend-new-session"), None), "{which}");
            assert!(finding["rewinds"].is_null(), "{which}");
        }
        // One application writes orders and bills.
        let commits = vec![committed("g", 8, 500), committed("g", 4, 1_500)];
        let finding = Scene { orders: 2, bills: (1, 2), ..Scene::of(commits) }.finding();
        assert_eq!(hint(&finding), None);
    }

    /// A choice of copies does not lose what groups tell of them.
    #[test]
    fn are_linked_in_a_chosen_part_too() {
        let set = broker_set();
        let scan = |more: &[&str]| -> Value {
            let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
                .arg("scan")
                .arg(set.join("data"))
                .args(["--key", "json:/invoiceFor", "--format", "json"])
                .args(more)
                .output()
                .unwrap();
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            let findings = report["findings"].as_array().unwrap();
            findings.iter().find(|finding| finding["code"] == "pipeline-replay").unwrap().clone()
        };
        let (all, chosen) = (scan(&[]), scan(&["--offsets", "0..1000"]));
        assert_eq!(chosen["rewinds"], all["rewinds"]);
        assert!(all["rewinds"].as_array().is_some_and(|rewinds| !rewinds.is_empty()));
    }
}

/// Positions that mean other records than those that are here.
mod positions_of_other_records {
    use super::*;

    const TOPIC: [u8; 16] = [7; 16];

    /// A commit of version 4, with the id of the topic, or of version 3 with the leader epoch of what was read.
    fn committed(offset: i64, leader_epoch: i32, topic_id: Option<[u8; 16]>) -> BatchSpec {
        let version = if topic_id.is_some() { 4_i16 } else { 3 };
        let mut value = version.to_be_bytes().to_vec();
        value.extend(offset.to_be_bytes());
        value.extend(leader_epoch.to_be_bytes());
        value.extend(if version == 4 { &[1][..] } else { &[0, 0] });
        value.extend(1_700_000_000_000_i64.to_be_bytes());
        if let Some(id) = topic_id {
            // One tagged field: the id of the topic.
            value.extend([1, 0, 16]);
            value.extend(id);
        }
        batch().record(key("g"), value)
    }

    fn log(commits: Vec<BatchSpec>) -> SegmentBuilder {
        commits.into_iter().fold(SegmentBuilder::new(), SegmentBuilder::batch)
    }

    fn findings(answer: &Value, code: &str) -> Vec<Value> {
        let findings = answer["findings"].as_array().unwrap().iter();
        findings.filter(|finding| finding["code"] == code).cloned().collect()
    }

    fn consumed(commits: Vec<BatchSpec>, topic_id: Option<&str>) -> Value {
        let tree = Tree::new(orders(), log(commits));
        if let Some(id) = topic_id {
            let metadata = format!("version: 0\ntopic_id: {id}\n");
            fs::write(tree.path().join("orders-0/partition.metadata"), metadata).unwrap();
        }
        let answer = told(&[tree.path()], &["--key", "record-key"]);
        findings(&answer, "resend-new-session")[0]["consumedBy"].clone()
    }

    #[test]
    fn do_not_say_that_copies_were_consumed() {
        let all = json!([{"group": "g", "all": true, "copies": 2}]);
        let id = "BwcHBwcHBwcHBwcHBwcHBw";
        assert_eq!(consumed(vec![committed(7, 0, Some(TOPIC))], Some(id)), all);
        assert_eq!(consumed(vec![committed(7, 0, None)], None), all);
        // Of a topic of this name that is gone.
        assert_ne!(consumed(vec![committed(7, 0, Some([8; 16]))], Some(id)), all);
        // Behind the end of this log.
        assert_ne!(consumed(vec![committed(1000, 0, None)], None), all);
        // Before the position was deleted; afterwards the group came no further than the originals.
        let deletion = batch().record(key("g"), ());
        assert_ne!(consumed(vec![committed(7, 0, None), deletion, committed(3, 0, None)], None), all);
    }

    #[test]
    fn are_no_step_back_over_these() {
        let orders = || {
            (0..5).fold(SegmentBuilder::new(), |log, at| {
                let epoch = i32::from(at >= 3);
                log.batch(batch().leader_epoch(epoch).producer(1, 0, at).record(format!("o{at}"), "v"))
            })
        };
        let rewinds = |commits| {
            let answer = told(&[Tree::new(orders(), log(commits)).path()], &["--key", "record-key"]);
            findings(&answer, "consumer-rewind").len()
        };
        assert_eq!(rewinds(vec![committed(5, 1, None), committed(3, 0, None)]), 1);
        // It had read records of the old leader there, which were cut off: those of the new one are new.
        assert_eq!(rewinds(vec![committed(5, 0, None), committed(3, 0, None)]), 0);
        // Nothing stands between the end of this log and where it had been in another one.
        assert_eq!(rewinds(vec![committed(1000, 0, None), committed(5, 1, None)]), 0);
    }
}

#[test]
fn the_cleaner_has_been_only_where_something_shows_it() {
    const SAID: &str = "the cleaner has been here";
    let notes = |tree: &Tree, checkpoint: Option<i64>| {
        let file = tree.0.path().join("cleaner-offset-checkpoint");
        if let Some(at) = checkpoint {
            fs::write(file, format!("0\n1\n__consumer_offsets 7 {at}\n")).unwrap();
        }
        told(&[tree.path()], &[])["coverage"]["notes"].to_string()
    };
    let whole = Tree::new(orders(), commits(&[3, 5, 7]));
    assert!(!notes(&whole, None).contains(SAID));
    assert!(!notes(&whole, Some(0)).contains(SAID), "an entry at the start of the log is no pass");
    assert!(notes(&whole, Some(2)).contains(SAID));
    let holes = SegmentBuilder::new()
        .batch(batch().record(key("billing"), value(1, 3)))
        .skip_to(4)
        .batch(batch().record(key("billing"), value(1, 7)))
        .batch(batch().record(key("billing"), value(1, 8)));
    assert!(notes(&Tree::new(orders(), holes), Some(0)).contains(SAID));
}

#[test]
fn the_findings_about_replicas_that_the_coverage_points_to_are_told() {
    let one = Tree::new(orders(), commits(&[5, 3, 7]));
    let other = Tree::new(orders(), commits(&[5, 6, 7]));
    for (tree, id) in [(&one, 1), (&other, 2)] {
        let properties = format!("version=1\ncluster.id=c\nnode.id={id}\n");
        fs::write(tree.0.path().join("meta.properties"), properties).unwrap();
    }
    let answer = told(&[one.path(), other.path()], &[]);
    let of_replicas: Vec<_> = answer["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["code"] == "replica-divergence")
        .map(|finding| finding["partitions"][0]["topic"].clone())
        .collect();
    assert_eq!(of_replicas, [json!("__consumer_offsets")]);
}

#[test]
fn a_group_without_a_name_is_told_as_one() {
    let log = SegmentBuilder::new().batch(batch().record(key(""), value(3, 7)));
    let table = offsets(&[Tree::new(orders(), log).path()], &["--key", "record-key"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("Group \"\" (without a name)"), "{table}");
    assert!(table.contains("Consumer groups: \"\" (without a name) has committed past"), "{table}");
}

#[test]
fn a_position_that_was_deleted_and_is_back_at_once_is_not_told_as_one_that_never_went_back() {
    let deletion = batch().record(key("billing"), ());
    let log = commits(&[5]).batch(deletion).batch(batch().record(key("billing"), value(1, 5)));
    let tree = Tree::new(orders(), log);
    let answer = told(&[tree.path()], &[]);
    assert_eq!(
        (&answer["groups"][0]["begunAgain"], &answer["groups"][0]["rewinds"]),
        (&json!(1), &json!([]))
    );
    let table = String::from_utf8(offsets(&[tree.path()], &[]).stdout).unwrap();
    let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        table.contains("none went back, as far as commits tell (1 beginning anew behind a deletion)"),
        "{table}"
    );
}

#[test]
fn records_of_share_groups_are_counted_in_a_note() {
    let of_share_group = batch().record([&[0, 11, 0, 1][..], b"s"].concat(), vec![0, 0, 0, 0, 0, 7, 0]);
    let tree = Tree::new(orders(), commits(&[3]).batch(of_share_group));
    let notes = told(&[tree.path()], &[])["coverage"]["notes"].to_string();
    assert!(notes.contains("1 record of __consumer_offsets of share groups"), "{notes}");
}

#[test]
fn what_lies_behind_the_end_of_the_log_was_not_read_again() {
    // The log has offsets 0 to 6: the group was at 900, goes back to 2, and is at 6 then.
    let tree = Tree::new(orders(), commits(&[900, 2, 6]));
    let answer = told(&[tree.path()], &[]);
    let step = &answer["groups"][0]["rewinds"][0];
    assert_eq!((&step["from"], &step["to"]), (&json!(900), &json!(2)));
    assert_eq!((&step["againFirst"], &step["againLast"]), (&json!(2), &json!(6)));
    let table = String::from_utf8(offsets(&[tree.path()], &[]).stdout).unwrap();
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("offsets 2–6 were to be read again"), "{table}");
    assert!(!words.contains("899"), "{table}");
    let findings = answer["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["code"] == "consumer-rewind").unwrap();
    let rivals = finding["alternatives"].to_string();
    assert!(rivals.contains("another log") && rivals.contains("cut off or made anew"), "{rivals}");
    assert!(finding["title"].as_str().unwrap().contains("offsets 2–6 of orders-0"), "{finding}");
}

#[test]
fn a_deletion_has_the_time_of_its_record() {
    let log = SegmentBuilder::new()
        .batch(batch().record(key("billing"), value(1, 5)))
        .batch(batch().time(1_700_000_099_000).record(key("billing"), ()));
    let answer = told(&[Tree::new(orders(), log).path()], &[]);
    let deleted = &answer["groups"][0]["commits"][1];
    assert_eq!((&deleted["offset"], &deleted["timestamp"]), (&Value::Null, &json!(1_700_000_099_000_i64)));
}

#[test]
fn open_transactions_of_groups_that_are_not_asked_for_are_not_counted() {
    let open = batch().producer(9, 0, 0).transactional().record(key("other"), value(3, 5));
    let log = SegmentBuilder::new().batch(batch().record(key("billing"), value(1, 5))).batch(open);
    let tree = Tree::new(orders(), log);
    assert_eq!(told(&[tree.path()], &["--group", "billing"])["uncommitted"], 0);
    assert_eq!(told(&[tree.path()], &["--group", "other"])["uncommitted"], 1);
}
