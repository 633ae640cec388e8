//! Equal records that are no copies: heartbeats, states that come back, typed test data.
//!
//! Where the content stands for the event, because no key does, an application that writes the same
//! content again and again means each of them. Such records are counted as updates, not accused.
//! Equal client times, or equal batches, are evidence all the same.

use super::pair::Pair;
use crate::finding::Level;

/// Copies of one content that a session may have written by mistake: a double send, and one more.
const BY_MISTAKE: usize = 3;

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    let topic = usize::try_from(pair.group.topic).ok().and_then(|at| pair.relations.topics.get(at));
    let by_content = topic.is_some_and(|topic| topic.identity == "content");
    if !by_content || pair.level <= Level::E3 {
        return false;
    }
    let by_one_writer = pair.group.copies.iter().filter(|copy| {
        copy.copy.session == pair.later.session && copy.copy.producer_id == pair.later.producer_id
    });
    by_one_writer.count() > BY_MISTAKE
}
