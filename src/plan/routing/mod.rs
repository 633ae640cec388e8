//! Which partitioner a topic's record keys follow, over which partition counts.
//!
//! Goes in: keys with the partition in which each stands. Comes out: a [`Routing`], or nothing where
//! no known partitioner fits far beyond chance; then nothing is said about the topic. A count that
//! grew while the log was written gives two counts: records before the change stand where the older
//! one puts them, and the partitions of one topic change at about the same time.
//!
//! How well a count fits is the log of how much likelier the keys are under it than under a
//! partitioner that knows nothing of them. A multiple of the true count fits a part of the keys by
//! arithmetic; this measure weighs that against the true one.

mod trail;

pub use trail::{RoutedPartition, Stray, StrayKind, StrayRecord, Trail};

use crate::keys::{KeyHashes, Partitioner};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Different keys below which nothing is recognised.
const FEWEST_KEYS: usize = 20;
/// Different keys that are looked at.
const MOST_KEYS: usize = 2_000;
/// The share of the keys that must stand where the partitioner puts them, in percent.
pub const FITTING_PERCENT: u64 = 80;
/// How much likelier than chance, as a natural logarithm and besides the number of attempts: one in
/// a million.
const BEYOND_CHANCE: f64 = 14.0;
/// How many times the partitions that are there are tried as count, where other brokers hold more.
const TIMES: u32 = 4;
/// Counts that are tried at most above and below the partitions that are there.
const COUNTS: u32 = 4_096;
/// Counts of which pairs are tried.
const SHORTLIST: usize = 24;

/// Where the partitioner of a topic puts its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routing {
    /// The partitioner.
    pub partitioner: Partitioner,
    /// The partition count at the end of the log.
    pub newest: u32,
    /// The count before it grew, where the log reaches back to it.
    pub older: Option<u32>,
}

/// What is known of a topic's partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The highest partition number plus one.
    pub highest: u32,
    /// How many partitions are there.
    pub present: usize,
    /// The partition count, where somebody told it.
    pub given: Option<u32>,
}

/// A key and the partition in which it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placed {
    /// The key.
    pub key: KeyHashes,
    /// The partition's number.
    pub partition: u32,
}

impl Routing {
    /// Whether the newest count puts this number into this partition.
    #[must_use]
    pub const fn fits(&self, number: u32, partition: u32) -> bool {
        number % self.newest == partition
    }

    /// Which counts put this number into this partition.
    ///
    /// Where no older count is known there may have been one partition: then everything stood in
    /// partition 0. That explains strays there only where they stand dense at the head of the log, so
    /// what the newest count explains as well speaks for it.
    #[must_use]
    pub const fn look(&self, number: u32, partition: u32) -> Look {
        let older = match self.older {
            Some(count) => number % count == partition,
            None => partition == 0,
        };
        match (self.fits(number, partition), older) {
            (true, true) if self.older.is_some() => Look::Both,
            (true, _) => Look::Newer,
            (false, true) => Look::Older,
            (false, false) => Look::Neither,
        }
    }
}

/// Which counts put a record where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Both.
    Both,
    /// The newest one.
    Newer,
    /// The older one.
    Older,
    /// None that is known.
    Neither,
}

/// Recognises the partitioner, from keys of each partition in the order in which they were written.
#[must_use]
pub fn recognise(layout: Layout, placed: impl IntoIterator<Item = Placed>) -> Option<Routing> {
    let alone = layout.present < 2 && layout.given.is_none();
    if alone || layout.highest == 0 || layout.given.is_some_and(|given| given < layout.highest.max(2)) {
        return None;
    }
    let mut seen = BTreeSet::new();
    let mut distinct: Vec<Placed> =
        placed.into_iter().filter(|placed| seen.insert(*placed)).take(MOST_KEYS).collect();
    // Stable, so each partition keeps its order.
    distinct.sort_by_key(|placed| placed.partition);
    let keys: BTreeSet<KeyHashes> = distinct.iter().map(|placed| placed.key).collect();
    if keys.len() < FEWEST_KEYS {
        return None;
    }
    let newest = match layout.given {
        Some(given) => given..=given,
        None => layout.highest.max(2)..=most(layout.highest),
    };
    let mut best: Option<Fit> = None;
    for partitioner in Partitioner::ALL {
        let fit = best_of(partitioner, &distinct, newest.clone());
        if fit.is_some_and(|fit| best.is_none_or(|best| fit.score > best.score)) {
            best = fit;
        }
    }
    let best = best?;
    let attempts = 5.0 * f64::from(newest.end() - newest.start() + 1);
    let enough = best.matches * 100 >= distinct.len() * usize::try_from(FITTING_PERCENT).unwrap_or(100);
    (enough && best.score >= BEYOND_CHANCE + attempts.ln()).then_some(best.routing)
}

/// A smaller count that explains most of these keys far beyond chance.
#[must_use]
pub fn smaller_count(partitioner: Partitioner, below: u32, placed: &[Placed]) -> Option<u32> {
    let distinct: BTreeSet<Placed> = placed.iter().copied().collect();
    let attempts = f64::from(below.clamp(2, COUNTS));
    (2..below.min(COUNTS))
        .map(|count| (count, matches(partitioner, count, distinct.iter())))
        .map(|(count, matches)| (count, matches, score(matches, distinct.len(), count)))
        .filter(|(_, matches, score)| {
            2 * matches >= distinct.len() && *score >= BEYOND_CHANCE + attempts.ln()
        })
        .max_by(|a, b| a.2.total_cmp(&b.2))
        .map(|(count, ..)| count)
}

/// Another partitioner that explains most of these keys far beyond chance.
#[must_use]
pub fn other_partitioner(known: Partitioner, count: u32, placed: &[Placed]) -> Option<Partitioner> {
    let distinct: BTreeSet<Placed> = placed.iter().copied().collect();
    Partitioner::ALL
        .into_iter()
        .filter(|&other| other != known)
        .map(|other| (other, matches(other, count, distinct.iter())))
        .filter(|(_, matches)| 2 * matches >= distinct.len())
        .map(|(other, matches)| (other, score(matches, distinct.len(), count)))
        .filter(|(_, score)| *score >= BEYOND_CHANCE)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(other, _)| other)
}

#[derive(Clone, Copy)]
struct Fit {
    routing: Routing,
    score: f64,
    matches: usize,
}

fn most(highest: u32) -> u32 {
    highest.saturating_mul(TIMES).min(highest.saturating_add(COUNTS))
}

/// The best count, or pair of counts, of one partitioner.
fn best_of(partitioner: Partitioner, placed: &[Placed], newest: RangeInclusive<u32>) -> Option<Fit> {
    let least = newest.start().saturating_sub(COUNTS).max(1);
    let mut counts: Vec<(u32, usize, f64)> = (least..=*newest.end())
        .map(|count| (count, matches(partitioner, count, placed.iter())))
        .map(|(count, matches)| (count, matches, score(matches, placed.len(), count)))
        .collect();
    // The smaller count first among equals: it needs the fewest partitions that nobody has seen.
    counts.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let single = counts.iter().find(|(count, ..)| newest.contains(count)).map(|&(count, matches, score)| {
        Fit { routing: Routing { partitioner, newest: count, older: None }, score, matches }
    });
    let newer =
        counts.iter().map(|(count, ..)| *count).filter(|count| newest.contains(count)).take(SHORTLIST);
    let older: Vec<u32> = counts.iter().map(|(count, ..)| *count).take(SHORTLIST).collect();
    let pairs = newer.flat_map(|new| older.iter().filter(move |&&old| old < new).map(move |&old| (new, old)));
    let mut best = single;
    for (new, old) in pairs {
        let routing = Routing { partitioner, newest: new, older: Some(old) };
        let pair = pair(routing, placed);
        // A second count is an assumption more.
        let least = best.map_or(0.0, |best| best.score);
        let dearer = if best.is_some_and(|best| best.routing.older.is_none()) { BEYOND_CHANCE } else { 0.0 };
        if pair.score > least + dearer {
            best = Some(pair);
        }
    }
    best
}

/// How well two counts fit that follow each other, the change in each partition where it fits best.
fn pair(routing: Routing, placed: &[Placed]) -> Fit {
    let older = routing.older.unwrap_or(1);
    let mut eras = [(0, 0), (0, 0)];
    let mut price = 0.0;
    for own in placed.chunk_by(|a, b| a.partition == b.partition) {
        // Matches of the new count minus those of the old one since the best place of the change.
        let (mut since, mut change) = (0i64, 0);
        for (at, placed) in own.iter().enumerate() {
            let number = placed.key.number(routing.partitioner);
            since += i64::from(routing.fits(number, placed.partition));
            since -= i64::from(number % older == placed.partition);
            if since < 0 {
                (since, change) = (0, at + 1);
            }
        }
        if change > 0 && change < own.len() {
            price += float(own.len()).ln();
        }
        eras[0].0 += matches(routing.partitioner, older, own.iter().take(change));
        eras[0].1 += change;
        eras[1].0 += matches(routing.partitioner, routing.newest, own.iter().skip(change));
        eras[1].1 += own.len() - change;
    }
    let [old, new] = eras;
    Fit {
        routing,
        score: score(old.0, old.1, older) + score(new.0, new.1, routing.newest) - price,
        matches: old.0 + new.0,
    }
}

fn matches<'p>(partitioner: Partitioner, count: u32, placed: impl Iterator<Item = &'p Placed>) -> usize {
    placed.filter(|placed| placed.key.number(partitioner) % count == placed.partition).count()
}

/// How much likelier `matches` of `all` are than by chance, as a natural logarithm.
fn score(matches: usize, all: usize, count: u32) -> f64 {
    if matches == 0 || count < 2 {
        return 0.0;
    }
    let (hits, misses) = (float(matches), float(all - matches));
    let (share, chance) = (hits / float(all), 1.0 / f64::from(count));
    if share <= chance {
        return 0.0;
    }
    let others = if misses > 0.0 { misses * ((1.0 - share) / (1.0 - chance)).ln() } else { 0.0 };
    hits * (share / chance).ln() + others
}

fn float(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> KeyHashes {
        KeyHashes::of(format!("order-{number}").as_bytes())
    }

    /// Keys with these numbers where `partitioner` puts them.
    fn placed(partitioner: Partitioner, count: u32, numbers: std::ops::Range<u32>) -> Vec<Placed> {
        numbers.map(|n| Placed { key: key(n), partition: key(n).number(partitioner) % count }).collect()
    }

    fn whole(highest: u32) -> Layout {
        Layout { highest, present: usize::try_from(highest).unwrap(), given: None }
    }

    #[test]
    fn each_partitioner_is_recognised_with_its_count() {
        for partitioner in Partitioner::ALL {
            let routing = recognise(whole(7), placed(partitioner, 7, 0..200));
            assert_eq!(routing, Some(Routing { partitioner, newest: 7, older: None }));
        }
    }

    #[test]
    fn a_count_is_recognised_from_some_of_the_partitions() {
        let some = placed(Partitioner::Crc32, 12, 0..400).into_iter().filter(|p| p.partition % 3 == 0);
        let layout = Layout { highest: 10, present: 4, given: None };
        let routing = recognise(layout, some);
        assert_eq!(routing, Some(Routing { partitioner: Partitioner::Crc32, newest: 12, older: None }));
    }

    #[test]
    fn a_partition_alone_tells_nothing_unless_the_count_is_given() {
        let one: Vec<Placed> =
            placed(Partitioner::Murmur2, 6, 0..300).into_iter().filter(|p| p.partition == 3).collect();
        let mut layout = Layout { highest: 4, present: 1, given: None };
        assert_eq!(recognise(layout, one.clone()), None);
        layout.given = Some(6);
        assert_eq!(recognise(layout, one).map(|routing| routing.newest), Some(6));
    }

    #[test]
    fn a_count_that_grew_gives_both_counts() {
        for (old, new) in [(4, 6), (4, 8), (3, 7)] {
            for share in [30, 100, 170] {
                let mut all = placed(Partitioner::Murmur2, old, 0..share);
                all.extend(placed(Partitioner::Murmur2, new, share..200));
                let routing = recognise(whole(new), all).unwrap();
                assert_eq!((routing.newest, routing.older), (new, Some(old)), "{share} of 200");
            }
        }
    }

    #[test]
    fn without_a_known_older_count_partition_0_may_have_been_alone() {
        let routing = Routing { partitioner: Partitioner::Murmur2, newest: 6, older: None };
        assert_eq!([routing.look(6, 0), routing.look(7, 0)], [Look::Newer, Look::Older]);
        assert_eq!([routing.look(7, 1), routing.look(8, 1)], [Look::Newer, Look::Neither]);
        let grown = Routing { older: Some(4), ..routing };
        assert_eq!([grown.look(12, 0), grown.look(6, 0)], [Look::Both, Look::Newer]);
        assert_eq!([grown.look(4, 0), grown.look(7, 0)], [Look::Older, Look::Neither]);
    }

    #[test]
    fn partitions_that_the_application_chooses_follow_no_partitioner() {
        let turn: Vec<Placed> = (0..500).map(|n| Placed { key: key(n), partition: n % 6 }).collect();
        assert_eq!(recognise(whole(6), turn), None);
        // Two languages, half and half: neither is the rule.
        let mut both = placed(Partitioner::Murmur2, 6, 0..100);
        both.extend(placed(Partitioner::Crc32, 6, 100..200));
        assert_eq!(recognise(whole(6), both), None);
    }

    #[test]
    fn few_keys_prove_nothing_however_often_they_come() {
        let few: Vec<Placed> = placed(Partitioner::Murmur2, 6, 0..10).repeat(50);
        assert_eq!(recognise(whole(6), few), None);
    }

    #[test]
    fn a_count_below_the_partitions_that_are_there_is_not_believed() {
        let layout = Layout { highest: 6, present: 6, given: Some(4) };
        assert_eq!(recognise(layout, placed(Partitioner::Murmur2, 4, 0..100)), None);
    }

    #[test]
    fn strays_of_a_forgotten_count_or_another_library_are_told_apart() {
        let old = placed(Partitioner::Murmur2, 5, 0..40);
        assert_eq!(smaller_count(Partitioner::Murmur2, 12, &old), Some(5));
        assert_eq!(other_partitioner(Partitioner::Murmur2, 12, &old), None);
        let librdkafka = placed(Partitioner::Crc32, 12, 0..40);
        assert_eq!(smaller_count(Partitioner::Murmur2, 12, &librdkafka), None);
        assert_eq!(other_partitioner(Partitioner::Murmur2, 12, &librdkafka), Some(Partitioner::Crc32));
    }
}
