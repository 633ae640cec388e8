//! From candidate records to groups of equal copies, each with its predecessor.

use super::{Candidate, KeyGroup, PartitionNote, RelatedCopy, SessionNote, StoredCopy, level};
use crate::finding::{BusinessKey, Visibility};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Whether copies of one event in two topics are one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// Each topic has groups of its own.
    Apart,
    /// Topics are joined (`--across`).
    Together,
}

/// Groups candidates of each topic by identity and content; what is stored once is left out. They
/// come in their order and are taken one by one, so that no more than the copies of one content are
/// held beside the groups. The groups are in the order of their first surplus copies. Partitions
/// stand in the order of their topics.
///
/// # Errors
/// That of the candidates.
pub fn group<E>(
    partitions: &[PartitionNote],
    sessions: &[SessionNote],
    joined: Joined,
    candidates: impl Iterator<Item = Result<Candidate, E>>,
) -> Result<Vec<KeyGroup>, E> {
    let context = Context { partitions, sessions, joined, ranks: ranks(sessions) };
    let (mut groups, mut equal) = (Vec::new(), Vec::<Candidate>::new());
    for candidate in candidates {
        let mut candidate = candidate?;
        match equal.first() {
            Some(first) if (first.identity, first.content) == (candidate.identity, candidate.content) => {
                // The first one's key stands for all: keys may be long.
                candidate.business_key = BusinessKey::Text { text: String::new() };
            }
            _ => {
                group_equal(&context, &equal, &mut groups);
                equal.clear();
            }
        }
        equal.push(candidate);
    }
    group_equal(&context, &equal, &mut groups);
    Ok(in_order(partitions, groups))
}

/// What the copies are held against.
struct Context<'a> {
    partitions: &'a [PartitionNote],
    sessions: &'a [SessionNote],
    joined: Joined,
    ranks: Vec<usize>,
}

/// One group for each topic that holds these candidates more than once. They have one identity and
/// one content, and the first one has their key. One for all of them where topics are joined.
fn group_equal(context: &Context<'_>, equal: &[Candidate], groups: &mut Vec<KeyGroup>) {
    let topic = |one: &Candidate| place(context.partitions, &one.copy).0;
    let Some(key) = equal.first().map(|first| first.business_key.clone()) else { return };
    if context.joined == Joined::Together {
        if equal.len() > 1 {
            let mut group = relate(context.partitions, &context.ranks, equal);
            // The topic that holds the first copy too many has the finding.
            let surplus = group.copies.iter().find(|copy| copy.repeats.is_some());
            group.topic = surplus.map_or(group.topic, |copy| place(context.partitions, &copy.copy).0);
            group.business_key = key;
            groups.push(group);
        }
        return;
    }
    for of_topic in equal.chunk_by(|a, b| topic(a) == topic(b)).filter(|of_topic| of_topic.len() > 1) {
        let mut group = relate(context.partitions, &context.ranks, of_topic);
        group.business_key = key.clone();
        group.source = source(context.partitions, context.sessions, equal, of_topic);
        groups.push(group);
    }
}

/// Groups equal records of equal batches that one producer session wrote to different topics under
/// the same sequence, where it fits one of them only: copies that no key needs to join.
#[must_use]
pub fn group_across_topics(
    partitions: &[PartitionNote],
    sessions: &[SessionNote],
    mut candidates: Vec<Candidate>,
) -> Vec<KeyGroup> {
    let key = |one: &Candidate| {
        (one.record_set, one.copy.producer_id, one.copy.producer_epoch, one.copy.sequence, one.exact_content)
    };
    candidates.sort_unstable_by_key(|one| (key(one), one.copy.partition, one.copy.offset));
    let topic = |one: &Candidate| place(partitions, &one.copy).0;
    let ranks = ranks(sessions);
    let groups = candidates
        .chunk_by(|a, b| key(a) == key(b))
        .filter(|equal| equal.first().map(topic) != equal.last().map(topic))
        .filter(|equal| equal.iter().any(|one| one.copy.batch.in_sequence))
        .filter_map(|equal| {
            let stray = equal.iter().find(|one| !one.copy.batch.in_sequence)?;
            let mut group = relate(partitions, &ranks, equal);
            // The topic in which a record does not belong is the one that has the finding.
            group.topic = topic(stray);
            Some(group)
        })
        .collect();
    in_order(partitions, groups)
}

/// A record of another topic with the content and the client time of one of these copies, where
/// that topic holds fewer of them: then these were not copied one by one from there. A topic to
/// which a writer of these copies wrote itself is no source: the application writes to both.
fn source(
    partitions: &[PartitionNote],
    sessions: &[SessionNote],
    equal: &[Candidate],
    of_topic: &[Candidate],
) -> Option<Box<StoredCopy>> {
    let topic = |one: &Candidate| place(partitions, &one.copy).0;
    let own = of_topic.first().map(topic);
    // Most events stand in one topic.
    if equal.len() == of_topic.len() {
        return None;
    }
    let written: HashSet<_> =
        of_topic.iter().map(|one| (one.exact_content, one.copy.client_timestamp)).collect();
    let writers: BTreeSet<u32> = of_topic.iter().filter_map(|one| one.copy.session).collect();
    let wrote_to = |wanted: Option<u32>| {
        writers.iter().filter_map(|&at| sessions.get(usize::try_from(at).ok()?)).any(|session| {
            session.spans.iter().any(|span| {
                let note = usize::try_from(span.partition).ok().and_then(|at| partitions.get(at));
                note.map(|note| note.topic) == wanted
            })
        })
    };
    equal
        .chunk_by(|a, b| topic(a) == topic(b))
        .filter(|other| other.first().map(topic) != own && other.len() < of_topic.len())
        .filter(|other| !wrote_to(other.first().map(topic)))
        .find_map(|other| {
            let source = other.iter().find(|one| {
                let time = one.copy.client_timestamp;
                time.is_some() && written.contains(&(one.exact_content, time))
            })?;
            Some(Box::new(source.copy.clone()))
        })
}

/// The place of each session in the order in which sessions began.
fn ranks(sessions: &[SessionNote]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|&at| (sessions[at].first_timestamp(), at));
    let mut ranks = vec![0; sessions.len()];
    for (rank, &at) in order.iter().enumerate() {
        ranks[at] = rank;
    }
    ranks
}

fn in_order(partitions: &[PartitionNote], mut groups: Vec<KeyGroup>) -> Vec<KeyGroup> {
    let first = |group: &KeyGroup| {
        let surplus = group.copies.iter().filter(|copy| copy.repeats.is_some());
        surplus.map(|copy| place(partitions, &copy.copy)).min()
    };
    groups.sort_by_cached_key(first);
    // Keys may be long, so that they are only compared where places do not tell.
    for same_place in groups.chunk_by_mut(|a, b| first(a) == first(b)).filter(|same| same.len() > 1) {
        same_place.sort_by(|a, b| a.business_key.cmp(&b.business_key));
    }
    groups
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

/// Finds for each copy the one that it repeats. `equal` is in order of partition and offset.
///
/// Inside a partition that is the nearest before it; the first of a partition repeats the nearest
/// earlier in time in another one, ties broken by topic, partition and offset. A copy that
/// read_committed consumers see repeats an earlier one that they see, when there is one: an aborted
/// copy in between changes nothing for them.
fn relate(partitions: &[PartitionNote], ranks: &[usize], equal: &[Candidate]) -> KeyGroup {
    let turns = turns(ranks, equal);
    let mut order: Vec<usize> = (0..equal.len()).collect();
    order.sort_by_key(|&at| (turns[at], place(partitions, &equal[at].copy)));
    let mut seen = Seen::default();
    let mut copies = Vec::with_capacity(equal.len());
    for (rank, &at) in order.iter().enumerate() {
        let own = &equal[at].copy;
        let repeats = seen.predecessor(own);
        copies.push(RelatedCopy {
            copy: own.clone(),
            repeats: repeats.and_then(|rank| u32::try_from(rank).ok()),
            level: repeats
                .and_then(|rank| order.get(rank))
                .map(|&earlier| level(&equal[earlier], &equal[at])),
        });
        seen.add(own, rank);
    }
    let topic = equal.first().map_or(0, |one| place(partitions, &one.copy).0);
    let business_key =
        equal.first().map_or(BusinessKey::Text { text: String::new() }, |one| one.business_key.clone());
    KeyGroup { topic, business_key, copies, source: None }
}

/// When it is a copy's turn among those of other partitions: by the time of the write; of two copies
/// of one wire batch the one that is out of its producer's sequence is the stray; and copies with
/// equal times (the time of the event, not of the write) stand in the order in which their sessions
/// began. Nothing says when a writer without producer id began: it comes last, so that no session is
/// said to have repeated it.
type Turn = (i64, bool, usize);

/// The turn of each copy. Offsets order a partition and none of this does, so that inside one a
/// turn never comes before that of an earlier copy.
fn turns(ranks: &[usize], equal: &[Candidate]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::with_capacity(equal.len());
    let mut partition = None;
    for Candidate { copy, .. } in equal {
        let time = copy.client_timestamp.or(copy.timestamp).unwrap_or(i64::MIN);
        let rank = copy.session.and_then(|at| ranks.get(usize::try_from(at).ok()?)).copied();
        let own = (time, !copy.batch.in_sequence, rank.unwrap_or(usize::MAX));
        let before = turns.last().filter(|_| partition == Some(copy.partition));
        turns.push(before.map_or(own, |&before| own.max(before)));
        partition = Some(copy.partition);
    }
    turns
}

/// The latest copies so far, by rank: in each partition and anywhere, of any kind and of those that
/// are not aborted.
#[derive(Default)]
struct Seen {
    inside: BTreeMap<u32, Latest>,
    anywhere: Latest,
}

#[derive(Clone, Copy, Default)]
struct Latest {
    any: Option<usize>,
    visible: Option<usize>,
}

impl Seen {
    fn predecessor(&self, copy: &StoredCopy) -> Option<usize> {
        let inside = self.inside.get(&copy.partition).copied().unwrap_or_default();
        let visible = inside.visible.or(self.anywhere.visible).filter(|_| is_visible(copy));
        visible.or(inside.any).or(self.anywhere.any)
    }

    fn add(&mut self, copy: &StoredCopy, rank: usize) {
        for latest in [self.inside.entry(copy.partition).or_default(), &mut self.anywhere] {
            latest.any = Some(rank);
            if is_visible(copy) {
                latest.visible = Some(rank);
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
    use crate::units::{FilePosition, Offset, ProducerId};

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

    fn order(equal: &[Candidate]) -> Vec<(u32, i64)> {
        let group = relate(&[], &[0, 1], equal);
        group.copies.iter().map(|copy| (copy.copy.partition, copy.copy.offset.0)).collect()
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
        let group = relate(&[], &[0], &equal);
        let repeats: Vec<_> = group.copies.iter().map(|copy| copy.repeats).collect();
        assert_eq!(repeats, [None, Some(0), Some(0)]);
    }
}
