//! What happened, in one ordered list: sessions, leaders, closed logs, transaction ends, gaps,
//! duplicates.
//!
//! Goes in: the facts of all partitions (of the leading replica of each), the sessions, and the
//! findings with their ids. Comes out: [`Event`]s in the order of their times. Inside a partition
//! offsets give the order, never client times: an event whose time lies before that of an earlier
//! one is listed behind it all the same.

use super::Partition;
use super::draft::count;
use crate::error::AuditError;
use crate::facts::{
    HoleKind, Outcome, PartitionContext, PartitionFacts, Rewind, SequenceStep, Session, Sessions, StepKind,
};
use crate::finding::phrase::offsets;
use crate::finding::{Event, EventKind, Finding, GapReason, ProtectionMode, in_turn};
use crate::relations::Groups;
use crate::spill::{Share, Sorter};
use crate::units::{Offset, ProducerEpoch, Sequence, TopicNumber};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Events that are put into their order all at once; of more than these those that are kept are found
/// first, so that not all are there together.
const TOGETHER: u64 = 50_000;

/// What is known of an event before it is put into words.
#[expect(missing_debug_implementations, reason = "the words are made by closures")]
pub struct Brief<'a> {
    /// What happened.
    pub kind: EventKind,
    /// When, in milliseconds, as far as it is known.
    pub time: Option<i64>,
    /// Topic, partition and offset.
    pub place: (&'a str, i32, i64),
    /// Which topic of that name, where that is known.
    pub topic_number: Option<TopicNumber>,
    /// The session that begins or ends.
    pub session: Option<&'a Session>,
    whole: &'a dyn Fn() -> Event,
}

/// Takes events one by one.
pub type Each<'e> = dyn FnMut(Brief<'_>) + 'e;

/// Where events come from.
#[derive(Clone, Copy, Debug)]
pub struct Happened<'a> {
    /// The partitions, of the leading replica of each.
    pub partitions: &'a [Partition<'a>],
    /// The sessions that were built from them, in this order.
    pub sessions: &'a Sessions,
    /// Positions of groups that stepped back.
    pub rewinds: &'a [Rewind],
    /// What was found, with ids.
    pub findings: &'a [Finding],
    /// Events that no log of these tells.
    pub beside: &'a [Event],
}

impl Happened<'_> {
    /// At most `most` of the events that are wanted, the weightiest; and how many of them are left out.
    #[must_use]
    pub fn at_most(
        &self,
        groups: &Groups,
        most: usize,
        wanted: &dyn Fn(&Brief<'_>) -> bool,
    ) -> (Vec<Event>, u64) {
        let mut all = 0_u64;
        self.tell_wanted(wanted, &mut |_| all += 1);
        if all <= TOGETHER || u64::try_from(most).is_ok_and(|most| all <= most) {
            return weightiest(self.together(wanted), most);
        }
        self.weightiest(groups, most, all, wanted)
    }

    fn together(&self, wanted: &dyn Fn(&Brief<'_>) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        self.tell_wanted(wanted, &mut |brief| events.push((brief.whole)()));
        in_order(events)
    }

    fn tell_wanted(&self, wanted: &dyn Fn(&Brief<'_>) -> bool, each: &mut Each<'_>) {
        self.tell(&mut |brief| {
            if wanted(&brief) {
                each(brief);
            }
        });
    }

    /// Tells all events, each time in the same order.
    pub fn tell(&self, each: &mut Each<'_>) {
        let mut whole = |event: &Event| {
            let place = (event.topic.as_str(), event.partition, event.offset);
            let (kind, time, topic_number) = (event.kind, event.timestamp, event.topic_number);
            each(Brief { kind, time, place, topic_number, session: None, whole: &|| event.clone() });
        };
        self.beside.iter().for_each(&mut whole);
        self.findings.iter().filter_map(of_finding).for_each(|event| whole(&event));
        for rewind in self.rewinds {
            let detail = super::rewinds::told(rewind);
            let place = (rewind.topic.as_str(), rewind.partition, rewind.to.0);
            let event = Event::new(EventKind::Rewind, rewind.timestamp, place, detail);
            whole(&event.of_topic(rewind.topic_number));
        }
        for &(context, facts) in self.partitions.iter().filter(|(context, _)| !context.internal) {
            of_log(context, facts, each);
        }
        of_sessions(self.partitions, self.sessions, each);
    }

    /// The weightiest of `all` events, with no more in memory than these and what `groups` may sort in.
    fn weightiest(
        &self,
        groups: &Groups,
        most: usize,
        all: u64,
        wanted: &dyn Fn(&Brief<'_>) -> bool,
    ) -> (Vec<Event>, u64) {
        let topics = self.topics(wanted);
        let mut number = 0_i64;
        let mut sorting = groups.sorting();
        self.tell_wanted(wanted, &mut |brief| {
            sorting.push(placed(&topics, &brief, number));
            number += 1;
        });
        let mut kept = Kept::at_most(most);
        for event in sorting.finish() {
            kept.take(event, Told::Here);
        }
        let order = kept.in_order();
        let events: Vec<Event> = self.whole(&order, wanted);
        let omitted = all.saturating_sub(u64::try_from(events.len()).unwrap_or(u64::MAX));
        (events, omitted)
    }

    /// The topics of the events that are wanted, with their numbers in the order of their names.
    fn topics(&self, wanted: &dyn Fn(&Brief<'_>) -> bool) -> Ranks {
        let mut topics: BTreeMap<String, BTreeSet<Option<TopicNumber>>> = BTreeMap::new();
        self.tell_wanted(wanted, &mut |brief| {
            let name = brief.place.0;
            if topics.get(name).is_none_or(|numbers| !numbers.contains(&brief.topic_number)) {
                topics.entry(name.to_owned()).or_default().insert(brief.topic_number);
            }
        });
        let mut ranks = 0_i64..;
        let ranked = |(name, numbers): (String, BTreeSet<_>)| {
            (name, numbers.into_iter().zip(&mut ranks).collect::<BTreeMap<_, _>>())
        };
        topics.into_iter().map(ranked).collect()
    }

    /// Of the events that are wanted those of these numbers, which come in this order.
    fn whole(&self, order: &[i64], wanted: &dyn Fn(&Brief<'_>) -> bool) -> Vec<Event> {
        let places: BTreeMap<i64, usize> = order.iter().copied().zip(0..).collect();
        let mut events: Vec<Option<Event>> = vec![None; order.len()];
        let mut number = 0_i64;
        self.tell_wanted(wanted, &mut |brief| {
            if let Some(event) = places.get(&number).and_then(|&at| events.get_mut(at)) {
                *event = Some((brief.whole)());
            }
            number += 1;
        });
        events.into_iter().flatten().collect()
    }
}

/// Where an event stands: topic, whether beside the log, its time there, partition, offset, kind. Then which of all
/// events it is, and its time.
type Placed = [i64; 8];

/// The topics in the order of their names, each of one name by itself.
type Ranks = BTreeMap<String, BTreeMap<Option<TopicNumber>, i64>>;

fn placed(topics: &Ranks, brief: &Brief<'_>, number: i64) -> Placed {
    let (topic, partition, offset) = brief.place;
    let topic = topics.get(topic).and_then(|of_name| of_name.get(&brief.topic_number));
    let topic = topic.copied().unwrap_or(-1);
    // As `in_order` has it: a step back of a group stands by its own time.
    let beside = brief.kind == EventKind::Rewind;
    let (is_beside, at) = if beside { (1, brief.time.unwrap_or(i64::MIN)) } else { (0, 0) };
    let kind = EventKind::ALL.iter().position(|kind| *kind == brief.kind);
    let kind = kind.and_then(|kind| i64::try_from(kind).ok()).unwrap_or(i64::MAX);
    let time = brief.time.unwrap_or(i64::MIN);
    [topic, is_beside, at, partition.into(), offset, kind, number, time]
}

/// Whether an event is told where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Here,
    /// An equal one is, of another copy of the log.
    Already,
}

/// The weightiest events so far; they come in the order of their places.
struct Kept {
    most: usize,
    /// The rank of its kind, its turn and its place; and which event it is.
    events: BinaryHeap<([i64; 3], i64)>,
    log: Option<[i64; 4]>,
    turn: i64,
    next: i64,
}

impl Kept {
    const fn at_most(most: usize) -> Self {
        Self { most, events: BinaryHeap::new(), log: None, turn: i64::MIN, next: 0 }
    }

    fn take(&mut self, event: Placed, told: Told) {
        let [topic, is_beside, at, partition, _, kind, number, time] = event;
        let own = [topic, is_beside, at, partition];
        if self.log.replace(own) != Some(own) {
            self.turn = i64::MIN;
        }
        self.turn = self.turn.max(time);
        if told == Told::Already {
            return;
        }
        let rank =
            usize::try_from(kind).ok().and_then(|kind| EventKind::ALL.get(kind)).map(|kind| kind.rank());
        let rank = rank.and_then(|rank| i64::try_from(rank).ok()).unwrap_or(i64::MAX);
        self.events.push(([rank, self.turn, self.next], number));
        self.next += 1;
        if self.events.len() > self.most {
            self.events.pop();
        }
    }

    fn holds(&self, number: i64) -> bool {
        self.events.iter().any(|(_, kept)| *kept == number)
    }

    /// Which events are kept, in the order of their times.
    fn in_order(self) -> Vec<i64> {
        let mut places: Vec<([i64; 2], i64)> =
            self.events.into_iter().map(|([_, turn, place], number)| ([turn, place], number)).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, number)| number).collect()
    }
}

/// An event, and by number the logs that show it.
pub type Shown = (Event, Vec<usize>);

/// What happened in logs of which some are copies of one partition: they show the same events but where they parted.
/// No more of them are in memory than those that are told, and what may be sorted in it.
#[expect(missing_debug_implementations, reason = "it is there while events are sorted alone")]
pub struct OfCopies<'a> {
    happened: Happened<'a>,
    topics: Ranks,
    /// By place: which of the logs shows the event (from 1; 0 stands for all of them together), which of its events it
    /// is, its time, and what stands for its words.
    sorter: Sorter<[i64; 10]>,
}

impl<'a> OfCopies<'a> {
    /// The events of all of these logs together.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written.
    pub fn new(happened: Happened<'a>, share: &Share) -> Result<Self, AuditError> {
        let topics = happened.topics(&|_| true);
        let mut all = Self { happened, topics, sorter: share.sorter() };
        all.add(0, &happened)?;
        Ok(all)
    }

    /// Adds what one of the logs shows by itself; `log` is its number from 0.
    ///
    /// # Errors
    /// As [`OfCopies::new`].
    pub fn add_log(&mut self, log: usize, alone: &Happened<'_>) -> Result<(), AuditError> {
        self.add(i64::try_from(log).unwrap_or(i64::MAX).saturating_add(1), alone)
    }

    fn add(&mut self, source: i64, happened: &Happened<'_>) -> Result<(), AuditError> {
        let mut number = 0_i64;
        let mut pushed = Ok(());
        happened.tell(&mut |brief| {
            if pushed.is_ok() {
                let words = xxhash_rust::xxh3::xxh3_64((brief.whole)().detail.as_bytes()).cast_signed();
                let [topic, is_beside, at, partition, offset, kind, number, time] =
                    placed(&self.topics, &brief, number);
                let place = [topic, is_beside, at, partition, offset, kind, source, number, time, words];
                pushed = self.sorter.push(place);
            }
            number += 1;
        });
        pushed
    }

    /// At most `most` of the events, the weightiest, and how many are left out.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written or read.
    pub fn weightiest(self, most: usize) -> Result<(Vec<Shown>, u64), AuditError> {
        let mut sorted = self.sorter.finish()?;
        let (mut kept, mut all) = (Kept::at_most(most), 0_u64);
        // The logs that show an event that is kept.
        let mut shown_by: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        let mut next = sorted.take_next()?;
        while let Some(first) = next {
            // What stands at one place: few events, each of few logs.
            let place = |event: &[i64; 10]| [event[0], event[1], event[2], event[3], event[4], event[5]];
            let mut here = vec![first];
            next = sorted.take_next()?;
            while let Some(event) = next.filter(|event| place(event) == place(&first)) {
                here.push(event);
                next = sorted.take_next()?;
            }
            let mut told: BTreeSet<i64> = BTreeSet::new();
            for &[topic, is_beside, at, partition, offset, kind, source, number, time, words] in &here {
                if source != 0 {
                    continue;
                }
                let event = [topic, is_beside, at, partition, offset, kind, number, time];
                if !told.insert(words) {
                    kept.take(event, Told::Already);
                    continue;
                }
                all += 1;
                kept.take(event, Told::Here);
                let logs = here.iter().filter(|other| other[6] > 0 && other[9] == words);
                let logs = logs.filter_map(|other| usize::try_from(other[6] - 1).ok());
                shown_by.insert(number, logs.collect());
                if shown_by.len() / 2 > most {
                    shown_by.retain(|number, _| kept.holds(*number));
                }
            }
        }
        let order = kept.in_order();
        let events = self.happened.whole(&order, &|_| true);
        let omitted = all.saturating_sub(u64::try_from(events.len()).unwrap_or(u64::MAX));
        let told = events.into_iter().zip(order).map(|(event, number)| {
            let mut logs = shown_by.remove(&number).unwrap_or_default();
            logs.dedup();
            (event, logs)
        });
        Ok((told.collect(), omitted))
    }
}

/// Keeps at most `most` events, those of the weightiest kinds, in their order; and how many are left
/// out.
fn weightiest(mut events: Vec<Event>, most: usize) -> (Vec<Event>, u64) {
    let omitted = events.len().saturating_sub(most);
    if omitted == 0 {
        return (events, 0);
    }
    let mut ranks: Vec<(usize, usize)> =
        events.iter().enumerate().map(|(at, event)| (event.kind.rank(), at)).collect();
    ranks.sort_unstable();
    let last = ranks.get(most.saturating_sub(1)).copied();
    let mut at = 0;
    events.retain(|event| {
        let kept = most > 0 && Some((event.kind.rank(), at)) <= last;
        at += 1;
        kept
    });
    (events, u64::try_from(omitted).unwrap_or(u64::MAX))
}

/// In the order of their times; inside a partition in the order of offsets.
fn in_order(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by(|a, b| (a.kind, &a.detail).cmp(&(b.kind, &b.detail)));
    in_turn(events, |event| {
        // A group's position steps back at a time of its own, behind all that it will read again.
        let beside = event.kind == EventKind::Rewind;
        let log = (event.topic.clone(), event.topic_number, beside.then_some(event.timestamp));
        ((log, event.partition, event.offset), event.timestamp)
    })
}

fn of_log(context: &PartitionContext, facts: &PartitionFacts, each: &mut Each<'_>) {
    let at = |offset: Offset| (context.topic.as_str(), context.partition, offset.0);
    let time = |offset: Offset| facts.landmarks.time_of(offset);
    let mut tell = |kind, time, place, detail: &dyn Fn() -> String| {
        let topic_number = Some(context.topic_number);
        let whole = || Event::new(kind, time, place, detail()).of_topic(topic_number);
        each(Brief { kind, time, place, topic_number, session: None, whole: &whole });
    };
    let mut before = None;
    for &(epoch, offset) in &facts.leader_epochs {
        let before = before.replace(epoch);
        tell(EventKind::LeaderEpoch, time(offset), at(offset), &|| match before {
            None => format!("the log begins under leader epoch {epoch}"),
            Some(before) => format!("first batch under leader epoch {epoch}, after {before}"),
        });
    }
    for closing in facts.landmarks.closings() {
        tell(EventKind::LogClosed, closing.after, at(closing.offset), &|| {
            format!("{}: the broker closed or loaded the log when it ended here", closing.file)
        });
    }
    for hole in
        facts.holes.iter().filter(|hole| facts.cleaned_below.is_none_or(|limit| hole.first_offset >= limit))
    {
        let behind = hole.last_offset.next();
        let where_ = match hole.kind {
            HoleKind::Head => "in front of the first file",
            HoleKind::Damage => "where bytes cannot be read",
            HoleKind::Boundary | HoleKind::Passed | HoleKind::Unsettled => "between two files",
            HoleKind::Emptied => "in a file that holds no batch there",
            HoleKind::Inside => "inside a file",
        };
        tell(EventKind::OffsetGap, time(behind), at(behind), &|| {
            format!("{} missing {where_}", offsets(hole.first_offset.0, hole.last_offset.0))
        });
    }
    for gap in &facts.gaps {
        let offset = Offset(gap.at_offset);
        tell(EventKind::SequenceGap, time(offset), at(offset), &|| {
            let epoch = gap.producer_epoch.map(|epoch| format!(" epoch {epoch}")).unwrap_or_default();
            let (producer, found, expected) = (gap.producer_id, gap.found, gap.expected);
            let (some, were) = match gap.missing {
                1 => ("the one".to_owned(), "was"),
                more => (format!("any of the {more}"), "were"),
            };
            match gap.reason {
                // Nothing says that the sequences before it were meant for this log.
                GapReason::FirstAppend => format!(
                    "producer {producer}{epoch}: its first batch here begins at sequence {found}; whether {some} before it {were} \
                     sent here cannot be told ({})",
                    gap.reason
                ),
                GapReason::ExpiredProducerState | GapReason::LostProducerState => format!(
                    "producer {producer}{epoch}: sequence {found} instead of {expected}; whether {some} between {were} sent \
                     cannot be told ({})",
                    gap.reason
                ),
                _ => format!(
                    "producer {producer}{epoch}: sequence {found} instead of {expected}, {} missing ({})",
                    gap.missing, gap.reason
                ),
            }
        });
    }
    for step in &facts.steps {
        tell(EventKind::SequenceStep, step.timestamp, at(step.at_offset), &|| stepped(step));
    }
    let mut met: Vec<ProtectionMode> = Vec::new();
    for stretch in &facts.protection.stretches {
        let again = met.contains(&stretch.mode);
        met.extend((!again).then_some(stretch.mode));
        let detail = match stretch.mode {
            ProtectionMode::None => "records without producer id from here on",
            ProtectionMode::Legacy => "records of formats 0 and 1 from here on, which have no producer id",
            ProtectionMode::Idempotent if again => {
                "records of idempotent producers again, without transaction"
            }
            ProtectionMode::Idempotent => "records of idempotent producers from here on",
            ProtectionMode::Transactional if again => "records in transactions again",
            ProtectionMode::Transactional => "records in transactions from here on",
            ProtectionMode::Other(_) => continue,
        };
        let place = at(stretch.first_offset);
        tell(EventKind::Protection, stretch.first_timestamp, place, &|| detail.to_owned());
    }
    for transaction in &facts.transactions {
        let data = || {
            transaction.last_offset.map_or_else(
                || format!("from offset {} on", transaction.first_offset),
                |last| offsets(transaction.first_offset.0, last.0),
            )
        };
        let name = || {
            let epoch = transaction.producer_epoch.map(|epoch| format!(" epoch {epoch}")).unwrap_or_default();
            format!("producer {}{epoch}", transaction.producer_id)
        };
        match (transaction.outcome, transaction.marker_offset) {
            (Outcome::Committed, Some(marker)) => {
                tell(EventKind::TransactionCommit, transaction.marker_timestamp, at(marker), &|| {
                    format!("{}: {} committed", name(), data())
                });
            }
            (Outcome::Aborted, Some(marker)) => {
                tell(EventKind::TransactionAbort, transaction.marker_timestamp, at(marker), &|| {
                    format!("{}: {} aborted", name(), data())
                });
            }
            (Outcome::Open, _) | (_, None) => {
                let place = at(transaction.first_offset);
                tell(EventKind::TransactionOpen, transaction.first_timestamp, place, &|| {
                    format!("{}: a transaction begins that has no end in this log", name())
                });
            }
        }
    }
}

fn stepped(step: &SequenceStep) -> String {
    let number = |sequence: Option<Sequence>| sequence.map_or_else(|| "?".to_owned(), |s| s.to_string());
    let epoch = |epoch: Option<ProducerEpoch>| epoch.map_or_else(|| "none".to_owned(), |e| e.to_string());
    let range = format!("{}–{}", number(step.first_sequence), number(step.last_sequence));
    let what = match step.kind {
        StepKind::Repeat => format!("sequences {range} are there already"),
        StepKind::RepeatOfSnapshot => {
            format!(
                "sequences {range} are those of a batch in front of the files, which a snapshot remembers"
            )
        }
        StepKind::MarkerDown => {
            format!(
                "a marker of epoch {} comes after epoch {}",
                epoch(step.producer_epoch),
                epoch(step.previous_epoch)
            )
        }
        StepKind::Overlap => format!("sequences {range} are partly there already"),
        StepKind::StepBack => {
            format!("sequences {range} come after sequence {}", number(step.previous_sequence))
        }
        StepKind::RestartBehindDeletion => {
            format!("sequences {range} begin again, with all earlier records below the log start")
        }
        StepKind::EpochDown => {
            format!("epoch {} comes after epoch {}", epoch(step.producer_epoch), epoch(step.previous_epoch))
        }
        StepKind::WriteBehindMarker => {
            format!("epoch {} writes behind a marker that had ended it", epoch(step.producer_epoch))
        }
        StepKind::OutsideTransaction => "writes outside its open transaction".to_owned(),
    };
    format!("producer {}: {what}", step.producer_id)
}

fn of_sessions(partitions: &[Partition<'_>], sessions: &Sessions, each: &mut Each<'_>) {
    for session in sessions.iter() {
        for span in &session.spans {
            let Some((context, _)) = partitions.get(span.partition).filter(|(context, _)| !context.internal)
            else {
                continue;
            };
            let wrote = |epoch: Option<ProducerEpoch>, sequence: Option<Sequence>| {
                let epoch = epoch.map(|epoch| format!("epoch {epoch}"));
                let sequence = sequence.map(|sequence| format!("sequence {sequence}"));
                let parts: Vec<String> = epoch.into_iter().chain(sequence).collect();
                if parts.is_empty() { "without epoch".to_owned() } else { parts.join(" ") }
            };
            let mut tell = |kind, time, offset: Offset, detail: &dyn Fn(&str) -> String| {
                let place = (context.topic.as_str(), context.partition, offset.0);
                let topic_number = Some(context.topic_number);
                let whole = || {
                    let name = session.name();
                    let event = Event::new(kind, time, place, detail(&name)).of_topic(topic_number);
                    Event { session: Some(name), ..event }
                };
                each(Brief { kind, time, place, topic_number, session: Some(&session), whole: &whole });
            };
            tell(EventKind::SessionBegin, span.first_timestamp, span.first_offset, &|name| {
                let begin = wrote(span.first.producer_epoch, span.first.sequence);
                format!("{name} is first seen here: {begin}")
            });
            tell(EventKind::SessionEnd, span.last_timestamp, span.last_offset, &|name| {
                let end = wrote(span.last.producer_epoch, span.last.sequence);
                format!(
                    "{name} is last seen here: {end}, {} in all",
                    count(span.records, "record", "records")
                )
            });
        }
    }
}

/// The first surplus copy of a finding about duplicates.
fn of_finding(finding: &Finding) -> Option<Event> {
    finding.level?;
    let first = finding.groups.first()?;
    let copy = first.copies.get(1).or(first.copies.first())?;
    let detail = format!("{} ({}): {}", finding.code, finding.confidence, finding.title);
    let place = (copy.topic.as_str(), copy.partition, copy.offset);
    let number = match finding.topic_numbers.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let event = Event::new(EventKind::Duplicates, copy.timestamp, place, detail).of_topic(number);
    Some(Event { finding: Some(finding.id.clone()), session: copy.session.clone(), ..event })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::fold_in;
    use crate::facts::{Sessions, Snapshot};
    use crate::relations::Relations;

    fn told(context: PartitionContext, script: &str) -> Vec<(EventKind, i64)> {
        let (context, facts) = fold_in(context, script);
        let partitions = [(&context, &facts)];
        let sessions = Sessions::build(&partitions, crate::spill::Share::default()).unwrap();
        let relations = Relations::default();
        let happened = Happened {
            partitions: &partitions,
            sessions: &sessions,
            rewinds: &[],
            findings: &[],
            beside: &[],
        };
        let told = happened.together(&|_| true);
        let all = u64::try_from(told.len()).unwrap();
        for most in 0..=told.len() {
            let some = happened.weightiest(&relations.groups, most, all, &|_| true);
            assert_eq!(some, weightiest(told.clone(), most), "{most}");
        }
        told.into_iter().map(|event| (event.kind, event.offset)).collect()
    }

    #[test]
    fn sessions_and_ends_of_transactions_come_in_the_order_of_the_log() {
        use EventKind::{
            LeaderEpoch, Protection, SessionBegin, SessionEnd, TransactionAbort, TransactionCommit,
        };
        assert_eq!(
            told(PartitionContext::default(), "X 7/0 0..1; +M 7/0; X 7/0 2..2; -M 7/0; D 9/0 0..0"),
            [
                (LeaderEpoch, 0),
                (Protection, 0),
                (SessionBegin, 0),
                (TransactionCommit, 2),
                (SessionEnd, 3),
                (TransactionAbort, 4),
                (Protection, 5),
                (SessionBegin, 5),
                (SessionEnd, 5),
            ]
        );
    }

    #[test]
    fn a_snapshot_that_no_roll_explains_says_that_the_log_was_closed() {
        let snapshot = |offset| Snapshot {
            file: format!("{offset}.snapshot"),
            offset: Offset(offset),
            entries: Ok(Vec::new()),
        };
        let context = PartitionContext {
            snapshots: vec![snapshot(3), snapshot(4), snapshot(6)],
            ..PartitionContext::default()
        };
        let closed: Vec<_> = told(context, "D 9/0 0..2; roll; D 9/0 3..3; D 9/0 4..5")
            .into_iter()
            .filter(|(kind, _)| *kind == EventKind::LogClosed)
            .collect();
        assert_eq!(closed, [(EventKind::LogClosed, 4)]);
    }

    #[test]
    fn the_weightiest_events_stay_and_keep_their_order() {
        let event = |kind, offset| Event::new(kind, Some(offset), ("t", 0, offset), "");
        let all = vec![
            event(EventKind::TransactionCommit, 1),
            event(EventKind::SequenceGap, 2),
            event(EventKind::TransactionCommit, 3),
            event(EventKind::Duplicates, 4),
        ];
        let (kept, omitted) = weightiest(all.clone(), 3);
        assert_eq!(kept.iter().map(|event| event.offset).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(omitted, 1);
        assert_eq!(weightiest(all, 0).1, 4);
    }

    #[test]
    fn a_time_that_steps_back_does_not_change_the_order_of_offsets() {
        let event =
            |partition, offset, time| Event::new(EventKind::LeaderEpoch, time, ("t", partition, offset), "");
        let events = in_order(vec![
            event(0, 1, Some(50)),
            event(0, 2, Some(10)),
            event(0, 3, None),
            event(0, 4, Some(70)),
            event(1, 9, Some(60)),
        ]);
        let order: Vec<_> = events.iter().map(|event| (event.partition, event.offset)).collect();
        assert_eq!(order, [(0, 1), (0, 2), (0, 3), (1, 9), (0, 4)]);
    }
}
