//! Parts of sentences: one phrase a code, in words that need no manual.

use crate::finding::{Code, Confidence, Finding, GapReason, Severity};
use crate::report::escape::Terminal;
use crate::report::model::TopicReport;
use crate::report::wording;

/// Columns that a phrase of the judgement may take in a sentence.
const PHRASE_COLUMNS: usize = 400;

/// How events came to be stored twice; `None` where the code does not say that they are.
pub(super) const fn how(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::RetryWithoutIdempotence => {
            "a client repeated its writes, and nothing was in place to recognise them"
        }
        Code::ResendNewSession => "a second producer session sent them again",
        Code::ConcurrentProducers => "producers whose lives overlap each sent them",
        Code::ResendSameSession => "the application sent them again",
        Code::EpochBumpResend => "a producer wrote its last records again under a newer epoch",
        Code::BrokerDedupLost => "a broker stored repeats that it no longer recognised",
        Code::ProducerIdCollision => "two different producers wrote under one producer id",
        Code::MisplacedBatch => "a client sent a batch to the wrong place",
        Code::PipelineReplay => "a pipeline wrote part of its output again",
        Code::RestoredCopy => "files were copied from one place to another",
        _ => return None,
    })
}

/// What a finding that is not about surplus copies says about its topics.
pub(super) fn single(finding: &Finding, topics: &str) -> String {
    let hedge = hedge(finding.confidence);
    match finding.code {
        Code::IdempotenceOff => {
            format!("records in {topics} were written without protection against retries")
        }
        Code::IdempotenceLost if finding.confidence == Confidence::Possible => {
            format!("a few records in {topics} were written without protection against retries")
        }
        Code::IdempotenceLost => {
            let since = finding.window.as_ref().and_then(|window| window.first_timestamp);
            let since =
                since.map(|at| format!(" at {} UTC", wording::time(Some(at), None))).unwrap_or_default();
            format!("protection against retries was lost in {topics}{since}")
        }
        Code::IdempotenceIneffective => format!("a broker could not have recognised a retry in {topics}"),
        Code::SequenceGap
            if !finding.gaps.is_empty()
                && finding.gaps.iter().all(|gap| gap.reason == GapReason::MissingSegment) =>
        {
            format!("a segment file of {topics} is {hedge}missing, and the records in it with it")
        }
        Code::SequenceGap => format!(
            "records may be missing in {topics}: a producer's numbering has a hole that nothing innocent explains"
        ),
        Code::SequenceGapExplained if finding.severity == Severity::Info => {
            format!("a producer's numbering has holes in {topics} that something innocent explains")
        }
        Code::SequenceGapExplained if finding.confidence == Confidence::Likely => {
            format!("sequences in {topics} go on from a deleted log of the same name")
        }
        Code::SequenceGapExplained => match finding.gaps.len() as u64 + finding.gaps_omitted {
            1 => format!(
                "a producer's numbering has a hole in {topics} of which nobody can tell whether it is a loss"
            ),
            _ => format!(
                "a producer's numbering has holes in {topics} of which nobody can tell whether they are losses"
            ),
        },
        Code::SequenceAnomaly => {
            format!(
                "a producer's records in {topics} are {hedge}numbered in a way that a healthy broker refuses"
            )
        }
        Code::OffsetGap if finding.severity <= Severity::Low => {
            format!(
                "offsets are missing in {topics}, and nobody can tell whether {} took them or a loss",
                if finding.keeps("retention") { "retention" } else { "the cleaner" }
            )
        }
        Code::OffsetGap => {
            format!("records are {hedge}missing in {topics}: the log has a hole, or ends too early")
        }
        Code::OffsetReuse => format!("two different records claim the same place in {topics}"),
        Code::OrderBroken => format!("records in {topics} are {hedge}stored in the wrong order"),
        Code::SnapshotMismatch => {
            format!("what a broker remembers of its producers does not fit the log of {topics}")
        }
        Code::IndexMismatch => format!("an index contradicts the log of {topics}"),
        Code::ProducerIdCollision => format!(
            "in {topics} {hedge}{}, and records that were acknowledged may be missing",
            how(finding.code).unwrap_or_default()
        ),
        Code::TransactionOpen if finding.drops("running") => {
            format!(
                "a transaction that is over has no end in {topics}, and readers of committed data stop there"
            )
        }
        Code::TransactionOpen if finding.confidence == Confidence::Possible => {
            format!("a transaction in {topics} may be open, and hold up readers of committed data")
        }
        Code::TransactionOpen => match finding.transactions.len() {
            0 | 1 => {
                format!("a transaction in {topics} is open, and readers of committed data wait for it")
            }
            many => format!(
                "{many} transactions in {topics} are open, and readers of committed data wait for them"
            ),
        },
        Code::TransactionAnomaly if finding.confidence == Confidence::Possible => {
            format!("a transaction in {topics} may not have stayed whole")
        }
        Code::TransactionAnomaly => format!("a transaction in {topics} {hedge}did not stay whole"),
        Code::MisroutedKey => {
            format!("some keyed records in {topics} are {hedge}in another partition than their rule says")
        }
        Code::ProducerChurn => format!("producers of {topics} come and go faster than a broker can remember"),
        Code::ReplicaDivergence if finding.confidence == Confidence::Possible => {
            format!("what may be replicas of {topics} holds different records")
        }
        Code::ReplicaDivergence => format!("replicas of {topics} hold different records"),
        Code::OldLeaderTail if finding.severity == Severity::Info => {
            format!("a replica of {topics} ends in records of an older leader, which nobody misses")
        }
        Code::OldLeaderTail => {
            format!("a replica of {topics} ends in records of an older leader that stand nowhere else")
        }
        Code::LeaderEpochAnomaly => {
            format!("the log of {topics} is put together in an order that no leader wrote")
        }
        Code::InterleavedWriters => format!("two writers keep updating the same keys in {topics}"),
        Code::ConsumerRewind if finding.confidence == Confidence::Possible => {
            format!("a consumer group went back in {topics}: whether it read records twice is not shown")
        }
        Code::ConsumerRewind => {
            format!("a consumer group went back in {topics}, and was to read records again")
        }
        Code::AbortedNotRetried => {
            format!("events of aborted transactions in {topics} were not written again in what was read")
        }
        Code::AbortedThenRetried => format!("an aborted copy stands beside the later one in {topics}"),
        Code::DuplicateUndetermined => format!("events are stored more than once in {topics}"),
        Code::Other(_) => format!("a finding of a later version in {topics}"),
        Code::RetryWithoutIdempotence
        | Code::ResendNewSession
        | Code::ConcurrentProducers
        | Code::ResendSameSession
        | Code::EpochBumpResend
        | Code::BrokerDedupLost
        | Code::MisplacedBatch
        | Code::PipelineReplay
        | Code::RestoredCopy => {
            format!("in {topics} {hedge}{}", how(finding.code).unwrap_or_default())
        }
    }
}

/// A word in front of what is not certain.
pub(super) const fn hedge(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain | Confidence::Other(_) => "",
        Confidence::Likely => "probably ",
        Confidence::Possible => "possibly ",
    }
}

/// `, with times 2023-11-14 22:13:20.005 – 22:13:21.000 UTC`.
pub(super) fn written(finding: &Finding, copies: u64) -> String {
    let Some(window) = &finding.window else { return String::new() };
    let span = wording::span(window.first_timestamp, window.last_timestamp);
    match (span.is_empty(), copies) {
        (true, _) => String::new(),
        (false, 1) if finding.keeps_times() => {
            format!(", with the record time {span} UTC of what it repeats")
        }
        (false, _) if finding.keeps_times() => {
            format!(", with the record times {span} UTC of what they repeat")
        }
        (false, 1) => format!(", with the time {span} UTC"),
        (false, _) => format!(", with times {span} UTC"),
    }
}

/// When two records count as one event.
pub(super) fn agreement(key: &str, strict: Strictness) -> String {
    let key = match key {
        "content" => return "their contents agree".to_owned(),
        "record-key" => "record key".to_owned(),
        other => wording::name(other),
    };
    match strict {
        Strictness::KeyAlone => format!("their {key} agrees"),
        Strictness::KeyAndContent => format!("their {key} and their content agree, volatile fields aside"),
    }
}

/// Whether a repeat of the key with new content is an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    KeyAndContent,
    KeyAlone,
}

/// A topic in a sentence.
pub(super) fn topic(topic: &TopicReport) -> String {
    format!("topic {}", wording::name(&topic.topic))
}

/// A phrase of the judgement, which may hold foreign text, without its full stop.
pub(super) fn fit(phrase: &str) -> String {
    Terminal::text(phrase.trim_end_matches('.')).cut(PHRASE_COLUMNS).to_string()
}
