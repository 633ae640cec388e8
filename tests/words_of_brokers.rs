//! What findings say about logs of real brokers, and what they leave unsaid: causes and advice follow from
//! what is among the files.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn report(set: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(set);
    let path = if path.join("data").exists() { path.join("data") } else { path };
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--format", "json"])
        .arg(path)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The first finding of this code.
fn finding(set: &str, code: &str) -> Value {
    let report = report(set);
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .find(|finding| finding["code"] == code)
        .unwrap_or_else(|| panic!("{set}: no {code}"))
        .clone()
}

/// Facts and advice, cause and title as one text.
fn words(finding: &Value) -> String {
    let lines = ["facts", "advice", "wouldSettle"].map(|field| finding[field].to_string());
    format!("{} {} {}", finding["title"], finding["cause"]["text"], lines.join(" "))
}

#[test]
fn of_a_compacted_topic_repeats_may_be_gone_and_its_key_drops_nothing() {
    let compacted = words(&finding("compacted", "resend-new-session"));
    assert!(
        compacted.contains("the topic is compacted: the cleaner takes older records of a key"),
        "{compacted}"
    );
    assert!(!compacted.contains("drop repeats by record key"), "{compacted}");
    let usual = words(&finding("crash-restart-resend", "resend-new-session"));
    assert!(usual.contains("drop repeats by record key") && !usual.contains("compacted"), "{usual}");
}

#[test]
fn a_pipeline_that_commits_with_its_output_is_not_told_to_do_so() {
    let reset = words(&finding("offsets-topic", "pipeline-replay"));
    assert!(reset.contains("set back from outside, while it had no members"), "{reset}");
    assert!(reset.contains("find who set the position of group billing back"), "{reset}");
    assert!(!reset.contains("exactly-once"), "{reset}");
    let mirror = words(&finding("mirrormaker2-kill-restart", "pipeline-replay"));
    assert!(mirror.contains("commit its position with its output"), "{mirror}");
}

#[test]
fn two_transactional_ids_are_named_as_what_kept_the_first_from_being_fenced() {
    let report = report("txn-hanging");
    let headline = report["verdict"]["headline"].as_str().unwrap();
    assert!(
        headline.ends_with("readers of committed data stop at an open transaction in topic invoices"),
        "{headline}"
    );
    let resend = words(&finding("txn-hanging", "resend-new-session"));
    assert!(resend.contains("different transactional ids, billing-7f3a and billing-9c21"), "{resend}");
    assert!(
        resend.contains("when that is aborted, read_committed consumers get each event once"),
        "{resend}"
    );
    assert!(!resend.contains("make read position and output one transaction"), "{resend}");
    let open = words(&finding("txn-hanging", "transaction-open"));
    assert!(open.contains("with a timeout of 15 min: at about 2026-11-29 16:17:44.679 UTC"), "{open}");
}

#[test]
fn a_topic_that_was_created_again_goes_on_where_the_deleted_log_ends() {
    let recreated = finding("topic-recreated", "sequence-gap-explained");
    let said = words(&recreated);
    assert!(said.contains("-delete ends with sequence 11 of producer 0"), "{said}");
    assert_eq!(
        (&recreated["severity"], &recreated["gaps"][0]["reason"]),
        (&"low".into(), &"first-append".into())
    );
    // Its own directory alone shows nothing of the deleted log.
    let alone = finding("topic-recreated/data-1/orders-0", "sequence-gap-explained");
    assert!(alone["alternatives"].to_string().contains("\"loss\""), "{alone:#}");
}

#[test]
fn single_records_right_behind_each_other_may_be_two_calls() {
    let singles = finding("silent-disable-acks1-retry", "retry-without-idempotence");
    assert_eq!(singles["confidence"], "possible");
    assert!(singles["alternatives"].to_string().contains("twice within one millisecond"), "{singles:#}");
    let batches = finding("retry-logappendtime", "retry-without-idempotence");
    assert_eq!(batches["confidence"], "likely");
    assert!(words(&batches).contains("the topic has LogAppendTime"), "{batches:#}");
}

#[test]
fn a_leader_that_came_in_between_is_looked_at_first() {
    let expired = finding("expired-retry", "broker-dedup-lost");
    let said = words(&expired);
    let between = said.contains("the leader epoch rose between the copies in");
    assert_eq!(
        between,
        said.contains(
            "whoever led under the new leader epoch, another replica or the same broker after a restart"
        ),
        "{said}"
    );
    assert_eq!(between, !said.contains("raise producer.id.expiration.ms"), "{said}");
}

#[test]
fn contents_that_may_be_meant_are_no_certain_copies() {
    let report = report("header-id");
    let headline = report["verdict"]["headline"].as_str().unwrap();
    assert!(headline.contains("may be surplus copies"), "{headline}");
    let titles = report["findings"].to_string();
    assert!(
        titles.contains("were possibly sent again") && titles.contains("were possibly sent twice"),
        "{titles}"
    );
}

#[test]
fn a_missing_segment_is_one_cause_and_its_snapshot_is_named() {
    let report = report("missing-segment");
    let headline = report["verdict"]["headline"].as_str().unwrap();
    assert!(headline.starts_with("a segment file of topic orders is probably missing"), "{headline}");
    let said = words(&finding("missing-segment", "offset-gap"));
    assert!(said.contains("00000000000000000024.snapshot is there"), "{said}");
}

#[test]
fn replicas_that_agree_are_said_to_agree_and_need_no_directory_in_a_sentence() {
    let rejoined = report("three-brokers-rejoined");
    let coverage = &rejoined["coverage"];
    assert_eq!((&coverage["replicasCompared"], &coverage["replicasAgreeing"]), (&4.into(), &4.into()));
    assert_eq!(
        (&coverage["replicas"]["partitions"], &coverage["replicas"]["records"], &coverage["records"]),
        (&4.into(), &122.into(), &320.into())
    );
    let sentences = rejoined["verdict"]["sentences"].to_string();
    assert!(
        sentences.contains(
            "320 records (of the records 61 in 2 partitions, 122 in 4 replicas that do not lead and 137 in 1 partition of Kafka's own \
             topics)"
        ),
        "{sentences}"
    );
    let retry = words(&finding("three-brokers-rejoined", "retry-without-idempotence"));
    assert!(retry.contains("\"orders-0 offset") && !retry.contains("data-3/"), "{retry}");
    // The copies themselves say whose file they stand in.
    let copy = &finding("three-brokers-rejoined", "retry-without-idempotence")["groups"][0]["copies"][0];
    assert!(copy["directory"].as_str().unwrap().ends_with("/orders-0"), "{copy}");

    // Where one holds something else it matters which of them is meant.
    let diverged = report("three-brokers-diverged");
    let coverage = &diverged["coverage"];
    assert_eq!((&coverage["replicasCompared"], &coverage["replicasAgreeing"]), (&4.into(), &2.into()));
    let retry = words(&finding("three-brokers-diverged", "retry-without-idempotence"));
    assert!(retry.contains("data-3/orders-0 offset"), "{retry}");
}

#[test]
fn the_state_of_mirror_maker_is_counted_and_not_called_unprotected() {
    let mirror = report("mirrormaker2-kill-restart");
    let off: Vec<&Value> = mirror["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["code"] == "idempotence-off")
        .map(|finding| &finding["topics"])
        .collect();
    assert_eq!(off, [&serde_json::json!(["east.orders"])]);
    let topics = mirror["topics"].as_array().unwrap();
    let state = topics.iter().find(|topic| topic["topic"] == "mm2-offsets.east.internal").unwrap();
    assert_eq!((&state["holdsState"], &state["internal"]), (&true.into(), &false.into()));
    assert_eq!(state["partitions"][0]["protection"]["unprotectedRecords"], 6);
}

#[test]
fn what_is_written_again_behind_an_abort_has_a_mark_of_its_own() {
    let lanes = |set: &str| {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(set).join("data");
        let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit")).arg("scan").arg(path).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_once("\nLanes ").unwrap().1.split_once("\nReaders").unwrap().0.to_owned()
    };
    let aborted = lanes("txn-commit-abort-tv2");
    assert!(aborted.contains("v valid, written again behind an abort"), "{aborted}");
    assert!(aborted.contains("aaa─vvv") && !aborted.contains('x'), "{aborted}");
    let restarted = lanes("crash-restart-resend");
    assert!(restarted.contains("x stored again") && !restarted.contains("valid"), "{restarted}");
}

/// The table as one line, whatever its width.
fn table(command: &[&str], path: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit")).args(command).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn data(set: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1").join(set).join("data")
}

#[test]
fn where_a_client_repeated_itself_under_idempotence_nobody_says_that_retries_are_not_stored_twice() {
    let bumped = report("epoch-bump-rewrite")["verdict"]["sentences"].to_string();
    assert!(!bumped.contains("retries are not stored twice"), "{bumped}");
    assert!(bumped.contains("sequences begin anew with each epoch"), "{bumped}");
    let misplaced = report("misplaced-batch")["verdict"]["sentences"].to_string();
    assert!(!misplaced.contains("retries are not stored twice"), "{misplaced}");
}

#[test]
fn a_writer_beside_protected_ones_is_told_as_that() {
    let beside = finding("missing-segment", "idempotence-off");
    let title = beside["title"].as_str().unwrap();
    assert!(
        title.starts_with("in topic orders a writer without idempotence writes beside protected ones: 27 of"),
        "{title}"
    );
    let rivals = beside["alternatives"].to_string();
    assert!(!rivals.contains("not elsewhere"), "{rivals}");
    assert!(
        rivals.contains("no protected session goes on, so what is written there may have had a producer id"),
        "{rivals}"
    );
    assert!(rivals.contains("; elsewhere it is excluded: a protected session stands before"), "{rivals}");
    // Java 3.0.0 and 3.1.0 have idempotence off as well, whatever their default says.
    assert!(rivals.contains("3.0.0 and 3.1.0 in effect (KAFKA-13598)"), "{rivals}");
}

#[test]
fn one_misplaced_batch_is_one_story_in_three_findings() {
    let batch = finding("misplaced-batch", "misplaced-batch");
    let (gap, keys) =
        (finding("misplaced-batch", "sequence-gap-explained"), finding("misplaced-batch", "misrouted-key"));
    let id = format!("misplaced-batch {}", batch["id"].as_str().unwrap());
    for other in [&gap, &keys] {
        assert!(words(&batch).contains(other["id"].as_str().unwrap()), "{batch:#}");
        assert!(words(other).contains(&id), "{other:#}");
        let first = &other["alternatives"][0];
        assert_eq!((&first["code"], &first["kept"]), (&"misplaced-batch".into(), &true.into()), "{other:#}");
        assert_eq!(other["advice"].as_array().unwrap().len(), 1, "{other:#}");
    }
    // Which releases have the fix, and what keeps the finding from being certain.
    assert!(words(&batch).contains("3.9.2, 4.0.2, 4.1.2, 4.2.0 or later"), "{batch:#}");
    assert_eq!((&batch["confidence"], &batch["alternatives"][0]["kept"]), (&"likely".into(), &true.into()));
    let table = table(&["scan"], &data("misplaced-batch"));
    assert!(table.contains("payments-1 offset 9: murmur2 would choose partition 0"), "{table}");
    assert!(!table.contains("belongs to partition"), "{table}");
}

#[test]
fn of_a_misplaced_batch_without_its_rightful_partition_sequences_and_keys_are_put_together() {
    let home = tempfile::tempdir().unwrap();
    for partition in ["payments-0", "payments-1", "payments-2"] {
        let to = home.path().join(partition);
        std::fs::create_dir(&to).unwrap();
        for file in std::fs::read_dir(data("misplaced-batch").join(partition)).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    let table = table(&["scan"], home.path());
    let signature = "the first batch of producer 0 at payments-1 offset 9 begins at sequence 9, and its keys lead to another \
                     partition (see misrouted-key";
    assert!(table.contains(signature), "{table}");
    assert_eq!(table.matches("(KAFKA-19012)").count(), 2, "{table}");
}

#[test]
fn sequences_before_a_first_batch_are_not_called_missing() {
    let story = table(&["trace", "order-1053"], &data("misplaced-batch"));
    let told = "payments-1@9 producer 0 epoch 0: its first batch here begins at sequence 9; whether any of the 9 before it \
                were sent here cannot be told (first-append)";
    assert!(story.contains(told), "{story}");
    assert!(!story.contains("missing"), "{story}");
}

#[test]
fn a_story_tells_that_the_order_of_its_key_is_broken() {
    let story = table(&["trace", "row-0"], &data("right-content-wrong-order"));
    assert!(story.contains("order-broken (likely"), "{story}");
    assert!(story.contains("key row-0 has a newer /version at offset 30"), "{story}");
    let scanned = report("right-content-wrong-order");
    let broken: Vec<_> = scanned["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["code"] == "order-broken")
        .map(|finding| {
            (
                finding["topics"][0].as_str().unwrap(),
                finding["confidence"].as_str().unwrap(),
                finding["cause"]["confidence"].as_str(),
            )
        })
        .collect();
    // Versions show the order whatever clocks say; times alone may be those of another clock.
    assert_eq!(broken, [("others", "possible", None), ("rows", "likely", Some("possible"))]);
}

#[test]
fn partitions_that_are_not_here_make_all_counts_lower_bounds() {
    let home = tempfile::tempdir().unwrap();
    let copy = |partition: &str| {
        let to = home.path().join(partition);
        std::fs::create_dir(&to).unwrap();
        for file in std::fs::read_dir(data("keyed-multi-partition").join(partition)).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    };
    let whole = report("keyed-multi-partition");
    assert_eq!(whole["coverage"]["absentPartitions"], serde_json::json!([]));
    let topic = whole["topics"].as_array().unwrap().iter().find(|topic| topic["internal"] == false).unwrap();
    let (name, partitions) =
        (topic["topic"].as_str().unwrap(), topic["partitions"].as_array().unwrap().len());
    assert!(partitions > 3);
    // The first and the third; the keys tell how many there are.
    for partition in [0, 2] {
        copy(&format!("{name}-{partition}"));
    }
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", "--format", "json"])
        .arg(home.path())
        .output()
        .unwrap();
    let part: Value = serde_json::from_slice(&output.stdout).unwrap();
    let absent = &part["coverage"]["absentPartitions"][0];
    assert_eq!(absent["topic"], name);
    let numbers: Vec<i64> =
        absent["partitions"].as_array().unwrap().iter().map(|one| one.as_i64().unwrap()).collect();
    assert_eq!(numbers.first(), Some(&1), "{absent}");
    assert_eq!(numbers.len() as u64, absent["count"].as_u64().unwrap());
    let headline = part["verdict"]["headline"].as_str().unwrap();
    assert!(headline.ends_with("among what was read: all counts are lower bounds"), "{headline}");
    let sentences = part["verdict"]["sentences"].to_string();
    assert!(sentences.contains("Everything that was given was read"), "{sentences}");
    // All that was given was read: that is no failure.
    assert_eq!(part["verdict"]["complete"], true);
    let told = table(&["scan", "--partition-count", &format!("{name}=9")], home.path());
    assert!(told.contains("(the topic has 9 partitions): all counts are lower bounds"), "{told}");
}

#[test]
fn what_an_older_leader_holds_bounds_what_is_said_of_a_session() {
    let resend = finding("unclean-election", "resend-new-session");
    let said = words(&resend);
    assert!(said.contains("orders-0 offsets 40–49: 10 records of leader epoch 0"), "{said}");
    assert!(said.contains("written by producer 0; 10 of them were sent again and stand in"), "{said}");
    assert!(said.contains("between the end, in the leading replica, of session 0#1"), "{said}");
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1/unclean-election");
    let story = table(&["trace", "order-0045"], &set);
    assert!(
        story.contains("1 replica that does not lead was not searched: compare shows what only it holds"),
        "{story}"
    );
    // Without replicas there is none that was not searched.
    assert!(!table(&["trace", "order-0041"], &data("crash-restart-resend")).contains("not searched"));
}

#[test]
fn copies_are_counted_together_where_one_can_be_a_copy_of_the_other() {
    let apart = table(&["trace", "order-0008"], &data("plain-retry"));
    for name in ["COPY 1 of plain plain-0@12", "COPY 2 of plain plain-0@32", "COPY 3 of plain plain-0@45"] {
        assert!(apart.contains(name), "no {name:?} in {apart}");
    }
    assert!(apart.contains("COPY 1 of regrouped regrouped-0@7 no producer id"), "{apart}");
    let ticket = table(&["trace", "order-0008", "--format", "md"], &data("plain-retry"));
    assert!(ticket.contains("**COPY 2 of regrouped**"), "{ticket}");
    // One batch in two topics is one story.
    let misplaced = table(&["trace", "order-1053"], &data("misplaced-batch"));
    assert!(
        misplaced.contains("COPY 1 orders-0@9") && misplaced.contains("COPY 2 payments-1@9"),
        "{misplaced}"
    );
}

#[test]
fn an_open_transaction_is_as_old_as_its_coordinator_says_and_not_as_the_times_of_its_records() {
    for release in ["2.0.1", "3.9.1"] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers").join(release).join("every-codec");
        let told = table(&["scan"], &path);
        assert!(told.contains("is open in 1 partition") && !told.contains("days old"), "{told}");
        assert!(
            told.contains("(the client's own time; by the broker's clock not before 2026-11-29"),
            "{told}"
        );
    }
    let hanging = words(&finding("txn-hanging", "transaction-open"));
    assert!(hanging.contains("is open in 1 partition, 791 ms old by its coordinator"), "{hanging}");
    assert!(hanging.contains("describe-producers (brokers from 2.8 on)"), "{hanging}");
}

#[test]
fn without_the_coordinators_decisions_two_outcomes_are_possible_in_headline_and_advice() {
    let given = tempfile::tempdir().unwrap();
    for partition in ["orders-0", "payments-0"] {
        std::fs::create_dir(given.path().join(partition)).unwrap();
        for file in std::fs::read_dir(data("txn-aborted-by-hand").join(partition)).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), given.path().join(partition).join(file.file_name())).unwrap();
        }
    }
    let told = table(&["scan"], given.path());
    assert!(told.contains("A transaction in topics orders and payments may not have stayed whole"), "{told}");
    assert!(told.contains("if both parts are of one transaction, consumers saw a part of it"), "{told}");
    assert!(
        told.contains("the abort closed data where it stands, and so did the commit in the other"),
        "{told}"
    );
    assert!(
        told.contains("events of aborted transactions were not written again in what was read"),
        "{told}"
    );
}
