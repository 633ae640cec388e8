//! `transaction-anomaly`: one transaction with two outcomes, committed here and aborted there.
//!
//! Under protocol 2 an epoch is one transaction, and both outcomes under the marker of the next epoch
//! prove it (KIP-890). Where its own marker is missing in a partition, the end of what follows there ends it as well, with
//! that outcome. Under protocol 1 all transactions of a session have one epoch, and an operator's
//! abort (`kafka-transactions.sh abort`, `WriteTxnMarkers`) has that of the data. There only this can
//! tell: a producer has one transaction at a time, and a coordinator ends it in all of its partitions.
//! So what was under way in one partition when another had its abort, and was committed later, is a
//! part of what was aborted.
//!
//! Whether it was under way is certain where a broker's clock says so: append times, and the markers
//! of other producers behind its first batch. The producer's own times say it only as long as they are
//! those of sending, which a batch shows that is not much older than the leader's clock was before it.
//! The next transaction, however close, begins behind the abort on every clock.
//!
//! Where `__transaction_state` is given, the coordinator's decisions ([`Decisions`]) say it: an abort during a
//! transaction that names the partition and was committed is not the coordinator's, and what was aborted by one
//! decision and committed by a later one were two transactions.

use super::decisions::{Decision, STEP_MS, TOGETHER_MS};
use super::draft::{about_logs, at, capped, count, dropped, finding, kept, lines};
use super::transactions::{Placed, shown};
use super::{Decisions, Partition};
use crate::facts::{EmptyMarker, Outcome, TimestampType, TransactionSpan};
use crate::finding::{Alternative, Code, Confidence, Finding, Severity, Window};
use crate::units::{Offset, ProducerEpoch, ProducerId};
use std::collections::{BTreeMap, BTreeSet};

/// Transactions that were under way at one moment and are looked at.
const MAX_UNDER_WAY: usize = 1_000;

/// A committed part of a transaction and an aborted one.
type Pair<'a> = (Placed<'a>, Placed<'a>);

/// What says that both are parts of one transaction, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Evidence {
    /// One epoch of protocol 2.
    OneEpoch,
    /// The coordinator committed the transaction in which the other part was aborted.
    Coordinator,
    /// The committed part was in the log before the abort.
    BrokersClocks,
    /// It was sent before the abort, and the commit marker beside the abort closed nothing.
    CommitOfNothing,
    /// Only the producer's times.
    ProducersTimes,
    /// The same, within what clocks may differ by: the commit marker beside the abort closed nothing.
    CloseTimes,
}

pub(super) fn judge(partitions: &[Partition<'_>], decisions: &Decisions) -> Vec<Finding> {
    let mut told: BTreeMap<Evidence, Vec<Pair<'_>>> = BTreeMap::new();
    for pair in one_epoch(partitions) {
        told.entry(Evidence::OneEpoch).or_default().push(pair);
    }
    let mut decided: BTreeSet<(&str, i32, Offset)> = BTreeSet::new();
    for pair in by_decision(partitions, decisions) {
        decided.insert(place(&pair.1));
        told.entry(Evidence::Coordinator).or_default().push(pair);
    }
    for (evidence, pair) in under_one_epoch(partitions) {
        if !decided.contains(&place(&pair.1)) && !were_two(evidence, &pair, decisions) {
            told.entry(evidence).or_default().push(pair);
        }
    }
    told.iter().map(|(&evidence, pairs)| told_of(evidence, pairs)).collect()
}

/// Where a part is, as what it is known by.
fn place<'a>(&((context, _), span): &Placed<'a>) -> (&'a str, i32, Offset) {
    (&context.topic, context.partition, span.first_offset)
}

/// Parts that were aborted while a transaction ran that the coordinator committed, each with one that it did commit.
fn by_decision<'a>(partitions: &[Partition<'a>], decisions: &Decisions) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for &(context, facts) in partitions.iter().filter(|_| !decisions.is_empty()) {
        for aborted in facts.transactions.iter().filter(|span| is_aborted_under_its_epoch(span)) {
            let at = (context, facts);
            let decision = decisions.committed_meanwhile(at, aborted);
            let committed = decision.and_then(|decision| {
                let others = partitions.iter().filter(|(other, _)| !std::ptr::eq(*other, context));
                others.filter(|(other, _)| decision.names(&other.topic, other.partition)).find_map(|&other| {
                    let spans = other.1.transactions.iter();
                    spans
                        .filter(|span| is_committed_by(decision, aborted, span))
                        .map(|span| (other, span))
                        .next()
                })
            });
            pairs.extend(committed.map(|committed| (committed, (at, aborted))));
        }
    }
    pairs
}

/// Whether a part elsewhere has the marker of a decision.
fn is_committed_by(decision: &Decision, aborted: &TransactionSpan, span: &TransactionSpan) -> bool {
    span.producer_id == aborted.producer_id
        && span.producer_epoch == aborted.producer_epoch
        && span.outcome == Outcome::Committed
        && span
            .marker_timestamp
            .is_some_and(|time| time.abs_diff(decision.decided) <= TOGETHER_MS.unsigned_abs())
}

/// Whether the coordinator had decided the abort, and the other part was committed later: what nothing but times holds
/// together were two transactions then.
fn were_two(evidence: Evidence, (committed, aborted): &Pair<'_>, decisions: &Decisions) -> bool {
    let by_times = match evidence {
        Evidence::CommitOfNothing | Evidence::ProducersTimes | Evidence::CloseTimes => true,
        Evidence::OneEpoch | Evidence::Coordinator | Evidence::BrokersClocks => false,
    };
    let decided = decisions.aborted_at(aborted.0, aborted.1);
    by_times
        && decided.is_some_and(|decided| committed.1.marker_timestamp.is_some_and(|commit| commit > decided))
}

fn told_of(evidence: Evidence, pairs: &[Pair<'_>]) -> Finding {
    let is_shown = matches!(evidence, Evidence::OneEpoch | Evidence::Coordinator | Evidence::BrokersClocks);
    let number = u64::try_from(pairs.len()).unwrap_or(u64::MAX);
    let (confidence, number) = if is_shown {
        (Confidence::Likely, count(number, "transaction has", "transactions have"))
    } else {
        (Confidence::Possible, count(number, "transaction may have", "transactions may have"))
    };
    let title = format!("{number} one outcome in one partition and another elsewhere");
    let mut finding = finding(Code::TransactionAnomaly, confidence, title);
    match evidence {
        Evidence::OneEpoch | Evidence::Coordinator | Evidence::BrokersClocks => {}
        Evidence::CommitOfNothing => finding.severity = Severity::Medium,
        Evidence::ProducersTimes | Evidence::CloseTimes => finding.severity = Severity::Low,
    }
    let places = || pairs.iter().flat_map(|(committed, aborted)| [committed, aborted]);
    about_logs(&mut finding, places().map(|&((context, _), _)| context));
    let times = || places().filter_map(|(_, span)| span.marker_timestamp);
    finding.window = Some(Window::new(times().min(), times().max()));
    finding.facts = capped(pairs.iter().map(|pair| line(evidence, pair)), "transactions");
    finding.alternatives = alternatives(evidence);
    finding.would_settle = lines([match evidence {
        Evidence::Coordinator => "what operators did at the time of the abort",
        Evidence::OneEpoch
        | Evidence::BrokersClocks
        | Evidence::CommitOfNothing
        | Evidence::ProducersTimes
        | Evidence::CloseTimes => {
            "the history of the transactional id in __transaction_state, and what operators did"
        }
    }]);
    finding.advice = lines([
        if is_shown {
            "check what the transaction meant to write as a whole: consumers saw a part of it"
        } else {
            "check what was meant to be written as a whole: if both parts are of one transaction, consumers saw a part of it"
        },
        "end hanging transactions by their transactional id, not by partition, where the producer still runs",
    ]);
    finding.transactions = places().map(|&((context, _), span)| shown(context, span)).collect();
    finding.transactions.dedup();
    finding
}

fn line(evidence: Evidence, (committed, aborted): &Pair<'_>) -> String {
    let (((here, _), committed), ((there, _), aborted)) = (committed, aborted);
    let said = format!(
        "producer {}: committed in {}-{} from offset {}, aborted in {}-{} from offset {}",
        committed.producer_id,
        here.topic,
        here.partition,
        committed.first_offset,
        there.topic,
        there.partition,
        aborted.first_offset
    );
    let abort = at(aborted.marker_timestamp);
    match evidence {
        Evidence::OneEpoch => said,
        Evidence::Coordinator => format!(
            "{said}; __transaction_state has one transaction over both, which the coordinator decided to commit; the abort is of \
             {abort}, before that, and not its own"
        ),
        Evidence::BrokersClocks => format!(
            "{said}; the former was in the log by {}, the abort is of {abort}, the commit of {}",
            at(committed.appended_by),
            at(committed.marker_timestamp)
        ),
        Evidence::CommitOfNothing | Evidence::CloseTimes => format!(
            "{said}; the former was sent at {}, the abort is of {abort}, and the commit marker beside it, of about {}, \
             closed nothing",
            at(committed.first_timestamp),
            at(committed.marker_timestamp)
        ),
        Evidence::ProducersTimes => format!(
            "{said}; the former has times from {} on, the latter up to {}, the abort is of {abort}",
            at(committed.first_timestamp),
            at(aborted.last_timestamp)
        ),
    }
}

fn alternatives(evidence: Evidence) -> Vec<Alternative> {
    let duplicate_marker = dropped("duplicate marker", "the markers closed data in both partitions");
    let commit_of_nothing = dropped(
        "duplicate marker",
        "the abort closed data where it stands, and so did the commit in the other partition: neither repeats another marker",
    );
    let two = "two transactions";
    match evidence {
        Evidence::OneEpoch => vec![
            duplicate_marker,
            kept("producer-id-collision", "two clusters that handed out one id would look like this"),
        ],
        Evidence::Coordinator => vec![
            duplicate_marker,
            dropped(
                two,
                "the coordinator's decision to commit names both partitions, and its transaction had begun before the abort",
            ),
            kept("clocks", "the brokers' clocks may differ by more than ten seconds"),
        ],
        Evidence::BrokersClocks => vec![
            duplicate_marker,
            dropped(two, "the committed part was in the log before the abort, on brokers' clocks"),
            kept("producer-id-collision", "two clusters that handed out one id would look like this"),
            kept(
                "late write",
                "a batch that came behind the marker of its own transaction is committed with a later one",
            ),
        ],
        Evidence::CommitOfNothing => {
            vec![commit_of_nothing, kept(two, "only times say that both parts belong to one transaction")]
        }
        Evidence::CloseTimes => vec![
            commit_of_nothing,
            kept(
                two,
                "all of it lies within ten seconds, by which clocks may differ: only the order of the producer's own times says that both parts belong to one transaction",
            ),
        ],
        Evidence::ProducersTimes => vec![
            duplicate_marker,
            kept(two, "only times that the producer gave say that both parts belong to one transaction"),
            kept(
                "event times",
                "where records carry the times of events, the next transaction may have older ones",
            ),
        ],
    }
}

/// Under protocol 2: one epoch, closed by the next epoch's marker, once committed and once aborted.
fn one_epoch<'a>(partitions: &[Partition<'a>]) -> Vec<Pair<'a>> {
    let mut seen: BTreeMap<(ProducerId, ProducerEpoch), [Option<Placed<'a>>; 2]> = BTreeMap::new();
    for &(context, facts) in partitions {
        for span in &facts.transactions {
            let (Some(data), Some(marker)) = (span.producer_epoch, span.marker_epoch) else { continue };
            let slot = match span.outcome {
                Outcome::Committed => 0,
                Outcome::Aborted => 1,
                Outcome::Open => continue,
            };
            // What data of a newer epoch followed was the last transaction of its epoch under every protocol.
            let is_swallowed = span.followed_by.is_some();
            if marker.is_next_of(data) || is_swallowed {
                let slots = seen.entry((span.producer_id, data)).or_default();
                if let Some(slot) = slots.get_mut(slot) {
                    slot.get_or_insert(((context, facts), span));
                }
            }
        }
    }
    seen.into_values().filter_map(|[committed, aborted]| committed.zip(aborted)).collect()
}

/// A producer id and an epoch.
type Writer = (ProducerId, ProducerEpoch);

/// With an abort that has the epoch of the data.
fn under_one_epoch<'a>(partitions: &[Partition<'a>]) -> Vec<(Evidence, Pair<'a>)> {
    let writer = |span: &TransactionSpan| Some((span.producer_id, span.producer_epoch?));
    let all = || partitions.iter().flat_map(|(_, facts)| &facts.transactions);
    let committed: BTreeSet<Writer> =
        all().filter(|span| span.outcome == Outcome::Committed).filter_map(writer).collect();
    let torn = all().filter(|span| is_aborted_under_its_epoch(span)).filter_map(writer);
    let mut writers: BTreeMap<Writer, Vec<Here<'a>>> =
        torn.filter(|writer| committed.contains(writer)).map(|writer| (writer, Vec::new())).collect();
    if writers.is_empty() {
        return Vec::new();
    }
    for &partition in partitions {
        let mut here: BTreeMap<Writer, Here<'a>> = BTreeMap::new();
        let new = || Here { partition, spans: Vec::new(), markers: Vec::new() };
        for span in &partition.1.transactions {
            if let Some(writer) = writer(span).filter(|writer| writers.contains_key(writer)) {
                here.entry(writer).or_insert_with(new).spans.push(span);
            }
        }
        for marker in &partition.1.empty_markers {
            // Under protocol 2 a commit ends the epoch before its own.
            let epochs =
                marker.producer_epoch.into_iter().flat_map(|epoch| [epoch.0, epoch.0.saturating_sub(1)]);
            for epoch in epochs {
                let writer = (marker.producer_id, ProducerEpoch(epoch));
                if writers.contains_key(&writer) {
                    here.entry(writer).or_insert_with(new).markers.push(marker);
                }
            }
        }
        for (writer, here) in here {
            writers.entry(writer).or_default().push(here);
        }
    }
    writers.values().flat_map(|partitions| of_writer(partitions)).collect()
}

fn is_aborted_under_its_epoch(span: &TransactionSpan) -> bool {
    span.outcome == Outcome::Aborted && span.marker_epoch == span.producer_epoch
}

/// What a partition holds of one producer id and epoch, in offset order.
struct Here<'a> {
    partition: Partition<'a>,
    spans: Vec<&'a TransactionSpan>,
    markers: Vec<&'a EmptyMarker>,
}

/// The marker that follows another one.
struct Following {
    outcome: Outcome,
    time: i64,
    closes: Closes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Closes {
    Data,
    Nothing,
}

impl Here<'_> {
    fn following(&self, marker: Offset) -> Option<Following> {
        let at = self.spans.partition_point(|span| span.marker_offset <= Some(marker));
        let data = self.spans.get(at).and_then(|span| {
            let time = span.marker_timestamp?;
            Some((span.marker_offset?, Following { outcome: span.outcome, time, closes: Closes::Data }))
        });
        let at = self.markers.partition_point(|empty| empty.offset <= marker);
        let nothing = self.markers.get(at).and_then(|empty| {
            let (outcome, time) = (empty.outcome, empty.timestamp?);
            Some((empty.offset, Following { outcome, time, closes: Closes::Nothing }))
        });
        [data, nothing]
            .into_iter()
            .flatten()
            .min_by_key(|&(offset, _)| offset)
            .map(|(_, following)| following)
    }

    /// Whether an abort was written here about then, below the offset: the coordinator's, which ends a
    /// transaction everywhere.
    fn has_abort_about(&self, time: i64, below: Offset) -> bool {
        let about = |other: Option<i64>| {
            other.is_some_and(|other| other.abs_diff(time) <= TOGETHER_MS.unsigned_abs())
        };
        let of_data = self.spans.iter().filter(|span| span.outcome == Outcome::Aborted);
        let of_data = of_data.map(|span| (span.marker_offset, span.marker_timestamp));
        let of_nothing = self.markers.iter().filter(|marker| marker.outcome == Outcome::Aborted);
        let of_nothing = of_nothing.map(|marker| (Some(marker.offset), marker.timestamp));
        of_data.chain(of_nothing).any(|(offset, at)| offset.is_some_and(|offset| offset < below) && about(at))
    }
}

/// Whether the times of a producer's records are those of sending.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SendTimes {
    /// Nothing says so.
    Unknown,
    /// Batches are about as old as the leader's clock said.
    Shown,
    /// A batch is much older than the leader's clock was, or than the batch before it.
    Refuted,
}

fn send_times(partitions: &[Here<'_>]) -> SendTimes {
    let mut shown = SendTimes::Unknown;
    for here in partitions {
        for span in &here.spans {
            if let Some((sent, clock)) = span.first_timestamp.zip(span.appended_from) {
                let fits = sent.saturating_add(TOGETHER_MS) >= clock;
                shown = shown.max(if fits { SendTimes::Shown } else { SendTimes::Refuted });
            }
        }
        for pair in here.spans.windows(2) {
            let [earlier, later] = pair else { continue };
            if let Some((before, sent)) = earlier.last_timestamp.zip(later.first_timestamp)
                && sent.saturating_add(STEP_MS) < before
            {
                shown = SendTimes::Refuted;
            }
        }
    }
    shown
}

/// A committed transaction, and where it is.
struct Committed<'a> {
    here: usize,
    span: &'a TransactionSpan,
    /// When it had begun, as far as is known.
    begun: i64,
    /// When it, or one that had begun before it, had its end.
    reach: i64,
}

fn of_writer<'a>(partitions: &[Here<'a>]) -> Vec<(Evidence, Pair<'a>)> {
    let times = send_times(partitions);
    let mut committed = Vec::new();
    for (at, here) in partitions.iter().enumerate() {
        for span in here.spans.iter().filter(|span| span.outcome == Outcome::Committed) {
            let sent = span.first_timestamp.filter(|_| times != SendTimes::Refuted);
            let begun = sent.into_iter().chain(span.appended_by).min();
            if let Some((begun, reach)) = begun.zip(span.marker_timestamp.max(span.last_timestamp)) {
                committed.push(Committed { here: at, span, begun, reach });
            }
        }
    }
    committed.sort_by_key(|one| one.begun);
    let mut reach = i64::MIN;
    for one in &mut committed {
        reach = reach.max(one.reach);
        one.reach = reach;
    }
    let mut pairs = Vec::new();
    for (at, here) in partitions.iter().enumerate() {
        for aborted in here.spans.iter().filter(|span| is_aborted_under_its_epoch(span)) {
            let one = Aborted { at, span: aborted };
            let found = one
                .under_way(partitions, &committed, times)
                .or_else(|| one.overlapping(partitions, &committed, times))
                .or_else(|| one.close(partitions, &committed, times));
            if let Some((evidence, other)) = found {
                let whole = partitions.get(other.here).map_or(here.partition, |other| other.partition);
                pairs.push((evidence, ((whole, other.span), (here.partition, *aborted))));
            }
        }
    }
    pairs
}

/// An aborted transaction, and where it is.
struct Aborted<'a> {
    at: usize,
    span: &'a TransactionSpan,
}

impl Aborted<'_> {
    /// A part elsewhere that was under way when this one was aborted, and was committed together with what
    /// follows the abort here.
    fn under_way<'c, 'a>(
        &self,
        partitions: &[Here<'_>],
        committed: &'c [Committed<'a>],
        times: SendTimes,
    ) -> Option<(Evidence, &'c Committed<'a>)> {
        let abort = self.span.marker_timestamp?;
        let following = partitions.get(self.at)?.following(self.span.marker_offset?)?;
        if following.outcome != Outcome::Committed {
            return None;
        }
        let before_abort =
            |time: Option<i64>| time.is_some_and(|time| time.saturating_add(TOGETHER_MS) < abort);
        let mut best = None;
        for one in self.others(committed, abort.saturating_sub(TOGETHER_MS), abort) {
            let together = one.span.marker_timestamp.is_some_and(|end| {
                end >= abort && end.abs_diff(following.time) <= TOGETHER_MS.unsigned_abs()
            });
            if !together {
                continue;
            }
            if before_abort(one.span.appended_by) {
                return Some((Evidence::BrokersClocks, one));
            }
            let there = partitions.get(one.here)?;
            if times != SendTimes::Refuted
                && before_abort(one.span.first_timestamp)
                && !there.has_abort_about(abort, one.span.first_offset)
            {
                best = best.or(Some(one));
            }
        }
        let evidence = match following.closes {
            Closes::Nothing => Evidence::CommitOfNothing,
            Closes::Data => Evidence::ProducersTimes,
        };
        best.map(|one| (evidence, one))
    }

    /// A part elsewhere whose records were sent while those of this one were.
    fn overlapping<'c, 'a>(
        &self,
        partitions: &[Here<'_>],
        committed: &'c [Committed<'a>],
        times: SendTimes,
    ) -> Option<(Evidence, &'c Committed<'a>)> {
        let (first, last) = self.span.first_timestamp.zip(self.span.last_timestamp)?;
        if times != SendTimes::Shown || self.span.times != TimestampType::CreateTime {
            return None;
        }
        let abort = self.span.marker_timestamp?;
        let others = self.others(committed, last, first.saturating_add(STEP_MS));
        others
            .filter(|one| one.span.times == TimestampType::CreateTime)
            .find(|one| {
                // Whichever of two transactions came first, the clock would have stepped back farther.
                let depth = one
                    .span
                    .first_timestamp
                    .zip(one.span.last_timestamp)
                    .map(|(from, to)| last.saturating_sub(from).min(to.saturating_sub(first)));
                depth.is_some_and(|depth| depth >= STEP_MS)
                    && partitions
                        .get(one.here)
                        .is_some_and(|there| !there.has_abort_about(abort, one.span.first_offset))
            })
            .map(|one| (Evidence::ProducersTimes, one))
    }

    /// A part elsewhere that was sent no later than the last records of this one, on the producer's clock, and committed with a
    /// marker that closed nothing here: too close for other clocks to tell.
    fn close<'c, 'a>(
        &self,
        partitions: &[Here<'_>],
        committed: &'c [Committed<'a>],
        times: SendTimes,
    ) -> Option<(Evidence, &'c Committed<'a>)> {
        let (abort, last) = self.span.marker_timestamp.zip(self.span.last_timestamp)?;
        let following = partitions.get(self.at)?.following(self.span.marker_offset?)?;
        let closes_nothing = following.outcome == Outcome::Committed && following.closes == Closes::Nothing;
        if !closes_nothing || times == SendTimes::Refuted || self.span.times != TimestampType::CreateTime {
            return None;
        }
        let mut others = self.others(committed, last.saturating_add(1), abort);
        let found = others.find(|one| {
            one.span.times == TimestampType::CreateTime
                && one.span.first_timestamp.is_some_and(|sent| sent <= last)
                && one.span.marker_timestamp.is_some_and(|end| {
                    end >= abort && end.abs_diff(following.time) <= TOGETHER_MS.unsigned_abs()
                })
                && partitions
                    .get(one.here)
                    .is_some_and(|there| !there.has_abort_about(abort, one.span.first_offset))
        });
        found.map(|one| (Evidence::CloseTimes, one))
    }

    /// Those in other partitions that had begun before a time, and had not ended before another.
    fn others<'c, 'a>(
        &self,
        committed: &'c [Committed<'a>],
        begun: i64,
        ended: i64,
    ) -> impl Iterator<Item = &'c Committed<'a>> {
        let behind = committed.partition_point(|one| one.begun < begun);
        let begun = committed.get(..behind).unwrap_or_default().iter().rev();
        begun.take_while(move |one| one.reach >= ended).take(MAX_UNDER_WAY).filter(|one| one.here != self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::fold_partitions;
    use crate::facts::{TransactionMetadata, TransactionStatus};
    use crate::judgement::decisions::tests::state;
    use crate::units::ClusterNumber;

    fn judged(scripts: &[&str]) -> Vec<(Severity, Confidence, usize)> {
        let all = fold_partitions(scripts);
        let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
        judged_with(&partitions, &Decisions::default())
    }

    fn judged_with(
        partitions: &[Partition<'_>],
        decisions: &Decisions,
    ) -> Vec<(Severity, Confidence, usize)> {
        let findings = judge(partitions, decisions);
        assert!(findings.iter().all(|finding| finding.code == Code::TransactionAnomaly));
        findings.iter().map(|one| (one.severity, one.confidence, one.transactions.len())).collect()
    }

    const SHOWN: (Severity, Confidence, usize) = (Severity::High, Confidence::Likely, 2);
    const NOTHING_CLOSED: (Severity, Confidence, usize) = (Severity::Medium, Confidence::Possible, 2);
    const BY_TIMES: (Severity, Confidence, usize) = (Severity::Low, Confidence::Possible, 2);

    #[test]
    fn two_outcomes_of_one_epoch_are_an_anomaly() {
        assert_eq!(judged(&["X 7/4 0..0; +M 7/5", "X 7/4 0..0; -M 7/5"]), [SHOWN]);
        assert!(judged(&["X 7/4 0..0; +M 7/5; X 7/5 0..0; -M 7/6", "X 7/5 0..0; -M 7/6"]).is_empty());
    }

    #[test]
    fn an_abort_by_hand_in_one_partition_and_the_producers_commit_elsewhere_are_an_anomaly() {
        let by_hand =
            ["X 7/4 0..0; wait 1h; -M 7/4; wait 60s; +M 7/4", "X 7/4 0..0; wait 1h; wait 60s; +M 7/4"];
        assert_eq!(judged(&by_hand), [NOTHING_CLOSED]);
    }

    /// The partition in which an operator aborted what the producer went on with.
    const WRITTEN_ON: &str = "X 7/4 0..0; wait 1h; -M 7/4; wait 1s; X 7/4 1..1; wait 60s; +M 7/4";

    #[test]
    fn a_producer_that_writes_on_behind_an_abort_by_hand_has_one_transaction_with_two_outcomes() {
        let elsewhere = "X 7/4 0..0; wait 1h; wait 61s; +M 7/4";
        assert_eq!(judged(&[WRITTEN_ON, elsewhere]), [BY_TIMES]);
        // Under protocol 2 the operator's marker has the epoch of the data, and the producer's the next.
        let of_protocol_two = [
            "X 7/4 0..0; wait 1h; -M 7/4; wait 1s; X 7/4 1..1; wait 60s; +M 7/5",
            "X 7/4 0..0; wait 1h; wait 61s; +M 7/5",
        ];
        assert_eq!(judged(&of_protocol_two), [BY_TIMES]);
    }

    #[test]
    fn a_brokers_clock_shows_that_the_other_part_was_under_way() {
        let marker_behind = "X 7/4 0..0; X 9/0 0..0; +M 9/0; wait 1h; wait 61s; +M 7/4";
        assert_eq!(judged(&[WRITTEN_ON, marker_behind]), [SHOWN]);
        let append_time = "append-time; X 7/4 0..0; wait 1h; wait 61s; +M 7/4";
        assert_eq!(judged(&[WRITTEN_ON, append_time]), [SHOWN]);
        // Whatever times the records have.
        let old_events = "wait -90d; X 7/4 0..0; wait 90d; X 9/0 0..0; +M 9/0; wait 1h; wait 61s; +M 7/4";
        assert_eq!(judged(&[WRITTEN_ON, old_events]), [SHOWN]);
    }

    #[test]
    fn the_coordinators_decisions_show_one_transaction_or_two() {
        let told = |scripts: &[&str], states: &[TransactionMetadata]| {
            let all = fold_partitions(scripts);
            let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
            let mut decisions = Decisions::asked(&partitions);
            for state in states {
                decisions.hear(ClusterNumber::default(), state);
            }
            judged_with(&partitions, &decisions)
        };
        let (commit, abort) = (TransactionStatus::PrepareCommit, TransactionStatus::PrepareAbort);
        let elsewhere = "X 7/4 0..0; wait 1h; wait 61s; +M 7/4";
        let one = [state(commit, 4, [0, 3661], &[0, 1])];
        assert_eq!(told(&[WRITTEN_ON, elsewhere], &one), [SHOWN]);
        // Also where the times of the records say nothing, which are those of events.
        let here = "wait 1h; X 7/4 0..0; wait 1s; -M 7/4; wait -1h; X 7/4 1..1; wait 1h; wait 20s; +M 7/4";
        let events = [here, "wait -90d; X 7/4 0..0; wait 90d; wait 1h; wait 21s; +M 7/4"];
        assert_eq!(told(&events, &[]), []);
        assert_eq!(told(&events, &[state(commit, 4, [3580, 3621], &[0, 1])]), [SHOWN]);
        // A decision that does not name the other partition says nothing of it.
        assert_eq!(told(&[WRITTEN_ON, elsewhere], &[state(commit, 4, [0, 3661], &[0])]), [BY_TIMES]);
        // The coordinator aborted the one, and committed a later one.
        let two = [state(abort, 4, [0, 3600], &[0, 1]), state(commit, 4, [3601, 3661], &[0, 1])];
        assert_eq!(told(&[WRITTEN_ON, elsewhere], &two), []);
    }

    #[test]
    fn an_epoch_whose_marker_is_missing_has_the_outcome_of_what_follows_it() {
        let aborted = "X 7/2 0..0; -M 7/3; X 7/3 0..0; +M 7/4";
        assert_eq!(judged(&["X 7/2 0..0; X 7/3 0..0; +M 7/4", aborted]), [SHOWN]);
        let committed = "X 7/2 0..0; +M 7/3; X 7/3 0..0; -M 7/4";
        assert_eq!(judged(&["X 7/2 0..0; X 7/3 0..0; -M 7/4", committed]), [SHOWN]);
        // With the same outcome, or none yet.
        assert_eq!(judged(&["X 7/2 0..0; X 7/3 0..0; -M 7/4", aborted]), [SHOWN], "of epoch 3");
        assert!(judged(&["X 7/2 0..0; X 7/3 0..0; +M 7/4", "X 7/2 0..0; +M 7/3"]).is_empty());
        assert!(judged(&["X 7/2 0..0; X 7/3 0..0", aborted]).is_empty());
    }

    #[test]
    fn what_lies_within_what_clocks_differ_by_is_possible() {
        for (data, wait) in [("1ms", "1ms"), ("1s", "1s"), ("9s", "2s")] {
            let here = format!("X 7/4 0..0; wait {data}; -M 7/4; wait {wait}; +M 7/4");
            let elsewhere = format!("X 7/4 0..0; wait {data}; wait {wait}; +M 7/4");
            assert_eq!(judged(&[&here, &elsewhere]), [BY_TIMES], "{data}");
            // The next transaction is sent behind the last record of the aborted one.
            let next = format!("wait 2ms; X 7/4 0..0; wait {data}; wait {wait}; +M 7/4");
            assert_eq!(judged(&[&here, &next]), [], "{data}");
            // The commit marker is of data here, or missing.
            let with_data = here.replace("; +M", "; X 7/4 1..1; +M");
            assert_eq!(judged(&[&with_data, &elsewhere]), [], "{data}");
            assert_eq!(judged(&[here.trim_end_matches("; +M 7/4"), &elsewhere]), [], "{data}");
        }
    }

    #[test]
    fn a_transaction_that_was_committed_before_the_aborted_one_began_is_none_of_its_parts() {
        let three = [
            "wait 2s; X 7/4 0..0; wait 1s; -M 7/4; wait 2s; +M 7/4",
            "X 7/4 0..0; wait 1s; +M 7/4; wait 3s; X 7/4 1..1; wait 1s; +M 7/4",
        ];
        assert!(judged(&three).is_empty());
    }

    #[test]
    fn an_aborted_transaction_and_a_later_one_without_data_here_are_innocent() {
        let two = [
            "X 7/4 0..0; wait 1h; -M 7/4; wait 60s; +M 7/4",
            "wait 1h; wait 30s; X 7/4 0..0; wait 30s; +M 7/4",
        ];
        assert!(judged(&two).is_empty());
    }

    #[test]
    fn the_next_transaction_is_none_of_the_parts_of_an_aborted_one() {
        let here = "wait 1h; X 7/4 0..0; wait 30s; -M 7/4; X 7/4 1..1; wait 30s; +M 7/4";
        for elsewhere in [
            // At once, with times that tie, a little before the abort (the batch waited), stamped by the leader.
            "wait 1h; wait 30s; X 7/4 0..0; wait 30s; +M 7/4",
            "wait 1h; wait 30s; wait 1ms; X 7/4 0..0; wait 30s; +M 7/4",
            "wait 1h; wait 25s; X 7/4 0..0; wait 35s; +M 7/4",
            "append-time; wait 1h; wait 29s; X 7/4 0..0; wait 31s; +M 7/4",
            // Behind the markers of another producer, which were there before.
            "X 9/0 0..0; +M 9/0; wait 1h; wait 30s; X 7/4 0..0; wait 30s; +M 7/4",
            // The coordinator's abort is here, too: of data, and of a partition that none was written to.
            "wait 1h; X 7/4 0..0; wait 30s; -M 7/4; X 7/4 1..1; wait 30s; +M 7/4",
            "wait 1h; wait 30s; -M 7/4; X 7/4 0..0; wait 30s; +M 7/4",
        ] {
            assert_eq!(judged(&[here, elsewhere]), [], "{elsewhere}");
        }
    }

    #[test]
    fn transactions_in_a_row_in_some_of_the_partitions_each_are_innocent() {
        let rows = [
            "X 7/4 0..0; wait 20s; +M 7/4; X 7/4 1..1; wait 20s; -M 7/4; wait 20s; X 7/4 2..2; wait 20s; +M 7/4",
            "X 7/4 0..0; wait 20s; +M 7/4; wait 20s; X 7/4 1..1; wait 20s; -M 7/4; X 7/4 2..2; wait 20s; +M 7/4",
            "wait 40s; X 7/4 0..0; wait 20s; -M 7/4; X 7/4 1..1; wait 20s; +M 7/4",
        ];
        assert_eq!(judged(&rows), []);
    }

    #[test]
    fn times_of_events_are_no_times_of_sending() {
        // The batch behind the abort is an hour older than the abort.
        let here = "wait 1h; X 7/4 0..0; wait 1s; -M 7/4; wait -1h; X 7/4 1..1; wait 1h; wait 5s; +M 7/4";
        let elsewhere = "X 7/4 0..0; wait 1h; wait 6s; +M 7/4";
        assert_eq!(judged(&[here, elsewhere]), []);
        // Only the one elsewhere is old, and the leader's clock there says so.
        let here = "wait 1h; X 7/4 0..0; wait 1s; -M 7/4; X 7/4 1..1; wait 5s; +M 7/4";
        let dated = "wait 1h; +M 9/0; wait -1h; X 7/4 0..0; wait 1h; wait 6s; +M 7/4";
        assert_eq!(judged(&[here, dated]), []);
        // Nothing says so: it may be.
        assert_eq!(judged(&[here, elsewhere]), [BY_TIMES]);
        // Aborted, and done again with the same times.
        let again = [
            "X 7/4 0..0; wait 5s; X 7/4 1..1; -M 7/4; wait -5s; X 7/4 2..2; wait 5s; X 7/4 3..3; +M 7/4",
            "wait 2s; X 7/4 0..0; wait 4s; +M 7/4",
        ];
        assert_eq!(judged(&again), []);
    }

    #[test]
    fn parts_that_were_sent_in_turn_belong_together_if_the_times_are_those_of_sending() {
        // The commit came here long after, because the broker was down.
        let here = "+M 9/0; X 7/4 0..0; wait 5s; X 7/4 1..1; wait 1h; -M 7/4; wait 2h; +M 7/4";
        let elsewhere = "wait 2s; X 7/4 0..0; wait 5s; X 7/4 1..1; wait 1h; wait 60s; +M 7/4";
        assert_eq!(judged(&[here, elsewhere]), [BY_TIMES]);
        let without_clock = here.replace("+M 9/0; ", "");
        assert_eq!(judged(&[&without_clock, "wait 4s; X 7/4 0..0; wait 1ms; X 7/4 1..1; +M 7/4"]), []);
        // By less than a clock may be set back.
        let close = "wait 5s; X 7/4 0..0; wait 5s; X 7/4 1..1; wait 1h; wait 60s; +M 7/4";
        assert_eq!(judged(&[here, close]), []);
    }

    #[test]
    fn an_old_hanging_part_that_is_aborted_by_hand_is_none_of_the_later_transactions() {
        let hanging = "X 7/4 0..0; wait 1s; +M 7/4; X 7/4 1..1; wait 1h; -M 7/4; wait 1h; X 7/4 2..2; +M 7/4";
        let elsewhere = "X 7/4 0..0; wait 1s; +M 7/4; wait 60s; X 7/4 1..1; wait 60s; +M 7/4; wait 1h; wait 1h; \
                         X 7/4 2..2; +M 7/4";
        assert_eq!(judged(&[hanging, elsewhere]), []);
    }
}
