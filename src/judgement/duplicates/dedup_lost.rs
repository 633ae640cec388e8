//! `broker-dedup-lost`: one producer id, epoch and sequence stored twice with the same records.
//!
//! Evidence: equal identity of the writer and equal content. A leader that remembers the producer
//! answers such a retry with the first copy's offset (`ProducerStateEntry.findDuplicateBatch`), so
//! its memory was missing. Equal ranges with other records are no duplicate and do not come here.

use super::episode::Episode;
use super::pair::Pair;
use super::phrase::{are, leader_epochs, pairs_of, records};
use super::{Words, cause, dropped, lines, window};
use crate::finding::phrase::range;
use crate::finding::{Confidence, Level};

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    let (earlier, later) = (&pair.earlier, &pair.later);
    pair.same_partition()
        && earlier.producer_id == later.producer_id
        && earlier.producer_epoch == later.producer_epoch
        && earlier.sequence.is_some()
        && earlier.sequence == later.sequence
}

/// Whether a snapshot remembers a producer.
enum Memory {
    Holds,
    Lacks,
}

/// The newest snapshot of the log, where it covers the last write of the copies' producer and does not
/// remember it: brokers here forget soon.
fn forgotten_since(episode: &Episode<'_>) -> Option<String> {
    let pair = episode.pairs().last()?;
    let note = pair.partition(&pair.later)?;
    let last = pair.later_session()?.span(pair.later.partition)?.last_offset;
    let snapshot = note.snapshots.last().filter(|file| last < file.offset)?;
    let id = pair.later.producer_id;
    snapshot.producers.binary_search(&id).is_err().then(|| {
        format!(
            "{}/{} does not remember producer {id}, although it wrote up to offset {last}: a broker forgets producers soon here",
            note.directory, snapshot.file
        )
    })
}

/// The newest snapshot that covers an original and not its copy, and whether the producer is in it.
fn snapshot_between(episode: &Episode<'_>) -> Option<(Memory, String)> {
    let pair = episode.pairs().next()?;
    let note = pair.partition(&pair.later)?;
    let (first, last) = (pair.earlier.batch.last_offset, pair.later.batch.base_offset);
    let snapshot = note.snapshots.iter().rev().find(|file| first < file.offset && file.offset <= last)?;
    let id = pair.later.producer_id;
    let place = format!("{}/{}, between the copies,", note.directory, snapshot.file);
    Some(if snapshot.producers.binary_search(&id).is_ok() {
        let by = snapshot
            .last_offset(id)
            .map_or_else(String::new, |offset| format!(" by its last batch, which ends at offset {offset}"));
        (
            Memory::Holds,
            format!(
                "{place} remembers producer {id}{by}: it was forgotten later, or by another replica that led"
            ),
        )
    } else {
        (Memory::Lacks, format!("{place} lacks producer {id}, although the log below it holds its batches"))
    })
}

/// What is equal in originals and copies: sequences, records, and, as a rule, the checksums of the batches.
fn equal(episode: &Episode<'_>) -> String {
    let groups = &episode.relations.groups;
    let sequences = episode.pairs().filter_map(|pair| Some([i64::from(pair.later.sequence?.get())]));
    let (mut first, mut last, mut different) = (None, None, 0_usize);
    for [sequence] in groups.sorted(sequences) {
        first.get_or_insert(sequence);
        different += usize::from(last.replace(sequence) != Some(sequence));
    }
    let told = match first.zip(last) {
        // In several pieces, or over the end of all sequences, it is no range.
        Some((first, last)) if last - first + 1 == length(different) => {
            format!(" {}", range(first, last))
        }
        _ => String::new(),
    };
    let batches = episode.pairs().zip(0_i64..).map(|(pair, at)| {
        let (earlier, later) = (&pair.earlier.batch, &pair.later.batch);
        [i64::from(pair.later.partition), later.base_offset.0, at, i64::from(earlier.crc == later.crc)]
    });
    let (mut all, mut same) = (0_usize, 0_usize);
    let mut batches = groups.sorted(batches).peekable();
    while let Some([partition, batch, _, is_same]) = batches.next() {
        // One record of a batch stands for all.
        if batches.peek().is_none_or(|[of, next, ..]| (*of, *next) != (partition, batch)) {
            all += 1;
            same += usize::from(is_same == 1);
        }
    }
    let noun = if all == 1 { "batch" } else { "batches" };
    format!(
        "producer id, epoch, sequences{told} and records are equal, and so is the checksum in {same} of {all} {noun}"
    )
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    let name =
        episode.later_session.as_ref().map_or_else(String::new, |s| format!("producer {} ", s.producer_id));
    let over_leaders = episode.count(|p| p.earlier.partition_leader_epoch != p.later.partition_leader_epoch);
    let mut facts =
        vec![format!("{name}wrote the same sequences twice: {}", episode.moves()), equal(episode)];
    facts.extend(leader_epochs(episode));
    let epochs = || episode.pairs().filter_map(|p| p.earlier.partition_leader_epoch);
    if over_leaders == 0 && epochs().next().is_some() {
        facts.push(
            "original and copy are of one leader epoch in all pairs: no leader was elected between them"
                .to_owned(),
        );
    }
    // A new leader, or the old one after a restart, begins with what its own snapshots and log tell.
    let new_epoch = over_leaders == episode.surplus();
    let between = snapshot_between(episode);
    let since = forgotten_since(episode);
    facts.extend(between.as_ref().map(|(_, fact)| fact.clone()));
    facts.extend(since.clone());
    facts.extend(episode.pairs().next().as_ref().and_then(window::of_repeat));
    facts.extend(pairs_of(episode));
    Words {
        confidence: if episode.all(|p| p.level == Level::E1) {
            Confidence::Certain
        } else {
            Confidence::Likely
        },
        title: format!(
            "{copies} of {} {} stored twice under one producer id and sequence",
            episode.topic_name(),
            are(episode.surplus())
        ),
        cause: Some(cause(
            match between {
                Some((Memory::Lacks, _)) if new_epoch => {
                    "this replica had lost the producer's state by the snapshot between the copies (its older snapshots were lost, it rebuilt its state from less than the log, or it had forgotten the producer by age), and a leader without that state took the retry: this broker after a restart, or another one"
                }
                _ if new_epoch => {
                    "whoever led under the new leader epoch, another replica or the same broker after a restart, did so without the producer's state: its own snapshots were lost or rebuilt from less than the log, or it had forgotten the producer by age"
                }
                _ if since.is_some() => {
                    "the broker had forgotten the producer by expiry (producer.id.expiration.ms, or old record times): its snapshots lose producers that wrote last"
                }
                Some((Memory::Lacks, _)) => {
                    "the broker had already forgotten the producer when it wrote the snapshot between the copies: expiry (a pause or old record times), or a state that was rebuilt from less than the log"
                }
                _ => {
                    "the broker had forgotten the producer: expiry (a pause or old record times), lost snapshots, or a restore"
                }
            },
            Confidence::Likely,
        )),
        facts,
        alternatives: vec![
            dropped("resend-same-session", "an application that sends again gets new sequences"),
            dropped("producer-id-collision", "two writers with one id would write different records"),
        ],
        would_settle: lines([
            "producer.id.expiration.ms (before 3.4 transactional.id.expiration.ms) and the broker's log from the record times on (restarts, snapshot errors)",
        ]),
        advice: if new_epoch {
            lines([
                "look at the replica that led when the copies came, be it this broker after a restart: its snapshots, and its log from when it began to lead; neither a resend by the application nor a new client keeps the sequences",
                "never delete .snapshot files; producer.id.expiration.ms (before 3.4, KIP-854: transactional.id.expiration.ms) matters only where a producer was silent for as long",
                "until then drop repeats by business key in the consumers",
            ])
        } else {
            lines([
                "look for what made the broker forget: neither a resend by the application nor a new client keeps the sequences",
                "raise producer.id.expiration.ms (a day by default; before 3.4, KIP-854: transactional.id.expiration.ms, a week) above the longest pause or record age, and never delete .snapshot files",
                "until then drop repeats by business key in the consumers",
            ])
        },
    }
}
