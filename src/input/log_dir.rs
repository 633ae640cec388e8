//! The files of a log directory itself: whose it is, how it was left, and the offsets that the
//! broker kept of its partitions.

use super::listing::Listing;
use super::names::LogDirFile;
use super::place::FilePlace;
use super::remarks::Remarks;
use crate::format::checkpoint::{LineError, OffsetCheckpoint};
use crate::format::meta_properties::{MetaProperties, broker_epoch};
use crate::units::Timestamp;
use std::io;
use std::path::Path;

/// Some hundred thousand partitions; no broker comes near this, and a hostile file is not read to
/// its end.
const LARGEST_TEXT: u64 = 16 << 20;

/// What the files of a log directory say.
#[derive(Debug, Default)]
pub(super) struct LogDirFiles {
    pub properties: MetaProperties,
    pub clean_shutdown: Option<bool>,
    pub broker_epoch: Option<i64>,
    pub high_watermarks: OffsetCheckpoint,
    pub recovery_points: OffsetCheckpoint,
    pub log_starts: OffsetCheckpoint,
    pub first_dirty: OffsetCheckpoint,
    /// The names of the files that were read.
    pub read: Vec<String>,
    pub files: usize,
    pub bytes: u64,
    pub newest: Option<Timestamp>,
}

impl LogDirFiles {
    /// Reads what `listing` names; what cannot be read is remarked and left out.
    pub fn read(directory: &Path, listing: &Listing, remarks: &mut Remarks) -> Self {
        let mut files = Self::default();
        let mut whole = false;
        let mut marker = false;
        for entry in &listing.files {
            let kind = LogDirFile::parse(&entry.name);
            if kind == LogDirFile::Unknown {
                continue;
            }
            files.files += 1;
            files.bytes = files.bytes.saturating_add(entry.len);
            files.newest = files.newest.max(entry.modified);
            whole |= kind.marks_a_log_dir();
            let place = listing.place(directory, entry);
            let offsets = |remarks: &mut Remarks| parse(&place, OffsetCheckpoint::parse, remarks);
            let read = match kind {
                LogDirFile::MetaProperties => parse(&place, MetaProperties::parse, remarks)
                    .map(|properties| files.properties = properties)
                    .is_some(),
                LogDirFile::CleanShutdown => {
                    marker = true;
                    files.broker_epoch = parse(&place, broker_epoch, remarks).flatten();
                    true
                }
                LogDirFile::HighWatermarks => {
                    offsets(remarks).map(|offsets| files.high_watermarks = offsets).is_some()
                }
                LogDirFile::RecoveryPoints => {
                    offsets(remarks).map(|offsets| files.recovery_points = offsets).is_some()
                }
                LogDirFile::LogStarts => offsets(remarks).map(|offsets| files.log_starts = offsets).is_some(),
                LogDirFile::FirstDirty => {
                    offsets(remarks).map(|offsets| files.first_dirty = offsets).is_some()
                }
                LogDirFile::NotRead | LogDirFile::Unknown => false,
            };
            if read {
                files.read.push(entry.name.clone());
            }
        }
        // Where only partitions were copied, a missing marker says nothing of how the broker ended.
        files.clean_shutdown = whole.then_some(marker);
        files
    }
}

/// Reads and parses a text file; what goes wrong is remarked.
pub(super) fn parse<T>(
    place: &FilePlace,
    parse: impl Fn(&[u8]) -> Result<T, LineError>,
    remarks: &mut Remarks,
) -> Option<T> {
    let path = place.path();
    match place.read(LARGEST_TEXT) {
        Ok(bytes) => match parse(&bytes) {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                remarks.bad_file(path, u64::try_from(bytes.len()).unwrap_or(u64::MAX), error.to_string());
                None
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            remarks.note(path, "was removed while the directory was listed");
            None
        }
        Err(error) => {
            remarks.unreadable(path, error.to_string());
            None
        }
    }
}
