//! A stored copy in the words of a finding: indices become names.

use super::{PartitionNote, Relations, SessionNote, StoredCopy};
use crate::finding::{Copy, Place};
use crate::units::Sequence;
use std::sync::Arc;

impl Relations {
    /// The partition directory behind an index.
    #[must_use]
    pub fn partition(&self, index: u32) -> Option<&PartitionNote> {
        self.partitions.get(usize::try_from(index).ok()?)
    }

    /// The session that wrote a copy.
    #[must_use]
    pub fn session_of(&self, copy: &StoredCopy) -> Option<Arc<SessionNote>> {
        self.sessions.get(copy.session?)
    }

    /// Where a copy stands.
    #[must_use]
    pub fn place(&self, copy: &StoredCopy) -> Place {
        let note = self.partition(copy.partition);
        let topic = note.and_then(|note| self.topics.get(usize::try_from(note.topic).ok()?));
        Place {
            topic: topic.map_or_else(String::new, |topic| topic.name.clone()),
            partition: note.map_or(-1, |note| note.partition),
            offset: copy.offset.0,
        }
    }

    /// A copy that repeats nothing.
    #[must_use]
    pub fn told(&self, copy: &StoredCopy) -> Copy {
        let note = self.partition(copy.partition);
        let Place { topic, partition, offset } = self.place(copy);
        let segment = usize::try_from(copy.batch.segment).ok();
        Copy {
            topic,
            partition,
            directory: note.map_or_else(String::new, |note| note.directory.clone()),
            broker_id: note.and_then(|note| note.broker_id),
            segment: note.and_then(|note| note.segments.get(segment?)).cloned().unwrap_or_default(),
            position: copy.batch.position.0,
            offset,
            timestamp: None,
            time: None,
            timestamp_type: copy.timestamp_type.name().to_owned(),
            producer_id: copy.producer_id.0,
            producer_epoch: copy.producer_epoch.map(|epoch| epoch.0),
            sequence: copy.sequence.map(Sequence::get),
            session: self.session_of(copy).map(|session| session.name.clone()),
            partition_leader_epoch: copy.partition_leader_epoch.map(|epoch| epoch.0),
            batch_base_offset: copy.batch.base_offset.0,
            crc: copy.batch.crc,
            visibility: copy.visibility,
            repeats: None,
            level: None,
            value: None,
        }
        .at_time(copy.timestamp)
    }
}
