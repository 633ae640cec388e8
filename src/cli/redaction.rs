//! What is hidden from those who read an answer.

use crate::error::AuditError;
use crate::finding::Finding;
use crate::report::Report;
use crate::report::answer::Answer;
use crate::report::redact::{Mode, Redactor};
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// What is hidden, and behind which hashes.
#[derive(Debug, Args)]
pub struct RedactionArguments {
    /// Put keyed hashes in the place of business keys, or of keys and all names
    #[arg(long, value_enum, default_value_t = Mode::None, value_name = "WHAT")]
    redact: Mode,
    /// A file of 16 bytes or more, the key of these hashes: equal texts have equal hashes in all reports that
    /// are made with it. Without it every report has a key of its own, which nobody knows
    #[arg(long, value_name = "FILE")]
    redact_key_file: Option<PathBuf>,
}

impl RedactionArguments {
    /// What hides.
    ///
    /// # Errors
    /// [`AuditError`] for a key that cannot be read or is too short.
    pub(super) fn redactor(&self) -> Result<Redactor, AuditError> {
        let key = match &self.redact_key_file {
            Some(path) => Some(
                std::fs::read(path)
                    .map_err(|source| AuditError::Unreadable { path: path.clone(), source })?,
            ),
            None => None,
        };
        Redactor::new(self.redact, key).map_err(|reason| {
            let file = self.redact_key_file.as_ref().map(|path| format!("{}: ", path.display()));
            AuditError::Usage(format!("{}{reason}", file.unwrap_or_default()))
        })
    }
}

/// The report as others may read it.
pub(super) fn report(redactor: &Redactor, report: Report) -> Result<Report, AuditError> {
    redactor.report(report).map_err(|error| failed(&error))
}

/// The answer of a command as others may read it.
pub(super) fn answer<T: Serialize + DeserializeOwned>(
    redactor: &Redactor,
    answer: Answer<T>,
) -> Result<Answer<T>, AuditError> {
    redactor.answer(answer).map_err(|error| failed(&error))
}

fn failed(error: &serde_json::Error) -> AuditError {
    AuditError::Usage(format!("the answer cannot be redacted: {error}"))
}

/// Findings that stand in no report, as others may read them.
pub(super) fn findings(redactor: &Redactor, findings: Vec<Finding>) -> Result<Vec<Finding>, AuditError> {
    if redactor.mode() == Mode::None {
        return Ok(findings);
    }
    report(redactor, Report { findings, ..Report::default() }).map(|report| report.findings)
}
