//! Which topic a finding is about, where several of one name were given: of two clusters, or one that was deleted and
//! its successor.

use super::prepare::Prepared;
use super::topics::Topic;
use crate::finding::Finding;
use crate::units::TopicNumber;
use std::collections::BTreeSet;

/// Directories that are named.
const DIRECTORIES: usize = 2;

/// Says it in each finding about such a topic.
pub(super) fn tell(findings: &mut [Finding], prepared: &Prepared) {
    let topics = &prepared.topics;
    for finding in findings {
        let namesakes: Vec<(TopicNumber, &Topic)> = finding
            .topic_numbers
            .iter()
            .filter_map(|&number| Some((number, topics.get(number)?)))
            .filter(|(_, topic)| topics.has_namesake(topic))
            .collect();
        finding.topic_ids = namesakes.iter().filter_map(|(_, topic)| topic.id.clone()).collect();
        let told: Vec<String> = namesakes.iter().map(|(_, topic)| which(topic, finding, prepared)).collect();
        let at = finding.facts.len().min(1);
        finding.facts.splice(at..at, told);
    }
}

/// `orders is here the topic with id … of a/orders-0: another one …`.
fn which(topic: &Topic, finding: &Finding, prepared: &Prepared) -> String {
    let name = &topic.name;
    let meant: BTreeSet<i32> =
        finding.partitions.iter().filter(|place| place.topic == *name).map(|place| place.partition).collect();
    let leads = |at: &usize| prepared.leaders.get(*at) == Some(at);
    let directories: Vec<&str> = topic
        .partitions
        .iter()
        .filter(|at| leads(at))
        .filter_map(|&at| prepared.inventory.partitions.get(at))
        .filter(|dir| meant.contains(&dir.partition))
        .map(|dir| dir.display.as_str())
        .collect();
    let more = directories.len().saturating_sub(DIRECTORIES);
    let named = directories.iter().take(DIRECTORIES).copied().collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let id =
        topic.id.as_ref().map_or_else(|| "without topic id".to_owned(), |id| format!("with topic id {id}"));
    format!("of several topics that are called {name} this is the one {id}, in {named}{more}")
}
