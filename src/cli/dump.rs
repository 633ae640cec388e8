//! `dedup-audit dump`: what single files hold.

use crate::dump::{Audience, Depth, DumpOptions, Reading, dump_file};
use crate::error::AuditError;
use clap::Args;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Not all could be read.
const INCOMPLETE: u8 = 3;
/// Bytes that are collected before they are written.
const BUFFER: usize = 256 << 10;

/// What to dump, and how.
#[derive(Debug, Args)]
pub struct DumpArguments {
    /// Files: .log, .index, .timeindex, .txnindex, .snapshot, .checkpoint (KRaft snapshots)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print batches without their records; nothing is decompressed
    #[arg(long)]
    headers_only: bool,
}

impl DumpArguments {
    fn options(&self) -> DumpOptions {
        DumpOptions {
            depth: if self.headers_only { Depth::Batches } else { Depth::Records },
            audience: if io::stdout().is_terminal() { Audience::Terminal } else { Audience::Pipe },
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
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(output(error)),
        }
    }
    Ok(if readings.iter().all(|&reading| reading == Reading::Whole) {
        ExitCode::SUCCESS
    } else if readings.iter().all(|&reading| reading == Reading::Nothing) {
        ExitCode::from(2)
    } else {
        ExitCode::from(INCOMPLETE)
    })
}

fn output(source: io::Error) -> AuditError {
    AuditError::Output { path: "standard output".into(), source }
}
