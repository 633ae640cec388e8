//! What it says of a record key that its repeats carry the same content.
//!
//! Where records differ, equal content is the sign of a copy. Where hardly any two do, as likes, views and heartbeats
//! that say nothing but who or what, two events of one key are as equal as two copies. How often two records of
//! different keys agree in all but the key tells which of the two a topic is. What repeats the key beside it, as the
//! `userId` of a record that is keyed by the user, tells no records of a key apart and is left out of account.

use super::sample::{Repeats, Sample, SampleRecord};
use crate::keys::{Mask, masked_content, scalars};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Whether contents tell the events of a topic apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contents {
    /// Two events hardly say the same.
    #[default]
    Differ,
    /// Two events of one key are likely to be equal, because hardly any two records differ beside it.
    Alike,
}

/// How often two records of different keys agree in all but the key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Likeness(f64);

impl Likeness {
    /// So many expected differences are beyond doubt: half of them or less come one time in more than a hundred.
    const MANY: f64 = 40.0;
    /// What comes less often is no chance.
    const CHANCE: f64 = 0.01;
    /// A topic in which so many pairs are equal says little by its contents, where no key repeats.
    const OFTEN: f64 = 0.05;

    /// That of a sample whose volatile fields `mask` hides.
    pub(super) fn of(sample: &Sample, mask: &Mask) -> Self {
        let mut contents: HashMap<Vec<u8>, HashMap<&[u8], u64>> = HashMap::new();
        let mut keys: HashMap<&[u8], u64> = HashMap::new();
        let mut records = 0_u64;
        for record in &sample.records {
            let Some(key) = record.key.as_deref() else { continue };
            records += 1;
            *keys.entry(key).or_default() += 1;
            *contents.entry(apart_from_key(record, key, mask)).or_default().entry(key).or_default() += 1;
        }
        // Sums of whole numbers, so that the order does not matter.
        let square = |number: u64| u128::from(number).pow(2);
        let of_one_key = keys.into_values().map(square).sum::<u128>();
        let pairs = square(records).saturating_sub(of_one_key);
        let equal: u128 = contents
            .into_values()
            .map(|keys| {
                let all = square(keys.values().sum());
                all - keys.into_values().map(square).sum::<u128>()
            })
            .sum();
        Self(if pairs == 0 { 0.0 } else { as_float(equal) / as_float(pairs) })
    }

    /// Whether equal contents may be those of different events: so many repeats of the key would be as equal as these
    /// are, or half of the equal ones would be.
    pub(super) fn explains(self, repeats: Repeats) -> Contents {
        if self.makes(repeats) { Contents::Alike } else { Contents::Differ }
    }

    fn makes(self, repeats: Repeats) -> bool {
        let all = repeats.same_content + repeats.other_content;
        if all == 0 {
            return self.0 >= Self::OFTEN;
        }
        let differ = (1.0 - self.0) * as_float(all as u128);
        let found = as_float(repeats.other_content as u128);
        if found * 2.0 >= differ {
            return true;
        }
        differ < Self::MANY && at_most(repeats.other_content, all, 1.0 - self.0) >= Self::CHANCE
    }
}

/// How likely at most `some` of `all` differ, where each does with that chance.
fn at_most(some: usize, all: usize, chance: f64) -> f64 {
    if chance >= 1.0 {
        return if some < all { 0.0 } else { 1.0 };
    }
    let mut term = (0..all).fold(1.0, |term, _| term * (1.0 - chance));
    let mut sum = term;
    for number in 1..=some {
        let left = as_float((all + 1 - number) as u128);
        term = term * left / as_float(number as u128) * chance / (1.0 - chance);
        sum += term;
    }
    sum
}

#[expect(clippy::cast_precision_loss, reason = "a share is as good without its last digits")]
const fn as_float(number: u128) -> f64 {
    number as f64
}

/// What a record says beside its key.
fn apart_from_key(record: &SampleRecord, key: &[u8], mask: &Mask) -> Vec<u8> {
    let mut names = Vec::new();
    let is_document = scalars(key, KEY_PARTS, &mut |_, raw| {
        names.push(raw.trim_matches('"').as_bytes().to_vec());
    });
    if !is_document {
        names.push(key.to_vec());
    }
    let without = |bytes: &[u8]| names.iter().fold(bytes.to_vec(), |bytes, name| without_word(&bytes, name));
    let value = record.value.as_deref().map(without);
    let headers: Vec<_> =
        record.headers.iter().map(|(name, value)| (name.clone(), value.as_deref().map(without))).collect();
    masked_content(None, value.as_deref(), &headers, mask)
}

/// Members of a key that is a document.
const KEY_PARTS: usize = 8;

/// Puts a zero where a word stands by itself, so that a document stays one.
fn without_word(bytes: &[u8], word: &[u8]) -> Vec<u8> {
    if word.is_empty() {
        return bytes.to_vec();
    }
    let is_inside = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let (mut out, mut from) = (Vec::with_capacity(bytes.len()), 0);
    for at in memmem::find_iter(bytes, word) {
        let end = at + word.len();
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        if at >= from && !is_inside(before) && !is_inside(bytes.get(end)) {
            out.extend_from_slice(bytes.get(from..at).unwrap_or_default());
            out.push(b'0');
            from = end;
        }
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Headers, Record};
    use crate::units::{Offset, ProducerId};

    fn likeness(records: impl IntoIterator<Item = (String, String)>) -> Likeness {
        let mut sample = Sample::default();
        for (key, value) in records {
            let record = Record {
                offset: Offset(0),
                timestamp: 0,
                client_timestamp: 0,
                sequence: None,
                key: Some(key.as_bytes()),
                value: Some(value.as_bytes()),
                headers: Headers::default(),
            };
            sample.push(0, ProducerId(-1), &record);
        }
        Likeness::of(&sample, &Mask::default())
    }

    fn repeats(same_content: usize, other_content: usize) -> Repeats {
        Repeats { same_content, other_content }
    }

    #[test]
    fn equal_contents_say_nothing_where_all_are_equal() {
        let likes = likeness((0..100).map(|n| (format!("p-{}", n % 90), "like".to_owned())));
        assert_eq!(likes, Likeness(1.0));
        assert!(likes.makes(repeats(10, 0)));
        assert!(likes.makes(repeats(0, 0)));
        // Or where they differ in the key alone.
        let logins = (0..100).map(|n| (format!("u{n}"), format!("{{\"type\":\"login\",\"user\":\"u{n}\"}}")));
        assert_eq!(likeness(logins), Likeness(1.0));
        let keyed = (0..100).map(|n| (format!("{{\"id\":{n}}}"), format!("{{\"after\":{{\"id\":{n}}}}}")));
        assert_eq!(likeness(keyed), Likeness(1.0));
    }

    #[test]
    fn equal_contents_are_a_sign_where_records_differ() {
        let orders = likeness((0..100).map(|n| (format!("o-{n}"), format!("{{\"amount\":{}}}", n * 7 % 50))));
        assert!(orders.0 < 0.02);
        for same in [2, 3, 300] {
            assert!(!orders.makes(repeats(same, 0)), "{same}");
        }
        assert!(!orders.makes(repeats(0, 0)));
    }

    #[test]
    fn of_few_contents_it_is_their_share_that_tells() {
        let kinds = likeness((0..300).map(|n| (format!("u{n}"), format!("kind {}", n % 3))));
        // A third of other events are equal: no more than that are.
        assert!(kinds.makes(repeats(37, 57)));
        assert!(kinds.makes(repeats(370, 570)));
        assert!(!kinds.makes(repeats(37, 4)));
        assert!(!kinds.makes(repeats(370, 40)));
        assert!(kinds.makes(repeats(3, 0)));
        assert!(!kinds.makes(repeats(6, 0)));
    }
}
