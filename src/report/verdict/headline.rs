//! One sentence that says what is stored and, as far as that is sure, how it came about.

use super::{Protected, duplicates, is_duplicate, ordinary, phrases, worst};
use crate::finding::{Code, Confidence, Finding, Severity};
use crate::report::model::Report;
use crate::report::wording::{absent, counted, number, topics};
use std::collections::BTreeSet;

pub(super) fn of(report: &Report) -> String {
    let said = match worst(&report.findings) {
        found if is_uncompared(report) => uncompared(found, report),
        None => nothing(report),
        Some(worst) if worst.severity == Severity::Info => {
            format!("{}{}", harmless(worst, report), not_looked_for(report))
        }
        Some(worst) => {
            let (besides, held) = (besides(worst, report), held(worst, report));
            format!("{}{besides}{held}{}", bad(worst, report), not_looked_for(report))
        }
    };
    let said = format!("{said}{}{}", empty_paths(report), absent_partitions(report));
    if report.verdict.interrupted { format!("interrupted: {said}") } else { said }
}

/// Whether any finding is about copies, however they came about.
fn tells_copies(report: &Report) -> bool {
    report.findings.iter().any(|one| is_duplicate(one.code) && one.counts.surplus_records > 0)
}

/// Whether contents were to be compared, and no record has the key that was asked for.
fn is_uncompared(report: &Report) -> bool {
    let looked = ordinary(report).any(|topic| topic.identity.is_some());
    report.coverage.nothing_keyed() && looked && !tells_copies(report)
}

/// What is said first where nothing was compared, whatever the batch headers tell.
fn uncompared(found: Option<&Finding>, report: &Report) -> String {
    let records: u64 = ordinary(report).map(|topic| topic.visibility.read_uncommitted.records).sum();
    let also = match found {
        Some(found) if found.severity > Severity::Info => {
            format!("; {}", phrases::single(found, &topics(&found.topics)))
        }
        _ => String::new(),
    };
    format!(
        "nothing was compared: none of {} has the key {}{also}",
        counted(records, "record"),
        report.invocation.key
    )
}

/// Named paths of which nothing was read: a broker that was forgotten, or copied elsewhere.
fn empty_paths(report: &Report) -> String {
    match report.coverage.empty_paths.as_slice() {
        [] => String::new(),
        [only] => format!("; no partition lies below {}", phrases::fit(only)),
        [first, more @ ..] => {
            format!("; no partition lies below {} and {} more of the paths", phrases::fit(first), more.len())
        }
    }
}

/// Partitions of the topics of which nothing was read.
fn absent_partitions(report: &Report) -> String {
    absent(&report.coverage).map_or_else(String::new, |absent| {
        format!("; {}: all counts are lower bounds", phrases::fit(&absent))
    })
}

/// Options of `scan` by which only some of the surplus copies are told of.
const CHOOSING: [&str; 5] = ["since", "until", "firstOffset", "lastOffset", "pid"];

/// Whether only some of the surplus copies were asked for.
fn is_narrowed(report: &Report) -> bool {
    CHOOSING.iter().any(|option| report.invocation.options.contains_key(*option))
}

/// What the call left out of copies, behind what was found.
fn not_looked_for(report: &Report) -> String {
    let headers_only = report.invocation.options.get("headersOnly") == Some(&serde_json::Value::Bool(true));
    let told = tells_copies(report);
    match report.coverage.surplus_not_chosen {
        _ if headers_only => "; copies were not looked for, only batch headers were read".to_owned(),
        0 if is_narrowed(report) && !told => "; no surplus copy was there to be chosen".to_owned(),
        0 => String::new(),
        untold if !told => format!("; {}", none_chosen(untold)),
        1 => "; 1 more surplus copy is not in what was chosen".to_owned(),
        untold => format!("; {} more surplus copies are not in what was chosen", number(untold)),
    }
}

fn none_chosen(untold: u64) -> String {
    match untold {
        1 => "the one surplus copy is not in the times, offsets and producers that were chosen".to_owned(),
        more => format!(
            "none of {} surplus copies is in the times, offsets and producers that were chosen",
            number(more)
        ),
    }
}

fn nothing(report: &Report) -> String {
    let chosen = is_narrowed(report);
    let records: u64 = ordinary(report).map(|topic| topic.visibility.read_uncommitted.records).sum();
    let any_identity = ordinary(report).any(|topic| topic.identity.is_some());
    let read = counted(records, "record");
    match (records, report.verdict.complete) {
        (0, true) => "there is nothing to judge: no records were found".to_owned(),
        (0, false) => "there is nothing to judge: no records could be read".to_owned(),
        (_, true) if any_identity && chosen && report.coverage.surplus_not_chosen > 0 => {
            none_chosen(report.coverage.surplus_not_chosen)
        }
        (_, true) if any_identity && chosen => {
            format!("nothing found among {read} in the times, offsets and producers that were chosen")
        }
        (_, true) if any_identity => format!("nothing found: no event is stored more than once among {read}"),
        (_, true) => format!("nothing found in the batch headers of {read}; contents were not compared"),
        (_, false) if report.coverage.is_whole() => {
            format!("nothing found among {read}, but not everything could be judged")
        }
        (_, false) => format!("nothing found among {read}, but not everything could be read"),
    }
}

fn harmless(worst: &Finding, report: &Report) -> String {
    if worst.code == Code::AbortedThenRetried && worst.counts.groups > 0 {
        let them = if worst.counts.groups == 1 { "has" } else { "have" };
        return format!(
            "{} of {} {them} one copy in an aborted transaction and one that counts: only readers of uncommitted data see both",
            counted(worst.counts.groups, "event"),
            topics(&worst.topics),
        );
    }
    let open = if report.verdict.complete { "" } else { " in what could be read" };
    format!("nothing bad found{open}, but worth knowing: {}", phrases::single(worst, &topics(&worst.topics)))
}

fn bad(worst: &Finding, report: &Report) -> String {
    let others = duplicates(&report.findings).count();
    let copies = worst.counts.surplus_records;
    let place = topics(&worst.topics);
    if !duplicates(std::slice::from_ref(worst)).any(|_| true) {
        let also: u64 = duplicates(&report.findings).map(|finding| finding.counts.surplus_records).sum();
        let single = match worst.code {
            Code::IdempotenceOff => unprotected(worst, report),
            _ => phrases::single(worst, &place),
        };
        return if also > 0 {
            format!("{single}; {}", repeated(also, sure(report)))
        } else {
            format!("{single}{}", none_twice(report))
        };
    }
    let hedge = phrases::hedge(worst.confidence);
    if worst.code == Code::MisplacedBatch && others == 1 {
        let they = if copies == 1 { "stands where it does" } else { "stand where they do" };
        let records = counted(copies, "record");
        return format!(
            "{records} in {place} {they} not belong: {hedge}a client sent a batch to the wrong place"
        );
    }
    let how = phrases::how(worst.code).map_or_else(
        || "the files cannot tell how that came about".to_owned(),
        |how| format!("{hedge}{how}"),
    );
    if others > 1 {
        let all: u64 = duplicates(&report.findings).map(|finding| finding.counts.surplus_records).sum();
        if is_alone_in_kind(worst, report) {
            return format!("{}: {how}", repeated(all, sure(report)));
        }
        let all = repeated(all, sure(report));
        return format!("{all}; the most serious finding ({} of them): {how}", number(copies));
    }
    let events = counted(worst.counts.groups, "event");
    let verb = match worst.counts.groups {
        _ if !are_copies(worst) && keeps_equal_events(worst) => "may be",
        1 => "is",
        _ => "are",
    };
    let how = if worst.counts.groups == 1 { how.replace("sent them", "sent it") } else { how };
    if worst.counts.groups == copies {
        format!("{events} of {place} {verb} stored twice: {how}")
    } else {
        format!(
            "{events} of {place} {verb} stored more than once ({} copies too many): {how}",
            number(copies)
        )
    }
}

/// What else is bad beside copies, by another part of the evidence: what is lost or torn.
fn besides(worst: &Finding, report: &Report) -> String {
    if !is_duplicate(worst.code) {
        return String::new();
    }
    let matters = |finding: &&Finding| {
        let code = matches!(
            finding.code,
            Code::SequenceGap
                | Code::OffsetGap
                | Code::OffsetReuse
                | Code::ReplicaDivergence
                | Code::LeaderEpochAnomaly
                | Code::TransactionAnomaly
        );
        code && finding.severity >= Severity::Medium
    };
    super::worst(report.findings.iter().filter(matters)).map_or_else(String::new, |other| {
        format!("; besides, {}", phrases::single(other, &topics(&other.topics)))
    })
}

/// That readers of committed data stand still, where another finding comes first.
fn held(worst: &Finding, report: &Report) -> String {
    let open = |one: &&Finding| one.code == Code::TransactionOpen && one.severity > Severity::Info;
    let topics_of: BTreeSet<&String> =
        report.findings.iter().filter(open).flat_map(|one| &one.topics).collect();
    if topics_of.is_empty() || worst.code == Code::TransactionOpen {
        return String::new();
    }
    let names: Vec<String> = topics_of.into_iter().cloned().collect();
    let may = |one: &Finding| one.confidence == Confidence::Possible;
    if report.findings.iter().filter(open).all(may) {
        return format!("; readers of committed data may stop at an open transaction in {}", topics(&names));
    }
    format!("; readers of committed data stop at an open transaction in {}", topics(&names))
}

/// `; no event is stored twice`, where that was looked for: what somebody wants to know first.
fn none_twice(report: &Report) -> &'static str {
    let looked = ordinary(report).any(|topic| topic.identity.is_some()) && !is_narrowed(report);
    let found = tells_copies(report);
    match (looked && !found, report.verdict.complete && !report.verdict.interrupted) {
        (false, _) => "",
        (true, true) => "; no event is stored twice",
        (true, false) => "; no event is stored twice in what could be read",
    }
}

/// Whether all that is stored twice came about in one way: then no finding is the most serious one.
pub(super) fn is_alone_in_kind(worst: &Finding, report: &Report) -> bool {
    let kind = |finding: &Finding| (finding.code, finding.severity, finding.confidence);
    duplicates(&report.findings).all(|finding| kind(finding) == kind(worst))
}

/// The share of records that nothing protects in the topics of a finding.
fn unprotected(finding: &Finding, report: &Report) -> String {
    let named = ordinary(report).filter(|topic| finding.topics.contains(&topic.topic));
    let Protected { records, unprotected, .. } = Protected::of(named);
    let place = topics(&finding.topics);
    if unprotected == 0 {
        return phrases::single(finding, &place);
    }
    let all = counted(records, "record");
    let which = match (unprotected, records) {
        (1, 1) => "the only record".to_owned(),
        (some, all_of_them) if some == all_of_them => format!("all {all}"),
        (some, _) => format!("{} of {all}", number(some)),
    };
    let were = if unprotected == 1 { "was" } else { "were" };
    format!("{which} in {place} {were} written without protection against retries")
}

/// Whether any of the surplus copies is more than possibly one.
fn sure(report: &Report) -> bool {
    duplicates(&report.findings).any(are_copies)
}

/// Whether what came again is one event for certain, however that came about.
fn are_copies(finding: &Finding) -> bool {
    let undetermined = finding.code == Code::DuplicateUndetermined && !keeps_equal_events(finding);
    finding.confidence != Confidence::Possible || undetermined
}

/// Whether what came again may be different events that are equal.
fn keeps_equal_events(finding: &Finding) -> bool {
    finding.alternatives.iter().any(|rival| rival.kept && rival.code == "equal events")
}

fn repeated(copies: u64, sure: bool) -> String {
    let are = match (sure, copies) {
        (true, 1) => "is a surplus copy of an event",
        (true, _) => "are surplus copies of events",
        (false, 1) => "may be a surplus copy of an event",
        (false, _) => "may be surplus copies of events",
    };
    format!("{} {are} stored before", counted(copies, "record"))
}
