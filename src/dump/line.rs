//! One line of text, put together without formatting machinery and written at once.

/// A line that is used again.
#[derive(Default)]
pub(super) struct Line {
    bytes: Vec<u8>,
    digits: itoa::Buffer,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Line {
    /// Appends text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// Appends a number.
    pub(super) fn number(&mut self, number: impl Into<i64>) -> &mut Self {
        self.bytes.extend_from_slice(self.digits.format(number.into()).as_bytes());
        self
    }

    /// Appends a number that may be larger than Kafka's types.
    pub(super) fn count(&mut self, number: u64) -> &mut Self {
        self.bytes.extend_from_slice(self.digits.format(number).as_bytes());
        self
    }

    /// Appends `true` or `false`.
    pub(super) fn truth(&mut self, truth: bool) -> &mut Self {
        self.text(if truth { "true" } else { "false" })
    }

    /// The bytes, to be appended to.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// What it holds; it is empty afterwards.
    pub(super) fn take(&mut self, write: impl FnOnce(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        self.bytes.push(b'\n');
        let done = write(&self.bytes);
        self.bytes.clear();
        done
    }
}
