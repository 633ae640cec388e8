//! What the judgement says: findings, and the copies, gaps and transactions that prove them.
//!
//! These are plain values in the shape of the JSON report (names are camelCase and spelled as
//! Kafka's dump tool spells them). The judgement makes them, the report prints them; neither needs
//! the other. Unknown is `null`, never −1, except for a producer id, which is given as on disk.

mod code;
mod copy;
mod event;
mod evidence;
pub mod phrase;
mod positions;
mod word;

pub use code::{Code, Severity};
pub use copy::{BusinessKey, Copy, Group, KeyPart, Level, Place, Visibility};
pub use event::{Event, EventKind, in_turn};
pub use evidence::{
    DivergentRange, Gap, GapReason, MisroutedRecord, Outcome, ProtectionMode, SnapshotDifference, Stretch,
    Transaction,
};
pub use positions::{ConsumedBy, RewindReport, StepKind};
pub use word::Word;
pub(crate) use word::open_words;

use crate::units::TopicNumber;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

open_words! {
    /// How sure a verdict is.
    Confidence {
        /// The files allow it; others explain it as well.
        Possible "possible";
        /// The best explanation of what the files show.
        Likely "likely";
        /// No rival explanation survives its test.
        Certain "certain";
    }
}

open_words! {
    /// What became of a finding since an earlier report.
    SinceBaseline {
        /// It was not there.
        New "new";
        /// It is more, or worse, than it was.
        Grown "grown";
    }
}

/// One finding: a mechanism that the files show, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Equal for two runs over the same files, and for a later run over the grown log.
    pub id: String,
    /// The mechanism.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// How sure it is that this is the mechanism.
    pub confidence: Confidence,
    /// What became of it since the report that was given as a baseline; absent where nothing did, or none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_baseline: Option<SinceBaseline>,
    /// One line.
    pub title: String,
    /// The topics concerned, sorted.
    pub topics: Vec<String>,
    /// Their topic ids, where others of the same name were given, too; absent where the names are enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topic_ids: Vec<String>,
    /// Which of the topics of the run they are; known while it runs, and in no report.
    #[serde(skip)]
    pub topic_numbers: Vec<TopicNumber>,
    /// The partitions concerned, sorted.
    pub partitions: Vec<TopicPartition>,
    /// How much of it there is; counts hold all, also what `groups` omits.
    pub counts: Counts,
    /// From when to when the surplus copies, or the stretch, were written.
    pub window: Option<Window>,
    /// The weakest level among the surplus copies.
    pub level: Option<Level>,
    /// What probably led to it.
    pub cause: Option<Cause>,
    /// The facts that it rests on, one a line.
    pub facts: Vec<String>,
    /// The rival explanations that were tested.
    pub alternatives: Vec<Alternative>,
    /// What would settle what the files cannot.
    pub would_settle: Vec<String>,
    /// What to do, at most three lines.
    pub advice: Vec<String>,
    /// Keys that sentences name, as they name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_keys: Vec<String>,
    /// Examples: one business key each.
    pub groups: Vec<Group>,
    /// How many groups are not listed.
    pub groups_omitted: u64,
    /// Sequences that are missing (`sequence-gap…`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// How many gaps are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gaps_omitted: u64,
    /// Transactions (`transaction-…`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<Transaction>,
    /// Stretches of one protection mode (`idempotence-…`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<Stretch>,
    /// How many stretches are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stretches_omitted: u64,
    /// Where snapshots and the log disagree (`snapshot-mismatch`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SnapshotDifference>,
    /// Records in a partition that the partitioner would not choose (`misrouted-key`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<MisroutedRecord>,
    /// How many such records are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub records_omitted: u64,
    /// The partitioner that the other keys follow (`misrouted-key`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitioner: Option<String>,
    /// Stretches in which replicas differ (`replica-divergence`, `old-leader-tail`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<DivergentRange>,
    /// Where positions of consumer groups went back (`consumer-rewind`, `pipeline-replay`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewinds: Vec<RewindReport>,
    /// How many of them are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rewinds_omitted: u64,
    /// The groups that read a partition with surplus copies, and how many of these they have behind
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumed_by: Vec<ConsumedBy>,
}

impl Finding {
    /// A finding of this code that says nothing yet.
    #[must_use]
    pub fn empty(code: Code) -> Self {
        Self {
            id: String::new(),
            code,
            severity: code.severity(),
            confidence: Confidence::Possible,
            since_baseline: None,
            title: String::new(),
            topics: Vec::new(),
            topic_ids: Vec::new(),
            topic_numbers: Vec::new(),
            partitions: Vec::new(),
            counts: Counts::default(),
            window: None,
            level: None,
            cause: None,
            facts: Vec::new(),
            alternatives: Vec::new(),
            would_settle: Vec::new(),
            advice: Vec::new(),
            named_keys: Vec::new(),
            groups: Vec::new(),
            groups_omitted: 0,
            gaps: Vec::new(),
            gaps_omitted: 0,
            transactions: Vec::new(),
            stretches: Vec::new(),
            stretches_omitted: 0,
            snapshots: Vec::new(),
            records: Vec::new(),
            records_omitted: 0,
            partitioner: None,
            ranges: Vec::new(),
            rewinds: Vec::new(),
            rewinds_omitted: 0,
            consumed_by: Vec::new(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A partition by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
}

/// How much a finding is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Business keys.
    pub groups: u64,
    /// Copies after the first of each group.
    pub surplus_records: u64,
    /// The same among the copies that a read_committed consumer sees.
    pub surplus_committed: u64,
}

/// From when to when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// Milliseconds since 1970.
    pub first_timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub first_time: Option<String>,
    /// Milliseconds since 1970.
    pub last_timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub last_time: Option<String>,
}

impl Window {
    /// The window between two times.
    #[must_use]
    pub fn new(first: Option<i64>, last: Option<i64>) -> Self {
        Self {
            first_timestamp: first,
            first_time: first.and_then(rfc3339),
            last_timestamp: last,
            last_time: last.and_then(rfc3339),
        }
    }
}

impl Finding {
    /// Whether a rival was tested and does not survive.
    #[must_use]
    pub fn drops(&self, rival: &str) -> bool {
        self.alternatives.iter().any(|one| one.code == rival && !one.kept)
    }

    /// Whether a rival explanation is kept.
    #[must_use]
    pub fn keeps(&self, rival: &str) -> bool {
        self.alternatives.iter().any(|one| one.code == rival && one.kept)
    }

    /// Whether the copies have the times of what they repeat, by the clocks of the clients: then no time of
    /// the finding says when the copies were written.
    #[must_use]
    pub fn keeps_times(&self) -> bool {
        let kept = matches!(self.level, Some(Level::E1 | Level::E2 | Level::E3));
        let mut copies = self.groups.iter().flat_map(|group| &group.copies);
        kept && copies.all(|copy| copy.timestamp_type == "CreateTime")
    }
}

/// What probably led to the mechanism, with a confidence of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// A phrase without a full stop.
    pub text: String,
    /// How sure the cause is; the mechanism may be surer.
    pub confidence: Confidence,
}

/// A rival explanation, and what its test said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alternative {
    /// The rival's code, or a word for an innocent explanation.
    pub code: String,
    /// Whether it survives.
    pub kept: bool,
    /// Why it was kept or dropped.
    pub why: String,
}

/// RFC 3339 UTC with milliseconds; `None` where the number is no plausible time.
#[must_use]
pub fn rfc3339(millis: i64) -> Option<String> {
    if millis < 0 {
        return None;
    }
    let time = jiff::Timestamp::from_millisecond(millis).ok()?;
    Some(format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_end_in_z() {
        assert_eq!(rfc3339(1_700_000_000_005).as_deref(), Some("2023-11-14T22:13:20.005Z"));
        assert_eq!(rfc3339(0).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(rfc3339(-1), None);
        assert_eq!(rfc3339(i64::MAX), None);
    }
}
