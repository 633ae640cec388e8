//! Which producers write new contents for the same keys in turn.
//!
//! Goes in: the records of a partition with key, content and producer id. Comes out: pairs of producers
//! with the keys that both keep changing. A content that the key had before is a copy, or a state that
//! came back, and no turn. When all keys go from one producer to another and stay there, that is one
//! turn for each key and one change for the pair: a handover.

use crate::units::{Offset, ProducerId};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Keys that are followed in a partition: the first ones.
const MAX_KEYS: usize = 16_384;
/// Contents of a key that are remembered.
const REMEMBERED: usize = 8;
/// Turns that make a key contested.
const TURNS: u64 = 4;
/// Pairs that are followed.
const MAX_PAIRS: usize = 256;

/// Two producers that keep changing the same keys of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// The two, the smaller id first.
    pub producers: [ProducerId; 2],
    /// Keys whose writer changed again and again between the two, and to nobody else.
    pub keys: u64,
    /// How often the writer of one of these keys changed.
    pub turns: u64,
    /// How often the pair changed over all keys that both write.
    pub changes: u64,
    /// The first of these keys as a report shows it.
    pub example: String,
    /// Where its first and its last turn stand.
    pub example_offsets: [Offset; 2],
    /// How often its writer changed.
    pub example_turns: u64,
}

/// What the turns of one partition say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Pairs with contested keys.
    pub contests: Vec<Contest>,
    /// Producers of keys that three or more of them change in turn: instances of one service.
    pub of_many: BTreeSet<ProducerId>,
    /// Records that were looked at.
    pub records: u64,
    /// Records of keys beyond those that are followed.
    pub not_followed: u64,
}

/// A record with its writer.
#[derive(Clone, Copy, Debug)]
pub struct WrittenRecord {
    /// Stands for its key.
    pub key: u128,
    /// Stands for its content.
    pub content: u128,
    /// Who wrote it.
    pub producer_id: ProducerId,
    /// Its offset.
    pub offset: Offset,
}

#[derive(Debug)]
struct Key {
    name: String,
    contents: VecDeque<u128>,
    last: ProducerId,
    /// The one that wrote it before the last one.
    other: Option<ProducerId>,
    writers: BTreeSet<ProducerId>,
    turns: u64,
    offsets: Option<[Offset; 2]>,
}

/// Folds the records of one partition.
#[derive(Debug, Default)]
pub struct TurnFold {
    keys: HashMap<u128, Key>,
    /// For each pair who wrote a key of both last, and how often that changed.
    pairs: BTreeMap<[ProducerId; 2], (ProducerId, u64)>,
    records: u64,
    not_followed: u64,
}

impl TurnFold {
    /// Takes the next record; `name` shows its key.
    pub fn record(&mut self, record: WrittenRecord, name: &dyn Fn() -> String) {
        self.records += 1;
        let writer = record.producer_id;
        let Some(key) = self.keys.get_mut(&record.key) else {
            if self.keys.len() < MAX_KEYS {
                let key = Key {
                    name: name(),
                    contents: VecDeque::from([record.content]),
                    last: writer,
                    other: None,
                    writers: BTreeSet::from([writer]),
                    turns: 0,
                    offsets: None,
                };
                self.keys.insert(record.key, key);
            } else {
                self.not_followed += 1;
            }
            return;
        };
        if key.contents.contains(&record.content) {
            return;
        }
        if key.contents.len() >= REMEMBERED {
            key.contents.pop_front();
        }
        key.contents.push_back(record.content);
        if key.last != writer {
            key.turns += 1;
            key.other = Some(key.last);
            key.last = writer;
            // More than three say no more than three.
            if key.writers.len() < 3 {
                key.writers.insert(writer);
            }
            let first = key.offsets.map_or(record.offset, |[first, _]| first);
            key.offsets = Some([first, record.offset]);
        }
        let Some(other) = key.other else { return };
        let pair = [writer.min(other), writer.max(other)];
        if self.pairs.len() < MAX_PAIRS || self.pairs.contains_key(&pair) {
            let (last, changes) = self.pairs.entry(pair).or_insert((other, 0));
            if *last != writer {
                *last = writer;
                *changes += 1;
            }
        }
    }

    /// Ends the partition.
    #[must_use]
    pub fn finish(self) -> Turns {
        let mut turns = Turns { records: self.records, not_followed: self.not_followed, ..Turns::default() };
        let mut contests: BTreeMap<[ProducerId; 2], Contest> = BTreeMap::new();
        for key in self.keys.into_values().filter(|key| key.turns >= TURNS) {
            let writers: Vec<ProducerId> = key.writers.iter().copied().collect();
            let (&[one, other], Some(offsets)) = (writers.as_slice(), key.offsets) else {
                turns.of_many.extend(writers);
                continue;
            };
            let changes = self.pairs.get(&[one, other]).map_or(0, |(_, changes)| *changes);
            let contest = contests.entry([one, other]).or_insert_with(|| Contest {
                producers: [one, other],
                keys: 0,
                turns: 0,
                changes,
                example: key.name.clone(),
                example_offsets: offsets,
                example_turns: key.turns,
            });
            contest.keys += 1;
            contest.turns += key.turns;
            if offsets < contest.example_offsets {
                (contest.example, contest.example_offsets) = (key.name, offsets);
                contest.example_turns = key.turns;
            }
        }
        turns.contests = contests.into_values().collect();
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Producer and key of each record; contents are all different.
    fn folded(records: &[(i64, u128)]) -> Turns {
        let mut fold = TurnFold::default();
        for (at, &(producer, key)) in (0_i64..).zip(records) {
            let record = WrittenRecord {
                key,
                content: u128::try_from(at).unwrap(),
                producer_id: ProducerId(producer),
                offset: Offset(at),
            };
            fold.record(record, &|| format!("k{key}"));
        }
        fold.finish()
    }

    #[test]
    fn keys_that_two_change_in_turn_are_contested() {
        let records: Vec<(i64, u128)> =
            (0..24).map(|at| (at / 2 % 2, u128::try_from(at % 2).unwrap())).collect();
        let found = folded(&records);
        let [contest] = &found.contests[..] else { panic!("{found:?}") };
        assert_eq!((contest.keys, contest.turns, contest.changes), (2, 22, 11));
        assert_eq!((contest.example.as_str(), contest.example_offsets), ("k0", [Offset(2), Offset(22)]));
    }

    #[test]
    fn own_keys_and_a_handover_are_no_contest() {
        let own: Vec<(i64, u128)> = (0..40).map(|at| (at % 2, u128::try_from(at % 2).unwrap())).collect();
        assert_eq!(folded(&own).contests, []);
        let handover: Vec<(i64, u128)> =
            (0..40).map(|at| (at / 20, u128::try_from(at % 2).unwrap())).collect();
        assert_eq!(folded(&handover).contests, []);
    }

    #[test]
    fn handovers_back_and_forth_change_the_pair_as_often_as_they_happen() {
        // Five handovers of ten keys.
        let records: Vec<(i64, u128)> =
            (0..120).map(|at| (at / 20 % 2, u128::try_from(at % 10).unwrap())).collect();
        assert_eq!(folded(&records).contests[0].changes, 5);
    }

    #[test]
    fn keys_of_three_writers_belong_to_one_service() {
        let records: Vec<(i64, u128)> = (0..30).map(|at| (at % 3, 0)).collect();
        let found = folded(&records);
        assert_eq!((found.contests.len(), found.of_many.len()), (0, 3));
    }
}
