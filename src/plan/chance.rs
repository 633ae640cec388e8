//! Whether values repeat as copies do, or as a blind draw from a population would have it.
//!
//! Copies come in the order of what they repeat, or soon behind it, and three of one are rare. Customers come again
//! as they please. In a blind draw from a population of one size, the values that stand once, twice and three times are
//! Poisson's: `once · thrice = ⅔ · twice²` on average, whatever was drawn and from how many. Where some come more often
//! than others, there are more that stand three times.

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

    #[test]
    fn some_copies_anywhere_do_not() {
        assert!(!look_drawn((0..300).chain([7, 250, 99, 222, 181, 3, 280])));
    }
}
