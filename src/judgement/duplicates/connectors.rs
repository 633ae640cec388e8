//! Where a connector read on, as Kafka Connect stores it: evidence of a replay, or support for it as a rival. It names no
//! mechanism and makes nothing certain: an offset says from where a connector that began anew would read, not that it did.
//!
//! Evidence: the first of the source's records that came again stands right behind an offset that a connector stored for
//! the source's partition. Where the source is not among the files, it is only told that a connector reads a topic after
//! which this one is named.

use super::episode::Episode;
use super::pair::partition;
use crate::facts::SourceOffset;
use crate::finding::phrase::moment;
use crate::units::Offset;
use std::collections::BTreeMap;

/// Stored offsets that are told one by one.
const TOLD: usize = 3;

/// The stored offsets behind which copies of an episode begin.
pub(super) struct ReadOn<'r> {
    stored: Vec<&'r SourceOffset>,
}

impl<'r> ReadOn<'r> {
    /// Those of an episode whose source is among the files.
    pub(super) fn of(episode: &Episode<'r>) -> Option<Self> {
        let relations = episode.relations;
        if relations.source_offsets.is_empty() {
            return None;
        }
        let mut first: BTreeMap<u32, Offset> = BTreeMap::new();
        for pair in episode.pairs() {
            if let Some(source) = pair.source.as_deref() {
                let least = first.entry(source.partition).or_insert(source.offset);
                *least = source.offset.min(*least);
            }
        }
        let fits = |(&at, least): (&u32, &Offset)| {
            let note = partition(relations, at)?;
            let topic = relations.topics.get(usize::try_from(note.topic).ok()?)?;
            // What was stored last, of equal ones.
            relations.source_offsets.iter().rev().find(|stored| {
                (&stored.topic, stored.partition) == (&topic.name, note.partition)
                    && stored.reads_on_at() == *least
            })
        };
        let stored: Vec<_> = first.iter().filter_map(fits).collect();
        (!stored.is_empty()).then_some(Self { stored })
    }

    /// What is stored, in words.
    pub(super) fn facts(&self) -> Vec<String> {
        self.stored.iter().take(TOLD).map(|stored| told(stored)).collect()
    }

    /// Whether a connector was set back there.
    pub(super) fn is_set_back(&self) -> bool {
        self.stored.iter().any(|stored| stored.set_back_from.is_some())
    }
}

fn told(stored: &SourceOffset) -> String {
    let SourceOffset { connector, topic, partition, at_offset, stored_in: (offsets, number), .. } = stored;
    let when = stored.timestamp.and_then(moment).map_or_else(String::new, |time| format!(" at {time}"));
    let what = match (stored.offset, stored.set_back_from) {
        (Some(offset), None) => format!("had stored offset {offset} of {topic}-{partition}"),
        (Some(offset), Some(before)) => {
            format!("was set back on {topic}-{partition} from offset {before} to {offset}")
        }
        (None, _) => format!("had its position in {topic}-{partition} removed"),
    };
    format!(
        "connector {connector} {what}{when} ({offsets}-{number} offset {at_offset}): one that begins anew reads on at {}, where \
         the copies begin",
        stored.reads_on_at()
    )
}

/// That a connector reads a topic after which that of an episode is named, where its source is not among the files.
pub(super) fn reader(episode: &Episode<'_>) -> Option<String> {
    let own = episode.topic_name();
    let names = |stored: &&SourceOffset| {
        let before = own.strip_suffix(stored.topic.as_str());
        before.is_some_and(|before| before.is_empty() || before.ends_with(['.', '-', '_']))
    };
    let stored = episode.relations.source_offsets.iter().rev().find(names)?;
    Some(format!(
        "connector {} stores in {} how far it has read {}, after which this topic is named",
        stored.connector, stored.stored_in.0, stored.topic
    ))
}
