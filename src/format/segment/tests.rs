use super::*;
use crate::format::Codec;
use crate::testkit::{BatchSpec, Place, SegmentBuilder, batch};

/// An item in short: kind, position, length.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Good { position: u64, length: u64, base: i64 },
    Suspect { kind: DamageKind, position: u64, length: u64, base: i64, belongs_at: Option<i64> },
    Damage(Damage),
}

impl Seen {
    fn span(&self) -> (u64, u64) {
        match self {
            Self::Good { position, length, .. } | Self::Suspect { position, length, .. } => {
                (*position, *length)
            }
            Self::Damage(damage) => (damage.position.0, damage.length),
        }
    }

    fn damage(&self) -> &Damage {
        let Self::Damage(damage) = self else { panic!("{self:?}") };
        damage
    }
}

/// A source that hands out no more than it is asked for, as a file does at the worst.
struct Narrow<'a>(&'a [u8]);

impl ByteSource for Narrow<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn window(&mut self, position: u64, length: usize) -> io::Result<&[u8]> {
        let rest = self.0.get(usize::try_from(position).unwrap()..).unwrap_or_default();
        Ok(&rest[..rest.len().min(length)])
    }
}

fn collect<S: ByteSource>(mut scanner: SegmentScanner<S>, length: usize) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut position = 0;
    while let Some(item) = scanner.next_item().unwrap() {
        let item = match item {
            SegmentItem::Batch(batch) => Seen::Good {
                position: batch.position.0,
                length: batch.bytes.len() as u64,
                base: batch.header.base_offset.0,
            },
            SegmentItem::Suspect(suspect) => {
                assert_eq!(suspect.damage.position, suspect.batch.position);
                assert_eq!(suspect.damage.length, suspect.batch.bytes.len() as u64);
                Seen::Suspect {
                    kind: suspect.damage.kind,
                    position: suspect.batch.position.0,
                    length: suspect.damage.length,
                    base: suspect.batch.header.base_offset.0,
                    belongs_at: suspect.belongs_at.map(|offset| offset.0),
                }
            }
            SegmentItem::Damage(damage) => Seen::Damage(damage),
        };
        let (start, length) = item.span();
        assert_eq!(start, position, "a hole or an overlap before {item:?}");
        assert!(length > 0, "no progress at {item:?}");
        position += length;
        seen.push(item);
    }
    assert_eq!(position, length as u64, "the end is missing");
    seen
}

fn scan_as(bytes: &[u8], base: i64, tail: TailExpectation) -> Vec<Seen> {
    let whole = collect(SegmentScanner::new(bytes, Offset(base), tail), bytes.len());
    let narrow = collect(SegmentScanner::new(Narrow(bytes), Offset(base), tail), bytes.len());
    assert_eq!(whole, narrow, "the windows of the source make a difference");
    whole
}

fn scan(bytes: &[u8]) -> Vec<Seen> {
    scan_as(bytes, 0, TailExpectation::MustBeWhole)
}

fn good(place: &Place) -> Seen {
    Seen::Good { position: place.position as u64, length: place.length as u64, base: place.base_offset }
}

fn records(count: usize) -> BatchSpec {
    (0..count).fold(batch().producer(7, 0, 0), |spec, n| spec.record(format!("key-{n}"), "some value"))
}

/// Batches of different sizes and codecs, without holes.
fn mixed() -> SegmentBuilder {
    SegmentBuilder::new()
        .batch(records(3))
        .batch(records(1).codec(Codec::Lz4))
        .batch(records(7).codec(Codec::Zstd))
        .commit(7, 0)
        .batch(records(2).codec(Codec::Gzip))
        .batch(records(4).codec(Codec::Snappy))
        .batch(records(1))
}

/// Batches of 256 bytes each: one flipped bit of a length leads to another batch.
fn uniform() -> SegmentBuilder {
    let segment = (0..8).fold(SegmentBuilder::new(), |segment, n| {
        segment.batch(batch().producer(7, 0, n).record("key", "x".repeat(183).as_str()))
    });
    assert!(segment.places().iter().all(|place| place.length == 256), "{:?}", segment.places());
    segment
}

fn legacy() -> SegmentBuilder {
    SegmentBuilder::new()
        .message(0, "k", "one")
        .message(1, "k", "two")
        .wrapper(0, Codec::Gzip, &["a", "b"])
        .wrapper(1, Codec::Lz4, &["a", "b", "c"])
        .message(1, "k", "three")
        .batch(records(2))
        .batch(records(1))
}

#[test]
fn a_clean_segment_is_batches_and_nothing_else() {
    for segment in [mixed(), uniform(), legacy()] {
        let expected: Vec<(u64, u64)> =
            segment.places().iter().map(|place| (place.position as u64, place.length as u64)).collect();
        let seen = scan(&segment.bytes());
        assert!(seen.iter().all(|item| matches!(item, Seen::Good { .. })), "{seen:?}");
        assert_eq!(seen.iter().map(Seen::span).collect::<Vec<_>>(), expected);
    }
    assert_eq!(scan(&[]), []);
}

#[test]
fn a_flipped_bit_costs_no_batch_but_its_own() {
    for segment in [mixed(), uniform(), legacy()] {
        let places = segment.places().to_vec();
        let bytes = segment.bytes();
        for at in 0..bytes.len() {
            for bit in [0x01, 0x02, 0x40, 0x80] {
                let mut flipped = bytes.clone();
                flipped[at] ^= bit;
                let seen = scan(&flipped);
                let hit = places.iter().rposition(|place| place.position <= at).unwrap();
                let in_batch = at - places[hit].position;
                let is_v2 = bytes[places[hit].position + 16] == 2;
                let context = format!("byte {in_batch} of batch {hit}, bit {bit:#x}: {seen:?}");
                assert_eq!(seen.len(), places.len(), "{context}");
                if in_batch < 8 && !bytes_are_v2(&bytes, &places, hit) {
                    // Beside wrappers, which show only their last offset, it cannot be told which of
                    // two is wrong; but all are handed out, and not more than one is doubted.
                    assert!(seen.iter().all(|item| !matches!(item, Seen::Damage(_))), "{context}");
                    let doubted = seen.iter().filter(|item| matches!(item, Seen::Suspect { .. })).count();
                    assert!(doubted <= 1, "{context}");
                    continue;
                }
                for (index, (item, place)) in seen.iter().zip(&places).enumerate() {
                    assert_eq!(item.span(), (place.position as u64, place.length as u64), "{context}");
                    if index != hit {
                        assert!(matches!(item, Seen::Good { .. }), "batch {index}; {context}");
                    }
                }
                let kind = match &seen[hit] {
                    Seen::Good { .. } => None,
                    Seen::Suspect { kind, .. } => Some(*kind),
                    Seen::Damage(damage) => Some(damage.kind),
                };
                let expected = match in_batch {
                    // Nothing is known of the end of the log, or of where a wrapper begins.
                    0..8 if hit + 1 == places.len() || !is_v2 || !bytes_are_v2(&bytes, &places, hit) => {
                        continue;
                    }
                    0..8 => Some(DamageKind::BadOffset),
                    8..12 => Some(DamageKind::BadLength),
                    12..16 if is_v2 => None,
                    16 if is_v2 => Some(DamageKind::BadMagic),
                    16 => continue,
                    _ => Some(DamageKind::BadCrc),
                };
                assert_eq!(kind, expected, "{context}");
            }
        }
    }
}

fn bytes_are_v2(bytes: &[u8], places: &[Place], hit: usize) -> bool {
    places[hit.saturating_sub(1)..places.len().min(hit + 2)]
        .iter()
        .all(|place| bytes[place.position + 16] == 2)
}

#[test]
fn a_cut_file_has_a_torn_tail_and_all_batches_before() {
    for segment in [mixed(), legacy()] {
        let places = segment.places().to_vec();
        let bytes = segment.bytes();
        for cut in 0..bytes.len() {
            let seen = scan_as(&bytes[..cut], 0, TailExpectation::MayBeTorn);
            let whole = places.iter().filter(|place| place.position + place.length <= cut).count();
            let end = places[..whole].last().map_or(0, |place| place.position + place.length);
            assert_eq!(seen.len(), whole + usize::from(end < cut), "cut at {cut}");
            if end < cut {
                let damage = seen.last().unwrap().damage();
                assert_eq!((damage.kind, damage.expected), (DamageKind::TruncatedTail, true), "{damage:?}");
                assert_eq!(damage.position.0, end as u64);
                let first = places[..whole].last().map_or(0, |place| place.last_offset + 1);
                assert_eq!((damage.first_offset, damage.last_offset), (Some(Offset(first)), None));
            }
        }
    }
}

#[test]
fn damage_names_the_offsets_that_are_missing() {
    let segment = mixed();
    let place = segment.places()[2];
    let mut bytes = segment.bytes();
    bytes[place.position + 70] ^= 1;
    let seen = scan(&bytes);
    let damage = seen[2].damage();
    assert_eq!(damage.kind, DamageKind::BadCrc);
    assert_eq!(damage.first_offset, Some(Offset(place.base_offset)));
    assert_eq!(damage.last_offset, Some(Offset(place.last_offset)));
    assert!(!damage.expected);
    assert!(damage.detail.starts_with("stored checksum "), "{}", damage.detail);
}

#[test]
fn a_batch_with_a_wrong_length_is_read_when_its_checksum_finds_its_end() {
    let segment = mixed();
    let place = segment.places()[1];
    let bytes = segment.bytes();
    for wrong in [0i32, 1, 49, 60, 1000, 1 << 30, -1] {
        let mut bytes = bytes.clone();
        bytes[place.position + 8..place.position + 12].copy_from_slice(&wrong.to_be_bytes());
        let seen = scan(&bytes);
        assert_eq!(
            seen[1],
            Seen::Suspect {
                kind: DamageKind::BadLength,
                position: place.position as u64,
                length: place.length as u64,
                base: place.base_offset,
                belongs_at: Some(place.base_offset),
            },
            "length {wrong}"
        );
        assert_eq!(seen.len(), 7);
    }
}

#[test]
fn a_length_past_the_end_of_the_last_batch_is_no_torn_tail() {
    let segment = mixed();
    let place = *segment.places().last().unwrap();
    let mut bytes = segment.bytes();
    bytes[place.position + 9] ^= 1;
    assert!(matches!(scan(&bytes).last(), Some(Seen::Suspect { kind: DamageKind::BadLength, .. })));
}

/// A batch with a whole segment of another log in a value.
fn with_inner_batch() -> SegmentBuilder {
    let inner = SegmentBuilder::at(1000).batch(records(2)).batch(records(2)).bytes();
    SegmentBuilder::new()
        .batch(records(1))
        .batch(records(1).record("copy", inner.as_slice()).record("after", "x"))
        .batch(records(1))
        .batch(records(1))
}

#[test]
fn a_batch_inside_a_record_is_not_taken_for_one_of_the_log() {
    let segment = with_inner_batch();
    let places = segment.places().to_vec();
    let bytes = segment.bytes();
    for at in 0..places[1].length {
        let mut flipped = bytes.clone();
        flipped[places[1].position + at] ^= 0x10;
        let seen = scan(&flipped);
        assert_eq!(seen.len(), 4, "byte {at}: {seen:?}");
        for index in [0, 2, 3] {
            assert_eq!(seen[index], good(&places[index]), "byte {at}");
        }
    }
}

#[test]
fn a_torn_batch_does_not_give_up_what_stands_in_its_records() {
    let segment = with_inner_batch();
    let place = segment.places()[1];
    let bytes = segment.bytes();
    let cut = place.position + place.length - 3;
    let seen = scan_as(&bytes[..cut], 0, TailExpectation::MayBeTorn);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(seen[1].damage().kind, DamageKind::TruncatedTail);
}

#[test]
fn zeros_up_to_the_end_are_a_zero_tail() {
    let segment = mixed();
    let end = segment.places().last().unwrap();
    let (end, next) = ((end.position + end.length) as u64, end.last_offset + 1);
    let bytes = segment.raw(&[0; 500]).bytes();
    for (tail, expected) in [(TailExpectation::MayBeTorn, true), (TailExpectation::MustBeWhole, false)] {
        let seen = scan_as(&bytes, 0, tail);
        let damage = seen.last().unwrap().damage();
        assert_eq!((damage.kind, damage.expected), (DamageKind::ZeroTail, expected));
        assert_eq!((damage.position.0, damage.length), (end, 500));
        assert_eq!(damage.first_offset, Some(Offset(next)));
        assert_eq!(damage.detail, "all 500 bytes to the end of the file are zero");
    }
}

#[test]
fn a_torn_batch_before_zeros_is_told_apart_from_them() {
    let torn = records(20).bytes();
    for written in 18..torn.len() - 17 {
        let segment = SegmentBuilder::new().batch(records(1));
        let start = segment.places()[0].length as u64;
        let bytes = segment.raw(&torn[..written]).raw(&vec![0; 2000]).bytes();
        let seen = scan_as(&bytes, 0, TailExpectation::MayBeTorn);
        assert_eq!(seen.len(), 3, "{written} bytes: {seen:?}");
        assert_eq!((seen[1].damage().kind, seen[1].damage().expected), (DamageKind::TruncatedTail, true));
        assert_eq!(seen[1].damage().position.0, start);
        assert_eq!((seen[2].damage().kind, seen[2].damage().expected), (DamageKind::ZeroTail, true));
    }
}

#[test]
fn zeros_in_the_middle_are_one_hole() {
    let segment = SegmentBuilder::new().batch(records(1)).raw(&[0; 3000]).skip_to(5).batch(records(1));
    let places = segment.places().to_vec();
    let seen = scan(&segment.bytes());
    let damage = seen[1].damage();
    assert_eq!((damage.kind, damage.length, damage.expected), (DamageKind::BadLength, 3000, false));
    assert_eq!(damage.detail, "3000 zero bytes, the log goes on behind them");
    assert_eq!((damage.first_offset, damage.last_offset), (Some(Offset(1)), Some(Offset(4))));
    assert_eq!(seen[2], good(&places[1]));
}

#[test]
fn garbage_up_to_the_end_is_no_torn_tail() {
    let bytes = SegmentBuilder::new().batch(records(1)).raw(&[0xa5; 300]).bytes();
    let seen = scan_as(&bytes, 0, TailExpectation::MayBeTorn);
    let damage = seen[1].damage();
    assert_eq!((damage.kind, damage.length, damage.expected), (DamageKind::BadLength, 300, false));
}

#[test]
fn an_offset_that_both_neighbours_contradict_is_out_of_place() {
    let segment = mixed();
    let place = segment.places()[2];
    let bytes = segment.bytes();
    for wrong in [0, place.base_offset - 1, place.base_offset + 1, place.base_offset ^ 64, 1 << 40] {
        let mut bytes = bytes.clone();
        bytes[place.position..place.position + 8].copy_from_slice(&wrong.to_be_bytes());
        let seen = scan(&bytes);
        assert_eq!(seen.len(), 7);
        let Seen::Suspect { kind, base, belongs_at, .. } = seen[2] else { panic!("{:?}", seen[2]) };
        assert_eq!((kind, base, belongs_at), (DamageKind::BadOffset, wrong, Some(place.base_offset)));
        assert!(seen.iter().enumerate().all(|(index, item)| index == 2 || matches!(item, Seen::Good { .. })));
    }
}

#[test]
fn the_last_batch_is_held_against_the_next_segment() {
    let segment = mixed();
    let place = *segment.places().last().unwrap();
    let mut bytes = segment.bytes();
    bytes[place.position + 5] ^= 1;
    let scanner = |next| {
        SegmentScanner::new(bytes.as_slice(), Offset(0), TailExpectation::MustBeWhole).before(Offset(next))
    };
    let seen = collect(scanner(place.last_offset + 1), bytes.len());
    let Some(Seen::Suspect { kind: DamageKind::BadOffset, belongs_at, .. }) = seen.last() else {
        panic!("{seen:?}")
    };
    assert_eq!(*belongs_at, Some(place.base_offset));
    let seen = collect(scanner(1 << 30), bytes.len());
    assert!(matches!(seen.last(), Some(Seen::Good { .. })), "a hole is no proof");
}

#[test]
fn where_the_log_steps_back_the_repeats_are_out_of_place_and_reading_goes_on() {
    let segment = (0..10).fold(SegmentBuilder::new(), |segment, _| segment.batch(records(1)));
    let segment = (0..6).fold(segment.skip_to(7), |segment, _| segment.batch(records(1)));
    let seen = scan(&segment.bytes());
    let kinds: Vec<bool> = seen.iter().map(|item| matches!(item, Seen::Good { .. })).collect();
    assert_eq!(kinds, [vec![true; 10], vec![false; 3], vec![true; 3]].concat());
    for item in &seen[10..13] {
        assert!(matches!(item, Seen::Suspect { kind: DamageKind::BadOffset, belongs_at: None, .. }));
    }
}

#[test]
fn damage_inside_repeated_offsets_costs_no_batch() {
    let segment = (0..10).fold(SegmentBuilder::new(), |segment, _| segment.batch(records(1)));
    let segment = (0..8).fold(segment.skip_to(2), |segment, _| segment.batch(records(1)));
    let place = segment.places()[13];
    let mut bytes = segment.bytes();
    bytes[place.position + 10] ^= 0x7f;
    assert_eq!(scan(&bytes).len(), 18);
}

#[test]
fn holes_of_the_cleaner_are_innocent() {
    let segment = SegmentBuilder::new()
        .skip_to(5)
        .batch(records(3).kept(&[1]))
        .skip_to(20)
        .batch(records(2).kept(&[]))
        .skip_to(30)
        .batch(records(1));
    let bytes = segment.bytes();
    assert!(scan(&bytes).iter().all(|item| matches!(item, Seen::Good { .. })));
}

#[test]
fn beside_a_hole_it_is_the_batch_that_steps_back_that_is_out_of_place() {
    let segment = SegmentBuilder::new()
        .batch(records(2))
        .skip_to(20)
        .batch(records(2))
        .batch(records(2).offset(10))
        .skip_to(24)
        .batch(records(2));
    let seen = scan(&segment.bytes());
    let kinds: Vec<bool> = seen.iter().map(|item| matches!(item, Seen::Good { .. })).collect();
    assert_eq!(kinds, [true, true, false, true], "{seen:?}");
}

#[test]
fn two_broken_batches_in_a_row_cost_no_third() {
    let segment = mixed();
    let places = segment.places().to_vec();
    let bytes = segment.bytes();
    for (first, second) in [(8, 8), (8, 70), (70, 8), (16, 9), (0, 8), (9, 0), (11, 61)] {
        let mut bytes = bytes.clone();
        bytes[places[2].position + first] ^= 0x55;
        bytes[places[3].position + second] ^= 0x55;
        let seen = scan(&bytes);
        for index in [0, 1, 4, 5, 6] {
            assert!(
                seen.contains(&good(&places[index])),
                "batch {index} after {first} and {second}: {seen:?}"
            );
        }
    }
}

#[test]
fn a_file_without_a_telling_name_is_read_from_wherever_it_begins() {
    let bytes = SegmentBuilder::at(77).batch(records(1)).batch(records(1)).bytes();
    let seen = collect(SegmentScanner::unnamed(bytes.as_slice(), TailExpectation::MayBeTorn), bytes.len());
    assert!(matches!(seen[..], [Seen::Good { base: 77, .. }, Seen::Good { base: 78, .. }]));
}

#[test]
fn a_file_of_greedy_headers_is_given_up_in_time() {
    // Each header asks for the checksum of all that follows.
    let header = {
        let mut bytes = records(1).bytes();
        bytes.truncate(61);
        bytes
    };
    let count = 60_000usize;
    let mut bytes = Vec::new();
    for index in 0..count {
        let left = u32::try_from((count - index) * 61 - 12).unwrap();
        let mut header = header.clone();
        header[..8].copy_from_slice(&(index as u64).to_be_bytes());
        header[8..12].copy_from_slice(&left.to_be_bytes());
        bytes.extend(header);
    }
    bytes.extend([1; 10]);
    let started = std::time::Instant::now();
    scan_as(&bytes, 0, TailExpectation::MustBeWhole);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_tiled(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400)) {
        scan(&bytes);
    }

    #[test]
    fn mutilated_segments_are_tiled(
        cuts in proptest::collection::vec((0usize..2000, 0usize..200, proptest::num::u8::ANY), 1..5),
        kind in 0..3,
    ) {
        let segment = match kind { 0 => mixed(), 1 => uniform(), _ => legacy() };
        let mut bytes = segment.bytes();
        for (at, length, byte) in cuts {
            let at = at % bytes.len().max(1);
            let end = (at + length).min(bytes.len());
            match byte % 3 {
                0 => drop(bytes.drain(at..end)),
                1 => bytes[at..end].fill(byte),
                _ => { let copy = bytes[at..end].to_vec(); bytes.splice(end..end, copy); }
            }
        }
        scan(&bytes);
    }
}

/// A source that reads ahead, as files are read, and counts what it reads.
struct ReadAhead<'a> {
    file: &'a [u8],
    start: usize,
    end: usize,
    read: &'a std::cell::Cell<usize>,
}

impl ByteSource for ReadAhead<'_> {
    fn len(&self) -> u64 {
        self.file.len() as u64
    }

    fn window(&mut self, position: u64, length: usize) -> io::Result<&[u8]> {
        let position = usize::try_from(position).unwrap();
        let wanted = (position + length).min(self.file.len());
        if position < self.start || wanted > self.end {
            self.start = position;
            self.end = (position + length.max(16 << 10)).min(self.file.len());
            self.read.set(self.read.get() + self.end - self.start);
        }
        Ok(&self.file[position..self.end])
    }
}

#[test]
fn clean_batches_are_read_once_also_between_holes() {
    for step in [0, 5] {
        let mut segment = SegmentBuilder::new();
        for number in 0..400 {
            segment = segment.skip_to(number * (20 + step)).batch(records(20));
        }
        let (bytes, read) = (segment.bytes(), std::cell::Cell::new(0));
        let source = ReadAhead { file: &bytes, start: 0, end: 0, read: &read };
        let seen = collect(SegmentScanner::new(source, Offset(0), TailExpectation::MustBeWhole), bytes.len());
        assert!(seen.iter().all(|item| matches!(item, Seen::Good { .. })));
        assert!(read.get() < bytes.len() + bytes.len() / 8, "{} of {} bytes", read.get(), bytes.len());
    }
}
