//! Lines for a terminal: wrapped by columns, never by bytes.
//!
//! A no-break space holds words together and is written as a space; foreign text has none, because
//! escaping spells it out. Foreign text is escaped by whoever puts it on a [`Page`] (see [`super::escape`]). Should
//! something have been forgotten, the page still lets no control character through.

use super::escape::{self, Terminal};
use super::wording::Zone;
use std::borrow::Cow;
use std::io::{self, Write};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Holds two words on one line.
pub const NO_BREAK: char = '\u{a0}';

/// How many columns a line may have, and whether it may have colours: what is known of the place where a
/// page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width(usize, Paint);

impl Width {
    /// Lines shorter than this hold nothing but broken words; the terminal may break them itself.
    const LEAST: usize = 40;
    /// Nobody follows a line longer than this.
    const MOST: usize = 300;

    /// Any number of columns, brought within reason.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self(columns.clamp(Self::LEAST, Self::MOST), Paint::Plain)
    }

    /// The same with colours, or without.
    #[must_use]
    pub const fn painted(self, paint: Paint) -> Self {
        Self(self.0, paint)
    }

    /// The number of columns.
    #[must_use]
    pub const fn columns(self) -> usize {
        self.0
    }
}

impl Default for Width {
    /// For pipes and files, and where the terminal does not say.
    fn default() -> Self {
        Self(80, Paint::Plain)
    }
}

/// Whether a page is written with colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// Text alone.
    #[default]
    Plain,
    /// With the codes that terminals know.
    Ansi,
}

/// What the first bytes of a line are, for a reader that sees colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accent {
    /// What to read first.
    Strong,
    /// Bad news.
    Bad,
    /// News that matter.
    Warning,
    /// News.
    Notice,
    /// What is in order.
    Quiet,
}

impl Accent {
    const fn code(self) -> &'static str {
        match self {
            Self::Strong => "\x1b[1m",
            Self::Bad => "\x1b[1;31m",
            Self::Warning => "\x1b[1;33m",
            Self::Notice => "\x1b[36m",
            Self::Quiet => "\x1b[2m",
        }
    }
}

/// Lines that are collected and then written at once.
#[derive(Debug)]
pub struct Page {
    width: Width,
    lines: Vec<String>,
    /// The line, how many of its first bytes, and how.
    accents: Vec<(usize, usize, Accent)>,
    zone: Zone,
}

impl Page {
    /// An empty page.
    #[must_use]
    pub fn new(width: Width) -> Self {
        Self { width, lines: Vec::new(), accents: Vec::new(), zone: Zone::default() }
    }

    /// The same, with times in a zone.
    #[must_use]
    pub fn in_zone(self, zone: Zone) -> Self {
        Self { zone, ..self }
    }

    /// The zone of its times.
    #[must_use]
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The columns of the page.
    #[must_use]
    pub const fn width(&self) -> Width {
        self.width
    }

    /// How many lines there are.
    #[must_use]
    pub const fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Marks the lines from `first` on to the end of the page.
    pub fn mark_lines(&mut self, first: usize, accent: Accent) {
        for at in first..self.lines.len() {
            self.mark(at, usize::MAX, accent);
        }
    }

    /// Marks the first `bytes` bytes of a line.
    pub fn mark(&mut self, line: usize, bytes: usize, accent: Accent) {
        let bytes = self.lines.get(line).map_or(0, |text| bytes.min(text.len()));
        if bytes > 0 {
            self.accents.push((line, bytes, accent));
        }
    }

    /// An empty line, unless the page begins or the line before is one already.
    pub fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// Wrapped text, indented.
    pub fn paragraph(&mut self, indent: usize, text: &str) {
        self.wrapped(indent, indent, text);
    }

    /// One of several statements: lines after the first are further in, so that each can be seen.
    pub fn item(&mut self, indent: usize, text: &str) {
        self.wrapped(indent, indent.saturating_add(2), text);
    }

    /// A label and wrapped text behind it; lines after the first begin under the text, or, where the
    /// label takes half of the page, a little further in than the label.
    pub fn hanging(&mut self, indent: usize, label: &str, text: &str) {
        let label_end = indent.saturating_add(escape::width(label));
        let hang = if label_end > self.width.0 / 2 { indent.saturating_add(4) } else { label_end };
        self.wrapped(indent, hang, &format!("{label}{text}"));
    }

    fn wrapped(&mut self, first: usize, rest: usize, text: &str) {
        let most = self.width.0 / 2;
        let (first, rest) = (" ".repeat(first.min(most)), " ".repeat(rest.min(most)));
        let options = Options::new(self.width.0)
            .initial_indent(&first)
            .subsequent_indent(&rest)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        let text = guarded(text);
        let lines = textwrap::wrap(&text, options);
        self.lines.extend(lines.into_iter().map(|line| line.trim_end().replace(NO_BREAK, " ")));
    }

    /// Lines that are laid out already, such as those of a table.
    pub fn lines<'a>(&mut self, indent: usize, lines: impl IntoIterator<Item = &'a str>) {
        for line in lines {
            self.lines.push(format!("{}{}", " ".repeat(indent), guarded(line.trim_end())));
        }
    }

    /// Writes the page, with its accents where there are colours.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut accents = self.accents.iter().filter(|_| self.width.1 == Paint::Ansi).peekable();
        for (at, line) in self.lines.iter().enumerate() {
            match accents.next_if(|(line, ..)| *line == at) {
                Some(&(_, bytes, accent)) => {
                    let (marked, rest) = line.split_at_checked(bytes).unwrap_or((line, ""));
                    writeln!(out, "{}{marked}\x1b[0m{rest}", accent.code())?;
                }
                None => writeln!(out, "{line}")?,
            }
        }
        Ok(())
    }
}

/// The text as it is, or escaped if it holds what a terminal would obey.
fn guarded(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) { Terminal::text(text).shown() } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(columns: usize, fill: impl FnOnce(&mut Page)) -> String {
        let mut page = Page::new(Width::new(columns));
        fill(&mut page);
        let mut text = Vec::new();
        page.write(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn text_hangs_under_its_label() {
        let text = page(40, |page| {
            page.hanging(2, "Next: ", "keep the read position durable, or make it one transaction");
        });
        assert_eq!(text, "  Next: keep the read position durable,\n        or make it one transaction\n");
    }

    #[test]
    fn a_word_longer_than_the_line_is_broken_and_a_wide_one_counts_double() {
        let text = page(40, |page| page.paragraph(0, &"注".repeat(50)));
        assert!(text.lines().all(|line| escape::width(line) <= 40) && text.lines().count() == 3, "{text}");
    }

    #[test]
    fn keys_are_not_broken_at_their_hyphens() {
        let text = page(40, |page| page.paragraph(0, "thirty-five columns of text, and then order-41-a"));
        assert!(text.contains("order-41-a"), "{text}");
    }

    #[test]
    fn what_was_forgotten_is_still_not_let_through() {
        let text = page(80, |page| {
            page.hanging(0, "\x1b", "a\x1b[2Jb\nc");
            page.lines(0, ["x\x07y"]);
        });
        assert_eq!(text, "\\x1ba\\x1b[2Jb\\nc\nx\\x07y\n");
    }

    #[test]
    fn accents_are_codes_around_text_or_nothing() {
        let text = |paint| {
            let mut page = Page::new(Width::default().painted(paint));
            page.lines(0, ["HIGH  a", "plain", "é"]);
            page.mark(0, 4, Accent::Bad);
            page.mark_lines(2, Accent::Strong);
            let mut text = Vec::new();
            page.write(&mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(text(Paint::Plain), "HIGH  a\nplain\né\n");
        assert_eq!(text(Paint::Ansi), "\x1b[1;31mHIGH\x1b[0m  a\nplain\n\x1b[1mé\x1b[0m\n");
    }

    #[test]
    fn a_terminal_of_one_column_and_one_of_a_million_have_lines_too() {
        assert_eq!(Width::new(1).columns(), 40);
        assert_eq!(Width::new(usize::MAX).columns(), 300);
        assert!(page(0, |page| page.hanging(500, "label", "text")).contains("text"));
    }
}
