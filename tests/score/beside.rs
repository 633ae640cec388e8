//! The commands beside `scan` on the same directories: replicas and mirrors compared, what was sent held
//! against what is stored.

use super::label::{Label, LabelledLedger, LabelledMirror, LabelledReplicas};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Replicas offset by offset, and mirrors by their records.
pub fn compared(label: &Label, scenario: &Path) -> Vec<String> {
    let replicas = label.compared.iter().filter_map(|want| of_replicas(want, scenario));
    let data = label.directories(scenario);
    let mirrors = label.mirrored.iter().filter_map(|want| of_mirror(want, &data));
    replicas.chain(mirrors).collect()
}

fn of_replicas(want: &LabelledReplicas, scenario: &Path) -> Option<String> {
    let partition = format!("{}-{}", want.topic, want.partition);
    let [a, b] = [&want.a, &want.b].map(|folder| scenario.join(folder).join(&partition));
    let (status, answer) = run(Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("compare")
        .args([&a, &b])
        .args(["--max-ranges", "0"]));
    let pair = &answer["pairs"][0];
    let ranges = ["onlyA", "onlyB", "different"].map(|list| pair[list].as_array().unwrap().clone()).concat();
    let told: BTreeSet<i64> = ranges
        .iter()
        .flat_map(|range| range["firstOffset"].as_i64().unwrap()..=range["lastOffset"].as_i64().unwrap())
        .collect();
    let offsets: BTreeSet<i64> = want.offsets.iter().copied().collect();
    let right = told == offsets
        && pair["equal"] == json!(offsets.is_empty())
        && status == i32::from(!offsets.is_empty());
    (!right).then(|| {
        format!(
            "compare {partition} of {} and {}: status {status}, {told:?}, label {offsets:?}",
            want.a, want.b
        )
    })
}

fn of_mirror(want: &LabelledMirror, data: &[std::path::PathBuf]) -> Option<String> {
    let pair = format!("{}={}", want.source, want.mirror);
    let (status, answer) = run(Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("compare")
        .args(data)
        .args(["--mirror", &pair]));
    let sum = |field: &str| -> u64 {
        let pairs = answer["pairs"].as_array().unwrap().iter();
        pairs.map(|pair| pair["mirror"][field].as_u64().unwrap()).sum()
    };
    let told = [sum("matched"), sum("missing"), sum("repeated"), sum("extra")];
    let labelled = [want.matched, want.missing, want.repeated, 0];
    let differs = want.missing + want.repeated > 0;
    (told != labelled || status != i32::from(differs)).then(|| {
        format!(
            "compare {pair}: status {status}, matched, missing, repeated, extra {told:?}, label {labelled:?}"
        )
    })
}

/// The ledger of what was sent, topic by topic.
pub fn reconciled(label: &Label, scenario: &Path) -> Vec<String> {
    label.reconciled.iter().filter_map(|want| of_ledger(want, label, scenario)).collect()
}

fn of_ledger(want: &LabelledLedger, label: &Label, scenario: &Path) -> Option<String> {
    let ledger = std::fs::read_to_string(scenario.join("ledger.ndjson")).unwrap();
    let mut sent = tempfile::Builder::new().suffix(".ndjson").tempfile().unwrap();
    for line in ledger.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        if entry["topic"] == json!(want.topic) {
            writeln!(sent, "{line}").unwrap();
        }
    }
    let (status, answer) = run(Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("reconcile")
        .args(label.directories(scenario))
        .args(["--topic", &want.topic, "--key", "record-key", "--expect-key", "/key", "--expect"])
        .arg(sent.path()));
    let told = LabelledLedger {
        topic: want.topic.clone(),
        stored_once: answer["storedOnce"].as_u64().unwrap(),
        stored_more: answer["storedMore"]["count"].as_u64().unwrap(),
        missing: answer["missing"]["count"].as_u64().unwrap(),
    };
    let clean = want.stored_more + want.missing == 0;
    // A key that nobody will see in a transaction is stored, and not all is well.
    let fits = if clean { [0, 1, 3].contains(&status) } else { status == 1 };
    (told != *want || !fits)
        .then(|| format!("reconcile {}: status {status}, {told:?}, label {want:?}", want.topic))
}

/// Exit status and answer.
fn run(command: &mut Command) -> (i32, Value) {
    let output = command.args(["--format", "json"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code().unwrap_or(-1), answer)
}
