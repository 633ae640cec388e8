//! A sample of a topic: records from fixed places, owned, within a bound.

use crate::format::Record;
use crate::keys::{Content, Mask};
use crate::units::ProducerId;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Records of one topic, by partition and in offset order.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The records.
    pub records: Vec<SampleRecord>,
    bytes: usize,
}

/// One sampled record.
#[derive(Clone, Debug)]
pub struct SampleRecord {
    /// Which partition directory of the run.
    pub partition: usize,
    /// Who wrote it.
    pub producer_id: ProducerId,
    /// The client's time.
    pub client_timestamp: i64,
    /// The record key.
    pub key: Option<Vec<u8>>,
    /// The value.
    pub value: Option<Vec<u8>>,
    /// The headers.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// All of it as it is.
    encoded: Vec<u8>,
}

/// How fine the times of records are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientTimes {
    /// As producers write them.
    #[default]
    Milliseconds,
    /// Many are whole seconds, and two events of one second have equal ones.
    WholeSeconds,
}

/// Of so many times one that is a whole second is no accident.
const COARSE: usize = 20;

/// How often record keys repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// With the content of an earlier record of the key.
    pub same_content: usize,
    /// With other content than all of them.
    pub other_content: usize,
}

impl Sample {
    /// Bytes of keys, values and headers so far.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a record of a partition.
    pub fn push(&mut self, partition: usize, producer_id: ProducerId, record: &Record<'_>) {
        let own = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        let headers: Vec<_> = record.headers.iter().map(|h| (h.key.to_vec(), own(h.value))).collect();
        let encoded = Content::default().bytes(record, &Mask::default()).to_vec();
        self.bytes += 2 * encoded.len();
        self.records.push(SampleRecord {
            partition,
            producer_id,
            client_timestamp: record.client_timestamp,
            key: own(record.key),
            value: own(record.value),
            headers,
            encoded,
        });
    }

    /// Whether a record says word for word what another one says.
    #[must_use]
    pub fn repeats_itself(&self) -> bool {
        let distinct: HashSet<&[u8]> = self.records.iter().map(|record| record.encoded.as_slice()).collect();
        distinct.len() < self.records.len()
    }

    /// How fine the times are that clients write: of times in milliseconds one in a thousand is a whole second.
    #[must_use]
    pub fn client_times(&self) -> ClientTimes {
        let whole = self.records.iter().filter(|record| record.client_timestamp % 1000 == 0).count();
        if whole > 1 && whole * COARSE > self.records.len() {
            ClientTimes::WholeSeconds
        } else {
            ClientTimes::Milliseconds
        }
    }

    /// How often record keys repeat, and with what.
    #[must_use]
    pub fn repeats(&self, mask: &Mask) -> Repeats {
        let mut seen: HashMap<&[u8], Vec<Vec<u8>>> = HashMap::new();
        let mut repeats = Repeats::default();
        for record in &self.records {
            let Some(key) = record.key.as_deref() else { continue };
            let contents = seen.entry(key).or_default();
            let content = record.content(mask);
            if contents.contains(&content) {
                repeats.same_content += 1;
            } else {
                if !contents.is_empty() {
                    repeats.other_content += 1;
                }
                contents.push(content);
            }
        }
        repeats
    }
}

impl SampleRecord {
    /// Its content as bytes, without what the mask hides.
    #[must_use]
    pub fn content(&self, mask: &Mask) -> Vec<u8> {
        if mask.is_empty() {
            return self.encoded.clone();
        }
        crate::keys::masked_content(self.key.as_deref(), self.value.as_deref(), &self.headers, mask)
    }
}
