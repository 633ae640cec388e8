//! Whatever one byte or one cut does to a segment that a broker wrote, the scan tiles the file and
//! loses no batch but the one that was hit.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use dedup_audit::format::{Batch, DamageKind, Decompressor, SegmentItem, SegmentScanner, TailExpectation};
use dedup_audit::testkit::flips::{Original, Reach};
use dedup_audit::units::Offset;
use std::fs;
use std::path::{Path, PathBuf};

const SEGMENTS: [&str; 3] = ["zstd", "lz4", "gzip-v1"];

fn segment(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/segments");
    fs::read(directory.join(name).join("00000000000000000000.log")).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Batch,
    Suspect(DamageKind),
    Damage(DamageKind),
}

/// What the scan finds, with first byte and length; records are read as well.
fn scan(bytes: &[u8], decompressor: &mut Decompressor) -> Vec<(What, u64, u64)> {
    let mut scanner = SegmentScanner::new(bytes, Offset(0), TailExpectation::MayBeTorn);
    let mut items = Vec::new();
    let mut position = 0;
    while let Some(item) = scanner.next_item().unwrap() {
        let (what, start, length) = match item {
            SegmentItem::Batch(batch) => {
                read(&batch, decompressor);
                (What::Batch, batch.position, batch.bytes.len() as u64)
            }
            SegmentItem::Suspect(suspect) => {
                read(&suspect.batch, decompressor);
                (What::Suspect(suspect.damage.kind), suspect.damage.position, suspect.damage.length)
            }
            SegmentItem::Damage(damage) => (What::Damage(damage.kind), damage.position, damage.length),
        };
        assert_eq!(start.0, position, "a hole or an overlap before {what:?}");
        assert!(length > 0, "no progress at {what:?}");
        position += length;
        items.push((what, start.0, length));
    }
    assert_eq!(position, bytes.len() as u64, "the end is missing");
    items
}

/// What a checksum proves can be read. Only the records of a wrapper count from its offset, which no
/// checksum covers.
fn read(batch: &Batch<'_>, decompressor: &mut Decompressor) {
    let read = batch.for_each_record(decompressor, |_| ());
    assert!(read.is_ok() || batch.header.is_legacy(), "{read:?}");
}

#[test]
fn the_files_are_clean() {
    for name in SEGMENTS {
        let items = scan(&segment(name), &mut Decompressor::default());
        assert!(items.len() >= 5, "{name}: {items:?}");
        assert!(items.iter().all(|(what, ..)| *what == What::Batch), "{name}: {items:?}");
    }
}

#[test]
fn a_changed_byte_costs_no_batch_but_its_own() {
    let mut decompressor = Decompressor::default();
    for name in SEGMENTS {
        let bytes = segment(name);
        let clean = scan(&bytes, &mut decompressor);
        for at in 0..bytes.len() {
            for mask in [1 << (at % 8), 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= mask;
                let items = scan(&changed, &mut decompressor);
                let (_, start, _) = *clean.iter().rfind(|(_, start, _)| *start <= at as u64).unwrap();
                let field = at as u64 - start;
                let is_wrapper_offset = name == "gzip-v1" && field < 8;
                for item in &clean {
                    let survives = items.contains(item) || is_wrapper_offset;
                    assert!(
                        survives || item.1 == start,
                        "{name} {at} {mask:#x}: {item:?} is lost: {items:?}"
                    );
                }
                assert_eq!(items.len(), clean.len(), "{name} {at} {mask:#x}: {items:?}");
            }
        }
    }
}

#[test]
fn a_cut_costs_no_batch_before_it() {
    let mut decompressor = Decompressor::default();
    for name in SEGMENTS {
        let bytes = segment(name);
        let clean = scan(&bytes, &mut decompressor);
        for cut in 0..bytes.len() {
            let items = scan(&bytes[..cut], &mut decompressor);
            let whole: Vec<_> =
                clean.iter().filter(|(_, start, length)| start + length <= cut as u64).copied().collect();
            assert_eq!(items[..whole.len()], whole, "{name} cut at {cut}");
            for (what, ..) in &items[whole.len()..] {
                assert_eq!(*what, What::Damage(DamageKind::TruncatedTail), "{name} cut at {cut}");
            }
        }
    }
}

#[test]
fn a_missing_piece_costs_no_batch_outside() {
    let mut decompressor = Decompressor::default();
    for name in SEGMENTS {
        let bytes = segment(name);
        let clean = scan(&bytes, &mut decompressor);
        for at in (0..bytes.len()).step_by(5) {
            for length in [1, 7, 100, 300] {
                let end = (at + length).min(bytes.len());
                let mut changed = bytes.clone();
                changed.drain(at..end);
                let items = scan(&changed, &mut decompressor);
                let gone = (end - at) as u64;
                // Where equal bytes stand at both ends, the piece could as well have gone beside it.
                let before = bytes.iter().zip(&changed).take_while(|(a, b)| a == b).count() as u64;
                let behind = bytes.iter().rev().zip(changed.iter().rev()).take_while(|(a, b)| a == b).count();
                let first = (at as u64).min((changed.len() - behind) as u64);
                let last = (end as u64).max(before + gone);
                for (_, start, length) in &clean {
                    let expected = if start + length <= first {
                        *start
                    } else if *start >= last {
                        start - gone
                    } else {
                        continue;
                    };
                    assert!(
                        items.contains(&(What::Batch, expected, *length)),
                        "{name}: {gone} bytes at {at}: batch at {start} is lost: {items:?}"
                    );
                }
            }
        }
    }
}

fn logs(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            logs(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "log" || extension == "checkpoint") {
            found.push(path);
        }
    }
}

/// A sample of what `examples/every_flip.rs` does with every byte of a directory.
#[test]
fn a_change_or_a_cut_of_any_log_of_a_broker_costs_no_batch_that_was_not_hit() {
    // Primes, so that all fields, bits and both kinds of tails have their turn.
    const EVERY: usize = 101;
    const EVERY_WHOLE: usize = 211;
    let mut files = Vec::new();
    logs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata"), &mut files);
    files.sort();
    assert!(files.len() > 400, "{} logs", files.len());
    let mut number = 0_usize;
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let base = file.file_stem().unwrap().to_str().unwrap().parse().ok().map(Offset);
        let originals = [TailExpectation::MayBeTorn, TailExpectation::MustBeWhole]
            .map(|tail| Original::read(&bytes, base, tail));
        let mut changed = bytes.clone();
        for at in (number % EVERY..bytes.len()).step_by(EVERY) {
            number += 1;
            let original = &originals[number % 2];
            let mask = if number.is_multiple_of(9) { 0xff } else { 1 << (number % 9 - 1) };
            changed[at] ^= mask;
            let hit = at as u64..at as u64 + 1;
            let lost = original.lost(&changed, &hit, Reach::Near);
            assert!(lost.is_empty(), "{}: {mask:#x} at {at} costs {lost:?}", file.display());
            if number.is_multiple_of(EVERY_WHOLE) {
                assert!(original.near_is_enough(&changed, &hit), "{}: {mask:#x} at {at}", file.display());
            }
            changed[at] = bytes[at];
            let (cut, hit) = original.cut(at);
            let lost = original.lost(cut, &hit, Reach::Near);
            assert!(lost.is_empty(), "{}: a cut at {at} costs {lost:?}", file.display());
        }
    }
    assert!(number > 10_000, "{number} changes");
}
