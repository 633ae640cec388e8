//! Gaps, open transactions and damage: each labelled one reported, and no other.

use super::label::Label;
use super::report::{Damage, Gap, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Code and severity that go with a reason.
fn gap_finding(reason: &str) -> Option<(&'static str, &'static str)> {
    Some(match reason {
        "unexplained" | "missing-segment" => ("sequence-gap", "high"),
        "damage" | "retention" | "log-start-moved" | "compaction" | "epoch-change" => {
            ("sequence-gap-explained", "info")
        }
        "expired-producer-state" | "lost-producer-state" | "first-append" => {
            ("sequence-gap-explained", "low")
        }
        _ => return None,
    })
}

/// Whether a gap that the label does not list follows from what it lists: bytes that cannot be read, or a
/// producer with more than one epoch.
fn follows(gap: &Gap, label: &Label) -> bool {
    let epochs = || {
        let of = label.producers.iter().filter(|producer| producer.producer_id == gap.producer_id);
        of.map(|producer| producer.producer_epoch).collect::<BTreeSet<_>>().len()
    };
    match gap.reason.as_str() {
        "damage" => !label.damage.is_empty(),
        "epoch-change" => epochs() > 1,
        _ => false,
    }
}

/// Reasons that files alone cannot always tell apart.
fn are_alike(one: &str, other: &str) -> bool {
    [["retention", "log-start-moved"], ["expired-producer-state", "lost-producer-state"]]
        .iter()
        .any(|alike| alike.contains(&one) && alike.contains(&other))
}

pub fn gaps(label: &Label, report: &Report) -> Vec<String> {
    let mut bad = Vec::new();
    let labelled: BTreeMap<_, _> = label
        .gaps
        .iter()
        .map(|gap| ((gap.topic.as_str(), gap.partition, gap.producer_id, gap.at_offset), gap))
        .collect();
    let mut told = BTreeMap::new();
    for finding in report.with_code("sequence-gap").chain(report.with_code("sequence-gap-explained")) {
        for gap in &finding.gaps {
            let at = (gap.topic.as_str(), gap.partition, gap.producer_id, gap.at_offset);
            told.insert(at, gap);
            if gap_finding(&gap.reason) != Some((finding.code.as_str(), finding.severity.as_str())) {
                bad.push(format!(
                    "gap {at:?}: {} {} with reason {}",
                    finding.code, finding.severity, gap.reason
                ));
            }
            if !labelled.contains_key(&at) && !follows(gap, label) {
                bad.push(format!("false alarm: gap {at:?} {}", gap.reason));
            }
        }
    }
    for (at, want) in labelled {
        let Some(gap) = told.get(&at) else {
            if !want.optional {
                bad.push(format!("gap not reported: {at:?} {}", want.reason));
            }
            continue;
        };
        let right = gap.reason == want.reason
            || want.also_acceptable.contains(&gap.reason)
            || are_alike(&gap.reason, &want.reason);
        if !right {
            bad.push(format!("gap {at:?}: reason {}, label {}", gap.reason, want.reason));
        }
        if (gap.expected, gap.found) != (want.expected, want.found) {
            bad.push(format!(
                "gap {at:?}: expected {}, found {}, label {}, {}",
                gap.expected, gap.found, want.expected, want.found
            ));
        }
    }
    bad
}

pub fn open_transactions(label: &Label, report: &Report) -> Vec<String> {
    let labelled = |optional: bool| -> BTreeSet<_> {
        label
            .transactions
            .iter()
            .filter(|transaction| transaction.optional == optional)
            .filter(|transaction| optional || transaction.outcome == "open")
            .map(|t| (t.producer_id, t.topic.as_str(), t.partition, t.first_offset))
            .collect()
    };
    let either = labelled(true);
    let told: BTreeSet<_> = report
        .with_code("transaction-open")
        .flat_map(|finding| &finding.transactions)
        .map(|t| (t.producer_id, t.topic.as_str(), t.partition, t.first_offset))
        .filter(|at| !either.contains(at))
        .collect();
    let want = labelled(false);
    if told == want { Vec::new() } else { vec![format!("open transactions {told:?}, label {want:?}")] }
}

pub fn damage(label: &Label, report: &Report) -> Vec<String> {
    let told = &report.coverage.damage;
    let missed = label
        .damage
        .iter()
        .filter(|want| {
            !told.iter().any(|note| {
                note.file.contains(&want.file)
                    && want.kind.as_ref().is_none_or(|kind| *kind == note.kind)
                    && want.position.is_none_or(|position| covers(note, position))
            })
        })
        .map(|want| format!("damage not reported: {} at {:?} {:?}", want.file, want.position, want.kind));
    // A torn or zero tail is an ordinary sight in an active segment.
    let false_alarms = told
        .iter()
        .filter(|note| Path::new(&note.file).extension().is_some_and(|extension| extension == "log"))
        .filter(|note| !["truncated-tail", "zero-tail"].contains(&&*note.kind))
        .filter(|note| !label.damage.iter().any(|want| note.file.contains(&want.file)))
        .map(|note| format!("false alarm: damage {} at {:?} {}", note.file, note.position, note.kind));
    missed.chain(false_alarms).collect()
}

fn covers(note: &Damage, position: u64) -> bool {
    note.position.is_none_or(|start| (start..start + note.length.unwrap_or(1).max(1)).contains(&position))
}
