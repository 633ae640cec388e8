//! How the events of each topic are identified, decided on a sample before the log is read.
//!
//! Goes in: what the user asked for and a [`Sample`] of the topic. Comes out: a [`TopicPlan`]. The
//! sample is taken at fixed places, so that the same files give the same plan. A key that was asked
//! for is never replaced; `auto` never picks a field of the payload by itself.

mod fields;
pub mod routing;
mod sample;
mod versions;
mod volatile;

pub use sample::{Sample, SampleRecord};
pub use versions::VersionField;

use crate::keys::{Identity, KeySpec, Mask, SieveMask};
use fields::Fields;

/// What the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChoice {
    /// Decide per topic.
    Auto,
    /// This key, everywhere.
    User(KeySpec),
}

/// How the events of one topic are identified.
#[derive(Clone, Debug)]
pub struct TopicPlan {
    /// The topic's name.
    pub topic: String,
    /// Whether the name begins with `__`.
    pub internal: bool,
    /// Whether a program keeps its state in it, so that repeats of a key are no events.
    pub holds_state: bool,
    /// What identifies an event.
    pub identity: Identity,
    /// Whether the user chose it.
    pub chosen_by_user: bool,
    /// Why, in a sentence.
    pub why: String,
    /// What does not count as content.
    pub mask: Mask,
    /// The same, for the first sieve.
    pub sieve: SieveMask,
}

/// What the user said about content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentRules {
    /// `--ignore-field`.
    pub ignored: Mask,
    /// `--strict-key`: every repeat of the key is a duplicate.
    pub strict_key: bool,
}

/// Records of the sample below which it proves little.
const FEW: usize = 20;

/// Whether MirrorMaker 2 keeps its configuration, positions or status there
/// (`DefaultReplicationPolicy.isMM2InternalTopic`); the same status is written several times.
fn is_of_mirror_maker(topic: &str) -> bool {
    topic.starts_with("mm2") && topic.ends_with(".internal")
}

/// Makes the plan of one topic.
#[must_use]
pub fn decide(topic: &str, choice: &KeyChoice, rules: &ContentRules, sample: &Sample) -> TopicPlan {
    let internal = topic.starts_with("__");
    let plan = |identity, chosen_by_user, why: String, mask| TopicPlan {
        topic: topic.to_owned(),
        internal,
        holds_state: internal || is_of_mirror_maker(topic),
        identity,
        chosen_by_user,
        why,
        sieve: SieveMask::of(&mask),
        mask,
    };
    if internal {
        let why = "an internal topic: its keys are entities".to_owned();
        return plan(Identity::Key(KeySpec::record_key()), false, why, Mask::default());
    }
    let fields = Fields::of(sample);
    let mask_for = |identity: &Identity| {
        let mut mask = rules.ignored.clone();
        volatile::find(sample, &fields, identity, &mut mask);
        mask
    };
    if let KeyChoice::User(spec) = choice {
        let identity = Identity::Key(spec.clone());
        let mask = mask_for(&identity);
        return plan(identity, true, "the key that was asked for".to_owned(), mask);
    }
    let by_key = Identity::Key(KeySpec::record_key());
    let records = sample.records.len();
    let without = sample.records.iter().filter(|record| record.key.is_none()).count();
    if records == 0 {
        return plan(by_key, false, "no record was sampled".to_owned(), rules.ignored.clone());
    }
    if without * 10 > records {
        let why = format!(
            "{without} of {records} sampled records have no record key, so the content identifies an event"
        );
        let mask = mask_for(&Identity::Content);
        return plan(Identity::Content, false, why, mask);
    }
    let mask = mask_for(&by_key);
    let repeats = sample.repeats(&mask);
    let all = repeats.same_content + repeats.other_content;
    // A key that most records repeat names something that reports again and again.
    let entity = all * 3 > records * 2;
    if !entity && (all * 20 <= records || repeats.other_content * 10 <= all) {
        let few = if records < FEW { " (few records)" } else { "" };
        let why = format!(
            "of {records} sampled records {all} repeat an earlier record key, {} of them with the same content{few}: the record key names an event",
            repeats.same_content
        );
        return plan(by_key, false, why, mask);
    }
    let why = format!(
        "of {records} sampled records {all} repeat an earlier record key, {} of them with other content: it names an entity, so the content identifies an event",
        repeats.other_content
    );
    let mask = mask_for(&Identity::Content);
    plan(Identity::Content, false, why, mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_kafka_and_of_mirror_maker_is_no_event() {
        let holds_state =
            |topic| decide(topic, &KeyChoice::Auto, &ContentRules::default(), &Sample::default()).holds_state;
        for topic in ["__consumer_offsets", "mm2-status.east.internal", "mm2-offset-syncs.west.internal"] {
            assert!(holds_state(topic), "{topic}");
        }
        for topic in ["orders", "east.orders", "orders.internal", "mm2-orders"] {
            assert!(!holds_state(topic), "{topic}");
        }
    }
}
