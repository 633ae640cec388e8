//! The commands of docs/paged.md do what the page says: each is run in a directory that holds, under the names that the
//! page uses, the files of a real broker on which somebody had that symptom, and prints what the page tells to look at.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// What lies in the directory before the command runs.
enum Given {
    /// Partitions of a scenario whose names begin so, below this name.
    Logs(&'static str, &'static str, &'static str),
    /// What was sent in a scenario, as CSV with a column `id`.
    Sent(&'static str),
    /// The JSON report of what lies below this name.
    ReportOf(&'static str),
}

use Given::{Logs, ReportOf, Sent};

/// A command of the page, what it is run on, its status, and words that it prints.
struct Row {
    command: &'static str,
    given: &'static [Given],
    status: i32,
    prints: &'static [&'static str],
}

/// The rows of "From the symptom to the command", in their order.
const TABLE: [Row; 11] = [
    Row {
        command: "scan copy/",
        given: &[Logs("copy", "crash-restart-resend", "")],
        status: 1,
        prints: &["20 events of topic orders are stored twice", "Coverage"],
    },
    Row {
        command: "trace order-0042 copy/",
        given: &[Logs("copy", "crash-restart-resend", "")],
        status: 1,
        prints: &["COPY 1", "COPY 2", "PID 0", "PID 1", "The copies are equal"],
    },
    Row {
        command: "offsets copy/",
        given: &[Logs("copy", "offsets-topic", "")],
        status: 0,
        prints: &["consumer-rewind", "read twice"],
    },
    Row {
        command: "reconcile copy/ --expect sent.csv --expect-key id",
        given: &[Logs("copy", "acks0-missing", ""), Sent("acks0-missing")],
        status: 1,
        prints: &["8 not in what was read", "before: click-0020", "behind: click-0028"],
    },
    Row {
        command: "scan copy/ --headers-only",
        given: &[Logs("copy", "txn-hanging", "")],
        status: 1,
        prints: &["transaction-open", "producer 0", "offset 6"],
    },
    Row {
        command: "scan copy/ --headers-only",
        given: &[Logs("copy", "silent-disable-acks1", "")],
        status: 1,
        prints: &["idempotence-lost", "from offset 40", "2026-11-29 16:01:32.962 UTC"],
    },
    Row {
        command: "scan broker-1 broker-2 broker-3",
        given: &[
            Logs("broker-1", "three-brokers-diverged/data-1", ""),
            Logs("broker-2", "three-brokers-diverged/data-2", ""),
            Logs("broker-3", "three-brokers-diverged/data-3", ""),
        ],
        status: 1,
        prints: &["replica-divergence"],
    },
    Row {
        command: "compare east west --mirror orders=east.orders --key json:/eventId",
        given: &[
            Logs("east", "mirrormaker2-kill-restart", "orders"),
            Logs("west", "mirrormaker2-kill-restart", "east.orders"),
        ],
        status: 1,
        prints: &[
            "27 matched, 0 missing, 0 extra, 12 repeated",
            "only in b: offsets 25–36, 12 records, repeated",
        ],
    },
    Row {
        command: "scan copy/ --list surplus.csv",
        given: &[Logs("copy", "crash-restart-resend", "")],
        status: 1,
        prints: &["readCommittedSees", "\norders,0,30,order-0042,", ",true,orders,0,20\n"],
    },
    Row {
        command: "offsets copy/",
        given: &[Logs("copy", "consumer-rewind", "")],
        status: 0,
        prints: &["late has reached none of them", "ledger has committed past all surplus copies"],
    },
    Row {
        command: "scan copy-2/ --baseline report.json",
        given: &[
            Logs("copy", "retry-idempotence-on", ""),
            ReportOf("copy"),
            Logs("copy-2", "retry-idempotence-off", ""),
        ],
        status: 1,
        prints: &["NEW"],
    },
];

/// The commands of "The first ten minutes", in their order, and the files that they write.
const TEN_MINUTES: [(&str, &[&str]); 3] = [
    ("dedup-audit scan copy/ -o report.json -o md:ticket.md --format table", &["report.json", "ticket.md"]),
    ("dedup-audit keys copy/", &[]),
    ("dedup-audit scan copy/ --list surplus.csv", &["surplus.csv"]),
];

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/paged.md");
    fs::read_to_string(path).unwrap()
}

fn scenario(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(name)
}

fn run(dir: &Path, command: &str) -> Output {
    let words = command.strip_prefix("dedup-audit ").unwrap_or(command).split(' ');
    Command::new(env!("CARGO_BIN_EXE_dedup-audit")).args(words).current_dir(dir).output().unwrap()
}

impl Given {
    fn lay(&self, dir: &Path) {
        match self {
            Logs(name, of, begins) => {
                let from = if of.contains('/') { scenario(of) } else { scenario(of).join("data") };
                copy(&from, &dir.join(name), begins);
            }
            Sent(of) => {
                let ledger = fs::read_to_string(scenario(of).join("ledger.ndjson")).unwrap();
                let id = |line: &str| {
                    let entry: serde_json::Value = serde_json::from_str(line).unwrap();
                    entry["key"].as_str().unwrap().to_owned()
                };
                let lines: Vec<String> = ledger.lines().map(id).collect();
                fs::write(dir.join("sent.csv"), format!("id\n{}\n", lines.join("\n"))).unwrap();
            }
            ReportOf(name) => {
                let output = run(dir, &format!("scan {name} -o report.json"));
                assert_ne!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }
}

/// The partitions whose names begin so, and the small files beside them.
fn copy(from: &Path, to: &Path, begins: &str) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            if name.starts_with(begins) {
                copy(&entry.path(), &to.join(name), "");
            }
        } else {
            fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

/// What stands in backquotes.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn section<'p>(page: &'p str, title: &str) -> &'p str {
    let rest = page.split_once(&format!("\n## {title}\n")).unwrap().1;
    rest.split("\n## ").next().unwrap()
}

#[test]
fn each_symptom_has_a_command_that_shows_what_the_page_tells_to_look_at() {
    let page = page();
    let rows: Vec<&str> = section(&page, "From the symptom to the command")
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
        .collect();
    let commands: Vec<&str> = rows.iter().map(|row| code(row.split('|').nth(2).unwrap())[0]).collect();
    assert_eq!(commands, TABLE.map(|row| row.command), "the page and this test have different rows");
    for (row, line) in TABLE.iter().zip(rows) {
        let dir = tempfile::tempdir().unwrap();
        row.given.iter().for_each(|given| given.lay(dir.path()));
        let output = run(dir.path(), row.command);
        let mut text = String::from_utf8(output.stdout).unwrap();
        if row.command.contains("--list") {
            text.push_str(&fs::read_to_string(dir.path().join("surplus.csv")).unwrap());
        }
        let (error, status) = (String::from_utf8_lossy(&output.stderr), output.status.code());
        assert_eq!(status, Some(row.status), "{}: {text}{error}", row.command);
        // Lines are broken where the terminal ends.
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in row.prints {
            assert!(text.contains(word) || flat.contains(word), "{}: no {word} in {text}", row.command);
        }
        // Of the codes that the page names for this row one is there.
        let looked_at = line.rsplit('|').nth(1).unwrap();
        let named: Vec<&str> = code(looked_at)
            .into_iter()
            .filter(|word| dedup_audit::report::explain::find(word).is_some())
            .collect();
        assert!(named.is_empty() || named.iter().any(|code| text.contains(code)), "{named:?}: {text}");
    }
}

#[test]
fn the_first_ten_minutes_run_one_after_the_other_and_leave_what_the_page_names() {
    let page = page();
    let steps = section(&page, "The first ten minutes");
    let commands: Vec<&str> =
        code(steps).into_iter().filter(|command| command.starts_with("dedup-audit ")).collect();
    assert_eq!(commands, TEN_MINUTES.map(|(command, _)| command));
    let dir = tempfile::tempdir().unwrap();
    Logs("copy", "crash-restart-resend", "").lay(dir.path());
    for (command, files) in TEN_MINUTES {
        let output = run(dir.path(), command);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(2), "{command}: {error}");
        for file in files {
            assert!(dir.path().join(file).exists(), "{command}: no {file}");
        }
    }
    // The steps between speak of what these print.
    let table = String::from_utf8(run(dir.path(), "scan copy/").stdout).unwrap();
    for word in ["Coverage", "Identity", "Not excluded"] {
        assert!(steps.contains(word) && table.contains(word), "{word}");
    }
    let report = dir.path().join("report.json");
    for command in [
        "show resend-new-session report.json",
        "render report.json --format md",
        "diff report.json report.json",
    ] {
        let output = run(dir.path(), command);
        assert_ne!(output.status.code(), Some(2), "{command} on {}", report.display());
    }
    // `--key` takes the place of what was chosen.
    let chosen = run(dir.path(), "scan copy/ --key json:/payment/id");
    assert_ne!(chosen.status.code(), Some(2), "{}", String::from_utf8_lossy(&chosen.stderr));
    // Nothing but what was asked for was written.
    let mut left: Vec<String> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["copy", "report.json", "surplus.csv", "ticket.md"]);
}
