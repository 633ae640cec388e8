//! Replicas whose cleaners were at work at different times.

use super::tails::{CLUSTER, told};
use super::{ID, Tree};
use dedup_audit::testkit::{BatchSpec, FIRST_TIME, SegmentBuilder, batch};
use std::fs;

fn value(key: &str, value: &str, time: i64) -> BatchSpec {
    batch().time(FIRST_TIME + time * 1000).record(key, value)
}

/// Broker 1's cleaner was at work up to `cleaned`, if its checkpoint says so; broker 2 has not cleaned.
fn replicas(cleaned: SegmentBuilder, checkpoint: Option<i64>, whole: SegmentBuilder) -> Tree {
    let tree = Tree::new();
    tree.log("a", (1, CLUSTER), "accounts-0", ID, cleaned).log("b", (2, CLUSTER), "accounts-0", ID, whole);
    if let Some(offset) = checkpoint {
        tree.offset_checkpoint("a", "cleaner-offset-checkpoint", ("accounts", 0), offset);
    }
    tree
}

#[test]
fn what_an_abort_takes_is_not_missed_by_a_replica_that_stopped_before_it() {
    let tombstone = || batch().producer(7, 0, 0).transactional().time(FIRST_TIME + 2000).record("a", ());
    let new_value = || batch().producer(7, 0, 1).transactional().time(FIRST_TIME + 3000).record("b", "2");
    let head = || SegmentBuilder::new().batch(value("a", "1", 0)).batch(value("b", "1", 1));
    let short = || head().batch(tombstone()).batch(new_value()).batch(value("c", "1", 4));
    let cleaned = |end: fn(SegmentBuilder) -> SegmentBuilder| {
        let log = end(head().skip_to(4).batch(value("c", "1", 4)).time(FIRST_TIME + 5000));
        log.batch(value("d", "1", 6)).batch(value("e", "1", 7))
    };
    let abort: fn(SegmentBuilder) -> SegmentBuilder = |log| log.abort(7, 0);
    let commit: fn(SegmentBuilder) -> SegmentBuilder = |log| log.commit(7, 0);
    for checkpoint in [Some(4), Some(6)] {
        assert!(told(&replicas(cleaned(abort), checkpoint, short()).scan()).is_empty());
    }
    // Committed, the tombstone should be there, or the value before it should not.
    let report = replicas(cleaned(commit), Some(6), short()).scan();
    assert_eq!(told(&report), [("replica-divergence", "high")], "{report:#}");
}

#[test]
fn a_partition_that_came_without_the_cleaners_checkpoint_is_judged_by_what_the_log_shows() {
    let aborted = || batch().producer(7, 0, 0).transactional().time(FIRST_TIME + 2000).record("a", "2");
    let head = || SegmentBuilder::new().batch(value("a", "1", 0)).batch(value("b", "1", 1));
    let short = head().batch(aborted()).batch(value("c", "1", 4));
    let cleaned = head().skip_to(3).batch(value("c", "1", 4)).time(FIRST_TIME + 5000).abort(7, 0);
    let tree = replicas(cleaned.batch(value("d", "1", 6)), None, short);
    for dir in ["a", "b"] {
        fs::remove_file(tree.0.path().join(dir).join("cleaner-offset-checkpoint")).unwrap();
    }
    assert!(told(&tree.scan()).is_empty());
}
