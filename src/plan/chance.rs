//! Whether values repeat as copies do, or as a blind draw from a population would have it.
//!
//! Copies come in the order of what they repeat, or soon behind it, and three of one are rare. Customers come again
//! as they please. In a blind draw from a population of one size, the values that stand once, twice and three times are
//! Poisson's: `once · thrice = ⅔ · twice²` on average, whatever was drawn and from how many. Where some come more often
//! than others, there are more that stand three times. But a few of very many hardly ever come three times, and what
//! does not look drawn is not a copy for that: [`how_repeated`] asks for the order of copies.

use std::collections::HashMap;

/// Records between a record and its repeat that count as "soon behind it".
const SOON: u64 = 8;
/// Records between two repeats of one stretch, where one field's values are followed in part.
const STRETCH: u64 = 1000;
/// Values that stand three times and more below which their number says nothing.
const FEW: u64 = 3;
/// Of 100 repeats, how many stand in an order that a blind draw does not make.
const IN_ORDER: u64 = 50;

/// How many values stand how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Multiplicities {
    once: u64,
    twice: u64,
    /// Three times and more.
    more: u64,
}

impl Multiplicities {
    /// Counts a value that stands in so many records.
    pub(super) const fn add(&mut self, records: u64) {
        match records {
            0 => {}
            1 => self.once += 1,
            2 => self.twice += 1,
            _ => self.more += 1,
        }
    }

    /// Whether as many values stand three times and more as in a blind draw: at least half of what is expected.
    const fn are_of_a_draw(self) -> bool {
        self.more >= FEW
            && 3_u64.saturating_mul(self.more).saturating_mul(self.once)
                >= self.twice.saturating_mul(self.twice)
    }
}

/// Where repeats stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Order {
    seen_again: u64,
    /// Repeats that stand soon behind what they repeat.
    soon: u64,
    /// Those that go on where the repeat before them was.
    in_stretch: u64,
    /// The last repeat, and the record that it repeats.
    last: Option<(u64, u64)>,
}

impl Order {
    /// Of no repeats.
    pub(super) const fn new() -> Self {
        Self { seen_again: 0, soon: 0, in_stretch: 0, last: None }
    }

    /// Takes the places of a repeat and of the record that it repeats.
    pub(super) fn take(&mut self, place: u64, repeated: u64) {
        let steps = self.last.map(|(repeat, of)| (place.wrapping_sub(repeat), repeated.wrapping_sub(of)));
        let soon = place.saturating_sub(repeated) <= SOON;
        let in_row = steps == Some((1, 1));
        // Two repeats that each stand soon behind what they repeat are as far apart as that, whatever they are.
        let in_stretch = in_row || !soon && steps.is_some_and(|(one, other)| go_on(one, other));
        self.seen_again += 1;
        self.soon += u64::from(soon);
        self.in_stretch += u64::from(in_stretch);
        self.last = Some((place, repeated));
    }

    fn percent(&self, part: u64) -> u64 {
        part.saturating_mul(100) / self.seen_again.max(1)
    }

    /// Of 100 repeats, how many stand soon behind what they repeat.
    pub(super) fn soon_percent(&self) -> u64 {
        self.percent(self.soon)
    }

    /// Of 100 repeats, how many go on where the repeat before them was.
    pub(super) fn in_stretch_percent(&self) -> u64 {
        self.percent(self.in_stretch)
    }

    /// Whether these repeats, of values that stand so often, look like a blind draw and not like copies.
    pub(super) fn is_of_a_draw(&self, values: Multiplicities) -> bool {
        values.are_of_a_draw() && self.soon_percent() + self.in_stretch_percent() < IN_ORDER
    }
}

/// Whether two repeats belong to one stretch: from one to the next it is as far as between the
/// records that they repeat.
fn go_on(from_repeat: u64, from_repeated: u64) -> bool {
    let steps = 1..=STRETCH;
    let slack = 2 + from_repeat / 8;
    steps.contains(&from_repeat)
        && steps.contains(&from_repeated)
        && from_repeat.abs_diff(from_repeated) <= slack
}

/// A record, without what differs in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    /// Where it stands.
    pub(super) partition: usize,
    /// The producer, below 0 where nothing tells.
    pub(super) producer: i64,
    /// The client's time.
    pub(super) time: i64,
    /// Equal where nothing else differs.
    pub(super) content: usize,
}

/// How records come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// None does.
    Never,
    /// As copies do.
    AsCopies,
    /// In no order that copies have: nobody can tell.
    AsByChance,
    /// The same, and as many come three times as in a blind draw.
    AsDrawn,
}

impl Repeated {
    /// Whether nothing shows that what came again are copies.
    pub(super) const fn is_by_chance(self) -> bool {
        matches!(self, Self::AsByChance | Self::AsDrawn)
    }
}

/// Records of one writer between two that he wrote one behind the other elsewhere.
const GAP: usize = 8;
/// Of so many records of a partition, a blind draw puts hardly a tenth of its repeats no farther behind than one.
const NEAR: usize = 20;

/// How these come again, in the order in which they stand.
///
/// Copies stand soon behind what they repeat, or the record that their writer wrote before them repeats, or is repeated
/// by, what the other writer wrote before theirs. So does a range that one session wrote again, and what two instances
/// both do, whichever is ahead. Single ones are near what they repeat, unless as many come three times as in a draw.
pub(super) fn how_repeated(records: &[Rest]) -> Repeated {
    let order = WrittenOrder::of(records);
    let (mut earlier, mut later) = (vec![None; records.len()], vec![None; records.len()]);
    let mut last: HashMap<usize, (usize, u64)> = HashMap::new();
    let mut sizes: HashMap<usize, usize> = HashMap::new();
    for (at, record) in records.iter().enumerate() {
        *sizes.entry(record.partition).or_default() += 1;
        let (of, times) = last.entry(record.content).or_insert((at, 0));
        if *times > 0 {
            (earlier[at], later[*of]) = (Some(*of), Some(at));
        }
        (*of, *times) = (at, *times + 1);
    }
    // Sums, so that the order does not matter.
    let often = last.into_values().fold(Multiplicities::default(), |mut often, (_, times)| {
        often.add(times);
        often
    });
    let (mut repeats, mut in_order, mut near) = (0_usize, 0_usize, 0_usize);
    for (at, of) in earlier.iter().enumerate().filter_map(|(at, of)| Some((at, (*of)?))) {
        repeats += 1;
        let behind = (records[at].partition == records[of].partition).then_some(at - of);
        let size = sizes.get(&records[at].partition).copied().unwrap_or_default();
        let goes_on = order.before(at).any(|before| {
            let others = [earlier[before], later[before]].into_iter().flatten();
            others.into_iter().any(|other| order.is_shortly_before(other, of))
        });
        if goes_on || behind.is_some_and(|records| records as u64 <= SOON) {
            in_order += 1;
        } else if behind.is_some_and(|records| records * NEAR <= size) {
            near += 1;
        }
    }
    let drawn = often.are_of_a_draw();
    let as_copies = if drawn { in_order } else { in_order + near };
    match repeats {
        0 => Repeated::Never,
        _ if as_copies * 2 >= repeats => Repeated::AsCopies,
        _ if drawn => Repeated::AsDrawn,
        _ => Repeated::AsByChance,
    }
}

/// In which order each writer wrote: a producer by its clock, over all partitions; what nobody is known to have
/// written, as it stands in its partition.
struct WrittenOrder {
    /// Of each record the writer and its place among what he wrote.
    places: Vec<(usize, usize)>,
    writers: Vec<Vec<usize>>,
}

impl WrittenOrder {
    fn of(records: &[Rest]) -> Self {
        let mut numbers = HashMap::new();
        let mut writers: Vec<Vec<usize>> = Vec::new();
        for (at, record) in records.iter().enumerate() {
            let partition = (record.producer < 0).then_some(record.partition);
            let number = *numbers.entry((partition, record.producer)).or_insert(writers.len());
            if number == writers.len() {
                writers.push(Vec::new());
            }
            writers[number].push(at);
        }
        let mut places = vec![(0, 0); records.len()];
        for (number, wrote) in writers.iter_mut().enumerate() {
            if wrote.first().is_some_and(|&first| records[first].producer >= 0) {
                wrote.sort_by_key(|&at| (records[at].time, at));
            }
            for (place, &at) in wrote.iter().enumerate() {
                places[at] = (number, place);
            }
        }
        Self { places, writers }
    }

    /// The two records that its writer wrote before it.
    fn before(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let (writer, place) = self.places[at];
        self.writers[writer][place.saturating_sub(2)..place].iter().copied()
    }

    fn is_shortly_before(&self, one: usize, other: usize) -> bool {
        let ((one_writer, one), (other_writer, other)) = (self.places[one], self.places[other]);
        one_writer == other_writer && one < other && other - one <= GAP
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Whether these values, one behind the other, look drawn.
    fn look_drawn(values: impl IntoIterator<Item = u64>) -> bool {
        let mut seen: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut order = Order::default();
        for (place, value) in (0..).zip(values) {
            if let Some((records, last)) = seen.get_mut(&value) {
                order.take(place, *last);
                (*records, *last) = (*records + 1, place);
            } else {
                seen.insert(value, (1, place));
            }
        }
        let mut counts = Multiplicities::default();
        for (records, _) in seen.values() {
            counts.add(*records);
        }
        order.is_of_a_draw(counts)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_stretch_that_comes_again_does_not(from in 0_u64..300, length in 1_u64..300, times in 1..5) {
            let again = (0..times).flat_map(|_| from..(from + length).min(300));
            prop_assert!(!look_drawn((0..300).chain(again)));
        }

        #[test]
        fn what_is_sent_again_at_once_does_not(again in proptest::collection::vec(1_usize..5, 200)) {
            let values = (0..).zip(again).flat_map(|(value, times)| std::iter::repeat_n(value, times));
            prop_assert!(!look_drawn(values));
        }
    }

    #[test]
    fn customers_look_drawn() {
        for customers in [100, 200, 350, 500] {
            for seed in 0..16_u64 {
                let drawn = (0..400).map(|n| {
                    let mixed = (n + seed * 1000).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    (mixed ^ mixed >> 32) % customers
                });
                assert!(look_drawn(drawn), "{customers} customers, {seed}");
            }
        }
    }

    /// Records of one partition: who wrote them, and what.
    fn come_again(written: impl IntoIterator<Item = (i64, usize)>) -> Repeated {
        let rest = |(time, (producer, content))| Rest { partition: 0, producer, time, content };
        how_repeated(&(0..).zip(written).map(rest).collect::<Vec<_>>())
    }

    fn mixed(n: u64) -> u64 {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }

    fn drawn(n: u64, of: u64) -> usize {
        usize::try_from(mixed(n) % of).unwrap()
    }

    #[test]
    fn a_draw_comes_again_as_by_chance_however_many_it_is_drawn_from() {
        for of in [300, 3_000, 150_000] {
            for seed in 0..8_u64 {
                let one = |n: u64| ((mixed(n) >> 40 & 1).cast_signed(), drawn(n + seed * 100_000, of));
                assert!(come_again((0..2000).map(one)).is_by_chance(), "{of}, {seed}");
                // A producer that was started anew every now and then.
                let one = |n: u64| ((n / 100).cast_signed(), drawn(n + seed * 100_000, of));
                assert!(come_again((0..2000).map(one)).is_by_chance(), "{of}, {seed}");
            }
        }
    }

    #[test]
    fn readings_that_did_not_change_come_again_as_by_chance() {
        let mut readings = vec![0; 300];
        let read = (0..2000_usize).map(|n| {
            let device = n % 300;
            if mixed(n as u64) % 10 < 8 {
                readings[device] += 1;
            }
            (i64::try_from(n / 500).unwrap(), device * 10_000 + readings[device])
        });
        assert!(come_again(read.collect::<Vec<_>>()).is_by_chance());
    }

    #[test]
    fn what_two_instances_both_do_comes_again_as_copies_whichever_is_ahead() {
        for seed in 0..8 {
            let mut next = [0, 0];
            let both = (0..800).map(|n| {
                let instance = usize::from(mixed(n + seed * 10_000) & 1 == 1);
                next[instance] += 1;
                (i64::from(instance == 1), next[instance])
            });
            assert_eq!(come_again(both.collect::<Vec<_>>()), Repeated::AsCopies);
        }
    }

    #[test]
    fn a_range_that_a_later_session_spreads_over_other_partitions_comes_again_as_copies() {
        let sessions = [(1, 0..600_usize), (2, 500..600)];
        let mut rest: Vec<Rest> = sessions
            .into_iter()
            .flat_map(|(producer, contents)| contents.map(move |content| (producer, content)))
            .zip(0_i64..)
            .map(|((producer, content), time)| Rest {
                partition: drawn(time.cast_unsigned(), 3),
                producer,
                time,
                content,
            })
            .collect();
        rest.sort_by_key(|one| one.partition);
        assert_eq!(how_repeated(&rest), Repeated::AsCopies);
    }

    #[test]
    fn some_copies_anywhere_do_not() {
        assert!(!look_drawn((0..300).chain([7, 250, 99, 222, 181, 3, 280])));
    }
}
