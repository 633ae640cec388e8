//! Records that only a replica holds that does not lead: the lost tail of an old leader, a file that one
//! broker lacks. Keys are counted where the partition is led; a missing one may stand here.
//!
//! Goes in: the ranges of `replica-divergence` and `old-leader-tail`. Comes out: the records of these ranges by their keys.

use super::known::Known;
use super::lookup::{self, At};
use crate::error::AuditError;
use crate::finding::{BusinessKey, Code, Copy, Finding, Severity};
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};

/// Records that are looked at; of what stands behind them it is said that it was not.
const LOOKED_AT: usize = 10_000;

/// What stands in replicas that do not lead, and not in the one that does.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    copies: BTreeMap<BusinessKey, Copy>,
    /// Directories with such records, and the finding that says so.
    directories: BTreeSet<(String, String)>,
}

impl Elsewhere {
    pub(super) fn of(known: &Known<'_>) -> Result<Self, AuditError> {
        let led: BTreeSet<usize> = known.led.iter().copied().collect();
        let parted =
            |finding: &&Finding| matches!(finding.code, Code::ReplicaDivergence | Code::OldLeaderTail);
        let (mut places, mut findings) = (BTreeSet::<At>::new(), BTreeMap::new());
        let mut elsewhere = Self::default();
        for finding in known.findings.iter().filter(parted) {
            // Where nothing is lost, the replica that leads has what counts.
            let is_in_doubt = finding.severity != Severity::Info;
            for range in &finding.ranges {
                let others = known.inventory.partitions.iter().enumerate().filter(|(at, dir)| {
                    !led.contains(at) && !dir.internal && range.directories.contains(&dir.display)
                });
                for (at, dir) in others {
                    let at = u32::try_from(at).unwrap_or(u32::MAX);
                    let left = LOOKED_AT.saturating_sub(places.len());
                    let mut offsets = range.first_offset..=range.last_offset;
                    places.extend(offsets.by_ref().take(left).map(|offset| (at, Offset(offset))));
                    if !offsets.is_empty() && is_in_doubt {
                        elsewhere.directories.insert((dir.display.clone(), finding.id.clone()));
                    }
                    if is_in_doubt {
                        findings.insert(at, finding.id.clone());
                    }
                }
            }
        }
        for ((at, _), candidate) in lookup::records(known.look, &places, (known.wanted)())? {
            let copy = known.relations.told(&candidate.copy);
            let finding = findings.get(&at).cloned();
            elsewhere.directories.extend(finding.map(|finding| (copy.directory.clone(), finding)));
            elsewhere.copies.entry(candidate.business_key).or_insert(copy);
        }
        Ok(elsewhere)
    }

    /// The record of a key.
    pub(super) fn copy(&self, key: &BusinessKey) -> Option<&Copy> {
        self.copies.get(key)
    }

    /// What that leaves open.
    pub(super) fn doubts(&self) -> impl Iterator<Item = String> {
        self.directories.iter().map(|(directory, finding)| {
            format!(
                "{directory} holds records that the replica that leads does not hold ({finding}): their keys are \
                 not counted as stored"
            )
        })
    }
}
