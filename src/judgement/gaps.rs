//! `sequence-gap` and `sequence-gap-explained`: one finding a topic, code and severity.
//!
//! The reason of each gap is told in the facts; here reasons become severity, words and the
//! rivals. A gap is called a loss nowhere: what the files show is that numbers are missing. Where a deleted
//! log of the same name ends just below it, nothing is.

use super::Partition;
use super::draft::{Topic, about, capped, count, dropped, each_topic, finding, kept, lines};
use super::offsets::{cleaner_line, is_below_the_cleaner};
use crate::facts::{LogStartSource, PartitionContext};
use crate::finding::{Code, Confidence, Finding, Gap, GapReason, Severity};
use crate::units::TopicNumber;
use std::collections::{BTreeMap, BTreeSet};

/// Where a log goes on with the sequences of a deleted one of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continued {
    /// The topic.
    pub topic_number: TopicNumber,
    /// The partition's number.
    pub partition: i32,
    /// The producer.
    pub producer_id: i64,
    /// Where it goes on.
    pub at_offset: i64,
    /// The deleted directory, as a report shows it.
    pub directory: String,
    /// The last sequence in it.
    pub last_sequence: i32,
}

impl Continued {
    fn closes(&self, topic: TopicNumber, gap: &Gap) -> bool {
        (self.topic_number, self.partition, self.producer_id, self.at_offset)
            == (topic, gap.partition, gap.producer_id, gap.at_offset)
    }
}

pub(super) fn judge(partitions: &[Partition<'_>], continued: &[Continued]) -> Vec<Finding> {
    each_topic(partitions, |topic, partitions| in_topic(topic, partitions, continued))
}

#[derive(Default)]
struct Heap<'a> {
    gaps: Vec<&'a Gap>,
    omitted: u64,
    partitions: BTreeSet<i32>,
    /// Where the log begins, of partitions whose head is gone.
    heads: BTreeMap<i32, String>,
    by_reason: BTreeMap<GapReason, u64>,
    /// What the cleaner may have taken, of partitions where it has come to sequences that a missing file may hold.
    cleaned: BTreeMap<i32, String>,
    /// The deleted logs that close them.
    continued: Vec<&'a Continued>,
}

fn in_topic(
    (topic, number): Topic<'_>,
    partitions: &[Partition<'_>],
    continued: &[Continued],
) -> Vec<Finding> {
    // Those that a deleted log closes stand by themselves.
    let mut heaps: BTreeMap<((Code, Severity), bool), Heap<'_>> = BTreeMap::new();
    for &(context, facts) in partitions {
        for gap in &facts.gaps {
            let closed = continued.iter().find(|continued| continued.closes(number, gap));
            let heap = heaps.entry((class(context, gap.reason), closed.is_some())).or_default();
            heap.continued.extend(closed);
            heap.gaps.push(gap);
            heap.partitions.insert(context.partition);
            if matches!(gap.reason, GapReason::Retention | GapReason::LogStartMoved) {
                heap.heads.entry(context.partition).or_insert_with(|| head(context));
            }
            let missing = gap.reason == GapReason::MissingSegment;
            let begins =
                facts.holes.iter().map(|hole| hole.first_offset).find(|first| first.0 < gap.at_offset);
            if missing && begins.is_some_and(|first| is_below_the_cleaner((context, facts), first)) {
                heap.cleaned.entry(context.partition).or_insert_with(|| cleaner_line((context, facts)));
            }
            *heap.by_reason.entry(gap.reason).or_default() += 1;
        }
        for &(reason, omitted) in &facts.gaps_omitted {
            let heap = heaps.entry((class(context, reason), false)).or_default();
            heap.omitted = heap.omitted.saturating_add(omitted);
            heap.partitions.insert(context.partition);
            *heap.by_reason.entry(reason).or_default() += omitted;
        }
    }
    heaps
        .into_iter()
        .map(|(((code, severity), closed), heap)| {
            let told = told(topic, code, severity, &heap);
            if closed { go_on(topic, told, &heap) } else { told }
        })
        .collect()
}

/// Words about gaps that a deleted log closes.
fn go_on(topic: &str, mut finding: Finding, heap: &Heap<'_>) -> Finding {
    let places = count(u64::try_from(heap.gaps.len()).unwrap_or(u64::MAX), "place", "places");
    finding.title = format!(
        "{topic}: sequences go on in {places} where a deleted log of the topic ends: none is missing"
    );
    finding.confidence = Confidence::Likely;
    finding.facts = capped(
        heap.continued.iter().map(|continued| {
            format!(
                "{} ends with sequence {} of producer {}, and {topic}-{} goes on with the next one at offset {}",
                continued.directory,
                continued.last_sequence,
                continued.producer_id,
                continued.partition,
                continued.at_offset
            )
        }),
        "places",
    );
    let client = "a client keeps its sequence when a topic is deleted and created again";
    finding.facts.push(client.to_owned());
    finding.alternatives =
        vec![dropped("loss", "the sequences of the deleted log and of this one have no hole between them")];
    finding.would_settle = lines(["when and why the topic was deleted"]);
    finding.advice = lines([
        "nothing has to be done about these sequences; what the deleted log alone held is gone with it, and the directory goes \
         as well: copy it now if somebody needs it",
    ]);
    finding
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
///
/// A gap that nothing explains lies over a hole inside a file, which the cleaner can leave, unless it never works there.
fn class(context: &PartitionContext, reason: GapReason) -> (Code, Severity) {
    match reason {
        GapReason::Unexplained if context.compacted != Some(false) => (Code::SequenceGap, Severity::Low),
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
    let over_files = heap.gaps.iter().filter(|gap| gap.reason == GapReason::MissingSegment);
    let missing = over_files.map(|gap| u64::from(gap.missing)).fold(0, u64::saturating_add);
    if missing > 0 && heap.omitted == 0 {
        finding.facts.push(format!(
            "{} missing; the hole may hold more records, of producers that are not seen again or without producer id",
            count(missing, "sequence is", "sequences are")
        ));
    }
    finding.facts.extend(capped(heap.cleaned.values().cloned(), "partitions"));
    let begins = heap.heads.iter().map(|(partition, begins)| format!("{topic}-{partition} {begins}"));
    // One alone is in the title.
    if heap.heads.len() > 1 || severity != Severity::Info {
        finding.facts.extend(capped(begins, "partitions"));
    }
    finding.facts.extend(heap.gaps.iter().find(|gap| begins_high(gap)).map(|gap| {
        format!(
            "sequences count up to {} and begin again at 0: a first batch at {} tells how far its producer was, not that as \
             many records are missing",
            i32::MAX,
            gap.found
        )
    }));
    for &reason in heap.by_reason.keys() {
        let words = words(reason);
        for &(code, why) in words.rivals {
            let is_cleaner = code == "compaction" && !heap.cleaned.is_empty();
            let why = if is_cleaner {
                "the cleaner has been here, and may have taken a part of them before"
            } else {
                why
            };
            rival(&mut finding, code, why);
        }
        finding.would_settle.extend(lines([words.settles]));
        finding.advice.extend(words.advice.map(str::to_owned));
    }
    finding.would_settle.dedup();
    finding.advice.dedup();
    finding.advice.truncate(3);
    finding.gaps = heap.gaps.iter().map(|&gap| gap.clone()).collect();
    finding.gaps_omitted = heap.omitted;
    finding
}

/// Adds a rival, or a second reason to keep it.
fn rival(finding: &mut Finding, code: &str, why: &str) {
    match finding.alternatives.iter_mut().find(|known| known.code == code) {
        Some(known) if known.why.contains(why) => {}
        Some(known) => known.why = format!("{}; or {why}", known.why),
        None => finding.alternatives.push(kept(code, why)),
    }
}

/// Whether a producer's first batch stands near the end of all sequences.
const fn begins_high(gap: &Gap) -> bool {
    matches!(gap.reason, GapReason::FirstAppend) && gap.found > i32::MAX / 2
}

/// Where gaps with an innocent reason are, as surely as it is known.
const fn place_of(reason: GapReason) -> &'static str {
    match reason {
        GapReason::Retention => "where the head of the log is not here",
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
        GapReason::Retention => "where the files begin behind them",
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
        GapReason::Retention => Words {
            rivals: &[
                (
                    "loss",
                    "what is not here cannot be inspected; as many offsets are gone as sequences or more",
                ),
                (
                    "incomplete copy",
                    "files that retention or DeleteRecords removed and files that nobody copied leave the same log",
                ),
            ],
            settles: "an older copy of the log, or how this one was made",
            advice: None,
        },
        GapReason::LogStartMoved => Words {
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
    use crate::judgement::offsets;
    use crate::units::{LeaderEpoch, Offset};

    fn judged(script: &str) -> Vec<Finding> {
        let (context, facts) = fold_in(PartitionContext::default(), script);
        judge(&[(&context, &facts)], &[])
    }

    #[test]
    fn a_gap_over_a_hole_inside_a_file_accuses_only_where_the_cleaner_never_works() {
        for (compacted, reason, severity) in [
            (None, GapReason::Unexplained, Severity::Low),
            (Some(true), GapReason::Compaction, Severity::Info),
            (Some(false), GapReason::Unexplained, Severity::High),
        ] {
            let context = PartitionContext { compacted, ..PartitionContext::default() };
            let (context, facts) = fold_in(context, "D 5/0 0..4; at 8; D 5/0 8..8");
            let findings = judge(&[(&context, &facts)], &[]);
            assert_eq!((findings[0].gaps[0].reason, findings[0].severity), (reason, severity));
        }
    }

    #[test]
    fn where_the_cleaner_has_been_a_missing_file_is_told_and_not_that_nothing_shows_the_cleaner() {
        let told = |cleaned_up_to: Option<i64>| {
            let context = PartitionContext {
                cleaned_up_to: cleaned_up_to.map(Offset),
                clean_shutdown: Some(true),
                leader_epochs: vec![(LeaderEpoch(0), Offset(0))],
                segment_bases: vec![Offset(20)],
                ..PartitionContext::default()
            };
            let (context, facts) = fold_in(context, "at 20; D 5/0 9..12");
            let partitions = [(&context, &facts)];
            let both = [judge(&partitions, &[]).remove(0), offsets::judge(&partitions).remove(0)];
            both.map(|finding| {
                let rival = finding.alternatives.iter().find(|rival| rival.code == "compaction").unwrap();
                let said =
                    finding.facts.iter().any(|fact| fact.contains("by its checkpoint up to offset 30"));
                (finding.severity, said, rival.why.starts_with("the cleaner has been here"))
            })
        };
        assert_eq!(told(Some(30)), [(Severity::High, true, true); 2]);
        assert_eq!(told(None), [(Severity::High, false, false); 2]);
    }

    #[test]
    fn sequences_that_go_on_from_a_deleted_log_are_not_missing_and_others_may_be() {
        let (context, facts) = fold_in(PartitionContext::default(), "D 5/0 12..15; D 6/0 9..9");
        let deleted = Continued {
            topic_number: TopicNumber(0),
            partition: 0,
            producer_id: 5,
            at_offset: 0,
            directory: "orders-0.b72d-delete".to_owned(),
            last_sequence: 11,
        };
        let findings = judge(&[(&context, &facts)], &[deleted]);
        assert_eq!(findings.len(), 2);
        let (open, closed) = (&findings[0], &findings[1]);
        assert_eq!((open.gaps[0].producer_id, closed.gaps[0].producer_id), (6, 5));
        assert!(
            closed.facts[0].contains("orders-0.b72d-delete ends with sequence 11 of producer 5"),
            "{closed:#?}"
        );
        let is_kept =
            |finding: &Finding| finding.alternatives.iter().any(|rival| rival.code == "loss" && rival.kept);
        assert!(is_kept(open) && !is_kept(closed));
        assert_eq!((closed.severity, closed.gaps[0].reason), (Severity::Low, GapReason::FirstAppend));
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
    fn a_rival_is_named_once_and_a_first_batch_near_the_largest_sequence_is_no_loss_of_as_many() {
        let low = judged("D 5/0 2147483643..2147483646; D 6/0 0..0; D 6/0 9..9").remove(0);
        let codes: Vec<_> = low.alternatives.iter().map(|rival| rival.code.as_str()).collect();
        assert_eq!(codes.iter().filter(|code| **code == "loss").count(), 1, "{low:#?}");
        assert!(low.facts.iter().any(|fact| fact.contains("a first batch at 2147483643 tells")), "{low:#?}");
        let usual = judged("D 5/0 12..15").remove(0);
        assert!(!usual.facts.iter().any(|fact| fact.contains("begin again at 0")), "{usual:#?}");
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
