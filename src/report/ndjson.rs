//! The report as NDJSON: one object a line, each with a `type`.
//!
//! ```text
//!  header     version, tool, call, evidence
//!  topic      a topic without its partitions
//!  partition  one line each, in order
//!  damage     one line each
//!  producer   one line each
//!  event      one line each
//!  finding    one line each
//!  summary    verdict, coverage and visibility
//! ```
//!
//! Each line is flushed as it is written: what a reader has got so far is whole lines, also when the
//! run is stopped. A file without `summary` is of a run that did not end.

use super::model::{PartitionReport, Report, TopicReport};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the report.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Lines { out };
    let mut header = json!({
            "schemaVersion": report.schema_version,
            "tool": report.tool,
            "invocation": report.invocation,
            "asOfTimestamp": report.as_of_timestamp,
            "asOfTime": report.as_of_time,
            "evidence": report.evidence,
    });
    if let Some((redaction, fields)) = report.redaction.as_ref().zip(header.as_object_mut()) {
        fields.insert("redaction".to_owned(), serde_json::to_value(redaction)?);
    }
    lines.put("header", &header)?;
    for topic in &report.topics {
        lines.topic(topic)?;
        for partition in &topic.partitions {
            lines.partition(&topic.topic, partition)?;
        }
    }
    for damage in &report.coverage.damage {
        lines.put("damage", damage)?;
    }
    for producer in &report.producers {
        lines.put("producer", producer)?;
    }
    for event in &report.events {
        lines.put("event", event)?;
    }
    for finding in &report.findings {
        lines.put("finding", finding)?;
    }
    let mut coverage = serde_json::to_value(&report.coverage)?;
    remove(&mut coverage, "damage");
    lines.put(
        "summary",
        &json!({
            "verdict": report.verdict,
            "coverage": coverage,
            "producersOmitted": report.producers_omitted,
            "visibility": report.visibility,
            "eventsOmitted": report.events_omitted,
        }),
    )
}

struct Lines<'a> {
    out: &'a mut dyn Write,
}

impl Lines<'_> {
    fn topic(&mut self, topic: &TopicReport) -> io::Result<()> {
        let mut value = serde_json::to_value(topic)?;
        remove(&mut value, "partitions");
        self.put("topic", &value)
    }

    fn partition(&mut self, topic: &str, partition: &PartitionReport) -> io::Result<()> {
        #[derive(Serialize)]
        struct InTopic<'a> {
            topic: &'a str,
            #[serde(flatten)]
            partition: &'a PartitionReport,
        }
        self.put("partition", &InTopic { topic, partition })
    }

    fn put<T: Serialize>(&mut self, kind: &str, content: &T) -> io::Result<()> {
        #[derive(Serialize)]
        struct Line<'a, T> {
            r#type: &'a str,
            #[serde(flatten)]
            content: &'a T,
        }
        serde_json::to_writer(&mut *self.out, &Line { r#type: kind, content })?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

fn remove(value: &mut Value, field: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove(field);
    }
}
