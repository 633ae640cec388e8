//! `aborted-then-retried`: the earlier copy is in an aborted transaction.
//!
//! Evidence: the abort marker over the earlier copy. Innocent by design (KIP-98): read_committed
//! consumers never see it. That a later copy was written because of the abort is another matter: one of another
//! producer that stands in front of the abort was not, and two copies in one aborted transaction were sent
//! twice before it.

use super::episode::Episode;
use super::pair::Pair;
use super::phrase::{records, session_life, were};
use super::undetermined::{equal_by_chance, what_tells};
use super::{Words, cause, concurrent, dropped, kept, lines};
use crate::finding::{Alternative, Confidence, Visibility};

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    pair.earlier.visibility == Visibility::Aborted && !in_one_transaction(pair)
}

/// Whether one transaction was aborted with both copies in it: nothing was written again after it.
fn in_one_transaction(pair: &Pair<'_>) -> bool {
    let (earlier, later) = (&pair.earlier, &pair.later);
    let marker = || pair.partition(earlier)?.aborted_by(earlier.producer_id, earlier.offset);
    pair.same_batch()
        || (pair.same_partition()
            && pair.same_session()
            && later.visibility == Visibility::Aborted
            && marker().is_some_and(|marker| later.offset < marker))
}

/// Whether another producer wrote the later copy in front of the marker that aborted the earlier one. Beside the marker a
/// producer knows how its transaction ends, or is told so: one that comes again under the same id is behind it.
fn in_front_of_abort(pair: &Pair<'_>) -> bool {
    let (earlier, later) = (&pair.earlier, &pair.later);
    let marker = || pair.partition(earlier)?.aborted_by(earlier.producer_id, earlier.offset);
    pair.same_partition()
        && earlier.producer_id != later.producer_id
        && marker().is_some_and(|marker| later.offset < marker)
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let all = episode.surplus();
    let front = episode.count(in_front_of_abort);
    let lived = episode.count(|pair| in_front_of_abort(pair) && concurrent::applies(pair));
    let valid = episode.count(|pair| pair.later.visibility.counts_when_committed());
    let open = episode.count(is_open);
    let later = |of: fn(&Pair<'_>) -> bool| episode.stretches_where(of, |pair| &pair.later);
    let mut facts = vec![format!(
        "the earlier copies are aborted, and only read_uncommitted consumers get them: {}",
        episode.stretches(|p| &p.earlier)
    )];
    if valid == all {
        facts.push(format!("the later copies are valid: {}", episode.stretches(|p| &p.later)));
    } else {
        let kinds: [Kind; 3] = [
            ("valid", |pair| pair.later.visibility.counts_when_committed()),
            ("aborted as well", |pair| pair.later.visibility == Visibility::Aborted),
            ("in an open transaction", is_open),
        ];
        let told = kinds.into_iter().filter_map(|(what, of)| {
            let number = episode.count(of);
            let verb = if number == 1 { "is" } else { "are" };
            (number > 0).then(|| format!("{number} {verb} {what} ({})", later(of)))
        });
        let undecided = if open > 0 {
            "; if that is aborted, read_committed consumers get its events from no copy that is named here"
        } else {
            ""
        };
        let told: Vec<String> = told.collect();
        facts.push(format!("of {all} later copies {}{undecided}", told.join(", ")));
    }
    if front > 0 {
        let sessions: Vec<String> = episode
            .sessions()
            .iter()
            .take(SESSIONS)
            .map(|session| session_life(episode.relations, episode.topic, session))
            .collect();
        facts.push(format!(
            "{front} of {all} later copies are of another producer and stand in front of the abort: they are no retry after it, and had \
             the first transaction been committed, these events would count twice"
        ));
        facts.extend(sessions);
    }
    // Without a key, equal events of two transactions look the same.
    let by_chance = episode.is_as_by_chance();
    let equal = if episode.is_by_content() {
        Some(kept(
            "equal events",
            format!("{}: they may be different events with equal content", what_tells(episode)),
        ))
    } else {
        by_chance.then(|| equal_by_chance(episode))
    };
    let isolation =
        "consumers that must not see aborted records set isolation.level=read_committed".to_owned();
    Words {
        confidence: if front > 0 || equal.is_some() { Confidence::Likely } else { Confidence::Certain },
        title: format!(
            "{} of aborted transactions in {} {} written {}{}",
            records(all),
            episode.topic_name(),
            were(all),
            if front == all { "by another producer as well, in front of the abort," } else { "again" },
            match (valid == all, all) {
                (true, 1) => " and is valid there".to_owned(),
                (true, _) => " and are valid there".to_owned(),
                (false, _) if open > 0 => format!(", {open} into a transaction that is open"),
                (false, _) => String::new(),
            }
        ),
        cause: (front > 0).then(|| {
            cause(
                if lived > 0 {
                    "two live instances work on the same events, and transactions of one of them were aborted"
                } else {
                    "a restart under another transactional.id did the work again before the coordinator ended what was open, or a second \
                     live instance"
                },
                Confidence::Possible,
            )
        }),
        facts,
        alternatives: (front > 0)
            .then(|| rivals(front, lived, all))
            .into_iter()
            .flatten()
            .chain(equal)
            .chain([dropped(
                "duplicate for read_committed consumers",
                "the earlier copies are aborted, so they see at most the later ones",
            )])
            .collect(),
        would_settle: (open > 0)
            .then(|| "how the open transaction ends (see transaction-open)".to_owned())
            .into_iter()
            .chain((front > 0).then(|| "which hosts and applications had these producer ids, and why the transactions were aborted".to_owned()))
            .collect(),
        advice: if front > 0 {
            lines([
                "nothing to remove: read_committed consumers get no event twice from these; keep the later copies that are valid",
                "find out why two producers write the same events: the next transaction that is committed by both stores them twice",
            ])
            .into_iter()
            .chain([isolation])
            .collect()
        } else if valid == all {
            vec![
                "nothing to repair: transactions did their work; keep the later copies".to_owned(),
                isolation,
            ]
        } else if open > 0 {
            vec![
                "wait with a repair until the open transaction is ended (see transaction-open): if it is aborted, its events \
                 have to be sent again"
                    .to_owned(),
                isolation,
            ]
        } else {
            vec![
                "nothing to repair where the later copy is valid; see aborted-not-retried for events that have none".to_owned(),
                isolation,
            ]
        },
    }
}

/// What else may have written copies in front of an abort.
fn rivals(front: usize, lived: usize, all: usize) -> Vec<Alternative> {
    let mut rivals = Vec::new();
    if lived > 0 {
        rivals.push(kept(
            "concurrent-producers",
            format!("in {lived} of {all} pairs the writer of the later copy had begun before the earlier one was written"),
        ));
    } else {
        rivals.push(kept(
            "concurrent-producers",
            "a second live instance that began behind the earlier copies writes them, too",
        ));
    }
    if lived < front {
        rivals.push(kept(
            "resend-new-session",
            "a restart under another transactional.id does not wait for the end of what was left open",
        ));
    }
    rivals
}

/// Lives of writers that are told one by one.
const SESSIONS: usize = 2;

/// What later copies are, and which of them.
type Kind = (&'static str, fn(&Pair<'_>) -> bool);

fn is_open(pair: &Pair<'_>) -> bool {
    pair.later.visibility == Visibility::Open
}
