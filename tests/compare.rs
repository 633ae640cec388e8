//! `compare`: replicas, copies of logs and mirrors side by side.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

use dedup_audit::testkit::{SegmentBuilder, batch};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn compare(paths: &[PathBuf], more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit")).arg("compare").args(paths).args(more).output().unwrap()
}

fn told(paths: &[PathBuf], more: &[&str], status: i32) -> Value {
    let output = compare(paths, &[more, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(status), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn set(scenario: &str, directories: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario);
    directories.iter().map(|directory| root.join(directory)).collect()
}

#[test]
fn replicas_that_an_unclean_election_parted_name_the_lost_tail_with_its_records() {
    let answer = told(&set("three-brokers-diverged", &["data-3", "data-2"]), &[], 1);
    let pairs = answer["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 2);
    for (pair, lost) in pairs.iter().zip([8, 4]) {
        let first = pair["firstDifference"].as_i64().unwrap();
        assert_eq!(pair["equalUpTo"], first, "all below is equal");
        // At each lost offset the leader has a record of another leader epoch, or none.
        let in_old = |range: &Value| range["records"].as_u64().unwrap();
        let ranges =
            ["different", "onlyB"].map(|name| pair[name].as_array().unwrap().iter().map(in_old).sum::<u64>());
        assert!(ranges.iter().sum::<u64>() >= lost, "{pair:#}");
        let shown = pair["records"].as_array().unwrap();
        let of_old = shown.iter().filter(|one| one["copy"]["brokerId"] == 2).count();
        assert!(u64::try_from(of_old).unwrap() >= lost, "the lost records are shown: {pair:#}");
        assert!(!pair["leaderEpochsPartAt"].is_null());
    }
    let finding = &answer["findings"][0];
    assert_eq!(finding["code"], "replica-divergence");
    assert_eq!(finding["partitions"].as_array().unwrap().len(), 2);
}

#[test]
fn replicas_that_rejoined_are_equal() {
    let answer = told(&set("three-brokers-rejoined", &["data-1", "data-2", "data-3"]), &[], 0);
    let pairs = answer["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 4);
    assert!(pairs.iter().all(|pair| pair["equal"] == true && pair["firstDifference"].is_null()));
    assert!(answer["findings"].as_array().unwrap().is_empty());
}

#[test]
fn a_mirror_that_was_killed_holds_24_records_twice() {
    let paths = set("mirrormaker2-kill-restart", &["data", "data"]);
    for (more, by) in [(&[][..], "content"), (&["--key", "json:/eventId"][..], "key")] {
        let answer = told(&paths, &[more, &["--mirror", "orders=east.orders"]].concat(), 1);
        assert_eq!(answer["findings"], json!([]));
        let mirrors: Vec<_> =
            answer["pairs"].as_array().unwrap().iter().filter(|p| !p["mirror"].is_null()).collect();
        let sum = |name: &str| mirrors.iter().map(|pair| pair["mirror"][name].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("missing"), sum("extra"), sum("repeated")), (0, 0, 24), "{by}");
        assert_eq!((sum("otherOrder"), sum("otherContent")), (0, 0), "{by}");
        assert_eq!(mirrors[0]["matchedBy"], by);
        let mapped = mirrors.iter().flat_map(|pair| pair["mirror"]["mapping"].as_array().unwrap());
        assert_eq!(mapped.map(|one| one["records"].as_u64().unwrap()).sum::<u64>(), sum("matched"));
    }
}

#[test]
fn every_set_compared_with_itself_is_equal() {
    let sets = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1");
    let mut compared = 0;
    for scenario in fs::read_dir(sets).unwrap() {
        let scenario = scenario.unwrap().path();
        let Some(data) =
            ["data", "data-1"].map(|name| scenario.join(name)).into_iter().find(|data| data.is_dir())
        else {
            continue;
        };
        let output = compare(&[data.clone(), data], &["--format", "json"]);
        let shown = scenario.display();
        // 3 where something cannot be read: it is the same on both sides.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{shown}: {output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&answer["findings"], &answer["unpaired"]), (&json!([]), &json!([])), "{shown}");
        for pair in answer["pairs"].as_array().unwrap() {
            compared += 1;
            assert_eq!(pair["equal"], true, "{shown}: {pair:#}");
            for list in ["onlyA", "onlyB", "different", "records", "snapshots"] {
                assert_eq!(pair[list], json!([]), "{shown}");
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

/// Log directories of a test.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn log(&self, partition: &str, log: SegmentBuilder) -> PathBuf {
        let at = self.0.path().join(partition);
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join("00000000000000000000.log"), log.bytes()).unwrap();
        at
    }
}

fn orders(values: &[String]) -> SegmentBuilder {
    (0..).zip(values).fold(SegmentBuilder::new(), |log, (at, value)| {
        log.batch(batch().producer(7, 0, at).record(format!("order-{at}"), value.as_str()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_difference_that_was_planted_is_found_where_it_is(count in 1_usize..30, at in 0_usize..30) {
        let at = at % count;
        let values: Vec<String> = (0..count).map(|number| format!("value-{number}")).collect();
        let mut changed = values.clone();
        changed[at] = "something else".to_owned();
        let tree = Tree::new();
        let a = tree.log("a/orders-0", orders(&values));
        let b = tree.log("b/orders-0", orders(&changed));
        let output = compare(&[a, b], &["--format", "json"]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let pair = &answer["pairs"][0];
        prop_assert_eq!(output.status.code(), Some(1));
        prop_assert_eq!(&pair["firstDifference"], at);
        let different = pair["different"].as_array().unwrap();
        prop_assert_eq!(different.len(), 1);
        let (first, last) = (&different[0]["firstOffset"], &different[0]["lastOffset"]);
        prop_assert_eq!((first, last), (&json!(at), &json!(at)));
        prop_assert_eq!(&different[0]["what"], "other-records");
        prop_assert_eq!(pair["records"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn a_tail_that_one_lacks_is_told_as_such() {
    let values: Vec<String> = (0..5).map(|number| format!("v{number}")).collect();
    let tree = Tree::new();
    let paths = [tree.log("a/orders-0", orders(&values)), tree.log("b/orders-0", orders(&values[..3]))];
    let answer = told(&paths, &[], 1);
    let tail = &answer["pairs"][0]["onlyA"][0];
    assert_eq!(
        (&tail["what"], &tail["firstOffset"], &tail["lastOffset"]),
        (&json!("tail"), &json!(3), &json!(4))
    );
    assert_eq!(answer["pairs"][0]["equalUpTo"], 3);
    assert_eq!(answer["pairs"][0]["firstDifference"], Value::Null);
}

#[test]
fn two_partitions_named_one_by_one_are_a_mirror_and_hostile_keys_are_escaped() {
    let tree = Tree::new();
    let log = |keys: &[&str]| {
        keys.iter().fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(*key, "v")))
    };
    let a = tree.log("a/orders-0", log(&["x", "lost\u{1b}[2J", "y", "z"]));
    let b = tree.log("b/copy-3", log(&["first", "x", "y", "y", "z"]));
    let answer = told(&[a.clone(), b.clone()], &[], 1);
    let pair = &answer["pairs"][0];
    let mirror = &pair["mirror"];
    let counts = ["matched", "missing", "extra", "repeated"].map(|name| mirror[name].as_u64().unwrap());
    assert_eq!(counts, [3, 1, 1, 1]);
    assert_eq!((&pair["onlyA"][0]["firstOffset"], &pair["onlyB"][0]["what"]), (&json!(1), &json!("extra")));
    assert_eq!(
        mirror["mapping"],
        json!([
            {"firstA": 0, "lastA": 0, "firstB": 1, "records": 1},
            {"firstA": 2, "lastA": 2, "firstB": 2, "records": 1},
            {"firstA": 3, "lastA": 3, "firstB": 4, "records": 1},
        ])
    );
    let table = compare(&[a, b], &[]);
    assert!(!table.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&table.stdout));
}

#[test]
fn what_has_no_counterpart_cannot_be_compared() {
    let tree = Tree::new();
    for partition in ["a/orders-0", "a/orders-1", "b/invoices-0", "b/invoices-1"] {
        tree.log(partition, orders(&["v".to_owned()]));
    }
    let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
    let output = compare(&paths, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--mirror"));
    told(&paths, &["--mirror", "orders=invoices"], 0);
    assert_eq!(compare(&paths[..1], &[]).status.code(), Some(2));
}

#[test]
fn brokers_that_hold_one_chosen_partition_each_are_no_mirrors() {
    let values: Vec<String> = (0..3).map(|number| format!("v{number}")).collect();
    let tree = Tree::new();
    // Brokers of a topic with one replica; each holds another topic, too.
    for partition in ["1/orders-0", "1/bills-0", "2/orders-1", "2/bills-1", "3/orders-2", "3/bills-0"] {
        tree.log(partition, orders(&values));
    }
    let at = |name: &str| tree.0.path().join(name);
    let refused = compare(&[at("1"), at("2"), at("3")], &["--topic", "orders"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("or as two partition directories"), "{said}");
    // Without a choice, too.
    tree.log("4/orders-4", orders(&values));
    tree.log("5/orders-5", orders(&values));
    assert_eq!(compare(&[at("4"), at("5")], &[]).status.code(), Some(2));
    assert_eq!(compare(&[at("4/orders-4"), at("5")], &[]).status.code(), Some(2));
    // What has a counterpart is compared, and the others have none.
    let answer = told(&[at("1"), at("2"), at("3")], &["--topic", "bills"], 3);
    assert_eq!((answer["pairs"].as_array().unwrap().len(), &answer["unpaired"]), (1, &json!(["2/bills-1"])));
    // Named one by one they are meant.
    let answer = told(&[at("4/orders-4"), at("5/orders-5")], &[], 0);
    assert_eq!(answer["pairs"][0]["mirror"]["matched"], 3);
}

#[test]
fn only_chosen_topics_are_compared_and_a_mirror_goes_with_its_source() {
    let tree = Tree::new();
    for partition in
        ["a/orders-0", "a/orders-1", "a/invoices-0", "b/east.orders-0", "b/east.orders-1", "b/invoices-0"]
    {
        tree.log(partition, orders(&["v".to_owned()]));
    }
    let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
    let compared = |more: &[&str]| -> Vec<String> {
        let answer = told(&paths, &[&["--mirror", "orders=east.orders"], more].concat(), 0);
        let name =
            |pair: &Value| format!("{}-{}", pair["b"]["topic"].as_str().unwrap(), pair["b"]["partition"]);
        assert_eq!(answer["unpaired"], json!([]), "{answer:#}");
        answer["pairs"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(compared(&[]), ["invoices-0", "east.orders-0", "east.orders-1"]);
    assert_eq!(compared(&["--topic", "invoices"]), ["invoices-0"]);
    assert_eq!(compared(&["--topic", "orders"]), ["east.orders-0", "east.orders-1"]);
    assert_eq!(compared(&["--topic", "east.*", "--partition", "1"]), ["east.orders-1"]);
    assert_eq!(compared(&["--partition", "0"]), ["invoices-0", "east.orders-0"]);
    let nothing = compare(&paths, &["--topic", "no-such-topic"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("invoices"), "{nothing:?}");
}

#[test]
fn the_timeline_tells_what_happened_and_which_copies_show_it() {
    let paths = set("three-brokers-diverged", &["data-3", "data-2"]);
    let table = |more: &[&str]| {
        let output = compare(&paths, more);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!table(&[]).contains("Timeline"));
    let shown = table(&["--timeline"]);
    let timeline = shown.split_once("Timeline (UTC").unwrap().1;
    assert!(timeline.contains("only in "), "{shown}");
    let there = table(&["--timeline", "--tz", "Asia/Kolkata"]);
    assert!(there.contains("Timeline (Asia/Kolkata") && there.contains("UTC+05:30"), "{there}");
    assert!(!there.contains(" UTC "), "{there}");
    let answer = told(&paths, &["--timeline", "--max-ranges", "0"], 1);
    let events = answer["events"].as_array().unwrap();
    assert_eq!(answer["eventsOmitted"], 0);
    // The leader that was elected without being in sync stands in one history alone.
    let parted = events.iter().filter(|event| event["kind"] == "leader-epoch");
    assert!(
        parted.clone().any(|event| event["detail"].as_str().unwrap().starts_with("only in ")),
        "{events:#?}"
    );
    // What happened to both is told once.
    let mut told: Vec<String> = events.iter().map(ToString::to_string).collect();
    told.sort();
    told.dedup();
    assert_eq!(told.len(), events.len());
    let in_a_partition = |partition: i64| -> Vec<i64> {
        let of = events.iter().filter(|event| event["partition"] == partition);
        of.filter_map(|event| event["timestamp"].as_i64()).collect()
    };
    assert!(in_a_partition(0).is_sorted(), "{events:#?}");
    let same = told_alone(&set("three-brokers-rejoined", &["data-1", "data-1"]));
    assert!(!same.iter().any(|event| event["detail"].as_str().unwrap().contains("only in")), "{same:#?}");
}

/// The events of copies that are equal.
fn told_alone(paths: &[PathBuf]) -> Vec<Value> {
    told(paths, &[], 0)["events"].as_array().unwrap().clone()
}

#[test]
fn a_partition_that_the_first_path_lacks_is_compared_among_the_others() {
    let values: Vec<String> = (0..5).map(|number| format!("v{number}")).collect();
    let tree = Tree::new();
    tree.log("1/invoices-0", orders(&values));
    tree.log("2/orders-0", orders(&values));
    tree.log("2/invoices-0", orders(&values));
    tree.log("3/orders-0", orders(&values[..4]));
    tree.log("3/invoices-0", orders(&values));
    let paths = ["1", "2", "3"].map(|name| tree.0.path().join(name));
    let answer = told(&paths, &[], 1);
    let name = |side: &Value| side["directory"].as_str().unwrap().to_owned();
    let pairs = answer["pairs"].as_array().unwrap();
    let pairs: Vec<_> =
        pairs.iter().map(|pair| (name(&pair["a"]), name(&pair["b"]), &pair["equal"])).collect();
    let expected = [
        ("1/invoices-0", "2/invoices-0", true),
        ("1/invoices-0", "3/invoices-0", true),
        ("2/orders-0", "3/orders-0", false),
    ];
    let expected = expected.map(|(a, b, equal)| (a.to_owned(), b.to_owned(), json!(equal)));
    let pairs: Vec<_> = pairs.into_iter().map(|(a, b, equal)| (a, b, equal.clone())).collect();
    assert_eq!(pairs, expected);
    assert_eq!(answer["unpaired"], json!([]));
}

#[test]
fn a_mirror_beside_its_source_needs_one_path() {
    let values: Vec<String> = (0..5).map(|number| format!("v{number}")).collect();
    let tree = Tree::new();
    tree.log("data/orders-0", orders(&values));
    tree.log("data/copy.orders-0", orders(&values[..4]));
    let data = tree.0.path().join("data");
    let answer = told(std::slice::from_ref(&data), &["--mirror", "orders=copy.orders"], 1);
    assert_eq!(answer["pairs"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&answer["pairs"][0]["mirror"]["matched"], &answer["pairs"][0]["mirror"]["missing"]),
        (&json!(4), &json!(1))
    );
    let refused = compare(&[data], &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--mirror orders=east.orders"));
}

#[test]
fn a_mirror_that_was_named_and_is_not_there_is_no_equality() {
    let values: Vec<String> = (0..5).map(|number| format!("v{number}")).collect();
    let tree = Tree::new();
    tree.log("data/orders-0", orders(&values));
    tree.log("data/bills-0", orders(&values));
    tree.log("data/east.bills-1", orders(&values));
    let data = tree.0.path().join("data");
    for (mirror, more, why) in [
        ("orders=east.orders", &[][..], "there is no topic east.orders; there are bills, east.bills, orders"),
        ("order=bills", &[], "there is no topic order;"),
        ("bills=east.bills", &[], "no partition of bills"),
        ("orders=east.orders", &["--topic", "orders"], "there is no topic east.orders"),
    ] {
        for paths in [&[data.clone()][..], &[data.clone(), data.clone()]] {
            let output = compare(paths, &[&["--mirror", mirror], more].concat());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(&format!("--mirror {mirror}: ")) && said.contains(why), "{said}");
        }
    }
    // A mirror that is not among the chosen topics is not asked for.
    let paths = [data.clone(), data];
    told(&paths, &["--mirror", "orders=copy.orders", "--topic", "bills"], 0);
}

#[test]
fn records_without_the_key_are_no_equality() {
    let log = |values: &[&str]| {
        values.iter().fold(SegmentBuilder::new(), |log, value| log.batch(batch().record("k", *value)))
    };
    let tree = Tree::new();
    tree.log("a/orders-0", log(&["{\"id\":1}", "{\"id\":2}", "{}"]));
    tree.log("a/orders-1", log(&["{}", "no JSON"]));
    tree.log("b/east.orders-0", log(&["{\"id\":1}", "{\"id\":2}"]));
    tree.log("b/east.orders-1", log(&["{}", "no JSON"]));
    let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
    let mirror = ["--mirror", "orders=east.orders", "--key"];
    for key in ["json:/orderId", "header:id"] {
        let output = compare(&paths, &[&mirror[..], &[key]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("--key {key}: no record of a mirror")), "{said}");
    }
    tree.log("c/orders-0", log(&["no JSON"]));
    tree.log("d/east.orders-0", log(&["no JSON"]));
    let no_json = [tree.0.path().join("c"), tree.0.path().join("d")];
    assert_eq!(compare(&no_json, &[&mirror[..], &["json:/id"]].concat()).status.code(), Some(2));
    let answer = told(&paths, &[&mirror[..], &["json:/id"]].concat(), 3);
    let nothing: Vec<_> =
        answer["pairs"].as_array().unwrap().iter().map(|pair| &pair["nothingCompared"]).collect();
    assert_eq!(nothing, [&json!(false), &json!(true)]);
    let table = compare(&paths, &[&mirror[..], &["json:/id"]].concat());
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.starts_with("2 pairs compared: no difference was seen, but of 1 pair nothing"), "{table}");
    assert!(!table.contains("all are equal"), "{table}");
    // By content they have all they need.
    told(&paths, &["--mirror", "orders=east.orders", "--partition", "1"], 0);
}

#[test]
fn a_partition_that_one_side_lacks_is_no_equality() {
    let values: Vec<String> = (0..5).map(|number| format!("v{number}")).collect();
    let tree = Tree::new();
    for partition in ["a/orders-0", "a/orders-1", "b/orders-0", "c/east.orders-0"] {
        tree.log(partition, orders(&values));
    }
    // No record was ever written to it.
    tree.log("a/orders-2", SegmentBuilder::new());
    let [a, b, c] = ["a", "b", "c"].map(|name| tree.0.path().join(name));
    for (paths, more) in
        [([a.clone(), b.clone()], &[][..]), ([a.clone(), c.clone()], &["--mirror", "orders=east.orders"])]
    {
        let answer = told(&paths, more, 3);
        assert_eq!(answer["unpaired"], json!(["a/orders-1", "a/orders-2"]));
        assert_eq!(answer["unpairedWithData"], 1);
        let table = String::from_utf8(compare(&paths, more).stdout).unwrap();
        assert!(
            table.starts_with("1 pair compared: no difference was seen, but 1 partition has no counterpart."),
            "{table}"
        );
        told(&paths, &[more, &["--partition", "0", "--partition", "2"]].concat(), 0);
    }
    // Topics beside a named mirror belong to their clusters.
    tree.log("a/bills-0", orders(&values));
    tree.log("c/east.orders-1", orders(&values));
    tree.log("c/heartbeats-0", orders(&values));
    told(&[a, c], &["--mirror", "orders=east.orders"], 0);
}

#[test]
fn a_mirror_of_what_is_committed_lacks_nothing_that_was_aborted_and_retried() {
    let data = |id, sequence| batch().producer(id, 0, sequence).transactional();
    let tree = Tree::new();
    let source = SegmentBuilder::new()
        .batch(data(7, 0).record("k0", "v").record("k1", "v"))
        .abort(7, 0)
        .batch(data(7, 2).record("k0", "v").record("k1", "v"))
        .commit(7, 0)
        .batch(batch().record("k2", "v"));
    let log = |keys: &[&str]| {
        keys.iter().fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(*key, "v")))
    };
    tree.log("a/orders-0", source);
    tree.log("b/east.orders-0", log(&["k0", "k1", "k2"]));
    // This one was stopped and wrote again what it had not committed.
    let restarted = SegmentBuilder::new()
        .batch(data(9, 0).record("k0", "v").record("k1", "v"))
        .abort(9, 0)
        .batch(data(9, 2).record("k0", "v").record("k1", "v"))
        .commit(9, 0)
        .batch(batch().record("k2", "v"));
    tree.log("c/east.orders-0", restarted);
    tree.log("d/east.orders-0", log(&["k0", "k2"]));
    let mirror = |name: &str, status| {
        let paths = [tree.0.path().join("a"), tree.0.path().join(name)];
        told(&paths, &["--mirror", "orders=east.orders"], status)["pairs"][0]["mirror"].clone()
    };
    let held = mirror("b", 0);
    assert_eq!(
        (&held["matched"], &held["missing"], &held["missingWithheld"]),
        (&json!(3), &json!(2), &json!(2))
    );
    assert_eq!(held["mapping"][0]["firstA"], 3, "the committed ones stand for them: {held:#}");
    let restarted = mirror("c", 0);
    let matched_withheld = (&restarted["missing"], &restarted["repeated"], &restarted["surplusWithheld"]);
    // Aborted ones of both sides stand for each other.
    assert_eq!(matched_withheld, (&json!(0), &json!(0), &json!(0)), "{restarted:#}");
    let lost = mirror("d", 1);
    assert_eq!((&lost["missing"], &lost["missingWithheld"]), (&json!(3), &json!(2)));
}

#[test]
fn a_mirror_repeats_nothing_where_its_own_transactions_were_aborted() {
    let tree = Tree::new();
    tree.log("a/orders-0", SegmentBuilder::new().batch(batch().record("k0", "v")));
    let mirror = SegmentBuilder::new()
        .batch(batch().producer(9, 0, 0).transactional().record("k0", "v").record("other", "v"))
        .abort(9, 0)
        .batch(batch().producer(9, 0, 2).transactional().record("k0", "v"))
        .commit(9, 0);
    tree.log("b/east.orders-0", mirror);
    let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
    let answer = told(&paths, &["--mirror", "orders=east.orders"], 0);
    let mirror = &answer["pairs"][0]["mirror"];
    assert_eq!(
        (&mirror["extra"], &mirror["repeated"], &mirror["surplusWithheld"]),
        (&json!(1), &json!(1), &json!(2))
    );
    assert_eq!(mirror["mapping"][0]["firstB"], 3);
}

#[test]
fn what_a_mirror_has_in_aborted_or_open_transactions_alone_it_does_not_have() {
    let data = |sequence| batch().producer(9, 0, sequence).transactional();
    let tree = Tree::new();
    tree.log("a/orders-0", SegmentBuilder::new().batch(batch().record("k0", "v").record("k1", "v")));
    let ends = |name: &str, log: SegmentBuilder, status| {
        tree.log(&format!("{name}/east.orders-0"), log);
        let paths = [tree.0.path().join("a"), tree.0.path().join(name)];
        let answer = told(&paths, &["--mirror", "orders=east.orders"], status);
        ["matched", "missing", "missingWithheld", "repeated", "surplusWithheld"]
            .map(|count| answer["pairs"][0]["mirror"][count].as_u64().unwrap())
    };
    let held = || SegmentBuilder::new().batch(batch().record("k0", "v")).batch(data(0).record("k1", "v"));
    assert_eq!(ends("committed", held().commit(9, 0), 0), [2, 0, 0, 0, 0]);
    assert_eq!(ends("aborted", held().abort(9, 0), 1), [1, 1, 0, 1, 1]);
    assert_eq!(ends("open", held(), 1), [1, 1, 0, 1, 1]);
    // Behind an open transaction a record without one is there: its readers only have to wait.
    let waits = SegmentBuilder::new()
        .batch(data(0).record("other", "v"))
        .batch(batch().record("k0", "v").record("k1", "v"));
    assert_eq!(ends("waits", waits, 0), [2, 0, 0, 0, 1]);
    // What nobody gets of the source either may be withheld in the mirror as well.
    tree.log("a/orders-0", held().abort(9, 0));
    assert_eq!(ends("alike", held().abort(9, 0), 0), [2, 0, 0, 0, 0]);
}

#[test]
fn what_a_mirror_shows_and_its_source_aborted_is_a_difference() {
    let data = |sequence| batch().producer(7, 0, sequence).transactional();
    let tree = Tree::new();
    let ends = |source: SegmentBuilder, mirror: &[&str], status| {
        tree.log("a/orders-0", source);
        let mirror =
            mirror.iter().fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(*key, "v")));
        tree.log("b/east.orders-0", mirror);
        let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
        let more = ["--mirror", "orders=east.orders"];
        let answer = told(&paths, &more, status);
        let table = String::from_utf8(compare(&paths, &more).stdout).unwrap();
        let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
        let pair = &answer["pairs"][0];
        let counts = ["matched", "missing", "missingWithheld", "repeated", "shownAborted", "shownOpen"]
            .map(|count| pair["mirror"][count].as_u64().unwrap());
        let ranges: Vec<_> = pair["onlyB"]
            .as_array()
            .unwrap()
            .iter()
            .map(|range| {
                let offset = |name: &str| range[name].as_i64().unwrap();
                (range["what"].as_str().unwrap().to_owned(), offset("firstOffset"), offset("lastOffset"))
            })
            .collect();
        (counts, ranges, table)
    };
    let two = || data(0).record("k0", "v").record("k1", "v");
    let aborted = || SegmentBuilder::new().batch(two()).abort(7, 0);
    let (counts, ranges, table) = ends(aborted(), &["k0", "k1"], 1);
    assert_eq!(counts, [0, 0, 0, 0, 2, 0]);
    assert_eq!(ranges, [("aborted-in-source".to_owned(), 0, 1)]);
    assert!(table.contains("2 more in the mirror are aborted in the source"), "{table}");
    // Some of them were sent again and committed: those that stand for them are there, the others too many.
    let retried = || aborted().batch(data(2).record("k1", "v").record("k2", "v")).commit(7, 0);
    let (counts, ranges, _) = ends(retried(), &["k0", "k1", "k1", "k2"], 1);
    assert_eq!(counts, [2, 0, 0, 0, 2, 0]);
    let what = "aborted-in-source".to_owned();
    assert_eq!(ranges, [(what.clone(), 0, 0), (what.clone(), 2, 2)]);
    assert_eq!(ends(retried(), &["k1", "k2"], 0).0, [2, 2, 2, 0, 0, 0]);
    // What it shows more often than the source tried it is repeated.
    assert_eq!(ends(aborted(), &["k0", "k0", "k1"], 1).0, [0, 0, 0, 1, 2, 0]);
    // Of an open transaction nobody knows the end.
    let open = || SegmentBuilder::new().batch(two());
    let (counts, ranges, table) = ends(open(), &["k0", "k1"], 3);
    assert_eq!((counts, ranges), ([0, 0, 0, 0, 0, 2], vec![("open-in-source".to_owned(), 0, 1)]));
    assert!(!table.contains("all are equal") && table.contains("may yet be committed or aborted"), "{table}");
    // A record behind its begin that is of no transaction is only waited for.
    let waits = open().batch(batch().record("k2", "v"));
    assert_eq!(ends(waits, &["k2"], 0).0, [1, 2, 2, 0, 0, 0]);
    // Retention took what stood before: it may have been there outside of a transaction.
    let at = tree.0.path().join("a/orders-0");
    fs::remove_dir_all(&at).unwrap();
    fs::create_dir_all(&at).unwrap();
    let headless = SegmentBuilder::at(20).batch(two()).abort(7, 0).batch(batch().record("k2", "v"));
    fs::write(at.join("00000000000000000020.log"), headless.bytes()).unwrap();
    let paths = [tree.0.path().join("a"), tree.log("b/east.orders-0", keyed(&["k0", "k1", "k2"]))];
    let paths = [paths[0].clone(), paths[1].parent().unwrap().to_owned()];
    let mirror = &told(&paths, &["--mirror", "orders=east.orders"], 3)["pairs"][0]["mirror"];
    assert_eq!((&mirror["shownAborted"], &mirror["shownAbortedRemoved"]), (&json!(2), &json!(2)));
    // Behind a record that both hold it is not from there.
    tree.log("b/east.orders-0", keyed(&["k2", "k0"]));
    let mirror = &told(&paths, &["--mirror", "orders=east.orders"], 1)["pairs"][0]["mirror"];
    assert_eq!((&mirror["shownAborted"], &mirror["shownAbortedRemoved"]), (&json!(1), &json!(0)));
}

#[test]
fn an_extra_record_behind_an_open_transaction_of_the_mirror_is_there() {
    let tree = Tree::new();
    tree.log("a/orders-0", keyed(&["k0"]));
    let open = batch().producer(9, 0, 0).transactional().record("other", "v");
    let mirror = SegmentBuilder::new()
        .batch(batch().record("k0", "v"))
        .batch(open)
        .batch(batch().record("k0", "v").record("extra", "v"));
    tree.log("b/east.orders-0", mirror);
    let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
    let answer = told(&paths, &["--mirror", "orders=east.orders"], 1);
    let mirror = &answer["pairs"][0]["mirror"];
    let counts = ["extra", "repeated", "surplusWithheld"].map(|name| mirror[name].as_u64().unwrap());
    assert_eq!(counts, [2, 1, 1], "only what is of the transaction is withheld");
}

/// A batch of one record with the value `v` for each key.
fn keyed(keys: &[&str]) -> SegmentBuilder {
    keys.iter().fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(*key, "v")))
}

/// A mirror of `source` with a cleaner's checkpoint, and what is counted of it.
fn cleaned_mirror(source: SegmentBuilder, mirror: SegmentBuilder, cleaned: i64, status: i32) -> [u64; 5] {
    let tree = Tree::new();
    tree.log("a/states-0", source);
    tree.log("b/west.states-0", mirror);
    fs::write(tree.0.path().join("b/cleaner-offset-checkpoint"), format!("0\n1\nwest.states 0 {cleaned}\n"))
        .unwrap();
    let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
    let answer = told(&paths, &["--mirror", "states=west.states"], status);
    // What is missing from one is surplus in the other.
    let swapped = [paths[1].clone(), paths[0].clone()];
    let other = told(&swapped, &["--mirror", "west.states=states"], status);
    let (mirror, other) = (&answer["pairs"][0]["mirror"], &other["pairs"][0]["mirror"]);
    assert_eq!(
        (&mirror["missing"], &mirror["missingRemoved"], &mirror["removedUnsure"]),
        (&other["extra"], &other["extraRemoved"], &other["removedUnsure"])
    );
    ["matched", "missing", "missingRemoved", "extra", "removedUnsure"]
        .map(|name| mirror[name].as_u64().unwrap())
}

#[test]
fn no_cleaner_takes_the_newest_value_of_a_key_from_a_mirror() {
    // k0=0 k1=1 k2=2 k0=3 k1=4 k2=5 …, and a last record that both hold.
    let states = |kept: &dyn Fn(usize) -> bool| {
        let log = (0..9).fold(SegmentBuilder::new(), |log, at| {
            let spec = batch().record(format!("k{}", at % 3), format!("{at}"));
            if kept(at) { log.batch(spec) } else { log.skip_to(i64::try_from(at + 1).unwrap()) }
        });
        log.batch(batch().record("end", "v"))
    };
    let lost =
        |kept: &dyn Fn(usize) -> bool, status| cleaned_mirror(states(&|_| true), states(kept), 10, status);
    assert_eq!(lost(&|at| at >= 6, 0), [4, 6, 6, 0, 0], "the newest of each are there");
    assert_eq!(lost(&|at| at >= 7, 1), [3, 7, 6, 0, 0], "nothing of k0");
    assert_eq!(lost(&|at| at >= 7 || at == 3, 1), [4, 6, 5, 0, 0], "an older value of k0");
    // Without a hole: the mirror's offsets go on, and each key had one value.
    let once = |keys: &[&str]| {
        keys.iter().fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(*key, "v")))
    };
    assert_eq!(cleaned_mirror(once(&["a", "b", "c"]), once(&["a", "c"]), 2, 1), [2, 1, 0, 0, 0]);
    // Its cleaner went further than the source goes: a tombstone may have been there.
    let further = once(&["a", "c"]).skip_to(5);
    let further = further.batch(batch().record("d", "v").kept(&[]));
    assert_eq!(cleaned_mirror(once(&["a", "b", "c"]), further, 6, 3), [2, 1, 1, 0, 1]);
    // A later record of the key that only the mirror has, or one without a key.
    let holed = |keys: &[&str]| {
        let rest = keys.iter().skip(1);
        let log = once(&keys[..1]).skip_to(2);
        rest.fold(log, |log, key| log.batch(batch().record(*key, "v")))
    };
    let replaced = holed(&["a", "c"]).batch(batch().record("b", "w"));
    assert_eq!(cleaned_mirror(once(&["a", "b", "c"]), replaced, 4, 1), [2, 1, 1, 1, 0]);
    let unkeyed = once(&["a"]).batch(batch().record(None, "v")).batch(batch().record("c", "v"));
    assert_eq!(cleaned_mirror(unkeyed.clone(), holed(&["a", "c"]), 3, 0), [2, 1, 1, 0, 0]);
    // Without an offset for it there was none.
    assert_eq!(cleaned_mirror(unkeyed, once(&["a", "c"]), 2, 1), [2, 1, 0, 0, 0]);
}

#[test]
fn a_cleaner_takes_a_tombstone_from_a_mirror_together_with_what_it_deletes() {
    let deleted = || {
        SegmentBuilder::new()
            .batch(batch().record("a", "v"))
            .batch(batch().record("a", None))
            .batch(batch().record("c", "v"))
    };
    let end = || SegmentBuilder::new().skip_to(2).batch(batch().record("c", "v"));
    assert_eq!(cleaned_mirror(deleted(), end(), 3, 0), [1, 2, 2, 0, 0]);
    let above = SegmentBuilder::new().batch(batch().record("a", "v")).batch(batch().record("c", "v"));
    assert_eq!(cleaned_mirror(deleted(), above, 2, 1), [2, 1, 0, 0, 0], "the key is back");
}

/// A log of states, each with its value; of those that are not kept the offset is left.
fn states_kept(states: &[(String, Option<String>)], kept: impl Fn(usize) -> bool) -> SegmentBuilder {
    states.iter().enumerate().fold(SegmentBuilder::new(), |log, (at, (key, value))| {
        let spec = batch().record(key.as_str(), value.as_ref().map(|value| value.as_bytes().to_vec()));
        if kept(at) { log.batch(spec) } else { log.skip_to(i64::try_from(at + 1).unwrap()) }
    })
}

#[test]
fn what_was_cleaned_behind_the_last_record_that_both_hold_is_removed() {
    // A tombstone that is gone, an aborted transaction behind it, and what the cleaner has not reached.
    let aborted = |log: SegmentBuilder| {
        let data = batch().producer(7, 0, 0).transactional().record("q", "1");
        log.batch(data.kept(&[])).abort(7, 0)
    };
    let head = || SegmentBuilder::new().batch(batch().record("a", "v")).batch(batch().record("b", "v"));
    let source = |log: SegmentBuilder| log.batch(batch().record("end", "v"));
    let mirror = || head().batch(batch().record("c", None)).batch(batch().record("end", "v"));
    for cleaned in [source(head().skip_to(3)), source(aborted(head().skip_to(3)))] {
        assert_eq!(cleaned_mirror(mirror(), cleaned, 3, 0), [3, 1, 1, 0, 0]);
    }
    // Without an offset for it, or behind what the cleaner has not reached, it was never there.
    assert_eq!(cleaned_mirror(mirror(), source(head()), 2, 1), [3, 1, 0, 0, 0]);
    let later = source(head()).skip_to(4).batch(batch().record("z", "v"));
    let late = source(head()).batch(batch().record("c", None)).batch(batch().record("z", "v"));
    assert_eq!(cleaned_mirror(late, later, 2, 3), [4, 1, 1, 0, 1], "a hole that nothing explains");
}

#[test]
fn a_mirror_that_lags_may_hold_what_was_superseded_behind_its_end() {
    // Each tenth key once, the others again and again.
    let all: Vec<_> = (0..100)
        .map(|at| {
            let key = if at % 10 == 0 { format!("once{at}") } else { format!("k{}", at % 10) };
            (key, Some(format!("v{at}")))
        })
        .collect();
    let source = || states_kept(&all, |at| at % 10 == 0 || at > 80);
    for (end, matched) in [(60, 6), (65, 7), (83, 11), (95, 23)] {
        let mirror = states_kept(&all[..end], |_| true);
        let missing = u64::try_from((end..100).filter(|at| at % 10 == 0 || *at > 80).count()).unwrap();
        let extra = u64::try_from(end).unwrap() - matched;
        // Swapped, the mirror is the first of the two.
        let counts = cleaned_mirror(mirror, source(), 90, 1);
        assert_eq!(counts, [matched, extra, extra, missing, 0], "{end}");
    }
}

#[test]
fn what_stands_alone_beside_bytes_that_cannot_be_read_is_no_difference_of_a_mirror() {
    let log = |keys: std::ops::Range<usize>| {
        keys.fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(format!("k{key}"), "v")))
    };
    let tree = Tree::new();
    tree.log("whole/orders-0", log(0..10));
    tree.log("whole-mirror/east.orders-0", log(0..10));
    let damage = |name: &str, topic: &str, log: SegmentBuilder, at: usize| {
        let place = log.places().get(at).unwrap().position;
        let path = tree.log(&format!("{name}/{topic}-0"), log).join("00000000000000000000.log");
        let mut bytes = fs::read(&path).unwrap();
        let last = place + 64;
        bytes[last] ^= 0xff;
        fs::write(path, bytes).unwrap();
    };
    let counts = |a: &str, b: &str, status| {
        let paths = [tree.0.path().join(a), tree.0.path().join(b)];
        let answer = told(&paths, &["--mirror", "orders=east.orders"], status);
        ["missing", "missingUnreadable", "extra", "surplusUnreadable"]
            .map(|name| answer["pairs"][0]["mirror"][name].as_u64().unwrap())
    };
    for at in [0, 4, 9] {
        damage("mirror", "east.orders", log(0..10), at);
        assert_eq!(counts("whole", "mirror", 3), [1, 1, 0, 0], "{at}");
        damage("source", "orders", log(0..10), at);
        assert_eq!(counts("source", "whole-mirror", 3), [0, 0, 1, 1], "{at}");
    }
    // What would stand elsewhere is missing.
    let without = (0..10)
        .filter(|key| *key != 2)
        .fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(format!("k{key}"), "v")));
    damage("mirror", "east.orders", without, 6);
    assert_eq!(counts("whole", "mirror", 1), [2, 1, 0, 0]);
}

#[test]
fn what_a_replica_may_hold_behind_its_last_sound_batch_is_no_tail_that_it_lacks() {
    let log = |keys: std::ops::Range<i32>| {
        keys.fold(SegmentBuilder::new(), |log, key| {
            log.batch(batch().producer(7, 0, key * 2).record(format!("k{key}"), "v").record("and", "v"))
        })
    };
    let pair = |held: i32, cut: usize, other: i32, status| {
        let tree = Tree::new();
        let a = tree.log("a/orders-0", log(0..other));
        let b = tree.log("b/orders-0", log(0..held));
        let path = b.join("00000000000000000000.log");
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(bytes.len() - cut);
        let at = bytes.len() - 20;
        bytes[at] ^= 0xff;
        fs::write(path, bytes).unwrap();
        let other_way = told(&[b.clone(), a.clone()], &[], status)["pairs"][0].clone();
        let pair = told(&[a, b], &[], status)["pairs"][0].clone();
        assert_eq!(pair["lacksB"], other_way["lacksA"]);
        assert_eq!(pair["onlyA"], other_way["onlyB"]);
        pair
    };
    for cut in [0, 3] {
        let alike = pair(6, cut, 6, 3);
        assert_eq!((&alike["equal"], &alike["onlyA"]), (&json!(true), &json!([])), "{alike:#}");
        assert_eq!((&alike["equalUpTo"], &alike["lacksB"]["unreadable"]), (&json!(10), &json!(2)));
        assert_eq!(alike["compactionOnly"], false);
        // The batch that cannot be read is one; two more are not there.
        let behind = pair(6, cut, 8, 1);
        let tail = &behind["onlyA"][0];
        assert_eq!(
            (&tail["what"], &tail["firstOffset"], &tail["records"]),
            (&json!("tail"), &json!(12), &json!(4))
        );
        assert_eq!(behind["lacksB"]["unreadable"], 2);
    }
}

#[test]
fn what_a_cleaner_without_a_checkpoint_may_have_taken_is_only_possibly_lost() {
    let log = |kept: &dyn Fn(usize) -> bool, keys: usize| {
        (0..40).fold(SegmentBuilder::new(), |log, at| {
            let record =
                batch().producer(1, 0, i32::try_from(at).unwrap()).record(format!("k{}", at % keys), "v");
            let time = 1_700_000_000_000 + i64::try_from(at).unwrap();
            if kept(at) { log.batch(record.time(time)) } else { log.skip_to(i64::try_from(at + 1).unwrap()) }
        })
    };
    let verdict = |kept: &dyn Fn(usize) -> bool, keys| {
        let tree = Tree::new();
        let paths = [tree.log("a/state-0", log(&|_| true, keys)), tree.log("b/state-0", log(kept, keys))];
        for path in &paths {
            fs::write(path.join("partition.metadata"), "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABQ\n")
                .unwrap();
        }
        let answer = told(&paths, &[], 1);
        let finding = &answer["findings"][0];
        assert_eq!(finding["code"], "replica-divergence", "{answer:#}");
        let compaction = finding["alternatives"].as_array().unwrap().iter();
        let compaction = compaction.filter(|one| one["code"] == "compaction").map(|one| one["kept"].clone());
        (finding["confidence"].as_str().unwrap().to_owned(), compaction.collect::<Vec<_>>())
    };
    // Five keys, each with a newer value behind the hole.
    assert_eq!(verdict(&|at| at >= 20, 5), ("possible".to_owned(), vec![json!(true)]));
    // A key of its own each: no cleaner takes those.
    let (confidence, compaction) = verdict(&|at| at >= 20, 40);
    assert_ne!(confidence, "possible");
    assert_eq!(compaction, [json!(false)]);
    // The newest value of one of the keys is among them.
    let (confidence, _) = verdict(&|at| !(10..12).contains(&at) && at != 39, 5);
    assert_eq!(confidence, "possible", "39 is the end of the other, which is lag");
    let (confidence, _) = verdict(&|at| !(34..=36).contains(&at), 5);
    assert_ne!(confidence, "possible");
}

#[test]
fn what_retention_or_compaction_took_is_neither_missing_nor_extra_in_a_mirror() {
    let log = |keys: std::ops::Range<usize>, first: i64| {
        keys.fold(SegmentBuilder::at(first), |log, key| log.batch(batch().record(format!("k{key}"), "v")))
    };
    let tree = Tree::new();
    let at = |partition: &str, first: i64, log: SegmentBuilder| {
        let at = tree.0.path().join(partition);
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join(format!("{first:020}.log")), log.bytes()).unwrap();
    };
    at("whole/orders-0", 0, log(0..40, 0));
    at("headless/orders-0", 20, log(20..40, 20));
    at("whole-mirror/east.orders-0", 0, log(0..40, 0));
    at("headless-mirror/east.orders-0", 20, log(20..40, 20));
    at("lossy-mirror/east.orders-0", 20, log(25..40, 20));
    at("other-mirror/east.orders-0", 20, log(20..50, 20));
    at("late-mirror/east.orders-0", 0, log(20..40, 0));
    at("gone-mirror/east.orders-0", 60, log(60..80, 60));
    let mirror = |a: &str, b: &str, status| {
        let paths = [tree.0.path().join(a), tree.0.path().join(b)];
        let answer = told(&paths, &["--mirror", "orders=east.orders"], status);
        let mirror = &answer["pairs"][0]["mirror"];
        ["matched", "missing", "missingRemoved", "extra", "extraRemoved"]
            .map(|name| mirror[name].as_u64().unwrap())
    };
    assert_eq!(mirror("headless", "whole-mirror", 0), [20, 0, 0, 20, 20]);
    assert_eq!(mirror("whole", "headless-mirror", 0), [20, 20, 20, 0, 0]);
    assert_eq!(mirror("headless", "headless-mirror", 0), [20, 0, 0, 0, 0]);
    // What is missing behind the first record that both hold, or was never written, is missing.
    assert_eq!(mirror("whole", "late-mirror", 1), [20, 20, 0, 0, 0]);
    assert_eq!(mirror("headless", "lossy-mirror", 0), [15, 5, 5, 0, 0]);
    assert_eq!(mirror("headless", "other-mirror", 1), [20, 0, 0, 10, 0]);
    // Nothing of both is left: nobody knows.
    assert_eq!(mirror("headless", "gone-mirror", 3), [0, 20, 20, 20, 20]);

    // A compacted source holds the newest of five states.
    let states = |kept: &dyn Fn(usize) -> bool| {
        (0..40).fold(SegmentBuilder::new(), |log, at| {
            let spec = batch().record(format!("k{}", at % 5), format!("{at}"));
            if kept(at) { log.batch(spec) } else { log.batch(spec.kept(&[])) }
        })
    };
    at("states/orders-0", 0, states(&|_| true));
    at("compacted/orders-0", 0, states(&|at| at >= 20 || at == 3));
    at("states-mirror/east.orders-0", 0, states(&|_| true));
    at("compacted-mirror/east.orders-0", 0, states(&|at| at >= 20 || at == 3));
    assert_eq!(mirror("compacted", "states-mirror", 0), [21, 0, 0, 19, 19]);
    assert_eq!(mirror("states", "compacted-mirror", 0), [21, 19, 19, 0, 0]);
    // By the record key the source has fewer of each: whether the mirror repeats them cannot be told.
    let paths = [tree.0.path().join("compacted"), tree.0.path().join("states-mirror")];
    let answer = told(&paths, &["--mirror", "orders=east.orders", "--key", "record-key"], 3);
    let mirror = &answer["pairs"][0]["mirror"];
    assert_eq!((&mirror["repeated"], &mirror["repeatedRemoved"]), (&json!(19), &json!(19)), "{answer:#}");
}

/// A log that begins at `first`, with a batch for each record; those that are not kept take an offset alone.
fn states(first: i64, records: &[(&str, Option<&str>)], kept: &[i64]) -> SegmentBuilder {
    (first..).zip(records).fold(SegmentBuilder::at(first), |log, (at, (key, value))| {
        let spec = batch().record(*key, value.map(|value| value.as_bytes().to_vec()));
        log.batch(if kept.contains(&at) { spec } else { spec.kept(&[]) })
    })
}

impl Tree {
    /// Writes logs of a source and its mirror, by their first offsets, and counts.
    fn mirrored(
        &self,
        source: (i64, SegmentBuilder),
        mirror: (i64, SegmentBuilder),
        status: i32,
        counts: &[&str],
    ) -> Vec<u64> {
        let paths = [("a", "a/orders-0", source), ("b", "b/east.orders-0", mirror)].map(
            |(root, at, (first, log))| {
                let at = self.0.path().join(at);
                let _ = fs::remove_dir_all(&at);
                fs::create_dir_all(&at).unwrap();
                fs::write(at.join(format!("{first:020}.log")), log.bytes()).unwrap();
                self.0.path().join(root)
            },
        );
        let answer = told(&paths, &["--mirror", "orders=east.orders"], status);
        let mirror = &answer["pairs"][0]["mirror"];
        counts
            .iter()
            .map(|name| mirror[*name].as_u64().unwrap_or_else(|| panic!("{name}: {mirror:#}")))
            .collect()
    }
}

#[test]
fn another_newest_value_of_a_key_is_a_difference_whatever_was_removed() {
    let tree = Tree::new();
    let (on, off, one) = (Some("on"), Some("off"), Some("1"));
    for last in [off, None] {
        let source = [("dev", on), ("x", one), ("dev", on), ("dev", last), ("dev", on), ("y", one)];
        let turned = [("dev", on), ("x", one), ("dev", on), ("dev", on), ("dev", last), ("y", one)];
        let all = all_of(6);
        let count = |first: i64, mirror: &[(&str, Option<&str>)], kept: &[i64], status| {
            let skipped = usize::try_from(first).unwrap();
            let mirror = (first, states(first, &mirror[skipped..], kept));
            let names = ["otherOrder", "otherNewest", "missing"];
            tree.mirrored((0, states(0, &source, &all)), mirror, status, &names)
        };
        // Nothing is gone, and each has its counterpart.
        assert_eq!(count(0, &turned, &all, 1), [1, 0, 0]);
        // A cleaner took the first, or retention the first two.
        assert_eq!(count(0, &turned, &all[1..], 1), [0, 1, 1]);
        assert_eq!(count(2, &turned, &all, 1), [0, 1, 2]);
        assert_eq!(count(0, &source, &all[1..], 0), [0, 0, 1]);
        assert_eq!(count(2, &source, &all, 0), [0, 0, 2]);
        assert_eq!(count(4, &source, &all, 0), [0, 0, 4]);
    }
    // The newest value of an open transaction of the source need not be there yet, nor what waits behind it.
    let head =
        || SegmentBuilder::at(2).batch(batch().record("dev", "on")).batch(batch().record("dev", "off"));
    let open = head().batch(batch().producer(7, 0, 0).transactional().record("z", "1"));
    let open = open.batch(batch().record("dev", "on")).batch(batch().record("dev", "new"));
    let copied = states(0, &[("old", one), ("dev", on), ("dev", off)], &all_of(3));
    assert_eq!(tree.mirrored((2, open), (0, copied), 0, &["otherNewest"]), [0]);
}

fn all_of(records: i64) -> Vec<i64> {
    (0..records).collect()
}

#[test]
fn what_was_aborted_on_both_sides_does_not_show_where_the_other_log_begins() {
    let sent = |id, sequence, key: &str| batch().producer(id, 0, sequence).transactional().record(key, "v");
    let source = SegmentBuilder::new()
        .batch(sent(9, 0, "x"))
        .batch(batch().record("y", "v"))
        .abort(9, 0)
        .batch(sent(9, 1, "x"))
        .commit(9, 0)
        .batch(batch().record("z", "v"));
    let mirror = |first| {
        let tried = SegmentBuilder::at(first).batch(sent(7, 5, "x")).abort(7, 0).batch(sent(7, 6, "x"));
        (first, tried.batch(sent(7, 7, "z")).commit(7, 0))
    };
    let tree = Tree::new();
    let names = ["matched", "missing", "missingRemoved"];
    assert_eq!(tree.mirrored((0, source.clone()), mirror(2), 0, &names), [3, 1, 1]);
    assert_eq!(tree.mirrored((0, source.clone()), mirror(0), 1, &names), [3, 1, 0], "nothing was removed");
    // Nothing but what was aborted on both sides is equal: nobody knows.
    let aborted = |first, key: &str| {
        let log = SegmentBuilder::at(first).batch(sent(9, 0, "x")).abort(9, 0);
        (first, log.batch(batch().record(key, "v")))
    };
    assert_eq!(tree.mirrored(aborted(5, "a"), aborted(7, "b"), 3, &names), [1, 1, 1]);
}

#[test]
fn what_waits_behind_an_open_transaction_of_the_source_is_matched_last() {
    let one = |key: &str| batch().record(key, "on");
    let source = |head: SegmentBuilder| {
        let open = batch().producer(9, 0, 0).transactional().record("t", "1");
        head.batch(one("a")).batch(one("b")).batch(open).batch(one("a"))
    };
    let mirror = || SegmentBuilder::new().batch(one("a")).batch(one("c")).batch(one("a")).batch(one("b"));
    let tree = Tree::new();
    let names = ["matched", "missing", "missingWithheld", "extra", "extraRemoved", "otherOrder"];
    let headless = source(SegmentBuilder::at(2));
    assert_eq!(tree.mirrored((2, headless), (0, mirror()), 0, &names), [3, 1, 1, 1, 1, 0]);
    let whole = source(SegmentBuilder::new().batch(one("a")).batch(one("c")));
    assert_eq!(tree.mirrored((0, whole), (0, mirror()), 0, &names), [4, 2, 2, 0, 0, 0]);
}

#[test]
fn what_stands_below_the_start_of_a_log_is_not_missed() {
    let log = |keys: std::ops::Range<usize>| {
        keys.fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(format!("k{key}"), "v")))
    };
    let tree = Tree::new();
    let start = |root: &str, topic: &str, offset: usize| {
        let at = tree.0.path().join(root);
        fs::create_dir_all(&at).unwrap();
        let text = format!("0\n1\n{topic} 0 {offset}\n");
        fs::write(at.join("log-start-offset-checkpoint"), text).unwrap();
    };
    let counts = |source, mirror, status| {
        let names = ["matched", "missing", "missingRemoved", "extra", "extraRemoved"];
        tree.mirrored((0, source), (0, mirror), status, &names)
    };
    assert_eq!(counts(log(0..10), log(6..10), 1), [4, 6, 0, 0, 0]);
    start("a", "orders", 6);
    assert_eq!(counts(log(0..10), log(6..10), 0), [4, 0, 0, 0, 0]);
    assert_eq!(counts(log(0..10), log(7..10), 1), [3, 1, 0, 0, 0]);
    // The mirror may hold what consumers of its source no longer get.
    assert_eq!(counts(log(0..10), log(0..10), 0), [10, 0, 0, 0, 0]);
    start("a", "orders", 0);
    start("b", "east.orders", 6);
    assert_eq!(counts(log(6..10), log(0..10), 0), [4, 0, 0, 0, 0]);
}

#[test]
fn what_a_cleaner_without_a_checkpoint_may_have_taken_from_a_mirror_is_unsure() {
    let kept = |records: &[(&str, &str)], kept: &[usize]| {
        kept.iter().fold(SegmentBuilder::new(), |log, &at| {
            let time = dedup_audit::testkit::FIRST_TIME + 1000 * i64::try_from(at).unwrap();
            let (key, value) = records[at];
            log.skip_to(i64::try_from(at).unwrap()).time(time).batch(batch().record(key, value))
        })
    };
    let states = [("x", "1"), ("dev", "1"), ("dev", "2"), ("dev", "3"), ("dev", "4"), ("y", "1")];
    let all = [0, 1, 2, 3, 4, 5];
    let tree = Tree::new();
    let counts = |source: &[usize], mirror: &[usize], status| {
        let names = ["matched", "missing", "extra", "removedUnsure"];
        tree.mirrored((0, kept(&states, source)), (0, kept(&states, mirror)), status, &names)
    };
    assert_eq!(counts(&all, &[0, 2, 3, 4, 5], 3), [5, 1, 0, 1]);
    assert_eq!(counts(&all, &[0, 4, 5], 3), [3, 3, 0, 3]);
    assert_eq!(counts(&[2, 3, 4, 5], &[2, 3, 4, 5], 0), [4, 0, 0, 0]);
    assert_eq!(counts(&[0, 2, 3, 4, 5], &all, 3), [5, 0, 1, 1]);
    // The newest of a key no cleaner takes, and what stands beside no hole was never there.
    assert_eq!(counts(&all, &[0, 1, 2, 3, 5], 1), [5, 1, 0, 0]);
    assert_eq!(counts(&all, &[1, 2, 3, 4, 5], 1), [5, 1, 0, 0]);
    let states = [("x", "1"), ("dev", "1"), ("z", "1"), ("z", "2"), ("dev", "2")];
    let late = kept(&[("x", "1"), ("z", "1"), ("z", "2"), ("z", "3"), ("dev", "2")], &[0, 1, 2, 4]);
    let source = kept(&states, &[0, 1, 2, 3, 4]);
    assert_eq!(tree.mirrored((0, source), (0, late), 1, &["missing", "removedUnsure"]), [1, 0]);
}

/// Logs of records `k0`, `k1`, …, each from its first offset on.
fn numbered(tree: &Tree, partition: &str, first: i64, keys: impl IntoIterator<Item = usize>) -> PathBuf {
    let log = keys
        .into_iter()
        .fold(SegmentBuilder::at(first), |log, key| log.batch(batch().record(format!("k{key}"), "v")));
    let at = tree.0.path().join(partition);
    fs::create_dir_all(&at).unwrap();
    fs::write(at.join(format!("{first:020}.log")), log.bytes()).unwrap();
    at.parent().unwrap().to_owned()
}

fn ranges_of(ranges: &Value) -> Vec<(String, i64, i64)> {
    let told = |range: &Value| {
        let offset = |name: &str| range[name].as_i64().unwrap();
        (range["what"].as_str().unwrap().to_owned(), offset("firstOffset"), offset("lastOffset"))
    };
    ranges.as_array().unwrap().iter().map(told).collect()
}

#[test]
fn what_a_mirror_holds_twice_may_be_repeated_though_its_source_holds_it_no_more() {
    let tree = Tree::new();
    let source = numbered(&tree, "a/orders-0", 10, 10..20);
    let told = |mirror: Vec<usize>, status| {
        let mirror = numbered(&tree, "b/east.orders-0", 0, mirror);
        let answer = told(&[source.clone(), mirror], &["--mirror", "orders=east.orders"], status);
        let pair = answer["pairs"][0].clone();
        let counts = ["matched", "extra", "extraRemoved", "repeated", "repeatedRemoved"]
            .map(|name| pair["mirror"][name].as_u64().unwrap());
        (counts, ranges_of(&pair["onlyB"]))
    };
    let removed = |first, last| ("removed".to_owned(), first, last);
    let repeated = |first, last| ("repeated-or-removed".to_owned(), first, last);
    assert_eq!(told((0..20).collect(), 0), ([10, 10, 10, 0, 0], vec![removed(0, 9)]));
    let again = (0..10).chain(5..10).chain(10..20).collect();
    assert_eq!(told(again, 3), ([10, 10, 10, 5, 5], vec![removed(0, 9), repeated(10, 14)]));
    // Behind what both hold they are extra, once as twice.
    let behind = (10..20).chain([1, 1]).collect();
    assert_eq!(told(behind, 1), ([10, 2, 0, 0, 0], vec![("extra".to_owned(), 10, 11)]));
}

#[test]
fn no_more_was_removed_than_a_log_has_offsets_without_a_record() {
    let tree = Tree::new();
    let counts = |a: &PathBuf, b: &PathBuf, status| {
        let answer = told(&[a.clone(), b.clone()], &["--mirror", "orders=east.orders"], status);
        let swapped = told(&[b.clone(), a.clone()], &["--mirror", "east.orders=orders"], status);
        let (pair, other) = (&answer["pairs"][0], &swapped["pairs"][0]);
        let of = |pair: &Value, names: [&str; 3]| names.map(|name| pair["mirror"][name].as_u64().unwrap());
        let counted = of(pair, ["matched", "missing", "missingRemoved"]);
        assert_eq!(counted, of(other, ["matched", "extra", "extraRemoved"]));
        assert_eq!(pair["onlyA"], other["onlyB"]);
        (counted, ranges_of(&pair["onlyA"]))
    };
    let source = numbered(&tree, "a/orders-0", 0, 0..20);
    let mirror = |name: &str, first, keys: std::ops::Range<usize>| {
        numbered(&tree, &format!("{name}/east.orders-0"), first, keys)
    };
    let whole = mirror("whole", 12, 12..20);
    assert_eq!(counts(&source, &whole, 0), ([8, 12, 12], vec![("removed".to_owned(), 0, 11)]));
    // It never held so many; which of them it did is not known.
    let lost = mirror("lost", 12, 14..20);
    assert_eq!(counts(&source, &lost, 1), ([6, 14, 12], vec![("partly-removed".to_owned(), 0, 13)]));
    let late = mirror("late", 2, 12..20);
    assert_eq!(counts(&source, &late, 1), ([8, 12, 2], vec![("partly-removed".to_owned(), 0, 11)]));
    // What was written twice, or was the marker of a transaction, took offsets too.
    let more = mirror("more", 30, 14..20);
    assert_eq!(counts(&source, &more, 0), ([6, 14, 14], vec![("removed".to_owned(), 0, 13)]));
    // Markers and aborted records of the source are nothing that the mirror lost.
    let data = |sequence| batch().producer(7, 0, sequence).transactional();
    let log = (0..10).fold(SegmentBuilder::new(), |log, key| {
        log.batch(data(key).record(format!("k{key}"), "v")).commit(7, 0)
    });
    let source = tree.log("c/orders-0", log).parent().unwrap().to_owned();
    let mirror = numbered(&tree, "d/east.orders-0", 4, 4..10);
    assert_eq!(counts(&source, &mirror, 0).0, [6, 4, 4]);
    let mirror = numbered(&tree, "e/east.orders-0", 4, 5..10);
    assert_eq!(counts(&source, &mirror, 1).0, [5, 5, 4]);
}

#[test]
fn a_mirror_with_more_partitions_lost_what_all_of_them_lost() {
    let tree = Tree::new();
    let source = numbered(&tree, "a/orders-0", 0, 0..20);
    // The even ones in one, the odd ones in the other, which lost as many.
    let mirror = |first: i64, from: usize| {
        let b = numbered(&tree, "b/east.orders-0", 5, (10..20).step_by(2));
        let odd = tree.0.path().join("b/east.orders-1");
        let _ = fs::remove_dir_all(odd);
        numbered(&tree, "b/east.orders-1", first, (from..20).step_by(2));
        let answer = compare(&[source.clone(), b], &["--mirror", "orders=east.orders", "--format", "json"]);
        let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
        let mirror = answer["pairs"][0]["mirror"].clone();
        ["matched", "missing", "missingRemoved"].map(|name| mirror[name].as_u64().unwrap())
    };
    // Odd ones that stand in the other partition are behind the first that both hold.
    assert_eq!(mirror(5, 11), [5, 15, 10]);
    assert_eq!(mirror(2, 11), [5, 15, 7], "its own five, and two of the other");
}

#[test]
fn records_of_one_key_in_another_order_are_a_difference_of_a_mirror() {
    let log = |records: &[(&str, &str)]| {
        records.iter().fold(SegmentBuilder::new(), |log, (key, value)| {
            let key = (!key.is_empty()).then(|| key.as_bytes().to_vec());
            log.batch(batch().record(key, *value))
        })
    };
    let tree = Tree::new();
    let told = |source: &[(&str, &str)], mirror: &[(&str, &str)], status| {
        tree.log("a/orders-0", log(source));
        tree.log("b/east.orders-0", log(mirror));
        let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
        let answer = told(&paths, &["--mirror", "orders=east.orders"], status);
        let pair = &answer["pairs"][0];
        let shown: Vec<_> = pair["records"].as_array().unwrap().iter().collect();
        if pair["mirror"]["missing"] == 0 && pair["mirror"]["repeated"] == 0 {
            assert!(shown.iter().all(|one| one["copy"]["directory"] == pair["a"]["directory"]), "{pair:#}");
        }
        (pair["mirror"]["otherOrder"].as_u64().unwrap(), ranges_of(&pair["different"]))
    };
    let other = |first, last| ("other-order".to_owned(), first, last);
    let states = [("k", "open"), ("x", "1"), ("k", "closed"), ("k", "gone")];
    assert_eq!(told(&states, &states, 0), (0, vec![]));
    // Another value of k is the newest now.
    let turned = [("k", "closed"), ("k", "gone"), ("x", "1"), ("k", "open")];
    assert_eq!(told(&states, &turned, 1), (2, vec![other(2, 3)]));
    // Other keys between them, and a batch of its own each.
    let between_keys = [("x", "1"), ("k", "open"), ("k", "closed"), ("k", "gone")];
    assert_eq!(told(&states, &between_keys, 0), (0, vec![]));
    // Without a key there is nothing that the order is of.
    assert_eq!(told(&[("", "a"), ("", "b")], &[("", "b"), ("", "a")], 0), (0, vec![]));
    // A value that comes back: equal records are matched in their order.
    let back = [("k", "a"), ("k", "b"), ("k", "a")];
    assert_eq!(told(&back, &back, 0), (0, vec![]));
    assert_eq!(told(&back, &[("k", "a"), ("k", "a"), ("k", "b")], 1), (1, vec![other(2, 2)]));
    // Which one is missing, or was repeated, is not certain, so nothing is said of their order.
    assert_eq!(told(&back, &[("k", "b"), ("k", "a")], 1), (0, vec![]));
    let repeated = [("k", "open"), ("x", "1"), ("k", "closed"), ("k", "open"), ("k", "gone")];
    assert_eq!(told(&states, &repeated, 1), (0, vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_order_of_a_mirror_is_told_as_a_naive_count_has_it(
        keys in proptest::collection::vec(0_usize..3, 1..25),
        moves in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..4),
    ) {
        let source: Vec<(usize, usize)> = keys.iter().copied().enumerate().map(|(at, key)| (key, at)).collect();
        let mut mirror = source.clone();
        for (from, to) in moves {
            let one = mirror.remove(from.index(mirror.len()));
            mirror.insert(to.index(mirror.len() + 1), one);
        }
        let place = |at: usize| mirror.iter().position(|(_, value)| *value == at).unwrap();
        let is_turned = |&(key, at): &(usize, usize)| {
            source[..at].iter().any(|&(other, before)| other == key && place(before) > place(at))
        };
        let expected: Vec<i64> = source.iter().filter(|one| is_turned(one)).map(|(_, at)| i64::try_from(*at).unwrap()).collect();
        let log = |records: &[(usize, usize)]| {
            records.iter().fold(SegmentBuilder::new(), |log, (key, value)| {
                log.batch(batch().record(format!("k{key}"), format!("{value}")))
            })
        };
        let tree = Tree::new();
        let paths = [tree.log("a/orders-0", log(&source)), tree.log("b/copy-0", log(&mirror))];
        let output = compare(&paths, &["--format", "json", "--max-ranges", "0"]);
        prop_assert_eq!(output.status.code(), Some(i32::from(!expected.is_empty())));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let pair = &answer["pairs"][0];
        let found: Vec<i64> =
            ranges_of(&pair["different"]).into_iter().flat_map(|(_, first, last)| first..=last).collect();
        prop_assert_eq!(&pair["mirror"]["otherOrder"], found.len());
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn other_headers_of_a_mirror_are_told_and_are_no_difference() {
    let log = |header: &str, value: &str| {
        SegmentBuilder::new()
            .batch(batch().record("k0", "{\"id\":0}").header("trace", header))
            .batch(batch().record("k1", value).header("trace", "same"))
            .batch(batch().record("k2", "{\"id\":2}"))
    };
    let tree = Tree::new();
    tree.log("a/orders-0", log("1", "{\"id\":1}"));
    tree.log("same/east.orders-0", log("1", "{\"id\":1}"));
    tree.log("headers/east.orders-0", log("2", "{\"id\":1}"));
    tree.log("values/east.orders-0", log("1", "{\"id\":1,\"more\":true}"));
    let other = |name: &str, more: &[&str]| {
        let paths = [tree.0.path().join("a"), tree.0.path().join(name)];
        let more = [&["--mirror", "orders=east.orders"], more].concat();
        let answer = told(&paths, &more, 0);
        let table = String::from_utf8(compare(&paths, &more).stdout).unwrap();
        let mirror = &answer["pairs"][0]["mirror"];
        assert_eq!((&mirror["matched"], &answer["pairs"][0]["equal"]), (&json!(3), &json!(true)));
        (mirror["otherContent"].as_u64().unwrap(), table.lines().next().unwrap().to_owned())
    };
    let equal = "1 pair compared: all are equal";
    assert_eq!(other("same", &[]), (0, format!("{equal}.")));
    assert_eq!(other("headers", &[]), (1, format!("{equal}, but for the headers of 1 record.")));
    assert_eq!(other("headers", &["--ignore-field", "header:trace"]), (0, format!("{equal}.")));
    let no_part = format!("{equal}, but for what is no part of the key of 1 record.");
    assert_eq!(other("values", &["--key", "json:/id"]), (1, no_part));
}

#[test]
fn a_record_that_a_mirror_has_in_another_partition_is_not_unknown_to_the_source() {
    let log = |keys: &[&str]| {
        keys.iter().fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(*key, "v")))
    };
    let tree = Tree::new();
    tree.log("a/orders-0", log(&["k1", "k3"]));
    tree.log("a/orders-1", log(&["k2"]));
    tree.log("a/bills-0", log(&["k9"]));
    tree.log("b/east.orders-0", log(&["k1", "k3"]));
    tree.log("b/east.orders-1", log(&["k2", "k3", "k9"]));
    let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
    let answer = told(&paths, &["--mirror", "orders=east.orders"], 1);
    let pair = &answer["pairs"][1];
    let counts =
        ["matched", "extra", "otherPartition", "repeated"].map(|name| pair["mirror"][name].as_u64().unwrap());
    // Another topic is not the source.
    assert_eq!(counts, [1, 1, 1, 0]);
    let what: Vec<_> = pair["onlyB"].as_array().unwrap().iter().map(|range| &range["what"]).collect();
    assert_eq!(what, ["other-partition", "extra"]);
    let table = String::from_utf8(compare(&paths, &["--mirror", "orders=east.orders"]).stdout).unwrap();
    assert!(table.contains("1 matched, 0 missing, 1 extra, 1 of another partition, 0 repeated"), "{table}");
}

#[test]
fn a_mirror_with_another_number_of_partitions_has_its_records_elsewhere() {
    let log = |keys: &[&str]| {
        keys.iter().fold(SegmentBuilder::new(), |log, key| log.batch(batch().record(*key, "v")))
    };
    let tree = Tree::new();
    tree.log("two/orders-0", log(&["k0", "k1", "both"]));
    tree.log("two/orders-1", log(&["k2", "k3", "both"]));
    tree.log("one/east.orders-0", log(&["k0", "k1", "k2", "both", "new"]));
    let counts = |a: &str, b: &str, names: &str| {
        let paths = [tree.0.path().join(a), tree.0.path().join(b)];
        let answer = told(&paths, &["--mirror", names], 1);
        let read: u64 =
            ["a", "b"].iter().map(|side| answer["pairs"][0][side]["records"].as_u64().unwrap()).sum();
        assert!(answer["coverage"]["records"].as_u64().unwrap() > read, "all of it is read: {answer:#}");
        let mirror = answer["pairs"][0]["mirror"].clone();
        ["matched", "missing", "missingOtherPartition", "extra", "otherPartition"]
            .map(|name| mirror[name].as_u64().unwrap())
    };
    assert_eq!(counts("two", "one", "orders=east.orders"), [3, 0, 0, 1, 1]);
    assert_eq!(counts("one", "two", "east.orders=orders"), [3, 2, 1, 0, 0]);
    // What the other partition holds for its own source is not there for this one.
    tree.log("mirror/east.orders-0", log(&["k0"]));
    tree.log("mirror/east.orders-1", log(&["k2", "k3", "both", "k1"]));
    let mirror = counts("two", "mirror", "orders=east.orders");
    assert_eq!(mirror, [1, 2, 1, 0, 0]);
}

#[test]
fn a_mirror_with_another_number_of_partitions_that_holds_all_is_equal() {
    let tree = Tree::new();
    let source = numbered(&tree, "a/orders-0", 0, 0..20);
    numbered(&tree, "b/east.orders-0", 0, (0..20).step_by(2));
    let compared = |odd: Vec<usize>, first, status| {
        let _ = fs::remove_dir_all(tree.0.path().join("b/east.orders-1"));
        let b = numbered(&tree, "b/east.orders-1", first, odd);
        let answer = told(&[source.clone(), b.clone()], &["--mirror", "orders=east.orders"], status);
        let swapped = told(&[b, source.clone()], &["--mirror", "east.orders=orders"], status);
        let mirror = &answer["pairs"][0]["mirror"];
        assert_eq!((&mirror["repartitioned"], &mirror["matched"]), (&json!(true), &json!(10)));
        let alone = [&answer, &swapped].map(|answer| answer["unpairedRecordsAlone"].as_u64().unwrap());
        let missing =
            ["missing", "missingOtherPartition", "missingRemoved"].map(|name| mirror[name].as_u64().unwrap());
        (missing, alone)
    };
    let odd = |from: usize| (from..20).step_by(2).collect::<Vec<_>>();
    assert_eq!(compared(odd(1), 0, 0), ([10, 10, 0], [0, 0]));
    // The other partition lost its head, or one of its records; or holds one that nobody sent.
    assert_eq!(compared(odd(11), 5, 0), ([10, 5, 5], [0, 0]));
    assert_eq!(compared(odd(3), 0, 1), ([10, 9, 0], [0, 0]));
    assert_eq!(compared([odd(1), vec![99]].concat(), 0, 1), ([10, 10, 0], [1, 1]));
}

#[test]
fn a_record_without_key_is_not_shown_as_one_with_an_empty_key() {
    let tree = Tree::new();
    let a = SegmentBuilder::new().batch(batch().record("", "empty").record(None, "none").record("k", "v"));
    let paths = [
        tree.log("a/orders-0", a),
        tree.log("b/other-0", SegmentBuilder::new().batch(batch().record("k", "v"))),
    ];
    let answer = told(&paths, &[], 1);
    let keys: Vec<_> = answer["pairs"][0]["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["businessKey"].clone())
        .collect();
    assert_eq!(keys, [json!({"text": ""}), json!({"parts": [{"key": "record-key", "null": true}]})]);
    let table = String::from_utf8(compare(&paths, &[]).stdout).unwrap();
    assert!(table.contains("\"\"  ") && table.contains("(absent)  "), "{table}");
    let table = String::from_utf8(compare(&paths, &["--key", "record-key"]).stdout).unwrap();
    assert!(table.contains("1 record has no key, or it cannot be decoded"), "{table}");
}

#[test]
fn logs_without_a_common_offset_are_not_called_equal() {
    let log = |keys: std::ops::Range<i64>| {
        keys.clone().fold(SegmentBuilder::at(keys.start), |log, key| {
            log.batch(batch().time(1_700_000_000_000 + key).record(format!("k{key}"), "v"))
        })
    };
    let tree = Tree::new();
    let b = tree.0.path().join("b/orders-0");
    fs::create_dir_all(&b).unwrap();
    fs::write(b.join("00000000000000000060.log"), log(60..80).bytes()).unwrap();
    let paths = [tree.log("a/orders-0", log(0..40)), b];
    let answer = told(&paths, &[], 1);
    let pair = &answer["pairs"][0];
    assert_eq!((&pair["nothingCompared"], &pair["equalUpTo"]), (&json!(true), &Value::Null), "{answer:#}");
    let table = String::from_utf8(compare(&paths, &[]).stdout).unwrap();
    assert!(table.contains("nothing to compare: a holds offsets 0–39, b holds offsets 60–79"), "{table}");
    assert!(!table.contains("equal below"), "{table}");
    // One offset in common is enough to say so.
    let c = tree.0.path().join("c/orders-0");
    fs::create_dir_all(&c).unwrap();
    fs::write(c.join("00000000000000000039.log"), log(39..80).bytes()).unwrap();
    let answer = told(&[paths[0].clone(), c], &[], 1);
    assert_eq!(
        (&answer["pairs"][0]["nothingCompared"], &answer["pairs"][0]["equalUpTo"]),
        (&json!(false), &json!(40))
    );
}

#[test]
fn records_of_one_key_are_matched_in_the_order_of_their_offsets() {
    let log = |from: usize| {
        (from..40)
            .fold(SegmentBuilder::new(), |log, at| log.batch(batch().record("account", format!("{at}"))))
    };
    let tree = Tree::new();
    tree.log("a/orders-0", log(0));
    tree.log("b/east.orders-0", log(0));
    let paths = [tree.0.path().join("a"), tree.0.path().join("b")];
    let answer = told(&paths, &["--mirror", "orders=east.orders", "--key", "record-key"], 0);
    let mapping = &answer["pairs"][0]["mirror"]["mapping"];
    assert_eq!(mapping, &json!([{"firstA": 0, "lastA": 39, "firstB": 0, "records": 40}]));
}

#[test]
fn another_time_of_appending_is_a_difference() {
    let log =
        |time| SegmentBuilder::new().batch(batch().producer(7, 0, 0).append_time(time).record("k", "v"));
    let tree = Tree::new();
    let paths =
        [1_700_000_009_999, 1_700_000_019_999].map(|time| tree.log(&format!("{time}/orders-0"), log(time)));
    let answer = told(&paths, &[], 1);
    assert_eq!(answer["pairs"][0]["different"][0]["what"], "other-time", "{answer:#}");
    assert_eq!(answer["pairs"][0]["firstDifference"], 0);
}

#[test]
fn a_log_whose_leader_epochs_go_back_is_told_though_its_copy_has_them_too() {
    let log = || {
        [3, 1, 3].into_iter().zip(0..).fold(SegmentBuilder::new(), |log, (epoch, at)| {
            log.leader_epoch(epoch).batch(batch().producer(7, 0, at).record(format!("k{at}"), "v"))
        })
    };
    let tree = Tree::new();
    let paths = [tree.log("a/orders-0", log()), tree.log("b/orders-0", log())];
    let answer = told(&paths, &[], 0);
    let codes: Vec<_> =
        answer["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["leader-epoch-anomaly"], "{answer:#}");
}

#[test]
fn the_timeline_has_the_steps_back_of_groups() {
    let scenario = set("consumer-rewind", &["data", "data"]);
    let events = told_alone(&scenario);
    assert!(events.iter().any(|event| event["kind"] == "rewind"), "{events:#?}");
}

#[test]
fn commits_that_two_replicas_hold_are_no_steps_back() {
    let steps = |paths: &[PathBuf]| {
        let events = told(paths, &[], 0)["events"].as_array().unwrap().clone();
        events.iter().filter(|event| event["kind"] == "rewind").count()
    };
    let one = set("offsets-topic", &["data"]);
    // The group went back once, by itself.
    assert_eq!(steps(&[one[0].clone(), one[0].clone()]), 1);
    let copy = tempfile::tempdir().unwrap();
    let mut directories = vec![(one[0].clone(), copy.path().to_owned())];
    while let Some((from, to)) = directories.pop() {
        for entry in fs::read_dir(from).unwrap() {
            let (path, to) = {
                let entry = entry.unwrap();
                (entry.path(), to.join(entry.file_name()))
            };
            if path.is_dir() {
                fs::create_dir(&to).unwrap();
                directories.push((path, to));
            } else {
                fs::copy(path, to).unwrap();
            }
        }
    }
    assert_eq!(steps(&[one[0].clone(), copy.path().to_owned()]), 1);
}

#[test]
fn the_timeline_of_a_scan_has_the_closings_of_every_replica() {
    let scan = |paths: &[PathBuf]| {
        let done = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
            .arg("scan")
            .args(paths)
            .args(["--format", "json"])
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&done.stdout).unwrap();
        let closed =
            report["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "log-closed");
        let place = |event: &Value| (event["partition"].as_i64().unwrap(), event["offset"].as_i64().unwrap());
        let mut told: Vec<_> =
            closed.map(|event| (place(event), event["detail"].as_str().unwrap().to_owned())).collect();
        told.sort();
        told
    };
    let brokers = set("three-brokers-rejoined", &["data-1", "data-2", "data-3"]);
    let mut apart: Vec<_> = brokers
        .iter()
        .flat_map(|broker| scan(std::slice::from_ref(broker)))
        .map(|(place, _)| place)
        .collect();
    apart.sort_unstable();
    let together = scan(&brokers);
    assert_eq!(together.iter().map(|(place, _)| *place).collect::<Vec<_>>(), apart);
    for ((partition, offset), broker) in [((0, 25), 1), ((1, 6), 1), ((0, 36), 2), ((1, 10), 2)] {
        let said = format!("broker {broker}, which does not lead here");
        let here = together.iter().find(|(place, _)| *place == (partition, offset));
        assert!(here.is_some_and(|(_, detail)| detail.contains(&said)), "{together:#?}");
    }
}

#[test]
fn two_clusters_hold_no_replicas_of_each_other() {
    let metadata = |id: &str, name: &str, keys: &[&str]| {
        let home = tempfile::tempdir().unwrap();
        let properties = format!("version=1\ncluster.id={id}\nnode.id=1\n");
        fs::write(home.path().join("meta.properties"), properties).unwrap();
        let log = (0..).zip(keys).fold(SegmentBuilder::new(), |log, (at, key)| {
            log.batch(batch().producer(1, 0, at).record(*key, "v"))
        });
        // The id of the metadata is this one in every cluster.
        for (partition, topic_id) in [("__cluster_metadata-0", "AAAAAAAAAAAAAAAAAAAAAQ"), (name, "")] {
            let at = home.path().join(partition);
            fs::create_dir(&at).unwrap();
            fs::write(at.join("00000000000000000000.log"), log.clone().bytes()).unwrap();
            if !topic_id.is_empty() {
                fs::write(at.join("partition.metadata"), format!("version: 0\ntopic_id: {topic_id}\n"))
                    .unwrap();
            }
        }
        home
    };
    let east = metadata("east", "orders-0", &["a", "b"]);
    let west = metadata("west", "orders-0", &["a", "b", "c"]);
    let paths = [east.path().to_owned(), west.path().to_owned()];
    let refused = compare(&paths, &[]);
    assert_eq!(refused.status.code(), Some(2), "neither topics of one name nor the metadata are replicas");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("or in another cluster"));
    let mirror = told(&paths, &["--mirror", "orders=orders"], 1);
    assert_eq!(mirror["pairs"].as_array().unwrap().len(), 1);
    assert_eq!(mirror["pairs"][0]["mirror"]["extra"], 1);
    let same = metadata("east", "orders-0", &["a", "b"]);
    assert_eq!(
        told(&[paths[0].clone(), same.path().to_owned()], &[], 0)["pairs"].as_array().unwrap().len(),
        2
    );
}

/// A source with a batch of each list of records, and a mirror.
fn source_and_mirror(source: &[&[(&str, &str)]], mirror: &[&[(&str, &str)]]) -> [Vec<u8>; 2] {
    [source, mirror].map(|batches| {
        let log = batches.iter().fold(SegmentBuilder::new(), |log, records| {
            log.batch(records.iter().fold(batch(), |spec, (key, value)| spec.record(*key, *value)))
        });
        log.bytes()
    })
}

fn as_mirror([source, mirror]: [&[u8]; 2], status: i32) -> Value {
    let home = tempfile::tempdir().unwrap();
    let paths = [("a/orders-0", source), ("b/east.orders-0", mirror)].map(|(name, log)| {
        let directory = home.path().join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("00000000000000000000.log"), log).unwrap();
        directory.parent().unwrap().to_owned()
    });
    told(&paths, &["--mirror", "orders=east.orders"], status)["pairs"][0].take()
}

#[test]
fn bytes_that_cannot_be_read_excuse_no_more_records_than_have_room_in_them() {
    let names: Vec<String> = (0..200).map(|number| format!("order-{number}")).collect();
    let records: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
    let batches: Vec<&[(&str, &str)]> = records.chunks(10).collect();
    let [whole, _] = source_and_mirror(&batches, &[]);
    let [begun, _] = source_and_mirror(&batches[..2], &[]);
    let [next, _] = source_and_mirror(&batches[..3], &[]);
    // The end of the begin of a batch, none of its records, and what was never begun.
    let torn = &whole[..begun.len() + 20];
    let mirror = as_mirror([&whole, torn], 1)["mirror"].take();
    assert_eq!((&mirror["missing"], &mirror["missingUnreadable"]), (&json!(180), &json!(10)));
    let mirror = as_mirror([torn, &whole], 1)["mirror"].take();
    assert_eq!((&mirror["extra"], &mirror["surplusUnreadable"]), (&json!(180), &json!(10)));
    // A batch that was begun, and nothing behind it.
    let mirror = as_mirror([&next, torn], 3)["mirror"].take();
    assert_eq!((&mirror["missing"], &mirror["missingUnreadable"]), (&json!(10), &json!(10)));
    // A last batch whose offsets are beyond all others may have stood anywhere.
    let mut beyond = next.clone();
    beyond[begun.len() + 1] ^= 0x40;
    assert_eq!(as_mirror([&beyond, &next], 3)["mirror"]["surplusUnreadable"], 10);
    // It is longer than the densest batch, so a second one may begin in it.
    assert_eq!(as_mirror([&beyond, &whole], 1)["mirror"]["surplusUnreadable"], 20);
    // Between batches that can be read the offsets tell how many there were.
    let mut rotten = whole.clone();
    rotten[begun.len() + 70] ^= 1;
    let [more, _] = source_and_mirror(
        &[&batches[..3], &[&[("one", "more"), ("and", "one")]], &batches[3..]].concat(),
        &[],
    );
    let mirror = as_mirror([&whole, &rotten], 3)["mirror"].take();
    assert_eq!((&mirror["missing"], &mirror["missingUnreadable"]), (&json!(10), &json!(10)));
    let mirror = as_mirror([&more, &rotten], 1)["mirror"].take();
    assert_eq!((&mirror["missing"], &mirror["missingUnreadable"]), (&json!(12), &json!(10)));
}

#[test]
fn of_equal_records_those_are_left_over_that_would_stand_in_a_rotten_batch() {
    let [first, second]: [&[(&str, &str)]; 2] =
        [&[("k0", "a"), ("k1", "same"), ("k2", "c")], &[("k3", "d"), ("k4", "e"), ("k1", "same")]];
    let [mut rotten, whole] = source_and_mirror(&[first, second], &[first, second]);
    rotten[70] ^= 1;
    let pair = as_mirror([&rotten, &whole], 3);
    let mirror = &pair["mirror"];
    assert_eq!(mirror["surplusUnreadable"], 3);
    assert_eq!(mirror["mapping"], json!([{ "firstA": 3, "lastA": 5, "firstB": 3, "records": 3 }]));
    assert!(pair["onlyB"].as_array().unwrap().iter().all(|range| range["what"] == "unreadable"));
    assert_eq!(as_mirror([&whole, &rotten], 3)["mirror"]["missingUnreadable"], 3);

    // Doors that are open or closed: of no record it is certain which it is.
    let doors: Vec<(&str, &str)> = (0_u32..200)
        .map(|at| {
            let door = ["north", "east", "south", "west"][usize::try_from(at % 4).unwrap()];
            (door, if at * at % 7 > 2 { "open" } else { "closed" })
        })
        .collect();
    let of = |size| doors.chunks(size).collect::<Vec<_>>();
    let [mut rotten, whole] = source_and_mirror(&of(8), &of(5));
    let [before, _] = source_and_mirror(&of(8)[..12], &[]);
    rotten[before.len() + 70] ^= 1;
    let pair = as_mirror([&rotten, &whole], 3);
    assert_eq!(pair["mirror"]["surplusUnreadable"], 8);
    let only = &pair["onlyB"].as_array().unwrap();
    assert_eq!((only.len(), &only[0]["firstOffset"], &only[0]["lastOffset"]), (1, &json!(96), &json!(103)));
    assert_eq!(as_mirror([&whole, &rotten], 3)["mirror"]["missingUnreadable"], 8);
}
