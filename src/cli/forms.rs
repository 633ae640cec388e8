//! The report of an audit in each of its forms.

use super::output::ReportFormat;
use crate::finding::Finding;
use crate::report::layout::Width;
use crate::report::list::{List, ListRow};
use crate::report::wording::Zone;
use crate::report::{Report, html, json, markdown, ndjson, table};
use std::io::{self, Write};

/// Writes the report in one form. `surplus` are the findings with all of their groups that are at hand,
/// for the form that lists copies.
pub(super) fn write(
    form: ReportFormat,
    report: &Report,
    surplus: &[Finding],
    width: Width,
    zone: &Zone,
    out: &mut dyn Write,
) -> io::Result<()> {
    match form {
        ReportFormat::Table => table::write_in(report, zone, width, out),
        ReportFormat::Json => json::write(report, out),
        ReportFormat::Ndjson => ndjson::write(report, out),
        ReportFormat::Md => markdown::write_in(report, zone, out),
        ReportFormat::Html => html::write_in(report, zone, out),
        ReportFormat::Csv => list(surplus, out),
    }
}

/// Every surplus copy as a line of CSV.
pub(super) fn list(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    let mut list = List::begin(out)?;
    for finding in findings {
        for row in ListRow::all_of(finding) {
            list.row(&row)?;
        }
    }
    list.finish().map(|_| ())
}
