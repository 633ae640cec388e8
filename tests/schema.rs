//! The schemas of the report and of other answers: the committed files, open enumerations, and answers that
//! follow them.

mod support;

use dedup_audit::report::Report;
use dedup_audit::report::model::Invocation;
use dedup_audit::report::schema::{ANSWERS, text_of};
use serde_json::{Value, json};
use support::assert_follows_the_schema;

fn empty_report() -> Value {
    serde_json::to_value(Report::new(Invocation::default())).expect("a report is JSON")
}

#[test]
fn the_committed_schema_is_the_one_that_is_printed() {
    let committed = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.schema.json"))
        .expect("docs/report.schema.json is there");
    let printed = text_of("scan").expect("scan has an answer");
    assert!(committed == printed, "write it again: dedup-audit schema > docs/report.schema.json");
}

fn run(arguments: &[&str]) -> std::process::Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/brokers/4.3.1"))
        .output()
        .expect("the tool runs")
}

fn assert_answers(command: &str, answer: &Value) {
    let (_, schema) = ANSWERS.iter().find(|(name, _)| *name == command).expect("the command has an answer");
    let validator = jsonschema::validator_for(&schema().to_value()).expect("the schema is one");
    let errors: Vec<_> =
        validator.iter_errors(answer).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{command} does not follow its schema:\n{}", errors.join("\n"));
}

#[test]
fn answers_about_real_logs_follow_the_schemas_of_their_commands() {
    let home = tempfile::tempdir().expect("there is room");
    let path = |name: &str| home.path().join(name).display().to_string();
    let (old, new, list) = (path("old.json"), path("new.json"), path("sent.csv"));
    run(&["scan", "silent-disable-acks1/data", "-o", &old]);
    run(&["scan", "silent-disable-acks1-retry/data", "-o", &new]);
    std::fs::write(&list, "id\norder-0001\norder-0012\norder-9999\n").expect("the file can be written");
    let calls: [(&str, &[&str]); 13] = [
        ("scan", &["mixed-incident/data"]),
        ("trace", &["order-0042", "crash-restart-resend/data", "--show-values"]),
        ("trace", &["gone", "crash-restart-resend/data"]),
        ("producers", &["snapshot-damage/data"]),
        ("producers", &["txn-hanging/data"]),
        ("offsets", &["offsets-topic/data"]),
        ("keys", &["header-id/data"]),
        ("compare", &["three-brokers-diverged/data-2", "three-brokers-diverged/data-3"]),
        ("reconcile", &["retry-idempotence-off/data", "--expect", &list, "--expect-key", "id"]),
        ("show", &["DA-", &old]),
        ("diff", &[&old, &new]),
        ("trace", &["order-0042", "crash-restart-resend/data", "--redact", "all"]),
        ("offsets", &["offsets-topic/data", "--redact", "all"]),
    ];
    for (command, arguments) in calls {
        let printed = run(&[&[command], arguments, &["--format", "json"]].concat());
        let answer = serde_json::from_slice(&printed.stdout).unwrap_or_else(|error| {
            panic!("{command} {arguments:?}: {error}: {}", String::from_utf8_lossy(&printed.stderr))
        });
        assert_answers(command, &answer);
    }
}

#[test]
#[should_panic(expected = "copies")]
fn an_answer_without_its_own_part_does_not_follow_its_schema() {
    let printed = run(&["trace", "order-0042", "crash-restart-resend/data", "--format", "json"]);
    let mut answer: Value = serde_json::from_slice(&printed.stdout).expect("it is JSON");
    answer.as_object_mut().expect("it is an object").remove("copies");
    assert_answers("trace", &answer);
}

#[test]
fn an_empty_report_follows_the_schema() {
    assert_follows_the_schema(&empty_report());
}

#[test]
#[should_panic(expected = "headline")]
fn a_report_without_headline_does_not_follow_the_schema() {
    let mut report = empty_report();
    report["verdict"].as_object_mut().unwrap().remove("headline");
    assert_follows_the_schema(&report);
}

#[test]
#[should_panic(expected = "/producersOmitted")]
fn a_number_below_zero_is_no_count() {
    let mut report = empty_report();
    report["producersOmitted"] = json!(-1);
    assert_follows_the_schema(&report);
}

#[test]
fn codes_kinds_and_fields_of_a_later_version_follow_the_schema() {
    let mut report = empty_report();
    report["somethingNew"] = json!({"a": 1});
    report["coverage"]["damage"] = json!([{
        "file": "a", "position": 0, "length": 1, "expected": false, "kind": "bad-luck", "detail": "",
        "firstOffset": null, "lastOffset": null, "recordsMissing": true,
    }]);
    report["findings"] = json!([{
        "id": "DA-1", "code": "a-new-code", "severity": "dire", "confidence": "hoped", "title": "", "topics": [],
        "partitions": [], "counts": {"groups": 0, "surplusRecords": 0, "surplusCommitted": 0}, "window": null,
        "level": "E9", "cause": null, "facts": [], "alternatives": [], "wouldSettle": [], "advice": [],
        "groups": [], "groupsOmitted": 0,
        "gaps": [{"topic": "t", "partition": 0, "producerId": 1, "producerEpoch": 0, "expected": 1, "found": 2,
                  "atOffset": 1, "missing": 1, "reason": "a-new-reason"}],
    }]);
    assert_follows_the_schema(&report);
}
