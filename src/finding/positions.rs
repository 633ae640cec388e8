//! What consumer groups committed, as evidence of a finding.

use super::{open_words, rfc3339};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A group's position went back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RewindReport {
    /// The group.
    pub group: String,
    /// The topic that it reads.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The position before: the next record that the group would have read.
    pub from: i64,
    /// The position after.
    pub to: i64,
    /// The first record that is there and that the group may have been given again; `null` where none is.
    #[serde(default)]
    pub again_first: Option<i64>,
    /// The last such record.
    #[serde(default)]
    pub again_last: Option<i64>,
    /// When, by the coordinator's clock.
    pub timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub time: Option<String>,
    /// How it came.
    pub kind: StepKind,
    /// The group's generation then, where it is known.
    pub generation: Option<i32>,
    /// How many members the group had then, where it is known.
    pub members: Option<u32>,
    /// The next position that the group committed behind the one after.
    pub then: Option<i64>,
    /// The commit's own offset in the partition of `__consumer_offsets` that has the group.
    pub at_offset: i64,
}

impl RewindReport {
    /// Sets the time in both forms.
    #[must_use]
    pub fn at_time(mut self, millis: Option<i64>) -> Self {
        self.timestamp = millis;
        self.time = millis.and_then(rfc3339);
        self
    }
}

open_words! {
    /// How a position came to be lower than it was.
    StepKind {
        /// A lower position was committed.
        SteppedBack "stepped-back";
        /// The position had been deleted, and began again below.
        AfterDeletion "after-deletion";
    }
}

/// How many of a finding's surplus copies a group has behind it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsumedBy {
    /// The group.
    pub group: String,
    /// Whether its committed positions are behind all of them.
    pub all: bool,
    /// Behind how many they are.
    pub copies: u64,
}
