//! Gathers pairs into episodes: ten thousand repeats of one restart are one finding.
//!
//! Pairs belong together when they share the mechanism, the topic and both sessions; writers that
//! were alive at the same time belong together however many they are. Records without producer id
//! have no sessions; there a pause of [`PAUSE_MS`] between two surplus copies begins a new episode.
//! Copied files are one episode a topic, whoever wrote what they hold.

use super::episode::Episode;
use super::pair::Pair;
use crate::finding::Code;
use crate::relations::Relations;
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
    mechanism: impl Fn(&Pair<'_>) -> Option<Code>,
) -> Vec<Episode<'_>> {
    let mut entries = accused(relations, mechanism);
    forgive_returning_states(relations, &mut entries);
    join_the_living(&mut entries);
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
            Writers::Circle(_) | Writers::Files(_) => true,
        }
    }
}

fn accused(relations: &Relations, mechanism: impl Fn(&Pair<'_>) -> Option<Code>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (group_at, group) in relations.groups.iter().enumerate() {
        for (copy_at, related) in group.copies.iter().enumerate() {
            let Some(pair) = Pair::new(relations, group, related) else { continue };
            let Some(code) = mechanism(&pair) else { continue };
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

/// Leaves out copies in a later session whose key had other content since: a state that came back,
/// unless the records beside it came again beside it, as in a stretch that was written anew.
fn forgive_returning_states(relations: &Relations, entries: &mut Vec<Entry>) {
    let steps = |entry: &Entry| {
        let group = relations.groups.get(entry.group)?;
        let pair = Pair::new(relations, group, group.copies.get(entry.copy)?)?;
        let sequences = (pair.earlier.sequence?, pair.later.sequence?);
        Some((pair.earlier.partition, pair.later.partition, sequences, pair.later.behind_other_content))
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

/// How many events two writers share while both are alive, for one that looks like a restart.
const SIDE_BY_SIDE: u64 = 2;

/// Two sessions, the smaller first.
type SessionPair = (Option<u32>, Option<u32>);

/// Two writers that share nearly all of their events while both were alive were so for the rest, too:
/// the first event of the one that began later looks like a restart. All writers
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
        .filter(|(_, (alive, after))| *alive >= after.saturating_mul(SIDE_BY_SIDE))
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

impl Key {
    fn sessions(&self) -> Option<SessionPair> {
        match self.writers {
            Writers::Sessions(earlier, later) => Some((earlier.min(later), earlier.max(later))),
            Writers::Circle(_) | Writers::Files(_) => None,
        }
    }
}

/// Which writers of a topic are joined, directly or by others.
#[derive(Default)]
struct Circles {
    towards: BTreeMap<Option<u32>, Option<u32>>,
}

impl Circles {
    fn join(&mut self, (one, other): SessionPair) {
        let (one, other) = (self.of(one), self.of(other));
        self.towards.insert(one.max(other), one.min(other));
    }

    /// The smallest writer of the circle.
    fn of(&self, writer: Option<u32>) -> Option<u32> {
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
