//! How a finding is put together, and the words that several findings share.

use super::Partition;
use crate::facts::PartitionContext;
use crate::finding::phrase::moment;
use crate::finding::{Alternative, Code, Confidence, DivergentRange, Finding, TopicPartition};
use crate::units::TopicNumber;
use std::collections::BTreeMap;

/// A finding with nothing but its code, confidence and title.
pub(super) fn finding(code: Code, confidence: Confidence, title: String) -> Finding {
    Finding { confidence, title, ..Finding::empty(code) }
}

/// Sets the topics and partitions that a finding is about.
pub(super) fn about<'a>(finding: &mut Finding, partitions: impl IntoIterator<Item = (&'a str, i32)>) {
    finding.partitions = partitions
        .into_iter()
        .map(|(topic, partition)| TopicPartition { topic: topic.to_owned(), partition })
        .collect();
    finding.partitions.sort();
    finding.partitions.dedup();
    finding.topics = finding.partitions.iter().map(|partition| partition.topic.clone()).collect();
    finding.topics.dedup();
}

/// The same, and which topics of these names they are.
pub(super) fn about_logs<'a>(
    finding: &mut Finding,
    logs: impl Iterator<Item = &'a PartitionContext> + Clone,
) {
    about(finding, logs.clone().map(|context| (context.topic.as_str(), context.partition)));
    of_topics(finding, logs.map(|context| context.topic_number));
}

/// Says which of the topics of the run a finding is about.
pub(super) fn of_topics(finding: &mut Finding, topics: impl IntoIterator<Item = TopicNumber>) {
    finding.topic_numbers = topics.into_iter().collect();
    finding.topic_numbers.sort_unstable();
    finding.topic_numbers.dedup();
}

/// A topic: its name, and which of that name.
pub(super) type Topic<'a> = (&'a str, TopicNumber);

/// Which topic a partition is of.
pub(super) fn topic_of(context: &PartitionContext) -> Topic<'_> {
    (&context.topic, context.topic_number)
}

/// The findings about each topic, in the order of names; findings are made for one topic at a time. Its partitions are
/// in the order of their numbers.
pub(super) fn each_topic<'a, F: IntoIterator<Item = Finding>>(
    partitions: &[Partition<'a>],
    mut judge: impl FnMut(Topic<'a>, &[Partition<'a>]) -> F,
) -> Vec<Finding> {
    let mut topics: BTreeMap<Topic<'a>, Vec<Partition<'a>>> = BTreeMap::new();
    for &(context, facts) in partitions {
        topics.entry(topic_of(context)).or_default().push((context, facts));
    }
    let mut findings = Vec::new();
    for (topic, mut list) in topics {
        list.sort_by_key(|(context, _)| context.partition);
        for mut finding in judge(topic, &list) {
            of_topics(&mut finding, [topic.1]);
            findings.push(finding);
        }
    }
    findings
}

/// A rival that survives.
pub(super) fn kept(code: &str, why: impl Into<String>) -> Alternative {
    Alternative { code: code.to_owned(), kept: true, why: why.into() }
}

/// A rival that does not survive.
pub(super) fn dropped(code: &str, why: impl Into<String>) -> Alternative {
    Alternative { code: code.to_owned(), kept: false, why: why.into() }
}

/// A list of strings from literals.
pub(super) fn lines<const N: usize>(lines: [&str; N]) -> Vec<String> {
    lines.map(str::to_owned).to_vec()
}

/// `1 record`, `2 records`.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// A time as people read it.
pub(super) fn at(time: Option<i64>) -> String {
    time.and_then(moment).unwrap_or_else(|| "an unknown time".to_owned())
}

/// A place that a finding is about, where no other list names it.
pub(super) fn place(topic: &str, partition: i32, first: i64, last: i64, what: &str) -> DivergentRange {
    DivergentRange {
        topic: topic.to_owned(),
        partition,
        directories: Vec::new(),
        first_offset: first,
        last_offset: last,
        what: what.to_owned(),
    }
}

/// What comes before idempotence where records stand in formats 0 and 1: no setting of a producer reaches these.
///
/// Source: KIP-98. Producer ids came with format 2 and brokers of 0.11; a broker refuses them where an older
/// log.message.format.version is set, as far as it heeds one (up to 3.x, KIP-724).
pub(in crate::judgement) const FORMAT_FIRST: &str = "formats 0 and 1 cannot carry a producer id: a broker of 0.11 or later and message format 2 \
     (log.message.format.version) come first, then a client with enable.idempotence=true";

/// At most this many lines of the same kind among the facts of one finding.
pub(super) const LINES: usize = 5;

/// The first lines, and how many more there are.
pub(super) fn capped(lines: impl IntoIterator<Item = String>, more: &str) -> Vec<String> {
    let mut all = lines.into_iter();
    let mut shown: Vec<String> = all.by_ref().take(LINES).collect();
    let left = all.count();
    if left > 0 {
        let more = if left == 1 { one_of(more) } else { more.to_owned() };
        shown.push(format!("and {left} more {more}"));
    }
    shown
}

/// `batches`, `entries`, `steps back`: one of them.
fn one_of(several: &str) -> String {
    let (word, rest) = several.split_at(several.find(' ').unwrap_or(several.len()));
    let one = match (word.strip_suffix("ies"), word.strip_suffix("ches")) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) => format!("{stem}ch"),
        (None, None) => word.strip_suffix('s').unwrap_or(word).to_owned(),
    };
    format!("{one}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_more_is_told_in_the_singular() {
        let lines = |count: usize| (0..count).map(|at| at.to_string());
        for (several, one) in [
            ("partitions", "and 1 more partition"),
            ("batches", "and 1 more batch"),
            ("entries", "and 1 more entry"),
            ("steps back", "and 1 more step back"),
            ("pairs of directories", "and 1 more pair of directories"),
        ] {
            assert_eq!(capped(lines(LINES + 1), several).last().unwrap(), one);
        }
        assert_eq!(capped(lines(LINES + 2), "batches").last().unwrap(), "and 2 more batches");
        assert_eq!(capped(lines(LINES), "batches").len(), LINES);
    }
}
