//! Equal records that are no copies: heartbeats, states that come back, typed test data.
//!
//! Where the content stands for the event, because no key does, an application that writes the same
//! content again and again means each of them. Such records are counted as updates, not accused.
//! Equal client times, or equal batches, are evidence all the same, unless the times are whole seconds.

use super::pair::Pair;

/// Copies of one content that a session may have written by mistake: a double send, and one more.
const BY_MISTAKE: u32 = 3;

/// The same where a key names the event: an application can be stuck in a loop, but what comes back
/// more often than this is a heartbeat.
const BY_MISTAKE_WITH_KEY: u32 = 6;

/// Whether the writer of the later copy wrote the content more often than by mistake, or several did as
/// often as a mistake would just explain: a mistake does not come back in life after life.
fn mean_it(pair: &Pair<'_>, by_mistake: u32) -> bool {
    let by_several = pair.writers.second_most >= BY_MISTAKE;
    pair.writers.own > by_mistake || (pair.writers.own >= BY_MISTAKE && by_several)
}

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    is_returning_state(pair) || is_meant(pair)
}

/// Whether the application means each of the records, by how often it wrote them.
pub(super) fn is_meant(pair: &Pair<'_>) -> bool {
    let topic = usize::try_from(pair.topic).ok().and_then(|at| pair.relations.topics.get(at));
    if topic.is_some_and(|topic| topic.every_repeat) {
        return false;
    }
    let by_mistake = if pair.is_by_content() { BY_MISTAKE } else { BY_MISTAKE_WITH_KEY };
    !pair.has_telling_time() && mean_it(pair, by_mistake)
}

/// Whether the key had another content in between, within one session: open, paid, open. A session
/// that sends again sends what it has just sent, or a whole stretch of it.
pub(super) fn is_returning_state(pair: &Pair<'_>) -> bool {
    !pair.has_telling_time()
        && pair.same_session()
        && pair.same_partition()
        && pair.later.behind_other_content
}
