//! How much of a producer a broker remembers, held against where an original stood.
//!
//! A leader keeps the five newest batches of a producer and answers an exact repeat of one of them
//! without storing it; a snapshot has room for one, so that is all that a broker knows after a restart,
//! or a new leader that has loaded its state. A range that it does not recognise is out of order: it is
//! refused, not stored, as long as the producer is known at all.
//!
//! Source: `ProducerStateEntry.NUM_BATCHES_TO_RETAIN`, `findDuplicateBatch`, `ProducerStateManager.readSnapshot`;
//! KAFKA-5494.

use super::pair::{self, Pair};
use crate::relations::{NewestNote, PartitionNote};

/// Batches of a producer that a leader remembers.
const REMEMBERED: usize = 5;

/// Where an original stood among the batches of its producer when its copy, or the copy's epoch, came.
struct Standing<'r> {
    note: &'r PartitionNote,
    newest: &'r NewestNote,
    /// 1 for the newest batch; `None` for one that is older than those that are known.
    rank: Option<usize>,
}

impl<'r> Standing<'r> {
    fn of(pair: &Pair<'r>) -> Option<Self> {
        let note = pair::partition(pair.relations, pair.later.partition)?;
        let newest = note.newest_batches.iter().rev().find(|newest| {
            newest.producer_id == pair.later.producer_id && newest.at_offset <= pair.later.batch.base_offset
        })?;
        let rank = newest.batches.iter().position(|base| *base == pair.earlier.batch.base_offset);
        Some(Self { note, newest, rank: rank.map(|at| at + 1) })
    }

    fn in_words(&self) -> String {
        match self.rank {
            Some(1) => "the newest batch".to_owned(),
            Some(rank) => format!("the {} newest batch", ordinal(rank)),
            None => format!("older than the {} newest batches", self.newest.batches.len()),
        }
    }
}

/// `2nd`, `3rd`, `10th`.
fn ordinal(number: usize) -> String {
    let suffix = match number {
        2 => "nd",
        3 => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// Of a repeat under equal sequences: what a broker with the producer's state would have done.
pub(super) fn of_repeat(pair: &Pair<'_>) -> Option<String> {
    let standing = Standing::of(pair).filter(|of| of.newest.at_offset == pair.later.batch.base_offset)?;
    let (id, place) = (pair.later.producer_id, standing.note.name());
    let would = match standing.rank {
        Some(rank) if rank <= REMEMBERED => "answered it with the original's offset, and stored nothing",
        _ => "refused it as out of order",
    };
    Some(format!(
        "a broker keeps the 5 newest batches of a producer; when the first copy came, its original was {} of producer {id} in \
         {place}, so a broker with the producer's state would have {would}",
        standing.in_words()
    ))
}

/// Of records that came again under a newer epoch: whether what a broker remembers explains that it
/// refused a retry of them.
pub(super) struct BeforeNewEpoch {
    pub(super) fact: String,
    /// Whether the memory was too small.
    pub(super) explains: bool,
}

/// `first` is the pair with the oldest original.
pub(super) fn before_new_epoch(first: &Pair<'_>) -> Option<BeforeNewEpoch> {
    let standing = Standing::of(first)?;
    let epoch = first.earlier.producer_epoch.map_or_else(|| "?".to_owned(), |epoch| epoch.0.to_string());
    let begins = format!(
        "the first of the repeated records stand in {} of epoch {epoch} in {}",
        match standing.rank {
            None => format!("a batch {}", standing.in_words()),
            Some(_) => standing.in_words(),
        },
        standing.note.name()
    );
    let refuses = "refuses a retry of it as out of order, and the client begins a new epoch";
    Some(match (standing.rank, restart_between(&standing, first)) {
        (Some(1), _) => BeforeNewEpoch {
            fact: format!(
                "{begins}: a broker that knows the producer remembers that one, so the size of its memory does not \
                 explain the new epoch"
            ),
            explains: false,
        },
        (Some(rank), None) if rank <= REMEMBERED => BeforeNewEpoch {
            fact: format!(
                "{begins}: among the five that a broker remembers, so a retry of it is answered and not refused, and the \
                 size of its memory does not explain the new epoch, unless it restarted or the leader changed, of which \
                 there is no trace here"
            ),
            explains: false,
        },
        (Some(rank), Some(restart)) if rank <= REMEMBERED => BeforeNewEpoch {
            fact: format!(
                "{begins}, and {restart}: a broker that begins from a snapshot remembers the newest batch alone, {refuses}"
            ),
            explains: true,
        },
        _ => BeforeNewEpoch {
            fact: format!("{begins}, not among the five that a broker remembers: it {refuses}"),
            explains: true,
        },
    })
}

/// What says that a broker loaded its state between the end of the old epoch and the new one.
fn restart_between(standing: &Standing<'_>, pair: &Pair<'_>) -> Option<String> {
    let (before, behind) = (pair.earlier.partition_leader_epoch, pair.later.partition_leader_epoch);
    if let (Some(before), Some(behind)) = (before, behind)
        && before != behind
    {
        return Some(format!(
            "the leader epoch went from {before} to {behind} before the new epoch's records"
        ));
    }
    let last = *standing.newest.batches.first()?;
    let between = standing
        .note
        .snapshots
        .iter()
        .rev()
        .find(|file| file.offset > last && file.offset <= standing.newest.at_offset)?;
    let offset = between.last_offset(pair.later.producer_id)?;
    Some(format!(
        "{}/{}, written in between, remembers the producer by the batch that ends at offset {offset}",
        standing.note.directory, between.file
    ))
}
