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
use std::collections::BTreeMap;
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
pub(super) fn lines(bytes: &[u8]) -> Result<Vec<(usize, &str)>, LineError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((1..).zip(text.lines()).collect()),
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = good.split(|&byte| byte == b'\n').count();
            let text = String::from_utf8_lossy(bytes);
            Err(LineError::new(
                line,
                text.lines().nth(line.saturating_sub(1)).unwrap_or_default(),
                "no UTF-8",
            ))
        }
    }
}

/// The entries of a file in the checkpoint frame, each with the number of its line.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<(usize, &str)>, LineError> {
    let mut lines = lines(bytes)?;
    // Kafka ends every line with a line feed; an editor may have added more of them.
    while lines.last().is_some_and(|(_, text)| text.trim().is_empty()) {
        lines.pop();
    }
    let mut lines = lines.into_iter();
    let Some((number, version)) = lines.next() else { return Ok(Vec::new()) };
    if version.trim() != VERSION {
        return Err(LineError::new(number, version, format!("version {VERSION} was expected")));
    }
    let Some((number, count)) = lines.next() else { return Ok(Vec::new()) };
    let Ok(expected) = count.trim().parse::<usize>() else {
        return Err(LineError::new(number, count, "the number of entries was expected"));
    };
    let entries: Vec<_> = lines.collect();
    if entries.len() != expected {
        return Err(LineError::new(
            number,
            count,
            format!("{expected} entries are announced, {} are there", entries.len()),
        ));
    }
    Ok(entries)
}

/// The fields of a line, or an error when they are not `N`.
pub(super) fn fields<'a, const N: usize>(
    line: usize,
    text: &'a str,
    expected: &str,
) -> Result<[&'a str; N], LineError> {
    let fields: Vec<_> = text.split_whitespace().collect();
    fields.try_into().map_err(|_| LineError::new(line, text, format!("{expected} was expected")))
}

/// An offset for each of many partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetCheckpoint {
    topics: BTreeMap<String, BTreeMap<i32, Offset>>,
}

impl OffsetCheckpoint {
    /// Reads the whole file.
    ///
    /// # Errors
    /// The first line that is not what it should be.
    pub fn parse(bytes: &[u8]) -> Result<Self, LineError> {
        let mut topics: BTreeMap<String, BTreeMap<i32, Offset>> = BTreeMap::new();
        for (line, text) in entries(bytes)? {
            let [topic, partition, offset] = fields(line, text, "topic, partition and offset")?;
            let number = |what| LineError::new(line, text, format!("{what} is no number"));
            let partition = partition.parse().map_err(|_| number("the partition"))?;
            let offset = offset.parse().map_err(|_| number("the offset"))?;
            // As in Kafka the last of two lines for one partition counts.
            topics.entry(topic.to_owned()).or_default().insert(partition, Offset(offset));
        }
        Ok(Self { topics })
    }

    /// The offset of a partition, when the file has one.
    #[must_use]
    pub fn get(&self, topic: &str, partition: i32) -> Option<Offset> {
        self.topics.get(topic)?.get(&partition).copied()
    }

    /// All entries, by topic and partition.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i32, Offset)> {
        self.topics.iter().flat_map(|(topic, partitions)| {
            partitions.iter().map(move |(&partition, &offset)| (topic.as_str(), partition, offset))
        })
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
