//! `dedup-audit dump`: what single files hold.

use super::evidence::parse_zone;
use super::moment::{Edge, Moment};
use super::status::{COULD_NOT_RUN, INCOMPLETE};
use crate::dump::{Audience, Depth, DumpOptions, Form, InternalTopic, Reading, Selection, dump_file};
use crate::error::AuditError;
use crate::input::Archives;
use crate::units::{ProducerId, Range};
use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Bytes that are collected before they are written.
const BUFFER: usize = 256 << 10;

/// What unpacking a compressed archive may take.
const ARCHIVE_MEMORY: u64 = 256 << 20;

/// What to dump, and how.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  dedup-audit dump orders-0/00000000000000000000.log --offsets 40..59
  dedup-audit dump orders-0/*.log --format ndjson --pid 1000 --since 2025-11-29
  dedup-audit dump orders-0/00000000000000000100.snapshot")]
pub struct DumpArguments {
    /// Files: .log, .index, .timeindex, .txnindex, .snapshot, .checkpoint of KRaft; and of those that
    /// are text the checkpoints, meta.properties and partition.metadata; in an archive as
    /// copy.tar!/orders-0/00000000000000000000.log
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print batches without their records; nothing is decompressed
    #[arg(long)]
    headers_only: bool,
    /// Only records from offset A to B, both included; either may be missing. A log is not read behind B
    #[arg(long, value_name = "A..B", value_parser = super::range::parse)]
    offsets: Option<Range>,
    /// Only what this producer id wrote
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pid: Option<i64>,
    /// Only records of this time or later, such as "2025-11-29 14:00" or milliseconds since 1970
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    since: Option<Moment>,
    /// Only records of this time or earlier; a day lasts to its end
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    until: Option<Moment>,
    /// The time zone of times that are given without one; what is printed is in milliseconds
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = parse_zone)]
    tz: TimeZone,
    #[command(flatten)]
    decoder: DecoderArguments,
    #[command(flatten)]
    limits: super::limits::LimitArguments,
}

/// Whose records the files hold; Kafka's names.
#[derive(Debug, Args)]
#[group(multiple = false)]
#[expect(clippy::struct_excessive_bools, reason = "Kafka's tool has a switch for each topic")]
struct DecoderArguments {
    /// Read records as those of __consumer_offsets
    #[arg(long)]
    offsets_decoder: bool,
    /// Read records as those of __share_group_state
    #[arg(long)]
    share_group_state_decoder: bool,
    /// Read records as those of __transaction_state
    #[arg(long)]
    transaction_log_decoder: bool,
    /// Read records as those of __cluster_metadata
    #[arg(long)]
    cluster_metadata_decoder: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The text of Kafka's dump tool
    #[value(alias = "txt")]
    Text,
    /// One JSON object a line; records of Kafka's own topics are read
    #[value(alias = "jsonl")]
    Ndjson,
}

impl DumpArguments {
    fn options(&self) -> Result<DumpOptions, AuditError> {
        // A dump has no time that stands for now.
        let when = |option: &str, moment: Option<Moment>, edge, open| {
            let millis = match moment {
                None => Ok(open),
                Some(Moment::Before(_)) => {
                    Err("a dump knows no time that \"ago\" could count from".to_owned())
                }
                Some(moment) => moment.millis(edge, &self.tz, None),
            };
            millis.map_err(|error| AuditError::Usage(format!("{option}: {error}")))
        };
        let times = Range {
            first: when("--since", self.since, Edge::First, i64::MIN)?,
            last: when("--until", self.until, Edge::Last, i64::MAX)?,
        };
        let decoders = [
            (self.decoder.offsets_decoder, InternalTopic::ConsumerOffsets),
            (self.decoder.share_group_state_decoder, InternalTopic::ShareGroupState),
            (self.decoder.transaction_log_decoder, InternalTopic::TransactionState),
            (self.decoder.cluster_metadata_decoder, InternalTopic::ClusterMetadata),
        ];
        Ok(DumpOptions {
            form: match self.format {
                Format::Text => Form::Text,
                Format::Ndjson => Form::Ndjson,
            },
            limits: self.limits.limits(),
            depth: if self.headers_only { Depth::Batches } else { Depth::Records },
            audience: if io::stdout().is_terminal() { Audience::Terminal } else { Audience::Pipe },
            decoder: decoders.iter().find(|(asked, _)| *asked).map(|(_, topic)| *topic),
            selection: Selection {
                offsets: self.offsets.unwrap_or_default(),
                times,
                producer_id: self.pid.map(ProducerId),
            },
        })
    }
}

pub(super) fn run(arguments: &DumpArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let options = arguments.options()?;
    let mut out = BufWriter::with_capacity(BUFFER, out);
    let mut readings = Vec::new();
    let mut archives = Archives::new(ARCHIVE_MEMORY, Arc::default());
    for file in &arguments.files {
        let done = dump_file(file, &mut archives, &options, &mut out, &mut io::stderr().lock()).and_then(
            |reading| {
                out.flush()?;
                Ok(reading)
            },
        );
        match done {
            Ok(reading) => readings.push(reading),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                // What is left in the buffer has no reader.
                let _ = out.into_parts();
                return Ok(ExitCode::SUCCESS);
            }
            Err(source) => return Err(AuditError::Output { path: "standard output".into(), source }),
        }
    }
    Ok(if readings.iter().all(|&reading| reading == Reading::Whole) {
        ExitCode::SUCCESS
    } else if readings.iter().all(|&reading| reading == Reading::Nothing) {
        ExitCode::from(COULD_NOT_RUN)
    } else {
        ExitCode::from(INCOMPLETE)
    })
}
