//! Finds the fields that do not count as content: send times, nonces, attempt counters.
//!
//! A field that differs between the copies only is an update, not volatile. Volatile is what differs
//! between nearly all records: a time that runs with the order of writing, or a nonce; or a small
//! counter that is nearly always the same and counts up between copies whose other fields agree.
//! A field is only masked when what is left still tells events apart, within one producer: else two
//! logins of one customer would become one. Nor is it where what is left comes again as by chance: such a field may as
//! well be what tells events apart.

use super::chance::{Multiplicities, Order, Repeated, Rest, how_repeated};
use super::fields::{FieldName, Fields, distinct_percent, is_counter, is_nonce, is_running_time};
use super::sample::{Sample, SampleRecord};
use crate::keys::{Identity, KeyPart, Mask};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Of 100 records, how many distinct values a send time has at least: two may fall into one
/// millisecond.
const NEARLY_ALL: usize = 80;
/// Of 100 records of one producer, how many must stay distinct without the masked fields.
const STILL_APART: usize = 60;

/// Adds volatile fields to `mask`. Returns those that differ as volatile ones do and may as well name the event.
pub(super) fn find(sample: &Sample, fields: &Fields, identity: &Identity, mask: &mut Mask) -> Vec<String> {
    let (mut found, mut times) = (mask.clone(), mask.clone());
    for (name, values) in &fields.by_name {
        if is_part_of(identity, name) || values.len() * 2 < sample.records.len() {
            continue;
        }
        let differs = distinct_percent(values) >= NEARLY_ALL;
        let is_time = differs && is_running_time(sample, values);
        if is_time {
            add(&mut times, name);
        }
        if is_time || differs && is_nonce(values) {
            add(&mut found, name);
        }
    }
    let is_volatile = |found: &Mask| {
        found != mask
            && tells_apart(sample, identity, found)
            && (*identity != Identity::Content || !repeated(sample, found).is_by_chance())
    };
    // What is random and never the same may name the event where a time beside it does not.
    let volatile = [&found, &times].into_iter().find(|found| is_volatile(found)).unwrap_or(mask).clone();
    let taken = volatile.names();
    let kept = found.names().into_iter().filter(|name| !taken.contains(name)).collect();
    *mask = volatile;
    for (name, values) in &fields.by_name {
        if !is_part_of(identity, name)
            && is_counter(values)
            && counts_up(sample, identity, name, values, mask)
        {
            add(mask, name);
        }
    }
    kept
}

/// How what is left without the masked fields comes again.
pub(super) fn repeated(sample: &Sample, mask: &Mask) -> Repeated {
    let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
    let rest = sample.records.iter().map(|record| {
        let next = numbers.len();
        Rest {
            partition: record.partition,
            producer: record.producer_id.0,
            time: record.client_timestamp,
            content: *numbers.entry(record.content(mask)).or_insert(next),
        }
    });
    how_repeated(&rest.collect::<Vec<_>>())
}

/// Fields of `mask` that are random, never the same twice, and called an id: what looks like a nonce may name the event.
pub(super) fn ids_in(mask: &Mask, asked: &Mask, fields: &Fields) -> Vec<KeyPart> {
    let (names, asked) = (mask.names(), asked.names());
    let is_masked = |name: &FieldName| {
        let name = name.to_string();
        names.contains(&name) && !asked.contains(&name)
    };
    let ids = fields
        .by_name
        .iter()
        .filter(|(name, values)| name.is_called_an_id() && is_masked(name) && is_nonce(values));
    ids.map(|(name, _)| name.as_key()).collect()
}

/// A field that does not count as content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolatileField {
    /// As `--ignore-field` spells it.
    pub name: String,
    /// Why it does not count.
    pub why: &'static str,
}

/// Why each field of `mask` is in it.
pub(super) fn reasons(mask: &Mask, asked: &Mask, sample: &Sample, fields: &Fields) -> Vec<VolatileField> {
    if mask.is_empty() {
        return Vec::new();
    }
    let asked = asked.names();
    let why = |name: &String| {
        let values =
            fields.by_name.iter().find(|(field, _)| field.to_string() == *name).map(|(_, values)| values);
        match values {
            _ if asked.contains(name) => "asked for",
            Some(values) if is_counter(values) => {
                "a small number that counts up between records that are else equal"
            }
            Some(values) if is_nonce(values) => "random, and never the same twice",
            Some(values) if is_running_time(sample, values) => "a time that runs with the order of writing",
            Some(_) | None => "the plan says so",
        }
    };
    mask.names().into_iter().map(|name| VolatileField { why: why(&name), name }).collect()
}

fn add(mask: &mut Mask, name: &FieldName) {
    match name {
        FieldName::Json(pointer) if !mask.json.contains(pointer) => mask.json.push(pointer.clone()),
        FieldName::Header(header) if !mask.headers.contains(header) => mask.headers.push(header.clone()),
        FieldName::Json(_) | FieldName::Header(_) => {}
    }
}

fn is_part_of(identity: &Identity, name: &FieldName) -> bool {
    let Identity::Key(spec) = identity else { return false };
    spec.parts().iter().any(|part| match (part, name) {
        (KeyPart::Json(own), FieldName::Json(field)) => field.tokens().starts_with(own.tokens()),
        (KeyPart::Header(own), FieldName::Header(field)) => own.as_bytes() == field,
        _ => false,
    })
}

/// Whether most records of each producer stay distinct without the masked fields.
fn tells_apart(sample: &Sample, identity: &Identity, mask: &Mask) -> bool {
    let mut producers: BTreeMap<i64, (usize, HashSet<Vec<u8>>)> = BTreeMap::new();
    let mut seen: HashMap<Vec<u8>, (u64, u64)> = HashMap::new();
    let mut order = Order::default();
    for (place, record) in (0..).zip(&sample.records) {
        let content = record.content(mask);
        if let Some((records, last)) = seen.get_mut(&content) {
            order.take(place, *last);
            (*records, *last) = (*records + 1, place);
        } else {
            seen.insert(content.clone(), (1, place));
        }
        let (records, contents) = producers.entry(record.producer_id.0).or_default();
        *records += 1;
        contents.insert(content);
    }
    // Sums, so that the order does not matter.
    let often = seen.into_values().fold(Multiplicities::default(), |mut often, (records, _)| {
        often.add(records);
        often
    });
    // Customers who log in again leave the same as copies do, but not where copies stand.
    if *identity == Identity::Content && order.is_of_a_draw(often) {
        return false;
    }
    let records: usize = producers.values().map(|(records, _)| records).sum();
    let distinct: usize = producers.values().map(|(_, contents)| contents.len()).sum();
    // A key that the user chose identifies events by itself, unless it plainly does not.
    let needed = if matches!(identity, Identity::Key(_)) { STILL_APART / 2 } else { STILL_APART };
    distinct * 100 >= records * needed
}

/// Whether the counter goes up between records that are otherwise equal, at least once and never
/// down.
fn counts_up(
    sample: &Sample,
    identity: &Identity,
    name: &FieldName,
    values: &[(usize, String)],
    mask: &Mask,
) -> bool {
    let mut without = mask.clone();
    add(&mut without, name);
    let counters: BTreeMap<usize, u8> =
        values.iter().filter_map(|(at, text)| Some((*at, text.trim_matches('"').parse().ok()?))).collect();
    let mut last: HashMap<Vec<u8>, u8> = HashMap::new();
    let mut ups = 0;
    for (at, record) in sample.records.iter().enumerate() {
        let Some(&counter) = counters.get(&at) else { continue };
        if let Some(before) = last.insert(apart_from(record, &without), counter) {
            if counter < before {
                return false;
            }
            ups += usize::from(counter > before);
        }
    }
    ups > 0 && tells_apart(sample, identity, &without)
}

fn apart_from(record: &SampleRecord, mask: &Mask) -> Vec<u8> {
    record.content(mask)
}
