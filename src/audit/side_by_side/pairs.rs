//! Which directories are held against each other.

use crate::error::AuditError;
use crate::input::{Inventory, PartitionDir, State};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The log of a KRaft quorum.
const CLUSTER_METADATA: &str = "__cluster_metadata";

/// Topics of the first path and of the others that are mirrors of each other.
#[derive(Clone, Debug, Default)]
pub struct PairNames {
    /// Each with the name on the first path and the name on the others.
    pub topics: Vec<TopicPair>,
}

impl PairNames {
    /// The topic itself, and what it is called on the other side.
    pub(super) fn names_of<'n>(&'n self, topic: &'n str) -> impl Iterator<Item = &'n str> {
        let others = self.topics.iter().filter_map(move |pair| match (pair.a == topic, pair.b == topic) {
            (true, _) => Some(pair.b.as_str()),
            (false, true) => Some(pair.a.as_str()),
            (false, false) => None,
        });
        std::iter::once(topic).chain(others)
    }

    /// Of each pair, whether there is anything of it.
    pub(super) fn in_inventory(&self, inventory: &Inventory) -> Vec<bool> {
        let known: BTreeSet<&str> = inventory.partitions.iter().map(|dir| dir.topic.as_str()).collect();
        let holds = |pair: &TopicPair| known.contains(pair.a.as_str()) || known.contains(pair.b.as_str());
        self.topics.iter().map(holds).collect()
    }

    /// Without the pairs of which a choice of topics and partitions left nothing that was there before.
    pub(super) fn chosen(&self, before: &[bool], inventory: &Inventory) -> Self {
        let left = self.in_inventory(inventory);
        let pairs = self.topics.iter().zip(before.iter().zip(left));
        let topics = pairs.filter(|(_, (before, left))| !**before || *left).map(|(pair, _)| pair.clone());
        Self { topics: topics.collect() }
    }
}

/// A topic and its mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicPair {
    /// On the first path.
    pub a: String,
    /// On the others.
    pub b: String,
}

/// How the records of two logs are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchedBy {
    /// The same record stands at the same offset.
    Offset,
    /// By key or content, at any offset.
    Record,
}

/// Two directories of the inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirPair {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) matched_by: MatchedBy,
}

/// The other partitions of the two topics of a mirror's pair, on the same paths: a mirror with another number of
/// partitions has records there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Siblings {
    pub(super) a: Vec<usize>,
    pub(super) b: Vec<usize>,
}

impl Siblings {
    fn of(pair: &DirPair, of_side: &[Vec<usize>], inventory: &Inventory) -> Self {
        if pair.matched_by == MatchedBy::Offset {
            return Self::default();
        }
        let dir = |at: usize| inventory.partitions.get(at);
        let siblings = |of: usize| {
            let Some(own) = dir(of) else { return Vec::new() };
            let on_its_paths = of_side.iter().filter(|side| side.contains(&of)).flatten();
            let is_one = |other: &PartitionDir| {
                other.topic == own.topic && other.state == own.state && other.partition != own.partition
            };
            let found: BTreeSet<usize> =
                on_its_paths.copied().filter(|&at| at != of && dir(at).is_some_and(is_one)).collect();
            found.into_iter().collect()
        };
        Self { a: siblings(pair.a), b: siblings(pair.b) }
    }

    /// Whether a directory is among them.
    pub(super) fn contains(&self, at: usize) -> bool {
        self.a.contains(&at) || self.b.contains(&at)
    }
}

/// What is held against what.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In the order of the inventory.
    pub(super) pairs: Vec<DirPair>,
    /// Of each pair.
    pub(super) siblings: Vec<Siblings>,
    pub(super) unpaired: Unpaired,
}

/// The directories without counterpart.
#[derive(Debug, Default)]
pub(super) struct Unpaired {
    pub(super) names: Vec<String>,
    /// How many of them hold something that was to be compared.
    pub(super) with_data: u64,
}

impl Unpaired {
    fn of(inventory: &Inventory, dirs: &BTreeSet<usize>, names: &PairNames) -> Self {
        let dirs = || dirs.iter().filter_map(|&at| inventory.partitions.get(at));
        let mut shown: Vec<String> = dirs().map(|dir| dir.display.clone()).collect();
        shown.sort();
        // Who names mirrors asks for these: clusters have other topics, too.
        let is_meant = |topic: &str| {
            names.topics.is_empty() || names.topics.iter().any(|pair| pair.a == topic || pair.b == topic)
        };
        let with_data =
            dirs().filter(|dir| dir.bytes > 0 && dir.state == State::Live && is_meant(&dir.topic)).count();
        Self { names: shown, with_data: u64::try_from(with_data).unwrap_or(u64::MAX) }
    }
}

/// The pairs in the order of the inventory, and the directories without counterpart.
pub(super) fn find(inventory: &Inventory, sides: &[PathBuf], names: &PairNames) -> Result<Found, AuditError> {
    let mut of_side = Vec::with_capacity(sides.len());
    let mut itself = Vec::with_capacity(sides.len());
    for side in sides {
        let Some(root) = inventory.root_of(side) else { continue };
        let below =
            |(_, dir): &(usize, &PartitionDir)| dir.path.starts_with(root) || root.starts_with(&dir.path);
        let dirs: Vec<usize> =
            inventory.partitions.iter().enumerate().filter(below).map(|(at, _)| at).collect();
        itself.push(is_named(inventory, root, &dirs));
        of_side.push(dirs);
    }
    let Some(first) = itself.first() else { return Ok(Found::default()) };
    let mut pairs: Vec<DirPair> = Vec::new();
    for (number, other) in of_side.iter().enumerate().skip(1) {
        let mut found: Vec<DirPair> = Vec::new();
        // What the first path does not hold is held against the next that does: a topic need not be on
        // every broker.
        for earlier in of_side.iter().take(number) {
            let known: BTreeSet<usize> = found.iter().map(|pair| pair.b).collect();
            let more = between(inventory, earlier, other, names);
            found.extend(more.into_iter().filter(|pair| !known.contains(&pair.b)));
        }
        if found.is_empty()
            && let (Some(a), Some(Some(b))) = (first, itself.get(number))
        {
            // Two partitions that were named one by one are meant to be compared, whatever their names.
            pairs.push(DirPair { a: *a, b: *b, matched_by: MatchedBy::Record });
        }
        pairs.extend(found);
    }
    for pair in &names.topics {
        let topic = |at: usize| inventory.partitions.get(at).map(|dir| dir.topic.as_str());
        let is_it = |found: &DirPair| {
            topic(found.a) == Some(pair.a.as_str()) && topic(found.b) == Some(pair.b.as_str())
        };
        if !pairs.iter().any(is_it) {
            return Err(absent(inventory, pair));
        }
    }
    // A path that is named twice, for a topic and its mirror in it, is not meant to be compared with itself.
    if pairs.iter().any(|pair| pair.matched_by == MatchedBy::Record) {
        pairs.retain(|pair| pair.a != pair.b);
    }
    if pairs.is_empty() {
        let shown: Vec<_> = sides.iter().map(|side: &PathBuf| Path::display(side).to_string()).collect();
        return Err(AuditError::Usage(format!(
            "{}: no partition of one is in another; a mirror with another name, or in another cluster, is given as \
             --mirror NAME=OTHER, or as two partition directories",
            shown.join(", ")
        )));
    }
    let paired = |at: &usize| pairs.iter().any(|pair| pair.a == *at || pair.b == *at);
    let unpaired: BTreeSet<usize> = of_side.iter().flatten().copied().filter(|at| !paired(at)).collect();
    let unpaired = Unpaired::of(inventory, &unpaired, names);
    let siblings = pairs.iter().map(|pair| Siblings::of(pair, &of_side, inventory)).collect();
    Ok(Found { pairs, siblings, unpaired })
}

/// The partition whose directory, or a file of it, a path names: one that merely holds a single partition is a
/// broker's, and that partition need not be the one that another broker holds.
fn is_named(inventory: &Inventory, root: &Path, dirs: &[usize]) -> Option<usize> {
    let [at] = dirs else { return None };
    inventory.partitions.get(*at).filter(|dir| root.starts_with(&dir.path)).map(|_| *at)
}

/// A mirror that was named, and of which nothing can be compared.
fn absent(inventory: &Inventory, pair: &TopicPair) -> AuditError {
    let known: BTreeSet<&str> = inventory.partitions.iter().map(|dir| dir.topic.as_str()).collect();
    let missing: Vec<&str> =
        [pair.a.as_str(), pair.b.as_str()].into_iter().filter(|topic| !known.contains(topic)).collect();
    let why = if missing.is_empty() {
        format!(
            "no partition of {} on the first path has its counterpart in {} on the others",
            pair.a, pair.b
        )
    } else {
        let known: Vec<&str> = known.into_iter().filter(|topic| !topic.starts_with("__")).collect();
        format!("there is no topic {}; there are {}", missing.join(", "), known.join(", "))
    };
    AuditError::Usage(format!("--mirror {}={}: {why}", pair.a, pair.b))
}

fn between(inventory: &Inventory, first: &[usize], other: &[usize], names: &PairNames) -> Vec<DirPair> {
    let dir = |at: usize| inventory.partitions.get(at);
    let mut pairs = Vec::new();
    for &a in first {
        for &b in other {
            let (Some(one), Some(two)) = (dir(a), dir(b)) else { continue };
            if one.partition == two.partition
                && one.state == two.state
                && let Some(matched_by) = matched(inventory, one, two, names)
            {
                pairs.push(DirPair { a, b, matched_by });
            }
        }
    }
    pairs
}

fn matched(
    inventory: &Inventory,
    a: &PartitionDir,
    b: &PartitionDir,
    names: &PairNames,
) -> Option<MatchedBy> {
    if names.topics.iter().any(|pair| pair.a == a.topic && pair.b == b.topic) {
        return Some(MatchedBy::Record);
    }
    // A topic that was named with its mirror is compared with that alone.
    if names.topics.iter().any(|pair| pair.a == a.topic) {
        return None;
    }
    let one_cluster = inventory.cluster_of(a) == inventory.cluster_of(b);
    let replicas = match (&a.topic_id, &b.topic_id) {
        // The id of the metadata is the same in every cluster.
        (Some(one), Some(two)) => one == two && (one_cluster || a.topic != CLUSTER_METADATA),
        _ => a.topic == b.topic && one_cluster,
    };
    replicas.then_some(MatchedBy::Offset)
}
