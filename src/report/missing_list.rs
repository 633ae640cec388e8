//! `reconcile --write-missing`: every missing key as one line of CSV.
//!
//! Cells are written as those of the list of surplus copies: a spreadsheet takes none for a formula,
//! and `businessKeyForm` says what the key's cell holds.

use super::list::key_cell;
use crate::finding::{BusinessKey, rfc3339};
use std::io::{self, Write};

/// The first line.
const HEADER: &str = "line,businessKey,businessKeyForm,timestamp,time\n";

/// Writes the first line.
///
/// # Errors
/// What the writer says.
pub fn begin(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(HEADER.as_bytes())
}

/// Writes a missing key with its line in the list, and when it was sent.
///
/// # Errors
/// What the writer says.
pub fn row(out: &mut dyn Write, line: u64, key: &BusinessKey, timestamp: Option<i64>) -> io::Result<()> {
    let (form, cell) = key_cell(key);
    let millis = timestamp.map(|millis| millis.to_string()).unwrap_or_default();
    let time = timestamp.and_then(rfc3339).unwrap_or_default();
    writeln!(out, "{line},{cell},{form},{millis},{time}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_key_stays_one_harmless_cell() {
        let mut out = Vec::new();
        begin(&mut out).unwrap();
        let key = BusinessKey::Text { text: "=cmd(),\r\n\u{1b}[2J".to_owned() };
        row(&mut out, 7, &key, Some(1_700_000_000_005)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert_eq!(
            text.lines().nth(1),
            Some("7,\"'=cmd(),\\r\\n\\x1b[2J\",text,1700000000005,2023-11-14T22:13:20.005Z")
        );
    }
}
