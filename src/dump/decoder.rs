//! Reads records of Kafka's own topics for the dump.

use super::Form;
use super::printer::Decoded;
use crate::format::Record;
use crate::format::internal::consumer_offsets::Releases;
use crate::format::internal::{cluster_metadata, consumer_offsets, share_group_state, transaction_state};
use std::path::Path;

/// A topic whose records can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InternalTopic {
    /// `__consumer_offsets`.
    ConsumerOffsets,
    /// `__share_group_state`.
    ShareGroupState,
    /// `__transaction_state`.
    TransactionState,
    /// `__cluster_metadata`, and the snapshots of it.
    ClusterMetadata,
}

impl InternalTopic {
    /// The topic that a file belongs to, by the name of its directory.
    pub(super) fn of_directory(path: &Path) -> Option<Self> {
        let absolute = std::path::absolute(path).ok()?;
        let directory = absolute.parent()?.file_name()?.to_str()?;
        let (topic, _partition) = directory.rsplit_once('-')?;
        match topic {
            "__consumer_offsets" => Some(Self::ConsumerOffsets),
            "__share_group_state" => Some(Self::ShareGroupState),
            "__transaction_state" => Some(Self::TransactionState),
            "__cluster_metadata" => Some(Self::ClusterMetadata),
            _ => None,
        }
    }

    /// Reads a record of this topic; for text only what Kafka's tool reads.
    pub(super) fn read<'a>(self, record: &Record<'a>, form: Form) -> Decoded<'a> {
        let coordinator = match self {
            Self::ConsumerOffsets => {
                let releases = match form {
                    Form::Text => Releases::OfTheTool,
                    Form::Ndjson => Releases::All,
                };
                consumer_offsets::read(record.key, record.value, releases)
            }
            Self::ShareGroupState => share_group_state::read(record.key, record.value),
            Self::TransactionState => transaction_state::read(record.key, record.value),
            Self::ClusterMetadata => {
                return match cluster_metadata::read(record.value) {
                    Ok(read) => Decoded::Metadata(read),
                    Err(error) => Decoded::Failed(self, error),
                };
            }
        };
        match coordinator {
            Ok(read) => Decoded::Coordinator(read),
            Err(error) => Decoded::Failed(self, error),
        }
    }
}

/// The name of a metadata record's type as Kafka's enum spells it: `TopicRecord` → `TOPIC_RECORD`.
pub(super) fn upper_snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (at, character) in name.chars().enumerate() {
        if character.is_ascii_uppercase() && at > 0 {
            out.push('_');
        }
        out.push(character.to_ascii_uppercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_names_the_topic() {
        let of = |path: &str| InternalTopic::of_directory(Path::new(path));
        assert_eq!(of("data/__consumer_offsets-12/0.log"), Some(InternalTopic::ConsumerOffsets));
        assert_eq!(of("__transaction_state-0/0.log"), Some(InternalTopic::TransactionState));
        assert_eq!(of("__cluster_metadata-0/0.checkpoint"), Some(InternalTopic::ClusterMetadata));
        assert_eq!(of("orders-0/0.log"), None);
    }

    #[test]
    fn types_are_spelled_as_in_kafkas_enum() {
        assert_eq!(upper_snake("ProducerIdsRecord"), "PRODUCER_IDS_RECORD");
        assert_eq!(upper_snake("NoOpRecord"), "NO_OP_RECORD");
    }
}
