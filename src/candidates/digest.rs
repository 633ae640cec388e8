//! Keyed digests: nobody who can write records can choose two that collide.
//!
//! The key is drawn anew in every run. The report does not depend on it, because a digest is only
//! compared with digests of the same run.

use super::store::Row;
use crate::format::Record;
use crate::keys::{self, Content, Identity, KeySpec, Keyed, Mask};
use crate::plan::TopicPlan;
use siphasher::sip128::{Hash128, Hasher128, SipHasher13};
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
/// Bytes that are gathered before they are hashed: a key and what tells its parts apart, as a rule.
const GATHERED: usize = 128;

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

    /// The digest of bytes that come in parts.
    #[inline]
    pub fn of(&self, domain: u32, feed: impl FnOnce(&mut Parts)) -> Fingerprint {
        let hasher = SipHasher13::new_with_keys(self.first, self.second);
        let mut parts = Parts { gathered: [0; GATHERED], length: 0, hasher, is_long: false };
        parts.write(&domain.to_le_bytes());
        feed(&mut parts);
        let Hash128 { h1, h2 } = parts.finish();
        Fingerprint(u128::from(h1) << 64 | u128::from(h2))
    }

    /// The digest of a business key: equal in all topics.
    pub fn key(&self, spec: &KeySpec, record: &Record<'_>) -> (Keyed, Fingerprint) {
        let mut keyed = Keyed::Without;
        let digest = self.of(KEY, |parts| keyed = keys::identify(spec, record, |part| parts.write(part)));
        (keyed, digest)
    }

    /// The digest of a business key that is given as texts, under one reading of them.
    #[must_use]
    pub fn given(&self, spec: &KeySpec, given: &[Option<Vec<u8>>], reading: u32) -> Fingerprint {
        self.of(KEY, |parts| keys::identify_given(spec, given, reading, |part| parts.write(part)))
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

/// Takes what is to be hashed. A key comes in several short parts, and each call to the hasher has its
/// price.
#[derive(Debug)]
pub struct Parts {
    gathered: [u8; GATHERED],
    length: usize,
    hasher: SipHasher13,
    /// Whether the hasher has begun.
    is_long: bool,
}

impl Parts {
    /// Adds bytes.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        match self.gathered.get_mut(self.length..self.length.saturating_add(bytes.len())) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.length += bytes.len();
            }
            None => self.write_through(bytes),
        }
    }

    #[cold]
    fn write_through(&mut self, bytes: &[u8]) {
        self.hasher.write(self.gathered.get(..self.length).unwrap_or_default());
        self.hasher.write(bytes);
        (self.length, self.is_long) = (0, true);
    }

    #[inline]
    fn finish(&mut self) -> Hash128 {
        let rest = self.gathered.get(..self.length).unwrap_or_default();
        if !self.is_long {
            return self.hasher.hash(rest);
        }
        self.hasher.write(rest);
        self.hasher.finish128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_digest_depends_on_the_bytes_and_not_on_their_parts(
            bytes in proptest::collection::vec(any::<u8>(), 0..400), cuts in proptest::collection::vec(0_usize..400, 0..5),
        ) {
            let key = DigestKey::random();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let in_parts = key.of(KEY, |parts| {
                let mut at = 0;
                for cut in cuts {
                    parts.write(&bytes[at..cut]);
                    at = cut;
                }
                parts.write(&bytes[at..]);
            });
            prop_assert_eq!(in_parts, key.of(KEY, |parts| parts.write(&bytes)));
            prop_assert_ne!(in_parts, key.of(CONTENT, |parts| parts.write(&bytes)));
        }
    }
}
