//! `meta.properties` and `.kafka_cleanshutdown`: whose log directory this is, and how it was left.
//!
//! ```text
//! #Sun Nov 29 15:41:46 UTC 2026
//! node.id=1                                 broker.id in version 0
//! directory.id=5AFEle4G6iMf9OQWj2LCfA       KIP-858
//! version=1
//! cluster.id=4L6g3nShT-eMCtK--X86sw         not written by old releases
//! ```
//!
//! Source: `MetaProperties`, and `java.util.Properties` for the text form; `CleanShutdownFileHandler`
//! and KIP-966 for the marker.

use super::checkpoint::{LineError, lines};

/// One property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its line, from 1.
    pub line: usize,
    /// What it is called.
    pub name: String,
    /// What it says.
    pub value: String,
}

/// Reads all properties, in their order.
///
/// # Errors
/// The first line that is none.
pub fn properties(bytes: &[u8]) -> Result<Vec<Property>, LineError> {
    let mut properties = Vec::new();
    for (line, text) in lines(bytes)? {
        let text = text.trim_start();
        if text.is_empty() || text.starts_with(['#', '!']) {
            continue;
        }
        let Some((name, value)) = property(text) else {
            return Err(LineError::new(line, text, "`name=value` was expected"));
        };
        properties.push(Property { line, name, value });
    }
    Ok(properties)
}

/// What `meta.properties` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaProperties {
    /// `node.id`, or `broker.id` of version 0.
    pub broker_id: Option<i32>,
    /// `cluster.id`.
    pub cluster_id: Option<String>,
    /// `directory.id`.
    pub directory_id: Option<String>,
}

impl MetaProperties {
    /// Reads the whole file; properties that are not known are left alone.
    ///
    /// # Errors
    /// The first line that is not what it should be.
    pub fn parse(bytes: &[u8]) -> Result<Self, LineError> {
        let mut this = Self::default();
        for Property { line, name, value } in properties(bytes)? {
            let id = || {
                let id = value.parse::<i32>().ok().filter(|&id| id >= 0);
                id.ok_or_else(|| {
                    LineError::new(line, &format!("{name}={value}"), "a broker's id is a number")
                })
            };
            match name.as_str() {
                "node.id" => this.broker_id = Some(id()?),
                "broker.id" if this.broker_id.is_none() => this.broker_id = Some(id()?),
                "cluster.id" => this.cluster_id = Some(value),
                "directory.id" => this.directory_id = Some(value),
                _ => {}
            }
        }
        Ok(this)
    }
}

/// Key and value of a line, as `java.util.Properties` reads it; Kafka writes no value over two lines.
fn property(text: &str) -> Option<(String, String)> {
    let mut escaped = false;
    let end = text.char_indices().find_map(|(at, char)| {
        let ends = !escaped && (matches!(char, '=' | ':') || char.is_whitespace());
        escaped = char == '\\' && !escaped;
        ends.then_some(at)
    })?;
    let (key, rest) = text.split_at_checked(end)?;
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    Some((unescape(key), unescape(value.trim())))
}

/// Undoes the backslashes in front of `=`, `:`, `#`, `!` and blanks.
fn unescape(text: &str) -> String {
    let mut chars = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(char) = chars.next() {
        plain.push(if char == '\\' { chars.next().unwrap_or(char) } else { char });
    }
    plain
}

/// The broker's epoch in `.kafka_cleanshutdown`; the marker was empty up to 3.6.
///
/// That the file is there already says that the shutdown was orderly, whatever it holds.
///
/// # Errors
/// The line, when the file is neither empty nor what 3.7 and later write.
pub fn broker_epoch(bytes: &[u8]) -> Result<Option<i64>, LineError> {
    let Some((line, text)) = lines(bytes)?.find(|(_, text)| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let epoch = serde_json::from_slice::<serde_json::Value>(bytes)
        .ok()
        .and_then(|marker| marker.get("brokerEpoch").and_then(serde_json::Value::as_i64));
    match epoch {
        // Kafka writes -1 where it does not know its epoch.
        Some(-1) => Ok(None),
        Some(epoch) => Ok(Some(epoch)),
        None => Err(LineError::new(line, text, "an object with `brokerEpoch` was expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_say_who_the_broker_is() {
        let new = MetaProperties::parse(
            b"#\n#Sun Nov 29 15:41:46 UTC 2026\nnode.id=1\ndirectory.id=5AFEle4G6iMf9OQWj2LCfA\nversion=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n",
        )
        .unwrap();
        assert_eq!(new.broker_id, Some(1));
        assert_eq!(new.cluster_id.as_deref(), Some("4L6g3nShT-eMCtK--X86sw"));
        assert_eq!(new.directory_id.as_deref(), Some("5AFEle4G6iMf9OQWj2LCfA"));
        let old = MetaProperties::parse(b"#\nbroker.id=7\nversion=0\n").unwrap();
        assert_eq!(old, MetaProperties { broker_id: Some(7), ..MetaProperties::default() });
    }

    #[test]
    fn a_migrated_broker_goes_by_its_node_id() {
        for text in [&b"node.id=3\nbroker.id=4\n"[..], b"broker.id=4\nnode.id=3\n"] {
            assert_eq!(MetaProperties::parse(text).unwrap().broker_id, Some(3));
        }
    }

    #[test]
    fn the_escapes_of_java_properties_are_undone() {
        let meta = MetaProperties::parse(b"cluster.id = a\\=b\\:c\\\\d \nodd\\=name:1\n").unwrap();
        assert_eq!(meta.cluster_id.as_deref(), Some("a=b:c\\d"));
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = MetaProperties::parse(b"#\nversion=1\nnode.id=one\n").unwrap_err();
        assert_eq!((error.line, error.text.as_str()), (3, "node.id=one"));
        assert_eq!(MetaProperties::parse(b"nothing").unwrap_err().line, 1);
    }

    #[test]
    fn the_marker_of_an_orderly_shutdown_may_be_empty() {
        assert_eq!(broker_epoch(b""), Ok(None));
        assert_eq!(broker_epoch(b"{\"version\":0,\"brokerEpoch\":11}"), Ok(Some(11)));
        assert_eq!(broker_epoch(b"{\"version\":0,\"brokerEpoch\":-1}"), Ok(None));
        assert_eq!(broker_epoch(b"x").unwrap_err().line, 1);
    }
}
