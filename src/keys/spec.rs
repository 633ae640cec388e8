//! `--key`: how a business key is named, and how it is taken from a record.
//!
//! ```text
//!  record-key         the record's key
//!  value              the record's value
//!  header:NAME        the last header of that name
//!  json:/pointer      a member of the JSON value (RFC 6901)
//!  key-json:/pointer  a member of the JSON key
//!  regex:PATTERN      the first group of the pattern in the value, a line of text or any other bytes
//!  avro:/pointer      a field of the Avro value, by a schema of --schema
//!  protobuf:/pointer  a field of the Protobuf value, likewise
//!  A+B                several, joined
//! ```
//!
//! A text of JSON and the same bytes as record key are one key, so that topics can be joined; a number
//! and the text with its digits are two. Numbers are taken as they are written (see [`super`]).

use super::Undecoded;
use super::json::{self, JsonPointer};
use super::schema::{Encoding, SchemaKey, Schemas};
use crate::format::Record;
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The kinds of `--key` in the order in which they are explained.
const SCHEMES: [&str; 8] =
    ["record-key", "value", "header:", "json:", "key-json:", "regex:", "avro:", "protobuf:"];

/// One or several keys that identify an event together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpec {
    parts: Vec<KeyPart>,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyPart {
    /// The record's key.
    RecordKey,
    /// The record's value.
    Value,
    /// The last header of this name.
    Header(String),
    /// A member of the JSON value.
    Json(JsonPointer),
    /// A member of the JSON key.
    KeyJson(JsonPointer),
    /// The first group of a pattern in the value.
    Regex(Pattern),
    /// A field of an encoded value.
    Schema(SchemaKey),
}

/// A pattern with a group.
#[derive(Clone, Debug)]
pub struct Pattern(regex::bytes::Regex);

impl Pattern {
    fn new(text: &str) -> Result<Self, String> {
        let regex = regex::bytes::Regex::new(text).map_err(|error| one_line(&error))?;
        if regex.captures_len() < 2 {
            return Err("the pattern has no group: the key stands in ( )".to_owned());
        }
        Ok(Self(regex))
    }

    fn find<'a>(&self, value: &'a [u8]) -> Option<&'a [u8]> {
        Some(self.0.captures(value)?.get(1)?.as_bytes())
    }
}

/// The last line of a message about a pattern says what is wrong; those before it draw where.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

compared_by!(Pattern, |one| one.0.as_str());

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_str().hash(state);
    }
}

/// What one key is in one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// These bytes; text and numbers of JSON are different kinds.
    Bytes {
        /// Tells a string from a number with the same digits.
        kind: u8,
        /// The bytes.
        bytes: Cow<'a, [u8]>,
    },
    /// Null, or not there.
    Absent,
    /// What should hold it cannot be decoded.
    Undecodable(Undecoded),
}

/// Why a `--key` is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "key {given:?}: {reason}; known are record-key, value, header:NAME, json:/pointer, key-json:/pointer, regex:PATTERN, avro:/pointer, protobuf:/pointer, several joined by +"
)]
pub struct KeySpecError {
    given: String,
    reason: String,
}

impl KeySpec {
    /// The record key alone.
    #[must_use]
    pub fn record_key() -> Self {
        Self { parts: vec![KeyPart::RecordKey] }
    }

    /// One key alone.
    #[must_use]
    pub fn of(part: KeyPart) -> Self {
        Self { parts: vec![part] }
    }

    /// Several keys joined; `None` where there is none.
    #[must_use]
    pub fn of_parts(parts: impl Into<Vec<KeyPart>>) -> Option<Self> {
        Some(parts.into()).filter(|parts| !parts.is_empty()).map(|parts| Self { parts })
    }

    /// Record key and value together.
    #[must_use]
    pub fn content() -> Self {
        Self { parts: vec![KeyPart::RecordKey, KeyPart::Value] }
    }

    /// More readings than these are not tried.
    pub const MOST_READINGS: u32 = 16;

    /// In how many ways a key that is given as texts can be read: members of documents are texts or
    /// anything else.
    #[must_use]
    pub fn readings(&self) -> u32 {
        let members = self.parts.iter().filter(|part| part.is_member()).count();
        u32::try_from(members).ok().and_then(|members| 1_u32.checked_shl(members)).unwrap_or(u32::MAX)
    }

    /// Whether schemas are needed to find it.
    #[must_use]
    pub fn needs_schemas(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, KeyPart::Schema(_)))
    }

    /// Gives it the schemas.
    ///
    /// # Errors
    /// A sentence where none of them is for its values.
    pub fn set_schemas(&mut self, schemas: &Schemas) -> Result<(), String> {
        for part in &mut self.parts {
            if let KeyPart::Schema(key) = part {
                key.set_schemas(schemas)?;
            }
        }
        Ok(())
    }

    /// The keys in their order; at least one.
    #[must_use]
    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }
}

impl FromStr for KeySpec {
    type Err = KeySpecError;

    fn from_str(text: &str) -> Result<Self, KeySpecError> {
        let refuse = |reason: &str| Err(KeySpecError { given: text.to_owned(), reason: reason.to_owned() });
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = joint(rest).unwrap_or(rest.len());
            let (one, behind) = rest.split_at(end);
            if one.is_empty() {
                return refuse("nothing stands in front of a +");
            }
            // A pattern may end with one.
            if behind.is_empty() && one.ends_with('+') && !one.starts_with("regex:") {
                return refuse("nothing stands behind the last +");
            }
            parts.push(one.parse()?);
            rest = behind.strip_prefix('+').unwrap_or(behind);
        }
        if parts.is_empty() {
            return refuse("it is empty");
        }
        Ok(Self { parts })
    }
}

/// Where the next key begins: a `+` that a known kind follows, so that names may hold a `+`.
fn joint(text: &str) -> Option<usize> {
    text.match_indices('+').map(|(at, _)| at).find(|at| {
        SCHEMES.iter().any(|scheme| text.get(at + 1..).is_some_and(|rest| rest.starts_with(scheme)))
    })
}

impl FromStr for KeyPart {
    type Err = KeySpecError;

    fn from_str(text: &str) -> Result<Self, KeySpecError> {
        let refuse = |reason: String| KeySpecError { given: text.to_owned(), reason };
        match text.split_once(':') {
            None if text == "record-key" => Ok(Self::RecordKey),
            None if text == "value" => Ok(Self::Value),
            Some(("key-json", "")) => {
                Err(refuse("the pointer is empty: the whole key is --key record-key".to_owned()))
            }
            Some(("json" | "avro" | "protobuf", "")) => {
                Err(refuse("the pointer is empty: the whole value is --key value".to_owned()))
            }
            Some(("header", "")) => Err(refuse("the header has no name".to_owned())),
            Some(("header", name)) => Ok(Self::Header(name.to_owned())),
            Some(("json", pointer)) => pointer.parse().map(Self::Json).map_err(refuse),
            Some(("key-json", pointer)) => pointer.parse().map(Self::KeyJson).map_err(refuse),
            Some(("regex", pattern)) => Pattern::new(pattern).map(Self::Regex).map_err(refuse),
            Some(("avro", pointer)) => schema_key(Encoding::Avro, pointer).map_err(refuse),
            Some(("protobuf", pointer)) => schema_key(Encoding::Protobuf, pointer).map_err(refuse),
            _ => Err(refuse("this kind is unknown".to_owned())),
        }
    }
}

impl fmt::Display for KeySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.parts.iter().enumerate() {
            if at > 0 {
                f.write_str("+")?;
            }
            part.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RecordKey => f.write_str("record-key"),
            Self::Value => f.write_str("value"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Json(pointer) => write!(f, "json:{pointer}"),
            Self::KeyJson(pointer) => write!(f, "key-json:{pointer}"),
            Self::Schema(key) => key.fmt(f),
            Self::Regex(pattern) => write!(f, "regex:{}", pattern.0.as_str()),
        }
    }
}

/// What kind of bytes a part is.
const BYTES: u8 = b'b';
/// The same bytes as a record key are the same key.
const TEXT: u8 = BYTES;
const OTHER: u8 = b'j';

impl KeyPart {
    /// Whether it is a member of a document: a text, or anything else.
    pub(super) const fn is_member(&self) -> bool {
        matches!(self, Self::Json(_) | Self::KeyJson(_) | Self::Schema(_))
    }

    /// The kind of a part that is given as text, by a bit that says how it is read.
    pub(super) const fn kind(&self, reading: u32) -> u8 {
        match (self.is_member(), reading) {
            (false, _) => BYTES,
            (true, 0) => TEXT,
            (true, _) => OTHER,
        }
    }

    /// Takes the key from a record.
    #[inline]
    pub fn extract<'a>(&self, record: &Record<'a>) -> Part<'a> {
        match self {
            Self::RecordKey => whole(record.key),
            Self::Value => whole(record.value),
            Self::Header(name) => {
                // The last one wins, as in Kafka's `Headers.lastHeader`.
                whole(record.headers.iter().filter(|h| h.key == name.as_bytes()).last().and_then(|h| h.value))
            }
            Self::Json(pointer) => member(record.value, pointer),
            Self::KeyJson(pointer) => member(record.key, pointer),
            Self::Schema(key) => key.extract(record.value),
            Self::Regex(pattern) => whole(record.value.and_then(|value| pattern.find(value))),
        }
    }
}

fn schema_key(encoding: Encoding, pointer: &str) -> Result<KeyPart, String> {
    Ok(KeyPart::Schema(SchemaKey::new(encoding, pointer.parse()?)))
}

#[inline]
fn whole(bytes: Option<&[u8]>) -> Part<'_> {
    bytes.map_or(Part::Absent, |bytes| Part::Bytes { kind: BYTES, bytes: Cow::Borrowed(bytes) })
}

fn member<'a>(document: Option<&'a [u8]>, pointer: &JsonPointer) -> Part<'a> {
    let Some(document) = document else { return Part::Absent };
    match json::member(document, pointer) {
        Ok(None) => Part::Absent,
        Ok(Some(json::Member::Text(text))) => {
            let bytes = match text {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            };
            Part::Bytes { kind: TEXT, bytes }
        }
        Ok(Some(json::Member::Other(raw))) => {
            Part::Bytes { kind: OTHER, bytes: Cow::Borrowed(raw.as_bytes()) }
        }
        Err(why) => Part::Undecodable(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spelled_as_they_are_read() {
        for text in [
            "avro:/payment/id",
            "protobuf:/a+regex:(b)",
            "record-key",
            "value",
            "header:event-id",
            "json:/payment/id",
            "record-key+json:/a+key-json:/b",
        ] {
            assert_eq!(text.parse::<KeySpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_plus_inside_a_name_does_not_split_it() {
        let spec: KeySpec = "header:a+b+value".parse().unwrap();
        assert_eq!(spec.parts(), [KeyPart::Header("a+b".to_owned()), KeyPart::Value]);
    }

    #[test]
    fn a_pattern_takes_its_first_group() {
        let spec: KeySpec = r"regex:id=(\d+)(;|$)+record-key".parse().unwrap();
        assert_eq!(spec.to_string(), r"regex:id=(\d+)(;|$)+record-key");
        let [KeyPart::Regex(pattern), KeyPart::RecordKey] = spec.parts() else { panic!("{spec}") };
        assert_eq!(pattern.find(b"\xff id=17;x id=18;"), Some(&b"17"[..]));
        assert_eq!(pattern.find(b"id=x"), None);
        let refused = |text: &str| text.parse::<KeySpec>().unwrap_err().to_string();
        assert!(refused("regex:id=").contains("no group"), "{}", refused("regex:id="));
        assert!(refused("regex:(").contains("unclosed group"), "{}", refused("regex:("));
        // Too large to be followed, however short it is written.
        assert!(refused("regex:((a{1000}){1000}){1000}").contains("size limit"));
    }

    #[test]
    fn what_is_unknown_is_refused_with_the_list() {
        for text in ["", "keys", "header:", "json:payment", "xml:/a"] {
            let error = text.parse::<KeySpec>().unwrap_err().to_string();
            assert!(error.contains("record-key"), "{error}");
        }
    }

    #[test]
    fn a_key_with_an_empty_part_is_refused() {
        for key in [
            "",
            "json:",
            "key-json:",
            "json:/a+",
            "+json:/a",
            "json:/a++",
            "json:/a+json:",
            "record-key+",
            "avro:",
        ] {
            assert!(key.parse::<KeySpec>().is_err(), "{key}");
        }
        for key in ["json:/", "json:/a+b", "json:/a+json:/b", "regex:(a)b+", "regex:(a)+json:/b"] {
            assert_eq!(key.parse::<KeySpec>().unwrap().to_string(), key);
        }
    }
}
