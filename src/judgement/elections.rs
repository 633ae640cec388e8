//! Unclean elections, as facts of other findings.
//!
//! Goes in: what `__cluster_metadata` tells of a partition's leaders. Comes out: words. An election of a
//! replica that was not in sync takes away what the replicas in sync alone held, acknowledged or not: it
//! explains a tail that is nowhere else and an end below a high watermark, and it accuses no producer.
//!
//! Source: KIP-101, KIP-704, KIP-966; `unclean.leader.election.enable`.

use super::draft::at;
use crate::facts::UncleanElection;
use crate::units::LeaderEpoch;

/// Those between two leader epochs: behind the first, up to the second.
pub(super) fn between(
    elections: &[UncleanElection],
    behind: Option<LeaderEpoch>,
    up_to: Option<LeaderEpoch>,
) -> impl Iterator<Item = &UncleanElection> {
    elections.iter().filter(move |election| {
        let epoch = election.leader_epoch;
        epoch.is_some() && behind.is_some() && behind < epoch && epoch <= up_to
    })
}

/// `orders-0: broker 3 was elected for leader epoch 1 at … although only broker 2 held all that was acknowledged`.
pub(super) fn line(topic: &str, partition: i32, election: &UncleanElection) -> String {
    let epoch =
        election.leader_epoch.map(|epoch| format!(" for leader epoch {}", epoch.0)).unwrap_or_default();
    let holders = match election.holders.as_slice() {
        [] => "it was not in sync".to_owned(),
        [one] => format!("only broker {one} held all that was acknowledged"),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(ToString::to_string).collect();
            format!("brokers {} and {last} held all that was acknowledged", most.join(", "))
        }
    };
    format!(
        "{topic}-{partition}: broker {} was elected{epoch} at {} although {holders} (__cluster_metadata, offset {}): an \
         unclean election",
        election.leader,
        at(election.timestamp.map(|time| time.0)),
        election.offset
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::script::START;
    use crate::units::{Offset, Timestamp};

    #[test]
    fn an_election_is_told_with_who_was_in_sync() {
        let election = |holders: &[i32]| UncleanElection {
            leader: 3,
            leader_epoch: Some(LeaderEpoch(1)),
            holders: holders.to_vec(),
            offset: Offset(83),
            timestamp: Some(Timestamp(START)),
        };
        assert_eq!(
            line("orders", 0, &election(&[2])),
            "orders-0: broker 3 was elected for leader epoch 1 at 2026-01-01 00:00:00.000 UTC although only broker 2 held \
             all that was acknowledged (__cluster_metadata, offset 83): an unclean election"
        );
        assert!(line("orders", 0, &election(&[1, 2, 4])).contains("although brokers 1, 2 and 4 held all"));
    }

    #[test]
    fn an_election_counts_between_the_epochs_of_the_tail_and_of_the_newer_log() {
        let election = |epoch: Option<i32>| UncleanElection {
            leader: 3,
            leader_epoch: epoch.map(LeaderEpoch),
            holders: vec![2],
            offset: Offset(83),
            timestamp: None,
        };
        let all = [election(None), election(Some(1)), election(Some(2)), election(Some(4))];
        let told: Vec<_> = between(&all, Some(LeaderEpoch(1)), Some(LeaderEpoch(3))).collect();
        assert_eq!(told, [&all[2]]);
        assert_eq!(between(&all, None, Some(LeaderEpoch(3))).count(), 0);
    }
}
