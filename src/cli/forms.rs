//! The report of an audit in each of its forms.

use super::output::ReportFormat;
use crate::report::layout::Width;
use crate::report::list::{List, Surplus};
use crate::report::wording::Zone;
use crate::report::{Report, html, json, markdown, ndjson, table};
use std::io::{self, Write};

/// Writes the report in one form. `surplus` are the copies that are at hand, for the form that lists them.
pub(super) fn write(
    form: ReportFormat,
    report: &Report,
    surplus: &Surplus<'_>,
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
pub(super) fn list(surplus: &Surplus<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut list = List::begin(out)?;
    surplus.rows(|row| list.row(row))?;
    list.finish().map(|_| ())
}
