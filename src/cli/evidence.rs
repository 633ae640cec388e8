//! What every command that audits takes: which files, which key, what the files may not tell.

use super::interrupt;
use super::moment::{Edge, Moment, parse_span};
use super::progress::{Progress, Talk, TalkArguments};
use super::redaction::RedactionArguments;
use crate::audit::{self, Audit, AuditOptions, Memory};
use crate::error::AuditError;
use crate::input::{self, Leftovers, NamePattern, Pace, PartitionChoice, PartitionPattern, ReadMode};
use crate::keys::{KeySpec, Mask, Schemas};
use crate::plan::{ContentRules, KeyChoice, PlanFile, Proof, Reach, RepeatsOf};
use crate::report::model::Invocation;
use crate::report::redact::Redactor;
use crate::report::sink::Sink;
use crate::report::wording::Zone;
use clap::Args;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What is audited, and how it is read.
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is given or not")]
#[derive(Debug, Args)]
pub struct EvidenceArguments {
    /// Partition directories, log directories, directories that hold them, single files, or archives of
    /// these: .tar, .tar.gz, .tar.zst; what lies in one is named as copy.tar!/orders-0
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What identifies an event: auto, record-key, value, header:NAME, json:/pointer,
    /// key-json:/pointer, regex:PATTERN (the first group, in the value), avro:/pointer,
    /// protobuf:/pointer (with --schema), or several joined by +
    #[arg(long, default_value = "auto", value_name = "KEY")]
    key: KeyArgument,
    /// What identifies the events of each topic, from a file that `keys --save-plan` wrote; --key is for
    /// topics that it does not name
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// A directory with .avsc files and Protobuf descriptor sets (.desc, .binpb) for keys in such values;
    /// a file named after a number, as 17.avsc, is the schema with this id in the registry
    #[arg(long = "schema", value_name = "DIR")]
    schemas: Option<PathBuf>,
    /// A field that does not count as content: json:/pointer or header:NAME
    #[arg(long = "ignore-field", value_name = "FIELD")]
    ignored: Vec<String>,
    /// Audit only topics of this name; *, ? and [a-z] stand for many. May be given more than once
    #[arg(long = "topic", value_name = "NAME")]
    topics: Vec<NamePattern>,
    /// Audit only these partitions: 3, 0..5, or orders-1*. May be given more than once
    #[arg(long = "partition", value_name = "PARTITION")]
    partitions: Vec<PartitionPattern>,
    /// Every repeat of the key is a duplicate, whatever its content
    #[arg(long)]
    strict_key: bool,
    /// Look for repeats in all topics together, not in each by itself
    #[arg(long)]
    across: bool,
    /// Compare the bytes of all copies, not only of those that are shown
    #[arg(long)]
    verify: bool,
    /// Audit deleted, future and stray directories and superseded segments too, each by itself
    #[arg(long)]
    include_leftovers: bool,
    /// The files are a private copy that nobody changes: they may be mapped into memory
    #[arg(long)]
    offline: bool,
    /// producer.id.expiration.ms of the broker: milliseconds, or 14d, 36h
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    expiration: Option<i64>,
    /// The partition count of a topic, where not all of its partitions are here
    #[arg(long, value_name = "TOPIC=N", value_parser = parse_count)]
    partition_count: Vec<(String, u32)>,
    /// The time that stands for now, such as "2025-11-29 14:00"; by default the newest time of the
    /// evidence
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    as_of: Option<Moment>,
    /// The time zone of times that are given without one, and of all that is made for people; JSON and
    /// CSV are always in UTC
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = parse_zone)]
    tz: TimeZone,
    /// Threads; by default as many as there are processors
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,
    /// Memory that may be used, such as 512MiB or 2GB; what does not fit goes to temporary files.
    /// By default a quarter of the machine's, at most 2 GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    max_memory: Option<u64>,
    /// Read no more than this a second, such as 50MiB/s, so that a broker on the same disks is not
    /// held up
    #[arg(long, value_name = "RATE", value_parser = parse_rate, conflicts_with = "offline")]
    io_limit: Option<u64>,
    #[command(flatten)]
    talk: TalkArguments,
    /// Where temporary files go: they have no names and are gone when the program ends. By default
    /// TMPDIR, or /var/tmp
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    limits: super::limits::LimitArguments,
    #[command(flatten)]
    redaction: RedactionArguments,
}

impl EvidenceArguments {
    /// The time that stands for now, where it is given.
    ///
    /// # Errors
    /// [`AuditError::Usage`] for a time that the zone does not have.
    pub(super) fn as_of(&self) -> Result<Option<i64>, AuditError> {
        self.as_of.map(|moment| self.when("--as-of", moment, Edge::First, None)).transpose()
    }

    /// A time as milliseconds; `option` is where it was given.
    ///
    /// # Errors
    /// [`AuditError::Usage`] for a time that counts back from nothing, or that the zone does not have.
    pub(super) fn when(
        &self,
        option: &str,
        moment: Moment,
        edge: Edge,
        as_of: Option<i64>,
    ) -> Result<i64, AuditError> {
        moment.millis(edge, &self.tz, as_of).map_err(|error| AuditError::Usage(format!("{option}: {error}")))
    }

    /// The audit that these arguments ask for, with the records read and the usual number of
    /// examples.
    ///
    /// # Errors
    /// [`AuditError::Usage`] for a field to ignore that is none, and for a temporary directory inside
    /// of the evidence.
    pub(super) fn audit_options(&self) -> Result<AuditOptions, AuditError> {
        let mut ignored = Mask::default();
        for field in &self.ignored {
            ignored.add(field).map_err(AuditError::Usage)?;
        }
        if let Some(directory) = &self.temp_dir {
            self.sink().check_directory(directory)?;
        }
        let usual = AuditOptions::over(self.paths.clone());
        let memory = Memory {
            limit: self.max_memory.unwrap_or(usual.memory.limit),
            temp_dir: self.temp_dir.clone().unwrap_or_else(|| usual.memory.temp_dir.clone()),
            archives: 0,
        };
        let memory = if self.paths.iter().any(|path| input::is_packed_archive(path)) {
            memory.with_archives()
        } else {
            memory
        };
        let limits = self.limits.within(memory.largest_batch()).map_err(AuditError::Usage)?;
        let as_of = self.as_of()?;
        Ok(AuditOptions {
            key: self.with_schemas(self.key_choice()?)?,
            rules: ContentRules {
                ignored,
                repeats: if self.strict_key { RepeatsOf::Key } else { RepeatsOf::Content },
                reach: if self.across { Reach::Topics } else { Reach::Topic },
                proof: if self.verify { Proof::OfAll } else { Proof::OfShown },
            },
            mode: self.mode(),
            leftovers: if self.include_leftovers { Leftovers::List } else { Leftovers::SetAside },
            threads: self.threads.unwrap_or(usual.threads),
            limits,
            memory,
            expiration_ms: self.expiration,
            partition_counts: self.partition_count.iter().cloned().collect(),
            as_of,
            partitions: PartitionChoice { topics: self.topics.clone(), partitions: self.partitions.clone() },
            invocation: self.invocation(as_of),
            ..usual
        })
    }

    /// Runs the audit, tells how far it is, and ends it when a signal asks for that.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot run.
    pub(super) fn run(&self, options: &AuditOptions) -> Result<Audit, AuditError> {
        self.watched(options, || audit::run(options))
    }

    /// Whether anything but errors may be said on standard error.
    pub(super) fn talks(&self) -> bool {
        self.talk.talk() != Talk::Quiet
    }

    /// Does the work of an audit under the same care.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot be done.
    pub(super) fn watched<T>(
        &self,
        options: &AuditOptions,
        work: impl FnOnce() -> Result<T, AuditError>,
    ) -> Result<T, AuditError> {
        interrupt::listen(&options.watch)?;
        let progress = Progress::of(options.watch.clone(), self.talk.talk());
        let done = work();
        drop(progress);
        done
    }

    /// What hides from the readers of the answer.
    ///
    /// # Errors
    /// [`AuditError`] for a key that cannot be read or is too short.
    pub(super) fn redactor(&self) -> Result<Redactor, AuditError> {
        self.redaction.redactor()
    }

    /// The zone of times that are given without one.
    pub(super) fn time_zone(&self) -> TimeZone {
        self.tz.clone()
    }

    /// The zone of the times that people read.
    pub(super) fn zone(&self) -> Zone {
        Zone::new(self.tz.clone())
    }

    /// How files are read.
    fn mode(&self) -> ReadMode {
        match (self.offline, self.io_limit) {
            (true, _) => ReadMode::Mapped,
            // One for the process, which has one audit.
            (false, Some(rate)) => ReadMode::Paced(Box::leak(Box::new(Pace::new(rate)))),
            (false, None) => ReadMode::Positioned,
        }
    }

    /// The key, or the plan with the key for what it leaves open.
    fn key_choice(&self) -> Result<KeyChoice, AuditError> {
        let Some(path) = &self.plan else { return Ok(self.key.0.clone()) };
        let unreadable = |source| AuditError::Unreadable { path: path.clone(), source };
        let json = std::fs::read(path).map_err(unreadable)?;
        let plan = PlanFile::read(&json)
            .map_err(|error| AuditError::Usage(format!("{}: {error}", path.display())))?;
        Ok(match &self.key.0 {
            KeyChoice::User(spec) => KeyChoice::Planned(plan, Some(spec.clone())),
            KeyChoice::Auto | KeyChoice::Planned(..) => KeyChoice::Planned(plan, None),
        })
    }

    /// The same with the schemas that it needs.
    fn with_schemas(&self, mut choice: KeyChoice) -> Result<KeyChoice, AuditError> {
        let needing: Vec<_> = choice.keys_mut().into_iter().filter(|key| key.needs_schemas()).collect();
        let Some(first) = needing.first() else { return Ok(choice) };
        let refuse = |reason: String| AuditError::Usage(format!("key {first}: {reason}"));
        let schemas = if let Some(directory) = &self.schemas {
            Schemas::load(directory).map_err(refuse)?
        } else if cfg!(feature = "schemas") {
            return Err(refuse("its schemas are missing: name their directory with --schema".to_owned()));
        } else {
            // Where a build cannot read them, that is the first thing to know.
            Schemas::load(Path::new("")).map_err(refuse)?
        };
        for key in needing {
            let set = key.set_schemas(&schemas);
            set.map_err(|reason| AuditError::Usage(format!("key {key}: {reason}")))?;
        }
        Ok(choice)
    }

    /// Where files may be written: anywhere but in the evidence.
    pub(super) fn sink(&self) -> Sink {
        Sink::beside(&self.paths)
    }

    /// What a report says of the call. Paths stand in an order that does not depend on how they were
    /// typed; options that bear on no sentence of the report (threads, forms) are left out.
    pub(super) fn invocation(&self, as_of: Option<i64>) -> Invocation {
        let mut paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        paths.sort();
        paths.dedup();
        let key = match &self.key.0 {
            KeyChoice::Auto | KeyChoice::Planned(..) => "auto".to_owned(),
            KeyChoice::User(spec) => spec.to_string(),
        };
        let mut options = BTreeMap::new();
        let mut tell = |name: &str, value: serde_json::Value| {
            options.insert(name.to_owned(), value);
        };
        if let Some(schemas) = &self.schemas {
            tell("schema", schemas.display().to_string().into());
        }
        if let Some(plan) = &self.plan {
            tell("plan", plan.display().to_string().into());
        }
        if !self.ignored.is_empty() {
            tell("ignoreField", self.ignored.clone().into());
        }
        let asked = [("strictKey", self.strict_key), ("across", self.across), ("verify", self.verify)];
        for (name, _) in asked.iter().filter(|(_, asked)| *asked) {
            tell(name, true.into());
        }
        if self.include_leftovers {
            tell("includeLeftovers", true.into());
        }
        if let Some(expiration) = self.expiration {
            tell("expiration", expiration.into());
        }
        if !self.partition_count.is_empty() {
            let counts: BTreeMap<&str, u32> =
                self.partition_count.iter().map(|(topic, count)| (topic.as_str(), *count)).collect();
            tell("partitionCount", serde_json::json!(counts));
        }
        if !self.topics.is_empty() {
            tell("topic", texts(&self.topics));
        }
        if !self.partitions.is_empty() {
            tell("partition", texts(&self.partitions));
        }
        self.limits.tell(&mut tell);
        if let Some(as_of) = as_of {
            tell("asOf", as_of.into());
        }
        Invocation { paths, key, options }
    }
}

#[derive(Clone, Debug)]
struct KeyArgument(KeyChoice);

impl FromStr for KeyArgument {
    type Err = crate::keys::KeySpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self(KeyChoice::Auto));
        }
        text.parse::<KeySpec>().map(|spec| Self(KeyChoice::User(spec)))
    }
}

/// Patterns as they were written.
fn texts<T: ToString>(patterns: &[T]) -> serde_json::Value {
    patterns.iter().map(ToString::to_string).collect::<Vec<_>>().into()
}

/// A zone by its name, an offset from UTC, or that of the machine.
pub(super) fn parse_zone(text: &str) -> Result<TimeZone, String> {
    let by_offset = || {
        let parsed = jiff::fmt::strtime::parse("%:z", text).ok()?;
        parsed.offset().map(TimeZone::fixed)
    };
    match text {
        "local" => Ok(TimeZone::system()),
        "Z" | "z" => Ok(TimeZone::UTC),
        name => TimeZone::get(name).ok().or_else(by_offset).ok_or_else(|| {
            "expected a zone such as Europe/Berlin, UTC, +02:00, or local for that of this machine".to_owned()
        }),
    }
}

/// A number of threads that can be started.
fn parse_threads(text: &str) -> Result<usize, String> {
    const MOST: usize = 1024;
    match text.parse::<usize>() {
        Ok(0) => Err("at least one thread is needed; leave the option out for one a processor".to_owned()),
        Ok(threads) if threads > MOST => Err(format!("at most {MOST} threads make sense")),
        Ok(threads) => Ok(threads),
        Err(_) => Err("expected a number from 1 on; leave the option out for one a processor".to_owned()),
    }
}

/// A size that is enough for an audit.
fn parse_memory(text: &str) -> Result<u64, String> {
    match super::size::parse(text)? {
        bytes if bytes < Memory::LEAST => Err(format!("an audit needs {} MiB at least", Memory::LEAST >> 20)),
        bytes => Ok(bytes),
    }
}

/// Bytes a second.
fn parse_rate(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 1 << 20;
    let amount = text.trim().strip_suffix("/s").unwrap_or(text);
    match super::size::parse(amount) {
        Ok(rate) if rate < LEAST => Err("at least 1MiB/s are needed".to_owned()),
        Ok(rate) => Ok(rate),
        Err(_) => Err("expected a rate such as 50MiB/s or 100MB/s".to_owned()),
    }
}

/// A topic and its partition count.
fn parse_count(text: &str) -> Result<(String, u32), String> {
    let parts = text.rsplit_once('=').filter(|(topic, _)| !topic.is_empty());
    let count = parts.and_then(|(topic, count)| Some((topic.to_owned(), count.parse().ok()?)));
    count
        .filter(|(_, count)| *count > 0)
        .ok_or_else(|| "expected a topic and a number, as orders=12".to_owned())
}
