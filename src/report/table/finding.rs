//! One finding: its numbers, a few facts, examples, and what to do.

use super::{Amount, copies, escaped, most, named, singles};
use crate::finding::{Code, Confidence, Counts, Finding, Severity};
use crate::report::escape::width;
use crate::report::layout::{Accent, NO_BREAK, Page};
use crate::report::wording::{Zone, counted, listed, number, opening};

/// Facts that are shown.
const FACTS: usize = 6;
/// Findings of other topics that are named behind the first one.
const LIKEWISE: usize = 10;
/// Places that are named.
const PLACES: usize = 3;

/// A finding with as much of its evidence as a screen holds.
pub(super) fn show(page: &mut Page, finding: &Finding) {
    told(page, finding, Amount::OfAScreen);
}

/// A finding with all that the report says of it, its copies aside.
pub(in crate::report) fn show_whole(page: &mut Page, finding: &Finding) {
    told(page, finding, Amount::All);
}

fn told(page: &mut Page, finding: &Finding, amount: Amount) {
    let all = amount == Amount::All;
    head(page, 0, finding, copies::what(finding));
    page.item(2, &place_and_time(finding, &page.zone().clone()));
    page.item(2, &sentence(&finding.title, finding));
    let facts: Vec<_> = finding.facts.iter().filter(|fact| **fact != finding.title).collect();
    let most = amount.most(FACTS, facts.len());
    for fact in facts.iter().take(most) {
        page.item(2, &sentence(fact, finding));
    }
    if facts.len() > most {
        let more = counted((facts.len() - most) as u64, "more fact");
        page.paragraph(2, &format!("… and {more} in the JSON report"));
    }
    if !all {
        copies::show(page, finding);
    }
    singles::show(page, finding, amount);
    rivals(page, finding);
    let mut why = Vec::new();
    if let Some(cause) = &finding.cause {
        let label = match cause.confidence {
            Confidence::Certain | Confidence::Other(_) => "Cause",
            Confidence::Likely => "Likely cause",
            Confidence::Possible => "Possible cause",
        };
        why.push(format!("{label}: {}.", trimmed(&cause.text)));
    }
    if !finding.would_settle.is_empty() {
        let settle: Vec<_> = finding
            .would_settle
            .iter()
            .take(amount.most(2, finding.would_settle.len()))
            .map(|line| trimmed(line))
            .collect();
        why.push(format!("Would settle it: {}.", settle.join("; ")));
    }
    if !why.is_empty() {
        page.item(2, &why.join(" "));
    }
    next(page, finding, amount);
}

/// A finding at info: what it is and where, and which sequences.
pub(super) fn show_briefly(page: &mut Page, finding: &Finding) {
    head(page, 0, finding, copies::what(finding));
    page.item(2, &place_and_time(finding, &page.zone().clone()));
    page.item(2, &sentence(&finding.title, finding));
    singles::show_gaps(page, finding);
    if finding.code == Code::AbortedThenRetried {
        // Somebody may be about to take the valid copies away.
        let facts = if finding.confidence == Confidence::Certain { 2 } else { 3 };
        for fact in finding.facts.iter().take(facts) {
            page.item(2, &sentence(fact, finding));
        }
        next(page, finding, Amount::OfAScreen);
    }
}

/// What else says the same of other topics: place, numbers and id of each.
pub(super) fn show_likewise(page: &mut Page, likewise: &[&Finding]) {
    if likewise.is_empty() {
        return;
    }
    page.item(2, &format!("Likewise in {}:", counted(likewise.len() as u64, "more topic")));
    let most = most(LIKEWISE, likewise.len());
    for finding in likewise.iter().take(most) {
        let mut parts = vec![place_and_time(finding, &page.zone().clone())];
        parts.insert(1, amount(finding, copies::what(finding)));
        parts.retain(|part| !part.is_empty());
        page.item(4, &parts.join(" · "));
    }
    if likewise.len() > most {
        let more = counted((likewise.len() - most) as u64, "more finding");
        page.paragraph(4, &format!("… and {more} in the JSON report"));
    }
}

fn next(page: &mut Page, finding: &Finding, amount: Amount) {
    if finding.advice.is_empty() {
        return;
    }
    let most = amount.most(3, finding.advice.len());
    let advice: Vec<_> = finding.advice.iter().take(most).map(|line| trimmed(line)).collect();
    page.item(2, &format!("Next: {}.", advice.join("; ")));
}

/// `HIGH  resend-new-session  likely       20 keys · 20 surplus records`; the numbers go to the next
/// line where they would not fit. `shared` is what the copies share; what is new or grown since a baseline says so.
pub(in crate::report) fn head(page: &mut Page, indent: usize, finding: &Finding, shared: &str) {
    let severity = finding.severity.name().to_uppercase();
    let since = finding.since_baseline.as_ref();
    let since = since.map_or_else(String::new, |since| format!("  {}", since.name().to_uppercase()));
    let label = format!("{severity:<6}  {}  {}{since}", finding.code, finding.confidence);
    let amount = amount(finding, shared);
    let line = format!("{label:<36}  {amount}");
    let first = page.line_count();
    if width(&line) + indent <= page.width().columns() {
        page.lines(indent, [line.as_str()]);
    } else {
        page.lines(indent, [label.as_str()]);
        page.item(indent + 2, &amount);
    }
    let accent = match finding.severity {
        Severity::High => Accent::Bad,
        Severity::Medium => Accent::Warning,
        Severity::Low => Accent::Notice,
        Severity::Info | Severity::Other(_) => Accent::Quiet,
    };
    page.mark(first, indent + severity.len(), accent);
}

fn amount(finding: &Finding, shared: &str) -> String {
    let Counts { groups, surplus_records, surplus_committed } = finding.counts;
    if surplus_records == 0 {
        return String::new();
    }
    let copies = match finding.code {
        // The later copy is the one to keep.
        Code::AbortedThenRetried => format!("{} beside an aborted copy", number(surplus_records)),
        _ => counted(surplus_records, "surplus record"),
    };
    let parts = [counted(groups, shared), copies];
    let [keys, copies] = parts.map(|part| part.replace(' ', &NO_BREAK.to_string()));
    let seen = match surplus_committed {
        0 if finding.code == Code::AbortedThenRetried => "none twice for read_committed".to_owned(),
        0 => "none visible to read_committed".to_owned(),
        all if all >= surplus_records => "all visible to read_committed".to_owned(),
        some => format!("{} visible to read_committed", number(some)),
    };
    format!("{keys} · {copies} · {seen}")
}

/// `orders-0 and orders-1 · 2023-11-14 22:13:20.005 – 22:13:21.000 UTC · same content, other time · DA-…`
fn place_and_time(finding: &Finding, zone: &Zone) -> String {
    let most = most(PLACES, finding.partitions.len());
    let mut places: Vec<_> = finding
        .partitions
        .iter()
        .take(most)
        .map(|place| format!("{}-{}", named(&place.topic), place.partition))
        .collect();
    if finding.partitions.len() > most {
        places.push(counted((finding.partitions.len() - most) as u64, "more partition"));
    }
    let window = finding.window.as_ref();
    let times = window.map(|window| zone.labelled_span(window.first_timestamp, window.last_timestamp));
    let mut parts = vec![listed(&places)];
    let kept = if finding.keeps_times() { "record times " } else { "" };
    parts.extend(times.filter(|times| !times.is_empty()).map(|times| format!("{kept}{times}")));
    parts.extend(finding.level.as_ref().map(|level| named(level.words()).into_owned()));
    parts.push(named(&finding.id).into_owned());
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// The rivals that were kept, and those that were dropped: all of them, since the one that is left out is
/// the one that somebody asks about.
fn rivals(page: &mut Page, finding: &Finding) {
    let (kept, dropped): (Vec<_>, Vec<_>) = finding.alternatives.iter().partition(|rival| rival.kept);
    for (label, rivals) in [("Not excluded: ", kept), ("Excluded: ", dropped)] {
        if rivals.is_empty() {
            continue;
        }
        let said: Vec<_> = rivals
            .iter()
            .map(|rival| {
                if rival.why.is_empty() {
                    named(&rival.code).into_owned()
                } else {
                    format!("{} ({})", named(&rival.code), trimmed(&rival.why))
                }
            })
            .collect();
        page.item(2, &format!("{label}{}.", said.join("; ")));
    }
}

/// A line of the judgement as a sentence.
fn sentence(line: &str, finding: &Finding) -> String {
    let line = opening(&trimmed(line), &finding.topics);
    if line.is_empty() || line.ends_with(['!', '?', ':', '…']) { line } else { format!("{line}.") }
}

fn trimmed(line: &str) -> String {
    escaped(line.trim().trim_end_matches('.')).into_owned()
}
