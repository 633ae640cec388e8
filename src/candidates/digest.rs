//! Keyed digests: nobody who can write records can choose two that collide.
//!
//! The key is drawn anew in every run. The report does not depend on it, because a digest is only
//! compared with digests of the same run.

use crate::format::Record;
use crate::keys::{self, Content, Identity, KeySpec, Keyed, Mask, SieveMask};
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
/// Bytes that are gathered before they are hashed.
const GATHERED: usize = 64;

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
    pub fn of(&self, domain: u32, feed: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Fingerprint {
        let mut hasher = SipHasher13::new_with_keys(self.first, self.second);
        // A key comes in several short parts, and each call to the hasher has its price.
        let mut gathered = [0; GATHERED];
        let mut length = size_of_val(&domain);
        gathered[..length].copy_from_slice(&domain.to_le_bytes());
        feed(&mut |bytes| {
            if let Some(room) = gathered.get_mut(length..length.saturating_add(bytes.len())) {
                room.copy_from_slice(bytes);
                length += bytes.len();
            } else {
                hasher.write(&gathered[..length]);
                hasher.write(bytes);
                length = 0;
            }
        });
        hasher.write(&gathered[..length]);
        let Hash128 { h1, h2 } = hasher.finish128();
        Fingerprint(u128::from(h1) << 64 | u128::from(h2))
    }

    /// The digest of a business key: equal in all topics.
    pub fn key(&self, spec: &KeySpec, record: &Record<'_>) -> (Keyed, Fingerprint) {
        let mut keyed = Keyed::Without;
        let digest = self.of(KEY, |write| keyed = keys::identify(spec, record, write));
        (keyed, digest)
    }

    /// The digest of a business key that is given as texts, under one reading of them.
    #[must_use]
    pub fn given(&self, spec: &KeySpec, given: &[Option<Vec<u8>>], reading: u32) -> Fingerprint {
        self.of(KEY, |write| keys::identify_given(spec, given, reading, write))
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
                    Some(key) => self.of(KEY_OF_CONTENT, |write| write(key)),
                    None => self.content(content, mask, record),
                };
                (Keyed::Yes, digest)
            }
        }
    }

    /// The digest of a record's content.
    pub fn content(&self, content: &mut Content, mask: &Mask, record: &Record<'_>) -> Fingerprint {
        let bytes = content.bytes(record, mask);
        self.of(CONTENT, |write| write(bytes))
    }

    /// 32 bits that equal contents share: different bits, different contents. Cheap, and only a
    /// first sieve.
    pub fn selector(
        &self,
        content: &mut Content,
        mask: &Mask,
        sieve: &SieveMask,
        record: &Record<'_>,
    ) -> u32 {
        let of = |bytes: &[u8]| xxh3_64_with_secret(bytes, &self.secret);
        let mut hash = 0u64;
        let mut join = |piece: &[u8]| hash = (hash.rotate_left(23) ^ of(piece)).wrapping_mul(ODD);
        if !content.sieved(record, sieve, &mut join) {
            hash = of(content.bytes(record, mask));
        }
        u32::try_from(hash >> 32).unwrap_or(0)
    }
}
