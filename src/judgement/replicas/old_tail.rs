//! The tail of an older leader: records that it holds, and that the replica that leads has not where
//! they stood.
//!
//! When its broker rejoins, it truncates them (KIP-101, KIP-279). Whether that loses anything is for
//! [`TailFate`] to say: `replica-divergence` where records stand nowhere in the leading replica and
//! somebody may have relied on them, `old-leader-tail` otherwise.

use super::super::draft::{capped, count, dropped, kept, lines};
use super::super::elections;
use super::{Replica, ReplicaPair, draft, epoch_words, place};
use crate::compare::{Epochs, Fate, Loss, Side, TailFate, Writers};
use crate::facts::UncleanElection;
use crate::finding::{Cause, Code, Confidence, Finding, Severity};
use crate::units::{LeaderEpoch, Offset};
use std::collections::BTreeMap;

/// The records that only a replica of an older leader holds at their place.
pub(super) struct OldTail {
    old: Side,
    first_offset: i64,
    last_offset: i64,
    records: u64,
    epochs: Option<Epochs>,
    newer: Option<LeaderEpoch>,
    writers: Writers,
    fate: TailFate,
    /// Elections between its leader epoch and that of the newer log, of replicas that were not in sync.
    unclean: Vec<UncleanElection>,
    /// One of them was held while the replica with the tail alone held all that was acknowledged.
    was_alone: bool,
    /// The topic is written by brokers, which wait for all replicas in sync.
    internal: bool,
}

/// What becomes of records when such a tail is truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ends {
    /// Some are lost that somebody may have relied on.
    Lost,
    /// Some are lost, and nothing shows that anybody relied on them.
    Unsettled,
    /// Nothing is lost.
    Kept,
}

impl OldTail {
    pub(super) fn of(pair: &ReplicaPair<'_>, old: Side) -> Self {
        let comparison = &pair.comparison;
        let at = old.index();
        let rest = comparison.rest.as_ref().filter(|rest| rest.side == old);
        let first = pair.parts_at().unwrap_or_default();
        let mut epochs = comparison.differing_epochs.get(at).copied().flatten();
        let mut writers = Writers::default();
        for difference in &comparison.differences {
            writers.join(difference.writers.get(at));
        }
        if let Some(rest) = rest {
            writers.join(Some(&rest.writers));
            epochs = match (epochs, rest.leader_epochs) {
                (Some(a), Some(b)) => {
                    Some(Epochs { smallest: a.smallest.min(b.smallest), largest: a.largest.max(b.largest) })
                }
                (a, b) => a.or(b),
            };
        }
        let differing = comparison.differing_epochs.get(old.other().index()).copied().flatten();
        let checkpointed = pair.replica(old.other()).leader_epochs.last().map(|(epoch, _)| *epoch);
        let newer = differing.map(|epochs| epochs.largest).or(checkpointed);
        let largest = epochs.map(|epochs| epochs.largest);
        let unclean: Vec<UncleanElection> =
            elections::between(pair.unclean_elections, largest, newer.max(checkpointed)).cloned().collect();
        let broker = pair.replica(old).broker_id;
        let was_alone =
            broker.is_some_and(|id| unclean.iter().any(|election| election.holders.iter().eq([&id])));
        Self {
            old,
            first_offset: first.0,
            last_offset: comparison.ends.get(at).map_or(first.0, |end| end.0 - 1).max(first.0),
            records: comparison.differing_records.get(at).copied().unwrap_or(0)
                + rest.map_or(0, |rest| rest.records),
            epochs,
            newer,
            unclean,
            was_alone,
            writers,
            fate: pair.tail_fate.clone().unwrap_or_default(),
            internal: pair.topic.starts_with("__"),
        }
    }

    /// Whether somebody may have relied on a record that is lost.
    const fn matters(&self, loss: Loss) -> bool {
        match loss {
            Loss::Committed | Loss::InCommittedTransaction | Loss::LeftBehind => true,
            Loss::Unprotected => !self.internal || self.was_alone,
            // What the only replica in sync had stored was acknowledged, whatever its producer asked for.
            Loss::Unknown => self.was_alone,
            Loss::Unreadable => false,
        }
    }

    fn lost(&self, which: impl Fn(Loss) -> bool + Copy) -> u64 {
        self.fate.lost_records(which).saturating_add(self.fate.lost_markers(which))
    }

    pub(super) fn ends(&self) -> Ends {
        if self.lost(|loss| self.matters(loss)) > 0 {
            Ends::Lost
        } else if self.lost(|_| true) > 0 {
            Ends::Unsettled
        } else {
            Ends::Kept
        }
    }

    /// Up to which offset consumers could read, as far as a checkpoint tells.
    fn was_readable(&self, pair: &ReplicaPair<'_>) -> Option<Offset> {
        pair.replica(self.old).high_watermark.filter(|mark| mark.0 > self.first_offset)
    }
}

type Tails<'t, 'a> = [(&'t ReplicaPair<'a>, OldTail)];

pub(super) fn finding(topic: &str, ends: Ends, tails: &Tails<'_, '_>) -> Finding {
    let pairs = || tails.iter().map(|(pair, _)| *pair);
    let mut finding = match ends {
        Ends::Lost => {
            let mut finding = draft(Code::ReplicaDivergence, topic, pairs(), lost_title(topic, tails));
            if tails.iter().all(|(_, tail)| tail.lost(shows_success) == 0) {
                finding.confidence = finding.confidence.min(Confidence::Likely);
            }
            finding
        }
        Ends::Unsettled => {
            let lost = lost_title(topic, tails);
            let them = if lost.contains(" is not in ") { "it" } else { "them" };
            let title = format!("{lost}, and nothing shows that anybody relied on {them}");
            let mut finding = draft(Code::OldLeaderTail, topic, pairs(), title);
            // Brokers answer for what they write to such a topic when all replicas in sync have it.
            let internal = tails.iter().all(|(_, tail)| tail.internal);
            finding.severity = if internal { Severity::Info } else { Severity::Low };
            finding
        }
        Ends::Kept => draft(Code::OldLeaderTail, topic, pairs(), kept_title(topic, tails)),
    };
    finding.facts = capped(tails.iter().map(|(pair, tail)| tail_words(pair, tail)), "replicas");
    finding.facts.extend(capped(tails.iter().map(|(pair, tail)| fate_words(pair, tail)), "replicas"));
    let unclean = tails.iter().flat_map(|(pair, tail)| {
        tail.unclean.iter().map(|election| elections::line(pair.topic, pair.partition, election))
    });
    let mut unclean: Vec<String> = unclean.collect();
    unclean.sort_unstable();
    unclean.dedup();
    finding.facts.extend(capped(unclean, "elections"));
    finding.facts.extend(watermark_words(ends, tails));
    finding.ranges = tails
        .iter()
        .map(|(pair, tail)| {
            let sides = [tail.old, tail.old.other()];
            pair.range(sides, tail.first_offset, tail.last_offset, tail_range_words(pair, tail))
        })
        .collect();
    finding.cause = Some(cause(ends, tails));
    finding.alternatives.extend([
        dropped("lag", "a replica that is behind holds less, and nothing that the leading one does not hold"),
        dropped("compaction", "the cleaner removes records, it writes no others"),
        dropped("damage", "the checksums of these batches are right"),
    ]);
    conclude(&mut finding, ends, tails);
    finding
}

/// Whether it shows that the producer of a record was told of success, or that consumers could read it.
const fn shows_success(loss: Loss) -> bool {
    matches!(loss, Loss::Committed | Loss::InCommittedTransaction)
}

fn cause(ends: Ends, tails: &Tails<'_, '_>) -> Cause {
    if tails.iter().all(|(_, tail)| !tail.unclean.is_empty()) {
        let text = "an unclean election: the leadership went to a replica that was not in sync, and __cluster_metadata says so";
        return Cause { text: text.to_owned(), confidence: Confidence::Certain };
    }
    Cause { text: likely_cause(ends).to_owned(), confidence: Confidence::Likely }
}

const fn likely_cause(ends: Ends) -> &'static str {
    match ends {
        Ends::Lost => {
            "the leadership went to a replica that did not hold the last records of the leader before: an unclean \
             election, or records that no other replica had copied yet"
        }
        Ends::Unsettled | Ends::Kept => {
            "the leadership went to another replica before it had copied the last records of the leader before"
        }
    }
}

fn conclude(finding: &mut Finding, ends: Ends, tails: &Tails<'_, '_>) {
    let unconfirmed = tails.iter().any(|(_, tail)| tail.lost(|loss| !shows_success(loss)) > 0);
    if unconfirmed && tails.iter().all(|(_, tail)| tail.was_alone) {
        finding.alternatives.push(kept(
            "not acknowledged",
            "what the only replica in sync has stored is acknowledged, unless min.insync.replicas asks for more or the \
             broker died before it answered",
        ));
    } else if unconfirmed {
        finding.alternatives.push(kept(
            "not acknowledged",
            "a producer that waits for all replicas was not told that these records are stored, and it may have died or \
             given up before it sent them again",
        ));
    }
    match ends {
        Ends::Lost | Ends::Unsettled => {
            if ends == Ends::Unsettled {
                let why = "an unclean election loses records that were acknowledged as well";
                finding.alternatives.push(kept("loss", why));
            }
            finding.would_settle = lines([
                "what the producers had set as acks, and which of these records they saw acknowledged",
            ]);
            if tails.iter().any(|(_, tail)| tail.unclean.is_empty()) {
                finding.would_settle.push(
                    "the controller's log about elections at that time, and unclean.leader.election.enable"
                        .to_owned(),
                );
            }
            finding.advice = lines([
                "copy these files before their broker starts: when it rejoins, it truncates the records that only it holds",
                "look for their keys in the replica that leads, and send again what was acknowledged and is missing",
                "acks=all, min.insync.replicas=2 and no unclean election keep what was acknowledged",
            ]);
        }
        Ends::Kept => {
            let why = "each record stands in the replica that leads, was aborted, or was taken back by its producer";
            finding.alternatives.push(dropped("loss", why));
            finding.would_settle = lines(["nothing more is needed: the replica that leads has it all"]);
            finding.advice = lines([
                "nothing: when the broker of the older replica rejoins, it truncates this tail and copies what the leader holds",
            ]);
        }
    }
}

/// Two replicas that followed the same old leader hold the same records: they count once.
fn total(tails: &Tails<'_, '_>, of: impl Fn(&OldTail) -> u64) -> u64 {
    let mut by_partition: BTreeMap<i32, u64> = BTreeMap::new();
    for (pair, tail) in tails {
        let records = by_partition.entry(pair.partition).or_default();
        *records = of(tail).max(*records);
    }
    by_partition.values().sum()
}

fn lost_title(topic: &str, tails: &Tails<'_, '_>) -> String {
    let records =
        total(tails, |tail| tail.fate.lost_records(|_| true).saturating_mul(tail.fate.one_of.max(1)));
    let markers = total(tails, |tail| tail.fate.lost_markers(|_| true));
    let (lost, number) = if records > 0 {
        (count(records, "record", "records"), records)
    } else {
        (count(markers, "end of a transaction", "ends of transactions"), markers)
    };
    let are = if number == 1 { "is" } else { "are" };
    format!("{topic}: {lost} of an older leader {are} not in the replica that leads")
}

fn kept_title(topic: &str, tails: &Tails<'_, '_>) -> String {
    let records = total(tails, |tail| tail.records);
    let markers = total(tails, |tail| tail.fate.markers.values().sum());
    let what = match (records, markers) {
        (0, 0) => "what stands".to_owned(),
        (0, _) => count(markers, "end of a transaction", "ends of transactions"),
        _ => count(records, "record", "records"),
    };
    format!(
        "{topic}: {what} at the end of an older leader's log will be truncated, and nothing is lost by it"
    )
}

fn tail_words(pair: &ReplicaPair<'_>, tail: &OldTail) -> String {
    let (old, new) = (pair.replica(tail.old), pair.replica(tail.old.other()));
    format!(
        "{}: equal up to offset {}; behind it {} holds {} {} up to offset {}, {}; {}",
        pair.name(),
        tail.first_offset - 1,
        place(old),
        count(tail.records, "record", "records"),
        epoch_words(tail.epochs),
        tail.last_offset,
        by_words(&tail.writers),
        new_words(tail, new),
    )
}

fn has_nothing(tail: &OldTail, new: &Replica<'_>) -> bool {
    new.log_end.0 <= tail.first_offset
}

fn new_words(tail: &OldTail, new: &Replica<'_>) -> String {
    let newer = tail.newer.map_or_else(String::new, |epoch| format!(" {}", epoch.0));
    if has_nothing(tail, new) {
        format!("{} began leader epoch{newer} there and holds none of them", place(new))
    } else {
        format!("{} holds what was written there up to leader epoch{newer}", place(new))
    }
}

/// What became of the records: `8 records there: 5 stand in … again, 3 are nowhere in it`.
fn fate_words(pair: &ReplicaPair<'_>, tail: &OldTail) -> String {
    let fate = &tail.fate;
    let lost = |which: fn(Loss) -> bool| fate.lost_records(which);
    let mut parts = Vec::new();
    for (number, what) in [
        (fate.records_of(Fate::Again), "in it again with the time that the client gave"),
        (
            fate.records_of(Fate::AgainLater),
            "in it again with another time: somebody sent the same once more",
        ),
        (fate.records_of(Fate::TakenBack), "aborted, or its sequence written anew by its producer"),
        (fate.records_of(Fate::Replaced), "perhaps compacted away there"),
        (lost(|loss| loss == Loss::Committed), "nowhere in it, though consumers could read it"),
        (
            lost(|loss| loss == Loss::InCommittedTransaction),
            "nowhere in it, though the tail holds the commit of their transaction: a producer commits when it was told of \
             each of them",
        ),
        (lost(|loss| loss == Loss::LeftBehind), "nowhere in it, and its producer went on without it"),
        (lost(|loss| loss == Loss::Unprotected), "nowhere in it, and without producer id"),
        (lost(|loss| loss == Loss::Unknown), "nowhere in it"),
        (lost(|loss| loss == Loss::Unreadable), "nowhere in the part of it that can be read"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    let markers = |which: fn(&Fate) -> bool| -> u64 {
        fate.markers.iter().filter(|(fate, _)| which(fate)).map(|(_, number)| number).sum()
    };
    let lost_markers = markers(|fate| matches!(fate, Fate::Lost(_)));
    for (number, what) in
        [(markers(|fate| matches!(fate, Fate::Again)), "written there again"), (lost_markers, "not there")]
    {
        if number > 0 {
            parts.push(format!("{} {what}", count(number, "end of a transaction", "ends of transactions")));
        }
    }
    if parts.is_empty() {
        parts.push("nothing in it that counts".to_owned());
    }
    let new = pair.replica(tail.old.other()).directory;
    let followed = match fate.one_of {
        0 | 1 => String::new(),
        many => format!(" (one of {many} was followed)"),
    };
    format!("{}: held against {new}{followed}: {}", pair.name(), parts.join("; "))
}

fn watermark_words(ends: Ends, tails: &Tails<'_, '_>) -> Vec<String> {
    if ends == Ends::Kept {
        return Vec::new();
    }
    let readable = tails.iter().filter_map(|(pair, tail)| {
        let (mark, directory) = (tail.was_readable(pair)?, pair.replica(tail.old).directory);
        Some(format!(
            "{directory}: the high watermark was checkpointed at {mark}, so consumers could read up to there"
        ))
    });
    let words = capped(readable, "replicas");
    let shown = tails.iter().any(|(_, tail)| tail.lost(shows_success) > 0 || tail.was_alone);
    if words.is_empty() && !shown {
        return vec![
            "no checkpointed high watermark lies above where they part: the files do not show that consumers could read \
             these records, nor that their producers were told of success"
                .to_owned(),
        ];
    }
    words
}

fn tail_range_words(pair: &ReplicaPair<'_>, tail: &OldTail) -> String {
    let new = pair.replica(tail.old.other());
    let newer =
        tail.newer.map_or_else(|| "a newer one".to_owned(), |epoch| format!("leader epoch {}", epoch.0));
    let there = if has_nothing(tail, new) { "nothing yet of" } else { "what was written up to" };
    let again = match tail.fate.records_of(Fate::AgainLater) {
        0 => String::new(),
        // One of so many was followed: how many it were is not known.
        _ if tail.fate.one_of > 1 => format!("; some of them were sent again and stand in {}", new.directory),
        number => format!("; {number} of them were sent again and stand in {}", new.directory),
    };
    format!(
        "{} {} in {}, {}{again}; {} has {there} {newer}",
        count(tail.records, "record", "records"),
        epoch_words(tail.epochs),
        pair.replica(tail.old).directory,
        by_words(&tail.writers),
        new.directory,
    )
}

fn by_words(writers: &Writers) -> String {
    let mut ids: Vec<String> =
        writers.ids.iter().filter(|id| id.is_protected()).map(ToString::to_string).collect();
    let unprotected = writers.ids.len() > ids.len();
    if writers.more {
        ids.push("others".to_owned());
    }
    match (ids.is_empty(), unprotected) {
        (true, _) => "written without producer id".to_owned(),
        (false, false) => format!("written by producer {}", ids.join(", ")),
        (false, true) => format!("written by producer {} and without producer id", ids.join(", ")),
    }
}
