//! `offsets` for a terminal: each group with its positions, the commits around a step back, and what
//! is stored twice with the groups that have the copies behind them.

use super::{coverage, escaped, finding, group_named, named};
use crate::finding::phrase::offsets;
use crate::finding::{RewindReport, StepKind};
use crate::report::answer::Answer;
use crate::report::layout::{Page, Width};
use crate::report::offsets::{CommitReport, GroupGenerations, GroupPosition, Offsets};
use crate::report::wording::{Zone, counted, number};
use crate::report::zoned::told;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Partitions of a group that are shown.
const PARTITIONS: usize = 20;
/// Steps back of a position that are shown.
const STEPS: usize = 5;
/// Commits of a position that are shown.
const COMMITS: usize = 10;
/// Generations of a group that are shown, the newest.
const GENERATIONS: usize = 5;
/// Findings that are shown.
const FINDINGS: usize = 20;

/// Writes the answer.
pub fn write(answer: &Answer<Offsets>, zone: &Zone, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(width).in_zone(zone.clone());
    let offsets = &*told(&answer.body, zone);
    page.paragraph(0, &headline(offsets));
    for of_group in offsets.groups.chunk_by(is_same_group) {
        page.blank();
        group(&mut page, of_group, offsets);
    }
    for found in offsets.findings.iter().take(FINDINGS) {
        page.blank();
        finding::show(&mut page, found);
    }
    let more = offsets.findings.len().saturating_sub(FINDINGS) as u64;
    if more > 0 {
        page.blank();
        page.paragraph(0, &format!("… and {} more in the JSON", counted(more, "finding")));
    }
    page.blank();
    if offsets.uncommitted > 0 {
        page.paragraph(
            0,
            &format!(
                "{} in transactions without an end: not counted.",
                counted(offsets.uncommitted, "position")
            ),
        );
    }
    coverage::of_answer(&mut page, answer);
    page.write(out)
}

fn headline(offsets: &Offsets) -> String {
    let groups = offsets.groups.chunk_by(is_same_group).count() as u64;
    let steps: u64 = offsets.groups.iter().map(|one| one.rewinds.len() as u64).sum();
    let positions = counted(offsets.groups.len() as u64, "position");
    let back = match steps.saturating_add(offsets.rewinds_omitted) {
        0 => "none went back".to_owned(),
        1 => "one of them went back once".to_owned(),
        steps => format!("they went back {} times", number(steps)),
    };
    let back = match offsets.groups.iter().map(|one| one.begun_again).sum() {
        0 => back,
        again => {
            format!("{back}, as far as commits tell ({} anew behind a deletion)", counted(again, "beginning"))
        }
    };
    let of = match offsets.clusters.len() as u64 {
        0 | 1 => String::new(),
        several => format!(" of {}", counted(several, "cluster")),
    };
    format!("{}{of} with {positions}: {back}.", counted(groups, "consumer group"))
}

/// Groups of one name in two clusters are two.
fn is_same_group(a: &GroupPosition, b: &GroupPosition) -> bool {
    (a.cluster, &a.group) == (b.cluster, &b.group)
}

/// In which of several clusters a group is.
fn in_cluster(offsets: &Offsets, cluster: u32) -> String {
    let told = usize::try_from(cluster).ok().and_then(|at| offsets.clusters.get(at));
    told.map_or_else(String::new, |told| match &told.cluster_id {
        Some(id) => format!(" in cluster {}", named(id)),
        None => format!(" in the cluster of {}", escaped(&told.directories.join(", "))),
    })
}

fn group(page: &mut Page, positions: &[GroupPosition], offsets: &Offsets) {
    let Some(first) = positions.first() else { return };
    page.paragraph(0, &format!("Group {}{}", group_named(&first.group), in_cluster(offsets, first.cluster)));
    let of_it = |told: &&GroupGenerations| (told.cluster, &told.group) == (first.cluster, &first.group);
    if let Some(told) = offsets.generations.iter().find(of_it) {
        generations_of(page, told);
    }
    for position in positions.iter().take(PARTITIONS) {
        position_of(page, position);
    }
    let more = positions.len().saturating_sub(PARTITIONS) as u64;
    if more > 0 {
        page.paragraph(2, &format!("… and {} more in the JSON", counted(more, "partition")));
    }
}

fn generations_of(page: &mut Page, told: &GroupGenerations) {
    let skipped = told.generations.len().saturating_sub(GENERATIONS);
    let one_protocol =
        told.generations.iter().skip(skipped).map(|one| &one.protocol).collect::<BTreeSet<_>>().len() == 1;
    let said: Vec<_> = told
        .generations
        .iter()
        .skip(skipped)
        .map(|one| {
            let protocol = if one_protocol { String::new() } else { format!("{} ", named(&one.protocol)) };
            let members = one
                .members
                .map_or_else(String::new, |members| format!(", {}", counted(u64::from(members), "member")));
            format!(
                "{protocol}{} at {}{members}",
                one.generation,
                page.zone().labelled_span(one.timestamp, None)
            )
        })
        .collect();
    if said.is_empty() {
        return;
    }
    let protocol = told.generations.last().filter(|_| one_protocol);
    let protocol = protocol.map_or_else(String::new, |one| format!(" ({})", named(&one.protocol)));
    let earlier = if skipped > 0 { format!("{skipped} earlier ones; ") } else { String::new() };
    page.item(2, &format!("generations{protocol}: {earlier}{}", said.join("; ")));
}

fn position_of(page: &mut Page, position: &GroupPosition) {
    let now = position.position.map_or_else(|| "deleted".to_owned(), |offset| offset.to_string());
    let all = (position.commits.len() as u64).saturating_add(position.commits_omitted);
    let times = page.zone().labelled_span(
        position.commits.first().and_then(|commit| commit.timestamp),
        position.commits.last().and_then(|commit| commit.timestamp),
    );
    let times = match (times.is_empty(), position.commits_omitted) {
        (true, _) => times,
        (false, 0) => format!(", {times}"),
        (false, _) => format!(", the last {} of them {times}", number(position.commits.len() as u64)),
    };
    page.item(
        2,
        &format!(
            "{}-{}  position {now}, committed from {} to {} in {}{times}",
            named(&position.topic),
            position.partition,
            position.lowest,
            position.highest,
            counted(all, "commit"),
        ),
    );
    for step in position.rewinds.iter().take(STEPS) {
        page.item(4, &step_back(step, &page.zone().clone()));
    }
    let more = position.rewinds.len().saturating_sub(STEPS) as u64;
    if more > 0 {
        page.paragraph(4, &format!("… and {} more steps back in the JSON", number(more)));
    }
    if position.topic_made_anew > 0 {
        let times = match position.topic_made_anew {
            1 => String::new(),
            times => format!(" {} times", number(times)),
        };
        page.item(
            4,
            &format!(
                "the topic was deleted and made anew{times}, by the topic ids in the commits: positions of before mean other \
                 records, and a lower one behind that is no step back"
            ),
        );
    }
    if position.begun_again > 0 {
        let times = match position.begun_again {
            1 => String::new(),
            times => format!(" {} times", number(times)),
        };
        page.item(
            4,
            &format!(
                "was deleted and committed again{times} where it had been or behind: from where the group read until then \
                 is not told, perhaps what it had read before"
            ),
        );
    }
    commits(page, position);
}

/// `went back from 16 to 8 at …: offsets 8–15 again`
fn step_back(step: &RewindReport, zone: &Zone) -> String {
    let (from, to) = (step.from, step.to);
    let how = match step.kind {
        StepKind::SteppedBack => format!("went back from {from} to {to}"),
        StepKind::AfterDeletion => format!("was deleted at {from} and committed again as {to}"),
        StepKind::Other(_) => format!("came from {from} to {to}"),
    };
    let members = match step.members {
        Some(0) => ", the group had no members",
        Some(_) => ", the group had members",
        None => "",
    };
    let then = match step.then {
        Some(then) => format!("; then {then}"),
        None => "; no later commit shows that anybody did".to_owned(),
    };
    // A consumer commits behind what it has read.
    let before = match (&step.kind, step.members) {
        (StepKind::AfterDeletion, Some(0)) => "",
        (StepKind::AfterDeletion, _) => "what lies below was perhaps read already, and ",
        _ => "",
    };
    let again = match (step.again_first, step.again_last) {
        (Some(first), Some(last)) => {
            let were = if first == last { "was" } else { "were" };
            format!("{} {were} to be read again", offsets(first, last))
        }
        _ => "no record that is here lies between".to_owned(),
    };
    format!("{how} at {}{members}: {before}{again}{then}", zone.time(step.timestamp, None))
}

fn commits(page: &mut Page, position: &GroupPosition) {
    let skipped = position.commits.len().saturating_sub(COMMITS);
    let shown = position.commits.iter().skip(skipped);
    let left_out = (skipped as u64).saturating_add(position.commits_omitted);
    let zone = page.zone().clone();
    let known = position.commits.get(skipped).and_then(|commit| zone.day(commit.timestamp?));
    if left_out > 0 {
        page.paragraph(4, &format!("… {} before these", counted(left_out, "commit")));
    }
    let lines: Vec<_> = shown.map(|commit| line(commit, known.as_deref(), &zone)).collect();
    page.lines(4, lines.iter().map(String::as_str));
}

fn line(commit: &CommitReport, known_day: Option<&str>, zone: &Zone) -> String {
    let offset = commit.offset.map_or_else(|| "deleted".to_owned(), |offset| offset.to_string());
    let generation =
        commit.generation.map_or_else(String::new, |generation| format!("  generation {generation}"));
    let producer = commit.producer_id.map_or_else(String::new, |id| format!("  transaction of PID {id}"));
    let when = zone.time(commit.timestamp, known_day);
    format!("{when:<12}  {offset:>10}  @{}{generation}{producer}", commit.at_offset)
}
