//! One stored copy of a business event, and the group of copies that share a business key.

use super::rfc3339;
use super::word::open_words;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

open_words! {
    /// How equal a surplus copy and its predecessor are, strongest first.
    Level {
        /// The same wire batch.
        E1 "E1";
        /// The same record set under another producer identity.
        E2 "E2";
        /// The same record with the same client time.
        E3 "E3";
        /// The same content at another time.
        E4 "E4";
        /// The same business key; volatile fields differ.
        E5 "E5";
    }
}

impl Level {
    /// What it says, for people.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::E1 => "same batch",
            Self::E2 => "same records, written anew",
            Self::E3 => "same content and client time",
            Self::E4 => "same content, other time",
            Self::E5 => "same identity, other fields differ",
            Self::Other(word) => word.as_str(),
        }
    }
}

open_words! {
    /// What a read_committed consumer makes of a record.
    Visibility {
        /// Not part of a transaction.
        NonTransactional "non-transactional";
        /// Its transaction was committed.
        Committed "committed";
        /// Its transaction was aborted.
        Aborted "aborted";
        /// Its transaction has no end.
        Open "open";
    }
}

impl Visibility {
    /// Whether consumers in both isolation levels may see the record (below the last stable offset).
    #[must_use]
    pub const fn counts_when_committed(self) -> bool {
        matches!(self, Self::NonTransactional | Self::Committed)
    }
}

/// Where a record stands among all that was given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The record's offset.
    pub offset: i64,
}

/// One stored copy, with all that is needed to check it with Kafka's own dump tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Copy {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The partition directory.
    pub directory: String,
    /// The broker, where `meta.properties` tells it.
    pub broker_id: Option<i32>,
    /// The segment file's name.
    pub segment: String,
    /// Where its batch begins in the segment.
    pub position: u64,
    /// The record's offset.
    pub offset: i64,
    /// The record's time as a consumer sees it.
    pub timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub time: Option<String>,
    /// `CreateTime`, `LogAppendTime` or `NoTimestampType`.
    pub timestamp_type: String,
    /// As on disk: −1 without idempotence.
    pub producer_id: i64,
    /// `null` beside a producer id below 0.
    pub producer_epoch: Option<i16>,
    /// `null` beside a producer id below 0.
    pub sequence: Option<i32>,
    /// The producer session, such as `1000#1`.
    pub session: Option<String>,
    /// The leader under which it was appended.
    pub partition_leader_epoch: Option<i32>,
    /// The base offset of its batch.
    pub batch_base_offset: i64,
    /// The stored checksum of its batch.
    pub crc: u32,
    /// What its transaction makes of it.
    pub visibility: Visibility,
    /// The earlier copy that this one repeats; `null` for the first.
    pub repeats: Option<Place>,
    /// How equal the two are.
    pub level: Option<Level>,
    /// The value as text, only when values were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<BusinessKey>,
}

impl Copy {
    /// Sets the time in both forms.
    #[must_use]
    pub fn at_time(mut self, millis: Option<i64>) -> Self {
        self.timestamp = millis;
        self.time = millis.and_then(rfc3339);
        self
    }

    /// Where it stands.
    #[must_use]
    pub fn place(&self) -> Place {
        Place { topic: self.topic.clone(), partition: self.partition, offset: self.offset }
    }
}

/// One business key, with the copies that one finding explains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// The identity that the copies share.
    pub business_key: BusinessKey,
    /// The earlier copy first, then the surplus copies.
    pub copies: Vec<Copy>,
    /// How many more copies there are.
    #[serde(default)]
    pub copies_omitted: u64,
}

/// The identity of an event, in the form that the report may show.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BusinessKey {
    /// Printable UTF-8.
    Text {
        /// The key itself.
        text: String,
    },
    /// Any other bytes.
    Base64 {
        /// The key in base 64.
        base64: String,
    },
    /// Several keys joined by `+`.
    Parts {
        /// One part a key.
        parts: Vec<KeyPart>,
    },
    /// The identity is the content: a digest stands for it.
    Digest {
        /// 128 bits in hexadecimal.
        digest: String,
        /// The record key of these contents, for those who look for it; no identity by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record_key: Option<Box<Self>>,
    },
    /// `--redact keys`: equal keys have equal hashes within the report.
    KeyedHash {
        /// 128 bits in hexadecimal.
        keyed_hash: String,
    },
}

impl BusinessKey {
    /// The digest of a content or of a key that is too long to be shown.
    #[must_use]
    pub fn of_digest(digest: u128) -> Self {
        Self::Digest { digest: format!("{digest:032x}"), record_key: None }
    }

    /// Bytes as they are where they are printable text, else in base 64.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(char::is_control) => Self::Text { text: text.to_owned() },
            _ => Self::Base64 { base64: BASE64_STANDARD.encode(bytes) },
        }
    }
}

/// One part of a joined key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyPart {
    /// Which key, as `--key` spells it.
    pub key: String,
    /// Printable UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Any other bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// True where the part is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null: Option<bool>,
    /// Under `--redact keys`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyed_hash: Option<String>,
}
