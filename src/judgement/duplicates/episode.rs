//! The surplus copies of one incident: what can be said of them, and the finding that they make.

use super::pair::{self, Pair};
use super::{Examples, Words, restored};
use crate::finding::phrase::{offsets, range};
use crate::finding::{Cause, Code, Copy, Counts, Finding, Group, Level, TopicPartition, Visibility, Window};
use crate::relations::{KeyGroup, Relations, SessionNote, StoredCopy};
use std::collections::{BTreeMap, BTreeSet};

/// Surplus copies of one event that a report lists: a key may be stored ten million times.
const COPIES: usize = 100;

/// Partitions that are told one by one.
const PARTITIONS: usize = 4;

/// The surplus copies of one incident.
pub(super) struct Episode<'r> {
    pub(super) relations: &'r Relations,
    pub(super) code: Code,
    pub(super) topic: u32,
    pub(super) earlier_session: Option<&'r SessionNote>,
    pub(super) later_session: Option<&'r SessionNote>,
    /// By group: the copies that this episode explains, in their order.
    groups: BTreeMap<usize, Vec<usize>>,
}

impl<'r> Episode<'r> {
    /// Puts the pairs of one incident together; `groups` has the copies by group.
    pub(super) fn new(
        relations: &'r Relations,
        code: Code,
        topic: u32,
        groups: BTreeMap<usize, Vec<usize>>,
    ) -> Self {
        let mut episode = Self { relations, code, topic, earlier_session: None, later_session: None, groups };
        let first = episode.pairs().next();
        episode.earlier_session = first.as_ref().and_then(Pair::earlier_session);
        episode.later_session = first.as_ref().and_then(Pair::later_session);
        episode
    }

    /// The same episode with the surplus copies of which `keeps` says so.
    pub(super) fn only(&self, keeps: impl Fn(&StoredCopy) -> bool) -> Self {
        let kept = |group: usize, copies: &[usize]| -> Vec<usize> {
            let Some(group) = self.relations.groups.get(group) else { return Vec::new() };
            let keeps = |at: &usize| group.copies.get(*at).is_some_and(|related| keeps(&related.copy));
            copies.iter().copied().filter(keeps).collect()
        };
        let groups = self.groups.iter().map(|(&group, copies)| (group, kept(group, copies)));
        let groups = groups.filter(|(_, copies)| !copies.is_empty()).collect();
        Self { groups, ..*self }
    }

    /// All sessions that wrote originals or copies, in the order of their names' numbers.
    pub(super) fn sessions(&self) -> Vec<&'r SessionNote> {
        let indexes: BTreeSet<u32> =
            self.pairs().flat_map(|p| [p.earlier.session, p.later.session]).flatten().collect();
        indexes.into_iter().filter_map(|at| self.relations.sessions.get(usize::try_from(at).ok()?)).collect()
    }

    /// The surplus copies with their predecessors.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Pair<'r>> {
        let relations = self.relations;
        self.groups
            .iter()
            .filter_map(|(&group, copies)| relations.groups.get(group).zip(Some(copies)))
            .flat_map(move |(group, copies)| {
                copies.iter().filter_map(move |&at| Pair::new(relations, group, group.copies.get(at)?))
            })
    }

    /// How many events have such copies.
    pub(super) fn groups_count(&self) -> usize {
        self.groups.len()
    }

    /// How many surplus copies there are.
    pub(super) fn surplus(&self) -> usize {
        self.groups.values().map(Vec::len).sum()
    }

    pub(super) fn topic_name(&self) -> &'r str {
        let topic = usize::try_from(self.topic).ok().and_then(|at| self.relations.topics.get(at));
        topic.map_or("", |topic| &topic.name)
    }

    /// How many different events stand in a row: surplus copies behind each other repeat originals
    /// in their order. A stretch that was written again shows long rows; single events that happen
    /// to be equal do not.
    pub(super) fn longest_row(&self) -> usize {
        let mut pairs: Vec<(u32, i64, u32, i64)> = self
            .pairs()
            .map(|p| (p.later.partition, p.later.offset.0, p.earlier.partition, p.earlier.offset.0))
            .collect();
        pairs.sort_unstable();
        let follows = |a: &(u32, i64, u32, i64), b: &(u32, i64, u32, i64)| {
            // A chain in which each copy repeats the one before is one event many times.
            a.0 == b.0 && a.2 == b.2 && a.3 < b.3 && (b.2, b.3) != (a.0, a.1)
        };
        pairs.chunk_by(follows).map(<[_]>::len).max().unwrap_or(0)
    }

    /// Whether the topic's events are told by their whole content, which nobody asked for: then equal
    /// events of an application cannot be told from copies.
    pub(super) fn is_by_content(&self) -> bool {
        let topic = usize::try_from(self.topic).ok().and_then(|at| self.relations.topics.get(at));
        topic.is_some_and(|topic| topic.identity == "content")
    }

    /// The weakest level.
    pub(super) fn level(&self) -> Option<Level> {
        self.pairs().map(|pair| pair.level).max()
    }

    /// Whether all pairs satisfy a condition.
    pub(super) fn all(&self, condition: impl Fn(&Pair<'_>) -> bool) -> bool {
        self.pairs().all(|pair| condition(&pair))
    }

    /// How many pairs satisfy a condition.
    pub(super) fn count(&self, condition: impl Fn(&Pair<'_>) -> bool) -> usize {
        self.pairs().filter(condition).count()
    }

    /// The longest time between two copies, by the clients' clocks.
    pub(super) fn longest_delay_ms(&self) -> Option<i64> {
        self.pairs().filter_map(|p| p.later.client_timestamp?.checked_sub(p.earlier.client_timestamp?)).max()
    }

    /// Offsets of the surplus copies or of what they repeat, by partition: `orders-0 offsets 40–59`.
    pub(super) fn stretches(&self, which: impl Fn(&Pair<'r>) -> &'r StoredCopy) -> String {
        let mut places: BTreeMap<u32, BTreeSet<i64>> = BTreeMap::new();
        for pair in self.pairs() {
            let copy = which(&pair);
            places.entry(copy.partition).or_default().insert(copy.offset.0);
        }
        let mut parts: Vec<String> = places
            .iter()
            .take(PARTITIONS)
            .map(|(&at, offsets)| {
                let name =
                    pair::partition(self.relations, at).map_or_else(String::new, |n| n.directory.clone());
                format!("{name} {}", offsets_in_words(offsets))
            })
            .collect();
        match places.len().saturating_sub(PARTITIONS) {
            0 => {}
            1 => parts.push("1 more partition".to_owned()),
            more => parts.push(format!("{more} more partitions")),
        }
        parts.join(", ")
    }

    /// Which originals came again where, by the partitions of both: `orders-0 offsets 40–59 came again
    /// at offsets 60–79`.
    pub(super) fn moves(&self) -> String {
        let mut places: BTreeMap<(u32, u32), Vec<(i64, i64)>> = BTreeMap::new();
        for pair in self.pairs() {
            let (earlier, later) = (pair.earlier, pair.later);
            let moved = places.entry((earlier.partition, later.partition)).or_default();
            moved.push((later.offset.0, earlier.offset.0));
        }
        let name =
            |at: u32| pair::partition(self.relations, at).map_or_else(String::new, |n| n.directory.clone());
        let all = places.len();
        // One line more would only say that one is left out.
        let most = if all == PARTITIONS + 1 { all } else { PARTITIONS };
        let mut parts: Vec<String> = places
            .into_iter()
            .take(most)
            .map(|((from, to), mut moved)| {
                moved.sort_unstable();
                let to_name = if from == to { String::new() } else { format!("{} ", name(to)) };
                moved_in_words(&name(from), &to_name, &moved)
            })
            .collect();
        if all > most {
            parts.push(format!("{} more pairs of partitions", all - most));
        }
        parts.join("; ")
    }

    /// The finding of this episode.
    pub(super) fn finding(&self, mut words: Words, examples: Examples) -> Finding {
        words.facts.extend(self.hidden());
        let hidden = self.code != Code::AbortedThenRetried && self.all(|pair| !self.is_committed(pair.later));
        if hidden {
            words.title.push_str("; read_committed consumers do not see the later copies");
        }
        let limit = match examples {
            Examples::AtMost(limit) => limit,
            Examples::All => usize::MAX,
        };
        let mut partitions = BTreeSet::new();
        let (mut first_time, mut last_time) = (None::<i64>, None::<i64>);
        for pair in self.pairs() {
            let note = pair.partition(pair.later);
            partitions.extend(note.map(|note| (self.relations.place(pair.later).topic, note.partition)));
            if let Some(time) = pair.later.timestamp {
                first_time = Some(first_time.map_or(time, |first| first.min(time)));
                last_time = Some(last_time.map_or(time, |last| last.max(time)));
            }
        }
        // Several where topics are joined; the one with the finding comes first.
        let mut topics = vec![self.topic_name().to_owned()];
        for (topic, _) in &partitions {
            if !topics.contains(topic) && !topic.is_empty() {
                topics.push(topic.clone());
            }
        }
        let (unlisted, unlisted_seen) = match self.code {
            Code::RestoredCopy => restored::unlisted(self),
            _ => (0, 0),
        };
        let surplus_committed =
            self.groups.iter().map(|(&group, copies)| self.surplus_committed(group, copies)).sum::<u64>();
        let groups = self
            .groups
            .iter()
            .take(limit)
            .filter_map(|(&g, copies)| self.group(g, copies, examples))
            .collect();
        Finding {
            id: String::new(),
            code: self.code,
            severity: self.code.severity(),
            confidence: words.confidence,
            title: words.title,
            topics,
            partitions: partitions
                .into_iter()
                .map(|(topic, partition)| TopicPartition { topic, partition })
                .collect(),
            counts: Counts {
                groups: count(self.groups.len()) + unlisted,
                surplus_records: count(self.surplus()) + unlisted,
                surplus_committed: surplus_committed + unlisted_seen,
            },
            window: Some(Window::new(first_time, last_time)),
            level: self.level(),
            // What led to something that is only possible is no surer than that.
            cause: words
                .cause
                .map(|cause| Cause { confidence: cause.confidence.min(words.confidence), ..cause }),
            facts: words.facts,
            alternatives: words.alternatives,
            would_settle: words.would_settle,
            advice: words.advice,
            groups,
            groups_omitted: count(self.groups.len().saturating_sub(limit)) + unlisted,
            ..Finding::empty(self.code)
        }
    }

    /// The copies of a group that this finding is about: the predecessor of the first one, then
    /// the surplus copies.
    fn members(&self, group: &'r KeyGroup, copies: &[usize]) -> Vec<(&'r StoredCopy, Option<Pair<'r>>)> {
        let first = copies.first().and_then(|&at| Pair::new(self.relations, group, group.copies.get(at)?));
        let mut members: Vec<_> = first.map(|pair| (pair.earlier, None)).into_iter().collect();
        for related in copies.iter().filter_map(|&at| group.copies.get(at)) {
            members.push((&related.copy, Pair::new(self.relations, group, related)));
        }
        members
    }

    fn surplus_committed(&self, group: usize, copies: &[usize]) -> u64 {
        let Some(group) = self.relations.groups.get(group) else { return 0 };
        let surplus = copies.iter().filter_map(|&at| group.copies.get(at));
        let visible = surplus.filter(|related| self.is_committed(&related.copy)).count();
        let first = self.members(group, copies.get(..1).unwrap_or_default());
        let original = first.first().is_some_and(|(copy, _)| self.is_committed(copy));
        count((visible + usize::from(original)).saturating_sub(1))
    }

    fn is_committed(&self, copy: &StoredCopy) -> bool {
        let stable = pair::partition(self.relations, copy.partition).map(|note| note.last_stable_offset);
        copy.visibility.counts_when_committed() && stable.is_some_and(|stable| copy.offset < stable)
    }

    fn group(&self, group: usize, copies: &[usize], examples: Examples) -> Option<Group> {
        let group = self.relations.groups.get(group)?;
        let limit = match examples {
            Examples::AtMost(_) => COPIES,
            Examples::All => usize::MAX,
        };
        let shown = copies.get(..limit).unwrap_or(copies);
        let members = self.members(group, shown);
        Some(Group {
            business_key: group.business_key.clone(),
            copies: members.into_iter().map(|(copy, pair)| self.copy(copy, pair)).collect(),
            copies_omitted: count(copies.len().saturating_sub(shown.len())),
        })
    }

    fn copy(&self, copy: &StoredCopy, pair: Option<Pair<'_>>) -> Copy {
        Copy {
            level: pair.as_ref().map(|pair| pair.level),
            repeats: pair.map(|pair| self.relations.place(pair.earlier)),
            ..self.relations.told(copy)
        }
    }

    /// How many surplus copies read_committed consumers do not see, in words; nothing where they see
    /// all.
    fn hidden(&self) -> Option<String> {
        let all = self.surplus();
        let aborted = self.count(|pair| pair.later.visibility == Visibility::Aborted);
        let hidden = self.count(|pair| !self.is_committed(pair.later));
        if hidden == 0 {
            return None;
        }
        Some(if aborted == hidden {
            format!(
                "{aborted} of {all} surplus copies are in aborted transactions, hidden from read_committed consumers"
            )
        } else {
            format!(
                "{hidden} of {all} surplus copies are hidden from read_committed consumers (aborted, or at or behind an open transaction)"
            )
        })
    }
}

/// Runs of offsets that are told one by one.
const RUNS: usize = 3;

/// The first and the last offset of each run without holes.
fn runs_of(all: &BTreeSet<i64>) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &offset in all {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == offset => *last = offset,
            _ => runs.push((offset, offset)),
        }
    }
    runs
}

/// `offset 7`, `offsets 7–10`, `offsets 7–8 and 10`, `12 offsets between 7 and 90`.
fn offsets_in_words(all: &BTreeSet<i64>) -> String {
    let runs = runs_of(all);
    match (runs.as_slice(), all.first().zip(all.last())) {
        (&[(first, last)], _) => offsets(first, last),
        (runs, _) if runs.len() <= RUNS => {
            let told: Vec<String> = runs.iter().map(|&(first, last)| range(first, last)).collect();
            match told.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("offsets {} and {last}", rest.join(", ")),
                _ => format!("offsets {}", told.join(", ")),
            }
        }
        (_, Some((first, last))) => format!("{} offsets between {first} and {last}", all.len()),
        (_, None) => String::new(),
    }
}

/// Pairs of offsets that are told one by one.
const PAIRS: usize = 4;

/// Copies of one partition in another or in the same; `moved` has each copy with its original, in order.
fn moved_in_words(from: &str, to: &str, moved: &[(i64, i64)]) -> String {
    let originals: BTreeSet<i64> = moved.iter().map(|one| one.1).collect();
    let copies: BTreeSet<i64> = moved.iter().map(|one| one.0).collect();
    if moved.len() == 1 || (runs_of(&originals).len() <= RUNS && runs_of(&copies).len() <= RUNS) {
        return format!(
            "{from} {} came again at {to}{}",
            offsets_in_words(&originals),
            offsets_in_words(&copies)
        );
    }
    let pair = |one: &(i64, i64)| format!("{}/{}", one.1, one.0);
    let mut told: Vec<String> = moved.iter().take(PAIRS).map(pair).collect();
    let last = moved.last().map(pair).unwrap_or_default();
    match moved.len() {
        few if few <= PAIRS => {}
        few if few == PAIRS + 1 => told.push(last),
        _ => told.push(format!("… {last}")),
    }
    let to = if to.is_empty() { String::new() } else { format!(" to {}", to.trim_end()) };
    format!("{} pairs of original and copy from {from}{to}, offsets {}", moved.len(), told.join(", "))
}

pub(super) fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_told_as_runs_and_never_as_more_than_there_are() {
        let told = |offsets: &[i64]| offsets_in_words(&offsets.iter().copied().collect());
        assert_eq!(told(&[7]), "offset 7");
        assert_eq!(told(&[7, 8, 9]), "offsets 7–9");
        assert_eq!(told(&[7, 8, 10]), "offsets 7–8 and 10");
        assert_eq!(told(&[1, 3, 5, 7, 8]), "5 offsets between 1 and 8");
    }

    #[test]
    fn copies_are_told_with_the_originals_that_they_repeat() {
        let told = |to: &str, moved: &[(i64, i64)]| moved_in_words("a-0", to, moved);
        assert_eq!(told("", &[(8, 4), (9, 5)]), "a-0 offsets 4–5 came again at offsets 8–9");
        assert_eq!(told("a-4 ", &[(0, 4)]), "a-0 offset 4 came again at a-4 offset 0");
        let neighbours: Vec<(i64, i64)> = (0..8).map(|at| (5 + 6 * at, 4 + 6 * at)).collect();
        assert_eq!(
            told("", &neighbours),
            "8 pairs of original and copy from a-0, offsets 4/5, 10/11, 16/17, 22/23, … 46/47"
        );
    }
}
