//! Changes every byte of every log below some directories, one at a time, and cuts it everywhere:
//! nothing may panic, no byte may be left out, and no batch may be lost that was not hit.
//!
//! ```console
//! $ cargo run --release --example every_flip -- DIR…
//! ```
//!
//! Of each byte every single bit is flipped, and all of them; the segment counts once as one that may
//! end in a torn batch and once as one that may not. Only what a change can have an effect on is read
//! again, and of a sample all, to see that it is enough. Files beside the logs are changed likewise;
//! there it is only asked that reading them ends.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use dedup_audit::format::TailExpectation;
use dedup_audit::testkit::flips::{Original, Reach};
use dedup_audit::testkit::promises;
use dedup_audit::units::Offset;
use rayon::prelude::*;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const MASKS: [u8; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 255];
const TAILS: [TailExpectation; 2] = [TailExpectation::MayBeTorn, TailExpectation::MustBeWhole];
/// Of so many changes one is read as a whole, too; a prime, so that it meets every field and bit.
const SAMPLE: u64 = 4999;

#[derive(Clone, Copy, Default)]
struct Tally {
    files: u64,
    bytes: u64,
    side_files: u64,
    side_bytes: u64,
    changes: u64,
    cuts: u64,
    compared: u64,
    wrong: u64,
    slowest: Duration,
}

impl Tally {
    fn and(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            bytes: self.bytes + other.bytes,
            side_files: self.side_files + other.side_files,
            side_bytes: self.side_bytes + other.side_bytes,
            changes: self.changes + other.changes,
            cuts: self.cuts + other.cuts,
            compared: self.compared + other.compared,
            wrong: self.wrong + other.wrong,
            slowest: self.slowest.max(other.slowest),
        }
    }
}

fn main() -> ExitCode {
    let mut files = Vec::new();
    for directory in std::env::args_os().skip(1) {
        find(Path::new(&directory), &mut files);
    }
    files.sort();
    let start = Instant::now();
    let tally = files.par_iter().map(|file| file_as_it_is(file)).reduce(Tally::default, Tally::and);
    println!(
        "{} logs of {} bytes, {} files of {} bytes beside them: {} changed bytes, {} cuts; {} of them read as a \
         whole, too; {} batches lost; slowest {} ms, {} s in all",
        tally.files,
        tally.bytes,
        tally.side_files,
        tally.side_bytes,
        tally.changes,
        tally.cuts,
        tally.compared,
        tally.wrong,
        tally.slowest.as_millis(),
        start.elapsed().as_secs()
    );
    ExitCode::from(u8::from(tally.wrong > 0 || tally.files == 0))
}

fn find(path: &Path, files: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries.flatten().for_each(|entry| find(&entry.path(), files));
    } else {
        files.push(path.to_owned());
    }
}

fn file_as_it_is(file: &Path) -> Tally {
    let Ok(bytes) = std::fs::read(file) else { return Tally::default() };
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("log" | "checkpoint") => log(file, &bytes),
        Some("index" | "timeindex" | "txnindex" | "snapshot") => side_file(&bytes),
        _ => Tally::default(),
    }
}

fn log(file: &Path, bytes: &[u8]) -> Tally {
    let base = file.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
    let originals = TAILS.map(|tail| Original::read(bytes, base.map(Offset), tail));
    let mut tally = Tally { files: 1, bytes: bytes.len() as u64, ..Tally::default() };
    let mut check = |changed: &[u8], hit: &Range<u64>, what: &str| {
        for original in &originals {
            let start = Instant::now();
            let lost = original.lost(changed, hit, Reach::Near);
            tally.slowest = tally.slowest.max(start.elapsed());
            for item in lost {
                let at = hit.start;
                eprintln!("{}: {what} at {at} costs {item:?}", file.display());
                tally.wrong += 1;
            }
            if (tally.changes + tally.cuts).is_multiple_of(SAMPLE) {
                tally.compared += 1;
                if !original.near_is_enough(changed, hit) {
                    eprintln!("{}: {what} at {} reaches further than was read", file.display(), hit.start);
                    tally.wrong += 1;
                }
            }
        }
        if changed.len() == bytes.len() { tally.changes += 1 } else { tally.cuts += 1 }
    };
    let mut changed = bytes.to_vec();
    for at in 0..bytes.len() {
        let position = at as u64;
        for mask in MASKS {
            changed[at] = bytes[at] ^ mask;
            check(&changed, &(position..position + 1), &format!("{mask:#04x}"));
        }
        changed[at] = bytes[at];
        let [original, _] = &originals;
        let (cut, hit) = original.cut(at);
        check(cut, &hit, "a cut");
    }
    tally
}

fn side_file(bytes: &[u8]) -> Tally {
    let mut changed = bytes.to_vec();
    for at in 0..bytes.len() {
        for mask in MASKS {
            changed[at] = bytes[at] ^ mask;
            promises::a_side_file_is_read(&changed);
        }
        changed[at] = bytes[at];
        promises::a_side_file_is_read(&bytes[..at]);
    }
    Tally {
        side_files: 1,
        side_bytes: bytes.len() as u64,
        changes: (bytes.len() * MASKS.len()) as u64,
        cuts: bytes.len() as u64,
        ..Tally::default()
    }
}
