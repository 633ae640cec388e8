//! `index-mismatch`: indexes that contradict the log.
//!
//! An entry of an offset or time index that leads nowhere, goes back or names an offset of another
//! segment: brokers begin to read at the wrong place, and consumers miss records or get an error. What may
//! be so by the ways of releases is sorted out where entries and batches are held against each other
//! ([`IndexFault`]).
//!
//! Transaction indexes against the markers of the log:
//! Brokers serve read_committed consumers by these files: an abort that its index lacks makes them hand
//! out aborted records as committed, and an entry for a commit hides committed ones. So does an entry that
//! begins behind, or before, the first record of its transaction. The index lies with the segment that
//! holds the marker.
//!
//! Innocent: entries of transactions without data (before 2.8, KAFKA-10702) and of data that the
//! cleaner took; whatever the cleaner has passed over; a beginning below the log start, or with unreadable
//! or missing offsets in between; the end of a log that was not closed cleanly,
//! whose files may be of different moments; indexes that were not copied along. Where no partition of the log directory has a
//! transaction index, or a partition none of several that it should have, they were left out: a note.
//!
//! Source: `TransactionIndex`, `AbortedTxn`, `LogSegment.updateTxnIndex`.

use super::Partition;
use super::draft::{about, capped, count, dropped, each_topic, finding, kept, lines, place};
use crate::facts::{
    AbortEntry, AbortIndex, IndexFault, IndexFaultKind, Outcome, PartitionContext, PartitionFacts,
    TransactionSpan,
};
use crate::finding::{Code, Confidence, Finding};
use crate::units::Offset;
use std::collections::BTreeSet;

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    each_topic(partitions, |(topic, _), partitions| in_topic(topic, partitions))
}

/// How an index contradicts the marker of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The log says aborted, the index nothing.
    AbortIsMissing,
    /// The log says committed, the index aborted.
    CommitIsListed,
    /// The index names another first offset than the log.
    BeginsAt(Offset),
}

struct Contradiction<'a> {
    context: &'a PartitionContext,
    index: &'a AbortIndex,
    span: &'a TransactionSpan,
    marker: Offset,
    fault: Fault,
}

fn in_topic(topic: &str, partitions: &[Partition<'_>]) -> Option<Finding> {
    let found: Vec<Contradiction<'_>> = partitions
        .iter()
        .filter(|(context, _)| !context.internal)
        .flat_map(|&(context, facts)| contradictions(context, facts))
        .collect();
    let judged = || partitions.iter().filter(|(context, _)| !context.internal);
    let astray: Vec<(&PartitionContext, &IndexFault)> = judged()
        .flat_map(|&(context, facts)| facts.index_faults.iter().map(move |fault| (context, fault)))
        .collect();
    let omitted: u64 = judged().map(|(_, facts)| facts.index_faults_omitted).sum();
    if found.is_empty() && astray.is_empty() {
        return None;
    }
    let of = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let mut told = Vec::new();
    if !astray.is_empty() {
        let entries = count(of(astray.len()).saturating_add(omitted), "entry", "entries");
        told.push(format!("{entries} of offset and time indexes lead astray"));
    }
    if !found.is_empty() {
        let number = count(of(found.len()), "transaction", "transactions");
        told.push(format!("the transaction indexes contradict the markers of {number}"));
    }
    let title = format!("{topic}: {}", told.join(", and "));
    let mut finding = finding(Code::IndexMismatch, Confidence::Likely, title);
    let places = found.iter().map(|one| one.context).chain(astray.iter().map(|(context, _)| *context));
    about(&mut finding, places.map(|context| (topic, context.partition)));
    finding.facts = capped(found.iter().map(|one| line(topic, one)), "transactions");
    finding
        .facts
        .extend(capped(astray.iter().map(|(context, fault)| entry_line(topic, context, fault)), "entries"));
    if omitted > 0 {
        finding.facts.push(format!("{omitted} more entries are not listed"));
    }
    finding.ranges = found
        .iter()
        .map(|one| {
            let what = match one.fault {
                Fault::AbortIsMissing => "abort-not-indexed",
                Fault::CommitIsListed => "commit-indexed-as-abort",
                Fault::BeginsAt(_) => "abort-indexed-from-elsewhere",
            };
            let last = one.span.last_offset.unwrap_or(one.span.open_since);
            place(topic, one.context.partition, one.span.open_since.0, last.0, what)
        })
        .chain(astray.iter().map(|(context, fault)| {
            place(topic, context.partition, fault.offset.0, fault.offset.0, what(fault.kind))
        }))
        .collect();
    finding.alternatives =
        vec![kept("mixed files", "the index may be of another replica, or of another time")];
    if !found.is_empty() {
        finding.alternatives.insert(0, dropped("cleaner", "the cleaner has not come to these offsets"));
        finding.would_settle = lines(["what a read_committed consumer gets from these offsets"]);
    }
    if !astray.is_empty() {
        finding.would_settle.push("what a consumer gets that begins at these offsets".to_owned());
    }
    if found.is_empty() {
        finding.advice = lines([
            "stop the broker, remove the .index and .timeindex of these segments (never the .snapshot), and start it: it \
             builds them anew",
        ]);
        return Some(finding);
    }
    finding.advice = lines([
        "stop the broker, remove the .txnindex, .index and .timeindex of these segments (never the .snapshot), and \
         start it: it builds them anew",
        "check what read_committed consumers took from these offsets",
    ]);
    Some(finding)
}

fn contradictions<'a>(
    context: &'a PartitionContext,
    facts: &'a PartitionFacts,
) -> impl Iterator<Item = Contradiction<'a>> {
    let left_out = are_left_out(context, facts);
    all_contradictions(context, facts).filter(move |one| one.index.is_there || !left_out)
}

/// Whether all transaction indexes are missing that should be there: files that were not copied say nothing.
fn are_left_out(context: &PartitionContext, facts: &PartitionFacts) -> bool {
    if context.abort_indexes.iter().any(|index| index.is_there) {
        return false;
    }
    let lacking: BTreeSet<Offset> = all_contradictions(context, facts)
        .filter(|one| !one.index.is_there)
        .map(|one| one.index.base)
        .collect();
    lacking.len() > 1 || (lacking.len() == 1 && context.lacks_abort_indexes)
}

/// What is to be said of a partition all of whose transaction indexes are missing.
#[must_use]
pub fn not_copied((context, facts): Partition<'_>) -> Option<String> {
    (!context.internal && are_left_out(context, facts)).then(|| {
        "no transaction index (.txnindex) is here, although transactions were aborted: they were not copied, or are lost; a broker \
         hands aborted records to read_committed consumers without them, and builds them only when it recovers a segment"
            .to_owned()
    })
}

fn all_contradictions<'a>(
    context: &'a PartitionContext,
    facts: &'a PartitionFacts,
) -> impl Iterator<Item = Contradiction<'a>> {
    facts.transactions.iter().filter_map(move |span| {
        let marker = span.marker_offset?;
        // An index has one entry for all that a marker ended.
        if span.followed_by.is_some() {
            return None;
        }
        // Data that only a snapshot knows is not there to be served.
        span.last_offset?;
        if facts.cleaned_below.is_some_and(|limit| marker < limit || span.open_since < limit) {
            return None;
        }
        let index = context.abort_index_of(marker)?;
        let may_be_older =
            context.clean_shutdown == Some(false) && context.segment_bases.last() == Some(&index.base);
        let entry = index.entry(span.producer_id, marker);
        let fault = match (&span.outcome, entry) {
            (Outcome::Aborted, None) if !may_be_older => Fault::AbortIsMissing,
            (Outcome::Aborted, Some(entry)) if begins_elsewhere(context, facts, span, entry) => {
                Fault::BeginsAt(entry.first_offset)
            }
            (Outcome::Committed, Some(_)) => Fault::CommitIsListed,
            (Outcome::Aborted | Outcome::Committed | Outcome::Open, _) => return None,
        };
        Some(Contradiction { context, index, span, marker, fault })
    })
}

/// Whether an entry names another first offset than the log, and the log has all between the two.
fn begins_elsewhere(
    context: &PartitionContext,
    facts: &PartitionFacts,
    span: &TransactionSpan,
    entry: &AbortEntry,
) -> bool {
    let (low, high) = (span.open_since.min(entry.first_offset), span.open_since.max(entry.first_offset));
    let is_whole = || {
        let begins = context.segment_bases.first().copied().unwrap_or_default().max(context.log_start_offset);
        let is_cleaned = facts.cleaned_below.is_some_and(|limit| low < limit);
        let has_hole = facts.holes.iter().any(|hole| hole.first_offset <= high && hole.last_offset >= low);
        low >= begins && !is_cleaned && !has_hole
    };
    low != high && is_whole()
}

/// One word for a kind of fault, as ranges name it.
const fn what(kind: IndexFaultKind) -> &'static str {
    match kind {
        IndexFaultKind::BehindTheEnd { .. } => "index-behind-the-end",
        IndexFaultKind::NoBatch { .. } => "index-points-nowhere",
        IndexFaultKind::Skips { .. } => "index-skips-records",
        IndexFaultKind::GoesBack => "index-goes-back",
        IndexFaultKind::OutsideTheSegment => "index-names-another-segment",
    }
}

fn entry_line(topic: &str, context: &PartitionContext, fault: &IndexFault) -> String {
    let IndexFault { file, entry, offset, kind } = fault;
    let entry = format!("{topic}-{}/{file} entry {entry} names offset {offset}", context.partition);
    match kind {
        IndexFaultKind::BehindTheEnd { position, bytes } => {
            format!("{entry} at position {position}, and the segment has {bytes} bytes")
        }
        IndexFaultKind::NoBatch { position } => {
            format!("{entry} at position {position}, where no batch begins")
        }
        IndexFaultKind::Skips { position, last_offset } => format!(
            "{entry} at position {position}, and the batches before it reach to offset {last_offset}: who looks for \
             offset {offset} there does not get it"
        ),
        IndexFaultKind::GoesBack => format!("{entry} and is not behind the entry before it"),
        IndexFaultKind::OutsideTheSegment => format!("{entry}, which is none of its segment"),
    }
}

fn line(topic: &str, one: &Contradiction<'_>) -> String {
    let (producer, first) = (one.span.producer_id, one.span.open_since);
    let (place, marker, file) = (format!("{topic}-{}", one.context.partition), one.marker, &one.index.file);
    match one.fault {
        Fault::AbortIsMissing => format!(
            "{place}: producer {producer} aborted offset {first} on by the marker at {marker}, and {file} lacks it: brokers \
             hand its records to read_committed consumers"
        ),
        Fault::BeginsAt(indexed) => {
            let harm = if indexed > first {
                format!("brokers hand its records below offset {indexed} to read_committed consumers")
            } else {
                format!("brokers may hide committed records of this producer from offset {indexed} on")
            };
            format!(
                "{place}: producer {producer} aborted offset {first} on by the marker at {marker}, and {file} lets that begin \
                 at {indexed}: {harm}"
            )
        }
        Fault::CommitIsListed => format!(
            "{place}: producer {producer} committed offset {first} on by the marker at {marker}, and {file} calls it \
             aborted: brokers hide its records from read_committed consumers"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::fold_in;
    use crate::units::ProducerId;

    const SCRIPT: &str = "X 7/0 0..4; -M 7/0; X 7/0 5..6; +M 7/0; -M 9/0";

    fn judged(context: PartitionContext, markers: &[i64], script: &str) -> Vec<Finding> {
        let entries: Vec<_> = markers.iter().map(|&marker| (marker, 0)).collect();
        judged_with(context, &entries, script)
    }

    /// Entries are markers with the first offsets of what they abort.
    fn judged_with(context: PartitionContext, entries: &[(i64, i64)], script: &str) -> Vec<Finding> {
        let entry = |&(marker, first)| AbortEntry {
            producer_id: ProducerId(7),
            marker_offset: Offset(marker),
            first_offset: Offset(first),
        };
        let entries = entries.iter().map(entry).collect();
        let index = AbortIndex { file: "00.txnindex".to_owned(), base: Offset(0), is_there: true, entries };
        let (context, facts) = fold_in(PartitionContext { abort_indexes: vec![index], ..context }, script);
        judge(&[(&context, &facts)])
    }

    #[test]
    fn an_index_with_each_abort_and_no_commit_is_right() {
        assert!(judged(PartitionContext::default(), &[5], SCRIPT).is_empty());
        // Before 2.8 aborts without data are listed, too.
        assert!(judged(PartitionContext::default(), &[5, 9], SCRIPT).is_empty());
    }

    #[test]
    fn a_missing_abort_and_a_listed_commit_are_told() {
        let findings = judged(PartitionContext::default(), &[8], SCRIPT);
        let told: Vec<_> = findings[0]
            .ranges
            .iter()
            .map(|range| (range.what.as_str(), range.first_offset, range.last_offset))
            .collect();
        assert_eq!(told, [("abort-not-indexed", 0, 4), ("commit-indexed-as-abort", 6, 7)]);
    }

    #[test]
    fn an_entry_that_begins_elsewhere_than_its_transaction_is_told() {
        let script = "D 7/0 0..1; X 7/0 2..4; D 5/0 0..0; X 7/0 5..6; -M 7/0";
        let told = |first, context| judged_with(context, &[(8, first)], script);
        let plain = PartitionContext::default;
        assert!(told(2, plain()).is_empty());
        let late = &told(6, plain())[0];
        assert_eq!(late.ranges[0].what, "abort-indexed-from-elsewhere");
        assert!(
            late.facts[0].ends_with("brokers hand its records below offset 6 to read_committed consumers")
        );
        assert!(told(0, plain())[0].facts[0].contains("may hide committed records"));
        // What the index knows and the log no longer holds.
        let deleted = PartitionContext {
            log_start_offset: Offset(2),
            segment_bases: vec![Offset(0)],
            ..PartitionContext::default()
        };
        assert!(told(1, deleted).is_empty());
        let cleaned = PartitionContext { cleaned_up_to: Some(Offset(1)), ..plain() };
        assert!(told(0, cleaned).is_empty());
    }

    #[test]
    fn a_beginning_among_offsets_that_are_missing_is_nobodys_fault() {
        // The marker of an earlier transaction, or the first batch, may be among what cannot be read.
        for script in
            ["X 7/0 0..1; damage; at 4; X 7/0 3..4; -M 7/0", "D 5/0 0..1; damage; at 4; X 7/0 3..4; -M 7/0"]
        {
            for first in [2, 3] {
                let findings = judged_with(PartitionContext::default(), &[(6, first)], script);
                assert!(findings.is_empty(), "{findings:?}");
            }
        }
    }

    #[test]
    fn what_the_cleaner_passed_and_the_end_of_an_unclean_log_are_innocent() {
        let cleaned = PartitionContext { cleaned_up_to: Some(Offset(6)), ..PartitionContext::default() };
        assert!(judged(cleaned, &[], SCRIPT).is_empty());
        let unclean = || PartitionContext { clean_shutdown: Some(false), ..PartitionContext::default() };
        assert!(judged(unclean(), &[], SCRIPT).is_empty());
        assert_eq!(judged(unclean(), &[], &format!("{SCRIPT}; roll; D 5/0 0..0")).len(), 1);
    }

    #[test]
    fn indexes_that_are_all_missing_were_left_out_and_one_among_others_is_lost() {
        let told = |there: &[i64], lacks_abort_indexes| {
            let index = |base: i64| AbortIndex {
                file: format!("{base}"),
                base: Offset(base),
                is_there: there.contains(&base),
                entries: match base {
                    0 if there.contains(&0) => {
                        vec![AbortEntry {
                            producer_id: ProducerId(7),
                            marker_offset: Offset(1),
                            first_offset: Offset(0),
                        }]
                    }
                    _ => Vec::new(),
                },
            };
            let abort_indexes = vec![index(0), index(2)];
            let context =
                PartitionContext { abort_indexes, lacks_abort_indexes, ..PartitionContext::default() };
            let (context, facts) = fold_in(context, "X 7/0 0..0; -M 7/0; roll; X 7/0 1..1; -M 7/0");
            let partition = (&context, &facts);
            (judge(&[partition]).len(), not_copied(partition).is_some())
        };
        assert_eq!(told(&[], true), (0, true));
        assert_eq!(told(&[], false), (0, true));
        assert_eq!(told(&[0], false), (1, false));
        // Of one that should be there, and is not, others beside it tell.
        let one = |lacks_abort_indexes| {
            let index =
                AbortIndex { file: "0".to_owned(), base: Offset(0), is_there: false, entries: Vec::new() };
            let context = PartitionContext {
                abort_indexes: vec![index],
                lacks_abort_indexes,
                ..PartitionContext::default()
            };
            let (context, facts) = fold_in(context, "X 7/0 0..0; -M 7/0");
            (judge(&[(&context, &facts)]).len(), not_copied((&context, &facts)).is_some())
        };
        assert_eq!([one(true), one(false)], [(0, true), (1, false)]);
    }

    #[test]
    fn without_an_index_beside_the_segment_nothing_is_said() {
        let (context, facts) = fold_in(PartitionContext::default(), SCRIPT);
        assert!(judge(&[(&context, &facts)]).is_empty());
    }
}
