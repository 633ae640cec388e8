//! Two reports compared: which findings are new, grown, shrunk, gone or unchanged.
//!
//! Findings match in this order, each at most once:
//!
//! 1. by id. An id is made of the topic and the place where the finding begins, so it stays while the
//!    log grows;
//! 2. by evidence: the same code, and a surplus copy, gap, transaction or stretch at the same place.
//!    This finds a finding again whose beginning was removed by retention.
//!
//! A finding has *grown* when its severity rose or any of its counts did, else it has *shrunk* when any
//! count fell. Counts are of all that was found, whatever the report lists (`--max-groups`).

use super::layout::{Page, Width};
use super::markdown::{code, text};
use super::model::{Report, SCHEMA_VERSION, Tool};
use super::table::{escaped, head, most, named, what};
use super::wording::{counted, listed, number, opening};
use crate::finding::{Code, Confidence, Finding, Severity, SinceBaseline};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Rows of the table of a ticket.
const ROWS: usize = 45;

/// What changed from one report to another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The version of this shape.
    pub schema_version: String,
    /// What compared them.
    pub tool: Tool,
    /// The earlier report.
    pub before: Side,
    /// The later report.
    pub after: Side,
    /// What makes the two hard to compare: other clusters, topics made anew, other options.
    pub warnings: Vec<String>,
    /// Findings of the later report alone.
    pub new: Vec<Change>,
    /// Findings of both that are more, or worse, than they were.
    pub grown: Vec<Change>,
    /// Findings of both that are less than they were.
    pub shrunk: Vec<Change>,
    /// Findings of the earlier report alone.
    pub gone: Vec<Change>,
    /// Findings of both that are as they were.
    pub unchanged: Vec<Change>,
}

/// One of the two reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// The paths that were audited.
    pub paths: Vec<String>,
    /// What stood for "now".
    pub as_of_time: Option<String>,
    /// How many findings it has.
    pub findings: u64,
    /// Whether everything could be read.
    pub complete: bool,
}

/// One finding, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// How the two were matched: `id` or `evidence`; `null` where there is only one.
    pub matched_by: Option<&'static str>,
    /// The id in the earlier report, where it was another.
    pub id_before: Option<String>,
    /// How sure the earlier report was, where that was another.
    pub confidence_before: Option<Confidence>,
    /// What is counted, as `[before, after]`; only what is not zero in both.
    pub amounts: BTreeMap<&'static str, [u64; 2]>,
    /// The finding as the later report has it; as the earlier one had it where it is gone. Without
    /// its groups.
    pub finding: Finding,
    /// What the copies of the finding share.
    #[serde(skip)]
    shared: &'static str,
}

/// Compares two reports.
#[must_use]
pub fn compare(before: &Report, after: &Report) -> Difference {
    let mut difference = Difference {
        schema_version: SCHEMA_VERSION.to_owned(),
        tool: Tool::this(),
        before: side(before),
        after: side(after),
        warnings: warnings(before, after),
        new: Vec::new(),
        grown: Vec::new(),
        shrunk: Vec::new(),
        gone: Vec::new(),
        unchanged: Vec::new(),
    };
    let pairs = matches(&before.findings, &after.findings);
    for (index, finding) in after.findings.iter().enumerate() {
        let Some(&(at, how)) = pairs.get(&index) else {
            difference.new.push(change(None, Some(finding), None));
            continue;
        };
        let Some(earlier) = before.findings.get(at) else { continue };
        let change = change(Some(earlier), Some(finding), Some(how));
        let more = finding.severity > earlier.severity || change.amounts.values().any(|[old, new]| new > old);
        let less = change.amounts.values().any(|[old, new]| new < old);
        match (more, less) {
            (true, _) => difference.grown.push(change),
            (false, true) => difference.shrunk.push(change),
            (false, false) => difference.unchanged.push(change),
        }
    }
    let matched: BTreeSet<usize> = pairs.values().map(|(at, _)| *at).collect();
    let gone = before.findings.iter().enumerate().filter(|(at, _)| !matched.contains(at));
    difference.gone = gone.map(|(_, finding)| change(Some(finding), None, None)).collect();
    difference
}

impl Difference {
    /// How many findings are new or grown, at this severity or above.
    #[must_use]
    pub fn fresh(&self, least: Severity) -> u64 {
        let fresh = self.new.iter().chain(&self.grown);
        fresh.filter(|change| change.finding.severity >= least).count() as u64
    }

    /// Writes it as indented JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    /// The findings by what became of them.
    const fn lists(&self) -> [(&'static str, &Vec<Change>); 5] {
        [
            ("new", &self.new),
            ("grown", &self.grown),
            ("shrunk", &self.shrunk),
            ("gone", &self.gone),
            ("unchanged", &self.unchanged),
        ]
    }

    /// `Findings: 1 new, 0 grown and 3 unchanged since 2025-11-29T14:02:19.611Z`
    fn in_numbers(&self, foreign: impl Fn(&str) -> String) -> String {
        let lists = self.lists().into_iter();
        let counts: Vec<_> = lists
            .filter(|(name, list)| !list.is_empty() || matches!(*name, "new" | "grown"))
            .map(|(name, list)| format!("{} {name}", number(list.len() as u64)))
            .collect();
        let since = self.before.as_of_time.as_deref().map(|time| format!(" since {}", foreign(time)));
        format!("Findings: {}{}", listed(&counts), since.unwrap_or_default())
    }

    /// Writes it for a ticket: a row a finding, what is new first.
    pub fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut lines = vec![format!("## {}", self.in_numbers(text)), String::new()];
        lines.extend(
            self.warnings
                .iter()
                .flat_map(|warning| [format!("{}.", text(&opening(warning, &[]))), String::new()]),
        );
        if !self.after.complete {
            let unread = "The later report could not read everything: what is gone may only be unread.";
            lines.extend([unread.to_owned(), String::new()]);
        }
        let lists = self.lists().into_iter();
        let rows: Vec<_> =
            lists.flat_map(|(name, list)| list.iter().map(move |change| row(name, change))).collect();
        if !rows.is_empty() {
            lines.push("| | severity | finding | sure | what it says | before → now | id |".to_owned());
            lines.push("| --- | --- | --- | --- | --- | --- | --- |".to_owned());
            let shown = most(ROWS, rows.len());
            let rest = rows.len().saturating_sub(shown) as u64;
            lines.extend(rows.into_iter().take(shown));
            if rest > 0 {
                lines.push(format!("| … | | {} | | | | |", counted(rest, "more finding")));
            }
            lines.push(String::new());
        }
        lines.push(format!("dedup-audit {} diff", text(&self.tool.version)));
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    }

    /// Writes it for people.
    pub fn write_table(&self, width: Width, out: &mut dyn Write) -> io::Result<()> {
        let mut page = Page::new(width);
        let lists = self.lists();
        page.paragraph(0, &format!("{}.", self.in_numbers(|time| named(time).into_owned())));
        for warning in &self.warnings {
            page.paragraph(0, &format!("{}.", opening(&escaped(warning), &[])));
        }
        if !self.after.complete {
            page.paragraph(0, "The later report could not read everything: what is gone may only be unread.");
        }
        for (name, list) in lists {
            if list.is_empty() {
                continue;
            }
            page.blank();
            page.paragraph(0, &opening(name, &[]));
            for change in list {
                one(&mut page, change);
            }
        }
        page.write(out)
    }
}

fn one(page: &mut Page, change: &Change) {
    let finding = &change.finding;
    head(page, 2, finding, change.shared);
    page.item(4, &opening(&escaped(&finding.title), &finding.topics));
    let moved = moved(change);
    if !moved.is_empty() {
        page.item(4, &moved.join(", "));
    }
    let before = change.id_before.as_ref().map(|id| format!(" (was {})", named(id)));
    page.item(4, &format!("{}{}", named(&finding.id), before.unwrap_or_default()));
}

/// A row of the table of a ticket.
fn row(name: &str, change: &Change) -> String {
    let finding = &change.finding;
    let before = change.id_before.as_ref().map(|id| format!(" (was {})", code(id))).unwrap_or_default();
    format!(
        "| {name} | {} | `{}` | {} | {} | {} | {}{before} |",
        finding.severity,
        finding.code,
        finding.confidence,
        text(&opening(&finding.title, &finding.topics)),
        moved(change).join(", "),
        code(&finding.id),
    )
}

/// What is counted otherwise than before.
fn moved(change: &Change) -> Vec<String> {
    let amounts =
        change.amounts.iter().filter(|(_, [old, new])| old != new && change.matched_by.is_some()).map(
            |(name, [old, new])| {
                let name = if *name == "keys" { format!("{}s", change.shared) } else { (*name).to_owned() };
                format!("{name} {} → {}", number(*old), number(*new))
            },
        );
    let surer = change.confidence_before.as_ref();
    amounts.chain(surer.map(|old| format!("confidence {old} → {}", change.finding.confidence))).collect()
}

fn side(report: &Report) -> Side {
    Side {
        paths: report.invocation.paths.clone(),
        as_of_time: report.as_of_time.clone(),
        findings: report.findings.len() as u64,
        complete: report.verdict.complete && !report.verdict.interrupted,
    }
}

/// What makes two reports hard to compare.
fn warnings(before: &Report, after: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    let clusters = |report: &Report| -> BTreeSet<String> {
        report.evidence.iter().filter_map(|evidence| evidence.cluster_id.clone()).collect()
    };
    let [old, new] = [clusters(before), clusters(after)];
    let hides = |report: &Report| report.redaction.as_ref().is_some_and(|redaction| redaction.mode == "all");
    // A name that is hidden in one of them is no other name.
    let names_told = !hides(before) && !hides(after);
    if names_told && !old.is_empty() && !new.is_empty() && old.is_disjoint(&new) {
        let said = |ids: BTreeSet<String>| ids.into_iter().collect::<Vec<_>>().join(", ");
        warnings.push(format!("the reports are of different clusters ({}; {})", said(old), said(new)));
    }
    for topic in after.topics.iter().filter(|_| names_told) {
        let earlier = before.topics.iter().find(|earlier| earlier.topic == topic.topic);
        let ids = earlier.and_then(|earlier| earlier.topic_id.as_ref()).zip(topic.topic_id.as_ref());
        if ids.is_some_and(|(old, new)| old != new) {
            warnings.push(format!(
                "topic {} has another id: it was deleted and made anew, or is of another cluster",
                topic.topic
            ));
        }
    }
    let [old, new] = [before, after].map(|report| {
        let options = report.invocation.options.iter();
        let mut all: BTreeMap<&str, String> = options
            .filter(|(name, _)| !FORM_ALONE.contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), value.to_string()))
            .collect();
        all.insert("key", report.invocation.key.clone());
        all
    });
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let moved: Vec<_> = names
        .into_iter()
        .filter(|name| old.get(name) != new.get(name))
        .map(|name| {
            let told =
                |options: &BTreeMap<&str, String>| options.get(name).map_or("none", |it| it).to_owned();
            format!("{name} {} → {}", told(&old), told(&new))
        })
        .collect();
    if !moved.is_empty() {
        warnings.push(format!("the reports were made with other options: {}", moved.join(", ")));
    }
    warnings
}

/// Options that change how much is shown, and nothing that is counted.
const FORM_ALONE: [&str; 4] = ["maxGroups", "showValues", "baseline", "tempDir"];

/// Says in the findings of the later report what became of them.
pub fn mark(difference: &Difference, findings: &mut [Finding]) {
    for (list, since) in [(&difference.new, SinceBaseline::New), (&difference.grown, SinceBaseline::Grown)] {
        let ids: BTreeSet<&str> = list.iter().map(|change| change.finding.id.as_str()).collect();
        for finding in findings.iter_mut().filter(|finding| ids.contains(finding.id.as_str())) {
            finding.since_baseline = Some(since);
        }
    }
}

fn change(before: Option<&Finding>, after: Option<&Finding>, how: Option<&'static str>) -> Change {
    let shown = after.or(before).cloned().unwrap_or_else(|| Finding::empty(Code::DuplicateUndetermined));
    let [old, new] = [before, after].map(|finding| finding.map(amounts).unwrap_or_default());
    let mut both = BTreeMap::new();
    for name in old.keys().chain(new.keys()) {
        let pair = [old.get(name).copied().unwrap_or(0), new.get(name).copied().unwrap_or(0)];
        if pair != [0, 0] {
            both.insert(*name, pair);
        }
    }
    let id_before = before.map(|finding| &finding.id).filter(|id| **id != shown.id).cloned();
    let confidence_before = before.map(|finding| finding.confidence).filter(|sure| *sure != shown.confidence);
    let shared = what(&shown);
    let finding = Finding { groups: Vec::new(), ..shown };
    Change { matched_by: how, id_before, confidence_before, amounts: both, finding, shared }
}

/// How much a finding is about, by what is counted.
fn amounts(finding: &Finding) -> BTreeMap<&'static str, u64> {
    let listed = |shown: usize, omitted: u64| (shown as u64).saturating_add(omitted);
    let mut amounts = BTreeMap::from([
        ("keys", finding.counts.groups),
        ("surplus records", finding.counts.surplus_records),
        ("visible to read_committed", finding.counts.surplus_committed),
        ("gaps", listed(finding.gaps.len(), finding.gaps_omitted)),
        ("transactions", listed(finding.transactions.len(), 0)),
        ("stretches", listed(finding.stretches.len(), finding.stretches_omitted)),
        ("snapshot differences", listed(finding.snapshots.len(), 0)),
        ("misrouted records", listed(finding.records.len(), finding.records_omitted)),
        ("ranges", listed(finding.ranges.len(), 0)),
    ]);
    if finding.stretches_omitted == 0 {
        let records = finding.stretches.iter().map(|stretch| stretch.records);
        amounts.insert("records in stretches", records.fold(0, u64::saturating_add));
    }
    amounts
}

/// The index of the earlier finding for each later one that has one, and how they were matched.
fn matches(before: &[Finding], after: &[Finding]) -> BTreeMap<usize, (usize, &'static str)> {
    let mut found = BTreeMap::new();
    let mut by_id: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, finding) in before.iter().enumerate().rev() {
        by_id.insert(&finding.id, at);
    }
    for (index, finding) in after.iter().enumerate() {
        if let Some(at) = by_id.remove(finding.id.as_str()) {
            found.insert(index, (at, "id"));
        }
    }
    let mut by_evidence: BTreeMap<(Code, Anchor<'_>), usize> = BTreeMap::new();
    let matched: BTreeSet<usize> = found.values().map(|(at, _)| *at).collect();
    for (at, finding) in before.iter().enumerate().filter(|(at, _)| !matched.contains(at)) {
        for anchor in anchors(finding) {
            by_evidence.entry((finding.code, anchor)).or_insert(at);
        }
    }
    let mut taken = BTreeSet::new();
    for (index, finding) in after.iter().enumerate() {
        if found.contains_key(&index) {
            continue;
        }
        let candidates =
            anchors(finding).filter_map(|anchor| by_evidence.get(&(finding.code, anchor)).copied());
        let free = candidates.into_iter().find(|at| !taken.contains(at));
        if let Some(at) = free {
            taken.insert(at);
            found.insert(index, (at, "evidence"));
        }
    }
    found
}

/// A place that a finding names: what kind, topic, partition, offset, producer.
type Anchor<'a> = (&'static str, &'a str, i32, i64, i64);

fn anchors(finding: &Finding) -> impl Iterator<Item = Anchor<'_>> {
    let surplus = finding.groups.iter().flat_map(|group| &group.copies).filter(|copy| copy.repeats.is_some());
    let copies =
        surplus.map(|copy| ("copy", copy.topic.as_str(), copy.partition, copy.offset, copy.producer_id));
    let gaps = finding
        .gaps
        .iter()
        .map(|gap| ("gap", gap.topic.as_str(), gap.partition, gap.at_offset, gap.producer_id));
    let transactions = finding
        .transactions
        .iter()
        .map(|one| ("transaction", one.topic.as_str(), one.partition, one.first_offset, one.producer_id));
    let stretches = finding.stretches.iter().filter_map(|stretch| {
        Some(("stretch", stretch.topic.as_deref()?, stretch.partition?, stretch.last_offset, 0))
    });
    let records =
        finding.records.iter().map(|one| ("record", one.topic.as_str(), one.partition, one.offset, 0));
    copies.chain(gaps).chain(transactions).chain(stretches).chain(records)
}

/// `3 findings, 1 of them new or grown`, for whoever set a baseline.
#[must_use]
pub fn in_short(difference: &Difference, least: Severity) -> String {
    let fresh = difference.fresh(least);
    format!(
        "{}, {} new or grown at {least} or above",
        counted(difference.after.findings, "finding"),
        number(fresh)
    )
}
