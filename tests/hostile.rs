//! Bytes that want to do harm, on their way from a log through every command into every form: keys,
//! values, header names, directories, transactional ids, consumer groups, lists and options.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its data has failed")]

use dedup_audit::dump::{Audience, DumpOptions, dump_file};
use dedup_audit::input::Archives;
use dedup_audit::report::layout::Width;
use dedup_audit::report::{saved, table};
use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a key may hold; the word in each tells whether it came through.
const KEYS: &[(&str, &[u8])] = &[
    ("wordescape", b"\x1b]0;wordescape\x07\x1b[2J\x1b[31m"),
    ("wordcsi", "\u{9b}31mwordcsi\u{90}q\u{9c}".as_bytes()),
    ("wordbidi", "\u{202e}wordbidi\u{2066}\u{200b}\u{feff}".as_bytes()),
    ("wordcalc", b"=cmd()|' /C wordcalc'!A0"),
    ("wordplus", b"+1+wordplus"),
    ("wordscript", b"</script><script>alert('wordscript')</script><!--"),
    ("wordlink", b"[wordlink](http://evil.example/x) ![i](z) @team #12 | `a` | *b* www.evil.example"),
    ("wordnul", b"wordnul\0\r\nHIGH  nothing-to-see"),
    ("wordtab", "\t-1 wordtab\u{2028}x".as_bytes()),
    ("wordbad", b"wordbad\xff\xfe\xc3"),
    ("wordsentence", b"wordsentence: 99 findings. Everything is fine"),
    ("wordbase", b"base64:wordbase"),
];
/// What names may hold; a directory's name holds neither `/` nor NUL.
const NAMES: &[&str] = &[
    "\u{1b}[31mnameescape\u{7}",
    "\u{202e}namebidi",
    "=namecalc()",
    "<img src=x onerror=alert(1) namescript>",
    "[namelink](javascript:alert(1))",
    "name\nline",
];
const LARGE: usize = 1 << 20;

fn text(text: &str) -> Vec<u8> {
    [&u16::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat()
}

/// A log directory of which every foreign text is hostile.
struct Tree(tempfile::TempDir);

impl Tree {
    /// One key has so many bytes.
    fn new(large: usize) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.put("orders-0", records(KEYS.len(), &[&vec![b'k'; large], &[]]));
        for topic in [NAMES[0], NAMES[2], NAMES[3], NAMES[4], NAMES[5]] {
            tree.put(&format!("{topic}-0"), records(3, &[]));
        }
        tree.put("__consumer_offsets-0", commits());
        tree.put("__transaction_state-0", transactions());
        fs::write(
            tree.data().join("meta.properties"),
            format!("version=1\nnode.id=1\ncluster.id={}\n", NAMES[1]),
        )
        .unwrap();
        fs::write(tree.data().join("orders-0/partition.metadata"), "version: 0\ntopic_id: <script>\n")
            .unwrap();
        fs::write(tree.data().join("orders-0/00000000000000000009.snapshot"), b"\x1b]0;owned\x07").unwrap();
        tree
    }

    fn data(&self) -> PathBuf {
        let data = self.0.path().join("data");
        fs::create_dir_all(&data).unwrap();
        data
    }

    fn put(&self, name: &str, log: SegmentBuilder) {
        let at = self.data().join(name);
        fs::create_dir(&at).unwrap();
        fs::write(at.join("00000000000000000000.log"), log.bytes()).unwrap();
    }

    fn beside(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}

/// The first keys, and more, by one producer, and again by another; then without any.
fn records(first: usize, more: &[&[u8]]) -> SegmentBuilder {
    let keys = KEYS.iter().take(first).map(|(_, key)| *key);
    let keys: Vec<Vec<u8>> = keys.chain(more.iter().copied()).map(<[u8]>::to_vec).collect();
    let value = |at: usize| {
        let (name, text) =
            (NAMES[at % NAMES.len()], String::from_utf8_lossy(KEYS[at % KEYS.len()].1).into_owned());
        serde_json::json!({ name: text, "id": at }).to_string()
    };
    let mut log = SegmentBuilder::new();
    for producer in [1, 2, -1] {
        for (at, key) in keys.iter().enumerate() {
            let spec = batch().record(key.as_slice(), value(at)).header(NAMES[at % NAMES.len()], value(at));
            log = log.batch(match producer {
                -1 => spec,
                id => spec.producer(id, 0, i32::try_from(at).unwrap()),
            });
        }
    }
    let log = log.batch(batch().producer(7, 0, 0).transactional().record("open", "x"));
    // A cut batch behind them.
    let torn = SegmentBuilder::at(99).batch(batch().record("torn", "x")).bytes();
    log.raw(&torn[..torn.len() - 3])
}

/// A group that steps back, with hostile names.
fn commits() -> SegmentBuilder {
    let commit = |log: SegmentBuilder, group: &str, offset: i64| {
        let key = [vec![0, 1], text(group), text("orders"), 0_i32.to_be_bytes().to_vec()].concat();
        let value = [
            3_i16.to_be_bytes().to_vec(),
            offset.to_be_bytes().to_vec(),
            (-1_i32).to_be_bytes().to_vec(),
            text(NAMES[3]),
            1_700_000_000_000_i64.to_be_bytes().to_vec(),
        ]
        .concat();
        log.batch(batch().record(key.as_slice(), value.as_slice()))
    };
    let log = NAMES.iter().fold(SegmentBuilder::new(), |log, group| {
        [10, 20, 5, 25].iter().fold(log, |log, offset| commit(log, group, *offset))
    });
    let key = [vec![0, 2], text(NAMES[0])].concat();
    let value = [
        3_i16.to_be_bytes().to_vec(),
        text(NAMES[3]),
        7_i32.to_be_bytes().to_vec(),
        text(NAMES[1]),
        text(NAMES[2]),
        1_700_000_000_000_i64.to_be_bytes().to_vec(),
        0_i32.to_be_bytes().to_vec(),
    ]
    .concat();
    log.batch(batch().record(key.as_slice(), value.as_slice()))
}

/// Transactional ids for the producers above.
fn transactions() -> SegmentBuilder {
    [1_i64, 2, 7].iter().zip(NAMES).fold(SegmentBuilder::new(), |log, (producer, id)| {
        let key = [vec![0, 0], text(id)].concat();
        let value = [
            0_i16.to_be_bytes().to_vec(),
            producer.to_be_bytes().to_vec(),
            0_i16.to_be_bytes().to_vec(),
            60_000_i32.to_be_bytes().to_vec(),
            vec![0],
            0_i32.to_be_bytes().to_vec(),
            1_700_000_000_000_i64.to_be_bytes().to_vec(),
            1_700_000_000_000_i64.to_be_bytes().to_vec(),
        ]
        .concat();
        log.batch(batch().record(key.as_slice(), value.as_slice()))
    })
}

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit")).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_calm(&format!("{arguments:?}: standard error"), &said);
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    output
}

/// Signs that a terminal or a reader obeys.
fn commands(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn assert_calm(what: &str, text: &str) {
    let through = text.chars().find(|sign| *sign != '\n' && commands(*sign));
    assert_eq!(through, None, "{what}");
    let forged = text.lines().any(|line| line.starts_with("HIGH  nothing-to-see") || line == "line");
    assert!(!forged, "{what}: a text made a line of its own");
}

fn assert_harmless(what: &str, form: &str, text: &str) {
    match form {
        "json" => {
            serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        "ndjson" => {
            for line in text.lines() {
                serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{what}: {error}: {line}"));
            }
        }
        _ => assert_calm(what, text),
    }
    assert!(!text.chars().any(|sign| sign != '\n' && sign.is_ascii_control()), "{what}");
    match form {
        "html" => {
            assert!(!text.contains("<script>alert") && !text.contains("<img src=x"), "{what}");
            assert_eq!(text.matches("</script>").count(), 2, "{what}");
        }
        "csv" => {
            for line in text.lines() {
                let cells = line.split(',').map(|cell| cell.trim_matches('"'));
                let formula = cells.clone().find(|cell| cell.starts_with(['=', '@', '+', '\t']));
                assert_eq!(formula, None, "{what}: {line}");
            }
        }
        _ => {}
    }
}

/// Every command that reads logs, with the forms that it has.
fn calls(tree: &Tree) -> Vec<(Vec<String>, &'static [&'static str])> {
    const BOTH: &[&str] = &["table", "json"];
    const STORY: &[&str] = &["table", "json", "ndjson", "md"];
    const ALL: &[&str] = &["table", "json", "ndjson", "md", "html", "csv"];
    let data = tree.data().display().to_string();
    let twin = tree.beside("twin");
    if !Path::new(&twin).exists() {
        fs::create_dir(&twin).unwrap();
        let log = records(5, &[]).batch(batch().producer(8, 0, 0).record(KEYS[0].1, KEYS[5].1)).bytes();
        fs::create_dir(Path::new(&twin).join("orders-0")).unwrap();
        fs::write(Path::new(&twin).join("orders-0/00000000000000000000.log"), log).unwrap();
    }
    let list = tree.beside("sent.ndjson");
    let lines: Vec<String> = KEYS
        .iter()
        .map(|(word, key)| {
            serde_json::json!({"id": String::from_utf8_lossy(key), "other": format!("missing{word}\u{1b}[2J")})
                .to_string()
        })
        .collect();
    fs::write(&list, lines.join("\n")).unwrap();
    let call = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let mut calls = vec![
        (call(&["scan", &data, "--max-groups", "0", "--show-values", "--timeline"]), ALL),
        (call(&["scan", &data, "--key", "value", "--across"]), ALL),
        (
            call(&["scan", &data, "--key", "record-key+header:\u{1b}[31mnameescape\u{7}+json:/=namecalc()"]),
            ALL,
        ),
        (call(&["producers", &data, "--rows", "0"]), BOTH),
        (call(&["offsets", &data, "--commits", "0"]), BOTH),
        (call(&["keys", &data]), BOTH),
        (call(&["compare", &data, &twin, "--topic", "orders", "--timeline"]), BOTH),
        (call(&["reconcile", &data, "--expect", &list, "--expect-key", "/id", "--max-keys", "0"]), BOTH),
        (call(&["reconcile", &data, "--expect", &list, "--expect-key", "/other", "--max-keys", "0"]), BOTH),
        (call(&["trace", "base64:d29yZG51bAANCkhJR0ggIG5vdGhpbmctdG8tc2Vl", &data, "--show-values"]), STORY),
        (call(&["trace", &"k".repeat(100_000), &data]), STORY),
    ];
    for (_, key) in KEYS.iter().step_by(2) {
        if let Some(key) = std::str::from_utf8(key).ok().filter(|key| !key.contains('\0')) {
            calls.push((call(&["trace", key, &data, "--show-values"]), STORY));
        }
    }
    calls
}

#[test]
fn no_command_lets_harm_through_in_any_form() {
    let tree = Tree::new(LARGE);
    for (call, forms) in calls(&tree) {
        let call: Vec<&str> = call.iter().map(String::as_str).collect();
        for form in forms {
            let what = format!("{:?} as {form}", &call[..2]);
            let output = run(&[&call[..], &["--format", form]].concat());
            assert_ne!(output.status.code(), Some(2), "{what}: {}", String::from_utf8_lossy(&output.stderr));
            let said = String::from_utf8(output.stdout).unwrap();
            assert!(!said.is_empty(), "{what}");
            assert_harmless(&what, form, &said);
        }
    }
}

#[test]
fn no_saved_report_lets_harm_through() {
    let tree = Tree::new(LARGE);
    let data = tree.data().display().to_string();
    let (report, lines) = (tree.beside("report.json"), tree.beside("report.ndjson"));
    run(&["scan", &data, "--show-values", "-o", &report, "-o", &lines, "--max-groups", "0"]);
    for saved in [&report, &lines] {
        for form in ["table", "json", "ndjson", "md", "html", "csv"] {
            let output = run(&["render", saved, "--format", form]);
            assert_harmless(&format!("render as {form}"), form, &String::from_utf8(output.stdout).unwrap());
        }
    }
    let value: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    let findings = value["findings"].as_array().unwrap();
    assert!(findings.len() > 5, "there is something to show");
    for finding in findings {
        let id = finding["id"].as_str().unwrap();
        for form in ["table", "json"] {
            let output = run(&["show", id, &report, "--format", form]);
            assert_harmless(
                &format!("show {id} as {form}"),
                form,
                &String::from_utf8(output.stdout).unwrap(),
            );
        }
    }
    for form in ["table", "json"] {
        let other = tree.beside(&format!("other-{form}.json"));
        run(&["scan", &tree.data().join("orders-0").display().to_string(), "-o", &other]);
        let output = run(&["diff", &report, &other, "--format", form]);
        assert_harmless(&format!("diff as {form}"), form, &String::from_utf8(output.stdout).unwrap());
    }
    // A terminal of one column, and one of many.
    let report = saved::read(&fs::read_to_string(&report).unwrap()).unwrap();
    for columns in [1, 2, 7, 40, 300] {
        let mut text = Vec::new();
        table::write(&report, Width::new(columns), &mut text).unwrap();
        assert_calm(&format!("{columns} columns"), &String::from_utf8(text).unwrap());
    }
}

#[test]
fn no_dump_lets_harm_through() {
    let tree = Tree::new(LARGE);
    for name in ["orders-0", "__consumer_offsets-0", "__transaction_state-0"] {
        let directory = tree.data().join(name);
        let log = directory.join("00000000000000000000.log").display().to_string();
        let snapshot = tree.data().join("orders-0/00000000000000000009.snapshot").display().to_string();
        let topic = tree.data().join("orders-0/partition.metadata").display().to_string();
        let meta = tree.data().join("meta.properties").display().to_string();
        let output = run(&["dump", &log, &snapshot, &topic, &meta, "--format", "ndjson"]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_harmless(&format!("dump {name}"), "ndjson", &said);
        // Into a pipe the text is Kafka's, to the letter; a terminal gets it spelled out.
        let options = DumpOptions { audience: Audience::Terminal, ..DumpOptions::default() };
        for file in [&log, &snapshot, &topic, &meta] {
            let (mut said, mut talk) = (Vec::new(), Vec::new());
            dump_file(Path::new(file), &mut Archives::default(), &options, &mut said, &mut talk).unwrap();
            for text in [said, talk] {
                assert_calm(&format!("dump {file}"), &String::from_utf8(text).unwrap());
            }
        }
    }
}

#[test]
fn nothing_that_is_to_be_hidden_is_left_in_any_form() {
    let tree = Tree::new(1000);
    let keys: Vec<&str> = KEYS.iter().map(|(word, _)| *word).collect();
    let names = [
        "nameescape",
        "namebidi",
        "namecalc",
        "namescript",
        "namelink",
        "name\\nline",
        "sent.ndjson",
        "twin",
    ];
    for (call, forms) in calls(&tree) {
        let call: Vec<&str> = call.iter().map(String::as_str).collect();
        for form in forms {
            for mode in ["keys", "all"] {
                let output = run(&[&call[..], &["--format", form, "--redact", mode]].concat());
                let what = format!("{:?} as {form}, {mode} hidden", &call[..2]);
                assert_ne!(
                    output.status.code(),
                    Some(2),
                    "{what}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                let said = String::from_utf8(output.stdout).unwrap();
                assert_harmless(&what, form, &said);
                if *form != "csv" {
                    assert!(said.to_lowercase().contains("redact"), "{what}: it does not say so");
                }
                let left = keys.iter().find(|word| said.contains(**word));
                assert_eq!(left, None, "{what}");
                if mode == "all" {
                    let left = names.iter().find(|word| said.contains(**word));
                    assert_eq!(left, None, "{what}: {said}");
                }
            }
        }
    }
}

#[test]
fn no_error_lets_harm_through() {
    let tree = Tree::new(1000);
    let data = tree.data().display().to_string();
    let report = tree.beside("report.json");
    run(&["scan", &data, "-o", &report]);
    let harm = "\u{1b}[2J\u{202e}gone";
    let missing = tree.beside(harm);
    let config = tree.beside("config.toml");
    fs::write(&config, "[scan]\n\"\u{1b}[2J\" = 1\n").unwrap();
    let calls: [&[&str]; 14] = [
        &["scan", &missing],
        &["dump", &missing],
        &["render", &missing],
        &["show", harm, &report],
        &["diff", &report, &missing],
        &["trace", harm, &missing],
        &["scan", &data, "--topic", harm],
        &["scan", &data, "--topic", "[\u{1b}"],
        &["scan", &data, "--plan", &missing],
        &["scan", &data, "--redact", "keys", "--redact-key-file", &missing],
        &["reconcile", &data, "--expect", &missing],
        &["scan", &data, "-o", &tree.data().join(harm).display().to_string()],
        &["--config", &config, "scan", &data],
        &["explain", "\u{1b}[2Joffset-gap"],
    ];
    for call in calls {
        let output = run(call);
        assert_eq!(output.status.code(), Some(2), "{call:?}");
        assert!(!output.stderr.is_empty(), "{call:?}");
    }
}

/// Sentences name what no field of the answer does: partitions that were not given, files that nobody knows.
#[test]
fn redacted_sentences_name_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let log = SegmentBuilder::new().batch(batch().producer(7, 0, 0).record("k", "v")).bytes();
    for name in ["secretorders-3", "secretother-0"] {
        std::fs::create_dir_all(data.join(name)).unwrap();
        std::fs::write(data.join(name).join("00000000000000000000.log"), &log).unwrap();
    }
    std::fs::write(data.join("secretfile.txt"), "x").unwrap();
    std::fs::write(data.join("meta.properties"), "version=0\nbroker.id=1\n").unwrap();
    std::fs::write(data.join("recovery-point-offset-checkpoint"), "0\n1\nsecretbad x y\n").unwrap();
    let list = folder.path().join("list.txt");
    std::fs::write(&list, "k\n").unwrap();
    let (data, list) = (data.to_str().unwrap(), list.to_str().unwrap());
    let calls: &[&[&str]] = &[
        &["scan", data],
        &["keys", data],
        &["producers", data],
        &["trace", "k", data],
        &["reconcile", data, "--expect", list, "--key", "record-key"],
    ];
    for call in calls {
        for form in ["table", "json"] {
            let output = run(&[call, &["--redact", "all", "--format", form][..]].concat());
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(!said.contains("secret"), "{call:?} as {form}: {said}");
        }
    }
}
