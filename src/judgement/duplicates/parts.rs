//! Every surplus copy of the findings, a few at a time: there may be more of them than fit into memory.

use super::SurplusChoice;
use super::episode::Episode;
use super::gather::gather;
use crate::error::AuditError;
use crate::finding::{Finding, Group};
use crate::judgement::identify::{TopicLabel, id, order};
use crate::relations::Relations;

/// Surplus copies in one part.
const PART: usize = 1_000;

/// Hands out the findings about the chosen copies, in the order of a report and with its ids, each in as many parts as
/// it takes. A group is one surplus copy behind the earlier copy that it repeats. Nothing but ids, codes, topics and
/// groups is filled in.
///
/// # Errors
/// That of `each`.
pub fn in_parts<E: From<AuditError>>(
    relations: &Relations,
    choice: &SurplusChoice,
    topics: &[TopicLabel],
    mut each: impl FnMut(Finding) -> Result<(), E>,
) -> Result<(), E> {
    let episodes = gather(relations);
    let narrowed = episodes.iter().filter_map(|episode| choice.narrow(episode));
    let mut heads: Vec<(Finding, Episode<'_>)> = narrowed
        .map(|(episode, _)| {
            let groups = episode.twos().take(1).collect();
            let (topics_of, topic_numbers) = episode.topics();
            let mut head =
                Finding { topics: topics_of, topic_numbers, groups, ..Finding::empty(episode.code) };
            head.id = id(&head, topics);
            (head, episode)
        })
        .collect();
    heads.sort_by_cached_key(|(head, _)| order(head));
    for (head, episode) in heads {
        let head = Finding { groups: Vec::new(), ..head };
        let mut twos = episode.twos();
        loop {
            let groups: Vec<Group> = twos.by_ref().take(PART).collect();
            if groups.is_empty() {
                break;
            }
            each(Finding { groups, ..head.clone() })?;
        }
    }
    Ok(())
}
