//! `dedup-audit dump`: what single files hold.

use crate::dump::{Audience, Depth, DumpOptions, Form, InternalTopic, Range, Reading, Selection, dump_file};
use crate::error::AuditError;
use crate::units::ProducerId;
use clap::{Args, ValueEnum};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Nothing could be read.
const CANNOT_RUN: u8 = 2;
/// Not all could be read.
const INCOMPLETE: u8 = 3;
/// Bytes that are collected before they are written.
const BUFFER: usize = 256 << 10;

/// What to dump, and how.
#[derive(Debug, Args)]
pub struct DumpArguments {
    /// Files: .log, .index, .timeindex, .txnindex, .snapshot, and .checkpoint of KRaft
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print batches without their records; nothing is decompressed
    #[arg(long)]
    headers_only: bool,
    /// Only records from offset A to B, both included; either may be missing
    #[arg(long, value_name = "A..B", value_parser = offsets)]
    offsets: Option<Range>,
    /// Only what this producer id wrote
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pid: Option<i64>,
    /// Only records of this time or later: RFC 3339, or milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = millis, allow_negative_numbers = true)]
    since: Option<i64>,
    /// Only records of this time or earlier
    #[arg(long, value_name = "TIME", value_parser = millis, allow_negative_numbers = true)]
    until: Option<i64>,
    #[command(flatten)]
    decoder: DecoderArguments,
}

/// Whose records the files hold; Kafka's names.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct DecoderArguments {
    /// Read records as those of __consumer_offsets
    #[arg(long)]
    offsets_decoder: bool,
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
    Text,
    /// One JSON object a line; records of Kafka's own topics are read
    Ndjson,
}

/// Reads `A..B`.
fn offsets(text: &str) -> Result<Range, String> {
    let (first, last) = text.split_once("..").ok_or("two offsets with .. between them are needed")?;
    let number = |text: &str, missing: i64| match text {
        "" => Ok(missing),
        text => text.parse().map_err(|error| format!("{text}: {error}")),
    };
    let range = Range { first: number(first, i64::MIN)?, last: number(last, i64::MAX)? };
    if range.first > range.last {
        return Err(format!("{first} is larger than {last}"));
    }
    Ok(range)
}

/// Reads a time as milliseconds.
fn millis(text: &str) -> Result<i64, String> {
    if let Ok(millis) = text.parse() {
        return Ok(millis);
    }
    text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_millisecond).map_err(|error| error.to_string())
}

impl DumpArguments {
    fn options(&self) -> DumpOptions {
        let decoders = [
            (self.decoder.offsets_decoder, InternalTopic::ConsumerOffsets),
            (self.decoder.transaction_log_decoder, InternalTopic::TransactionState),
            (self.decoder.cluster_metadata_decoder, InternalTopic::ClusterMetadata),
        ];
        DumpOptions {
            form: match self.format {
                Format::Text => Form::Text,
                Format::Ndjson => Form::Ndjson,
            },
            depth: if self.headers_only { Depth::Batches } else { Depth::Records },
            audience: if io::stdout().is_terminal() { Audience::Terminal } else { Audience::Pipe },
            decoder: decoders.iter().find(|(asked, _)| *asked).map(|(_, topic)| *topic),
            selection: Selection {
                offsets: self.offsets.unwrap_or_default(),
                times: Range { first: self.since.unwrap_or(i64::MIN), last: self.until.unwrap_or(i64::MAX) },
                producer_id: self.pid.map(ProducerId),
            },
        }
    }
}

pub(super) fn run(arguments: &DumpArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let options = arguments.options();
    let mut out = BufWriter::with_capacity(BUFFER, out);
    let mut readings = Vec::new();
    for file in &arguments.files {
        let done = dump_file(file, &options, &mut out, &mut io::stderr().lock()).and_then(|reading| {
            out.flush()?;
            Ok(reading)
        });
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
        ExitCode::from(CANNOT_RUN)
    } else {
        ExitCode::from(INCOMPLETE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_offsets_may_be_open() {
        assert_eq!(offsets("3..9"), Ok(Range { first: 3, last: 9 }));
        assert_eq!(offsets("3.."), Ok(Range { first: 3, last: i64::MAX }));
        assert_eq!(offsets("..9"), Ok(Range { first: i64::MIN, last: 9 }));
        assert!(offsets("9..3").is_err());
        assert!(offsets("9").is_err());
        assert!(offsets("a..b").is_err());
    }

    #[test]
    fn times_are_milliseconds_or_rfc_3339() {
        assert_eq!(millis("1700000000005"), Ok(1_700_000_000_005));
        assert_eq!(millis("2023-11-14T22:13:20.005Z"), Ok(1_700_000_000_005));
        assert_eq!(millis("2023-11-14T23:13:20+01:00"), Ok(1_700_000_000_000));
        assert!(millis("yesterday").is_err());
    }
}
