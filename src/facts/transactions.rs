//! Which transactions a partition holds, how each ended, and what that withholds.
//!
//! A marker ends the open transaction of its producer id, whatever its epoch: under transaction
//! protocol 2, after a timeout and after fencing its epoch is above that of the data. Markers that
//! find nothing open (a retry, a partition without data, compacted data) are innocent and only
//! counted; control batches that the cleaner emptied are ignored.
//!
//! Source: `ProducerAppendInfo.appendEndTxnMarker`; KIP-98, KIP-890, KAFKA-7467.

use super::withheld::Collected;
use super::{EmptyMarker, Outcome, TransactionSpan, Withheld, WithheldRange};
use crate::format::{BatchHeader, TimestampType};
use crate::units::{Offset, ProducerEpoch, ProducerId};
use std::collections::{BTreeMap, VecDeque};

/// Transactions with a readable end that are kept one by one, of each outcome: the newest.
const MAX_ENDED: usize = 20_000;
/// Epochs of one open transaction that are kept one by one.
const MAX_EARLIER: usize = 1_000;
/// Markers without data that are kept one by one.
const MAX_EMPTY_MARKERS: usize = 10_000;

/// The transactions of one partition, folded in offset order.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    open: BTreeMap<ProducerId, Open>,
    /// Open ones behind whose first batch no broker's time was seen yet.
    undated: Vec<ProducerId>,
    /// How far the clock of the leaders has come.
    clock: Option<i64>,
    committed: VecDeque<TransactionSpan>,
    aborted: VecDeque<TransactionSpan>,
    /// Those that a file beside the log contradicts, and those of which nobody knows how they ended.
    peculiar: Vec<TransactionSpan>,
    /// Ended ones that are not kept.
    pub(super) omitted: u64,
    withheld: Collected,
    pub(super) empty_markers: Vec<EmptyMarker>,
    pub(super) empty_markers_omitted: u64,
}

#[derive(Debug)]
struct Open {
    /// What data of lower epochs left behind without an end.
    earlier: Vec<TransactionSpan>,
    span: TransactionSpan,
    /// Whether only a snapshot says where it began.
    remembered: bool,
    /// The first offset of its first batch that is not wholly below the log start.
    above_log_start: Option<Offset>,
    ranges: Vec<(Offset, Offset)>,
}

impl Open {
    fn spans_mut(&mut self) -> impl Iterator<Item = &mut TransactionSpan> {
        self.earlier.iter_mut().chain(std::iter::once(&mut self.span))
    }

    fn begins_at(&mut self, first: Offset) {
        for span in self.spans_mut() {
            span.open_since = first;
        }
        if let Some(span) = self.spans_mut().next() {
            span.first_offset = first;
        }
    }
}

/// An open transaction of which nothing but its beginning is known.
const fn begun(
    producer_id: ProducerId,
    producer_epoch: Option<ProducerEpoch>,
    first: Offset,
) -> TransactionSpan {
    TransactionSpan {
        producer_id,
        producer_epoch,
        first_offset: first,
        open_since: first,
        followed_by: None,
        last_offset: None,
        marker_offset: None,
        marker_epoch: None,
        ended_below: None,
        first_timestamp: None,
        last_timestamp: None,
        times: TimestampType::CreateTime,
        appended_from: None,
        appended_by: None,
        marker_timestamp: None,
        outcome: Outcome::Open,
    }
}

/// What ended a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    pub(super) producer_id: ProducerId,
    pub(super) producer_epoch: Option<ProducerEpoch>,
    pub(super) offset: Offset,
    pub(super) timestamp: Option<i64>,
    /// `None` when the marker cannot be read.
    pub(super) outcome: Option<Outcome>,
}

impl Transactions {
    /// A transactional data batch.
    pub(super) fn data(&mut self, header: &BatchHeader, log_start: Offset) {
        let (first, last) = (header.base_offset, header.last_offset());
        let time = header.first_timestamp().map(|time| time.0);
        let appended = time.filter(|_| header.timestamp_type() == TimestampType::LogAppendTime);
        let known = self.open.get(&header.producer_id).map(|open| open.span.producer_epoch);
        if appended.is_none() && known.is_none_or(|epoch| epoch < header.producer_epoch) {
            self.undated.push(header.producer_id);
        }
        let begun = TransactionSpan {
            first_timestamp: time,
            times: header.timestamp_type(),
            appended_from: appended.or(self.clock),
            appended_by: appended,
            ..begun(header.producer_id, header.producer_epoch, first)
        };
        let open = self.open.entry(header.producer_id).or_insert_with(|| Open {
            earlier: Vec::new(),
            span: begun,
            remembered: false,
            above_log_start: None,
            ranges: Vec::new(),
        });
        // A higher epoch means that a marker is missing; the next one ends all of it (KIP-98), and
        // belongs to the newest data. Under protocol 2 each epoch is a transaction (KIP-890).
        if open.span.producer_epoch < header.producer_epoch
            && open.span.last_offset.is_some()
            && open.earlier.len() < MAX_EARLIER
        {
            let earlier = TransactionSpan { followed_by: header.producer_epoch, ..open.span };
            open.span = TransactionSpan { open_since: earlier.open_since, ..begun };
            open.earlier.push(earlier);
        }
        if last >= log_start {
            open.above_log_start.get_or_insert(first);
        }
        open.span.last_offset = Some(last);
        open.span.producer_epoch = open.span.producer_epoch.max(header.producer_epoch);
        open.span.first_timestamp = open.span.first_timestamp.or(time);
        let last_time = (header.max_timestamp != -1).then_some(header.max_timestamp);
        open.span.last_timestamp = open.span.last_timestamp.max(last_time);
        match open.ranges.last_mut() {
            Some(range) if range.1.next() == first => range.1 = last,
            _ => open.ranges.push((first, last)),
        }
    }

    /// A time of the clock of the broker that led the partition.
    pub(super) fn broker_time(&mut self, time: i64) {
        self.clock = self.clock.max(Some(time));
        for producer_id in self.undated.drain(..) {
            if let Some(open) = self.open.get_mut(&producer_id) {
                for span in open.spans_mut() {
                    span.appended_by.get_or_insert(time);
                }
            }
        }
    }

    /// A transaction that only a producer snapshot remembers.
    pub(super) fn remembered(
        &mut self,
        producer_id: ProducerId,
        epoch: Option<ProducerEpoch>,
        first: Offset,
    ) {
        self.open.entry(producer_id).or_insert_with(|| Open {
            earlier: Vec::new(),
            span: begun(producer_id, epoch, first),
            remembered: true,
            above_log_start: None,
            ranges: Vec::new(),
        });
    }

    /// Where the data of the open transaction ends which this batch of a higher epoch follows.
    pub(super) fn lower_epoch_until(&self, header: &BatchHeader) -> Option<Offset> {
        let span = &self.open.get(&header.producer_id)?.span;
        span.last_offset.filter(|_| header.is_transactional() && span.producer_epoch < header.producer_epoch)
    }

    /// A later snapshot, which says where the open transaction began, is as good a witness as an
    /// earlier one, as long as the log holds none of its data below that. Tells whether it is.
    pub(super) fn began_later(&mut self, producer_id: ProducerId, first: Offset) -> bool {
        let Some(open) = self.open.get_mut(&producer_id) else { return false };
        let moves = open.remembered && open.ranges.first().is_none_or(|&(data, _)| data >= first);
        if moves {
            open.begins_at(first);
        }
        moves
    }

    /// Whether the log holds nothing of the open transaction, and another snapshot knows it no more:
    /// the cleaner took its marker with its data.
    pub(super) fn is_only_remembered(&self, producer_id: ProducerId) -> bool {
        self.open.get(&producer_id).is_some_and(|open| open.ranges.is_empty())
    }

    /// A snapshot knows that the open transaction began before what the files hold.
    pub(super) fn began_earlier(&mut self, producer_id: ProducerId, first: Offset) {
        if let Some(open) = self.open.get_mut(&producer_id) {
            open.begins_at(first.min(open.span.open_since));
            open.remembered = true;
        }
    }

    /// The marker of the open transaction lies in what is missing below this offset, and nobody knows what it said: a
    /// snapshot with this number no longer knows it, or a higher epoch begins there.
    pub(super) fn ended_unseen(&mut self, producer_id: ProducerId, below: Offset) {
        if let Some(mut open) = self.open.remove(&producer_id) {
            self.withhold(&open.ranges, Outcome::Open);
            for span in open.spans_mut() {
                span.ended_below = Some(below);
                self.peculiar.push(*span);
            }
        }
    }

    /// A snapshot with the number `below` says that the open transaction began at `first`, behind what is missing: the
    /// data in front of it is of one whose marker lies there.
    pub(super) fn began_behind_unseen(&mut self, producer_id: ProducerId, first: Offset, below: Offset) {
        let Some(mut open) = self.open.remove(&producer_id) else { return };
        let (ended, ranges): (Vec<_>, Vec<_>) = open.ranges.iter().partition(|range| range.1 < first);
        self.withhold(&ended, Outcome::Open);
        open.ranges = ranges;
        let until = ended.last().map(|range| range.1);
        let goes_on = |span: &TransactionSpan| span.last_offset >= Some(first);
        let (mut going_on, over): (Vec<_>, Vec<_>) = open.spans_mut().map(|span| *span).partition(goes_on);
        self.peculiar
            .extend(over.into_iter().map(|span| TransactionSpan { ended_below: Some(below), ..span }));
        let Some(span) = going_on.pop() else { return };
        (open.earlier, open.span) = (going_on, span);
        if let Some(oldest) = open.spans_mut().next().filter(|span| span.first_offset < first) {
            // One epoch on both sides.
            self.peculiar.push(TransactionSpan {
                followed_by: None,
                last_offset: until,
                last_timestamp: None,
                ended_below: Some(below),
                ..*oldest
            });
            (oldest.first_timestamp, oldest.appended_by) = (None, None);
            self.undated.push(producer_id);
        }
        open.begins_at(first);
        open.remembered = open.ranges.first().is_none_or(|range| range.0 > first);
        self.open.insert(producer_id, open);
    }

    /// Where the data of the open transaction of a producer ends that lies in front of `first`.
    pub(super) fn data_before(&self, producer_id: ProducerId, first: Offset) -> Option<Offset> {
        let ranges = &self.open.get(&producer_id)?.ranges;
        ranges.iter().map(|range| range.1).filter(|last| *last < first).max()
    }

    /// Where the data of the open transaction of a producer ends.
    pub(super) fn open_until(&self, producer_id: ProducerId) -> Option<Offset> {
        self.open.get(&producer_id).map(|open| open.span.last_offset.unwrap_or(open.span.first_offset))
    }

    /// Where the open transaction of a producer begins.
    pub(super) fn open_since(&self, producer_id: ProducerId) -> Option<Offset> {
        self.open.get(&producer_id).map(|open| open.span.open_since)
    }

    /// Where the first batch of the open transaction of a producer begins that is not wholly below the log start.
    pub(super) fn first_above_log_start(&self, producer_id: ProducerId) -> Option<Offset> {
        self.open.get(&producer_id)?.above_log_start
    }

    /// A marker, and the transaction that it ended. One that a file beside the log contradicts is kept
    /// however many there are.
    pub(super) fn end(
        &mut self,
        marker: Marker,
        is_contradicted: impl Fn(&TransactionSpan) -> bool,
    ) -> Option<TransactionSpan> {
        let Some(mut open) = self.open.remove(&marker.producer_id) else {
            if let Some(outcome) = marker.outcome {
                self.found_nothing(marker, outcome);
            }
            return None;
        };
        let outcome = marker.outcome.unwrap_or(Outcome::Open);
        self.withhold(&open.ranges, outcome);
        for span in open.spans_mut() {
            span.marker_offset = Some(marker.offset);
            span.marker_epoch = marker.producer_epoch;
            span.marker_timestamp = marker.timestamp;
            span.outcome = outcome;
            self.keep(*span, is_contradicted(span));
        }
        Some(open.span)
    }

    fn keep(&mut self, span: TransactionSpan, is_contradicted: bool) {
        if is_contradicted && self.peculiar.len() < MAX_ENDED {
            return self.peculiar.push(span);
        }
        let list = match span.outcome {
            Outcome::Committed => &mut self.committed,
            Outcome::Aborted => &mut self.aborted,
            Outcome::Open => return self.peculiar.push(span),
        };
        if list.len() == MAX_ENDED {
            list.pop_front();
            self.omitted = self.omitted.saturating_add(1);
        }
        list.push_back(span);
    }

    /// The transactions in order of their first offset, and what they withhold.
    pub(super) fn finish(mut self) -> (Vec<TransactionSpan>, Withheld) {
        let mut done = std::mem::take(&mut self.peculiar);
        done.extend(self.committed.drain(..).chain(self.aborted.drain(..)));
        for (_, Open { earlier, span, ranges, .. }) in std::mem::take(&mut self.open) {
            self.withhold(&ranges, Outcome::Open);
            done.extend(earlier);
            done.push(span);
        }
        done.sort_by_key(|span| (span.first_offset, span.producer_id));
        (done, self.withheld.finish())
    }

    fn withhold(&mut self, ranges: &[(Offset, Offset)], outcome: Outcome) {
        if outcome != Outcome::Committed {
            for &(first_offset, last_offset) in ranges {
                self.withheld.add(WithheldRange { first_offset, last_offset, outcome });
            }
        }
    }

    fn found_nothing(&mut self, marker: Marker, outcome: Outcome) {
        if self.empty_markers.len() < MAX_EMPTY_MARKERS {
            self.empty_markers.push(EmptyMarker {
                producer_id: marker.producer_id,
                producer_epoch: marker.producer_epoch,
                offset: marker.offset,
                timestamp: marker.timestamp,
                outcome,
            });
        } else {
            self.empty_markers_omitted = self.empty_markers_omitted.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{FIRST_TIME, batch};

    #[test]
    fn a_transaction_begins_with_the_first_record_of_its_first_batch_that_has_a_time() {
        let header = |times: &[i64]| {
            let spec = batch().producer(7, 0, 0).transactional();
            let spec = times.iter().fold(spec, |spec, &time| spec.record_at(time, "k", "v"));
            BatchHeader::read(&spec.bytes()).unwrap().0
        };
        let began = |batches: &[BatchHeader]| {
            let mut transactions = Transactions::default();
            for header in batches {
                transactions.data(header, Offset(0));
            }
            transactions.finish().0[0].first_timestamp
        };
        let slow = header(&[FIRST_TIME, FIRST_TIME + 90_000]);
        let later = header(&[FIRST_TIME + 95_000]);
        assert_eq!(began(&[slow, later.clone()]), Some(FIRST_TIME));
        assert_eq!(began(&[header(&[-1]), later]), Some(FIRST_TIME + 95_000));
    }
}
