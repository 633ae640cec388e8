//! Equal records that are no copies: heartbeats, states that come back, typed test data.
//!
//! Where the content stands for the event, because no key does, an application that writes the same
//! content again and again means each of them. Such records are counted as updates, not accused.
//! Equal client times, or equal batches, are evidence all the same.

use super::pair::Pair;
use crate::finding::Level;

/// Copies of one content that a session may have written by mistake: a double send, and one more.
const BY_MISTAKE: usize = 3;

/// The same where a key names the event: an application can be stuck in a loop, but what comes back
/// more often than this is a heartbeat.
const BY_MISTAKE_WITH_KEY: usize = 6;

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    if is_returning_state(pair) {
        return true;
    }
    let topic = usize::try_from(pair.group.topic).ok().and_then(|at| pair.relations.topics.get(at));
    if topic.is_some_and(|topic| topic.every_repeat) {
        return false;
    }
    if pair.level <= Level::E3 {
        return false;
    }
    let mut by_one_writer = pair.group.copies.iter().filter(|copy| {
        copy.copy.session == pair.later.session && copy.copy.producer_id == pair.later.producer_id
    });
    // Not counted to the end: a key may be stored a million times, and this is asked for each copy.
    by_one_writer.nth(if pair.is_by_content() { BY_MISTAKE } else { BY_MISTAKE_WITH_KEY }).is_some()
}

/// Whether the key had another content in between, within one session: open, paid, open. A session
/// that sends again sends what it has just sent.
fn is_returning_state(pair: &Pair<'_>) -> bool {
    pair.level > Level::E3 && pair.same_session() && pair.same_partition() && pair.later.behind_other_content
}
