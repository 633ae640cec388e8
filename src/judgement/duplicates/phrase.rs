//! Phrases that several mechanisms share.

use super::episode::Episode;
use super::pair;
use crate::finding::rfc3339;
use crate::relations::{PartitionNote, Relations, SessionNote, SessionSpan};

/// `1 record`, `20 records`.
pub(super) fn records(count: usize) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}

/// `was` for one record, `were` for more.
pub(super) const fn were(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// `is` for one record, `are` for more.
pub(super) const fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// How equal the pairs are, weakest level last.
pub(super) fn pairs_of(episode: &Episode<'_>) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for pair in episode.pairs() {
        *counts.entry(pair.level).or_insert(0usize) += 1;
    }
    let words: Vec<String> = counts.iter().map(|(level, count)| format!("{count} at {level:?}")).collect();
    format!("levels of equality: {}", words.join(", "))
}

/// `; at most 8.5 s after the first copy`, where the clients' clocks say so.
pub(super) fn delay(episode: &Episode<'_>) -> String {
    episode.longest_delay_ms().filter(|ms| *ms > 0).map_or_else(String::new, |ms| {
        format!("; at most {} behind the earlier copy by the clients' clocks", duration(ms))
    })
}

/// `850 ms`, `8.5 s`, `3 min`, `2.5 h`.
pub(super) fn duration(ms: i64) -> String {
    let tenths = |unit: i64, name: &str| {
        let tenths = ms.saturating_mul(10) / unit;
        if tenths % 10 == 0 {
            format!("{} {name}", tenths / 10)
        } else {
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
    };
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..120_000 => tenths(1_000, "s"),
        120_000..7_200_000 => tenths(60_000, "min"),
        7_200_000..172_800_000 => tenths(3_600_000, "h"),
        _ => tenths(86_400_000, "days"),
    }
}

/// Places of a session that are told one by one.
const PLACES: usize = 3;

/// What a session wrote to a topic, and when.
pub(super) fn session_life(relations: &Relations, topic: u32, session: &SessionNote) -> String {
    let here: Vec<(&SessionSpan, &PartitionNote)> = session
        .spans
        .iter()
        .filter_map(|span| Some((span, pair::partition(relations, span.partition)?)))
        .filter(|(_, note)| note.topic == topic)
        .collect();
    let places: Vec<String> = here
        .iter()
        .take(PLACES)
        .map(|(span, note)| format!("{} offsets {}–{}", note.directory, span.first_offset, span.last_offset))
        .collect();
    let more = here.len().saturating_sub(PLACES);
    let more = match more {
        0 => String::new(),
        1 => " and 1 more partition".to_owned(),
        more => format!(" and {more} more partitions"),
    };
    let first = here.iter().filter_map(|(span, _)| span.first_timestamp).min();
    let last = here.iter().filter_map(|(span, _)| span.last_timestamp).max();
    let time = |millis: Option<i64>| millis.and_then(rfc3339).unwrap_or_else(|| "an unknown time".to_owned());
    format!(
        "session {} (producer {}{}) wrote {}{more} from {} to {}",
        session.name,
        session.producer_id,
        if session.transactional { ", transactional" } else { "" },
        places.join(", "),
        time(first),
        time(last),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_the_unit_that_fits() {
        assert_eq!(duration(850), "850 ms");
        assert_eq!(duration(8_500), "8.5 s");
        assert_eq!(duration(180_000), "3 min");
        assert_eq!(duration(9_000_000), "2.5 h");
        assert_eq!(duration(259_200_000), "3 days");
    }
}
