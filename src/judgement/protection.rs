//! `idempotence-off`, `idempotence-lost`, `idempotence-ineffective`: one finding a topic and code. Topics in which a
//! program of Kafka keeps its own state have none: Connect and MirrorMaker 2 write theirs without producer id by
//! default (KAFKA-13759), and a state that is written twice is the same state.
//!
//! Records without producer id are `idempotence-off`. They are `idempotence-lost` where protected
//! records lie before them in the partition and no protected session goes on beside them: then the
//! writer itself switched, as a deploy does. A session that began before such a stretch and is
//! still writing behind it, in this partition or elsewhere in the topic, is another writer. Where
//! more than a few unprotected records came beside protected sessions, that writer was there before
//! the protected ones ended, and nothing was lost with them.
//!
//! A few records among many protected ones show no writer that could have switched: they may be of any other program. They
//! are possible, and lower.
//!
//! Inside a partition offsets tell who goes on. Elsewhere only times do, and copies may keep the times
//! of their originals: where times step back at a switch, a session elsewhere must outlast the stretch
//! by more than such times can be wrong.

use super::Partition;
use super::draft::{Topic, about, at, capped, count, dropped, each_topic, finding, kept, lines, topic_of};
use crate::facts::{
    Ineffective, IneffectiveReason, PartitionFacts, ProtectionStretch, SessionSpan, Sessions,
};
use crate::finding::phrase::offsets;
use crate::finding::{
    Alternative, Cause, Code, Confidence, Finding, ProtectionMode, Severity, Stretch, Window, rfc3339,
};
use crate::units::TopicNumber;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(partitions: &[Partition<'_>], sessions: &Sessions) -> Vec<Finding> {
    let is_unprotected =
        |facts: &PartitionFacts| facts.protection.unprotected_records + facts.protection.legacy_records > 0;
    let unprotected: BTreeSet<TopicNumber> = partitions
        .iter()
        .filter(|(_, facts)| is_unprotected(facts))
        .map(|(context, _)| context.topic_number)
        .collect();
    let mut lives: BTreeMap<Topic<'_>, Lives> = BTreeMap::new();
    // Where nothing is unprotected nobody asks who stood beside it.
    for session in sessions.iter().filter(|_| !unprotected.is_empty()) {
        let times = session.first_timestamp().zip(session.last_timestamp());
        for span in &session.spans {
            let Some((context, _)) = partitions.get(span.partition) else { continue };
            if unprotected.contains(&context.topic_number) {
                lives.entry(topic_of(context)).or_default().add(context.partition, span, times);
            }
        }
    }
    each_topic(partitions, |topic, partitions| {
        let mut findings = Vec::new();
        if partitions.iter().any(|(context, _)| context.internal || context.holds_state) {
            return findings;
        }
        let lives = lives.remove(&topic).unwrap_or_default();
        let (lost, off, why_off) = split(partitions, &lives.ordered(step_back(partitions)));
        let (topic, _) = topic;
        findings.extend(told(topic, partitions, &lost, Told::Lost));
        findings.extend(told(topic, partitions, &off, Told::Off(why_off)));
        findings.extend(ineffective(topic, partitions));
        findings
    })
}

/// The lives of a topic's sessions, so ordered that "who was there before, and lasted longest?"
/// needs no walk over all of them.
#[derive(Default)]
struct Lives {
    /// By partition: first offset, and the farthest last offset up to here.
    by_offset: BTreeMap<i32, Vec<(i64, i64)>>,
    /// First time, and the latest last time up to here.
    by_time: Vec<(i64, i64)>,
    /// How much times may be wrong.
    doubt_ms: i64,
}

/// What keeps an unprotected stretch from being one that lost its protection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NotLost {
    /// Nothing protected stands in front of it in its partition.
    First,
    /// A protected session goes on in its partition.
    BesideHere,
    /// A protected session goes on in another partition.
    BesideElsewhere,
    /// Others of the topic stand beside protected sessions.
    LikeOthers,
    /// The cleaner removed records in front of it.
    Cleaned,
}

impl Lives {
    /// A session wrote to a partition; `times` are from when to when it wrote anywhere.
    fn add(&mut self, partition: i32, span: &SessionSpan, times: Option<(i64, i64)>) {
        self.by_offset.entry(partition).or_default().push((span.first_offset.0, span.last_offset.0));
        self.by_time.extend(times);
    }

    /// When all of them are there, and times step back by so much.
    fn ordered(mut self, step_back_ms: i64) -> Self {
        self.by_offset.values_mut().for_each(running_maximum);
        running_maximum(&mut self.by_time);
        // Either of the two times that are compared may be wrong.
        self.doubt_ms = step_back_ms.saturating_mul(2);
        self
    }

    /// Where a session that began before the stretch was still writing behind its end, or, elsewhere, until shortly
    /// before it.
    fn go_on_beside(&self, partition: i32, stretch: &ProtectionStretch) -> Option<NotLost> {
        let here = self
            .by_offset
            .get(&partition)
            .is_some_and(|lives| outlasts(lives, stretch.first_offset.0, stretch.last_offset.0));
        let elsewhere = || {
            stretch.first_timestamp.zip(stretch.last_timestamp).is_some_and(|(first, last)| {
                // Both go on to the end of what was copied, and somebody has to be the last.
                let end = match self.doubt_ms {
                    0 => last.saturating_sub(last.saturating_sub(first) / ALMOST_ALL).saturating_sub(1),
                    doubt => last.saturating_add(doubt),
                };
                outlasts(&self.by_time, first, end)
            })
        };
        if here { Some(NotLost::BesideHere) } else { elsewhere().then_some(NotLost::BesideElsewhere) }
    }
}

/// By how much an unprotected stretch begins, by its times, before protected records in front of it
/// end: the most in any partition.
fn step_back(partitions: &[Partition<'_>]) -> i64 {
    let mut most = 0;
    for (_, facts) in partitions {
        let mut newest: Option<i64> = None;
        for stretch in &facts.protection.stretches {
            if stretch.mode != ProtectionMode::None {
                newest = newest.max(stretch.last_timestamp);
            } else if let Some((newest, first)) = newest.zip(stretch.first_timestamp) {
                most = most.max(newest.saturating_sub(first));
            }
        }
    }
    most
}

fn running_maximum(lives: &mut Vec<(i64, i64)>) {
    lives.sort_unstable();
    let mut farthest = i64::MIN;
    for (_, last) in lives {
        farthest = farthest.max(*last);
        *last = farthest;
    }
}

/// A session that ends within one of so many parts of a stretch before its end wrote beside it.
const ALMOST_ALL: i64 = 10;

fn outlasts(lives: &[(i64, i64)], first: i64, last: i64) -> bool {
    let begun = lives.partition_point(|&(begin, _)| begin < first);
    begun.checked_sub(1).and_then(|at| lives.get(at)).is_some_and(|&(_, farthest)| farthest > last)
}

/// Unprotected stretches with their partitions.
type Stretches = Vec<(i32, ProtectionStretch)>;

/// While instances are replaced one by one, new ones write beside old ones: at most one of so many
/// records behind the switch.
const BESIDE_A_SWITCH: u64 = 10;

/// What was lost, what was off, and why the latter was not lost: an example of each reason.
fn split(
    partitions: &[Partition<'_>],
    lives: &Lives,
) -> (Stretches, Stretches, BTreeMap<NotLost, (i32, ProtectionStretch)>) {
    let (mut lost, mut off): (Stretches, Stretches) = (Vec::new(), Vec::new());
    let mut reasons = BTreeMap::new();
    let mut beside = 0_u64;
    for (context, facts) in partitions {
        let protected_from = protected_from(facts);
        for stretch in facts.protection.stretches.iter().filter(|s| s.mode == ProtectionMode::None) {
            let was_on = protected_from.is_some_and(|from| from < stretch.first_offset.0);
            let cleaned = || (!is_shown_in_front(facts, stretch)).then_some(NotLost::Cleaned);
            let beside_it = if was_on {
                lives.go_on_beside(context.partition, stretch).or_else(cleaned)
            } else {
                Some(NotLost::First)
            };
            let Some(reason) = beside_it else {
                lost.push((context.partition, *stretch));
                continue;
            };
            off.push((context.partition, *stretch));
            reasons.entry(reason).or_insert((context.partition, *stretch));
            let is_beside = matches!(reason, NotLost::BesideHere | NotLost::BesideElsewhere);
            beside = beside.saturating_add(if is_beside { stretch.records } else { 0 });
        }
    }
    let records = lost.iter().map(|(_, stretch)| stretch.records).fold(0, u64::saturating_add);
    if beside.saturating_mul(BESIDE_A_SWITCH) > records {
        if let Some(&first) = lost.first() {
            reasons.insert(NotLost::LikeOthers, first);
        }
        off.append(&mut lost);
        off.sort_by_key(|(partition, stretch)| (*partition, stretch.first_offset));
    }
    (lost, off, reasons)
}

/// Whether nothing unprotected stood right in front of a stretch, as far as the cleaner left that to be seen.
///
/// The cleaner keeps the last batch of each producer id, even if it is empty, and of writers without one only
/// what is the newest of its key. So what it left is not how much each of them wrote, and protection is known
/// only from where it has not been: there a writer of a tenth of the records would be seen.
fn is_shown_in_front(facts: &PartitionFacts, stretch: &ProtectionStretch) -> bool {
    let Some(cleaned_below) = facts.cleaned_below else { return true };
    let in_front = facts.protection.stretches.iter().filter(|other| other.last_offset < stretch.first_offset);
    let protected = in_front
        .filter(|other| matches!(other.mode, ProtectionMode::Idempotent | ProtectionMode::Transactional));
    let whole = protected.map(|other| {
        let from = other.first_offset.0.max(cleaned_below.0);
        u64::try_from(other.last_offset.0.saturating_sub(from).saturating_add(1)).unwrap_or(0)
    });
    whole.fold(0, u64::saturating_add) >= stretch.records.max(SHOWN_IN_FRONT)
}

/// So many protected records in a row show that a writer of a tenth of the records is not there.
const SHOWN_IN_FRONT: u64 = 5 * BESIDE_A_SWITCH;

/// Where protected records begin in a partition.
fn protected_from(facts: &PartitionFacts) -> Option<i64> {
    let protected = |mode| matches!(mode, ProtectionMode::Idempotent | ProtectionMode::Transactional);
    let whole = facts.protection.whole.iter().filter(|whole| protected(whole.mode));
    whole.map(|whole| whole.first_offset.0).min()
}

/// What is told of stretches without producer id.
enum Told {
    Lost,
    /// With an example of each reason that keeps one of them from being lost.
    Off(BTreeMap<NotLost, (i32, ProtectionStretch)>),
}

fn told(topic: &str, partitions: &[Partition<'_>], stretches: &Stretches, what: Told) -> Option<Finding> {
    if stretches.is_empty() {
        return None;
    }
    let code = match what {
        Told::Lost => Code::IdempotenceLost,
        Told::Off(_) => Code::IdempotenceOff,
    };
    let omitted: u64 = partitions.iter().map(|(_, facts)| facts.protection.stretches_omitted).sum();
    // Where modes alternate so often that not all stretches are kept, another writer goes on beside.
    let omitted = if code == Code::IdempotenceOff { omitted } else { 0 };
    let mut records: u64 = stretches.iter().map(|(_, stretch)| stretch.records).fold(0, u64::saturating_add);
    if omitted > 0 {
        let all = partitions.iter().map(|(_, facts)| facts.protection.unprotected_records);
        records = records.max(all.fold(0, u64::saturating_add));
    }
    let all: u64 = partitions.iter().map(|(_, facts)| carrying(facts)).fold(0, u64::saturating_add);
    let records_lack = if records == all {
        if all == 1 { "the only record lacks".to_owned() } else { format!("all {all} records lack") }
    } else {
        format!("{records} of {} lack", count(all, "record", "records"))
    };
    let times = || stretches.iter().filter_map(|(_, s)| s.first_timestamp.zip(s.last_timestamp));
    let from = times().map(|(first, _)| first).min();
    let any_protected = partitions.iter().any(|(_, facts)| protected_from(facts).is_some());
    let few =
        any_protected && FEW.iter().any(|&(most, of)| records < most && records.saturating_mul(of) < all);
    let (title, confidence) = if few {
        let lack = if records == 1 { "lacks" } else { "lack" };
        let title = format!("{records} of {all} records of topic {topic} {lack} a producer id");
        (title, Confidence::Possible)
    } else if code == Code::IdempotenceLost {
        let from = at(from);
        let is_back = partitions.iter().any(|(context, facts)| {
            let lost = stretches.iter().filter(|(partition, _)| *partition == context.partition);
            let end = lost.map(|(_, stretch)| stretch.last_offset).max();
            facts.protection.stretches.iter().any(|later| Some(later.first_offset) > end && end.is_some())
        });
        let title = if is_back {
            let to = at(times().map(|(_, last)| last).max());
            format!("idempotence was off in topic {topic} from {from} to {to}: {records_lack} a producer id")
        } else {
            format!(
                "idempotence was on in topic {topic} and is off from {from} on: {records_lack} a producer id"
            )
        };
        (title, Confidence::Likely)
    } else {
        (format!("idempotence is off in topic {topic}: {records_lack} a producer id"), Confidence::Certain)
    };
    let mut finding = finding(code, confidence, title);
    if few {
        finding.severity = match code {
            Code::IdempotenceLost => Severity::Medium,
            _ => Severity::Low,
        };
    }
    about(&mut finding, stretches.iter().map(|&(partition, _)| (topic, partition)));
    finding.window = Some(Window::new(from, times().map(|(_, last)| last).max()));
    // Forms for people leave out a fact that is the title.
    finding.facts = vec![finding.title.clone()];
    let batches: u64 = stretches.iter().map(|(_, stretch)| stretch.batches).fold(0, u64::saturating_add);
    let of = partitions.iter().map(|(_, facts)| carrying_batches(facts)).fold(0, u64::saturating_add);
    if omitted == 0 && batches < of {
        finding.facts.push(format!("they stand in {batches} of {}", count(of, "batch", "batches")));
    }
    let legacy = partitions.iter().map(|(_, facts)| facts.protection.legacy_records);
    let legacy = legacy.fold(0, u64::saturating_add);
    if legacy > 0 {
        let records = count(legacy, "record", "records");
        finding.facts.push(format!("{records} of formats 0 and 1, which cannot carry one, are not counted"));
    }
    // A partition with one stretch is told by the stretch itself.
    let in_parts = by_partition(stretches).into_iter().filter(|(_, stretches)| stretches.0 > 1);
    finding.facts.extend(capped(
        in_parts.map(|(partition, (number, records, first, last))| {
            format!(
                "{topic}-{partition}: {} in {}, {}",
                count(records, "record", "records"),
                count(number, "stretch", "stretches"),
                offsets(first, last)
            )
        }),
        "partitions",
    ));
    match what {
        Told::Lost => {
            let mut seen = BTreeSet::new();
            let firsts = stretches.iter().filter(|(partition, _)| seen.insert(*partition));
            finding.facts.extend(capped(
                firsts.map(|(partition, stretch)| switch(topic, partitions, *partition, stretch)),
                "partitions",
            ));
            lost_words(&mut finding, few);
        }
        Told::Off(reasons) => {
            let several = partitions.len() > 1;
            let since = if omitted == 0 { on_since(topic, partitions, stretches) } else { None };
            let is_beside =
                |reason: &NotLost| matches!(reason, NotLost::BesideHere | NotLost::BesideElsewhere);
            if !few && reasons.keys().any(is_beside) {
                finding.title = format!(
                    "in topic {topic} a writer without idempotence writes beside protected ones: {records_lack} a producer id"
                );
            }
            let (doubted, sure): (BTreeMap<_, _>, BTreeMap<_, _>) = reasons
                .into_iter()
                .partition(|(reason, _)| matches!(reason, NotLost::LikeOthers | NotLost::Cleaned));
            let why = |reasons: &BTreeMap<NotLost, _>| not_lost(topic, any_protected, several, reasons);
            let mut rivals = Vec::new();
            if !sure.is_empty() {
                rivals.push(dropped("idempotence-lost", why(&sure)));
            }
            if !doubted.is_empty() {
                rivals.push(kept("idempotence-lost", why(&doubted)));
            }
            if few {
                rivals.push(kept(ANOTHER_PROGRAM, SO_FEW));
            }
            off_words(&mut finding, rivals, since.as_deref());
            if since.is_some() {
                finding.title =
                    finding.title.replacen("idempotence is off in", "idempotence was off at first in", 1);
            }
            if let Some(fact) = finding.facts.first_mut() {
                fact.clone_from(&finding.title);
            }
        }
    }
    finding.stretches =
        stretches.iter().map(|(partition, stretch)| shown(topic, *partition, stretch)).collect();
    finding.stretches_omitted = omitted;
    Some(finding)
}

/// From where on every partition that has such stretches is protected, where each has one and at its beginning.
fn on_since(topic: &str, partitions: &[Partition<'_>], stretches: &Stretches) -> Option<String> {
    let mut since = Vec::new();
    for (partition, stretch) in stretches {
        let (_, facts) = partitions.iter().find(|(context, _)| context.partition == *partition)?;
        let all = || facts.protection.stretches.iter();
        let is_first = all().find(|one| one.mode == ProtectionMode::None) == Some(stretch);
        let on = all().find(|later| later.first_offset > stretch.last_offset)?;
        let alone = all().filter(|one| one.mode == ProtectionMode::None).count() == 1;
        let before =
            all().any(|one| one.first_offset < stretch.first_offset && one.mode != ProtectionMode::Legacy);
        if !is_first || !alone || before || on.mode == ProtectionMode::Legacy {
            return None;
        }
        since.push(format!("{topic}-{partition} from offset {} on", on.first_offset));
    }
    Some(capped(since, "partitions").join(", "))
}

/// Where the protection of a partition ends, and where it comes back.
fn switch(topic: &str, partitions: &[Partition<'_>], partition: i32, stretch: &ProtectionStretch) -> String {
    let (first, last) = (stretch.first_offset.0, stretch.last_offset.0);
    let end = partitions
        .iter()
        .filter(|(context, _)| context.partition == partition)
        .flat_map(|(_, facts)| &facts.protection.stretches)
        .find(|later| later.first_offset > stretch.last_offset && later.mode != ProtectionMode::None);
    let before = first.saturating_sub(1);
    match end {
        None => {
            format!(
                "{topic}-{partition}: protected up to offset {before}, no producer id from offset {first} on"
            )
        }
        Some(end) => format!(
            "{topic}-{partition}: protected up to offset {before}, no producer id at {}, protected again from offset {} on",
            offsets(first, last),
            end.first_offset.0
        ),
    }
}

/// Why stretches without producer id have not lost one.
fn not_lost(
    topic: &str,
    any_protected: bool,
    several: bool,
    reasons: &BTreeMap<NotLost, (i32, ProtectionStretch)>,
) -> String {
    if !any_protected {
        return "no record of the topic carries a producer id".to_owned();
    }
    let told = reasons.iter().map(|(reason, (partition, stretch))| {
        let place = format!("{topic}-{partition} {}", offsets(stretch.first_offset.0, stretch.last_offset.0));
        match reason {
            NotLost::First => format!("nothing protected stands in front of {place}"),
            NotLost::BesideHere => {
                format!("a protected session stands before {place} and goes on behind them in the partition")
            }
            NotLost::BesideElsewhere => format!(
                "a protected session that began before {place} goes on in another partition, by its times"
            ),
            NotLost::LikeOthers => format!(
                "behind {place} no protected session goes on, so what is written there may have had a producer id before; more \
                 likely it is of the writer without one that stands beside protected sessions {}",
                if several { "elsewhere in the topic" } else { "further up" }
            ),
            NotLost::Cleaned => format!(
                "the cleaner removed records in front of {place}, and leaves the last batch of each producer id alone: the \
                 writer of these may have been there all along"
            ),
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Fewer records, and less than one of so many, show no writer that others would have to be compared with: a console
/// producer or a script writes as many by hand.
const FEW: [(u64, u64); 2] = [(20, 20), (5, 5)];

const ANOTHER_PROGRAM: &str = "another program";
const SO_FEW: &str = "so few records may be of something else, such as a console producer, a script or an import; nothing shows \
                      that one of the other writers sent them";

fn lost_words(finding: &mut Finding, few: bool) {
    finding.cause = Some(Cause {
        text: "a deploy or a changed setting switched idempotence off".to_owned(),
        confidence: if few { Confidence::Possible } else { Confidence::Likely },
    });
    finding.alternatives = Vec::new();
    if few {
        finding.alternatives.push(kept(ANOTHER_PROGRAM, SO_FEW));
    }
    finding.alternatives.extend([
        dropped("idempotence-off", "no protected session goes on beside these records"),
        kept(
            "another application",
            "a new writer without idempotence, such as an import, took over from one that had it",
        ),
    ]);
    finding.would_settle = lines([
        "the producer's configuration and its log line \"Idempotence will be disabled because …\" at that time",
    ]);
    finding.advice = lines([
        "set enable.idempotence=true explicitly: acks other than all, retries=0 or more than 5 in flight then fail \
         at start instead of switching it off",
        "look for repeats in these stretches: a retry there is stored again",
    ]);
}

fn off_words(finding: &mut Finding, lost: Vec<Alternative>, on_since: Option<&str>) {
    finding.alternatives = vec![kept(
        "by default",
        "Java clients before 3.0 have idempotence off unless it is switched on, and so have 3.0.0 and 3.1.0 in effect \
             (KAFKA-13598) and most other libraries; \
             Connect workers and MirrorMaker 2 switch it off (KAFKA-13759)",
    )];
    finding.alternatives.extend(lost);
    finding.would_settle = lines(["the configuration of the producers that write to this topic"]);
    if let Some(since) = on_since {
        finding.facts.push(format!("with producer ids: {since}"));
        finding.advice = lines([
            "nothing is left to switch on where producer ids have begun since; look for repeats among the records before that",
        ]);
        return;
    }
    finding.advice = lines([
        "set enable.idempotence=true and acks=all in the producers of this topic, with retries above 0 and at most 5 \
         requests in flight (1 with Java clients of 0.11); brokers before 2.8 ask for the right to IdempotentWrite",
        "until then expect a retry to be stored again: make consumers drop repeats",
    ]);
}

/// Records that could carry a producer id.
fn carrying(facts: &PartitionFacts) -> u64 {
    let protection = &facts.protection;
    protection
        .idempotent_records
        .saturating_add(protection.transactional_records)
        .saturating_add(protection.unprotected_records)
}

/// Batches that could carry a producer id.
fn carrying_batches(facts: &PartitionFacts) -> u64 {
    let whole = facts.protection.whole.iter().filter(|whole| whole.mode != ProtectionMode::Legacy);
    whole.map(|whole| whole.batches).fold(0, u64::saturating_add)
}

fn by_partition(stretches: &Stretches) -> BTreeMap<i32, (u64, u64, i64, i64)> {
    let mut partitions = BTreeMap::new();
    for (partition, stretch) in stretches {
        let (first, last) = (stretch.first_offset.0, stretch.last_offset.0);
        let entry = partitions.entry(*partition).or_insert((0_u64, 0_u64, first, last));
        entry.0 = entry.0.saturating_add(1);
        entry.1 = entry.1.saturating_add(stretch.records);
        entry.3 = last;
    }
    partitions
}

fn shown(topic: &str, partition: i32, stretch: &ProtectionStretch) -> Stretch {
    Stretch {
        topic: Some(topic.to_owned()),
        partition: Some(partition),
        mode: stretch.mode,
        first_offset: stretch.first_offset.0,
        last_offset: stretch.last_offset.0,
        records: stretch.records,
        first_timestamp: stretch.first_timestamp,
        first_time: stretch.first_timestamp.and_then(rfc3339),
        last_timestamp: stretch.last_timestamp,
        last_time: stretch.last_timestamp.and_then(rfc3339),
    }
}

fn ineffective(topic: &str, partitions: &[Partition<'_>]) -> Option<Finding> {
    let found: Vec<(i32, &Ineffective)> = partitions
        .iter()
        .flat_map(|(context, facts)| facts.ineffective.iter().map(|whole| (context.partition, whole)))
        .collect();
    if found.is_empty() {
        return None;
    }
    let records: u64 = found.iter().map(|(_, whole)| whole.records).fold(0, u64::saturating_add);
    let records =
        count(records, "record has a producer id that protects", "records have producer ids that protect");
    let mut finding =
        finding(Code::IdempotenceIneffective, Confidence::Likely, format!("{topic}: {records} nothing"));
    about(&mut finding, found.iter().map(|&(partition, _)| (topic, partition)));
    let first = found.iter().filter_map(|(_, whole)| whole.first_timestamp).min();
    finding.window =
        Some(Window::new(first, found.iter().filter_map(|(_, whole)| whole.last_timestamp).max()));
    finding.facts = capped(
        found.iter().map(|(partition, whole)| {
            let why = match whole.reason {
                IneffectiveReason::NoEpoch => "epoch −1, whose sequences a broker does not check",
                IneffectiveReason::NoTime => "time −1, for which a broker forgets the producer at its next sweep",
                IneffectiveReason::OldTimes => {
                    "times older than the expiry when they were appended, for which a broker forgets the producer"
                }
            };
            let range = offsets(whole.first_offset.0, whole.last_offset.0);
            format!("{topic}-{partition}: {} with {why}, {range}", count(whole.records, "record", "records"))
        }),
        "kinds",
    );
    finding.alternatives = vec![kept(
        "longer expiry",
        "a broker with a longer producer.id.expiration.ms still remembers these producers",
    )];
    finding.would_settle = lines(["producer.id.expiration.ms of the brokers"]);
    finding.advice = lines([
        "raise producer.id.expiration.ms above the age of the oldest event time, or use LogAppendTime",
        "look for sequence ranges that are stored twice",
    ]);
    finding.stretches = found
        .iter()
        .map(|(partition, whole)| {
            let stretch = ProtectionStretch {
                mode: ProtectionMode::Idempotent,
                first_offset: whole.first_offset,
                last_offset: whole.last_offset,
                records: whole.records,
                batches: 0,
                first_timestamp: whole.first_timestamp,
                last_timestamp: whole.last_timestamp,
            };
            shown(topic, *partition, &stretch)
        })
        .collect();
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::PartitionContext;
    use crate::facts::script::{fold_in, fold_partitions};

    fn judged(scripts: &[&str]) -> Vec<Finding> {
        let all = fold_partitions(scripts);
        let partitions: Vec<_> = all.iter().map(|(context, facts)| (context, facts)).collect();
        judge(&partitions, &Sessions::build(&partitions, crate::spill::Share::default()).unwrap())
    }

    fn codes(scripts: &[&str]) -> Vec<(Code, Vec<i64>)> {
        let first = |finding: &Finding| finding.stretches.iter().map(|s| s.first_offset).collect();
        judged(scripts).iter().map(|finding| (finding.code, first(finding))).collect()
    }

    #[test]
    fn a_few_records_among_many_may_be_of_another_program() {
        let told = |script: &str| {
            let finding = judged(&[script]).remove(0);
            let rival = finding.alternatives.iter().any(|rival| rival.kept && rival.code == ANOTHER_PROGRAM);
            (finding.code, finding.severity, finding.confidence, rival)
        };
        let (off, lost) = (Code::IdempotenceOff, Code::IdempotenceLost);
        let (possible, likely) = (Confidence::Possible, Confidence::Likely);
        let few_lost = (lost, Severity::Medium, possible, true);
        assert_eq!(told("D 5/0 0..199; D -1 19"), (lost, Severity::High, likely, false));
        assert_eq!(told("D 5/0 0..399; D -1 19"), few_lost);
        assert_eq!(told("D 5/0 0..11; D -1 1"), few_lost);
        assert_eq!(told("D 5/0 0..199; D -1 1; D 6/0 0..199"), few_lost);
        let few_off = (off, Severity::Low, possible, true);
        assert_eq!(told("D 5/0 0..199; D -1 1; D 5/0 200..399"), few_off);
        assert_eq!(told("D -1 3; D 5/0 0..199"), few_off);
        // As many, or as large a part, is a writer.
        assert_eq!(told("D 5/0 0..999; D -1 20"), (lost, Severity::High, likely, false));
        assert_eq!(told("D 5/0 0..49; D -1 5"), (lost, Severity::High, likely, false));
        assert_eq!(told("D 5/0 0..4; D -1 3"), (lost, Severity::High, likely, false));
        assert_eq!(told("D -1 3"), (off, Severity::Medium, Confidence::Certain, false));
        let title = judged(&["D 5/0 0..199; D -1 1; D 5/0 200..399"]).remove(0).title;
        assert_eq!(title, "1 of 401 records of topic orders lacks a producer id");
    }

    #[test]
    fn never_on_is_off_and_protected_logs_have_no_finding() {
        assert_eq!(codes(&["D -1 3; D -1 1"]), [(Code::IdempotenceOff, vec![0])]);
        assert!(codes(&["D 5/0 0..4; X 7/0 0..0; +M 7/1"]).is_empty());
    }

    #[test]
    fn behind_what_the_cleaner_left_nobody_can_tell_that_protection_was_on() {
        // What a writer without producer id wrote before is cleaned away, and of producer 5 its last batch is left.
        let left = "D 5/0 0..4; kept 0; at 40; D 6/0 0..9; kept 1; roll; ";
        let told = |script: &str| {
            let findings = judged(&[&format!("{left}{script}")]);
            let doubt = findings[0].alternatives.iter().find(|rival| rival.code == "idempotence-lost");
            (
                findings[0].code,
                doubt.map(|rival| (rival.kept, rival.why.contains("the cleaner removed records"))),
            )
        };
        assert_eq!(told("D -1 3"), (Code::IdempotenceOff, Some((true, true))));
        assert_eq!(told("D 6/0 10..29; D -1 3"), (Code::IdempotenceOff, Some((true, true))));
        // Behind the cleaner's reach a long row of protected records shows it.
        assert_eq!(told("D 6/0 10..69; D -1 3"), (Code::IdempotenceLost, None));
        assert_eq!(told("D 6/0 10..69; D -1 90").0, Code::IdempotenceOff);
    }

    #[test]
    fn a_batch_that_the_cleaner_emptied_lacks_no_producer_id() {
        let emptied = "D 5/0 0..4; D -1 3; kept 0; D 5/0 5..9; roll; D 5/0 10..10";
        assert_eq!(codes(&[emptied]), []);
        let beside = judged(&[&format!("{emptied}; D -1 2")]);
        assert!(beside[0].title.contains("2 of 13 records"), "{beside:#?}");
        assert_eq!(beside[0].stretches.len(), 1);
        assert_eq!(beside[0].stretches[0].first_offset, 14);
    }

    #[test]
    fn where_a_program_keeps_its_state_nothing_is_told() {
        let told = |holds_state| {
            let context = PartitionContext { holds_state, ..PartitionContext::default() };
            let (context, facts) = fold_in(context, "D -1 3; D 5/0 0..4; D -1 1");
            let partitions = [(&context, &facts)];
            judge(&partitions, &Sessions::build(&partitions, crate::spill::Share::default()).unwrap()).len()
        };
        assert_eq!((told(false), told(true)), (2, 0), "what was lost, and what was off at first");
    }

    #[test]
    fn off_before_it_was_on_is_not_lost() {
        assert_eq!(codes(&["D -1 3; D 5/0 0..4"]), [(Code::IdempotenceOff, vec![0])]);
    }

    #[test]
    fn on_and_then_off_is_lost_from_the_exact_offset() {
        let findings = judged(&["D 5/0 0..4; D -1 3; D -1 2"]);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].code, findings[0].stretches[0].first_offset), (Code::IdempotenceLost, 5));
        assert_eq!(findings[0].stretches[0].records, 5);
    }

    #[test]
    fn off_for_a_while_between_two_deploys_is_lost() {
        assert_eq!(codes(&["D 5/0 0..4; D -1 3; D 6/0 0..4"]), [(Code::IdempotenceLost, vec![5])]);
    }

    #[test]
    fn a_protected_session_that_goes_on_beside_makes_it_another_writer() {
        let script = "D 12/0 0..4; D -1 1; D 12/0 5..5; D -1 1; D 12/0 6..6";
        assert_eq!(codes(&[script]), [(Code::IdempotenceOff, vec![5, 7])]);
    }

    #[test]
    fn a_session_that_goes_on_in_another_partition_counts_as_well() {
        let (here, there) = ("D 12/0 0..4; D -1 1; D -1 1", "D 12/0 0..0; wait 1h; D 12/0 1..1");
        assert_eq!(codes(&[here, there]), [(Code::IdempotenceOff, vec![5])]);
    }

    #[test]
    fn a_session_that_writes_elsewhere_almost_to_the_end_of_the_files_goes_on() {
        let here = "D 12/0 0..4; wait 300s; D -1 1; wait 300s; D -1 1";
        let ends = |wait: &str| codes(&[here, &format!("D 12/0 0..0; wait {wait}; D 12/0 1..1")]);
        assert_eq!(ends("599s"), [(Code::IdempotenceOff, vec![5])]);
        assert_eq!(ends("310s"), [(Code::IdempotenceLost, vec![5])]);
    }

    #[test]
    fn kept_times_prove_no_session_alive_elsewhere_and_a_longer_life_does() {
        // The restart repeats the last minute with its times, and session 12 wrote elsewhere up to then.
        let here = "D 12/0 0..4; wait 60s; D 12/0 5..5; wait -50s; D -1 3; D -1 1";
        let switched = judged(&[here, "wait 55s; D 12/0 0..0"]);
        assert_eq!(switched[0].code, Code::IdempotenceLost, "{switched:#?}");
        let goes_on = judged(&[here, "D 12/0 0..0; wait 1h; D 12/0 1..1"]);
        assert_eq!(goes_on[0].code, Code::IdempotenceOff);
        let why = &goes_on[0].alternatives[1].why;
        assert_eq!(
            why,
            "a protected session that began before orders-0 offsets 6–9 goes on in another partition, by its times"
        );
    }

    #[test]
    fn each_reason_against_a_loss_is_the_one_that_holds() {
        let why = |scripts: &[&str]| {
            let off = judged(scripts).into_iter().find(|finding| finding.code == Code::IdempotenceOff);
            off.expect("off").alternatives[1].why.clone()
        };
        assert_eq!(why(&["D -1 3", "D -1 1"]), "no record of the topic carries a producer id");
        assert_eq!(why(&["D -1 3; D 5/0 0..4"]), "nothing protected stands in front of orders-0 offsets 0–2");
        let beside = why(&["D 5/0 0..4; D -1 1; D 5/0 5..5"]);
        assert!(beside.starts_with("a protected session stands before orders-0 offset 5 and"), "{beside}");
    }

    #[test]
    fn what_was_off_at_first_and_is_on_since_is_not_to_be_switched_on() {
        let since = judged(&["D -1 3; D 5/0 0..4"]).remove(0);
        assert!(
            since.title.contains("idempotence was off at first in topic orders: 3 of 8 records"),
            "{since:#?}"
        );
        assert!(
            since.facts.iter().any(|fact| fact == "with producer ids: orders-0 from offset 3 on"),
            "{since:#?}"
        );
        assert!(since.advice[0].starts_with("nothing is left to switch on"), "{since:#?}");
        for still in [&["D -1 3"][..], &["D -1 3; D 5/0 0..4; D -1 1"], &["D -1 3; D 5/0 0..4", "D -1 1"]] {
            assert!(judged(still).iter().all(|finding| !finding.title.contains("at first")), "{still:?}");
        }
    }

    #[test]
    fn a_loss_that_is_only_doubted_is_no_excluded_one() {
        let doubted = judged(&["D 1/0 0..4; D -1 3; D 1/0 5..5; D -1 3"]).remove(0);
        let rival =
            doubted.alternatives.iter().find(|rival| rival.kept && rival.code == "idempotence-lost").unwrap();
        assert!(rival.why.contains("protected sessions further up"), "{rival:#?}");
    }

    #[test]
    fn a_partition_that_only_the_unprotected_writer_used_stays_apart_from_those_that_lost_it() {
        let codes = codes(&["D 5/0 0..4; wait 1s; D -1 9", "D 5/0 0..0; wait 1s; D -1 3", "wait 2s; D -1 2"]);
        assert_eq!(codes, [(Code::IdempotenceLost, vec![5, 1]), (Code::IdempotenceOff, vec![0])]);
    }

    #[test]
    fn the_writer_that_lost_it_stays_lost_behind_another_one_that_had_not_ended() {
        let script = "D 1/0 0..4; D 2/0 0..0; D -1 1; D 2/0 1..1; D -1 9; D -1 9";
        assert_eq!(codes(&[script]), [(Code::IdempotenceLost, vec![8]), (Code::IdempotenceOff, vec![6])]);
    }

    #[test]
    fn a_writer_that_was_there_before_the_protected_ones_ended_lost_nothing_with_them() {
        let script = "D 1/0 0..4; D -1 3; D 1/0 5..5; D -1 3; D 1/0 6..6; D -1 3";
        assert_eq!(codes(&[script]), [(Code::IdempotenceOff, vec![5, 9, 13])]);
    }

    #[test]
    fn formats_zero_and_one_could_not_be_protected() {
        assert!(codes(&["V1 4; D 5/0 0..1"]).is_empty());
    }

    #[test]
    fn epoch_minus_one_and_time_minus_one_protect_nothing() {
        let codes = codes(&["D 5/-1 0..4; no-time; D 6/0 0..0"]);
        assert_eq!(codes, [(Code::IdempotenceIneffective, vec![0, 5])]);
    }

    #[test]
    fn old_event_times_beside_a_marker_of_now_protect_nothing() {
        let old = "X 7/0 0..0; +M 7/0; wait 2d; X 7/0 1..1; +M 7/0; wait -2d; D 5/0 0..0";
        assert_eq!(codes(&[old]), [(Code::IdempotenceIneffective, vec![4])]);
        let transactional = "X 7/0 0..0; +M 7/0; wait 2d; X 7/0 1..1; +M 7/0; wait -2d; X 7/0 2..2; +M 7/0";
        assert!(codes(&[transactional]).is_empty());
    }
}
