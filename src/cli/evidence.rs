//! What every command that audits takes: which files, which key, what the files may not tell.

use crate::audit::{AuditOptions, Memory, Records};
use crate::error::AuditError;
use crate::finding::rfc3339;
use crate::input::{Leftovers, ReadMode};
use crate::judgement::duplicates::Examples;
use crate::keys::{KeySpec, Mask};
use crate::plan::{ContentRules, KeyChoice};
use crate::report::model::Invocation;
use crate::report::sink::Sink;
use clap::Args;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

/// What is audited, and how it is read.
#[derive(Debug, Args)]
pub struct EvidenceArguments {
    /// Partition directories, log directories, directories that hold them, or single files
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What identifies an event: auto, record-key, value, header:NAME, json:/pointer,
    /// key-json:/pointer, or several joined by +
    #[arg(long, default_value = "auto", value_name = "KEY")]
    key: KeyArgument,
    /// A field that does not count as content: json:/pointer or header:NAME
    #[arg(long = "ignore-field", value_name = "FIELD")]
    ignored: Vec<String>,
    /// Audit deleted, future and stray directories and superseded segments too, each by itself
    #[arg(long)]
    include_leftovers: bool,
    /// The files are a private copy that nobody changes: they may be mapped into memory
    #[arg(long)]
    offline: bool,
    /// producer.id.expiration.ms of the broker, in milliseconds
    #[arg(long, value_name = "MS")]
    expiration: Option<i64>,
    /// The partition count of a topic, where not all of its partitions are here
    #[arg(long, value_name = "TOPIC=N", value_parser = parse_count)]
    partition_count: Vec<(String, u32)>,
    /// The time that stands for now, RFC 3339 or milliseconds; by default the newest time of the
    /// evidence
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    as_of: Option<i64>,
    /// Threads; by default as many as there are processors
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Memory that may be used, such as 512MiB or 2GB; what does not fit goes to temporary files.
    /// By default a quarter of the machine's, at most 2 GiB. Copies that are found and producers are
    /// held beside it
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    max_memory: Option<u64>,
    /// Where temporary files go: they have no names and are gone when the program ends. By default
    /// TMPDIR, or /var/tmp
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
}

impl EvidenceArguments {
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
        let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut memory = Memory::default();
        memory.limit = self.max_memory.unwrap_or(memory.limit);
        memory.temp_dir = self.temp_dir.clone().unwrap_or(memory.temp_dir);
        Ok(AuditOptions {
            paths: self.paths.clone(),
            key: self.key.0.clone(),
            rules: ContentRules { ignored, strict_key: false },
            records: Records::Read,
            mode: if self.offline { ReadMode::Mapped } else { ReadMode::Positioned },
            leftovers: if self.include_leftovers { Leftovers::List } else { Leftovers::SetAside },
            threads: self.threads.unwrap_or(available),
            memory,
            examples: Examples::AtMost(super::DEFAULT_EXAMPLES),
            expiration_ms: self.expiration,
            partition_counts: self.partition_count.iter().cloned().collect(),
            as_of: self.as_of,
            invocation: self.invocation(),
        })
    }

    /// Where files may be written: anywhere but in the evidence.
    pub(super) fn sink(&self) -> Sink {
        Sink::beside(&self.paths)
    }

    /// What a report says of the call. Paths stand in an order that does not depend on how they were
    /// typed; options that bear on no sentence of the report (threads, forms) are left out.
    pub(super) fn invocation(&self) -> Invocation {
        let mut paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        paths.sort();
        paths.dedup();
        let key = match &self.key.0 {
            KeyChoice::Auto => "auto".to_owned(),
            KeyChoice::User(spec) => spec.to_string(),
        };
        let mut options = BTreeMap::new();
        let mut tell = |name: &str, value: serde_json::Value| {
            options.insert(name.to_owned(), value);
        };
        if !self.ignored.is_empty() {
            tell("ignoreField", self.ignored.clone().into());
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
        if let Some(as_of) = self.as_of {
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

/// Milliseconds from RFC 3339 or a number.
fn parse_time(text: &str) -> Result<i64, String> {
    if let Ok(millis) = text.parse() {
        return Ok(millis);
    }
    let time = text.parse::<jiff::Timestamp>();
    time.map(jiff::Timestamp::as_millisecond).map_err(|_| {
        let example = rfc3339(1_764_425_000_123).unwrap_or_default();
        format!("expected milliseconds since 1970 or a time such as {example}")
    })
}

/// A size that is enough for an audit.
fn parse_memory(text: &str) -> Result<u64, String> {
    match super::size::parse(text)? {
        bytes if bytes < Memory::LEAST => Err(format!("an audit needs {} MiB at least", Memory::LEAST >> 20)),
        bytes => Ok(bytes),
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
