//! `resend-same-session`: one session wrote the event again under its own later sequences.
//!
//! Evidence: both copies are of one producer session and the later one is a new write to the
//! broker. So the application called `send()` twice; idempotence covers retries of the client only.

use super::episode::Episode;
use super::new_session::{both_committed, done_twice_advice};
use super::pair::Pair;
use super::phrase::{delay, pairs_of, records, were};
use super::{Words, cause, dropped, kept, lines};
use crate::finding::Confidence;

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    if !pair.same_session() {
        return false;
    }
    let (earlier, later) = (pair.earlier, pair.later);
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

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let name = episode.later_session.map_or_else(String::new, |s| s.name.clone());
    let across = episode.count(|p| p.earlier.producer_epoch != p.later.producer_epoch);
    let mut facts = vec![
        format!(
            "session {name} wrote {} and again {}",
            episode.stretches(|p| p.earlier),
            episode.stretches(|p| p.later)
        ),
        format!("the later copies have sequences of their own{}", delay(episode)),
    ];
    if across > 0 {
        facts.push(format!(
            "{across} of {} copies were written under a newer epoch of the session",
            episode.surplus()
        ));
    }
    let done_twice = episode.all(both_committed);
    if done_twice {
        facts.push("originals and copies are in committed transactions of their own".to_owned());
    }
    facts.push(pairs_of(episode));
    Words {
        // Without a key, equal events of one application look the same as a double send.
        confidence: if episode.is_by_content() { Confidence::Possible } else { Confidence::Likely },
        title: format!(
            "{copies} of {} {} sent twice by one producer session",
            episode.topic_name(),
            were(episode.surplus())
        ),
        cause: Some(cause("the application called send() again for the same event", Confidence::Likely)),
        facts,
        alternatives: vec![
            dropped("broker-dedup-lost", "the sequences differ: for the broker these are new records"),
            dropped("resend-new-session", "both copies are of one producer session"),
            kept(
                "equal events",
                "two real events with equal content look the same; the business key decides",
            ),
        ],
        would_settle: lines([
            "the application's log: timeouts given up on, double clicks, its own retries around send()",
        ]),
        advice: if done_twice {
            done_twice_advice()
        } else {
            lines([
                "let the client retry (delivery.timeout.ms) instead of calling send() again",
                "drop repeats by business key in the consumers",
            ])
        },
    }
}
