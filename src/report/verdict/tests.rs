use super::*;
use crate::finding::{Alternative, Cause, Counts, TopicPartition, Window};
use crate::report::model::{
    Coverage, DamageReport, Identity, Invocation, PartitionReport, ProtectionReport, Updates, Visibility,
    VisibleRecords,
};

fn report() -> Report {
    let mut report = Report::new(Invocation::default());
    report.verdict.complete = true;
    report.coverage =
        Coverage { partitions: 1, segments: 1, batches: 80, records: 80, ..Coverage::default() };
    let seen = VisibleRecords { records: 80, distinct_keys: Some(60), repeated_key_records: Some(20) };
    report.topics = vec![TopicReport {
        topic: "orders".to_owned(),
        identity: Some(Identity { key: "record-key".to_owned(), ..Identity::default() }),
        visibility: Visibility { read_uncommitted: seen, read_committed: seen, provisional_records: None },
        partitions: vec![PartitionReport {
            records: 80,
            protection: ProtectionReport { idempotent_records: 80, ..ProtectionReport::default() },
            ..PartitionReport::default()
        }],
        ..TopicReport::default()
    }];
    report
}

fn finding(code: Code, groups: u64, surplus: u64) -> Finding {
    let title = "a title that the judgement wrote".to_owned();
    Finding {
        id: "DA-1".to_owned(),
        code,
        severity: code.severity(),
        confidence: Confidence::Likely,
        title,
        topics: vec!["orders".to_owned()],
        partitions: vec![TopicPartition { topic: "orders".to_owned(), partition: 0 }],
        counts: Counts { groups, surplus_records: surplus, surplus_committed: surplus },
        window: Some(Window::new(Some(1_700_000_000_005), Some(1_700_000_001_000))),
        ..Finding::empty(code)
    }
}

#[test]
fn a_resend_is_told_in_plain_words() {
    let mut report = report();
    let mut resend = finding(Code::ResendNewSession, 20, 20);
    resend.cause = Some(Cause {
        text: "a restart that read from an old position".to_owned(),
        confidence: Confidence::Likely,
    });
    resend.alternatives = vec![
        Alternative {
            code: "concurrent-producers".to_owned(),
            kept: true,
            why: "one partition only".to_owned(),
        },
        Alternative {
            code: "retry-without-idempotence".to_owned(),
            kept: false,
            why: "ids differ".to_owned(),
        },
    ];
    report.findings = vec![resend];
    let verdict = of(&report, Some(Severity::Low));
    assert_eq!(
        verdict.headline,
        "20 events of topic orders are stored twice: probably a second producer session sent them again"
    );
    assert_eq!(
        verdict.sentences,
        [
            "20 surplus records of 20 events in topic orders, with times 2023-11-14 22:13:20.005 – 22:13:21.000 UTC.",
            "Consumers of both isolation levels see all 20 surplus records.",
            "This explains best what the files show (resend-new-session, likely; not excluded: concurrent-producers).",
            "Likely cause: a restart that read from an old position.",
            "Every record carries a producer id: idempotence was on, so a client's retries are not stored twice; a resend by an application is.",
            "Everything was read: 1 partition, 1 segment, 80 batches, 80 records.",
        ]
    );
    assert_eq!(verdict.findings, 1);
}

#[test]
fn a_single_copy_is_singular_and_a_certain_one_is_not_hedged() {
    let mut report = report();
    let mut resend = finding(Code::ResendNewSession, 1, 1);
    resend.confidence = Confidence::Certain;
    report.findings = vec![resend];
    let verdict = of(&report, Some(Severity::Low));
    assert_eq!(
        verdict.headline,
        "1 event of topic orders is stored twice: a second producer session sent it again"
    );
    assert_eq!(verdict.sentences[1], "Consumers of both isolation levels see the surplus record.");
    assert!(verdict.sentences[0].starts_with("1 surplus record of 1 event in topic orders, with the time"));
}

#[test]
fn three_copies_are_not_called_two() {
    let mut report = report();
    report.findings = vec![finding(Code::ConcurrentProducers, 50, 100)];
    let verdict = of(&report, None);
    assert!(
        verdict
            .headline
            .starts_with("50 events of topic orders are stored more than once (100 copies too many)")
    );
    assert_eq!(verdict.findings, 0, "nothing counts when nothing was asked to");
}

#[test]
fn an_undetermined_duplicate_blames_nobody() {
    let mut report = report();
    report.findings = vec![finding(Code::DuplicateUndetermined, 5, 5)];
    let headline = of(&report, Some(Severity::Low)).headline;
    assert_eq!(
        headline,
        "5 events of topic orders are stored twice: the files cannot tell how that came about"
    );
}

#[test]
fn several_findings_are_added_up_and_the_most_serious_is_named() {
    let mut report = report();
    let aborted = Finding {
        counts: Counts { groups: 2, surplus_records: 2, surplus_committed: 0 },
        ..finding(Code::RetryWithoutIdempotence, 2, 2)
    };
    let gap = finding(Code::SequenceGap, 0, 0);
    report.findings = vec![
        aborted,
        finding(Code::ResendNewSession, 20, 20),
        gap,
        finding(Code::SequenceGapExplained, 0, 0),
    ];
    let verdict = of(&report, Some(Severity::Low));
    assert_eq!(
        verdict.headline,
        "22 records are surplus copies of events stored before; the most serious finding (20 of them): probably a second producer session sent them again; besides, records may be missing in topic orders: a producer's numbering has a hole that nothing innocent explains"
    );
    assert!(verdict.sentences[1].starts_with("A read_committed consumer sees 20 of the 22 surplus records"));
    assert_eq!(
        verdict.sentences[3],
        "Also found: retry-without-idempotence (high), sequence-gap (high) and 1 at info."
    );
    assert_eq!(verdict.findings, 3);
}

#[test]
fn a_gap_that_is_worse_than_a_duplicate_does_not_hide_it() {
    let mut report = report();
    report.findings = vec![finding(Code::SequenceGap, 0, 0), finding(Code::ResendSameSession, 3, 3)];
    let headline = of(&report, Some(Severity::Low)).headline;
    assert!(headline.starts_with("records may be missing in topic orders"), "{headline}");
    assert!(headline.ends_with("3 records are surplus copies of events stored before"), "{headline}");
}

#[test]
fn nothing_found_says_what_was_read_and_what_counts_as_one_event() {
    let mut report = report();
    report.topics[0].updates = Updates { keys: 5, records: 12 };
    let verdict = of(&report, Some(Severity::Low));
    assert_eq!(verdict.headline, "nothing found: no event is stored more than once among 80 records");
    assert_eq!(
        verdict.sentences[..2],
        [
            "Two records of topic orders count as one event when their record key and their content agree, volatile fields aside.",
            "12 records repeat 5 keys with new content: updates, no duplicates.",
        ]
    );
    assert!(verdict.sentences.last().unwrap().starts_with("Everything was read"));
}

#[test]
fn a_key_that_no_record_has_is_no_all_clear() {
    let mut report = report();
    report.verdict.complete = false;
    report.invocation.key = "json:/nope".to_owned();
    report.coverage.records_keyed = 0;
    report.coverage.records_without_key = 80;
    let verdict = of(&report, Some(Severity::Low));
    assert_eq!(verdict.headline, "nothing was compared: none of 80 records has the key json:/nope");
    // Whatever batch headers tell beside that.
    report.findings = vec![finding(Code::SequenceGap, 0, 0)];
    let verdict = of(&report, Some(Severity::Low));
    assert!(
        verdict.headline.starts_with(
            "nothing was compared: none of 80 records has the key json:/nope; records may be missing"
        ),
        "{}",
        verdict.headline
    );
    let last = verdict.sentences.last().unwrap();
    assert!(last.contains("80 records without the key that was asked for"), "{last}");
}

#[test]
fn nothing_found_in_half_of_the_evidence_is_not_called_clean() {
    let mut report = report();
    report.verdict.complete = false;
    report.coverage.records_keyed = 79;
    report.coverage.records_undecoded = 1;
    report.coverage.damage_omitted = 2;
    let verdict = of(&report, Some(Severity::Low));
    assert_eq!(verdict.headline, "nothing found among 80 records, but not everything could be read");
    assert_eq!(
        verdict.sentences.last().unwrap(),
        "Not everything could be read (2 places of damage and 1 record that could not be decoded): all numbers are lower bounds. Read: 1 partition, 1 segment, 80 batches, 80 records."
    );
    assert!(verdict.sentences.iter().all(|sentence| !sentence.contains("handled an event twice")));
}

#[test]
fn no_records_are_nothing_to_judge() {
    let mut report = Report::default();
    report.verdict.complete = true;
    assert!(of(&report, Some(Severity::Low)).headline.contains("no records were found"));
}

#[test]
fn unprotected_records_are_named() {
    let mut report = report();
    report.topics[0].partitions[0].protection =
        ProtectionReport { idempotent_records: 60, unprotected_records: 20, ..ProtectionReport::default() };
    let said = of(&report, Some(Severity::Low)).sentences.concat();
    assert!(said.contains("20 of 80 records lack a producer id"), "{said}");
}

#[test]
fn an_aborted_copy_alone_is_no_alarm() {
    let mut report = report();
    let mut aborted = finding(Code::AbortedThenRetried, 4, 4);
    aborted.counts.surplus_committed = 0;
    report.findings = vec![aborted];
    let verdict = of(&report, Some(Severity::Low));
    assert_eq!(
        verdict.headline,
        "4 events of topic orders have one copy in an aborted transaction and one that counts: only readers of uncommitted data see both"
    );
    assert_eq!(verdict.findings, 0);
}

#[test]
fn every_code_has_a_headline_of_one_line_and_three_to_six_sentences() {
    for code in Code::ALL {
        for copies in [0, 1, 7] {
            let mut report = report();
            report.findings = vec![finding(*code, copies, copies)];
            let verdict = of(&report, Some(Severity::Low));
            assert!(
                !verdict.headline.ends_with('.') && !verdict.headline.contains("  "),
                "{}",
                verdict.headline
            );
            assert!((3..=6).contains(&verdict.sentences.len()), "{code}: {:?}", verdict.sentences);
            assert!(
                verdict.sentences.iter().all(|sentence| sentence.ends_with('.')),
                "{:?}",
                verdict.sentences
            );
        }
    }
}

#[test]
fn foreign_words_reach_no_sentence_as_they_are() {
    let mut report = report();
    let mut hostile = finding(Code::SequenceGap, 0, 0);
    hostile.title = "x\u{1b}[2J\u{202e}".to_owned();
    hostile.topics = vec!["a\nb".to_owned()];
    report.findings = vec![hostile];
    let verdict = of(&report, Some(Severity::Low));
    let said = format!("{}{}", verdict.headline, verdict.sentences.concat());
    assert!(!said.contains(['\u{1b}', '\n', '\u{202e}']), "{said}");
}

#[test]
fn findings_of_one_kind_have_no_most_serious_one() {
    let mut report = report();
    let of = |copies| finding(Code::ResendSameSession, copies, copies);
    report.findings = vec![of(8), of(6)];
    let verdict = super::of(&report, None);
    assert_eq!(
        verdict.headline,
        "14 records are surplus copies of events stored before: probably the application sent them again"
    );
    assert!(
        verdict.sentences[0].starts_with("One of 2 findings of this kind: 8 surplus records"),
        "{verdict:?}"
    );
}

#[test]
fn how_a_program_writes_its_own_state_is_no_lack_of_protection() {
    let mut report = report();
    let mut state = report.topics[0].clone();
    state.topic = "connect-offsets".to_owned();
    state.partitions[0].protection =
        ProtectionReport { unprotected_records: 80, ..ProtectionReport::default() };
    report.topics.push(state);
    let said = |report: &Report| of(report, Some(Severity::Low)).sentences.join(" ");
    assert!(said(&report).contains("80 of 160 records lack a producer id"), "{}", said(&report));
    report.topics[1].holds_state = true;
    assert!(said(&report).contains("Every record carries a producer id"), "{}", said(&report));
}

#[test]
fn events_that_may_merely_be_equal_may_be_stored_twice() {
    let mut report = report();
    let mut resend = finding(Code::ResendNewSession, 6, 6);
    resend.confidence = Confidence::Possible;
    let rival = |code: &str| Alternative { code: code.to_owned(), kept: true, why: "a reason".to_owned() };
    resend.alternatives = vec![rival("concurrent-producers")];
    report.findings = vec![resend];
    let headline = |report: &Report| of(report, Some(Severity::Low)).headline;
    assert!(headline(&report).starts_with("6 events of topic orders are stored twice: possibly"));
    report.findings[0].alternatives.push(rival("equal events"));
    assert!(headline(&report).starts_with("6 events of topic orders may be stored twice: possibly"));
}

#[test]
fn unprotected_records_are_a_share_in_the_headline() {
    let mut report = report();
    report.topics[0].partitions[0].protection =
        ProtectionReport { idempotent_records: 60, unprotected_records: 20, ..ProtectionReport::default() };
    report.findings = vec![finding(Code::IdempotenceOff, 0, 0)];
    let verdict = of(&report, Some(Severity::Low));
    assert_eq!(
        verdict.headline,
        "20 of 80 records in topic orders were written without protection against retries; no event is stored twice"
    );
    assert_eq!(
        verdict.sentences[1],
        "idempotence-off (likely) means: records were written without producer id: nothing could have caught a retry."
    );
}

#[test]
fn a_loss_beside_copies_is_in_the_headline_and_what_goes_with_retries_is_not() {
    let mut report = report();
    report.findings = vec![finding(Code::ResendNewSession, 20, 20), finding(Code::IdempotenceOff, 0, 0)];
    let headline = of(&report, None).headline;
    assert!(headline.ends_with("sent them again"), "{headline}");
    report.findings.push(finding(Code::ReplicaDivergence, 0, 0));
    let headline = of(&report, None).headline;
    assert!(headline.ends_with("; besides, replicas of topic orders hold different records"), "{headline}");
}

#[test]
fn damage_that_loses_nothing_and_notes_make_no_lower_bounds() {
    let mut report = report();
    report.verdict.complete = false;
    report.coverage.records_keyed = 80;
    let last = |report: &Report| of(report, None).sentences.last().unwrap().clone();
    assert_eq!(
        last(&report),
        "Everything was read, but not everything could be judged (see the notes): 1 partition, 1 segment, 80 batches, 80 records."
    );
    let damage = |kind: &str, missing| DamageReport {
        file: "orders-0".to_owned(),
        kind: kind.to_owned(),
        records_missing: Some(missing),
        ..DamageReport::default()
    };
    report.coverage.damage = vec![damage("bad-length", false)];
    assert_eq!(
        last(&report),
        "Every record could be read in spite of the damage: 1 partition, 1 segment, 80 batches, 80 records."
    );
    report.coverage.damage.extend([damage("unreadable", true), damage("bad-crc", true)]);
    assert_eq!(
        last(&report),
        "Not everything could be read (1 place that could not be opened or read and 2 places of damage): all numbers are lower bounds. Read: 1 partition, 1 segment, 80 batches, 80 records."
    );
}

#[test]
fn a_headline_is_as_sure_as_its_finding() {
    let headline = |code: Code, confidence| {
        let mut report = report();
        let told = Finding { confidence, severity: Severity::High, ..finding(code, 0, 0) };
        report.findings = vec![told];
        of(&report, None).headline
    };
    for code in [
        Code::OffsetGap,
        Code::OrderBroken,
        Code::SequenceAnomaly,
        Code::TransactionAnomaly,
        Code::MisroutedKey,
    ] {
        let told =
            [Confidence::Certain, Confidence::Likely, Confidence::Possible].map(|sure| headline(code, sure));
        assert!(told[1].contains("probably") && !told[0].contains("probably"), "{told:#?}");
        assert!(told[2].contains("possibly") || told[2].contains("may "), "{told:#?}");
    }
    for code in [Code::TransactionOpen, Code::ReplicaDivergence, Code::IdempotenceLost] {
        assert_ne!(headline(code, Confidence::Certain), headline(code, Confidence::Possible));
    }
}
