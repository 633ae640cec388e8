//! From candidate records to groups of equal copies, each with its predecessor.

use super::{KeyGroup, PartitionNote, RelatedCopy, StoredCopy, level};
use crate::candidates::Fingerprint;
use crate::finding::{BusinessKey, Visibility};
use std::collections::BTreeMap;

/// A record whose identity and content may be stored more than once.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Digest of its identity.
    pub identity: Fingerprint,
    /// Digest of its content, volatile fields masked.
    pub content: Fingerprint,
    /// Digest of its content as it is.
    pub exact_content: Fingerprint,
    /// Digest of the decompressed records of its batch, with the base time.
    pub record_set: Fingerprint,
    /// Its identity, in the form that the report may show.
    pub business_key: BusinessKey,
    /// The record.
    pub copy: StoredCopy,
}

/// Groups candidates by identity and content; what is stored once is left out. The groups are in
/// the order of their first surplus copies.
#[must_use]
pub fn group(partitions: &[PartitionNote], mut candidates: Vec<Candidate>) -> Vec<KeyGroup> {
    candidates.sort_unstable_by_key(|one| (one.identity, one.content, one.copy.partition, one.copy.offset));
    let mut groups: Vec<KeyGroup> = candidates
        .chunk_by(|a, b| a.identity == b.identity && a.content == b.content)
        .filter(|equal| equal.len() > 1)
        .map(|equal| relate(partitions, equal))
        .collect();
    groups.sort_by_cached_key(|group| {
        let first = group
            .copies
            .iter()
            .filter(|copy| copy.repeats.is_some())
            .map(|copy| place(partitions, &copy.copy));
        (first.min(), group.business_key.clone())
    });
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
fn relate(partitions: &[PartitionNote], equal: &[Candidate]) -> KeyGroup {
    let times = running_times(equal);
    let mut order: Vec<usize> = (0..equal.len()).collect();
    order.sort_by_key(|&at| (times[at], place(partitions, &equal[at].copy)));
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
    KeyGroup { topic, business_key, copies }
}

/// For each copy the largest time of the copies up to it in its partition: offsets order a
/// partition and client times need not, so that this never steps back inside one.
fn running_times(equal: &[Candidate]) -> Vec<i64> {
    let mut times = Vec::with_capacity(equal.len());
    let (mut partition, mut largest) = (None, i64::MIN);
    for Candidate { copy, .. } in equal {
        if partition != Some(copy.partition) {
            (partition, largest) = (Some(copy.partition), i64::MIN);
        }
        largest = largest.max(copy.client_timestamp.or(copy.timestamp).unwrap_or(i64::MIN));
        times.push(largest);
    }
    times
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
