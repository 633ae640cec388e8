//! What the fields of a sample look like: how often they are there, how distinct they are, whether
//! they are times that run with the order of writing, nonces, or counters.

use super::sample::Sample;
use crate::keys::{JsonPointer, KeyPart, scalars, time_array};
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Members of one value that are looked at; a wider document has no more than these.
const MEMBERS: usize = 256;

/// A field of the value or a header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FieldName {
    /// A member of the JSON value.
    Json(JsonPointer),
    /// A header.
    Header(Vec<u8>),
}

impl FieldName {
    /// The field as a key.
    pub(super) fn as_key(&self) -> KeyPart {
        match self {
            Self::Json(pointer) => KeyPart::Json(pointer.clone()),
            Self::Header(name) => KeyPart::Header(String::from_utf8_lossy(name).into_owned()),
        }
    }

    /// Whether its name is that of an id, and not of one that is made anew for each attempt to send.
    pub(super) fn is_called_an_id(&self) -> bool {
        let name = match self {
            Self::Json(pointer) => pointer.tokens().last().map_or(String::new(), String::clone),
            Self::Header(name) => String::from_utf8_lossy(name).into_owned(),
        };
        let words = words_of(&name);
        let is_one_of = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        is_one_of(&IDS) && !is_one_of(&OF_AN_ATTEMPT)
    }
}

/// Words that call a field an id.
const IDS: [&str; 5] = ["id", "uuid", "guid", "ulid", "uid"];
/// Words that call it one of the attempt, and not of the event.
const OF_AN_ATTEMPT: [&str; 9] =
    ["trace", "span", "request", "correlation", "attempt", "nonce", "session", "send", "delivery"];

/// The words of a name, in small letters: `paymentId`, `payment_id` and `PaymentID` have the same two.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_is_small = false;
    for letter in name.chars() {
        let begins = !letter.is_alphanumeric() || letter.is_uppercase() && before_is_small;
        if begins {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before_is_small = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

impl fmt::Display for FieldName {
    /// As `--ignore-field` spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(pointer) => write!(f, "json:{pointer}"),
            Self::Header(name) => write!(f, "header:{}", String::from_utf8_lossy(name)),
        }
    }
}

/// The fields of a sample: for each the record that has it and what is written there.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub(super) by_name: BTreeMap<FieldName, Vec<(usize, String)>>,
}

impl Fields {
    pub(super) fn of(sample: &Sample) -> Self {
        let mut members: BTreeMap<JsonPointer, Vec<(usize, String)>> = BTreeMap::new();
        let mut headers: BTreeMap<&[u8], Vec<(usize, String)>> = BTreeMap::new();
        for (at, record) in sample.records.iter().enumerate() {
            if let Some(value) = &record.value {
                scalars(value, MEMBERS, &mut |pointer, raw| match members.get_mut(pointer) {
                    Some(values) => values.push((at, raw.to_owned())),
                    None => drop(members.insert(pointer.clone(), vec![(at, raw.to_owned())])),
                });
            }
            for (name, value) in &record.headers {
                let text = value.as_deref().map_or("null".into(), String::from_utf8_lossy);
                headers.entry(name).or_default().push((at, text.into_owned()));
            }
        }
        let members = members.into_iter().map(|(pointer, values)| (FieldName::Json(pointer), values));
        let headers = headers.into_iter().map(|(name, values)| (FieldName::Header(name.to_vec()), values));
        Self { by_name: members.chain(headers).collect() }
    }

    /// Whether a value has members.
    pub(super) fn has_members(&self) -> bool {
        let is_member =
            |name: &FieldName| matches!(name, FieldName::Json(pointer) if !pointer.tokens().is_empty());
        self.by_name.keys().any(is_member)
    }
}

/// Of 100 records that have the field, how many distinct values there are.
pub(super) fn distinct_percent(values: &[(usize, String)]) -> usize {
    let distinct: HashSet<&str> = values.iter().map(|(_, text)| text.as_str()).collect();
    distinct.len() * 100 / values.len().max(1)
}

/// Of so many values one may be odd: a null, a zero, a test that somebody sent. It says nothing about the others.
const ONE_ODD_IN: usize = 100;

/// Whether so many values of a field are few enough to be odd ones.
const fn are_odd(some: usize, all: usize) -> bool {
    some * ONE_ODD_IN <= all
}

/// Whether the values are times that run with the order of writing: they hardly ever step back from
/// one record of a partition to the next.
pub(super) fn is_running_time(sample: &Sample, values: &[(usize, String)]) -> bool {
    let (mut steps, mut back, mut odd) = (0usize, 0usize, 0usize);
    let mut last: BTreeMap<(usize, i64), i64> = BTreeMap::new();
    for (at, text) in values {
        let Some(time) = as_time(text) else {
            odd += 1;
            if are_odd(odd, values.len()) {
                continue;
            }
            return false;
        };
        let Some(record) = sample.records.get(*at) else { continue };
        // Several producers write side by side, each with a clock of its own.
        if let Some(before) = last.insert((record.partition, record.producer_id.0), time) {
            steps += 1;
            back += usize::from(time < before);
        }
    }
    steps > 0 && back * 20 <= steps
}

/// Milliseconds, when the text is a number in the range of present-day times in seconds,
/// milliseconds, microseconds or nanoseconds, or an RFC 3339 time.
pub(super) fn as_time(text: &str) -> Option<i64> {
    const YEAR_2005: f64 = 1.1e9;
    const YEAR_2100: f64 = 4.2e9;
    if text.starts_with('[') {
        return of_array(text);
    }
    let text = text.trim_matches('"');
    // Most texts are no numbers and no times: neither begins with anything else.
    if !text.as_bytes().first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte)) {
        return None;
    }
    if let Ok(number) = text.parse::<f64>() {
        return [1.0, 1e3, 1e6, 1e9]
            .into_iter()
            .find(|unit| (YEAR_2005..YEAR_2100).contains(&(number / unit)))
            .map(|unit| rounded(number / unit * 1e3));
    }
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// The same of a time in an array.
fn of_array(text: &str) -> Option<i64> {
    let ([year, month, day, hour, minute, second, nanos], _) = time_array(text)?;
    let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z");
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Whether the text is a moment, a date or a time of day, in one of the ways in which these are written.
pub(super) fn is_time(text: &str) -> bool {
    let text = text.trim_matches('"').trim();
    as_time(text).is_some() || Written::of(text).is_some_and(|written| written.is_time())
}

/// The numbers of a text that holds nothing beside them but what stands in dates and times.
struct Written {
    /// Their digits.
    numbers: Vec<String>,
    names_month: bool,
    has_colon: bool,
}

impl Written {
    /// Longer than any date in words with its time and zone.
    const LONGEST: usize = 48;
    const ZONES: [&str; 12] = ["t", "z", "utc", "gmt", "am", "pm", "cet", "cest", "est", "edt", "pst", "pdt"];
    const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    /// `20261130`, and with a time of day `202611301204`, `20261130120459` and `20261130120459123`.
    const COMPACT: [usize; 4] = [8, 12, 14, 17];

    fn of(text: &str) -> Option<Self> {
        if text.len() > Self::LONGEST || !text.is_ascii() {
            return None;
        }
        let mut written = Self { numbers: Vec::new(), names_month: false, has_colon: text.contains(':') };
        let kind = |byte: &u8| (byte.is_ascii_digit(), byte.is_ascii_alphabetic());
        for run in text.as_bytes().chunk_by(|one, other| kind(one) == kind(other)) {
            let run = std::str::from_utf8(run).ok()?;
            if run.starts_with(|one: char| one.is_ascii_digit()) {
                written.numbers.push(run.to_owned());
            } else if run.starts_with(|one: char| one.is_ascii_alphabetic()) {
                let word = run.to_ascii_lowercase();
                let is_one_of = |names: &[&str]| names.iter().any(|name| word.starts_with(name));
                if is_one_of(&Self::MONTHS) {
                    written.names_month = true;
                } else if !is_one_of(&Self::WEEKDAYS) && !Self::ZONES.contains(&word.as_str()) {
                    return None;
                }
            } else if !run.bytes().all(|byte| b"-/.:+, ".contains(&byte)) {
                return None;
            }
        }
        Some(written)
    }

    fn is_time(&self) -> bool {
        let texts: Vec<&str> = self.numbers.iter().map(String::as_str).collect();
        match texts.as_slice() {
            [day, year] | [year, day] if self.names_month && !self.has_colon => is_year(year) && is_day(day),
            [day, year, time @ ..] if self.names_month && is_year(year) => is_day(day) && is_of_day(time),
            [year, month, day, time @ ..] if is_year(year) => {
                is_month(month) && is_day(day) && is_of_day(time)
            }
            [one, other, year, time @ ..] if is_year(year) => {
                (is_month(one) && is_day(other) || is_day(one) && is_month(other)) && is_of_day(time)
            }
            [compact, time @ ..] if Self::COMPACT.contains(&compact.len()) => {
                let part = |from: usize, to: usize| compact.get(from..to.min(compact.len())).unwrap_or("");
                let of_day = [part(8, 10), part(10, 12), part(12, 14)];
                let of_day: Vec<&str> = of_day.into_iter().filter(|part| !part.is_empty()).collect();
                let behind = match time {
                    [clock, ..] if clock.len() == 6 && of_day.is_empty() => {
                        is_of_day(&[&clock[..2], &clock[2..4], &clock[4..]])
                    }
                    _ => is_of_day(time),
                };
                is_year(part(0, 4))
                    && is_month(part(4, 6))
                    && is_day(part(6, 8))
                    && is_of_day(&of_day)
                    && behind
            }
            [_, _] | [_, _, _] | [_, _, _, _] => self.has_colon && is_of_day(&texts),
            _ => false,
        }
    }
}

/// Whether a number of so many digits, at most or exactly, lies there.
fn lies_in(digits: &str, range: std::ops::RangeInclusive<u32>) -> bool {
    digits.len() <= 4 && digits.parse().is_ok_and(|number| range.contains(&number))
}

fn is_year(digits: &str) -> bool {
    digits.len() == 4 && lies_in(digits, 1900..=2099)
}

fn is_month(digits: &str) -> bool {
    digits.len() <= 2 && lies_in(digits, 1..=12)
}

fn is_day(digits: &str) -> bool {
    digits.len() <= 2 && lies_in(digits, 1..=31)
}

/// Hour, minute and second, as far as they are there, a fraction and a zone behind them.
fn is_of_day(numbers: &[&str]) -> bool {
    let clock = numbers.iter().zip([24, 59, 60]);
    numbers.len() <= 6
        && clock.into_iter().all(|(digits, most)| digits.len() <= 2 && lies_in(digits, 0..=most))
}

#[expect(clippy::cast_possible_truncation, reason = "the caller keeps the number below the year 2100")]
fn rounded(number: f64) -> i64 {
    number.round() as i64
}

/// Whether the values are nonces: long, of mixed characters, and never the same twice.
pub(super) fn is_nonce(values: &[(usize, String)]) -> bool {
    let random = |text: &str| {
        let text = text.trim_matches('"');
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
        let alphabet = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+/=".contains(&b));
        // All are below 128 where the alphabet is that.
        let different = text.bytes().fold(0u128, |seen, byte| seen | 1 << (byte & 0x7f)).count_ones();
        text.len() >= 16 && alphabet && digits * 8 >= text.len() && letters >= 2 && different >= 8
    };
    let nonces: Vec<&str> =
        values.iter().map(|(_, text)| text.as_str()).filter(|text| random(text)).collect();
    let distinct: HashSet<&str> = nonces.iter().copied().collect();
    // One that comes again names what came again.
    !nonces.is_empty() && distinct.len() == nonces.len() && are_odd(values.len() - nonces.len(), values.len())
}

/// Whether the values are an attempt counter: small numbers, nearly all of them the same.
pub(super) fn is_counter(values: &[(usize, String)]) -> bool {
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    let mut odd = 0usize;
    for (_, text) in values {
        match text.trim_matches('"').parse::<u8>() {
            Ok(number) if number <= 20 => *counts.entry(number).or_default() += 1,
            _ => odd += 1,
        }
    }
    let Some((usual, most)) =
        counts.iter().max_by_key(|&(number, count)| (*count, std::cmp::Reverse(*number)))
    else {
        return false;
    };
    // The usual value is the lowest: attempts count up from it.
    let below: usize = counts.range(..usual).map(|(_, count)| count).sum();
    are_odd(odd + below, values.len()) && most * 4 >= values.len() * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(texts: &[&str]) -> Vec<(usize, String)> {
        texts.iter().map(|text| (0, (*text).to_owned())).collect()
    }

    #[test]
    fn times_are_known_by_their_range() {
        assert_eq!(as_time("1700000000123"), Some(1_700_000_000_123));
        assert_eq!(as_time("1700000000"), Some(1_700_000_000_000));
        assert_eq!(as_time("\"2023-11-14T22:13:20.005Z\""), Some(1_700_000_000_005));
        assert_eq!(as_time(".17e10"), Some(1_700_000_000_000));
        assert_eq!(as_time("+002023-11-14T22:13:20.005Z"), Some(1_700_000_000_005));
        assert_eq!(as_time("[2023,11,14,22,13,20,5000000]"), Some(1_700_000_000_005));
        assert_eq!(as_time("[2023, 11, 14, 22, 13]"), Some(1_699_999_980_000));
        assert_eq!(as_time("[2023,13,14,22,13]"), None);
        assert_eq!(as_time("[2023,11,14]"), None);
        assert_eq!(as_time("inf"), None);
        assert_eq!(as_time("1037"), None);
        assert_eq!(as_time("\"order-1\""), None);
    }

    #[test]
    fn times_are_known_however_they_are_written() {
        for time in [
            "\"2026-11-29 16:03:29\"",
            "2026-11-29T16:03:29.123+01:00",
            "2026-11-29",
            "2026/11/29 16:03",
            "29.11.2026 16:03",
            "11/29/2026 04:03:29 PM",
            "Sun, 29 Nov 2026 16:03:29 GMT",
            "29 November 2026",
            "Nov 29, 2026",
            "20261129",
            "20261129160329",
            "20261129T160329Z",
            "16:03:29.123",
            "1764425000.123",
        ] {
            assert!(is_time(time), "{time}");
        }
        for other in [
            "order-2026-11-29",
            "2026-000042",
            "2026-13-01",
            "4711-11-29",
            "10.0.12.1",
            "20269999",
            "1037",
            "12-14",
            "25:61:00",
            "p-1",
            "",
            "00:1b:44:11:3a:b7",
        ] {
            assert!(!is_time(other), "{other}");
        }
    }

    #[test]
    fn a_nonce_is_random_and_an_order_number_is_not() {
        assert!(is_nonce(&values(&[
            "\"3f2504e0-4f89-11d3-9a0c-0305e82c3301\"",
            "\"7d44488a-1b2c-4d3e-8f90-a1b2c3d4e5f6\""
        ])));
        assert!(!is_nonce(&values(&["\"order-2026-000001\"", "\"order-2026-000001\""])));
        assert!(!is_nonce(&values(&["\"order-00001\"", "\"order-00002\""])));
    }

    #[test]
    fn an_id_is_called_so() {
        let json = |pointer: &str| FieldName::Json(pointer.parse().unwrap());
        for id in ["/id", "/data/paymentId", "/payment_id", "/PaymentID", "/event-uuid", "/uuid"] {
            assert!(json(id).is_called_an_id(), "{id}");
        }
        assert!(FieldName::Header(b"ce_id".to_vec()).is_called_an_id());
        for other in
            ["/nonce", "/traceId", "/paid", "/x_request_id", "/correlationId", "/valid", "", "/ids/0"]
        {
            assert!(!json(other).is_called_an_id(), "{other}");
        }
        assert!(!FieldName::Header(b"traceparent".to_vec()).is_called_an_id());
    }

    #[test]
    fn an_attempt_counter_is_nearly_always_its_lowest_value() {
        assert!(is_counter(&values(&["1", "1", "1", "1", "2"])));
        assert!(!is_counter(&values(&["1", "2", "3", "4"])));
        assert!(!is_counter(&values(&["300", "300"])));
    }

    #[test]
    fn an_odd_value_does_not_change_what_a_hundred_others_are() {
        let with = |usual: &dyn Fn(u64) -> String, odd: &[&str], many: u64| {
            let mut texts: Vec<String> = (0..many).map(usual).collect();
            texts.splice(5..5, odd.iter().map(|&text| text.to_owned()));
            texts.into_iter().map(|text| (0, text)).collect::<Vec<_>>()
        };
        let nonce =
            |n: u64| format!("\"{:016x}-{n:04x}a7b\"", (n + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63);
        let attempt = |n: u64| (1 + u64::from(n.is_multiple_of(10))).to_string();
        for odd in ["null", "0", "\"n/a\""] {
            assert!(is_nonce(&with(&nonce, &[odd], 99)), "{odd}");
            assert!(!is_nonce(&with(&nonce, &[odd, odd], 98)), "{odd}");
        }
        for odd in ["null", "0", "4711", "\"n/a\""] {
            assert!(is_counter(&with(&attempt, &[odd], 99)), "{odd}");
            assert!(!is_counter(&with(&attempt, &[odd, odd], 98)), "{odd}");
        }
        let again = nonce(3);
        assert!(!is_nonce(&with(&nonce, &[&again], 199)));
    }
}
