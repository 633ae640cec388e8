//! From results in the order of the list to the answer: the list is read again for its words.

use super::super::copies::{SecondLook, shown_parts};
use super::super::groups::Wanted;
use super::super::pass::PartitionOutcome;
use super::join::{Found, Join};
use super::lookup::At;
use super::{Reconciler, lookup, unusable};
use crate::candidates::DigestKey;
use crate::candidates::spill::Sorter;
use crate::error::AuditError;
use crate::expected::{Entries, Entry};
use crate::facts::PartitionContext;
use crate::finding::{BusinessKey, Finding, Gap, rfc3339};
use crate::input::Inventory;
use crate::judgement::duplicates::{self, Examples};
use crate::relations::{Candidate, Relations};
use crate::report::missing_list;
use crate::report::reconcile::{
    Acknowledged, Acknowledgement, Expected, MissingKey, MissingStretch, Neighbour, Reconciled, StoredKey,
    UnexpectedKey,
};
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};

/// What the audit of the same files knows.
pub(in crate::audit) struct Known<'a> {
    pub(in crate::audit) look: &'a SecondLook<'a>,
    pub(in crate::audit) relations: &'a Relations,
    pub(in crate::audit) inventory: &'a Inventory,
    pub(in crate::audit) outcomes: &'a [PartitionOutcome],
    pub(in crate::audit) contexts: &'a [&'a PartitionContext],
    /// The directories that lead.
    pub(in crate::audit) led: &'a [usize],
    pub(in crate::audit) partition_count: &'a dyn Fn(&str) -> Option<u32>,
    /// Whether everything that was given could be read.
    pub(in crate::audit) complete: bool,
    pub(in crate::audit) findings: &'a [Finding],
    pub(in crate::audit) topic_ids: &'a BTreeMap<String, String>,
    pub(in crate::audit) digest_key: DigestKey,
    pub(in crate::audit) results: &'a dyn Fn() -> Sorter<Found>,
    pub(in crate::audit) wanted: &'a dyn Fn() -> Sorter<Wanted>,
}

impl Known<'_> {
    /// The led directories of topics that are no internal ones.
    fn judged(&self) -> impl Iterator<Item = usize> {
        let internal = |at: usize| self.inventory.partitions.get(at).is_none_or(|dir| dir.internal);
        self.led.iter().copied().filter(move |&at| !internal(at))
    }

    /// The directories with this partition.
    fn of_partition(&self, partition: i32) -> impl Iterator<Item = usize> {
        self.judged().filter(move |&at| {
            self.inventory.partitions.get(at).is_some_and(|dir| dir.partition == partition)
        })
    }

    /// The oldest time of the logs, where any of them has lost its head.
    fn oldest(&self) -> Option<i64> {
        let cut = |at: usize| self.contexts.get(at).is_some_and(|context| context.log_start_offset.0 > 0);
        let times =
            self.judged().filter(|&at| cut(at)).filter_map(|at| self.outcomes.get(at)?.facts.first_timestamp);
        times.min()
    }
}

/// A key of the list that is stored, in the order of the list.
#[derive(Clone)]
struct Stored {
    key: BusinessKey,
    line: u64,
    place: At,
}

/// A stretch of missing keys that is listed.
struct Stretch {
    first: MissingKey,
    last: MissingKey,
    count: u64,
    before: Option<Stored>,
    after: Option<Stored>,
    /// The last stored key before it, and the first one behind it, in each partition.
    before_in: BTreeMap<u32, Offset>,
    after_in: BTreeMap<u32, Offset>,
}

struct Telling<'k> {
    known: &'k Known<'k>,
    listed: usize,
    answer: Reconciled,
    oldest: Option<i64>,
    /// The stretch that the last key belongs to; not listed when there are too many.
    open: Option<Stretch>,
    stretches: Vec<Stretch>,
    last_stored: Option<Stored>,
    last_in: BTreeMap<u32, Offset>,
    /// The places of the listed keys that are stored more than once.
    more_places: Vec<Vec<At>>,
    acknowledged: Acknowledged,
    has_acknowledged: bool,
    /// Listed acknowledgements with the places to be looked at.
    examples: Vec<(Acknowledgement, Option<At>)>,
}

pub(super) fn tell(
    reconciler: &mut Reconciler<'_>,
    mut join: Join,
    known: &Known<'_>,
) -> Result<Reconciled, AuditError> {
    let mut results = join.finish((known.results)())?;
    let failed = |source| AuditError::Output { path: "the list of missing keys".into(), source };
    missing_list::begin(reconciler.missing).map_err(failed)?;
    let mut telling = Telling::new(known, reconciler.listed);
    telling.answer.expected = expected(reconciler);
    let mut entries =
        Entries::open(&reconciler.file, &reconciler.fields).map_err(|error| unusable(&error))?;
    while let Some(entry) = entries.next_entry().map_err(|error| unusable(&error))? {
        if reconciler.stopped_at.is_some_and(|stopped| stopped <= entry.number) {
            telling.answer.expected.stopped_at_line = Some(entry.line);
            break;
        }
        telling.answer.expected.entries += 1;
        if !entry.has_key() {
            telling.answer.expected.entries_without_key += 1;
            continue;
        }
        let Some(found) = results.of(entry.number)? else {
            telling.answer.expected.repeated_entries += 1;
            continue;
        };
        let digest = |reading| known.digest_key.given(&reconciler.key, &entry.key, reading);
        if !(0..reconciler.key.readings()).any(|reading| digest(reading) == found.identity) {
            let changed = entries.error(entry.line, "it was changed while it was read");
            return Err(unusable(&changed));
        }
        let key = shown_parts(&reconciler.key, &entry.key);
        if found.uncommitted == 0 {
            missing_list::row(reconciler.missing, entry.line, &key, entry.time).map_err(failed)?;
        }
        telling.key(&entry, key, &found);
    }
    telling.finish(&join)
}

fn expected(reconciler: &Reconciler<'_>) -> Expected {
    Expected {
        file: reconciler.file.display().to_string(),
        format: reconciler.fields.format.name().to_owned(),
        key: reconciler.fields.key.iter().map(ToString::to_string).collect(),
        ..Expected::default()
    }
}

impl<'k> Telling<'k> {
    fn new(known: &'k Known<'k>, listed: usize) -> Self {
        Self {
            known,
            listed,
            answer: Reconciled::default(),
            oldest: known.oldest(),
            open: None,
            stretches: Vec::new(),
            last_stored: None,
            last_in: BTreeMap::new(),
            more_places: Vec::new(),
            acknowledged: Acknowledged::default(),
            has_acknowledged: false,
            examples: Vec::new(),
        }
    }

    /// Takes a key of the list.
    fn key(&mut self, entry: &Entry, key: BusinessKey, found: &Found) {
        self.answer.expected.keys += 1;
        self.answer.visibility.read_uncommitted.add(found.uncommitted);
        self.answer.visibility.read_committed.add(found.committed);
        self.acknowledgement(entry, &key, found);
        let Some(&place) = found.places.first() else {
            return self.missing(entry, key);
        };
        if found.uncommitted > 1 {
            if self.answer.stored_more.keys.len() < self.listed {
                self.answer.stored_more.keys.push(StoredKey {
                    business_key: key.clone(),
                    line: entry.line,
                    records: found.uncommitted,
                    records_committed: found.committed,
                    findings: Vec::new(),
                });
                self.more_places.push(found.places.clone());
            }
            self.answer.stored_more.count += 1;
        } else {
            self.answer.stored_once += 1;
        }
        let stored = Stored { key, line: entry.line, place };
        if let Some(mut stretch) = self.open.take() {
            stretch.after = Some(stored.clone());
            self.keep(stretch);
        }
        for stretch in &mut self.stretches {
            stretch.after_in.entry(place.0).or_insert(place.1);
        }
        self.last_in.insert(place.0, place.1);
        self.last_stored = Some(stored);
    }

    fn missing(&mut self, entry: &Entry, business_key: BusinessKey) {
        let missing = &mut self.answer.missing;
        let key = MissingKey {
            business_key,
            line: entry.line,
            timestamp: entry.time,
            time: entry.time.and_then(rfc3339),
        };
        missing.count += 1;
        if let Some(time) = entry.time {
            let older = u64::from(self.oldest.is_some_and(|oldest| time < oldest));
            *missing.older_than_log.get_or_insert(0) += older;
        }
        if missing.keys.len() < self.listed {
            missing.keys.push(key.clone());
        }
        if let Some(stretch) = &mut self.open {
            stretch.count += 1;
            stretch.last = key;
        } else {
            missing.stretch_count += 1;
            self.open = Some(Stretch {
                first: key.clone(),
                last: key,
                count: 1,
                before: self.last_stored.clone(),
                after: None,
                before_in: self.last_in.clone(),
                after_in: BTreeMap::new(),
            });
        }
    }

    fn keep(&mut self, stretch: Stretch) {
        if self.stretches.len() < self.listed {
            self.stretches.push(stretch);
        }
    }

    fn acknowledgement(&mut self, entry: &Entry, key: &BusinessKey, found: &Found) {
        // A client that waits for no acknowledgement is told −1.
        let Some(offset) = entry.offset.filter(|offset| *offset >= 0) else { return };
        self.has_acknowledged = true;
        self.acknowledged.entries += 1;
        let partitions: Vec<usize> = match entry.partition {
            Some(partition) => self.known.of_partition(partition).collect(),
            None => self.known.judged().collect(),
        };
        let at = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let stored = |partition: &usize| found.places.contains(&(at(*partition), Offset(offset)));
        if partitions.iter().any(stored) {
            self.acknowledged.stored_there += 1;
            return;
        }
        // Not all places of a key are kept: one that is stored very often cannot be told.
        let all_kept = u64::try_from(found.places.len()).unwrap_or(u64::MAX) == found.uncommitted;
        let (what, place) = match partitions.as_slice() {
            [one] if all_kept => {
                let (start, end) = (
                    self.known.contexts.get(*one).map_or(0, |context| context.log_start_offset.0),
                    self.known.outcomes.get(*one).map_or(0, |outcome| outcome.facts.log_end_offset.0),
                );
                match offset {
                    offset if offset < start => ("below-the-start", None),
                    offset if offset >= end => ("behind-the-end", None),
                    offset => ("nothing", Some((at(*one), Offset(offset)))),
                }
            }
            [] => ("partition-not-given", None),
            _ => {
                self.acknowledged.unplaced += 1;
                return;
            }
        };
        self.acknowledged.elsewhere += 1;
        if self.examples.len() < self.listed {
            let partition = entry.partition.or_else(|| {
                self.known.inventory.partitions.get(*partitions.first()?).map(|dir| dir.partition)
            });
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

    fn finish(mut self, join: &Join) -> Result<Reconciled, AuditError> {
        if let Some(stretch) = self.open.take() {
            self.keep(stretch);
        }
        let mut places = join.unexpected_places.clone();
        for stretch in &self.stretches {
            places.extend([&stretch.before, &stretch.after].into_iter().flatten().map(|stored| stored.place));
        }
        places.extend(self.examples.iter().filter_map(|(_, place)| *place));
        let records = lookup::records(self.known.look, &places, (self.known.wanted)())?;

        self.answer.unexpected.count = join.unexpected.0;
        self.answer.unexpected.records = join.unexpected.1;
        let unexpected = join.unexpected_places.iter().filter_map(|place| records.get(place));
        self.answer.unexpected.keys = unexpected
            .map(|candidate| UnexpectedKey {
                business_key: candidate.business_key.clone(),
                copy: self.known.relations.told(&candidate.copy),
            })
            .collect();
        let stretches = std::mem::take(&mut self.stretches);
        self.answer.missing.stretches =
            stretches.into_iter().map(|stretch| self.stretch(stretch, &records)).collect();
        if self.has_acknowledged {
            let examples = std::mem::take(&mut self.examples);
            self.acknowledged.examples = examples
                .into_iter()
                .map(|(mut example, place)| {
                    if let Some(candidate) = place.and_then(|place| records.get(&place)) {
                        "another-key".clone_into(&mut example.what);
                        example.holds = Some(candidate.business_key.clone());
                    }
                    example
                })
                .collect();
            self.answer.acknowledged = Some(std::mem::take(&mut self.acknowledged));
        }
        self.name_findings();
        self.answer.doubts = doubts(self.known);
        self.answer.evidence_complete = self.answer.doubts.is_empty();
        let bears = |finding: &&Finding| finding.counts.surplus_records > 0 || !finding.gaps.is_empty();
        self.answer.findings = self.known.findings.iter().filter(bears).cloned().collect();
        Ok(self.answer)
    }

    fn stretch(&self, stretch: Stretch, records: &BTreeMap<At, Candidate>) -> MissingStretch {
        let neighbour = |stored: Stored| Neighbour {
            business_key: stored.key,
            line: stored.line,
            copy: records.get(&stored.place).map(|candidate| self.known.relations.told(&candidate.copy)),
        };
        let gaps = self.gaps(&stretch);
        let (before, after) = (stretch.before.map(neighbour), stretch.after.map(neighbour));
        let session = |neighbour: &Option<Neighbour>| neighbour.as_ref()?.copy.as_ref()?.session.clone();
        let session = session(&before).filter(|one| session(&after).as_ref() == Some(one));
        MissingStretch {
            first: stretch.first,
            last: stretch.last,
            count: stretch.count,
            before,
            after,
            session,
            gaps,
        }
    }

    /// Gaps of sequences between the stored keys before and behind a stretch, in each partition.
    fn gaps(&self, stretch: &Stretch) -> Vec<Gap> {
        let mut gaps = Vec::new();
        for at in self.known.judged() {
            let (Some(outcome), Some(dir)) =
                (self.known.outcomes.get(at), self.known.inventory.partitions.get(at))
            else {
                continue;
            };
            let index = u32::try_from(at).unwrap_or(u32::MAX);
            let before = stretch.before_in.get(&index).copied();
            let after = stretch.after_in.get(&index).copied();
            // Without a neighbour on either side nothing places the stretch in this partition.
            if before.is_none() && after.is_none() {
                continue;
            }
            let between = |offset: i64| {
                before.is_none_or(|before| before.0 < offset) && after.is_none_or(|after| offset <= after.0)
            };
            let here = outcome.facts.gaps.iter().filter(|gap| between(gap.at_offset));
            gaps.extend(here.take(self.listed).map(|gap| Gap { partition: dir.partition, ..gap.clone() }));
        }
        gaps.truncate(self.listed);
        gaps
    }

    /// Names the findings that explain the listed keys that are stored more than once.
    fn name_findings(&mut self) {
        if self.more_places.is_empty() {
            return;
        }
        let mut all = duplicates::findings(self.known.relations, Examples::All);
        crate::judgement::identify(&mut all, self.known.topic_ids);
        let directory = |at: &At| {
            let note = self.known.relations.partitions.get(usize::try_from(at.0).ok()?)?;
            Some((note.directory.clone(), at.1.0))
        };
        let mut wanted: BTreeMap<(String, i64), Vec<usize>> = BTreeMap::new();
        for (index, places) in self.more_places.iter().enumerate() {
            for place in places.iter().filter_map(directory) {
                wanted.entry(place).or_default().push(index);
            }
        }
        let mut ids: Vec<BTreeSet<String>> = vec![BTreeSet::new(); self.more_places.len()];
        for finding in &all {
            for copy in finding.groups.iter().flat_map(|group| &group.copies) {
                let place = (copy.directory.clone(), copy.offset);
                for &index in wanted.get(&place).into_iter().flatten() {
                    if let Some(ids) = ids.get_mut(index) {
                        ids.insert(finding.id.clone());
                    }
                }
            }
        }
        for (key, ids) in self.answer.stored_more.keys.iter_mut().zip(ids) {
            key.findings = ids.into_iter().collect();
        }
    }
}

/// Why a missing key may yet have been stored.
fn doubts(known: &Known<'_>) -> Vec<String> {
    let mut doubts = Vec::new();
    if !known.complete {
        doubts.push("not everything that was given could be read; the coverage says what".to_owned());
    }
    let mut topics: BTreeMap<&str, BTreeSet<i32>> = BTreeMap::new();
    for at in known.judged() {
        let (Some(dir), Some(context), Some(outcome)) =
            (known.inventory.partitions.get(at), known.contexts.get(at), known.outcomes.get(at))
        else {
            continue;
        };
        topics.entry(&dir.topic).or_default().insert(dir.partition);
        if context.log_start_offset.0 > 0 {
            doubts.push(format!(
                "{} begins at offset {}: what stood before is deleted",
                dir.display, context.log_start_offset
            ));
        }
        if outcome.facts.cleaned_below.is_some() {
            doubts.push(format!("{} was compacted: records that were superseded are gone", dir.display));
        }
        let without = outcome.counts.without_key;
        if without > 0 {
            doubts.push(format!("{}: {without} records have no such key", dir.display));
        }
    }
    for (topic, given) in topics {
        let highest = given.last().copied().unwrap_or(-1);
        let count = (known.partition_count)(topic).and_then(|count| i32::try_from(count).ok());
        let all = count.unwrap_or(highest + 1);
        let absent: Vec<i32> = (0..all).filter(|partition| !given.contains(partition)).collect();
        if let Some(first) = absent.first() {
            let more = match absent.len() {
                1 => String::new(),
                more => format!(" and {} more", more - 1),
            };
            doubts.push(format!("{topic}-{first}{more} of {all} partitions were not given"));
        }
        if count.is_none() {
            doubts.push(format!(
                "nothing tells how many partitions topic {topic} has: {} were given (--partition-count \
                 {topic}=N tells)",
                given.len()
            ));
        }
    }
    doubts
}
