//! The answer in sentences: one headline, and three to six sentences for a ticket.
//!
//! Goes in: a report that is filled but for its verdict. Everything that is said stands in the
//! findings, the coverage and the topics; nothing is concluded here. The headline names what is
//! stored and, as far as the finding is sure, how it came about. The last sentence always says how
//! much was read, because "nothing found" means little without it.

mod headline;
mod phrases;

use self::phrases::Strictness;
use super::answer::Reading;
use super::explain;
use super::how_read::HowRead;
use super::model::{Report, TopicReport, Updates, Verdict};
use super::wording::{self, counted, listed, number, opening, topics};
use crate::finding::{Code, Confidence, Finding, Severity};

/// Most sentences that people read before they scroll on.
const MOST_SENTENCES: usize = 6;
/// Most codes that are named one by one beside the worst finding.
const MOST_OTHERS: usize = 4;

/// The verdict over a report whose other parts are filled. `verdict.complete` and
/// `verdict.interrupted` are taken from the report; `findings` counts those at or above `fail_on`
/// (`None`: none counts).
#[must_use]
pub fn of(report: &Report, fail_on: Option<Severity>) -> Verdict {
    let counts = |finding: &&Finding| fail_on.is_some_and(|least| finding.severity >= least);
    let mut sentences = match worst(&report.findings) {
        Some(worst) => about_findings(worst, report),
        None => about_nothing(report),
    };
    sentences.extend(protection(report));
    // How much was read is said whatever else there is to say.
    sentences.truncate(MOST_SENTENCES - 1);
    let reading = Reading::of_verdict(&report.verdict);
    sentences.push(HowRead::of(&report.coverage, reading).sentence(&report.coverage));
    Verdict {
        findings: report.findings.iter().filter(counts).count() as u64,
        complete: report.verdict.complete,
        interrupted: report.verdict.interrupted,
        headline: headline::of(report),
        sentences,
    }
}

/// Whether the findings of a code say that events are stored more than once.
const fn is_duplicate(code: Code) -> bool {
    matches!(
        code,
        Code::RetryWithoutIdempotence
            | Code::ResendNewSession
            | Code::ConcurrentProducers
            | Code::ResendSameSession
            | Code::EpochBumpResend
            | Code::BrokerDedupLost
            | Code::ProducerIdCollision
            | Code::MisplacedBatch
            | Code::PipelineReplay
            | Code::RestoredCopy
            | Code::AbortedThenRetried
            | Code::DuplicateUndetermined
    )
}

/// The findings that say that events are stored more than once, and that nobody meant it so.
pub(super) fn duplicates(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(|finding| {
        is_duplicate(finding.code) && finding.severity > Severity::Info && finding.counts.surplus_records > 0
    })
}

/// What the headline is about: the worst, among equals duplicates first, then the largest, then as
/// the report has them.
pub(super) fn worst<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Option<&'f Finding> {
    let rank = |finding: &Finding| {
        (finding.severity, is_duplicate(finding.code), finding.counts.surplus_records, finding.confidence)
    };
    findings.into_iter().reduce(|best, next| if rank(next) > rank(best) { next } else { best })
}

fn about_findings(worst: &Finding, report: &Report) -> Vec<String> {
    let mut sentences = vec![what(worst, report)];
    sentences.extend(readers(report));
    sentences.push(sureness(worst));
    if let Some(cause) = &worst.cause {
        let how = match cause.confidence {
            Confidence::Certain | Confidence::Other(_) => "Cause",
            Confidence::Likely => "Likely cause",
            Confidence::Possible => "Possible cause",
        };
        sentences.push(format!("{how}: {}.", phrases::fit(&cause.text)));
    }
    sentences.extend(others(worst, &report.findings));
    sentences
}

/// What the worst finding says, with its numbers, place and time.
fn what(worst: &Finding, report: &Report) -> String {
    let copies = worst.counts.surplus_records;
    if !is_duplicate(worst.code) || copies == 0 {
        return format!("{}.", opening(&phrases::fit(&worst.title), &worst.topics));
    }
    let several = duplicates(&report.findings).count();
    let subject = match several {
        0 | 1 => String::new(),
        _ if headline::is_alone_in_kind(worst, report) => format!("One of {several} findings of this kind: "),
        _ => "The most serious finding: ".to_owned(),
    };
    if worst.code == Code::AbortedThenRetried {
        return format!("{}.", opening(&phrases::fit(&worst.title), &worst.topics));
    }
    let written = phrases::written(worst, copies);
    format!(
        "{subject}{} of {} in {}{written}.",
        counted(copies, "surplus record"),
        counted(worst.counts.groups, "event"),
        topics(&worst.topics),
    )
}

/// What consumers get of the surplus, over all findings.
fn readers(report: &Report) -> Option<String> {
    let (surplus, committed) = duplicates(&report.findings).fold((0_u64, 0_u64), |(all, seen), finding| {
        (
            all.saturating_add(finding.counts.surplus_records),
            seen.saturating_add(finding.counts.surplus_committed),
        )
    });
    if surplus == 0 {
        return None;
    }
    Some(if committed >= surplus {
        if surplus == 1 {
            "Consumers of both isolation levels see the surplus record.".to_owned()
        } else {
            format!("Consumers of both isolation levels see all {} surplus records.", number(surplus))
        }
    } else {
        format!(
            "A read_committed consumer sees {} of the {}, a read_uncommitted one all of them.",
            if committed == 0 { "none".to_owned() } else { number(committed) },
            counted(surplus, "surplus record"),
        )
    })
}

/// How sure the mechanism is, and which rivals are left; what a single fact means.
fn sureness(worst: &Finding) -> String {
    let rivals: Vec<_> =
        worst.alternatives.iter().filter(|rival| rival.kept).map(|rival| phrases::fit(&rival.code)).collect();
    let left = if rivals.is_empty() { String::new() } else { format!("; not excluded: {}", listed(&rivals)) };
    let (code, sure) = (worst.code, worst.confidence);
    if !is_duplicate(code) {
        // What is certain has no rival; those that are kept are about what led to it.
        let left = if sure == Confidence::Certain { "" } else { &left };
        return format!("{code} ({sure}{left}) means: {}.", explain::of(code).meaning);
    }
    let says = match worst.confidence {
        Confidence::Certain => "The files leave no other explanation",
        Confidence::Other(_) => "How sure that is, a later version says in a word of its own",
        Confidence::Likely => "This explains best what the files show",
        Confidence::Possible => "The files allow this explanation, and others as well",
    };
    format!("{says} ({code}, {sure}{left}).")
}

/// The other findings by code, the worst first; those at info only as a number.
fn others(worst: &Finding, findings: &[Finding]) -> Option<String> {
    let mut codes: Vec<(Severity, Code, u64)> = Vec::new();
    let mut infos = 0_u64;
    for finding in findings.iter().filter(|finding| !std::ptr::eq(*finding, worst)) {
        if finding.severity == Severity::Info {
            infos += 1;
            continue;
        }
        match codes
            .iter_mut()
            .find(|(severity, code, _)| (*severity, *code) == (finding.severity, finding.code))
        {
            Some((_, _, count)) => *count += 1,
            None => codes.push((finding.severity, finding.code, 1)),
        }
    }
    codes.sort_by_key(|&(severity, code, _)| (std::cmp::Reverse(severity), code));
    let mut said: Vec<_> = codes
        .iter()
        .take(MOST_OTHERS)
        .map(|(severity, code, count)| match count {
            1 => format!("{code} ({severity})"),
            _ => format!("{} × {code} ({severity})", number(*count)),
        })
        .collect();
    let rest: u64 = codes.iter().skip(MOST_OTHERS).map(|(_, _, count)| count).sum();
    if rest > 0 {
        said.push(format!("{} more", number(rest)));
    }
    if infos > 0 {
        said.push(format!("{} at info", number(infos)));
    }
    if said.is_empty() { None } else { Some(format!("Also found: {}.", listed(&said))) }
}

/// What was looked for where nothing was found, and where to look next.
fn about_nothing(report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    let judged: Vec<_> = ordinary(report).filter(|topic| topic.identity.is_some()).collect();
    let records: u64 = ordinary(report).map(|topic| topic.visibility.read_uncommitted.records).sum();
    if records > 0 && judged.is_empty() {
        sentences.push(
            "Only batch headers were read: sequences, transactions and protection were checked, contents were not \
             compared."
                .to_owned(),
        );
    } else if let [topic] = judged.as_slice()
        && let Some(identity) = &topic.identity
    {
        sentences.push(format!(
            "Two records of {} count as one event when {}.",
            phrases::topic(topic),
            agreement(&identity.key, report),
        ));
    } else if !judged.is_empty() {
        sentences.push(
            "What makes two records the same event was decided for each topic; the report says how."
                .to_owned(),
        );
    }
    let (with_new, without): (Vec<_>, Vec<_>) =
        ordinary(report).map(|topic| &topic.updates).partition(|updates| updates.keys > 0);
    for (updates, meaning) in
        [(with_new, "updates, no duplicates"), (without, "a state, or a deletion, is written more than once")]
    {
        let sum = Updates {
            keys: updates.iter().fold(0_u64, |sum, updates: &&Updates| sum.saturating_add(updates.keys)),
            records: updates
                .iter()
                .fold(0_u64, |sum, updates: &&Updates| sum.saturating_add(updates.records)),
        };
        if sum.records > 0 {
            sentences.push(format!("{}: {meaning}.", wording::updates(&sum)));
        }
    }
    if report.verdict.complete && !report.verdict.interrupted && !judged.is_empty() && records > 0 {
        sentences.push(
            "If a consumer handled an event twice all the same, it read it twice, the copies differ in more than \
             volatile fields, or one of them is in a partition that was not given."
                .to_owned(),
        );
    }
    sentences
}

/// When two records count as one event.
pub(super) fn agreement(key: &str, report: &Report) -> String {
    let strict = match report.invocation.options.get("strictKey") {
        Some(serde_json::Value::Bool(true)) => Strictness::KeyAlone,
        _ => Strictness::KeyAndContent,
    };
    phrases::agreement(key, strict)
}

/// The same where nobody asked for keys alone.
pub(super) fn agreement_of(key: &str) -> String {
    phrases::agreement(key, Strictness::KeyAndContent)
}

fn ordinary(report: &Report) -> impl Iterator<Item = &TopicReport> {
    report.topics.iter().filter(|topic| !topic.internal)
}

/// Records of some topics by what protects them; replicas count once.
#[derive(Clone, Copy, Debug, Default)]
struct Protected {
    records: u64,
    unprotected: u64,
    legacy: u64,
}

impl Protected {
    fn of<'a>(topics: impl Iterator<Item = &'a TopicReport>) -> Self {
        let mut sum = Self::default();
        for partition in topics.flat_map(|topic| &topic.partitions).filter(|part| part.replica_of.is_none()) {
            sum.records = sum.records.saturating_add(partition.records);
            sum.unprotected = sum.unprotected.saturating_add(partition.protection.unprotected_records);
            sum.legacy = sum.legacy.saturating_add(partition.protection.legacy_records);
        }
        sum
    }
}

/// Whether retries could have been recognised at all.
fn protection(report: &Report) -> Option<String> {
    // How programs of Kafka write their own state is nobody's to set.
    let events = ordinary(report).filter(|topic| !topic.holds_state);
    let Protected { records, unprotected, legacy } = Protected::of(events);
    if records == 0 {
        return None;
    }
    if unprotected > 0 {
        let verb = if unprotected == 1 { "lacks" } else { "lack" };
        return Some(if unprotected == records {
            format!(
                "None of {} carries a producer id: a broker could not recognise a retry.",
                counted(records, "record")
            )
        } else {
            format!(
                "{} of {} {verb} a producer id: a broker could not recognise a retry of these.",
                number(unprotected),
                counted(records, "record"),
            )
        });
    }
    if legacy > 0 {
        return Some(format!(
            "{} of {} are in an old format that cannot carry a producer id.",
            number(legacy),
            counted(records, "record"),
        ));
    }
    let doubtful = report.findings.iter().any(|finding| {
        matches!(
            finding.code,
            Code::IdempotenceIneffective
                | Code::BrokerDedupLost
                | Code::ProducerIdCollision
                | Code::MisplacedBatch
                | Code::SequenceAnomaly
        )
    });
    // A client that begins a new epoch and sends what it had in flight repeats itself past the broker's check.
    if !doubtful && report.findings.iter().any(|finding| finding.code == Code::EpochBumpResend) {
        return Some(
            "Every record carries a producer id, but sequences begin anew with each epoch: a repeat under a newer one is not \
             recognised."
                .to_owned(),
        );
    }
    // Beside a transaction that was rolled back, and nothing else, it would point at the application.
    let rolled_back = worst(&report.findings).is_some_and(|worst| worst.code == Code::AbortedThenRetried);
    (!doubtful && !rolled_back).then(|| {
        "Every record carries a producer id: idempotence was on, so a client's retries are not stored twice; a resend by an \
         application is."
            .to_owned()
    })
}

#[cfg(test)]
mod tests;
