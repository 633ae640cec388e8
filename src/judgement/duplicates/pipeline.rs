//! `pipeline-replay`: a pipeline that reads one topic and writes another wrote a stretch of its
//! output again.
//!
//! Evidence, either of two. Its source is among the files: another topic holds records with equal
//! key, value and client time, fewer times. Or its consumer group stepped back between the two
//! copies: the producer of the later copy commits for that group in its transactions, and it is the one that
//! brought the group back to where it had been.
//! Where a connector stored its position right in front of the first copy's source, that is told as well.
//! Innocent twins: an application that writes to both topics by itself, with one producer or with two,
//! and a mirror of a topic that holds the event as often itself. Equal times alone show no direction:
//! a step of a group does, the name of a mirrored topic, or copies without producer id of records with one.

use super::connectors::ReadOn;
use super::episode::Episode;
use super::pair::Pair;
use super::phrase::{delay, pairs_of, records, session_life, were};
use super::reread;
use super::{Examples, Words, cause, dropped, kept, lines};
use crate::facts::{Rewind, RewindKind};
use crate::finding::phrase::group_named;
use crate::finding::{Confidence, Finding, Level};
use crate::relations::{StoredCopy, TimeSource};
use crate::units::{Offset, ProducerId};
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
    let (earlier, later) = (pair.earlier_session()?, pair.later_session()?);
    let in_both = later.groups.iter().filter_map(|commits| {
        let before = earlier.groups.iter().find(|before| before.group == commits.group)?;
        Some((before, commits))
    });
    let in_both: Vec<_> = in_both.collect();
    if in_both.is_empty() {
        return None;
    }
    let cluster = pair.partition(&pair.later)?.cluster;
    pair.relations.rewinds.iter().find(|rewind| {
        let at = rewind.at_offset;
        // Who was back before the later writer's first commit had no part in what that one wrote.
        let went_on = |first: Offset| rewind.caught_up_at.is_none_or(|back| back >= first);
        rewind.kind == RewindKind::SteppedBack
            && rewind.cluster == cluster
            && in_both.iter().any(|(before, commits)| {
                commits.group == rewind.group
                    && before.first_offset < at
                    && commits.first_offset > at
                    && went_on(commits.first_offset)
            })
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
            && (rewind.cluster, &rewind.topic, rewind.partition)
                == (note.cluster, &topic.name, note.partition)
            && (rewind.to..rewind.from).contains(&source.offset)
            && between
    })
}

/// Adds the steps back that the finding rests on.
pub(super) fn link(finding: &mut Finding, episode: &Episode<'_>, examples: Examples) {
    let steps: BTreeSet<&Rewind> =
        episode.pairs().flat_map(|pair| [rewind(&pair), source_rewind(&pair)]).flatten().collect();
    reread::put(finding, steps.into_iter(), examples);
}

/// Whether a record is taken from an equal one of another topic with the same time, and not the other way round: a
/// mirror has the name of its source in its own, and writes without producer id by default. Each side is a topic with
/// the producer id of its record.
#[must_use]
pub fn is_fed_from(own: (&str, ProducerId), source: (&str, ProducerId)) -> bool {
    let named_after = |longer: &str, name: &str| longer.len() > name.len() && longer.ends_with(name);
    match (named_after(own.0, source.0), named_after(source.0, own.0)) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => source.1.is_protected() && !own.1.is_protected(),
    }
}

/// Whether that is so of the later copy of a pair.
fn later_is_fed(pair: &Pair<'_>) -> bool {
    let topic = |copy: &StoredCopy| pair.relations.place(copy).topic;
    pair.source.as_deref().is_some_and(|source| {
        is_fed_from((&topic(&pair.later), pair.later.producer_id), (&topic(source), source.producer_id))
    })
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let with_source = episode.count(has_source);
    let step = episode.pairs().find_map(|pair| rewind(&pair));
    let source = episode.pairs().find_map(|pair| {
        let place = pair.source.as_ref()?;
        let note = pair.partition(place)?;
        Some(format!("{} offset {}", note.name(), place.offset))
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
            group_named(&step.group), step.topic, step.partition, step.from, step.to
        ));
    }
    let over_source = episode.count(|pair| source_rewind(pair).is_some());
    if let Some(step) = episode.pairs().find_map(|pair| source_rewind(&pair)) {
        facts.push(format!(
            "group {} stepped back on {}-{} from {} to {}: {over_source} of the source records lie in that stretch",
            group_named(&step.group), step.topic, step.partition, step.from, step.to
        ));
    }
    let read_on = ReadOn::of(episode);
    facts.extend(read_on.iter().flat_map(ReadOn::facts));
    if episode.sessions().len() == 2 {
        let sessions = [&episode.earlier_session, &episode.later_session].into_iter().flatten();
        facts.extend(sessions.map(|session| session_life(episode.relations, episode.topic, session)));
    }
    facts.extend(pairs_of(episode));
    let told_apart =
        episode.all(|p| !p.same_session() && p.earlier.session.is_some() && p.later.session.is_some());
    let mut alternatives = Vec::new();
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
    let may_fan_out = step.is_none()
        && over_source == 0
        && read_on.is_none()
        && episode.pairs().any(|pair| pair.source.is_some() && !later_is_fed(&pair));
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
            if step.is_some_and(|step| step.members == Some(0)) {
                "the group's position was set back from outside, while it had no members, and the input was processed again"
            } else if step.is_some() || over_source > 0 {
                "the group's position was set back, and the input was processed again"
            } else if read_on.as_ref().is_some_and(ReadOn::is_set_back) {
                "the connector's position was set back, and the input was copied again"
            } else {
                "a mirror, connector or stream restarted from an older position than it had written"
            },
            Confidence::Likely,
        )),
        facts,
        alternatives,
        would_settle: if let Some(step) = step {
            vec![
                format!(
                    "who or what reset the offsets of group {} then: {}",
                    group_named(&step.group),
                    if step.members == Some(0) {
                        "a tool or an admin client (kafka-consumer-groups.sh --reset-offsets)"
                    } else {
                        "a seek of the application, or an admin client"
                    }
                ),
                "the pipeline's log at that time".to_owned(),
            ]
        } else if may_fan_out {
            lines([
                "what writes the other topic and what reads it; the commits of a group (dedup-audit offsets)",
                "the pipeline's log, if there is one: restarts, rebalances, offset resets",
            ])
        } else {
            lines(["the pipeline's log: restarts, rebalances, offset resets at that time"])
        },
        advice: if let Some(step) = step {
            // It commits for the group in its own transactions: more of exactly-once would not have helped.
            vec![
                format!(
                    "find who set the position of group {} back: output and position are one transaction already, which does \
                     not help against a position that is set by hand",
                    step.group
                ),
                "drop repeats by business key in the consumers of the output".to_owned(),
            ]
        } else if may_fan_out {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_fed_from_the_topic_whose_name_it_bears() {
        let (with, without) = (ProducerId(7), ProducerId(-1));
        assert!(is_fed_from(("east.orders", without), ("orders", with)));
        assert!(is_fed_from(("east.orders", with), ("orders", without)), "a mirror may be idempotent");
        assert!(!is_fed_from(("orders", without), ("east.orders", with)), "nor does the source come from it");
        assert!(is_fed_from(("copy", without), ("orders", with)), "mirrors write without producer id");
        assert!(!is_fed_from(("copy", with), ("orders", with)), "equal times show no direction");
        assert!(!is_fed_from(("copy", without), ("orders", without)));
    }
}
