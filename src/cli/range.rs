//! Ranges of offsets as people write them: `3..9`, `3..`, `..9`.

use crate::units::Range;

/// Reads `A..B`, both included; either may be missing.
pub(super) fn parse(text: &str) -> Result<Range, String> {
    let (first, last) =
        text.split_once("..").ok_or("expected two offsets with .. between them, as 40..59")?;
    let number = |text: &str, missing: i64| match text {
        "" => Ok(missing),
        text => text.parse().map_err(|error| format!("{text}: {error}")),
    };
    let range = Range { first: number(first, i64::MIN)?, last: number(last, i64::MAX)? };
    if range.first > range.last {
        return Err(format!("{first} is larger than {last}"));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_offsets_may_be_open() {
        assert_eq!(parse("3..9"), Ok(Range { first: 3, last: 9 }));
        assert_eq!(parse("3.."), Ok(Range { first: 3, last: i64::MAX }));
        assert_eq!(parse("..9"), Ok(Range { first: i64::MIN, last: 9 }));
        assert!(parse("9..3").is_err());
        assert!(parse("9").is_err());
        assert!(parse("a..b").is_err());
    }
}
