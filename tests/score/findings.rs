//! Findings that are owed, allowed or false, where copies alone do not tell.

use super::label::{Label, LabelledGroup};
use super::report::Report;
use std::collections::BTreeSet;

/// Findings about single facts: one that no label names is a false alarm.
const SINGLE_FACTS: [&str; 9] = [
    "offset-gap",
    "snapshot-mismatch",
    "sequence-anomaly",
    "producer-id-collision",
    "misplaced-batch",
    "transaction-anomaly",
    "misrouted-key",
    "replica-divergence",
    "leader-epoch-anomaly",
];

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
        if SINGLE_FACTS.contains(&code) && !allowed.contains(code) {
            bad.push(format!("false alarm: finding {code}"));
        }
    }
    bad
}
