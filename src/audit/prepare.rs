//! What is known before the records are read: the files, what they say of the cluster, and on a sample
//! of each topic what identifies its events and how its keys are spread.

use super::batches::LargeBatches;
use super::deferral::Deferral;
use super::internal_topics::InternalTopics;
use super::lanes::RecordLane;
use super::options::{AuditOptions, Records};
use super::pass::{Subject, SubjectSegment};
use super::routing::{self, Route};
use super::segment_indexes::Checked;
use super::sought::Sought;
use super::topics::{Topic, Topics};
use super::{abort_indexes, replicas, samples, snapshots};
use crate::error::AuditError;
use crate::facts::PartitionContext;
use crate::format::segment::TailExpectation;
use crate::input::{self, Inventory, PartitionDir, Selection};
use crate::plan::routing::Routing;
use crate::plan::{self, Cleanup, KeyChoice, Sample, TopicPlan};
use crate::units::TopicNumber;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

/// What is known before the records are read.
pub(super) struct Prepared {
    pub(super) inventory: Inventory,
    pub(super) leaders: Vec<usize>,
    pub(super) internal: InternalTopics,
    pub(super) topics: Topics,
    pub(super) routings: Vec<Option<Routing>>,
    pub(super) samples: Vec<Sample>,
    pub(super) plans: Vec<TopicPlan>,
    pub(super) large: LargeBatches,
    /// Of each topic.
    pub(super) deferrals: Vec<Deferral>,
}

/// Finds the files and decides, on a sample, what identifies the events of each topic.
pub(super) fn prepare(options: &AuditOptions) -> Result<Prepared, AuditError> {
    let mut inventory = input::discover(&options.paths, &options.discover())?;
    let side_files_alone =
        |dir: &PartitionDir| dir.segments.is_empty() && matches!(dir.selection, Selection::Files { .. });
    if !inventory.partitions.is_empty() && inventory.partitions.iter().all(side_files_alone) {
        let reason =
            "only files beside a log were named: name its .log files or their directory, or use `dump`";
        return Err(AuditError::Usage(reason.to_owned()));
    }
    let mut leaders = replicas::leaders(&inventory, options.mode);
    let large = LargeBatches::new(options.limits);
    let internal = InternalTopics::read(&inventory, &leaders, options);
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
        .map(|(sample, topic)| {
            let cleanup = cleanup(&inventory, &internal, topic);
            plan::decide(&topic.name, &options.key, &options.rules, cleanup, sample)
        })
        .collect();
    let deferrals = plans.iter().map(|_| Deferral::default()).collect();
    Ok(Prepared { inventory, leaders, internal, topics, routings, samples, plans, large, deferrals })
}

impl Prepared {
    /// The partition directories with what is to be done with each.
    pub(super) fn subjects<'s>(
        &'s self,
        options: &AuditOptions,
        sought: Option<&'s Sought>,
    ) -> Vec<Subject<'s>> {
        let of_dir = |(at, dir): (usize, &PartitionDir)| {
            let topic = self.topics.of_partition(at);
            let (plan, deferral) = (&self.plans[topic], &self.deferrals[topic]);
            let number = self.topics.number_of(at);
            let chosen = Chosen { topic: number, plan, routing: self.routings[topic], sought, deferral };
            subject(&self.inventory, at, dir, self.leaders[at] == at, chosen, &self.internal, options)
        };
        self.inventory.partitions.iter().enumerate().map(of_dir).collect()
    }
}

/// Whether a topic is compacted, as far as its configuration or a cleaner's checkpoint tells it.
fn cleanup(inventory: &Inventory, internal: &InternalTopics, topic: &Topic) -> Cleanup {
    let is_cleaned =
        |at: &usize| inventory.partitions.get(*at).is_some_and(|dir| dir.first_dirty_offset.is_some());
    let told = || topic.clusters.iter().filter_map(|&cluster| internal.is_compacted(cluster, &topic.name));
    match told().max() {
        Some(true) => Cleanup::Compact,
        None if topic.partitions.iter().any(is_cleaned) => Cleanup::Compact,
        Some(false) | None => Cleanup::Delete,
    }
}

/// The partition count of a topic: what the user tells, or a plan, or the cluster's metadata.
pub(super) fn partition_count(options: &AuditOptions, internal: &InternalTopics, topic: &str) -> Option<u32> {
    let planned = match &options.key {
        KeyChoice::Planned(plan, _) => plan.topic(topic).and_then(|planned| planned.partition_count),
        KeyChoice::Auto | KeyChoice::User(_) => None,
    };
    options.partition_counts.get(topic).copied().or(planned).or_else(|| internal.partition_count(topic))
}

/// What the sample of a topic decided about its records.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'p> {
    /// Which topic it is.
    pub(super) topic: TopicNumber,
    pub(super) plan: &'p TopicPlan,
    pub(super) routing: Option<Routing>,
    pub(super) sought: Option<&'p Sought>,
    pub(super) deferral: &'p Deferral,
}

/// A partition directory with what is to be done with it.
pub(super) fn subject<'p>(
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
            place: segment.place.clone(),
            base: segment.base,
            next_base: None,
            upper: None,
            len: segment.len,
            identity: segment.identity,
            indexes: Checked::default(),
            tail: log_dir
                .map_or(TailExpectation::MayBeTorn, |log_dir| dir.tail_expectation(segment, log_dir)),
        })
        .collect();
    let bases: Vec<_> = dir.segments.iter().map(|segment| segment.base).collect();
    let clean_shutdown = log_dir.and_then(|log_dir| log_dir.clean_shutdown);
    for (at, (segment, file)) in segments.iter_mut().zip(&dir.segments).enumerate() {
        segment.next_base = bases.get(at + 1).copied();
        // A file that holds nothing takes no offsets from the one before.
        let behind = dir.segments.get(at.saturating_add(1)..).unwrap_or_default();
        segment.upper = behind.iter().find(|next| next.len > 0).map(|next| next.base);
        segment.indexes = Checked::of(dir, file, segment.next_base, clean_shutdown);
    }
    let snapshots = snapshots::read(dir);
    let indexes_without_segment = abort_indexes::without_segment(dir);
    let cluster = inventory.cluster_of(dir);
    let context = PartitionContext {
        topic: dir.topic.clone(),
        topic_number: chosen.topic,
        partition: dir.partition,
        cluster,
        internal: dir.internal,
        holds_state: chosen.plan.holds_state,
        log_start_offset: dir.log_start_offset,
        log_start_source: dir.log_start_source,
        log_starts_given: log_dir.is_some_and(|log_dir| {
            log_dir.checkpoints.iter().any(|name| name == "log-start-offset-checkpoint")
        }),
        high_watermark: dir.high_watermark,
        recovery_point: dir.recovery_point,
        cleaned_up_to: dir.first_dirty_offset,
        leader_epochs: dir.leader_epochs.iter().map(|line| (line.epoch, line.start_offset)).collect(),
        snapshots,
        lacks_snapshots: clean_shutdown == Some(true) && snapshots::are_lacking(inventory, dir),
        clean_shutdown,
        abort_indexes: abort_indexes::read(dir),
        lacks_abort_indexes: abort_indexes::are_lacking(inventory, dir),
        empty_epoch_checkpoint: dir.empty_epoch_checkpoint,
        segment_bases: bases,
        compacted: internal.is_compacted(cluster, &dir.topic),
        deleted: internal.is_deleted(cluster, &dir.topic),
        expiration_ms: options.expiration_ms.or_else(|| internal.expiration_ms(cluster, dir.broker_id)),
        indexes_without_segment,
        unclean_elections: internal.unclean_elections(cluster, dir),
    };
    let digests = leads && options.records == Records::Read;
    let lane = match (digests, u32::try_from(at)) {
        (true, Ok(partition)) => {
            let Chosen { plan, routing, sought, deferral, .. } = chosen;
            let route = routing.and_then(|routing| Route::new(routing, dir));
            RecordLane::Digest { plan, log_start: dir.log_start_offset, partition, route, sought, deferral }
        }
        _ => RecordLane::Skip,
    };
    Subject { context, lane, segments }
}
