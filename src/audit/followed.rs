//! Follows keys through a partition: does a version in the values rise with the offset, and who
//! changes them in turn.
//!
//! Both need the records of a key in offset order, so partitions in which something can come of it are
//! walked over once more, up to a bound: those whose client times step back or are not to be seen, and
//! those that several producers wrote side by side.

use super::batches::{BatchReader, LargeBatches};
use super::lanes::RecordLane;
use super::options::AuditOptions;
use super::pass::{PartitionOutcome, Subject};
use super::sought::spelled;
use super::topics::Topics;
use crate::candidates::DigestKey;
use crate::facts::{
    BatchProtection, PartitionFacts, TurnFold, VersionFold, VersionedBatch, VersionedRecord, WrittenRecord,
};
use crate::format::{Batch, SegmentItem, TimestampType};
use crate::keys::Content;
use crate::plan::{Sample, VersionField};
use crate::units::{FilePosition, Offset, ProducerId};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::BTreeMap;

/// Bytes of a partition that are walked over.
const BYTES: u64 = 256 << 20;
/// Bytes of all partitions together.
const ALL_BYTES: u64 = 1 << 30;
/// Batches below which two producers are not followed.
const FEWEST_BATCHES: u64 = 8;
/// Bytes of a key that are shown.
const SHOWN: usize = 64;
/// Stands for keys among the digests.
const FOLLOWED_KEY: u32 = 0x666f_6c6c;

/// Adds what following the keys tells to the facts of the partitions.
pub(super) fn follow(
    subjects: &[Subject<'_>],
    topics: &Topics,
    samples: &[Sample],
    options: &AuditOptions,
    large: &LargeBatches,
    outcomes: &mut [PartitionOutcome],
) {
    let mut fields: BTreeMap<usize, Option<VersionField>> = BTreeMap::new();
    let mut wanted = Vec::new();
    for (at, (subject, outcome)) in subjects.iter().zip(outcomes.iter()).enumerate() {
        let RecordLane::Digest { plan, log_start, sought: None, .. } = &subject.lane else { continue };
        let topic = topics.of_partition(at);
        let Some(sample) = samples.get(topic).filter(|_| !plan.holds_state && !outcome.interrupted) else {
            continue;
        };
        let field = if may_be_out_of_order(outcome) {
            fields.entry(topic).or_insert_with(|| VersionField::of(sample)).clone()
        } else {
            None
        };
        let turns = are_side_by_side(&outcome.facts);
        if field.is_some() || turns {
            wanted.push(Walk { at, log_start: *log_start, field, turns });
        }
    }
    let share = ALL_BYTES / u64::try_from(wanted.len()).unwrap_or(u64::MAX).max(1);
    let digest_key = DigestKey::random();
    let found: Vec<_> = wanted
        .par_iter()
        .filter_map(|walk| {
            let subject = subjects.get(walk.at)?;
            let reader = BatchReader::new(large);
            Some((walk.at, walk.over(subject, share.min(BYTES), digest_key, reader, options)))
        })
        .collect();
    for (at, (versions, turns)) in found {
        let Some(outcome) = outcomes.get_mut(at) else { continue };
        outcome.facts.versions = versions.map(VersionFold::finish).unwrap_or_default();
        outcome.facts.turns = turns.finish();
    }
}

/// Whether batches without producer id step back in time, or broker times hide whether they do.
fn may_be_out_of_order(outcome: &PartitionOutcome) -> bool {
    let order = &outcome.facts.order;
    outcome.facts.protection.unprotected_records > 0
        && (order.disordered + order.moved > 0
            || outcome.timestamp_type == Some(TimestampType::LogAppendTime))
}

/// Whether two producers with some batches each have written between each other's batches.
fn are_side_by_side(facts: &PartitionFacts) -> bool {
    let mut ids: BTreeMap<ProducerId, (Offset, Offset, u64)> = BTreeMap::new();
    for epoch in &facts.epochs {
        let (first, last, batches) =
            ids.entry(epoch.producer_id).or_insert((epoch.first_offset, epoch.last_offset, 0));
        *first = epoch.first_offset.min(*first);
        *last = epoch.last_offset.max(*last);
        *batches += epoch.batches;
    }
    let mut lives: Vec<_> = ids.into_values().filter(|&(.., batches)| batches >= FEWEST_BATCHES).collect();
    lives.sort_unstable();
    let mut end: Option<Offset> = None;
    lives.into_iter().any(|(first, last, _)| {
        let overlaps = end.is_some_and(|end| first < end);
        end = end.max(Some(last));
        overlaps
    })
}

/// One partition that is walked over.
struct Walk {
    at: usize,
    log_start: Offset,
    field: Option<VersionField>,
    turns: bool,
}

impl Walk {
    fn over(
        &self,
        subject: &Subject<'_>,
        mut left: u64,
        digest_key: DigestKey,
        mut reader: BatchReader<'_>,
        options: &AuditOptions,
    ) -> (Option<VersionFold>, TurnFold) {
        let mut following = Following {
            walk: self,
            subject,
            digest_key,
            content: Content::default(),
            versions: self
                .field
                .as_ref()
                .map(|field| VersionFold::new(field.pointer.to_string(), field.kind)),
            turns: TurnFold::default(),
        };
        for segment in &subject.segments {
            let Ok(source) = segment.open(options.mode) else { continue };
            let mut scanner = segment.scanner(source, FilePosition(0), None);
            // Damage is told by the pass.
            while let Ok(Some(item)) = scanner.next_item() {
                let SegmentItem::Batch(batch) = item else { continue };
                let bytes = u64::try_from(batch.bytes.len()).unwrap_or(u64::MAX);
                if bytes > left {
                    return (following.versions, following.turns);
                }
                left -= bytes;
                following.take(&batch, &mut reader);
            }
        }
        (following.versions, following.turns)
    }
}

struct Following<'w, 's> {
    walk: &'w Walk,
    subject: &'w Subject<'s>,
    digest_key: DigestKey,
    content: Content,
    versions: Option<VersionFold>,
    turns: TurnFold,
}

impl Following<'_, '_> {
    fn take(&mut self, batch: &Batch<'_>, reader: &mut BatchReader<'_>) {
        let header = &batch.header;
        let RecordLane::Digest { plan, .. } = &self.subject.lane else { return };
        if header.is_control() || header.is_legacy() {
            return;
        }
        let producer_id = header.producer_id;
        let protection =
            if producer_id.is_protected() { BatchProtection::ProducerId } else { BatchProtection::None };
        if let Some(versions) = &mut self.versions {
            versions.batch(VersionedBatch {
                protection,
                first_offset: header.base_offset,
                last_offset: header.last_offset(),
                leader_epoch: header.partition_leader_epoch,
            });
        }
        let Self { walk, digest_key, content, versions, turns, .. } = self;
        // A batch that cannot be read to its end is in the coverage.
        let _ = reader.for_each_record(batch, |record| {
            let Some(bytes) = record.key.filter(|_| record.offset >= walk.log_start) else { return };
            let key = digest_key.of(FOLLOWED_KEY, |write| write(bytes)).0;
            let offset = record.offset;
            if let (Some(versions), Some(field)) = (versions.as_mut(), &walk.field)
                && let Some(version) = record.value.and_then(|value| field.read(value))
            {
                let client_timestamp = record.client_timestamp;
                versions.record(VersionedRecord { key, version, offset, client_timestamp }, &|| shown(bytes));
            }
            if walk.turns && producer_id.is_protected() {
                let content = digest_key.content(content, &plan.mask, record).0;
                turns.record(WrittenRecord { key, content, producer_id, offset }, &|| shown(bytes));
            }
        });
    }
}

/// A key as reports show it.
fn shown(key: &[u8]) -> String {
    let text = spelled(key);
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_keys_are_cut_and_other_bytes_are_in_base64() {
        assert_eq!(shown(b"row-1"), "row-1");
        assert_eq!(shown(&[0xff, 0]), "base64:/wA=");
        assert_eq!(shown("ä".repeat(70).as_bytes()), "ä".repeat(64) + "…");
    }
}
