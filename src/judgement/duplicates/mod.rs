//! Findings about what is stored more than once.
//!
//! The unit is the pair: a surplus copy and the copy that it repeats. [`mechanism`] names what
//! joins the two; pairs of one incident are gathered into an episode, and each episode becomes one
//! finding in the words of its mechanism.
//!
//! Source of the rules: sections 8 and 16 of what Kafka's `ProducerStateManager` and
//! `TransactionManager` do, KIP-98, KIP-360, KIP-890, KAFKA-14034.

mod aborted;
mod alive;
mod borders;
mod choice;
mod concurrent;
mod connectors;
mod consumed;
mod dedup_lost;
mod episode;
mod epoch_bump;
mod gather;
mod many;
mod misplaced;
mod new_session;
mod pair;
mod parts;
mod phrase;
mod pipeline;
mod publication;
mod recurring;
mod reread;
mod restored;
mod resumed;
mod retry;
mod same_session;
mod undetermined;
mod window;

use super::draft::{dropped, kept, lines};
use crate::finding::{Alternative, Cause, Code, Confidence, Finding};
use crate::relations::Relations;
pub use choice::SurplusChoice;
use episode::Episode;
use pair::Pair;
pub use parts::in_parts;
pub use pipeline::is_fed_from;

/// How many examples a finding carries.
#[derive(Clone, Copy, Debug)]
pub enum Examples {
    /// At most so many groups.
    AtMost(usize),
    /// All of them.
    All,
}

/// The sentences of a finding.
#[derive(Clone)]
struct Words {
    confidence: Confidence,
    title: String,
    cause: Option<Cause>,
    facts: Vec<String>,
    alternatives: Vec<Alternative>,
    would_settle: Vec<String>,
    advice: Vec<String>,
}

/// One finding an episode, in the order of code, topic and place.
#[must_use]
pub fn findings(relations: &Relations, examples: Examples) -> Vec<Finding> {
    let mut told = many::Told::default();
    gather::gather(relations)
        .iter()
        .map(|episode| finding(episode, words(episode, &mut told), examples))
        .collect()
}

/// An episode as a finding, with what consumer groups tell of it.
fn finding(episode: &Episode<'_>, words: Words, examples: Examples) -> Finding {
    let mut finding = episode.finding(words, examples);
    finding.consumed_by = consumed::by(episode);
    match episode.code {
        Code::PipelineReplay => pipeline::link(&mut finding, episode, examples),
        Code::ResendNewSession => reread::link(&mut finding, episode, examples),
        _ => {}
    }
    finding
}

/// How many surplus copies all findings together tell of.
#[must_use]
pub fn surplus(relations: &Relations) -> u64 {
    gather::gather(relations).iter().map(|episode| episode::count(episode.surplus())).sum()
}

/// The mechanism that joins a surplus copy and its predecessor; `None` where equal records are what
/// the application means to write.
fn mechanism(pair: &Pair<'_>) -> Option<Code> {
    if restored::applies(pair) {
        return Some(Code::RestoredCopy);
    }
    if recurring::applies(pair) {
        return None;
    }
    if aborted::applies(pair) {
        return Some(Code::AbortedThenRetried);
    }
    // No retry, restart or replay puts two copies into one batch.
    if pair.same_batch() {
        return Some(Code::ResendSameSession);
    }
    if misplaced::applies(pair) {
        return Some(Code::MisplacedBatch);
    }
    if pipeline::applies(pair) {
        return Some(Code::PipelineReplay);
    }
    Some(match (pair.earlier.producer_id.is_protected(), pair.later.producer_id.is_protected()) {
        (false, false) if retry::applies(pair) => Code::RetryWithoutIdempotence,
        (true, true) if dedup_lost::applies(pair) => Code::BrokerDedupLost,
        (true, true) if epoch_bump::applies(pair) => Code::EpochBumpResend,
        (true, true) if same_session::applies(pair) => Code::ResendSameSession,
        (_, true) if concurrent::applies(pair) => Code::ConcurrentProducers,
        (_, true) | (true, false) if new_session::applies(pair) => Code::ResendNewSession,
        _ => Code::DuplicateUndetermined,
    })
}

/// As [`findings`], about the surplus copies that `choice` is about.
#[must_use]
pub fn chosen<'r>(relations: &'r Relations, examples: Examples, choice: &'r SurplusChoice) -> Vec<Finding> {
    let episodes = gather::gather(relations);
    let mut told = many::Told::default();
    let narrowed = episodes.iter().filter_map(|episode| {
        let mut words = words(episode, &mut told);
        let (narrowed, rest) = choice.narrow(episode)?;
        if let Some(rest) = rest {
            words.facts.insert(0, rest);
        }
        Some(finding(&narrowed, words, examples))
    });
    narrowed.collect()
}

fn words(episode: &Episode<'_>, told: &mut many::Told) -> Words {
    if let Some(more) = episode.stands_for {
        return told.words(episode, more);
    }
    let words = own_words(episode);
    told.hear(episode, &words);
    words
}

fn own_words(episode: &Episode<'_>) -> Words {
    match episode.code {
        Code::AbortedThenRetried => aborted::words(episode),
        Code::RestoredCopy => restored::words(episode),
        Code::MisplacedBatch => misplaced::words(episode),
        Code::PipelineReplay => pipeline::words(episode),
        Code::RetryWithoutIdempotence => retry::words(episode),
        Code::BrokerDedupLost => dedup_lost::words(episode),
        Code::EpochBumpResend => epoch_bump::words(episode),
        Code::ResendSameSession => same_session::words(episode),
        Code::ConcurrentProducers => concurrent::words(episode),
        Code::ResendNewSession => new_session::words(episode),
        _ => undetermined::words(episode),
    }
}

fn cause(text: &str, confidence: Confidence) -> Cause {
    Cause { text: text.to_owned(), confidence }
}
