//! A broker and its producers, played: what a log looks like after them, and what was done to it.
//!
//! The leader decides as `ProducerAppendInfo` and `ProducerStateManager` do (duplicate window of
//! five batches, epochs, sequences, markers, expiry, snapshots); the cleaner as `Cleaner` does.

use crate::dice::Dice;
use std::collections::BTreeMap;
use std::fmt;

pub const DAY: i64 = 86_400_000;

/// A batch as it lies in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub base: i64,
    pub last: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub transactional: bool,
    pub marker: Option<Marker>,
    pub time: i64,
    pub leader_epoch: i32,
    /// Which of the original records are left, with what tells their contents apart.
    pub records: Vec<(usize, u64)>,
}

impl Stored {
    pub fn length(&self) -> i64 {
        self.last - self.base + 1
    }

    pub fn last_sequence(&self) -> i32 {
        advance(self.base_sequence, self.length() - 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Abort,
    Commit,
}

/// Sequences run to 2³¹ − 1 and go on with 0.
pub fn advance(sequence: i32, by: i64) -> i32 {
    i32::try_from((i64::from(sequence) + by).rem_euclid(1 << 31)).unwrap()
}

#[derive(Clone, Debug, Default)]
pub struct Segment {
    pub base: i64,
    pub batches: Vec<Stored>,
}

/// One line of a producer snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub last_sequence: i32,
    pub last_offset: i64,
    pub offset_delta: i32,
    pub time: i64,
    pub coordinator_epoch: i32,
    pub transaction_first_offset: i64,
}

/// What lies on the disk in the end.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub segments: Vec<Segment>,
    pub snapshots: BTreeMap<i64, Vec<Entry>>,
    pub leader_epochs: Vec<(i32, i64)>,
    pub log_start: i64,
    pub end: i64,
    pub first_dirty: Option<i64>,
    pub fault: Fault,
    /// Whether the files may be of several moments: no clean stop is noted.
    pub unclean: bool,
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { log_start, end, first_dirty, fault, leader_epochs, .. } = self;
        writeln!(f, "start {log_start} end {end} dirty {first_dirty:?} {fault:?} epochs {leader_epochs:?}")?;
        for segment in &self.segments {
            writeln!(f, "  segment {}", segment.base)?;
            for batch in &segment.batches {
                let Stored { base, last, producer_id, producer_epoch, base_sequence, .. } = batch;
                let kind = match batch.marker {
                    Some(marker) => format!("{marker:?}"),
                    None if batch.transactional => "transactional".to_owned(),
                    None => "plain".to_owned(),
                };
                writeln!(
                    f,
                    "    {base}..{last} {producer_id}/{producer_epoch} {base_sequence} {kind} {} records at {}",
                    batch.records.len(),
                    (batch.time - 1_700_000_000_000) / 1000
                )?;
            }
        }
        for (number, entries) in &self.snapshots {
            writeln!(f, "  snapshot {number}")?;
            for entry in entries {
                writeln!(f, "    {entry:?}")?;
            }
        }
        Ok(())
    }
}

/// What was done to the files behind the broker's back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    None,
    /// The segment of this base offset is not there, and its index still is.
    LostSegment(i64),
    /// The bytes of the batch at this offset were changed.
    Flipped(i64),
    /// The last batch is cut.
    Torn,
    /// The snapshot with this number says another last sequence of this producer.
    Forged(i64, i64),
}

/// What happened that a healthy cluster does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// The broker took a batch of a producer that it did not know.
    pub accepted_unknown: bool,
    /// All snapshots were removed.
    pub snapshots_lost: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Unprotected,
    Idempotent,
    /// Markers have the epoch of their data.
    Transactional,
    /// Every end raises the epoch.
    BumpingTransactional,
}

#[derive(Clone, Debug)]
struct Client {
    style: Style,
    producer_id: i64,
    producer_epoch: i16,
    next_sequence: i32,
    in_transaction: bool,
    sent: Vec<Stored>,
    /// How much older than now the times are that it writes.
    lag: i64,
}

#[derive(Clone, Debug)]
struct Known {
    producer_epoch: i16,
    /// First and last sequence, last offset; the newest at the end, at most five.
    cache: Vec<(i32, i32, i64)>,
    time: i64,
    coordinator_epoch: i32,
    transaction_first_offset: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Append,
    Duplicate,
    OutOfOrder,
    Refused,
}

/// A transaction with a marker: base offsets of its data, and of the marker.
struct Ended {
    data: Vec<i64>,
    at: i64,
    marker: Marker,
}

pub struct World {
    dice: Dice,
    disk: Disk,
    happened: Happened,
    known: BTreeMap<i64, Known>,
    clients: Vec<Client>,
    now: i64,
    leader_epoch: i32,
    first_producer_id: i64,
    next_content: u64,
    cleaned: bool,
}

impl World {
    /// Plays one log to its end.
    pub fn play(seed: u64) -> (Disk, Happened) {
        let mut dice = Dice::new(seed);
        let steps = 10 + dice.below(60);
        let cleaned = dice.percent(30);
        let mut world = Self {
            dice,
            disk: Disk { segments: vec![Segment::default()], leader_epochs: vec![(0, 0)], ..Disk::default() },
            happened: Happened::default(),
            known: BTreeMap::new(),
            clients: Vec::new(),
            now: 1_700_000_000_000,
            leader_epoch: 0,
            first_producer_id: i64::try_from(seed).unwrap() * 100,
            next_content: seed << 20,
            cleaned,
        };
        for _ in 0..steps {
            world.step();
        }
        world.close();
        world.harm();
        (world.disk, world.happened)
    }

    fn step(&mut self) {
        self.now += 1 + i64::try_from(self.dice.below(5000)).unwrap();
        if self.clients.is_empty() || (self.clients.len() < 8 && self.dice.percent(10)) {
            self.new_client();
        }
        match self.dice.below(100) {
            0..60 => self.client_acts(),
            60..72 => self.roll(),
            72..77 => self.now += 2 * DAY,
            77..82 => self.expire(),
            82..85 => self.restart_with_snapshot(),
            85..87 => self.restart_without_snapshots(),
            87..89 => self.rebuild(),
            89..92 => self.elect(),
            92..94 => self.retain(),
            94..95 => self.delete_records(),
            _ if self.cleaned => self.clean(),
            _ => self.client_acts(),
        }
    }

    fn new_client(&mut self) {
        let style = [
            Style::Unprotected,
            Style::Idempotent,
            Style::Idempotent,
            Style::Transactional,
            Style::BumpingTransactional,
        ][self.dice.below(5)];
        let protected = style != Style::Unprotected;
        let count = i64::try_from(self.clients.len()).unwrap();
        let mut next_sequence = 0;
        if style == Style::Idempotent && self.dice.percent(15) {
            // It wrote to an earlier topic of this name, perhaps for very long.
            next_sequence = if self.dice.percent(50) { i32::MAX - 5 } else { 7 };
        }
        self.clients.push(Client {
            style,
            producer_id: if protected { self.first_producer_id + count } else { -1 },
            producer_epoch: if protected { 0 } else { -1 },
            next_sequence: if protected { next_sequence } else { -1 },
            in_transaction: false,
            sent: Vec::new(),
            lag: if style == Style::Idempotent && self.dice.percent(10) { 30 * DAY } else { 0 },
        });
    }

    fn client_acts(&mut self) {
        let at = self.dice.below(self.clients.len());
        match self.dice.below(100) {
            0..8 => self.retry(at),
            8..14 => self.lose_unsent(at),
            14..17 => self.restart_client(at),
            17..30 if self.clients[at].in_transaction => self.end_transaction(at),
            30..33 if self.clients[at].in_transaction => self.time_out(at),
            _ => self.send(at),
        }
    }

    fn send(&mut self, at: usize) {
        let length = 1 + i64::try_from(self.dice.below(3)).unwrap();
        let client = &self.clients[at];
        let transactional = matches!(client.style, Style::Transactional | Style::BumpingTransactional);
        let records = (0..usize::try_from(length).unwrap())
            .map(|index| {
                self.next_content += 1;
                (index, self.next_content)
            })
            .collect();
        let batch = Stored {
            base: 0,
            last: length - 1,
            producer_id: client.producer_id,
            producer_epoch: client.producer_epoch,
            base_sequence: client.next_sequence,
            transactional,
            marker: None,
            time: self.now - client.lag,
            leader_epoch: 0,
            records,
        };
        match self.offer(batch.clone()) {
            Verdict::Append | Verdict::Duplicate => {
                let client = &mut self.clients[at];
                client.in_transaction = transactional;
                if client.style != Style::Unprotected {
                    client.next_sequence = advance(client.next_sequence, length);
                }
                client.sent.push(batch);
            }
            Verdict::OutOfOrder if self.clients[at].style == Style::Idempotent => {
                let client = &mut self.clients[at];
                client.producer_epoch += 1;
                client.next_sequence = 0;
                let again = Stored { producer_epoch: client.producer_epoch, base_sequence: 0, ..batch };
                if self.offer(again.clone()) == Verdict::Append {
                    let client = &mut self.clients[at];
                    client.next_sequence = advance(0, length);
                    client.sent.push(again);
                }
            }
            Verdict::OutOfOrder | Verdict::Refused => self.restart_client(at),
        }
    }

    /// One of the last batches comes again.
    fn retry(&mut self, at: usize) {
        let client = &self.clients[at];
        if client.style == Style::Unprotected || client.sent.is_empty() {
            return;
        }
        let back = self.dice.below(client.sent.len().min(6));
        let batch = client.sent[client.sent.len() - 1 - back].clone();
        // A transaction that ended takes no late batch; see the coordinator's verification.
        if !batch.transactional || client.in_transaction {
            self.offer(batch);
        }
    }

    /// A batch was given up, or is refused for its size: its sequences stay unused.
    fn lose_unsent(&mut self, at: usize) {
        let client = &mut self.clients[at];
        if client.style == Style::Idempotent {
            client.next_sequence = advance(client.next_sequence, 2);
        }
    }

    /// An idempotent producer gets a new id; a transactional one a higher epoch.
    fn restart_client(&mut self, at: usize) {
        match self.clients[at].style {
            Style::Unprotected => {}
            Style::Idempotent => {
                let fresh = i64::try_from(self.clients.iter().map(|client| client.sent.len()).sum::<usize>())
                    .unwrap()
                    % 80;
                let id = self.first_producer_id + 10 + fresh;
                if self.clients.iter().all(|client| client.producer_id < id) {
                    let client = &mut self.clients[at];
                    (client.producer_id, client.producer_epoch, client.next_sequence) = (id, 0, 0);
                    client.sent.clear();
                }
            }
            Style::Transactional | Style::BumpingTransactional => {
                if self.clients[at].in_transaction {
                    self.clients[at].producer_epoch += 1;
                    self.mark(at, Marker::Abort);
                }
                let client = &mut self.clients[at];
                client.producer_epoch += 1;
                client.next_sequence = 0;
                client.in_transaction = false;
                client.sent.clear();
            }
        }
    }

    fn end_transaction(&mut self, at: usize) {
        let marker = if self.dice.percent(60) { Marker::Commit } else { Marker::Abort };
        if self.clients[at].style == Style::BumpingTransactional {
            self.clients[at].producer_epoch += 1;
            self.clients[at].next_sequence = 0;
        }
        self.mark(at, marker);
        if self.dice.percent(5) {
            // The coordinator writes its marker once more.
            self.mark(at, marker);
        }
        self.clients[at].in_transaction = false;
        // What a transaction wrote is not sent again behind its end.
        self.clients[at].sent.clear();
    }

    /// The coordinator ends it under a higher epoch; the producer has to begin anew.
    fn time_out(&mut self, at: usize) {
        self.clients[at].producer_epoch += 1;
        self.mark(at, Marker::Abort);
        let client = &mut self.clients[at];
        client.producer_epoch += 1;
        client.next_sequence = 0;
        client.in_transaction = false;
        client.sent.clear();
    }

    fn mark(&mut self, at: usize, marker: Marker) {
        let client = &self.clients[at];
        let (producer_id, producer_epoch) = (client.producer_id, client.producer_epoch);
        let known = self.known.entry(producer_id).or_insert_with(|| Known::at(producer_epoch));
        if known.producer_epoch != producer_epoch {
            known.cache.clear();
            known.producer_epoch = producer_epoch;
        }
        known.time = self.now;
        known.coordinator_epoch = 0;
        known.transaction_first_offset = None;
        self.write(Stored {
            base: 0,
            last: 0,
            producer_id,
            producer_epoch,
            base_sequence: -1,
            transactional: true,
            marker: Some(marker),
            time: self.now,
            leader_epoch: 0,
            records: vec![(0, 0)],
        });
    }

    /// What the leader says, and does.
    fn offer(&mut self, batch: Stored) -> Verdict {
        if batch.producer_id < 0 {
            self.write(batch);
            return Verdict::Append;
        }
        let (first, last) = (batch.base_sequence, batch.last_sequence());
        if let Some(known) = self.known.get(&batch.producer_id) {
            let same_epoch = batch.producer_epoch == known.producer_epoch;
            if same_epoch && known.cache.iter().any(|&(from, to, _)| (from, to) == (first, last)) {
                return Verdict::Duplicate;
            }
            if batch.producer_epoch < known.producer_epoch {
                return Verdict::Refused;
            }
            let expected = match known.cache.last() {
                Some(&(_, to, _)) if same_epoch => advance(to, 1),
                _ => 0,
            };
            if first != expected {
                return Verdict::OutOfOrder;
            }
            if !batch.transactional && known.transaction_first_offset.is_some() {
                return Verdict::Refused;
            }
        } else if first != 0 || self.seen(batch.producer_id) {
            self.happened.accepted_unknown = true;
        }
        let end = self.disk.end;
        let known = self.known.entry(batch.producer_id).or_insert_with(|| Known::at(batch.producer_epoch));
        known.append(&batch, end);
        self.write(batch);
        Verdict::Append
    }

    fn seen(&self, producer_id: i64) -> bool {
        self.batches().any(|batch| batch.producer_id == producer_id)
    }

    fn batches(&self) -> impl Iterator<Item = &Stored> {
        self.disk.segments.iter().flat_map(|segment| &segment.batches)
    }

    fn write(&mut self, mut batch: Stored) {
        let length = batch.length();
        batch.base = self.disk.end;
        batch.last = self.disk.end + length - 1;
        batch.leader_epoch = self.leader_epoch;
        self.disk.end += length;
        self.disk.segments.last_mut().unwrap().batches.push(batch);
    }

    fn roll(&mut self) {
        if self.disk.segments.last().unwrap().batches.is_empty() {
            return;
        }
        let base = self.disk.end;
        self.disk.segments.push(Segment { base, batches: Vec::new() });
        self.snapshot();
    }

    fn snapshot(&mut self) {
        let entries = self.known.iter().map(|(&id, known)| known.entry(id)).collect();
        self.disk.snapshots.insert(self.disk.end, entries);
    }

    /// A clean stop, which all of these logs saw last, leaves a snapshot at least of what has none.
    fn close(&mut self) {
        if self.disk.snapshots.is_empty() {
            self.snapshot();
        }
    }

    fn expire(&mut self) {
        let now = self.now;
        self.known.retain(|_, known| known.transaction_first_offset.is_some() || now - known.time < DAY);
    }

    /// A clean stop and start: of each producer one batch is remembered.
    fn restart_with_snapshot(&mut self) {
        self.snapshot();
        self.expire();
        for known in self.known.values_mut() {
            let newest = known.cache.pop();
            known.cache = newest.into_iter().collect();
        }
    }

    /// Somebody removed all snapshots before a clean start: the broker takes the log for an old one.
    fn restart_without_snapshots(&mut self) {
        if self.dice.percent(60) {
            return;
        }
        self.happened.snapshots_lost = true;
        self.known.clear();
        self.disk.snapshots.clear();
        let base = self.disk.segments.last().unwrap().base;
        self.disk.snapshots.extend([(base, Vec::new()), (self.disk.end, Vec::new())]);
    }

    /// An unclean start: the producers are read from the log again.
    fn rebuild(&mut self) {
        self.known.clear();
        let batches: Vec<Stored> = self.batches().cloned().collect();
        for batch in batches.iter().filter(|batch| batch.producer_id >= 0) {
            let known =
                self.known.entry(batch.producer_id).or_insert_with(|| Known::at(batch.producer_epoch));
            if batch.marker.is_some() {
                if known.producer_epoch != batch.producer_epoch {
                    known.cache.clear();
                    known.producer_epoch = batch.producer_epoch;
                }
                known.time = batch.time;
                known.coordinator_epoch = 0;
                known.transaction_first_offset = None;
            } else {
                known.append(batch, batch.base);
            }
        }
        self.expire();
        self.snapshot();
    }

    fn elect(&mut self) {
        self.leader_epoch += 1 + i32::try_from(self.dice.below(2)).unwrap();
        self.disk.leader_epochs.push((self.leader_epoch, self.disk.end));
        if let [.., before, last] = self.disk.leader_epochs.as_slice()
            && before.1 == last.1
        {
            let at = self.disk.leader_epochs.len() - 2;
            self.disk.leader_epochs.remove(at);
        }
    }

    fn first_open(&self) -> i64 {
        let open = self.known.values().filter_map(|known| known.transaction_first_offset);
        open.min().unwrap_or(self.disk.end)
    }

    /// Old segments go from the head.
    fn retain(&mut self) {
        let first_open = self.first_open();
        while self.disk.segments.len() > 1
            && self.disk.segments[1].base <= first_open
            && self.dice.percent(70)
        {
            self.disk.segments.remove(0);
        }
        self.move_log_start(self.disk.segments[0].base);
    }

    fn delete_records(&mut self) {
        let target = self.batches().map(|batch| batch.base).nth(3).unwrap_or(0);
        if target <= self.first_open() {
            self.move_log_start(target);
        }
    }

    fn move_log_start(&mut self, to: i64) {
        if to <= self.disk.log_start {
            return;
        }
        self.disk.log_start = to;
        let epochs = &mut self.disk.leader_epochs;
        while epochs.len() > 1 && epochs[1].1 <= to {
            epochs.remove(0);
        }
        epochs[0].1 = epochs[0].1.max(to);
        let base = self.disk.segments[0].base;
        self.disk.snapshots.retain(|&number, _| number >= base);
    }

    /// The cleaner: everything below the active segment and below the first open transaction.
    fn clean(&mut self) {
        let active = self.disk.segments.last().unwrap().base;
        let first_open = self.first_open();
        let end = self
            .disk
            .segments
            .iter()
            .map(|segment| segment.base)
            .filter(|&base| base <= first_open.min(active))
            .max();
        let Some(end) = end.filter(|&end| end > self.disk.first_dirty.unwrap_or(0)) else { return };
        let ended = self.ended_transactions();
        let last_data: BTreeMap<i64, i64> = self
            .batches()
            .filter(|batch| batch.marker.is_none() && self.known.contains_key(&batch.producer_id))
            .map(|batch| (batch.producer_id, batch.base))
            .collect();
        let dice = &mut self.dice;
        for segment in self.disk.segments.iter_mut().filter(|segment| segment.base < end) {
            segment.batches.retain_mut(|batch| {
                let of_transaction = ended.iter().find(|ended| ended.data.contains(&batch.base));
                if of_transaction.is_some_and(|ended| ended.marker == Marker::Abort) {
                    batch.records.clear();
                }
                batch.records.retain(|_| batch.marker.is_some() || dice.percent(60));
                !batch.records.is_empty() || last_data.get(&batch.producer_id) == Some(&batch.base)
            });
        }
        // A marker stays as long as anything of its transaction was there before the pass.
        let left: Vec<i64> = ended
            .iter()
            .filter(|ended| ended.data.is_empty() && ended.at < end && dice.percent(50))
            .map(|ended| ended.at)
            .collect();
        for segment in &mut self.disk.segments {
            segment.batches.retain(|batch| !left.contains(&batch.base));
        }
        self.disk.first_dirty = Some(end);
    }

    fn ended_transactions(&self) -> Vec<Ended> {
        let mut ended = Vec::new();
        let mut open: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for batch in self.batches().filter(|batch| batch.transactional) {
            match batch.marker {
                None => open.entry(batch.producer_id).or_default().push(batch.base),
                Some(marker) => {
                    let data = open.remove(&batch.producer_id).unwrap_or_default();
                    ended.push(Ended { data, at: batch.base, marker });
                }
            }
        }
        ended
    }

    /// In one log of four something happens to the files.
    fn harm(&mut self) {
        let segments = self.disk.segments.len();
        match self.dice.below(20) {
            0..2 if segments > 2 => {
                let at = self.dice.below(segments - 1);
                if !self.disk.segments[at].batches.is_empty() {
                    let lost = self.disk.segments.remove(at);
                    self.disk.fault = Fault::LostSegment(lost.base);
                    self.disk.unclean = self.dice.percent(50);
                }
            }
            2 => {
                let full: Vec<i64> = self
                    .batches()
                    .filter(|batch| !batch.records.is_empty())
                    .map(|batch| batch.base)
                    .collect();
                if let Some(&at) = full.get(self.dice.below(full.len().max(1))) {
                    self.disk.fault = Fault::Flipped(at);
                }
            }
            3 if self.disk.segments.last().unwrap().batches.len() > 1 => {
                (self.disk.fault, self.disk.unclean) = (Fault::Torn, true);
            }
            4 => self.forge(),
            _ => {}
        }
    }

    /// A snapshot gets another last sequence for a producer whose last batch the log still has.
    fn forge(&mut self) {
        let last_offsets: Vec<i64> = self.batches().map(|batch| batch.last).collect();
        for (&number, entries) in &mut self.disk.snapshots {
            for entry in entries {
                if entry.last_sequence >= 0 && last_offsets.contains(&entry.last_offset) {
                    entry.last_sequence = advance(entry.last_sequence, 1);
                    self.disk.fault = Fault::Forged(number, entry.producer_id);
                    return;
                }
            }
        }
    }
}

impl Known {
    fn at(producer_epoch: i16) -> Self {
        Self {
            producer_epoch,
            cache: Vec::new(),
            time: -1,
            coordinator_epoch: -1,
            transaction_first_offset: None,
        }
    }

    fn append(&mut self, batch: &Stored, base: i64) {
        if self.producer_epoch != batch.producer_epoch {
            self.cache.clear();
            self.producer_epoch = batch.producer_epoch;
        }
        self.cache.push((batch.base_sequence, batch.last_sequence(), base + batch.length() - 1));
        if self.cache.len() > 5 {
            self.cache.remove(0);
        }
        self.time = batch.time;
        if batch.transactional && self.transaction_first_offset.is_none() {
            self.transaction_first_offset = Some(base);
        }
    }

    fn entry(&self, producer_id: i64) -> Entry {
        let (first, last, last_offset) = self.cache.last().copied().unwrap_or((-1, -1, -1));
        let delta = if last < 0 { 0 } else { (i64::from(last) - i64::from(first)).rem_euclid(1 << 31) };
        Entry {
            producer_id,
            producer_epoch: self.producer_epoch,
            last_sequence: last,
            last_offset,
            offset_delta: i32::try_from(delta).unwrap(),
            time: self.time,
            coordinator_epoch: self.coordinator_epoch,
            transaction_first_offset: self.transaction_first_offset.unwrap_or(-1),
        }
    }
}
