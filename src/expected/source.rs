//! Reads a list entry by entry.

use super::fields::{Field, Fields, FileFormat, Header};
use crate::keys::{JsonMember, json_member, scalars};
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek as _};
use std::path::{Path, PathBuf};

/// Nobody has a longer line, and memory is bounded.
const LONGEST: u64 = 16 << 20;

/// Fields that a message names, and how much of each.
const FIELDS_SAID: usize = 12;
const LONGEST_NAME_SAID: usize = 80;
/// Lines in which it looks for them, and members of each.
const LINES_LOOKED_AT: usize = 20;
const MEMBERS_LOOKED_AT: usize = 50;

/// What some programs write in front of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// And in front of UTF-16, in either order of bytes.
const MARKS_OF_UTF16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// With what packed files begin, and what unpacks them.
const PACKED: [(&[u8], &str); 5] = [
    (b"\x1f\x8b\x08", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "unzstd"),
    (b"\xfd7zXZ\x00", "unxz"),
    (b"BZh91AY&SY", "bunzip2"),
    (b"PK\x03\x04", "unzip"),
];

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its number among the entries, from 0 on.
    pub number: u64,
    /// The line on which it begins, from 1 on.
    pub line: u64,
    /// The parts of its key; `None` where a part is not there.
    pub key: Vec<Option<Vec<u8>>>,
    /// When it was sent, in milliseconds.
    pub time: Option<i64>,
    /// The offset that was acknowledged; a client that was told none wrote −1.
    pub offset: Option<i64>,
    /// The partition that was acknowledged.
    pub partition: Option<i32>,
}

impl Entry {
    /// Whether it has a key at all.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key.iter().any(Option::is_some)
    }
}

/// Why a list cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {reason}", path.display(), line.map_or_else(String::new, |line| format!(" line {line}")))]
pub struct ExpectedError {
    path: PathBuf,
    line: Option<u64>,
    reason: String,
}

/// The entries of a list.
pub struct Entries<'f> {
    path: PathBuf,
    fields: &'f Fields,
    lines: Lines,
    next: u64,
}

enum Lines {
    Csv { reader: Box<csv::Reader<Limited>>, columns: Columns, record: csv::ByteRecord },
    Text { reader: BufReader<File>, line: u64, buffer: Vec<u8> },
}

/// The places of the fields of a CSV file.
struct Columns {
    key: Vec<usize>,
    time: Option<usize>,
    zone: TimeZone,
    offset: Option<usize>,
    partition: Option<usize>,
}

impl<'f> Entries<'f> {
    /// Opens a list.
    ///
    /// # Errors
    /// When it cannot be read, or a column that was named is not there.
    pub fn open(path: &Path, fields: &'f Fields) -> Result<Self, ExpectedError> {
        let failed = |reason: String| ExpectedError { path: path.to_owned(), line: None, reason };
        // Before it is opened: a pipe is not open until somebody writes into it.
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(failed("it is no regular file, and a list is read twice".to_owned()));
        }
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let file = in_utf8(file).map_err(|error| failed(error.to_string()))?;
        let lines = match fields.format {
            FileFormat::Csv => {
                let mut reader = csv::ReaderBuilder::new()
                    .has_headers(fields.header == Header::Names)
                    .flexible(true)
                    // A return in front of the line feed is taken away below: with it as a terminator of
                    // its own, lines would be counted one too low.
                    .terminator(csv::Terminator::Any(b'\n'))
                    .from_reader(Limited::over(file));
                let columns = columns(&mut reader, fields).map_err(failed)?;
                Lines::Csv { reader: Box::new(reader), columns, record: csv::ByteRecord::new() }
            }
            FileFormat::Ndjson | FileFormat::Lines => {
                Lines::Text { reader: BufReader::with_capacity(256 << 10, file), line: 0, buffer: Vec::new() }
            }
        };
        Ok(Self { path: path.to_owned(), fields, lines, next: 0 })
    }

    /// The next entry; `None` at the end. Empty lines are none.
    ///
    /// # Errors
    /// When the bytes are not what the format says.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ExpectedError> {
        let number = self.next;
        let read = match &mut self.lines {
            Lines::Csv { reader, columns, record } => {
                let line = reader.position().line();
                next_record(reader, columns, record).map_err(|reason| (Some(line), reason))
            }
            Lines::Text { reader, line, buffer } => {
                next_line(reader, line, buffer, self.fields).map_err(|reason| (Some(*line), reason))
            }
        };
        match read {
            Ok(Some(entry)) => {
                self.next = self.next.saturating_add(1);
                Ok(Some(Entry { number, ..entry }))
            }
            Ok(None) => Ok(None),
            Err((line, reason)) => Err(ExpectedError { path: self.path.clone(), line, reason }),
        }
    }

    /// That no entry of a list has a key: which fields were meant, and which ones its first entries have.
    #[must_use]
    pub fn without_key(&self, entries: u64) -> ExpectedError {
        let failed = |reason: String| ExpectedError { path: self.path.clone(), line: None, reason };
        if entries == 0 {
            return failed("it has no entry: there is nothing to hold against what is stored".to_owned());
        }
        let asked: Vec<String> = self.fields.key.iter().map(ToString::to_string).collect();
        let asked = asked.join(" or ");
        let there = match self.fields.format {
            FileFormat::Ndjson => self.members(),
            FileFormat::Csv | FileFormat::Lines => Vec::new(),
        };
        let there = if there.is_empty() {
            String::new()
        } else {
            let more = if there.len() > FIELDS_SAID { ", …" } else { "" };
            let said: Vec<_> = there.into_iter().take(FIELDS_SAID).collect();
            format!("; fields there: {}{more}", said.join(", "))
        };
        failed(match entries {
            1 => format!("its only entry has no {asked}{there}"),
            all => format!("none of {all} entries has {asked}{there}"),
        })
    }

    /// The members of the first entries, in the order in which they are first met.
    fn members(&self) -> Vec<String> {
        let Ok(file) = File::open(&self.path) else { return Vec::new() };
        let (mut reader, mut line, mut members) = (BufReader::new(file), Vec::new(), Vec::new());
        for _ in 0..LINES_LOOKED_AT {
            if !read_line(&mut reader, &mut line).unwrap_or(false) {
                break;
            }
            let document = line.strip_prefix(MARK).unwrap_or(&line);
            scalars(document, MEMBERS_LOOKED_AT, &mut |pointer, raw| {
                let name = pointer.to_string();
                if raw != "null" && !members.contains(&name) {
                    members.push(name);
                }
            });
        }
        members
    }

    /// An error about an entry of this list.
    #[must_use]
    pub fn error(&self, line: u64, reason: &str) -> ExpectedError {
        ExpectedError { path: self.path.clone(), line: Some(line), reason: reason.to_owned() }
    }
}

/// A file of which so much may be read as one line may have: a quotation mark that is not closed does not
/// take all of it into memory.
struct Limited {
    file: File,
    left: u64,
    /// Where in a cell the next byte stands.
    quotation: Quotation,
    /// Line feeds in the quotation marks of the cell.
    quoted_feeds: u64,
    /// Where a cell of several lines goes on behind the mark that closes it.
    torn: VecDeque<u64>,
    /// Bytes so far, and the last two of them.
    passed: u64,
    newest: [u8; 2],
    /// Behind which bytes a line ends whose last cell is quoted and has a return before the quotation mark.
    quoted_returns: VecDeque<u64>,
    /// Line feeds and returns so far.
    feeds: u64,
    returns: u64,
}

/// Where in a cell a byte stands.
#[derive(Clone, Copy)]
enum Quotation {
    /// It is the first one.
    CellBegins,
    /// In one without quotation marks.
    Plain,
    /// In one with them.
    Quoted,
    /// Behind a mark in one with them: it closes the cell, unless another one follows.
    MarkInQuoted,
}

impl Limited {
    const fn over(file: File) -> Self {
        Self {
            file,
            left: LONGEST,
            quotation: Quotation::CellBegins,
            quoted_feeds: 0,
            torn: VecDeque::new(),
            passed: 0,
            newest: [0; 2],
            quoted_returns: VecDeque::new(),
            feeds: 0,
            returns: 0,
        }
    }

    /// Takes note of the bytes that come next.
    fn pass(&mut self, bytes: &[u8]) {
        let length = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let count = |byte: u8| length(memchr::memchr_iter(byte, bytes).count());
        self.follow_quotations(bytes);
        self.returns = self.returns.saturating_add(count(b'\r'));
        for at in memchr::memchr_iter(b'\n', bytes) {
            self.feeds = self.feeds.saturating_add(1);
            let before = match at {
                0 => self.newest,
                1 => [self.newest[1], bytes[0]],
                _ => [bytes[at - 2], bytes[at - 1]],
            };
            if before == *b"\r\"" {
                self.quoted_returns.push_back(self.passed.saturating_add(length(at)).saturating_add(1));
            }
        }
        self.newest = match bytes {
            [.., first, last] => [*first, *last],
            [last] => [self.newest[1], *last],
            [] => self.newest,
        };
        self.passed = self.passed.saturating_add(length(bytes.len()));
    }

    /// Follows which bytes stand in quotation marks (RFC 4180: a mark opens a cell at its beginning alone, and what
    /// closes it is the end of the cell).
    fn follow_quotations(&mut self, bytes: &[u8]) {
        let place = |at: usize| self.passed.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let in_mark = |at: u64| {
                usize::try_from(at).ok().and_then(|at| MARK.get(at)).is_some_and(|mark| *mark == byte)
            };
            self.quotation = match (self.quotation, byte) {
                (Quotation::CellBegins, _) if in_mark(place(at)) => Quotation::CellBegins,
                (Quotation::Quoted, b'"') | (Quotation::MarkInQuoted, b'\r') => Quotation::MarkInQuoted,
                (Quotation::Quoted, _) | (Quotation::CellBegins | Quotation::MarkInQuoted, b'"') => {
                    Quotation::Quoted
                }
                (_, b',' | b'\n') => Quotation::CellBegins,
                (Quotation::MarkInQuoted, _) => {
                    // An inch in a cell is its own; over several lines it has taken entries.
                    if self.quoted_feeds > 0 {
                        self.torn.push_back(place(at));
                    }
                    Quotation::Plain
                }
                (Quotation::CellBegins | Quotation::Plain, _) => Quotation::Plain,
            };
            if matches!(self.quotation, Quotation::CellBegins | Quotation::Plain) {
                self.quoted_feeds = 0;
            } else if byte == b'\n' {
                self.quoted_feeds = self.quoted_feeds.saturating_add(1);
            }
            at += 1;
            // What changes nothing is passed over at once.
            let rest = bytes.get(at..).unwrap_or_default();
            at += match self.quotation {
                Quotation::Quoted => {
                    let skipped = memchr::memchr(b'"', rest).unwrap_or(rest.len());
                    let feeds = memchr::memchr_iter(b'\n', rest.get(..skipped).unwrap_or_default()).count();
                    self.quoted_feeds =
                        self.quoted_feeds.saturating_add(u64::try_from(feeds).unwrap_or(u64::MAX));
                    skipped
                }
                Quotation::Plain => memchr::memchr2(b',', b'\n', rest).unwrap_or(rest.len()),
                Quotation::CellBegins | Quotation::MarkInQuoted => 0,
            };
        }
    }

    /// Whether in the entry that ends behind this byte a cell goes on behind the mark that closes it.
    fn is_torn(&mut self, end: u64) -> bool {
        let mut is_torn = false;
        while self.torn.front().is_some_and(|at| *at < end) {
            self.torn.pop_front();
            is_torn = true;
        }
        is_torn
    }

    /// Whether the return at the end of the entry that ends behind this byte stands in quotation marks.
    fn has_quoted_return(&mut self, end: u64) -> bool {
        while self.quoted_returns.front().is_some_and(|at| *at < end) {
            self.quoted_returns.pop_front();
        }
        // The last line may have no end.
        self.quoted_returns.front() == Some(&end) || (end == self.passed && self.newest == *b"\r\"")
    }
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(buffer.get_mut(..most).unwrap_or_default())?;
        self.left = self.left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
        self.pass(buffer.get(..read).unwrap_or_default());
        if read == 0 && self.feeds == 0 && self.returns > 1 {
            return Err(lines_end_in_returns());
        }
        Ok(read)
    }
}

/// A list that is written as UTF-8, or in another code that has ASCII in it.
fn in_utf8(mut file: File) -> io::Result<File> {
    let mut first = Vec::new();
    (&file).take(64).read_to_end(&mut first)?;
    let marked = MARKS_OF_UTF16.iter().any(|mark| first.starts_with(mark));
    if marked && first.contains(&0) {
        return Err(io::Error::other("it is UTF-16, and a list is read as UTF-8 (iconv -f UTF-16 -t UTF-8)"));
    }
    if let Some((_, program)) = PACKED.iter().find(|(mark, _)| first.starts_with(mark)) {
        return Err(io::Error::other(format!(
            "it is packed, and a list is read as it stands: unpack it first ({program})"
        )));
    }
    file.rewind()?;
    Ok(file)
}

fn lines_end_in_returns() -> io::Error {
    io::Error::other("its lines end in carriage returns alone, and a list is read by line feeds")
}

fn columns(reader: &mut csv::Reader<Limited>, fields: &Fields) -> Result<Columns, String> {
    let names = match fields.header {
        Header::Names => reader.byte_headers().map_err(|error| error.to_string())?.clone(),
        Header::Entry => csv::ByteRecord::new(),
    };
    // A name with a mark in it is no entry's.
    let end = reader.position().byte();
    reader.get_mut().is_torn(end);
    let place = |field: &Field| match field {
        Field::Column(at) => Ok(*at),
        Field::Name(name) => {
            let known = (0..names.len()).filter_map(|at| cell(&names, at));
            let known = known.map(|name| name.strip_prefix(MARK).unwrap_or(name));
            let mut found = known.enumerate().filter(|(_, known)| *known == name.as_bytes());
            match (found.next(), found.next()) {
                (Some((at, _)), None) => Ok(at),
                (Some(_), Some(_)) => Err(format!("two columns are called {name:?}: give its number")),
                (None, _) => {
                    let said = |name: &[u8]| {
                        String::from_utf8_lossy(name).chars().take(LONGEST_NAME_SAID).collect::<String>()
                    };
                    let known: Vec<_> = names.iter().take(FIELDS_SAID).map(said).collect();
                    let more = match names.len().saturating_sub(FIELDS_SAID) {
                        0 => String::new(),
                        more => format!(" and {more} more"),
                    };
                    Err(format!("no column is called {name:?}; there are {known:?}{more}"))
                }
            }
        }
        Field::Pointer(_) | Field::Line => Err(format!("{field} names no column")),
    };
    let maybe = |field: &Option<Field>| field.as_ref().map(place).transpose();
    Ok(Columns {
        key: fields.key.iter().map(place).collect::<Result<_, _>>()?,
        time: maybe(&fields.time)?,
        zone: fields.zone.clone(),
        offset: maybe(&fields.offset)?,
        partition: maybe(&fields.partition)?,
    })
}

/// Where a line ends.
#[derive(Clone, Copy)]
enum LineEnd {
    /// At the feed: what stands in front is the cell's.
    Feed,
    /// At a return in front of it, where there is one.
    ReturnAndFeed,
}

/// A cell without the return in front of the line feed.
fn cell(record: &csv::ByteRecord, at: usize) -> Option<&[u8]> {
    let cell = record.get(at)?;
    let is_last = at.saturating_add(1) == record.len();
    Some(cell.strip_suffix(b"\r").filter(|_| is_last).unwrap_or(cell))
}

fn next_record(
    reader: &mut csv::Reader<Limited>,
    columns: &Columns,
    record: &mut csv::ByteRecord,
) -> Result<Option<Entry>, String> {
    loop {
        reader.get_mut().left = LONGEST;
        if !reader.read_byte_record(record).map_err(|error| error.to_string())? {
            // The names may be all there is: a mark that is not closed takes the entries into them.
            return match reader.get_ref().quotation {
                Quotation::Quoted => {
                    Err("a quotation mark is not closed in the names of the columns".to_owned())
                }
                _ => Ok(None),
            };
        }
        let line = record.position().map_or(0, csv::Position::line);
        let lines = reader.position().line().saturating_sub(line);
        let end = reader.position().byte();
        let is_last = end >= reader.get_ref().passed;
        if is_last && matches!(reader.get_ref().quotation, Quotation::Quoted) {
            let why = "a quotation mark is not closed in the entry that begins on line";
            let taken = match lines {
                0 | 1 => "the last line".to_owned(),
                lines => format!("the last {lines} lines"),
            };
            return Err(format!("{why} {line}: it takes {taken} of the list"));
        }
        if reader.get_mut().is_torn(end) {
            return Err(format!(
                "a quotation mark of the entry that begins on line {line} is closed on a later line, and text follows: \
                 it may have taken several entries for one"
            ));
        }
        if record.len() > 1 || cell(record, 0).is_some_and(|cell| !cell.is_empty()) {
            break;
        }
    }
    let end = reader.position().byte();
    let ends_in =
        if reader.get_mut().has_quoted_return(end) { LineEnd::Feed } else { LineEnd::ReturnAndFeed };
    let line = record.position().map_or(0, csv::Position::line);
    let cell = |at: usize| match ends_in {
        LineEnd::Feed => record.get(at),
        LineEnd::ReturnAndFeed => cell(record, at),
    };
    let cell = |at: usize| cell(at).filter(|cell| !cell.is_empty());
    let text = |at: Option<usize>| at.and_then(cell).map(String::from_utf8_lossy);
    let mut key = Vec::with_capacity(columns.key.len());
    for &at in &columns.key {
        if at >= record.len() {
            return Err(format!("it has {} columns, the key is in column {}", record.len(), at + 1));
        }
        key.push(cell(at).map(<[u8]>::to_vec));
    }
    Ok(Some(Entry {
        number: 0,
        line,
        key,
        time: text(columns.time).map(|text| millis(&text, &columns.zone)).transpose()?,
        offset: text(columns.offset).map(|text| number(&text, "offset")).transpose()?,
        partition: text(columns.partition).map(|text| number(&text, "partition")).transpose()?,
    }))
}

fn next_line(
    reader: &mut BufReader<File>,
    line: &mut u64,
    buffer: &mut Vec<u8>,
    fields: &Fields,
) -> Result<Option<Entry>, String> {
    loop {
        *line = line.saturating_add(1);
        if !read_line(reader, buffer).map_err(|error| error.to_string())? {
            return Ok(None);
        }
        if *line == 1 && fields.format == FileFormat::Lines {
            let is_all = reader.fill_buf().map_err(|error| error.to_string())?.is_empty();
            if is_all && memchr::memchr(b'\r', buffer.trim_ascii_end()).is_some() {
                return Err(lines_end_in_returns().to_string());
            }
        }
        if *line == 1 && buffer.starts_with(MARK) {
            buffer.drain(..MARK.len());
        }
        if buffer.is_empty() {
            continue;
        }
        let line = *line;
        if fields.format == FileFormat::Lines {
            return Ok(Some(Entry { line, key: vec![Some(buffer.clone())], ..Entry::default() }));
        }
        let member = |field: &Field| match field {
            Field::Pointer(pointer) => match json_member(buffer, pointer) {
                Ok(Some(JsonMember::Text(text))) => Ok(Some(text.into_owned())),
                Ok(Some(JsonMember::Other(raw))) => Ok(Some(raw.to_owned())),
                Ok(None) => Ok(None),
                Err(error) => Err(error.to_string()),
            },
            Field::Name(_) | Field::Column(_) | Field::Line => Err(format!("{field} is no pointer")),
        };
        let maybe = |field: &Option<Field>| field.as_ref().map_or(Ok(None), member);
        let mut key = Vec::with_capacity(fields.key.len());
        for field in &fields.key {
            key.push(member(field)?.map(String::into_bytes));
        }
        return Ok(Some(Entry {
            number: 0,
            line,
            key,
            time: maybe(&fields.time)?.map(|text| millis(&text, &fields.zone)).transpose()?,
            offset: maybe(&fields.offset)?.map(|text| number(&text, "offset")).transpose()?,
            partition: maybe(&fields.partition)?.map(|text| number(&text, "partition")).transpose()?,
        }));
    }
}

/// Reads a line without its end; false at the end of the file.
fn read_line(reader: &mut BufReader<File>, buffer: &mut Vec<u8>) -> io::Result<bool> {
    buffer.clear();
    if reader.by_ref().take(LONGEST).read_until(b'\n', buffer)? == 0 {
        return Ok(false);
    }
    if buffer.last() == Some(&b'\n') {
        buffer.pop();
        if buffer.last() == Some(&b'\r') {
            buffer.pop();
        }
    } else if u64::try_from(buffer.len()).unwrap_or(u64::MAX) >= LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(true)
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is no {what}"))
}

/// Numbers that are seconds since 1970 of some year from 2001 to 2286, and milliseconds of a day in early 1970.
const SECONDS: std::ops::Range<i64> = 1_000_000_000..10_000_000_000;
/// Numbers from here on are microseconds since 1970 of a year from 2001 on; as milliseconds, of one from 33658 on.
const MICROSECONDS: i64 = 1_000_000_000_000_000;
/// From here on they are nanoseconds of such a year.
const NANOSECONDS: i64 = 1_000_000_000_000_000_000;

/// The unit that a number reads like, where that is not milliseconds.
fn other_unit(number: i64) -> Option<&'static str> {
    match number {
        NANOSECONDS.. => Some("nanoseconds"),
        MICROSECONDS.. => Some("microseconds"),
        number if SECONDS.contains(&number) => Some("seconds"),
        _ => None,
    }
}

/// Milliseconds from a number, RFC 3339, or the time of a clock on a wall in `zone`.
fn millis(text: &str, zone: &TimeZone) -> Result<i64, String> {
    let text = text.trim();
    if let Ok(millis) = text.parse() {
        if let Some(unit) = other_unit(millis) {
            return Err(format!("{text} reads like {unit} since 1970: milliseconds are expected"));
        }
        return Ok(millis);
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond());
    }
    // A date alone is also read as midnight, and an entry has one time.
    let is_date = Date::strptime("%Y-%m-%d", text).is_ok();
    let wall = text.parse::<DateTime>().ok().filter(|_| !is_date).ok_or_else(|| {
        format!(
            "{text:?} is no time: milliseconds since 1970, RFC 3339, or a date with a time of day in the zone of --tz \
             is expected"
        )
    })?;
    wall_time(wall, zone)
}

/// Milliseconds since 1970 when a clock on a wall in `zone` shows `wall`: the first time, where it does so twice.
///
/// # Errors
/// A sentence for a time that such a clock leaves out.
pub fn wall_time(wall: DateTime, zone: &TimeZone) -> Result<i64, String> {
    let found = zone.to_ambiguous_timestamp(wall);
    if matches!(found.offset(), AmbiguousOffset::Gap { .. }) {
        return Err(format!("{wall}: clocks in the zone leave this time out"));
    }
    found.compatible().map(jiff::Timestamp::as_millisecond).map_err(|error| format!("{wall}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn fields(format: FileFormat, header: Header, key: &[&str]) -> Fields {
        let field = |text: &&str| Field::parse(text, format).unwrap();
        let key =
            if format == FileFormat::Lines { vec![Field::Line] } else { key.iter().map(field).collect() };
        Fields { format, header, key, time: None, offset: None, partition: None, zone: TimeZone::UTC }
    }

    fn read(bytes: &[u8], fields: &Fields) -> Result<Vec<Entry>, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut entries = Entries::open(file.path(), fields).map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        while let Some(entry) = entries.next_entry().map_err(|error| error.to_string())? {
            all.push(entry);
        }
        Ok(all)
    }

    fn keys(entries: &[Entry]) -> Vec<(u64, String)> {
        let text =
            |entry: &Entry| String::from_utf8_lossy(entry.key[0].as_deref().unwrap_or(b"-")).into_owned();
        entries.iter().map(|entry| (entry.line, text(entry))).collect()
    }

    #[test]
    fn columns_are_named_or_counted() {
        let csv = b"\xef\xbb\xbfid,at,offset\r\n\"a,\nb\",1970-01-01T00:00:01Z,7\n,,\nc,5,-1\n";
        for key in ["id", "1"] {
            let mut fields = fields(FileFormat::Csv, Header::Names, &[key]);
            fields.time = Some(Field::Name("at".to_owned()));
            fields.offset = Some(Field::Column(2));
            let entries = read(csv, &fields).unwrap();
            assert_eq!(keys(&entries), [(2, "a,\nb".to_owned()), (4, "-".to_owned()), (5, "c".to_owned())]);
            assert_eq!((entries[0].time, entries[0].offset), (Some(1000), Some(7)));
            assert!(!entries[1].has_key());
            assert_eq!((entries[2].time, entries[2].offset), (Some(5), Some(-1)));
        }
        let without_names = fields(FileFormat::Csv, Header::Entry, &["2"]);
        let entries = read(b"1,a\r\n\r\n2,\"b\"\r\n", &without_names).unwrap();
        assert_eq!(keys(&entries), [(1, "a".to_owned()), (3, "b".to_owned())]);
    }

    #[test]
    fn members_are_pointed_at_and_numbers_keep_their_digits() {
        let mut fields = fields(FileFormat::Ndjson, Header::Names, &["/order/id"]);
        fields.partition = Some(Field::parse("/p", FileFormat::Ndjson).unwrap());
        let text = b"{\"order\":{\"id\":9223372036854775807},\"p\":3}\n\n{\"order\":{\"id\":\"x\\ty\"}}\n{}";
        let entries = read(text, &fields).unwrap();
        let read_keys: Vec<_> = keys(&entries);
        assert_eq!(
            read_keys,
            [(1, "9223372036854775807".to_owned()), (3, "x\ty".to_owned()), (4, "-".to_owned())]
        );
        assert_eq!(entries[0].partition, Some(3));
        assert_eq!(entries.iter().map(|entry| entry.number).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_mark_of_utf8_in_front_is_no_part_of_a_key() {
        for (format, key, text) in [
            (FileFormat::Lines, vec![], "\u{feff}k1\nk2\n"),
            (FileFormat::Ndjson, vec!["/id"], "\u{feff}{\"id\":\"k1\"}\n{\"id\":\"k2\"}\n"),
            (FileFormat::Csv, vec!["id"], "\u{feff}id\nk1\nk2\n"),
        ] {
            let entries = read(text.as_bytes(), &fields(format, Header::Names, &key)).unwrap();
            let found: Vec<_> = keys(&entries).into_iter().map(|(_, key)| key).collect();
            assert_eq!(found, ["k1", "k2"], "{format:?}");
        }
    }

    #[test]
    fn a_quotation_mark_that_takes_the_rest_of_the_list_is_told() {
        let csv = fields(FileFormat::Csv, Header::Names, &["id"]);
        let error = read(b"id\na\n\"b\n c\nd\n", &csv).unwrap_err();
        assert!(error.contains("on line 3: it takes the last"), "{error}");
        for (torn, line) in [("id,note\na,x\n", 3), ("id,note\n", 2)] {
            let torn = format!("{torn}b,\"5 inch\nc,y\nd,\"6\" inch\ne,z\n");
            let error = read(torn.as_bytes(), &csv).unwrap_err();
            assert!(error.contains(&format!("begins on line {line} is closed on a later line")), "{error}");
        }
        for last in ["\"b\n", "\"b", "x,\"b\"\"\n"] {
            let error = read(format!("id\na\n{last}").as_bytes(), &csv).unwrap_err();
            assert!(error.contains("on line 3: it takes the last line"), "{error}");
        }
        // What is well quoted may have any number of lines, and what is torn in one line takes no other.
        let whole = "\u{feff}\"id\",note\r\na,\"x \"\"y\"\"\r\nz\"\r\n\"b\" c,\"\"\n\"\"\"d\",\"5\"\"\"\n";
        let found: Vec<_> =
            keys(&read(whole.as_bytes(), &csv).unwrap()).into_iter().map(|(_, key)| key).collect();
        assert_eq!(found, ["a", "b c", "\"d"]);
        let unclosed = read(b"\"id\",\"note\na,1\n", &csv).unwrap_err();
        assert!(unclosed.contains("not closed in the names of the columns"), "{unclosed}");
        let names = read(b"id,\"a\" b\n\n\nx,\"1\n2\"\n\n\n\"y\"z,3\n", &csv).unwrap();
        let names: Vec<_> = keys(&names).into_iter().map(|(_, key)| key).collect();
        assert_eq!(names, ["x", "yz"]);
        // An inch is no quotation, and a cell may end the list with a line end of its own.
        assert_eq!(keys(&read(b"id\n5\" pipe\nb\n", &csv).unwrap()).len(), 2);
        assert_eq!(keys(&read(b"id\na\n\"b\n c\"\n", &csv).unwrap()).len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_without_a_writer_is_refused_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("list.csv");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (done, finished) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let fields = fields(FileFormat::Csv, Header::Names, &["id"]);
            let refused = Entries::open(&pipe, &fields).err().map(|error| error.to_string());
            let _ = done.send(refused);
        });
        let refused = finished.recv_timeout(std::time::Duration::from_secs(20)).unwrap().unwrap();
        assert!(refused.contains("no regular file"), "{refused}");
    }

    #[test]
    fn a_return_in_quotation_marks_is_the_cells_own() {
        let csv = fields(FileFormat::Csv, Header::Names, &["id"]);
        // Whatever stands at the border of what is read at once.
        for shorter in 0..40 {
            let filling = "f".repeat((8 << 10) - shorter);
            for end in ["\n", "\r\n", ""] {
                let text = format!("n,id\r\n{filling},\"a\r\"\n1,\"b\"\r\n2,c\r\n3,\"d\"\"\r\"{end}");
                let found = keys(&read(text.as_bytes(), &csv).unwrap());
                let found: Vec<_> = found.iter().map(|(line, key)| (*line, key.as_str())).collect();
                assert_eq!(found, [(2, "a\r"), (3, "b"), (4, "c"), (5, "d\"\r")], "{end:?}");
            }
        }
    }

    #[test]
    fn what_is_written_in_another_way_is_no_list_of_missing_keys() {
        let utf16 = |text: &str| -> Vec<u8> {
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
        };
        let (lines, csv) =
            (fields(FileFormat::Lines, Header::Names, &[]), fields(FileFormat::Csv, Header::Names, &["id"]));
        for (fields, text) in [(&lines, "a\nb\n"), (&csv, "id\na\n")] {
            let error = read(&utf16(text), fields).unwrap_err();
            assert!(error.contains("UTF-16"), "{error}");
            let error = read(text.replace('\n', "\r").as_bytes(), fields).unwrap_err();
            assert!(error.contains("returns alone"), "{error}");
        }
        // A key is bytes, and one line has one end.
        assert_eq!(read(b"\xff\xfekey\r\n", &lines).unwrap().len(), 1);
        let columns: Vec<String> = (0..500).map(|number| format!("column {number}")).collect();
        let error = read(columns.join(",").as_bytes(), &csv).unwrap_err();
        assert!(error.ends_with("\"column 11\"] and 488 more"), "{error}");
    }

    #[test]
    fn lines_are_bytes() {
        let entries = read(b"a\r\n\n\xff b \nlast", &fields(FileFormat::Lines, Header::Names, &[])).unwrap();
        let found: Vec<_> = entries.iter().map(|entry| entry.key[0].clone().unwrap()).collect();
        assert_eq!(found, [b"a".to_vec(), b"\xff b ".to_vec(), b"last".to_vec()]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let csv = fields(FileFormat::Csv, Header::Names, &["id"]);
        assert!(
            read(b"key\na\n", &csv).unwrap_err().contains("no column is called \"id\"; there are [\"key\"]")
        );
        assert!(read(b"id,id\na,b\n", &csv).unwrap_err().contains("two columns"));
        let json = fields(FileFormat::Ndjson, Header::Names, &["/id"]);
        let error = read(b"{\"id\":1}\n{\"id\":\n", &json).unwrap_err();
        assert!(error.contains("line 2"), "{error}");
        let mut timed = fields(FileFormat::Csv, Header::Names, &["id"]);
        timed.time = Some(Field::Name("t".to_owned()));
        for text in ["soon", "2026-03-29"] {
            let list = format!("id,t\na,{text}\n");
            assert!(read(list.as_bytes(), &timed).unwrap_err().contains("is no time"), "{text}");
        }
        timed.zone = TimeZone::get("Europe/Berlin").unwrap();
        let left_out = read(b"id,t\na,2026-03-29 02:30\n", &timed).unwrap_err();
        assert!(left_out.contains("leave this time out"), "{left_out}");
        assert!(Field::parse("0", FileFormat::Csv).is_err());
        assert!(Field::parse("id", FileFormat::Ndjson).is_err());
    }
}
