//! Walks over a segment or a KRaft snapshot and prints what it holds.
//!
//! The scan says what is a batch and what is damage. Kafka's tool prints a batch whatever its
//! checksum says, so damage that can be read as a batch is printed as one, marked invalid.

use super::decoder::InternalTopic;
use super::printer::{Checksum, ControlText, PrintedBatch, PrintedRecord, Printer, RestOfFile};
use super::seek::{self, From};
use super::{Depth, DumpOptions, Talk};
use crate::format::control::{ControlRecord, Outcome};
use crate::format::internal::quorum;
use crate::format::legacy;
use crate::format::record_batch::MIN_BATCH_LENGTH;
use crate::format::segment::TailExpectation;
use crate::format::{
    Batch, BatchHeader, ByteSource, Cursor, Damage, Decompressor, FormatError, Record, SegmentItem,
    SegmentScanner, Suspect,
};
use crate::input::FilePlace;
use crate::units::{FilePosition, Offset};
use std::io::{self, Write};

/// Bytes of the largest batch that is read although its checksum is wrong: what a broker with the
/// usual limits could have written, many times over.
const LARGEST_INVALID: u64 = 64 << 20;
/// `baseOffset` and `batchLength`, which the length does not count.
const LOG_OVERHEAD: u64 = 12;
/// Bytes up to and including the magic byte.
const PREFIX: u64 = 17;

/// What is known of a log before it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogFile<'a> {
    /// The file's name.
    pub(super) name: &'a str,
    /// The base offset in the name.
    pub(super) base: Option<Offset>,
    /// What its end may look like.
    pub(super) tail: TailExpectation,
    /// Where it is, for the indexes beside it.
    pub(super) place: &'a FilePlace,
    /// Whose records are to be read.
    pub(super) decoder: Option<InternalTopic>,
}

/// Prints a log that is open twice: `source` is scanned, `again` is for what the scan calls damage.
pub(super) fn dump<S: ByteSource, W: Write>(
    mut source: S,
    again: &mut S,
    file: LogFile<'_>,
    options: &DumpOptions,
    printer: &mut impl Printer,
    talk: &mut Talk<'_, W>,
) -> io::Result<()> {
    let start = match file.base {
        Some(base) => seek::start(&mut source, file.place, base, &options.selection),
        None => 0,
    };
    if start > 0 {
        talk.note(start, "begins here, as the index says")?;
    }
    let view = From { source: &mut source, start };
    let mut scanner = match file.base {
        Some(base) => SegmentScanner::new(view, base, file.tail),
        None => SegmentScanner::unnamed(view, file.tail),
    };
    let mut dump = LogDump {
        options,
        file,
        start,
        printer,
        talk,
        decompressor: Decompressor::with_limits(options.limits),
    };
    loop {
        let position = scanner.position();
        match scanner.next_item() {
            Ok(None) => return Ok(()),
            Ok(Some(SegmentItem::Batch(batch))) => {
                dump.batch(&batch, Checksum::Right)?;
                // The scan vouches for the order up to here: what is wanted does not come behind.
                if batch.header.last_offset().0 >= options.selection.offsets.last {
                    return Ok(());
                }
            }
            Ok(Some(SegmentItem::Suspect(suspect))) => dump.suspect(suspect)?,
            Ok(Some(SegmentItem::Damage(damage))) => dump.damage(again, damage)?,
            Err(error) => return dump.talk.damage(position.plus(start).0, &error.to_string()),
        }
    }
}

struct LogDump<'a, 't, P, W> {
    options: &'a DumpOptions,
    file: LogFile<'a>,
    /// Bytes in front of what is scanned.
    start: u64,
    printer: &'a mut P,
    talk: &'a mut Talk<'t, W>,
    decompressor: Decompressor,
}

impl<P: Printer, W: Write> LogDump<'_, '_, P, W> {
    /// Prints a batch, as far as it is selected.
    fn batch(&mut self, batch: &Batch<'_>, checksum: Checksum) -> io::Result<()> {
        let selection = &self.options.selection;
        if !selection.admits_batch(&batch.header) {
            return Ok(());
        }
        let size = u64::try_from(batch.bytes.len()).unwrap_or(u64::MAX);
        let position = batch.position.plus(self.start);
        let shown = PrintedBatch { header: &batch.header, position, size, checksum };
        if self.options.depth == Depth::Batches {
            return self.printer.batch(shown);
        }
        // The line of a batch waits for the first record that is selected.
        let mut waiting = selection.may_split(shown) && batch.header.records_count != Some(0);
        if !waiting {
            self.printer.batch(shown)?;
        }
        let (printer, topic, form) = (&mut *self.printer, self.file.decoder, self.options.form);
        let (mut written, mut unreadable) = (Ok(()), None);
        let mut each = |record: &Record<'_>, message_crc| {
            if written.is_err() || !selection.admits_record(record) {
                return;
            }
            if std::mem::take(&mut waiting) {
                written = printer.batch(shown);
            }
            if written.is_err() {
                return;
            }
            written = if batch.header.is_control() {
                let control = control_text(record).unwrap_or_else(|error| {
                    unreadable = Some(error);
                    ControlText::Unreadable
                });
                printer.control(shown, record, &control)
            } else {
                let decoded = topic.map(|topic| topic.read(record, form));
                printer.record(shown, PrintedRecord { record, message_crc, decoded: decoded.as_ref() })
            };
        };
        let read = if batch.header.is_legacy() {
            let each = |record: &Record<'_>, crc| each(record, Some(crc));
            legacy::for_each_message(batch.bytes, batch.header.base_offset, &mut self.decompressor, each)
        } else {
            batch.for_each_record(&mut self.decompressor, |record| each(record, None))
        };
        written?;
        if waiting && read.is_err() {
            // The record that is wanted may be one of those that cannot be read.
            self.printer.batch(shown)?;
        }
        if let Some(error) = unreadable {
            self.talk.damage(position.0, &format!("control record: {error}"))?;
        }
        match read {
            Err(error) => self.talk.damage(position.0, &format!("records: {error}")),
            Ok(()) => Ok(()),
        }
    }

    /// A batch that Kafka prints as it stands, or would not get to.
    fn suspect(&mut self, suspect: Suspect<'_>) -> io::Result<()> {
        let damage = &suspect.damage;
        self.talk
            .damage(damage.position.plus(self.start).0, &format!("{}: {}", damage.kind, damage.detail))?;
        let mut batch = suspect.batch;
        // Kafka's tool prints whatever magic is stored, and reads every one from 2 on as 2.
        let stored = batch.bytes.get(16).map_or(2, |magic| magic.cast_signed());
        batch.header.magic = batch.header.magic.max(stored);
        self.batch(&batch, Checksum::Right)
    }

    fn damage<S: ByteSource>(&mut self, source: &mut S, mut damage: Damage) -> io::Result<()> {
        damage.position = damage.position.plus(self.start);
        let detail = format!("{}, {} bytes: {}", damage.kind, damage.length, damage.detail);
        if damage.expected {
            self.talk.note(damage.position.0, &detail)?;
        } else {
            self.talk.damage(damage.position.0, &detail)?;
        }
        let end = damage.position.plus(damage.length).0;
        let start = std::mem::take(&mut self.start);
        let mut at = damage.position.0;
        while let Some((batch, checksum)) = read_invalid(source, at, end)? {
            at = at.saturating_add(u64::try_from(batch.bytes.len()).unwrap_or(u64::MAX));
            self.batch(&batch, checksum)?;
        }
        self.start = start;
        if at >= end {
            return Ok(());
        }
        let rest = if end < source.len() { RestOfFile::Readable } else { RestOfFile::None };
        (damage.position, damage.length) = (FilePosition(at), end.saturating_sub(at));
        self.printer.damage(self.file.name, &damage, rest)
    }
}

/// Reads a batch between `at` and `end` that the scan refused, as Kafka's tool would.
fn read_invalid<S: ByteSource>(
    source: &mut S,
    at: u64,
    end: u64,
) -> io::Result<Option<(Batch<'_>, Checksum)>> {
    let left = end.saturating_sub(at);
    if left < PREFIX {
        return Ok(None);
    }
    let mut start = Cursor::new(source.window(at, 17)?);
    let (Ok(_), Ok(length), Ok(_), Ok(magic)) = (
        start.int64("baseOffset"),
        start.int32("batchLength"),
        start.int32("partitionLeaderEpoch"),
        start.int8("magic"),
    ) else {
        return Ok(None);
    };
    let smallest = match magic {
        0 => legacy::MIN_SIZE_V0,
        1 => legacy::MIN_SIZE_V1,
        _ => MIN_BATCH_LENGTH,
    };
    let size = u64::try_from(length).unwrap_or(0).saturating_add(LOG_OVERHEAD);
    if length < smallest || size > left.min(LARGEST_INVALID) || magic < 0 {
        return Ok(None);
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let bytes = source.window(at, size)?.get(..size).unwrap_or_default();
    let (header, computed) = if magic < 2 {
        (legacy::read_header(bytes), legacy::compute_crc(bytes))
    } else {
        (BatchHeader::read(bytes).map(|(header, _)| header), Batch::compute_crc(bytes))
    };
    let Ok(header) = header else {
        return Ok(None);
    };
    let checksum = if header.crc == computed { Checksum::Right } else { Checksum::Wrong };
    Ok(Some((Batch { position: FilePosition(at), bytes, header }, checksum)))
}

fn control_text<'a>(record: &Record<'a>) -> Result<ControlText<'a>, FormatError> {
    Ok(match ControlRecord::read(record)? {
        ControlRecord::EndTransaction { outcome, coordinator_epoch } => {
            let marker = match outcome {
                Outcome::Commit => "COMMIT",
                Outcome::Abort => "ABORT",
            };
            ControlText::EndTransaction { marker, coordinator_epoch }
        }
        ControlRecord::Other(control_type) => {
            match quorum::read(control_type, record.value.unwrap_or_default())? {
                Some(value) => ControlText::Quorum { control_type, value },
                None => ControlText::Unknown { control_type },
            }
        }
    })
}
