//! A partition as a broker keeps it: batches in segments, snapshots at rolls, retention, the cleaner.
//!
//! Retention removes whole segments from the head. The cleaner keeps the last record of each key below
//! the point that it reached, keeps every tombstone (none is old enough here), and keeps the last batch
//! of each producer even when it is empty, because it carries the producer's last sequence
//! (`Cleaner.cleanInto`, `BatchRetention.RETAIN_EMPTY`). Markers stay.

use super::Dice;
use crate::format::Codec;
use crate::testkit::{BatchSpec, SegmentBuilder, batch};
use std::collections::{BTreeMap, BTreeSet};

/// What made a surplus copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// The finding code of the mechanism.
    pub code: &'static str,
    /// Whether retention or the cleaner took away what proves it.
    pub whole: bool,
}

/// Surplus copies by directory and offset.
pub type Copies = BTreeMap<(String, i64), Label>;

/// Stands for an original in another log.
pub(super) const ELSEWHERE: i64 = -1;

/// One record of a batch that was appended.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) key: Option<String>,
    pub(super) value: Option<String>,
    pub(super) time: i64,
    /// The copy that it repeats, and how that came.
    pub(super) repeats: Option<(i64, &'static str)>,
}

/// One batch that was appended.
#[derive(Clone, Debug)]
pub(super) struct Appended {
    pub(super) base: i64,
    pub(super) leader_epoch: i32,
    pub(super) producer: (i64, i16, i32),
    pub(super) kind: Kind,
    pub(super) time: i64,
    pub(super) records: Vec<Written>,
    /// Which records are still there.
    kept: Vec<bool>,
}

/// What a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Transactional,
    Commit,
    Abort,
}

impl Appended {
    fn last(&self) -> i64 {
        self.base + i64::try_from(self.records.len()).expect("few records") - 1
    }

    fn is_control(&self) -> bool {
        matches!(self.kind, Kind::Commit | Kind::Abort)
    }
}

/// A partition directory.
#[derive(Clone, Debug)]
pub struct Log {
    topic: String,
    partition: i32,
    batches: Vec<Appended>,
    /// Base offsets of segments.
    bases: Vec<i64>,
    leader_epoch: i32,
    start: i64,
    cleaned_up_to: Option<i64>,
    codec: Codec,
    topic_id: Option<&'static str>,
    /// Neither retention nor the cleaner comes here.
    kept_as_it_is: bool,
}

/// The files of a directory.
#[derive(Clone, Debug)]
pub struct LogFiles {
    /// Names and bytes.
    pub files: Vec<(String, Vec<u8>)>,
    /// For `cleaner-offset-checkpoint`.
    pub cleaned_up_to: Option<i64>,
    /// For `log-start-offset-checkpoint`.
    pub log_start: i64,
}

impl Log {
    /// An empty partition.
    #[must_use]
    pub fn new(topic: &str, partition: i32) -> Self {
        Self {
            topic: topic.to_owned(),
            partition,
            batches: Vec::new(),
            bases: vec![0],
            leader_epoch: 0,
            start: 0,
            cleaned_up_to: None,
            codec: Codec::None,
            topic_id: None,
            kept_as_it_is: false,
        }
    }

    /// The same with batches in this codec.
    pub(super) fn in_codec(self, codec: Codec) -> Self {
        Self { codec, ..self }
    }

    /// The same where neither retention nor the cleaner comes.
    pub(super) fn left_alone(self) -> Self {
        Self { kept_as_it_is: true, ..self }
    }

    /// The same with a topic id beside it.
    pub(super) fn with_topic_id(self, id: &'static str) -> Self {
        Self { topic_id: Some(id), ..self }
    }

    /// Its files under another name: every record is a copy.
    pub(super) fn copied_to(&self, topic: &str, why: &'static str) -> Self {
        let mut copy = Self { topic: topic.to_owned(), topic_id: None, ..self.clone() };
        for record in copy.batches.iter_mut().flat_map(|batch| &mut batch.records) {
            record.repeats = Some((ELSEWHERE, why));
        }
        copy
    }

    /// The directory's name.
    #[must_use]
    pub fn directory(&self) -> String {
        format!("{}-{}", self.topic, self.partition)
    }

    /// The topic's name.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The partition's number.
    #[must_use]
    pub const fn partition(&self) -> i32 {
        self.partition
    }

    /// Whether neither retention nor the cleaner was there.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.start == 0 && self.cleaned_up_to.is_none()
    }

    /// The offset of the next record.
    pub(super) fn end(&self) -> i64 {
        self.batches.last().map_or(0, |batch| batch.last() + 1)
    }

    /// Another leader from here on.
    pub(super) fn elect(&mut self) {
        self.leader_epoch += 1;
    }

    /// A new segment from here on.
    pub(super) fn roll(&mut self) {
        let end = self.end();
        if self.bases.last() != Some(&end) {
            self.bases.push(end);
        }
    }

    /// Appends a batch and says where.
    pub(super) fn append(
        &mut self,
        producer: (i64, i16, i32),
        kind: Kind,
        time: i64,
        records: Vec<Written>,
    ) -> i64 {
        let base = self.end();
        let kept = vec![true; records.len()];
        let leader_epoch = self.leader_epoch;
        self.batches.push(Appended { base, leader_epoch, producer, kind, time, records, kept });
        base
    }

    /// Retention: some whole segments of the head are gone.
    pub fn retain(&mut self, dice: &mut Dice) {
        let segments = i64::try_from(self.bases.len()).expect("few segments");
        if segments < 2 || self.kept_as_it_is {
            return;
        }
        let gone = usize::try_from(dice.roll(1, segments - 1)).expect("positive");
        self.bases.drain(..gone);
        let start = self.bases.first().copied().unwrap_or(0);
        self.batches.retain(|batch| batch.base >= start);
        self.start = start;
    }

    /// The cleaner: it reached the beginning of the last segment.
    pub fn clean(&mut self, dice: &mut Dice) {
        let last = self.bases.last().filter(|base| **base > self.start && !self.kept_as_it_is);
        let Some(&dirty) = last else { return };
        // A topic without keys cannot be compacted.
        if self
            .batches
            .iter()
            .any(|batch| !batch.is_control() && batch.records.iter().any(|r| r.key.is_none()))
        {
            return;
        }
        let aborted = self.aborted();
        let below = |batch: &&mut Appended| batch.base < dirty;
        let mut newest: BTreeMap<String, i64> = BTreeMap::new();
        for batch in
            self.batches.iter().filter(|b| b.base < dirty && !b.is_control() && !aborted.contains(&b.base))
        {
            for (offset, record) in (batch.base..).zip(&batch.records) {
                newest.extend(record.key.clone().map(|key| (key, offset)));
            }
        }
        let mut last_batch: BTreeMap<(i64, i16), i64> = BTreeMap::new();
        for batch in self.batches.iter().filter(|batch| !batch.is_control()) {
            last_batch.insert((batch.producer.0, batch.producer.1), batch.base);
        }
        for batch in self.batches.iter_mut().filter(below) {
            if batch.is_control() {
                continue;
            }
            let withdrawn = aborted.contains(&batch.base);
            for (offset, (record, kept)) in (batch.base..).zip(batch.records.iter().zip(&mut batch.kept)) {
                *kept = !withdrawn && record.key.as_ref().and_then(|key| newest.get(key)) == Some(&offset);
            }
        }
        self.batches.retain(|batch| {
            batch.is_control()
                || batch.kept.contains(&true)
                || (batch.producer.0 >= 0
                    && last_batch.get(&(batch.producer.0, batch.producer.1)) == Some(&batch.base))
        });
        self.cleaned_up_to = Some(dirty);
        // Small cleaned segments are merged into one.
        if dice.once_in(2) {
            self.bases.retain(|base| *base == 0 || *base >= dirty);
        }
    }

    /// Base offsets of batches in aborted transactions.
    fn aborted(&self) -> BTreeSet<i64> {
        let mut open: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        let mut aborted = BTreeSet::new();
        for batch in &self.batches {
            let id = batch.producer.0;
            match batch.kind {
                Kind::Plain => {}
                Kind::Transactional => open.entry(id).or_default().push(batch.base),
                Kind::Commit => _ = open.remove(&id),
                Kind::Abort => aborted.extend(open.remove(&id).unwrap_or_default()),
            }
        }
        aborted
    }

    /// The surplus copies that are still surplus: what they repeat, or what that repeats, is there.
    pub(super) fn surplus(&self) -> Vec<((String, i64), Label)> {
        let there: BTreeMap<i64, &Written> = self
            .batches
            .iter()
            .flat_map(|batch| {
                let kept = (batch.base..).zip(batch.records.iter().zip(&batch.kept));
                kept.filter(|(_, (_, kept))| **kept).map(|(offset, (record, _))| (offset, record))
            })
            .collect();
        let mut copies = Vec::new();
        for (&offset, record) in &there {
            let Some((earlier, code)) = record.repeats else { continue };
            if earlier != ELSEWHERE && !there.contains_key(&earlier) {
                continue;
            }
            copies.push(((self.directory(), offset), Label { code, whole: self.is_whole() }));
        }
        copies
    }

    /// The directory as a broker leaves it.
    #[must_use]
    pub fn files(&self) -> LogFiles {
        let mut files = Vec::new();
        for (at, &base) in self.bases.iter().enumerate() {
            let next = self.bases.get(at + 1).copied().unwrap_or(i64::MAX);
            let mut segment = SegmentBuilder::at(base);
            for batch in self.batches.iter().filter(|batch| (base..next).contains(&batch.base)) {
                segment = segment.batch(spec(batch, self.codec));
            }
            files.push((format!("{base:020}.log"), segment.bytes()));
            if base > 0 {
                files.push((format!("{base:020}.snapshot"), self.snapshot(base)));
            }
        }
        if let Some(id) = self.topic_id {
            let text = format!("version: 0\ntopic_id: {id}");
            files.push(("partition.metadata".to_owned(), text.into_bytes()));
        }
        LogFiles { files, cleaned_up_to: self.cleaned_up_to, log_start: self.start }
    }

    /// What the broker remembers of each producer below `offset`.
    fn snapshot(&self, offset: i64) -> Vec<u8> {
        let mut last: BTreeMap<i64, (&Appended, Option<i64>)> = BTreeMap::new();
        for batch in self.batches.iter().filter(|batch| batch.base < offset && batch.producer.0 >= 0) {
            let open = last.get(&batch.producer.0).and_then(|(_, open)| *open);
            match batch.kind {
                Kind::Plain => _ = last.insert(batch.producer.0, (batch, None)),
                Kind::Transactional => _ = last.insert(batch.producer.0, (batch, open.or(Some(batch.base)))),
                Kind::Commit | Kind::Abort => {
                    if let Some((_, open)) = last.get_mut(&batch.producer.0) {
                        *open = None;
                    }
                }
            }
        }
        let mut entries = u32::try_from(last.len()).expect("few producers").to_be_bytes().to_vec();
        for (id, (batch, open)) in last {
            let delta = i32::try_from(batch.records.len()).expect("few records") - 1;
            entries.extend(id.to_be_bytes());
            entries.extend(batch.producer.1.to_be_bytes());
            entries.extend((batch.producer.2 + delta).to_be_bytes());
            entries.extend(batch.last().to_be_bytes());
            entries.extend(delta.to_be_bytes());
            entries.extend(
                batch.records.iter().map(|record| record.time).max().unwrap_or(batch.time).to_be_bytes(),
            );
            entries.extend((-1_i32).to_be_bytes());
            entries.extend(open.unwrap_or(-1).to_be_bytes());
        }
        let mut bytes = 1_i16.to_be_bytes().to_vec();
        bytes.extend(crc32c::crc32c(&entries).to_be_bytes());
        bytes.extend(entries);
        bytes
    }
}

fn spec(appended: &Appended, codec: Codec) -> BatchSpec {
    let (id, epoch, sequence) = appended.producer;
    let mut spec = batch().offset(appended.base).leader_epoch(appended.leader_epoch).time(appended.time);
    match appended.kind {
        Kind::Commit | Kind::Abort => {
            return spec.marker(i16::from(appended.kind == Kind::Commit), id, epoch);
        }
        Kind::Transactional => spec = spec.producer(id, epoch, sequence).transactional(),
        Kind::Plain => spec = spec.producer(id, epoch, sequence),
    }
    if appended.kept.contains(&true) {
        spec = spec.codec(codec);
    }
    for record in &appended.records {
        let field = |text: &Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
        spec = spec.record_at(record.time, field(&record.key), field(&record.value));
    }
    if appended.kept.contains(&false) {
        let kept: Vec<usize> =
            appended.kept.iter().enumerate().filter(|(_, kept)| **kept).map(|(at, _)| at).collect();
        spec = spec.kept(&kept);
    }
    spec
}
