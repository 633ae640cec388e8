//! The command line: one file a command, from arguments to a checked plan.
//!
//! Data goes to the writer that is handed in (standard output), talk goes to standard error, and
//! the exit status is what [`Command::run`] gives back.

mod compare;
mod dump;
mod evidence;
mod explain;
mod forms;
mod limits;
mod moment;
mod offsets;
mod output;
mod producers;
mod range;
mod reconcile;
mod saved;
mod scan;
mod schema;
mod size;
mod terminal;
mod trace;

use crate::error::AuditError;
use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

/// Examples for each finding, and entries of a list, unless the user asks for more.
const DEFAULT_EXAMPLES: usize = 20;

/// Tells from a Kafka broker's files which events are stored more than once, who wrote each copy,
/// and why.
#[derive(Debug, Parser)]
#[command(name = "dedup-audit", version)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Tell which events are stored more than once, who wrote each copy, and why
    Scan(Box<scan::ScanArguments>),
    /// Hold a list of keys that were sent against what is stored: missing, once, more than once
    Reconcile(Box<reconcile::ReconcileArguments>),
    /// Hold copies of logs side by side: replicas, a mirror and its source, before and after
    Compare(Box<compare::CompareArguments>),
    /// Tell what consumer groups committed, where their positions went back, and which copies they have
    /// behind them
    Offsets(Box<offsets::OffsetsArguments>),
    /// Tell the story of one business key: its copies, their writers, what happened around them
    Trace(Box<trace::TraceArguments>),
    /// Print a saved report in any form
    Render(saved::RenderArguments),
    /// Print one finding of a saved report in full, its copies side by side
    Show(saved::ShowArguments),
    /// Tell what is new, grown, shrunk or gone between two saved reports
    Diff(saved::DiffArguments),
    /// Tell of every producer id: sessions, epochs, sequences, gaps, and what the snapshots say
    Producers(Box<producers::ProducersArguments>),
    /// Print what a broker's file holds, as Kafka's dump tool does
    Dump(dump::DumpArguments),
    /// Say what a finding means, what else looks like it, and what to do
    Explain(explain::Explain),
    /// Print the JSON Schema of the report
    Schema,
}

impl Command {
    /// Does it, writes to `out`, and chooses the exit status.
    ///
    /// # Errors
    /// [`AuditError`] when the command cannot run; exit status 2.
    pub fn run(&self, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
        match self {
            Self::Scan(arguments) => scan::run(arguments, out),
            Self::Reconcile(arguments) => reconcile::run(arguments, out),
            Self::Compare(arguments) => compare::run(arguments, out),
            Self::Offsets(arguments) => offsets::run(arguments, out),
            Self::Trace(arguments) => trace::run(arguments, out),
            Self::Render(arguments) => saved::render(arguments, out),
            Self::Show(arguments) => saved::show(arguments, out),
            Self::Diff(arguments) => saved::diff(arguments, out),
            Self::Producers(arguments) => producers::run(arguments, out),
            Self::Dump(arguments) => dump::run(arguments, out),
            Self::Explain(command) => command.run(out),
            Self::Schema => schema::run(out),
        }
    }
}
