//! Audits log directories and says in a few lines what was found.
//!
//! ```console
//! $ cargo run --release --example audit_directory -- testdata/brokers/4.3.1/crash-restart-resend/data
//! ```

use dedup_audit::audit::{self, AuditOptions};
use dedup_audit::error::AuditError;
use dedup_audit::report::wording::business_key;
use std::io::{self, Write};
use std::path::PathBuf;

/// Audits `paths` as `scan` does without any option.
///
/// # Errors
/// What keeps the audit from running, and what the writer says.
pub fn run(paths: Vec<PathBuf>, out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let report = audit::run(&AuditOptions::over(paths))?.report;
    writeln!(out, "{}", report.verdict.headline)?;
    for finding in &report.findings {
        let counts = finding.counts;
        writeln!(out, "{} {} ({}): {}", finding.severity, finding.code, finding.confidence, finding.title)?;
        writeln!(out, "  {} keys, {} surplus records", counts.groups, counts.surplus_records)?;
        for group in finding.groups.iter().take(2) {
            let places: Vec<_> = group
                .copies
                .iter()
                .map(|copy| format!("{}-{}@{}", copy.topic, copy.partition, copy.offset))
                .collect();
            // Keys are other people's bytes: spelled out, nothing in them reaches the terminal as it is.
            let key = business_key(&group.business_key);
            writeln!(out, "  {}  {}", key.escape_debug(), places.join("  "))?;
        }
    }
    // Damage is no finding: a verdict is worth as much as what could be read.
    for damage in report.coverage.damage.iter().filter(|damage| !damage.expected) {
        writeln!(out, "not read: {} at {}: {}", damage.file, damage.position, damage.detail)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        return Err(AuditError::Usage("name a log directory".to_owned()).into());
    }
    run(paths, &mut io::stdout().lock())
}
