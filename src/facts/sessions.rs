//! Producer sessions: one life of a producer object, as far as files show it.
//!
//! Goes in: what each producer wrote in each epoch to each partition. Comes out: for each producer id its
//! sessions, and which one an id and epoch belong to. There may be any number of them: they are read one by
//! one, and what does not fit into memory is in temporary files.
//!
//! Without transactions an epoch bump is local to the client (KIP-360), so all epochs of an id are
//! one session. With transactions `initTransactions` begins a session with a higher epoch, and under
//! protocol 2 (KIP-890) every transaction of one session has an epoch of its own. So the step from
//! epoch k to k + 1 stays in the session only where a marker with epoch k + 1 closed data of epoch
//! k, in whichever partition: one that took no part in a transaction shows a jump that the others
//! bridge. Every other step begins a session. Under protocol 1 that can also be a bump within the
//! session; only `__transaction_state` tells ([`SessionStart::EpochStep`] keeps the doubt).

use super::protection::earliest;
use super::{EpochEnds, EpochSpan, Epochs, PartitionContext, PartitionFacts, Writer};
use crate::error::AuditError;
use crate::spill::{Catalog, CatalogWriter, Element, RunReader, Share, Sorter};
use crate::units::{ClusterNumber, Offset, ProducerEpoch, ProducerId, Sequence};
use std::io;
use std::sync::OnceLock;

/// One producer session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its producer id.
    pub producer_id: ProducerId,
    /// The cluster that gave it the id.
    pub cluster: ClusterNumber,
    /// Which of the id's sessions it is, from 1; those of several clusters are counted on.
    pub number: u32,
    /// Whether it wrote transactions.
    pub transactional: bool,
    /// What says that a session begins here.
    pub start: SessionStart,
    /// Its lowest epoch.
    pub first_epoch: Option<ProducerEpoch>,
    /// Its highest epoch.
    pub last_epoch: Option<ProducerEpoch>,
    /// What it wrote, by partition, in the order in which partitions were given.
    pub spans: Vec<SessionSpan>,
}

/// What says that a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStart {
    /// It is the first of its producer id.
    FirstSeen,
    /// The epoch rose by more than one, or without a marker that would have raised it.
    EpochStep {
        /// The last epoch of the session before.
        from: Option<ProducerEpoch>,
        /// The first epoch of this one.
        to: Option<ProducerEpoch>,
    },
}

/// What a session wrote to one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSpan {
    /// The index of the partition among those given.
    pub partition: usize,
    /// Base offset of its first batch.
    pub first_offset: Offset,
    /// Last offset of its last batch.
    pub last_offset: Offset,
    /// The smallest time of its batches.
    pub first_timestamp: Option<i64>,
    /// The largest time of its batches.
    pub last_timestamp: Option<i64>,
    /// Its batches.
    pub batches: u64,
    /// Its records, as they are now.
    pub records: u64,
    /// Where it began to write here.
    pub first: EpochEdge,
    /// Where it wrote last.
    pub last: EpochEdge,
    /// Its epochs here; one that it went back to counts again.
    pub epochs: u64,
    /// Whether it wrote transactions here.
    pub transactional: bool,
    /// Which epoch the markers of its transactions have, as the first says that tells it.
    pub ends: Option<EpochEnds>,
    ends_at: Offset,
}

/// One end of what a session wrote to a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEdge {
    /// The epoch.
    pub producer_epoch: Option<ProducerEpoch>,
    /// The sequence.
    pub sequence: Option<Sequence>,
}

impl Session {
    /// The name in the report, such as `1000#1`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}#{}", self.producer_id, self.number)
    }

    /// What it wrote to one partition.
    #[must_use]
    pub fn in_partition(&self, partition: usize) -> Option<&SessionSpan> {
        let at = self.spans.binary_search_by_key(&partition, |span| span.partition).ok()?;
        self.spans.get(at)
    }

    /// The smallest time of its batches, over all partitions.
    #[must_use]
    pub fn first_timestamp(&self) -> Option<i64> {
        self.spans.iter().fold(None, |least, span| earliest(least, span.first_timestamp))
    }

    /// The largest time of its batches, over all partitions.
    #[must_use]
    pub fn last_timestamp(&self) -> Option<i64> {
        self.spans.iter().filter_map(|span| span.last_timestamp).max()
    }
}

/// What producers wrote, partition by partition, before it is sessions.
#[derive(Debug)]
pub struct Written {
    share: Share,
    sorter: Sorter<WrittenEpoch>,
}

/// What one producer wrote in one epoch to one partition.
#[derive(Clone, Debug)]
struct WrittenEpoch {
    writer: Writer,
    cluster: ClusterNumber,
    partition: usize,
    /// Whether it is a partition of the broker's own.
    internal: bool,
    span: EpochSpan,
}

compared_by!(WrittenEpoch, |this| (
    this.writer.producer_id,
    this.cluster,
    this.writer,
    this.partition,
    this.span.first_offset
));

/// One epoch of a producer id, which each cluster gives out for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WriterIn {
    producer_id: ProducerId,
    cluster: ClusterNumber,
    writer: Writer,
}

impl WriterIn {
    const fn of(
        cluster: ClusterNumber,
        producer_id: ProducerId,
        producer_epoch: Option<ProducerEpoch>,
    ) -> Self {
        Self { producer_id, cluster, writer: Writer { producer_id, producer_epoch } }
    }
}

impl Written {
    /// Nothing yet; each part of the work holds no more than its share.
    #[must_use]
    pub fn new(share: Share) -> Self {
        let sorter = share.sorter();
        Self { share, sorter }
    }

    /// Adds a partition, which has this number.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written.
    pub fn add(
        &mut self,
        partition: usize,
        context: &PartitionContext,
        epochs: &Epochs,
    ) -> Result<(), AuditError> {
        for span in epochs.iter() {
            let writer = Writer { producer_id: span.producer_id, producer_epoch: span.producer_epoch };
            let (cluster, internal) = (context.cluster, context.internal);
            self.sorter.push(WrittenEpoch { writer, cluster, partition, internal, span })?;
        }
        Ok(())
    }

    /// The sessions. `place` is where a partition stands in their order, which is that of the numbers; what
    /// has none is left out.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written or read.
    pub fn sessions(self, place: impl Fn(usize) -> Option<usize>) -> Result<Sessions, AuditError> {
        let Self { share, sorter } = self;
        let mut written = sorter.finish()?.filter_map(|written| match written {
            Ok(written) => Some(Ok(WrittenEpoch { partition: place(written.partition)?, ..written })),
            failed => Some(failed),
        });
        let (mut sessions, mut numbers) = (CatalogWriter::new(&share), CatalogWriter::new(&share));
        let mut of_id = OfProducer::default();
        let mut end = |of_id: OfProducer| {
            for (session, epochs) in of_id.finish() {
                let number = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
                for producer_epoch in epochs {
                    numbers
                        .put(WriterIn::of(session.cluster, session.producer_id, producer_epoch), number)?;
                }
                sessions.put(number, session)?;
            }
            Ok::<_, AuditError>(())
        };
        for written in &mut written {
            let written = written?;
            let (id, cluster) = (written.writer.producer_id, written.cluster);
            if of_id.of().is_some_and(|of| of != (id, cluster)) {
                let before =
                    if of_id.of().is_some_and(|(before, _)| before == id) { of_id.count() } else { 0 };
                end(std::mem::replace(&mut of_id, OfProducer { before, ..OfProducer::default() }))?;
            }
            of_id.add(&written);
        }
        end(of_id)?;
        Ok(Sessions { by_number: sessions.finish()?, numbers: numbers.finish()?, failed: OnceLock::new() })
    }
}

/// The sessions of all producers. A temporary file that cannot be read ends the reading early;
/// [`Sessions::check`] says so to whoever asks before anything is told.
#[derive(Debug, Default)]
pub struct Sessions {
    /// By number: their order is that of producer ids, and of the sessions of each.
    by_number: Catalog<u32, Session>,
    /// Which session each id and epoch is of.
    numbers: Catalog<WriterIn, u32>,
    failed: OnceLock<AuditError>,
}

impl Sessions {
    /// Finds the sessions in the facts of all partitions (of the leading replica of each).
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written or read.
    pub fn build(
        partitions: &[(&PartitionContext, &PartitionFacts)],
        share: Share,
    ) -> Result<Self, AuditError> {
        let mut written = Written::new(share);
        for (at, (context, facts)) in partitions.iter().enumerate() {
            written.add(at, context, &facts.epochs)?;
        }
        written.sessions(Some)
    }

    /// The number of the session that an id and epoch of a cluster belong to.
    #[must_use]
    pub fn number(
        &self,
        cluster: ClusterNumber,
        producer_id: ProducerId,
        producer_epoch: Option<ProducerEpoch>,
    ) -> Option<u32> {
        self.unless_failed(self.numbers.find(&WriterIn::of(cluster, producer_id, producer_epoch))).flatten()
    }

    /// The session that an id and epoch of a cluster belong to.
    #[must_use]
    pub fn find(
        &self,
        cluster: ClusterNumber,
        producer_id: ProducerId,
        producer_epoch: Option<ProducerEpoch>,
    ) -> Option<Session> {
        let number = self.number(cluster, producer_id, producer_epoch)?;
        self.unless_failed(self.by_number.find(&number)).flatten()
    }

    /// All sessions in the order of their numbers: by producer id, and by the number within it.
    pub fn iter(&self) -> impl Iterator<Item = Session> {
        self.by_number.all().map_while(|one| self.unless_failed(one)).map(|(_, session)| session)
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// Whether all that was asked for could be read.
    ///
    /// # Errors
    /// The first thing that could not, once.
    pub fn check(&mut self) -> Result<(), AuditError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn unless_failed<T>(&self, read: Result<T, AuditError>) -> Option<T> {
        // The first one is told.
        read.map_err(|error| drop(self.failed.set(error))).ok()
    }
}

/// The sessions of one producer id, each with its epochs; what it wrote comes by epoch and partition.
#[derive(Debug, Default)]
struct OfProducer {
    /// Sessions of the id in clusters before.
    before: usize,
    /// As they are if it wrote transactions.
    sessions: Vec<(Session, Vec<Option<ProducerEpoch>>)>,
    transactional: bool,
    /// Whether a marker of the next epoch ended data of the newest one.
    closed_by_next: bool,
}

impl OfProducer {
    fn of(&self) -> Option<(ProducerId, ClusterNumber)> {
        self.sessions.first().map(|(session, _)| (session.producer_id, session.cluster))
    }

    /// Sessions of the id so far.
    fn count(&self) -> usize {
        let own = if self.transactional { self.sessions.len() } else { self.sessions.len().min(1) };
        self.before.saturating_add(own)
    }

    fn add(&mut self, written: &WrittenEpoch) {
        let WrittenEpoch {
            writer: Writer { producer_id, producer_epoch },
            cluster,
            partition,
            internal,
            span,
        } = written;
        let previous = self.sessions.last().and_then(|(_, epochs)| epochs.last()).copied();
        if previous != Some(*producer_epoch) {
            // A transaction of protocol 2 went before.
            let next = previous.flatten().and_then(|from| from.0.checked_add(1));
            let goes_on = self.closed_by_next && next.is_some() && next == producer_epoch.map(|to| to.0);
            if !goes_on {
                let start = previous.map_or(SessionStart::FirstSeen, |from| SessionStart::EpochStep {
                    from,
                    to: *producer_epoch,
                });
                let before = self.before.saturating_add(self.sessions.len());
                let number = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1);
                let session = Session {
                    producer_id: *producer_id,
                    cluster: *cluster,
                    number,
                    transactional: true,
                    start,
                    first_epoch: *producer_epoch,
                    last_epoch: *producer_epoch,
                    spans: Vec::new(),
                };
                self.sessions.push((session, Vec::new()));
            }
            if let Some((session, epochs)) = self.sessions.last_mut() {
                session.last_epoch = *producer_epoch;
                epochs.push(*producer_epoch);
            }
            self.closed_by_next = false;
        }
        self.transactional |= span.transactional && !internal;
        self.closed_by_next |= span.closed_by_next;
        if let Some((session, _)) = self.sessions.last_mut() {
            session.widen(SessionSpan::of(*partition, span));
        }
    }

    fn finish(self) -> Vec<(Session, Vec<Option<ProducerEpoch>>)> {
        if self.transactional {
            return self.sessions;
        }
        // All of them are one.
        let one = self.sessions.into_iter().reduce(|(mut one, mut all), (later, epochs)| {
            later.spans.into_iter().for_each(|span| one.widen(span));
            one.last_epoch = later.last_epoch;
            all.extend(epochs);
            (one, all)
        });
        one.map(|(one, epochs)| (Session { transactional: false, ..one }, epochs)).into_iter().collect()
    }
}

impl Session {
    fn widen(&mut self, with: SessionSpan) {
        match self.spans.binary_search_by_key(&with.partition, |span| span.partition) {
            Ok(at) => {
                if let Some(span) = self.spans.get_mut(at) {
                    span.join(&with);
                }
            }
            Err(at) => self.spans.insert(at, with),
        }
    }
}

impl SessionSpan {
    fn of(partition: usize, epoch: &EpochSpan) -> Self {
        let edge = |sequence| EpochEdge { producer_epoch: epoch.producer_epoch, sequence };
        Self {
            partition,
            first_offset: epoch.first_offset,
            last_offset: epoch.last_offset,
            first_timestamp: epoch.first_timestamp,
            last_timestamp: epoch.last_timestamp,
            batches: epoch.batches,
            records: epoch.records,
            first: edge(epoch.first_sequence),
            last: edge(epoch.last_sequence),
            epochs: 1,
            transactional: epoch.transactional,
            ends: epoch.ends,
            ends_at: epoch.first_offset,
        }
    }

    fn join(&mut self, other: &Self) {
        if other.first_offset < self.first_offset {
            (self.first_offset, self.first) = (other.first_offset, other.first);
        }
        if other.last_offset > self.last_offset {
            (self.last_offset, self.last) = (other.last_offset, other.last);
        }
        if other.ends.is_some() && (self.ends.is_none() || other.ends_at < self.ends_at) {
            (self.ends, self.ends_at) = (other.ends, other.ends_at);
        }
        self.first_timestamp = earliest(self.first_timestamp, other.first_timestamp);
        self.last_timestamp = self.last_timestamp.max(other.last_timestamp);
        self.batches = self.batches.saturating_add(other.batches);
        self.records = self.records.saturating_add(other.records);
        self.epochs = self.epochs.saturating_add(other.epochs);
        self.transactional |= other.transactional;
    }
}

impl Element for WrittenEpoch {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u64::try_from(self.partition).unwrap_or(u64::MAX).to_le_bytes());
        self.cluster.0.put(out);
        out.push(u8::from(self.internal));
        self.span.put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let partition = usize::try_from(u64::from_le_bytes(from.array()?)).map_err(io::Error::other)?;
        let cluster = ClusterNumber(u32::take(from)?);
        let internal = from.array()? == [1];
        let span = EpochSpan::take(from)?;
        let writer = Writer { producer_id: span.producer_id, producer_epoch: span.producer_epoch };
        Ok(Self { writer, cluster, partition, internal, span })
    }
}

impl Element for WriterIn {
    fn put(&self, out: &mut Vec<u8>) {
        self.cluster.0.put(out);
        self.writer.put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let cluster = ClusterNumber(u32::take(from)?);
        let Writer { producer_id, producer_epoch } = Writer::take(from)?;
        Ok(Self::of(cluster, producer_id, producer_epoch))
    }
}

impl Element for Session {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.spans.capacity() * size_of::<SessionSpan>()
    }

    fn put(&self, out: &mut Vec<u8>) {
        let (is_step, from, to) = match self.start {
            SessionStart::FirstSeen => (false, None, None),
            SessionStart::EpochStep { from, to } => (true, from, to),
        };
        out.push(u8::from(self.transactional));
        out.push(u8::from(is_step));
        for producer_epoch in [from, to, self.first_epoch, self.last_epoch] {
            Writer { producer_id: self.producer_id, producer_epoch }.put(out);
        }
        self.number.put(out);
        self.cluster.0.put(out);
        self.spans.put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let [transactional, is_step] = from.array()?;
        let mut epochs = [None; 4];
        let mut producer_id = ProducerId::NONE;
        for epoch in &mut epochs {
            let writer = Writer::take(from)?;
            (producer_id, *epoch) = (writer.producer_id, writer.producer_epoch);
        }
        let [before, behind, first_epoch, last_epoch] = epochs;
        let step = SessionStart::EpochStep { from: before, to: behind };
        Ok(Self {
            producer_id,
            transactional: transactional == 1,
            start: if is_step == 1 { step } else { SessionStart::FirstSeen },
            first_epoch,
            last_epoch,
            number: u32::take(from)?,
            cluster: ClusterNumber(u32::take(from)?),
            spans: Element::take(from)?,
        })
    }
}

impl Element for SessionSpan {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u64::try_from(self.partition).unwrap_or(u64::MAX).to_le_bytes());
        [self.first_offset.0, self.last_offset.0, self.ends_at.0].put(out);
        let epoch = |edge: EpochEdge| edge.producer_epoch.map(|epoch| i64::from(epoch.0));
        let sequence = |edge: EpochEdge| edge.sequence.map(|sequence| i64::from(sequence.get()));
        let ends = self.ends.map(|ends| i64::from(ends == EpochEnds::Next));
        [
            self.first_timestamp,
            self.last_timestamp,
            epoch(self.first),
            sequence(self.first),
            epoch(self.last),
            sequence(self.last),
            ends,
        ]
        .put(out);
        for count in [self.batches, self.records, self.epochs] {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.push(u8::from(self.transactional));
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let partition = usize::try_from(u64::from_le_bytes(from.array()?)).map_err(io::Error::other)?;
        let [first_offset, last_offset, ends_at] = <[i64; 3]>::take(from)?.map(Offset);
        let [first_timestamp, last_timestamp, first_epoch, first_sequence, last_epoch, last_sequence, ends] =
            <[Option<i64>; 7]>::take(from)?;
        let edge = |epoch: Option<i64>, sequence: Option<i64>| EpochEdge {
            producer_epoch: epoch.and_then(|epoch| i16::try_from(epoch).ok()).map(ProducerEpoch),
            sequence: sequence.and_then(|number| Sequence::new(i32::try_from(number).ok()?)),
        };
        let mut count = || Ok::<_, io::Error>(u64::from_le_bytes(from.array()?));
        Ok(Self {
            partition,
            first_offset,
            last_offset,
            first_timestamp,
            last_timestamp,
            batches: count()?,
            records: count()?,
            first: edge(first_epoch, first_sequence),
            last: edge(last_epoch, last_sequence),
            epochs: count()?,
            transactional: from.array()?.map(|flag: u8| flag == 1) == [true],
            ends: ends.map(|ends| if ends == 1 { EpochEnds::Next } else { EpochEnds::Own }),
            ends_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::fold;
    use super::*;

    fn names(scripts: &[&str]) -> Vec<(String, u64)> {
        let facts: Vec<PartitionFacts> = scripts.iter().map(|script| fold(script)).collect();
        let context = PartitionContext::default();
        let partitions: Vec<_> = facts.iter().map(|facts| (&context, facts)).collect();
        let sessions = Sessions::build(&partitions, Share::default()).unwrap();
        sessions
            .iter()
            .map(|session| (session.name(), session.spans.iter().map(|span| span.epochs).sum()))
            .collect()
    }

    fn told(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
        expected.iter().map(|&(name, epochs)| (name.to_owned(), epochs)).collect()
    }

    #[test]
    fn epoch_bumps_without_transactions_stay_in_the_session() {
        assert_eq!(names(&["D 5/0 0..4; D 5/1 0..1; D 5/3 0..0"]), told(&[("5#1", 3)]));
    }

    #[test]
    fn transactions_of_protocol_two_are_one_session_and_its_restart_skips_an_epoch() {
        let script = "X 7/4 0..1; +M 7/5; X 7/5 0..0; -M 7/6; X 7/7 0..0; +M 7/8";
        assert_eq!(names(&[script]), told(&[("7#1", 2), ("7#2", 1)]));
    }

    #[test]
    fn a_restart_of_protocol_one_is_the_next_epoch_without_a_marker_of_its_own() {
        let script = "X 7/4 0..1; +M 7/4; X 7/4 2..2; +M 7/4; X 7/5 0..0; +M 7/5";
        assert_eq!(names(&[script]), told(&[("7#1", 1), ("7#2", 1)]));
    }

    #[test]
    fn a_partition_that_took_no_part_is_bridged_by_the_others() {
        let here = "X 7/4 0..1; +M 7/5; X 7/6 0..0; +M 7/7";
        let there = "X 7/5 0..1; +M 7/6";
        assert_eq!(names(&[here, there]), told(&[("7#1", 3)]));
        assert_eq!(names(&[here]), told(&[("7#1", 1), ("7#2", 1)]));
    }

    #[test]
    fn each_cluster_gives_out_its_own_producer_ids() {
        let facts = [fold("D 5/0 0..4"), fold("X 5/0 0..0; +M 5/0; X 5/2 0..0; +M 5/2"), fold("D 5/1 0..0")];
        let of =
            |cluster| PartitionContext { cluster: ClusterNumber(cluster), ..PartitionContext::default() };
        let (one, other) = (of(0), of(1));
        let partitions = [(&one, &facts[0]), (&other, &facts[1]), (&one, &facts[2])];
        for limit in [0, 1 << 20] {
            let sessions = Sessions::build(&partitions, Share { limit, ..Share::default() }).unwrap();
            let told: Vec<_> = sessions
                .iter()
                .map(|session| {
                    (session.name(), session.cluster.0, session.transactional, session.spans.len())
                })
                .collect();
            let expected = [("5#1", 0, false, 2), ("5#2", 1, true, 1), ("5#3", 1, true, 1)]
                .map(|(name, cluster, is, spans)| (name.to_owned(), cluster, is, spans));
            assert_eq!(told, expected);
            let number = |cluster, epoch| {
                sessions.number(ClusterNumber(cluster), ProducerId(5), Some(ProducerEpoch(epoch)))
            };
            assert_eq!(
                [number(0, 0), number(1, 0), number(1, 2), number(0, 2)],
                [Some(0), Some(1), Some(2), None]
            );
        }
    }

    #[test]
    fn lookup_finds_the_session_and_its_place_in_each_partition() {
        let facts = [fold("D 5/0 0..4; X 7/4 0..0; +M 7/4; X 7/6 0..0"), fold("D 5/0 0..1; D 5/1 0..0")];
        let context = PartitionContext::default();
        let partitions = [(&context, &facts[0]), (&context, &facts[1])];
        let sessions = Sessions::build(&partitions, Share { limit: 0, ..Share::default() }).unwrap();
        let session = sessions.find(ClusterNumber(0), ProducerId(5), Some(ProducerEpoch(1))).unwrap();
        assert_eq!(
            sessions.find(ClusterNumber(0), ProducerId(5), Some(ProducerEpoch(0))).as_ref(),
            Some(&session)
        );
        assert_eq!(sessions.number(ClusterNumber(0), ProducerId(5), Some(ProducerEpoch(0))), Some(0));
        assert_eq!(session.in_partition(1).unwrap().last_offset, Offset(2));
        assert_eq!(session.in_partition(1).unwrap().records, 3);
        let seven = sessions.find(ClusterNumber(0), ProducerId(7), Some(ProducerEpoch(6))).unwrap();
        let (from, to) = (Some(ProducerEpoch(4)), Some(ProducerEpoch(6)));
        assert_eq!(seven.start, SessionStart::EpochStep { from, to });
        assert_eq!(sessions.find(ClusterNumber(0), ProducerId(9), None), None);
    }
}
