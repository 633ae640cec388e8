//! Gathers pairs into episodes: ten thousand repeats of one restart are one finding.
//!
//! Pairs belong together when they share the mechanism, the topic and both sessions; writers that
//! were alive at the same time belong together however many they are. Records without producer id
//! have no sessions; there a pause of [`PAUSE_MS`] between two surplus copies begins a new episode.
//! Copied files are one episode a topic, whoever wrote what they hold.

use super::alive::Alive;
use super::episode::Episode;
use super::pair::Pair;
use super::publication::{self, Overlap, Repeat};
use super::recurring;
use crate::finding::{Code, Level};
use crate::relations::{KeyGroup, Relations};
use crate::units::{Offset, Sequence};
use std::collections::{BTreeMap, BTreeSet};

/// Longer than any retry of a producer takes by default (`delivery.timeout.ms` is two minutes), so
/// that two incidents are not told as one.
const PAUSE_MS: i64 = 15 * 60 * 1000;

/// What the pairs of one episode share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    code: Code,
    topic: u32,
    writers: Writers,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Writers {
    /// The sessions of original and copy; `None` without producer id.
    Sessions(Option<u32>, Option<u32>),
    /// Writers that were alive together, by the smallest of them.
    Circle(Option<u32>),
    /// Sessions that repeated each other one after the other, by the smallest of them.
    Loop(Option<u32>),
    /// Whatever copied the files of this topic.
    Files(Option<u32>),
}

/// A pair that is accused: where it is, and when its surplus copy was written.
struct Entry {
    key: Key,
    time: i64,
    group: usize,
    copy: usize,
}

/// All episodes, in the order of code, topic and sessions.
pub(super) fn gather(
    relations: &Relations,
    mechanism: impl Fn(&Pair<'_>, &recurring::Writers) -> Option<Code>,
) -> Vec<Episode<'_>> {
    let mut entries = accused(relations, mechanism);
    forgive_returning_states(relations, &mut entries);
    see_elsewhere(relations, &mut entries);
    join_the_living(&mut entries);
    forgive_publications(relations, &mut entries);
    join_loops(&mut entries);
    widen_retries(relations, &mut entries);
    doubt_long_retries(relations, &mut entries);
    entries.sort_by_key(|entry| (entry.key, entry.time, entry.group, entry.copy));
    entries
        .chunk_by(|a, b| a.key == b.key && (a.key.is_one() || b.time.saturating_sub(a.time) <= PAUSE_MS))
        .map(|of_episode| {
            let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for entry in of_episode {
                groups.entry(entry.group).or_default().push(entry.copy);
            }
            for copies in groups.values_mut() {
                copies.sort_unstable();
            }
            let key = of_episode.first().map(|entry| entry.key);
            let (code, topic) = key.map_or((Code::DuplicateUndetermined, 0), |key| (key.code, key.topic));
            Episode::new(relations, code, topic, groups)
        })
        .collect()
}

impl Key {
    fn is_one(&self) -> bool {
        match self.writers {
            Writers::Sessions(earlier, later) => earlier.is_some() && later.is_some(),
            Writers::Circle(_) | Writers::Loop(_) | Writers::Files(_) => true,
        }
    }
}

fn accused(
    relations: &Relations,
    mechanism: impl Fn(&Pair<'_>, &recurring::Writers) -> Option<Code>,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (group_at, group) in relations.groups.iter().enumerate() {
        let by_writer = recurring::Writers::of(group);
        for (copy_at, related) in group.copies.iter().enumerate() {
            let Some(pair) = Pair::new(relations, group, related) else { continue };
            let Some(code) = mechanism(&pair, &by_writer) else { continue };
            let writers = match code {
                Code::RestoredCopy => Writers::Files(pair.partition(pair.earlier).map(|note| note.topic)),
                _ => Writers::Sessions(pair.earlier.session, pair.later.session),
            };
            entries.push(Entry {
                key: Key { code, topic: group.topic, writers },
                time: related.copy.timestamp.unwrap_or(i64::MIN),
                group: group_at,
                copy: copy_at,
            });
        }
    }
    entries
}

/// A client repeats what it has in flight: five batches by default, more where somebody raised that.
/// A longer row of batches that came again in its old order was read and written anew, by a restart
/// or a pipeline that keeps times.
const IN_FLIGHT: usize = 10;

/// Takes the word "retry" back from rows of batches that no client holds in flight.
fn doubt_long_retries(relations: &Relations, entries: &mut [Entry]) {
    let mut batches: BTreeMap<(u32, Offset), Offset> = BTreeMap::new();
    let place = |entry: &Entry| {
        let group = relations.groups.get(entry.group)?;
        let pair = Pair::new(relations, group, group.copies.get(entry.copy)?)?;
        Some(((pair.later.partition, pair.later.batch.base_offset), pair.earlier.batch.base_offset))
    };
    let is_retry = |entry: &&Entry| entry.key.code == Code::RetryWithoutIdempotence;
    batches.extend(entries.iter().filter(is_retry).filter_map(place));
    let copies: Vec<((u32, Offset), Offset)> = batches.into_iter().collect();
    let long: BTreeSet<(u32, Offset)> = copies
        .chunk_by(|a, b| a.0.0 == b.0.0 && a.1 < b.1 && b.1 < a.0.1)
        .filter(|row| row.len() > IN_FLIGHT)
        .flatten()
        .map(|(copy, _)| *copy)
        .collect();
    for entry in entries.iter_mut().filter(|entry| entry.key.code == Code::RetryWithoutIdempotence) {
        if place(entry).is_some_and(|(copy, _)| long.contains(&copy)) {
            let has_source = relations.groups.get(entry.group).is_some_and(|group| group.source.is_some());
            entry.key.code = if has_source { Code::PipelineReplay } else { Code::DuplicateUndetermined };
        }
    }
}

/// Leaves out the lists that a job publishes as a whole at each run.
fn forgive_publications(relations: &Relations, entries: &mut Vec<Entry>) {
    let repeat = |entry: &Entry| -> Option<Repeat> {
        match entry.key.writers {
            Writers::Sessions(Some(earlier), Some(later)) if entry.key.code == Code::ResendNewSession => {
                Some((entry.key.topic, earlier, later))
            }
            Writers::Sessions(..) | Writers::Circle(_) | Writers::Loop(_) | Writers::Files(_) => None,
        }
    };
    let mut by_sessions: BTreeMap<Repeat, Vec<(usize, usize)>> = BTreeMap::new();
    for entry in entries.iter() {
        if let Some(repeat) = repeat(entry) {
            by_sessions.entry(repeat).or_default().push((entry.group, entry.copy));
        }
    }
    let overlap = |copies: Vec<(usize, usize)>| {
        let pairs = copies.iter().filter_map(|&(group, copy)| {
            let group = relations.groups.get(group)?;
            Pair::new(relations, group, group.copies.get(copy)?)
        });
        (Overlap::of(pairs), copies.iter().map(|&(group, _)| group).collect())
    };
    let repeats = by_sessions.into_iter().map(|(repeat, copies)| (repeat, overlap(copies))).collect();
    let published = publication::published(relations, &repeats);
    entries.retain(|entry| repeat(entry).is_none_or(|repeat| !published.contains(&repeat)));
}

/// Leaves out copies in a later session that are no copies by themselves: the key had other content
/// since, so a state came back; or no key tells events apart and the content comes up in session after
/// session, as typed tests and statuses do. Unless the records beside it came again beside it, as in a
/// stretch that was written anew.
fn forgive_returning_states(relations: &Relations, entries: &mut Vec<Entry>) {
    let steps = |entry: &Entry| {
        let group = relations.groups.get(entry.group)?;
        let pair = Pair::new(relations, group, group.copies.get(entry.copy)?)?;
        let sequences = (pair.earlier.sequence?, pair.later.sequence?);
        let comes_up = || pair.level > Level::E3 && pair.is_by_content() && recurs(group);
        let alone = pair.later.behind_other_content || comes_up();
        Some((pair.earlier.partition, pair.later.partition, sequences, alone))
    };
    let is_resend = |entry: &Entry| entry.key.code == Code::ResendNewSession;
    let places: BTreeSet<(u32, u32, (Sequence, Sequence))> = entries
        .iter()
        .filter(|entry| is_resend(entry))
        .filter_map(steps)
        .map(|(a, b, c, _)| (a, b, c))
        .collect();
    entries.retain(|entry| {
        let Some((earlier, later, (first, second), true)) = steps(entry).filter(|_| is_resend(entry)) else {
            return true;
        };
        let beside = [(first.back(1), second.back(1)), (first.advance(1), second.advance(1))];
        beside.into_iter().any(|sequences| places.contains(&(earlier, later, sequences)))
    });
}

/// Sessions in which one content comes up, for more than a mistake.
const SESSIONS: usize = 4;

fn recurs(group: &KeyGroup) -> bool {
    let mut sessions = BTreeSet::new();
    // Not counted to the end: a content may be stored a million times.
    group.copies.iter().filter_map(|copy| copy.copy.session).any(|session| {
        sessions.insert(session);
        sessions.len() >= SESSIONS
    })
}

/// Takes the word "restart" back where another partition shows both writers alive.
fn see_elsewhere(relations: &Relations, entries: &mut [Entry]) {
    let pair = |entry: &Entry| {
        let group = relations.groups.get(entry.group)?;
        Pair::new(relations, group, group.copies.get(entry.copy)?)
    };
    let alive = Alive::of(entries.iter().filter_map(pair));
    for entry in entries.iter_mut().filter(|entry| entry.key.code == Code::ResendNewSession) {
        if pair(entry).is_some_and(|pair| alive.shows(&pair)) {
            entry.key.code = Code::ConcurrentProducers;
        }
    }
}

/// How far the second of two instances may be behind when it begins: so many of its first events look
/// like those of a restart.
const BEHIND: u64 = 3;

/// Two sessions, the smaller first.
pub(super) type SessionPair = (Option<u32>, Option<u32>);

/// Two writers that share at least as many events while both were alive as before one of them is seen were
/// alive for those, too: the first events of the one that began later look like a restart. All writers
/// of a topic that are joined in this way make one episode.
fn join_the_living(entries: &mut [Entry]) {
    let mut counts: BTreeMap<SessionPair, (u64, u64)> = BTreeMap::new();
    for entry in entries.iter() {
        if let Some(sessions) = entry.key.sessions() {
            match entry.key.code {
                Code::ConcurrentProducers => counts.entry(sessions).or_default().0 += 1,
                Code::ResendNewSession => counts.entry(sessions).or_default().1 += 1,
                _ => {}
            }
        }
    }
    let alive: BTreeSet<SessionPair> = counts
        .into_iter()
        .filter(|(_, (alive, after))| alive >= after || (*after <= BEHIND && *alive >= BEHIND))
        .map(|(pair, _)| pair)
        .collect();
    let mut circles: BTreeMap<u32, Circles> = BTreeMap::new();
    for entry in entries.iter_mut() {
        let Some(sessions) = entry.key.sessions() else { continue };
        if entry.key.code == Code::ResendNewSession && alive.contains(&sessions) {
            entry.key.code = Code::ConcurrentProducers;
        }
        if entry.key.code == Code::ConcurrentProducers {
            circles.entry(entry.key.topic).or_default().join(sessions);
        }
    }
    for entry in entries.iter_mut().filter(|entry| entry.key.code == Code::ConcurrentProducers) {
        if let (Some((one, _)), Some(circles)) = (entry.key.sessions(), circles.get(&entry.key.topic)) {
            entry.key.writers = Writers::Circle(circles.of(one));
        }
    }
}

/// Restarts in a row, each repeating what the one before had repeated, that make one incident.
const LOOP: usize = 3;

/// Joins the restarts of a crash loop: session after session repeats the same events. Two restarts are
/// two incidents, and so are restarts that repeat different events.
fn join_loops(entries: &mut [Entry]) {
    let mut repeated: BTreeMap<(u32, u32, u32), BTreeSet<usize>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.key.code == Code::ResendNewSession) {
        if let Writers::Sessions(Some(earlier), Some(later)) = entry.key.writers {
            repeated.entry((entry.key.topic, earlier, later)).or_default().insert(entry.group);
        }
    }
    let mut loops: BTreeMap<u32, Circles> = BTreeMap::new();
    let mut links: BTreeMap<(u32, Option<u32>), usize> = BTreeMap::new();
    for (&(topic, earlier, later), groups) in &repeated {
        for ((_, _, next), others) in repeated.range((topic, later, 0)..=(topic, later, u32::MAX)) {
            let shared = groups.intersection(others).count();
            if shared.saturating_mul(2) >= groups.len().min(others.len()).max(1) {
                let circles = loops.entry(topic).or_default();
                circles.join((Some(earlier), Some(later)));
                circles.join((Some(later), Some(*next)));
            }
        }
    }
    let of = |topic: u32, session: u32| loops.get(&topic).map(|circles| circles.of(Some(session)));
    for &(topic, earlier, _) in repeated.keys() {
        if let Some(circle) = of(topic, earlier) {
            *links.entry((topic, circle)).or_default() += 1;
        }
    }
    for entry in entries.iter_mut().filter(|entry| entry.key.code == Code::ResendNewSession) {
        let Writers::Sessions(Some(earlier), Some(later)) = entry.key.writers else { continue };
        let circle =
            of(entry.key.topic, earlier).filter(|circle| of(entry.key.topic, later) == Some(*circle));
        if let Some(circle) = circle
            && links.get(&(entry.key.topic, circle)).is_some_and(|links| *links >= LOOP)
        {
            entry.key.writers = Writers::Loop(circle);
        }
    }
}

/// A surplus copy without producer id of which the client's time is that of the earlier one.
struct Unprotected {
    at: usize,
    partition: u32,
    earlier: Offset,
    later: Offset,
    batch: Offset,
    /// Whether the batch came again as it was, with several records: borders that no chance brings.
    is_proof: bool,
}

/// Takes records that came again in other batches for part of a retry, where they stand beside batches
/// that came again as they were: a client that queues its messages again (librdkafka) cuts some batches
/// anew. The whole run must fit into what a client has in flight, and its originals must stand together.
fn widen_retries(relations: &Relations, entries: &mut [Entry]) {
    let unprotected = |(at, entry): (usize, &Entry)| {
        let group = relations.groups.get(entry.group)?;
        let pair = Pair::new(relations, group, group.copies.get(entry.copy)?)?;
        let is_retry = entry.key.code == Code::RetryWithoutIdempotence;
        let may_be = entry.key.code == Code::DuplicateUndetermined && pair.level <= Level::E3;
        let bare = !pair.earlier.producer_id.is_protected() && !pair.later.producer_id.is_protected();
        (bare && pair.same_partition() && (is_retry || may_be)).then_some(Unprotected {
            at,
            partition: pair.later.partition,
            earlier: pair.earlier.offset,
            later: pair.later.offset,
            batch: pair.later.batch.base_offset,
            is_proof: is_retry && pair.later.batch.records > 1,
        })
    };
    let mut copies: Vec<Unprotected> = entries.iter().enumerate().filter_map(unprotected).collect();
    copies.sort_by_key(|copy| (copy.partition, copy.later));
    let mut retried = Vec::new();
    for run in copies.chunk_by(|a, b| a.partition == b.partition && a.later.next() == b.later) {
        let batches: BTreeSet<Offset> = run.iter().map(|copy| copy.batch).collect();
        let originals: BTreeSet<Offset> = run.iter().map(|copy| copy.earlier).collect();
        let span =
            originals.first().zip(originals.last()).map(|(first, last)| last.0.saturating_sub(first.0));
        let together = span.and_then(|span| usize::try_from(span).ok()).is_some_and(|span| span < run.len());
        if together && batches.len() <= IN_FLIGHT && run.iter().any(|copy| copy.is_proof) {
            retried.extend(run.iter().map(|copy| copy.at));
        }
    }
    for at in retried {
        if let Some(entry) = entries.get_mut(at) {
            entry.key.code = Code::RetryWithoutIdempotence;
        }
    }
}

impl Key {
    fn sessions(&self) -> Option<SessionPair> {
        match self.writers {
            Writers::Sessions(earlier, later) => Some((earlier.min(later), earlier.max(later))),
            Writers::Circle(_) | Writers::Loop(_) | Writers::Files(_) => None,
        }
    }
}

/// Which writers of a topic are joined, directly or by others.
#[derive(Default)]
pub(super) struct Circles {
    towards: BTreeMap<Option<u32>, Option<u32>>,
}

impl Circles {
    pub(super) fn join(&mut self, (one, other): SessionPair) {
        let (one, other) = (self.of(one), self.of(other));
        self.towards.insert(one.max(other), one.min(other));
    }

    /// The smallest writer of the circle.
    pub(super) fn of(&self, writer: Option<u32>) -> Option<u32> {
        let mut at = writer;
        while let Some(&next) = self.towards.get(&at) {
            if next == at {
                break;
            }
            at = next;
        }
        at
    }
}
