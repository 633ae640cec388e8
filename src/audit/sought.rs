//! One business key that somebody asks for, held against records as they go by.
//!
//! Goes in: the key as it was typed, in one of the forms in which reports show keys. Comes out: for
//! each record whether it has a business key, and whether it is this one. Nothing is hashed unless the
//! key was given as the digest of a content.

use crate::format::Record;
use crate::keys::{Content, Identity, KeySpec, Keyed, Mask, Part};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::borrow::Cow;

/// Fewer digits of a digest stand for too many contents.
const DIGITS: usize = 8;

/// A business key that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sought {
    text: String,
    /// What `base64:…` stands for.
    bytes: Option<Vec<u8>>,
    /// The first digits of a digest.
    digest: Option<String>,
}

/// Whether a record is the one that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sighting {
    /// It has the key.
    This,
    /// It has another one, or none.
    Other,
}

impl Sought {
    /// The key as a report shows it: text; `base64:…` for other bytes; the parts of a joined key with
    /// `+` between them; the digits of a digest, from eight on, where the identity is the content, alone or
    /// behind the record key as in `order-1 (content 2734375f)`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        // `order-1 (content 2734375f)` is how a report shows a content with its record key.
        let shown = text.strip_suffix(')').and_then(|text| Some(text.rsplit_once(" (content ")?.1));
        let bytes = text.strip_prefix("base64:").and_then(|rest| BASE64_STANDARD.decode(rest).ok());
        let bare = text.strip_prefix("content").map_or(text, |rest| rest.trim_start_matches([' ', ':']));
        let digits = shown.unwrap_or(bare);
        let is_digest = (DIGITS..=32).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        Self { text: text.to_owned(), bytes, digest: is_digest.then(|| digits.to_owned()) }
    }

    /// As it was typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the record's business key is to this one. Where the identity is the content, a record key
    /// finds all contents under it.
    pub(super) fn look(
        &self,
        identity: &Identity,
        mask: &Mask,
        content: &mut Content,
        record: &Record<'_>,
    ) -> (Keyed, Sighting) {
        let sighting = |is_this| if is_this { Sighting::This } else { Sighting::Other };
        match identity {
            Identity::Content => {
                let by_key = record.key.is_some_and(|key| self.is(key));
                let mut by_digest = || {
                    let wanted = self.digest.as_ref();
                    wanted.is_some_and(|wanted| digest(content, mask, record).starts_with(wanted))
                };
                (Keyed::Yes, sighting(by_key || by_digest()))
            }
            Identity::Key(spec) => {
                let (keyed, is_this) = self.look_for_key(spec, record);
                (keyed, sighting(is_this))
            }
        }
    }

    fn look_for_key(&self, spec: &KeySpec, record: &Record<'_>) -> (Keyed, bool) {
        if let [part] = spec.parts() {
            return match part.extract(record) {
                Part::Bytes { bytes, .. } => (Keyed::Yes, self.is(&bytes)),
                Part::Absent => (Keyed::Without, false),
                Part::Undecodable(why) => (Keyed::Undecoded(why), false),
            };
        }
        let (mut found, mut shown) = (false, Vec::new());
        for part in spec.parts() {
            match part.extract(record) {
                Part::Bytes { bytes, .. } => {
                    found = true;
                    shown.push(spelled(&bytes).into_owned());
                }
                Part::Absent => shown.push("(absent)".to_owned()),
                Part::Undecodable(why) => return (Keyed::Undecoded(why), false),
            }
        }
        let is_this = || shown.join("+") == self.text || shown.join(" + ") == self.text;
        if found { (Keyed::Yes, is_this()) } else { (Keyed::Without, false) }
    }

    fn is(&self, key: &[u8]) -> bool {
        key == self.text.as_bytes() || self.bytes.as_deref() == Some(key)
    }
}

/// The digest that stands for a content in the report: the same in every run.
pub(super) fn digest(content: &mut Content, mask: &Mask, record: &Record<'_>) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(content.bytes(record, mask)))
}

/// Bytes as text where they are text, else in base 64.
pub(super) fn spelled(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(format!("base64:{}", BASE64_STANDARD.encode(bytes))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::Headers;
    use crate::units::Offset;

    fn record<'a>(key: Option<&'a [u8]>, value: &'a [u8]) -> Record<'a> {
        Record {
            offset: Offset(0),
            timestamp: 0,
            client_timestamp: 0,
            sequence: None,
            key,
            value: Some(value),
            headers: Headers::default(),
        }
    }

    fn sees(given: &str, identity: &str, key: Option<&[u8]>, value: &[u8]) -> bool {
        let identity = match identity {
            "content" => Identity::Content,
            spec => Identity::Key(spec.parse().unwrap()),
        };
        let mut content = Content::default();
        let looked = Sought::new(given).look(&identity, &Mask::default(), &mut content, &record(key, value));
        looked.1 == Sighting::This
    }

    #[test]
    fn keys_are_found_in_every_form_in_which_a_report_shows_them() {
        assert!(sees("order-1", "record-key", Some(b"order-1"), b""));
        assert!(!sees("order-1", "record-key", Some(b"order-10"), b""));
        assert!(sees("base64:/wA=", "record-key", Some(&[255, 0]), b""));
        assert!(sees("7", "json:/id", None, br#"{"id":7}"#));
        assert!(sees("7", "json:/id", None, br#"{"id":"7"}"#));
        assert!(sees("a+7", "record-key+json:/id", Some(b"a"), br#"{"id":7}"#));
        assert!(sees("a + 7", "record-key+json:/id", Some(b"a"), br#"{"id":7}"#));
        assert!(!sees("", "record-key", None, b""));
    }

    #[test]
    fn a_content_is_found_by_its_digest_and_by_the_record_key_over_it() {
        let mut content = Content::default();
        let whole = digest(&mut content, &Mask::default(), &record(Some(b"c-1"), b"v"));
        assert!(sees(&whole, "content", Some(b"c-1"), b"v"));
        assert!(sees(&format!("content {}", &whole[..8]), "content", Some(b"c-1"), b"v"));
        assert!(sees(&format!("c-1 (content {})", &whole[..8]), "content", Some(b"c-1"), b"v"));
        assert!(
            !sees(&format!("c-1 (content {})", &whole[..8]), "content", Some(b"c-1"), b"w"),
            "another event"
        );
        assert!(sees("a (content 0)", "record-key", Some(b"a (content 0)"), b""), "a key that looks like it");
        assert!(!sees(&whole, "content", Some(b"c-1"), b"w"));
        assert!(!sees(&whole[..7], "content", Some(b"c-1"), b"v"));
        assert!(sees("c-1", "content", Some(b"c-1"), b"w"));
    }
}
