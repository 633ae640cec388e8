//! `partition.metadata`: which topic a directory belongs to, whatever its name says.
//!
//! ```text
//! version: 0
//! topic_id: 9Zb-ACHLRrCmbBmjuYMOPg
//! ```
//!
//! The id is the 16 bytes of a UUID in URL-safe base64 without padding; it stays text here, as
//! Kafka's tools print it. A topic that was deleted and created again has another one.
//!
//! Source: `PartitionMetadata`, `PartitionMetadataFile`; exists from 2.8 on.

use super::checkpoint::{LineError, lines};

/// Bytes of a UUID in base64 without padding.
const ID_LENGTH: usize = 22;
/// No topic has this id.
const ZERO_ID: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// Reads the topic id.
///
/// # Errors
/// The first line that is not what it should be.
pub fn parse(bytes: &[u8]) -> Result<String, LineError> {
    let mut lines = lines(bytes)?;
    let (line, text) = lines.next().unwrap_or((1, ""));
    let version =
        text.strip_prefix("version:").map(str::trim).and_then(|version| version.parse::<i32>().ok());
    if version.is_none_or(|version| version < 0) {
        return Err(LineError::new(line, text, "`version: 0` was expected"));
    }
    let (line, text) = lines.next().unwrap_or((2, ""));
    let Some(id) = text.strip_prefix("topic_id:").map(str::trim) else {
        return Err(LineError::new(line, text, "`topic_id: …` was expected"));
    };
    if !is_uuid(id) {
        return Err(LineError::new(line, text, "a topic id has 22 characters of URL-safe base64"));
    }
    if id == ZERO_ID {
        return Err(LineError::new(line, text, "the topic id is zero"));
    }
    Ok(id.to_owned())
}

/// Whether `id` is what 16 bytes look like: 22 characters, of which the last carries two bits.
fn is_uuid(id: &str) -> bool {
    let in_alphabet = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    id.len() == ID_LENGTH && id.bytes().all(|byte| in_alphabet(&byte)) && id.ends_with(['A', 'Q', 'g', 'w'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_kept_as_text() {
        let id = parse(b"version: 0\ntopic_id: 9Zb-ACHLRrCmbBmjuYMOPg").unwrap();
        assert_eq!(id, "9Zb-ACHLRrCmbBmjuYMOPg");
    }

    #[test]
    fn an_id_that_is_no_uuid_is_refused() {
        for id in [
            "",
            "AAAAAAAAAAAAAAAAAAAAAA",
            "9Zb-ACHLRrCmbBmjuYMOP",
            "9Zb-ACHLRrCmbBmjuYMOPgg",
            "9Zb-ACHLRrCmbBmjuYMO+g",
            "9Zb-ACHLRrCmbBmjuYMOPh",
        ] {
            let error = parse(format!("version: 0\ntopic_id: {id}").as_bytes()).unwrap_err();
            assert_eq!(error.line, 2, "{error}");
        }
    }

    #[test]
    fn a_file_without_version_or_id_names_the_line_that_lacks_it() {
        assert_eq!(parse(b"").unwrap_err().line, 1);
        assert_eq!(parse(b"version: -1\ntopic_id: 9Zb-ACHLRrCmbBmjuYMOPg").unwrap_err().line, 1);
        assert_eq!(parse(b"version: 0\n").unwrap_err().line, 2);
        assert!(parse(b"version: 1\ntopic_id: 9Zb-ACHLRrCmbBmjuYMOPg\n").is_ok());
    }
}
