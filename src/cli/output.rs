//! Where an answer goes, and in which forms: what every command that answers takes.
//!
//! ```text
//!  --format json                       standard output as JSON
//!  -o report.html                      a file; its ending says the form
//!  -o md:ticket -o report.json         several; a form in front of the name decides
//!  -o report.html --format table       a file, and the table on standard output
//!  -o -                                standard output
//! ```
//!
//! With `-o` standard output stays silent unless `--format` says what it gets. A file whose name does
//! not tell its form takes that of `--format`; where nothing tells it, the call is refused.

use crate::error::AuditError;
use crate::report::answer::Answer;
use crate::report::layout::Width;
use crate::report::ndjson;
use crate::report::sink::{self, Existing, Sink};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Form and place of an answer.
#[derive(Debug, Args)]
pub struct OutputArguments<F: Form> {
    /// How the answer is printed; table unless -o names files
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<F>,
    /// Write it to this file, whole or not at all; more than once for several. The ending of the name
    /// says the format, or FORMAT: in front of it; - is standard output
    #[arg(long, short, value_name = "[FORMAT:]FILE", value_parser = Target::<F>::parse)]
    output: Vec<Target<F>>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
}

/// The forms of one kind of answer.
pub trait Form: ValueEnum + Copy + Eq + std::fmt::Debug + Send + Sync + 'static {
    /// For people in a terminal.
    const TABLE: Self;

    /// The form that a word says: its name, another name for it, or the ending of a file's name.
    fn named(word: &str) -> Option<Self> {
        let says = |form: &Self| form.to_possible_value().is_some_and(|value| value.matches(word, true));
        Self::value_variants().iter().copied().find(says)
    }
}

/// The forms of an answer to a question about evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// For people
    #[value(aliases = ["text", "txt"])]
    Table,
    /// All of it, as one object
    Json,
    /// All of it, one object a line: header, what the lists hold, damage, summary
    #[value(alias = "jsonl")]
    Ndjson,
}

impl Form for AnswerFormat {
    const TABLE: Self = Self::Table;
}

/// The forms of the story of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoryFormat {
    /// For people
    #[value(aliases = ["text", "txt"])]
    Table,
    /// All of it, as one object
    Json,
    /// All of it, one object a line: header, what the lists hold, damage, summary
    #[value(alias = "jsonl")]
    Ndjson,
    /// Markdown for a ticket: short, and renders on GitHub, GitLab and Jira
    #[value(alias = "markdown")]
    Md,
}

impl Form for StoryFormat {
    const TABLE: Self = Self::Table;
}

/// The forms of what is told of a saved report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TicketFormat {
    /// For people
    #[value(aliases = ["text", "txt"])]
    Table,
    /// For scripts
    Json,
    /// Markdown for a ticket: renders on GitHub, GitLab and Jira
    #[value(alias = "markdown")]
    Md,
}

impl Form for TicketFormat {
    const TABLE: Self = Self::Table;
}

/// The forms of the report of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people in a terminal
    #[value(aliases = ["text", "txt"])]
    Table,
    /// All findings, as one object; each with some of its events (scan --max-groups)
    Json,
    /// All of it, one object a line: header, partitions, damage, findings, summary
    #[value(alias = "jsonl")]
    Ndjson,
    /// Markdown for a ticket: short, and renders on GitHub, GitLab and Jira
    #[value(alias = "markdown")]
    Md,
    /// One page to open and to send: search, timelines, copies side by side
    #[value(alias = "htm")]
    Html,
    /// Every surplus copy, as --list
    Csv,
}

impl Form for ReportFormat {
    const TABLE: Self = Self::Table;
}

/// One `-o`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target<F> {
    /// What was written in front of the name.
    form: Option<F>,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Stdout,
    File(PathBuf),
}

impl<F: Form> Target<F> {
    fn parse(text: &str) -> Result<Self, String> {
        let named = text.split_once(':').and_then(|(name, rest)| Some((F::named(name)?, rest)));
        let (form, name) = named.map_or((None, text), |(form, rest)| (Some(form), rest));
        if name.is_empty() {
            return Err("a file name is missing".to_owned());
        }
        let place = match name {
            "-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Place::Stdout,
            name => Place::File(PathBuf::from(name)),
        };
        Ok(Self { form, place })
    }

    /// Refuses a file of which nothing says the form: a table in `x.pdf` is not what somebody meant.
    fn check_form(&self) -> Result<(), AuditError> {
        let path = match &self.place {
            Place::File(path) if self.own_form().is_none() && !path.starts_with("/dev") => path,
            Place::File(_) | Place::Stdout => return Ok(()),
        };
        let name = path.display();
        if let Some(form) = path.to_str().and_then(F::named) {
            let form = form.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
            return Err(AuditError::Usage(format!(
                "-o {name}: this is the name of a form, and no file; did you mean -o {form}:FILE or --format {form}?"
            )));
        }
        let forms: Vec<_> = F::value_variants().iter().filter_map(F::to_possible_value).collect();
        let forms: Vec<_> = forms.iter().map(PossibleValue::get_name).collect();
        Err(AuditError::Usage(format!(
            "-o {name}: its name does not say in which form; write FORM:{name}, with one of {}",
            forms.join(", ")
        )))
    }

    /// The form that the target itself tells.
    fn own_form(&self) -> Option<F> {
        let by_ending = || match &self.place {
            Place::Stdout => None,
            Place::File(path) => F::named(path.extension()?.to_str()?),
        };
        self.form.or_else(by_ending)
    }
}

impl<F: Form> OutputArguments<F> {
    /// What happens to a file that is there already.
    pub(super) const fn existing(&self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Keep }
    }

    /// Each place with its form; files first, so that a reader of standard output who goes away takes
    /// none of them along.
    fn targets(&self) -> Vec<(F, Option<&Path>)> {
        let fallback = self.format.unwrap_or(F::TABLE);
        let (mut files, mut printed, mut format_is_used) = (Vec::new(), Vec::new(), false);
        for target in &self.output {
            let own = target.own_form();
            format_is_used |= own.is_none();
            let form = own.unwrap_or(fallback);
            match &target.place {
                Place::File(path) => files.push((form, Some(path.as_path()))),
                Place::Stdout => printed.push((form, None)),
            }
        }
        if self.output.is_empty() || (printed.is_empty() && self.format.is_some() && !format_is_used) {
            printed.push((fallback, None));
        }
        files.extend(printed);
        files
    }

    /// The files that are written.
    fn files(&self) -> impl Iterator<Item = &Path> {
        self.output.iter().filter_map(|target| match &target.place {
            Place::File(path) => Some(path.as_path()),
            Place::Stdout => None,
        })
    }

    /// Whether any place takes this form.
    pub(super) fn wants(&self, form: F) -> bool {
        self.targets().iter().any(|(wanted, _)| *wanted == form)
    }

    /// Whether standard output takes this form.
    pub(super) fn prints(&self, form: F) -> bool {
        self.targets().contains(&(form, None))
    }

    /// Says before the work begins whether its result could be written.
    ///
    /// # Errors
    /// [`AuditError`] for a file that exists or would lie in the evidence, and for a place that two
    /// forms want.
    pub(super) fn check(&self, sink: &Sink) -> Result<(), AuditError> {
        let targets = self.targets();
        for (index, (_, place)) in targets.iter().enumerate() {
            if targets.iter().take(index).any(|(_, other)| other == place) {
                let name = place.map_or("standard output".to_owned(), |path| path.display().to_string());
                return Err(AuditError::Usage(format!("{name} is named twice with --output")));
            }
        }
        if self.format.is_none() {
            self.output.iter().try_for_each(Target::check_form)?;
        }
        self.files().try_for_each(|path| sink.check(path, self.existing()))
    }

    /// Says the same of a further file that the option `name` asks for.
    ///
    /// # Errors
    /// [`AuditError`] as [`Self::check`], and where the answer goes to the same file.
    pub(super) fn check_beside(&self, sink: &Sink, path: &Path, name: &str) -> Result<(), AuditError> {
        sink.check(path, self.existing())?;
        if self.files().any(|file| file == path) {
            return Err(AuditError::Usage(format!("--output and {name} name the same file")));
        }
        Ok(())
    }

    /// Writes the answer in every form and to every place that were asked for.
    ///
    /// # Errors
    /// [`AuditError`] where it cannot be written; a reader that went away is none.
    pub(super) fn write_each(
        &self,
        sink: &Sink,
        out: &mut dyn Write,
        write: impl Fn(F, Width, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), AuditError> {
        self.write_files(sink, &write)?;
        self.print(out, write)
    }

    /// Writes the files among these places.
    ///
    /// # Errors
    /// [`AuditError`] where one cannot be written.
    pub(super) fn write_files(
        &self,
        sink: &Sink,
        write: impl Fn(F, Width, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), AuditError> {
        for (form, place) in self.targets() {
            if let Some(path) = place {
                sink.write(path, self.existing(), |out| write(form, Width::default(), out))?;
            }
        }
        Ok(())
    }

    /// Writes what standard output takes.
    ///
    /// # Errors
    /// [`AuditError`] where it cannot be written; a reader that went away is none.
    pub(super) fn print(
        &self,
        out: &mut dyn Write,
        write: impl Fn(F, Width, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), AuditError> {
        for (form, _) in self.targets().into_iter().filter(|(_, place)| place.is_none()) {
            sink::print(out, |out| write(form, super::terminal::width(), out))?;
        }
        Ok(())
    }
}

impl OutputArguments<AnswerFormat> {
    /// Writes the answer of a command.
    ///
    /// # Errors
    /// [`AuditError`] where it cannot be written; a reader that went away is none.
    pub(super) fn write_answer<T: Serialize>(
        &self,
        sink: &Sink,
        out: &mut dyn Write,
        table: impl Fn(Width, &mut dyn Write) -> io::Result<()>,
        answer: &Answer<T>,
    ) -> Result<(), AuditError> {
        self.write_each(sink, out, |form, width, out| match form {
            AnswerFormat::Json => answer.write_json(out),
            AnswerFormat::Ndjson => ndjson::answer(answer, out),
            AnswerFormat::Table => table(width, out),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(format: Option<ReportFormat>, output: &[&str]) -> OutputArguments<ReportFormat> {
        let output = output.iter().map(|text| Target::parse(text).unwrap()).collect();
        OutputArguments { format, output, force: false }
    }

    fn targets(format: Option<ReportFormat>, output: &[&str]) -> Vec<(ReportFormat, Option<String>)> {
        let arguments = arguments(format, output);
        let named = |place: Option<&Path>| place.map(|path| path.display().to_string());
        arguments.targets().into_iter().map(|(form, place)| (form, named(place))).collect()
    }

    fn file(form: ReportFormat, name: &str) -> (ReportFormat, Option<String>) {
        (form, Some(name.to_owned()))
    }

    #[test]
    fn a_form_is_told_by_the_word_in_front_then_by_the_ending_then_by_format() {
        use ReportFormat::{Csv, Html, Json, Md, Ndjson, Table};
        assert_eq!(
            targets(None, &["md:a.json", "b.HTML", "c.jsonl", "d", "e:f.csv", "C:\\g.md"]),
            [
                file(Md, "a.json"),
                file(Html, "b.HTML"),
                file(Ndjson, "c.jsonl"),
                file(Table, "d"),
                file(Csv, "e:f.csv"),
                file(Md, "C:\\g.md"),
            ]
        );
        assert_eq!(targets(Some(Json), &["d"]), [file(Json, "d")]);
    }

    #[test]
    fn a_form_has_the_names_that_people_try_first() {
        use ReportFormat::{Html, Md, Ndjson, Table};
        let read = |word| <ReportFormat as ValueEnum>::from_str(word, false);
        assert_eq!(
            ["markdown", "text", "txt", "jsonl", "htm"].map(read),
            [Md, Table, Table, Ndjson, Html].map(Ok)
        );
        assert!(read("yaml").is_err());
        assert_eq!(targets(None, &["Markdown:a", "b.MARKDOWN"]), [file(Md, "a"), file(Md, "b.MARKDOWN")]);
    }

    #[test]
    fn standard_output_is_silent_beside_files_unless_a_format_was_asked_for() {
        use ReportFormat::{Html, Json, Table};
        assert_eq!(targets(None, &[]), [(Table, None)]);
        assert_eq!(targets(None, &["a.html"]), [file(Html, "a.html")]);
        assert_eq!(targets(Some(Table), &["a.html"]), [file(Html, "a.html"), (Table, None)]);
        assert_eq!(targets(None, &["json:-", "a.html"]), [file(Html, "a.html"), (Json, None)]);
        assert_eq!(targets(Some(Json), &["/dev/stdout"]), [(Json, None)]);
    }

    #[test]
    fn a_file_of_which_nothing_says_the_form_is_refused() {
        let sink = Sink::beside(&[]);
        let refused = |name: &str| arguments(None, &[name]).check(&sink).unwrap_err().to_string();
        assert!(refused("MD").contains("did you mean -o md:FILE or --format md?"), "{}", refused("MD"));
        assert!(refused("a.pdf").contains("FORM:a.pdf, with one of table, json, ndjson, md, html, csv"));
        assert!(refused("ticket").contains("does not say in which form"));
        for (format, name) in
            [(Some(ReportFormat::Json), "ticket"), (None, "md:ticket"), (None, "/dev/null"), (None, "-")]
        {
            assert!(arguments(format, &[name]).check(&sink).is_ok(), "{name}");
        }
    }

    #[test]
    fn one_place_takes_one_form() {
        let sink = Sink::beside(&[]);
        let refused = |output: &[&str]| arguments(None, output).check(&sink).unwrap_err().to_string();
        assert!(refused(&["json:-", "md:-"]).contains("standard output is named twice"));
        assert!(refused(&["json:gone/x", "md:gone/x"]).contains("gone/x is named twice"));
        assert!(Target::<ReportFormat>::parse("md:").is_err());
    }
}
