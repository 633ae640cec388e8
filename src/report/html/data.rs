//! What the script of the page draws: the report, but small and harmless.
//!
//! A hundred thousand groups open in a moment only when their copies are small. So a copy is an array
//! of a few arrays ([`Copies`]), and what repeats (topics, directories, segments, sessions, …) is an
//! index into `strings`. Everything else has the names of the JSON report.
//!
//! Numbers that a script cannot hold exactly (above 2⁵³) are given as text. All text is spelled out as
//! for a terminal, since it is there to be looked at, and cut where no screen would hold it.

use crate::finding::{BusinessKey, Copy, Finding, Group, Level};
use crate::report::answer::Reading;
use crate::report::escape::Terminal;
use crate::report::how_read::{HowRead, agreement, amount};
use crate::report::model::Report;
use crate::report::wording::{Zone, absent_by_topic, business_key};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::{self, Write};

/// Columns of a key or a value.
const KEY: usize = 400;
/// Columns of any other text.
const TEXT: usize = 2000;
/// The largest number that a script holds exactly.
const EXACT: i64 = (1 << 53) - 1;

/// Writes the data as one JSON object.
pub(super) fn write(report: &Report, zone: &Zone, out: &mut dyn Write) -> io::Result<()> {
    let mut strings = Strings::default();
    for copy in report.findings.iter().flat_map(|finding| &finding.groups).flat_map(|group| &group.copies) {
        strings.learn(copy);
    }
    let Report { schema_version, tool, invocation, as_of_timestamp, as_of_time, evidence, verdict, .. } =
        report;
    let Report { coverage, topics, producers, producers_omitted, visibility, findings, redaction, .. } =
        report;
    let Report { events, events_omitted, .. } = report;
    let read = HowRead::of(coverage, Reading::of_verdict(verdict));
    let mut head = json!({
        "schemaVersion": schema_version,
        "tool": tool,
        "invocation": invocation,
        "asOfTimestamp": as_of_timestamp,
        "asOfTime": as_of_time,
        "evidence": evidence,
        "verdict": verdict,
        "coverage": coverage,
        "read": {"words": read.words(), "whole": read.is_whole(), "amount": amount(coverage), "replicas": agreement(coverage), "absent": absent_by_topic(coverage)},
        "topics": topics,
        "producers": producers,
        "producersOmitted": producers_omitted,
        "visibility": visibility,
        "redaction": redaction,
        "events": events,
        "eventsOmitted": events_omitted,
        "zone": (!zone.is_utc()).then(|| json!({"name": zone.name(), "offsets": zone.offsets()})),
    });
    harmless(&mut head);
    out.write_all(b"{")?;
    for (name, value) in head.as_object().into_iter().flatten() {
        write!(out, "\"{name}\":")?;
        serde_json::to_writer(&mut *out, value)?;
        out.write_all(b",")?;
    }
    out.write_all(b"\"strings\":")?;
    serde_json::to_writer(&mut *out, &strings.shown)?;
    out.write_all(b",\"findings\":[")?;
    for (index, finding) in findings.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        write_finding(finding, &strings, out)?;
    }
    out.write_all(b"]}")
}

/// A finding as in the report, but for its groups.
fn write_finding(finding: &Finding, strings: &Strings<'_>, out: &mut dyn Write) -> io::Result<()> {
    #[derive(serde::Serialize)]
    struct Slim<'a> {
        #[serde(flatten)]
        rest: Value,
        groups: Groups<'a>,
    }
    let mut rest = serde_json::to_value(Finding { groups: Vec::new(), ..finding.clone() })?;
    harmless(&mut rest);
    if let Some(fields) = rest.as_object_mut() {
        fields.remove("groups");
        if let Some(level) = &finding.level {
            fields.insert("howEqual".to_owned(), Value::String(spelled(level.words(), TEXT)));
        }
        fields.insert("keepsTimes".to_owned(), Value::Bool(finding.keeps_times()));
    }
    serde_json::to_writer(&mut *out, &Slim { rest, groups: Groups(&finding.groups, strings) })?;
    Ok(())
}

/// Spells out all text, and gives numbers as text that a script cannot hold.
fn harmless(value: &mut Value) {
    match value {
        Value::String(text) => *text = spelled(text, TEXT),
        Value::Number(number) => {
            let exact = number.as_i64().is_some_and(|number| number.abs() <= EXACT) || number.is_f64();
            if !exact {
                *value = Value::String(number.to_string());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(harmless),
        Value::Object(fields) => {
            // Names of fields are foreign only among the options of the call.
            let mended: Map<String, Value> = std::mem::take(fields)
                .into_iter()
                .map(|(name, mut value)| {
                    harmless(&mut value);
                    (spelled(&name, KEY), value)
                })
                .collect();
            *fields = mended;
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn spelled(text: &str, columns: usize) -> String {
    Terminal::text(text).cut(columns).to_string()
}

/// What repeats in copies, each once.
#[derive(Debug, Default)]
struct Strings<'a> {
    index: HashMap<&'a str, usize>,
    shown: Vec<String>,
}

impl<'a> Strings<'a> {
    fn learn(&mut self, copy: &'a Copy) {
        let Copy { topic, directory, segment, timestamp_type, session, visibility, repeats, level, .. } =
            copy;
        let repeated = repeats.as_ref().map(|place| place.topic.as_str());
        let words = [Some(visibility.name()), level.as_ref().map(Level::words)];
        let names = [Some(topic.as_str()), Some(directory), Some(segment), Some(timestamp_type)];
        for text in names.into_iter().chain([session.as_deref(), repeated]).chain(words).flatten() {
            self.index.entry(text).or_insert_with(|| {
                self.shown.push(spelled(text, KEY));
                self.shown.len() - 1
            });
        }
    }

    fn at(&self, text: &str) -> Option<usize> {
        self.index.get(text).copied()
    }
}

/// `[[key, form, copies omitted, [copy, …]], …]`
struct Groups<'a>(&'a [Group], &'a Strings<'a>);

impl Serialize for Groups<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for group in self.0 {
            let key = spelled(&business_key(&group.business_key), KEY);
            let copies = Copies(&group.copies, self.1);
            list.serialize_element(&(key, form(&group.business_key), group.copies_omitted, copies))?;
        }
        list.end()
    }
}

/// What the key of a group is.
const fn form(key: &BusinessKey) -> &'static str {
    match key {
        BusinessKey::Text { .. } => "text",
        BusinessKey::Base64 { .. } => "base64",
        BusinessKey::Parts { .. } => "joined",
        BusinessKey::Digest { .. } => "digest of the content",
        BusinessKey::KeyedHash { .. } => "keyed hash",
    }
}

/// Each copy as an array; `script.js` names the places in the same order.
struct Copies<'a>(&'a [Copy], &'a Strings<'a>);

impl Serialize for Copies<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for copy in self.0 {
            let at = |text: &str| self.1.at(text);
            let repeats = copy.repeats.as_ref().map(|to| (at(&to.topic), to.partition, Exact(to.offset)));
            let value = copy.value.as_ref().map(|value| spelled(&business_key(value), KEY));
            list.serialize_element(&(
                (at(&copy.topic), copy.partition, at(&copy.directory), copy.broker_id, at(&copy.segment)),
                (Exact(i64::try_from(copy.position).unwrap_or(i64::MAX)), Exact(copy.offset)),
                (copy.timestamp.map(Exact), at(&copy.timestamp_type)),
                (Exact(copy.producer_id), copy.producer_epoch, copy.sequence),
                (copy.session.as_deref().and_then(at), copy.partition_leader_epoch),
                (Exact(copy.batch_base_offset), copy.crc, at(copy.visibility.name())),
                (repeats, copy.level.as_ref().and_then(|level| at(level.words())), value),
            ))?;
        }
        list.end()
    }
}

/// A number, or its digits where a script would round it.
struct Exact(i64);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.unsigned_abs() <= EXACT.unsigned_abs() {
            serializer.serialize_i64(self.0)
        } else {
            serializer.collect_str(&self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_a_script_would_round_are_text() {
        let mut value =
            json!({"a": 9_007_199_254_740_991_i64, "b": 9_007_199_254_740_992_i64, "c": [u64::MAX, -1]});
        harmless(&mut value);
        assert_eq!(
            value,
            json!({"a": 9_007_199_254_740_991_i64, "b": "9007199254740992", "c": ["18446744073709551615", -1]})
        );
        let shown = serde_json::to_string(&[Exact(5), Exact(i64::MIN)]).unwrap();
        assert_eq!(shown, "[5,\"-9223372036854775808\"]");
    }

    #[test]
    fn text_is_spelled_out_and_cut() {
        let mut value = json!({"a\u{1b}": "x\u{202e}y", "long": "k".repeat(1 << 20)});
        harmless(&mut value);
        assert_eq!(value["a\\x1b"], "x\\u{202e}y");
        assert!(value["long"].as_str().unwrap().len() < 3000);
    }
}
