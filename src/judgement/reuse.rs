//! `offset-reuse`: one offset stands for two contents in one replica.
//!
//! Evidence: offsets that step back or repeat inside a log. A leader only counts up
//! (`UnifiedLog.append`), and never goes back to a file that another one follows, so this is a power loss that left an old tail behind, a restore over a
//! live log, or files of two replicas in one directory. Consumers disagree on what they get.

use super::draft::{Topic, about, capped, count, dropped, finding, kept, lines, of_topics};
use crate::finding::{Code, Confidence, Finding};
use crate::units::{FilePosition, TopicNumber};
use std::collections::BTreeMap;

/// A batch out of place.
#[derive(Clone, Debug)]
pub struct Reused<'a> {
    /// The topic.
    pub topic: &'a str,
    /// Which topic of that name.
    pub topic_number: TopicNumber,
    /// The partition.
    pub partition: i32,
    /// The segment, as the report names it.
    pub file: String,
    /// Where the batch begins.
    pub position: FilePosition,
    /// What is wrong with its offsets.
    pub detail: &'a str,
}

/// One finding a topic.
#[must_use]
pub fn judge(reused: &[Reused<'_>]) -> Vec<Finding> {
    let mut topics: BTreeMap<Topic<'_>, Vec<&Reused<'_>>> = BTreeMap::new();
    for place in reused {
        topics.entry((place.topic, place.topic_number)).or_default().push(place);
    }
    topics.into_iter().map(|(topic, places)| in_topic(topic, &places)).collect()
}

fn in_topic((topic, topic_number): Topic<'_>, places: &[&Reused<'_>]) -> Finding {
    let number = u64::try_from(places.len()).unwrap_or(u64::MAX);
    let title =
        format!("{topic}: {} offsets that were used before", count(number, "batch has", "batches have"));
    let mut finding = finding(Code::OffsetReuse, Confidence::Likely, title);
    about(&mut finding, places.iter().map(|place| (topic, place.partition)));
    of_topics(&mut finding, [topic_number]);
    let facts = places.iter().map(|place| format!("{} at {}: {}", place.file, place.position, place.detail));
    finding.facts = capped(facts, "batches");
    finding.facts.push("the records of these batches are not counted; the coverage names them".to_owned());
    finding.alternatives = vec![
        dropped("compaction", "the cleaner leaves holes, never offsets twice"),
        kept("bit rot", "no checksum covers the base offset of a batch"),
    ];
    finding.would_settle =
        lines(["the same offsets on another replica", "the broker's log around its last unclean start"]);
    finding.advice = lines([
        "do not trust what consumers read at these offsets; compare with another replica",
        "let the broker fetch the partition from its leader again",
    ]);
    finding
}
