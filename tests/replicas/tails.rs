//! Tails of older leaders: what a failover leaves behind, and what it loses.

use super::{ID, Tree, scanned, with_code};
use dedup_audit::testkit::{BatchSpec, FIRST_TIME, SegmentBuilder, batch};
use serde_json::Value;
use std::path::Path;

pub const CLUSTER: &str = "c";

/// What both replicas hold: ten records of producer 7 under leader epoch 1.
fn common() -> SegmentBuilder {
    (0..10).fold(SegmentBuilder::new().leader_epoch(1), |log, at| log.batch(sent(7, 0, at, at)))
}

/// Order `order`, as the client sent it the first time.
pub fn sent(id: i64, epoch: i16, sequence: i32, order: i32) -> BatchSpec {
    batch()
        .producer(id, epoch, sequence)
        .time(FIRST_TIME + i64::from(order) * 1000)
        .record(format!("order-{order}"), "paid")
}

/// The old leader on broker 1, the new one on broker 2, whose epoch begins at `start`.
fn failover(old: SegmentBuilder, new: SegmentBuilder, start: i64) -> Tree {
    let tree = Tree::new();
    tree.log("a", (1, CLUSTER), "orders-0", ID, old).leader_epochs("a", "orders-0", &[(1, 0)]);
    tree.log("b", (2, CLUSTER), "orders-0", ID, new).leader_epochs("b", "orders-0", &[(1, 0), (2, start)]);
    tree
}

pub fn told(report: &Value) -> Vec<(&str, &str)> {
    let findings = report["findings"].as_array().unwrap().iter();
    let mut told: Vec<_> = findings
        .map(|finding| (finding["code"].as_str().unwrap(), finding["severity"].as_str().unwrap()))
        .filter(|(code, _)| ["replica-divergence", "old-leader-tail", "leader-epoch-anomaly"].contains(code))
        .collect();
    told.sort_unstable();
    told
}

fn facts(report: &Value, code: &str) -> String {
    let [finding] = with_code(report, code)[..] else { panic!("{report:#}") };
    finding["facts"].to_string()
}

#[test]
fn an_unclean_election_and_the_commit_that_it_took_are_told_from_the_files_of_real_brokers() {
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1/txn-lost-marker");
    let dirs = ["data-1", "data-2", "data-3"].map(|name| set.join(name));
    let report = scanned(&dirs);
    assert_eq!(told(&report), LOST, "{report:#}");
    let lost = facts(&report, "replica-divergence");
    assert!(
        lost.contains("10 nowhere in it, though the tail holds the commit of their transaction"),
        "{lost}"
    );
    let election = "orders-0: broker 3 was elected for leader epoch 1 at ";
    assert!(lost.contains(election) && lost.contains("although only broker 2 held all"), "{lost}");
    assert_eq!(with_code(&report, "replica-divergence")[0]["cause"]["confidence"], "certain");
    let open = facts(&report, "transaction-open");
    assert!(open.contains("the coordinator decided to commit this transaction of producer 0"), "{open}");
    let advice = with_code(&report, "transaction-open")[0]["advice"].to_string();
    assert!(advice.contains("do not abort: it was committed"), "{advice}");
    // Without the topics of the controller and the coordinator the commit in the tail still says it.
    let [_, two, three] = dirs;
    let report = scanned(&[two.join("orders-0"), three.join("orders-0")]);
    assert_eq!(told(&report), LOST, "{report:#}");
    assert!(!facts(&report, "replica-divergence").contains("was elected"));
}

const KEPT: [(&str, &str); 1] = [("old-leader-tail", "info")];
const UNSETTLED: [(&str, &str); 1] = [("old-leader-tail", "low")];
const LOST: [(&str, &str); 1] = [("replica-divergence", "high")];

#[test]
fn records_that_a_client_resent_with_the_same_sequence_are_a_tail_that_will_be_truncated() {
    let old = (10..14).fold(common(), |log, at| log.batch(sent(7, 0, at, at)));
    let new = (10..16).fold(common().leader_epoch(2), |log, at| log.batch(sent(7, 0, at, at)));
    let report = failover(old, new, 10).scan();
    assert_eq!(told(&report), KEPT, "{report:#}");
    assert!(facts(&report, "old-leader-tail").contains("4 in it again with the time that the client gave"));
}

#[test]
fn a_resend_behind_other_records_is_found_at_its_new_place() {
    let old = (10..14).fold(common(), |log, at| log.batch(sent(7, 0, at, at)));
    let new = (0..3).fold(common().leader_epoch(2), |log, at| log.batch(sent(8, 0, at, 100 + at)));
    let new = (10..16).fold(new, |log, at| log.batch(sent(7, 0, at, at)));
    let report = failover(old, new, 10).scan();
    assert_eq!(told(&report), KEPT, "{report:#}");
}

#[test]
fn a_transaction_that_was_sent_again_with_its_marker_is_a_tail_that_will_be_truncated() {
    let transaction = |log: SegmentBuilder, marker_time: i64| {
        log.batch(sent(9, 0, 0, 20).transactional())
            .batch(sent(9, 0, 1, 21).transactional())
            .time(marker_time)
            .commit(9, 0)
    };
    let old = transaction(common(), FIRST_TIME + 30_000);
    let new = transaction(common().leader_epoch(2), FIRST_TIME + 36_000).batch(sent(7, 0, 10, 10));
    let report = failover(old, new, 10).scan();
    assert_eq!(told(&report), KEPT, "{report:#}");
}

#[test]
fn a_marker_that_the_coordinator_wrote_again_is_all_that_differs() {
    let open = || common().batch(sent(9, 0, 0, 20).transactional()).batch(sent(9, 0, 1, 21).transactional());
    let old = open().time(FIRST_TIME + 30_000).commit(9, 0);
    let new = open().leader_epoch(2).time(FIRST_TIME + 36_000).commit(9, 0);
    let report = failover(old, new, 12).scan();
    assert_eq!(told(&report), KEPT, "{report:#}");
    assert!(facts(&report, "old-leader-tail").contains("1 end of a transaction written there again"));

    // It ended otherwise: what consumers were given is gone.
    let old = open().time(FIRST_TIME + 30_000).commit(9, 0);
    let new = open().leader_epoch(2).time(FIRST_TIME + 36_000).abort(9, 0);
    assert_eq!(told(&failover(old, new, 12).scan()), LOST);
    // Or not yet: the coordinator repeats it until it stands.
    let old = open().time(FIRST_TIME + 30_000).commit(9, 0);
    let new = open().leader_epoch(2).batch(sent(7, 0, 10, 10));
    assert_eq!(told(&failover(old, new, 12).scan()), UNSETTLED);
}

#[test]
fn a_rewrite_under_a_raised_epoch_or_by_another_producer_is_a_tail_that_will_be_truncated() {
    let old = || (10..14).fold(common(), |log, at| log.batch(sent(7, 0, at, at)));
    let bumped = (0..5).fold(common().leader_epoch(2), |log, at| log.batch(sent(7, 1, at, 10 + at)));
    assert_eq!(told(&failover(old(), bumped, 10).scan()), KEPT);
    let restarted = (0..5).fold(common().leader_epoch(2), |log, at| {
        log.batch(sent(1000, 0, at, 10 + at).time(FIRST_TIME + 60_000 + i64::from(at)))
    });
    let report = failover(old(), restarted, 10).scan();
    assert_eq!(told(&report), KEPT, "{report:#}");
    assert!(facts(&report, "old-leader-tail").contains("4 in it again with another time"));
}

#[test]
fn records_that_were_committed_and_stand_nowhere_are_lost() {
    let old = (10..14).fold(common(), |log, at| log.batch(sent(7, 0, at, at)));
    let new = || common().leader_epoch(2).batch(sent(8, 0, 0, 100));
    let tree = failover(old, new(), 10);
    tree.offset_checkpoint("a", "replication-offset-checkpoint", ("orders", 0), 12);
    let report = tree.scan();
    let [finding] = with_code(&report, "replica-divergence")[..] else { panic!("{report:#}") };
    assert_eq!(finding["confidence"], "certain");
    assert!(facts(&report, "replica-divergence").contains("2 nowhere in it, though consumers could read it"));
}

#[test]
fn what_nobody_can_be_shown_to_have_relied_on_is_low() {
    // The producer waits for all replicas, and never came back.
    let old = || (10..14).fold(common(), |log, at| log.batch(sent(7, 0, at, at)));
    let new = common().leader_epoch(2).batch(sent(8, 0, 0, 100));
    assert_eq!(told(&failover(old(), new, 10).scan()), UNSETTLED);
    // The newer leader has written nothing yet.
    assert_eq!(told(&failover(old(), common(), 10).scan()), UNSETTLED);
}

#[test]
fn a_producer_that_goes_on_behind_its_tail_was_told_of_it_and_one_that_repeats_its_sequences_was_not() {
    let old = || (10..14).fold(common(), |log, at| log.batch(sent(7, 0, at, at)));
    // In a newer epoch, without what it had sent before (KIP-360).
    let bumped = (0..3).fold(common().leader_epoch(2), |log, at| log.batch(sent(7, 1, at, 50 + at)));
    assert_eq!(told(&failover(old(), bumped, 10).scan()), LOST);
    // A transactional producer gives the sequences of refused batches to others.
    let anew = |to| (10..to).fold(common().leader_epoch(2), |log, at| log.batch(sent(7, 0, at, 50 + at)));
    assert_eq!(told(&failover(old(), anew(14), 10).scan()), KEPT);
    // One sequence that nobody came to again may be on its way, or its client dead.
    assert_eq!(told(&failover(old(), anew(13), 10).scan()), UNSETTLED);
}

#[test]
fn what_was_aborted_on_either_side_is_missed_by_nobody() {
    let open = |log: SegmentBuilder| log.batch(sent(9, 0, 0, 20).transactional());
    let old = open(common()).abort(9, 0);
    let new = common().leader_epoch(2).batch(sent(7, 0, 10, 10));
    assert_eq!(told(&failover(old, new, 10).scan()), KEPT);
    let began = open(common());
    let old = began.clone().batch(sent(9, 0, 1, 21).transactional());
    let new = began.leader_epoch(2).abort(9, 1).batch(sent(7, 0, 10, 10));
    assert_eq!(told(&failover(old, new, 11).scan()), KEPT);
}

#[test]
fn a_replica_that_was_elected_last_keeps_what_it_wrote_under_an_older_epoch() {
    // Broker 2 led as epoch 2 and wrote nothing; broker 1 leads again as epoch 3.
    let old = (10..14).fold(common(), |log, at| log.batch(sent(7, 0, at, at)));
    let tree = failover(old, common(), 10);
    tree.leader_epochs("a", "orders-0", &[(1, 0), (3, 14)]);
    assert!(told(&tree.scan()).is_empty());
}

#[test]
fn another_leader_epoch_that_the_checkpoint_does_not_know_is_no_failover() {
    let old = || common().batch(sent(7, 0, 10, 10));
    let new = || common().leader_epoch(3).batch(sent(7, 0, 10, 10));
    let tree = failover(old(), new(), 10);
    assert!(told(&tree.scan()).contains(&("leader-epoch-anomaly", "high")));
    tree.leader_epochs("b", "orders-0", &[(1, 0), (3, 10)]);
    assert_eq!(told(&tree.scan()), KEPT);
}

#[test]
fn a_transaction_that_was_committed_without_a_record_of_the_tail_lost_it() {
    let began = || common().batch(sent(9, 0, 0, 20).transactional());
    let old = || began().batch(sent(9, 0, 1, 21).transactional());
    let committed = || began().leader_epoch(2).commit(9, 0).batch(sent(7, 0, 10, 10));
    assert_eq!(told(&failover(old(), committed(), 11).scan()), LOST);
    // Two markers, of which the second may belong to it.
    assert_eq!(told(&failover(old(), committed().abort(9, 0), 11).scan()), UNSETTLED);
}

#[test]
fn a_leader_that_was_elected_with_an_empty_log_holds_nothing_of_what_the_others_have() {
    let tree = failover(common(), SegmentBuilder::new(), 0);
    tree.leader_epochs("b", "orders-0", &[(2, 0)]);
    assert_eq!(told(&tree.scan()), UNSETTLED);
    tree.offset_checkpoint("a", "replication-offset-checkpoint", ("orders", 0), 10);
    assert_eq!(told(&tree.scan()), LOST);
    // A replica that was set up anew has not begun yet.
    tree.leader_epochs("b", "orders-0", &[]);
    assert!(told(&tree.scan()).is_empty());
}

#[test]
fn a_marker_of_the_metadata_quorum_is_no_record() {
    let control = |log: SegmentBuilder| log.marker(2, -1, -1, 0);
    let old = control(common());
    let new = common().leader_epoch(2).batch(sent(7, 0, 10, 10));
    assert_eq!(told(&failover(old, new, 10).scan()), KEPT);
}
