//! The story of one business key: its copies, what happened around them, and in which fields they
//! differ.
//!
//! Goes in: the copies that an audit of one key found, with everything that the batch lane knows.
//! Comes out: the copies in the order of time, events cut to what bears on them, differences by field.

use super::groups::KeyCounts;
use super::logs::Unled;
use super::verify::Verifier;
use super::{Request, sought};
use crate::facts::{PartitionFacts, Rewind, TransactionSpan};
use crate::finding::{BusinessKey, Copy, Event, EventKind, Finding, Visibility, in_turn};
use crate::format::record_batch::TimestampType;
use crate::format::{Headers, Record};
use crate::judgement::{Brief, Happened, Partition, duplicates};
use crate::keys::{Identity, KeyPart, Mask, Part, scalars};
use crate::plan::{Sample, SampleRecord, TopicPlan};
use crate::relations::{PartitionNote, Relations, StoredCopy};
use crate::report;
use crate::report::model::VisibleRecords;
use crate::report::trace::{self, ContentCopies, Difference, TopicIdentity, Trace};
use crate::units::{Offset, ProducerId, TopicNumber};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::collections::{BTreeMap, BTreeSet};

/// Copies that are held, about 1 KB each; those behind them are counted.
pub(super) const HELD: usize = 10_000;
/// Events that are told.
const EVENTS: usize = 500;

/// Keys that are named where none is the one that was asked for, how alike they must be, and how long they may be.
const NEAR_KEYS: usize = 3;
const NEAR: f64 = 0.8;
const LONGEST_NEAR: usize = 100;

/// Members of one JSON document that are compared one by one.
const MEMBERS: usize = 1_000;

/// Whether the values of fields may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Only the names of fields.
    Withheld,
    /// The values, too.
    Shown,
}

/// Leaves out what is about other keys: batches in another topic's place, and the rest of copied files.
pub(super) fn keep_found(relations: &mut Relations, found: &[StoredCopy]) {
    let places: BTreeSet<(u32, i64)> = found.iter().map(|copy| (copy.partition, copy.offset.0)).collect();
    let found = |copy: &StoredCopy| places.contains(&(copy.partition, copy.offset.0));
    let (mut all, mut kept) = (BTreeSet::new(), BTreeSet::new());
    for pair in relations.groups.pairs() {
        all.insert(pair.group);
        if found(&pair.earlier) || found(&pair.later) {
            kept.insert(pair.group);
        }
    }
    relations.groups.leave_out(all.difference(&kept).copied());
    for stretch in &mut relations.copied {
        (stretch.unlisted, stretch.hidden_records) = (0, 0);
    }
}

/// What an audit of one key found out.
pub(super) struct Story<'a> {
    pub(super) relations: &'a Relations,
    pub(super) plans: &'a [TopicPlan],
    /// Of each topic.
    pub(super) samples: &'a [Sample],
    pub(super) counts: &'a [KeyCounts],
    pub(super) partitions: &'a [Partition<'a>],
    pub(super) findings: &'a [Finding],
    pub(super) happened: Happened<'a>,
    /// Replicas that do not lead.
    pub(super) replicas: Vec<Unled>,
}

impl Story<'_> {
    /// The answer to `request`, for which these records were found.
    pub(super) fn tell(
        self,
        request: &Request<'_>,
        found: &[StoredCopy],
        verifier: &mut Verifier<'_>,
    ) -> Trace {
        let mut copies = copies(self.relations, found);
        // Where the leading one has the key, another says more only if it holds records of its own.
        let may_hold_more = |replica: &&Unled| {
            copies.is_empty() || (replica.has_tail && copies.iter().any(|copy| copy.topic == replica.topic))
        };
        let unsearched = self.replicas.iter().filter(may_hold_more);
        let not_searched = unsearched.map(|replica| replica.directory.clone()).collect();
        let findings = touching(self.findings, &copies, &Numbers::of(self.relations));
        let (events, events_omitted) = self.around(&copies);
        let mut visibility = report::model::Visibility::default();
        for counts in self.counts {
            add_counts(&mut visibility, counts);
        }
        let VisibleRecords { records, .. } = visibility.read_uncommitted;
        copies.truncate(request.most);
        let mut seen: Vec<Seen> = copies.into_iter().map(|copy| Seen::read(copy, verifier)).collect();
        let identities = self.identities(&seen);
        // What a mirror was fed with comes before it, though their times are equal.
        let depth = |topic: &str| trace::depth(&identities, topic);
        seen = in_turn(seen, |Seen { copy, .. }| {
            let log = (depth(&copy.topic), copy.directory.clone());
            ((log, copy.partition, copy.offset), copy.timestamp)
        });
        let contents = contents(&seen);
        let differences = differences(&mut seen, verifier, request.values);
        let listed = u64::try_from(seen.len()).unwrap_or(u64::MAX);
        let near_keys = if seen.is_empty() { self.near_keys(request.sought.text()) } else { Vec::new() };
        Trace {
            near_keys,
            copies_omitted: records.saturating_sub(listed),
            copies: seen.into_iter().map(|seen| seen.copy).collect(),
            identities,
            contents,
            events,
            events_omitted,
            differences,
            not_searched,
            visibility,
            findings: findings.iter().filter(|f| !f.id.is_empty()).map(|f| f.id.clone()).collect(),
            details: findings,
            ..Trace::of(request.sought.text())
        }
    }

    /// What bears on the copies: the sessions and transactions that wrote them, and what happened in their
    /// partitions from the last thing before the first copy to the last copy; and how much of it is left out.
    fn around(&self, copies: &[Copy]) -> (Vec<Event>, u64) {
        let numbers = Numbers::of(self.relations);
        let mut logs: BTreeMap<(Option<TopicNumber>, i32), (i64, i64)> = BTreeMap::new();
        for copy in copies {
            widen(&mut logs, (numbers.get(copy), copy.partition), copy.offset);
        }
        let sessions: BTreeSet<&str> = copies.iter().filter_map(|copy| copy.session.as_deref()).collect();
        let ends = transaction_ends(copies, &numbers, self.partitions);
        let rewound = rewound(copies, &numbers, &self.relations.rewinds);
        let times = || copies.iter().filter_map(|copy| copy.timestamp);
        let window = times().min().zip(times().max());
        let mut before: BTreeMap<(Option<TopicNumber>, i32, EventKind), i64> = BTreeMap::new();
        self.happened.tell(&mut |Brief {
                                     kind, place: (_, partition, offset), topic_number: topic, ..
                                 }| {
            let lasts = matches!(kind, EventKind::LogClosed | EventKind::LeaderEpoch | EventKind::Protection);
            if lasts && logs.get(&(topic, partition)).is_some_and(|&(first, _)| offset <= first) {
                let newest = before.entry((topic, partition, kind)).or_insert(offset);
                *newest = offset.max(*newest);
            }
        });
        let bears = |brief: &Brief<'_>| {
            let ((_, partition, offset), topic) = (brief.place, brief.topic_number);
            if brief.kind == EventKind::ProducerIdBlock {
                return brief
                    .time
                    .zip(window)
                    .is_some_and(|(time, (first, last))| (first..=last).contains(&time));
            }
            // What is found of several topics is told where one of them is.
            if brief.kind == EventKind::Duplicates {
                return true;
            }
            let Some(&(first, last)) = logs.get(&(topic, partition)) else { return false };
            let is_at = |places: &BTreeSet<At>| places.contains(&(topic, partition, offset));
            match brief.kind {
                EventKind::SessionBegin | EventKind::SessionEnd => {
                    brief.session.is_some_and(|session| sessions.contains(session.name().as_str()))
                }
                EventKind::TransactionCommit | EventKind::TransactionAbort | EventKind::TransactionOpen => {
                    is_at(&ends)
                }
                EventKind::Rewind => is_at(&rewound),
                EventKind::LogClosed | EventKind::LeaderEpoch | EventKind::Protection => {
                    (first..=last).contains(&offset)
                        || before.get(&(topic, partition, brief.kind)) == Some(&offset)
                }
                EventKind::OffsetGap | EventKind::SequenceGap | EventKind::SequenceStep => {
                    (first..=last).contains(&offset)
                }
                EventKind::Duplicates | EventKind::ProducerIdBlock | EventKind::Other(_) => false,
            }
        };
        self.happened.at_most(&self.relations.groups, EVENTS, &bears)
    }

    /// Keys of the samples that are spelled nearly like one that no record has, the nearest first: record keys, and
    /// what identifies the events of each topic where that is a field.
    fn near_keys(&self, sought: &str) -> Vec<BusinessKey> {
        let mut keys: BTreeSet<String> = BTreeSet::new();
        for (plan, sample) in self.plans.iter().zip(self.samples).filter(|(plan, _)| !plan.internal) {
            let parts = match &plan.identity {
                Identity::Key(spec) => spec.parts(),
                Identity::Content => &[],
            };
            for record in &sample.records {
                keys.extend(
                    record.key.as_deref().and_then(|key| std::str::from_utf8(key).ok()).map(str::to_owned),
                );
                // A joined key is asked for with all of its parts.
                let whole: Option<Vec<String>> = parts.iter().map(|part| part_of(part, record)).collect();
                keys.extend(whole.filter(|parts| !parts.is_empty()).map(|parts| parts.join(" + ")));
            }
        }
        let plain = sought.to_lowercase();
        let is_short = |key: &str| key.len() <= LONGEST_NEAR;
        let mut near: Vec<(f64, &str)> = keys
            .iter()
            .map(String::as_str)
            .filter(|key| is_short(key) && is_short(&plain))
            .map(|key| (strsim::normalized_damerau_levenshtein(&plain, &key.to_lowercase()), key))
            .filter(|(alike, _)| *alike >= NEAR)
            .collect();
        near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        near.truncate(NEAR_KEYS);
        near.into_iter().map(|(_, key)| BusinessKey::of_bytes(key.as_bytes())).collect()
    }

    /// The topics that have the key, sources first; all that could have it where none has.
    fn identities(&self, seen: &[Seen]) -> Vec<TopicIdentity> {
        let mut identities = Vec::new();
        for (plan, counts) in self.plans.iter().zip(self.counts).filter(|(plan, _)| !plan.internal) {
            // Of several topics of one name, as in two clusters, those count in which it was counted.
            let is_alone = self.plans.iter().filter(|other| other.topic == plan.topic).count() == 1;
            let counted = counts.uncommitted.keyed_records > 0;
            let has_it = (is_alone || counted) && seen.iter().any(|seen| seen.copy.topic == plan.topic);
            if has_it || seen.is_empty() {
                let mut visibility = report::model::Visibility::default();
                add_counts(&mut visibility, counts);
                identities.push(TopicIdentity {
                    topic: plan.topic.clone(),
                    key: plan.identity.name(),
                    why: plan.why.clone(),
                    visibility,
                    source_topic: source_of(&plan.topic, seen),
                });
            }
        }
        let depths: Vec<usize> =
            identities.iter().map(|identity| trace::depth(&identities, &identity.topic)).collect();
        let mut placed: Vec<_> = depths.into_iter().zip(identities).collect();
        placed.sort_by_key(|(depth, _)| *depth);
        placed.into_iter().map(|(_, identity)| identity).collect()
    }
}

/// A part of the business key of a sampled record, where it is text.
fn part_of(part: &KeyPart, record: &SampleRecord) -> Option<String> {
    if let KeyPart::Header(name) = part {
        // Of headers that share a name the last one counts, as for Kafka's `lastHeader`.
        let (_, value) = record.headers.iter().rev().find(|(own, _)| own == name.as_bytes())?;
        return String::from_utf8(value.clone()?).ok();
    }
    let bare = Record {
        offset: Offset(0),
        timestamp: record.client_timestamp,
        client_timestamp: record.client_timestamp,
        sequence: None,
        key: record.key.as_deref(),
        value: record.value.as_deref(),
        headers: Headers::default(),
    };
    match part.extract(&bare) {
        Part::Bytes { bytes, .. } => String::from_utf8(bytes.into_owned()).ok(),
        Part::Absent | Part::Undecodable(_) => None,
    }
}

/// Adds what one topic shows of the key.
fn add_counts(visibility: &mut report::model::Visibility, counts: &KeyCounts) {
    for (sum, seen) in [
        (&mut visibility.read_uncommitted, counts.uncommitted),
        (&mut visibility.read_committed, counts.committed),
    ] {
        let add = |sum: &mut Option<u64>, part: u64| *sum = Some(sum.unwrap_or(0).saturating_add(part));
        sum.records = sum.records.saturating_add(seen.keyed_records);
        add(&mut sum.distinct_keys, seen.distinct_keys);
        add(&mut sum.repeated_key_records, seen.keyed_records.saturating_sub(seen.distinct_keys));
    }
}

/// A copy with what was read of it again.
struct Seen {
    copy: Copy,
    /// Its fields, where they could be read.
    fields: BTreeMap<String, Option<Vec<u8>>>,
    /// Stands for what makes it a copy.
    sameness: Option<u128>,
}

impl Seen {
    fn read(copy: Copy, verifier: &mut Verifier<'_>) -> Self {
        let fields = verifier.record(&copy, fields_of).unwrap_or_default();
        let sameness = verifier.sameness(&copy);
        Self { copy, fields, sameness }
    }

    /// Whether the record is taken from that of another topic: equal in key, value and client time.
    fn is_fed_from(&self, other: &Self) -> bool {
        let side = |seen: &'_ Self| ProducerId(seen.copy.producer_id);
        let by_client = |seen: &Self| seen.copy.timestamp_type == TimestampType::CreateTime.name();
        let same = |field: &str| {
            let own = self.fields.get(field);
            own.is_some() && own == other.fields.get(field)
        };
        self.copy.topic != other.copy.topic
            && self.copy.timestamp.is_some()
            && self.copy.timestamp == other.copy.timestamp
            && by_client(self)
            && by_client(other)
            && same("record-key")
            && same("value")
            && duplicates::is_fed_from((&self.copy.topic, side(self)), (&other.copy.topic, side(other)))
    }
}

/// The topic from which all of these records of `topic` are taken.
fn source_of(topic: &str, seen: &[Seen]) -> Option<String> {
    let (own, others): (Vec<&Seen>, Vec<&Seen>) = seen.iter().partition(|seen| seen.copy.topic == topic);
    let topics: BTreeSet<&str> = others.iter().map(|seen| seen.copy.topic.as_str()).collect();
    let feeds = |source: &&str| {
        !own.is_empty()
            && own
                .iter()
                .all(|own| others.iter().any(|other| other.copy.topic == **source && own.is_fed_from(other)))
    };
    topics.into_iter().find(feeds).map(str::to_owned)
}

/// The copies of each topic by what makes them copies, in the order in which they are listed.
fn contents(seen: &[Seen]) -> Vec<ContentCopies> {
    let mut contents: Vec<(Option<u128>, ContentCopies)> = Vec::new();
    for (number, Seen { copy, sameness, .. }) in (1..).zip(seen) {
        let same = contents
            .iter_mut()
            .find(|(other, content)| other.is_some() && other == sameness && content.topic == copy.topic);
        match same {
            Some((_, content)) => content.copies.push(number),
            None => {
                contents.push((*sameness, ContentCopies { topic: copy.topic.clone(), copies: vec![number] }));
            }
        }
    }
    contents.into_iter().map(|(_, content)| content).collect()
}

/// The findings that touch the copies, with no more of their lists than that. Those about duplicates
/// rest on this key alone, so that they have no id: that of `scan` stands for a whole episode.
fn touching(findings: &[Finding], copies: &[Copy], numbers: &Numbers<'_>) -> Vec<Finding> {
    let mut touching = Vec::new();
    for finding in findings {
        // A name may be that of a topic as well that the finding is not about.
        let is_of =
            |copy: &&Copy| numbers.get(copy).is_some_and(|number| finding.topic_numbers.contains(&number));
        let copies: Vec<&Copy> = copies.iter().filter(is_of).collect();
        let stands = |topic: &str, partition: i32, first: i64, last: Option<i64>| {
            copies.iter().any(|copy| {
                (copy.topic.as_str(), copy.partition) == (topic, partition)
                    && first <= copy.offset
                    && last.is_none_or(|last| copy.offset <= last)
            })
        };
        let logs = logs(&copies);
        let mut finding = finding.clone();
        if finding.level.is_some() {
            finding.id = String::new();
            touching.push(finding);
            continue;
        }
        finding.transactions.retain(|t| stands(&t.topic, t.partition, t.first_offset, t.last_offset));
        finding.stretches.retain(|stretch| {
            stretch.topic.as_deref().zip(stretch.partition).is_some_and(|(topic, partition)| {
                stands(topic, partition, stretch.first_offset, Some(stretch.last_offset))
            })
        });
        finding.gaps.retain(|gap| {
            let range = logs.get(&(gap.topic.as_str(), gap.partition));
            range.is_some_and(|&(first, last)| first < gap.at_offset && gap.at_offset <= last)
        });
        finding
            .records
            .retain(|record| stands(&record.topic, record.partition, record.offset, Some(record.offset)));
        finding.ranges.retain(|range| {
            let copies = logs.get(&(range.topic.as_str(), range.partition));
            copies.is_some_and(|&(first, last)| range.first_offset <= last && first <= range.last_offset)
        });
        finding.snapshots.clear();
        let touches = !(finding.transactions.is_empty()
            && finding.stretches.is_empty()
            && finding.gaps.is_empty()
            && finding.records.is_empty()
            && finding.ranges.is_empty());
        if touches {
            touching.push(finding);
        }
    }
    touching
}

/// The copies in the order of time; each with what it repeats, where it repeats something.
fn copies(relations: &Relations, found: &[StoredCopy]) -> Vec<Copy> {
    let mut repeats = BTreeMap::new();
    let places: BTreeSet<_> = found.iter().map(|copy| (copy.partition, copy.offset)).collect();
    for pair in relations.groups.pairs() {
        let place = (pair.later.partition, pair.later.offset);
        if places.contains(&place) {
            repeats.insert(place, (relations.place(&pair.earlier), pair.level));
        }
    }
    let copies = found.iter().map(|stored| {
        let copy = relations.told(stored);
        match repeats.get(&(stored.partition, stored.offset)) {
            Some((earlier, level)) => Copy { repeats: Some(earlier.clone()), level: Some(*level), ..copy },
            None => copy,
        }
    });
    in_turn(copies.collect(), |copy: &Copy| {
        ((copy.directory.clone(), copy.partition, copy.offset), copy.timestamp)
    })
}

/// The first and the last offset of the copies, by topic and partition.
fn logs<'c>(copies: &[&'c Copy]) -> BTreeMap<(&'c str, i32), (i64, i64)> {
    let mut logs = BTreeMap::new();
    for copy in copies {
        widen(&mut logs, (copy.topic.as_str(), copy.partition), copy.offset);
    }
    logs
}

fn widen<L: Ord>(logs: &mut BTreeMap<L, (i64, i64)>, log: L, offset: i64) {
    let range = logs.entry(log).or_insert((offset, offset));
    *range = (offset.min(range.0), offset.max(range.1));
}

/// Which topic each copy is of, by its directory.
struct Numbers<'r>(BTreeMap<&'r str, TopicNumber>);

impl<'r> Numbers<'r> {
    fn of(relations: &'r Relations) -> Self {
        let of_directory = |note: &'r PartitionNote| (note.directory.as_str(), TopicNumber(note.topic));
        Self(relations.partitions.iter().map(of_directory).collect())
    }

    fn get(&self, copy: &Copy) -> Option<TopicNumber> {
        self.0.get(copy.directory.as_str()).copied()
    }
}

/// A place in a log.
type At = (Option<TopicNumber>, i32, i64);

/// Where the transactions of the copies end; where they begin, if they have no end.
fn transaction_ends(copies: &[Copy], numbers: &Numbers<'_>, partitions: &[Partition<'_>]) -> BTreeSet<At> {
    let facts = |copy: &Copy| -> Option<&PartitionFacts> {
        let of = |(context, _): &&Partition<'_>| {
            Some(context.topic_number) == numbers.get(copy) && context.partition == copy.partition
        };
        partitions.iter().find(of).map(|&(_, facts)| facts)
    };
    let mut ends = BTreeSet::new();
    for copy in copies.iter().filter(|copy| copy.visibility != Visibility::NonTransactional) {
        let holds = |span: &&TransactionSpan| {
            span.producer_id.0 == copy.producer_id
                && span.first_offset.0 <= copy.offset
                && span.last_offset.is_none_or(|last| copy.offset <= last.0)
        };
        if let Some(span) = facts(copy).and_then(|facts| facts.transactions.iter().find(holds)) {
            let offset = span.marker_offset.unwrap_or(span.first_offset).0;
            ends.insert((numbers.get(copy), copy.partition, offset));
        }
    }
    ends
}

/// The events of groups that read a copy again.
fn rewound(copies: &[Copy], numbers: &Numbers<'_>, rewinds: &[Rewind]) -> BTreeSet<At> {
    let read_again = |rewind: &&Rewind| {
        copies.iter().any(|copy| {
            rewind.topic_number.is_some()
                && (numbers.get(copy), copy.partition) == (rewind.topic_number, rewind.partition)
                && (rewind.again_from().0..rewind.again_to().0).contains(&copy.offset)
        })
    };
    rewinds
        .iter()
        .filter(read_again)
        .map(|rewind| (rewind.topic_number, rewind.partition, rewind.to.0))
        .collect()
}

/// In which fields the copies differ. Also sets the values of the copies where they may be told.
fn differences(seen: &mut [Seen], verifier: &mut Verifier<'_>, values: Values) -> Vec<Difference> {
    let mut fields: BTreeMap<String, Vec<Option<Vec<u8>>>> = BTreeMap::new();
    let count = seen.len();
    let mut volatile: BTreeSet<String> = BTreeSet::new();
    for (at, Seen { copy, fields: own, .. }) in seen.iter_mut().enumerate() {
        volatile.extend(verifier.mask(copy).into_iter().flat_map(Mask::names));
        if let (Values::Shown, Some(Some(value))) = (values, own.get("value")) {
            copy.value = Some(match String::from_utf8(value.clone()) {
                Ok(text) => BusinessKey::Text { text },
                Err(error) => BusinessKey::Base64 { base64: BASE64_STANDARD.encode(error.as_bytes()) },
            });
        }
        for (field, value) in std::mem::take(own) {
            if let Some(slot) = fields.entry(field).or_insert_with(|| vec![None; count]).get_mut(at) {
                *slot = value;
            }
        }
    }
    let differs = |values: &[Option<Vec<u8>>]| values.iter().any(|value| Some(value) != values.first());
    let members_differ = fields.iter().any(|(field, values)| field.starts_with("json:") && differs(values));
    fields
        .into_iter()
        // The value as a whole says nothing that its members do not say better.
        .filter(|(field, values)| differs(values) && !(field == "value" && members_differ))
        .map(|(pointer, found)| {
            let distinct: BTreeSet<&Option<Vec<u8>>> = found.iter().collect();
            Difference {
                volatile: volatile.contains(&pointer),
                distinct: u64::try_from(distinct.len()).unwrap_or(u64::MAX),
                values: (values == Values::Shown).then(|| {
                    let text = |value: &Vec<u8>| sought::spelled(value).into_owned();
                    found.iter().map(|value| value.as_ref().map(text)).collect()
                }),
                pointer,
            }
        })
        .collect()
}

/// The fields of a record as `--ignore-field` spells them, and the value as a whole.
fn fields_of(record: &Record<'_>) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut fields = BTreeMap::new();
    fields.insert("record-key".to_owned(), record.key.map(<[u8]>::to_vec));
    fields.insert("value".to_owned(), record.value.map(<[u8]>::to_vec));
    scalars(record.value.unwrap_or_default(), MEMBERS, &mut |pointer, raw| {
        fields.insert(format!("json:{pointer}"), Some(raw.as_bytes().to_vec()));
    });
    for header in record.headers.iter() {
        // Of headers that share a name the last one counts, as for Kafka's `lastHeader`.
        let name = format!("header:{}", String::from_utf8_lossy(header.key));
        fields.insert(name, header.value.map(<[u8]>::to_vec));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_spelled_as_options_spell_them() {
        let record = Record {
            offset: Offset(0),
            timestamp: 0,
            client_timestamp: 0,
            sequence: None,
            key: Some(b"k"),
            value: Some(br#"{"a":{"b":1},"c":[true]}"#),
            headers: Headers::default(),
        };
        let fields: Vec<String> = fields_of(&record).into_keys().collect();
        assert_eq!(fields, ["json:/a/b", "json:/c/0", "record-key", "value"]);
    }
}
