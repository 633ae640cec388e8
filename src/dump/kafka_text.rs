//! Bytes as the text that Kafka's dump tool prints.
//!
//! Kafka decodes keys and values with Java's `new String(bytes, UTF_8)`. Java and Rust replace the
//! same malformed bytes by U+FFFD with one exception: a surrogate in three bytes (`ED A0 80`) is
//! one replacement in Java, three in Rust.

use super::Audience;
use crate::report::escape::Terminal;

const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Appends bytes: as Java's decoder reads them, or spelled out for a terminal.
pub(super) fn push(out: &mut Vec<u8>, bytes: &[u8], audience: Audience) {
    if audience == Audience::Terminal {
        out.extend_from_slice(Terminal::bytes(bytes).shown().as_bytes());
        return;
    }
    let mut rest = bytes;
    while let Err(error) = std::str::from_utf8(rest) {
        let (valid, malformed) = rest.split_at(error.valid_up_to());
        out.extend_from_slice(valid);
        out.extend_from_slice(REPLACEMENT);
        let skip = match malformed {
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => 3,
            [0xed, 0xa0..=0xbf, ..] => 2,
            _ => error.error_len().unwrap_or(malformed.len()),
        };
        rest = malformed.get(skip..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// Appends text that holds other people's; for a terminal nothing in it can move the cursor.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str, audience: Audience) {
    push(out, text.as_bytes(), audience);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], audience: Audience) -> String {
        let mut out = Vec::new();
        push(&mut out, bytes, audience);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn malformed_bytes_are_replaced_as_java_does() {
        for (bytes, expected) in [
            (&b"order-1"[..], "order-1"),
            (&[0xff, b'a'], "\u{fffd}a"),
            (&[0xe3, 0x81], "\u{fffd}"),
            (&[0xe3, 0x81, b'a'], "\u{fffd}a"),
            (&[0xe0, 0x80, 0x80], "\u{fffd}\u{fffd}\u{fffd}"),
            (&[0xed, 0xa0, 0x80, b'a'], "\u{fffd}a"),
            (&[0xed, 0xa0, b'a'], "\u{fffd}a"),
            (&[0xed, 0xa0], "\u{fffd}"),
            (&[0xf4, 0x90, 0x80, 0x80], "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            (&[0xf0, 0x9f, 0xa7], "\u{fffd}"),
            (&[0xc0, 0x80], "\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(text(bytes, Audience::Pipe), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_terminal_gets_no_control_characters() {
        let hostile = "a\x1b[2J\u{9b}\u{202e}\r\nb".as_bytes();
        let shown = text(hostile, Audience::Terminal);
        assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown:?}");
        assert_eq!(text(hostile, Audience::Pipe).as_bytes(), hostile);
    }
}
