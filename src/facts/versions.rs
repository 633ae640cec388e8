//! Whether a version that records carry rises with the offset of their key, and which blocks of
//! batches without producer id stand behind batches that hold newer versions.
//!
//! Goes in: for each record of a partition the version of its key. A version that the key had before is
//! a copy and says nothing of order. A batch counts as moved only when each of its records is older, by
//! version and by the client's time, than one that stands a few batches before it: what a batch looks
//! like that failed and was sent again (`retries` with more than one request in flight and no
//! idempotence). Everything else that steps back speaks against the field.

use super::order::{LEAST_STEP_MS, MAX_BLOCKS, MOST_STEP_MS, OVERTAKING};
use crate::units::{LeaderEpoch, Offset};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Keys that are followed in a partition: the first ones.
const MAX_KEYS: usize = 16_384;
/// Versions of a key that are remembered.
const REMEMBERED: usize = 16;

/// What the versions of one partition say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// The pointer of the field; empty where none was followed.
    pub field: String,
    /// What its values are.
    pub kind: VersionKind,
    /// Records whose version is above all of their key before them.
    pub rises: u64,
    /// Records that step back and are in no block.
    pub out_of_order: u64,
    /// Batches without producer id that could be judged.
    pub batches: u64,
    /// Those in blocks.
    pub moved: u64,
    /// The blocks, in offset order.
    pub blocks: Vec<OlderBlock>,
    /// Records whose keys were not followed: there were too many.
    pub not_followed: u64,
}

/// What the values of a version field are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionKind {
    /// Whole numbers.
    #[default]
    Number,
    /// Times in RFC 3339, here in milliseconds.
    Time,
}

/// Consecutive batches that hold older versions than what stands before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlderBlock {
    /// Its first offset.
    pub first_offset: Offset,
    /// Its last offset.
    pub last_offset: Offset,
    /// Its batches.
    pub batches: u64,
    /// Its records that are older than one before them.
    pub records: u64,
    /// The smallest client time of those.
    pub first_timestamp: i64,
    /// The largest.
    pub last_timestamp: i64,
    /// The largest client time of what overtook it.
    pub newest_before: i64,
    /// Whether a new leader took over between what overtook it and the block.
    pub new_leader: bool,
    /// Its first record that is older than one before it.
    pub example: OlderRecord,
    ordinal: usize,
}

/// A record behind a newer version of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlderRecord {
    /// The key as a report shows it.
    pub key: String,
    /// The offset of the newer version.
    pub newer_offset: Offset,
    /// The client's time of it.
    pub newer_timestamp: i64,
    /// The newer version.
    pub newer_version: i64,
    /// The offset of the older version, behind it.
    pub offset: Offset,
    /// The client's time of it.
    pub timestamp: i64,
    /// The older version.
    pub version: i64,
}

/// A batch whose records come next.
#[derive(Clone, Copy, Debug)]
pub struct VersionedBatch {
    /// Whether retries could be recognised.
    pub protection: BatchProtection,
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset.
    pub last_offset: Offset,
    /// Who was leader.
    pub leader_epoch: Option<LeaderEpoch>,
}

/// Whether a broker could recognise a batch that comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchProtection {
    /// It has a producer id.
    ProducerId,
    /// It has none.
    None,
}

/// A record with its version.
#[derive(Clone, Copy, Debug)]
pub struct VersionedRecord {
    /// Stands for its key.
    pub key: u128,
    /// Its version.
    pub version: i64,
    /// Its offset.
    pub offset: Offset,
    /// The client's time.
    pub client_timestamp: i64,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    version: i64,
    offset: Offset,
    time: i64,
    ordinal: usize,
    protection: BatchProtection,
    leader_epoch: Option<LeaderEpoch>,
}

#[derive(Debug)]
struct History {
    name: String,
    recent: VecDeque<Seen>,
}

/// What the records of one batch do.
#[derive(Debug, Default)]
struct Doing {
    rises: u64,
    repeats: u64,
    noise: u64,
    block: Option<OlderBlock>,
}

/// Folds the records of one partition.
#[derive(Debug)]
pub struct VersionFold {
    out: Versions,
    keys: HashMap<u128, History>,
    ordinal: usize,
    batch: Option<(VersionedBatch, Doing)>,
}

impl VersionFold {
    /// Follows this field.
    #[must_use]
    pub fn new(field: String, kind: VersionKind) -> Self {
        Self {
            out: Versions { field, kind, ..Versions::default() },
            keys: HashMap::new(),
            ordinal: 0,
            batch: None,
        }
    }

    /// Takes the next batch; its records follow.
    pub fn batch(&mut self, batch: VersionedBatch) {
        self.end_batch();
        self.ordinal += 1;
        self.batch = Some((batch, Doing::default()));
    }

    /// Takes the next record of the batch; `name` shows its key.
    pub fn record(&mut self, record: VersionedRecord, name: &dyn Fn() -> String) {
        let Some((batch, doing)) = &mut self.batch else { return };
        if !self.keys.contains_key(&record.key) {
            if self.keys.len() >= MAX_KEYS {
                self.out.not_followed += 1;
                return;
            }
            let history = History { name: name(), recent: VecDeque::new() };
            self.keys.insert(record.key, history);
        }
        let Some(history) = self.keys.get_mut(&record.key) else { return };
        if history.recent.iter().any(|seen| seen.version == record.version) {
            doing.repeats += 1;
            return;
        }
        let seen = Seen {
            version: record.version,
            offset: record.offset,
            time: record.client_timestamp,
            ordinal: self.ordinal,
            protection: batch.protection,
            leader_epoch: batch.leader_epoch,
        };
        let newer = history.recent.iter().filter(|before| before.version > record.version);
        match newer.min_by_key(|before| before.version) {
            Some(overtaken) => {
                let newest = history.recent.iter().map(|before| before.time).max().unwrap_or(overtaken.time);
                match older(&history.name, overtaken, newest, &seen, batch) {
                    Some(one) => doing.add(one),
                    None => doing.noise += 1,
                }
            }
            None if history.recent.is_empty() => {}
            None => doing.rises += 1,
        }
        if history.recent.len() >= REMEMBERED {
            history.recent.pop_front();
        }
        history.recent.push_back(seen);
    }

    fn end_batch(&mut self) {
        let Some((batch, doing)) = self.batch.take() else { return };
        if batch.protection == BatchProtection::ProducerId {
            return;
        }
        let older = doing.block.as_ref().map_or(0, |block| block.records);
        if doing.rises + doing.repeats + doing.noise + older == 0 {
            return;
        }
        self.out.batches += 1;
        self.out.rises += doing.rises;
        self.out.out_of_order += doing.noise;
        let Some(block) = doing.block else { return };
        if doing.rises + doing.repeats + doing.noise > 0 {
            self.out.out_of_order += older;
            return;
        }
        let room = self.out.blocks.len() < MAX_BLOCKS;
        match self.out.blocks.last_mut() {
            Some(last) if last.ordinal + 1 == block.ordinal => last.extend(&block),
            _ if room => self.out.blocks.push(block),
            _ => self.out.out_of_order += older,
        }
    }

    /// Ends the partition. A single record may be late by itself, and what is late by less than a client
    /// waits was not sent again.
    #[must_use]
    pub fn finish(mut self) -> Versions {
        self.end_batch();
        let is_block = |block: &OlderBlock| {
            block.records >= 2 && block.newest_before.saturating_sub(block.last_timestamp) >= LEAST_STEP_MS
        };
        let (blocks, noise): (Vec<_>, Vec<_>) = self.out.blocks.into_iter().partition(is_block);
        self.out.blocks = blocks;
        self.out.out_of_order += noise.iter().map(|block| block.records).sum::<u64>();
        self.out.moved = self.out.blocks.iter().map(|block| block.batches).sum();
        self.out
    }
}

/// The block that one record makes, when a client that sends again can have put it there.
fn older(
    name: &str,
    overtaken: &Seen,
    newest: i64,
    record: &Seen,
    batch: &VersionedBatch,
) -> Option<OlderBlock> {
    let step = overtaken.time.saturating_sub(record.time);
    let is_possible = batch.protection == BatchProtection::None
        && overtaken.protection == BatchProtection::None
        && overtaken.ordinal < record.ordinal
        && record.ordinal - overtaken.ordinal <= OVERTAKING
        && record.time >= 0
        && step > 0
        && newest.saturating_sub(record.time) <= MOST_STEP_MS;
    is_possible.then(|| OlderBlock {
        first_offset: batch.first_offset,
        last_offset: batch.last_offset,
        batches: 1,
        records: 1,
        first_timestamp: record.time,
        last_timestamp: record.time,
        newest_before: newest,
        new_leader: overtaken.leader_epoch != record.leader_epoch,
        example: OlderRecord {
            key: name.to_owned(),
            newer_offset: overtaken.offset,
            newer_timestamp: overtaken.time,
            newer_version: overtaken.version,
            offset: record.offset,
            timestamp: record.time,
            version: record.version,
        },
        ordinal: record.ordinal,
    })
}

impl Doing {
    fn add(&mut self, one: OlderBlock) {
        match &mut self.block {
            None => self.block = Some(one),
            Some(block) => {
                block.records += 1;
                block.widen(&one);
            }
        }
    }
}

impl OlderBlock {
    fn extend(&mut self, next: &Self) {
        self.last_offset = next.last_offset;
        self.batches += next.batches;
        self.records += next.records;
        self.widen(next);
        self.ordinal = next.ordinal;
    }

    fn widen(&mut self, other: &Self) {
        self.first_timestamp = self.first_timestamp.min(other.first_timestamp);
        self.last_timestamp = self.last_timestamp.max(other.last_timestamp);
        self.newest_before = self.newest_before.max(other.newest_before);
        self.new_leader |= other.new_leader;
    }
}

/// The pairs of a key's successive versions in a sample: how many rise, step back, or stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// To a version above all before.
    pub rises: u64,
    /// To one below, that the key did not have before.
    pub back: u64,
    /// To one that the key had before.
    pub repeats: u64,
}

impl Steps {
    /// Counts the steps of one key.
    pub fn count(&mut self, versions: impl IntoIterator<Item = i64>) {
        let mut before = BTreeSet::new();
        for version in versions {
            let newest = before.last().copied();
            match newest {
                _ if before.contains(&version) => self.repeats += 1,
                Some(newest) if version < newest => self.back += 1,
                Some(_) => self.rises += 1,
                None => {}
            }
            before.insert(version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One batch of two keys for each number: its version, and its time in seconds.
    fn folded(versions: &[(i64, i64)]) -> Versions {
        let mut fold = VersionFold::new("/v".into(), VersionKind::Number);
        for (at, &(version, second)) in (0_i64..).zip(versions) {
            fold.batch(VersionedBatch {
                protection: BatchProtection::None,
                first_offset: Offset(2 * at),
                last_offset: Offset(2 * at + 1),
                leader_epoch: None,
            });
            for key in 0..2 {
                let record = VersionedRecord {
                    key: u128::try_from(key).unwrap(),
                    version,
                    offset: Offset(2 * at + key),
                    client_timestamp: second * 1_000,
                };
                fold.record(record, &|| format!("k{key}"));
            }
        }
        fold.finish()
    }

    fn same(versions: &[i64]) -> Versions {
        folded(&versions.iter().map(|&version| (version, version)).collect::<Vec<_>>())
    }

    #[test]
    fn a_block_behind_newer_versions_is_found_with_an_example() {
        let found = same(&[6, 7, 9, 8, 10]);
        assert_eq!((found.blocks.len(), found.moved, found.out_of_order, found.rises), (1, 1, 0, 6));
        let block = &found.blocks[0];
        assert_eq!((block.first_offset, block.last_offset, block.records), (Offset(6), Offset(7), 2));
        let OlderRecord { key, newer_offset, newer_version, offset, version, .. } = &block.example;
        assert_eq!((key.as_str(), newer_offset.0, *newer_version, offset.0, *version), ("k0", 4, 9, 6, 8));
    }

    #[test]
    fn a_version_that_was_there_before_is_a_copy_and_two_batches_are_one_block() {
        let copy = same(&[7, 8, 9, 8, 10]);
        assert_eq!((copy.blocks.len(), copy.out_of_order), (0, 0));
        let both = same(&[6, 9, 7, 8, 9, 10]);
        assert_eq!((both.blocks.len(), both.blocks[0].batches, both.blocks[0].records), (1, 2, 4));
    }

    #[test]
    fn a_client_that_wrote_in_this_order_and_one_that_is_late_by_much_sent_nothing_again() {
        let own_order = folded(&[(6, 1), (7, 2), (9, 3), (8, 4), (10, 5)]);
        assert_eq!((own_order.blocks.len(), own_order.out_of_order), (0, 2));
        let late = folded(&[(6, 1), (7, 2), (9, 3_000), (8, 4), (10, 3_001)]);
        assert_eq!((late.blocks.len(), late.out_of_order), (0, 2));
    }

    #[test]
    fn steps_of_a_key_are_told_apart() {
        let mut steps = Steps::default();
        steps.count([1, 2, 4, 3, 4, 5]);
        assert_eq!(steps, Steps { rises: 3, back: 1, repeats: 1 });
    }
}
