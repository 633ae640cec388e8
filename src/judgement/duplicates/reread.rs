//! Steps back of consumer groups that may stand behind copies: between the two writes a group was given a
//! record of another topic again that has the copies' business key.
//!
//! A hint for a rival, never a mechanism: nothing joins the group with the writer, and a key of one topic may
//! mean another thing in the next one. Where the producer's transactions hold the group's commits, or the
//! content is the source's, `pipeline-replay` is told.

use super::Examples;
use super::episode::{Episode, count};
use super::pair::{Pair, partition};
use crate::facts::{Rewind, RewindKind};
use crate::finding::Finding;
use crate::finding::phrase::group_named;
use crate::judgement::rewinds;
use crate::relations::{Relations, SessionNote};
use crate::units::TopicNumber;
use std::collections::BTreeMap;

/// How far a commit may be from the output that it goes with: `auto.commit.interval.ms` is five seconds by default.
const COMMITS_APART_MS: i64 = 60 * 1000;
/// How long a group that never came back to where it was counts as reading again.
const NEVER_BACK_MS: i64 = 15 * 60 * 1000;

/// A partition as a step back names it.
type Place = (TopicNumber, i32);

/// The steps back by topic and partition, in order of time.
struct Steps<'r> {
    relations: &'r Relations,
    by_place: BTreeMap<Place, Vec<(i64, &'r Rewind)>>,
}

impl<'r> Steps<'r> {
    fn of(relations: &'r Relations) -> Self {
        let mut by_place: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for step in relations.rewinds.iter().filter(|step| step.kind == RewindKind::SteppedBack) {
            if let Some((at, topic)) = step.timestamp.zip(step.topic_number) {
                by_place.entry((topic, step.partition)).or_default().push((at, step));
            }
        }
        for steps in by_place.values_mut() {
            steps.sort_unstable();
        }
        Self { relations, by_place }
    }

    /// The step back between the two copies over a record of another topic with their business key; none where
    /// a writer of the copies wrote that topic itself, or where the copies have one time, which is that of the event.
    fn between(&self, pair: &Pair<'_>) -> Option<&'r Rewind> {
        let read = pair.later.reread?;
        let note = partition(self.relations, read.partition)?;
        let steps = self.by_place.get(&(TopicNumber(note.topic), note.partition))?;
        let (earlier, later) = (pair.earlier.timestamp?, pair.later.timestamp?);
        let wrote_it = |session: &SessionNote| {
            let spans = session.spans.iter().filter_map(|span| partition(self.relations, span.partition));
            spans.into_iter().any(|written| written.topic == note.topic)
        };
        if earlier >= later
            || [pair.earlier_session(), pair.later_session()]
                .iter()
                .flatten()
                .any(|session| wrote_it(session))
        {
            return None;
        }
        let latest = later.saturating_add(COMMITS_APART_MS);
        let behind = steps.partition_point(|(at, _)| *at < earlier);
        let in_time = steps.iter().skip(behind).take_while(|(at, _)| *at <= latest);
        in_time.map(|(_, step)| *step).find(|step| {
            let end = match (step.caught_up, step.timestamp) {
                (Some(at), _) => at.saturating_add(COMMITS_APART_MS),
                (None, at) => at.unwrap_or(i64::MIN).saturating_add(NEVER_BACK_MS),
            };
            (step.to..step.from).contains(&read.offset) && later <= end
        })
    }
}

/// The steps back between copies of an episode, and how many copies each may stand behind.
pub(super) fn between<'r>(episode: &Episode<'r>) -> BTreeMap<&'r Rewind, usize> {
    let mut copies = BTreeMap::new();
    // Few episodes have a copy whose key a group was given again.
    let mut steps = None;
    for pair in episode.pairs().filter(|pair| pair.later.reread.is_some()) {
        let steps = steps.get_or_insert_with(|| Steps::of(episode.relations));
        if let Some(step) = steps.between(&pair) {
            *copies.entry(step).or_default() += 1;
        }
    }
    copies
}

/// Why a replay is not excluded where no step back is joined with the writers: whether a group stepped back at
/// all, and which.
pub(super) fn unlinked(episode: &Episode<'_>, own_group: Option<&str>) -> String {
    let relations = episode.relations;
    if let Some((step, copies)) = episode.rereads().iter().max_by_key(|(_, copies)| **copies) {
        return format!(
            "between the copies group {} stepped back on {}-{} from {} to {}, over records with the business keys of {copies} of {} copies: if that group is this application's, it read and wrote again",
            group_named(&step.group),
            step.topic,
            step.partition,
            step.from,
            step.to,
            episode.surplus()
        );
    }
    let elsewhere =
        |rewind: &&Rewind| rewind.kind == RewindKind::SteppedBack && rewind.topic != episode.topic_name();
    let mut steps = relations.rewinds.iter().filter(elsewhere);
    let (first, more) = (steps.next(), steps.count());
    match (first, own_group) {
        (Some(step), _) => {
            let more = match more {
                0 => String::new(),
                1 => ", one more step back is told".to_owned(),
                more => format!(", {more} more steps back are told"),
            };
            format!(
                "group {} stepped back on {}-{} from {} to {}{more}: if that is this application's, it read and wrote again; nothing here links the two",
                group_named(&step.group), step.topic, step.partition, step.from, step.to
            )
        }
        (None, Some(group)) => format!(
            "if group {group} is not the application's own: that one may have stepped back; no committed position here did"
        ),
        (None, None) => "if this application reads another topic, its consumer group may have stepped back; no committed position here did".to_owned(),
    }
}

/// Adds the steps back that may stand behind the copies.
pub(super) fn link(finding: &mut Finding, episode: &Episode<'_>, examples: Examples) {
    put(finding, episode.rereads().keys().copied(), examples);
}

/// Puts steps back into a finding, as many as it may carry.
pub(super) fn put<'r>(
    finding: &mut Finding,
    steps: impl ExactSizeIterator<Item = &'r Rewind>,
    examples: Examples,
) {
    let most = match examples {
        Examples::AtMost(most) => most,
        Examples::All => usize::MAX,
    };
    finding.rewinds_omitted = count(steps.len().saturating_sub(most));
    finding.rewinds = steps.take(most).map(rewinds::reported).collect();
}
