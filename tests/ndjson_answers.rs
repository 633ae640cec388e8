//! `--format ndjson` of the commands beside `scan`: the lines, put together again, are the JSON answer.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn brokers(scenario: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario)
}

fn run(arguments: &[&str], format: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(arguments)
        .args(["--format", format])
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The list that an entry of this type stands in.
fn plural(kind: &str, answer: &Value) -> String {
    let candidates = [
        kind.to_owned(),
        format!("{kind}s"),
        kind.replace("copy", "copies"),
        kind.replace("identity", "identities"),
    ];
    candidates.into_iter().find(|name| answer[name].is_array()).unwrap_or_else(|| panic!("no list of {kind}"))
}

/// The JSON answer that the lines hold.
fn together(lines: &str, answer: &Value) -> Value {
    let mut whole = Map::new();
    let lists = answer.as_object().unwrap().iter().filter(|(_, value)| value.is_array());
    whole.extend(lists.map(|(name, _)| (name.clone(), json!([]))));
    let mut damage = Vec::new();
    let mut kinds = Vec::new();
    for line in lines.lines() {
        let mut entry: Map<String, Value> = serde_json::from_str(line).unwrap();
        let kind = entry.remove("type").unwrap().as_str().unwrap().to_owned();
        kinds.push(kind.clone());
        match kind.as_str() {
            "header" => {
                assert_eq!(entry.remove("evidence"), Some(json!([])));
                whole.extend(entry);
            }
            "summary" => whole.extend(entry),
            "damage" => damage.push(Value::Object(entry)),
            kind => {
                let value = if entry.len() == 1 && entry.contains_key("value") {
                    entry.remove("value").unwrap()
                } else {
                    Value::Object(entry)
                };
                whole[&plural(kind, answer)].as_array_mut().unwrap().push(value);
            }
        }
    }
    assert_eq!(kinds.first().map(String::as_str), Some("header"));
    assert_eq!(kinds.last().map(String::as_str), Some("summary"));
    whole["coverage"]["damage"] = Value::Array(damage);
    Value::Object(whole)
}

#[test]
fn the_lines_hold_the_whole_answer() {
    let (restart, offsets, damaged) = (
        brokers("crash-restart-resend/data"),
        brokers("offsets-topic/data"),
        brokers("bit-rot-payload/data"),
    );
    let (restart, offsets, damaged) =
        (restart.to_str().unwrap(), offsets.to_str().unwrap(), damaged.to_str().unwrap());
    let diverged = brokers("three-brokers-diverged");
    let [a, b] = ["data-2", "data-3"].map(|name| diverged.join(name).to_str().unwrap().to_owned());
    let ledger = brokers("acks0-missing/ledger.ndjson");
    let acks0 = brokers("acks0-missing/data");
    let key = {
        let json: Value = serde_json::from_str(&run(&["scan", restart], "json")).unwrap();
        json["findings"][0]["groups"][0]["businessKey"]["text"].as_str().unwrap().to_owned()
    };
    let calls: &[&[&str]] = &[
        &["trace", &key, restart],
        &["compare", &a, &b],
        &["offsets", offsets],
        &["keys", restart],
        &["producers", damaged],
        &["reconcile", acks0.to_str().unwrap(), "--expect", ledger.to_str().unwrap(), "--expect-key", "/key"],
    ];
    for call in calls {
        let answer: Value = serde_json::from_str(&run(call, "json")).unwrap();
        let lines = run(call, "ndjson");
        assert!(lines.lines().count() > 2, "{call:?}: {lines}");
        assert_eq!(together(&lines, &answer), answer, "{call:?}");
    }
}
