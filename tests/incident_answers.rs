//! Incidents that people had, made anew with real brokers and clients, and the answer that an expert would write into the
//! ticket, sentence by sentence: what is told, what is told weaker, and what is left unsaid.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What `scan` says of a directory.
struct Answer {
    report: Value,
    table: String,
}

impl Answer {
    fn of(scenario: &str, key: &str) -> Self {
        let data =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(scenario).join("data");
        let run = |format: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_dedup-audit"));
            command.args(["scan", "--key", key, "--format", format]).arg(&data).output().unwrap().stdout
        };
        let table = String::from_utf8(run("table")).unwrap();
        let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { report: serde_json::from_slice(&run("json")).unwrap(), table }
    }

    /// The only finding of a code about a topic.
    fn finding(&self, code: &str, topic: &str) -> Finding<'_> {
        let found: Vec<&Value> =
            self.findings().filter(|one| one["code"] == code && one["topics"][0] == topic).collect();
        let [one] = found[..] else { panic!("{code} of {topic}: {found:#?}") };
        Finding(one)
    }

    fn findings(&self) -> impl Iterator<Item = &Value> {
        self.report["findings"].as_array().unwrap().iter()
    }

    fn codes(&self) -> Vec<&str> {
        let mut codes: Vec<&str> = self.findings().map(|one| one["code"].as_str().unwrap()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// Asserts that people read this.
    fn shows(&self, sentence: &str) {
        assert!(self.table.contains(sentence), "no {sentence:?} in {}", self.table);
    }
}

struct Finding<'a>(&'a Value);

impl Finding<'_> {
    fn is(&self, severity: &str, confidence: &str, surplus: u64) -> &Self {
        let counts = &self.0["counts"]["surplusRecords"];
        assert_eq!(
            (&self.0["severity"], &self.0["confidence"], counts),
            (&severity.into(), &confidence.into(), &surplus.into()),
            "{:#}",
            self.0
        );
        self
    }

    /// Asserts that each of these is part of a fact, the title, the advice or what would settle it.
    fn says(&self, sentences: &[&str]) -> &Self {
        let mut lines: Vec<&str> = vec![self.0["title"].as_str().unwrap()];
        for field in ["facts", "advice", "wouldSettle"] {
            lines.extend(self.0[field].as_array().unwrap().iter().map(|line| line.as_str().unwrap()));
        }
        for sentence in sentences {
            assert!(lines.iter().any(|line| line.contains(sentence)), "no {sentence:?} in {lines:#?}");
        }
        self
    }

    /// Asserts which rivals are left, in their order.
    fn keeps(&self, rivals: &[&str]) -> &Self {
        let rivals_of = |kept: bool| -> Vec<&str> {
            let all = self.0["alternatives"].as_array().unwrap().iter();
            all.filter(|rival| rival["kept"] == kept).map(|rival| rival["code"].as_str().unwrap()).collect()
        };
        assert_eq!(rivals_of(true), rivals, "{:#}", self.0["alternatives"]);
        self
    }

    fn drops(&self, rivals: &[&str]) -> &Self {
        let all = self.0["alternatives"].as_array().unwrap();
        for rival in rivals {
            assert!(
                all.iter().any(|one| one["kept"] == false && one["code"] == *rival),
                "{rival} in {all:#?}"
            );
        }
        self
    }
}

/// More records than were sent, after a broker restarted; nothing on disk says which client it was.
#[test]
fn a_plain_retry() {
    let answer = Answer::of("plain-retry", "record-key");
    assert_eq!(answer.codes(), ["duplicate-undetermined", "idempotence-off", "retry-without-idempotence"]);
    // Where the same batch came again: which pairs, how far apart, under which leaders, in which shape.
    answer
        .finding("retry-without-idempotence", "plain")
        .is("high", "likely", 20)
        .says(&[
            "plain-0 offsets 5–24 came again at offsets 25–44",
            "the leader epoch rose between the copies in 20 of 20 pairs, from 0 to 2: a new leader, or the same broker again after a restart",
            "1 batch with the same records and base time; 1 of 1 with an equal checksum, 1 of 1 with more than one record",
            "each copy stands 20 offsets behind what it repeats",
            // No producer identity: which client it was cannot be told, and idempotence would have prevented it.
            "no producer id on either copy: with idempotence the broker would have recognised a retry; which client it was \
             cannot be told from the files",
            "set enable.idempotence=true explicitly",
        ])
        .keeps(&["pipeline-replay", "resend-same-session", "resend-new-session", "concurrent-producers"]);
    // Where its records came regrouped with the same times, retry and replay stay rivals.
    answer
        .finding("duplicate-undetermined", "regrouped")
        .is("medium", "possible", 20)
        .says(&[
            "regrouped-0 offsets 0–19 came again at offsets 20–39",
            "equal client times in 20 of 20 pairs",
        ])
        .keeps(&[
            "pipeline-replay",
            "resend-new-session",
            "resend-same-session",
            "retry-without-idempotence",
            "concurrent-producers",
        ]);
    // The lone repeat of a day later is told weaker.
    answer
        .finding("duplicate-undetermined", "plain")
        .is("medium", "possible", 1)
        .says(&[
            "1 record of plain may be stored again, or is another event with equal content; the files cannot tell",
            "plain-0 offset 32 came again at offset 45",
            "look whether each is one event before anything is dropped",
        ])
        .keeps(&[
            "resend-same-session",
            "resend-new-session",
            "pipeline-replay",
            "concurrent-producers",
            "equal events",
        ])
        .drops(&["retry-without-idempotence"]);
    answer.shows("Would settle it: the client's log from the record times on");
}

/// Each business event appears three times under ids that differ; a fourth producer repeats nothing.
#[test]
fn a_relay_that_runs_three_times() {
    for key in ["json:/row", "auto"] {
        let answer = Answer::of("relay-runs-three-times", key);
        // No restart, and one incident.
        assert_eq!(answer.codes(), ["concurrent-producers"], "{key}");
        answer
            .finding("concurrent-producers", "relay")
            .is("high", "likely", 100)
            .says(&[
                "100 records of relay were written by 3 producers that were alive at the same time",
                "in 98 of 100 pairs the offsets show that the writer of the copy had begun before the original was written",
                "each of the 3 sessions wrote 50 of these 50 events",
                "session 0#1 (producer 0) wrote relay-0 offsets 0–196",
                "session 1#1 (producer 1) wrote relay-0 offsets 1–197",
                "session 2#1 (producer 2) wrote relay-0 offsets 2–198",
                "find the other instance: a deployment that overlaps, a lost lock, two schedulers",
            ])
            .keeps(&["pipeline-replay"])
            .drops(&["resend-new-session", "retry-without-idempotence"]);
        let facts = answer.findings().next().unwrap()["facts"].to_string();
        assert!(
            !facts.contains("3#1") && !facts.contains("producer 3)"),
            "the fourth repeats nothing: {facts}"
        );
        // The ids in the header differ from copy to copy, so the key is a field of the body.
        answer.shows("does not count: header:event-id");
    }
    Answer::of("relay-runs-three-times", "auto").shows("try --key json:/row");
}

/// One success for each value, and each value twice under one sequence.
#[test]
fn one_sequence_stored_twice() {
    let answer = Answer::of("sequence-stored-twice", "record-key");
    assert_eq!(answer.codes(), ["broker-dedup-lost"]);
    answer
        .finding("broker-dedup-lost", "values")
        .is("high", "certain", 9)
        .says(&[
            "9 records of values are stored twice under one producer id and sequence",
            "producer 0 wrote the same sequences twice: values-0 offsets 40–48 came again at offsets 49–57",
            "producer id, epoch, sequences 40–48 and records are equal, and so is the checksum in 1 of 1 batch",
            "the leader epoch rose between the copies in 9 of 9 pairs, from 0 to 2: a new leader, or the same broker again after a restart",
            // The snapshot nearest below the second copy is held against the log.
            "values-0/00000000000000000049.snapshot, between the copies, lacks producer 0, although the log below it holds \
             its batches",
            "a broker with the producer's state would have answered it with the original's offset, and stored nothing",
            // Client and application are cleared.
            "neither a resend by the application nor a new client keeps the sequences",
            "never delete .snapshot files",
        ])
        .keeps(&[])
        .drops(&["resend-same-session", "producer-id-collision"]);
    answer.shows("this replica had lost the producer's state by the snapshot between the copies");
    answer.shows("a leader without that state took the retry: this broker after a restart, or another one");
}

/// For one row a larger offset carries an older version; besides, a batch is there twice.
#[test]
fn the_right_content_in_the_wrong_order() {
    let answer = Answer::of("right-content-wrong-order", "record-key");
    assert_eq!(answer.codes(), ["idempotence-off", "order-broken", "retry-without-idempotence"]);
    let moved = answer.finding("order-broken", "rows");
    moved
        .is("low", "likely", 0)
        .says(&[
            // Which block moved as a whole, for which key at which offsets by which field, and at which times.
            "rows: 10 records in 1 block stand behind later records",
            "rows-0: offsets 40–49 (1 batch) hold older versions than records before them: key row-0 has a newer /version \
             at offset 30 (client time 2026-12-01 06:47:26.334 UTC) than at offset 40 (client time 2026-12-01 \
             06:47:25.334 UTC)",
            "/version rises with the offset of its key in 80 records elsewhere, and steps back in 0 others",
            // A broker keeps the order of those alone that have a sequence.
            "none of these batches carries a producer id: the broker had no sequence by which to keep their order",
            // Reordering is told apart from the duplicate.
            "each block is stored once: none of it repeats a batch before it",
            "it keeps the order with up to five requests in flight",
        ])
        .keeps(&["another writer"])
        .drops(&["duplicate"]);
    answer
        .finding("retry-without-idempotence", "rows")
        .is("high", "likely", 10)
        .says(&["rows-0 offsets 70–79 came again at offsets 80–89"]);
    // A block whose keys no other block has: times alone tell it, and that no key need be out of order.
    answer
        .finding("order-broken", "others")
        .is("low", "possible", 0)
        .says(&[
            "others-0: offsets 183–185 (1 batch, with client times 2026-12-01 06:48:22.334 UTC to 2026-12-01 06:48:22.336 \
             UTC) belong behind offset 179, and stand behind 1 batch of up to 1 s later",
            "where times tell it, and no version does, records of one key need not be out of order",
        ])
        .keeps(&["another clock", "event time"]);
}
