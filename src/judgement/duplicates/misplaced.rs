//! `misplaced-batch`: a batch that belongs to another partition or topic.
//!
//! Evidence: the same wire batch (producer id, epoch, sequence, records and times) in two
//! partitions, and its sequence goes on in one of them only. Innocent twin: an application that
//! writes each event to two topics has sequences that go on in both, so it does not come here.
//! Known cause: KAFKA-19012, a client's buffer that was used again while it was being sent.

use super::episode::Episode;
use super::pair::Pair;
use super::phrase::records;
use super::{Words, cause, dropped, kept, lines};
use crate::finding::{Confidence, Level};

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    pair.level == Level::E1
        && !pair.same_partition()
        && pair.earlier.batch.in_sequence
        && !pair.later.batch.in_sequence
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let name =
        episode.later_session.as_ref().map_or_else(String::new, |s| format!("producer {} ", s.producer_id));
    Words {
        confidence: Confidence::Likely,
        title: format!("{copies} of {} belong to another partition", episode.topic_name()),
        cause: Some(cause(
            "the client sent a batch under the name of another partition (KAFKA-19012)",
            Confidence::Possible,
        )),
        facts: vec![
            format!(
                "{name}wrote {} and the same batches to {}",
                episode.stretches(|p| &p.earlier),
                episode.stretches(|p| &p.later)
            ),
            "producer id, epoch, sequences, records and times are equal in both places".to_owned(),
            "the sequences go on where the producer was in the first place, and not in the second".to_owned(),
        ],
        alternatives: vec![
            kept(
                "fan-out",
                "an application that writes each event to two places can have equal batches and sequences in both, if all that \
                 it wrote to the second place before these was refused or lost",
            ),
            kept(
                "mended files",
                "whoever copies batches from one log into another leaves the same; a client is likelier",
            ),
            dropped(
                "broker-dedup-lost",
                "the copies are in different partitions, which have no memory in common",
            ),
        ],
        would_settle: lines([
            "the client version (KAFKA-19012 is in Java clients from 2.8.0 on, up to 3.9.1, 4.0.1 and 4.1.1) and its log at that \
             time: batches that expired (delivery.timeout.ms) while a request was in flight",
        ]),
        advice: lines([
            "update the client to 3.9.2, 4.0.2, 4.1.2, 4.2.0 or later, which have the fix of KAFKA-19012 (CVE-2026-35554); \
             3.8 and older have none",
            "let consumers of the second partition skip these records, and look whether its own batch is missing",
        ]),
    }
}
