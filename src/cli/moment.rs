//! Times and spans as people write them.
//!
//! A time is RFC 3339, milliseconds since 1970, or a date with or without a time of day, in the zone
//! of `--tz`; `2h ago` counts back from `--as-of`, never from the clock, because a report depends on
//! bytes and options alone. A span is `14d`, `36h`, `1h30m`, or milliseconds.

use crate::expected::wall_time;
use crate::finding::rfc3339;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use std::str::FromStr;

/// A time as it was written; it becomes a number when zone and `--as-of` are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Milliseconds since 1970.
    At(i64),
    /// The time of a clock on a wall.
    Wall(DateTime),
    /// All of a day.
    Day(Date),
    /// Milliseconds before `--as-of`.
    Before(i64),
}

/// Which end of a day stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    First,
    Last,
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Ok(millis) = text.parse() {
            return Ok(Self::At(millis));
        }
        if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(Self::At(time.as_millisecond()));
        }
        if let Some(span) = text.strip_suffix("ago") {
            return parse_span(span).map(Self::Before);
        }
        // A date alone is also read as midnight: it must be tried first.
        if let Ok(day) = Date::strptime("%Y-%m-%d", text) {
            return Ok(Self::Day(day));
        }
        text.parse().map(Self::Wall).map_err(|_| {
            let example = rfc3339(1_764_425_000_123).unwrap_or_default();
            format!(
                "expected a time such as {example}, \"2025-11-29 14:00\", 2025-11-29, milliseconds since 1970, or \
                 \"2h ago\""
            )
        })
    }
}

impl Moment {
    /// Milliseconds since 1970; `edge` says which end of a day is meant.
    ///
    /// # Errors
    /// A sentence for a time that counts back from nothing, or that the zone does not have.
    pub(super) fn millis(self, edge: Edge, zone: &TimeZone, as_of: Option<i64>) -> Result<i64, String> {
        // A day begins with what a clock shows first, also where it leaves midnight out.
        let of_day = |wall: DateTime| {
            zone.to_timestamp(wall).map(Timestamp::as_millisecond).map_err(|error| format!("{wall}: {error}"))
        };
        match self {
            Self::At(millis) => Ok(millis),
            Self::Wall(wall) => wall_time(wall, zone),
            Self::Day(day) => match edge {
                Edge::First => of_day(day.at(0, 0, 0, 0)),
                Edge::Last => {
                    let next = day.tomorrow().map_err(|error| error.to_string())?;
                    Ok(of_day(next.at(0, 0, 0, 0))? - 1)
                }
            },
            Self::Before(span) => as_of.map(|as_of| as_of.saturating_sub(span)).ok_or_else(|| {
                "a time \"ago\" counts back from --as-of, which is not given: a report does not depend on the \
                 clock; name --as-of, such as --as-of \"$(date -Is)\""
                    .to_owned()
            }),
        }
    }
}

/// Milliseconds of `14d`, `36h`, `1h30m`; a number without unit is milliseconds.
pub(super) fn parse_span(text: &str) -> Result<i64, String> {
    let text = text.trim();
    if let Ok(millis) = text.parse::<i64>() {
        return if millis < 0 { Err("it is negative".to_owned()) } else { Ok(millis) };
    }
    let expected = || "expected a span such as 14d, 36h, 1h30m, 90s or 500ms".to_owned();
    let span: Span = text.parse().map_err(|_| expected())?;
    let span: SignedDuration =
        span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| expected())?;
    match i64::try_from(span.as_millis()) {
        Ok(millis) if millis >= 0 => Ok(millis),
        _ => Err("it is negative or too long".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str, zone: &str, as_of: Option<i64>) -> Result<i64, String> {
        let zone = TimeZone::get(zone).unwrap();
        text.parse::<Moment>().and_then(|moment| moment.millis(Edge::First, &zone, as_of))
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        let expected = Ok(1_700_000_000_000);
        for text in [
            "1700000000000",
            "2023-11-14T22:13:20Z",
            "2023-11-14T23:13:20+01:00",
            "2023-11-14 22:13:20",
            "2023-11-14T22:13:20",
        ] {
            assert_eq!(millis(text, "UTC", None), expected, "{text}");
        }
        assert_eq!(millis("2023-11-14 23:13:20", "Europe/Berlin", None), expected);
        assert_eq!(millis("2023-11-14 22:13", "UTC", None), Ok(1_699_999_980_000));
        assert!(
            millis("2026-03-29 02:30", "Europe/Berlin", None).unwrap_err().contains("leave this time out")
        );
        assert_eq!(
            millis("2026-10-25 02:30", "Europe/Berlin", None),
            millis("2026-10-25 00:30", "UTC", None)
        );
        for text in ["yesterday", "", "ago", "2023-13-01", "22:13"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_day_lasts_to_its_end_in_its_zone() {
        let day: Moment = "2023-11-14".parse().unwrap();
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let first = day.millis(Edge::First, &berlin, None).unwrap();
        let last = day.millis(Edge::Last, &berlin, None).unwrap();
        assert_eq!((first, last), (1_699_916_400_000, 1_700_002_799_999));
    }

    #[test]
    fn ago_counts_from_the_time_that_stands_for_now() {
        assert_eq!(millis("2h ago", "UTC", Some(10_000_000)), Ok(2_800_000));
        assert!(millis("2h ago", "UTC", None).unwrap_err().contains("--as-of"));
    }

    #[test]
    fn spans_have_units_or_are_milliseconds() {
        for (text, expected) in
            [("14d", 1_209_600_000), ("36h", 129_600_000), ("1h30m", 5_400_000), ("500ms", 500), ("7", 7)]
        {
            assert_eq!(parse_span(text), Ok(expected), "{text}");
        }
        for text in ["", "d", "-1h", "-5", "1 month", "soon"] {
            assert!(parse_span(text).is_err(), "{text}");
        }
    }
}
