//! `aborted-not-retried`: events that stand in aborted transactions and nowhere else in their topic.
//!
//! An abort is followed by another attempt, as a rule; where none is there, the application gave the work
//! up, or lost it. No consumer that reads committed records ever sees these events. The files prove that
//! they were rolled back and that no other record of the topic holds them, not what was meant.

use super::Partition;
use super::draft::{about_logs, count, finding, kept, lines};
use super::duplicates::Examples;
use super::transactions::shown;
use crate::facts::{Outcome, PartitionFacts, TransactionSpan};
use crate::finding::{Code, Confidence, Finding};
use crate::units::Offset;
use std::collections::BTreeSet;

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

/// Events whose places are named.
const NAMED: usize = 5;
/// Transactions that had begun before a record, and are asked whether they hold it.
const LOOKED_AT: usize = 1_000;

/// One finding a topic.
#[must_use]
pub fn judge(topics: &[RolledBack<'_>], examples: Examples) -> Vec<Finding> {
    let mut findings: Vec<Finding> = topics.iter().filter(|of| of.events > 0).map(of_topic).collect();
    if let Examples::AtMost(most) = examples {
        for finding in &mut findings {
            super::cut(finding, most);
        }
    }
    findings
}

/// The aborted transaction that holds a record; of several producers' that lie across each other none is told.
fn only_aborted_at(facts: &PartitionFacts, offset: Offset) -> Option<&TransactionSpan> {
    let begun = facts.transactions.partition_point(|span| span.first_offset <= offset);
    let begun = facts.transactions.get(..begun).unwrap_or_default().iter().rev().take(LOOKED_AT);
    let mut here = begun.filter(|span| span.outcome == Outcome::Aborted && Some(offset) <= span.last_offset);
    here.next().filter(|_| here.next().is_none())
}

fn of_topic(of: &RolledBack<'_>) -> Finding {
    let (topic, events) = (of.topic, count(of.events, "event", "events"));
    let were = if of.events == 1 { "was" } else { "were" };
    let title =
        format!("{topic}: {events} of aborted transactions {were} not written again in what was read");
    let mut finding = finding(Code::AbortedNotRetried, Confidence::Likely, title);
    about_logs(&mut finding, of.first.iter().map(|&((context, _), _)| context));
    let places: Vec<String> = of
        .first
        .iter()
        .take(NAMED)
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
    let mut listed = BTreeSet::new();
    for &((context, facts), offset) in &of.first {
        if let Some(span) = only_aborted_at(facts, offset)
            && listed.insert((context.partition, span.first_offset, span.producer_id))
        {
            finding.transactions.push(shown(context, span));
        }
    }
    let unlisted = of.events.saturating_sub(of.first.len() as u64);
    if unlisted > 0 {
        let events = count(unlisted, "more event", "more events");
        finding.facts.push(format!("the transactions of {events} were not looked for"));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::PartitionContext;
    use crate::facts::script::fold_in;

    #[test]
    fn the_transactions_of_all_events_are_listed_or_counted() {
        let script = (0..9).map(|at| format!("X 7/0 {0}..{1}; -M 7/0", 2 * at, 2 * at + 1));
        let (context, facts) = fold_in(PartitionContext::default(), &script.collect::<Vec<_>>().join("; "));
        let first = (0..9).flat_map(|at| [3 * at, 3 * at + 1]);
        let first: Vec<_> = first.map(|offset| ((&context, &facts), Offset(offset))).collect();
        let of = |events| RolledBack { topic: "orders", events, records: events, first: first.clone() };
        let told = |events, examples| judge(&[of(events)], examples).remove(0);
        let all = told(18, Examples::All);
        assert_eq!(all.transactions.len(), 9);
        assert!(all.facts[1].ends_with("orders-0 offset 6 and 13 more"), "{:?}", all.facts);
        assert_eq!(all.facts.len(), 2);
        let cut = told(18, Examples::AtMost(4));
        assert_eq!(cut.transactions.len(), 4);
        assert_eq!(cut.facts[2], "5 more transactions are not listed");
        assert_eq!(told(20, Examples::All).facts[2], "the transactions of 2 more events were not looked for");
    }
}
