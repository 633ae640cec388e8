//! `pipeline-replay`: a pipeline that reads one topic and writes another wrote a stretch of its
//! output again.
//!
//! Evidence, either of two. Its source is among the files: another topic holds records with equal
//! key, value and client time, fewer times. Or its consumer group stepped back between the two
//! copies: the producer of the later copy commits for that group in its transactions.
//! Innocent twins: an application that writes to both topics by itself (then its producer id stands
//! in both), and a mirror of a topic that holds the event as often itself.

use super::episode::{Episode, count};
use super::pair::Pair;
use super::phrase::{delay, pairs_of, records, were};
use super::{Examples, Words, cause, dropped, kept, lines};
use crate::facts::{Rewind, RewindKind};
use crate::finding::{Confidence, Finding, Level};
use crate::judgement::rewinds;
use crate::relations::{SessionNote, StoredCopy, TimeSource};

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    has_source(pair) || rewind(pair).is_some()
}

/// Whether another topic may be what was read again. A batch that came again with the same borders
/// is first of all a retry of the pipeline's own producer.
fn has_source(pair: &Pair<'_>) -> bool {
    let may_be_retry = super::retry::applies(pair) && !pair.earlier.producer_id.is_protected();
    pair.group.source.is_some() && pair.level <= Level::E3 && !may_be_retry
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
    let source = pair.group.source.as_ref().filter(|_| has_source(pair))?;
    let note = pair.partition(source)?;
    let topic = pair.relations.topics.get(usize::try_from(note.topic).ok()?)?;
    let stamped =
        |copy: &StoredCopy| (copy.timestamp_type == TimeSource::LogAppendTime).then_some(copy.timestamp?);
    pair.relations.rewinds.iter().find(|rewind| {
        let between = stamped(pair.earlier)
            .is_none_or(|earlier| rewind.timestamp.is_none_or(|at| earlier <= at))
            && stamped(pair.later).is_none_or(|later| rewind.timestamp.is_none_or(|at| at <= later));
        rewind.kind == RewindKind::SteppedBack
            && (&rewind.topic, rewind.partition) == (&topic.name, note.partition)
            && (rewind.to..rewind.from).contains(&source.offset)
            && between
    })
}

/// Adds the steps back that the finding rests on.
pub(super) fn link(finding: &mut Finding, episode: &Episode<'_>, examples: Examples) {
    let mut steps: Vec<&Rewind> =
        episode.pairs().flat_map(|pair| [rewind(&pair), source_rewind(&pair)]).flatten().collect();
    steps.sort_unstable();
    steps.dedup();
    let most = match examples {
        Examples::AtMost(most) => most,
        Examples::All => usize::MAX,
    };
    finding.rewinds_omitted = count(steps.len().saturating_sub(most));
    finding.rewinds = steps.into_iter().take(most).map(rewinds::reported).collect();
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let with_source = episode.count(has_source);
    let step = episode.pairs().find_map(|pair| rewind(&pair));
    let source = episode.pairs().find_map(|pair| {
        let place = pair.group.source.as_ref()?;
        let note = pair.partition(place)?;
        Some(format!("{} offset {}", note.directory, place.offset))
    });
    let mut facts = vec![format!(
        "what stands at {} came again at {}",
        episode.stretches(|p| p.earlier),
        episode.stretches(|p| p.later)
    )];
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
    facts.push(format!("{}{}", pairs_of(episode), delay(episode)));
    let mut alternatives = vec![dropped(
        "resend-same-session",
        "an application that sends again by itself has no reason to keep another topic's times, or to move a group back",
    )];
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
    let unprotected = |copy: &crate::relations::StoredCopy| !copy.producer_id.is_protected();
    let may_fan_out = step.is_none()
        && episode
            .pairs()
            .any(|p| unprotected(p.later) && p.group.source.as_deref().is_some_and(unprotected));
    if may_fan_out {
        alternatives.push(kept(
            "fan-out",
            "neither topic's records carry a producer id here, so one application may write to both by itself",
        ));
    }
    Words {
        confidence: if may_fan_out { Confidence::Possible } else { Confidence::Likely },
        title: format!(
            "{copies} of {} {} written again by a pipeline",
            episode.topic_name(),
            were(episode.surplus())
        ),
        cause: Some(cause(
            if step.is_some() || over_source > 0 {
                "the group's position was set back, and the input was processed again"
            } else {
                "a mirror, connector or stream restarted from an older position than it had written"
            },
            Confidence::Likely,
        )),
        facts,
        alternatives,
        would_settle: lines(["the pipeline's log: restarts, rebalances, offset resets at that time"]),
        advice: lines([
            "let the pipeline commit its position with its output (exactly-once), or shorten its commit interval",
            "drop repeats by business key in the consumers of the output",
        ]),
    }
}
