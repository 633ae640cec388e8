//! Which consumer groups have the surplus copies of an episode behind them.
//!
//! A group has a copy behind it when the largest position that it committed in the copy's partition
//! lies behind the copy. Whether it was given the record itself (an aborted one it was not, and a
//! position may be set forward) is not told by a position.

use super::episode::{Episode, count};
use super::pair;
use crate::finding::ConsumedBy;
use crate::relations::Relations;
use crate::units::Offset;
use std::collections::BTreeMap;

/// Every group that reads a partition with surplus copies, by name.
pub(super) fn by(episode: &Episode<'_>) -> Vec<ConsumedBy> {
    let relations = episode.relations;
    if relations.positions.is_empty() {
        return Vec::new();
    }
    let mut here: BTreeMap<u32, Vec<(&str, Offset)>> = BTreeMap::new();
    let mut behind: BTreeMap<&str, usize> = BTreeMap::new();
    for pair in episode.pairs() {
        let at = pair.later.partition;
        for &(group, highest) in here.entry(at).or_insert_with(|| positions(relations, at)).iter() {
            *behind.entry(group).or_default() += usize::from(pair.later.offset < highest);
        }
    }
    let all = episode.surplus();
    let told = behind.into_iter().map(|(group, passed)| ConsumedBy {
        group: group.to_owned(),
        all: passed == all,
        copies: count(passed),
    });
    told.collect()
}

/// The groups that read a partition, each with the largest position that it committed there.
fn positions(relations: &Relations, at: u32) -> Vec<(&str, Offset)> {
    let Some(note) = pair::partition(relations, at) else { return Vec::new() };
    let here = relations.positions.iter().filter(|position| {
        (position.cluster, position.topic, position.partition) == (note.cluster, note.topic, note.partition)
    });
    here.map(|position| (position.group.as_str(), position.highest)).collect()
}
