//! Equal records that are no copies: heartbeats, states that come back, typed test data.
//!
//! Where the content stands for the event, because no key does, an application that writes the same
//! content again and again means each of them. Such records are counted as updates, not accused.
//! Equal client times, or equal batches, are evidence all the same.

use super::pair::Pair;
use crate::finding::Level;
use crate::relations::{KeyGroup, StoredCopy};
use crate::units::ProducerId;
use std::collections::BTreeMap;

/// Copies of one content that a session may have written by mistake: a double send, and one more.
const BY_MISTAKE: usize = 3;

/// The same where a key names the event: an application can be stuck in a loop, but what comes back
/// more often than this is a heartbeat.
const BY_MISTAKE_WITH_KEY: usize = 6;

/// How often each writer wrote one content.
pub(super) struct Writers(BTreeMap<(Option<u32>, ProducerId), usize>);

impl Writers {
    pub(super) fn of(group: &KeyGroup) -> Self {
        let mut times = BTreeMap::new();
        for related in &group.copies {
            *times.entry((related.copy.session, related.copy.producer_id)).or_default() += 1;
        }
        Self(times)
    }

    /// Whether one writer wrote the content more often than by mistake, or several did as often as a
    /// mistake would just explain: a mistake does not come back in life after life.
    fn mean_it(&self, copy: &StoredCopy, by_mistake: usize) -> bool {
        let times = self.0.get(&(copy.session, copy.producer_id)).copied().unwrap_or_default();
        let by_several = || self.0.values().filter(|&&times| times >= BY_MISTAKE).count() > 1;
        times > by_mistake || (times >= BY_MISTAKE && by_several())
    }
}

pub(super) fn applies(pair: &Pair<'_>, writers: &Writers) -> bool {
    if is_returning_state(pair) {
        return true;
    }
    let topic = usize::try_from(pair.group.topic).ok().and_then(|at| pair.relations.topics.get(at));
    if topic.is_some_and(|topic| topic.every_repeat) {
        return false;
    }
    let by_mistake = if pair.is_by_content() { BY_MISTAKE } else { BY_MISTAKE_WITH_KEY };
    pair.level > Level::E3 && writers.mean_it(pair.later, by_mistake)
}

/// Whether the key had another content in between, within one session: open, paid, open. A session
/// that sends again sends what it has just sent.
fn is_returning_state(pair: &Pair<'_>) -> bool {
    pair.level > Level::E3 && pair.same_session() && pair.same_partition() && pair.later.behind_other_content
}
