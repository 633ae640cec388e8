//! Enumerations that stay open: the words that this version knows, and any other word as it was read.
//!
//! A report may have been written by a later version. Its codes, reasons and levels are kept and said
//! again as they are (contract of the JSON report: a reader accepts values that it does not know).
//! A word that is not known stands last in the order, so an unknown severity counts as the worst.

use std::fmt;

/// The word of a later version: letters, digits, `-`, `_` and `.` of ASCII, so that it can be shown
/// anywhere as it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word {
    bytes: [u8; Self::MOST],
    length: u8,
}

impl Word {
    /// Bytes that a word may have; the longest of this version has 24.
    pub const MOST: usize = 63;

    /// Stands for all that this version does not know.
    pub const UNKNOWN: Self = {
        let (word, mut bytes, mut at) = (b"unknown", [0; Self::MOST], 0);
        while at < word.len() {
            bytes[at] = word[at];
            at += 1;
        }
        Self { bytes, length: 7 }
    };

    /// The word, or `None` where the text is none.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if text.is_empty() || !text.bytes().all(fits) {
            return None;
        }
        let mut bytes = [0; Self::MOST];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self { bytes, length: u8::try_from(text.len()).ok()? })
    }

    /// The word as it was read.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.bytes
            .get(..usize::from(self.length))
            .and_then(|word| std::str::from_utf8(word).ok())
            .unwrap_or("")
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Makes an open enumeration: its known words with what they mean, and `Other`.
macro_rules! open_words {
    (
        $(#[doc = $about:expr])+
        $name:ident {
            $( $(#[doc = $doc:expr])+ $variant:ident $word:literal; )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[doc = $doc])+ $variant, )+
            /// A word of a later version.
            Other($crate::finding::Word),
        }

        impl $name {
            /// All words that this version knows.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word in the report.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $( Self::$variant => $word, )+
                    Self::Other(word) => word.as_str(),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                if let Some(known) = Self::ALL.iter().find(|known| known.name() == text) {
                    return Ok(*known);
                }
                $crate::finding::Word::new(&text).map(Self::Other).ok_or_else(|| {
                    let kind = stringify!($name).to_lowercase();
                    serde::de::Error::custom(format_args!("{} bytes that are no {kind} of any version", text.len()))
                })
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema_id() -> std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let trimmed = |lines: &[&str]| lines.concat().trim().to_owned();
                schemars::json_schema!({
                    "description": trimmed(&[$($about),+]),
                    "oneOf": [ $( {
                        "type": "string",
                        "const": $word,
                        "description": trimmed(&[$($doc),+]),
                    } ),+ ],
                })
            }
        }
    };
}

pub(crate) use open_words;

#[cfg(test)]
mod tests {
    use super::Word;
    use crate::finding::{Code, GapReason, Severity};

    #[test]
    fn a_word_of_a_later_version_is_kept() {
        let read: Vec<Code> = serde_json::from_str(r#"["sequence-gap","made-tomorrow"]"#).unwrap();
        assert_eq!(read[0], Code::SequenceGap);
        assert_eq!(serde_json::to_string(&read).unwrap(), r#"["sequence-gap","made-tomorrow"]"#);
        let reason: GapReason = serde_json::from_str("\"Power_Cut.2\"").unwrap();
        assert_eq!(reason.to_string(), "Power_Cut.2");
    }

    #[test]
    fn a_severity_that_is_not_known_counts_as_the_worst() {
        let dire: Severity = serde_json::from_str("\"dire\"").unwrap();
        assert!(dire > Severity::High && Severity::High > Severity::Info);
    }

    #[test]
    fn what_could_do_harm_is_no_word() {
        for text in ["", "a b", "x\u{1b}", "<b>", "ä", "a\n"] {
            assert!(Word::new(text).is_none(), "{text}");
        }
        assert!(Word::new(&"x".repeat(64)).is_none() && Word::new(&"x".repeat(63)).is_some());
        let text = serde_json::to_string(&"x".repeat(1 << 20)).unwrap();
        let error = serde_json::from_str::<Code>(&text).unwrap_err().to_string();
        assert!(error.contains("1048576 bytes"), "{error}");
    }
}
