//! Sizes as people write them: `512MiB`, `2GB`, `1g`, `1.5 GiB`.

/// Bytes from a number with a unit. One letter is the binary unit, as for `dd` and `sort`; without
/// unit the number is bytes.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let number_ends = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_ends);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(expected()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let parts = (digits(whole), digits(fraction), u32::try_from(fraction.len()).ok());
    let (Some(whole), Some(fraction), Some(places)) = parts else { return Err(expected()) };
    if number.chars().all(|c| c == '.') {
        return Err(expected());
    }
    let below_one = fraction.checked_mul(unit).zip(10_u64.checked_pow(places)).map(|(part, of)| part / of);
    let bytes = whole.checked_mul(unit).zip(below_one).and_then(|(whole, part)| whole.checked_add(part));
    bytes.ok_or_else(|| "it is too large".to_owned())
}

/// Bytes in the largest unit of which there is one: `12.3 MiB`.
pub(super) fn shown(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..1_048_576 => (1_u64 << 10, "KiB"),
        1_048_576..1_073_741_824 => (1 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    let tenths = u128::from(bytes) * 10 / u128::from(unit);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

fn expected() -> String {
    "expected a size such as 512MiB, 2GB or 1g".to_owned()
}

#[cfg(test)]
mod tests {
    use super::{parse, shown};

    #[test]
    fn sizes_are_shown_in_a_unit_that_fits() {
        let all: Vec<_> = [0, 1023, 1024, 1_572_864, u64::MAX].map(shown).into();
        assert_eq!(all, ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "17179869183.9 GiB"]);
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("256MiB", 256 << 20),
            ("2GB", 2_000_000_000),
            ("1g", 1 << 30),
            ("1.5 GiB", 3 << 29),
            ("64m", 64 << 20),
            ("1000", 1000),
            (".5k", 512),
            ("12 kb", 12_000),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "GiB", "1x", "-1g", "1.2.3k", ".", "99999999999g", "1e3", "0x10"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
