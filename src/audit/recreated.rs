//! Where sequences that begin in the middle go on from a deleted log of the same name.
//!
//! A client keeps its sequences when a topic is deleted and created again, so the first batch in the new
//! log may begin at any number. As long as the deleted log lies beside it (`NAME.ID-delete`, a minute by
//! default), its end tells whether anything is missing between the two. It is walked over only for that.

use super::logs::Logs;
use crate::finding::GapReason;
use crate::format::segment::TailExpectation;
use crate::format::{SegmentItem, SegmentScanner};
use crate::input::{self, PartitionDir, ReadMode};
use crate::judgement::Continued;
use crate::units::{ProducerEpoch, ProducerId, Sequence};
use std::collections::BTreeMap;

/// A producer under one epoch.
type Writer = (ProducerId, Option<ProducerEpoch>);

/// The gaps of the judged logs that a deleted log closes.
pub(super) fn continued(logs: &Logs<'_>) -> Vec<Continued> {
    let mut continued = Vec::new();
    for (context, facts) in &logs.judged {
        let first = facts.gaps.iter().filter(|gap| gap.reason == GapReason::FirstAppend);
        let wanted: BTreeMap<Writer, _> = first
            .map(|gap| ((ProducerId(gap.producer_id), gap.producer_epoch.map(ProducerEpoch)), gap))
            .collect();
        let deleted = logs.prepared.inventory.deleted.iter();
        let of_it = deleted.filter(|dir| (&dir.topic, dir.partition) == (&context.topic, context.partition));
        for dir in of_it.filter(|_| !wanted.is_empty()) {
            let ends = ends(dir, &wanted, logs.options.mode);
            let closes = |(writer, last): (&Writer, &Sequence)| {
                let gap = wanted.get(writer)?;
                let found = Sequence::new(gap.found)?;
                (last.distance_to(found) == 1).then(|| Continued {
                    topic_number: context.topic_number,
                    partition: context.partition,
                    producer_id: gap.producer_id,
                    at_offset: gap.at_offset,
                    directory: dir.display.clone(),
                    last_sequence: last.get(),
                })
            };
            continued.extend(ends.iter().filter_map(closes));
        }
    }
    continued
}

/// The last sequences of the wanted writers in a deleted log, as far as it can be read.
fn ends<T>(dir: &PartitionDir, wanted: &BTreeMap<Writer, T>, mode: ReadMode) -> BTreeMap<Writer, Sequence> {
    let mut ends = BTreeMap::new();
    for segment in &dir.segments {
        let Ok(source) = input::open_segment(&segment.place, mode, segment.len) else { continue };
        let mut scanner = SegmentScanner::new(source, segment.base, TailExpectation::MayBeTorn);
        while let Ok(Some(item)) = scanner.next_item() {
            let SegmentItem::Batch(batch) = item else { continue };
            let writer = (batch.header.producer_id, batch.header.producer_epoch);
            if let (true, Some(last)) = (wanted.contains_key(&writer), batch.header.last_sequence()) {
                ends.insert(writer, last);
            }
        }
    }
    ends
}
