//! The ledger as the reference describes it, read batch by batch, simple and slow.
//!
//! Goes in: what lies on the disk. Comes out: what an audit has to say of the producers. Written from
//! Kafka's rules alone (`ProducerAppendInfo`, `ProducerStateEntry`, `LogValidator`, KIP-98, KIP-360,
//! KIP-890), without a look at the code that it is held against.

use crate::world::{DAY, Disk, Entry, Fault, Marker, Stored, advance};
use dedup_audit::finding::GapReason;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sequences that are missing before a batch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    pub at_offset: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub expected: i32,
    pub found: i32,
    pub sequences: u32,
}

/// What one epoch of a producer wrote: first and last offset, first and last sequence, batches, records.
pub type Epoch = (i64, i64, i32, i32, u64, u64);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// With the reasons that the files allow.
    pub gaps: BTreeMap<Missing, Vec<GapReason>>,
    /// Base offsets of batches that step back inside an epoch, or to a lower one, without being
    /// equal to an earlier range.
    pub steps_back: BTreeSet<i64>,
    /// Base offsets of batches whose range was there before: whether the contents are equal, and the
    /// base offset of the batch that was there.
    pub repeats: BTreeMap<i64, (bool, i64)>,
    /// Base offsets of data in aborted transactions.
    pub aborted: BTreeSet<i64>,
    pub epochs: BTreeMap<(i64, i16), Epoch>,
    /// First offsets of the sessions of each producer.
    pub sessions: BTreeSet<(i64, i64)>,
    pub transactions: BTreeMap<(i64, i64), (i64, Option<Marker>)>,
    pub idempotent: u64,
    pub transactional: u64,
    pub unprotected: u64,
    /// What a read_committed consumer gets.
    pub committed: u64,
    /// Offsets are missing that no cleaner took away.
    pub holes: bool,
}

/// A producer as the log shows it so far.
#[derive(Default)]
struct Seen {
    producer_epoch: i16,
    last_sequence: Option<i32>,
    /// The last offset of each epoch's data, and of anything with that epoch, markers among it.
    last_data: BTreeMap<i16, i64>,
    last_of: BTreeMap<i16, i64>,
    time: i64,
    ranges: Vec<Range>,
    /// What the snapshot at the first file remembers of it, until a marker of another epoch takes that away.
    head: Option<Range>,
    head_time: i64,
    open: Option<(i64, i64, Vec<Stored>)>,
    /// Where its newest marker lies.
    last_end: i64,
    /// The epoch whose transaction the newest marker closed.
    closed_epoch: Option<i16>,
}

/// What one batch took: epoch, first and last sequence, base offset, contents.
#[derive(Clone)]
struct Range {
    producer_epoch: i16,
    first: i32,
    last: i32,
    base: i64,
    contents: BTreeSet<u64>,
}

impl Range {
    fn is(&self, batch: &Stored) -> bool {
        (self.producer_epoch, self.first, self.last)
            == (batch.producer_epoch, batch.base_sequence, batch.last_sequence())
    }
}

/// Offsets that no batch holds, and why that may be.
struct Hole {
    from: i64,
    to: i64,
    reason: GapReason,
    /// Whether files are not there, whoever took them.
    of_files: bool,
}

impl Ledger {
    pub fn read(disk: &Disk) -> Self {
        let (batches, holes) = readable(disk);
        let mut ledger = Self {
            holes: holes.iter().any(|hole| hole.of_files && hole.to > disk.log_start),
            ..Self::default()
        };
        let mut seen: BTreeMap<i64, Seen> = BTreeMap::new();
        let (mut broker_time, mut passed) = (i64::MIN, 0);
        // Up to where snapshots say that no transaction is open.
        let mut none_open: BTreeMap<i64, i64> = BTreeMap::new();
        let mut done: Vec<(Stored, Option<Marker>)> = Vec::new();
        for batch in &batches {
            for (&number, entries) in disk.snapshots.range(passed..=batch.base) {
                ended_unseen(number, entries, &holes, &mut seen, &mut done);
                for entry in entries.iter().filter(|entry| entry.transaction_first_offset < 0) {
                    none_open.insert(entry.producer_id, number);
                }
            }
            passed = batch.base + 1;
            broker_time = broker_time.max(batch.time);
            let records = batch.records.len() as u64;
            if batch.producer_id < 0 {
                ledger.unprotected += records;
                done.push((batch.clone(), Some(Marker::Commit)));
                continue;
            }
            if batch.marker.is_some() {
                ledger.mark(
                    batch,
                    seen.entry(batch.producer_id).or_insert_with(|| Seen::at(disk, batch)),
                    &mut done,
                );
                continue;
            }
            if batch.transactional {
                ledger.transactional += records;
            } else {
                ledger.idempotent += records;
            }
            let known = seen.remove(&batch.producer_id);
            let is_new = known.is_none();
            let mut known = known.unwrap_or_else(|| Seen::at(disk, batch));
            if known.ranges.is_empty() && broker_time - known.head_time >= DAY {
                known.head = None;
            }
            ledger.follow(disk, &holes, batch, &known, broker_time);
            ledger.session(batch, &known, is_new);
            ledger.count(batch);
            let contents = batch.records.iter().map(|record| record.1).collect();
            if known.ranges.is_empty()
                && let Some(head) = known.head.clone()
                && head.is(batch)
            {
                // Behind a repeat the producer goes on where it was, here where the head ended.
                known.last_sequence = Some(head.last);
            }
            known.ranges.push(Range {
                producer_epoch: batch.producer_epoch,
                first: batch.base_sequence,
                last: batch.last_sequence(),
                base: batch.base,
                contents,
            });
            if !ledger.repeats.contains_key(&batch.base) {
                // Behind a repeat the producer goes on where it was.
                known.producer_epoch = batch.producer_epoch;
                known.last_sequence = Some(batch.last_sequence());
            }
            known.last_data.insert(batch.producer_epoch, batch.last);
            known.last_of.insert(batch.producer_epoch, batch.last);
            known.time = batch.time;
            if batch.transactional {
                known.higher_epoch(&holes, batch, &mut done);
                let after = none_open.get(&batch.producer_id).copied().unwrap_or(0).max(known.last_end);
                let open = known
                    .open
                    .get_or_insert_with(|| (began(disk, &holes, batch, after), batch.last, Vec::new()));
                open.1 = batch.last;
                open.2.push(batch.clone());
            } else {
                done.push((batch.clone(), Some(Marker::Commit)));
            }
            seen.insert(batch.producer_id, known);
        }
        for (&number, entries) in disk.snapshots.range(passed..) {
            ended_unseen(number, entries, &holes, &mut seen, &mut done);
        }
        let mut stable = i64::MAX;
        for (id, first) in remembered(disk, &holes, &seen) {
            ledger.transactions.insert((id, first), (-1, None));
            stable = stable.min(first);
        }
        for (id, known) in seen {
            if let Some((first, last, data)) = known.open {
                ledger.transactions.extend(
                    by_epoch(first, last, &data).into_iter().map(|(from, to)| ((id, from), (to, None))),
                );
                stable = stable.min(first);
            }
        }
        ledger.aborted = done
            .iter()
            .filter(|(_, outcome)| *outcome == Some(Marker::Abort))
            .map(|(batch, _)| batch.base)
            .collect();
        ledger.committed = done
            .iter()
            .filter(|(_, outcome)| *outcome == Some(Marker::Commit))
            .map(|(batch, _)| {
                let visible = |index: usize| {
                    let offset = batch.base + i64::try_from(index).unwrap();
                    offset >= disk.log_start && offset < stable
                };
                batch.records.iter().filter(|(index, _)| visible(*index)).count() as u64
            })
            .sum();
        ledger
    }

    /// What happened in this log, so that a test can tell that something did.
    pub fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> =
            self.gaps.values().flatten().map(|reason| format!("gap for {reason:?}")).collect();
        kinds.extend(self.transactions.values().map(|(_, marker)| format!("transaction {marker:?}")));
        kinds.extend(self.repeats.values().map(|(equal, _)| format!("repeat, equal: {equal}")));
        kinds.extend(self.steps_back.iter().map(|_| "step back".to_owned()));
        kinds.extend(self.epochs.keys().map(|(_, epoch)| format!("epoch bump: {}", *epoch > 0)));
        kinds.extend(self.gaps.keys().filter(|gap| gap.found < gap.expected).map(|_| "wrap".to_owned()));
        kinds.extend(self.holes.then(|| "hole".to_owned()));
        kinds
    }

    fn mark(&mut self, batch: &Stored, known: &mut Seen, done: &mut Vec<(Stored, Option<Marker>)>) {
        known.last_end = batch.base;
        known.head = known.head.take().filter(|head| head.producer_epoch == batch.producer_epoch);
        if let Some((first, last, data)) = known.open.take() {
            let raised = |data: &&Stored| data.producer_epoch + 1 == batch.producer_epoch;
            known.closed_epoch = data.last().filter(raised).map(|data| data.producer_epoch);
            self.transactions.insert((batch.producer_id, first), (last, batch.marker));
            done.extend(data.into_iter().map(|data| (data, batch.marker)));
        }
        if batch.producer_epoch != known.producer_epoch {
            known.producer_epoch = batch.producer_epoch;
            known.last_sequence = None;
        }
        known.last_of.insert(batch.producer_epoch, batch.last);
        known.time = batch.time;
    }

    /// Rules e to g of the sequence check, and what a log that passed them may still lack.
    fn follow(&mut self, disk: &Disk, holes: &[Hole], batch: &Stored, known: &Seen, broker_time: i64) {
        let first = batch.base_sequence;
        if let Some(range) = known.ranges.iter().rev().find(|range| range.is(batch)) {
            let now: BTreeSet<u64> = batch.records.iter().map(|record| record.1).collect();
            // The cleaner may have taken some of either.
            let sequences = (i64::from(range.last) - i64::from(range.first)).rem_euclid(1 << 31) + 1;
            let whole = range.contents.len() >= usize::try_from(sequences).unwrap();
            let equal = !whole || now.is_subset(&range.contents);
            self.repeats.insert(batch.base, (equal, range.base));
            return;
        }
        if let Some(head) = &known.head {
            // A broker that began from the snapshot answers a repeat without storing it, and refuses the others.
            let ahead = (i64::from(first) - i64::from(head.last) - 1).rem_euclid(1 << 31);
            let is_refused = match batch.producer_epoch.cmp(&head.producer_epoch) {
                Ordering::Less => true,
                Ordering::Equal => ahead >= 1 << 30,
                Ordering::Greater => false,
            };
            // A client before 2.5 begins again at 0 when its records were deleted.
            let begins_again = batch.producer_epoch == head.producer_epoch && first == 0;
            let is_deleted = known.last_data.values().all(|&last| last < disk.log_start);
            if head.is(batch) {
                if !(begins_again && is_deleted) {
                    self.steps_back.insert(batch.base);
                }
                return;
            }
            if known.ranges.is_empty() && is_refused {
                if !begins_again {
                    self.steps_back.insert(batch.base);
                }
                return;
            }
        }
        if batch.producer_epoch < known.producer_epoch {
            self.steps_back.insert(batch.base);
            return;
        }
        let at_head = at_head(disk, batch).filter(|_| known.ranges.is_empty());
        let expected = match known.last_sequence.or(at_head.map(|entry| entry.last_sequence)) {
            Some(last) if batch.producer_epoch == known.producer_epoch => advance(last, 1),
            _ => 0,
        };
        let ahead = (i64::from(first) - i64::from(expected)).rem_euclid(1 << 31);
        // Behind a batch of earlier sequences the producer goes on where it was.
        let farthest = known
            .there()
            .filter(|range| range.producer_epoch == batch.producer_epoch)
            .map(|range| range.last)
            .reduce(|far, last| {
                let ahead = (i64::from(last) - i64::from(far)).rem_euclid(1 << 31);
                if ahead < 1 << 30 { last } else { far }
            });
        if ahead == 0 || farthest.map(|last| advance(last, 1)) == Some(first) {
            return;
        }
        let began = known.last_sequence.is_some() && batch.producer_epoch == known.producer_epoch;
        if began && ahead >= 1 << 30 {
            // Clients before 2.5 begin again when their records were deleted.
            let deleted = known.last_data.values().all(|&last| last < disk.log_start);
            if first != 0 || !deleted {
                self.steps_back.insert(batch.base);
            }
            return;
        }
        // What is there already is not missing: behind an old batch that came once more, or behind one of
        // a lower epoch, the producer goes on where this epoch was.
        let distance = |from: i32| (i64::from(first) - i64::from(from)).rem_euclid(1 << 31);
        let mut expected = expected;
        // The same holds for what lies farther on: the newest of it that ends in front of this batch.
        for range in known.there().filter(|range| range.producer_epoch == batch.producer_epoch) {
            let behind = advance(range.last, 1);
            if distance(behind) < distance(expected) {
                expected = behind;
            }
        }
        let ahead = distance(expected);
        let gap = Missing {
            at_offset: batch.base,
            producer_id: batch.producer_id,
            producer_epoch: batch.producer_epoch,
            expected,
            found: first,
            sequences: u32::try_from(ahead).unwrap(),
        };
        // What is missing lies behind the data of this epoch, and behind all that has a lower one.
        let below = known.last_of.range(..batch.producer_epoch).map(|(_, offset)| *offset).max();
        let since = known.last_data.get(&batch.producer_epoch).copied().max(below);
        let since = since.max(at_head.map(|_| disk.segments[0].base - 1));
        let since_time = at_head.map_or(known.time, |entry| entry.time);
        let reasons = reasons(holes, batch, since, since_time, ahead, broker_time);
        self.gaps.insert(gap, reasons);
    }

    /// One life of a producer: an epoch that rises without a transaction's end of its own is a restart,
    /// or, outside of transactions, a bump in the same life.
    fn session(&mut self, batch: &Stored, known: &Seen, is_new: bool) {
        let Some(last) = known.ranges.last().map(|range| range.producer_epoch) else {
            self.sessions.insert((batch.producer_id, batch.base));
            return;
        };
        let restarted = batch.transactional
            && batch.producer_epoch != last
            && !(known.closed_epoch == Some(last) && batch.producer_epoch == last + 1);
        if is_new || restarted {
            self.sessions.insert((batch.producer_id, batch.base));
        }
    }

    fn count(&mut self, batch: &Stored) {
        let epoch = self.epochs.entry((batch.producer_id, batch.producer_epoch)).or_insert((
            batch.base,
            batch.last,
            batch.base_sequence,
            batch.last_sequence(),
            0,
            0,
        ));
        epoch.1 = batch.last;
        epoch.3 = batch.last_sequence();
        epoch.4 += 1;
        epoch.5 += batch.records.len() as u64;
    }
}

impl Seen {
    fn at(disk: &Disk, batch: &Stored) -> Self {
        let head = disk.snapshots.get(&disk.segments[0].base).into_iter().flatten();
        let head =
            head.copied().find(|entry| entry.producer_id == batch.producer_id && entry.last_sequence >= 0);
        Self {
            producer_epoch: batch.producer_epoch,
            head_time: head.map_or(0, |entry| entry.time),
            head: head.map(|entry| Range {
                producer_epoch: entry.producer_epoch,
                first: advance(entry.last_sequence, -i64::from(entry.offset_delta)),
                last: entry.last_sequence,
                base: entry.last_offset - i64::from(entry.offset_delta),
                contents: BTreeSet::new(),
            }),
            ..Self::default()
        }
    }

    /// The ranges that are there, with that of the head behind the first batch that the files hold.
    fn there(&self) -> impl Iterator<Item = &Range> {
        self.head.iter().filter(|_| !self.ranges.is_empty()).chain(&self.ranges)
    }

    /// A producer gets a higher epoch by a marker, or behind one (KIP-890, KIP-360): where offsets are missing in front of
    /// the first data of it, that marker was there, and nobody knows what it said.
    fn higher_epoch(&mut self, holes: &[Hole], batch: &Stored, done: &mut Vec<(Stored, Option<Marker>)>) {
        let Some((_, _, data)) = &self.open else { return };
        let Some(newest) = data.iter().map(|data| data.producer_epoch).max() else { return };
        let until = data[data.len() - 1].last;
        if newest < batch.producer_epoch && may_hide_marker(holes, until + 1, batch.base) {
            let data = self.open.take().map(|open| open.2).unwrap_or_default();
            done.extend(data.into_iter().map(|data| (data, None)));
            self.last_end = until;
        }
    }
}

/// The parts of an open transaction by epoch, each with its first and its last offset: under protocol 2 an epoch is a
/// transaction, under protocol 1 the marker of the lower one is missing.
fn by_epoch(first: i64, last: i64, data: &[Stored]) -> Vec<(i64, i64)> {
    let mut parts = vec![(first, last)];
    let mut newest = data.first().map(|batch| batch.producer_epoch);
    for (at, batch) in data.iter().enumerate().skip(1) {
        if Some(batch.producer_epoch) > newest {
            parts.last_mut().unwrap().1 = data[at - 1].last;
            parts.push((batch.base, last));
            newest = Some(batch.producer_epoch);
        }
    }
    parts
}

/// Whether a marker may have stood from one offset up to another. The cleaner keeps a marker as long as any data of its
/// transaction is there.
fn may_hide_marker(holes: &[Hole], from: i64, to: i64) -> bool {
    let kept =
        |hole: &&Hole| hole.of_files || !matches!(hole.reason, GapReason::Compaction | GapReason::Retention);
    holes.iter().filter(kept).any(|hole| hole.from < to && hole.to > from)
}

/// Where a transaction began whose first batch that can be read is `batch`: a snapshot may remember
/// one in front of it that cannot.
fn began(disk: &Disk, holes: &[Hole], batch: &Stored, after: i64) -> i64 {
    let about_it = |entry: &&Entry| {
        entry.producer_id == batch.producer_id && (0..=batch.base).contains(&entry.transaction_first_offset)
    };
    let newest = disk.snapshots.values().rev().find_map(|entries| entries.iter().find(about_it));
    if newest.is_some_and(|entry| entry.transaction_first_offset == batch.base) {
        return batch.base;
    }
    disk.snapshots
        .values()
        .flatten()
        .filter(|entry| entry.producer_id == batch.producer_id)
        .map(|entry| entry.transaction_first_offset)
        .filter(|&first| first >= after && first < batch.base && is_in(holes, first))
        .max()
        .unwrap_or(batch.base)
}

/// What the snapshot at the first file remembers of the producer and epoch of `batch`, when the batch
/// leaves sequences out behind it.
fn at_head<'d>(disk: &'d Disk, batch: &Stored) -> Option<&'d Entry> {
    let first = disk.segments.first()?.base;
    let entry = disk.snapshots.get(&first)?.iter().find(|entry| entry.producer_id == batch.producer_id)?;
    let ahead = i64::from(batch.base_sequence) - i64::from(advance(entry.last_sequence, 1));
    let leaves_out = (1..1 << 30).contains(&ahead.rem_euclid(1 << 31));
    (entry.producer_epoch == batch.producer_epoch && entry.last_sequence >= 0 && leaves_out).then_some(entry)
}

/// A snapshot that no longer knows a transaction, behind a hole: the marker was in the hole.
fn ended_unseen(
    number: i64,
    entries: &[Entry],
    holes: &[Hole],
    seen: &mut BTreeMap<i64, Seen>,
    done: &mut Vec<(Stored, Option<Marker>)>,
) {
    for entry in entries {
        let Some(known) = seen.get_mut(&entry.producer_id) else { continue };
        let Some((first, last, data)) = &known.open else { continue };
        let began = entry.transaction_first_offset;
        // Without any, all of it ended; with one, what lies in front of that.
        let before = if began < 0 { number } else { began };
        let ended = data.iter().filter(|batch| batch.last < before).map(|batch| batch.last).max();
        let (ended, any) = (ended.unwrap_or((*last).max(*first)), ended.is_some() || data.is_empty());
        if any && before > *first && may_hide_marker(holes, ended + 1, before) {
            let last = *last;
            let data = known.open.take().map(|open| open.2).unwrap_or_default();
            let (over, rest): (Vec<_>, Vec<_>) = data.into_iter().partition(|batch| batch.last < before);
            done.extend(over.into_iter().map(|data| (data, None)));
            known.last_end = ended;
            if began >= 0 {
                known.open = Some((began, if rest.is_empty() { -1 } else { last }, rest));
            }
        } else if let Some(open) = &mut known.open
            && (0..open.0).contains(&entry.transaction_first_offset)
        {
            // A later snapshot is what a broker believes, whatever an earlier one said.
            open.0 = entry.transaction_first_offset;
        }
    }
}

/// Transactions that the newest snapshot remembers, and of which nothing can be read.
fn remembered(disk: &Disk, holes: &[Hole], seen: &BTreeMap<i64, Seen>) -> Vec<(i64, i64)> {
    let Some((_, entries)) = disk.snapshots.last_key_value() else { return Vec::new() };
    entries
        .iter()
        .filter(|entry| is_in(holes, entry.transaction_first_offset))
        .filter(|entry| {
            seen.get(&entry.producer_id)
                .is_none_or(|known| known.open.is_none() && known.last_end < entry.transaction_first_offset)
        })
        .map(|entry| (entry.producer_id, entry.transaction_first_offset))
        .collect()
}

fn is_in(holes: &[Hole], offset: i64) -> bool {
    holes.iter().any(|hole| hole.from <= offset && offset < hole.to)
}

/// Why sequences may be missing before `batch`: what lies between it and the producer's batch before it.
fn reasons(
    holes: &[Hole],
    batch: &Stored,
    since: Option<i64>,
    since_time: i64,
    missing: i64,
    broker_time: i64,
) -> Vec<GapReason> {
    let from = since.map_or(0, |last| last + 1);
    let between: Vec<&Hole> = holes.iter().filter(|hole| hole.to > from && hole.from < batch.base).collect();
    let size = |hole: &&&Hole| hole.to.min(batch.base) - hole.from.max(from);
    let is_fault = |hole: &&&Hole| matches!(hole.reason, GapReason::MissingSegment | GapReason::Unexplained);
    let innocent: i64 = between.iter().filter(|hole| !is_fault(hole)).map(|hole| size(&hole)).sum();
    let most: i64 = between.iter().map(|hole| size(&hole)).sum();
    if most >= missing {
        // More than one hole may have taken them; innocent ones alone only where they are large enough.
        return between
            .iter()
            .filter(|hole| innocent >= missing || is_fault(hole))
            .map(|hole| hole.reason)
            .collect();
    }
    // No hole is as large: the broker took a sequence that it could not check.
    let mut forgotten = match since {
        None => vec![GapReason::FirstAppend, GapReason::LostProducerState],
        Some(_) if broker_time - since_time >= DAY => vec![GapReason::ExpiredProducerState],
        Some(_) => vec![GapReason::LostProducerState],
    };
    // What was taken and what was never written may both be in it.
    forgotten.extend(between.iter().map(|hole| hole.reason).filter(|reason| {
        matches!(reason, GapReason::MissingSegment | GapReason::Unexplained | GapReason::Damage)
    }));
    forgotten
}

/// The batches that can be read, and the offsets that are in none of them.
fn readable(disk: &Disk) -> (Vec<Stored>, Vec<Hole>) {
    let mut batches: Vec<Stored> = Vec::new();
    let mut holes = Vec::new();
    let first = disk.segments.first().map_or(0, |segment| segment.base);
    if first > 0 {
        let kept_since = disk.leader_epochs.first().map_or(first, |line| line.1).min(first);
        holes.push(Hole { from: 0, to: kept_since, reason: GapReason::Retention, of_files: false });
        // What deletes from the head may have gone on while files were copied that were not closed.
        let reason = if disk.unclean { GapReason::Retention } else { GapReason::MissingSegment };
        holes.push(Hole { from: kept_since, to: first, reason, of_files: true });
        holes.retain(|hole| hole.from < hole.to);
    }
    let mut next = first;
    for segment in &disk.segments {
        if segment.base > next && disk.first_dirty.is_none_or(|dirty| dirty <= next) {
            // So it may behind files below the log start; what lies below that is deleted.
            let is_passed = next <= disk.log_start && (disk.unclean || segment.base <= disk.log_start);
            let reason = if is_passed { GapReason::Retention } else { GapReason::MissingSegment };
            holes.push(Hole { from: next, to: segment.base, reason, of_files: true });
            next = segment.base;
        }
        for batch in &segment.batches {
            if batch.base > next {
                let cleaned = disk.first_dirty.is_some_and(|dirty| next < dirty);
                let reason = if cleaned { GapReason::Compaction } else { GapReason::MissingSegment };
                holes.push(Hole { from: next, to: batch.base, reason, of_files: !cleaned });
            }
            next = batch.last + 1;
            if disk.fault == Fault::Flipped(batch.base) {
                holes.push(Hole { from: batch.base, to: next, reason: GapReason::Damage, of_files: false });
            } else {
                batches.push(batch.clone());
            }
        }
    }
    if disk.fault == Fault::Torn {
        batches.pop();
    }
    (batches, holes)
}
