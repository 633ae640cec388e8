//! The ways in which client libraries choose a partition by the record key.
//!
//! Goes in: the bytes of a record key. Comes out: the number that a library takes modulo the
//! partition count. Null keys are spread, not hashed; so are empty ones by some libraries, and the
//! caller leaves both alone.
//!
//! ```text
//!  murmur2          sign bit masked          Java, Kafka Streams, Connect, kafka-python, kafkajs, franz-go
//!  crc32            unsigned                 librdkafka and what is built on it (consistent, consistent_random)
//!  fnv1a            32 bits, absolute value  sarama, kafka-go, librdkafka's fnv1a
//!  fnv1a-masked     32 bits, sign masked     sarama's reference hash, kafka-go's ReferenceHash
//!  fnv1a-unsigned   32 bits, unsigned        franz-go's SaramaHasher
//! ```
//!
//! Source: `BuiltInPartitioner.partitionForKey` and `Utils.murmur2` in Kafka's `clients` module,
//! `rdkafka_msg.c` and `rdfnv1a.c` of librdkafka, `partitioner.go` of sarama and of franz-go.

/// How a topic's writers choose a partition by the record key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Partitioner {
    /// The Java client's.
    Murmur2,
    /// librdkafka's default.
    Crc32,
    /// sarama's default.
    Fnv1a,
    /// sarama's other one.
    Fnv1aMasked,
    /// An early one of franz-go.
    Fnv1aUnsigned,
}

impl Partitioner {
    /// All of them; where several fit equally well, the first one is named.
    pub const ALL: [Self; 5] =
        [Self::Murmur2, Self::Crc32, Self::Fnv1a, Self::Fnv1aMasked, Self::Fnv1aUnsigned];

    /// The name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Murmur2 => "murmur2",
            Self::Crc32 => "crc32",
            Self::Fnv1a => "fnv1a",
            Self::Fnv1aMasked => "fnv1a-masked",
            Self::Fnv1aUnsigned => "fnv1a-unsigned",
        }
    }

    /// Which clients use it unless told otherwise.
    #[must_use]
    pub const fn clients(self) -> &'static str {
        match self {
            Self::Murmur2 => "the Java client and those that follow it",
            Self::Crc32 => "librdkafka and the clients built on it",
            Self::Fnv1a => "sarama and kafka-go",
            Self::Fnv1aMasked => "sarama's reference hash",
            Self::Fnv1aUnsigned => "an older hash of franz-go",
        }
    }

    /// What it takes modulo the partition count.
    #[must_use]
    pub fn number(self, key: &[u8]) -> u32 {
        match self {
            Self::Murmur2 => murmur2(key) & MASK,
            Self::Crc32 => crc32fast::hash(key),
            Self::Fnv1a => fnv1a(key).cast_signed().unsigned_abs(),
            Self::Fnv1aMasked => fnv1a(key) & MASK,
            Self::Fnv1aUnsigned => fnv1a(key),
        }
    }
}

const MASK: u32 = 0x7fff_ffff;

/// A key under every partitioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHashes {
    murmur2: u32,
    crc32: u32,
    fnv1a: u32,
}

impl KeyHashes {
    /// Hashes a key in every way.
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        Self { murmur2: murmur2(key), crc32: crc32fast::hash(key), fnv1a: fnv1a(key) }
    }

    /// [`Partitioner::number`] of the key.
    #[must_use]
    pub const fn number(&self, partitioner: Partitioner) -> u32 {
        match partitioner {
            Partitioner::Murmur2 => self.murmur2 & MASK,
            Partitioner::Crc32 => self.crc32,
            Partitioner::Fnv1a => self.fnv1a.cast_signed().unsigned_abs(),
            Partitioner::Fnv1aMasked => self.fnv1a & MASK,
            Partitioner::Fnv1aUnsigned => self.fnv1a,
        }
    }
}

/// MurmurHash2 of 32 bits with Kafka's seed.
fn murmur2(key: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
    let (words, tail) = key.as_chunks::<4>();
    let mut hash = SEED ^ length;
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        let rest = tail.iter().rev().fold(0, |rest, &byte| rest << 8 | u32::from(byte));
        hash = (hash ^ rest).wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 15
}

fn fnv1a(key: &[u8]) -> u32 {
    key.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur2_agrees_with_the_java_client() {
        let number = |key: &str| Partitioner::Murmur2.number(key.as_bytes());
        assert_eq!(number("21"), 1_173_551_340);
        assert_eq!(number("foobar"), 1_357_151_166);
        assert_eq!(number("a-little-bit-long-string"), 1_161_502_112);
        assert_eq!(number("abc"), 479_470_107);
        assert_eq!(number(""), 275_646_681);
    }

    #[test]
    fn crc32_is_taken_without_a_sign() {
        // Modulo 100 of the signed number would be 70.
        assert_eq!(Partitioner::Crc32.number(b"SheetJS"), 2_647_669_026);
    }

    #[test]
    fn fnv1a_agrees_with_its_published_values_in_all_three_readings() {
        assert_eq!(Partitioner::Fnv1aUnsigned.number(b"foobar"), 0xbf9c_f968);
        assert_eq!(Partitioner::Fnv1aMasked.number(b"foobar"), 0x3f9c_f968);
        assert_eq!(Partitioner::Fnv1a.number(b"foobar"), 0x4063_0698);
        assert_eq!(Partitioner::Fnv1aUnsigned.number(b"a"), 0xe40c_292c);
    }

    #[test]
    fn all_hashes_at_once_are_those_one_by_one() {
        for key in ["", "a", "order-1", "a key of some length"] {
            for partitioner in Partitioner::ALL {
                assert_eq!(
                    KeyHashes::of(key.as_bytes()).number(partitioner),
                    partitioner.number(key.as_bytes())
                );
            }
        }
    }
}
