//! The logs after the pass over them: what every stage behind it looks at.

use super::copies::SecondLook;
use super::groups::{PartitionView, Wanted};
use super::memory::Shares;
use super::options::AuditOptions;
use super::pass::{PartitionOutcome, Subject};
use super::prepare::Prepared;
use super::watch::LateStop;
use crate::candidates::DigestKey;
use crate::error::AuditError;
use crate::facts::{PartitionContext, PartitionFacts, Sessions, Written};
use crate::keys::Identity;
use crate::plan::TopicPlan;
use crate::spill::{Share, Sorter, TempSpace};
use crate::units::Offset;

/// The room for what does not fit into memory.
pub(super) struct Room {
    pub(super) space: TempSpace,
    pub(super) shares: Shares,
}

impl Room {
    pub(super) fn of(options: &AuditOptions) -> Self {
        let space = TempSpace::new(options.memory.temp_dir.clone());
        Self { space, shares: options.memory.shares(options.limits) }
    }

    /// What each part of the relations and of what is asked of them may hold.
    pub(super) fn relations(&self) -> Share {
        Share { limit: self.shares.relations, space: self.space.clone() }
    }

    /// What each part of what is known of producers may hold.
    pub(super) fn producers(&self) -> Share {
        Share { limit: self.shares.producers, space: self.space.clone() }
    }

    /// A sorter of places that are to be read again.
    pub(super) fn wanted(&self) -> Sorter<Wanted> {
        Sorter::new(self.shares.wanted, self.space.clone())
    }
}

/// What one pass over all files found.
pub(super) struct Read<'a> {
    pub(super) outcomes: &'a [PartitionOutcome],
    /// Who wrote what, by directory.
    pub(super) written: Written,
    /// The key of the digests.
    pub(super) digest_key: DigestKey,
}

/// A replica that does not lead.
pub(super) struct Unled {
    pub(super) topic: String,
    pub(super) directory: String,
    /// Whether it holds records that the leading one does not: the tail of an older leader.
    pub(super) has_tail: bool,
}

/// The logs of a run, each read once.
pub(super) struct Logs<'a> {
    pub(super) options: &'a AuditOptions,
    pub(super) prepared: &'a Prepared,
    pub(super) subjects: &'a [Subject<'a>],
    pub(super) outcomes: &'a [PartitionOutcome],
    pub(super) contexts: Vec<&'a PartitionContext>,
    /// The directories that lead, in the order in which sessions name them.
    pub(super) led: Vec<usize>,
    /// The same with their facts.
    pub(super) judged: Vec<(&'a PartitionContext, &'a PartitionFacts)>,
    pub(super) sessions: Sessions,
    pub(super) digest_key: DigestKey,
    pub(super) room: &'a Room,
    /// Ends the comparing early.
    pub(super) late_stop: LateStop,
}

impl<'a> Logs<'a> {
    /// `read` is what the pass over `subjects` found.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written or read.
    pub(super) fn new(
        options: &'a AuditOptions,
        prepared: &'a Prepared,
        subjects: &'a [Subject<'a>],
        read: Read<'a>,
        room: &'a Room,
        late_stop: LateStop,
    ) -> Result<Self, AuditError> {
        let Read { outcomes, written, digest_key } = read;
        let contexts: Vec<_> = subjects.iter().map(|subject| &subject.context).collect();
        let leads = |&at: &usize| prepared.leaders.get(at) == Some(&at);
        let led: Vec<usize> = (0..prepared.leaders.len()).filter(leads).collect();
        let facts = |&at: &usize| Some((*contexts.get(at)?, &outcomes.get(at)?.facts));
        let judged: Vec<_> = led.iter().filter_map(facts).collect();
        let sessions = written.sessions(|at| led.binary_search(&at).ok())?;
        Ok(Self {
            options,
            prepared,
            subjects,
            outcomes,
            contexts,
            led,
            judged,
            sessions,
            digest_key,
            room,
            late_stop,
        })
    }

    /// What identifies the events of a directory's topic.
    fn plan(&self, at: usize) -> &'a TopicPlan {
        &self.prepared.plans[self.prepared.topics.of_partition(at)]
    }

    /// The plan of each directory.
    pub(super) fn plans(&self) -> Vec<&'a TopicPlan> {
        (0..self.subjects.len()).map(|at| self.plan(at)).collect()
    }

    /// What grouping looks at.
    pub(super) fn views(&self) -> Vec<PartitionView<'a>> {
        let view = |(at, outcome): (usize, &'a PartitionOutcome)| {
            let plan = self.plan(at);
            PartitionView {
                topic: self.prepared.topics.of_partition(at),
                judged: !plan.holds_state,
                by_content: plan.identity == Identity::Content,
                log_start: self.contexts.get(at).map_or(Offset(0), |context| context.log_start_offset),
                facts: &outcome.facts,
            }
        };
        self.outcomes.iter().enumerate().map(view).collect()
    }

    /// The directories of replicas that do not lead, without those of internal topics.
    pub(super) fn replicas(&self) -> Vec<Unled> {
        let dirs = self.prepared.inventory.partitions.iter().enumerate();
        let led = |at: usize| self.prepared.leaders.get(at) == Some(&at);
        let others = dirs.filter(|(at, dir)| !led(*at) && !dir.internal);
        let unled = others.map(|(at, dir)| Unled {
            topic: dir.topic.clone(),
            directory: dir.display.clone(),
            has_tail: self.has_tail(at).unwrap_or(false),
        });
        unled.collect()
    }

    /// Whether a replica goes on behind the offset at which the leading one began a newer leader epoch.
    fn has_tail(&self, at: usize) -> Option<bool> {
        let own = &self.outcomes.get(at)?.facts;
        let leading = &self.outcomes.get(*self.prepared.leaders.get(at)?)?.facts;
        let (newest, _) = own.leader_epochs.last()?;
        let newer = leading.leader_epochs.iter().find(|(epoch, _)| epoch > newest);
        newer.map(|(_, begins)| *begins < own.log_end_offset)
    }

    /// What it takes to read single records again.
    pub(super) fn second_look(&self) -> SecondLook<'_> {
        SecondLook {
            subjects: self.subjects,
            outcomes: self.outcomes,
            plans: self.plans(),
            mode: self.options.mode,
            large: &self.prepared.large,
            digest_key: self.digest_key,
            sessions: &self.sessions,
            late_stop: &self.late_stop,
            places: self.room.shares.places,
        }
    }

    /// The time that stands for now.
    pub(super) fn as_of(&self) -> Option<i64> {
        self.options.as_of.or_else(|| newest_time(self.outcomes))
    }
}

/// The newest time of any record.
pub(super) fn newest_time(outcomes: &[PartitionOutcome]) -> Option<i64> {
    outcomes.iter().filter_map(|outcome| outcome.facts.last_timestamp).max()
}
