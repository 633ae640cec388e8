use super::*;
use crate::compare::{Deciding, DecidingKind, Fate, Loss, Rest, Writers};
use crate::finding::Severity;
use crate::units::ProducerId;

const OLD: &[(LeaderEpoch, Offset)] = &[(LeaderEpoch(0), Offset(0)), (LeaderEpoch(1), Offset(25))];
const NEW: &[(LeaderEpoch, Offset)] = &[(LeaderEpoch(0), Offset(0)), (LeaderEpoch(2), Offset(36))];

fn writers(ids: &[i64]) -> Writers {
    Writers { ids: ids.iter().map(|id| ProducerId(*id)).collect(), more: false }
}

fn epoch(epoch: i32) -> Epochs {
    Epochs { smallest: LeaderEpoch(epoch), largest: LeaderEpoch(epoch) }
}

/// Broker 3 leads with epoch 2; broker 2 was the leader of epoch 1.
fn pair(comparison: Comparison) -> ReplicaPair<'static> {
    let [leading_end, other_end] = comparison.ends;
    let replica = |directory, broker, leader_epochs, log_end| Replica {
        directory,
        broker_id: Some(broker),
        high_watermark: Some(Offset(36)),
        leader_epochs,
        log_end,
        lost_head: None,
        may_be_tiered: false,
    };
    ReplicaPair {
        topic_number: TopicNumber(0),
        topic: "orders",
        partition: 0,
        leading: replica("data-3/orders-0", 3, NEW, leading_end),
        other: replica("data-2/orders-0", 2, OLD, other_end),
        kinship: Kinship::Brokers,
        comparison,
        tail_fate: None,
        unclean_elections: &[],
    }
}

/// The same, and what became of the records that only broker 2 holds.
fn ending(comparison: Comparison, fates: &[(Fate, u64)]) -> ReplicaPair<'static> {
    let fate = TailFate { records: fates.iter().copied().collect(), one_of: 1, ..TailFate::default() };
    ReplicaPair { tail_fate: Some(fate), ..pair(comparison) }
}

const UNPROTECTED: Fate = Fate::Lost(Loss::Unprotected);

fn equal() -> Comparison {
    Comparison {
        ends: [Offset(46), Offset(36)],
        last_equal: Some(Offset(35)),
        followed: 1,
        ..Comparison::default()
    }
}

fn differing(kind: DifferenceKind, in_a: Epochs, in_b: Epochs) -> Comparison {
    let difference = Difference {
        kind,
        first_offset: Offset(36),
        last_offset: Offset(43),
        records: [8, 8],
        leader_epochs: [Some(in_a), Some(in_b)],
        writers: [writers(&[-1]), writers(&[-1, 1000])],
    };
    Comparison {
        ends: [Offset(46), Offset(44)],
        differences: vec![difference],
        first_difference: Some(Offset(36)),
        differing_epochs: [Some(in_a), Some(in_b)],
        differing_records: [8, 8],
        clashes: if in_a == in_b { 8 } else { 0 },
        ..equal()
    }
}

fn rest(side: Side, epoch: i32) -> Rest {
    Rest {
        side,
        first_offset: Offset(36),
        last_offset: Offset(39),
        records: 4,
        leader_epochs: Some(self::epoch(epoch)),
        writers: writers(&[7]),
        unreadable: None,
    }
}

#[test]
fn equal_replicas_and_lag_are_no_findings() {
    let lag = Comparison { rest: Some(rest(Side::A, 2)), ..equal() };
    assert!(judge(&[pair(equal()), pair(lag)]).is_empty());
    // The follower is ahead of a copy that was taken earlier.
    let ahead = Comparison { rest: Some(rest(Side::B, 2)), ..equal() };
    assert!(judge(&[pair(ahead)]).is_empty());
}

#[test]
fn the_lost_tail_of_an_old_leader_is_told_with_what_it_holds() {
    let tail = || differing(DifferenceKind::Records, epoch(2), epoch(1));
    let finding = &judge(&[ending(tail(), &[(Fate::AgainLater, 3), (UNPROTECTED, 5)])])[0];
    assert_eq!((finding.code, finding.confidence), (Code::ReplicaDivergence, Confidence::Likely));
    assert_eq!(finding.title, "orders: 5 records of an older leader are not in the replica that leads");
    assert_eq!(
        finding.facts[0],
        "orders-0: equal up to offset 35; behind it data-2/orders-0 (broker 2) holds 8 records of leader epoch 1 up to \
         offset 43, written by producer 1000 and without producer id; data-3/orders-0 (broker 3) holds what was \
         written there up to leader epoch 2"
    );
    assert_eq!(
        finding.facts[1],
        "orders-0: held against data-3/orders-0: 3 in it again with another time: somebody sent the same once more; 5 \
         nowhere in it, and without producer id"
    );
    let range = &finding.ranges[0];
    assert_eq!(range.directories, ["data-2/orders-0", "data-3/orders-0"]);
    assert_eq!((range.first_offset, range.last_offset), (36, 43));
    assert!(finding.facts[2].contains("no checkpointed high watermark"));
    // Consumers could read them: that is certain.
    let read = ending(tail(), &[(Fate::Lost(Loss::Committed), 8)]);
    assert_eq!(judge(&[read])[0].confidence, Confidence::Certain);
}

#[test]
fn what_stands_in_the_leading_replica_again_is_worth_knowing_and_no_more() {
    let tail = || differing(DifferenceKind::Writer, epoch(2), epoch(1));
    let told = |fates: &[(Fate, u64)]| {
        let finding = judge(&[ending(tail(), fates)]).remove(0);
        (finding.code, finding.severity)
    };
    let kept = (Code::OldLeaderTail, Severity::Info);
    assert_eq!(told(&[(Fate::Again, 8)]), kept);
    assert_eq!(told(&[(Fate::Again, 4), (Fate::TakenBack, 3), (Fate::Replaced, 1)]), kept);
    let unsettled = (Code::OldLeaderTail, Severity::Low);
    assert_eq!(told(&[(Fate::Again, 7), (Fate::Lost(Loss::Unknown), 1)]), unsettled);
    assert_eq!(told(&[(Fate::Again, 7), (Fate::Lost(Loss::LeftBehind), 1)]).0, Code::ReplicaDivergence);
}

#[test]
fn an_unclean_election_is_the_cause_and_what_the_only_replica_in_sync_held_was_acknowledged() {
    let tail = || differing(DifferenceKind::Writer, epoch(2), epoch(1));
    let election = |leader_epoch, holders: &[i32]| UncleanElection {
        leader: 3,
        leader_epoch: Some(LeaderEpoch(leader_epoch)),
        holders: holders.to_vec(),
        offset: Offset(83),
        timestamp: None,
    };
    let told = |elections: &[UncleanElection], fate| {
        let pair = ReplicaPair { unclean_elections: elections, ..ending(tail(), &[(fate, 8)]) };
        let finding = judge(&[pair]).remove(0);
        let says = finding.facts.iter().any(|fact| fact.contains("broker 3 was elected for leader epoch"));
        (finding.code, finding.severity, finding.cause.unwrap().confidence, says)
    };
    let (lost, tail) = (Code::ReplicaDivergence, Code::OldLeaderTail);
    let unknown = Fate::Lost(Loss::Unknown);
    let alone = [election(2, &[2])];
    assert_eq!(told(&alone, unknown), (lost, Severity::High, Confidence::Certain, true));
    assert_eq!(told(&alone, Fate::Again), (tail, Severity::Info, Confidence::Certain, true));
    // Nothing can be said of what cannot be read.
    assert_eq!(told(&alone, Fate::Lost(Loss::Unreadable)).0, tail);
    // Others were in sync, too, or it was another election.
    assert_eq!(told(&[election(2, &[1, 2])], unknown), (tail, Severity::Low, Confidence::Certain, true));
    for other in [[election(1, &[2])], [election(3, &[2])]] {
        assert_eq!(told(&other, unknown), (tail, Severity::Low, Confidence::Likely, false));
    }
}

#[test]
fn a_commit_in_the_tail_shows_that_its_records_were_acknowledged() {
    let committed = Fate::Lost(Loss::InCommittedTransaction);
    let finding =
        &judge(&[ending(differing(DifferenceKind::Writer, epoch(2), epoch(1)), &[(committed, 8)])])[0];
    assert_eq!((finding.code, finding.confidence), (Code::ReplicaDivergence, Confidence::Certain));
    assert!(finding.facts.iter().any(|fact| fact.contains("a producer commits when it was told")));
    assert!(finding.facts.iter().all(|fact| !fact.contains("no checkpointed high watermark")));
    assert!(finding.alternatives.iter().all(|rival| rival.code != "not acknowledged"));
}

#[test]
fn brokers_wait_for_all_replicas_when_they_write_an_internal_topic() {
    let tail = ending(differing(DifferenceKind::Records, epoch(2), epoch(1)), &[(UNPROTECTED, 8)]);
    let told = |tail| {
        let finding = judge(&[ReplicaPair { topic: "__consumer_offsets", ..tail }]).remove(0);
        (finding.code, finding.severity)
    };
    assert_eq!(told(tail.clone()), (Code::OldLeaderTail, Severity::Info));
    let committed = ending(tail.comparison, &[(Fate::Lost(Loss::Committed), 8)]);
    assert_eq!(told(committed), (Code::ReplicaDivergence, Severity::High));
}

#[test]
fn a_tail_under_a_newer_epoch_that_wrote_nothing_yet_is_told() {
    let tail = Comparison { ends: [Offset(36), Offset(40)], rest: Some(rest(Side::B, 1)), ..equal() };
    let finding = &judge(&[ending(tail, &[(Fate::Lost(Loss::Unknown), 4)])])[0];
    assert_eq!((finding.code, finding.severity), (Code::OldLeaderTail, Severity::Low));
    assert!(finding.title.contains("4 records of an older leader"));
    assert!(finding.facts[0].ends_with("began leader epoch 2 there and holds none of them"));
    assert_eq!((finding.ranges[0].first_offset, finding.ranges[0].last_offset), (36, 39));
}

#[test]
fn a_difference_that_no_change_of_leaders_explains_is_told_apart() {
    let same_epoch = differing(DifferenceKind::Records, epoch(2), epoch(2));
    let inside =
        Comparison { last_equal: Some(Offset(45)), ..differing(DifferenceKind::Records, epoch(2), epoch(1)) };
    // Broker 2, which led before, has nothing there, and goes on behind.
    let hole = Comparison {
        differing_epochs: [Some(epoch(2)), None],
        ..differing(DifferenceKind::Records, epoch(2), epoch(1))
    };
    for comparison in [same_epoch, inside, hole] {
        let finding = &judge(&[pair(comparison)])[0];
        assert_eq!(finding.title, "orders: replicas hold different records in 1 partition");
        assert_eq!(finding.ranges[0].what, "other records");
    }
}

#[test]
fn a_record_that_decides_is_at_most_likely_to_be_missed() {
    let deciding = Deciding { offset: Offset(5), kind: DecidingKind::Tombstone, holder: Side::B };
    let comparison = Comparison { deciding: vec![deciding], first_difference: Some(Offset(5)), ..equal() };
    let finding = &judge(&[pair(comparison)])[0];
    assert_eq!(finding.confidence, Confidence::Likely);
    assert!(finding.facts[1].contains("data-3/orders-0 (broker 3) lacks 1 record that decides: tombstone"));
    assert_eq!(finding.ranges[0].what, "tombstone, only in data-2/orders-0");
}

#[test]
fn equal_records_under_other_leader_epochs_are_another_finding() {
    // The checkpoint of the leading replica does not know epoch 3.
    let stamped = differing(DifferenceKind::LeaderEpoch, epoch(3), epoch(1));
    let findings = judge(&[pair(stamped)]);
    let codes: Vec<Code> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::LeaderEpochAnomaly]);
    assert!(
        findings[0].facts[0].contains("offsets 36–43: equal records, of leader epoch 3 in data-3/orders-0")
    );
    let failover = differing(DifferenceKind::LeaderEpoch, epoch(2), epoch(1));
    assert_eq!(judge(&[ending(failover, &[(Fate::Again, 8)])])[0].code, Code::OldLeaderTail);
}

#[test]
fn without_brokers_or_cluster_nothing_is_certain() {
    for (kinship, confidence) in [
        (Kinship::TopicId, Confidence::Likely),
        (Kinship::Names, Confidence::Possible),
        (Kinship::OneBroker, Confidence::Possible),
    ] {
        let tail = differing(DifferenceKind::Records, epoch(2), epoch(1));
        let finding =
            &judge(&[ReplicaPair { kinship, ..ending(tail, &[(Fate::Lost(Loss::Committed), 8)]) }])[0];
        assert_eq!(finding.confidence, confidence);
        assert!(finding.alternatives[0].kept);
    }
}

#[test]
fn a_replica_without_the_first_files_of_its_log_is_told_by_what_the_other_holds() {
    let only = |kind, first: i64, last: i64| Difference {
        kind,
        first_offset: Offset(first),
        last_offset: Offset(last),
        records: [9, 0],
        leader_epochs: [Some(epoch(0)), None],
        writers: [writers(&[1]), writers(&[])],
    };
    let told = |differences: Vec<Difference>, lost_head, may_be_tiered| {
        let first_difference = differences.first().map(|difference| difference.first_offset);
        let comparison = Comparison { differences, first_difference, ..equal() };
        let mut pair = pair(comparison);
        (pair.other.lost_head, pair.other.may_be_tiered) = (lost_head, may_be_tiered);
        let agrees = pair.agrees();
        let finding = judge(&[pair]).pop();
        (agrees, finding.map(|finding| (finding.title, finding.severity, finding.confidence)))
    };
    let lost = Some((Offset(0), Offset(9)));
    let head = || "orders: a replica lacks the first files of its log in 1 partition".to_owned();
    let below = || vec![only(DifferenceKind::OnlyA, 0, 8)];
    assert_eq!(told(below(), lost, false), (false, Some((head(), Severity::High, Confidence::Likely))));
    assert_eq!(told(below(), lost, true), (false, Some((head(), Severity::Low, Confidence::Possible))));
    // Something else differs, or no file is gone.
    let other = "orders: replicas hold different records in 1 partition".to_owned();
    let apart = (false, Some((other, Severity::High, Confidence::Certain)));
    assert_eq!(told(vec![only(DifferenceKind::OnlyA, 0, 10)], lost, true), apart);
    assert_eq!(told(below(), None, true), apart);
    // Nobody holds what both removed.
    assert_eq!(told(Vec::new(), lost, false), (true, None));
}
