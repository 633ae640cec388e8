//! `resend-new-session`: a later session wrote records of an earlier one again.
//!
//! Evidence: another producer id, or a restarted transactional one, whose first write came after the
//! originals. Idempotence covers one session: a new one gets a new id or epoch, and the broker takes
//! its records as new.

use super::episode::{Episode, count};
use super::pair::{self, Begun, Pair};
use super::phrase::{leader_epochs, pairs_of, records, session_life, were_told};
use super::publication::{News, Overlap};
use super::reread;
use super::resumed::Restart;
use super::undetermined::{equal_but_for, equal_by_chance, names_the_event, what_tells};
use super::{Words, cause, dropped, kept, lines};
use crate::finding::phrase::moment;
use crate::finding::{Confidence, Level, Visibility};
use crate::relations::{SessionNote, SessionSpan, TimeSource};
use crate::units::Sequence;
use std::sync::Arc;

/// Events in a row that no coincidence brings.
const ROW: usize = 3;

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    if pair.same_session() {
        return false;
    }
    if pair.later.producer_id.is_protected() {
        pair.later_session_begun() == Begun::After
    } else {
        // A writer without producer id that had not written before the original, behind a session
        // that had ended: one that writes beside a living session can be anything.
        let outlived = pair
            .earlier_session()
            .is_some_and(|session| pair::wrote_behind(&session, pair.later.partition, pair.later.offset));
        pair.unprotected_begun() == Begun::After && !outlived
    }
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let seen_again = episode.pairs().find_map(|p| seen_again(&p));
    let earlier_goes_on = seen_again.is_some();
    let same_id = episode.all(|p| p.earlier.producer_id == p.later.producer_id);
    let mut facts: Vec<String> = [&episode.earlier_session, &episode.later_session]
        .into_iter()
        .flatten()
        .map(|session| session_life(episode.relations, episode.topic, session))
        .collect();
    facts.push(episode.moves());
    facts.extend(leader_epochs(episode));
    facts.extend(pairs_of(episode));
    let fenced = same_id && episode.all(|pair| pair.later.is_transactional());
    let concurrent = if fenced {
        dropped(
            "concurrent-producers",
            "the later session has the same transactional producer id and a higher epoch: the coordinator had fenced the earlier one",
        )
    } else if let Some(place) = seen_again {
        kept(
            "concurrent-producers",
            format!(
                "{place}; two live instances are not excluded, and no more is a restart beside one that lived on"
            ),
        )
    } else if episode.earlier_session.is_none() {
        kept(
            "concurrent-producers",
            "the originals carry no producer id, so nothing tells whether their writer went on",
        )
    } else {
        kept(
            "concurrent-producers",
            "the earlier session is not seen again, but a second live instance that fell silent is not excluded",
        )
    };
    let ids = transactional_ids(episode);
    let other_ids = ids.filter(|(earlier, later)| earlier != later);
    facts.extend(other_ids.map(|(earlier, later)| {
        format!(
            "the two sessions have different transactional ids, {earlier} and {later}: a coordinator fences an instance, and ends \
             what it left open, only when the next one comes with the same id"
        )
    }));
    // A transactional id keeps its producer id as long as the coordinator knows it.
    let unstable_id = ids.is_none()
        && !same_id
        && episode.all(|pair| pair.earlier.is_transactional() && pair.later.is_transactional());
    if unstable_id {
        facts.push(
            "the sessions are transactional, and their producer ids differ: a restart under one transactional.id keeps the \
             producer id and gets a higher epoch, unless the id had expired or its epochs were used up"
                .to_owned(),
        );
    }
    if episode.all(|pair| pair.earlier.visibility == Visibility::Open) {
        facts.push(
            "the originals are in an open transaction: when that is aborted, read_committed consumers get each event \
             once, and nothing has to be removed; when it is committed, each event counts twice"
                .to_owned(),
        );
    }
    let row = episode.longest_row();
    let headless = episode.earlier_session.as_ref().is_some_and(|session| session.begins_midstream);
    let from_inside = headless && begins_inside(episode);
    let whole = !earlier_goes_on && !from_inside && repeats_whole_session(episode);
    let publications = publications(episode);
    let news = news(episode);
    let publication = if news.is_some() {
        Some(kept(
            "full publication",
            "a job that writes its whole list at each run adds what is new since the run before; a restart that read only one of its inputs again looks the same",
        ))
    } else if publications.is_some() {
        Some(kept(
            "full publication",
            "a job that writes its whole state at each run makes the same records, and means each of them",
        ))
    } else if whole {
        Some(kept(
            "full publication",
            "two runs of a job that writes its whole state each time look the same",
        ))
    } else {
        None
    };
    let weak = episode.is_by_little() && (row < ROW || !whole && episode.is_as_by_chance());
    let ids = episode.ids_that_differ();
    let sessions = episode.sessions();
    if sessions.len() > 2 {
        facts.push(format!("{} sessions wrote these events one after the other", sessions.len()));
    }
    if let Some(sessions) = publications {
        facts.push(format!("{sessions} sessions each wrote the same whole set of events and nothing else"));
    }
    let is_news = news.is_some();
    facts.extend(news.into_iter().flat_map(News::facts));
    let restart = Restart::of(episode);
    if let (Some(restart), Some(later)) = (&restart, &episode.later_session) {
        facts.push(restart.fact(&later.name));
    }
    let done_twice = episode.all(both_committed);
    if done_twice {
        facts.push("originals and copies are in committed transactions".to_owned());
    }
    if row >= ROW && !weak {
        let events = episode.groups_count();
        facts.insert(
            0,
            if row < events {
                format!(
                    "{events} different events came again, up to {row} of them in a row in their old order"
                )
            } else {
                format!("{events} different events came again in their old order")
            },
        );
    }
    let bare = episode.count(|p| !p.later.producer_id.is_protected());
    if bare > 0 {
        facts.insert(
            0,
            format!(
                "{bare} of {} copies carry no producer id: how many writers they are of is not told",
                episode.surplus()
            ),
        );
    }
    // Beside a session that goes on, so few events in a row tell a restart no better than a second instance.
    let is_either = earlier_goes_on && row < ROW;
    let confidence = if weak || is_either || publications.is_some() || is_news || ids.is_some() {
        Confidence::Possible
    } else {
        Confidence::Likely
    };
    Words {
        confidence,
        title: format!(
            "{copies} of {} {} sent again by a later {}",
            episode.topic_name(),
            were_told(episode.surplus(), confidence),
            if bare == episode.surplus() {
                "writer without producer id"
            } else if episode.earlier_session.is_none() {
                "producer session; the originals carry no producer id"
            } else {
                "producer session"
            }
        ),
        cause: Some(match &restart {
            Some(restart) if publications.is_none() && !is_news => cause(
                &format!(
                    "a restart that read on from {}: it had written behind that, and group {} had not committed it",
                    restart.position(),
                    restart.group()
                ),
                Confidence::Likely,
            ),
            _ => cause(
            if other_ids.is_some() {
                "a restart under another transactional.id, which could not end what the instance before had left open, and did its work again"
            } else if publications.is_some() {
                "a job that publishes its whole state at each run, by design, or restarts that always begin at the same position"
            } else if ids.is_some() {
                "two runs of a job that each made records of their own, or a restart that read on from an old position"
            } else if is_news {
                "a list that is published again at each run, or a restart that read one of several inputs again"
            } else if weak {
                "runs that each wrote the same content, as they may mean it, or restarts that read on from an old position"
            } else if sessions.len() > 2 && row >= ROW {
                "a crash loop: each start read from the same old position"
            } else if sessions.len() > 2 {
                "restarts one after the other that read from an old position"
            } else if from_inside {
                "a restart that read on from a position inside what the session before had written (its beginning is not in the files, and did not come again)"
            } else if whole && headless {
                "a restart that began at a position inside what the session before had written, or at its beginning, which the files do not hold; or a full publication at each start by design"
            } else if whole {
                "a restart that began where the session before had begun, or a full publication at each start by design"
            } else if earlier_goes_on {
                "a second instance that began from an older position, or a restart beside a survivor"
            } else {
                "a restart that read on from a position behind which it had written: an old one, or one that was committed after the output"
            },
            Confidence::Possible,
        ),
        }),
        facts,
        alternatives: publication.into_iter().chain(fenced.then(|| {
            kept(
                "epoch bump in one run",
                "a client raises its own epoch after an error that ends in an abort (KIP-360, Java clients from 2.5 on), and an \
                 application that then sends again needs no restart for that",
            )
        })).chain([
            concurrent,
            kept("pipeline-replay", reread::unlinked(episode, restart.as_ref().map(Restart::group))),
            dropped(
                "retry-without-idempotence",
                if episode.earlier_session.is_none() {
                    "the copies carry a producer id, and what a client retries is what it sent: the originals carry none"
                } else if same_id {
                    "a retry keeps the epoch of its session"
                } else {
                    "a retry of a client keeps its producer id"
                },
            ),
            dropped(
                "broker-dedup-lost",
                "the writer's identity differs, so the broker had nothing to compare",
            ),
            if let Some(ids) = &ids {
                equal_but_for(ids)
            } else if weak && row >= ROW {
                equal_by_chance(episode)
            } else if weak {
                kept(
                    "equal events",
                    format!(
                        "{}, and they do not come again in a row: they may be different events with equal content",
                        what_tells(episode)
                    ),
                )
            } else if row >= ROW {
                dropped("equal events", "a whole row of different events came again in its old order")
            } else {
                kept(
                    "equal events",
                    "their business key and content are equal; they are different events only if the key is not unique to one",
                )
            },
        ])
        .collect(),
        would_settle: ids.iter().map(|ids| names_the_event(ids)).chain([
            format!(
                "the application's log {}: restarts{}, and the position it began from",
                between(episode),
                if fenced { " or errors of a transaction" } else { "" }
            ),
            match &restart {
                Some(restart) => format!("whether group {} is that of the application (dedup-audit offsets shows its commits)", restart.group()),
                None => "the committed positions of its group (dedup-audit offsets), if it reads another topic".to_owned(),
            },
        ])
        .collect(),
        advice: if done_twice {
            done_twice_advice()
        } else if let Some((earlier, later)) = other_ids {
            vec![
                format!(
                    "give each instance one transactional.id that it keeps over restarts ({earlier} and {later} are two): the next \
                     start then ends what the one before left open, and fences it"
                ),
                "end the open transaction first, if one of the originals is in it (see transaction-open)".to_owned(),
                "until then drop repeats by business key in the consumers".to_owned(),
            ]
        } else if unstable_id {
            lines([
                "give each instance one transactional.id that it keeps over restarts: the next start then ends what the one before left open, and fences it",
                "commit the read position in the same transaction as the output, if the application consumes from Kafka (sendOffsetsToTransaction)",
                "until then drop repeats by business key in the consumers",
            ])
        } else {
            lines([
                "if the application consumes from Kafka, make read position and output one transaction; else store its position when the output is acknowledged, and give each event an id that stays the same when it is sent again",
                "until then drop repeats by business key in the consumers",
            ])
        },
    }
}

/// Where the earlier session is seen again behind what the later one began with, in words.
fn seen_again(pair: &Pair<'_>) -> Option<String> {
    let (earlier, later) = (pair.earlier_session()?, pair.later_session()?);
    let behind = |partition, offset| pair::wrote_behind(&earlier, partition, offset);
    let shows = |span: &&SessionSpan| behind(span.partition, span.first_offset);
    // Where the copies stand both sessions are those that wrote them.
    let is_here = |partition| partition == pair.earlier.partition || partition == pair.later.partition;
    let here = later.spans.iter().filter(|span| is_here(span.partition)).find(shows);
    let span = here.or_else(|| later.spans.iter().find(shows))?;
    let note = pair::partition(pair.relations, span.partition)?;
    let last = earlier.span(span.partition)?.last_offset;
    // Elsewhere an id may be that of another cluster, unless a directory says of which it is.
    let own = pair::partition(pair.relations, pair.later.partition)?;
    let unsure = here.is_none() && (note.broker_id.is_none() || own.broker_id.is_none());
    Some(format!(
        "the earlier session wrote on after the later one had begun: {0} in {1} up to offset {last}, {2} there from offset {3} on{4}",
        earlier.name,
        note.name(),
        later.name,
        span.first_offset,
        if unsure {
            format!(", if {} and {} are of one cluster", note.name(), own.name())
        } else {
            String::new()
        }
    ))
}

/// Whether the later session began with a copy of what is not the beginning of the earlier one.
fn begins_inside(episode: &Episode<'_>) -> bool {
    let at_beginning = |pair: &Pair<'_>| {
        let session = pair.later_session();
        let span = session.as_ref().and_then(|session| session.span(pair.later.partition));
        pair.same_partition()
            && pair.later.sequence == Some(Sequence::FIRST)
            && pair.earlier.sequence.is_some_and(|sequence| sequence > Sequence::FIRST)
            && span.is_some_and(|span| span.first_offset == pair.later.offset)
    };
    episode.pairs().any(|pair| at_beginning(&pair))
}

/// The transactional ids of the two sessions, where both are known.
fn transactional_ids<'e>(episode: &'e Episode<'_>) -> Option<(&'e str, &'e str)> {
    let of = |session: &'e Option<Arc<SessionNote>>| session.as_ref()?.transactional_id.as_deref();
    of(&episode.earlier_session).zip(of(&episode.later_session))
}

/// When the restart was, as far as times of their own tell it.
fn between(episode: &Episode<'_>) -> String {
    let (Some(earlier), Some(later)) = (&episode.earlier_session, &episode.later_session) else {
        return "at the time of the restart".to_owned();
    };
    let own_times = episode.all(|pair| pair.level >= Level::E4) && episode.sessions().len() == 2;
    let ends = earlier.last_timestamp().zip(later.first_timestamp()).filter(|(end, begin)| end <= begin);
    let told = ends.and_then(|(end, begin)| Some((moment(end)?, moment(begin)?)));
    match told.filter(|_| own_times) {
        Some((end, begin)) => {
            // Of times that applications may set nothing tells how far they are from the restart.
            let by_clients =
                episode.pairs().any(|pair| pair.later.timestamp_type != TimeSource::LogAppendTime);
            format!(
                "between the end of session {} ({end}) and the beginning of {} ({begin}){}",
                earlier.name,
                later.name,
                if by_clients { ", by the clients' own times" } else { "" }
            )
        }
        None => format!("when session {} began", later.name),
    }
}

/// Whether both copies are in committed transactions.
pub(super) fn both_committed(pair: &Pair<'_>) -> bool {
    [&pair.earlier, &pair.later].into_iter().all(|copy| copy.visibility == Visibility::Committed)
}

/// What to do about a transaction that was committed and then done once more.
pub(super) fn done_twice_advice() -> Vec<String> {
    lines([
        "a transaction cannot see that its work was committed before: commit the input position in it (sendOffsetsToTransaction)",
        "after a commit without an answer ask for the outcome before the work is done again",
        "drop repeats by business key in the consumers; isolation.level=read_committed does not hide them",
    ])
}

/// How many sessions wrote the same whole set of events and nothing else, where more than two did: a
/// publication at each run looks like that, and so does a crash at the same place.
fn publications(episode: &Episode<'_>) -> Option<usize> {
    let events = count(episode.groups_count());
    let mut writers = std::collections::BTreeSet::new();
    let mut last = None;
    for pair in episode.pairs() {
        let own = [pair.earlier.session, pair.later.session].into_iter().flatten();
        let own: std::collections::BTreeSet<u32> = own.collect();
        let begins = last.replace(pair.group) != Some(pair.group);
        let others = usize::try_from(pair.writers.sessions).is_ok_and(|all| all > own.len());
        writers.extend(own);
        if begins && others {
            writers
                .extend(episode.relations.groups.note(&pair.row).into_iter().flat_map(|note| note.sessions));
        }
    }
    let writes_the_set = |at: &&u32| {
        let session = episode.relations.sessions.get(**at);
        session.is_some_and(|session| {
            let here = session.spans.iter().filter(|span| {
                pair::partition(episode.relations, span.partition)
                    .is_some_and(|note| note.topic == episode.topic)
            });
            let records: u64 = here.map(|span| span.records).sum();
            let within = |a: u64, b: u64| a.saturating_mul(10) >= b.saturating_mul(9);
            within(events, records) && within(records, events)
        })
    };
    let same = writers.iter().filter(writes_the_set).count();
    (same > 2 && same == writers.len()).then_some(same)
}

/// What only one of two sessions wrote beside a list that both hold.
fn news(episode: &Episode<'_>) -> Option<News> {
    let (earlier, later) = (episode.earlier_session.as_ref()?, episode.later_session.as_ref()?);
    if episode.sessions().len() != 2 || !pair::had_ended(earlier, later) {
        return None;
    }
    Overlap::of(episode.relations, episode.pairs()).news(episode.relations, episode.topic, earlier, later)
}

/// Whether nearly all that the earlier session wrote to the topic came again.
fn repeats_whole_session(episode: &Episode<'_>) -> bool {
    let Some(earlier) = &episode.earlier_session else { return false };
    let here = earlier.spans.iter().filter(|span| {
        pair::partition(episode.relations, span.partition).is_some_and(|note| note.topic == episode.topic)
    });
    let records: u64 = here.map(|span| span.records).sum();
    count(episode.surplus()).saturating_mul(10) >= records.saturating_mul(9)
}
