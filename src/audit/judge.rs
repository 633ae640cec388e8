//! From relations and facts to findings: each part of the judgement is asked in turn, and what is to be shown is
//! read again and held against what was said of it.

use super::compared::Agreement;
use super::groups::{KeyCounts, Wants};
use super::logs::Logs;
use super::options::Records;
use super::pass::PartitionOutcome;
use super::prepare::Prepared;
use super::prepare::partition_count;
use super::trace::Values;
use super::verify::Verifier;
use super::{assemble, compared, namesakes, recreated, routing, snapshots};
use crate::error::AuditError;
use crate::facts::PartitionContext;
use crate::finding::Finding;
use crate::input::{Inventory, PartitionDir};
use crate::judgement::collisions::{BatchPlaces, Copies};
use crate::judgement::duplicates::{self, Examples};
use crate::judgement::offsets::Follower;
use crate::judgement::reuse::Reused;
use crate::judgement::rolled_back::RolledBack;
use crate::judgement::{self, Beside, Decisions};
use crate::plan::Proof;
use crate::relations::{Relations, StoredCopy};
use crate::report::model::Note;
use crate::units::{ClusterNumber, Offset, ProducerId, TopicNumber};
use std::collections::{BTreeMap, BTreeSet};

/// Groups that the findings about one key list: its copies are told by themselves, and there may be millions.
const GROUPS_OF_A_KEY: usize = 20;

/// What was found.
pub(super) struct Judged {
    pub(super) findings: Vec<Finding>,
    /// What became known while what is shown was read again.
    pub(super) notes: Vec<Note>,
    /// By topic: the surplus copies of all findings, whichever of them are chosen.
    pub(super) accused: BTreeMap<TopicNumber, u64>,
    /// Surplus copies that are there and were not chosen.
    pub(super) untold: u64,
    /// How many replicas hold what the leading ones hold, where they were compared.
    pub(super) agreement: Option<Agreement>,
}

/// Judges what is related. Groups whose bytes turn out unequal leave `relations`.
///
/// # Errors
/// [`AuditError`] when all examples are wanted and there are more than the memory holds.
pub(super) fn judge(
    logs: &Logs<'_>,
    relations: &mut Relations,
    key_counts: &[KeyCounts],
    wants: Wants,
    verifier: &mut Verifier<'_>,
) -> Result<Judged, AuditError> {
    let (options, prepared) = (logs.options, logs.prepared);
    let (inventory, leaders) = (&prepared.inventory, prepared.leaders.as_slice());
    let unequal = match options.rules.proof {
        Proof::OfShown => Vec::new(),
        Proof::OfAll => verifier.check_all(&mut relations.groups),
    };

    may_hold_all(logs, relations)?;
    // Reads every replica once more, and says nothing of one key.
    let compared = match wants {
        Wants::Repeats => Some(compared::replicas(inventory, leaders, logs.subjects, logs.outcomes, options)),
        Wants::All => None,
    };
    let pairs = compared.as_deref().unwrap_or_default();
    compared::name_partitions(&mut relations.partitions, inventory, leaders, pairs);
    let of_copies = match wants {
        Wants::All => Examples::AtMost(GROUPS_OF_A_KEY),
        Wants::Repeats => options.examples,
    };
    let mut findings: Vec<Finding> = duplicates::findings(relations, of_copies);
    let duplicates = findings.len();
    let places = copied_batches(relations, &judgement::collisions::stepping_back(&logs.judged));
    let copies = match options.records {
        Records::Read if !logs.late_stop.is_wanted() => Copies::Are(&places),
        // Not all of them were looked for.
        Records::Read | Records::HeadersOnly => Copies::Unknown,
    };
    let as_of = logs.as_of();
    let continued = recreated::continued(logs);
    let mut decisions = Decisions::asked(&logs.judged);
    prepared.internal.decide(&mut decisions, inventory, leaders, options);
    let ids = prepared.internal.transactional_ids();
    let beside = Beside { ids: &ids, decisions: &decisions, continued: &continued, as_of };
    findings.extend(judgement::single_facts(&logs.judged, &logs.sessions, copies, beside, options.examples));
    findings.extend(judgement::offsets::judge_followers(&followers(logs)));
    let counts = |topic: &str| partition_count(options, &prepared.internal, topic);
    let routed =
        routing::topics(inventory, leaders, &prepared.topics, &prepared.routings, logs.outcomes, &counts);
    findings.extend(judgement::misrouted::judge(&routed, &logs.judged, options.examples));
    findings.extend(judgement::rewinds::judge(relations, options.examples));
    findings.extend(judgement::reuse::judge(&reused_offsets(inventory, &logs.contexts, logs.outcomes)));
    if wants == Wants::Repeats {
        findings.extend(judgement::rolled_back::judge(&rolled_back(logs, key_counts), options.examples));
        findings.extend(judgement::replicas::judge(pairs));
    }

    // Copies are told apart from updates by all that are accused, whichever of them are chosen.
    let accused = assemble::accused(&findings);
    let mut untold = 0;
    if !options.surplus.is_all() {
        let chosen = duplicates::chosen(relations, of_copies, &options.surplus);
        untold = surplus(&findings[..duplicates]).saturating_sub(surplus(&chosen));
        findings.splice(..duplicates, chosen);
    }
    name_transactions(&mut findings, prepared);
    let mut notes = verifier.check(&mut findings);
    if options.values == Values::Shown {
        verifier.put_values(&mut findings);
    }
    notes.extend(unequal);
    notes.extend(unclean_ends(logs));
    notes.extend(snapshots::gone(inventory, &logs.contexts));
    namesakes::tell(&mut findings, prepared);
    judgement::identify(&mut findings, &prepared.topics.labels(inventory));
    judgement::link(&mut findings);
    Ok(Judged { findings, notes, accused, untold, agreement: compared.as_deref().map(Agreement::of) })
}

/// Whether the report has room for all copies and sessions, where it is to hold them.
fn may_hold_all(logs: &Logs<'_>, relations: &Relations) -> Result<(), AuditError> {
    let Some(most) = logs.options.most_entries.filter(|_| matches!(logs.options.examples, Examples::All))
    else {
        return Ok(());
    };
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let (sessions, pairs) = (number(logs.sessions.len()), number(relations.groups.pairs().count()));
    if sessions.saturating_add(pairs) <= most {
        return Ok(());
    }
    // Not every pair is accused.
    let copies = duplicates::surplus(relations);
    if sessions.saturating_add(copies) <= most {
        return Ok(());
    }
    Err(AuditError::TooManyEntries { copies, sessions, most })
}

/// The replicas that do not lead, beside the ends of those that do.
fn followers<'a>(logs: &Logs<'a>) -> Vec<Follower<'a>> {
    let follower = |(at, &leader): (usize, &usize)| {
        let leading_end = logs.outcomes.get(leader)?.facts.log_end_offset;
        let partition = (*logs.contexts.get(at)?, &logs.outcomes.get(at)?.facts);
        let directory = &logs.prepared.inventory.partitions.get(at)?.display;
        (at != leader).then_some(Follower { partition, directory, leading_end })
    };
    logs.prepared.leaders.iter().enumerate().filter_map(follower).collect()
}

/// By topic, the events that stand in aborted transactions alone.
fn rolled_back<'a>(logs: &Logs<'a>, key_counts: &[KeyCounts]) -> Vec<RolledBack<'a>> {
    let place = |(at, offset): (u32, Offset)| {
        let at = usize::try_from(at).ok()?;
        Some(((*logs.contexts.get(at)?, &logs.outcomes.get(at)?.facts), offset))
    };
    let topics = logs.prepared.topics.all.iter().zip(&logs.prepared.plans).zip(key_counts);
    topics
        .filter(|((_, plan), _)| !plan.internal)
        .map(|((topic, _), counts)| RolledBack {
            topic: &topic.name,
            events: counts.rolled_back.events,
            records: counts.rolled_back.records,
            first: counts.rolled_back.first().filter_map(place).collect(),
        })
        .collect()
}

fn unclean_ends(logs: &Logs<'_>) -> Vec<Note> {
    let dirs = logs.prepared.inventory.partitions.iter();
    let logs = logs.contexts.iter().zip(logs.outcomes);
    dirs.zip(logs)
        .filter(|(_, (_, outcome))| !outcome.interrupted)
        .filter_map(|(dir, (context, outcome))| {
            let detail = judgement::offsets::unclean_end((context, &outcome.facts))?;
            Some(Note::about(dir.display.clone(), detail))
        })
        .collect()
}

/// The surplus copies that findings tell of.
fn surplus(findings: &[Finding]) -> u64 {
    findings.iter().map(|finding| finding.counts.surplus_records).sum()
}

/// Which of the batches that step back hold copies of what their producer wrote under the same
/// epoch.
fn copied_batches(relations: &Relations, stepping_back: &BatchPlaces) -> BatchPlaces {
    let mut copied = BatchPlaces::new();
    if stepping_back.is_empty() {
        return copied;
    }
    let writer = |copy: &StoredCopy| (copy.partition, copy.producer_id, copy.producer_epoch);
    let (mut group, mut writers) = (None, BTreeSet::new());
    for pair in relations.groups.pairs() {
        if group.replace(pair.group) != Some(pair.group) {
            writers = BTreeSet::from([writer(&pair.earlier)]);
        }
        if writers.insert(writer(&pair.later)) {
            continue;
        }
        let note = relations.partition(pair.later.partition);
        if let Some(note) = note {
            let place = (TopicNumber(note.topic), note.partition, pair.later.batch.base_offset.0);
            if stepping_back.contains(&place) {
                copied.insert(place);
            }
        }
    }
    copied
}

fn reused_offsets<'a>(
    inventory: &'a Inventory,
    contexts: &'a [&PartitionContext],
    outcomes: &'a [PartitionOutcome],
) -> Vec<Reused<'a>> {
    let of_partition =
        |((dir, context), outcome): ((&'a PartitionDir, &'a &PartitionContext), &'a PartitionOutcome)| {
            outcome.reused.iter().map(move |(segment, damage)| {
                let file = dir.segments.get(*segment).map_or("", |segment| &segment.file_name);
                Reused {
                    topic: &dir.topic,
                    topic_number: context.topic_number,
                    partition: dir.partition,
                    file: dir.display_of(file),
                    position: damage.position,
                    detail: &damage.detail,
                }
            })
        };
    inventory.partitions.iter().zip(contexts).zip(outcomes).flat_map(of_partition).collect()
}

/// Adds the transactional ids that `__transaction_state` tells.
fn name_transactions(findings: &mut [Finding], prepared: &Prepared) {
    let mut clusters: BTreeMap<(TopicNumber, i32), BTreeSet<ClusterNumber>> = BTreeMap::new();
    for (at, dir) in prepared.inventory.partitions.iter().enumerate() {
        let of_place = clusters.entry((prepared.topics.number_of(at), dir.partition)).or_default();
        of_place.insert(prepared.inventory.cluster_of(dir));
    }
    for finding in findings {
        for transaction in &mut finding.transactions {
            let is_it = |number: &&TopicNumber| {
                prepared.topics.get(**number).is_some_and(|topic| topic.name == transaction.topic)
            };
            let places = finding.topic_numbers.iter().filter(is_it);
            let here: BTreeSet<ClusterNumber> = places
                .filter_map(|number| clusters.get(&(*number, transaction.partition)))
                .flatten()
                .copied()
                .collect();
            // Of a partition that two clusters have it is not known which one is meant.
            let cluster = here.first().filter(|_| here.len() == 1);
            let id = cluster.and_then(|cluster| {
                prepared.internal.transactional_id(*cluster, ProducerId(transaction.producer_id))
            });
            transaction.transactional_id = id.map(str::to_owned);
        }
    }
}
