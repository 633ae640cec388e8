//! Keyed digests: nobody who can write records can choose two that collide.
//!
//! The key is drawn anew in every run. The report does not depend on it, because a digest is only
//! compared with digests of the same run.

use super::sip::Sip;
use super::store::Row;
use crate::format::Record;
use crate::keys::{self, Content, Identity, KeySpec, Keyed, Mask, PartOfKey};
use crate::plan::TopicPlan;
use std::hash::{BuildHasher, Hasher, RandomState};
use xxhash_rust::xxh3::xxh3_64_with_secret;

/// Keep digests of different things apart.
const KEY: u32 = 1;
const CONTENT: u32 = 2;
const KEY_OF_CONTENT: u32 = 4;
/// For the records of a batch.
pub const RECORD_SET: u32 = 3;

/// The golden ratio in 64 bits: spreads what came before over all bits.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The key of one run.
#[derive(Clone, Copy, Debug)]
pub struct DigestKey {
    first: u64,
    second: u64,
    /// For selectors: made once, as a seed would be stretched to it for each content.
    secret: [u8; 192],
}

/// 128 bits that stand for bytes within one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u128);

impl DigestKey {
    /// A key from the system's random numbers.
    #[must_use]
    pub fn random() -> Self {
        let draw = || RandomState::new().build_hasher().finish();
        let mut secret = [0; 192];
        for part in secret.chunks_exact_mut(8) {
            part.copy_from_slice(&draw().to_le_bytes());
        }
        Self { first: draw(), second: draw(), secret }
    }

    /// The digest of bytes that come in parts; other parts of the same bytes are something else.
    #[inline]
    pub fn of(&self, domain: u32, feed: impl FnOnce(&mut Parts)) -> Fingerprint {
        let mut parts = Parts(Sip::new(self.first, self.second));
        parts.0.word(u64::from(domain));
        feed(&mut parts);
        Fingerprint(parts.0.finish())
    }

    /// The digest of a business key: equal in all topics.
    #[inline]
    pub fn key(&self, spec: &KeySpec, record: &Record<'_>) -> (Keyed, Fingerprint) {
        let mut keyed = Keyed::Without;
        let digest = self.of(KEY, |parts| keyed = keys::parts_of_key(spec, record, |part| parts.part(part)));
        (keyed, digest)
    }

    /// The digest of a business key that is given as texts, under one reading of them.
    #[must_use]
    pub fn given(&self, spec: &KeySpec, given: &[Option<Vec<u8>>], reading: u32) -> Fingerprint {
        self.of(KEY, |parts| keys::given_parts_of_key(spec, given, reading, |part| parts.part(part)))
    }

    /// The digest of a record's identity.
    pub fn identity(
        &self,
        identity: &Identity,
        content: &mut Content,
        mask: &Mask,
        record: &Record<'_>,
    ) -> (Keyed, Fingerprint) {
        match identity {
            Identity::Key(spec) => self.key(spec, record),
            // The contents of one record key stand together, so that a state that comes back can be told
            // from a copy; the content itself tells events apart.
            Identity::Content => {
                let digest = match record.key {
                    Some(key) => self.of(KEY_OF_CONTENT, |parts| parts.write(key)),
                    None => self.content(content, mask, record),
                };
                (Keyed::Yes, digest)
            }
        }
    }

    /// The digest of a record's content.
    pub fn content(&self, content: &mut Content, mask: &Mask, record: &Record<'_>) -> Fingerprint {
        let bytes = content.bytes(record, mask);
        self.of(CONTENT, |parts| parts.write(bytes))
    }

    /// 32 bits that equal contents share: different bits, different contents. Cheap, and only a
    /// first sieve. Never [`Row::NO_SELECTOR`].
    pub fn selector(&self, content: &mut Content, plan: &TopicPlan, record: &Record<'_>) -> u32 {
        let of = |bytes: &[u8]| xxh3_64_with_secret(bytes, &self.secret);
        let mut hash = 0u64;
        let mut join = |piece: &[u8]| hash = (hash.rotate_left(23) ^ of(piece)).wrapping_mul(ODD);
        if !content.sieved(record, &plan.sieve, &mut join) {
            hash = of(content.bytes(record, &plan.mask));
        }
        u32::try_from(hash >> 32).unwrap_or(0).max(Row::NO_SELECTOR + 1)
    }
}

/// Takes what is to be hashed, word by word where it stands: nothing is gathered first.
#[derive(Debug)]
pub struct Parts(Sip);

impl Parts {
    /// Adds bytes, and with them how many they are.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        self.0.word(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.padded(bytes);
    }

    /// Adds a part of a key.
    #[inline]
    fn part(&mut self, part: PartOfKey<'_>) {
        match part {
            // Lengths need no more than the other 56 bits.
            Some((kind, bytes)) => {
                self.0.word(u64::from(kind) << 56 ^ u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                self.padded(bytes);
            }
            None => self.0.word(u64::MAX),
        }
    }

    /// Adds bytes whose number was added before.
    #[inline]
    fn padded(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.0.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.0.word(rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn the_digest_depends_on_the_parts_and_on_what_they_stand_for(
            parts in proptest::collection::vec(proptest::collection::vec(0_u8..2, 0..20), 0..4),
            others in proptest::collection::vec(proptest::collection::vec(0_u8..2, 0..20), 0..4),
        ) {
            let key = DigestKey::random();
            let of = |domain: u32, all: &[Vec<u8>]| key.of(domain, |parts| all.iter().for_each(|one| parts.write(one)));
            prop_assert_eq!(of(KEY, &parts) == of(KEY, &others), parts == others);
            prop_assert_ne!(of(KEY, &parts), of(CONTENT, &parts));
        }
    }

    #[test]
    fn no_two_keys_of_parts_that_are_there_or_not_have_one_digest() {
        let key = DigestKey::random();
        let texts =
            [None, Some(""), Some("\0"), Some("\0\0"), Some("1"), Some("12345678"), Some("12345678\0")];
        let mut seen = HashMap::new();
        for spec in ["record-key+value", "record-key+json:/a"] {
            let spec: KeySpec = spec.parse().unwrap();
            for (one, other) in texts.iter().flat_map(|one| texts.iter().map(move |other| (one, other))) {
                for reading in 0..spec.readings() {
                    let given = [one, other].map(|text| text.map(|text| text.as_bytes().to_vec()));
                    let kind = other.map(|_| spec.parts()[1].to_string() == "json:/a" && reading == 1);
                    let digest = key.given(&spec, &given, reading);
                    let before = seen.insert(digest, (given.clone(), kind));
                    assert!(before.is_none_or(|before| before == (given, kind)));
                }
            }
        }
        assert_eq!(seen.len(), 7 * (7 + 6), "texts and numbers are two keys");
    }
}
