//! The forms of the report, from reports made by hand: texts that somebody has read (in
//! `tests/report/`), every width, and keys that want to do harm.

#[path = "support/samples.rs"]
mod samples;
mod support;

use dedup_audit::finding::{BusinessKey, Code};
use dedup_audit::report::layout::Width;
use dedup_audit::report::list::{List, ListRow};
use dedup_audit::report::model::Note;
use dedup_audit::report::{Report, escape, json, table};
use support::assert_follows_the_schema;

fn table_of(report: &Report, columns: usize) -> String {
    let mut text = Vec::new();
    table::write(report, Width::new(columns), &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("a table is text")
}

fn json_of(report: &Report) -> String {
    let mut text = Vec::new();
    json::write(report, &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("JSON is text")
}

fn list_of(report: &Report) -> String {
    let mut list = List::begin(Vec::new()).expect("memory takes everything");
    for finding in &report.findings {
        for group in &finding.groups {
            for copy in group.copies.iter().filter(|copy| copy.repeats.is_some()) {
                list.row(&ListRow::of(finding, &group.business_key, copy)).expect("memory takes everything");
            }
        }
    }
    String::from_utf8(list.finish().expect("memory takes everything")).expect("CSV is text")
}

/// Holds a text against the file that somebody has read; a new text is printed, to be read and put
/// there.
fn assert_reads(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report").join(name);
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} reads differently now:\n{text}\n--- it was:\n{expected}");
}

#[test]
fn the_twenty_orders_read_as_they_should() {
    assert_reads("orders-100.txt", &table_of(&samples::orders(), 100));
}

#[test]
fn a_narrow_terminal_has_the_same_words() {
    assert_reads("orders-60.txt", &table_of(&samples::orders(), 60));
}

#[test]
fn a_clean_log_reads_as_it_should() {
    assert_reads("clean-80.txt", &table_of(&samples::clean(), 80));
}

#[test]
fn much_at_once_reads_as_it_should() {
    assert_reads("mixed-100.txt", &table_of(&samples::mixed(), 100));
}

#[test]
fn the_list_reads_as_it_should() {
    let list = list_of(&samples::orders());
    assert_eq!(list.lines().count(), 21);
    assert_eq!(
        list.lines().nth(1),
        Some(
            "orders,0,60,order-41,text,2000,0,0,1764424939402,2025-11-29T14:02:19.402Z,resend-new-session,DA-3f9c1a2b7d40e601,orders,0,40,E4,non-transactional"
        )
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for report in [samples::orders(), samples::mixed(), samples::clean(), hostile()] {
        for columns in [40, 60, 61, 79, 80, 120, 200, 300] {
            let text = table_of(&report, columns);
            let wide: Vec<_> = text.lines().filter(|line| escape::width(line) > columns).collect();
            assert!(wide.is_empty(), "{columns} columns: {wide:#?}");
        }
    }
}

#[test]
fn reports_follow_the_schema_and_survive_being_read_back() {
    for report in [samples::orders(), samples::mixed(), samples::clean(), hostile()] {
        let text = json_of(&report);
        assert_follows_the_schema(&serde_json::from_str(&text).expect("it is JSON"));
        assert_eq!(serde_json::from_str::<Report>(&text).expect("it is a report"), report);
    }
}

/// Keys, names and words that want to do harm, in every place that takes foreign text.
const HARMFUL: &[&str] = &[
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[31m",
    "\u{9b}31m\u{90}q\u{9c}",
    "\u{202e}gnp.exe\u{2066}\u{200b}\u{feff}",
    "=cmd()|' /C calc'!A0",
    "<script>alert(1)</script>",
    "a\0b\r\nHIGH  nothing-to-see",
    "\t-1\u{2028}x",
];

fn hostile() -> Report {
    let mut report = samples::mixed();
    let all = HARMFUL.concat();
    for (index, harm) in HARMFUL.iter().enumerate() {
        let harm = (*harm).to_owned();
        let mut finding = samples::resend();
        finding.id = format!("DA-{index}{harm}");
        finding.title.clone_from(&harm);
        finding.facts = vec![harm.clone()];
        finding.topics = vec![harm.clone()];
        finding.groups.truncate(2);
        finding.counts.groups = 2;
        for group in &mut finding.groups {
            group.business_key = BusinessKey::Text { text: harm.clone() };
            for copy in &mut group.copies {
                copy.topic.clone_from(&harm);
                copy.directory.clone_from(&all);
            }
        }
        for rival in &mut finding.alternatives {
            rival.code.clone_from(&harm);
            rival.why.clone_from(&harm);
        }
        for text in finding.would_settle.iter_mut().chain(&mut finding.advice) {
            text.clone_from(&harm);
        }
        if let Some(cause) = &mut finding.cause {
            cause.text.clone_from(&harm);
        }
        report.findings.insert(0, finding);
    }
    for topic in &mut report.topics {
        topic.topic.clone_from(&all);
        if let Some(identity) = &mut topic.identity {
            identity.why.clone_from(&all);
            identity.volatile = vec![all.clone(); 7];
            identity.key.clone_from(&all);
        }
    }
    for producer in &mut report.producers {
        for session in &mut producer.sessions {
            session.topic.clone_from(&all);
        }
    }
    let gap = &report
        .findings
        .iter()
        .find(|finding| finding.code == Code::SequenceGap)
        .expect("mixed has one")
        .gaps[0];
    let mut session = report.producers[0].clone();
    session.producer_id = gap.producer_id;
    session.sessions[0].session.clone_from(&all);
    session.sessions[0].topic.clone_from(&gap.topic);
    session.sessions[0].partition = gap.partition;
    report.producers.push(session);
    report.coverage.notes = vec![Note::about(all.clone(), all.clone())];
    for damage in &mut report.coverage.damage {
        damage.file.clone_from(&all);
        damage.detail.clone_from(&all);
        damage.kind.clone_from(&all);
    }
    report.verdict.headline.clone_from(&all);
    report.verdict.sentences = vec![all; 3];
    report
}

fn harmful(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[test]
fn nothing_harmful_reaches_a_terminal() {
    for columns in [1, 40, 80, 300] {
        let text = table_of(&hostile(), columns);
        let through: Vec<_> = text.chars().filter(|one| *one != '\n' && harmful(*one)).collect();
        assert!(through.is_empty(), "{through:?}");
        assert!(
            !text.lines().any(|line| line.starts_with("HIGH  nothing-to-see")),
            "a key wrote a line of its own"
        );
        assert!(text.contains("\\x1b]0;owned"), "what is escaped is still shown");
    }
}

#[test]
fn nothing_harmful_reaches_a_cell() {
    let list = list_of(&hostile());
    assert!(!list.chars().any(|one| one != '\n' && harmful(one)));
    assert_eq!(list.lines().count(), 1 + 2 * HARMFUL.len() + 20, "a key made a line of its own");
    for line in list.lines() {
        let formula = line.split(',').find(|cell| cell.trim_matches('"').starts_with(['=', '@', '+', '\t']));
        assert_eq!(formula, None, "{line}");
    }
}

#[test]
fn json_keeps_foreign_text_exactly() {
    let value: serde_json::Value = serde_json::from_str(&json_of(&hostile())).expect("it is JSON");
    let keys: Vec<_> = (0..HARMFUL.len())
        .rev()
        .map(|index| {
            value["findings"][index]["groups"][0]["businessKey"]["text"].as_str().unwrap_or_default()
        })
        .collect();
    assert_eq!(keys, HARMFUL);
}

#[test]
fn a_key_of_a_megabyte_makes_no_long_report() {
    let mut report = samples::orders();
    let long = "x\u{1b}".repeat(1 << 19);
    report.findings[0].groups[0].business_key = BusinessKey::Text { text: long.clone() };
    report.findings[0].facts[0].clone_from(&long);
    report.findings[0].title.clone_from(&long);
    let report = samples::judged(report);
    for columns in [1, 60, 300] {
        assert!(table_of(&report, columns).len() < 20_000);
    }
    assert!(report.verdict.sentences.concat().len() < 5_000);
}
