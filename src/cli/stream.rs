//! NDJSON on standard output while the audit runs: the header and each partition as soon as they are
//! known, so that a reader has them before the end, and what was read is not lost with the run.

use crate::audit::Listener;
use crate::report::model::{Evidence, Invocation, PartitionReport};
use crate::report::ndjson;
use std::io::{self, Write};

/// Writes what it hears.
pub(super) struct Stream<'w> {
    out: &'w mut (dyn Write + Send),
    /// The first line that could not be written; none is tried behind it.
    failed: io::Result<()>,
}

impl<'w> Stream<'w> {
    pub(super) fn new(out: &'w mut (dyn Write + Send)) -> Self {
        Self { out, failed: Ok(()) }
    }

    /// Whether all that was heard is written.
    pub(super) fn finish(self) -> io::Result<()> {
        self.failed
    }

    fn write(&mut self, line: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.failed.is_ok() {
            self.failed = line(&mut self.out);
        }
    }
}

impl Listener for Stream<'_> {
    fn begun(&mut self, invocation: &Invocation, evidence: &[Evidence]) {
        self.write(|out| ndjson::begin(invocation, evidence, out));
    }

    fn partition(&mut self, topic: &str, topic_id: Option<&str>, partition: &PartitionReport) {
        self.write(|out| ndjson::partition(topic, topic_id, partition, out));
    }
}
