//! `dedup-audit dump` says what Kafka's own dump tool says, and goes on where that one ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Kafka's tool stops at an impossible size and counts the rest as invalid; batches behind it are
/// printed here.
const ENDS_EARLY: &str = "4.3.1/bit-rot-length/data/payments-0/00000000000000000015.log.txt";
/// Kafka's tool dies when the log of a time index has a zero tail.
const DIES: &str = "4.3.1/crash-preallocated-zero-tail/";

fn testdata(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder)
}

fn run(scenario: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("dump")
        .args(arguments)
        .current_dir(testdata("brokers").join(scenario))
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn objects(output: &Output) -> Vec<Value> {
    output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(parse).collect()
}

fn parse(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap()
}

fn of_type<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["type"] == kind).collect()
}

fn golden_texts() -> Vec<PathBuf> {
    let (mut folders, mut texts) = (vec![testdata("dump")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "txt") {
                texts.push(path);
            }
        }
    }
    texts.sort();
    texts
}

/// One start a scenario: the tool takes several files, and prints one behind the other.
#[test]
fn every_file_is_printed_as_kafka_prints_it() {
    let texts = golden_texts();
    assert!(texts.len() > 400, "{} texts", texts.len());
    for path in texts {
        let name = path.strip_prefix(testdata("dump")).unwrap().to_str().unwrap().to_owned();
        let mut parts = name.splitn(3, '/');
        let scenario = format!("{}/{}", parts.next().unwrap(), parts.next().unwrap());
        let file = parts.next().unwrap().strip_suffix(".txt").unwrap();
        let (kafkas, ours) = (text(&fs::read(&path).unwrap()), text(&run(&scenario, &[file]).stdout));
        if name == ENDS_EARLY {
            let (same, found) = kafkas.trim_end().rsplit_once('\n').unwrap();
            assert!(found.starts_with("Found 1303 invalid bytes"), "{found}");
            assert!(ours.starts_with(same) && ours.len() > kafkas.len(), "{name}");
        } else if name.starts_with(DIES) {
            assert!(ours.starts_with(&kafkas), "{name}");
        } else {
            assert!(ours == kafkas, "{name}:\n{}", first_difference(&kafkas, &ours));
        }
    }
}

fn first_difference(kafkas: &str, ours: &str) -> String {
    let pair = kafkas.lines().zip(ours.lines()).find(|(kafka, our)| kafka != our);
    pair.map_or_else(|| "one is longer".to_owned(), |(kafka, our)| format!("kafka {kafka}\nours  {our}"))
}

#[test]
fn a_bad_length_is_told_and_the_batches_behind_it_are_printed() {
    let output = run("4.3.1/bit-rot-length", &["data/payments-0/00000000000000000015.log"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("00000000000000000015.log at "), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("| offset: 29 "));
}

#[test]
fn a_wrapper_whose_messages_cannot_be_read_is_still_printed() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("00000000000000000000.log");
    let broker = "brokers/0.10.2.2/every-codec/data/large-lz4-0/00000000000000000000.log";
    let mut bytes = fs::read(testdata(broker)).unwrap();
    bytes[300..400].fill(0);
    fs::write(&log, bytes).unwrap();
    let log = log.to_str().unwrap();
    for selected in [&[][..], &["--offsets", "0..0"]] {
        let output = run("", &[&["--format", "ndjson", log], selected].concat());
        assert_eq!(output.status.code(), Some(3));
        let lines = objects(&output);
        assert_eq!(of_type(&lines, "batch")[0]["isvalid"], false, "{selected:?}");
        assert!(of_type(&lines, "record").is_empty());
    }
}

#[test]
fn a_zero_tail_of_a_log_in_use_is_said_and_no_failure() {
    let log = "data/orders-0/00000000000000000000.log";
    let output = run("4.3.1/crash-preallocated-zero-tail", &[log]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("zero"));
    assert!(!text(&output.stdout).contains("invalid"));
}

#[test]
fn a_damaged_snapshot_says_what_is_wrong() {
    for (partition, reason) in [
        (0, "stored checksum"),
        (1, "snapshot is cut"),
        (2, "5 entries need 240 bytes, file has 119"),
        (3, "stale bytes"),
        (5, "version 2 is unknown"),
    ] {
        let file = format!("data/orders-{partition}/00000000000000000014.snapshot");
        let output = run("4.3.1/snapshot-damage", &[&file]);
        assert_eq!(output.status.code(), Some(3), "{file}");
        let said = text(&output.stderr);
        assert!(said.contains(reason), "{file}: {said}");
    }
}

#[test]
fn what_cannot_be_opened_does_not_stop_the_others() {
    let log = "data/payments-0/00000000000000000000.log";
    let output = run("4.3.1/bit-rot-twin", &["no-such-file.log", log]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).starts_with("no-such-file.log: "));
    assert!(text(&output.stdout).starts_with(&format!("Dumping {log}\n")));
    let nothing = run("4.3.1/bit-rot-twin", &["no-such-file.log", "README.md"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(nothing.stdout.is_empty());
}

#[test]
fn json_lines_hold_what_the_text_holds() {
    let log = "data/payments-0/00000000000000000015.log";
    let json = run("4.3.1/bit-rot-payload", &["--format", "ndjson", log]);
    let objects = objects(&json);
    let lines = text(&run("4.3.1/bit-rot-payload", &[log]).stdout);
    let batches = of_type(&objects, "batch");
    let records = of_type(&objects, "record");
    assert_eq!(batches.len(), lines.lines().filter(|line| line.starts_with("baseOffset")).count());
    assert_eq!(records.len(), lines.lines().filter(|line| line.starts_with('|')).count());
    assert_eq!(batches.iter().filter(|batch| batch["isvalid"] == false).count(), 1);
    let record = records[0];
    assert_eq!(record["file"], log);
    assert_eq!(record["offset"], 15);
    assert_eq!(record["sequence"], 6);
    assert_eq!(record["key"]["text"], "order-1013");
    assert!(record["value"]["text"].as_str().unwrap().starts_with("{\"eventId\":\"ev-00013\""));
}

#[test]
fn bytes_that_are_no_text_are_base64_in_json() {
    let log = "data/upgraded-none-0/00000000000000000000.log";
    let objects = objects(&run("2.3.1/format-mixed", &["--format", "ndjson", log]));
    let records = of_type(&objects, "record");
    assert!(records.iter().any(|record| record["key"]["base64"].is_string()));
    assert!(records.iter().any(|record| record["key"].is_null()));
    assert!(records.iter().any(|record| record["isValid"] == true && record["crc"].is_u64()));
}

#[test]
fn a_selection_keeps_what_it_names() {
    let log = "data/payments-0/00000000000000000015.log";
    let scenario = "4.3.1/bit-rot-twin";
    let select =
        |arguments: &[&str]| objects(&run(scenario, &[&["--format", "ndjson", log], arguments].concat()));
    let all = select(&[]);
    let all = of_type(&all, "record");

    let some = select(&["--offsets", "16..19"]);
    let offsets: Vec<_> = of_type(&some, "record").iter().map(|r| r["offset"].as_i64().unwrap()).collect();
    assert_eq!(offsets, [16, 17, 18, 19]);
    assert_eq!(of_type(&some, "batch").len(), 2);

    let producer = select(&["--pid", "3"]);
    let expected = all.iter().filter(|record| record["producerId"] == 3).count();
    assert_eq!(of_type(&producer, "record").len(), expected);
    assert!(expected > 0 && expected < all.len());

    let middle = all[4]["timestamp"].as_i64().unwrap();
    for (option, keeps) in [
        ("--since", Box::new(move |time| time >= middle) as Box<dyn Fn(i64) -> bool>),
        ("--until", Box::new(move |time| time <= middle)),
    ] {
        let some = select(&[option, &middle.to_string()]);
        let expected = all.iter().filter(|record| keeps(record["timestamp"].as_i64().unwrap())).count();
        assert_eq!(of_type(&some, "record").len(), expected, "{option}");
        assert!(expected > 0 && expected < all.len());
    }
}

#[test]
fn batches_alone_need_no_records() {
    let log = "data/codec-gzip-0/00000000000000000000.log";
    let output = run("0.10.2.2/every-codec", &["--headers-only", log]);
    let lines = text(&output.stdout);
    assert!(lines.lines().skip(2).all(|line| line.starts_with("offset: ")), "{lines}");
}

#[test]
fn internal_topics_are_read_with_kafkas_options() {
    let log = "data/__consumer_offsets-0/00000000000000000000.log";
    let lines = text(&run("4.3.1/offsets-topic", &["--offsets-decoder", log]).stdout);
    assert!(lines.contains(
        r#"key: {"type":"1","data":{"group":"billing","topic":"orders","partition":0}} payload: {"version":"4","data":{"offset":4,"#
    ));
    let log = "data/__transaction_state-0/00000000000000000000.log";
    let lines = text(&run("4.3.1/offsets-topic", &["--transaction-log-decoder", log]).stdout);
    assert!(
        lines.contains(r#"key: {"type":"0","data":{"transactionalId":"billing-1"}} payload: {"version":"1""#)
    );
    let log = "data-controller/__cluster_metadata-0/00000000000000000000.log";
    let lines = text(&run("4.3.1/three-brokers-rejoined", &["--cluster-metadata-decoder", log]).stdout);
    assert!(lines.contains(r#"payload: {"type":"TOPIC_RECORD","version":0,"data":{"name":"orders","#));
    assert!(!lines.contains("Error at"), "a record of Kafka 4.3 cannot be read");
}

#[test]
fn every_type_of_a_coordinators_records_is_printed_as_kafka_prints_it() {
    for (directory, decoder) in [
        ("__consumer_offsets-0", "--offsets-decoder"),
        ("__share_group_state-0", "--share-group-state-decoder"),
        ("__transaction_state-0", "--transaction-log-decoder"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
            .args(["dump", decoder, &format!("{directory}/00000000000000000000.log")])
            .current_dir(testdata("coordinators"))
            .output()
            .unwrap();
        let kafkas =
            fs::read_to_string(testdata("coordinators").join(directory).join("decoded.txt")).unwrap();
        let ours = text(&output.stdout);
        assert!(ours == kafkas, "{directory}:\n{}", first_difference(&kafkas, &ours));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
}

#[test]
fn json_reads_internal_topics_by_the_name_of_the_directory() {
    let log = "data/__transaction_state-0/00000000000000000000.log";
    let objects = objects(&run("4.3.1/offsets-topic", &["--format", "ndjson", log]));
    let records = of_type(&objects, "record");
    assert!(!records.is_empty());
    for record in records {
        let id = &record["decoded"]["key"]["transactionalId"];
        assert!(id.as_str().is_some_and(|id| id.starts_with("billing-")), "{record}");
    }
}

#[test]
fn a_range_of_offsets_ends_the_reading() {
    let segment = (0..10).fold(SegmentBuilder::new(), |segment, key| {
        segment.batch(batch().record(format!("order-{key}"), "paid").record("other", "paid"))
    });
    let broken_behind = segment.places()[6].position + 40;
    let mut bytes = segment.bytes();
    bytes[broken_behind] ^= 1;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("00000000000000000000.log");
    fs::write(&file, bytes).unwrap();
    let dump = |range: &str| {
        let mut dump = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
        dump.args(["dump", "--format", "ndjson", "--offsets", range]).arg(&file).output().unwrap()
    };
    for (range, records, status) in [("3..5", 3, 0), ("3..11", 9, 0), ("3..", 17, 3), ("0..12", 13, 3)] {
        let output = dump(range);
        let found = of_type(&objects(&output), "record").len();
        assert_eq!(
            (found, output.status.code()),
            (records, Some(status)),
            "{range}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_segment_under_another_name_is_printed_as_what_it_holds() {
    let segment = (0..3).fold(SegmentBuilder::at(20), |segment, key| {
        segment.batch(batch().record(format!("order-{key}"), "paid"))
    });
    let bytes = segment.bytes();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("00000000000000000500.log");
    let dump = |bytes: &[u8], range: &str| {
        fs::write(&file, bytes).unwrap();
        let mut dump = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
        dump.args(["dump", "--format", "ndjson", "--offsets", range]).arg(&file).output().unwrap()
    };
    for (range, records) in [("0..", 3), ("21..22", 2)] {
        let output = dump(&bytes, range);
        let said = text(&output.stderr);
        assert_eq!(of_type(&objects(&output), "record").len(), records, "{range}: {said}");
        assert_eq!((said.lines().count(), output.status.code()), (1, Some(0)), "{said}");
        assert!(said.contains("offsets 20 to 22, its name says 500"), "{said}");
    }
    // One whose order is broken, too, keeps its name.
    let output = dump(&[bytes.clone(), bytes].concat(), "0..");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
}

#[test]
fn text_files_of_a_broker_are_printed_line_by_line() {
    let files = [
        "data/replication-offset-checkpoint",
        "data/ledger-entries-0/leader-epoch-checkpoint",
        "data/meta.properties",
    ];
    let output = run("4.3.1/txn-commit-abort-tv2", &files);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    assert!(lines.contains("topic: ledger-entries partition: 0 offset: "), "{lines}");
    assert!(lines.contains("leaderEpoch: 0 startOffset: 0"), "{lines}");
    assert!(lines.contains("node.id: 1"), "{lines}");
    let objects =
        objects(&run("4.3.1/txn-commit-abort-tv2", &[&["--format", "ndjson"], &files[..]].concat()));
    assert_eq!(of_type(&objects, "file").len(), 3);
    assert_eq!(of_type(&objects, "leaderEpochEntry")[0]["startOffset"], 0);
    let entries = of_type(&objects, "offsetCheckpointEntry");
    assert!(
        entries.iter().any(|entry| entry["topic"] == "ledger-entries" && entry["offset"].is_i64()),
        "{entries:?}"
    );
    assert!(
        of_type(&objects, "property").iter().any(|entry| entry["name"] == "node.id" && entry["value"] == "1")
    );
}

#[test]
fn a_text_file_with_a_bad_line_says_which() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recovery-point-offset-checkpoint");
    fs::write(&file, "0\n2\norders 0 16\norders zero 1\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit")).arg("dump").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("line 4"), "{}", text(&output.stderr));
}

#[test]
fn a_reader_that_goes_away_is_a_quiet_end() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["dump", "--format", "ndjson"])
        .args(std::iter::repeat_n("data/payments-0/00000000000000000000.log", 200))
        .current_dir(testdata("brokers/4.3.1/bit-rot-twin"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    drop(lines);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}
