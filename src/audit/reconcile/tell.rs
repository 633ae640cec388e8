//! From results in the order of the list to the answer: the list is read again for its words.

use super::super::copies::shown_parts;
use super::acknowledged::Acknowledgements;
use super::join::{self, Found, Join};
use super::known::{Known, doubts};
use super::lookup::At;
use super::replicas::Elsewhere;
use super::stretches::{Stored, Stretches};
use super::{Reconciler, lookup, unusable};
use crate::candidates::Fingerprint;
use crate::error::AuditError;
use crate::expected::{Entries, Entry};
use crate::finding::{BusinessKey, Finding, rfc3339};
use crate::judgement::duplicates::{self, SurplusChoice};
use crate::relations::Candidate;
use crate::report::missing_list;
use crate::report::reconcile::{
    Contents, Expected, MissingKey, Reconciled, Seen, StoredKey, TopicKeys, UnexpectedKey, WithheldBy,
    WithheldKey,
};
use std::collections::{BTreeMap, BTreeSet};

struct Telling<'k> {
    known: &'k Known<'k>,
    listed: usize,
    answer: Reconciled,
    oldest: Option<i64>,
    stretches: Stretches,
    /// The places of the listed keys that are stored more than once.
    more_places: Vec<Vec<At>>,
    /// The first places of the listed keys that are withheld.
    withheld_places: Vec<At>,
    /// Keys of the list by topic, of the topics that have any.
    in_topics: BTreeMap<u32, Seen>,
    acknowledgements: Acknowledgements,
    elsewhere: Elsewhere,
}

pub(super) fn tell(
    reconciler: &mut Reconciler<'_>,
    mut join: Join,
    known: &Known<'_>,
) -> Result<Reconciled, AuditError> {
    let mut results = join.finish((known.results)())?;
    let failed = |source| AuditError::Output { path: "the list of missing keys".into(), source };
    missing_list::begin(reconciler.missing).map_err(failed)?;
    let mut telling = Telling::new(known, reconciler.listed, Elsewhere::of(known)?);
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
            telling.acknowledgements.untold(&entry);
            continue;
        };
        let digest = |reading| known.digest_key.given(&reconciler.key, &entry.key, reading);
        if !(0..reconciler.key.readings()).any(|reading| digest(reading) == found.identity) {
            let changed = entries.error(entry.line, "it was changed while it was read");
            return Err(unusable(&changed));
        }
        let key = shown_parts(&reconciler.key, &entry.key);
        if found.entry == join::Entry::Further {
            telling.answer.expected.repeated_entries += 1;
            telling.acknowledgements.take(known, &entry, &key, &found);
            continue;
        }
        let withheld = found.withheld();
        if found.in_topics.is_empty() || withheld.is_some() {
            missing_list::row(reconciler.missing, entry.line, &key, entry.time, withheld).map_err(failed)?;
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
    fn new(known: &'k Known<'k>, listed: usize, elsewhere: Elsewhere) -> Self {
        Self {
            known,
            listed,
            answer: Reconciled::default(),
            oldest: known.oldest(),
            stretches: Stretches::new(listed),
            more_places: Vec::new(),
            withheld_places: Vec::new(),
            in_topics: BTreeMap::new(),
            acknowledgements: Acknowledgements::new(listed),
            elsewhere,
        }
    }

    /// Takes a key of the list.
    fn key(&mut self, entry: &Entry, key: BusinessKey, found: &Found) {
        self.answer.expected.keys += 1;
        let most = found.most();
        let records = most.map_or(0, |most| most.uncommitted);
        self.answer.visibility.read_uncommitted.add(records);
        self.answer.visibility.read_committed.add(found.committed());
        for one in &found.in_topics {
            self.in_topics.entry(one.topic).or_default().add(one.uncommitted);
        }
        self.acknowledgements.take(self.known, entry, &key, found);
        let (Some(&place), Some(most)) = (found.places.first(), most) else {
            return self.missing(entry, key);
        };
        if let Some(by) = found.withheld() {
            let withheld = &mut self.answer.withheld;
            withheld.count += 1;
            match by {
                WithheldBy::Aborted => withheld.aborted += 1,
                WithheldBy::Open => withheld.open += 1,
            }
            if withheld.keys.len() < self.listed {
                let business_key = key.clone();
                withheld.keys.push(WithheldKey { business_key, line: entry.line, by, copy: None });
                self.withheld_places.push(place);
            }
        }
        if records > 1 {
            if self.answer.stored_more.keys.len() < self.listed {
                self.answer.stored_more.keys.push(StoredKey {
                    business_key: key.clone(),
                    line: entry.line,
                    topic: self.known.topic(most.topic),
                    records,
                    records_committed: most.committed,
                    findings: Vec::new(),
                    contents: None,
                });
                let topic = |at: &At| usize::try_from(at.0).map(|at| self.known.topics.of_partition(at));
                let of_it = |at: &&At| topic(at).is_ok_and(|topic| u32::try_from(topic) == Ok(most.topic));
                self.more_places.push(found.places.iter().filter(of_it).copied().collect());
            }
            self.answer.stored_more.count += 1;
        } else {
            self.answer.stored_once += 1;
        }
        self.stretches.stored(Stored { key, line: entry.line, place });
    }

    fn missing(&mut self, entry: &Entry, business_key: BusinessKey) {
        let missing = &mut self.answer.missing;
        let other_replica = self.elsewhere.copy(&business_key).cloned();
        missing.in_other_replicas += u64::from(other_replica.is_some());
        let key = MissingKey {
            business_key,
            line: entry.line,
            timestamp: entry.time,
            time: entry.time.and_then(rfc3339),
            other_replica,
        };
        missing.count += 1;
        if let Some(time) = entry.time {
            let older = u64::from(self.oldest.is_some_and(|oldest| time < oldest));
            *missing.older_than_log.get_or_insert(0) += older;
        }
        if missing.keys.len() < self.listed {
            missing.keys.push(key.clone());
        }
        self.stretches.missing(key);
    }

    fn finish(mut self, join: &Join) -> Result<Reconciled, AuditError> {
        self.stretches.end();
        let mut places = join.unexpected_places.clone();
        places.extend(self.stretches.places());
        places.extend(self.acknowledgements.places());
        places.extend(self.withheld_places.iter().copied());
        self.name_findings()?;
        let unexplained = self.answer.stored_more.keys.iter().zip(&self.more_places);
        places.extend(
            unexplained
                .filter(|(key, _)| key.findings.is_empty())
                .flat_map(|(_, places)| places.iter().copied()),
        );
        let records = lookup::records(self.known.look, &places, (self.known.wanted)())?;
        self.compare_contents(&records);
        for (key, place) in self.answer.withheld.keys.iter_mut().zip(&self.withheld_places) {
            key.copy = records.get(place).map(|candidate| self.known.relations.told(&candidate.copy));
        }

        self.answer.unexpected.count = join.unexpected.0;
        self.answer.unexpected.records = join.unexpected.1;
        let unexpected = join.unexpected_places.iter().filter_map(|place| records.get(place));
        self.answer.unexpected.keys = unexpected
            .map(|candidate| UnexpectedKey {
                business_key: candidate.business_key.clone(),
                copy: self.known.relations.told(&candidate.copy),
            })
            .collect();
        self.answer.topics = self.topics();
        self.answer.missing.stretch_count = self.stretches.count();
        self.answer.missing.stretches = self.stretches.tell(self.known, &records);
        let in_topics = &self.in_topics;
        let keys = |topic: usize| {
            let seen = u32::try_from(topic).ok().and_then(|topic| in_topics.get(&topic));
            seen.map_or(0, |seen| seen.once + seen.more)
        };
        self.answer.acknowledged = self.acknowledgements.tell(self.known, &keys, &records);
        (self.answer.doubts, self.answer.partitions_not_given) = doubts(self.known);
        self.answer.doubts.extend(self.answer.topics_doubt());
        self.answer.doubts.extend(self.elsewhere.doubts());
        self.answer.evidence_complete = self.answer.doubts.is_empty();
        let bears = |finding: &&Finding| finding.counts.surplus_records > 0 || !finding.gaps.is_empty();
        self.answer.findings = self.known.findings.iter().filter(bears).cloned().collect();
        Ok(self.answer)
    }

    /// The topics that have keys of the list.
    fn topics(&self) -> Vec<TopicKeys> {
        let keys = self.answer.expected.keys;
        let of_topic = |(&topic, seen): (&u32, &Seen)| TopicKeys {
            topic: self.known.topic(topic),
            stored_once: seen.once,
            stored_more: seen.more,
            missing: keys.saturating_sub(seen.once).saturating_sub(seen.more),
        };
        self.in_topics.iter().map(of_topic).collect()
    }

    /// Whether the records differ of keys that no finding explains.
    fn compare_contents(&mut self, records: &BTreeMap<At, Candidate>) {
        let keys = self.answer.stored_more.keys.iter_mut().zip(&self.more_places);
        for (key, places) in keys.filter(|(key, _)| key.findings.is_empty()) {
            let read: Vec<&Candidate> = places.iter().filter_map(|place| records.get(place)).collect();
            let contents: BTreeSet<Fingerprint> = read.iter().map(|candidate| candidate.content).collect();
            key.contents = match contents.len() {
                _ if read.len() < 2 => None,
                1 => Some(Contents::Equal),
                contents if contents == read.len() => Some(Contents::Different),
                _ => Some(Contents::Mixed),
            };
        }
    }

    /// Names the findings that explain the listed keys that are stored more than once.
    fn name_findings(&mut self) -> Result<(), AuditError> {
        if self.more_places.is_empty() {
            return Ok(());
        }
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
        let all = SurplusChoice::default();
        duplicates::in_parts(self.known.relations, &all, self.known.topic_labels, |finding| {
            for copy in finding.groups.into_iter().flat_map(|group| group.copies) {
                for &index in wanted.get(&(copy.directory, copy.offset)).into_iter().flatten() {
                    if let Some(ids) = ids.get_mut(index) {
                        ids.insert(finding.id.clone());
                    }
                }
            }
            Ok::<_, AuditError>(())
        })?;
        for (key, ids) in self.answer.stored_more.keys.iter_mut().zip(ids) {
            key.findings = ids.into_iter().collect();
        }
        Ok(())
    }
}
