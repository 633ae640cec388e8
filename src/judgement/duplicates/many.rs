//! Incidents of one kind that are too many to be told one by one: one finding for those with the fewest copies.
//!
//! Goes in: the pairs of all of them, and the words of those that are told one by one. Each of them was called by the
//! same rules; what is said of all is what the weakest of the others bears out. Innocent: a producer for each call,
//! as functions have that start and end with it, makes an incident of each copy.

use super::episode::Episode;
use super::phrase::records;
use super::{Words, lines};
use crate::finding::{Cause, Code, Confidence};
use std::collections::BTreeMap;

/// What is known of the incidents that are told one by one, by mechanism and topic.
#[derive(Default)]
pub(super) struct Told(BTreeMap<(Code, u32), Words>);

impl Told {
    /// Takes the words of an episode: of each kind the least sure ones are kept.
    pub(super) fn hear(&mut self, episode: &Episode<'_>, words: &Words) {
        let place = (episode.code, episode.topic);
        if self.0.get(&place).is_none_or(|known| words.confidence < known.confidence) {
            self.0.insert(place, words.clone());
        }
    }

    /// The words of an episode that stands for `more` incidents.
    pub(super) fn words(&self, episode: &Episode<'_>, more: usize) -> Words {
        let like = self.0.get(&(episode.code, episode.topic));
        let (copies, topic) = (records(episode.surplus()), episode.topic_name());
        let cause = like.and_then(|like| like.cause.as_ref());
        let advice = like.map(|like| like.advice.clone()).unwrap_or_default();
        let mut all = lines(["--list FILE has every copy of them with both writers"]);
        all.extend(advice);
        all.truncate(3);
        Words {
            confidence: like.map_or(Confidence::Possible, |like| like.confidence),
            title: format!("{topic}: {copies} of {more} more incidents of this kind"),
            cause: cause.map(|cause| Cause { text: cause.text.clone(), confidence: Confidence::Possible }),
            facts: vec![
                format!(
                    "{more} pairs of sessions beside those that are told one by one, each with as many copies as these or \
                     fewer: judged by the same rules, and told together because they are so many"
                ),
                episode.moves(),
            ],
            alternatives: like.map(|like| like.alternatives.clone()).unwrap_or_default(),
            would_settle: like.map(|like| like.would_settle.clone()).unwrap_or_default(),
            advice: all,
        }
    }
}
