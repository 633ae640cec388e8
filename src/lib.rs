//! `dedup-audit` reads the files of a Kafka broker and tells which business events are stored more
//! than once, who wrote each copy, why, and what consumers see.
//!
//! This page is the map. Data goes one way, from the left to the right:
//!
//! ```text
//!  input ─► format ─► plan ─► facts ─► candidates ─► relations ─► judgement ─► report
//!  files    batches   keys    batch     groups with    copy ─►      mechanisms,   table,
//!  found,   records,  per     lane:     more than      predecessor  episodes,     JSON, …
//!  opened   damage    topic   who wrote one copy       and level    confidence
//! ```
//!
//! | room | holds |
//! | --- | --- |
//! | [`units`] | the numbers of a batch header, each with a type of its own |
//! | [`mod@format`] | what the bytes mean: batches, records, codecs, snapshots, checkpoints; damage |
//! | [`input`] | which files there are, and opening them read-only |
//! | [`spill`] | what does not fit into memory, in temporary files |
//! | [`facts`] | the batch lane: sequences, epochs, transactions, protection, gaps, sessions |
//! | [`keys`] | which bytes of a record identify the event, and which are its content |
//! | [`plan`] | what identifies the events of each topic, decided on a sample |
//! | [`candidates`] | keyed digests of all records, grouped within a bound on memory |
//! | [`expected`] | lists of keys that an application believes it sent |
//! | [`relations`] | each surplus copy and the earlier copy that it repeats |
//! | [`compare`] | two logs side by side: where they differ, and what explains it |
//! | [`judgement`] | what facts and relations mean: findings |
//! | [`finding`] | the words of a finding, in the shape of the JSON report |
//! | [`report`] | the report as a value, and the forms in which it is read |
//! | [`audit`] | the order of work, and all of the threads |
//! | [`cli`] | the command line, one file a command |
//! | [`error`] | what keeps a run from starting or finishing |
//! | `compared_by` | a macro: types that are compared by one of their parts |
//!
//! No room knows one to its right; `audit` knows them all.
//!
//! # From another program
//!
//! An audit is a function of paths and options; what it finds is a value, [`report::Report`], of which
//! every form is made:
//!
//! ```
//! use dedup_audit::audit::{self, AuditOptions};
//! use dedup_audit::finding::Code;
//! use dedup_audit::report::{json, markdown};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/brokers/4.3.1/crash-restart-resend/data");
//! let audit = audit::run(&AuditOptions::over(vec![logs.into()]))?;
//! let finding = &audit.report.findings[0];
//! assert_eq!(finding.code, Code::ResendNewSession);
//! assert_eq!(finding.counts.surplus_records, 20);
//! assert!(audit.report.verdict.headline.starts_with("20 events of topic orders are stored twice"));
//!
//! let mut ticket = Vec::new();
//! markdown::write(&audit.report, &mut ticket)?;
//! # let mut json_text = Vec::new();
//! # json::write(&audit.report, &mut json_text)?;
//! # Ok(())
//! # }
//! ```
//!
//! What is to be audited, and how, is a field of [`audit::AuditOptions`]: here another key, and every
//! example instead of twenty for each finding.
//!
//! ```
//! use dedup_audit::audit::{self, AuditOptions};
//! use dedup_audit::judgement::duplicates::Examples;
//! use dedup_audit::plan::KeyChoice;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/brokers/4.3.1/header-id/data");
//! let options = AuditOptions {
//!     key: KeyChoice::User("header:event-id".parse()?),
//!     examples: Examples::All,
//!     ..AuditOptions::over(vec![logs.into()])
//! };
//! let report = audit::run(&options)?.report;
//! assert_eq!(report.visibility.read_committed.repeated_key_records, Some(8));
//! # Ok(())
//! # }
//! ```
//!
//! A segment can be walked over without an audit, batch by batch, and goes on behind damage:
//!
//! ```
//! use dedup_audit::format::{SegmentItem, SegmentScanner, TailExpectation};
//! use dedup_audit::units::Offset;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"),
//! #     "/testdata/brokers/4.3.1/crash-restart-resend/data/orders-0/00000000000000000000.log");
//! let bytes = std::fs::read(path)?;
//! let mut scanner = SegmentScanner::new(bytes.as_slice(), Offset(0), TailExpectation::MustBeWhole);
//! let mut records = 0;
//! while let Some(item) = scanner.next_item()? {
//!     match item {
//!         SegmentItem::Batch(batch) => records += batch.header.records_count.unwrap_or(0),
//!         SegmentItem::Suspect(suspect) => println!("{}", suspect.damage.detail),
//!         SegmentItem::Damage(damage) => println!("{}", damage.detail),
//!     }
//! }
//! assert_eq!(records, 51);
//! # Ok(())
//! # }
//! ```
//!
//! `examples/` has whole programs. Saved reports are read back with [`report::saved`], hidden with
//! [`report::redact`], compared with [`report::diff`].

#[macro_use]
mod compared_by;

pub mod audit;
pub mod candidates;
pub mod cli;
pub mod compare;
pub mod dump;
pub mod error;
pub mod expected;
pub mod facts;
pub mod finding;
pub mod format;
pub mod input;
pub mod judgement;
pub mod keys;
pub mod plan;
pub mod relations;
pub mod report;
pub mod spill;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
pub mod units;
