//! Where a restart began to read, as the commits of a consumer group show it.
//!
//! An application that reads one topic and writes another commits its position behind its output. When it
//! dies in between, the next generation of its group begins at the position that was committed last, and
//! the output behind that is written again. So a position that was committed before the first original
//! was written, and not again before the later session had begun, in another generation, is where the
//! restart began. Other groups may have begun anew in the same time; the one that committed last before
//! the originals is told, and only as likely.
//!
//! Source: `GroupCoordinator`, `OffsetMetadataManager`; the times of commits are the coordinator's.

use super::episode::Episode;
use crate::facts::Resumed;
use crate::finding::Level;
use crate::finding::phrase::group_named;
use crate::finding::phrase::moment;

/// Positions that are told one by one.
const POSITIONS: usize = 3;

/// The positions of one group from which the later session's restart began.
pub(super) struct Restart<'r> {
    group: &'r str,
    positions: Vec<&'r Resumed>,
    began: i64,
}

impl<'r> Restart<'r> {
    /// That of an episode of two sessions, whose copies have times of their own.
    pub(super) fn of(episode: &Episode<'r>) -> Option<Self> {
        let (earlier, later) = (episode.earlier_session.as_ref()?, episode.later_session.as_ref()?);
        let own_times = episode.all(|pair| pair.level >= Level::E4) && episode.sessions().len() == 2;
        let first = episode.pairs().filter_map(|pair| pair.earlier.client_timestamp).min()?;
        let (lived, began) = (earlier.first_timestamp()?, later.first_timestamp()?);
        let fits = |one: &&Resumed| {
            let between = one.committed.zip(one.next_committed);
            one.topic != episode.topic_name()
                && between.is_some_and(|(at, next)| (lived..=first).contains(&at) && began <= next)
        };
        let all: Vec<&'r Resumed> = episode.relations.resumed.iter().filter(fits).collect();
        let group = &all.iter().max_by_key(|one| one.committed).filter(|_| own_times)?.group;
        let positions = all.iter().copied().filter(|one| one.group == *group).collect();
        Some(Self { group, positions, began })
    }

    /// `position 10 of orders-0`.
    pub(super) fn position(&self) -> String {
        let told: Vec<String> = self
            .positions
            .iter()
            .take(POSITIONS)
            .map(|one| format!("{} of {}-{}", one.position, one.topic, one.partition))
            .collect();
        let more = self.positions.len().saturating_sub(POSITIONS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let plural = if self.positions.len() == 1 { "" } else { "s" };
        format!("position{plural} {}{more}", told.join(", "))
    }

    /// What the commits show, with the name of the later session.
    pub(super) fn fact(&self, later: &str) -> String {
        let last = self.positions.iter().filter_map(|one| one.committed).max();
        let next = self.positions.iter().filter_map(|one| one.next_committed).min();
        let at = |time: Option<i64>| time.and_then(moment).unwrap_or_else(|| "an unknown time".to_owned());
        format!(
            "group {} had committed {} at {}, before the first original was written, and nothing behind it until {}, in a later generation: session {later} had begun at {}",
            group_named(self.group),
            self.position(),
            at(last),
            at(next),
            at(Some(self.began)),
        )
    }

    /// The group that read on.
    pub(super) const fn group(&self) -> &'r str {
        self.group
    }
}
