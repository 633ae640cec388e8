//! The small text files that brokers keep offsets in.
//!
//! ```text
//! 0                 version
//! 2                 how many entries follow
//! orders 0 16       topic partition offset
//! inventory 0 90
//! ```
//!
//! Fields are separated by white space. An empty file, which a killed broker can leave behind, has
//! no entries. `recovery-point-offset-checkpoint`, `replication-offset-checkpoint`,
//! `log-start-offset-checkpoint` and `cleaner-offset-checkpoint` look like this; the leader epochs
//! share the frame ([`super::leader_epoch_checkpoint`]).
//!
//! Source: `CheckpointFile` in Kafka's `server-common` module, `OffsetCheckpointFile`.

use crate::units::Offset;
use std::fmt;

/// The only version that Kafka ever wrote.
const VERSION: &str = "0";
/// How much of a bad line an error repeats.
const SHOWN: usize = 80;

/// A line that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Its number, from 1.
    pub line: usize,
    /// Its text, cut to a sensible length.
    pub text: String,
    /// What is wrong.
    pub reason: String,
}

impl LineError {
    pub(super) fn new(line: usize, text: &str, reason: impl Into<String>) -> Self {
        Self { line, text: text.chars().take(SHOWN).collect(), reason: reason.into() }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text is somebody else's bytes: control characters do not reach a terminal.
        write!(f, "line {}: {}: \"{}\"", self.line, self.reason, self.text.escape_debug())
    }
}

impl std::error::Error for LineError {}

/// The lines of a text file, numbered from 1.
pub(super) fn lines(bytes: &[u8]) -> Result<impl Iterator<Item = (usize, &str)>, LineError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((1..).zip(text.lines())),
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = good.split(|&byte| byte == b'\n').count();
            let text = bytes.split(|&byte| byte == b'\n').nth(line.saturating_sub(1)).unwrap_or_default();
            Err(LineError::new(line, &String::from_utf8_lossy(text), "no UTF-8"))
        }
    }
}

/// Calls `each` with every entry of a file in the checkpoint frame and the number of its line.
pub(super) fn for_each_entry<'a>(
    bytes: &'a [u8],
    mut each: impl FnMut(usize, &'a str) -> Result<(), LineError>,
) -> Result<(), LineError> {
    // Kafka ends every line with a line feed; an editor may have added more of them.
    let mut lines = lines(bytes.trim_ascii_end())?;
    let Some((number, version)) = lines.next() else { return Ok(()) };
    if version.trim() != VERSION {
        return Err(LineError::new(number, version, format!("version {VERSION} was expected")));
    }
    let Some((number, count)) = lines.next() else { return Ok(()) };
    let Ok(expected) = count.trim().parse::<usize>() else {
        return Err(LineError::new(number, count, "the number of entries was expected"));
    };
    let mut found = 0_usize;
    for (line, text) in lines {
        each(line, text)?;
        found = found.saturating_add(1);
    }
    if found != expected {
        let reason = format!("{expected} entries are announced, {found} are there");
        return Err(LineError::new(number, count, reason));
    }
    Ok(())
}

/// The fields of a line, or an error when they are not `N`.
pub(super) fn fields<'a, const N: usize>(
    line: usize,
    text: &'a str,
    expected: &str,
) -> Result<[&'a str; N], LineError> {
    let mut words = text.split_whitespace();
    let fields: Vec<_> = words.by_ref().take(N).collect();
    let wrong = |_| LineError::new(line, text, format!("{expected} was expected"));
    let fields = fields.try_into().map_err(wrong)?;
    if words.next().is_some() { Err(wrong(Vec::new())) } else { Ok(fields) }
}

/// An offset for each of many partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetCheckpoint {
    /// Sorted by topic and partition.
    entries: Vec<(Box<str>, i32, Offset)>,
}

impl OffsetCheckpoint {
    /// Reads the whole file.
    ///
    /// # Errors
    /// The first line that is not what it should be.
    pub fn parse(bytes: &[u8]) -> Result<Self, LineError> {
        let mut entries: Vec<(Box<str>, i32, Offset)> = Vec::new();
        for_each_entry(bytes, |line, text| {
            let [topic, partition, offset] = fields(line, text, "topic, partition and offset")?;
            let number = |what| LineError::new(line, text, format!("{what} is no number"));
            let partition = partition.parse().map_err(|_| number("the partition"))?;
            let offset = offset.parse().map_err(|_| number("the offset"))?;
            entries.push((topic.into(), partition, Offset(offset)));
            Ok(())
        })?;
        // As in Kafka the last of two lines for one partition counts.
        entries.reverse();
        entries.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        entries.dedup_by(|b, a| (&a.0, a.1) == (&b.0, b.1));
        Ok(Self { entries })
    }

    /// The offset of a partition, when the file has one.
    #[must_use]
    pub fn get(&self, topic: &str, partition: i32) -> Option<Offset> {
        let at = self.entries.binary_search_by(|entry| (&*entry.0, entry.1).cmp(&(topic, partition))).ok()?;
        self.entries.get(at).map(|entry| entry.2)
    }

    /// All entries, by topic and partition.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i32, Offset)> {
        self.entries.iter().map(|(topic, partition, offset)| (&**topic, *partition, *offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_a_brokers_file_is_found() {
        let file = OffsetCheckpoint::parse(b"0\n3\norders 0 16\na.b-c 12 90\norders 1 7\n").unwrap();
        assert_eq!(file.get("orders", 0), Some(Offset(16)));
        assert_eq!(file.get("a.b-c", 12), Some(Offset(90)));
        assert_eq!(file.get("orders", 2), None);
        assert_eq!(file.iter().count(), 3);
    }

    #[test]
    fn the_last_of_two_lines_for_one_partition_counts() {
        let file = OffsetCheckpoint::parse(b"0\n3\norders 0 16\norders 0 2\na 0 1\n").unwrap();
        assert_eq!((file.get("orders", 0), file.iter().count()), (Some(Offset(2)), 2));
    }

    #[test]
    fn the_empty_file_of_a_killed_broker_has_no_entries() {
        for empty in [&b""[..], b"\n", b"0\n", b"0\n0\n", b"0\n0"] {
            assert_eq!(OffsetCheckpoint::parse(empty), Ok(OffsetCheckpoint::default()));
        }
    }

    #[test]
    fn a_bad_line_is_named_with_number_and_text() {
        for (bytes, line, text) in [
            (&b"1\n0\n"[..], 1, "1"),
            (b"0\nx\n", 2, "x"),
            (b"0\n2\norders 0 16\n", 2, "2"),
            (b"0\n1\norders 0 16\norders 1 16\n", 2, "1"),
            (b"0\n1\norders 0\n", 3, "orders 0"),
            (b"0\n1\norders 0 1 1\n", 3, "orders 0 1 1"),
            (b"0\n2\n\norders 0 1\n", 3, ""),
            (b"0\n2\norders 0 1\norders 0 1x\n", 4, "orders 0 1x"),
            (b"0\n1\norders 99999999999 1\n", 3, "orders 99999999999 1"),
            (b"0\n1\n\xff\n", 3, "\u{fffd}"),
        ] {
            let error = OffsetCheckpoint::parse(bytes).unwrap_err();
            assert_eq!((error.line, error.text.as_str()), (line, text), "{error}");
        }
    }

    #[test]
    fn an_error_shows_no_control_characters_and_no_endless_line() {
        let mut file = b"0\n1\n\x1b[2J".to_vec();
        file.resize(1_000_000, b'x');
        let message = OffsetCheckpoint::parse(&file).unwrap_err().to_string();
        assert!(message.contains("\\u{1b}[2J") && message.len() < 200, "{message}");
    }
}
