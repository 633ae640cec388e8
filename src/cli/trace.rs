//! `trace`: the story of one business key.

use super::evidence::EvidenceArguments;
use super::output::{OutputArguments, StoryFormat};
use super::redaction;
use super::status::{self, Outcome};
use crate::audit::{self, Request, Sought, Values};
use crate::error::AuditError;
use crate::report::answer::Reading;
use crate::report::ndjson;
use crate::report::trace::{self, Scope};
use clap::Args;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Tell the story of one business key: every copy, who wrote it, and what happened around it.
#[derive(Debug, Args)]
#[command(
    before_help = "Examples:
  dedup-audit trace order-41 /var/kafka/orders-0
  dedup-audit trace 7731 /var/kafka --key json:/payment/id --show-values
  dedup-audit trace order-41 /var/kafka --format md
  dedup-audit trace base64:AAAAKQ== broker-1/data broker-2/data --format json",
    after_help = "KEY is written as reports show keys: text, base64:… for other bytes, the parts of a joined key with +
between them. Where the content identifies an event, it is the record key, the digits of the content's
digest, or both as in 'order-41 (content 2734375f)'.

Exit status: 0 no copy repeats another, and everything was read; 1 a copy repeats another; 2 could
not run; 3 no copy was found to repeat another, but not everything could be read, or no record has
the key; 130 interrupted."
)]
pub struct TraceArguments {
    /// The business key, as reports show it
    #[arg(value_name = "KEY")]
    sought: String,
    #[command(flatten)]
    evidence: EvidenceArguments,
    #[command(flatten)]
    output: OutputArguments<StoryFormat>,
    /// Copies that are listed, up to 10,000
    #[arg(long, default_value_t = 100, value_name = "N")]
    max_copies: usize,
    /// The timeline alone, with all of its lines; for --format table
    #[arg(long)]
    timeline: bool,
    /// Show the values of the records and of the fields that differ
    #[arg(long)]
    show_values: bool,
}

pub(super) fn run(arguments: &TraceArguments, out: &mut dyn Write) -> Result<ExitCode, AuditError> {
    let (key, paths) = (&arguments.sought, &arguments.evidence.paths);
    if let Some(missing) = paths.iter().find(|path| !path.exists())
        && Path::new(key).exists()
    {
        let missing = missing.display();
        return Err(AuditError::Usage(format!(
            "{missing}: does not exist, and {key} does: the key comes first, as in trace {missing} {key}"
        )));
    }
    let mut options = arguments.evidence.audit_options()?;
    let sink = arguments.evidence.sink();
    arguments.output.check(&sink)?;
    let redactor = arguments.evidence.redactor()?;
    let values = if arguments.show_values { Values::Shown } else { Values::Withheld };
    if arguments.show_values {
        options.invocation.options.insert("showValues".to_owned(), true.into());
    }
    let scope = if arguments.timeline { Scope::Timeline } else { Scope::Story };
    let sought = Sought::new(&arguments.sought);
    let request = Request { sought: &sought, most: arguments.max_copies, values };
    let answer = arguments.evidence.watched(&options, || audit::trace(&options, &request))?;
    let (answer, zone) = (redaction::answer(&redactor, answer)?, arguments.evidence.zone());
    arguments.output.write_each(&sink, out, |form, width, out| match form {
        StoryFormat::Table => trace::write(&answer, scope, &zone, width, out),
        StoryFormat::Json => answer.write_json(out),
        StoryFormat::Ndjson => ndjson::answer(&answer, out),
        StoryFormat::Md => trace::write_markdown(&answer, &zone, out),
    })?;
    let accused = answer.body.details.iter().any(|finding| finding.counts.surplus_records > 0);
    // Of a key that is nowhere, which may be mistyped, nothing is known.
    let reading = match answer.reading() {
        Reading::Whole if answer.body.copies.is_empty() => Reading::Partial,
        reading => reading,
    };
    Ok(status::of(Outcome::of_found(accused), reading))
}
