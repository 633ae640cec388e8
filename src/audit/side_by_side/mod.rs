//! The order of work of `compare`: which logs are held against which, and how.
//!
//! ```text
//!  discover ─► pairs ─► batch headers of each log ─► by offset: compare two walks
//!                                                └► mirrors: digests of both, matched ─► runs
//!      ─► judgement of replicas ─► a second look at records that differ ─► answer
//! ```
//!
//! Two logs are replicas, or copies of one, when partition and topic id agree, or the topic's name
//! where an id is not known: the same record stands at the same offset in both. Anything else is a mirror and
//! has to be named: there the same record stands at any offset.

mod excuses;
mod fate;
mod mirror;
mod order;
mod pairs;
mod settle;
mod tell;
mod unread;

pub use pairs::{PairNames, TopicPair};

use super::batches::LargeBatches;
use super::copies::SecondLook;
use super::deferral::Deferral;
use super::groups::Wants;
use super::internal_topics::InternalTopics;
use super::logs::newest_time;
use super::pass::{self, Pass, Subject};
use super::prepare::{Chosen, subject};
use super::replicas;
use super::topics::Topics;
use super::watch::LateStop;
use super::{AuditOptions, Stage, compared, in_pool};
use crate::candidates::{DigestKey, RowStore};
use crate::compare;
use crate::error::AuditError;
use crate::facts::Sessions;
use crate::input;
use crate::judgement;
use crate::keys::KeySpec;
use crate::plan::{Cleanup, KeyChoice, Sample, TopicPlan};
use crate::relations::Relations;
use crate::report::answer::Reading;
use crate::report::compare::Compared;
use crate::report::model::{Coverage, Note};
use crate::report::wording::counted;
use crate::spill::{Share, TempSpace};
use pairs::MatchedBy;
use std::path::PathBuf;

/// Events that are listed.
const EVENTS: usize = 100;

/// What `compare` found.
#[derive(Debug)]
pub struct SideBySide {
    /// The answer.
    pub compared: Compared,
    /// How much was read.
    pub coverage: Coverage,
    /// How much of it was read.
    pub reading: Reading,
    /// The newest time of the evidence.
    pub as_of: Option<i64>,
}

/// Compares what lies below the first path with what lies below each of the others.
///
/// # Errors
/// [`AuditError`] when the run cannot start, or nothing has a counterpart.
pub fn side_by_side(
    options: &AuditOptions,
    sides: &[PathBuf],
    names: &PairNames,
    listed: usize,
) -> Result<SideBySide, AuditError> {
    in_pool(options, |threads| compare_all(options, sides, names, listed, threads))
}

fn compare_all(
    options: &AuditOptions,
    sides: &[PathBuf],
    names: &PairNames,
    listed: usize,
    threads: usize,
) -> Result<SideBySide, AuditError> {
    let mut inventory = input::discover(sides, &options.discover())?;
    let large = LargeBatches::new(options.limits);
    // Commits that two replicas hold were made once.
    let leaders = replicas::leaders(&inventory, options.mode);
    let internal = InternalTopics::read(&inventory, &leaders, options);
    let chosen = |topic: &str, partition| options.partitions.chooses(topic, partition);
    let given = names.in_inventory(&inventory);
    inventory
        .choose_where(|dir| names.names_of(&dir.topic).any(|topic| chosen(topic, dir.partition)))
        .map_err(AuditError::Usage)?;
    let inventory = inventory;
    let names = names.chosen(&given, &inventory);
    let pairs::Found { pairs, siblings, unpaired } = pairs::find(&inventory, sides, &names)?;
    let every: Vec<usize> = (0..inventory.partitions.len()).collect();

    let (shown, matching) = specs(&options.key);
    let plan = |topic: &str, spec: &KeySpec| -> TopicPlan {
        crate::plan::decide(
            topic,
            &KeyChoice::User(spec.clone()),
            &options.rules,
            Cleanup::Delete,
            &Sample::default(),
        )
    };
    let matched: Vec<TopicPlan> =
        inventory.partitions.iter().map(|dir| plan(&dir.topic, &matching)).collect();
    let told: Vec<TopicPlan> = inventory.partitions.iter().map(|dir| plan(&dir.topic, &shown)).collect();
    let in_pair = |at: usize| pairs.iter().any(|pair| pair.a == at || pair.b == at);
    let mirrored = |at: usize| {
        pairs.iter().any(|pair| pair.matched_by == MatchedBy::Record && (pair.a == at || pair.b == at))
            || siblings.iter().any(|siblings| siblings.contains(at))
    };
    let at_once = Deferral::never();
    let topics = Topics::of(&inventory);
    let subjects: Vec<Subject<'_>> = inventory
        .partitions
        .iter()
        .zip(&matched)
        .enumerate()
        .map(|(at, (dir, plan))| {
            let chosen =
                Chosen { topic: topics.number_of(at), plan, routing: None, sought: None, deferral: &at_once };
            let mut subject = subject(&inventory, at, dir, mirrored(at), chosen, &internal, options);
            if !in_pair(at) && !mirrored(at) {
                subject.segments.clear();
            }
            subject
        })
        .collect();
    let digest_key = DigestKey::random();
    let (space, shares) =
        (TempSpace::new(options.memory.temp_dir.clone()), options.memory.shares(options.limits));
    let mut rows = RowStore::new(shares.rows, space.clone());
    options.watch.enter(Stage::Reading);
    let share = |limit: usize| Share { limit, space: space.clone() };
    let producers = share(shares.producers);
    let (mode, large_batches, watch) = (options.mode, &large, &options.watch);
    let pass = Pass { mode, threads, digest_key, large: large_batches, watch, producers: &producers };
    let outcomes = pass::read_all(&subjects, &pass, &mut rows, &mut |_, _| Ok(()))?;
    mirror::keyed(&pairs, &outcomes, &matching)?;
    options.watch.enter(Stage::Comparing);
    let logs = mirror::Logs { subjects: &subjects, outcomes: &outcomes, options };
    let sorting = mirror::Sorting {
        fates: share(shares.wanted),
        keys: share(shares.relations),
        by_content: options.key.one_key().is_none(),
    };
    let mirrors = mirror::matched(rows, (&pairs, &siblings), logs, listed, &sorting)?;
    let (settled, unpaired_records_alone) = mirrors.unpaired((&pairs, &siblings), logs);

    let judged: Vec<_> = subjects
        .iter()
        .map(|subject| &subject.context)
        .zip(outcomes.iter().map(|outcome| &outcome.facts))
        .collect();
    let mut sessions = Sessions::build(&judged, producers.clone())?;
    let logs: Vec<_> = subjects.iter().map(|subject| &subject.context).zip(&outcomes).collect();
    let mut relations = relations(&inventory, &logs, &sessions, &internal, &share(shares.relations))?;
    let look = SecondLook {
        subjects: &subjects,
        outcomes: &outcomes,
        plans: told.iter().collect(),
        mode: options.mode,
        large: &large,
        digest_key,
        sessions: &sessions,
        late_stop: &LateStop::default(),
        places: shares.places,
    };
    let teller = tell::Teller { inventory: &inventory, subjects: &subjects, outcomes: &outcomes, listed };
    let mut answer = Compared { unpaired: unpaired.names, unpaired_records_alone, ..Compared::default() };
    answer.unpaired_with_data = unpaired.with_data.saturating_sub(settled);
    let (mut replicas, mut told_pairs) = (Vec::new(), Vec::new());
    let mut interrupted = outcomes.iter().any(|outcome| outcome.interrupted);
    for (pair, mirror) in pairs.iter().zip(mirrors.of_pairs) {
        let log = |at: usize| compared::read_whole(subjects.get(at)?, outcomes.get(at)?, options.limits);
        let sides = (log(pair.a), log(pair.b));
        let (Some(a), Some(b), false) = (sides.0, sides.1, options.watch.is_stopped()) else {
            interrupted = true;
            answer.uncompared.push(teller.names(pair));
            continue;
        };
        told_pairs.push(*pair);
        answer.pairs.push(if let Some(mirror) = mirror {
            teller.mirror(pair, mirror, &options.key)
        } else {
            let comparison = compare::compare(&a, &b, options.mode, &|| options.watch.is_stopped());
            interrupted |= comparison.stopped_at.is_some();
            let told = teller.replicas(pair, &comparison);
            // A directory is no copy of itself.
            if comparison.stopped_at.is_none() && pair.a != pair.b {
                let at = [pair.a, pair.b];
                replicas.extend(compared::pair(
                    &inventory,
                    &subjects,
                    at,
                    [&a, &b],
                    comparison,
                    options.mode,
                ));
            }
            told
        });
    }
    options.watch.enter(Stage::Judging);
    tell::add_records(&mut answer, &told_pairs, &look, &relations, listed, || {
        crate::spill::Sorter::new(shares.wanted, space.clone())
    })?;
    answer.findings = judgement::replicas::judge(&replicas);
    // What each log says by itself; a topic whose replicas contradict each other in this is told once.
    let of_pairs: Vec<usize> = every.iter().copied().filter(|&at| in_pair(at)).collect();
    let chosen: Vec<_> = of_pairs.iter().filter_map(|&at| judged.get(at).copied()).collect();
    for finding in judgement::leader_epochs(&chosen) {
        let is_told =
            answer.findings.iter().any(|told| told.code == finding.code && told.topics == finding.topics);
        if !is_told {
            answer.findings.push(finding);
        }
    }
    judgement::identify(&mut answer.findings, &[]);
    let most = if listed == usize::MAX { usize::MAX } else { EVENTS };
    let beside = (answer.findings.as_slice(), &internal);
    let shares = (&share(shares.relations), &producers);
    (answer.events, answer.events_omitted) =
        tell::events(&inventory, &judged, &of_pairs, beside, shares, most)?;
    let as_of = options.as_of.or_else(|| newest_time(&outcomes));
    let contexts: Vec<_> = subjects.iter().map(|subject| &subject.context).collect();
    let parts = super::assemble::Parts {
        options,
        inventory: &inventory,
        leaders: &every,
        led: &every,
        topics: &topics,
        absent: Vec::new(),
        plans: &[],
        outcomes: &outcomes,
        contexts: &contexts,
        sessions: &sessions,
        key_counts: &[],
        internal: &internal,
        notes: Vec::new(),
        deleted: &std::collections::BTreeMap::new(),
        accused: std::collections::BTreeMap::new(),
        untold: 0,
        agreement: None,
        wants: Wants::Repeats,
        as_of,
        stopped_late: false,
    };
    let (mut coverage, complete) = super::assemble::coverage_alone(&parts);
    let unread = every.iter().copied().filter(|&at| !in_pair(at) && !mirrored(at));
    leave_out(&mut coverage, unread.filter_map(|at| inventory.partitions.get(at)));
    // Events name them in sentences alone.
    coverage.names.extend(internal.rewinds().into_iter().map(|rewind| ("group", rewind.group)));
    sessions.check()?;
    relations.check()?;
    let reading = if interrupted { Reading::Interrupted } else { Reading::of_complete(complete) };
    Ok(SideBySide { compared: answer, coverage, reading, as_of })
}

/// Takes out of the coverage what has no counterpart: nobody looked into it.
fn leave_out<'i>(coverage: &mut Coverage, unread: impl Iterator<Item = &'i input::PartitionDir>) {
    let (mut partitions, mut segments, mut bytes) = (0_u64, 0_u64, 0_u64);
    for dir in unread {
        partitions += 1;
        segments = segments.saturating_add(u64::try_from(dir.segments.len()).unwrap_or(u64::MAX));
        bytes = bytes.saturating_add(dir.bytes);
    }
    if partitions == 0 {
        return;
    }
    coverage.partitions = coverage.partitions.saturating_sub(partitions);
    coverage.segments = coverage.segments.saturating_sub(segments);
    coverage.bytes = coverage.bytes.saturating_sub(bytes);
    let detail = format!(
        "{} without counterpart, {} of {}: not read, and not in the numbers",
        counted(partitions, "partition"),
        counted(segments, "segment"),
        counted(bytes, "byte")
    );
    coverage.notes.push(Note { file: None, detail });
}

/// The key that is shown, and the key by which the records of a mirror are matched.
fn specs(choice: &KeyChoice) -> (KeySpec, KeySpec) {
    match choice.one_key() {
        Some(spec) => (spec.clone(), spec.clone()),
        None => (KeySpec::record_key(), KeySpec::content()),
    }
}

/// What the words of a record need: partitions, topics and sessions.
fn relations(
    inventory: &input::Inventory,
    logs: &[(&crate::facts::PartitionContext, &pass::PartitionOutcome)],
    sessions: &Sessions,
    internal: &InternalTopics,
    share: &Share,
) -> Result<Relations, AuditError> {
    let topics = Topics::of(inventory);
    let plans: Vec<TopicPlan> = topics
        .all
        .iter()
        .map(|topic| {
            let (key, rules) = (KeyChoice::User(KeySpec::record_key()), crate::plan::ContentRules::default());
            crate::plan::decide(&topic.name, &key, &rules, Cleanup::Delete, &Sample::default())
        })
        .collect();
    let led: Vec<usize> = (0..inventory.partitions.len()).collect();
    let mut relations = super::assemble::relations_base(inventory, &topics, &plans, logs, internal);
    relations.sessions = super::assemble::session_notes(sessions, &led, internal, share)?;
    Ok(relations)
}
