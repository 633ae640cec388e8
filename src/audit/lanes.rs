//! Takes one batch apart for both lanes: its header for the batch lane, its records for the record
//! lane.

use super::batches::{BatchReader, LargeBatches};
use super::deferral::Deferral;
use super::routing::{Route, Routed};
use super::sought::{Sighting, Sought};
use crate::candidates::{DigestKey, Row, RowColumns};
use crate::facts::BatchFact;
use crate::format::control::ControlRecord;
use crate::format::{Batch, Damage, DamageKind, RecordsError};
use crate::keys::{Content, Keyed, Undecoded};
use crate::plan::{RepeatsOf, TopicPlan};
use crate::units::Offset;

/// What is to be done with the records of a partition.
#[derive(Clone, Debug)]
pub(super) enum RecordLane<'p> {
    /// Digests of all records; those below the log start count as nothing but what they may have been
    /// the originals of.
    Digest {
        /// How the topic's events are identified.
        plan: &'p TopicPlan,
        /// Where the readable log begins.
        log_start: Offset,
        /// The partition's index in the rows.
        partition: u32,
        /// How its keys are routed, where that is known.
        route: Option<Route>,
        /// The one key that is looked for; all of them otherwise.
        sought: Option<&'p Sought>,
        /// When the topic's contents are told apart.
        deferral: &'p Deferral,
    },
    /// Nothing: a replica that does not lead, or only headers were asked for.
    Skip,
}

/// Records by what became of their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordCounts {
    /// They have an identity.
    pub(super) keyed: u64,
    /// The field is not there, or null.
    pub(super) without_key: u64,
    /// The field's bytes cannot be decoded, or the batch's records cannot be read: by reason.
    undecoded: [u64; Undecoded::ALL.len()],
}

impl RecordCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.keyed += other.keyed;
        self.without_key += other.without_key;
        for (own, other) in self.undecoded.iter_mut().zip(other.undecoded) {
            *own += other;
        }
    }

    pub(super) fn add_undecoded(&mut self, why: Undecoded, records: u64) {
        for (count, _) in self.undecoded.iter_mut().zip(Undecoded::ALL).filter(|(_, reason)| *reason == why) {
            *count += records;
        }
    }

    /// Records that were not decoded.
    pub(super) fn not_decoded(self) -> u64 {
        self.undecoded.iter().sum()
    }

    /// The same by reason.
    pub(super) fn undecoded(&self) -> impl Iterator<Item = (Undecoded, u64)> {
        Undecoded::ALL.into_iter().zip(self.undecoded).filter(|(_, records)| *records > 0)
    }

    pub(super) fn count(&mut self, keyed: Keyed) {
        match keyed {
            Keyed::Yes => self.keyed += 1,
            Keyed::Without => self.without_key += 1,
            Keyed::Undecoded(why) => self.add_undecoded(why, 1),
        }
    }

    /// All of them.
    pub(super) fn total(self) -> u64 {
        self.keyed + self.without_key + self.not_decoded()
    }
}

/// The tools of one worker.
#[derive(Debug)]
pub(super) struct Lanes<'l> {
    digest_key: DigestKey,
    reader: BatchReader<'l>,
    content: Content,
    /// Room for the rows of the next stretch.
    pub(super) rows: RowColumns,
}

/// What the lanes make of a stretch of batches.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) facts: Vec<BatchFact>,
    /// For each batch its records at or above the log start.
    pub(super) readable: Vec<u64>,
    pub(super) rows: RowColumns,
    pub(super) counts: RecordCounts,
    pub(super) routed: Routed,
    /// Batches with the right checksum whose records cannot be read.
    pub(super) damage: Vec<Damage>,
}

impl<'l> Lanes<'l> {
    pub(super) fn new(digest_key: DigestKey, large: &'l LargeBatches) -> Self {
        let (reader, content) = (BatchReader::new(large), Content::default());
        Self { digest_key, reader, content, rows: RowColumns::default() }
    }

    /// Nothing yet, and room for what a stretch holds.
    pub(super) fn gathered(&mut self) -> Gathered {
        Gathered { rows: std::mem::take(&mut self.rows), ..Gathered::default() }
    }

    /// Adds what `batch` holds.
    pub(super) fn take(
        &mut self,
        batch: &Batch<'_>,
        segment: usize,
        lane: &RecordLane<'_>,
        into: &mut Gathered,
    ) {
        let mut header = batch.header.clone();
        let mut control = None;
        // The count is a claim. Where it cannot be true, no more are counted than can be there.
        let most = self.reader.limits().most_records(&header, batch.bytes.len());
        let claimed = header.records_count.filter(|&count| count > most && !header.is_legacy());
        if let (Some(claimed), RecordLane::Skip, false) = (claimed, lane, header.is_control()) {
            header.records_count = Some(most);
            into.damage.push(impossible_count(batch, claimed, most));
        }
        let mut read = Ok(());
        let mut before = RecordCounts::default();
        std::mem::swap(&mut before, &mut into.counts);
        if header.is_control() {
            read = self.reader.for_each_record(batch, |record| {
                control = control.or_else(|| ControlRecord::read(record).ok());
            });
        } else if let RecordLane::Digest { plan, log_start, partition, route, sought, deferral } = *lane {
            let Self { digest_key, reader, content, .. } = self;
            let now = sought.is_some() || deferral.is_over();
            let Gathered { rows, counts, routed, .. } = into;
            let (mut first, mut last, mut count) = (None, None, 0u32);
            read = reader.for_each_record(batch, |record| {
                first.get_or_insert(record.offset);
                last = Some(record.offset);
                count += 1;
                let deleted = record.offset < log_start;
                if deleted && sought.is_some() {
                    return;
                }
                if let Some(route) = route.filter(|_| !deleted) {
                    route.take(record, routed);
                }
                if let Some(sought) = sought {
                    let (keyed, sighting) = sought.look(&plan.identity, &plan.mask, content, record);
                    if sighting == Sighting::Other {
                        counts.count(keyed);
                        return;
                    }
                }
                let (keyed, identity) = digest_key.identity(&plan.identity, content, &plan.mask, record);
                if !deleted {
                    counts.count(keyed);
                }
                if keyed == Keyed::Yes {
                    let selector = match plan.repeats {
                        RepeatsOf::Key => Row::ONE_CONTENT,
                        RepeatsOf::Content if now => digest_key.selector(content, plan, record),
                        RepeatsOf::Content => Row::NO_SELECTOR,
                    };
                    rows.push(Row { identity, partition, selector, offset: record.offset });
                }
            });
            complete_wrapper(&mut header, first, last, count);
        } else if header.records_count.is_none() {
            let (mut first, mut last, mut count) = (None, None, 0u32);
            read = self.reader.for_each_record(batch, |record| {
                first.get_or_insert(record.offset);
                last = Some(record.offset);
                count += 1;
            });
            complete_wrapper(&mut header, first, last, count);
        }
        if let Err(error) = read {
            let told = into.counts.total();
            if claimed.is_some() {
                header.records_count = Some(most);
            }
            let all = u64::from(header.records_count.unwrap_or(0));
            if matches!(lane, RecordLane::Digest { .. }) && !header.is_control() {
                into.counts.add_undecoded(Undecoded::UnreadableBatch, all.saturating_sub(told));
            }
            into.damage.push(unreadable_records(batch, &error));
        }
        let readable = match *lane {
            RecordLane::Digest { .. } => into.counts.total(),
            RecordLane::Skip => u64::from(header.records_count.unwrap_or(0)),
        };
        into.readable.push(readable);
        into.counts.add(before);
        into.facts.push(BatchFact { header, segment, position: batch.position, control });
    }
}

/// A compressed wrapper of format 0 or 1 tells its first offset and its count only inside.
fn complete_wrapper(
    header: &mut crate::format::BatchHeader,
    first: Option<Offset>,
    last: Option<Offset>,
    count: u32,
) {
    if header.records_count.is_some() {
        return;
    }
    header.records_count = Some(count);
    if let (Some(first), Some(last)) = (first, last) {
        header.base_offset = first;
        header.last_offset_delta = i32::try_from(last.0.saturating_sub(first.0)).unwrap_or(i32::MAX);
    }
}

fn impossible_count(batch: &Batch<'_>, claimed: u32, most: u32) -> Damage {
    Damage {
        position: batch.position,
        length: u64::try_from(batch.bytes.len()).unwrap_or(u64::MAX),
        kind: DamageKind::BadRecord,
        expected: false,
        detail: format!("recordsCount {claimed}, the batch can hold {most} at most"),
        first_offset: None,
        last_offset: None,
        records_missing: true,
    }
}

/// Records with the right checksum that cannot be read.
pub(super) fn unreadable_records(batch: &Batch<'_>, error: &RecordsError) -> Damage {
    let kind = match error {
        RecordsError::Compression(_) | RecordsError::UnknownCodec(_) => DamageKind::BadCompression,
        RecordsError::Format(_) => DamageKind::BadRecord,
    };
    Damage {
        position: batch.position,
        length: u64::try_from(batch.bytes.len()).unwrap_or(u64::MAX),
        kind,
        expected: false,
        detail: format!("checksum is right, records cannot be read: {error}"),
        first_offset: Some(batch.header.base_offset),
        last_offset: Some(batch.header.last_offset()),
        records_missing: true,
    }
}
