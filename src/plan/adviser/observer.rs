//! Takes records apart into fields and keeps what is known of each field.

use super::field::{Field, Seen, ValueHash};
use super::verdict::{self, Candidate};
use crate::format::Record;
use crate::keys::{Content, JsonPointer, KeyPart, Mask, scalars};
use crate::plan::SampleRecord;
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_64;

/// Fields of a topic that are looked at: the first ones that occur.
const FIELDS: usize = 64;
/// Values of a field that are always followed.
const LEAST_VALUES: usize = 512;
/// Bytes of a followed value, beside the fields of its last record.
const OF_A_VALUE: usize = 96;

/// Looks at the records of one topic.
#[derive(Debug)]
pub struct Observer {
    mask: Mask,
    /// Bytes that followed values may take.
    memory: usize,
    fields: Vec<Field>,
    known: HashMap<KeyPart, usize>,
    records: u64,
    /// Records with a value: tombstones have no fields.
    with_value: u64,
    content: Content,
    /// Of the record at hand: its fields, reused.
    found: Vec<(usize, Vec<u8>)>,
    hashes: Vec<ValueHash>,
}

impl Observer {
    /// Looks at records whose content is what `mask` leaves, within about `memory` bytes.
    #[must_use]
    pub fn new(mask: Mask, memory: usize) -> Self {
        Self {
            mask,
            memory,
            fields: Vec::new(),
            known: HashMap::new(),
            records: 0,
            with_value: 0,
            content: Content::default(),
            found: Vec::new(),
            hashes: Vec::new(),
        }
    }

    /// Takes the next record.
    pub fn take(&mut self, record: &Record<'_>) {
        let content = xxh3_64(self.content.bytes(record, &self.mask));
        let headers: Vec<_> = record.headers.iter().map(|header| (header.key, header.value)).collect();
        self.take_apart(record.key, record.value, &headers);
        self.note(content, record.value);
    }

    /// Takes a record of a sample.
    pub fn take_sampled(&mut self, record: &SampleRecord) {
        let content = xxh3_64(&record.content(&self.mask));
        let headers: Vec<_> =
            record.headers.iter().map(|(name, value)| (name.as_slice(), value.as_deref())).collect();
        self.take_apart(record.key.as_deref(), record.value.as_deref(), &headers);
        self.note(content, record.value.as_deref());
    }

    /// Hands the fields that were found to those that keep count of them.
    fn note(&mut self, content: u64, value: Option<&[u8]>) {
        self.hashes.clear();
        self.hashes.resize(self.fields.len(), 0);
        for (at, bytes) in &self.found {
            if let Some(hash) = self.hashes.get_mut(*at) {
                *hash = u32::try_from(xxh3_64(bytes) >> 32).unwrap_or(0).max(1);
            }
        }
        let most = self.most_values();
        for (at, bytes) in &self.found {
            if let Some(field) = self.fields.get_mut(*at) {
                field.take(&Seen { bytes, content, place: self.records, fields: &self.hashes }, most);
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
        if let Some(key) = key {
            self.found(KeyPart::RecordKey, key);
            self.members(key, KeyPart::KeyJson);
        }
        if let Some(value) = value {
            self.found(KeyPart::Value, value);
            self.members(value, KeyPart::Json);
        }
        for (name, value) in headers {
            if let (Ok(name), Some(value)) = (std::str::from_utf8(name), value)
                && !name.is_empty()
            {
                self.found(KeyPart::Header(name.to_owned()), value);
            }
        }
    }

    fn members(&mut self, document: &[u8], part: fn(JsonPointer) -> KeyPart) {
        // A bare number or text is the whole key or value, which has a name of its own.
        if !document.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| b"{[".contains(byte))
        {
            return;
        }
        scalars(document, FIELDS, &mut |pointer, raw| {
            if raw != "null" {
                self.found(part(pointer.clone()), raw.as_bytes());
            }
        });
    }

    fn found(&mut self, part: KeyPart, bytes: &[u8]) {
        let at = match self.known.get(&part) {
            Some(&at) => at,
            None if self.fields.len() < FIELDS => {
                self.known.insert(part.clone(), self.fields.len());
                self.fields.push(Field::new(part));
                self.fields.len() - 1
            }
            None => return,
        };
        match self.found.iter_mut().find(|(other, _)| *other == at) {
            Some((_, earlier)) => *earlier = bytes.to_vec(),
            None => self.found.push((at, bytes.to_vec())),
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
            observer.take(&Record {
                offset: Offset(at),
                timestamp: at,
                client_timestamp: at,
                sequence: None,
                key: None,
                value: Some(value.as_bytes()),
                headers: Headers::default(),
            });
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
