//! What stands behind the findings: protection, the producers that they name, what consumers see,
//! what counts as one event, and updates.

use super::{most, named};
use crate::finding::Finding;
use crate::finding::phrase::{range, sequences};
use crate::plan::ASKED_FOR;
use crate::report::escape::width;
use crate::report::layout::Page;
use crate::report::model::{Chosen, Identity, Report, SessionReport, TopicReport, VisibleRecords};
use crate::report::wording::{self, Zone, counted, listed, number, parts_of, session_in_words};
use comfy_table::{ContentArrangement, Table, presets};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of the labels on the left.
pub(super) const LABEL: usize = 12;
/// Topics that are shown one by one.
const TOPICS: usize = 10;
/// Topics that are named where the same is said of all.
const NAMES: usize = 5;
/// Topics of which it is told what readers get.
const READERS: usize = 5;
/// Sessions that are shown.
const SESSIONS: usize = 10;

/// A label on the left, padded.
pub(super) fn label(text: &str) -> String {
    format!("{text:<LABEL$}")
}

fn ordinary(report: &Report) -> Vec<&TopicReport> {
    report.topics.iter().filter(|topic| !topic.internal).collect()
}

/// How topics are called where others of the same name were given, too: by topic id, else by directory.
pub(in crate::report) struct Names<'r> {
    topics: BTreeMap<&'r str, Vec<&'r TopicReport>>,
}

impl<'r> Names<'r> {
    pub(in crate::report) fn of(report: &'r Report) -> Self {
        let mut topics: BTreeMap<&str, Vec<&TopicReport>> = BTreeMap::new();
        for topic in &report.topics {
            topics.entry(&topic.topic).or_default().push(topic);
        }
        Self { topics }
    }

    fn of_topic(&self, topic: &TopicReport) -> String {
        format!("{}{}", named(&topic.topic), self.which(topic))
    }

    /// ` (topic id …)` where the name alone does not tell the topic.
    pub(in crate::report) fn which(&self, topic: &TopicReport) -> String {
        let namesakes = self.topics.get(topic.topic.as_str()).map_or(&[][..], Vec::as_slice);
        if namesakes.len() < 2 {
            return String::new();
        }
        let id = topic.topic_id.as_deref();
        let alone = namesakes.iter().filter(|other| other.topic_id.as_deref() == id).count() == 1;
        let directory = topic.partitions.first().map(|partition| partition.directory.as_str());
        match (id.filter(|_| alone), directory) {
            (Some(id), _) => format!(" (topic id {})", named(id)),
            (None, Some(directory)) => format!(" (in {})", named(directory)),
            (None, None) => String::new(),
        }
    }

    /// Whether others of the same name were given.
    pub(super) fn has_namesakes(&self, topic: &str) -> bool {
        self.topics.get(topic).is_some_and(|all| all.len() > 1)
    }

    /// The same of the topic that a copy of this directory is of.
    pub(super) fn which_in(&self, topic: &str, directory: &str) -> String {
        let all = self.topics.get(topic).map_or(&[][..], Vec::as_slice);
        let holds = |one: &&&TopicReport| one.partitions.iter().any(|part| part.directory == directory);
        all.iter().find(holds).map_or_else(String::new, |one| self.which(one))
    }
}

/// One entry a topic below one label, cut after some.
fn by_topic(page: &mut Page, report: &Report, title: &str, entries: &[(&TopicReport, String)]) {
    let single = ordinary(report).len() == 1;
    let all_names = Names::of(report);
    // What is said of several topics is said once.
    let mut told: Vec<(&str, Vec<&TopicReport>)> = Vec::new();
    for (topic, text) in entries {
        match told.iter_mut().find(|(known, _)| known == text) {
            Some((_, topics)) => topics.push(topic),
            None => told.push((text, vec![topic])),
        }
    }
    for (index, (text, topics)) in told.iter().take(TOPICS).enumerate() {
        let title = if index == 0 { label(title) } else { label("") };
        let shown = most(NAMES, topics.len());
        let mut names: Vec<_> = topics.iter().take(shown).map(|topic| all_names.of_topic(topic)).collect();
        if topics.len() > shown {
            names.push(counted((topics.len() - shown) as u64, "more topic"));
        }
        let name = if single { String::new() } else { format!("{}: ", listed(&names)) };
        page.hanging(0, &title, &format!("{name}{text}"));
    }
    if told.len() > TOPICS {
        let rest = told.iter().skip(TOPICS).map(|(_, topics)| topics.len() as u64).sum();
        let rest = counted(rest, "topic");
        page.hanging(0, &label(""), &format!("… and {rest} that the JSON report names"));
    }
}

pub(super) fn protection(page: &mut Page, report: &Report) {
    let mut entries: Vec<(u64, &TopicReport, String)> = Vec::new();
    for topic in ordinary(report) {
        let leading = topic.partitions.iter().filter(|partition| partition.replica_of.is_none());
        let mut counts = [0_u64; 5];
        for partition in leading {
            let kinds = &partition.protection;
            let parts = [
                partition.records,
                kinds.transactional_records,
                kinds.idempotent_records,
                kinds.unprotected_records,
                kinds.legacy_records,
            ];
            for (sum, part) in counts.iter_mut().zip(parts) {
                *sum = sum.saturating_add(part);
            }
        }
        let [records, transactional, idempotent, none, legacy] = counts;
        let kinds = [
            ("transactional", transactional),
            ("idempotent", idempotent),
            ("unprotected", none),
            ("in formats 0 and 1", legacy),
        ];
        let said: Vec<_> = kinds
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| format!("{kind} {}", number(*count)))
            .collect();
        let said = if said.is_empty() {
            "no records".to_owned()
        } else {
            format!("{} of {}", listed(&said), counted(records, "record"))
        };
        entries.push((none, topic, said));
    }
    // What is unprotected comes first; the order among the others is that of the names.
    entries.sort_by_key(|(none, _, _)| Reverse(*none));
    let entries: Vec<_> = entries.into_iter().map(|(_, topic, said)| (topic, said)).collect();
    by_topic(page, report, "Protection", &entries);
}

/// The sessions that wrote the copies, and the producers of gaps and transactions.
pub(super) fn producers(page: &mut Page, report: &Report) {
    let wanted = Wanted::of(&report.findings);
    let sessions: Vec<(i64, Option<&str>, &SessionReport)> = report
        .producers
        .iter()
        .flat_map(|producer| {
            let transactional = producer.transactional_id.as_ref().map(|id| id.value.as_str());
            producer.sessions.iter().map(move |session| (producer.producer_id, transactional, session))
        })
        .filter(|(producer, _, session)| wanted.has(*producer, session))
        .collect();
    if sessions.is_empty() {
        return;
    }
    let most = most(SESSIONS, sessions.len());
    let rows: Vec<_> = sessions
        .iter()
        .take(most)
        .map(|(_, transactional, session)| row(*transactional, session, page.zone()))
        .collect();
    let columns = page.width().columns().saturating_sub(LABEL);
    let lines = as_table(&rows);
    let fits = lines.iter().all(|line| width(line) <= columns);
    let lines = if fits { lines } else { rows.iter().map(as_line).collect() };
    for (index, line) in lines.iter().enumerate() {
        let title = if index == 0 { label("Producers") } else { label("") };
        if fits {
            page.lines(0, [format!("{title}{line}").as_str()]);
        } else {
            page.hanging(0, &title, line);
        }
    }
    let all: u64 = report
        .producers
        .iter()
        .map(|producer| (producer.sessions.len() as u64).saturating_add(producer.sessions_omitted))
        .fold(0, u64::saturating_add);
    let mut left = Vec::new();
    if sessions.len() > most {
        left.push(format!("{} of the same sessions", counted((sessions.len() - most) as u64, "line")));
    }
    let unnamed = all.saturating_sub(sessions.len() as u64);
    if unnamed > 0 {
        left.push(format!("{} of sessions that no finding names", counted(unnamed, "line")));
    }
    if report.producers_omitted > 0 {
        left.push(format!("those of {}", counted(report.producers_omitted, "more producer")));
    }
    let mut said: Vec<_> = shown_session(&sessions).map(session_in_words).into_iter().collect();
    if !left.is_empty() {
        said.push(format!("left out: {} (dedup-audit producers lists all)", listed(&left)));
    }
    if !said.is_empty() {
        page.hanging(0, &label(""), &said.join("; "));
    }
}

/// A session by which its form of name is explained.
fn shown_session<'a>(sessions: &[(i64, Option<&str>, &'a SessionReport)]) -> Option<&'a str> {
    sessions.iter().map(|(_, _, session)| session.session.as_str()).find(|name| parts_of(name).is_some())
}

fn as_table(rows: &[[String; 7]]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["session", "partition", "offsets", "epochs", "sequences", "records", "from – to"]);
    table.add_rows(rows);
    // The table pads its cells by one column on the left.
    table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect()
}

/// The same where a table does not fit.
fn as_line([session, partition, offsets, epochs, sequences, records, times]: &[String; 7]) -> String {
    let plural = if offsets.contains('–') { "s" } else { "" };
    let mut parts = vec![format!("offset{plural} {offsets}")];
    if records == "0" {
        parts.push("no record left by the cleaner".to_owned());
    }
    for (name, value) in [("epoch", epochs), ("seq", sequences), ("records", records)] {
        if !value.is_empty() && (name, value.as_str()) != ("records", "0") {
            parts.push(format!("{name} {value}"));
        }
    }
    if !times.is_empty() {
        parts.push(times.clone());
    }
    format!("{session} in {partition}: {}", parts.join(", "))
}

/// What the findings name.
struct Wanted<'a> {
    sessions: BTreeSet<(&'a str, &'a str, i32)>,
    producers: BTreeSet<(i64, &'a str, i32)>,
}

impl<'a> Wanted<'a> {
    fn of(findings: &'a [Finding]) -> Self {
        let mut wanted = Self { sessions: BTreeSet::new(), producers: BTreeSet::new() };
        for finding in findings {
            for copy in finding.groups.iter().flat_map(|group| &group.copies) {
                if let Some(session) = &copy.session {
                    wanted.sessions.insert((session, &copy.topic, copy.partition));
                }
            }
            wanted
                .producers
                .extend(finding.gaps.iter().map(|gap| (gap.producer_id, gap.topic.as_str(), gap.partition)));
            let transactions = finding.transactions.iter();
            wanted
                .producers
                .extend(transactions.map(|one| (one.producer_id, one.topic.as_str(), one.partition)));
        }
        wanted
    }

    fn has(&self, producer: i64, session: &SessionReport) -> bool {
        self.sessions.contains(&(session.session.as_str(), session.topic.as_str(), session.partition))
            || self.producers.contains(&(producer, session.topic.as_str(), session.partition))
    }
}

fn row(transactional: Option<&str>, session: &SessionReport, zone: &Zone) -> [String; 7] {
    let id = transactional.map(|id| format!(" ({})", named(id))).unwrap_or_default();
    let (first, last) = (session.epochs.first(), session.epochs.last());
    let epochs =
        match (first.and_then(|epoch| epoch.producer_epoch), last.and_then(|epoch| epoch.producer_epoch)) {
            (Some(first), Some(last)) => range(first.into(), last.into()),
            _ => String::new(),
        };
    let sequences =
        match (first.and_then(|epoch| epoch.first_sequence), last.and_then(|epoch| epoch.last_sequence)) {
            // Each epoch counts from 0: a range over several says nothing.
            (Some(first), Some(last)) if session.epochs.len() == 1 => sequences(first, last),
            _ => String::new(),
        };
    [
        format!("{}{id}", named(&session.session)),
        format!("{}-{}", named(&session.topic), session.partition),
        range(session.first_offset, session.last_offset),
        epochs,
        sequences,
        number(session.records),
        zone.labelled_span(session.window.first_timestamp, session.window.last_timestamp),
    ]
}

/// What consumers see, and where several topics were read the same of each.
pub(super) fn readers(page: &mut Page, report: &Report) {
    let both = &report.visibility;
    if both.read_uncommitted.records == 0 {
        return;
    }
    let several = ordinary(report).len() > 1 && both.read_uncommitted.distinct_keys.is_some();
    let told = Told::of(ordinary(report));
    let seen =
        |visible| format!("{}{}", seen(visible, told), if several { ", counted in each topic" } else { "" });
    if both.read_uncommitted == both.read_committed {
        page.hanging(0, &label("Readers"), &format!("both isolation levels: {}", seen(&both.read_committed)));
    } else {
        page.hanging(0, &label("Readers"), &format!("read_committed: {}", seen(&both.read_committed)));
        page.hanging(0, &label(""), &format!("read_uncommitted: {}", seen(&both.read_uncommitted)));
    }
    let by_topic = readers_by_topic(report);
    let names = Names::of(report);
    for (topic, said) in by_topic.iter().take(most(READERS, by_topic.len())) {
        page.hanging(0, &label(""), &format!("{}: {said}", names.of_topic(topic)));
    }
    let rest = by_topic.len().saturating_sub(most(READERS, by_topic.len())) as u64;
    if rest > 0 {
        let topics = counted(rest, "more topic");
        page.hanging(0, &label(""), &format!("… and {topics} that the JSON report names"));
    }
    if let Some(said) = provisional(report) {
        page.hanging(0, &label(""), &said);
    }
}

/// What readers of each topic get, most repeats first; nothing where there is one topic.
pub(in crate::report) fn readers_by_topic<'r>(report: &'r Report) -> Vec<(&'r TopicReport, String)> {
    let mut topics: Vec<&TopicReport> = ordinary(report);
    topics.retain(|topic| topic.visibility.read_uncommitted.records > 0);
    if topics.len() < 2 {
        return Vec::new();
    }
    topics.sort_by_key(|topic| Reverse(topic.visibility.read_uncommitted.repeated_key_records));
    let of_topic = |topic: &'r TopicReport| {
        let (told, both) = (Told::of([topic]), &topic.visibility);
        let said = if both.read_committed == both.read_uncommitted {
            seen(&both.read_committed, told)
        } else {
            let [committed, all] = [&both.read_committed, &both.read_uncommitted].map(|one| seen(one, told));
            format!("read_committed {committed}; read_uncommitted {all}")
        };
        (topic, said)
    };
    topics.into_iter().map(of_topic).collect()
}

/// What is counted where events are: keys, or contents where the content is what identifies.
#[derive(Clone, Copy)]
enum Told {
    Keys,
    Contents,
    Both,
}

impl Told {
    fn of<'a>(topics: impl IntoIterator<Item = &'a TopicReport>) -> Self {
        let by_content = topics
            .into_iter()
            .filter(|topic| topic.visibility.read_uncommitted.records > 0)
            .filter_map(|topic| topic.identity.as_ref())
            .map(|identity| identity.key == "content");
        let (contents, keys): (Vec<bool>, Vec<bool>) = by_content.partition(|content| *content);
        match (contents.is_empty(), keys.is_empty()) {
            (true, _) => Self::Keys,
            (false, true) => Self::Contents,
            (false, false) => Self::Both,
        }
    }
}

/// Records that a broker may still take away.
pub(in crate::report) fn provisional(report: &Report) -> Option<String> {
    let count = report.visibility.provisional_records.filter(|count| *count > 0)?;
    let lie = if count == 1 { "record of these lies" } else { "records of these lie" };
    Some(format!(
        "provisional: {} {lie} above the checkpointed high watermark: consumers may not have got them yet",
        number(count)
    ))
}

fn seen(visible: &VisibleRecords, told: Told) -> String {
    let mut said = counted(visible.records, "record");
    if let Some(keys) = visible.distinct_keys {
        let keys = match told {
            Told::Keys => counted(keys, "key"),
            Told::Contents => counted(keys, "content"),
            Told::Both => format!("{} or contents", counted(keys, "key")),
        };
        said = format!("{said}, {keys}");
    }
    if let Some(repeats) = visible.repeated_key_records {
        let what = match told {
            Told::Keys => "a key",
            Told::Contents => "a content",
            Told::Both => "one of them",
        };
        said = format!("{said}, {} of {what}", counted(repeats, "repeat"));
    }
    said
}

/// What makes two records the same event, and why.
pub(super) fn identity(page: &mut Page, report: &Report) {
    let entries: Vec<_> = ordinary(report)
        .into_iter()
        .filter_map(|topic| {
            topic
                .identity
                .as_ref()
                .map(|identity| (topic, identity_of(identity, finds_copies(report, topic))))
        })
        .collect();
    by_topic(page, report, "Identity", &entries);
}

/// Whether copies were found in the topic.
fn finds_copies(report: &Report, topic: &TopicReport) -> bool {
    report.findings.iter().any(|finding| finding.level.is_some() && finding.topics.contains(&topic.topic))
}

fn identity_of(identity: &Identity, finds_copies: bool) -> String {
    let who = match identity.chosen {
        Chosen::Auto => "chosen by the tool",
        Chosen::Other(_) => "chosen in a way of a later version",
        Chosen::User => "as asked",
    };
    // Of a key that was asked for the word in front says it.
    let why = if identity.why == ASKED_FOR { "" } else { identity.why.trim_end_matches('.') };
    let why = if why.is_empty() { String::new() } else { format!(": {}", super::escaped(why)) };
    let mut said = format!("{} ({who}{why})", named(&identity.key));
    if !identity.volatile.is_empty() {
        let volatile: Vec<_> = identity.volatile.iter().take(5).map(|field| named(field)).collect();
        let rest = identity.volatile.len().saturating_sub(5);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        said = format!("{said}; does not count: {}{rest}", listed(&volatile));
    }
    // A key that finds copies needs no other one.
    let shown = if finds_copies && identity.key != "content" { 0 } else { 2 };
    for suggestion in identity.suggestions.iter().take(shown) {
        said = format!("{said}; try --key {} ({})", named(&suggestion.key), super::escaped(&suggestion.why));
    }
    said
}

/// Repeats of a key with new content: counted, not accused.
pub(super) fn updates(page: &mut Page, report: &Report) {
    let entries: Vec<_> = ordinary(report)
        .into_iter()
        .filter(|topic| topic.updates.records > 0)
        .map(|topic| {
            let said = wording::updates(&topic.updates);
            let why = if topic.updates.keys == 0 {
                "a heartbeat, a deletion or a state that came back, "
            } else {
                ""
            };
            (topic, format!("{said}: {why}counted, not accused"))
        })
        .collect();
    by_topic(page, report, "Updates", &entries);
}
