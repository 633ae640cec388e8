//! Findings that explain each other name each other: copies without producer id, and the stretch in
//! which nothing protected them; sequences that are missing, and the missing offsets in which they were.

use super::draft::{count, kept};
use crate::finding::phrase::offsets;
use crate::finding::{Code, Copy, Finding, Gap, GapReason, MisroutedRecord};
use std::collections::{BTreeMap, BTreeSet};

/// Findings of the other kind that are named one by one.
const NAMED: usize = 3;

/// Adds a line to findings that belong together; they have their ids.
pub fn link(findings: &mut [Finding]) {
    link_holes(findings);
    link_tails(findings);
    link_misrouted(findings);
    link_misplaced(findings);
    link_sessions(findings);
    let is_stretch = |code: Code| matches!(code, Code::IdempotenceOff | Code::IdempotenceLost);
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (at, stretch) in findings.iter().enumerate().filter(|(_, finding)| is_stretch(finding.code)) {
        let inside: Vec<(usize, &Finding)> =
            findings.iter().enumerate().filter(|(_, finding)| repeats_inside(finding, stretch)).collect();
        for (copies, _) in &inside {
            lines.push((
                *copies,
                format!("no producer id protected these records: see {} {}", stretch.code, stretch.id),
            ));
        }
        if inside.is_empty() {
            continue;
        }
        let mut named: Vec<String> = inside
            .iter()
            .take(NAMED)
            .map(|(_, finding)| format!("{} {}", finding.code, finding.id))
            .collect();
        if inside.len() > NAMED {
            named.push(format!("{} more", inside.len() - NAMED));
        }
        let records: u64 = inside.iter().map(|(_, finding)| finding.counts.surplus_records).sum();
        let of_retries = inside.iter().all(|(_, finding)| finding.code == Code::RetryWithoutIdempotence);
        let prevented =
            if of_retries { "; idempotence would have stopped them, if they are retries" } else { "" };
        let all_inside = inside.iter().all(|(_, finding)| is_within(finding, stretch));
        let lie = if records == 1 { "lies" } else { "lie" };
        let copies = count(records, "surplus copy", "surplus copies");
        let part = if all_inside { "" } else { "part of " };
        let lie = format!("{part}{copies} without producer id {lie} among these records");
        lines.push((at, format!("{lie}: {}{prevented}", named.join(", "))));
    }
    tell(findings, lines);
}

/// Whether two findings are about one topic: its name may be that of another one as well.
fn share_a_topic(one: &Finding, other: &Finding) -> bool {
    one.topic_numbers.iter().any(|topic| other.topic_numbers.contains(topic))
}

/// Adds a fact to each of these findings.
fn tell(findings: &mut [Finding], lines: Vec<(usize, String)>) {
    for (at, line) in lines {
        if let Some(finding) = findings.get_mut(at) {
            finding.facts.push(line);
        }
    }
}

/// Links the two views of one loss: `offset-gap` has the offsets and how many they are, `sequence-gap` the
/// producers whose sequences they cut.
fn link_holes(findings: &mut [Finding]) {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (at, cut) in findings.iter().enumerate().filter(|(_, finding)| finding.code == Code::SequenceGap) {
        let over_files = |gap: &&Gap| gap.reason == GapReason::MissingSegment;
        for (hole, offsets) in
            findings.iter().enumerate().filter(|(_, finding)| finding.code == Code::OffsetGap)
        {
            if !share_a_topic(cut, offsets) {
                continue;
            }
            let here = || cut.gaps.iter().filter(over_files).filter(|gap| lies_in(gap, offsets));
            let producers: BTreeSet<i64> = here().map(|gap| gap.producer_id).collect();
            if producers.is_empty() {
                continue;
            }
            let sequences = here().map(|gap| u64::from(gap.missing)).fold(0, u64::saturating_add);
            let ids: Vec<String> = producers.iter().take(NAMED).map(ToString::to_string).collect();
            let more = producers.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let who = if producers.len() == 1 { "producer" } else { "producers" };
            let sequences = count(sequences, "sequence", "sequences");
            let cut_by = format!("{sequences} of {who} {}{more} are among them", ids.join(", "));
            let not_all = if cut.gaps_omitted > 0 { ", of those that are listed" } else { "" };
            lines.push((
                hole,
                format!("one loss, told twice: {cut_by}{not_all}; see {} {}", cut.code, cut.id),
            ));
            lines.push((
                at,
                format!(
                    "one loss, told twice: where offsets are missing as well, {} {} has their number",
                    offsets.code, offsets.id
                ),
            ));
        }
    }
    tell(findings, lines);
}

/// Says of a session that another replica holds records which the leading one lost: it may have written longer.
fn link_tails(findings: &mut [Finding]) {
    let is_tail = |code: Code| matches!(code, Code::OldLeaderTail | Code::ReplicaDivergence);
    let (mut lines, mut ends): (Vec<(usize, String)>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, resend) in findings.iter().enumerate() {
        if resend.code != Code::ResendNewSession {
            continue;
        }
        let mut tails = findings.iter().filter(|tail| is_tail(tail.code) && share_a_topic(tail, resend));
        if let Some(tail) =
            tails.find(|tail| tail.partitions.iter().any(|place| resend.partitions.contains(place)))
        {
            let held = tail.ranges.iter().filter(|range| {
                resend.partitions.iter().any(|place| {
                    (place.topic.as_str(), place.partition) == (range.topic.as_str(), range.partition)
                })
            });
            let held: Vec<String> = held
                .take(NAMED)
                .map(|range| {
                    let place = offsets(range.first_offset, range.last_offset);
                    format!("{}-{} {place}: {}", range.topic, range.partition, range.what)
                })
                .collect();
            lines.push((
                at,
                format!(
                    "sessions are told here as the leading replica holds them, and another one holds records that it does not (see \
                     {} {}; {}): the earlier session may have written on behind what is told of it, and what of that was sent \
                     again may stand here once, and is then not among these copies",
                    tail.code,
                    tail.id,
                    held.join("; ")
                ),
            ));
            ends.push(at);
        }
    }
    for at in ends {
        for line in findings.get_mut(at).into_iter().flat_map(|resend| &mut resend.would_settle) {
            *line = line.replace(
                "between the end of session ",
                "between the end, in the leading replica, of session ",
            );
        }
    }
    tell(findings, lines);
}

/// Findings about copies that one session wrote of what another one had written.
fn is_of_two(code: Code) -> bool {
    matches!(
        code,
        Code::ResendNewSession
            | Code::ConcurrentProducers
            | Code::AbortedThenRetried
            | Code::DuplicateUndetermined
    )
}

/// The two sessions whose records a finding is about, as far as it lists them; none where they are more.
fn two_sessions(finding: &Finding) -> Option<[&str; 2]> {
    let copies = finding.groups.iter().flat_map(|group| &group.copies);
    let sessions: Option<BTreeSet<&str>> = copies.map(|copy| copy.session.as_deref()).collect();
    let mut sessions = sessions?.into_iter();
    match (sessions.next(), sessions.next(), sessions.next()) {
        (Some(one), Some(other), None) => Some([one, other]),
        _ => None,
    }
}

/// Links findings about the same two sessions: what came again after one restart is told topic by topic, and what two instances share may be
/// told by how its transactions ended.
fn link_sessions(findings: &mut [Finding]) {
    let mut of_two: BTreeMap<[&str; 2], Vec<usize>> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate().filter(|(_, finding)| is_of_two(finding.code)) {
        if let Some(sessions) = two_sessions(finding) {
            of_two.entry(sessions).or_default().push(at);
        }
    }
    let mut lines: Vec<(usize, String)> = Vec::new();
    for ([one, other], places) in of_two {
        for &at in &places {
            let Some(finding) = findings.get(at) else { continue };
            let others: Vec<&Finding> = places
                .iter()
                .filter(|place| **place != at)
                .filter_map(|place| findings.get(*place))
                .collect();
            if others.is_empty() {
                continue;
            }
            let mut named: Vec<String> = others
                .iter()
                .take(NAMED)
                .map(|finding| format!("{} {} in {}", finding.code, finding.id, finding.topics.join(", ")))
                .collect();
            if others.len() > NAMED {
                named.push(format!("{} more", others.len() - NAMED));
            }
            let restart = Code::ResendNewSession;
            let is_one = finding.code == restart && others.iter().all(|other| other.code == restart);
            let told = if is_one { ": one incident, told topic by topic" } else { "" };
            lines.push((
                at,
                format!("sessions {one} and {other} are also those of {}{told}", named.join(", ")),
            ));
        }
    }
    tell(findings, lines);
}

/// Links copies to their places as `misrouted-key` tells them: their writer puts keys elsewhere than the others.
fn link_misrouted(findings: &mut [Finding]) {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (at, stray) in findings.iter().enumerate().filter(|(_, one)| one.code == Code::MisroutedKey) {
        let places: BTreeSet<(&str, i32, i64)> =
            stray.records.iter().map(|one| (one.topic.as_str(), one.partition, one.offset)).collect();
        let copies = |finding: &Finding| {
            let copies = finding.groups.iter().flat_map(|group| &group.copies);
            let surplus = copies.filter(|copy| copy.repeats.is_some());
            surplus
                .filter(|copy| places.contains(&(copy.topic.as_str(), copy.partition, copy.offset)))
                .count()
        };
        for (other, finding) in findings.iter().enumerate() {
            // What one client put into the wrong place has a story of its own.
            let is_of_two = matches!(finding.code, Code::ResendNewSession | Code::ConcurrentProducers);
            let number = copies(finding);
            if number == 0 || !is_of_two || !share_a_topic(stray, finding) {
                continue;
            }
            let (stand, are) = if number == 1 { ("stands", "is") } else { ("stand", "are") };
            let number = count(u64::try_from(number).unwrap_or(u64::MAX), "listed copy", "listed copies");
            lines.push((
                other,
                format!(
                    "{number} {stand} in a partition that the keys of the topic do not lead to (see {} {}): the later writer \
                     chooses partitions in another way",
                    stray.code, stray.id
                ),
            ));
            lines.push((
                at,
                format!(
                    "{number} of {} {} {are} among these records: one writer that wrote events again and chooses partitions in another way",
                    finding.code, finding.id
                ),
            ));
        }
    }
    tell(findings, lines);
}

/// What is told of one batch by where it belongs, by its sequences and by its keys.
///
/// A batch that a client sent under the name of another partition (KAFKA-19012) steps into the sequences of that one, and
/// into its keys. Where the rightful partition is not among the files, these two are all that is to be seen of it.
fn link_misplaced(findings: &mut [Finding]) {
    let of = |code: Code| findings.iter().enumerate().filter(move |(_, one)| one.code == code);
    let is_gap = |one: &Finding| matches!(one.code, Code::SequenceGap | Code::SequenceGapExplained);
    let (mut lines, mut rivals) = (Vec::new(), Vec::new());
    for (whole, batch) in of(Code::MisplacedBatch) {
        let places = misplaced_places(batch);
        let is_of_it = |gap: &Gap| {
            let behind =
                |copy: &&Copy| (copy.producer_id, copy.batch_base_offset) == (gap.producer_id, gap.at_offset);
            let copies = batch.groups.iter().flat_map(|group| &group.copies);
            copies
                .filter(behind)
                .any(|copy| (copy.topic.as_str(), copy.partition) == (gap.topic.as_str(), gap.partition))
        };
        let told = format!("{} {}", batch.code, batch.id);
        for (at, gaps) in findings.iter().enumerate().filter(|(_, one)| is_gap(one)) {
            let number = gaps.gaps.iter().filter(|gap| is_of_it(gap)).count();
            if number == 0 {
                continue;
            }
            lines.push((
                whole,
                format!("its sequences in the second place are told in {} {}", gaps.code, gaps.id),
            ));
            lines.push((at, format!("a batch that most likely belongs elsewhere: its sequences go on in another partition; see {told}")));
            if number == gaps.gaps.len() && gaps.gaps_omitted == 0 {
                rivals.push((at, Sure::Known, told.clone()));
            }
        }
        for (at, stray) in of(Code::MisroutedKey) {
            let inside =
                |one: &&MisroutedRecord| places.contains(&(one.topic.as_str(), one.partition, one.offset));
            let number = stray.records.iter().filter(inside).count();
            if number == 0 {
                continue;
            }
            lines.push((
                whole,
                format!("its keys in the second place are told in {} {}", stray.code, stray.id),
            ));
            let are = if number == 1 { "is" } else { "are" };
            let records = count(u64::try_from(number).unwrap_or(u64::MAX), "listed record", "listed records");
            lines.push((
                at,
                format!("{records} {are} of a batch that most likely belongs elsewhere; see {told}"),
            ));
            if number == stray.records.len() && stray.records_omitted == 0 {
                rivals.push((at, Sure::Known, told.clone()));
            }
        }
    }
    for (at, gaps) in findings.iter().enumerate().filter(|(_, one)| is_gap(one)) {
        for gap in gaps.gaps.iter().filter(|gap| gap.reason == GapReason::FirstAppend) {
            for (other, stray) in of(Code::MisroutedKey) {
                let begins = stray.records.iter().any(|one| {
                    (one.topic.as_str(), one.partition, one.offset)
                        == (gap.topic.as_str(), gap.partition, gap.at_offset)
                });
                if !begins || rivals.iter().any(|(known, ..)| *known == at || *known == other) {
                    continue;
                }
                let place = format!("{}-{} offset {}", gap.topic, gap.partition, gap.at_offset);
                let both = |id: &Finding| {
                    format!(
                        "the first batch of producer {} at {place} begins at sequence {}, and its keys lead to another partition \
                     (see {} {}): a batch that a client sent under the name of another partition looks like that (KAFKA-19012)",
                        gap.producer_id, gap.found, id.code, id.id
                    )
                };
                rivals.push((at, Sure::Perhaps, both(stray)));
                rivals.push((other, Sure::Perhaps, both(gaps)));
            }
        }
    }
    tell(findings, lines);
    for (at, sure, why) in rivals {
        let Some(finding) = findings.get_mut(at) else { continue };
        let code = Code::MisplacedBatch.name();
        finding.alternatives.retain(|rival| rival.code != code);
        let why = match sure {
            Sure::Perhaps => why,
            Sure::Known => {
                finding.advice = vec![format!("look at {why} first: it is about these very records")];
                format!("{why} is about these very records, and likelier")
            }
        };
        finding.alternatives.insert(0, kept(code, why));
    }
}

/// Whether a batch is known to belong elsewhere, or only looks like it.
#[derive(Clone, Copy)]
enum Sure {
    Known,
    Perhaps,
}

/// The offsets of a misplaced batch: all of them where it is one, else the listed ones.
fn misplaced_places(batch: &Finding) -> BTreeSet<(&str, i32, i64)> {
    let copies = || batch.groups.iter().filter_map(|group| group.copies.last());
    let listed = copies().map(|copy| (copy.topic.as_str(), copy.partition, copy.offset));
    let batches: BTreeSet<_> =
        copies().map(|copy| (copy.topic.as_str(), copy.partition, copy.batch_base_offset)).collect();
    let mut places: BTreeSet<_> = listed.collect();
    if let (1, Some(&(topic, partition, base))) = (batches.len(), batches.first()) {
        let records = i64::try_from(batch.counts.surplus_records.min(LARGEST_BATCH)).unwrap_or(0);
        places.extend((0..records).map(|record| (topic, partition, base.saturating_add(record))));
    }
    places
}

/// Records of a batch that are looked for one by one.
const LARGEST_BATCH: u64 = 100_000;

/// Whether one of the holes that a finding is about ends in front of the batch behind a gap.
fn lies_in(gap: &Gap, offsets: &Finding) -> bool {
    offsets.ranges.iter().any(|hole| {
        hole.topic == gap.topic && hole.partition == gap.partition && hole.last_offset < gap.at_offset
    })
}

/// Whether all that a finding is about lies in partitions of `stretch`.
fn is_within(finding: &Finding, stretch: &Finding) -> bool {
    finding.partitions.iter().all(|place| stretch.partitions.contains(place))
}

/// Whether a finding is about surplus copies without producer id in the partitions of `stretch`.
fn repeats_inside(finding: &Finding, stretch: &Finding) -> bool {
    let caught = matches!(
        finding.code,
        Code::RetryWithoutIdempotence | Code::DuplicateUndetermined | Code::ResendNewSession
    );
    let unprotected = || {
        let copies = finding.groups.iter().flat_map(|group| group.copies.iter().skip(1));
        copies.clone().next().is_some() && copies.into_iter().all(|copy| copy.producer_id < 0)
    };
    caught
        && share_a_topic(finding, stretch)
        && finding.partitions.iter().any(|place| stretch.partitions.contains(place))
        && unprotected()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::PartitionContext;
    use crate::facts::script::fold_in;
    use crate::judgement::{gaps, identify, offsets};

    fn linked(script: &str) -> Vec<Finding> {
        let (context, facts) = fold_in(PartitionContext::default(), script);
        let partitions = [(&context, &facts)];
        let mut findings = gaps::judge(&partitions, &[]);
        findings.extend(offsets::judge(&partitions));
        identify(&mut findings, &[]);
        link(&mut findings);
        findings
    }

    #[test]
    fn one_missing_file_is_one_loss_with_its_offsets_and_the_producers_that_it_cut() {
        let findings = linked("D 5/0 0..4; D 6/0 0..0; at 20; roll; D 5/0 9..9; D 6/0 3..3");
        let [cut, hole] = &findings[..] else { panic!("{findings:#?}") };
        assert_eq!((&cut.code, &hole.code), (&Code::SequenceGap, &Code::OffsetGap));
        let number = format!(
            "one loss, told twice: where offsets are missing as well, offset-gap {} has their number",
            hole.id
        );
        assert_eq!(cut.facts.last(), Some(&number));
        let producers = format!(
            "one loss, told twice: 6 sequences of producers 5, 6 are among them; see sequence-gap {}",
            cut.id
        );
        assert_eq!(hole.facts.last(), Some(&producers));
    }

    #[test]
    fn a_gap_without_a_missing_file_and_a_file_without_a_gap_stand_alone() {
        for script in ["D 5/0 0..4; at 20; roll; D 6/0 0..0", "D 5/0 0..4; at 9; D 5/0 9..9"] {
            let findings = linked(script);
            let told_twice = |finding: &Finding| finding.facts.iter().any(|fact| fact.contains("told twice"));
            assert!(!findings.is_empty() && !findings.iter().any(told_twice), "{findings:#?}");
        }
    }
}
