//! A report that was saved, read back: JSON or NDJSON, of this version, an earlier or a later one.
//!
//! Fields and words that this version does not know are no error: fields are passed over, words are
//! kept ([`crate::finding::Word`]). NDJSON without its last line is of a run that was stopped; what
//! it holds is read, and the report says so.

use super::model::{Coverage, DamageReport, PartitionReport, Report, TopicReport, Verdict, Visibility};
use super::verdict;
use crate::finding::Severity;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads a report.
///
/// # Errors
/// What is wrong, with its line.
pub fn read(text: &str) -> Result<Report, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let typed = serde_json::from_str::<Typed>(first).ok().map(|line| line.r#type);
    match typed.as_deref() {
        Some("header") => lines(text),
        Some(other) => {
            Err(format!("the first line is a {other}, where a report in NDJSON begins with its header"))
        }
        None => serde_json::from_str(text).map_err(|error| no_report(&error)),
    }
}

/// The words of the parser, and what to look at.
fn no_report(error: &serde_json::Error) -> String {
    format!("it is no report of scan --format json: {error}")
}

#[derive(Deserialize)]
struct Typed {
    r#type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    #[serde(default)]
    as_of_timestamp: Option<i64>,
    verdict: Verdict,
    coverage: Map<String, Value>,
    producers_omitted: u64,
    visibility: Visibility,
    #[serde(default)]
    events_omitted: u64,
}

fn lines(text: &str) -> Result<Report, String> {
    let mut report = Report::default();
    let mut damage: Vec<DamageReport> = Vec::new();
    let mut summary: Option<Summary> = None;
    let mut partitions: Vec<(String, Option<String>, PartitionReport)> = Vec::new();
    let rows: Vec<(usize, &str)> =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).collect();
    for (index, &(number, row)) in rows.iter().enumerate() {
        let at = |error: serde_json::Error| format!("line {}: {error}", number + 1);
        let mut fields: Map<String, Value> = match serde_json::from_str(row) {
            Ok(fields) => fields,
            // The last line of a run that was stopped may be half a line.
            Err(error) if index + 1 == rows.len() && error.is_eof() => break,
            Err(error) => return Err(at(error)),
        };
        let kind = fields.remove("type");
        match kind.as_ref().and_then(Value::as_str) {
            Some("header") => {
                let empty = serde_json::to_value(Report::default()).map_err(at)?;
                for (name, value) in empty.as_object().into_iter().flatten() {
                    fields.entry(name.as_str()).or_insert_with(|| value.clone());
                }
                report = of(fields).map_err(at)?;
            }
            Some("topic") => {
                fields.insert("partitions".to_owned(), Value::Array(Vec::new()));
                report.topics.push(of::<TopicReport>(fields).map_err(at)?);
            }
            Some("partition") => {
                let mut text =
                    |name: &str| fields.remove(name).as_ref().and_then(Value::as_str).map(str::to_owned);
                let (name, id) = (text("topic").unwrap_or_default(), text("topicId"));
                partitions.push((name, id, of::<PartitionReport>(fields).map_err(at)?));
            }
            Some("damage") => damage.push(of(fields).map_err(at)?),
            Some("producer") => report.producers.push(of(fields).map_err(at)?),
            Some("event") => report.events.push(of(fields).map_err(at)?),
            Some("finding") => report.findings.push(of(fields).map_err(at)?),
            Some("summary") => summary = Some(of(fields).map_err(at)?),
            // A later version may have more kinds.
            _ => {}
        }
    }
    for (topic, topic_id, partition) in partitions {
        place(&mut report.topics, topic, topic_id, partition);
    }
    if let Some(Summary {
        as_of_timestamp,
        verdict,
        mut coverage,
        producers_omitted,
        visibility,
        events_omitted,
    }) = summary
    {
        if as_of_timestamp.is_some() {
            report.set_as_of(as_of_timestamp);
        }
        report.events_omitted = events_omitted;
        coverage.insert("damage".to_owned(), Value::Array(Vec::new()));
        report.coverage = Coverage { damage, ..of(coverage).map_err(|error| no_report(&error))? };
        report.verdict = verdict;
        report.producers_omitted = producers_omitted;
        report.visibility = visibility;
    } else {
        report.coverage = until_then(&report.topics, damage);
        report.verdict.interrupted = true;
        report.verdict = verdict::of(&report, Some(Severity::Low));
    }
    Ok(report)
}

/// Puts a partition into its topic; a run that was stopped has not told its topics yet.
fn place(topics: &mut Vec<TopicReport>, topic: String, topic_id: Option<String>, partition: PartitionReport) {
    let same = |one: &TopicReport| one.topic == topic && one.topic_id == topic_id;
    let at = topics.iter().position(same).or_else(|| topics.iter().position(|one| one.topic == topic));
    match at.and_then(|at| topics.get_mut(at)) {
        Some(topic) => topic.partitions.push(partition),
        None => topics.push(TopicReport {
            topic,
            topic_id,
            partitions: vec![partition],
            ..TopicReport::default()
        }),
    }
}

/// What a run that was stopped has read for sure.
fn until_then(topics: &[TopicReport], damage: Vec<DamageReport>) -> Coverage {
    let mut coverage = Coverage { damage, ..Coverage::default() };
    for partition in topics.iter().flat_map(|topic| &topic.partitions) {
        coverage.partitions += 1;
        coverage.batches += partition.batches;
        coverage.records += partition.records;
        coverage.bytes += partition.bytes;
        coverage.bytes_read += partition.bytes;
    }
    coverage
}

fn of<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, serde_json::Error> {
    serde_json::from_value(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Code, Finding};
    use crate::report::model::Invocation;
    use crate::report::{json, ndjson};

    fn report() -> Report {
        let mut report = Report::new(Invocation { key: "auto".to_owned(), ..Invocation::default() });
        report.topics = vec![TopicReport {
            topic: "orders".to_owned(),
            partitions: vec![PartitionReport { partition: 7, ..PartitionReport::default() }],
            ..TopicReport::default()
        }];
        report.coverage.damage = vec![DamageReport::default()];
        report.coverage.records = 5;
        report.findings = vec![Finding { id: "DA-1".to_owned(), ..Finding::empty(Code::OffsetGap) }];
        report.verdict.headline = "a log has a hole".to_owned();
        report.producers_omitted = u64::MAX;
        report
    }

    fn text(write: impl FnOnce(&Report, &mut dyn std::io::Write) -> std::io::Result<()>) -> String {
        let mut text = Vec::new();
        write(&report(), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn both_forms_are_read_back_without_loss() {
        assert_eq!(read(&text(json::write)).unwrap(), report());
        assert_eq!(read(&text(ndjson::write)).unwrap(), report());
    }

    #[test]
    fn a_run_that_was_stopped_is_read_as_far_as_it_came() {
        let whole = text(ndjson::write);
        let half = &whole[..whole.find("\"type\":\"finding\"").unwrap() + 20];
        let read = read(half).unwrap();
        assert!(read.verdict.interrupted && read.findings.is_empty());
        assert_eq!(read.topics[0].partitions[0].partition, 7);
        assert!(read.verdict.headline.starts_with("interrupted"), "{}", read.verdict.headline);
    }

    #[test]
    fn what_is_no_report_is_told_with_its_line() {
        assert!(read("{}").unwrap_err().contains("missing field"));
        assert!(read("").unwrap_err().contains("no report"));
        assert!(read("{\"type\":\"finding\"}").unwrap_err().contains("begins with its header"));
        let broken = text(ndjson::write).replace("\"partition\":7", "\"partition\":\"x\"");
        assert!(read(&broken).unwrap_err().starts_with("line 2: "));
    }
}
