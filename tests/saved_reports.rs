//! Saved reports: every form from one run, the same form later, one finding, two runs compared, and
//! reports of a later version.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

const RESEND: &str = "testdata/brokers/4.3.1/crash-restart-resend";
const INCIDENT: &str = "testdata/brokers/4.3.1/mixed-incident";

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty());
    text(&output.stderr)
}

/// A directory with the report of a scan in it, and the path of the report.
fn scanned(evidence: &str) -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("report.json").display().to_string();
    assert_eq!(run(&["scan", evidence, "-o", &path, "--max-groups", "0"]).status.code(), Some(1));
    (home, path)
}

fn report(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn changed(home: &Path, name: &str, report: &Value) -> String {
    let path = home.join(name);
    std::fs::write(&path, serde_json::to_string(report).unwrap()).unwrap();
    path.display().to_string()
}

#[test]
fn one_run_writes_every_form_and_render_writes_the_same_later() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).display().to_string();
    let names = ["a.json", "a.ndjson", "a.md", "a.html", "a.csv", "a.txt"];
    let mut arguments = vec!["scan".to_owned(), RESEND.to_owned(), "--format".to_owned(), "table".to_owned()];
    for name in names {
        arguments.extend(["-o".to_owned(), at(name)]);
    }
    let printed = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(printed.status.code(), Some(1), "{}", text(&printed.stderr));
    assert!(printed.stdout == std::fs::read(at("a.txt")).unwrap(), "the table is not the same in a file");
    for source in ["a.json", "a.ndjson"] {
        for name in names {
            let (form, again) = (name.split('.').next_back().unwrap(), at("again"));
            let target = format!("{form}:{again}");
            let rendered = run(&["render", &at(source), "-o", &target, "--force"]);
            assert!(rendered.status.success() && rendered.stdout.is_empty(), "{}", text(&rendered.stderr));
            let same = std::fs::read(at(name)).unwrap() == std::fs::read(&again).unwrap();
            assert!(same, "{form} of {source} is another than that of the scan");
        }
    }
}

#[test]
fn no_file_is_overwritten_and_none_written_into_the_evidence() {
    let home = tempfile::tempdir().unwrap();
    let there = home.path().join("there.md");
    std::fs::write(&there, "mine").unwrap();
    let name = there.display().to_string();
    assert!(refused(&["scan", RESEND, "-o", "new.html", "-o", &name]).contains("--force replaces it"));
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    assert!(!Path::new(env!("CARGO_MANIFEST_DIR")).join("new.html").exists());
    let inside = format!("html:{RESEND}/data/report");
    assert!(refused(&["scan", RESEND, "-o", &inside]).contains("being audited"));
    assert!(refused(&["scan", RESEND, "-o", "json:-", "-o", "md:/dev/stdout"]).contains("named twice"));
}

#[test]
fn standard_output_has_names() {
    for name in ["-", "/dev/stdout"] {
        let output = run(&["scan", RESEND, "-o", &format!("csv:{name}")]);
        assert!(text(&output.stdout).starts_with("topic,partition,offset,"), "{name}");
        assert_eq!(text(&output.stdout).lines().count(), 21);
    }
}

#[test]
fn show_has_all_of_one_finding_by_the_beginning_of_its_id() {
    let (_home, path) = scanned(RESEND);
    let id = report(&path)["findings"][0]["id"].as_str().unwrap().to_owned();
    let shown = text(&run(&["show", &id.to_lowercase()[3..9], &path]).stdout);
    assert!(shown.contains("≠ offset          20"), "{shown}");
    assert_eq!(shown.matches("\norder-").count(), 20, "not all keys are shown");
    let value: Value =
        serde_json::from_slice(&run(&["show", &id, &path, "--format", "json"]).stdout).unwrap();
    assert_eq!(value["finding"], report(&path)["findings"][0]);
    assert!(refused(&["show", "DA-nothing", &path]).contains(&id));
    let (_home, path) = scanned(INCIDENT);
    assert!(refused(&["show", "DA-", &path]).contains("several ids begin with DA-"));
    // A code does where there is one finding of it; the two arguments are told apart.
    let by_code = text(&run(&["show", "retry-without-idempotence", &path]).stdout);
    assert!(by_code.contains("retry-without-idempotence"), "{by_code}");
    let mut twice = report(&path);
    let again = twice["findings"][0].clone();
    let code = again["code"].as_str().unwrap().to_owned();
    twice["findings"].as_array_mut().unwrap().push(again);
    let twice = changed(std::path::Path::new(&path).parent().unwrap(), "twice.json", &twice);
    assert!(
        refused(&["show", &code, &twice]).contains(&format!("2 findings are {code}; name one by its id"))
    );
    assert!(refused(&["show", &path, "DA-1234"]).contains("the id comes first"));
}

#[test]
fn diff_tells_new_grown_and_gone() {
    let (home, path) = scanned(INCIDENT);
    let now = report(&path);
    assert_eq!(run(&["diff", &path, &path]).status.code(), Some(0));
    let mut before = now.clone();
    let findings = before["findings"].as_array_mut().unwrap();
    findings[0]["counts"]["surplusRecords"] = json!(1);
    findings[1]["id"] = json!("DA-before-retention");
    findings[2]["severity"] = json!("info");
    findings[3]["code"] = json!("a-code-of-tomorrow");
    findings[3]["id"] = json!("DA-other");
    let before = changed(home.path(), "before.json", &before);
    let output = run(&["diff", &before, &path, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let difference: Value = serde_json::from_slice(&output.stdout).unwrap();
    let codes = |list: &str| -> Vec<String> {
        let list = difference[list].as_array().unwrap();
        list.iter().map(|one| one["finding"]["code"].as_str().unwrap().to_owned()).collect()
    };
    let code = |at: usize| now["findings"][at]["code"].as_str().unwrap().to_owned();
    assert_eq!(codes("grown"), [code(0), code(2)]);
    assert_eq!(codes("new"), [code(3)]);
    assert_eq!(codes("gone"), ["a-code-of-tomorrow"]);
    assert_eq!(codes("unchanged"), [code(1), code(4), code(5)]);
    assert_eq!(difference["unchanged"][0]["matchedBy"], "evidence");
    assert_eq!(difference["unchanged"][0]["idBefore"], "DA-before-retention");
    assert_eq!(run(&["diff", &path, &before]).status.code(), Some(1));
    let table = text(&run(&["diff", &before, &path]).stdout);
    assert!(table.contains("surplus records 1 → 94"), "{table}");
    // The copies share contents here, as the scan says.
    assert!(table.contains("contents · 94"), "{table}");
}

#[test]
fn one_finding_and_a_difference_go_into_a_ticket() {
    let (home, path) = scanned(RESEND);
    let one = run(&["show", "resend-new-session", &path, "--format", "md"]);
    let one = text(&one.stdout);
    assert!(one.starts_with("### high `resend-new-session` (likely)\n"), "{one}");
    for said in
        ["- Not excluded: ", "| `order-0042` | `orders-0` | 20 |", "**Next:** ", "**One event** are records"]
    {
        assert!(one.contains(said), "{said} is not in {one}");
    }
    assert!(one.lines().count() < 60, "{one}");

    let mut older = report(&path);
    let findings = older["findings"].as_array_mut().unwrap();
    findings[0]["counts"]["surplusRecords"] = json!(7);
    let older = changed(home.path(), "older.json", &older);
    let ticket = run(&["diff", &older, &path, "--format", "md"]);
    assert_eq!(ticket.status.code(), Some(1));
    let ticket = text(&ticket.stdout);
    assert!(ticket.starts_with("## Findings: 0 new and 1 grown since "), "{ticket}");
    assert!(ticket.contains("| grown | high | `resend-new-session` | likely |"), "{ticket}");
    assert!(ticket.contains("surplus records 7 → 20"), "{ticket}");
    let as_file = home.path().join("diff.md").display().to_string();
    run(&["diff", &older, &path, "-o", &as_file]);
    assert_eq!(std::fs::read_to_string(as_file).unwrap(), ticket);
}

#[test]
fn columns_are_heeded_where_no_terminal_is() {
    let (_home, path) = scanned(RESEND);
    let widest = |columns: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
        let output = command.args(["render", &path]).env("COLUMNS", columns).output().unwrap();
        text(&output.stdout).lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!((81..=160).contains(&widest("160")), "{}", widest("160"));
    assert!(widest("60") <= 60, "{}", widest("60"));
    for nonsense in ["", "0", "wide", "-3"] {
        assert!((61..=80).contains(&widest(nonsense)), "{nonsense}: {}", widest(nonsense));
    }
}

#[test]
fn a_short_list_is_told_unless_quiet_and_by_the_status_always() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("report.json").display().to_string();
    run(&["scan", RESEND, "-o", &path, "--max-groups", "1"]);
    for (quiet, said) in [(&[][..], true), (&["-q"][..], false)] {
        let output = run(&[&["render", path.as_str(), "--format", "csv"][..], quiet].concat());
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(text(&output.stderr).contains("are not in the report"), said, "{quiet:?}");
    }
}

#[test]
fn diff_says_what_makes_two_reports_hard_to_compare() {
    let (home, path) = scanned(INCIDENT);
    let now = report(&path);
    let differ = |before: &Value| -> Value {
        let before = changed(home.path(), "before.json", before);
        let output = run(&["diff", &before, &path, "--format", "json"]);
        std::fs::remove_file(before).unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(differ(&now)["warnings"], json!([]));
    let mut other = now.clone();
    for evidence in other["evidence"].as_array_mut().unwrap() {
        evidence["clusterId"] = json!("another-cluster");
    }
    other["topics"][0]["topicId"] = json!("another-id");
    other["invocation"]["key"] = json!("json:/id");
    other["invocation"]["options"]["maxGroups"] = json!(7);
    other["findings"][0]["confidence"] = json!("possible");
    let difference = differ(&other);
    let warnings = difference["warnings"].as_array().unwrap();
    let said: Vec<_> = warnings.iter().map(|warning| warning.as_str().unwrap()).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("the reports are of different clusters (another-cluster; "), "{said:?}");
    assert!(said[1].contains("has another id"), "{said:?}");
    assert_eq!(said[2], "the reports were made with other options: key json:/id → auto");
    assert_eq!(difference["unchanged"][0]["confidenceBefore"], "possible");
    let before = changed(home.path(), "before.json", &other);
    let table = text(&run(&["diff", &before, &path]).stdout);
    assert!(table.contains("confidence possible → "), "{table}");
    assert!(table.contains("The reports are of different clusters"), "{table}");
}

#[test]
fn a_baseline_leaves_only_what_is_new_or_grown_for_the_exit_status() {
    let (home, path) = scanned(RESEND);
    let known = run(&["scan", RESEND, "--baseline", &path]);
    assert_eq!(known.status.code(), Some(0));
    assert_eq!(text(&known.stderr), "dedup-audit: 1 finding, 0 new or grown at low or above\n");
    assert!(!text(&known.stdout).contains("NEW"), "{}", text(&known.stdout));
    let mut less = report(&path);
    less["findings"][0]["counts"]["groups"] = json!(3);
    let less = changed(home.path(), "less.json", &less);
    assert_eq!(run(&["scan", RESEND, "--baseline", &less]).status.code(), Some(1));
    let grown = text(&run(&["scan", RESEND, "--baseline", &less]).stdout);
    assert!(grown.contains("HIGH    resend-new-session  likely  GROWN"), "{grown}");
    let mut none = report(&path);
    none["findings"] = json!([]);
    let none = changed(home.path(), "none.json", &none);
    let fresh = run(&["scan", RESEND, "--baseline", &none, "--format", "md"]);
    assert!(text(&fresh.stdout).contains("(likely, new since the baseline)"), "{}", text(&fresh.stdout));
    assert!(refused(&["scan", RESEND, "--baseline", "gone.json"]).contains("gone.json"));
}

#[test]
fn a_report_of_a_later_version_is_read_and_keeps_its_words() {
    let (home, path) = scanned(RESEND);
    let mut later = report(&path);
    later["schemaVersion"] = json!("1.7");
    later["aNewField"] = json!({"x": [1]});
    let finding = &mut later["findings"][0];
    finding["code"] = json!("made-tomorrow");
    finding["confidence"] = json!("hoped");
    finding["severity"] = json!("dire");
    finding["groups"][0]["copies"][1]["level"] = json!("E0");
    finding["groups"][0]["copies"][1]["visibility"] = json!("maybe");
    let later = changed(home.path(), "later.json", &later);
    for form in ["table", "json", "ndjson", "md", "html", "csv"] {
        let output = run(&["render", &later, "--format", form]);
        assert!(output.status.success(), "{form}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains("made-tomorrow"), "{form} lost the code");
    }
    let rendered: Value =
        serde_json::from_slice(&run(&["render", &later, "--format", "json"]).stdout).unwrap();
    assert_eq!(rendered["findings"], report(&later)["findings"]);
}

#[test]
fn what_is_no_report_is_refused_with_its_name() {
    let message = refused(&["render", "Cargo.toml"]);
    assert!(message.contains("Cargo.toml: it is no report of scan --format json"), "{message}");
    assert!(refused(&["render", "testdata/brokers"]).contains("testdata/brokers"));
}

#[test]
fn a_list_of_a_report_that_omits_copies_says_so() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("short.json").display().to_string();
    run(&["scan", RESEND, "-o", &path, "--max-groups", "5"]);
    let output = run(&["render", &path, "--format", "csv"]);
    assert_eq!(text(&output.stdout).lines().count(), 6);
    assert!(text(&output.stderr).contains("15 surplus copies are not in the report"));
}

#[test]
fn a_redacted_report_has_no_key_in_any_form_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let key_file = home.path().join("key");
    std::fs::write(&key_file, "a key of more than sixteen bytes").unwrap();
    let key_file = key_file.display().to_string();
    for form in ["table", "json", "ndjson", "md", "html", "csv"] {
        let scan = |more: &[&str]| {
            let arguments = [&["scan", RESEND, "--format", form, "--show-values"], more].concat();
            text(&run(&arguments).stdout)
        };
        let open = scan(&[]);
        assert!(open.contains("order-0042"), "{form}");
        let keys = scan(&["--redact", "keys"]);
        assert!(!keys.contains("order-0042") && keys.contains("orders"), "{form}");
        let all = scan(&["--redact", "all", "--redact-key-file", &key_file]);
        assert!(!all.contains("orders") && !all.contains("crash-restart"), "{form}: {all}");
        assert_eq!(all, scan(&["--redact", "all", "--redact-key-file", &key_file]), "{form}");
        assert_ne!(keys, scan(&["--redact", "keys"]), "{form}: the key is not random");
        if form != "csv" {
            assert!(keys.to_lowercase().contains("redact"), "{form} does not say what it hides");
        }
    }
    assert!(
        refused(&["scan", RESEND, "--redact", "keys", "--redact-key-file", "rustfmt.toml.gone"])
            .contains("gone")
    );
}

#[test]
fn values_are_shown_when_asked_for_and_never_else() {
    let values = |report: &Value| report.pointer("/findings/0/groups/0/copies/0/value").cloned();
    let of = |arguments: &[&str]| -> Value { serde_json::from_slice(&run(arguments).stdout).unwrap() };
    assert_eq!(values(&of(&["scan", RESEND, "--format", "json"])), None);
    let shown = values(&of(&["scan", RESEND, "--format", "json", "--show-values"])).unwrap();
    assert!(shown["text"].as_str().is_some_and(|text| !text.is_empty()), "{shown}");
    let hidden =
        values(&of(&["scan", RESEND, "--format", "json", "--show-values", "--redact", "keys"])).unwrap();
    assert!(hidden["keyedHash"].is_string(), "{hidden}");
}

#[test]
fn lines_come_while_the_run_goes_on_and_are_a_report_without_its_end() {
    use std::io::BufRead as _;
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    for (name, kibibytes) in [("a-0", 1), ("b-0", 6 << 10)] {
        let log = (0..kibibytes).fold(dedup_audit::testkit::SegmentBuilder::new(), |log, at| {
            log.batch(dedup_audit::testkit::batch().record(format!("k{at}"), "v".repeat(1000)))
        });
        std::fs::create_dir_all(data.join(name)).unwrap();
        std::fs::write(data.join(name).join("00000000000000000000.log"), log.bytes()).unwrap();
    }
    // Slow enough that the first lines come long before the last bytes are read.
    let mut child = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--format", "ndjson", "--io-limit", "1MiB/s", "--threads", "1"])
        .arg(&data)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let head: Vec<String> = lines.by_ref().take(2).map(Result::unwrap).collect();
    let runs = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(runs, "the lines came at the end");
    let kinds: Vec<Value> = head.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&kinds[0]["type"], &kinds[1]["type"]), (&"header".into(), &"partition".into()));
    assert_eq!((&kinds[1]["topic"], &kinds[1]["records"]), (&"a".into(), &1.into()));
    let saved = home.path().join("half.ndjson");
    std::fs::write(&saved, head.join("\n")).unwrap();
    let rendered = text(&run(&["render", &saved.display().to_string()]).stdout);
    assert!(rendered.to_lowercase().starts_with("interrupted"), "{rendered}");
    assert!(rendered.contains("1 partition, ") && rendered.contains(" 1 record"), "{rendered}");
}

#[test]
fn lines_that_come_early_are_those_of_the_whole_report() {
    let home = tempfile::tempdir().unwrap();
    for set in ["mixed-incident/data", "three-brokers-diverged", "topic-recreated", "bit-rot-length/data"] {
        let data = format!("testdata/brokers/4.3.1/{set}");
        let path = home.path().join("whole.ndjson").display().to_string();
        let printed = text(&run(&["scan", &data, "--format", "ndjson"]).stdout);
        run(&["scan", &data, "-o", &path, "--force"]);
        assert_eq!(printed, std::fs::read_to_string(&path).unwrap(), "{set}");
        let kinds: Vec<String> = printed
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(kinds.first().map(String::as_str), Some("header"));
        assert_eq!(kinds.last().map(String::as_str), Some("summary"));
        let json: Value = serde_json::from_slice(&run(&["scan", &data, "--format", "json"]).stdout).unwrap();
        let read: Value =
            serde_json::from_slice(&run(&["render", &path, "--format", "json"]).stdout).unwrap();
        assert_eq!(read, json, "{set}: nothing is lost on the way");
    }
}

#[test]
fn one_finding_tells_its_times_in_the_zone() {
    let home = tempfile::tempdir().unwrap();
    let report = home.path().join("report.json");
    let path = report.to_str().unwrap();
    run(&["scan", &format!("{RESEND}/data"), "-o", path]);
    let shown = text(&run(&["show", "DA-", path, "--tz", "Asia/Kolkata"]).stdout);
    assert!(shown.contains("21:31:24.244 – 21:31:24.343 UTC+05:30"), "{shown}");
    assert!(shown.contains("2026-11-29 21:31:24.288 UTC+05:30") && !shown.contains("16:01:2"), "{shown}");
}
