//! What the records of Kafka's own topics say.
//!
//! Goes in: keys and values of records. Comes out: [`Value`] trees that follow Kafka's message
//! definitions field by field, and plain structs folded over records for what an audit asks:
//! which transactional id had which producer ids, which topic has which settings.
//!
//! A message is described once, as a table ([`schema::Message`]); one reader follows the table,
//! whatever the version, skips unknown tagged fields by their size, and takes no memory on the word
//! of a count.
//!
//! Source: the JSON message definitions and `MessageDataGenerator` of Apache Kafka; KIP-482 for
//! flexible versions.

pub mod cluster_metadata;
pub mod consumer_offsets;
mod coordinator;
mod decode;
pub mod quorum;
pub mod schema;
pub mod share_group_state;
pub mod transaction_state;
mod value;

pub use coordinator::{CoordinatorRecord, InternalError};
pub use decode::decode;
pub use value::Value;
