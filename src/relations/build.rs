//! From candidate records to groups of equal copies, each with its predecessor.
//!
//! A content may be stored any number of times: its copies are held in memory while they are few, and
//! in temporary files otherwise, and what is found of them is written pair by pair.

use super::groups::Part;
use super::pair::{GroupNote, GroupWriters, RelatedPair};
use super::{Candidate, PartitionNote, SessionNotes, StoredCopy, level};
use crate::candidates::Fingerprint;
use crate::error::AuditError;
use crate::finding::{BusinessKey, Visibility};
use crate::spill::{Element, RunReader, Share, Shelf, ShelfWriter, Sorter};
use crate::units::ProducerId;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

/// Whether copies of one event in two topics are one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// Each topic has groups of its own.
    Apart,
    /// Topics are joined (`--across`).
    Together,
}

/// Groups candidates of each topic by identity and content; what is stored once is left out. They
/// come in their order and are taken one by one, and no more than a few copies of one content are
/// held beside what `share` allows. The groups are in the order of their first surplus copies.
/// Partitions stand in the order of their topics.
///
/// # Errors
/// That of the candidates; [`AuditError`] when what does not fit into memory cannot be written or read.
pub fn group(
    partitions: &[PartitionNote],
    sessions: &SessionNotes,
    joined: Joined,
    share: &Share,
    candidates: impl Iterator<Item = Result<Candidate, AuditError>>,
) -> Result<Part, AuditError> {
    let mut grouping = Grouping::new(partitions, sessions, share);
    let mut equal: Option<Equal> = None;
    for candidate in candidates {
        let candidate = candidate?;
        match &mut equal {
            Some(equal) if equal.of == (candidate.identity, candidate.content) => equal.add(candidate)?,
            _ => {
                if let Some(equal) = equal.replace(Equal::of(candidate, share)) {
                    grouping.take(equal, joined)?;
                }
            }
        }
    }
    if let Some(equal) = equal {
        grouping.take(equal, joined)?;
    }
    grouping.finish()
}

/// Groups equal records of equal batches that one producer session wrote to different topics under
/// the same sequence, where it fits one of them only: copies that no key needs to join.
///
/// # Errors
/// [`AuditError`] when what does not fit into memory cannot be written or read.
pub fn group_across_topics(
    partitions: &[PartitionNote],
    sessions: &SessionNotes,
    share: &Share,
    mut candidates: Vec<Candidate>,
) -> Result<Part, AuditError> {
    let key = |one: &Candidate| {
        (one.record_set, one.copy.producer_id, one.copy.producer_epoch, one.copy.sequence, one.exact_content)
    };
    candidates.sort_unstable_by_key(|one| (key(one), one.copy.partition, one.copy.offset));
    let topic = |one: &Candidate| place(partitions, &one.copy).0;
    let mut grouping = Grouping::new(partitions, sessions, share);
    let strayed = candidates
        .chunk_by(|a, b| key(a) == key(b))
        .filter(|equal| equal.first().map(topic) != equal.last().map(topic))
        .filter(|equal| equal.iter().any(|one| one.copy.batch.in_sequence));
    for equal in strayed {
        let stray = equal.iter().find(|one| !one.copy.batch.in_sequence);
        let (Some(stray), Some(first)) = (stray, equal.first()) else { continue };
        // The topic in which a record does not belong is the one that has the finding.
        let of = Of { key: first.business_key.clone(), topic: Some(topic(stray)), source: None };
        grouping.relate(&Copies::Few(equal.to_vec()), None, of)?;
    }
    grouping.finish()
}

/// Copies of one content that are held in memory.
const FEW: usize = 1024;

/// What it takes to know when a session began, with what it may take beside it.
const BEGINNING: usize = 256;

/// The copies of one content in the order of their places.
enum Copies {
    Few(Vec<Candidate>),
    Many(Shelf<Candidate>),
}

impl Copies {
    fn iter(&self) -> Box<dyn Iterator<Item = Result<Candidate, AuditError>> + '_> {
        match self {
            Self::Few(copies) => Box::new(copies.iter().cloned().map(Ok)),
            Self::Many(copies) => Box::new(copies.all()),
        }
    }
}

/// Candidates of one identity and one content, as they come.
struct Equal {
    of: (Fingerprint, Fingerprint),
    key: BusinessKey,
    few: Vec<Candidate>,
    many: Option<ShelfWriter<Candidate>>,
    share: Share,
}

impl Equal {
    fn of(mut first: Candidate, share: &Share) -> Self {
        // The first one's key stands for all: keys may be long.
        let key = std::mem::replace(&mut first.business_key, no_key());
        let of = (first.identity, first.content);
        Self { of, key, few: vec![first], many: None, share: share.clone() }
    }

    fn add(&mut self, candidate: Candidate) -> Result<(), AuditError> {
        let candidate = Candidate { business_key: no_key(), ..candidate };
        if let Some(many) = &mut self.many {
            return many.put(&candidate);
        }
        self.few.push(candidate);
        if self.few.len() > FEW {
            let mut many = self.share.shelf();
            self.few.drain(..).try_for_each(|candidate| many.put(&candidate))?;
            self.many = Some(many);
        }
        Ok(())
    }

    fn is_single(&self) -> bool {
        self.many.is_none() && self.few.len() == 1
    }
}

fn no_key() -> BusinessKey {
    BusinessKey::Text { text: String::new() }
}

/// What a group is.
struct Of {
    key: BusinessKey,
    /// The topic that has the finding; that of the first surplus copy where none is given.
    topic: Option<u32>,
    source: Option<Box<StoredCopy>>,
}

/// Relates the copies of one content after the other.
struct Grouping<'a> {
    partitions: &'a [PartitionNote],
    sessions: &'a SessionNotes,
    /// When the sessions of the last copies began.
    began: BTreeMap<u32, Option<i64>>,
    share: &'a Share,
    pairs: ShelfWriter<RelatedPair>,
    notes: ShelfWriter<GroupNote>,
    /// The place of each group's first surplus copy, and where its pairs stand.
    order: Sorter<[i64; 8]>,
}

impl<'a> Grouping<'a> {
    fn new(partitions: &'a [PartitionNote], sessions: &'a SessionNotes, share: &'a Share) -> Self {
        let (pairs, notes, order) = (share.shelf(), share.shelf(), share.sorter());
        Self { partitions, sessions, began: BTreeMap::new(), share, pairs, notes, order }
    }

    fn turn(&mut self, copy: &StoredCopy) -> Turn {
        let time = copy.client_timestamp.or(copy.timestamp).unwrap_or(i64::MIN);
        let began = copy.session.and_then(|number| {
            let began = if let Some(began) = self.began.get(&number) {
                *began
            } else {
                let began = self.sessions.get(number)?.first_timestamp();
                self.keep_in_mind(number, began);
                began
            };
            Some((false, began, number))
        });
        (time, !copy.batch.in_sequence, began.unwrap_or((true, None, 0)))
    }

    fn keep_in_mind(&mut self, session: u32, began: Option<i64>) {
        // There may be as many of them as copies.
        if self.began.len() >= (self.share.limit / BEGINNING).max(FEW) {
            self.began.clear();
        }
        self.began.insert(session, began);
    }

    fn topic(&self, one: &Candidate) -> u32 {
        place(self.partitions, &one.copy).0
    }

    /// One group for each topic that holds the content more than once; one for all of them where topics
    /// are joined.
    fn take(&mut self, equal: Equal, joined: Joined) -> Result<(), AuditError> {
        if equal.is_single() {
            return Ok(());
        }
        let Equal { key, few, many, .. } = equal;
        let copies = match many {
            Some(many) => Copies::Many(many.finish()?),
            None => Copies::Few(few),
        };
        if joined == Joined::Together {
            return self.relate(&copies, None, Of { key, topic: None, source: None });
        }
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for one in copies.iter() {
            *counts.entry(self.topic(&one?)).or_default() += 1;
        }
        let topics: Vec<(u32, u64)> = counts.into_iter().collect();
        for &(topic, _) in topics.iter().filter(|(_, count)| *count > 1) {
            let source = self.source(&copies, &topics, topic)?;
            self.relate(&copies, Some(topic), Of { key: key.clone(), topic: Some(topic), source })?;
        }
        Ok(())
    }

    /// A record of another topic with the content and the client time of one of these copies, where
    /// that topic holds fewer of them: then these were not copied one by one from there. A topic to
    /// which a writer of these copies wrote itself is no source: the application writes to both.
    fn source(
        &self,
        copies: &Copies,
        topics: &[(u32, u64)],
        own: u32,
    ) -> Result<Option<Box<StoredCopy>>, AuditError> {
        // Most events stand in one topic.
        let count = topics.iter().find(|(topic, _)| *topic == own).map_or(0, |(_, count)| *count);
        let mut others: BTreeSet<u32> = topics
            .iter()
            .filter(|(topic, others)| *topic != own && *others < count)
            .map(|(at, _)| *at)
            .collect();
        if others.is_empty() {
            return Ok(None);
        }
        let mut writers = BTreeSet::new();
        for one in copies.iter() {
            let one = one?;
            if self.topic(&one) == own {
                writers.extend(one.copy.session);
            }
        }
        for &at in &writers {
            let session = self.sessions.get(at);
            for span in session.iter().flat_map(|session| &session.spans) {
                let note = usize::try_from(span.partition).ok().and_then(|at| self.partitions.get(at));
                if let Some(note) = note {
                    others.remove(&note.topic);
                }
            }
        }
        if others.is_empty() {
            return Ok(None);
        }
        // Content and time; those of the topic itself before those of the others; the place.
        let mut written = self.share.sorter::<(u128, i64, u64)>();
        for (at, one) in (1..).zip(copies.iter()) {
            let one = one?;
            let topic = self.topic(&one);
            if let Some(time) = one.copy.client_timestamp
                && (topic == own || others.contains(&topic))
            {
                written.push((one.exact_content.0, time, if topic == own { 0 } else { at }))?;
            }
        }
        let (mut own, mut found) = (None, None::<u64>);
        for one in written.finish()? {
            let (content, time, at) = one?;
            if at == 0 {
                own = Some((content, time));
            } else if own == Some((content, time)) {
                found = Some(found.map_or(at, |found| found.min(at)));
            }
        }
        let mut sources = (1..).zip(copies.iter()).filter(|(at, _)| Some(*at) == found);
        sources.next().map(|(_, one)| Ok(Box::new(one?.copy))).transpose()
    }

    /// Finds for each copy the one that it repeats. They come in order of partition and offset; where a
    /// topic is given, only those of it.
    ///
    /// Inside a partition that is the nearest before it; the first of a partition repeats the nearest
    /// earlier in time in another one, ties broken by topic, partition and offset. A copy that
    /// read_committed consumers see repeats an earlier one that they see, when there is one: an aborted
    /// copy in between changes nothing for them.
    fn relate(&mut self, copies: &Copies, only: Option<u32>, of: Of) -> Result<(), AuditError> {
        let mut turned = self.share.sorter::<Turned>();
        let mut writers: BTreeMap<(Option<u32>, ProducerId), u32> = BTreeMap::new();
        let mut before: Option<(u32, Turn)> = None;
        for candidate in copies.iter() {
            let candidate = candidate?;
            if only.is_some_and(|only| self.topic(&candidate) != only) {
                continue;
            }
            let times = writers.entry(writer(&candidate.copy)).or_default();
            *times = times.saturating_add(1);
            // Offsets order a partition and no turn does: inside one it never comes before that of an
            // earlier copy.
            let own = self.turn(&candidate.copy);
            let of_partition = before.filter(|(partition, _)| *partition == candidate.copy.partition);
            let turn = of_partition.map_or(own, |(_, before)| own.max(before));
            before = Some((candidate.copy.partition, turn));
            let place = whole_place(self.partitions, &candidate.copy);
            turned.push(Turned { turn, place, candidate })?;
        }
        let sessions: BTreeSet<u32> = writers.keys().filter_map(|(session, _)| *session).collect();
        let mut times: Vec<u32> = writers.values().copied().collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        let of_all = GroupWriters {
            own: 0,
            second_most: times.get(1).copied().unwrap_or(0),
            sessions: u32::try_from(sessions.len()).unwrap_or(u32::MAX),
        };
        let (start, note) = (self.pairs.end(), self.notes.end());
        self.notes.put(&GroupNote { business_key: of.key, sessions: sessions.into_iter().collect() })?;
        let (mut seen, mut topic, mut first) = (Seen::default(), of.topic, None::<[i64; 6]>);
        for (number, one) in (0_u32..).zip(turned.finish()?) {
            let Turned { place, candidate, .. } = one?;
            let candidate = Rc::new(candidate);
            if let Some(earlier) = seen.predecessor(&candidate.copy) {
                let topic = *topic.get_or_insert_with(|| self.topic(&candidate));
                first = Some(first.map_or(place, |first| first.min(place)));
                self.pairs.put(&RelatedPair {
                    group: 0,
                    number,
                    topic,
                    earlier: earlier.copy.clone(),
                    later: candidate.copy.clone(),
                    level: level(earlier, &candidate),
                    writers: GroupWriters {
                        own: writers.get(&writer(&candidate.copy)).copied().unwrap_or(0),
                        ..of_all
                    },
                    source: of.source.clone(),
                    note,
                })?;
            }
            seen.add(&candidate);
        }
        self.end(start, first)
    }

    /// Ends the group of which the pairs stand from `start` on.
    fn end(&mut self, start: u64, first: Option<[i64; 6]>) -> Result<(), AuditError> {
        let Some(place) = first else { return Ok(()) };
        let mut group = [0; 8];
        let ends = [start, self.pairs.end()].map(|end| i64::try_from(end).unwrap_or(i64::MAX));
        for (to, from) in group.iter_mut().zip(place.into_iter().chain(ends)) {
            *to = from;
        }
        self.order.push(group)
    }

    /// The groups in the order of their first surplus copies.
    fn finish(self) -> Result<Part, AuditError> {
        let (as_they_came, mut pairs) = (self.pairs.finish()?, self.share.shelf());
        let mut count = 0_u32;
        for group in self.order.finish()? {
            let [.., start, end] = group?.map(|number| u64::try_from(number).unwrap_or(0));
            for pair in as_they_came.between(start, end) {
                pairs.put(&RelatedPair { group: count, ..pair? })?;
            }
            count = count.saturating_add(1);
        }
        Ok(Part { pairs: pairs.finish()?, notes: self.notes.finish()?, count, first: 0 })
    }
}

/// Groups of two, in the order in which they come.
pub(super) fn group_twos(
    share: &Share,
    twos: impl Iterator<Item = (u32, BusinessKey, RelatedTwo)>,
) -> Result<Part, AuditError> {
    let sessions = SessionNotes::default();
    let mut grouping = Grouping::new(&[], &sessions, share);
    for (at, (topic, key, two)) in (0..).zip(twos) {
        let (start, note) = (grouping.pairs.end(), grouping.notes.end());
        let RelatedTwo { earlier, later, level } = two;
        let sessions: BTreeSet<u32> = [earlier.session, later.session].into_iter().flatten().collect();
        let alike = writer(&earlier) == writer(&later);
        let writers = GroupWriters {
            own: if alike { 2 } else { 1 },
            second_most: u32::from(!alike),
            sessions: u32::try_from(sessions.len()).unwrap_or(u32::MAX),
        };
        grouping.notes.put(&GroupNote { business_key: key, sessions: sessions.into_iter().collect() })?;
        grouping.pairs.put(&RelatedPair {
            group: 0,
            number: 1,
            topic,
            earlier,
            later,
            level,
            writers,
            source: None,
            note,
        })?;
        grouping.end(start, Some([at, 0, 0, 0, 0, 0]))?;
    }
    grouping.finish()
}

/// A record and the one that repeats it.
pub(super) struct RelatedTwo {
    pub(super) earlier: StoredCopy,
    pub(super) later: StoredCopy,
    pub(super) level: crate::finding::Level,
}

fn writer(copy: &StoredCopy) -> (Option<u32>, ProducerId) {
    (copy.session, copy.producer_id)
}

fn place(partitions: &[PartitionNote], copy: &StoredCopy) -> (u32, i32, u32, i64) {
    let note = partitions.get(usize::try_from(copy.partition).unwrap_or(usize::MAX));
    (
        note.map_or(u32::MAX, |n| n.topic),
        note.map_or(i32::MAX, |n| n.partition),
        copy.partition,
        copy.offset.0,
    )
}

/// The same, and which of several records at one offset.
fn whole_place(partitions: &[PartitionNote], copy: &StoredCopy) -> [i64; 6] {
    let (topic, partition, directory, offset) = place(partitions, copy);
    let position = i64::try_from(copy.batch.position.0).unwrap_or(i64::MAX);
    [topic.into(), partition.into(), directory.into(), offset, copy.batch.segment.into(), position]
}

/// When it is a copy's turn among those of other partitions: by the time of the write; of two copies
/// of one wire batch the one that is out of its producer's sequence is the stray; and copies with
/// equal times (the time of the event, not of the write) stand in the order in which their sessions
/// began. Nothing says when a writer without producer id began: it comes last, so that no session is
/// said to have repeated it.
type Turn = (i64, bool, Began);

/// When a writer began, and its number: none is behind all that have one.
type Began = (bool, Option<i64>, u32);

/// A copy of which the turn is known; in order of turn and place.
struct Turned {
    turn: Turn,
    place: [i64; 6],
    candidate: Candidate,
}

compared_by!(Turned, |one| (one.turn, one.place));

impl Element for Turned {
    fn put(&self, out: &mut Vec<u8>) {
        let (time, is_stray, (is_last, began, number)) = self.turn;
        [Some(time), is_stray.then_some(1), is_last.then_some(1), began, Some(number.into())].put(out);
        self.place.put(out);
        self.candidate.put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let [time, is_stray, is_last, began, number] = <[Option<i64>; 5]>::take(from)?;
        let number =
            number.and_then(|number| u32::try_from(number).ok()).ok_or(io::ErrorKind::InvalidData)?;
        let time = time.ok_or(io::ErrorKind::InvalidData)?;
        let turn = (time, is_stray.is_some(), (is_last.is_some(), began, number));
        Ok(Self { turn, place: Element::take(from)?, candidate: Candidate::take(from)? })
    }
}

impl Element for (u128, i64, u64) {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
        out.extend_from_slice(&self.1.to_le_bytes());
        out.extend_from_slice(&self.2.to_le_bytes());
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let content = u128::from_le_bytes(from.array()?);
        Ok((content, i64::from_le_bytes(from.array()?), u64::from_le_bytes(from.array()?)))
    }
}

/// The latest copies so far: in each partition and anywhere, of any kind and of those that are not
/// aborted.
#[derive(Default)]
struct Seen {
    inside: BTreeMap<u32, Latest>,
    anywhere: Latest,
}

#[derive(Clone, Default)]
struct Latest {
    any: Option<Rc<Candidate>>,
    visible: Option<Rc<Candidate>>,
}

impl Seen {
    fn predecessor(&self, copy: &StoredCopy) -> Option<&Rc<Candidate>> {
        let inside = self.inside.get(&copy.partition);
        let visible = inside.and_then(|inside| inside.visible.as_ref()).or(self.anywhere.visible.as_ref());
        let any = inside.and_then(|inside| inside.any.as_ref()).or(self.anywhere.any.as_ref());
        visible.filter(|_| is_visible(copy)).or(any)
    }

    fn add(&mut self, candidate: &Rc<Candidate>) {
        let visible = is_visible(&candidate.copy);
        for latest in [self.inside.entry(candidate.copy.partition).or_default(), &mut self.anywhere] {
            latest.any = Some(Rc::clone(candidate));
            if visible {
                latest.visible = Some(Rc::clone(candidate));
            }
        }
    }
}

fn is_visible(copy: &StoredCopy) -> bool {
    copy.visibility != Visibility::Aborted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::Fingerprint;
    use crate::relations::{BatchPlace, TimeSource};
    use crate::units::{ClusterNumber, FilePosition, Offset, ProducerId};

    fn candidate(partition: u32, offset: i64, time: i64, session: Option<u32>) -> Candidate {
        Candidate {
            identity: Fingerprint(1),
            content: Fingerprint(2),
            exact_content: Fingerprint(2),
            record_set: Fingerprint(offset.unsigned_abs().into()),
            is_tombstone: false,
            business_key: BusinessKey::Text { text: "order-1".to_owned() },
            copy: StoredCopy {
                partition,
                offset: Offset(offset),
                timestamp: Some(time),
                client_timestamp: Some(time),
                timestamp_type: TimeSource::CreateTime,
                producer_id: ProducerId(session.map_or(-1, i64::from)),
                producer_epoch: None,
                sequence: None,
                session,
                partition_leader_epoch: None,
                visibility: Visibility::NonTransactional,
                written_after: None,
                behind_other_content: false,
                reread: None,
                batch: BatchPlace {
                    segment: 0,
                    position: FilePosition(0),
                    base_offset: Offset(offset),
                    last_offset: Offset(offset),
                    base_sequence: None,
                    records: 1,
                    crc: 0,
                    in_sequence: true,
                },
            },
        }
    }

    #[test]
    fn no_more_sessions_are_kept_in_mind_than_the_share_allows() {
        let share = Share { limit: 0, ..Share::default() };
        let note = |number: u32| crate::relations::SessionNote {
            name: format!("{number}#1"),
            producer_id: ProducerId(number.into()),
            transactional: false,
            transactional_id: None,
            spans: Vec::new(),
            begins_midstream: false,
            groups: Vec::new(),
        };
        let sessions = SessionNotes::of((0..3000).map(note), &share).unwrap();
        let mut grouping = Grouping::new(&[], &sessions, &share);
        for session in (0..3000).chain(0..3000) {
            let turn = grouping.turn(&candidate(0, 1, 5, Some(session)).copy);
            assert_eq!(turn, (5, false, (false, None, session)));
            assert!(grouping.began.len() <= FEW);
        }
    }

    /// The pairs of one group, of which the sessions began in the order of their numbers.
    fn pairs(equal: &[Candidate]) -> Vec<RelatedPair> {
        let share = Share::default();
        let sessions = SessionNotes::default();
        let mut grouping = Grouping::new(&[], &sessions, &share);
        grouping.began = BTreeMap::from([(0, None), (1, None)]);
        let of = Of { key: no_key(), topic: None, source: None };
        grouping.relate(&Copies::Few(equal.to_vec()), None, of).unwrap();
        grouping.finish().unwrap().pairs.all().map(Result::unwrap).collect()
    }

    fn order(equal: &[Candidate]) -> Vec<(u32, i64)> {
        let pairs = pairs(equal);
        let place = |copy: &StoredCopy| (copy.partition, copy.offset.0);
        pairs[..1]
            .iter()
            .map(|pair| place(&pair.earlier))
            .chain(pairs.iter().map(|p| place(&p.later)))
            .collect()
    }

    #[test]
    fn offsets_order_a_partition_whoever_wrote() {
        let equal = [candidate(0, 20, 5, Some(1)), candidate(0, 30, 5, None), candidate(0, 40, 3, Some(0))];
        assert_eq!(order(&equal), [(0, 20), (0, 30), (0, 40)]);
    }

    #[test]
    fn of_equal_times_in_two_partitions_the_session_that_began_first_comes_first() {
        let equal = [candidate(0, 7, 5, Some(1)), candidate(1, 90, 5, Some(0))];
        assert_eq!(order(&equal), [(1, 90), (0, 7)]);
        let equal = [candidate(0, 7, 5, None), candidate(1, 90, 5, Some(0))];
        assert_eq!(order(&equal), [(1, 90), (0, 7)]);
    }

    #[test]
    fn a_copy_that_readers_see_repeats_one_that_they_see() {
        let mut equal =
            [candidate(0, 1, 1, Some(0)), candidate(0, 2, 2, Some(0)), candidate(0, 3, 3, Some(0))];
        equal[1].copy.visibility = Visibility::Aborted;
        let repeats: Vec<_> = pairs(&equal).iter().map(|pair| (pair.earlier.offset.0, pair.number)).collect();
        assert_eq!(repeats, [(1, 1), (1, 2)]);
    }

    #[test]
    fn a_content_that_is_stored_many_times_is_related_alike_within_any_memory() {
        let topic = |topic| PartitionNote {
            topic,
            partition: 0,
            cluster: ClusterNumber(0),
            directory: String::new(),
            called: None,
            broker_id: None,
            segments: Vec::new(),
            log_start_offset: Offset(0),
            last_stable_offset: Offset(i64::MAX),
            newest_batches: Vec::new(),
            begun_below: Vec::new(),
            aborts: Vec::new(),
            first_unprotected_offset: None,
            old_formats: Vec::new(),
            damaged_bytes: 0,
            snapshots: Vec::new(),
        };
        let partitions = [topic(0), topic(0), topic(1)];
        let copies = |of: u32, count: i64| {
            (0..count).map(move |n| {
                let mut one =
                    candidate(of, n, (n * 7919) % 100, (n % 3 != 0).then_some(u32::from(n % 2 == 0)));
                if n % 5 == 0 {
                    one.copy.visibility = Visibility::Aborted;
                }
                one
            })
        };
        let all: Vec<Candidate> = copies(0, 1500).chain(copies(1, 900)).chain(copies(2, 40)).collect();
        let related = |limit: usize| {
            let share = Share { limit, ..Share::default() };
            let candidates = all.iter().cloned().map(Ok);
            let part =
                group(&partitions, &SessionNotes::default(), Joined::Apart, &share, candidates).unwrap();
            part.pairs.all().map(Result::unwrap).collect::<Vec<_>>()
        };
        let plenty = related(usize::MAX);
        assert_eq!(plenty.len(), 2399 + 39);
        assert!(plenty.iter().all(|pair| pair.source.is_some() == (pair.topic == 0)));
        assert_eq!(related(4096), plenty);
    }
}
