//! Lines for a terminal: wrapped by columns, never by bytes.
//!
//! A no-break space holds words together and is written as a space; foreign text has none, because
//! escaping spells it out. Foreign text is escaped by whoever puts it on a [`Page`] (see [`super::escape`]). Should
//! something have been forgotten, the page still lets no control character through.

use super::escape::{self, Terminal};
use std::borrow::Cow;
use std::io::{self, Write};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Holds two words on one line.
pub const NO_BREAK: char = '\u{a0}';

/// How many columns a line may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width(usize);

impl Width {
    /// Lines shorter than this hold nothing but broken words; the terminal may break them itself.
    const LEAST: usize = 40;
    /// Nobody follows a line longer than this.
    const MOST: usize = 300;

    /// Any number of columns, brought within reason.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self(columns.clamp(Self::LEAST, Self::MOST))
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
        Self(80)
    }
}

/// Lines that are collected and then written at once.
#[derive(Debug)]
pub struct Page {
    width: Width,
    lines: Vec<String>,
}

impl Page {
    /// An empty page.
    #[must_use]
    pub const fn new(width: Width) -> Self {
        Self { width, lines: Vec::new() }
    }

    /// The columns of the page.
    #[must_use]
    pub const fn width(&self) -> Width {
        self.width
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

    /// Writes the page.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.lines {
            writeln!(out, "{line}")?;
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
    fn a_terminal_of_one_column_and_one_of_a_million_have_lines_too() {
        assert_eq!(Width::new(1).columns(), 40);
        assert_eq!(Width::new(usize::MAX).columns(), 300);
        assert!(page(0, |page| page.hanging(500, "label", "text")).contains("text"));
    }
}
