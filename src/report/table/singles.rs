//! Evidence that is no copy: gaps, transactions, stretches, snapshots, records, ranges.

use super::{Amount, escaped, group_named, most, named};
use crate::finding::phrase::offsets;
use crate::finding::{
    DivergentRange, Finding, Gap, GapReason, MisroutedRecord, Outcome, ProtectionMode, SnapshotDifference,
    Stretch, Transaction,
};
use crate::report::layout::Page;
use crate::report::wording::{Zone, counted, listed, number};

/// Examples of each kind that are shown.
const EXAMPLES: usize = 3;
/// Files that are named one by one.
const FILES: usize = 5;
/// Consumer groups that are named.
const GROUPS: usize = 5;

/// The first gaps, transactions, stretches, snapshots, misrouted records and ranges of a finding, one line each, for
/// a ticket.
pub(in crate::report) fn lines(finding: &Finding, few: usize, zone: &Zone) -> Vec<String> {
    fn first<T>(all: &[T], omitted: u64, few: usize, say: impl Fn(&T) -> String) -> Vec<String> {
        let shown = most(few, all.len());
        let mut lines: Vec<String> = all.iter().take(shown).map(say).collect();
        let rest = ((all.len() - shown) as u64).saturating_add(omitted);
        if rest > 0 {
            lines.push(format!("… and {} more", number(rest)));
        }
        lines
    }
    let mut lines = first(&by_weight(&finding.gaps), finding.gaps_omitted, few, gap);
    lines.extend(first(&finding.transactions, 0, few, transaction));
    lines.extend(first(&finding.stretches, finding.stretches_omitted, few, |one| stretch(one, zone)));
    lines.extend(first(&finding.snapshots, 0, few, snapshot));
    lines.extend(finding.partitioner.iter().map(|one| format!("The other keys follow {}", named(one))));
    let partitioner = partitioner(finding);
    lines.extend(first(&finding.records, finding.records_omitted, few, |one| misrouted(one, &partitioner)));
    lines.extend(first(&finding.ranges, 0, few, range));
    lines
}

pub(super) fn show(page: &mut Page, finding: &Finding, amount: Amount) {
    let zone = page.zone().clone();
    examples(page, amount, &by_weight(&finding.gaps), finding.gaps_omitted, gap);
    examples(page, amount, &finding.transactions, 0, transaction);
    examples(page, amount, &finding.stretches, finding.stretches_omitted, |one| stretch(one, &zone));
    let files = amount.most(FILES, finding.snapshots.len());
    some(page, files, &finding.snapshots, 0, snapshot);
    if let Some(partitioner) = &finding.partitioner {
        page.paragraph(2, &format!("The other keys follow {}.", named(partitioner)));
    }
    let partitioner = partitioner(finding);
    examples(page, amount, &finding.records, finding.records_omitted, |one| misrouted(one, &partitioner));
    examples(page, amount, &finding.ranges, 0, range);
    consumed(page, finding);
}

/// Whose sequences are missing, where and why, for findings that are told in a few lines.
pub(super) fn show_gaps(page: &mut Page, finding: &Finding) {
    examples(page, Amount::OfAScreen, &by_weight(&finding.gaps), finding.gaps_omitted, gap);
}

fn examples<T>(page: &mut Page, amount: Amount, all: &[T], omitted: u64, say: impl Fn(&T) -> String) {
    some(page, amount.most(EXAMPLES, all.len()), all, omitted, say);
}

fn some<T>(page: &mut Page, most: usize, all: &[T], omitted: u64, say: impl Fn(&T) -> String) {
    for one in all.iter().take(most) {
        page.item(2, &say(one));
    }
    let rest = (all.len().saturating_sub(most) as u64).saturating_add(omitted);
    if rest > 0 {
        page.paragraph(2, &format!("… and {} more", number(rest)));
    }
}

/// Which groups have the copies behind them.
fn consumed(page: &mut Page, finding: &Finding) {
    let said: Vec<_> = finding
        .consumed_by
        .iter()
        .take(GROUPS)
        .map(|by| match (by.all, by.copies) {
            (true, _) => format!("{} has committed past all surplus copies", group_named(&by.group)),
            (false, 0) => format!("{} has reached none of them", group_named(&by.group)),
            (false, copies) => {
                let all = number(finding.counts.surplus_records);
                format!("{} has committed past {} of {all}", group_named(&by.group), number(copies))
            }
        })
        .collect();
    let more = match finding.consumed_by.len().saturating_sub(GROUPS) {
        0 => String::new(),
        more => format!("; {more} groups more"),
    };
    if !said.is_empty() {
        page.item(2, &format!("Consumer groups: {}{more}.", said.join("; ")));
    }
}

/// Jumps behind records of the same producer come first: where it begins, less is known.
fn by_weight(gaps: &[Gap]) -> Vec<Gap> {
    let mut gaps = gaps.to_vec();
    gaps.sort_by_key(|gap| gap.reason == GapReason::FirstAppend);
    gaps
}

fn gap(gap: &Gap) -> String {
    let epoch = gap.producer_epoch.map(|epoch| format!(" epoch {epoch}")).unwrap_or_default();
    if gap.reason == GapReason::FirstAppend {
        return format!(
            "{}-{} offset {}  PID {}{epoch}: begins at seq {} instead of {} ({})",
            named(&gap.topic),
            gap.partition,
            gap.at_offset,
            gap.producer_id,
            gap.found,
            gap.expected,
            reason(&gap.reason),
        );
    }
    format!(
        "{}-{} offset {}  PID {}{epoch}: expected seq {}, found {}, {} missing ({})",
        named(&gap.topic),
        gap.partition,
        gap.at_offset,
        gap.producer_id,
        gap.expected,
        gap.found,
        number(u64::from(gap.missing)),
        reason(&gap.reason),
    )
}

pub(super) fn reason(reason: &GapReason) -> &str {
    match reason {
        GapReason::Retention => "the files begin behind them",
        GapReason::LogStartMoved => "the log start was moved past them",
        GapReason::Compaction => "the cleaner may have removed them",
        GapReason::EpochChange => "the producer began a new epoch",
        GapReason::ExpiredProducerState => "the broker had forgotten the producer by age: cannot be checked",
        GapReason::LostProducerState => "the broker had lost the producer: cannot be checked",
        GapReason::FirstAppend => "the producer's first batch here: cannot be checked",
        GapReason::MissingSegment => "a segment file is missing",
        GapReason::Damage => "the bytes cannot be read, see the coverage",
        GapReason::Other(word) => word.as_str(),
        GapReason::Unexplained => "nothing innocent explains it",
    }
}

fn transaction(transaction: &Transaction) -> String {
    let epoch = transaction.producer_epoch.map(|epoch| format!(" epoch {epoch}")).unwrap_or_default();
    let id = transaction.transactional_id.as_ref().map(|id| format!(" ({})", named(id))).unwrap_or_default();
    let written =
        offsets(transaction.first_offset, transaction.last_offset.unwrap_or(transaction.first_offset));
    let outcome = match &transaction.outcome {
        Outcome::Committed => "committed",
        Outcome::Aborted => "aborted",
        Outcome::Open => "no marker",
        Outcome::Other(word) => word.as_str(),
    };
    let marker = transaction
        .marker_offset
        .map(|offset| format!(" by the marker at offset {offset}"))
        .unwrap_or_default();
    format!(
        "{}-{} {written}  PID {}{epoch}{id}: {outcome}{marker}",
        named(&transaction.topic),
        transaction.partition,
        transaction.producer_id,
    )
}

fn stretch(stretch: &Stretch, zone: &Zone) -> String {
    let place = match (&stretch.topic, stretch.partition) {
        (Some(topic), Some(partition)) => format!("{}-{partition} ", named(topic)),
        _ => String::new(),
    };
    let times = zone.labelled_span(stretch.first_timestamp, stretch.last_timestamp);
    let times = if times.is_empty() { times } else { format!(", {times}") };
    format!(
        "{place}{}: {} {}{times}",
        offsets(stretch.first_offset, stretch.last_offset),
        counted(stretch.records, "record"),
        mode(&stretch.mode),
    )
}

/// What a protection mode means for a record.
pub(super) fn mode(mode: &ProtectionMode) -> &str {
    match mode {
        ProtectionMode::Idempotent => "with producer id",
        ProtectionMode::Transactional => "in transactions",
        ProtectionMode::None => "without producer id",
        ProtectionMode::Legacy => "in formats 0 and 1",
        ProtectionMode::Other(word) => word.as_str(),
    }
}

fn snapshot(difference: &SnapshotDifference) -> String {
    let producer = difference.producer_id.map(|id| format!(" PID {id}")).unwrap_or_default();
    let mut sides = Vec::new();
    sides.extend(difference.snapshot.as_ref().map(|says| format!("snapshot: {}", escaped(says))));
    sides.extend(difference.log.as_ref().map(|says| format!("log: {}", escaped(says))));
    let sides = if sides.is_empty() { String::new() } else { format!(" ({})", sides.join("; ")) };
    format!("{}{producer}: {}{sides}", named(&difference.file), escaped(&difference.what))
}

/// Who would choose other partitions: what stands before the partition count.
fn partitioner(finding: &Finding) -> String {
    let whole = finding.partitioner.as_deref().unwrap_or("the partitioner");
    named(whole.split_once(" over ").map_or(whole, |(name, _)| name)).into_owned()
}

/// The record may belong to another topic: its key alone tells nothing of that.
fn misrouted(record: &MisroutedRecord, partitioner: &str) -> String {
    format!(
        "{}-{} offset {}: {partitioner} would choose partition {}",
        named(&record.topic),
        record.partition,
        record.offset,
        record.expected_partition,
    )
}

fn range(range: &DivergentRange) -> String {
    let directories: Vec<_> = range.directories.iter().map(|directory| named(directory)).collect();
    // Only differences between replicas name directories.
    let directories =
        if directories.is_empty() { String::new() } else { format!(" ({})", listed(&directories)) };
    format!(
        "{}-{} {}: {}{directories}",
        named(&range.topic),
        range.partition,
        offsets(range.first_offset, range.last_offset),
        escaped(&range.what),
    )
}
