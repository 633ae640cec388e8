//! Who hears of the parts of a report while the audit goes on.

use crate::report::model::{Evidence, Invocation, PartitionReport};

/// Hears of each part of the report that is known before its end.
///
/// It is called by one thread at a time, and the reading waits for it.
pub trait Listener: Send {
    /// The files are found.
    fn begun(&mut self, invocation: &Invocation, evidence: &[Evidence]);

    /// A partition of this topic was read; they come in the order of their names, partitions and
    /// directories.
    fn partition(&mut self, topic: &str, topic_id: Option<&str>, partition: &PartitionReport);
}
