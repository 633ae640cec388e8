//! `aborted-not-retried`: events that stand in aborted transactions and nowhere else in their topic.
//!
//! An abort is followed by another attempt, as a rule; where none is there, the application gave the work
//! up, or lost it. No consumer that reads committed records ever sees these events. The files prove that
//! they were rolled back and that no other record of the topic holds them, not what was meant.

use super::Partition;
use super::draft::{about, count, finding, kept, lines};
use super::transactions::shown;
use crate::facts::Outcome;
use crate::finding::{Code, Confidence, Finding};
use crate::units::Offset;

/// What one topic holds in aborted transactions alone.
#[derive(Clone, Debug)]
pub struct RolledBack<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// Events of which no record is outside of aborted transactions.
    pub events: u64,
    /// Their records.
    pub records: u64,
    /// Some of these records, the first of each event, by partition and offset.
    pub first: Vec<(Partition<'a>, Offset)>,
}

/// One finding a topic.
#[must_use]
pub fn judge(topics: &[RolledBack<'_>]) -> Vec<Finding> {
    topics.iter().filter(|of| of.events > 0).map(of_topic).collect()
}

fn of_topic(of: &RolledBack<'_>) -> Finding {
    let (topic, events) = (of.topic, count(of.events, "event", "events"));
    let were = if of.events == 1 { "was" } else { "were" };
    let title = format!("{topic}: {events} of aborted transactions {were} not written again");
    let mut finding = finding(Code::AbortedNotRetried, Confidence::Likely, title);
    about(&mut finding, of.first.iter().map(|&((context, _), _)| (topic, context.partition)));
    let places: Vec<String> = of
        .first
        .iter()
        .map(|&((context, _), offset)| format!("{topic}-{} offset {offset}", context.partition))
        .collect();
    let more = of.events.saturating_sub(places.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    finding.facts = vec![
        format!(
            "{} under abort markers; no record outside of aborted transactions holds their events in the files of {topic}",
            count(of.records, "record stands", "records stand")
        ),
        format!("they begin at {}{more}", places.join(", ")),
    ];
    for &((context, facts), offset) in &of.first {
        let mut here = facts.transactions.iter().filter(|span| {
            span.outcome == Outcome::Aborted
                && span.first_offset <= offset
                && Some(offset) <= span.last_offset
        });
        // Transactions of several producers may lie across each other.
        if let (Some(span), None) = (here.next(), here.next()) {
            finding.transactions.push(shown(context, span));
        }
    }
    finding.transactions.dedup();
    finding.alternatives = vec![
        kept(
            "given up",
            "an application may abort what it does not want to be done, and need not do it again",
        ),
        kept(
            "written elsewhere",
            "another attempt in another topic, or in a partition that is not here, is not seen",
        ),
        kept("still to come", "the files may end before the next attempt"),
    ];
    finding.would_settle = lines(["the application's log at these aborts: given up, failed, or tried again"]);
    finding.advice = lines([
        "hold the list of what was meant to be written against what is stored: dedup-audit reconcile",
    ]);
    finding
}
