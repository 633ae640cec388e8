//! Bytes that went bad, are missing, or are zero.

use super::*;

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
fn a_step_forward_before_damage_hides_no_batch_behind_it() {
    // Beside holes it can stay open which of two batches is out of place; both are read.
    for (segment, in_line) in [(mixed(), true), (uniform(), true), (compacted(), false)] {
        let places = segment.places().to_vec();
        let bytes = segment.bytes();
        for (pair, rest) in places.windows(2).zip((2..).map(|next| &places[next..])) {
            let [stepped, hit] = pair else { unreachable!() };
            for byte in 3..8 {
                for mask in [1u8, 4, 64] {
                    for (start, length) in [(0, 8), (3, 4), (8, 4), (0, 17), (30, 20)] {
                        let mut bytes = bytes.clone();
                        bytes[stepped.position + byte] ^= mask;
                        bytes[hit.position + start..][..length].iter_mut().for_each(|byte| *byte ^= 0x15);
                        let seen = scan(&bytes);
                        let readable = |place: &Place| {
                            let at = place.position as u64;
                            seen.iter().any(|item| match item {
                                Seen::Good { position, .. } => *position == at,
                                Seen::Suspect { position, belongs_at, .. } => {
                                    *position == at && (!in_line || *belongs_at == Some(place.base_offset))
                                }
                                Seen::Damage(_) => false,
                            })
                        };
                        assert!(rest.iter().all(readable), "{byte} {mask} {start}: {seen:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_offset_is_contradicted_by_a_neighbour_with_a_wrong_checksum() {
    let segment = mixed();
    let mut bytes = segment.clone().bytes();
    bytes[segment.places()[1].position + 6] ^= 1;
    bytes[segment.places()[2].position + 40] ^= 1;
    let seen = scan(&bytes);
    let Seen::Suspect { kind, belongs_at, .. } = seen[1] else { panic!("{seen:?}") };
    assert_eq!((kind, belongs_at), (DamageKind::BadOffset, Some(segment.places()[1].base_offset)));
    assert_eq!(seen.iter().filter(|item| matches!(item, Seen::Good { .. })).count(), 5, "{seen:?}");
}

#[test]
fn a_wrong_length_is_mended_where_the_next_start_is_hit_too() {
    for segment in [mixed(), uniform()] {
        let (first, next) = (segment.places()[2], segment.places()[3]);
        for byte in 0..17 {
            let mut bytes = segment.clone().bytes();
            bytes[first.position + 9] ^= 0x40;
            bytes[next.position + byte] ^= 0x20;
            let seen = scan(&bytes);
            let Seen::Suspect { kind, position, .. } = seen[2] else { panic!("{byte}: {seen:?}") };
            assert_eq!((kind, position), (DamageKind::BadLength, first.position as u64));
        }
    }
}

#[test]
fn a_batch_behind_two_others_with_damage_is_read() {
    for segment in [mixed(), uniform(), compacted(), legacy()] {
        let mut bytes = segment.clone().bytes();
        bytes[0] ^= 1;
        bytes[454..460].iter_mut().for_each(|byte| *byte ^= 0x92);
        let seen = scan(&bytes);
        for place in segment.places() {
            let end = place.position + place.length;
            let is_hit = place.position == 0 || (place.position < 460 && end > 454);
            let at = (place.position as u64, place.length as u64);
            let is_read = seen.iter().any(|item| !matches!(item, Seen::Damage(_)) && item.span() == at);
            assert!(is_hit || is_read, "{place:?}: {seen:#?} {:#?}", segment.places());
        }
    }
}

proptest::proptest! {
    #[test]
    fn two_damages_lose_no_batch_that_neither_touches(
        hits in proptest::collection::vec((0usize..5000, 1usize..40, 1u8..), 2),
        kind in 0..4,
    ) {
        let segment = match kind { 0 => mixed(), 1 => uniform(), 2 => compacted(), _ => legacy() };
        let mut bytes = segment.clone().bytes();
        let hits: Vec<_> = hits.into_iter().map(|(at, length, mask)| {
            let at = at % bytes.len();
            // Most are one byte, which is the hardest to notice.
            (at..(at + length.saturating_sub(20).max(1)).min(bytes.len()), mask)
        }).collect();
        for (range, mask) in &hits {
            bytes[range.clone()].iter_mut().for_each(|byte| *byte ^= mask);
        }
        let seen = scan(&bytes);
        for place in segment.places() {
            let end = place.position + place.length;
            let is_hit = hits.iter().any(|(range, _)| range.start < end && place.position < range.end);
            let at = (place.position as u64, place.length as u64);
            let is_read = seen.iter().any(|item| !matches!(item, Seen::Damage(_)) && item.span() == at);
            proptest::prop_assert!(is_hit || is_read, "{place:?} {hits:?}: {seen:?}");
        }
    }
}
