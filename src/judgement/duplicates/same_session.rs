//! `resend-same-session`: one session wrote the event again under its own later sequences.
//!
//! Evidence: both copies are of one producer session and the later one is a new write to the
//! broker. So the application called `send()` twice; idempotence covers retries of the client only.
//! Or both stand in one batch, with or without producer id: then nothing had left the client between
//! the two calls, and neither an error nor a timeout led to the second.

use super::episode::Episode;
use super::new_session::{both_committed, done_twice_advice};
use super::pair::Pair;
use super::phrase::{delay, pairs_of, records, were_told};
use super::undetermined::{equal_but_for, equal_by_chance};
use super::{Words, cause, dropped, kept, lines};
use crate::finding::{Confidence, Level};

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    if !pair.same_session() {
        return false;
    }
    let (earlier, later) = (&pair.earlier, &pair.later);
    match (earlier.sequence, later.sequence) {
        // Forward within half the sequence space: later in the producer's own order.
        (Some(first), Some(second))
            if pair.same_partition() && earlier.producer_epoch == later.producer_epoch =>
        {
            (1..1 << 30).contains(&first.distance_to(second))
        }
        // Equal sequences in two partitions are one write in two places, not two of the application.
        (first, second) if !pair.same_partition() => {
            first != second || earlier.producer_epoch != later.producer_epoch
        }
        _ => later.producer_epoch > earlier.producer_epoch,
    }
}

fn in_one_batch(pair: &Pair<'_>) -> bool {
    pair.same_batch()
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let writer = episode
        .later_session
        .as_ref()
        .map_or_else(|| "one client".to_owned(), |s| format!("session {}", s.name));
    let one_batch = episode.count(in_one_batch);
    let in_one_go = one_batch == episode.surplus();
    let across = episode.count(|p| p.earlier.producer_epoch != p.later.producer_epoch);
    let mut facts = vec![
        format!("{writer} wrote both: {}", episode.moves()),
        if episode.later_session.is_some() {
            format!("the later copies have sequences of their own{}", delay(episode))
        } else {
            format!("the records carry no producer id{}", delay(episode))
        },
    ];
    if one_batch > 0 {
        facts.push(format!(
            "{one_batch} of {} copies stand in one batch with what they repeat: sent twice in one go, before anything of it had left the client",
            episode.surplus()
        ));
    }
    if across > 0 {
        facts.push(format!(
            "{across} of {} copies were written under a newer epoch of the session",
            episode.surplus()
        ));
    }
    // One batch is of one transaction.
    let committed = episode.all(both_committed);
    let done_twice = committed && one_batch == 0;
    if committed && in_one_go {
        facts.push(
            match one_batch {
                1 => "the copy and what it repeats are in one committed transaction",
                _ => "each copy is in one committed transaction with what it repeats",
            }
            .to_owned(),
        );
    } else if committed {
        facts.push("originals and copies are in committed transactions".to_owned());
    }
    facts.extend(pairs_of(episode));
    // Without a key, equal events of one application look the same as a double send; so do those that say nothing
    // beside it.
    let by_chance = episode.is_as_by_chance();
    let ids = episode.ids_that_differ();
    let unsure = episode.is_by_content() || by_chance || ids.is_some();
    let confidence = if unsure { Confidence::Possible } else { Confidence::Likely };
    Words {
        confidence,
        title: format!(
            "{copies} of {} {} sent twice by one producer session",
            episode.topic_name(),
            were_told(episode.surplus(), confidence)
        ),
        cause: Some(cause(
            if in_one_go {
                "the application called send() twice in one go: a loop, a listener that is registered twice, or input that holds the event twice"
            } else {
                "the application called send() again for the same event"
            },
            Confidence::Likely,
        )),
        facts,
        alternatives: vec![
            if let Some(ids) = &ids {
                equal_but_for(ids)
            } else if episode.is_by_content() {
                kept(
                    "equal events",
                    "two real events with equal content look the same; a business key would decide",
                )
            } else if by_chance {
                equal_by_chance(episode)
            } else {
                kept(
                    "equal events",
                    "the business key is equal as well; they are two events only if it is not unique to one",
                )
            },
            if in_one_go {
                dropped(
                    "retry-without-idempotence",
                    "a client builds a batch once, and retries it as a whole",
                )
            } else {
                dropped("broker-dedup-lost", "the sequences differ: for the broker these are new records")
            },
            dropped(
                "resend-new-session",
                if in_one_go {
                    "a batch is of one writer: there was no restart between the copies"
                } else {
                    "both copies are of one producer session"
                },
            ),
        ]
        .into_iter()
        .chain((across > 0).then(|| {
            let with_times = episode.count(|p| p.earlier.producer_epoch != p.later.producer_epoch && p.level <= Level::E3);
            if with_times == 0 {
                dropped(
                    "epoch-bump-resend",
                    "what a client writes again under a newer epoch keeps the times of its records, and these have new ones",
                )
            } else {
                kept(
                    "epoch-bump-resend",
                    format!("{with_times} of {across} copies under a newer epoch have the times of the originals, as a client writes its batches again"),
                )
            }
        }))
        .chain(in_one_go.then(|| {
            dropped("pipeline-replay", "what is read again after a restart goes into another batch")
        }))
        .collect(),
        would_settle: if done_twice {
            lines([
                "whether both are of one transaction (dedup-audit dump shows the markers): then the application called send() twice in it",
                "the application's log: commits that were given up on, and what it did again",
            ])
        } else if in_one_go {
            lines(["the application's code around send(), and whether its input holds these events twice"])
        } else {
            lines([
                "the application's log: timeouts given up on, double clicks, its own retries around send()",
            ])
        },
        advice: if done_twice {
            done_twice_advice()
        } else if in_one_go {
            lines([
                "look for the loop, the listener that is registered twice or the doubled input: no retry is involved",
                "drop repeats by business key in the consumers",
            ])
        } else {
            lines([
                "let the client retry (delivery.timeout.ms) instead of calling send() again",
                "drop repeats by business key in the consumers",
            ])
        },
    }
}
