//! What the commands beside `scan` answer: one head, the command's own part, the coverage.
//!
//! Goes in: the part of its own that a command found out. Comes out: [`Answer`], whose JSON begins and
//! ends like that of a report, so that a script finds version, call and coverage at the same names, and
//! `complete` and `interrupted` as in a verdict.

use super::model::{Coverage, Invocation, Redaction, SCHEMA_VERSION, Tool, Verdict};
use crate::finding::rfc3339;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// How much of what was given was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// All of it, expected damage aside.
    Whole,
    /// The coverage says what is missing.
    Partial,
    /// The run was stopped.
    Interrupted,
}

impl Reading {
    /// Of a run that nobody stopped.
    #[must_use]
    pub const fn of_complete(complete: bool) -> Self {
        if complete { Self::Whole } else { Self::Partial }
    }

    /// Of the run that a verdict is about.
    #[must_use]
    pub const fn of_verdict(verdict: &Verdict) -> Self {
        if verdict.interrupted { Self::Interrupted } else { Self::of_complete(verdict.complete) }
    }
}

/// An answer of one command, as its JSON has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer<T> {
    /// The version of this shape; the first number rises when a reader must change.
    pub schema_version: String,
    /// What wrote the answer.
    pub tool: Tool,
    /// What was asked.
    pub invocation: Invocation,
    /// What stands for "now": the newest time in the evidence, or what was asked for.
    pub as_of_timestamp: Option<i64>,
    /// The same as RFC 3339.
    pub as_of_time: Option<String>,
    /// Whether everything could be read, expected damage aside.
    pub complete: bool,
    /// Whether the run was stopped before its end: all numbers are lower bounds.
    pub interrupted: bool,
    /// What is hidden; absent where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<Redaction>,
    /// The part of the command.
    #[serde(flatten)]
    pub body: T,
    /// How much could be read, and what could not.
    pub coverage: Coverage,
}

impl<T> Answer<T> {
    /// An answer of this version of the tool.
    #[must_use]
    pub fn new(
        invocation: Invocation,
        as_of: Option<i64>,
        reading: Reading,
        body: T,
        coverage: Coverage,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            tool: Tool::this(),
            invocation,
            as_of_timestamp: as_of,
            as_of_time: as_of.and_then(rfc3339),
            complete: reading == Reading::Whole,
            interrupted: reading == Reading::Interrupted,
            redaction: None,
            body,
            coverage,
        }
    }

    /// How much was read.
    #[must_use]
    pub const fn reading(&self) -> Reading {
        if self.interrupted { Reading::Interrupted } else { Reading::of_complete(self.complete) }
    }
}

impl<T: Serialize> Answer<T> {
    /// Writes it as indented JSON with a line end behind it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }
}
