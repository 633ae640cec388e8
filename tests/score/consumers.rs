//! What consumer groups committed: every step back, and who has which surplus copies behind it.

use super::label::Label;
use super::report::{ConsumedBy, Group, Report};
use super::{is_duplicate_code, knows_code};
use std::collections::{BTreeMap, BTreeSet};

/// Every step back of a group, and no other. A label without the field says nothing about groups.
pub fn rewinds(label: &Label, report: &Report) -> Vec<String> {
    let Some(labelled) = &label.rewinds else { return Vec::new() };
    let want: BTreeSet<_> = labelled.iter().collect();
    let told: BTreeSet<_> =
        report.with_code("consumer-rewind").flat_map(|finding| &finding.rewinds).collect();
    if told == want { Vec::new() } else { vec![format!("consumer-rewind {told:?}, label {want:?}")] }
}

/// For each accused episode: which groups have how many of its surplus copies behind them.
pub fn behind(label: &Label, report: &Report) -> Vec<String> {
    if label.positions.is_empty() {
        return Vec::new();
    }
    let mut bad = Vec::new();
    for finding in &report.findings {
        if finding.groups.is_empty() || knows_code(&finding.code) && !is_duplicate_code(&finding.code) {
            continue;
        }
        let surplus: Vec<_> = finding.groups.iter().flat_map(Group::surplus).collect();
        let mut passed: BTreeMap<&str, usize> = BTreeMap::new();
        for position in &label.positions {
            let mut here = surplus
                .iter()
                .filter(|copy| copy.topic == position.topic && copy.partition == position.partition)
                .peekable();
            if here.peek().is_some() {
                let behind = here.filter(|copy| copy.offset < position.highest).count();
                *passed.entry(&position.group).or_default() += behind;
            }
        }
        let want: BTreeSet<_> = passed
            .into_iter()
            .map(|(group, copies)| ConsumedBy {
                group: group.to_owned(),
                all: copies == surplus.len(),
                copies: u64::try_from(copies).unwrap_or(u64::MAX),
            })
            .collect();
        let told: BTreeSet<_> = finding.consumed_by.iter().cloned().collect();
        if told != want {
            bad.push(format!("{}: consumed by {told:?}, label {want:?}", finding.code));
        }
    }
    bad
}
