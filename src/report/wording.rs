//! Numbers, times and names as sentences and lines say them. Times are UTC unless a [`Zone`] tells them.

use super::escape::Terminal;
use super::model::{AbsentPartitions, Coverage, Redaction, Updates};
use crate::finding::{BusinessKey, KeyPart, rfc3339};
use jiff::tz::TimeZone;

/// Columns that a topic's name may take inside a sentence; Kafka allows 249 characters.
const NAME_COLUMNS: usize = 80;

/// A number with separators from four digits on: `999`, `12,345`.
#[must_use]
pub fn number(count: u64) -> String {
    let digits = count.to_string();
    if digits.len() < 4 {
        return digits;
    }
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 record`, `2 records`; the plural takes an s.
#[must_use]
pub fn counted(count: u64, singular: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    let singular = singular.strip_suffix("batch").map_or_else(
        || format!("{singular}{plural}"),
        |start| format!("{start}batch{}", if count == 1 { "" } else { "es" }),
    );
    format!("{} {singular}", number(count))
}

/// Records that were read and not compared, by reason.
#[must_use]
pub fn uncompared(coverage: &Coverage) -> Vec<String> {
    let reasons: Vec<String> = coverage
        .undecoded
        .iter()
        .map(|one| format!("{} {}", Terminal::text(&one.reason).shown(), number(one.records)))
        .collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    [
        (coverage.records_without_key, "without the key that was asked for".to_owned()),
        (coverage.records_undecoded, format!("that could not be decoded{reasons}")),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{} {what}", counted(count, "record")))
    .collect()
}

/// Partitions of one topic that are named by their numbers.
const NUMBERS: usize = 4;
/// Topics that are named where several have such partitions.
const ABSENT: usize = 2;

/// `partitions 2 and 5 of topic orders are not among what was read`, where topics have more partitions than are here.
#[must_use]
pub fn absent(coverage: &Coverage) -> Option<String> {
    let all = &coverage.absent_partitions;
    let number_of = all.iter().map(|one| one.count).fold(0, u64::saturating_add);
    let of_topic = |one: &AbsentPartitions| {
        let numbers: Vec<String> = one.partitions.iter().take(NUMBERS).map(ToString::to_string).collect();
        let noun = if one.count == 1 { "partition" } else { "partitions" };
        let of = format!("of topic {}", name(&one.topic));
        if one.count > numbers.len() as u64 {
            format!("{} {of} ({}, …)", counted(one.count, "partition"), numbers.join(", "))
        } else {
            format!("{noun} {} {of}", listed(&numbers))
        }
    };
    let mut told: Vec<String> = all.iter().take(ABSENT).map(of_topic).collect();
    let more = all.len().saturating_sub(ABSENT) as u64;
    if more > 0 {
        told.push(format!("some of {}", counted(more, "more topic")));
    }
    let are = if number_of == 1 { "is" } else { "are" };
    (number_of > 0).then(|| format!("{} {are} not among what was read", listed(&told)))
}

/// A line for each topic of which partitions are absent, with what tells that it has them.
#[must_use]
pub fn absent_by_topic(coverage: &Coverage) -> Vec<String> {
    let of_topic = |one: &AbsentPartitions| {
        let alone = Coverage { absent_partitions: vec![one.clone()], ..Coverage::default() };
        let why = Terminal::text(&one.why).shown().to_string();
        absent(&alone).map(|told| format!("{told} ({why}): all counts are lower bounds"))
    };
    coverage.absent_partitions.iter().filter_map(of_topic).collect()
}

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn listed<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// The line with a large first letter, unless it begins with a name: `orders` is not `Orders`.
#[must_use]
pub fn opening(line: &str, topics: &[String]) -> String {
    let word = line.split(' ').next().unwrap_or_default();
    let named = !word.bytes().all(|byte| byte.is_ascii_lowercase())
        || topics.iter().any(|topic| line.starts_with(topic.as_str()));
    let mut characters = line.chars();
    match characters.next() {
        Some(first) if !named => first.to_uppercase().chain(characters).collect(),
        _ => line.to_owned(),
    }
}

/// What a report hides, as a sentence without a full stop.
#[must_use]
pub fn redacted(redaction: &Redaction) -> String {
    let what = match redaction.mode.as_str() {
        "keys" => "business keys and values are",
        _ => "business keys, values and names are",
    };
    let compare = match redaction.hash_key.as_str() {
        "file" => "equal hashes are equal texts, also in other reports with this key",
        _ => "equal hashes are equal texts in this report",
    };
    format!("{what} replaced by keyed hashes; {compare}")
}

/// A foreign name, fit for a sentence.
#[must_use]
pub fn name(name: &str) -> String {
    Terminal::text(name).cut(NAME_COLUMNS).to_string()
}

/// `topic orders`, `topics a and b`, `5 topics`.
#[must_use]
pub fn topics(names: &[String]) -> String {
    match names {
        [] => "the log".to_owned(),
        [only] => format!("topic {}", name(only)),
        [one, other] => format!("topics {} and {}", name(one), name(other)),
        more => format!("{} topics", more.len()),
    }
}

/// The zone in which times are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zone(Option<TimeZone>);

impl Zone {
    /// A zone; UTC is called so.
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        Self((zone != TimeZone::UTC).then_some(zone))
    }

    /// Whether its times are those of UTC.
    #[must_use]
    pub const fn is_utc(&self) -> bool {
        self.0.is_none()
    }

    /// Its name: `Europe/Berlin`, `UTC`, or how far it is from UTC.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.0 {
            None => "UTC".to_owned(),
            Some(zone) => zone.iana_name().map_or_else(|| self.label(Some(0)), str::to_owned),
        }
    }

    /// From which millisecond on it is how many seconds from UTC; nothing for UTC itself.
    #[must_use]
    pub fn offsets(&self) -> Vec<(i64, i32)> {
        /// The year 2100: no log is younger.
        const END: i64 = 4_102_444_800_000;
        let Some(zone) = &self.0 else { return Vec::new() };
        let begin = jiff::Timestamp::UNIX_EPOCH;
        let later =
            zone.following(begin).map(|one| (one.timestamp().as_millisecond(), one.offset().seconds()));
        std::iter::once((0, zone.to_offset(begin).seconds()))
            .chain(later.take_while(|one| one.0 < END))
            .collect()
    }

    /// The day and the time of day with milliseconds; `None` for no plausible time.
    fn day_and_time(&self, millis: i64) -> Option<(String, String)> {
        let text = rfc3339(millis)?;
        let local = match &self.0 {
            None => text.trim_end_matches('Z').to_owned(),
            Some(zone) => {
                let time = jiff::Timestamp::from_millisecond(millis).ok()?;
                format!("{:.3}", zone.to_datetime(time))
            }
        };
        let (day, time) = local.split_once('T')?;
        Some((day.to_owned(), time.to_owned()))
    }

    /// What stands behind a time: `UTC`, or how far the zone is from it at that time.
    #[must_use]
    pub fn label(&self, millis: Option<i64>) -> String {
        let time = millis.and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
        match (&self.0, time) {
            (Some(zone), Some(time)) => format!("UTC{}", zone.to_offset(time)),
            (Some(_), None) | (None, _) => "UTC".to_owned(),
        }
    }

    /// The day, `2023-11-14`.
    #[must_use]
    pub fn day(&self, millis: i64) -> Option<String> {
        self.day_and_time(millis).map(|(day, _)| day)
    }

    /// A time, without its day where that is the one that the reader knows.
    #[must_use]
    pub fn time(&self, millis: Option<i64>, known_day: Option<&str>) -> String {
        match millis.map(|millis| (millis, self.day_and_time(millis))) {
            None => "no time".to_owned(),
            Some((_, Some((day, time)))) if known_day == Some(day.as_str()) => time,
            Some((_, Some((day, time)))) => format!("{day} {time}"),
            Some((millis, None)) => format!("time {millis}"),
        }
    }

    /// From when to when: `2023-11-14 22:13:20.000 – 22:13:21.000`; empty where there is no time.
    #[must_use]
    pub fn span(&self, first: Option<i64>, last: Option<i64>) -> String {
        match (first, last) {
            (None, None) => String::new(),
            (Some(one), None) | (None, Some(one)) => self.time(Some(one), None),
            (Some(first), Some(last)) if first == last => self.time(Some(first), None),
            (Some(first), Some(last)) => {
                let known = self.day(first);
                format!("{} – {}", self.time(Some(first), None), self.time(Some(last), known.as_deref()))
            }
        }
    }

    /// The same with the zone behind it.
    #[must_use]
    pub fn labelled_span(&self, first: Option<i64>, last: Option<i64>) -> String {
        match self.span(first, last) {
            span if span.is_empty() => span,
            span => format!("{span} {}", self.label(last.or(first))),
        }
    }
}

/// A time in UTC, without its day where that is the one that the reader knows.
#[must_use]
pub fn time(millis: Option<i64>, known_day: Option<&str>) -> String {
    Zone::default().time(millis, known_day)
}

/// From when to when, in UTC.
#[must_use]
pub fn span(first: Option<i64>, last: Option<i64>) -> String {
    Zone::default().span(first, last)
}

/// How much later, in one or two units: `+8.5 s`, `+3 min 5 s`, `-120 ms`.
#[must_use]
pub fn later(millis: i64) -> String {
    let sign = if millis < 0 { '-' } else { '+' };
    let size = millis.unsigned_abs();
    let rounded = |unit: u64| size.saturating_add(unit / 2) / unit;
    let (tenths, seconds, minutes, hours) =
        (rounded(100), rounded(1000), rounded(60_000), rounded(3_600_000));
    if size < 1000 {
        format!("{sign}{size} ms")
    } else if tenths < 600 {
        format!("{sign}{}.{} s", tenths / 10, tenths % 10)
    } else if seconds < 3600 {
        format!("{sign}{} min {} s", seconds / 60, seconds % 60)
    } else if minutes < 24 * 60 {
        format!("{sign}{} h {} min", minutes / 60, minutes % 60)
    } else {
        format!("{sign}{} d {} h", number(hours / 24), hours % 24)
    }
}

/// The producer id and the number in a session's name: `2#1`.
#[must_use]
pub fn parts_of(session: &str) -> Option<(&str, &str)> {
    let (producer, number) = session.split_once('#')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(producer) && digits(number)).then_some((producer, number))
}

/// What a session's name means: `2#1 is producer id 2, session 1`.
#[must_use]
pub fn session_in_words(session: &str) -> String {
    match parts_of(session) {
        Some((producer, number)) => format!("{session} means producer id {producer}, session {number}"),
        None => String::new(),
    }
}

/// A business key for people; still foreign text.
#[must_use]
pub fn business_key(key: &BusinessKey) -> String {
    match key {
        BusinessKey::Text { text } if text.is_empty() => "\"\"".to_owned(),
        BusinessKey::Text { text } => text.clone(),
        BusinessKey::Base64 { base64 } => format!("base64:{base64}"),
        BusinessKey::Parts { parts } => parts.iter().map(part).collect::<Vec<_>>().join(" + "),
        BusinessKey::Digest { digest, record_key } => {
            let content = format!("content {}", digest.chars().take(8).collect::<String>());
            match record_key.as_deref().map(business_key) {
                // Where somebody looks for an order, its number comes first.
                Some(key) => format!("{key} ({content})"),
                None => content,
            }
        }
        BusinessKey::KeyedHash { keyed_hash } => {
            format!("hash {}", keyed_hash.chars().take(8).collect::<String>())
        }
    }
}

fn part(part: &KeyPart) -> String {
    if let Some(text) = &part.text {
        if text.is_empty() { "\"\"".to_owned() } else { text.clone() }
    } else if let Some(base64) = &part.base64 {
        format!("base64:{base64}")
    } else if let Some(hash) = &part.keyed_hash {
        format!("hash {}", hash.chars().take(8).collect::<String>())
    } else {
        "(absent)".to_owned()
    }
}

/// Repeats that are not accused.
#[must_use]
pub fn updates(updates: &Updates) -> String {
    let (records, keys) = (updates.records, updates.keys);
    let verb = if records == 1 { "repeats" } else { "repeat" };
    let what = match keys {
        0 => "what was written before".to_owned(),
        _ => format!("{} with new content", counted(keys, "key")),
    };
    format!("{} {verb} {what}", counted(records, "record"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        let said: Vec<_> = [0, 999, 1000, 123_456, 1_234_567, u64::MAX].map(number).to_vec();
        assert_eq!(said, ["0", "999", "1,000", "123,456", "1,234,567", "18,446,744,073,709,551,615"]);
    }

    #[test]
    fn one_is_singular() {
        let said =
            [counted(1, "record"), counted(0, "record"), counted(2, "control batch"), counted(1, "batch")];
        assert_eq!(said, ["1 record", "0 records", "2 control batches", "1 batch"]);
    }

    #[test]
    fn a_day_is_said_once() {
        let at = 1_700_000_000_005;
        assert_eq!(span(Some(at), Some(at + 900)), "2023-11-14 22:13:20.005 – 22:13:20.905");
        assert_eq!(span(Some(at), Some(at + 7_000_000)), "2023-11-14 22:13:20.005 – 2023-11-15 00:10:00.005");
        assert_eq!(span(Some(at), Some(at)), "2023-11-14 22:13:20.005");
        assert_eq!(span(None, None), "");
        assert_eq!(time(Some(-5), None), "time -5");
    }

    #[test]
    fn distances_have_the_unit_that_people_would_use() {
        let said = [0, 120, 8531, -8531, 185_000, 7_500_000, 180_000_000].map(later);
        assert_eq!(said, ["+0 ms", "+120 ms", "+8.5 s", "-8.5 s", "+3 min 5 s", "+2 h 5 min", "+2 d 2 h"]);
        let said = [3_364, 7_651, 59_960, 3_599_700, 86_399_000].map(later);
        assert_eq!(said, ["+3.4 s", "+7.7 s", "+1 min 0 s", "+1 h 0 min", "+1 d 0 h"]);
        assert!(later(i64::MIN).starts_with('-'));
    }

    #[test]
    fn a_name_keeps_its_first_letter() {
        let topics = ["payments".to_owned()];
        assert_eq!(opening("producer 7 ended", &topics), "Producer 7 ended");
        for line in ["payments: 2 gaps", "payments lost it", "orders-0/1.log: cut", "5 gaps", ""] {
            assert_eq!(opening(line, &topics), line);
        }
    }

    #[test]
    fn names_are_listed_as_people_do() {
        assert_eq!(listed::<&str>(&[]), "");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(topics(&["a\u{1b}".to_owned()]), "topic a\\x1b");
    }
}
