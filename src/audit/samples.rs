//! Takes the sample of each topic: records from the first bytes of segments that are spread evenly
//! over its partitions, always the same ones for the same files.

use super::batches::{BatchReader, LargeBatches};
use super::options::{AuditOptions, Records};
use super::topics::{Topic, Topics};
use crate::format::segment::TailExpectation;
use crate::format::{SegmentItem, SegmentScanner};
use crate::input::{self, Inventory, SegmentFile};
use crate::plan::Sample;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

/// Segments of a topic that are looked into.
const PLACES: usize = 16;
/// Bytes of a segment that are looked at.
const BYTES_A_PLACE: u64 = 512 << 10;
/// Records of a topic in its sample.
const RECORDS: usize = 20_000;
/// Bytes of a sample.
const BYTES: usize = 8 << 20;

/// The samples of all topics, in their order.
pub(super) fn take(
    inventory: &Inventory,
    leaders: &[usize],
    topics: &Topics,
    options: &AuditOptions,
    large: &LargeBatches,
) -> Vec<Sample> {
    if options.records == Records::HeadersOnly {
        return topics.all.iter().map(|_| Sample::default()).collect();
    }
    topics.all.par_iter().map(|topic| of_topic(inventory, leaders, topic, options, large)).collect()
}

fn of_topic(
    inventory: &Inventory,
    leaders: &[usize],
    topic: &Topic,
    options: &AuditOptions,
    large: &LargeBatches,
) -> Sample {
    let mut sample = Sample::default();
    if topic.name.starts_with("__") {
        return sample;
    }
    let segments: Vec<(usize, &SegmentFile)> = topic
        .partitions
        .iter()
        .filter(|&&at| leaders.get(at) == Some(&at))
        .filter_map(|&at| Some((at, inventory.partitions.get(at)?)))
        .flat_map(|(at, dir)| dir.segments.iter().map(move |segment| (at, segment)))
        .filter(|(_, segment)| segment.len > 0)
        .collect();
    let places = segments.len().min(PLACES);
    let mut reader = BatchReader::new(large);
    for place in 0..places {
        let Some(&(at, segment)) = segments.get(place * segments.len() / places) else { continue };
        let share = RECORDS * (place + 1) / places;
        let bytes = BYTES * (place + 1) / places;
        look(&mut sample, at, segment, share, bytes, &mut reader, options);
    }
    sample
}

fn look(
    sample: &mut Sample,
    at: usize,
    segment: &SegmentFile,
    records: usize,
    bytes: usize,
    reader: &mut BatchReader<'_>,
    options: &AuditOptions,
) {
    let Ok(source) = input::open_segment(&segment.place, options.mode, segment.len) else { return };
    // The kernel is neither to read ahead nor to be asked for what lies there.
    let source = source.at_one_place(usize::try_from(BYTES_A_PLACE).unwrap_or(usize::MAX));
    let mut scanner = SegmentScanner::new(source, segment.base, TailExpectation::MayBeTorn);
    while scanner.position().0 < BYTES_A_PLACE && sample.records.len() < records && sample.bytes() < bytes {
        let Ok(Some(item)) = scanner.next_item() else { return };
        let SegmentItem::Batch(batch) = item else { continue };
        if batch.header.is_control() {
            continue;
        }
        let producer_id = batch.header.producer_id;
        // What a bad batch held before its bad record is sampled as well; the pass tells the damage.
        let _ = reader.for_each_record(&batch, |record| {
            if sample.records.len() < records && sample.bytes() < bytes {
                sample.push(at, producer_id, record);
            }
        });
    }
}
