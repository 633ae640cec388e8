//! `misrouted-key`: a keyed record in a partition that the topic's partitioner would not choose,
//! while the others fit.
//!
//! Goes in: what the record lane found under the partitioner that the topic's keys follow. Nothing is
//! said unless at least four fifths of the keyed records fit. A record that an older partition count
//! explains is no stray where it stands before the count grew, or so shortly behind it that its
//! producer may not have heard of it.

use super::Partition;
use super::draft::{about, at, count, dropped, finding, kept, lines, of_topics};
use super::duplicates::Examples;
use crate::finding::{Code, Confidence, Finding, MisroutedRecord, Window};
use crate::keys::Partitioner;
use crate::plan::routing::{
    FITTING_PERCENT, Placed, RoutedPartition, Routing, StrayKind, StrayRecord, other_partitioner,
    smaller_count,
};
use crate::units::{Offset, TopicNumber};
use std::collections::BTreeSet;

/// How long a producer may go on with the older count: `metadata.max.age.ms`.
const METADATA_AGE_MS: i64 = 300_000;
/// Smaller counts that are looked for among the strays, one after the other.
const COUNTS: usize = 3;

/// A topic whose partitioner was recognised.
#[derive(Debug)]
pub struct RoutedTopic<'a> {
    /// Its name.
    pub topic: &'a str,
    /// Which topic of that name.
    pub topic_number: TopicNumber,
    /// Where the partitioner puts its keys.
    pub routing: Routing,
    /// Whether somebody told the partition count.
    pub count_was_told: bool,
    /// Its partitions with their numbers, of the leading replica each.
    pub partitions: Vec<(i32, &'a RoutedPartition)>,
}

/// A record out of its place.
#[derive(Clone, Copy)]
struct Accused {
    partition: i32,
    record: StrayRecord,
    /// Whether the older count would put it where it is.
    fits_older: bool,
    expected: u32,
}

impl Accused {
    fn placed(&self) -> Placed {
        Placed { key: self.record.key, partition: u32::try_from(self.partition).unwrap_or(u32::MAX) }
    }
}

/// One finding a topic. `partitions` are those of all topics.
#[must_use]
pub fn judge(topics: &[RoutedTopic<'_>], partitions: &[Partition<'_>], examples: Examples) -> Vec<Finding> {
    topics.iter().filter_map(|topic| in_topic(topic, partitions, examples)).collect()
}

fn in_topic(topic: &RoutedTopic<'_>, partitions: &[Partition<'_>], examples: Examples) -> Option<Finding> {
    let routing = topic.routing;
    let sum =
        |of: fn(&RoutedPartition) -> u64| topic.partitions.iter().map(|(_, found)| of(found)).sum::<u64>();
    let (keyed, older) = (sum(|found| found.keyed), sum(|found| found.older));
    let omitted = sum(|found| found.strays_omitted);
    let strays = omitted + sum(|found| u64::try_from(found.strays.len()).unwrap_or(u64::MAX));
    if strays == 0 || keyed.saturating_sub(strays) * 100 < keyed * FITTING_PERCENT {
        return None;
    }
    let mut accused = accused(topic);
    let mut forgotten = Vec::new();
    for _ in 0..COUNTS {
        let unexplained = accused.iter().filter(|stray| !stray.fits_older);
        let placed: Vec<Placed> = unexplained.map(Accused::placed).collect();
        let Some(smaller) = smaller_count(routing.partitioner, routing.newest, &placed) else { break };
        forgotten.push(smaller);
        accused.retain(|stray| {
            let placed = stray.placed();
            stray.fits_older || placed.key.number(routing.partitioner) % smaller != placed.partition
        });
    }
    // What an unknown count explains in part was not kept to its end: who strays cannot be told.
    if accused.is_empty() || (omitted > 0 && !forgotten.is_empty()) {
        return None;
    }
    let all = u64::try_from(accused.len()).unwrap_or(u64::MAX) + omitted;
    let fit = keyed.saturating_sub(older).saturating_sub(strays);
    let late = strays.saturating_sub(all);
    let numbers = Numbers { keyed, fit, older, late, all, omitted, forgotten };
    Some(words(topic, &accused, &numbers, Fit::of(topic.topic_number, &accused, partitions), examples))
}

/// What may be out of place, but for records of the older count that came shortly behind the change.
fn accused(topic: &RoutedTopic<'_>) -> Vec<Accused> {
    let routing = topic.routing;
    let change = topic.partitions.iter().filter_map(|(_, found)| found.change.map(|(_, time)| time)).max();
    let mut accused = Vec::new();
    for &(partition, found) in &topic.partitions {
        let changed = found.change.map_or(Offset(i64::MIN), |(offset, _)| offset);
        for &(kind, record) in &found.strays {
            let fits_older = kind == StrayKind::BehindChange && routing.older.is_some();
            let recent = change.is_some_and(|time| record.timestamp <= time.saturating_add(METADATA_AGE_MS));
            if fits_older && recent {
                continue;
            }
            let count = routing.older.filter(|_| record.offset <= changed).unwrap_or(routing.newest);
            let expected = record.key.number(routing.partitioner) % count;
            accused.push(Accused { partition, record, fits_older, expected });
        }
    }
    accused.sort_by_key(|stray| (stray.partition, stray.record.offset));
    accused
}

/// How many records there are of each kind.
struct Numbers {
    keyed: u64,
    /// Where the newest count puts them.
    fit: u64,
    /// Where the older count puts them, before the change.
    older: u64,
    /// Explained by an older count behind the change, or by one that was found among the strays.
    late: u64,
    /// Out of their place.
    all: u64,
    omitted: u64,
    /// Counts that were found among the strays.
    forgotten: Vec<u32>,
}

fn words(
    topic: &RoutedTopic<'_>,
    accused: &[Accused],
    numbers: &Numbers,
    fit: Fit,
    examples: Examples,
) -> Finding {
    let (name, routing) = (topic.topic, topic.routing);
    let (partitioner, newest) = (routing.partitioner, routing.newest);
    let title = format!(
        "{name}: {} in a partition that {} would not choose",
        count(numbers.all, "keyed record stands", "keyed records stand"),
        partitioner.name(),
    );
    let mut finding = finding(Code::MisroutedKey, Confidence::Likely, title);
    about(&mut finding, accused.iter().map(|stray| (name, stray.partition)));
    of_topics(&mut finding, [topic.topic_number]);
    let times = || accused.iter().map(|stray| stray.record.timestamp).filter(|time| *time >= 0);
    finding.window = Some(Window::new(times().min(), times().max()));
    finding.partitioner = Some(match routing.older {
        Some(older) => format!("{} over {newest} partitions, before over {older}", partitioner.name()),
        None => format!("{} over {newest} partitions", partitioner.name()),
    });
    finding.facts = facts(topic, accused, numbers);
    let placed: Vec<Placed> = accused.iter().map(Accused::placed).collect();
    let other = other_partitioner(partitioner, newest, &placed);
    finding.alternatives = alternatives(other, fit);
    finding.would_settle = lines([
        "which applications write to the topic, with which client library and which partitioner",
        "whether one of them sets the partition itself",
    ]);
    let same = match partitioner {
        _ if other.is_none() => "find who wrote these records: give all writers the same partitioner, or leave the partition to it"
            .to_owned(),
        Partitioner::Murmur2 => "give all writers the same partitioner: librdkafka and its children need \
                                 partitioner=murmur2_random to agree with Java"
            .to_owned(),
        _ => format!("give all writers the same partitioner: most keys follow {}", partitioner.clients()),
    };
    finding.advice = vec![
        same,
        "records of one key in two partitions have no order between them: check consumers that keep state by key"
            .to_owned(),
    ];
    let most = match examples {
        Examples::AtMost(most) => most,
        Examples::All => usize::MAX,
    };
    finding.records = accused
        .iter()
        .take(most)
        .map(|stray| MisroutedRecord {
            topic: name.to_owned(),
            partition: stray.partition,
            offset: stray.record.offset.0,
            expected_partition: i32::try_from(stray.expected).unwrap_or(i32::MAX),
        })
        .collect();
    finding.records_omitted =
        numbers.omitted + u64::try_from(accused.len().saturating_sub(most)).unwrap_or(u64::MAX);
    finding
}

fn facts(topic: &RoutedTopic<'_>, accused: &[Accused], numbers: &Numbers) -> Vec<String> {
    let routing = topic.routing;
    let newest = routing.newest;
    let mut facts = vec![format!(
        "{} of {} keyed records stand where {} ({}) over {newest} partitions puts them{}",
        numbers.fit,
        numbers.keyed,
        routing.partitioner.name(),
        routing.partitioner.clients(),
        if topic.count_was_told { "" } else { "; the count is the one that fits best" },
    )];
    let change = topic.partitions.iter().filter_map(|(_, found)| found.change.map(|(_, time)| time)).max();
    if let Some(older) = routing.older {
        facts.push(format!(
            "the count grew from {older} to {newest}, at {} or soon after: it explains {} before that",
            at(change),
            count(numbers.older, "record", "records"),
        ));
    }
    if numbers.late > 0 && numbers.forgotten.is_empty() {
        facts.push(format!(
            "{} behind the change {} where the count of before puts {}: a producer that was running then may not have heard of the \
             new one; one that began later had",
            count(numbers.late, "record", "records"),
            if numbers.late == 1 { "stands" } else { "stand" },
            if numbers.late == 1 { "it" } else { "them" },
        ));
    }
    for smaller in &numbers.forgotten {
        facts.push(format!("the count was {smaller} at some time: records that fit it are not among these"));
    }
    let late = accused.iter().filter(|stray| stray.fits_older).count();
    if late > 0 {
        facts.push(format!("{late} of them fit the count of before, more than five minutes after it grew"));
    }
    facts
}

fn alternatives(other: Option<Partitioner>, fit: Fit) -> Vec<crate::finding::Alternative> {
    let mut alternatives = vec![match other {
        Some(other) => kept(
            "another client library",
            format!("most of them stand where {} ({}) puts them", other.name(), other.clients()),
        ),
        None => dropped(
            "the partitioner of another client library",
            "none that is known here (murmur2, crc32, fnv1a) puts them there",
        ),
    }];
    alternatives.push(kept(
        "custom partitioner",
        "an application's own one, or one that is not known here, may put them there",
    ));
    alternatives.push(kept("chosen partition", "the application may have set the partition itself"));
    let code = Code::MisplacedBatch.name();
    alternatives.push(match fit {
        Fit::All => dropped(
            code,
            "the sequences of their producers go through without a step where they stand, and those of a batch of another \
             partition would not, unless it was its producer's first in both",
        ),
        Fit::Steps => kept(
            code,
            "sequences step in these partitions: a batch that a client sent under the name of another one leaves that",
        ),
        Fit::Unknown => kept(
            code,
            "without sequences nothing tells a batch that a client sent under the name of another partition",
        ),
    });
    alternatives
}

/// What sequences say of the partitions in which records are out of their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Every producer's go through.
    All,
    /// Records may have none, or they were not followed.
    Unknown,
    /// Some do not.
    Steps,
}

impl Fit {
    fn of(topic: TopicNumber, accused: &[Accused], partitions: &[Partition<'_>]) -> Self {
        let places: BTreeSet<i32> = accused.iter().map(|stray| stray.partition).collect();
        let of_place = |&place: &i32| {
            let mut here = partitions
                .iter()
                .filter(|(context, _)| context.topic_number == topic && context.partition == place);
            let Some((_, facts)) = here.next() else { return Self::Unknown };
            let bare = facts.protection.unprotected_records + facts.protection.legacy_records;
            if !facts.steps.is_empty() || !facts.gaps.is_empty() {
                Self::Steps
            } else if bare > 0 || facts.gaps_omitted.iter().any(|&(_, omitted)| omitted > 0) {
                Self::Unknown
            } else {
                Self::All
            }
        };
        places.iter().map(of_place).max().unwrap_or(Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyHashes;
    use crate::plan::routing::{Look, Stray, Trail};

    const FOUR_THEN_SIX: Routing = Routing { partitioner: Partitioner::Murmur2, newest: 6, older: Some(4) };

    /// Puts keys where `place` says, one a second from `start` on, and follows them.
    struct Writer {
        routing: Routing,
        trails: Vec<Trail>,
        offsets: Vec<i64>,
        time: i64,
    }

    impl Writer {
        fn new(routing: Routing) -> Self {
            let partitions = usize::try_from(routing.newest).unwrap();
            Self {
                routing,
                trails: vec![Trail::default(); partitions],
                offsets: vec![0; partitions],
                time: 0,
            }
        }

        fn write(&mut self, numbers: std::ops::Range<u32>, place: impl Fn(KeyHashes) -> u32) {
            for number in numbers {
                let key = KeyHashes::of(format!("order-{number}").as_bytes());
                let partition = place(key);
                let at = usize::try_from(partition).unwrap();
                let offset = Offset(self.offsets[at]);
                self.offsets[at] += 1;
                self.time += 1_000;
                let record = StrayRecord { offset, timestamp: self.time, key };
                let look = self.routing.look(key.number(self.routing.partitioner), partition);
                let stray = Stray { newer_before: 0, fits_older: look == Look::Older, record };
                match look {
                    Look::Both => self.trails[at].take(&[], 0, 1),
                    Look::Newer => self.trails[at].take(&[], 1, 1),
                    Look::Older | Look::Neither => self.trails[at].take(&[stray], 0, 1),
                }
            }
        }

        fn judge(self) -> Vec<Finding> {
            let partitions: Vec<RoutedPartition> = self.trails.into_iter().map(Trail::finish).collect();
            let topic = RoutedTopic {
                topic_number: TopicNumber(0),
                topic: "orders",
                routing: self.routing,
                count_was_told: false,
                partitions: (0..).zip(&partitions).collect(),
            };
            judge(&[topic], &[], Examples::AtMost(20))
        }
    }

    fn by(partitioner: Partitioner, count: u32) -> impl Fn(KeyHashes) -> u32 {
        move |key| key.number(partitioner) % count
    }

    #[test]
    fn keys_that_moved_when_the_count_grew_are_not_misrouted() {
        let mut writer = Writer::new(FOUR_THEN_SIX);
        writer.write(0..200, by(Partitioner::Murmur2, 4));
        writer.write(0..200, by(Partitioner::Murmur2, 6));
        // A producer that has not heard of it yet.
        writer.write(200..210, by(Partitioner::Murmur2, 4));
        writer.write(210..300, by(Partitioner::Murmur2, 6));
        assert!(writer.judge().is_empty());
    }

    #[test]
    fn records_in_chosen_partitions_are_told_with_the_right_one() {
        let mut writer = Writer::new(FOUR_THEN_SIX);
        writer.write(0..100, by(Partitioner::Murmur2, 4));
        writer.write(100..200, by(Partitioner::Murmur2, 6));
        writer.write(200..201, |key| if key.number(Partitioner::Murmur2) % 6 == 5 { 4 } else { 5 });
        let found = writer.judge();
        assert_eq!(found.len(), 1);
        let right = KeyHashes::of(b"order-200").number(Partitioner::Murmur2) % 6;
        assert_eq!(found[0].records.len(), 1);
        assert_eq!(found[0].records[0].expected_partition, i32::try_from(right).unwrap());
        assert_eq!(found[0].partitioner.as_deref(), Some("murmur2 over 6 partitions, before over 4"));
    }

    #[test]
    fn a_misplaced_batch_is_excluded_by_sequences_that_fit_and_by_nothing_else() {
        use crate::facts::PartitionContext;
        use crate::facts::script::fold_in;
        let fit = |script: &str| {
            let (context, facts) =
                fold_in(PartitionContext { partition: 2, ..PartitionContext::default() }, script);
            let record = StrayRecord { offset: Offset(4), timestamp: 0, key: KeyHashes::of(b"order-1") };
            let accused = [Accused { partition: 2, record, fits_older: false, expected: 0 }];
            Fit::of(context.topic_number, &accused, &[(&context, &facts)])
        };
        assert_eq!(fit("D 5/0 0..3; D 6/0 0..0; D 5/0 4..4"), Fit::All);
        // Whole batches, too, of a client that has other sequences here.
        assert_eq!(fit("D 5/0 0..3; D 5/0 9..9"), Fit::Steps);
        assert_eq!(fit("D 5/0 0..3; D -1 1"), Fit::Unknown);
        let (none, record) =
            (Vec::new(), StrayRecord { offset: Offset(0), timestamp: 0, key: KeyHashes::of(b"k") });
        let elsewhere = [Accused { partition: 3, record, fits_older: false, expected: 0 }];
        assert_eq!(Fit::of(TopicNumber::default(), &elsewhere, &none), Fit::Unknown);
    }

    #[test]
    fn a_producer_that_keeps_the_older_count_for_long_is_told() {
        let mut writer = Writer::new(FOUR_THEN_SIX);
        writer.write(0..100, by(Partitioner::Murmur2, 4));
        writer.write(100..700, by(Partitioner::Murmur2, 6));
        writer.write(700..730, by(Partitioner::Murmur2, 4));
        writer.write(730..800, by(Partitioner::Murmur2, 6));
        let found = writer.judge();
        assert!(found[0].facts.iter().any(|fact| fact.contains("more than five minutes")), "{found:?}");
    }

    #[test]
    fn a_count_that_the_sample_missed_explains_its_records() {
        for forgotten in [3, 5] {
            let mut writer = Writer::new(Routing { older: None, newest: 12, ..FOUR_THEN_SIX });
            writer.write(0..60, by(Partitioner::Murmur2, forgotten));
            writer.write(60..1_000, by(Partitioner::Murmur2, 12));
            assert!(writer.judge().is_empty(), "{forgotten}");
        }
        // One partition at first: then all stood in partition 0.
        let mut writer = Writer::new(Routing { older: None, newest: 12, ..FOUR_THEN_SIX });
        writer.write(0..6, |_| 0);
        writer.write(6..1_000, by(Partitioner::Murmur2, 12));
        assert!(writer.judge().is_empty());
    }

    #[test]
    fn a_second_client_library_is_named() {
        let mut writer = Writer::new(Routing { older: None, newest: 12, ..FOUR_THEN_SIX });
        writer.write(0..1_000, by(Partitioner::Murmur2, 12));
        writer.write(1_000..1_050, by(Partitioner::Crc32, 12));
        let found = writer.judge();
        let library = &found[0].alternatives[0];
        assert!(library.kept && library.why.contains("crc32 (librdkafka"), "{library:?}");
    }

    #[test]
    fn where_too_few_fit_nothing_is_said() {
        let mut writer = Writer::new(Routing { older: None, newest: 12, ..FOUR_THEN_SIX });
        writer.write(0..300, by(Partitioner::Murmur2, 12));
        writer.write(300..400, |key| key.number(Partitioner::Crc32) / 7 % 12);
        assert!(writer.judge().is_empty());
    }
}
