//! `broker-dedup-lost`: one producer id, epoch and sequence stored twice with the same records.
//!
//! Evidence: equal identity of the writer and equal content. A leader that remembers the producer
//! answers such a retry with the first copy's offset (`ProducerStateEntry.findDuplicateBatch`), so
//! its memory was missing. Equal ranges with other records are no duplicate and do not come here.

use super::episode::Episode;
use super::pair::Pair;
use super::phrase::{pairs_of, records};
use super::{Words, cause, dropped, lines};
use crate::finding::{Confidence, Level};

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    let (earlier, later) = (pair.earlier, pair.later);
    pair.same_partition()
        && earlier.producer_id == later.producer_id
        && earlier.producer_epoch == later.producer_epoch
        && earlier.sequence.is_some()
        && earlier.sequence == later.sequence
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let name = episode.later_session.map_or_else(String::new, |s| format!("producer {} ", s.producer_id));
    let over_leaders = episode.count(|p| p.earlier.partition_leader_epoch != p.later.partition_leader_epoch);
    let mut facts = vec![
        format!(
            "{name}wrote {} and the same sequences again at {}",
            episode.stretches(|p| p.earlier),
            episode.stretches(|p| p.later)
        ),
        "producer id, epoch, sequences and records are equal".to_owned(),
    ];
    if over_leaders > 0 {
        facts.push(format!(
            "the partition leader changed between the copies in {over_leaders} of {} pairs",
            episode.surplus()
        ));
    }
    facts.push(pairs_of(episode));
    Words {
        confidence: if episode.all(|p| p.level == Level::E1) {
            Confidence::Certain
        } else {
            Confidence::Likely
        },
        title: format!(
            "{copies} of {} are stored twice under one producer id and sequence",
            episode.topic_name()
        ),
        cause: Some(cause(
            "the broker had forgotten the producer: expiry (a pause or old record times), lost snapshots, or a restore",
            Confidence::Likely,
        )),
        facts,
        alternatives: vec![
            dropped("resend-same-session", "an application that sends again gets new sequences"),
            dropped("producer-id-collision", "two writers with one id would write different records"),
        ],
        would_settle: lines([
            "producer.id.expiration.ms and the broker's log between the two copies (restarts, snapshot errors)",
        ]),
        advice: lines([
            "the client and the application did nothing wrong: look at the broker",
            "raise producer.id.expiration.ms above the longest pause or record age, and never delete .snapshot files",
            "until then drop repeats by business key in the consumers",
        ]),
    }
}
