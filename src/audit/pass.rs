//! Reads everything once: workers take chunks apart side by side, and what they find is folded in
//! the order of the files, so that nothing depends on which worker was first.
//!
//! A window bounds how far the workers may run ahead of the fold. Where bytes are not what a healthy
//! segment holds, the fold scans the segment itself from there, in one go and with all the context
//! that telling damage from data needs.

use super::batches::LargeBatches;
use super::beyond::Beyond;
use super::chunks::{Chunk, ChunkReader, ChunkSource, Stop, Task};
use super::deferral::{Deferral, Repeats};
use super::followed::{NotFollowed, are_side_by_side};
use super::lanes::{Gathered, Lanes, RecordCounts, RecordLane};
use super::progress::Progress;
use super::segment_indexes::Checked;
use super::watch::Watch;
use crate::candidates::{DigestKey, RowColumns, RowStore};
use crate::compare::Sketch;
use crate::error::AuditError;
use crate::facts::{
    IndexFault, IndexWalk, Ledger, PartitionContext, PartitionFacts, Readable, ReadableRecords,
};
use crate::format::segment::TailExpectation;
use crate::format::{ByteSource, Damage, DamageKind, SegmentItem, SegmentScanner, TimestampType};
use crate::input::{self, FileIdentity, FilePlace, ReadMode, SegmentSource};
use crate::plan::routing::{RoutedPartition, Trail};
use crate::report::wording::counted;
use crate::spill::Share;
use crate::units::{FilePosition, Offset};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Chunks that may be under way or wait for their turn, for each thread.
const AHEAD: u64 = 4;
/// Index entries that lead astray and are kept one by one, of each partition.
const MAX_INDEX_FAULTS: usize = 1_000;
/// Batches that a scan in one go gathers before it hands them on.
const GATHER: usize = 1024;

/// One partition directory to be read.
#[derive(Debug)]
pub(super) struct Subject<'p> {
    /// What lies beside its log.
    pub(super) context: PartitionContext,
    /// What is to be done with its records.
    pub(super) lane: RecordLane<'p>,
    /// Its segments in order.
    pub(super) segments: Vec<SubjectSegment>,
}

/// One segment to be read.
#[derive(Clone, Debug)]
pub(super) struct SubjectSegment {
    pub(super) place: FilePlace,
    pub(super) base: Offset,
    /// Where the next segment begins.
    pub(super) next_base: Option<Offset>,
    /// Where the next segment begins that holds anything: no offset of this one reaches it.
    pub(super) upper: Option<Offset>,
    pub(super) len: u64,
    /// Which file it was when it was found.
    pub(super) identity: Option<FileIdentity>,
    pub(super) tail: TailExpectation,
    /// The indexes that are held against it.
    pub(super) indexes: Checked,
}

impl SubjectSegment {
    /// Opens the file that was found.
    pub(super) fn open(&self, mode: ReadMode) -> io::Result<SegmentSource> {
        input::open_same(&self.place, mode, self.len, self.identity)
    }

    /// Whether nobody has cut it, or put another file into its place together with other indexes.
    fn is_still_there(&self, mode: ReadMode) -> bool {
        let same = |source: SegmentSource| self.identity.is_none() || source.identity() == self.identity;
        input::open_segment(&self.place, mode, self.len).is_ok_and(same)
            && self.place.length().is_ok_and(|len| len == self.len)
    }

    /// Walks over it from `position` on.
    pub(super) fn scanner<S: ByteSource>(
        &self,
        source: S,
        position: FilePosition,
        next_offset: Option<Offset>,
    ) -> SegmentScanner<S> {
        let scanner = SegmentScanner::new(source, self.base, self.tail).starting_at(position, next_offset);
        match self.upper {
            Some(next) => scanner.before(next),
            None => scanner,
        }
    }
}

/// What one partition directory holds.
#[derive(Debug, Default)]
pub(super) struct PartitionOutcome {
    pub(super) facts: PartitionFacts,
    pub(super) readable: Readable,
    /// Damage with the index of its segment.
    pub(super) damage: Vec<(usize, Damage)>,
    /// Batches whose offsets step back or repeat others.
    pub(super) reused: Vec<(usize, Damage)>,
    pub(super) counts: RecordCounts,
    /// A few batches by which copies of the log find each other.
    pub(super) sketch: Sketch,
    /// Base offsets of batches that do not go on where their producer was.
    pub(super) out_of_sequence: BTreeSet<Offset>,
    /// Whether its keys stand where the topic's partitioner puts them.
    pub(super) routed: RoutedPartition,
    /// Where chunks begin: from there a single batch is found again.
    pub(super) starts: Vec<ChunkStart>,
    /// Bytes that were read as batches.
    pub(super) bytes_read: u64,
    /// Of the last data batch.
    pub(super) timestamp_type: Option<TimestampType>,
    /// The first record without producer id.
    pub(super) first_unprotected: Option<Offset>,
    /// Whether somebody ended the reading before its end.
    pub(super) interrupted: bool,
    /// Whether producers wrote between each other's batches.
    pub(super) side_by_side: bool,
    /// Where single keys were not followed.
    pub(super) not_followed: NotFollowed,
}

/// A place from which the batches of a segment can be walked over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkStart {
    pub(super) segment: usize,
    pub(super) position: FilePosition,
    pub(super) base_offset: Offset,
}

/// How everything is read.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    pub(super) mode: ReadMode,
    pub(super) threads: usize,
    pub(super) digest_key: DigestKey,
    pub(super) large: &'a LargeBatches,
    pub(super) watch: &'a Watch,
    /// What is known of the producers of a partition may hold twice as much.
    pub(super) producers: &'a Share,
}

/// Is given each outcome with its number, in order, as soon as it is whole.
pub(super) type Tell<'t> = dyn FnMut(usize, &mut PartitionOutcome) -> Result<(), AuditError> + Send + 't;

/// Reads all subjects; outcomes are in their order.
///
/// # Errors
/// That of `tell`; [`AuditError`] when what does not fit into memory cannot be written.
pub(super) fn read_all(
    subjects: &[Subject<'_>],
    pass: &Pass<'_>,
    rows: &mut RowStore,
    tell: &mut Tell<'_>,
) -> Result<Vec<PartitionOutcome>, AuditError> {
    let Pass { mode, threads, digest_key, large, watch, producers } = *pass;
    let input = subjects.iter().flat_map(|subject| &subject.segments).map(|segment| segment.len).sum();
    rows.expect_input(input);
    watch.expect(input);
    let kept = Kept { rows, repeats: Repeats::among(input), spare: Vec::new() };
    let shared = Shared {
        reader: Mutex::new(ChunkReader::new(tasks(subjects), mode, watch.clone(), large)),
        fold: Mutex::new(Fold::new(subjects, mode, Lanes::new(digest_key, large), kept, producers, tell)),
        progress: Progress::default(),
        window: AHEAD * u64::try_from(threads).unwrap_or(1),
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| work(&shared, subjects, Lanes::new(digest_key, large)));
        }
        work(&shared, subjects, Lanes::new(digest_key, large));
    });
    shared.fold.into_inner().unwrap_or_else(PoisonError::into_inner).finish()
}

fn tasks(subjects: &[Subject<'_>]) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (partition, subject) in subjects.iter().enumerate() {
        if subject.segments.is_empty() {
            let place = FilePlace::on_disk(PathBuf::new());
            tasks.push(Task { partition, segment: None, place, len: 0, identity: None });
        }
        for (at, segment) in subject.segments.iter().enumerate() {
            let (place, len, identity) = (segment.place.clone(), segment.len, segment.identity);
            tasks.push(Task { partition, segment: Some(at), place, len, identity });
        }
    }
    tasks
}

/// What the threads share.
struct Shared<'s> {
    reader: Mutex<ChunkReader<'s>>,
    fold: Mutex<Fold<'s>>,
    /// How many chunks were folded.
    progress: Progress,
    window: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(shared: &Shared<'_>, subjects: &[Subject<'_>], mut lanes: Lanes<'_>) {
    let _release = Release(&shared.progress);
    let mut spare = Vec::new();
    loop {
        let Some(chunk) = lock(&shared.reader).next_chunk(spare) else { return };
        shared.progress.wait_for(chunk.number, shared.window);
        let piece;
        (piece, spare) = take_apart(chunk, subjects, &mut lanes);
        let mut fold = lock(&shared.fold);
        fold.add(piece);
        if let Some(room) = fold.kept.spare.pop() {
            lanes.rows = room;
        }
        // After an error nothing is folded any more, and nobody waits for it.
        let done = if fold.failed.is_some() { u64::MAX } else { fold.next };
        drop(fold);
        shared.progress.reached(done);
        if done == u64::MAX {
            return;
        }
    }
}

/// Lets the others go on to their end when a worker panics: they must not wait for its chunk.
struct Release<'p>(&'p Progress);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.reached(u64::MAX);
        }
    }
}

/// What a worker made of a chunk.
struct Piece {
    number: u64,
    partition: usize,
    segment: Option<usize>,
    position: u64,
    bytes: u64,
    ends_segment: bool,
    /// Whether something in it, or behind it, is not what a healthy segment holds.
    irregular: bool,
    unreadable: Option<Unread>,
    gathered: Gathered,
}

/// Why the rest of a segment is not read.
enum Unread {
    Failed(io::Error),
    Interrupted,
}

impl Piece {
    fn first_offset(&self) -> Option<Offset> {
        self.gathered.facts.first().map(|fact| fact.header.base_offset)
    }

    fn next_offset(&self) -> Option<Offset> {
        self.gathered.facts.last().map(|fact| fact.header.last_offset().next())
    }
}

/// What the lanes make of a chunk, and the room that it took.
fn take_apart(chunk: Chunk<'_>, subjects: &[Subject<'_>], lanes: &mut Lanes<'_>) -> (Piece, Vec<u8>) {
    let mut gathered = lanes.gathered();
    let mut irregular = chunk.stopped.is_some();
    let subject = subjects.get(chunk.partition);
    let segment = chunk.segment.and_then(|at| Some((at, subject?.segments.get(at)?)));
    if let (Some(subject), Some((at, segment)), false) = (subject, segment, irregular) {
        let source = ChunkSource::new(&chunk);
        let mut scanner = segment.scanner(source, FilePosition(chunk.position), None);
        loop {
            match scanner.next_item() {
                Ok(Some(SegmentItem::Batch(batch))) => lanes.take(&batch, at, &subject.lane, &mut gathered),
                Ok(None) => break,
                Ok(Some(_)) | Err(_) => {
                    irregular = true;
                    gathered = Gathered::default();
                    break;
                }
            }
        }
    }
    let piece = Piece {
        number: chunk.number,
        partition: chunk.partition,
        segment: chunk.segment,
        position: chunk.position,
        bytes: u64::try_from(chunk.bytes.len()).unwrap_or(u64::MAX),
        ends_segment: chunk.ends_segment,
        irregular,
        unreadable: match chunk.stopped {
            Some(Stop::Unreadable(error)) => Some(Unread::Failed(error)),
            Some(Stop::Interrupted) => Some(Unread::Interrupted),
            Some(Stop::Uncut) | None => None,
        },
        gathered,
    };
    // Room for a large batch is not kept.
    let spare = if chunk.room.is_some() { Vec::new() } else { chunk.bytes };
    (piece, spare)
}

/// What is kept of the records.
struct Kept<'s> {
    rows: &'s mut RowStore,
    /// Notices when too many of them repeat for their contents to wait.
    repeats: Repeats,
    /// Room in which rows came, to be used again.
    spare: Vec<RowColumns>,
}

impl Kept<'_> {
    fn take(&mut self, mut rows: RowColumns, deferral: Option<&Deferral>) -> Result<(), AuditError> {
        if let Some(deferral) = deferral.filter(|deferral| !deferral.is_over()) {
            self.repeats.look(rows.identities(), deferral);
        }
        self.rows.append(&rows)?;
        rows.clear();
        if rows.has_room() && self.spare.len() < rayon::current_num_threads() {
            self.spare.push(rows);
        }
        Ok(())
    }
}

/// Folds pieces in the order of the files.
struct Fold<'s> {
    subjects: &'s [Subject<'s>],
    mode: ReadMode,
    lanes: Lanes<'s>,
    kept: Kept<'s>,
    producers: &'s Share,
    tell: &'s mut Tell<'s>,
    /// Rows could not be kept: the run ends.
    failed: Option<AuditError>,
    /// Pieces whose turn has not come.
    waiting: BTreeMap<u64, Piece>,
    /// The number of the next piece.
    next: u64,
    /// A piece of the current segment whose successor has not been seen: a base offset that does not
    /// fit is only noticed by its neighbours.
    held: Option<Piece>,
    current: Option<Current<'s>>,
    done: Vec<PartitionOutcome>,
}

/// The partition that is being folded.
struct Current<'s> {
    partition: usize,
    segments: &'s [SubjectSegment],
    mode: ReadMode,
    /// The segment whose indexes are on their way through its batches.
    walk: Option<(usize, Option<IndexWalk>)>,
    index_faults: Vec<IndexFault>,
    index_faults_omitted: u64,
    /// The segment whose rest was scanned in one go: further pieces of it are void.
    scanned: Option<usize>,
    next_offset: Option<Offset>,
    ledger: Ledger,
    readable: ReadableRecords,
    trail: Trail,
    deferral: Option<&'s Deferral>,
    outcome: PartitionOutcome,
    /// The batches out of line of which the last damage note tells.
    out_of_line: Option<OutOfLine>,
    /// Batches at offsets of a later file.
    beyond: Beyond,
    /// The newest damage note about bytes between batches, and the batches that were read behind them.
    behind: Option<(usize, u64)>,
}

/// Batches one behind the other whose offsets do not go on.
struct OutOfLine {
    /// What is said of the first.
    first: String,
    /// How many come behind it.
    behind: u64,
}

impl<'s> Fold<'s> {
    fn new(
        subjects: &'s [Subject<'s>],
        mode: ReadMode,
        lanes: Lanes<'s>,
        kept: Kept<'s>,
        producers: &'s Share,
        tell: &'s mut Tell<'s>,
    ) -> Self {
        Self {
            subjects,
            mode,
            lanes,
            kept,
            producers,
            tell,
            failed: None,
            waiting: BTreeMap::new(),
            next: 0,
            held: None,
            current: None,
            done: Vec::with_capacity(subjects.len()),
        }
    }

    fn add(&mut self, piece: Piece) {
        if self.failed.is_some() {
            return;
        }
        self.waiting.insert(piece.number, piece);
        while let Some(piece) = self.waiting.remove(&self.next) {
            self.next += 1;
            let whole = self.ends_partition(&piece);
            self.fold(piece);
            if whole {
                self.release();
                self.close();
            }
        }
    }

    /// Whether nothing of its partition comes behind a piece.
    fn ends_partition(&self, piece: &Piece) -> bool {
        let last = piece.segment.map_or(0, |at| at + 1);
        let subject = self.subjects.get(piece.partition);
        piece.ends_segment && subject.is_some_and(|subject| subject.segments.len() == last)
    }

    fn finish(mut self) -> Result<Vec<PartitionOutcome>, AuditError> {
        self.release();
        self.close();
        self.failed.map_or(Ok(self.done), Err)
    }

    fn fold(&mut self, piece: Piece) {
        if self.current.as_ref().is_none_or(|current| current.partition != piece.partition) {
            self.release();
            self.close();
            self.open(piece.partition);
        }
        let Some(segment) = piece.segment else { return };
        if self.held.as_ref().is_some_and(|held| held.segment != piece.segment) {
            self.release();
        }
        if self.current.as_ref().is_some_and(|current| current.scanned == piece.segment) {
            return;
        }
        if let Some(held) = self.held.take() {
            let steps_back = piece.first_offset() < held.next_offset() && piece.first_offset().is_some();
            // Damage can begin with the last offset before it, which only what follows contradicts.
            if steps_back || (piece.irregular && piece.unreadable.is_none()) {
                return self.scan(segment, held.position, None);
            }
            self.commit(segment, held);
        }
        if piece.irregular {
            self.scan(segment, piece.position, piece.unreadable);
        } else if piece.ends_segment {
            self.commit(segment, piece);
        } else {
            self.held = Some(piece);
        }
    }

    fn release(&mut self) {
        if let Some(held) = self.held.take()
            && let Some(segment) = held.segment
        {
            self.commit(segment, held);
        }
    }

    fn open(&mut self, partition: usize) {
        let Some(subject) = self.subjects.get(partition) else { return };
        self.current = Some(Current {
            partition,
            segments: &subject.segments,
            mode: self.mode,
            walk: None,
            index_faults: Vec::new(),
            index_faults_omitted: 0,
            scanned: None,
            next_offset: None,
            ledger: Ledger::new(subject.context.clone(), self.producers),
            readable: ReadableRecords::new(&subject.context),
            trail: Trail::default(),
            deferral: match subject.lane {
                RecordLane::Digest { deferral, .. } => Some(deferral),
                RecordLane::Skip => None,
            },
            outcome: PartitionOutcome::default(),
            out_of_line: None,
            beyond: Beyond::default(),
            behind: None,
        });
    }

    fn close(&mut self) {
        if let Some(current) = self.current.take()
            && let Err(error) = self.try_close(current)
        {
            self.failed.get_or_insert(error);
        }
    }

    fn try_close(&mut self, mut current: Current<'s>) -> Result<(), AuditError> {
        current.leave_segment();
        std::mem::take(&mut current.beyond).finish(&mut current.outcome);
        let Current { ledger, readable, trail, mut outcome, .. } = current;
        outcome.facts = ledger.finish()?;
        if let Some(subject) = self.subjects.get(current.partition) {
            take_back(&subject.context, &mut outcome);
        }
        outcome.side_by_side = are_side_by_side(&outcome.facts.epochs, self.producers)?;
        outcome.facts.index_faults = current.index_faults;
        outcome.facts.index_faults_omitted = current.index_faults_omitted;
        outcome.readable = readable.finish(&outcome.facts);
        let gaps = outcome.facts.gaps.iter().map(|gap| Offset(gap.at_offset));
        outcome.out_of_sequence = gaps.chain(outcome.facts.steps.iter().map(|step| step.at_offset)).collect();
        outcome.routed = trail.finish();
        (self.tell)(self.done.len(), &mut outcome)?;
        self.done.push(outcome);
        Ok(())
    }

    fn commit(&mut self, segment: usize, piece: Piece) {
        let Some(current) = &mut self.current else { return };
        current.outcome.bytes_read += piece.bytes;
        self.kept.rows.count_input(piece.bytes);
        if let Err(error) = current.take(segment, piece.gathered, &mut self.kept) {
            self.failed.get_or_insert(error);
        }
    }

    /// Scans the rest of a segment from `position` in one go.
    fn scan(&mut self, at: usize, position: u64, unreadable: Option<Unread>) {
        if let Err(error) = self.try_scan(at, position, unreadable) {
            self.failed.get_or_insert(error);
        }
    }

    fn try_scan(&mut self, at: usize, position: u64, unreadable: Option<Unread>) -> Result<(), AuditError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        current.scanned = Some(at);
        let subjects = self.subjects;
        let Some(subject) = subjects.get(current.partition) else { return Ok(()) };
        let Some(segment) = subject.segments.get(at) else { return Ok(()) };
        if let Some(why) = unreadable {
            current.unreadable(at, segment, position, &why);
            return Ok(());
        }
        let source = match segment.open(self.mode) {
            Ok(source) => source,
            Err(error) => {
                current.unreadable(at, segment, position, &Unread::Failed(error));
                return Ok(());
            }
        };
        let next_offset = current.next_offset.filter(|_| position > 0);
        let mut scanner = segment.scanner(source, FilePosition(position), next_offset);
        let mut gathered = Gathered::default();
        loop {
            let reached = scanner.position().0;
            match scanner.next_item() {
                Ok(Some(SegmentItem::Batch(batch))) => {
                    let bytes = u64::try_from(batch.bytes.len()).unwrap_or(0);
                    current.outcome.bytes_read += bytes;
                    self.kept.rows.count_input(bytes);
                    self.lanes.take(&batch, at, &subject.lane, &mut gathered);
                    if gathered.facts.len() >= GATHER {
                        current.take(at, std::mem::take(&mut gathered), &mut self.kept)?;
                    }
                }
                Ok(Some(SegmentItem::Suspect(suspect))) => {
                    current.take(at, std::mem::take(&mut gathered), &mut self.kept)?;
                    let damage = suspect.damage.clone();
                    let header = suspect.batch.header.clone();
                    let base_offset = header.base_offset;
                    if let Some(batch) = suspect.in_line() {
                        current.outcome.bytes_read += damage.length;
                        self.lanes.take(&batch, at, &subject.lane, &mut gathered);
                        current.outcome.damage.push((at, damage));
                        current.out_of_line = None;
                    } else {
                        // Its offsets lie, so a hole around it is not the cleaner's or a file's.
                        current.ledger.damage(at, &damage);
                        // An offset far ahead of its place is used once; one that comes back is not.
                        let steps_back = current.next_offset.is_some_and(|next| base_offset < next);
                        if steps_back {
                            current.outcome.reused.push((at, damage.clone()));
                        }
                        let told = damage.clone();
                        current.note_out_of_line(at, damage, base_offset);
                        if !steps_back && segment.upper.is_some_and(|upper| header.last_offset() >= upper) {
                            let note = current.outcome.damage.len().saturating_sub(1);
                            current.beyond.add(header, at, told, note);
                        }
                    }
                }
                Ok(Some(SegmentItem::Damage(damage))) => {
                    current.take(at, std::mem::take(&mut gathered), &mut self.kept)?;
                    current.ledger.damage(at, &damage);
                    current.tell_behind();
                    current.behind = Some((current.outcome.damage.len(), 0));
                    current.outcome.damage.push((at, damage));
                }
                Ok(None) => break,
                Err(error) => {
                    current.take(at, std::mem::take(&mut gathered), &mut self.kept)?;
                    current.unreadable(at, segment, reached, &Unread::Failed(error));
                    return Ok(());
                }
            }
        }
        current.take(at, gathered, &mut self.kept)
    }
}

/// A crash tears what was not flushed: an end below the recovery point is nothing that was to be expected.
fn take_back(context: &PartitionContext, outcome: &mut PartitionOutcome) {
    if context.recovery_point > Some(outcome.facts.log_end_offset) {
        for (_, damage) in &mut outcome.damage {
            damage.expected = false;
        }
    }
}

impl Current<'_> {
    /// Reads the indexes of a segment before its first batch.
    fn enter_segment(&mut self, at: usize) {
        if self.walk.as_ref().is_some_and(|(segment, _)| *segment == at) {
            return;
        }
        self.leave_segment();
        let walk = self
            .segments
            .get(at)
            .and_then(|segment| segment.indexes.read().map(|indexes| IndexWalk::new(&indexes, segment.base)));
        self.walk = Some((at, walk));
    }

    /// Adds to a damage note how many batches were read behind it, up to the next one or the end of the file.
    fn tell_behind(&mut self) {
        if let Some((at, batches)) = self.behind.take()
            && batches > 0
            && let Some((_, damage)) = self.outcome.damage.get_mut(at)
        {
            let verb = if batches == 1 { "was" } else { "were" };
            damage.detail = format!("{}; {} {verb} read behind it", damage.detail, counted(batches, "batch"));
        }
    }

    /// Keeps what is wrong with the indexes of a segment that is read to its end.
    fn leave_segment(&mut self) {
        self.tell_behind();
        let Some((at, Some(walk))) = self.walk.take() else { return };
        // Where batches lie, or how long the file should be, is not known behind damage.
        let damaged = self.outcome.damage.last().is_some_and(|(segment, _)| *segment == at);
        let Some(segment) = self.segments.get(at).filter(|_| !damaged) else { return };
        let faults = walk.finish(segment.len, segment.next_base);
        if faults.is_empty() || !segment.is_still_there(self.mode) {
            return;
        }
        for fault in faults {
            if self.index_faults.len() < MAX_INDEX_FAULTS {
                self.index_faults.push(fault);
            } else {
                self.index_faults_omitted += 1;
            }
        }
    }

    /// Notes a batch that is not in line: a run of them is one note, however long it is.
    fn note_out_of_line(&mut self, segment: usize, damage: Damage, base_offset: Offset) {
        if let (Some(run), Some((of, last))) = (&mut self.out_of_line, self.outcome.damage.last_mut())
            && *of == segment
            && last.kind == damage.kind
            && last.position.plus(last.length) == damage.position
        {
            run.behind += 1;
            last.length += damage.length;
            last.detail = format!(
                "{}; likewise {} behind it, the last with base offset {base_offset}",
                run.first,
                counted(run.behind, "batch")
            );
            return;
        }
        self.out_of_line = Some(OutOfLine { first: damage.detail.clone(), behind: 0 });
        self.outcome.damage.push((segment, damage));
    }

    fn take(&mut self, segment: usize, gathered: Gathered, kept: &mut Kept<'_>) -> Result<(), AuditError> {
        if let Some(first) = gathered.facts.first() {
            let (position, base_offset) = (first.position, first.header.base_offset);
            self.outcome.starts.push(ChunkStart { segment, position, base_offset });
            self.enter_segment(segment);
        }
        if let Some((_, batches)) = &mut self.behind {
            *batches += u64::try_from(gathered.facts.len()).unwrap_or(0);
        }
        for (fact, &readable) in gathered.facts.iter().zip(&gathered.readable) {
            self.ledger.batch(fact);
            self.beyond.meet(&fact.header, segment);
            if let Some((_, Some(walk))) = &mut self.walk {
                walk.batch(&fact.header, fact.position);
            }
            self.readable.batch(&fact.header, readable);
            if let Some(ended) = self.ledger.ended() {
                self.readable.end(ended);
            }
            self.outcome.sketch.add(&fact.header);
            self.next_offset = Some(fact.header.last_offset().next());
            if !fact.header.is_control() {
                self.outcome.timestamp_type = Some(fact.header.timestamp_type());
                if !fact.header.is_legacy() && !fact.header.producer_id.is_protected() {
                    self.outcome.first_unprotected.get_or_insert(fact.header.base_offset);
                }
            }
        }
        kept.take(gathered.rows, self.deferral)?;
        let routed = gathered.routed;
        self.trail.take(&routed.strays, routed.newer_behind, routed.keyed);
        self.outcome.counts.add(gathered.counts);
        for damage in gathered.damage {
            self.outcome.damage.push((segment, damage));
        }
        Ok(())
    }

    /// The rest of a segment cannot be read: removed, cut, or not ours to read.
    fn unreadable(&mut self, at: usize, segment: &SubjectSegment, position: u64, why: &Unread) {
        let detail = match why {
            Unread::Failed(error) => format!("cannot be read from here on: {error}"),
            Unread::Interrupted => {
                self.outcome.interrupted = true;
                "not read from here on: the run was interrupted".to_owned()
            }
        };
        let damage = Damage {
            position: FilePosition(position),
            length: segment.len.saturating_sub(position),
            kind: DamageKind::Unreadable,
            expected: false,
            detail,
            first_offset: self.next_offset,
            last_offset: None,
            records_missing: true,
        };
        self.ledger.damage(at, &damage);
        self.outcome.damage.push((at, damage));
    }
}
