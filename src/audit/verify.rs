//! Compares the bytes of all copies that the report shows: digests only select.

use super::pass::Subject;
use crate::finding::{BusinessKey, Copy, Finding, Group};
use crate::format::{Decompressor, Limits, Record, SegmentItem};
use crate::input::{Inventory, ReadMode};
use crate::keys::{Content, Mask};
use crate::plan::TopicPlan;
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
    masks: Vec<&'a Mask>,
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
            masks: plans.iter().map(|plan| &plan.mask).collect(),
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
        let mut first: Option<Vec<u8>> = None;
        for copy in &group.copies {
            let Some(content) = self.read(copy) else { return false };
            match &first {
                None => first = Some(content),
                Some(first) if *first == content => {}
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

    /// The content of the record, read again from its place.
    fn read(&mut self, copy: &Copy) -> Option<Vec<u8>> {
        let mask = *self.masks.get(*self.by_directory.get(copy.directory.as_str())?)?;
        let mut content = std::mem::take(&mut self.content);
        let bytes = self.record(copy, |record| content.bytes(record, mask).to_vec());
        self.content = content;
        bytes
    }

    /// Reads the record again from its place.
    pub(super) fn record<T>(&mut self, copy: &Copy, mut take: impl FnMut(&Record<'_>) -> T) -> Option<T> {
        let at = *self.by_directory.get(copy.directory.as_str())?;
        let dir = self.inventory.partitions.get(at)?;
        let segment = dir.segments.iter().position(|segment| segment.file_name == copy.segment)?;
        let segment = self.subjects.get(at)?.segments.get(segment)?;
        let source = segment.open(self.mode).ok()?;
        let mut scanner = segment.scanner(source, FilePosition(copy.position), None);
        let batch = match scanner.next_item().ok()?? {
            SegmentItem::Batch(batch) => batch,
            SegmentItem::Suspect(suspect) => suspect.in_line()?,
            SegmentItem::Damage(_) => return None,
        };
        let mut found = None;
        batch
            .for_each_record(&mut self.decompressor, |record| {
                if record.offset.0 == copy.offset {
                    found = Some(take(record));
                }
            })
            .ok()?;
        found
    }

    /// The fields of a copy that do not count as content.
    pub(super) fn mask(&self, copy: &Copy) -> Option<&Mask> {
        self.masks.get(*self.by_directory.get(copy.directory.as_str())?).copied()
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
