//! Cases that people had, built anew from public reports, and what `scan` and `producers` say of them:
//! the facts, codes and numbers that an expert would put into the ticket.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

use dedup_audit::testkit::{FIRST_TIME, SegmentBuilder, batch};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A log directory that was closed cleanly.
struct LogDir(tempfile::TempDir);

impl LogDir {
    fn new() -> Self {
        let dir = Self(tempfile::tempdir().unwrap());
        dir.file("meta.properties", b"#\nnode.id=1\ncluster.id=cases\nversion=1\n");
        dir.file("cleaner-offset-checkpoint", b"0\n0\n");
        dir.file(".kafka_cleanshutdown", b"{\"version\":0,\"brokerEpoch\":7}");
        dir
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn log(&self, partition: &str, base: i64, segment: SegmentBuilder) {
        self.file(&format!("{partition}/{base:020}.log"), &segment.bytes());
    }

    fn run(&self, command: &str, more: &[&str]) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
            .args([command, "--format", "json"])
            .args(more)
            .arg(self.path())
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    fn scan(&self) -> Value {
        self.run("scan", &["--max-groups", "0"])
    }
}

fn findings<'r>(report: &'r Value, code: &str) -> Vec<&'r Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["code"] == code).collect()
}

fn codes(report: &Value) -> BTreeSet<String> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// One batch of one record, numbered.
fn event(producer: (i64, i16, i32), number: i32) -> dedup_audit::testkit::BatchSpec {
    let (id, epoch, sequence) = producer;
    batch().producer(id, epoch, sequence).record(format!("order-{number}"), format!("paid {number}"))
}

fn unprotected(number: i32) -> dedup_audit::testkit::BatchSpec {
    event((-1, -1, -1), number)
}

#[test]
fn case_2_idempotence_that_was_never_on_or_went_off_or_is_off_in_one_of_two_services() {
    let dir = LogDir::new();
    let never = (0..40).fold(SegmentBuilder::new(), |log, n| log.batch(unprotected(n)));
    dir.log("never-0", 0, never.batch(unprotected(39).time(FIRST_TIME + 39_000)));
    let deployed = (0..30).fold(SegmentBuilder::new(), |log, n| log.batch(event((7, 0, n), n)));
    dir.log("deployed-0", 0, (30..50).fold(deployed, |log, n| log.batch(unprotected(n))));
    let both = (0..20)
        .fold(SegmentBuilder::new(), |log, n| log.batch(event((12, 0, n), n)).batch(unprotected(100 + n)));
    dir.log("both-0", 0, both);
    let report = dir.scan();

    let of = |code: &str, topic: &str| {
        let found: Vec<_> = findings(&report, code)
            .into_iter()
            .filter(|finding| finding["topics"] == json!([topic]))
            .collect();
        assert_eq!(found.len(), 1, "{code} of {topic} in {report:#}");
        found[0].clone()
    };
    let stretch = |finding: &Value| {
        let only = finding["stretches"].as_array().unwrap();
        (
            only.len(),
            only[0]["firstOffset"].clone(),
            only[0]["lastOffset"].clone(),
            only[0]["records"].clone(),
        )
    };
    let off = of("idempotence-off", "never");
    assert_eq!(stretch(&off), (1, json!(0), json!(40), json!(41)));
    assert!(off["stretches"][0]["firstTime"].is_string() && off["stretches"][0]["lastTime"].is_string());
    let lost = of("idempotence-lost", "deployed");
    assert_eq!(
        (lost["severity"].clone(), stretch(&lost)),
        (json!("high"), (1, json!(30), json!(49), json!(20)))
    );
    // Two services at once: one of them is wrong, and nothing was switched.
    let one_of_two = of("idempotence-off", "both");
    assert_eq!(one_of_two["stretches"].as_array().unwrap().len(), 20);
    assert!(one_of_two["facts"].to_string().contains("20 of 40"), "{one_of_two:#}");
    assert!(
        !findings(&report, "idempotence-lost").iter().any(|finding| finding["topics"] != json!(["deployed"]))
    );
    // The repeat lies in an unprotected stretch, and its kind says so.
    assert_eq!(findings(&report, "retry-without-idempotence").len(), 1);
}

#[test]
fn case_3_the_epoch_of_a_marker_is_not_that_of_its_data() {
    let data = |id, epoch, first: i32, count: i32| {
        (first..first + count).fold(batch().producer(id, epoch, first).transactional(), |spec, n| {
            spec.record(format!("{id}-{epoch}-{n}"), "x")
        })
    };
    let log = SegmentBuilder::new()
        // Every end raises the epoch.
        .batch(data(7, 10, 0, 5))
        .commit(7, 11)
        .batch(data(7, 11, 0, 3))
        .abort(7, 12)
        // Markers keep the epoch, until the coordinator ends one that took too long.
        .batch(data(8, 10, 0, 4))
        .commit(8, 10)
        .batch(data(8, 10, 4, 2))
        .abort(8, 11)
        .batch(data(8, 12, 0, 1))
        .commit(8, 12)
        // And one that is open indeed.
        .batch(data(9, 0, 0, 2));
    let dir = LogDir::new();
    dir.log("ledger-0", 0, log);
    let report = dir.scan();
    // Beside it only that nobody wrote again what was aborted.
    let told = ["transaction-open", "aborted-not-retried"].map(str::to_owned);
    assert_eq!(codes(&report), BTreeSet::from(told));
    let open = findings(&report, "transaction-open")[0];
    let transactions = open["transactions"].as_array().unwrap();
    assert_eq!((transactions.len(), &transactions[0]["producerId"]), (1, &json!(9)));
    assert_eq!((&transactions[0]["firstOffset"], &transactions[0]["lastOffset"]), (&json!(20), &json!(21)));
    let committed = &report["topics"][0]["visibility"]["readCommitted"]["records"];
    assert_eq!(committed, &json!(5 + 4 + 1));

    let answer = dir.run("producers", &[]);
    let ended: Vec<_> = answer["producers"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|producer| producer["sessions"].as_array().unwrap())
        .map(|session| {
            let text = |field: &str| session[field].as_str().unwrap_or("");
            (text("session"), text("endedBy"), text("transactionEpochs"))
        })
        .collect();
    assert_eq!(
        ended,
        [
            ("7#1", "log-end", "one-for-each"),
            ("8#1", "next-session", "one-for-all"),
            ("8#2", "log-end", "one-for-all"),
            ("9#1", "open-transaction", "")
        ]
    );
}

/// Producer id, last sequence, last offset.
type SnapshotEntry = (i64, i32, i64);

/// A producer snapshot: id, last sequence, last offset of each producer, all of epoch 0.
fn snapshot(entries: &[SnapshotEntry]) -> Vec<u8> {
    let mut covered = u32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
    for &(id, sequence, offset) in entries {
        covered.extend(id.to_be_bytes());
        covered.extend(0_i16.to_be_bytes());
        covered.extend(sequence.to_be_bytes());
        covered.extend(offset.to_be_bytes());
        covered.extend(0_i32.to_be_bytes());
        covered.extend(FIRST_TIME.to_be_bytes());
        covered.extend((-1_i32).to_be_bytes());
        covered.extend((-1_i64).to_be_bytes());
    }
    let mut bytes = vec![0, 1];
    bytes.extend(crc32c::crc32c(&covered).to_be_bytes());
    bytes.extend(covered);
    bytes
}

/// What a developer types: three texts again and again, two more than once in one go, others once.
fn typed(at: usize) -> String {
    let word = match at {
        0 | 4 | 9 | 15 | 28 => "hello",
        2 | 11 | 17 | 26 => "test",
        6 | 16 | 20 | 25 => "1",
        18 | 19 | 22 => "again",
        12..=14 => "aaa",
        _ => return format!("text {at}"),
    };
    word.to_owned()
}

/// 29 batches, 30 records, 11 producers, five leaders; 16 values, 5 of them more than once.
fn small_topic() -> (SegmentBuilder, Vec<SnapshotEntry>, Vec<SnapshotEntry>) {
    let ids =
        [0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 1000, 1000, 1001, 1001, 1001, 2000, 2000, 2000, 3000, 3000, 3000];
    let writers: Vec<i64> = ids.into_iter().chain([3000, 3000, 3000, 3000, 4001, 4001, 4002, 4003]).collect();
    let mut log = SegmentBuilder::new();
    let (mut next, mut offset, mut early) = (std::collections::BTreeMap::new(), 0_i64, Vec::new());
    let mut last: std::collections::BTreeMap<i64, (i32, i64)> = std::collections::BTreeMap::new();
    for (at, id) in writers.into_iter().enumerate() {
        let leader = [0, 2, 4, 6, 10][at / 6];
        let sequence = next.entry(id).or_insert(0);
        let value = |n: usize| typed(n);
        let mut spec = batch().producer(id, 0, *sequence).leader_epoch(leader).record((), value(at));
        let mut records = 1;
        if at == 27 {
            (spec, records) = (spec.record((), value(at + 1)), 2);
        }
        if offset == 25 {
            early = last.iter().map(|(&id, &(sequence, offset))| (id, sequence, offset)).collect();
        }
        log = log.batch(spec);
        offset += i64::from(records);
        *sequence += records;
        last.insert(id, (*sequence - 1, offset - 1));
    }
    (log, early, last.into_iter().map(|(id, (sequence, offset))| (id, sequence, offset)).collect())
}

#[test]
fn case_5_a_small_topic_of_many_producers_and_few_repeats() {
    let (log, early, late) = small_topic();
    let dir = LogDir::new();
    dir.log("typed-0", 0, log);
    let delta = |mut bytes: Vec<u8>, entries: &[SnapshotEntry]| {
        // The only batch of two records has a delta of 1.
        if let Some(at) = entries.iter().position(|&(id, ..)| id == 4002) {
            let field = 10 + 46 * at + 22;
            bytes[field..field + 4].copy_from_slice(&1_i32.to_be_bytes());
            let checksum = crc32c::crc32c(&bytes[6..]);
            bytes[2..6].copy_from_slice(&checksum.to_be_bytes());
        }
        bytes
    };
    dir.file("typed-0/00000000000000000025.snapshot", &delta(snapshot(&early), &early));
    dir.file("typed-0/00000000000000000030.snapshot", &delta(snapshot(&late), &late));
    let answer = dir.run("producers", &[]);
    assert_eq!(answer["coverage"]["batches"], 29);
    assert_eq!(answer["coverage"]["records"], 30);
    let producers = answer["producers"].as_array().unwrap();
    let ids: Vec<_> = producers.iter().map(|producer| producer["producerId"].as_i64().unwrap()).collect();
    assert_eq!(ids, [0, 1, 2, 3, 1000, 1001, 2000, 3000, 4001, 4002, 4003]);
    for producer in producers {
        let sessions = producer["sessions"].as_array().unwrap();
        assert_eq!((sessions.len(), &sessions[0]["gaps"]), (1, &json!([])));
        let states = producer["snapshots"].as_array().unwrap();
        assert!(states.iter().all(|state| state["agrees"] == true), "{producer:#}");
        assert_eq!(states.len(), if producer["producerId"].as_i64() < Some(4001) { 2 } else { 1 });
    }
    // A skipped id is no loss, and what somebody typed twice is weak evidence: one content that two sessions
    // wrote is no event that was sent twice, and none of it shouts.
    let report = dir.scan();
    for finding in report["findings"].as_array().unwrap() {
        let code = finding["code"].as_str().unwrap();
        assert_eq!(finding["confidence"], "possible", "{finding:#}");
        assert!(finding["alternatives"].to_string().contains("equal events"), "{finding:#}");
        assert!(finding["gaps"].is_null() && finding["snapshots"].is_null(), "{finding:#}");
        if finding["counts"]["surplusRecords"] == 1 && code != "resend-same-session" {
            assert_eq!(
                (code, &finding["severity"]),
                ("duplicate-undetermined", &json!("medium")),
                "{finding:#}"
            );
        }
    }
    let headline = report["verdict"]["headline"].as_str().unwrap();
    assert!(headline.contains("may be"), "{headline}");
}

#[test]
fn case_6_the_producer_that_nobody_remembers() {
    let data = |id, first: i32, count: i32, name: &str| {
        (first..first + count)
            .fold(batch().producer(id, 0, first), |spec, n| spec.record(format!("{name}-{id}-{n}"), "x"))
    };
    let log = SegmentBuilder::at(1200)
        .batch(data(5, 57, 3, "kept"))
        .batch(data(6, 30, 2, "deleted"))
        .batch(data(5, 60, 1, "kept"))
        .batch(data(6, 0, 2, "again"));
    let dir = LogDir::new();
    dir.log("slow-0", 1200, log);
    dir.file("log-start-offset-checkpoint", b"0\n1\nslow 0 1205\n");
    let report = dir.scan();
    assert_eq!(codes(&report), BTreeSet::from(["sequence-gap-explained".to_owned()]));
    let finding = findings(&report, "sequence-gap-explained")[0];
    assert_eq!(finding["severity"], "info");
    let gaps: Vec<_> = finding["gaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gap| (gap["producerId"].clone(), gap["found"].clone(), gap["missing"].clone()))
        .collect();
    assert_eq!(gaps, [(json!(5), json!(57), json!(57)), (json!(6), json!(30), json!(30))]);
    assert!(finding["facts"].to_string().contains("log start"), "{finding:#}");
    assert_eq!(report["topics"][0]["partitions"][0]["logStartOffset"], 1205);
}

/// Three batches and where the last begins and ends.
fn three() -> (Vec<u8>, usize, usize) {
    let log = (0..3).fold(SegmentBuilder::new(), |log, n| log.batch(event((7, 0, n), n)));
    let last = log.places()[2];
    (log.bytes(), last.position, last.position + last.length)
}

#[test]
fn case_9_zeros_that_are_not_damage_and_zeros_that_are() {
    let dir = LogDir::new();
    // The machine lost its power: no clean shutdown.
    fs::remove_file(dir.path().join(".kafka_cleanshutdown")).unwrap();
    let (whole, last, end) = three();
    dir.file("allocated-0/00000000000000000000.log", &[whole.clone(), vec![0; 4000]].concat());
    dir.file("power-0/00000000000000000000.log", &[&whole[..last + 40], &[0; 4000][..]].concat());
    let behind = SegmentBuilder::at(3).batch(event((7, 0, 3), 3)).batch(event((7, 0, 4), 4)).bytes();
    dir.file("hole-0/00000000000000000000.log", &[whole.clone(), vec![0; 400], behind].concat());
    let report = dir.scan();
    let damage = |name: &str| -> Vec<(String, bool, u64, u64)> {
        let all = report["coverage"]["damage"].as_array().unwrap();
        let own = all.iter().filter(|one| one["file"].as_str().unwrap().contains(name));
        own.map(|one| {
            let number = |field: &str| one[field].as_u64().unwrap();
            let kind = one["kind"].as_str().unwrap().to_owned();
            (kind, one["expected"] == true, number("position"), number("length"))
        })
        .collect()
    };
    let (end, last) = (end as u64, last as u64);
    assert_eq!(damage("allocated-0"), [("zero-tail".to_owned(), true, end, 4000)]);
    // Half a batch, and then zeros: two things.
    assert_eq!(
        damage("power-0"),
        [
            ("truncated-tail".to_owned(), true, last, end - last),
            ("zero-tail".to_owned(), true, end, last + 4040 - end)
        ]
    );
    assert_eq!(damage("hole-0"), [("bad-length".to_owned(), false, end, 400)]);
    let details = report["coverage"]["damage"].to_string();
    assert!(details.contains("the log goes on behind them; 2 batches were read behind it"), "{details}");
    assert_eq!(report["coverage"]["batches"], 3 + 2 + 5, "both batches beyond the hole are read");
    assert_eq!(report["verdict"]["complete"], false);
}

#[test]
fn case_10_snapshots_damaged_empty_and_stale() {
    let dir = LogDir::new();
    let good = snapshot(&[(7, 2, 2)]);
    let broken = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    let cases: Vec<(&str, i64, Vec<u8>)> = vec![
        ("nothing", 3, Vec::new()),
        ("healthy", 0, vec![0, 1, 0x48, 0x67, 0x4b, 0xc7, 0, 0, 0, 0]),
        ("checksum", 3, broken(20, 0xff)),
        ("version", 3, broken(1, 9)),
        ("short", 3, good[..30].to_vec()),
        ("no-batch", 3, snapshot(&[(7, -1, -1)])),
        ("beyond-end", 3, snapshot(&[(7, 9, 90)])),
        ("name-beyond-end", 70, good.clone()),
        ("right", 3, good.clone()),
    ];
    for (name, number, bytes) in &cases {
        let (whole, ..) = three();
        dir.file(&format!("{name}-0/{:020}.log", 0), &whole);
        dir.file(&format!("{name}-0/{number:020}.snapshot"), bytes);
    }
    let report = dir.scan();
    assert_eq!(codes(&report), BTreeSet::from(["snapshot-mismatch".to_owned()]));
    let told: BTreeSet<_> = findings(&report, "snapshot-mismatch")
        .iter()
        .flat_map(|finding| finding["topics"].as_array().unwrap())
        .map(|topic| topic.as_str().unwrap())
        .collect();
    let expected = ["nothing", "checksum", "version", "short", "no-batch", "beyond-end", "name-beyond-end"];
    assert_eq!(told, BTreeSet::from(expected));
    // Both values stand side by side, and the log is followed.
    let differences: Vec<_> = findings(&report, "snapshot-mismatch")
        .into_iter()
        .flat_map(|finding| finding["snapshots"].as_array().unwrap())
        .filter(|difference| difference["producerId"] == 7)
        .collect();
    assert_eq!(differences.len(), 2);
    assert!(differences.iter().all(|one| one["snapshot"].is_string() && one["log"].is_string()));
    assert!(report["producers"].as_array().unwrap().iter().all(|one| one["producerId"] == 7));
}
