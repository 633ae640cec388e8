//! A record that may be a copy, and its form in a temporary file.

use super::{BatchPlace, Reread, StoredCopy, TimeSource};
use crate::candidates::Fingerprint;
use crate::finding::{BusinessKey, Visibility};
use crate::spill::{Element, RunReader};
use crate::units::{FilePosition, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use std::io;

/// A record whose identity and content may be stored more than once; in order of identity, content
/// and place.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Digest of its identity.
    pub identity: Fingerprint,
    /// Digest of its content, volatile fields masked.
    pub content: Fingerprint,
    /// Digest of its content as it is.
    pub exact_content: Fingerprint,
    /// Digest of the decompressed records of its batch, with the base time.
    pub record_set: Fingerprint,
    /// Whether its value is null.
    pub is_tombstone: bool,
    /// Its identity, in the form that the report may show.
    pub business_key: BusinessKey,
    /// The record.
    pub copy: StoredCopy,
}

impl Candidate {
    fn order(&self) -> impl Ord {
        let batch = &self.copy.batch;
        (self.identity, self.content, self.copy.partition, self.copy.offset, batch.segment, batch.position)
    }
}

compared_by!(Candidate, |one| one.order());

impl Element for Candidate {
    fn memory(&self) -> usize {
        size_of::<Self>() + memory_of(&self.business_key)
    }

    fn put(&self, out: &mut Vec<u8>) {
        for digest in [self.identity, self.content, self.exact_content, self.record_set] {
            out.extend_from_slice(&digest.0.to_le_bytes());
        }
        self.copy.put(out);
        out.push(u8::from(self.is_tombstone));
        put_key(&self.business_key, out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let mut digest = || Ok::<_, io::Error>(Fingerprint(u128::from_le_bytes(from.array()?)));
        let (identity, content, exact_content, record_set) = (digest()?, digest()?, digest()?, digest()?);
        let copy = StoredCopy::take(from)?;
        let is_tombstone = from.array()? == [1];
        let business_key = take_key(from)?;
        Ok(Self { identity, content, exact_content, record_set, is_tombstone, business_key, copy })
    }
}

/// Bytes of memory that a key holds beside itself.
pub(super) fn memory_of(business_key: &BusinessKey) -> usize {
    let key = match business_key {
        BusinessKey::Text { text: key }
        | BusinessKey::Base64 { base64: key }
        | BusinessKey::KeyedHash { keyed_hash: key } => key.capacity(),
        BusinessKey::Digest { digest, record_key } => {
            digest.capacity() + record_key.as_deref().map_or(0, text_of)
        }
        BusinessKey::Parts { parts } => parts
            .iter()
            .map(|part| {
                let texts = [part.text.as_ref(), part.base64.as_ref(), part.keyed_hash.as_ref()];
                size_of_val(part)
                    + texts.into_iter().flatten().chain([&part.key]).map(String::capacity).sum::<usize>()
            })
            .sum(),
    };
    // What the allocator adds to a text of its own.
    key + 16
}

/// Bytes of a copy: all copies take as many, so that one is read at once.
const COPY: usize = 4 * 4 + 4 * 8 + 8 + 1 + 8 * 8 + 4 + Reread::BYTES;

/// The fields of something that was read at once.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl Fields<'_> {
    /// The next `N` bytes.
    #[inline]
    pub(super) fn next<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk().ok_or(io::ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(*field)
    }
}

impl Element for StoredCopy {
    fn put(&self, out: &mut Vec<u8>) {
        let (copy, batch) = (self, &self.batch);
        for number in [copy.partition, batch.segment, batch.records, batch.crc] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [copy.offset.0, copy.producer_id.0, batch.base_offset.0, batch.last_offset.0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&batch.position.0.to_le_bytes());
        let numbers = [
            copy.timestamp,
            copy.client_timestamp,
            copy.producer_epoch.map(|epoch| i64::from(epoch.0)),
            copy.sequence.map(|sequence| i64::from(sequence.get())),
            copy.session.map(i64::from),
            copy.partition_leader_epoch.map(|epoch| i64::from(epoch.0)),
            copy.written_after,
            batch.base_sequence.map(|sequence| i64::from(sequence.get())),
        ];
        let there = numbers.iter().rev().fold(0_u8, |bits, number| bits << 1 | u8::from(number.is_some()));
        out.push(there);
        for number in numbers {
            out.extend_from_slice(&number.unwrap_or(0).to_le_bytes());
        }
        let place = |all: &[TimeSource]| all.iter().position(|one| *one == copy.timestamp_type);
        let outcome = |all: &[Visibility]| all.iter().position(|one| *one == copy.visibility);
        let flags = [batch.in_sequence, copy.behind_other_content].map(|flag| Some(usize::from(flag)));
        for small in [place(&TIME_SOURCES), outcome(&VISIBILITIES)].into_iter().chain(flags) {
            out.push(small.and_then(|small| u8::try_from(small).ok()).unwrap_or(u8::MAX));
        }
        out.extend_from_slice(&Reread::to_bytes(copy.reread));
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let mut fields = Fields(from.bytes(COPY)?);
        let mut number = || Ok::<_, io::Error>(u32::from_le_bytes(fields.next()?));
        let (partition, segment, records, crc) = (number()?, number()?, number()?, number()?);
        let mut number = || Ok::<_, io::Error>(i64::from_le_bytes(fields.next()?));
        let (offset, producer_id, base_offset, last_offset) = (number()?, number()?, number()?, number()?);
        let position = FilePosition(u64::from_le_bytes(fields.next()?));
        let [mut there] = fields.next()?;
        let mut maybe = || {
            let is_there = there & 1 == 1;
            there >>= 1;
            let number = i64::from_le_bytes(fields.next()?);
            Ok::<_, io::Error>(is_there.then_some(number))
        };
        let (timestamp, client_timestamp, producer_epoch, sequence) =
            (maybe()?, maybe()?, maybe()?, maybe()?);
        let (session, leader_epoch, written_after, base_sequence) = (maybe()?, maybe()?, maybe()?, maybe()?);
        let [time_source, visibility, in_sequence, behind_other_content] = fields.next()?;
        let reread = Reread::from_bytes(fields.next()?);
        let int = |number: Option<i64>| number.and_then(|number| i32::try_from(number).ok());
        Ok(Self {
            partition,
            offset: Offset(offset),
            timestamp,
            client_timestamp,
            timestamp_type: one_of(&TIME_SOURCES, time_source)?,
            producer_id: ProducerId(producer_id),
            producer_epoch: producer_epoch.and_then(|epoch| i16::try_from(epoch).ok()).map(ProducerEpoch),
            sequence: int(sequence).and_then(Sequence::new),
            session: session.and_then(|session| u32::try_from(session).ok()),
            partition_leader_epoch: int(leader_epoch).map(LeaderEpoch),
            visibility: one_of(&VISIBILITIES, visibility)?,
            written_after,
            behind_other_content: behind_other_content == 1,
            reread,
            batch: BatchPlace {
                segment,
                position,
                base_offset: Offset(base_offset),
                last_offset: Offset(last_offset),
                base_sequence: int(base_sequence).and_then(Sequence::new),
                records,
                crc,
                in_sequence: in_sequence == 1,
            },
        })
    }
}

impl Reread {
    /// Bytes of one that may be there.
    pub const BYTES: usize = 1 + 4 + 8;

    /// As it stands in temporary files.
    #[must_use]
    pub fn to_bytes(this: Option<Self>) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        if let Some(Self { partition, offset }) = this {
            let number = [&[1], partition.to_le_bytes().as_slice(), &offset.0.to_le_bytes()].concat();
            bytes.copy_from_slice(&number);
        }
        bytes
    }

    /// The other way.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let [1, a, b, c, d, offset @ ..] = bytes else { return None };
        Some(Self { partition: u32::from_le_bytes([a, b, c, d]), offset: Offset(i64::from_le_bytes(offset)) })
    }
}

pub(super) fn put_key(business_key: &BusinessKey, out: &mut Vec<u8>) {
    let (form, key) = match business_key {
        BusinessKey::Text { text } => (0_u8, text.as_bytes().to_vec()),
        BusinessKey::Base64 { base64 } => (1, base64.as_bytes().to_vec()),
        key @ BusinessKey::Digest { .. } => (2, serde_json::to_vec(key).unwrap_or_default()),
        BusinessKey::KeyedHash { keyed_hash } => (3, keyed_hash.as_bytes().to_vec()),
        BusinessKey::Parts { parts } => (4, serde_json::to_vec(parts).unwrap_or_default()),
    };
    out.push(form);
    out.extend_from_slice(&u64::try_from(key.len()).unwrap_or(0).to_le_bytes());
    out.extend_from_slice(&key);
}

pub(super) fn take_key(from: &mut RunReader) -> io::Result<BusinessKey> {
    let [form] = from.array()?;
    let length = usize::try_from(u64::from_le_bytes(from.array()?)).map_err(io::Error::other)?;
    let key = from.bytes(length)?;
    let text = || String::from_utf8(key.to_vec()).map_err(io::Error::other);
    Ok(match form {
        0 => BusinessKey::Text { text: text()? },
        1 => BusinessKey::Base64 { base64: text()? },
        2 => serde_json::from_slice(key).map_err(io::Error::other)?,
        3 => BusinessKey::KeyedHash { keyed_hash: text()? },
        _ => BusinessKey::Parts { parts: serde_json::from_slice(key).map_err(io::Error::other)? },
    })
}

/// Bytes of a key that is one text.
fn text_of(key: &BusinessKey) -> usize {
    match key {
        BusinessKey::Text { text: key } | BusinessKey::Base64 { base64: key } => key.capacity() + 64,
        BusinessKey::Digest { .. } | BusinessKey::KeyedHash { .. } | BusinessKey::Parts { .. } => 0,
    }
}

const TIME_SOURCES: [TimeSource; 3] =
    [TimeSource::NoTimestampType, TimeSource::CreateTime, TimeSource::LogAppendTime];
const VISIBILITIES: [Visibility; 4] =
    [Visibility::NonTransactional, Visibility::Committed, Visibility::Aborted, Visibility::Open];

fn one_of<T: Copy>(all: &[T], at: u8) -> io::Result<T> {
    all.get(usize::from(at)).copied().ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::KeyPart;
    use crate::spill::{Sorter, TempSpace};

    fn candidate(n: u8) -> Candidate {
        let there = n.is_multiple_of(2);
        let part = KeyPart {
            key: "header:a".to_owned(),
            text: Some("x".to_owned()),
            base64: None,
            null: None,
            keyed_hash: None,
        };
        Candidate {
            identity: Fingerprint(u128::from(n) << 100),
            content: Fingerprint(2),
            exact_content: Fingerprint(u128::MAX),
            record_set: Fingerprint(4),
            is_tombstone: n.is_multiple_of(7),
            business_key: match n % 5 {
                0 => BusinessKey::Text { text: "ü".repeat(usize::from(n)) },
                1 => BusinessKey::Base64 { base64: "AA==".to_owned() },
                2 => BusinessKey::Digest {
                    digest: String::new(),
                    record_key: there.then(|| Box::new(BusinessKey::Text { text: "k".to_owned() })),
                },
                3 => BusinessKey::KeyedHash { keyed_hash: "h".to_owned() },
                _ => BusinessKey::Parts { parts: vec![part] },
            },
            copy: StoredCopy {
                partition: 7,
                offset: Offset(i64::MAX),
                timestamp: there.then_some(-5),
                client_timestamp: (!there).then_some(5),
                timestamp_type: TIME_SOURCES[usize::from(n % 3)],
                producer_id: ProducerId(-1),
                producer_epoch: there.then_some(ProducerEpoch(-3)),
                sequence: Sequence::new(i32::from(n)),
                session: there.then_some(u32::MAX),
                partition_leader_epoch: (!there).then_some(LeaderEpoch(8)),
                visibility: VISIBILITIES[usize::from(n % 4)],
                written_after: there.then_some(17),
                behind_other_content: there,
                reread: there.then_some(Reread { partition: u32::MAX, offset: Offset(i64::MAX) }),
                batch: BatchPlace {
                    segment: 1,
                    position: FilePosition(u64::MAX),
                    base_offset: Offset(-1),
                    last_offset: Offset(3),
                    base_sequence: None,
                    records: 9,
                    crc: u32::MAX,
                    in_sequence: there,
                },
            },
        }
    }

    #[test]
    fn a_candidate_comes_back_from_a_file_as_it_was() {
        let mut sorter = Sorter::new(0, TempSpace::new(std::env::temp_dir()));
        for n in (0..60).rev() {
            sorter.push(candidate(n)).unwrap();
        }
        let mut in_order = sorter.finish().unwrap();
        for n in 0..60 {
            let found = in_order.take_next().unwrap().unwrap();
            assert_eq!(format!("{found:?}"), format!("{:?}", candidate(n)));
        }
        assert!(in_order.take_next().unwrap().is_none());
    }
}
