//! SipHash-1-3 with 128 bits over words, taken where they stand.
//!
//! What comes out is what the algorithm makes of the same words as bytes (the tests hold it against a
//! crate), without the block that tells the number of bytes: who hashes puts lengths in front.
//!
//! Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", and its reference implementation.

/// The state between two words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sip {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl Sip {
    /// Begins under a key of two halves.
    pub(super) const fn new(first: u64, second: u64) -> Self {
        Self {
            v0: first ^ 0x736f_6d65_7073_6575,
            // 128 bits come out.
            v1: second ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            v2: first ^ 0x6c79_6765_6e65_7261,
            v3: second ^ 0x7465_6462_7974_6573,
        }
    }

    /// Takes a word.
    #[inline]
    pub(super) const fn word(&mut self, word: u64) {
        self.v3 ^= word;
        self.round();
        self.v0 ^= word;
    }

    /// What the words come to.
    #[inline]
    pub(super) fn finish(mut self) -> u128 {
        self.v2 ^= 0xee;
        let first = self.half();
        self.v1 ^= 0xdd;
        u128::from(first) << 64 | u128::from(self.half())
    }

    #[inline]
    const fn half(&mut self) -> u64 {
        self.round();
        self.round();
        self.round();
        self.v0 ^ self.v1 ^ self.v2 ^ self.v3
    }

    #[inline]
    const fn round(&mut self) {
        self.v0 = self.v0.wrapping_add(self.v1);
        self.v2 = self.v2.wrapping_add(self.v3);
        self.v1 = self.v1.rotate_left(13) ^ self.v0;
        self.v3 = self.v3.rotate_left(16) ^ self.v2;
        self.v0 = self.v0.rotate_left(32);
        self.v2 = self.v2.wrapping_add(self.v1);
        self.v0 = self.v0.wrapping_add(self.v3);
        self.v1 = self.v1.rotate_left(17) ^ self.v2;
        self.v3 = self.v3.rotate_left(21) ^ self.v0;
        self.v2 = self.v2.rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use siphasher::sip128::{Hash128, SipHasher13};

    proptest! {
        #[test]
        fn words_come_to_what_their_bytes_do(
            first: u64, second: u64, words in proptest::collection::vec(any::<u64>(), 0..20),
        ) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let Hash128 { h1, h2 } = SipHasher13::new_with_keys(first, second).hash(&bytes);
            let mut sip = Sip::new(first, second);
            for &word in &words {
                sip.word(word);
            }
            // The block in which SipHash tells how many bytes there were.
            sip.word(u64::try_from(bytes.len() % 256).unwrap() << 56);
            prop_assert_eq!(sip.finish(), u128::from(h1) << 64 | u128::from(h2));
        }
    }
}
