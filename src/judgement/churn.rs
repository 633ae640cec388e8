//! `producer-churn`: far more short sessions than is good for a broker.
//!
//! A broker keeps the state of every producer id in each partition that it wrote to, until
//! `producer.id.expiration.ms` (a day unless it was set) has gone by without a write, writes it into
//! each snapshot and reads it at each start. A producer object for each request or message makes
//! thousands of them; and idempotence, which works within one session, protects next to nothing.
//!
//! Told where at least [`MANY`] ids of one topic were remembered at the same time that each wrote no
//! more than [`FEW_RECORDS`] records within [`SHORT_MS`], and such ids are nine tenths of all ids of
//! the topic. So a daily job with a new id each time is not told, whatever the age of the log.

use super::Partition;
use super::draft::{Topic, about_logs, at, count, finding, kept, lines, topic_of};
use crate::facts::{DEFAULT_EXPIRATION_MS, Sessions};
use crate::finding::phrase::duration;
use crate::finding::{Code, Confidence, Finding, Window};
use std::collections::BTreeMap;

/// Short-lived ids that a broker remembers at once.
const MANY: usize = 500;
/// Records of a short life.
const FEW_RECORDS: u64 = 20;
/// The length of a short life.
const SHORT_MS: i64 = 60_000;

/// What one producer id wrote to a topic.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    records: u64,
    first: Option<i64>,
    last: Option<i64>,
}

/// What all producer ids wrote to a topic.
#[derive(Debug, Default)]
struct Lives {
    all: usize,
    /// The last time, the first time and the records of those that lived for a short while.
    short: Vec<(i64, i64, u64)>,
}

pub(super) fn judge(partitions: &[Partition<'_>], sessions: &Sessions) -> Vec<Finding> {
    let mut topics: BTreeMap<Topic<'_>, Lives> = BTreeMap::new();
    let (mut id, mut of_id) = (None, BTreeMap::<Topic<'_>, Life>::new());
    // By producer id; a topic is of one cluster, so that ids of several do not meet.
    for session in sessions.iter() {
        if id.replace(session.producer_id) != Some(session.producer_id) {
            end_lives(&mut of_id, &mut topics);
        }
        for span in &session.spans {
            let Some((context, _)) = partitions.get(span.partition) else { continue };
            if context.internal {
                continue;
            }
            let life = of_id.entry(topic_of(context)).or_default();
            life.records = life.records.saturating_add(span.records);
            life.first = [life.first, span.first_timestamp].into_iter().flatten().min();
            life.last = life.last.max(span.last_timestamp);
        }
    }
    end_lives(&mut of_id, &mut topics);
    topics.into_iter().filter_map(|(topic, lives)| in_topic(topic, lives, partitions)).collect()
}

/// Adds the lives of one producer id to those of the topics that it wrote to.
fn end_lives<'a>(of_id: &mut BTreeMap<Topic<'a>, Life>, topics: &mut BTreeMap<Topic<'a>, Lives>) {
    while let Some((topic, Life { records, first, last })) = of_id.pop_first() {
        let lives = topics.entry(topic).or_default();
        lives.all += 1;
        if let Some((last, first)) = last.zip(first)
            && records <= FEW_RECORDS
            && last.saturating_sub(first) <= SHORT_MS
        {
            lives.short.push((last, first, records));
        }
    }
}

fn in_topic(topic: Topic<'_>, lives: Lives, partitions: &[Partition<'_>]) -> Option<Finding> {
    let Lives { all, mut short } = lives;
    if short.len() < MANY || short.len() * 10 < all * 9 {
        return None;
    }
    short.sort_unstable();
    let own = || partitions.iter().filter(|(context, _)| topic_of(context) == topic);
    let told = own().find_map(|(context, _)| context.expiration_ms);
    let expiration = told.unwrap_or(DEFAULT_EXPIRATION_MS);
    let remembered = at_once(&short, expiration);
    if remembered < MANY {
        return None;
    }
    let (topic, _) = topic;
    let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let title = format!("{topic}: {all} producer ids, most of them with a few records");
    let mut finding = finding(Code::ProducerChurn, Confidence::Likely, title);
    about_logs(&mut finding, own().map(|(context, _)| *context));
    let (first, last) =
        (short.iter().map(|(_, first, _)| *first).min(), short.last().map(|(last, ..)| *last));
    finding.window = Some(Window::new(first, last));
    let records: u64 = short.iter().map(|(.., records)| records).sum();
    let longest = short.iter().map(|(last, first, _)| last.saturating_sub(*first)).max().unwrap_or(0);
    finding.facts = vec![
        format!(
            "{} of {} producer ids wrote at most {FEW_RECORDS} records each, {} together, and lived at most {}",
            short.len(),
            all,
            count(records, "record", "records"),
            duration(longest),
        ),
        format!("the first began at {}, the last ended at {}", at(first), at(last)),
        format!(
            "up to {} of them were remembered at once, with producer.id.expiration.ms at {}{}",
            count(number(remembered), "id", "ids"),
            duration(expiration),
            if told.is_some() { "" } else { ", its default" },
        ),
    ];
    let snapshots = own().filter_map(|(context, _)| {
        let entries = context.snapshots.iter().rev().find_map(|snapshot| snapshot.entries.as_ref().ok())?;
        Some((entries.len(), context.partition))
    });
    if let Some((entries, partition)) = snapshots.max() {
        let entries = count(number(entries), "producer", "producers");
        finding.facts.push(format!("the newest snapshot of {topic}-{partition} holds {entries}"));
    }
    finding.alternatives = vec![
        kept("short jobs", "functions and jobs that run once have short sessions by nature"),
        kept("crash loop", "a process that restarts again and again takes a new id each time"),
    ];
    finding.would_settle = lines(["where the application creates its producers, and how often it restarts"]);
    finding.advice = lines([
        "create one producer for each process and share it between threads",
        "a retry by another session is not recognised: keep sends and their retries in one producer",
        "producer.id.expiration.ms on the broker bounds how long ids are kept",
    ]);
    Some(finding)
}

/// How many are remembered at once at most; lives in the order of their ends. An id is forgotten an
/// `expiration` after its last write.
fn at_once(lives: &[(i64, i64, u64)], expiration: i64) -> usize {
    let mut begins: Vec<i64> = lives.iter().map(|(_, first, _)| *first).collect();
    begins.sort_unstable();
    let (mut most, mut forgotten) = (0, 0);
    for (begun, begin) in begins.iter().enumerate() {
        while lives.get(forgotten).is_some_and(|(last, ..)| last.saturating_add(expiration) < *begin) {
            forgotten += 1;
        }
        most = most.max((begun + 1).saturating_sub(forgotten));
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::PartitionContext;
    use crate::facts::script::fold_in;

    fn judged(script: &str) -> Vec<Finding> {
        let (context, facts) = fold_in(PartitionContext::default(), script);
        let partitions = [(&context, &facts)];
        judge(&partitions, &Sessions::build(&partitions, crate::spill::Share::default()).unwrap())
    }

    fn ids(count: u32, pause: &str, records: u32) -> String {
        let id = |id| format!("wait {pause}; D {id}/0 0..{}", records - 1);
        (0..count).map(id).collect::<Vec<_>>().join(";")
    }

    #[test]
    fn hundreds_of_ids_with_a_few_records_each_are_churn() {
        let found = judged(&ids(700, "2s", 3));
        assert_eq!(found.len(), 1);
        assert!(found[0].facts[0].starts_with("700 of 700 producer ids"), "{:?}", found[0].facts);
        assert!(found[0].facts[2].contains("up to 700 ids"), "{:?}", found[0].facts);
    }

    #[test]
    fn fewer_or_busier_ids_are_not() {
        assert!(judged(&ids(400, "2s", 3)).is_empty());
        assert!(judged(&ids(700, "2s", 500)).is_empty());
        // A third of the ids belongs to lasting producers.
        let lasting = (1000..1300).map(|id| format!("D {id}/0 0..99")).collect::<Vec<_>>().join(";");
        assert!(judged(&format!("{};{lasting}", ids(700, "2s", 3))).is_empty());
    }

    #[test]
    fn a_new_id_every_hour_is_forgotten_before_there_are_many() {
        assert!(judged(&ids(700, "1h", 3)).is_empty());
    }

    #[test]
    fn those_remembered_at_once_are_counted_within_the_expiry() {
        let lives: Vec<(i64, i64, u64)> = (0..10).map(|n| (n * 100 + 10, n * 100, 1)).collect();
        assert_eq!(at_once(&lives, 250), 3);
        assert_eq!(at_once(&lives, 10_000), 10);
    }
}
