//! Phrases that several mechanisms share.

use super::episode::Episode;
use super::pair::{self, Pair};
use crate::finding::Confidence;
use crate::finding::phrase::{duration, moments, offsets};
use crate::relations::{PartitionNote, Relations, SessionNote, SessionSpan};

/// `1 record`, `20 records`.
pub(super) fn records(count: usize) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}

/// `was` for one record, `were` for more.
pub(super) const fn were(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// `were`, and how sure that is.
pub(super) fn were_told(count: usize, confidence: Confidence) -> String {
    let possibly = if confidence == Confidence::Possible { " possibly" } else { "" };
    format!("{}{possibly}", were(count))
}

/// `is` for one record, `are` for more.
pub(super) const fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// How equal the pairs are, weakest level last; nothing where the level of the finding says it.
pub(super) fn pairs_of(episode: &Episode<'_>) -> Option<String> {
    let mut counts = std::collections::BTreeMap::new();
    for pair in episode.pairs() {
        *counts.entry(pair.level).or_insert(0usize) += 1;
    }
    let words: Vec<String> =
        counts.iter().map(|(level, count)| format!("{count} × {}", level.words())).collect();
    (words.len() > 1).then(|| format!("how equal the pairs are: {}", words.join("; ")))
}

/// `; at most 8.5 s after the first copy`, where the clients' clocks say so.
pub(super) fn delay(episode: &Episode<'_>) -> String {
    episode.longest_delay_ms().filter(|ms| *ms > 0).map_or_else(String::new, |ms| {
        format!("; at most {} behind the earlier copy by the clients' clocks", duration(ms))
    })
}

/// In how many pairs the partition has another leader epoch for the copy, `from 0 to 1` where it is the same in all of them.
///
/// An epoch tells an election, and not who won it: a broker that stops hands its partitions over, if only to nobody, and is
/// elected again when it is back (KRaft's `ReplicationControlManager`, `PartitionChangeBuilder`; with ZooKeeper the controller).
pub(super) fn leader_epochs(episode: &Episode<'_>) -> Option<String> {
    let epochs = |pair: Pair<'_>| {
        let epochs = (pair.earlier.partition_leader_epoch, pair.later.partition_leader_epoch);
        (pair.same_partition() && epochs.0 != epochs.1).then_some(epochs)
    };
    let mut changed = episode.pairs().filter_map(epochs);
    let first = changed.next()?;
    let rises = |(from, to): (Option<_>, Option<_>)| from.is_some() && from < to;
    let (mut number, mut same, mut rose) = (1_usize, true, rises(first));
    for epochs in changed {
        number += 1;
        same &= epochs == first;
        rose &= rises(epochs);
    }
    let told = match first {
        (Some(from), Some(to)) if same => format!(", from {from} to {to}"),
        _ => String::new(),
    };
    let (verb, means) = if rose {
        ("rose", ": a new leader, or the same broker again after a restart")
    } else {
        ("is another one", "")
    };
    Some(format!(
        "the leader epoch {verb} between the copies in {number} of {} pairs{told}{means}",
        episode.surplus()
    ))
}

/// Whether all surplus copies stand in formats that cannot carry a producer id.
pub(super) fn are_in_old_formats(episode: &Episode<'_>) -> bool {
    !episode.pairs().any(|pair| !pair.is_in_old_format())
}

/// Places of a session that are told one by one.
const PLACES: usize = 3;

/// What a session wrote to a topic, and when.
pub(super) fn session_life(relations: &Relations, topic: u32, session: &SessionNote) -> String {
    let here: Vec<(&SessionSpan, &PartitionNote)> = session
        .spans
        .iter()
        .filter_map(|span| Some((span, pair::partition(relations, span.partition)?)))
        .filter(|(_, note)| note.topic == topic)
        .collect();
    let places: Vec<String> = here
        .iter()
        .take(PLACES)
        .map(|(span, note)| format!("{} {}", note.name(), offsets(span.first_offset.0, span.last_offset.0)))
        .collect();
    let more = here.len().saturating_sub(PLACES);
    let more = match more {
        0 => String::new(),
        1 => " and 1 more partition".to_owned(),
        more => format!(" and {more} more partitions"),
    };
    let first = here.iter().filter_map(|(span, _)| span.first_timestamp).min();
    let last = here.iter().filter_map(|(span, _)| span.last_timestamp).max();
    let times = first.zip(last).and_then(|(first, last)| moments(first, last));
    // Another partition of the same id may be one of another cluster.
    let told = here.iter().any(|(span, _)| span.transactional.is_some());
    let transactional = if told {
        here.iter().any(|(span, _)| span.transactional == Some(true))
    } else {
        session.transactional
    };
    let name = |at| pair::partition(relations, at).map(PartitionNote::name);
    let two = session.of_two_kinds().and_then(|(with, without)| name(with).zip(name(without)));
    let two = two.map(|(with, without)| {
        format!(
            "; this id and epoch are transactional in {with} and not in {without}, as no one producer is: the partitions may be of two \
             clusters"
        )
    });
    format!(
        "session {} (producer {}{}) wrote {}{more}, with times {}{}",
        session.name,
        session.producer_id,
        if transactional { ", transactional" } else { "" },
        places.join(", "),
        times.as_deref().unwrap_or("that nothing tells"),
        two.unwrap_or_default(),
    )
}
