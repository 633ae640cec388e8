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
//!
//! No room knows one to its right; `audit` knows them all.

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
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
pub mod units;
