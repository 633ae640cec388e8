//! Findings that explain each other name each other: copies without producer id, and the stretch in
//! which nothing protected them.

use super::draft::count;
use crate::finding::{Code, Finding};

/// Findings of the other kind that are named one by one.
const NAMED: usize = 3;

/// Adds a line to findings that belong together; they have their ids.
pub fn link(findings: &mut [Finding]) {
    let is_stretch = |code: Code| matches!(code, Code::IdempotenceOff | Code::IdempotenceLost);
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (at, stretch) in findings.iter().enumerate().filter(|(_, finding)| is_stretch(finding.code)) {
        let inside: Vec<(usize, &Finding)> =
            findings.iter().enumerate().filter(|(_, finding)| repeats_inside(finding, stretch)).collect();
        for (copies, _) in &inside {
            lines.push((
                *copies,
                format!("no producer id protected these records: see {} {}", stretch.code, stretch.id),
            ));
        }
        if inside.is_empty() {
            continue;
        }
        let mut named: Vec<String> = inside
            .iter()
            .take(NAMED)
            .map(|(_, finding)| format!("{} {}", finding.code, finding.id))
            .collect();
        if inside.len() > NAMED {
            named.push(format!("{} more", inside.len() - NAMED));
        }
        let records: u64 = inside.iter().map(|(_, finding)| finding.counts.surplus_records).sum();
        let of_retries = inside.iter().all(|(_, finding)| finding.code == Code::RetryWithoutIdempotence);
        let prevented =
            if of_retries { "; idempotence would have stopped them, if they are retries" } else { "" };
        let all_inside = inside.iter().all(|(_, finding)| is_within(finding, stretch));
        let lie = if records == 1 { "lies" } else { "lie" };
        let copies = count(records, "surplus copy", "surplus copies");
        let part = if all_inside { "" } else { "part of " };
        let lie = format!("{part}{copies} without producer id {lie} among these records");
        lines.push((at, format!("{lie}: {}{prevented}", named.join(", "))));
    }
    for (at, line) in lines {
        if let Some(finding) = findings.get_mut(at) {
            finding.facts.push(line);
        }
    }
}

/// Whether all that a finding is about lies in partitions of `stretch`.
fn is_within(finding: &Finding, stretch: &Finding) -> bool {
    finding.partitions.iter().all(|place| stretch.partitions.contains(place))
}

/// Whether a finding is about surplus copies without producer id in the partitions of `stretch`.
fn repeats_inside(finding: &Finding, stretch: &Finding) -> bool {
    let caught = matches!(
        finding.code,
        Code::RetryWithoutIdempotence | Code::DuplicateUndetermined | Code::ResendNewSession
    );
    let unprotected = || {
        let copies = finding.groups.iter().flat_map(|group| group.copies.iter().skip(1));
        copies.clone().next().is_some() && copies.into_iter().all(|copy| copy.producer_id < 0)
    };
    caught && finding.partitions.iter().any(|place| stretch.partitions.contains(place)) && unprotected()
}
