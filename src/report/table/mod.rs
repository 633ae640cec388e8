//! The report for a terminal: what somebody at night reads first.
//!
//! The verdict in sentences, then the findings by severity with a few lines each, then what stands
//! behind them: protection, producers, what counts as one event, coverage. Lists are cut to what a
//! screen holds, and each cut says how much it leaves out; the JSON has it all. Works at any width
//! from 40 columns on; narrower terminals break the lines themselves.

mod backdrop;
mod compare;
mod copies;
mod coverage;
mod finding;
mod lanes;
mod offsets;
mod producers;
mod reconcile;
pub(super) mod singles;
mod timeline;

pub(super) use backdrop::{Names, provisional, readers_by_topic};
pub use compare::{Events, write as write_compared};
pub(super) use copies::{what, writer};
pub(super) use coverage::of_answer;
pub(super) use finding::{head, show_whole};
pub use offsets::write as write_offsets;
pub use producers::write as write_producers;
pub use reconcile::write as write_reconciled;
pub use timeline::write as write_timeline;

use super::escape::Terminal;
use super::fold::{Folded, fold};
use super::layout::{Accent, Page, Width};
use super::model::Report;
use super::wording::{Zone, counted, listed, number, opening};
use super::zoned::told;
use crate::finding::{Code, Finding, Severity};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Findings that are shown with their evidence.
const IN_FULL: usize = 20;
/// Findings at info that are shown, one or two lines each.
const INFOS: usize = 10;
/// Columns that a name may take where others stand beside it.
const NAME_COLUMNS: usize = 60;

/// Writes the report, times in UTC.
pub fn write(report: &Report, width: Width, out: &mut dyn Write) -> io::Result<()> {
    write_in(report, &Zone::default(), width, out)
}

/// Writes the report with times in a zone.
pub fn write_in(report: &Report, zone: &Zone, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let report = &*told(report, zone);
    let mut page = Page::new(width).in_zone(zone.clone());
    verdict(&mut page, report);
    findings(&mut page, report);
    page.blank();
    backdrop::protection(&mut page, report);
    backdrop::producers(&mut page, report);
    lanes::show(&mut page, report);
    backdrop::readers(&mut page, report);
    backdrop::identity(&mut page, report);
    backdrop::updates(&mut page, report);
    coverage::show(&mut page, report);
    if let Some(worst) = in_order(&report.findings).first() {
        page.blank();
        page.paragraph(0, &format!("What a finding means: dedup-audit explain {}", worst.code));
    }
    page.write(out)
}

/// The headline, and what is not said further down: all sentences where nothing loud was found,
/// else what the numbers mean if something could not be read.
fn verdict(page: &mut Page, report: &Report) {
    let headline = escaped(&report.verdict.headline);
    page.paragraph(0, &format!("{}.", opening(headline.trim_end_matches('.'), &[])));
    page.mark_lines(0, Accent::Strong);
    let loud = report.findings.iter().filter(|finding| finding.severity > Severity::Info).count();
    let whole = report.verdict.complete && !report.verdict.interrupted;
    // The last sentence says how much was read, as the line about the coverage does.
    let (last, sentences) =
        report.verdict.sentences.split_last().map_or((None, &[][..]), |(last, rest)| (Some(last), rest));
    let mut said: Vec<Cow<'_, str>> = Vec::new();
    if loud == 0 {
        said.extend(sentences.iter().map(|sentence| escaped(sentence)));
    } else if loud > 1 {
        said.push(Cow::Owned(by_severity(&report.findings)));
    }
    said.extend(last.filter(|_| !whole).map(|sentence| escaped(sentence)));
    if loud == 0 {
        page.blank();
    }
    if !said.is_empty() {
        page.paragraph(0, &said.join(" "));
    }
}

/// `4 findings: 2 high, 2 medium.`
fn by_severity(findings: &[Finding]) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counts: Vec<_> = [Severity::High, Severity::Medium, Severity::Low, Severity::Info]
        .into_iter()
        .map(|severity| (count(severity), severity))
        .filter(|(count, _)| *count > 0)
        .map(|(count, severity)| format!("{} {severity}", number(count as u64)))
        .collect();
    format!("{}: {}.", counted(findings.len() as u64, "finding"), listed(&counts))
}

/// How much of a list is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    /// A few, and how many more there are.
    OfAScreen,
    All,
}

impl Amount {
    /// How many of `all` entries are shown in a list that has room for `few`.
    fn most(self, few: usize, all: usize) -> usize {
        match self {
            Self::OfAScreen => most(few, all),
            Self::All => usize::MAX,
        }
    }
}

/// How many of `all` lines are shown where there is room for `few`: a line that says that one more is left
/// out takes the room of that one.
pub(super) const fn most(few: usize, all: usize) -> usize {
    if all <= few.saturating_add(1) { all } else { few }
}

/// The worst first; among equals as the report has them.
pub(super) fn in_order(findings: &[Finding]) -> Vec<&Finding> {
    let mut findings: Vec<_> = findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    findings
}

fn findings(page: &mut Page, report: &Report) {
    let ordered = in_order(&report.findings);
    let (infos, loud): (Vec<&Finding>, Vec<&Finding>) =
        ordered.into_iter().partition(|finding| finding.severity == Severity::Info);
    let (loud, infos) = (fold(&loud), fold(&infos));
    for Folded { finding, likewise } in loud.iter().take(IN_FULL) {
        page.blank();
        finding::show(page, finding);
        finding::show_likewise(page, likewise);
    }
    if !infos.is_empty() {
        page.blank();
    }
    for Folded { finding, likewise } in infos.iter().take(INFOS) {
        finding::show_briefly(page, finding);
        finding::show_likewise(page, likewise);
    }
    let rest = loud.into_iter().skip(IN_FULL).chain(infos.into_iter().skip(INFOS));
    let rest: Vec<&Finding> = rest.flat_map(|one| std::iter::once(one.finding).chain(one.likewise)).collect();
    if !rest.is_empty() {
        page.blank();
        page.paragraph(
            0,
            &format!(
                "{} not shown here: {}. The JSON report has them.",
                counted(rest.len() as u64, "finding"),
                by_code(&rest)
            ),
        );
    }
}

/// `3 × sequence-gap, 1 × idempotence-off`
fn by_code(findings: &[&Finding]) -> String {
    let mut counts: Vec<(Code, u64)> = Vec::new();
    for finding in findings {
        match counts.iter_mut().find(|(code, _)| *code == finding.code) {
            Some((_, count)) => *count += 1,
            None => counts.push((finding.code, 1)),
        }
    }
    listed(&counts.iter().map(|(code, count)| format!("{count} × {code}")).collect::<Vec<_>>())
}

/// Foreign text in full, up to what a paragraph may hold.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    Terminal::text(text).cut(2000).shown()
}

/// A consumer group by its name, which may be empty: a client that commits without a `group.id` of its own.
pub(super) fn group_named(group: &str) -> Cow<'_, str> {
    if group.is_empty() { Cow::Borrowed("\"\" (without a name)") } else { named(group) }
}

/// A foreign name beside others.
pub(super) fn named(text: &str) -> Cow<'_, str> {
    Terminal::text(text).cut(NAME_COLUMNS).shown()
}
