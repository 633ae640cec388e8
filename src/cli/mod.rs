//! The command line: one file a command, from arguments to a checked plan.
//!
//! Data goes to the writer that is handed in (standard output), talk goes to standard error, and
//! the exit status is what [`Command::run`] gives back.

mod compare;
mod completions;
mod config;
mod dump;
mod evidence;
mod explain;
mod forms;
mod interrupt;
mod keys;
mod limits;
mod man;
mod moment;
mod offsets;
mod output;
mod producers;
mod progress;
mod range;
mod reconcile;
mod redaction;
mod saved;
mod scan;
mod schema;
mod size;
mod status;
mod stream;
mod terminal;
mod trace;

use crate::error::AuditError;
use crate::report::escape::Terminal;
use clap::error::ContextKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Examples for each finding, and entries of a list, unless the user asks for more.
const DEFAULT_EXAMPLES: usize = crate::audit::EXAMPLES;

/// The length of a list that a user names: 0 lifts the cap.
const fn cap(named: usize) -> usize {
    if named == 0 { usize::MAX } else { named }
}

/// Tells from a Kafka broker's files which events are stored more than once, who wrote each copy,
/// and why.
#[derive(Debug, Parser)]
#[command(
    name = "dedup-audit",
    version,
    before_help = "Examples:
  dedup-audit scan /var/kafka/orders-0
  dedup-audit dump /var/kafka/orders-0/00000000000000000000.log
  dedup-audit explain resend-new-session"
)]
pub struct Arguments {
    /// Colour: on a terminal alone (auto, which NO_COLOR and CLICOLOR_FORCE overrule), always, or never
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    /// Options in TOML, a table for each command, as [scan]; what is typed wins
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// When an answer is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal that can show it.
    Auto,
    /// Into pipes as well.
    Always,
    /// Nowhere.
    Never,
}

impl Arguments {
    /// The arguments of a command line, with what `--config` adds. Help, and what cannot be meant, end
    /// the program.
    ///
    /// # Errors
    /// [`AuditError`] for a configuration that cannot be used.
    pub fn read(typed: impl Iterator<Item = OsString>) -> Result<Self, AuditError> {
        let definition = Self::definition();
        let typed: Vec<OsString> = typed.collect();
        let arguments = config::expand(typed.clone(), &definition)?;
        let matches = match definition.clone().try_get_matches_from(arguments) {
            Ok(matches) => matches,
            Err(error) => {
                if let Some(origin) = config::origin(&typed, &definition, &error) {
                    let said = error.render().to_string();
                    let said = said.lines().next().unwrap_or_default();
                    let said = said.strip_prefix("error: ").unwrap_or(said);
                    return Err(AuditError::Usage(format!("{origin}: {said}")));
                }
                let word = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string);
                let Some(path) = word.filter(|word| Path::new(word).exists()) else { tell(&error) };
                return Err(AuditError::Usage(format!(
                    "{path}: this is no command; to audit it: dedup-audit scan {path}"
                )));
            }
        };
        Self::from_arg_matches(&matches).map_err(|error| AuditError::Usage(error.to_string()))
    }

    /// The command line: an option that is given twice counts as it was given last.
    fn definition() -> clap::Command {
        Self::command().mut_subcommands(|command| command.args_override_self(true))
    }

    /// Does what was asked, writes to `out`, and chooses the exit status.
    ///
    /// # Errors
    /// [`AuditError`] when the command cannot run; exit status 2.
    pub fn run(&self, out: &mut (dyn Write + Send)) -> Result<ExitCode, AuditError> {
        terminal::choose(self.color);
        self.command.run(out)
    }
}

/// Ends the program with help, or with what is wrong, in which foreign text is spelled out: a script
/// may have passed on what it found in a log.
#[expect(clippy::exit, reason = "as clap ends it")]
fn tell(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    for line in error.render().to_string().lines() {
        let _ = writeln!(std::io::stderr(), "{}", Terminal::text(line));
    }
    std::process::exit(error.exit_code())
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
    /// Say which field identifies the event, and what each would find
    Keys(Box<keys::KeysArguments>),
    /// Print what a broker's file holds, as Kafka's dump tool does
    Dump(dump::DumpArguments),
    /// Say what a finding means, what else looks like it, and what to do
    Explain(explain::Explain),
    /// Print the JSON Schema of the report, or of what another command answers
    Schema(schema::SchemaArguments),
    /// Print what a shell needs to complete commands and options
    Completions(completions::CompletionsArguments),
    /// Print manual pages
    Man(man::ManArguments),
}

impl Command {
    /// Does it, writes to `out`, and chooses the exit status.
    ///
    /// # Errors
    /// [`AuditError`] when the command cannot run; exit status 2.
    fn run(&self, out: &mut (dyn Write + Send)) -> Result<ExitCode, AuditError> {
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
            Self::Keys(arguments) => keys::run(arguments, out),
            Self::Dump(arguments) => dump::run(arguments, out),
            Self::Explain(command) => command.run(out),
            Self::Schema(arguments) => schema::run(arguments, out),
            Self::Completions(arguments) => completions::run(arguments, out),
            Self::Man(arguments) => man::run(arguments, out),
        }
    }
}
