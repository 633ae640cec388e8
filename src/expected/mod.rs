//! A list of business keys that an application believes it sent: CSV, NDJSON or one key a line.
//!
//! Goes in: a file and which of its fields are meant. Comes out: one [`Entry`] after the other, in the
//! order of the file, so that gigabytes pass through one line of memory. A file that is read a second
//! time gives the same entries with the same numbers.
//!
//! Nothing is compared here. A list is the user's own, so what is wrong with it ends the run.

mod fields;
mod source;

pub use fields::{Field, Fields, FileFormat, Header};
pub use source::{Entries, Entry, ExpectedError, wall_time};
