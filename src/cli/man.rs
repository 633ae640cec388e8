//! `dedup-audit man`: manual pages, from the definition of the command line.

use super::Arguments;
use crate::error::AuditError;
use crate::report::sink::{self, Existing, Sink};
use clap::{Args, Command};
use clap_mangen::Man;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Which page, and where to.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  dedup-audit man scan | man -l -
  dedup-audit man --dir /usr/local/share/man/man1")]
pub struct ManArguments {
    /// The command whose page is printed; without it the page of the tool
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    command: Option<String>,
    /// Write all pages into this directory instead
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long, requires = "dir")]
    force: bool,
}

pub(super) fn run(arguments: &ManArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let root = Arguments::definition();
    if let Some(dir) = &arguments.dir {
        let existing = if arguments.force { Existing::Replace } else { Existing::Keep };
        let sink = Sink::beside(&[]);
        let pages: Vec<Page> =
            std::iter::once(Page::of_tool(&root)).chain(Page::of_commands(&root)).collect();
        let path = |page: &Page| dir.join(format!("{}.1", page.name));
        pages.iter().try_for_each(|page| sink.check(&path(page), existing))?;
        for page in &pages {
            sink.write(&path(page), existing, |out| page.write(out))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let page = match &arguments.command {
        None => Page::of_tool(&root),
        Some(name) => {
            let wanted = format!("dedup-audit-{name}");
            Page::of_commands(&root).find(|page| page.name == wanted).ok_or_else(|| {
                let names: Vec<_> = root.get_subcommands().map(Command::get_name).collect();
                let name: String = name.chars().take(60).collect();
                AuditError::Usage(format!(
                    "there is no command {name}; the commands are {}",
                    names.join(", ")
                ))
            })?
        }
    };
    sink::print(out, |out| page.write(out))?;
    Ok(ExitCode::SUCCESS)
}

/// One manual page.
struct Page {
    name: String,
    command: Command,
}

impl Page {
    fn of_tool(root: &Command) -> Self {
        Self { name: "dedup-audit".to_owned(), command: root.clone() }
    }

    fn of_commands(root: &Command) -> impl Iterator<Item = Self> {
        root.get_subcommands().map(|command| {
            let name = format!("dedup-audit-{}", command.get_name());
            Self {
                command: command
                    .clone()
                    .display_name(&name)
                    .bin_name(format!("dedup-audit {}", command.get_name())),
                name,
            }
        })
    }

    fn write(&self, mut out: &mut dyn Write) -> io::Result<()> {
        // A page has its examples behind its options.
        let parts = [self.command.get_before_help(), self.command.get_after_help()];
        let end: Vec<String> = parts.into_iter().flatten().map(ToString::to_string).collect();
        let command = self.command.clone().before_help("").after_help(end.join("\n\n"));
        Man::new(command).title(self.name.to_uppercase()).render(&mut out)
    }
}
