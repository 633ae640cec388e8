//! Partitions for tests, in the notation in which incidents are written down.
//!
//! ```text
//!  D 5/0 0..4    data of producer 5, epoch 0, sequences 0 to 4       X 5/0 0..4    the same, transactional
//!  D -1 3        three records without producer id                   V1 3          three records of format 1
//!  +M 7/11       commit marker                                       -M 7/11       abort marker
//!  ?M 7/11       a marker that cannot be read                        eM 7/11       one that the cleaner emptied
//!  kept 1        the batch before holds only one record any more
//!  roll          a new segment begins                                at 40         the next offset is 40
//!  wait 3s       time goes on (ms, s, h, d)                          no-time       the next batch has time −1
//!  leader 3      the leader epoch of what follows                    damage        bytes that cannot be read
//!  torn          a batch that is not there to its end
//!  append-time   the leader stamps what follows
//! ```

use super::{BatchFact, Ledger, PartitionContext, PartitionFacts};
use crate::format::control::{ControlRecord, Outcome};
use crate::format::{BatchHeader, Damage, DamageKind};
use crate::spill::Share;
use crate::units::{FilePosition, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};

/// 2026-01-01, where every script begins.
pub(crate) const START: i64 = 1_767_225_600_000;

/// Folds a script; its segments are filled into the context unless the context names some.
pub(crate) fn fold(script: &str) -> PartitionFacts {
    fold_in(PartitionContext::default(), script).1
}

/// Folds scripts, each as the partition of its place.
pub(crate) fn fold_partitions(scripts: &[&str]) -> Vec<(PartitionContext, PartitionFacts)> {
    let context = |partition| PartitionContext { partition, ..PartitionContext::default() };
    (0..).zip(scripts).map(|(partition, script)| fold_in(context(partition), script)).collect()
}

/// Folds a script beside what the context says.
pub(crate) fn fold_in(mut context: PartitionContext, script: &str) -> (PartitionContext, PartitionFacts) {
    let (events, bases) = events(script, context.segment_bases.first().copied());
    context.topic = "orders".to_owned();
    context.segment_bases = bases;
    if context.log_start_offset == Offset(0) {
        context.log_start_offset = context.segment_bases[0];
    }
    let fold = |limit: usize| {
        let mut ledger = Ledger::new(context.clone(), &Share { limit, ..Share::default() });
        for event in &events {
            match event {
                Event::Batch(batch) => ledger.batch(batch),
                Event::Damage(segment, damage) => ledger.damage(*segment, damage),
            }
        }
        ledger.finish().unwrap()
    };
    let facts = fold(usize::MAX);
    // What is known of producers may be in temporary files at any time; each batch makes some.
    if events.len() <= 100 {
        assert_eq!(format!("{:?}", fold(0)), format!("{facts:?}"));
    }
    (context, facts)
}

/// The batches of a script.
pub(crate) fn batches(script: &str) -> Vec<BatchFact> {
    let batch = |event| match event {
        Event::Batch(batch) => Some(batch),
        Event::Damage(..) => None,
    };
    events(script, None).0.into_iter().filter_map(batch).collect()
}

enum Event {
    Batch(BatchFact),
    Damage(usize, Damage),
}

struct Writer {
    offset: i64,
    time: i64,
    leader: i32,
    no_time: bool,
    append_time: bool,
    bases: Vec<Offset>,
    events: Vec<Event>,
}

fn events(script: &str, first: Option<Offset>) -> (Vec<Event>, Vec<Offset>) {
    let first = first.unwrap_or_default();
    let mut writer = Writer {
        offset: first.0,
        time: START,
        leader: 0,
        no_time: false,
        append_time: false,
        bases: vec![first],
        events: Vec::new(),
    };
    for line in script.split([';', '\n']).map(str::trim).filter(|line| !line.is_empty()) {
        writer.line(line);
    }
    (writer.events, writer.bases)
}

impl Writer {
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["roll"] => self.bases.push(Offset(self.offset)),
            ["at", offset] => self.offset = offset.parse().unwrap(),
            ["wait", time] => self.time += millis(time),
            ["no-time"] => self.no_time = true,
            ["append-time"] => self.append_time = true,
            ["leader", epoch] => self.leader = epoch.parse().unwrap(),
            ["damage"] => self.damage(DamageKind::BadCrc),
            ["torn"] => self.damage(DamageKind::TruncatedTail),
            ["kept", count] => {
                let Some(Event::Batch(batch)) = self.events.last_mut() else { panic!("kept what?") };
                batch.header.records_count = Some(count.parse().unwrap());
            }
            ["D", "-1", count] => self.data(0, (-1, -1), (-1, -1), count.parse().unwrap(), 2),
            ["V1", count] => self.data(0, (-1, -1), (-1, -1), count.parse().unwrap(), 1),
            [kind @ ("D" | "X"), who, range] => {
                let (first, last) = range.split_once("..").unwrap();
                let (first, last): (i32, i32) = (first.parse().unwrap(), last.parse().unwrap());
                let count = last.cast_unsigned().wrapping_sub(first.cast_unsigned()) & 0x7fff_ffff;
                let attributes = if kind == "X" { 0x10 } else { 0 };
                self.data(attributes, writer_of(who), (first, last), i64::from(count) + 1, 2);
            }
            [kind @ ("+M" | "-M" | "?M" | "eM"), who] => self.marker(kind, writer_of(who)),
            _ => panic!("no such line: {line}"),
        }
    }

    fn data(&mut self, attributes: i16, who: (i64, i16), range: (i32, i32), count: i64, magic: i8) {
        let header = self.header(attributes, who, range.0, count, magic);
        self.push(header, None);
    }

    fn marker(&mut self, kind: &str, who: (i64, i16)) {
        let mut header = self.header(0x30, who, -1, 1, 2);
        let outcome = if kind == "-M" { Outcome::Abort } else { Outcome::Commit };
        let mut control = Some(ControlRecord::EndTransaction { outcome, coordinator_epoch: 0 });
        if kind == "eM" {
            header.records_count = Some(0);
        }
        if kind == "?M" {
            control = None;
        }
        self.push(header, control);
    }

    fn header(
        &mut self,
        attributes: i16,
        who: (i64, i16),
        sequence: i32,
        count: i64,
        magic: i8,
    ) -> BatchHeader {
        self.time += 1;
        let time = if std::mem::take(&mut self.no_time) { -1 } else { self.time };
        BatchHeader {
            base_offset: Offset(self.offset),
            magic,
            partition_leader_epoch: (magic == 2).then_some(LeaderEpoch(self.leader)),
            crc: 0,
            attributes: attributes | if self.append_time { 0x08 } else { 0 },
            last_offset_delta: i32::try_from(count - 1).unwrap(),
            base_timestamp: time,
            max_timestamp: time,
            producer_id: ProducerId(who.0),
            producer_epoch: (who.1 >= 0).then_some(ProducerEpoch(who.1)),
            base_sequence: Sequence::new(sequence),
            records_count: Some(u32::try_from(count).unwrap()),
        }
    }

    fn push(&mut self, header: BatchHeader, control: Option<ControlRecord>) {
        self.offset = header.last_offset().next().0;
        let segment = self.bases.len() - 1;
        self.events.push(Event::Batch(BatchFact { header, segment, position: FilePosition(0), control }));
    }

    fn damage(&mut self, kind: DamageKind) {
        let damage = Damage {
            position: FilePosition(0),
            length: 1,
            kind,
            expected: false,
            detail: "made for a test".to_owned(),
            first_offset: Some(Offset(self.offset)),
            last_offset: None,
            records_missing: true,
        };
        self.events.push(Event::Damage(self.bases.len() - 1, damage));
    }
}

fn writer_of(who: &str) -> (i64, i16) {
    let (id, epoch) = who.split_once('/').unwrap();
    (id.parse().unwrap(), epoch.parse().unwrap())
}

fn millis(time: &str) -> i64 {
    let digits = time.trim_end_matches(char::is_alphabetic);
    let unit = match &time[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        other => panic!("no such unit: {other}"),
    };
    digits.parse::<i64>().unwrap() * unit
}
