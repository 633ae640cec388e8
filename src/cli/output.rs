//! Where an answer goes, and in which form: what every command with a table and JSON takes.

use crate::error::AuditError;
use crate::report::layout::Width;
use crate::report::sink::{self, Existing, Sink};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;

/// Form and place of an answer.
#[derive(Debug, Args)]
pub struct OutputArguments {
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write it to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// For tickets and scripts.
    Json,
}

impl OutputArguments {
    /// What happens to a file that is there already.
    pub(super) const fn existing(&self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Keep }
    }

    /// Says before the work begins whether its result could be written.
    ///
    /// # Errors
    /// [`AuditError`] for a file that exists, or that would lie in the evidence.
    pub(super) fn check(&self, sink: &Sink) -> Result<(), AuditError> {
        self.output.iter().try_for_each(|path| sink.check(path, self.existing()))
    }

    /// Writes the answer in the form and to the place that were asked for.
    ///
    /// # Errors
    /// [`AuditError`] where it cannot be written; a reader that went away is none.
    pub(super) fn write(
        &self,
        sink: &Sink,
        out: &mut dyn Write,
        table: impl FnOnce(Width, &mut dyn Write) -> io::Result<()>,
        json: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), AuditError> {
        let width = match self.output {
            Some(_) => Width::default(),
            None => super::terminal::width(),
        };
        let print = |out: &mut dyn Write| match self.format {
            Format::Json => json(out),
            Format::Table => table(width, out),
        };
        match &self.output {
            Some(path) => sink.write(path, self.existing(), print),
            None => sink::print(out, print),
        }
    }
}
