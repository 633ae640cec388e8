//! All groups of equal copies: their pairs one behind the other, read as often as it takes. What does
//! not fit into memory stands in a temporary file.
//!
//! A file that cannot be read ends the reading early; [`Groups::check`] says so to whoever asks before
//! anything is told.

use super::pair::{GroupNote, RelatedPair};
use crate::error::AuditError;
use crate::spill::{Element, Share, Shelf, ShelfWriter, Sorted, Sorter};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;

/// The pairs of all groups, in the order of the groups' first surplus copies, and inside a group in
/// the order of the copies.
#[derive(Default)]
pub struct Groups {
    share: Share,
    parts: Vec<Part>,
    count: u32,
    left_out: BTreeSet<u32>,
    failed: OnceLock<AuditError>,
}

/// Groups that were related together.
#[derive(Debug)]
pub struct Part {
    pub(super) pairs: Shelf<RelatedPair>,
    pub(super) notes: Shelf<GroupNote>,
    pub(super) count: u32,
    /// The number of the first group.
    pub(super) first: u32,
}

impl Groups {
    /// None yet; what is sorted on the way takes no more than `share`.
    #[must_use]
    pub fn new(share: Share) -> Self {
        Self { share, ..Self::default() }
    }

    /// Adds groups behind those that are there.
    pub fn append(&mut self, mut part: Part) {
        part.first = self.count;
        self.count = self.count.saturating_add(part.count);
        self.parts.push(part);
    }

    /// How many groups there are.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX).saturating_sub(self.left_out.len())
    }

    /// Whether nothing is stored more than once.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All pairs, in their order.
    pub fn pairs(&self) -> impl Iterator<Item = RelatedPair> {
        let of_part = |part: &Part| {
            let first = part.first;
            self.until_failure(part.pairs.all())
                .map(move |pair| RelatedPair { group: pair.group.saturating_add(first), ..pair })
        };
        self.parts.iter().flat_map(of_part).filter(|pair| !self.left_out.contains(&pair.group))
    }

    /// What is told once of the group of a pair.
    #[must_use]
    pub fn note(&self, pair: &RelatedPair) -> Option<GroupNote> {
        let behind = self.parts.partition_point(|part| part.first <= pair.group);
        let part = self.parts.get(behind.checked_sub(1)?)?;
        self.unless_failed(part.notes.at(pair.note)).flatten()
    }

    /// Leaves groups out, by their numbers.
    pub fn leave_out(&mut self, groups: impl IntoIterator<Item = u32>) {
        self.left_out.extend(groups);
    }

    /// Elements in their order, within the share of memory.
    pub fn sorted<T: Element + Ord>(&self, elements: impl IntoIterator<Item = T>) -> InOrder<'_, T> {
        let mut sorting = self.sorting();
        elements.into_iter().for_each(|element| sorting.push(element));
        sorting.finish()
    }

    /// The same for elements that come one by one.
    #[must_use]
    pub fn sorting<T: Element + Ord>(&self) -> Sorting<'_, T> {
        Sorting { groups: self, sorter: Some(self.share.sorter()) }
    }

    /// Keeps elements as they come, within the share of memory.
    #[must_use]
    pub fn shelf<T: Element + Clone>(&self) -> ShelfWriter<T> {
        self.share.shelf()
    }

    /// What was done, unless it failed.
    pub fn unless_failed<T>(&self, done: Result<T, AuditError>) -> Option<T> {
        done.map_err(|error| self.fail(error)).ok()
    }

    /// What is read, up to the first thing that cannot be.
    pub fn until_failure<T>(
        &self,
        read: impl Iterator<Item = Result<T, AuditError>>,
    ) -> impl Iterator<Item = T> {
        read.map_while(|one| self.unless_failed(one))
    }

    fn fail(&self, error: AuditError) {
        // The first one is told.
        drop(self.failed.set(error));
    }

    /// Whether all that was asked for could be read.
    ///
    /// # Errors
    /// The first one, once.
    pub fn check(&mut self) -> Result<(), AuditError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// All pairs with the notes about their groups: what two of this kind are compared by.
    fn told(&self) -> impl Iterator<Item = (RelatedPair, Option<GroupNote>)> {
        self.pairs().map(|pair| {
            let note = self.note(&pair);
            (RelatedPair { note: 0, ..pair }, note)
        })
    }
}

/// Takes elements that are to be put into their order.
#[derive(Debug)]
pub struct Sorting<'g, T> {
    groups: &'g Groups,
    sorter: Option<Sorter<T>>,
}

impl<'g, T: Element + Ord> Sorting<'g, T> {
    /// Adds an element.
    pub fn push(&mut self, element: T) {
        if let Some(sorter) = &mut self.sorter
            && self.groups.unless_failed(sorter.push(element)).is_none()
        {
            self.sorter = None;
        }
    }

    /// The elements in their order.
    #[must_use]
    pub fn finish(self) -> InOrder<'g, T> {
        let sorted = self.sorter.and_then(|sorter| self.groups.unless_failed(sorter.finish()));
        InOrder { groups: self.groups, sorted }
    }
}

/// Elements in their order, up to the first one that cannot be read.
#[derive(Debug)]
pub struct InOrder<'g, T> {
    groups: &'g Groups,
    sorted: Option<Sorted<T>>,
}

impl<T: Element + Ord> Iterator for InOrder<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.groups.unless_failed(self.sorted.as_mut()?.take_next()).flatten()
    }
}

impl PartialEq for Groups {
    fn eq(&self, other: &Self) -> bool {
        self.told().eq(other.told())
    }
}

impl fmt::Debug for Groups {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.told()).finish()
    }
}

impl Serialize for Groups {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.told())
    }
}

impl<'de> Deserialize<'de> for Groups {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let told = Vec::<(RelatedPair, Option<GroupNote>)>::deserialize(deserializer)?;
        let mut groups = Self::default();
        let part = Part::of_told(told, &groups.share).map_err(D::Error::custom)?;
        groups.append(part);
        Ok(groups)
    }
}

impl Part {
    fn of_told(told: Vec<(RelatedPair, Option<GroupNote>)>, share: &Share) -> Result<Self, AuditError> {
        let (mut pairs, mut notes) = (share.shelf(), share.shelf());
        let (mut at, mut count) = (0, 0);
        for (pair, note) in told {
            if let (Some(note), true) = (note, pair.group >= count) {
                at = notes.end();
                notes.put(&note)?;
            }
            count = count.max(pair.group.saturating_add(1));
            pairs.put(&RelatedPair { note: at, ..pair })?;
        }
        Ok(Self { pairs: pairs.finish()?, notes: notes.finish()?, count, first: 0 })
    }
}
