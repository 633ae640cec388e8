//! What happened in a log, one thing at a time: what a timeline is made of.

use super::rfc3339;
use super::word::open_words;
use crate::units::TopicNumber;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

open_words! {
    /// What kind of thing happened. At one offset of one partition they happened in this order.
    EventKind {
        /// A broker was given new producer ids: it started, or had used up the ones before.
        ProducerIdBlock "producer-id-block";
        /// The broker closed or loaded the log here.
        LogClosed "log-closed";
        /// A partition leader appended its first batch.
        LeaderEpoch "leader-epoch";
        /// Offsets are missing in front of this one.
        OffsetGap "offset-gap";
        /// Sequences are missing in front of this batch.
        SequenceGap "sequence-gap";
        /// A batch that a leader with intact memory would not have stored as it is.
        SequenceStep "sequence-step";
        /// From here on records are protected in another way.
        Protection "protection";
        /// A producer session is seen for the first time in this partition.
        SessionBegin "session-begin";
        /// A finding's first surplus copy.
        Duplicates "duplicates";
        /// A producer session is seen for the last time in this partition.
        SessionEnd "session-end";
        /// A transaction without an end begins here.
        TransactionOpen "transaction-open";
        /// An abort marker.
        TransactionAbort "transaction-abort";
        /// A commit marker.
        TransactionCommit "transaction-commit";
        /// The position of a consumer group stepped back to this offset.
        Rewind "rewind";
    }
}

impl EventKind {
    /// Those that tell most first: where not all events can be shown, those of the last kinds go.
    const BY_WEIGHT: [Self; 14] = [
        Self::Duplicates,
        Self::LogClosed,
        Self::SequenceStep,
        Self::OffsetGap,
        Self::SequenceGap,
        Self::TransactionOpen,
        Self::LeaderEpoch,
        Self::Rewind,
        Self::SessionBegin,
        Self::SessionEnd,
        Self::ProducerIdBlock,
        Self::TransactionAbort,
        Self::Protection,
        Self::TransactionCommit,
    ];

    /// How little it tells.
    #[must_use]
    pub fn rank(self) -> usize {
        Self::BY_WEIGHT.iter().position(|kind| *kind == self).unwrap_or(usize::MAX)
    }
}

/// Something that happened at one place of one log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// When; `null` where nothing tells.
    pub timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub time: Option<String>,
    /// What kind of thing.
    pub kind: EventKind,
    /// The topic's name.
    pub topic: String,
    /// Which topic of the run it is, where that is known; known while it runs, and in no report.
    #[serde(skip)]
    pub topic_number: Option<TopicNumber>,
    /// The partition's number.
    pub partition: i32,
    /// Where in the partition.
    pub offset: i64,
    /// The producer session that it is about, such as `1000#1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The id of the finding that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// One line about it, without a full stop.
    pub detail: String,
}

/// Puts things into the order of their times. `of` gives the log, the partition and the offset of a
/// thing, and its time. Inside a partition offsets give the order, whatever the times say: a thing never
/// stands before one that has a lower offset.
pub fn in_turn<T, L: Ord + Clone>(
    things: Vec<T>,
    of: impl for<'t> Fn(&'t T) -> ((L, i32, i64), Option<i64>),
) -> Vec<T> {
    let mut placed: Vec<_> = things
        .into_iter()
        .map(|thing| {
            let (place, time) = of(&thing);
            (place, time, thing)
        })
        .collect();
    placed.sort_by(|a, b| a.0.cmp(&b.0));
    let mut log: Option<(L, i32)> = None;
    let mut turn = None;
    for (place, time, _) in &mut placed {
        let own = (place.0.clone(), place.1);
        if log.as_ref() != Some(&own) {
            (log, turn) = (Some(own), None);
        }
        turn = turn.max(*time);
        *time = turn;
    }
    // What has no time stands first: it comes before the first thing that has one.
    placed.sort_by_key(|(_, turn, _)| *turn);
    placed.into_iter().map(|(_, _, thing)| thing).collect()
}

impl Event {
    /// An event that is about no session and no finding.
    #[must_use]
    pub fn new(
        kind: EventKind,
        timestamp: Option<i64>,
        place: (&str, i32, i64),
        detail: impl Into<String>,
    ) -> Self {
        let (topic, partition, offset) = place;
        Self {
            timestamp,
            time: timestamp.and_then(rfc3339),
            kind,
            topic: topic.to_owned(),
            topic_number: None,
            partition,
            offset,
            session: None,
            finding: None,
            detail: detail.into(),
        }
    }

    /// The same, of this topic of its name.
    #[must_use]
    pub fn of_topic(self, topic_number: Option<TopicNumber>) -> Self {
        Self { topic_number, ..self }
    }
}
