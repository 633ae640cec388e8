//! Beside a running broker: files that change while they are read, signals, limits, and readers that
//! go away.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use dedup_audit::audit::{self, AuditOptions, Stage};
use dedup_audit::finding::Severity;
use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn data(scenario: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario).join("data")
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn tool() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
}

fn scan(directory: &Path) -> Output {
    tool().arg("scan").arg(directory).args(["--format", "json"]).output().unwrap()
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {} {said}", output.status))
}

/// The codes of findings that are worse than info.
fn accusations(report: &Value) -> BTreeSet<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let loud = findings.filter(|finding| finding["severity"] != "info");
    loud.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// Segments below a directory, by path.
fn segments(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(segments(&path));
        } else if path.extension().is_some_and(|extension| extension == "log") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Whether no segment of the partition comes before this one.
fn is_first(path: &Path) -> bool {
    segments(path.parent().unwrap()).first().is_some_and(|first| first == path)
}

/// Whether no segment of the partition comes behind this one: the active one.
fn is_last(path: &Path) -> bool {
    segments(path.parent().unwrap()).last().is_some_and(|last| last == path)
}

/// Below a directory, removes what `wanted` names.
fn remove(directory: &Path, wanted: &str) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            remove(&path, wanted);
        } else if path.file_name().is_some_and(|name| name == wanted) {
            fs::remove_file(path).unwrap();
        }
    }
}

/// Puts a closed segment in its place, whole from the first moment on, as the cleaner does: one that
/// is empty or cut in the middle of a log is no state that a broker leaves, and offsets are missing.
fn put(path: &Path, bytes: &[u8]) {
    let cleaned = PathBuf::from(format!("{}.cleaned", path.display()));
    fs::write(&cleaned, bytes).unwrap();
    fs::rename(&cleaned, path).unwrap();
}

/// What a broker does to its files, over and over, until it is told to end. `whole` is the log as it
/// was; every state is one that a broker could leave.
fn disturb(whole: &Path, live: &Path, end: &AtomicBool) {
    let mut round = 0;
    while !end.load(Ordering::Relaxed) {
        for path in segments(live) {
            let original = whole.join(path.strip_prefix(live).unwrap());
            let bytes = fs::read(&original).unwrap();
            let deleted = PathBuf::from(format!("{}.deleted", path.display()));
            match round % 5 {
                // A follower cuts its end off: a closed segment is whole as long as it is there.
                0 if is_last(&path) => OpenOptions::new()
                    .write(true)
                    .open(&path)
                    .unwrap()
                    .set_len(bytes.len() as u64 / 2)
                    .unwrap(),
                // And fetches it again, piece by piece.
                1 => {
                    let have = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
                    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
                    for piece in bytes.get(have..).unwrap_or_default().chunks(1000) {
                        file.write_all(piece).unwrap();
                    }
                }
                // The cleaner puts another file in its place.
                2 => put(&path, &bytes),
                // Retention renames the first one, and removes it later.
                3 if is_first(&path) => {
                    fs::rename(&path, &deleted).unwrap();
                    std::thread::sleep(Duration::from_millis(3));
                    fs::remove_file(&deleted).unwrap();
                    put(&path, &bytes);
                }
                _ => {}
            }
        }
        round += 1;
    }
}

#[test]
fn files_that_change_while_they_are_read_lead_to_no_accusation() {
    for scenario in ["mixed-incident", "retention-head", "compacted", "txn-commit-abort-tv2"] {
        let (whole, live) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        copy_tree(&data(scenario), whole.path());
        // A running broker has left no marker of an orderly stop.
        remove(whole.path(), ".kafka_cleanshutdown");
        // It would be cut together with the first segment, which is put back here.
        remove(whole.path(), "leader-epoch-checkpoint");
        // Who cuts a log writes its recovery point at once (`LogManager.truncateTo`).
        remove(whole.path(), "recovery-point-offset-checkpoint");
        copy_tree(whole.path(), live.path());
        let quiet = json(&scan(whole.path()));
        let mut allowed = accusations(&quiet);
        // A log whose end is cut off for the moment has the same unprotected records, and nothing that
        // tells whether protection was lost or never there.
        if allowed.contains("idempotence-lost") {
            allowed.insert("idempotence-off".to_owned());
        }
        // With less of the log around them, copies that are there are told without a cause: that is
        // "cannot tell", and accuses nobody.
        if quiet["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|finding| finding["counts"]["surplusRecords"] != 0)
        {
            allowed.insert("duplicate-undetermined".to_owned());
        }
        // What a follower has fetched so far may end within a transaction, which is open then.
        if segments(whole.path()).iter().any(|path| path.to_string_lossy().contains("__transaction_state")) {
            allowed.insert("transaction-open".to_owned());
        }
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| disturb(whole.path(), live.path(), &end));
            let begin = Instant::now();
            let mut changes = 0;
            for round in 0..60 {
                let output = scan(live.path());
                // Between two renames a whole partition may be gone: then there is nothing to audit.
                if output.status.code() != Some(2) {
                    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{scenario}: {}", output.status);
                    let report = json(&output);
                    let more: Vec<_> = accusations(&report).difference(&allowed).cloned().collect();
                    if !more.is_empty() {
                        end.store(true, Ordering::Relaxed);
                    }
                    assert_eq!(
                        more,
                        Vec::<String>::new(),
                        "{scenario}, round {round}: {:#}",
                        report["coverage"]
                    );
                    changes +=
                        usize::from(report["coverage"]["notes"].to_string().contains("while the scan ran"));
                }
                if begin.elapsed() > Duration::from_secs(8) && changes > 0 {
                    break;
                }
            }
            end.store(true, Ordering::Relaxed);
            assert!(changes > 0, "{scenario}: no scan met a change");
        });
    }
}

/// The codes of an audit's findings that are worse than info.
fn codes(audit: &audit::Audit) -> BTreeSet<String> {
    let loud = audit.report.findings.iter().filter(|finding| finding.severity > Severity::Info);
    loud.map(|finding| finding.code.to_string()).collect()
}

#[test]
fn an_interrupted_audit_accuses_nobody_whom_the_whole_one_does_not() {
    for scenario in
        ["mixed-incident", "retention-head", "txn-hanging", "silent-disable-acks1", "three-brokers-rejoined"]
    {
        let path = match scenario {
            "three-brokers-rejoined" => data(scenario).parent().unwrap().to_owned(),
            _ => data(scenario),
        };
        let options = || AuditOptions { threads: 1, ..AuditOptions::over(vec![path.clone()]) };
        let whole = audit::run(&options()).unwrap();
        assert!(!whole.report.verdict.interrupted);
        let bytes = whole.report.coverage.bytes;
        for part in 0..8 {
            let options = options();
            options.watch.stop_after(bytes * part / 8);
            let some = audit::run(&options).unwrap();
            // Where the last piece was under way already, there is nothing to interrupt.
            assert!(some.report.verdict.interrupted || part > 0, "{scenario} after {part}/8");
            assert!(!(some.report.verdict.interrupted && some.report.verdict.complete));
            assert!(some.report.coverage.bytes_read <= bytes * part / 8 + (1 << 20));
            let more: Vec<_> = codes(&some).difference(&codes(&whole)).cloned().collect();
            assert_eq!(more, Vec::<String>::new(), "{scenario} after {part}/8");
        }
    }
}

#[test]
fn an_audit_that_is_interrupted_while_it_compares_says_so_and_accuses_nobody_else() {
    for scenario in ["mixed-incident", "retention-head", "txn-hanging", "silent-disable-acks1"] {
        let options = || AuditOptions { threads: 1, ..AuditOptions::over(vec![data(scenario)]) };
        let whole = audit::run(&options()).unwrap();
        for stage in [Stage::Comparing, Stage::Judging] {
            let options = options();
            options.watch.stop_in(stage);
            let some = audit::run(&options).unwrap();
            assert!(some.report.verdict.interrupted && !some.report.verdict.complete, "{scenario}");
            assert_eq!(some.report.coverage.bytes_read, whole.report.coverage.bytes_read);
            let more: Vec<_> = codes(&some).difference(&codes(&whole)).cloned().collect();
            assert_eq!(more, Vec::<String>::new(), "{scenario}, {stage:?}");
        }
    }
}

/// A partition of `megabytes` segments of about a megabyte each.
fn large_partition(megabytes: i64) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let partition = directory.path().join("orders-0");
    fs::create_dir(&partition).unwrap();
    let mut offset = 0;
    for _ in 0..megabytes {
        let base = offset;
        let mut segment = SegmentBuilder::new();
        for _ in 0..1000 {
            let mut spec = batch().offset(offset);
            for _ in 0..10 {
                spec = spec.record(format!("order-{offset:08}"), "v".repeat(80));
                offset += 1;
            }
            segment = segment.batch(spec);
        }
        fs::write(partition.join(format!("{base:020}.log")), segment.bytes()).unwrap();
    }
    directory
}

fn started(directory: &Path, options: &[&str]) -> Child {
    let mut command = tool();
    command.arg("scan").arg(directory).args(["--format", "json", "--threads", "1"]).args(options);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").arg(name).arg(child.id().to_string()).status().unwrap().success());
}

#[test]
fn the_first_signal_ends_the_reading_and_what_was_found_is_told() {
    let directory = large_partition(12);
    for name in ["-INT", "-TERM"] {
        let child = started(directory.path(), &["--io-limit", "2MiB/s"]);
        std::thread::sleep(Duration::from_millis(1500));
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}");
        let report = json(&output);
        assert_eq!(report["verdict"]["interrupted"], true);
        assert_eq!(report["verdict"]["complete"], false);
        let coverage = &report["coverage"];
        assert!(coverage["bytesRead"].as_u64().unwrap() < coverage["bytes"].as_u64().unwrap());
        assert_eq!(
            accusations(&report).iter().filter(|code| *code != "idempotence-off").count(),
            0,
            "{report:#}"
        );
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("once more to quit"), "{said}");
    }
}

/// The answers of all commands that read evidence: how each is asked about `directory`.
fn questions(directory: &Path, list: &Path) -> Vec<Vec<String>> {
    let (path, list) = (directory.display().to_string(), list.display().to_string());
    [
        &["producers", &path][..],
        &["keys", &path],
        &["trace", "order-00000001", &path],
        &["offsets", &path],
        &["reconcile", &path, "--expect", &list],
        &["compare", &path, &path],
    ]
    .iter()
    .map(|words| words.iter().map(|word| (*word).to_owned()).collect())
    .collect()
}

/// A large partition, one of `__consumer_offsets`, and a list of its keys and of one that is not there.
fn asked(megabytes: i64) -> (TempDir, PathBuf) {
    let directory = large_partition(megabytes);
    let commits = directory.path().join("__consumer_offsets-0");
    copy_tree(&data("offsets-topic").join("__consumer_offsets-0"), &commits);
    let list = directory.path().join("keys.txt");
    fs::write(&list, "order-00000000\norder-00079999\nnever-sent\n").unwrap();
    (directory, list)
}

#[test]
fn a_signal_ends_every_command_with_what_was_found() {
    let (directory, list) = asked(8);
    let children: Vec<_> = questions(directory.path(), &list)
        .into_iter()
        .map(|question| {
            let mut command = tool();
            command.args(&question).args(["--format", "json", "--threads", "1", "--io-limit", "1MiB/s"]);
            (question, command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        })
        .collect();
    std::thread::sleep(Duration::from_millis(2500));
    for (_, child) in &children {
        signal(child, "-INT");
    }
    for (question, child) in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{question:?}: {said}");
        assert!(said.contains("once more to quit"), "{question:?}: {said}");
        let answer = json(&output);
        assert_eq!(
            (&answer["interrupted"], &answer["complete"]),
            (&Value::Bool(true), &Value::Bool(false)),
            "{question:?}"
        );
        let coverage = &answer["coverage"];
        assert!(coverage["bytesRead"].as_u64() < coverage["bytes"].as_u64(), "{question:?}: {coverage:#}");
        match question[0].as_str() {
            "compare" => {
                assert_eq!(answer["pairs"], Value::Array(Vec::new()), "{answer:#}");
                assert_eq!(answer["uncompared"].as_array().unwrap().len(), 2, "{answer:#}");
            }
            "reconcile" => assert_eq!(answer["evidenceComplete"], false),
            _ => {}
        }
    }
}

#[test]
fn every_command_says_how_far_it_is_when_it_is_asked_to() {
    let (directory, list) = asked(1);
    for question in questions(directory.path(), &list) {
        let said = |option: &str| {
            let output = tool().args(&question).arg(option).output().unwrap();
            assert!(matches!(output.status.code(), Some(0 | 1)), "{question:?}: {output:?}");
            String::from_utf8(output.stderr).unwrap()
        };
        let verbose = said("-v");
        assert!(verbose.contains("dedup-audit: read "), "{question:?}: {verbose}");
        assert_eq!(said("-q"), "", "{question:?}");
    }
}

#[test]
fn the_second_signal_quits() {
    let directory = large_partition(12);
    let child = started(directory.path(), &["--io-limit", "1MiB/s"]);
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, "-INT");
    std::thread::sleep(Duration::from_millis(100));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
}

#[test]
fn reading_keeps_to_the_limit() {
    let directory = large_partition(8);
    let bytes: u64 = segments(directory.path()).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    let begin = Instant::now();
    let output =
        started(directory.path(), &["--io-limit", "4MiB/s", "--headers-only"]).wait_with_output().unwrap();
    let least = Duration::from_millis(bytes * 1000 / (4 << 20));
    assert!(output.status.success() || output.status.code() == Some(1));
    assert!(begin.elapsed() >= least.mul_f64(0.9), "{:?} of {least:?}", begin.elapsed());
}

#[test]
fn a_reader_that_goes_away_is_a_quiet_end() {
    for options in [["scan", "--format", "json"].as_slice(), &["scan"], &["dump"], &["completions", "bash"]] {
        let mut command = tool();
        command.args(options);
        match options[0] {
            "scan" => drop(command.arg(data("mixed-incident"))),
            "dump" => drop(command.args(segments(&data("mixed-incident")))),
            _ => {}
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let _ = out.read(&mut [0; 1]).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert!(output.stderr.is_empty(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{options:?}: {}", output.status);
    }
}

#[test]
fn what_may_not_be_read_is_named_and_the_rest_is_audited() {
    use std::os::unix::fs::PermissionsExt;
    let copy = tempfile::tempdir().unwrap();
    copy_tree(&data("clean-large-ish"), copy.path());
    let all = segments(copy.path());
    let hidden = all.iter().find(|path| fs::metadata(path).unwrap().len() > 0).unwrap();
    fs::set_permissions(hidden, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // The superuser may read everything: then another user is needed, who may read the tool.
    let tool = env!("CARGO_BIN_EXE_dedup-audit");
    let output = if fs::read(hidden).is_ok() {
        let reachable = copy.path().join("tool");
        fs::copy(tool, &reachable).unwrap();
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&reachable)
            .arg("scan")
            .args(
                fs::read_dir(copy.path())
                    .unwrap()
                    .map(|entry| entry.unwrap().path())
                    .filter(|path| path.is_dir()),
            )
            .args(["--format", "json"])
            .output();
        match output {
            Ok(output) => output,
            Err(error) => {
                writeln!(std::io::stderr(), "skipped: the superuser reads everything, and setpriv: {error}")
                    .unwrap();
                return;
            }
        }
    } else {
        scan(copy.path())
    };
    let report = json(&output);
    assert_eq!(output.status.code(), Some(3), "{:#}", report["findings"]);
    let damage = report["coverage"]["damage"].to_string();
    let name = hidden.strip_prefix(copy.path()).unwrap();
    assert!(
        damage.contains(name.file_name().unwrap().to_str().unwrap()) && damage.contains("denied"),
        "{damage}"
    );
    assert!(report["coverage"]["records"].as_u64().unwrap() > 0);
}

#[test]
fn no_system_call_writes_to_what_is_audited() {
    // Where the checks of this repository run, strace is installed for this.
    let required = std::env::var("DEDUP_AUDIT_STRACE").is_ok_and(|value| value == "required");
    let available = Command::new("strace").arg("-V").output();
    if available.is_err() {
        assert!(!required, "strace is not installed");
        writeln!(std::io::stderr(), "skipped: strace is not installed").unwrap();
        return;
    }
    let copy = tempfile::tempdir().unwrap();
    copy_tree(&data("mixed-incident"), copy.path());
    let trace = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new("strace")
        .args(["-f", "-y", "-e", "trace=%file,%desc", "-o"])
        .arg(trace.path())
        .arg(env!("CARGO_BIN_EXE_dedup-audit"))
        .arg("scan")
        .arg(copy.path())
        .output()
        .unwrap();
    let calls = fs::read_to_string(trace.path()).unwrap();
    if calls.is_empty() {
        assert!(!required, "strace may not trace: {}", String::from_utf8_lossy(&output.stderr));
        writeln!(
            std::io::stderr(),
            "skipped: strace may not trace: {}",
            String::from_utf8_lossy(&output.stderr)
        )
        .unwrap();
        return;
    }
    let audited = copy.path().to_str().unwrap();
    // A call that another thread interrupts stands on two lines; the first one says what it is.
    let whole = |line: &&str| line.contains(audited) && !line.contains(" resumed>");
    let mine: Vec<_> = calls.lines().filter(whole).collect();
    assert!(mine.len() > 20, "{calls}");
    let harmless = [
        "openat(",
        "execve(",
        "read(",
        "pread64(",
        "preadv2(",
        "close(",
        "fstat(",
        "newfstatat(",
        "statx(",
        "fadvise64(",
        "getdents64(",
        "lseek(",
        "fcntl(",
        "readlink(",
        "cachestat(",
        "syscall_0x1c3(",
        "readlinkat(",
    ];
    for line in mine {
        assert!(harmless.iter().any(|call| line.contains(call)), "{line}");
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "F_SETLK", "F_OFD_SETLK"];
        assert!(!writes.iter().any(|flag| line.contains(flag)), "{line}");
    }
}
