//! Which surplus copies a report is about: by time, offset and producer.
//!
//! The copies that are not chosen are judged with the others, and originals are looked for
//! everywhere, so that a choice changes how much is told and never what it is called.

use super::episode::Episode;
use super::restored;
use crate::finding::Code;
use crate::relations::StoredCopy;
use crate::units::{ProducerId, Range};

/// What a surplus copy must be to be told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SurplusChoice {
    /// The time that a consumer sees, in milliseconds; a copy without time is in the open range alone.
    pub times: Range,
    /// Its offset.
    pub offsets: Range,
    /// Who wrote it; empty for anybody.
    pub producer_ids: Vec<ProducerId>,
}

impl SurplusChoice {
    /// Whether every copy is chosen.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn chooses(&self, copy: &StoredCopy) -> bool {
        let in_time = match copy.timestamp {
            Some(time) => self.times.contains(time),
            None => self.times.is_open(),
        };
        in_time
            && self.offsets.contains(copy.offset.0)
            && (self.producer_ids.is_empty() || self.producer_ids.contains(&copy.producer_id))
    }

    /// The part of an episode that is chosen, with a sentence about the rest; `None` where nothing
    /// is. Copied files are told as a whole where not all of their records are listed.
    pub(super) fn narrow<'r>(&'r self, episode: &Episode<'r>) -> Option<(Episode<'r>, Option<String>)> {
        let all = episode.surplus();
        let as_a_whole = episode.code == Code::RestoredCopy && restored::unlisted(episode).0 > 0;
        let narrowed = episode.only((!as_a_whole).then_some(self));
        let chosen = narrowed.surplus();
        let rest = (chosen < all).then(|| {
            format!(
                "{chosen} of the {all} surplus copies are in the time, offsets and producers that were chosen"
            )
        });
        (chosen > 0).then_some((narrowed, rest))
    }
}
