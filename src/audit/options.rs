//! What an audit is asked for, and what it does without being asked.

use super::memory::Memory;
use super::trace::Values;
use super::watch::Watch;
use crate::facts::Keep;
use crate::format::Limits;
use crate::input::{DiscoverOptions, Leftovers, PartitionChoice, ReadMode};
use crate::judgement::duplicates::{Examples, SurplusChoice};
use crate::plan::{ContentRules, KeyChoice};
use crate::report::model::Invocation;
use std::collections::BTreeMap;
use std::path::PathBuf;

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
    /// Surplus copies and sessions that a report may hold; where there are more and all examples are wanted, the run
    /// ends.
    pub most_entries: Option<u64>,
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
    /// What is to be found.
    pub(super) fn discover(&self) -> DiscoverOptions {
        DiscoverOptions {
            leftovers: self.leftovers,
            archive_memory: self.memory.archives,
            stop: self.watch.stop_flag(),
        }
    }

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
            most_entries: None,
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
