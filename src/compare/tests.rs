//! Innocent twins and planted differences, each in files of their own.

use super::*;
use crate::facts::{Outcome, Withheld, WithheldRange};
use crate::format::{Codec, TailExpectation};
use crate::testkit::{BatchSpec, SegmentBuilder, batch};
use crate::units::{LeaderEpoch, Offset, ProducerId};
use proptest::prelude::*;

/// A log of segments in a directory of its own.
struct Files {
    directory: tempfile::TempDir,
    log: Log<'static>,
}

fn files(segments: &[(i64, Vec<u8>)]) -> Files {
    let directory = tempfile::tempdir().unwrap();
    let segments: Vec<LogSegment> = segments
        .iter()
        .enumerate()
        .map(|(at, (base, bytes))| {
            let path = directory.path().join(format!("{base:020}.log"));
            std::fs::write(&path, bytes).unwrap();
            LogSegment {
                place: path.into(),
                base: Offset(*base),
                next_base: segments.get(at + 1).map(|(next, _)| Offset(*next)),
                len: bytes.len() as u64,
                identity: None,
                tail: TailExpectation::MayBeTorn,
            }
        })
        .collect();
    Files { directory, log: Log { segments, ..Log::default() } }
}

fn one(builder: SegmentBuilder) -> Files {
    files(&[(0, builder.bytes())])
}

impl Files {
    fn cleaned_below(mut self, offset: i64) -> Self {
        self.log.cleaned_below = Some(Offset(offset));
        self
    }
}

fn compared(a: &Files, b: &Files) -> Comparison {
    assert_ne!(a.directory.path(), b.directory.path());
    let there = compare(&a.log, &b.log, ReadMode::Positioned, &|| false);
    let back = compare(&b.log, &a.log, ReadMode::Positioned, &|| false);
    assert_eq!(there.first_difference, back.first_difference, "the order of the two does not matter");
    assert_eq!(there.differing_records[0], back.differing_records[1]);
    assert_eq!(there.missing[0], back.missing[1]);
    there
}

fn kinds(comparison: &Comparison) -> Vec<(DifferenceKind, i64, i64)> {
    comparison.differences.iter().map(|d| (d.kind, d.first_offset.0, d.last_offset.0)).collect()
}

/// A batch of a record for each key; the key is its value as well.
fn keyed(keys: &[&str]) -> BatchSpec {
    keys.iter().fold(batch(), |batch, key| batch.record(*key, format!("{key} is new")))
}

/// Ten batches of two records.
fn ten() -> SegmentBuilder {
    (0..10).fold(SegmentBuilder::new(), |log, at| {
        log.batch(batch().producer(7, 0, at * 2).record(format!("k{at}"), "v").record(format!("l{at}"), "v"))
    })
}

#[test]
fn a_log_equals_itself() {
    let comparison = compared(&one(ten()), &one(ten()));
    assert!(comparison.agrees() && !comparison.compaction_only());
    assert_eq!((comparison.equal_batches, comparison.equal_records), (10, 20));
    assert_eq!(comparison.equal_up_to(), Offset(20));
    assert_eq!(comparison.rest, None);
}

#[test]
fn a_replica_that_lags_is_no_difference() {
    let longer = ten().leader_epoch(4).batch(keyed(&["x", "y"])).commit(7, 0);
    let comparison = compared(&one(ten()), &one(longer));
    assert!(comparison.agrees());
    assert_eq!(comparison.equal_up_to(), Offset(20));
    let rest = comparison.rest.unwrap();
    assert_eq!(
        (rest.side, rest.first_offset, rest.last_offset, rest.records),
        (Side::B, Offset(20), Offset(22), 2)
    );
    assert_eq!(rest.leader_epochs.unwrap().largest, LeaderEpoch(4));
}

#[test]
fn a_head_that_retention_removed_is_no_difference() {
    let tail = SegmentBuilder::at(20).batch(keyed(&["x"]));
    let whole = files(&[(0, ten().bytes()), (20, tail.clone().bytes())]);
    let comparison = compared(&whole, &files(&[(20, tail.bytes())]));
    assert!(comparison.agrees());
    assert_eq!((comparison.from, comparison.equal_records), (Offset(20), 1));
}

#[test]
fn other_segment_boundaries_are_no_difference() {
    let whole = one(ten().batch(keyed(&["x"])));
    let tail = SegmentBuilder::at(20).time(crate::testkit::FIRST_TIME + 10_000).batch(keyed(&["x"]));
    let comparison = compared(&whole, &files(&[(0, ten().bytes()), (20, tail.bytes())]));
    assert!(comparison.agrees());
    assert_eq!(comparison.equal_batches, 11);
}

#[test]
fn bytes_that_cannot_be_read_are_told_and_are_no_difference() {
    let place = ten().places()[4];
    let mut bytes = ten().bytes();
    bytes[place.position + 70] ^= 1;
    let comparison = compared(&one(ten()), &files(&[(0, bytes.clone())]));
    assert!(comparison.agrees());
    assert_eq!(comparison.missing[1], Missing { cleaned: 0, unreadable: 2 });
    assert_eq!(comparison.damage, [0, place.length as u64]);
    // A torn tail is as if the log ended there.
    bytes.truncate(ten().places()[9].position + 30);
    let comparison = compared(&one(ten()), &files(&[(0, bytes)]));
    assert!(comparison.agrees());
    assert_eq!(comparison.ends_in_damage, [false, true]);
    assert_eq!(comparison.rest.unwrap().records, 2);
}

#[test]
fn what_one_cleaner_took_and_the_other_did_not_is_no_difference() {
    // Batches: sparse, emptied, gone; then the newer values.
    let newer = keyed(&["a", "b", "c", "d"]);
    let before = SegmentBuilder::new()
        .batch(keyed(&["a", "keep"]).codec(Codec::Gzip))
        .batch(keyed(&["b"]))
        .batch(keyed(&["c"]))
        .batch(batch().record("d", ()).delete_horizon(5))
        .batch(&newer);
    let after = SegmentBuilder::new()
        .batch(keyed(&["a", "keep"]).kept(&[1]))
        .batch(keyed(&["b"]).kept(&[]))
        .skip_to(5)
        .time(crate::testkit::FIRST_TIME + 4000)
        .batch(&newer);
    let comparison = compared(&one(before), &one(after).cleaned_below(5));
    assert!(comparison.agrees(), "{comparison:?}");
    assert!(comparison.compaction_only());
    assert_eq!(comparison.missing, [Missing::default(), Missing { cleaned: 4, unreadable: 0 }]);
}

#[test]
fn a_horizon_or_another_codec_changes_no_record() {
    let time = crate::testkit::FIRST_TIME;
    let plain = SegmentBuilder::new().batch(batch().record_at(time, "a", ()).record_at(time, "b", "v"));
    let stamped = SegmentBuilder::new().batch(
        batch()
            .record_at(time, "a", ())
            .record_at(time, "b", "v")
            .delete_horizon(time + 9)
            .codec(Codec::Zstd),
    );
    let comparison = compared(&one(plain), &one(stamped));
    assert!(comparison.agrees() && comparison.equal_batches == 0);
    assert_eq!(comparison.equal_records, 2);
}

#[test]
fn the_newest_value_of_a_key_is_missed_whatever_the_cleaner_did() {
    let tail = keyed(&["x", "y"]);
    let log = SegmentBuilder::new().batch(keyed(&["a", "b"])).batch(keyed(&["c"])).batch(&tail);
    let lost = SegmentBuilder::new()
        .batch(keyed(&["a", "b"]).kept(&[1]))
        .skip_to(3)
        .time(crate::testkit::FIRST_TIME + 2000)
        .batch(&tail);
    let comparison = compared(&one(log), &one(lost).cleaned_below(3));
    let value =
        |offset| Deciding { offset: Offset(offset), kind: DecidingKind::NewestValue, holder: Side::A };
    assert_eq!(comparison.deciding, [value(0), value(2)]);
    assert_eq!(comparison.first_difference, Some(Offset(0)));
    assert!(!comparison.compaction_only());
}

#[test]
fn a_newest_value_is_missed_where_the_policy_alone_tells_of_a_cleaner() {
    let log = SegmentBuilder::new().batch(keyed(&["a"])).batch(keyed(&["b"]));
    let lost = SegmentBuilder::new().skip_to(1).time(crate::testkit::FIRST_TIME + 1000).batch(keyed(&["b"]));
    let comparison = compared(&one(log), &one(lost).cleaned_below(i64::MAX));
    assert_eq!(comparison.first_difference, Some(Offset(0)), "{comparison:?}");
    assert_eq!(
        comparison.deciding.iter().map(|one| one.kind).collect::<Vec<_>>(),
        [DecidingKind::NewestValue]
    );
}

#[test]
fn the_newest_records_of_two_logs_are_followed_for_the_same_keys() {
    let log = |from: usize| {
        let keys = (from..from + 40).map(|key| batch().record(format!("k{key}"), "v"));
        one(keys.fold(SegmentBuilder::new(), SegmentBuilder::batch).batch(batch().record("k39", ())))
    };
    let (a, b) = (log(0), log(20));
    let both = |limit| Newest::following([&a.log, &b.log], ReadMode::Positioned, &|| false, limit).unwrap();
    let [one, other] = both(1000);
    assert!(one.follows_all() && one.is_read() && one.data_end() == Offset(41));
    let hash = one.key_at(Offset(40)).unwrap();
    assert_eq!(one.key_at(Offset(39)), None, "a later one is there");
    assert_eq!(one.last(hash), Some(Last { offset: Offset(40), tombstone: true }));
    assert_eq!(other.last(hash), one.last(hash));
    let [one, other] = both(8);
    assert!(!one.follows_all() && !other.follows_all());
    // Of keys that both hold, both follow the same.
    let held = |newest: &Newest, at: std::ops::Range<i64>| -> std::collections::BTreeSet<u64> {
        at.filter_map(|offset| newest.key_at(Offset(offset))).collect()
    };
    assert_eq!(held(&one, 20..39), held(&other, 0..19));
}

#[test]
fn a_value_that_a_later_tombstone_may_have_taken_is_not_missed() {
    // The cleaner of the longer log has seen more than the shorter one holds.
    let short = SegmentBuilder::new().batch(keyed(&["a"])).batch(keyed(&["b"]));
    let long = SegmentBuilder::new().skip_to(1).time(crate::testkit::FIRST_TIME + 1000).batch(keyed(&["b"]));
    let long = long.skip_to(5).batch(keyed(&["c"]));
    let comparison = compared(&one(short), &one(long).cleaned_below(5));
    assert!(comparison.agrees(), "{comparison:?}");
}

#[test]
fn a_tombstone_is_missed_where_an_older_value_is_left() {
    let value = || batch().record("a", "v");
    let log = SegmentBuilder::new().batch(value()).batch(batch().record("a", ())).batch(keyed(&["z"]));
    let lost =
        |log: SegmentBuilder| log.skip_to(2).time(crate::testkit::FIRST_TIME + 2000).batch(keyed(&["z"]));
    let still_there = lost(SegmentBuilder::new().batch(value()));
    let comparison = compared(&one(log.clone()), &one(still_there).cleaned_below(2));
    assert_eq!(comparison.deciding[0].kind, DecidingKind::Tombstone);
    // With the value gone as well, the tombstone has done its work.
    let comparison = compared(&one(log), &one(lost(SegmentBuilder::new())).cleaned_below(2));
    assert!(comparison.compaction_only());
}

#[test]
fn a_marker_is_missed_where_its_data_is_left() {
    let data = || batch().producer(7, 0, 0).transactional().record("a", "v").record("b", "v");
    let last = || keyed(&["a", "b"]).time(crate::testkit::FIRST_TIME + 9000);
    let log = SegmentBuilder::new().batch(data()).abort(7, 0).batch(last());
    let with_data = SegmentBuilder::new().batch(data()).skip_to(3).batch(last());
    let comparison = compared(&one(log.clone()), &one(with_data).cleaned_below(3));
    let marker = Deciding { offset: Offset(2), kind: DecidingKind::Marker, holder: Side::A };
    assert_eq!(comparison.deciding, [marker]);
    let emptied = SegmentBuilder::new().batch(data().kept(&[])).skip_to(3).batch(last());
    assert!(compared(&one(log), &one(emptied).cleaned_below(3)).compaction_only());
}

#[test]
fn a_marker_whose_data_is_gone_ends_nothing_that_stands_behind_it() {
    let sent = |sequence, key: &str| batch().producer(7, 0, sequence).transactional().record(key, "v");
    let behind = |log: SegmentBuilder| {
        let log = log.batch(sent(1, "a")).commit(7, 0).batch(sent(2, "b")).commit(7, 0);
        log.batch(keyed(&["z"]))
    };
    let whole = behind(SegmentBuilder::new().batch(sent(0, "a")).commit(7, 0));
    let later = || SegmentBuilder::new().skip_to(2).time(crate::testkit::FIRST_TIME + 2000);
    let comparison = compared(&one(whole.clone()), &one(behind(later())).cleaned_below(6));
    assert!(comparison.compaction_only(), "{comparison:?}");
    // The marker of the second transaction is gone, and its data is not.
    let unended = later().batch(sent(1, "a")).skip_to(4).time(crate::testkit::FIRST_TIME + 4000);
    let unended = unended.batch(sent(2, "b")).commit(7, 0).batch(keyed(&["z"]));
    let comparison = compared(&one(whole), &one(unended).cleaned_below(6));
    let marker = Deciding { offset: Offset(3), kind: DecidingKind::Marker, holder: Side::A };
    assert_eq!(comparison.deciding, [marker]);
}

fn withheld(offset: i64, outcome: Outcome) -> &'static Withheld {
    let offset = Offset(offset);
    let ranges = [WithheldRange { first_offset: offset, last_offset: offset, outcome }];
    Box::leak(Box::new(ranges.into_iter().collect()))
}

#[test]
fn records_of_aborted_transactions_are_missed_by_nobody() {
    let data = || batch().producer(7, 0, 0).transactional().record("a", "v");
    let log = SegmentBuilder::new().batch(data()).abort(7, 0).batch(keyed(&["z"]));
    let cleaned = SegmentBuilder::new().batch(data().kept(&[])).abort(7, 0).batch(keyed(&["z"]));
    let mut log = one(log);
    log.log.withheld = Some(withheld(0, Outcome::Aborted));
    assert!(compared(&log, &one(cleaned).cleaned_below(2)).compaction_only());
}

#[test]
fn how_a_transaction_ended_is_known_from_the_log_that_holds_its_end() {
    let data = || batch().producer(7, 0, 0).transactional().record("a", "v");
    let begun = || SegmentBuilder::new().batch(keyed(&["z"]));
    // One replica stopped before the marker came; the other went on, and its cleaner was there.
    let short = || {
        let mut short = one(begun().batch(data()).batch(keyed(&["y"])));
        short.log.withheld = Some(withheld(1, Outcome::Open));
        short
    };
    let cleaned = |rest: &dyn Fn(SegmentBuilder) -> SegmentBuilder| {
        let log = begun().skip_to(2).time(crate::testkit::FIRST_TIME + 2000).batch(keyed(&["y"]));
        one(rest(log).batch(keyed(&["x"]))).cleaned_below(3)
    };
    let aborted = compared(&short(), &cleaned(&|log| log.abort(7, 0)));
    assert!(aborted.agrees(), "{aborted:?}");
    // The marker went with the data, which only an aborted transaction leaves without a trace.
    let gone = compared(&short(), &cleaned(&|log| log.skip_to(4)));
    assert!(gone.agrees(), "{gone:?}");
    let committed = compared(&short(), &cleaned(&|log| log.commit(7, 0)));
    let value = Deciding { offset: Offset(1), kind: DecidingKind::NewestValue, holder: Side::A };
    assert_eq!(committed.deciding, [value]);
    let replaced = compared(&short(), &cleaned(&|log| log.commit(7, 0).batch(keyed(&["a"]))));
    assert!(replaced.agrees(), "{replaced:?}");
}

#[test]
fn a_value_in_an_open_transaction_takes_no_older_one_away() {
    let open = || batch().producer(7, 0, 0).transactional().record("a", "new");
    let log = SegmentBuilder::new().batch(keyed(&["a"])).batch(keyed(&["z"])).batch(open());
    let cleaned = SegmentBuilder::new().skip_to(1).batch(keyed(&["z"])).batch(open());
    let (mut log, mut cleaned) = (one(log), one(cleaned).cleaned_below(2));
    let withheld = Some(withheld(2, Outcome::Open));
    (log.log.withheld, cleaned.log.withheld) = (withheld, withheld);
    let comparison = compared(&log, &cleaned);
    assert_eq!(comparison.deciding.iter().map(|one| one.offset.0).collect::<Vec<_>>(), [0]);
    assert!(!comparison.compaction_only());
}

#[test]
fn a_hole_that_no_cleaner_made_is_a_difference() {
    let log = SegmentBuilder::new().batch(keyed(&["a", "b"])).batch(keyed(&["c", "d"])).batch(keyed(&["e"]));
    let hole = SegmentBuilder::new()
        .batch(keyed(&["a", "b"]))
        .skip_to(4)
        .time(crate::testkit::FIRST_TIME + 2000)
        .batch(keyed(&["e"]));
    let comparison = compared(&one(log), &one(hole));
    assert_eq!(kinds(&comparison), [(DifferenceKind::OnlyA, 2, 3)]);
    assert_eq!(comparison.differing_records, [2, 0]);
    assert!(!comparison.differs_at_the_end_only());
}

#[test]
fn a_lost_tail_is_told_with_epochs_and_writers_of_both() {
    let common = || SegmentBuilder::new().leader_epoch(1).batch(keyed(&["a", "b", "c"]));
    let old =
        common().batch(batch().producer(5, 0, 0).record("d", "1")).batch(keyed(&["e"])).batch(keyed(&["f"]));
    let new = common().leader_epoch(2).batch(batch().producer(6, 0, 0).record("g", "1").record("h", "2"));
    let comparison = compared(&one(old), &one(new));
    assert_eq!(kinds(&comparison), [(DifferenceKind::Records, 3, 4)]);
    assert!(comparison.differs_at_the_end_only());
    let [old, new] = comparison.differing_epochs.map(Option::unwrap);
    assert!(old.largest < new.smallest);
    assert_eq!(comparison.differing_records, [2, 2]);
    assert_eq!(comparison.differences[0].writers[1].ids, [ProducerId(6)].into());
    let rest = comparison.rest.unwrap();
    assert_eq!((rest.side, rest.records), (Side::A, 1));
}

/// What became of the records that stand in `old` from offset 3 on.
fn fate_of(old: &Files, new: &Files, limit: usize) -> TailFate {
    let tail = Tail { older: &old.log, newer: &new.log, from: Offset(3), committed_below: None };
    fate::fate_following(&tail, ReadMode::Positioned, limit)
}

#[test]
fn a_record_that_came_twice_is_found_again_by_one_and_equal_contents_by_one_each() {
    let common = || SegmentBuilder::new().leader_epoch(1).batch(keyed(&["a", "b", "c"]));
    let ping = |time: i64| batch().record_at(time, (), "ping");
    let old = one(common().batch(ping(11)).batch(ping(11)).batch(ping(12)).batch(ping(13)));
    let new = one(common().leader_epoch(2).batch(ping(11)).batch(ping(20)));
    let told = fate_of(&old, &new, 100);
    let again = [(Fate::Again, 2), (Fate::AgainLater, 1), (Fate::Lost(Loss::Unprotected), 1)];
    assert_eq!(told.records, again.into());
    assert_eq!((told.first_lost, told.one_of), (Some(Offset(6)), 1));
}

#[test]
fn of_a_tail_that_is_too_long_a_part_is_followed() {
    let common = || SegmentBuilder::new().leader_epoch(1).batch(keyed(&["a", "b", "c"]));
    let sent = |log: SegmentBuilder| (0..64).fold(log, |log, at| log.batch(keyed(&[&format!("k{at}")])));
    let told = fate_of(&one(sent(common())), &one(sent(common()).batch(keyed(&["z"]))), 16);
    let again = told.records_of(Fate::Again);
    assert!((1..=16).contains(&again) && told.one_of >= 4, "{told:?}");
    assert_eq!(told.records.len(), 1);
}

#[test]
fn a_repeat_of_what_both_hold_is_not_lost() {
    let common = || {
        SegmentBuilder::new().leader_epoch(1).batch(batch().record_at(7, "a", "v")).batch(keyed(&["b", "c"]))
    };
    let old = one(common().batch(batch().record_at(7, "a", "v")).batch(batch().record_at(8, "a", "v")));
    let new = one(common().leader_epoch(2).batch(keyed(&["x"])));
    let told = fate_of(&old, &new, 100);
    assert_eq!(told.records, [(Fate::Again, 1), (Fate::Lost(Loss::Unprotected), 1)].into());
}

#[test]
fn where_retention_took_the_beginning_of_what_the_newer_leader_wrote_nobody_can_tell() {
    let common = || SegmentBuilder::new().leader_epoch(1).batch(keyed(&["a", "b", "c"]));
    let old = one(common().batch(keyed(&["d", "e", "f"])));
    let new = files(&[(5, SegmentBuilder::at(5).leader_epoch(2).batch(keyed(&["x"])).bytes())]);
    assert_eq!(fate_of(&old, &new, 100).records, [(Fate::Lost(Loss::Unreadable), 3)].into());
}

#[test]
fn what_a_producer_did_not_come_to_again_is_lost_and_left_behind_only_where_it_wrote_something_from_behind_it()
 {
    let sent = |log: SegmentBuilder, epoch, sequence, keys: &[&str]| {
        keys.iter().zip(sequence..).fold(log, |log, (key, sequence)| {
            log.batch(batch().producer(7, epoch, sequence).record_at(9, *key, "v"))
        })
    };
    let common = || sent(SegmentBuilder::new().leader_epoch(1), 0, 0, &["a", "b", "c"]);
    let old = one(sent(common(), 0, 3, &["d", "e", "f", "g"]));
    let (unknown, left) = (Fate::Lost(Loss::Unknown), Fate::Lost(Loss::LeftBehind));
    let told = |epoch, sequence, keys: &[&str]| {
        fate_of(&old, &one(sent(common().leader_epoch(2), epoch, sequence, keys)), 100).records
    };
    let again = |number| (Fate::Again, number);
    // On its way, or dead.
    assert_eq!(told(0, 3, &["d"]), [again(1), (unknown, 3)].into());
    assert_eq!(told(1, 0, &["d", "e"]), [again(2), (unknown, 2)].into());
    // The sequences of `d` and `e` have other records.
    assert_eq!(told(0, 3, &["x", "y"]), [(Fate::TakenBack, 2), (unknown, 2)].into());
    // Something is there that it sent later.
    assert_eq!(told(0, 6, &["g"]), [again(1), (left, 3)].into());
    assert_eq!(told(1, 0, &["d", "g"]), [again(2), (left, 2)].into());
    assert_eq!(told(1, 0, &["d", "x"]), [again(1), (left, 3)].into());
}

#[test]
fn a_commit_without_the_last_records_of_a_tail_leaves_them_behind() {
    let sent = |log: SegmentBuilder, sequence, key: &str| {
        log.batch(batch().producer(7, 0, sequence).transactional().record_at(9, key, "v"))
    };
    let common = || sent(sent(sent(SegmentBuilder::new().leader_epoch(1), 0, "a"), 1, "b"), 2, "c");
    let old = one(sent(sent(common(), 3, "d"), 4, "e"));
    let new = || sent(common().leader_epoch(2), 3, "d");
    let again = (Fate::Again, 1);
    let told = |new| fate_of(&old, &one(new), 100).records;
    assert_eq!(told(new()), [again, (Fate::Lost(Loss::Unknown), 1)].into());
    assert_eq!(told(new().commit(7, 0)), [again, (Fate::Lost(Loss::LeftBehind), 1)].into());
    assert_eq!(told(new().abort(7, 0)), [again, (Fate::TakenBack, 1)].into());
}

#[test]
fn what_a_transaction_wrote_that_is_committed_in_the_tail_was_acknowledged_and_no_abort_takes_it_back() {
    let common = || SegmentBuilder::new().leader_epoch(1).batch(keyed(&["a", "b", "c"]));
    let sent = |log: SegmentBuilder, sequence, key: &str| {
        log.batch(batch().producer(7, 0, sequence).transactional().record(key, "v"))
    };
    let old = sent(sent(common(), 3, "d"), 4, "e").commit(7, 0);
    let old = one(sent(old, 5, "f"));
    let committed = Fate::Lost(Loss::InCommittedTransaction);
    for (newer, f) in [
        (common().leader_epoch(2).batch(keyed(&["x"])), Fate::Lost(Loss::Unknown)),
        // The end of a later transaction, or a sequence that is given again, says nothing of the committed one.
        (common().leader_epoch(2).abort(7, 0), Fate::Lost(Loss::Unknown)),
        (sent(common().leader_epoch(2), 3, "x").commit(7, 0), Fate::Lost(Loss::Unknown)),
        (sent(sent(sent(common().leader_epoch(2), 3, "x"), 4, "y"), 5, "z"), Fate::TakenBack),
    ] {
        assert_eq!(fate_of(&old, &one(newer), 100).records, [(committed, 2), (f, 1)].into());
    }
}

#[test]
fn the_cleaner_puts_the_time_of_the_broker_where_that_of_the_client_was() {
    let at = crate::testkit::FIRST_TIME;
    let batch_of =
        |client: i64| batch().append_time(at + 500).record_at(client, "a", "v").record_at(client, "b", "v");
    let whole = one(SegmentBuilder::new().batch(batch_of(at)).batch(keyed(&["a"])));
    let cleaned = one(SegmentBuilder::new().batch(batch_of(at + 500).kept(&[1])).batch(keyed(&["a"])));
    let comparison = compared(&whole, &cleaned.cleaned_below(2));
    assert!(comparison.compaction_only(), "{comparison:?}");
}

#[test]
fn what_cannot_be_read_in_the_newer_log_may_hold_the_tail() {
    let common = || SegmentBuilder::new().leader_epoch(1).batch(keyed(&["a", "b", "c"]));
    let old = one(common().batch(keyed(&["d"])));
    let new = common().leader_epoch(2).batch(keyed(&["x"])).batch(keyed(&["y"]));
    let lost = |new: &Files| fate_of(&old, new, 100).lost_records(|loss| loss == Loss::Unprotected);
    assert_eq!(lost(&one(new.clone())), 1);
    let place = new.places()[2];
    let mut bytes = new.bytes();
    bytes[place.position + 70] ^= 1;
    assert_eq!(lost(&files(&[(0, bytes)])), 0);
}

#[test]
fn a_cleaner_in_the_newer_log_may_have_taken_what_a_later_record_replaces() {
    let common = || SegmentBuilder::new().leader_epoch(1).batch(keyed(&["a", "b", "c"]));
    let old = one(common().batch(keyed(&["d"])).batch(keyed(&["e"])));
    let new = one(common().leader_epoch(2).skip_to(5).batch(batch().record("d", "newer"))).cleaned_below(5);
    let told = fate_of(&old, &new, 100);
    assert_eq!(told.records, [(Fate::Replaced, 1), (Fate::Lost(Loss::Unprotected), 1)].into());
}

#[test]
fn an_equal_record_of_another_writer_or_leader_is_a_difference() {
    let by = |id, epoch: i32| {
        let sent = batch().producer(id, 0, 0).record("x", "v").record("y", "v").record("z", "v");
        one(ten().leader_epoch(epoch).batch(sent))
    };
    let comparison = compared(&by(8, 1), &by(9, 1));
    assert_eq!(kinds(&comparison), [(DifferenceKind::Writer, 20, 22)]);
    assert_eq!(comparison.differing_records, [3, 3]);
    let comparison = compared(&by(8, 1), &by(8, 2));
    assert_eq!(kinds(&comparison), [(DifferenceKind::LeaderEpoch, 20, 22)]);
    assert_eq!(comparison.differing_records, [3, 3]);
}

#[test]
fn where_keys_are_too_many_a_part_of_them_is_followed() {
    let mut absent = cleaner::Absent::with_limit(8);
    let directory = one(ten());
    let walk = log::Walk::new(&directory.log, Offset(0), ReadMode::Positioned);
    let held = walk.held.as_ref().unwrap();
    for at in 0..1000u64 {
        let hash = xxhash_rust::xxh3::xxh3_64(&at.to_le_bytes());
        let kind = marks::MarkKind::Value(hash);
        let mark = marks::Mark { offset: Offset(i64::try_from(at).unwrap()), digest: 0, kind };
        absent.add(&mark, held, || None);
    }
    assert!(absent.deciding().len() <= 8);
    assert!(absent.one_of() >= 128, "{}", absent.one_of());
}

#[test]
fn logs_without_a_common_offset_do_not_differ() {
    for other in [files(&[]), files(&[(0, Vec::new())]), files(&[(500, Vec::new())])] {
        assert!(compared(&one(ten()), &other).agrees());
    }
}

/// What may be planted into one batch.
#[derive(Clone, Copy, Debug)]
enum Plant {
    Value,
    Writer,
    LeaderEpoch,
    Gone,
}

fn build(sizes: &[usize], planted: Option<(usize, Plant)>, split: usize) -> Files {
    let mut segments = vec![(0, SegmentBuilder::new())];
    let mut next = 0i64;
    for (at, &size) in sizes.iter().enumerate() {
        if at == split && at > 0 {
            segments.push((next, SegmentBuilder::at(next)));
        }
        let plant = planted.filter(|(planted, _)| *planted == at).map(|(_, plant)| plant);
        let value = if matches!(plant, Some(Plant::Value)) { "planted" } else { "v" };
        let id = if matches!(plant, Some(Plant::Writer)) { 99 } else { 7 };
        let epoch = if matches!(plant, Some(Plant::LeaderEpoch)) { 5 } else { 0 };
        let spec = (0..size).fold(batch().producer(id, 0, 0).leader_epoch(epoch), |batch, record| {
            let value = if record == 0 { value } else { "v" };
            batch.record(format!("k{at}"), value)
        });
        let spec = spec.offset(next).time(crate::testkit::FIRST_TIME + next);
        next += i64::try_from(size).unwrap();
        if !matches!(plant, Some(Plant::Gone))
            && let Some((_, builder)) = segments.last_mut()
        {
            *builder = std::mem::take(builder).batch(spec);
        }
    }
    let segments: Vec<_> = segments.into_iter().map(|(base, builder)| (base, builder.bytes())).collect();
    files(&segments)
}

#[test]
fn a_log_that_lost_its_first_files_is_compared_from_where_it_began() {
    let whole = build(&[3, 3, 3], None, 1);
    let mut later = build(&[3, 3, 3], None, 1);
    later.log.segments.remove(0);
    // Retention took them, and says so.
    assert!(compared(&whole, &later).agrees());
    later.log.head_lost_from = Some(Offset(0));
    let comparison = compared(&whole, &later);
    assert_eq!(kinds(&comparison), [(DifferenceKind::OnlyA, 0, 2)]);
    assert_eq!(comparison.last_equal, Some(Offset(8)));
    // Both lost them: nothing to compare.
    let mut twin = build(&[3, 3, 3], None, 1);
    twin.log.segments.remove(0);
    twin.log.head_lost_from = Some(Offset(0));
    assert!(compared(&later, &twin).agrees());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn nothing_differs_in_copies_however_they_are_cut(
        sizes in prop::collection::vec(1usize..4, 1..20), split_a in 0usize..20, split_b in 0usize..20,
    ) {
        let comparison = compared(&build(&sizes, None, split_a), &build(&sizes, None, split_b));
        prop_assert!(comparison.agrees() && comparison.rest.is_none());
        prop_assert_eq!(comparison.equal_batches, sizes.len() as u64);
    }

    #[test]
    fn a_planted_difference_is_found_exactly_where_it_is(
        sizes in prop::collection::vec(1usize..4, 2..20),
        at in any::<prop::sample::Index>(),
        plant in prop::sample::select(vec![Plant::Value, Plant::Writer, Plant::LeaderEpoch, Plant::Gone]),
        split in 0usize..20,
    ) {
        // A last batch that is gone is lag.
        let at = at.index(sizes.len() - 1);
        let comparison = compared(&build(&sizes, None, 0), &build(&sizes, Some((at, plant)), split));
        let first = i64::try_from(sizes[..at].iter().sum::<usize>()).unwrap();
        let last = first + i64::try_from(sizes[at]).unwrap() - 1;
        let expected = match plant {
            Plant::Value => (DifferenceKind::Records, first, first),
            Plant::Writer => (DifferenceKind::Writer, first, last),
            Plant::LeaderEpoch => (DifferenceKind::LeaderEpoch, first, last),
            Plant::Gone => (DifferenceKind::OnlyA, first, last),
        };
        prop_assert_eq!(kinds(&comparison), vec![expected]);
        prop_assert_eq!(comparison.first_difference, Some(Offset(first)));
    }
}
