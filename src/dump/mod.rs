//! Prints broker files one by one: as Kafka's own dump tool does, or as one JSON object a line.
//!
//! Goes in: a path and [`DumpOptions`]. Comes out: text on one writer, talk about what cannot be
//! read on another. Memory does not grow with the file.
//!
//! The text form is that of `DumpLogSegments` in Kafka 4.3 with `--print-data-log`, byte for byte,
//! except where Kafka's tool ends: it dies of a zero tail and stops at an impossible size; this one
//! says so and goes on at the next batch that proves itself. For a terminal control characters in
//! other people's bytes are spelled out; in a pipe the bytes are Kafka's.
//!
//! Source: `DumpLogSegments` in Kafka's `tools` module.

mod decoder;
mod file_kind;
mod kafka_text;
mod line;
mod log;
mod ndjson;
mod printer;
mod seek;
mod selection;
mod side_files;
mod text;
mod text_files;

use crate::format::ByteSource as _;
use crate::format::Limits;
use crate::format::segment::TailExpectation;
use crate::input::{Archives, FilePlace, FileWindow, offsets_against_name};
use crate::report::escape::Terminal;
use crate::units::Offset;
use file_kind::FileKind;
use log::LogFile;
use printer::Printer;

pub use decoder::InternalTopic;
pub use selection::Selection;

use std::io::{self, Write};
use std::path::Path;

/// How far the dump goes into a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Batch headers only; nothing is decompressed.
    Batches,
    /// Batches and their records.
    #[default]
    Records,
}

/// Who reads the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// A file or a program: the bytes are Kafka's.
    #[default]
    Pipe,
    /// A terminal, which other people's bytes must not reach.
    Terminal,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The text of Kafka's tool.
    #[default]
    Text,
    /// One JSON object a line.
    Ndjson,
}

/// What to print, and how.
#[derive(Clone, Debug, Default)]
pub struct DumpOptions {
    /// In which form.
    pub form: Form,
    /// Which part of it.
    pub selection: Selection,
    /// Whose records are to be read; for JSON the name of the directory says it, too.
    pub decoder: Option<InternalTopic>,
    /// How far to go into a log.
    pub depth: Depth,
    /// Who reads it.
    pub audience: Audience,
    /// What one batch may ask for.
    pub limits: Limits,
}

/// Whether a file was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// All of it, or all but what a log that was not closed cleanly is expected to have.
    Whole,
    /// Something in it cannot be read.
    Partial,
    /// Nothing: it cannot be opened, or is no file of a broker's.
    Nothing,
}

/// Prints one file, on a disk or in an archive, to `out`; tells `talk` what cannot be read.
///
/// # Errors
/// What `out` or `talk` say. A file that cannot be read is no error but a [`Reading`].
pub fn dump_file(
    path: &Path,
    archives: &mut Archives,
    options: &DumpOptions,
    out: &mut impl Write,
    talk: &mut impl Write,
) -> io::Result<Reading> {
    match options.form {
        Form::Text => {
            dump_with(path, archives, options, &mut text::TextPrinter::new(out, options.audience), talk)
        }
        Form::Ndjson => dump_with(path, archives, options, &mut ndjson::NdjsonPrinter::new(out), talk),
    }
}

fn dump_with(
    path: &Path,
    archives: &mut Archives,
    options: &DumpOptions,
    printer: &mut impl Printer,
    talk: &mut impl Write,
) -> io::Result<Reading> {
    let name = file_kind::file_name(path);
    let opened = archives.place(path).and_then(|place| Ok((open(&place)?, place)));
    let ((source, mut again), place) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            writeln!(talk, "{}: {error}", shown(path))?;
            return Ok(Reading::Nothing);
        }
    };
    let Some(kind) = FileKind::of(&name) else {
        writeln!(talk, "{}: not a file that can be dumped", shown(path))?;
        return Ok(Reading::Nothing);
    };
    printer.file(path, &name, kind)?;
    let mut talk = Talk { out: talk, path, reading: Reading::Whole };
    let selection = &options.selection;
    let decoder = options.decoder.or_else(|| match options.form {
        Form::Text => None,
        Form::Ndjson => InternalTopic::of_directory(path),
    });
    let mut source = source;
    match kind {
        FileKind::Log { base } => {
            let tail = file_kind::tail_expectation(&place, base);
            let base = match base {
                Some(named) => by_its_batches(&place, source.len(), named, &mut talk)?,
                None => None,
            };
            let file = LogFile { name: &name, base, tail, place: &place, decoder };
            log::dump(source, &mut again, file, options, printer, &mut talk)?;
        }
        FileKind::Checkpoint { .. } | FileKind::BootstrapCheckpoint => {
            let tail = TailExpectation::MustBeWhole;
            let decoder = decoder.or(match options.form {
                Form::Text => None,
                Form::Ndjson => Some(InternalTopic::ClusterMetadata),
            });
            let file = LogFile { name: &name, base: None, tail, place: &place, decoder };
            log::dump(source, &mut again, file, options, printer, &mut talk)?;
        }
        FileKind::OffsetIndex { base } => {
            side_files::offset_index(source, base, path, selection, printer, &mut talk)?;
        }
        FileKind::TimeIndex { base } => {
            side_files::time_index(source, base, selection, printer, &mut talk)?;
        }
        FileKind::TransactionIndex => {
            side_files::transaction_index(source, selection, printer, &mut talk)?;
        }
        FileKind::ProducerSnapshot => {
            side_files::producer_snapshot(&mut source, selection, printer, &mut talk)?;
        }
        FileKind::Text(text) => text_files::dump(&mut source, text, selection, printer, &mut talk)?,
    }
    Ok(talk.reading)
}

/// Opens a file twice: to scan it, and to look again at what the scan cannot read.
/// The base offset in the name of a log, unless its batches are sure to have another one, which is told.
fn by_its_batches(
    place: &FilePlace,
    len: u64,
    named: Offset,
    talk: &mut Talk<'_, impl Write>,
) -> io::Result<Option<Offset>> {
    let Some(own) = offsets_against_name(place, len, named) else {
        return Ok(Some(named));
    };
    let what = format!(
        "its batches hold offsets {} to {}, its name says {named}: read as the segment {:020}.log, without its indexes",
        own.first, own.last, own.first.0
    );
    talk.note(0, &what)?;
    Ok(None)
}

fn open(place: &FilePlace) -> io::Result<(FileWindow, FileWindow)> {
    if place.path().is_dir() {
        let why = "it is a directory: name the files in it, or audit it with scan";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let length = place.length()?;
    Ok((FileWindow::open(place, length)?, FileWindow::open(place, length)?))
}

/// A path in a message.
fn shown(path: &Path) -> String {
    Terminal::text(&path.to_string_lossy()).to_string()
}

/// What is said about one file.
struct Talk<'a, W> {
    out: &'a mut W,
    path: &'a Path,
    reading: Reading,
}

impl<W: Write> Talk<'_, W> {
    /// Something cannot be read.
    fn damage(&mut self, position: u64, detail: &str) -> io::Result<()> {
        self.reading = Reading::Partial;
        self.note(position, detail)
    }

    /// Something that belongs to a log in use.
    fn note(&mut self, position: u64, detail: &str) -> io::Result<()> {
        writeln!(self.out, "{} at {position}: {}", shown(self.path), Terminal::text(detail))
    }
}

/// The base offset that the name of a segment's file gives.
fn base_of(name: &str) -> Option<Offset> {
    name.split('.').next()?.parse().ok().map(Offset)
}
