//! Why a record's bytes do not tell its business key.

/// What kept a key from being decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Undecoded {
    /// What should be JSON is none.
    #[error("no JSON")]
    NotJson,
    /// A text holds bytes that are no UTF-8.
    #[error("a text is no UTF-8")]
    NotUtf8,
    /// A text holds half of a surrogate pair.
    #[error("a text holds half of a surrogate pair")]
    LoneSurrogate,
    /// No schema for the value is known.
    #[error("its schema is not known")]
    NoSchema,
    /// The bytes are none of the schema's.
    #[error("the bytes do not fit the schema")]
    NotOfSchema,
    /// There is a record, a list or a map at that place of the schema.
    #[error("a record, a list or a map is there")]
    NoSingleValue,
    /// The value is deeper, or more is in it, than is looked at.
    #[error("the value is deeper, or holds more, than is looked at")]
    BeyondLimits,
    /// The records of a batch cannot be read at all.
    #[error("the batch cannot be read")]
    UnreadableBatch,
}

impl Undecoded {
    /// All reasons, in the order in which they are counted.
    pub const ALL: [Self; 8] = [
        Self::NotJson,
        Self::NotUtf8,
        Self::LoneSurrogate,
        Self::NoSchema,
        Self::NotOfSchema,
        Self::NoSingleValue,
        Self::BeyondLimits,
        Self::UnreadableBatch,
    ];

    /// The name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotJson => "not-json",
            Self::NotUtf8 => "not-utf8",
            Self::LoneSurrogate => "lone-surrogate",
            Self::NoSchema => "no-schema",
            Self::NotOfSchema => "not-of-schema",
            Self::NoSingleValue => "no-single-value",
            Self::BeyondLimits => "beyond-limits",
            Self::UnreadableBatch => "unreadable-batch",
        }
    }

    /// Why a document could not be decoded.
    pub(super) fn of(document: &[u8], error: &serde_json::Error) -> Self {
        if std::str::from_utf8(document).is_err() {
            Self::NotUtf8
        } else if error.to_string().contains("surrogate") || error.to_string().contains("end of hex escape") {
            Self::LoneSurrogate
        } else {
            Self::NotJson
        }
    }
}
