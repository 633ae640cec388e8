//! The story of one business key, as JSON has it, as a timeline for a terminal and as a ticket.
//!
//! The copies and what happened around them stand in one column of times; behind it the fields in
//! which the copies differ, what consumers see, and the findings. Nothing is decided here.

mod markdown;

pub use markdown::write as write_markdown;

use super::answer::Answer;
use super::escape::Terminal;
use super::layout::{NO_BREAK, Page, Width};
use super::model::Visibility;
use super::table::of_answer;
use super::wording::{self, Zone, counted, later, listed, number, opening};
use super::zoned::told;
use crate::finding::{BusinessKey, Confidence, Copy, Event, Finding, in_turn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Copies and events that are shown one by one.
const LINES: usize = 200;
/// Differences that are shown.
const FIELDS: usize = 30;
/// Columns that a value may take.
const VALUE_COLUMNS: usize = 60;

/// What is known of one business key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// The key as it was asked for.
    pub key: String,
    /// What identifies an event, in each topic that has the key.
    pub identities: Vec<TopicIdentity>,
    /// Sampled keys that are spelled nearly so, where no record has the key: record keys, and what identifies the
    /// events of each topic.
    #[serde(default)]
    pub near_keys: Vec<BusinessKey>,
    /// The copies in the order of time; at one time the record of a source comes before that of its mirror.
    pub copies: Vec<Copy>,
    /// The listed copies by topic and content, volatile fields aside.
    #[serde(default)]
    pub contents: Vec<ContentCopies>,
    /// How many copies are not listed.
    pub copies_omitted: u64,
    /// What happened around them.
    pub events: Vec<Event>,
    /// How many events are not listed.
    pub events_omitted: u64,
    /// The fields in which the copies differ.
    pub differences: Vec<Difference>,
    /// Replicas that do not lead: where no copy was found all, else those that hold records of their own. The key was not
    /// looked for in what only they hold.
    pub not_searched: Vec<String>,
    /// What consumers that count the key get, summed over the topics; each has its own in `identities`.
    pub visibility: Visibility,
    /// The ids of the findings that touch the copies and that `scan` tells of these files as well.
    pub findings: Vec<String>,
    /// The findings themselves: those, and what the copies of this key alone say of their writers.
    pub details: Vec<Finding>,
}

impl Trace {
    /// A key of which nothing was found.
    #[must_use]
    pub fn of(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            identities: Vec::new(),
            near_keys: Vec::new(),
            copies: Vec::new(),
            contents: Vec::new(),
            copies_omitted: 0,
            events: Vec::new(),
            events_omitted: 0,
            differences: Vec::new(),
            not_searched: Vec::new(),
            visibility: Visibility::default(),
            findings: Vec::new(),
            details: Vec::new(),
        }
    }
}

/// What identifies an event in one topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopicIdentity {
    /// The topic's name.
    pub topic: String,
    /// As `--key` spells it.
    pub key: String,
    /// Why.
    pub why: String,
    /// What consumers of this topic get.
    #[serde(default)]
    pub visibility: Visibility,
    /// The topic from which these records are taken, as a mirror takes them: equal in key, value and client time.
    #[serde(default)]
    pub source_topic: Option<String>,
}

/// Copies of one topic with one content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContentCopies {
    /// The topic's name.
    pub topic: String,
    /// Their numbers among the listed copies, from 1 on.
    pub copies: Vec<usize>,
}

/// How many sources a topic has before it: 0 for one that is no mirror.
#[must_use]
pub fn depth(identities: &[TopicIdentity], topic: &str) -> usize {
    let source = |topic: &str| {
        let own = identities.iter().find(|identity| identity.topic == topic);
        own.and_then(|identity| identity.source_topic.as_deref())
    };
    // Topics that were mirrors of each other would have no first one.
    std::iter::successors(source(topic), |topic| source(topic)).take(identities.len()).count()
}

/// A field in which the copies differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The field, as `--ignore-field` spells it; `value` where it is no JSON.
    pub pointer: String,
    /// Whether it is a field that does not count as content.
    pub volatile: bool,
    /// How many different values there are; a field that is absent is one of them.
    pub distinct: u64,
    /// One value for each copy, `null` where the field is absent or null; only where values were
    /// asked for.
    pub values: Option<Vec<Option<String>>>,
}

/// How much of a story a terminal gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A timeline that fits, in which fields the copies differ, and the findings.
    Story,
    /// All lines of the timeline, and nothing else.
    Timeline,
}

/// Writes the story.
///
/// # Errors
/// What the writer says.
pub fn write(
    answer: &Answer<Trace>,
    scope: Scope,
    zone: &Zone,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let trace = &*told(&answer.body, zone);
    let mut page = Page::new(width).in_zone(zone.clone());
    head(&mut page, trace);
    if !trace.copies.is_empty() {
        page.blank();
        timeline(&mut page, trace, if scope == Scope::Timeline { usize::MAX } else { LINES });
        if scope == Scope::Story {
            differences(&mut page, trace);
            findings(&mut page, trace);
        }
    }
    page.blank();
    of_answer(&mut page, answer);
    page.write(out)
}

fn not_searched(trace: &Trace) -> String {
    match trace.not_searched.len() {
        1 => "1 replica that does not lead was not searched: compare shows what only it holds".to_owned(),
        more => format!(
            "{} replicas that do not lead were not searched: compare shows what only they hold",
            number(more as u64)
        ),
    }
}

fn head(page: &mut Page, trace: &Trace) {
    let key = Terminal::text(&trace.key).cut(VALUE_COLUMNS).to_string();
    let all = (trace.copies.len() as u64).saturating_add(trace.copies_omitted);
    if all == 0 {
        page.paragraph(0, &format!("No record has the business key {key}."));
        for identity in &trace.identities {
            // The record key finds contents, too.
            let tried = if identity.key == CONTENT {
                "looked for as a record key and as the digest of a content".to_owned()
            } else {
                format!("looked for as {}", wording::name(&identity.key))
            };
            let (topic, why) = (wording::name(&identity.topic), Terminal::text(&identity.why).cut(300));
            page.item(2, &format!("{topic}: {tried} ({why})"));
        }
        page.item(2, "a key is compared as a whole, and by its case");
        let near: Vec<_> = trace
            .near_keys
            .iter()
            .map(|near| Terminal::text(&wording::business_key(near)).cut(VALUE_COLUMNS).to_string())
            .collect();
        if !near.is_empty() {
            page.item(2, &format!("sampled keys that are nearly so: {}", near.join(", ")));
        }
        page.item(2, "--key names another field that identifies an event");
        if !trace.not_searched.is_empty() {
            page.item(2, &not_searched(trace));
        }
        return;
    }
    let stored: Vec<String> = trace.identities.iter().map(|identity| stored(trace, identity)).collect();
    page.paragraph(0, &format!("{key}: {}; {}.", listed(&stored), consumers(trace)));
    if !trace.not_searched.is_empty() {
        page.item(2, &not_searched(trace));
    }
}

/// How often one topic has the key, and whether that is one content or several.
fn stored(trace: &Trace, identity: &TopicIdentity) -> String {
    let own = || trace.contents.iter().filter(|content| content.topic == identity.topic);
    let contents = own().count() as u64;
    let listed_here: usize = own().map(|content| content.copies.len()).sum();
    let records = match identity.visibility.read_uncommitted.records {
        0 => listed_here as u64,
        records => records,
    };
    let feeds = |other: &&TopicIdentity| other.source_topic.as_deref() == Some(identity.topic.as_str());
    let fed: Vec<String> =
        trace.identities.iter().filter(feeds).map(|fed| wording::name(&fed.topic)).collect();
    let role = if fed.is_empty() { String::new() } else { format!(" (the source of {})", listed(&fed)) };
    let place = format!("in {}{role}", wording::name(&identity.topic));
    let all_listed = listed_here as u64 == records;
    let surplus = trace.copies.iter().filter(|copy| copy.topic == identity.topic && copy.repeats.is_some());
    match (records, contents) {
        (1, _) => format!("stored once {place}"),
        // Each content stands there once: rightful records that share a key.
        (_, 2..) if all_listed && contents == records && surplus.count() == 0 => {
            let what = if identity.key == CONTENT { "different events" } else { "updates" };
            format!(
                "{} with this key {place}, {} different contents{}: {what}, no surplus copy",
                counted(records, "record"),
                number(contents),
                deciding(trace)
            )
        }
        (_, 2..) if all_listed => {
            format!("stored {} times {place} with {} different contents", number(records), number(contents))
        }
        _ => format!("stored {} times {place}", number(records)),
    }
}

/// The identity of a topic in which each content is an event.
const CONTENT: &str = "content";
/// Fields that the first sentence names.
const NAMED: usize = 3;

/// The fields that make the contents different, where all copies are of one topic.
fn deciding(trace: &Trace) -> String {
    let mut fields: Vec<String> = trace
        .differences
        .iter()
        .filter(|difference| !difference.volatile && trace.identities.len() == 1)
        .map(|difference| wording::name(&difference.pointer))
        .collect();
    let verb = if fields.len() == 1 { "differs" } else { "differ" };
    if fields.len() > NAMED {
        let more = fields.len() - NAMED;
        fields.truncate(NAMED);
        fields.push(format!("{more} more"));
    }
    if fields.is_empty() { String::new() } else { format!(" ({} {verb})", listed(&fields)) }
}

/// What consumers get of each topic.
fn consumers(trace: &Trace) -> String {
    let got = |level: fn(&Visibility) -> u64| match trace.identities.as_slice() {
        [] | [_] => number(level(&trace.visibility)),
        several => {
            let of = |identity: &TopicIdentity| {
                format!("{} of {}", number(level(&identity.visibility)), wording::name(&identity.topic))
            };
            listed(&several.iter().map(of).collect::<Vec<_>>())
        }
    };
    let (all, committed) =
        (got(|seen| seen.read_uncommitted.records), got(|seen| seen.read_committed.records));
    if all == committed {
        format!("consumers of both isolation levels get {committed}")
    } else {
        format!("read_uncommitted consumers get {all}, read_committed consumers {committed}")
    }
}

/// What a listed record is to the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Others have its content, or it repeats one.
    Copy,
    /// A mirror was fed with it.
    Source,
    /// No other has its content.
    Record,
}

impl Role {
    /// Of each listed copy.
    fn all(trace: &Trace) -> Vec<Self> {
        let repeated: Vec<_> = trace.copies.iter().filter_map(|copy| copy.repeats.as_ref()).collect();
        let alone = |number: usize| trace.contents.iter().any(|content| content.copies == [number]);
        let identity = |copy: &Copy| trace.identities.iter().find(|identity| identity.topic == copy.topic);
        let role = |(number, copy): (usize, &Copy)| {
            if copy.repeats.is_some() || !alone(number) || repeated.contains(&&copy.place()) {
                return Self::Copy;
            }
            let feeds = |other: &TopicIdentity| other.source_topic.as_deref() == Some(copy.topic.as_str());
            if trace.identities.iter().any(feeds) {
                Self::Source
            } else if identity(copy).is_some_and(|identity| identity.source_topic.is_some()) {
                Self::Copy
            } else {
                Self::Record
            }
        };
        (1..).zip(&trace.copies).map(role).collect()
    }

    /// The word in front of its number.
    const fn word(self) -> &'static str {
        match self {
            Self::Copy => "COPY",
            Self::Source => "SOURCE",
            Self::Record => "RECORD",
        }
    }
}

/// What the listed copies are called by: a number, and the topic where topics have nothing to do with each other.
///
/// A number says that one is a copy of the other. So topics share their numbers where one feeds the other, or a copy in one
/// repeats a record of the other; else each topic counts its own.
struct Names {
    /// Of each listed copy, from 1 on.
    names: Vec<String>,
    /// The time of the first one among those that it is counted with.
    first_times: Vec<Option<i64>>,
}

impl Names {
    fn of(trace: &Trace) -> Self {
        let topics: BTreeSet<&str> = trace.copies.iter().map(|copy| copy.topic.as_str()).collect();
        let mut family: BTreeMap<&str, &str> = topics.iter().map(|topic| (*topic, *topic)).collect();
        let fed = trace
            .identities
            .iter()
            .filter_map(|one| Some((one.topic.as_str(), one.source_topic.as_deref()?)));
        let repeated = trace
            .copies
            .iter()
            .filter_map(|copy| Some((copy.topic.as_str(), copy.repeats.as_ref()?.topic.as_str())));
        for (one, other) in fed.chain(repeated) {
            let (Some(&from), Some(&to)) = (family.get(one), family.get(other)) else { continue };
            family.values_mut().filter(|name| **name == from).for_each(|name| *name = to);
        }
        let several = family.values().collect::<BTreeSet<_>>().len() > 1;
        let mut counted: BTreeMap<&str, (usize, Option<i64>)> = BTreeMap::new();
        let (mut names, mut first_times) = (Vec::new(), Vec::new());
        for copy in &trace.copies {
            let of = family.get(copy.topic.as_str()).copied().unwrap_or(&copy.topic);
            let (number, first) = counted.entry(of).or_insert((0, copy.timestamp));
            *number += 1;
            names.push(if several {
                format!("{number} of {}", wording::name(&copy.topic))
            } else {
                number.to_string()
            });
            first_times.push(*first);
        }
        Self { names, first_times }
    }

    /// By its number among all listed copies.
    fn name(&self, number: usize) -> String {
        let name = number.checked_sub(1).and_then(|at| self.names.get(at));
        name.cloned().unwrap_or_else(|| number.to_string())
    }

    fn first_time(&self, number: usize) -> Option<i64> {
        number.checked_sub(1).and_then(|at| self.first_times.get(at).copied()).flatten()
    }
}

/// A line of the timeline: a copy with its number, or an event.
enum Line<'a> {
    Copy(usize, &'a Copy),
    Event(&'a Event),
}

impl Line<'_> {
    fn time(&self) -> Option<i64> {
        match self {
            Self::Copy(_, copy) => copy.timestamp,
            Self::Event(event) => event.timestamp,
        }
    }

    /// Its topic and partition, its offset, and whether it stands behind what else happened there.
    fn place(&self) -> (&str, i32, i64, u8) {
        match self {
            Self::Copy(_, copy) => (&copy.topic, copy.partition, copy.offset, 1),
            Self::Event(event) => {
                let ends = matches!(event.kind, crate::finding::EventKind::SessionEnd);
                (&event.topic, event.partition, event.offset, if ends { 2 } else { 0 })
            }
        }
    }
}

/// Copies and events in the order of time; within a log in that of offsets.
fn in_order(trace: &Trace) -> Vec<Line<'_>> {
    let copies = trace.copies.iter().enumerate().map(|(at, copy)| Line::Copy(at + 1, copy));
    let lines: Vec<Line<'_>> = copies.chain(trace.events.iter().map(Line::Event)).collect();
    in_turn(lines, |line| {
        let (topic, partition, offset, rank) = line.place();
        let log = (depth(&trace.identities, topic), topic.to_owned());
        ((log, partition, offset.saturating_mul(4).saturating_add(i64::from(rank))), line.time())
    })
}

fn timeline(page: &mut Page, trace: &Trace, most: usize) {
    let lines = in_order(trace);
    let roles = Role::all(trace);
    let names = Names::of(trace);
    let one_log = trace
        .copies
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if (&a.topic, a.partition) == (&b.topic, b.partition)));
    let mut known_day: Option<String> = None;
    for line in lines.iter().take(most) {
        let zone = page.zone();
        let label = format!("{:<23}  ", zone.time(line.time(), known_day.as_deref()));
        known_day = line.time().and_then(|time| zone.day(time)).or(known_day);
        let at = |topic: &str, partition: i32, offset: i64| {
            if one_log {
                format!("offset {offset}")
            } else {
                format!("{}-{partition}@{offset}", wording::name(topic))
            }
        };
        let text = match line {
            Line::Copy(number, copy) => {
                let place = at(&copy.topic, copy.partition, copy.offset);
                let word = roles.get(number.saturating_sub(1)).map_or("COPY", |role| role.word());
                format!("{word} {}  {place}  {}", names.name(*number), about(trace, *number, copy, &names))
            }
            Line::Event(event) => {
                let place = at(&event.topic, event.partition, event.offset);
                format!("{place}  {}", Terminal::text(&event.detail).cut(300))
            }
        };
        page.hanging(2, &label.replace(' ', &NO_BREAK.to_string()), &text);
    }
    if lines.len() > most {
        page.paragraph(2, &format!("… and {} more lines (--timeline)", number((lines.len() - most) as u64)));
    }
    if trace.copies_omitted > 0 {
        page.paragraph(2, &format!("… and {} more copies (--max-copies)", number(trace.copies_omitted)));
    }
    if trace.events_omitted > 0 {
        page.paragraph(2, &format!("… and {} that are not listed", counted(trace.events_omitted, "event")));
    }
}

/// Who wrote a copy, what it repeats, and what its transaction makes of it.
fn about(trace: &Trace, number: usize, copy: &Copy, names: &Names) -> String {
    let mut parts = Vec::new();
    if copy.producer_id < 0 {
        parts.push("no producer id".to_owned());
    } else {
        let epoch = copy.producer_epoch.map(|epoch| format!(" epoch {epoch}")).unwrap_or_default();
        let sequence = copy.sequence.map(|sequence| format!(" seq {sequence}")).unwrap_or_default();
        parts.push(format!("PID {}{epoch}{sequence}", copy.producer_id));
        parts.extend(copy.session.as_ref().map(|session| format!("session {session}")));
    }
    parts.extend(copy.partition_leader_epoch.map(|epoch| format!("leader epoch {epoch}")));
    parts.push(copy.visibility.to_string());
    parts.push(format!("batch at {} of {}", copy.position, Terminal::text(&copy.segment)));
    if let (Some(earlier), Some(level)) = (&copy.repeats, copy.level) {
        parts.push(format!(
            "repeats {}-{}@{} ({})",
            wording::name(&earlier.topic),
            earlier.partition,
            earlier.offset,
            level.words()
        ));
    } else if let Some(earlier) = unaccused(trace, number, copy, names) {
        parts.push(earlier);
    }
    let is_first = names.name(number).split(' ').next() == Some("1");
    if let (Some(first), Some(own), false) = (names.first_time(number), copy.timestamp, is_first) {
        parts.push(if own == first {
            "same time as the first".to_owned()
        } else {
            format!("{} after the first", later(own.saturating_sub(first)))
        });
    }
    parts.join(" · ")
}

/// What a copy that repeats nothing is to those of its topic that stand before it.
fn unaccused(trace: &Trace, number: usize, copy: &Copy, names: &Names) -> Option<String> {
    let own = trace.contents.iter().filter(|content| content.topic == copy.topic);
    let mut before = own.filter_map(|content| Some((content, *content.copies.first()?)));
    let own_content = before.clone().find(|(content, _)| content.copies.contains(&number));
    match own_content {
        Some((_, first)) if first < number => Some(format!("same content as copy {}", names.name(first))),
        _ => before
            .any(|(_, first)| first < number)
            .then(|| "other content than the records before".to_owned()),
    }
}

/// What the listed ones are called together.
fn what(trace: &Trace) -> &'static str {
    if Role::all(trace).iter().all(|role| *role == Role::Record) { "records" } else { "copies" }
}

fn differences(page: &mut Page, trace: &Trace) {
    if trace.copies.len() < 2 {
        return;
    }
    page.blank();
    let (roles, names) = (Role::all(trace), Names::of(trace));
    let what = what(trace);
    if trace.differences.is_empty() {
        page.paragraph(0, &format!("The {what} are equal in key, value and headers, byte for byte."));
        return;
    }
    page.paragraph(0, &format!("The {what} differ in:"));
    for difference in trace.differences.iter().take(FIELDS) {
        let name = Terminal::text(&difference.pointer).cut(VALUE_COLUMNS).to_string();
        let volatile = if difference.volatile { ", does not count as content" } else { "" };
        let text = format!("{name}  {} values{volatile}", number(difference.distinct));
        page.item(2, &text);
        for (at, value) in difference.values.iter().flatten().enumerate().take(FIELDS) {
            let value = value.as_ref().map_or_else(
                || "(absent)".to_owned(),
                |value| Terminal::text(value).cut(VALUE_COLUMNS).to_string(),
            );
            let word = roles.get(at).map_or("COPY", |role| role.word()).to_lowercase();
            page.item(4, &format!("{word} {}: {value}", names.name(at + 1)));
        }
    }
    if trace.differences.len() > FIELDS {
        let more = (trace.differences.len() - FIELDS) as u64;
        page.paragraph(2, &format!("… and {} in the JSON answer", counted(more, "more field")));
    }
    if trace.differences.iter().any(|difference| difference.values.is_none()) {
        page.paragraph(2, "Values are not shown; --show-values shows them.");
    }
}

fn findings(page: &mut Page, trace: &Trace) {
    for finding in &trace.details {
        page.blank();
        let of_this_key = finding.level.is_some();
        let whose = if of_this_key { "by the copies of this key alone" } else { finding.id.as_str() };
        let head = format!("{} ({}, {whose}): {}", finding.code, finding.confidence, finding.title);
        page.paragraph(0, &format!("{}.", Terminal::text(&head).cut(500)));
        // Some findings have one fact, and it is their title.
        for fact in finding.facts.iter().filter(|fact| **fact != finding.title).take(4) {
            page.item(
                2,
                &format!("{}.", opening(&Terminal::text(fact).cut(500).to_string(), &finding.topics)),
            );
        }
        for rival in finding.alternatives.iter().filter(|rival| rival.kept && of_this_key) {
            page.item(
                2,
                &format!(
                    "Not excluded: {}: {}.",
                    Terminal::text(&rival.code),
                    Terminal::text(&rival.why).cut(500)
                ),
            );
        }
        if is_open(finding) {
            page.item(2, &format!("{JUDGED_WITH_MORE}."));
        }
    }
}

/// What a judgement by one key leaves to one by all copies of the incident.
const JUDGED_WITH_MORE: &str = "One key shows less than the whole incident: scan judges by all its copies, and may name one of what is not excluded here";

/// Whether a finding rests on one key alone and leaves more than one explanation.
fn is_open(finding: &Finding) -> bool {
    finding.level.is_some()
        && finding.confidence != Confidence::Certain
        && finding.alternatives.iter().any(|rival| rival.kept)
}
