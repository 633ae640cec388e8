//! Which records can be copies of each other: digests of all of them, grouped within a bound on
//! memory.
//!
//! Goes in: one [`Row`] a record. Comes out: rows that are the only ones of their identity, and the rows
//! of each other identity together, equal contents beside each other, in the order of their places; what
//! does not fit into memory goes through temporary files ([`crate::spill`]) and the result is the same. Digests
//! only select; whether two records are equal is decided on their bytes.

mod columns;
mod digest;
mod sip;
mod store;

pub use columns::{Alone, RowColumns};
pub use digest::{DigestKey, Fingerprint, RECORD_SET};
pub use store::{Row, RowLimits, RowStore, Rows};
