//! Which consumer groups have the surplus copies of an episode behind them.
//!
//! A group has a copy behind it when the largest position that it committed in the copy's partition
//! lies behind the copy. Whether it was given the record itself (an aborted one it was not, and a
//! position may be set forward) is not told by a position.

use super::episode::{Episode, count};
use super::pair;
use crate::finding::ConsumedBy;
use crate::units::Offset;
use std::collections::BTreeMap;

/// Every group that reads a partition with surplus copies, by name.
pub(super) fn by(episode: &Episode<'_>) -> Vec<ConsumedBy> {
    let relations = episode.relations;
    if relations.positions.is_empty() {
        return Vec::new();
    }
    let mut copies: BTreeMap<u32, Vec<Offset>> = BTreeMap::new();
    for pair in episode.pairs() {
        copies.entry(pair.later.partition).or_default().push(pair.later.offset);
    }
    let mut behind: BTreeMap<&str, usize> = BTreeMap::new();
    for (&at, offsets) in &mut copies {
        offsets.sort_unstable();
        let Some(note) = pair::partition(relations, at) else { continue };
        let Some(topic) = usize::try_from(note.topic).ok().and_then(|at| relations.topics.get(at)) else {
            continue;
        };
        let here = |position: &&crate::relations::PositionNote| {
            position.topic == topic.name && position.partition == note.partition
        };
        for position in relations.positions.iter().filter(here) {
            let passed = offsets.partition_point(|offset| *offset < position.highest);
            *behind.entry(&position.group).or_default() += passed;
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
