//! Finds a member of a document as nearly all are written, in one pass and without building anything.
//!
//! Takes only what surely is JSON and surely means the same to a parser; of everything else it says
//! that it does not know, and the parser decides. So it tells no errors, and reads no texts that are
//! escaped where what they say matters.

use super::{JsonPointer, Member};
use std::borrow::Cow;

/// One in each of eight bytes.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each of eight bytes.
const HIGH: u64 = 0x8080_8080_8080_8080;
/// Deeper documents are left to the parser.
const DEEPEST: u32 = 64;

/// The member that `tokens` point to; the outer `None` where the parser has to be asked.
#[expect(clippy::option_option, reason = "the outer one is a question to the parser")]
pub(super) fn member<'a>(document: &'a [u8], tokens: &[String]) -> Option<Option<Member<'a>>> {
    let mut scan = Scan { document, at: 0 };
    scan.skip_space();
    let found = scan.follow(tokens, DEEPEST)?;
    scan.skip_space();
    if scan.at < document.len() {
        return None;
    }
    let Some((start, end)) = found else { return Some(None) };
    let raw = std::str::from_utf8(document.get(start..end)?).ok()?;
    match raw.as_bytes() {
        b"null" => Some(None),
        [b'"', text @ .., b'"'] => {
            if text.contains(&b'\\') {
                return None;
            }
            let text = raw.get(1..raw.len().checked_sub(1)?)?;
            Some(Some(Member::Text(Cow::Borrowed(text))))
        }
        _ => Some(Some(Member::Other(raw))),
    }
}

/// Writes an object to `out` without the members at `pointers`, as [`super::strip`] does; `false` where
/// the parser has to be asked, and then `out` holds nothing to be used.
pub(super) fn without(document: &[u8], pointers: &[&[String]], out: &mut Vec<u8>) -> bool {
    if pointers.is_empty() {
        return false;
    }
    let mut scan = Scan { document, at: 0 };
    scan.skip_space();
    let Some(()) = scan.copy_object(pointers, out) else { return false };
    scan.skip_space();
    scan.at == document.len()
}

/// Hands every scalar member of an object or array to `each`, as [`super::scalars`] does; `None`, and
/// nothing is handed out, where the parser has to be asked.
pub(super) fn scalars(text: &str, mut limit: usize, each: &mut dyn FnMut(&JsonPointer, &str)) -> Option<()> {
    let mut scan = Scan { document: text.as_bytes(), at: 0 };
    scan.skip_space();
    let start = scan.at;
    if !matches!(scan.peek()?, b'{' | b'[') {
        return None;
    }
    scan.skip_value(DEEPEST)?;
    scan.skip_space();
    if scan.at < text.len() {
        return None;
    }
    scan.at = start;
    scan.hand_out(text, &mut JsonPointer::root(), &mut limit, each)
}

/// Where a value stands.
type Place = (usize, usize);

struct Scan<'a> {
    document: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.document.get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes a byte that has to be there, and space around it.
    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        self.skip_space();
        Some(())
    }

    /// Takes the value here, and finds in it what the tokens point to.
    #[expect(clippy::option_option, reason = "the outer one is a question to the parser")]
    fn follow(&mut self, tokens: &[String], depth: u32) -> Option<Option<Place>> {
        let Some((token, rest)) = tokens.split_first() else {
            let start = self.at;
            self.skip_value(depth)?;
            return Some(Some((start, self.at)));
        };
        let depth = depth.checked_sub(1)?;
        let mut found = None;
        match self.peek()? {
            b'{' => {
                let mut goes_on = self.opens(b'}')?;
                while goes_on {
                    let name = self.name()?;
                    self.take(b':')?;
                    if name == token.as_bytes() {
                        // Of names that repeat the last counts.
                        found = self.follow(rest, depth)?;
                    } else {
                        self.skip_value(depth)?;
                    }
                    goes_on = self.goes_on(b'}')?;
                }
            }
            b'[' => {
                let wanted = token.parse::<usize>().ok();
                let mut goes_on = self.opens(b']')?;
                let mut at = 0;
                while goes_on {
                    if Some(at) == wanted {
                        found = self.follow(rest, depth)?;
                    } else {
                        self.skip_value(depth)?;
                    }
                    goes_on = self.goes_on(b']')?;
                    at += 1;
                }
            }
            // The parser takes a scalar apart to see that nothing is in it.
            _ => return None,
        }
        Some(found)
    }

    /// Takes an object, and writes it without the members that the pointers lead to.
    fn copy_object(&mut self, pointers: &[&[String]], out: &mut Vec<u8>) -> Option<()> {
        if self.peek()? != b'{' {
            return None;
        }
        out.push(b'{');
        let mut goes_on = self.opens(b'}')?;
        while goes_on {
            let name = self.name()?;
            self.take(b':')?;
            let leads = |pointer: &&&[String]| pointer.first().is_some_and(|token| token.as_bytes() == name);
            let mut leading = pointers.iter().filter(leads);
            let start = self.at;
            self.skip_value(DEEPEST)?;
            match leading.next() {
                None => {
                    out.extend_from_slice(&u64::try_from(name.len()).unwrap_or(u64::MAX).to_le_bytes());
                    out.extend_from_slice(name);
                    out.extend_from_slice(self.document.get(start..self.at)?);
                }
                Some([_]) => {}
                // Members of members are rare.
                Some(_) => return None,
            }
            goes_on = self.goes_on(b'}')?;
        }
        out.push(b'}');
        Some(())
    }

    /// Takes a value that is known to be one, and hands out the scalars in it.
    fn hand_out(
        &mut self,
        text: &str,
        at: &mut JsonPointer,
        left: &mut usize,
        each: &mut dyn FnMut(&JsonPointer, &str),
    ) -> Option<()> {
        if at.tokens.len() > super::DEEPEST {
            return self.skip_value(DEEPEST);
        }
        match self.peek()? {
            b'{' => {
                let mut goes_on = self.opens(b'}')?;
                while goes_on {
                    let name = std::str::from_utf8(self.name()?).ok()?;
                    self.take(b':')?;
                    at.tokens.push(name.to_owned());
                    self.hand_out(text, at, left, each)?;
                    at.tokens.pop();
                    goes_on = self.goes_on(b'}')?;
                }
            }
            b'[' if !at.tokens.is_empty()
                && let Some((_, length)) = text.get(self.at..).and_then(super::time_array) =>
            {
                super::hand_out(text.get(self.at..self.at + length)?, at, left, each);
                self.at += length;
            }
            b'[' => {
                let mut goes_on = self.opens(b']')?;
                let mut index = 0;
                while goes_on {
                    at.tokens.push(index.to_string());
                    self.hand_out(text, at, left, each)?;
                    at.tokens.pop();
                    goes_on = self.goes_on(b']')?;
                    index += 1;
                }
            }
            _ => {
                let start = self.at;
                self.skip_value(DEEPEST)?;
                if *left > 0 {
                    *left -= 1;
                    each(at, text.get(start..self.at)?);
                }
            }
        }
        Some(())
    }

    /// Takes a value of any kind.
    fn skip_value(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_text(),
            b'-' | b'0'..=b'9' => self.skip_number(),
            b't' => self.skip_word(b"true"),
            b'f' => self.skip_word(b"false"),
            b'n' => self.skip_word(b"null"),
            b'{' => {
                let depth = depth.checked_sub(1)?;
                let mut goes_on = self.opens(b'}')?;
                while goes_on {
                    self.name()?;
                    self.take(b':')?;
                    self.skip_value(depth)?;
                    goes_on = self.goes_on(b'}')?;
                }
                Some(())
            }
            b'[' => {
                let depth = depth.checked_sub(1)?;
                let mut goes_on = self.opens(b']')?;
                while goes_on {
                    self.skip_value(depth)?;
                    goes_on = self.goes_on(b']')?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// Behind an opening bracket: whether something stands in it.
    #[inline]
    fn opens(&mut self, close: u8) -> Option<bool> {
        self.at += 1;
        self.skip_space();
        let is_empty = self.peek()? == close;
        self.at += usize::from(is_empty);
        Some(!is_empty)
    }

    /// Behind a value in brackets: whether another one follows.
    #[inline]
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        self.skip_space();
        let next = self.peek()?;
        self.at += 1;
        if next == b',' {
            self.skip_space();
            return Some(true);
        }
        (next == close).then_some(false)
    }

    /// Takes a name of which every byte is what it says.
    #[inline]
    fn name(&mut self) -> Option<&'a [u8]> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at + 1;
        let end = self.special(start, HIGH)?;
        if self.document.get(end) != Some(&b'"') {
            return None;
        }
        self.at = end + 1;
        self.document.get(start..end)
    }

    /// Takes a text. Bytes of it that are no UTF-8 do not matter unless it is the key.
    #[inline]
    fn skip_text(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at = self.special(self.at, 0)?;
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.skip_escape()?,
                _ => return None,
            }
        }
    }

    fn skip_escape(&mut self) -> Option<()> {
        match self.document.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' => {
                let digits = self.document.get(self.at + 2..self.at + 6)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                self.at += 6;
            }
            _ => return None,
        }
        Some(())
    }

    /// Where the next quote, backslash or control character stands, from a place on, or the next byte with
    /// one of these bits.
    #[inline]
    fn special(&self, mut at: usize, bits: u64) -> Option<usize> {
        // Eight bytes at once: a byte below another one borrows when that is taken from it. What is set
        // above the first such byte means nothing.
        let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH;
        while let Some(bytes) = self.document.get(at..)?.first_chunk::<8>() {
            let word = u64::from_le_bytes(*bytes);
            let quotes = below(word ^ (ONES * u64::from(b'"')), 1);
            let slashes = below(word ^ (ONES * u64::from(b'\\')), 1);
            let found = quotes | slashes | below(word, 0x20) | (word & bits);
            if found != 0 {
                let byte = found.trailing_zeros() / 8;
                return Some(at + usize::try_from(byte).unwrap_or(0));
            }
            at += 8;
        }
        let rest = self.document.get(at..)?;
        let other = bits != 0;
        let is_special = |&byte: &u8| byte == b'"' || byte == b'\\' || byte < 0x20 || (other && byte >= 0x80);
        Some(at + rest.iter().position(is_special)?)
    }

    #[inline]
    fn skip_number(&mut self) -> Option<()> {
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.skip_digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.skip_digits()?;
        }
        Some(())
    }

    #[inline]
    fn skip_digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    #[inline]
    fn skip_word(&mut self, word: &[u8]) -> Option<()> {
        let end = self.at + word.len();
        if self.document.get(self.at..end)? != word {
            return None;
        }
        self.at = end;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::both_ways_agree;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn documents_as_nearly_all_are_need_no_parser() {
        let document =
            br#"{"b":"x\"\u00e9\n","n":[1.5e-3,-0,{"a":"no"}],"a":"yes","t":true,"z":null,"o":{},"l":[]}"#;
        let at = |pointer: &str| {
            let pointer: JsonPointer = pointer.parse().unwrap();
            member(document, pointer.tokens())
        };
        assert_eq!(at("/a"), Some(Some(Member::Text(Cow::Borrowed("yes")))));
        assert_eq!(at("/n/2/a"), Some(Some(Member::Text(Cow::Borrowed("no")))));
        assert_eq!(at("/n/0"), Some(Some(Member::Other("1.5e-3"))));
        assert_eq!(at("/o"), Some(Some(Member::Other("{}"))));
        assert_eq!(at("/z"), Some(None));
        assert_eq!(at("/none"), Some(None));
        // What needs decoding, or what a parser takes apart.
        assert_eq!(at("/b"), None);
        assert_eq!(at("/a/deeper"), None);
    }

    const PIECES: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"a\"",
        b"\"a\":",
        b"\"b\":",
        b"\"\\u0061\":",
        b"\"\\ud800\"",
        b"\"x\\ny\"",
        b"\"\xff\"",
        b"\"\xc3\xa9 and more than eight\"",
        b"\"tab\t\"",
        b"\"\\x\"",
        b"\"cut",
        b"1",
        b"-0.5e+7",
        b"01",
        b"1.",
        b"-",
        b"1e400",
        b"true",
        b"nul",
        b"null",
        b" ",
        b"\n",
        b"\x0b",
        b"{\"a\":1}",
        b"[0,\"a\"]",
        b"{}",
        b"[]",
    ];

    /// Pieces of documents, whole and broken, in any order.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = proptest::sample::select(PIECES);
        proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
    }

    fn documents() -> impl Strategy<Value = Vec<u8>> {
        let scalar = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("-12.50E3".to_owned()),
            Just("1e999".to_owned()),
            any::<i64>().prop_map(|number| number.to_string()),
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
            "[a-z \\\\\"]{0,20}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        ];
        let value = scalar.prop_recursive(4, 40, 6, |inner| {
            let name = prop_oneof![Just("a".to_owned()), Just("b".to_owned()), any::<String>()];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5)
                    .prop_map(|all| format!("[{}]", all.join(" , "))),
                proptest::collection::vec((name, inner), 0..6).prop_map(|members| {
                    let member = |(name, value): &(String, String)| {
                        format!("{}: {value}", serde_json::to_string(name).unwrap())
                    };
                    format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
                }),
            ]
        });
        value.prop_map(String::into_bytes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn it_reads_what_the_parser_reads(
            document in prop_oneof![pieces(), documents()],
            pointers in proptest::sample::subsequence(vec!["/a", "/b", "/a/a", "/a/b", "/b/a", "/0", "/a/1", "/b/0/a"], 1..4),
            limit in 0_usize..20,
        ) {
            let pointers: Vec<JsonPointer> = pointers.iter().map(|name| name.parse().unwrap()).collect();
            both_ways_agree(&document, &pointers, limit);
        }
    }
}
