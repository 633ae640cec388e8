//! Gathers pairs into episodes: ten thousand repeats of one restart are one finding.
//!
//! Pairs belong together when they share the mechanism, the topic and both sessions; writers that
//! were alive at the same time belong together however many they are. Records without producer id
//! have no sessions; there a pause of [`PAUSE_MS`] between two surplus copies begins a new episode.
//! Copied files are one episode a topic, whoever wrote what they hold. Of the episodes of one mechanism and topic
//! [`EPISODES`] are told one by one, those with most copies; the others together are one more.
//!
//! Pairs are read again for each question, in their order. What stays in memory is one byte a pair
//! ([`Codes`]), what is known of each two sessions, and the numbers of the groups that sessions repeat
//! of which one repeats, or is repeated by, several.

use super::alive::Alive;
use super::episode::Episode;
use super::mechanism;
use super::pair::Pair;
use super::publication::{self, Overlap, Repeat, Repeated};
use super::undetermined;
use super::{aborted, recurring, same_session};
use crate::finding::{Code, Level};
use crate::relations::{RelatedPair, Relations};
use crate::spill::{Element, RunReader};
use crate::units::Sequence;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io;
use std::rc::Rc;

/// Longer than any retry of a producer takes by default (`delivery.timeout.ms` is two minutes), so
/// that two incidents are not told as one.
const PAUSE_MS: i64 = 15 * 60 * 1000;

/// Episodes of one mechanism and topic that are told one by one: nobody reads more, and each takes memory.
const EPISODES: usize = 200;

/// What the pairs of one episode share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    code: Code,
    topic: u32,
    writers: Writers,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Writers {
    /// The sessions of original and copy; `None` without producer id.
    Sessions(Option<u32>, Option<u32>),
    /// Writers that were alive together, by the smallest of them.
    Circle(Option<u32>),
    /// Sessions that repeated each other one after the other, by the smallest of them.
    Loop(u32),
    /// Whatever copied the files of this topic.
    Files(Option<u32>),
    /// All that are not told one by one.
    Others,
}

/// The mechanisms of pairs, one byte each: what most pairs share needs no more.
const MECHANISMS: [Code; 11] = [
    Code::AbortedThenRetried,
    Code::RestoredCopy,
    Code::MisplacedBatch,
    Code::PipelineReplay,
    Code::RetryWithoutIdempotence,
    Code::BrokerDedupLost,
    Code::EpochBumpResend,
    Code::ResendSameSession,
    Code::ConcurrentProducers,
    Code::ResendNewSession,
    Code::DuplicateUndetermined,
];

/// What each pair is called, in the order of the pairs; nothing where it is not accused.
struct Codes(Vec<u8>);

impl Codes {
    fn of(pairs: impl Iterator<Item = Option<Code>>) -> Self {
        Self(pairs.map(Self::number).collect())
    }

    fn number(code: Option<Code>) -> u8 {
        let place = code.and_then(|code| MECHANISMS.iter().position(|one| *one == code));
        place.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or(0)
    }

    fn get(&self, at: usize) -> Option<Code> {
        let number = usize::from(*self.0.get(at)?);
        MECHANISMS.get(number.checked_sub(1)?).copied()
    }

    fn set(&mut self, at: usize, code: Option<Code>) {
        if let Some(place) = self.0.get_mut(at) {
            *place = Self::number(code);
        }
    }

    /// Whether any pair is not accused.
    fn leaves_out_some(&self) -> bool {
        self.0.contains(&Self::number(None))
    }

    /// Whether any pair has this code.
    fn has(&self, code: Code) -> bool {
        self.0.contains(&Self::number(Some(code)))
    }

    /// The pairs that are accused, with their places and what they are called.
    fn accused<'a>(&'a self, relations: &'a Relations) -> impl Iterator<Item = (usize, Code, Pair<'a>)> {
        let pairs = relations.groups.pairs().enumerate();
        pairs.filter_map(move |(at, row)| Some((at, self.get(at)?, Pair { relations, row })))
    }

    /// The same of one code; nothing is read where no pair has it.
    fn with<'a>(
        &'a self,
        relations: &'a Relations,
        code: Code,
    ) -> impl Iterator<Item = (usize, Pair<'a>)> + 'a {
        let accused = self.has(code).then(|| self.accused(relations));
        accused.into_iter().flatten().filter(move |(_, is, _)| *is == code).map(|(at, _, pair)| (at, pair))
    }
}

/// All episodes, in the order of code, topic and sessions.
pub(super) fn gather(relations: &Relations) -> Vec<Episode<'_>> {
    let pairs = relations.groups.pairs();
    let mut codes = Codes::of(pairs.map(|row| mechanism(&Pair { relations, row })));
    forgive_returning_states(relations, &mut codes);
    accuse_stretches_of_states(relations, &mut codes);
    see_elsewhere(relations, &mut codes);
    let living = join_the_living(relations, &mut codes);
    let repeated = forgive_publications(relations, &mut codes);
    let loops = Loops::of(&repeated);
    widen_retries(relations, &mut codes);
    doubt_long_retries(relations, &mut codes);
    let key = |code: Code, pair: &Pair<'_>| -> Key {
        let sessions = (pair.earlier.session, pair.later.session);
        let writers = match code {
            Code::RestoredCopy => Writers::Files(pair.partition(&pair.earlier).map(|note| note.topic)),
            Code::ConcurrentProducers => {
                living.get(&pair.topic).map_or(Writers::Sessions(sessions.0, sessions.1), |circles| {
                    Writers::Circle(circles.of(sessions.0.min(sessions.1)))
                })
            }
            Code::ResendNewSession => {
                loops.around(pair).map_or(Writers::Sessions(sessions.0, sessions.1), Writers::Loop)
            }
            _ => Writers::Sessions(sessions.0, sessions.1),
        };
        Key { code, topic: pair.topic, writers }
    };
    Episodes::of(relations, &codes, key).tell(relations, &codes)
}

/// Which pair belongs to which episode.
struct Episodes<F> {
    key: F,
    /// The place of each key in the order of keys.
    ranks: BTreeMap<Key, u32>,
    /// How many keys each key stands for that is one of [`Writers::Others`], by its place.
    others: BTreeMap<u32, usize>,
    /// By key: the times of the surplus copies that begin episodes behind its first one.
    pauses: BTreeMap<u32, Vec<i64>>,
}

impl<F: Fn(Code, &Pair<'_>) -> Key> Episodes<F> {
    fn of(relations: &Relations, codes: &Codes, key: F) -> Self {
        let keys = codes.accused(relations).map(|(_, code, pair)| key(code, &pair).in_numbers());
        let (mut ranks, together) = told_one_by_one(relations.groups.sorted(keys));
        let times_matter = ranks.keys().any(|key| !key.is_one());
        for (at, rank) in (0..).zip(ranks.values_mut()) {
            *rank = at;
        }
        let others = together.iter().filter_map(|(key, more)| Some((*ranks.get(key)?, *more))).collect();
        let mut pauses: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        if times_matter {
            let times = codes.accused(relations).filter_map(|(_, code, pair)| {
                let key = key(code, &pair);
                let rank = ranks.get(&key).filter(|_| !key.is_one())?;
                Some([i64::from(*rank), time(&pair)])
            });
            let mut before = None;
            for [rank, time] in relations.groups.sorted(times) {
                if let Some([_, last]) = before.filter(|[of, _]: &[i64; 2]| *of == rank)
                    && time.saturating_sub(last) > PAUSE_MS
                    && let Ok(rank) = u32::try_from(rank)
                {
                    let pauses = pauses.entry(rank).or_default();
                    if pauses.len() < EPISODES {
                        pauses.push(time);
                    }
                }
                before = Some([rank, time]);
            }
        }
        Self { key, ranks, others, pauses }
    }

    /// The rank of the key of a pair, and which episode of that key it is of.
    fn place(&self, code: Code, pair: &Pair<'_>) -> [u32; 2] {
        let key = (self.key)(code, pair);
        let own = self.ranks.get(&key);
        let rank = own.or_else(|| self.ranks.get(&key.among_others())).copied().unwrap_or(0);
        let before =
            self.pauses.get(&rank).map_or(0, |begins| begins.partition_point(|begin| *begin <= time(pair)));
        [rank, u32::try_from(before).unwrap_or(u32::MAX)]
    }

    fn tell<'r>(&self, relations: &'r Relations, codes: &Codes) -> Vec<Episode<'r>> {
        let keys: Vec<&Key> = self.ranks.keys().collect();
        let placed = codes
            .accused(relations)
            .map(|(_, code, pair)| Placed { episode: self.place(code, &pair), row: pair.row });
        let groups = &relations.groups;
        let mut stretches: Vec<([u32; 2], u64)> = Vec::new();
        let mut rows = groups.shelf();
        for Placed { episode, row } in groups.sorted(placed) {
            if stretches.last().is_none_or(|(last, _)| *last != episode) {
                stretches.push((episode, rows.end()));
            }
            if groups.unless_failed(rows.put(&row)).is_none() {
                return Vec::new();
            }
        }
        let end = rows.end();
        let Some(rows) = groups.unless_failed(rows.finish()).map(Rc::new) else { return Vec::new() };
        let ends = stretches.iter().skip(1).map(|(_, start)| *start).chain([end]);
        stretches
            .iter()
            .zip(ends)
            .filter_map(|(&([rank, _], start), end)| {
                let key = keys.get(usize::try_from(rank).ok()?)?;
                let mut told = Episode::new(relations, key.code, key.topic, Rc::clone(&rows), (start, end));
                if undetermined::is_lone_content(&told) {
                    told.code = Code::DuplicateUndetermined;
                }
                Some(match self.others.get(&rank) {
                    Some(more) => told.standing_for(*more),
                    None => told,
                })
            })
            .collect()
    }
}

/// A pair, and which episode it is of; in the order of episodes, groups and copies.
struct Placed {
    episode: [u32; 2],
    row: RelatedPair,
}

compared_by!(Placed, |one| (one.episode, one.row.group, one.row.number));

impl Element for Placed {
    fn memory(&self) -> usize {
        size_of::<[u32; 2]>() + self.row.memory()
    }

    fn put(&self, out: &mut Vec<u8>) {
        for number in self.episode {
            out.extend_from_slice(&number.to_le_bytes());
        }
        self.row.put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let episode = [u32::from_le_bytes(from.array()?), u32::from_le_bytes(from.array()?)];
        Ok(Self { episode, row: RelatedPair::take(from)? })
    }
}

/// When the surplus copy was written.
fn time(pair: &Pair<'_>) -> i64 {
    pair.later.timestamp.unwrap_or(i64::MIN)
}

impl Key {
    fn is_one(&self) -> bool {
        match self.writers {
            Writers::Sessions(earlier, later) => earlier.is_some() && later.is_some(),
            Writers::Circle(_) | Writers::Loop(_) | Writers::Files(_) | Writers::Others => true,
        }
    }

    /// In numbers that are sorted by kind: all of one mechanism and topic behind each other.
    fn in_numbers(self) -> [i64; 5] {
        let some = |session: Option<u32>| session.map_or(-1, i64::from);
        let (kind, first, second) = match self.writers {
            Writers::Sessions(earlier, later) => (0, some(earlier), some(later)),
            Writers::Circle(first) => (1, some(first), 0),
            Writers::Loop(first) => (2, first.into(), 0),
            Writers::Files(topic) => (3, some(topic), 0),
            Writers::Others => (4, 0, 0),
        };
        [Codes::number(Some(self.code)).into(), self.topic.into(), kind, first, second]
    }

    /// The reverse.
    fn of_numbers([code, topic, kind, first, second]: [i64; 5]) -> Option<Self> {
        let session = |number: i64| u32::try_from(number).ok();
        let writers = match kind {
            0 => Writers::Sessions(session(first), session(second)),
            1 => Writers::Circle(session(first)),
            2 => Writers::Loop(session(first)?),
            3 => Writers::Files(session(first)),
            _ => Writers::Others,
        };
        let code = usize::try_from(code).ok()?.checked_sub(1).and_then(|code| MECHANISMS.get(code));
        Some(Self { code: *code?, topic: session(topic)?, writers })
    }

    /// The key of what is told together.
    const fn among_others(self) -> Self {
        Self { writers: Writers::Others, ..self }
    }
}

/// Of the keys of all surplus copies, in order, those that are told one by one, and those under which the others are
/// told together, with how many each stands for.
fn told_one_by_one(keys: impl Iterator<Item = [i64; 5]>) -> (BTreeMap<Key, u32>, BTreeMap<Key, usize>) {
    let mut keys = keys.filter_map(Key::of_numbers).peekable();
    let (mut told, mut together) = (BTreeMap::new(), BTreeMap::new());
    while let Some(kind) = keys.peek().map(|key| key.among_others()) {
        // The weakest one first: fewest copies, and of these the last.
        let mut most: BinaryHeap<Reverse<(u64, Reverse<Key>)>> = BinaryHeap::new();
        let mut all = 0_usize;
        while let Some(key) = keys.next_if(|key| key.among_others() == kind) {
            let mut copies = 1_u64;
            while keys.next_if_eq(&key).is_some() {
                copies += 1;
            }
            all += 1;
            most.push(Reverse((copies, Reverse(key))));
            if most.len() > EPISODES {
                most.pop();
            }
        }
        if all > EPISODES {
            // One that stands for a single one says less than that.
            most.pop();
            together.insert(kind, all - most.len());
            told.insert(kind, 0);
        }
        told.extend(most.into_iter().map(|Reverse((_, Reverse(key)))| (key, 0)));
    }
    (told, together)
}

/// A client repeats what it has in flight: five batches by default, more where somebody raised that.
/// A longer row of batches that came again in its old order was read and written anew, by a restart
/// or a pipeline that keeps times.
const IN_FLIGHT: usize = 10;

/// Takes the word "retry" back from rows of batches that no client holds in flight.
fn doubt_long_retries(relations: &Relations, codes: &mut Codes) {
    let batches = codes.with(relations, Code::RetryWithoutIdempotence).map(|(at, pair)| {
        let (later, earlier) = (&pair.later, &pair.earlier);
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        [i64::from(later.partition), later.batch.base_offset.0, at, earlier.batch.base_offset.0]
    });
    let mut batches = relations.groups.sorted(batches).peekable();
    // The partition, and the first and the last batch of each long row.
    let mut long: Vec<[i64; 3]> = Vec::new();
    let mut row: Option<([i64; 3], i64, usize)> = None;
    while let Some([partition, copy, _, original]) = batches.next() {
        if batches.peek().is_some_and(|next| (next[0], next[1]) == (partition, copy)) {
            continue;
        }
        let goes_on = row
            .filter(|([of, _, last], before, _)| *of == partition && *before < original && original < *last);
        if goes_on.is_none() {
            long.extend(row.filter(|(.., length)| *length > IN_FLIGHT).map(|(row, ..)| row));
        }
        let (first, length) = goes_on.map_or((copy, 0), |([_, first, _], _, length)| (first, length));
        row = Some(([partition, first, copy], original, length + 1));
    }
    long.extend(row.filter(|(.., length)| *length > IN_FLIGHT).map(|(row, ..)| row));
    if long.is_empty() {
        return;
    }
    for (at, row) in relations.groups.pairs().enumerate() {
        if codes.get(at) != Some(Code::RetryWithoutIdempotence) {
            continue;
        }
        let (partition, batch) = (i64::from(row.later.partition), row.later.batch.base_offset.0);
        let behind = long.partition_point(|[of, first, _]| (*of, *first) <= (partition, batch));
        let of_long = behind.checked_sub(1).and_then(|at| long.get(at));
        if of_long.is_some_and(|[of, _, last]| *of == partition && batch <= *last) {
            let has_source = row.source.is_some();
            codes.set(at, Some(if has_source { Code::PipelineReplay } else { Code::DuplicateUndetermined }));
        }
    }
}

/// What a later session repeats of an earlier one, where both are known.
fn repeat(pair: &Pair<'_>) -> Option<Repeat> {
    Some((pair.topic, pair.earlier.session?, pair.later.session?))
}

/// Sessions that repeat, or are repeated by, more than one other, in whatever topics.
fn sessions_that_meet_again(relations: &Relations, codes: &Codes) -> BTreeSet<u32> {
    let repeats = codes.with(relations, Code::ResendNewSession).filter_map(|(_, pair)| {
        let (topic, earlier, later) = repeat(&pair)?;
        Some([earlier.into(), later.into(), topic.into()])
    });
    let mut last = None;
    let different = relations.groups.sorted(repeats).filter(|repeat| last.replace(*repeat) != Some(*repeat));
    let sessions = different.flat_map(|[earlier, later, _]: [i64; 3]| [[earlier], [later]]);
    let (mut again, mut before) = (BTreeSet::new(), None);
    for [session] in relations.groups.sorted(sessions) {
        if before.replace(session) == Some(session)
            && let Ok(session) = u32::try_from(session)
        {
            again.insert(session);
        }
    }
    again
}

/// Leaves out the lists that a job publishes as a whole at each run; tells which groups are repeated by
/// the restarts that are left, as far as they have a session in common.
fn forgive_publications(relations: &Relations, codes: &mut Codes) -> Repeated {
    let resent = |codes: &Codes| codes.has(Code::ResendNewSession);
    if !resent(codes) {
        return Repeated::new();
    }
    let places = codes.with(relations, Code::ResendNewSession).filter_map(|(_, pair)| {
        let (topic, earlier, later) = repeat(&pair)?;
        let place = |which: i64, copy: &crate::relations::StoredCopy| {
            [topic.into(), earlier.into(), later.into(), which, copy.partition.into(), copy.offset.0]
        };
        Some([place(0, &pair.earlier), place(1, &pair.later)])
    });
    // Runs of a job have sessions in common: of two that repeat nothing else nothing has to be known.
    let meet = sessions_that_meet_again(relations, codes);
    let mut overlaps: BTreeMap<Repeat, Overlap> = BTreeMap::new();
    let number = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    for [topic, earlier, later, which, partition, offset] in relations.groups.sorted(places.flatten()) {
        if !meet.contains(&number(earlier)) && !meet.contains(&number(later)) {
            continue;
        }
        let overlap = overlaps.entry((number(topic), number(earlier), number(later))).or_default();
        overlap.add(which, number(partition), offset);
    }
    let mut sharing: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for &(topic, earlier, later) in overlaps.keys() {
        *sharing.entry((topic, earlier)).or_default() += 1;
        *sharing.entry((topic, later)).or_default() += 1;
    }
    let shares = |topic: u32, session: u32| sharing.get(&(topic, session)).is_some_and(|count| *count > 1);
    let mut groups = Repeated::new();
    if sharing.values().any(|count| *count > 1) {
        for (_, pair) in codes.with(relations, Code::ResendNewSession) {
            let repeat = repeat(&pair).filter(|&(topic, a, b)| shares(topic, a) || shares(topic, b));
            if let Some(repeat) = repeat {
                let of_repeat = groups.entry(repeat).or_default();
                if of_repeat.last() != Some(&pair.group) {
                    of_repeat.push(pair.group);
                }
            }
        }
    }
    let published = publication::published(relations, &overlaps, &groups);
    if !published.is_empty() {
        for (at, row) in relations.groups.pairs().enumerate() {
            let resent = codes.get(at) == Some(Code::ResendNewSession);
            let repeat = repeat(&Pair { relations, row });
            if resent && repeat.is_some_and(|repeat| published.contains(&repeat)) {
                codes.set(at, None);
            }
        }
    }
    groups.retain(|repeat, _| !published.contains(repeat));
    groups
}

/// Leaves out copies in a later session that are no copies by themselves: the key had other content
/// since, so a state came back; or no key tells events apart and the content comes up in session after
/// session, as typed tests and statuses do. Unless the records beside it came again beside it, as in a
/// stretch that was written anew.
fn forgive_returning_states(relations: &Relations, codes: &mut Codes) {
    let is_alone = |pair: &Pair<'_>| {
        let comes_up =
            || !pair.has_telling_time() && pair.is_by_content() && pair.writers.sessions >= SESSIONS;
        pair.later.behind_other_content || comes_up()
    };
    if !codes.with(relations, Code::ResendNewSession).any(|(_, pair)| is_alone(&pair)) {
        return;
    }
    // Each place by its partitions and sequences, and behind it who looks for it.
    let steps = codes.with(relations, Code::ResendNewSession).flat_map(|(at, pair)| {
        let (earlier, later) = (i64::from(pair.earlier.partition), i64::from(pair.later.partition));
        let sequences = pair.earlier.sequence.zip(pair.later.sequence);
        let step = move |first: Sequence, second: Sequence, who: i64| {
            [earlier, later, first.get().into(), second.get().into(), who]
        };
        let who = i64::try_from(at).unwrap_or(i64::MAX);
        let alone = is_alone(&pair);
        sequences.into_iter().flat_map(move |(first, second)| {
            let beside = [(first.back(1), second.back(1)), (first.advance(1), second.advance(1))];
            let looked_for = beside.map(|(first, second)| step(first, second, who));
            [step(first, second, -1)].into_iter().chain(looked_for.into_iter().filter(move |_| alone))
        })
    });
    let steps = relations.groups.sorted(steps);
    for (at, row) in relations.groups.pairs().enumerate() {
        let resent = codes.get(at) == Some(Code::ResendNewSession);
        let told = row.earlier.sequence.is_some() && row.later.sequence.is_some();
        if resent && told && is_alone(&Pair { relations, row }) {
            codes.set(at, None);
        }
    }
    let mut place = None;
    for [a, b, c, d, who] in steps {
        if who < 0 {
            place = Some([a, b, c, d]);
        } else if place == Some([a, b, c, d])
            && let Ok(who) = usize::try_from(who)
        {
            codes.set(who, Some(Code::ResendNewSession));
        }
    }
}

/// Records that one session wrote behind each other, and again behind each other in their order: more of them than states
/// that come back by themselves.
const STRETCH: i64 = 8;

/// Accuses what was taken for states that came back where one session wrote a whole stretch again: records that follow
/// each other by their sequences, in both places, with nothing of it in between. What goes round, as a list that is
/// published, runs into its own copies.
fn accuse_stretches_of_states(relations: &Relations, codes: &mut Codes) {
    let may_be_of_one = |pair: &Pair<'_>| {
        pair.same_session()
            && pair.same_partition()
            && pair.earlier.session.is_some()
            && same_session::applies(pair)
    };
    let is_state = |pair: &Pair<'_>| recurring::is_returning_state(pair) && !recurring::is_meant(pair);
    let pairs = || relations.groups.pairs().map(|row| Pair { relations, row });
    if !codes.leaves_out_some() || !pairs().any(|pair| may_be_of_one(&pair) && is_state(&pair)) {
        return;
    }
    let places = pairs().filter(may_be_of_one).filter_map(|pair| {
        let (earlier, later) = (pair.earlier.sequence?, pair.later.sequence?);
        let session = pair.later.session?;
        let of = [session.into(), pair.later.partition.into()];
        Some([of[0], of[1], later.get().into(), earlier.get().into(), pair.group.into()])
    });
    // Where all that a session wrote came again, its lists go back and forth between two states.
    let is_some_of = |session: i64, partition: i64, length: i64| {
        let session = u32::try_from(session).ok().and_then(|number| relations.sessions.get(number));
        let span =
            session.as_ref().zip(u32::try_from(partition).ok()).and_then(|(session, at)| session.span(at));
        span.is_some_and(|span| length.saturating_mul(3) <= i64::try_from(span.records).unwrap_or(i64::MAX))
    };
    // The session, the partition, and the first and the last sequence of the copies of each stretch.
    let mut stretches: Vec<[i64; 4]> = Vec::new();
    let mut row: Option<([i64; 5], [i64; 5])> = None;
    let mut end = |row: Option<([i64; 5], [i64; 5])>| {
        if let Some(([session, partition, first, original, _], [_, _, last, ..])) = row {
            let length = last - first + 1;
            if length >= STRETCH && length <= first - original && is_some_of(session, partition, length) {
                stretches.push([session, partition, first, last]);
            }
        }
    };
    for place in relations.groups.sorted(places) {
        let goes_on = row.filter(|(_, before)| {
            let next = [before[0], before[1], before[2] + 1, before[3] + 1];
            place[..4] == next && place[4] != before[4]
        });
        match goes_on {
            Some((first, _)) => row = Some((first, place)),
            None => end(row.replace((place, place))),
        }
    }
    end(row);
    for (at, row) in relations.groups.pairs().enumerate() {
        let pair = Pair { relations, row };
        let Some((session, sequence)) = pair.later.session.zip(pair.later.sequence) else { continue };
        let (session, partition, sequence) =
            (i64::from(session), i64::from(pair.later.partition), i64::from(sequence.get()));
        let behind = stretches
            .partition_point(|[of, at, first, _]| (*of, *at, *first) <= (session, partition, sequence));
        let stretch = behind.checked_sub(1).and_then(|at| stretches.get(at));
        let is_in =
            stretch.is_some_and(|[of, at, _, last]| (*of, *at) == (session, partition) && sequence <= *last);
        if is_in && codes.get(at).is_none() && may_be_of_one(&pair) && is_state(&pair) {
            let is_retried = aborted::applies(&pair);
            codes.set(at, Some(if is_retried { Code::AbortedThenRetried } else { Code::ResendSameSession }));
        }
    }
}

/// Sessions in which one content comes up, for more than a mistake.
const SESSIONS: u32 = 4;

/// Takes the word "restart" back where another partition shows both writers alive.
fn see_elsewhere(relations: &Relations, codes: &mut Codes) {
    if !codes.has(Code::ResendNewSession) {
        return;
    }
    let alive = Alive::of(codes.accused(relations).map(|(_, _, pair)| pair));
    for (at, row) in relations.groups.pairs().enumerate() {
        let resent = codes.get(at) == Some(Code::ResendNewSession);
        if resent && alive.shows(&Pair { relations, row }) {
            codes.set(at, Some(Code::ConcurrentProducers));
        }
    }
}

/// How far the second of two instances may be behind when it begins: so many of its first events look
/// like those of a restart.
const BEHIND: u64 = 3;

/// Two sessions, the smaller first.
pub(super) type SessionPair = (Option<u32>, Option<u32>);

fn sessions(row: &RelatedPair) -> SessionPair {
    let (earlier, later) = (row.earlier.session, row.later.session);
    (earlier.min(later), earlier.max(later))
}

/// Two writers that share at least as many events while both were alive as before one of them is seen were
/// alive for those, too: the first events of the one that began later look like a restart. What they share in one topic
/// says nothing of another: there it may be another incident, and clocks tell ([`Alive`]). All writers
/// of a topic that are joined in this way make one episode: which of them are, by topic.
fn join_the_living(relations: &Relations, codes: &mut Codes) -> BTreeMap<u32, Circles> {
    let mut circles: BTreeMap<u32, Circles> = BTreeMap::new();
    if !codes.has(Code::ConcurrentProducers) {
        return circles;
    }
    let mut counts: BTreeMap<(u32, SessionPair), (u64, u64)> = BTreeMap::new();
    for (_, code, pair) in codes.accused(relations) {
        let of = (pair.topic, sessions(&pair));
        match code {
            Code::ConcurrentProducers => counts.entry(of).or_default().0 += 1,
            Code::ResendNewSession => counts.entry(of).or_default().1 += 1,
            _ => {}
        }
    }
    let alive: BTreeSet<(u32, SessionPair)> = counts
        .into_iter()
        .filter(|(_, (alive, after))| alive >= after || (*after <= BEHIND && *alive >= BEHIND))
        .map(|(pair, _)| pair)
        .collect();
    for (at, row) in relations.groups.pairs().enumerate() {
        let sessions = sessions(&row);
        if codes.get(at) == Some(Code::ResendNewSession) && alive.contains(&(row.topic, sessions)) {
            codes.set(at, Some(Code::ConcurrentProducers));
        }
        if codes.get(at) == Some(Code::ConcurrentProducers) {
            circles.entry(row.topic).or_default().join(sessions);
        }
    }
    circles
}

/// Restarts in a row, each repeating what the one before had repeated, that make one incident.
const LOOP: usize = 3;

/// The restarts of a crash loop: session after session repeats the same events. Two restarts are two
/// incidents, and so are restarts that repeat different events.
#[derive(Default)]
struct Loops {
    /// By topic: which sessions are joined.
    circles: BTreeMap<u32, Circles>,
    /// How many repeats each circle has.
    links: BTreeMap<(u32, u32), usize>,
}

impl Loops {
    fn of(repeated: &Repeated) -> Self {
        let mut this = Self::default();
        for (&(topic, earlier, later), groups) in repeated {
            for ((_, _, next), others) in repeated.range((topic, later, 0)..=(topic, later, u32::MAX)) {
                let shared = publication::shared(groups, others);
                if shared.saturating_mul(2) >= groups.len().min(others.len()).max(1) {
                    let circles = this.circles.entry(topic).or_default();
                    circles.join((Some(earlier), Some(later)));
                    circles.join((Some(later), Some(*next)));
                }
            }
        }
        for &(topic, earlier, _) in repeated.keys() {
            if let Some(circle) = this.circle(topic, earlier) {
                *this.links.entry((topic, circle)).or_default() += 1;
            }
        }
        this
    }

    /// The smallest session that is joined with this one; itself where none is.
    fn circle(&self, topic: u32, session: u32) -> Option<u32> {
        self.circles.get(&topic)?.of(Some(session))
    }

    /// The circle that a pair belongs to.
    fn around(&self, pair: &Pair<'_>) -> Option<u32> {
        let (topic, earlier, later) = repeat(pair)?;
        let circle = self.circle(topic, earlier)?;
        let within = self.circle(topic, later) == Some(circle);
        let links = self.links.get(&(topic, circle)).copied().unwrap_or(0);
        (within && links >= LOOP).then_some(circle)
    }
}

/// Surplus copies without producer id that stand one behind the other, of which the clients' times are
/// those of the earlier ones.
#[derive(Default)]
struct Run {
    /// Where the last one stands.
    last: Option<(i64, i64)>,
    batches: BTreeSet<i64>,
    /// The first and the last original.
    originals: Option<(i64, i64)>,
    /// Which pairs these are; as long as they are in few batches.
    pairs: Vec<usize>,
    /// Whether a batch came again as it was, with several records: borders that no chance brings.
    is_proof: bool,
}

impl Run {
    /// The pairs, if they may be one retry: they fit into what a client has in flight, and their originals
    /// stand together.
    fn retried(&self) -> &[usize] {
        let span = self.originals.and_then(|(first, last)| usize::try_from(last.saturating_sub(first)).ok());
        let together = span.is_some_and(|span| span < self.pairs.len());
        let is_retry = together && self.batches.len() <= IN_FLIGHT && self.is_proof;
        if is_retry { &self.pairs } else { &[] }
    }
}

/// Takes records that came again in other batches for part of a retry, where they stand beside batches
/// that came again as they were: a client that queues its messages again (librdkafka) cuts some batches
/// anew.
fn widen_retries(relations: &Relations, codes: &mut Codes) {
    if !codes.has(Code::RetryWithoutIdempotence) {
        return;
    }
    let unprotected = codes.accused(relations).filter_map(|(at, code, pair)| {
        let is_retry = code == Code::RetryWithoutIdempotence;
        let may_be = code == Code::DuplicateUndetermined && pair.level <= Level::E3;
        let bare = !pair.earlier.producer_id.is_protected() && !pair.later.producer_id.is_protected();
        let (earlier, later) = (&pair.earlier, &pair.later);
        (bare && pair.same_partition() && (is_retry || may_be)).then(|| {
            [
                i64::from(later.partition),
                later.offset.0,
                i64::try_from(at).unwrap_or(i64::MAX),
                earlier.offset.0,
                later.batch.base_offset.0,
                i64::from(is_retry && later.batch.records > 1),
            ]
        })
    });
    let unprotected = relations.groups.sorted(unprotected);
    let mut run = Run::default();
    let mut end = |run: &Run| {
        for &at in run.retried() {
            codes.set(at, Some(Code::RetryWithoutIdempotence));
        }
    };
    for [partition, later, at, earlier, batch, is_proof] in unprotected {
        if run.last.is_none_or(|(of, last)| of != partition || last.checked_add(1) != Some(later)) {
            end(&run);
            run = Run::default();
        }
        run.last = Some((partition, later));
        if run.batches.len() <= IN_FLIGHT {
            run.batches.insert(batch);
            run.pairs.push(usize::try_from(at).unwrap_or(usize::MAX));
        }
        let (first, last) = run.originals.unwrap_or((earlier, earlier));
        run.originals = Some((first.min(earlier), last.max(earlier)));
        run.is_proof |= is_proof == 1;
    }
    end(&run);
}

/// Which writers of a topic are joined, directly or by others.
#[derive(Default)]
pub(super) struct Circles {
    towards: BTreeMap<Option<u32>, Option<u32>>,
}

impl Circles {
    pub(super) fn join(&mut self, (one, other): SessionPair) {
        let (one, other) = (self.of(one), self.of(other));
        self.towards.insert(one.max(other), one.min(other));
    }

    /// The smallest writer of the circle.
    pub(super) fn of(&self, writer: Option<u32>) -> Option<u32> {
        let mut at = writer;
        while let Some(&next) = self.towards.get(&at) {
            if next == at {
                break;
            }
            at = next;
        }
        at
    }
}
