//! The producer sessions of all copies, by their numbers. There may be many of which no copy tells: those stay where
//! they were written, and only what is asked for is in memory.

use super::{SessionNote, SessionSpan};
use crate::error::AuditError;
use crate::facts::GroupCommits;
use crate::spill::{Catalog, CatalogWriter, Element, RunReader, Share};
use crate::units::{Offset, ProducerId};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What a session takes that was asked for: few write to more than one or two partitions.
const ONE: usize = 256;
/// Sessions that are held in any case.
const FEW: usize = 64;

/// A session that was asked for, with its number.
type Place = Mutex<Option<(u32, Arc<SessionNote>)>>;

/// Sessions by number. A file that cannot be read leaves them out; [`SessionNotes::check`] says so to whoever asks
/// before anything is told.
pub struct SessionNotes {
    all: Catalog<u32, SessionNote>,
    /// Those that were asked for last, each in the one place that its number may have.
    read: Vec<Place>,
    failed: OnceLock<AuditError>,
}

impl SessionNotes {
    /// Those that come, in the order of their numbers, from 0.
    ///
    /// # Errors
    /// [`AuditError`] when what does not fit into memory cannot be written.
    pub fn of(notes: impl IntoIterator<Item = SessionNote>, share: &Share) -> Result<Self, AuditError> {
        let mut all = CatalogWriter::new(share);
        for (number, note) in (0..).zip(notes) {
            all.put(number, note)?;
        }
        let all = all.finish()?;
        let places = all.len().min((share.limit / ONE).max(FEW));
        let read = (0..places).map(|_| Place::default()).collect();
        Ok(Self { all, read, failed: OnceLock::new() })
    }

    /// The session of a number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<Arc<SessionNote>> {
        let at = usize::try_from(number).ok()?.checked_rem(self.read.len())?;
        // Whoever panicked had put a whole session there, or none.
        let mut place = self.read.get(at)?.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = place.as_ref().filter(|(of, _)| *of == number) {
            return Some(Arc::clone(known));
        }
        let read = Arc::new(self.unless_failed(self.all.find(&number)).flatten()?);
        *place = Some((number, Arc::clone(&read)));
        Some(read)
    }

    /// All of them, in the order of their numbers.
    fn iter(&self) -> impl Iterator<Item = SessionNote> {
        self.all.all().map_while(|one| self.unless_failed(one)).map(|(_, note)| note)
    }

    /// Whether all that was asked for could be read.
    ///
    /// # Errors
    /// The first thing that could not, once.
    pub fn check(&mut self) -> Result<(), AuditError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn unless_failed<T>(&self, read: Result<T, AuditError>) -> Option<T> {
        // The first one is told.
        read.map_err(|error| drop(self.failed.set(error))).ok()
    }
}

impl Default for SessionNotes {
    /// None.
    fn default() -> Self {
        Self { all: Catalog::default(), read: Vec::new(), failed: OnceLock::new() }
    }
}

impl PartialEq for SessionNotes {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for SessionNotes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for SessionNotes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for SessionNotes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let notes = Vec::<SessionNote>::deserialize(deserializer)?;
        Self::of(notes, &Share::default()).map_err(D::Error::custom)
    }
}

impl Element for SessionNote {
    fn memory(&self) -> usize {
        let texts = self.name.capacity() + self.transactional_id.as_ref().map_or(0, String::capacity);
        let groups = self.groups.capacity() * size_of::<GroupCommits>();
        size_of::<Self>() + texts + groups + self.spans.capacity() * size_of::<SessionSpan>()
    }

    fn put(&self, out: &mut Vec<u8>) {
        let Self { name, producer_id, transactional, transactional_id, spans, begins_midstream, groups } =
            self;
        out.extend_from_slice(&producer_id.0.to_le_bytes());
        let flags = [*transactional, *begins_midstream, transactional_id.is_some()];
        out.extend_from_slice(&flags.map(u8::from));
        put_text(name.as_bytes(), out);
        if let Some(id) = transactional_id {
            put_text(id.as_bytes(), out);
        }
        spans.put(out);
        // Few sessions commit positions.
        let groups =
            if groups.is_empty() { Vec::new() } else { serde_json::to_vec(groups).unwrap_or_default() };
        put_text(&groups, out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let producer_id = ProducerId(i64::from_le_bytes(from.array()?));
        let [transactional, begins_midstream, has_id] = from.array()?.map(|flag: u8| flag == 1);
        let mut text = || String::from_utf8(take_text(from)?.to_vec()).map_err(io::Error::other);
        let name = text()?;
        let transactional_id = if has_id { Some(text()?) } else { None };
        let spans = Element::take(from)?;
        let groups = take_text(from)?;
        let groups: Vec<GroupCommits> =
            if groups.is_empty() { Vec::new() } else { serde_json::from_slice(groups)? };
        Ok(Self { name, producer_id, transactional, transactional_id, spans, begins_midstream, groups })
    }
}

fn put_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
    out.extend_from_slice(text);
}

fn take_text(from: &mut RunReader) -> io::Result<&[u8]> {
    let length = usize::try_from(u64::from_le_bytes(from.array()?)).map_err(io::Error::other)?;
    from.bytes(length)
}

impl Element for SessionSpan {
    fn put(&self, out: &mut Vec<u8>) {
        self.partition.put(out);
        [self.first_offset.0, self.last_offset.0].put(out);
        [self.first_timestamp, self.last_timestamp].put(out);
        out.extend_from_slice(&self.records.to_le_bytes());
        out.extend_from_slice(
            &[self.transactional.is_some(), self.transactional == Some(true)].map(u8::from),
        );
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let partition = u32::take(from)?;
        let [first_offset, last_offset] = <[i64; 2]>::take(from)?.map(Offset);
        let [first_timestamp, last_timestamp] = <[Option<i64>; 2]>::take(from)?;
        let records = u64::from_le_bytes(from.array()?);
        let [is_known, is_so] = from.array()?.map(|flag: u8| flag == 1);
        let transactional = is_known.then_some(is_so);
        Ok(Self {
            partition,
            first_offset,
            last_offset,
            first_timestamp,
            last_timestamp,
            records,
            transactional,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_the_same_wherever_it_was_kept() {
        let note = |number: u32| SessionNote {
            name: format!("{number}#1"),
            producer_id: ProducerId(number.into()),
            transactional: number.is_multiple_of(2),
            transactional_id: number.is_multiple_of(3).then(|| format!("pay-{number}")),
            spans: (0..number % 3)
                .map(|partition| SessionSpan {
                    partition,
                    first_offset: Offset(1),
                    last_offset: Offset(number.into()),
                    first_timestamp: None,
                    last_timestamp: Some(-5),
                    records: 7,
                    transactional: [None, Some(true), Some(false)]
                        .get(number as usize % 3)
                        .copied()
                        .flatten(),
                })
                .collect(),
            begins_midstream: number.is_multiple_of(5),
            groups: Vec::new(),
        };
        for limit in [0, usize::MAX] {
            let share = Share { limit, ..Share::default() };
            let mut notes = SessionNotes::of((0..200).map(note), &share).unwrap();
            for number in [0, 199, 63, 64, 127, 63] {
                assert_eq!(notes.get(number).as_deref(), Some(&note(number)));
            }
            assert_eq!(notes.get(200), None);
            let text = serde_json::to_string(&notes).unwrap();
            assert_eq!(serde_json::from_str::<SessionNotes>(&text).unwrap(), notes);
            notes.check().unwrap();
        }
    }
}
