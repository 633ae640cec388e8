//! `aborted-then-retried`: the earlier copy is in an aborted transaction.
//!
//! Evidence: the abort marker over the earlier copy. Innocent by design (KIP-98): read_committed
//! consumers never see it.

use super::episode::Episode;
use super::pair::Pair;
use super::phrase::records;
use super::{Words, dropped, lines};
use crate::finding::{Confidence, Visibility};

pub(super) fn applies(pair: &Pair<'_>) -> bool {
    pair.earlier.visibility == Visibility::Aborted
}

pub(super) fn words(episode: &Episode<'_>) -> Words {
    let copies = records(episode.surplus());
    Words {
        confidence: Confidence::Certain,
        title: format!("{copies} of {} repeat records of aborted transactions", episode.topic_name()),
        cause: None,
        facts: vec![
            format!(
                "the earlier copies ({}) are in transactions with an abort marker",
                episode.stretches(|p| p.earlier)
            ),
            format!("the later copies are at {}", episode.stretches(|p| p.later)),
        ],
        alternatives: vec![dropped(
            "duplicate for read_committed consumers",
            "the earlier copies are aborted, so they see at most the later ones",
        )],
        would_settle: Vec::new(),
        advice: lines([
            "nothing to repair; consumers that must not see aborted records set isolation.level=read_committed",
        ]),
    }
}
