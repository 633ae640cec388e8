//! Which bytes of a record identify the business event, and which bytes are its content.
//!
//! Goes in: a record and what the plan of its topic says ([`Identity`], [`Mask`]). Comes out: the
//! bytes of the business key, or why there are none, and the bytes of the content. Nothing is
//! hashed or compared here.

mod content;
mod json;
mod partitioner;
mod spec;

pub use content::{Content, Mask, SieveMask, masked_content};
pub use json::{JsonPointer, scalars};
pub use partitioner::{KeyHashes, Partitioner};
pub use spec::{KeyPart, KeySpec, KeySpecError, Part};

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
    Undecoded,
}

/// Hands the bytes that identify `record` to `each`, part by part, with what separates the parts.
///
/// Two records have the same identity exactly when the same bytes are handed out.
pub fn identify(spec: &KeySpec, record: &Record<'_>, mut each: impl FnMut(&[u8])) -> Keyed {
    let mut found = false;
    let mut undecoded = false;
    for key in spec.parts() {
        match key.extract(record) {
            Part::Bytes { kind, bytes } => {
                found = true;
                each(&[kind]);
                each(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
                each(&bytes);
            }
            Part::Absent => each(&[0]),
            Part::Undecodable => {
                undecoded = true;
                each(&[0]);
            }
        }
    }
    match (found, undecoded) {
        (_, true) => Keyed::Undecoded,
        (true, false) => Keyed::Yes,
        (false, false) => Keyed::Without,
    }
}
