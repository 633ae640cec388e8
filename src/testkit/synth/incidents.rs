//! What clients and applications do: each incident writes to a log and labels the copies that it makes.
//!
//! The innocent ones make none: equal records that are meant, updates, restarts that repeat nothing.

use super::Dice;
use super::broker::{ELSEWHERE, Kind, Log, Written};
use crate::format::Codec;
use crate::testkit::FIRST_TIME;
use std::collections::BTreeMap;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Incident {
    /// One session that writes each event once.
    Plain,
    /// Transactions that are committed.
    Transactions,
    /// A key gets new contents.
    Updates,
    /// A key's state comes back: open, paid, open.
    ReturningState,
    /// One content again and again, meant each time.
    Heartbeats,
    /// Keys that are deleted twice.
    Tombstones,
    /// A later session that goes on where the one before ended.
    CleanRestart,
    /// Batches without producer id that come again as they were.
    Retry,
    /// Records without producer id that come again in other batches.
    RegroupedRetry,
    /// Records without producer id that come again with other times.
    SentAgain,
    /// A later session that repeats the end of the one before.
    Restart,
    /// Sessions that repeat the same stretch one after the other.
    CrashLoop,
    /// Two sessions that write the same events side by side.
    TwoInstances,
    /// One session that sends some events twice.
    DoubleSend,
    /// The tail of an epoch under the next one.
    EpochBump,
    /// A range of sequences that a broker took twice.
    ForgottenProducer,
    /// Two writers under one producer id.
    Collision,
    /// An aborted transaction, and the same records committed.
    AbortedThenRetried,
    /// A committed transaction, and the same records committed again.
    CommittedTwice,
    /// A mirror that writes the end of its output again.
    MirrorReplay,
    /// An application that writes each event to two topics.
    FanOut,
    /// The same without idempotence, and some batches of one topic come again.
    FanOutRetry,
    /// A batch that a client sent under the name of another partition.
    Misplaced,
    /// Files of a topic that were put back under another name.
    Restored,
    /// A list that each run of a job publishes in full, beside news of its own.
    Publication,
    /// Counters without much to say, in life after life.
    Counters,
}

impl Incident {
    /// All of them.
    pub const ALL: [Self; 26] = [
        Self::Plain,
        Self::Transactions,
        Self::Updates,
        Self::ReturningState,
        Self::Heartbeats,
        Self::Tombstones,
        Self::CleanRestart,
        Self::Retry,
        Self::RegroupedRetry,
        Self::SentAgain,
        Self::Restart,
        Self::CrashLoop,
        Self::TwoInstances,
        Self::DoubleSend,
        Self::EpochBump,
        Self::ForgottenProducer,
        Self::Collision,
        Self::AbortedThenRetried,
        Self::CommittedTwice,
        Self::MirrorReplay,
        Self::FanOut,
        Self::FanOutRetry,
        Self::Misplaced,
        Self::Restored,
        Self::Publication,
        Self::Counters,
    ];

    /// Whether it is about keys, or about contents that keys tell apart.
    const fn needs_keys(self) -> bool {
        matches!(self, Self::Updates | Self::ReturningState | Self::Tombstones)
    }
}

/// One to four incidents, one behind the other, in one or two logs.
#[must_use]
pub fn story(dice: &mut Dice) -> (Vec<Log>, Vec<Incident>, Keys) {
    let codec = match dice.roll(0, 6) {
        0 => Codec::Gzip,
        1 => Codec::Snappy,
        2 => Codec::Lz4,
        3 => Codec::Zstd,
        _ => Codec::None,
    };
    let mut story = Story {
        keys: if dice.once_in(5) { Keys::Null } else { Keys::Records },
        codec,
        logs: vec![Log::new("orders", 0).in_codec(codec)],
        clock: FIRST_TIME,
        next_id: 1000 * dice.roll(0, 5),
        next_event: 0,
        places: BTreeMap::new(),
    };
    let mut incidents = Vec::new();
    for _ in 0..dice.roll(1, 4) {
        let last = i64::try_from(Incident::ALL.len()).expect("few incidents") - 1;
        let incident = Incident::ALL[usize::try_from(dice.roll(0, last)).expect("positive")];
        if story.keys == Keys::Null && incident.needs_keys() {
            continue;
        }
        story.happen(incident, dice);
        incidents.push(incident);
        story.clock += dice.roll(60_000, 7_200_000);
        if dice.once_in(2) {
            story.logs[0].roll();
        }
        if dice.once_in(3) {
            story.logs[0].elect();
        }
    }
    (story.logs, incidents, story.keys)
}

/// What tells events apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Their record keys.
    Records,
    /// Their values: keys are null.
    Null,
}

#[derive(Clone, Debug)]
struct Event {
    key: String,
    value: Option<String>,
    time: i64,
}

/// One life of a producer that writes to one log.
#[derive(Clone, Copy, Debug)]
struct Writer {
    id: i64,
    epoch: i16,
    sequence: i32,
    kind: Kind,
}

struct Story {
    keys: Keys,
    codec: Codec,
    logs: Vec<Log>,
    clock: i64,
    next_id: i64,
    next_event: u64,
    /// Where each content of a key was written last.
    places: BTreeMap<(usize, String, Option<String>), i64>,
}

const ORDERS: usize = 0;

impl Story {
    fn happen(&mut self, incident: Incident, dice: &mut Dice) {
        match incident {
            Incident::Plain => {
                let (mut writer, events) = (self.idempotent(), self.events(dice.roll(1, 40)));
                self.write_all(ORDERS, &mut writer, &events, 4, dice);
            }
            Incident::Transactions => {
                let mut writer = self.transactional();
                for _ in 0..dice.roll(1, 4) {
                    let events = self.events(dice.roll(1, 8));
                    self.transaction(&mut writer, &events, Kind::Commit, None, dice);
                }
            }
            Incident::Updates => self.updates(dice),
            Incident::ReturningState => {
                let mut writer = self.idempotent();
                for event in self.events(dice.roll(1, 4)) {
                    for state in ["open", "paid", "open"] {
                        let again = Event { value: Some(format!("{state} {}", event.key)), ..event.clone() };
                        self.write(ORDERS, &mut writer, &[self.now(again)], None);
                        self.clock += dice.roll(1_000, 60_000);
                    }
                }
            }
            Incident::Heartbeats => {
                let (mut writer, events) = (self.idempotent(), self.events(1));
                for _ in 0..dice.roll(12, 30) {
                    let beat: Vec<Event> = events.iter().map(|event| self.now(event.clone())).collect();
                    self.write(ORDERS, &mut writer, &beat, None);
                    self.clock += 1_000;
                }
            }
            Incident::Tombstones => {
                let (mut writer, events) = (self.idempotent(), self.events(dice.roll(1, 5)));
                self.write_all(ORDERS, &mut writer, &events, 2, dice);
                for _ in 0..2 {
                    self.clock += 5_000;
                    for event in &events {
                        let gone = self.now(Event { value: None, ..event.clone() });
                        self.write(ORDERS, &mut writer, &[gone], None);
                    }
                }
            }
            Incident::CleanRestart => {
                for _ in 0..dice.roll(2, 4) {
                    let (mut writer, events) = (self.idempotent(), self.events(dice.roll(1, 20)));
                    self.write_all(ORDERS, &mut writer, &events, 3, dice);
                    self.clock += 10_000;
                }
            }
            Incident::Retry => self.retry(dice),
            Incident::RegroupedRetry => self.regrouped(dice),
            Incident::SentAgain => {
                let mut writer = UNPROTECTED;
                let events = self.events(dice.roll(1, 12));
                self.write_all(ORDERS, &mut writer, &events, 3, dice);
                self.clock += dice.roll(1_000, 120_000);
                self.again(ORDERS, &mut writer, &events, "duplicate-undetermined");
            }
            Incident::Restart => self.restarts(1, dice),
            Incident::CrashLoop => self.restarts(dice.roll(3, 5), dice),
            Incident::TwoInstances => self.two_instances(dice),
            Incident::DoubleSend => self.double_send(dice),
            Incident::EpochBump => self.epoch_bump(dice),
            Incident::ForgottenProducer => self.forgotten(dice),
            Incident::Collision => {
                let mut writer = self.idempotent();
                let mut other = writer;
                let events = self.events(dice.roll(6, 20));
                self.write_all(ORDERS, &mut writer, &events, 1, dice);
                self.clock += 60_000;
                let events = self.events(dice.roll(3, 5));
                self.write_all(ORDERS, &mut other, &events, 1, dice);
            }
            Incident::AbortedThenRetried => {
                let (mut writer, events) = (self.transactional(), self.events(dice.roll(1, 6)));
                self.transaction(&mut writer, &events, Kind::Abort, None, dice);
                self.clock += 2_000;
                self.transaction(&mut writer, &events, Kind::Commit, Some("aborted-then-retried"), dice);
            }
            Incident::CommittedTwice => {
                let (mut writer, events) = (self.transactional(), self.events(dice.roll(1, 6)));
                self.transaction(&mut writer, &events, Kind::Commit, None, dice);
                self.clock += 2_000;
                self.transaction(&mut writer, &events, Kind::Commit, Some("resend-same-session"), dice);
            }
            Incident::MirrorReplay => self.mirror(dice),
            Incident::FanOut => self.fan_out(dice, None),
            Incident::FanOutRetry => self.fan_out(dice, Some("retry-without-idempotence")),
            Incident::Misplaced => self.misplaced(dice),
            Incident::Restored => self.restored(dice),
            Incident::Publication => self.publication(dice),
            Incident::Counters => self.counters(dice),
        }
    }

    /// A log of its own.
    fn log(&mut self, topic: &str, partition: i32) -> usize {
        self.logs.push(Log::new(topic, partition).in_codec(self.codec).left_alone());
        self.logs.len() - 1
    }

    /// One application that writes each event to two topics; with a label it has no producer id, and its
    /// last batches to one of them come again.
    fn fan_out(&mut self, dice: &mut Dice, again: Option<&'static str>) {
        let at = self.logs.len();
        let (bills, audit) = (self.log(&format!("bills{at}"), 0), self.log(&format!("bookings{at}"), 0));
        let mut writers = [self.idempotent(); 2];
        if again.is_some() {
            writers = [UNPROTECTED; 2];
        }
        let events = self.events(dice.roll(6, 30));
        let batches: Vec<&[Event]> = events.chunks(3).collect();
        for batch in &batches {
            for (log, writer) in [bills, audit].into_iter().zip(&mut writers) {
                self.write(log, writer, batch, None);
            }
            self.clock += dice.roll(10, 500);
        }
        if again.is_some() {
            let from = batches.len().saturating_sub(usize::try_from(dice.roll(1, 4)).expect("positive"));
            for batch in &batches[from..] {
                self.write(bills, &mut writers[0], batch, again);
            }
        }
    }

    /// The client's next batch for one partition goes to another one, where the producer is not known yet.
    fn misplaced(&mut self, dice: &mut Dice) {
        let at = self.logs.len();
        let (home, other) = (self.log(&format!("moves{at}"), 0), self.log(&format!("moves{at}"), 1));
        let mut writer = self.idempotent();
        let events = self.events(dice.roll(6, 20));
        self.write_all(home, &mut writer, &events, 3, dice);
        let (mut resident, theirs) = (self.idempotent(), self.events(dice.roll(3, 9)));
        self.write_all(other, &mut resident, &theirs, 3, dice);
        let (mut stray, batch) = (writer, self.events(dice.roll(2, 5)));
        self.write(home, &mut writer, &batch, None);
        let places: Vec<_> =
            batch.iter().map(|event| (other, event.key.clone(), event.value.clone())).collect();
        self.places.extend(places.into_iter().map(|place| (place, ELSEWHERE)));
        self.write(other, &mut stray, &batch, Some("misplaced-batch"));
        let more = self.events(dice.roll(2, 9));
        self.write_all(home, &mut writer, &more, 3, dice);
    }

    /// The files of a topic under another name, with its topic id or without any.
    fn restored(&mut self, dice: &mut Dice) {
        const TOPIC_ID: &str = "Zm9vYmFyYmF6cXV4MTIzNA";
        let at = self.logs.len();
        let archive = self.log(&format!("archive{at}"), 0);
        let mut writer = self.idempotent();
        let events = self.events(dice.roll(30, 60));
        self.write_all(archive, &mut writer, &events, 3, dice);
        let log = self.logs[archive].clone().with_topic_id(TOPIC_ID);
        let copy = log.copied_to(&format!("archive{at}-restored"), "restored-copy");
        self.logs[archive] = log;
        self.logs.push(if dice.once_in(2) { copy.with_topic_id(TOPIC_ID) } else { copy });
    }

    fn publication(&mut self, dice: &mut Dice) {
        let (list, news_first) = (self.events(dice.roll(5, 30)), dice.once_in(2));
        for _ in 0..dice.roll(3, 5) {
            let (mut writer, news) = (self.idempotent(), self.events(dice.roll(1, 6)));
            let list: Vec<Event> = list.iter().map(|event| self.now(event.clone())).collect();
            let (first, second) = if news_first { (&news, &list) } else { (&list, &news) };
            for events in [first, second] {
                self.write_all(ORDERS, &mut writer, events, 4, dice);
            }
            self.clock += dice.roll(600_000, 7_200_000);
        }
    }

    fn counters(&mut self, dice: &mut Dice) {
        let counts = self.events(dice.roll(2, 4));
        for _ in 0..dice.roll(2, 4) {
            let mut writer = self.idempotent();
            for _ in 0..dice.roll(3, 6) {
                for event in &counts {
                    self.clock += 1_000;
                    let event = self.now(event.clone());
                    self.write(ORDERS, &mut writer, &[event], None);
                }
            }
            self.clock += 60_000;
        }
    }

    fn updates(&mut self, dice: &mut Dice) {
        let (mut writer, events) = (self.idempotent(), self.events(dice.roll(1, 6)));
        for round in 0..dice.roll(2, 5) {
            for event in &events {
                let value = Some(format!("{} version {round}", event.key));
                let newer = self.now(Event { value, ..event.clone() });
                self.write(ORDERS, &mut writer, &[newer], None);
            }
            self.clock += 30_000;
        }
    }

    fn retry(&mut self, dice: &mut Dice) {
        let mut writer = UNPROTECTED;
        let mut batches = Vec::new();
        for _ in 0..dice.roll(1, 5) {
            let events = self.events(dice.roll(1, 5));
            self.write(ORDERS, &mut writer, &events, None);
            batches.push(events);
        }
        if dice.once_in(2) {
            self.logs[ORDERS].elect();
        }
        if dice.once_in(3) {
            batches.reverse();
        }
        for events in &batches {
            self.write(ORDERS, &mut writer, events, Some("retry-without-idempotence"));
        }
    }

    fn regrouped(&mut self, dice: &mut Dice) {
        let mut writer = UNPROTECTED;
        let events = self.events(6 * dice.roll(1, 3));
        for pair in events.chunks(2) {
            self.write(ORDERS, &mut writer, pair, None);
        }
        for three in events.chunks(3) {
            self.write(ORDERS, &mut writer, three, Some("duplicate-undetermined"));
        }
    }

    /// A session, and later ones that repeat its end and go on.
    fn restarts(&mut self, times: i64, dice: &mut Dice) {
        let (mut writer, events) = (self.idempotent(), self.events(dice.roll(6, 30)));
        self.write_all(ORDERS, &mut writer, &events, 3, dice);
        let all = i64::try_from(events.len()).expect("few events");
        let from = usize::try_from(dice.roll(0, all - 3)).expect("positive");
        // Each start reads all that was written behind the old position.
        let mut input = events[from..].to_vec();
        for _ in 0..times {
            self.clock += dice.roll(5_000, 300_000);
            let mut later = self.idempotent();
            self.again(ORDERS, &mut later, &input, "resend-new-session");
            let more = self.events(dice.roll(2, 10));
            self.write_all(ORDERS, &mut later, &more, 3, dice);
            input.extend(more);
        }
    }

    fn two_instances(&mut self, dice: &mut Dice) {
        let (mut one, mut other) = (self.idempotent(), self.idempotent());
        let events = self.events(dice.roll(10, 30));
        let behind = usize::try_from(dice.roll(0, 2)).expect("positive");
        for at in 0..events.len() + behind {
            if let Some(event) = events.get(at) {
                let event = self.now(event.clone());
                self.write(ORDERS, &mut one, &[event], None);
            }
            if let Some(event) = at.checked_sub(behind).and_then(|at| events.get(at)) {
                self.clock += dice.roll(1, 200);
                let event = self.now(event.clone());
                self.write(ORDERS, &mut other, &[event], Some("concurrent-producers"));
            }
            self.clock += dice.roll(1, 500);
        }
    }

    fn double_send(&mut self, dice: &mut Dice) {
        let (mut writer, events) = (self.idempotent(), self.events(dice.roll(3, 20)));
        for event in events {
            self.write(ORDERS, &mut writer, std::slice::from_ref(&event), None);
            if dice.once_in(3) {
                self.clock += dice.roll(0, 3_000);
                self.again(ORDERS, &mut writer, &[event], "resend-same-session");
            }
            self.clock += 100;
        }
    }

    fn epoch_bump(&mut self, dice: &mut Dice) {
        let (mut writer, events) = (self.idempotent(), self.events(dice.roll(1, 10)));
        self.write_all(ORDERS, &mut writer, &events, 2, dice);
        let mut tail = Vec::new();
        for _ in 0..dice.roll(1, 5) {
            let events = self.events(dice.roll(2, 4));
            self.write(ORDERS, &mut writer, &events, None);
            tail.push(events);
        }
        self.clock += 30_000;
        (writer.epoch, writer.sequence) = (writer.epoch + 1, 0);
        for events in &tail {
            self.write(ORDERS, &mut writer, events, Some("epoch-bump-resend"));
        }
        let more = self.events(3);
        self.write_all(ORDERS, &mut writer, &more, 2, dice);
    }

    fn forgotten(&mut self, dice: &mut Dice) {
        let (mut writer, events) = (self.idempotent(), self.events(dice.roll(1, 10)));
        self.write_all(ORDERS, &mut writer, &events, 2, dice);
        let before = writer;
        let events = self.events(dice.roll(1, 5));
        self.write(ORDERS, &mut writer, &events, None);
        self.logs[ORDERS].elect();
        let mut again = before;
        self.write(ORDERS, &mut again, &events, Some("broker-dedup-lost"));
        let more = self.events(2);
        self.write_all(ORDERS, &mut writer, &more, 1, dice);
    }

    fn mirror(&mut self, dice: &mut Dice) {
        let at = self.logs.len();
        for topic in [format!("source{at}"), format!("mirror{at}")] {
            self.logs.push(Log::new(&topic, 0).in_codec(self.codec));
        }
        let (mut writer, events) = (self.idempotent(), self.events(6 * dice.roll(2, 5)));
        self.write_all(at, &mut writer, &events, 3, dice);
        let mut pipeline = UNPROTECTED;
        for pair in events.chunks(2) {
            self.write(at + 1, &mut pipeline, pair, None);
        }
        let all = i64::try_from(events.len()).expect("few events");
        let from = usize::try_from(6 * dice.roll(0, all / 6 - 1)).expect("positive");
        for three in events[from..].chunks(3) {
            self.write(at + 1, &mut pipeline, three, Some("pipeline-replay"));
        }
    }

    fn transaction(
        &mut self,
        writer: &mut Writer,
        events: &[Event],
        end: Kind,
        why: Option<&'static str>,
        dice: &mut Dice,
    ) {
        let size = usize::try_from(dice.roll(1, 4)).expect("positive");
        for events in events.chunks(size) {
            let events: Vec<Event> = events.iter().map(|event| self.now(event.clone())).collect();
            self.write(ORDERS, writer, &events, why);
        }
        let marker = Written { key: Some(String::new()), value: None, time: self.clock, repeats: None };
        self.logs[ORDERS].append((writer.id, writer.epoch, -1), end, self.clock, vec![marker]);
        self.clock += 100;
    }

    /// The same events with new times.
    fn again(&mut self, log: usize, writer: &mut Writer, events: &[Event], why: &'static str) {
        for event in events {
            self.clock += 5;
            let event = self.now(event.clone());
            self.write(log, writer, &[event], Some(why));
        }
    }

    fn write_all(&mut self, log: usize, writer: &mut Writer, events: &[Event], most: i64, dice: &mut Dice) {
        let mut rest = events;
        while !rest.is_empty() {
            let size = usize::try_from(dice.roll(1, most)).expect("positive").min(rest.len());
            let (batch, behind) = rest.split_at(size);
            self.write(log, writer, batch, None);
            self.clock += dice.roll(1, 200);
            rest = behind;
        }
    }

    /// One batch; with `why` its records repeat what was written before.
    fn write(&mut self, log: usize, writer: &mut Writer, events: &[Event], why: Option<&'static str>) {
        let base = self.logs[log].end();
        let mut records = Vec::with_capacity(events.len());
        for (offset, event) in (base..).zip(events) {
            let place = (log, event.key.clone(), event.value.clone());
            let before = self.places.insert(place, offset);
            records.push(Written {
                key: (self.keys == Keys::Records).then(|| event.key.clone()),
                value: event.value.clone(),
                time: event.time,
                repeats: before.zip(why),
            });
        }
        let producer = (writer.id, writer.epoch, writer.sequence);
        let time = events.first().map_or(self.clock, |event| event.time);
        if writer.id >= 0 {
            writer.sequence += i32::try_from(events.len()).expect("few events");
        }
        self.logs[log].append(producer, writer.kind, time, records);
    }

    fn events(&mut self, count: i64) -> Vec<Event> {
        let events = (0..count).map(|_| {
            self.next_event += 1;
            self.clock += 3;
            let key = format!("order-{}", self.next_event);
            Event {
                value: Some(format!("{{\"order\":\"{key}\",\"amount\":{}}}", self.next_event % 97)),
                key,
                time: self.clock,
            }
        });
        events.collect()
    }

    fn now(&self, event: Event) -> Event {
        Event { time: self.clock, ..event }
    }

    fn idempotent(&mut self) -> Writer {
        self.next_id += 1;
        Writer { id: self.next_id, epoch: 0, sequence: 0, kind: Kind::Plain }
    }

    fn transactional(&mut self) -> Writer {
        Writer { kind: Kind::Transactional, ..self.idempotent() }
    }
}

/// A writer without producer id.
const UNPROTECTED: Writer = Writer { id: -1, epoch: -1, sequence: -1, kind: Kind::Plain };
