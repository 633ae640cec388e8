//! The report does not depend on how much memory there is: logs of real brokers and generated ones,
//! with next to no memory and with plenty.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use dedup_audit::audit::{self, AuditOptions, Memory};
use dedup_audit::finding::Finding;
use dedup_audit::judgement::duplicates::Examples;
use dedup_audit::plan::KeyChoice;
use dedup_audit::report::list::{Findings, Surplus};
use dedup_audit::spill::Share;
use dedup_audit::testkit::{SegmentBuilder, batch};
use proptest::prelude::*;
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

fn options(paths: &[PathBuf], key: &str, memory: Memory) -> AuditOptions {
    AuditOptions {
        key: if key == "auto" { KeyChoice::Auto } else { KeyChoice::User(key.parse().unwrap()) },
        threads: 2,
        memory,
        examples: Examples::All,
        ..AuditOptions::over(paths.to_vec())
    }
}

/// The report and all surplus copies, as text; the list of these says the same as the report.
fn audited(paths: &[PathBuf], key: &str, limit: u64) -> (String, String) {
    let memory = Memory { limit, temp_dir: std::env::temp_dir(), ..Memory::default() };
    let mut audit = audit::run(&options(paths, key, memory)).unwrap();
    let report = std::mem::take(&mut audit.report);
    let audit = RefCell::new(audit);
    let listed = |each: &mut dyn FnMut(&Finding) -> io::Result<()>| {
        audit.borrow_mut().surplus(|part| {
            assert!(part.groups.len() <= 1_000 && part.groups.iter().all(|group| group.copies.len() == 2));
            each(&part)
        })
    };
    let told = |each: &mut dyn FnMut(&Finding) -> io::Result<()>| {
        report.findings.iter().filter(|finding| finding.level.is_some()).try_for_each(each)
    };
    let rows = |findings: &Findings<'_>, limit: usize| {
        let mut rows = Vec::new();
        let share = Share { limit, ..Share::default() };
        let surplus = Surplus::new(findings, &report.topics, share);
        surplus
            .rows(|row| {
                rows.push(format!("{row:?}"));
                Ok(())
            })
            .unwrap();
        rows
    };
    assert_eq!(rows(&listed, 1_000), rows(&told, usize::MAX));
    let audit = audit.into_inner();
    (serde_json::to_string_pretty(&report).unwrap(), format!("{:#?}", audit.relations))
}

const PLENTY: u64 = 1 << 30;

/// Log directories below `path`: those that hold partitions.
fn log_dirs(path: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    if path.join("meta.properties").exists() {
        found.push(path.to_path_buf());
    } else {
        for folder in folders {
            log_dirs(&folder, found);
        }
    }
}

/// Report and relations are equal; names the first lines that are not.
#[track_caller]
fn assert_alike(plenty: &(String, String), little: &(String, String), what: &str) {
    for (a, b) in [(&plenty.0, &little.0), (&plenty.1, &little.1)] {
        let unlike = a.lines().zip(b.lines()).position(|(a, b)| a != b);
        let around = |text: &str| -> Vec<String> {
            let first = unlike.unwrap_or(0).saturating_sub(8);
            text.lines().skip(first).take(12).map(str::to_owned).collect()
        };
        assert!(a == b, "{what}:\n{:#?}\n{:#?}", around(a), around(b));
    }
}

#[test]
fn real_logs_give_the_same_report_with_next_to_no_memory() {
    let mut dirs = Vec::new();
    log_dirs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers"), &mut dirs);
    assert!(dirs.len() >= 10, "only {} log directories were found", dirs.len());
    let mut pairs = 0;
    for dir in dirs {
        let paths = [dir];
        for key in ["auto", "record-key"] {
            let plenty = audited(&paths, key, PLENTY);
            pairs += plenty.1.matches("RelatedPair").count();
            assert_alike(&plenty, &audited(&paths, key, 2048), &format!("{} with {key}", paths[0].display()));
        }
    }
    assert!(pairs > 10, "there were duplicates to find, {pairs} pairs");
}

/// A topic from keys and values: small numbers, so that most of them repeat.
fn write_topic(home: &Path, name: &str, records: &[(u8, u8)]) {
    let folder = home.join(name);
    std::fs::create_dir(&folder).unwrap();
    let mut segment = SegmentBuilder::new();
    for records in records.chunks(3) {
        let mut spec = batch();
        for (key, value) in records {
            spec = spec.record(format!("key-{key}"), format!("value-{value}"));
        }
        segment = segment.batch(spec);
    }
    std::fs::write(folder.join("00000000000000000000.log"), segment.bytes()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn generated_logs_give_the_same_report_with_any_memory(
        orders in proptest::collection::vec((0_u8..60, 0_u8..3), 0..600),
        // One key many times.
        payments in proptest::collection::vec((0_u8..2, 0_u8..2), 0..300),
        limit in 0_u64..100_000,
    ) {
        let home = tempfile::tempdir().unwrap();
        write_topic(home.path(), "orders-0", &orders);
        write_topic(home.path(), "orders-1", &orders.iter().rev().copied().collect::<Vec<_>>());
        write_topic(home.path(), "payments-0", &payments);
        let paths = [home.path().to_path_buf()];
        for key in ["record-key", "record-key+value"] {
            prop_assert_eq!(audited(&paths, key, PLENTY), audited(&paths, key, limit));
        }
    }
}

#[test]
fn a_temporary_directory_that_is_not_there_ends_the_run_with_its_name() {
    let home = tempfile::tempdir().unwrap();
    write_topic(home.path(), "orders-0", &(0..250).map(|n| (n, 0)).collect::<Vec<_>>());
    let memory = Memory { limit: 0, temp_dir: home.path().join("gone"), ..Memory::default() };
    let mut options = options(&[home.path().to_path_buf()], "auto", memory);
    let error = audit::run(&options).unwrap_err().to_string();
    assert!(error.contains("gone"), "{error}");
    options.memory.limit = PLENTY;
    assert!(audit::run(&options).is_ok(), "no temporary file is needed with memory enough");
}
