//! Acknowledged offsets that the log does not bear out.
//!
//! An acknowledgement is contradicted where the log of the partition was read at its offset and holds another record or
//! none. Innocent, and left open: retention or a cleaner took the record, bytes there could not be read, or the
//! partition in which the key was to stand was not given.

use super::join::Found;
use super::known::Known;
use super::lookup::At;
use crate::expected::Entry;
use crate::finding::BusinessKey;
use crate::relations::Candidate;
use crate::report::reconcile::{Acknowledged, Acknowledgement};
use crate::units::Offset;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What became of the acknowledgements of a list.
pub(super) struct Acknowledgements {
    listed: usize,
    counts: Acknowledged,
    has_any: bool,
    /// Those that are listed with the places to be looked at.
    examples: Vec<Example>,
}

/// An acknowledgement that is listed.
struct Example {
    told: Acknowledgement,
    /// The directories that may be meant, one of each topic, with what is there.
    meant: Vec<Meant>,
    /// Whether the topics in which the key stands are among them.
    whole: bool,
    counted: Verdict,
}

struct Meant {
    directory: usize,
    what: &'static str,
    verdict: Verdict,
    /// To be looked at.
    place: Option<At>,
}

/// Whether a place without the record speaks against the acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Contradicted,
    /// The record may have been there.
    Open,
}

impl Verdict {
    /// Of a list without topics, the acknowledgement is contradicted where each of those that may be meant says so.
    fn of<'m>(meant: impl IntoIterator<Item = &'m Meant>, whole: bool) -> Self {
        let mut verdicts = meant.into_iter().map(|meant| meant.verdict).peekable();
        let all = verdicts.peek().is_some() && verdicts.all(|verdict| verdict == Self::Contradicted);
        if all && whole { Self::Contradicted } else { Self::Open }
    }
}

impl Acknowledgements {
    pub(super) fn new(listed: usize) -> Self {
        Self { listed, counts: Acknowledged::default(), has_any: false, examples: Vec::new() }
    }

    /// Takes an entry that repeats a key so often that it was not looked up.
    pub(super) fn untold(&mut self, entry: &Entry) {
        if entry.offset.is_some_and(|offset| offset >= 0) {
            self.has_any = true;
            self.counts.entries += 1;
            self.counts.unplaced += 1;
        }
    }

    /// Takes an entry of the list with what was found of its key.
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
        // A list names no topics: in none of them may a partition be left to be guessed.
        let topics: BTreeSet<usize> =
            partitions.iter().map(|&partition| known.topics.of_partition(partition)).collect();
        if !all_kept || topics.len() < partitions.len() {
            self.counts.unplaced += 1;
            return;
        }
        self.counts.elsewhere += 1;
        let meant = partitions.iter().map(|&directory| Meant::of(known, directory, Offset(offset)));
        let meant: Vec<Meant> = meant.collect();
        let whole = found
            .in_topics
            .iter()
            .all(|one| usize::try_from(one.topic).is_ok_and(|one| topics.contains(&one)));
        let counted = Verdict::of(&meant, whole);
        self.counts.contradicted += u64::from(counted == Verdict::Contradicted);
        if self.examples.len() < self.listed {
            let told = Acknowledgement {
                business_key: key.clone(),
                line: entry.line,
                topic: None,
                partition: entry.partition.unwrap_or(-1),
                offset,
                what: "partition-not-given".to_owned(),
                contradicted: false,
                holds: None,
            };
            self.examples.push(Example { told, meant, whole, counted });
        }
    }

    /// The places to be looked at.
    pub(super) fn places(&self) -> impl Iterator<Item = At> {
        self.examples.iter().flat_map(|example| &example.meant).filter_map(|meant| meant.place)
    }

    /// The answer; `None` where the list has no acknowledgements. Of several topics the one is told that has most
    /// keys of the list, by `keys`.
    pub(super) fn tell(
        self,
        known: &Known<'_>,
        keys: &dyn Fn(usize) -> u64,
        records: &BTreeMap<At, Candidate>,
    ) -> Option<Acknowledged> {
        let mut counts = self.counts;
        let examples = self.examples.into_iter().map(|Example { mut told, mut meant, whole, counted }| {
            // Another record at the offset leaves nothing open.
            for meant in &mut meant {
                if meant.place.is_some_and(|place| records.contains_key(&place)) {
                    (meant.what, meant.verdict) = ("another-key", Verdict::Contradicted);
                }
            }
            let verdict = Verdict::of(&meant, whole);
            counts.contradicted += u64::from(counted != verdict);
            told.contradicted = verdict == Verdict::Contradicted;
            let most =
                |meant: &&Meant| (keys(known.topics.of_partition(meant.directory)), Reverse(meant.directory));
            let Some(meant) = meant.iter().max_by_key(most) else { return told };
            if let Some(dir) = known.inventory.partitions.get(meant.directory) {
                (told.topic, told.partition) = (Some(dir.topic.clone()), dir.partition);
            }
            meant.what.clone_into(&mut told.what);
            if let Some(candidate) = meant.place.and_then(|place| records.get(&place)) {
                told.holds = Some(candidate.business_key.clone());
            }
            told
        });
        let examples = examples.collect();
        self.has_any.then_some(Acknowledged { examples, ..counts })
    }
}

impl Meant {
    fn of(known: &Known<'_>, directory: usize, offset: Offset) -> Self {
        let start = known.contexts.get(directory).map_or(Offset(0), |context| context.log_start_offset);
        let outcome = known.outcomes.get(directory);
        let end = outcome.map_or(Offset(0), |outcome| outcome.facts.log_end_offset);
        let cleaned = outcome.map(|outcome| &outcome.facts).filter(|facts| facts.was_cleaned);
        let cleaned = cleaned.and_then(|facts| facts.cleaned_below);
        let was_read = outcome.is_some_and(|outcome| {
            !outcome.interrupted && outcome.damage.iter().all(|(_, damage)| damage.expected)
        });
        let (what, place) = match offset {
            offset if offset < start => ("below-the-start", None),
            offset if offset >= end => ("behind-the-end", None),
            offset => ("nothing", u32::try_from(directory).ok().map(|at| (at, offset))),
        };
        let may_be_gone = offset < start || cleaned.is_some_and(|cleaned| offset < cleaned) || !was_read;
        let verdict = if may_be_gone { Verdict::Open } else { Verdict::Contradicted };
        Self { directory, what, verdict, place }
    }
}
