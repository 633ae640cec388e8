//! `interleaved-writers`: two sessions keep writing new contents for the same keys in turn.
//!
//! Rests on [`Turns`](crate::facts::Turns). Nothing is stored twice, so it is for information: where a
//! key should have one writer, one of the two should be dead. Services that own different keys share
//! none; a handover changes the writer once; keys of three or more writers belong to one service with
//! several instances.

use super::Partition;
use super::draft::{about, capped, count, each_topic, finding, kept, lines, place};
use crate::facts::{Contest, Sessions};
use crate::finding::{Code, Confidence, Finding};
use crate::units::{Offset, ProducerId};
use std::collections::{BTreeMap, BTreeSet};

/// Changes of the writer below which two sessions only took over from each other.
const FEWEST_CHANGES: u64 = 10;

pub(super) fn judge(partitions: &[Partition<'_>], sessions: &Sessions) -> Vec<Finding> {
    each_topic(partitions, |(topic, _), partitions| in_topic(topic, partitions, sessions))
}

fn in_topic(topic: &str, partitions: &[Partition<'_>], sessions: &Sessions) -> Vec<Finding> {
    let mut many: BTreeSet<ProducerId> = BTreeSet::new();
    let mut pairs: BTreeMap<[ProducerId; 2], Vec<(i32, &Contest)>> = BTreeMap::new();
    for (context, facts) in partitions {
        many.extend(&facts.turns.of_many);
        for contest in &facts.turns.contests {
            pairs.entry(contest.producers).or_default().push((context.partition, contest));
        }
    }
    let mut partners: BTreeMap<ProducerId, u32> = BTreeMap::new();
    for &id in pairs.keys().flatten() {
        *partners.entry(id).or_default() += 1;
    }
    let of_two = |id: &ProducerId| !many.contains(id) && partners.get(id) == Some(&1);
    pairs
        .iter()
        .filter(|(pair, places)| {
            pair.iter().all(of_two)
                && places.iter().map(|(_, contest)| contest.changes).sum::<u64>() >= FEWEST_CHANGES
        })
        .map(|(pair, places)| of_pair(topic, *pair, places, partitions, sessions))
        .collect()
}

fn of_pair(
    topic: &str,
    pair: [ProducerId; 2],
    places: &[(i32, &Contest)],
    partitions: &[Partition<'_>],
    sessions: &Sessions,
) -> Finding {
    let keys: u64 = places.iter().map(|(_, contest)| contest.keys).sum();
    let turns: u64 = places.iter().map(|(_, contest)| contest.turns).sum();
    let (one, other) = (name(pair[0], sessions), name(pair[1], sessions));
    let same = count(keys, "key", "keys");
    let title = format!("{topic}: sessions {one} and {other} keep changing the same {same} in turn");
    let mut finding = finding(Code::InterleavedWriters, Confidence::Possible, title);
    about(&mut finding, places.iter().map(|&(partition, _)| (topic, partition)));
    finding.facts = vec![format!(
        "the writer of {} changed {turns} times, each time with contents that the key did not have before",
        if keys == 1 { "this key".to_owned() } else { format!("these {keys} keys") },
    )];
    finding.facts.extend(capped(
        places.iter().map(|(partition, contest)| {
            let [first, last] = contest.example_offsets;
            format!(
                "{topic}-{partition}: key {} changed its writer {} times between offsets {first} and {last}",
                contest.example, contest.example_turns
            )
        }),
        "partitions",
    ));
    finding.named_keys = places.iter().map(|(_, contest)| contest.example.clone()).collect();
    let looked: u64 = places
        .iter()
        .filter_map(|(partition, _)| partitions.iter().find(|(context, _)| context.partition == *partition))
        .map(|(_, facts)| facts.turns.records)
        .sum();
    finding.facts.push(format!(
        "nothing is stored twice here; {} with producer id and record key looked at",
        count(looked, "record", "records")
    ));
    finding.alternatives = vec![
        kept("shared ownership", "two services, or two instances of one, may update these keys by design"),
        kept(
            "concurrent-producers",
            "both may write the same events in other bytes: a time or an id in the values differs",
        ),
    ];
    finding.would_settle = lines([
        "which service owns these keys: with one owner, one of the two should not be running",
        "two records of one key side by side (`trace KEY`): two changes, or one change in two forms",
    ]);
    finding.advice = lines([
        "find where both producers run, and stop the one that should be dead",
        "a transactional.id for each owner shuts the older instance out",
    ]);
    finding.ranges = places
        .iter()
        .map(|(partition, contest)| {
            let [Offset(first), Offset(last)] = contest.example_offsets;
            place(topic, *partition, first, last, "turns of a key between two writers")
        })
        .collect();
    finding
}

/// The session of a producer id; the id where it has several.
fn name(id: ProducerId, sessions: &Sessions) -> String {
    let mut of_id = sessions.iter().filter(|session| session.producer_id == id);
    match (of_id.next(), of_id.next()) {
        (Some(session), None) => session.name(),
        _ => format!("of producer {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{PartitionContext, PartitionFacts, Turns};

    fn contest(one: i64, other: i64, changes: u64) -> Contest {
        Contest {
            producers: [ProducerId(one), ProducerId(other)],
            keys: 2,
            turns: changes,
            changes,
            example: "k1".into(),
            example_offsets: [Offset(4), Offset(30)],
            example_turns: 6,
        }
    }

    fn judged(contests: Vec<Contest>, of_many: &[i64]) -> Vec<Finding> {
        let of_many = of_many.iter().copied().map(ProducerId).collect();
        let turns = Turns { contests, of_many, records: 40, not_followed: 0 };
        let context = PartitionContext { topic: "orders".into(), ..PartitionContext::default() };
        let facts = PartitionFacts { turns, ..PartitionFacts::default() };
        judge(&[(&context, &facts)], &Sessions::default())
    }

    #[test]
    fn two_that_keep_taking_turns_are_told_and_a_few_handovers_are_not() {
        let told = judged(vec![contest(1, 2, 10)], &[]);
        assert_eq!((told.len(), told[0].confidence), (1, Confidence::Possible));
        assert!(told[0].facts[1].contains("key k1 changed its writer 6 times"), "{:?}", told[0].facts);
        assert!(judged(vec![contest(1, 2, 9)], &[]).is_empty());
    }

    #[test]
    fn instances_of_one_service_are_not_told() {
        assert!(judged(vec![contest(1, 2, 40), contest(2, 3, 40)], &[]).is_empty());
        assert!(judged(vec![contest(1, 2, 40)], &[2]).is_empty());
        assert_eq!(judged(vec![contest(1, 2, 40), contest(3, 4, 40)], &[5]).len(), 2);
    }
}
