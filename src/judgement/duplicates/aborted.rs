//! `aborted-then-retried`: the earlier copy is in an aborted transaction.
//!
//! Evidence: the abort marker over the earlier copy. Innocent by design (KIP-98): read_committed
//! consumers never see it.

use super::episode::Episode;
use super::pair::Pair;
use super::phrase::{records, were};
use super::{Words, dropped, lines};
use crate::finding::{Confidence, Visibility};

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    pair.earlier.visibility == Visibility::Aborted
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let all = episode.surplus();
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
    let isolation =
        "consumers that must not see aborted records set isolation.level=read_committed".to_owned();
    Words {
        confidence: Confidence::Certain,
        title: format!(
            "{} of aborted transactions in {} {} written again{}",
            records(all),
            episode.topic_name(),
            were(all),
            match (valid == all, all) {
                (true, 1) => " and is valid there".to_owned(),
                (true, _) => " and are valid there".to_owned(),
                (false, _) if open > 0 => format!(", {open} into a transaction that is open"),
                (false, _) => String::new(),
            }
        ),
        cause: None,
        facts,
        alternatives: vec![dropped(
            "duplicate for read_committed consumers",
            "the earlier copies are aborted, so they see at most the later ones",
        )],
        would_settle: if open > 0 {
            lines(["how the open transaction ends (see transaction-open)"])
        } else {
            Vec::new()
        },
        advice: if valid == all {
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

/// What later copies are, and which of them.
type Kind = (&'static str, fn(&Pair<'_>) -> bool);

fn is_open(pair: &Pair<'_>) -> bool {
    pair.later.visibility == Visibility::Open
}
