//! How the events of each topic are identified, decided on a sample before the log is read.
//!
//! Goes in: what the user asked for and a [`Sample`] of the topic. Comes out: a [`TopicPlan`]. The
//! sample is taken at fixed places, so that the same files give the same plan. A key that was asked
//! for is never replaced; `auto` never picks a field of the payload by itself.

pub mod adviser;
mod alike;
mod chance;
mod fields;
mod file;
pub mod routing;
mod sample;
mod state;
mod versions;
mod volatile;

pub use alike::Contents;
pub use file::{PlanError, PlanFile, PlannedTopic};
pub use sample::{ClientTimes, Sample, SampleRecord};
pub use versions::VersionField;
pub use volatile::VolatileField;

use crate::keys::{Identity, KeyPart, KeySpec, Mask, SieveMask};
use adviser::{Candidate, Observer};
use alike::Likeness;
use chance::Repeated;
use fields::Fields;

/// What the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChoice {
    /// Decide per topic.
    Auto,
    /// This key, everywhere.
    User(KeySpec),
    /// What a plan says of the topics that it names; of the others, this key or, without one, what
    /// the tool decides.
    Planned(PlanFile, Option<KeySpec>),
}

impl KeyChoice {
    /// The one key for all topics, for questions that take no other: what was asked for, or what a plan
    /// says when it is about one topic.
    #[must_use]
    pub fn one_key(&self) -> Option<&KeySpec> {
        match self {
            Self::Auto => None,
            Self::User(spec) => Some(spec),
            Self::Planned(plan, otherwise) => otherwise.as_ref().or_else(|| plan.only_key()),
        }
    }

    /// The keys that it names.
    pub fn keys_mut(&mut self) -> Vec<&mut KeySpec> {
        match self {
            Self::Auto => Vec::new(),
            Self::User(spec) => vec![spec],
            Self::Planned(plan, otherwise) => plan.keys_mut().chain(otherwise).collect(),
        }
    }
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
    /// What a duplicate repeats; always the content where that is the identity.
    pub repeats: RepeatsOf,
    /// What does not count as content.
    pub mask: Mask,
    /// The same, for the first sieve.
    pub sieve: SieveMask,
    /// Why each of its fields does not count.
    pub volatile: Vec<VolatileField>,
    /// Those of them that are called ids, random and never the same twice: they may name the event.
    pub masked_ids: Vec<KeyPart>,
    /// Whether contents tell events of one key apart.
    pub contents: Contents,
    /// How fine the times are that clients write.
    pub client_times: ClientTimes,
    /// Fields of the sample that may identify the events better, the best first.
    pub suggestions: Vec<Candidate>,
    /// Pairs of fields that may do so together where no single field does.
    pub pairs: Vec<[KeyPart; 2]>,
}

impl TopicPlan {
    /// Whether a field says more than the identity that was chosen.
    #[must_use]
    pub fn would_add(&self, candidate: &Candidate) -> bool {
        let is_masked_id = matches!(candidate.key.parts(), [part] if self.masked_ids.contains(part));
        let Identity::Key(chosen) = &self.identity else { return candidate.suggested || is_masked_id };
        let same =
            *chosen == candidate.key || (candidate.goes_with_record_key && *chosen == KeySpec::record_key());
        is_masked_id || candidate.suggested && !same
    }
}

/// What the user said about when two records are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentRules {
    /// `--ignore-field`.
    pub ignored: Mask,
    /// What a duplicate repeats.
    pub repeats: RepeatsOf,
    /// How far apart a record and its repeat may be.
    pub reach: Reach,
    /// Whose bytes are compared.
    pub proof: Proof,
}

/// Of which copies bytes are compared, after digests have selected them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Of those that the report shows.
    #[default]
    OfShown,
    /// Of all (`--verify`).
    OfAll,
}

/// What a duplicate repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatsOf {
    /// The key and the content: other content is an update.
    #[default]
    Content,
    /// The key (`--strict-key`).
    Key,
}

/// What a broker does with old records of a topic (`cleanup.policy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cleanup {
    /// It deletes whole segments, or nothing tells.
    #[default]
    Delete,
    /// It keeps the newest record of each key.
    Compact,
}

/// Where repeats are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Within a topic.
    #[default]
    Topic,
    /// In all topics (`--across`).
    Topics,
}

/// Records of the sample below which it proves little.
const FEW: usize = 20;

/// Bytes that the adviser may take for a sample.
const ADVISER: usize = 8 << 20;
/// Suggestions for a topic.
const SUGGESTIONS: usize = 3;

/// Why a key is the identity that somebody named.
pub const ASKED_FOR: &str = "the key that was asked for";

/// Makes the plan of one topic.
#[must_use]
pub fn decide(
    topic: &str,
    choice: &KeyChoice,
    rules: &ContentRules,
    cleanup: Cleanup,
    sample: &Sample,
) -> TopicPlan {
    let fields = if topic.starts_with("__") { Fields::default() } else { Fields::of(sample) };
    let mut plan = identify(topic, choice, rules, cleanup, sample, &fields);
    plan.volatile = volatile::reasons(&plan.mask, &rules.ignored, sample, &fields);
    if !plan.chosen_by_user {
        plan.masked_ids = volatile::ids_in(&plan.mask, &rules.ignored, &fields);
        plan.why.push_str(&may_be_an_id(&plan.masked_ids));
    }
    if !plan.internal && !sample.records.is_empty() {
        let observed = |pairs| {
            let mut observer = Observer::new(plan.mask.clone(), ADVISER).with_pairs(pairs);
            sample.records.iter().for_each(|record| observer.take_sampled(record));
            observer
        };
        let singles = observed(Vec::new());
        let pairs = singles.pairs();
        let mut candidates =
            if pairs.is_empty() { singles.candidates() } else { observed(pairs.clone()).candidates() };
        plan.pairs = pairs;
        candidates.retain(|candidate| plan.would_add(candidate));
        candidates.truncate(SUGGESTIONS);
        plan.suggestions = candidates;
    }
    plan
}

fn identify(
    topic: &str,
    choice: &KeyChoice,
    rules: &ContentRules,
    cleanup: Cleanup,
    sample: &Sample,
    fields: &Fields,
) -> TopicPlan {
    let internal = topic.starts_with("__");
    let plan = |identity, chosen_by_user, why: String, mask| TopicPlan {
        topic: topic.to_owned(),
        internal,
        holds_state: state::is_kept_in(topic, sample),
        repeats: if identity == Identity::Content { RepeatsOf::Content } else { rules.repeats },
        identity,
        chosen_by_user,
        why,
        sieve: SieveMask::of(&mask),
        mask,
        volatile: Vec::new(),
        masked_ids: Vec::new(),
        contents: Contents::default(),
        client_times: sample.client_times(),
        suggestions: Vec::new(),
        pairs: Vec::new(),
    };
    if internal {
        let why = "an internal topic: its keys are entities".to_owned();
        return plan(Identity::Key(KeySpec::record_key()), false, why, Mask::default());
    }
    let mask_for = |identity: &Identity| {
        let mut mask = rules.ignored.clone();
        volatile::find(sample, fields, identity, &mut mask);
        mask
    };
    let by_content = |mut why: String| {
        let mut mask = rules.ignored.clone();
        let kept = volatile::find(sample, fields, &Identity::Content, &mut mask);
        why.push_str(&may_name_it(&kept));
        plan(Identity::Content, false, why, mask)
    };
    let user = match choice {
        KeyChoice::Auto => None,
        KeyChoice::User(spec) => Some(spec),
        KeyChoice::Planned(file, otherwise) => match file.topic(topic) {
            Some(planned) => {
                let mut mask = rules.ignored.clone();
                mask.join(&planned.ignored);
                return plan(planned.identity.clone(), true, "the plan says so".to_owned(), mask);
            }
            None => otherwise.as_ref(),
        },
    };
    if let Some(spec) = user {
        let identity = Identity::Key(spec.clone());
        let mask = mask_for(&identity);
        return plan(identity, true, ASKED_FOR.to_owned(), mask);
    }
    let by_key = Identity::Key(KeySpec::record_key());
    let records = sample.records.len();
    let without = sample.records.iter().filter(|record| record.key.is_none()).count();
    if records == 0 {
        return plan(by_key, false, "no record was sampled".to_owned(), rules.ignored.clone());
    }
    if without * 10 > records {
        let why = format!(
            "{without} of {records} sampled records have no record key, so the content identifies an event{}",
            hidden_fields(fields, sample)
        );
        return by_content(why);
    }
    let mask = mask_for(&by_key);
    let repeats = sample.repeats(&mask);
    let all = repeats.same_content + repeats.other_content;
    // A key that most records repeat names something that reports again and again.
    let entity = all * 3 > records * 2;
    if !entity && (all * 20 <= records || repeats.other_content * 10 <= all) {
        let contents = Likeness::of(sample, &mask).explains(repeats);
        let has_ids = !volatile::ids_in(&mask, &rules.ignored, fields).is_empty();
        let sign = match volatile::repeated(sample, &mask) {
            Repeated::Never | Repeated::AsCopies => None,
            _ if contents == Contents::Alike => Some("and records of different keys are as equal"),
            _ if has_ids => Some("and an id tells them apart"),
            Repeated::AsDrawn => Some("some of them several times"),
            Repeated::AsByChance => None,
        };
        if let Some(sign) = sign {
            return by_content(format!(
                "of {records} sampled records {all} repeat an earlier record key, {} of them with the same content, but in no \
                 order that copies have, {sign}: the record key may name an entity, so the content identifies an event",
                repeats.same_content
            ));
        }
        let few = if records < FEW { " (few records)" } else { "" };
        let why = if records == 1 {
            format!("1 sampled record shows nothing of repeats: {}", takes(cleanup))
        } else if all == 0 {
            format!(
                "none of {records} sampled records repeats an earlier record key{few}: {}",
                names(cleanup, "it")
            )
        } else {
            format!(
                "of {records} sampled records {all} repeat an earlier record key, {} of them with the same content{few}: {}",
                repeats.same_content,
                names(cleanup, "the record key")
            )
        };
        return TopicPlan { contents, ..plan(by_key, false, why, mask) };
    }
    // Where it is the number of repeats that tells, what they hold does not.
    let with = if repeats.other_content * 10 <= all {
        "most of all".to_owned()
    } else {
        format!("{} of them with other content", repeats.other_content)
    };
    let why = format!(
        "of {records} sampled records {all} repeat an earlier record key, {with}: it names an entity, so the content identifies an event"
    );
    by_content(why)
}

/// What is to be said where fields differ as volatile ones do, and nobody can tell whether they are.
fn may_name_it(kept: &[String]) -> String {
    match kept {
        [] => String::new(),
        [field] => format!(
            "; {field} counts, as what is left without it comes again as by chance: it may tell events apart (--key \
             {field}) or not (--ignore-field {field})"
        ),
        [first, ..] => format!(
            "; {} count, as what is left without them comes again as by chance: one may tell events apart (--key \
             {first}) or not (--ignore-field {first})",
            kept.join(" and ")
        ),
    }
}

/// What is to be said where ids were taken for nonces.
fn may_be_an_id(masked: &[KeyPart]) -> String {
    match masked {
        [] => String::new(),
        [field] => format!(
            "; {field} is never the same twice and does not count, as what is left without it comes again as copies do, or \
             not at all: if it names the event, --key {field}"
        ),
        [first, ..] => {
            let names: Vec<String> = masked.iter().map(KeyPart::to_string).collect();
            format!(
                "; {} are never the same twice and do not count, as what is left without them comes again as copies do, or not \
                 at all: if one names the event, --key {first}",
                names.join(" and ")
            )
        }
    }
}

/// What a record key names that hardly repeats. Where the cleaner takes what a later record of the key replaces, that
/// it does not repeat says nothing.
fn names(cleanup: Cleanup, it: &str) -> String {
    match cleanup {
        Cleanup::Delete => format!("{it} names an event"),
        Cleanup::Compact => {
            format!(
                "{it} names an entity, of which the compacted log keeps the newest record, and only an equal one is a copy"
            )
        }
    }
}

/// The same where nothing could repeat.
fn takes(cleanup: Cleanup) -> String {
    match cleanup {
        Cleanup::Delete => "its record key is taken for the name of an event".to_owned(),
        Cleanup::Compact => names(cleanup, "the record key"),
    }
}

/// What is to be said where values that all differ could not be looked into.
fn hidden_fields(fields: &Fields, sample: &Sample) -> &'static str {
    let mut values = sample.records.iter().filter_map(|record| record.value.as_deref()).peekable();
    if fields.has_members() || sample.repeats_itself() || values.peek().is_none() {
        return "";
    }
    // Magic byte 0 and the id of a schema.
    if values.all(|value| value.first() == Some(&0) && value.len() > 5) {
        return "; the values look framed as by a schema registry, and no field in them was looked at (--key \
                avro:/pointer or protobuf:/pointer with --schema DIR)";
    }
    "; the values are no JSON, and no field in them was looked at (--key regex:PATTERN names one)"
}
