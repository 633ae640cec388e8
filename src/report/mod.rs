//! The report: one value, and the forms in which people and programs read it.
//!
//! Goes in: what the judgement found and what the coverage says, put into [`Report`]. Comes out:
//! text. Nothing is decided here; what is printed was true before it came.

pub mod answer;
pub mod compare;
pub mod diff;
pub mod escape;
pub mod explain;
mod fold;
pub mod how_read;
pub mod html;
pub mod json;
pub mod keys;
pub mod layout;
pub mod list;
pub mod markdown;
pub mod missing_list;
pub mod model;
pub mod ndjson;
pub mod offsets;
pub mod producer_list;
pub mod producers;
pub mod reconcile;
pub mod redact;
pub mod saved;
pub mod schema;
pub mod show;
pub mod sink;
pub mod table;
pub mod trace;
pub mod verdict;
pub mod wording;
pub mod zoned;

pub use model::Report;
