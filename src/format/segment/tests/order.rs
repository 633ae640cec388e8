//! Offsets that do not fit between their neighbours.

use super::*;

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
fn batches_that_go_on_past_the_next_segment_are_not_of_this_one() {
    let segment = (0..4).fold(SegmentBuilder::new(), |segment, _| segment.batch(records(3)));
    let bytes = segment.bytes();
    let good = |next| {
        let scanner = SegmentScanner::new(bytes.as_slice(), Offset(0), TailExpectation::MustBeWhole)
            .before(Offset(next));
        let seen = collect(scanner, bytes.len());
        let fits = |item: &Seen| match item {
            Seen::Good { .. } => true,
            Seen::Suspect { kind: DamageKind::BadOffset, belongs_at: None, .. } => false,
            other => panic!("{other:?}"),
        };
        seen.iter().map(fits).collect::<Vec<_>>()
    };
    assert_eq!(good(12), [true; 4]);
    assert_eq!(good(6), [true, true, false, false]);
    assert_eq!(good(5), [true, false, false, false], "one that reaches into the next file");
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
fn a_file_without_a_telling_name_is_read_from_wherever_it_begins() {
    let bytes = SegmentBuilder::at(77).batch(records(1)).batch(records(1)).bytes();
    let seen = collect(SegmentScanner::unnamed(bytes.as_slice(), TailExpectation::MayBeTorn), bytes.len());
    assert!(matches!(seen[..], [Seen::Good { base: 77, .. }, Seen::Good { base: 78, .. }]));
}
