//! The forms of the report, from reports made by hand: texts that somebody has read (in
//! `tests/report/`), every width, and keys that want to do harm.

#[path = "support/samples.rs"]
mod samples;
mod support;

use dedup_audit::finding::{BusinessKey, Code, Finding};
use dedup_audit::report::layout::Width;
use dedup_audit::report::list::{List, Surplus};
use dedup_audit::report::model::Note;
use dedup_audit::report::wording::Zone;
use dedup_audit::report::{Report, escape, html, json, markdown, ndjson, saved, show, table};
use dedup_audit::spill::Share;
use support::assert_follows_the_schema;

fn table_of(report: &Report, columns: usize) -> String {
    let mut text = Vec::new();
    table::write(report, Width::new(columns), &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("a table is text")
}

type Form = fn(&Report, &mut dyn std::io::Write) -> std::io::Result<()>;

fn written(report: &Report, form: Form) -> String {
    let mut text = Vec::new();
    form(report, &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("every form is text")
}

fn json_of(report: &Report) -> String {
    written(report, json::write)
}

fn list_of(report: &Report) -> String {
    let mut list = List::begin(Vec::new()).expect("memory takes everything");
    let findings =
        |each: &mut dyn FnMut(&Finding) -> std::io::Result<()>| report.findings.iter().try_for_each(each);
    let surplus = Surplus::new(&findings, &report.topics, Share::default());
    surplus.rows(|row| list.row(row)).expect("memory takes everything");
    String::from_utf8(list.finish().expect("memory takes everything")).expect("CSV is text")
}

/// Holds a text against the file that somebody has read. `UPDATE_REPORTS=1 cargo test --test report_forms`
/// writes what is printed now; read the change before it is committed.
fn assert_reads(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report").join(name);
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if std::env::var_os("UPDATE_REPORTS").is_some() && text != expected {
        std::fs::write(&path, text).expect("the file can be written");
        return;
    }
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
fn a_ticket_reads_as_it_should() {
    assert_reads("orders.md", &written(&samples::orders(), markdown::write));
    assert_reads("mixed.md", &written(&samples::mixed(), markdown::write));
    assert_reads("clean.md", &written(&samples::clean(), markdown::write));
}

#[test]
fn lines_of_ndjson_read_as_they_should() {
    assert_reads("clean.ndjson", &written(&samples::clean(), ndjson::write));
}

#[test]
fn one_finding_in_full_reads_as_it_should() {
    let mut finding = samples::resend();
    finding.groups.truncate(2);
    let mut text = Vec::new();
    show::write_table(&finding, &Zone::default(), Width::new(80), &mut text)
        .expect("memory takes everything");
    assert_reads("resend-80.txt", &String::from_utf8(text).expect("it is text"));
}

/// The scenarios of `testdata/`, as the tool prints them.
#[test]
fn incidents_of_brokers_read_as_they_should() {
    for scenario in ["crash-restart-resend"] {
        let home = tempfile::tempdir().expect("a directory");
        let of = |ending: &str| home.path().join(format!("{scenario}.{ending}"));
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
        command.args(["scan", scenario]);
        command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/brokers/4.3.1"));
        for ending in ["txt", "md", "csv"] {
            command.arg("-o").arg(of(ending));
        }
        assert_eq!(command.status().expect("it runs").code(), Some(1));
        for ending in ["txt", "md", "csv"] {
            let text = std::fs::read_to_string(of(ending)).expect("it was written");
            assert_reads(&format!("{scenario}.{ending}"), &text);
        }
    }
}

#[test]
fn no_rival_is_left_out() {
    let mut report = samples::orders();
    let rivals = ["first", "second", "third", "fourth", "fifth"];
    for (at, code) in rivals.iter().enumerate() {
        let rival = dedup_audit::finding::Alternative {
            code: (*code).to_owned(),
            kept: at % 2 == 0,
            why: String::new(),
        };
        report.findings[0].alternatives.push(rival);
    }
    for text in [table_of(&report, 100), written(&report, markdown::write)] {
        assert!(rivals.iter().all(|code| text.contains(code)), "{text}");
    }
}

#[test]
fn one_record_is_never_drawn_as_two() {
    let text = table_of(&samples::orders(), 300);
    let lanes: String = text.lines().skip_while(|line| !line.starts_with("Lanes")).skip(1).take(2).collect();
    let marks = |mark| lanes.chars().filter(|one| *one == mark).count();
    assert_eq!((marks('o'), marks('x'), marks('─')), (20, 20, 40), "{text}");
}

#[test]
fn a_ticket_with_many_findings_has_the_offsets_of_each() {
    let mut report = samples::orders();
    for at in 0..9_u32 {
        let mut finding = samples::resend();
        finding.id = format!("DA-{at}");
        finding.facts = vec![format!("orders-0 offset {} came again", 1000 + at)];
        report.findings.push(finding);
    }
    let text = written(&samples::judged(report), markdown::write);
    assert!(text.lines().count() < 60, "{text}");
    assert!((1000..1009).all(|at| text.contains(&format!("offset {at} came again"))), "{text}");
}

#[test]
fn in_a_ticket_each_finding_that_matters_keeps_its_rivals_and_what_settles_it() {
    let mut report = samples::orders();
    for at in 0..9_u32 {
        let mut finding = samples::resend();
        finding.id = format!("DA-{at}");
        finding.alternatives[0].why = format!("reason {at}");
        finding.would_settle = vec![format!("the log of instance {at}")];
        finding.advice = vec!["look".to_owned(), "ask".to_owned(), format!("do not touch copy {at}")];
        report.findings.push(finding);
    }
    let text = written(&samples::judged(report), markdown::write);
    assert!(text.lines().count() < 60, "{text}");
    for at in 0..9 {
        for said in
            [format!("reason {at}"), format!("the log of instance {at}"), format!("do not touch copy {at}")]
        {
            assert!(text.contains(&said), "{said} is not in {text}");
        }
    }
}

/// It is pasted where nothing stands around it.
#[test]
fn the_first_line_of_a_ticket_names_topics_times_and_events() {
    let first =
        |report: &Report| written(report, markdown::write).lines().next().unwrap_or_default().to_owned();
    let one = first(&samples::orders());
    assert!(one.contains("20 events of topic orders"), "{one}");
    assert!(one.ends_with("(2025-11-29 14:02:19.402 – 14:02:19.611 UTC)"), "{one}");
    let mut several = samples::orders();
    let mut other = samples::resend();
    other.topics = vec!["refunds".to_owned()];
    other.counts.groups = 3;
    several.findings.push(other);
    let several = first(&samples::judged(several));
    assert!(
        several.contains("(up to 23 events, topics orders and refunds, 2025-11-29 14:02:19.402 –"),
        "{several}"
    );
    let clean = first(&samples::clean());
    assert!(clean.contains("(topic "), "{clean}");
}

#[test]
fn where_the_content_identifies_readers_get_contents() {
    let mut report = samples::orders();
    let text = table_of(&report, 200);
    assert!(text.contains("60 keys, 20 repeats of a key"), "{text}");
    report.topics[0].identity.as_mut().expect("it has one").key = "content".to_owned();
    let text = table_of(&report, 200);
    assert!(text.contains("60 contents, 20 repeats of a content"), "{text}");
}

#[test]
fn readers_are_told_by_topic_where_several_were_read() {
    let mut report = samples::orders();
    let one = report.topics[0].clone();
    for at in 0..8_u64 {
        let mut topic = one.clone();
        topic.topic = format!("other-{at}");
        topic.visibility.read_committed.repeated_key_records = Some(at);
        topic.visibility.read_uncommitted.repeated_key_records = Some(at);
        report.topics.push(topic);
    }
    let text = table_of(&report, 200);
    assert!(text.contains("orders: 80 records, 60 keys, 20 repeats of a key\n"), "{text}");
    assert!(text.contains("other-7: 80 records, 60 keys, 7 repeats of a key\n"), "{text}");
    assert!(text.contains("… and 4 more topics that the JSON report names"), "{text}");
    let ticket = written(&report, markdown::write);
    assert!(
        ticket
            .contains("**Readers** get of `orders`: 80 records, 60 keys, 20 repeats of a key; of `other-7`"),
        "{ticket}"
    );
}

/// Of two clusters, or one that was deleted and its successor.
#[test]
fn two_topics_of_one_name_are_told_apart_in_the_terminal() {
    let mut report = samples::orders();
    let mut other = report.topics[0].clone();
    other.topic_id = Some("tTsEYh8sSwGLKTStVHJEyw".to_owned());
    other.partitions[0].directory = "copy/orders-0".to_owned();
    other.partitions[0].protection.idempotent_records = 79;
    other.partitions[0].protection.unprotected_records = 1;
    if let Some(identity) = &mut other.identity {
        identity.key = "json:/id".to_owned();
    }
    report.topics.push(other);
    let text = table_of(&report, 200);
    for (line, which) in
        [("Protection", "orders (topic id tTsEYh8sSwGLKTStVHJEyw): "), ("Identity", "orders (")]
    {
        let at = text.find(line).expect("it is told");
        assert!(text[at..].starts_with(&format!("{line:<12}{which}")), "{text}");
    }
    let lanes = text.lines().find(|line| line.starts_with("Lanes")).expect("they are drawn");
    assert!(lanes.contains("orders-0 ("), "{lanes}");
    let ticket = written(&report, markdown::write);
    for said in ["**One event** are records when `orders`", "**Readers** get of `orders`"] {
        assert!(ticket.contains(&format!("{said} (in orders-0): ")), "{ticket}");
    }
    assert!(ticket.matches("; `orders` (topic id tTsEYh8sSwGLKTStVHJEyw): ").count() == 1, "{ticket}");
    report.topics[1].topic_id = report.topics[0].topic_id.clone();
    let text = table_of(&report, 200);
    assert!(text.contains("Protection  orders (in copy/orders-0): "), "{text}");
}

#[test]
fn the_list_reads_as_it_should() {
    let list = list_of(&samples::orders());
    assert_eq!(list.lines().count(), 21);
    assert_eq!(
        list.lines().nth(1),
        Some(
            "orders,0,60,order-41,text,2000,0,0,1764424939402,2025-11-29T14:02:19.402Z,resend-new-session,DA-3f9c1a2b7d40e601,orders,0,40,E4,non-transactional,order-41,text,true,orders,0,40"
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
    for (index, topic) in report.topics.iter_mut().enumerate() {
        topic.topic.clone_from(&all);
        topic.topic_id = Some(format!("{index}{all}"));
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
fn a_ticket_is_short_and_nothing_in_it_becomes_markup() {
    for report in [samples::orders(), samples::mixed(), samples::clean(), hostile()] {
        let text = written(&report, markdown::write);
        assert!(text.lines().count() < 60, "{}", text.lines().count());
    }
    let mut report = samples::orders();
    let harm = "[x](http://evil) ![y](z) <img src=x> @team #12 | `a` | *b* www.evil.com <!-- \u{202e}";
    report.findings[0].title = harm.to_owned();
    report.findings[0].facts = vec![harm.to_owned()];
    report.findings[0].groups[0].business_key = BusinessKey::Text { text: harm.to_owned() };
    report.findings[0].groups[0].copies[0].topic = harm.to_owned();
    report.verdict.headline = harm.to_owned();
    let text = written(&report, markdown::write);
    // Outside of code spans no sign is left that means something.
    let bare: String = without_code(&text);
    for markup in ["<img", "<!--", " @team", " #12", "![", "http://", "www.evil"] {
        assert!(!bare.contains(markup), "{markup} in {bare}");
    }
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
    for row in rows {
        let cells = row.replace("\\|", "").matches('|').count();
        assert!([7, 9].contains(&cells), "a key broke a table: {row}");
    }
    assert!(!bare.replace("\\[", "").contains('['), "{bare}");
}

/// Markdown without what stands in code spans.
fn without_code(text: &str) -> String {
    let mut bare = String::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(at) = rest.find('`') {
            if rest[..at].ends_with('\\') {
                bare.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
                continue;
            }
            bare.push_str(&rest[..at]);
            let fence = rest[at..].chars().take_while(|c| *c == '`').count();
            let inside = &rest[at + fence..];
            let close = inside.find(&"`".repeat(fence)).expect("a span ends on its line");
            rest = &inside[close + fence..];
        }
        bare.push_str(rest);
        bare.push('\n');
    }
    bare
}

#[test]
fn nothing_harmful_reaches_any_file() {
    let report = hostile();
    for (name, form) in [("md", markdown::write as Form), ("html", html::write), ("ndjson", ndjson::write)] {
        let text = written(&report, form);
        // JSON keeps foreign text exactly and escapes what controls; a reader of lines is a program.
        let through: Vec<_> = match name {
            "ndjson" => text.chars().filter(|one| *one != '\n' && one.is_ascii_control()).collect(),
            _ => text.chars().filter(|one| *one != '\n' && harmful(*one)).collect(),
        };
        assert!(through.is_empty(), "{name}: {through:?}");
        // Markdown may hold it in a code span, where it is text.
        assert!(name != "html" || !text.contains("<script>alert(1)"), "{name}");
    }
    let read = saved::read(&written(&report, ndjson::write)).expect("it is a report");
    assert_eq!(read, report);
}

#[test]
fn a_terminal_of_one_column_and_offsets_at_the_end_of_all_numbers_are_drawn() {
    let mut report = samples::orders();
    report.findings[0].groups[0].copies[0].offset = i64::MIN;
    report.findings[0].groups[0].copies[1].offset = i64::MAX;
    report.producers[0].sessions[0].session = "注文".repeat(300);
    for columns in [0, 1, 40, 300] {
        let text = table_of(&report, columns);
        assert!(text.lines().all(|line| escape::width(line) <= columns.clamp(40, 300)), "{text}");
    }
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
    assert!(written(&report, markdown::write).len() < 20_000);
    assert!(written(&report, html::write).len() < 300_000);
}
