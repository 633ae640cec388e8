//! A few batches that stand for a log, so that logs with equal stretches find each other without
//! being compared with all others.
//!
//! Of all data batches those with the smallest hashes are kept, over base offset, length in offsets,
//! leader epoch and checksum. Which ones that are depends on the batches alone, so two copies of a
//! log keep the same ones, and a longer log keeps some of those of the shorter one.

use crate::format::BatchHeader;
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

/// Batches that are kept: logs that have an eighth of their batches in common share four of them.
const KEPT: usize = 32;

/// The batches that stand for one log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    hashes: BTreeSet<u64>,
}

impl Sketch {
    /// Takes a batch into account. Markers and what the cleaner emptied say too little.
    pub fn add(&mut self, header: &BatchHeader) {
        if header.is_control() || header.records_count == Some(0) {
            return;
        }
        let epoch = header.partition_leader_epoch.map_or(-1, |epoch| epoch.0);
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&header.last_offset().0.to_le_bytes());
        bytes[8..12].copy_from_slice(&header.last_offset_delta.to_le_bytes());
        bytes[12..16].copy_from_slice(&epoch.to_le_bytes());
        bytes[16..].copy_from_slice(&header.crc.to_le_bytes());
        let hash = xxh3_64(&bytes);
        if self.hashes.len() >= KEPT && self.hashes.last().is_some_and(|largest| hash >= *largest) {
            return;
        }
        self.hashes.insert(hash);
        if self.hashes.len() > KEPT {
            self.hashes.pop_last();
        }
    }

    /// The hashes of the batches, ascending.
    pub fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.hashes.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{SegmentItem, SegmentScanner, TailExpectation};
    use crate::testkit::{SegmentBuilder, batch};
    use crate::units::Offset;

    fn sketch(events: i32, key: &str) -> Sketch {
        let log = (0..events).fold(SegmentBuilder::new(), |log, at| {
            log.batch(batch().producer(7, 0, at).transactional().record(format!("{key}{at}"), "v"))
                .commit(7, 0)
        });
        let bytes = log.bytes();
        let mut sketch = Sketch::default();
        let mut scanner = SegmentScanner::new(bytes.as_slice(), Offset(0), TailExpectation::MustBeWhole);
        while let Some(item) = scanner.next_item().unwrap() {
            let SegmentItem::Batch(batch) = item else { panic!("{item:?}") };
            sketch.add(&batch.header);
        }
        sketch
    }

    fn shared(one: &Sketch, other: &Sketch) -> usize {
        one.hashes().filter(|hash| other.hashes.contains(hash)).count()
    }

    #[test]
    fn copies_share_all_and_a_longer_log_shares_some_with_its_beginning() {
        let whole = sketch(400, "k");
        assert_eq!(whole, sketch(400, "k"));
        assert_eq!(whole.hashes().count(), KEPT);
        assert!((8..KEPT).contains(&shared(&whole, &sketch(200, "k"))));
    }

    #[test]
    fn logs_with_other_records_share_nothing_although_their_markers_are_equal() {
        assert_eq!(shared(&sketch(400, "k"), &sketch(400, "l")), 0);
    }
}
