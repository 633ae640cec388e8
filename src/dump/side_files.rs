//! The files beside a log: indexes and producer snapshots.

use super::Talk;
use super::printer::Printer;
use super::selection::Selection;
use crate::format::{ByteSource, OffsetIndex, SnapshotError, TimeIndex, TransactionIndex, producer_snapshot};
use crate::units::Offset;
use std::io::{self, Write};
use std::path::Path;

/// A snapshot of this many bytes has over five million producers: more is no snapshot.
const LARGEST_SNAPSHOT: u64 = 256 << 20;

pub(super) fn offset_index<S: ByteSource, W: Write>(
    source: S,
    base: Option<Offset>,
    path: &Path,
    selection: &Selection,
    printer: &mut impl Printer,
    talk: &mut Talk<'_, W>,
) -> io::Result<()> {
    let mut index = OffsetIndex::new(source, base.unwrap_or_default());
    if index.is_empty() {
        printer.empty_index(path)?;
    }
    fragment(index.fragment(), talk)?;
    loop {
        let position = index.position().0;
        match index.next_entry() {
            Ok(Some(entry)) if selection.admits_offset(entry.offset) => printer.offset_entry(entry)?,
            Ok(Some(_)) => {}
            Ok(None) => return Ok(()),
            Err(error) => return talk.damage(position, &error.to_string()),
        }
    }
}

pub(super) fn time_index<S: ByteSource, W: Write>(
    source: S,
    base: Option<Offset>,
    selection: &Selection,
    printer: &mut impl Printer,
    talk: &mut Talk<'_, W>,
) -> io::Result<()> {
    let mut index = TimeIndex::new(source, base.unwrap_or_default());
    fragment(index.fragment(), talk)?;
    loop {
        let position = index.position().0;
        match index.next_entry() {
            Ok(Some(entry))
                if selection.admits_offset(entry.offset) && selection.admits_time(entry.timestamp) =>
            {
                printer.time_entry(entry)?;
            }
            Ok(Some(_)) => {}
            Ok(None) => return Ok(()),
            Err(error) => return talk.damage(position, &error.to_string()),
        }
    }
}

pub(super) fn transaction_index<S: ByteSource, W: Write>(
    source: S,
    selection: &Selection,
    printer: &mut impl Printer,
    talk: &mut Talk<'_, W>,
) -> io::Result<()> {
    let mut index = TransactionIndex::new(source);
    fragment(index.fragment(), talk)?;
    loop {
        let position = index.position().0;
        match index.next_entry() {
            Ok(Some(entry)) if selection.admits_transaction(&entry) => printer.transaction_entry(entry)?,
            Ok(Some(_)) => {}
            Ok(None) => return Ok(()),
            Err(error) => return talk.damage(position, &error.to_string()),
        }
    }
}

fn fragment<W: Write>(fragment: u64, talk: &mut Talk<'_, W>) -> io::Result<()> {
    if fragment > 0 {
        talk.damage(0, &format!("{fragment} bytes are left behind the last whole entry"))?;
    }
    Ok(())
}

pub(super) fn producer_snapshot<S: ByteSource, W: Write>(
    source: &mut S,
    selection: &Selection,
    printer: &mut impl Printer,
    talk: &mut Talk<'_, W>,
) -> io::Result<()> {
    let length = source.len();
    if length > LARGEST_SNAPSHOT {
        return talk.damage(0, &format!("{length} bytes are too many for a producer snapshot"));
    }
    let wanted = usize::try_from(length).unwrap_or(usize::MAX);
    let bytes = match source.window(0, wanted) {
        Ok(bytes) => bytes.get(..wanted).unwrap_or_default(),
        Err(error) => return talk.damage(0, &error.to_string()),
    };
    match producer_snapshot::read(bytes) {
        Ok(entries) => entries
            .iter()
            .filter(|entry| selection.admits_snapshot_entry(entry))
            .try_for_each(|entry| printer.snapshot_entry(entry)),
        // Kafka prints nothing of such a file; its whole entries are told apart, not mixed in.
        Err(error) => {
            talk.damage(0, &error.to_string())?;
            if let SnapshotError::StaleBytes { entries, .. } = error {
                for entry in entries {
                    talk.note(0, &format!("in front of the stale bytes: {entry:?}"))?;
                }
            }
            Ok(())
        }
    }
}
