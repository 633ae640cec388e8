//! Labelled incidents that a seed makes: every surplus copy that the files prove is found, nothing
//! else is accused, and nothing wrong is called certain. The confusion matrix stands in
//! `docs/confusion.md`.
//!
//! `SYNTH_LOGS=10000 cargo test --release --test synth` looks at more of them;
//! `UPDATE_CONFUSION=1 cargo test --test synth` writes the matrix anew; read the change.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its logs up has failed")]

use dedup_audit::audit::{self, AuditOptions};
use dedup_audit::finding::{Code, Confidence, Finding};
use dedup_audit::judgement::duplicates::Examples;
use dedup_audit::keys::KeySpec;
use dedup_audit::plan::KeyChoice;
use dedup_audit::testkit::synth::{Incident, Keys, Label, Log, Made};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Logs that every run looks at, and of which the matrix is.
const LOGS: u64 = 300;

fn audit(root: &Path, key: KeyChoice) -> (Vec<Finding>, Vec<Finding>) {
    let options = AuditOptions {
        key,
        threads: 1,
        examples: Examples::All,
        ..AuditOptions::over(vec![root.to_owned()])
    };
    let findings = audit::run(&options).unwrap().report.findings;
    let duplicates = findings.iter().filter(|finding| finding.level.is_some()).cloned().collect();
    (duplicates, findings)
}

/// What may stand for a label when retention or the cleaner took the proof away.
fn may_be(label: Label, code: Code) -> bool {
    label.code == code.name()
        || (!label.whole
            && matches!(
                code,
                Code::DuplicateUndetermined | Code::ResendNewSession | Code::ConcurrentProducers
            ))
}

/// Findings about single facts that none of these stories holds.
const NEVER: &[Code] = &[
    Code::SequenceGap,
    Code::OffsetGap,
    Code::OffsetReuse,
    Code::SnapshotMismatch,
    Code::TransactionOpen,
    Code::TransactionAnomaly,
    Code::LeaderEpochAnomaly,
    Code::ReplicaDivergence,
];

/// Findings that one of these stories holds, and no other.
const ONLY: &[(Code, Incident)] = &[
    (Code::ProducerIdCollision, Incident::Collision),
    (Code::RestoredCopy, Incident::Restored),
    (Code::MisplacedBatch, Incident::Misplaced),
];

/// Whether equal records that were meant may be accused: where retention or the cleaner took the runs
/// that show a habit, what is left looks like a mistake.
fn may_look_like_a_mistake(made: &Made, directory: &str, finding: &Finding) -> bool {
    let meant = [Incident::Publication, Incident::Counters, Incident::Heartbeats];
    let log = made.logs.iter().find(|log| log.directory() == directory);
    log.is_some_and(|log| !log.is_whole())
        && finding.confidence != Confidence::Certain
        && meant.iter().any(|incident| made.incidents.contains(incident))
}

type Matrix = BTreeMap<(String, bool, String), u64>;

fn count(matrix: &mut Matrix, label: &str, whole: bool, code: &str) {
    *matrix.entry((label.to_owned(), whole, code.to_owned())).or_default() += 1;
}

/// Holds one seed against its labels, and says what is wrong.
fn hold(seed: u64, matrix: &mut Matrix, wrong: &mut Vec<String>) {
    let made = Made::of(seed);
    let root = tempfile::tempdir().unwrap();
    made.write(root.path()).unwrap();
    let key = match made.keys {
        Keys::Records => KeySpec::record_key(),
        Keys::Null => "value".parse().unwrap(),
    };
    let (surplus, findings) = audit(root.path(), KeyChoice::User(key));
    hold_choice(seed, &made, &audit(root.path(), KeyChoice::Auto).0, wrong);
    let mut copies = made.copies();
    let mut say = |what: String| wrong.push(format!("seed {seed} {:?}: {what}", made.incidents));
    for finding in &surplus {
        for copy in finding.groups.iter().flat_map(|group| group.copies.iter().skip(1)) {
            let place = (copy.directory.clone(), copy.offset);
            let Some(label) = copies.remove(&place) else {
                if may_look_like_a_mistake(&made, &place.0, finding) {
                    continue;
                }
                say(format!("{place:?} is no copy, or named twice: {}", finding.code));
                count(matrix, "no copy", true, finding.code.name());
                continue;
            };
            count(matrix, label.code, label.whole, finding.code.name());
            if !may_be(label, finding.code) {
                say(format!("{place:?} is {} and was called {}", label.code, finding.code));
            }
            if finding.confidence == Confidence::Certain && label.code != finding.code.name() {
                say(format!("{place:?} is {} and was certainly called {}", label.code, finding.code));
            }
        }
    }
    for (place, label) in copies {
        say(format!("{place:?} is {} and was not found", label.code));
        count(matrix, label.code, label.whole, "not found");
    }
    for finding in &findings {
        if NEVER.contains(&finding.code) {
            say(format!("{}: {} {:?}", finding.code, finding.title, finding.facts));
        }
        let known = ONLY.iter().find(|(code, _)| *code == finding.code);
        if known.is_some_and(|(_, story)| !made.incidents.contains(story)) {
            say(format!("{}: {}", finding.code, finding.title));
        }
    }
    let untouched = made.logs.iter().all(Log::is_whole);
    let told = |code| findings.iter().any(|finding| finding.code == code);
    if untouched && made.incidents.contains(&Incident::Collision) && !told(Code::ProducerIdCollision) {
        say("the collision was not found".to_owned());
    }
}

/// What the tool makes of the same logs when it chooses the key itself: it may know less, and then
/// says so, but it calls nothing by another name.
fn hold_choice(seed: u64, made: &Made, surplus: &[Finding], wrong: &mut Vec<String>) {
    let copies = made.copies();
    for finding in surplus {
        for copy in finding.groups.iter().flat_map(|group| group.copies.iter().skip(1)) {
            let place = (copy.directory.clone(), copy.offset);
            let right = match copies.get(&place) {
                Some(&label) => may_be(label, finding.code),
                None => {
                    finding.confidence == Confidence::Possible
                        || may_look_like_a_mistake(made, &place.0, finding)
                }
            };
            if !right {
                wrong.push(format!(
                    "seed {seed} {:?} by its own choice: {place:?} is {:?} and was called {}, {:?}",
                    made.incidents,
                    copies.get(&place),
                    finding.code,
                    finding.confidence
                ));
            }
        }
    }
}

#[test]
fn what_the_files_prove_is_found_and_nothing_else_is_accused() {
    let logs = std::env::var("SYNTH_LOGS").ok().map_or(LOGS, |logs| logs.parse().unwrap());
    let (mut matrix, mut wrong) = (Matrix::new(), Vec::new());
    let mut of_docs = None;
    for seed in 0..logs.max(LOGS) {
        hold(seed, &mut matrix, &mut wrong);
        if seed + 1 == LOGS {
            of_docs = Some(text(&matrix));
        }
    }
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for line in &wrong {
        let words = line.split(|c: char| c.is_ascii_digit()).collect::<Vec<_>>().join("");
        *kinds.entry(words).or_default() += 1;
    }
    assert!(
        wrong.is_empty(),
        "{kinds:#?}\n{} of {logs} logs:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/confusion.md");
    let of_docs = of_docs.unwrap();
    if std::env::var_os("UPDATE_CONFUSION").is_some() {
        std::fs::write(&path, &of_docs).unwrap();
    }
    let shown = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(shown == of_docs, "docs/confusion.md shows another matrix:\n{of_docs}");
}

/// The matrix as a page of the documentation.
fn text(matrix: &Matrix) -> String {
    let mut page = format!(
        "# What is called what\n\n\
         Surplus copies in {LOGS} generated logs, by what happened and by the code of the finding that explains\n\
         them. \"In part\" are logs of which retention or the cleaner took something away, so that less can be\n\
         proved. `tests/synth.rs` makes the logs, holds every copy against its label and keeps this page.\n\n\
         | happened | evidence | called | copies |\n| --- | --- | --- | ---: |\n"
    );
    for ((label, whole, code), count) in matrix {
        let evidence = if *whole { "whole" } else { "in part" };
        writeln!(page, "| {label} | {evidence} | {code} | {count} |").unwrap();
    }
    page
}

#[test]
fn a_seed_always_makes_the_same_logs_and_every_incident_comes_up() {
    let bytes = |seed| Made::of(seed).logs.iter().flat_map(|log| log.files().files).collect::<Vec<_>>();
    assert_eq!(bytes(7), bytes(7));
    let seen: std::collections::BTreeSet<Incident> =
        (0..LOGS).flat_map(|seed| Made::of(seed).incidents).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), Incident::ALL);
}
