//! Where repeats begin, against the borders of the original batches.
//!
//! A client retries a batch as a whole: one that queues its messages again (librdkafka), or splits a
//! batch that is too large for a broker, cuts them anew and still sends all of them. So a repeat that
//! begins a batch, in the middle of an original one of which nothing in front came again, is no retry.
//! One that ends in the middle may be: the rest can have failed.

use super::episode::Episode;
use super::pair::Pair;
use crate::finding::phrase::offsets;
use std::collections::BTreeSet;

/// Places that are looked for at once.
const AT_ONCE: usize = 1 << 16;

/// The place in front of an original.
fn in_front(pair: &Pair<'_>) -> (u32, i64) {
    (pair.earlier.partition, pair.earlier.offset.0.saturating_sub(1))
}

/// A repeat that begins inside an original batch, in words.
pub(super) fn begins_inside(episode: &Episode<'_>) -> Option<String> {
    let begins = |pair: &Pair<'_>| {
        let (original, copy) = (&pair.earlier, &pair.later);
        let span = original.batch.last_offset.0.saturating_sub(original.batch.base_offset.0);
        // A batch that the cleaner thinned out does not show what stood in front.
        let whole = span.checked_add(1) == Some(i64::from(original.batch.records));
        pair.same_partition()
            && whole
            && copy.offset == copy.batch.base_offset
            && original.offset > original.batch.base_offset
    };
    let mut seen = 0;
    let pair = loop {
        let some = || episode.pairs().filter(begins).skip(seen).take(AT_ONCE);
        let mut before: BTreeSet<(u32, i64)> = some().map(|pair| in_front(&pair)).collect();
        if before.is_empty() {
            return None;
        }
        // What stands in front may have come again as well, in whatever finding.
        for pair in episode.relations.groups.pairs() {
            for copy in [&pair.earlier, &pair.later] {
                before.remove(&(copy.partition, copy.offset.0));
            }
        }
        if let Some(pair) = some().find(|pair| before.contains(&in_front(pair))) {
            break pair;
        }
        seen += AT_ONCE;
    };
    let batch = &pair.earlier.batch;
    Some(format!(
        "the batch at offset {} begins with the record of offset {}, in the middle of the batch of {}, and what stands in front there did not come again",
        pair.later.offset,
        pair.earlier.offset,
        offsets(batch.base_offset.0, batch.last_offset.0)
    ))
}
