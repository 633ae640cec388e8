//! Findings that say the same of several topics, told once where people read them.
//!
//! Goes in: findings in their order. Comes out: each with those behind it that differ from it in nothing but the
//! names of topics and in numbers: one code, one severity and confidence, the same rivals for the same reasons,
//! the same cause and the same advice. Two findings of one topic are two incidents and stay apart. Forms for
//! programs have every finding by itself.

use crate::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};

/// A finding, and those of other topics that say the same.
#[derive(Clone, Debug)]
pub(super) struct Folded<'r> {
    pub(super) finding: &'r Finding,
    pub(super) likewise: Vec<&'r Finding>,
}

/// Each finding once, by itself or behind the first one that says the same of another topic.
pub(super) fn fold<'r>(findings: &[&'r Finding]) -> Vec<Folded<'r>> {
    let mut folded: Vec<Folded<'r>> = Vec::new();
    // By what they say: the places of those that begin, with the topics that each holds by now.
    let mut known: BTreeMap<String, Vec<(usize, BTreeSet<&'r str>)>> = BTreeMap::new();
    for &finding in findings {
        let begun = known.entry(kind(finding)).or_default();
        let [topic] = finding.topics.as_slice() else {
            folded.push(Folded { finding, likewise: Vec::new() });
            continue;
        };
        let first = begun.iter_mut().find(|(_, topics)| !topics.contains(topic.as_str()));
        if let Some((at, topics)) = first {
            topics.insert(topic);
            folded.get_mut(*at).into_iter().for_each(|first| first.likewise.push(finding));
        } else {
            begun.push((folded.len(), BTreeSet::from([topic.as_str()])));
            folded.push(Folded { finding, likewise: Vec::new() });
        }
    }
    folded
}

/// What a finding says, without names of topics and numbers.
fn kind(finding: &Finding) -> String {
    let mut said = vec![
        finding.code.to_string(),
        finding.severity.to_string(),
        finding.confidence.to_string(),
        finding.level.as_ref().map(|level| level.words().to_owned()).unwrap_or_default(),
        finding.since_baseline.as_ref().map(|since| since.name().to_owned()).unwrap_or_default(),
        bare(&finding.title, &finding.topics),
    ];
    for rival in &finding.alternatives {
        said.push(format!("{} {} {}", rival.code, rival.kept, bare(&rival.why, &finding.topics)));
    }
    said.extend(
        finding
            .cause
            .iter()
            .map(|cause| format!("{} {}", cause.confidence, bare(&cause.text, &finding.topics))),
    );
    said.extend(finding.advice.iter().map(|line| bare(line, &finding.topics)));
    said.join("\n")
}

/// A sentence with a sign for each name of a topic and for each number.
fn bare(line: &str, topics: &[String]) -> String {
    let mut line = line.to_owned();
    for topic in topics.iter().filter(|topic| !topic.is_empty()) {
        line = line.replace(topic.as_str(), "\u{1}");
    }
    let mut out = String::new();
    for character in line.chars() {
        match character {
            '0'..='9' if out.ends_with('\u{2}') => {}
            '0'..='9' => out.push('\u{2}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Alternative, Code, Confidence};

    fn finding(topic: &str, copies: u64) -> Finding {
        Finding {
            confidence: Confidence::Likely,
            title: format!("{copies} records of {topic} were sent again by a later producer session"),
            topics: vec![topic.to_owned()],
            alternatives: vec![Alternative {
                code: "concurrent-producers".to_owned(),
                kept: true,
                why: format!("session {copies}#1 is not seen again in {topic}-0"),
            }],
            ..Finding::empty(Code::ResendNewSession)
        }
    }

    fn told(findings: &[Finding]) -> Vec<(String, usize)> {
        let all: Vec<&Finding> = findings.iter().collect();
        fold(&all).iter().map(|one| (one.finding.title.clone(), one.likewise.len())).collect()
    }

    #[test]
    fn the_same_of_several_topics_is_told_once() {
        let told = told(&[finding("orders", 20), finding("refunds", 4), finding("payments", 113)]);
        assert_eq!(
            told,
            [("20 records of orders were sent again by a later producer session".to_owned(), 2)]
        );
    }

    #[test]
    fn two_incidents_of_one_topic_stay_apart() {
        let numbers: Vec<usize> = told(&[finding("orders", 20), finding("orders", 4), finding("refunds", 3)])
            .iter()
            .map(|one| one.1)
            .collect();
        assert_eq!(numbers, [1, 0]);
    }

    #[test]
    fn another_confidence_or_another_reason_is_another_finding() {
        let (first, mut unsure, mut other) =
            (finding("orders", 20), finding("refunds", 20), finding("payments", 20));
        unsure.confidence = Confidence::Possible;
        other.alternatives[0].why = "the earlier session wrote on".to_owned();
        assert_eq!(told(&[first, unsure, other]).len(), 3);
    }
}
