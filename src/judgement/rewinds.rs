//! `consumer-rewind`: a group's committed position went back over records, so it was given them again.
//! They were read twice, which is not the same as written twice.
//!
//! Goes in: the steps back that the commits show, and what is stored more than once. How sure it is
//! that records were read again depends on what the group committed next: a position inside the
//! stretch shows it; one at the end of it at once may be a late commit that was overtaken.
//! Innocent: an operator who resets a group does this on purpose; after a deletion the topic may have
//! been made anew.

use super::draft::{about, capped, dropped, finding, kept, lines};
use super::duplicates::Examples;
use crate::facts::{Rewind, RewindKind, Then};
use crate::finding::phrase::{moment, offsets};
use crate::finding::{Code, Confidence, Finding, RewindReport, StepKind, Window};
use crate::relations::Relations;
use crate::units::ClusterNumber;
use std::collections::BTreeMap;

/// One finding for each group and topic, without ids.
#[must_use]
pub fn judge(relations: &Relations, examples: Examples) -> Vec<Finding> {
    if relations.rewinds.is_empty() {
        return Vec::new();
    }
    let mut by_group: BTreeMap<(ClusterNumber, &str, &str), (Vec<&Rewind>, usize)> = BTreeMap::new();
    for (rewind, twice) in relations.rewinds.iter().zip(surplus(relations)) {
        let (steps, copies) = by_group.entry((rewind.cluster, &rewind.group, &rewind.topic)).or_default();
        steps.push(rewind);
        *copies += twice;
    }
    by_group
        .into_iter()
        .map(|((_, group, topic), (steps, twice))| of_group(group, topic, &steps, twice, examples))
        .collect()
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
    // A topic by the first of its name: names are told apart by the cluster.
    let topic = |name: &str| relations.topics.iter().position(|topic| topic.name == name);
    let topic = |name: &str| topic(name).and_then(|topic| i64::try_from(topic).ok());
    let mut ends: Vec<([i64; 4], usize)> = Vec::new();
    for (at, rewind) in relations.rewinds.iter().enumerate() {
        let Some(topic) = topic(&rewind.topic) else { continue };
        for offset in [rewind.to, rewind.from] {
            ends.push(([rewind.cluster.0.into(), topic, rewind.partition.into(), offset.0], at));
        }
    }
    let of_topic: Vec<Option<i64>> = relations.topics.iter().map(|one| topic(&one.name)).collect();
    ends.sort_unstable();
    let places = relations.groups.pairs().filter_map(|pair| {
        let note = relations.partition(pair.later.partition)?;
        let topic = of_topic.get(usize::try_from(note.topic).ok()?).copied().flatten()?;
        Some([note.cluster.0.into(), topic, note.partition.into(), pair.later.offset.0])
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

fn of_group(group: &str, topic: &str, steps: &[&Rewind], twice: usize, examples: Examples) -> Finding {
    let confidence = steps.iter().map(|step| confidence(step)).max().unwrap_or(Confidence::Possible);
    let title = match steps {
        [one] => format!("group {group} was given {} again: read twice", stretch(one)),
        more => format!("group {group} stepped back {} times in topic {topic}: read twice", more.len()),
    };
    let mut finding = finding(Code::ConsumerRewind, confidence, title);
    about(&mut finding, steps.iter().map(|step| (topic, step.partition)));
    let times = || steps.iter().filter_map(|step| step.timestamp);
    finding.window = Some(Window::new(times().min(), times().max()));
    finding.facts = capped(steps.iter().map(|step| words(step)), "steps back");
    finding.facts.push(if twice == 0 {
        "no record in between is a surplus copy among what was read: it was read twice, not written twice"
            .to_owned()
    } else {
        format!("{twice} records in between are surplus copies by themselves, whoever reads them")
    });
    finding.alternatives.push(dropped("duplicate", "a position says what was read, not what is stored"));
    if steps.iter().any(|step| matches!(step.then, Then::Passed(_))) {
        finding.alternatives.push(kept(
            "late commit",
            "a member that had lost the partition may commit late; the next commit stands behind the old position",
        ));
    }
    if steps.iter().any(|step| step.kind == RewindKind::AfterDeletion) {
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

/// How sure it is that records were read again.
fn confidence(step: &Rewind) -> Confidence {
    match (step.kind, step.then) {
        (RewindKind::AfterDeletion, _) | (_, Then::Nothing) => Confidence::Possible,
        (_, Then::WentThrough(_)) => Confidence::Certain,
        (_, Then::Passed(_)) if step.members == Some(0) => Confidence::Likely,
        (_, Then::Passed(_)) => Confidence::Possible,
    }
}

fn stretch(step: &Rewind) -> String {
    let again = offsets(step.to.0, step.from.0.saturating_sub(1));
    format!("{again} of {}-{}", step.topic, step.partition)
}

fn words(step: &Rewind) -> String {
    let when = step.timestamp.and_then(moment).map_or_else(String::new, |time| format!(" at {time}"));
    let how = match step.kind {
        RewindKind::SteppedBack => "went back",
        RewindKind::AfterDeletion => "was deleted and began again",
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
        "the position of group {} in {}-{} {how} from {} to {}{when}{generation}{by}{then}",
        step.group, step.topic, step.partition, step.from, step.to
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Offset;

    fn step(kind: RewindKind, members: Option<u32>, then: Then) -> Rewind {
        Rewind {
            leader_epoch: None,
            topic_id: None,
            caught_up: None,
            caught_up_at: None,
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
        assert_eq!(finding.title, "group billing was given offsets 8–15 of orders-3 again: read twice");
        assert_eq!((finding.rewinds[0].then, finding.rewinds[0].members), (Some(12), Some(0)));
        assert!(finding.facts[0].contains("set from outside"), "{:?}", finding.facts);
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
