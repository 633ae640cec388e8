//! The least that any audit of a log has to do, as a measure for the one that we do:
//!
//! ```text
//! cargo run --release --example floor -- [--threads N] [--crc-only] DIR…
//! ```
//!
//! Reads every segment below the directories once, checks the checksum of every batch and decompresses
//! every record area into a buffer that is used again, with the same libraries as the audit. No record
//! is looked at, nothing is kept. Files are shared out among the threads, the largest first. Ends with
//! an error where a log is not whole: a floor that skipped something would measure nothing.

use clap::Parser;
use dedup_audit::format::record_batch::{HEADER_LENGTH, LOG_OVERHEAD};
use dedup_audit::format::{Batch, BatchHeader, Decompressor};
use std::error::Error;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are read at once: what a processor's second cache holds.
const BUFFER: usize = 1 << 20;

/// Read, check and decompress, nothing else.
#[derive(Debug, Parser)]
struct Arguments {
    /// Directories with segments
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Threads; by default one on each processor
    #[arg(long)]
    threads: Option<usize>,
    /// Decompress nothing
    #[arg(long)]
    crc_only: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    files: u64,
    batches: u64,
    stored: u64,
    raw: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let mut files = Vec::new();
    for path in &arguments.paths {
        segments(path, &mut files)?;
    }
    files.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    let threads =
        arguments.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
    let next = AtomicUsize::new(0);
    let work = || -> Result<Sum, String> {
        let (mut sum, mut decompressor, mut buffer) = (Sum::default(), Decompressor::default(), Vec::new());
        while let Some((_, path)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            read(path, arguments.crc_only, &mut decompressor, &mut buffer, &mut sum)
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(sum)
    };
    let mut all = Sum::default();
    std::thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let sum = thread.join().map_err(|_| "a thread failed")??;
            all.files += sum.files;
            all.batches += sum.batches;
            all.stored += sum.stored;
            all.raw += sum.raw;
        }
        Ok(())
    })?;
    writeln!(
        std::io::stdout(),
        "{} files, {} batches, {} bytes, {} raw",
        all.files,
        all.batches,
        all.stored,
        all.raw
    )?;
    Ok(())
}

fn segments(path: &Path, into: &mut Vec<(u64, PathBuf)>) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let (path, kind) = {
            let entry = entry?;
            (entry.path(), entry.file_type()?)
        };
        if kind.is_dir() {
            segments(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "log") {
            into.push((fs::metadata(&path)?.len(), path));
        }
    }
    Ok(())
}

fn read(
    path: &Path,
    crc_only: bool,
    decompressor: &mut Decompressor,
    buffer: &mut Vec<u8>,
    sum: &mut Sum,
) -> Result<(), Box<dyn Error>> {
    let mut file = File::open(path)?;
    buffer.resize(buffer.len().max(BUFFER), 0);
    // The bytes of the buffer that were read and not looked at.
    let (mut from, mut to) = (0, 0);
    sum.files += 1;
    loop {
        let rest = &buffer[from..to];
        let size = match rest.first_chunk::<LOG_OVERHEAD>() {
            Some(&[.., a, b, c, d]) => LOG_OVERHEAD + usize::try_from(i32::from_be_bytes([a, b, c, d]))?,
            None => LOG_OVERHEAD,
        };
        if rest.len() < size || rest.len() < HEADER_LENGTH {
            buffer.copy_within(from..to, 0);
            (from, to) = (0, to - from);
            if buffer.len() < size {
                buffer.resize(size, 0);
            }
            match file.read(&mut buffer[to..])? {
                0 if to == 0 => return Ok(()),
                0 => return Err("ends within a batch".into()),
                read => to += read,
            }
            continue;
        }
        let bytes = &rest[..size];
        let (header, _) = BatchHeader::read(bytes)?;
        if Batch::compute_crc(bytes) != header.crc {
            return Err(format!("checksum of the batch with offset {}", header.base_offset.0).into());
        }
        let area = &bytes[HEADER_LENGTH..];
        sum.raw += if crc_only {
            area.len() as u64
        } else {
            decompressor.decompress(header.codec().ok_or("unknown codec")?, area)?.len() as u64
        };
        sum.batches += 1;
        sum.stored += size as u64;
        from += size;
    }
}
