//! `reconcile`: a list of keys against what is stored.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

use dedup_audit::audit::{self, AuditOptions, Memory, Reconciler};
use dedup_audit::expected::{Field, Fields, FileFormat, Header};
use dedup_audit::keys::KeySpec;
use dedup_audit::plan::KeyChoice;
use dedup_audit::report::reconcile::Reconciled;
use dedup_audit::testkit::{SegmentBuilder, batch};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn reconcile(paths: &[PathBuf], list: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("reconcile")
        .args(paths)
        .arg("--expect")
        .arg(list)
        .args(more)
        .output()
        .unwrap()
}

fn told(paths: &[PathBuf], list: &Path, more: &[&str], status: i32) -> Value {
    let output = reconcile(paths, list, &[more, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(status), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn texts(keys: &Value) -> Vec<&str> {
    let keys = keys.as_array().unwrap().iter();
    keys.map(|key| key["businessKey"]["text"].as_str().unwrap()).collect()
}

#[test]
fn what_the_network_swallowed_is_missing_from_the_ledger() {
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1/acks0-missing");
    let label: Value = serde_json::from_slice(&fs::read(set.join("truth.json")).unwrap()).unwrap();
    let list = set.join("ledger.ndjson");
    let home = tempfile::tempdir().unwrap();
    let written = home.path().join("missing.csv");
    let more =
        ["--expect-key", "/key", "--max-keys", "0", "--partition-count", "clicks=1", "--write-missing"];
    let more = [&more[..], &[written.to_str().unwrap()]].concat();
    let answer = told(&[set.join("data")], &list, &more, 1);
    let missing: Vec<&str> =
        label["missing"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    assert_eq!(texts(&answer["missing"]["keys"]), missing);
    assert_eq!((&answer["storedOnce"], &answer["storedMore"]["count"]), (&json!(52), &json!(0)));
    assert_eq!((&answer["expected"]["keys"], &answer["unexpected"]["count"]), (&json!(60), &json!(0)));
    assert_eq!(answer["evidenceComplete"], true, "{}", answer["doubts"]);
    // 21 … 27 and 44, each with its neighbours in the ledger.
    let stretches = answer["missing"]["stretches"].as_array().unwrap();
    let said: Vec<_> = stretches
        .iter()
        .map(|stretch| {
            let beside = |side: &str| stretch[side]["businessKey"]["text"].as_str().unwrap().to_owned();
            (beside("before"), stretch["count"].as_u64().unwrap(), beside("after"))
        })
        .collect();
    let expected = [("click-0020", 7, "click-0028"), ("click-0043", 1, "click-0045")];
    assert_eq!(said, expected.map(|(before, count, after)| (before.to_owned(), count, after.to_owned())));
    let lines = fs::read_to_string(written).unwrap();
    assert_eq!(
        lines.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect::<Vec<_>>(),
        missing
    );
}

/// A topic of one or more partitions that a test writes.
struct Topic(tempfile::TempDir);

impl Topic {
    fn new(partitions: Vec<SegmentBuilder>) -> Self {
        let home = tempfile::tempdir().unwrap();
        for (number, log) in partitions.into_iter().enumerate() {
            let at = home.path().join(format!("data/orders-{number}"));
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join("00000000000000000000.log"), log.bytes()).unwrap();
        }
        Self(home)
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn list(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Topic {
    /// Another topic beside it.
    fn beside(self, name: &str, log: SegmentBuilder) -> Self {
        let at = self.data().join(name);
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join("00000000000000000000.log"), log.bytes()).unwrap();
        self
    }
}

#[test]
fn a_key_that_another_topic_has_too_is_stored_once() {
    let topic =
        Topic::new(vec![one_by_one(&["a", "b", "c"])]).beside("bills-0", one_by_one(&["a", "b", "c"]));
    let list = topic.list("keys.txt", "a\nb\nc\n");
    let answer = told(&[topic.data()], &list, &[], 0);
    assert_eq!((&answer["storedOnce"], &answer["storedMore"]["count"]), (&json!(3), &json!(0)));
    assert_eq!(answer["visibility"]["readUncommitted"], json!({"once": 3, "more": 0, "missing": 0}));
    let of = |name: &str| json!({"topic": name, "storedOnce": 3, "storedMore": 0, "missing": 0});
    assert_eq!(answer["topics"], json!([of("bills"), of("orders")]));
    // Twice in one of them is twice.
    let topic = topic.beside("bills-1", one_by_one(&["b"]));
    let answer = told(&[topic.data()], &list, &[], 1);
    let more = &answer["storedMore"]["keys"][0];
    assert_eq!((&more["topic"], &more["records"]), (&json!("bills"), &json!(2)));
    told(&[topic.data()], &list, &["--topic", "orders"], 0);
}

#[test]
fn a_key_that_only_another_topic_has_is_in_doubt() {
    let topic = Topic::new(vec![one_by_one(&["a", "c"])]).beside("audit-0", one_by_one(&["a", "b", "c"]));
    let list = topic.list("keys.txt", "a\nb\nc\n");
    let answer = told(&[topic.data()], &list, &[], 3);
    assert_eq!(answer["evidenceComplete"], false);
    let doubt = answer["doubts"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(doubt.contains("audit lacks 0 of the list, orders lacks 1 of the list (--topic"), "{doubt}");
    let table = String::from_utf8(reconcile(&[topic.data()], &list, &[]).stdout).unwrap();
    assert!(table.starts_with("All 3 keys of the list are stored, each at most once"), "{table}");
    assert!(table.contains("orders: once 2, more than once 0, missing 1"), "{table}");
    let answer = told(&[topic.data()], &list, &["--topic", "orders"], 1);
    assert_eq!(texts(&answer["missing"]["keys"]), ["b"]);
}

fn one_by_one(keys: &[&str]) -> SegmentBuilder {
    (0..).zip(keys).fold(SegmentBuilder::new(), |log, (at, key)| {
        log.batch(batch().producer(1, 0, at).record(*key, format!("{{\"id\":\"{key}\"}}")))
    })
}

#[test]
fn an_acknowledged_offset_that_holds_another_record_is_told() {
    let topic = Topic::new(vec![one_by_one(&["a", "b", "c"])]);
    let list = topic.list("sent.csv", "key,offset,sent\na,0,5\nlost,1,6\nb,1,\nd,9,\nc,0,\ne,-1,\n");
    let more = ["--expect-key", "key", "--expect-offset", "offset", "--expect-time", "sent"];
    let answer = told(&[topic.data()], &list, &more, 1);
    let acknowledged = &answer["acknowledged"];
    assert_eq!((&acknowledged["entries"], &acknowledged["storedThere"]), (&json!(5), &json!(2)));
    let said: Vec<_> = acknowledged["examples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["businessKey"]["text"].clone(), one["what"].clone(), one["holds"]["text"].clone()))
        .collect();
    assert_eq!(
        said,
        [
            (json!("lost"), json!("another-key"), json!("b")),
            (json!("d"), json!("behind-the-end"), Value::Null),
            (json!("c"), json!("another-key"), json!("a")),
        ]
    );
    assert_eq!(answer["missing"]["keys"][0]["timestamp"], 6);
    let table = reconcile(&[topic.data()], &list, &more);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("lost (line 3): offset 1 of orders-0 holds b"), "{table}");
    assert!(table.contains("sent 1970-01-01 00:00:00.006 UTC"), "{table}");
    let more: Vec<&str> = more.into_iter().chain(["--tz", "Asia/Kolkata"]).collect();
    let there = String::from_utf8(reconcile(&[topic.data()], &list, &more).stdout).unwrap();
    assert!(there.contains("sent 1970-01-01 05:30:00.006 UTC+05:30"), "{there}");
}

#[test]
fn acknowledged_offsets_are_looked_up_in_each_topic_that_has_the_partition() {
    let topic =
        Topic::new(vec![one_by_one(&["a", "b", "c"])]).beside("bills-0", one_by_one(&["x", "b", "y", "z"]));
    let list = topic.list("sent.csv", "key,p,offset\na,0,0\nc,0,1\nb,0,3\nb,0,1\nlost,7,0\n");
    let more = ["--expect-key", "key", "--expect-offset", "offset", "--expect-partition", "p"];
    let answer = told(&[topic.data()], &list, &more, 1);
    let acknowledged = &answer["acknowledged"];
    assert_eq!((&acknowledged["unplaced"], &acknowledged["elsewhere"]), (&json!(0), &json!(3)));
    let said: Vec<_> = acknowledged["examples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["topic"].as_str(), one["partition"].as_i64(), one["what"].as_str().unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            (Some("orders"), Some(0), "another-key"),
            (Some("orders"), Some(0), "behind-the-end"),
            (None, Some(7), "partition-not-given")
        ]
    );
    // With two partitions in a topic and none named, nobody knows which.
    let topic = topic.beside("orders-1", one_by_one(&["d"]));
    let list = topic.list("sent2.csv", "key,offset\na,0\nc,1\n");
    let answer = told(&[topic.data()], &list, &more[..4], 0);
    assert_eq!(
        (&answer["acknowledged"]["unplaced"], &answer["acknowledged"]["storedThere"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn an_acknowledgement_that_the_log_contradicts_is_no_all_clear() {
    let topic = Topic::new(vec![one_by_one(&["a", "b", "c"])]);
    let more = ["--expect-key", "key", "--expect-offset", "offset"];
    // All keys are stored once, and one was acknowledged where another one stands.
    for (offset, what) in [(0, "another-key"), (9, "behind-the-end")] {
        let list = topic.list("sent.csv", format!("key,offset\na,0\nb,{offset}\nc,2\n"));
        let answer = told(&[topic.data()], &list, &more, 1);
        assert_eq!((&answer["storedOnce"], &answer["acknowledged"]["contradicted"]), (&json!(3), &json!(1)));
        let example = &answer["acknowledged"]["examples"][0];
        assert_eq!((&example["what"], &example["contradicted"]), (&json!(what), &json!(true)));
        let table = String::from_utf8(reconcile(&[topic.data()], &list, &more).stdout).unwrap();
        let said = "All 3 keys of the list are stored once in what was read, but 1 of 3 acknowledged offsets does not hold its key.";
        assert!(table.replace('\n', " ").starts_with(said), "{table}");
    }
    // As many as are looked at, and those behind them.
    let list = topic.list("sent.csv", "key,offset\na,1\nb,2\nc,0\n");
    let answer = told(&[topic.data()], &list, &[&more[..], &["--max-keys", "1"]].concat(), 1);
    assert_eq!(answer["acknowledged"]["contradicted"], 3);
    let right = topic.list("sent.csv", "key,offset\na,0\nb,1\nc,2\n");
    told(&[topic.data()], &right, &more, 0);

    // Innocent: the partition was not given, or retention took the record.
    let list = topic.list("sent.csv", "key,p,offset\na,0,0\nb,5,1\nc,0,2\n");
    let with_partition = [&more[..], &["--expect-partition", "p"]].concat();
    let answer = told(&[topic.data()], &list, &with_partition, 3);
    assert_eq!(answer["acknowledged"]["contradicted"], 0);
    let deleted = Topic::new(vec![SegmentBuilder::at(5).batch(batch().producer(1, 0, 5).record("a", "1"))]);
    let log = |name: &str| deleted.data().join("orders-0").join(name);
    fs::rename(log("00000000000000000000.log"), log("00000000000000000005.log")).unwrap();
    let list = deleted.list("sent.csv", "key,offset\na,2\n");
    let answer = told(&[deleted.data()], &list, &more, 3);
    assert_eq!(answer["acknowledged"]["examples"][0]["what"], "below-the-start");
    assert_eq!(answer["acknowledged"]["contradicted"], 0);
}

#[test]
fn an_entry_that_repeats_a_key_has_an_acknowledgement_of_its_own() {
    let topic = Topic::new(vec![one_by_one(&["a", "b", "a"])]);
    let more = ["--expect-key", "id", "--expect-offset", "offset"];
    let list = topic.list("sent.csv", "id,offset\na,0\nb,1\na,2\nb,777\nb,0\n");
    let answer = told(&[topic.data()], &list, &more, 1);
    assert_eq!((&answer["expected"]["keys"], &answer["expected"]["repeatedEntries"]), (&json!(2), &json!(3)));
    assert_eq!((&answer["storedOnce"], &answer["storedMore"]["count"]), (&json!(1), &json!(1)));
    let acknowledged = &answer["acknowledged"];
    assert_eq!((&acknowledged["entries"], &acknowledged["storedThere"]), (&json!(5), &json!(3)));
    let said: Vec<_> =
        acknowledged["examples"].as_array().unwrap().iter().map(|one| one["what"].clone()).collect();
    assert_eq!(said, ["behind-the-end", "another-key"]);
    // What is not looked up is counted: one key with very many entries.
    let mut text = "id,offset\n".to_owned();
    for _ in 0..5000 {
        text.push_str("b,1\n");
    }
    let acknowledged = &told(&[topic.data()], &topic.list("many.csv", text), &more, 0)["acknowledged"];
    let counts =
        ["entries", "storedThere", "unplaced", "elsewhere"].map(|name| acknowledged[name].as_u64().unwrap());
    assert_eq!(counts, [5000, 4097, 903, 0]);
}

#[test]
fn two_readings_of_a_key_are_one_entry_each() {
    let log = SegmentBuilder::new().batch(batch().record((), r#"{"id":41}"#).record((), r#"{"id":"41"}"#));
    let topic = Topic::new(vec![log]);
    let list = topic.list("sent.csv", "id,offset\n41,0\n41,1\n41,7\n");
    let more = ["--key", "json:/id", "--expect-key", "id", "--expect-offset", "offset"];
    let answer = told(&[topic.data()], &list, &more, 1);
    assert_eq!((&answer["expected"]["keys"], &answer["storedMore"]["count"]), (&json!(1), &json!(1)));
    let acknowledged = &answer["acknowledged"];
    assert_eq!((&acknowledged["storedThere"], &acknowledged["elsewhere"]), (&json!(2), &json!(1)));
}

#[test]
fn a_missing_key_stands_in_the_gap_of_its_session() {
    let log = SegmentBuilder::new()
        .batch(batch().producer(7, 0, 0).record("a", "1"))
        .batch(batch().producer(7, 0, 2).record("c", "3"));
    let topic = Topic::new(vec![log]);
    let answer = told(&[topic.data()], &topic.list("keys.txt", "a\nb\nc\n"), &[], 1);
    let stretch = &answer["missing"]["stretches"][0];
    assert_eq!(stretch["session"], "7#1");
    assert_eq!((&stretch["gaps"][0]["expected"], &stretch["gaps"][0]["missing"]), (&json!(1), &json!(1)));
    assert_eq!(stretch["before"]["copy"]["offset"], 0);
}

#[test]
fn keys_stored_more_than_once_name_their_finding_and_isolation_levels_differ() {
    let log = SegmentBuilder::new()
        .batch(batch().producer(1, 0, 0).record("twice", "x").record("once", "y"))
        .batch(batch().producer(2, 0, 0).record("twice", "x"))
        .batch(batch().producer(3, 0, 0).transactional().record("gone", "z"))
        .abort(3, 0)
        .batch(batch().producer(2, 0, 1).record("other", "w"));
    let topic = Topic::new(vec![log]);
    let list = topic.list("keys.txt", "twice\nonce\ngone\ntwice\n");
    let answer = told(&[topic.data()], &list, &[], 1);
    let more = &answer["storedMore"]["keys"][0];
    assert_eq!((&more["records"], &more["findings"][0]), (&json!(2), &answer["findings"][0]["id"]));
    assert_eq!(answer["visibility"]["readUncommitted"], json!({"once": 2, "more": 1, "missing": 0}));
    assert_eq!(answer["visibility"]["readCommitted"], json!({"once": 1, "more": 1, "missing": 1}));
    assert_eq!(answer["expected"]["repeatedEntries"], 1);
    assert_eq!(texts(&answer["unexpected"]["keys"]), ["other"]);
}

#[test]
fn keys_that_only_read_uncommitted_consumers_get_are_told_one_by_one() {
    let in_transaction =
        |producer: i64, key: &str| batch().producer(producer, 0, 0).transactional().record(key, "v");
    let log = SegmentBuilder::new()
        .batch(batch().producer(1, 0, 0).record("seen", "x"))
        .batch(in_transaction(2, "aborted"))
        .abort(2, 0)
        .batch(in_transaction(3, "open"))
        .batch(batch().producer(1, 0, 1).record("behind", "y"));
    let topic = Topic::new(vec![log]);
    let list = topic.list("keys.txt", "seen\naborted\nopen\nbehind\nlost\n");
    let file = topic.0.path().join("withheld.csv");
    let more = ["--partition-count", "orders=1", "--force", "--write-missing", file.to_str().unwrap()];
    let answer = told(&[topic.data()], &list, &more, 1);
    let withheld = &answer["withheld"];
    assert_eq!(
        (&withheld["count"], &withheld["aborted"], &withheld["open"]),
        (&json!(3), &json!(1), &json!(2))
    );
    assert_eq!(texts(&withheld["keys"]), ["aborted", "open", "behind"]);
    assert_eq!(
        (&withheld["keys"][0]["by"], &withheld["keys"][0]["copy"]["offset"]),
        (&json!("aborted"), &json!(1))
    );
    let written = fs::read_to_string(&file).unwrap();
    let rows: Vec<_> = written.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()).collect();
    let rows: Vec<_> = rows.iter().map(|cells| (cells[1], cells[5])).collect();
    assert_eq!(rows, [("aborted", "aborted"), ("open", "open"), ("behind", "open"), ("lost", "missing")]);
    let table = String::from_utf8(reconcile(&[topic.data()], &list, &[]).stdout).unwrap();
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(
        "3 stored where read_committed consumers do not see them (1 aborted, 2 in or behind an open"
    ));
    assert!(words.contains("aborted line 2, orders-0 offset 1, aborted"), "{table}");
}

#[test]
fn a_partition_that_was_not_given_may_hold_a_second_copy() {
    let topic = Topic::new(vec![one_by_one(&["a"])]);
    let list = topic.list("keys.txt", "a\n");
    let answer = told(&[topic.data()], &list, &["--partition-count", "orders=2"], 3);
    assert_eq!((&answer["storedOnce"], &answer["partitionsNotGiven"]), (&json!(1), &json!(1)));
    let table = reconcile(&[topic.data()], &list, &["--partition-count", "orders=2"]).stdout;
    let table = String::from_utf8(table).unwrap();
    assert!(
        table.starts_with("The only key of the list is stored once in what was read; 1 partition"),
        "{table}"
    );
    told(&[topic.data()], &list, &["--partition-count", "orders=1"], 0);
}

#[test]
fn times_without_a_zone_are_those_of_the_option_and_other_units_are_refused() {
    let topic = Topic::new(vec![one_by_one(&["a"])]);
    let more = ["--expect-key", "key", "--expect-time", "sent"];
    let list = topic.list("sent.csv", "key,sent\nlost,2023-11-15 03:43:20\ngone,2023-11-15T03:43:20.005\n");
    let there = [&more[..], &["--tz", "Asia/Kolkata"]].concat();
    let answer = told(&[topic.data()], &list, &there, 1);
    let times: Vec<_> = (0..2).map(|at| answer["missing"]["keys"][at]["timestamp"].clone()).collect();
    assert_eq!(times, [json!(1_700_000_000_000_i64), json!(1_700_000_000_005_i64)]);
    for (time, unit) in [
        ("1700000000", "seconds"),
        ("1700000000000000", "microseconds"),
        ("1700000000000000000", "nanoseconds"),
    ] {
        let list = topic.list("units.csv", format!("key,sent\nlost,{time}\n"));
        let refused = reconcile(&[topic.data()], &list, &more);
        assert_eq!(refused.status.code(), Some(2));
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains("line 2") && said.contains(&format!("reads like {unit} ")), "{said}");
    }
    let list = topic.list("millis.csv", "key,sent\nlost,1700000000000\n");
    told(&[topic.data()], &list, &more, 1);
}

#[test]
fn a_packed_list_is_refused() {
    let topic = Topic::new(vec![one_by_one(&["a"])]);
    for (start, program) in
        [(&b"\x1f\x8b\x08\0"[..], "gunzip"), (b"\x28\xb5\x2f\xfd", "unzstd"), (b"PK\x03\x04", "unzip")]
    {
        let list = topic.list("keys.txt", [start, b"anything\n"].concat());
        let refused = reconcile(&[topic.data()], &list, &[]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8(refused.stderr).unwrap().contains(program));
    }
}

#[test]
fn keys_without_a_finding_say_whether_their_records_differ() {
    // The whole list again each day, as with states that are published, and some news: no copy is accused.
    let day = 86_400_000;
    let mut log = SegmentBuilder::new();
    for round in 0..4 {
        let keys = (0..20).map(|at| (format!("city-{at}"), "name".to_owned()));
        let news = (0..5).map(|at| (format!("news-{round}-{at}"), "n".to_owned()));
        let changing =
            [("x".to_owned(), format!("state {round}")), ("y".to_owned(), format!("{}", round / 2))];
        for ((key, value), at) in keys.chain(news).chain(changing).zip(0..) {
            let time = 1_700_000_000_000 + i64::from(round) * day + i64::from(at);
            let sent = batch().producer(i64::from(round) + 1, 0, at).time(time).record_at(time, key, value);
            log = log.batch(sent);
        }
    }
    let topic = Topic::new(vec![log]);
    let list = topic.list("keys.txt", "city-3\nx\ny\n");
    let answer = told(&[topic.data()], &list, &[], 1);
    let said: Vec<_> = answer["storedMore"]["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| (key["findings"].as_array().unwrap().is_empty(), key["contents"].clone()))
        .collect();
    let expected = ["equal", "different", "mixed"].map(|contents| (true, json!(contents)));
    assert_eq!(said, expected, "{answer:#}");
    let table = String::from_utf8(reconcile(&[topic.data()], &list, &[]).stdout).unwrap();
    assert!(table.contains("city-3  4 records  no finding: the records are equal"), "{table}");
    assert!(table.contains("x  4 records  no finding: the records differ"), "{table}");
}

#[test]
fn numbers_and_texts_of_the_same_digits_are_one_key() {
    let log = SegmentBuilder::new()
        .batch(batch().record((), r#"{"id":41,"of":"a"}"#).record((), r#"{"id":"42","of":"a"}"#));
    let topic = Topic::new(vec![log]);
    for (name, text, key) in [
        ("sent.csv", "id,of\n41,a\n42,a\n", ["id", "2"]),
        ("sent.ndjson", "{\"id\":\"41\",\"of\":\"a\"}\n{\"id\":42,\"of\":\"a\"}\n", ["/id", "/of"]),
    ] {
        let list = topic.list(name, text);
        let more = ["--key", "json:/id+json:/of", "--expect-key", key[0], "--expect-key", key[1]];
        let answer = told(&[topic.data()], &list, &more, 0);
        assert_eq!((&answer["storedOnce"], &answer["unexpected"]["count"]), (&json!(2), &json!(0)));
    }
}

#[test]
fn what_was_not_given_is_said_and_changes_the_words() {
    let topic = Topic::new(vec![one_by_one(&["a"]), one_by_one(&["b"])]);
    let list = topic.list("keys.txt", "a\nb\n");
    let only = [topic.data().join("orders-1")];
    let answer = told(&only, &list, &[], 1);
    assert_eq!(answer["evidenceComplete"], false);
    assert!(answer["doubts"][0].as_str().unwrap().contains("orders-0 of 2 partitions were not given"));
    let table = String::from_utf8(reconcile(&only, &list, &[]).stdout).unwrap();
    assert!(table.starts_with("Of 2 keys of the list 1 not in what was read."), "{table}");
    told(&[topic.data()], &list, &[], 0);
}

#[test]
fn where_only_internal_topics_were_given_nothing_is_known_to_be_missing() {
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1/consumer-rewind/data");
    let offsets = fs::read_dir(&set).unwrap().map(|entry| entry.unwrap().path());
    let offsets: Vec<_> = offsets
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("__consumer_offsets-"))
        .collect();
    let home = tempfile::tempdir().unwrap();
    let list = home.path().join("keys.txt");
    fs::write(&list, "order-0001\n").unwrap();
    let answer = told(&offsets, &list, &[], 1);
    assert_eq!((&answer["missing"]["count"], &answer["evidenceComplete"]), (&json!(1), &json!(false)));
    assert!(answer["doubts"][0].as_str().unwrap().contains("but internal ones"), "{}", answer["doubts"]);
    let table = String::from_utf8(reconcile(&offsets, &list, &[]).stdout).unwrap();
    assert!(table.starts_with("Of 1 key of the list 1 not in what was read."), "{table}");
}

#[test]
fn a_missing_key_in_the_lost_tail_of_an_old_leader_is_named() {
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1/three-brokers-diverged");
    let data = ["data-1", "data-2", "data-3"].map(|name| set.join(name));
    let home = tempfile::tempdir().unwrap();
    let list = home.path().join("keys.txt");
    fs::write(&list, "order-1051\norder-1052\norder-1053\norder-1061\norder-0\n").unwrap();
    let more = ["--topic", "orders", "--partition-count", "orders=2"];
    let answer = told(&data, &list, &more, 1);
    assert_eq!((&answer["missing"]["count"], &answer["missing"]["inOtherReplicas"]), (&json!(3), &json!(2)));
    let said: Vec<_> = answer["missing"]["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| (key["otherReplica"]["brokerId"].clone(), key["otherReplica"]["offset"].clone()))
        .collect();
    assert_eq!(
        said,
        [(json!(2), json!(12)), (json!(2), json!(13)), (Value::Null, Value::Null)],
        "{answer:#}"
    );
    assert_eq!(answer["evidenceComplete"], false);
    assert!(
        answer["doubts"].to_string().contains("data-2/orders-1 holds records that"),
        "{}",
        answer["doubts"]
    );
    // Replicas that agree leave nothing open.
    let set = set.with_file_name("three-brokers-rejoined");
    let data = ["data-1", "data-2", "data-3"].map(|name| set.join(name));
    let answer = told(&data, &list, &more, 1);
    assert_eq!(answer["missing"]["inOtherReplicas"], 0);
    assert!(!answer["doubts"].to_string().contains("the replica that leads"), "{}", answer["doubts"]);
}

/// A replica of orders-0 on a broker, with the leader epochs that it noted.
fn replica(at: &Path, broker: i32, epochs: &str, log: SegmentBuilder) -> PathBuf {
    let partition = at.join("orders-0");
    fs::create_dir_all(&partition).unwrap();
    fs::write(at.join("meta.properties"), format!("node.id={broker}\ncluster.id=c\nversion=1\n")).unwrap();
    fs::write(partition.join("partition.metadata"), "version: 0\ntopic_id: 9Zb-ACHLRrCmbBmjuYMOPg").unwrap();
    fs::write(partition.join("leader-epoch-checkpoint"), epochs).unwrap();
    fs::write(partition.join("00000000000000000000.log"), log.bytes()).unwrap();
    at.to_owned()
}

#[test]
fn a_missing_key_in_a_tail_on_which_nothing_shows_that_anybody_relied_is_named_as_well() {
    let home = tempfile::tempdir().unwrap();
    let sent = |at: i32| batch().producer(7, 0, at).record(format!("order-{at}"), "paid");
    let common = || (0..4).fold(SegmentBuilder::new().leader_epoch(1), |log, at| log.batch(sent(at)));
    let list = home.path().join("keys.txt");
    fs::write(&list, "order-0\norder-5\norder-9\n").unwrap();
    // Whoever wrote order-5 is not seen again: nobody knows whether it was told of success.
    let old = replica(&home.path().join("a"), 1, "0\n1\n1 0\n", common().batch(sent(4)).batch(sent(5)));
    let other = batch().producer(8, 0, 0).record("order-8", "paid");
    let new = replica(&home.path().join("b"), 2, "0\n2\n1 0\n2 4\n", common().leader_epoch(2).batch(other));
    let answer = told(&[old, new], &list, &["--partition-count", "orders=1"], 1);
    assert_eq!((&answer["missing"]["count"], &answer["missing"]["inOtherReplicas"]), (&json!(2), &json!(1)));
    assert_eq!(answer["missing"]["keys"][0]["otherReplica"]["brokerId"], 1, "{answer:#}");
    assert!(answer["doubts"].to_string().contains("a/orders-0 holds records that"), "{}", answer["doubts"]);
    // Where all of a tail was sent again there is nothing to doubt.
    let again = common().leader_epoch(2).batch(sent(4)).batch(sent(5));
    let new = replica(&home.path().join("c"), 2, "0\n2\n1 0\n2 4\n", again);
    let answer = told(&[home.path().join("a"), new], &list, &["--partition-count", "orders=1"], 1);
    assert_eq!(answer["missing"]["inOtherReplicas"], 0);
    assert!(!answer["doubts"].to_string().contains("the replica that leads"), "{}", answer["doubts"]);
}

#[test]
fn all_stored_once_and_something_unreadable_is_status_3() {
    let topic = Topic::new(vec![one_by_one(&["a", "b", "c"])]);
    let log = topic.data().join("orders-0/00000000000000000000.log");
    let mut bytes = fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&log, bytes).unwrap();
    told(&[topic.data()], &topic.list("keys.txt", "a\nc\n"), &[], 3);
    told(&[topic.data()], &topic.list("keys.txt", "a\nb\nc\n"), &[], 1);
}

#[test]
fn a_list_of_which_no_entry_has_the_key_is_no_all_clear() {
    let topic = Topic::new(vec![one_by_one(&["a", "b"])]);
    let said = |name: &str, text: &str, more: &[&str]| {
        let output = reconcile(&[topic.data()], &topic.list(name, text), more);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(output.stdout.is_empty(), "{name}");
        String::from_utf8(output.stderr).unwrap()
    };
    let ledger = "{\"n\":1,\"key\":\"a\"}\n{\"n\":2,\"key\":\"b\",\"at\":{\"\\u001bms\":5}}\n";
    let wrong = said("ledger.ndjson", ledger, &["--expect-key", "/eventID"]);
    let there = "none of 2 entries has /eventID; fields there: /n, /key, /at/";
    assert!(wrong.contains(there) && !wrong.contains('\u{1b}'), "{wrong}");
    let empty_cells = said("sent.csv", "id,of\n,a\n,b\n", &["--expect-key", "id"]);
    assert!(empty_cells.contains("none of 2 entries has id\n"), "{empty_cells}");
    let one = said("one.ndjson", "{\"key\":null}\n", &["--expect-key", "/key"]);
    assert!(one.contains("its only entry has no /key\n"), "{one}");
    assert!(said("keys.txt", "\n\n", &[]).contains("it has no entry"), "an empty list");
}

#[test]
fn entries_without_a_key_stand_in_the_first_sentence_and_are_no_all_clear() {
    let topic = Topic::new(vec![one_by_one(&["a", "b"])]);
    let list = topic.list("ledger.ndjson", "{\"id\":\"a\"}\n{\"key\":\"b\"}\n{\"id\":\"b\"}\n");
    let more = ["--expect-key", "/id"];
    let answer = told(&[topic.data()], &list, &more, 3);
    assert_eq!((&answer["expected"]["entriesWithoutKey"], &answer["storedOnce"]), (&json!(1), &json!(2)));
    assert_eq!(answer["complete"], true, "the evidence was read");
    let table = String::from_utf8(reconcile(&[topic.data()], &list, &more).stdout).unwrap();
    let table = table.replace('\n', " ");
    let first =
        "All 2 keys of the list are stored once in what was read; 1 entry of it has no key and was not";
    assert!(table.starts_with(first), "{table}");
    // What is found weighs more than what was not looked for.
    let gone = topic.list("lost.ndjson", "{\"id\":\"c\"}\n{\"key\":\"b\"}\n{}\n");
    let table = reconcile(&[topic.data()], &gone, &more);
    assert_eq!(table.status.code(), Some(1));
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(
        table.starts_with("Of 1 key of the list 1 not in what was read; 2 entries of it have no key"),
        "{table}"
    );
}

#[test]
fn a_cleaner_that_was_never_there_took_no_missing_key() {
    let doubts = |checkpoint: i64| {
        let tree = Topic::new(vec![one_by_one(&["a", "b", "d"])]);
        let entry = format!("0\n1\norders 0 {checkpoint}\n");
        fs::write(tree.data().join("cleaner-offset-checkpoint"), entry).unwrap();
        let list = tree.list("sent.txt", "a\nb\nc\nd\n");
        let answer = told(&[tree.data()], &list, &["--key", "record-key"], 1);
        assert_eq!(texts(&answer["missing"]["keys"]), ["c"]);
        answer["doubts"].to_string()
    };
    assert!(!doubts(0).contains("was compacted"), "the entry of a log that was looked at and not cleaned");
    assert!(doubts(2).contains("was compacted"));
}

#[test]
fn hostile_keys_reach_neither_terminal_nor_spreadsheet() {
    let hostile = "=cmd()\u{1b}[2J";
    let topic = Topic::new(vec![one_by_one(&["a\u{1b}[31m", "b", "b"])]);
    let list = topic.list("keys.txt", format!("=cmd()\n{hostile}\nb\n"));
    let written = topic.0.path().join("missing.csv");
    let table = reconcile(&[topic.data()], &list, &["--write-missing", written.to_str().unwrap()]);
    assert!(!table.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&table.stdout));
    let lines = fs::read_to_string(&written).unwrap();
    let lines: Vec<_> = lines.lines().skip(1).collect();
    // What is no printable text is written as base64.
    assert_eq!(lines, ["1,\"'=cmd()\",text,,,missing", "2,PWNtZCgpG1sySg==,base64,,,missing"]);
    // Whole or not at all, and not over what is there.
    let again = reconcile(&[topic.data()], &list, &["--write-missing", written.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(2));
    let broken = topic.list("broken.ndjson", "{\"id\":\"a\"}\n{");
    let other = topic.0.path().join("other.csv");
    let more = ["--expect-key", "/id", "--write-missing", other.to_str().unwrap()];
    let failed = reconcile(&[topic.data()], &broken, &more);
    assert_eq!((failed.status.code(), other.exists()), (Some(2), false));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("broken.ndjson line 2"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    /// Against a computation with sets, over two partitions.
    #[test]
    fn the_answer_is_that_of_sets(
        stored in proptest::collection::vec((0_u32..60, 0_usize..2), 1..120),
        sent in proptest::collection::vec(0_u32..80, 1..120),
    ) {
        let mut logs: [Vec<String>; 2] = Default::default();
        let mut counts = BTreeMap::new();
        for (key, partition) in &stored {
            logs[*partition].push(format!("key-{key}"));
            *counts.entry(*key).or_insert(0_u64) += 1;
        }
        let logs = logs.iter().map(|keys| one_by_one(&keys.iter().map(String::as_str).collect::<Vec<_>>()));
        let topic = Topic::new(logs.collect());
        let mut text = String::new();
        for key in &sent {
            writeln!(text, "key-{key}").unwrap();
        }
        let list = topic.list("keys.txt", text);
        let distinct: BTreeSet<u32> = sent.iter().copied().collect();
        let stored_as = |condition: &dyn Fn(u64) -> bool| {
            distinct.iter().filter(|key| condition(counts.get(key).copied().unwrap_or(0))).count()
        };
        let unexpected = counts.keys().filter(|key| !distinct.contains(key)).count();
        let missing = stored_as(&|count| count == 0);
        let output = reconcile(&[topic.data()], &list, &["--format", "json", "--max-keys", "0"]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        prop_assert_eq!(&answer["storedOnce"], stored_as(&|count| count == 1));
        prop_assert_eq!(&answer["storedMore"]["count"], stored_as(&|count| count > 1));
        prop_assert_eq!(&answer["missing"]["count"], missing);
        prop_assert_eq!(&answer["unexpected"]["count"], unexpected);
        let in_order: Vec<String> = {
            let mut seen = BTreeSet::new();
            let absent = sent.iter().filter(|key| !counts.contains_key(key) && seen.insert(**key));
            absent.map(|key| format!("key-{key}")).collect()
        };
        prop_assert_eq!(texts(&answer["missing"]["keys"]), in_order);
    }
}

/// What a bound on memory makes of a list of lines.
fn within(limit: u64, topic: &Topic, list: &Path) -> (Reconciled, Vec<u8>) {
    let record_key = KeySpec::record_key();
    let options = AuditOptions {
        key: KeyChoice::User(record_key.clone()),
        memory: Memory { limit, temp_dir: topic.0.path().to_owned(), ..Memory::default() },
        threads: 2,
        ..AuditOptions::over(vec![topic.data()])
    };
    let fields = Fields {
        format: FileFormat::Lines,
        header: Header::Names,
        key: vec![Field::Line],
        time: None,
        offset: None,
        partition: None,
        zone: jiff::tz::TimeZone::UTC,
    };
    let mut missing = Vec::new();
    let reconciler = Reconciler::new(list.to_owned(), fields, record_key, 1000, &mut missing);
    let (_, answer) = audit::reconcile(&options, reconciler).unwrap();
    (answer, missing)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]
    /// Some 20,000 rows on either side take 1.3 MB; a bound of 256 KiB leaves them a fraction of it.
    #[test]
    fn the_answer_is_that_of_sets_when_it_spills(seed in any::<u64>(), keys in 10_000_u64..40_000) {
        let mut state = seed;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % keys
        };
        let stored: Vec<u64> = (0..20_000).map(|_| draw()).collect();
        let sent: Vec<u64> = (0..20_000).map(|_| draw()).collect();
        let mut counts = BTreeMap::new();
        for key in &stored {
            *counts.entry(*key).or_insert(0_u64) += 1;
        }
        let log = stored.chunks(500).fold(SegmentBuilder::new(), |log, keys| {
            log.batch(keys.iter().fold(batch(), |batch, key| batch.record(format!("key-{key}"), "")))
        });
        let topic = Topic::new(vec![log]);
        let list = sent.iter().fold(String::new(), |mut list, key| {
            writeln!(list, "key-{key}").unwrap();
            list
        });
        let list = topic.list("keys.txt", list);
        let (answer, written) = within(256 << 10, &topic, &list);
        let distinct: BTreeSet<u64> = sent.iter().copied().collect();
        let stored_as = |condition: &dyn Fn(u64) -> bool| {
            distinct.iter().filter(|key| condition(counts.get(key).copied().unwrap_or(0))).count() as u64
        };
        prop_assert_eq!(answer.stored_once, stored_as(&|count| count == 1));
        prop_assert_eq!(answer.stored_more.count, stored_as(&|count| count > 1));
        prop_assert_eq!(answer.missing.count, stored_as(&|count| count == 0));
        let unexpected = counts.keys().filter(|key| !distinct.contains(key)).count() as u64;
        prop_assert_eq!(answer.unexpected.count, unexpected);
        prop_assert_eq!(answer.expected.repeated_entries, sent.len() as u64 - distinct.len() as u64);
        let lines = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() as u64;
        prop_assert_eq!(lines, answer.missing.count + 1);
        prop_assert_eq!((answer, written), within(1 << 30, &topic, &list));
    }
}

#[test]
fn a_quotation_mark_that_is_not_closed_does_not_take_the_list_into_memory() {
    let topic = Topic::new(vec![one_by_one(&["a"])]);
    let list = topic.list("keys.csv", format!("id\na\n\"{}", "x\n".repeat(9 << 20)));
    let output = reconcile(&[topic.data()], &list, &["--expect-key", "id"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("keys.csv line 3: it is longer than 16777216 bytes"), "{said}");
}
