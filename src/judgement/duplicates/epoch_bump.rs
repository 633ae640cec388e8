//! `epoch-bump-resend`: the tail of one epoch written again under the next, from sequence 0.
//!
//! Evidence: one producer id without transactions, a higher epoch, equal client times. A client
//! that bumps its epoch (KIP-360) rewrites its in-flight batches with new sequences but the same
//! record bytes; batches that had been stored without an answer are then stored twice (KAFKA-14034).
//! With new client times it was the application that sent again, which is `resend-same-session`.

use super::episode::Episode;
use super::pair::Pair;
use super::phrase::{pairs_of, records, were};
use super::{Words, cause, dropped, kept, lines, window};
use crate::finding::{Confidence, Level};

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    pair.same_partition()
        && pair.same_session()
        && !pair.later.is_transactional()
        && pair.later.producer_epoch > pair.earlier.producer_epoch
        && pair.level <= Level::E3
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let name =
        episode.later_session.as_ref().map_or_else(String::new, |s| format!("producer {} ", s.producer_id));
    let regrouped = episode.count(|p| p.level == Level::E3);
    let mut facts = vec![
        format!("{name}wrote both, the copies under a newer epoch: {}", episode.moves()),
        "same records with the same client times".to_owned(),
    ];
    let oldest = episode.pairs().min_by_key(|pair| (pair.earlier.partition, pair.earlier.offset));
    let remembered = oldest.as_ref().and_then(window::before_new_epoch);
    facts.extend(remembered.as_ref().map(|remembered| remembered.fact.clone()));
    if regrouped > 0 {
        facts.push(format!(
            "{regrouped} of {} copies stand in batches with other boundaries",
            episode.surplus()
        ));
    }
    let merged = merged_batches(episode);
    if merged > 0 {
        facts.push(format!(
            "{} of several original batches: a Java client sends its batches again as they are (or splits one that is too large), \
             librdkafka cuts them anew",
            if merged == 1 {
                "1 batch of copies holds records".to_owned()
            } else {
                format!("{merged} batches of copies hold records")
            }
        ));
    }
    facts.extend(pairs_of(episode));
    let mut alternatives = vec![dropped(
        "broker-dedup-lost",
        "the epoch differs, so the broker was right to take the sequences as new",
    )];
    let single = episode.all(|p| p.later.batch.records == 1);
    // Batches that were cut alike are no proof: what is sent in one go is cut alike by itself.
    alternatives.push(kept(
        "resend-same-session",
        if regrouped > 0 || single {
            "an application that sets the record times itself could have sent them again"
        } else {
            "an application that sets the record times itself could have sent them again, and what it sends in one go can be cut alike"
        },
    ));
    Words {
        confidence: if single { Confidence::Possible } else { Confidence::Likely },
        title: format!(
            "{copies} of {} {} written again by one producer under a newer epoch",
            episode.topic_name(),
            were(episode.surplus())
        ),
        cause: Some(if remembered.is_some_and(|remembered| remembered.explains) {
            cause(
                "a broker that remembered too few batches of the producer refused a retry of what it had stored, and the client bumped its epoch (KIP-360)",
                Confidence::Possible,
            )
        } else if merged > 0 {
            cause(
                "a client of librdkafka bumped its epoch while batches were stored but not acknowledged (confluentinc/librdkafka#4953)",
                Confidence::Likely,
            )
        } else {
            cause(
                "the client bumped its epoch while batches were stored but not acknowledged (KAFKA-14034 in Java clients, \
                 confluentinc/librdkafka#4953; which library it was is not in these files)",
                Confidence::Likely,
            )
        }),
        facts,
        alternatives,
        would_settle: lines([if merged > 0 {
            "the client's library, and its log: with debug=eos librdkafka says when it bumped its epoch, and why"
        } else {
            "the client's library, and its log: Java says \"Going to bump epoch and reset sequence\", librdkafka with debug=eos \
             when it bumped its epoch, and why"
        }]),
        advice: lines([
            "look for what made the client bump: delivery timeouts, refused batches, broker restarts",
            "drop repeats by business key in the consumers",
        ]),
    }
}

/// How many batches of copies hold records of several original batches.
fn merged_batches(episode: &Episode<'_>) -> usize {
    let batches = episode.pairs().map(|pair| {
        [i64::from(pair.later.partition), pair.later.batch.base_offset.0, pair.earlier.batch.base_offset.0]
    });
    let (mut merged, mut last) = (0, None::<([i64; 3], bool)>);
    for place in episode.relations.groups.sorted(batches) {
        let of_same = last.filter(|([partition, copy, _], _)| [*partition, *copy] == place[..2]);
        let was_merged = of_same.is_some_and(|(_, merged)| merged);
        let is_merged = was_merged || of_same.is_some_and(|([.., original], _)| original != place[2]);
        merged += usize::from(is_merged && !was_merged);
        last = Some((place, is_merged));
    }
    merged
}
