//! Compares the bytes of all copies that the report shows, or of all that were found (`--verify`):
//! digests only select.

use super::pass::Subject;
use crate::finding::{BusinessKey, Copy, Finding, Group};
use crate::format::{Decompressor, Limits, Record, SegmentItem};
use crate::input::{Inventory, ReadMode};
use crate::keys::{self, Content, Identity, Mask};
use crate::plan::{RepeatsOf, TopicPlan};
use crate::relations::{Groups, StoredCopy};
use crate::report::model::Note;
use crate::units::FilePosition;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::collections::HashMap;

/// Bytes of a value that are shown.
const VALUE_BYTES: usize = 2048;

/// The beginning of a value, as text or in base 64.
fn shown(value: &[u8]) -> BusinessKey {
    let rest = if value.len() > VALUE_BYTES { format!("… ({} bytes)", value.len()) } else { String::new() };
    let start = value.get(..VALUE_BYTES).unwrap_or(value);
    match std::str::from_utf8(start) {
        Ok(text) => BusinessKey::Text { text: format!("{text}{rest}") },
        // A character that was cut in two is no reason for base 64.
        Err(error) if error.error_len().is_none() && !rest.is_empty() => {
            let whole = start.get(..error.valid_up_to()).unwrap_or_default();
            BusinessKey::Text { text: format!("{}{rest}", String::from_utf8_lossy(whole)) }
        }
        Err(_) => BusinessKey::Base64 { base64: format!("{}{rest}", BASE64_STANDARD.encode(start)) },
    }
}

/// What is needed to read a copy again.
pub(super) struct Verifier<'a> {
    subjects: &'a [Subject<'a>],
    inventory: &'a Inventory,
    plans: Vec<&'a TopicPlan>,
    mode: ReadMode,
    by_directory: HashMap<&'a str, usize>,
    decompressor: Decompressor,
    content: Content,
}

impl<'a> Verifier<'a> {
    /// `plans` are those of the subjects' topics, in the order of the subjects.
    pub(super) fn new(
        subjects: &'a [Subject<'a>],
        inventory: &'a Inventory,
        plans: &[&'a TopicPlan],
        mode: ReadMode,
        limits: Limits,
    ) -> Self {
        let by_directory =
            inventory.partitions.iter().enumerate().map(|(at, dir)| (dir.display.as_str(), at));
        Self {
            subjects,
            inventory,
            plans: plans.to_vec(),
            mode,
            by_directory: by_directory.collect(),
            decompressor: Decompressor::with_limits(limits),
            content: Content::default(),
        }
    }

    /// Takes out of the findings every group whose copies are not equal byte for byte, volatile
    /// fields aside, and says so.
    pub(super) fn check(&mut self, findings: &mut Vec<Finding>) -> Vec<Note> {
        let mut notes = Vec::new();
        for finding in findings.iter_mut() {
            let groups = std::mem::take(&mut finding.groups);
            for group in groups {
                if self.is_equal(&group) {
                    finding.groups.push(group);
                    continue;
                }
                let listed = u64::try_from(group.copies.len().saturating_sub(1)).unwrap_or(0);
                let surplus = listed.saturating_add(group.copies_omitted);
                finding.counts.groups = finding.counts.groups.saturating_sub(1);
                finding.counts.surplus_records = finding.counts.surplus_records.saturating_sub(surplus);
                finding.counts.surplus_committed =
                    finding.counts.surplus_committed.min(finding.counts.surplus_records);
                let file = group.copies.first().map_or_else(String::new, |copy| copy.directory.clone());
                let detail = "copies of one event were not found again byte for byte (a file that changes, or offsets that repeat inside a batch): not reported";
                notes.push(Note::about(file, detail));
            }
        }
        // What no byte proves is not reported.
        findings.retain(|finding| finding.level.is_none() || finding.counts.surplus_records > 0);
        notes
    }

    fn is_equal(&mut self, group: &Group) -> bool {
        let spots: Vec<Option<Spot>> = group.copies.iter().map(|copy| self.spot(copy)).collect();
        self.are_equal(spots.into_iter())
    }

    /// Takes out every group whose copies are not equal byte for byte, and says so.
    pub(super) fn check_all(&mut self, groups: &mut Groups) -> Vec<Note> {
        let (mut notes, mut unequal) = (Vec::new(), Vec::new());
        let mut pairs = groups.pairs().peekable();
        while let Some(first) = pairs.next() {
            let mut copies = 2_u64;
            let partition = usize::try_from(first.earlier.partition).ok();
            let bytes = Spot::of(&first.earlier).and_then(|spot| self.read(spot));
            let mut equals = |copy: &StoredCopy| {
                let own = Spot::of(copy).and_then(|spot| self.read(spot));
                own.is_some() && own == bytes
            };
            let mut equal = equals(&first.later);
            while let Some(next) = pairs.next_if(|next| next.group == first.group) {
                copies += 1;
                equal = equal && equals(&next.later);
            }
            if !equal {
                unequal.push(first.group);
                let dir = partition.and_then(|at| self.inventory.partitions.get(at));
                let file = dir.map_or_else(String::new, |dir| dir.display.clone());
                let detail =
                    format!("{copies} copies of one event are not equal byte for byte: not reported");
                notes.push(Note::about(file, detail));
            }
        }
        drop(pairs);
        groups.leave_out(unequal);
        notes
    }

    fn are_equal(&mut self, copies: impl Iterator<Item = Option<Spot>>) -> bool {
        let mut first: Option<Vec<u8>> = None;
        for copy in copies {
            let Some(bytes) = copy.and_then(|copy| self.read(copy)) else { return false };
            match &first {
                None => first = Some(bytes),
                Some(first) if *first == bytes => {}
                Some(_) => return false,
            }
        }
        true
    }

    /// Puts the beginning of each value beside its copy.
    pub(super) fn put_values(&mut self, findings: &mut [Finding]) {
        let groups = findings.iter_mut().flat_map(|finding| &mut finding.groups);
        for copy in groups.flat_map(|group| &mut group.copies) {
            copy.value = self.record(copy, |record| record.value.map(shown)).flatten();
        }
    }

    fn spot(&self, copy: &Copy) -> Option<Spot> {
        let partition = *self.by_directory.get(copy.directory.as_str())?;
        let dir = self.inventory.partitions.get(partition)?;
        let segment = dir.segments.iter().position(|segment| segment.file_name == copy.segment)?;
        Some(Spot { partition, segment, position: FilePosition(copy.position), offset: copy.offset })
    }

    /// What makes the record a copy, read again from its place: its content, or its key where every
    /// repeat of the key is one.
    fn read(&mut self, spot: Spot) -> Option<Vec<u8>> {
        let plan = *self.plans.get(spot.partition)?;
        let mut content = std::mem::take(&mut self.content);
        let bytes = self.at(spot, |record| match (plan.repeats, &plan.identity) {
            (RepeatsOf::Key, Identity::Key(spec)) => {
                let mut key = Vec::new();
                keys::identify(spec, record, |part| key.extend_from_slice(part));
                key
            }
            _ => content.bytes(record, &plan.mask).to_vec(),
        });
        self.content = content;
        bytes
    }

    /// Stands for what makes the record a copy: equal for two records of one topic that are copies by that.
    pub(super) fn sameness(&mut self, copy: &Copy) -> Option<u128> {
        let spot = self.spot(copy)?;
        self.read(spot).map(|bytes| xxhash_rust::xxh3::xxh3_128(&bytes))
    }

    /// Reads the record again from its place.
    pub(super) fn record<T>(&mut self, copy: &Copy, take: impl FnMut(&Record<'_>) -> T) -> Option<T> {
        let spot = self.spot(copy)?;
        self.at(spot, take)
    }

    fn at<T>(&mut self, spot: Spot, mut take: impl FnMut(&Record<'_>) -> T) -> Option<T> {
        let segment = self.subjects.get(spot.partition)?.segments.get(spot.segment)?;
        let source = segment.open(self.mode).ok()?.at_one_place(ONE_BATCH);
        let mut scanner = segment.scanner(source, spot.position, None);
        let batch = match scanner.next_item().ok()?? {
            SegmentItem::Batch(batch) => batch,
            SegmentItem::Suspect(suspect) => suspect.in_line()?,
            SegmentItem::Damage(_) => return None,
        };
        let mut found = None;
        batch
            .for_each_record(&mut self.decompressor, |record| {
                if record.offset.0 == spot.offset {
                    found = Some(take(record));
                }
            })
            .ok()?;
        found
    }

    /// The fields of a copy that do not count as content.
    pub(super) fn mask(&self, copy: &Copy) -> Option<&Mask> {
        self.plans.get(*self.by_directory.get(copy.directory.as_str())?).map(|plan| &plan.mask)
    }
}

/// Bytes that are read for one batch, unless it is larger.
const ONE_BATCH: usize = 64 << 10;

/// Where a copy stands.
#[derive(Clone, Copy, Debug)]
struct Spot {
    partition: usize,
    segment: usize,
    position: FilePosition,
    offset: i64,
}

impl Spot {
    fn of(copy: &StoredCopy) -> Option<Self> {
        Some(Self {
            partition: usize::try_from(copy.partition).ok()?,
            segment: usize::try_from(copy.batch.segment).ok()?,
            position: copy.batch.position,
            offset: copy.offset.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_from_its_beginning_and_no_character_is_cut() {
        assert_eq!(shown("a\nä".as_bytes()), BusinessKey::Text { text: "a\nä".to_owned() });
        assert_eq!(shown(b"\xff\x00"), BusinessKey::Base64 { base64: "/wA=".to_owned() });
        let long = format!("{}ä{}", "x".repeat(VALUE_BYTES - 1), "y".repeat(100));
        let text = format!("{}… (2149 bytes)", "x".repeat(VALUE_BYTES - 1));
        assert_eq!(shown(long.as_bytes()), BusinessKey::Text { text });
    }
}
