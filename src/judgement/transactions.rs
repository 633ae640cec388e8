//! `transaction-open` and `transaction-anomaly`.
//!
//! An open transaction has no marker behind it: it runs, or it hangs and holds read_committed
//! consumers at its first offset. One finding a producer id, over all its partitions. In a log that was not closed cleanly
//! one that is younger than its timeout is what any busy broker has at any moment, and so is one whose marker was written
//! no earlier than the newest thing that the log holds: info. Anomalies are
//! data behind the marker that ended its epoch, data outside an open transaction, and one transaction
//! with two outcomes ([`torn`]).
//!
//! Markers without data, and repeated ones, are innocent (KIP-98, KIP-890, KAFKA-10702).

use super::age::{self, Age};
use super::coordinator::{self, Fate, Told};
use super::decisions::STEP_MS;
use super::draft::{about_logs, at, capped, count, dropped, finding, kept, lines};
use super::elsewhere::{self, Elsewhere};
use super::offsets::{misses_flushed, misses_its_end};
use super::ways_to_end::{self, Standing};
use super::{Beside, Partition, torn};
use crate::facts::{Outcome, PartitionContext, PartitionFacts, SequenceStep, StepKind, TransactionSpan};
use crate::finding::phrase::{duration, offsets};
use crate::finding::{Code, Confidence, Finding, Severity, Transaction, Window};
use crate::units::{ClusterNumber, ProducerId};
use std::collections::{BTreeMap, BTreeSet};

/// Open transactions of so many producers have findings of their own; the others share one.
const MAX_FINDINGS: usize = 20;
/// `transaction.timeout.ms` of clients, by default.
const TIMEOUT_MS: i64 = 60_000;

pub(super) fn judge(partitions: &[Partition<'_>], beside: Beside<'_>) -> Vec<Finding> {
    let mut findings = open(partitions, beside);
    findings.extend(late(partitions));
    findings.extend(outside(partitions));
    findings.extend(torn::judge(partitions, beside.decisions));
    findings
}

/// A transaction with its partition.
pub(super) type Placed<'a> = (Partition<'a>, &'a TransactionSpan);

fn open(partitions: &[Partition<'_>], beside: Beside<'_>) -> Vec<Finding> {
    let mut by_producer: BTreeMap<(ClusterNumber, ProducerId), Vec<Placed<'_>>> = BTreeMap::new();
    for &(context, facts) in partitions.iter().filter(|(context, _)| !context.internal) {
        for span in &facts.transactions {
            // A marker that cannot be read, or is missing, ended it, nobody knows how; the coverage, or
            // the missing offsets, say so.
            if span.is_without_end() {
                let producer = (context.cluster, span.producer_id);
                by_producer.entry(producer).or_default().push(((context, facts), span));
            }
        }
    }
    let mut lists: Vec<Vec<Placed<'_>>> = by_producer.into_values().collect();
    if lists.len() > MAX_FINDINGS {
        let rest = lists.split_off(MAX_FINDINGS.saturating_sub(1)).into_iter().flatten().collect();
        lists.push(rest);
    }
    let elsewhere = Elsewhere::of(partitions);
    lists.iter().map(|list| open_finding(list, beside, &elsewhere)).collect()
}

fn open_finding<'a>(list: &[Placed<'a>], beside: Beside<'_>, elsewhere: &Elsewhere<'a>) -> Finding {
    let (ids, as_of) = (beside.ids, beside.as_of);
    let since = list.iter().filter_map(|(_, span)| span.first_timestamp).min();
    let told: Vec<Told> =
        list.iter().filter_map(|&((context, _), span)| coordinator::of(ids, context, span)).collect();
    let age = Age::of(list, &told, as_of);
    let places: BTreeSet<(&str, i32)> =
        list.iter().map(|((context, _), _)| (context.topic.as_str(), context.partition)).collect();
    let number = u64::try_from(places.len()).unwrap_or(u64::MAX);
    let producer = list.first().map_or(ProducerId::NONE, |(_, span)| span.producer_id);
    let one_producer = list.iter().all(|(_, span)| span.producer_id == producer);
    let who = if one_producer { format!("producer {producer}") } else { "several producers".to_owned() };
    let ends: Vec<Option<elsewhere::End>> = list.iter().map(|one| elsewhere.end(one)).collect();
    let is_over =
        |end: &Option<elsewhere::End>| end.as_ref().is_some_and(|end| end.told == elsewhere::Told::ByEpoch);
    let over = ends.iter().all(is_over);
    let places = count(number, "partition", "partitions");
    let title = format!("a transaction of {who} is open in {places}{}", age.in_title());
    // What is over for sure has lost its marker here, in one way or another.
    let unreadable = !over && list.iter().any(|&(at, span)| marker_may_be_lost(at, span));
    let confidence = if unreadable { Confidence::Possible } else { Confidence::Certain };
    let mut finding = finding(Code::TransactionOpen, confidence, title);
    about_logs(&mut finding, list.iter().map(|&((context, _), _)| context));
    let newest = list.iter().filter_map(|((_, facts), _)| facts.last_timestamp).max();
    finding.window = Some(Window::new(since, newest.max(since)));
    finding.facts = capped(list.iter().map(open_line), "partitions");
    let of_one =
        told.first().filter(|first| told.len() == list.len() && told.iter().all(|one| one == *first));
    let overdue = |limit: Option<i64>| as_of.zip(limit).filter(|(now, limit)| now > limit);
    let hangs = match of_one.map(|told| told.fate) {
        Some(Fate::Unknown) => true,
        Some(Fate::Runs(limit)) => overdue(limit).is_some(),
        Some(Fate::Decided) => false,
        Some(Fate::Older) | None => age.hangs(),
    };
    if told.iter().all(|told| told.fate == Fate::Older) && !over {
        finding.facts.extend(age.against_the_limit());
    }
    let mut facts: Vec<String> = Vec::new();
    let ended = || list.iter().filter_map(|&(at, span)| Some((at, span, beside.decisions.ended(at, span)?)));
    let is_ended = ended().count() == list.len() || told.iter().all(|told| told.last.is_some());
    for one in &told {
        let fact = if is_ended || over { &one.fact_if_ended } else { &one.fact };
        if !facts.contains(fact) {
            facts.push(fact.clone());
        }
    }
    finding.facts.extend(capped(facts, "transactional ids"));
    finding.facts.extend(capped(ends.iter().flatten().map(|end| end.fact.clone()), "transactions"));
    let decided =
        ended().map(|((context, _), span, ended)| coordinator::decided_before(context, span, ended));
    finding.facts.extend(capped(decided, "decisions"));
    if let Some(Fate::Runs(limit)) = of_one.map(|told| told.fate)
        && let Some((now, limit)) = overdue(limit)
    {
        finding.facts.push(format!(
            "that is {} before {}, which stands for now: the coordinator does not run, or cannot write its marker",
            duration(now.saturating_sub(limit)),
            at(Some(now))
        ));
    }
    finding.alternatives = vec![match of_one.map(|told| told.fate) {
        _ if over => dropped("running", "it was ended, as other partitions show"),
        Some(Fate::Runs(_)) => {
            kept("running", "the coordinator has it as Ongoing: its producer may still end it")
        }
        Some(Fate::Decided) => kept("running", "its markers may be under way"),
        Some(Fate::Unknown) if is_ended => {
            dropped("running", "the coordinator has ended it: its newest value is complete")
        }
        Some(Fate::Unknown) => kept("running", "the files may be of different moments"),
        Some(Fate::Older) | None if hangs => kept("running", age.doubt()),
        Some(Fate::Older) | None => kept("running", "a transaction that is under way looks the same"),
    }];
    if unreadable {
        finding
            .alternatives
            .push(kept("lost marker", "its marker may be among what cannot be read or is missing behind it"));
    }
    let standing = list.iter().zip(&ends).map(|(&(at, span), end)| {
        let told = coordinator::of(ids, at.0, span);
        let decided = beside.decisions.ended(at, span).map(|(outcome, _)| outcome);
        standing(told, decided, end.as_ref(), hangs)
    });
    let standing = Standing::of_all(standing);
    let without_end = match standing {
        Standing::Committed => Some("was committed"),
        Standing::Aborted => Some("was aborted"),
        Standing::Ended => Some("is over"),
        Standing::Doubtful | Standing::Decided | Standing::Runs { .. } | Standing::Unknown => None,
    };
    if let Some(fate) = without_end {
        finding.title = format!("a transaction of {who} that {fate} has no end in {places}");
    }
    finding.would_settle = match &standing {
        _ if without_end.is_some() => lines(["the same offsets in the live partition and in other replicas"]),
        _ if told.is_empty() => lines([
            "kafka-transactions.sh describe-producers (brokers from 2.8 on), or the newest value in __transaction_state",
        ]),
        _ => lines([
            "kafka-transactions.sh describe-producers (brokers from 2.8 on) and describe (from 3.0 on), as they are now",
        ]),
    };
    finding.advice = list.first().map(|first| ways_to_end::advice(&standing, first)).unwrap_or_default();
    if list.iter().zip(&ends).all(|(&part, end)| is_under_way(part, end.as_ref(), beside)) {
        finding.severity = Severity::Info;
        let why = "the log was not closed cleanly, and a copy of a running broker, or one that was killed, may hold a \
                   transaction whose end was still to be written";
        finding.facts.push(why.to_owned());
        if standing == Standing::Unknown {
            // An abort by hand is for what hangs.
            finding.advice.truncate(1);
        }
    }
    finding.transactions = list.iter().map(|&((context, _), span)| shown(context, span)).collect();
    finding
}

/// Whether a part is no more than what a busy broker has at any moment: it runs within its timeout, or its marker is no
/// older than what the log ends with.
fn is_under_way(
    ((context, facts), span): Placed<'_>,
    end: Option<&elsewhere::End>,
    beside: Beside<'_>,
) -> bool {
    if context.clean_shutdown != Some(false) || misses_flushed((context, facts)) {
        return false;
    }
    let decided = beside.decisions.ended((context, facts), span).map(|(_, time)| time);
    let by_epoch = end.filter(|end| end.told == elsewhere::Told::ByEpoch);
    if decided.is_some() || by_epoch.is_some() {
        let marked = decided.or_else(|| by_epoch?.time);
        return marked.is_some_and(|marked| newest_in(facts) <= Some(marked.saturating_add(STEP_MS)));
    }
    if end.is_some() {
        return false;
    }
    let told = coordinator::of(beside.ids, context, span);
    let Some(now) = beside.as_of else { return false };
    match told.map(|told| told.fate) {
        Some(Fate::Runs(limit)) => limit.is_some_and(|limit| now <= limit),
        Some(Fate::Unknown) => false,
        Some(Fate::Decided | Fate::Older) | None => span.first_timestamp.is_some_and(|since| {
            let age = now.saturating_sub(since);
            (0..TIMEOUT_MS).contains(&age)
        }),
    }
}

/// The newest time of anything in a log.
fn newest_in(facts: &PartitionFacts) -> Option<i64> {
    let markers = facts.transactions.iter().filter_map(|span| span.marker_timestamp);
    let empty = facts.empty_markers.iter().filter_map(|marker| marker.timestamp);
    markers.chain(empty).chain(facts.last_timestamp).max()
}

/// How one part stands, by epochs elsewhere, by its coordinator, and by the producer's times.
fn standing(
    told: Option<Told>,
    decided: Option<Outcome>,
    end: Option<&elsewhere::End>,
    overdue: bool,
) -> Standing {
    let ended = |outcome: Outcome| match outcome {
        Outcome::Committed => Standing::Committed,
        Outcome::Aborted => Standing::Aborted,
        Outcome::Open => Standing::Ended,
    };
    let over = end.filter(|end| end.told == elsewhere::Told::ByEpoch);
    if let Some(over) = over {
        return ended(over.outcome.or(decided).unwrap_or(Outcome::Open));
    }
    match told {
        Some(Told { fate: Fate::Runs(limit), id, .. }) => return Standing::Runs { id, limit, overdue },
        // Its own marker is to come, unless another decision is known to be the one of this part.
        Some(Told { fate: Fate::Decided, .. }) => return Standing::Decided,
        Some(Told { fate: Fate::Unknown, last, .. }) => {
            if let Some(outcome) = decided.or(last) {
                return ended(outcome);
            }
        }
        Some(Told { fate: Fate::Older, .. }) | None => {}
    }
    match (decided, end) {
        (Some(outcome), _) => ended(outcome),
        (None, Some(end)) if end.outcome == Some(Outcome::Committed) => Standing::Doubtful,
        (None, _) => Standing::Unknown,
    }
}

/// Whether the marker may have stood where bytes cannot be read or offsets are missing.
fn marker_may_be_lost(at: Partition<'_>, span: &TransactionSpan) -> bool {
    let facts = at.1;
    let behind = span.last_offset.unwrap_or(span.first_offset);
    misses_its_end(at)
        || facts.damaged_from.iter().any(|&from| from > behind)
        || facts.holes.iter().any(|hole| hole.first_offset > behind)
}

fn open_line(part: &Placed<'_>) -> String {
    let &((context, facts), span) = part;
    let place = format!("{}-{}", context.topic, context.partition);
    let epoch = span.producer_epoch.map_or_else(|| "?".to_owned(), |epoch| epoch.to_string());
    let behind = facts.log_end_offset.0.saturating_sub(facts.last_stable_offset.0).max(0);
    let stop = format!(
        "read_committed consumers stop at offset {}, {} before the end",
        facts.last_stable_offset,
        count(behind.unsigned_abs(), "offset", "offsets")
    );
    match span.last_offset {
        Some(last) => format!(
            "{place}: producer {} epoch {epoch} wrote {} from {}, and no marker follows; {stop}",
            span.producer_id,
            offsets(span.first_offset.0, last.0),
            age::since(part)
        ),
        None => format!(
            "{place}: only a producer snapshot remembers a transaction of producer {} since offset {}; {stop}",
            span.producer_id, span.first_offset
        ),
    }
}

/// Steps of a kind, those of internal topics aside.
fn steps<'p>(partitions: &[Partition<'p>], kind: StepKind) -> Vec<(&'p PartitionContext, &'p SequenceStep)> {
    partitions
        .iter()
        .flat_map(|&(context, facts)| facts.steps.iter().map(move |step| (context, step)))
        .filter(|(context, step)| !context.internal && step.kind == kind)
        .collect()
}

/// A finding about `steps`, with where and when they were; `None` where there are none.
fn anomaly(steps: &[(&PartitionContext, &SequenceStep)], title: String) -> Option<Finding> {
    if steps.is_empty() {
        return None;
    }
    let mut finding = finding(Code::TransactionAnomaly, Confidence::Likely, title);
    about_logs(&mut finding, steps.iter().map(|(context, _)| *context));
    let times = || steps.iter().filter_map(|(_, step)| step.timestamp);
    finding.window = Some(Window::new(times().min(), times().max()));
    Some(finding)
}

fn late(partitions: &[Partition<'_>]) -> Option<Finding> {
    let late = steps(partitions, StepKind::WriteBehindMarker);
    let said = count(u64::try_from(late.len()).unwrap_or(u64::MAX), "batch was", "batches were");
    let mut finding =
        anomaly(&late, format!("{said} written behind the marker that had ended the producer's epoch"))?;
    finding.facts = capped(
        late.iter().map(|(context, step)| {
            let epoch = step.producer_epoch.map_or_else(|| "none".to_owned(), |epoch| epoch.to_string());
            format!(
                "{}-{}: producer {} epoch {epoch} wrote at offset {} ({}), behind a marker of a higher epoch",
                context.topic,
                context.partition,
                step.producer_id,
                step.at_offset,
                at(step.timestamp)
            )
        }),
        "batches",
    );
    finding.alternatives = vec![kept(
        "lost producer state",
        "a leader that had forgotten the producer accepts a lower epoch; one that verifies transactions does not",
    )];
    finding.would_settle = lines([
        "the broker's log around these appends",
        "whether brokers verify transactions (3.6 and later)",
    ]);
    finding.advice = lines([
        "look whether the transaction that these batches opened has an end; if not, it hangs",
        "use brokers and clients of 4.0 or later, whose transactions have an epoch each",
    ]);
    finding.transactions = late
        .iter()
        .filter_map(|(context, step)| {
            let facts =
                partitions.iter().find(|(other, _)| std::ptr::eq(*other, *context)).map(|(_, facts)| facts);
            let holds = move |span: &&TransactionSpan| {
                span.producer_id == step.producer_id
                    && span.first_offset <= step.at_offset
                    && span.last_offset >= Some(step.at_offset)
            };
            facts
                .into_iter()
                .flat_map(|facts| &facts.transactions)
                .find(holds)
                .map(|span| shown(context, span))
        })
        .collect();
    finding.transactions.dedup();
    Some(finding)
}

/// Batches that no broker appends, and with which none loads the partition
/// (`ProducerAppendInfo.checkProducerEpoch`, `InvalidTxnStateException`).
fn outside(partitions: &[Partition<'_>]) -> Option<Finding> {
    let outside = steps(partitions, StepKind::OutsideTransaction);
    let said = count(u64::try_from(outside.len()).unwrap_or(u64::MAX), "batch stands", "batches stand");
    let mut finding = anomaly(&outside, format!("{said} outside an open transaction of the same producer"))?;
    finding.facts = capped(
        outside.iter().map(|(context, step)| {
            format!(
                "{}-{}: producer {} wrote a batch that is not transactional at offset {} ({}), and its transaction has no end \
                 before it",
                context.topic,
                context.partition,
                step.producer_id,
                step.at_offset,
                at(step.timestamp)
            )
        }),
        "batches",
    );
    finding.alternatives = vec![
        kept(
            "producer-id-collision",
            "a second writer with the same id that uses no transactions looks like this",
        ),
        kept(
            "foreign writer",
            "a tool or a compatible system that is no Kafka broker may have written these files",
        ),
    ];
    finding.would_settle = lines(["what wrote these files", "the same offsets in another replica"]);
    finding.advice = lines([
        "no Kafka broker appends such a batch, and a replica with it does not load: fetch the partition from another replica",
    ]);
    Some(finding)
}

pub(super) fn shown(context: &PartitionContext, span: &TransactionSpan) -> Transaction {
    Transaction {
        transactional_id: None,
        producer_id: span.producer_id.0,
        producer_epoch: span.producer_epoch.map(|epoch| epoch.0),
        topic: context.topic.clone(),
        partition: context.partition,
        first_offset: span.first_offset.0,
        last_offset: span.last_offset.map(|offset| offset.0),
        marker_offset: span.marker_offset.map(|offset| offset.0),
        outcome: span.outcome.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::{START, fold_in, fold_partitions};
    use crate::facts::{Snapshot, SnapshotEntry, TransactionStatus, TransactionalIds};
    use crate::judgement::Decisions;
    use crate::judgement::decisions::tests::state;
    use crate::units::ClusterNumber;
    use crate::units::{Offset, ProducerEpoch};

    fn judged_at(scripts: &[&str], as_of: i64) -> Vec<Finding> {
        let all = fold_partitions(scripts);
        let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
        judge_at(&partitions, Some(as_of))
    }

    fn judge_at(partitions: &[Partition<'_>], as_of: Option<i64>) -> Vec<Finding> {
        let (ids, decisions) = (TransactionalIds::default(), Decisions::default());
        judge(partitions, Beside { ids: &[&ids], decisions: &decisions, continued: &[], as_of })
    }

    fn judged(scripts: &[&str]) -> Vec<Finding> {
        judged_at(scripts, START + 10)
    }

    #[test]
    fn closed_transactions_of_every_style_are_no_finding() {
        assert!(
            judged(&["X 7/10 0..4; +M 7/11; X 7/11 0..1; -M 7/12; X 8/3 0..1; +M 8/3; X 8/3 2..3; -M 8/4"])
                .is_empty()
        );
    }

    #[test]
    fn markers_that_come_twice_late_or_for_nothing_are_innocent() {
        assert!(
            judged(&["X 7/0 0..4; +M 7/0; +M 7/0; -M 9/4; X 7/0 5..5; -M 7/0", "+M 7/0; -M 7/0"]).is_empty()
        );
    }

    #[test]
    fn a_transaction_without_end_is_told_with_its_age_and_how_to_end_it() {
        let findings = judged_at(&["D 5/0 0..1; X 7/1 0..2; D 5/0 2..2"], START + 3_600_000);
        assert_eq!(findings.len(), 1);
        let finding = &findings[0];
        assert_eq!(finding.code, Code::TransactionOpen);
        assert!(
            finding.title.ends_with("is open in 1 partition, 60 min old by the client's own times"),
            "{}",
            finding.title
        );
        assert!(
            finding.facts[0].contains("stop at offset 2, 4 offsets before the end"),
            "{}",
            finding.facts[0]
        );
        assert!(finding.advice[1].contains("--topic orders --partition 0 --start-offset 2"));
        assert_eq!((finding.transactions[0].first_offset, finding.transactions[0].last_offset), (2, Some(4)));
    }

    #[test]
    fn its_age_is_by_the_clock_of_a_broker_where_one_bounds_it() {
        let hour = 3_600_000;
        let told = |script: &str| {
            let finding = judged_at(&[script], START + hour).remove(0);
            let age = finding.title.split_once("partition").unwrap().1.to_owned();
            let doubt = finding.alternatives.iter().any(|rival| rival.why.contains("event times"));
            (age, finding.facts.iter().any(|fact| fact.contains("is older than 20 minutes")), doubt)
        };
        let told_as = |script: &str, age: &str, hangs: bool, doubt: bool| {
            assert_eq!(told(script), (age.to_owned(), hangs, doubt), "{script}");
        };
        told_as("X 7/1 0..2", ", 60 min old by the client's own times", true, true);
        // A marker behind it, one before it, and both.
        let behind = ", at least 59 min old by the broker's clock";
        told_as("X 7/1 0..2; wait 60s; X 8/0 0..0; +M 8/0", behind, true, false);
        let before = ", its records here at most 30 min old by the broker's clock";
        told_as("wait 1800s; X 8/0 0..0; +M 8/0; wait 60s; X 7/1 0..2", before, false, false);
        let both = ", its records here between 29 min and 30 min old by the broker's clock";
        told_as(
            "wait 1800s; X 8/0 0..0; +M 8/0; X 7/1 0..2; wait 60s; X 8/0 1..1; +M 8/0",
            both,
            true,
            false,
        );
    }

    #[test]
    fn one_transaction_over_two_partitions_is_one_finding() {
        let findings = judged(&["X 7/1 0..2", "X 7/1 0..0"]);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].partitions.len(), 2);
    }

    #[test]
    fn damage_and_holes_behind_it_may_hide_its_marker() {
        assert_eq!(judged(&["X 7/1 0..2; at 9; roll; D 5/0 0..0"])[0].confidence, Confidence::Possible);
        assert_eq!(judged(&["X 7/1 0..2; damage; at 9; D 5/0 0..0"])[0].confidence, Confidence::Possible);
        assert_eq!(judged(&["damage; at 9; X 7/1 0..2; D 5/0 0..0"])[0].confidence, Confidence::Certain);
        // So may an end that is not there.
        for (mark, confidence) in [(9, Confidence::Possible), (3, Confidence::Certain)] {
            let context =
                PartitionContext { high_watermark: Some(Offset(mark)), ..PartitionContext::default() };
            let (context, facts) = fold_in(context, "X 7/1 0..2");
            assert_eq!(judge_at(&[(&context, &facts)], None)[0].confidence, confidence);
        }
    }

    #[test]
    fn a_transaction_that_only_a_snapshot_remembers_is_told_until_a_marker_ends_it() {
        let entry = SnapshotEntry {
            producer_id: ProducerId(7),
            producer_epoch: Some(ProducerEpoch(1)),
            last_sequence: None,
            last_offset: None,
            offset_delta: 0,
            timestamp: START,
            coordinator_epoch: None,
            current_txn_first_offset: Some(Offset(33)),
        };
        let context = PartitionContext {
            segment_bases: vec![Offset(40)],
            snapshots: vec![Snapshot { file: "40".to_owned(), offset: Offset(40), entries: Ok(vec![entry]) }],
            ..PartitionContext::default()
        };
        let (hanging, facts) = fold_in(context.clone(), "D 5/0 0..0");
        let findings = judge_at(&[(&hanging, &facts)], None);
        assert_eq!(findings.len(), 1);
        let told = &findings[0].transactions[0];
        assert_eq!((told.first_offset, told.last_offset), (33, None));
        assert_eq!(facts.last_stable_offset, Offset(40));
        let (ended, facts) = fold_in(context, "D 5/0 0..0; -M 7/2");
        assert!(judge_at(&[(&ended, &facts)], None).is_empty());
    }

    #[test]
    fn what_the_coordinator_had_committed_is_not_to_be_aborted_in_one_partition() {
        let all = fold_partitions(&["X 7/1 0..2", "X 7/1 0..0; +M 7/1"]);
        let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
        let told = |status| {
            let mut decisions = Decisions::asked(&partitions);
            decisions.hear(ClusterNumber::default(), &state(status, 1, [0, 5], &[0, 1]));
            let ids = TransactionalIds::default();
            let beside = Beside { ids: &[&ids], decisions: &decisions, continued: &[], as_of: None };
            let finding = judge(&partitions, beside).remove(0);
            let says = |list: &[String], words: &str| list.iter().any(|line| line.contains(words));
            let is_told = says(&finding.facts, "decided to");
            assert_eq!(says(&finding.facts, "was never written here, or was lost"), is_told, "{finding:#?}");
            (
                says(&finding.facts, "decided to commit this transaction of producer 7"),
                says(&finding.facts, "decided to abort this transaction of producer 7"),
                says(&finding.advice, "do not abort: it was committed"),
            )
        };
        assert_eq!(told(TransactionStatus::PrepareCommit), (true, false, true));
        assert_eq!(told(TransactionStatus::PrepareAbort), (false, true, false));
        assert_eq!(told(TransactionStatus::Ongoing), (false, false, false));
    }

    #[test]
    fn one_that_runs_within_its_timeout_in_a_log_that_was_not_closed_is_worth_knowing_and_no_more() {
        let severity = |clean_shutdown, script: &str, now: i64| {
            let context = PartitionContext { clean_shutdown, ..PartitionContext::default() };
            let (context, facts) = fold_in(context, script);
            judge_at(&[(&context, &facts)], Some(START + now))[0].severity
        };
        let young = |clean| severity(clean, "X 7/1 0..2", 59_000);
        assert_eq!(young(Some(false)), Severity::Info);
        assert_eq!([young(Some(true)), young(None)], [Severity::Medium; 2]);
        assert_eq!(severity(Some(false), "X 7/1 0..2", 60_001), Severity::Medium);
    }

    #[test]
    fn a_marker_that_came_behind_the_end_of_a_copy_is_worth_knowing_and_a_lost_one_is_more() {
        let told = |clean: bool, here: &str| {
            let context = |partition| PartitionContext {
                partition,
                clean_shutdown: Some(clean),
                ..PartitionContext::default()
            };
            let (a, b) = (
                fold_in(context(0), here),
                fold_in(context(1), "X 7/1 0..0; wait 4ms; +M 7/2; X 7/2 0..0; +M 7/3"),
            );
            let finding = judge_at(&[(&a.0, &a.1), (&b.0, &b.1)], Some(START + 90_000)).remove(0);
            assert!(finding.title.contains("that was committed has no end"), "{finding:#?}");
            assert!(finding.advice[0].starts_with("do not abort"), "{finding:#?}");
            finding.severity
        };
        assert_eq!(told(false, "X 7/1 0..2"), Severity::Info);
        assert_eq!(told(true, "X 7/1 0..2"), Severity::Medium);
        assert_eq!(told(false, "X 7/1 0..2; wait 2s; D 5/0 0..0"), Severity::Medium);
        assert_eq!(told(false, "X 7/1 0..2; wait 2s; +M 9/0"), Severity::Medium);
    }

    #[test]
    fn data_behind_the_marker_of_its_epoch_is_an_anomaly_and_its_transaction_is_open() {
        let codes: Vec<_> = judged(&["X 7/10 0..4; +M 7/11; X 7/10 5..5"]).iter().map(|f| f.code).collect();
        assert_eq!(codes, [Code::TransactionOpen, Code::TransactionAnomaly]);
    }

    #[test]
    fn a_batch_outside_the_open_transaction_of_its_producer_is_an_anomaly_and_one_behind_a_hole_is_not() {
        let told = |script: &str| -> Vec<String> {
            let anomalies = judged(&[script]).into_iter().filter(|f| f.code == Code::TransactionAnomaly);
            anomalies.map(|finding| finding.title).collect()
        };
        let one = "1 batch stands outside an open transaction of the same producer";
        assert_eq!(told("X 7/0 0..1; D 7/0 2..2; +M 7/0"), [one]);
        assert!(told("X 7/0 0..1; +M 7/0; D 7/0 2..2; X 7/0 3..3; +M 7/0").is_empty());
        assert!(told("X 7/0 0..1; D 5/0 0..0; +M 7/0").is_empty());
        assert!(told("X 7/0 0..1; at 9; roll; D 7/0 2..2").is_empty());
    }
}
