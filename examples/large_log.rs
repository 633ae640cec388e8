//! Writes a large log for measurements of memory and time, in a form that no broker would mind:
//!
//! ```text
//! cargo run --release --example large_log -- --out DIR --records 10000000
//! ```
//!
//! Every record has a key of its own unless `--keys` says how many there are; equal keys have equal
//! values. What it shows about speed is about our own code alone: broker-made topics come from
//! `benches/topics`.

use clap::Parser;
use dedup_audit::testkit::{SegmentBuilder, batch};
use std::path::PathBuf;

/// Bytes after which a segment ends.
const SEGMENT: usize = 128 << 20;

/// Write a large log.
#[derive(Debug, Parser)]
struct Arguments {
    /// The log directory; it must not be there yet
    #[arg(long)]
    out: PathBuf,
    /// Records of all partitions together
    #[arg(long)]
    records: u64,
    /// Distinct keys; by default as many as records
    #[arg(long)]
    keys: Option<u64>,
    /// Partitions
    #[arg(long, default_value_t = 4)]
    partitions: u64,
    /// Records in a batch
    #[arg(long, default_value_t = 100)]
    batch: u64,
    /// Producer ids that take turns; 0 writes without idempotence
    #[arg(long, default_value_t = 1)]
    producers: u64,
    /// Makes each batch a transaction of this protocol: under 1 the epoch stays, under 2 each has its own
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=2))]
    protocol: Option<u8>,
    /// Aborts the first of so many transactions
    #[arg(long, default_value_t = 2)]
    abort_each: usize,
    /// Bytes in a key, 16 or more
    #[arg(long, default_value_t = 16)]
    key_bytes: usize,
    /// Bytes in a value, 16 or more
    #[arg(long, default_value_t = 40)]
    value_bytes: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    std::fs::create_dir(&arguments.out)?;
    std::fs::write(arguments.out.join("meta.properties"), "version=1\nnode.id=1\ncluster.id=large-log\n")?;
    for partition in 0..arguments.partitions {
        write_partition(&arguments, partition)?;
    }
    Ok(())
}

fn write_partition(arguments: &Arguments, partition: u64) -> Result<(), Box<dyn std::error::Error>> {
    let folder = arguments.out.join(format!("events-{partition}"));
    std::fs::create_dir(&folder)?;
    let keys = arguments.keys.unwrap_or(arguments.records).max(1);
    let of_partition = arguments.records / arguments.partitions.max(1);
    let producers = usize::try_from(arguments.producers)?;
    let mut writers: Vec<Writer> = (0..).map(Writer::new).take(producers).collect();
    let (mut written, mut batches) = (0_u64, 0_usize);
    let mut time = dedup_audit::testkit::FIRST_TIME;
    let mut segment = SegmentBuilder::new();
    let mut base = 0_i64;
    while written < of_partition {
        let records = arguments.batch.max(1).min(of_partition - written);
        let mut spec = batch().time(time);
        let mut writer = batches.checked_rem(producers).map(|producer| &mut writers[producer]);
        if let Some(writer) = &mut writer {
            spec = spec.producer(writer.id, writer.epoch, writer.sequence);
            writer.sequence = writer.sequence.checked_add(i32::try_from(records)?).unwrap_or(0);
            spec = if arguments.protocol.is_some() { spec.transactional() } else { spec };
        }
        for record in written..written + records {
            let key = (record * arguments.partitions + partition) % keys;
            // Spread over all bits, and still one number for each key.
            let name = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let text = format!("{name:016x}");
            let key = padded(&text, arguments.key_bytes);
            spec = spec.record(key, padded(&text, arguments.value_bytes));
        }
        segment = segment.batch(spec);
        if let (Some(protocol), Some(writer)) = (arguments.protocol, writer) {
            let epoch = if protocol == 2 { writer.epoch + 1 } else { writer.epoch };
            let aborts = batches.checked_rem(arguments.abort_each) == Some(0);
            segment = if aborts { segment.abort(writer.id, epoch) } else { segment.commit(writer.id, epoch) };
            if protocol == 2 {
                writer.ended(i64::try_from(producers)?);
            }
        }
        (written, batches, time) = (written + records, batches + 1, time + 100);
        if segment.places().last().is_some_and(|place| place.position >= SEGMENT) || written == of_partition {
            let next = segment.places().last().map_or(base, |place| place.last_offset + 1);
            std::fs::write(folder.join(format!("{base:020}.log")), segment.bytes())?;
            base = next;
            segment = SegmentBuilder::at(base);
        }
    }
    Ok(())
}

/// A producer, and what it writes next.
struct Writer {
    id: i64,
    epoch: i16,
    sequence: i32,
}

impl Writer {
    const fn new(number: i64) -> Self {
        Self { id: 1000 + number, epoch: 0, sequence: 0 }
    }

    /// Under protocol 2 the next transaction has the next epoch, and the last one is another id's.
    fn ended(&mut self, producers: i64) {
        (self.epoch, self.sequence) = (self.epoch + 1, 0);
        if self.epoch == i16::MAX - 1 {
            (self.id, self.epoch) = (self.id + producers, 0);
        }
    }
}

/// The text with as many zeros before it as it takes.
fn padded(text: &str, width: usize) -> String {
    "0".repeat(width.saturating_sub(text.len())) + text
}
