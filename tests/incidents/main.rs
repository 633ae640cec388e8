//! Incidents that are built from their descriptions, and the answers that an expert would give.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its log up has failed")]

mod cases;
mod distinctions;
mod mixtures;
mod rivals;
mod sentences;

use dedup_audit::testkit::SegmentBuilder;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Files of partition directories, and the findings about them.
struct Case(TempDir);

impl Case {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn file(&self, directory: &str, name: &str, bytes: &[u8]) -> &Self {
        let directory = self.0.path().join(directory);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(name), bytes).unwrap();
        self
    }

    fn log(&self, directory: &str, segment: SegmentBuilder) -> &Self {
        self.file(directory, "00000000000000000000.log", &segment.bytes())
    }

    fn findings(&self, key: &str) -> Vec<Value> {
        self.report(key)["findings"].as_array().unwrap().clone()
    }

    fn report(&self, key: &str) -> Value {
        report(&[self.0.path().to_owned()], key)
    }
}

fn report(paths: &[PathBuf], key: &str) -> Value {
    let run = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--format", "json", "--key", key])
        .args(paths)
        .output()
        .unwrap();
    serde_json::from_slice(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&run.stderr)))
}

/// The findings about directories of a real broker, by their places below its scenarios.
fn of_broker<const N: usize>(places: [&str; N]) -> Vec<Value> {
    let brokers = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1");
    let paths = places.map(|place| brokers.join(place));
    report(&paths, "auto")["findings"].as_array().unwrap().clone()
}

/// Why a rival was kept, or excluded.
fn rival<'a>(finding: &'a Value, code: &str) -> (bool, &'a str) {
    let rivals = finding["alternatives"].as_array().unwrap();
    let Some(rival) = rivals.iter().find(|rival| rival["code"] == code) else {
        panic!("{code}: {finding:#}")
    };
    (rival["kept"] == true, rival["why"].as_str().unwrap())
}

/// The findings of a code and topic.
fn of<'a>(findings: &'a [Value], code: &str, topic: &str) -> Vec<&'a Value> {
    let is_it = |finding: &&Value| finding["code"] == code && finding["topics"][0] == topic;
    findings.iter().filter(is_it).collect()
}

fn says(finding: &Value, field: &str, words: &str) -> bool {
    finding[field].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains(words))
}

/// The rivals that were kept.
fn kept(finding: &Value) -> Vec<&str> {
    let rivals = finding["alternatives"].as_array().unwrap().iter();
    rivals.filter(|rival| rival["kept"] == true).map(|rival| rival["code"].as_str().unwrap()).collect()
}
