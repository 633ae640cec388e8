//! `consumer-rewind`: a group's committed position went back over records, so it was given them again.
//! They were read twice, which is not the same as written twice. Where no later commit shows that they were, it
//! was set back, and that is all.
//!
//! Goes in: the steps back that the commits show, and what is stored more than once. How sure it is
//! that records were read again depends on what the group committed next: a position inside the
//! stretch shows it; one at the end of it at once may be a late commit that was overtaken.
//! Innocent: an operator who resets a group does this on purpose; after a deletion the topic may have
//! been made anew. What is deleted nobody was given: where the log begins cuts a stretch. Source: `Fetcher`, which goes
//! to the start of the log where a position lies below it (`auto.offset.reset`).

use super::draft::{about, capped, dropped, finding, kept, lines, of_topics};
use super::duplicates::Examples;
use crate::facts::{Namesakes, Rewind, RewindKind, Then};
use crate::finding::phrase::{group_named, moment, offsets};
use crate::finding::{Code, Confidence, Finding, RewindReport, StepKind, Window};
use crate::relations::{PartitionNote, Relations};
use crate::units::TopicNumber;
use std::collections::{BTreeMap, BTreeSet};

/// One finding for each group and topic, without ids.
#[must_use]
pub fn judge(relations: &Relations, examples: Examples) -> Vec<Finding> {
    if relations.rewinds.is_empty() {
        return Vec::new();
    }
    let given = given(relations);
    let mut by_group: BTreeMap<_, (Vec<&Rewind>, Stored)> = BTreeMap::new();
    for (rewind, twice) in relations.rewinds.iter().zip(surplus(relations)) {
        let place = (rewind.cluster, rewind.group.as_str(), rewind.topic.as_str(), rewind.topic_number);
        let (steps, stored) = by_group.entry(place).or_default();
        steps.push(rewind);
        stored.twice += twice;
        if rewind.namesakes == Some(Namesakes::Here) && rewind.topic_number.is_none() {
            stored.of_several = true;
        } else if !rewind.topic_number.is_some_and(|topic| given.contains(&(topic, rewind.partition))) {
            stored.not_given.insert(rewind.partition);
        }
    }
    by_group
        .into_iter()
        .map(|((_, group, topic, _), (steps, stored))| of_group(group, topic, &steps, &stored, examples))
        .collect()
}

/// What is stored between the positions of the steps back of one group in one topic.
#[derive(Default)]
struct Stored {
    /// Surplus copies.
    twice: usize,
    /// Partitions of which nothing was given.
    not_given: BTreeSet<i32>,
    /// Whether it is not known in which of several topics of the name that would be.
    of_several: bool,
}

impl Stored {
    /// Whether all of it could be looked at.
    fn is_known(&self) -> bool {
        self.not_given.is_empty() && !self.of_several
    }
}

impl Stored {
    fn words(&self, topic: &str, are_shown: bool) -> Vec<String> {
        let mut words = Vec::new();
        match self.twice {
            0 if !self.is_known() => {}
            0 if are_shown => words.push(
                "no record in between is a surplus copy among what was read: what came twice from there was read twice, not written twice"
                    .to_owned(),
            ),
            0 => words.push("no record in between is a surplus copy among what was read".to_owned()),
            twice => words
                .push(format!("{twice} records in between are surplus copies by themselves, whoever reads them")),
        }
        let mut partitions = self.not_given.iter();
        if let Some(first) = partitions.next() {
            let more = match partitions.len() {
                0 => String::new(),
                more => format!(" and of {more} more partitions"),
            };
            words.push(format!(
                "of {topic}-{first}{more} nothing was given: whether records in between are stored twice is not known"
            ));
        }
        if self.of_several {
            words.push(format!(
                "in which topic {topic} these records would be is not told, nor whether they are stored twice"
            ));
        }
        words
    }
}

/// The partitions of which something was read.
fn given(relations: &Relations) -> BTreeSet<(TopicNumber, i32)> {
    let place = |note: &PartitionNote| (TopicNumber(note.topic), note.partition);
    relations.partitions.iter().map(place).collect()
}

/// A step back in one sentence of the story of a log.
pub(super) fn told(step: &Rewind) -> String {
    let (group, from, to) = (group_named(&step.group), &step.from, &step.to);
    let again = offsets(step.again_from().0, from.0.saturating_sub(1));
    match (step.kind, step.then) {
        _ if step.again_from() >= step.again_to() => {
            format!("group {group} went back from {from} to {to}: {}", nothing_there(step))
        }
        (RewindKind::AfterDeletion, _) if step.begins_unseen() => format!(
            "the position of group {group} was deleted at {from}, and the next one is {to}: from where it read is not told"
        ),
        (RewindKind::AfterDeletion, _) => {
            format!("the position of group {group} was deleted at {from} and set to {to}")
        }
        (_, Then::WentThrough(_)) => {
            format!(
                "group {group} went back from {from} to {to} and came forward again: {again} were to be read again"
            )
        }
        (_, Then::Passed(_)) => {
            format!("group {group} went back from {from} to {to}: {again} were to be read again")
        }
        (_, Then::Nothing) => format!(
            "group {group} was set back from {from} to {to}; no later commit shows that {again} were read again"
        ),
    }
}

/// A step back in the words of a finding.
#[must_use]
pub fn reported(rewind: &Rewind) -> RewindReport {
    RewindReport {
        group: rewind.group.clone(),
        topic: rewind.topic.clone(),
        partition: rewind.partition,
        from: rewind.from.0,
        to: rewind.to.0,
        again_first: Some(rewind.again_from().0).filter(|first| *first < rewind.again_to().0),
        again_last: Some(rewind.again_to().0 - 1).filter(|last| *last >= rewind.again_from().0),
        timestamp: None,
        time: None,
        kind: match rewind.kind {
            RewindKind::SteppedBack => StepKind::SteppedBack,
            RewindKind::AfterDeletion => StepKind::AfterDeletion,
        },
        generation: rewind.generation,
        members: rewind.members,
        then: match rewind.then {
            Then::Nothing => None,
            Then::WentThrough(offset) | Then::Passed(offset) => Some(offset.0),
        },
        at_offset: rewind.at_offset.0,
    }
    .at_time(rewind.timestamp)
}

/// How many surplus copies stand between the two positions of each step back.
fn surplus(relations: &Relations) -> Vec<usize> {
    let mut ends: Vec<([i64; 4], usize)> = Vec::new();
    for (at, rewind) in relations.rewinds.iter().enumerate() {
        let Some(topic) = rewind.topic_number else { continue };
        for offset in [rewind.again_from(), rewind.again_to()] {
            ends.push(([rewind.cluster.0.into(), topic.0.into(), rewind.partition.into(), offset.0], at));
        }
    }
    ends.sort_unstable();
    let places = relations.groups.pairs().filter_map(|pair| {
        let note = relations.partition(pair.later.partition)?;
        Some([note.cluster.0.into(), note.topic.into(), note.partition.into(), pair.later.offset.0])
    });
    let mut below = 0_usize;
    // What stands below the first of the two ends, and then what stands between them.
    let mut between: Vec<Option<usize>> = vec![None; relations.rewinds.len()];
    let mut ends = ends.into_iter().peekable();
    let mut reach = |below: usize, place: Option<&[i64; 4]>| {
        while let Some((_, at)) = ends.next_if(|(end, _)| place.is_none_or(|place| end <= place)) {
            if let Some(between) = between.get_mut(at) {
                *between = Some(between.map_or(below, |first| below - first));
            }
        }
    };
    for place in relations.groups.sorted(places) {
        reach(below, Some(&place));
        below += 1;
    }
    reach(below, None);
    between.into_iter().map(Option::unwrap_or_default).collect()
}

fn of_group(group: &str, topic: &str, steps: &[&Rewind], stored: &Stored, examples: Examples) -> Finding {
    let confidence = steps.iter().map(|step| confidence(step)).max().unwrap_or(Confidence::Possible);
    let are_shown = confidence > Confidence::Possible;
    let title = title(group, topic, steps, are_shown);
    let mut finding = finding(Code::ConsumerRewind, confidence, title);
    about(&mut finding, steps.iter().map(|step| (topic, step.partition)));
    of_topics(&mut finding, steps.iter().filter_map(|step| step.topic_number));
    let times = || steps.iter().filter_map(|step| step.timestamp);
    finding.window = Some(Window::new(times().min(), times().max()));
    finding.facts = capped(steps.iter().map(|step| words(step)), "steps back");
    finding.facts.extend(stored.words(topic, are_shown));
    let anew: BTreeSet<&Namesakes> = steps.iter().filter_map(|step| step.namesakes.as_ref()).collect();
    finding.facts.extend(anew.iter().take(1).map(|namesakes| made_anew(topic, namesakes)));
    finding.alternatives.push(if stored.is_known() {
        dropped("duplicate", "a position says what was read, not what is stored")
    } else {
        kept(
            "duplicate",
            "without the records themselves nothing tells that they are not stored twice as well",
        )
    });
    if steps.iter().any(|step| step.then == Then::Nothing) {
        finding.alternatives.push(kept(
            "not read again",
            "no later commit lies behind a position that was set back: perhaps nobody came to read on from there",
        ));
    }
    if steps.iter().any(|step| step.is_beyond()) {
        finding.alternatives.push(kept(
            "another log",
            "a position lies behind the end of the log that is here: it was cut off or made anew, then its offsets may mean other records, or it was copied before the position was committed",
        ));
    }
    // Without members nobody is left to commit late.
    if steps.iter().any(|step| matches!(step.then, Then::Passed(_)) && step.members != Some(0)) {
        finding.alternatives.push(kept(
            "late commit",
            "a member that had lost the partition may commit late; the next commit stands behind the old position",
        ));
    }
    if !anew.is_empty() {
        finding.alternatives.push(kept(
            "topic made anew",
            "the two positions may be of two topics of one name: then their offsets mean other records, and nothing was read twice",
        ));
    } else if steps.iter().any(|step| step.kind == RewindKind::AfterDeletion) {
        finding.alternatives.push(kept(
            "topic made anew",
            "the position had been deleted, and no topic id tells whether its offsets mean the same records",
        ));
    }
    finding.would_settle = lines([
        "the log of the group's members: restarts, rebalances, seeks at that time",
        "who called for a reset of offsets then",
    ]);
    finding.advice =
        lines(["make the processing idempotent, or commit the position together with its result"]);
    let most = match examples {
        Examples::AtMost(most) => most,
        Examples::All => usize::MAX,
    };
    finding.rewinds = steps.iter().take(most).map(|step| reported(step)).collect();
    finding.rewinds_omitted = u64::try_from(steps.len().saturating_sub(most)).unwrap_or(u64::MAX);
    finding
}

/// What shows that the topic was deleted and made anew.
fn made_anew(topic: &str, namesakes: &Namesakes) -> String {
    let which = "which of them a position is of, no commit tells";
    match namesakes {
        Namesakes::Here => format!("several topics of this cluster are called {topic}; {which}"),
        Namesakes::Deleted(directory) => format!(
            "{directory} waits for its deletion, of another topic id: topic {topic} was deleted and made anew; {which}"
        ),
    }
}

/// How sure it is that records were read again.
fn confidence(step: &Rewind) -> Confidence {
    match (step.kind, step.then) {
        _ if step.namesakes.is_some() => Confidence::Possible,
        (RewindKind::AfterDeletion, _) | (_, Then::Nothing) => Confidence::Possible,
        _ if step.again_from() >= step.again_to() => Confidence::Possible,
        (_, Then::WentThrough(next)) if next > step.again_from() => Confidence::Certain,
        // A position at the start of the log is one to which a consumer is moved, before it is given anything.
        (_, Then::WentThrough(_)) if step.caught_up_at.is_some() => Confidence::Likely,
        (_, Then::Passed(_)) if step.members == Some(0) => Confidence::Likely,
        (_, Then::WentThrough(_) | Then::Passed(_)) => Confidence::Possible,
    }
}

fn title(group: &str, topic: &str, steps: &[&Rewind], are_shown: bool) -> String {
    let group = group_named(group);
    match steps {
        [one] if are_shown => {
            format!("group {group} went back over {}: they were to be read again", stretch(one))
        }
        [one] if one.begins_unseen() => format!(
            "group {group} began again in {topic}-{} after its position was deleted: records below {} were perhaps read twice",
            one.partition,
            one.again_to()
        ),
        [one] if one.again_from() >= one.again_to() => format!(
            "group {group} went back to {} in {topic}-{}: {}",
            one.to,
            one.partition,
            nothing_there(one)
        ),
        [one] if one.then == Then::Nothing => {
            format!(
                "group {group} was set back over {}: not shown that anybody read them again",
                stretch(one)
            )
        }
        [one] => format!("group {group} went back over {}: perhaps read twice", stretch(one)),
        more => {
            let read = if are_shown {
                "records were to be read again"
            } else if more.iter().all(|step| step.then == Then::Nothing) {
                "not shown that anybody read again"
            } else {
                "perhaps read twice"
            };
            format!("group {group} stepped back {} times in topic {topic}: {read}", more.len())
        }
    }
}

fn stretch(step: &Rewind) -> String {
    let again = offsets(step.again_from().0, step.again_to().0.saturating_sub(1));
    format!("{again} of {}-{}", step.topic, step.partition)
}

/// Why no record is there between the positions of a step back.
fn nothing_there(step: &Rewind) -> &'static str {
    if step.is_beyond() {
        "no record of the log that is here lies between"
    } else {
        "what lies between is deleted"
    }
}

/// What of a stretch lies behind the end of the log.
fn beyond(step: &Rewind) -> String {
    let Some(end) = step.log_end.filter(|_| step.is_beyond()) else { return String::new() };
    format!("; {} lies behind the end of the log that is here, {end}", step.from)
}

/// What of a stretch is deleted.
fn deleted(step: &Rewind) -> String {
    let Some(start) = step.log_start.filter(|start| *start > step.to) else { return String::new() };
    let below = start.min(step.from).0.saturating_sub(1);
    format!("; {} of it lie below the start of the log, {start}, and are deleted", offsets(step.to.0, below))
}

fn words(step: &Rewind) -> String {
    let when = step.timestamp.and_then(moment).map_or_else(String::new, |time| format!(" at {time}"));
    let (from, to) = (step.from, step.to);
    let how = match step.kind {
        RewindKind::SteppedBack => format!("went back from {from} to {to}"),
        RewindKind::AfterDeletion => format!("was deleted at {from}, and the next one is {to}"),
    };
    let unseen = if step.begins_unseen() {
        "; a consumer commits behind what it has read, so reading began there or before"
    } else {
        ""
    };
    let by = match (step.members, step.generation) {
        (Some(0), _) => ", while the group had no members: set from outside",
        (Some(_), _) => ", while the group had members",
        (None, _) => "",
    };
    let generation =
        step.generation.map_or_else(String::new, |generation| format!(" (generation {generation})"));
    let then = match step.then {
        Then::Nothing => "; no later commit lies behind it".to_owned(),
        Then::WentThrough(offset) => format!("; the next commit behind it is {offset}, inside the stretch"),
        Then::Passed(offset) => format!("; the next commit is {offset}, behind the stretch"),
    };
    format!(
        "the position of group {} in {}-{} {how}{when}{generation}{by}{unseen}{then}{}{}",
        group_named(&step.group),
        step.topic,
        step.partition,
        deleted(step),
        beyond(step)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relations::TopicNote;
    use crate::units::{ClusterNumber, Offset};

    fn step(kind: RewindKind, members: Option<u32>, then: Then) -> Rewind {
        Rewind {
            leader_epoch: None,
            topic_id: None,
            caught_up: None,
            caught_up_at: None,
            log_start: None,
            log_end: None,
            topic_number: Some(TopicNumber(0)),
            namesakes: None,
            cluster: ClusterNumber(0),
            group: "billing".to_owned(),
            topic: "orders".to_owned(),
            partition: 3,
            from: Offset(16),
            to: Offset(8),
            timestamp: Some(5),
            at_offset: Offset(1),
            kind,
            generation: Some(2),
            members,
            then,
        }
    }

    fn judged(rewinds: Vec<Rewind>) -> Vec<Finding> {
        let relations = Relations { rewinds, ..Relations::default() };
        judge(&relations, Examples::AtMost(2))
    }

    #[test]
    fn a_commit_inside_the_stretch_shows_that_it_was_read_again() {
        let went_through = Then::WentThrough(Offset(12));
        let finding = &judged(vec![step(RewindKind::SteppedBack, Some(0), went_through)])[0];
        assert_eq!(finding.confidence, Confidence::Certain);
        assert_eq!(
            finding.title,
            "group billing went back over offsets 8–15 of orders-3: they were to be read again"
        );
        assert_eq!((finding.rewinds[0].then, finding.rewinds[0].members), (Some(12), Some(0)));
        assert!(finding.facts[0].contains("set from outside"), "{:?}", finding.facts);
    }

    fn title(finding: &Finding) -> &str {
        &finding.title
    }

    #[test]
    fn a_group_without_a_name_leaves_no_gap_in_a_sentence() {
        let step = step(RewindKind::SteppedBack, None, Then::WentThrough(Offset(12)));
        let step = Rewind { group: String::new(), ..step };
        assert!(told(&step).starts_with("group \"\" went back"), "{}", told(&step));
        let finding = &judged(vec![step])[0];
        assert!(title(finding).starts_with("group \"\" went back"), "{finding:?}");
        assert!(
            finding.facts[0].starts_with("the position of group \"\" in orders-3"),
            "{:?}",
            finding.facts
        );
    }

    #[test]
    fn positions_of_two_topics_of_one_name_do_not_show_that_anything_was_read_again() {
        for (namesakes, fact) in [
            (
                Namesakes::Deleted("data/orders-3.ab-delete".to_owned()),
                "data/orders-3.ab-delete waits for its deletion",
            ),
            (Namesakes::Here, "several topics of this cluster are called orders"),
        ] {
            let step = step(RewindKind::SteppedBack, Some(0), Then::WentThrough(Offset(12)));
            let finding = judged(vec![Rewind { namesakes: Some(namesakes), ..step }]).remove(0);
            assert_eq!(finding.confidence, Confidence::Possible);
            assert!(title(&finding).ends_with("perhaps read twice"), "{finding:?}");
            assert!(finding.facts.iter().any(|told| told.starts_with(fact)), "{:?}", finding.facts);
            assert!(finding.alternatives.iter().any(|rival| rival.code == "topic made anew" && rival.kept));
        }
    }

    #[test]
    fn what_is_deleted_was_not_given_again() {
        let cut = |start, then| {
            let step = step(RewindKind::SteppedBack, Some(0), then);
            judged(vec![Rewind { log_start: Some(Offset(start)), ..step }]).remove(0)
        };
        let passed = cut(14, Then::Passed(Offset(16)));
        assert_eq!(
            title(&passed),
            "group billing went back over offsets 14–15 of orders-3: they were to be read again"
        );
        assert!(
            passed.facts[0].contains("offsets 8–13 of it lie below the start of the log, 14"),
            "{passed:?}"
        );
        // A consumer below the start of the log is moved there, and may commit that before it is given anything.
        assert_eq!(cut(12, Then::WentThrough(Offset(12))).confidence, Confidence::Possible);
        assert_eq!(cut(12, Then::WentThrough(Offset(13))).confidence, Confidence::Certain);
        let gone = cut(16, Then::Passed(Offset(16)));
        assert_eq!(gone.confidence, Confidence::Possible);
        assert_eq!(title(&gone), "group billing went back to 8 in orders-3: what lies between is deleted");
    }

    #[test]
    fn nobody_is_told_to_have_read_where_no_later_commit_shows_it() {
        let nothing = || step(RewindKind::SteppedBack, Some(0), Then::Nothing);
        let finding = &judged(vec![nothing()])[0];
        assert_eq!(
            title(finding),
            "group billing was set back over offsets 8–15 of orders-3: not shown that anybody read them again"
        );
        assert!(finding.alternatives.iter().any(|rival| rival.code == "not read again" && rival.kept));
        let facts = finding.facts.join(" ");
        assert!(!facts.contains("read twice"), "{facts}");
        assert!(told(&nothing()).contains("no later commit shows"), "{}", told(&nothing()));
        let titles: Vec<_> = judged(vec![nothing(), nothing()]).into_iter().map(|one| one.title).collect();
        assert_eq!(
            titles,
            ["group billing stepped back 2 times in topic orders: not shown that anybody read again"]
        );
    }

    #[test]
    fn behind_a_deletion_the_first_commit_is_not_where_reading_began() {
        let step = step(RewindKind::AfterDeletion, Some(1), Then::WentThrough(Offset(9)));
        assert!(told(&step).contains("from where it read is not told"), "{}", told(&step));
        let finding = &judged(vec![step])[0];
        assert_eq!(
            title(finding),
            "group billing began again in orders-3 after its position was deleted: records below 16 were perhaps read twice"
        );
        assert!(finding.facts[0].contains("reading began there or before"), "{:?}", finding.facts);
    }

    #[test]
    fn of_a_partition_that_was_not_given_nothing_is_told_of_what_is_stored() {
        let went_through = || step(RewindKind::SteppedBack, Some(0), Then::WentThrough(Offset(12)));
        let not_given = &judged(vec![went_through()])[0];
        assert!(not_given.facts[1].contains("of orders-3 nothing was given"), "{:?}", not_given.facts);
        assert!(not_given.alternatives.iter().any(|rival| rival.code == "duplicate" && rival.kept));
        let relations = Relations {
            rewinds: vec![went_through()],
            topics: vec![TopicNote {
                name: "orders".to_owned(),
                identity: "content".to_owned(),
                chosen_by_user: false,
                volatile: Vec::new(),
                every_repeat: false,
                contents: crate::plan::Contents::default(),
                client_times: crate::plan::ClientTimes::default(),
                masked_ids: Vec::new(),
                compacted: false,
            }],
            partitions: vec![PartitionNote {
                topic: 0,
                partition: 3,
                cluster: ClusterNumber(0),
                directory: "orders-3".to_owned(),
                called: None,
                broker_id: None,
                segments: Vec::new(),
                log_start_offset: Offset(0),
                last_stable_offset: Offset(20),
                first_unprotected_offset: None,
                old_formats: Vec::new(),
                damaged_bytes: 0,
                snapshots: Vec::new(),
                newest_batches: Vec::new(),
                begun_below: Vec::new(),
                aborts: Vec::new(),
            }],
            ..Relations::default()
        };
        let given = &judge(&relations, Examples::All)[0];
        assert!(given.facts[1].ends_with("was read twice, not written twice"), "{:?}", given.facts);
    }

    #[test]
    fn what_does_not_show_it_is_only_possible() {
        for step in [
            step(RewindKind::SteppedBack, Some(2), Then::Passed(Offset(17))),
            step(RewindKind::SteppedBack, Some(0), Then::Nothing),
            step(RewindKind::AfterDeletion, Some(0), Then::WentThrough(Offset(9))),
        ] {
            assert_eq!(judged(vec![step.clone()])[0].confidence, Confidence::Possible, "{step:?}");
        }
    }

    #[test]
    fn the_steps_of_one_group_are_one_finding_with_a_cap() {
        let steps = vec![step(RewindKind::SteppedBack, None, Then::Nothing); 5];
        let findings = judged(steps);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].rewinds.len(), findings[0].rewinds_omitted), (2, 3));
        assert!(judged(vec![]).is_empty());
    }
}
