//! Where brokers of replicas that do not lead closed or loaded their logs: each has snapshots of its own, and an incident
//! may begin with the restart of any of them.

use super::logs::Logs;
use crate::facts::Landmarks;
use crate::finding::{Event, EventKind};

/// An event for each closing, beside those of the leading replicas.
pub(super) fn of_followers(logs: &Logs<'_>) -> Vec<Event> {
    let prepared = logs.prepared;
    let dirs = prepared.inventory.partitions.iter().enumerate();
    let follows = dirs.filter(|(at, dir)| {
        prepared.leaders.get(*at).is_some_and(|leader| leader != at) && dir.state.is_live() && !dir.internal
    });
    follows
        .flat_map(|(at, dir)| {
            let landmarks = logs.outcomes.get(at).map(|outcome| &outcome.facts.landmarks);
            let closings = landmarks.into_iter().flat_map(Landmarks::closings);
            let who = match dir.broker_id {
                Some(broker) => format!("broker {broker}"),
                None => "its broker".to_owned(),
            };
            closings.map(move |closing| {
                let place = (dir.topic.as_str(), dir.partition, closing.offset.0);
                let detail = format!(
                    "{}: {who}, which does not lead here, closed or loaded the log when it ended here",
                    dir.display_of(&closing.file)
                );
                let number = prepared.topics.number_of(at);
                Event::new(EventKind::LogClosed, closing.after, place, detail).of_topic(Some(number))
            })
        })
        .collect()
}
