//! The options that choose what is audited and what is told of: a choice changes how much is said,
//! never what it is called.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn data(scenario: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario).join("data")
}

fn run(scenario: &str, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("scan")
        .arg(data(scenario))
        .args(options)
        .output()
        .unwrap()
}

#[track_caller]
fn report(scenario: &str, options: &[&str]) -> Value {
    let output = run(scenario, &[&["--format", "json", "--max-groups", "0"], options].concat());
    assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn refusal(scenario: &str, options: &[&str]) -> String {
    let output = run(scenario, options);
    assert_eq!(output.status.code(), Some(2), "{options:?}");
    assert!(output.stdout.is_empty(), "{options:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The surplus copies of all findings: offset, partition and time.
fn surplus(report: &Value) -> Vec<(i64, i64, i64)> {
    let list = |value: &Value| value.as_array().unwrap().clone();
    let groups = list(&report["findings"]).into_iter().flat_map(|finding| list(&finding["groups"]));
    let copies = groups.flat_map(|group| list(&group["copies"]).into_iter().skip(1));
    let mut found: Vec<_> = copies
        .map(|copy| {
            let number = |name: &str| copy[name].as_i64().unwrap();
            (number("partition"), number("offset"), number("timestamp"))
        })
        .collect();
    found.sort_unstable();
    found
}

const RESEND: &str = "crash-restart-resend";

#[test]
fn times_choose_surplus_copies_and_leave_their_originals() {
    let all = report(RESEND, &[]);
    let times: Vec<i64> = surplus(&all).iter().map(|copy| copy.2).collect();
    assert_eq!(times.len(), 20);
    let mut sorted = times.clone();
    sorted.sort_unstable();
    let middle = sorted[10];
    for (option, expected) in [
        ("--since", surplus(&all).into_iter().filter(|copy| copy.2 >= middle).collect::<Vec<_>>()),
        ("--until", surplus(&all).into_iter().filter(|copy| copy.2 <= middle).collect()),
    ] {
        let some = report(RESEND, &[option, &middle.to_string()]);
        assert!(!expected.is_empty() && expected.len() < 20);
        assert_eq!(surplus(&some), expected, "{option}");
        // Each still stands beside the original that it repeats, and is called what it was.
        assert_eq!(some["findings"][0]["code"], all["findings"][0]["code"]);
        assert_eq!(some["findings"][0]["confidence"], all["findings"][0]["confidence"]);
        assert_eq!(some["findings"][0]["counts"]["surplusRecords"], expected.len());
        assert!(some["findings"][0]["groups"][0]["copies"][0]["repeats"].is_null());
        // What consumers get and what counts as an update is not a matter of choice.
        assert_eq!(some["topics"][0]["visibility"], all["topics"][0]["visibility"]);
        assert_eq!(some["topics"][0]["updates"], all["topics"][0]["updates"]);
        assert!(some["coverage"]["notes"].to_string().contains("do not choose"), "{option}");
    }
}

#[test]
fn offsets_and_producers_choose_as_well() {
    let all = surplus(&report(RESEND, &[]));
    let some = surplus(&report(RESEND, &["--offsets", "33..35"]));
    let expected: Vec<_> = all.iter().copied().filter(|copy| (33..=35).contains(&copy.1)).collect();
    assert!(!expected.is_empty());
    assert_eq!(some, expected);
    assert_eq!(surplus(&report(RESEND, &["--pid", "1"])), all);
    let nobody = report(RESEND, &["--pid", "7"]);
    assert_eq!(surplus(&nobody), []);
    let headline = nobody["verdict"]["headline"].as_str().unwrap();
    let none = format!("none of {} surplus copies is in the times, offsets and producers", all.len());
    assert!(headline.contains(&none), "{headline}");
    assert_eq!(nobody["coverage"]["surplusNotChosen"], all.len());
    // Beside findings of another kind that is said as well, and what is left out where some are told.
    let whole = report("retry-idempotence-off", &[]);
    let hidden = report("retry-idempotence-off", &["--pid", "7"]);
    let headline = hidden["verdict"]["headline"].as_str().unwrap();
    assert!(headline.contains("; none of 6 surplus copies is in"), "{headline}");
    assert!(!whole["verdict"]["headline"].as_str().unwrap().contains("chosen"));
    let some = report(RESEND, &["--offsets", "33..35"]);
    let headline = some["verdict"]["headline"].as_str().unwrap();
    let left_out = format!("; {} more surplus copies are not in what was chosen", all.len() - expected.len());
    assert!(headline.ends_with(&left_out), "{headline}");
}

#[test]
fn a_day_is_meant_in_the_zone_that_is_named() {
    let all = surplus(&report(RESEND, &[])).len();
    // The copies were written on 2026-11-29 at 16:01 UTC, which is the next day in Auckland.
    for (zone, day, expected) in [
        ("UTC", "2026-11-29", all),
        ("Pacific/Auckland", "2026-11-29", 0),
        ("Pacific/Auckland", "2026-11-30", all),
        ("+14:00", "2026-11-30", all),
    ] {
        let some = report(RESEND, &["--tz", zone, "--since", day, "--until", day]);
        assert_eq!(surplus(&some).len(), expected, "{zone} {day}");
    }
    let ago = report(RESEND, &["--as-of", "2026-11-29 17:00", "--since", "1h ago"]);
    assert_eq!(surplus(&ago).len(), all);
}

#[test]
fn an_audit_of_batch_headers_says_first_that_copies_were_not_looked_for() {
    let report = report("retry-idempotence-off", &["--headers-only"]);
    let headline = report["verdict"]["headline"].as_str().unwrap();
    assert!(headline.ends_with("; copies were not looked for, only batch headers were read"), "{headline}");
}

/// A broker whose files lie elsewhere, and one segment of several: neither is all that there is.
#[test]
fn what_was_named_and_holds_nothing_or_a_part_is_said_first() {
    let home = tempfile::tempdir().unwrap();
    let empty = home.path().join("broker-2");
    std::fs::create_dir(&empty).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1");
    let scan = |paths: &[&Path], more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
        let output = command.arg("scan").args(paths).args(more).output().unwrap();
        String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let resend = data.join(RESEND).join("data");
    let told = scan(&[&resend, &empty], &[]);
    let first = told.split("HIGH").next().unwrap();
    assert!(first.contains("; no partition lies below ") && first.contains("broker-2."), "{told}");
    let hidden = scan(&[&resend, &empty], &["--redact", "all"]);
    assert!(hidden.contains("; no partition lies below ") && !hidden.contains("broker-2"), "{hidden}");
    assert!(!scan(&[&resend], &[]).contains("no partition lies"));
    let log = data.join("crash-truncated-tail/data/orders-0");
    let mut segments: Vec<_> = std::fs::read_dir(&log)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "log"))
        .collect();
    segments.sort();
    let told = scan(&[&segments[0]], &[]);
    let part = format!("1 partition, 1 of {} segments, ", segments.len());
    assert!(told.contains(&part) && told.contains("all that was named was read"), "{told}");
}

#[test]
fn topics_and_partitions_choose_what_is_read() {
    let all = report("mixed-incident", &[]);
    let one = report("mixed-incident", &["--topic", "ord*", "--partition", "2"]);
    assert_eq!(one["coverage"]["partitions"], 1);
    assert_eq!(one["topics"][0]["topic"], "orders");
    assert_eq!(one["topics"][0]["partitions"][0]["partition"], 2);
    assert!(one["coverage"]["notes"].to_string().contains("not chosen"));
    let by_name = report("mixed-incident", &["--partition", "orders-2"]);
    assert_eq!(one["topics"], by_name["topics"]);
    assert_ne!(all["coverage"]["partitions"], 1);
}

#[test]
fn replicas_that_are_left_out_leave_the_others_as_they_were() {
    let data = data("three-brokers-rejoined").parent().unwrap().to_owned();
    let paths: Vec<PathBuf> = (1..=3).map(|broker| data.join(format!("data-{broker}"))).collect();
    let scan = |options: &[&str]| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
        let output =
            command.arg("scan").args(&paths).args(["--format", "json"]).args(options).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (all, chosen) = (scan(&[]), scan(&["--topic", "[!_]*"]));
    let ordinary = |report: &Value| -> Vec<Value> {
        let topics = report["topics"].as_array().unwrap().clone();
        topics.into_iter().filter(|topic| topic["internal"] == false).collect()
    };
    assert!(!ordinary(&all).is_empty());
    assert_eq!(ordinary(&all), ordinary(&chosen));
    assert_eq!(all["findings"], chosen["findings"]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_could_be() {
    for (options, hint) in [
        (["--threads", "0"].as_slice(), "leave the option out"),
        (&["--threads", "many"], "expected a number"),
        (&["--threads", "99999999999999999999"], "expected a number"),
        (&["--since", "yesterday"], "2h ago"),
        (&["--since", "2h ago"], "name --as-of"),
        (&["--since", "2026-11-30", "--until", "2026-11-29"], "later than --until"),
        (&["--offsets", "7"], "40..59"),
        (&["--expiration", "a fortnight"], "14d"),
        (&["--tz", "Berlin"], "Europe/Berlin"),
        (&["--topic", "payments"], "the topics are orders"),
        (&["--topic", "[a"], "known are *, ? and [a-z]"),
        (&["--partition", "5..0"], "5 is larger than 0"),
        (&["--max-memory", "1k"], "needs 32 MiB"),
    ] {
        let said = refusal(RESEND, options);
        assert!(said.contains(hint), "{options:?}: {said}");
    }
}

#[test]
fn a_status_of_zero_can_be_asked_for() {
    assert_eq!(run(RESEND, &[]).status.code(), Some(1));
    assert_eq!(run(RESEND, &["--exit-zero"]).status.code(), Some(0));
    assert_eq!(run(RESEND, &["--exit-zero", "--threads", "0"]).status.code(), Some(2));
}
