//! `explain` and `schema` from the command line: words, status, and what goes to standard error.

#![expect(clippy::unwrap_used, reason = "a test that cannot run the tool has failed")]

use dedup_audit::finding::Code;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit")).args(arguments).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn all_codes_are_listed_on_eighty_columns() {
    let output = run(&["explain"]);
    assert_eq!(output.status.code(), Some(0));
    let text = words(&output.stdout);
    assert!(Code::ALL.iter().all(|code| text.contains(code.name())));
    assert!(text.contains("E1 same batch; E2 same records"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    assert!(output.stderr.is_empty());
}

#[test]
fn every_code_can_be_explained() {
    for code in Code::ALL {
        let output = run(&["explain", code.name()]);
        let text = words(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{code}");
        for part in
            ["What the files show", "What else looks like it", "Evidence in the finding", "What to do"]
        {
            assert!(text.contains(part), "{code} lacks: {part}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn an_unknown_code_is_met_with_the_nearest() {
    let output = run(&["explain", "resend-new-sesion"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert_eq!(
        words(&output.stderr),
        "dedup-audit: there is no code resend-new-sesion; did you mean resend-new-session?\n"
    );
}

#[test]
fn the_id_of_a_finding_is_told_from_a_code() {
    let output = run(&["explain", "DA-3f9c1a2b7d40e6a1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output.stderr).contains("show DA-3f9c1a2b7d40e6a1 REPORT"), "{}", words(&output.stderr));
}

#[test]
fn a_hostile_name_is_not_echoed_left_alone() {
    let output = run(&["explain", "\u{1b}[2J\u{202e}"]);
    assert_eq!(output.status.code(), Some(2));
    let text = words(&output.stderr);
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
}

#[test]
fn json_holds_one_code_or_all() {
    let all: serde_json::Value =
        serde_json::from_slice(&run(&["explain", "--format", "json"]).stdout).unwrap();
    let one: serde_json::Value =
        serde_json::from_slice(&run(&["explain", "offset-gap", "--format", "json"]).stdout).unwrap();
    assert_eq!(all["codes"].as_array().unwrap().len(), Code::ALL.len());
    assert_eq!(one["codes"].as_array().unwrap().len(), 1);
    assert_eq!(one["codes"][0]["severity"], "high");
}

#[test]
fn the_schema_is_printed_as_it_is_committed() {
    let committed = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.schema.json")).unwrap();
    assert!(run(&["schema"]).stdout == committed);
}
