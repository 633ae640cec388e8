//! `restored-copy`: the same file content in two places that are not replicas.
//!
//! Evidence: equal batches at equal offsets under equal leader epochs, from the beginning of both
//! logs on, and a mark of the copying ([`CopyMark`]): one topic id under two names, or none where its
//! twin has one. Innocent twin: one application that writes each event with its own time to two
//! topics; its batches are equal in all of this but the topic ids.

use super::episode::Episode;
use super::pair::{self, Pair};
use super::phrase::{pairs_of, records};
use super::{Words, cause, dropped, kept, lines};
use crate::finding::Confidence;
use crate::finding::phrase::offsets;
use crate::relations::{CopiedStretch, CopyMark};

/// The stretch to which a pair belongs.
fn stretch<'r>(pair: &Pair<'r>) -> Option<&'r CopiedStretch> {
    let place = |copy: &crate::relations::StoredCopy| (copy.partition, copy.offset);
    pair.relations.copied.iter().find(|stretch| stretch.holds(place(&pair.earlier), place(&pair.later)))
}

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    !pair.same_partition() && stretch(pair).is_some()
}

/// The stretches of an episode, in their order.
pub(super) fn stretches<'r>(episode: &Episode<'r>) -> Vec<&'r CopiedStretch> {
    let mut found: Vec<&CopiedStretch> = Vec::new();
    for pair in episode.pairs() {
        let known = found
            .iter()
            .any(|one| one.original == pair.earlier.partition && one.copy == pair.later.partition);
        if !known && let Some(stretch) = stretch(&pair) {
            found.push(stretch);
        }
    }
    found
}

/// Records of the stretches of an episode, and how many of them consumers see, that are not among its
/// groups.
pub(super) fn unlisted(episode: &Episode<'_>) -> (u64, u64) {
    let unlisted = |stretch: &&CopiedStretch| stretch.unlisted > 0;
    stretches(episode).into_iter().filter(unlisted).fold((0, 0), |(all, seen), stretch| {
        (all + stretch.unlisted, seen + stretch.unlisted.saturating_sub(stretch.hidden_records))
    })
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let stretches = stretches(episode);
    let marked = stretches.iter().all(|stretch| stretch.mark == CopyMark::OneTopicId);
    let name = |at: u32| pair::partition(episode.relations, at).map_or("", |note| note.directory.as_str());
    let mut facts: Vec<String> = stretches
        .iter()
        .take(4)
        .map(|stretch| {
            format!(
                "{} and {} hold the same {} batches at {}, with equal checksums and leader epochs",
                name(stretch.original),
                name(stretch.copy),
                stretch.batches,
                offsets(stretch.first_offset.0, stretch.last_offset.0)
            )
        })
        .collect();
    if stretches.len() > 4 {
        facts.push(format!("{} more pairs of directories hold the same as well", stretches.len() - 4));
    }
    facts.push(
        if marked {
            "both names stand for one topic id, which a broker gives to one topic only"
        } else {
            "one of the two has no topic id, as if no broker had opened it since it was put there"
        }
        .to_owned(),
    );
    facts.push(
        "which of the two was first cannot be told from the files: the order here is that of the names"
            .to_owned(),
    );
    facts.extend(pairs_of(episode));
    let mut alternatives = vec![dropped(
        "pipeline-replay",
        "a pipeline writes batches of its own, with other boundaries, producer ids or offsets",
    )];
    alternatives.push(if marked {
        dropped("fan-out", "an application that writes each event to two topics writes to two topic ids")
    } else {
        kept(
            "fan-out",
            "an application that writes each event to two topics makes batches that are equal as well",
        )
    });
    Words {
        confidence: if marked { Confidence::Likely } else { Confidence::Possible },
        title: format!(
            "{} of {} stand in another place as well, batch for batch",
            records(episode.surplus() + usize::try_from(unlisted(episode).0).unwrap_or(usize::MAX)),
            episode.topic_name()
        ),
        cause: Some(cause(
            "files of a log directory were copied: a backup, a restore, or a topic that was cloned",
            Confidence::Likely,
        )),
        facts,
        alternatives,
        would_settle: lines([
            "who runs the brokers: what was restored, moved or cloned, when, and in which direction",
        ]),
        advice: lines([
            "decide which of the two counts, and keep consumers away from the other",
            "give only that one to the audit, so that these copies do not cover others",
        ]),
    }
}
