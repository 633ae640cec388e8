//! Honest mirrors, played by a model: whatever retention, cleaners, transactions and lag did on either side, with equal
//! and with other numbers of partitions, none is accused; and what was planted is found.

#![expect(clippy::unwrap_used, reason = "a test that cannot write or read its files has failed")]

#[path = "ledger_model/dice.rs"]
mod dice;

use dedup_audit::audit::{self, AuditOptions, PairNames, SideBySide, TopicPair};
use dedup_audit::report::compare::Mirror;
use dedup_audit::testkit::{SegmentBuilder, batch};
use dice::Dice;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    key: String,
    value: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Alone,
    Committed,
    Aborted,
}

/// A batch, with the marker that ends its transaction.
#[derive(Clone, Debug)]
struct Block {
    base: usize,
    written: Written,
    events: Vec<Event>,
    kept: Vec<bool>,
    has_marker: bool,
}

impl Block {
    fn end(&self) -> usize {
        self.base + self.events.len() + usize::from(self.written != Written::Alone)
    }

    fn visible(&self) -> impl Iterator<Item = (usize, &Event)> {
        let shown = self.written != Written::Aborted;
        let held = self.events.iter().enumerate().filter(move |(at, _)| shown && self.kept[*at]);
        held.map(|(at, event)| (self.base + at, event))
    }
}

#[derive(Clone, Debug, Default)]
struct Partition {
    blocks: Vec<Block>,
    start: usize,
    cleaned: usize,
}

impl Partition {
    fn end(&self) -> usize {
        self.blocks.last().map_or(0, Block::end)
    }

    fn write(&mut self, events: Vec<Event>, written: Written) {
        let kept = vec![true; events.len()];
        self.blocks.push(Block { base: self.end(), written, events, kept, has_marker: true });
    }

    fn visible(&self) -> Vec<(usize, &Event)> {
        self.blocks.iter().flat_map(Block::visible).collect()
    }

    /// The cleaner goes over what lies below a block.
    fn clean(&mut self, dice: &mut Dice) {
        let bases: Vec<usize> =
            self.blocks.iter().map(|block| block.base).filter(|base| *base >= self.cleaned).collect();
        let Some(&upto) = (!bases.is_empty()).then(|| &bases[dice.below(bases.len())]) else { return };
        let drops_tombstones = dice.percent(50);
        let below: Vec<_> = self.blocks.iter().filter(|block| block.base < upto).collect();
        let newest: BTreeMap<String, usize> = below
            .iter()
            .flat_map(|block| block.visible())
            .map(|(at, event)| (event.key.clone(), at))
            .collect();
        for block in self.blocks.iter_mut().filter(|block| block.base < upto) {
            for (at, event) in block.events.iter().enumerate() {
                block.kept[at] &= block.written != Written::Aborted
                    && newest.get(&event.key) == Some(&(block.base + at))
                    && (event.value.is_some() || !drops_tombstones);
            }
            block.has_marker &= block.kept.contains(&true) || dice.percent(50);
        }
        self.cleaned = self.cleaned.max(upto);
    }

    /// Retention takes blocks from the front.
    fn expire(&mut self, dice: &mut Dice) {
        if self.blocks.len() > 1 {
            self.blocks.drain(..=dice.below(self.blocks.len() - 1));
            self.start = self.blocks[0].base;
        }
    }

    fn put(&self, root: &Path, name: &str) {
        let directory = root.join(name);
        fs::create_dir_all(&directory).unwrap();
        let bases = BTreeSet::from([self.start, self.cleaned.max(self.start)]);
        let offset = |at: usize| i64::try_from(at).unwrap();
        let mut sequence = 0;
        for &base in &bases {
            let next = bases.range(base + 1..).next().copied().unwrap_or(usize::MAX);
            let mut log = SegmentBuilder::at(offset(base));
            for block in self.blocks.iter().filter(|block| (base..next).contains(&block.base)) {
                let kept: Vec<usize> = (0..block.events.len()).filter(|at| block.kept[*at]).collect();
                if !kept.is_empty() {
                    let mut spec = batch();
                    if block.written != Written::Alone {
                        spec = spec.producer(7, 0, sequence).transactional();
                    }
                    for event in &block.events {
                        let value = event.value.as_ref().map(|value| value.as_bytes().to_vec());
                        spec = spec.record(event.key.as_str(), value);
                    }
                    let is_whole = kept.len() == block.events.len();
                    log =
                        log.skip_to(offset(block.base)).batch(if is_whole { spec } else { spec.kept(&kept) });
                }
                if block.written != Written::Alone {
                    sequence += i32::try_from(block.events.len()).unwrap();
                    if block.has_marker {
                        log = log.skip_to(offset(block.end() - 1));
                        log = if block.written == Written::Aborted {
                            log.abort(7, 0)
                        } else {
                            log.commit(7, 0)
                        };
                    }
                }
            }
            fs::write(directory.join(format!("{base:020}.log")), log.bytes()).unwrap();
        }
    }
}

fn put_all(root: &Path, topic: &str, partitions: &[Partition]) {
    let mut cleaned = Vec::new();
    for (number, partition) in partitions.iter().enumerate() {
        partition.put(root, &format!("{topic}-{number}"));
        if partition.cleaned > 0 {
            cleaned.push(format!("{topic} {number} {}\n", partition.cleaned));
        }
    }
    let text = format!("0\n{}\n{}", cleaned.len(), cleaned.concat());
    fs::write(root.join("cleaner-offset-checkpoint"), text).unwrap();
}

/// What happens in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Nothing,
    Loss,
    Extra,
}

#[derive(Clone, Copy, Debug)]
struct World {
    seed: u64,
    partitions: [usize; 2],
    lag: bool,
    /// Of the source before and after it was copied, and of the mirror.
    cleaned: [bool; 3],
    expired: [bool; 2],
    plant: Plant,
}

struct Played {
    told: SideBySide,
    /// How many records of the source, as it is now, the mirror never had.
    uncopied: u64,
    /// What was planted.
    planted: Option<Event>,
}

fn source(dice: &mut Dice, number: usize) -> Partition {
    let keys = 2 + dice.below(10);
    let mut partition = Partition::default();
    for _ in 0..5 + dice.below(30) {
        let events = (0..=dice.below(4)).map(|at| {
            let place = partition.end() + at;
            let key =
                if dice.percent(10) { format!("once{place}") } else { format!("k{}", dice.below(keys)) };
            let value = if dice.percent(30) { dice.below(4) } else { 100 + place };
            let value = (!dice.percent(20)).then(|| format!("v{value}"));
            Event { key: format!("{key}-{number}"), value }
        });
        let events: Vec<Event> = events.collect();
        let written = [Written::Alone, Written::Alone, Written::Committed, Written::Aborted][dice.below(4)];
        partition.write(events, written);
    }
    partition
}

fn mirror(dice: &mut Dice, events: &[Event]) -> Partition {
    let mut partition = Partition::default();
    let in_transactions = dice.percent(40);
    let mut left = events;
    while !left.is_empty() {
        let (now, later) = left.split_at(left.len().min(1 + dice.below(5)));
        if in_transactions && dice.percent(20) {
            partition.write(now.to_vec(), Written::Aborted);
        }
        partition.write(now.to_vec(), if in_transactions { Written::Committed } else { Written::Alone });
        left = later;
    }
    partition
}

fn play(world: World) -> Played {
    let dice = &mut Dice::new(world.seed);
    let [in_source, in_mirror] = world.partitions;
    let mut sources: Vec<Partition> = (0..in_source).map(|number| source(dice, number)).collect();
    if world.cleaned[0] {
        for partition in &mut sources {
            partition.clean(dice);
        }
    }
    let mut copied: Vec<Vec<Event>> = vec![Vec::new(); in_mirror];
    let mut left: Vec<Vec<Event>> = Vec::new();
    let mut uncopied = Vec::new();
    for partition in &sources {
        let mut events: Vec<Event> =
            partition.visible().into_iter().map(|(_, event)| event.clone()).collect();
        let end = if world.lag { dice.below(events.len() + 1) } else { events.len() };
        uncopied.push(events.len() - end);
        events.truncate(end);
        left.push(events);
    }
    while left.iter().any(|events| !events.is_empty()) {
        let number = dice.below(in_source);
        let now: Vec<Event> = {
            let most = left[number].len().min(4);
            left[number].drain(..most).collect()
        };
        for event in now {
            let hash: usize = event.key.bytes().map(usize::from).sum();
            copied[if in_source == in_mirror { number } else { hash % in_mirror }].push(event);
        }
    }
    let mut planted = None;
    let number = dice.below(in_mirror);
    let events = &mut copied[number];
    if world.plant == Plant::Loss && !events.is_empty() {
        planted = Some(events.remove(dice.below(events.len())));
    }
    if world.plant == Plant::Extra {
        let extra = Event { key: "planted".to_owned(), value: Some("planted".to_owned()) };
        events.insert(dice.below(events.len() + 1), extra.clone());
        planted = Some(extra);
    }
    let mut mirrors: Vec<Partition> = copied.iter().map(|events| mirror(dice, events)).collect();
    for partition in &mut sources {
        if world.cleaned[1] {
            partition.clean(dice);
        }
        if world.expired[0] {
            partition.expire(dice);
        }
    }
    for partition in &mut mirrors {
        if world.cleaned[2] {
            partition.clean(dice);
        }
        if world.expired[1] {
            partition.expire(dice);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    for path in &paths {
        fs::create_dir_all(path).unwrap();
    }
    put_all(&paths[0], "orders", &sources);
    put_all(&paths[1], "east.orders", &mirrors);
    let names = PairNames { topics: vec![TopicPair { a: "orders".to_owned(), b: "east.orders".to_owned() }] };
    let options = AuditOptions::over(paths.to_vec());
    let told = audit::side_by_side(&options, &paths, &names, usize::MAX).unwrap();
    let uncopied = uncopied.into_iter().map(|records| u64::try_from(records).unwrap()).sum();
    Played { told, uncopied, planted }
}

/// What is missing and what is too much, without explanation.
fn plain(mirror: &Mirror) -> [u64; 2] {
    let [moved_a, moved_b] = if mirror.repartitioned {
        [mirror.missing_other_partition, mirror.other_partition_moved]
    } else {
        [0, 0]
    };
    let explained = mirror.missing_withheld + mirror.missing_removed + mirror.missing_unreadable + moved_a;
    let surplus = mirror.extra + mirror.repeated + mirror.other_partition + mirror.shown_aborted;
    let explained_surplus = mirror.surplus_withheld
        + mirror.surplus_unreadable
        + mirror.extra_removed
        + mirror.repeated_removed
        + mirror.shown_aborted_removed
        + moved_b;
    [mirror.missing - explained, surplus - explained_surplus]
}

const PARTITIONS: [[usize; 2]; 8] = [[1, 1], [1, 1], [2, 2], [1, 2], [1, 3], [2, 1], [2, 3], [3, 2]];

fn world(seed: u64, plant: Plant) -> World {
    let dice = &mut Dice::new(seed.wrapping_add(1 << 40));
    let mut often = |percent| dice.percent(percent);
    let (lag, cleaned, expired) = (often(40), [often(40), often(60), often(50)], [often(30), often(30)]);
    World { seed, partitions: PARTITIONS[dice.below(PARTITIONS.len())], lag, cleaned, expired, plant }
}

#[test]
fn no_honest_mirror_is_accused() {
    let mut equal = 0;
    for seed in 0..300 {
        let world = world(seed, Plant::Nothing);
        let played = play(world);
        let compared = &played.told.compared;
        let mirrors: Vec<&Mirror> = compared.pairs.iter().filter_map(|pair| pair.mirror.as_ref()).collect();
        let [missing, surplus] =
            mirrors.iter().map(|mirror| plain(mirror)).fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
        let lags = played.uncopied > 0;
        assert_eq!(surplus, 0, "{world:?}");
        assert!(missing <= played.uncopied, "{missing} of {}: {world:?}", played.uncopied);
        assert!(compared.unpaired_records_alone <= played.uncopied, "{world:?}");
        assert_eq!(mirrors.iter().map(|mirror| mirror.other_order).sum::<u64>(), 0, "{world:?}");
        assert!(lags || compared.all_equal(), "{world:?}");
        equal += u64::from(!lags && compared.all_compared());
    }
    assert!(equal > 40, "most of them are told for certain: {equal}");
}

#[test]
fn what_is_planted_in_a_mirror_is_found() {
    for seed in 0..120 {
        for plant in [Plant::Loss, Plant::Extra] {
            // The source may be cleaned before it is copied: nothing explains what only one of them holds.
            let mut world = world(seed, plant);
            world =
                World { lag: false, cleaned: [world.cleaned[0], false, false], expired: [false; 2], ..world };
            let played = play(world);
            let Some(planted) = played.planted else { continue };
            let compared = &played.told.compared;
            let counts = compared.pairs.iter().filter_map(|pair| pair.mirror.as_ref()).map(plain);
            let [missing, surplus] = counts.fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
            let beside = compared.unpaired_records_alone;
            // Of a key that the source never showed a cleaned one may have held more than that.
            if plant == Plant::Extra && world.cleaned[0] && compared.all_equal() {
                assert!(!compared.all_compared(), "{planted:?}: {world:?}");
                continue;
            }
            assert!(!compared.all_equal(), "{planted:?}: {world:?}");
            let found =
                if plant == Plant::Loss { [missing + beside, surplus] } else { [missing, surplus + beside] };
            let unsure: u64 =
                compared.pairs.iter().filter_map(|pair| Some(pair.mirror.as_ref()?.removed_unsure)).sum();
            let expected = if plant == Plant::Loss { [1, 0] } else { [0, 1] };
            assert_eq!((found, unsure), (expected, 0), "{planted:?}: {world:?}");
        }
    }
}

/// A log of events in batches of up to `most`, and where each batch begins and ends with the records in it.
fn in_batches(dice: &mut Dice, events: &[Event], most: usize) -> (Vec<u8>, Vec<(usize, usize, u64)>) {
    let (mut log, mut places, mut begin) = (SegmentBuilder::new(), Vec::new(), 0);
    let mut left = events;
    while !left.is_empty() {
        let (now, later) = left.split_at(left.len().min(1 + dice.below(most)));
        let spec = now.iter().fold(batch(), |spec, event| {
            spec.record(event.key.as_str(), event.value.as_ref().map(|value| value.as_bytes().to_vec()))
        });
        log = log.batch(spec);
        let end = log.clone().bytes().len();
        places.push((begin, end, u64::try_from(now.len()).unwrap()));
        (left, begin) = (later, end);
    }
    (log.bytes(), places)
}

#[test]
fn rotten_batches_take_as_many_records_as_they_held_and_accuse_nobody() {
    for seed in 0..160 {
        let dice = &mut Dice::new(seed);
        // From a state that is told again and again to one that hardly ever is.
        let (keys, values) = ([1, 3, 40][dice.below(3)], [2, 4, 400][dice.below(3)]);
        let events: Vec<Event> = (0..20 + dice.below(80))
            .map(|_| Event {
                key: format!("k{}", dice.below(keys)),
                value: Some(format!("v{}", dice.below(values))),
            })
            .collect();
        let mut copied = events.clone();
        let is_planted = dice.percent(30);
        if is_planted {
            let extra = Event { key: "planted".to_owned(), value: Some("planted".to_owned()) };
            copied.insert(dice.below(copied.len() + 1), extra);
        }
        let (source, in_source) = in_batches(dice, &events, 6);
        let (mirror, in_mirror) = in_batches(dice, &copied, 4);
        let (mut logs, places) = ([source, mirror], [in_source, in_mirror]);
        // What was planted may not rot.
        let side = if is_planted { 0 } else { dice.below(2) };
        let rotten: BTreeSet<usize> = (0..=dice.below(2)).map(|_| dice.below(places[side].len())).collect();
        let ends = rotten.contains(&(places[side].len() - 1));
        let mut lost = 0;
        for &at in &rotten {
            let (begin, end, records) = places[side][at];
            logs[side][begin + 61 + dice.below(end - begin - 61)] ^= 1 << dice.below(8);
            lost += records;
        }
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        for ((path, name), log) in paths.iter().zip(["orders-0", "east.orders-0"]).zip(&logs) {
            fs::create_dir_all(path.join(name)).unwrap();
            fs::write(path.join(name).join("00000000000000000000.log"), log).unwrap();
        }
        let names =
            PairNames { topics: vec![TopicPair { a: "orders".to_owned(), b: "east.orders".to_owned() }] };
        let told =
            audit::side_by_side(&AuditOptions::over(paths.to_vec()), &paths, &names, usize::MAX).unwrap();
        let pair = &told.compared.pairs[0];
        let mirror = pair.mirror.as_ref().unwrap();
        let said = format!("seed {seed}, side {side}, batches {rotten:?}: {mirror:?}");
        let unreadable = [mirror.missing_unreadable, mirror.surplus_unreadable];
        let mut expected = [0; 2];
        expected[1 - side] = lost;
        if is_planted {
            assert!(!told.compared.all_equal() || ends, "{said}");
            assert!(unreadable[1] == lost || ends && unreadable[1] == lost + 1, "{said}");
            continue;
        }
        assert!(told.compared.all_equal() && !told.compared.all_compared(), "{said}");
        assert_eq!(unreadable, expected, "{said}");
        assert_eq!((mirror.other_order, mirror.other_newest), (0, 0), "{said}");
        // One place leaves no doubt which of equal records stand for which.
        if rotten.len() == 1 && values == 2 {
            assert!(mirror.mapping.iter().all(|run| run.first_a == run.first_b), "{said}");
        }
    }
}
