//! An audit changes nothing in the directories that it reads, leaves nothing behind elsewhere, and
//! works where it may not write.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;
use tempfile::TempDir;

/// One directory that was stopped cleanly, one that was copied from a running broker, one with
/// damaged snapshots, one with leftovers of compaction.
const SCENARIOS: [&str; 4] = ["crash-restart-resend", "crash-live-copy", "snapshot-damage", "swap-leftovers"];

fn original(scenario: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario).join("data")
}

fn copy_of(scenario: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_tree(&original(scenario), copy.path());
    copy
}

fn copy_tree(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Every file and directory below `folder`, with its time and, for a file, its bytes.
fn state(folder: &Path) -> BTreeMap<PathBuf, (SystemTime, Option<Vec<u8>>)> {
    let mut state = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        state.insert(folder.clone(), (fs::metadata(&folder).unwrap().modified().unwrap(), None));
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let time = fs::metadata(&path).unwrap().modified().unwrap();
                state.insert(path.clone(), (time, Some(fs::read(&path).unwrap())));
            }
        }
    }
    state
}

fn scan(directory: &Path, elsewhere: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan".as_ref(), directory.as_os_str(), "--format".as_ref(), "json".as_ref()])
        .current_dir(elsewhere)
        .env("TMPDIR", elsewhere)
        .output()
        .unwrap()
}

#[track_caller]
fn assert_ran(output: &Output) {
    let ran = matches!(output.status.code(), Some(0 | 1 | 3)) && !output.stdout.is_empty();
    assert!(ran, "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_scan_changes_nothing_and_leaves_nothing_behind() {
    for scenario in SCENARIOS {
        let (copy, elsewhere) = (copy_of(scenario), tempfile::tempdir().unwrap());
        let before = state(copy.path());
        assert!(before.len() > 10, "{scenario} is empty");
        assert_ran(&scan(copy.path(), elsewhere.path()));
        assert!(state(copy.path()) == before, "{scenario} is no longer what it was");
        assert_eq!(state(elsewhere.path()).len(), 1, "{scenario}: something was left behind");
    }
}

#[cfg(unix)]
#[test]
fn a_scan_needs_no_right_to_write() {
    use std::os::unix::fs::PermissionsExt;

    fn set_rights(state: &BTreeMap<PathBuf, (SystemTime, Option<Vec<u8>>)>, directory: u32, file: u32) {
        for (path, (_, bytes)) in state {
            let rights = if bytes.is_some() { file } else { directory };
            fs::set_permissions(path, fs::Permissions::from_mode(rights)).unwrap();
        }
    }

    for scenario in SCENARIOS {
        let (copy, elsewhere) = (copy_of(scenario), tempfile::tempdir().unwrap());
        let writable = scan(copy.path(), elsewhere.path());
        let tree = state(copy.path());
        set_rights(&tree, 0o555, 0o444);
        let read_only = scan(copy.path(), elsewhere.path());
        set_rights(&tree, 0o755, 0o644);
        assert_ran(&read_only);
        assert_eq!(read_only.status, writable.status, "{scenario}");
        assert_eq!(read_only.stdout, writable.stdout, "{scenario}");
    }
}
