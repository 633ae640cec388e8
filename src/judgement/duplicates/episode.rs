//! The surplus copies of one incident: what can be said of them, and the finding that they make.

use super::pair::{self, Pair};
use super::{Examples, SurplusChoice, Words, reread, restored};
use crate::facts::Rewind;
use crate::finding::phrase::{offsets, range};
use crate::finding::{
    BusinessKey, Cause, Code, Copy, Counts, Finding, Group, Level, TopicPartition, Visibility, Window,
};
use crate::plan::Contents;
use crate::relations::{RelatedPair, Relations, SessionNote, StoredCopy, TopicNote};
use crate::spill::Shelf;
use crate::units::TopicNumber;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// Surplus copies of one event that a report lists: a key may be stored ten million times.
const COPIES: usize = 100;

/// Offsets between a copy and what it repeats that are no chance.
const SOON: i64 = 8;
/// Sequences, or offsets, from one copy to the next of one stretch: one record between them may be another.
const GAP: i64 = 2;

/// Events that two producers wrote in one order over several partitions: a chance of less than one in a hundred, twice as
/// many events taken together.
const NO_CHANCE: usize = 6;
/// Where records follow each other at once, what comes by chance one time in so many is none.
const RARE: u128 = 20;
/// The same where others stand between them.
const RARER: u128 = 1000;
/// A job does its work again after so long, and after a day or a month; a restart hardly.
const LATER_RUN_MS: i64 = 15 * 60 * 1000;

/// In how many orders so many may stand.
fn orders(count: usize) -> u128 {
    (1..=count as u128).fold(1, u128::saturating_mul)
}

/// Partitions that are told one by one.
const PARTITIONS: usize = 4;

/// The surplus copies of one incident.
pub(super) struct Episode<'r> {
    pub(super) relations: &'r Relations,
    pub(super) code: Code,
    pub(super) topic: u32,
    pub(super) earlier_session: Option<Arc<SessionNote>>,
    pub(super) later_session: Option<Arc<SessionNote>>,
    /// How many incidents it is, where they are told together.
    pub(super) stands_for: Option<usize>,
    /// The pairs of all episodes, and where those of this one stand, by group and copy.
    rows: Rc<Shelf<RelatedPair>>,
    stretch: (u64, u64),
    /// Which of them are meant; all by default.
    choice: Option<&'r SurplusChoice>,
    groups: usize,
    surplus: usize,
    /// Steps back between the copies, once they were asked for.
    rereads: OnceCell<BTreeMap<&'r Rewind, usize>>,
}

impl<'r> Episode<'r> {
    /// The pairs of one incident, which stand in a stretch of `rows`.
    pub(super) fn new(
        relations: &'r Relations,
        code: Code,
        topic: u32,
        rows: Rc<Shelf<RelatedPair>>,
        stretch: (u64, u64),
    ) -> Self {
        let mut episode = Self {
            relations,
            code,
            topic,
            earlier_session: None,
            later_session: None,
            stands_for: None,
            rows,
            stretch,
            choice: None,
            groups: 0,
            surplus: 0,
            rereads: OnceCell::new(),
        };
        episode.count_up();
        let first = episode.pairs().next();
        episode.earlier_session = first.as_ref().and_then(Pair::earlier_session);
        episode.later_session = first.as_ref().and_then(Pair::later_session);
        episode
    }

    /// The same pairs as those of so many incidents: what one of them says of sessions holds for none of the others.
    pub(super) fn standing_for(self, incidents: usize) -> Self {
        Self { stands_for: Some(incidents), earlier_session: None, later_session: None, ..self }
    }

    /// The same episode with the surplus copies that are chosen.
    pub(super) fn only(&self, choice: Option<&'r SurplusChoice>) -> Self {
        let mut narrowed = Self {
            choice,
            rows: Rc::clone(&self.rows),
            rereads: OnceCell::new(),
            earlier_session: self.earlier_session.clone(),
            later_session: self.later_session.clone(),
            ..*self
        };
        narrowed.count_up();
        narrowed
    }

    fn count_up(&mut self) {
        let (mut groups, mut surplus, mut last) = (0, 0, None);
        for pair in self.pairs() {
            groups += usize::from(last.replace(pair.group) != Some(pair.group));
            surplus += 1;
        }
        (self.groups, self.surplus) = (groups, surplus);
    }

    /// The steps back between the copies, and how many copies each may stand behind.
    pub(super) fn rereads(&self) -> &BTreeMap<&'r Rewind, usize> {
        self.rereads.get_or_init(|| reread::between(self))
    }

    /// All sessions that wrote originals or copies, in the order of their names' numbers.
    pub(super) fn sessions(&self) -> Vec<Arc<SessionNote>> {
        let indexes: BTreeSet<u32> =
            self.pairs().flat_map(|p| [p.earlier.session, p.later.session]).flatten().collect();
        indexes.into_iter().filter_map(|at| self.relations.sessions.get(at)).collect()
    }

    /// The surplus copies with their predecessors.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Pair<'r>> {
        let (relations, choice) = (self.relations, self.choice);
        let rows = self.rows.between(self.stretch.0, self.stretch.1);
        let rows = relations.groups.until_failure(rows);
        rows.filter(move |row| choice.is_none_or(|choice| choice.chooses(&row.later)))
            .map(move |row| Pair { relations, row })
    }

    /// How many events have such copies.
    pub(super) const fn groups_count(&self) -> usize {
        self.groups
    }

    /// How many surplus copies there are.
    pub(super) const fn surplus(&self) -> usize {
        self.surplus
    }

    pub(super) fn topic_name(&self) -> &'r str {
        let topic = usize::try_from(self.topic).ok().and_then(|at| self.relations.topics.get(at));
        topic.map_or("", |topic| &topic.name)
    }

    /// How many different events came again in a row: as offsets tell it, or where copies stand in other partitions
    /// than their originals, as both producers' clocks do.
    pub(super) fn longest_row(&self) -> usize {
        self.row_by_offsets().max(self.row_by_clocks())
    }

    /// The longest row of copies in other partitions than their originals: of two sessions, each of which wrote
    /// them one behind the other by its own clock, and in one order.
    fn row_by_clocks(&self) -> usize {
        let moved = self.pairs().filter(|pair| !pair.same_partition() && pair.level >= Level::E4);
        let places = moved.filter_map(|pair| {
            let sessions = [i64::from(pair.earlier.session?), i64::from(pair.later.session?)];
            let times = (pair.later.client_timestamp?, pair.earlier.client_timestamp?);
            Some([sessions[0], sessions[1], times.0, times.1, pair.group.into()])
        });
        let (mut row, mut longest, mut before) = (0, 0, None::<[i64; 5]>);
        for place in self.relations.groups.sorted(places) {
            let goes_on = before.is_some_and(|before| {
                let [earlier, later, copy, original, event] = before;
                let is_later = copy < place[2] && original < place[3];
                [earlier, later] == place[..2] && is_later && event != place[4]
            });
            row = if goes_on { row + 1 } else { 1 };
            longest = longest.max(row);
            before = Some(place);
        }
        // As many in one order by chance, one time in as many as there are orders.
        let is_none = longest >= NO_CHANCE && orders(longest) >= RARE.saturating_mul(self.surplus as u128);
        if is_none { longest } else { 0 }
    }

    /// How many different events stand in a row that no coincidence brings: surplus copies of one session behind each
    /// other repeat originals in their order. A stretch that was written again shows long rows; single events that
    /// happen to be equal do not, whichever sessions they are of. 0 where there is no such row.
    ///
    /// In a row are records between which their session wrote at most one other, in both places; so many by chance
    /// alone would have to be met in a row among all that the earlier session wrote. Or they merely follow each other,
    /// which of many pairs some always do, and more of them than chance makes.
    fn row_by_offsets(&self) -> usize {
        let originals = self.earlier_records().max(1);
        let adjacent = self.longest(Place::is_next);
        let steps = u32::try_from(adjacent.saturating_sub(1)).unwrap_or(u32::MAX);
        if u128::from(originals).saturating_pow(steps) >= RARE.saturating_mul(self.surplus as u128) {
            return adjacent;
        }
        let ordered = self.longest(|_, _| true);
        // Of so many numbers in any order, one in as many as there are orders begins a row of that length.
        if orders(ordered) >= RARER.saturating_mul(self.surplus as u128) { ordered } else { 0 }
    }

    /// Records of the earlier session in this topic; of originals that nobody is known to have written, all that may be
    /// in their partition.
    fn earlier_records(&self) -> u64 {
        let of_topic = |partition| {
            pair::partition(self.relations, partition).is_some_and(|note| note.topic == self.topic)
        };
        if let Some(session) = &self.earlier_session {
            return session
                .spans
                .iter()
                .filter(|span| of_topic(span.partition))
                .map(|span| span.records)
                .sum();
        }
        let ends =
            self.pairs().map(|pair| pair.later.offset.0).fold(None, |ends: Option<(i64, i64)>, one| {
                Some(ends.map_or((one, one), |(first, last)| (first.min(one), last.max(one))))
            });
        ends.map_or(0, |(first, last)| first.abs_diff(last))
    }

    /// How many different events stand one behind the other in the order of their originals, each next to the one before
    /// as `is_next` has it.
    fn longest(&self, is_next: impl Fn(&Place, &Place) -> bool) -> usize {
        let places = self.pairs().map(|pair| Place::of(&pair).0);
        let mut events = self.relations.groups.sorting();
        let (mut row, mut before) = (0, None);
        for place in self.relations.groups.sorted(places).map(Place) {
            row +=
                i64::from(!before.is_some_and(|before| place.follows(&before) && is_next(&before, &place)));
            events.push([row, place.0[5]]);
            before = Some(place);
        }
        let (mut longest, mut different, mut last) = (0, 0, [0; 2]);
        for event in events.finish() {
            different = match event[0] == last[0] {
                true if event == last => different,
                true => different + 1,
                false => 1,
            };
            longest = longest.max(different);
            last = event;
        }
        longest
    }

    /// Whether the topic's events are told by their whole content, which nobody asked for: then equal
    /// events of an application cannot be told from copies.
    pub(super) fn is_by_content(&self) -> bool {
        let topic = usize::try_from(self.topic).ok().and_then(|at| self.relations.topics.get(at));
        topic.is_some_and(|topic| topic.identity == "content")
    }

    /// Whether equal events of an application cannot be told from copies by what they say: the events are told by
    /// their content alone, or by a key beside which hardly any two records differ.
    pub(super) fn is_by_little(&self) -> bool {
        self.is_by_content() || self.topic_note().is_some_and(|topic| topic.contents == Contents::Alike)
    }

    /// Whether what the events say does not tell them from copies, and nothing else shows that what came again is the
    /// same: equal events of an application are spread over a topic as chance has it.
    ///
    /// Copies come with the client time of what they repeat, soon behind it, or go on where what the other session
    /// wrote goes on, whichever of the two is ahead; of half of them that is asked.
    pub(super) fn is_as_by_chance(&self) -> bool {
        let in_a_row = |row: usize| row > 0 && row.saturating_mul(2) >= self.surplus();
        self.is_by_little()
            && self.in_order().saturating_mul(2) < self.surplus()
            && !in_a_row(self.row_by_clocks())
    }

    /// Fields that are called ids and differ between copies that are so far apart that two runs of a job may have
    /// written them, each with an id of its own.
    pub(super) fn ids_that_differ(&self) -> Option<String> {
        let ids = &self.topic_note()?.masked_ids;
        let first = ids.first()?;
        let is_later_run = |pair: &Pair<'_>| {
            let (earlier, later) = (pair.earlier.client_timestamp, pair.later.client_timestamp);
            let delay = later.zip(earlier).and_then(|(later, earlier)| later.checked_sub(earlier));
            pair.level == Level::E5 && delay.is_none_or(|delay| delay.saturating_abs() >= LATER_RUN_MS)
        };
        let differ = self.count(is_later_run).saturating_mul(2) >= self.surplus();
        differ.then(|| if ids.len() == 1 { first.clone() } else { ids.join(" and ") })
    }

    /// How many copies stand as copies do.
    pub(super) fn in_order(&self) -> usize {
        let behind_each_other = |pair: &Pair<'_>| {
            let offsets = pair.later.offset.0.checked_sub(pair.earlier.offset.0);
            pair.same_partition() && offsets.is_some_and(|offsets| (0..=SOON).contains(&offsets))
        };
        let stands_alone = |pair: &Pair<'_>| pair.has_telling_time() || behind_each_other(pair);
        // The same session first, so that it does not matter which of two instances was ahead.
        let places = self.pairs().map(|pair| {
            let place = |copy: &StoredCopy| {
                let session = copy.session.map_or(-1, i64::from);
                let sequence = copy.sequence.map_or(-1, |sequence| i64::from(sequence.get()));
                [session, copy.partition.into(), copy.offset.0, sequence]
            };
            let (one, other) = (place(&pair.earlier), place(&pair.later));
            let ([lane, from, at, sequence], [other_lane, to, other_at, other_sequence]) =
                if one <= other { (one, other) } else { (other, one) };
            let alone = stands_alone(&pair).into();
            [lane, from, other_lane, to, at, sequence, other_at, other_sequence, alone]
        });
        let mut before: Option<[i64; 9]> = None;
        let mut in_order = 0;
        for place in self.relations.groups.sorted(places) {
            let goes_on = before.is_some_and(|before| {
                let step = |at: usize| place[at].checked_sub(before[at]);
                let steps = |one, other, most| {
                    [step(one), step(other)]
                        .iter()
                        .all(|step| step.is_some_and(|step| (1..=most).contains(&step)))
                };
                // What others wrote between them has no sequence of theirs.
                let by_sequence =
                    before[5] >= 0 && before[7] >= 0 && steps(5, 7, GAP) && steps(4, 6, i64::MAX);
                before[..4] == place[..4] && (by_sequence || steps(4, 6, GAP))
            });
            in_order += usize::from(goes_on || place[8] == 1);
            before = Some(place);
        }
        in_order
    }

    fn topic_note(&self) -> Option<&'r TopicNote> {
        usize::try_from(self.topic).ok().and_then(|at| self.relations.topics.get(at))
    }

    /// Whether the cleaner takes older records of a key away.
    fn is_compacted(&self) -> bool {
        self.topic_note().is_some_and(|topic| topic.compacted)
    }

    /// By what a consumer tells these events apart. Contents are told apart by the audit, volatile fields
    /// aside, and an id in them is what a consumer has; a key of a compacted topic names a state, and each
    /// of its values counts.
    fn identity_in_words(&self) -> &'static str {
        match self.topic_note() {
            Some(topic) if topic.identity == "content" && topic.volatile.is_empty() => {
                "by an id that the record carries (dedup-audit keys looks for one), or else by its whole content,"
            }
            Some(topic) if topic.identity == "content" => {
                "by an id that the record carries (dedup-audit keys looks for one; whole contents differ here)"
            }
            Some(topic) if topic.identity == "record-key" && topic.compacted => {
                "by an id of the event, or where key and value are both equal (the topic is compacted: its record key \
                 alone names a state, and each value of it counts),"
            }
            Some(topic) if topic.identity == "record-key" => "by record key",
            _ => "by business key",
        }
    }

    /// The weakest level.
    pub(super) fn level(&self) -> Option<Level> {
        self.pairs().map(|pair| pair.level).max()
    }

    /// Whether all pairs satisfy a condition.
    pub(super) fn all(&self, condition: impl Fn(&Pair<'_>) -> bool) -> bool {
        self.pairs().all(|pair| condition(&pair))
    }

    /// How many pairs satisfy a condition.
    pub(super) fn count(&self, condition: impl Fn(&Pair<'_>) -> bool) -> usize {
        self.pairs().filter(condition).count()
    }

    /// The longest time between two copies, by the clients' clocks.
    pub(super) fn longest_delay_ms(&self) -> Option<i64> {
        self.pairs().filter_map(|p| p.later.client_timestamp?.checked_sub(p.earlier.client_timestamp?)).max()
    }

    /// Offsets of the surplus copies or of what they repeat, by partition: `orders-0 offsets 40–59`.
    pub(super) fn stretches(&self, which: impl for<'p> Fn(&'p Pair<'r>) -> &'p StoredCopy) -> String {
        self.stretches_where(|_| true, which)
    }

    /// The same of some pairs.
    pub(super) fn stretches_where(
        &self,
        condition: impl Fn(&Pair<'r>) -> bool,
        which: impl for<'p> Fn(&'p Pair<'r>) -> &'p StoredCopy,
    ) -> String {
        let places = self.pairs().filter(condition).map(|pair| {
            let copy = which(&pair);
            [i64::from(copy.partition), copy.offset.0]
        });
        let mut told: Vec<(i64, Offsets)> = Vec::new();
        let mut partitions = 0_usize;
        let mut last = None;
        for [partition, offset] in self.relations.groups.sorted(places) {
            if last.replace(partition) != Some(partition) {
                partitions += 1;
                if partitions <= PARTITIONS {
                    told.push((partition, Offsets::default()));
                }
            }
            if partitions <= PARTITIONS
                && let Some((_, offsets)) = told.last_mut()
            {
                offsets.add(offset);
            }
        }
        let mut parts: Vec<String> = told
            .iter()
            .map(|(at, offsets)| format!("{} {}", self.directory(*at), offsets.in_words()))
            .collect();
        match partitions.saturating_sub(PARTITIONS) {
            0 => {}
            1 => parts.push("1 more partition".to_owned()),
            more => parts.push(format!("{more} more partitions")),
        }
        parts.join(", ")
    }

    /// Which originals came again where, by the partitions of both: `orders-0 offsets 40–59 came again
    /// at offsets 60–79`.
    pub(super) fn moves(&self) -> String {
        let between = |pair: &Pair<'_>| [i64::from(pair.earlier.partition), i64::from(pair.later.partition)];
        let groups = &self.relations.groups;
        let copies = groups.sorted(self.pairs().map(|pair| {
            let [from, to] = between(&pair);
            [from, to, pair.later.offset.0, pair.earlier.offset.0]
        }));
        let (mut told, mut all, mut last) = (BTreeMap::<[i64; 2], Moved>::new(), 0_usize, None);
        for [from, to, copy, original] in copies {
            if last.replace([from, to]) != Some([from, to]) {
                all += 1;
            }
            if all <= PARTITIONS + 1 {
                told.entry([from, to]).or_default().add(copy, original);
            }
        }
        let originals = groups.sorted(self.pairs().map(|pair| {
            let [from, to] = between(&pair);
            [from, to, pair.earlier.offset.0]
        }));
        for [from, to, original] in originals {
            if let Some(moved) = told.get_mut(&[from, to]) {
                moved.originals.add(original);
            }
        }
        // One line more would only say that one is left out.
        let most = if all == PARTITIONS + 1 { all } else { PARTITIONS };
        let mut parts: Vec<String> = told
            .iter()
            .take(most)
            .map(|(&[from, to], moved)| {
                let to_name = if from == to { String::new() } else { format!("{} ", self.directory(to)) };
                moved.in_words(&self.directory(from), &to_name)
            })
            .collect();
        if all > most {
            parts.push(format!("{} more pairs of partitions", all - most));
        }
        parts.join("; ")
    }

    /// What the partition behind an index is called.
    pub(super) fn directory(&self, at: i64) -> String {
        let note = u32::try_from(at).ok().and_then(|at| pair::partition(self.relations, at));
        note.map_or_else(String::new, |note| note.name().to_owned())
    }

    /// The finding of this episode.
    pub(super) fn finding(&self, mut words: Words, examples: Examples) -> Finding {
        words.facts.extend(self.hidden());
        if self.is_compacted() {
            words.facts.push(
                "the topic is compacted: the cleaner takes older records of a key, so repeats may be gone, and the \
                 numbers are lower bounds"
                    .to_owned(),
            );
        }
        let by = self.identity_in_words();
        let may_be_meant = words.alternatives.iter().any(|rival| rival.kept && rival.code == "equal events");
        let review = self.is_by_content() && may_be_meant;
        for line in &mut words.advice {
            *line = if review && line.contains("drop repeats by business key") {
                "drop nothing by its content alone, since equal events may be meant: review the candidates (--list FILE), and \
                 name what identifies an event (--key; dedup-audit keys looks for it)"
                    .to_owned()
            } else {
                line.replace("by business key", by)
            };
        }
        let hidden =
            self.code != Code::AbortedThenRetried && self.all(|pair| !self.is_committed(&pair.later));
        if hidden {
            words.title.push_str("; read_committed consumers do not see the later copies");
        }
        let limit = match examples {
            Examples::AtMost(limit) => limit,
            Examples::All => usize::MAX,
        };
        let (mut first_time, mut last_time) = (None::<i64>, None::<i64>);
        for time in self.pairs().filter_map(|pair| pair.later.timestamp) {
            first_time = Some(first_time.map_or(time, |first| first.min(time)));
            last_time = Some(last_time.map_or(time, |last| last.max(time)));
        }
        let partitions = self.partitions();
        let (topics, topic_numbers) = self.topics_of(&partitions);
        let (unlisted, unlisted_seen) = match self.code {
            Code::RestoredCopy => restored::unlisted(self),
            _ => (0, 0),
        };
        let (groups, surplus_committed) = self.groups(limit, examples);
        Finding {
            id: String::new(),
            code: self.code,
            severity: self.code.severity(),
            confidence: words.confidence,
            title: words.title,
            topics,
            topic_numbers,
            partitions: self.named(partitions),
            counts: Counts {
                groups: count(self.groups) + unlisted,
                surplus_records: count(self.surplus) + unlisted,
                surplus_committed: surplus_committed + unlisted_seen,
            },
            window: Some(Window::new(first_time, last_time)),
            level: self.level(),
            // What led to something that is only possible is no surer than that.
            cause: words
                .cause
                .map(|cause| Cause { confidence: cause.confidence.min(words.confidence), ..cause }),
            facts: words.facts,
            alternatives: words.alternatives,
            would_settle: words.would_settle,
            advice: words.advice,
            groups,
            groups_omitted: count(self.groups.saturating_sub(limit)) + unlisted,
            ..Finding::empty(self.code)
        }
    }

    /// The partitions that hold surplus copies, by the indexes of their topics.
    fn partitions(&self) -> BTreeSet<(u32, i32)> {
        let note = |pair: Pair<'_>| pair.partition(&pair.later).map(|note| (note.topic, note.partition));
        self.pairs().filter_map(note).collect()
    }

    /// The same by their names.
    fn named(&self, partitions: BTreeSet<(u32, i32)>) -> Vec<TopicPartition> {
        let named = |(topic, partition)| {
            let topic = self.name_of(topic).unwrap_or_default().to_owned();
            TopicPartition { topic, partition }
        };
        let named: BTreeSet<TopicPartition> = partitions.into_iter().map(named).collect();
        named.into_iter().collect()
    }

    fn name_of(&self, topic: u32) -> Option<&str> {
        let topic = usize::try_from(topic).ok().and_then(|at| self.relations.topics.get(at));
        topic.map(|topic| topic.name.as_str())
    }

    /// Several where topics are joined; the one with the finding comes first. And their numbers.
    fn topics_of(&self, partitions: &BTreeSet<(u32, i32)>) -> (Vec<String>, Vec<TopicNumber>) {
        let mut numbers: Vec<u32> = partitions.iter().map(|(topic, _)| *topic).chain([self.topic]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut topics = vec![self.topic_name().to_owned()];
        for name in numbers.iter().filter_map(|topic| self.name_of(*topic)) {
            if !name.is_empty() && !topics.iter().any(|known| known == name) {
                topics.push(name.to_owned());
            }
        }
        (topics, numbers.into_iter().map(TopicNumber).collect())
    }

    /// The topics of the finding, and their numbers.
    pub(super) fn topics(&self) -> (Vec<String>, Vec<TopicNumber>) {
        self.topics_of(&self.partitions())
    }

    /// Each surplus copy behind the one that it repeats.
    pub(super) fn twos(&self) -> impl Iterator<Item = Group> {
        let (mut last, mut key) = (None, no_key());
        self.pairs().map(move |pair| {
            if last.replace(pair.group) != Some(pair.group) {
                let note = self.relations.groups.note(&pair.row);
                key = note.map_or_else(no_key, |note| note.business_key);
            }
            let copies = vec![self.copy(&pair.earlier, None), self.copy(&pair.later, Some(&pair))];
            Group { business_key: key.clone(), copies, copies_omitted: 0 }
        })
    }

    /// The first groups with the copies that this finding is about: the predecessor of the first one, then
    /// the surplus copies; and how many surplus copies of all groups read_committed consumers see.
    fn groups(&self, limit: usize, examples: Examples) -> (Vec<Group>, u64) {
        let listed = match examples {
            Examples::AtMost(_) => COPIES,
            Examples::All => usize::MAX,
        };
        let mut groups: Vec<Group> = Vec::new();
        let (mut last, mut number, mut committed) = (None, 0_usize, 0);
        // Of the present group: the copies that consumers see, the first one among them.
        let mut seen = 0_u64;
        for pair in self.pairs() {
            if last.replace(pair.group) != Some(pair.group) {
                committed += seen.saturating_sub(1);
                seen = u64::from(self.is_committed(&pair.earlier));
                number += 1;
                if number <= limit {
                    let note = self.relations.groups.note(&pair.row);
                    groups.push(Group {
                        business_key: note.map_or_else(no_key, |note| note.business_key),
                        copies: vec![self.copy(&pair.earlier, None)],
                        copies_omitted: 0,
                    });
                }
            }
            seen += u64::from(self.is_committed(&pair.later));
            if number <= limit
                && let Some(group) = groups.last_mut()
            {
                if group.copies.len() <= listed {
                    group.copies.push(self.copy(&pair.later, Some(&pair)));
                } else {
                    group.copies_omitted += 1;
                }
            }
        }
        (groups, committed + seen.saturating_sub(1))
    }

    fn is_committed(&self, copy: &StoredCopy) -> bool {
        let stable = pair::partition(self.relations, copy.partition).map(|note| note.last_stable_offset);
        copy.visibility.counts_when_committed() && stable.is_some_and(|stable| copy.offset < stable)
    }

    fn copy(&self, copy: &StoredCopy, pair: Option<&Pair<'_>>) -> Copy {
        Copy {
            level: pair.map(|pair| pair.level),
            repeats: pair.map(|pair| self.relations.place(&pair.earlier)),
            ..self.relations.told(copy)
        }
    }

    /// How many surplus copies read_committed consumers do not see, in words; nothing where they see
    /// all.
    fn hidden(&self) -> Option<String> {
        let all = self.surplus();
        let aborted = self.count(|pair| pair.later.visibility == Visibility::Aborted);
        let hidden = self.count(|pair| !self.is_committed(&pair.later));
        if hidden == 0 {
            return None;
        }
        Some(if aborted == hidden {
            format!(
                "{aborted} of {all} surplus copies are in aborted transactions, hidden from read_committed consumers"
            )
        } else {
            format!(
                "{hidden} of {all} surplus copies are hidden from read_committed consumers (aborted, or at or behind an open transaction)"
            )
        })
    }
}

/// Where a copy and its original stand: the partition and offset of the copy, those of the original, the session of the
/// copy, the event, and the two sequences, −1 where there is none.
#[derive(Clone, Copy)]
struct Place([i64; 8]);

impl Place {
    fn of(pair: &Pair<'_>) -> Self {
        let (later, earlier) = (&pair.later, &pair.earlier);
        let sequence = |copy: &StoredCopy| copy.sequence.map_or(-1, |sequence| i64::from(sequence.get()));
        Self([
            later.partition.into(),
            later.offset.0,
            earlier.partition.into(),
            earlier.offset.0,
            later.session.map_or(-1, i64::from),
            pair.group.into(),
            sequence(later),
            sequence(earlier),
        ])
    }

    /// Whether both copies and originals stand in one order.
    fn follows(&self, before: &Self) -> bool {
        let (a, b) = (&before.0, &self.0);
        // A chain in which each copy repeats the one before is one event many times.
        (a[0], a[2], a[4]) == (b[0], b[2], b[4]) && a[3] < b[3] && (b[2], b[3]) != (a[0], a[1])
    }

    /// Whether their sessions wrote at most one record between them, in both places.
    fn is_next(before: &Self, next: &Self) -> bool {
        let near = |at: usize| {
            let step = next.0[at].checked_sub(before.0[at]);
            step.is_some_and(|step| (1..=GAP).contains(&step))
        };
        // What others wrote between them has no sequence of theirs.
        let have_sequences = before.0[6] >= 0 && before.0[7] >= 0;
        have_sequences && near(6) && near(7) || near(1) && near(3)
    }
}

/// Runs of offsets that are told one by one.
const RUNS: usize = 3;

/// Offsets that came in their order.
#[derive(Default)]
struct Offsets {
    /// The first runs of them: one more than are told.
    runs: Vec<(i64, i64)>,
    first: Option<i64>,
    last: Option<i64>,
    count: usize,
}

impl Offsets {
    fn add(&mut self, offset: i64) {
        if self.last == Some(offset) {
            return;
        }
        self.count += 1;
        let goes_on = self.last.is_some_and(|last| last.checked_add(1) == Some(offset));
        let room = self.runs.len() <= RUNS;
        match self.runs.last_mut() {
            Some((_, last)) if goes_on => *last = offset,
            _ if room => self.runs.push((offset, offset)),
            _ => {}
        }
        self.first.get_or_insert(offset);
        self.last = Some(offset);
    }

    /// Whether they are told run by run.
    fn is_told(&self) -> bool {
        self.runs.len() <= RUNS
    }

    /// `offset 7`, `offsets 7–10`, `offsets 7–8 and 10`, `12 offsets between 7 and 90`.
    fn in_words(&self) -> String {
        match (self.runs.as_slice(), self.first.zip(self.last)) {
            (&[(first, last)], _) => offsets(first, last),
            (runs, _) if self.is_told() => {
                let told: Vec<String> = runs.iter().map(|&(first, last)| range(first, last)).collect();
                match told.split_last() {
                    Some((last, rest)) if !rest.is_empty() => {
                        format!("offsets {} and {last}", rest.join(", "))
                    }
                    _ => format!("offsets {}", told.join(", ")),
                }
            }
            (_, Some((first, last))) => format!("{} offsets between {first} and {last}", self.count),
            (_, None) => String::new(),
        }
    }
}

/// Pairs of offsets that are told one by one.
const PAIRS: usize = 4;

/// Copies of one partition in another or in the same.
#[derive(Default)]
struct Moved {
    originals: Offsets,
    copies: Offsets,
    /// The first copies with their originals: one more than are told.
    first: Vec<(i64, i64)>,
    last: Option<(i64, i64)>,
    count: usize,
    /// Originals that came again in their order and without others between them: one more than are told.
    runs: Vec<Run>,
}

/// So many moved stretches are told one by one.
const MOVES: usize = 4;

/// A stretch of originals that came again as it was.
struct Run {
    original: i64,
    copy: i64,
    /// Offsets behind the first.
    more: i64,
}

impl Moved {
    /// Adds a copy with its original; they come in the order of the copies.
    fn add(&mut self, copy: i64, original: i64) {
        self.copies.add(copy);
        self.count += 1;
        if self.first.len() <= PAIRS {
            self.first.push((copy, original));
        }
        let follows = |run: &Run| {
            let next = run.more + 1;
            run.copy + next == copy && run.original + next == original
        };
        let room = self.runs.len() <= MOVES;
        match self.runs.last_mut() {
            Some(run) if follows(run) => run.more += 1,
            _ if room => self.runs.push(Run { original, copy, more: 0 }),
            _ => {}
        }
        self.last = Some((copy, original));
    }

    fn in_words(&self, from: &str, to: &str) -> String {
        if let [first, rest @ ..] = self.runs.as_slice()
            && !rest.is_empty()
            && self.runs.len() <= MOVES
        {
            let ends = |first: i64, run: &Run| (first, first + run.more);
            let (originals, copies) = (ends(first.original, first), ends(first.copy, first));
            let mut told = vec![format!(
                "{from} {} came again at {to}{}",
                offsets(originals.0, originals.1),
                offsets(copies.0, copies.1)
            )];
            told.extend(rest.iter().map(|run| {
                let (originals, copies) = (ends(run.original, run), ends(run.copy, run));
                format!("{} at {}", range(originals.0, originals.1), range(copies.0, copies.1))
            }));
            return told.join(", ");
        }
        if self.count == 1 || (self.originals.is_told() && self.copies.is_told()) {
            let (originals, copies) = (self.originals.in_words(), self.copies.in_words());
            return format!("{from} {originals} came again at {to}{copies}");
        }
        let pair = |one: &(i64, i64)| format!("{}/{}", one.1, one.0);
        let mut told: Vec<String> = self.first.iter().take(PAIRS).map(pair).collect();
        let last = self.last.as_ref().map(pair).unwrap_or_default();
        match self.count {
            few if few <= PAIRS => {}
            few if few == PAIRS + 1 => told.push(last),
            _ => told.push(format!("… {last}")),
        }
        let to = if to.is_empty() { String::new() } else { format!(" to {}", to.trim_end()) };
        format!("{} pairs of original and copy from {from}{to}, offsets {}", self.count, told.join(", "))
    }
}

fn no_key() -> BusinessKey {
    BusinessKey::Text { text: String::new() }
}

pub(super) fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: impl IntoIterator<Item = i64>) -> Offsets {
        let mut offsets = Offsets::default();
        for offset in all {
            offsets.add(offset);
        }
        offsets
    }

    #[test]
    fn offsets_are_told_as_runs_and_never_as_more_than_there_are() {
        let told = |all: &[i64]| of(all.iter().copied()).in_words();
        assert_eq!(told(&[7, 7]), "offset 7");
        assert_eq!(told(&[7, 8, 9]), "offsets 7–9");
        assert_eq!(told(&[7, 8, 10]), "offsets 7–8 and 10");
        assert_eq!(told(&[1, 3, 5, 7, 8]), "5 offsets between 1 and 8");
    }

    #[test]
    fn copies_are_told_with_the_originals_that_they_repeat() {
        let told = |to: &str, pairs: &[(i64, i64)]| {
            let mut moved = Moved { originals: of(pairs.iter().map(|pair| pair.1)), ..Moved::default() };
            for &(copy, original) in pairs {
                moved.add(copy, original);
            }
            moved.in_words("a-0", to)
        };
        assert_eq!(told("", &[(8, 4), (9, 5)]), "a-0 offsets 4–5 came again at offsets 8–9");
        assert_eq!(told("a-4 ", &[(0, 4)]), "a-0 offset 4 came again at a-4 offset 0");
        // What came again twice is told as two moves, each with its own place.
        let twice = [(145, 142), (146, 143), (152, 148), (153, 149), (156, 145), (157, 146)];
        assert_eq!(
            told("", &twice),
            "a-0 offsets 142–143 came again at offsets 145–146, 148–149 at 152–153, 145–146 at 156–157"
        );
        let neighbours: Vec<(i64, i64)> = (0..8).map(|at| (5 + 6 * at, 4 + 6 * at)).collect();
        assert_eq!(
            told("", &neighbours),
            "8 pairs of original and copy from a-0, offsets 4/5, 10/11, 16/17, 22/23, … 46/47"
        );
    }
}
