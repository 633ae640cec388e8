//! What a report says of each log, and where that is not what the naive ledger says.

use crate::ledger::{Epoch, Ledger, Missing};
use crate::world::{Disk, Fault, Happened};
use dedup_audit::finding::{Code, GapReason, Outcome, Severity};
use dedup_audit::report::model::Report;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub struct Told {
    gaps: BTreeMap<Missing, GapReason>,
    anomalies: Vec<String>,
    epochs: BTreeMap<(i64, i16), Epoch>,
    sessions: BTreeSet<(i64, i64)>,
    open: BTreeMap<(i64, i64), Option<i64>>,
    protection: (u64, u64, u64),
    committed: u64,
    /// Base offsets of batches that are copies under the same producer id, epoch and sequence.
    repeats: BTreeSet<i64>,
    codes: BTreeMap<Code, Severity>,
    text: Vec<String>,
}

pub fn by_topic(report: &Report) -> BTreeMap<String, Told> {
    let mut told: BTreeMap<String, Told> = BTreeMap::new();
    for topic in &report.topics {
        let mut one = Told { committed: topic.visibility.read_committed.records, ..Told::default() };
        for partition in &topic.partitions {
            let protection = &partition.protection;
            one.protection = (
                protection.idempotent_records,
                protection.transactional_records,
                protection.unprotected_records,
            );
        }
        told.insert(topic.topic.clone(), one);
    }
    for producer in &report.producers {
        for session in &producer.sessions {
            let one = told.get_mut(&session.topic).unwrap();
            one.sessions.insert((producer.producer_id, session.first_offset));
            for epoch in &session.epochs {
                let new = (
                    epoch.first_offset,
                    epoch.last_offset,
                    epoch.first_sequence.unwrap(),
                    epoch.last_sequence.unwrap(),
                    epoch.batches,
                    epoch.records,
                );
                let key = (producer.producer_id, epoch.producer_epoch.unwrap());
                let sum = one.epochs.entry(key).or_insert(new);
                if *sum != new {
                    (sum.1, sum.3) = (new.1, new.3);
                    (sum.4, sum.5) = (sum.4 + new.4, sum.5 + new.5);
                }
            }
        }
    }
    for finding in &report.findings {
        for topic in &finding.topics {
            let one = told.get_mut(topic).unwrap();
            let worst = one.codes.entry(finding.code).or_insert(finding.severity);
            *worst = (*worst).max(finding.severity);
            one.text.push(format!("{} {} {:?}", finding.code, finding.title, finding.facts));
            if finding.code == Code::SequenceAnomaly {
                one.anomalies.push(format!("{} {:?}", finding.title, finding.facts));
            }
        }
        for gap in &finding.gaps {
            let missing = Missing {
                at_offset: gap.at_offset,
                producer_id: gap.producer_id,
                producer_epoch: gap.producer_epoch.unwrap(),
                expected: gap.expected,
                found: gap.found,
                sequences: gap.missing,
            };
            told.get_mut(&gap.topic).unwrap().gaps.insert(missing, gap.reason);
        }
        for transaction in &finding.transactions {
            if finding.code == Code::TransactionOpen && transaction.outcome == Outcome::Open {
                let place = (transaction.producer_id, transaction.first_offset);
                told.get_mut(&transaction.topic).unwrap().open.insert(place, transaction.last_offset);
            }
        }
        if finding.code == Code::BrokerDedupLost {
            for copy in finding.groups.iter().flat_map(|group| group.copies.iter().skip(1)) {
                told.get_mut(&copy.topic).unwrap().repeats.insert(copy.batch_base_offset);
            }
        }
    }
    told
}

impl Told {
    pub fn differences(&self, expected: &Ledger, disk: &Disk, happened: Happened) -> Vec<String> {
        let mut differences = Vec::new();
        let mut tell = |what: String| differences.push(what);
        for (gap, reasons) in &expected.gaps {
            match self.gaps.get(gap) {
                None => tell(format!("no gap {gap:?} {reasons:?}")),
                Some(reason) if !allows(reasons, *reason) => {
                    tell(format!("gap {gap:?} for {reason:?} instead of {reasons:?}"));
                }
                Some(_) => {}
            }
        }
        for (gap, reason) in &self.gaps {
            if !expected.gaps.contains_key(gap) {
                tell(format!("a gap that is none: {gap:?} {reason:?}"));
            }
        }
        for (key, epoch) in &expected.epochs {
            if self.epochs.get(key) != Some(epoch) {
                tell(format!("epoch {key:?} is {:?} instead of {epoch:?}", self.epochs.get(key)));
            }
        }
        if self.epochs.len() != expected.epochs.len() {
            tell(format!("{} epochs instead of {}", self.epochs.len(), expected.epochs.len()));
        }
        if self.sessions != expected.sessions {
            tell(format!("sessions {:?} instead of {:?}", self.sessions, expected.sessions));
        }
        let protection = (expected.idempotent, expected.transactional, expected.unprotected);
        if self.protection != protection {
            tell(format!("protection {:?} instead of {protection:?}", self.protection));
        }
        let open: BTreeMap<(i64, i64), Option<i64>> = expected
            .transactions
            .iter()
            .filter(|(_, (_, marker))| marker.is_none())
            .map(|(&place, &(last, _))| (place, (last >= 0).then_some(last)))
            .collect();
        if self.open != open {
            tell(format!("open transactions {:?} instead of {open:?}", self.open));
        }
        if self.committed != expected.committed {
            tell(format!("{} records committed instead of {}", self.committed, expected.committed));
        }
        let stepped = !self.anomalies.is_empty()
            || self.codes.contains_key(&Code::ProducerIdCollision)
            || self.codes.contains_key(&Code::TransactionAnomaly);
        // What lies below the log start nobody compares.
        let kept = |earlier: i64| earlier >= disk.log_start;
        let other_records = expected.repeats.values().any(|&(equal, earlier)| !equal && kept(earlier));
        let compared = expected.repeats.values().all(|&(_, earlier)| kept(earlier));
        if compared && stepped != (!expected.steps_back.is_empty() || other_records) {
            tell(format!("anomalies {:?} instead of {:?}", self.anomalies, expected.steps_back));
        }
        // A copy of what was aborted is told as such.
        let repeats: BTreeSet<i64> = expected
            .repeats
            .iter()
            .filter(|(_, (equal, earlier))| *equal && kept(*earlier) && !expected.aborted.contains(earlier))
            .map(|(&base, _)| base)
            .collect();
        if disk.first_dirty.is_none() && self.repeats != repeats {
            tell(format!("repeats {:?} instead of {repeats:?}", self.repeats));
        }
        if self.codes.contains_key(&Code::OffsetGap) != expected.holes {
            tell(format!("offset-gap: {} instead of {}", !expected.holes, expected.holes));
        }
        differences.extend(self.false_alarms(expected, disk, happened));
        differences
    }

    /// What the played history does not bear out.
    fn false_alarms(&self, expected: &Ledger, disk: &Disk, happened: Happened) -> Vec<String> {
        let mut never = vec![Code::TransactionAnomaly, Code::LeaderEpochAnomaly, Code::OffsetReuse];
        if disk.fault == Fault::None {
            never.extend([Code::SequenceGap, Code::OffsetGap]);
            if !happened.snapshots_lost {
                never.push(Code::SnapshotMismatch);
            }
            if !happened.accepted_unknown {
                never.extend([
                    Code::SequenceAnomaly,
                    Code::ProducerIdCollision,
                    Code::BrokerDedupLost,
                    Code::EpochBumpResend,
                ]);
            }
        }
        let mut alarms: Vec<String> = never
            .iter()
            .filter(|code| self.codes.contains_key(code))
            .map(|code| {
                let text: Vec<_> = self.text.iter().filter(|text| text.starts_with(code.name())).collect();
                format!("{:?}: false alarm {text:?}", disk.fault)
            })
            .collect();
        if let Fault::Forged(..) = disk.fault
            && !self.codes.contains_key(&Code::SnapshotMismatch)
        {
            alarms.push(format!("{:?} is not told", disk.fault));
        }
        if !happened.accepted_unknown
            && disk.fault == Fault::None
            && self.codes.get(&Code::SequenceGapExplained) > Some(&Severity::Info)
        {
            alarms.push(format!("gaps above info on a healthy log: {:?} {:?}", self.gaps, expected.gaps));
        }
        alarms
    }
}

/// The head of a log goes by age or size, or because somebody moved its start.
fn allows(reasons: &[GapReason], reason: GapReason) -> bool {
    let told = if reason == GapReason::LogStartMoved { GapReason::Retention } else { reason };
    reasons.contains(&told)
}
