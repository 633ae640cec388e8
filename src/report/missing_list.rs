//! `reconcile --write-missing`: every key that is missing, or withheld from read_committed consumers, as one line
//! of CSV.
//!
//! Cells are written as those of the list of surplus copies: a spreadsheet takes none for a formula,
//! and `businessKeyForm` says what the key's cell holds.

use super::list::key_cell;
use super::reconcile::WithheldBy;
use crate::finding::{BusinessKey, rfc3339};
use std::io::{self, Write};

/// The first line.
const HEADER: &str = "line,businessKey,businessKeyForm,timestamp,time,state\n";

/// Writes the first line.
///
/// # Errors
/// What the writer says.
pub fn begin(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(HEADER.as_bytes())
}

/// Writes a key with its line in the list, when it was sent, and why who reads committed records does not get it:
/// `None` where it is missing.
///
/// # Errors
/// What the writer says.
pub fn row(
    out: &mut dyn Write,
    line: u64,
    key: &BusinessKey,
    timestamp: Option<i64>,
    withheld: Option<WithheldBy>,
) -> io::Result<()> {
    let (form, cell) = key_cell(key);
    let millis = timestamp.map(|millis| millis.to_string()).unwrap_or_default();
    let time = timestamp.and_then(rfc3339).unwrap_or_default();
    let state = withheld.map_or("missing", WithheldBy::name);
    writeln!(out, "{line},{cell},{form},{millis},{time},{state}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_key_stays_one_harmless_cell() {
        let mut out = Vec::new();
        begin(&mut out).unwrap();
        let key = BusinessKey::Text { text: "=cmd(),\r\n\u{1b}[2J".to_owned() };
        row(&mut out, 7, &key, Some(1_700_000_000_005), Some(WithheldBy::Open)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert_eq!(
            text.lines().nth(1),
            Some("7,\"'=cmd(),\\r\\n\\x1b[2J\",text,1700000000005,2023-11-14T22:13:20.005Z,open")
        );
    }
}
