//! The slots of an index file: equal lengths, no header, no checksum.

use super::source::ByteSource;
use crate::units::FilePosition;
use std::io;

/// Walks over slots of `N` bytes.
#[derive(Debug)]
pub(super) struct IndexEntries<S, const N: usize> {
    source: S,
    position: u64,
}

impl<S: ByteSource, const N: usize> IndexEntries<S, N> {
    pub(super) fn new(source: S) -> Self {
        Self { source, position: 0 }
    }

    fn slot_length() -> u64 {
        u64::try_from(N).unwrap_or(u64::MAX).max(1)
    }

    /// Whole slots of the file.
    pub(super) fn slots(&self) -> u64 {
        self.source.len().checked_div(Self::slot_length()).unwrap_or(0)
    }

    /// Bytes behind the last whole slot.
    pub(super) fn fragment(&self) -> u64 {
        self.source.len().checked_rem(Self::slot_length()).unwrap_or(0)
    }

    /// Where the next slot begins.
    pub(super) fn position(&self) -> FilePosition {
        FilePosition(self.position)
    }

    /// The next slot; `None` when no whole one is left.
    pub(super) fn next_slot(&mut self) -> io::Result<Option<[u8; N]>> {
        if self.source.len().saturating_sub(self.position) < Self::slot_length() {
            return Ok(None);
        }
        let slot = self.source.window(self.position, N)?.first_chunk::<N>().copied();
        self.position = self.position.saturating_add(Self::slot_length());
        Ok(slot)
    }
}
