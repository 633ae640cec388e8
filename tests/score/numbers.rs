//! Numbers that a real consumer counted, and what each producer wrote.

use super::label::Label;
use super::report::{Epoch, Numbers, Report, Topic};
use std::collections::{BTreeMap, BTreeSet};

/// The topics of the report that the label speaks of.
fn labelled_topics<'a>(label: &'a Label, report: &'a Report) -> impl Iterator<Item = &'a Topic> {
    report.topics.iter().filter(|topic| {
        !topic.internal
            && label.consumed_topics.as_ref().is_none_or(|consumed| consumed.contains(&topic.topic))
    })
}

/// Records, distinct keys and repeats for both isolation levels.
pub fn visibility(label: &Label, report: &Report) -> Vec<String> {
    let Some(consumed) = label.consumed.as_ref().filter(|_| !label.skip_consumed) else {
        return Vec::new();
    };
    let mut bad = Vec::new();
    let uncommitted: Numbers =
        labelled_topics(label, report).map(|topic| topic.visibility.read_uncommitted).sum();
    let committed: Numbers =
        labelled_topics(label, report).map(|topic| topic.visibility.read_committed).sum();
    for (level, told, counted) in [
        ("readUncommitted", uncommitted, consumed.read_uncommitted),
        ("readCommitted", committed, consumed.read_committed),
    ] {
        for (what, told, counted) in [
            ("records", told.records, counted.records),
            ("distinctKeys", told.distinct_keys, counted.distinct_keys),
            ("repeatedKeyRecords", told.repeated_key_records, counted.surplus),
        ] {
            if let Some(counted) = counted.filter(|counted| *counted != told) {
                bad.push(format!("{level}.{what} {told}, a consumer counted {counted}"));
            }
        }
    }
    bad
}

/// Records without producer id, and the findings that they ask for.
pub fn protection(label: &Label, report: &Report) -> Vec<String> {
    let mut bad = Vec::new();
    if let Some(unprotected) = label.unprotected {
        // Replicas count once.
        let told: u64 = labelled_topics(label, report)
            .flat_map(|topic| &topic.partitions)
            .filter(|partition| partition.replica_of.as_ref().is_none_or(serde_json::Value::is_null))
            .map(|partition| partition.protection.unprotected_records)
            .sum();
        if told != unprotected.records {
            bad.push(format!("unprotected records {told}, label {}", unprotected.records));
        }
        let off = report.has("idempotence-off") || report.has("idempotence-lost");
        if off && unprotected.records == 0 && label.labels_cover.is_none() {
            bad.push("false alarm: idempotence off or lost, but every record has a producer id".into());
        }
        if !off && unprotected.records > 0 {
            bad.push("neither idempotence-off nor idempotence-lost".into());
        }
    }
    if label.labels_describe.is_none() && !label.producers.is_empty() {
        let mut wrote: BTreeMap<(&str, i32), u64> = BTreeMap::new();
        for producer in label.producers.iter().filter(|producer| producer.producer_id >= 0) {
            *wrote.entry((&producer.topic, producer.partition)).or_default() += producer.records;
        }
        for topic in labelled_topics(label, report) {
            for partition in &topic.partitions {
                let replicas = topic.partitions.iter().filter(|other| other.partition == partition.partition);
                if replicas.count() > 1 {
                    continue;
                }
                let told =
                    partition.protection.idempotent_records + partition.protection.transactional_records;
                let want = wrote.get(&(topic.topic.as_str(), partition.partition)).copied();
                if want.is_some_and(|want| want != told) {
                    bad.push(format!(
                        "{}-{}: {told} protected records, label {want:?}",
                        topic.topic, partition.partition
                    ));
                }
            }
        }
    }
    for finding in report.with_code("idempotence-lost") {
        if !label.producers.iter().any(|producer| finding.topics.contains(&producer.topic)) {
            bad.push(format!("false alarm: idempotence-lost on {:?}, never protected", finding.topics));
        }
    }
    for lost in &label.protection_lost {
        let told =
            report.with_code("idempotence-lost").flat_map(|finding| &finding.stretches).any(|stretch| {
                stretch.mode == "none"
                    && stretch.topic.as_ref() == Some(&lost.topic)
                    && stretch.partition == Some(lost.partition)
                    && stretch.first_offset == lost.from_offset
            });
        if !told {
            bad.push(format!(
                "idempotence-lost: no stretch from {}-{} offset {}",
                lost.topic, lost.partition, lost.from_offset
            ));
        }
    }
    bad
}

/// Records and sequence range of each producer, partition and epoch.
pub fn producers(label: &Label, report: &Report) -> Vec<String> {
    if label.labels_describe.is_some() {
        return Vec::new();
    }
    let mut told: BTreeMap<_, Vec<&Epoch>> = BTreeMap::new();
    for producer in &report.producers {
        for session in &producer.sessions {
            for epoch in &session.epochs {
                let at =
                    (session.topic.as_str(), session.partition, producer.producer_id, epoch.producer_epoch);
                told.entry(at).or_default().push(epoch);
            }
        }
    }
    let mut bad = Vec::new();
    let labelled: BTreeSet<_> = label
        .producers
        .iter()
        .map(|want| (want.topic.as_str(), want.partition, want.producer_id, want.producer_epoch))
        .collect();
    let of_labelled_topics: BTreeSet<_> = label.producers.iter().map(|want| want.topic.as_str()).collect();
    for (at, epochs) in &told {
        let (topic, _, producer_id, _) = *at;
        // The cleaner keeps the last batch of a producer without a record in it.
        if epochs.iter().all(|epoch| epoch.records == 0) {
            continue;
        }
        if producer_id >= 0 && of_labelled_topics.contains(topic) && !labelled.contains(at) {
            bad.push(format!("a producer that wrote nothing: {at:?}"));
        }
    }
    for want in &label.producers {
        let epoch = want.producer_epoch.filter(|epoch| *epoch != -1);
        let told = told.get(&(want.topic.as_str(), want.partition, want.producer_id, epoch)).map(|epochs| {
            (
                epochs.iter().map(|epoch| epoch.records).sum::<u64>(),
                epochs.first().and_then(|epoch| epoch.first_sequence),
                epochs.last().and_then(|epoch| epoch.last_sequence),
            )
        });
        let labelled = (want.records, want.first_sequence, want.last_sequence);
        if told != Some(labelled) {
            bad.push(format!(
                "producer {} epoch {:?} in {}-{}: records, first and last sequence {told:?}, label {labelled:?}",
                want.producer_id, want.producer_epoch, want.topic, want.partition
            ));
        }
    }
    bad
}
