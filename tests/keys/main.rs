//! What identifies an event: the adviser, plans, and the options that decide what is the same.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

mod adviser;
mod automatic;
mod likeness;
mod options;

use dedup_audit::testkit::{SegmentBuilder, batch};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const START: i64 = 1_764_425_000_000;

/// Writes a topic with these records: key and value.
fn write_topic(home: &Path, topic: &str, records: &[(Option<String>, Value)]) {
    let records: Vec<_> = records
        .iter()
        .map(|(key, value)| (key.clone().map(String::into_bytes), value.to_string().into_bytes()))
        .collect();
    write_bytes(home, topic, &records);
}

/// The same for records that are no JSON.
fn write_bytes(home: &Path, topic: &str, records: &[(Option<Vec<u8>>, Vec<u8>)]) {
    let folder = home.join(topic);
    std::fs::create_dir_all(&folder).unwrap();
    let mut segment = SegmentBuilder::new();
    for (at, chunk) in records.chunks(7).enumerate() {
        let sequence = i32::try_from(at * 7).unwrap();
        let mut spec = batch().producer(4000, 0, sequence).time(START + i64::from(sequence) * 100);
        for (key, value) in chunk {
            spec = spec.record(key.clone(), value.clone());
        }
        segment = segment.batch(spec);
    }
    std::fs::write(folder.join("00000000000000000000.log"), segment.bytes()).unwrap();
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup-audit")).args(arguments).output().unwrap()
}

fn json_of(arguments: &[&str]) -> Value {
    let output = run(arguments);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}
