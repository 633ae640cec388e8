//! What each epoch of each producer wrote to one partition.
//!
//! Under transaction protocol 2 every transaction has an epoch of its own (KIP-890), so a log may hold
//! millions. The newest [`LIVE`] epochs of a producer stay as they are; older ones are packed, about 20
//! bytes each. A batch of an epoch that was packed makes a new part of it.

use super::packed::{Unpack, put, put_step};
use super::protection::earliest;
use super::{EpochEnds, EpochSpan};
use crate::format::BatchHeader;
use crate::spill::{Element, RunReader};
use crate::units::{Offset, ProducerEpoch, ProducerId, Sequence};
use std::io;

/// Epochs of a producer that may still grow.
const LIVE: usize = 2;

/// Who wrote, and in which epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: Option<ProducerEpoch>,
}

/// The epochs of a partition.
#[derive(Clone, Debug, Default)]
pub struct Epochs(Packed);

impl Epochs {
    /// All of them, the older ones of a producer first. One that a producer went back to behind two
    /// others may come in parts.
    pub fn iter(&self) -> impl Iterator<Item = EpochSpan> {
        self.0.iter()
    }

    /// How many parts there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.count
    }

    /// Whether no producer with an id wrote.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives back what is not needed.
    pub(super) fn finished(mut self) -> Self {
        self.0.bytes.shrink_to_fit();
        self
    }
}

/// The newest epochs of a producer, the older first.
#[derive(Debug, Default)]
pub(super) struct LiveEpochs(Vec<EpochSpan>);

impl LiveEpochs {
    /// Takes a data batch of the producer.
    pub(super) fn batch(&mut self, over: &mut Epochs, header: &BatchHeader, time: Option<i64>) {
        let records = u64::from(header.records_count.unwrap_or(0));
        let new = EpochSpan {
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            transactional: header.is_transactional(),
            first_offset: header.base_offset,
            last_offset: header.last_offset(),
            first_sequence: header.base_sequence,
            last_sequence: header.last_sequence(),
            batches: 1,
            records,
            first_timestamp: header.first_timestamp().map(|time| time.0),
            last_timestamp: time,
            closed_by_next: false,
            ends: None,
        };
        if let Some(span) = self.find(header.producer_epoch) {
            span.join(&new);
            return;
        }
        if self.0.len() == LIVE {
            over.0.push(&self.0.remove(0));
        }
        self.0.reserve_exact(1);
        self.0.push(new);
    }

    /// An epoch, as long as it may still grow.
    pub(super) fn find(&mut self, epoch: Option<ProducerEpoch>) -> Option<&mut EpochSpan> {
        self.0.iter_mut().find(|span| span.producer_epoch == epoch)
    }

    /// The partition is at its end.
    pub(super) fn end(&self, over: &mut Epochs) {
        self.0.iter().for_each(|span| over.0.push(span));
    }
}

impl Element for LiveEpochs {
    fn memory(&self) -> usize {
        self.0.memory()
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        Vec::take(from).map(Self)
    }
}

impl EpochSpan {
    /// Adds what was written to the same epoch later.
    pub(crate) fn join(&mut self, later: &Self) {
        self.transactional |= later.transactional;
        self.last_offset = later.last_offset;
        self.last_sequence = later.last_sequence;
        self.batches = self.batches.saturating_add(later.batches);
        self.records = self.records.saturating_add(later.records);
        self.first_timestamp = earliest(self.first_timestamp, later.first_timestamp);
        self.last_timestamp = self.last_timestamp.max(later.last_timestamp);
        self.closed_by_next |= later.closed_by_next;
        self.ends = later.ends.or(self.ends);
    }
}

/// Epochs that do not grow any more.
#[derive(Clone, Debug, Default)]
struct Packed {
    bytes: Vec<u8>,
    count: usize,
    last: Anchor,
}

/// What the next one is counted from.
#[derive(Clone, Copy, Debug, Default)]
struct Anchor {
    producer_id: i64,
    offset: i64,
    time: i64,
}

impl Anchor {
    fn behind(span: &EpochSpan, before: Self) -> Self {
        let time = span.last_timestamp.or(span.first_timestamp).unwrap_or(before.time);
        Self { producer_id: span.producer_id.0, offset: span.last_offset.0, time }
    }
}

const TRANSACTIONAL: u64 = 1;
const CLOSED_BY_NEXT: u64 = 1 << 1;
const ENDS_OWN: u64 = 1 << 2;
const ENDS_NEXT: u64 = 1 << 3;
const HAS_FIRST_TIME: u64 = 1 << 4;
const HAS_LAST_TIME: u64 = 1 << 5;

impl Packed {
    fn push(&mut self, span: &EpochSpan) {
        let bytes = &mut self.bytes;
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        let flags = flag(span.transactional, TRANSACTIONAL)
            | flag(span.closed_by_next, CLOSED_BY_NEXT)
            | flag(span.ends == Some(EpochEnds::Own), ENDS_OWN)
            | flag(span.ends == Some(EpochEnds::Next), ENDS_NEXT)
            | flag(span.first_timestamp.is_some(), HAS_FIRST_TIME)
            | flag(span.last_timestamp.is_some(), HAS_LAST_TIME);
        put(bytes, flags);
        put_step(bytes, self.last.producer_id, span.producer_id.0);
        put_step(bytes, -1, span.producer_epoch.map_or(-1, |epoch| i64::from(epoch.0)));
        put_step(bytes, self.last.offset, span.first_offset.0);
        put_step(bytes, span.first_offset.0, span.last_offset.0);
        let sequence = |sequence: Option<Sequence>| sequence.map_or(-1, |sequence| i64::from(sequence.get()));
        put_step(bytes, -1, sequence(span.first_sequence));
        put_step(bytes, sequence(span.first_sequence), sequence(span.last_sequence));
        put(bytes, span.batches);
        put(bytes, span.records);
        let mut time = self.last.time;
        for next in [span.first_timestamp, span.last_timestamp].into_iter().flatten() {
            put_step(bytes, time, next);
            time = next;
        }
        self.last = Anchor::behind(span, self.last);
        self.count += 1;
    }

    fn iter(&self) -> impl Iterator<Item = EpochSpan> {
        let mut bytes = Unpack::new(&self.bytes);
        let mut last = Anchor::default();
        std::iter::from_fn(move || {
            let span = next(&mut bytes, last)?;
            last = Anchor::behind(&span, last);
            Some(span)
        })
    }
}

fn next(bytes: &mut Unpack<'_>, last: Anchor) -> Option<EpochSpan> {
    let flags = bytes.take()?;
    let has = |bit: u64| flags & bit != 0;
    let producer_id = ProducerId(bytes.take_step(last.producer_id)?);
    let epoch = i16::try_from(bytes.take_step(-1)?).ok().filter(|&epoch| epoch >= 0);
    let first_offset = bytes.take_step(last.offset)?;
    let last_offset = bytes.take_step(first_offset)?;
    let first_sequence = bytes.take_step(-1)?;
    let last_sequence = bytes.take_step(first_sequence)?;
    let (batches, records) = (bytes.take()?, bytes.take()?);
    let mut time = last.time;
    let mut timestamp = |bit: u64| {
        if has(bit) {
            time = bytes.take_step(time)?;
        }
        Some(has(bit).then_some(time))
    };
    let (first_timestamp, last_timestamp) = (timestamp(HAS_FIRST_TIME)?, timestamp(HAS_LAST_TIME)?);
    let sequence = |number: i64| i32::try_from(number).ok().and_then(Sequence::new);
    Some(EpochSpan {
        producer_id,
        producer_epoch: epoch.map(ProducerEpoch),
        transactional: has(TRANSACTIONAL),
        first_offset: Offset(first_offset),
        last_offset: Offset(last_offset),
        first_sequence: sequence(first_sequence),
        last_sequence: sequence(last_sequence),
        batches,
        records,
        first_timestamp,
        last_timestamp,
        closed_by_next: has(CLOSED_BY_NEXT),
        ends: match (has(ENDS_OWN), has(ENDS_NEXT)) {
            (true, _) => Some(EpochEnds::Own),
            (false, true) => Some(EpochEnds::Next),
            (false, false) => None,
        },
    })
}

impl Element for Writer {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.producer_id.0.to_le_bytes());
        // No epoch goes before all others.
        let epoch = self.producer_epoch.map_or(i32::MIN, |epoch| i32::from(epoch.0));
        out.extend_from_slice(&epoch.to_le_bytes());
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let producer_id = ProducerId(i64::from_le_bytes(from.array()?));
        let epoch = i32::from_le_bytes(from.array()?);
        Ok(Self { producer_id, producer_epoch: i16::try_from(epoch).ok().map(ProducerEpoch) })
    }
}

impl Element for EpochSpan {
    fn put(&self, out: &mut Vec<u8>) {
        let writer = Writer { producer_id: self.producer_id, producer_epoch: self.producer_epoch };
        writer.put(out);
        let ends = match self.ends {
            None => 0,
            Some(EpochEnds::Own) => 1,
            Some(EpochEnds::Next) => 2,
        };
        out.extend_from_slice(&[u8::from(self.transactional), u8::from(self.closed_by_next), ends]);
        [self.first_offset.0, self.last_offset.0].put(out);
        out.extend_from_slice(&self.batches.to_le_bytes());
        out.extend_from_slice(&self.records.to_le_bytes());
        let sequence = |sequence: Option<Sequence>| sequence.map(|sequence| i64::from(sequence.get()));
        [
            sequence(self.first_sequence),
            sequence(self.last_sequence),
            self.first_timestamp,
            self.last_timestamp,
        ]
        .put(out);
    }

    fn take(from: &mut RunReader) -> io::Result<Self> {
        let Writer { producer_id, producer_epoch } = Writer::take(from)?;
        let [transactional, closed_by_next, ends] = from.array()?;
        let [first_offset, last_offset] = <[i64; 2]>::take(from)?;
        let (batches, records) = (u64::from_le_bytes(from.array()?), u64::from_le_bytes(from.array()?));
        let [first_sequence, last_sequence, first_timestamp, last_timestamp] =
            <[Option<i64>; 4]>::take(from)?;
        let sequence = |number: Option<i64>| Sequence::new(i32::try_from(number?).ok()?);
        Ok(Self {
            producer_id,
            producer_epoch,
            transactional: transactional == 1,
            first_offset: Offset(first_offset),
            last_offset: Offset(last_offset),
            first_sequence: sequence(first_sequence),
            last_sequence: sequence(last_sequence),
            batches,
            records,
            first_timestamp,
            last_timestamp,
            closed_by_next: closed_by_next == 1,
            ends: match ends {
                1 => Some(EpochEnds::Own),
                2 => Some(EpochEnds::Next),
                _ => None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::fold;
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write;

    #[test]
    fn thousands_of_epochs_take_a_few_bytes_each_and_none_is_lost() {
        let mut script = String::new();
        for epoch in 0..5_000 {
            write!(script, "X 7/{epoch} 0..2; {}M 7/{}; ", if epoch % 2 == 0 { '+' } else { '-' }, epoch + 1)
                .unwrap();
        }
        let epochs = fold(&script).epochs;
        assert!(epochs.0.bytes.capacity() < 5_000 * 24, "{}", epochs.0.bytes.capacity());
        for (number, span) in (0..).zip(epochs.iter()) {
            assert_eq!(span.producer_epoch, Some(ProducerEpoch(number)));
            assert_eq!((span.first_offset.0, span.records), (i64::from(number) * 4, 3));
            assert!(span.closed_by_next);
        }
        assert_eq!(epochs.len(), 5_000);
    }

    #[test]
    fn two_epochs_in_turn_are_two_spans() {
        let spans: Vec<_> =
            fold("D 5/0 0..0; D 5/1 0..0; D 5/0 1..1; D 5/1 1..1; D 5/0 2..2").epochs.iter().collect();
        assert_eq!(spans.iter().map(|span| span.records).collect::<Vec<_>>(), [3, 2]);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_read_back(
            spans in prop::collection::vec(any::<(i64, Option<i16>, (i64, i64), (i32, i32), (u64, u64), (Option<i64>, Option<i64>), u8)>(), 0..20),
        ) {
            let spans: Vec<EpochSpan> = spans.into_iter().map(|(id, epoch, offsets, sequences, counts, times, flags)| EpochSpan {
                producer_id: ProducerId(id),
                producer_epoch: epoch.filter(|epoch| *epoch >= 0).map(ProducerEpoch),
                transactional: flags & 1 != 0,
                first_offset: Offset(offsets.0),
                last_offset: Offset(offsets.1),
                first_sequence: Sequence::new(sequences.0),
                last_sequence: Sequence::new(sequences.1),
                batches: counts.0,
                records: counts.1,
                first_timestamp: times.0,
                last_timestamp: times.1,
                closed_by_next: flags & 2 != 0,
                ends: [None, Some(EpochEnds::Own), Some(EpochEnds::Next)][usize::from(flags) / 4 % 3],
            }).collect();
            let mut packed = Packed::default();
            for span in &spans {
                packed.push(span);
            }
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), spans);
        }
    }
}
