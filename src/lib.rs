//! `dedup-audit` reads the files of a Kafka broker and tells which business events are stored more
//! than once, who wrote each copy, why, and what consumers see.

pub mod cli;
pub mod dump;
pub mod error;
pub mod facts;
pub mod finding;
pub mod format;
pub mod input;
pub mod report;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
pub mod units;
