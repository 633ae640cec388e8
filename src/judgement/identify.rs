//! The ids of findings and their order.
//!
//! An id stands for the place of what was found, not for its explanation: 64 bits over the topic's
//! id (or name) and an anchor that a grown log keeps, namely the first surplus copy, the first gap,
//! transaction, stretch or snapshot. A later release that explains the same copies better gives the
//! same id.

use crate::finding::Finding;
use std::cmp::Reverse;
use std::fmt::Write;

/// What stands for a topic in the ids of findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicLabel {
    /// The topic's name.
    pub name: String,
    /// Its id, or its name, or what tells it from others of its name.
    pub label: String,
}

/// Sets the ids and puts the findings in order: most severe first, then by code, topic and anchor. `topics` are those of
/// the run, by their numbers.
pub fn identify(findings: &mut [Finding], topics: &[TopicLabel]) {
    for finding in findings.iter_mut() {
        finding.id = id(finding, topics);
    }
    findings.sort_by_cached_key(order);
}

/// The id of a finding.
pub(super) fn id(finding: &Finding, topics: &[TopicLabel]) -> String {
    let mut text = String::new();
    for name in &finding.topics {
        let numbers = finding.topic_numbers.iter();
        let known = numbers.filter_map(|number| topics.get(usize::try_from(number.0).ok()?));
        let mut known = known.filter(|topic| topic.name == *name).map(|topic| &topic.label).peekable();
        if known.peek().is_none() {
            let _ = write!(text, "{name}|");
        }
        for label in known {
            let _ = write!(text, "{label}|");
        }
    }
    text.push_str(&anchor(finding));
    format!("DA-{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}

/// What findings that have their ids are put in order by.
pub(super) fn order(finding: &Finding) -> impl Ord + use<> {
    let first = finding.groups.first().and_then(|group| group.copies.get(1).or(group.copies.first()));
    let place = first.map(|copy| (copy.partition, copy.offset));
    (Reverse(finding.severity), finding.code, finding.topics.clone(), place, finding.id.clone())
}

fn anchor(finding: &Finding) -> String {
    if let Some(copy) = finding.groups.first().and_then(|group| group.copies.get(1).or(group.copies.first()))
    {
        return format!("copy {} {} {}", copy.topic, copy.partition, copy.offset);
    }
    // Facts of different kinds can share a place, so the code tells them apart.
    let code = finding.code.name();
    if let Some(gap) = finding.gaps.first() {
        return format!("{code} {} {} {}", gap.partition, gap.producer_id, gap.at_offset);
    }
    if let Some(transaction) = finding.transactions.first() {
        return format!(
            "{code} {} {} {}",
            transaction.partition, transaction.producer_id, transaction.first_offset
        );
    }
    if let Some(stretch) = finding.stretches.first() {
        return format!("{code} {:?} {}", stretch.partition, stretch.first_offset);
    }
    if let Some(record) = finding.records.first() {
        return format!("{code} {} {}", record.partition, record.offset);
    }
    if let Some(range) = finding.ranges.first() {
        return format!("{code} {} {}", range.partition, range.first_offset);
    }
    if let Some(snapshot) = finding.snapshots.first() {
        return format!("{code} {} {:?}", snapshot.file, snapshot.producer_id);
    }
    if let Some(rewind) = finding.rewinds.first() {
        return format!("{code} {} {} {}", rewind.group, rewind.partition, rewind.at_offset);
    }
    let partitions: Vec<i32> = finding.partitions.iter().map(|p| p.partition).collect();
    format!("{code} {partitions:?} {}", finding.title)
}
