//! Producers in an order: any number of them, read one by one, as often as it takes.
//!
//! Goes in: producers with their ranks ([`Ranked`]). Comes out: [`ProducerList`], which in JSON is a list
//! like any other. What does not fit into memory is in temporary files, as JSON.

use super::producers::Producer;
use crate::error::AuditError;
use crate::spill::{Element, Reading, RunReader, Share, Shelf, ShelfWriter};
use serde::de::Deserializer;
use serde::ser::{Error, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use std::io;

/// A producer and its place in the order.
#[derive(Clone, Debug)]
pub struct Ranked {
    rank: [i64; 2],
    json: Vec<u8>,
}

compared_by!(Ranked, |this| this.rank);

impl Ranked {
    /// A producer with this rank.
    ///
    /// # Errors
    /// What the writer of JSON says.
    pub fn new(rank: [i64; 2], producer: &Producer) -> io::Result<Self> {
        Ok(Self { rank, json: serde_json::to_vec(producer)? })
    }

    fn producer(&self) -> io::Result<Producer> {
        Ok(serde_json::from_slice(&self.json)?)
    }
}

impl Element for Ranked {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.json.capacity()
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.rank.put(out);
        out.extend_from_slice(&u64::try_from(self.json.len()).unwrap_or(u64::MAX).to_le_bytes());
        out.extend_from_slice(&self.json);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let rank = Element::take(from)?;
        let length = usize::try_from(u64::from_le_bytes(from.array()?)).map_err(io::Error::other)?;
        Ok(Self { rank, json: from.bytes(length)?.to_vec() })
    }
}

/// Takes producers in their order.
#[derive(Debug)]
pub struct ProducerListWriter {
    shelf: ShelfWriter<Ranked>,
    count: usize,
}

impl ProducerListWriter {
    /// None yet; no more of them are held than the share allows.
    #[must_use]
    pub fn new(share: &Share) -> Self {
        Self { shelf: share.shelf(), count: 0 }
    }

    /// Adds the next one.
    ///
    /// # Errors
    /// [`AuditError`] when it does not fit into memory and cannot be written.
    pub fn put(&mut self, producer: &Ranked) -> Result<(), AuditError> {
        self.count += 1;
        self.shelf.put(producer)
    }

    /// The list.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot be written.
    pub fn finish(self) -> Result<ProducerList, AuditError> {
        Ok(ProducerList { shelf: self.shelf.finish()?, count: self.count })
    }
}

/// Producers in an order.
#[derive(Clone, Debug, Default)]
pub struct ProducerList {
    shelf: Shelf<Ranked>,
    count: usize,
}

impl ProducerList {
    /// These, in memory.
    ///
    /// # Errors
    /// What the writer of JSON says.
    pub fn held(producers: &[Producer]) -> io::Result<Self> {
        let mut list = ProducerListWriter::new(&Share::default());
        for (rank, producer) in (0..).zip(producers) {
            list.put(&Ranked::new([rank, 0], producer)?).map_err(io::Error::other)?;
        }
        list.finish().map_err(io::Error::other)
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them, one by one.
    #[must_use]
    pub fn iter(&self) -> Producers {
        Producers(self.shelf.all())
    }
}

impl PartialEq for ProducerList {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (io::Result<Producer>, io::Result<Producer>)| matches!((one, other), (Ok(one), Ok(other)) if one == other);
        self.count == other.count && self.iter().zip(other.iter()).all(same)
    }
}

/// Producers that are read one by one.
#[derive(Debug)]
pub struct Producers(Reading<Ranked>);

impl Iterator for Producers {
    type Item = io::Result<Producer>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(io::Error::other).and_then(|ranked| ranked.producer()))
    }
}

impl IntoIterator for &ProducerList {
    type Item = io::Result<Producer>;
    type IntoIter = Producers;

    fn into_iter(self) -> Producers {
        self.iter()
    }
}

impl Serialize for ProducerList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.count))?;
        for producer in self {
            list.serialize_element(&producer.map_err(S::Error::custom)?)?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for ProducerList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::held(&Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
