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
use crate::error::AuditError;
use crate::facts::{
    BatchProtection, Epochs, TurnFold, VersionFold, VersionedBatch, VersionedRecord, WrittenRecord,
};
use crate::format::{Batch, SegmentItem, TimestampType};
use crate::keys::Content;
use crate::plan::{Sample, VersionField};
use crate::spill::Share;
use crate::units::{FilePosition, Offset};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::BTreeMap;

/// Bytes of a partition that are walked over.
const BYTES: u64 = 256 << 20;
/// Bytes of all partitions together.
const ALL_BYTES: u64 = 1 << 30;
/// Batches below which two producers are not followed.
const FEWEST_BATCHES: i64 = 8;
/// Bytes of a key that are shown.
const SHOWN: usize = 64;
/// Stands for keys among the digests.
const FOLLOWED_KEY: u32 = 0x666f_6c6c;

/// What the bounds left out where keys were to be followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NotFollowed {
    /// Bytes of the log behind the bound.
    pub(super) bytes: u64,
    /// Records of keys beyond the number of those that are followed.
    pub(super) records: u64,
}

impl NotFollowed {
    /// In words, where anything was left out.
    pub(super) fn detail(self) -> Option<String> {
        let mut parts = Vec::new();
        if self.bytes > 0 {
            parts.push(format!("{} bytes behind the first part", self.bytes));
        }
        if self.records > 0 {
            parts.push(format!("{} records of further keys", self.records));
        }
        (!parts.is_empty()).then(|| {
            format!(
                "versions and writers of single keys were not followed in {}: order-broken and interleaved-writers do not speak of them",
                parts.join(" and in ")
            )
        })
    }
}

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
        let RecordLane::Digest { plan, log_start, .. } = &subject.lane else { continue };
        let topic = topics.of_partition(at);
        let Some(sample) = samples.get(topic).filter(|_| !plan.holds_state && !outcome.interrupted) else {
            continue;
        };
        let field = if may_be_out_of_order(outcome) {
            fields.entry(topic).or_insert_with(|| VersionField::of(sample)).clone()
        } else {
            None
        };
        let turns = outcome.side_by_side;
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
    for (at, followed) in found {
        let Some(outcome) = outcomes.get_mut(at) else { continue };
        outcome.facts.versions = followed.versions.map(VersionFold::finish).unwrap_or_default();
        outcome.facts.turns = followed.turns.finish();
        outcome.not_followed = NotFollowed {
            bytes: followed.unread,
            records: outcome.facts.versions.not_followed.max(outcome.facts.turns.not_followed),
        };
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
///
/// # Errors
/// [`AuditError`] when what did not fit into memory cannot be read.
pub(super) fn are_side_by_side(epochs: &Epochs, share: &Share) -> Result<bool, AuditError> {
    let mut by_id = share.sorter::<[i64; 4]>();
    for epoch in epochs.iter() {
        let batches = i64::try_from(epoch.batches).unwrap_or(i64::MAX);
        by_id.push([epoch.producer_id.0, epoch.first_offset.0, epoch.last_offset.0, batches])?;
    }
    let mut lives: Vec<(Offset, Offset)> = Vec::new();
    let mut of_id: Option<[i64; 4]> = None;
    let mut end_life = |life: Option<[i64; 4]>| {
        let long = life.filter(|&[.., batches]| batches >= FEWEST_BATCHES);
        lives.extend(long.map(|[_, first, last, _]| (Offset(first), Offset(last))));
    };
    for epoch in by_id.finish()? {
        let epoch = epoch?;
        match (&mut of_id, epoch) {
            (Some([id, _, last, batches]), [other, _, end, more]) if *id == other => {
                *last = end.max(*last);
                *batches = batches.saturating_add(more);
            }
            (life, epoch) => end_life(life.replace(epoch)),
        }
    }
    end_life(of_id);
    lives.sort_unstable();
    let mut end: Option<Offset> = None;
    Ok(lives.into_iter().any(|(first, last)| {
        let overlaps = end.is_some_and(|end| first < end);
        end = end.max(Some(last));
        overlaps
    }))
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
    ) -> Followed {
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
        let mut unread = 0;
        'segments: for segment in &subject.segments {
            if unread > 0 {
                unread += segment.len;
                continue;
            }
            let Ok(source) = segment.open(options.mode) else { continue };
            let mut scanner = segment.scanner(source, FilePosition(0), None);
            // Damage is told by the pass.
            while let Ok(Some(item)) = scanner.next_item() {
                let SegmentItem::Batch(batch) = item else { continue };
                let bytes = u64::try_from(batch.bytes.len()).unwrap_or(u64::MAX);
                if bytes > left {
                    unread = segment.len.saturating_sub(batch.position.0);
                    continue 'segments;
                }
                left -= bytes;
                following.take(&batch, &mut reader);
            }
        }
        Followed { versions: following.versions, turns: following.turns, unread }
    }
}

/// What one walk found.
struct Followed {
    versions: Option<VersionFold>,
    turns: TurnFold,
    /// Bytes behind the bound.
    unread: u64,
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
            let key = digest_key.of(FOLLOWED_KEY, |parts| parts.write(bytes)).0;
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
    use super::super::pass::SubjectSegment;
    use super::*;
    use crate::facts::PartitionContext;
    use crate::format::segment::TailExpectation;
    use crate::input::FilePlace;
    use crate::testkit::{SegmentBuilder, batch};

    #[test]
    fn what_the_bounds_left_out_is_said_and_nothing_where_they_did_not_bite() {
        assert_eq!(NotFollowed::default().detail(), None);
        let both = NotFollowed { bytes: 7, records: 3 }.detail().unwrap();
        assert!(both.contains("7 bytes behind the first part and in 3 records of further keys"), "{both}");
    }

    /// A walk that may look at one batch of three.
    #[test]
    fn a_walk_tells_how_much_lies_behind_its_bound() {
        let log = (0..3).fold(SegmentBuilder::new(), |log, at| {
            log.batch(batch().producer(7, 0, at).record("row", format!("value {at}")))
        });
        let first = u64::try_from(log.places()[1].position).unwrap();
        let (file, bytes) = (tempfile::NamedTempFile::new().unwrap(), log.bytes());
        std::fs::write(file.path(), &bytes).unwrap();
        let len = u64::try_from(bytes.len()).unwrap();
        let walk = Walk { at: 0, log_start: Offset(0), field: None, turns: true };
        let segment = SubjectSegment {
            place: FilePlace::on_disk(file.path()),
            base: Offset(0),
            next_base: None,
            upper: None,
            len,
            identity: None,
            tail: TailExpectation::MayBeTorn,
            indexes: super::super::segment_indexes::Checked::default(),
        };
        let lane = RecordLane::Skip;
        let subject = Subject { context: PartitionContext::default(), lane, segments: vec![segment] };
        let large = LargeBatches::new(AuditOptions::over(Vec::new()).limits);
        for (bound, unread) in [(first, len - first), (len, 0)] {
            let reader = BatchReader::new(&large);
            let options = AuditOptions::over(Vec::new());
            let followed = walk.over(&subject, bound, DigestKey::random(), reader, &options);
            assert_eq!(followed.unread, unread);
        }
    }

    #[test]
    fn long_keys_are_cut_and_other_bytes_are_in_base64() {
        assert_eq!(shown(b"row-1"), "row-1");
        assert_eq!(shown(&[0xff, 0]), "base64:/wA=");
        assert_eq!(shown("ä".repeat(70).as_bytes()), "ä".repeat(64) + "…");
    }
}
