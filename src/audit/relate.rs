//! From the rows of all records to relations: grouping by digest, the second look at what may be equal, and
//! what stands in the wrong place or in copied files.

use super::contents::Untold;
use super::groups::{self, Grouping, KeyCounts, Wants};
use super::logs::Logs;
use super::reconcile::{OF_THE_LIST, Reconciler};
use super::reread::Stretches;
use super::{assemble, copies, restored, strays, trace};
use crate::candidates::{Row, RowStore};
use crate::error::AuditError;
use crate::plan::Reach;
use crate::relations::{self, Groups, Relations, StoredCopy};
use crate::report::model::Note;
use crate::spill::Sorter;

/// What is related to what.
pub(super) struct Related {
    pub(super) relations: Relations,
    /// Of each topic.
    pub(super) key_counts: Vec<KeyCounts>,
    /// What was found of the one key that was asked for.
    pub(super) found: Vec<StoredCopy>,
    /// Stretches of which nobody can tell whether they are copies.
    pub(super) doubts: Vec<Note>,
}

/// Relates the records behind `rows`: those that repeat, or all where one key was asked for.
///
/// # Errors
/// [`AuditError`] when what does not fit into memory cannot be written or read, or when the list of
/// `reconciler` cannot.
pub(super) fn relate(
    logs: &Logs<'_>,
    rows: RowStore,
    wants: Wants,
    mut reconciler: Option<&mut Reconciler<'_>>,
) -> Result<Related, AuditError> {
    let (options, prepared, room) = (logs.options, logs.prepared, logs.room);
    let views = logs.views();
    let mut wanted = room.wanted();
    let look = logs.second_look();
    let mut relations = assemble::relations_base(
        &prepared.inventory,
        &prepared.topics,
        &prepared.plans,
        &logs.contexts.iter().copied().zip(logs.outcomes).collect::<Vec<_>>(),
        &prepared.internal,
    );
    relations.sessions =
        assemble::session_notes(&logs.sessions, &logs.led, &prepared.internal, &room.producers())?;
    let key_counts = {
        let rereads = Stretches::of(&relations);
        let (topics, reach) = (prepared.topics.all.len(), options.rules.reach);
        let order = || Sorter::new(room.shares.wanted / 4, room.space.clone());
        let mut grouping = Grouping::new(&views, topics, reach, wants, &rereads, &mut wanted, &order);
        let mut untold = Untold::new(room);
        let stop = || logs.late_stop.is_wanted();
        rows.for_each(&stop, |given| {
            let without_list: Vec<Row>;
            let mut together = given;
            if let Some(reconciler) = &mut reconciler {
                let all = together.all();
                for row in all.iter().filter(|row| !groups::is_deleted(&views, row)) {
                    reconciler.row(row, &views)?;
                }
                without_list = all.iter().filter(|row| row.partition != OF_THE_LIST).copied().collect();
                together = together.with(&without_list);
            }
            if untold.keep(together)? { Ok(()) } else { grouping.take(together) }
        })?;
        untold.tell(&look)?.for_each(&stop, |together| grouping.take(together))?;
        grouping.finish()?
    };

    let mut candidates = Sorter::new(room.shares.candidates, room.space.clone());
    copies::fetch(&look, wanted.finish()?, |candidate| candidates.push(candidate))?;
    let mut candidates = candidates.finish()?;
    let joined = match options.rules.reach {
        Reach::Topic => relations::Joined::Apart,
        Reach::Topics => relations::Joined::Together,
    };
    let mut found = Vec::new();
    let candidates = std::iter::from_fn(|| candidates.take_next().transpose()).inspect(|candidate| {
        if let (Wants::All, Ok(candidate)) = (wants, candidate)
            && found.len() < trace::HELD
        {
            found.push(candidate.copy.clone());
        }
    });
    let share = room.relations();
    relations.groups = Groups::new(share.clone());
    let groups = relations::group(&relations.partitions, &relations.sessions, joined, &share, candidates)?;
    relations.groups.append(groups);

    let (mut wanted, mut strays) = (room.wanted(), Vec::new());
    strays::wanted(logs.subjects, logs.outcomes, &logs.led, options.mode, &mut wanted)?;
    copies::fetch(&look, wanted.finish()?, |candidate| {
        strays.push(candidate);
        Ok(())
    })?;
    let across = relations::group_across_topics(&relations.partitions, &relations.sessions, &share, strays)?;
    relations.groups.append(across);

    let (stretches, doubts) =
        restored::stretches(&prepared.inventory, logs.subjects, logs.outcomes, &logs.led, options);
    restored::relate(&mut relations, stretches, &look, room)?;
    if wants == Wants::All {
        trace::keep_found(&mut relations, &found);
    }
    Ok(Related { relations, key_counts, found, doubts })
}
