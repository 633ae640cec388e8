//! Holds the JSON report of `dedup-audit scan` against the labels of `testdata/brokers`.
//!
//! Each scenario is scanned with the business key of its label. It passes when no surplus copy is
//! missed, none has a wrong cause, nobody is accused falsely, the numbers are those that a real
//! consumer counted, and the report keeps its own contract. `cargo test --test score -- --nocapture`
//! prints what is wrong where.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

mod beside;
mod consumers;
mod contract;
mod copies;
mod evidence;
mod findings;
mod hand_made;
mod label;
mod numbers;
mod report;
#[path = "../support/mod.rs"]
mod support;

use label::Label;
use report::Report;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Scenarios that pass, and must go on to do so. One that passes and is missing here fails the
/// test as well, so that nothing is won unnoticed and lost again.
const PASSING: &[&str] = &[
    "acks0-missing",
    "bit-rot-length",
    "bit-rot-payload",
    "bit-rot-twin",
    "clean-large-ish",
    "client-confluent-kafka",
    "client-franz-go",
    "client-kafkajs",
    "compacted",
    "consumer-rewind",
    "crash-live-copy",
    "crash-preallocated-zero-tail",
    "crash-restart-resend",
    "crash-truncated-tail",
    "epoch-bump-rewrite",
    "expired-producer",
    "expired-retry",
    "failover-resend",
    "fan-out-restart",
    "header-id",
    "keyed-multi-partition",
    "mirrormaker2-kill-restart",
    "misplaced-batch",
    "missing-segment",
    "mixed-incident",
    "multi-logdir",
    "null-key-event-times",
    "null-keys-json",
    "offsets-topic",
    "pid-collision",
    "plain-retry",
    "relay-runs-three-times",
    "resend-same-session",
    "retention-head",
    "retry-idempotence-off",
    "retry-idempotence-on",
    "retry-logappendtime",
    "right-content-wrong-order",
    "sequence-stored-twice",
    "sequence-wrap",
    "silent-disable-acks1",
    "silent-disable-acks1-retry",
    "snapshot-damage",
    "states-restart",
    "swap-leftovers",
    "three-brokers-diverged",
    "three-brokers-rejoined",
    "topic-recreated",
    "two-producers-same-key",
    "txn-aborted-by-hand",
    "txn-commit-abort-tv2",
    "txn-hanging",
    "txn-lost-marker",
    "unclean-election",
];

/// The label, and perhaps a code, for an innocent repeat of a key.
const SAME_KEY_UPDATE: &str = "same-key-update";

/// Severities as they are promised to readers. The codes with `true` accuse single copies. Severity
/// of a gap depends on its reason and is checked with the gaps.
const CODES: &[(&str, &str, bool)] = &[
    ("retry-without-idempotence", "high", true),
    ("resend-new-session", "high", true),
    ("concurrent-producers", "high", true),
    ("epoch-bump-resend", "high", true),
    ("broker-dedup-lost", "high", true),
    ("producer-id-collision", "high", true),
    ("misplaced-batch", "high", true),
    ("resend-same-session", "medium", true),
    ("pipeline-replay", "medium", true),
    ("restored-copy", "medium", true),
    ("duplicate-undetermined", "medium", true),
    ("aborted-then-retried", "info", true),
    (SAME_KEY_UPDATE, "info", true),
    ("idempotence-lost", "high", false),
    ("sequence-gap", "high", false),
    ("sequence-anomaly", "high", false),
    ("offset-gap", "high", false),
    ("offset-reuse", "high", false),
    ("transaction-anomaly", "high", false),
    ("replica-divergence", "high", false),
    ("leader-epoch-anomaly", "high", false),
    ("idempotence-off", "medium", false),
    ("idempotence-ineffective", "medium", false),
    ("index-mismatch", "medium", false),
    ("snapshot-mismatch", "medium", false),
    ("transaction-open", "medium", false),
    ("misrouted-key", "low", false),
    ("order-broken", "low", false),
    ("producer-churn", "low", false),
    ("consumer-rewind", "info", false),
    ("interleaved-writers", "info", false),
    ("old-leader-tail", "info", false),
    ("aborted-not-retried", "info", false),
];

fn severity(code: &str) -> Option<&'static str> {
    CODES.iter().find(|(name, _, _)| *name == code).map(|(_, severity, _)| *severity)
}

fn knows_code(code: &str) -> bool {
    severity(code).is_some()
}

fn is_duplicate_code(code: &str) -> bool {
    CODES.iter().any(|(name, _, accuses)| *name == code && *accuses)
}

/// Adds one line for a list of things that are wrong, with the first as example.
fn tell<T: Debug>(bad: &mut Vec<String>, what: &str, wrong: &[T]) {
    if let Some(example) = wrong.first() {
        bad.push(format!("{} {what}, e.g. {example:?}", wrong.len()));
    }
}

/// All that is wrong with a report and its exit status.
fn differences(label: &Label, report: &Report, status: i32) -> Vec<String> {
    [
        copies::accusations(label, report),
        copies::writers(label, report),
        copies::confidence(label, report),
        copies::groups(label, report),
        numbers::visibility(label, report),
        numbers::protection(label, report),
        numbers::producers(label, report),
        evidence::gaps(label, report),
        evidence::open_transactions(label, report),
        evidence::damage(label, report),
        findings::owed_and_false(label, report),
        findings::episodes(label, report),
        consumers::rewinds(label, report),
        consumers::behind(label, report),
        contract::severities(report),
        contract::counts(label, report),
        contract::sums(report),
        contract::exit_status(report, status),
    ]
    .concat()
}

/// What is wrong, and how many surplus copies are told under another code than the label's own, which it accepts.
struct Score {
    bad: Vec<String>,
    under_other_codes: usize,
}

impl Score {
    const fn of_none(bad: Vec<String>) -> Self {
        Self { bad, under_other_codes: 0 }
    }
}

/// Scans a scenario and tells what is wrong.
fn score(scenario: &Path) -> Score {
    let label = Label::read(scenario);
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("scan")
        .args(label.directories(scenario))
        .args(["--format", "json", "--max-groups", "0", "--key", &label.business_key])
        .args(&label.scan_args)
        .output()
        .unwrap();
    let Some(status @ (0 | 1 | 3)) = output.status.code() else {
        let said = String::from_utf8_lossy(&output.stderr);
        return Score::of_none(vec![format!("{}: {}", output.status, said.trim())]);
    };
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    support::assert_follows_the_schema(&value);
    match serde_json::from_slice(&output.stdout) {
        Ok(report) => {
            let beside = [beside::compared(&label, scenario), beside::reconciled(&label, scenario)].concat();
            Score {
                bad: [differences(&label, &report, status), beside].concat(),
                under_other_codes: copies::under_other_codes(&label, &report),
            }
        }
        Err(error) => Score::of_none(vec![format!("the report does not follow the contract: {error}")]),
    }
}

/// Every directory below `testdata/brokers` that has a label.
fn scenarios() -> Vec<PathBuf> {
    let brokers = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers");
    let mut found: Vec<PathBuf> = std::fs::read_dir(brokers)
        .unwrap()
        .flat_map(|release| std::fs::read_dir(release.unwrap().path()).unwrap())
        .map(|scenario| scenario.unwrap().path())
        .filter(|scenario| scenario.join("truth.json").is_file())
        .collect();
    found.sort();
    found
}

#[test]
fn scenarios_are_judged_as_their_labels_say() {
    let mut passed = BTreeSet::new();
    let mut lost = Vec::new();
    for scenario in scenarios() {
        let name = scenario.file_name().unwrap().to_str().unwrap().to_owned();
        let bad = score(&scenario).bad;
        for line in &bad {
            println!("{name}: {line}");
        }
        if bad.is_empty() {
            passed.insert(name);
        } else if PASSING.contains(&name.as_str()) {
            lost.push(format!("{name}:\n  {}", bad.join("\n  ")));
        }
    }
    println!("{} scenarios pass", passed.len());
    assert!(lost.is_empty(), "no longer as the label says:\n{}", lost.join("\n"));
    let listed: BTreeSet<String> = PASSING.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(passed, listed, "a scenario that passes and is not in PASSING: add it");
}

/// `testdata/lab/lab` calls this for what it made, and reads one line a folder.
#[test]
#[ignore = "needs directories that the laboratory made"]
fn directories_of_the_laboratory() {
    let made = std::env::var_os("DEDUP_AUDIT_LABELLED").expect("DEDUP_AUDIT_LABELLED names the directory");
    let names =
        std::env::var("DEDUP_AUDIT_LABELLED_NAMES").expect("DEDUP_AUDIT_LABELLED_NAMES names the folders");
    let mut wrong = 0;
    for name in names.split(',') {
        let scenario = Path::new(&made).join(name);
        let score = std::panic::catch_unwind(|| score(&scenario))
            .unwrap_or_else(|_| Score::of_none(vec!["the report does not follow its schema".to_owned()]));
        wrong += usize::from(!score.bad.is_empty());
        let told = score.bad.join("; ").replace('\n', " ");
        println!("verdict\t{name}\t{}\t{told}", score.under_other_codes);
    }
    assert_eq!(wrong, 0, "folders that are not judged as their labels say");
}

#[test]
fn every_label_can_be_read_and_names_its_own_directory() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 42, "labels are missing: {}", scenarios.len());
    for scenario in scenarios {
        let label = Label::read(&scenario);
        assert_eq!(Some(label.scenario.as_ref()), scenario.file_name());
        assert!(!label.directories(&scenario).is_empty());
    }
}
