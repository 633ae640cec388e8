//! What the coordinator knew of a transaction that has no end in a log.
//!
//! Goes in: the newest value of each transactional id in `__transaction_state`, as far as that topic is
//! among the files. Comes out: whether somebody is going to end the transaction. The files may be of
//! different moments, so a value of an earlier epoch than the data says nothing, and neither does one that decides or ends
//! something and is older than the data: a transaction that runs has a value from before its first record.
//!
//! Source: `TransactionMetadata`, `TransactionCoordinator.abortTimedOutTransactions`; KIP-98, KIP-890,
//! and KIP-939 for transactions that wait for a second phase.

use super::decisions::STEP_MS;
use super::draft::at;
use crate::facts::{
    Outcome, PartitionContext, TransactionMetadata, TransactionSpan, TransactionStatus, TransactionalIds,
};
use crate::finding::phrase::{duration, moment};
use crate::units::ProducerEpoch;

/// The timeout that marks a two-phase commit.
const NEVER: i32 = i32::MAX;

/// What the coordinator is going to do, and how that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) id: String,
    pub(super) fate: Fate,
    /// How it ended what it last had from the producer, where that was behind the data; `Open` where it ended this one,
    /// too, nobody knows how.
    pub(super) last: Option<Outcome>,
    /// When its newest value says that a transaction began.
    pub(super) begun: Option<i64>,
    pub(super) fact: String,
    /// The same where it is known otherwise that this one was ended.
    pub(super) fact_if_ended: String,
}

/// What the coordinator decided about a transaction whose marker is not in the log.
pub(super) fn decided_before(
    context: &PartitionContext,
    span: &TransactionSpan,
    (outcome, time): (Outcome, i64),
) -> String {
    let decided = match outcome {
        Outcome::Committed => "commit",
        Outcome::Aborted | Outcome::Open => "abort",
    };
    format!(
        "{}-{}: the coordinator decided to {decided} this transaction of producer {} at {}, and __transaction_state names the \
         partition: its marker was not written here yet (or not when this log was copied), was never written here, or was lost with the end of a log (an unclean \
         election, a cut); the files do not tell which",
        context.topic,
        context.partition,
        span.producer_id,
        at(Some(time))
    )
}

/// What the coordinator is going to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It has the transaction as running, and aborts it at this time; `None` where it never does.
    Runs(Option<i64>),
    /// It has decided, and writes the markers.
    Decided,
    /// It knows of no transaction here that it would have to end.
    Unknown,
    /// What is known of it is older than the records.
    Older,
}

/// What is known of one transaction; nothing where the newest value is not among the files.
pub(super) fn of(
    ids: &[&TransactionalIds],
    context: &PartitionContext,
    span: &TransactionSpan,
) -> Option<Told> {
    let ids = ids.get(usize::try_from(context.cluster.0).ok()?)?;
    let mut users = ids.of_producer(span.producer_id);
    let name = users.next().filter(|_| users.next().is_none())?;
    let state = ids.get(name)?.last.as_ref()?;
    if state.producer_id == span.producer_id && state.producer_epoch < span.producer_epoch {
        return None;
    }
    let epoch = state.producer_epoch.map(|epoch| format!(" epoch {epoch}")).unwrap_or_default();
    let newest = format!(
        "the newest value of {name} in __transaction_state (producer {}{epoch}, written {})",
        state.producer_id,
        at(state.last_update.map(|time| time.0))
    );
    let same = state.producer_id == span.producer_id && state.producer_epoch == span.producer_epoch;
    let here = state
        .partitions
        .iter()
        .any(|(topic, partitions)| *topic == context.topic && partitions.contains(&context.partition));
    // The clock of the producer may be ahead of that of the coordinator.
    let written = span.first_timestamp.map(|first| first.saturating_sub(STEP_MS));
    let is_older = state.last_update.zip(written).is_some_and(|(update, written)| update.0 < written);
    let (fate, says) = match state.status {
        status if is_older && status != TransactionStatus::Ongoing => (
            Fate::Older,
            format!("is {}, and older than these records: it says nothing of them", word(status)),
        ),
        TransactionStatus::Ongoing if same && here => runs(state),
        TransactionStatus::PrepareCommit if here => (Fate::Decided, decided("commit")),
        TransactionStatus::PrepareAbort if here => (Fate::Decided, decided("abort")),
        TransactionStatus::Unknown(_) | TransactionStatus::Dead | TransactionStatus::PrepareEpochFence => {
            return None;
        }
        _ => (
            Fate::Unknown,
            format!(
                "is {} and names no running transaction here: unless a later value, or a marker, is missing in these files, \
                 nobody is going to end this one",
                word(state.status)
            ),
        ),
    };
    // The clock of the producer may be behind that of the coordinator.
    let data = span.last_timestamp.map(|data| data.saturating_add(STEP_MS));
    let behind = data.zip(state.last_update).is_some_and(|(data, update)| data <= update.0);
    let is_next = is_next(state.producer_epoch, span.producer_epoch);
    let last = match state.status {
        TransactionStatus::CompleteCommit if is_next => Some(Outcome::Committed),
        // Of protocol 1, where one before it may be the one that has no end here.
        TransactionStatus::CompleteCommit if same => Some(Outcome::Open),
        TransactionStatus::CompleteAbort if same || is_next => Some(Outcome::Aborted),
        _ => None,
    };
    let last = last.filter(|_| behind);
    let fact_if_ended = match fate {
        Fate::Unknown => format!("{newest} is {} and names no running transaction here", word(state.status)),
        Fate::Runs(_) | Fate::Decided | Fate::Older => format!("{newest} {says}"),
    };
    let begun = state.start.map(|time| time.0).filter(|time| *time > 0);
    Some(Told { id: name.to_owned(), fate, last, begun, fact: format!("{newest} {says}"), fact_if_ended })
}

/// Whether the newest value is of the epoch with which protocol 2, and a fence, end that of the data.
fn is_next(state: Option<ProducerEpoch>, data: Option<ProducerEpoch>) -> bool {
    state.zip(data).is_some_and(|(state, data)| state.is_next_of(data))
}

fn decided(outcome: &str) -> String {
    format!("has decided to {outcome}: the marker here is still to be written")
}

fn runs(state: &TransactionMetadata) -> (Fate, String) {
    let since = state.start.map(|time| time.0);
    let begun = since.and_then(moment).map(|time| format!(", begun {time}")).unwrap_or_default();
    if state.timeout_ms == NEVER {
        return (
            Fate::Runs(None),
            format!("is Ongoing{begun}, and waits for the second phase of a commit: no timeout ends it"),
        );
    }
    let timeout = i64::from(state.timeout_ms);
    let limit = since.map(|since| since.saturating_add(timeout));
    let ends =
        limit.and_then(moment).map(|time| format!(": at about {time} the coordinator aborts it, if it runs"));
    (
        Fate::Runs(limit),
        format!("is Ongoing{begun}, with a timeout of {}{}", duration(timeout), ends.unwrap_or_default()),
    )
}

const fn word(status: TransactionStatus) -> &'static str {
    match status {
        TransactionStatus::Empty => "Empty",
        TransactionStatus::Ongoing => "Ongoing",
        TransactionStatus::PrepareCommit => "PrepareCommit",
        TransactionStatus::PrepareAbort => "PrepareAbort",
        TransactionStatus::CompleteCommit => "CompleteCommit",
        TransactionStatus::CompleteAbort => "CompleteAbort",
        TransactionStatus::Dead => "Dead",
        TransactionStatus::PrepareEpochFence => "PrepareEpochFence",
        TransactionStatus::Unknown(_) => "of a later release",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::{START, fold_in};
    use crate::finding::{Finding, Severity};
    use crate::judgement::transactions::judge;
    use crate::judgement::{Beside, Decisions};
    use crate::units::Offset;

    /// The state of `tx` with producer 7.
    fn ids(epoch: i16, status: i8, timeout_ms: i32, topic: Option<&str>) -> TransactionalIds {
        let key = [0, 0, 0, 2, b't', b'x'];
        let mut value = vec![0, 0];
        value.extend(7_i64.to_be_bytes());
        value.extend(epoch.to_be_bytes());
        value.extend(timeout_ms.to_be_bytes());
        value.push(u8::try_from(status).unwrap());
        match topic {
            None => value.extend((-1_i32).to_be_bytes()),
            Some(topic) => {
                value.extend(1_i32.to_be_bytes());
                value.extend(i16::try_from(topic.len()).unwrap().to_be_bytes());
                value.extend(topic.as_bytes());
                value.extend(1_i32.to_be_bytes());
                value.extend(0_i32.to_be_bytes());
            }
        }
        value.extend(START.to_be_bytes());
        value.extend(START.to_be_bytes());
        let mut ids = TransactionalIds::default();
        ids.fold(Offset(0), Some(&key), Some(&value)).unwrap();
        ids
    }

    fn open(ids: &TransactionalIds, now: i64) -> Finding {
        let (context, facts) = fold_in(PartitionContext::default(), "X 7/1 0..2");
        let decisions = Decisions::default();
        let beside = Beside { ids: &[ids], decisions: &decisions, continued: &[], as_of: Some(START + now) };
        judge(&[(&context, &facts)], beside).remove(0)
    }

    fn says(finding: &Finding, words: &str) -> bool {
        finding.facts.iter().chain(&finding.advice).any(|line| line.contains(words))
    }

    #[test]
    fn an_ongoing_transaction_is_aborted_at_its_timeout() {
        let running = open(&ids(1, 1, 60_000, Some("orders")), 5_000);
        let of_a_copy = |now| {
            let ids = ids(1, 1, 60_000, Some("orders"));
            let context = PartitionContext { clean_shutdown: Some(false), ..PartitionContext::default() };
            let (context, facts) = fold_in(context, "X 7/1 0..2");
            let beside = Beside {
                ids: &[&ids],
                decisions: &Decisions::default(),
                continued: &[],
                as_of: Some(START + now),
            };
            judge(&[(&context, &facts)], beside).remove(0).severity
        };
        assert_eq!([of_a_copy(60_000), of_a_copy(60_001)], [Severity::Info, Severity::Medium]);
        assert_eq!(running.severity, Severity::Medium);
        assert!(
            says(&running, "is Ongoing, begun 2026-01-01 00:00:00.000 UTC, with a timeout of 60 s"),
            "{running:#?}"
        );
        assert!(says(
            &running,
            "wait: the coordinator aborts it by itself at about 2026-01-01 00:01:00.000 UTC"
        ));
        assert!(!says(&running, "transaction.max.timeout.ms"));
        let overdue = open(&ids(1, 1, 60_000, Some("orders")), 90_000);
        assert!(
            says(&overdue, "that is 30 s before 2026-01-01 00:01:30.000 UTC, which stands for now"),
            "{overdue:#?}"
        );
        assert!(!says(&overdue, "wait:"));
        assert!(says(&open(&ids(1, 1, NEVER, Some("orders")), 0), "no timeout ends it"));
    }

    #[test]
    fn one_that_the_coordinator_has_ended_or_does_not_know_here_hangs() {
        for state in [ids(2, 5, 60_000, None), ids(1, 1, 60_000, Some("others"))] {
            assert!(says(&open(&state, 5_000), "names no running transaction here"));
        }
        assert!(says(&open(&ids(1, 3, 60_000, Some("orders")), 0), "has decided to abort"));
    }

    #[test]
    fn a_decision_from_before_the_records_is_about_others() {
        for status in [2, 3, 4, 5, 0] {
            let told = |script: &str| {
                let ids = ids(1, status, 60_000, Some("orders"));
                let (context, facts) = fold_in(PartitionContext::default(), script);
                let decisions = Decisions::default();
                let beside = Beside {
                    ids: &[&ids],
                    decisions: &decisions,
                    continued: &[],
                    as_of: Some(START + 9_000),
                };
                judge(&[(&context, &facts)], beside).remove(0)
            };
            let newer = told("wait 7s; X 7/1 0..2");
            assert!(says(&newer, "older than these records: it says nothing of them"), "{newer:#?}");
            for words in
                ["has decided to", "nobody is going to end this one", "its coordinator writes the marker"]
            {
                assert!(!says(&newer, words), "{newer:#?}");
            }
            assert!(says(&newer, "it may be running"), "{newer:#?}");
            assert!(!says(&told("X 7/1 0..2"), "says nothing of them"));
        }
        // One that runs was known before its first record.
        let ids = ids(1, 1, 60_000, Some("orders"));
        let (context, facts) = fold_in(PartitionContext::default(), "wait 7s; X 7/1 0..2");
        let beside = Beside { ids: &[&ids], decisions: &Decisions::default(), continued: &[], as_of: None };
        assert!(says(&judge(&[(&context, &facts)], beside).remove(0), "is Ongoing, begun"));
    }

    #[test]
    fn a_value_of_before_the_data_and_one_that_is_not_here_say_nothing() {
        for state in [ids(0, 5, 60_000, None), TransactionalIds::default()] {
            assert!(says(&open(&state, 5_000), "it may be running"));
        }
    }
}
