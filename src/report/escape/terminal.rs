//! Foreign text in a terminal: escaped, and cut where a line must not grow.

use super::visible::{Spelling, units};
use std::borrow::Cow;
use std::fmt;
use unicode_width::UnicodeWidthChar as _;

/// Foreign bytes on their way to a terminal.
///
/// Printing it never emits a control, format or other invisible character, and no newline.
///
/// ```
/// use dedup_audit::report::escape::Terminal;
///
/// assert_eq!(Terminal::text("a\u{1b}[2Jb").to_string(), "a\\x1b[2Jb");
/// assert_eq!(Terminal::bytes(b"order-1\xff").to_string(), "order-1\\xff");
/// assert_eq!(Terminal::text("order-41-of-many").cut(8).to_string(), "order-4…");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Terminal<'a> {
    bytes: &'a [u8],
    columns: usize,
}

impl<'a> Terminal<'a> {
    /// Text, in full.
    #[must_use]
    pub const fn text(text: &'a str) -> Self {
        Self::bytes(text.as_bytes())
    }

    /// Bytes that may or may not be text, in full.
    #[must_use]
    pub const fn bytes(bytes: &'a [u8]) -> Self {
        Self { bytes, columns: usize::MAX }
    }

    /// At most so many columns, with an ellipsis where something was cut off. An escape is never
    /// cut in two, nor a mark from its letter. Costs as much as is shown, not as much as there is.
    #[must_use]
    pub const fn cut(self, columns: usize) -> Self {
        Self { bytes: self.bytes, columns }
    }

    /// The text to print; borrowed where nothing had to be changed.
    #[must_use]
    pub fn shown(self) -> Cow<'a, str> {
        let harmless = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'\\';
        if self.bytes.len() <= self.columns
            && self.bytes.iter().all(harmless)
            && let Ok(text) = std::str::from_utf8(self.bytes)
        {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.spelled())
    }

    fn spelled(self) -> String {
        let mut shown = String::new();
        let mut used = 0_usize;
        // Up to here one column is free, so that an ellipsis fits.
        let mut cut = 0;
        for spelled in Spelling::new(units(self.bytes)) {
            used = used.saturating_add(spelled.width);
            if used > self.columns {
                shown.truncate(cut);
                if self.columns > 0 {
                    shown.push('…');
                }
                return shown;
            }
            shown.push_str(&spelled.text);
            if used < self.columns {
                cut = shown.len();
            }
        }
        shown
    }
}

impl<'a> From<&'a str> for Terminal<'a> {
    fn from(text: &'a str) -> Self {
        Self::text(text)
    }
}

impl fmt::Display for Terminal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// Columns that shown text takes, character by character.
#[must_use]
pub fn width(shown: &str) -> usize {
    shown.chars().map(|character| character.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cut_keeps_whole_characters_and_whole_escapes() {
        assert_eq!(Terminal::text("注文注文").cut(5).to_string(), "注文…");
        assert_eq!(Terminal::text("注文注文").cut(4).to_string(), "注…");
        assert_eq!(Terminal::text("ab\u{202e}cd").cut(6).to_string(), "ab…");
        assert_eq!(Terminal::text("exact").cut(5).to_string(), "exact");
        assert_eq!(Terminal::text("exactly").cut(1).to_string(), "…");
        assert_eq!(Terminal::text("exactly").cut(0).to_string(), "");
        assert_eq!(Terminal::text("e\u{301}e\u{301}").cut(2).to_string(), "e\u{301}e\u{301}");
        assert_eq!(Terminal::text("").cut(0).to_string(), "");
    }

    #[test]
    fn a_key_of_a_megabyte_is_cut_without_reading_it_all() {
        let key = "\u{1b}".repeat(1 << 20);
        assert_eq!(Terminal::text(&key).cut(9).to_string(), "\\x1b\\x1b…");
    }

    proptest! {
        #[test]
        fn nothing_invisible_gets_through_and_no_line_grows(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            text in "\\PC{0,8}\\p{Cc}{0,3}\\p{Cf}{0,3}\\p{M}{0,6}\\p{Z}{0,3}",
            columns in 0_usize..50,
        ) {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let shown = Terminal::bytes(bytes).cut(columns).to_string();
                prop_assert!(width(&shown) <= columns);
                prop_assert!(!shown.chars().any(|c| c.is_control() || (c.is_whitespace() && c != ' ')));
                let full = Terminal::bytes(bytes).to_string();
                let hidden = full.contains(['\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}']);
                prop_assert!(!hidden);
            }
        }

        #[test]
        fn different_bytes_look_different(
            a in prop::collection::vec(prop::sample::select(b"\\nxu0\n\xff\x1b1bf{}".to_vec()), 0..6),
            b in prop::collection::vec(prop::sample::select(b"\\nxu0\n\xff\x1b1bf{}".to_vec()), 0..6),
        ) {
            prop_assume!(a != b);
            prop_assert_ne!(Terminal::bytes(&a).to_string(), Terminal::bytes(&b).to_string());
        }
    }
}
