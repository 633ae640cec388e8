//! The report as JSON: one object, indented by two spaces, with a line end behind it.

use super::model::Report;
use std::io::{self, Write};

/// Writes the report. A reader that goes away shows as [`io::ErrorKind::BrokenPipe`], which
/// [`super::sink::print`] takes for a normal end.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::Invocation;

    #[test]
    fn what_is_written_can_be_read_back() {
        let report = Report::new(Invocation::default());
        let mut text = Vec::new();
        write(&report, &mut text).unwrap();
        assert!(text.starts_with(b"{\n  \"schemaVersion\": \"1.0\",\n") && text.ends_with(b"}\n"));
        assert_eq!(serde_json::from_slice::<Report>(&text).unwrap(), report);
    }

    #[test]
    fn a_broken_pipe_keeps_its_kind() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let kind = write(&Report::default(), &mut Gone).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::BrokenPipe);
    }
}
