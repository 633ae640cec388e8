//! A surplus copy with the copy that it repeats, and what is told of its group once: the rows that
//! relations are made of.

use super::StoredCopy;
use super::candidate::{Fields, memory_of, put_key, take_key};
use crate::finding::{BusinessKey, Level};
use crate::spill::{Element, RunReader};
use serde::{Deserialize, Serialize};
use std::io;

/// A surplus copy and its predecessor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelatedPair {
    /// The number of its group.
    pub group: u32,
    /// Which of the copies of its group the later one is, from 0, which none is.
    pub number: u32,
    /// Index into [`super::Relations::topics`].
    pub topic: u32,
    /// The copy that is repeated.
    pub earlier: StoredCopy,
    /// The surplus copy.
    pub later: StoredCopy,
    /// How equal the two are.
    pub level: Level,
    /// What is known of all copies of the group.
    pub writers: GroupWriters,
    /// A record of another topic with equal content and client time, which holds the event fewer
    /// times: where a pipeline may have read it.
    pub source: Option<Box<StoredCopy>>,
    /// Where the note about the group stands.
    #[serde(skip)]
    pub(super) note: u64,
}

/// Who wrote the copies of one group. A writer is a session, or a producer without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupWriters {
    /// How many of the copies are of the writer of the later one.
    pub own: u32,
    /// How many are of the writer that wrote the second most of them.
    pub second_most: u32,
    /// How many sessions wrote copies.
    pub sessions: u32,
}

/// What is told of a group once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupNote {
    /// The identity.
    pub business_key: BusinessKey,
    /// The sessions that wrote copies, ascending.
    pub sessions: Vec<u32>,
}

const LEVELS: [Level; 5] = [Level::E1, Level::E2, Level::E3, Level::E4, Level::E5];

/// Bytes in front of the copies.
const HEAD: usize = 6 * 4 + 8 + 2;

impl Element for RelatedPair {
    fn memory(&self) -> usize {
        size_of::<Self>() + self.source.as_ref().map_or(0, |_| size_of::<StoredCopy>())
    }

    fn put(&self, out: &mut Vec<u8>) {
        let GroupWriters { own, second_most, sessions } = self.writers;
        for number in [self.group, self.number, self.topic, own, second_most, sessions] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.note.to_le_bytes());
        let level = LEVELS.iter().position(|level| *level == self.level);
        out.push(level.and_then(|level| u8::try_from(level).ok()).unwrap_or(u8::MAX));
        out.push(u8::from(self.source.is_some()));
        for copy in [Some(&self.earlier), Some(&self.later), self.source.as_deref()].into_iter().flatten() {
            copy.put(out);
        }
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let mut fields = Fields(from.bytes(HEAD)?);
        let mut number = || Ok::<_, io::Error>(u32::from_le_bytes(fields.next()?));
        let (group, place, topic) = (number()?, number()?, number()?);
        let writers = GroupWriters { own: number()?, second_most: number()?, sessions: number()? };
        let note = u64::from_le_bytes(fields.next()?);
        let [level, has_source] = fields.next()?;
        let level = LEVELS.get(usize::from(level)).copied().ok_or(io::ErrorKind::InvalidData)?;
        let (earlier, later) = (StoredCopy::take(from)?, StoredCopy::take(from)?);
        let source = if has_source == 1 { Some(Box::new(StoredCopy::take(from)?)) } else { None };
        Ok(Self { group, number: place, topic, earlier, later, level, writers, source, note })
    }
}

impl Element for GroupNote {
    fn memory(&self) -> usize {
        size_of::<Self>() + memory_of(&self.business_key) + self.sessions.capacity() * size_of::<u32>()
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_key(&self.business_key, out);
        out.extend_from_slice(&u32::try_from(self.sessions.len()).unwrap_or(u32::MAX).to_le_bytes());
        for session in &self.sessions {
            out.extend_from_slice(&session.to_le_bytes());
        }
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let business_key = take_key(from)?;
        let count = u32::from_le_bytes(from.array()?);
        let sessions =
            (0..count).map(|_| Ok(u32::from_le_bytes(from.array()?))).collect::<io::Result<_>>()?;
        Ok(Self { business_key, sessions })
    }
}
