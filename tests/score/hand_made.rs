//! The score itself, held against reports that were made by hand: a right one has no differences,
//! and each way to be wrong is told.

use super::differences;
use serde_json::{Value, json};

/// Orders 1 … 3 by producer 7; a later session, producer 8, wrote order 3 again. One stretch without
/// producer id follows, and a transaction that never ended.
fn label() -> Value {
    json!({
        "scenario": "hand-made",
        "businessKey": "record-key",
        "groups": [
            {"cause": "resend-new-session", "copies": [copy(2, 7, 2), copy(3, 8, 0)]},
            {"cause": "same-key-update", "copies": [copy(0, 7, 0), copy(1, 7, 1)]},
        ],
        "consumed": {
            "readUncommitted": {"records": 5, "distinctKeys": 3, "surplus": 2},
            "readCommitted": {"records": 5, "distinctKeys": 3, "surplus": 2},
        },
        "producers": [
            {"topic": "orders", "partition": 0, "producerId": 7, "producerEpoch": 0,
             "records": 3, "firstSequence": 0, "lastSequence": 2},
            {"topic": "orders", "partition": 0, "producerId": 8, "producerEpoch": 0,
             "records": 1, "firstSequence": 0, "lastSequence": 0},
        ],
        "unprotected": {"records": 1},
        "protectionLost": [{"topic": "orders", "partition": 0, "fromOffset": 4}],
        "gaps": [{"topic": "orders", "partition": 0, "producerId": 9, "atOffset": 5,
                  "expected": 0, "found": 6, "reason": "retention"}],
        "transactions": [{"topic": "orders", "partition": 0, "producerId": 9, "firstOffset": 5, "outcome": "open"}],
        "damage": [{"file": "orders-0/00.log", "kind": "bad-crc", "position": 120}],
        "rewinds": [rewind()],
        "positions": [{"group": "billing", "topic": "orders", "partition": 0, "highest": 4},
                      {"group": "late", "topic": "orders", "partition": 0, "highest": 3},
                      {"group": "elsewhere", "topic": "orders", "partition": 1, "highest": 9}],
        "mustReport": ["snapshot-mismatch"],
        "mustNotReport": ["offset-reuse"],
        "atMost": {"resend-new-session": 1},
        "mustReportAt": [{"topic": "orders", "partition": 0, "codes": ["snapshot-mismatch", "index-mismatch"]}],
        "mustNotReportAt": [{"topic": "orders", "partition": 1, "codes": ["snapshot-mismatch"]}],
    })
}

fn rewind() -> Value {
    json!({"group": "billing", "topic": "orders", "partition": 0, "from": 3, "to": 1})
}

fn copy(offset: i64, producer_id: i64, sequence: i32) -> Value {
    json!({"topic": "orders", "partition": 0, "offset": offset, "producerId": producer_id,
           "producerEpoch": 0, "sequence": sequence, "visibility": "non-transactional"})
}

fn finding(code: &str, severity: &str, more: &Value) -> Value {
    let mut finding = json!({
        "code": code, "severity": severity, "confidence": "likely", "topics": ["orders"],
        "partitions": [{"topic": "orders", "partition": 0}],
        "counts": {"groups": 0, "surplusRecords": 0, "surplusCommitted": 0}, "groups": [],
    });
    for (name, value) in more.as_object().unwrap() {
        finding[name] = value.clone();
    }
    finding
}

fn report() -> Value {
    let numbers = json!({"records": 5, "distinctKeys": 3, "repeatedKeyRecords": 2});
    let levels = json!({"readUncommitted": numbers, "readCommitted": numbers});
    let session = |id: i64, records: u64, last: i32| {
        json!({"producerId": id, "sessions": [{"topic": "orders", "partition": 0, "epochs": [
            {"producerEpoch": 0, "records": records, "firstSequence": 0, "lastSequence": last}]}]})
    };
    json!({
        "verdict": {"findings": 6, "complete": false},
        "coverage": {"damage": [{"file": "data/orders-0/00.log", "kind": "bad-crc", "position": 100, "length": 50}]},
        "topics": [{"topic": "orders", "internal": false, "visibility": levels, "partitions": [
            {"partition": 0, "replicaOf": null, "records": 5, "protection": {"idempotentRecords": 4,
             "transactionalRecords": 0, "unprotectedRecords": 1, "legacyRecords": 0}}]}],
        "producers": [session(7, 3, 2), session(8, 1, 0)],
        "visibility": levels,
        "findings": [
            finding("resend-new-session", "high", &json!({
                "counts": {"groups": 1, "surplusRecords": 1, "surplusCommitted": 1},
                "groups": [{"copies": [copy(2, 7, 2), copy(3, 8, 0)]}],
                "consumedBy": [{"group": "billing", "all": true, "copies": 1},
                               {"group": "late", "all": false, "copies": 0}],
            })),
            finding("idempotence-lost", "high", &json!({
                "stretches": [{"topic": "orders", "partition": 0, "mode": "none", "firstOffset": 4}],
            })),
            finding("sequence-gap-explained", "info", &json!({"gaps": [{"topic": "orders", "partition": 0,
                "producerId": 9, "atOffset": 5, "expected": 0, "found": 6, "reason": "log-start-moved"}]})),
            finding("transaction-open", "medium", &json!({"transactions": [
                {"topic": "orders", "partition": 0, "producerId": 9, "firstOffset": 5}]})),
            finding("snapshot-mismatch", "medium", &json!({})),
            finding("consumer-rewind", "info", &json!({"rewinds": [rewind()]})),
        ],
    })
}

/// What is told when the value at `pointer` of the report is another one.
fn told_when(pointer: &str, value: &Value) -> String {
    let mut report = report();
    *report.pointer_mut(pointer).unwrap_or_else(|| panic!("nothing at {pointer}")) = value.clone();
    told(&label(), &report, 1)
}

/// What is told when the label is another one at `pointer`.
fn told_of_label(pointer: &str, value: &Value) -> String {
    let mut label = label();
    *label.pointer_mut(pointer).unwrap_or_else(|| panic!("nothing at {pointer}")) = value.clone();
    told(&label, &report(), 1)
}

fn told(label: &Value, report: &Value, status: i32) -> String {
    let label = serde_json::from_value(label.clone()).unwrap();
    let report = serde_json::from_value(report.clone()).unwrap();
    differences(&label, &report, status).join("\n")
}

#[track_caller]
fn assert_tells(told: &str, what: &str) {
    assert!(told.contains(what), "expected {what:?} in {told:?}");
}

#[test]
fn a_right_report_has_no_differences() {
    assert_eq!(told(&label(), &report(), 1), "");
}

#[test]
fn a_surplus_copy_that_is_not_reported_is_missed() {
    assert_tells(&told_when("/findings/0/groups", &json!([])), "1 surplus copies not reported");
}

#[test]
fn another_cause_is_told_and_is_a_false_accusation() {
    let told = told_when("/findings/0/code", &json!("concurrent-producers"));
    assert_tells(&told, "1 surplus copies under another cause");
    assert_tells(&told, "1 false accusations");
}

#[test]
fn a_cause_that_the_label_accepts_is_right() {
    let mut label = label();
    label["groups"][0]["alsoAcceptable"] = json!(["concurrent-producers", "undetermined"]);
    label["atMost"] = json!({});
    for code in ["concurrent-producers", "duplicate-undetermined"] {
        let mut report = report();
        report["findings"][0]["code"] = json!(code);
        report["findings"][0]["severity"] = json!(super::severity(code));
        assert_eq!(told(&label, &report, 1), "");
    }
}

#[test]
fn an_accused_update_is_a_false_accusation() {
    let groups =
        json!([{"copies": [copy(2, 7, 2), copy(3, 8, 0)]}, {"copies": [copy(0, 7, 0), copy(1, 7, 1)]}]);
    assert_tells(&told_when("/findings/0/groups", &groups), "1 false accusations, e.g. ((\"orders\", 0, 1)");
}

#[test]
fn the_first_copy_is_not_to_be_accused_unless_either_may_be_first() {
    let swapped = json!([{"copies": [copy(3, 8, 0), copy(2, 7, 2)]}]);
    assert_tells(&told_when("/findings/0/groups", &swapped), "false accusations");

    let mut label = label();
    label["groups"][0]["anyOrder"] = json!(true);
    let mut report = report();
    report["findings"][0]["groups"] = swapped;
    report["findings"][0]["consumedBy"][1] = json!({"group": "late", "all": true, "copies": 1});
    assert_eq!(told(&label, &report, 1), "");
}

#[test]
fn an_optional_copy_may_be_reported_or_not() {
    let mut label = label();
    label["groups"][0]["optional"] = json!(true);
    assert_eq!(told(&label, &report(), 1), "");
    let mut silent = report();
    silent["findings"].as_array_mut().unwrap().remove(0);
    assert_eq!(told(&label, &silent, 1), "");
}

#[test]
fn a_wrong_writer_is_told() {
    for (field, value) in
        [("sequence", json!(4)), ("producerEpoch", json!(1)), ("visibility", json!("aborted"))]
    {
        let told = told_when(&format!("/findings/0/groups/0/copies/1/{field}"), &value);
        assert_tells(&told, "1 copies with another writer");
    }
}

#[test]
fn certainty_about_what_no_file_can_settle_is_told() {
    let mut label = label();
    label["groups"][0]["notCertain"] = json!(true);
    assert_eq!(told(&label, &report(), 1), "");
    let mut report = report();
    report["findings"][0]["confidence"] = json!("certain");
    assert_tells(&told(&label, &report, 1), "resend-new-session is certain");
}

#[test]
fn numbers_are_those_that_a_consumer_counted() {
    let told = told_when("/topics/0/visibility/readCommitted/distinctKeys", &json!(4));
    assert_tells(&told, "readCommitted.distinctKeys 4, a consumer counted 3");
    assert_tells(&told, "its topics sum to");
}

#[test]
fn records_without_producer_id_are_counted_and_found() {
    let told = told_of_label("/unprotected/records", &json!(0));
    assert_tells(&told, "unprotected records 1, label 0");
    assert_tells(&told, "false alarm: idempotence off or lost");
    assert_tells(&told_when("/findings/1/code", &json!("x")), "neither idempotence-off nor idempotence-lost");
    assert_tells(
        &told_when("/findings/1/stretches/0/firstOffset", &json!(3)),
        "no stretch from orders-0 offset 4",
    );
    assert_tells(&told_when("/findings/1/topics", &json!(["never"])), "never protected");
}

#[test]
fn a_producer_with_other_sequences_is_told() {
    let told = told_when("/producers/0/sessions/0/epochs/0/lastSequence", &json!(3));
    assert_tells(&told, "producer 7 epoch Some(0) in orders-0");
}

#[test]
fn a_gap_is_told_when_it_is_missed_false_or_has_another_reason_or_severity() {
    assert_tells(&told_when("/findings/2/gaps", &json!([])), "gap not reported");
    assert_tells(&told_of_label("/gaps", &json!([])), "false alarm: gap");
    assert_tells(
        &told_when("/findings/2/gaps/0/reason", &json!("compaction")),
        "reason compaction, label retention",
    );
    assert_tells(
        &told_when("/findings/2/severity", &json!("high")),
        "sequence-gap-explained high with reason",
    );
    assert_tells(&told_when("/findings/2/gaps/0/found", &json!(5)), "found 5, label 0, 6");
}

#[test]
fn open_transactions_are_those_of_the_label() {
    assert_tells(&told_when("/findings/3/transactions", &json!([])), "open transactions {}");
    assert_tells(&told_of_label("/transactions/0/outcome", &json!("committed")), "label {}");
}

#[test]
fn damage_is_told_when_it_is_missed_or_false() {
    assert_tells(&told_when("/coverage/damage/0/position", &json!(130)), "damage not reported");
    assert_tells(&told_when("/coverage/damage/0/kind", &json!("bad-length")), "damage not reported");
    assert_tells(&told_of_label("/damage", &json!([])), "false alarm: damage");
    let mut tail = report();
    tail["coverage"]["damage"]
        .as_array_mut()
        .unwrap()
        .push(json!({"file": "data/orders-1/00.log", "kind": "truncated-tail", "position": 9, "length": 3}));
    assert_eq!(told(&label(), &tail, 1), "");
}

#[test]
fn findings_are_owed_allowed_or_false() {
    assert_tells(&told_when("/findings/4/code", &json!("index-mismatch")), "no finding snapshot-mismatch");
    assert_tells(&told_when("/findings/4/code", &json!("offset-reuse")), "offset-reuse must not be there");
    assert_tells(&told_when("/findings/4/code", &json!("offset-gap")), "false alarm: finding offset-gap");
    let elsewhere = json!([{"topic": "orders", "partition": 1}]);
    let told = told_when("/findings/4/partitions", &elsewhere);
    assert_tells(&told, "no finding snapshot-mismatch or index-mismatch names orders-0");
    assert_tells(&told, "snapshot-mismatch must not name orders-1");
}

#[test]
fn one_episode_is_one_finding() {
    let mut twice = report();
    let again = twice["findings"][0].clone();
    twice["findings"].as_array_mut().unwrap().push(again);
    assert_tells(&told(&label(), &twice, 1), "2 findings resend-new-session, at most 1 episodes");
}

#[test]
fn severities_and_counts_keep_the_contract() {
    assert_tells(&told_when("/findings/0/severity", &json!("medium")), "at severity medium, promised high");
    assert_tells(&told_when("/findings/0/counts/groups", &json!(2)), "do not fit 1 groups");
    assert_tells(
        &told_when("/findings/0/counts/surplusRecords", &json!(2)),
        "surplusRecords 2, groups hold 1",
    );
    assert_tells(
        &told_when("/findings/0/counts/surplusCommitted", &json!(0)),
        "surplusCommitted 0, groups hold 1",
    );
    let told = told_when("/topics/0/partitions/0/protection/legacyRecords", &json!(1));
    assert_tells(&told, "protection sums to 6 of 5 records");
}

#[test]
fn copies_behind_an_open_transaction_are_not_seen_by_read_committed() {
    let mut label = label();
    label["transactions"][0]["firstOffset"] = json!(3);
    let mut report = report();
    report["findings"][3]["transactions"][0]["firstOffset"] = json!(3);
    assert_tells(&told(&label, &report, 1), "surplusCommitted 1, groups hold 0");
}

#[test]
fn the_exit_status_follows_from_findings_and_damage() {
    assert_tells(&told(&label(), &report(), 0), "exit status 0, the findings ask for 1");
    assert_tells(&told_when("/verdict/findings", &json!(0)), "verdict says 0 findings");
    let quiet = |complete: bool| {
        let mut report = report();
        report["findings"] = json!([]);
        report["verdict"] = json!({"findings": 0, "complete": complete});
        report
    };
    assert_tells(&told(&label(), &quiet(false), 0), "exit status 0, the findings ask for 3");
    assert_tells(&told(&label(), &quiet(true), 3), "exit status 3, the findings ask for 0");
}

#[test]
fn steps_back_of_groups_and_what_they_have_behind_them_are_told() {
    assert_tells(&told_when("/findings/5/rewinds", &json!([])), "consumer-rewind {}");
    assert_tells(&told_when("/findings/5/rewinds/0/to", &json!(2)), "consumer-rewind");
    let behind = "/findings/0/consumedBy";
    assert_tells(&told_when(behind, &json!([])), "resend-new-session: consumed by {}");
    assert_tells(&told_when(&format!("{behind}/0/all"), &json!(false)), "consumed by");
    assert_tells(&told_when(&format!("{behind}/1/copies"), &json!(1)), "consumed by");
}

#[test]
fn a_producer_that_wrote_nothing_is_told() {
    let told = told_when("/producers/1/producerId", &json!(99));
    assert_tells(&told, "a producer that wrote nothing");
}

#[test]
fn groups_hold_one_event_with_its_key_and_repeat_each_other() {
    let mut label = label();
    label["groups"][0]["businessKey"] = json!("order-3");
    label["groups"][1]["businessKey"] = json!("order-1");
    let told_of = |change: &dyn Fn(&mut Value)| {
        let mut report = report();
        change(&mut report["findings"][0]["groups"][0]);
        told(&label, &report, 1)
    };
    assert_eq!(told_of(&|group| group["businessKey"] = json!({"text": "order-3"})), "");
    assert_tells(
        &told_of(&|group| group["businessKey"] = json!({"text": "nobody"})),
        "1 groups with another key",
    );
    assert_tells(
        &told_of(&|group| group["copies"][0] = copy(0, 7, 0)),
        "1 groups of records that are not one event",
    );
    let repeats = |offset: i64| json!({"topic": "orders", "partition": 0, "offset": offset});
    assert_eq!(told_of(&|group| group["copies"][1]["repeats"] = repeats(2)), "");
    for offset in [0, 3] {
        let told = told_of(&|group| group["copies"][1]["repeats"] = repeats(offset));
        assert_tells(&told, "1 copies that repeat what is not in their group");
    }
}

#[test]
fn one_restart_in_two_findings_and_findings_about_nothing_are_told() {
    let mut split = report();
    let again = split["findings"][0].clone();
    split["findings"].as_array_mut().unwrap().push(again);
    let mut label = label();
    label["atMost"] = json!({});
    assert_tells(&told(&label, &split, 1), "2 findings resend-new-session of 1 pairs of writers");
    for code in ["offset-reuse", "index-mismatch", "idempotence-ineffective", "producer-churn"] {
        let mut report = report();
        let severity = super::severity(code).unwrap();
        report["findings"].as_array_mut().unwrap().push(finding(code, severity, &json!({})));
        label["mustNotReport"] = json!([]);
        assert_tells(&told(&label, &report, 1), &format!("false alarm: finding {code}"));
    }
}
