//! `sequence-gap` and `sequence-gap-explained`: one finding a topic, code and severity.
//!
//! The reason of each gap is told in the facts; here reasons become severity, words and the
//! rivals. A gap is called a loss nowhere: what the files show is that numbers are missing.

use super::Partition;
use super::draft::{about, by_topic, capped, count, finding, kept, lines};
use crate::facts::{LogStartSource, PartitionContext};
use crate::finding::{Code, Confidence, Finding, Gap, GapReason, Severity};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(partitions: &[Partition<'_>]) -> Vec<Finding> {
    by_topic(partitions).into_iter().flat_map(|(topic, partitions)| in_topic(topic, &partitions)).collect()
}

#[derive(Default)]
struct Heap<'a> {
    gaps: Vec<&'a Gap>,
    omitted: u64,
    partitions: BTreeSet<i32>,
    /// Where the log begins, of partitions whose head is gone.
    heads: BTreeMap<i32, String>,
    by_reason: BTreeMap<GapReason, u64>,
}

fn in_topic(topic: &str, partitions: &[Partition<'_>]) -> Vec<Finding> {
    let mut heaps: BTreeMap<(Code, Severity), Heap<'_>> = BTreeMap::new();
    for (context, facts) in partitions {
        for gap in &facts.gaps {
            let heap = heaps.entry(class(gap.reason)).or_default();
            heap.gaps.push(gap);
            heap.partitions.insert(context.partition);
            if matches!(gap.reason, GapReason::Retention | GapReason::LogStartMoved) {
                heap.heads.entry(context.partition).or_insert_with(|| head(context));
            }
            *heap.by_reason.entry(gap.reason).or_default() += 1;
        }
        for &(reason, omitted) in &facts.gaps_omitted {
            let heap = heaps.entry(class(reason)).or_default();
            heap.omitted = heap.omitted.saturating_add(omitted);
            heap.partitions.insert(context.partition);
            *heap.by_reason.entry(reason).or_default() += omitted;
        }
    }
    heaps.into_iter().map(|((code, severity), heap)| told(topic, code, severity, &heap)).collect()
}

/// Where a log begins, and what says so.
fn head(context: &PartitionContext) -> String {
    let start = context.log_start_offset;
    let source = match context.log_start_source {
        LogStartSource::FirstSegment => "the name of its first file",
        LogStartSource::Checkpoint => "log-start-offset-checkpoint",
        LogStartSource::LeaderEpochs => "the first line of leader-epoch-checkpoint",
    };
    match context.segment_bases.first().filter(|first| **first < start) {
        Some(first) => {
            format!("begins at offset {start} ({source}), and its first file at {first}")
        }
        None => format!("begins at offset {start} ({source})"),
    }
}

/// The code and severity of a reason.
const fn class(reason: GapReason) -> (Code, Severity) {
    match reason {
        GapReason::Unexplained | GapReason::MissingSegment => (Code::SequenceGap, Severity::High),
        GapReason::ExpiredProducerState | GapReason::LostProducerState | GapReason::FirstAppend => {
            (Code::SequenceGapExplained, Severity::Low)
        }
        GapReason::Retention
        | GapReason::LogStartMoved
        | GapReason::Compaction
        | GapReason::EpochChange
        | GapReason::Damage
        | GapReason::Other(_) => (Code::SequenceGapExplained, Severity::Info),
    }
}

fn told(topic: &str, code: Code, severity: Severity, heap: &Heap<'_>) -> Finding {
    let places = heap.by_reason.values().copied().fold(0_u64, u64::saturating_add);
    let producers: BTreeSet<i64> = heap.gaps.iter().map(|gap| gap.producer_id).collect();
    let producers = match (producers.first(), producers.len(), heap.omitted) {
        (Some(producer), 1, 0) => format!("producer {producer}"),
        (_, number, omitted) => {
            let told = count(u64::try_from(number).unwrap_or(u64::MAX), "producer", "producers");
            if omitted > 0 { format!("at least {told}") } else { told }
        }
    };
    let missing = match heap.gaps.as_slice() {
        [gap] if heap.omitted == 0 => {
            format!("are missing before {topic}-{} offset {}", gap.partition, gap.at_offset)
        }
        _ => format!("are missing in {}", count(places, "place", "places")),
    };
    let title = match (code, severity) {
        (Code::SequenceGap, _) => format!("{topic}: sequences of {producers} {missing}"),
        (_, Severity::Low) => {
            let places = count(places, "place", "places");
            format!("{topic}: sequences of {producers} jump in {places} that the broker could not check")
        }
        _ => {
            let places: Vec<_> = heap.by_reason.keys().map(|&reason| place_of(reason)).collect();
            let begins = match (heap.heads.first_key_value(), heap.heads.len()) {
                (Some((partition, begins)), 1) => format!("; {topic}-{partition} {begins}"),
                _ => String::new(),
            };
            format!("{topic}: sequences of {producers} {missing}, {}{begins}", places.join(" or "))
        }
    };
    let confidence = match code {
        Code::SequenceGap if heap.by_reason.contains_key(&GapReason::Unexplained) => Confidence::Possible,
        _ if severity == Severity::Low => Confidence::Possible,
        _ => Confidence::Likely,
    };
    let mut finding = finding(code, confidence, title);
    finding.severity = severity;
    about(&mut finding, heap.partitions.iter().map(|&partition| (topic, partition)));
    finding.facts = heap.by_reason.iter().map(|(&reason, &number)| fact(reason, number)).collect();
    let begins = heap.heads.iter().map(|(partition, begins)| format!("{topic}-{partition} {begins}"));
    finding.facts.extend(capped(begins, "partitions"));
    for &reason in heap.by_reason.keys() {
        let words = words(reason);
        finding.alternatives.extend(words.rivals.iter().map(|&(code, why)| kept(code, why)));
        finding.would_settle.extend(lines([words.settles]));
        finding.advice.extend(words.advice.map(str::to_owned));
    }
    finding.alternatives.dedup();
    finding.would_settle.dedup();
    finding.advice.dedup();
    finding.advice.truncate(3);
    finding.gaps = heap.gaps.iter().map(|&gap| gap.clone()).collect();
    finding.gaps_omitted = heap.omitted;
    finding
}

/// Where gaps with an innocent reason are, as surely as it is known.
const fn place_of(reason: GapReason) -> &'static str {
    match reason {
        GapReason::Retention => "where the head of the log was removed",
        GapReason::LogStartMoved => "where the log start was moved past the head of the log",
        GapReason::Compaction => "where the cleaner may have removed them",
        GapReason::EpochChange => "where the producer began a new epoch",
        GapReason::Damage => "over bytes that cannot be read",
        GapReason::ExpiredProducerState | GapReason::LostProducerState | GapReason::FirstAppend => {
            "where the broker could not check"
        }
        GapReason::MissingSegment => "over a missing file",
        GapReason::Other(_) | GapReason::Unexplained => "for a reason that is not known here",
    }
}

fn fact(reason: GapReason, number: u64) -> String {
    let places = count(number, "gap", "gaps");
    let why = match reason {
        GapReason::Retention => "where the head of the log was removed",
        GapReason::LogStartMoved => "where the head of the log was deleted and the log start moved",
        GapReason::Compaction => "where the cleaner has been and may have removed them",
        GapReason::EpochChange => "where the producer began again under a new epoch",
        GapReason::ExpiredProducerState => {
            "without a missing offset, after a pause in which brokers forget a producer"
        }
        GapReason::LostProducerState => {
            "that a broker with the producer's state would have refused; the offsets before them are complete \
             or too few to hold what is missing"
        }
        GapReason::FirstAppend => "at the first batch of the producer here, in a log that lost nothing",
        GapReason::MissingSegment => "over offsets that are missing between two files",
        GapReason::Damage => "over bytes that cannot be read; the coverage names them",
        GapReason::Other(_) => "for a reason of a later version",
        GapReason::Unexplained => "that neither retention, compaction, expiry nor damage explains",
    };
    format!("{places} {why}")
}

struct Words {
    rivals: &'static [(&'static str, &'static str)],
    settles: &'static str,
    advice: Option<&'static str>,
}

const fn words(reason: GapReason) -> Words {
    match reason {
        GapReason::Retention | GapReason::LogStartMoved => Words {
            rivals: &[(
                "loss",
                "what was removed cannot be inspected; as many offsets are gone as sequences or more",
            )],
            settles: "an older copy of the log",
            advice: None,
        },
        GapReason::Compaction => Words {
            rivals: &[("loss", "a record that the cleaner removed and one that was never stored look alike")],
            settles: "a copy of the log from before the cleaner ran: another replica, a backup, or .log.deleted files",
            advice: None,
        },
        GapReason::EpochChange | GapReason::Other(_) => {
            Words { rivals: &[], settles: "the producer's log at the time of the new epoch", advice: None }
        }
        GapReason::ExpiredProducerState | GapReason::LostProducerState => Words {
            rivals: &[
                (
                    "loss",
                    "records that were sent and are not here cannot be told from records that were never sent",
                ),
                ("recreated topic", "a client keeps its sequence when a topic is deleted and created again"),
            ],
            settles: "the producer's log, and producer.id.expiration.ms and the broker's log at that time",
            advice: Some("reconcile the keys that were sent with what is stored"),
        },
        GapReason::FirstAppend => Words {
            rivals: &[
                ("loss", "the first batch was refused or lost and the next one in flight was accepted"),
                ("recreated topic", "a client keeps its sequence when a topic is deleted and created again"),
                ("expired state", "the broker knew the producer from records that were all deleted"),
            ],
            settles: "the producer's log of its first sends to this partition",
            advice: Some("reconcile the keys that were sent with what is stored"),
        },
        GapReason::MissingSegment => Words {
            rivals: &[("compaction", "a cleaner that left no other trace in this log")],
            settles: "the missing file, or another replica",
            advice: Some(
                "look for the missing segment on other replicas and in backups before a broker is started on \
                 these files",
            ),
        },
        GapReason::Damage => Words {
            rivals: &[],
            settles: "another replica or a backup of the unreadable bytes",
            advice: Some("read the same offsets from another replica"),
        },
        GapReason::Unexplained => Words {
            rivals: &[
                ("compaction", "a cleaner that left no other trace in this log"),
                ("offset flip", "a base offset is not covered by the checksum of its batch"),
            ],
            settles: "another replica of the partition, or the list of what was sent",
            advice: Some("compare this partition with another replica"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::PartitionContext;
    use crate::facts::script::fold_in;

    fn judged(script: &str) -> Vec<Finding> {
        let (context, facts) = fold_in(PartitionContext::default(), script);
        judge(&[(&context, &facts)])
    }

    #[test]
    fn a_missing_segment_is_high_and_a_jump_that_nobody_checked_is_low() {
        let findings = judged("D 5/0 0..4; at 20; roll; D 5/0 9..9; D 5/0 12..12; D 5/0 14..14");
        let told: Vec<_> =
            findings.iter().map(|finding| (finding.code, finding.severity, finding.gaps.len())).collect();
        assert_eq!(
            told,
            [(Code::SequenceGap, Severity::High, 1), (Code::SequenceGapExplained, Severity::Low, 2)]
        );
        assert_eq!(findings[0].topics, ["orders"]);
        assert!(findings.iter().all(|finding| finding.confidence != Confidence::Certain));
    }

    #[test]
    fn many_gaps_of_one_kind_are_one_finding() {
        use std::fmt::Write;
        let mut script = String::from("D 5/0 0..4; kept 1;");
        for number in 1..300 {
            write!(script, "at {0}; D 5/0 {0}..{0};", 10 * number).unwrap();
        }
        let findings = judged(&script);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Info);
        assert_eq!(findings[0].gaps.len(), 299);
        assert!(findings[0].facts.len() < 10);
    }

    #[test]
    fn a_title_says_no_more_than_is_known_and_names_producer_and_place() {
        let findings = judged("D 5/0 0..4; kept 1; at 20; D 5/0 20..20");
        assert_eq!(
            findings[0].title,
            "orders: sequences of producer 5 are missing before orders-0 offset 20, where the cleaner may have removed them"
        );
        let two = judged("D 5/0 0..4; kept 1; D 6/0 0..4; at 20; D 5/0 15..15; D 6/0 9..9");
        let explained: Vec<_> = two.iter().filter(|finding| finding.severity == Severity::Info).collect();
        assert!(explained[0].title.contains("are missing in 2 places, where the cleaner may"), "{two:#?}");
    }

    #[test]
    fn a_gap_free_log_has_no_finding() {
        assert!(judged("D 5/0 0..4; D 5/0 5..9; X 7/0 0..0; +M 7/1; X 7/1 0..0; D -1 3").is_empty());
    }
}
