//! Which bytes of a record identify the business event, and which bytes are its content.
//!
//! Goes in: a record and what the plan of its topic says ([`Identity`], [`Mask`]). Comes out: the
//! bytes of the business key, or why there are none, and the bytes of the content. Nothing is
//! hashed or compared here.
//!
//! What JSON leaves open is decided as follows, and what cannot be decoded is counted with a reason
//! ([`Undecoded`]), never guessed:
//!
//! | in the document | what counts |
//! | --- | --- |
//! | a name that repeats in one object | its last member, as in most parsers |
//! | numbers | all digits as they are written: `1`, `1.0` and `1e0` are three keys, 2^63 and 1e400 are exact |
//! | `"1"` and `1` | two keys |
//! | `"\u0041"` and `"A"` | one key: texts are decoded |
//! | `null`, or no such member | no key |
//! | an object or array at the pointer | its text as it is written |
//! | half a surrogate pair in the key's text, or in a name beside it | not decoded: `lone-surrogate` |
//! | bytes that are no UTF-8, in the key's text or in a name beside it | not decoded: `not-utf8`; in other members they do not matter |
//! | anything else that is no JSON, also behind the member | not decoded: `not-json` |
//! | any number of brackets, any length | no matter |

mod content;
pub(crate) mod json;
mod partitioner;
mod schema;
mod spec;
mod undecoded;

pub use content::{Content, Mask, SieveMask, masked_content};
pub use json::{JsonPointer, Member as JsonMember, member as json_member, scalars, time_array};
pub use partitioner::{KeyHashes, Partitioner};
pub use schema::Schemas;
pub use spec::{KeyPart, KeySpec, KeySpecError, Part};
pub use undecoded::Undecoded;

use crate::format::Record;

/// What identifies an event of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A field, or several joined.
    Key(KeySpec),
    /// Record key, value and headers, volatile fields masked.
    Content,
}

impl Identity {
    /// As `--key` spells it; `content` where the identity is the content.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Key(spec) => spec.to_string(),
            Self::Content => "content".to_owned(),
        }
    }
}

/// What a record's identity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyed {
    /// It has one; its bytes were handed out.
    Yes,
    /// The field is not there, or null.
    Without,
    /// The bytes in which the field should be cannot be decoded.
    Undecoded(Undecoded),
}

/// One part of a key: its kind and its bytes; nothing where the record has none.
pub type PartOfKey<'p> = Option<(u8, &'p [u8])>;

/// Hands the parts of a key that is at hand as texts to `each`, as [`parts_of_key`] would if a record had
/// them. A text alone does not tell whether a member of a document is a text or a number: `reading`,
/// of [`KeySpec::readings`], says for each such part which of them is meant.
pub fn given_parts_of_key(
    spec: &KeySpec,
    given: &[Option<Vec<u8>>],
    reading: u32,
    mut each: impl FnMut(PartOfKey<'_>),
) {
    let mut member = 0;
    for (key, bytes) in spec.parts().iter().zip(given) {
        each(bytes.as_deref().map(|bytes| (key.kind(reading >> member & 1), bytes)));
        member += u32::from(key.is_member());
    }
}

/// What stands before the bytes of a part: its kind and its length.
fn head(kind: u8, bytes: &[u8]) -> [u8; 9] {
    let mut head = [kind; 9];
    if let Some(length) = head.last_chunk_mut() {
        *length = u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes();
    }
    head
}

/// Hands the bytes that identify `record` to `each`, part by part, with what separates the parts.
///
/// Two records have the same identity exactly when the same bytes are handed out.
pub fn identify(spec: &KeySpec, record: &Record<'_>, mut each: impl FnMut(&[u8])) -> Keyed {
    parts_of_key(spec, record, |part| match part {
        Some((kind, bytes)) => {
            each(&head(kind, bytes));
            each(bytes);
        }
        None => each(&[0]),
    })
}

/// Hands the parts of the key of `record` to `each`.
///
/// Two records have the same identity exactly when the same parts are handed out.
#[inline]
pub fn parts_of_key(spec: &KeySpec, record: &Record<'_>, mut each: impl FnMut(PartOfKey<'_>)) -> Keyed {
    let mut found = false;
    let mut undecoded = None;
    for key in spec.parts() {
        match key.extract(record) {
            Part::Bytes { kind, bytes } => {
                found = true;
                each(Some((kind, &bytes)));
            }
            Part::Absent => each(None),
            Part::Undecodable(why) => {
                undecoded = undecoded.or(Some(why));
                each(None);
            }
        }
    }
    match (found, undecoded) {
        (_, Some(why)) => Keyed::Undecoded(why),
        (true, None) => Keyed::Yes,
        (false, None) => Keyed::Without,
    }
}
