//! Surplus copies: found, under the right cause, nobody accused falsely, the writers' facts true.

use super::label::{Label, LabelledCopy, LabelledGroup, Place};
use super::report::{Copy, Finding, Group, Report};
use super::{is_duplicate_code, knows_code, tell};
use std::collections::{BTreeMap, BTreeSet};

/// The accused copies with the codes of the findings that accuse them.
///
/// A code that is unknown here and has groups accuses as well.
fn accused(report: &Report) -> BTreeMap<Place, BTreeSet<&str>> {
    let mut accused: BTreeMap<Place, BTreeSet<&str>> = BTreeMap::new();
    for finding in &report.findings {
        if knows_code(&finding.code) && !is_duplicate_code(&finding.code) {
            continue;
        }
        for copy in finding.groups.iter().flat_map(Group::surplus) {
            accused.entry(copy.place()).or_default().insert(&finding.code);
        }
    }
    accused
}

/// The surplus copies of a labelled group. Where nothing says which copy was first, any choice of
/// the report that leaves out one copy is right.
fn surplus(group: &LabelledGroup, accused: &BTreeMap<Place, BTreeSet<&str>>) -> Vec<Place> {
    let all: Vec<Place> = group.copies.iter().map(LabelledCopy::place).collect();
    let named: Vec<Place> = all.iter().filter(|place| accused.contains_key(*place)).cloned().collect();
    if group.any_order && named.len() + 1 == all.len() { named } else { all.into_iter().skip(1).collect() }
}

/// What is missed, under another cause, or falsely accused.
pub fn accusations(label: &Label, report: &Report) -> Vec<String> {
    let accused = accused(report);
    let mut wanted: BTreeMap<Place, BTreeSet<&str>> = BTreeMap::new();
    let mut optional = BTreeSet::new();
    for group in &label.groups {
        for place in surplus(group, &accused) {
            if group.optional {
                optional.insert(place);
            } else if !group.is_innocent() {
                wanted.entry(place).or_default().extend(group.codes());
            }
        }
    }

    let missed: Vec<_> = wanted.keys().filter(|place| !accused.contains_key(*place)).collect();
    let other_cause: Vec<_> = wanted
        .iter()
        .filter_map(|(place, codes)| Some((place, codes, accused.get(place)?)))
        .filter(|(_, codes, told)| codes.is_disjoint(told))
        .collect();
    let falsely: Vec<_> = accused
        .iter()
        .filter(|(place, _)| !optional.contains(*place))
        .flat_map(|(place, codes)| codes.iter().map(move |code| (place, *code)))
        .filter(|(place, code)| {
            *code != super::SAME_KEY_UPDATE && !wanted.get(*place).is_some_and(|codes| codes.contains(code))
        })
        .collect();

    let mut bad = Vec::new();
    tell(&mut bad, "surplus copies not reported", &missed);
    tell(&mut bad, "surplus copies under another cause (label, report)", &other_cause);
    tell(&mut bad, "false accusations", &falsely);
    bad
}

/// Copies of one group are of one event, have its key, and repeat each other.
pub fn groups(label: &Label, report: &Report) -> Vec<String> {
    let mut events: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
    for group in &label.groups {
        let key = group.business_key.as_str().map_or_else(|| group.business_key.to_string(), str::to_owned);
        for copy in &group.copies {
            events.entry(copy.place()).or_default().insert(key.clone());
        }
    }
    let mut strangers = Vec::new();
    let mut other_keys = Vec::new();
    let mut repeats = Vec::new();
    for group in
        report.findings.iter().filter(|finding| is_duplicate_code(&finding.code)).flat_map(|f| &f.groups)
    {
        let places: BTreeSet<Place> = group.copies.iter().map(Copy::place).collect();
        let of_events: Vec<&BTreeSet<String>> = places.iter().filter_map(|place| events.get(place)).collect();
        let Some(common) = of_events.iter().copied().cloned().reduce(|a, b| &a & &b) else { continue };
        if common.is_empty() || of_events.len() < places.len() {
            strangers.push(places.clone());
        } else if group.business_key.text.as_ref().is_some_and(|key| !common.contains(key)) {
            other_keys.push((group.business_key.text.clone(), common));
        }
        for copy in &group.copies {
            let Some(repeated) = &copy.repeats else { continue };
            let place = (repeated.topic.clone(), repeated.partition, repeated.offset);
            if place == copy.place() || !places.contains(&place) {
                repeats.push((copy.place(), place));
            }
        }
    }
    let mut bad = Vec::new();
    tell(&mut bad, "groups of records that are not one event", &strangers);
    tell(&mut bad, "groups with another key (report, label)", &other_keys);
    tell(&mut bad, "copies that repeat what is not in their group", &repeats);
    bad
}

/// How many surplus copies are reported under a code that the label accepts beside its own.
pub fn under_other_codes(label: &Label, report: &Report) -> usize {
    let accused = accused(report);
    let own = label.groups.iter().filter(|group| !group.is_innocent());
    own.flat_map(|group| {
        let code = group.codes().next().unwrap_or_default();
        surplus(group, &accused)
            .into_iter()
            .filter(|place| accused.get(place).is_some_and(|codes| !codes.contains(code)))
            .collect::<Vec<_>>()
    })
    .count()
}

/// Producer, epoch, sequence and visibility of every copy that label and report both name.
pub fn writers(label: &Label, report: &Report) -> Vec<String> {
    let wrote: BTreeMap<_, _> =
        label.groups.iter().flat_map(|group| &group.copies).map(|copy| (copy.place(), copy)).collect();
    let mut unlike = Vec::new();
    for copy in report.findings.iter().flat_map(Finding::copies) {
        let Some(labelled) = wrote.get(&copy.place()) else { continue };
        let told = (copy.producer_id, epoch_and_sequence(copy), copy.visibility.as_str());
        // Epoch and sequence beside an id below 0 mean nothing.
        let epoch_and_sequence = (labelled.producer_id >= 0).then_some((
            labelled.producer_epoch.filter(|epoch| *epoch != -1),
            labelled.sequence.filter(|sequence| *sequence != -1),
        ));
        let want = (labelled.producer_id, epoch_and_sequence, labelled.visibility.as_str());
        if told != want {
            unlike.push((copy.place(), told, want));
        }
    }
    let mut bad = Vec::new();
    tell(&mut bad, "copies with another writer (place, report, label)", &unlike);
    bad
}

fn epoch_and_sequence(copy: &Copy) -> Option<(Option<i16>, Option<i32>)> {
    (copy.producer_id >= 0).then_some((copy.producer_epoch, copy.sequence))
}

/// Nothing is certain that no file can settle.
pub fn confidence(label: &Label, report: &Report) -> Vec<String> {
    let unsettled: BTreeSet<Place> = label
        .groups
        .iter()
        .filter(|group| group.not_certain)
        .flat_map(|group| group.copies.iter().skip(1).map(LabelledCopy::place))
        .collect();
    report
        .findings
        .iter()
        .filter(|finding| finding.confidence == "certain" && finding.code != super::SAME_KEY_UPDATE)
        .filter(|finding| finding.copies().any(|copy| unsettled.contains(&copy.place())))
        .map(|finding| format!("{} is certain of what the files cannot settle", finding.code))
        .collect()
}
