//! Which fields of the list hold what.
//!
//! ```text
//!  CSV      NAME of the first line, or the number of a column from 1 on
//!  NDJSON   /pointer to a member of each line (RFC 6901)
//!  lines    nothing: the line is the key
//! ```

use crate::keys::JsonPointer;
use jiff::tz::TimeZone;
use std::fmt;
use std::path::Path;

/// How the list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Comma-separated values, RFC 4180.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// One key a line.
    Lines,
}

impl FileFormat {
    /// By the end of the file's name; anything unknown is one key a line.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv,
            "ndjson" | "jsonl" | "json" => Self::Ndjson,
            _ => Self::Lines,
        }
    }

    /// The name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Lines => "lines",
        }
    }
}

/// One field of each entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// A column by its name in the first line.
    Name(String),
    /// A column by its place, from 0 on.
    Column(usize),
    /// A member of the JSON object.
    Pointer(JsonPointer),
    /// The whole line.
    Line,
}

impl Field {
    /// Reads a field as the user wrote it.
    ///
    /// # Errors
    /// A sentence that says what is expected.
    pub fn parse(text: &str, format: FileFormat) -> Result<Self, String> {
        match format {
            FileFormat::Lines => Err(format!(
                "field {text:?}: a list with one key a line has no fields; its format is \
                             chosen with --expect-format"
            )),
            FileFormat::Ndjson => text.parse().map(Self::Pointer),
            FileFormat::Csv => match text.parse::<usize>() {
                Ok(0) => Err("columns are counted from 1 on".to_owned()),
                Ok(number) => Ok(Self::Column(number - 1)),
                Err(_) if text.is_empty() => Err("a column has a name or a number".to_owned()),
                Err(_) => Ok(Self::Name(text.to_owned())),
            },
        }
    }

    /// Whether the first line of a CSV file is needed to find it.
    #[must_use]
    pub const fn is_named(&self) -> bool {
        matches!(self, Self::Name(_))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Column(at) => write!(f, "{}", at.saturating_add(1)),
            Self::Pointer(pointer) => pointer.fmt(f),
            Self::Line => f.write_str("line"),
        }
    }
}

/// The fields that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// How the list is written.
    pub format: FileFormat,
    /// Whether the first line of a CSV file names its columns.
    pub header: Header,
    /// One for each part of the key.
    pub key: Vec<Field>,
    /// When the entry was sent.
    pub time: Option<Field>,
    /// The offset that was acknowledged.
    pub offset: Option<Field>,
    /// The partition that was acknowledged.
    pub partition: Option<Field>,
    /// The zone of times that are written without one.
    pub zone: TimeZone,
}

/// Whether the first line of a CSV file names its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// It does.
    Names,
    /// It is an entry like the others.
    Entry,
}
