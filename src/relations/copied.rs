//! Stretches of a log that stand in another log as well, byte for byte, although the two are no
//! replicas: files that were copied.

use super::build::{RelatedTwo, group_twos};
use super::groups::Part;
use super::{Candidate, PartitionNote, level};
use crate::error::AuditError;
use crate::spill::Share;
use crate::units::Offset;
use serde::{Deserialize, Serialize};

/// What says that files were copied. Equal batches alone do not: an application that writes each
/// event with its own time to two topics makes batches that are equal to the last byte, in the same
/// order, at the same offsets and under the same leaders, instances that take turns included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyMark {
    /// Two names, one topic id: `partition.metadata` was copied with the log.
    OneTopicId,
    /// One of the two has no topic id, although its twin has: no broker has opened it since.
    NoTopicId,
}

/// Equal batches at equal offsets under equal leader epochs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedStretch {
    /// Index into [`super::Relations::partitions`]; which of the two was first cannot be told.
    pub original: u32,
    /// Index into [`super::Relations::partitions`].
    pub copy: u32,
    /// The first offset.
    pub first_offset: Offset,
    /// The last offset.
    pub last_offset: Offset,
    /// Equal batches.
    pub batches: u64,
    /// Records in them, markers aside.
    pub records: u64,
    /// Of these, the records that transactions withhold from read_committed consumers.
    pub hidden_records: u64,
    /// Of these, the records whose copies are not among the groups, because there are very many.
    pub unlisted: u64,
    /// What says that files were copied.
    pub mark: CopyMark,
}

impl CopiedStretch {
    /// Whether the record of the copy at `offset` is one of the stretch.
    #[must_use]
    pub fn holds(&self, original: (u32, Offset), copy: (u32, Offset)) -> bool {
        original.1 == copy.1
            && (original.0, copy.0) == (self.original, self.copy)
            && (self.first_offset..=self.last_offset).contains(&copy.1)
    }
}

/// Groups of two: a record of the original and the one at the same offset of the copy. `is_known`
/// says of a copy that it repeats another record already.
///
/// # Errors
/// [`AuditError`] when what does not fit into memory cannot be written or read.
pub fn group_copied(
    partitions: &[PartitionNote],
    stretch: &CopiedStretch,
    share: &Share,
    candidates: &[Candidate],
    is_known: impl Fn(&(u32, Offset)) -> bool,
) -> Result<Part, AuditError> {
    let in_partition = |at: u32| candidates.iter().filter(move |one| one.copy.partition == at);
    let mut copies = in_partition(stretch.copy).peekable();
    let topic =
        usize::try_from(stretch.copy).ok().and_then(|at| partitions.get(at)).map_or(0, |note| note.topic);
    let twos = in_partition(stretch.original).filter_map(|original| {
        while copies.next_if(|copy| copy.copy.offset < original.copy.offset).is_some() {}
        let copy = copies.next_if(|copy| copy.copy.offset == original.copy.offset)?;
        if copy.exact_content != original.exact_content || is_known(&(stretch.copy, copy.copy.offset)) {
            return None;
        }
        let (earlier, later) = (original.copy.clone(), copy.copy.clone());
        let two = RelatedTwo { earlier, later, level: level(original, copy) };
        Some((topic, copy.business_key.clone(), two))
    });
    group_twos(share, twos)
}
