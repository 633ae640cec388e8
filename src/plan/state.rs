//! Topics in which a program of Kafka keeps its own state: nobody's events.
//!
//! Goes in: the topic's name and its sample. Comes out: whether repeats of a key there are states, and whether
//! producers there are those of Kafka Connect or MirrorMaker 2, which nobody has to be told of. Connect's topics
//! have the names that somebody gave them (`offset.storage.topic`, `config.storage.topic`,
//! `status.storage.topic`), so their last word and the shape of every sampled key have to agree; only the names of
//! the configuration that Kafka ships count alone, where no record was sampled.
//!
//! Sources: `DefaultReplicationPolicy.isMM2InternalTopic`; the keys of `OffsetStorageWriter`,
//! `KafkaConfigBackingStore` and `KafkaStatusBackingStore`; `config/connect-distributed.properties`.

use super::Sample;

/// Whether a program of Kafka keeps its state in the topic.
pub(super) fn is_kept_in(topic: &str, sample: &Sample) -> bool {
    topic.starts_with("__") || is_of_mirror_maker(topic) || is_of_connect(topic, sample)
}

/// Whether MirrorMaker 2 keeps its configuration, positions or status there; the same status is written several
/// times.
fn is_of_mirror_maker(topic: &str) -> bool {
    topic.starts_with("mm2") && topic.ends_with(".internal")
}

fn is_of_connect(topic: &str, sample: &Sample) -> bool {
    if sample.records.is_empty() {
        return ["connect-offsets", "connect-configs", "connect-status"].contains(&topic);
    }
    let last_word = topic.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let has_its_shape: fn(&[u8]) -> bool = match last_word {
        "offset" | "offsets" => is_source_partition,
        "config" | "configs" => |key| begins_with_one_of(key, &CONFIGS),
        "status" | "statuses" => |key| begins_with_one_of(key, &STATUSES),
        _ => return false,
    };
    sample.records.iter().all(|record| record.key.as_deref().is_some_and(has_its_shape))
}

/// Of keys in a topic of configurations.
const CONFIGS: [&[u8]; 7] = [
    b"connector-",
    b"task-",
    b"commit-",
    b"target-state-",
    b"session-key",
    b"restart-connector-",
    b"logger-cluster-",
];

/// Of keys in a topic of statuses.
const STATUSES: [&[u8]; 3] = [b"status-connector-", b"status-task-", b"status-topic-"];

fn begins_with_one_of(key: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| key.starts_with(word))
}

/// `["name of the connector",{"partition of its source":…}]`
fn is_source_partition(key: &[u8]) -> bool {
    type Key = (String, Option<serde_json::Map<String, serde_json::Value>>);
    serde_json::from_slice::<Key>(key).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Headers, Record};
    use crate::units::{Offset, ProducerId};

    fn sample(keys: &[&str]) -> Sample {
        let mut sample = Sample::default();
        for key in keys {
            let record = Record {
                offset: Offset(0),
                timestamp: 0,
                client_timestamp: 0,
                sequence: None,
                key: Some(key.as_bytes()),
                value: Some(b"{}"),
                headers: Headers::default(),
            };
            sample.push(0, ProducerId(-1), &record);
        }
        sample
    }

    #[test]
    fn state_of_kafka_and_of_mirror_maker_is_told_by_its_name() {
        let none = Sample::default();
        for topic in ["__consumer_offsets", "mm2-status.east.internal", "mm2-offset-syncs.west.internal"] {
            assert!(is_kept_in(topic, &none), "{topic}");
        }
        for topic in ["orders", "east.orders", "orders.internal", "mm2-orders", "connect-orders"] {
            assert!(!is_kept_in(topic, &none), "{topic}");
        }
    }

    #[test]
    fn state_of_connect_is_told_by_its_last_word_and_every_key() {
        let offsets = [r#"["files",{"filename":"/in.csv"}]"#, r#"["other",null]"#];
        assert!(is_kept_in("connect-offsets", &sample(&offsets)));
        assert!(is_kept_in("eu_sink_offsets", &sample(&offsets)));
        assert!(is_kept_in(
            "my-connect-configs",
            &sample(&["connector-files", "task-files-0", "commit-files"])
        ));
        assert!(is_kept_in("connect-status", &sample(&["status-connector-files", "status-task-files-0"])));
        // The shipped names, where nothing was sampled.
        assert!(is_kept_in("connect-status", &Sample::default()));
        assert!(!is_kept_in("my-connect-status", &Sample::default()));
    }

    #[test]
    fn events_in_a_topic_of_such_a_name_and_such_keys_in_another_topic_are_events() {
        assert!(!is_kept_in("order-status", &sample(&["order-1", "order-2"])));
        assert!(!is_kept_in("connect-status", &sample(&["status-connector-files", "order-2"])));
        assert!(!is_kept_in("billing-offsets", &sample(&[r#"["a",1]"#, "17"])));
        assert!(!is_kept_in("orders", &sample(&["status-connector-files"])));
    }
}
