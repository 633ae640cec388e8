//! Which field of the values is a version: a whole number or a time that rises with the offset of
//! each record key.

use super::Sample;
use super::fields::{FieldName, Fields};
use crate::facts::{Steps, VersionKind};
use crate::keys::{JsonMember, JsonPointer, json_member};
use std::collections::BTreeMap;

/// Rising steps below which nothing is said.
const FEWEST_RISES: u64 = 20;

/// A field that holds a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionField {
    /// Where it is.
    pub pointer: JsonPointer,
    /// What its values are.
    pub kind: VersionKind,
}

impl VersionField {
    /// The field of a sample that rises most often; `None` where none rises nearly always.
    #[must_use]
    pub fn of(sample: &Sample) -> Option<Self> {
        let fields = Fields::of(sample);
        let mut best: Option<(Steps, Self)> = None;
        for (name, values) in &fields.by_name {
            let FieldName::Json(pointer) = name else { continue };
            for kind in [VersionKind::Number, VersionKind::Time] {
                let Some(steps) = steps(sample, values, kind) else { continue };
                let rises_nearly_always = steps.rises >= FEWEST_RISES
                    && steps.back.saturating_mul(4) <= steps.rises
                    && steps.repeats.saturating_mul(4) <= steps.rises;
                let better = best.as_ref().is_none_or(|(other, _)| {
                    (steps.rises, u64::MAX - steps.back) > (other.rises, u64::MAX - other.back)
                });
                if rises_nearly_always && better {
                    best = Some((steps, Self { pointer: pointer.clone(), kind }));
                }
            }
        }
        best.map(|(_, field)| field)
    }

    /// The version of a value.
    #[must_use]
    pub fn read(&self, value: &[u8]) -> Option<i64> {
        match (json_member(value, &self.pointer).ok()??, self.kind) {
            (JsonMember::Other(raw), VersionKind::Number) => raw.parse().ok(),
            (JsonMember::Text(text), VersionKind::Time) => time(&text),
            (JsonMember::Other(_), VersionKind::Time) | (JsonMember::Text(_), VersionKind::Number) => None,
        }
    }
}

fn time(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// The steps of the field over all keys; `None` when a value is something else.
fn steps(sample: &Sample, values: &[(usize, String)], kind: VersionKind) -> Option<Steps> {
    let mut by_key: BTreeMap<(usize, &[u8]), Vec<i64>> = BTreeMap::new();
    for (at, text) in values {
        let version = match kind {
            VersionKind::Number => text.parse().ok()?,
            VersionKind::Time => time(text.strip_prefix('"')?.strip_suffix('"')?)?,
        };
        let Some(record) = sample.records.get(*at) else { continue };
        if let Some(key) = record.key.as_deref() {
            by_key.entry((record.partition, key)).or_default().push(version);
        }
    }
    let mut steps = Steps::default();
    for versions in by_key.into_values() {
        steps.count(versions);
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Batch, Decompressor, SegmentItem, SegmentScanner, TailExpectation};
    use crate::testkit::{SegmentBuilder, batch};
    use crate::units::ProducerId;

    fn sampled(values: impl IntoIterator<Item = String>) -> Sample {
        let mut one = batch();
        for (at, value) in values.into_iter().enumerate() {
            one = one.record(format!("k{}", at % 3), value);
        }
        let bytes = SegmentBuilder::new().batch(one).bytes();
        let mut scanner = SegmentScanner::unnamed(bytes.as_slice(), TailExpectation::MustBeWhole);
        let mut sample = Sample::default();
        if let Some(SegmentItem::Batch(batch)) = scanner.next_item().unwrap() {
            let batch: Batch<'_> = batch;
            batch
                .for_each_record(&mut Decompressor::default(), |record| {
                    sample.push(0, ProducerId(-1), record);
                })
                .unwrap();
        }
        sample
    }

    #[test]
    fn a_counter_is_found_and_a_price_is_not() {
        let rows = (0..60).map(|at| format!(r#"{{"price":{},"row":{{"version":{}}}}}"#, at * 7 % 20, at / 3));
        let field = VersionField::of(&sampled(rows)).unwrap();
        assert_eq!((field.pointer.to_string().as_str(), field.kind), ("/row/version", VersionKind::Number));
        assert_eq!(field.read(br#"{"row":{"version":17}}"#), Some(17));
        assert_eq!(field.read(br#"{"row":{"version":1.5}}"#), None);
        let prices = (0..60).map(|at| format!(r#"{{"price":{}}}"#, at * 7 % 20));
        assert_eq!(VersionField::of(&sampled(prices)), None);
    }

    #[test]
    fn a_time_counts_and_few_steps_do_not() {
        let times =
            |many: i64| sampled((0..many).map(|at| format!(r#"{{"at":"2026-01-01T00:{:02}:00Z"}}"#, at / 3)));
        let field = VersionField::of(&times(60)).unwrap();
        assert_eq!((field.pointer.to_string().as_str(), field.kind), ("/at", VersionKind::Time));
        assert_eq!(VersionField::of(&times(20)), None);
    }
}
