//! Takes records apart into fields and keeps what is known of each field.

use super::field::{Field, Seen, ValueHash, join, whole};
use super::verdict::{self, Candidate};
use crate::format::Record;
use crate::keys::{Content, JsonPointer, KeyPart, KeySpec, Mask, scalars};
use crate::plan::SampleRecord;
use crate::units::ProducerId;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Fields of a topic that are looked at: the first ones that occur.
const FIELDS: usize = 64;
/// Values of a field that are always followed.
const LEAST_VALUES: usize = 512;
/// Writers whose last records are remembered.
const WRITERS: usize = 64;
/// Bytes of a followed value, beside the fields of its last record.
const OF_A_VALUE: usize = 96;

/// Looks at the records of one topic.
#[derive(Debug)]
pub struct Observer {
    mask: Mask,
    /// Bytes that followed values may take.
    memory: usize,
    /// Two fields each that are looked at as one; they stand before all others.
    pairs: Vec<[KeyPart; 2]>,
    fields: Vec<Field>,
    known: Known,
    records: u64,
    /// Records with a value: tombstones have no fields.
    with_value: u64,
    content: Content,
    /// Of the record at hand: its fields, and where their values stand among the bytes; reused.
    found: Vec<(usize, Range<usize>)>,
    bytes: Vec<u8>,
    hashes: Vec<ValueHash>,
    /// By field the number that it is.
    numbers: Vec<Option<u64>>,
    /// The fields of the last record of some writers.
    writers: BTreeMap<ProducerId, Last>,
}

/// The last record of a writer: its fields, and the numbers among them.
#[derive(Debug, Default)]
struct Last {
    hashes: Vec<ValueHash>,
    numbers: Vec<Option<u64>>,
}

/// Which field is which.
#[derive(Debug, Default)]
struct Known {
    key: Option<usize>,
    value: Option<usize>,
    of_key: HashMap<JsonPointer, usize>,
    of_value: HashMap<JsonPointer, usize>,
    headers: HashMap<String, usize>,
}

impl Known {
    fn get(&self, part: &KeyPart) -> Option<usize> {
        match part {
            KeyPart::RecordKey => self.key,
            KeyPart::Value => self.value,
            KeyPart::Header(name) => self.headers.get(name).copied(),
            KeyPart::Json(pointer) => self.of_value.get(pointer).copied(),
            KeyPart::KeyJson(pointer) => self.of_key.get(pointer).copied(),
            KeyPart::Regex(_) | KeyPart::Schema(_) => None,
        }
    }
}

/// In which document a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Document {
    Key,
    Value,
}

impl Observer {
    /// Looks at records whose content is what `mask` leaves, within about `memory` bytes.
    #[must_use]
    pub fn new(mask: Mask, memory: usize) -> Self {
        Self {
            mask,
            memory,
            pairs: Vec::new(),
            fields: Vec::new(),
            known: Known::default(),
            records: 0,
            with_value: 0,
            content: Content::default(),
            found: Vec::new(),
            bytes: Vec::new(),
            hashes: Vec::new(),
            numbers: Vec::new(),
            writers: BTreeMap::new(),
        }
    }

    /// Looks at these pairs of fields as well.
    #[must_use]
    pub fn with_pairs(mut self, pairs: Vec<[KeyPart; 2]>) -> Self {
        let joined = |pair: &[KeyPart; 2]| KeySpec::of_parts(pair.clone());
        self.fields.extend(pairs.iter().filter_map(joined).map(|key| Field::new(key, false)));
        self.pairs = pairs;
        self
    }

    /// Pairs of fields that may identify events where no single field does; they are to be looked at.
    #[must_use]
    pub fn pairs(&self) -> Vec<[KeyPart; 2]> {
        verdict::pairs(&self.fields, self.records, self.with_value)
    }

    /// Takes the next record, and who wrote it.
    pub fn take(&mut self, writer: ProducerId, record: &Record<'_>) {
        let content = xxh3_64(self.content.bytes(record, &self.mask));
        let headers: Vec<_> = record.headers.iter().map(|header| (header.key, header.value)).collect();
        self.take_apart(record.key, record.value, &headers);
        self.note(writer, content, record.value);
    }

    /// Takes a record of a sample.
    pub fn take_sampled(&mut self, record: &SampleRecord) {
        let content = xxh3_64(&record.content(&self.mask));
        let headers: Vec<_> =
            record.headers.iter().map(|(name, value)| (name.as_slice(), value.as_deref())).collect();
        self.take_apart(record.key.as_deref(), record.value.as_deref(), &headers);
        self.note(record.producer_id, content, record.value.as_deref());
    }

    /// Hands the fields that were found to those that keep count of them.
    fn note(&mut self, writer: ProducerId, content: u64, value: Option<&[u8]>) {
        self.hashes.clear();
        self.hashes.resize(self.fields.len(), 0);
        self.numbers.clear();
        self.numbers.resize(self.fields.len(), None);
        for (at, place) in &self.found {
            if let (Some(hash), Some(number), Some(bytes)) =
                (self.hashes.get_mut(*at), self.numbers.get_mut(*at), self.bytes.get(place.clone()))
            {
                *hash = u32::try_from(xxh3_64(bytes) >> 32).unwrap_or(0).max(1);
                *number = whole(bytes);
            }
        }
        if !self.writers.contains_key(&writer) && self.writers.len() == WRITERS {
            self.writers.clear();
        }
        let before = self.writers.entry(writer).or_default();
        for ((field, before), now) in self.fields.iter_mut().zip(&before.hashes).zip(&self.hashes) {
            field.step(*before, *now);
        }
        for ((at, field), now) in self.fields.iter_mut().enumerate().zip(&self.numbers) {
            if let Some(now) = now {
                field.climbs(before.numbers.get(at).copied().flatten(), *now);
            }
        }
        before.hashes.clone_from(&self.hashes);
        before.numbers.clone_from(&self.numbers);
        let (most, hashes) = (self.most_values(), self.hashes.as_slice().into());
        for (at, place) in &self.found {
            if let (Some(field), Some(bytes)) = (self.fields.get_mut(*at), self.bytes.get(place.clone())) {
                field.take(&Seen { bytes, content, place: self.records, fields: &hashes }, most);
            }
        }
        self.records += 1;
        self.with_value += u64::from(value.is_some());
    }

    /// All fields, the best identity first.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate> {
        verdict::candidates(&self.fields, self.records, self.with_value)
    }

    fn most_values(&self) -> usize {
        let fields = self.fields.len().max(1);
        (self.memory / fields / (OF_A_VALUE + fields * size_of::<ValueHash>())).max(LEAST_VALUES)
    }

    /// The fields of a record into `found`, each once: of a name that repeats the last one counts.
    fn take_apart(&mut self, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[(&[u8], Option<&[u8]>)]) {
        self.found.clear();
        self.bytes.clear();
        if let Some(key) = key {
            self.known.key = self.known.key.or_else(|| self.add(KeyPart::RecordKey));
            self.found(self.known.key, key);
            self.members(key, Document::Key);
        }
        if let Some(value) = value {
            self.known.value = self.known.value.or_else(|| self.add(KeyPart::Value));
            self.found(self.known.value, value);
            self.members(value, Document::Value);
        }
        for (name, value) in headers {
            if let (Ok(name), Some(value)) = (std::str::from_utf8(name), value)
                && !name.is_empty()
            {
                let mut at = self.known.headers.get(name).copied();
                if at.is_none() {
                    at = self.add(KeyPart::Header(name.to_owned()));
                    self.known.headers.extend(at.map(|at| (name.to_owned(), at)));
                }
                self.found(at, value);
            }
        }
        for at in 0..self.pairs.len() {
            self.join_pair(at);
        }
    }

    /// Puts the value of a pair into `found`, where the record has both fields.
    fn join_pair(&mut self, at: usize) {
        let Some(pair) = self.pairs.get(at) else { return };
        let value = |part: &KeyPart| {
            let field = self.known.get(part)?;
            let (_, place) = self.found.iter().find(|(other, _)| *other == field)?;
            self.bytes.get(place.clone())
        };
        let [one, other] = pair;
        if let (Some(one), Some(other)) = (value(one), value(other)) {
            let mut joined = Vec::with_capacity(one.len() + other.len() + size_of::<u64>());
            join(one, other, &mut joined);
            self.found(Some(at), &joined);
        }
    }

    fn is_masked(&self, part: &KeyPart) -> bool {
        match part {
            KeyPart::Json(pointer) => {
                self.mask.json.iter().any(|masked| pointer.tokens().starts_with(masked.tokens()))
            }
            KeyPart::Header(name) => self.mask.headers.iter().any(|masked| masked == name.as_bytes()),
            _ => false,
        }
    }

    fn members(&mut self, document: &[u8], of: Document) {
        // A bare number or text is the whole key or value, which has a name of its own.
        if !document.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| b"{[".contains(byte))
        {
            return;
        }
        scalars(document, FIELDS, &mut |pointer, raw| {
            if raw == "null" {
                return;
            }
            let known = match of {
                Document::Key => &self.known.of_key,
                Document::Value => &self.known.of_value,
            };
            let mut at = known.get(pointer).copied();
            if at.is_none() {
                let (part, pointer) = (pointer.clone(), pointer.clone());
                at = self.add(match of {
                    Document::Key => KeyPart::KeyJson(part),
                    Document::Value => KeyPart::Json(part),
                });
                let known = match of {
                    Document::Key => &mut self.known.of_key,
                    Document::Value => &mut self.known.of_value,
                };
                known.extend(at.map(|at| (pointer, at)));
            }
            self.found(at, raw.as_bytes());
        });
    }

    /// A field that was not seen before, unless there are enough of them.
    fn add(&mut self, part: KeyPart) -> Option<usize> {
        (self.fields.len() < FIELDS + self.pairs.len()).then(|| {
            let masked = self.is_masked(&part);
            self.fields.push(Field::new(KeySpec::of(part), masked));
            self.fields.len() - 1
        })
    }

    fn found(&mut self, field: Option<usize>, bytes: &[u8]) {
        let Some(at) = field else { return };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let place = start..self.bytes.len();
        match self.found.iter_mut().find(|(other, _)| *other == at) {
            Some((_, earlier)) => *earlier = place,
            None => self.found.push((at, place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Headers;
    use crate::units::Offset;

    /// What is said of events, each a number, with little memory for their values.
    fn advised(events: impl Iterator<Item = u32>) -> Vec<Candidate> {
        let mut observer = Observer::new(Mask::default(), 1);
        for (at, event) in (0_i64..).zip(events) {
            let amount = u64::from(event).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 907;
            let value =
                format!("{{\"id\":\"e-{event}\",\"amount\":{amount},\"sent\":{}}}", 1_764_425_000_000 + at);
            observer.take(
                ProducerId(7),
                &Record {
                    offset: Offset(at),
                    timestamp: at,
                    client_timestamp: at,
                    sequence: None,
                    key: None,
                    value: Some(value.as_bytes()),
                    headers: Headers::default(),
                },
            );
        }
        observer.candidates()
    }

    #[test]
    fn repeats_are_seen_however_far_apart_and_however_many_values_there_are() {
        let found = advised((0..6000).chain((0..6000).step_by(10)));
        let Some(first) = found.first() else { panic!("nothing was found") };
        assert_eq!(first.key.to_string(), "json:/id");
        assert!(first.suggested, "{}", first.why);
        let counts = first.counts;
        assert_eq!(counts.covered, 6600);
        assert_eq!(counts.distinct, u64::try_from(LEAST_VALUES).unwrap());
        let repeats = counts.followed - counts.distinct;
        assert!((20..100).contains(&repeats), "a tenth of {} values, and {repeats} repeats", counts.distinct);
    }

    #[test]
    fn a_log_without_copies_has_nothing_to_suggest() {
        assert!(advised(0..3000).iter().all(|candidate| !candidate.suggested));
    }
}
