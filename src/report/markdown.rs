//! The report for a ticket: fewer than 60 lines of Markdown that render on GitHub, on GitLab and in
//! Jira's editor.
//!
//! The verdict, a table of the findings, the worst of them with facts, examples and what to do, every other
//! one with its offsets in a paragraph or a line, what makes two records one event, the coverage. Only headings, paragraphs, lists,
//! tables, bold and code spans are used: what all three understand. Foreign text passes
//! [`escape::markdown`] or stands in a code span ([`escape::markdown_code`]), so that no key becomes a
//! link, an image, a mention, a reference or HTML.

use super::answer::Reading;
use super::escape::{self, Terminal};
use super::fold::{Folded, fold};
use super::how_read::{self, HowRead, amount};
use super::model::{Chosen, DamageReport, Report, TopicReport};
use super::table::{Names, in_order, most, provisional, readers_by_topic, singles, writer};
use super::verdict::{agreement, duplicates, worst};
use super::wording::{
    Zone, absent_by_topic, business_key, counted, listed, name, number, opening, parts_of, redacted,
    session_in_words, uncompared,
};
use super::zoned::told;
use crate::finding::{Code, Copy, Finding, Severity, Window, rfc3339};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Lines that a ticket may have.
const LINES: usize = 58;
/// Rows of the table of findings.
const ROWS: usize = 12;
/// Facts of one finding.
const FACTS: usize = 6;
/// Keys of one finding that are shown with their copies.
const GROUPS: usize = 3;
/// Copies of one key that are shown.
const COPIES: usize = 3;
/// Evidence that is no copy, of one finding.
const SINGLES: usize = 3;
/// Places that could not be opened or read.
const UNREADABLE: usize = 4;
/// Places of damage.
const DAMAGE: usize = 2;
/// Notes of the coverage, and topics whose identity is told.
const NOTES: usize = 3;
/// Topics that the title names.
const TOPICS: usize = 3;
/// Findings of other topics that are the same, by place and id.
const LIKEWISE: usize = 6;
/// Columns of a key, and of a sentence.
const KEY: usize = 60;
const SENTENCE: usize = 600;

/// Writes the report, times in UTC.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_in(report, &Zone::default(), out)
}

/// Writes the report with times in a zone.
pub fn write_in(report: &Report, zone: &Zone, out: &mut dyn Write) -> io::Result<()> {
    let report = &*told(report, zone);
    let mut lines = head(report, zone);
    let tail = tail(report, zone);
    let findings = fold(&in_order(&report.findings));
    let ticket = Ticket { report, zone };
    let room = LINES.saturating_sub(lines.len() + tail.len());
    lines.extend(ticket.fitting(&findings, room));
    lines.extend(tail);
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Writes one finding of a report, times in a zone.
pub fn write_finding(report: &Report, finding: &Finding, zone: &Zone, out: &mut dyn Write) -> io::Result<()> {
    let finding = &*told(finding, zone);
    let mut lines = Ticket { report, zone }.section(finding, &[]);
    if finding.level.is_some() {
        let of_it = |topic: &TopicReport| finding.topics.contains(&topic.topic);
        lines.extend(identities(report, of_it).into_iter().flat_map(|line| [line, String::new()]));
    }
    if let Some(redaction) = &report.redaction {
        lines.extend([format!("**Redacted:** {}.", redacted(redaction)), String::new()]);
    }
    let version = text(&report.tool.version);
    lines.push(format!("{}; dedup-audit {version}; times are {}", code(&finding.id), text(&zone.name())));
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// What a title lacks that stands by itself: ` (533 events, topics orders and payments, 2025-11-29 14:02:19.402 –
/// 14:02:19.611 UTC)`. What the headline says already is left out. It is that of all
/// findings about copies and of the worst one, and of the whole log where nothing was found.
fn about(report: &Report, zone: &Zone) -> String {
    let headline = &report.verdict.headline;
    let words: BTreeSet<&str> = headline.split([' ', ',', ';', ':']).collect();
    let copied: Vec<&Finding> = duplicates(&report.findings).collect();
    let worst = worst(&report.findings);
    let about: Vec<&Finding> = copied.iter().copied().chain(worst).collect();
    let mut said = Vec::new();
    let groups = copied.iter().map(|one| one.counts.groups).fold(0, u64::saturating_add);
    let events = counted(groups, "event");
    if groups > 0 && !headline.starts_with(&events) {
        // An event whose copies came about in two ways stands in both findings.
        let up_to = if copied.len() > 1 { "up to " } else { "" };
        said.push(format!("{up_to}{events}"));
    }
    let names: BTreeSet<&str> = if about.is_empty() {
        report.topics.iter().filter(|topic| !topic.internal).map(|topic| topic.topic.as_str()).collect()
    } else {
        about.iter().flat_map(|one| &one.topics).map(String::as_str).collect()
    };
    if names.iter().any(|topic| !words.contains(name(topic).as_str())) {
        let shown = most(TOPICS, names.len());
        let mut listed_names: Vec<_> = names.iter().take(shown).map(|topic| name(topic)).collect();
        if names.len() > shown {
            listed_names.push(format!("{} more", number((names.len() - shown) as u64)));
        }
        let noun = if names.len() == 1 { "topic" } else { "topics" };
        said.push(format!("{noun} {}", listed(&listed_names)));
    }
    let windows: Vec<&Window> = if about.is_empty() {
        let ordinary = report.topics.iter().filter(|topic| !topic.internal);
        ordinary.flat_map(|topic| &topic.partitions).map(|partition| &partition.window).collect()
    } else {
        about.iter().filter_map(|one| one.window.as_ref()).collect()
    };
    let plausible = |time: &i64| rfc3339(*time).is_some();
    let first = windows.iter().filter_map(|window| window.first_timestamp).filter(plausible).min();
    let last = windows.iter().filter_map(|window| window.last_timestamp).filter(plausible).max();
    let span = zone.labelled_span(first, last);
    // Copies that keep the times of what they repeat were written later.
    let kept = if about.iter().any(|one| one.keeps_times()) { "record times " } else { "" };
    said.extend(Some(format!("{kept}{span}")).filter(|_| !span.is_empty()));
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

fn head(report: &Report, zone: &Zone) -> Vec<String> {
    let headline = opening(report.verdict.headline.trim_end_matches('.'), &[]);
    let mut lines = vec![format!("## {}{}", text(&headline), text(&about(report, zone))), String::new()];
    if !report.verdict.sentences.is_empty() {
        let sentences: Vec<_> = report.verdict.sentences.iter().map(|sentence| text(sentence)).collect();
        lines.extend([sentences.join(" "), String::new()]);
    }
    if report.findings.is_empty() {
        return lines;
    }
    lines.push(
        "| severity | finding | sure | events | surplus copies | read_committed sees | where | id |"
            .to_owned(),
    );
    lines.push("| --- | --- | --- | ---: | ---: | ---: | --- | --- |".to_owned());
    let shown = most(ROWS, report.findings.len());
    for finding in in_order(&report.findings).into_iter().take(shown) {
        let counts = finding.counts;
        let count = |count: u64| if counts.surplus_records == 0 { String::new() } else { number(count) };
        let surplus = match finding.code {
            // The later copy is the one to keep.
            Code::AbortedThenRetried => format!("{} aborted", number(counts.surplus_records)),
            _ => count(counts.surplus_records),
        };
        lines.push(format!(
            "| {} | `{}` | {} | {} | {surplus} | {} | {} | {} |",
            finding.severity,
            finding.code,
            finding.confidence,
            count(counts.groups),
            count(counts.surplus_committed),
            places(finding),
            code(&finding.id),
        ));
    }
    if report.findings.len() > shown {
        let rest = counted((report.findings.len() - shown) as u64, "more finding");
        lines.push(format!("| … | {rest} | | | | | | |"));
    }
    lines.push(String::new());
    lines
}

fn places(finding: &Finding) -> String {
    let shown = most(2, finding.partitions.len());
    let mut places: Vec<_> =
        finding.partitions.iter().take(shown).map(|one| code(&place(&one.topic, one.partition))).collect();
    if finding.partitions.len() > shown {
        places.push(format!("{} more", number((finding.partitions.len() - shown) as u64)));
    }
    listed(&places)
}

fn title(finding: &Finding) -> String {
    let since = finding.since_baseline.as_ref();
    let since =
        since.map_or_else(String::new, |since| format!(", {} since the baseline", text(since.name())));
    format!("### {} `{}` ({}{since})", finding.severity, finding.code, finding.confidence)
}

/// Words of a list as one sentence with a label in front; nothing where there are none.
fn labelled(label: &str, words: &[String], few: usize) -> Option<String> {
    let shown = words.iter().take(most(few, words.len()));
    let shown: Vec<_> = shown.map(|line| text(line.trim().trim_end_matches('.'))).collect();
    (!shown.is_empty()).then(|| format!("{label} {}.", shown.join("; ")))
}

/// What is not to be done, among the advice behind the first lines.
fn cautions(finding: &Finding, behind: usize) -> impl Iterator<Item = String> {
    finding.advice.iter().skip(behind).filter(|line| line.trim_start().starts_with("do not ")).cloned()
}

/// The rivals that were kept or dropped: all of them.
fn rivals(finding: &Finding, kept: bool) -> Option<String> {
    let rivals: Vec<_> = finding
        .alternatives
        .iter()
        .filter(|rival| rival.kept == kept && !rival.code.is_empty())
        .map(|rival| match rival.why.trim().trim_end_matches('.') {
            "" => text(&rival.code),
            why => format!("{} ({})", text(&rival.code), text(why)),
        })
        .collect();
    let label = if kept { "Not excluded" } else { "Excluded" };
    (!rivals.is_empty()).then(|| format!("{label}: {}.", rivals.join("; ")))
}

/// The findings of a report.
struct Ticket<'r> {
    report: &'r Report,
    zone: &'r Zone,
}

impl Ticket<'_> {
    /// Every finding in as many words as there is room for: the worst with its evidence, the last ones in
    /// one line each.
    fn fitting(&self, findings: &[Folded<'_>], room: usize) -> Vec<String> {
        // A line for each, an empty one behind them, and one for what does not fit at all.
        let listed = findings.len().min(room.saturating_sub(2));
        let mut sections = Vec::new();
        let mut used = listed + usize::from(listed > 0) + usize::from(findings.len() > listed);
        let alone = findings.iter().all(|one| one.finding.severity == Severity::Info);
        for Folded { finding, likewise } in findings.iter().take(listed) {
            if finding.severity == Severity::Info && !alone {
                break;
            }
            // It takes the place of its own line.
            let left = room.saturating_sub(used.saturating_sub(1));
            let mut forms = [self.section(finding, likewise), self.short(finding, likewise)].into_iter();
            let Some(section) = forms.find(|one| one.len() <= left) else { break };
            used = used.saturating_sub(1) + section.len();
            sections.push(section);
        }
        let whole = sections.len();
        let mut lines: Vec<String> = sections.into_iter().flatten().collect();
        lines.extend(findings.iter().take(listed).skip(whole).map(|one| self.line(one)));
        if findings.len() > listed {
            let more = findings.iter().skip(listed).map(|one| 1 + one.likewise.len() as u64).sum();
            let more = counted(more, "more finding");
            lines.push(format!("- {more} in the JSON report only."));
        }
        if findings.len() > whole {
            lines.push(String::new());
        }
        lines
    }

    /// One finding in one line: what it says, where, and what to do; of one that matters also what speaks
    /// against it, what would settle it, and what is not to be done.
    fn line(&self, Folded { finding, likewise }: &Folded<'_>) -> String {
        let mut sentences =
            vec![format!("{}.{}", said(&finding.title, finding), self.where_it_is(finding, 1))];
        let mut advice: Vec<String> = finding.advice.iter().take(1).cloned().collect();
        if finding.severity >= Severity::Medium {
            sentences.extend(rivals(finding, true));
            sentences.extend(labelled("Would settle it:", &finding.would_settle, 1));
            advice.extend(cautions(finding, 1));
        }
        sentences.extend(labelled("Next:", &advice, advice.len()));
        sentences.extend(in_other_topics(likewise));
        let (severity, code, sure) = (finding.severity, &finding.code, &finding.confidence);
        format!("- {severity} `{code}` ({sure}): {}", sentences.join(" "))
    }

    /// One finding as a paragraph.
    fn short(&self, finding: &Finding, likewise: &[&Finding]) -> Vec<String> {
        let mut sentences =
            vec![format!("{}.{}", said(&finding.title, finding), self.where_it_is(finding, FACTS))];
        sentences.extend(rivals(finding, true));
        sentences.extend(labelled("Would settle it:", &finding.would_settle, 2));
        let advice: Vec<String> =
            finding.advice.iter().take(2).cloned().chain(cautions(finding, 2)).collect();
        sentences.extend(labelled("Next:", &advice, advice.len()));
        sentences.extend(in_other_topics(likewise));
        vec![title(finding), String::new(), sentences.join(" "), String::new()]
    }

    /// The offsets of a finding, as its first facts that have them or its evidence say them.
    fn where_it_is(&self, finding: &Finding, few: usize) -> String {
        let title = &finding.title;
        let facts = finding.facts.iter().filter(|fact| *fact != title && fact.contains("offset"));
        let mut told: Vec<String> = facts.take(few).map(|fact| said(fact, finding)).collect();
        if told.is_empty() {
            let evidence = singles::lines(finding, SINGLES, self.zone);
            told.extend(evidence.iter().map(|line| text(line)));
        }
        if told.is_empty() {
            let copies = finding.groups.iter().flat_map(|group| &group.copies).take(COPIES);
            let told_at = |copy: &Copy| code(&format!("{}-{}@{}", copy.topic, copy.partition, copy.offset));
            told.extend(copies.map(told_at));
        }
        if told.is_empty() { String::new() } else { format!(" {}.", told.join(". ")) }
    }

    /// One finding with its evidence.
    fn section(&self, finding: &Finding, likewise: &[&Finding]) -> Vec<String> {
        let mut lines =
            vec![title(finding), String::new(), format!("{}.", said(&finding.title, finding)), String::new()];
        let times = finding
            .window
            .as_ref()
            .map(|window| self.zone.labelled_span(window.first_timestamp, window.last_timestamp));
        let facts: Vec<_> = finding.facts.iter().filter(|fact| **fact != finding.title).collect();
        let shown = most(FACTS, facts.len());
        lines.extend(facts.iter().take(shown).map(|fact| format!("- {}.", said(fact, finding))));
        if facts.len() > shown {
            let more = counted((facts.len() - shown) as u64, "more fact");
            lines.push(format!("- … and {more} in the JSON report."));
        }
        let evidence = singles::lines(finding, SINGLES, self.zone);
        lines.extend(evidence.iter().map(|line| format!("- {}.", text(line))));
        let label = if finding.keeps_times() { "Record times" } else { "Times" };
        lines.extend(times.filter(|times| !times.is_empty()).map(|times| format!("- {label}: {times}.")));
        let rivals = [true, false].into_iter().filter_map(|kept| rivals(finding, kept));
        lines.extend(rivals.map(|line| format!("- {line}")));
        if let Some(cause) = &finding.cause {
            let cause_of = text(cause.text.trim().trim_end_matches('.'));
            lines.push(format!("- Cause ({}): {cause_of}.", cause.confidence));
        }
        if lines.last().is_some_and(|line| !line.is_empty()) {
            lines.push(String::new());
        }
        lines.extend(self.copies(finding));
        for (label, words) in
            [("**Would settle it:**", &finding.would_settle), ("**Next:**", &finding.advice)]
        {
            lines.extend(labelled(label, words, 3).into_iter().flat_map(|line| [line, String::new()]));
        }
        lines.extend(in_other_topics(likewise).into_iter().flat_map(|line| [line, String::new()]));
        lines
    }

    /// The best examples, a row a copy.
    fn copies(&self, finding: &Finding) -> Vec<String> {
        if finding.groups.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![
            format!(
                "| {} | copy | offset | written by | time ({}) | how equal |",
                text(&self.identity_of(finding)),
                text(&self.zone.name())
            ),
            "| --- | --- | ---: | --- | --- | --- |".to_owned(),
        ];
        for group in finding.groups.iter().take(GROUPS) {
            let key = business_key(&group.business_key);
            for (index, copy) in group.copies.iter().take(COPIES).enumerate() {
                let key = if index == 0 { code(&key) } else { String::new() };
                lines.push(row(&key, copy, self.zone));
            }
        }
        let shown = finding.groups.len().min(GROUPS) as u64;
        if finding.counts.groups > shown {
            let rest = counted(finding.counts.groups - shown, "more event");
            lines.push(format!("| … | {rest} | | | | |"));
        }
        lines.push(String::new());
        lines
    }

    /// What tells the events of a finding: `record key`, `content`, `json:/orderId`.
    fn identity_of(&self, finding: &Finding) -> String {
        let mut topics =
            self.report.topics.iter().filter(|topic| finding.topics.first() == Some(&topic.topic));
        let key = topics.find_map(|topic| topic.identity.as_ref()).map(|identity| identity.key.as_str());
        match key {
            Some("record-key") => "record key".to_owned(),
            Some(key) => key.to_owned(),
            None => "event".to_owned(),
        }
    }
}

/// `Likewise in 3 more topics: 4 surplus copies in `refunds-0` (`DA-…`).`; the table above has their numbers.
fn in_other_topics(likewise: &[&Finding]) -> Option<String> {
    let shown = most(LIKEWISE, likewise.len());
    let mut told: Vec<String> = likewise
        .iter()
        .take(shown)
        .map(|finding| {
            let copies = match finding.counts.surplus_records {
                0 => String::new(),
                copies => format!("{} in ", counted(copies, "surplus record")),
            };
            format!("{copies}{} ({})", places(finding), code(&finding.id))
        })
        .collect();
    if likewise.len() > shown {
        told.push(format!("{} more", number((likewise.len() - shown) as u64)));
    }
    let more = counted(likewise.len() as u64, "more topic");
    (!likewise.is_empty()).then(|| format!("Likewise in {more}: {}.", listed(&told)))
}

fn row(key: &str, copy: &Copy, zone: &Zone) -> String {
    let place = place(&copy.topic, copy.partition);
    let level = copy.level.map(|level| text(level.words())).unwrap_or_default();
    let visibility = match copy.visibility {
        crate::finding::Visibility::NonTransactional => String::new(),
        other => format!(", {other}"),
    };
    let time = zone.time(copy.timestamp, None);
    format!(
        "| {key} | {} | {} | {}{visibility} | {time} | {level} |",
        code(&place),
        copy.offset,
        writer(copy)
    )
}

/// What makes two records one event in the topics that findings about copies are about.
fn identities(report: &Report, is_told: impl Fn(&TopicReport) -> bool) -> Option<String> {
    let topics: Vec<_> = report.topics.iter().filter(|topic| !topic.internal && is_told(topic)).collect();
    let names = Names::of(report);
    let shown = most(NOTES, topics.len());
    let mut said: Vec<String> = topics
        .iter()
        .take(shown)
        .filter_map(|topic| {
            let identity = topic.identity.as_ref()?;
            let who = match identity.chosen {
                Chosen::User => "as asked",
                Chosen::Auto | Chosen::Other(_) => "chosen by the tool",
            };
            Some(format!("{}: {} ({who})", called(topic, &names), text(&agreement(&identity.key, report))))
        })
        .collect();
    if topics.len() > shown {
        said.push(format!("{} in the JSON report", counted((topics.len() - shown) as u64, "more topic")));
    }
    (!said.is_empty()).then(|| format!("**One event** are records when {}.", said.join("; ")))
}

/// The name of a topic, and which it is where another one has the same.
fn called(topic: &TopicReport, names: &Names<'_>) -> String {
    format!("{}{}", code(&topic.topic), text(&names.which(topic)))
}

/// What readers of each topic get, where several were read.
fn readers(report: &Report) -> Option<String> {
    let (topics, names) = (readers_by_topic(report), Names::of(report));
    let shown = most(NOTES, topics.len());
    let mut said: Vec<String> = topics
        .iter()
        .take(shown)
        .map(|(topic, seen)| format!("{}: {}", called(topic, &names), text(seen)))
        .collect();
    if topics.len() > shown {
        said.push(format!("{} in the JSON report", counted((topics.len() - shown) as u64, "more topic")));
    }
    (!said.is_empty()).then(|| format!("**Readers** get of {}.", said.join("; of ")))
}

fn tail(report: &Report, zone: &Zone) -> Vec<String> {
    let coverage = &report.coverage;
    let read = HowRead::of(coverage, Reading::of_verdict(&report.verdict)).words();
    let is_told = |topic: &TopicReport| {
        let about = |finding: &Finding| finding.level.is_some() && finding.topics.contains(&topic.topic);
        report.findings.iter().any(about)
    };
    let mut lines: Vec<String> =
        identities(report, is_told).into_iter().flat_map(|line| [line, String::new()]).collect();
    lines.extend(readers(report).into_iter().flat_map(|line| [line, String::new()]));
    lines.push(format!("**Coverage:** {}: {read}.", amount(coverage)));
    lines.extend(how_read::agreement(coverage).map(|said| format!("- {said}")));
    lines.extend(absent_by_topic(coverage).iter().take(NOTES).map(|line| format!("- {}", text(line))));
    lines.extend(uncompared(coverage).iter().map(|line| format!("- {}", text(line))));
    let (unreadable, damaged): (Vec<_>, Vec<_>) =
        coverage.unexpected().partition(|damage| damage.is_unreadable());
    let place = |what: &str, damage: &DamageReport| {
        format!("- {what}: {} at {}: {}", code(&damage.file), damage.position, text(&damage.detail))
    };
    lines.extend(unreadable.iter().take(UNREADABLE).map(|damage| place("not readable", damage)));
    lines.extend(damaged.iter().take(DAMAGE).map(|damage| place("damage", damage)));
    let rest = unreadable.len().saturating_sub(UNREADABLE) as u64;
    if rest > 0 {
        lines.push(format!("- {} not readable in the JSON report", counted(rest, "more place")));
    }
    let rest = (damaged.len().saturating_sub(DAMAGE) as u64).saturating_add(coverage.damage_omitted);
    if rest > 0 {
        lines.push(format!("- {} of damage in the JSON report", counted(rest, "more place")));
    }
    let shown = most(NOTES, coverage.notes.len());
    for note in coverage.notes.iter().take(shown) {
        let file = note.file.as_ref().map(|file| format!("{}: ", code(file))).unwrap_or_default();
        lines.push(format!("- note: {file}{}", text(&note.detail)));
    }
    let rest = (coverage.notes.len().saturating_sub(shown) as u64).saturating_add(coverage.notes_omitted);
    if rest > 0 {
        lines.push(format!("- {} in the JSON report", counted(rest, "more note")));
    }
    if let Some(provisional) = provisional(report) {
        lines.push(format!("- {provisional}"));
    }
    if let Some(redaction) = &report.redaction {
        lines.extend([String::new(), format!("**Redacted:** {}.", redacted(redaction))]);
    }
    let version = text(&report.tool.version);
    let as_of = match (&report.as_of_time, zone.is_utc()) {
        (None, _) => String::new(),
        (Some(time), true) => format!(", as of {}", text(time)),
        (Some(_), false) => format!(", as of {}", zone.labelled_span(report.as_of_timestamp, None)),
    };
    let mut sessions = report.findings.iter().flat_map(|one| &one.groups).flat_map(|group| &group.copies);
    let session = sessions.find_map(|copy| parts_of(copy.session.as_deref()?).and(copy.session.as_deref()));
    let session = session.map(|name| format!("; {}", text(&session_in_words(name)))).unwrap_or_default();
    let times = text(&zone.name());
    lines.extend([String::new(), format!("dedup-audit {version}{as_of}; times are {times}{session}")]);
    lines
}

/// A line of the judgement, with a large letter in front and no full stop.
fn said(line: &str, finding: &Finding) -> String {
    text(&opening(line.trim().trim_end_matches('.'), &finding.topics))
}

/// `orders-0`
fn place(topic: &str, partition: i32) -> String {
    format!("{topic}-{partition}")
}

/// Foreign text, with the names of sessions as code: a `#` in them is no reference.
pub(in crate::report) fn text(text: &str) -> String {
    let cut = Terminal::text(text).cut(SENTENCE).to_string();
    let mut rest = cut.as_str();
    let mut escaped = String::new();
    while let Some((before, name, behind)) = next_session(rest) {
        escaped.push_str(&escape::markdown(before));
        // Two spans side by side would be one.
        if escaped.ends_with('`') {
            break;
        }
        escaped.push_str(&code(name));
        rest = behind;
    }
    escaped + &escape::markdown(rest)
}

/// The next name of a session, as a word of its own.
fn next_session(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text.get(from..)?.find('#').map(|at| at + from) {
        let (before, behind) = text.split_at(at);
        let begin = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let digits = behind.get(1..)?.bytes().take_while(u8::is_ascii_digit).count();
        let end = at + 1 + digits;
        let apart = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | ',' | '.' | ';' | ':' | '(' | ')'));
        if parts_of(text.get(begin..end)?).is_some()
            && apart(text.get(..begin)?.chars().next_back())
            && apart(text.get(end..)?.chars().next())
        {
            return Some((text.get(..begin)?, text.get(begin..end)?, text.get(end..)?));
        }
        from = at + 1;
    }
    None
}

pub(in crate::report) fn code(text: &str) -> String {
    escape::markdown_code(Terminal::text(text).cut(KEY))
}
