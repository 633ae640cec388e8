//! The report as NDJSON: one object a line, each with a `type`.
//!
//! ```text
//!  header     version, tool, call, evidence
//!  partition  one line each, in order, as soon as it was read
//!  topic      a topic without its partitions
//!  damage     one line each
//!  producer   one line each
//!  event      one line each
//!  finding    one line each
//!  summary    verdict, coverage, visibility, and what stands for now
//! ```
//!
//! The answer of a command beside `scan` has a header, one line for each entry of each of its lists
//! (`copy`, `pair`, `group` …: the name of the list in the JSON, in the singular), `damage` and `summary`,
//! which holds the rest.
//!
//! Each line is flushed as it is written: what a reader has got so far is whole lines, also when the
//! run is stopped. A file without `summary` is of a run that did not end.

use super::answer::Answer;
use super::model::{Evidence, Invocation, PartitionReport, Redaction, Report, SCHEMA_VERSION, Tool};
use super::producer_list::ProducerList;
use super::producers::Producers;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the report.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Report { schema_version, tool, invocation, evidence, redaction, .. } = report;
    header(&Header { schema_version, tool, invocation, evidence, redaction: redaction.as_ref() }, out)?;
    for topic in &report.topics {
        for of_topic in &topic.partitions {
            partition(&topic.topic, topic.topic_id.as_deref(), of_topic, out)?;
        }
    }
    rest(report, out)
}

/// Writes the first line of a report of this version.
pub fn begin(invocation: &Invocation, evidence: &[Evidence], out: &mut dyn Write) -> io::Result<()> {
    let tool = Tool::this();
    header(
        &Header { schema_version: SCHEMA_VERSION, tool: &tool, invocation, evidence, redaction: None },
        out,
    )
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Header<'r> {
    schema_version: &'r str,
    tool: &'r Tool,
    invocation: &'r Invocation,
    evidence: &'r [Evidence],
    #[serde(skip_serializing_if = "Option::is_none")]
    redaction: Option<&'r Redaction>,
}

fn header(header: &Header<'_>, out: &mut dyn Write) -> io::Result<()> {
    line("header", header, out)
}

/// Writes the line of a partition.
pub fn partition(
    topic: &str,
    topic_id: Option<&str>,
    partition: &PartitionReport,
    out: &mut dyn Write,
) -> io::Result<()> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct InTopic<'a> {
        topic: &'a str,
        topic_id: Option<&'a str>,
        #[serde(flatten)]
        partition: &'a PartitionReport,
    }
    line("partition", &InTopic { topic, topic_id, partition }, out)
}

/// Writes what stands behind the partitions.
pub fn rest(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for topic in &report.topics {
        let mut value = serde_json::to_value(topic)?;
        remove(&mut value, "partitions");
        line("topic", &value, out)?;
    }
    for damage in &report.coverage.damage {
        line("damage", damage, out)?;
    }
    for producer in &report.producers {
        line("producer", producer, out)?;
    }
    for event in &report.events {
        line("event", event, out)?;
    }
    for finding in &report.findings {
        line("finding", finding, out)?;
    }
    let mut coverage = serde_json::to_value(&report.coverage)?;
    remove(&mut coverage, "damage");
    let summary = json!({
        "asOfTimestamp": report.as_of_timestamp,
        "asOfTime": report.as_of_time,
        "verdict": report.verdict,
        "coverage": coverage,
        "producersOmitted": report.producers_omitted,
        "visibility": report.visibility,
        "eventsOmitted": report.events_omitted,
    });
    line("summary", &summary, out)
}

/// Writes the answer of a command beside `scan`.
pub fn answer<T: Serialize>(answer: &Answer<T>, out: &mut dyn Write) -> io::Result<()> {
    answer_and(answer, None, out)
}

/// Writes the answer of `producers`, of which there may be more than memory holds.
pub fn producers(answer: &Answer<Producers>, out: &mut dyn Write) -> io::Result<()> {
    let list = &answer.body.producers;
    let body = Producers { producers: ProducerList::default(), ..answer.body.clone() };
    answer_and(&Answer { body, ..answer.clone() }, Some(list), out)
}

/// Writes an answer, and this in the place of its empty list of producers.
fn answer_and<T: Serialize>(
    answer: &Answer<T>,
    producers: Option<&ProducerList>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Answer { schema_version, tool, invocation, redaction, .. } = answer;
    header(&Header { schema_version, tool, invocation, evidence: &[], redaction: redaction.as_ref() }, out)?;
    let mut summary = serde_json::to_value(answer)?;
    for told in ["schemaVersion", "tool", "invocation", "redaction"] {
        remove(&mut summary, told);
    }
    for (name, entries) in summary.as_object().into_iter().flatten() {
        for producer in producers.filter(|_| name == "producers").into_iter().flatten() {
            line(singular(name), &serde_json::to_value(producer?)?, out)?;
        }
        for entry in entries.as_array().into_iter().flatten() {
            match entry {
                Value::Object(_) => line(singular(name), entry, out)?,
                other => line(singular(name), &json!({ "value": other }), out)?,
            }
        }
    }
    if let Some(fields) = summary.as_object_mut() {
        fields.retain(|_, value| !value.is_array());
    }
    for damage in &answer.coverage.damage {
        line("damage", damage, out)?;
    }
    if let Some(coverage) = summary.get_mut("coverage") {
        remove(coverage, "damage");
    }
    line("summary", &summary, out)
}

/// The name of one entry of a list.
fn singular(list: &str) -> &str {
    match list {
        "copies" => "copy",
        "identities" => "identity",
        other => other.strip_suffix('s').unwrap_or(other),
    }
}

fn line<T: Serialize>(kind: &str, content: &T, out: &mut dyn Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a, T> {
        r#type: &'a str,
        #[serde(flatten)]
        content: &'a T,
    }
    serde_json::to_writer(&mut *out, &Line { r#type: kind, content })?;
    out.write_all(b"\n")?;
    out.flush()
}

fn remove(value: &mut Value, field: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove(field);
    }
}
