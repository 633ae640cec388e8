//! `offset-gap`: offsets that no batch holds, in a log that the cleaner does not explain.
//!
//! A broker gives offsets without holes. So a hole between two files is a missing file, one below
//! the first file (above the first leader epoch) as well, and a log that ends below its
//! checkpointed high watermark lost its end. Between two files of a topic that is being compacted the
//! cleaner may have left a hole above its checkpoint: low, for nobody can tell. So is a hole that a file with its name
//! stands for, without a batch or with a first batch above its name, unless the topic is known not to be compacted:
//! the cleaner leaves such files, and a file that lost what it held looks the same. So is one hole inside a file:
//! bytes that go astray leave damage, not two sound neighbours. Holes below the cleaner's reach and holes over
//! unreadable bytes are told elsewhere. In a log that was not closed cleanly files may be of different
//! moments: an end below the high watermark alone is a note; an end below the recovery point as well is
//! medium, for what lies below it was flushed, and no crash takes it (`UnifiedLog.flush`,
//! `LogManager.checkpointLogRecoveryOffsets`). It does not matter whether the end is that of a batch or is torn: what is
//! missing begins behind the last batch that can be read. Where bytes behind it may have been batches, a part of what is
//! missing may be among them: medium, too.

use super::Partition;
use super::draft::{
    Topic, about, about_logs, capped, count, dropped, each_topic, finding, kept, lines, place, topic_of,
};
use super::elections;
use crate::facts::{HoleKind, LogTail, OffsetHole, PartitionContext, PartitionFacts, SnapshotEntry};
use crate::finding::phrase::offsets;
use crate::finding::{Alternative, Code, Confidence, Finding, Severity};
use crate::units::{Offset, ProducerId};
use std::collections::BTreeMap;

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    each_topic(partitions, |(topic, _), partitions| {
        let missing: Vec<(i32, Missing<'_>)> = partitions
            .iter()
            .flat_map(|(context, facts)| {
                missing(context, facts).into_iter().map(|missing| (context.partition, missing))
            })
            .collect();
        let (unsettled, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|(_, missing)| is_unsettled(missing));
        let (emptied, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|(_, missing)| is_emptied(missing));
        let (cut, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|(_, missing)| matches!(missing, Missing::Flushed { .. }));
        let (unreadable, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|(_, missing)| missing.behind() == LogTail::Damaged);
        let is_compaction_excluded = |of: i32| {
            partitions.iter().any(|(context, _)| context.partition == of && context.compacted == Some(false))
        };
        let (head, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|(of, missing)| may_be_deleted(missing, partitions, *of));
        let (alone, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|(of, missing)| is_inside(missing) && !is_compaction_excluded(*of));
        let cut_producers = partitions.iter().flat_map(|partition| cut_producers(*partition));
        let cut = told(topic, partitions, &cut).map(|finding| cut_or_copied(finding, cut_producers));
        let unreadable = told(topic, partitions, &unreadable).map(in_part_unreadable);
        let unsettled =
            told(topic, partitions, &unsettled).map(|finding| not_settled(finding, UNFINISHED_PASS));
        let emptied = told(topic, partitions, &emptied).map(|finding| not_settled(finding, EMPTIED));
        let head = told(topic, partitions, &head).map(deleted_or_lost);
        let alone = told(topic, partitions, &alone).map(|finding| not_settled(finding, ALONE));
        [told(topic, partitions, &missing), cut, unreadable, head, unsettled, emptied, alone]
            .into_iter()
            .flatten()
    })
}

/// A replica that does not lead.
#[derive(Clone, Copy, Debug)]
pub struct Follower<'a> {
    /// What lies beside its log, and what its batches say.
    pub partition: Partition<'a>,
    /// Its directory.
    pub directory: &'a str,
    /// Where the log of the replica that leads ends.
    pub leading_end: Offset,
}

/// Replicas that do not lead and were closed below the high watermark that they had noted
/// themselves: what they are behind the leading one by is no lag.
#[must_use]
pub fn judge_followers(followers: &[Follower<'_>]) -> Vec<Finding> {
    let mut topics: BTreeMap<Topic<'_>, Vec<(&Follower<'_>, Missing<'_>)>> = BTreeMap::new();
    for follower in followers {
        let (context, facts) = follower.partition;
        let is_told = |tail: &Missing<'_>| {
            context.clean_shutdown == Some(true) || matches!(tail, Missing::Flushed { .. })
        };
        let tail = tail(context, facts).filter(is_told);
        topics.entry(topic_of(context)).or_default().extend(tail.map(|tail| (follower, tail)));
    }
    topics.retain(|_, cut| !cut.is_empty());
    topics.into_iter().map(|((topic, _), cut)| cut_followers(topic, &cut)).collect()
}

fn cut_followers(topic: &str, cut: &[(&Follower<'_>, Missing<'_>)]) -> Finding {
    let total: u64 = cut.iter().map(|(_, missing)| size(missing)).fold(0, u64::saturating_add);
    let replicas = count(u64::try_from(cut.len()).unwrap_or(u64::MAX), "replica", "replicas");
    let offsets = count(total, "offset is", "offsets are");
    let title = format!("{topic}: {offsets} missing at the end of {replicas} that did not lead");
    let mut finding = finding(Code::OffsetGap, Confidence::Likely, title);
    about_logs(&mut finding, cut.iter().map(|(follower, _)| follower.partition.0));
    finding.facts = capped(
        cut.iter().map(|(follower, missing)| {
            let (first, last) = range(missing);
            let (leading, directory) = (follower.leading_end, follower.directory);
            let held = if leading > last {
                "the replica that leads goes on behind it".to_owned()
            } else {
                format!("the replica that leads ends at offset {leading}")
            };
            let checkpoints = match missing {
                Missing::Flushed { high_watermark, recovery_point, .. } => {
                    format!("high watermark is {high_watermark}, its recovery point {recovery_point}")
                }
                Missing::Hole(_) | Missing::Tail { .. } => format!("high watermark is {}", last.next()),
            };
            let end = end(first, missing.behind());
            format!("{directory}: {end}, its own checkpointed {checkpoints}; {held}")
        }),
        "replicas",
    );
    let unclean = unclean_elections(cut.iter().map(|(follower, _)| follower.partition.0));
    finding.facts.extend(unclean.clone());
    finding.ranges = cut
        .iter()
        .map(|(follower, missing)| {
            let (first, last) = range(missing);
            place(topic, follower.partition.0.partition, first.0, last.0, "missing")
        })
        .collect();
    finding.alternatives = vec![
        dropped("lag", "a replica notes no high watermark above what it holds itself"),
        damage(cut.iter().map(|(_, missing)| missing)),
        kept("mixed files", "the checkpoint may be of another moment than the log"),
        kept("incomplete copy", INCOMPLETE_COPY),
    ];
    finding.alternatives.extend(followed_a_shorter_log(&unclean));
    if cut.iter().any(|(_, missing)| matches!(missing, Missing::Flushed { .. })) {
        finding.severity = Severity::Medium;
        finding.confidence = Confidence::Possible;
        finding.alternatives.push(kept("live copy", LIVE_COPY));
    }
    finding.would_settle =
        lines(["when and how this directory was copied, and the broker's log at its last start"]);
    finding.advice = lines([
        "copy these files before their broker starts: a start lowers the checkpoint and removes the evidence",
        "look at the disk; where the leading replica holds these offsets, the broker fetches them again",
    ]);
    finding
}

/// What is missing in one partition.
enum Missing<'a> {
    Hole(&'a OffsetHole),
    Tail {
        log_end: Offset,
        high_watermark: Offset,
        /// What stands behind the end.
        behind: LogTail,
    },
    /// The same below the recovery point, in a log that was not closed cleanly.
    Flushed {
        log_end: Offset,
        high_watermark: Offset,
        recovery_point: Offset,
        /// What stands behind the end.
        behind: LogTail,
    },
}

impl Missing<'_> {
    /// Whether it is the end of the log that is missing.
    const fn is_at_the_end(&self) -> bool {
        match self {
            Self::Hole(_) => false,
            Self::Tail { .. } | Self::Flushed { .. } => true,
        }
    }

    /// What stands behind the last batch, where the end is missing.
    const fn behind(&self) -> LogTail {
        match self {
            Self::Hole(_) => LogTail::Whole,
            Self::Tail { behind, .. } | Self::Flushed { behind, .. } => *behind,
        }
    }
}

/// What a rival is called that an election explains.
const UNCLEAN: &str = "unclean election";

/// The elections of the partitions, as far as `__cluster_metadata` tells them.
fn unclean_elections<'a>(contexts: impl Iterator<Item = &'a PartitionContext>) -> Vec<String> {
    let lines = contexts.flat_map(|context| {
        let elections = context.unclean_elections.iter();
        elections.map(|election| elections::line(&context.topic, context.partition, election))
    });
    capped(lines, "unclean elections")
}

fn followed_a_shorter_log(unclean: &[String]) -> Option<Alternative> {
    let why = "a replica that follows a leader that was elected so cuts its own log where the two part, and may note its \
               high watermark later";
    (!unclean.is_empty()).then(|| kept(UNCLEAN, why))
}

const INCOMPLETE_COPY: &str = "files that were copied in part, or a disk that lost their end after the checkpoints were written, leave the same log";

const LIVE_COPY: &str =
    "the broker ran while its files were copied, and wrote the checkpoints after this log was copied";

/// Whether the cleaner has come to an offset that is missing for another reason.
pub(super) fn is_below_the_cleaner((_, facts): Partition<'_>, offset: Offset) -> bool {
    facts.was_cleaned && facts.cleaned_below.is_some_and(|limit| offset < limit)
}

/// What the cleaner makes of a number of missing records.
pub(super) fn cleaner_line((context, _): Partition<'_>) -> String {
    let limit = match context.cleaned_up_to {
        Some(limit) => format!(" (by its checkpoint up to offset {limit})"),
        None => String::new(),
    };
    format!(
        "{}-{}: the cleaner has been here{limit}: what it had taken was gone before, so fewer records may be missing than numbers",
        context.topic, context.partition
    )
}

/// Whether what deletes from the head explains a hole, in files that are of several moments or may be.
fn may_be_deleted(missing: &Missing<'_>, partitions: &[Partition<'_>], of: i32) -> bool {
    let Missing::Hole(hole) = missing else { return false };
    let head_may_be_deleted =
        || partitions.iter().any(|(context, facts)| context.partition == of && facts.head_may_be_deleted);
    match hole.kind {
        HoleKind::Passed => true,
        HoleKind::Head => head_may_be_deleted(),
        HoleKind::Damage
        | HoleKind::Boundary
        | HoleKind::Unsettled
        | HoleKind::Emptied
        | HoleKind::Inside => false,
    }
}

const fn is_unsettled(missing: &Missing<'_>) -> bool {
    matches!(missing, Missing::Hole(hole) if matches!(hole.kind, HoleKind::Unsettled))
}

const fn is_emptied(missing: &Missing<'_>) -> bool {
    matches!(missing, Missing::Hole(hole) if matches!(hole.kind, HoleKind::Emptied))
}

const fn is_inside(missing: &Missing<'_>) -> bool {
    matches!(missing, Missing::Hole(hole) if matches!(hole.kind, HoleKind::Inside))
}

const UNFINISHED_PASS: &str = "the cleaner works on this topic, and a broker that was killed before it wrote the cleaner's \
                               checkpoint leaves such holes above it";

const EMPTIED: &str = "the cleaner leaves a file without a batch, or one that begins above its name, where it kept nothing of \
                       what was there; a file that lost what it held looks the same";

const ALONE: &str = "the cleaner, or that of a leader whose batches were fetched, leaves such a hole inside a file; where it took \
                     whole batches in one place alone, it leaves no other trace, and the topic's cleanup policy is not known to \
                     exclude it";

/// A finding about holes that a loss would leave, and the cleaner as well.
fn not_settled(mut finding: Finding, why: &str) -> Finding {
    finding.severity = Severity::Low;
    finding.confidence = Confidence::Possible;
    finding.alternatives =
        vec![dropped("damage", "all bytes around these offsets can be read"), kept("compaction", why)];
    finding.advice = lines(["look at the same offsets in another replica"]);
    finding
}

/// Whether bytes that cannot be read explain it.
fn damage<'m, 'h: 'm>(missing: impl Iterator<Item = &'m Missing<'h>>) -> Alternative {
    match missing.map(Missing::behind).max().unwrap_or_default() {
        LogTail::Whole => dropped("damage", "all bytes around these offsets can be read"),
        LogTail::Torn => kept(
            "damage",
            "the last batch is there in part: something cut the file, or the disk lost what followed",
        ),
        LogTail::Damaged | LogTail::Unread => kept(
            "damage",
            "bytes behind the last batch cannot be read, and a part of these offsets may be theirs",
        ),
    }
}

/// A finding about holes where a head was deleted, or may have been, while the files were copied.
fn deleted_or_lost(mut finding: Finding) -> Finding {
    finding.severity = Severity::Low;
    finding.confidence = Confidence::Possible;
    finding.alternatives.retain(|rival| rival.code != "compaction");
    finding.alternatives.extend([
        kept(
            "retention",
            "retention and DeleteRecords delete from the head of a log, and these offsets are at its head: then nothing is lost",
        ),
        kept("live copy", "files that are copied one by one while a broker deletes are of different moments"),
    ]);
    finding.would_settle = lines([
        "the log start as the broker knows it (kafka-get-offsets.sh --time earliest)",
        "how these files were copied",
    ]);
    finding.advice = lines(["look at the log start and at the same offsets in another replica"]);
    finding
}

/// A finding about ends below a checkpoint, where bytes behind them cannot be read.
fn in_part_unreadable(mut finding: Finding) -> Finding {
    finding.severity = Severity::Medium;
    finding.confidence = Confidence::Possible;
    finding.alternatives.retain(|rival| rival.code != "compaction");
    finding
}

/// A finding about ends below both checkpoints, in logs that were not closed cleanly.
fn cut_or_copied(mut finding: Finding, cut_producers: impl Iterator<Item = String>) -> Finding {
    finding.severity = Severity::Medium;
    finding.confidence = Confidence::Possible;
    finding.facts.extend(capped(cut_producers, "producers"));
    let (mut damage, rest): (Vec<_>, Vec<_>) =
        finding.alternatives.into_iter().partition(|rival| rival.code == "damage");
    let unclean = rest.into_iter().filter(|rival| rival.code == UNCLEAN);
    damage.extend([
        dropped("crash", "what lies below the recovery point was flushed to the disk"),
        kept("live copy", LIVE_COPY),
    ]);
    damage.push(kept("incomplete copy", INCOMPLETE_COPY));
    finding.alternatives = damage;
    finding.alternatives.extend(unclean);
    finding.would_settle = lines([
        "how these files were copied, and whether the broker ran meanwhile",
        "another replica or a backup that holds these offsets",
    ]);
    finding
}

/// Producers of whom a snapshot knows more than the log of a partition holds, where its end is cut.
fn cut_producers((context, facts): Partition<'_>) -> Vec<String> {
    let Some(Missing::Flushed { log_end, .. }) = tail(context, facts) else { return Vec::new() };
    let mut newest: BTreeMap<ProducerId, (&str, &SnapshotEntry)> = BTreeMap::new();
    for snapshot in &context.snapshots {
        for entry in snapshot.entries.iter().flatten().filter(|entry| entry.last_offset >= Some(log_end)) {
            let known = newest.entry(entry.producer_id).or_insert((&snapshot.file, entry));
            if known.1.last_offset < entry.last_offset {
                *known = (&snapshot.file, entry);
            }
        }
    }
    let line = |(id, (file, entry)): (&ProducerId, &(&str, &SnapshotEntry))| {
        let (offset, sequence) = (entry.last_offset?, entry.last_sequence?);
        let held = facts.epochs.iter().filter(|span| span.producer_id == *id).last();
        let held = match held.and_then(|span| Some((span.last_sequence?, span.last_offset))) {
            Some((last, at)) => format!("the log holds it up to sequence {last} at offset {at}"),
            None => "the log holds nothing of it".to_owned(),
        };
        let place = format!("{}-{}", context.topic, context.partition);
        Some(format!(
            "{place}: producer {id} had come to sequence {sequence} at offset {offset} ({file}); {held}"
        ))
    };
    newest.iter().filter_map(line).collect()
}

fn told(topic: &str, partitions: &[Partition<'_>], missing: &[(i32, Missing<'_>)]) -> Option<Finding> {
    if missing.is_empty() {
        return None;
    }
    let total: u64 = missing.iter().map(|(_, missing)| size(missing)).fold(0, u64::saturating_add);
    let places = count(u64::try_from(missing.len()).unwrap_or(u64::MAX), "place", "places");
    let title = format!("{topic}: {} missing in {places}", count(total, "offset is", "offsets are"));
    let only_inside = missing.iter().all(|(_, missing)| is_inside(missing));
    let confidence = if only_inside { Confidence::Possible } else { Confidence::Likely };
    let mut finding = finding(Code::OffsetGap, confidence, title);
    about(&mut finding, missing.iter().map(|&(partition, _)| (topic, partition)));
    finding.facts = capped(missing.iter().map(|(p, missing)| line(topic, *p, missing)), "places");
    let snapshots = missing.iter().filter_map(|(partition, missing)| {
        let (first, _) = range(missing);
        let (context, _) = partitions.iter().find(|(context, _)| context.partition == *partition)?;
        let is_boundary = matches!(missing, Missing::Hole(hole) if hole.kind == HoleKind::Boundary);
        let snapshot = context.snapshots.iter().find(|snapshot| is_boundary && snapshot.offset == first)?;
        Some(format!(
            "{topic}-{partition}/{} is there, as a broker writes one when a segment begins: the segment of offset {first} was there, \
             too",
            snapshot.file
        ))
    });
    finding.facts.extend(capped(snapshots, "snapshots"));
    let cleaned: Vec<String> = partitions
        .iter()
        .filter_map(|&partition| {
            let of = |(number, missing): &(i32, Missing<'_>)| {
                *number == partition.0.partition
                    && !missing.is_at_the_end()
                    && is_below_the_cleaner(partition, range(missing).0)
            };
            missing.iter().any(of).then(|| cleaner_line(partition))
        })
        .collect();
    let compaction = if cleaned.is_empty() {
        "nothing shows that the cleaner was here; a past cleanup policy leaves no other trace"
    } else {
        "the cleaner has been here, and may have taken a part of these records before; a first file it does not take away"
    };
    finding.facts.extend(capped(cleaned, "partitions"));
    let cut = partitions.iter().filter(|(context, _)| {
        missing.iter().any(|(partition, missing)| *partition == context.partition && missing.is_at_the_end())
    });
    let unclean = unclean_elections(cut.map(|(context, _)| *context));
    finding.facts.extend(unclean.clone());
    finding.ranges = missing
        .iter()
        .map(|(partition, missing)| {
            let (first, last) = range(missing);
            place(topic, *partition, first.0, last.0, "missing")
        })
        .collect();
    let ends = || missing.iter().filter(|(_, missing)| missing.is_at_the_end());
    finding.alternatives = vec![
        damage(missing.iter().map(|(_, missing)| missing)),
        if ends().count() == missing.len() {
            dropped(
                "compaction",
                "the cleaner never works on the end of a log, and leaves no part of a batch",
            )
        } else {
            kept("compaction", compaction)
        },
    ];
    if ends().next().is_some() {
        finding.alternatives.push(kept("incomplete copy", INCOMPLETE_COPY));
    }
    finding.alternatives.extend(followed_a_shorter_log(&unclean));
    if missing
        .iter()
        .any(|(_, missing)| matches!(missing, Missing::Hole(hole) if hole.kind == HoleKind::Head))
    {
        finding.alternatives.push(kept(
            "tiered storage",
            "a topic with remote segments keeps the leader epochs of what it moved away",
        ));
    }
    finding.would_settle = lines([
        "another replica or a backup that holds these offsets",
        if ends().count() == missing.len() {
            "how and when these files were copied, the size of the file on the broker's disk, and the broker's log at its last start"
        } else {
            "the topic's cleanup policy, now and before"
        },
    ]);
    finding.advice = lines([
        "do not start a broker on these files before they are copied: a start lowers the checkpoints and removes \
         the evidence",
        "fetch the missing offsets from another replica or a backup",
    ]);
    Some(finding)
}

fn missing<'a>(context: &PartitionContext, facts: &'a PartitionFacts) -> Vec<Missing<'a>> {
    let cleaned = |hole: &OffsetHole| facts.cleaned_below.is_some_and(|limit| hole.first_offset < limit);
    // The files of a segment go together: an index alone is left of a file that was lost.
    let lost_its_log = |hole: &OffsetHole| {
        let inside = |base: &Offset| (hole.first_offset..=hole.last_offset).contains(base);
        hole.kind != HoleKind::Inside && context.indexes_without_segment.iter().any(inside)
    };
    let mut missing: Vec<Missing<'_>> = facts
        .holes
        .iter()
        .filter(|hole| match hole.kind {
            HoleKind::Damage => false,
            HoleKind::Head => true,
            // What lies below the log start was deleted, whatever became of its file.
            HoleKind::Passed => hole.last_offset >= context.log_start_offset,
            // Internal topics are compacted, whatever the files beside them say.
            HoleKind::Boundary | HoleKind::Unsettled | HoleKind::Emptied | HoleKind::Inside => {
                !context.internal && (!cleaned(hole) || lost_its_log(hole))
            }
        })
        .map(Missing::Hole)
        .collect();
    let is_told =
        |tail: &Missing<'_>| context.clean_shutdown != Some(false) || matches!(tail, Missing::Flushed { .. });
    missing.extend(tail(context, facts).filter(is_told));
    missing
}

/// What a log lacks below its checkpoints.
fn tail<'a>(context: &PartitionContext, facts: &PartitionFacts) -> Option<Missing<'a>> {
    let (log_end, behind) = (facts.log_end_offset, facts.tail);
    // What was not read may well be there.
    let high_watermark =
        context.high_watermark.filter(|mark| *mark > log_end && behind != LogTail::Unread)?;
    match context.recovery_point {
        Some(recovery_point) if recovery_point > log_end && context.clean_shutdown == Some(false) => {
            Some(Missing::Flushed { log_end, high_watermark, recovery_point, behind })
        }
        _ => Some(Missing::Tail { log_end, high_watermark, behind }),
    }
}

/// Whether the log ends below what had been flushed.
pub(super) fn misses_flushed((context, facts): Partition<'_>) -> bool {
    matches!(tail(context, facts), Some(Missing::Flushed { .. }))
}

/// Whether the log ends below a checkpoint.
pub(super) fn misses_its_end((context, facts): Partition<'_>) -> bool {
    tail(context, facts).is_some()
}

/// What is to be said of a log that was not closed cleanly and ends below its checkpointed high
/// watermark alone: its files may be of different moments, so it is nobody's fault.
#[must_use]
pub fn unclean_end((context, facts): Partition<'_>) -> Option<String> {
    let Some(Missing::Tail { log_end, high_watermark, behind }) = tail(context, facts) else { return None };
    (context.clean_shutdown == Some(false) && behind.is_known()).then(|| {
        format!(
            "the log ends at offset {log_end}, below its checkpointed high watermark {high_watermark}, and was not closed \
             cleanly: it was copied while the broker wrote, or a crash took its end"
        )
    })
}

fn range(missing: &Missing<'_>) -> (Offset, Offset) {
    match missing {
        Missing::Hole(hole) => (hole.first_offset, hole.last_offset),
        Missing::Tail { log_end, high_watermark, .. } => (*log_end, high_watermark.plus(-1)),
        // The log had come to either of them.
        Missing::Flushed { log_end, high_watermark, recovery_point, .. } => {
            (*log_end, (*high_watermark).max(*recovery_point).plus(-1))
        }
    }
}

fn size(missing: &Missing<'_>) -> u64 {
    let (first, last) = range(missing);
    u64::try_from(last.0.saturating_sub(first.0).saturating_add(1)).unwrap_or(0)
}

fn line(topic: &str, partition: i32, missing: &Missing<'_>) -> String {
    let what = match missing {
        Missing::Hole(hole) => {
            let range = offsets(hole.first_offset.0, hole.last_offset.0);
            match hole.kind {
                HoleKind::Head => {
                    format!("{range} lie above the start of the first leader epoch and below the first file")
                }
                HoleKind::Boundary | HoleKind::Passed | HoleKind::Unsettled => {
                    format!("{range} lie between two files and are in neither")
                }
                HoleKind::Emptied => {
                    format!(
                        "{range} are in no batch, although the file that begins with them by its name is there"
                    )
                }
                HoleKind::Inside | HoleKind::Damage => {
                    format!("{range} lie between two batches of one file and are in neither")
                }
            }
        }
        Missing::Tail { log_end, high_watermark, behind } => {
            format!("{}, its checkpointed high watermark is {high_watermark}", end(*log_end, *behind))
        }
        Missing::Flushed { log_end, high_watermark, recovery_point, behind } => format!(
            "{}, its checkpointed high watermark is {high_watermark}, and it was flushed up to {recovery_point}",
            end(*log_end, *behind)
        ),
    };
    format!("{topic}-{partition}: {what}")
}

/// Where a log ends, in words.
fn end(log_end: Offset, behind: LogTail) -> String {
    let more = match behind {
        LogTail::Whole => "",
        LogTail::Torn => " with a part of a batch",
        LogTail::Damaged | LogTail::Unread => " as far as it can be read",
    };
    format!("the log ends at offset {log_end}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Snapshot;
    use crate::facts::script::fold_in;
    use crate::finding::GapReason::{LogStartMoved, MissingSegment};
    use crate::units::{LeaderEpoch, ProducerEpoch, Sequence};

    fn judged(context: PartitionContext, script: &str) -> Vec<Finding> {
        let (context, facts) = fold_in(context, script);
        judge(&[(&context, &facts)])
    }

    fn plain() -> PartitionContext {
        PartitionContext::default()
    }

    #[test]
    fn a_hole_between_files_is_told_with_its_offsets() {
        let findings = judged(plain(), "D 5/0 0..4; at 20; roll; D 5/0 9..9");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].facts[0].contains("offsets 5–19"));
        assert_eq!(findings[0].title, "orders: 15 offsets are missing in 1 place");
    }

    #[test]
    fn compacted_logs_unreadable_bytes_and_markers_make_no_offset_gap() {
        // The cleaner may drop the last batches of a segment, too.
        assert!(
            judged(plain(), "D 5/0 0..4; kept 2; at 9; D 5/0 9..9; at 20; roll; D 5/0 20..20").is_empty()
        );
        assert!(judged(plain(), "D 5/0 0..4; kept 2; at 9; D 5/0 9..9; roll; D 5/0 10..10").is_empty());
        assert!(judged(plain(), "D 5/0 0..4; damage; at 9; D 5/0 9..9").is_empty());
        assert!(judged(plain(), "X 5/0 0..4; +M 5/1; X 5/1 0..0; -M 5/2; roll; D -1 2").is_empty());
        let cleaned = PartitionContext { cleaned_up_to: Some(Offset(50)), ..plain() };
        assert!(judged(cleaned, "D 5/0 0..4; at 20; roll; D 5/0 20..20").is_empty());
    }

    #[test]
    fn a_missing_file_behind_the_last_trace_of_the_cleaner_is_told() {
        let script = "D 5/0 0..4; kept 2; roll; D 5/0 5..5; at 20; roll; D 5/0 20..20";
        assert_eq!(judged(plain(), script).len(), 1);
    }

    #[test]
    fn a_hole_between_files_above_the_cleaners_checkpoint_is_low_unless_something_shows_a_missing_file() {
        let told = |compacted, alone: &[i64], script: &str| {
            let context = PartitionContext {
                cleaned_up_to: Some(Offset(5)),
                compacted,
                indexes_without_segment: alone.iter().map(|&base| Offset(base)).collect(),
                ..plain()
            };
            let findings = judged(context, script);
            findings.iter().map(|finding| (finding.severity, finding.confidence)).collect::<Vec<_>>()
        };
        let hole = "D 5/0 0..4; at 20; roll; D 5/0 20..20";
        let (low, high) = ((Severity::Low, Confidence::Possible), (Severity::High, Confidence::Likely));
        assert_eq!(told(None, &[], hole), [low]);
        assert_eq!(told(Some(true), &[], hole), [low]);
        // The topic is not compacted now, or the index of the missing file is still there.
        assert_eq!(told(Some(false), &[], hole), [high]);
        assert_eq!(told(Some(true), &[12], hole), [high]);
        assert_eq!(told(Some(true), &[20], hole), [low]);
        let both = "D 5/0 0..4; at 20; roll; D 5/0 20..20; at 30; roll; D 5/0 30..30";
        assert_eq!(told(Some(true), &[12], both), [high, low]);
    }

    #[test]
    fn a_file_without_a_batch_or_with_one_above_its_name_is_the_cleaners_or_lost_what_it_held() {
        let told = |compacted, alone: &[i64], script: &str| {
            let indexes_without_segment = alone.iter().map(|&base| Offset(base)).collect();
            let findings = judged(PartitionContext { compacted, indexes_without_segment, ..plain() }, script);
            findings.iter().map(|one| (one.severity, one.ranges.len())).collect::<Vec<_>>()
        };
        // The first files of a table that was written again as a whole; a broker's first file; one in the middle.
        let head = "roll; at 12; roll; at 14; roll; at 16; D 5/0 16..20; roll; D 5/0 21..21";
        let first = "at 5; D 5/0 5..9";
        let middle = "D 5/0 0..2; roll; at 6; roll; D 5/0 6..8";
        for (script, places) in [(head, 2), (first, 1), (middle, 1)] {
            assert_eq!(told(None, &[], script), [(Severity::Low, places)], "{script}");
            assert_eq!(told(Some(true), &[], script), [], "{script}");
            assert_eq!(told(Some(false), &[], script), [(Severity::High, places)], "{script}");
        }
        assert_eq!(told(None, &[4], middle), [(Severity::High, 1)]);
        // The file in front of one without a batch is missing all the same.
        let lost = "D 5/0 0..2; at 6; roll; at 9; roll; D 5/0 9..9";
        assert_eq!(told(None, &[], lost), [(Severity::High, 1), (Severity::Low, 1)]);
        // What was read may have been in a file of which nothing can be read.
        assert_eq!(told(None, &[], "D 5/0 0..2; roll; damage; at 6; roll; D 5/0 6..8"), []);
    }

    #[test]
    fn a_hole_inside_a_closed_segment_above_the_checkpoint_is_the_cleaners_and_one_in_the_active_one_may_be_a_leaders()
     {
        let context = |compacted| PartitionContext { cleaned_up_to: Some(Offset(5)), compacted, ..plain() };
        // What a broker leaves that was killed between the swap and the checkpoint.
        let closed = "D 5/0 0..4; roll; at 20; D 5/0 20..24; roll; D 5/0 25..25";
        assert!(judged(context(Some(true)), closed).is_empty());
        assert!(judged(context(None), closed).is_empty());
        assert_eq!(judged(context(Some(false)), closed).len(), 1);
        let active = "D 5/0 0..4; roll; D 5/0 5..5; at 20; D 5/0 20..24";
        // A replica that fetched from a leader whose log was cleaned has its holes in the active segment as well.
        assert_eq!(judged(context(Some(true)), active)[0].severity, Severity::Low);
        assert_eq!(judged(context(None), active)[0].severity, Severity::Low);
        assert_eq!(judged(context(Some(false)), active)[0].severity, Severity::High);
    }

    #[test]
    fn a_first_file_above_the_first_leader_epoch_is_a_missing_file_and_one_below_is_none() {
        let above = |start| PartitionContext {
            segment_bases: vec![Offset(40)],
            leader_epochs: vec![(LeaderEpoch(0), Offset(start))],
            ..plain()
        };
        assert_eq!(judged(above(0), "D 5/0 0..4").len(), 1);
        assert!(judged(above(40), "D 5/0 0..4").is_empty());
        assert!(judged(above(42), "D 5/0 0..4").is_empty());
    }

    #[test]
    fn a_head_that_may_have_been_deleted_while_files_were_copied_is_no_loss_that_is_known() {
        let told = |clean_shutdown, deleted, checkpointed: i32, script: &str| {
            let context = PartitionContext {
                segment_bases: vec![Offset(40), Offset(45), Offset(60)],
                leader_epochs: vec![(LeaderEpoch(checkpointed), Offset(0))],
                clean_shutdown,
                deleted,
                ..plain()
            };
            let (context, facts) = fold_in(context, script);
            let partitions = [(&context, &facts)];
            let sequences = crate::judgement::gaps::judge(&partitions, &[]);
            let offsets = judge(&partitions);
            [sequences, offsets].map(|list| list.iter().map(|one| one.severity).collect::<Vec<_>>())
        };
        let head = "leader 1; at 40; D 5/0 40..44; roll; D 5/0 45..59; roll; D 5/0 60..60";
        let (high, low) =
            ([vec![Severity::High], vec![Severity::High]], [vec![Severity::Info], vec![Severity::Low]]);
        // A log of one moment; one that a running broker may have deleted from; one that is only compacted.
        assert_eq!(told(Some(true), None, 1, head), high);
        assert_eq!(told(None, Some(true), 1, head), high);
        assert_eq!(told(Some(false), None, 1, head), low);
        assert_eq!(told(Some(false), Some(false), 1, head), high);
        // The checkpoint is older than the log.
        assert_eq!(told(Some(true), None, 0, head), low);
        assert_eq!(told(Some(true), Some(false), 0, head), high);
    }

    #[test]
    fn a_hole_behind_files_below_the_log_start_is_what_deletes_from_the_head() {
        let told = |clean, log_start: i64, script: &str| {
            let context = PartitionContext {
                log_start_offset: Offset(log_start),
                log_start_source: crate::facts::LogStartSource::LeaderEpochs,
                clean_shutdown: Some(clean),
                ..plain()
            };
            let (context, facts) = fold_in(context, script);
            let reason = facts.gaps.last().map(|gap| gap.reason);
            (judge(&[(&context, &facts)]).first().map(|one| one.severity), reason)
        };
        let script = "D 5/0 0..4; roll; D 5/0 5..9; at 20; roll; D 5/0 20..20";
        assert_eq!(told(false, 10, script), (Some(Severity::Low), Some(LogStartMoved)));
        assert_eq!(told(true, 10, script), (Some(Severity::High), Some(MissingSegment)));
        // A file above the log start stands in front of it, or all of it lies below.
        assert_eq!(told(false, 5, script), (Some(Severity::High), Some(MissingSegment)));
        for clean in [true, false] {
            assert_eq!(told(clean, 20, script), (None, Some(LogStartMoved)));
        }
    }

    #[test]
    fn a_log_that_ends_below_its_high_watermark_lost_its_end_unless_it_was_copied_while_it_ran() {
        let with =
            |clean| PartitionContext { high_watermark: Some(Offset(9)), clean_shutdown: clean, ..plain() };
        assert_eq!(judged(with(Some(true)), "D 5/0 0..4").len(), 1);
        assert_eq!(judged(with(None), "D 5/0 0..4").len(), 1);
        assert!(judged(with(Some(false)), "D 5/0 0..4").is_empty());
        let medium = judged(with(Some(true)), "D 5/0 0..4; damage").remove(0);
        assert_eq!((medium.severity, medium.confidence), (Severity::Medium, Confidence::Possible));
        assert!(medium.facts[0].contains("ends at offset 5 as far as it can be read, its checkpointed high"));
        assert!(medium.alternatives.iter().any(|rival| rival.kept && rival.code == "damage"));
        assert!(judged(with(Some(true)), "D 5/0 0..8").is_empty());
    }

    #[test]
    fn a_lost_end_is_no_work_of_the_cleaner_and_may_be_an_incomplete_copy() {
        let context =
            PartitionContext { high_watermark: Some(Offset(9)), clean_shutdown: Some(true), ..plain() };
        let told = |script: &str| {
            let finding = judged(context.clone(), script).remove(0);
            let of =
                |code: &str| finding.alternatives.iter().find(|one| one.code == code).map(|one| one.kept);
            let policy = finding.would_settle.iter().any(|line| line.contains("cleanup policy"));
            (of("compaction"), of("incomplete copy"), of("damage"), policy)
        };
        assert_eq!(told("D 5/0 0..4"), (Some(false), Some(true), Some(false), false));
        assert_eq!(told("D 5/0 0..4; torn"), (Some(false), Some(true), Some(true), false));
        // A hole in front of it, and nothing but a hole.
        let hole = "D 5/0 0..1; at 4; roll; D 5/0 4..4";
        assert_eq!(told(hole), (Some(true), Some(true), Some(false), true));
        let whole = "D 5/0 0..1; at 4; roll; D 5/0 4..8";
        assert_eq!(told(whole), (Some(true), None, Some(false), true));
    }

    #[test]
    fn a_cut_is_told_wherever_it_is() {
        let context = |clean| PartitionContext {
            high_watermark: Some(Offset(9)),
            recovery_point: Some(Offset(9)),
            clean_shutdown: clean,
            ..plain()
        };
        for (clean, severity) in [(Some(true), Severity::High), (Some(false), Severity::Medium)] {
            let told = |script: &str| {
                let mut finding = judged(context(clean), script).remove(0);
                let damage = finding.alternatives.remove(0);
                ((finding.severity, finding.title, finding.ranges, damage.code.clone()), damage.kept)
            };
            let (cut, damaged) = told("D 5/0 0..4");
            assert_eq!((cut.0, cut.1.as_str()), (severity, "orders: 4 offsets are missing in 1 place"));
            assert!(!damaged);
            assert_eq!(told("D 5/0 0..4; torn"), (cut, true));
        }
        // Above the recovery point a torn end is what a crash leaves.
        let crashed = PartitionContext { recovery_point: Some(Offset(5)), ..context(Some(false)) };
        let (context, facts) = fold_in(crashed, "D 5/0 0..4; torn");
        assert!(judge(&[(&context, &facts)]).is_empty());
        assert!(unclean_end((&context, &facts)).is_some());
    }

    #[test]
    fn an_unclean_end_below_both_checkpoints_is_a_cut_or_a_live_copy() {
        let entry = |id, sequence, offset| SnapshotEntry {
            producer_id: ProducerId(id),
            producer_epoch: Some(ProducerEpoch(0)),
            last_sequence: Sequence::new(sequence),
            last_offset: Some(Offset(offset)),
            offset_delta: 0,
            timestamp: 0,
            coordinator_epoch: None,
            current_txn_first_offset: None,
        };
        let snapshot = Snapshot {
            file: "8.snapshot".to_owned(),
            offset: Offset(8),
            entries: Ok(vec![entry(5, 6, 6), entry(6, 0, 7), entry(7, 9, 3)]),
        };
        let judged_with = |clean, high_watermark, recovery_point| {
            let context = PartitionContext {
                high_watermark: Some(Offset(high_watermark)),
                recovery_point: Some(Offset(recovery_point)),
                clean_shutdown: clean,
                snapshots: vec![snapshot.clone()],
                ..plain()
            };
            let (context, facts) = fold_in(context, "D 5/0 0..4");
            (judge(&[(&context, &facts)]), unclean_end((&context, &facts)))
        };
        let (findings, note) = judged_with(Some(false), 9, 8);
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.severity, finding.confidence), (Severity::Medium, Confidence::Possible));
        assert_eq!(finding.title, "orders: 4 offsets are missing in 1 place");
        assert_eq!(
            finding.facts,
            [
                "orders-0: the log ends at offset 5, its checkpointed high watermark is 9, and it was flushed up to 8",
                "orders-0: producer 5 had come to sequence 6 at offset 6 (8.snapshot); the log holds it up to sequence 4 at offset 4",
                "orders-0: producer 6 had come to sequence 0 at offset 7 (8.snapshot); the log holds nothing of it",
            ]
        );
        assert!(finding.alternatives.iter().any(|rival| rival.kept && rival.code == "live copy"));
        assert_eq!(note, None);
        // One of them alone: a crash takes what was not flushed.
        let (findings, note) = judged_with(Some(false), 9, 5);
        assert!(findings.is_empty() && note.is_some());
        assert_eq!(judged_with(Some(false), 5, 9).0, []);
        assert_eq!(judged_with(Some(true), 9, 8).0[0].severity, Severity::High);
    }

    #[test]
    fn a_replica_that_does_not_lead_is_told_below_its_own_high_watermark_and_lag_is_none() {
        let told = |clean, high_watermark| {
            let high_watermark = Some(Offset(high_watermark));
            let context = PartitionContext { high_watermark, clean_shutdown: clean, ..plain() };
            let (context, facts) = fold_in(context, "D 5/0 0..4");
            let partition = (&context, &facts);
            let follower = Follower { partition, directory: "two/orders-0", leading_end: Offset(12) };
            (judge_followers(&[follower]), unclean_end(partition))
        };
        let (findings, note) = told(Some(true), 9);
        assert_eq!((findings.len(), note), (1, None));
        let fact = "two/orders-0: the log ends at offset 5, its own checkpointed high watermark is 9; the replica that leads goes on behind it";
        assert_eq!(findings[0].facts, [fact]);
        assert!(told(Some(true), 5).0.is_empty());
        // Nobody knows whether the files are of one moment.
        assert!(told(None, 9).0.is_empty());
        let (findings, note) = told(Some(false), 9);
        assert!(findings.is_empty());
        assert!(
            note.unwrap().starts_with("the log ends at offset 5, below its checkpointed high watermark 9")
        );
    }

    #[test]
    fn an_unclean_election_may_have_cut_the_end_of_a_log_and_makes_no_hole() {
        let election = crate::facts::UncleanElection {
            leader: 3,
            leader_epoch: Some(LeaderEpoch(1)),
            holders: vec![2],
            offset: Offset(83),
            timestamp: None,
        };
        let judged_with = |elections: &[crate::facts::UncleanElection], mark, script| {
            let high_watermark = Some(Offset(mark));
            let unclean_elections = elections.to_vec();
            let finding =
                judged(PartitionContext { high_watermark, unclean_elections, ..plain() }, script).remove(0);
            let is_told = finding.facts.iter().any(|fact| fact.contains("although only broker 2 held all"));
            (is_told, finding.alternatives.iter().any(|rival| rival.kept && rival.code == UNCLEAN))
        };
        assert_eq!(judged_with(std::slice::from_ref(&election), 9, "D 5/0 0..4"), (true, true));
        assert_eq!(judged_with(&[], 9, "D 5/0 0..4"), (false, false));
        assert_eq!(judged_with(&[election], 9, "D 5/0 0..4; at 20; roll; D 5/0 9..9"), (false, false));
    }

    #[test]
    fn an_index_alone_below_the_last_trace_of_the_cleaner_is_left_of_a_lost_file() {
        let script = "D 5/0 0..4; at 20; roll; D 5/0 20..24; kept 2; roll; D 5/0 25..25";
        let told = |alone: &[i64]| {
            let alone = alone.iter().map(|&base| Offset(base)).collect();
            judged(PartitionContext { indexes_without_segment: alone, ..plain() }, script)
        };
        assert!(told(&[]).is_empty());
        assert_eq!(told(&[8]).len(), 1);
        assert!(told(&[25]).is_empty());
    }

    #[test]
    fn format_one_says_nothing_about_holes() {
        assert!(judged(plain(), "V1 2; at 20; V1 1").is_empty());
    }
}
