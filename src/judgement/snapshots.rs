//! `snapshot-mismatch`: producer snapshots that are damaged or contradict the log.
//!
//! Which differences are contradictions is told in the facts. An empty snapshot is valid, entries
//! of producers without records are valid, and missing producers have usually expired.
//!
//! What to do follows from how a broker loads the state: it deletes snapshots whose number lies behind
//! the log's end or not behind its start, begins from the newest that it can read, deleting those that
//! it cannot, and reads the log behind it. Before that it deletes those at which no segment begins, but for
//! the newest of them behind the last segment's beginning. Only after a clean stop, and with no snapshot left at all, it
//! takes the state as empty (`UnifiedLog.rebuildProducerState`, `ProducerStateManager.truncateAndReload`,
//! `loadFromSnapshot`, `removeStraySnapshots`).

use super::Partition;
use super::draft::{about, capped, count, dropped, each_topic, finding, kept, lines};
use crate::facts::{PartitionContext, Snapshot, SnapshotConflict, SnapshotConflictKind};
use crate::finding::{Code, Confidence, Finding, SnapshotDifference};
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    each_topic(partitions, |(topic, _), partitions| in_topic(topic, partitions))
}

fn in_topic(topic: &str, partitions: &[Partition<'_>]) -> Option<Finding> {
    let conflicts: Vec<(i32, &SnapshotConflict)> = partitions
        .iter()
        .flat_map(|(context, facts)| facts.snapshot_conflicts.iter().map(|c| (context.partition, c)))
        .collect();
    if conflicts.is_empty() {
        return None;
    }
    let files: BTreeSet<(i32, &str)> = conflicts.iter().map(|&(p, c)| (p, c.file.as_str())).collect();
    let all_damaged = conflicts.iter().all(|(_, c)| c.kind == SnapshotConflictKind::Damaged);
    let number =
        count(u64::try_from(files.len()).unwrap_or(u64::MAX), "producer snapshot", "producer snapshots");
    let (title, confidence) = if all_damaged {
        (format!("{topic}: {number} cannot be read"), Confidence::Certain)
    } else if conflicts.iter().all(|(_, c)| c.kind == SnapshotConflictKind::Missing) {
        (
            format!(
                "{topic}: {number} of a clean stop {} not there",
                if files.len() == 1 { "is" } else { "are" }
            ),
            Confidence::Likely,
        )
    } else {
        (format!("{topic}: {number} and the log do not agree"), Confidence::Likely)
    };
    let mut finding = finding(Code::SnapshotMismatch, confidence, title);
    about(&mut finding, conflicts.iter().map(|&(partition, _)| (topic, partition)));
    let mut kinds: BTreeMap<SnapshotConflictKind, u64> = BTreeMap::new();
    for (_, conflict) in &conflicts {
        *kinds.entry(conflict.kind).or_default() += 1;
    }
    if kinds.len() > 1 {
        let number_of =
            |(&kind, &number): (&SnapshotConflictKind, &u64)| format!("{number} × {}", what(kind));
        finding.facts = kinds.iter().map(number_of).collect();
    }
    if !kinds.keys().all(|kind| *kind == SnapshotConflictKind::Missing) {
        finding.facts.push("the log was followed, not the snapshot".to_owned());
    }
    if kinds.contains_key(&SnapshotConflictKind::OtherCoordinator) {
        finding.facts.push(
            "a broker refuses the markers of a coordinator whose epoch is below that of the snapshot it began from: what they \
             were to end stays open"
                .to_owned(),
        );
    }
    finding.facts.extend(capped(partitions.iter().filter_map(begins_empty), "empty snapshots"));
    finding.alternatives = alternatives(&kinds);
    finding.would_settle =
        lines(["the broker's log at its last start", "the snapshots of the other replicas"]);
    finding.advice = advice(topic, partitions);
    finding.snapshots = conflicts
        .iter()
        .map(|&(partition, conflict)| SnapshotDifference {
            file: format!("{topic}-{partition}/{}", conflict.file),
            what: what(conflict.kind).to_owned(),
            producer_id: conflict.producer_id.map(|id| id.0),
            snapshot: conflict.snapshot.clone(),
            log: conflict.log.clone(),
        })
        .collect();
    Some(finding)
}

/// The snapshot from which a broker begins, where that is sound and empty although the log holds producers. That
/// contradicts nothing by itself: all of them may have expired before it was written, and it does not say when that was.
/// A broker also writes such ones when it starts after a clean stop without any (`UnifiedLog.rebuildProducerState`).
fn begins_empty(&(context, facts): &Partition<'_>) -> Option<String> {
    let usable = context.snapshots.iter().filter(|one| {
        one.entries.is_ok() && one.offset > context.log_start_offset && one.offset <= facts.log_end_offset
    });
    let newest = usable.max_by_key(|one| one.offset)?;
    if !newest.entries.as_ref().is_ok_and(Vec::is_empty) {
        return None;
    }
    let below = facts.epochs.iter().filter(|span| span.last_offset < newest.offset);
    let producers: BTreeSet<_> = below.map(|span| span.producer_id).collect();
    let number = u64::try_from(producers.len()).unwrap_or(u64::MAX);
    (number > 0).then(|| {
        format!(
            "{}-{}/{} is sound and empty: a broker begins from it and remembers none of {} in front of it, which had expired \
             or were lost with snapshots; what they send again is stored again",
            context.topic,
            context.partition,
            newest.file,
            count(number, "producer", "producers")
        )
    })
}

/// What a broker does with a snapshot that is told of when it loads the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate<'a> {
    /// The state begins from it, and an older one is sound.
    LoadedBefore(&'a str),
    /// The state begins from it, and no other one could take its place.
    LoadedAlone,
    /// It is deleted, and the state begins from an older one.
    DeletedBefore(&'a str),
    /// It is deleted, and the state is built from the log, from this offset on.
    DeletedAlone(i64),
    /// Its number is not within the log: it is deleted and never loaded.
    Outside,
    /// A newer one is loaded.
    Behind(&'a str),
    /// There is none.
    Missing,
}

fn fate<'a>(&(context, facts): &Partition<'a>, conflict: &SnapshotConflict) -> Fate<'a> {
    if conflict.kind == SnapshotConflictKind::Missing {
        return Fate::Missing;
    }
    let (start, offset) = (context.log_start_offset, conflict.offset);
    if conflict.kind == SnapshotConflictKind::BeyondLogEnd || offset <= start {
        return Fate::Outside;
    }
    let is_loaded = |one: &&Snapshot| {
        one.entries.is_ok()
            && one.offset > start
            && (one.offset <= facts.log_end_offset || !end_is_known(context))
    };
    let newest = |list: &mut dyn Iterator<Item = &'a Snapshot>| list.max_by_key(|one| one.offset);
    let usable = || context.snapshots.iter().filter(is_loaded);
    if let Some(newer) = newest(&mut usable().filter(|one| one.offset > offset)) {
        return Fate::Behind(&newer.file);
    }
    let is_sound = |one: &&Snapshot| {
        one.offset < offset && facts.snapshot_conflicts.iter().all(|conflict| conflict.file != one.file)
    };
    let at_segment = |number: Offset| context.segment_bases.contains(&number);
    // What is deleted for a newer one that no segment begins at cannot take its place. A broken file is such a
    // newer one as long as it is there; a wrong one is moved away.
    let stays = |one: &&Snapshot| {
        let supersedes = |other: &Snapshot| {
            let moved_away = other.offset == offset && conflict.kind != SnapshotConflictKind::Damaged;
            other.offset > one.offset && !at_segment(other.offset) && !moved_away
        };
        at_segment(one.offset)
            || (context.segment_bases.last().is_none_or(|last| *last < one.offset)
                && !context.snapshots.iter().any(supersedes))
    };
    let older = newest(&mut usable().filter(is_sound).filter(stays));
    match (conflict.kind, older) {
        (SnapshotConflictKind::Damaged, Some(older)) => Fate::DeletedBefore(&older.file),
        (SnapshotConflictKind::Damaged, None) => Fate::DeletedAlone(start.0),
        (_, Some(older)) => Fate::LoadedBefore(&older.file),
        (_, None) => Fate::LoadedAlone,
    }
}

/// Whether the log ends where its files do; those of a running broker are of several moments.
fn end_is_known(context: &PartitionContext) -> bool {
    context.clean_shutdown != Some(false)
}

fn advice(topic: &str, partitions: &[Partition<'_>]) -> Vec<String> {
    let mut fates: BTreeMap<Fate<'_>, BTreeSet<String>> = BTreeMap::new();
    for partition in partitions {
        for conflict in &partition.1.snapshot_conflicts {
            let file = format!("{topic}-{}/{}", partition.0.partition, conflict.file);
            fates.entry(fate(partition, conflict)).or_default().insert(file);
        }
    }
    // What is to be done comes first.
    fates.iter().take(3).map(|(fate, files)| {
        let first = files.first().map_or("", String::as_str);
        let file = match files.len() {
            0 | 1 => first.to_owned(),
            more => format!("{first} (and {} more like it)", more - 1),
        };
        match fate {
            Fate::LoadedBefore(older) => format!(
                "a broker begins from {file} and answers by it what producers and coordinators send: look for repeats behind it; while the broker \
                 is stopped, move the file away, and it begins from the older {older} and the log behind that"
            ),
            Fate::LoadedAlone => format!(
                "a broker begins from {file} and answers by it what producers and coordinators send: look for repeats behind it; while the broker \
                 is stopped, move the file and .kafka_cleanshutdown of its log directory away together, and it builds the \
                 state from the log (and recovers the other logs of the directory as well): no older sound snapshot is here, and after a clean stop without any a broker takes \
                 the state as empty and forgets every producer"
            ),
            Fate::DeletedBefore(older) => format!(
                "nothing has to be done about {file}: a broker deletes it when it loads the log, and builds the state from \
                 the older {older} and what follows in the log"
            ),
            Fate::DeletedAlone(start) => format!(
                "leave {file} where it is: a broker deletes it when it loads the log, and builds the state from the log, \
                 from offset {start} on; without the file it would take the state as empty after a clean stop"
            ),
            Fate::Outside => format!(
                "a broker deletes {file} when it loads the log, and begins from no state that lies outside it: look for \
                 what is missing of the log, on other replicas first"
            ),
            Fate::Behind(newer) => format!(
                "a broker does not load {file} as long as it can read the newer {newer}"
            ),
            Fate::Missing => format!(
                "a broker that starts from these files takes the state as empty without {file}, forgets every producer, and stores \
                 again what they send again: while it is stopped, move .kafka_cleanshutdown of the log directory away, and it \
                 builds the state from the log (and recovers the other logs of the directory as well)"
            ),
        }
    }).collect()
}

fn alternatives(kinds: &BTreeMap<SnapshotConflictKind, u64>) -> Vec<crate::finding::Alternative> {
    let mut alternatives = Vec::new();
    if kinds.contains_key(&SnapshotConflictKind::LacksProducer) {
        alternatives.push(dropped(
            "expiry",
            "an entry stayed that is older in the log and in time; a sweep takes the older one first",
        ));
    }
    if kinds.contains_key(&SnapshotConflictKind::Damaged) {
        alternatives.push(kept(
            "power loss",
            "brokers before 2.8 did not flush a snapshot when a segment was rolled",
        ));
    }
    if kinds.contains_key(&SnapshotConflictKind::BeyondLogEnd) {
        alternatives.push(kept("missing segment", "the end of the log that the snapshot covers is gone"));
    }
    if kinds.contains_key(&SnapshotConflictKind::Missing) {
        alternatives.push(kept("left out of a copy", "whoever copied the directory may have left them out"));
    }
    if kinds.keys().any(|&kind| {
        matches!(
            kind,
            SnapshotConflictKind::OtherBatch
                | SnapshotConflictKind::Stale
                | SnapshotConflictKind::EntryBeyondSnapshot
                | SnapshotConflictKind::OtherTransaction
                | SnapshotConflictKind::OtherCoordinator
                | SnapshotConflictKind::WithoutTrace
                | SnapshotConflictKind::OtherBounds
                | SnapshotConflictKind::Repeated
        )
    }) {
        alternatives.push(kept("mixed files", "the snapshot is one of another replica, or of another time"));
    }
    alternatives
}

const fn what(kind: SnapshotConflictKind) -> &'static str {
    match kind {
        SnapshotConflictKind::Damaged => "cannot be read",
        SnapshotConflictKind::BeyondLogEnd => "covers more than the log holds",
        SnapshotConflictKind::EntryBeyondSnapshot => "names an offset that it does not cover",
        SnapshotConflictKind::OtherBatch => "the log holds another batch at the named offset",
        SnapshotConflictKind::Stale => "the log holds later batches of the producer that it should cover",
        SnapshotConflictKind::OtherTransaction => "differs from the log about an open transaction",
        SnapshotConflictKind::OtherCoordinator => "names another coordinator epoch than the last marker",
        SnapshotConflictKind::WithoutTrace => "says of a producer what nothing in the log led to",
        SnapshotConflictKind::OtherBounds => "the batch at the named offset has another length",
        SnapshotConflictKind::Repeated => "names a producer more than once",
        SnapshotConflictKind::LacksProducer => "lacks a producer that cannot have expired",
        SnapshotConflictKind::Missing => "is missing, and so are all others",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::SnapshotEntry;
    use crate::facts::script::{START, fold_in};
    use crate::units::{ProducerEpoch, ProducerId, Sequence};

    fn entry(id: i64, epoch: i16, sequence: i32, offset: i64, time: i64) -> SnapshotEntry {
        SnapshotEntry {
            producer_id: ProducerId(id),
            producer_epoch: Some(ProducerEpoch(epoch)),
            last_sequence: Sequence::new(sequence),
            last_offset: (offset >= 0).then_some(Offset(offset)),
            offset_delta: 0,
            timestamp: START + time,
            coordinator_epoch: None,
            current_txn_first_offset: None,
        }
    }

    /// About the batch of producer 5 with sequences 0 to 4.
    fn of_five(time: i64) -> SnapshotEntry {
        SnapshotEntry { offset_delta: 4, ..entry(5, 0, 4, 4, time) }
    }

    fn open(id: i64, epoch: i16, since: i64) -> SnapshotEntry {
        SnapshotEntry { current_txn_first_offset: Some(Offset(since)), ..entry(id, epoch, -1, -1, 0) }
    }

    fn told(number: i64, entries: Result<Vec<SnapshotEntry>, String>, script: &str) -> Vec<String> {
        let snapshot = Snapshot { file: format!("{number:020}.snapshot"), offset: Offset(number), entries };
        let context = PartitionContext { snapshots: vec![snapshot], ..PartitionContext::default() };
        let (context, facts) = fold_in(context, script);
        judge(&[(&context, &facts)]).into_iter().flat_map(|f| f.snapshots).map(|s| s.what).collect()
    }

    fn one(kind: SnapshotConflictKind) -> Vec<String> {
        vec![what(kind).to_owned()]
    }

    const TWO: &str = "D 5/0 0..4; D 6/0 0..0; D 5/0 5..5";

    #[test]
    fn a_snapshot_that_agrees_is_no_finding() {
        assert!(told(7, Ok(vec![entry(5, 0, 5, 6, 3), entry(6, 0, 0, 5, 2)]), TWO).is_empty());
        assert!(told(6, Ok(vec![of_five(1), entry(6, 0, 0, 5, 2)]), TWO).is_empty());
    }

    #[test]
    fn empty_snapshots_and_producers_without_records_are_valid() {
        assert!(told(7, Ok(Vec::new()), TWO).is_empty());
        assert!(
            told(7, Ok(vec![entry(99, 3, 5, 2000, 1)]), TWO)
                == one(SnapshotConflictKind::EntryBeyondSnapshot)
        );
        assert!(told(7, Ok(vec![entry(99, 3, -1, -1, 1)]), TWO).is_empty());
    }

    #[test]
    fn a_sound_and_empty_snapshot_from_which_a_broker_begins_is_a_fact_and_no_finding() {
        let snapshot = |number: i64, entries| Snapshot {
            file: format!("{number:020}.snapshot"),
            offset: Offset(number),
            entries,
        };
        let told = |snapshots: Vec<Snapshot>| {
            let (context, facts) =
                fold_in(PartitionContext { snapshots, ..PartitionContext::default() }, TWO);
            judge(&[(&context, &facts)]).pop().map(|finding| {
                finding.facts.iter().any(|fact| fact.contains("remembers none of 2 producers in front of it"))
            })
        };
        let broken = || snapshot(3, Err("0 bytes".to_owned()));
        assert_eq!(told(vec![broken(), snapshot(7, Ok(Vec::new()))]), Some(true));
        assert_eq!(told(vec![broken(), snapshot(7, Ok(vec![entry(5, 0, 5, 6, 3)]))]), Some(false));
        assert_eq!(told(vec![snapshot(7, Ok(Vec::new()))]), None);
    }

    #[test]
    fn a_producer_that_is_missing_has_expired_unless_an_older_one_stayed() {
        assert!(told(7, Ok(vec![entry(5, 0, 5, 6, 3)]), TWO).is_empty());
        let lacks = told(7, Ok(vec![entry(6, 0, 0, 5, 2)]), TWO);
        assert_eq!(lacks, one(SnapshotConflictKind::LacksProducer));
    }

    #[test]
    fn a_backfill_that_came_behind_the_sweep_does_not_contradict_it() {
        // Producer 6 wrote last, with old event times: it stays until the next sweep.
        assert!(told(7, Ok(vec![entry(6, 0, 0, 6, -9_000)]), "D 5/0 0..5; D 6/0 0..0").is_empty());
    }

    #[test]
    fn before_2_5_a_marker_did_not_keep_a_producer_of_old_events() {
        let stayed = || Ok(vec![entry(6, 0, 0, 0, 1)]);
        assert!(told(3, stayed(), "D 6/0 0..0; wait -10d; X 7/0 0..0; wait 10d; +M 7/0").is_empty());
        let lacks = told(3, stayed(), "D 6/0 0..0; X 7/0 0..0; +M 7/0");
        assert_eq!(lacks, one(SnapshotConflictKind::LacksProducer));
    }

    #[test]
    fn a_transaction_keeps_its_producer_until_its_marker() {
        let stayed = || Ok(vec![entry(7, 0, 0, 0, 1)]);
        let lacks = one(SnapshotConflictKind::LacksProducer);
        // Producer 6 expired while the transaction was open.
        assert!(told(3, stayed(), "X 7/0 0..0; D 6/0 0..0; +M 7/0").is_empty());
        assert_eq!(told(3, stayed(), "X 7/0 0..0; +M 7/0; D 6/0 0..0"), lacks);
        assert_eq!(told(4, stayed(), "X 7/0 0..0; +M 7/0; D 6/0 0..0; +M 7/0"), lacks);
    }

    #[test]
    fn in_a_complete_log_something_led_to_each_entry() {
        let told_in = |context: PartitionContext, number: i64, entry: SnapshotEntry, script: &str| {
            let entries = Ok(vec![entry]);
            let snapshot = Snapshot { file: "0.snapshot".to_owned(), offset: Offset(number), entries };
            let (context, facts) = fold_in(PartitionContext { snapshots: vec![snapshot], ..context }, script);
            let findings = judge(&[(&context, &facts)]);
            findings.into_iter().flat_map(|finding| finding.snapshots).map(|one| one.what).collect::<Vec<_>>()
        };
        let closed = || PartitionContext { clean_shutdown: Some(true), ..PartitionContext::default() };
        let without = one(SnapshotConflictKind::WithoutTrace);
        let data = "D 5/0 0..4";
        let bumped = entry(5, 1, -1, -1, 0);
        assert_eq!(told_in(closed(), 5, bumped, data), without);
        assert_eq!(told_in(closed(), 5, entry(9, 0, -1, -1, 0), data), without);
        // A newer epoch of a marker takes the batch away.
        let forgotten = "X 7/0 0..0; +M 7/1";
        assert_eq!(told_in(closed(), 2, entry(7, 0, 0, 0, 0), forgotten), without);
        assert!(told_in(closed(), 2, entry(7, 1, -1, -1, 0), forgotten).is_empty());
        let coordinator = SnapshotEntry { coordinator_epoch: Some(3), ..of_five(0) };
        assert_eq!(told_in(closed(), 5, coordinator, data), one(SnapshotConflictKind::OtherCoordinator));
        // What led to it may be gone, or the log may have been another one when the broker wrote this.
        for context in [
            PartitionContext::default(),
            PartitionContext { compacted: Some(true), ..closed() },
            PartitionContext { segment_bases: vec![Offset(3)], ..closed() },
        ] {
            let from = context.segment_bases.first().map_or(0, |base| base.0);
            assert!(told_in(context.clone(), from + 5, bumped, data).is_empty(), "{context:?}");
            let coordinator = SnapshotEntry { last_offset: Some(Offset(from + 4)), ..coordinator };
            assert!(told_in(context.clone(), from + 5, coordinator, data).is_empty(), "{context:?}");
        }
        for script in ["D 5/0 0..4; kept 1; D 6/0 0..0", "D 5/0 0..4; damage; D 6/0 0..0"] {
            assert!(told_in(closed(), 6, bumped, script).is_empty(), "{script}");
        }
    }

    #[test]
    fn a_batch_of_another_epoch_or_length_is_another_batch() {
        let delta = |offset_delta| SnapshotEntry { offset_delta, ..of_five(0) };
        let told = |entry: SnapshotEntry, script: &str| told(5, Ok(vec![entry]), script);
        assert!(told(delta(4), "D 5/0 0..4").is_empty());
        for wrong in [77, -5, 0] {
            assert_eq!(told(delta(wrong), "D 5/0 0..4"), one(SnapshotConflictKind::OtherBounds), "{wrong}");
        }
        // Up to 2.1 it was counted in sequences, also where these begin again at 0.
        let wraps = SnapshotEntry { last_sequence: Sequence::new(2), ..delta(2 - (i32::MAX - 1)) };
        assert!(told(wraps, "D 5/0 2147483646..2").is_empty());
        assert!(told(SnapshotEntry { offset_delta: 4, ..wraps }, "D 5/0 2147483646..2").is_empty());
        let epoch = SnapshotEntry { producer_epoch: Some(ProducerEpoch(1)), ..of_five(0) };
        assert_eq!(told(epoch, "D 5/0 0..4"), one(SnapshotConflictKind::OtherBatch));
    }

    #[test]
    fn a_producer_has_one_entry() {
        let twice = vec![entry(5, 0, 5, 6, 3), entry(6, 0, 0, 5, 2), entry(5, 0, 5, 6, 3)];
        assert_eq!(told(7, Ok(twice), TWO), one(SnapshotConflictKind::Repeated));
    }

    #[test]
    fn a_batch_that_was_forgotten_before_its_marker_came_is_in_no_entry() {
        let fresh = || Ok(vec![entry(7, 0, -1, -1, 0)]);
        assert!(told(3, fresh(), "X 7/0 0..0; +M 7/0; wait 2d; +M 7/0").is_empty());
        // How long a broker remembers need not be among the files.
        assert!(told(3, fresh(), "X 7/0 0..0; +M 7/0; +M 7/0").is_empty());
        assert!(told(3, fresh(), "X 7/0 0..0; +M 7/0; eM 7/0").is_empty());
        assert!(told(9, fresh(), "X 7/0 0..0; +M 7/0; at 8; roll; D 5/0 0..0").is_empty());
        for remembered in ["X 7/0 0..0; +M 7/0; D 5/0 0..0", "+M 7/0; D 7/0 0..0; D 5/0 0..0"] {
            assert_eq!(told(3, fresh(), remembered), one(SnapshotConflictKind::Stale), "{remembered}");
        }
        // Up to 2.4 a broker forgot it with its records, even while its transaction was open.
        let deleted = |start: i64| {
            let snapshot = Snapshot { file: "3.snapshot".to_owned(), offset: Offset(3), entries: fresh() };
            let context = PartitionContext {
                snapshots: vec![snapshot],
                log_start_offset: Offset(start),
                ..PartitionContext::default()
            };
            let (context, facts) = fold_in(context, "X 7/0 0..1; -M 7/0");
            judge(&[(&context, &facts)]).len()
        };
        assert_eq!((deleted(0), deleted(1), deleted(2)), (1, 1, 0));
    }

    #[test]
    fn no_transaction_begins_behind_a_snapshot_or_at_what_is_no_data_of_it() {
        let judged = |first: i64, script: &str| {
            let mut since = open(7, 0, first);
            (since.last_sequence, since.last_offset) = (Sequence::new(0), Some(Offset(1)));
            let snapshot =
                Snapshot { file: "3.snapshot".to_owned(), offset: Offset(3), entries: Ok(vec![since]) };
            let (context, facts) = fold_in(
                PartitionContext { snapshots: vec![snapshot], ..PartitionContext::default() },
                script,
            );
            let findings = judge(&[(&context, &facts)]);
            let told: Vec<String> = findings.into_iter().flat_map(|f| f.snapshots).map(|s| s.what).collect();
            (told, facts.transactions.iter().filter(|span| span.is_without_end()).count())
        };
        let plain = "D 6/0 0..0; D 7/0 0..0; D 6/0 1..1";
        let other = one(SnapshotConflictKind::OtherTransaction);
        assert_eq!(judged(0, plain), (other.clone(), 0));
        assert_eq!(judged(1, plain), (other.clone(), 0));
        assert_eq!(judged(2, "D 6/0 0..0; D 7/0 0..0; X 6/0 1..1"), (other, 1));
        let beyond = one(SnapshotConflictKind::EntryBeyondSnapshot);
        assert_eq!(judged(3, plain), (beyond.clone(), 0));
        assert_eq!(judged(200, plain), (beyond, 0));
        assert_eq!(judged(1, "D 6/0 0..0; X 7/0 0..0; D 6/0 1..1"), (Vec::new(), 1));
    }

    #[test]
    fn another_sequence_at_the_same_offset_contradicts_the_log() {
        assert_eq!(told(7, Ok(vec![entry(5, 0, 9, 6, 3)]), TWO), one(SnapshotConflictKind::OtherBatch));
        assert_eq!(told(7, Ok(vec![entry(5, 0, 4, 5, 3)]), TWO), one(SnapshotConflictKind::OtherBatch));
        assert_eq!(told(7, Ok(vec![entry(5, 0, 2, 2, 3)]), TWO), one(SnapshotConflictKind::OtherBatch));
    }

    #[test]
    fn a_snapshot_older_than_its_number_is_stale() {
        let stale = told(7, Ok(vec![of_five(1), entry(6, 0, 0, 5, 2)]), TWO);
        assert_eq!(stale, one(SnapshotConflictKind::Stale));
    }

    #[test]
    fn an_entry_over_a_hole_is_not_held_against_the_log() {
        assert!(
            told(30, Ok(vec![entry(5, 0, 9, 12, 3)]), "D 5/0 0..4; at 30; roll; D 5/0 10..10").is_empty()
        );
    }

    #[test]
    fn a_marker_that_began_an_epoch_leaves_no_batch() {
        assert!(told(6, Ok(vec![entry(7, 1, -1, -1, 3)]), "X 7/0 0..4; +M 7/1").is_empty());
        // 0.11 names the marker.
        assert!(told(6, Ok(vec![entry(7, 0, 4, 5, 3)]), "X 7/0 0..4; +M 7/0").is_empty());
    }

    #[test]
    fn damage_and_a_number_behind_the_end_are_told() {
        assert_eq!(told(7, Err("0 bytes".to_owned()), TWO), one(SnapshotConflictKind::Damaged));
        assert_eq!(told(90, Ok(Vec::new()), TWO), one(SnapshotConflictKind::BeyondLogEnd));
        assert!(told(90, Ok(Vec::new()), "D 5/0 0..4; damage").is_empty());
    }

    #[test]
    fn the_coordinator_of_a_snapshot_is_that_of_the_last_marker() {
        let told_at = |number: i64, epoch: Option<i32>, script: &str| {
            told(number, Ok(vec![SnapshotEntry { coordinator_epoch: epoch, ..entry(7, 0, 0, 0, 1) }]), script)
        };
        assert_eq!(told_at(2, Some(9), "X 7/0 0..0; +M 7/0"), one(SnapshotConflictKind::OtherCoordinator));
        assert!(told_at(2, Some(0), "X 7/0 0..0; +M 7/0").is_empty());
        assert!(told_at(2, None, "X 7/0 0..0; +M 7/0").is_empty());
        // A later marker is missing, cannot be read, or was emptied.
        assert!(told_at(9, Some(9), "X 7/0 0..0; +M 7/0; at 9; roll; D 5/0 0..0").is_empty());
        assert!(told_at(3, Some(9), "X 7/0 0..0; +M 7/0; ?M 7/0").is_empty());
        assert!(told_at(3, Some(9), "X 7/0 0..0; +M 7/0; eM 7/0").is_empty());
        assert!(told_at(2, Some(9), "X 7/0 0..0; +M 7/0; damage").is_empty());
        // Behind the snapshot another coordinator may have come.
        assert!(told_at(2, Some(0), "X 7/0 0..0; +M 7/0; D 7/0 1..1").is_empty());
    }

    #[test]
    fn a_clean_stop_leaves_a_snapshot_where_there_are_producers() {
        let judged = |lacks_snapshots: bool, script: &str| {
            let context = PartitionContext { lacks_snapshots, ..PartitionContext::default() };
            let (context, facts) = fold_in(context, script);
            judge(&[(&context, &facts)]).pop()
        };
        let finding = judged(true, TWO).unwrap();
        assert_eq!(finding.title, "orders: 1 producer snapshot of a clean stop is not there");
        assert_eq!(finding.snapshots[0].log.as_deref(), Some("holds 2 producers, and ends at offset 7"));
        assert!(
            finding.advice[0].contains("orders-0/00000000000000000007.snapshot, forgets every producer"),
            "{finding:#?}"
        );
        assert!(judged(false, TWO).is_none());
        assert!(judged(true, "D -1 3").is_none());
    }

    #[test]
    fn behind_deleted_records_a_clean_stop_has_nothing_to_leave() {
        let held = |start: i64| {
            let context = PartitionContext {
                lacks_snapshots: true,
                log_start_offset: Offset(start),
                ..PartitionContext::default()
            };
            let (context, facts) = fold_in(context, "D 5/0 0..4; X 6/0 0..0; D 8/0 0..0; +M 6/0");
            judge(&[(&context, &facts)]).pop().and_then(|finding| finding.snapshots[0].log.clone())
        };
        assert_eq!(held(8), None);
        assert_eq!(held(7).as_deref(), Some("holds 1 producer, and ends at offset 8"));
        assert_eq!(held(6).as_deref(), Some("holds 2 producers, and ends at offset 8"));
        assert_eq!(held(4).as_deref(), Some("holds 3 producers, and ends at offset 8"));
    }

    #[test]
    fn a_state_that_was_built_from_the_log_start_knows_a_transaction_from_there_on() {
        let judged = |start: i64, first: i64| {
            let mut since = open(7, 0, first);
            (since.last_sequence, since.last_offset) = (Sequence::new(8), Some(Offset(8)));
            let snapshot =
                Snapshot { file: "9.snapshot".to_owned(), offset: Offset(9), entries: Ok(vec![since]) };
            let context = PartitionContext {
                snapshots: vec![snapshot],
                log_start_offset: Offset(start),
                ..PartitionContext::default()
            };
            let (context, facts) = fold_in(context, "X 7/0 0..1; X 7/0 2..4; X 7/0 5..7; X 7/0 8..8");
            judge(&[(&context, &facts)])
                .into_iter()
                .flat_map(|f| f.snapshots)
                .map(|s| s.what)
                .collect::<Vec<_>>()
        };
        let differs = one(SnapshotConflictKind::OtherTransaction);
        let right = Vec::<String>::new();
        for (start, first, expected) in [
            (2, 2, &right),
            // The log start lies within a batch, which is read whole.
            (4, 2, &right),
            (5, 5, &right),
            // It was lower when the broker read the log.
            (5, 2, &right),
            (9, 8, &right),
            (0, 2, &differs),
            (1, 2, &differs),
            (4, 5, &differs),
            // No batch begins there.
            (5, 3, &differs),
        ] {
            assert_eq!(&judged(start, first), expected, "from {start}, open since {first}");
        }
    }

    fn advised(
        start: i64,
        snapshots: &[(i64, Result<Vec<SnapshotEntry>, String>)],
        script: &str,
    ) -> Vec<String> {
        let snapshots = snapshots.iter().map(|(number, entries)| Snapshot {
            file: format!("{number}.snapshot"),
            offset: Offset(*number),
            entries: entries.clone(),
        });
        let context = PartitionContext {
            snapshots: snapshots.collect(),
            log_start_offset: Offset(start),
            ..PartitionContext::default()
        };
        let (context, facts) = fold_in(context, script);
        judge(&[(&context, &facts)]).into_iter().flat_map(|finding| finding.advice).collect()
    }

    #[test]
    fn the_only_snapshot_is_not_moved_away_alone() {
        let wrong = || (7, Ok(vec![entry(5, 0, 9, 6, 3)]));
        let alone = advised(0, &[wrong()], TWO);
        assert!(alone[0].starts_with("a broker begins from orders-0/7.snapshot"), "{alone:#?}");
        assert!(
            alone[0].contains("and .kafka_cleanshutdown of its log directory away together"),
            "{alone:#?}"
        );
        let sound = || (6, Ok(vec![of_five(1), entry(6, 0, 0, 5, 2)]));
        let older = advised(0, &[sound(), wrong()], TWO);
        assert!(older[0].contains("begins from the older 6.snapshot and the log behind that"), "{older:#?}");
        // Below the log start it is deleted before it could serve; one that is wrong itself serves nobody.
        let deleted = advised(6, &[sound(), wrong()], TWO);
        assert!(deleted[0].contains(".kafka_cleanshutdown"), "{deleted:#?}");
        let both = advised(0, &[(6, Ok(vec![entry(5, 0, 9, 4, 3)])), wrong()], TWO);
        assert!(both[0].contains(".kafka_cleanshutdown"), "{both:#?}");
        assert!(
            both[1].contains("does not load orders-0/6.snapshot as long as it can read the newer 7"),
            "{both:#?}"
        );
    }

    #[test]
    fn a_snapshot_behind_the_end_is_never_loaded_and_a_broken_one_stays_where_it_is() {
        let behind = advised(0, &[(90, Ok(Vec::new()))], TWO);
        assert!(behind[0].starts_with("a broker deletes orders-0/90.snapshot"), "{behind:#?}");
        let broken = || (7, Err("0 bytes".to_owned()));
        let alone = advised(0, &[broken()], TWO);
        assert!(alone[0].contains("builds the state from the log, from offset 0 on"), "{alone:#?}");
        // As long as the broken one is there, an older one stays only where a segment begins.
        let sound = (6, Ok(vec![of_five(1), entry(6, 0, 0, 5, 2)]));
        let superseded = advised(0, &[sound.clone(), broken()], TWO);
        assert!(superseded[0].contains("from the log, from offset 0 on"), "{superseded:#?}");
        let older = advised(0, &[sound, broken()], "D 5/0 0..4; D 6/0 0..0; roll; D 5/0 5..5");
        assert!(older[0].contains("from the older 6.snapshot"), "{older:#?}");
    }

    #[test]
    fn an_open_transaction_is_compared_by_where_it_begins() {
        assert_eq!(
            told(1, Ok(vec![open(7, 0, 0)]), "X 7/0 0..0; D 5/0 0..0"),
            one(SnapshotConflictKind::Stale)
        );
        let mut agrees = open(7, 0, 0);
        (agrees.last_sequence, agrees.last_offset) = (Sequence::new(0), Some(Offset(0)));
        assert!(told(1, Ok(vec![agrees]), "X 7/0 0..0; D 5/0 0..0").is_empty());
        let mut closed = agrees;
        closed.current_txn_first_offset = None;
        let differs = told(1, Ok(vec![closed]), "X 7/0 0..0; D 5/0 0..0");
        assert_eq!(differs, one(SnapshotConflictKind::OtherTransaction));
    }
}
