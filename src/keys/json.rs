//! Members of JSON documents by pointer, and documents without some of their members.
//!
//! Source of the pointer grammar: RFC 6901. Texts are decoded, everything else is taken as it is
//! written: `1.0` and `1` are different, and big numbers keep all their digits. Of names that
//! repeat in one object the last one counts, as in most parsers.

mod plain;

use super::Undecoded;
use memchr::memmem::Finder;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A place in a JSON document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonPointer {
    tokens: Vec<String>,
}

impl JsonPointer {
    /// The pointer to `token` in what `self` points to.
    #[must_use]
    pub fn child(&self, token: &str) -> Self {
        let mut tokens = self.tokens.clone();
        tokens.push(token.to_owned());
        Self { tokens }
    }

    /// The whole document.
    #[must_use]
    pub const fn root() -> Self {
        Self { tokens: Vec::new() }
    }

    /// The names and indexes from the root on.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }
}

impl FromStr for JsonPointer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(format!(
                "the JSON pointer {text:?} does not begin with /: write /{}",
                text.replace('.', "/")
            ));
        };
        Ok(Self {
            tokens: rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect(),
        })
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tokens.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

/// What a pointer found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member<'a> {
    /// A text, decoded.
    Text(Cow<'a, str>),
    /// Anything else but null, as it is written.
    Other(&'a str),
}

/// The member of `document` at `pointer`; `None` when it is not there or null.
///
/// # Errors
/// Why the member cannot be told.
pub fn member<'a>(document: &'a [u8], pointer: &JsonPointer) -> Result<Option<Member<'a>>, Undecoded> {
    if let Some(found) = plain::member(document, pointer.tokens()) {
        return Ok(found);
    }
    find(document, pointer).map_err(|error| Undecoded::of(document, &error))
}

fn find<'a>(document: &'a [u8], pointer: &JsonPointer) -> Result<Option<Member<'a>>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let raw = Walk(pointer.tokens()).deserialize(&mut deserializer)?;
    deserializer.end()?;
    raw.map_or(Ok(None), |raw| decode(raw.get()))
}

fn decode(raw: &str) -> Result<Option<Member<'_>>, serde_json::Error> {
    if raw == "null" {
        Ok(None)
    } else if raw.starts_with('"') {
        let Text(text) = serde_json::from_str(raw)?;
        Ok(Some(Member::Text(text)))
    } else {
        Ok(Some(Member::Other(raw)))
    }
}

#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Follows the tokens through the document without building it.
struct Walk<'t>(&'t [String]);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            return <&RawValue as serde::Deserialize>::deserialize(deserializer).map(Some);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Some((token, rest)) = self.0.split_first() else { return Ok(None) };
        let mut found = None;
        while let Some(matches) = map.next_key_seed(NameIs(token))? {
            if matches {
                found = map.next_value_seed(Walk(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let Some((token, rest)) = self.0.split_first() else { return Ok(None) };
        let wanted = token.parse::<usize>().ok();
        let (mut found, mut at) = (None, 0);
        loop {
            if Some(at) == wanted {
                match seq.next_element_seed(Walk(rest))? {
                    Some(member) => found = member,
                    None => return Ok(found),
                }
            } else if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            at += 1;
        }
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a member's name is the one that is looked for.
struct NameIs<'t>(&'t str);

impl<'de> DeserializeSeed<'de> for NameIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameIs<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// The members of an object in the order in which they are written, names decoded.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Writes `document` to `out` without the members at `pointers`; `false` when it is no JSON, and
/// then `out` holds nothing to be used.
pub fn without(document: &[u8], pointers: &[&[String]], out: &mut Vec<u8>) -> bool {
    let Ok(text) = std::str::from_utf8(document) else { return false };
    let start = out.len();
    if plain::without(document, pointers, out) {
        return true;
    }
    out.truncate(start);
    without_parsed(text, pointers, out)
}

/// The same for what is not written as nearly all documents are.
fn without_parsed(text: &str, pointers: &[&[String]], out: &mut Vec<u8>) -> bool {
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else { return false };
    strip(raw.get(), pointers, out);
    true
}

fn strip(raw: &str, pointers: &[&[String]], out: &mut Vec<u8>) {
    if pointers.is_empty() {
        out.extend_from_slice(raw.as_bytes());
        return;
    }
    let inside = |token: &str| -> Vec<&[String]> {
        pointers
            .iter()
            .filter_map(|p| p.split_first().filter(|(first, _)| *first == token).map(|(_, rest)| rest))
            .collect()
    };
    if let Ok(Members(members)) = serde_json::from_str(raw) {
        out.push(b'{');
        for (name, value) in members {
            let deeper = inside(&name);
            if deeper.iter().any(|rest| rest.is_empty()) {
                continue;
            }
            out.extend_from_slice(&u64::try_from(name.len()).unwrap_or(u64::MAX).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
            strip(value.get(), &deeper, out);
        }
        out.push(b'}');
    } else if let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(raw) {
        out.push(b'[');
        for (at, element) in elements.iter().enumerate() {
            let deeper = inside(&at.to_string());
            if !deeper.iter().any(|rest| rest.is_empty()) {
                strip(element.get(), &deeper, out);
            }
            out.push(b',');
        }
        out.push(b']');
    } else {
        out.extend_from_slice(raw.as_bytes());
    }
}

/// Hands the pieces of `document` to `each` that stand around the scalars behind the given quoted
/// names. `false` when an object or array stands there. `cuts` is room that is used again.
pub fn without_scalars(
    document: &[u8],
    names: &[Finder<'_>],
    cuts: &mut Vec<(usize, usize)>,
    mut each: impl FnMut(&[u8]),
) -> bool {
    cuts.clear();
    for name in names {
        let mut from = 0;
        while let Some(found) = document.get(from..).and_then(|rest| name.find(rest)) {
            let behind = from + found + name.needle().len();
            match scalar_behind(document, behind) {
                Behind::Scalar(start, end) => cuts.push((start, end)),
                Behind::NoMember => {}
                Behind::More => return false,
            }
            from = behind;
        }
    }
    cuts.sort_unstable();
    let mut at = 0;
    for &(start, end) in cuts.iter() {
        if start >= at {
            each(document.get(at..start).unwrap_or_default());
            at = end;
        }
    }
    each(document.get(at..).unwrap_or_default());
    true
}

enum Behind {
    Scalar(usize, usize),
    /// No colon: the text is a value that happens to read like the name.
    NoMember,
    More,
}

fn scalar_behind(document: &[u8], name_end: usize) -> Behind {
    let skip = |from: usize| {
        let rest = document.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
    };
    let colon = skip(name_end);
    if document.get(colon) != Some(&b':') {
        return Behind::NoMember;
    }
    let start = skip(colon + 1);
    let rest = document.get(start..).unwrap_or_default();
    let length = match rest.first() {
        Some(b'{' | b'[') => return Behind::More,
        Some(b'"') => {
            let mut escaped = false;
            let inside = rest.iter().skip(1).take_while(|&&byte| {
                let goes_on = escaped || byte != b'"';
                escaped = !escaped && byte == b'\\';
                goes_on
            });
            inside.count() + 2
        }
        _ => rest
            .iter()
            .take_while(|byte| !matches!(byte, b',' | b'}' | b']') && !byte.is_ascii_whitespace())
            .count(),
    };
    Behind::Scalar(start, (start + length).min(document.len()))
}

/// Hands every scalar member of `document` to `each` with its pointer and its written form; stops
/// at `limit` members. `false` when the document is no JSON object or array.
pub fn scalars(document: &[u8], limit: usize, each: &mut dyn FnMut(&JsonPointer, &str)) -> bool {
    let Ok(text) = std::str::from_utf8(document) else { return false };
    plain::scalars(text, limit, each).is_some() || scalars_parsed(text, limit, each)
}

/// The same for what is not written as nearly all documents are.
fn scalars_parsed(text: &str, limit: usize, each: &mut dyn FnMut(&JsonPointer, &str)) -> bool {
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else { return false };
    if !raw.get().starts_with(['{', '[']) {
        return false;
    }
    let mut left = limit;
    walk_scalars(raw.get(), &JsonPointer::root(), &mut left, each);
    true
}

/// Deeper members are no business keys, and each level is parsed once more than the one above.
const DEEPEST: usize = 8;

fn walk_scalars(raw: &str, at: &JsonPointer, left: &mut usize, each: &mut dyn FnMut(&JsonPointer, &str)) {
    if at.tokens().len() > DEEPEST {
        return;
    }
    // Only what begins as one is parsed as one: a failure costs more than a short document.
    if raw.starts_with('{')
        && let Ok(Members(members)) = serde_json::from_str(raw)
    {
        for (name, value) in members {
            walk_scalars(value.get(), &at.child(&name), left, each);
        }
    } else if !at.tokens.is_empty() && time_array(raw).is_some() {
        hand_out(raw, at, left, each);
    } else if raw.starts_with('[')
        && let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(raw)
    {
        for (index, element) in elements.iter().enumerate() {
            walk_scalars(element.get(), &at.child(&index.to_string()), left, each);
        }
    } else {
        hand_out(raw, at, left, each);
    }
}

fn hand_out(raw: &str, at: &JsonPointer, left: &mut usize, each: &mut dyn FnMut(&JsonPointer, &str)) {
    // The whole document is no member: it is what could not be taken apart.
    if *left > 0 && !at.tokens.is_empty() {
        *left -= 1;
        each(at, raw);
    }
}

/// Reads a document in the quick way and with the parser: where the quick way answers at all, both say the same.
///
/// # Panics
/// When they do not.
#[cfg(any(test, feature = "testkit"))]
pub fn both_ways_agree(document: &[u8], pointers: &[JsonPointer], limit: usize) {
    for pointer in pointers {
        if let Some(quick) = plain::member(document, pointer.tokens()) {
            assert_eq!(Some(quick), find(document, pointer).ok(), "at {pointer}");
        }
    }
    let Ok(text) = std::str::from_utf8(document) else { return };
    let tokens: Vec<&[String]> = pointers.iter().map(JsonPointer::tokens).collect();
    let (mut quick, mut parsed) = (Vec::new(), Vec::new());
    if plain::without(document, &tokens, &mut quick) {
        assert!(without_parsed(text, &tokens, &mut parsed), "the parser takes it for no JSON");
        assert_eq!(quick, parsed);
    }
    let (mut quick, mut parsed) = (Vec::new(), Vec::new());
    let mut keep = |at: &JsonPointer, raw: &str| quick.push((at.clone(), raw.to_owned()));
    if plain::scalars(text, limit, &mut keep).is_none() {
        assert!(quick.is_empty(), "scalars were told of what is left to the parser");
        return;
    }
    let mut keep = |at: &JsonPointer, raw: &str| parsed.push((at.clone(), raw.to_owned()));
    assert!(scalars_parsed(text, limit, &mut keep), "the parser takes it for no JSON");
    assert_eq!(quick, parsed);
}

/// Year, month, day, hour, minute, and as far as they are there second and nanosecond: how Jackson writes a
/// `LocalDateTime` or a `ZonedDateTime` by default. And how many bytes of the text that is.
#[must_use]
pub fn time_array(text: &str) -> Option<([i64; 7], usize)> {
    const RANGES: [std::ops::RangeInclusive<i64>; 7] =
        [1900..=2099, 1..=12, 1..=31, 0..=23, 0..=59, 0..=60, 0..=999_999_999];
    let inside = text.strip_prefix('[')?;
    // A longer one is none.
    let end = inside.bytes().take(64).position(|byte| byte == b']')?;
    let (mut numbers, mut count) = ([0; 7], 0);
    for number in inside.get(..end)?.split(',') {
        let digits = number.trim();
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|_| is_number)?;
        if !RANGES.get(count)?.contains(&number) {
            return None;
        }
        *numbers.get_mut(count)? = number;
        count += 1;
    }
    (count >= 5).then_some((numbers, end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(document: &str, pointer: &str) -> Option<String> {
        member(document.as_bytes(), &pointer.parse().unwrap()).unwrap().map(|found| match found {
            Member::Text(text) => format!("text {text}"),
            Member::Other(raw) => format!("other {raw}"),
        })
    }

    #[test]
    fn members_are_found_by_pointer() {
        let document = r#"{"a":{"b/c":"x"},"n":12345678901234567890123,"l":[1,{"z":null}],"t":"\u0041"}"#;
        assert_eq!(at(document, "/a/b~1c"), Some("text x".into()));
        assert_eq!(at(document, "/n"), Some("other 12345678901234567890123".into()));
        assert_eq!(at(document, "/l/0"), Some("other 1".into()));
        assert_eq!(at(document, "/l/1/z"), None);
        assert_eq!(at(document, "/l/7"), None);
        assert_eq!(at(document, "/t"), Some("text A".into()));
        assert_eq!(at(document, "/a"), Some(r#"other {"b/c":"x"}"#.into()));
        assert_eq!(at(document, "/n/deeper"), None);
    }

    #[test]
    fn of_repeated_names_the_last_counts() {
        assert_eq!(at(r#"{"id":1,"id":2}"#, "/id"), Some("other 2".into()));
    }

    fn why_not(document: &[u8]) -> Undecoded {
        member(document, &"/a".parse().unwrap()).unwrap_err()
    }

    #[test]
    fn what_cannot_be_decoded_has_a_reason() {
        for document in ["", "{", "{\"a\":1} x", "\u{1}", "{\"a\":01}", "{\"a\":NaN}", "{'a':1}"] {
            assert_eq!(why_not(document.as_bytes()), Undecoded::NotJson, "{document}");
        }
        assert_eq!(why_not(b"\xff"), Undecoded::NotUtf8);
        assert_eq!(why_not(b"{\"a\":\"x\xff\"}"), Undecoded::NotUtf8);
        assert_eq!(why_not(b"{\"\xff\":1,\"a\":2}"), Undecoded::NotUtf8);
        assert_eq!(why_not(br#"{"a":"\ud800"}"#), Undecoded::LoneSurrogate);
        assert_eq!(why_not(br#"{"a":"\ud800x"}"#), Undecoded::LoneSurrogate);
        assert_eq!(why_not(br#"{"a":"\udc00\ud800"}"#), Undecoded::LoneSurrogate);
        assert_eq!(why_not(br#"{"\ud800":1,"a":2}"#), Undecoded::LoneSurrogate);
    }

    #[test]
    fn what_is_wrong_in_other_members_does_not_matter() {
        assert_eq!(at(r#"{"b":"\ud800","a":1}"#, "/a"), Some("other 1".into()));
        let found = member(b"{\"b\":\"\xff\",\"a\":1}", &"/a".parse().unwrap());
        assert_eq!(found, Ok(Some(Member::Other("1"))));
    }

    #[test]
    fn numbers_keep_their_digits() {
        let numbers = [
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "1e400",
            "1",
            "1.0",
            "1.00",
            "1e0",
            "-0",
            "0.30000000000000004",
        ];
        for number in numbers {
            assert_eq!(at(&format!("{{\"a\": {number} }}"), "/a"), Some(format!("other {number}")));
        }
    }

    #[test]
    fn depth_and_length_do_not_matter() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(at(&format!(r#"{{"deep":{deep},"a":"x"}}"#), "/a"), Some("text x".into()));
        assert_eq!(at(&format!(r#"{{"a":{deep}}}"#), "/a"), Some(format!("other {deep}")));
        assert_eq!(why_not("[".repeat(100_000).as_bytes()), Undecoded::NotJson);
        let mut stripped = Vec::new();
        let pointer: JsonPointer = "/b".parse().unwrap();
        assert!(without(format!(r#"{{"a":{deep},"b":1}}"#).as_bytes(), &[pointer.tokens()], &mut stripped));
        let mut found = 0;
        assert!(scalars(deep.as_bytes(), 10, &mut |_, _| found += 1));
        assert_eq!(found, 0);
        let long = "y".repeat(10_000_000);
        assert_eq!(at(&format!(r#"{{"b":"{long}","a":"{long}"}}"#), "/a"), Some(format!("text {long}")));
    }

    #[test]
    fn what_is_left_around_scalars_does_not_depend_on_them() {
        let names = [Finder::new("\"sentAt\"")];
        let left = |document: &str| {
            let mut out: Vec<u8> = Vec::new();
            without_scalars(document.as_bytes(), &names, &mut Vec::new(), |piece| out.extend(piece))
                .then_some(out)
        };
        let first = left(r#"{"id":1,"sentAt":"5 \"x\" ,","v":2}"#).unwrap();
        assert_eq!(Some(first.clone()), left(r#"{"id":1,"sentAt":"6","v":2}"#));
        assert_ne!(Some(first), left(r#"{"id":1,"sentAt":"6","v":3}"#));
        assert_eq!(left(r#"{"sentAt":17}"#), left(r#"{"sentAt":1.5e3}"#));
        assert_eq!(left(r#"{"a":"sentAt"}"#).unwrap(), br#"{"a":"sentAt"}"#);
        assert_eq!(left(r#"{"sentAt":{"a":1}}"#), None);
        assert!(left(r#"{"sentAt":"cut"#).is_some());
        assert!(left(r#"{"sentAt":"#).is_some());
    }

    #[test]
    fn masked_members_do_not_tell_documents_apart() {
        let masked = |document: &str| {
            let pointers: Vec<JsonPointer> = vec!["/sentAt".parse().unwrap(), "/meta/nonce".parse().unwrap()];
            let pointers: Vec<&[String]> = pointers.iter().map(JsonPointer::tokens).collect();
            let mut out = Vec::new();
            assert!(without(document.as_bytes(), &pointers, &mut out));
            out
        };
        let first = masked(r#"{"id":1,"sentAt":5,"meta":{"nonce":"x","v":1}}"#);
        assert_eq!(first, masked(r#"{"id":1,"sentAt":6,"meta":{"nonce":"y","v":1}}"#));
        assert_ne!(first, masked(r#"{"id":1,"sentAt":5,"meta":{"nonce":"x","v":2}}"#));
    }

    #[test]
    fn a_time_in_an_array_is_one_scalar_and_other_arrays_are_taken_apart() {
        // The second document is left to the parser.
        for document in [
            r#"{"at":[2025,11,29,14,3,20,123000000],"n":[2025,13,29,14,3],"d":[2025,11,29],"l":[2025, 11, 29, 14, 3]}"#,
            r#"{"\u0061t":[2025,11,29,14,3,20,123000000],"n":[2025,13,29,14,3],"d":[2025,11,29],"l":[2025, 11, 29, 14, 3]}"#,
        ] {
            let mut found = Vec::new();
            assert!(scalars(document.as_bytes(), 99, &mut |pointer, raw| found
                .push((pointer.to_string(), raw.to_owned()))));
            assert_eq!(found.len(), 1 + 5 + 3 + 1, "{found:?}");
            assert_eq!(found[0], ("/at".to_owned(), "[2025,11,29,14,3,20,123000000]".to_owned()));
            assert_eq!(found[9], ("/l".to_owned(), "[2025, 11, 29, 14, 3]".to_owned()));
        }
        let mut found = 0;
        assert!(scalars(b"[2025,11,29,14,3]", 99, &mut |_, _| found += 1));
        assert_eq!(found, 5, "a document is no member of itself");
    }
}
