//! Puts what was found into the report; decides nothing but order and caps.

use super::compared::Agreement;
use super::deleted::Deleted;
use super::groups::{KeyCounts, Wants};
use super::internal_topics::InternalTopics;
use super::lanes::RecordCounts;
use super::options::{AuditOptions, Records, SnapshotStates};
use super::pass::PartitionOutcome;
use super::positions;
use super::topics::Topics;
use crate::error::AuditError;
use crate::facts::{
    CommitHistory, EpochEnds, EpochSpan, HoleKind, Outcome, PartitionContext, PartitionFacts, Session,
    SessionSpan as FactSpan, Sessions, TransactionSpan,
};
use crate::finding::{Code, Event, Finding, Gap, GapReason, ProtectionMode, Stretch, Window, rfc3339};
use crate::input::{Inventory, LogDirScope, PartitionDir};
use crate::judgement::duplicates::Examples;
use crate::keys::Undecoded;
use crate::plan::adviser::Candidate;
use crate::plan::{RepeatsOf, TopicPlan};
use crate::relations::{
    self, AbortNote, Groups, PartitionNote, Relations, SessionNote, SessionNotes, SessionSpan, TopicNote,
};
use crate::report::model::{
    AbsentPartitions, Chosen, Coverage, DamageReport, EpochReport, Evidence, Identity, LeaderEpochStart,
    Note, PartitionReport, ProducerReport, ProtectionReport, Report, SessionReport, Suggestion, TopicReport,
    TransactionEpochs, TransactionalId, UndecodedReport, Updates, Visibility, VisibleRecords,
};
use crate::spill::Share;
use crate::units::{ClusterNumber, Offset, ProducerId, TopicNumber};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Entries of capped lists (damage, stretches, sessions, epochs, producers) unless told otherwise.
const LISTED: usize = 100;

/// Events unless told otherwise.
const EVENTS: usize = 500;
/// Suggestions for a topic.
const SUGGESTIONS: usize = 3;

/// Everything that the report is made of.
pub(super) struct Parts<'a> {
    pub(super) options: &'a AuditOptions,
    pub(super) inventory: &'a Inventory,
    pub(super) leaders: &'a [usize],
    /// The directories that lead, in the order in which sessions name them.
    pub(super) led: &'a [usize],
    pub(super) topics: &'a Topics,
    /// Partitions of these that lack.
    pub(super) absent: Vec<AbsentPartitions>,
    pub(super) plans: &'a [TopicPlan],
    pub(super) outcomes: &'a [PartitionOutcome],
    pub(super) contexts: &'a [&'a PartitionContext],
    pub(super) sessions: &'a Sessions,
    pub(super) key_counts: &'a [KeyCounts],
    pub(super) internal: &'a InternalTopics,
    /// What became known after the files were read.
    pub(super) notes: Vec<Note>,
    /// By topic, what the log starts have passed.
    pub(super) deleted: &'a BTreeMap<TopicNumber, Deleted>,
    /// What [`accused`] says of all findings.
    pub(super) accused: BTreeMap<TopicNumber, u64>,
    /// Surplus copies that are there and were not chosen.
    pub(super) untold: u64,
    /// How many replicas hold what the leading ones hold, where they were compared.
    pub(super) agreement: Option<Agreement>,
    /// Whether the report is about one key.
    pub(super) wants: Wants,
    pub(super) as_of: Option<i64>,
    /// Whether somebody ended the run when everything was read.
    pub(super) stopped_late: bool,
}

impl Parts<'_> {
    fn leads(&self, at: usize) -> bool {
        self.leaders.get(at) == Some(&at)
    }

    fn listed(&self) -> usize {
        listed(self.options)
    }

    fn dirs(&self) -> impl Iterator<Item = (usize, &PartitionDir, &PartitionOutcome)> {
        self.inventory
            .partitions
            .iter()
            .zip(self.outcomes)
            .enumerate()
            .map(|(at, (dir, outcome))| (at, dir, outcome))
    }
}

/// Events that a report has at most.
pub(super) const fn most_events(options: &AuditOptions) -> usize {
    match options.examples {
        Examples::All => usize::MAX,
        Examples::AtMost(_) => EVENTS,
    }
}

/// Entries of a capped list.
pub(super) const fn listed(options: &AuditOptions) -> usize {
    match options.examples {
        Examples::All => usize::MAX,
        Examples::AtMost(_) => LISTED,
    }
}

/// Where records stand in formats that cannot carry a producer id.
fn old_formats(facts: &PartitionFacts) -> Vec<(Offset, Offset)> {
    let stretches = facts.protection.stretches.iter().filter(|one| one.mode == ProtectionMode::Legacy);
    stretches.map(|one| (one.first_offset, one.last_offset)).collect()
}

/// Topics and partitions as the relations name them; no sessions and no groups yet.
pub(super) fn relations_base(
    inventory: &Inventory,
    topics: &Topics,
    plans: &[TopicPlan],
    logs: &[(&PartitionContext, &PartitionOutcome)],
    internal: &InternalTopics,
) -> Relations {
    let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let partitions =
        inventory.partitions.iter().zip(logs).enumerate().map(|(at, (dir, (context, outcome)))| {
            PartitionNote {
                topic: number(topics.of_partition(at)),
                partition: dir.partition,
                cluster: context.cluster,
                directory: dir.display.clone(),
                called: None,
                broker_id: dir.broker_id,
                segments: dir.segments.iter().map(|segment| segment.file_name.clone()).collect(),
                log_start_offset: context.log_start_offset,
                last_stable_offset: outcome.facts.last_stable_offset,
                first_unprotected_offset: outcome.first_unprotected,
                old_formats: old_formats(&outcome.facts),
                snapshots: snapshot_notes(context),
                newest_batches: newest_notes(&outcome.facts),
                begun_below: begun_below(&outcome.facts),
                aborts: aborts(&outcome.facts),
                damaged_bytes: outcome
                    .damage
                    .iter()
                    .filter(|(_, d)| !d.expected)
                    .map(|(_, d)| d.length)
                    .sum(),
            }
        });
    Relations {
        version: relations::VERSION,
        topics: plans
            .iter()
            .zip(topics.numbered())
            .map(|(plan, (topic, _))| TopicNote {
                name: plan.topic.clone(),
                identity: plan.identity.name(),
                chosen_by_user: plan.chosen_by_user,
                volatile: plan.mask.names(),
                every_repeat: plan.repeats == RepeatsOf::Key,
                compacted: logs
                    .iter()
                    .any(|(context, _)| context.topic_number == topic && context.is_compacted()),
                contents: plan.contents,
                client_times: plan.client_times,
                masked_ids: plan.masked_ids.iter().map(ToString::to_string).collect(),
            })
            .collect(),
        partitions: partitions.collect(),
        sessions: SessionNotes::default(),
        rewinds: positions::steps_back(internal, topics, inventory, logs),
        positions: positions::of(internal, topics, logs),
        resumed: internal.commits().flat_map(CommitHistory::resumed).cloned().collect(),
        source_offsets: internal.source_offsets.stored().cloned().collect(),
        copied: Vec::new(),
        groups: Groups::default(),
    }
}

/// The sessions as the relations name them.
///
/// # Errors
/// [`AuditError`] when what does not fit into memory cannot be written.
pub(super) fn session_notes(
    sessions: &Sessions,
    led: &[usize],
    internal: &InternalTopics,
    share: &Share,
) -> Result<SessionNotes, AuditError> {
    SessionNotes::of(sessions.iter().map(|session| session_note(&session, led, internal)), share)
}

/// Producers whose first batch has a sequence above 0, where what they wrote before can only have stood below all that
/// is in the files: below the log start, or in files of the log's head that are missing.
fn begun_below(facts: &PartitionFacts) -> Vec<(ProducerId, Offset)> {
    // In a hole further up it may have stood behind what is below that.
    let in_head = |gap: &Gap| {
        let below = facts.holes.iter().filter(|hole| hole.first_offset.0 < gap.at_offset);
        facts.holes_omitted == 0 && below.map(|hole| hole.kind).eq([HoleKind::Head])
    };
    let below = |gap: &&Gap| match gap.reason {
        GapReason::Retention | GapReason::LogStartMoved => true,
        GapReason::MissingSegment => in_head(gap),
        _ => false,
    };
    let begins = facts.gaps.iter().filter(|gap| gap.expected == 0).filter(below);
    begins.map(|gap| (ProducerId(gap.producer_id), Offset(gap.at_offset))).collect()
}

/// The aborted transactions of a partition.
fn aborts(facts: &PartitionFacts) -> Vec<AbortNote> {
    let aborted = facts.transactions.iter().filter(|span| span.outcome == Outcome::Aborted);
    let note = |span: &TransactionSpan| {
        let (producer_id, first_offset) = (span.producer_id, span.first_offset);
        Some(AbortNote { producer_id, first_offset, marker_offset: span.marker_offset? })
    };
    let mut notes: Vec<AbortNote> = aborted.filter_map(note).collect();
    notes.sort_unstable();
    notes.shrink_to_fit();
    notes
}

fn newest_notes(facts: &PartitionFacts) -> Vec<relations::NewestNote> {
    let note = |newest: &crate::facts::NewestBatches| relations::NewestNote {
        producer_id: newest.producer_id,
        at_offset: newest.at_offset,
        batches: newest.batches.clone(),
    };
    facts.newest_batches.iter().map(note).collect()
}

fn snapshot_notes(context: &PartitionContext) -> Vec<relations::SnapshotNote> {
    let mut notes: Vec<relations::SnapshotNote> = context
        .snapshots
        .iter()
        .filter_map(|snapshot| {
            let entries = snapshot.entries.as_ref().ok()?.iter();
            let mut entries: Vec<_> = entries.map(|entry| (entry.producer_id, entry.last_offset)).collect();
            entries.sort_unstable();
            let (producers, last_offsets) = entries.into_iter().unzip();
            let (file, offset) = (snapshot.file.clone(), snapshot.offset);
            Some(relations::SnapshotNote { file, offset, producers, last_offsets })
        })
        .collect();
    notes.sort_by_key(|note| note.offset);
    notes
}

/// Whether a partition's first batch of the session's first epoch has a sequence above 0.
fn begins_midstream(session: &Session) -> bool {
    let firsts = || session.spans.iter().map(|span| span.first);
    let earliest = firsts().map(|first| first.producer_epoch).min();
    firsts()
        .filter(|first| Some(first.producer_epoch) == earliest)
        .any(|first| first.sequence.is_some_and(|first| first != crate::units::Sequence::FIRST))
}

fn session_note(session: &Session, led: &[usize], internal: &InternalTopics) -> SessionNote {
    let partition = |at: usize| led.get(at).and_then(|&at| u32::try_from(at).ok()).unwrap_or(u32::MAX);
    SessionNote {
        name: session.name(),
        producer_id: session.producer_id,
        transactional: session.transactional,
        transactional_id: internal.transactional_id(session.cluster, session.producer_id).map(str::to_owned),
        begins_midstream: begins_midstream(session),
        groups: internal.groups_of(session.cluster, session.producer_id),
        spans: session
            .spans
            .iter()
            .map(|span| SessionSpan {
                partition: partition(span.partition),
                first_offset: span.first_offset,
                last_offset: span.last_offset,
                first_timestamp: span.first_timestamp,
                last_timestamp: span.last_timestamp,
                records: span.records,
                transactional: Some(span.transactional),
            })
            .collect(),
    }
}

/// The report, but for its verdict.
pub(super) fn report(parts: &Parts<'_>, findings: Vec<Finding>, events: (Vec<Event>, u64)) -> Report {
    let mut report = Report::new(parts.options.invocation.clone());
    report.set_as_of(parts.as_of);
    report.evidence = evidence(parts.inventory);
    report.coverage = coverage(parts);
    report.topics = topics(parts);
    for topic in report.topics.iter().filter(|topic| !topic.internal) {
        add(&mut report.visibility.read_uncommitted, topic.visibility.read_uncommitted);
        add(&mut report.visibility.read_committed, topic.visibility.read_committed);
        let sum = &mut report.visibility.provisional_records;
        *sum = both(*sum, topic.visibility.provisional_records);
    }
    (report.producers, report.producers_omitted) = producers(parts);
    report.verdict.interrupted =
        parts.stopped_late || parts.outcomes.iter().any(|outcome| outcome.interrupted);
    report.verdict.complete = coverage_is_complete(parts)
        && !report.coverage.nothing_keyed()
        && report.coverage.records_undecoded == 0
        && !parts.stopped_late
        && parts.notes.is_empty();
    report.findings = findings;
    (report.events, report.events_omitted) = events;
    // They are numbers of this run.
    report.findings.iter_mut().for_each(|finding| finding.topic_numbers.clear());
    report.events.iter_mut().for_each(|event| event.topic_number = None);
    report
}

/// The directories that are read.
pub(super) fn evidence(inventory: &Inventory) -> Vec<Evidence> {
    let of_dir = |at: usize| inventory.partitions.iter().filter(move |dir| dir.log_dir == at);
    inventory
        .log_dirs
        .iter()
        .enumerate()
        .map(|(at, log_dir)| {
            let own =
                if log_dir.scope == LogDirScope::Whole { (log_dir.files, log_dir.bytes) } else { (0, 0) };
            let files = own.0 + of_dir(at).map(|dir| dir.files).sum::<usize>();
            let newest =
                of_dir(at).filter_map(|dir| dir.newest_file_time).chain(log_dir.newest_file_time).max();
            Evidence {
                directory: log_dir.display.clone(),
                broker_id: log_dir.broker_id,
                cluster_id: log_dir.cluster_id.clone(),
                files: count(files),
                bytes: own.1 + of_dir(at).map(|dir| dir.bytes).sum::<u64>(),
                newest_file_time: newest.and_then(|time| rfc3339(time.0)),
                clean_shutdown: log_dir.clean_shutdown,
            }
        })
        .collect()
}

/// How much was read, and whether all was, where nothing but the coverage is wanted.
pub(super) fn coverage_alone(parts: &Parts<'_>) -> (Coverage, bool) {
    (coverage(parts), coverage_is_complete(parts))
}

/// What is there, and what was wrong with it before any log was read.
pub(super) fn coverage_of(inventory: &Inventory) -> Coverage {
    let about = |note: &crate::input::Note| Note {
        file: Some(note.file.clone()).filter(|file| !file.is_empty()),
        detail: note.detail.clone(),
    };
    let mut names: Vec<(&'static str, String)> = Vec::new();
    for dir in &inventory.partitions {
        names.push(("topic", dir.topic.clone()));
        names.push(("directory", dir.display.clone()));
    }
    names.extend(inventory.passed_over.iter().map(|name| ("file", name.clone())));
    names.extend(inventory.clusters.iter().filter_map(|cluster| Some(("clusterId", cluster.id.clone()?))));
    names.sort_unstable();
    names.dedup();
    Coverage {
        names,
        partitions: count(inventory.partitions.len()),
        segments: inventory.partitions.iter().map(|dir| count(dir.segments.len())).sum(),
        segments_not_named: inventory.partitions.iter().map(|dir| count(dir.selection.left_out())).sum(),
        empty_paths: inventory.empty_paths.clone(),
        bytes: inventory.partitions.iter().map(|dir| dir.bytes).sum(),
        damage: inventory.damage.iter().map(|d| DamageReport::new(d.file.clone(), &d.damage)).collect(),
        notes: inventory.notes.iter().map(about).collect(),
        ..Coverage::default()
    }
}

fn coverage(parts: &Parts<'_>) -> Coverage {
    let mut coverage = coverage_of(parts.inventory);
    // Sentences alone name them.
    for stored in parts.internal.source_offsets.stored() {
        coverage.names.extend([("client", stored.connector.clone()), ("topic", stored.topic.clone())]);
    }
    coverage.names.sort_unstable();
    coverage.names.dedup();
    let mut keyed = RecordCounts::default();
    for (at, dir, outcome) in parts.dirs() {
        let beside = match (parts.leads(at), dir.internal) {
            (false, _) => Some(&mut coverage.replicas),
            (true, true) => Some(&mut coverage.internal_topics),
            (true, false) => None,
        };
        if let Some(part) = beside {
            part.partitions += 1;
            part.records += outcome.facts.records;
        }
        coverage.bytes_read += outcome.bytes_read;
        coverage.batches += outcome.facts.batches;
        coverage.records += outcome.facts.records;
        coverage.control_batches += outcome.facts.control_batches;
        if !dir.internal {
            keyed.add(outcome.counts);
        }
        if let Some(context) = parts.contexts.get(at).filter(|_| parts.leads(at)) {
            let left_out = crate::judgement::indexes::not_copied((context, &outcome.facts));
            coverage.notes.extend(left_out.map(|detail| Note::about(dir.display.clone(), detail)));
        }
        let unfollowed = outcome.not_followed.detail();
        coverage.notes.extend(unfollowed.map(|detail| Note::about(dir.display.clone(), detail)));
        if outcome.facts.transactions_omitted > 0 {
            let detail = format!(
                "{} more transactions, the oldest, ended before those that are kept one by one: their outcomes count for \
                 what consumers see, and are not held against those of other partitions",
                crate::report::wording::number(outcome.facts.transactions_omitted)
            );
            coverage.notes.push(Note::about(dir.display.clone(), detail));
        }
        for (segment, found) in &outcome.damage {
            let file = dir.segments.get(*segment).map_or("", |segment| &segment.file_name);
            coverage.damage.push(DamageReport::new(dir.display_of(file), found));
        }
    }
    coverage.absent_partitions.clone_from(&parts.absent);
    coverage.replicas_compared = parts.agreement.map(|agreement| agreement.compared);
    coverage.replicas_agreeing = parts.agreement.map(|agreement| agreement.agreeing);
    tell_keys(&mut coverage, keyed);
    coverage.damage_omitted = count(coverage.damage.len().saturating_sub(parts.listed()));
    coverage.damage.truncate(parts.listed());
    coverage.notes.extend(parts.deleted.values().map(Deleted::note));
    coverage.notes.extend(parts.notes.iter().cloned());
    let told = |note: crate::input::Note| Note::about(note.file, note.detail);
    coverage.notes.extend(crate::input::changes(parts.inventory).into_iter().map(told));
    coverage.surplus_not_chosen = parts.untold;
    if parts.untold > 0 {
        let (copies, verb) = if parts.untold == 1 { ("copy", "was") } else { ("copies", "were") };
        let untold = parts.untold;
        let detail =
            format!("{untold} surplus {copies} {verb} found that the options do not choose: not told of");
        coverage.notes.push(Note { file: None, detail });
    }
    coverage
}

/// Whether all was read, tails that a broker leaves by nature aside.
fn coverage_is_complete(parts: &Parts<'_>) -> bool {
    let beside = parts.inventory.damage.iter().map(|found| &found.damage);
    let inside = parts.outcomes.iter().flat_map(|outcome| outcome.damage.iter().map(|(_, damage)| damage));
    beside.chain(inside).all(|damage| damage.expected)
}

fn topics(parts: &Parts<'_>) -> Vec<TopicReport> {
    let mut topics = Vec::with_capacity(parts.topics.all.len());
    for (at, ((number, topic), plan)) in parts.topics.numbered().zip(parts.plans).enumerate() {
        let counts = parts.key_counts.get(at).cloned().unwrap_or_default();
        let mut report = TopicReport {
            topic: topic.name.clone(),
            topic_id: topic.id.clone(),
            internal: plan.internal,
            holds_state: plan.holds_state,
            identity: (parts.options.records == Records::Read)
                .then(|| identity(plan, plan.suggestions.iter())),
            ..TopicReport::default()
        };
        let (mut uncommitted, mut committed, mut provisional) = (0, 0, None);
        for &partition in &topic.partitions {
            let (Some(context), Some(outcome)) =
                (parts.contexts.get(partition), parts.outcomes.get(partition))
            else {
                continue;
            };
            report.partitions.extend(partition_report(
                parts.options,
                parts.inventory,
                parts.leaders,
                partition,
                context,
                outcome,
            ));
            if parts.leads(partition) {
                uncommitted += outcome.readable.uncommitted;
                committed += outcome.readable.committed;
                provisional = both(provisional, outcome.readable.provisional);
            }
        }
        let keyed = parts.options.records == Records::Read;
        report.visibility = Visibility {
            read_uncommitted: visible(uncommitted, counts.uncommitted, keyed),
            read_committed: visible(committed, counts.committed, keyed),
            provisional_records: provisional,
        };
        let surplus = parts.accused.get(&number).copied().unwrap_or(0);
        let repeats = counts.uncommitted.keyed_records.saturating_sub(counts.uncommitted.distinct_keys);
        report.updates = Updates { keys: counts.keys_with_updates, records: repeats.saturating_sub(surplus) };
        topics.push(report);
    }
    topics
}

/// By topic: the surplus copies that findings accuse of repeating a record of the same topic.
pub(super) fn accused(findings: &[Finding]) -> BTreeMap<TopicNumber, u64> {
    let mut accused = BTreeMap::new();
    for finding in findings.iter().filter(|f| !matches!(f.code, Code::MisplacedBatch | Code::RestoredCopy)) {
        if let [topic] = finding.topic_numbers.as_slice() {
            *accused.entry(*topic).or_insert(0) += finding.counts.surplus_records;
        }
    }
    accused
}

fn visible(records: u64, seen: super::groups::Seen, keyed: bool) -> VisibleRecords {
    VisibleRecords {
        records,
        distinct_keys: keyed.then_some(seen.distinct_keys),
        repeated_key_records: keyed.then_some(seen.keyed_records.saturating_sub(seen.distinct_keys)),
    }
}

/// The sum of what is known.
fn both(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (known, None) | (None, known) => known,
    }
}

fn add(sum: &mut VisibleRecords, part: VisibleRecords) {
    sum.records += part.records;
    sum.distinct_keys = both(sum.distinct_keys, part.distinct_keys);
    sum.repeated_key_records = both(sum.repeated_key_records, part.repeated_key_records);
}

/// What identifies the events of a topic, and what may do so better.
pub(super) fn identity<'c>(plan: &TopicPlan, better: impl Iterator<Item = &'c Candidate>) -> Identity {
    Identity {
        key: plan.identity.name(),
        chosen: if plan.chosen_by_user { Chosen::User } else { Chosen::Auto },
        why: plan.why.clone(),
        volatile: plan.mask.names(),
        suggestions: better
            .take(SUGGESTIONS)
            .map(|candidate| Suggestion { key: candidate.key.to_string(), why: candidate.why.clone() })
            .collect(),
    }
}

/// What the report says of a directory, as soon as it was read.
pub(super) fn partition_report(
    options: &AuditOptions,
    inventory: &Inventory,
    leaders: &[usize],
    at: usize,
    context: &PartitionContext,
    outcome: &PartitionOutcome,
) -> Option<PartitionReport> {
    let (dir, facts) = (inventory.partitions.get(at)?, &outcome.facts);
    let leader = leaders.get(at).filter(|&&leader| leader != at);
    let epochs = if dir.leader_epochs.is_empty() {
        facts.leader_epochs.clone()
    } else {
        dir.leader_epochs.iter().map(|line| (line.epoch, line.start_offset)).collect()
    };
    Some(PartitionReport {
        partition: dir.partition,
        directory: dir.display.clone(),
        broker_id: dir.broker_id,
        replica_of: leader.and_then(|&leader| Some(inventory.partitions.get(leader)?.display.clone())),
        log_start_offset: context.log_start_offset.0,
        log_end_offset: facts.log_end_offset.0,
        last_stable_offset: Some(facts.last_stable_offset.0),
        high_watermark: dir.high_watermark.map(|offset| offset.0),
        cleaned_up_to: dir.first_dirty_offset.map(|offset| offset.0),
        batches: facts.batches,
        records: facts.records,
        bytes: dir.bytes,
        timestamp_type: outcome.timestamp_type.map(|kind| kind.name().to_owned()),
        window: Window::new(facts.first_timestamp, facts.last_timestamp),
        leader_epochs: epochs
            .into_iter()
            .map(|(epoch, start)| LeaderEpochStart { epoch: epoch.0, start_offset: start.0 })
            .collect(),
        protection: protection(facts, listed(options)),
    })
}

fn protection(facts: &PartitionFacts, listed: usize) -> ProtectionReport {
    let protection = &facts.protection;
    let stretches: Vec<Stretch> = protection.stretches.iter().take(listed).map(reported).collect();
    ProtectionReport {
        idempotent_records: protection.idempotent_records,
        transactional_records: protection.transactional_records,
        unprotected_records: protection.unprotected_records,
        legacy_records: protection.legacy_records,
        stretches_omitted: protection.stretches_omitted
            + count(protection.stretches.len().saturating_sub(listed)),
        stretches,
    }
}

fn reported(stretch: &crate::facts::ProtectionStretch) -> Stretch {
    let window = Window::new(stretch.first_timestamp, stretch.last_timestamp);
    Stretch {
        topic: None,
        partition: None,
        mode: stretch.mode,
        first_offset: stretch.first_offset.0,
        last_offset: stretch.last_offset.0,
        records: stretch.records,
        first_timestamp: window.first_timestamp,
        first_time: window.first_time,
        last_timestamp: window.last_timestamp,
        last_time: window.last_time,
    }
}

/// Producers by id, with what each session wrote to each partition.
fn producers(parts: &Parts<'_>) -> (Vec<ProducerReport>, u64) {
    // Whoever asks for each of them gets a list of its own, and the story of a key names those that it is about.
    if parts.options.snapshots == SnapshotStates::Told || parts.wants == Wants::All {
        return (Vec::new(), 0);
    }
    let listed = parts.listed();
    let (mut producers, mut omitted): (Vec<ProducerReport>, u64) = (Vec::new(), 0);
    // The producer of the session before, and whether it was told or counted.
    let (mut last, mut told) = (None, false);
    // Where the epochs of a session in a partition are to be told.
    let mut places: HashMap<(usize, u32), (usize, usize)> = HashMap::new();
    // By producer id.
    for (index, session) in (0..).zip(parts.sessions.iter()) {
        let of = (session.producer_id, session.cluster);
        if last.replace(of) != Some(of) {
            told = false;
        }
        for span in &session.spans {
            let dir = parts.led.get(span.partition).and_then(|&at| parts.inventory.partitions.get(at));
            let Some(dir) = dir else { continue };
            if dir.internal {
                continue;
            }
            if !told {
                told = true;
                if producers.len() < listed {
                    producers.push(ProducerReport {
                        producer_id: session.producer_id.0,
                        transactional_id: parts
                            .internal
                            .transactional_id(session.cluster, session.producer_id)
                            .map(transactional_id),
                        ..ProducerReport::default()
                    });
                } else {
                    omitted += 1;
                }
            }
            let id = session.producer_id.0;
            let Some(producer) = producers.last_mut().filter(|producer| producer.producer_id == id) else {
                continue;
            };
            if producer.sessions.len() >= listed {
                producer.sessions_omitted += 1;
                continue;
            }
            let sessions = producer.sessions.len();
            producer.sessions.push(session_report(&session, span, dir));
            places.insert((span.partition, index), (producers.len() - 1, sessions));
        }
    }
    tell_epochs(parts, &places, &mut producers);
    (producers, omitted)
}

/// What a session wrote to a partition; its epochs are not told yet.
pub(super) fn session_report(session: &Session, span: &FactSpan, dir: &PartitionDir) -> SessionReport {
    SessionReport {
        session: session.name(),
        topic: dir.topic.clone(),
        partition: dir.partition,
        transactional: span.transactional,
        transaction_epochs: span.ends.map(|ends| match ends {
            EpochEnds::Own => TransactionEpochs::OneForAll,
            EpochEnds::Next => TransactionEpochs::OneForEach,
        }),
        first_offset: span.first_offset.0,
        last_offset: span.last_offset.0,
        batches: span.batches,
        records: span.records,
        window: Window::new(span.first_timestamp, span.last_timestamp),
        epochs_omitted: 0,
        epochs: Vec::new(),
    }
}

/// Adds the epochs of the sessions that are told.
fn tell_epochs(
    parts: &Parts<'_>,
    places: &HashMap<(usize, u32), (usize, usize)>,
    producers: &mut [ProducerReport],
) {
    let told: BTreeSet<i64> = producers.iter().map(|producer| producer.producer_id).collect();
    for (partition, &at) in parts.led.iter().enumerate() {
        let mut of_session: BTreeMap<(usize, usize), ToldEpochs> = BTreeMap::new();
        let cluster = parts.contexts.get(at).map_or_else(ClusterNumber::default, |context| context.cluster);
        for span in parts.outcomes.get(at).into_iter().flat_map(|outcome| outcome.facts.epochs.iter()) {
            if !told.contains(&span.producer_id.0) {
                continue;
            }
            let session = parts.sessions.number(cluster, span.producer_id, span.producer_epoch);
            if let Some(place) = session.and_then(|session| places.get(&(partition, session))) {
                of_session.entry(*place).or_default().add(span, parts.listed());
            }
        }
        for ((producer, session), mut told) in of_session {
            let session = producers.get_mut(producer).and_then(|producer| producer.sessions.get_mut(session));
            let Some(session) = session else { continue };
            told.cut(parts.listed());
            session.epochs_omitted = told.omitted;
            session.epochs = told.spans.iter().map(epoch_report).collect();
        }
    }
}

/// The first epochs of a session in a partition.
#[derive(Default)]
pub(super) struct ToldEpochs {
    pub(super) spans: Vec<EpochSpan>,
    omitted: u64,
}

impl ToldEpochs {
    pub(super) fn add(&mut self, span: EpochSpan, most: usize) {
        self.spans.push(span);
        if self.spans.len() / 2 > most {
            self.cut(most);
        }
    }

    pub(super) fn cut(&mut self, most: usize) {
        self.spans = united(std::mem::take(&mut self.spans));
        self.omitted = self.omitted.saturating_add(count(self.spans.len().saturating_sub(most)));
        self.spans.truncate(most);
    }
}

/// Each epoch once, in order of their first offset.
fn united(mut spans: Vec<EpochSpan>) -> Vec<EpochSpan> {
    spans.sort_by_key(|span| (span.producer_epoch, span.first_offset));
    spans.dedup_by(|later, span| {
        let same = later.producer_epoch == span.producer_epoch;
        if same {
            span.join(later);
        }
        same
    });
    spans.sort_by_key(|span| span.first_offset);
    spans
}

pub(super) fn epoch_report(epoch: &EpochSpan) -> EpochReport {
    EpochReport {
        producer_epoch: epoch.producer_epoch.map(|epoch| epoch.0),
        first_offset: epoch.first_offset.0,
        last_offset: epoch.last_offset.0,
        first_sequence: epoch.first_sequence.map(crate::units::Sequence::get),
        last_sequence: epoch.last_sequence.map(crate::units::Sequence::get),
        batches: epoch.batches,
        records: epoch.records,
    }
}

pub(super) fn transactional_id(value: &str) -> TransactionalId {
    TransactionalId { value: value.to_owned(), source: "__transaction_state".to_owned() }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// What became of the keys of all records.
pub(super) fn tell_keys(coverage: &mut Coverage, counts: RecordCounts) {
    coverage.records_keyed = counts.keyed;
    coverage.records_without_key = counts.without_key;
    coverage.records_undecoded = counts.not_decoded();
    let told = |(why, records): (Undecoded, u64)| UndecodedReport { reason: why.name().to_owned(), records };
    coverage.undecoded = counts.undecoded().map(told).collect();
}
