//! `__transaction_state`: which transactional id has which producer id, and how far its transaction is.
//!
//! Source: `TransactionLogKey`, `TransactionLogValue`, `TransactionLog` of Kafka's
//! `transaction-coordinator` module; KIP-98, KIP-890, KIP-915. The topic is compacted: an id's
//! earlier producer ids are there only as long as the cleaner has not come by. The tags for the
//! previous and next producer id are written by late releases only; their absence proves nothing.

use super::coordinator::{self, CoordinatorRecord, InternalError, RecordType};
use super::schema::Kind::{Array, Int8, Int16, Int32, Int64, String as Text, Struct};
use super::schema::{Default, Field, Message, field};
use crate::units::{Offset, ProducerEpoch, ProducerId, Timestamp};
use std::collections::BTreeMap;

const PARTITIONS: &[Field] = &[field("topic", Text), field("partitionIds", Array(&Int32))];

const TYPES: &[RecordType] = &[RecordType {
    number: 0,
    key: Message {
        number: 0,
        name: "TransactionLogKey",
        last_version: 0,
        flexible_since: None,
        fields: &[field("transactionalId", Text)],
    },
    value: Message {
        number: 0,
        name: "TransactionLogValue",
        last_version: 1,
        flexible_since: Some(1),
        fields: &[
            field("producerId", Int64),
            field("previousProducerId", Int64).since(1).tagged(0, 1, Default::Number(-1)),
            field("nextProducerId", Int64).since(1).tagged(1, 1, Default::Number(-1)),
            field("producerEpoch", Int16),
            field("nextProducerEpoch", Int16).since(1).tagged(3, 1, Default::Number(-1)),
            field("transactionTimeoutMs", Int32),
            field("transactionStatus", Int8),
            field("transactionPartitions", Array(&Struct(PARTITIONS))).nullable(0),
            field("transactionLastUpdateTimestampMs", Int64),
            field("transactionStartTimestampMs", Int64),
            field("clientTransactionVersion", Int16).since(1).tagged(2, 1, Default::Empty),
        ],
    },
}];

/// Reads one record field by field.
///
/// # Errors
/// [`InternalError`] when the type is unknown or the bytes do not hold it.
pub fn read<'a>(
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
) -> Result<CoordinatorRecord<'a>, InternalError> {
    coordinator::read(&[TYPES], key, value)
}

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// None was begun since the producer registered.
    Empty,
    /// Begun.
    Ongoing,
    /// Decided; markers are being written.
    PrepareCommit,
    /// Decided; markers are being written.
    PrepareAbort,
    /// All markers are written.
    CompleteCommit,
    /// All markers are written.
    CompleteAbort,
    /// Expired; not stored in normal operation.
    Dead,
    /// Being fenced; not stored in normal operation.
    PrepareEpochFence,
    /// A number of a later release.
    Unknown(i8),
}

impl TransactionStatus {
    /// The status with this number.
    #[must_use]
    pub const fn from_number(number: i8) -> Self {
        match number {
            0 => Self::Empty,
            1 => Self::Ongoing,
            2 => Self::PrepareCommit,
            3 => Self::PrepareAbort,
            4 => Self::CompleteCommit,
            5 => Self::CompleteAbort,
            6 => Self::Dead,
            7 => Self::PrepareEpochFence,
            other => Self::Unknown(other),
        }
    }
}

/// The state of a transactional id at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionMetadata {
    /// Its producer id.
    pub producer_id: ProducerId,
    /// The one that the last committed transaction used, where the release writes it.
    pub previous_producer_id: Option<ProducerId>,
    /// The one that the producer was given for the next transaction, where the release writes it.
    pub next_producer_id: Option<ProducerId>,
    /// The epoch.
    pub producer_epoch: Option<ProducerEpoch>,
    /// The timeout; 2147483647 marks a two-phase commit.
    pub timeout_ms: i32,
    /// How far the transaction is.
    pub status: TransactionStatus,
    /// Its partitions by topic; none when it is empty or complete.
    pub partitions: Vec<(String, Vec<i32>)>,
    /// When this was written.
    pub last_update: Option<Timestamp>,
    /// When the transaction began.
    pub start: Option<Timestamp>,
    /// The transaction protocol of the client; 0 where it is not written.
    pub client_transaction_version: i16,
}

/// Reads one record as (transactional id, state); no state deletes the id.
///
/// # Errors
/// [`InternalError`] when the type is unknown or the bytes do not hold it.
pub fn read_transaction(
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> Result<(String, Option<TransactionMetadata>), InternalError> {
    let record = read(key, value)?;
    let transactional_id = record.key.text("transactionalId").unwrap_or_default();
    let Some((_, value)) = record.value else {
        return Ok((transactional_id, None));
    };
    let producer = |name| value.number(name).filter(|&id| id >= 0).map(ProducerId);
    let partitions = value
        .elements("transactionPartitions")
        .iter()
        .map(|topic| {
            let ids = topic.numbers("partitionIds").filter_map(|id| i32::try_from(id).ok()).collect();
            (topic.text("topic").unwrap_or_default(), ids)
        })
        .collect();
    let status = value.small("transactionStatus").unwrap_or(-1);
    let metadata = TransactionMetadata {
        producer_id: ProducerId(value.number("producerId").unwrap_or(-1)),
        previous_producer_id: producer("previousProducerId"),
        next_producer_id: producer("nextProducerId"),
        producer_epoch: value.small("producerEpoch").filter(|&epoch| epoch >= 0).map(ProducerEpoch),
        timeout_ms: value.small("transactionTimeoutMs").unwrap_or_default(),
        status: TransactionStatus::from_number(status),
        partitions,
        last_update: value.number("transactionLastUpdateTimestampMs").and_then(Timestamp::from_disk),
        start: value.number("transactionStartTimestampMs").and_then(Timestamp::from_disk),
        client_transaction_version: value.small("clientTransactionVersion").unwrap_or_default(),
    };
    Ok((transactional_id, Some(metadata)))
}

/// What one transactional id did with one producer id, as far as records are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerUse {
    /// The producer id.
    pub producer_id: ProducerId,
    /// The lowest epoch seen.
    pub first_epoch: Option<ProducerEpoch>,
    /// The highest epoch seen.
    pub last_epoch: Option<ProducerEpoch>,
    /// The first record that names it.
    pub first_offset: Offset,
    /// The last record that names it.
    pub last_offset: Offset,
    /// The time of that record, as the coordinator wrote it.
    pub last_update: Option<Timestamp>,
}

/// What is known of one transactional id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionalId {
    /// Its producer ids in the order in which they appear.
    pub producers: Vec<ProducerUse>,
    /// Its last state; `None` when it was deleted.
    pub last: Option<TransactionMetadata>,
}

/// All transactional ids of the records that were folded.
#[derive(Clone, Debug, core::default::Default, PartialEq, Eq)]
pub struct TransactionalIds {
    ids: BTreeMap<String, TransactionalId>,
}

impl TransactionalIds {
    /// Takes the next record of a partition; records come in offset order.
    ///
    /// # Errors
    /// [`InternalError`] when the record cannot be read; nothing is changed then.
    pub fn fold(
        &mut self,
        offset: Offset,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<(), InternalError> {
        let (transactional_id, metadata) = read_transaction(key, value)?;
        let id = self.ids.entry(transactional_id).or_default();
        if let Some(metadata) = &metadata {
            id.note(offset, metadata);
        }
        id.last = metadata;
        Ok(())
    }

    /// What is known of one id.
    #[must_use]
    pub fn get(&self, transactional_id: &str) -> Option<&TransactionalId> {
        self.ids.get(transactional_id)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &TransactionalId)> {
        self.ids.iter().map(|(name, id)| (name.as_str(), id))
    }

    /// The ids that used this producer id: one, unless producer ids were handed out twice.
    pub fn of_producer(&self, producer_id: ProducerId) -> impl Iterator<Item = &str> {
        self.iter()
            .filter(move |(_, id)| id.producers.iter().any(|used| used.producer_id == producer_id))
            .map(|(name, _)| name)
    }
}

impl TransactionalId {
    fn note(&mut self, offset: Offset, metadata: &TransactionMetadata) {
        let epoch = metadata.producer_epoch;
        let known = self.producers.iter_mut().find(|used| used.producer_id == metadata.producer_id);
        if let Some(used) = known {
            used.first_epoch = used.first_epoch.min(epoch).or(epoch);
            used.last_epoch = used.last_epoch.max(epoch);
            used.last_offset = offset;
            used.last_update = metadata.last_update;
        } else {
            self.producers.push(ProducerUse {
                producer_id: metadata.producer_id,
                first_epoch: epoch,
                last_epoch: epoch,
                first_offset: offset,
                last_offset: offset,
                last_update: metadata.last_update,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "000000027478";
    const ONGOING_V0: &str = "000000000000000003e800030000ea6001000000010001740000000200000000000000010000018bcfe568000000018bcfe56800";
    const ONGOING_V1: &str =
        "000100000000000003e800030000ea6001020274030000000000000001000000018bcfe568000000018bcfe5680000";
    const ONGOING_TAGS: &str = "000100000000000003e800030000ea6001020274030000000000000001000000018bcfe568000000018bcfe5680003000800000000000003e7010800000000000007d002020002";
    const EMPTY_V0: &str = "000000000000000003e800000000ea6000ffffffff0000018bcfe56800ffffffffffffffff";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    fn state(value: &str) -> TransactionMetadata {
        let (id, state) = read_transaction(Some(&bytes(KEY)), Some(&bytes(value))).unwrap();
        assert_eq!(id, "tx");
        state.unwrap()
    }

    #[test]
    fn both_versions_say_the_same() {
        let ongoing = state(ONGOING_V0);
        assert_eq!(
            ongoing,
            TransactionMetadata {
                producer_id: ProducerId(1000),
                previous_producer_id: None,
                next_producer_id: None,
                producer_epoch: Some(ProducerEpoch(3)),
                timeout_ms: 60_000,
                status: TransactionStatus::Ongoing,
                partitions: vec![("t".to_owned(), vec![0, 1])],
                last_update: Some(Timestamp(1_700_000_000_000)),
                start: Some(Timestamp(1_700_000_000_000)),
                client_transaction_version: 0,
            }
        );
        assert_eq!(state(ONGOING_V1), ongoing);
    }

    #[test]
    fn tags_name_the_producer_ids_around() {
        let tagged = state(ONGOING_TAGS);
        assert_eq!(tagged.previous_producer_id, Some(ProducerId(999)));
        assert_eq!(tagged.next_producer_id, Some(ProducerId(2000)));
        assert_eq!(tagged.client_transaction_version, 2);
        let mut json = String::new();
        let (key, value) = (bytes(KEY), bytes(ONGOING_TAGS));
        read(Some(&key), Some(&value)).unwrap().value.unwrap().1.write_json(&mut json);
        assert_eq!(
            json,
            r#"{"producerId":1000,"previousProducerId":999,"nextProducerId":2000,"producerEpoch":3,"transactionTimeoutMs":60000,"transactionStatus":1,"transactionPartitions":[{"topic":"t","partitionIds":[0,1]}],"transactionLastUpdateTimestampMs":1700000000000,"transactionStartTimestampMs":1700000000000,"clientTransactionVersion":2}"#
        );
    }

    #[test]
    fn an_empty_transaction_has_null_partitions() {
        let empty = state(EMPTY_V0);
        assert_eq!(empty.status, TransactionStatus::Empty);
        assert!(empty.partitions.is_empty());
        assert_eq!(empty.start, None);
    }

    #[test]
    fn the_fold_keeps_producer_ids_and_the_last_state() {
        let mut ids = TransactionalIds::default();
        let key = bytes(KEY);
        let mut later = bytes(ONGOING_V0);
        later[2..10].copy_from_slice(&2000i64.to_be_bytes());
        ids.fold(Offset(1), Some(&key), Some(&bytes(EMPTY_V0))).unwrap();
        ids.fold(Offset(2), Some(&key), Some(&bytes(ONGOING_V0))).unwrap();
        ids.fold(Offset(3), Some(&key), Some(&later)).unwrap();
        let id = ids.get("tx").unwrap();
        assert_eq!(id.producers.len(), 2);
        assert_eq!(id.producers[0].first_epoch, Some(ProducerEpoch(0)));
        assert_eq!(id.producers[0].last_epoch, Some(ProducerEpoch(3)));
        assert_eq!((id.producers[0].first_offset, id.producers[0].last_offset), (Offset(1), Offset(2)));
        assert_eq!(ids.of_producer(ProducerId(2000)).collect::<Vec<_>>(), ["tx"]);
        ids.fold(Offset(4), Some(&key), None).unwrap();
        assert_eq!(ids.get("tx").unwrap().last, None);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        assert_eq!(read(Some(&[0, 9]), None), Err(InternalError::UnknownType(9)));
        assert_eq!(read(None, None), Err(InternalError::MissingKey));
        let error = read(Some(&bytes(KEY)), Some(&[0, 7])).unwrap_err();
        assert!(error.to_string().contains("version 7 is unknown"), "{error}");
    }
}
