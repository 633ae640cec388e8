//! What discovery makes of trees like those that brokers leave behind, and of those that they did.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its tree up has failed")]

mod beside;
mod brokers;
mod leftovers;
mod paths;
mod promises;
mod replicas;
mod tree;
