//! A second look at a few records: the neighbours of missing keys, what stands at acknowledged
//! offsets, keys that nobody expected.

use super::super::copies::{self, SecondLook};
use super::super::groups::Wanted;
use crate::candidates::Fingerprint;
use crate::error::AuditError;
use crate::relations::Candidate;
use crate::spill::Sorter;
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};

/// A partition directory of the run, and an offset in it.
pub(in crate::audit) type At = (u32, Offset);

/// The records at these places; what is not there is left out.
pub(in crate::audit) fn records(
    look: &SecondLook<'_>,
    places: &BTreeSet<At>,
    mut wanted: Sorter<Wanted>,
) -> Result<BTreeMap<At, Candidate>, AuditError> {
    for &(partition, offset) in places {
        wanted.push(Wanted::of(partition, offset, Fingerprint(0)))?;
    }
    let mut found = BTreeMap::new();
    copies::fetch(look, wanted.finish()?, |candidate| {
        found.insert((candidate.copy.partition, candidate.copy.offset), candidate);
        Ok(())
    })?;
    Ok(found)
}
