//! The report depends on the bytes and the options alone: not on threads, not on the order of
//! directories, not on the run.

use std::path::{Path, PathBuf};
use std::process::Command;

fn brokers() -> PathBuf {
    Path::new("testdata").join("brokers").join("4.3.1")
}

fn report(paths: &[PathBuf], more: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .arg("scan")
        .args(paths)
        .args(["--format", "json", "--max-groups", "0"])
        .args(more)
        .output()
        .expect("the tool starts");
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for scenario in ["mixed-incident", "compacted", "bit-rot-payload", "crash-truncated-tail"] {
        let paths = [brokers().join(scenario).join("data")];
        let first = report(&paths, &["--threads", "1"]);
        for threads in ["2", "16"] {
            assert!(report(&paths, &["--threads", threads]) == first, "{scenario} with {threads} threads");
        }
        assert!(report(&paths, &["--threads", "1"]) == first, "{scenario} in another run");
    }
}

#[test]
fn the_order_of_directories_changes_nothing() {
    for (scenario, directories) in [
        ("multi-logdir", ["data-1", "data-2"].as_slice()),
        ("three-brokers-rejoined", &["data-1", "data-2", "data-3"]),
    ] {
        let mut paths: Vec<PathBuf> =
            directories.iter().map(|directory| brokers().join(scenario).join(directory)).collect();
        let first = report(&paths, &[]);
        paths.reverse();
        assert!(report(&paths, &[]) == first, "{scenario} in reverse order");
        paths.push(paths[0].clone());
        assert!(report(&paths[1..], &[]) == first, "{scenario} in yet another order");
    }
}

#[test]
fn mapping_the_files_changes_nothing() {
    for scenario in ["mixed-incident", "bit-rot-length"] {
        let paths = [brokers().join(scenario).join("data")];
        assert!(report(&paths, &["--offline"]) == report(&paths, &[]), "{scenario}");
    }
}
