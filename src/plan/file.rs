//! A plan in a file: what identifies the events of each topic, so that many brokers choose alike.
//!
//! Goes in and comes out: JSON, written by `keys --save-plan`, edited by people, read by `--plan`.
//!
//! ```text
//!  {"planVersion": 1,
//!   "topics": [{"topic": "orders", "key": "json:/orderId", "ignoredFields": ["json:/sentAt"],
//!               "partitionCount": 12}]}
//! ```
//!
//! Unknown members are refused: a misspelled one would change what is found without a word. So is a
//! version that this program does not know.

use crate::keys::{Identity, KeySpec, Mask};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version that is written and read.
const VERSION: u32 = 1;

/// What the topics of a plan are identified by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFile {
    topics: BTreeMap<String, PlannedTopic>,
}

/// What a plan says of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTopic {
    /// What identifies an event.
    pub identity: Identity,
    /// Fields that do not count as content.
    pub ignored: Mask,
    /// How many partitions the topic has, where that is known.
    pub partition_count: Option<u32>,
}

/// Why a plan cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It is no plan.
    #[error("no plan: {0}")]
    NoPlan(#[from] serde_json::Error),
    /// It was written for another version.
    #[error("plan version {0} is unknown: this program reads version {VERSION}")]
    Version(u64),
    /// A topic has a key or field that is none.
    #[error("topic {topic:?}: {reason}")]
    Topic {
        /// The topic.
        topic: String,
        /// What is wrong with it.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    plan_version: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    plan_version: u32,
    topics: Vec<WrittenTopic>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenTopic {
    topic: String,
    key: String,
    #[serde(default)]
    ignored_fields: Vec<String>,
    #[serde(default)]
    partition_count: Option<u32>,
}

impl PlanFile {
    /// Adds a topic, or replaces what was said of it.
    pub fn insert(&mut self, topic: &str, planned: PlannedTopic) {
        self.topics.insert(topic.to_owned(), planned);
    }

    /// What it says of a topic.
    #[must_use]
    pub fn topic(&self, topic: &str) -> Option<&PlannedTopic> {
        self.topics.get(topic)
    }

    /// The keys that it names.
    pub(super) fn keys_mut(&mut self) -> impl Iterator<Item = &mut KeySpec> {
        self.topics.values_mut().filter_map(|topic| match &mut topic.identity {
            Identity::Key(spec) => Some(spec),
            Identity::Content => None,
        })
    }

    /// The key of its topic, when it is about one.
    pub(super) fn only_key(&self) -> Option<&KeySpec> {
        let mut topics = self.topics.values();
        match (topics.next().map(|topic| &topic.identity), topics.next()) {
            (Some(Identity::Key(spec)), None) => Some(spec),
            _ => None,
        }
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`PlanError`] when it is none, or none of this version.
    pub fn read(json: &[u8]) -> Result<Self, PlanError> {
        let Version { plan_version } = serde_json::from_slice(json)?;
        if plan_version != u64::from(VERSION) {
            return Err(PlanError::Version(plan_version));
        }
        let written: Written = serde_json::from_slice(json)?;
        let mut plan = Self::default();
        for topic in written.topics {
            let refuse = |reason: String| PlanError::Topic { topic: topic.topic.clone(), reason };
            if plan.topics.contains_key(&topic.topic) {
                return Err(refuse("it is there twice".to_owned()));
            }
            let identity = if topic.key == Identity::Content.name() {
                Identity::Content
            } else {
                Identity::Key(
                    topic
                        .key
                        .parse()
                        .map_err(|error: crate::keys::KeySpecError| refuse(error.to_string()))?,
                )
            };
            let mut ignored = Mask::default();
            topic.ignored_fields.iter().try_for_each(|field| ignored.add(field)).map_err(refuse)?;
            if topic.partition_count == Some(0) {
                return Err(refuse("no topic has 0 partitions".to_owned()));
            }
            let partition_count = topic.partition_count;
            plan.topics.insert(topic.topic, PlannedTopic { identity, ignored, partition_count });
        }
        Ok(plan)
    }

    /// The plan as JSON with a line end behind it.
    #[must_use]
    pub fn to_json(&self) -> String {
        let topics = self.topics.iter().map(|(name, topic)| WrittenTopic {
            topic: name.clone(),
            key: topic.identity.name(),
            ignored_fields: topic.ignored.names(),
            partition_count: topic.partition_count,
        });
        let written = Written { plan_version: VERSION, topics: topics.collect() };
        // Nothing in it can fail to be written.
        serde_json::to_string_pretty(&written).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(key: &str) -> PlannedTopic {
        let mut ignored = Mask::default();
        ignored.add("json:/sentAt").unwrap();
        ignored.add("header:trace").unwrap();
        PlannedTopic { identity: Identity::Key(key.parse().unwrap()), ignored, partition_count: Some(12) }
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let mut plan = PlanFile::default();
        plan.insert("orders", planned("json:/orderId+header:region"));
        plan.insert(
            "logins",
            PlannedTopic { identity: Identity::Content, partition_count: None, ..planned("value") },
        );
        assert_eq!(PlanFile::read(plan.to_json().as_bytes()).unwrap(), plan);
    }

    #[test]
    fn what_is_no_plan_of_this_version_is_refused_with_the_reason() {
        for (json, reason) in [
            ("[]", "no plan"),
            ("{}", "planVersion"),
            (
                r#"{"planVersion": 2, "topics": [], "regions": []}"#,
                "plan version 2 is unknown: this program reads version 1",
            ),
            (
                r#"{"planVersion": 1, "topics": [{"topic": "a", "key": "value", "ignored": []}]}"#,
                "unknown field",
            ),
            (
                r#"{"planVersion": 1, "topics": [{"topic": "a", "key": "xml:/a"}]}"#,
                "topic \"a\": key \"xml:/a\"",
            ),
            (
                r#"{"planVersion": 1, "topics": [{"topic": "a", "key": "value", "ignoredFields": ["b"]}]}"#,
                "field \"b\"",
            ),
            (
                r#"{"planVersion": 1, "topics": [{"topic": "a", "key": "value"}, {"topic": "a", "key": "value"}]}"#,
                "twice",
            ),
            (
                r#"{"planVersion": 1, "topics": [{"topic": "a", "key": "value", "partitionCount": 0}]}"#,
                "0 partitions",
            ),
        ] {
            let error = PlanFile::read(json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(reason), "{json}: {error}");
        }
    }
}
