//! Sentences with their times in the zone of the reader.
//!
//! The judgement speaks in UTC: RFC 3339 (`2023-11-14T22:13:20.005Z`), or times of day with `UTC` behind
//! them. For people who asked for a zone the same moments are told in it, before a form is made.

use super::compare::Compared;
use super::model::Report;
use super::offsets::Offsets;
use super::producers::Producers;
use super::trace::Trace;
use super::wording::Zone;
use crate::finding::{Event, Finding};
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// What holds sentences.
pub trait Sentences {
    /// Goes through them.
    fn each(&mut self, change: &mut dyn FnMut(&mut String));
}

impl Sentences for Finding {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        let Self { title, cause, facts, alternatives, would_settle, advice, .. } = self;
        change(title);
        let cause = cause.iter_mut().map(|cause| &mut cause.text);
        let rivals = alternatives.iter_mut().map(|rival| &mut rival.why);
        for line in facts.iter_mut().chain(would_settle).chain(advice).chain(cause).chain(rivals) {
            change(line);
        }
    }
}

impl Sentences for Event {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.detail);
    }
}

impl<T: Sentences> Sentences for Vec<T> {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        for one in self {
            one.each(change);
        }
    }
}

impl Sentences for Report {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.verdict.headline);
        let notes = self.coverage.notes.iter_mut().map(|note| &mut note.detail);
        for line in self.verdict.sentences.iter_mut().chain(notes) {
            change(line);
        }
        self.findings.each(change);
        self.events.each(change);
    }
}

impl Sentences for Trace {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.events.each(change);
        self.details.each(change);
    }
}

impl Sentences for Offsets {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.findings.each(change);
    }
}

impl Sentences for Compared {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.findings.each(change);
        self.events.each(change);
    }
}

impl Sentences for Producers {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.findings.each(change);
    }
}

/// The same with all sentences in the zone.
#[must_use]
pub fn told<'t, T: Sentences + Clone>(said: &'t T, zone: &Zone) -> Cow<'t, T> {
    if zone.is_utc() {
        return Cow::Borrowed(said);
    }
    let mut said = said.clone();
    said.each(&mut |sentence| {
        if let Cow::Owned(told) = sentence_in(sentence, zone) {
            *sentence = told;
        }
    });
    Cow::Owned(said)
}

/// A moment, or from one to another.
static MOMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let (day, time) = (r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d\.\d{3}");
    Regex::new(&format!(
        r"\b(?P<instant>{day}T{time}Z)\b|\b(?P<day>{day}) (?P<time>{time})(?: – (?:(?P<day2>{day}) )?(?P<time2>{time}))? UTC\b"
    ))
    .ok()
});

fn sentence_in<'t>(sentence: &'t str, zone: &Zone) -> Cow<'t, str> {
    let Some(moments) = MOMENTS.as_ref() else { return Cow::Borrowed(sentence) };
    moments.replace_all(sentence, |found: &Captures<'_>| {
        let part = |name: &str| found.name(name).map(|part| part.as_str());
        let told = if let Some(instant) = part("instant") {
            millis(instant).map(|millis| zone.labelled_span(Some(millis), None))
        } else {
            let at = |day: Option<&str>, time: Option<&str>| millis(&format!("{}T{}Z", day?, time?));
            let first = at(part("day"), part("time"));
            let last = at(part("day2").or(part("day")), part("time2"));
            first.map(|first| zone.labelled_span(Some(first), last))
        };
        told.unwrap_or_else(|| found.get(0).map_or("", |all| all.as_str()).to_owned())
    })
}

fn millis(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn every_moment_of_a_sentence_is_told_in_the_zone() {
        let berlin = Zone::new(TimeZone::get("Europe/Berlin").unwrap());
        for (utc, told) in [
            (
                "from 2023-11-14T22:13:20.005Z to 2023-11-14T23:30:00.000Z.",
                "from 2023-11-14 23:13:20.005 UTC+01 to 2023-11-15 00:30:00.000 UTC+01.",
            ),
            (
                "with times 2023-11-14 22:13:20.005 – 22:13:21.000 UTC",
                "with times 2023-11-14 23:13:20.005 – 23:13:21.000 UTC+01",
            ),
            ("at 2023-07-14 22:13:20.005 UTC", "at 2023-07-15 00:13:20.005 UTC+02"),
            ("key 2023-99-14T22:13:20.005Z", "key 2023-99-14T22:13:20.005Z"),
            ("no time at all", "no time at all"),
        ] {
            assert_eq!(sentence_in(utc, &berlin), told);
        }
    }
}
