//! `dedup-audit reconcile`: a list of keys that were sent against what is stored.

use super::evidence::EvidenceArguments;
use super::output::{AnswerFormat, OutputArguments};
use super::redaction;
use super::status::{self, Outcome};
use crate::audit::{self, Reconciler};
use crate::error::AuditError;
use crate::expected::{Field, Fields, FileFormat, Header};
use crate::keys::KeySpec;
use crate::plan::KeyChoice;
use crate::report::answer::{Answer, Reading};
use crate::report::model::Report;
use crate::report::reconcile::Reconciled;
use crate::report::redact::Redactor;
use crate::report::table;
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The list, and what it is held against.
#[derive(Debug, Args)]
#[command(
    before_help = "Examples:
  dedup-audit reconcile /copy/orders-* --expect sent.csv --expect-key orderId
  dedup-audit reconcile /copy --topic orders --key json:/orderId --expect ledger.ndjson --expect-key /id \\
      --expect-time /sentAt --expect-partition /partition --expect-offset /offset
  dedup-audit reconcile /copy/orders-* --expect keys.txt --write-missing missing.csv",
    after_help = "Stored keys are those of --key; record-key unless it is given. A number and a text with the same digits are one key.
Records are counted within a topic; where several topics have keys of the list, --topic says which one is meant.

Exit status: 0 each key of the list is stored once; 1 some are not; 2 could not run, or no entry has a key; 3 each is,
and not all could be read, or not all in the same topic, or entries lack a key; 130 interrupted."
)]
pub struct ReconcileArguments {
    #[command(flatten)]
    evidence: EvidenceArguments,
    #[command(flatten)]
    output: OutputArguments<AnswerFormat>,
    /// The list: CSV, NDJSON, or one key a line
    #[arg(long, value_name = "FILE")]
    expect: PathBuf,
    /// How the list is written; by default by the end of its name: .csv, .ndjson, .jsonl, else lines
    #[arg(long, value_enum, value_name = "FORMAT")]
    expect_format: Option<ListFormat>,
    /// The key in the list: a column by name or number (CSV), or a /pointer (NDJSON). Once for each
    /// part of a joined --key, in its order
    #[arg(long, value_name = "FIELD")]
    expect_key: Vec<String>,
    /// When each entry was sent: milliseconds since 1970, RFC 3339, or a date with a time of day in the zone of --tz
    #[arg(long, value_name = "FIELD")]
    expect_time: Option<String>,
    /// The offset that the broker acknowledged
    #[arg(long, value_name = "FIELD")]
    expect_offset: Option<String>,
    /// The partition that the broker acknowledged
    #[arg(long, value_name = "FIELD")]
    expect_partition: Option<String>,
    /// The first line of a CSV list is an entry; columns are given by number
    #[arg(long)]
    no_header: bool,
    /// Write each key that is missing, and each that read_committed consumers do not get, as a line of CSV
    #[arg(long, value_name = "FILE")]
    write_missing: Option<PathBuf>,
    /// Entries of each list in the answer; 0 lists all
    #[arg(long, default_value_t = super::DEFAULT_EXAMPLES, value_name = "N")]
    max_keys: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// Comma-separated values
    Csv,
    /// One JSON object a line
    #[value(alias = "jsonl")]
    Ndjson,
    /// One key a line
    Lines,
}

impl ReconcileArguments {
    fn fields(&self, spec: &KeySpec) -> Result<Fields, AuditError> {
        let format = match self.expect_format {
            Some(ListFormat::Csv) => FileFormat::Csv,
            Some(ListFormat::Ndjson) => FileFormat::Ndjson,
            Some(ListFormat::Lines) => FileFormat::Lines,
            None => FileFormat::of(&self.expect),
        };
        let field = |text: &String| Field::parse(text, format).map_err(AuditError::Usage);
        let maybe = |text: &Option<String>| text.as_ref().map(field).transpose();
        let key = match (format, self.expect_key.as_slice()) {
            (FileFormat::Lines, []) => vec![Field::Line],
            (_, fields) => fields.iter().map(field).collect::<Result<Vec<_>, _>>()?,
        };
        if key.len() != spec.parts().len() {
            return Err(AuditError::Usage(format!(
                "the key {spec} has {} parts, --expect-key names {} fields of the list",
                spec.parts().len(),
                key.len()
            )));
        }
        let fields = Fields {
            format,
            header: if self.no_header { Header::Entry } else { Header::Names },
            key,
            time: maybe(&self.expect_time)?,
            offset: maybe(&self.expect_offset)?,
            partition: maybe(&self.expect_partition)?,
            zone: self.evidence.time_zone(),
        };
        let all = fields.key.iter().chain(&fields.time).chain(&fields.offset).chain(&fields.partition);
        if self.no_header && all.clone().any(Field::is_named) {
            return Err(AuditError::Usage(
                "--no-header: columns have no names, give their numbers".to_owned(),
            ));
        }
        Ok(fields)
    }
}

pub(super) fn run(arguments: &ReconcileArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let mut options = arguments.evidence.audit_options()?;
    let spec = options.key.one_key().cloned().unwrap_or_else(KeySpec::record_key);
    if spec.readings() > KeySpec::MOST_READINGS {
        return Err(AuditError::Usage(format!(
            "the key {spec} has too many JSON parts to be held against a list"
        )));
    }
    let fields = arguments.fields(&spec)?;
    options.key = KeyChoice::User(spec.clone());
    options.invocation.key = spec.to_string();
    let told = &mut options.invocation.options;
    told.insert("expect".to_owned(), arguments.expect.display().to_string().into());
    told.insert("expectKey".to_owned(), arguments.expect_key.clone().into());
    let sink = arguments.evidence.sink();
    let existing = arguments.output.existing();
    arguments.output.check(&sink)?;
    let redactor = arguments.evidence.redactor()?;
    if let Some(path) = &arguments.write_missing {
        if path.as_os_str() == "-" {
            let why = "--write-missing needs the name of a file: standard output has the answer";
            return Err(AuditError::Usage(why.to_owned()));
        }
        arguments.output.check_beside(&sink, path, "--write-missing")?;
        let same = |path: &PathBuf| std::fs::canonicalize(path).ok();
        if same(path).is_some() && same(path) == same(&arguments.expect) {
            return Err(AuditError::Usage("--write-missing names the list itself".to_owned()));
        }
    }
    let listed = super::cap(arguments.max_keys);
    let reconcile = |missing: &mut (dyn Write + Send)| {
        let file = arguments.expect.clone();
        let reconciler = Reconciler::new(file, fields.clone(), spec.clone(), listed, missing);
        arguments.evidence.watched(&options, || audit::reconcile(&options, reconciler))
    };
    let (report, body) = match &arguments.write_missing {
        None => reconcile(&mut io::sink())?,
        Some(path) => {
            let mut done = None;
            let written = sink.write(path, existing, |out| {
                let result = reconcile(out);
                let failed = result.is_err();
                done = Some(result);
                if failed { Err(io::Error::other("the audit ended before it was whole")) } else { Ok(()) }
            });
            match (done, written) {
                (Some(Err(error)), _) | (_, Err(error)) => return Err(error),
                (Some(Ok(done)), Ok(())) => done,
                (None, Ok(())) => return Err(AuditError::Usage("nothing was reconciled".to_owned())),
            }
        }
    };
    answer(arguments, &options.invocation, &redactor, report, body, out)
}

fn answer(
    arguments: &ReconcileArguments,
    invocation: &crate::report::model::Invocation,
    redactor: &Redactor,
    report: Report,
    body: Reconciled,
    out: &mut dyn Write,
) -> Result<ExitCode, AuditError> {
    let reading = Reading::of_verdict(&report.verdict);
    let outcome = Outcome::of_found(!body.all_once() || body.contradicted() > 0);
    // Whether everything was held against each other, beside whether the evidence was read.
    let held = match reading {
        Reading::Whole if !body.is_settled() => Reading::Partial,
        as_read => as_read,
    };
    let answer = Answer::new(invocation.clone(), report.as_of_timestamp, reading, body, report.coverage);
    let (answer, zone) = (redaction::answer(redactor, answer)?, arguments.evidence.zone());
    arguments.output.write_answer(
        &arguments.evidence.sink(),
        out,
        |width, out| table::write_reconciled(&answer, &zone, width, out),
        &answer,
    )?;
    Ok(status::of(outcome, held))
}
