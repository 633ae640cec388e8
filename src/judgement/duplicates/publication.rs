//! Whole lists that every run of a job publishes: equal records in session after session, none of
//! which is surplus.
//!
//! A restart reads its input again from some position on, and then everything behind it: the later
//! session begins with what is repeated, and leaves out nothing that the earlier one wrote behind the
//! first repeated record. A publication writes its list from the beginning at each run, and the news of
//! one run are not those of the next: records of the earlier session that stand between or behind the
//! repeated ones never come again, although the later session went on. Two runs may be an accident of
//! one input among several; three and more that all hold the same list are a habit.

use super::gather::Circles;
use super::pair::{self, Pair};
use super::phrase;
use crate::relations::{Relations, SessionNote, SessionSpan, StoredCopy};
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};

/// What a later session repeats of an earlier one in one topic.
#[derive(Default)]
pub(super) struct Overlap {
    /// By partition: the originals, and the copies.
    originals: Places,
    copies: Places,
}

/// Stretches by partition, ascending; of most sessions there is one.
#[derive(Default)]
struct Places(Vec<(u32, Stretch)>);

impl Places {
    fn get(&self, partition: u32) -> Option<&Stretch> {
        let at = self.0.binary_search_by_key(&partition, |(at, _)| *at).ok()?;
        self.0.get(at).map(|(_, stretch)| stretch)
    }

    /// The stretch of a partition that is not below those before.
    fn last(&mut self, partition: u32, offset: Offset) -> Option<&mut Stretch> {
        if self.0.last().is_none_or(|(at, _)| *at != partition) {
            if self.0.is_empty() {
                self.0.reserve_exact(1);
            }
            self.0.push((partition, Stretch { first: offset, last: offset, records: 0 }));
        }
        self.0.last_mut().map(|(_, stretch)| stretch)
    }
}

/// Records of one partition.
#[derive(Clone, Copy)]
struct Stretch {
    first: Offset,
    last: Offset,
    records: u64,
}

/// What tells a publication from a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct News {
    /// Records of the earlier session that stand between or behind those that came again, and did not
    /// come again themselves although the later session went on.
    pub(super) left_out: u64,
    /// Records that the later session wrote before the first one that it repeated.
    pub(super) before: u64,
}

impl News {
    /// In words.
    pub(super) fn facts(self) -> impl Iterator<Item = String> {
        let left_out = (self.left_out > 0).then(|| {
            format!(
                "{} of the earlier session behind the first repeated one did not come again, although the later session wrote on",
                records(self.left_out)
            )
        });
        let before = (self.before > 0).then(|| {
            format!("the later session wrote {} before the first one that it repeated", records(self.before))
        });
        left_out.into_iter().chain(before)
    }
}

fn records(count: u64) -> String {
    phrase::records(usize::try_from(count).unwrap_or(usize::MAX))
}

impl Overlap {
    /// That of some pairs.
    pub(super) fn of<'r>(relations: &Relations, pairs: impl Iterator<Item = Pair<'r>>) -> Self {
        let place = |which: i64, copy: &StoredCopy| [which, copy.partition.into(), copy.offset.0];
        let places = pairs.flat_map(|pair| [place(0, &pair.earlier), place(1, &pair.later)]);
        let mut overlap = Self::default();
        for [which, partition, offset] in relations.groups.sorted(places) {
            overlap.add(which, u32::try_from(partition).unwrap_or(u32::MAX), offset);
        }
        overlap
    }

    /// Adds an original (0) or a copy (1), in the order of partitions and offsets.
    pub(super) fn add(&mut self, which: i64, partition: u32, offset: i64) {
        let places = if which == 0 { &mut self.originals } else { &mut self.copies };
        let offset = Offset(offset);
        let Some(stretch) = places.last(partition, offset) else { return };
        // One record may be repeated, or repeat, several times.
        if stretch.records == 0 || stretch.last != offset {
            stretch.last = offset;
            stretch.records += 1;
        }
    }

    /// The news that stand beside a list which came again from its beginning on. All bounds are those
    /// that speak for a restart: offsets in between may be those of others, and of markers.
    pub(super) fn news(
        &self,
        relations: &Relations,
        topic: u32,
        earlier: &SessionNote,
        later: &SessionNote,
    ) -> Option<News> {
        // What the log start has passed may have come again, too.
        let deleted = |partition: u32| {
            let note = pair::partition(relations, partition)?;
            let span = earlier.span(partition)?;
            Some(distance(span.first_offset, note.log_start_offset.min(span.last_offset.next())))
        };
        let (mut went_on, mut before) = (0_u64, 0_u64);
        for span in spans(relations, topic, later) {
            let Some(here) = self.copies.get(span.partition) else {
                went_on += span.records;
                continue;
            };
            went_on += span.records.saturating_sub(distance(span.first_offset, here.last) + 1);
            let ahead = span.records.saturating_sub(distance(here.first, span.last_offset) + 1);
            before += ahead.saturating_sub(deleted(span.partition).unwrap_or(0));
        }
        let (mut records, mut ahead, mut left_out) = (0_u64, 0_u64, 0_u64);
        for span in spans(relations, topic, earlier) {
            records += span.records;
            let Some(here) = self.originals.get(span.partition) else { continue };
            let head = distance(span.first_offset, here.first);
            let tail = if went_on > 0 { 0 } else { distance(here.last, span.last_offset) };
            ahead += head;
            left_out += span.records.saturating_sub(head + tail + here.records);
        }
        let from_the_beginning = before > 0 || ahead.saturating_mul(NEARLY) <= records;
        (from_the_beginning && left_out + before > 0).then_some(News { left_out, before })
    }

    /// Whether both sessions wrote the same records to the topic and nothing else there.
    fn is_all(&self, relations: &Relations, topic: u32, earlier: &SessionNote, later: &SessionNote) -> bool {
        [(earlier, &self.originals), (later, &self.copies)].into_iter().all(|(session, places)| {
            let records: u64 = spans(relations, topic, session).map(|span| span.records).sum();
            let here: u64 = places.0.iter().map(|(_, stretch)| stretch.records).sum();
            records.saturating_sub(here).saturating_mul(NEARLY) <= records
        })
    }

    fn partitions(&self) -> impl Iterator<Item = u32> {
        self.originals.0.iter().chain(&self.copies.0).map(|(partition, _)| *partition)
    }
}

/// One in so many records may be another one.
const NEARLY: u64 = 10;

/// Sessions that hold the same list, for more than an accident.
const RUNS: usize = 3;

/// A topic, an earlier session and a later one that repeats it.
pub(super) type Repeat = (u32, u32, u32);

/// By repeat: the numbers of the groups of which it is, ascending. Those of repeats that have no session
/// in common with another one are not asked for.
pub(super) type Repeated = BTreeMap<Repeat, Vec<u32>>;

/// How many numbers two ascending lists share.
pub(super) fn shared(one: &[u32], other: &[u32]) -> usize {
    one.iter().filter(|number| other.binary_search(number).is_ok()).count()
}

/// Which of these repeats are lists that every run publishes.
pub(super) fn published(
    relations: &Relations,
    repeats: &BTreeMap<Repeat, Overlap>,
    groups: &Repeated,
) -> BTreeSet<Repeat> {
    let session = |at: u32| relations.sessions.get(at);
    let mut touched: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for (&(_, earlier, later), overlap) in repeats {
        touched.entry((earlier, later)).or_default().extend(overlap.partitions());
    }
    let looks_so = |&(topic, earlier, later): &Repeat, overlap: &Overlap| {
        let (Some(first), Some(second)) = (session(earlier), session(later)) else { return false };
        let touched = touched.get(&(earlier, later));
        if !pair::had_ended(&first, &second) {
            return false;
        }
        overlap.news(relations, topic, &first, &second).is_some()
            || (overlap.is_all(relations, topic, &first, &second)
                && touched.is_some_and(|touched| news_elsewhere(relations, &first, &second, touched)))
    };
    let runs: BTreeSet<Repeat> =
        repeats.iter().filter(|(key, overlap)| looks_so(key, overlap)).map(|(key, _)| *key).collect();
    let mut circles: BTreeMap<u32, Circles> = BTreeMap::new();
    for &(topic, earlier, later) in &runs {
        circles.entry(topic).or_default().join((Some(earlier), Some(later)));
    }
    let mut jobs: BTreeMap<(u32, Option<u32>), Vec<Repeat>> = BTreeMap::new();
    for &run in &runs {
        let circle = circles.get(&run.0).and_then(|circles| circles.of(Some(run.1)));
        jobs.entry((run.0, circle)).or_default().push(run);
    }
    let of_run = |run: &Repeat| groups.get(run).map_or(&[][..], Vec::as_slice);
    let is_a_job = |job: &[Repeat]| {
        let sessions: BTreeSet<u32> = job.iter().flat_map(|&(_, earlier, later)| [earlier, later]).collect();
        if sessions.len() < RUNS {
            return false;
        }
        let mut all: Vec<u32> = job.iter().flat_map(of_run).copied().collect();
        all.sort_unstable();
        all.dedup();
        let list = in_all(relations, &all, &sessions);
        // The list began as the end of a session that had written other records before: a replay.
        let began_as_replay = repeats.keys().any(|key| {
            let shares = sessions.contains(&key.1) || sessions.contains(&key.2);
            let half = || shared(of_run(key), &list) * 2 >= list.len();
            job.iter().any(|run| run.0 == key.0) && shares && !runs.contains(key) && half()
        });
        let is_one_list = job.iter().map(of_run).all(|groups| list.len() * 2 >= groups.len());
        is_one_list && !began_as_replay
    };
    jobs.into_values().filter(|job| is_a_job(job)).flatten().collect()
}

/// Those of the groups of which every session wrote a copy.
fn in_all(relations: &Relations, groups: &[u32], sessions: &BTreeSet<u32>) -> Vec<u32> {
    let (mut all, mut before) = (Vec::new(), None);
    for pair in relations.groups.pairs() {
        let begins = before.replace(pair.group) != Some(pair.group);
        let enough = || usize::try_from(pair.writers.sessions).is_ok_and(|count| count >= sessions.len());
        if begins && enough() && groups.binary_search(&pair.group).is_ok() {
            let writers = relations.groups.note(&pair).map(|note| note.sessions).unwrap_or_default();
            if sessions.iter().all(|session| writers.binary_search(session).is_ok()) {
                all.push(pair.group);
            }
        }
    }
    all
}

/// Whether both sessions wrote to another place in which the later one repeats nothing.
fn news_elsewhere(
    relations: &Relations,
    earlier: &SessionNote,
    later: &SessionNote,
    touched: &BTreeSet<u32>,
) -> bool {
    let is_event = |partition: u32| {
        let note = pair::partition(relations, partition);
        let topic = note.and_then(|note| relations.topics.get(usize::try_from(note.topic).ok()?));
        topic.is_some_and(|topic| !topic.name.starts_with("__"))
    };
    earlier.spans.iter().any(|span| {
        let there = later.span(span.partition);
        !touched.contains(&span.partition)
            && span.records > 0
            && there.is_some_and(|there| there.records > 0)
            && is_event(span.partition)
    })
}

fn spans<'r>(
    relations: &'r Relations,
    topic: u32,
    session: &'r SessionNote,
) -> impl Iterator<Item = &'r SessionSpan> {
    let here = move |span: &&SessionSpan| {
        pair::partition(relations, span.partition).is_some_and(|note| note.topic == topic)
    };
    session.spans.iter().filter(here)
}

fn distance(from: Offset, to: Offset) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}
