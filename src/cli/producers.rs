//! `dedup-audit producers`: every producer id, what it wrote, what is missing, how it ended.

use super::evidence::EvidenceArguments;
use super::output::{AnswerFormat, OutputArguments};
use super::redaction;
use super::status::{self, Outcome};
use crate::audit::{Records, SnapshotStates};
use crate::error::AuditError;
use crate::facts::DEFAULT_EXPIRATION_MS;
use crate::judgement::duplicates::Examples;
use crate::report::answer::{Answer, Reading};
use crate::report::producers::{Order, Producers, Wanted};
use crate::report::{ndjson, table};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::process::ExitCode;

/// Which producers are told.
#[derive(Debug, Args)]
#[command(
    before_help = "Examples:
  dedup-audit producers /var/kafka/orders-0
  dedup-audit producers broker-1 broker-2 --topic orders --sort gaps
  dedup-audit producers /var/kafka --pid 1000 --pid 2000 --format json",
    after_help = "Looks at batch headers and snapshots alone; --key and --ignore-field change nothing here.
Exit status: 0 told; 2 could not run; 3 not all could be read; 130 interrupted. What is found does not change it: use
scan."
)]
pub struct ProducersArguments {
    #[command(flatten)]
    evidence: EvidenceArguments,
    #[command(flatten)]
    output: OutputArguments<AnswerFormat>,
    /// Only this producer id; may be repeated
    #[arg(long = "pid", value_name = "ID")]
    ids: Vec<i64>,
    /// The order of the producers
    #[arg(long, value_enum, default_value_t = Sort::Id, value_name = "ORDER")]
    sort: Sort,
    /// Rows of the table; 0 shows all. JSON always has all
    #[arg(long, default_value_t = 50, value_name = "N")]
    rows: usize,
}

/// The order of the producers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// By producer id
    Id,
    /// The most records first
    Records,
    /// The first to write first
    First,
    /// The last to write first
    Last,
    /// The most missing sequences first
    Gaps,
}

impl Sort {
    const fn order(self) -> Order {
        match self {
            Self::Id => Order::Id,
            Self::Records => Order::Records,
            Self::First => Order::First,
            Self::Last => Order::Last,
            Self::Gaps => Order::Gaps,
        }
    }
}

pub(super) fn run(arguments: &ProducersArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let mut options = arguments.evidence.audit_options()?;
    options.records = Records::HeadersOnly;
    options.examples = Examples::All;
    options.snapshots = SnapshotStates::Told;
    let told = &mut options.invocation.options;
    if !arguments.ids.is_empty() {
        told.insert("pid".to_owned(), arguments.ids.clone().into());
    }
    if let Some(sort) = arguments.sort.to_possible_value().filter(|_| arguments.sort != Sort::Id) {
        told.insert("sort".to_owned(), sort.get_name().into());
    }
    let sink = arguments.evidence.sink();
    arguments.output.check(&sink)?;
    let redactor = arguments.evidence.redactor()?;
    let audit = arguments.evidence.run(&options)?;
    let wanted = Wanted {
        ids: arguments.ids.iter().copied().collect(),
        order: arguments.sort.order(),
        expiration_ms: options.expiration_ms.unwrap_or(DEFAULT_EXPIRATION_MS),
    };
    let share = options.memory.share_of_lists(options.limits);
    let body = Producers::of(&audit.report, &audit.producers, &wanted, &share)?;
    drop(audit.producers);
    let report = audit.report;
    let reading = Reading::of_verdict(&report.verdict);
    let answer = Answer::new(options.invocation, report.as_of_timestamp, reading, body, report.coverage);
    let answer = redaction::answer(&redactor, answer)?;
    let (rows, zone) = (super::cap(arguments.rows), arguments.evidence.zone());
    arguments.output.write_each(&sink, out, |form, width, out| match form {
        AnswerFormat::Json => answer.write_json(out),
        AnswerFormat::Ndjson => ndjson::producers(&answer, out),
        AnswerFormat::Table => table::write_producers(&answer, rows, &zone, width, out),
    })?;
    Ok(status::of(Outcome::Clean, reading))
}
