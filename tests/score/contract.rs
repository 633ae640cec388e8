//! What holds for every report, whatever the files are: severities, counts, sums, exit status.

use super::label::Label;
use super::report::{Copy, Group, Levels, Numbers, Report};
use super::severity;
use std::collections::BTreeMap;

pub fn severities(report: &Report) -> Vec<String> {
    report
        .findings
        .iter()
        .filter_map(|finding| {
            let promised = severity(&finding.code)?;
            (finding.severity != promised)
                .then(|| format!("{} at severity {}, promised {promised}", finding.code, finding.severity))
        })
        .collect()
}

/// The last stable offset of each partition that has an open transaction.
type LastStable<'a> = BTreeMap<(&'a str, i32), i64>;

fn last_stable(label: &Label) -> LastStable<'_> {
    let mut stable = LastStable::new();
    for open in label.transactions.iter().filter(|transaction| transaction.outcome == "open") {
        let at = stable.entry((&open.topic, open.partition)).or_insert(open.first_offset);
        *at = open.first_offset.min(*at);
    }
    stable
}

/// Counts agree with the groups that are listed.
pub fn counts(label: &Label, report: &Report) -> Vec<String> {
    let stable = last_stable(label);
    let is_seen = |copy: &&Copy| {
        ["committed", "non-transactional"].contains(&copy.visibility.as_str())
            && stable.get(&(copy.topic.as_str(), copy.partition)).is_none_or(|end| copy.offset < *end)
    };
    let mut bad = Vec::new();
    for finding in &report.findings {
        let (counts, groups) = (finding.counts, &finding.groups);
        let listed = groups.len() as u64;
        if counts.groups != listed + finding.groups_omitted {
            bad.push(format!("{}: counts {counts:?} do not fit {listed} groups", finding.code));
        }
        if severity(&finding.code).is_none() || groups.is_empty() || finding.groups_omitted > 0 {
            continue;
        }
        let surplus: usize = groups.iter().map(|group| group.surplus().len()).sum();
        if counts.surplus_records != surplus as u64 {
            bad.push(format!(
                "{}: surplusRecords {}, groups hold {surplus}",
                finding.code, counts.surplus_records
            ));
        }
        let committed: usize = groups
            .iter()
            .map(|group: &Group| group.copies.iter().filter(is_seen).count().saturating_sub(1))
            .sum();
        if groups[0].copies.len() > 1 && counts.surplus_committed != committed as u64 {
            bad.push(format!(
                "{}: surplusCommitted {}, groups hold {committed}",
                finding.code, counts.surplus_committed
            ));
        }
    }
    bad
}

/// The whole is the sum of its topics, and every record is protected in one way.
pub fn sums(report: &Report) -> Vec<String> {
    let mut bad = Vec::new();
    let topics = || report.topics.iter().filter(|topic| !topic.internal);
    let sum = |level: fn(&Levels) -> Numbers| topics().map(|topic| level(&topic.visibility)).sum::<Numbers>();
    for (name, level) in [
        ("readUncommitted", (|levels| levels.read_uncommitted) as fn(&Levels) -> Numbers),
        ("readCommitted", |levels| levels.read_committed),
    ] {
        let (whole, parts) = (level(&report.visibility), sum(level));
        if whole != parts {
            bad.push(format!("visibility.{name} {whole:?}, its topics sum to {parts:?}"));
        }
    }
    for topic in topics() {
        for partition in &topic.partitions {
            let kinds = partition.protection;
            let records = kinds.idempotent_records
                + kinds.transactional_records
                + kinds.unprotected_records
                + kinds.legacy_records;
            if records != partition.records {
                bad.push(format!(
                    "{}-{}: protection sums to {records} of {} records",
                    topic.topic, partition.partition, partition.records
                ));
            }
        }
    }
    bad
}

/// 1 when a finding counts, else 3 when something could not be read, else 0.
pub fn exit_status(report: &Report, status: i32) -> Vec<String> {
    let counts = report.findings.iter().any(|finding| finding.severity != "info");
    let want = match (counts, report.verdict.complete) {
        (true, _) => 1,
        (false, false) => 3,
        (false, true) => 0,
    };
    let mut bad = Vec::new();
    if status != want {
        bad.push(format!("exit status {status}, the findings ask for {want}"));
    }
    if (report.verdict.findings > 0) != counts {
        bad.push(format!(
            "verdict says {} findings, the list has some at low or more: {counts}",
            report.verdict.findings
        ));
    }
    bad
}
