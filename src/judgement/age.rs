//! How old an open transaction is, and by whose clock.
//!
//! Its coordinator knows when it began. Without that the clock of the broker that led the partition bounds when its first
//! batch was stored, by the markers and append times on both sides of it. The times of its records are the client's own: they
//! may be those of events, years before, and bound nothing.

use super::coordinator::{Fate, Told};
use super::draft::at;
use super::transactions::Placed;
use crate::facts::TimestampType;
use crate::finding::phrase::duration;

/// `transaction.max.timeout.ms` by default, and the five minutes after which Kafka's own tool calls
/// a transaction hanging.
const HANGING_MS: i64 = 900_000 + 300_000;
/// What clocks may differ by before times are said to contradict each other.
const CLOCKS_MS: i64 = 10_000;

/// How long ago, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// Since its coordinator says that it began.
    OfCoordinator(i64),
    /// Since its first records here were stored, at least and at most, by the clock of a broker.
    OfBroker {
        least: Option<i64>,
        most: Option<i64>,
    },
    /// Since the time that the client gave its first records.
    OfClient(i64),
    Unknown,
}

impl Age {
    /// That of the oldest part. `told` is what is known of each part whose coordinator is among the files.
    pub(super) fn of(list: &[Placed<'_>], told: &[Told], as_of: Option<i64>) -> Self {
        let Some(now) = as_of else { return Self::Unknown };
        let since = |begin: i64| Some(now.saturating_sub(begin)).filter(|age| *age > 0);
        let runs = told.iter().filter(|told| matches!(told.fate, Fate::Runs(_)));
        let begins: Vec<i64> = runs.filter_map(|told| told.begun).collect();
        if begins.len() == list.len()
            && let Some(begin) = begins.iter().min()
        {
            return since(*begin).map_or(Self::Unknown, Self::OfCoordinator);
        }
        let least = list.iter().filter_map(|(_, span)| span.appended_by).min().and_then(since);
        // What only a snapshot remembers is not here.
        let from = list.iter().map(|(_, span)| span.appended_from).collect::<Option<Vec<i64>>>();
        let most = from.and_then(|from| from.into_iter().min()).and_then(since);
        if least.is_some() || most.is_some() {
            return Self::OfBroker { least, most };
        }
        let of_client = list.iter().filter_map(|(_, span)| span.first_timestamp).min().and_then(since);
        of_client.map_or(Self::Unknown, Self::OfClient)
    }

    /// What a title adds.
    pub(super) fn in_title(self) -> String {
        match self {
            Self::OfCoordinator(age) => format!(", {} old by its coordinator", duration(age)),
            Self::OfBroker { least: Some(least), most: Some(most) } if least == most => {
                format!(", its records here {} old by the broker's clock", duration(least))
            }
            Self::OfBroker { least: Some(least), most: Some(most) } => format!(
                ", its records here between {} and {} old by the broker's clock",
                duration(least),
                duration(most)
            ),
            Self::OfBroker { least: Some(least), most: None } => {
                format!(", at least {} old by the broker's clock", duration(least))
            }
            Self::OfBroker { least: None, most: Some(most) } => {
                format!(", its records here at most {} old by the broker's clock", duration(most))
            }
            Self::OfClient(age) => format!(", {} old by the client's own times", duration(age)),
            Self::OfBroker { least: None, most: None } | Self::Unknown => String::new(),
        }
    }

    /// Whether a coordinator that knew it would have ended it, unless its timeout is unusual or times are not of writing.
    pub(super) fn hangs(self) -> bool {
        let known = match self {
            Self::OfCoordinator(age) | Self::OfClient(age) => Some(age),
            Self::OfBroker { least, .. } => least,
            Self::Unknown => None,
        };
        known.is_some_and(|age| age > HANGING_MS)
    }

    /// What it says of a transaction whose coordinator is not among the files.
    pub(super) fn against_the_limit(self) -> Option<String> {
        let limit = "20 minutes (transaction.max.timeout.ms is 15 minutes by default, and 5 are added)";
        let hangs = self.hangs();
        Some(match self {
            Self::OfBroker { least: None, most: None } | Self::Unknown => return None,
            Self::OfClient(_) if hangs => format!(
                "by the client's own times it is older than {limit}: if they are of its writing, a coordinator that knew it would \
                 have aborted it"
            ),
            Self::OfClient(_) => {
                format!("by the client's own times it may be younger than {limit}: it may be running")
            }
            Self::OfCoordinator(_) | Self::OfBroker { .. } if hangs => format!(
                "by the broker's clock it is older than {limit}: a coordinator that knew it would have aborted it"
            ),
            Self::OfCoordinator(_) | Self::OfBroker { .. } => {
                format!("by the broker's clock it may be younger than {limit}: it may be running")
            }
        })
    }

    /// Why it may run all the same.
    pub(super) const fn doubt(self) -> &'static str {
        match self {
            Self::OfClient(_) => {
                "transaction.max.timeout.ms may be longer, and event times may be older than the append"
            }
            Self::OfCoordinator(_) | Self::OfBroker { .. } | Self::Unknown => {
                "transaction.max.timeout.ms may be longer"
            }
        }
    }
}

/// Since when a part stands in the log, as its records have it, and as the markers before and behind it do where that is far
/// from it.
pub(super) fn since((_, span): &Placed<'_>) -> String {
    let from = at(span.first_timestamp);
    if span.times == TimestampType::LogAppendTime {
        return from;
    }
    let Some(time) = span.first_timestamp else { return from };
    let too_old = span.appended_from.filter(|clock| time.saturating_add(CLOCKS_MS) < *clock);
    let too_new = span.appended_by.filter(|clock| time.saturating_sub(CLOCKS_MS) > *clock);
    match (too_old, too_new) {
        (Some(clock), _) => {
            format!("{from} (the client's own time; by the broker's clock not before {})", at(Some(clock)))
        }
        (None, Some(clock)) => {
            format!("{from} (the client's own time; by the broker's clock not after {})", at(Some(clock)))
        }
        (None, None) => from,
    }
}
