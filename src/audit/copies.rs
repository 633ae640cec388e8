//! The second look: reads the records whose digests were seen more than once, and only those.

use super::batches::{BatchReader, LargeBatches};
use super::groups::Wanted;
use super::pass::{ChunkStart, PartitionOutcome, Subject};
use super::watch::LateStop;
use crate::candidates::{DigestKey, Fingerprint, RECORD_SET};
use crate::error::AuditError;
use crate::facts::{Outcome, Sessions};
use crate::finding::{BusinessKey, KeyPart as ReportedPart, Visibility};
use crate::format::{Batch, Record, SegmentItem, TimestampType};
use crate::input::ReadMode;
use crate::keys::{self, Content, Identity, KeyPart, KeySpec, Mask, Part};
use crate::plan::{RepeatsOf, TopicPlan};
use crate::relations::{BatchPlace, Candidate, StoredCopy, TimeSource};
use crate::spill::Sorted;
use crate::units::{ClusterNumber, Offset, Timestamp};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

/// What the second look needs beside the wanted places.
pub(super) struct SecondLook<'a> {
    pub(super) subjects: &'a [Subject<'a>],
    pub(super) outcomes: &'a [PartitionOutcome],
    /// The plan of each subject's topic.
    pub(super) plans: Vec<&'a TopicPlan>,
    pub(super) mode: ReadMode,
    pub(super) large: &'a LargeBatches,
    pub(super) digest_key: DigestKey,
    pub(super) late_stop: &'a LateStop,
    pub(super) sessions: &'a Sessions,
    /// Places that are looked for at once.
    pub(super) places: usize,
}

/// A stretch of a segment in which wanted records are.
pub(super) struct Region<'w> {
    pub(super) partition: usize,
    start: ChunkStart,
    end: Option<u64>,
    /// In the order of their offsets.
    pub(super) wanted: &'w [Wanted],
}

/// Bytes that are read of a stretch at once.
const STRETCH: usize = 256 << 10;
/// Stretches that are read before what was found is handed on, for each thread.
const REGIONS: usize = 4;

/// Reads the wanted records, and hands what is found to `each` in the same order. What is not found
/// was counted before and is gone now, or could not be read. Where somebody wants the run to end, only
/// the first places are read: as if the logs ended there.
///
/// # Errors
/// That of `each`; [`AuditError`] when a temporary file cannot be read.
pub(super) fn fetch(
    look: &SecondLook<'_>,
    wanted: Sorted<Wanted>,
    each: impl FnMut(Candidate) -> Result<(), AuditError>,
) -> Result<(), AuditError> {
    let found_in = |region: &Region<'_>, reader: &mut BatchReader<'_>, content: &mut Content| {
        let mut found = Vec::new();
        region.walk(look, |batch, in_batch, before| {
            let first = found.len();
            read_batch(look, region, batch, in_batch, reader, content, &mut found);
            for candidate in found.iter_mut().skip(first) {
                candidate.copy.written_after = before;
            }
        });
        found
    };
    revisit(look, each_place_once(wanted), found_in, each)
}

/// The same place may be wanted for its own topic and for another one.
fn each_place_once(wanted: Sorted<Wanted>) -> impl Iterator<Item = Result<Wanted, AuditError>> {
    let mut wanted = wanted.peekable();
    std::iter::from_fn(move || {
        let mut first = match wanted.next()? {
            Ok(first) => first,
            error => return Some(error),
        };
        let place = (first.partition, first.offset);
        let again = |next: &Result<Wanted, AuditError>| {
            next.as_ref().is_ok_and(|next| (next.partition, next.offset) == place)
        };
        while let Some(Ok(next)) = wanted.next_if(again) {
            first = Wanted {
                behind_other_content: first.behind_other_content || next.behind_other_content,
                reread: first.reread.or(next.reread),
                tells_only: first.tells_only && next.tells_only,
                ..if first.tells_only { next } else { first }
            };
        }
        Some(Ok(first))
    })
    .filter(|wanted| wanted.as_ref().map_or(true, |wanted| !wanted.tells_only))
}

/// Hands to `each` what `found_in` makes of the stretches of the logs in which wanted records are, in
/// their order; only of the first where somebody wants the run to end.
///
/// # Errors
/// That of `each`; [`AuditError`] when a temporary file cannot be read.
pub(super) fn revisit<T: Send>(
    look: &SecondLook<'_>,
    mut wanted: impl Iterator<Item = Result<Wanted, AuditError>>,
    found_in: impl Fn(&Region<'_>, &mut BatchReader<'_>, &mut Content) -> Vec<T> + Sync,
    mut each: impl FnMut(T) -> Result<(), AuditError>,
) -> Result<(), AuditError> {
    let mut places: Vec<Wanted> = Vec::new();
    loop {
        let next = wanted.next().transpose()?;
        if let Some(next) = next
            && places.len() < look.places
        {
            places.push(next);
            continue;
        }
        for regions in regions(look, &places).chunks(rayon::current_num_threads() * REGIONS) {
            let found: Vec<Vec<T>> = regions
                .par_iter()
                .map_init(
                    || (BatchReader::new(look.large), Content::default()),
                    |(reader, content), region| found_in(region, reader, content),
                )
                .collect();
            found.into_iter().flatten().try_for_each(&mut each)?;
            if look.late_stop.is_wanted() {
                return Ok(());
            }
        }
        places.clear();
        match next {
            Some(next) => places.push(next),
            None => return Ok(()),
        }
    }
}

fn regions<'w>(look: &SecondLook<'_>, wanted: &'w [Wanted]) -> Vec<Region<'w>> {
    let mut regions = Vec::new();
    for of_partition in wanted.chunk_by(|a, b| a.partition == b.partition) {
        let Some(partition) = of_partition.first().and_then(|w| usize::try_from(w.partition).ok()) else {
            continue;
        };
        let Some(outcome) = look.outcomes.get(partition) else { continue };
        let start_of = |offset: Offset| {
            outcome.starts.partition_point(|start| start.base_offset <= offset).saturating_sub(1)
        };
        for wanted in of_partition.chunk_by(|a, b| start_of(a.offset) == start_of(b.offset)) {
            let Some(at) = wanted.first().map(|w| start_of(w.offset)) else { continue };
            let Some(&start) = outcome.starts.get(at) else { continue };
            let next = outcome.starts.get(at + 1).filter(|next| next.segment == start.segment);
            regions.push(Region { partition, start, end: next.map(|next| next.position.0), wanted });
        }
    }
    regions
}

impl Region<'_> {
    /// Hands the batches with wanted records to `each`, with these records and the newest time of the
    /// batch before.
    pub(super) fn walk(
        &self,
        look: &SecondLook<'_>,
        mut each: impl FnMut(&Batch<'_>, &[Wanted], Option<i64>),
    ) {
        let Some(subject) = look.subjects.get(self.partition) else { return };
        let Some(segment) = subject.segments.get(self.start.segment) else { return };
        // It is read batch by batch, and no batch is larger.
        let end = self.end.unwrap_or(segment.len);
        let bytes = end.saturating_sub(self.start.position.0);
        let _room = look.large.room(usize::try_from(bytes).unwrap_or(usize::MAX));
        let Ok(source) = segment.open(look.mode) else { return };
        let mut scanner = segment.scanner(source.at_one_place(STRETCH), self.start.position, None);
        let mut left = self.wanted;
        let mut before = None;
        while !left.is_empty() && self.end.is_none_or(|end| scanner.position().0 < end) {
            let batch = match scanner.next_item() {
                Ok(Some(SegmentItem::Batch(batch))) => batch,
                Ok(Some(SegmentItem::Suspect(suspect))) => match suspect.in_line() {
                    Some(batch) => batch,
                    None => continue,
                },
                Ok(Some(SegmentItem::Damage(_))) => continue,
                Ok(None) | Err(_) => break,
            };
            let inside = left.partition_point(|wanted| wanted.offset <= batch.header.last_offset());
            let (in_batch, behind) = left.split_at(inside);
            if !in_batch.is_empty() && !batch.header.is_control() {
                each(&batch, in_batch, before);
            }
            before = Timestamp::from_disk(batch.header.max_timestamp).map(|time| time.0).or(before);
            left = behind;
        }
    }
}

fn read_batch(
    look: &SecondLook<'_>,
    region: &Region<'_>,
    batch: &Batch<'_>,
    wanted: &[Wanted],
    reader: &mut BatchReader<'_>,
    content: &mut Content,
    found: &mut Vec<Candidate>,
) {
    let (Some(outcome), Some(plan)) = (look.outcomes.get(region.partition), look.plans.get(region.partition))
    else {
        return;
    };
    let first = found.len();
    let (mut records, mut base_offset) = (0u32, None::<Offset>);
    // The records of the batch with their client times: equal for the copies of one wire batch,
    // whatever the broker did to times and compression.
    let mut read = Ok(());
    let record_set = look.digest_key.of(RECORD_SET, |parts| {
        read = reader.for_each_record(batch, |record| {
            records += 1;
            let base = *base_offset.get_or_insert(record.offset);
            parts.write(&record.offset.0.wrapping_sub(base.0).to_le_bytes());
            parts.write(&record.client_timestamp.to_le_bytes());
            // A digest stands for the content, so that each is hashed once.
            let exact = look.digest_key.content(content, &Mask::default(), record);
            parts.write(&exact.0.to_le_bytes());
            if let Ok(at) = wanted.binary_search_by_key(&record.offset, |wanted| wanted.offset)
                && let Some(wanted) = wanted.get(at)
            {
                found.push(candidate(look, region, batch, record, exact, wanted, plan, content, outcome));
            }
        });
    });
    for candidate in found.iter_mut().skip(first) {
        if candidate.is_tombstone {
            // Deleting a key twice is no duplicate, unless the whole batch came again.
            candidate.content = Fingerprint(candidate.content.0 ^ record_set.0);
        }
        candidate.record_set = record_set;
        candidate.copy.batch.records = records;
        if batch.header.is_legacy() {
            candidate.copy.batch.base_offset = base_offset.unwrap_or(batch.header.base_offset);
        }
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "each is a different thing, and they are at hand in one place only"
)]
fn candidate(
    look: &SecondLook<'_>,
    region: &Region<'_>,
    batch: &Batch<'_>,
    record: &Record<'_>,
    exact_content: Fingerprint,
    wanted: &Wanted,
    plan: &TopicPlan,
    content: &mut Content,
    outcome: &PartitionOutcome,
) -> Candidate {
    let header = &batch.header;
    let protected = header.producer_id.is_protected();
    let epoch = header.producer_epoch.filter(|_| protected);
    let subject = look.subjects.get(region.partition);
    let cluster = subject.map_or_else(ClusterNumber::default, |subject| subject.context.cluster);
    let visibility = match outcome.facts.withheld_at(record.offset) {
        Some(Outcome::Aborted) => Visibility::Aborted,
        Some(Outcome::Open) => Visibility::Open,
        Some(Outcome::Committed) | None if header.is_transactional() => Visibility::Committed,
        Some(Outcome::Committed) | None => Visibility::NonTransactional,
    };
    let copy = StoredCopy {
        partition: u32::try_from(region.partition).unwrap_or(u32::MAX),
        offset: record.offset,
        timestamp: Timestamp::from_disk(record.timestamp).map(|t| t.0),
        client_timestamp: Timestamp::from_disk(record.client_timestamp).map(|t| t.0),
        timestamp_type: match header.timestamp_type() {
            TimestampType::None => TimeSource::NoTimestampType,
            TimestampType::CreateTime => TimeSource::CreateTime,
            TimestampType::LogAppendTime => TimeSource::LogAppendTime,
        },
        producer_id: header.producer_id,
        producer_epoch: epoch,
        sequence: record.sequence.filter(|_| protected),
        session: if protected { look.sessions.number(cluster, header.producer_id, epoch) } else { None },
        partition_leader_epoch: header.partition_leader_epoch,
        visibility,
        written_after: None,
        behind_other_content: wanted.behind_other_content,
        reread: wanted.reread,
        batch: BatchPlace {
            segment: u32::try_from(region.start.segment).unwrap_or(u32::MAX),
            position: batch.position,
            base_offset: header.base_offset,
            last_offset: header.last_offset(),
            base_sequence: header.base_sequence.filter(|_| protected),
            records: 0,
            crc: header.crc,
            in_sequence: !outcome.out_of_sequence.contains(&header.base_offset),
        },
    };
    Candidate {
        identity: wanted.identity,
        content: match plan.repeats {
            RepeatsOf::Content if plan.mask.is_empty() => exact_content,
            RepeatsOf::Content => look.digest_key.content(content, &plan.mask, record),
            RepeatsOf::Key => wanted.identity,
        },
        exact_content,
        record_set: Fingerprint(0),
        is_tombstone: record.value.is_none(),
        business_key: business_key(plan, content, record),
        copy,
    }
}

/// The identity in the form that the report may show.
fn business_key(plan: &TopicPlan, content: &mut Content, record: &Record<'_>) -> BusinessKey {
    match &plan.identity {
        Identity::Content => {
            let digest = xxhash_rust::xxh3::xxh3_128(content.bytes(record, &plan.mask));
            let record_key = record.key.filter(|key| key.len() <= LONGEST).map(BusinessKey::of_bytes);
            BusinessKey::Digest { digest: format!("{digest:032x}"), record_key: record_key.map(Box::new) }
        }
        Identity::Key(spec) => shown_key(spec, record),
    }
}

/// Bytes of a key that is shown: a longer one is no name, and is told by its digest.
const LONGEST: usize = 16 << 10;

fn shown_key(spec: &KeySpec, record: &Record<'_>) -> BusinessKey {
    let length = |part: &KeyPart| match part.extract(record) {
        Part::Bytes { bytes, .. } => bytes.len(),
        Part::Absent | Part::Undecodable(_) => 0,
    };
    if spec.parts().iter().map(length).sum::<usize>() > LONGEST {
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        keys::identify(spec, record, |part| hasher.update(part));
        return BusinessKey::of_digest(hasher.digest128());
    }
    // No key is not an empty one: that is a text.
    if let [part] = spec.parts()
        && let Part::Bytes { bytes, .. } = part.extract(record)
    {
        return BusinessKey::of_bytes(&bytes);
    }
    let parts = spec.parts().iter().map(|part| {
        let mut shown =
            ReportedPart { key: part.to_string(), text: None, base64: None, null: None, keyed_hash: None };
        match part.extract(record) {
            Part::Bytes { bytes, .. } => match BusinessKey::of_bytes(&bytes) {
                BusinessKey::Base64 { base64 } => shown.base64 = Some(base64),
                BusinessKey::Text { text } => shown.text = Some(text),
                BusinessKey::Parts { .. } | BusinessKey::Digest { .. } | BusinessKey::KeyedHash { .. } => {}
            },
            Part::Absent | Part::Undecodable(_) => shown.null = Some(true),
        }
        shown
    });
    BusinessKey::Parts { parts: parts.collect() }
}

/// A key that is given as texts, in the form that the report may show.
pub(super) fn shown_parts(spec: &KeySpec, given: &[Option<Vec<u8>>]) -> BusinessKey {
    if let [Some(bytes)] = given {
        return BusinessKey::of_bytes(bytes);
    }
    let parts = spec.parts().iter().zip(given).map(|(key, bytes)| {
        let mut shown =
            ReportedPart { key: key.to_string(), text: None, base64: None, null: None, keyed_hash: None };
        match bytes.as_deref().map(BusinessKey::of_bytes) {
            Some(BusinessKey::Base64 { base64 }) => shown.base64 = Some(base64),
            Some(BusinessKey::Text { text }) => shown.text = Some(text),
            Some(BusinessKey::Parts { .. } | BusinessKey::Digest { .. } | BusinessKey::KeyedHash { .. }) => {}
            None => shown.null = Some(true),
        }
        shown
    });
    BusinessKey::Parts { parts: parts.collect() }
}
