//! The order of work of an audit, and all of its threads.
//!
//! ```text
//!  discover ─► replicas ─► sample, plan ─► one pass over all segments ─► group digests
//!      ─► second look at what may be equal ─► relations ─► judgement ─► report
//! ```
//!
//! A stage has a module: [`mod@prepare`], [`pass`], [`relate`], [`judge`], [`assemble`]; what the later ones
//! share is in [`logs`]. `compare`, `reconcile`, `keys` and `trace` go their own way in
//! [`mod@side_by_side`], [`mod@reconcile`], [`advice`] and [`mod@trace`].
//!
//! Each file is read once; only batches with records whose keys repeat ([`mod@contents`]), or that may be
//! copies ([`mod@copies`]), are read again, and the replicas of a partition once more, side by side.

mod abort_indexes;
mod absent;
mod advice;
mod assemble;
mod batches;
mod beyond;
mod chunks;
mod closings;
mod compared;
mod contents;
mod copies;
mod deferral;
mod deleted;
mod followed;
mod groups;
mod internal_topics;
mod judge;
mod lanes;
mod listener;
mod logs;
mod memory;
mod namesakes;
mod neighbours;
mod options;
mod pass;
mod positions;
mod prepare;
mod progress;
mod reconcile;
mod recreated;
mod relate;
mod replicas;
mod reread;
mod restored;
mod routing;
mod samples;
mod segment_indexes;
mod side_by_side;
mod snapshots;
mod sought;
mod strays;
mod told_producers;
mod topics;
mod trace;
mod verify;
mod watch;

use crate::candidates::{DigestKey, RowStore};
use crate::error::AuditError;
use crate::facts::{CommitHistory, Written};
use crate::finding::{Finding, Severity};
use crate::judgement::duplicates::{self, Examples, SurplusChoice};
use crate::judgement::{Happened, TopicLabel};
use crate::relations::Relations;
use crate::report;
use crate::report::answer::{Answer, Reading};
use crate::report::model::{Note, Report};
use crate::report::offsets::Cluster;
use crate::report::producer_list::ProducerList;
use crate::report::reconcile::Reconciled;
use crate::report::trace::Trace;
use crate::spill::Sorter;
pub use advice::{Advice, advise};
use groups::Wants;
use judge::Judged;
pub use listener::Listener;
use logs::{Logs, Read, Room};
pub use memory::Memory;
pub use options::{AuditOptions, EXAMPLES, Records, SnapshotStates};
use pass::PartitionOutcome;
use prepare::{Prepared, prepare};
pub use reconcile::Reconciler;
use relate::Related;
pub use side_by_side::{PairNames, SideBySide, TopicPair, side_by_side};
pub use sought::Sought;
pub use trace::Values;
use watch::LateStop;
pub use watch::{Stage, Watch};

/// The result of an audit.
#[derive(Debug)]
pub struct Audit {
    /// What is to be printed.
    pub report: Report,
    /// What the duplicate findings rest on.
    pub relations: Relations,
    /// What consumer groups committed, by the number of their cluster.
    pub commits: Vec<CommitHistory>,
    /// The clusters, as far as the files show that there are several.
    pub clusters: Vec<Cluster>,
    /// How many partitions of `__consumer_offsets` were read for it.
    pub commit_partitions: u32,
    /// What a reader of the commits should know: records that were not read, commits that are gone.
    pub commit_notes: Vec<Note>,
    /// Records of `__consumer_offsets` whose bytes do not hold what their type says.
    pub broken_commits: u64,
    /// Every producer, where that was asked for; how each session ended is not told yet.
    pub producers: ProducerList,
    topic_labels: Vec<TopicLabel>,
    choice: SurplusChoice,
    /// What was found of the one key that was asked for.
    found: Option<Trace>,
}

impl Audit {
    /// Hands out every surplus copy that the duplicate findings are about, whatever the report omits, a few at a time:
    /// findings with nothing but their ids, codes, topics and groups, each in as many parts as it takes, and in each
    /// group one surplus copy behind the earlier copy that it repeats.
    ///
    /// # Errors
    /// That of `each`; [`AuditError`] when what did not fit into memory cannot be read.
    pub fn surplus<E: From<AuditError>>(
        &mut self,
        each: impl FnMut(Finding) -> Result<(), E>,
    ) -> Result<(), E> {
        duplicates::in_parts(&self.relations, &self.choice, &self.topic_labels, each)?;
        Ok(self.relations.check()?)
    }
}

/// Audits what `options` names.
///
/// # Errors
/// [`AuditError`] when the run cannot start: no such path, nothing that a broker wrote; and when what does not fit into memory cannot be kept elsewhere. What cannot
/// be read on the way is in the coverage of the report.
pub fn run(options: &AuditOptions) -> Result<Audit, AuditError> {
    run_heard(options, None)
}

/// Does the same, and tells a listener what is known on the way.
///
/// # Errors
/// As [`run`].
pub fn run_telling(options: &AuditOptions, listener: &mut dyn Listener) -> Result<Audit, AuditError> {
    run_heard(options, Some(listener))
}

/// The audit with its verdict; whoever counts findings in another way than the tool gives it anew.
fn run_heard(options: &AuditOptions, listener: Option<&mut dyn Listener>) -> Result<Audit, AuditError> {
    let mut audit =
        in_pool(options, |threads| run_in_pool(options, threads, Asked { listener, ..Asked::default() }))?;
    audit.report.verdict = report::verdict::of(&audit.report, Some(Severity::Low));
    Ok(audit)
}

/// What an audit does beside its report.
#[derive(Default)]
struct Asked<'a, 'l> {
    request: Option<&'a Request<'a>>,
    reconciler: Option<&'a mut Reconciler<'l>>,
    listener: Option<&'a mut dyn Listener>,
}

/// Does `work` with as many threads as were asked for and the memory can feed.
fn in_pool<T: Send>(
    options: &AuditOptions,
    work: impl FnOnce(usize) -> Result<T, AuditError> + Send,
) -> Result<T, AuditError> {
    let threads = options.threads.clamp(1, options.memory.most_threads());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| AuditError::Usage(format!("cannot start {threads} threads: {error}")))?;
    pool.install(|| work(threads))
}

/// Audits what bears on one key: the batch lane of everything, and of the records those that have the
/// key, which is all that is held.
///
/// # Errors
/// As [`run`].
pub fn trace(options: &AuditOptions, request: &Request<'_>) -> Result<Answer<Trace>, AuditError> {
    let options = AuditOptions { examples: Examples::All, ..options.clone() };
    let audit = in_pool(&options, |threads| {
        run_in_pool(&options, threads, Asked { request: Some(request), ..Asked::default() })
    })?;
    let report = audit.report;
    let reading = Reading::of_verdict(&report::verdict::of(&report, None));
    let trace = audit.found.unwrap_or_else(|| Trace::of(request.sought.text()));
    Ok(Answer::new(report.invocation, report.as_of_timestamp, reading, trace, report.coverage))
}

/// The one key that is looked for, and how much is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The key.
    pub sought: &'a Sought,
    /// Copies that are listed.
    pub most: usize,
    /// Whether values may be told.
    pub values: Values,
}

/// Audits what `options` names, and holds a list of keys against it.
///
/// # Errors
/// As [`run`], and when the list cannot be read.
pub fn reconcile(
    options: &AuditOptions,
    mut reconciler: Reconciler<'_>,
) -> Result<(Report, Reconciled), AuditError> {
    let audit = in_pool(options, |threads| {
        let asked = Asked { reconciler: Some(&mut reconciler), ..Asked::default() };
        run_in_pool(options, threads, asked)
    })?;
    Ok((audit.report, reconciler.finish().unwrap_or_default()))
}

fn run_in_pool(options: &AuditOptions, threads: usize, asked: Asked<'_, '_>) -> Result<Audit, AuditError> {
    let Asked { request, mut reconciler, mut listener } = asked;
    let prepared = prepare(options)?;
    let subjects = prepared.subjects(options, request.map(|request| request.sought));
    let (digest_key, room) = (DigestKey::random(), Room::of(options));
    let mut rows = RowStore::new(room.shares.rows, room.space.clone());
    if let Some(reconciler) = &mut reconciler {
        options.watch.enter(Stage::Listing);
        reconciler.begin(digest_key, &mut rows, &room, &options.watch)?;
    }
    options.watch.enter(Stage::Reading);
    let Prepared { inventory, leaders, internal, topics, samples, plans, large, .. } = &prepared;
    if let Some(listener) = &mut listener {
        listener.begun(&options.invocation, &assemble::evidence(inventory));
    }
    let producers = room.producers();
    let mut written = Written::new(producers.clone());
    let mut tell = |at: usize, outcome: &mut PartitionOutcome| {
        let Some(subject) = subjects.get(at) else { return Ok(()) };
        written.add(at, &subject.context, &outcome.facts.epochs)?;
        let Some(listener) = &mut listener else { return Ok(()) };
        let told = assemble::partition_report(options, inventory, leaders, at, &subject.context, outcome);
        let (topic, Some(told)) = (topics.all.get(topics.of_partition(at)), told) else { return Ok(()) };
        let id = topic.and_then(|topic| topic.id.as_deref());
        listener.partition(&subject.context.topic, id, &told);
        Ok(())
    };
    let (mode, watch) = (options.mode, &options.watch);
    let reading = pass::Pass { mode, threads, digest_key, large, watch, producers: &producers };
    let mut outcomes = pass::read_all(&subjects, &reading, &mut rows, &mut tell)?;
    followed::follow(&subjects, topics, samples, options, large, &mut outcomes);
    // What is said of one key, or of a list of them, is said of all that was read.
    let late_stop = match (&request, &reconciler) {
        (None, None) => options.watch.after_reading(),
        _ => LateStop::default(),
    };
    let read = Read { outcomes: &outcomes, written, digest_key };
    let mut logs = Logs::new(options, &prepared, &subjects, read, &room, late_stop)?;

    options.watch.enter(Stage::Comparing);
    let wants = if request.is_some() { Wants::All } else { Wants::Repeats };
    let Related { mut relations, key_counts, found, doubts } =
        relate::relate(&logs, rows, wants, reconciler.as_deref_mut())?;

    options.watch.enter(Stage::Judging);
    let plans_of = logs.plans();
    let mut verifier = verify::Verifier::new(&subjects, inventory, &plans_of, options.mode, options.limits);
    let Judged { mut findings, mut notes, accused, untold, agreement } =
        judge::judge(&logs, &mut relations, &key_counts, wants, &mut verifier)?;
    let deleted = deleted::by_topic(&logs, &key_counts);
    deleted::tell(&mut findings, &deleted);
    neighbours::tell(&mut findings, &logs, &relations.partitions);
    notes.extend(doubts);
    let mut beside = internal.producer_id_blocks();
    beside.extend(closings::of_followers(&logs));
    let happened = Happened {
        partitions: &logs.judged,
        sessions: &logs.sessions,
        rewinds: &relations.rewinds,
        findings: &findings,
        beside: &beside,
    };
    let events = match (options.snapshots, &request) {
        (SnapshotStates::Checked, None) => {
            happened.at_most(&relations.groups, assemble::most_events(options), &|_| true)
        }
        // Whoever asks for the state of each producer is not told what happened when, and a story has its own.
        (SnapshotStates::Told, _) | (_, Some(_)) => (Vec::new(), 0),
    };
    let found = request.map(|request| {
        let story = trace::Story {
            relations: &relations,
            plans,
            samples,
            counts: &key_counts,
            partitions: &logs.judged,
            findings: &findings,
            happened,
            replicas: logs.replicas(),
        };
        story.tell(request, &found, &mut verifier)
    });
    let partition_count = |topic: &str| prepare::partition_count(options, internal, topic);
    let listed = assemble::listed(options);
    let absent = absent::absent(inventory, topics, plans, &prepared.routings, &partition_count, listed);
    let parts = assemble::Parts {
        options,
        inventory,
        leaders,
        led: &logs.led,
        topics,
        absent: absent.clone(),
        plans,
        outcomes: &outcomes,
        contexts: &logs.contexts,
        sessions: &logs.sessions,
        key_counts: &key_counts,
        internal,
        notes,
        deleted: &deleted,
        accused,
        untold,
        agreement,
        wants,
        as_of: logs.as_of(),
        stopped_late: logs.late_stop.is_wanted(),
    };
    let report = assemble::report(&parts, findings, events);
    let producers = match options.snapshots {
        SnapshotStates::Told => told_producers::list(&parts, &logs.judged, &room.producers())?,
        SnapshotStates::Checked => ProducerList::default(),
    };
    relations.check()?;
    let topic_labels = topics.labels(inventory);
    if let Some(reconciler) = reconciler {
        reconciler.end(&reconcile::Known {
            look: &logs.second_look(),
            relations: &relations,
            inventory,
            outcomes: &outcomes,
            contexts: &logs.contexts,
            led: &logs.led,
            partition_count: &partition_count,
            absent: &absent,
            complete: report.verdict.complete,
            findings: &report.findings,
            topics,
            topic_labels: &topic_labels,
            digest_key,
            results: &|| Sorter::new(room.shares.wanted, room.space.clone()),
            wanted: &|| room.wanted(),
        })?;
    }
    relations.check()?;
    logs.sessions.check()?;
    let of_logs: Vec<_> = logs.contexts.iter().copied().zip(&outcomes).collect();
    let log_ends = positions::log_ends(internal, &of_logs);
    let commit_notes = internal_topics::commit_notes(inventory, leaders, &outcomes, internal);
    let Prepared { internal, inventory, .. } = prepared;
    let clusters = inventory
        .clusters
        .into_iter()
        .map(|cluster| Cluster { cluster_id: cluster.id, directories: cluster.log_dirs });
    Ok(Audit {
        report,
        relations,
        commit_partitions: internal.commit_partitions(),
        broken_commits: internal.broken_commits,
        producers,
        commits: internal.into_commits(&log_ends),
        clusters: clusters.collect(),
        commit_notes,
        topic_labels,
        choice: options.surplus.clone(),
        found,
    })
}
