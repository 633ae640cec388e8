//! A surplus copy and the copy that it repeats, with the questions that mechanisms ask of them.

use crate::finding::Level;
use crate::plan::{ClientTimes, Contents};
use crate::relations::{
    PartitionNote, RelatedPair, Relations, SessionNote, SessionSpan, StoredCopy, TopicNote,
};
use crate::units::Offset;
use std::ops::Deref;
use std::sync::Arc;

/// A surplus copy and its predecessor, among the relations that they are of.
pub(super) struct Pair<'r> {
    pub(super) relations: &'r Relations,
    pub(super) row: RelatedPair,
}

impl Deref for Pair<'_> {
    type Target = RelatedPair;

    fn deref(&self) -> &RelatedPair {
        &self.row
    }
}

/// Times that are multiples of this are coarse where many are.
const WHOLE_MS: i64 = 1000;

/// In which order a session's begin and a record stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// The session had written before the record was.
    Before,
    /// Its first write came after the record.
    After,
    /// They share no partition and the times do not tell.
    Unknown,
}

impl<'r> Pair<'r> {
    pub(super) fn same_partition(&self) -> bool {
        self.earlier.partition == self.later.partition
    }

    /// Whether both copies stand in one batch, which a client builds and sends in one go.
    pub(super) fn same_batch(&self) -> bool {
        self.same_partition()
            && self.earlier.batch.base_offset == self.later.batch.base_offset
            && self.earlier.batch.position == self.later.batch.position
    }

    pub(super) fn same_session(&self) -> bool {
        self.earlier.session.is_some() && self.earlier.session == self.later.session
    }

    pub(super) fn earlier_session(&self) -> Option<Arc<SessionNote>> {
        session(self.relations, &self.earlier)
    }

    pub(super) fn later_session(&self) -> Option<Arc<SessionNote>> {
        session(self.relations, &self.later)
    }

    /// Whether the session of the surplus copy had begun when the earlier copy was written.
    ///
    /// Inside a partition offsets answer, never client times. Where the session wrote nothing to
    /// the earlier copy's partition, the partitions that both sessions share do, when one session had
    /// ended in all of them before the other began. Only then times are compared, and only where
    /// the copies have times of their own: equal ones are those of the event.
    pub(super) fn later_session_begun(&self) -> Begun {
        let Some(session) = self.later_session() else { return Begun::Unknown };
        if let Some(span) = session.span(self.earlier.partition) {
            return if span.first_offset < self.earlier.offset || self.had_begun_below(&session, span) {
                Begun::Before
            } else if session.begins_midstream {
                // What it wrote first is not in the files.
                Begun::Unknown
            } else {
                Begun::After
            };
        }
        if self.earlier_session().is_some_and(|earlier| had_ended(&earlier, &session)) {
            return Begun::After;
        }
        match (session.first_timestamp(), self.earlier.timestamp) {
            (Some(began), Some(written)) if self.level >= Level::E4 => {
                if began < written {
                    Begun::Before
                } else {
                    Begun::After
                }
            }
            _ => Begun::Unknown,
        }
    }

    /// Whether the first batch of a session in the earlier copy's partition is not its first there, and those before
    /// it stood below what is in the files: below the earlier copy, which is in them.
    pub(super) fn had_begun_below(&self, session: &SessionNote, span: &SessionSpan) -> bool {
        let note = self.partition(&self.earlier);
        note.is_some_and(|note| note.begun_below.contains(&(session.producer_id, span.first_offset)))
    }

    /// Whether records without producer id had been written to the earlier copy's partition
    /// before it.
    pub(super) fn unprotected_begun(&self) -> Begun {
        match self.partition(&self.earlier).and_then(|note| note.first_unprotected_offset) {
            Some(first) if first < self.earlier.offset => Begun::Before,
            _ => Begun::After,
        }
    }

    /// Whether the later copy stands in a format that cannot carry a producer id.
    pub(super) fn is_in_old_format(&self) -> bool {
        let old = self.partition(&self.later).map_or(&[][..], |note| &note.old_formats);
        let behind = old.partition_point(|(first, _)| *first <= self.later.offset);
        let stretch = behind.checked_sub(1).and_then(|at| old.get(at));
        stretch.is_some_and(|(_, last)| self.later.offset <= *last)
    }

    /// Whether the topic's events are told by their content, because no key does.
    pub(super) fn is_by_content(&self) -> bool {
        self.topic_note().is_some_and(|topic| topic.identity == "content")
    }

    /// Whether what the topic's events say does not tell equal ones from copies: no key does, or one beside which hardly
    /// any two records differ.
    pub(super) fn is_by_little(&self) -> bool {
        self.is_by_content() || self.topic_note().is_some_and(|topic| topic.contents == Contents::Alike)
    }

    fn topic_note(&self) -> Option<&'r TopicNote> {
        usize::try_from(self.topic).ok().and_then(|at| self.relations.topics.get(at))
    }

    /// Whether both copies have one client time that two events hardly share: one in milliseconds. Where clients write
    /// whole seconds, or no time at all, equal events have equal times. A batch that the broker could have recognised
    /// has more than a time in common.
    pub(super) fn has_telling_time(&self) -> bool {
        let is_whole = |time: i64| time % WHOLE_MS == 0;
        let coarse = self.topic_note().is_some_and(|topic| topic.client_times == ClientTimes::WholeSeconds);
        match self.level {
            Level::E1 if self.later.producer_id.is_protected() => true,
            Level::E1 | Level::E2 | Level::E3 => {
                self.later.client_timestamp.is_some_and(|time| !(coarse && is_whole(time)))
            }
            Level::E4 | Level::E5 | Level::Other(_) => false,
        }
    }

    pub(super) fn partition(&self, copy: &StoredCopy) -> Option<&'r PartitionNote> {
        partition(self.relations, copy.partition)
    }
}

pub(super) fn session(relations: &Relations, copy: &StoredCopy) -> Option<Arc<SessionNote>> {
    relations.sessions.get(copy.session?)
}

pub(super) fn partition(relations: &Relations, index: u32) -> Option<&PartitionNote> {
    relations.partitions.get(usize::try_from(index).ok()?)
}

/// Whether `session` wrote to any partition behind the given offset of `partition`.
pub(super) fn wrote_behind(session: &SessionNote, partition: u32, offset: Offset) -> bool {
    session.span(partition).is_some_and(|span| span.last_offset > offset)
}

/// Whether `earlier` had ended before `later` began in all partitions to which both wrote, and there
/// are such.
pub(super) fn had_ended(earlier: &SessionNote, later: &SessionNote) -> bool {
    let mut shared =
        earlier.spans.iter().filter_map(|span| Some((span, later.span(span.partition)?))).peekable();
    shared.peek().is_some() && shared.all(|(first, second)| first.last_offset < second.first_offset)
}
