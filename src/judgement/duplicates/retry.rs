//! `retry-without-idempotence`: the same wire batch again, without a producer id.
//!
//! Evidence: equal decompressed records and an equal base time in the same partition, whatever the
//! checksum says (LogAppendTime and broker-side recompression change it). Retries resend the bytes
//! of a closed batch; records that came regrouped with equal client times are as well a replay, so
//! they stay `duplicate-undetermined`.

use super::super::draft::FORMAT_FIRST;
use super::episode::Episode;
use super::pair::Pair;
use super::phrase::{are, are_in_old_formats, leader_epochs, pairs_of, records};
use super::undetermined::coarse_times;
use super::{Words, cause, connectors, dropped, kept, lines};
use crate::finding::phrase::duration;
use crate::finding::{Confidence, Level};
use crate::relations::TimeSource;
use crate::units::Offset;

/// Retries end with `delivery.timeout.ms`, two minutes by default; clocks and pauses get their share.
const LATE_MS: i64 = 10 * 60 * 1000;

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    // Of two equal events that are written in one second a batch of one record each is the same.
    let tells = pair.has_telling_time() || pair.later.batch.records > 1 || !pair.is_by_little();
    pair.level == Level::E1 && pair.same_partition() && tells
}

/// The batches that came again as they were.
#[derive(Default)]
struct Batches {
    all: usize,
    same_crc: usize,
    of_several: usize,
    /// Batches of one record right behind what they repeat.
    single_behind: usize,
    /// Partition and offsets of two originals of which the later one came again in front of the other.
    turned: Option<(String, Offset, Offset)>,
}

impl Batches {
    fn of(episode: &Episode<'_>) -> Self {
        let again = episode.pairs().filter(|pair| pair.level == Level::E1).zip(0_i64..).map(|(pair, at)| {
            let (earlier, later) = (&pair.earlier.batch, &pair.later.batch);
            let (same_crc, of_several) = (earlier.crc == later.crc, later.records > 1);
            let copy = [i64::from(pair.later.partition), later.base_offset.0];
            let behind = !of_several && later.base_offset == earlier.last_offset.next();
            let kind = i64::from(of_several) + 2 * i64::from(behind);
            [copy[0], copy[1], at, earlier.base_offset.0, i64::from(same_crc), kind]
        });
        let mut found = Self::default();
        let mut before = None;
        for [partition, copy, _, original, same_crc, kind] in episode.relations.groups.sorted(again) {
            if let Some((of, last, earlier)) = before {
                // One record of a batch stands for all.
                if (of, last) == (partition, copy) {
                    continue;
                }
                if of == partition && original < earlier && found.turned.is_none() {
                    let place = episode.directory(partition);
                    found.turned = Some((place, Offset(original), Offset(earlier)));
                }
            }
            found.all += 1;
            found.same_crc += usize::from(same_crc == 1);
            found.of_several += usize::from(kind == 1);
            found.single_behind += usize::from(kind == 2);
            before = Some((partition, copy, original));
        }
        found
    }

    fn words(&self) -> String {
        let Self { all, same_crc, of_several, .. } = self;
        let noun = if *all == 1 { "batch" } else { "batches" };
        format!(
            "{all} {noun} with the same records and base time; {same_crc} of {all} with an equal checksum, {of_several} of {all} with more than one record"
        )
    }
}

/// `each copy stands 20 offsets behind what it repeats`
fn distance(episode: &Episode<'_>) -> String {
    let behind = |pair: Pair<'_>| pair.later.offset.0.saturating_sub(pair.earlier.offset.0);
    let ends = episode.pairs().map(behind).fold(None, |ends: Option<(i64, i64)>, one| {
        Some(ends.map_or((one, one), |(least, most)| (least.min(one), most.max(one))))
    });
    match ends {
        Some((1, 1)) | None => "each copy stands right behind what it repeats".to_owned(),
        Some((least, most)) if least == most => {
            format!("each copy stands {most} offsets behind what it repeats")
        }
        Some((least, most)) => format!("the copies stand {least} to {most} offsets behind what they repeat"),
    }
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let over_leaders = episode.count(|p| p.earlier.partition_leader_epoch != p.later.partition_leader_epoch);
    let batches = Batches::of(episode);
    let mut facts = vec![episode.moves()];
    facts.extend(leader_epochs(episode));
    facts.push(format!("{}; {}", batches.words(), distance(episode)));
    let old = are_in_old_formats(episode);
    facts.push(
        if old {
            "all copies stand in formats 0 and 1, which cannot carry a producer id: nothing could have recognised a retry; \
             which client it was cannot be told from the files"
        } else {
            "no producer id on either copy: with idempotence the broker would have recognised a retry; which client it was \
             cannot be told from the files"
        }
        .to_owned(),
    );
    if let Some((place, first, second)) = &batches.turned {
        facts.push(format!(
            "they came in another order than before: what stood at offset {second} of {place} now stands in front of what stood at offset {first}, as batches in flight do that are put back one by one"
        ));
    }
    let regrouped = episode.count(|p| p.level > Level::E1);
    if regrouped > 0 {
        facts.push(format!(
            "{regrouped} of {} copies stand in batches with other boundaries",
            episode.surplus()
        ));
    }
    if episode.pairs().any(|pair| pair.later.timestamp_type == TimeSource::LogAppendTime) {
        facts.push(
            "the topic has LogAppendTime: the times shown are the broker's, and the equal base times are those of the client in \
             the batches themselves"
                .to_owned(),
        );
    }
    // A batch of one record holds nothing but a time of one millisecond that two calls could not share.
    let double_send = batches.all > 0 && batches.single_behind == batches.all;
    let latest =
        episode.pairs().filter_map(|p| p.later.written_after?.checked_sub(p.later.client_timestamp?)).max();
    let late = latest.is_some_and(|late| late > LATE_MS);
    if let Some(latest) = latest.filter(|_| late) {
        facts.push(format!(
            "a copy stands behind records that are {} younger: later than any retry by default settings",
            duration(latest)
        ));
    }
    let coarse = coarse_times(episode).filter(|_| !episode.pairs().any(|pair| pair.has_telling_time()));
    facts.extend(coarse.clone());
    facts.extend(pairs_of(episode));
    Words {
        confidence: if late || double_send || coarse.is_some() {
            Confidence::Possible
        } else {
            Confidence::Likely
        },
        title: format!(
            "{copies} of {} {} stored again {}, without idempotence",
            episode.topic_name(),
            are(episode.surplus()),
            if batches.all == 1 { "in the same batch" } else { "in the same batches" }
        ),
        cause: Some(cause(
            if over_leaders > 0 {
                "the partition had a new leader, or its leader restarted, before the client had its answer, and the client's retry was stored again"
            } else {
                "an answer that was late or lost, and the client's retry was stored again"
            },
            Confidence::Likely,
        )),
        facts,
        alternatives: vec![
            kept(
                "pipeline-replay",
                if batches.turned.is_some() {
                    "a mirror or connector that keeps times can build the same batches again, although what it reads again would come in its old order".to_owned()
                } else {
                    let why = "a mirror or connector that keeps times can build the same batch again; its source is not among the files";
                    connectors::reader(episode)
                        .map_or_else(|| why.to_owned(), |reader| format!("{why}, and {reader}"))
                },
            ),
            kept(
                "resend-same-session",
                if batches.of_several == 0 {
                    "an application that calls send() twice within one millisecond writes two such batches of one record, and one that sets the times itself can do so at any time"
                } else {
                    "an application that sets the record times itself can send a batch again with equal times"
                },
            ),
            kept(
                "resend-new-session",
                "it can do so after a restart as well: without producer id the two cannot be told apart",
            ),
            kept(
                "concurrent-producers",
                if batches.of_several == 0 {
                    "two instances that take the record times from the events write the same batches of one record"
                } else {
                    "two instances that take the record times from the events can cut their batches alike"
                },
            ),
            dropped("broker-dedup-lost", "without producer id the broker has nothing to compare"),
        ],
        would_settle: lines(["the client's log from the record times on (retries, disconnects, timeouts)"]),
        advice: lines([
            if old {
                FORMAT_FIRST
            } else {
                "set enable.idempotence=true explicitly, with acks=all, retries above 0 and at most 5 requests in flight"
            },
            "until then drop repeats by business key in the consumers",
        ]),
    }
}
