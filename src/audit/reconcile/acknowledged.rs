//! Acknowledged offsets that the log does not bear out.

use super::join::Found;
use super::known::Known;
use super::lookup::At;
use crate::expected::Entry;
use crate::finding::BusinessKey;
use crate::relations::Candidate;
use crate::report::reconcile::{Acknowledged, Acknowledgement};
use crate::units::Offset;
use std::collections::BTreeMap;

/// What became of the acknowledgements of a list.
pub(super) struct Acknowledgements {
    listed: usize,
    counts: Acknowledged,
    has_any: bool,
    /// Those that are listed with the places to be looked at.
    examples: Vec<(Acknowledgement, Option<At>)>,
}

impl Acknowledgements {
    pub(super) fn new(listed: usize) -> Self {
        Self { listed, counts: Acknowledged::default(), has_any: false, examples: Vec::new() }
    }

    /// Takes a key of the list with what was found of it.
    pub(super) fn take(&mut self, known: &Known<'_>, entry: &Entry, key: &BusinessKey, found: &Found) {
        // A client that waits for no acknowledgement is told −1.
        let Some(offset) = entry.offset.filter(|offset| *offset >= 0) else { return };
        self.has_any = true;
        self.counts.entries += 1;
        let partitions: Vec<usize> = match entry.partition {
            Some(partition) => known.of_partition(partition).collect(),
            None => known.judged().collect(),
        };
        let at = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let stored = |partition: &usize| found.places.contains(&(at(*partition), Offset(offset)));
        if partitions.iter().any(stored) {
            self.counts.stored_there += 1;
            return;
        }
        // Not all places of a key are kept: one that is stored very often cannot be told.
        let all_kept = u64::try_from(found.places.len()).unwrap_or(u64::MAX) == found.records();
        let (what, place) = match partitions.as_slice() {
            [one] if all_kept => {
                let (start, end) = (
                    known.contexts.get(*one).map_or(0, |context| context.log_start_offset.0),
                    known.outcomes.get(*one).map_or(0, |outcome| outcome.facts.log_end_offset.0),
                );
                match offset {
                    offset if offset < start => ("below-the-start", None),
                    offset if offset >= end => ("behind-the-end", None),
                    offset => ("nothing", Some((at(*one), Offset(offset)))),
                }
            }
            [] => ("partition-not-given", None),
            _ => {
                self.counts.unplaced += 1;
                return;
            }
        };
        self.counts.elsewhere += 1;
        if self.examples.len() < self.listed {
            let partition = entry
                .partition
                .or_else(|| known.inventory.partitions.get(*partitions.first()?).map(|dir| dir.partition));
            let example = Acknowledgement {
                business_key: key.clone(),
                line: entry.line,
                partition: partition.unwrap_or(-1),
                offset,
                what: what.to_owned(),
                holds: None,
            };
            self.examples.push((example, place));
        }
    }

    /// The places to be looked at.
    pub(super) fn places(&self) -> impl Iterator<Item = At> {
        self.examples.iter().filter_map(|(_, place)| *place)
    }

    /// The answer; `None` where the list has no acknowledgements.
    pub(super) fn tell(self, records: &BTreeMap<At, Candidate>) -> Option<Acknowledged> {
        let examples = self.examples.into_iter().map(|(mut example, place)| {
            if let Some(candidate) = place.and_then(|place| records.get(&place)) {
                "another-key".clone_into(&mut example.what);
                example.holds = Some(candidate.business_key.clone());
            }
            example
        });
        self.has_any.then(|| Acknowledged { examples: examples.collect(), ..self.counts })
    }
}
