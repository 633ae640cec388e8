//! The records in the broker sets are byte for byte those that a real consumer read.
//!
//! Every directory with a `records.ndjson` below `testdata/brokers` is a set; another root can be
//! named with `DEDUP_AUDIT_SETS`. The logs of such a set are clean: any damage note is a failure.
//! Large values stand there as their length and SHA-256.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use dedup_audit::format::{Batch, Decompressor, Record, SegmentItem, SegmentScanner, TailExpectation};
use dedup_audit::units::Offset;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

type Records = BTreeMap<(String, i64), Vec<Value>>;

/// From this length on the sets have a digest instead of the value.
const LONG: usize = 4096;

#[test]
fn records_are_what_a_consumer_read() {
    let root = std::env::var_os("DEDUP_AUDIT_SETS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers"), PathBuf::from);
    let mut sets = Vec::new();
    find(&root, &|path| path.ends_with("records.ndjson"), &mut sets);
    let own = root.starts_with(env!("CARGO_MANIFEST_DIR"));
    assert!(sets.len() >= if own { 12 } else { 1 }, "{} sets below {}", sets.len(), root.display());
    for set in sets {
        let directory = set.parent().unwrap();
        let expected = consumed(&fs::read_to_string(&set).unwrap());
        let mut logs = Vec::new();
        find(directory, &|path| path.extension().is_some_and(|extension| extension == "log"), &mut logs);
        logs.sort();
        let mut stored = Records::new();
        for log in logs {
            let partition = name(log.parent().unwrap());
            let (topic, partition) = partition.rsplit_once('-').unwrap();
            let key = (topic.to_owned(), partition.parse().unwrap());
            if expected.contains_key(&key) {
                stored.entry(key).or_default().extend(read(&log));
            }
        }
        for (partition, expected) in &expected {
            let stored = stored.get(partition).map_or(&[][..], Vec::as_slice);
            for (stored, expected) in stored.iter().zip(expected) {
                assert!(stored == expected, "{} {partition:?}: {stored} {expected}", directory.display());
            }
            assert_eq!(stored.len(), expected.len(), "{} {partition:?}", directory.display());
        }
        assert!(!expected.is_empty(), "{}", set.display());
    }
}

fn find(directory: &Path, wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, wanted, found);
        } else if wanted(&path) {
            found.push(path);
        }
    }
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

fn consumed(text: &str) -> Records {
    let mut records = Records::new();
    for line in text.lines() {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let fields = record.as_object_mut().unwrap();
        let topic = fields.remove("topic").unwrap().as_str().unwrap().to_owned();
        let partition = fields.remove("partition").unwrap().as_i64().unwrap();
        records.entry((topic, partition)).or_default().push(record);
    }
    records
}

fn read(log: &Path) -> Vec<Value> {
    let bytes = fs::read(log).unwrap();
    let base = Offset(name(log).parse().unwrap());
    let mut scanner = SegmentScanner::new(bytes.as_slice(), base, TailExpectation::MustBeWhole);
    let mut decompressor = Decompressor::default();
    let mut records = Vec::new();
    while let Some(item) = scanner.next_item().unwrap() {
        let SegmentItem::Batch(batch) = item else { panic!("{}: {item:?}", log.display()) };
        if batch.header.is_control() {
            continue;
        }
        batch
            .for_each_record(&mut decompressor, |record| records.push(as_consumed(&batch, record)))
            .unwrap_or_else(|error| panic!("{}: {error}", log.display()));
    }
    records
}

fn as_consumed(batch: &Batch<'_>, record: &Record<'_>) -> Value {
    let headers: Vec<Value> =
        record.headers.iter().map(|header| json!([base64(Some(header.key)), base64(header.value)])).collect();
    let mut json = json!({
        "offset": record.offset.0,
        "timestamp": record.timestamp,
        "timestampType": batch.header.timestamp_type().name(),
        "key": base64(record.key),
        "headers": headers,
    });
    match record.value {
        Some(value) if value.len() >= LONG => {
            json["valueBytes"] = value.len().into();
            let digest: Vec<String> =
                Sha256::digest(value).iter().map(|byte| format!("{byte:02x}")).collect();
            json["valueSha256"] = digest.concat().into();
        }
        value => json["value"] = base64(value),
    }
    json
}

fn base64(bytes: Option<&[u8]>) -> Value {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let Some(bytes) = bytes else { return Value::Null };
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for at in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * at) & 0x3f) as usize];
            text.push(if at > group.len() { '=' } else { letter.into() });
        }
    }
    text.into()
}
