//! Every producer with its sessions, and what the producer snapshots say of it, for whoever asks for all.
//!
//! Goes in: the sessions, what was written in each epoch, and the snapshots beside the logs that lead, with
//! where the ledger found that one contradicts its log. Comes out: the producers by their ids, each with its
//! sessions in each partition, and with what the newest snapshots of each partition say, and every one that
//! disagrees. Nothing is judged here, and nothing but one producer is held.

use super::assemble::{Parts, ToldEpochs, epoch_report, session_report, transactional_id};
use crate::error::AuditError;
use crate::facts::{
    EpochSpan, PartitionContext, PartitionFacts, Snapshot, SnapshotConflict, SnapshotConflictKind,
};
use crate::report::producer_list::{ProducerList, ProducerListWriter, Ranked};
use crate::report::producers::{EndedBy, Producer, ProducerSession, SnapshotState};
use crate::spill::{Element, RunReader, Share, Sorted};
use crate::units::{ClusterNumber, Sequence};
use std::cmp::Reverse;
use std::io;
use std::iter::Peekable;

/// Snapshots of one partition that are told of a producer, the newest; those that disagree come on top.
const NEWEST: usize = 3;

/// The producers by their ids; how each session ended is not told yet.
///
/// # Errors
/// [`AuditError`] when what does not fit into memory cannot be written or read.
pub(super) fn list(
    parts: &Parts<'_>,
    judged: &[(&PartitionContext, &PartitionFacts)],
    share: &Share,
) -> Result<ProducerList, AuditError> {
    let mut epochs = epochs(parts, share)?.peekable();
    let newest: Vec<_> = judged.iter().map(|(context, _)| newest_first(context)).collect();
    let mut list = List {
        states: entries(judged, &newest, share)?.peekable(),
        judged,
        newest,
        out: ProducerListWriter::new(share),
        share,
    };
    let mut producer: Option<(ClusterNumber, Producer)> = None;
    for (number, session) in (0_u32..).zip(parts.sessions.iter()) {
        let (id, cluster) = (session.producer_id, session.cluster);
        if let Some((of, before)) =
            producer.take_if(|(of, producer)| (producer.producer_id, *of) != (id.0, cluster))
        {
            list.put(of, before)?;
        }
        for span in &session.spans {
            let dir = parts.led.get(span.partition).and_then(|&at| parts.inventory.partitions.get(at));
            let Some(dir) = dir.filter(|dir| !dir.internal) else { continue };
            let mut told = ToldEpochs::default();
            let place = (number, span.partition);
            while let Some(epoch) =
                epochs.next_if(|epoch| epoch.as_ref().map_or(true, |at| at.place() <= place))
            {
                let epoch = epoch?;
                if epoch.place() == place {
                    told.add(epoch.span, usize::MAX);
                }
            }
            told.cut(usize::MAX);
            let mut of_session = session_report(&session, span, dir);
            of_session.epochs = told.spans.iter().map(epoch_report).collect();
            let (_, producer) = producer.get_or_insert_with(|| {
                let transactional_id = parts.internal.transactional_id(cluster, id).map(transactional_id);
                (cluster, Producer { producer_id: id.0, transactional_id, ..Producer::default() })
            });
            producer.sessions.push(ProducerSession {
                session: of_session,
                gaps: Vec::new(),
                ended_by: EndedBy::default(),
            });
        }
    }
    if let Some((cluster, last)) = producer {
        list.put(cluster, last)?;
    }
    list.finish()
}

/// What one epoch wrote to one partition, by the session that it is of.
#[derive(Clone, Debug)]
struct SessionEpoch {
    session: u32,
    partition: usize,
    /// How many epochs of the partition stand before it.
    before: u64,
    span: EpochSpan,
}

compared_by!(SessionEpoch, |this| (this.session, this.partition, this.before));

impl SessionEpoch {
    const fn place(&self) -> (u32, usize) {
        (self.session, self.partition)
    }
}

impl Element for SessionEpoch {
    fn put(&self, out: &mut Vec<u8>) {
        self.session.put(out);
        out.extend_from_slice(&u64::try_from(self.partition).unwrap_or(u64::MAX).to_le_bytes());
        out.extend_from_slice(&self.before.to_le_bytes());
        self.span.put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        Ok(Self {
            session: Element::take(from)?,
            partition: usize::try_from(u64::from_le_bytes(from.array()?)).map_err(io::Error::other)?,
            before: u64::from_le_bytes(from.array()?),
            span: Element::take(from)?,
        })
    }
}

fn epochs(parts: &Parts<'_>, share: &Share) -> Result<Sorted<SessionEpoch>, AuditError> {
    let mut sorter = share.sorter();
    for (partition, &at) in parts.led.iter().enumerate() {
        let cluster = parts.contexts.get(at).map_or_else(ClusterNumber::default, |context| context.cluster);
        let spans = parts.outcomes.get(at).into_iter().flat_map(|outcome| outcome.facts.epochs.iter());
        for (before, span) in (0..).zip(spans) {
            if let Some(session) = parts.sessions.number(cluster, span.producer_id, span.producer_epoch) {
                sorter.push(SessionEpoch { session, partition, before, span })?;
            }
        }
    }
    sorter.finish()
}

/// An entry of a snapshot: producer id, cluster, partition, how many snapshots of it are newer, which of its
/// entries.
type Entry = [i64; 5];

/// A producer id, which each cluster gives out for itself, with the number of the cluster.
type IdOf = [i64; 2];

fn id_of(id: i64, cluster: ClusterNumber) -> IdOf {
    [id, i64::from(cluster.0)]
}

fn entries(
    judged: &[(&PartitionContext, &PartitionFacts)],
    newest: &[Vec<&Snapshot>],
    share: &Share,
) -> Result<Sorted<Entry>, AuditError> {
    let mut sorter = share.sorter();
    for (partition, ((context, _), snapshots)) in (0_i64..).zip(judged.iter().zip(newest)) {
        if context.internal {
            continue;
        }
        let cluster = i64::from(context.cluster.0);
        for (newer, snapshot) in (0_i64..).zip(snapshots) {
            for (at, entry) in (0_i64..).zip(snapshot.entries.iter().flatten()) {
                sorter.push([entry.producer_id.0, cluster, partition, newer, at])?;
            }
        }
    }
    sorter.finish()
}

fn newest_first(context: &PartitionContext) -> Vec<&Snapshot> {
    let mut snapshots: Vec<_> = context.snapshots.iter().collect();
    snapshots.sort_by_key(|snapshot| Reverse(snapshot.offset));
    snapshots
}

/// The list as far as it is told.
struct List<'a> {
    states: Peekable<Sorted<Entry>>,
    judged: &'a [(&'a PartitionContext, &'a PartitionFacts)],
    /// The snapshots of each partition, the newest first.
    newest: Vec<Vec<&'a Snapshot>>,
    out: ProducerListWriter,
    share: &'a Share,
}

impl List<'_> {
    /// Adds a producer, and before it those of a lower id that only a snapshot remembers.
    fn put(&mut self, cluster: ClusterNumber, mut producer: Producer) -> Result<(), AuditError> {
        let id = id_of(producer.producer_id, cluster);
        self.remembered_alone(Some(id))?;
        producer.snapshots = self.states_of(id)?;
        self.write(&producer)
    }

    fn finish(mut self) -> Result<ProducerList, AuditError> {
        self.remembered_alone(None)?;
        self.out.finish()
    }

    /// Adds the producers below an id that only a snapshot remembers: their records are gone.
    fn remembered_alone(&mut self, below: Option<IdOf>) -> Result<(), AuditError> {
        while let Some(id) = self.next_id()?.filter(|id| below.is_none_or(|below| *id < below)) {
            let snapshots = self.states_of(id)?;
            let [producer_id, _] = id;
            self.write(&Producer { producer_id, snapshots, ..Producer::default() })?;
        }
        Ok(())
    }

    fn next_id(&mut self) -> Result<Option<IdOf>, AuditError> {
        if let Some(failed) = self.states.next_if(Result::is_err) {
            failed?;
        }
        Ok(self.states.peek().and_then(|entry| entry.as_ref().ok()).map(|[id, cluster, ..]| [*id, *cluster]))
    }

    fn write(&mut self, producer: &Producer) -> Result<(), AuditError> {
        let ranked = Ranked::new([producer.producer_id, 0], producer);
        self.out.put(&ranked.map_err(|source| self.share.space.failed(source))?)
    }

    /// What the snapshots say of a producer, in order of partition and snapshot.
    fn states_of(&mut self, id: IdOf) -> Result<Vec<SnapshotState>, AuditError> {
        let mut states = Vec::new();
        while let Some(partition) = self.next_partition(id)? {
            let mut told = Vec::new();
            while self.next_partition(id)? == Some(partition) {
                let Some(entry) = self.states.next() else { break };
                let [_, _, _, newer, at] = entry?;
                told.extend(self.state(partition, newer, at, told.len()));
            }
            told.reverse();
            states.append(&mut told);
        }
        Ok(states)
    }

    fn next_partition(&mut self, of: IdOf) -> Result<Option<i64>, AuditError> {
        let same = self.next_id()? == Some(of);
        let next = self.states.peek().and_then(|entry| entry.as_ref().ok());
        Ok(next.filter(|_| same).map(|[_, _, partition, ..]| *partition))
    }

    /// What an entry says, if it is one of the newest or disagrees with the log.
    fn state(&self, partition: i64, newer: i64, at: i64, told: usize) -> Option<SnapshotState> {
        let index = |number: i64| usize::try_from(number).ok();
        let (context, facts) = self.judged.get(index(partition)?)?;
        let snapshot = *self.newest.get(index(partition)?)?.get(index(newer)?)?;
        let entry = snapshot.entries.as_ref().ok()?.get(index(at)?)?;
        let is_behind = entry.last_offset >= Some(facts.log_end_offset);
        let conflict = facts.snapshot_conflicts.iter().find(|conflict| {
            let speaks = match conflict.producer_id {
                Some(producer_id) => producer_id == entry.producer_id,
                None => is_behind && conflict.kind == SnapshotConflictKind::BeyondLogEnd,
            };
            conflict.file == snapshot.file && speaks
        });
        if told >= NEWEST && conflict.is_none() {
            return None;
        }
        Some(SnapshotState {
            topic: context.topic.clone(),
            partition: context.partition,
            file: snapshot.file.clone(),
            epoch: entry.producer_epoch.map(|epoch| epoch.0),
            last_sequence: entry.last_sequence.map(Sequence::get),
            last_offset: entry.last_offset.map(|offset| offset.0),
            transaction_first_offset: entry.current_txn_first_offset.map(|offset| offset.0),
            agrees: conflict.is_none(),
            log: conflict.and_then(|conflict: &SnapshotConflict| conflict.log.clone()),
        })
    }
}
