//! Records that a consumer group was given again: those between the two positions of a step back. Copies in
//! another topic with the same business key may be what its application made of them, twice.

use crate::facts::{Rewind, RewindKind};
use crate::relations::{Relations, Reread};
use crate::units::{Offset, TopicNumber};
use std::collections::BTreeMap;

/// The stretches of all steps back.
pub(super) struct Stretches {
    /// By partition, in ascending order and apart from each other: the first offset, and that behind the last one.
    of_partition: BTreeMap<u32, Vec<(Offset, Offset)>>,
}

impl Stretches {
    pub(super) fn of(relations: &Relations) -> Self {
        let mut of_partition: BTreeMap<u32, Vec<(Offset, Offset)>> = BTreeMap::new();
        let mut by_place: BTreeMap<(TopicNumber, i32), Vec<(Offset, Offset)>> = BTreeMap::new();
        for Rewind { topic_number, partition, from, to, kind, .. } in &relations.rewinds {
            if let (Some(topic), RewindKind::SteppedBack) = (topic_number, kind) {
                by_place.entry((*topic, *partition)).or_default().push((*to, *from));
            }
        }
        for stretches in by_place.values_mut() {
            stretches.sort_unstable();
            stretches.dedup_by(|next, before| {
                let joined = next.0 <= before.1;
                before.1 = if joined { before.1.max(next.1) } else { before.1 };
                joined
            });
        }
        for (at, note) in (0..).zip(&relations.partitions) {
            if let Some(stretches) = by_place.get(&(TopicNumber(note.topic), note.partition)) {
                of_partition.insert(at, stretches.clone());
            }
        }
        Self { of_partition }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_partition.is_empty()
    }

    /// The record, if a group was given it again.
    pub(super) fn over(&self, partition: u32, offset: Offset) -> Option<Reread> {
        let stretches = self.of_partition.get(&partition)?;
        let behind = stretches.partition_point(|(first, _)| *first <= offset);
        let (_, end) = stretches.get(behind.checked_sub(1)?)?;
        (offset < *end).then_some(Reread { partition, offset })
    }
}
