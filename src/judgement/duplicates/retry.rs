//! `retry-without-idempotence`: the same wire batch again, without a producer id.
//!
//! Evidence: equal decompressed records and an equal base time in the same partition, whatever the
//! checksum says (LogAppendTime and broker-side recompression change it). Retries resend the bytes
//! of a closed batch; records that came regrouped with equal client times are as well a replay, so
//! they stay `duplicate-undetermined`.

use super::episode::Episode;
use super::pair::Pair;
use super::phrase::{are, pairs_of, records};
use super::{Words, cause, dropped, kept, lines};
use crate::finding::phrase::duration;
use crate::finding::{Confidence, Level};

/// Retries end with `delivery.timeout.ms`, two minutes by default; clocks and pauses get their share.
const LATE_MS: i64 = 10 * 60 * 1000;

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    pair.level == Level::E1 && pair.same_partition()
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let over_leaders = episode.count(|p| p.earlier.partition_leader_epoch != p.later.partition_leader_epoch);
    let same_crc = episode.count(|p| p.earlier.batch.crc == p.later.batch.crc);
    let several = episode.count(|p| p.later.batch.records > 1);
    let mut facts = vec![
        format!("the batches of {} came again at {}", episode.stretches(|p| p.earlier), episode.stretches(|p| p.later)),
        format!(
            "same decompressed records and base time in all pairs, equal checksum in {same_crc} of {}; {several} in batches of more than one record",
            episode.surplus()
        ),
        "no producer id on either copy, so the broker could not recognise the retry; which client it was cannot be told from the files".to_owned(),
    ];
    if over_leaders > 0 {
        facts.push(format!(
            "the partition leader changed between the copies in {over_leaders} of {} pairs",
            episode.surplus()
        ));
    }
    let latest =
        episode.pairs().filter_map(|p| p.later.written_after?.checked_sub(p.later.client_timestamp?)).max();
    let late = latest.is_some_and(|late| late > LATE_MS);
    if let Some(latest) = latest.filter(|_| late) {
        facts.push(format!(
            "a copy stands behind records that are {} younger: later than any retry by default settings",
            duration(latest)
        ));
    }
    facts.push(pairs_of(episode));
    Words {
        confidence: if late { Confidence::Possible } else { Confidence::Likely },
        title: format!(
            "{copies} of {} {} the same batches stored again, without idempotence",
            episode.topic_name(),
            are(episode.surplus())
        ),
        cause: Some(cause(
            if over_leaders > 0 {
                "the leader changed before the client had its answer, and the client's retry was stored again"
            } else {
                "an answer that was late or lost, and the client's retry was stored again"
            },
            Confidence::Likely,
        )),
        facts,
        alternatives: vec![
            kept(
                "pipeline-replay",
                "a mirror or connector that keeps times can build the same batch again; its source is not among the files",
            ),
            kept(
                "resend-same-session",
                "an application that sets the record times itself can send a batch again with equal times",
            ),
            dropped("broker-dedup-lost", "without producer id the broker has nothing to compare"),
        ],
        would_settle: lines(["the client's log at that time (retries, disconnects, request timeouts)"]),
        advice: lines([
            "set enable.idempotence=true explicitly, with acks=all, retries above 0 and at most 5 requests in flight",
            "until then drop repeats by business key in the consumers",
        ]),
    }
}
