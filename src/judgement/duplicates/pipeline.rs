//! `pipeline-replay`: a pipeline that reads one topic and writes another wrote a stretch of its
//! output again.
//!
//! Evidence, any of three. Its source is among the files: another topic holds records with equal
//! key, value and client time, fewer times. Or its consumer group stepped back between the two
//! copies: the producer of the later copy commits for that group in its transactions. Or some group
//! stepped back between the two copies over records with the same business keys: where no transaction joins
//! group and producer, only all copies of a session together tell ([`read_again`]).
//! Innocent twins: an application that writes to both topics by itself, with one producer or with two,
//! and a mirror of a topic that holds the event as often itself. Equal times alone show no direction:
//! a step of a group does, the name of a mirrored topic, or copies without producer id of records with one.

use super::episode::{Episode, count};
use super::pair::{Pair, partition};
use super::phrase::{delay, pairs_of, records, session_life, were};
use super::{Examples, Words, cause, dropped, kept, lines};
use crate::facts::{Rewind, RewindKind};
use crate::finding::{Confidence, Finding, Level};
use crate::judgement::rewinds;
use crate::relations::{SessionNote, SessionSpan, StoredCopy, TimeSource};
use std::collections::BTreeSet;

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    has_source(pair) || rewind(pair).is_some()
}

/// Whether another topic may be what was read again. A batch that came again with the same borders
/// is first of all a retry of the pipeline's own producer.
fn has_source(pair: &Pair<'_>) -> bool {
    let may_be_retry = super::retry::applies(pair) && !pair.earlier.producer_id.is_protected();
    pair.source.is_some() && pair.level <= Level::E3 && !may_be_retry
}

/// The step back of a group for which the later writer began to commit behind it, and the earlier
/// one before it. Commits are ordered by their offsets, not by times: a pipeline keeps the times of
/// its input.
fn rewind<'r>(pair: &Pair<'r>) -> Option<&'r Rewind> {
    if pair.same_session() {
        return None;
    }
    let commits = |session: &'r SessionNote, rewind: &Rewind| {
        session.groups.iter().find(|commits| commits.group == rewind.group)
    };
    let (earlier, later) = (pair.earlier_session()?, pair.later_session()?);
    pair.relations.rewinds.iter().find(|rewind| {
        rewind.kind == RewindKind::SteppedBack
            && commits(later, rewind).is_some_and(|commits| commits.first_offset > rewind.at_offset)
            && commits(earlier, rewind).is_some_and(|commits| commits.first_offset < rewind.at_offset)
    })
}

/// The step back of a group over the record from which a copy was made, where its place shows it. By
/// the times it came between the two copies, where the broker stamped them; else only the place tells.
fn source_rewind<'r>(pair: &Pair<'r>) -> Option<&'r Rewind> {
    let source = pair.source.as_ref().filter(|_| has_source(pair))?;
    let note = pair.partition(source)?;
    let topic = pair.relations.topics.get(usize::try_from(note.topic).ok()?)?;
    let stamped =
        |copy: &StoredCopy| (copy.timestamp_type == TimeSource::LogAppendTime).then_some(copy.timestamp?);
    pair.relations.rewinds.iter().find(|rewind| {
        let between = stamped(&pair.earlier)
            .is_none_or(|earlier| rewind.timestamp.is_none_or(|at| earlier <= at))
            && stamped(&pair.later).is_none_or(|later| rewind.timestamp.is_none_or(|at| at <= later));
        rewind.kind == RewindKind::SteppedBack
            && (&rewind.topic, rewind.partition) == (&topic.name, note.partition)
            && (rewind.to..rewind.from).contains(&source.offset)
            && between
    })
}

/// How long behind the output a group may commit that it is where it was before: `auto.commit.interval.ms` is five
/// seconds by default, and one poll may hold a large part of the input.
const COMMITS_BEHIND_MS: i64 = 5 * 60 * 1000;

/// The step back of a group between the two copies, over a record of another topic with their business key. It says
/// nothing where a writer of the copies wrote that topic itself.
pub(super) fn read_again<'r>(pair: &Pair<'r>) -> Option<&'r Rewind> {
    let read = pair.later.reread?;
    let note = partition(pair.relations, read.partition)?;
    let topic = pair.relations.topics.get(usize::try_from(note.topic).ok()?)?;
    let wrote = |session: &SessionNote| {
        let topic_of = |span: &SessionSpan| partition(pair.relations, span.partition).map(|note| note.topic);
        session.spans.iter().any(|span| topic_of(span) == Some(note.topic))
    };
    if [pair.earlier_session(), pair.later_session()].into_iter().flatten().any(wrote) {
        return None;
    }
    let (earlier, later) = (pair.earlier.timestamp?, pair.later.timestamp?);
    pair.relations.rewinds.iter().find(|rewind| {
        let in_time = rewind.timestamp.is_some_and(|at| earlier <= at)
            && rewind.caught_up.is_none_or(|at| later <= at.saturating_add(COMMITS_BEHIND_MS));
        rewind.kind == RewindKind::SteppedBack
            && (&rewind.topic, rewind.partition) == (&topic.name, note.partition)
            && (rewind.to..rewind.from).contains(&read.offset)
            && in_time
    })
}

/// Why a replay is not excluded where no step back is linked with the writers: whether a group stepped back at
/// all, and which.
pub(super) fn unlinked(episode: &Episode<'_>, own_group: Option<&str>) -> String {
    let elsewhere =
        |rewind: &&Rewind| rewind.kind == RewindKind::SteppedBack && rewind.topic != episode.topic_name();
    let mut steps = episode.relations.rewinds.iter().filter(elsewhere);
    let (first, more) = (steps.next(), steps.count());
    match (first, own_group) {
        (Some(step), _) => {
            let more = match more {
                0 => String::new(),
                1 => ", one more step back is told".to_owned(),
                more => format!(", {more} more steps back are told"),
            };
            let linked = match episode.count(|pair| read_again(pair).is_some()) {
                0 => "nothing here links the two".to_owned(),
                some => format!(
                    "it was given the business keys of {some} of {} copies again",
                    episode.surplus()
                ),
            };
            format!(
                "group {} stepped back on {}-{} from {} to {}{more}: if that is this application's, it read and wrote again; {linked}",
                step.group, step.topic, step.partition, step.from, step.to
            )
        }
        (None, Some(group)) => format!(
            "if group {group} is not the application's own: that one may have stepped back; no committed position here did"
        ),
        (None, None) => "if this application reads another topic, its consumer group may have stepped back; no committed position here did".to_owned(),
    }
}

/// Adds the steps back that the finding rests on.
pub(super) fn link(finding: &mut Finding, episode: &Episode<'_>, examples: Examples) {
    let steps: BTreeSet<&Rewind> = episode
        .pairs()
        .flat_map(|pair| [rewind(&pair), source_rewind(&pair), read_again(&pair)])
        .flatten()
        .collect();
    let most = match examples {
        Examples::AtMost(most) => most,
        Examples::All => usize::MAX,
    };
    finding.rewinds_omitted = count(steps.len().saturating_sub(most));
    finding.rewinds = steps.into_iter().take(most).map(rewinds::reported).collect();
}

/// Whether the topic has the name of its source in its own, as mirrors name theirs.
fn is_named_after_source(pair: &Pair<'_>) -> bool {
    let topic = |copy: &StoredCopy| pair.relations.place(copy).topic;
    pair.source.as_deref().is_some_and(|source| {
        let (own, source) = (topic(&pair.later), topic(source));
        own.len() > source.len() && own.ends_with(source.as_str())
    })
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let with_source = episode.count(has_source);
    let step = episode.pairs().find_map(|pair| rewind(&pair));
    let source = episode.pairs().find_map(|pair| {
        let place = pair.source.as_ref()?;
        let note = pair.partition(place)?;
        Some(format!("{} offset {}", note.directory, place.offset))
    });
    let mut facts = vec![format!("{}{}", episode.moves(), delay(episode))];
    if let Some(source) = source.filter(|_| with_source > 0) {
        facts.push(format!(
            "{with_source} of {} have a record with equal key, value and client time in another topic, which holds it fewer times (such as {source})",
            episode.surplus()
        ));
    }
    if let Some(step) = step {
        facts.push(format!(
            "between the copies group {} stepped back on {}-{} from {} to {}; the later producer commits for it",
            step.group, step.topic, step.partition, step.from, step.to
        ));
    }
    let over_source = episode.count(|pair| source_rewind(pair).is_some());
    if let Some(step) = episode.pairs().find_map(|pair| source_rewind(&pair)) {
        facts.push(format!(
            "group {} stepped back on {}-{} from {} to {}: {over_source} of the source records lie in that stretch",
            step.group, step.topic, step.partition, step.from, step.to
        ));
    }
    let given_again = episode.count(|pair| read_again(pair).is_some());
    if let Some(step) = episode.pairs().find_map(|pair| read_again(&pair)).filter(|_| step.is_none()) {
        facts.push(format!(
            "between the copies group {} stepped back on {}-{} from {} to {}: it was given the business keys of {given_again} of {} copies again",
            step.group, step.topic, step.partition, step.from, step.to, episode.surplus()
        ));
    }
    let by_keys_alone = step.is_none() && with_source == 0 && given_again > 0;
    if episode.sessions().len() == 2 {
        let sessions = [episode.earlier_session, episode.later_session].into_iter().flatten();
        facts.extend(sessions.map(|session| session_life(episode.relations, episode.topic, session)));
    }
    facts.extend(pairs_of(episode));
    let told_apart =
        episode.all(|p| !p.same_session() && p.earlier.session.is_some() && p.later.session.is_some());
    let mut alternatives = Vec::new();
    if by_keys_alone {
        alternatives.push(kept(
            "another application",
            "nothing but the business keys and the times joins the group with the writer of the copies: it may be another application's",
        ));
    }
    if step.is_none() {
        alternatives.push(if episode.all(|p| p.later.producer_id.is_protected()) {
            kept(
                "resend-new-session",
                "an application that takes its records and their times from elsewhere, and began again there, writes the same",
            )
        } else {
            kept(
                "retry-without-idempotence",
                "a pipeline's own producer without idempotence can regroup its retries; both are repeats of the pipeline",
            )
        });
    }
    let unprotected = |copy: &StoredCopy| !copy.producer_id.is_protected();
    let may_fan_out = step.is_none()
        && over_source == 0
        && episode.pairs().any(|p| {
            // A mirror writes without producer id by default, or its topic has the source's name in its own.
            let source = p.source.as_deref();
            let alike = |source: &StoredCopy| !unprotected(&p.later) || unprotected(source);
            source.is_some_and(alike) && !is_named_after_source(&p)
        });
    if may_fan_out {
        alternatives.push(kept(
            "fan-out",
            "equal times show no direction: one application may write to both topics, or the other topic may be fed from this one",
        ));
    }
    alternatives.push(if told_apart {
        dropped("resend-same-session", "originals and copies are of different producer sessions")
    } else {
        kept(
            "resend-same-session",
            "an application that sets the record times itself can send them again with equal times",
        )
    });
    Words {
        confidence: if may_fan_out { Confidence::Possible } else { Confidence::Likely },
        title: format!(
            "{copies} of {} {} written again {}",
            episode.topic_name(),
            were(episode.surplus()),
            if may_fan_out { "with the times of another topic's records" } else { "by a pipeline" }
        ),
        cause: Some(cause(
            if step.is_some() || over_source > 0 || by_keys_alone {
                "the group's position was set back, and the input was processed again"
            } else {
                "a mirror, connector or stream restarted from an older position than it had written"
            },
            Confidence::Likely,
        )),
        facts,
        alternatives,
        would_settle: if may_fan_out {
            lines([
                "what writes the other topic and what reads it; the commits of a group (dedup-audit offsets)",
                "the pipeline's log, if there is one: restarts, rebalances, offset resets",
            ])
        } else {
            let log = "the pipeline's log: restarts, rebalances, offset resets at that time";
            if by_keys_alone {
                lines(["whether the group that stepped back is the writer's", log])
            } else {
                lines([log])
            }
        },
        advice: if may_fan_out {
            lines([
                "find out what writes both topics: one application, a pipeline between them, or one from a third place",
                "let whatever it is commit its position with its output",
                "drop repeats by business key in the consumers of the output",
            ])
        } else {
            lines([
                "let the pipeline commit its position with its output (exactly-once), or shorten its commit interval",
                "drop repeats by business key in the consumers of the output",
            ])
        },
    }
}
