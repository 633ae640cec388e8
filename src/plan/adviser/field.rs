//! What is known of one field: how often it is there, which values repeat, and how two records that
//! share a value differ.

use crate::finding::BusinessKey;
use crate::keys::KeyPart;
use crate::plan::fields::as_time;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Pairs of records with one value whose other fields are compared.
const PAIRS: u64 = 2000;
/// Examples of a field.
pub(super) const EXAMPLES: usize = 3;
/// Records between a record and its repeat that count as "soon behind it".
const SOON: u64 = 8;
/// Records between two repeats of one stretch, where one field's values are followed in part.
const STRETCH: u64 = 1000;

/// Bytes of a value that is shown: what is longer is no key that somebody would type.
const SHOWN: usize = 200;

/// What stands for a field's value in one record; 0 where the record has none.
pub(super) type ValueHash = u32;

/// One field of a topic's records.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) part: KeyPart,
    /// Records that have it.
    pub(super) covered: u64,
    /// Records in which it is a time.
    pub(super) times: u64,
    /// Records in which it is a number with a fraction: something measured or paid, no name.
    pub(super) fractions: u64,
    /// Values with a larger hash are not followed.
    limit: u64,
    values: BTreeMap<u64, Value>,
    /// Pairs of records with one value that were held against each other.
    pub(super) pairs: u64,
    /// By other field: in how many pairs both records have it, and in how many they agree.
    pub(super) agreement: Vec<Agreement>,
    /// Repeats that were seen, of values that were dropped later, too.
    seen_again: u64,
    /// Those that stand soon behind the record that they repeat.
    soon: u64,
    /// Those that go on where the repeat before them was.
    in_stretch: u64,
    /// The last repeat, and the record that it repeats.
    last_repeat: Option<(u64, u64)>,
    repeated: Vec<BusinessKey>,
    first: Vec<BusinessKey>,
}

/// How another field behaves in pairs that share a value of this one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreement {
    pub(super) both: u64,
    pub(super) equal: u64,
}

/// One value of a field.
#[derive(Debug)]
struct Value {
    records: u64,
    same_content: u64,
    first_content: u64,
    last_content: u64,
    last_place: u64,
    last: Box<[ValueHash]>,
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
    /// All fields of the record.
    pub(super) fields: &'r [ValueHash],
}

/// How often the values of a field repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repeats {
    /// Records whose value was followed.
    pub(super) followed: u64,
    pub(super) distinct: u64,
    pub(super) same_content: u64,
    pub(super) other_content: u64,
    /// Of 100 repeats, how many stand soon behind what they repeat.
    pub(super) soon_percent: u64,
    /// Of 100 repeats, how many go on where the repeat before them was.
    pub(super) in_stretch_percent: u64,
}

impl Field {
    pub(super) const fn new(part: KeyPart) -> Self {
        Self {
            part,
            covered: 0,
            times: 0,
            fractions: 0,
            limit: u64::MAX,
            values: BTreeMap::new(),
            pairs: 0,
            agreement: Vec::new(),
            seen_again: 0,
            soon: 0,
            in_stretch: 0,
            last_repeat: None,
            repeated: Vec::new(),
            first: Vec::new(),
        }
    }

    /// Takes the field's value in the next record; `most` values are followed.
    pub(super) fn take(&mut self, seen: &Seen<'_>, most: usize) {
        self.covered += 1;
        self.times += u64::from(self.is_field() && is_time(seen.bytes));
        self.fractions += u64::from(self.is_field() && is_fraction(seen.bytes));
        let hash = xxh3_64(seen.bytes);
        if hash >= self.limit {
            return;
        }
        let compare = self.pairs < PAIRS;
        if let Some(value) = self.values.get_mut(&hash) {
            if compare {
                self.pairs += 1;
                compare_fields(&value.last, seen.fields, &mut self.agreement);
            }
            let steps =
                self.last_repeat.map(|(repeat, of)| (seen.place - repeat, value.last_place.wrapping_sub(of)));
            self.in_stretch += u64::from(steps.is_some_and(|(one, other)| go_on(one, other)));
            self.seen_again += 1;
            self.last_repeat = Some((seen.place, value.last_place));
            self.soon += u64::from(seen.place - value.last_place <= SOON);
            value.records += 1;
            value.same_content +=
                u64::from([value.first_content, value.last_content].contains(&seen.content));
            (value.last_content, value.last_place) = (seen.content, seen.place);
            if compare {
                value.last = seen.fields.into();
            }
            if value.records == 2 && self.repeated.len() < EXAMPLES {
                self.repeated.push(example(&self.part, seen.bytes));
            }
            return;
        }
        if self.first.len() < EXAMPLES {
            self.first.push(example(&self.part, seen.bytes));
        }
        let last = if compare { seen.fields.into() } else { Box::default() };
        let value = Value {
            records: 1,
            same_content: 0,
            first_content: seen.content,
            last_content: seen.content,
            last_place: seen.place,
            last,
        };
        self.values.insert(hash, value);
        if self.values.len() > most
            && let Some((largest, _)) = self.values.pop_last()
        {
            self.limit = largest;
        }
    }

    const fn is_field(&self) -> bool {
        matches!(self.part, KeyPart::Json(_) | KeyPart::KeyJson(_) | KeyPart::Header(_))
    }

    /// How often its values repeat, of those that were followed to the end.
    pub(super) fn repeats(&self) -> Repeats {
        let percent = |part: u64| part.saturating_mul(100) / self.seen_again.max(1);
        let mut repeats = Repeats {
            soon_percent: percent(self.soon),
            in_stretch_percent: percent(self.in_stretch),
            ..Repeats::default()
        };
        for value in self.values.values() {
            repeats.distinct += 1;
            repeats.followed += value.records;
            repeats.same_content += value.same_content;
            repeats.other_content += value.records - 1 - value.same_content;
        }
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

/// Whether two repeats belong to one stretch: from one to the next it is as far as between the
/// records that they repeat.
fn go_on(from_repeat: u64, from_repeated: u64) -> bool {
    let steps = 1..=STRETCH;
    let slack = 2 + from_repeat / 8;
    steps.contains(&from_repeat)
        && steps.contains(&from_repeated)
        && from_repeat.abs_diff(from_repeated) <= slack
}

fn is_time(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| as_time(text).is_some())
}

/// Whether this is a number with digits behind a point.
fn is_fraction(bytes: &[u8]) -> bool {
    bytes.contains(&b'.')
        && std::str::from_utf8(bytes).is_ok_and(|text| text.trim_matches('"').parse::<f64>().is_ok())
}

/// A value as the report shows it: keys as they are, whole values as a digest.
fn example(part: &KeyPart, bytes: &[u8]) -> BusinessKey {
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
        if *one != 0 && *other != 0 {
            agreement.both += 1;
            agreement.equal += u64::from(one == other);
        }
    }
}
