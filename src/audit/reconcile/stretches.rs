//! Missing keys that follow each other in the list, and what stands around them.
//!
//! Goes in: the keys in the order of the list, each stored somewhere or missing. Comes out: the first
//! stretches with their neighbours, the session that wrote both, and the gaps that they would sit in.

use super::known::Known;
use super::lookup::At;
use crate::finding::{BusinessKey, Gap};
use crate::relations::Candidate;
use crate::report::reconcile::{MissingKey, MissingStretch, Neighbour};
use crate::units::Offset;
use std::collections::BTreeMap;

/// A key of the list that is stored, in the order of the list.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) key: BusinessKey,
    pub(super) line: u64,
    pub(super) place: At,
}

/// A stretch of missing keys that is listed.
struct Stretch {
    first: MissingKey,
    last: MissingKey,
    count: u64,
    before: Option<Stored>,
    after: Option<Stored>,
    /// The last stored key before it, and the first one behind it, in each partition.
    before_in: BTreeMap<u32, Offset>,
    after_in: BTreeMap<u32, Offset>,
}

/// The stretches of a list.
pub(super) struct Stretches {
    listed: usize,
    /// The stretch that the last key belongs to; not kept when there are too many.
    open: Option<Stretch>,
    kept: Vec<Stretch>,
    /// How many of them have a stored key behind them, in each partition.
    followed: BTreeMap<u32, usize>,
    count: u64,
    last_stored: Option<Stored>,
    last_in: BTreeMap<u32, Offset>,
}

impl Stretches {
    pub(super) const fn new(listed: usize) -> Self {
        Self {
            listed,
            open: None,
            kept: Vec::new(),
            followed: BTreeMap::new(),
            count: 0,
            last_stored: None,
            last_in: BTreeMap::new(),
        }
    }

    /// How many there are.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Takes a key that is stored.
    pub(super) fn stored(&mut self, stored: Stored) {
        if let Some(mut stretch) = self.open.take() {
            stretch.after = Some(stored.clone());
            self.keep(stretch);
        }
        let (partition, offset) = stored.place;
        let followed = self.followed.entry(partition).or_default();
        for stretch in self.kept.iter_mut().skip(*followed) {
            stretch.after_in.insert(partition, offset);
        }
        *followed = self.kept.len();
        self.last_in.insert(partition, offset);
        self.last_stored = Some(stored);
    }

    /// Takes a key that is missing.
    pub(super) fn missing(&mut self, key: MissingKey) {
        if let Some(stretch) = &mut self.open {
            stretch.count += 1;
            stretch.last = key;
            return;
        }
        self.count += 1;
        self.open = Some(Stretch {
            first: key.clone(),
            last: key,
            count: 1,
            before: self.last_stored.clone(),
            after: None,
            before_in: self.last_in.clone(),
            after_in: BTreeMap::new(),
        });
    }

    /// The list has ended.
    pub(super) fn end(&mut self) {
        if let Some(stretch) = self.open.take() {
            self.keep(stretch);
        }
    }

    fn keep(&mut self, stretch: Stretch) {
        if self.kept.len() < self.listed {
            self.kept.push(stretch);
        }
    }

    /// Where the neighbours stand.
    pub(super) fn places(&self) -> impl Iterator<Item = At> {
        self.kept
            .iter()
            .flat_map(|stretch| [&stretch.before, &stretch.after])
            .filter_map(|stored| Some(stored.as_ref()?.place))
    }

    /// The stretches in words.
    pub(super) fn tell(self, known: &Known<'_>, records: &BTreeMap<At, Candidate>) -> Vec<MissingStretch> {
        let listed = self.listed;
        self.kept.into_iter().map(|stretch| stretch.tell(known, records, listed)).collect()
    }
}

impl Stretch {
    fn tell(self, known: &Known<'_>, records: &BTreeMap<At, Candidate>, listed: usize) -> MissingStretch {
        let neighbour = |stored: Stored| Neighbour {
            business_key: stored.key,
            line: stored.line,
            copy: records.get(&stored.place).map(|candidate| known.relations.told(&candidate.copy)),
        };
        let gaps = self.gaps(known, listed);
        let (before, after) = (self.before.map(neighbour), self.after.map(neighbour));
        let session = |neighbour: &Option<Neighbour>| neighbour.as_ref()?.copy.as_ref()?.session.clone();
        let session = session(&before).filter(|one| session(&after).as_ref() == Some(one));
        MissingStretch { first: self.first, last: self.last, count: self.count, before, after, session, gaps }
    }

    /// Gaps of sequences between the stored keys before and behind a stretch, in each partition.
    fn gaps(&self, known: &Known<'_>, listed: usize) -> Vec<Gap> {
        let mut gaps = Vec::new();
        for at in known.judged() {
            let (Some(outcome), Some(dir)) = (known.outcomes.get(at), known.inventory.partitions.get(at))
            else {
                continue;
            };
            let index = u32::try_from(at).unwrap_or(u32::MAX);
            let before = self.before_in.get(&index).copied();
            let after = self.after_in.get(&index).copied();
            // Without a neighbour on either side nothing places the stretch in this partition.
            if before.is_none() && after.is_none() {
                continue;
            }
            let between = |offset: i64| {
                before.is_none_or(|before| before.0 < offset) && after.is_none_or(|after| offset <= after.0)
            };
            let here = outcome.facts.gaps.iter().filter(|gap| between(gap.at_offset));
            gaps.extend(here.take(listed).map(|gap| Gap { partition: dir.partition, ..gap.clone() }));
        }
        gaps.truncate(listed);
        gaps
    }
}
