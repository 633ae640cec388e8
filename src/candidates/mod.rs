//! Which records can be copies of each other: digests of all of them, grouped within a bound on
//! memory.
//!
//! Goes in: one [`Row`] a record. Comes out: the rows of each identity together, in the order of
//! their places. Digests only select; whether two records are equal is decided on their bytes.

mod digest;
pub mod spill;
mod store;

pub use digest::{DigestKey, Fingerprint, RECORD_SET};
pub use store::{Row, RowSink, RowStore};
