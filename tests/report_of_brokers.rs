//! Reports about logs of real brokers: they follow the schema, their tables fit the terminal, and the
//! worst findings are shown.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

mod support;

use dedup_audit::report::Report;
use dedup_audit::report::escape;
use dedup_audit::report::layout::Width;
use dedup_audit::report::table;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::assert_follows_the_schema;

/// The sets, each with its log directories.
fn sets() -> Vec<(PathBuf, Vec<PathBuf>)> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers");
    let folders = |path: &Path| -> Vec<PathBuf> {
        let mut found: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.is_dir());
        found.sort();
        found
    };
    let mut sets = Vec::new();
    for set in folders(&home).iter().flat_map(|version| folders(version)) {
        let mut data = folders(&set);
        data.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("data")));
        if !data.is_empty() {
            sets.push((set, data));
        }
    }
    sets
}

fn scan(paths: &[PathBuf], more: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit")).arg("scan").args(paths).args(more).output().unwrap()
}

#[test]
fn reports_of_real_logs_follow_the_schema_and_fit_a_terminal() {
    let sets = sets();
    assert!(sets.len() >= 10, "only {} sets of brokers were found", sets.len());
    for (set, data) in sets {
        let output = scan(&data, &["--format", "json"]);
        let status = output.status.code();
        assert!(
            matches!(status, Some(0 | 1 | 3)),
            "{}: {}",
            set.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_follows_the_schema(&value);

        let report: Report = serde_json::from_slice(&output.stdout).unwrap();
        assert!((3..=6).contains(&report.verdict.sentences.len()), "{}: {:?}", set.display(), report.verdict);
        for columns in [60, 80, 200] {
            let mut text = Vec::new();
            table::write(&report, Width::new(columns), &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let wide: Vec<_> = text.lines().filter(|line| escape::width(line) > columns).collect();
            assert!(wide.is_empty(), "{}: {wide:#?}", set.display());
            assert!(!text.contains("  \n") && !text.contains("\n\n\n"), "{}:\n{text}", set.display());
            for finding in report.findings.iter().take(10) {
                assert!(
                    text.contains(finding.code.name()),
                    "{}: {} is not shown",
                    set.display(),
                    finding.code
                );
            }
        }
    }
}
