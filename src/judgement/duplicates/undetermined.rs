//! `duplicate-undetermined`: stored more than once, and the files cannot tell how.
//!
//! Mostly records without producer id that came again with another time or in other batches: a
//! client that regroups its retries, an application that sends again, a restart and a replay of a
//! pipeline all look like that. And a lone content that two sessions wrote, where no key tells events apart: the
//! sessions are there to see, but not that it is one event.

use super::super::draft::FORMAT_FIRST;
use super::episode::Episode;
use super::pair::Pair;
use super::phrase::{are, are_in_old_formats, delay, pairs_of, records};
use super::{Words, borders, connectors, dropped, kept, lines};
use crate::finding::phrase::moments;
use crate::finding::{Alternative, Code, Confidence, Level};
use crate::units::Offset;
use std::collections::BTreeMap;

/// Events in a row that no coincidence brings.
const ROW: usize = 3;

/// Whether the only thing that came again in another session is one content at another time, and no key says that
/// it is the same event: what a developer types twice, or a device reports twice, is that as well.
pub(super) fn is_lone_content(episode: &Episode<'_>) -> bool {
    matches!(episode.code, Code::ResendNewSession | Code::ConcurrentProducers) && is_single_content(episode)
}

fn is_single_content(episode: &Episode<'_>) -> bool {
    episode.surplus() == 1 && episode.is_by_little() && episode.all(|pair| !pair.has_telling_time())
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    if let (Some(earlier), Some(later)) = (&episode.earlier_session, &episode.later_session)
        && earlier.name != later.name
        && is_single_content(episode)
    {
        return lone_content(episode, &earlier.name, &later.name);
    }
    let copies = records(episode.surplus());
    let unprotected = episode.count(|p| !p.later.producer_id.is_protected());
    let both_bare =
        episode.count(|p| !p.later.producer_id.is_protected() && !p.earlier.producer_id.is_protected());
    // A client is of one session, and keeps its producer id or has none.
    let of_two = episode.all(|p| {
        let ids = [p.earlier.producer_id.is_protected(), p.later.producer_id.is_protected()];
        ids[0] != ids[1] || (ids[0] && !p.same_session() && p.earlier.producer_id != p.later.producer_id)
    });
    let same_time = episode.count(|p| p.level <= Level::E3);
    let damaged = episode.pairs().any(|p| {
        [&p.earlier, &p.later]
            .into_iter()
            .any(|copy| p.partition(copy).is_some_and(|note| note.damaged_bytes > 0))
    });
    // Nothing but key and content joins them: no time, no place near by, and no row of others beside them.
    let is_loose = same_time == 0
        && episode.longest_row() < ROW
        && episode.in_order().saturating_mul(2) < episode.surplus();
    let mut facts = vec![
        episode.moves(),
        if unprotected == 0 {
            let ids = if of_two { ", and not that of the earlier copy" } else { "" };
            format!("all surplus copies carry a producer id{ids}{}", delay(episode))
        } else {
            format!(
                "{unprotected} of {} surplus copies carry no producer id{}",
                episode.surplus(),
                delay(episode)
            )
        },
    ];
    if same_time > 0 {
        facts.push(format!("equal client times in {same_time} of {} pairs", episode.surplus()));
        facts.extend(coarse_times(episode));
    }
    if damaged {
        facts.push("parts of these partitions could not be read (see the coverage)".to_owned());
    }
    facts.extend(pairs_of(episode));
    let inside = borders::begins_inside(episode);
    facts.extend(inside.clone());
    let turns = turns(episode);
    let mut alternatives = Vec::new();
    let other_session = "the two are of different producer sessions";
    if same_time > 0 {
        let why =
            "a mirror, connector or stream keeps the times of its input; its source is not among the files";
        alternatives.push(match connectors::reader(episode) {
            Some(reader) => kept("pipeline-replay", format!("{why}, and {reader}")),
            None => kept("pipeline-replay", why),
        });
        alternatives.push(restart(
            episode,
            turns,
            "a restart that repeats its last input keeps the times where the application sets them",
        ));
        alternatives.push(if of_two {
            dropped("resend-same-session", other_session)
        } else {
            kept(
                "resend-same-session",
                "so does an application that sends again without a restart and sets the times itself",
            )
        });
        alternatives.push(match inside {
            _ if of_two => {
                dropped("retry-without-idempotence", "a retry is of the client that sent the original")
            }
            Some(_) if same_time == episode.surplus() => dropped(
                "retry-without-idempotence",
                "a client retries a batch as a whole, and here a repeat begins inside one",
            ),
            _ => kept(
                "retry-without-idempotence",
                "a client that regroups its batches on retry keeps the times",
            ),
        });
    } else {
        alternatives.push(if of_two {
            dropped("resend-same-session", other_session)
        } else {
            kept("resend-same-session", "an application that sends again writes a new time")
        });
        alternatives.push(restart(episode, turns, "a restart that repeats its last input writes a new time"));
        alternatives.push(kept(
            "pipeline-replay",
            "so does a pipeline, or a job that drives events again, where it does not keep the times of its input",
        ));
        alternatives
            .push(dropped("retry-without-idempotence", "a client that retries keeps the record times"));
    }
    alternatives.push(kept(
        "concurrent-producers",
        if same_time == episode.surplus() {
            "two instances that work on the same events and set the record times themselves look the same"
        } else if both_bare == episode.surplus() {
            "two instances without producer id that work on the same events look the same"
        } else if turns >= ROW {
            "copies and originals take turns, as two live writers do that work on the same events"
        } else {
            "nothing shows that the writer of the copies had begun behind the originals: it may be a second live instance"
        },
    ));
    if episode.is_by_little() && episode.pairs().any(|pair| !pair.has_telling_time()) {
        alternatives.push(equal_events(episode));
    } else if is_loose {
        alternatives.push(kept(
            "equal events",
            "key and content are equal, and nothing came again beside them in a row: they are different events if the key is not \
             unique to one",
        ));
    }
    Words {
        confidence: Confidence::Possible,
        title: if is_loose {
            let (verb, other) = match episode.surplus() {
                1 => ("is", "another event"),
                _ => ("are", "other events"),
            };
            format!(
                "{copies} of {} may be stored again, or {verb} {other} with equal content; the files cannot tell",
                episode.topic_name()
            )
        } else {
            format!(
                "{copies} of {} {} stored again; the files cannot tell how",
                episode.topic_name(),
                are(episode.surplus())
            )
        },
        cause: None,
        facts,
        alternatives,
        would_settle: lines([
            "the application's log at that time: restarts, timeouts, its own retries",
            "the files of the topic that feeds this one, if a pipeline writes it",
        ]),
        advice: is_loose
            .then(|| {
                "look whether each is one event before anything is dropped or refunded: what names an event has to be known (--key)"
                    .to_owned()
            })
            .into_iter()
            .chain(lines([
                if are_in_old_formats(episode) {
                    FORMAT_FIRST
                } else if unprotected > 0 || both_bare > 0 {
                    "switch idempotence on, so that the next incident can be told from the files"
                } else {
                    "find out which hosts and applications had these producer ids, and when each was started"
                },
                if is_loose {
                    "then drop repeats by business key in the consumers"
                } else {
                    "drop repeats by business key in the consumers"
                },
            ]))
            .collect(),
    }
}

/// How often an original stands behind the copy before it: then neither of the two writers was done.
fn turns(episode: &Episode<'_>) -> usize {
    let mut last: BTreeMap<u32, Offset> = BTreeMap::new();
    let mut number = 0;
    for pair in episode.pairs() {
        let before = last.insert(pair.later.partition, pair.later.offset);
        let is_turn = before.is_some_and(|before| before < pair.earlier.offset && before < pair.later.offset);
        number += usize::from(is_turn && pair.same_partition());
    }
    number
}

/// A restart as what may have written the copies.
fn restart(episode: &Episode<'_>, turns: usize, why: &'static str) -> Alternative {
    let of_one = episode.all(|pair| pair.earlier.session.is_some() && !pair.later.producer_id.is_protected());
    match episode.sessions().as_slice() {
        [only] if of_one && turns >= ROW => dropped(
            "resend-new-session",
            format!(
                "session {} wrote the originals and went on behind copies {turns} times: it was not started again, and its \
                 restart wrote none of them",
                only.name
            ),
        ),
        _ => kept("resend-new-session", why),
    }
}

/// What is to be said of equal times that are whole seconds.
pub(super) fn coarse_times(episode: &Episode<'_>) -> Option<String> {
    let says_little = |pair: &Pair<'_>| pair.level <= Level::E3 && !pair.has_telling_time();
    let timed = |pair: &Pair<'_>| pair.later.client_timestamp.is_some();
    let count = episode.count(|pair| says_little(pair) && timed(pair));
    (count > 0).then(|| {
        format!(
            "{count} of these times are whole seconds, as clients write them here: two events of one second have equal ones"
        )
    })
}

/// Why equal events may be different ones.
pub(super) fn what_tells(episode: &Episode<'_>) -> &'static str {
    if episode.is_by_content() {
        "no key tells these events apart"
    } else {
        "hardly any two records differ beside their key"
    }
}

fn equal_events(episode: &Episode<'_>) -> Alternative {
    let tells = what_tells(episode);
    kept("equal events", format!("{tells}: they may be different events with equal content"))
}

/// The same where what came again is spread as by chance.
pub(super) fn equal_by_chance(episode: &Episode<'_>) -> Alternative {
    kept(
        "equal events",
        format!(
            "{}, and they do not come again in the order of what they repeat: they may be different events with equal content",
            what_tells(episode)
        ),
    )
}

/// The same where ids differ that were taken for nonces.
pub(super) fn equal_but_for(ids: &str) -> Alternative {
    kept(
        "equal events",
        format!(
            "{ids} was not counted, as it is never the same twice: where it names the event, a job did its work again, as each \
             day or month, and nothing is stored twice"
        ),
    )
}

/// What decides about such ids.
pub(super) fn names_the_event(ids: &str) -> String {
    let first = ids.split(' ').next().unwrap_or(ids);
    format!("whether {ids} names the event: scan again with --key {first}")
}

/// One content that two sessions wrote.
fn lone_content(episode: &Episode<'_>, earlier: &str, later: &str) -> Words {
    let pair = episode.pairs().next();
    let times = pair.and_then(|pair| {
        let (first, second) = (pair.earlier.client_timestamp?, pair.later.client_timestamp?);
        moments(first.min(second), first.max(second))
    });
    let times = times.map(|times| format!(", with times {times}")).unwrap_or_default();
    Words {
        confidence: Confidence::Possible,
        title: format!(
            "1 record of {} has the content of an earlier one, and nothing else came again beside it",
            episode.topic_name()
        ),
        cause: None,
        facts: vec![
            episode.moves(),
            format!("session {earlier} wrote the earlier one, session {later} the later one{times}"),
        ],
        alternatives: vec![
            equal_events(episode),
            kept("resend-new-session", "a restart that repeats one input writes a new time"),
            kept("concurrent-producers", "so does a second instance that shares one input"),
            kept("pipeline-replay", "so does a job that drives single events again"),
            dropped("retry-without-idempotence", "a retry of a client keeps its producer id"),
            dropped("resend-same-session", "the two are of different producer sessions"),
        ],
        would_settle: lines([
            "whether an id in the record tells the two events apart (dedup-audit keys looks for one)",
        ]),
        advice: lines([
            "name what identifies an event (--key) and scan again, before anything is skipped or refunded",
        ]),
    }
}
