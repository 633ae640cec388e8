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
    let later = episode.stretches(|p| &p.later);
    Words {
        confidence: Confidence::Certain,
        title: format!(
            "{} of aborted transactions in {} {} written again{}",
            records(all),
            episode.topic_name(),
            were(all),
            match (valid == all, all) {
                (true, 1) => " and is valid there",
                (true, _) => " and are valid there",
                (false, _) => "",
            }
        ),
        cause: None,
        facts: vec![
            format!(
                "the earlier copies are aborted, and only read_uncommitted consumers get them: {}",
                episode.stretches(|p| &p.earlier)
            ),
            if valid == all {
                format!("the later copies are valid: {later}")
            } else {
                format!(
                    "{valid} of {all} later copies are valid, the others aborted or without an end: {later}"
                )
            },
        ],
        alternatives: vec![dropped(
            "duplicate for read_committed consumers",
            "the earlier copies are aborted, so they see at most the later ones",
        )],
        would_settle: Vec::new(),
        advice: lines([
            "nothing to repair: transactions did their work; keep the later copies",
            "consumers that must not see aborted records set isolation.level=read_committed",
        ]),
    }
}
