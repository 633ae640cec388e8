//! How far connectors that read other Kafka topics had come, as Kafka Connect stores it: MirrorMaker 2 and whoever
//! writes its positions in the same form.
//!
//! ```text
//!  key    ["MirrorSourceConnector",{"cluster":"east","partition":0,"topic":"orders"}]
//!  value  {"offset":59}      the last record that was copied; null: forgotten, so that it begins anew
//! ```
//!
//! A connector stores now and then what it has written already; when it dies in between, the next one reads on behind what
//! was stored last, and writes the rest again. So the first record that came again stands right behind a stored offset.
//! Sink connectors commit as consumer groups do, and positions in other systems name no topic: both are not told here.
//!
//! Source: `OffsetUtils`, `OffsetStorageWriter`, `KafkaOffsetBackingStore` of Kafka Connect; `MirrorUtils` and
//! `MirrorSourceTask` (which reads on at the stored offset and 1); KIP-382, KIP-875 for those that are forgotten.

use crate::units::Offset;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// The newest that are kept: an incident is looked into soon.
const MAX_STORED: usize = 10_000;
/// Partitions of connectors that are followed.
const MAX_SOURCES: usize = 100_000;
/// Nobody's name and partition are longer.
const LONGEST_KEY: usize = 16 << 10;

/// An offset that a connector stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceOffset {
    /// The connector's name.
    pub connector: String,
    /// The topic that it reads.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The last record that it had written elsewhere; `None` where its position was forgotten.
    pub offset: Option<Offset>,
    /// What it had stored before, where that was larger: it was set back.
    pub set_back_from: Option<Offset>,
    /// When, by the clock of the worker.
    pub timestamp: Option<i64>,
    /// The topic in which that is stored, and the partition.
    pub stored_in: (String, i32),
    /// The record's own offset there.
    pub at_offset: Offset,
}

impl SourceOffset {
    /// Where a connector reads on that begins anew.
    #[must_use]
    pub fn reads_on_at(&self) -> Offset {
        self.offset.map_or(Offset(0), Offset::next)
    }
}

/// Whether a topic is called as those are in which workers store positions: `mm2-offsets.east.internal` of MirrorMaker 2,
/// and what `offset.storage.topic` is called in Connect's own files and in most others. What is in it decides.
#[must_use]
pub fn is_named_so(topic: &str) -> bool {
    (topic.starts_with("mm2-offsets.") && topic.ends_with(".internal")) || topic.ends_with("connect-offsets")
}

/// Folds what is stored.
#[derive(Clone, Debug, Default)]
pub struct SourceOffsets {
    stored: VecDeque<SourceOffset>,
    last: BTreeMap<(String, String, i32), Option<Offset>>,
}

impl SourceOffsets {
    /// Takes a record of such a topic; one of another form says nothing.
    pub fn record(
        &mut self,
        stored_in: (&str, i32),
        at_offset: Offset,
        timestamp: Option<i64>,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) {
        let Some((connector, topic, partition)) = key.and_then(source) else { return };
        let offset = match value {
            None => None,
            Some(value) => match serde_json::from_slice::<Value>(value) {
                Ok(Value::Null) => None,
                Ok(value) => match value.get("offset").and_then(Value::as_i64) {
                    Some(offset) if offset >= 0 => Some(Offset(offset)),
                    _ => return,
                },
                Err(_) => return,
            },
        };
        let of = (connector, topic, partition);
        if self.last.len() >= MAX_SOURCES && !self.last.contains_key(&of) {
            return;
        }
        let before = self.last.insert(of.clone(), offset);
        if before == Some(offset) {
            return;
        }
        if self.stored.len() >= MAX_STORED {
            self.stored.pop_front();
        }
        let (connector, topic, partition) = of;
        self.stored.push_back(SourceOffset {
            connector,
            topic,
            partition,
            offset,
            set_back_from: before.flatten().filter(|before| offset.is_none_or(|now| now < *before)),
            timestamp,
            stored_in: (stored_in.0.to_owned(), stored_in.1),
            at_offset,
        });
    }

    /// What was stored, as it was read.
    pub fn stored(&self) -> impl Iterator<Item = &SourceOffset> {
        self.stored.iter()
    }
}

/// Connector, topic and partition of a key.
fn source(key: &[u8]) -> Option<(String, String, i32)> {
    if key.len() > LONGEST_KEY {
        return None;
    }
    let Value::Array(parts) = serde_json::from_slice::<Value>(key).ok()? else { return None };
    let [Value::String(connector), partition] = parts.as_slice() else { return None };
    // What else stands there makes it another position: MirrorCheckpointConnector has one of each group in each
    // partition, which says nothing of records that were read.
    let known = |(name, _): (&String, &Value)| matches!(name.as_str(), "cluster" | "topic" | "partition");
    if !partition.as_object()?.iter().all(known) {
        return None;
    }
    let topic = partition.get("topic")?.as_str()?;
    let number = i32::try_from(partition.get("partition")?.as_i64()?).ok().filter(|number| *number >= 0)?;
    Some((connector.clone(), topic.to_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = r#"["MirrorSourceConnector",{"cluster":"east","partition":2,"topic":"orders"}]"#;

    fn stored(records: &[(&str, Option<&str>)]) -> Vec<SourceOffset> {
        let mut offsets = SourceOffsets::default();
        for (at, (key, value)) in (0_i64..).zip(records) {
            let value = value.map(str::as_bytes);
            offsets.record(
                ("mm2-offsets.east.internal", 5),
                Offset(at),
                Some(at),
                Some(key.as_bytes()),
                value,
            );
        }
        offsets.stored().cloned().collect()
    }

    #[test]
    fn what_mirrors_store_is_read_and_a_step_back_is_seen() {
        let told = stored(&[
            (KEY, Some(r#"{"offset":19}"#)),
            (KEY, Some(r#"{"offset":19}"#)),
            (KEY, Some(r#"{"offset":59}"#)),
            (KEY, Some(r#"{"offset":9}"#)),
            (KEY, None),
        ]);
        let short: Vec<_> = told
            .iter()
            .map(|one| (one.offset.map(|o| o.0), one.set_back_from.map(|o| o.0), one.reads_on_at().0))
            .collect();
        assert_eq!(
            short,
            [(Some(19), None, 20), (Some(59), None, 60), (Some(9), Some(59), 10), (None, Some(9), 0)]
        );
        let first = &told[0];
        assert_eq!((first.connector.as_str(), first.topic.as_str()), ("MirrorSourceConnector", "orders"));
        assert_eq!((first.partition, first.at_offset), (2, Offset(0)));
        assert_eq!(first.stored_in, ("mm2-offsets.east.internal".to_owned(), 5));
    }

    #[test]
    fn what_has_another_form_says_nothing() {
        let file = r#"["file-source",{"filename":"/tmp/orders.txt"}]"#;
        let checkpoint =
            r#"["MirrorCheckpointConnector",{"group":"billing","partition":0,"topic":"east.orders"}]"#;
        for (key, value) in [
            (checkpoint, Some(r#"{"offset":0}"#)),
            (file, Some(r#"{"position":7}"#)),
            (KEY, Some(r#"{"position":7}"#)),
            (KEY, Some(r#"{"offset":-1}"#)),
            (KEY, Some("no JSON")),
            ("no JSON", Some(r#"{"offset":7}"#)),
            (r#"["c",{"topic":"orders","partition":-1}]"#, Some(r#"{"offset":7}"#)),
            (r#"["c",{"topic":"orders","partition":1},3]"#, Some(r#"{"offset":7}"#)),
        ] {
            assert_eq!(stored(&[(key, value)]), [], "{key}");
        }
        assert!(is_named_so("mm2-offsets.east.internal") && is_named_so("team-connect-offsets"));
        assert!(!is_named_so("mm2-offset-syncs.west.internal") && !is_named_so("offsets"));
    }
}
