//! Room for what comes out of a codec: one buffer that is used for every batch.
//!
//! The buffer never shrinks and keeps its initialised length, so that a batch costs no allocation
//! and no zeroing once the largest one was seen. It grows as data arrives, never on the word of a
//! length field, and not past the limit.

/// A growing buffer of which the first `filled` bytes belong to the present batch.
#[derive(Debug)]
pub(super) struct Output {
    buffer: Vec<u8>,
    filled: usize,
    limit: usize,
    refused: bool,
}

impl Output {
    pub(super) const fn with_limit(limit: usize) -> Self {
        Self { buffer: Vec::new(), filled: 0, limit, refused: false }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    pub(super) const fn clear(&mut self) {
        self.filled = 0;
        self.refused = false;
    }

    /// Whether more would have come out than the limit allows.
    pub(super) const fn is_refused(&self) -> bool {
        self.refused
    }

    pub(super) fn filled(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    /// What was produced, and behind it room for at least `wanted` more bytes, or up to the limit
    /// when that is less. Everything that is at hand is offered.
    pub(super) fn split(&mut self, wanted: usize) -> (&[u8], &mut [u8]) {
        let end = self.filled.saturating_add(wanted).min(self.limit);
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        let (produced, room) = self.buffer.split_at_mut_checked(self.filled).unwrap_or_default();
        let most = self.limit.saturating_sub(produced.len()).min(room.len());
        (produced, room.get_mut(..most).unwrap_or_default())
    }

    /// The room alone.
    pub(super) fn room(&mut self, wanted: usize) -> &mut [u8] {
        self.split(wanted).1
    }

    /// Counts `written` bytes of the room as produced.
    pub(super) fn advance(&mut self, written: usize) {
        self.filled = self.filled.saturating_add(written).min(self.buffer.len());
    }

    /// The error for an area that produces too much.
    pub(super) fn too_much(&mut self) -> String {
        self.refused = true;
        format!("more than {} bytes come out", self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_ends_at_the_limit() {
        let mut output = Output::with_limit(10);
        assert_eq!(output.room(6).len(), 6);
        output.advance(6);
        assert_eq!(output.room(100).len(), 4);
        output.clear();
        assert_eq!(output.room(1).len(), 10, "what is at hand is offered");
    }
}
