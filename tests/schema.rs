//! The schema of the report: the committed file, open enumerations, and reports that follow it.

mod support;

use dedup_audit::report::Report;
use dedup_audit::report::model::Invocation;
use serde_json::{Value, json};
use support::assert_follows_the_schema;

fn empty_report() -> Value {
    serde_json::to_value(Report::new(Invocation::default())).expect("a report is JSON")
}

#[test]
fn the_committed_schema_is_the_one_that_is_printed() {
    let committed = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.schema.json"))
        .expect("docs/report.schema.json is there");
    assert_eq!(
        committed,
        dedup_audit::report::schema::text(),
        "write it again: dedup-audit schema > docs/report.schema.json"
    );
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
        "firstOffset": null, "lastOffset": null,
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
