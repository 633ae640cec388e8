//! Walks over every batch of some logs, damage or not, without judging anything.
//!
//! ```console
//! $ cargo run --release --example walk_batches -- testdata/brokers/4.3.1/bit-rot-payload/data
//! ```

use dedup_audit::format::{Decompressor, SegmentItem, SegmentScanner};
use dedup_audit::input::{self, DiscoverOptions, ReadMode};
use std::io::{self, Write};
use std::path::PathBuf;

/// Tells of each batch of `paths`, in the order of the logs.
///
/// # Errors
/// What keeps the files from being found or read, and what the writer says.
pub fn run(paths: &[PathBuf], out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let inventory = input::discover(paths, &DiscoverOptions::default())?;
    let mut decompressor = Decompressor::default();
    for directory in &inventory.partitions {
        let Some(log_dir) = inventory.log_dir(directory) else { continue };
        for segment in &directory.segments {
            writeln!(out, "{}", directory.display_of(&segment.file_name))?;
            let source = input::open_segment(&segment.place, ReadMode::default(), segment.len)?;
            let tail = directory.tail_expectation(segment, log_dir);
            let mut scanner = SegmentScanner::new(source, segment.base, tail);
            // Every byte of the file is in exactly one item.
            while let Some(item) = scanner.next_item()? {
                let batch = match item {
                    SegmentItem::Batch(batch) => batch,
                    SegmentItem::Suspect(suspect) => suspect.batch,
                    SegmentItem::Damage(damage) => {
                        writeln!(
                            out,
                            "  at {}: {} bytes: {}",
                            damage.position, damage.length, damage.detail
                        )?;
                        continue;
                    }
                };
                let mut keys = 0_u32;
                let read = batch.for_each_record(&mut decompressor, |record| {
                    keys += u32::from(record.key.is_some());
                });
                let header = &batch.header;
                writeln!(
                    out,
                    "  at {}: offsets {} to {}, producer {}, {keys} keys{}",
                    batch.position,
                    header.base_offset,
                    header.last_offset(),
                    header.producer_id,
                    read.err().map(|error| format!(", {error}")).unwrap_or_default(),
                )?;
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    run(&paths, &mut io::stdout().lock())
}
