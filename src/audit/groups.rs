//! From digests to what consumers count, and to the records that need a second look.

use super::reread::Stretches;
use crate::candidates::{Alone, Fingerprint, Row, Rows};
use crate::error::AuditError;
use crate::facts::{Outcome, PartitionFacts};
use crate::plan::Reach;
use crate::relations::Reread;
use crate::spill::{Element, RunReader, Sorter};
use crate::units::Offset;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What the grouping asks of a partition.
#[derive(Debug)]
pub(super) struct PartitionView<'f> {
    /// Index of its topic.
    pub(super) topic: usize,
    /// Whether duplicates are judged there.
    pub(super) judged: bool,
    /// Whether each content is an event of its own.
    pub(super) by_content: bool,
    /// Where the readable log begins.
    pub(super) log_start: Offset,
    /// Transactions and the last stable offset.
    pub(super) facts: &'f PartitionFacts,
}

impl PartitionView<'_> {
    fn is_aborted(&self, offset: Offset) -> bool {
        self.facts.withheld_at(offset) == Some(Outcome::Aborted)
    }

    /// Whether all consumers get whatever stands from one offset to another.
    fn shows_all(&self, first: Offset, last: Offset) -> bool {
        let withholds_nothing = self.facts.withheld.iter().next().is_none();
        self.log_start <= first && last < self.facts.last_stable_offset && withholds_nothing
    }

    /// What read_committed consumers get of the record at `offset`.
    pub(super) fn given(&self, offset: Offset) -> Given {
        match self.facts.withheld_at(offset) {
            Some(Outcome::Aborted) => Given::Never,
            None if offset < self.facts.last_stable_offset => Given::Now,
            Some(_) | None => Given::NotYet,
        }
    }

    /// Whether read_committed consumers get the record at `offset`.
    pub(super) fn is_committed(&self, offset: Offset) -> bool {
        self.given(offset) == Given::Now
    }
}

/// Whether read_committed consumers get a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Now,
    /// Its transaction is open, or one in front of it is.
    NotYet,
    /// Its transaction was aborted.
    Never,
}

/// What a consumer that counts business keys gets from one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyCounts {
    pub(super) uncommitted: Seen,
    pub(super) committed: Seen,
    /// Keys with more than one content.
    pub(super) keys_with_updates: u64,
    /// Events that are there, and were before the log start, too.
    pub(super) repeat_deleted: u64,
    /// Events that are in aborted transactions alone.
    pub(super) rolled_back: RolledBack,
}

/// Events whose records are all in aborted transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RolledBack {
    pub(super) events: u64,
    pub(super) records: u64,
    /// The first records, by partition and offset.
    first: BTreeSet<(u32, Offset)>,
}

/// Events in aborted transactions alone whose transactions are looked for.
const ROLLED_BACK: usize = 10_000;

impl RolledBack {
    fn add(&mut self, records: usize, first: (u32, Offset)) {
        self.events += 1;
        self.records += u64::try_from(records).unwrap_or(u64::MAX);
        self.first.insert(first);
        if self.first.len() > ROLLED_BACK {
            self.first.pop_last();
        }
    }

    /// The first records, by partition and offset.
    pub(super) fn first(&self) -> impl Iterator<Item = (u32, Offset)> {
        self.first.iter().copied()
    }
}

/// Records with a key, and distinct keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) keyed_records: u64,
    pub(super) distinct_keys: u64,
}

/// A record that may be a copy of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    pub(super) partition: u32,
    pub(super) offset: Offset,
    pub(super) identity: Fingerprint,
    /// Whether a record of the identity with other content stands in the partition between this one
    /// and the one of equal content before it.
    pub(super) behind_other_content: bool,
    /// A record of its identity in another topic which a group was given again.
    pub(super) reread: Option<Reread>,
    /// Whether this tells something of the record, and wants nothing.
    pub(super) tells_only: bool,
}

/// Records of other topics that are looked at for one content of a key of a topic.
const ELSEWHERE: usize = 16;

impl Wanted {
    /// A place of which nothing more is known.
    pub(super) const fn of(partition: u32, offset: Offset, identity: Fingerprint) -> Self {
        Self { partition, offset, identity, behind_other_content: false, reread: None, tells_only: false }
    }

    /// The record behind a row.
    pub(super) const fn at(row: &Row) -> Self {
        Self::of(row.partition, row.offset, row.identity)
    }
}

impl Element for Wanted {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.partition.to_le_bytes());
        out.extend_from_slice(&self.offset.0.to_le_bytes());
        out.extend_from_slice(&self.identity.0.to_le_bytes());
        out.extend_from_slice(&[self.behind_other_content, self.tells_only].map(u8::from));
        out.extend_from_slice(&Reread::to_bytes(self.reread));
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let (partition, offset) = (u32::from_le_bytes(from.array()?), i64::from_le_bytes(from.array()?));
        let identity = Fingerprint(u128::from_le_bytes(from.array()?));
        let [behind_other_content, tells_only] = from.array()?.map(|flag: u8| flag == 1);
        let reread = Reread::from_bytes(from.array()?);
        Ok(Self { partition, offset: Offset(offset), identity, behind_other_content, reread, tells_only })
    }
}

/// Which records get a second look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// Those whose identity and content may be there twice.
    Repeats,
    /// All of them.
    All,
}

/// Counts keys by topic, and finds the records whose identity and content may be there twice.
///
/// Takes the rows of one identity after the other, and keeps no more of them than what one content
/// needs.
pub(super) struct Grouping<'a> {
    partitions: &'a [PartitionView<'a>],
    reach: Reach,
    counts: Vec<KeyCounts>,
    wants: Wants,
    rereads: &'a Stretches,
    /// Records of the current identity which a group was given again, with their topics; of those that are held.
    given_again: Vec<(usize, Reread)>,
    /// The records that need a second look, some more than once.
    wanted: &'a mut Sorter<Wanted>,
    at: Option<(Fingerprint, u32)>,
    /// The places and selectors of an identity that comes in parts.
    in_parts: Option<(Fingerprint, Sorter<[i64; 3]>)>,
    /// Makes room for them.
    order: &'a dyn Fn() -> Sorter<[i64; 3]>,
    /// Room for the rows of one identity, and for their places.
    rows: Vec<Row>,
    places: Vec<(u32, Offset, u32)>,
    /// The current identity in each topic that has it.
    identity: Vec<OfTopic>,
    /// The current content in each topic that has it: partitions are in the order of their topics,
    /// so each topic's rows stand together.
    content: Vec<Content>,
    /// The first records with that content in each judged topic.
    elsewhere: Vec<(usize, Wanted)>,
}

/// Records of one identity in one topic.
struct OfTopic {
    topic: usize,
    by_content: bool,
    /// Contents with a record that read_committed consumers get.
    committed_contents: usize,
    records: usize,
    committed: usize,
    aborted: usize,
    /// By partition and offset, of all of them.
    first: (u32, Offset),
    contents: usize,
}

/// Records of one content in one topic.
struct Content {
    topic: usize,
    committed: bool,
    judged: bool,
    first: Wanted,
    records: usize,
}

fn view_of<'v, 'f>(partitions: &'v [PartitionView<'f>], row: &Row) -> Option<&'v PartitionView<'f>> {
    usize::try_from(row.partition).ok().and_then(|at| partitions.get(at))
}

/// Whether the log start has passed the record.
pub(super) fn is_deleted(partitions: &[PartitionView<'_>], row: &Row) -> bool {
    view_of(partitions, row).is_some_and(|view| row.offset < view.log_start)
}

impl<'a> Grouping<'a> {
    /// Over so many topics; the records that need a second look go into `wanted`.
    pub(super) fn new(
        partitions: &'a [PartitionView<'a>],
        topics: usize,
        reach: Reach,
        wants: Wants,
        rereads: &'a Stretches,
        wanted: &'a mut Sorter<Wanted>,
        order: &'a dyn Fn() -> Sorter<[i64; 3]>,
    ) -> Self {
        Self {
            partitions,
            reach,
            counts: vec![KeyCounts::default(); topics],
            wants,
            rereads,
            given_again: Vec::new(),
            wanted,
            in_parts: None,
            order,
            at: None,
            rows: Vec::new(),
            places: Vec::new(),
            identity: Vec::new(),
            content: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// Takes rows; the parts of one identity one behind the other.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written.
    pub(super) fn take(&mut self, rows: Rows<'_>) -> Result<(), AuditError> {
        let (rows, whole) = match rows {
            Rows::Alone(rows) => return self.take_alone(rows),
            Rows::Singles(rows) | Rows::Whole(rows @ [_]) => return self.take_singles(rows),
            Rows::Whole(rows) => (rows, true),
            Rows::Part(rows) => (rows, false),
        };
        let mut here = std::mem::take(&mut self.rows);
        here.clear();
        here.extend_from_slice(rows);
        let taken = self.take_some(&mut here, whole);
        self.rows = here;
        taken
    }

    fn take_some(&mut self, rows: &mut Vec<Row>, whole: bool) -> Result<(), AuditError> {
        if rows.iter().any(|row| is_deleted(self.partitions, row)) {
            if whole {
                self.count_repeats_of_deleted(rows);
            }
            rows.retain(|row| !is_deleted(self.partitions, row));
        }
        if whole && rows.len() <= 1 {
            return self.take_singles(rows);
        }
        if !whole {
            // Only together they tell whether another content stood between two equal ones.
            return rows.iter().try_for_each(|row| {
                self.take_one(row, false)?;
                let order = self.order;
                let (_, places) = self.in_parts.get_or_insert_with(|| (row.identity, order()));
                places.push([row.partition.into(), row.offset.0, row.selector.into()])
            });
        }
        self.look_for_rereads(rows.iter());
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        places.extend(rows.iter().map(|row| (row.partition, row.offset, row.selector)));
        places.sort_unstable();
        for row in rows.iter() {
            let at = places.partition_point(|place| *place < (row.partition, row.offset, row.selector));
            let before = at.checked_sub(1).and_then(|before| places.get(before));
            let behind_other =
                before.is_some_and(|before| before.0 == row.partition && before.2 != row.selector);
            self.take_one(row, behind_other)?;
        }
        self.places = places;
        self.given_again.clear();
        Ok(())
    }

    /// Finds which records of one identity a group was given again.
    fn look_for_rereads<'r>(&mut self, rows: impl Iterator<Item = &'r Row>) {
        if self.rereads.is_empty() {
            return;
        }
        for row in rows {
            let topic = view_of(self.partitions, row).map(|view| view.topic);
            let found = topic.zip(self.rereads.over(row.partition, row.offset));
            self.given_again.extend(found);
        }
    }

    /// What was counted, of each topic.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written.
    pub(super) fn finish(mut self) -> Result<Vec<KeyCounts>, AuditError> {
        self.end_content()?;
        self.end_parts()?;
        self.end_identity();
        Ok(self.counts)
    }

    /// Counts contents that stand on both sides of the log start; `rows` are all of one identity.
    fn count_repeats_of_deleted(&mut self, rows: &[Row]) {
        for equal in rows.chunk_by(|a, b| a.selector == b.selector) {
            let mut topics = BTreeMap::new();
            for row in equal {
                let Some(view) = view_of(self.partitions, row).filter(|view| view.judged) else { continue };
                let (before, behind) = topics.entry(view.topic).or_insert((false, false));
                if view.facts.withheld_at(row.offset).is_none() {
                    *(if row.offset < view.log_start { before } else { behind }) = true;
                }
            }
            for (topic, sides) in topics {
                if let (true, true, Some(counts)) = (sides.0, sides.1, self.counts.get_mut(topic)) {
                    counts.repeat_deleted += 1;
                }
            }
        }
    }

    /// The same for consecutive records: nothing has to be asked of each where all consumers get all of them.
    fn take_alone(&mut self, rows: Alone<'_>) -> Result<(), AuditError> {
        let view = usize::try_from(rows.partition()).ok().and_then(|at| self.partitions.get(at));
        let all_get =
            view.filter(|view| self.wants == Wants::Repeats && view.shows_all(rows.first(), rows.last()));
        let Some(view) = all_get else {
            let mut here = std::mem::take(&mut self.rows);
            here.clear();
            here.extend(rows.rows());
            let taken = self.take_singles(&here);
            self.rows = here;
            return taken;
        };
        self.end_identity_at_hand()?;
        if let Some(counts) = self.counts.get_mut(view.topic) {
            let count = rows.count();
            counts.uncommitted.add_all(count, count);
            counts.committed.add_all(count, count);
        }
        Ok(())
    }

    fn end_identity_at_hand(&mut self) -> Result<(), AuditError> {
        if self.at.take().is_some() {
            self.end_content()?;
            self.end_parts()?;
            self.end_identity();
        }
        Ok(())
    }

    /// Tells of an identity that came in parts which of its records stand behind another content.
    fn end_parts(&mut self) -> Result<(), AuditError> {
        let Some((identity, places)) = self.in_parts.take() else { return Ok(()) };
        let (mut places, mut before) = (places.finish()?, None);
        while let Some([partition, offset, selector]) = places.take_next()? {
            let is_behind = before
                .replace((partition, selector))
                .is_some_and(|(of, other)| of == partition && other != selector);
            if let Some(partition) = u32::try_from(partition).ok().filter(|_| is_behind) {
                let place = Wanted::of(partition, Offset(offset), identity);
                self.wanted.push(Wanted { behind_other_content: true, tells_only: true, ..place })?;
            }
        }
        Ok(())
    }

    /// Takes rows each of which is the only one of its identity: nothing has to be kept of them.
    fn take_singles(&mut self, rows: &[Row]) -> Result<(), AuditError> {
        self.end_identity_at_hand()?;
        for rows in rows.chunk_by(|a, b| a.partition == b.partition) {
            let Some(view) = rows.first().and_then(|row| view_of(self.partitions, row)) else { continue };
            let Some(counts) = self.counts.get_mut(view.topic) else { continue };
            let (mut there, mut committed) = (0, 0);
            for row in rows.iter().filter(|row| row.offset >= view.log_start) {
                there += 1;
                if view.is_committed(row.offset) {
                    committed += 1;
                } else if view.judged && view.is_aborted(row.offset) {
                    counts.rolled_back.add(1, (row.partition, row.offset));
                }
                if view.judged && self.wants == Wants::All {
                    self.wanted.push(Wanted::at(row))?;
                }
            }
            counts.uncommitted.add_all(there, there);
            counts.committed.add_all(committed, committed);
        }
        Ok(())
    }

    fn take_one(&mut self, row: &Row, behind_other_content: bool) -> Result<(), AuditError> {
        let Some(view) = view_of(self.partitions, row) else { return Ok(()) };
        let (topic, judged) = (view.topic, view.judged);
        let committed = usize::from(view.is_committed(row.offset));
        let at = Some((row.identity, row.selector));
        if self.at != at {
            self.end_content()?;
            if self.at.is_none_or(|(identity, _)| identity != row.identity) {
                self.end_parts()?;
                self.end_identity();
            }
            self.at = at;
        }
        // An identity stands in few topics.
        let known = self.identity.iter().position(|of| of.topic == topic);
        let at = known.unwrap_or(self.identity.len());
        if known.is_none() {
            self.identity.push(OfTopic {
                topic,
                by_content: view.by_content,
                committed_contents: 0,
                records: 0,
                committed: 0,
                aborted: 0,
                first: (row.partition, row.offset),
                contents: 0,
            });
        }
        let Some(of_topic) = self.identity.get_mut(at) else { return Ok(()) };
        of_topic.records += 1;
        of_topic.committed += committed;
        of_topic.aborted += usize::from(judged && committed == 0 && view.is_aborted(row.offset));
        of_topic.first = of_topic.first.min((row.partition, row.offset));
        let of_another = self.given_again.iter().find(|(of, _)| *of != topic);
        let reread = of_another.map(|(_, place)| *place);
        let wanted = Wanted { behind_other_content, reread, ..Wanted::at(row) };
        let Some(content) = self.content.last_mut().filter(|content| content.topic == topic) else {
            of_topic.contents += 1;
            of_topic.committed_contents += committed;
            self.content.push(Content { topic, first: wanted, judged, records: 1, committed: committed > 0 });
            if judged {
                self.elsewhere.push((topic, wanted));
                if self.wants == Wants::All {
                    self.wanted.push(wanted)?;
                }
            }
            return Ok(());
        };
        content.records += 1;
        if committed > 0 && !content.committed {
            content.committed = true;
            of_topic.committed_contents += 1;
        }
        if judged {
            if content.records == 2 {
                self.wanted.push(content.first)?;
            }
            self.wanted.push(wanted)?;
            if content.records <= ELSEWHERE {
                self.elsewhere.push((topic, wanted));
            }
        }
        Ok(())
    }

    fn end_content(&mut self) -> Result<(), AuditError> {
        if self.reach == Reach::Topics && self.content.iter().filter(|content| content.judged).count() > 1 {
            // Those that stand more than once in their topic are wanted already.
            for once in self.content.iter().filter(|content| content.judged && content.records == 1) {
                self.wanted.push(once.first)?;
            }
        }
        if self.content.len() > 1 {
            for twice in self.content.iter().filter(|content| content.judged && content.records > 1) {
                // Where else the event is: a pipeline may have read it there.
                let elsewhere = self.elsewhere.iter().filter(|(topic, _)| *topic != twice.topic);
                for &(_, wanted) in elsewhere.take(ELSEWHERE) {
                    self.wanted.push(wanted)?;
                }
            }
        }
        self.content.clear();
        self.elsewhere.clear();
        Ok(())
    }

    fn end_identity(&mut self) {
        for of in self.identity.drain(..) {
            let Some(counts) = self.counts.get_mut(of.topic) else { continue };
            if of.aborted == of.records {
                counts.rolled_back.add(of.records, of.first);
            }
            if of.by_content {
                counts.uncommitted.add_all(of.records, of.contents);
                counts.committed.add_all(of.committed, of.committed_contents);
            } else {
                counts.uncommitted.add_all(of.records, 1);
                counts.committed.add_all(of.committed, usize::from(of.committed > 0));
                counts.keys_with_updates += u64::from(of.contents > 1);
            }
        }
    }
}

impl Seen {
    fn add_all(&mut self, records: usize, distinct: usize) {
        self.keyed_records += u64::try_from(records).unwrap_or(u64::MAX);
        self.distinct_keys += u64::try_from(distinct).unwrap_or(u64::MAX);
    }
}
