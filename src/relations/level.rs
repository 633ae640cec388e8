//! How equal two stored records are, from E1 (the same wire batch) to E5 (the same business key).
//!
//! Client times are compared, never append times: they survive LogAppendTime in format 2. A batch
//! that the broker recompressed is the same batch with another checksum, so the decompressed record
//! area is compared, not the checksum.

use super::Candidate;
use crate::finding::Level;

/// The level of two records that share an identity and, volatile fields aside, their content.
#[must_use]
pub fn level(earlier: &Candidate, later: &Candidate) -> Level {
    let same_content = earlier.exact_content == later.exact_content;
    if same_content && same_record_set(earlier, later) {
        return if same_writer(earlier, later) { Level::E1 } else { Level::E2 };
    }
    let (first, second) = (earlier.copy.client_timestamp, later.copy.client_timestamp);
    match (same_content, first.is_some() && first == second) {
        (true, true) => Level::E3,
        (true, false) => Level::E4,
        (false, _) => Level::E5,
    }
}

/// Whether both stand at the same place of batches with equal records and an equal base time.
fn same_record_set(earlier: &Candidate, later: &Candidate) -> bool {
    let place =
        |candidate: &Candidate| candidate.copy.offset.0.saturating_sub(candidate.copy.batch.base_offset.0);
    // Without a client time (format 0) equal records are no sign of one write.
    earlier.copy.client_timestamp.is_some()
        && earlier.record_set == later.record_set
        && place(earlier) == place(later)
}

/// Whether the broker was shown the same producer id, epoch and sequence.
fn same_writer(earlier: &Candidate, later: &Candidate) -> bool {
    let (earlier, later) = (&earlier.copy, &later.copy);
    earlier.producer_id == later.producer_id
        && (!earlier.producer_id.is_protected()
            || (earlier.producer_epoch == later.producer_epoch
                && earlier.batch.base_sequence == later.batch.base_sequence))
}
