//! Findings that are owed, allowed or false, where copies alone do not tell.

use super::is_duplicate_code;
use super::label::{Label, LabelledGroup};
use super::report::Report;
use std::collections::BTreeSet;

/// Codes of which something else is judged than whether they are there: protection, gaps, open transactions,
/// steps back of groups, each by its own list in the label.
const JUDGED_BY_LISTS: [&str; 5] =
    ["idempotence-off", "idempotence-lost", "sequence-gap", "sequence-gap-explained", "transaction-open"];

pub fn owed_and_false(label: &Label, report: &Report) -> Vec<String> {
    let mut bad = Vec::new();
    for code in label.must_report.iter().filter(|code| !report.has(code)) {
        bad.push(format!("no finding {code}"));
    }
    for code in label.must_not_report.iter().filter(|code| report.has(code)) {
        bad.push(format!("finding {code} must not be there"));
    }
    // One episode is one finding.
    for (code, most) in &label.at_most {
        let told = report.with_code(code).count();
        if told > *most {
            bad.push(format!("{told} findings {code}, at most {most} episodes"));
        }
    }
    // One directory may hold a fault and its innocent twin.
    for at in &label.must_report_at {
        let told = report
            .findings
            .iter()
            .any(|finding| at.codes.contains(&finding.code) && finding.names(&at.topic, at.partition));
        if !told {
            bad.push(format!("no finding {} names {}-{}", at.codes.join(" or "), at.topic, at.partition));
        }
    }
    for at in &label.must_not_report_at {
        for finding in &report.findings {
            if at.codes.contains(&finding.code) && finding.names(&at.topic, at.partition) {
                bad.push(format!("finding {} must not name {}-{}", finding.code, at.topic, at.partition));
            }
        }
    }
    let allowed: BTreeSet<&str> = label
        .must_report
        .iter()
        .chain(&label.may_report)
        .map(String::as_str)
        .chain(label.groups.iter().flat_map(LabelledGroup::codes))
        .collect();
    let told: BTreeSet<&str> = report.findings.iter().map(|finding| finding.code.as_str()).collect();
    for code in told {
        let is_judged = is_duplicate_code(code) || JUDGED_BY_LISTS.contains(&code) || is_true(code, label);
        if !is_judged && !allowed.contains(code) {
            bad.push(format!("false alarm: finding {code}"));
        }
    }
    bad
}

/// Whether a finding follows from what the label says of other things.
fn is_true(code: &str, label: &Label) -> bool {
    let aborted = || label.transactions.iter().any(|transaction| transaction.outcome == "aborted");
    match code {
        // Retries without idempotence put batches behind later ones.
        "order-broken" => label.unprotected.is_some_and(|unprotected| unprotected.records > 0),
        "aborted-not-retried" => aborted(),
        "consumer-rewind" => label.rewinds.as_ref().is_none_or(|rewinds| !rewinds.is_empty()),
        "interleaved-writers" => label.groups.iter().any(LabelledGroup::is_innocent),
        _ => false,
    }
}

/// One incident is one finding: a code has at most as many as there are pairs of writers and topics.
pub fn episodes(label: &Label, report: &Report) -> Vec<String> {
    let mut bad = Vec::new();
    let codes: BTreeSet<&str> = report.findings.iter().map(|finding| finding.code.as_str()).collect();
    for code in codes.into_iter().filter(|code| is_duplicate_code(code)) {
        let mut writers = BTreeSet::new();
        let mut told = 0;
        for finding in report.with_code(code) {
            let copies: Vec<_> = finding.copies().collect();
            if copies.iter().any(|copy| copy.producer_id < 0) {
                continue;
            }
            told += 1;
            for group in &finding.groups {
                let Some(first) = group.copies.first() else { continue };
                writers.extend(group.surplus().iter().map(|later| {
                    (later.topic.as_str(), [first, later].map(|copy| (copy.producer_id, copy.producer_epoch)))
                }));
            }
        }
        if told > writers.len().max(1) && !label.at_most.contains_key(code) {
            bad.push(format!("{told} findings {code} of {} pairs of writers", writers.len()));
        }
    }
    bad
}
