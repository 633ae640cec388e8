//! What an audit wants to know of the metadata log: topics, settings, blocks of producer ids, unclean elections.

use super::elections::{Elections, UncleanElection};
use super::{MetadataRecord, read};
use crate::format::internal::coordinator::InternalError;
use crate::units::{Offset, ProducerId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// How many producer ids a broker is given at once (`ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE`).
const BLOCK_SIZE: i64 = 1000;
/// `ConfigResource.Type` of a topic.
const TOPIC: i64 = 2;
/// `ConfigResource.Type` of a broker; an empty name is the default of all brokers.
const BROKER: i64 = 4;

/// A topic's id as it stands in `partition.metadata`, where it is in the URL form of base 64.
pub type TopicId = [u8; 16];

/// What is known of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicMetadata {
    /// Its name; empty when the record that names it was compacted into a snapshot elsewhere.
    pub name: String,
    /// Its partitions.
    pub partitions: BTreeSet<i32>,
    /// The record that removed it.
    pub removed_at: Option<Offset>,
}

/// Producer ids that a broker was given to hand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdBlock {
    /// The first one.
    pub first: ProducerId,
    /// The last one.
    pub last: ProducerId,
    /// To which broker; `None` in snapshots, where only the counter counts.
    pub broker_id: Option<i32>,
    /// The record that says so.
    pub offset: Offset,
    /// Its time: no producer id of the block is older.
    pub timestamp: Option<Timestamp>,
}

/// For whom a broker setting holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BrokerConfig {
    /// All brokers that have none of their own.
    ClusterDefault,
    /// This broker.
    Broker(i32),
}

/// The state that the records so far add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterMetadata {
    /// Topics by id, removed ones too: their directories may still be there.
    pub topics: BTreeMap<TopicId, TopicMetadata>,
    /// Settings of topics by name, as far as they are not the default.
    pub topic_configs: BTreeMap<String, BTreeMap<String, String>>,
    /// Settings of brokers that were changed while they ran.
    pub broker_configs: BTreeMap<BrokerConfig, BTreeMap<String, String>>,
    /// In the order in which they were given out.
    pub producer_id_blocks: Vec<ProducerIdBlock>,
    /// Records that could not be read.
    pub unreadable: u64,
    elections: Elections,
}

impl ClusterMetadata {
    /// Takes the value of the next record; records come in offset order.
    ///
    /// # Errors
    /// [`InternalError`] when it cannot be read; it is counted and the fold may go on.
    pub fn fold(
        &mut self,
        offset: Offset,
        timestamp: i64,
        value: Option<&[u8]>,
    ) -> Result<(), InternalError> {
        let record = read(value).inspect_err(|_| self.unreadable = self.unreadable.saturating_add(1))?;
        let data = &record.data;
        match record.name {
            "TopicRecord" => {
                let topic = self.topics.entry(data.uuid("topicId").unwrap_or_default()).or_default();
                topic.name = data.text("name").unwrap_or_default();
                topic.removed_at = None;
            }
            "RemoveTopicRecord" => {
                let topic = self.topics.entry(data.uuid("topicId").unwrap_or_default()).or_default();
                topic.removed_at = Some(offset);
                // The controller forgets the settings with the topic; a new one of that name has its own.
                self.topic_configs.remove(&topic.name);
            }
            "PartitionRecord" => {
                let topic = self.topics.entry(data.uuid("topicId").unwrap_or_default()).or_default();
                topic.partitions.extend(data.small::<i32>("partitionId"));
                self.elections.register(data);
            }
            "PartitionChangeRecord" => self.elections.change(offset, timestamp, data),
            "ConfigRecord" => self.config(&record),
            "ProducerIdsRecord" => {
                let next = data.number("nextProducerId").unwrap_or_default();
                self.producer_id_blocks.push(ProducerIdBlock {
                    first: ProducerId(next.saturating_sub(BLOCK_SIZE).max(0)),
                    last: ProducerId(next.saturating_sub(1)),
                    broker_id: data
                        .small("brokerId")
                        .filter(|&id| id >= 0 && data.number("brokerEpoch") != Some(-1)),
                    offset,
                    timestamp: Timestamp::from_disk(timestamp),
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn config(&mut self, record: &MetadataRecord<'_>) {
        let data = &record.data;
        let resource = data.text("resourceName").unwrap_or_default();
        let configs = match data.number("resourceType") {
            Some(TOPIC) => self.topic_configs.entry(resource).or_default(),
            Some(BROKER) if resource.is_empty() => {
                self.broker_configs.entry(BrokerConfig::ClusterDefault).or_default()
            }
            Some(BROKER) => match resource.parse() {
                Ok(id) => self.broker_configs.entry(BrokerConfig::Broker(id)).or_default(),
                Err(_) => return,
            },
            _ => return,
        };
        let name = data.text("name").unwrap_or_default();
        match data.text("value") {
            Some(value) => configs.insert(name, value),
            None => configs.remove(&name),
        };
    }

    /// The id and state of the topic that has this name now.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<(TopicId, &TopicMetadata)> {
        let named = |topic: &TopicMetadata| topic.name == name && topic.removed_at.is_none();
        self.topics.iter().find(|(_, topic)| named(topic)).map(|(id, topic)| (*id, topic))
    }

    /// Leaders of a partition that were elected although they were not in sync, in the order in which they were.
    #[must_use]
    pub fn unclean_elections(&self, topic: TopicId, partition: i32) -> &[UncleanElection] {
        self.elections.of(topic, partition)
    }

    /// A setting of a topic that is not the default.
    #[must_use]
    pub fn topic_config(&self, topic: &str, name: &str) -> Option<&str> {
        self.topic_configs.get(topic)?.get(name).map(String::as_str)
    }

    /// A setting of a broker: its own, else the cluster's.
    #[must_use]
    pub fn broker_config(&self, broker_id: i32, name: &str) -> Option<&str> {
        [BrokerConfig::Broker(broker_id), BrokerConfig::ClusterDefault]
            .iter()
            .find_map(|scope| self.broker_configs.get(scope)?.get(name))
            .map(String::as_str)
    }

    /// The last block that holds this producer id. Two blocks that hold it (KAFKA-15552) mean that
    /// the id can have two owners.
    pub fn blocks_of(&self, producer_id: ProducerId) -> impl Iterator<Item = &ProducerIdBlock> {
        self.producer_id_blocks
            .iter()
            .filter(move |block| block.first <= producer_id && producer_id <= block.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &mut Vec<u8>, text: &str) {
        bytes.push(u8::try_from(text.len() + 1).unwrap());
        bytes.extend(text.as_bytes());
    }

    fn topic(name: &str, id: u8) -> Vec<u8> {
        let mut bytes = vec![1, 2, 0];
        text(&mut bytes, name);
        bytes.extend([id; 16]);
        bytes.push(0);
        bytes
    }

    fn partition(number: i32, id: u8) -> Vec<u8> {
        let mut bytes = vec![1, 3, 0];
        bytes.extend(number.to_be_bytes());
        bytes.extend([id; 16]);
        bytes.extend([2, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 1]);
        bytes.extend([0; 12]);
        bytes.push(0);
        bytes
    }

    fn config(kind: u8, resource: &str, name: &str, value: Option<&str>) -> Vec<u8> {
        let mut bytes = vec![1, 4, 0, kind];
        text(&mut bytes, resource);
        text(&mut bytes, name);
        match value {
            Some(value) => text(&mut bytes, value),
            None => bytes.push(0),
        }
        bytes.push(0);
        bytes
    }

    fn fold(records: &[Vec<u8>]) -> ClusterMetadata {
        let mut metadata = ClusterMetadata::default();
        for (record, offset) in records.iter().zip(0..) {
            metadata.fold(Offset(offset), 7, Some(record)).unwrap();
        }
        metadata
    }

    #[test]
    fn topics_have_ids_names_and_partitions() {
        let metadata = fold(&[topic("orders", 1), partition(0, 1), partition(1, 1)]);
        let (id, orders) = metadata.topic("orders").unwrap();
        assert_eq!(id, [1; 16]);
        assert_eq!(orders.partitions.len(), 2);
    }

    #[test]
    fn a_recreated_topic_is_told_from_the_removed_one() {
        let mut remove = vec![1, 9, 0];
        remove.extend([1; 16]);
        remove.push(0);
        let settings = config(2, "orders", "cleanup.policy", Some("compact"));
        let metadata = fold(&[topic("orders", 1), settings, remove, topic("orders", 2)]);
        assert_eq!(metadata.topic("orders").unwrap().0, [2; 16]);
        assert_eq!(metadata.topics[&[1; 16]].removed_at, Some(Offset(2)));
        assert_eq!(metadata.topic_config("orders", "cleanup.policy"), None);
    }

    #[test]
    fn settings_are_replaced_and_taken_back() {
        let metadata = fold(&[
            config(2, "orders", "cleanup.policy", Some("compact")),
            config(2, "orders", "message.timestamp.type", Some("LogAppendTime")),
            config(2, "orders", "cleanup.policy", None),
            config(4, "", "producer.id.expiration.ms", Some("1000")),
            config(4, "3", "producer.id.expiration.ms", Some("2000")),
        ]);
        assert_eq!(metadata.topic_config("orders", "cleanup.policy"), None);
        assert_eq!(metadata.topic_config("orders", "message.timestamp.type"), Some("LogAppendTime"));
        assert_eq!(metadata.broker_config(1, "producer.id.expiration.ms"), Some("1000"));
        assert_eq!(metadata.broker_config(3, "producer.id.expiration.ms"), Some("2000"));
    }

    #[test]
    fn a_block_ends_below_the_next_producer_id() {
        let record =
            [&[1, 15, 0, 0, 0, 0, 1][..], &25i64.to_be_bytes(), &2000i64.to_be_bytes(), &[0]].concat();
        let metadata = fold(&[record]);
        let block = metadata.blocks_of(ProducerId(1000)).next().unwrap();
        assert_eq!((block.first, block.last), (ProducerId(1000), ProducerId(1999)));
        assert_eq!((block.broker_id, block.timestamp), (Some(1), Some(Timestamp(7))));
        assert_eq!(metadata.blocks_of(ProducerId(2000)).count(), 0);
    }

    #[test]
    fn an_unreadable_record_is_counted() {
        let mut metadata = ClusterMetadata::default();
        assert!(metadata.fold(Offset(0), 0, Some(&[1, 77, 0])).is_err());
        assert_eq!(metadata.unreadable, 1);
    }
}
