//! What is known of one field, or of two joined: how often it is there, which values repeat, and how two
//! records that share a value differ.

use crate::finding::{BusinessKey, KeyPart as ReportedPart};
use crate::keys::{KeyPart, KeySpec};
use crate::plan::chance::{Multiplicities, Order};
use crate::plan::fields::is_time;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Pairs of records with one value whose other fields are compared.
const PAIRS: u64 = 2000;
/// Examples of a field.
pub(super) const EXAMPLES: usize = 3;
/// Bytes of a value that is shown: what is longer is no key that somebody would type.
const SHOWN: usize = 200;

/// What stands for a field's value in one record; 0 where the record has none.
pub(super) type ValueHash = u32;

/// One field of a topic's records, or two joined.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) key: KeySpec,
    /// Whether it does not count as content.
    pub(super) masked: bool,
    /// Records that have it.
    pub(super) covered: u64,
    /// Records in which it is a time.
    pub(super) times: u64,
    /// Records in which it is a number with a fraction: something measured or paid, no name.
    pub(super) fractions: u64,
    /// Records in which it is a number.
    pub(super) numbers: u64,
    /// How it behaves from one record of a writer to the next.
    pub(super) neighbours: Agreement,
    climb: Climb,
    /// Values with a larger hash are not followed.
    limit: u64,
    values: HashMap<u64, Value, BuildHasherDefault<Hashed>>,
    /// The hashes of these values, the largest at hand.
    largest: BinaryHeap<u64>,
    /// Pairs of records with one value that were held against each other.
    pub(super) pairs: u64,
    /// By other field: in how many pairs both records have it, and in how many they agree.
    pub(super) agreement: Vec<Agreement>,
    /// Where repeats stand, of values that were dropped later, too.
    order: Order,
    repeated: Vec<BusinessKey>,
    first: Vec<BusinessKey>,
}

/// How another field behaves in pairs that share a value of this one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreement {
    pub(super) both: u64,
    pub(super) equal: u64,
}

impl Agreement {
    const fn take(&mut self, one: ValueHash, other: ValueHash) {
        if one != 0 && other != 0 {
            self.both += 1;
            self.equal += if one == other { 1 } else { 0 };
        }
    }
}

/// How a number behaves from one record of a writer to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Climb {
    steps: u64,
    /// Steps up by a little: others may have got the numbers between.
    up: u64,
    /// How often it began anew near zero, far below where it had been.
    begun: u64,
    largest: u64,
}

impl Climb {
    /// The largest step that counts something.
    const STEP: u64 = 64;
    /// Where it begins anew is at most one part of so many of where it had been.
    const NEAR_ZERO: u64 = 20;

    fn take(&mut self, before: Option<u64>, now: u64) {
        if let Some(before) = before {
            self.steps += 1;
            self.up += u64::from(now > before && now - before <= Self::STEP);
        }
        let is_new = before.is_none_or(|before| now < before);
        self.begun += u64::from(is_new && now < self.largest / Self::NEAR_ZERO);
        self.largest = self.largest.max(now);
    }

    const fn begins_anew(self) -> bool {
        self.begun > 0 && self.up * 100 >= self.steps * 95
    }
}

/// A whole number, also one between quotes.
pub(super) fn whole(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(bytes);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

/// One value of a field.
#[derive(Debug)]
struct Value {
    records: u64,
    same_content: u64,
    first_content: u64,
    last_content: u64,
    last_place: u64,
    last: Option<Arc<[ValueHash]>>,
}

/// For values that are hashes already.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A record as a field sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'r> {
    /// The field's value.
    pub(super) bytes: &'r [u8],
    /// The record's content, volatile fields aside.
    pub(super) content: u64,
    /// How many records came before it.
    pub(super) place: u64,
    /// All fields of the record; one place for all values that hold it.
    pub(super) fields: &'r Arc<[ValueHash]>,
}

/// How often the values of a field repeat.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeats {
    /// Records whose value was followed.
    pub(super) followed: u64,
    pub(super) distinct: u64,
    pub(super) same_content: u64,
    pub(super) other_content: u64,
    /// Where they stand.
    pub(super) order: Order,
    /// How many values stand how often.
    pub(super) multiplicities: Multiplicities,
}

impl Field {
    pub(super) fn new(key: KeySpec, masked: bool) -> Self {
        Self {
            key,
            masked,
            covered: 0,
            times: 0,
            fractions: 0,
            numbers: 0,
            neighbours: Agreement { both: 0, equal: 0 },
            climb: Climb::default(),
            limit: u64::MAX,
            values: HashMap::default(),
            largest: BinaryHeap::new(),
            pairs: 0,
            agreement: Vec::new(),
            order: Order::new(),
            repeated: Vec::new(),
            first: Vec::new(),
        }
    }

    /// Takes the field's value in the next record; `most` values are followed.
    pub(super) fn take(&mut self, seen: &Seen<'_>, most: usize) {
        self.covered += 1;
        self.times += u64::from(self.is_field() && std::str::from_utf8(seen.bytes).is_ok_and(is_time));
        let number = if self.is_field() { number(seen.bytes) } else { None };
        self.numbers += u64::from(number.is_some());
        self.fractions += u64::from(number == Some(Number::Fraction));
        let hash = xxh3_64(seen.bytes);
        if hash >= self.limit {
            return;
        }
        let compare = self.pairs < PAIRS;
        if let Some(value) = self.values.get_mut(&hash) {
            if compare {
                self.pairs += 1;
                compare_fields(value.last.as_deref().unwrap_or_default(), seen.fields, &mut self.agreement);
            }
            self.order.take(seen.place, value.last_place);
            value.records += 1;
            value.same_content +=
                u64::from([value.first_content, value.last_content].contains(&seen.content));
            (value.last_content, value.last_place) = (seen.content, seen.place);
            if compare {
                value.last = Some(Arc::clone(seen.fields));
            }
            if value.records == 2 && self.repeated.len() < EXAMPLES {
                self.repeated.push(example(&self.key, seen.bytes));
            }
            return;
        }
        if self.first.len() < EXAMPLES {
            self.first.push(example(&self.key, seen.bytes));
        }
        let last = compare.then(|| Arc::clone(seen.fields));
        let value = Value {
            records: 1,
            same_content: 0,
            first_content: seen.content,
            last_content: seen.content,
            last_place: seen.place,
            last,
        };
        self.values.insert(hash, value);
        self.largest.push(hash);
        if self.values.len() > most
            && let Some(largest) = self.largest.pop()
        {
            self.values.remove(&largest);
            self.limit = largest;
        }
    }

    fn is_field(&self) -> bool {
        matches!(self.key.parts(), [KeyPart::Json(_) | KeyPart::KeyJson(_) | KeyPart::Header(_)])
    }

    /// Whether it is the whole value.
    pub(super) fn is_value(&self) -> bool {
        matches!(self.key.parts(), [KeyPart::Value])
    }

    /// Takes what the field was in the record before and is in this one, of the same writer.
    pub(super) fn step(&mut self, before: ValueHash, now: ValueHash) {
        self.neighbours.take(before, now);
    }

    /// Takes the number that it is in this record, and that of the record before of the same writer, if there was one.
    pub(super) fn climbs(&mut self, before: Option<u64>, now: u64) {
        self.climb.take(before, now);
    }

    /// Whether it counts what a process writes, and begins anew with the next process.
    pub(super) fn is_of_a_process(&self) -> bool {
        self.climb.begins_anew()
    }

    /// Of a million pairs of records that are picked blindly, in how many both have the same value.
    pub(super) fn equal_by_chance(&self, repeats: Repeats) -> u128 {
        let squares: u128 = self.values.values().map(|value| u128::from(value.records).pow(2)).sum();
        squares * 1_000_000 / u128::from(repeats.followed.max(1)).pow(2)
    }

    /// How often its values repeat, of those that were followed to the end.
    pub(super) fn repeats(&self) -> Repeats {
        let mut repeats = Repeats { order: self.order, ..Repeats::default() };
        // Sums, so that the order does not matter.
        self.values.values().for_each(|value| {
            repeats.distinct += 1;
            repeats.multiplicities.add(value.records);
            repeats.followed += value.records;
            repeats.same_content += value.same_content;
            repeats.other_content += value.records - 1 - value.same_content;
        });
        repeats
    }

    /// A few values, those that repeat first.
    pub(super) fn examples(&self) -> Vec<BusinessKey> {
        let mut examples = self.repeated.clone();
        for example in &self.first {
            if examples.len() < EXAMPLES && !examples.contains(example) {
                examples.push(example.clone());
            }
        }
        examples
    }
}

/// What kind of number a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Whole,
    /// With digits behind a point.
    Fraction,
}

fn number(bytes: &[u8]) -> Option<Number> {
    let text = std::str::from_utf8(bytes).ok()?.trim_matches('"');
    text.parse::<f64>().ok()?;
    Some(if text.contains('.') { Number::Fraction } else { Number::Whole })
}

/// Joins two values so that no other two are joined to the same.
pub(super) fn join(one: &[u8], other: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&u64::try_from(one.len()).unwrap_or(u64::MAX).to_le_bytes());
    out.extend_from_slice(one);
    out.extend_from_slice(other);
}

fn apart(joined: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, both) = joined.split_first_chunk()?;
    both.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

/// A value as the report shows it: keys as they are, whole values as a digest.
fn example(key: &KeySpec, bytes: &[u8]) -> BusinessKey {
    match key.parts() {
        [part] => single_example(part, bytes),
        [one, other] if let Some((first, second)) = apart(bytes) => {
            let parts = [(one, first), (other, second)].map(|(part, bytes)| reported_part(part, bytes));
            BusinessKey::Parts { parts: parts.into() }
        }
        _ => BusinessKey::of_digest(xxh3_128(bytes)),
    }
}

fn reported_part(part: &KeyPart, bytes: &[u8]) -> ReportedPart {
    let (text, base64) = match single_example(part, bytes) {
        BusinessKey::Text { text } => (Some(text), None),
        BusinessKey::Base64 { base64 } => (None, Some(base64)),
        BusinessKey::Digest { digest, .. } => (Some(digest), None),
        BusinessKey::Parts { .. } | BusinessKey::KeyedHash { .. } => (None, None),
    };
    ReportedPart { key: part.to_string(), text, base64, null: None, keyed_hash: None }
}

fn single_example(part: &KeyPart, bytes: &[u8]) -> BusinessKey {
    let is_json = matches!(part, KeyPart::Json(_) | KeyPart::KeyJson(_));
    let decoded = is_json.then(|| serde_json::from_slice::<String>(bytes).ok()).flatten();
    let bytes = decoded.as_deref().map_or(bytes, str::as_bytes);
    if matches!(part, KeyPart::Value) || bytes.len() > SHOWN {
        return BusinessKey::of_digest(xxh3_128(bytes));
    }
    BusinessKey::of_bytes(bytes)
}

fn compare_fields(one: &[ValueHash], other: &[ValueHash], agreement: &mut Vec<Agreement>) {
    agreement.resize(agreement.len().max(one.len().min(other.len())), Agreement::default());
    for ((one, other), agreement) in one.iter().zip(other).zip(agreement) {
        agreement.take(*one, *other);
    }
}
