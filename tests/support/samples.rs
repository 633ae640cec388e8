//! Reports made by hand, for the forms of the report.

use dedup_audit::finding::{
    Alternative, BusinessKey, Cause, Code, Confidence, Copy, Counts, Finding, Gap, GapReason, Group, Level,
    Outcome, Place, ProtectionMode, Severity, Stretch, TopicPartition, Transaction, Visibility, Window,
};
use dedup_audit::report::model::{
    Chosen, Coverage, DamageReport, EpochReport, Evidence, Identity, Invocation, LeaderEpochStart, Note,
    PartitionReport, ProducerReport, ProtectionReport, SessionReport, Suggestion, TopicReport, Updates,
    VisibleRecords,
};
use dedup_audit::report::{Report, model, verdict};

/// 2025-11-29 14:02:00 UTC
const TWO_MINUTES_PAST: i64 = 1_764_424_920_000;

/// A finding about nothing yet.
pub fn finding(code: Code, title: &str) -> Finding {
    let place = Code::ALL.iter().position(|known| *known == code).unwrap_or(0) as u64;
    Finding {
        id: format!("DA-{:016x}", place + 0x3f9c_1a2b_7d40_e600),
        code,
        severity: code.severity(),
        confidence: Confidence::Certain,
        title: title.to_owned(),
        topics: vec!["orders".to_owned()],
        partitions: vec![TopicPartition { topic: "orders".to_owned(), partition: 0 }],
        counts: Counts::default(),
        window: None,
        ..Finding::empty(code)
    }
}

/// A copy in orders-0.
pub fn copy(offset: i64, producer_id: i64, sequence: i32, millis: i64, repeats: Option<i64>) -> Copy {
    Copy {
        topic: "orders".to_owned(),
        partition: 0,
        directory: "orders-0".to_owned(),
        broker_id: Some(1),
        segment: "00000000000000000000.log".to_owned(),
        position: offset.unsigned_abs() * 90,
        offset,
        timestamp: None,
        time: None,
        timestamp_type: "CreateTime".to_owned(),
        producer_id,
        producer_epoch: (producer_id >= 0).then_some(0),
        sequence: (producer_id >= 0).then_some(sequence),
        session: (producer_id >= 0).then(|| format!("{producer_id}#1")),
        partition_leader_epoch: Some(0),
        batch_base_offset: offset,
        crc: 943_129_775,
        visibility: Visibility::NonTransactional,
        repeats: repeats.map(|offset| Place { topic: "orders".to_owned(), partition: 0, offset }),
        level: repeats.map(|_| Level::E4),
        value: None,
    }
    .at_time(Some(millis))
}

/// Twenty orders that a second session sent again.
pub fn resend() -> Finding {
    let groups = (0..20)
        .map(|index| Group {
            business_key: BusinessKey::Text { text: format!("order-{}", index + 41) },
            copies: vec![
                copy(
                    index + 40,
                    1000,
                    40 + i32::try_from(index).unwrap_or(0),
                    TWO_MINUTES_PAST + 10_871 + index * 16,
                    None,
                ),
                copy(
                    index + 60,
                    2000,
                    i32::try_from(index).unwrap_or(0),
                    TWO_MINUTES_PAST + 19_402 + index * 11,
                    Some(index + 40),
                ),
            ],
            copies_omitted: 0,
        })
        .collect();
    let mut finding = finding(Code::ResendNewSession, "producer 2000 sent 20 orders of producer 1000 again");
    finding.confidence = Confidence::Likely;
    finding.counts = Counts { groups: 20, surplus_records: 20, surplus_committed: 20 };
    finding.window = Some(Window::new(Some(TWO_MINUTES_PAST + 19_402), Some(TWO_MINUTES_PAST + 19_611)));
    finding.level = Some(Level::E4);
    finding.cause = Some(Cause {
        text: "a restart that read from an old position".to_owned(),
        confidence: Confidence::Likely,
    });
    finding.facts = vec![
        "producer 1000 wrote order-1 … order-60 (offsets 0–59), last seen 14:02:11.180".to_owned(),
        "producer 2000 began at 14:02:19.402 with order-41 … order-60 again (offsets 60–79), same content"
            .to_owned(),
    ];
    finding.alternatives = vec![
        Alternative {
            code: "concurrent-producers".to_owned(),
            kept: true,
            why: "one partition alone does not tell whether producer 1000 still lived".to_owned(),
        },
        Alternative {
            code: "retry-without-idempotence".to_owned(),
            kept: false,
            why: "the producer id differs".to_owned(),
        },
    ];
    finding.would_settle = vec!["the application's log at 14:02".to_owned()];
    finding.advice = vec![
        "keep the read position durable or make it one transaction".to_owned(),
        "until then drop repeats by order id".to_owned(),
    ];
    finding.groups = groups;
    finding
}

fn session(producer_id: i64, offsets: (i64, i64), millis: (i64, i64)) -> ProducerReport {
    let records = offsets.1.abs_diff(offsets.0) + 1;
    let last_sequence = i32::try_from(records - 1).ok();
    ProducerReport {
        producer_id,
        transactional_id: None,
        sessions: vec![SessionReport {
            session: format!("{producer_id}#1"),
            topic: "orders".to_owned(),
            partition: 0,
            transactional: false,
            transaction_epochs: None,
            first_offset: offsets.0,
            last_offset: offsets.1,
            batches: records,
            records,
            window: Window::new(Some(millis.0), Some(millis.1)),
            epochs: vec![EpochReport {
                producer_epoch: Some(0),
                first_offset: offsets.0,
                last_offset: offsets.1,
                first_sequence: Some(0),
                last_sequence,
                batches: records,
                records,
            }],
            epochs_omitted: 0,
        }],
        sessions_omitted: 0,
    }
}

/// One topic, one partition, eighty records, everything read, nothing found.
pub fn clean() -> Report {
    let mut report = Report::new(Invocation {
        paths: vec!["/var/kafka/orders-0".to_owned()],
        key: "auto".to_owned(),
        ..Invocation::default()
    });
    let seen = both(VisibleRecords { records: 80, distinct_keys: Some(80), repeated_key_records: Some(0) });
    let (first, last) = (TWO_MINUTES_PAST + 9_000, TWO_MINUTES_PAST + 19_611);
    report.set_as_of(Some(last));
    report.evidence =
        vec![Evidence { directory: "/var/kafka".to_owned(), files: 4, bytes: 9000, ..Evidence::default() }];
    report.verdict.complete = true;
    report.coverage = Coverage {
        partitions: 1,
        segments: 1,
        bytes: 7200,
        bytes_read: 7200,
        batches: 80,
        records: 80,
        records_keyed: 80,
        ..Coverage::default()
    };
    report.topics = vec![TopicReport {
        topic: "orders".to_owned(),
        topic_id: None,
        internal: false,
        holds_state: false,
        identity: Some(Identity {
            key: "record-key".to_owned(),
            chosen: Chosen::Auto,
            why: "repeats of a key nearly always carry the same content".to_owned(),
            ..Identity::default()
        }),
        updates: Updates::default(),
        visibility: seen,
        partitions: vec![PartitionReport {
            partition: 0,
            directory: "orders-0".to_owned(),
            log_end_offset: 80,
            high_watermark: Some(80),
            batches: 80,
            records: 80,
            bytes: 7200,
            timestamp_type: Some("CreateTime".to_owned()),
            window: Window::new(Some(first), Some(last)),
            leader_epochs: vec![LeaderEpochStart { epoch: 0, start_offset: 0 }],
            protection: ProtectionReport {
                idempotent_records: 80,
                stretches: vec![Stretch::new(
                    ProtectionMode::Idempotent,
                    (0, 79),
                    80,
                    (Some(first), Some(last)),
                )],
                ..ProtectionReport::default()
            },
            ..PartitionReport::default()
        }],
    }];
    report.producers = vec![
        session(1000, (0, 59), (first, TWO_MINUTES_PAST + 11_180)),
        session(2000, (60, 79), (TWO_MINUTES_PAST + 19_402, last)),
    ];
    report.visibility = seen;
    judged(report)
}

/// The report with its verdict.
pub fn judged(mut report: Report) -> Report {
    report.verdict = verdict::of(&report, Some(Severity::Low));
    report
}

fn both(seen: VisibleRecords) -> model::Visibility {
    model::Visibility { read_uncommitted: seen, read_committed: seen, provisional_records: None }
}

/// The report of the twenty orders.
pub fn orders() -> Report {
    let mut report = clean();
    let seen = both(VisibleRecords { records: 80, distinct_keys: Some(60), repeated_key_records: Some(20) });
    report.topics[0].visibility = seen;
    report.visibility = seen;
    report.findings = vec![resend()];
    judged(report)
}

/// Much at once: gaps, an open transaction, unprotected records, damage, notes, updates.
pub fn mixed() -> Report {
    let mut report = orders();
    let payments = TopicReport {
        topic: "payments".to_owned(),
        identity: Some(Identity {
            key: "content".to_owned(),
            chosen: Chosen::Auto,
            why: "record keys are null".to_owned(),
            volatile: vec!["json:/sentAt".to_owned(), "header:traceparent".to_owned()],
            suggestions: vec![Suggestion {
                key: "json:/paymentId".to_owned(),
                why: "11,980 of 12,000 values differ".to_owned(),
            }],
        }),
        updates: Updates { keys: 5, records: 12 },
        visibility: model::Visibility {
            provisional_records: Some(0),
            read_uncommitted: VisibleRecords {
                records: 12_000,
                distinct_keys: Some(11_980),
                repeated_key_records: Some(20),
            },
            read_committed: VisibleRecords {
                records: 11_500,
                distinct_keys: Some(11_490),
                repeated_key_records: Some(10),
            },
        },
        partitions: vec![PartitionReport {
            partition: 2,
            directory: "payments-2".to_owned(),
            records: 12_000,
            batches: 1200,
            protection: ProtectionReport {
                transactional_records: 9000,
                unprotected_records: 3000,
                ..ProtectionReport::default()
            },
            ..PartitionReport::default()
        }],
        ..TopicReport::default()
    };
    report.topics.push(payments);
    report.visibility.read_uncommitted =
        VisibleRecords { records: 12_080, distinct_keys: Some(12_040), repeated_key_records: Some(40) };
    report.visibility.read_committed =
        VisibleRecords { records: 11_580, distinct_keys: Some(11_550), repeated_key_records: Some(30) };
    report.coverage.partitions = 2;
    report.coverage.segments = 7;
    report.coverage.batches = 1280;
    report.coverage.records = 12_080;
    report.coverage.records_undecoded = 3;
    report.coverage.damage = vec![
        DamageReport {
            file: "payments-2/00000000000000012000.log".to_owned(),
            position: 7312,
            length: 20,
            expected: true,
            kind: "truncated-tail".to_owned(),
            detail: "batch needs 180 bytes, file has 20".to_owned(),
            first_offset: Some(12_000),
            last_offset: None,
            records_missing: Some(true),
        },
        DamageReport {
            file: "payments-2/00000000000000000000.log".to_owned(),
            position: 4100,
            length: 310,
            expected: false,
            kind: "bad-crc".to_owned(),
            detail: "checksum is 0x3837a2ef, the bytes give 0x11111111".to_owned(),
            first_offset: Some(40),
            last_offset: Some(42),
            records_missing: Some(true),
        },
    ];
    report.coverage.damage_omitted = 1;
    report.coverage.notes = vec![Note::about(
        "payments-2/00000000000000012000.log",
        "segment grew while it was read: cut at 81920 bytes",
    )];
    report.verdict.complete = false;

    let mut gap = finding(Code::SequenceGap, "17 sequences of producer 7 are missing in payments-2");
    gap.topics = vec!["payments".to_owned()];
    gap.partitions = vec![TopicPartition { topic: "payments".to_owned(), partition: 2 }];
    gap.gaps = vec![missing(7, 40, 57, 41, GapReason::Unexplained)];
    gap.would_settle = vec!["another replica of payments-2".to_owned()];
    gap.advice = vec!["compare with another replica before a broker starts on these files".to_owned()];

    let mut open = finding(Code::TransactionOpen, "a transaction of producer 9 has no end in payments-2");
    open.topics = vec!["payments".to_owned()];
    open.partitions.clone_from(&gap.partitions);
    open.transactions = vec![Transaction {
        transactional_id: Some("payments-tx-1".to_owned()),
        producer_id: 9,
        producer_epoch: Some(4),
        topic: "payments".to_owned(),
        partition: 2,
        first_offset: 11_500,
        last_offset: Some(11_999),
        marker_offset: None,
        outcome: Outcome::Open,
    }];
    open.facts = vec!["500 records wait behind it".to_owned()];
    open.advice = vec!["kafka-transactions.sh --bootstrap-server … find-hanging --broker-id 1".to_owned()];

    let mut off = finding(Code::IdempotenceOff, "3000 of 12,000 records in payments-2 have no producer id");
    off.topics = vec!["payments".to_owned()];
    off.partitions.clone_from(&gap.partitions);
    off.stretches = vec![
        Stretch::new(
            ProtectionMode::None,
            (0, 2999),
            3000,
            (Some(TWO_MINUTES_PAST), Some(TWO_MINUTES_PAST + 3_600_000)),
        )
        .in_partition("payments", 2),
    ];

    let mut explained =
        finding(Code::SequenceGapExplained, "retention removed the beginning of 2 producers in payments-2");
    explained.gaps =
        vec![missing(5, 0, 57, 0, GapReason::Retention), missing(6, 0, 3, 12, GapReason::Retention)];
    report.findings.extend([gap, open, off, explained]);
    judged(report)
}

fn missing(producer_id: i64, expected: i32, found: i32, at_offset: i64, reason: GapReason) -> Gap {
    Gap {
        topic: "payments".to_owned(),
        partition: 2,
        producer_id,
        producer_epoch: Some(0),
        expected,
        found,
        at_offset,
        missing: (found - expected).unsigned_abs(),
        reason,
    }
}
