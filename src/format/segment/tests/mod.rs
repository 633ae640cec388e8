//! What the tests of the scan share: segments, and items in short.

mod damage;
mod order;
mod promises;

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

/// Batches with holes between them and in them, as a cleaner leaves them.
fn compacted() -> SegmentBuilder {
    SegmentBuilder::new()
        .batch(records(3).kept(&[0, 2]))
        .skip_to(10)
        .batch(records(2))
        .batch(records(4).kept(&[3]))
        .skip_to(40)
        .batch(records(1))
        .skip_to(300)
        .batch(records(2))
        .batch(records(2))
        .skip_to(900)
        .batch(records(1))
}
