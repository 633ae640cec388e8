//! `offset-gap`: offsets that no batch holds, in a log that the cleaner does not explain.
//!
//! A broker gives offsets without holes. So a hole between two files is a missing file, one below
//! the first file (above the first leader epoch) as well, and a log that ends below its
//! checkpointed high watermark lost its end. Holes below the cleaner's reach and holes over
//! unreadable bytes are told elsewhere. A tail is not missed in a log that was not closed cleanly:
//! its files may be of different moments.

use super::Partition;
use super::draft::{about, by_topic, capped, count, dropped, finding, kept, lines, offsets, place};
use crate::facts::{HoleKind, OffsetHole, PartitionContext, PartitionFacts};
use crate::finding::{Code, Confidence, Finding};
use crate::units::Offset;

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    by_topic(partitions).into_iter().filter_map(|(topic, partitions)| in_topic(topic, &partitions)).collect()
}

/// What is missing in one partition.
enum Missing<'a> {
    Hole(&'a OffsetHole),
    Tail { log_end: Offset, high_watermark: Offset },
}

fn in_topic(topic: &str, partitions: &[Partition<'_>]) -> Option<Finding> {
    let missing: Vec<(i32, Missing<'_>)> = partitions
        .iter()
        .flat_map(|(context, facts)| {
            missing(context, facts).into_iter().map(|missing| (context.partition, missing))
        })
        .collect();
    if missing.is_empty() {
        return None;
    }
    let total: u64 = missing.iter().map(|(_, missing)| size(missing)).fold(0, u64::saturating_add);
    let places = count(u64::try_from(missing.len()).unwrap_or(u64::MAX), "place", "places");
    let title = format!("{topic}: {} missing in {places}", count(total, "offset is", "offsets are"));
    let only_inside = missing
        .iter()
        .all(|(_, missing)| matches!(missing, Missing::Hole(hole) if hole.kind == HoleKind::Inside));
    let confidence = if only_inside { Confidence::Possible } else { Confidence::Likely };
    let mut finding = finding(Code::OffsetGap, confidence, title);
    about(&mut finding, missing.iter().map(|&(partition, _)| (topic, partition)));
    finding.facts = capped(missing.iter().map(|(p, missing)| line(topic, *p, missing)), "places");
    finding.ranges = missing
        .iter()
        .map(|(partition, missing)| {
            let (first, last) = range(missing);
            place(topic, *partition, first.0, last.0, "missing")
        })
        .collect();
    finding.alternatives = vec![
        dropped("damage", "all bytes around these offsets can be read"),
        kept(
            "compaction",
            "nothing shows that the cleaner was here; a past cleanup policy leaves no other trace",
        ),
    ];
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
        "the topic's cleanup policy, now and before",
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
    let mut missing: Vec<Missing<'_>> = facts
        .holes
        .iter()
        .filter(|hole| match hole.kind {
            HoleKind::Damage => false,
            HoleKind::Head => true,
            // Internal topics are compacted, whatever the files beside them say.
            HoleKind::Boundary | HoleKind::Inside => !context.internal && !cleaned(hole),
        })
        .map(Missing::Hole)
        .collect();
    let end_is_known = context.clean_shutdown != Some(false) && !facts.ends_in_damage;
    if let Some(high_watermark) = context.high_watermark
        && end_is_known
        && high_watermark > facts.log_end_offset
    {
        missing.push(Missing::Tail { log_end: facts.log_end_offset, high_watermark });
    }
    missing
}

fn range(missing: &Missing<'_>) -> (Offset, Offset) {
    match missing {
        Missing::Hole(hole) => (hole.first_offset, hole.last_offset),
        Missing::Tail { log_end, high_watermark } => (*log_end, high_watermark.plus(-1)),
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
                HoleKind::Boundary => format!("{range} lie between two files and are in neither"),
                HoleKind::Inside | HoleKind::Damage => {
                    format!("{range} lie between two batches of one file and are in neither")
                }
            }
        }
        Missing::Tail { log_end, high_watermark } => {
            format!("the log ends at offset {log_end}, its checkpointed high watermark is {high_watermark}")
        }
    };
    format!("{topic}-{partition}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::fold_in;
    use crate::units::LeaderEpoch;

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
        assert!(findings[0].facts[0].contains("offsets 5 to 19"));
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
    fn a_hole_above_the_cleaners_checkpoint_is_told() {
        let cleaned = PartitionContext { cleaned_up_to: Some(Offset(5)), ..plain() };
        assert_eq!(judged(cleaned, "D 5/0 0..4; at 20; roll; D 5/0 20..20").len(), 1);
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
    fn a_log_that_ends_below_its_high_watermark_lost_its_end_unless_it_was_copied_while_it_ran() {
        let with =
            |clean| PartitionContext { high_watermark: Some(Offset(9)), clean_shutdown: clean, ..plain() };
        assert_eq!(judged(with(Some(true)), "D 5/0 0..4").len(), 1);
        assert_eq!(judged(with(None), "D 5/0 0..4").len(), 1);
        assert!(judged(with(Some(false)), "D 5/0 0..4").is_empty());
        assert!(judged(with(Some(true)), "D 5/0 0..4; damage").is_empty());
        assert!(judged(with(Some(true)), "D 5/0 0..8").is_empty());
    }

    #[test]
    fn format_one_says_nothing_about_holes() {
        assert!(judged(plain(), "V1 2; at 20; V1 1").is_empty());
    }
}
