//! Ranges, moments and lengths of time as every sentence says them.

use super::rfc3339;

/// A consumer group in a sentence, where an empty name would leave a gap.
#[must_use]
pub fn group_named(group: &str) -> &str {
    if group.is_empty() { "\"\"" } else { group }
}

/// `6`, `6–9`.
#[must_use]
pub fn range(first: i64, last: i64) -> String {
    if first == last { first.to_string() } else { format!("{first}–{last}") }
}

/// Sequences from the first to the last batch of a producer: `0–9`; over the largest one, which 0 follows,
/// `2147483646–2147483647 and 0–3`; `30 … 1` where they began again in between.
#[must_use]
pub fn sequences(first: i32, last: i32) -> String {
    let (from, to) = (i64::from(first), i64::from(last));
    match from - to {
        ..=0 => range(from, to),
        back if back > i64::from(i32::MAX / 2) => {
            format!("{} and {}", range(from, i32::MAX.into()), range(0, to))
        }
        _ => format!("{from} … {to}"),
    }
}

/// `offset 6`, `offsets 6–9`.
#[must_use]
pub fn offsets(first: i64, last: i64) -> String {
    let plural = if first == last { "" } else { "s" };
    format!("offset{plural} {}", range(first, last))
}

/// `2023-11-14 22:13:20.005 UTC`; `None` where the number is no plausible time.
#[must_use]
pub fn moment(millis: i64) -> Option<String> {
    Some(format!("{} UTC", rfc3339(millis)?.trim_end_matches('Z').replace('T', " ")))
}

/// `2023-11-14 22:13:20.005 – 22:13:21.000 UTC`; `None` where one is no plausible time.
#[must_use]
pub fn moments(first: i64, last: i64) -> Option<String> {
    let (first, last) = (moment(first)?, moment(last)?);
    let day = first.get(..11)?;
    Some(if first == last {
        first
    } else {
        format!("{} – {}", first.trim_end_matches(" UTC"), last.strip_prefix(day).unwrap_or(&last))
    })
}

/// `850 ms`, `8.5 s`, `3 min`, `2.5 h`.
#[must_use]
pub fn duration(millis: i64) -> String {
    let tenths = |unit: i64, name: &str| {
        let tenths = millis.saturating_mul(10).saturating_add(unit / 2) / unit;
        if tenths % 10 == 0 {
            format!("{} {name}", tenths / 10)
        } else {
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
    };
    match millis {
        ..1_000 => format!("{millis} ms"),
        1_000..120_000 => tenths(1_000, "s"),
        120_000..7_200_000 => tenths(60_000, "min"),
        7_200_000..172_800_000 => tenths(3_600_000, "h"),
        _ => tenths(86_400_000, "days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_offset_is_no_range() {
        assert_eq!([offsets(6, 6), offsets(6, 9)], ["offset 6", "offsets 6–9"]);
    }

    #[test]
    fn sequences_go_on_at_0_behind_the_largest() {
        let said = [sequences(0, 9), sequences(2_147_483_646, 3), sequences(i32::MAX, 0), sequences(30, 1)];
        assert_eq!(said, ["0–9", "2147483646–2147483647 and 0–3", "2147483647 and 0", "30 … 1"]);
    }

    #[test]
    fn durations_are_said_in_the_unit_that_fits() {
        let said = [850, 8_500, 180_000, 9_000_000, 259_200_000].map(duration);
        assert_eq!(said, ["850 ms", "8.5 s", "3 min", "2.5 h", "3 days"]);
        assert_eq!([duration(3_364), duration(7_651)], ["3.4 s", "7.7 s"]);
    }

    #[test]
    fn a_day_is_said_once() {
        let (first, later) = (1_700_000_000_005, 1_700_000_001_000);
        assert_eq!(moments(first, first).as_deref(), Some("2023-11-14 22:13:20.005 UTC"));
        assert_eq!(moments(first, later).as_deref(), Some("2023-11-14 22:13:20.005 – 22:13:21.000 UTC"));
        let next_day = moments(first, first + 86_400_000);
        assert_eq!(next_day.as_deref(), Some("2023-11-14 22:13:20.005 – 2023-11-15 22:13:20.005 UTC"));
        assert_eq!(moments(-1, first), None);
    }
}
