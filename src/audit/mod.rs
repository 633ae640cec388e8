//! The order of work of an audit, and all of its threads.
//!
//! ```text
//!  discover ─► replicas ─► sample, plan ─► one pass over all segments ─► group digests
//!      ─► second look at what may be equal ─► relations ─► judgement ─► report
//! ```
//!
//! Each file is read once; only batches with records that may be copies are read again, and the
//! replicas of a partition once more, side by side.

mod abort_indexes;
mod advice;
mod assemble;
mod batches;
mod chunks;
mod compared;
mod copies;
mod followed;
mod groups;
mod internal_topics;
mod lanes;
mod memory;
mod pass;
mod progress;
mod reconcile;
mod remembered;
mod replicas;
mod restored;
mod routing;
mod samples;
mod side_by_side;
mod snapshots;
mod sought;
mod strays;
mod trace;
mod verify;
mod watch;

use crate::candidates::spill::{Sorter, TempSpace};
use crate::candidates::{DigestKey, RowStore};
use crate::error::AuditError;
use crate::facts::{CommitHistory, Keep, PartitionContext, Sessions};
use crate::finding::Finding;
use crate::format::Limits;
use crate::input::{
    self, DiscoverOptions, Inventory, Leftovers, PartitionChoice, PartitionDir, ReadMode, Selection,
};
use crate::judgement::collisions::{BatchPlaces, Copies};
use crate::judgement::reuse::Reused;
use crate::judgement::{self, duplicates::Examples, duplicates::SurplusChoice};
use crate::keys::Identity;
use crate::plan::routing::Routing;
use crate::plan::{ContentRules, KeyChoice, Proof, Reach, Sample, TopicPlan};
use crate::relations::{self, KeyGroup, RelatedCopy, Relations, StoredCopy};
use crate::report;
use crate::report::answer::Answer;
use crate::report::model::{Invocation, Note, Report};
use crate::report::producers::SnapshotState;
use crate::report::reconcile::Reconciled;
use crate::report::table::Reading;
use crate::report::trace::Trace;
use crate::units::ProducerId;
pub use advice::{Advice, advise};
use batches::LargeBatches;
use groups::{PartitionView, Wanted, Wants};
use internal_topics::InternalTopics;
use lanes::RecordLane;
pub use memory::Memory;
use pass::{PartitionOutcome, Subject, SubjectSegment};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
pub use reconcile::Reconciler;
use routing::Route;
pub use side_by_side::{PairNames, SideBySide, TopicPair, side_by_side};
pub use sought::Sought;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
pub use trace::Values;
pub use watch::{Stage, Watch};

/// What is to be audited, and how.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// What the user named.
    pub paths: Vec<PathBuf>,
    /// How events are identified.
    pub key: KeyChoice,
    /// What does not count as content.
    pub rules: ContentRules,
    /// Whether the records themselves are looked at.
    pub records: Records,
    /// How files are read.
    pub mode: ReadMode,
    /// What to do with data that no broker would serve.
    pub leftovers: Leftovers,
    /// Threads that read and digest.
    pub threads: usize,
    /// What one batch may ask for.
    pub limits: Limits,
    /// How much memory may be used, and what takes the rest.
    pub memory: Memory,
    /// Whether values are shown.
    pub values: Values,
    /// How many examples a list in the report carries.
    pub examples: Examples,
    /// `producer.id.expiration.ms`, where the user tells it.
    pub expiration_ms: Option<i64>,
    /// Partition counts of topics, where the user tells them.
    pub partition_counts: BTreeMap<String, u32>,
    /// Which of the partitions that are found are audited.
    pub partitions: PartitionChoice,
    /// Which surplus copies the report tells of.
    pub surplus: SurplusChoice,
    /// The time that stands for now; the newest time of the evidence where it is not given.
    pub as_of: Option<i64>,
    /// Which commits of consumer groups are kept.
    pub commits: Keep,
    /// What becomes of what the producer snapshots say.
    pub snapshots: SnapshotStates,
    /// What the report says of the call.
    pub invocation: Invocation,
    /// Where the audit says how far it is, and looks whether it is to stop.
    pub watch: Watch,
}

/// What becomes of what the producer snapshots say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotStates {
    /// It is held against the log.
    Checked,
    /// It is told for each producer as well.
    Told,
}

/// Examples that a finding carries unless told otherwise.
pub const EXAMPLES: usize = 20;

impl AuditOptions {
    /// The audit of `paths` as the tool does it without any option: what identifies an event is
    /// decided for each topic, files are read by position, and a thread runs on each processor.
    #[must_use]
    pub fn over(paths: Vec<PathBuf>) -> Self {
        let named = paths.iter().map(|path| path.display().to_string()).collect();
        Self {
            invocation: Invocation { paths: named, key: "auto".to_owned(), options: BTreeMap::new() },
            paths,
            key: KeyChoice::Auto,
            rules: ContentRules::default(),
            records: Records::Read,
            mode: ReadMode::default(),
            leftovers: Leftovers::default(),
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            limits: Limits::default(),
            memory: Memory::default(),
            values: Values::Withheld,
            examples: Examples::AtMost(EXAMPLES),
            expiration_ms: None,
            partition_counts: BTreeMap::new(),
            partitions: PartitionChoice::default(),
            surplus: SurplusChoice::default(),
            as_of: None,
            commits: Keep::Positions,
            snapshots: SnapshotStates::Checked,
            watch: Watch::default(),
        }
    }
}

/// Whether the records themselves are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Digests of all of them, bytes of those that may be equal.
    Read,
    /// The batch lane alone: producers, sequences, gaps, protection, transactions.
    HeadersOnly,
}

/// The result of an audit.
#[derive(Debug)]
pub struct Audit {
    /// What is to be printed.
    pub report: Report,
    /// What the duplicate findings rest on.
    pub relations: Relations,
    /// What consumer groups committed.
    pub commits: CommitHistory,
    /// How many partitions of `__consumer_offsets` were read for it.
    pub commit_partitions: u32,
    /// What a reader of the commits should know: records that were not read, commits that are gone.
    pub commit_notes: Vec<Note>,
    /// What the producer snapshots say of each producer id, where that was asked for.
    pub remembered: BTreeMap<i64, Vec<SnapshotState>>,
    topic_ids: BTreeMap<String, String>,
    choice: SurplusChoice,
    /// What was found of the one key that was asked for.
    found: Option<Trace>,
}

impl Audit {
    /// The duplicate findings about the chosen copies with all of their groups, whatever the report omits.
    #[must_use]
    pub fn surplus(&self) -> Vec<Finding> {
        let mut findings = judgement::duplicates::chosen(&self.relations, Examples::All, &self.choice);
        judgement::identify(&mut findings, &self.topic_ids);
        findings
    }
}

/// Audits what `options` names.
///
/// # Errors
/// [`AuditError`] when the run cannot start: no such path, nothing that a broker wrote; and when what does not fit into memory cannot be kept elsewhere. What cannot
/// be read on the way is in the coverage of the report.
pub fn run(options: &AuditOptions) -> Result<Audit, AuditError> {
    in_pool(options, |threads| run_in_pool(options, threads, None, None))
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
/// key, which is all that is held. Also says whether everything could be read.
///
/// # Errors
/// As [`run`].
pub fn trace(options: &AuditOptions, request: &Request<'_>) -> Result<(Answer<Trace>, Reading), AuditError> {
    let options = AuditOptions { examples: Examples::All, ..options.clone() };
    let audit = in_pool(&options, |threads| run_in_pool(&options, threads, Some(request), None))?;
    let report = audit.report;
    let reading = Reading::of_complete(report::verdict::of(&report, None).complete);
    let trace = audit.found.unwrap_or_else(|| Trace::of(request.sought.text()));
    Ok((Answer::new(report.invocation, report.as_of_timestamp, trace, report.coverage), reading))
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
    // The list is read and its missing keys are written on one thread; the rows are sorted by all.
    let threads = options.threads.clamp(1, options.memory.most_threads());
    let audit = run_in_pool(options, threads, None, Some(&mut reconciler))?;
    Ok((audit.report, reconciler.finish().unwrap_or_default()))
}

/// What is known before the records are read.
struct Prepared {
    inventory: Inventory,
    leaders: Vec<usize>,
    internal: InternalTopics,
    topics: Topics,
    routings: Vec<Option<Routing>>,
    samples: Vec<Sample>,
    plans: Vec<TopicPlan>,
    large: LargeBatches,
}

/// Finds the files and decides, on a sample, what identifies the events of each topic.
fn prepare(options: &AuditOptions) -> Result<Prepared, AuditError> {
    let mut inventory = input::discover(&options.paths, &DiscoverOptions { leftovers: options.leftovers })?;
    let side_files_alone =
        |dir: &PartitionDir| dir.segments.is_empty() && matches!(dir.selection, Selection::Files { .. });
    if !inventory.partitions.is_empty() && inventory.partitions.iter().all(side_files_alone) {
        let reason =
            "only files beside a log were named: name its .log files or their directory, or use `dump`";
        return Err(AuditError::Usage(reason.to_owned()));
    }
    let mut leaders = replicas::leaders(&inventory, options.mode);
    let large = LargeBatches::new(options.limits);
    let internal = InternalTopics::read(&inventory, &leaders, options.mode, options.limits, options.commits);
    if !options.partitions.is_all() {
        // What is not chosen was of use for what it says of the rest.
        inventory.choose(&options.partitions).map_err(AuditError::Usage)?;
        leaders = replicas::leaders(&inventory, options.mode);
    }
    let topics = Topics::of(&inventory);
    let samples = samples::take(&inventory, &leaders, &topics, options, &large);
    let counts = |topic: &str| partition_count(options, &internal, topic);
    let routings = routing::recognise(&inventory, &leaders, &topics, &samples, &counts);
    let plans: Vec<TopicPlan> = samples
        .par_iter()
        .zip(&topics.all)
        .map(|(sample, topic)| crate::plan::decide(&topic.name, &options.key, &options.rules, sample))
        .collect();
    Ok(Prepared { inventory, leaders, internal, topics, routings, samples, plans, large })
}

impl Prepared {
    /// The partition directories with what is to be done with each.
    fn subjects<'s>(&'s self, options: &AuditOptions, sought: Option<&'s Sought>) -> Vec<Subject<'s>> {
        let of_dir = |(at, dir): (usize, &PartitionDir)| {
            let topic = self.topics.of_partition(at);
            let chosen = Chosen { plan: &self.plans[topic], routing: self.routings[topic], sought };
            subject(&self.inventory, at, dir, self.leaders[at] == at, chosen, &self.internal, options)
        };
        self.inventory.partitions.iter().enumerate().map(of_dir).collect()
    }
}

/// The partition count of a topic: what the user tells, or a plan, or the cluster's metadata.
fn partition_count(options: &AuditOptions, internal: &InternalTopics, topic: &str) -> Option<u32> {
    let planned = match &options.key {
        KeyChoice::Planned(plan, _) => plan.topic(topic).and_then(|planned| planned.partition_count),
        KeyChoice::Auto | KeyChoice::User(_) => None,
    };
    options.partition_counts.get(topic).copied().or(planned).or_else(|| internal.partition_count(topic))
}

fn run_in_pool(
    options: &AuditOptions,
    threads: usize,
    request: Option<&Request<'_>>,
    mut reconciler: Option<&mut Reconciler<'_>>,
) -> Result<Audit, AuditError> {
    let prepared = prepare(options)?;
    let subjects = prepared.subjects(options, request.map(|request| request.sought));
    let Prepared { inventory, leaders, internal, topics, routings, samples, plans, large } = &prepared;
    let counts = |topic: &str| partition_count(options, internal, topic);
    let digest_key = DigestKey::random();
    let (space, shares) =
        (TempSpace::new(options.memory.temp_dir.clone()), options.memory.shares(options.limits));
    let mut rows = RowStore::new(shares.rows, space.clone());
    if let Some(reconciler) = &mut reconciler {
        reconciler.begin(digest_key, &mut rows, shares.wanted, &space)?;
    }
    options.watch.enter(Stage::Reading);
    let mut outcomes =
        pass::read_all(&subjects, options.mode, threads, digest_key, large, &mut rows, &options.watch)?;
    followed::follow(&subjects, topics, samples, options, large, &mut outcomes);
    options.watch.enter(Stage::Comparing);

    let contexts: Vec<&PartitionContext> = subjects.iter().map(|subject| &subject.context).collect();
    let facts: Vec<_> = contexts.iter().copied().zip(outcomes.iter().map(|outcome| &outcome.facts)).collect();
    let led: Vec<usize> =
        leaders.iter().enumerate().filter(|(at, leader)| at == *leader).map(|(at, _)| at).collect();
    let judged: Vec<_> = led.iter().filter_map(|&at| facts.get(at).copied()).collect();
    let sessions = Sessions::build(&judged);
    let views: Vec<PartitionView<'_>> = outcomes
        .iter()
        .enumerate()
        .map(|(at, outcome)| {
            let topic = topics.of_partition(at);
            let plan = &plans[topic];
            let by_content = plan.identity == Identity::Content;
            PartitionView { topic, judged: !plan.holds_state, by_content, facts: &outcome.facts }
        })
        .collect();
    let mut wanted = Sorter::<Wanted>::new(shares.wanted, space.clone());
    let wants = if request.is_some() { Wants::All } else { Wants::Repeats };
    let key_counts =
        groups::group(rows, &views, topics.all.len(), options.rules.reach, wants, &mut wanted, |row| {
            reconciler.as_mut().map_or(Ok(()), |reconciler| reconciler.row(row, &views))
        })?;
    let look = copies::SecondLook {
        subjects: &subjects,
        outcomes: &outcomes,
        plans: (0..subjects.len()).map(|at| &plans[topics.of_partition(at)]).collect(),
        mode: options.mode,
        large,
        digest_key,
        session: &|id, epoch| sessions.number(id, epoch),
    };
    let mut candidates = Sorter::new(shares.candidates, space.clone());
    copies::fetch(&look, wanted.finish()?, |candidate| candidates.push(candidate))?;
    let logs: Vec<_> = contexts.iter().copied().zip(&outcomes).collect();
    let mut relations = assemble::relations_base(inventory, topics, plans, &logs, &sessions, &led, internal);
    let mut candidates = candidates.finish()?;
    let joined = match options.rules.reach {
        Reach::Topic => relations::Joined::Apart,
        Reach::Topics => relations::Joined::Together,
    };
    let candidates = std::iter::from_fn(|| candidates.take_next().transpose());
    let mut found = Vec::new();
    let candidates = candidates.inspect(|candidate| {
        if let (Some(_), Ok(candidate)) = (request, candidate)
            && found.len() < trace::HELD
        {
            found.push(candidate.copy.clone());
        }
    });
    relations.groups = relations::group(&relations.partitions, &relations.sessions, joined, candidates)?;
    let (mut wanted, mut strays) = (Sorter::<Wanted>::new(shares.wanted, space.clone()), Vec::new());
    strays::wanted(&subjects, &outcomes, &led, options.mode, &mut wanted)?;
    copies::fetch(&look, wanted.finish()?, |candidate| {
        strays.push(candidate);
        Ok(())
    })?;
    relations.groups.extend(relations::group_across_topics(
        &relations.partitions,
        &relations.sessions,
        strays,
    ));

    let (stretches, doubts) =
        restored::stretches(inventory, &subjects, &outcomes, &led, options.mode, options.limits);
    restored::relate(&mut relations, stretches, &look, || Sorter::new(shares.wanted, space.clone()))?;
    if request.is_some() {
        trace::keep_found(&mut relations, &found);
    }

    options.watch.enter(Stage::Judging);
    let plans_of: Vec<_> = (0..subjects.len()).map(|at| &plans[topics.of_partition(at)]).collect();
    let mut verifier = verify::Verifier::new(&subjects, inventory, &plans_of, options.mode, options.limits);
    let unequal = match options.rules.proof {
        Proof::OfShown => Vec::new(),
        Proof::OfAll => verifier.check_all(&mut relations.groups),
    };

    let as_of = options.as_of.or_else(|| newest_time(&outcomes));
    let mut findings: Vec<Finding> = judgement::duplicates::findings(&relations, options.examples);
    let duplicates = findings.len();
    let places = copied_batches(&relations, &judgement::collisions::stepping_back(&judged));
    let copies = match options.records {
        Records::Read => Copies::Are(&places),
        Records::HeadersOnly => Copies::Unknown,
    };
    findings.extend(judgement::single_facts(&judged, &sessions, copies, as_of, options.examples));
    let routed = routing::topics(inventory, leaders, topics, routings, &outcomes, &counts);
    findings.extend(judgement::misrouted::judge(&routed, options.examples));
    findings.extend(judgement::rewinds::judge(&relations, options.examples));
    findings.extend(judgement::reuse::judge(&reused_offsets(inventory, &outcomes)));
    if request.is_none() {
        // Reads every replica once more, and says nothing of one key.
        let compared =
            compared::replicas(inventory, leaders, &subjects, &outcomes, options.mode, options.limits);
        findings.extend(judgement::replicas::judge(&compared));
    }
    // Copies are told apart from updates by all that are accused, whichever of them are chosen.
    let accused = assemble::accused(&findings);
    let mut untold = 0;
    if !options.surplus.is_all() {
        let chosen = judgement::duplicates::chosen(&relations, options.examples, &options.surplus);
        untold = surplus(&findings[..duplicates]).saturating_sub(surplus(&chosen));
        findings.splice(..duplicates, chosen);
    }
    name_transactions(&mut findings, internal);
    let mut notes = verifier.check(&mut findings);
    if options.values == Values::Shown {
        verifier.put_values(&mut findings);
    }
    notes.extend(unequal);
    notes.extend(doubts);
    notes.extend(snapshots::gone(inventory, &contexts));
    let parts = assemble::Parts {
        options,
        inventory,
        leaders,
        led: &led,
        topics,
        plans,
        outcomes: &outcomes,
        contexts: &contexts,
        sessions: &sessions,
        key_counts: &key_counts,
        internal,
        notes,
        accused,
        untold,
        as_of,
    };
    let topic_ids = topics.all.iter().filter_map(|t| Some((t.name.clone(), t.id.clone()?))).collect();
    judgement::identify(&mut findings, &topic_ids);
    judgement::link(&mut findings);
    let blocks = internal.producer_id_blocks();
    let mut events = judgement::events(&judged, &sessions, &relations.rewinds, &findings, blocks);
    let found = request.map(|request| {
        let story = trace::Story {
            relations: &relations,
            plans,
            counts: &key_counts,
            partitions: &judged,
            findings: &findings,
            events: std::mem::take(&mut events),
        };
        story.tell(request, &found, &mut verifier)
    });
    let report = assemble::report(&parts, findings, events);
    if let Some(reconciler) = reconciler {
        reconciler.end(&reconcile::Known {
            look: &look,
            relations: &relations,
            inventory,
            outcomes: &outcomes,
            contexts: &contexts,
            led: &led,
            partition_count: &counts,
            complete: report.verdict.complete,
            findings: &report.findings,
            topic_ids: &topic_ids,
            digest_key,
            results: &|| Sorter::new(shares.wanted, space.clone()),
            wanted: &|| Sorter::new(shares.wanted, space.clone()),
        })?;
    }
    let commit_notes = internal_topics::commit_notes(inventory, leaders, &outcomes, internal);
    let choice = options.surplus.clone();
    let remembered = match options.snapshots {
        SnapshotStates::Told => remembered::states(&judged),
        SnapshotStates::Checked => BTreeMap::new(),
    };
    let Prepared { internal, .. } = prepared;
    Ok(Audit {
        report,
        relations,
        commits: internal.commits,
        commit_partitions: internal.commit_partitions,
        commit_notes,
        remembered,
        topic_ids,
        choice,
        found,
    })
}

/// The topics of the run, and to which of them each partition directory belongs.
#[derive(Debug)]
struct Topics {
    all: Vec<Topic>,
    of_partition: Vec<usize>,
}

/// Directories of one name and one topic id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Topic {
    name: String,
    id: Option<String>,
    /// Its directories, by index in the inventory.
    partitions: Vec<usize>,
}

impl Topics {
    /// The topics in the order of their names. Two topic ids under one name are two topics; a
    /// directory without an id belongs to the topic of that name when there is only one.
    fn of(inventory: &Inventory) -> Self {
        let mut ids: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for dir in &inventory.partitions {
            ids.entry(&dir.topic).or_default().extend(dir.topic_id.as_deref());
        }
        let mut by_name: BTreeMap<(&str, Option<&str>), Vec<usize>> = BTreeMap::new();
        for (at, dir) in inventory.partitions.iter().enumerate() {
            let known = ids.get(dir.topic.as_str());
            let only = known.filter(|known| known.len() == 1).and_then(|known| known.first().copied());
            by_name.entry((&dir.topic, dir.topic_id.as_deref().or(only))).or_default().push(at);
        }
        let mut of_partition = vec![0; inventory.partitions.len()];
        let mut all = Vec::with_capacity(by_name.len());
        for ((name, id), partitions) in by_name {
            for &at in &partitions {
                if let Some(topic) = of_partition.get_mut(at) {
                    *topic = all.len();
                }
            }
            all.push(Topic { name: name.to_owned(), id: id.map(str::to_owned), partitions });
        }
        Self { all, of_partition }
    }

    fn of_partition(&self, partition: usize) -> usize {
        self.of_partition.get(partition).copied().unwrap_or(0)
    }
}

/// What the sample of a topic decided about its records.
#[derive(Clone, Copy)]
struct Chosen<'p> {
    plan: &'p TopicPlan,
    routing: Option<Routing>,
    sought: Option<&'p Sought>,
}

fn subject<'p>(
    inventory: &Inventory,
    at: usize,
    dir: &PartitionDir,
    leads: bool,
    chosen: Chosen<'p>,
    internal: &InternalTopics,
    options: &AuditOptions,
) -> Subject<'p> {
    let log_dir = inventory.log_dir(dir);
    let mut segments: Vec<SubjectSegment> = dir
        .segments
        .iter()
        .map(|segment| SubjectSegment {
            path: segment.path.clone(),
            base: segment.base,
            next_base: None,
            len: segment.len,
            identity: segment.identity,
            tail: log_dir.map_or(crate::format::segment::TailExpectation::MayBeTorn, |log_dir| {
                dir.tail_expectation(segment, log_dir)
            }),
        })
        .collect();
    let bases: Vec<_> = dir.segments.iter().map(|segment| segment.base).collect();
    for (at, segment) in segments.iter_mut().enumerate() {
        segment.next_base = bases.get(at + 1).copied();
    }
    let snapshots = snapshots::read(dir);
    let indexes_without_segment = abort_indexes::without_segment(dir);
    let context = PartitionContext {
        topic: dir.topic.clone(),
        partition: dir.partition,
        internal: dir.internal,
        log_start_offset: dir.log_start_offset,
        log_start_source: dir.log_start_source,
        high_watermark: dir.high_watermark,
        cleaned_up_to: dir.first_dirty_offset,
        leader_epochs: dir.leader_epochs.iter().map(|line| (line.epoch, line.start_offset)).collect(),
        snapshots,
        clean_shutdown: log_dir.and_then(|log_dir| log_dir.clean_shutdown),
        abort_indexes: abort_indexes::read(dir),
        segment_bases: bases,
        compacted: internal.is_compacted(&dir.topic),
        expiration_ms: options.expiration_ms.or_else(|| internal.expiration_ms(dir.broker_id)),
        indexes_without_segment,
    };
    let digests = leads && options.records == Records::Read;
    let lane = match (digests, u32::try_from(at)) {
        (true, Ok(partition)) => {
            let Chosen { plan, routing, sought } = chosen;
            let route = routing.and_then(|routing| Route::new(routing, dir));
            RecordLane::Digest { plan, log_start: dir.log_start_offset, partition, route, sought }
        }
        _ => RecordLane::Skip,
    };
    Subject { context, lane, segments }
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
    let of_one_writer = |group: &KeyGroup, copy: &RelatedCopy| {
        let earlier = group.copies.iter().take_while(|earlier| earlier.copy.offset != copy.copy.offset);
        copy.repeats.is_some()
            && earlier.into_iter().any(|earlier| writer(&earlier.copy) == writer(&copy.copy))
    };
    for copy in relations
        .groups
        .iter()
        .flat_map(|group| group.copies.iter().filter(|copy| of_one_writer(group, copy)))
    {
        let note = usize::try_from(copy.copy.partition).ok().and_then(|at| relations.partitions.get(at));
        let topic = note.and_then(|note| relations.topics.get(usize::try_from(note.topic).ok()?));
        if let (Some(note), Some(topic)) = (note, topic) {
            let place = (topic.name.clone(), note.partition, copy.copy.batch.base_offset.0);
            if stepping_back.contains(&place) {
                copied.insert(place);
            }
        }
    }
    copied
}

fn reused_offsets<'a>(inventory: &'a Inventory, outcomes: &'a [PartitionOutcome]) -> Vec<Reused<'a>> {
    let of_partition = |(dir, outcome): (&'a PartitionDir, &'a PartitionOutcome)| {
        outcome.reused.iter().map(move |(segment, damage)| {
            let file = dir.segments.get(*segment).map_or("", |segment| &segment.file_name);
            Reused {
                topic: &dir.topic,
                partition: dir.partition,
                file: dir.display_of(file),
                position: damage.position,
                detail: &damage.detail,
            }
        })
    };
    inventory.partitions.iter().zip(outcomes).flat_map(of_partition).collect()
}

/// Adds the transactional ids that `__transaction_state` tells.
fn name_transactions(findings: &mut [Finding], internal: &InternalTopics) {
    for transaction in findings.iter_mut().flat_map(|finding| &mut finding.transactions) {
        let id = internal.transactional_id(ProducerId(transaction.producer_id));
        transaction.transactional_id = id.map(str::to_owned);
    }
}

fn newest_time(outcomes: &[PartitionOutcome]) -> Option<i64> {
    outcomes.iter().filter_map(|outcome| outcome.facts.last_timestamp).max()
}
