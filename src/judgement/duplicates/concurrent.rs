//! `concurrent-producers`: two live writers of the same events.
//!
//! Evidence: the session of the copy had written before the original was. Inside a partition offsets
//! answer that, never client times; lifetimes that merely overlap prove nothing.

use super::alive::Alive;
use super::episode::Episode;
use super::pair::{Begun, Pair};
use super::phrase::{pairs_of, records, session_life, were, were_told};
use super::undetermined::{equal_but_for, equal_by_chance, names_the_event};
use super::{Words, cause, dropped, kept, lines};
use crate::finding::{Cause, Confidence};
use crate::relations::SessionNote;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    !pair.same_session() && pair.later_session().is_some() && pair.later_session_begun() == Begun::Before
}

/// So many events, and so many offsets, are few: of two instances that do the same work the second may begin so far behind.
const HEAD: usize = 3;

/// Lives of writers that are told one by one.
const LIVES: usize = 4;

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let sessions = episode.sessions();
    let proved = episode.count(|p| p.later_session_begun() == Begun::Before && is_told_by_offsets(p));
    let by_time = episode.count(|p| p.later_session_begun() == Begun::Before && !is_told_by_offsets(p));
    let alive = Alive::of(episode.pairs());
    let lives = |p: &Pair<'_>| p.later_session_begun() == Begun::Before || alive.shows(p);
    let elsewhere = episode.count(|p| p.later_session_begun() != Begun::Before && alive.shows(p));
    let behind = episode.surplus().saturating_sub(proved + by_time + elsewhere);
    let mut shown: Vec<String> = Vec::new();
    for (pairs, why) in [
        (proved, "the offsets show that the writer of the copy had begun before the original was written"),
        (by_time, "its times show that the writer of the copy had begun before the original was written"),
        (
            elsewhere,
            "another partition shows the writer of the copy alive, by the clock of the original's writer",
        ),
        (behind, "the writer of the copy is first seen behind the original"),
    ] {
        if pairs == 0 {
            continue;
        }
        shown.push(if shown.is_empty() {
            format!("in {pairs} of {} pairs {why}", episode.surplus())
        } else {
            format!("in {pairs} more {why}")
        });
    }
    let mut facts = vec![shown.join(", ")];
    let in_sight = episode.surplus().saturating_sub(behind);
    // One that was given the same event at the same moment is first seen right behind the original.
    let is_head =
        episode.all(|p| lives(p) || begins_right_behind(p)) && in_sight >= HEAD.saturating_mul(behind);
    if !is_head {
        facts.push(format!(
            "first seen behind the originals is the writer of {} (copies of {})",
            episode.stretches_where(|p| !lives(p), |p| &p.later),
            episode.stretches_where(|p| !lives(p), |p| &p.earlier)
        ));
    }
    let below = episode.count(had_begun_below);
    if below > 0 {
        facts.push(format!(
            "in {below} of them it is first seen behind the original, but with a sequence above 0: what it wrote before stood below \
             the first file or the log start"
        ));
    }
    facts.extend(shares(episode, &sessions));
    facts.extend(
        sessions.iter().take(LIVES).map(|session| session_life(episode.relations, episode.topic, session)),
    );
    if sessions.len() > LIVES {
        facts.push(format!("{} more sessions", sessions.len() - LIVES));
    }
    facts.extend(pairs_of(episode));
    let number = match sessions.len() {
        0..=2 => "two producers".to_owned(),
        more => format!("{more} producers"),
    };
    let story = Story::of(episode, sessions.len(), behind);
    let by_chance = episode.is_as_by_chance();
    let ids = episode.ids_that_differ();
    let unsure = by_chance || ids.is_some();
    let confidence = if unsure { Confidence::Possible } else { Confidence::Likely };
    Words {
        confidence,
        title: format!(
            "{} of {} {} written by {number} that were alive at the same time{}",
            records(if is_head { episode.surplus() } else { in_sight }),
            episode.topic_name(),
            were_told(if is_head { episode.surplus() } else { in_sight }, confidence),
            if is_head {
                String::new()
            } else {
                format!(
                    "; {behind} more {} already stored when {} is first seen",
                    were(behind),
                    if sessions.len() > 2 { "the writer of the copy" } else { "the later one" }
                )
            }
        ),
        cause: Some(story.cause()),
        facts,
        alternatives: ids.as_deref().map(equal_but_for).or_else(|| by_chance.then(|| equal_by_chance(episode))).into_iter().chain([
            if behind == 0 {
                dropped("resend-new-session", "the copies' writers did not begin after the originals")
            } else if is_head {
                dropped(
                    "resend-new-session",
                    format!(
                        "{in_sight} of {} pairs show both writers alive at one time; in the others the writer of the copy is first seen \
                         at most {HEAD} offsets behind the original: it began when that was sent, and read nothing old",
                        episode.surplus()
                    ),
                )
            } else {
                kept(
                    "resend-new-session",
                    format!(
                        "for {behind} of {} copies: their writer is first seen behind these originals, so a restart from an \
                         old position may have written them, beside an instance that lived on",
                        episode.surplus()
                    ),
                )
            },
            dropped("retry-without-idempotence", "a retry keeps its producer id"),
            kept(
                "pipeline-replay",
                "each could be fed by an input that was delivered to all of them; how they share their input is not in these files",
            ),
        ])
        .collect(),
        would_settle: ids.as_deref().map(names_the_event).or_else(|| by_chance
            .then(|| "whether an id in the records tells these events apart (dedup-audit keys looks for one)".to_owned()))
            .into_iter()
            .chain(lines([
                "which hosts and applications had these producer ids, and how they share the work",
            ]))
            .chain((!is_head).then(|| {
                "when the later writer was started, and from which position: before the originals or behind them".to_owned()
            }))
            .collect(),
        advice: story.advice(),
    }
}

/// What two live writers of the same events may be.
#[derive(Clone, Copy)]
enum Story {
    /// One of two writes nothing but what the other had written.
    Repeater,
    /// One of two began with events that the other had written, many of them, and then both went on.
    Replacement,
    /// Two that work on the same events.
    Instances,
    /// More than two.
    Several,
}

impl Story {
    fn of(episode: &Episode<'_>, sessions: usize, behind: usize) -> Self {
        if sessions > 2 {
            Self::Several
        } else if !one_only_repeats(episode) {
            if behind > HEAD { Self::Replacement } else { Self::Instances }
        } else if behind > HEAD && repeats_a_stretch(episode) {
            Self::Replacement
        } else {
            Self::Repeater
        }
    }

    fn cause(self) -> Cause {
        let (text, confidence) = match self {
            Self::Repeater => (
                "a second writer that repeats events (a job that publishes again, a repair), or a second instance that is always behind",
                Confidence::Possible,
            ),
            Self::Replacement => (
                "two instances work on the same events: the later one began with what the earlier one had written, as a replacement for one \
                 that had only paused, or one that runs behind",
                Confidence::Likely,
            ),
            Self::Instances => ("two instances work on the same events", Confidence::Likely),
            Self::Several => ("several instances work on the same events", Confidence::Likely),
        };
        cause(text, confidence)
    }

    fn advice(self) -> Vec<String> {
        let find = match self {
            Self::Repeater => {
                "find out what the writer of the copies is: a job that publishes or repairs, then let it skip what is stored; or an \
                 instance that runs behind, then stop one of the two"
            }
            Self::Replacement => {
                "look at what started the later instance while the earlier one lived: a health check or a lock that gave up on a paused \
                 one; fence the earlier one before a replacement begins"
            }
            Self::Instances | Self::Several => {
                "find the other instance: a deployment that overlaps, a lost lock, two schedulers, one that was given up and came back"
            }
        };
        lines([find, "drop repeats by business key in the consumers"])
    }
}

/// Whether all copies but few follow each other as their originals do.
fn repeats_a_stretch(episode: &Episode<'_>) -> bool {
    episode.longest_row().saturating_mul(2) >= episode.surplus()
}

/// How many of the events each writer wrote: instances that all do the same work share nearly all of them.
fn shares(episode: &Episode<'_>, sessions: &[Arc<SessionNote>]) -> Option<String> {
    let mut wrote: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut group, mut writers) = (None, BTreeSet::new());
    let mut count = |writers: &mut BTreeSet<u32>| {
        for writer in std::mem::take(writers) {
            *wrote.entry(writer).or_default() += 1;
        }
    };
    for pair in episode.pairs() {
        if group.replace(pair.group) != Some(pair.group) {
            count(&mut writers);
        }
        writers.extend([pair.earlier.session, pair.later.session].into_iter().flatten());
    }
    count(&mut writers);
    let events = episode.groups_count();
    let (least, most) = (wrote.values().min()?, wrote.values().max()?);
    if events < 2 || wrote.len() < sessions.len() {
        return None;
    }
    Some(if least == most {
        format!("each of the {} sessions wrote {most} of these {events} events", wrote.len())
    } else {
        format!("each of the {} sessions wrote {least} to {most} of these {events} events", wrote.len())
    })
}

/// Whether the writer of the copy is first seen right behind the original, in its partition.
fn begins_right_behind(pair: &Pair<'_>) -> bool {
    let near =
        |first: i64| first.saturating_sub(pair.earlier.offset.0) <= i64::try_from(HEAD).unwrap_or(i64::MAX);
    pair.same_partition()
        && pair.later_session().is_some_and(|session| {
            session.span(pair.later.partition).is_some_and(|span| near(span.first_offset.0))
        })
}

fn is_told_by_offsets(pair: &Pair<'_>) -> bool {
    pair.later_session().is_some_and(|session| session.span(pair.earlier.partition).is_some())
}

/// Whether only the sequence of its first batch shows that the writer of the copy had begun before the original.
fn had_begun_below(pair: &Pair<'_>) -> bool {
    pair.later_session().is_some_and(|session| {
        session.span(pair.earlier.partition).is_some_and(|span| {
            span.first_offset > pair.earlier.offset && pair.had_begun_below(&session, span)
        })
    })
}

/// Whether all copies are of one writer, and all originals of the other.
fn one_only_repeats(episode: &Episode<'_>) -> bool {
    let mut pairs = episode.pairs().map(|pair| pair.later.session);
    let first = pairs.next();
    pairs.all(|session| Some(session) == first)
}
