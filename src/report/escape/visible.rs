//! Which characters can be shown as they are, and how the others are spelled.
//!
//! Shown as they are: what Unicode calls printable, but not what is printable by category and yet
//! leaves no mark (fillers, variation selectors, blank Braille), and no long stacks of combining
//! marks. Everything else is spelled out; see the [module above](super).

use std::fmt::Write as _;
use unicode_width::UnicodeWidthChar as _;

/// Combining marks on one base character that are shown; more is ink over the neighbours' lines.
const MARKS: usize = 3;

/// A character, or a byte that is no part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Char(char),
    Byte(u8),
}

/// The characters of `bytes`, and the bytes between them that are none.
pub(super) fn units(bytes: &[u8]) -> impl Iterator<Item = Unit> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let characters = chunk.valid().chars().map(Unit::Char);
        characters.chain(chunk.invalid().iter().copied().map(Unit::Byte))
    })
}

/// Spells one unit after the other; the caller stops whenever it has enough.
pub(super) struct Spelling<I: Iterator<Item = Unit>> {
    units: std::iter::Peekable<I>,
    marks: usize,
    any_base: bool,
}

/// One unit as it is shown, and how many columns that takes.
pub(super) struct Spelled {
    pub(super) text: String,
    pub(super) width: usize,
}

impl<I: Iterator<Item = Unit>> Spelling<I> {
    pub(super) fn new(units: I) -> Self {
        Self { units: units.peekable(), marks: 0, any_base: false }
    }

    fn spell_char(&mut self, character: char) -> Spelled {
        if character == '\\' {
            return self.spell_backslash();
        }
        if is_visible(character) {
            let width = character.width().unwrap_or(0);
            self.marks = if width == 0 { self.marks.saturating_add(1) } else { 0 };
            if width > 0 || (self.any_base && self.marks <= MARKS) {
                self.any_base = true;
                return Spelled { text: character.to_string(), width };
            }
        }
        self.any_base = false;
        escaped(Unit::Char(character))
    }

    /// A backslash stands for itself unless what follows would make it read as an escape.
    fn spell_backslash(&mut self) -> Spelled {
        self.marks = 0;
        self.any_base = true;
        let ambiguous = match self.units.peek() {
            Some(&Unit::Char(next)) => {
                matches!(next, '\\' | 'n' | 't' | 'r' | '0' | 'x' | 'u') || !is_visible(next)
            }
            Some(Unit::Byte(_)) => true,
            None => false,
        };
        let text = if ambiguous { "\\\\" } else { "\\" };
        Spelled { text: text.to_owned(), width: text.len() }
    }
}

impl<I: Iterator<Item = Unit>> Iterator for Spelling<I> {
    type Item = Spelled;

    fn next(&mut self) -> Option<Spelled> {
        Some(match self.units.next()? {
            Unit::Char(character) => self.spell_char(character),
            byte @ Unit::Byte(_) => {
                self.any_base = false;
                escaped(byte)
            }
        })
    }
}

fn escaped(unit: Unit) -> Spelled {
    let mut text = String::new();
    let written = match unit {
        Unit::Char('\n') => text.write_str("\\n"),
        Unit::Char('\t') => text.write_str("\\t"),
        Unit::Char('\r') => text.write_str("\\r"),
        Unit::Char('\0') => text.write_str("\\0"),
        Unit::Char(character) if character.is_ascii() => write!(text, "\\x{:02x}", u32::from(character)),
        Unit::Char(character) => write!(text, "\\u{{{:x}}}", u32::from(character)),
        Unit::Byte(byte) => write!(text, "\\x{byte:02x}"),
    };
    debug_assert!(written.is_ok(), "a String takes everything");
    Spelled { width: text.len(), text }
}

/// Whether a character leaves a mark of its own, or on the one before it.
fn is_visible(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    !leaves_no_mark(character) && is_printable(character)
}

/// Unicode's word on it, by way of the standard library's tables: no control, format, unassigned
/// or private character, no space but the ordinary one.
fn is_printable(character: char) -> bool {
    // Behind a base character a combining mark is printed as it is, alone it is not.
    let mut buffer = [b'a'; 5];
    let length = 1 + character.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..length]).is_ok_and(|pair| pair.escape_debug().count() == 2)
}

/// Letters, marks and symbols that are printable by category and yet cannot be seen
/// (`Default_Ignorable_Code_Point`, and the blank Braille pattern).
const fn leaves_no_mark(character: char) -> bool {
    matches!(
        character,
        '\u{034f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(bytes: &[u8]) -> String {
        Spelling::new(units(bytes)).map(|spelled| spelled.text).collect()
    }

    #[test]
    fn ordinary_text_of_any_language_stays_as_it_is() {
        for text in ["order-41", "Müller", "注文", "заказ", "طلب", "e\u{301}", "🙂", "regex:\\d+", "a\\"]
        {
            assert_eq!(spell(text.as_bytes()), text);
        }
    }

    #[test]
    fn controls_and_invisible_characters_are_spelled_out() {
        assert_eq!(spell(b"\x1b]0;x\x07"), "\\x1b]0;x\\x07");
        assert_eq!(spell("\u{9b}31m".as_bytes()), "\\u{9b}31m");
        assert_eq!(spell("a\u{202e}b\u{2066}c".as_bytes()), "a\\u{202e}b\\u{2066}c");
        assert_eq!(spell("a\u{200b}\u{feff}\u{ad}".as_bytes()), "a\\u{200b}\\u{feff}\\u{ad}");
        assert_eq!(spell("\u{3164}\u{fe0f}\u{e0041}".as_bytes()), "\\u{3164}\\u{fe0f}\\u{e0041}");
        assert_eq!(spell("a\u{a0}b\u{2028}".as_bytes()), "a\\u{a0}b\\u{2028}");
        assert_eq!(spell(b"\n\t\r\0\x7f"), "\\n\\t\\r\\0\\x7f");
    }

    #[test]
    fn bytes_that_are_no_text_are_told_from_characters() {
        assert_eq!(spell(b"a\xff\x9b"), "a\\xff\\x9b");
        assert_eq!(spell("\u{ff}".as_bytes()), "\u{ff}");
        assert_eq!(spell(b"\xe2\x80"), "\\xe2\\x80");
    }

    #[test]
    fn different_keys_never_look_the_same() {
        assert_eq!(spell(b"\\n"), "\\\\n");
        assert_eq!(spell(b"\n"), "\\n");
        assert_eq!(spell(b"\\\n"), "\\\\\\n");
        assert_eq!(spell(b"\\\\n"), "\\\\\\\\n");
        assert_eq!(spell(b"\\\xff"), "\\\\\\xff");
    }

    #[test]
    fn a_stack_of_marks_does_not_reach_the_next_line() {
        let stack = format!("a{}", "\u{301}".repeat(50));
        let shown = spell(stack.as_bytes());
        assert_eq!(shown.matches('\u{301}').count(), MARKS);
        assert_eq!(spell("\u{301}".as_bytes()), "\\u{301}");
    }
}
