//! `dedup-audit schema`: the JSON Schema of the report.

use crate::error::AuditError;
use crate::report::{schema, sink};
use std::io::Write;
use std::process::ExitCode;

pub(super) fn run(out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    sink::print(out, |out| out.write_all(schema::text().as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}
