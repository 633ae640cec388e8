//! `concurrent-producers`: two live writers of the same events.
//!
//! Evidence: the session of the copy had written before the original was. Inside a partition offsets
//! answer that, never client times; lifetimes that merely overlap prove nothing.

use super::episode::Episode;
use super::pair::{Begun, Pair};
use super::phrase::{pairs_of, records, session_life};
use super::{Words, cause, dropped, kept, lines};
use crate::finding::Confidence;

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    !pair.same_session() && pair.later_session().is_some() && pair.later_session_begun() == Begun::Before
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let by_offset = episode.count(|p| p.later_session().and_then(|s| s.span(p.earlier.partition)).is_some());
    let mut facts: Vec<String> =
        [episode.earlier_session, episode.later_session].into_iter().flatten().map(session_life).collect();
    facts.push(format!(
        "the copies' session had begun before the originals were written: by offsets in {by_offset} of {} pairs, by time in the rest",
        episode.surplus()
    ));
    facts.push(pairs_of(episode));
    Words {
        confidence: Confidence::Likely,
        title: format!(
            "{copies} of {} were written by two producers that were alive at the same time",
            episode.topic_name()
        ),
        cause: Some(cause("two instances work on the same events", Confidence::Likely)),
        facts,
        alternatives: vec![
            dropped("resend-new-session", "the copies' session did not begin after the originals"),
            dropped("retry-without-idempotence", "a retry keeps its producer id"),
            kept(
                "pipeline-replay",
                "both could be fed by an input that was delivered twice; its consumer group is not judged here",
            ),
        ],
        would_settle: lines([
            "which hosts and applications had these producer ids, and how they share the work",
        ]),
        advice: lines([
            "find the second instance: a deployment that overlaps, a lost lock, two schedulers",
            "drop repeats by business key in the consumers",
        ]),
    }
}
