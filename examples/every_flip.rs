//! Changes every byte of every log below some directories, one at a time, and cuts it everywhere:
//! nothing may panic, no byte may be left out, and no batch may be lost that was not hit.
//!
//! ```console
//! $ cargo run --release --example every_flip -- DIR…
//! ```
//!
//! Of each byte every single bit is flipped, and all of them. The time grows with the square of the
//! largest file, so this is for small logs. Files beside the logs are changed likewise; there it is
//! only asked that reading them ends.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use dedup_audit::format::{SegmentItem, SegmentScanner, TailExpectation};
use dedup_audit::testkit::promises;
use dedup_audit::units::Offset;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const MASKS: [u8; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 255];

/// A batch that can be read: first byte and length.
type Place = (u64, u64);

#[derive(Default)]
struct Tally {
    files: u64,
    bytes: u64,
    side_files: u64,
    changes: u64,
    cuts: u64,
    lost: u64,
    slowest: Duration,
}

fn main() -> ExitCode {
    let mut files = Vec::new();
    for directory in std::env::args_os().skip(1) {
        find(Path::new(&directory), &mut files);
    }
    files.sort();
    let mut tally = Tally::default();
    let start = Instant::now();
    for file in &files {
        let Ok(bytes) = std::fs::read(file) else { continue };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("log" | "checkpoint") => log(file, &bytes, &mut tally),
            Some("index" | "timeindex" | "txnindex" | "snapshot") => side_file(&bytes, &mut tally),
            _ => {}
        }
    }
    println!(
        "{} logs of {} bytes, {} files beside them: {} changed bytes, {} cuts, {} batches lost; slowest scan {} ms, \
         {} s in all",
        tally.files,
        tally.bytes,
        tally.side_files,
        tally.changes,
        tally.cuts,
        tally.lost,
        tally.slowest.as_millis(),
        start.elapsed().as_secs()
    );
    ExitCode::from(u8::from(tally.lost > 0 || tally.files == 0))
}

fn find(path: &Path, files: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries.flatten().for_each(|entry| find(&entry.path(), files));
    } else {
        files.push(path.to_owned());
    }
}

fn log(file: &Path, bytes: &[u8], tally: &mut Tally) {
    let base = file.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
    let base = base.map(Offset);
    let clean = batches(bytes, base);
    (tally.files, tally.bytes) = (tally.files + 1, tally.bytes + bytes.len() as u64);
    let mut check = |changed: &[u8], what: &str, at: usize, is_hit: &dyn Fn(Place) -> bool| {
        let start = Instant::now();
        let found = batches(changed, base);
        tally.slowest = tally.slowest.max(start.elapsed());
        for &place in clean.iter().filter(|&&place| !is_hit(place)) {
            if found.binary_search(&place).is_err() {
                eprintln!(
                    "{}: {what} at {at}: the batch of {} bytes at {} is lost",
                    file.display(),
                    place.1,
                    place.0
                );
                tally.lost += 1;
            }
        }
    };
    let mut changed = bytes.to_vec();
    for at in 0..bytes.len() {
        for mask in MASKS {
            changed[at] = bytes[at] ^ mask;
            let position = at as u64;
            check(&changed, "a change", at, &|(start, length)| {
                start <= position && position < start + length
            });
        }
        changed[at] = bytes[at];
        check(&bytes[..at], "a cut", at, &|(start, length)| start + length > at as u64);
    }
    tally.changes += (bytes.len() * MASKS.len()) as u64;
    tally.cuts += bytes.len() as u64;
}

/// The batches that can be read, in their order; items must follow each other without a hole.
fn batches(bytes: &[u8], base: Option<Offset>) -> Vec<Place> {
    let mut scanner = match base {
        Some(base) => SegmentScanner::new(bytes, base, TailExpectation::MayBeTorn),
        None => SegmentScanner::unnamed(bytes, TailExpectation::MayBeTorn),
    };
    let (mut found, mut end) = (Vec::new(), 0);
    while let Ok(Some(item)) = scanner.next_item() {
        let (start, length) = match &item {
            SegmentItem::Batch(batch) => (batch.position.0, batch.bytes.len() as u64),
            SegmentItem::Suspect(suspect) => (suspect.damage.position.0, suspect.damage.length),
            SegmentItem::Damage(damage) => (damage.position.0, damage.length),
        };
        assert!(start == end && length > 0, "a hole or no progress at {start}");
        end += length;
        if !matches!(item, SegmentItem::Damage(_)) {
            found.push((start, length));
        }
    }
    assert_eq!(end, bytes.len() as u64, "the end is missing");
    found
}

fn side_file(bytes: &[u8], tally: &mut Tally) {
    tally.side_files += 1;
    let mut changed = bytes.to_vec();
    for at in 0..bytes.len() {
        for mask in MASKS {
            changed[at] = bytes[at] ^ mask;
            promises::a_side_file_is_read(&changed);
        }
        changed[at] = bytes[at];
        promises::a_side_file_is_read(&bytes[..at]);
    }
    tally.changes += (bytes.len() * MASKS.len()) as u64;
    tally.cuts += bytes.len() as u64;
}
